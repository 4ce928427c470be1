"""Files: tables, genotypes, single cells and stores, read as they are; what cannot be is refused.

`read_table` opens a file, finds its format and calls the reader of that format: one module each.
Nothing is guessed that could be wrong in silence, nothing is unpickled, and every refusal is a
`FileError` that names the file, the place and the remedy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..core.files import FileError

if TYPE_CHECKING:
    from .genotypes import read_plink
    from .groups import read_costs, read_groups
    from .input import read_table
    from .opening import as_design
    from .read import read_blocks, read_frame
    from .store import BlockError, check_store, write_store
    from .svmlight import svmlight_blocks
    from .table import Dataset, Layout, Where

# Names are imported on use: the command starts at once, and a verifier has no kernels.
_HOMES = {
    "read_frame": "read",
    "read_plink": "genotypes",
    "read_costs": "groups",
    "read_groups": "groups",
    "as_design": "opening",
    "read_blocks": "read",
    "read_table": "input",
    "BlockError": "store",
    "check_store": "store",
    "write_store": "store",
    "svmlight_blocks": "svmlight",
    "Layout": "table",
    "Dataset": "table",
    "Where": "table",
}

__all__ = [
    "BlockError",
    "Dataset",
    "FileError",
    "Layout",
    "Where",
    "as_design",
    "check_store",
    "read_blocks",
    "read_costs",
    "read_frame",
    "read_groups",
    "read_plink",
    "read_table",
    "svmlight_blocks",
    "write_store",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

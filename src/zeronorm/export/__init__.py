"""Models for other programs: a fitted estimator, or a model that was loaded, in other formats.

`FORMATS` is the table of those that `zeronorm info MODEL --format NAME` writes; `to_sklearn` is for
Python alone.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..persistence import as_loaded
    from .formats import to_json, to_sql
    from .sklearn import to_sklearn

# Names are imported on use: the table is read before NumPy is there.
_HOMES = {
    "as_loaded": "..persistence",
    "to_json": ".formats",
    "to_sklearn": ".sklearn",
    "to_sql": ".formats",
}

__all__ = [
    "FORMATS",
    "Format",
    "as_loaded",
    "to_json",
    "to_sklearn",
    "to_sql",
]


@dataclass(frozen=True, slots=True)
class Format:
    """A format of text: the function that writes a model in it, and its options."""

    function: str  # of a model and options
    options: tuple[str, ...] = ()  # of the command, by their names

    def make(self, model: Any, **options: Any) -> str:
        """Return a model in this format, with a line end."""
        return str(_found(self.function)(model, **options)).rstrip("\n") + "\n"


FORMATS = {"json": Format("to_json"), "sql": Format("to_sql", ("table", "key"))}


def _found(name: str) -> Any:
    """Return a public name, imported."""
    return getattr(importlib.import_module(_HOMES[name], __name__), name)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return _found(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

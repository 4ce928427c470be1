"""Data: how X is stored, behind the three methods of `zeronorm.core.types.Design`."""

from __future__ import annotations

from ..core.types import Design, Wrapper
from .beside import Beside
from .dense import Dense
from .filled import filled_over
from .opening import as_design, resolve_threads
from .products import Products
from .sparse import Sparse
from .wrappers import Rows, Scaled

__all__ = [
    "Beside",
    "Dense",
    "Design",
    "Products",
    "Rows",
    "Scaled",
    "Sparse",
    "Wrapper",
    "as_design",
    "filled_over",
    "resolve_threads",
]

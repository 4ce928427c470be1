"""Data: how X is stored, behind the three methods of `zeronorm.core.types.Design`."""

from __future__ import annotations

from ..core.types import Design, Wrapper
from .arrays import Dense, Sparse
from .interactions import Interactions
from .opening import as_design, resolve_threads
from .views import Beside, Rows, Scaled, filled_over

__all__ = [
    "Beside",
    "Dense",
    "Design",
    "Interactions",
    "Rows",
    "Scaled",
    "Sparse",
    "Wrapper",
    "as_design",
    "filled_over",
    "resolve_threads",
]

"""Solvers: generators of scans, and the driver that runs them."""

from ._block_norm import newton
from ._certify import certify_supports
from ._cutting_plane import INNER_SOLVERS, Minimax, minimax, minimax_pooled
from ._drive import Progress, Scan, run, run_together, together
from ._exchange import eliminate, splice
from ._refit import refit
from ._ridge import ridge
from ._select import MENU, Procedure, Task, follow, select, select_nested

__all__ = [
    "INNER_SOLVERS",
    "MENU",
    "Minimax",
    "Procedure",
    "Progress",
    "Scan",
    "Task",
    "certify_supports",
    "eliminate",
    "follow",
    "minimax",
    "minimax_pooled",
    "newton",
    "refit",
    "ridge",
    "run",
    "run_together",
    "select",
    "select_nested",
    "splice",
    "together",
]

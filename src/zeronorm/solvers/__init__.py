"""Solvers: generators of scans, and the driver that runs them."""

from ._certify import certify_supports
from ._cutting_plane import Minimax, minimax, minimax_pooled
from ._drive import Progress, Scan, run, run_together, together
from ._exchange import eliminate, splice
from ._refit import refit
from ._ridge import ridge
from ._select import MENU, Procedure, follow, select, select_l1, select_nested
from ._task import Task
from ._working_set import l1_path
from .inner import INNER_SOLVERS, newton

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
    "l1_path",
    "minimax",
    "minimax_pooled",
    "newton",
    "refit",
    "ridge",
    "run",
    "run_together",
    "select",
    "select_l1",
    "select_nested",
    "splice",
    "together",
]

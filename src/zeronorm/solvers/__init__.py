"""Solvers: generators of scans, and the driver that runs them."""

from .certify import certify_supports
from .driver import Progress, Scan, SearchResult, SelectionRequest, run, run_together, together
from .exchange import Exchanges
from .final_fits import refit
from .greedy_steps import greedy
from .l0 import select_l0
from .l1.path import l1_path, l1_supports
from .l1.problem import L1Problem
from .l1.reweighted import CappedL1, LogPenalty, reweighted, reweighted_supports
from .l1.solvers import working_set
from .measures import MeasureRequest, MeasureTask, select_by_measure
from .minimax import CuttingPlane, cutting_plane, newton
from .problem import Risk, Task
from .ridge_fits import ridge
from .selection import select, select_l1, select_nested

__all__ = [
    "CappedL1",
    "CuttingPlane",
    "Exchanges",
    "L1Problem",
    "LogPenalty",
    "MeasureRequest",
    "MeasureTask",
    "Progress",
    "Risk",
    "Scan",
    "SearchResult",
    "SelectionRequest",
    "Task",
    "certify_supports",
    "cutting_plane",
    "greedy",
    "l1_path",
    "l1_supports",
    "newton",
    "refit",
    "reweighted",
    "reweighted_supports",
    "ridge",
    "run",
    "run_together",
    "select",
    "select_by_measure",
    "select_l0",
    "select_l1",
    "select_nested",
    "together",
    "working_set",
]

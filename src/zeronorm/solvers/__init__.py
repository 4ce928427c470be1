"""Solvers: generators of scans, and the driver that runs them."""

from ._certify import certify_supports
from ._cutting_plane import CuttingPlane, minimax
from ._drive import Progress, Scan, run, run_together, together
from ._exchange import Exchanges
from ._found import Found
from ._greedy import greedy
from ._l0 import select_l0
from ._l1 import L1Problem
from ._l1_path import l1_path, l1_supports
from ._measure_task import MeasureTask
from ._newglmnet import cdn, glmnet, newglmnet
from ._refit import refit
from ._reweighted import CappedL1, LogPenalty, reweighted, reweighted_supports
from ._ridge import ridge
from ._risk import Risk
from ._select import select, select_l1, select_nested
from ._splitting import SplitProblem, Splitting, asalm, salm
from ._task import Task
from ._two_layer import select_by_measure
from ._working_set import working_set
from .inner import INNER_SOLVERS, newton

L1_SOLVERS = {
    "auto": working_set,
    "working-set": working_set,
    "newglmnet": newglmnet,
    "glmnet": glmnet,
    "cdn": cdn,
}

__all__ = [
    "INNER_SOLVERS",
    "L1_SOLVERS",
    "CappedL1",
    "CuttingPlane",
    "Exchanges",
    "Found",
    "L1Problem",
    "LogPenalty",
    "MeasureTask",
    "Progress",
    "Risk",
    "Scan",
    "SplitProblem",
    "Splitting",
    "Task",
    "asalm",
    "cdn",
    "certify_supports",
    "glmnet",
    "greedy",
    "l1_path",
    "l1_supports",
    "minimax",
    "newglmnet",
    "newton",
    "refit",
    "reweighted",
    "reweighted_supports",
    "ridge",
    "run",
    "run_together",
    "salm",
    "select",
    "select_by_measure",
    "select_l0",
    "select_l1",
    "select_nested",
    "together",
    "working_set",
]

"""Solvers: generators of scans, and the driver that runs them."""

from .certify.supports import certify_supports
from .drive import Progress, Scan, run, run_together, together
from .found import Found
from .l1.path import l1_path
from .l1.problem import L1Problem
from .l1.reweighted import CappedL1, LogPenalty, reweighted, reweighted_supports
from .l1.sizes import l1_supports
from .l1.working_set import working_set
from .measure.task import MeasureRequest, MeasureTask
from .measure.two_layer import select_by_measure
from .minimax import newton
from .minimax.cutting_plane import CuttingPlane, cutting_plane
from .pool.exchange import Exchanges
from .pool.refit import refit
from .pool.ridge import ridge
from .procedures.greedy import greedy
from .procedures.l0 import select_l0
from .procedures.select import select, select_l1, select_nested
from .request import Request
from .risk import Risk
from .task import Task

__all__ = [
    "CappedL1",
    "CuttingPlane",
    "Exchanges",
    "Found",
    "L1Problem",
    "LogPenalty",
    "MeasureRequest",
    "MeasureTask",
    "Progress",
    "Request",
    "Risk",
    "Scan",
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

"""Published solvers that nothing else needs: for the blocks of the minimax family, l1 and l0."""

from collections.abc import Callable, Mapping
from typing import Any

from ...solvers import newton, working_set
from ...solvers.minimax import InnerSolver
from .alpha_step import SplitProblem
from .fista import fista
from .newglmnet import cdn, glmnet, newglmnet
from .select import select_by_splitting, select_union
from .simplemkl import simplemkl
from .smoothing import check_supported, smoothing, smoothing_published
from .splitting import Splitting, split

INNER_SOLVERS: Mapping[str, InnerSolver] = {
    "newton": newton,
    "fista": fista,
    "simplemkl": simplemkl,
    "smoothing": smoothing,
    "smoothing-published": smoothing_published,
}
L1_SOLVERS: Mapping[str, Callable[..., Any]] = {
    "auto": working_set,
    "working-set": working_set,
    "newglmnet": newglmnet,
    "glmnet": glmnet,
    "cdn": cdn,
}

__all__ = [
    "INNER_SOLVERS",
    "L1_SOLVERS",
    "SplitProblem",
    "Splitting",
    "cdn",
    "check_supported",
    "fista",
    "glmnet",
    "newglmnet",
    "select_by_splitting",
    "select_union",
    "simplemkl",
    "smoothing",
    "smoothing_published",
    "split",
]

"""Solvers of the inner problem of the minimax family: one interface, several algorithms."""

from collections.abc import Mapping

from .fista import fista
from .newton import newton
from .problem import Blocks, Inner, InnerSolver, Iterate, State
from .simplemkl import simplemkl
from .smoothing import check_supported, smoothing, smoothing_published

INNER_SOLVERS: Mapping[str, InnerSolver] = {
    "newton": newton,
    "fista": fista,
    "simplemkl": simplemkl,
    "smoothing": smoothing,
    "smoothing-published": smoothing_published,
}

__all__ = [
    "INNER_SOLVERS",
    "Blocks",
    "Inner",
    "InnerSolver",
    "Iterate",
    "State",
    "check_supported",
    "fista",
    "newton",
    "simplemkl",
    "smoothing",
    "smoothing_published",
]

"""Solvers of the inner problem of the minimax family: one interface, several algorithms."""

from collections.abc import Mapping

from ._newton import newton
from ._problem import Blocks, Inner, InnerSolver, Iterate, State

INNER_SOLVERS: Mapping[str, InnerSolver] = {"newton": newton}

__all__ = ["INNER_SOLVERS", "Blocks", "Inner", "InnerSolver", "Iterate", "State", "newton"]

"""The minimax family: the inner problem over the generated blocks, and its solver."""

from .newton import newton
from .problem import Blocks, Inner, InnerSolver, Iterate, State

__all__ = ["Blocks", "Inner", "InnerSolver", "Iterate", "State", "newton"]

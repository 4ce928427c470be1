"""Nodes of a branch and bound search: see `pool.branch`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._typing import FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class Node:
    """Models with all of `fixed` and some of `free`, units of the candidates."""

    bound: float  # what `dual` shows, of its parent's models at least
    number: int  # in the tree
    fixed: IndexArray
    free: IndexArray
    dual: FloatArray  # the dual point that the tree has for it: its parent's until it is examined
    # Columns of Z that are not 0 in the relaxation of the parent, their coefficients, intercept.
    start: tuple[IndexArray, FloatArray, float]

    def __lt__(self, other: Node) -> bool:
        """Order by bound; of equal ones the deeper comes first, then the later."""
        mine = (self.bound, -self.fixed.size, -self.number)
        return mine < (other.bound, -other.fixed.size, -other.number)

    @property
    def units(self) -> IndexArray:
        """All of its units, the fixed ones first."""
        return np.concatenate([self.fixed, self.free])

    def n_free(self, budget: int) -> int:
        """Return how many free units its models of so many units have."""
        return min(budget - self.fixed.size, self.free.size)


def half(
    fixed: IndexArray, free: IndexArray, unit: int, inside: bool, budget: int
) -> tuple[IndexArray, IndexArray] | None:
    """Return the fixed and free units of the models with one of them, or of those without.

    unit : -1 where it is no candidate. None: there are no such models.
    """
    if unit in fixed:
        return (fixed, free) if inside else None
    others = free[free != unit]
    if not inside:
        return fixed, others
    if others.size == free.size:
        return None
    fixed = np.append(fixed, unit)
    return fixed, others if fixed.size < budget else others[:0]

"""Nodes of a branch and bound search: see `pool.branch`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.types import Columns, FloatArray, IndexArray

PROVEN = 1e-9  # relative gap that counts as none
NODE_TOL = 1e-4  # of the relaxation of a node


@dataclass(frozen=True, slots=True)
class Node:
    """Models with all of its fixed units and some of the free ones."""

    bound: float  # what `dual` shows, of its parent's models at least
    number: int  # in the tree
    units: IndexArray  # all of them, the fixed ones first
    n_fixed: int
    dual: FloatArray  # the dual point that the tree has for it: its parent's until it is examined
    # Columns of Z that are not 0 in the relaxation of the parent, their coefficients, intercept.
    start: tuple[IndexArray, FloatArray, float]

    def __lt__(self, other: Node) -> bool:
        """Order by bound; of equal ones the deeper comes first, then the later."""
        if self.bound != other.bound:  # a search asks some ten times for every node
            return self.bound < other.bound
        return (self.n_fixed, self.number) > (other.n_fixed, other.number)

    @property
    def fixed(self) -> IndexArray:
        """Return those of all of its models."""
        return self.units[: self.n_fixed]

    @property
    def free(self) -> IndexArray:
        """Return the others."""
        return self.units[self.n_fixed :]

    def numbers(self, Z: Columns) -> int:
        """Return how many numbers there are in as many columns as it has units, or one."""
        return max(1, int(Z.shape[0]) * self.units.size)

    def is_single(self, budget: int) -> bool:
        """Return whether one model is the best of it: that with all of its units."""
        return self.units.size <= budget

    def n_free(self, budget: int) -> int:
        """Return how many free units its models of so many units have."""
        return min(budget, self.units.size) - self.n_fixed


@dataclass(frozen=True, slots=True)
class Asked:
    """A node that is examined next, and what its search knows when it asks."""

    node: Node
    numbers: int  # in its columns
    most: int  # nodes of what comes of it
    level: float  # of the bounds of nodes that come next
    support: IndexArray  # units of the best known model
    objective: float  # of it
    target: float  # what a bound has to exceed


def parted(fixed: IndexArray, free: IndexArray) -> tuple[IndexArray, int]:
    """Return the units of a node, and how many of them are fixed."""
    return np.concatenate([fixed, free]), fixed.size


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

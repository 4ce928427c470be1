"""Branch and bound for all models whose objective is within a share of the best one.

The tree is that of `pool.branch`, with another target: a node ends where its bound is above
(1 + within) times the best objective, not above that objective itself. Where at most one unit of a
node is free, its models are tried one by one. The node of the smallest bound comes first, so that
at any time all models below that bound are known.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from .branch import BranchAndBound
from .nodes import PROVEN

if TYPE_CHECKING:
    from ...core.types import FloatArray, IndexArray
    from .bounds import Bound
    from .candidates import Candidates
    from .nodes import Node
    from .relaxed import Relaxed


class NearBest(BranchAndBound):
    """A search for the models near the best one, of so many at most those of least objective."""

    def __init__(
        self,
        problem: Candidates,
        support: IndexArray,
        within: float,
        most: int,
        dual: FloatArray,
        bound: float,
    ) -> None:
        """Begin as `BranchAndBound` does.

        within : relative to the best objective.
        most : how many models are kept.
        """
        self._within, self._most = within, most
        # A heap, the largest objective first. There is one model more than are kept: its objective
        # says what those that are not kept are above.
        self._heap: list[tuple[float, tuple[int, ...]]] = []
        super().__init__(problem, support, 0.0, dual, bound)
        self._grows = False  # the kernel's subtrees tell of no models but the best
        self._note(self.support, self.objective)

    @property
    def limit(self) -> float:
        """The largest objective that is near; what rounding leaves of a tie is a tie."""
        return self.objective + (self._within + PROVEN) * abs(self.objective)

    @property
    def target(self) -> float:
        """What a bound has to exceed: more than the limit, so that rounding ends no node early."""
        limit = self.limit
        if len(self._heap) > self._most:
            limit = min(limit, -self._heap[0][0])
        return limit + PROVEN * abs(self.objective)

    @property
    def bound(self) -> float:
        """What the objectives of all models are above that are not found."""
        return min(self._waiting(), self.target)

    def models(self) -> tuple[IndexArray, FloatArray, float, bool]:
        """Return the models that are near, (n_models, k), their objectives, a bound of all others.

        The last item is whether there are more of them than are kept. The smallest objective comes
        first; of equal ones the first by their units.
        """
        best = min(-value for value, _ in self._heap)
        limit = best + (self._within + PROVEN) * abs(best)
        found = sorted((-value, key) for value, key in self._heap if -value <= limit)
        bound = self.bound
        many = len(found) > self._most
        if many:
            bound = min(bound, found[-1][0])
            del found[-1]
        supports = np.array([key for _, key in found], np.int64)
        return supports, np.array([value for value, _ in found]), bound, many

    def _may_end(self, answer: Relaxed) -> bool:
        """Return False: other models of the node may be near, too."""
        return False

    def _ends(self, node: Node, known: Bound, single: bool) -> bool:
        """Return whether all models of a node have been tried, which it is worth where few are."""
        fixed, free = self._decide(node, known)
        n_free = self.problem.budget - fixed.size
        if free.size == n_free:
            self._offer(np.sort(np.concatenate([fixed, free])))
        elif n_free == 1:
            for unit in free:
                self._offer(np.sort(np.append(fixed, unit)))
        return n_free <= 1 or free.size <= n_free

    def _note(self, support: IndexArray, objective: float) -> None:
        """Keep a model that is near, and forget the worst of too many."""
        if support.size != self.problem.budget or objective > self.limit:
            return
        key = -objective, tuple(support.tolist())
        push = heapq.heappush if len(self._heap) <= self._most else heapq.heappushpop
        push(self._heap, key)

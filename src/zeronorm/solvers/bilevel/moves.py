"""Better supports of features in groups, inside a pool of gathered columns.

A support is made better by changes under both budgets at once. Every column gets a strength: what
the objective would rise by without it (inside), or fall by with it (outside). The projection of the
strengths onto the budgets is a new support; so is that of the strengths without one group, and the
best exchange of two features.

The problem is (B) of `bilevel.search`, whose search brings the columns into the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.types import Columns, FloatArray, IndexArray
from ...data.repeated import in_all_outputs
from ..l0.hard_thresholding import VARIANTS, Thresholding, zero_point
from ..pool.movement import MOVEMENT
from ..risk import LEAST_SCALE
from ..ties import EQUAL_ROWS
from .pool import Changes, Effects, Pool, PoolFit
from .structures import BilevelBudget
from .task import BilevelTask, Size


@dataclass(frozen=True, slots=True)
class MovesTuning:
    """Constants, each with what it was measured for."""

    pool_factor: int = (
        3  # times the budgets: where a pool begins, and a support that shrinks to them
    )
    max_moves: int = 1000
    most_groups_out: int = 10  # groups whose removal is tried, the weakest first
    most_swaps: int = 6  # exchanges of two features that are tried, the most promising first


MOVES = MovesTuning()
# Strengths of columns outside are multiplied by these: as the sum of the single gains of columns
# that resemble each other promises too much, and that of columns that need each other too little.
BOLDNESS = (0.25, 0.5, 1.0, 2.0, 4.0)
GROWTH, SHRINKAGE = 5, 0.7  # steps of a growing start, and the share left by a step of elimination
LOOSE_TOL, START_STEPS = 1e-5, 500  # of hard thresholding that only begins a search


class Moves:
    """Starts, and changes that better them, of supports of all sizes in one pool.

    The forced features are the first columns of the pool.
    """

    def __init__(self, task: BilevelTask, pool: Pool, sizes: Sequence[Size], tol: float) -> None:
        self.task, self.pool, self.tol = task, pool, tol
        self.zero = zero_point(task.objective)
        self._tried: dict[Size, set[bytes]] = {size: set() for size in sizes}
        self._budgets: dict[Size, tuple[int, BilevelBudget]] = {}
        # Roots of the second derivatives of the features, about: scores over them are strengths.
        ridge = task.objective.ridge
        curvature = task.objective.risk.curvature_by_output(self.zero.z + self.zero.intercept)
        spread = np.ones(1) if task.spread is None else task.spread
        bend = np.sqrt(curvature.sum(axis=1)) * spread[:, None]
        self._bend = np.hypot(np.sqrt(ridge), bend)  # (m or 1, outputs)

    def strength(self, scores: FloatArray) -> FloatArray:
        """Return what the features are worth by the scores of a scan in all outputs, (m,)."""
        return self.task.lengths(scores.reshape(-1, self.task.outputs) / self._bend)

    def start(self, size: Size, smaller: PoolFit | None) -> PoolFit:
        """Return the best of several starts, each improved.

        smaller : the best fit of a smaller size. It takes the place of hard thresholding, which
            costs more.
        """
        scores = self.pool.scores(self.zero.gradient) / self._bends()
        share = 0.5 * float(np.vdot(scores, scores)) / max(self.zero.objective, LEAST_SCALE)
        if share <= MOVEMENT.still:
            return self.pool.fit(self._admit(size)(self.task.lengths(scores)))
        first = self._thresholded(size) if smaller is None else smaller.columns
        starts = [first, self._grown(size), self._eliminated(size)]
        distinct = {columns.tobytes(): columns for columns in starts}
        fits = [self.improve(size, self.pool.fit(columns)) for columns in distinct.values()]
        return min(fits, key=lambda fit: fit.objective)

    def _thresholded(self, size: Size) -> IndexArray:
        """Return where hard thresholding inside the pool ends."""
        Z, spread = in_all_outputs(self.pool.columns(), self.task.outputs), self.task.spread
        admit = self.task.of_columns(self._admit(size))
        state = Thresholding(
            self.task.objective, admit, VARIANTS["ista"], LOOSE_TOL,
            spread=None if spread is None else spread[self.pool.features],
        )  # fmt: skip
        for _ in range(START_STEPS):
            if not state.step(Z.dot(state.vector), Z.take):
                break
        return self.task.features(state.best.support)

    def _grown(self, size: Size) -> IndexArray:
        """Return a support that grows by a share of the budgets at a time."""
        k, g = size
        columns = self.forced_columns
        for turn in range(1, GROWTH + 1):
            part = max(-(-k * turn // GROWTH), columns.size), -(-g * turn // GROWTH)
            part = part[0], max(part[1], self.n_groups(columns))
            changes = self.pool.changes(self.pool.fit(columns))
            columns = self._admit(part)(self._strength(changes, 1.0))
        return columns

    def _eliminated(self, size: Size) -> IndexArray:
        """Return what is left of a larger support where the weakest leave, again and again."""
        k, g = size
        most = self.pool.size
        if not self.task.objective.ridge:  # half as many features as rows, equal ones once
            most = min(most, _n_different(self.pool.columns()) // 2)
        part = max(k, min(MOVES.pool_factor * k, most)), MOVES.pool_factor * g
        scores = self.pool.scores(self.zero.gradient) / self._bends()
        columns = self._admit(part)(self.task.lengths(scores))
        while part != size:
            part = max(k, int(SHRINKAGE * part[0])), max(g, int(SHRINKAGE * part[1]))
            changes = self.pool.changes(self.pool.fit(columns))
            columns = self._admit(part)(self._strength(changes, 0.0))
        return columns

    def improve(self, size: Size, fit: PoolFit) -> PoolFit:
        """Change a support while that lowers the objective by more than `tol` times its value."""
        for _ in range(MOVES.max_moves):
            following = self._move(size, fit)
            if following is None:
                break
            fit = following
        return fit

    def cut(self, size: Size, fit: PoolFit) -> PoolFit | None:
        """Return the fit on the part of a support that a size admits, None where it was tried."""
        strength = self._strength(self.pool.changes(fit), 0.0)
        return self._fit(size, self._admit(size)(strength), fit)

    def _move(self, size: Size, fit: PoolFit) -> PoolFit | None:
        """Return the fit on a better support, None where none is found."""
        changes = self.pool.changes(fit)
        admit = self._admit(size)
        limit = fit.objective - self.tol * abs(fit.objective)
        proposals = [admit(self._strength(changes, boldness)) for boldness in BOLDNESS]
        fits = [self._fit(size, columns, fit) for columns in proposals]
        found = [other for other in fits if other is not None]
        if found:
            best = min(found, key=lambda other: other.objective)
            if best.objective < limit:
                return best
        for places in self.weakest_groups(changes)[: MOVES.most_groups_out]:
            left = changes.without(places)
            strength = self._strength(left, 1.0)
            gone = self._code[fit.columns[places[0]]]
            strength[self._code == gone] = 0.0
            other = self._fit(size, admit(strength), fit)
            if other is not None and other.objective < limit:
                return other
        for leaving, entering in self._best_swaps(size, changes):
            columns = np.sort(np.append(np.delete(fit.columns, leaving), entering))
            other = self._fit(size, columns, fit)
            if other is not None and other.objective < limit:
                return other
        return None

    def _fit(self, size: Size, columns: IndexArray, near: PoolFit) -> PoolFit | None:
        """Return the fit on columns, None where they were tried."""
        key = columns.tobytes()
        if key in self._tried[size] or np.array_equal(columns, near.columns):
            return None
        self._tried[size].add(key)
        return self.pool.fit(columns, near)

    def _strength(self, changes: Effects, boldness: float) -> FloatArray:
        """Return what the columns of the pool are worth: those outside times their boldness."""
        strength = boldness * np.sqrt(changes.gains()) if boldness else np.zeros(self.pool.size)
        # Those inside are worth something, be it next to nothing.
        strength[changes.columns] = np.sqrt(np.maximum(changes.losses(), np.finfo(float).tiny))
        return strength

    def weakest_groups(self, changes: Changes) -> list[IndexArray]:
        """Return the places in the fit of every group that may leave, the weakest first."""
        code = self._code[changes.columns]
        forced = np.union1d(self._code[self.forced_columns], self.task.forced_groups)
        blocks = [np.flatnonzero(code == group) for group in np.unique(code) if group not in forced]
        losses = [changes.loss_of(places) for places in blocks]
        return [blocks[place] for place in np.argsort(losses, kind="stable")]

    def _best_swaps(self, size: Size, changes: Changes) -> list[tuple[int, int]]:
        """Return the exchanges that promise most: places in the fit, and columns that enter."""
        k = changes.columns.size
        if k == 0 or k == self.pool.size:
            return []
        code = self._code
        inside = code[changes.columns]
        opened = np.zeros(len(self.task.groups), np.int64)
        np.add.at(opened, inside, 1)
        opened[self.task.forced_groups] += 1
        full = np.count_nonzero(opened) >= size[1]
        promise = changes.swaps()
        most = min(MOVES.most_swaps, promise.size)
        promise[:, changes.columns] = -np.inf
        promise[np.isin(changes.columns, self.forced_columns)] = -np.inf
        if full:  # a new group may enter only where one leaves with its last feature
            alone = opened[inside] == 1
            promise[np.ix_(~alone, opened[code] == 0)] = -np.inf
        best = np.sort(np.argpartition(promise, -most, axis=None)[-most:])
        best = best[np.argsort(-promise.ravel()[best], kind="stable")]
        leaving, entering = np.unravel_index(best, promise.shape)
        return [
            (int(j), int(i)) for j, i in zip(leaving, entering, strict=True) if promise[j, i] > 0
        ]

    @property
    def _code(self) -> IndexArray:
        """The groups of the columns of the pool."""
        return self.task.groups.code[self.pool.features]

    def _bends(self) -> FloatArray:
        """Return the roots of the second derivatives of the columns of the pool."""
        shape = self.task.groups.code.size, self.task.outputs
        return np.broadcast_to(self._bend, shape)[self.pool.features]

    @property
    def forced_columns(self) -> IndexArray:
        """The columns of the forced features."""
        return np.arange(self.task.forced.size)

    def n_groups(self, columns: IndexArray) -> int:
        """Return how many groups some columns and the forced groups are."""
        return int(np.union1d(self._code[columns], self.task.forced_groups).size)

    def _admit(self, size: Size) -> Callable[[FloatArray], IndexArray]:
        """Return the projection onto the budgets, of vectors over the pool."""
        known = self._budgets.get(size)
        if known is None or known[0] != self.pool.size:
            budget = BilevelBudget(
                *size, self.task.groups.take(self.pool.features), self.forced_columns,
                self.task.forced_groups,
            )  # fmt: skip
            known = self._budgets[size] = (self.pool.size, budget)
        return known[1].support


def _n_different(Z: Columns) -> int:
    """Return how many rows are not equal: a weight says no more than a row that is repeated."""
    direction: Any = np.random.RandomState(0).uniform(-1.0, 1.0, Z.shape[1])
    place = np.sort(Z.times(direction))
    return 1 + int(np.count_nonzero(np.diff(place) > EQUAL_ROWS * np.abs(place).max()))

"""At most k features in at most g groups: hard thresholding, and the search for better supports.

    min_{u, b}  rho/2 ||u||^2 + sum_i s_i f(y_i, x_i'u + b)
    subject to  ||u||_0 <= k,  #{groups G : u_G != 0} <= g                                       (B)

The search works on a pool of gathered candidates, as that for the best k features does: a scan at
its result shows the features outside of the pool that might lower the objective; they join it, and
the search goes on until a scan shows nothing that helps.

In the pool a support is made better by changes under both budgets at once. Every column gets a
strength: what the objective would rise by without it (inside), or fall by with it (outside). The
projection of the strengths onto the budgets is a new support; so is that of the strengths without
one group, and the best exchange of two features.

Source: Xiang, Yang and Ye, Simultaneous feature and feature group selection through hard
thresholding, KDD 2014 (the problem, and the published variants in `_hard_thresholding`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .._typing import Columns, Design, FloatArray, IndexArray
from ..groups import Groups
from ..result import Status, Step
from ..structures import BilevelBudget
from ._bilevel_pool import FINAL_TOL, Changes, Pool, PoolFit
from ._cutting_plane import GatheredColumns
from ._drive import Scan, Solver
from ._hard_thresholding import (
    VARIANTS,
    Admit,
    Objective,
    Point,
    Thresholding,
    hard_threshold,
    zero_point,
)
from ._ridge import take
from ._stopwatch import PhaseClock

SOLVERS = ("auto", *VARIANTS)
Size = tuple[int, int]  # features and groups

# The pool begins with so many times the budgets, and at least so many features more.
POOL_FACTOR, POOL_MIN = 3, 30
# Strengths of columns outside are multiplied by these: as the sum of the single gains of columns
# that resemble each other promises too much, and that of columns that need each other too little.
BOLDNESS = (0.25, 0.5, 1.0, 2.0, 4.0)
SCAN_BOLDNESS = (1.0, 4.0)  # of candidates outside of the pool
GROWTH, SHRINKAGE = 5, 0.7  # steps of a growing start, and the share left by a step of elimination
LOOSE_TOL = 1e-5  # of hard thresholding that only begins a search
MAX_ROUNDS, MAX_MOVES, MAX_STEPS = 20, 1000, 10_000
MOST_GROUPS_OUT = 10  # groups whose removal is tried, the weakest first
MOST_SWAPS = 6  # exchanges of two features that are tried, the most promising first
# Groups that are left out in turn by a scan, to see what would take their place, and how many
# candidates that gives for each: as many as cost so many products.
MOST_LEFT_OUT, LEFT_OUT_PRODUCTS = 6, 2e9


@dataclass(frozen=True, slots=True)
class BilevelTask:
    """One problem (B), without its budgets."""

    design: Design  # on the selection scaling
    objective: Objective
    groups: Groups
    forced: IndexArray = field(default_factory=lambda: np.empty(0, np.int64))
    forced_groups: IndexArray = field(default_factory=lambda: np.empty(0, np.int64))
    usable: np.ndarray | None = None  # (m,) mask of the features that may be selected

    def admit(self, size: Size) -> Admit:
        """Return the projection onto the budgets, of vectors over all features."""
        budget = BilevelBudget(*size, self.groups, self.forced, self.forced_groups)

        def admit(target: FloatArray) -> IndexArray:
            if self.usable is not None:
                target = np.where(self.usable, target, 0.0)
            return budget.support(target)

        return admit


@dataclass(frozen=True, slots=True)
class BilevelFit:
    """A solution of (B) for one size, on the selection scaling."""

    support: IndexArray  # sorted, at most k features in at most g groups
    coef: FloatArray
    intercept: float
    objective: float
    gradient: FloatArray  # (n,) of the loss in the margins
    status: Status


@dataclass(frozen=True, slots=True)
class BilevelPath:
    """Solutions for all sizes asked for."""

    fits: dict[Size, BilevelFit]
    history: tuple[Step, ...]


def select_bilevel(
    task: BilevelTask,
    sizes: Sequence[Size],
    *,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = MAX_STEPS,
    start: Sequence[IndexArray] = (),
    seconds: dict[str, float] | None = None,
) -> Solver[BilevelPath]:
    """Solve (B) for every size, by a generator of scans.

    Parameters
    ----------
    sizes : (features, groups), none larger than what there is.
    solver : "auto": the search in a pool. "ista", "ista-l", "fista", "fista-c": hard thresholding
        alone, a scan for each step, from the solution of the size before where it fits; the answer
        is fitted on its support.
    tol : decrease of the objective that counts, as a share of it.
    start : features of an earlier fit: the pool has them from the start, and the first of them that
        is admissible is where a size begins.
    seconds : filled with the seconds of each phase.
    """
    clock = PhaseClock(seconds)
    ordered = sorted(set(sizes), key=lambda size: (size[1], size[0]))
    search = Search(task, ordered, tol)
    if solver == "auto":
        yield from search.explore(start, clock)
    else:
        yield from search.threshold(solver, max_iter, start, clock)
    return BilevelPath(search.solutions(), tuple(search.history))


class Search:
    """The pool of candidates of one problem, and the best support of every size so far."""

    def __init__(self, task: BilevelTask, sizes: Sequence[Size], tol: float) -> None:
        self.task, self.sizes, self.tol = task, list(sizes), tol
        self.pool = Pool(task.objective, GatheredColumns(task.design, 0))
        self.best: dict[Size, PoolFit] = {}
        self.history: list[Step] = []
        self._tried: dict[Size, set[bytes]] = {size: set() for size in sizes}
        self._status: dict[Size, Status] = {}
        self._budgets: dict[Size, tuple[int, BilevelBudget]] = {}
        self._zero = zero_point(task.objective)
        self._curvature = task.objective.curvature(self._zero.z + self._zero.intercept)
        if task.forced.size:
            self.pool.add(task.forced)

    # ------------------------------------------------------------------ published methods

    def threshold(
        self, solver: str, max_iter: int, start: Sequence[IndexArray], clock: PhaseClock
    ) -> Solver[None]:
        """Solve every size by hard thresholding over all features."""
        for size in self.sizes:
            begin = self._beginning(size, start)
            state = Thresholding(
                self.task.objective, self.task.admit(size), VARIANTS[solver], self.tol, begin
            )
            solver_steps = hard_threshold(state, self.task.design, self._gather, max_iter)
            steps = yield from clock.inside("select", solver_steps)
            self.best[size] = self.pool.fit(np.sort(self.pool.position(state.best.support)))
            self._status[size] = Status.CONVERGED if steps < max_iter else Status.MAX_ITER
            self.record(
                size, state.best.support, {"curvature": state.curvature, "steps": float(steps)}
            )

    def _beginning(self, size: Size, start: Sequence[IndexArray]) -> Point | None:
        """Return the best known point that a size admits, None where there is none."""
        known = [fit for other, fit in self.best.items() if _admits(size, other)]
        if known:
            return self._point(min(known, key=lambda fit: fit.objective))
        for features in start:
            features = np.unique(np.concatenate([features, self.task.forced]))
            n_groups = np.union1d(
                self.task.groups.of_features(features), self.task.forced_groups
            ).size
            if features.size <= size[0] and n_groups <= size[1]:
                self.pool.add(features)
                return self._point(self.pool.fit(np.sort(self.pool.position(features))))
        return None

    def _point(self, fit: PoolFit) -> Point:
        features = self.pool.features[fit.columns]
        order = np.argsort(features)
        return Point(
            features[order], fit.coef[order], fit.margins - fit.intercept, fit.intercept,
            fit.objective, fit.gradient,
        )  # fmt: skip

    def _gather(self, features: IndexArray) -> Columns:
        self.pool.add(features)
        return take(self.pool.columns(), self.pool.position(features))

    # ------------------------------------------------------------------ search in the pool

    def explore(self, start: Sequence[IndexArray], clock: PhaseClock) -> Solver[None]:
        """Search for the best support of every size, with scans for further candidates."""
        task = self.task
        scores = yield Scan(task.design, -self._zero.gradient)
        with clock.phase("gather"):
            for features in start:
                self.pool.add(features)
            fresh = self._first_candidates(scores)
        with clock.phase("select"):
            for size in self.sizes:
                self._begin(size)
                self.record(size, fresh)
            self._neighbours()
        waiting, replaced = list(self.sizes), set[Size]()
        for _ in range(MAX_ROUNDS):
            vectors = np.column_stack([-self.best[size].gradient for size in waiting])
            scores = yield Scan(task.design, vectors)
            before = dict(self.best)
            self._extend(waiting, scores, clock)
            with clock.phase("select"):
                self._neighbours()
            waiting = [size for size in self.sizes if self.best[size] is not before[size]]
            if not waiting:
                waiting = yield from self._replace(replaced, clock)
            if not waiting:
                break
        self._status = dict.fromkeys(self.sizes, Status.CONVERGED)

    def _extend(self, waiting: Sequence[Size], scores: FloatArray, clock: PhaseClock) -> None:
        """Add candidates by the scores at the best supports of some sizes, and go on with them."""
        with clock.phase("gather"):
            fresh = {
                size: self._candidates(size, np.ascontiguousarray(scores[:, place]))
                for place, size in enumerate(waiting)
            }
        with clock.phase("select"):
            for size in waiting:
                if fresh[size].size:
                    self.best[size] = self.improve(size, self.best[size])
                self.record(size, fresh[size])

    def _first_candidates(self, scores: FloatArray) -> IndexArray:
        """Add the strongest features under larger budgets."""
        k, g = (max(sizes) for sizes in zip(*self.sizes, strict=True))
        larger = (POOL_FACTOR * k + POOL_MIN, POOL_FACTOR * g)
        found = self.task.admit(larger)(scores)
        if not found.size:  # nothing is correlated with y; a pool has to have a column
            usable = self.task.usable
            found = np.arange(1) if usable is None else np.flatnonzero(usable)[:1]
        return self.pool.add(found)

    def _candidates(self, size: Size, scores: FloatArray) -> IndexArray:
        """Add the features that the budgets would admit at the best support of a size."""
        fit = self.best[size]
        strength = np.abs(scores) / np.sqrt(self._curvature)
        strength[self.pool.features] = 0.0
        inside = np.sqrt(self.pool.changes(fit).losses())
        admit = self.task.admit(size)
        found = []
        for boldness in SCAN_BOLDNESS:
            target = boldness * strength
            target[self.pool.features[fit.columns]] = inside
            found.append(admit(target))
        return self.pool.add(np.unique(np.concatenate(found)))

    def _replace(self, replaced: set[Size], clock: PhaseClock) -> Solver[list[Size]]:
        """Look for features that would take the place of a group; return what improved.

        A group that is much like one of the support shows only where that one is left out.
        """
        n, m = self.task.design.shape
        most = min(MOST_LEFT_OUT, int(LEFT_OUT_PRODUCTS / (n * m)))
        before = dict(self.best)
        for size in self.sizes:
            if size in replaced or most < 1:
                continue
            replaced.add(size)
            fit = self.best[size]
            with clock.phase("select"):
                changes = self.pool.changes(fit)
                out = self._weakest_groups(changes)[:most]
                fits = [self.pool.fit(np.delete(fit.columns, places), fit) for places in out]
            if not fits:
                continue
            scores = yield Scan(
                self.task.design, np.column_stack([-without.gradient for without in fits])
            )
            with clock.phase("gather"):
                fresh = [
                    self._in_place(places.size, np.ascontiguousarray(scores[:, number]))
                    for number, places in enumerate(out)
                ]
            with clock.phase("select"):
                self.best[size] = self.improve(size, fit)
                self.record(size, np.concatenate(fresh))
        with clock.phase("select"):
            self._neighbours()
        return [size for size in self.sizes if self.best[size] is not before[size]]

    def _in_place(self, n_features: int, scores: FloatArray) -> IndexArray:
        """Add the best features of the three best groups for so many."""
        return self.pool.add(self.task.admit((3 * n_features, 3))(scores))

    def _begin(self, size: Size) -> None:
        """Start a size from several supports, and keep the best."""
        starts = [self._thresholded(size), self._grown(size), self._eliminated(size)]
        distinct = {columns.tobytes(): columns for columns in starts}
        fits = [self.improve(size, self.pool.fit(columns)) for columns in distinct.values()]
        self.best[size] = min(fits, key=lambda fit: fit.objective)

    def _thresholded(self, size: Size) -> IndexArray:
        """Return where hard thresholding inside the pool ends."""
        Z = self.pool.columns()
        state = Thresholding(self.task.objective, self._admit(size), VARIANTS["ista"], LOOSE_TOL)
        for _ in range(MAX_STEPS):
            if not state.step(np.asarray(Z.T @ state.vector), lambda columns: take(Z, columns)):
                break
        return state.best.support

    def _grown(self, size: Size) -> IndexArray:
        """Return a support that grows by a share of the budgets at a time."""
        k, g = size
        columns = self._forced_columns()
        for turn in range(1, GROWTH + 1):
            part = max(-(-k * turn // GROWTH), columns.size), -(-g * turn // GROWTH)
            part = part[0], max(part[1], self._n_groups(columns))
            changes = self.pool.changes(self.pool.fit(columns))
            columns = self._admit(part)(self._strength(changes, 1.0))
        return columns

    def _eliminated(self, size: Size) -> IndexArray:
        """Return what is left of a larger support where the weakest leave, again and again."""
        k, g = size
        most = self.pool.size
        if not self.task.objective.ridge:  # half as many features as rows, which weights count
            most = min(most, int(0.5 * self.task.objective.weight.sum()))
        part = max(k, min(POOL_FACTOR * k, most)), POOL_FACTOR * g
        scores = -np.asarray(self.pool.columns().T @ self._zero.gradient)
        columns = self._admit(part)(scores)
        while part != size:
            part = max(k, int(SHRINKAGE * part[0])), max(g, int(SHRINKAGE * part[1]))
            changes = self.pool.changes(self.pool.fit(columns))
            columns = self._admit(part)(self._strength(changes, 0.0))
        return columns

    def improve(self, size: Size, fit: PoolFit) -> PoolFit:
        """Change a support while that lowers the objective by more than `tol` times its value."""
        for _ in range(MAX_MOVES):
            following = self._move(size, fit)
            if following is None:
                break
            fit = following
        return fit

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
        for places in self._weakest_groups(changes)[:MOST_GROUPS_OUT]:
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

    def _strength(self, changes: Changes, boldness: float) -> FloatArray:
        """Return what the columns of the pool are worth: those outside times their boldness."""
        strength = boldness * np.sqrt(changes.gains()) if boldness else np.zeros(self.pool.size)
        # Those inside are worth something, be it next to nothing.
        strength[changes.columns] = np.sqrt(np.maximum(changes.losses(), np.finfo(float).tiny))
        return strength

    def _weakest_groups(self, changes: Changes) -> list[IndexArray]:
        """Return the places in the fit of every group that may leave, the weakest first."""
        code = self._code[changes.columns]
        forced = np.union1d(self._code[self._forced_columns()], self.task.forced_groups)
        blocks = [np.flatnonzero(code == group) for group in np.unique(code) if group not in forced]
        losses = []
        for places in blocks:
            block = changes.inverse[np.ix_(places, places)]
            u = changes.coef[places]
            losses.append(float(u @ np.linalg.lstsq(block, u, rcond=None)[0]))
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
        promise[:, changes.columns] = -np.inf
        promise[np.isin(changes.columns, self._forced_columns())] = -np.inf
        if full:  # a new group may enter only where one leaves with its last feature
            alone = opened[inside] == 1
            promise[np.ix_(~alone, opened[code] == 0)] = -np.inf
        best = np.argsort(-promise, axis=None, kind="stable")[:MOST_SWAPS]
        leaving, entering = np.unravel_index(best, promise.shape)
        return [
            (int(j), int(i)) for j, i in zip(leaving, entering, strict=True) if promise[j, i] > 0
        ]

    def _neighbours(self) -> None:
        """Let every size begin from those next to it, where that is better."""
        for size in self.sizes:
            for other in self.sizes:
                fit = self.best[other]
                if other == size:
                    continue
                if _admits(size, other):
                    if fit.objective < self.best[size].objective * (1.0 - self.tol):
                        self.best[size] = self.improve(size, fit)
                elif abs(self.sizes.index(size) - self.sizes.index(other)) == 1:
                    strength = self._strength(self.pool.changes(fit), 0.0)
                    found = self._fit(size, self._admit(size)(strength), fit)
                    if found is not None:
                        self._offer(size, self.improve(size, found))

    def _offer(self, size: Size, fit: PoolFit) -> None:
        if fit.objective < self.best[size].objective * (1.0 - self.tol):
            self.best[size] = fit

    # ------------------------------------------------------------------ the pool and its groups

    @property
    def _code(self) -> IndexArray:
        """The groups of the columns of the pool."""
        return self.task.groups.code[self.pool.features]

    def _forced_columns(self) -> IndexArray:
        return np.arange(self.task.forced.size)

    def _n_groups(self, columns: IndexArray) -> int:
        return int(np.union1d(self._code[columns], self.task.forced_groups).size)

    def _admit(self, size: Size) -> Callable[[FloatArray], IndexArray]:
        """Return the projection onto the budgets, of vectors over the pool."""
        known = self._budgets.get(size)
        if known is None or known[0] != self.pool.size:
            budget = BilevelBudget(
                *size, self.task.groups.take(self.pool.features), self._forced_columns(),
                self.task.forced_groups,
            )  # fmt: skip
            known = self._budgets[size] = (self.pool.size, budget)
        return known[1].support

    # ------------------------------------------------------------------ answers

    def record(
        self, size: Size, entered: IndexArray, extra: dict[str, float] | None = None
    ) -> None:
        """Add the best of a size to the history."""
        fit = self.best[size]
        numbers = {"n_groups": float(self._n_groups(fit.columns)), **(extra or {})}
        status = self._status.get(size)
        self.history.append(
            Step(fit.objective, -np.inf, fit.columns.size, entered, {}, numbers, status)
        )

    def solutions(self) -> dict[Size, BilevelFit]:
        """Return the best of every size."""
        answers = {}
        for size in self.sizes:
            fit = self.pool.fit(self.best[size].columns, self.best[size], FINAL_TOL)
            point = self._point(fit)
            answers[size] = BilevelFit(
                point.support, point.coef, fit.intercept, fit.objective, fit.gradient,
                self._status[size],
            )  # fmt: skip
        return answers


def _admits(size: Size, other: Size) -> bool:
    """Return whether every support of the other size is one of this size."""
    return other != size and other[0] <= size[0] and other[1] <= size[1]


__all__ = ["SOLVERS", "BilevelFit", "BilevelPath", "BilevelTask", "Size", "select_bilevel"]

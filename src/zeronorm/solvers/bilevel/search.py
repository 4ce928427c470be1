"""At most k features in at most g groups: hard thresholding, and the search for better supports.

    min_{u, b}  rho/2 ||u||^2 + sum_i s_i f(y_i, x_i'u + b)
    subject to  ||u||_0 <= k,  #{groups G : u_G != 0} <= g                                       (B)

The search works on a pool of gathered candidates, as that for the best k features does: a scan at
its result shows the features outside of the pool that might lower the objective; they join it, and
the search goes on until a scan shows nothing that helps.

`bilevel.moves` has what makes a support better inside the pool. The published methods take a scan
for each step, and use the pool only to fit the support they end at.

Source: Xiang, Yang and Ye, Simultaneous feature and feature group selection through hard
thresholding, KDD 2014 (the problem, and the published variants in `l0.hard_thresholding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.results import Status, Step
from ...core.types import Columns, FloatArray, IndexArray
from ...data.columns import GatheredColumns
from ...data.repeated import in_all_outputs
from ..clock import PhaseClock
from ..drive import Scan, Solver
from ..l0.hard_thresholding import VARIANTS, Point, Thresholding, hard_threshold
from .moves import MOVES, Moves
from .pool import FINAL_TOL, Pool, PoolFit
from .task import BilevelTask, Size

SOLVERS = ("auto", *VARIANTS)

POOL_MIN = 30  # features that a pool begins with beside `POOL_FACTOR` times the budgets
SCAN_BOLDNESS = (1.0, 4.0)  # factors of the strengths of candidates outside of the pool
MAX_ROUNDS, MAX_STEPS = 20, 10_000
# Groups that are left out in turn by a scan, to see what would take their place, and how many
# candidates that gives for each: as many as cost so many products.
MOST_LEFT_OUT, LEFT_OUT_PRODUCTS = 6, 2e9
MOST_SCORES = 20_000_000  # of one scan: a grid of budgets over many features takes several


@dataclass(frozen=True, slots=True)
class BilevelFit:
    """A solution of (B) for one size, on the selection scaling."""

    support: IndexArray  # sorted, at most k features in at most g groups
    coef: FloatArray  # (k,), of several outputs (k outputs,) feature by feature
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
    """The best support of every size so far, and the pool of candidates that they are of."""

    def __init__(self, task: BilevelTask, sizes: Sequence[Size], tol: float) -> None:
        self.task, self.sizes, self.tol = task, list(sizes), tol
        self.pool = Pool(task.objective, GatheredColumns(task.design_of_features, 0))
        self.pool.add(task.forced)
        self.moves = Moves(task, self.pool, sizes, tol)
        self.best: dict[Size, PoolFit] = {}
        self.history: list[Step] = []
        self._status: dict[Size, Status] = {}

    # ------------------------------------------------------------------ published methods

    def threshold(
        self, solver: str, max_iter: int, start: Sequence[IndexArray], clock: PhaseClock
    ) -> Solver[None]:
        """Solve every size by hard thresholding over all features."""
        task = self.task
        for size in self.sizes:
            begin, admit = self._beginning(size, start), task.of_columns(task.admit(size))
            state = Thresholding(
                task.objective, admit, VARIANTS[solver], self.tol, begin, task.usable_spread
            )
            solver_steps = hard_threshold(state, task.design, self._gather, max_iter)
            steps = yield from clock.inside("select", solver_steps)
            # The model without features, where no step is good enough, lacks the forced ones.
            support = np.union1d(task.features(state.best.support), task.forced)
            self.best[size] = self.pool.fit(np.sort(self.pool.position(support)))
            self._status[size] = Status.CONVERGED if steps < max_iter else Status.MAX_ITER
            self.record(size, support, {"curvature": state.curvature, "steps": float(steps)})

    def _beginning(self, size: Size, start: Sequence[IndexArray]) -> Point | None:
        """Return the best known point that a size admits, None where there is none."""
        smaller = self._best_smaller(size)
        if smaller is not None:
            return self._point(smaller)
        for features in start:
            features = np.unique(np.concatenate([features, self.task.forced]))
            n_groups = np.union1d(
                self.task.groups.of_features(features), self.task.forced_groups
            ).size
            if features.size <= size[0] and n_groups <= size[1]:
                self.pool.add(features)
                return self._point(self.pool.fit(np.sort(self.pool.position(features))))
        return None

    def _best_smaller(self, size: Size) -> PoolFit | None:
        """Return the best fit so far of the sizes that a size admits."""
        known = [fit for other, fit in self.best.items() if _admits(size, other)]
        return min(known, key=lambda fit: fit.objective, default=None)

    def _sorted(self, fit: PoolFit) -> tuple[IndexArray, FloatArray]:
        """Return the features of a fit, sorted, with their coefficients, feature by feature."""
        features = self.pool.features[fit.columns]
        order = np.argsort(features)
        return features[order], fit.coef.reshape(-1, self.task.outputs)[order].ravel()

    def _point(self, fit: PoolFit) -> Point:
        features, coef = self._sorted(fit)
        return Point(
            self.task.columns(features), coef, fit.margins - fit.intercept, fit.intercept,
            fit.objective, fit.gradient,
        )  # fmt: skip

    def _gather(self, columns: IndexArray) -> Columns:
        """Return columns of the design by way of the pool, which has their features then."""
        features = self.task.features(columns)
        self.pool.add(features)
        own = self.pool.columns().take(self.pool.position(features))
        return in_all_outputs(own, self.task.outputs)

    # ------------------------------------------------------------------ the search

    def explore(self, start: Sequence[IndexArray], clock: PhaseClock) -> Solver[None]:
        """Search for the best support of every size, with scans for further candidates."""
        task = self.task
        scores = self.moves.strength((yield Scan(task.design, -self.moves.zero.gradient)))
        with clock.phase("gather"):
            for features in start:
                self.pool.add(features)
            fresh = self._first_candidates(scores)
        with clock.phase("select"):
            for size in self.sizes:
                self.best[size] = self.moves.start(size, self._best_smaller(size))
                self.record(size, fresh)
            self._neighbours()
        waiting, replaced = list(self.sizes), set[Size]()
        for _ in range(MAX_ROUNDS):
            before = dict(self.best)
            yield from self._extend(waiting, clock)
            with clock.phase("select"):
                self._neighbours()
            waiting = [size for size in self.sizes if self.best[size] is not before[size]]
            if not waiting:
                waiting = yield from self._replace(replaced, clock)
            if not waiting:
                break
        self._status = dict.fromkeys(self.sizes, Status.CONVERGED)
        self._status.update(dict.fromkeys(waiting, Status.MAX_ITER))

    def _extend(self, waiting: Sequence[Size], clock: PhaseClock) -> Solver[None]:
        """Add candidates by the scores at the best supports of some sizes, and go on with them."""
        fresh: dict[Size, IndexArray] = {}
        part = max(1, MOST_SCORES // self.task.design.shape[1])
        for begin in range(0, len(waiting), part):
            sizes = waiting[begin : begin + part]
            vectors = np.column_stack([-self.best[size].gradient for size in sizes])
            scores = yield Scan(self.task.design, vectors)
            with clock.phase("gather"):
                for place, size in enumerate(sizes):
                    fresh[size] = self._candidates(size, self.moves.strength(scores[:, place]))
        with clock.phase("select"):
            for size in waiting:
                if fresh[size].size:
                    self.best[size] = self.moves.improve(size, self.best[size])
                self.record(size, fresh[size])

    def _first_candidates(self, scores: FloatArray) -> IndexArray:
        """Add the strongest features under larger budgets."""
        k, g = (max(sizes) for sizes in zip(*self.sizes, strict=True))
        larger = (MOVES.pool_factor * k + POOL_MIN, MOVES.pool_factor * g)
        found = self.task.admit(larger)(scores)
        if not found.size:  # nothing is correlated with y; a pool has to have a column
            usable = self.task.usable
            found = np.arange(1) if usable is None else np.flatnonzero(usable)[:1]
        return self.pool.add(found)

    def _candidates(self, size: Size, scores: FloatArray) -> IndexArray:
        """Add the features that the budgets would admit at the best support of a size."""
        fit = self.best[size]
        strength = np.abs(scores)
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
        n, m = self.task.design_of_features.shape
        most = min(MOST_LEFT_OUT, int(LEFT_OUT_PRODUCTS / (n * m * self.task.outputs)))
        before = dict(self.best)
        for size in self.sizes:
            if size in replaced or most < 1:
                continue
            replaced.add(size)
            fit = self.best[size]
            with clock.phase("select"):
                changes = self.pool.changes(fit)
                out = self.moves.weakest_groups(changes)[:most]
                fits = [self.pool.fit(np.delete(fit.columns, places), fit) for places in out]
            if not fits:
                continue
            scores = yield Scan(
                self.task.design, np.column_stack([-without.gradient for without in fits])
            )
            with clock.phase("gather"):
                fresh = [
                    self._in_place(places.size, self.moves.strength(scores[:, number]))
                    for number, places in enumerate(out)
                ]
            with clock.phase("select"):
                self.best[size] = self.moves.improve(size, fit)
                self.record(size, np.concatenate(fresh))
        with clock.phase("select"):
            self._neighbours()
        return [size for size in self.sizes if self.best[size] is not before[size]]

    def _in_place(self, n_features: int, scores: FloatArray) -> IndexArray:
        """Add the best features of the three best groups for so many, beside what is forced."""
        forced = self.moves.forced_columns
        larger = forced.size + 3 * n_features, self.moves.n_groups(forced) + 3
        return self.pool.add(self.task.admit(larger)(scores))

    def _neighbours(self) -> None:
        """Let every size begin from those next to it, where that is better."""
        for place, size in enumerate(self.sizes):
            for next_place, other in enumerate(self.sizes):
                fit = self.best[other]
                if other == size:
                    continue
                if _admits(size, other):
                    if fit.objective < self.best[size].objective * (1.0 - self.tol):
                        self.best[size] = self.moves.improve(size, fit)
                elif abs(place - next_place) == 1:
                    found = self.moves.cut(size, fit)
                    if found is not None:
                        self._offer(size, self.moves.improve(size, found))

    def _offer(self, size: Size, fit: PoolFit) -> None:
        if fit.objective < self.best[size].objective * (1.0 - self.tol):
            self.best[size] = fit

    # ------------------------------------------------------------------ answers

    def record(
        self, size: Size, entered: IndexArray, extra: dict[str, float] | None = None
    ) -> None:
        """Add the best of a size to the history."""
        fit = self.best[size]
        numbers = {"n_groups": float(self.moves.n_groups(fit.columns)), **(extra or {})}
        status = self._status.get(size)
        self.history.append(
            Step(fit.objective, -np.inf, fit.columns.size, entered, {}, numbers, status)
        )

    def solutions(self) -> dict[Size, BilevelFit]:
        """Return the best of every size."""
        answers = {}
        for size in self.sizes:
            fit = self.pool.fit(self.best[size].columns, self.best[size], FINAL_TOL)
            answers[size] = BilevelFit(
                *self._sorted(fit), fit.intercept, fit.objective, fit.gradient, self._status[size]
            )
        return answers


def _admits(size: Size, other: Size) -> bool:
    """Return whether every support of the other size is one of this size."""
    return other != size and other[0] <= size[0] and other[1] <= size[1]

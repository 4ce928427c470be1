"""A walk along l1 solutions: one after the other at several C, each from the one before it.

Every point starts from the solution before it. Its scores are those of the last scan times the
ratio of the two C, so the sequential strong rule (Tibshirani et al., JRSS B 74, 2012) names its
first working set without a scan; the scan after it certifies, and finds what the rule left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.results import Result, Status, Step
from ...core.types import FloatArray, IndexArray
from ...data.column_sets import ColumnSet, ColumnStore, RowSet
from ...data.wrappers import feature_blocks
from ..drive import Scan, Solver
from .problem import NEVER, L1Problem, Point
from .run import Run
from .working_set import solve_over

# Of ||x_j|| ||alpha||: scores below it are rounding. Of the loss without features: nothing is left.
NOISE, NOTHING = 1e-12, 1e-9


@dataclass(frozen=True, slots=True)
class L1WalkTuning:
    """Constants, each with what it was measured for."""

    rough: float = 0.3  # of tol: what is left over a working set
    # The gap of a model over free features, which tells where others enter, and over k chosen ones,
    # which is all but zero just above that C.
    exact: float = 1e-10
    farthest: float = 1.5  # a scan says little of a C that is so many times its own
    saturated: float = (
        0.999  # share of the loss without features that is explained where a path may end
    )


L1_WALK = L1WalkTuning()
# Values of C that are certified together, at first and at most, and scores that a scan may return
# (64 MB).
FEW, AHEAD, MOST_SCORES = 5, 10, 1 << 23


class Walk:
    """Solutions at one C after the other, each from the one before it.

    Parameters
    ----------
    problem : with the weights of C = 1.
    tol : (objective - bound) / objective of the model without features, at every C.
    forced : features with so small a penalty that the walk begins without asking them, as it does
        with those without one.
    store : of the columns, where other walks on the same design share it.
    """

    def __init__(
        self,
        problem: L1Problem,
        tol: float,
        max_iter: int,
        n_threads: int = 1,
        forced: IndexArray | None = None,
        store: ColumnStore | None = None,
    ) -> None:
        self._problem, self._tol = problem, tol
        self._store = ColumnStore(problem.design, n_threads) if store is None else store
        self._run = Run(problem, tol, max_iter, n_threads, self._store)
        self._l1 = problem.penalty.l1
        self._unpenalised = np.flatnonzero(self._l1 == 0)
        self.free = self._unpenalised if forced is None else np.union1d(self._unpenalised, forced)
        self.C = 1.0
        # Values of C of the next call of `along`, and the most to come; 0: too few of them are
        # certified without a scan of their own.
        self._reach, self._most = FEW, AHEAD
        self.smallest = np.inf  # C below which all but the free features are zero
        self.history: list[Step] = []  # of all scans

    def begin(self) -> Solver[None]:
        """Find the smallest C that is of interest: one scan, two where features are free."""
        run = self._run
        yield from run.begin()
        first = run.candidate.dual
        if self.free.size:  # their model does not depend on C
            point, counts = solve_over(run, self.free, L1_WALK.exact)
            yield from run.certify(point, counts)
        self.history.extend(run.history)
        if self._unpenalised.size and run.point.value <= NOTHING * run.scale:
            return  # they separate the classes, and nothing is left for the others
        strongest = self._strongest(first)
        if strongest > 0:
            self.smallest = 1.0 / strongest

    def _strongest(self, first: FloatArray) -> float:
        """Return the largest share of the features that are not free, 0 where all are rounding.

        first : (n,) dual point of the model without features, which tells how large scores can be.
        """
        run, store = self._run, self._store
        share = self.share()
        share[self.free] = 0.0
        share[self._l1 >= NEVER] = 0.0
        if not share.any():
            return 0.0
        size, rows = float(np.linalg.norm(first)), (first != 0).astype(np.float64)
        vector = run.candidate.dual

        def is_noise(columns: ColumnSet | RowSet) -> np.ndarray:
            score, _, square = columns.terms(vector, rows)
            return np.abs(score) <= NOISE * np.sqrt(square) * size

        top = np.array([share.argmax()])
        if not is_noise(store.columns(top))[0]:
            return float(share[top[0]])
        for some in feature_blocks(np.flatnonzero(share), first.size):
            share[some[is_noise(store.passing(some))]] = 0.0
        return float(share.max())

    def to(self, C: float, share: float = L1_WALK.rough) -> Solver[Result]:
        """Return the solution at another C, greater or smaller.

        share : of tol, the gap over a working set to stop at.
        """
        run, before = self._run, self.C
        self._restart(C)
        features = run.strong(C / before)
        while run.status is None:
            yield from self._solve(features, share * self._tol)
            features = np.union1d(features, run.choose())
        return self._result()

    def along(self, Cs: Sequence[float], told: Callable[[Result], bool]) -> Solver[int]:
        """Go on along a growing C, several values to a scan; return how many have a solution.

        Each is solved from the one before, over the features that the last scan makes likely. The
        largest is scanned, and certifies those below it as far as it goes. One scan certifies the
        others. Those that are not within the tolerance are solved again, over more features, until
        they are: their scans are merged too.

        Cs : those after the first that are much larger than the last C, or too many, are left for
            the next call.
        told : every solution, at its C; whether to stop there.
        """
        begin, first = self._run, self.C
        Cs = [C for number, C in enumerate(Cs) if number == 0 or C / first <= L1_WALK.farthest]
        Cs = Cs[: self._reach or FEW]
        runs: list[Run] = []
        for C in Cs:
            self._ahead(C)
            run = self._run
            near = run.strong(C / first)
            runs.append(run)
            run.propose(*self._solved(near))
        waiting = list(zip(Cs, runs, strict=True))
        if self._reach > 0:
            waiting = yield from self._between(begin, first, waiting)
        while waiting:
            vectors = np.column_stack([run.candidate.dual for _, run in waiting])
            scores = yield Scan(begin.problem.design, vectors)
            for number, (C, run) in enumerate(waiting):
                run.accept(np.ascontiguousarray(scores[:, number]))
                if run.status is None:
                    self._run, self.C = run, C
                    features = np.union1d(run.point.features, run.choose())
                    run.propose(*self._solved(features))
            waiting = [(C, run) for C, run in waiting if run.status is None]
        for number, (C, run) in enumerate(zip(Cs, runs, strict=True)):
            self._run, self.C = run, C
            if told(self._result()):
                return number + 1
        return len(Cs)

    def _between(
        self, begin: Run, first: float, waiting: list[tuple[float, Run]]
    ) -> Solver[list[tuple[float, Run]]]:
        """Scan at the largest C only; return those that are still to be certified.

        Where many are left, the next call reaches less far.
        """
        C_last, last = waiting[-1]
        last.accept((yield Scan(begin.problem.design, last.candidate.dual)))
        # Without penalised features the solution is the same at all C up to the smallest.
        low = self.smallest if np.isin(begin.point.support, self.free).all() else first
        left = []
        for C, run in waiting[:-1]:
            share = min(max(C - low, 0.0) / (C_last - low), 1.0) if C_last > low else 0.0
            if not run.accept_between(begin, last, share):
                left.append((C, run))
        if 2 * len(left) > len(waiting):
            self._reach = self._most = FEW if self._reach > FEW else 0
        elif not left:
            self._reach = self._most
        if last.status is None:
            self._run, self.C = last, C_last
            last.propose(*self._solved(np.union1d(last.point.features, last.choose())))
            left.append((C_last, last))
        return left

    def over(self, features: IndexArray, start: Mark, end: Mark) -> Solver[Result]:
        """Return the solution over some features at the C of `end`; it is certified against all.

        start : a solution without other features.
        """
        run, factor, point = self._run, end.C / start.C, start.point
        self._restart(end.C)
        run.point = replace(point, value=factor * point.value, gradient=factor * point.gradient)
        run.bound = end.result.bounds["dual"]
        yield from self._solve(features, L1_WALK.exact)
        run.status = Status.BUDGET
        return self._result()

    def mark(self, C: float, share: float = L1_WALK.rough) -> Solver[Mark]:
        """Go to C; return what is to be known of it later."""
        result = yield from self.to(C, share)
        support = np.union1d(result.support, self.free)
        return Mark(C, result, support, self.point, self.share())

    @property
    def point(self) -> Point:
        """The last point, with its margins."""
        return self._run.point

    def share(self) -> FloatArray:
        """Return how strongly each feature is drawn in, as a share of its l1; 0 without l1."""
        l1 = self._l1
        return np.divide(self._run.pull, l1, out=np.zeros_like(l1), where=l1 > 0)

    def _restart(self, C: float) -> None:
        problem = replace(self._problem, risk=self._problem.risk.times(C))
        self._run.restart(problem, C / self.C)
        self.C = C

    def _ahead(self, C: float) -> None:
        problem = replace(self._problem, risk=self._problem.risk.times(C))
        self._run, self.C = self._run.ahead(problem, C / self.C), C

    def _solve(self, features: IndexArray, goal: float) -> Solver[None]:
        """Solve over some features and scan."""
        yield from self._run.certify(*self._solved(features, goal))

    def _solved(
        self, features: IndexArray, goal: float | None = None
    ) -> tuple[Point, dict[str, float]]:
        """Solve over some features; the row of the history is to tell C, and what is fitted."""
        run = self._run
        point, counts = solve_over(
            run, features, L1_WALK.rough * self._tol if goal is None else goal
        )
        return point, {**counts, "C": self.C, "explained": 1.0 - point.value / run.scale}

    def _result(self) -> Result:
        self.history.extend(self._run.history)
        # The dual point has a number for every row: too much to keep of every C.
        return replace(self._run.result(), dual=None)


@dataclass(frozen=True, slots=True)
class Mark:
    """A solution on a walk."""

    C: float
    result: Result
    support: IndexArray  # with the free features
    point: Point
    share: FloatArray  # (n_features,) of the walk there

    @property
    def size(self) -> int:
        """The number of features."""
        return self.support.size


def saturated(result: Result) -> bool:
    """Return whether a solution explains so much of the loss that a path may end."""
    return result.history[-1].extra["explained"] >= L1_WALK.saturated

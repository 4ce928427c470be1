"""l1 solutions along a growing C, of one problem or of all folds of a cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...core.ranking import largest
from ...core.results import Result, Status, Step
from ...core.types import FloatArray, IndexArray
from ...data.column_sets import ColumnSet, ColumnStore, RowSet
from ...data.operations import unscaled
from ...data.views import feature_blocks, filling_of
from ..driver import Scan, SearchResult, Solver, together
from ..problem import Task
from .problem import NEVER, L1Point, L1Problem, Penalty
from .solvers import Run, solve_over

# A walk along l1 solutions: one after the other at several C, each from the one before it.
#
# Every point starts from the solution before it. Its scores are those of the last scan times the
# ratio of the two C, so the sequential strong rule (Tibshirani et al., JRSS B 74, 2012) names its
# first working set without a scan; the scan after it certifies, and finds what the rule left out.

# Of ||x_j|| ||alpha||: scores below it are rounding. Of the loss without features: nothing is left.
NOISE, NOTHING = 1e-12, 1e-9


@dataclass(frozen=True, slots=True)
class L1WalkTuning:
    """Constants of the walk along an l1 path."""

    rough: float = 0.3  # of tol: what is left over a working set
    # The gap of a model over free features, which tells where others enter, and over k chosen ones,
    # which is all but zero just above that C.
    exact: float = 1e-10
    farthest: float = 1.5  # a scan says little of a C that is so many times its own
    # Share of the loss without features that is explained where a path may end.
    saturated: float = 0.999


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
        forced: IndexArray | None = None,
        store: ColumnStore | None = None,
    ) -> None:
        self._problem, self._tol = problem, tol
        self._store = ColumnStore(problem.design) if store is None else store
        self._run = Run(problem, tol, max_iter, self._store)
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
    def point(self) -> L1Point:
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
        yield from self._run.certify(*self._solved(features, goal))

    def _solved(
        self, features: IndexArray, goal: float | None = None
    ) -> tuple[L1Point, dict[str, float]]:
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
    point: L1Point
    share: FloatArray  # (n_features,) of the walk there

    @property
    def size(self) -> int:
        return self.support.size


def saturated(result: Result) -> bool:
    """Return whether a solution explains so much of the loss that a path may end."""
    return result.history[-1].extra["explained"] >= L1_WALK.saturated


def l1_path(
    problem: L1Problem,
    grid: Callable[[float], Iterable[float]],
    *,
    tol: float,
    max_iter: int,
    enough: Callable[[Result], bool] = lambda result: False,
) -> Solver[list[tuple[float, Result]]]:
    """Return (C, solution) along a growing grid, up to the first solution that is enough.

    Every row of a solution's history has C and the share of the loss that is `explained`.

    Parameters
    ----------
    problem : with the weights of C = 1.
    grid : the values of C, growing, from the one below which the penalised features stay out; not
        called where they always do.
    tol : (objective - bound) / objective of the model without features, at every point.
    enough : whether the path ends with a solution.
    """
    walk = Walk(problem, tol, max_iter)
    yield from walk.begin()
    path: list[tuple[float, Result]] = []
    if np.isinf(walk.smallest):
        return path
    values = [float(C) for C in grid(walk.smallest)]
    at_once = _at_once(problem, 1)
    stop = False

    def told(result: Result) -> bool:
        nonlocal stop
        path.append((walk.C, result))
        stop = enough(result)
        return stop

    while len(path) < len(values) and not stop:
        yield from walk.along(values[len(path) : len(path) + at_once], told)
    return path


def _at_once(problem: L1Problem, n_walks: int) -> int:
    """Return how many values of C share a scan, so that its scores fit in memory."""
    return max(1, min(AHEAD, MOST_SCORES // (problem.design.shape[1] * n_walks)))


def l1_folds(
    problems: Sequence[L1Problem],
    folds: Sequence[Sequence[L1Problem]],
    grid: Callable[[float], FloatArray],
    told: Callable[[int, int, int, L1Point], None],
    *,
    tol: float,
    max_iter: int,
    stop_early: bool,
) -> Solver[tuple[FloatArray, list[list[Result]], float]]:
    """Return the values of C and the solutions of some problems; fit parts of the data along.

    The last part of the answer is the seconds of all paths outside of scans. They run in
    lockstep, their scans merged: as many passes as the longest one has.

    Parameters
    ----------
    problems : one for each class, on one design, with the weights of C = 1.
    folds : of every fold the same problems, with the weights of its training rows.
    grid : the values of C, growing, from the one at which the first feature enters any problem.
    told : after every point of every fold: fold, problem, number of C, and the point. Its margins
        are those of all rows: rows without weight are held out.
    stop_early : whether to end where all problems are saturated.
    """
    store = ColumnStore(problems[0].design)

    def walks_of(some: Sequence[L1Problem]) -> list[Walk]:
        own, shared = (filling_of(one[0].design) for one in (some, problems))
        columns = store if own is shared else ColumnStore(some[0].design)
        return [Walk(problem, tol, max_iter, store=columns) for problem in some]

    walks = walks_of(problems)
    parts = [walks_of(fold) for fold in folds]
    yield from together([walk.begin() for some in (walks, *parts) for walk in some])
    smallest = min(walk.smallest for walk in walks)
    values = grid(smallest)
    end = len(values)
    ends: dict[int, int] = {}  # where the problems are saturated

    at_once = _at_once(problems[0], len(walks) * (1 + len(parts)))

    def follow(walk: Walk, done: Callable[[int, Result], None]) -> Solver[list[Result]]:
        results: list[Result] = []

        def told(result: Result) -> bool:
            done(len(results), result)
            results.append(result)
            return len(results) >= end

        while len(results) < end:
            first = len(results)
            yield from walk.along(values[first : min(first + at_once, end)].tolist(), told)
        return results

    def all_data(number: int, step: int, result: Result) -> None:
        nonlocal end
        if stop_early and number not in ends and saturated(result):
            ends[number] = step + 1
            if len(ends) == len(walks):
                end = max(ends.values())

    def held_out(fold: int, number: int, step: int, _: Result) -> None:
        if step < end:
            told(fold, number, step, parts[fold][number].point)

    solvers = [follow(walk, partial(all_data, number)) for number, walk in enumerate(walks)]
    for fold, part in enumerate(parts):
        solvers += [
            follow(walk, partial(held_out, fold, number)) for number, walk in enumerate(part)
        ]
    results = yield from together(solvers)
    steps = [step for some in (walks, *parts) for walk in some for step in walk.history]
    seconds = sum(step.seconds["solve"] for step in steps)
    return values[:end], [path[:end] for path in results[: len(walks)]], seconds


# l1 solutions of given sizes: the C that gives exactly k features, by a search along a walk.


@dataclass(frozen=True, slots=True)
class L1SizesTuning:
    """Constants of the search for the C of a number of features."""

    step: float = 1.3  # from C to C, until there are more features than asked for
    rounding: float = 1e-9  # C is below the first feature by so much of it
    # Relative width of a bracket of C: features that enter within it enter together.
    width: float = 1e-3
    fine: float = 1e-3  # of tol: what is left over a working set in a search
    # Forced features are nearly unpenalised: finite where they separate the data.
    forced_factor: float = 1e-6


L1_SIZES = L1SizesTuning()
# Of the last C to the one at which the first feature enters: of any search; of `l1_supports`.
LARGEST, LARGEST_SUPPORT = 1e4, 100.0
GUESSES, MARGIN = 3, 0.1  # steps by interpolation before bisection; their distance from the ends
TOL, MAX_ITER = 1e-4, 50  # of every point of `l1_supports`


@dataclass(frozen=True, slots=True)
class Sized:
    """A model of exactly k features."""

    C: float
    result: Result  # with k features, some of which may have the coefficient 0
    reached: int  # the most features of a solution, at most k; below k: scores chose the others


def l1_sizes(
    problem: L1Problem,
    sizes: Sequence[int],
    *,
    tol: float,
    max_iter: int,
    forced: IndexArray | None = None,
    ratio: float = LARGEST,
    told: Callable[[Mark], None] = lambda mark: None,
) -> Solver[dict[int, Sized]]:
    """Return for every size k the model of the largest C with at most k features, topped up to k.

    A growing C is followed to the first solution with more than k features. Between it and the last
    one before, C is searched until a solution has exactly k: that is the model. Where the bracket
    becomes narrow first, as several features enter together, the features of its lower end are
    completed by those that are drawn in most there, and the model is the solution over these k at
    its upper end; its gap is that to the solution over all.

    Where the path ends before it has more than k features, because C is `ratio` times that of the
    first one, all are in, or next to nothing is left of the loss, the solution with the most
    features (the last of those) is taken, and completed in the same way with coefficients of 0.

    Parameters
    ----------
    problem : with the weights of C = 1. Features with an l1 of NEVER are not available.
    sizes : not less than the features that are free, not more than are available.
    ratio : of the last C that is tried to the one at which the first feature enters.
    told : after every point; their C grow but for those of searches.
    """
    walk = Walk(problem, tol, max_iter, forced)
    available = problem.penalty.l1 < NEVER
    yield from walk.begin()
    smallest = walk.smallest if np.isfinite(walk.smallest) else 1.0
    found: dict[int, Sized] = {}
    missing = sorted(set(sizes))
    low = most = yield from walk.mark((1.0 - L1_SIZES.rounding) * smallest)  # nothing has entered
    while missing and low.size > missing[0]:  # free features have some penalty, `smallest` has none
        low = most = yield from walk.mark(low.C / L1_SIZES.step)
    n_steps = int(np.log(ratio) / np.log(L1_SIZES.step)) if np.isfinite(walk.smallest) else 0
    for number in range(1, n_steps + 1):
        high = yield from walk.mark(smallest * L1_SIZES.step**number)
        told(high)
        while missing and missing[0] < high.size:
            k = missing.pop(0)
            found[k] = yield from _between(walk, k, low, high, available, told)
        low = high
        most = high if high.size >= most.size else most
        if not missing or low.size == available.sum() or saturated(low.result):
            break
    for k in missing:
        found[k] = Sized(most.C, _with(most.result, _completed(most, k, available)), most.size)
    return {
        k: replace(model, result=_with_history(model.result, walk)) for k, model in found.items()
    }


def _between(
    walk: Walk, k: int, low: Mark, high: Mark, available: np.ndarray, told: Callable[[Mark], None]
) -> Solver[Sized]:
    """Return the model of k features between solutions of at most k and of more."""
    n_steps = 0
    while low.size < k and (1.0 + L1_SIZES.width) * low.C < high.C:
        share = 0.5
        if n_steps < GUESSES:  # features enter evenly
            share = (k + 0.5 - low.size) / (high.size - low.size)
            share = min(max(share, MARGIN), 1.0 - MARGIN)
        n_steps += 1
        # At `ROUGH` nothing would move, and the support be that of a C nearby.
        mark = yield from walk.mark(low.C * (high.C / low.C) ** share, L1_SIZES.fine)
        told(mark)
        if mark.size > k:
            high = mark
        else:
            low = mark
    if low.size == k:
        return Sized(low.C, _with(low.result, low.support), k)
    support = _completed(low, k, available)
    result = yield from walk.over(support, low, high)
    return Sized(high.C, _with(result, support), k)


def _completed(mark: Mark, k: int, available: np.ndarray) -> IndexArray:
    """Return the features of a solution and those that are drawn in most, k together, sorted."""
    rest = np.where(available, mark.share, -1.0)
    rest[mark.support] = -1.0
    return np.union1d(mark.support, largest(rest, k - mark.size))


def _with(result: Result, support: IndexArray) -> Result:
    """Return a result with zeros for more features."""
    coef = np.zeros(support.size)
    coef[np.searchsorted(support, result.support)] = result.coef
    return replace(result, support=support, coef=coef)


def _with_history(result: Result, walk: Walk) -> Result:
    """Return a result with all scans of the walk in its history, its own ones last."""
    own = {id(step) for step in result.history}
    others = tuple(step for step in walk.history if id(step) not in own)
    return replace(result, history=others + result.history)


def l1_supports(
    task: Task, sizes: Sequence[int], *, tol: float = TOL, max_iter: int = MAX_ITER
) -> Solver[tuple[dict[int, IndexArray], SearchResult]]:
    """Return for every size k the support at the largest C with at most k features, exactly k.

    A support with fewer than k features is completed by the largest scores at that C. The second
    part of the answer tells when features entered.
    """
    points: list[tuple[float, IndexArray]] = []

    def told(mark: Mark) -> None:
        points.append((mark.C, mark.support[np.argsort(-mark.share[mark.support], kind="stable")]))

    models = yield from l1_sizes(
        posed(task), sizes, tol=tol, max_iter=max_iter, forced=task.forced,
        ratio=LARGEST_SUPPORT, told=told,
    )  # fmt: skip
    history: list[Step] = []
    entered = np.zeros(task.usable.size, bool)
    for _, features in sorted(points, key=lambda point: point[0]):
        fresh = features[~entered[features]]
        entered[fresh] = True
        history.append(Step(np.nan, np.nan, features.size, fresh))
    supports = {k: model.result.support for k, model in models.items()}
    last = supports[max(sizes)]
    answer = Result(
        last, np.zeros(last.size), 0.0, np.nan, {}, None, Status.BUDGET, tuple(history)
    )  # fmt: skip
    return supports, SearchResult(answer, {})


def posed(task: Task) -> L1Problem:
    """Return the problem of a task at C = 1, on columns as they are stored.

    Columns divided by their deviation are columns with as many times the penalty; with a free
    intercept centring changes nothing.
    """
    design, scale = unscaled(task.design)
    l1 = np.divide(1.0, scale, out=np.full(scale.size, NEVER), where=scale > 0)
    design = design.arranged(for_descent=True)
    l1[task.forced] *= L1_SIZES.forced_factor
    l1[~task.usable] = NEVER
    everything = np.full(l1.size, np.inf)
    penalty = Penalty(l1, np.zeros(l1.size), -everything, everything)
    return L1Problem(design, task.risk(1.0), penalty, task.n_rows).centred()

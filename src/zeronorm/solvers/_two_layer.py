"""Feature selection for a measure: blocks of features outside, cuts of the measure inside.

    min_{d in D_B} min_{u, b}  1/2 sum_j u_j^2 / d_j + C R(Xu + b)                             (P)
    D_B = {0 <= d_j <= 1, sum_j d_j <= B}

R is the loss of a measure (`zeronorm.measures`). The outer layer adds the block of the B features
with the largest |X'beta|, beta the weighted sum of the cuts; the inner layer solves (P) over the
blocks by cutting planes, to a certified gap.

Source: Mao and Tsang, A feature selection method for multivariate performance measures, IEEE TPAMI
2013, Algorithms 1 and 2.

`published=True` is that method. The default solves the same problems to the same gaps with fewer
programs: it keeps the cuts between blocks, it searches the line from the best point to that of the
program and adds cuts at the best point on it and close by (OCAS, Franc and Sonnenburg 2008; those
at the points of the program itself, far away, say little), and it solves the problems that
only generate blocks to a gap of 1e-2.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .._typing import Design, FloatArray, IndexArray
from ..criteria import CRITERIA
from ..designs import Scaled
from ..measures import Cut, Measure
from ..result import Path, Selection, Status, Step
from ..structures import largest
from ._cuts import BlockModel, Cuts, FullModel, Master, Model, Point, average_by_class, solve_master
from ._cutting_plane import fit_budget
from ._drive import Scan, Solver
from ._stopwatch import PhaseClock
from ._task import Task

LOOSE = 1e-2  # gap of the problems that only generate blocks
MAX_CUTS = 2000  # rounds of one inner problem
IDLE_ROUNDS = 40  # after which a cut without weight is dropped
NO_WEIGHT = 1e-3  # of the largest
LINE_CALLS = 6  # labellings of one line search
MASTER_SHARE = 0.2  # of the gap: how exactly the program over the cuts is solved
NEAR = 0.03  # share of the way from the best point to that of the program, of a second cut
PATIENCE = 10  # rounds without a smaller gap, after which the cut of the program is added too
STALLED = 100  # rounds without a smaller gap that end the method
SolveMaster = Callable[[FloatArray, FloatArray, FloatArray, float, float], Master]


@dataclass(frozen=True, slots=True)
class MeasureTask:
    """One binary problem: the data of a `Task` and the measure with its weight C."""

    data: Task
    measure: Measure
    C: float

    @property
    def intercept(self) -> bool:
        """Whether b is free."""
        return self.data.intercept and self.measure.intercept == "free"

    @property
    def weight(self) -> FloatArray | None:
        """The sample weights, where the measure has them and they differ from 1."""
        weight = self.data.sample_weight
        return weight if self.measure.weighted and np.any(weight != 1.0) else None

    def cut(self, point: Point) -> Cut:
        """Return the cut that is tight at a point."""
        return self.measure.cut(point.z + point.b, self.data.y, self.weight)


@dataclass(frozen=True, slots=True)
class Inner:
    """The answer of the inner layer."""

    point: Point
    objective: float
    bound: float
    vector: FloatArray  # (n,) sum_k alpha_k beta_k of the last dual point
    delta: float  # sum_k alpha_k delta_k
    n_rounds: int
    status: Status


def select_by_measure(
    task: MeasureTask,
    sizes: Sequence[int] | None,
    *,
    block_size: int | None = None,
    max_blocks: int | None = None,
    tol: float = 1e-3,
    refit: bool = True,
    published: bool = False,
    seconds: dict[str, float] | None = None,
    master: SolveMaster = solve_master,
) -> Solver[Path]:
    """Select features for a measure by the two layers, exactly as many as each of the sizes says.

    Parameters
    ----------
    sizes : growing; `max_blocks` yields to them. None: all usable features, one block.
    block_size : B; by default a tenth of the size, of several a tenth of the smallest, but at least
        a thirtieth of the largest.
    tol : certified gap of the final models (with `published`, of all problems), relative to the
        objective of the model without features.
    refit : whether the final model is the solution over the selected features as one block, or that
        of (P) over the generated blocks.
    master : solver of the program over the cuts.

    Returns
    -------
    Path, by a generator of scans. Every selection has the value of its problem and, with `refit`, a
    lower bound over all supports of its size.
    """
    clock = PhaseClock(seconds)
    data = task.data
    cuts = Cuts(data.design.shape[0], task.measure.labels and task.weight is None, task.intercept)
    b, scale = _without_features(task)
    if scale <= 0.0:
        raise ValueError(
            f"measure={task.measure.name!r} has no loss for any scores here, so nothing can be "
            "learnt from these rows. Use another measure."
        )
    solve = _Inner(task, scale, not published, master)
    if sizes is None:
        return (yield from _full(task, cuts, b, solve, tol, clock))
    model = BlockModel(data.design, cuts, sizes[-1])
    blocks = _Blocks(task, sizes[-1], sizes[0], block_size, max_blocks)
    history: list[Step] = []
    for cut in _first_cuts(task, b):
        yield from model.add(cut.cut, cut.keep)
    vector, delta = _first_vector(task, b)
    best: Point | None = None
    answer: Inner | None = None
    objective, bound, outer = scale, 0.0, 0.0
    bounds = dict.fromkeys(sizes, 0.0)  # of all models of a size: any dual point gives one
    status = Status.BUDGET
    while True:
        scores = yield Scan(data.design, vector)
        begin = time.perf_counter()
        block_found = blocks.next(scores)
        outer = max(outer, _dual_bound(delta, task.C, blocks.worst))
        for k in sizes:
            bounds[k] = max(bounds[k], _dual_bound(delta, task.C, blocks.mass(scores, k)))
        if block_found is None:
            status = Status.REPEATED
            break
        entered, block = block_found
        model.enter(entered, block)
        seconds_of = {"gather": time.perf_counter() - begin}
        begin = time.perf_counter()
        last = blocks.full
        extra: dict[str, float] = {"outer_bound": outer, "without_features": scale}
        step_status: Status | None = None
        if not last or published or not refit:
            if published:
                fresh = BlockModel.of_blocks(model, Cuts.like(cuts))
                for cut in _first_cuts(task, b):
                    yield from fresh.add(cut.cut, cut.keep)
                model, cuts, best = fresh, fresh.cuts, None
            start = model.zero(b) if best is None else model.extended(best)
            exact = published or (last and not refit)
            answer = yield from solve(model, start, tol if exact else max(tol, LOOSE))
            best, objective, bound = answer.point, answer.objective, answer.bound
            vector, delta = answer.vector, answer.delta
            extra |= {
                "gap": (objective - bound) / scale,
                "inner_iterations": float(answer.n_rounds),
                "cuts": float(cuts.size),
            }
            step_status = answer.status
        seconds_of["solve"] = time.perf_counter() - begin
        history.append(
            Step(objective, bound, blocks.n_seen, entered, seconds_of, extra, step_status)
        )
        if last:
            break
    clock.add_history(history)

    order = model.features
    fits: dict[int, _Fit] = {}
    if refit:
        with clock.phase("refit"):
            for k in sizes:
                one = model.restricted(order[:k])
                found = yield from solve(one, one.zero(b), tol)
                coef = one.coef(found.point)[:k]
                fits[k] = _Fit(order[:k], coef, found)
    else:
        assert answer is not None
        fits[sizes[-1]] = _Fit(order, model.coef(answer.point), answer)
    if refit:
        answers = yield [Scan(data.design, fit.inner.vector) for fit in fits.values()]
        for (k, fit), scores in zip(fits.items(), answers, strict=True):
            last_bound = _dual_bound(fit.inner.delta, task.C, blocks.mass(scores, k))
            bounds[k] = max(bounds[k], last_bound)
    entered_at = [step.entered for step in history]
    selections = {
        k: _selection(
            task, fit.support, fit.coef, fit.inner, bounds[k] if refit else None, entered_at
        )
        for k, fit in fits.items()
    }
    gap = max((fit.inner.objective - fit.inner.bound) / scale for fit in fits.values())
    return Path(selections, order, tuple(history), status, gap)


@dataclass(frozen=True, slots=True)
class _Fit:
    """A model on the selection scaling."""

    support: IndexArray  # in order of entry
    coef: FloatArray
    inner: Inner


def _full(
    task: MeasureTask, cuts: Cuts, b: float, solve: _Inner, tol: float, clock: PhaseClock
) -> Solver[Path]:
    """Fit the model of all usable features."""
    data = task.data
    m = data.design.shape[1]
    features = np.arange(m) if data.usable is None else np.flatnonzero(data.usable)
    model = FullModel(data.design, cuts, features)
    begin = time.perf_counter()
    for cut in _first_cuts(task, b):
        yield from model.add(cut.cut, cut.keep)
    fit = yield from solve(model, model.zero(b), tol)
    coef = yield from model.weights(fit.point.w)
    extra = {
        "without_features": solve.scale,
        "gap": (fit.objective - fit.bound) / solve.scale,
        "inner_iterations": float(fit.n_rounds),
        "cuts": float(cuts.size),
    }
    step = Step(
        fit.objective, fit.bound, features.size, features,
        {"solve": time.perf_counter() - begin}, extra, fit.status,
    )  # fmt: skip
    clock.add_history([step])
    selection = _selection(task, features, coef, fit, fit.bound, [features])
    return Path({features.size: selection}, features, (step,), fit.status, extra["gap"])


def _selection(
    task: MeasureTask,
    support: IndexArray,
    coef: FloatArray,
    fit: Inner,
    bound: float | None,
    entered: list[IndexArray],
) -> Selection:
    """Return the model on the user's scaling of X, the threshold taken from its intercept."""
    data = task.data
    position = np.argsort(support, kind="stable")
    support, coef = support[position], coef[position]
    z = fit.point.z + fit.point.b
    threshold = task.measure.threshold(z, data.y, task.weight)
    mean, scale = scaling_of(data.design, support)
    u = coef * scale
    steps = np.zeros(support.size, np.int64)
    for number, features in enumerate(entered, start=1):
        steps[(steps == 0) & np.isin(support, features)] = number
    return Selection(
        support, u, fit.point.b - threshold - float(mean @ u), task.C, steps, None,
        math.nan, math.nan, dict.fromkeys(CRITERIA, math.nan), objective=fit.objective, bound=bound,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _First:
    """A cut to begin with."""

    cut: Cut
    keep: bool


def _first_cuts(task: MeasureTask, b: float) -> Iterable[_First]:
    """Yield the cuts of an infinite intercept, which stay, and that of the zero model."""
    if task.intercept:
        for cut in task.measure.constant_cuts(task.data.y, task.weight):
            yield _First(cut, True)
    z = np.full(task.data.y.size, b)
    yield _First(task.measure.cut(z, task.data.y, task.weight), False)


def _first_vector(task: MeasureTask, b: float) -> tuple[FloatArray, float]:
    """Return the vector of the first scan, and its delta: sum_k alpha_k (beta_k, delta_k)."""
    y = task.data.y
    if task.intercept:
        # The mixture of the two constant labellings with sum(beta) = 0.
        one, other = task.measure.constant_cuts(y, task.weight)
        up, down = float(one.beta.sum()), float(other.beta.sum())
        share = down / (down - up)
        vector = share * one.beta + (1.0 - share) * other.beta
        return task.C * vector, task.C * (share * one.delta + (1.0 - share) * other.delta)
    cut = task.measure.cut(np.zeros(y.size), y, task.weight)
    beta = cut.beta if task.weight is not None else average_by_class(cut.beta, y)
    return task.C * beta, task.C * cut.delta


def _without_features(task: MeasureTask) -> tuple[float, float]:
    """Return the best intercept of the model without features, and its objective.

    R along constant scores is convex and piecewise linear: the crossing of two cuts is the next b.
    """
    y, n = task.data.y, task.data.y.size

    def line(b: float) -> tuple[float, float]:
        cut = task.measure.cut(np.full(n, b), y, task.weight)
        return cut.at(np.full(n, b)), -float(cut.beta.sum())

    if not task.intercept:
        return 0.0, task.C * max(0.0, line(0.0)[0])
    one, other = task.measure.constant_cuts(y, task.weight)
    # Value at 0 and slope of the two outermost lines.
    rising, falling = sorted(
        ((cut.delta, -float(cut.beta.sum())) for cut in (one, other)),
        key=lambda found: -found[1],
    )
    best, answer = np.inf, 0.0
    for _ in range(50):
        b = (falling[0] - rising[0]) / (rising[1] - falling[1])
        value, slope = line(b)
        if value < best:
            best, answer = value, b
        if value <= rising[0] + rising[1] * b + 1e-9 * abs(value):
            break
        if slope >= 0.0:
            rising = (value - slope * b, slope)
        else:
            falling = (value - slope * b, slope)
    return answer, task.C * max(0.0, best)


def _dual_bound(delta: float, C: float, worst: float) -> float:
    """Return max_s s delta - s^2 worst over 0 <= s <= 1: any share of a dual point is one."""
    if delta <= 0.0:
        return 0.0
    s = min(1.0, delta / (2.0 * worst)) if worst > 0.0 else 1.0
    return s * delta - s * s * worst


def scaling_of(design: Design, features: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and multiplier of the columns of a design, 0 and 1 where it is not scaled."""
    mean, scale = np.zeros(features.size), np.ones(features.size)
    if isinstance(design, Scaled):
        scale = design.scale[features]
        if design.mean is not None:
            mean = design.mean[features]
    return mean, scale


class _Blocks:
    """The features that are seen, and which come next."""

    def __init__(
        self,
        task: MeasureTask,
        n_features: int,
        smallest: int,
        block_size: int | None,
        max_blocks: int | None,
    ) -> None:
        m = task.data.design.shape[1]
        forced = task.data.forced
        self._forced = np.empty(0, np.int64) if forced is None else forced
        usable = task.data.usable
        self._allowed = np.ones(m, bool) if usable is None else usable.copy()
        self._allowed[self._forced] = False
        self._n_allowed = int(self._allowed.sum())
        self._n_features = n_features
        if block_size is None:
            block_size = -(-n_features // (10 if max_blocks is None else max_blocks))
            if smallest < n_features and max_blocks is None:
                block_size = max(-(-smallest // 10), -(-n_features // 30))
        self._block_size = block_size
        self._seen = np.zeros(m, bool)
        self.n_seen = 0
        self.worst = 0.0  # half the largest mass of a block at the last scan

    @property
    def full(self) -> bool:
        """Whether there are as many features as there shall be."""
        return self.n_seen >= self._n_features

    def mass(self, scores: FloatArray, size: int) -> float:
        """Return half the largest sum of squared scores of so many features, forced ones in."""
        square = scores**2
        forced = float(square[self._forced].sum())
        square[~self._allowed] = -1.0
        best = largest(square, min(max(0, size - self._forced.size), self._n_allowed))
        return 0.5 * (forced + float(square[best].sum()))

    def next(self, scores: FloatArray) -> tuple[IndexArray, IndexArray] | None:
        """Return the new features of the next block, best first, and the block."""
        magnitude = np.abs(scores)
        forced_mass = float((magnitude[self._forced] ** 2).sum())
        magnitude[~self._allowed] = -1.0
        best = largest(magnitude, min(self._block_size, self._n_allowed))
        self.worst = 0.5 * (forced_mass + float((magnitude[best] ** 2).sum()))
        missing = self._n_features - self.n_seen
        block = fit_budget(
            np.concatenate([self._forced, best]), magnitude, self._seen, self._block_size, missing,
            self._forced,
        )  # fmt: skip
        new = block[~self._seen[block]]
        if not new.size:
            return None
        rank = np.where(magnitude[new] < 0, np.inf, magnitude[new])
        new = new[np.argsort(-rank, kind="stable")]
        self._seen[new] = True
        self.n_seen += new.size
        return new, np.sort(block)


class _Inner:
    """The inner layer: cutting planes to a certified gap."""

    def __init__(
        self, task: MeasureTask, scale: float, line_search: bool, master: SolveMaster
    ) -> None:
        self._task = task
        self.scale = scale
        self._line_search = line_search
        self._solve_master = master

    def __call__(self, model: Model, start: Point, tol: float) -> Solver[Inner]:
        """Solve the problem over the blocks of a model, from a point of it."""
        task, cuts = self._task, model.cuts
        limit = tol * self.scale
        best, cut = start, task.cut(start)
        objective = self._objective(model, best, cut)
        yield from model.add(cut)
        bound, gap, since = 0.0, np.inf, 0
        rounds = 0
        status = Status.CONVERGED
        while True:
            exactness = MASTER_SHARE * max(limit, objective - bound) / max(objective, limit)
            found = self._solve_master(
                model.grams, cuts.delta, cuts.g, task.C, min(1e-3, max(1e-9, exactness))
            )
            bound = max(bound, found.bound)
            if objective - bound < 0.999 * gap:
                gap, since = objective - bound, 0
            else:
                since += 1
            if objective - bound <= limit:
                break
            if rounds == MAX_CUTS or since == STALLED:
                status = Status.MAX_ITER if rounds == MAX_CUTS else Status.STALLED
                break
            rounds += 1
            point = model.point(found)
            new = task.cut(point)
            if self._line_search:
                best, cut, between = self._search(model, best, cut, point, new)
                adding = [task.cut(best.towards(point, NEAR))]
                if between:
                    adding.append(cut)
                if not between or since >= PATIENCE:
                    adding.append(new)
            else:
                adding = [new]
                value = self._objective(model, point, new)
                if value < objective:
                    best, cut = point, new
            objective = self._objective(model, best, cut)
            for one in adding:
                yield from model.add(one)
            cuts.rest(found.alpha, NO_WEIGHT * float(found.alpha.max()))
            mask = cuts.idle <= IDLE_ROUNDS
            if not mask.all():
                model.keep(mask)
        vector, delta = cuts.combine(found.alpha), float(found.alpha @ cuts.delta)
        return Inner(best, objective, bound, vector, delta, rounds, status)

    def _objective(self, model: Model, point: Point, cut: Cut) -> float:
        """Return the objective at a point where the cut is tight."""
        norms = np.sqrt(np.maximum(0.0, model.products(point, point)))
        loss = max(0.0, cut.at(point.z + point.b))
        return 0.5 * float(norms.sum()) ** 2 + self._task.C * loss

    def _search(
        self, model: Model, start: Point, first: Cut, end: Point, last: Cut
    ) -> tuple[Point, Cut, bool]:
        """Return the best point on a segment, its cut, and whether that cut is a new one.

        The penalty along the segment is known, and R is convex: two of its cuts, one that falls and
        one that rises, give the next share to try.
        """
        task = self._task
        squares = (
            model.products(start, start), model.products(start, end), model.products(end, end)
        )  # fmt: skip
        way = end.z - start.z + (end.b - start.b)

        def line(share: float, cut: Cut) -> tuple[float, float]:
            """Return value at 0 and slope of a cut along the segment, times C; 0 below 0."""
            slope = -float(cut.beta @ way)
            value = cut.at(start.z + start.b)
            if value + share * slope <= 0.0:
                return 0.0, 0.0
            return task.C * value, task.C * slope

        def penalty(share: float) -> tuple[float, float]:
            """Return the penalty and its slope."""
            rest = 1.0 - share
            square = np.maximum(
                0.0, rest * rest * squares[0] + 2.0 * share * rest * squares[1]
                + share * share * squares[2],
            )  # fmt: skip
            turn = (1.0 - 2.0 * share) * squares[1] + share * squares[2] - rest * squares[0]
            norm = np.sqrt(square)
            total = float(norm.sum())
            slopes = np.divide(turn, norm, out=np.zeros_like(turn), where=norm > 0.0)
            return 0.5 * total * total, total * float(slopes.sum())

        low, high = 0.0, 1.0
        falling, rising = line(0.0, first), line(1.0, last)
        best = (penalty(0.0)[0] + falling[0], 0.0, first, False)
        at_end = penalty(1.0)[0] + rising[0] + rising[1]
        if at_end < best[0]:
            best = (at_end, 1.0, last, False)
        if penalty(1.0)[1] + rising[1] <= 0.0:
            return end, last, False
        for _ in range(LINE_CALLS):
            share = _lowest(penalty, falling, rising, low, high)
            if not low < share < high:
                break
            point = start.towards(end, share)
            cut = task.cut(point)
            here = line(share, cut)
            pen, slope = penalty(share)
            value = pen + here[0] + share * here[1]
            model_value = pen + max(falling[0] + share * falling[1], rising[0] + share * rising[1])
            if value < best[0]:
                best = (value, share, cut, True)
            if value - model_value <= 1e-3 * abs(best[0] - model_value) + 1e-12 * abs(value):
                break
            if slope + here[1] > 0.0:
                high, rising = share, here
            else:
                low, falling = share, here
        if best[1] in (0.0, 1.0):
            return (end if best[1] else start), best[2], False
        return start.towards(end, best[1]), best[2], True


def _lowest(
    penalty: Callable[[float], tuple[float, float]],
    falling: tuple[float, float],
    rising: tuple[float, float],
    low: float,
    high: float,
) -> float:
    """Return the minimiser over low..high of the penalty plus the larger of two lines."""
    bend = rising[1] - falling[1]
    middle = (falling[0] - rising[0]) / bend if bend > 0.0 else 0.5 * (low + high)
    middle = min(max(middle, low), high)
    slope = penalty(middle)[1]
    if slope + falling[1] > 0.0:
        side, high = falling[1], middle
    elif slope + rising[1] < 0.0:
        side, low = rising[1], middle
    else:
        return middle
    for _ in range(12):
        share = 0.5 * (low + high)
        if penalty(share)[1] + side > 0.0:
            high = share
        else:
            low = share
    return 0.5 * (low + high)


__all__ = ["MeasureTask", "select_by_measure"]

"""Feature selection for a measure: blocks of features outside, cuts of the measure inside.

    min_{d in D_B} min_{u, b}  1/2 sum_j u_j^2 / d_j + C R(Xu + b)                             (P)
    D_B = {0 <= d_j <= 1, sum_j d_j <= B}

R is the loss of a measure (`zeronorm.measures`). The outer layer adds the block of the B features
with the largest |X'beta|, beta the weighted sum of the cuts; the inner layer solves (P) over the
blocks by cutting planes, to a certified gap.

Source: Mao and Tsang, A feature selection method for multivariate performance measures, IEEE TPAMI
2013, Algorithms 1 and 2.

`published=True` is that method. The default solves the same problems to the same gaps with fewer
programs: it keeps the cuts between blocks, searches lines in the inner layer, and solves the
problems that only generate blocks to a gap of 1e-2.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._typing import FloatArray, IndexArray
from ...criteria import no_criteria
from ...designs._columns import gather
from ...designs._operations import offsets, on_scaling_of_x, score_errors
from ...designs._wrappers import IN_MEMORY, feature_blocks
from ...ordering import largest
from ...result import Path, Selection, Status, Step
from ..clock import PhaseClock
from ..drive import Scan, Solver
from ..minimax.cutting_plane import fit_budget, unseen
from .cuts import BlockModel, Cuts, FullModel, Point, solve_master
from .inner_layer import InnerLayer, InnerSolution, SolveMaster
from .task import MeasureRequest, MeasureTask

LOOSE = 1e-2  # gap of the problems that only generate blocks
CLOSE = 1e-9  # of the largest score: how far the scores of scans of float64 may be off
# Numbers up to which the model of all features gathers them: faster than two passes for a cut. Of
# few rows the cuts are what takes memory.
MOST_GATHERED, FEW_ROWS = 1 << 22, 500


def select_by_measure(
    task: MeasureTask,
    sizes: Sequence[int] | None,
    request: MeasureRequest,
    *,
    seconds: dict[str, float] | None = None,
    master: SolveMaster = solve_master,
) -> Solver[Path]:
    """Select features for a measure by the two layers, exactly as many as each of the sizes says.

    Parameters
    ----------
    sizes : growing. None: all usable features, one block.
    seconds : filled with the seconds of the phases.
    master : solver of the program over the cuts.

    Returns
    -------
    Path, by a generator of scans. Every selection has the value of its problem and, with `refit`, a
    lower bound over all supports of its size.
    """
    tol, refit, published = request.tol, request.refit, request.published
    clock = PhaseClock(seconds)
    data = task.data
    cuts = Cuts(data.design.shape[0], task.measure.labels and task.weight is None, task.intercept)
    b, scale = task.without_features()
    _check_loss(task, scale)
    solve = InnerLayer(task, scale, line_search=not published, master=master)
    if sizes is None:
        return (yield from _full(task, cuts, b, solve, tol, clock))
    model = BlockModel(data.design, cuts, sizes[-1])
    blocks = _Blocks(task, sizes[-1], sizes[0], request.block_size, request.max_blocks)
    history: list[Step] = []
    yield from _add_constant_cuts(task, model)
    vector, delta = task.first_vector()
    best: Point | None = None
    answer: InnerSolution | None = None
    objective, bound, outer = scale, 0.0, 0.0
    bounds = dict.fromkeys(sizes, 0.0)  # of all models of a size: any dual point gives one
    status = Status.BUDGET
    while True:
        scores = yield Scan(data.design, vector)
        begin = time.perf_counter()
        block_found = blocks.next(scores, vector)
        worst = blocks.mass(scores, vector, blocks.width)
        outer = max(outer, _dual_bound(delta, worst))
        for k in sizes:
            bounds[k] = max(bounds[k], _dual_bound(delta, blocks.mass(scores, vector, k)))
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
                yield from _add_constant_cuts(task, fresh)
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
    if refit:
        with clock.phase("refit"):
            fits = yield from _refitted(model, sizes, b, solve, tol)
        answers = yield [Scan(data.design, fit.inner.vector) for fit in fits.values()]
        for (k, fit), scores in zip(fits.items(), answers, strict=True):
            mass = blocks.mass(scores, fit.inner.vector, k)
            bounds[k] = max(bounds[k], _dual_bound(fit.inner.delta, mass))
    else:
        assert answer is not None
        fits = {sizes[-1]: _Fit(order, model.coef(answer.point), answer)}
    entered_at = [step.entered for step in history]
    known = bounds if refit else dict.fromkeys(sizes)
    selections = {
        k: _selection(task, fit.support, fit.coef, fit.inner, known[k], entered_at)
        for k, fit in fits.items()
    }
    gap = max((fit.inner.objective - fit.inner.bound) / scale for fit in fits.values())
    return Path(selections, order, tuple(history), status, gap)


@dataclass(frozen=True, slots=True)
class _Fit:
    """A model on the selection scaling."""

    support: IndexArray  # in order of entry
    coef: FloatArray
    inner: InnerSolution


def _check_loss(task: MeasureTask, scale: float) -> None:
    """Raise where the objective of the model without features leaves nothing to learn."""
    if scale <= 0.0:
        raise ValueError(
            f"measure={task.measure.name!r} has no loss for any scores here, so nothing can be "
            "learnt from these rows. Use another measure."
        )


def _add_constant_cuts(task: MeasureTask, model: BlockModel | FullModel) -> Solver[None]:
    """Give a model the cuts of constant scores, for good."""
    for cut in task.constant_cuts():
        yield from model.add(cut, keep=True)


def _refitted(
    model: BlockModel, sizes: Sequence[int], b: float, solve: InnerLayer, tol: float
) -> Solver[dict[int, _Fit]]:
    """Fit the first features of the model, as many as each size says, as one block."""
    fits = {}
    for k in sizes:
        features = model.features[:k]
        one = model.restricted(features)
        found = yield from solve(one, one.zero(b), tol)
        fits[k] = _Fit(features, one.coef(found.point)[:k], found)
    return fits


def _full(
    task: MeasureTask, cuts: Cuts, b: float, solve: InnerLayer, tol: float, clock: PhaseClock
) -> Solver[Path]:
    """Fit the model of all usable features."""
    data = task.data
    features = np.flatnonzero(data.usable)
    begin = time.perf_counter()
    model: BlockModel | FullModel
    if max(data.y.size, FEW_ROWS) * features.size <= MOST_GATHERED:
        model = BlockModel(data.design, cuts, features.size)
        model.enter(features, features)
    else:
        model = FullModel(data.design, cuts, features)
    yield from _add_constant_cuts(task, model)
    fit = yield from solve(model, model.zero(b), tol)
    if isinstance(model, BlockModel):
        coef = model.coef(fit.point)
    else:
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
    fit: InnerSolution,
    bound: float | None,
    entered: list[IndexArray],
) -> Selection:
    """Return the model on the user's scaling of X, the threshold taken from its intercept."""
    data = task.data
    position = np.argsort(support, kind="stable")
    support, coef = support[position], coef[position]
    threshold = task.measure.threshold(fit.point.scores, data.y, task.weight)
    coef, intercept = on_scaling_of_x(data.design, support, coef, fit.point.b - threshold)
    steps = np.zeros(support.size, np.int64)
    for number, features in enumerate(entered, start=1):
        steps[(steps == 0) & np.isin(support, features)] = number
    return Selection(
        support, coef, intercept, task.C, steps, None,
        math.nan, math.nan, no_criteria(), objective=fit.objective, bound=bound,
    )  # fmt: skip


def _dual_bound(delta: float, worst: float) -> float:
    """Return max_s s delta - s^2 worst over 0 <= s <= 1: any share of a dual point is one."""
    if delta <= 0.0:
        return 0.0
    s = min(1.0, delta / (2.0 * worst)) if worst > 0.0 else 1.0
    return s * delta - s * s * worst


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
        self._forced = task.data.forced
        self._allowed = task.data.usable.copy()
        self._allowed[self._forced] = False
        self._n_allowed = int(self._allowed.sum())
        self._n_features = n_features
        self._design = task.data.design
        if block_size is None:
            block_size = -(-n_features // (10 if max_blocks is None else max_blocks))
            if smallest < n_features and max_blocks is None:
                block_size = max(-(-smallest // 10), -(-n_features // 30))
        self._block_size = block_size
        self._seen = np.zeros(self._allowed.size, bool)
        self.n_seen = 0
        # Norms follow from means and scales only where these are of the standard deviations.
        scaled = task.data.scaling != "none"
        weight = task.data.sample_weight if scaled else None
        self._errors = score_errors(task.data.design, weight)

    @property
    def full(self) -> bool:
        """Whether there are as many features as there shall be."""
        return self.n_seen >= self._n_features

    @property
    def width(self) -> int:
        """The features of a block, forced ones in."""
        return self._block_size + self._forced.size

    def mass(self, scores: FloatArray, vector: FloatArray, size: int) -> float:
        """Return half the largest sum of squared scores of so many features, forced ones in.

        Scores are raised by what rounding may have taken from them.
        """
        if self._errors is not None:
            scores = np.abs(scores) + self._errors * np.linalg.norm(vector)
        square = scores**2
        forced = float(square[self._forced].sum())
        square[~self._allowed] = -1.0
        best = largest(square, min(max(0, size - self._forced.size), self._n_allowed))
        return 0.5 * (forced + float(square[best].sum()))

    def _sum_again(self, magnitude: FloatArray, vector: FloatArray) -> None:
        """Put scores from gathered columns in place of those that may decide about a block.

        Those of a scan depend on the storage of X, in their last bits or, summed in float32, in
        more: ties and the order of features must not.
        """
        reach = min(self._block_size + self.n_seen, self._n_allowed)
        if reach == 0:
            return
        last = float(np.partition(magnitude, magnitude.size - reach)[magnitude.size - reach])
        error = np.full(magnitude.size, CLOSE * float(magnitude.max()))
        if self._errors is not None:
            error += self._errors * np.linalg.norm(vector)
        lowest = last - float(error[magnitude >= last].max())
        decisive = np.flatnonzero(self._allowed & (magnitude + error >= lowest))
        for features in feature_blocks(decisive, self._design.shape[0], IN_MEMORY):
            # One product for each column: those of a matrix depend on the columns beside it.
            products = gather(self._design, features).dot_each(vector)
            products -= float(vector.sum()) * offsets(self._design, features)
            magnitude[features] = np.abs(products)

    def next(self, scores: FloatArray, vector: FloatArray) -> tuple[IndexArray, IndexArray] | None:
        """Return the new features of the next block, best first, and the block."""
        magnitude = np.abs(scores)
        magnitude[~self._allowed] = -1.0
        self._sum_again(magnitude, vector)
        best = largest(magnitude, min(self._block_size, self._n_allowed))
        missing = self._n_features - self.n_seen
        block = fit_budget(
            np.concatenate([self._forced, best]), magnitude, self._seen, self._block_size, missing,
            self._forced,
        )  # fmt: skip
        new = unseen(block, self._seen, magnitude)
        if not new.size:
            return None
        self._seen[new] = True
        self.n_seen += new.size
        return new, np.sort(block)

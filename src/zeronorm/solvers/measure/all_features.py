"""The problem over all features, itself: of one block, or by blocks to a certified gap.

With B features per block it is (P) of `two_layer`. Blocks are added until no block of B features,
of all that there are, lowers the objective by more than the gap: every dual point bounds (P) from
below by the block that it violates most, which the scan for the next block finds. With all features
in one block it is the support vector machine for the measure.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from ...core.results import Path, Status, Step
from ...core.types import IndexArray
from ..clock import PhaseClock
from ..drive import Scan, Solver
from .blocks import Blocks, dual_bound
from .cuts import BlockModel, Cuts, FullModel
from .fits import Fit, add_constant_cuts, refitted, selection_of
from .inner_layer import INNER_LAYER, InnerLayer, InnerSolution
from .task import MeasureRequest, MeasureTask

# Numbers up to which the model of all features gathers them: faster than two passes for a cut. Of
# few rows the cuts are what takes memory.
MOST_GATHERED, FEW_ROWS = 1 << 22, 500
SHARE = 0.5  # of the gap: how exactly the problems over the blocks are solved at last
AHEAD = 0.3  # of the gap that there is: how exactly until then
NONE = np.empty(0, np.int64)


def one_block(
    task: MeasureTask,
    cuts: Cuts,
    b: float,
    solve: InnerLayer,
    request: MeasureRequest,
    clock: PhaseClock,
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
    yield from add_constant_cuts(task, model)
    fit = yield from solve(model, model.zero(b), request.tol)
    if isinstance(model, BlockModel):
        coef = model.coef(fit.point)
    else:
        coef = yield from model.weights(fit.point.w)
    seconds_of = {"solve": time.perf_counter() - begin}
    step = _step(fit, solve.scale, cuts.size, features.size, features, seconds_of)
    clock.add_history([step])
    selection = selection_of(task, features, coef, fit, fit.bound, [features])
    return Path({features.size: selection}, features, (step,), fit.status, step.extra["gap"])


def to_gap(
    task: MeasureTask,
    cuts: Cuts,
    b: float,
    solve: InnerLayer,
    request: MeasureRequest,
    clock: PhaseClock,
) -> Solver[Path]:
    """Solve the problem over all features to a gap of `tol`, by blocks of `block_size`.

    There are as many blocks as that takes, or `max_blocks`. The model is the solution over them, on
    the union of their features, and its bound is one of (P); with `refit` it is that of the union
    as one block, and its bound one of all supports of as many features.
    """
    data, scale, exact = task.data, solve.scale, SHARE * request.tol
    most = np.inf if request.max_blocks is None else request.max_blocks
    n_usable = int(data.usable.sum())
    blocks = Blocks(task, n_usable, request.block_of([n_usable]))
    model = BlockModel(data.design, cuts)
    yield from add_constant_cuts(task, model)
    vector, delta = task.first_vector()
    answer: InnerSolution | None = None
    found: list[IndexArray] = []
    history: list[Step] = []
    gap, outer, limit = 1.0, 0.0, np.inf
    while True:
        scores = yield Scan(data.design, vector)
        begin = time.perf_counter()
        outer = max(outer, dual_bound(delta, blocks.mass(scores, vector, blocks.width)))
        if answer is not None:
            gap = (answer.objective - outer) / scale
            history[-1] = replace(history[-1], extra={**history[-1].extra, "outer_bound": outer})
            if gap <= request.tol:
                status = Status.CONVERGED
                break
        start = model.zero(b) if answer is None or request.published else answer.point
        entered, block = NONE, NONE
        if len(found) < most:
            entered, block = blocks.most_violated(scores, vector)
        if block.size and not any(np.array_equal(block, old) for old in found):
            found.append(block)
            model.enter(entered, block)
            start = model.extended(start)
            limit = exact if request.published else max(exact, min(INNER_LAYER.loose, AHEAD * gap))
        elif limit > exact:
            limit = exact
        else:
            status = Status.REPEATED if block.size else Status.MAX_BLOCKS
            break
        seconds_of = {"gather": time.perf_counter() - begin}
        begin = time.perf_counter()
        if request.published:
            model = BlockModel.of_blocks(model, Cuts.like(cuts))
            yield from add_constant_cuts(task, model)
        answer = yield from solve(model, start, limit)
        vector, delta = answer.vector, answer.delta
        seconds_of["solve"] = time.perf_counter() - begin
        history.append(_step(answer, scale, model.cuts.size, blocks.n_seen, entered, seconds_of))
    assert answer is not None
    clock.add_history(history)
    k, fit, bound = blocks.n_seen, Fit(model.features, model.coef(answer.point), answer), outer
    if request.refit:
        with clock.phase("refit"):
            fit = (yield from refitted(model, [k], b, solve, request.tol))[k]
        scores = yield Scan(data.design, fit.inner.vector)
        bound = dual_bound(fit.inner.delta, blocks.mass(scores, fit.inner.vector, k))
        gap = max(gap, (fit.inner.objective - fit.inner.bound) / scale)
    entered_at = [step.entered for step in history]
    selection = selection_of(task, fit.support, fit.coef, fit.inner, bound, entered_at)
    return Path({k: selection}, model.features, tuple(history), status, gap)


def _step(
    answer: InnerSolution,
    scale: float,
    n_cuts: int,
    n_features: int,
    entered: IndexArray,
    seconds_of: dict[str, float],
) -> Step:
    """Return the row of the history of a solution over blocks."""
    extra = {
        "without_features": scale,
        "gap": (answer.objective - answer.bound) / scale,
        "inner_iterations": float(answer.n_rounds),
        "cuts": float(n_cuts),
    }
    return Step(
        answer.objective, answer.bound, n_features, entered, seconds_of, extra, answer.status
    )

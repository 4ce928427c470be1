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

import time
from collections.abc import Sequence

from ...core.results import Path, Status, Step
from ..clock import PhaseClock
from ..drive import Scan, Solver
from .all_features import one_block, to_gap
from .blocks import Blocks, dual_bound
from .cuts import BlockModel, Cuts, Point, solve_master
from .fits import Fit, add_constant_cuts, refitted, selection_of
from .inner_layer import INNER_LAYER, InnerLayer, InnerSolution, SolveMaster
from .task import MeasureRequest, MeasureTask


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
    sizes : growing. None: the problem over all usable features, of one block, or by blocks of
        `block_size` to a gap of `tol`.
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
        whole = one_block if request.block_size is None else to_gap
        return (yield from whole(task, cuts, b, solve, request, clock))
    model = BlockModel(data.design, cuts, sizes[-1])
    blocks = Blocks(task, sizes[-1], request.block_of(sizes))
    history: list[Step] = []
    yield from add_constant_cuts(task, model)
    vector, delta = task.first_vector()
    best: Point | None = None
    answer: InnerSolution | None = None
    objective, bound, outer = scale, 0.0, 0.0
    bounds = dict.fromkeys(sizes, 0.0)  # of all models of a size: any dual point gives one
    status = Status.BUDGET
    while True:
        scores = yield Scan(data.design, vector)
        begin = time.perf_counter()
        block_found = blocks.of_budget(scores, vector)
        outer = max(outer, dual_bound(delta, blocks.mass(scores, vector, blocks.width)))
        for k in sizes:
            bounds[k] = max(bounds[k], dual_bound(delta, blocks.mass(scores, vector, k)))
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
                yield from add_constant_cuts(task, fresh)
                model, cuts, best = fresh, fresh.cuts, None
            start = model.zero(b) if best is None else model.extended(best)
            exact = published or (last and not refit)
            answer = yield from solve(model, start, tol if exact else max(tol, INNER_LAYER.loose))
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
            fits = yield from refitted(model, sizes, b, solve, tol)
        answers = yield [Scan(data.design, fit.inner.vector) for fit in fits.values()]
        for (k, fit), scores in zip(fits.items(), answers, strict=True):
            mass = blocks.mass(scores, fit.inner.vector, k)
            bounds[k] = max(bounds[k], dual_bound(fit.inner.delta, mass))
    else:
        assert answer is not None
        fits = {sizes[-1]: Fit(order, model.coef(answer.point), answer)}
    entered_at = [step.entered for step in history]
    known = bounds if refit else dict.fromkeys(sizes)
    selections = {
        k: selection_of(task, fit.support, fit.coef, fit.inner, known[k], entered_at)
        for k, fit in fits.items()
    }
    gap = max((fit.inner.objective - fit.inner.bound) / scale for fit in fits.values())
    return Path(selections, order, tuple(history), status, gap)


def _check_loss(task: MeasureTask, scale: float) -> None:
    """Raise where the objective of the model without features leaves nothing to learn."""
    if scale <= 0.0:
        raise ValueError(
            f"measure={task.measure.name!r} has no loss for any scores here, so nothing can be "
            "learnt from these rows. Use another measure."
        )

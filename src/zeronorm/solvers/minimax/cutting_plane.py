"""The outer loop of the minimax family: generate blocks of features, one scan each.

    min_{d in D_r} min_{u, b}  1/2 sum_j u_j^2 / d_j + C sum_i s_i f(y_i, x_i'u + b)          (P)
    D_r = {0 <= d_j <= 1, sum_j d_j <= r}

The regulariser is half the squared k-support norm with k = r. Sparse models come from stopping the
generation of blocks at the wanted number of features.

With groups of features there is one d for each, 1/2 sum_g ||u_g||^2 / d_g with sum_g d_g <= r, and
a block is the r groups with the largest ||c_g||: the same loop, over groups in place of features.

Source: Tan, Tsang and Wang, Minimax sparse logistic regression for very high-dimensional feature
selection, IEEE TNNLS 2013, Algorithm 1.

Differences from the paper, each covered by a test in tests/test_solvers.py:
exactly k features (the last block is cut to what is missing, and blocks of unseen features follow
where the convex optimum has fewer than k); an unpenalised intercept; sample weights; bounds are
computed from the rescaled dual point; forced features belong to every block.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._typing import FloatArray, IndexArray
from ...designs._columns import GatheredColumns
from ...ordering import largest
from ...result import Result, Status, Step
from ..drive import Scan, Solver
from ..found import BestDual, Found
from ..task import Task
from ..ties import ranked
from . import Blocks, InnerSolver, State, newton


@dataclass(frozen=True, slots=True)
class CuttingPlane:
    """Options of the outer cutting plane."""

    block_size: int  # r, new features (groups) per scan
    max_blocks: int | None = None  # where (P) itself is solved
    inner: InnerSolver = newton  # solver of the problem over the generated blocks
    # Certified gaps of that problem and of (P), relative to the objective without features.
    inner_tol: float = 1e-3
    tol: float = 1e-3


def cutting_plane(
    task: Task,
    size: int | None,
    options: CuttingPlane,
    *,
    C: float,
    start: Sequence[IndexArray] = (),
    final_scan: bool = True,
    l0_sizes: tuple[int, ...] = (),
) -> Solver[Found]:
    """Select features by the outer cutting plane for (P).

    Parameters
    ----------
    task : with groups, `size`, blocks and l0_sizes count groups, which enter with all their usable
        features; the groups of forced features are forced. Forced features are in every block, and
        count.
    size : exactly so many features are returned. None: (P) itself is solved, to an outer gap of
        `tol` or `max_blocks`.
    C : weight of the summed loss, positive.
    start : blocks of features to begin with, without a scan: the steps of an earlier fit.
    final_scan : whether to solve the last inner problem and to scan once more, for the outer bound
        and the l0 bounds at the final dual point; without it the support is all there is.
    l0_sizes : also keep the best lower bound of the l0 problem of these sizes.

    Returns
    -------
    Found, by a generator of scans. `result.objective` is the value of (P) over the generated
    blocks, `bounds["inner"]` and `bounds["outer"]` are lower bounds of that and of (P).
    """
    # From here on features, budgets, blocks and scores are those of units: features or groups.
    design, risk, units = task.design, task.risk(C), task.units
    block_size = options.block_size
    forced = units.of(task.forced)
    allowed = units.usable.copy()
    allowed[forced] = False  # forced features enter by themselves
    n_allowed = int(allowed.sum())
    if size is not None and not forced.size <= size <= forced.size + n_allowed:
        what = "features" if task.groups is None else "groups"
        raise ValueError(
            f"n_{what} must be between {forced.size} (the forced {what}) and "
            f"{forced.size + n_allowed} (the usable ones); got {size}."
        )
    scale, dual, b = risk.first()
    capacity = size if size is not None and task.groups is None else 0
    pool = GatheredColumns(design, capacity)
    state = State(np.empty(0), b, np.empty(0))
    objective, inner_bound, outer_bound = scale, 0.0, 0.0
    l0_bounds: dict[int, BestDual] = {}
    history: list[Step] = []
    seen, n_seen = np.zeros(allowed.size, bool), 0
    blocks: list[IndexArray] = []
    status = Status.MAX_BLOCKS

    def solve() -> Status:
        """Solve the problem over the blocks so far; return the status of the inner solver."""
        nonlocal state, dual, objective, inner_bound
        membership = np.zeros((pool.size, len(blocks)))
        for t, members in enumerate(blocks):
            membership[pool.position(units.features(members)), t] = 1.0
        problem = Blocks(pool.columns(), membership, risk, scale)
        answer = options.inner(problem, state, options.inner_tol)
        state, dual = answer.state, answer.dual
        objective, inner_bound = answer.objective, answer.bound
        extra["inner_iterations"] = float(answer.n_iter)
        extra["gap"] = (answer.objective - answer.bound) / scale
        return answer.status

    def enter(new: IndexArray, block: IndexArray) -> IndexArray:
        """Gather the columns of new units, and add the block; return their features."""
        nonlocal n_seen
        entered = units.features(new)
        pool.add(entered)
        seen[new] = True
        n_seen += new.size
        blocks.append(block)
        return entered

    extra: dict[str, float] = {}
    for old in map(units.of, start):
        room = old.size if size is None else size - n_seen
        new = np.concatenate([forced, old[allowed[old]]]) if not blocks else old[allowed[old]]
        new = new[~seen[new]][:room]
        if new.size:
            entered = enter(new, np.union1d(forced, new))
            state = _extend(state, entered.size, len(blocks))
            history.append(Step(objective, inner_bound, pool.size, entered))
    if blocks:
        begin = time.perf_counter()
        step_status: Status | None = solve()
        seconds = {"solve": time.perf_counter() - begin}
        history[-1] = Step(
            objective, inner_bound, pool.size, history[-1].entered, seconds, extra, step_status
        )
        if not final_scan and size is not None and n_seen >= size:
            return _finished(pool, state, objective, inner_bound, 0.0, dual, Status.BUDGET, history)

    while True:
        scores = yield Scan(design, dual)
        seconds = {}
        magnitude = units.strength(scores)
        forced_mass = float((magnitude[forced] ** 2).sum())
        magnitude[~allowed] = -1.0
        best = largest(magnitude, min(n_allowed, max(block_size + n_seen, *l0_sizes, 0)))
        best_square = magnitude[best] ** 2
        worst = 0.5 * (forced_mass + float(best_square[:block_size].sum()))
        outer_bound = max(outer_bound, risk.bound(dual, worst)[0])
        for k in l0_sizes:
            quadratic = 0.5 * (forced_mass + float(best_square[: max(0, k - forced.size)].sum()))
            bound, shrink = risk.bound(dual, quadratic)
            if k not in l0_bounds or bound > l0_bounds[k].bound:
                l0_bounds[k] = BestDual(bound, shrink * dual)

        if size is None and blocks and objective - outer_bound <= options.tol * scale:
            status = Status.CONVERGED
            break
        if size is not None and n_seen >= size:
            status = Status.BUDGET
            break
        if size is None and options.max_blocks is not None and len(blocks) >= options.max_blocks:
            break

        best = ranked(design, units, magnitude, scores, dual, best[: block_size + n_seen])
        block = np.concatenate([forced, best[:block_size]])
        if size is None:
            if any(np.array_equal(np.sort(block), old) for old in blocks):
                status = Status.REPEATED
                break
        else:
            missing = size - n_seen
            block = fit_budget(block, magnitude, seen, block_size, missing, forced)
        new = block[~seen[block]]
        # Forced features (magnitude -1) come first, in every prefix of the nested path.
        rank = np.where(magnitude[new] < 0, np.inf, magnitude[new])
        new = new[np.argsort(-rank, kind="stable")]

        begin = time.perf_counter()
        entered = enter(new, np.sort(block))
        seconds["gather"] = time.perf_counter() - begin

        begin = time.perf_counter()
        extra = {}
        step_status = None
        if final_scan or size is None or n_seen < size:
            state = _extend(state, entered.size, len(blocks))
            step_status = solve()
        seconds["solve"] = time.perf_counter() - begin
        extra["outer_bound"] = outer_bound
        history.append(
            Step(objective, inner_bound, pool.size, entered, seconds, extra, step_status)
        )
        if not final_scan and size is not None and n_seen >= size:
            status = Status.BUDGET
            break

    answer = _finished(pool, state, objective, inner_bound, outer_bound, dual, status, history)
    return Found(answer.result, l0_bounds)


def _finished(
    pool: GatheredColumns,
    state: State,
    objective: float,
    inner_bound: float,
    outer_bound: float,
    dual: FloatArray,
    status: Status,
    history: list[Step],
) -> Found:
    """Return the answer with the support in order of the features."""
    order = np.argsort(pool.features, kind="stable")
    coef = np.zeros(pool.size)
    coef[: state.coef.size] = state.coef
    result = Result(
        support=pool.features[order],
        coef=coef[order],
        intercept=state.intercept,
        objective=objective,
        bounds={"inner": inner_bound, "outer": outer_bound},
        dual=dual,
        status=status,
        history=tuple(history),
    )
    return Found(result, {})


def fit_budget(
    block: IndexArray,
    magnitude: FloatArray,
    seen: np.ndarray,
    block_size: int,
    missing: int,
    forced: IndexArray,
) -> IndexArray:
    """Return the block to add when exactly `missing` more features may enter.

    magnitude : (m,) |score|, -1 where a feature may not enter by its score.

    Any subset of D_r is a valid cut, so certificates stay true. Where the most active block has
    (nearly) nothing new, the optimum over all features has fewer than k of them: the best unseen
    features follow.
    """
    fresh = block[~seen[block]]
    if fresh.size < min(missing, max(1, block_size // 4)):
        unseen = np.where(seen, -1.0, magnitude)
        n_unseen = int((unseen >= 0).sum())
        fresh = largest(unseen, min(block_size, missing, n_unseen))
        return np.concatenate([forced[seen[forced]], fresh])
    if fresh.size > missing:
        # Forced features (magnitude -1) come first.
        rank = np.where(magnitude[fresh] < 0, np.inf, magnitude[fresh])
        fresh = fresh[np.argsort(-rank, kind="stable")][:missing]
        return np.concatenate([block[seen[block]], fresh])
    return block


def _extend(state: State, n_new: int, n_blocks: int) -> State:
    """Return the state with new features at zero and a small weight on the new block."""
    if n_blocks == 1:
        return State(np.zeros(n_new), state.intercept, np.ones(1))
    share = 1.0 / (2.0 * n_blocks)
    weights = np.append((1.0 - share) * state.block_weight, share)
    return State(np.append(state.coef, np.zeros(n_new)), state.intercept, weights)

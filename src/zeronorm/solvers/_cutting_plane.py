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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._typing import Columns, Design, FloatArray, IndexArray, Smooth
from ..designs import as_design
from ..groups import Groups
from ..losses import balance, dual_bound, fit_intercept
from ..ordering import largest
from ..result import Result, Status, Step
from ._blas import current_threads
from ._drive import Scan, Solver, run
from ._ties import ranked
from ._units import units_of
from .inner import Blocks, InnerSolver, State, newton


@dataclass(frozen=True, slots=True)
class BestDual:
    """The best lower bound of the l0 problem of one size seen on the way, with its dual point.

    Up to the rounding of the scan: certification scans again with the dual point.
    """

    bound: float
    alpha: FloatArray


@dataclass(frozen=True, slots=True)
class Minimax:
    """The answer of the minimax solver: the result, and bounds of l0 problems as a by-product."""

    result: Result
    l0_bounds: Mapping[int, BestDual]


def minimax(
    design: Design,
    y: FloatArray,
    loss: Smooth,
    n_features: int | None,
    *,
    C: float,
    block_size: int,
    max_blocks: int | None = None,
    sample_weight: FloatArray,
    intercept: bool = True,
    forced: IndexArray | None = None,
    usable: np.ndarray | None = None,
    groups: Groups | None = None,
    inner: InnerSolver = newton,
    inner_tol: float = 1e-3,
    tol: float = 1e-3,
    start: Sequence[IndexArray] = (),
    final_scan: bool = True,
    l0_sizes: tuple[int, ...] = (),
) -> Solver[Minimax]:
    """Select features by the outer cutting plane for (P).

    Parameters
    ----------
    design : n x m matrix, on the scaling that selection uses.
    y : (n,) labels +-1.
    n_features : exactly so many features are returned (`max_blocks` yields to it). None: (P) itself
        is solved, to an outer gap of `tol` or `max_blocks`.
    C : weight of the summed loss, positive.
    block_size : r, new features per scan.
    sample_weight : (n,) positive.
    intercept : whether b is free and unpenalised, or zero.
    forced : features in every block, counted in n_features.
    usable : (m,) mask of the features that may enter.
    groups : of the features. n_features, block_size and l0_sizes then count groups, which enter
        with all their usable features; the groups of forced features are forced.
    inner : solver of the problem over the generated blocks.
    inner_tol, tol : certified gaps relative to the objective of the model without features.
    start : blocks of features to begin with, without a scan: the steps of an earlier fit.
    final_scan : whether to solve the last inner problem and to scan once more, for the outer bound
        and the l0 bounds at the final dual point; without it the support is all there is.
    l0_sizes : also keep the best lower bound of the l0 problem of these sizes.

    Returns
    -------
    Minimax, by a generator of scans. `result.objective` is the value of (P) over the generated
    blocks, `bounds["inner"]` and `bounds["outer"]` are lower bounds of that and of (P).
    """
    m = design.shape[1]
    weight = C * sample_weight
    # From here on features, budgets, blocks and scores are those of units: features or groups.
    units = units_of(m, usable, groups)
    forced = np.empty(0, np.int64) if forced is None else units.of(forced)
    allowed = units.usable.copy()
    allowed[forced] = False  # forced features enter by themselves
    n_allowed = int(allowed.sum())
    if n_features is not None and not forced.size <= n_features <= forced.size + n_allowed:
        what = "features" if groups is None else "groups"
        raise ValueError(
            f"n_{what} must be between {forced.size} (the forced {what}) and "
            f"{forced.size + n_allowed} (the usable ones); got {n_features}."
        )
    scale, alpha, b = first_dual(loss, y, weight, intercept)
    capacity = n_features if n_features is not None and groups is None else 0
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
        nonlocal state, alpha, objective, inner_bound
        membership = np.zeros((pool.size, len(blocks)))
        for t, members in enumerate(blocks):
            membership[pool.position(units.features(members)), t] = 1.0
        problem = Blocks(pool.columns(), membership, y, weight, loss, intercept, scale)
        answer = inner(problem, state, inner_tol)
        state, alpha = answer.state, answer.alpha
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
        room = old.size if n_features is None else n_features - n_seen
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
        if not final_scan and n_features is not None and n_seen >= n_features:
            return _finished(
                pool, state, objective, inner_bound, 0.0, alpha, Status.BUDGET, history
            )

    while True:
        scores = yield Scan(design, alpha * y)
        seconds = {}
        magnitude = units.strength(scores)
        forced_mass = float((magnitude[forced] ** 2).sum())
        magnitude[~allowed] = -1.0
        best = largest(magnitude, min(n_allowed, max(block_size + n_seen, *l0_sizes, 0)))
        best_square = magnitude[best] ** 2
        worst = 0.5 * (forced_mass + float(best_square[:block_size].sum()))
        outer_bound = max(outer_bound, dual_bound(loss, alpha, y, weight, worst)[0])
        for k in l0_sizes:
            quadratic = 0.5 * (forced_mass + float(best_square[: max(0, k - forced.size)].sum()))
            bound, shrink = dual_bound(loss, alpha, y, weight, quadratic)
            if k not in l0_bounds or bound > l0_bounds[k].bound:
                l0_bounds[k] = BestDual(bound, shrink * alpha)

        if n_features is None and blocks and objective - outer_bound <= tol * scale:
            status = Status.CONVERGED
            break
        if n_features is not None and n_seen >= n_features:
            status = Status.BUDGET
            break
        if n_features is None and max_blocks is not None and len(blocks) >= max_blocks:
            break

        best = ranked(design, units, magnitude, scores, alpha * y, best[: block_size + n_seen])
        block = np.concatenate([forced, best[:block_size]])
        if n_features is None:
            if any(np.array_equal(np.sort(block), old) for old in blocks):
                status = Status.REPEATED
                break
        else:
            missing = n_features - n_seen
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
        if final_scan or n_features is None or n_seen < n_features:
            state = _extend(state, entered.size, len(blocks))
            step_status = solve()
        seconds["solve"] = time.perf_counter() - begin
        extra["outer_bound"] = outer_bound
        history.append(
            Step(objective, inner_bound, pool.size, entered, seconds, extra, step_status)
        )
        if not final_scan and n_features is not None and n_seen >= n_features:
            status = Status.BUDGET
            break

    answer = _finished(pool, state, objective, inner_bound, outer_bound, alpha, status, history)
    return Minimax(answer.result, l0_bounds)


def _finished(
    pool: GatheredColumns,
    state: State,
    objective: float,
    inner_bound: float,
    outer_bound: float,
    alpha: FloatArray,
    status: Status,
    history: list[Step],
) -> Minimax:
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
        dual=alpha,
        status=status,
        history=tuple(history),
    )
    return Minimax(result, {})


def minimax_pooled(
    design: Design,
    y: FloatArray,
    loss: Smooth,
    n_features: int,
    *,
    C: float,
    block_size: int,
    sample_weight: FloatArray,
    intercept: bool = True,
    forced: IndexArray | None = None,
    usable: np.ndarray | None = None,
    pool_size: int | None = None,
    n_scans: int = 3,
    inner_tol: float = 1e-3,
) -> Solver[Minimax]:
    """Select as `minimax` does, with a fixed small number of scans (data on disk or remote).

    The `pool_size` largest |c_j| of each scan join a pool in memory (at least 5 n_features); the
    whole outer loop runs inside the pool; its final dual point gives the next scan. The last scan
    also yields the outer bound, of the problem over all features.
    """
    size = max(5 * n_features, pool_size or 0)
    m = design.shape[1]
    forced = np.empty(0, np.int64) if forced is None else forced
    allowed = np.ones(m, bool) if usable is None else usable
    n_free = int(allowed.sum()) - forced.size
    weight = C * sample_weight
    alpha = first_dual(loss, y, weight, intercept)[1]
    pool = forced.copy()
    answer: Minimax | None = None
    outer = 0.0  # the zero vector is dual feasible
    for turn in range(n_scans + 1):
        scores = yield Scan(design, alpha * y)
        magnitude = np.where(allowed, np.abs(scores), -1.0)
        magnitude[forced] = -1.0
        best = largest(magnitude, min(block_size, n_free))
        worst = 0.5 * float((scores[forced] ** 2).sum() + (scores[best] ** 2).sum())
        outer = max(outer, dual_bound(loss, alpha, y, weight, worst)[0])
        if turn == n_scans:
            break
        pool = np.union1d(pool, largest(magnitude, min(size, n_free)))
        inside = run(
            minimax(
                as_design(design.gather(pool)), y, loss, min(n_features, pool.size), C=C,
                block_size=block_size, sample_weight=sample_weight, intercept=intercept,
                forced=np.searchsorted(pool, forced), inner_tol=inner_tol,
            ),
            n_threads=current_threads(),
        )  # fmt: skip
        answer = inside
        assert inside.result.dual is not None
        alpha = inside.result.dual
    assert answer is not None
    inner = answer.result
    history = tuple(replace(step, entered=pool[step.entered]) for step in inner.history)
    result = Result(
        support=pool[inner.support],
        coef=inner.coef,
        intercept=inner.intercept,
        objective=inner.objective,
        bounds={"inner": inner.bounds["inner"], "outer": min(outer, inner.objective)},
        dual=inner.dual,
        status=inner.status,
        history=history,
    )
    return Minimax(result, {})


def first_dual(
    loss: Smooth, y: FloatArray, weight: FloatArray, intercept: bool
) -> tuple[float, FloatArray, float]:
    """Return objective, dual point and intercept of the model without features."""
    zero = np.zeros_like(weight)
    if not intercept:
        value, gradient = loss.value_gradient(zero, y, weight)
        return value, np.maximum(-y * gradient, 0.0), 0.0
    b, value, gradient = fit_intercept(loss, zero, y, weight)
    return value, balance(np.maximum(-y * gradient, 0.0), y), b


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


class GatheredColumns:
    """The columns gathered so far, in order of entry; room for `capacity` is made at once."""

    def __init__(self, design: Design, capacity: int) -> None:
        self._design = design
        self._capacity = capacity
        self._dense: FloatArray | None = None
        self._sparse: list[sp.csc_array[Any]] = []
        self.features = np.empty(0, np.int64)
        self._position = np.full(design.shape[1], -1, np.int64)

    @property
    def size(self) -> int:
        return int(self.features.size)

    def position(self, features: IndexArray) -> IndexArray:
        return self._position[features]

    def add(self, features: IndexArray) -> None:
        """Gather columns and append them."""
        columns = self._design.gather(features)
        old = self.size
        self.features = np.concatenate([self.features, features])
        self._position[features] = np.arange(old, self.size)
        if sp.issparse(columns):
            self._sparse.append(columns)
            return
        if self._dense is None or self._dense.shape[1] < self.size:
            room = max(self._capacity, self.size, 3 * old // 2)  # more each time: few copies
            grown = np.empty((columns.shape[0], room), order="F")
            if self._dense is not None:
                grown[:, :old] = self._dense[:, :old]
            self._dense = grown
        self._dense[:, old : self.size] = columns

    def columns(self) -> Columns:
        """Return all gathered columns, (n, size)."""
        if self._sparse:
            if len(self._sparse) > 1:
                self._sparse = [sp.csc_array(sp.hstack(self._sparse, format="csc"))]
            return self._sparse[0]
        assert self._dense is not None
        return self._dense[:, : self.size]

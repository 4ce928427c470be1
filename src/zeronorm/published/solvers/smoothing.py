"""Inner solver `smoothing`: smoothing coordinate descent in the dual, as in the MSLR paper.

With s_t = 1/2 ||c_{S_t}||^2, c = Z'(alpha y), the maximum of the dual problem is smoothed,

    min_{0 < alpha_i < w_i}  1/q log sum_t exp(q s_t)
                             + sum_i alpha_i log alpha_i + (w_i - alpha_i) log(w_i - alpha_i),

which errs by at most log(T) / q. A native sweep solves one coordinate after the other by
Newton-bisection; then q grows. The primal point is u = (E lambda) c, lambda = softmax(q s).

Source: Tan, Tsang and Wang, Minimax sparse logistic regression for very high-dimensional feature
selection, IEEE TNNLS 2013, Algorithms 2 and 3.

Differences from the paper: q grows once the smoothed problem is solved to its own resolution, not
with every sweep (the published schedule outruns convergence and stops at a kink of the maximum, and
is kept as `smoothing_published`); the first q is relative to the levels s_t; the start is near
alpha = 0 or the previous solution; the root search has further safeguards.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ..._kernels import LANES, csr_smoothing_sweep, dense_smoothing_sweep
from ...core.errors import Message, Parameter
from ...core.results import Status
from ...core.types import FloatArray, IndexArray, Smooth
from ...losses import Logistic
from ...solvers.minimax import BlockProblem, Inner, Recorder, State, bound_of, penalty

GROWTH = 5 / 3  # beta of the paper
PUBLISHED_FIRST_Q = 1 / 100
FIRST_Q = 1e-2  # relative to the largest level
FIRST_SHARE = 1e-3  # of the weight: where alpha starts without a previous solution
LARGEST_Q = 1e15  # in units of 1 / largest level; beyond, the softmax is the maximum
# A coordinate is solved to this derivative, or to this share of what it was before the step.
ACCURACY, RATIO = 1e-8, 0.3
MAX_SWEEPS, MAX_PUBLISHED_SWEEPS = 3000, 400
PATIENCE, PROGRESS = 200, 0.9  # sweeps that leave more than this share of the gap: giving up
ROW_BLOCK = 512  # rows copied at a time
# Larger copies of the rows are float32, where its range allows: memory is the limit of a sweep. The
# scores are formed afresh in float64 after each; what is left of the rounding is of second order in
# objective and bound.
FLOAT32_ABOVE, FLOAT32_RANGE = 1 << 20, (1e-30, 1e30)
# Rows visited in the order of storage, which memory is faster at. Longer runs slow convergence down
# (much longer runs take many more sweeps): coordinate descent needs its random order.
RUN = 4


def smoothing(blocks: BlockProblem, state: State, tol: float) -> Inner:
    """Solve the inner problem to (objective - bound) <= tol * blocks.scale, or end as STALLED."""
    return _descend(blocks, state, tol, published=False)


def smoothing_published(blocks: BlockProblem, state: State, tol: float) -> Inner:
    """Do the same with the published schedule: q from 1/100, times 5/3 after every sweep."""
    return _descend(blocks, state, tol, published=True)


def check_supported(solver: str, loss: Smooth, intercept: bool = False) -> None:
    """Raise ValueError for what coordinate descent on this dual cannot solve."""
    if not isinstance(loss, Logistic):
        raise ValueError(
            f"solver={solver!r} is of the logistic loss alone: the entropy in its dual keeps every "
            f"alpha_i inside an open interval; got {loss.name}, whose dual has alpha_i >= 0. Use "
            "solver='newton', 'fista' or 'simplemkl', or "
            f"MinimaxLogisticRegression(solver={solver!r})."
        )
    if intercept:
        raise ValueError(
            Message(
                f"solver={solver!r} has no free intercept: coordinate descent cannot keep sum_i "
                "alpha_i y_i = 0; got ",
                Parameter.of("fit_intercept", True),
                ". Set ",
                Parameter.of("fit_intercept", False),
                ", or use solver='newton'.",
            )
        )


def _descend(blocks: BlockProblem, state: State, tol: float, *, published: bool) -> Inner:
    name = "smoothing-published" if published else "smoothing"
    risk = blocks.risk
    check_supported(name, risk.loss, risk.intercept)
    E, y, weight, loss = blocks.membership, risk.y, risk.weight, risk.loss
    T = E.shape[1]
    value = risk.value_gradient(blocks.Z.times(state.coef))[0]
    record = Recorder(blocks, tol, value + penalty(state.coef, E @ state.block_weight))
    rows = _SmoothedRows(blocks, np.random.default_rng(0))
    alpha = _first_alpha(blocks, state)
    rest = weight - alpha

    scores = blocks.Z.dot(alpha * y)
    level = 0.5 * (E.T @ scores**2)
    unit = 1.0 / max(1.0, float(level.max()))
    q = PUBLISHED_FIRST_Q if published else FIRST_Q * unit
    best, best_alpha = state, alpha.copy()
    mark, since = np.inf, 0
    status = Status.MAX_ITER
    for sweep in range((MAX_PUBLISHED_SWEEPS if published else MAX_SWEEPS) + 1):
        share = np.exp(q * (level - level.max()))
        smooth_max = float(level.max()) + float(np.log(share.sum())) / q
        share /= share.sum()
        lengths = share * np.sqrt(2.0 * level)  # ||v_t||: the best block weights for u are theirs
        block_weight = lengths / lengths.sum() if lengths.sum() > 0 else share
        coef = (E @ share) * scores
        value = risk.value_gradient(blocks.Z.times(coef))[0]
        objective = value + penalty(coef, E @ block_weight)
        bound = bound_of(blocks, alpha * y, scores)
        if objective < record.objective:
            best = State(coef, 0.0, block_weight)
        if bound > record.bound:
            best_alpha = alpha.copy()
        record.add(objective, bound, q=q)
        if record.converged:
            status = Status.CONVERGED
            break
        if record.gap < PROGRESS * mark:
            mark, since = record.gap, 0
        since += 1
        if since > PATIENCE:
            status = Status.STALLED
            break

        smooth_gap = objective - (-loss.conjugate(alpha * y, y, weight) - smooth_max)
        grow = sweep > 0 if published else T > 1 and smooth_gap <= 2.0 * np.log(T) / q
        if grow:
            q = min(q * GROWTH, LARGEST_Q * unit)
        rows.sweep(q, alpha, rest, scores, level)
        scores = blocks.Z.dot(alpha * y)  # afresh: the sweep's own drift
        level = 0.5 * (E.T @ scores**2)
    inside = np.minimum(best_alpha, np.nextafter(weight, 0.0))
    return record.answer(best, inside * y, status)


def _first_alpha(blocks: BlockProblem, state: State) -> FloatArray:
    """Return the dual point of the margins at the state, or one near zero without features.

    Never half of the weight: max_t s_t grows like its square, and with unscaled columns a sweep
    would have to undo nearly all of it.
    """
    weight = blocks.risk.weight
    if not state.coef.any():
        return FIRST_SHARE * weight
    z = blocks.Z.times(state.coef)
    alpha = -blocks.risk.y * blocks.risk.value_gradient(z)[1]
    return np.clip(alpha, 1e-12 * weight, (1.0 - 1e-12) * weight)


class _SmoothedRows:
    """The rows of y Z, expanded to one copy of a feature for each of its blocks.

    Blocks come in groups of LANES, largest first, so that a register of the kernel holds a group. A
    group has as many entries for each of its blocks as the first of them has features; entries
    without a feature, and the blocks that fill up the last group, are zero. Sparse rows are CSR.

    The rows are stored in a random order. A sweep visits runs of them, each time in another order:
    as good as visiting single rows at random, and memory is read in long pieces.
    """

    def __init__(self, blocks: BlockProblem, rng: np.random.Generator) -> None:
        n, p = blocks.Z.shape
        self._rng = rng
        self._stored = rng.permutation(n)
        sizes = blocks.membership.sum(axis=0).astype(np.int64)
        self._blocks = np.argsort(-sizes, kind="stable")  # in the order of the kernel
        n_slots = -(-sizes.size // LANES) * LANES
        depth = np.maximum(sizes[self._blocks[::LANES]], 1)  # of each group
        starts = np.append(0, np.cumsum(LANES * depth))
        self._feature = np.full(starts[-1], p)  # of each entry; p stands for none
        for slot, t in enumerate(self._blocks):
            first = starts[slot // LANES] + slot % LANES
            self._feature[first : first + LANES * sizes[t] : LANES] = np.flatnonzero(
                blocks.membership[:, t]
            )
        slots = np.arange(n_slots).reshape(-1, LANES)
        slot_of = np.concatenate([np.tile(group, d) for group, d in zip(slots, depth, strict=True)])
        self._weight = blocks.risk.weight[self._stored]
        self._square = np.zeros((n, n_slots))
        self._sweep: Callable[..., int]
        self._storage: tuple[Any, ...]
        if blocks.Z.array is None:
            self._fill_sparse(blocks, slot_of.astype(np.int32))
        else:
            self._fill_dense(blocks.Z.array, blocks.risk.y, starts)

    def _fill_dense(self, Z: FloatArray, y: FloatArray, starts: IndexArray) -> None:
        n, p = Z.shape
        features = self._feature
        largest = np.abs(Z).max(axis=0, initial=0.0)
        low, high = FLOAT32_RANGE
        narrow = n * features.size > FLOAT32_ABOVE and bool(
            np.all((largest == 0) | (largest > low) & (largest < high))
        )
        rows = np.empty((n, features.size), np.float32 if narrow else np.float64)
        position = np.argsort(self._stored)
        for start in range(0, n, ROW_BLOCK):
            part = slice(start, start + ROW_BLOCK)
            signed = np.zeros((y[part].size, p + 1))
            np.multiply(Z[part], y[part, None], out=signed[:, :p])
            rows[position[part]] = signed[:, features]
        for start in range(0, n, ROW_BLOCK):
            part = slice(start, start + ROW_BLOCK)
            square = rows[part].astype(np.float64) ** 2
            for g, (first, end) in enumerate(pairwise(starts)):
                group = square[:, first:end].reshape(len(square), -1, LANES)
                self._square[part, g * LANES : (g + 1) * LANES] = group.sum(axis=1)
        self._storage = (rows, starts)
        self._sweep = dense_smoothing_sweep

    def _fill_sparse(self, blocks: BlockProblem, slot_of: IndexArray) -> None:
        Z = blocks.Z
        square = Z.squared().times(blocks.membership)[self._stored]
        self._square[:, : self._blocks.size] = square[:, self._blocks]
        used = self._feature < Z.shape[1]
        self._feature, slot_of = self._feature[used], slot_of[used]
        indptr, indices, data = Z.take(self._feature).by_row(self._stored)
        data *= np.repeat(blocks.risk.y[self._stored], np.diff(indptr))
        self._storage = (indptr, indices, data, slot_of)
        self._sweep = csr_smoothing_sweep

    def sweep(
        self,
        q: float,
        alpha: FloatArray,
        rest: FloatArray,
        scores: FloatArray,
        level: FloatArray,
    ) -> int:
        """Visit every coordinate once, changing alpha and rest; scores and level are not kept."""
        expanded = np.append(scores, 0.0)[self._feature]
        levels = np.full(self._square.shape[1], -np.inf)
        levels[: level.size] = level[self._blocks]
        n = self._stored.size
        runs = RUN * self._rng.permutation(-(-n // RUN))
        order = (runs[:, None] + np.arange(RUN)).ravel()
        stored_alpha, stored_rest = alpha[self._stored], rest[self._stored]
        n_evaluations = self._sweep(
            *self._storage, order[order < n], self._square, self._weight, q, ACCURACY, RATIO,
            stored_alpha, stored_rest, expanded, levels,
        )  # fmt: skip
        alpha[self._stored], rest[self._stored] = stored_alpha, stored_rest
        return n_evaluations

"""Inner solver `fista`: accelerated proximal gradient on one copy of a column per block.

    min_v  1/2 (sum_t ||v_t||)^2 + F(v),    F(v) = min_b sum_i s_i f(y_i, z_i'u + b),  u = sum_t v_t

The intercept is minimised out, so F is convex and smooth in v, and the proximal map of the penalty
has a closed form. A step needs two products with Z and no Gram matrix.

Source: Beck and Teboulle, A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging
Sciences 2(1), 2009; restarts by the gradient: O'Donoghue and Candes, Foundations of Computational
Mathematics 15, 2015.
"""

from __future__ import annotations

import numpy as np

from ...core.results import Status
from ...core.types import FloatArray, IndexArray
from ...solvers.minimax import BlockProblem, Inner, Recorder, State, assess

STEPS = 5  # proximal steps per iteration: each iteration ends with a certificate
MAX_FISTA = 4000  # iterations
MAX_DOUBLINGS = 100  # of the step constant L, in one step
SHRINK = 0.97  # of L after every step, so that it follows the curvature down
ROUNDING = 1e-15  # relative differences of objectives below this are rounding
NOISE = 1e-8  # relative differences of the loss below this are too inexact to compare
PROGRESS = 0.99  # a gap above this share of an earlier one is no progress
# Iterations without progress, in gap and objective, before giving up: accelerated steps oscillate
# for hundreds of them where the problem is badly conditioned.
MAX_IDLE = 200


def fista(blocks: BlockProblem, state: State, tol: float) -> Inner:
    """Solve the inner problem to (objective - bound) <= tol * blocks.scale.

    An iteration, a row of the history, is five steps and a certificate. The block weights are
    lambda_t = ||v_t|| / sum_s ||v_s||: their objective is never above the one in v.
    """
    record = Recorder(blocks, tol)
    Z, (p, T) = blocks.Z, blocks.membership.shape
    block, column = np.nonzero(blocks.membership.T)
    lam, b = state.block_weight, state.intercept
    v = _split(blocks, state, block, column)
    u = _gather(v, column, p)
    z = Z.times(u)
    best = State(u, b, lam)
    dual = np.empty(0)
    previous, z_previous, t = v, z, 1.0
    L = 0.0
    last_gap, last_objective, idle = np.inf, np.inf, 0
    status = Status.MAX_ITER
    for n_iter in range(MAX_FISTA + 1):
        norms = _norms(v, block, T)
        if norms.any():
            lam = norms / norms.sum()
        point = assess(blocks, u, lam, z, b)
        b = point.intercept
        if point.objective < record.objective or not n_iter:
            best = State(u, b, lam)
        if point.bound > record.bound or not n_iter:
            dual = point.dual
        record.add(point.objective, point.bound)
        if record.converged:
            status = Status.CONVERGED
            break
        decrease = last_objective - record.objective
        if record.gap < PROGRESS * last_gap or decrease > ROUNDING * abs(last_objective):
            last_gap, last_objective, idle = record.gap, record.objective, 0
        else:
            idle += 1
        if idle >= MAX_IDLE:
            status = Status.STALLED
            break
        if n_iter == MAX_FISTA:
            break

        for _ in range(STEPS):
            t_next = 0.5 + np.sqrt(0.25 + t * t)
            momentum = (t - 1.0) / t_next
            w = v + momentum * (v - previous)
            z_w = z + momentum * (z - z_previous)  # Z is linear: no product
            b, value, slope = blocks.risk.best(z_w, b)
            gradient = Z.dot(slope)[column]
            if L <= 0.0:
                L = _curvature_along(blocks, gradient, column, z_w + b)
            for _ in range(MAX_DOUBLINGS):
                v_new = shrink_norms(w - gradient / L, 1.0 / L, block, T)
                u_new = _gather(v_new, column, p)
                z_new = Z.times(u_new)
                move = v_new - w
                b_new, value_new, slope_new = blocks.risk.best(z_new, b)
                square = float(move @ move)
                if abs(value_new - value) > NOISE * abs(value):
                    excess = value_new - value - float(gradient @ move) - 0.5 * L * square
                else:  # the same to second order, from gradients, which are exact for small moves
                    excess = float((slope_new - slope) @ (z_new - z_w)) - L * square
                if excess <= 0.0:
                    break
                L *= 2.0
            else:  # the products overflow
                return record.answer(best, dual, Status.STALLED)
            if float((w - v_new) @ (v_new - v)) > 0.0:  # momentum points uphill: restart
                t_next = 1.0
            previous, z_previous = v, z
            v, u, z, b, t = v_new, u_new, z_new, b_new, t_next
            L *= SHRINK
    return record.answer(best, dual, status)


def shrink_norms(v: FloatArray, tau: float, block: IndexArray, n_blocks: int) -> FloatArray:
    """Return argmin_x 1/2 ||x - v||^2 + tau/2 (sum_t ||x_t||)^2, block[i] the block of v_i.

    With norms a_1 >= a_2 >= ... and S_k = sum_{i<=k} a_i / (1 + k tau), k the largest with
    a_k > tau S_k, every norm falls by tau S_k or to zero: S_k is the sum of the new norms.
    """
    norms = _norms(v, block, n_blocks)
    a = -np.sort(-norms)
    S = np.cumsum(a) / (1.0 + tau * np.arange(1, n_blocks + 1))
    kept = np.flatnonzero(a > tau * S)
    if not kept.size:
        return np.zeros_like(v)
    shrunk = np.maximum(norms - tau * S[kept[-1]], 0.0)
    factor = np.divide(shrunk, norms, out=np.zeros(n_blocks), where=norms > 0)
    return np.asarray(v * factor[block])


def _split(blocks: BlockProblem, state: State, block: IndexArray, column: IndexArray) -> FloatArray:
    """Return v_t = lambda_t u / (E lambda) on S_t, whose penalty is that of the state.

    Where (E lambda)_j = 0 the copies share u_j equally.
    """
    E, lam = blocks.membership, state.block_weight
    d = E @ lam
    share = np.where(d[column] > 0, lam[block], 1.0)
    total = np.where(d > 0, d, E.sum(axis=1))
    return np.asarray(share * state.coef[column] / total[column])


def _gather(v: FloatArray, column: IndexArray, p: int) -> FloatArray:
    """Return u = sum_t v_t, (p,)."""
    return np.asarray(np.bincount(column, v, p), dtype=np.float64)


def _norms(v: FloatArray, block: IndexArray, n_blocks: int) -> FloatArray:
    """Return ||v_t||, (T,)."""
    return np.sqrt(np.bincount(block, v * v, n_blocks))


def _curvature_along(
    blocks: BlockProblem, direction: FloatArray, column: IndexArray, margins: FloatArray
) -> float:
    """Return the curvature of the loss along a direction in v: where the search for L starts."""
    square = float(direction @ direction)
    if square <= 0.0:
        return 1.0  # a zero gradient moves nothing, whatever L is
    step = blocks.Z.times(_gather(direction, column, blocks.Z.shape[1])) ** 2
    bend = float(blocks.risk.curvature(margins) @ step)
    return (bend if bend > 0 else float(blocks.risk.weight @ step)) / square

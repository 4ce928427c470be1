"""Inner solver `newton`: proximal Newton in the primal, with exact simplex weights.

One iteration minimises a quadratic model of the loss exactly over u and lambda, then searches along
the line. The problem has only p + T + 1 unknowns: a few Gram matrices of the gathered columns
solve it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ... import _kernels
from ...core.results import Status
from ...core.types import Columns, FloatArray
from ...losses import Adjusted, has_compiled_dual
from ..pool.outputs import RIDGE_OUTPUTS, kernel_of, outputs_over_blocks
from ..pool.ridge import in_kernel, of_times, with_covariates
from .problem import Blocks, Inner, Iterate, Recorder, State, assess, bound_of, penalty


@dataclass(frozen=True, slots=True)
class MinimaxNewtonTuning:
    """Constants, each with what it was measured for."""

    max_newton: int = 60
    max_weights: int = 50
    rounding: float = 1e-15  # relative differences of objectives below this are rounding
    max_idle: int = 3  # iterations without progress, in gap and objective, before giving up
    subsample_work: float = (
        1e7  # multiply-adds of the full Gram matrix below which sampling saves nothing
    )


MINIMAX_NEWTON = MinimaxNewtonTuning()
# Rows of the curvature are subsampled (20 p of them, with the full weight) where n > 30 p; with 5 p
# rows the model is too poor when the data are nearly separable.
SUBSAMPLE_ABOVE, SUBSAMPLE_ROWS = 30, 20
# The subsampled curvature converges only linearly: the full one takes over where an iteration
# leaves more than this share of the gap, or below this relative gap.
SUBSAMPLE_PROGRESS, SUBSAMPLE_GAP = 0.3, 1e-4


def newton(blocks: Blocks, state: State, tol: float) -> Inner:
    """Solve the inner problem to (objective - bound) <= tol * blocks.scale."""
    sample = _curvature_sample(blocks)
    Z, loss = blocks.Z, blocks.risk.loss
    shared = outputs_over_blocks(Z, blocks.risk)
    if shared or (sample is None and has_compiled_dual(loss) and in_kernel(Z, Z.shape[1], loss)):
        return _compiled(blocks, state, tol)
    if Z.array is not None and of_times(blocks.risk):
        near = _beside_covariates(blocks, state, tol)
        if near.status is Status.CONVERGED:
            return near
        state = near.state
    record = Recorder(blocks, tol)
    Z, E, risk = blocks.Z, blocks.membership, blocks.risk
    u, b, lam = state.coef.copy(), state.intercept, state.block_weight.copy()
    z = Z.times(u)
    previous_gap, best_gap, last, idle = np.inf, np.inf, np.inf, 0
    status = Status.MAX_ITER
    for n_iter in range(MINIMAX_NEWTON.max_newton + 1):
        point = assess(blocks, u, lam, z, b)
        b, c, objective = point.intercept, point.scores, point.objective
        record.add(objective, point.bound)
        if record.converged:
            status = Status.CONVERGED
            break
        gap = record.gap
        idle = 0 if gap < 0.9 * best_gap else idle + 1
        best_gap = min(gap, best_gap)
        if idle >= MINIMAX_NEWTON.max_idle and objective >= last - MINIMAX_NEWTON.rounding * abs(
            last
        ):
            status = Status.STALLED
            break
        last = objective
        if n_iter == MINIMAX_NEWTON.max_newton:
            break

        curvature = risk.curvature(z + b)
        if gap > SUBSAMPLE_PROGRESS * previous_gap or gap < SUBSAMPLE_GAP:
            sample = None
        previous_gap = gap
        A, cross, total = _curvature_model(blocks, curvature, sample, z + b)
        # Outputs that share A are as many right-hand sides, one beside the other.
        each = u.reshape(A.shape[0], -1)
        h = A @ each + c.reshape(each.shape)
        u_new, lam_new = _quadratic_model(A, h, E[:: each.shape[1]], lam, 0.01 * gap * blocks.scale)
        u_new = u_new.ravel()
        shift = -float(cross @ (u_new - u)) / total if total > 0 else 0.0
        z_step = Z.times(u_new - u)

        step, accepted = 1.0, False
        for _ in range(40):
            u_try = u + step * (u_new - u)
            lam_try = lam + step * (lam_new - lam)
            value = risk.value_gradient(z + b + step * (z_step + shift))[0]
            # Near the optimum the objective is flat to rounding while the gap still falls.
            if value + penalty(u_try, E @ lam_try) <= objective + MINIMAX_NEWTON.rounding * abs(
                objective
            ):
                accepted = True
                break
            step *= 0.5
        if not accepted:
            status = Status.STALLED
            break
        u, lam, z, b = u_try, lam_try, z + step * z_step, b + step * shift
    return record.answer(State(u, b, lam), point.dual, status)


def _beside_covariates(blocks: Blocks, state: State, tol: float) -> Inner:
    """Solve a problem whose covariates are columns, in every block, and certify that."""
    (p, T), own = blocks.membership.shape, cast("Adjusted", blocks.risk.loss)
    record = Recorder(blocks, tol)
    Z, risk, unit = with_covariates(blocks.Z, blocks.risk)
    membership = np.vstack([blocks.membership, np.ones((unit.size, T))])
    start = State(np.append(state.coef, own.start[0] / unit), 0.0, state.block_weight)
    found = newton(Blocks(Z, membership, risk, blocks.scale), start, 0.5 * tol).state
    u, effects, lam = found.coef[:p], (found.coef[p:] * unit)[None], found.block_weight
    z = blocks.Z.times(u)
    value, dual = own.near(z, risk.y, risk.weight, effects)
    record.add(
        value + penalty(u, blocks.membership @ lam), bound_of(blocks, dual, blocks.Z.dot(dual))
    )
    if not record.converged:
        own.solution(z, risk.y, risk.weight, effects)  # near it at the next call
    status = Status.CONVERGED if record.converged else Status.STALLED
    return record.answer(State(u, 0.0, lam), dual, status)


def _compiled(blocks: Blocks, state: State, tol: float) -> Inner:
    """Solve a small problem as `newton` does, in one call."""
    Z, risk, b = blocks.Z.array, blocks.risk, state.intercept
    u, weights = state.coef.copy(), state.block_weight.copy()
    dual, history = np.empty(risk.weight.size), np.empty((MINIMAX_NEWTON.max_newton + 1, 3))
    out = u, weights, dual, history
    if Z is None:
        loss: Any = risk.loss
        x = blocks.Z.repeated
        assert x is not None
        objective, bound, n_iter, end = _kernels.output_blocks(
            x, blocks.membership, risk.y, risk.weight,
            kernel_of(loss) == RIDGE_OUTPUTS.of_classes, loss.outputs,
            loss.free, tol, blocks.scale, *out,
        )  # fmt: skip
    else:
        b, objective, bound, n_iter, end = _kernels.block_newton(
            Z, blocks.membership, risk.y.ravel(), risk.weight, risk.loss.kernel,
            risk.loss.kernel_parameters, risk.intercept, b, tol, blocks.scale, *out,
        )  # fmt: skip
    status = (Status.CONVERGED, Status.STALLED, Status.MAX_ITER)[end]
    steps = tuple(Iterate(*row) for row in history[: n_iter + 1].tolist())
    return Inner(State(u, b, weights), dual, objective, bound, n_iter, status, steps)


def _curvature_sample(blocks: Blocks) -> tuple[np.ndarray, Columns] | None:
    """Return random rows and their gathered columns, or None where all rows are used."""
    n, p = blocks.Z.shape
    if (
        blocks.Z.array is None
        or n <= SUBSAMPLE_ABOVE * p
        or n * p * p < MINIMAX_NEWTON.subsample_work
    ):
        return None
    rows = np.random.default_rng(0).choice(n, SUBSAMPLE_ROWS * p, replace=False)
    rows.sort()
    return rows, blocks.Z.rows(rows)


def _curvature_model(
    blocks: Blocks,
    curvature: FloatArray,
    sample: tuple[np.ndarray, Columns] | None,
    margins: FloatArray,
) -> tuple[FloatArray, FloatArray, float]:
    """Return Z'WZ with the free intercept eliminated, Z'w and sum w (0 without an intercept).

    Where all outputs have the same Z'WZ it is that of one of them.

    curvature : (n,) of the loss at the margins.
    """
    Z, risk = blocks.Z, blocks.risk
    hessian = risk.shared_hessian(Z)
    if hessian is None and sample is None:
        hessian = risk.hessian(Z, margins)
    if hessian is not None:
        return hessian, np.zeros(Z.shape[1]), 0.0
    if sample is not None:
        rows, Z_rows = sample
        part = float(curvature[rows].sum())
        if part > 0:
            Z, curvature = Z_rows, curvature[rows] * (float(curvature.sum()) / part)
    A = Z.gram(curvature)
    coupling = risk.coupling(blocks.Z, margins)
    if coupling is not None:
        return A - coupling, np.zeros(A.shape[0]), 0.0
    if not risk.intercept:
        return A, np.zeros(A.shape[0]), 0.0
    cross, total = Z.dot(curvature), float(curvature.sum())
    if total > 0:
        A -= np.outer(cross, cross / total)
    return A, cross, total


def _quadratic_model(
    A: FloatArray, h: FloatArray, E: FloatArray, lam: FloatArray, tol: float
) -> tuple[FloatArray, FloatArray]:
    """Minimise 1/2 u'(A + diag(E lambda)^-1) u - h'u over u and lambda in the simplex.

    h, u : (p, r), the sum over r right-hand sides, which share A and lambda.

    With d = E lambda and K = I + diag(sqrt d) A diag(sqrt d), which is well conditioned from below
    even at d_j = 0: u = sqrt d * K^-1 (sqrt d * h), c = h - A u; the minimum over u has gradient
    -1/2 ||c_{S_t}||^2 in lambda_t and the Hessian B'(A - A sqrt d K^-1 sqrt d A)B, B = diag(c) E.
    Projected Newton: its quadratic model over the simplex exactly, then Armijo.
    """

    def factor(lam: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        root = np.sqrt(E @ lam)
        K = A * root[:, None]
        K *= root
        np.einsum("ii->i", K)[:] += 1.0
        L, info = dpotrf(K, lower=1, clean=0, overwrite_a=1)
        if info:  # rounding in a float32 Gram matrix: shift by its error
            K = A * root[:, None] * root
            np.einsum("ii->i", K)[:] += 1.0 + 1e-5 * float(np.einsum("ii->i", K).max())
            L, info = dpotrf(K, lower=1, clean=0, overwrite_a=1)
        u = root[:, None] * dpotrs(L, root[:, None] * h, lower=1)[0]
        return -0.5 * float(np.vdot(h, u)), u, root, L

    value, u, root, L = factor(lam)
    if lam.size == 1:
        return u, lam
    for _ in range(MINIMAX_NEWTON.max_weights):
        c = h - A @ u
        gradient = -0.5 * (E.T @ (c**2).sum(axis=1))
        if float(lam @ gradient) - float(gradient.min()) <= tol:
            break
        B = (c[:, :, None] * E[:, None]).reshape(root.size, -1)
        AB = A @ B
        RAB = root[:, None] * AB
        B, AB, RAB, KRAB = (
            one.reshape(-1, lam.size) for one in (B, AB, RAB, dpotrs(L, RAB, lower=1)[0])
        )
        hessian = B.T @ AB - RAB.T @ KRAB
        target = minimize_on_simplex(gradient - hessian @ lam, hessian, lam)
        slope = float(gradient @ (target - lam))
        step = 1.0
        while True:
            trial = lam + step * (target - lam)
            answer = factor(trial)
            if answer[0] <= value + 1e-4 * step * slope + 1e-14 * abs(value) or step < 1e-8:
                break
            step *= 0.5
        if step < 1e-8:
            break
        lam = trial
        value, u, root, L = answer
    return u, lam


def minimize_on_simplex(g: FloatArray, H: FloatArray, start: FloatArray) -> FloatArray:
    """Return argmin of g'x + 1/2 x'Hx over x >= 0, sum x = 1, by an active set; H (T, T) is PSD."""
    x = np.maximum(start, 0.0)
    x /= x.sum()
    T = x.size
    unit = max(float(np.einsum("ii->i", H).max()), float(np.abs(g).max()), 1e-300)
    g, H = g / unit, H / unit + 1e-12 * np.eye(T)
    free = x > 0
    for _ in range(10 * T + 20):
        index = np.flatnonzero(free)
        # Newton step on the free variables under sum = 1, by the bordered system.
        size = index.size
        system = np.zeros((size + 1, size + 1))
        system[:size, :size] = H[np.ix_(index, index)]
        system[:size, size] = system[size, :size] = 1.0
        right = np.append(-g[index], 1.0)
        solution = (
            np.linalg.lstsq(system, right, rcond=None)[0] if size > 1 else np.array([1.0, 0.0])
        )
        goal = solution[:size]
        if np.all(goal >= -1e-15):
            x = np.zeros(T)
            x[index] = np.maximum(goal, 0.0)
            x /= x.sum()
            slope = g + H @ x
            multiplier = float(x @ slope)
            worst = int(slope.argmin())
            scale = float(np.abs(slope).max()) + 1e-300
            if slope[worst] >= multiplier - 1e-12 * scale or free[worst]:
                break
            free[worst] = True
        else:
            move = goal - x[index]
            blocking = move < 0
            ratio = np.full(size, np.inf)
            ratio[blocking] = x[index][blocking] / -move[blocking]
            first = int(ratio.argmin())
            x[index] += min(1.0, float(ratio[first])) * move
            x[index[first]] = 0.0
            free[index[first]] = False
    return x

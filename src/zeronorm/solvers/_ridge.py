"""The k-scale workhorse: Newton's method for a ridge problem on a few gathered columns.

    min_{u, b}  1/2 sum_j p_j u_j^2 + sum_i s_i f(y_i, z_i'u + b)                          (R)

with s the sample weights times C. Elimination, exchanges, the final refit and certificates are
sequences of such problems, warm-started. A kernel solves the small dense ones; the steps of others
are BLAS and LAPACK, and with more columns than rows the Newton system is solved in the space of the
rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from .. import _kernels
from .._typing import Columns, FloatArray, IndexArray, Smooth
from ..losses import balance, dual_bound, fit_intercept
from ._blas import current_threads, map_threads

MAX_NEWTON = 100
BALANCED = 1.0 - 1e-9  # less of a dual point is kept only where b has not its best value
# Dense problems of at most so many multiply-adds in a Gram matrix, and no more columns than rows,
# are solved by one call of a kernel; above it the BLAS is faster.
KERNEL_GRAM = 2e7
# Gram matrices above this many multiply-adds are formed in float32: they only shape the step,
# objective, gradient and gap stay float64.
FLOAT32_GRAM = 5e7
ROUGH_NORM = 16  # every so many rows give the norms that keep float32 products in range
GRAM_ROWS = 2048  # rows of one partial Gram matrix


@dataclass(frozen=True, slots=True)
class Ridge:
    """A solution of (R)."""

    coef: FloatArray  # (p,)
    intercept: float
    margins: FloatArray  # (n,) Zu + b
    alpha: FloatArray  # (n,) dual point, sum_i alpha_i y_i = 0 where the intercept is free
    scores: FloatArray  # (p,) Z'(alpha y)
    objective: float
    bound: float  # certified lower bound
    gap: float  # objective - bound, relative to the objective of the model without features


def weighted_gram(Z: Columns, weight: FloatArray) -> FloatArray:
    """Return Z' diag(weight) Z, (p, p), weight >= 0; the bits do not depend on threads."""
    n, p = Z.shape
    if sp.issparse(Z):
        out = np.empty((p, p))
        indices = Z.indices.astype(np.int32, copy=False)  # SciPy may have widened them
        _kernels.sparse_gram(Z.indptr, indices, Z.data, weight, out, current_threads())
        return out
    if n * p * p <= FLOAT32_GRAM:
        scaled = Z * np.sqrt(weight)[:, None]
        return np.asarray(scaled.T @ scaled)
    return _float32_gram(Z, weight)


def second_moments(Z: Columns, weight: FloatArray) -> FloatArray:
    """Return sum_i w_i z_ij^2, (p,)."""
    if sp.issparse(Z):
        return np.asarray(Z.multiply(Z).T @ weight)

    def part(start: int) -> FloatArray:
        rows = slice(start, start + GRAM_ROWS)
        return np.asarray(weight[rows] @ np.asarray(Z)[rows] ** 2)

    return np.asarray(np.sum(map_threads(part, range(0, Z.shape[0], GRAM_ROWS)), axis=0))


def _float32_gram(Z: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the Gram matrix by float32 products of columns of weighted mean 0 and norm below 1.

    So no units of X, no offset and no C overflow, underflow or cancel in float32; means and norms
    come back in float64.
    """
    total = float(weight.sum())
    if total <= 0.0:
        return np.zeros((Z.shape[1], Z.shape[1]))
    share = weight / total
    centre = np.asarray(Z.T @ share)
    # Rough norms are enough to stay in range: those of some rows, of all where that fails.
    norm = np.sqrt(second_moments(Z[::ROUGH_NORM], share[::ROUGH_NORM]))
    if not np.all(norm > 0):
        norm = np.sqrt(second_moments(Z, share))
    gram = _scaled_gram(Z, share, centre, norm)
    if not np.isfinite(gram).all():
        gram = _scaled_gram(Z, share, centre, np.sqrt(second_moments(Z, share)))
    gram += np.outer(centre, centre)
    gram *= total
    return gram


def _scaled_gram(
    Z: FloatArray, share: FloatArray, centre: FloatArray, norm: FloatArray
) -> FloatArray:
    """Return (Z - centre)' diag(share) (Z - centre), by float32 products of columns over norm."""
    n, p = Z.shape
    unit = np.divide(1.0, norm, out=np.zeros(p), where=norm > 0)
    root = np.sqrt(share)[:, None]

    def part(start: int) -> FloatArray:
        rows = slice(start, start + GRAM_ROWS)
        centred = Z[rows] - centre
        centred *= unit
        with np.errstate(over="ignore", invalid="ignore"):  # the caller looks at the result
            scaled = np.multiply(centred, root[rows], dtype=np.float32, casting="same_kind")
            return np.asarray(scaled.T @ scaled)

    gram = np.zeros((p, p))
    for block in map_threads(part, range(0, n, GRAM_ROWS)):
        gram += block
    gram *= norm[:, None]
    gram *= norm
    return gram


def cholesky(matrix: FloatArray) -> FloatArray:
    """Return the lower factor of a symmetric positive definite matrix (upper part undefined).

    A diagonal shift at rounding level is added where rounding has made the matrix indefinite;
    `matrix` is changed then. LinAlgError where it is not finite.
    """
    shift = 0.0
    diagonal = np.einsum("ii->i", matrix)
    largest = float(diagonal.max(initial=0.0))
    while True:
        factor, info = dpotrf(matrix, lower=1, clean=0, overwrite_a=0)
        # Not every LAPACK refuses NaN; it stays on the diagonal then.
        if info == 0 and np.isfinite(np.einsum("ii->i", factor)).all():
            return np.asarray(factor)
        if not shift <= largest < np.inf:
            raise np.linalg.LinAlgError("the Newton system is not finite: the data overflow.")
        step = max(1e-14 * largest, 10.0 * shift)
        diagonal += step - shift
        shift = step


def solve_positive(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a symmetric positive definite system by Cholesky."""
    return np.asarray(dpotrs(cholesky(matrix), right, lower=1)[0])


def inverse_factor(matrix: FloatArray) -> FloatArray:
    """Return L^-1, lower triangular, for a symmetric positive definite matrix L L'."""
    if not matrix.size:  # LAPACK would complain on the terminal
        return np.empty((0, 0))
    return np.asarray(np.tril(dtrtri(cholesky(matrix), lower=1)[0]))


def take(Z: Columns, columns: IndexArray) -> Columns:
    """Return Z[:, columns]; dense stays in F order."""
    if sp.issparse(Z):
        return cast("Columns", Z[:, columns])
    return cast("Columns", np.asarray(Z).T[columns].T)


def ridge(
    Z: Columns,
    y: FloatArray,
    weight: FloatArray,
    loss: Smooth,
    *,
    columns: IndexArray | None = None,
    penalty: FloatArray | float = 1.0,
    intercept: bool = True,
    start: tuple[FloatArray, float] | None = None,
    tol: float = 1e-6,
    of_value: bool = False,
    cutoff: float = np.inf,
) -> Ridge:
    """Solve (R) to a certified gap of `tol` relative to the objective of the zero model.

    Parameters
    ----------
    Z : (n, m) gathered columns, dense or CSC.
    y : (n,) labels +-1.
    weight : (n,) sample weights times C, positive.
    columns : (p,) positions in Z of the columns of the problem; None: all of them.
    penalty : (p,) or a number, positive: the p_j.
    intercept : whether b is free (and unpenalised) or zero.
    start : (u, b) to start from.
    cutoff : stop as soon as the bound shows that the optimum is not below this value.
    tol : stop at (objective - bound) <= tol * objective at u = 0, or where rounding ends progress.
    of_value : whether `tol` is relative to the objective itself, which is smaller by many orders
        where the data separate.

    Raises
    ------
    TypeError : the loss is not one of labels +-1 with a conjugate, as `LeastSquares` is not.
    LinAlgError : a Newton system is not finite.
    """
    if not callable(getattr(loss, "conjugate", None)):  # alpha would be no dual point
        raise TypeError(
            "loss must be of labels -1 and 1 and have a conjugate, as Logistic and SquaredHinge; "
            f"got {type(loss).__name__}. Least squares is solved in closed form."
        )
    n = Z.shape[0]
    p = Z.shape[1] if columns is None else columns.size
    diagonal = np.full(p, penalty, dtype=np.float64)
    u = np.zeros(p) if start is None else start[0].copy()
    b = 0.0 if start is None or not intercept else start[1]
    if not in_kernel(Z, p, loss):
        chosen = Z if columns is None else take(Z, columns)
        fit = newton(chosen, y, weight, loss, diagonal, intercept, u, b, tol, of_value, cutoff)
        return bounded(fit, y, weight, loss, diagonal, intercept)
    margins, alpha, scores = np.empty(n), np.empty(n), np.empty(p)
    b, objective, bound, gap = _kernels.dense_ridge(
        np.asarray(Z), np.arange(p) if columns is None else columns, y, weight, diagonal,
        loss.kernel, intercept, b, tol, of_value, cutoff, u, margins, alpha,
        scores,
    )  # fmt: skip
    fit = Ridge(u, b, margins, alpha, scores, objective, bound, gap)
    return bounded(fit, y, weight, loss, diagonal, intercept)


def in_kernel(Z: Columns, p: int, loss: Smooth) -> bool:
    """Return whether the compiled solvers solve a problem on p columns of Z."""
    n = Z.shape[0]
    small = p <= n and n * p * p <= KERNEL_GRAM
    return _kernels.HAS_COMPILED_SOLVERS and small and loss.kernel >= 0 and not sp.issparse(Z)


def bounded(
    fit: Ridge,
    y: FloatArray,
    weight: FloatArray,
    loss: Smooth,
    diagonal: FloatArray,
    intercept: bool,
) -> Ridge:
    """Return the fit with a bound where the solver has none: b has no best value in floating point.

    There the dual point, balanced, is not that of the margins.
    """
    if np.isfinite(fit.bound):
        return fit
    quadratic = 0.5 * float((fit.scores / diagonal) @ fit.scores)
    bound = dual_bound(loss, fit.alpha, y, weight, quadratic)[0]
    zero_value = _zero_objective(loss, y, weight, intercept)
    gap = (fit.objective - bound) / zero_value if zero_value > 0 else 0.0
    return replace(fit, bound=bound, gap=gap)


def newton(
    Z: Columns,
    y: FloatArray,
    weight: FloatArray,
    loss: Smooth,
    diagonal: FloatArray,
    intercept: bool,
    u: FloatArray,
    b: float,
    tol: float,
    of_value: bool,
    cutoff: float,
) -> Ridge:
    """Solve (R) from (u, b) as `ridge` does, for any storage, loss and size; diagonal: the p_j."""
    p = Z.shape[1]
    zero_value = _zero_objective(loss, y, weight, intercept)
    z = np.asarray(Z @ u)
    best_bound = -np.inf
    value, gradient = loss.value_gradient(z + b, y, weight)
    if np.isnan(value):
        raise np.linalg.LinAlgError("the Newton system is not finite: the data overflow.")
    objective = value
    scores = descent = alpha = np.empty(0)

    def dual_point() -> float:
        """Set scores and minus the gradient in u; return the gap of alpha where b is at its best.

        The loss of the margins and its conjugate at alpha are equal together there, so what is left
        is the square of the slope.
        """
        nonlocal scores, descent
        scores = np.asarray(Z.T @ (alpha * y))
        descent = scores - diagonal * u
        return 0.5 * float((descent / diagonal) @ descent)

    def certify() -> None:
        """Go to the best intercept and bound the optimum there."""
        nonlocal b, value, gradient, objective, alpha, best_bound
        kept = 1.0
        if intercept:
            b, value, gradient = fit_intercept(loss, z, y, weight, b)
            objective = value + 0.5 * float((diagonal * u) @ u)
            raw = np.maximum(-y * gradient, 0.0)
            alpha = balance(raw, y)
            kept = float(np.min(alpha[raw > 0] / raw[raw > 0], initial=1.0))
        left = dual_point()
        if kept >= BALANCED:
            best_bound = max(best_bound, objective - left)

    for iteration in range(MAX_NEWTON):
        objective = value + 0.5 * float((diagonal * u) @ u)
        alpha = np.maximum(-y * gradient, 0.0)
        left = dual_point()
        curvature = loss.curvature(z + b, y, weight)
        wanted = tol * (objective if of_value else zero_value)
        last = iteration == MAX_NEWTON - 1
        flat = intercept and not float(curvature.sum()) > 0  # no Newton step in b
        certified = left <= wanted or objective - left >= cutoff or last or flat
        if certified:
            certify()
            if objective - best_bound <= wanted or best_bound >= cutoff or p == 0 or last:
                break
            curvature = loss.curvature(z + b, y, weight)
        pull = float(gradient.sum()) if intercept else 0.0
        direction, shift = _newton_direction(Z, curvature, diagonal, descent, pull, intercept)
        z_step = np.asarray(Z @ direction)
        slope = float(descent @ direction) - pull * shift
        step = 1.0
        accepted = False
        for _ in range(40):
            trial = u + step * direction
            z_trial = z + step * z_step
            at_trial = loss.value_gradient(z_trial + (b + step * shift), y, weight)
            trial_objective = at_trial[0] + 0.5 * float((diagonal * trial) @ trial)
            if trial_objective <= objective - 1e-4 * step * slope:
                accepted = True
                break
            step *= 0.5
        if not accepted:  # rounding: no decrease is left
            if not certified:
                certify()
            break
        u, z, b = trial, z_trial, b + step * shift
        value, gradient = at_trial
    gap = (objective - best_bound) / zero_value if zero_value > 0 else 0.0
    return Ridge(u, b, z + b, alpha, scores, objective, best_bound, gap)


def _zero_objective(loss: Smooth, y: FloatArray, weight: FloatArray, intercept: bool) -> float:
    """Return the objective of the model without features, where rows differ by label only."""
    positive = y > 0
    weight = np.array([weight[positive].sum(), weight[~positive].sum()])
    zero, y = np.zeros(2), np.array([1.0, -1.0])
    if intercept:
        return fit_intercept(loss, zero, y, weight)[1]
    return loss.value_gradient(zero, y, weight)[0]


def _newton_direction(
    Z: Columns,
    curvature: FloatArray,
    diagonal: FloatArray,
    descent: FloatArray,
    pull: float,
    intercept: bool,
) -> tuple[FloatArray, float]:
    """Return the Newton direction in u and in b; pull: the gradient in b.

    The system is (diag(p) + Z'WZ - (Z'w)(Z'w)'/sum w) d = descent + Z'w pull / sum w: the rank-one
    term eliminates b.
    """
    n, p = Z.shape
    total = float(curvature.sum())
    centre = intercept and total > 0
    cross = np.asarray(Z.T @ curvature) if centre else np.zeros(p)
    if centre:
        descent = descent + cross * (pull / total)
    if p <= n or sp.issparse(Z):
        matrix = weighted_gram(Z, curvature)
        if centre:
            matrix -= np.outer(cross, cross / total)
        view = np.einsum("ii->i", matrix)
        view += diagonal
        unit = 1.0 / np.sqrt(view)  # the columns may differ in scale by many orders
        matrix *= unit[:, None]
        matrix *= unit
        direction = unit * solve_positive(matrix, unit * descent)
    else:
        # Woodbury: with V = W^(1/2) (Z - 1 (Z'w)'/sum w), (P + V'V)^-1 r
        #         = P^-1 r - P^-1 V' (I + V P^-1 V')^-1 V P^-1 r
        V = np.asarray(Z) - (cross / total if centre else cross)
        V *= np.sqrt(curvature)[:, None]
        scaled = V / diagonal
        matrix = np.asarray(scaled @ V.T)
        np.einsum("ii->i", matrix)[:] += 1.0
        direction = descent / diagonal
        direction -= scaled.T @ solve_positive(matrix, V @ direction)
    shift = -(float(cross @ direction) + pull) / total if centre else 0.0
    return direction, shift


def leverages(
    Z: Columns, curvature: FloatArray, diagonal: FloatArray, intercept: bool
) -> FloatArray:
    """Return h_i = x_i'H^-1 x_i, x_i = (z_i, 1), H = diag(p, 0) + sum_i w_i x_i x_i'.

    The last entry of x_i and the last row of H are there only with an intercept.
    """
    n, p = Z.shape
    total = float(curvature.sum())
    centred = intercept and total > 0
    centre = np.asarray(Z.T @ curvature) / total if centred else np.zeros(p)
    base = 1.0 / total if centred else 0.0
    if p <= n:
        # With H = L L' over the centred columns, h_i = ||L^-1 z_i||^2.
        matrix = weighted_gram(Z, curvature) - total * np.outer(centre, centre)
        view = np.einsum("ii->i", matrix)
        view += diagonal
        unit = 1.0 / np.sqrt(view)
        matrix *= unit[:, None]
        matrix *= unit
        whiten = inverse_factor(matrix).T  # of the centred columns times `unit`
        narrow = n * p * p > FLOAT32_GRAM
        size = np.sqrt(total) if total > 0 else 1.0  # values near 1: no underflow in float32
        if narrow:
            whiten = whiten.astype(np.float32)
        sparse = sp.issparse(Z)
        rowwise: Any = Z.tocsr() if sp.issparse(Z) else Z

        def part(start: int) -> FloatArray:
            rows = rowwise[start : start + GRAM_ROWS]
            centred: FloatArray = (rows.toarray() if sparse else rows) - centre
            centred *= unit * size
            white = (centred.astype(np.float32) if narrow else centred) @ whiten
            return np.asarray(np.einsum("ij,ij->i", white, white), dtype=np.float64)

        lengths = np.concatenate(map_threads(part, range(0, n, GRAM_ROWS)))
        return np.asarray(base + lengths / size**2)
    # In the space of the rows, K = Z P^-1 Z': Z (P + Z'WZ)^-1 Z' = K - K R (I + R K R)^-1 R K
    # with R = W^(1/2).
    dense = (Z.toarray() if sp.issparse(Z) else np.asarray(Z)) - centre
    K = (dense / diagonal) @ dense.T
    root = np.sqrt(curvature)
    matrix = K * root[:, None] * root
    np.einsum("ii->i", matrix)[:] += 1.0
    RK = root[:, None] * K
    removed = np.einsum("ij,ij->j", RK, solve_positive(matrix, RK))
    return np.asarray(base + np.einsum("ii->i", K) - removed)

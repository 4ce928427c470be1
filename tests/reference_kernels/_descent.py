"""Coordinate descent over columns: one specification of every kernel for all storages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeronorm.core.types import FloatArray, IndexArray

from . import _coordinate as coordinate
from ._losses import LOSSES
from ._scans import IndexStorage

# j -> the rows in which column j may not be zero, and its float64 values there
_Columns: TypeAlias = Callable[[int], tuple[Any, FloatArray]]
# offset, active features, limit, sweeps, violations, done
_State: TypeAlias = tuple[float, int, float, int, float, bool]


def _dense(x: NDArray[Any]) -> _Columns:
    return lambda j: (slice(None), x[:, j].astype(np.float64))


def _csc(indptr: IndexStorage, indices: IndexStorage, data: NDArray[Any]) -> _Columns:
    def column(j: int) -> tuple[Any, FloatArray]:
        stored = slice(indptr[j], indptr[j + 1])
        return indices[stored], data[stored].astype(np.float64)

    return column


def _of_storages(kernel: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a kernel of columns for dense X and for X in CSC, whose arrays come first.

    x : (n, m) float32 or float64, Fortran order; or
    indptr, indices, data : X in CSC, data float32 or float64. Each stored entry is squared by
        itself: sum duplicates first.
    features : (q,) columns of X in any order, each once: the argument after X.
    """

    def dense(x: NDArray[Any], *rest: Any) -> Any:
        return kernel(_dense(x), *rest)

    def csc(indptr: IndexStorage, indices: IndexStorage, data: NDArray[Any], *rest: Any) -> Any:
        return kernel(_csc(indptr, indices, data), *rest)

    return dense, csc


def _terms(
    columns: _Columns,
    features: IndexArray,
    v: FloatArray,
    h: FloatArray,
    product: FloatArray,
    total: FloatArray,
    square: FloatArray,
    n_threads: int,
) -> None:
    """Put x_j'v, sum_i h_i x_ij and sum_i h_i x_ij**2, (q,), into `product`, `total`, `square`."""
    for k, j in enumerate(features):
        rows, x = columns(j)
        product[k] = x @ v[rows]
        total[k] = x @ h[rows]
        square[k] = (x * x) @ h[rows]


def _combine(columns: _Columns, features: IndexArray, z: FloatArray, v: FloatArray) -> None:
    """Add sum_j z_j x_j to v, (n,); z is (q,), and columns with z_j = 0 are not read."""
    for k in np.flatnonzero(z):
        rows, x = columns(features[k])
        v[rows] += z[k] * x


def _descend(
    columns: _Columns,
    features: IndexArray,
    curvature: FloatArray,
    gradient: FloatArray,
    total: FloatArray,
    square: FloatArray,
    penalty: FloatArray,
    u: FloatArray,
    largest_step: FloatArray,
    nu: float,
    intercept: bool,
    gradient_e: float,
    target: float,
    max_sweeps: int,
    shrinking: float,
    seed: int,
    active: IndexArray,
    d: FloatArray,
    residual: FloatArray,
    state: _State,
) -> _State:
    """Minimise a quadratic model at u by sweeps of coordinate descent, over the steps d and e."""
    q = features.size
    offset, n_active, limit, n_sweeps, met, _ = state
    done = False
    random = coordinate.Random(seed)
    share = coordinate.share(curvature, intercept)
    bend = coordinate.bend(total, square, share) + nu
    last = n_sweeps + max_sweeps
    # Where curvature vanishes, steps may be infinite before they are cut.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        while n_sweeps < last and not done:
            n_sweeps += 1
            if share > 0:
                offset = coordinate.best_offset(gradient_e, residual, share)
            random.shuffle(active, n_active)
            shrinks, margin = shrinking > 0 and np.isfinite(limit), shrinking * limit
            limit = met = 0.0
            k = 0
            while k < n_active:
                j = active[k]
                rows, x = columns(features[j])
                t = u[j] + d[j]
                g = float(gradient[j] + nu * d[j] + x @ residual[rows] + offset * total[j])
                if shrinks and t == 0 and coordinate.settled(penalty[j], g, margin):
                    n_active -= 1
                    active[[k, n_active]] = active[[n_active, k]]
                    continue  # with the feature that was moved here
                k += 1
                violation = coordinate.violation(penalty[j], g, t)
                limit = max(limit, violation)
                met += violation
                h = bend[j]
                if h + penalty[j, 1] <= 0 and abs(g) > penalty[j, 0]:
                    continue  # no minimum
                z = coordinate.minimiser(penalty[j], g, h, t) - t
                z = min(max(z, -largest_step[j]), largest_step[j])
                if not np.isfinite(z):
                    continue
                d[j] = -u[j] if z == -t else d[j] + z  # u + d is 0 without rounding
                residual[rows] += z * (x * curvature[rows])
                offset -= z * total[j] * share
            if met <= target:
                done = n_active == q
                n_active, limit = q, np.inf
    return offset, n_active, limit, n_sweeps, met, done


def _subspace_step(
    columns: _Columns,
    features: IndexArray,
    curvature: FloatArray,
    gradient: FloatArray,
    total: FloatArray,
    square: FloatArray,
    penalty: FloatArray,
    u: FloatArray,
    largest_step: FloatArray,
    nu: float,
    intercept: bool,
    gradient_e: float,
    target: float,
    max_iterations: int,
    d: FloatArray,
    residual: FloatArray,
    offset: float,
) -> tuple[int, float]:
    """Step with the features that are not at zero, their signs kept."""
    share = coordinate.share(curvature, intercept)
    if share > 0:
        offset = coordinate.best_offset(gradient_e, residual, share)
    bend = coordinate.bend(total, square, share) + nu + penalty[:, 1]
    free = np.flatnonzero((u + d != 0) & (bend > 0))
    X = np.zeros((curvature.size, free.size))
    for k, j in enumerate(free):
        rows, x = columns(features[j])
        np.add.at(X[:, k], rows, x)
    t, ridge, diagonal = (u + d)[free], (nu + penalty[:, 1])[free], bend[free]

    def extend(direction: FloatArray) -> tuple[FloatArray, float]:
        """Return X direction and what the intercept adds to it."""
        return X @ direction, -share * float(total[free] @ direction)

    slope = gradient[free] + nu * d[free] + penalty[free, 1] * t + np.sign(t) * penalty[free, 0]
    slope = -(slope + X.T @ residual + offset * total[free])
    step, left = np.zeros(free.size), slope.copy()
    direction = left / diagonal
    # Without rounding so many iterations are enough; with it, more would only amplify it.
    max_iterations = min(max_iterations, free.size)
    iterations, least = 0, max(target, 1e-12 * np.abs(left).sum())  # less is rounding
    while iterations < max_iterations and np.abs(left).sum() > least:
        along, e = extend(direction)
        size = float(curvature @ (along + e) ** 2 + ridge @ direction**2)
        norm = float(left @ (left / diagonal))
        if not size > 0 or not np.isfinite(norm / size):
            break
        step += norm / size * direction
        bent = X.T @ (curvature * along) + e * total[free] + ridge * direction
        left -= norm / size * bent
        direction = left / diagonal + float(left @ (left / diagonal)) / norm * direction
        iterations += 1
    if iterations == 0:
        return 0, offset
    step /= max(1.0, float((np.abs(step) / (100.0 * largest_step[free])).max()))
    stopped = (t + step) * t <= 0
    bounded = np.where(stopped, -t, step)
    along, e = extend(bounded)
    change = -slope @ bounded + 0.5 * (curvature @ (along + e) ** 2 + ridge @ bounded**2)
    if not np.isfinite(change):
        return iterations, offset
    if not change < 0:
        if not stopped.any():
            return iterations, offset  # rounding
        reach = np.where(stopped, -t / np.where(stopped, step, 1.0), np.inf)
        stopped = reach == reach.min()
        bounded = np.where(stopped, -t, reach.min() * step)
        along, e = extend(bounded)
    d[free] = np.where(stopped, -u[free], d[free] + bounded)
    residual += curvature * along
    offset += e
    return iterations, offset


def gram_descend(
    gram: FloatArray,
    penalty: FloatArray,
    u: FloatArray,
    largest_step: FloatArray,
    target: float,
    max_sweeps: int,
    d: FloatArray,
    slope: FloatArray,
) -> tuple[int, float]:
    """Minimise a quadratic model by sweeps over its features, in their order."""
    total = 0.0
    with np.errstate(over="ignore"):
        for sweep in range(max_sweeps):
            total = 0.0
            for j, row in enumerate(penalty):
                t = float(u[j] + d[j])
                g, h = float(slope[j]), float(gram[j, j])
                total += coordinate.violation(row, g, t)
                if h + row[1] <= 0 and abs(g) > row[0]:
                    continue
                z = coordinate.minimiser(row, g, h, t) - t
                if abs(z) > largest_step[j]:
                    z = float(np.copysign(largest_step[j], z))
                if z == 0 or not np.isfinite(z):
                    continue
                d[j] = -u[j] if z == -t else d[j] + z
                slope += z * gram[j]
            if total <= target:
                return sweep + 1, total
    return max(max_sweeps, 0), total


def _newton_cycle(
    columns: _Columns,
    features: IndexArray,
    y: FloatArray,
    weight: FloatArray,
    penalty: FloatArray,
    loss: int,
    nu: float,
    sigma: float,
    largest_step: FloatArray,
    max_halvings: int,
    seed: int,
    order: IndexArray,
    u: FloatArray,
    z: FloatArray,
) -> float:
    """Take one Newton step after the other on every feature, each with its line search (CDN)."""
    f = LOSSES[loss]
    coordinate.Random(seed).shuffle(order, order.size)
    total = 0.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for j in order:
            rows, x = columns(features[j])
            slope, bend = f.derivatives(y[rows], z[rows])
            g = float(x @ (weight[rows] * slope))
            h = nu + float((x * x) @ (weight[rows] * bend))
            total += coordinate.violation(penalty[j], g, u[j])
            full = coordinate.minimiser(penalty[j], g, h, u[j]) - u[j]
            full = min(max(full, -largest_step[j]), largest_step[j])
            if full == 0:
                continue
            before = coordinate.cost(penalty[j], u[j])
            model = g * full + coordinate.cost(penalty[j], u[j] + full) - before
            for share in 0.5 ** np.arange(max_halvings):
                step = share * full
                change = weight[rows] @ f.change(y[rows], z[rows], step * x)
                change += coordinate.cost(penalty[j], u[j] + step) - before
                if change <= sigma * share * model:
                    u[j] += step
                    z[rows] += step * x
                    break
    return float(total)


dense_terms, csc_terms = _of_storages(_terms)
dense_combine, csc_combine = _of_storages(_combine)
dense_descend, csc_descend = _of_storages(_descend)
dense_subspace_step, csc_subspace_step = _of_storages(_subspace_step)
dense_newton_cycle, csc_newton_cycle = _of_storages(_newton_cycle)

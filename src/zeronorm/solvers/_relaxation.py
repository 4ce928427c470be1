"""The convex relaxation of the l0 problem on gathered columns, by a semismooth Newton method.

    min_{u, b}  1/2 ||u_A||^2 + 1/2 ||u_F||_(q)^2 + sum_i s_i f(y_i, z_i'u + b)              (R)

A are the features that are fixed in, F the free ones, q = k - |A|, and

    1/2 ||u||_(q)^2 = min { 1/2 sum_j u_j^2 / d_j : 0 <= d_j <= 1, sum_j d_j <= q }

is half the squared k-support norm: the tightest convex function below the ridge term of vectors
with at most q entries. The value is a lower bound of the l0 problem with A fixed in; its dual is
D(alpha) = -conjugate(alpha) - 1/2 (sum_A c_j^2 + S_q(c_F^2)), c = Z'(alpha y), S_q the sum of the q
largest.

At the solution with threshold t, features with |c_j| > t have d_j = 1 and u_j = c_j, those with
d_j = 0 have |c_j| <= t, and in between |c_j| = t and d_j = |u_j| / t. Given which are which and the
signs in between, (R) is smooth, with penalty 1/2 ||u_T||^2 + (s'u_E)^2 / (2 q'): a Newton step.
Which are which is read off the proximal point of u + c. Where such a step does not descend, a
proximal gradient step does.

Sources: Argyriou, Foygel and Srebro, Sparse prediction with the k-support norm, NIPS 2012; Li, Sun
and Toh, SIAM Journal on Optimization 28(1), 2018 (semismooth Newton steps for proximal problems).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._typing import Columns, FloatArray, IndexArray, Smooth
from ..losses import balance, dual_bound, fit_intercept
from ..structures import largest
from ._ridge import solve_positive, take, weighted_gram

MAX_ITERATIONS = 200
FINEST = 1e-10  # relative gap that rounding allows
DESCENT = 1e-4  # of a step, as a share of what the model promises
MOST_HALVINGS, MOST_DOUBLINGS = 8, 60
FLAT = 1e-9  # curvature added for features in between, which may be more than the rows


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A solution of (R)."""

    coef: FloatArray  # (p,)
    intercept: float
    share: FloatArray  # (p,) d_j: 1 where fixed in
    alpha: FloatArray  # (n,) the dual point of the bound
    objective: float
    bound: float  # the best D(alpha) on the way


def relax(
    Z: Columns,
    y: FloatArray,
    weight: FloatArray,
    loss: Smooth,
    n_fixed: int,
    n_free: int,
    *,
    intercept: bool = True,
    start: tuple[FloatArray, float] | None = None,
    tol: float = 1e-4,
    cutoff: float = np.inf,
    max_iter: int = MAX_ITERATIONS,
) -> Relaxed:
    """Solve (R) to a certified gap of `tol` relative to the objective.

    Parameters
    ----------
    Z : (n, p) gathered columns, the fixed ones first.
    y : (n,) labels +-1.
    weight : (n,) sample weights times C, positive.
    n_fixed : |A|.
    n_free : q, at most p - |A|; all free features enter where it is equal.
    intercept : whether b is free (and unpenalised) or zero.
    start : (u, b) to start from.
    cutoff : stop as soon as the bound is above this value; where the objective is above, the
        tolerance is that of rounding.
    max_iter : steps; the bound is one after any of them.
    """
    problem = _Problem(Z, y, weight, loss, n_fixed, n_free, intercept)
    u, b = (np.zeros(Z.shape[1]), 0.0) if start is None else start
    point = problem.at(u, b)
    best, best_alpha = -np.inf, np.zeros_like(weight)
    lipschitz = 1.0
    for _ in range(max_iter):
        alpha = np.maximum(-y * point.gradient, 0.0)
        if intercept:
            alpha = balance(alpha, y)
        scores = np.asarray(Z.T @ (alpha * y))
        bound, scale = dual_bound(loss, alpha, y, weight, problem.quadratic(scores))
        if bound > best:
            best, best_alpha = bound, scale * alpha
        # A value above the cutoff may still be shown to be there.
        wanted = tol if point.objective <= cutoff else FINEST
        if best > cutoff or point.objective - best <= wanted * abs(point.objective):
            break
        following = problem.newton_step(point, scores)
        if following is None:
            following, lipschitz = problem.gradient_step(point, scores, lipschitz)
        if following is None:  # rounding: no decrease is left
            break
        point = following
    share = problem.share_of(point.u)
    return Relaxed(point.u, point.b, share, best_alpha, point.objective, best)


@dataclass(frozen=True, slots=True)
class _Point:
    u: FloatArray
    b: float
    z: FloatArray  # (n,) Zu, without the intercept
    gradient: FloatArray  # (n,) of the loss in the margins
    objective: float


class _Problem:
    def __init__(
        self,
        Z: Columns,
        y: FloatArray,
        weight: FloatArray,
        loss: Smooth,
        n_fixed: int,
        n_free: int,
        intercept: bool,
    ) -> None:
        self._Z, self._y, self._weight, self._loss = Z, y, weight, loss
        self._fixed, self._free = slice(0, n_fixed), slice(n_fixed, Z.shape[1])
        self._n_fixed, self._q, self._intercept = n_fixed, n_free, intercept

    def at(self, u: FloatArray, b: float) -> _Point:
        """Return the point with coefficients u; b is where to look for its best intercept."""
        used = np.flatnonzero(u)
        return self._point(u, np.asarray(take(self._Z, used) @ u[used]), b)

    def _point(self, u: FloatArray, z: FloatArray, b: float) -> _Point:
        if self._intercept:
            b, value, gradient = fit_intercept(self._loss, z, self._y, self._weight, b)
        else:
            value, gradient = self._loss.value_gradient(z, self._y, self._weight)
        fixed = u[self._fixed]
        penalty = 0.5 * float(fixed @ fixed) + support_norm(u[self._free], self._q)[0]
        return _Point(u, b, z, gradient, value + penalty)

    def quadratic(self, scores: FloatArray) -> float:
        """Return 1/2 (sum_A c_j^2 + S_q(c_F^2))."""
        fixed = scores[self._fixed]
        return 0.5 * (float(fixed @ fixed) + top_squares(scores[self._free], self._q))

    def share_of(self, u: FloatArray) -> FloatArray:
        """Return the d_j of a point, 1 for fixed features."""
        share = np.ones(u.size)
        free = np.abs(u[self._free])
        threshold = support_norm(free, self._q)[1]
        share[self._free] = np.minimum(1.0, free / threshold) if threshold > 0 else free > 0
        return share

    def _shares(self, v: FloatArray, curvature: float) -> FloatArray:
        """Return the d_j of the proximal point of v."""
        share = np.ones(v.size)
        share[self._free] = proximal_shares(np.abs(v[self._free]), self._q, curvature)
        return share

    def newton_step(self, point: _Point, scores: FloatArray) -> _Point | None:
        """Return where a semismooth Newton step leads; None where it does not descend."""
        v = point.u + scores
        share = self._shares(v, 1.0)
        inside = np.flatnonzero(share == 1.0)
        between = np.flatnonzero((share > 0) & (share < 1))
        chosen = np.concatenate([inside, between])
        columns = take(self._Z, chosen)
        columns = columns.toarray() if sp.issparse(columns) else np.asarray(columns)
        y, weight, loss = self._y, self._weight, self._loss
        curvature = loss.curvature(point.z + point.b, y, weight)
        total = float(curvature.sum())
        matrix = weighted_gram(columns, curvature)
        right = -np.asarray((point.gradient - curvature * point.z) @ columns)
        if self._intercept and total > 0:  # eliminated by a rank-one term
            cross = np.asarray(curvature @ columns)
            matrix -= np.outer(cross, cross / total)
            right -= cross * (float(curvature @ point.z) / total)
        diagonal = np.einsum("ii->i", matrix)
        diagonal[: inside.size] += 1.0
        sign = np.sign(v[between])
        if between.size:
            left = self._n_fixed + self._q - inside.size
            matrix[inside.size :, inside.size :] += np.outer(sign, sign) / left
            diagonal[inside.size :] += FLAT * (1.0 + diagonal[inside.size :])
        unit = 1.0 / np.sqrt(diagonal)
        matrix *= unit[:, None]
        matrix *= unit
        try:
            target = unit * solve_positive(matrix, unit * right)
        except np.linalg.LinAlgError:
            return None
        target[inside.size :] = np.where(target[inside.size :] * sign > 0, target[inside.size :], 0)
        u = np.zeros_like(point.u)
        u[chosen] = target
        z = columns @ target
        step = 1.0
        for _ in range(MOST_HALVINGS + 1):
            trial = self._point(
                point.u + step * (u - point.u), point.z + step * (z - point.z), point.b
            )
            if trial.objective < point.objective * (1.0 - 1e-12):
                return trial
            step *= 0.3
        return None

    def gradient_step(
        self, point: _Point, scores: FloatArray, lipschitz: float
    ) -> tuple[_Point | None, float]:
        """Return where a proximal gradient step leads, and the constant to try next."""
        for _ in range(MOST_DOUBLINGS):
            v = point.u + scores / lipschitz
            share = self._shares(v, lipschitz)
            trial = self.at(v * lipschitz * share / (lipschitz * share + 1.0), point.b)
            change = trial.u - point.u
            if trial.objective <= point.objective - 0.5 * DESCENT * lipschitz * float(
                change @ change
            ):
                descends = trial.objective < point.objective
                return (trial if descends else None), max(0.5 * lipschitz, 1e-3)
            lipschitz *= 2.0
        return None, lipschitz


def top_squares(values: FloatArray, q: int) -> float:
    """Return the sum of the q largest squares."""
    square = values * values
    if q >= square.size:
        return float(square.sum())
    return float(np.partition(square, square.size - q)[square.size - q :].sum()) if q else 0.0


def support_norm(u: FloatArray, q: int) -> tuple[float, float]:
    """Return 1/2 ||u||_(q)^2 and the threshold t with d_j = min(1, |u_j| / t); t = 0: all d_j = 1.

    With |u| sorted, r entries are above t = (sum of the others) / (q - r).
    """
    size = np.abs(u[u != 0])
    if size.size <= q:
        return 0.5 * float(size @ size), 0.0
    if q == 0:
        return np.inf, np.inf
    size = np.sort(size)[::-1]
    rest = np.cumsum(size[::-1])[::-1][:q]
    threshold = rest / (q - np.arange(q))
    r = int(np.argmax(size[:q] <= threshold))  # it holds for the last one
    above = size[:r]
    return 0.5 * (float(above @ above) + float(rest[r]) ** 2 / (q - r)), float(threshold[r])


def proximal_shares(size: FloatArray, q: int, curvature: float) -> FloatArray:
    """Return the d_j of argmin_u curvature/2 ||u - v||^2 + 1/2 ||u||_(q)^2, size = |v|.

    u_j = v_j curvature d_j / (curvature d_j + 1), where d_j = clip(x |v_j| - 1/curvature, 0, 1) for
    the x at which they sum to q. The sum is linear between the breakpoints of the d_j.
    """
    if q == 0:
        return np.zeros(size.size)
    if np.count_nonzero(size) <= q:
        share = np.zeros(size.size)
        share[largest(size, min(q, size.size))] = 1.0
        return share
    base = 1.0 / curvature
    qth = float(np.partition(size, size.size - q)[size.size - q])
    # At (1 + base) / qth the sum is at least q: what is zero there is zero at the solution.
    some: IndexArray = np.flatnonzero(size > qth * base / (1.0 + base))
    a = size[some]

    def total(x: float) -> float:
        return float(np.clip(x * a - base, 0.0, 1.0).sum())

    points = np.sort(np.concatenate([base / a, (1.0 + base) / a]))
    low, high = 0, int(np.searchsorted(points, (1.0 + base) / qth))
    high = min(high, points.size - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if total(points[middle]) <= q else (low, middle)
    below, above = total(points[low]), total(points[high])
    x = points[high]
    if above > below:
        x = points[low] + (points[high] - points[low]) * (q - below) / (above - below)
    share = np.zeros(size.size)
    share[some] = np.clip(x * a - base, 0.0, 1.0)
    return share


__all__ = ["Relaxed", "proximal_shares", "relax", "support_norm", "top_squares"]

"""The ordinal logistic loss of ordered classes: proportional odds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from .._typing import Columns, FloatArray, IndexArray
from ._base import INSIDE, LossOfRows, root_of_falling

MOST_STEPS = 100
NEAR = 1e-13  # relative, of the derivatives in thresholds
ROUNDING = 1e-12  # relative: sums of a dual point below this are 0


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows in classes that all have some, numbered from 0, with the weights of these."""

    place: IndexArray  # of the class of each row
    known: IndexArray  # the numbers of these classes in the target
    total: FloatArray  # (q,) the weight of each class

    @classmethod
    def of(cls, y: FloatArray, weight: FloatArray) -> _Rows:
        total = np.bincount(y.astype(np.int64), weight)
        known = np.flatnonzero(total > 0)
        place = np.minimum(np.searchsorted(known, y), known.size - 1)
        return cls(place, known, np.asarray(total[known], np.float64))

    def sums(self, values: FloatArray) -> FloatArray:
        """Return sums over the rows of each class."""
        return np.asarray(np.bincount(self.place, values, self.total.size), np.float64)

    def ends(self, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the thresholds below and above the class of each row."""
        return np.append(-np.inf, b)[self.place], np.append(b, np.inf)[self.place]


@dataclass(frozen=True, slots=True)
class Ordinal(LossOfRows):
    """The ordinal logistic loss, at its best thresholds b_1 < ... < b_{q-1}.

        f(z) = min_b sum_i s_i -log( sigma(b_k - z_i) - sigma(b_{k-1} - z_i) ),  k the class of i,

    with b_0 = -inf and b_q = inf: a model of P(class <= k) = sigma(b_k - z). The target is the
    number of the class, from 0. f does not change where all margins move by one number, so that
    there is no intercept, and it is convex, as the sum is in thresholds and margins together.

    Minus the gradient is v_i = s_i (c_i - a_i) with c_i and a_i the probabilities of a lower and of
    a higher class. What is below b_k comes to W_k = sum of -v over classes up to k, which flows
    through the threshold. With m = min(a, c), u = |v| / s and h(x) = x log x + (1-x) log(1-x) the
    conjugate is the sum over the classes of

        max_d  sum s (h(m) + h(m + u)) + S log(1 - e^-d) - d (W_{k-1} - P_k - sum s m),

    S and P_k the sums of s and max(v, 0) of the class, d = b_k - b_{k-1} and m so that the odds of
    m and m + u have the product e^-d (of the first and the last class m = 0). It is finite where
    u <= 1, P_k <= W_{k-1}, and the sum of v is 0.

    References
    ----------
    McCullagh, Regression models for ordinal data, JRSS B 42(2), 1980.
    """

    name: ClassVar[str] = "ordinal"
    has_intercept: ClassVar[bool] = False
    separable: ClassVar[bool] = False
    target: ClassVar[str] = "ordered"
    n_classes: int = 0  # 0: as many as the target has

    def fitted(self, y: FloatArray, weight: FloatArray) -> Ordinal:
        """Return the loss with the number of classes of a target."""
        return self if self.n_classes else replace(self, n_classes=int(y.max()) + 1)

    def intercepts(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return minus the best thresholds, (n_classes - 1,); those of no rows are as the next."""
        rows = _Rows.of(y, weight)
        # Of a threshold the classes above it begin with the next one that has rows.
        after = np.searchsorted(rows.known, np.arange(1, self.n_classes))
        return -np.concatenate([[-np.inf], _thresholds(rows, z, weight), [np.inf]])[after]

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return the value at the best thresholds and its gradient s (a - c)."""
        rows = _Rows.of(y, weight)
        b = _thresholds(rows, z, weight)
        low, high = rows.ends(b)
        value = float(weight @ (np.logaddexp(0.0, z - high) + np.logaddexp(0.0, low - z)))
        value -= float(rows.total[1:-1] @ np.log(-np.expm1(-np.diff(b))))
        v = weight * (expit(low - z) - expit(z - high))
        return max(value, 0.0), -_feasible(rows, v, weight)

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s (a (1-a) + c (1-c)): the second derivative is that less `coupling`."""
        upper, lower = _bends(z, y, weight)[2:]
        return upper + lower

    def coupling(
        self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> FloatArray | None:
        """Return what the thresholds take off."""
        rows, b, upper, lower = _bends(z, y, weight)
        if not b.size:
            return np.zeros((Z.shape[1], Z.shape[1]))
        across = np.zeros((len(y), b.size + 2))
        each = np.arange(len(y))
        across[each, rows.place + 1] = upper
        across[each, rows.place] = lower
        cross = Z.dot(across[:, 1:-1])
        values, vectors = np.linalg.eigh(_curvature_of_thresholds(rows, b, upper, lower))
        kept = values > ROUNDING * max(float(values[-1]), 1e-300)
        root = (cross @ vectors[:, kept]) / np.sqrt(values[kept])
        return np.asarray(root @ root.T)

    def null(self, y: FloatArray, weight: FloatArray, intercept: bool) -> float:
        """Return the value at equal margins."""
        return self.value_gradient(np.zeros_like(weight), y, weight)[0]

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return the conjugate at -v, infinite outside of its domain."""
        rows = _Rows.of(y, weight)
        spare = _spare(rows, v, weight)
        u = np.divide(np.abs(v), weight, out=np.zeros_like(v), where=weight > 0)
        if spare is None or not (u <= 1.0 + 1e-12).all():
            return np.inf
        u = np.minimum(u, 1.0)
        d, low, high = _gaps(rows, u, weight, spare)
        m = _less(u, rows, low)[1]
        parts = weight * (_entropy(m) + _entropy(np.minimum(m + u, 1.0)))
        found, inner = float(parts.sum()), slice(1, -1)
        if d.size:
            sums = rows.sums(weight * m)[inner]
            some = spare > 0
            total, sums, low, high = rows.total[inner][some], sums[some], low[some], high[some]
            left = sums + total / np.expm1(low) - spare[some]  # by how much it still rises
            found += float(total @ np.log(-np.expm1(-low)) - low @ (spare[some] - sums))
            found += float(np.maximum(left, 0.0) @ (high - low))
        return found

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return a point near v where the conjugate is finite."""
        return _feasible(_Rows.of(y, weight), v, weight)

    def best_scale(
        self, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return the c that maximises -conjugate(c v) - c**2 quadratic: v'z(c v) = 2 c quadratic.

        z(v) are the margins that v is minus the gradient at.
        """
        rows = _Rows.of(y, weight)
        spare = _spare(rows, v, weight)
        moved = v != 0
        if spare is None or not moved.any():
            return 1.0
        u = np.divide(np.abs(v), weight, out=np.zeros_like(v), where=weight > 0)
        end = INSIDE / float(u.max())
        flow = -np.cumsum(rows.sums(v))[:-2]

        def slopes(c: float) -> tuple[float, float]:
            d = _gaps(rows, c * u, weight, c * spare)[0]
            m = _less(c * u, rows, d)[1]
            more = np.minimum(m + c * u, 1.0 - 1e-16)
            a, lower = np.where(v > 0, m, more), np.where(v > 0, more, m)
            b = np.append(0.0, np.cumsum(d))
            first = rows.place < b.size
            logit = np.log(np.where(first, a, 1.0 - lower)) - np.log(
                np.where(first, 1.0 - a, lower)
            )
            z = np.append(b, b[-1])[rows.place] + logit
            bend = a * (1.0 - a), lower * (1.0 - lower)
            both = bend[0] + bend[1]
            slope = float(v[moved] @ z[moved]) - 2.0 * c * quadratic
            fall = float(v[moved] @ (v[moved] / (weight * both)[moved])) + 2.0 * quadratic
            if d.size:
                ratio = np.divide(bend[1], both, out=np.zeros_like(both), where=both > 0)
                push = rows.sums(v * ratio)[1:-1] - flow
                own = np.divide(bend[0] * bend[1], both, out=np.zeros_like(both), where=both > 0)
                steep = rows.sums(weight * own)[1:-1]
                steep += rows.total[1:-1] * np.exp(d) / np.expm1(d) ** 2
                fall += float(push @ (push / np.maximum(steep, 1e-300)))
            return slope, fall

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return root_of_falling(slopes, end)


def log_proportional_odds(scores: FloatArray) -> FloatArray:
    """Return log-probabilities of ordered classes, (n, n_classes).

    scores : (n, n_classes - 1) falling, z - b_k: the log-odds of a higher class than k.
    """
    n = len(scores)
    below = np.column_stack([np.full(n, np.inf), scores])
    above = np.column_stack([scores, np.full(n, -np.inf)])
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.where(np.isfinite(below) & np.isfinite(above), below - above, np.inf)
        gap = np.where(below == above, 0.0, gap)
        inside = np.where(gap < np.inf, np.log(-np.expm1(-gap)), 0.0)
    found = -np.logaddexp(0.0, above) - np.logaddexp(0.0, -below) + inside
    return np.asarray(found - np.logaddexp.reduce(found, axis=1)[:, None])


def _entropy(x: FloatArray) -> FloatArray:
    return np.asarray(xlogy(x, x) + xlog1py(1.0 - x, -x))


def _bends(
    z: FloatArray, y: FloatArray, weight: FloatArray
) -> tuple[_Rows, FloatArray, FloatArray, FloatArray]:
    """Return rows, thresholds, s a (1-a) and s c (1-c)."""
    rows = _Rows.of(y, weight)
    b = _thresholds(rows, z, weight)
    low, high = rows.ends(b)
    a, c = expit(z - high), expit(low - z)
    return rows, b, weight * a * expit(high - z), weight * c * expit(z - low)


def _curvature_of_thresholds(
    rows: _Rows, b: FloatArray, upper: FloatArray, lower: FloatArray
) -> FloatArray:
    """Return the second derivative in the thresholds."""
    d = np.diff(b)
    joint = rows.total[1:-1] * np.exp(-d) / np.expm1(-d) ** 2
    own = rows.sums(upper)[:-1] + rows.sums(lower)[1:]
    own[:-1] += joint
    own[1:] += joint
    return np.asarray(np.diag(own) - np.diag(joint, 1) - np.diag(joint, -1))


def _thresholds(rows: _Rows, z: FloatArray, s: FloatArray) -> FloatArray:
    """Return the best thresholds between the classes that have rows: Newton's method."""
    total = rows.total
    if total.size < 2:
        return np.empty(0)
    shift = float(s @ z) / float(s.sum())
    z = z - shift
    below = np.cumsum(total)[:-1]
    b = np.log(below) - np.log(total.sum() - below)

    def state(b: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        low, high = rows.ends(b)
        d = np.diff(b)
        if not (d > 0).all():
            return np.inf, b, z, z
        value = float(s @ (np.logaddexp(0.0, z - high) + np.logaddexp(0.0, low - z)))
        value -= float(total[1:-1] @ np.log(-np.expm1(-d)))
        a, c = expit(z - high), expit(low - z)
        slope = rows.sums(s * c)[1:] - rows.sums(s * a)[:-1]
        push = total[1:-1] / np.expm1(d)
        slope[:-1] += push
        slope[1:] -= push
        return value, slope, s * a * expit(high - z), s * c * expit(z - low)

    value, slope, upper, lower = state(b)
    for _ in range(MOST_STEPS):
        size = float(np.abs(slope).max())
        if size <= NEAR * total.sum():
            break
        hessian = _curvature_of_thresholds(rows, b, upper, lower)
        hessian[np.diag_indices_from(hessian)] += 1e-14 * total.sum() / (1.0 + np.ptp(z))
        step = -np.linalg.solve(hessian, slope)
        step *= min(1.0, (5.0 + 0.5 * float(np.ptp(z))) / float(np.abs(step).max()))
        for _ in range(60):
            trial = state(b + step)
            if trial[0] < value or (
                trial[0] <= value * (1.0 + 1e-14) and np.abs(trial[1]).max() < size
            ):
                break
            step = 0.5 * step
        else:
            break
        b, (value, slope, upper, lower) = b + step, trial
    return np.asarray(b + shift)


def _spare(rows: _Rows, v: FloatArray, s: FloatArray) -> FloatArray | None:
    """Return W_{k-1} - P_k of inner classes; None outside of the domain."""
    noise = ROUNDING * float(np.abs(v).sum())
    if rows.total.size < 2:
        return np.empty(0) if noise == 0.0 else None
    first, last = rows.place == 0, rows.place == rows.total.size - 1
    wrong = max(float(v[first].max(initial=0.0)), -float(v[last].min(initial=0.0)))
    flow = -np.cumsum(rows.sums(v))
    spare = flow[:-2] - rows.sums(np.maximum(v, 0.0))[1:-1]
    outside = wrong > noise or abs(float(flow[-1])) > noise or (spare < -noise).any()
    return None if outside else np.where(spare > noise, spare, 0.0)


def _feasible(rows: _Rows, v: FloatArray, s: FloatArray) -> FloatArray:
    """Return v with parts of classes shrunk, so that flows through thresholds are as they must be.

    From the lowest class on what is given to others, -v, flows up, and every class can get no more
    than what comes; what nobody gets is not given.
    """
    q = rows.total.size
    v = np.clip(v, -s, s)
    if q < 2:
        return np.zeros_like(v)
    v = np.where(rows.place == 0, np.minimum(v, 0.0), v)
    v = np.where(rows.place == q - 1, np.maximum(v, 0.0), v)
    given, got = rows.sums(np.maximum(-v, 0.0)), rows.sums(np.maximum(v, 0.0))
    flow, gets, gives = 0.0, got.copy(), given.copy()
    for k in range(q):
        gets[k] = min(got[k], flow)
        flow += given[k] - gets[k]
    for k in range(q - 1, -1, -1):
        back = min(flow, given[k])
        gives[k] -= back
        flow -= back
    up = np.divide(gives, given, out=np.ones(q), where=given > 0)[rows.place]
    down = np.divide(gets, got, out=np.ones(q), where=got > 0)[rows.place]
    return np.asarray(np.where(v > 0, down * v, up * v))


def _less(u: FloatArray, rows: _Rows, d: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return e^-d of the class of each row and m, 0 in the first and the last class."""
    odds = np.concatenate([[0.0], np.exp(-d), [0.0]])[rows.place] if d.size else np.zeros_like(u)
    middle = u + odds * (2.0 - u)
    root = np.sqrt(middle**2 + 4.0 * (1.0 - odds) * odds * (1.0 - u))
    m = np.divide(2.0 * odds * (1.0 - u), middle + root, out=np.zeros_like(u), where=odds > 0)
    return odds, m


def _gaps(
    rows: _Rows, u: FloatArray, s: FloatArray, spare: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return d of the classes but the first and the last, and numbers below and above it.

    S / (e^d - 1) + sum s m(d) = spare, which falls. Newton's method in a bracket; where spare is 0,
    d is infinite, and 700 stands for it.
    """
    total = rows.total[1:-1]
    if not total.size:
        return total, total, total
    with np.errstate(divide="ignore", over="ignore"):
        q = spare / total
        low = np.minimum(np.log1p(1.0 / q), 700.0)
        # r / (1 - r^2) = q of r = e^(-d/2) where all u are 0
        high = 2.0 * np.log((1.0 + np.sqrt(1.0 + 4.0 * q**2)) / (2.0 * q))
    high = np.minimum(np.maximum(high, low), 700.0)
    low, high = low * (1.0 - 1e-12), high * (1.0 + 1e-12)
    d = np.where(spare > 0, 0.5 * (low + high), 700.0)
    for _ in range(MOST_STEPS):
        m = _less(u, rows, d)[1]
        more = np.minimum(m + u, 1.0)
        bend = m * (1.0 - m), more * (1.0 - more)
        both = bend[0] + bend[1]
        own = np.divide(bend[0] * bend[1], both, out=np.zeros_like(both), where=both > 0)
        left = total / np.expm1(d) + rows.sums(s * m)[1:-1] - spare
        low, high = np.where(left > 0, d, low), np.where(left > 0, high, d)
        fall = total * np.exp(-d) / np.expm1(-d) ** 2 + rows.sums(s * own)[1:-1]
        following = d + left / np.maximum(fall, 1e-300)
        outside = ~((low < following) & (following < high))
        following[outside] = 0.5 * (low + high)[outside]
        if (np.abs(following - d) <= 1e-14 * d).all():
            break
        d = np.where(spare > 0, following, 700.0)
    return d, np.where(spare > 0, low, 700.0), np.where(spare > 0, high, 700.0)


__all__ = ["Ordinal", "log_proportional_odds"]

"""The ordinal logistic loss of ordered classes: proportional odds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from ..core.types import Columns, FloatArray, IndexArray
from .base import INSIDE, Latest, LossOfRows, root_of_falling, taken_off

MOST_STEPS = 100
NEAR = 1e-13  # relative, of the derivatives in thresholds
ROUNDING = 1e-12  # relative: sums of a dual point below this are 0
NO_END = 700.0  # stands for an infinite distance of two thresholds
LEAST_GAP = 1e-6  # of two thresholds, where one step has crossed them
_LATEST = Latest()  # classes and thresholds


@dataclass(frozen=True, slots=True)
class Ordinal(LossOfRows):
    """The ordinal logistic loss of classes, at its best thresholds b_1 < ... < b_{q-1}.

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
    has_intercept: ClassVar[bool] = False  # that solvers know of
    own_intercepts: ClassVar[bool] = True
    separable: ClassVar[bool] = False
    target: ClassVar[str] = "ordered"
    n_classes: int = 0  # 0: as many as the target has

    def fitted(self, y: FloatArray, weight: FloatArray) -> Ordinal:
        return self if self.n_classes else replace(self, n_classes=int(y.max()) + 1)

    def intercepts(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return minus the best thresholds, (n_classes - 1,); those of no rows are as the next."""
        rows, b = _at_best(z, y, weight)
        # Of a threshold the classes above it begin with the next one that has rows.
        after = np.searchsorted(rows.known, np.arange(1, self.n_classes))
        return -np.concatenate([[-np.inf], b, [np.inf]])[after]

    @property
    def at_margins(self) -> Ordinal:
        """The loss, which has no coefficients of its own beside the thresholds."""
        return self

    def moved(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the margins: thresholds are not a part of them."""
        return z

    def free_columns(self, n: int) -> FloatArray:
        """Return the columns without a penalty: none."""
        return np.empty((n, 0))

    def thresholds(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[Classes, FloatArray]:
        """Return the classes that have rows, and the best thresholds between them."""
        return _at_best(z, y, weight)

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return the value at the best thresholds and its gradient s (a - c)."""
        rows, b = _at_best(z, y, weight)
        low, high = rows.ends(b)
        (higher, a, _), (lower, c, _) = logistic(z - high), logistic(low - z)
        value = float(weight @ (higher + lower))
        value -= float(rows.total[1:-1] @ np.log(-np.expm1(-np.diff(b))))
        v = weight * (c - a)
        return max(value, 0.0), -flowing(rows, v, weight)

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s (a (1-a) + c (1-c)): the second derivative is that less `coupling`."""
        upper, lower = _bends(z, y, weight)[2:]
        return upper + lower

    def coupling(
        self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> FloatArray | None:
        rows, b, upper, lower = _bends(z, y, weight)
        if not b.size:
            return np.zeros((Z.shape[1], Z.shape[1]))
        across = np.zeros((len(y), b.size + 2))
        each = np.arange(len(y))
        across[each, rows.place + 1] = upper
        across[each, rows.place] = lower
        cross = Z.dot(across[:, 1:-1])
        return taken_off(cross, rows.curvature(b, upper, lower))

    def null(self, y: FloatArray, weight: FloatArray, intercept: bool) -> float:
        return self.value_gradient(np.zeros_like(weight), y, weight)[0]

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        rows = Classes.of(y, weight)
        spare = spare_flow(rows, v)
        u = np.divide(np.abs(v), weight, out=np.zeros_like(v), where=weight > 0)
        if spare is None or not (u <= 1.0 + 1e-12).all():
            return np.inf
        u = np.minimum(u, 1.0)
        d, low, high = distances(rows, u, weight, spare)
        m = smaller_probability(u, rows, low)[1]
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
        return flowing(Classes.of(y, weight), v, weight)

    def best_scale(
        self, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return the c that maximises -conjugate(c v) - c**2 quadratic: v'z(c v) = 2 c quadratic.

        z(v) are the margins that v is minus the gradient at.
        """
        rows = Classes.of(y, weight)
        spare = spare_flow(rows, v)
        moved = v != 0
        if spare is None or not moved.any():
            return 1.0
        u = np.divide(np.abs(v), weight, out=np.zeros_like(v), where=weight > 0)
        end = INSIDE / float(u.max())
        flow = -np.cumsum(rows.sums(v))[:-2]

        def slopes(c: float) -> tuple[float, float]:
            d = distances(rows, c * u, weight, c * spare)[0]
            m = smaller_probability(c * u, rows, d)[1]
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


def _at_best(z: FloatArray, y: FloatArray, weight: FloatArray) -> tuple[Classes, FloatArray]:
    """Return the classes that have rows, and the best thresholds between them."""
    found: tuple[Classes, FloatArray] | None = _LATEST.at(None, z, y, weight)
    if found is None:
        rows = Classes.of(y, weight)
        found = rows, best_thresholds(rows, z, weight)
        _LATEST.keep(found, None, z, y, weight)
    return found


def _bends(
    z: FloatArray, y: FloatArray, weight: FloatArray
) -> tuple[Classes, FloatArray, FloatArray, FloatArray]:
    """Return classes, thresholds, s a (1-a) and s c (1-c)."""
    rows, b = _at_best(z, y, weight)
    low, high = rows.ends(b)
    (_, a, not_a), (_, c, not_c) = logistic(z - high), logistic(low - z)
    return rows, b, weight * a * not_a, weight * c * not_c


def _entropy(x: FloatArray) -> FloatArray:
    return np.asarray(xlogy(x, x) + xlog1py(1.0 - x, -x))


# Probabilities and losses of rows by their scores, z - b_k.


def log_proportional_odds(scores: FloatArray) -> FloatArray:
    """Return log-probabilities of ordered classes, (n, n_classes).

    scores : (n, n_classes - 1) falling, z - b_k: the log-odds of a higher class than k.
    """
    below, above = _ends(scores)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.where(np.isfinite(below) & np.isfinite(above), below - above, np.inf)
        gap = np.where(below == above, 0.0, gap)
        inside = np.where(gap < np.inf, np.log(-np.expm1(-gap)), 0.0)
    found = -np.logaddexp(0.0, above) - np.logaddexp(0.0, -below) + inside
    return np.asarray(found - np.logaddexp.reduce(found, axis=1)[:, None])


def log_odds_of_classes(scores: FloatArray) -> FloatArray:
    """Return the log-odds of every ordered class against all others, (n, n_classes).

    scores : (n, n_classes - 1), as of `log_proportional_odds`.
    """
    below, above = _ends(scores)
    others = np.logaddexp(-np.logaddexp(0.0, below), -np.logaddexp(0.0, -above))
    return np.asarray(log_proportional_odds(scores) - others)


def ordered_log_loss(scores: FloatArray, codes: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return minus the log-probability of the class of each row, and its slope along the scores.

    scores : (n, n_classes - 1), as of `log_proportional_odds`; the slope is the derivative in a
        factor of all of them. codes : (n,) the classes, from 0.
    """
    each = np.arange(codes.size)
    below, above = (one[each, codes] for one in _ends(scores))
    value, (slope, other), _ = losses_of_rows(above, below)
    return value, np.where(np.isfinite(above), above, 0.0) * slope + (
        np.where(np.isfinite(below), below, 0.0) * other
    )


def losses_of_rows(
    above: FloatArray, below: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return -log(sigma(below) - sigma(above)), and its derivatives in the two.

    above, below : (n,) margins less the thresholds above and below the class, -inf and inf where
        there are none. below must be larger; where it is not, it is taken as that next to above.

    Returns
    -------
    (n,), the first derivatives (2, n) and the second ones (2, 2, n), above first.
    """
    inner = np.isfinite(above) & np.isfinite(below)
    gap = np.where(inner, np.maximum(np.where(inner, below, 1.0) - np.where(inner, above, 0.0),
                                     LEAST_GAP), 1.0)  # fmt: skip
    log_inside = np.where(inner, np.log(-np.expm1(-gap)), 0.0)
    push = np.where(inner, 1.0 / np.expm1(np.minimum(gap, NO_END)), 0.0)
    bend = np.where(inner, np.exp(-gap) / np.expm1(-gap) ** 2, 0.0)
    value = np.logaddexp(0.0, above) + np.logaddexp(0.0, -below) - log_inside
    a, c = expit(above), expit(-below)
    first = np.stack([a + push, -c - push])
    second = np.array([[a * expit(-above) + bend, -bend], [-bend, c * expit(below) + bend]])
    return value, first, second


def _ends(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the scores at the thresholds below and above every class, (n, n_classes) each."""
    n = len(scores)
    below = np.column_stack([np.full(n, np.inf), scores])
    return below, np.column_stack([scores, np.full(n, -np.inf)])


# Thresholds between ordered classes: their best values, and dual points that flow through them.


@dataclass(frozen=True, slots=True)
class Classes:
    """Rows in ordered classes that all have some, numbered from 0, with the weights of these."""

    place: IndexArray  # of the class of each row
    known: IndexArray  # the numbers of these classes in the target
    total: FloatArray  # (q,) the weight of each class

    @classmethod
    def of(cls, y: FloatArray, weight: FloatArray) -> Classes:
        """Return the classes of a target; those without weight have no part."""
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

    def curvature(self, b: FloatArray, upper: FloatArray, lower: FloatArray) -> FloatArray:
        """Return the second derivative in the thresholds.

        upper, lower : (n,) s a (1 - a) and s c (1 - c), a and c the probabilities of a higher and
            of a lower class.
        """
        d = np.diff(b)
        joint = self.total[1:-1] * np.exp(-d) / np.expm1(-d) ** 2
        own = self.sums(upper)[:-1] + self.sums(lower)[1:]
        own[:-1] += joint
        own[1:] += joint
        return np.asarray(np.diag(own) - np.diag(joint, 1) - np.diag(joint, -1))


def best_thresholds(rows: Classes, z: FloatArray, s: FloatArray) -> FloatArray:
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
        higher, a, not_a = logistic(z - high)
        lower, c, not_c = logistic(low - z)
        value = float(s @ (higher + lower) - total[1:-1] @ np.log(-np.expm1(-d)))
        upward, downward = s * a, s * c
        slope = rows.sums(downward)[1:] - rows.sums(upward)[:-1]
        push = total[1:-1] / np.expm1(np.minimum(d, NO_END))
        slope[:-1] += push
        slope[1:] -= push
        return value, slope, upward * not_a, downward * not_c

    value, slope, upper, lower = state(b)
    for _ in range(MOST_STEPS):
        size = float(np.abs(slope).max())
        if size <= NEAR * total.sum():
            break
        hessian = rows.curvature(b, upper, lower)
        # Far from all margins nothing is curved, or the distances of thresholds alone.
        diagonal = np.einsum("ii->i", hessian)
        diagonal += 1e-14 * total.sum() / (1.0 + np.ptp(z)) + 1e-13 * diagonal.max()
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


def logistic(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log(1 + e^x), p = 1 / (1 + e^-x) and 1 - p, all from one exponential.

    One after the other, functions of SciPy and NumPy would take three times as long.
    """
    small = np.exp(-np.abs(x))
    more = 1.0 / (1.0 + small)
    less, positive = small * more, x > 0
    return (
        np.maximum(x, 0.0) + np.log1p(small),
        np.where(positive, more, less),
        np.where(positive, less, more),
    )


def spare_flow(rows: Classes, v: FloatArray) -> FloatArray | None:
    """Return W_{k-1} - P_k of inner classes, see `Ordinal`; None outside of the domain."""
    noise = ROUNDING * float(np.abs(v).sum())
    if rows.total.size < 2:
        return np.empty(0) if noise == 0.0 else None
    first, last = rows.place == 0, rows.place == rows.total.size - 1
    wrong = max(float(v[first].max(initial=0.0)), -float(v[last].min(initial=0.0)))
    flow = -np.cumsum(rows.sums(v))
    spare = flow[:-2] - rows.sums(np.maximum(v, 0.0))[1:-1]
    outside = wrong > noise or abs(float(flow[-1])) > noise or (spare < -noise).any()
    return None if outside else np.where(spare > noise, spare, 0.0)


def flowing(rows: Classes, v: FloatArray, s: FloatArray) -> FloatArray:
    """Return v with parts of classes shrunk, so that flows through thresholds are as they must be.

    From the lowest class on what is given to others, -v, flows up, and every class can get no more
    than what comes; nobody gives more than what higher classes get.
    """
    q = rows.total.size
    v = np.clip(v, -s, s)
    if q < 2:
        return np.zeros_like(v)
    v = np.where(rows.place == 0, np.minimum(v, 0.0), v)
    v = np.where(rows.place == q - 1, np.maximum(v, 0.0), v)
    given, got = rows.sums(np.maximum(-v, 0.0)), rows.sums(np.maximum(v, 0.0))
    flow, wanted, gets, gives = 0.0, 0.0, got.copy(), given.copy()
    for k in range(q):
        gets[k] = min(got[k], flow)
        flow += given[k] - gets[k]
    for k in range(q - 1, -1, -1):
        gives[k] = min(given[k], wanted)
        wanted = (wanted - gives[k]) + gets[k]
    up = np.divide(gives, given, out=np.ones(q), where=given > 0)[rows.place]
    down = np.divide(gets, got, out=np.ones(q), where=got > 0)[rows.place]
    return np.asarray(np.where(v > 0, down * v, up * v))


def smaller_probability(
    u: FloatArray, rows: Classes, d: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return e^-d of the class of each row, and m so that m and m + u have odds of that product.

    d : of the inner classes. In the first and the last class both are 0.
    """
    odds = np.concatenate([[0.0], np.exp(-d), [0.0]])[rows.place] if d.size else np.zeros_like(u)
    middle = u + odds * (2.0 - u)
    root = np.sqrt(middle**2 + 4.0 * (1.0 - odds) * odds * (1.0 - u))
    m = np.divide(2.0 * odds * (1.0 - u), middle + root, out=np.zeros_like(u), where=odds > 0)
    return odds, m


def distances(
    rows: Classes, u: FloatArray, s: FloatArray, spare: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return d of the classes but the first and the last, and numbers below and above it.

    S / (e^d - 1) + sum s m(d) = spare, which falls. Newton's method in a bracket; where spare is 0,
    d is infinite, and `NO_END` stands for it.
    """
    total = rows.total[1:-1]
    if not total.size:
        return total, total, total
    with np.errstate(divide="ignore", over="ignore"):
        q = spare / total
        low = np.minimum(np.log1p(1.0 / q), NO_END)
        # r / (1 - r^2) = q of r = e^(-d/2) where all u are 0
        high = 2.0 * np.log((1.0 + np.sqrt(1.0 + 4.0 * q**2)) / (2.0 * q))
    high = np.minimum(np.maximum(high, low), NO_END)
    low, high = low * (1.0 - 1e-12), high * (1.0 + 1e-12)
    d = np.where(spare > 0, 0.5 * (low + high), NO_END)
    for _ in range(MOST_STEPS):
        m = smaller_probability(u, rows, d)[1]
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
        d = np.where(spare > 0, following, NO_END)
    return d, np.where(spare > 0, low, NO_END), np.where(spare > 0, high, NO_END)

"""Thresholds between ordered classes: their best values, and dual points that flow through them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.types import FloatArray, IndexArray

MOST_STEPS = 100
NEAR = 1e-13  # relative, of the derivatives in thresholds
ROUNDING = 1e-12  # relative: sums of a dual point below this are 0
NO_END = 700.0  # stands for an infinite distance of two thresholds


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

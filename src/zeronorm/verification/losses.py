"""The losses as the verifier knows them: plain formulas that share no code with those of solvers.

A dual point has v_i = -s_i f'(z_i), so its share of the weight, t_i = v_i / s_i, lies between two
ends, and the conjugate of f at -t is finite there.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..core.types import FloatArray, IndexArray

ROUNDOFF = 2.0**-53


@dataclass(frozen=True)
class ReferenceLoss:
    """f(y, z), convex in z, not negative."""

    labels: ClassVar[bool] = False  # whether y is +-1
    classes: ClassVar[bool] = False  # whether y is 1 in the output of the class of a row, else 0
    ordered: ClassVar[bool] = False  # whether y is the number of a class, in their order
    survival: ClassVar[bool] = False  # whether y has times, events and strata
    centred: ClassVar[bool] = False  # whether it is a function of y - z
    least: ClassVar[float] = -np.inf  # y is not below

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest share t of every row."""
        raise NotImplementedError

    def conjugate(self, t: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the conjugate at -t, and terms of which it has the rounding, relative to them."""
        raise NotImplementedError

    def values(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f, and terms of which it has the rounding."""
        raise NotImplementedError

    def shares(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return minus the derivative of f."""
        raise NotImplementedError

    def steepness(self, z: FloatArray, y: FloatArray, by: float) -> FloatArray:
        """Return what the second derivative is at most, no more than `by` away from z."""
        return np.ones_like(z)

    def offset(self, y: FloatArray, o: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the target and the factor of the weight of which f is the loss at z + o."""
        raise ValueError("offset is of losses of numbers.")

    def intercepts(self, given: Any) -> FloatArray:
        """Return what the intercept of a certificate adds to margins, (1 or outputs,)."""
        return np.atleast_1d(given)

    def blur(self, y: FloatArray, weight: FloatArray) -> float:
        """Return what, beside the sum of |v|, the rounding of a dual point is relative to."""
        return 0.0

    def strata(self, y: FloatArray) -> list[Any]:
        """Return the rows over each of which a dual point has the sum 0."""
        return [slice(None)]

    def parts(self, y: FloatArray) -> list[Any]:
        """Return the rows over each of which all margins may move by one number."""
        return self.strata(y)

    def looseness(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return how far away, in the sum over the rows, a point may be whose conjugate is bounded.

        Where sums of v are those of a feasible point but for rounding.
        """
        return 0.0

    def balanced(
        self, dual: FloatArray, y: FloatArray, weight: FloatArray, free: bool
    ) -> FloatArray:
        """Return a dual point between its ends as a feasible one.

        With a free intercept the sign of the larger sum is shrunk to the sum of the other, in every
        stratum.
        """
        for rows in self.strata(y) if free else ():
            dual = np.array(dual)
            dual[rows] = _balanced(dual[rows])
        return dual

    def limits(self, y: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the dual values."""
        low, high = self.ends(y)
        return weight * low, weight * high

    def conjugates(
        self, v: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return weighted parts of the conjugate at -v, and terms of which it has the rounding."""
        found, terms = self.conjugate(v / weight, y)
        return weight * found, weight * terms

    def losses(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return weighted losses, and terms of which their sum has the rounding."""
        found, terms = self.values(z, y)
        return weight * found, weight * terms

    def slopes(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return minus the derivative of the weighted loss."""
        return np.asarray(weight * self.shares(z, y))


def noise_of(v: FloatArray) -> float:
    """Return how much of a sum of a dual point is rounding."""
    return 4.0 * ROUNDOFF * v.size * float(np.abs(v).sum())


def _balanced(dual: FloatArray) -> FloatArray:
    up, down = float(dual[dual > 0].sum()), -float(dual[dual < 0].sum())
    if up == down:
        return dual
    heavier = dual > 0 if up > down else dual < 0
    return np.asarray(np.where(heavier, dual * (min(up, down) / max(up, down)), dual))


# Losses of a row by itself.


class ReferenceLogistic(ReferenceLoss):
    """log(1 + exp(-y z))."""

    labels = True

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.minimum(y, 0.0), np.maximum(y, 0.0)

    def conjugate(self, t: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return minus the entropy of |t|.

        A relative error of t is one of t log(t / (1 - t)); each logarithm has one of its own.
        """
        share = np.abs(t)
        positive = np.clip(share, 1e-300, None)
        rest = np.clip(1.0 - share, 1e-300, None)
        log_rest = np.where(share < 0.5, np.log1p(-np.minimum(share, 0.5)), np.log(rest))
        found = share * np.log(positive) + rest * log_rest  # none is positive
        return found, -(found + 4.0 * share * (np.log(positive) + log_rest))

    def values(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        found = np.logaddexp(0.0, -y * z)
        return found, found

    def shares(self, z: FloatArray, y: FloatArray) -> FloatArray:
        return np.asarray(y * np.exp(-np.logaddexp(0.0, y * z)))


class _Square(ReferenceLoss):
    """What is 1/2 t^2 for a share t; a square without its weight may underflow."""

    def conjugates(
        self, v: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        own, square = y * v, v * (v / weight)
        return 0.5 * square - own, 2.0 * (square + np.abs(own))


class ReferenceSquaredHinge(_Square):
    """1/2 max(0, 1 - y z)^2."""

    labels = True

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.where(y < 0, -np.inf, 0.0), np.where(y > 0, np.inf, 0.0)

    def losses(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        away = np.maximum(0.0, 1.0 - y * z)
        found = 0.5 * (weight * away) * away
        return found, found

    def shares(self, z: FloatArray, y: FloatArray) -> FloatArray:
        return np.asarray(y * np.maximum(0.0, 1.0 - y * z))


@dataclass(frozen=True)
class Residual(_Square):
    """max over low <= t <= high of t (y - z) - t^2 / 2: least squares where there are no ends."""

    centred: ClassVar[bool] = True
    low: float = -np.inf
    high: float = np.inf

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.full(y.shape, self.low), np.full(y.shape, self.high)

    def losses(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the weighted losses twice; a square alone may underflow."""
        away = y - z
        t = np.clip(away, self.low, self.high)
        found = (weight * t) * (away - 0.5 * t)
        return found, found

    def shares(self, z: FloatArray, y: FloatArray) -> FloatArray:
        return np.asarray(np.clip(y - z, self.low, self.high))

    def offset(self, y: FloatArray, o: FloatArray) -> tuple[FloatArray, FloatArray]:
        return y - o, np.ones_like(y)


class ReferencePoisson(ReferenceLoss):
    """e^z - y z - y + y log y, y >= 0."""

    least = 0.0

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.full(y.shape, -np.inf), y

    def conjugate(self, t: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return r log r - r - y log y + y with r = y - t."""
        r = np.maximum(y - t, 0.0)
        log_r, log_y = _log(r), _log(y)
        # r log(r / y) - r + y, and the rest of what r log r is.
        ratio = np.where(y > 0, -t / np.where(y > 0, y, 1.0), 0.0)
        near = np.where(np.abs(ratio) < 0.5, np.log1p(np.clip(ratio, -0.5, 0.5)), log_r - log_y)
        found = np.where(y > 0, r * near + t - t * log_y, r * log_r + t)
        size = np.abs(t)
        return found, 4.0 * (r * np.abs(near) + size * (1.0 + np.abs(log_r) + np.abs(log_y)))

    def values(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        away = np.where(y > 0, z - _log(y), 0.0)
        near = y * (np.expm1(np.minimum(away, 1.0)) - away)
        mean = np.exp(z)
        found = np.where(y > 0, np.where(away < 1.0, near, mean - y * (1.0 + away)), mean)
        return found, (mean + y) * (2.0 + np.abs(z) + np.abs(np.where(y > 0, _log(y), 0.0)))

    def shares(self, z: FloatArray, y: FloatArray) -> FloatArray:
        return np.asarray(y - np.exp(z))

    def steepness(self, z: FloatArray, y: FloatArray, by: float) -> FloatArray:
        return np.exp(z + by)

    def offset(self, y: FloatArray, o: FloatArray) -> tuple[FloatArray, FloatArray]:
        return y / np.exp(o), np.exp(o)


class ReferenceGamma(ReferenceLoss):
    """z + y e^-z - 1 - log y, y > 0."""

    least = 2.0**-1022  # the smallest number with all its digits

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.full(y.shape, -1.0), np.full(y.shape, np.inf)

    def conjugate(self, t: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return q log q - q + 1 - t log y with q = 1 + t."""
        q = np.maximum(1.0 + t, 0.0)
        log_q, log_y = np.where(q > 0, np.log1p(np.maximum(t, -1.0)), 0.0), np.log(y)
        found = q * log_q - t - t * log_y
        return found, 4.0 * (q * np.abs(log_q) + np.abs(t) * (1.0 + np.abs(log_q) + np.abs(log_y)))

    def values(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        away = np.log(y) - z
        found = np.expm1(away) - away
        return found, (1.0 + np.exp(away)) * (2.0 + np.abs(z) + np.abs(np.log(y)))

    def shares(self, z: FloatArray, y: FloatArray) -> FloatArray:
        return np.asarray(np.expm1(np.log(y) - z))

    def steepness(self, z: FloatArray, y: FloatArray, by: float) -> FloatArray:
        return np.exp(np.log(y) - z + by)

    def offset(self, y: FloatArray, o: FloatArray) -> tuple[FloatArray, FloatArray]:
        return y * np.exp(-o), np.ones_like(y)


def _log(x: FloatArray) -> FloatArray:
    """Return log x, of next to nothing that of 1e-300."""
    return np.log(np.maximum(x, 1e-300))


# The multinomial loss, whose rows couple the outputs.

MOST_ROUNDS = 10_000
BALANCED = 1e-14  # relative: rounding leaves no more


@dataclass(frozen=True)
class ReferenceMultinomial(ReferenceLoss):
    """log(sum_o e^z_o) - z_c, c the class; y is 1 in the output of it, else 0.

    Arrays have all rows of the first output, then those of the next one. -v_o of the outputs of
    other classes is what a row gives to these, v_c the sum of that: p = y - v / s is a distribution
    then, and the conjugate is the sum of p log p.
    """

    outputs: int = 2
    labels: ClassVar[bool] = True
    classes: ClassVar[bool] = True

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return y - 1.0, y

    def conjugate(self, t: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return p log p, and its terms: p = 1 - t of the own class has the rounding of 1."""
        p = np.clip(y - t, 0.0, 1.0)
        size = np.where(y > 0, 1.0 + self.outputs, p)
        log_p = np.log(np.maximum(p, 1e-300))
        return p * log_p, 4.0 * size * (1.0 + np.abs(log_p))

    def values(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the loss of a row at the output of its class."""
        Z, Y = z.reshape(self.outputs, -1), y.reshape(self.outputs, -1)
        away = Z - (Y * Z).sum(axis=0)
        top = away.max(axis=0)
        own = np.log(np.exp(away - top).sum(axis=0)) + top
        found = np.where(Y > 0, own, 0.0)
        terms = np.where(Y > 0, own + 2.0 * np.abs(Z).max(axis=0) + self.outputs, 0.0)
        return found.ravel(), 4.0 * terms.ravel()

    def shares(self, z: FloatArray, y: FloatArray) -> FloatArray:
        Z = z.reshape(self.outputs, -1)
        size = np.exp(Z - Z.max(axis=0))
        return np.asarray(y - (size / size.sum(axis=0)).ravel())

    def balanced(
        self, dual: FloatArray, y: FloatArray, weight: FloatArray, free: bool
    ) -> FloatArray:
        """Return a feasible point: rows give no more than they have, classes what they get."""
        Y, s = y.reshape(self.outputs, -1), weight.reshape(self.outputs, -1)[0]
        given = np.where(Y > 0, 0.0, np.maximum(-dual.reshape(self.outputs, -1), 0.0))
        own = Y.argmax(axis=0)
        if free:
            flow = np.array([given[:, own == c].sum(axis=1) for c in range(self.outputs)])
            given = given * _factors(flow)[own].T
        total = given.sum(axis=0)
        most = (s[total > 0] / total[total > 0]).min(initial=1.0)
        given = given * min(1.0, float(most) * (1.0 - 1e-15))
        found = -given
        found[own, np.arange(own.size)] = given.sum(axis=0)
        return np.asarray(found.ravel())


def _factors(flow: FloatArray) -> FloatArray:
    """Return factors x_a / x_b, at most 1, of what class a gives to b, by which all get as much."""
    # What never comes back cannot be balanced: it is left out.
    reached = (flow > 0) | np.eye(len(flow), dtype=bool)
    for _ in flow:
        reached = (reached @ reached) > 0
    left = np.where(reached & reached.T, flow, 0.0)
    scale = np.ones(len(flow))
    for _ in range(MOST_ROUNDS):
        gives, gets = (left / scale).sum(axis=1) * scale, (left.T * scale).sum(axis=1) / scale
        moving = gives > 0
        if not (np.abs(gives - gets) > 1e-15 * (gives + gets)).any():
            break
        place = int(np.argmax(np.where(moving, np.abs(gives - gets) / (gives + gets), 0.0)))
        scale[place] *= np.sqrt(gets[place] / gives[place])
    else:
        if not (np.abs(gives - gets) <= BALANCED * (gives + gets)).all():
            return np.zeros_like(flow)
    found = np.where(left > 0, scale[:, None] / scale, 0.0)
    return np.asarray(found / max(1.0, float(found.max(initial=0.0))))


# The ordinal logistic loss, and its targets.

ORDINAL_HALVINGS = 40
LEAST_REST = 2.0**-60  # 1 - c of a probability c that is 1 in float64


@dataclass(frozen=True)
class ReferenceOrdinal(ReferenceLoss):
    """-log( sigma(b_k - z) - sigma(b_{k-1} - z) ), k the class, at thresholds b that are given.

    y is the number of the class, from 0. A dual point has v_i = s_i (c_i - a_i), a and c the
    probabilities of a higher and of a lower class. For any such a and c, and e^-d of a class as
    r / (S + r), the conjugate, over all margins and thresholds, is at most

        sum_i s_i (h(a_i) + h(c_i)) + sum over inner classes of r log r + S log S - (S+r) log(S+r),

    with h(x) = x log x + (1-x) log(1-x), S the weight of a class and r what flows past it: minus
    the sum of v over it and all lower classes, less the sum of s a over it, which must not be
    negative. That follows from log(1 + e^x) >= p x - h(p) for every p in [0, 1], and the supremum
    over d of S log(1 - e^-d) - r d.
    """

    thresholds: FloatArray = field(default_factory=lambda: np.zeros(0))
    ordered: ClassVar[bool] = True

    def intercepts(self, given: Any) -> FloatArray:
        """Return 0: the thresholds are not a part of the margins."""
        return np.zeros(1)

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return -1 and 1, but 0 where there is no lower, or no higher class."""
        return np.where(y == self.thresholds.size, 0.0, -1.0), np.where(y == 0, 0.0, 1.0)

    def balanced(
        self, dual: FloatArray, y: FloatArray, weight: FloatArray, free: bool
    ) -> FloatArray:
        """Return a point near another one at which no class gets more than lower ones give."""
        gets = self._sums(np.maximum(dual, 0.0), y)
        gives = self._sums(np.maximum(-dual, 0.0), y)
        held, wanted, less = 0.0, 0.0, np.ones((2, gets.size))
        got = np.zeros(gets.size)
        for k in range(gets.size):
            got[k] = min(gets[k], held)
            less[0, k] = got[k] / gets[k] if gets[k] > 0 else 1.0
            held += gives[k] - got[k]
        for k in range(gets.size)[::-1]:  # what no higher class gets is not given
            gave = min(gives[k], wanted)
            less[1, k] = gave / gives[k] if gives[k] > 0 else 1.0
            wanted = (wanted - gave) + got[k]
        place = y.astype(np.int64)
        return np.asarray(dual * np.where(dual > 0, less[0, place], less[1, place]))

    def looseness(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return the rounding of the sum and of what comes to the inner classes."""
        return self.thresholds.size * noise_of(v)

    def conjugates(
        self, v: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the bound of the conjugate, of classes at their first rows, and its terms."""
        u, last = np.abs(v) / weight, self.thresholds.size
        flow = -np.cumsum(self._sums(v, y))
        noise = noise_of(v)
        spare = (flow - self._sums(np.maximum(-v, 0.0), y))[1:last]
        if (spare < -noise).any() or not abs(float(flow[-1])) <= noise or (u > 1.0 + 1e-9).any():
            return np.full(v.size, np.inf), np.zeros(v.size)
        u, total = np.minimum(u, 1.0), self._sums(weight, y)[1:last]
        smaller = self._smaller(u, y, weight, np.maximum(spare, 0.0), total)
        larger = np.minimum(smaller + u, 1.0)
        parts, terms = np.zeros(v.size), np.zeros(v.size)
        for p in (smaller, larger):
            log_p, log_rest = np.log(np.maximum(p, 1e-300)), np.log(np.maximum(1.0 - p, LEAST_REST))
            log_rest = np.where(p < 0.5, np.log1p(-np.minimum(p, 0.5)), log_rest)
            entropy = p * log_p + (1.0 - p) * log_rest  # none is positive
            parts += weight * entropy
            terms -= 4.0 * weight * (entropy + p * (log_p + log_rest))
        shared = self._sums(weight * smaller, y)[1:last]
        r = np.maximum(spare - shared, 0.0)
        share = np.where(r > 0, r, 1.0)
        found = -np.where(r > 0, share * np.log1p(total / share), 0.0) - total * np.log1p(r / total)
        # A sum is wrong by noise, its logarithm by its own rounding.
        noise += 4.0 * ROUNDOFF * v.size * float(shared.sum())
        steep = np.log1p(total / np.maximum(r, noise + 1e-300))
        first = [int(np.argmax(y == k)) for k in range(1, last)]
        parts[first] += found
        terms[first] += 4.0 * np.abs(found) + noise / ROUNDOFF * (1.0 + steep) / (v.size + 8)
        return parts, terms

    def _smaller(
        self, u: FloatArray, y: FloatArray, weight: FloatArray, spare: FloatArray, total: FloatArray
    ) -> FloatArray:
        """Return the smaller one of a and c of every row, 0 in the first and the last class.

        Those of nearly the best d of their class: S / (e^d - 1) + sum s m(d) = spare, where the
        odds of m and m + u have the product e^-d. The sum lies between 0 and that of all u = 0.
        """
        q = np.maximum(spare / total, 1e-200)
        low = np.log1p(1.0 / q)
        high = 2.0 * (np.log1p(np.sqrt(1.0 + 4.0 * q**2)) - np.log(2.0 * q))
        high, place = np.maximum(low, high), y.astype(np.int64)

        def at(d: FloatArray) -> FloatArray:
            odds = np.concatenate([[0.0], np.where(spare > 0, np.exp(-d), 0.0), [0.0]])[place]
            middle, rest = u + odds * (2.0 - u), odds * (1.0 - u)
            root = np.sqrt(middle**2 + 4.0 * (1.0 - odds) * rest)
            return np.where(odds > 0, 2.0 * rest / np.maximum(middle + root, 1e-300), 0.0)

        for _ in range(ORDINAL_HALVINGS):
            middle = 0.5 * (low + high)
            sums = self._sums(weight * at(middle), y)[1:-1]
            above = total / np.expm1(np.minimum(middle, 700.0)) + sums > spare
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return at(high)

    def losses(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        low, high = self._ends(y)
        value = np.logaddexp(0.0, z - high) + np.logaddexp(0.0, low - z)
        value -= np.log(-np.expm1(-(high - low)))
        size = [np.where(np.isfinite(one), np.abs(one), 0.0) for one in (z, low, high)]
        return weight * value, weight * (4.0 + 4.0 * np.abs(value) + 2.0 * sum(size))

    def slopes(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        low, high = self._ends(y)
        lower, higher = -np.logaddexp(0.0, z - low), -np.logaddexp(0.0, high - z)
        return np.asarray(weight * (np.exp(lower) - np.exp(higher)))

    def _ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the thresholds below and above the class of every row."""
        place = y.astype(np.int64)
        b = np.concatenate([[-np.inf], self.thresholds, [np.inf]])
        return b[place], b[place + 1]

    def _sums(self, values: FloatArray, y: FloatArray) -> FloatArray:
        """Return sums over the rows of every class."""
        found = np.bincount(y.astype(np.int64), values, self.thresholds.size + 1)
        return found.astype(np.float64)


def in_order(y: Any) -> np.ndarray:
    """Return ordered labels as numbers: those of the categories of an ordered categorical."""
    kind: Any = getattr(y, "dtype", None)
    labels = np.asarray(y)
    if getattr(kind, "ordered", None) is True:
        place = {label: number for number, label in enumerate(np.asarray(kind.categories).tolist())}
        listed = labels.tolist()
        if not all(label in place for label in listed):
            raise ValueError("y must have a category in every row; got a missing one.")
        return np.array([place[label] for label in listed], np.int64)
    if labels.dtype.kind not in "iufb":
        raise ValueError(
            "y must be numbers, or an ordered categorical, for the ordinal loss; got labels "
            f"without an order, of dtype {labels.dtype}."
        )
    return labels


# Cox's partial likelihood, and its targets.

HALVINGS = 100


@dataclass(frozen=True)
class ReferenceCox(ReferenceLoss):
    """Minus the logarithm of Cox's partial likelihood, less its least value; ties by Breslow.

    It is written row by row here: every event time t of a stratum has the weight D_t of its events
    and S_t = sum of s_i e^z_i over the rows of the stratum with T_i >= t. With Efron's ties the
    d events at t are one after the other, at sums S_t - k E_t with k = 0, 1/d, ..., (d - 1)/d and
    E_t the part of these events in S_t.
    """

    efron: bool = False
    survival: ClassVar[bool] = True

    def strata(self, y: FloatArray) -> list[Any]:
        return [np.flatnonzero(y[:, 2] == one) for one in np.unique(y[:, 2])]

    def parts(self, y: FloatArray) -> list[Any]:
        """Return the strata; of rows that enter late, the parts of these without a common event."""
        if y.shape[1] == 3:
            return self.strata(y)
        return [rows[own] for rows in self.strata(y) for own in parts_of(y[rows])]

    def looseness(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return what parts of late rows, and events, may be short of: see `_of_entries`."""
        if y.shape[1] == 3:
            return 0.0
        return 8.0 * (noise_of(v) + noise_of(np.where(y[:, 1] > 0, weight, 0.0) - v))

    def blur(self, y: FloatArray, weight: FloatArray) -> float:
        """Return the weight of the events where the parts of rows are taken with their rounding."""
        return float(weight @ (y[:, 1] > 0)) if y.shape[1] == 4 else 0.0

    def limits(self, y: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return -inf and the weight of an event, 0 of rows that leave before the first event."""
        low, high = np.full(len(y), -np.inf), np.where(y[:, 1] > 0, weight, 0.0)
        if y.shape[1] == 4:  # nor of rows that are at risk at no event
            low[np.setdiff1d(np.arange(len(y)), np.concatenate([*self.parts(y), ()]))] = 0.0
            return low, high
        for rows in self.strata(y):
            events = rows[y[rows, 1] > 0]
            first = y[events, 0].min() if events.size else np.inf
            low[rows[y[rows, 0] < first]] = 0.0
        return low, high

    def conjugates(
        self, v: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return p log(p / s) less x log x - D log D - (x - D) log(x - D), and their terms.

        See `zeronorm.losses.Cox`. The conjugate is infinite where a sum over the rows at risk,
        x - D, is negative by more than rounding, or that of v over a stratum is not 0.
        """
        if y.shape[1] == 4:
            return self._of_entries(v, y, weight)
        p = np.where(y[:, 1] > 0, weight, 0.0) - v
        share = np.log(np.maximum(p / weight, 1e-300))
        parts, terms = p * share, 4.0 * (np.abs(p) + np.abs(v)) * (1.0 + np.abs(share))
        for rows in self.strata(y):
            order, ends, deaths = _risk_sets(y[rows], weight[rows])
            if not ends.size:
                continue
            own = rows[order]
            left = -np.cumsum(v[own])[ends - 1]
            noise = 4.0 * ROUNDOFF * own.size * float(np.abs(v[own]).sum())
            if (left < -noise).any() or abs(float(v[own].sum())) > noise:
                return np.full(len(y), np.inf), terms
            left = np.maximum(left, 0.0)
            x = left + deaths
            logs = [np.log(np.maximum(one, 1e-300)) for one in (x, deaths, left)]
            lost = x * logs[0] - deaths * logs[1] - left * logs[2]
            at = own[ends - 1]
            parts = parts - np.bincount(at, lost, len(y))
            # A sum is wrong by noise, its logarithm by its own rounding.
            own_noise = np.log(np.maximum(left, noise) + 1e-300) - logs[0]
            blurred = noise / ROUNDOFF * (1.0 + np.abs(own_noise)) / (len(y) + 8)
            sizes = x * np.abs(logs[0]) + deaths * np.abs(logs[1]) + left * np.abs(logs[2])
            terms = terms + np.bincount(at, sizes + blurred, len(y))
            for place, dead in self.tied(y[own], ends):
                more, size = _of_ties(p[own[dead]], left[place], deaths[place])
                parts[at[place]] += more
                terms[at[place]] += size + blurred[place] * (1.0 + np.log(dead.size))
        return parts, terms

    def _of_entries(
        self, v: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the conjugate of each stratum at its first row, and its terms."""
        p = np.where(y[:, 1] > 0, weight, 0.0) - v
        parts, terms = np.zeros(len(y)), np.zeros(len(y))
        for rows in self.strata(y):
            own, s, noise = p[rows], weight[rows], noise_of(v[rows])
            if (own < -noise).any() or not abs(float(v[rows].sum())) <= noise < np.inf:
                return np.full(len(y), np.inf), terms
            noise += noise_of(own)  # events less v: see `blur`
            found, size = Events.of(y[rows], s, self.efron).conjugate(np.maximum(own, 0.0), noise)
            parts[rows[0]], terms[rows[0]] = found, size
        return parts, terms

    def tied(self, y: FloatArray, ends: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Return the places of the event times of several events, and the rows of these.

        y : of a stratum, from the last time on, of which the first `ends` are at risk.
        """
        if not self.efron:
            return []
        begins = np.append(0, ends)[:-1]  # none in a stratum without events
        found = []
        for place, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
            dead = begin + np.flatnonzero(y[begin:end, 1] > 0)
            if dead.size > 1:
                found.append((place, dead))
        return found

    def losses(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return D log(S / D) at the last row at risk, less s z of the events, and their terms."""
        event = y[:, 1] > 0
        parts = np.where(event, -weight * z, 0.0)
        terms = np.abs(parts)
        if y.shape[1] == 4:
            for rows in self.strata(y):
                events = Events.of(y[rows], weight[rows], self.efron)
                log_sum, _ = events.shares(z[rows])
                parts[rows[0]] += float(events.weight @ log_sum) - events.constant
                size = 2.0 + np.abs(log_sum) + np.abs(np.log(events.weight))
                terms[rows[0]] += float(events.weight @ size)
            return parts, terms
        for rows in self.strata(y):
            order, ends, deaths = _risk_sets(y[rows], weight[rows])
            own = rows[order]
            log_sum = np.logaddexp.accumulate(np.log(weight[own]) + z[own])[ends - 1]
            found = deaths * (log_sum - np.log(deaths))
            parts = parts + np.bincount(own[ends - 1], found, len(y))
            size = deaths * (1.0 + np.abs(log_sum) + np.abs(np.log(deaths)))
            terms = terms + np.bincount(own[ends - 1], size, len(y))
            for place, dead in self.tied(y[own], ends):
                logs = np.log(weight[own[dead]]) + z[own[dead]] - log_sum[place]
                left, level = _left(logs)
                more = deaths[place] * float(np.mean(np.log(left) - np.log1p(-level)))
                parts[own[ends[place] - 1]] += more
                terms[own[ends[place] - 1]] += deaths[place] * dead.size
        return parts, terms

    def slopes(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s d - p, with p = s e^z times the sum of D / S over the times up to a row's."""
        found = np.where(y[:, 1] > 0, weight, 0.0)
        if y.shape[1] == 4:
            for rows in self.strata(y):
                found[rows] -= Events.of(y[rows], weight[rows], self.efron).shares(z[rows])[1]
            return found
        for rows in self.strata(y):
            order, ends, deaths = _risk_sets(y[rows], weight[rows])
            own = rows[order]
            log_size = np.log(weight[own]) + z[own]
            log_rate = np.log(deaths) - np.logaddexp.accumulate(log_size)[ends - 1]
            spared = np.zeros(own.size)  # of the hazard at the time of a tied event
            for place, dead in self.tied(y[own], ends):
                logs = log_size[dead] + log_rate[place] - np.log(deaths[place])
                left, level = _left(logs)
                spared[dead] = deaths[place] * np.exp(logs) * float(np.mean(level / left))
                log_rate[place] += np.log(np.mean(1.0 / left))
            log_hazard = np.append(np.logaddexp.accumulate(log_rate[::-1])[::-1], -np.inf)
            # The event times up to a row's are those whose risk set it is in.
            first = np.searchsorted(ends, np.arange(own.size), side="right")
            found[own] -= np.exp(log_size + log_hazard[first]) - spared
        return found

    def steepness(self, z: FloatArray, y: FloatArray, by: float) -> FloatArray:
        """Return 1: the second derivative is at most the sum of the weights of the events."""
        return (y[:, 1] > 0).astype(np.float64)


def _left(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return 1 - k E / S and k of tied events, from the logarithms of their parts of S."""
    level = np.arange(logs.size) / logs.size
    return 1.0 - level * min(float(np.exp(logs).sum()), 1.0), level


def _of_ties(p: FloatArray, left: float, deaths: float) -> tuple[float, float]:
    """Return what d tied events add to the conjugate of Breslow's ties, and its terms.

    p : of the events. left : x - D. With own = sum p, a concave function of h = log(E / (S - E))
    has to be maximised, own h - left log(1 + e^h) - D mean log(1 + (1 - k) e^h): where it still
    rises, it is at most the tangent there at any h that is known to be beyond the maximum.
    """
    d, own, x = p.size, float(p.sum()), left + deaths
    logs = np.log1p(-np.arange(d) / d)
    rest = max(x - own, 0.0)

    def rise(h: float) -> float:
        shares = 1.0 / (1.0 + np.exp(-(h + logs)))
        return float(own - left / (1.0 + np.exp(-h)) - deaths * np.mean(shares))

    low = np.log(max(own, 1e-300)) - np.log(max(rest, 1e-17 * x)) - 1e-9
    high = low + np.log(d) + 2e-9
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rise(middle) > 0.0 else (low, middle)
    parts = np.array([
        own * low, -left * np.logaddexp(0.0, low),
        -deaths * float(np.mean(np.logaddexp(0.0, low + logs))), abs(rise(low)) * (high - low),
        deaths * float(np.mean(np.log(np.arange(1, d + 1) / d))),
        *(one * np.log(max(one, 1e-300)) * sign for one, sign in ((x, 1), (own, -1), (rest, -1))),
    ])  # fmt: skip
    return float(parts.sum()), 8.0 * float(np.abs(parts).sum()) + d * x


def _risk_sets(y: FloatArray, weight: FloatArray) -> tuple[np.ndarray, np.ndarray, FloatArray]:
    """Return the order from the last time on, how many are at risk at event times, and D."""
    order = np.argsort(-y[:, 0], kind="stable")
    time, event = y[order, 0], y[order, 1] > 0
    times = np.unique(time[event])[::-1]
    ends = np.searchsorted(-time, -times, side="right")
    deaths = [weight[order][event & (time == t)].sum() for t in times]
    return order, ends, np.array(deaths, np.float64)


def survival_target(y: np.ndarray) -> FloatArray:
    """Return (n, 3): time, event and stratum of a structured array; raise where it is none.

    With a field "start" (n, 4): the start as well, where it is not before all events.
    """
    names, start = y.dtype.names, None
    if names is not None and "start" in [name.lower() for name in names]:
        known = {name.lower(): name for name in names}
        start = y[known.pop("start")]
        roles = (("event", "status"), ("stop", "time"), ("stratum", "strata"))
        names = tuple(known[one] for role in roles for one in role if one in known)
        if len(names) < len(known) or start.dtype.kind not in "fiu":
            raise ValueError("beside start there are stop, event and maybe a stratum, no other")
    if names is None or len(names) not in (2, 3):
        raise ValueError("it must be a structured array of event, time and maybe a stratum")
    if y[names[1]].dtype.kind not in "fiu":
        raise ValueError("times must be numbers")
    event, time = y[names[0]], y[names[1]].astype(np.float64)
    stratum = np.zeros(len(y))
    if len(names) == 3:
        if (y[names[2]] != y[names[2]]).any():
            raise ValueError("strata must not be missing")
        stratum = np.unique(y[names[2]], return_inverse=True)[1].astype(np.float64)
    if event.dtype.kind not in "biu" or not np.isin(event, (0, 1)).all():
        raise ValueError("events must be True or False")
    if not (np.isfinite(time) & (time >= 0)).all():
        raise ValueError("times must be finite, and not negative")
    found = np.column_stack([time, event.astype(np.float64), stratum])
    if start is None:
        return found
    if not (np.isfinite(start) & (start < time)).all():
        raise ValueError("starts must be finite, and before the stops")
    late = bool(event.any()) and start.max() >= time[event.astype(bool)].min()
    return np.column_stack([found, start]) if late else found


# Cox's partial likelihood of rows that come under observation late.
#
# A row is at risk at t with start < t <= stop. Dual points give parts of events to rows, and any
# way to share the events out that gives every row its part is an upper bound of the conjugate.

MOST_STEPS = 200
MOST_LOG = 300.0  # of hazards: more would leave the range of numbers
MIXED = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)


@dataclass(frozen=True)
class Events:
    """The events of a stratum; with Efron's ties those at a time are one after the other."""

    y: FloatArray  # (n, 4) stop, event, stratum and start
    s: FloatArray  # (n,)
    time: FloatArray  # (m,)
    weight: FloatArray  # (m,) a
    at_risk: FloatArray  # (n, m) the part of each row that is at risk
    constant: float  # sum of a log(a (d - l))

    @classmethod
    def of(cls, y: FloatArray, s: FloatArray, efron: bool) -> Events:
        """Return the events of rows of one stratum."""
        columns, times, weights, constant = [], [], [], 0.0
        event = y[:, 1] > 0
        for t in np.unique(y[event, 0]):
            dead = event & (y[:, 0] == t)
            d = int(dead.sum()) if efron else 1
            for before in range(d):
                columns.append(1.0 * ((y[:, 3] < t) & (y[:, 0] >= t)) - before / d * dead)
                times.append(float(t))
                weights.append(float(s[dead].sum()) / d)
                constant += weights[-1] * float(np.log(weights[-1] * (d - before)))
        at_risk = np.array(columns).reshape(-1, len(y)).T
        return cls(y, s, np.array(times), np.array(weights), at_risk, constant)

    def shares(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the logarithm of the sum over what is at risk at each event, and p."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.at_risk) + (np.log(self.s) + z)[:, None]
        top = logs.max(axis=0, initial=-np.inf)
        log_sum = top + np.log(np.exp(logs - top).sum(axis=0))
        return log_sum, np.asarray(np.exp(logs - log_sum) @ self.weight)

    def conjugate(self, p: FloatArray, noise: float) -> tuple[float, float]:
        """Return an upper bound of the conjugate, and its terms; infinite where there is none.

        The best shares are those of margins z with the parts p. What is found has those of p(z),
        nearly p; it is mixed with any shares of what is missing, times a large number.
        """
        if not self.weight.size:
            return (0.0 if (np.abs(p) <= noise).all() else np.inf), 0.0
        z = self._margins(p)
        some, near, value = p > 0, p, 0.0
        if z is not None:
            log_sum, near = self.shares(z)
            value = float(near[some] @ z[some] - self.weight @ log_sum)
        logs = np.abs(np.log(self.weight)).max() + np.abs(np.log(self.s)).max() + np.log(len(p))
        size = self.weight.sum() * (1.0 + logs + (0.0 if z is None else np.ptp(z[some])))
        for mixed in MIXED if z is not None else (1.0,):
            missing = (p - (1.0 - mixed) * near) / mixed
            rest = self._shared_out(missing, noise / mixed)
            if rest is not None:
                found = (1.0 - mixed) * value + mixed * rest + self.constant
                return found, 8.0 * size + abs(found)
        return np.inf, size

    def _margins(self, p: FloatArray) -> FloatArray | None:
        """Return margins with nearly the parts p, by Newton's method in the logarithms of hazards.

        Rows without a part have -inf.
        """
        some = p > 0
        A, own, a = self.at_risk[some], p[some], self.weight
        if not some.any() or not (A > 0).any(axis=0).all() or not (A > 0).any(axis=1).all():
            return None
        logs = np.clip(np.log(a) - np.log(own @ (A > 0)), -MOST_LOG, MOST_LOG)
        best, least = logs, np.inf
        for _ in range(MOST_STEPS):
            sums = A @ np.exp(logs)
            part = A * np.exp(logs) / sums[:, None]
            slope = a - own @ part
            size = float(np.abs(slope).max())
            if size < least:
                best, least = logs, size
            elif size < 1e-9 * a.sum():
                break
            bend = np.diag(own @ part) - (part.T * own) @ part + np.outer(a, a / a.sum())
            step = np.linalg.lstsq(bend, slope, rcond=1e-14)[0]
            logs = logs + step * min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-300))
            logs = np.clip(logs - logs.mean(), -MOST_LOG, MOST_LOG)
        z = np.full(p.size, -np.inf)
        z[some] = np.log(own / self.s[some]) - np.log(A @ np.exp(best))
        return z

    def _shared_out(self, p: FloatArray, noise: float) -> float | None:
        """Return sum m log(m / (a A s)) of a way to share the events out with parts p, or None.

        Each event, of weight a, goes to the rows at risk that leave first.
        """
        if p.min() < -noise:
            return None
        left, total, lost = np.maximum(p, 0.0), 0.0, 0.0
        waiting: list[tuple[float, int]] = []
        order = np.argsort(self.y[:, 3], kind="stable").tolist()
        entered = 0
        for number, (t, a) in enumerate(zip(self.time.tolist(), self.weight.tolist(), strict=True)):
            while entered < len(order) and self.y[order[entered], 3] < t:
                heapq.heappush(waiting, (float(self.y[order[entered], 0]), order[entered]))
                entered += 1
            whole = a
            while a > 0 and waiting:
                stop, row = waiting[0]
                part = min(a, float(left[row])) if stop >= t else 0.0
                if part > 0:
                    own = self.at_risk[row, number] * self.s[row]
                    total += part * float(np.log(part / (whole * own)))
                    a, left[row] = a - part, left[row] - part
                if left[row] <= 0 or stop < t:
                    heapq.heappop(waiting)
            lost += a
        return total if max(lost, float(left.sum())) <= noise else None


def parts_of(y: FloatArray) -> list[IndexArray]:
    """Return the rows of a stratum that are at risk at the same events, or at some with others.

    y : (n, 4). A dual point has the sum 0 over each of these parts; rows that are at no event are
    in none.
    """
    times = np.unique(y[y[:, 1] > 0, 0])
    first = np.searchsorted(times, y[:, 3], side="right")
    last = np.searchsorted(times, y[:, 0], side="right")  # events first, ..., last - 1
    found: list[IndexArray] = []
    own, end = list[int](), 0
    for row in np.argsort(first, kind="stable").tolist():
        if first[row] == last[row]:
            continue
        if own and first[row] >= end:
            found.append(np.array(own))
            own = []
        own.append(row)
        end = max(end, int(last[row]))
    return [*found, np.array(own)] if own else found


# The losses by their names.

# The numbers that a loss is stated with, by its name; all are positive, and levels are below 1.
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "logistic": (),
    "squared_hinge": (),
    "least_squares": (),
    "huber": ("width",),
    "quantile": ("quantile", "width"),
    "poisson": (),
    "gamma": (),
    "cox": (),
    "cox_efron": (),
    "multinomial": (),
    "ordinal": (),
}
_PLAIN: Mapping[str, Callable[[], ReferenceLoss]] = {
    "logistic": ReferenceLogistic,
    "squared_hinge": ReferenceSquaredHinge,
    "least_squares": Residual,
    "poisson": ReferencePoisson,
    "gamma": ReferenceGamma,
    "cox": ReferenceCox,
    "cox_efron": lambda: ReferenceCox(efron=True),
}


def loss_of(
    name: str, parameters: Mapping[str, float], outputs: int = 1, intercept: Any = 0.0
) -> ReferenceLoss:
    """Return the loss of a name that is known, with its parameters.

    intercept : of the certificate; of ordered classes minus the thresholds.
    """
    if name == "ordinal":
        return ReferenceOrdinal(-np.asarray(intercept, np.float64))
    if name == "multinomial":
        return ReferenceMultinomial(outputs)
    if name == "huber":
        return Residual(-parameters["width"], parameters["width"])
    if name == "quantile":
        quantile, width = parameters["quantile"], parameters["width"]
        return Residual(-(1.0 - quantile) * width, quantile * width)
    return _PLAIN[name]()

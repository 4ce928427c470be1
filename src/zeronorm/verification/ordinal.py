"""The ordinal logistic loss as the verifier knows it, and its targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..core.types import FloatArray
from .loss import ROUNDOFF, Loss, noise_of

HALVINGS = 40
LEAST_REST = 2.0**-60  # 1 - c of a probability c that is 1 in float64


@dataclass(frozen=True)
class Ordinal(Loss):
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

        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            sums = self._sums(weight * at(middle), y)[1:-1]
            above = total / np.expm1(np.minimum(middle, 700.0)) + sums > spare
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return at(high)

    def losses(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the weighted losses at the thresholds, and terms of their rounding."""
        low, high = self._ends(y)
        value = np.logaddexp(0.0, z - high) + np.logaddexp(0.0, low - z)
        value -= np.log(-np.expm1(-(high - low)))
        size = [np.where(np.isfinite(one), np.abs(one), 0.0) for one in (z, low, high)]
        return weight * value, weight * (4.0 + 4.0 * np.abs(value) + 2.0 * sum(size))

    def slopes(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s (c - a)."""
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

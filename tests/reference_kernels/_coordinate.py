"""One feature of a coordinate descent, its penalty and its step; the order of the visits."""

from __future__ import annotations

import numpy as np

from zeronorm.core.types import FloatArray, IndexArray


def share(curvature: FloatArray, intercept: bool) -> float:
    """Return 1 / sum_i h_i, 0 where there is no intercept to eliminate."""
    total = float(curvature.sum())
    share = 1.0 / total if intercept and total > 0 else 0.0
    return share if np.isfinite(share) else 0.0


def best_offset(gradient_e: float, along: FloatArray, share: float) -> float:
    """Return the best e where sum_i h_i x_i'd is the sum of `along`."""
    offset = -share * (gradient_e + float(along.sum()))
    return offset if np.isfinite(offset) else 0.0


def bend(total: FloatArray, square: FloatArray, share: float) -> FloatArray:
    """Return the curvature along every feature, the intercept following; not 0 by cancellation."""
    return np.maximum(square - share * total**2, 1e-14 * square)


# One feature: `row` is its l1, l2, low, high; g and h are derivatives at t of the smooth part.


def cost(row: FloatArray, t: float) -> float:
    """Return the penalty of t."""
    return float(row[0] * abs(t) + 0.5 * row[1] * t * t)


def violation(row: FloatArray, g: float, t: float) -> float:
    """Return the least |g + a subgradient of the penalty at t|."""
    l1, l2, low, high = row
    g = g + l2 * t
    if t != 0:
        return float(abs(g + np.sign(t) * l1))
    up = -(g + l1) if high > 0 else 0.0
    down = g - l1 if low < 0 else 0.0
    return float(max(up, down, 0.0))


def settled(row: FloatArray, g: float, margin: float) -> bool:
    """Return whether 0 is optimal even if g changes by the margin."""
    l1, _, low, high = row
    return bool((high <= 0 or g + l1 > margin) and (low >= 0 or l1 - g > margin))


def minimiser(row: FloatArray, g: float, h: float, t: float) -> float:
    """Return the minimiser over x of g (x - t) + h/2 (x - t)^2 + the penalty of x."""
    l1, l2, low, high = row
    centre = h * t - g
    size = abs(centre) - l1
    if not size > 0:
        return 0.0
    return float(min(max(np.copysign(size / (h + l2), centre), low), high))


class Random:
    """The random order of visits: xorshift64 (Marsaglia, J. Stat. Softw. 8(14), 2003)."""

    def __init__(self, seed: int) -> None:
        self._state = self._wrapped(seed * 0x9E3779B97F4A7C15 + 1)

    def below(self, n: int) -> int:
        """Return one of 0, ..., n - 1."""
        x = self._state
        x ^= self._wrapped(x << 13)
        x ^= x >> 7
        x ^= self._wrapped(x << 17)
        self._state = x
        return (x >> 11) % n

    def shuffle(self, order: IndexArray, n: int) -> None:
        """Shuffle the first n elements."""
        for k in range(n - 1, 0, -1):
            other = self.below(k + 1)
            order[[k, other]] = order[[other, k]]

    @staticmethod
    def _wrapped(x: int) -> int:
        return x & (2**64 - 1)

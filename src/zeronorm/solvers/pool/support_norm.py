"""The k-support norm: its value, its proximal map and the sum of squares that is its dual.

    1/2 ||h||_(q)^2 = min { 1/2 sum_g h_g^2 / d_g : 0 <= d_g <= 1, sum_g d_g <= q },  h >= 0

Source: Argyriou, Foygel and Srebro, Sparse prediction with the k-support norm, NIPS 2012.
"""

from __future__ import annotations

import numpy as np

from ...core.ranking import largest
from ...core.types import FloatArray, IndexArray
from ..units import worths

MOST_BASE = 1e10  # the shares of less curvature are these to ten digits


def top_squares(values: FloatArray, q: int, most: float = np.inf) -> float:
    """Return the sum of the q largest squares, or of what is in their place."""
    square = worths(values, most)
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
    base = min(1.0 / curvature, MOST_BASE)
    qth = float(np.partition(size, size.size - q)[size.size - q])
    # At (1 + base) / qth the sum is at least q: what is zero there is zero at the solution.
    some: IndexArray = np.flatnonzero(size >= qth * (base / (1.0 + base)))
    a = size[some]

    def total(x: float) -> float:
        return float(np.clip(x * a - base, 0.0, 1.0).sum())

    points = np.concatenate([base / a, (1.0 + base) / a])
    order = np.argsort(points)
    points, slopes = points[order], np.cumsum(np.concatenate([a, -a])[order])
    totals = np.cumsum(slopes[:-1] * np.diff(points))  # at all points but the first
    low = min(int(np.searchsorted(totals, q, side="right")), points.size - 2)
    high = low + 1
    below, above = total(points[low]), total(points[high])
    x = points[high]
    if above > below:
        x = points[low] + (points[high] - points[low]) * (q - below) / (above - below)
    share = np.zeros(size.size)
    share[some] = np.clip(x * a - base, 0.0, 1.0)
    return share

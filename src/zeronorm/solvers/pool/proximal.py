"""The quadratic model of the relaxation by proximal gradient steps, coefficients bounded or not.

Problem (Q) of `pool.quadratic` is solved by proximal gradient steps with momentum that starts anew
where it leads back: where many coefficients are not 0 and the columns are far from collinear, they
are faster than the search for the sets of the solution.

Among vectors with at most q entries, none larger than M in size, the tightest convex function below
the ridge term is

    min { 1/2 sum_j u_j^2 / d_j : |u_j| / M <= d_j <= 1, sum_j d_j <= q },

which is half the squared k-support norm where |u_j| <= M and sum_j |u_j| <= q M, and infinite
elsewhere: the shares d_j = min(1, |u_j| / t) of that norm are |u_j| / M or more as soon as t <= M.
In the dual the square of a score is replaced by a Huber function, `units.worths`. The
proximal point is that of the k-support norm, cut off at M, where it is within the sum; otherwise it
is the nearest point of that sum and size.

Sources: Liu, Shafiee and Lodi, arXiv:2502.09502, 2025 (the relaxation with bounds, proximal steps);
O'Donoghue and Candes, Foundations of Computational Mathematics 15, 2015 (restarts of momentum).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.types import FloatArray
from ..signs import admitted
from ..units import Units, worths
from .support_norm import proximal_shares, support_norm, top_squares


@dataclass(frozen=True, slots=True)
class ProximalTuning:
    """Constants, each with what it was measured for."""

    max_steps: int = 300  # before the loss is looked at again
    power_steps: int = 10  # for the largest curvature, which steps raise where it is too small
    raised_by: float = 1.5


PROXIMAL = ProximalTuning()


def is_inside(u: FloatArray, n_own: int, q: int, units: Units) -> bool:
    """Return whether the penalty of coefficients near these is the one without bounds."""
    if units.most == np.inf:
        return True
    largest, total = np.abs(u).max(initial=0.0), np.abs(u[n_own:]).sum()
    return bool(largest < units.most and total < q * units.most)


def within(u: FloatArray, n_own: int, q: int, units: Units) -> FloatArray:
    """Return coefficients scaled and cut off so that the penalty is finite.

    n_own : how many of them, the first, are fixed in.
    """
    u = np.clip(admitted(u, units.signs), -units.most, units.most)
    free = u[n_own:]
    total, allowed = float(np.abs(free).sum()), q * units.most
    if total > allowed:
        free *= allowed / total
    return u


def proximal_point(v: FloatArray, q: int, curvature: float, most: float) -> FloatArray:
    """Return argmin_u curvature/2 ||u - v||^2 + the penalty of q free features."""
    size = np.abs(v)
    if np.clip(size / most - 1.0 / curvature, 0.0, 1.0).sum() > q:
        return np.sign(v) * np.clip(size - _threshold(size, q * most, most), 0.0, most)
    share = curvature * proximal_shares(size, q, curvature)
    return np.clip(v * (share / (share + 1.0)), -most, most)


def _threshold(size: FloatArray, total: float, most: float) -> float:
    """Return the t at which clip(size - t, 0, most) sum to a total, which they exceed at 0."""
    descending = np.sort(size)[::-1]
    sums = np.concatenate([[0.0], np.cumsum(descending)])

    def total_at(t: FloatArray) -> FloatArray:
        above = np.searchsorted(-descending, -t, side="left")
        cut = np.searchsorted(-descending, -(t + most), side="right")
        return np.asarray(sums[above] - sums[cut] - t * (above - cut) + most * cut)

    points = np.sort(np.concatenate([[0.0], size, size - most]))
    points = points[points >= 0.0]
    totals = total_at(points)  # they fall, and are linear in between
    last = max(int(np.count_nonzero(totals >= total)) - 1, 0)  # rounding may leave none
    if last + 1 == points.size or totals[last] == totals[last + 1]:
        return float(points[last])
    way = (totals[last] - total) / (totals[last] - totals[last + 1])
    return float(points[last] + way * (points[last + 1] - points[last]))


class ProximalQuadratic:
    """(Q) by proximal steps, the columns of the fixed units first."""

    def __init__(
        self, matrix: FloatArray, right: FloatArray, units: Units, n_fixed: int, n_free: int
    ) -> None:
        """Pose it with H, r, the units of the columns in their order, |A| and q."""
        self._matrix, self._right, self._units = matrix, right, units
        self._n_fixed, self._q = n_fixed, n_free
        self._n_own = int(units.sizes(np.arange(n_fixed)).sum())
        self._free = units.take(np.arange(n_fixed, units.usable.size))

    def minimise(self, u: FloatArray, tol: float) -> FloatArray:
        """Return a point whose gap is at most `tol`, or the lowest one found.

        u : where to start; its penalty is finite.
        """
        image, bend = self._matrix @ u, self._bend()
        if not np.isfinite(image).all():  # sums over columns overflow
            return u
        best, least = u, self._value(u, image)
        ahead, image_ahead, momentum = u, image, 1.0
        for _ in range(PROXIMAL.max_steps):
            while True:
                following = self._proximal_point(ahead, self._right - image_ahead, bend)
                move = following - ahead
                along = self._matrix @ move
                if not float(move @ along) > bend * float(move @ move) * (1.0 + 1e-9):
                    break
                bend *= PROXIMAL.raised_by
            image_following = image_ahead + along
            value = self._value(following, image_following)
            if value < least:
                best, least = following, value
            scores = self._right - image_following
            gap = self._penalty(following) + self._conjugate(scores) - float(following @ scores)
            if gap <= tol:
                return following
            if float(move @ (following - u)) < 0.0:  # it led back
                ahead, image_ahead, momentum = following, image_following, 1.0
            else:
                further = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
                share = (momentum - 1.0) / further
                ahead = following + share * (following - u)
                image_ahead = image_following + share * (image_following - image)
                momentum = further
            u, image = following, image_following
        return best

    def _bend(self) -> float:
        """Return the largest curvature, nearly, or less."""
        v = np.ones(self._right.size)
        largest = 1e-300
        for _ in range(PROXIMAL.power_steps):
            image = self._matrix @ v
            size = float(np.linalg.norm(image))
            if not size > 0.0:
                break
            largest, v = size / float(np.linalg.norm(v)), image / size
        return largest

    def _proximal_point(self, u: FloatArray, scores: FloatArray, bend: float) -> FloatArray:
        v, most, n = admitted(u + scores / bend, self._units.signs), self._units.most, self._n_own
        own = np.clip(v[:n] * (bend / (bend + 1.0)), -most, most)
        length = self._free.strength(v[n:])
        moved = proximal_point(length, self._q, bend, most)
        share = np.divide(moved, length, out=np.zeros_like(length), where=length > 0.0)
        return np.concatenate([own, v[n:] * self._free.spread(share)])

    def _value(self, u: FloatArray, image: FloatArray) -> float:
        return 0.5 * float(u @ image) - float(self._right @ u) + self._penalty(u)

    def _penalty(self, u: FloatArray) -> float:
        own, free = u[: self._n_own], self._free.strength(u[self._n_own :])
        return 0.5 * float(own @ own) + support_norm(free, self._q)[0]

    def _conjugate(self, scores: FloatArray) -> float:
        own = admitted(scores[: self._n_own], self._units.signs[: self._n_own])
        free, most = self._free.strength(scores[self._n_own :]), self._units.most
        return 0.5 * (float(worths(own, most).sum()) + top_squares(free, self._q, most))

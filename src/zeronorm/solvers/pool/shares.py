"""The relaxation of a quadratic l0 problem in its shares, whatever the number of outputs.

    min { phi(d) : 0 <= d_j <= 1, d_j = 1 of fixed units, the others sum to q },
    phi(d) = min_U  1/2 sum_j ||u_j||^2 / d_j + 1/2 tr U'PU - tr R'U                          (S)

with a row u_j of U for every unit. It is (Q) of `pool.quadratic` with the coefficients eliminated:
phi is convex and smooth in d, and has as many variables as there are units, not times outputs. With
c = R - PU at the minimum, u_j = d_j c_j, the derivative is -1/2 ||c_j||^2, and the second one

    phi_ij = B_ij c_i'c_j,    B = (I + PD)^-1 P.

Newton steps go over the shares that are not at an end, or leave it, to the least value of their
model within the constraints, nearly; where one does not descend, the best shares of U come next,
d_j = min(1, ||u_j|| / t), which always do. Of any d the dual value is -1/2 tr U'PU - 1/2 S, with S
the sum of ||c_j||^2 over the fixed units and the q of the others where it is largest.

Source: Bertsimas and Van Parys, Annals of Statistics 48(1), 2020 (the problem in the shares).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...core.types import FloatArray
from .support_norm import support_norm, top_squares


@dataclass(frozen=True, slots=True)
class SharesTuning:
    """Constants, each with what it was measured for."""

    max_steps: int = 100
    most_plain: int = 10  # of them that are none of Newton's: more of them are slow
    halvings: int = 12
    rounding: float = 1e-13  # of values, relative
    descent: float = 1e-4  # of a step, as a share of what its slope promises
    smallest: float = 1e-9  # shares below are 0
    flat: float = 1e-12  # curvature added, relative


SHARES = SharesTuning()


@dataclass(frozen=True, slots=True)
class Shares:
    """A point of (S)."""

    share: FloatArray  # (n_units,)
    coef: FloatArray  # (n_units, outputs) U
    scores: FloatArray  # (n_units, outputs) c
    value: float  # phi
    bound: float  # the dual value
    into: FloatArray  # (n_units,) by how much phi rises, nearly, if a share must be 1; 0 at ends
    out: FloatArray  # if it must be 0

    @property
    def gap(self) -> float:
        """The value less the bound."""
        return self.value - self.bound


class ShareProblem:
    """(S), the fixed units first."""

    def __init__(self, P: FloatArray, R: FloatArray, n_fixed: int, n_free: int) -> None:
        """Pose it with P, R, how many units are fixed, and q."""
        self._P, self._R, self._n_fixed, self._q = P, R, n_fixed, n_free

    def minimise(
        self, coef: FloatArray, tol: float, cutoff: float, rest: float, deadline: float = np.inf
    ) -> Shares:
        """Return a point of a small gap, or of a bound above the cutoff, or the last that descends.

        coef : (n_units, outputs) U to start with the shares of.
        tol : of the gap, relative to what the value and `rest` are together.
        """
        point, left = self._at(self._start(coef)), SHARES.most_plain
        for _ in range(SHARES.max_steps):
            late = time.perf_counter() >= deadline
            done = point.bound > cutoff or point.gap <= tol * abs(rest + point.value)
            if done or late or not left:
                break
            following = self._newton_step(point)
            if following is None:
                following, left = self._plain_step(point), left - 1
            if following is None:  # rounding: no decrease is left
                break
            point = following
        into, out = self._rises(point)
        return Shares(point.share, point.coef, point.scores, point.value, point.bound, into, out)

    def _start(self, coef: FloatArray) -> FloatArray:
        share = np.ones(len(self._R))
        free = self._shares_of(coef)
        missing = self._q - float(free.sum())
        if missing > 0:  # fewer than q are not 0
            free += missing * (1.0 - free) / max(float((1.0 - free).sum()), SHARES.smallest)
        share[self._n_fixed :] = np.minimum(free, 1.0)
        return share

    def _shares_of(self, coef: FloatArray) -> FloatArray:
        """Return the best shares of free units for U."""
        length = np.sqrt((coef[self._n_fixed :] ** 2).sum(axis=1))
        threshold = support_norm(length, self._q)[1]
        if threshold > 0:
            return np.asarray(np.minimum(1.0, length / threshold))
        return np.asarray(length > 0, np.float64)

    def _at(self, share: FloatArray) -> Shares:
        used = np.flatnonzero(share)
        root = np.sqrt(share[used])
        matrix = root[:, None] * self._P[np.ix_(used, used)] * root
        np.einsum("ii->i", matrix)[:] += 1.0
        part = root[:, None] * cho_solve(
            cho_factor(matrix, check_finite=False), root[:, None] * self._R[used],
            check_finite=False,
        )  # fmt: skip
        image = self._P[:, used] @ part
        coef, scores = np.zeros_like(self._R), self._R - image
        coef[used] = part
        value = -0.5 * float((self._R[used] * part).sum())
        size = np.sqrt((scores**2).sum(axis=1))
        largest = float((size[: self._n_fixed] ** 2).sum()) + top_squares(
            size[self._n_fixed :], self._q
        )
        bound = -0.5 * float((part * image[used]).sum()) - 0.5 * largest
        nothing = np.zeros(len(share))
        return Shares(share, coef, scores, value, bound, nothing, nothing)

    def _curvature(self, point: Shares, moving: np.ndarray) -> FloatArray:
        """Return the second derivative of phi in some shares."""
        used = np.flatnonzero(point.share)
        root = np.sqrt(point.share[used])
        matrix = root[:, None] * self._P[np.ix_(used, used)] * root
        np.einsum("ii->i", matrix)[:] += 1.0
        beside = root[:, None] * self._P[np.ix_(used, moving)]
        inner = cho_solve(cho_factor(matrix, check_finite=False), beside, check_finite=False)
        bend = self._P[np.ix_(moving, moving)] - beside.T @ inner
        scores = point.scores[moving]
        found = bend * (scores @ scores.T)
        np.einsum("ii->i", found)[:] += SHARES.flat * float(np.trace(found)) + 1e-300
        return np.asarray(found)

    def _newton_step(self, point: Shares) -> Shares | None:
        found = self._newton(point)
        if found is None:
            return None
        (move, promised), step = found, 1.0
        for _ in range(SHARES.halvings):
            share = np.clip(point.share + step * move, 0.0, 1.0)
            share[share < SHARES.smallest] = 0.0
            share[share > 1.0 - SHARES.smallest] = 1.0
            following = self._at(share)
            if following.value <= point.value + SHARES.descent * step * promised:
                return following
            level = following.value <= point.value + SHARES.rounding * abs(point.value)
            if level and following.gap <= 0.5 * point.gap:
                return following  # near the solution the value has no more digits
            step *= 0.5
        return None

    def _plain_step(self, point: Shares) -> Shares | None:
        share = point.share.copy()
        share[self._n_fixed :] = self._shares_of(point.coef)
        found = self._at(share)
        return found if found.value < point.value else None

    def _newton(self, point: Shares) -> tuple[FloatArray, float] | None:
        """Return the Newton direction of the shares that are not at an end, or leave it.

        And how steep phi falls along it.
        """
        n, share = self._n_fixed, point.share
        if not 0 < self._q < share.size - n:
            return None
        free = np.arange(share.size) >= n
        square = (point.scores**2).sum(axis=1)
        inner = free & (share > 0) & (share < 1)
        if inner.any():
            level = float(square[inner].mean())
        else:
            level = float(np.sort(square[n:])[::-1][self._q - 1 : self._q + 1].mean())
        moving = inner | (free & (share == 0) & (square > level))
        moving |= free & (share == 1) & (square < level)
        some = np.flatnonzero(moving)
        if some.size < 2:
            return None
        # Moves sum to 0: with the level in the slopes, their rounding would hide what is left.
        slope = 0.5 * (level - square[some])
        move = np.zeros(share.size)
        try:
            move[some] = least_between(
                self._curvature(point, some), slope, -share[some], 1.0 - share[some]
            )
        except np.linalg.LinAlgError:  # rounding
            return None
        promised = float(slope @ move[some])
        return (move, promised) if promised < 0 else None

    def _rises(self, point: Shares) -> tuple[FloatArray, FloatArray]:
        """Return by how much phi rises, to second order, if a share has to be 1, or 0."""
        share = point.share
        into, out = np.zeros(share.size), np.zeros(share.size)
        some = np.flatnonzero((share > 0) & (share < 1))
        some = some[some >= self._n_fixed]
        if some.size > 1:
            inverse = np.linalg.inv(self._curvature(point, some))
            total = inverse.sum(axis=1)
            own = np.diag(inverse) - total**2 / float(total.sum())
            own = np.maximum(own, 1e-300)
            into[some] = 0.5 * (1.0 - share[some]) ** 2 / own
            out[some] = 0.5 * share[some] ** 2 / own
        return into, out


def least_between(
    H: FloatArray, slope: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Return a point of a small value 1/2 x'Hx + slope'x where sum x = 0, low <= x <= high.

    From x = 0 it goes to the minimum over the entries that are not at an end, or as far as the
    first of these that comes there, which stays: the value falls every time.
    """
    x, free = np.zeros(slope.size), np.ones(slope.size, bool)
    while free.sum() > 1:
        own = np.flatnonzero(free)
        factor = cho_factor(H[np.ix_(own, own)], check_finite=False)
        right = np.column_stack([-(slope + H @ x)[own], np.ones(own.size)])
        one, other = cho_solve(factor, right, check_finite=False).T
        step = one - other * (float(one.sum()) / float(other.sum()))
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(step < 0, low[own] - x[own], high[own] - x[own]) / step
        reach[step == 0] = np.inf
        length = min(1.0, float(reach.min()))
        x[own] += length * step
        if length == 1.0:
            break
        ended = own[reach <= length + SHARES.smallest]
        x[ended] = np.where(step[reach <= length + SHARES.smallest] < 0, low[ended], high[ended])
        free[ended] = False
    return x

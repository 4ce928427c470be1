"""How far the margins of better models can be: bounds of one margin at a time.

Every model of at most k features with the objective UB or less has, for any (u0, b0), row i, sign
and theta > 0, the margins z = X u0 + b0 moved towards what is best for margin i,

    sign z_i <= (UB - B) / theta,    B <= min over (u, b) of  objective(u, b) - theta sign z_i,

with B from the dual point of the moved margins: minus the derivatives of the loss there, and theta
the sum of these derivatives, times the sign, where the intercept is free. The move is a Newton step
from (u0, b0) with a stronger ridge, a second one of the same matrix, and of the length that would
be best if the loss were quadratic. To UB - B comes what rounding can do to it, here and in a
verifier; where that counts beside the gap, as where columns are of other units, no end is known.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ...core.parallel import map_threads
from ...core.types import FloatArray, IndexArray
from .tails import Tailed


@dataclass(frozen=True, slots=True)
class ReachTuning:
    """Constants, each with what it was measured for."""

    strength: float = 2.0  # of the ridge of moves, relative to that of the problem
    rows: int = 64  # margins at a time
    tries: int = 2  # of the length of moves, at some rows
    small: float = 1e-12
    rounding: float = 2.0**-52  # of a verifier and of this, each half of it
    exact: float = 1e-4  # the share of the gap that rounding may be


REACH = ReachTuning()
LIKELY = (0.01, 100.0)  # what moves cost, relative to what is expected


@dataclass(frozen=True, slots=True)
class Margins:
    """The l0 problem of a loss with tails, with a part of its curvature in the ridge."""

    X: FloatArray  # (n, p) as the problem has them; the first features are in every model
    tailed: Tailed
    part: FloatArray  # (p,) D
    n_forced: int
    budget: int  # k
    intercept: bool
    largest: float  # of the entries, as the problem has them before X was centred

    def bound(
        self, u: FloatArray, z: FloatArray, pushed: FloatArray, sign: float, theta: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return B for points u (p, several) of margins z (n, several), theta and rounding of each.

        pushed : (several, p) the rows whose margins count. theta : where there is no free intercept
        to say what it is.
        """
        value, slope, _ = self.tailed.at(z)
        if self.intercept:
            theta = sign * slope.sum(axis=0)
        part = self.part[:, None]
        score = sign * theta * pushed.T - self.X.T @ slope + part * u
        square = score**2 / (1.0 + part)
        free, q = square[self.n_forced :], self.budget - self.n_forced
        most = square[: self.n_forced].sum(axis=0)
        if q:
            most = most + np.partition(free, len(free) - q, axis=0)[len(free) - q :].sum(axis=0)
        loss, beside = slope * z, 0.5 * (part * u**2).sum(axis=0)
        n, p = self.X.shape
        parts = np.abs(value) + np.abs(loss).sum(axis=0) + beside + most
        wrong = (
            (4 * n + 8)
            * REACH.rounding
            * self.largest
            * (np.abs(slope).sum(axis=0) + np.abs(theta))
        )
        wrong = self.budget * wrong * (2.0 * np.abs(score).max(axis=0) + wrong)
        wrong += (8 * n + 8 * p + 64) * REACH.rounding * parts
        return value - loss.sum(axis=0) + beside - 0.5 * most, theta, wrong


def reach(
    problem: Margins, u: FloatArray, b: float, upper: float, deadline: float
) -> tuple[FloatArray, FloatArray] | None:
    """Return the least and the largest margins of models with an objective of `upper` at most.

    None where one of them is not known, or not at the deadline.
    """
    X, tailed = problem.X, problem.tailed
    n, p = X.shape
    z = X @ u + b
    _, slope, bend = tailed.at(z)
    Z = np.hstack([np.ones((n, int(problem.intercept))), X])
    ridge = np.zeros(Z.shape[1])
    ridge[-p:] = REACH.strength * (1.0 + problem.part)
    try:
        inverse = np.linalg.inv(Z.T @ (bend[:, None] * Z) + np.diag(ridge))
    except np.linalg.LinAlgError:  # all margins are far out
        return None
    known, *_ = problem.bound(u[:, None], z[:, None], np.zeros((1, p)), 1.0, np.zeros(1))
    gap = max(upper - float(known[0]), REACH.small * abs(upper))

    def ends(rows: IndexArray, ratio: float = 1.0) -> tuple[FloatArray, float]:
        """Return how far some margins go down and up, and how much more moves cost than expected.

        ratio : what is known of that.
        """
        away = inverse @ Z[rows].T
        lever = np.einsum("ij,ji->i", Z[rows], away)
        # A row that moves far has the curvature of its tail in place of its own.
        scale = 1.0 / (1.0 + (tailed.bend - bend)[rows] * lever)
        away, lever = scale * away, scale * lever
        found, dear = np.full((2, 2, rows.size), np.inf)
        for side, sign in enumerate((-1.0, 1.0)):
            if time.perf_counter() >= deadline:
                break
            theta = np.sqrt(2.0 * gap / (ratio * lever))
            move = sign * theta * away
            moved = tailed.at(z[:, None] + Z @ move)[1] - slope[:, None]
            move += inverse @ (sign * theta * Z[rows].T - Z.T @ moved - ridge[:, None] * move)
            least, theta, wrong = problem.bound(
                u[:, None] + move[-p:], z[:, None] + Z @ move, X[rows], sign, theta
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                is_known = (theta > 0) & (wrong <= REACH.exact * gap)
                found[side] = np.where(is_known, (upper - least + wrong) / theta, np.inf)
                dear[side] = 2.0 * (upper - gap - least) / (theta**2 * lever)
        known = dear[np.isfinite(dear)]
        return found, float(np.clip(np.median(known), *LIKELY)) if known.size else ratio

    every = np.arange(n)
    ratio = 1.0
    for _ in range(REACH.tries):
        ratio = ends(every[:: -(-n // REACH.rows)], ratio)[1]
    blocks = [every[first : first + REACH.rows] for first in range(0, n, REACH.rows)]
    low, high = np.hstack([found for found, _ in map_threads(lambda own: ends(own, ratio), blocks)])
    if time.perf_counter() >= deadline or not np.isfinite(low + high).all():
        return None
    return -low, high

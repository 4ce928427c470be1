"""The logistic loss with quadratic tails: what it is at least, with curvature at every margin.

For margins between -h and h it is the loss f of the row; beyond them it goes on with the second
derivative a. It is convex, its second derivative is nowhere below a, and it is at most f up to the
margin M where

    f(h) + f'(h) (M - h) + a/2 (M - h)^2 = f(M),    and so below -h:

past h the loss less its tail is convex as long as f'' >= a and concave from there on, so it is
least at an end. So it may stand for the loss of models whose margins are all within such ends
(`pool.reach`), and what it has of curvature can become a part of the ridge (`pool.curved`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from ...core.types import FloatArray


@dataclass(frozen=True, slots=True)
class TailsTuning:
    """Constants, each with what it was measured for."""

    least_core: float = 0.1
    core: float = 0.85  # the share of rows whose margins, at a solution, tails leave alone
    bend: float = 0.98  # of the second derivative where a tail begins, that it has at most
    less: float = (
        1e-6  # by what share tails have less curvature than ends allow: a verifier has rounding
    )


TAILS = TailsTuning()


@dataclass(frozen=True, slots=True)
class Tailed:
    """The sum of w_i times the losses of rows with tails; margins are (n,) or (n, several)."""

    y: FloatArray  # (n,) -1 or 1
    weight: FloatArray  # (n,) w
    core: float  # h, inf: no tails
    bend: FloatArray  # (n,) w_i a_i

    @classmethod
    def without(cls, y: FloatArray, weight: FloatArray) -> Tailed:
        """Return the loss itself."""
        return cls(y, weight, np.inf, np.zeros(y.size))

    @classmethod
    def within(
        cls, y: FloatArray, weight: FloatArray, z: FloatArray, low: FloatArray, high: FloatArray
    ) -> Tailed:
        """Return the loss with the most curvature in its tails for margins from low to high.

        z : (n,) margins of a solution.
        """
        h = max(float(np.quantile(np.abs(z), TAILS.core)), TAILS.least_core)
        share = float(expit(-h))
        bend = np.full(y.size, TAILS.bend * share * (1.0 - share))
        up, down = np.where(y > 0, high, -low), np.where(y > 0, -low, high)  # ends of y z and -y z
        for sign, end in ((1.0, up), (-1.0, down)):
            away = np.maximum(end - h, 0.0)
            start, slope = np.logaddexp(0.0, -sign * h), -sign * float(expit(-sign * h))
            rise = np.logaddexp(0.0, -sign * end) - start - slope * away
            with np.errstate(divide="ignore", invalid="ignore"):
                bend = np.where(away > 0, np.minimum(bend, 2.0 * rise / away**2), bend)
        return cls(y, weight, h, (1.0 - TAILS.less) * weight * np.maximum(bend, 0.0))

    def at(self, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the sums over rows, and the first and second derivatives of every row."""
        shape = (-1,) + (1,) * (z.ndim - 1)
        y, weight, bend = (one.reshape(shape) for one in (self.y, self.weight, self.bend))
        inner = np.clip(z, -self.core, self.core)
        beyond = z - inner
        small = np.exp(-np.abs(inner))
        share = np.where(y * inner > 0, small, 1.0) / (1.0 + small)  # 1 / (1 + exp(y z))
        slope = -weight * y * share
        value = weight * (np.log1p(small) + np.maximum(-y * inner, 0.0))
        value += (slope + 0.5 * bend * beyond) * beyond
        curvature = np.where(beyond == 0, weight * share * (1.0 - share), bend)
        return value.sum(axis=0), slope + bend * beyond, curvature

    def margins(self, v: FloatArray) -> FloatArray:
        """Return the margins at which v is minus the derivative; there have to be tails."""
        own = self.y * v / self.weight
        share = np.clip(own, expit(-self.core), expit(self.core))
        past = self.y * self.weight * (own - share)
        return np.asarray(self.y * (np.log1p(-share) - np.log(share)) - past / self.bend)

"""Dummies that are never columns: of so many as are asked for, those that could enter a model.

A dummy is a direction drawn uniformly among all that are orthogonal to the constant. Features enter
a model by their partial correlation t with the target, and the law of t is known for dummies:

- Given m columns in the model, t is a coordinate of a point drawn uniformly on the sphere of the
  d = n - 1 - m dimensions that are left, so that t^2 has the law Beta(1/2, (d - 1) / 2).
- Where a column enters whose own partial correlation is r, the next t is a function of this one and
  of another coordinate, drawn independently; and so is this one of the next one.

A dummy of |t| below the best feature's has no effect, and nothing is drawn for it. Those that
exceed that for the first time at a step are drawn there: as many as exceed it at all, each with a
past, without those whose past exceeded it. Where the number of dummies has the law of Poisson,
these are independent from step to step, and all is as if every dummy had been drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from ..core.types import FloatArray


def coordinates(rng: np.random.Generator, dimension: int, size: int) -> FloatArray:
    """Return coordinates of points drawn uniformly on the unit sphere of so many dimensions."""
    first = rng.standard_normal(size)
    return np.asarray(first / np.sqrt(first**2 + rng.chisquare(dimension - 1, size)))


def exceeding(rng: np.random.Generator, dimension: int, count: float, least: float) -> FloatArray:
    """Return those coordinates of more than `least` in magnitude, of a Poisson number of points.

    count : its mean.
    """
    shape = 0.5, 0.5 * (dimension - 1)
    tail = float(special.betaincc(*shape, min(least, 1.0) ** 2))
    size = rng.poisson(count * tail)
    square = special.betainccinv(*shape, tail * rng.random(size))
    return np.asarray(np.where(rng.random(size) < 0.5, -1.0, 1.0) * np.sqrt(square))


def after(rng: np.random.Generator, t: FloatArray, entered: float, dimension: int) -> FloatArray:
    """Return partial correlations once a column of this one has entered.

    dimension : before it did.
    """
    across = np.sqrt(1.0 - t**2) * coordinates(rng, dimension - 1, t.size)
    length = np.sqrt(1.0 - entered**2)
    # The part along the column that enters is lost.
    lost = entered * t + length * across
    return np.asarray((length * t - entered * across) / np.sqrt(np.maximum(1.0 - lost**2, 1e-300)))


def before(rng: np.random.Generator, t: FloatArray, entered: float, dimension: int) -> FloatArray:
    """Return partial correlations before a column of this one entered, drawn given those after.

    dimension : before it did.
    """
    lost = coordinates(rng, dimension, t.size)
    return np.asarray(entered * lost + np.sqrt((1.0 - entered**2) * (1.0 - lost**2)) * t)


class Dummies:
    """The dummies of one experiment: those that exceeded the best feature, and did not enter.

    Parameters
    ----------
    rng : draws them.
    count : the mean of their number.
    """

    def __init__(self, rng: np.random.Generator, count: float) -> None:
        self.rng, self._count = rng, count
        self._near = np.empty(0)

    def enter(
        self, best: float, past: Sequence[tuple[float, float]], dimension: int
    ) -> float | None:
        """Return the partial correlation of the dummy that enters before the best feature, if any.

        best : |t| of that feature. past : of every step so far the best |t| and the partial
        correlation of what entered. dimension : what is left.
        """
        rng = self.rng
        first = exceeding(rng, dimension, self._count, best)
        then = first
        for back, (limit, entered) in enumerate(reversed(past), start=1):
            if not first.size:
                break
            then = before(rng, then, entered, dimension + back)
            new = np.abs(then) <= limit
            first, then = first[new], then[new]
        self._near = np.concatenate([self._near, first])
        if not self._near.size:
            return None
        place = int(np.argmax(np.abs(self._near)))
        t = float(self._near[place])
        if abs(t) <= best:
            return None
        self._near = np.delete(self._near, place)
        return t

    def follow(self, entered: float, dimension: int) -> None:
        """Take note that a column of this partial correlation has entered."""
        if self._near.size:
            self._near = after(self.rng, self._near, entered, dimension)

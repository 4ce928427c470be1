"""What all measures are to a solver: cuts for training, a threshold, a score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.types import FloatArray

Weight = FloatArray | None  # (n,) positive; None: 1 for every row


@dataclass(frozen=True, slots=True)
class Cut:
    """A linear bound of a measure: R(z) >= delta - beta'z for every z."""

    delta: float
    beta: FloatArray  # (n,)

    def at(self, z: FloatArray) -> float:
        """Return delta - beta'z."""
        return self.delta - float(self.beta @ z)


class Measure(ABC):
    """A performance measure: its loss R for training, and its score for evaluation.

    Labels are y, (n,) of +-1 with both signs; z are the scores, (n,).
    """

    __slots__ = ()

    weighted: ClassVar[bool] = False  # whether rows may have different weights
    # An intercept is a variable of the problem ("free"), or changes nothing as all cuts have
    # sum(beta) = 0 ("idle"), or would make R vanish as all have the same other sum ("spoils").
    intercept: ClassVar[str] = "free"
    labels: ClassVar[bool] = True  # whether beta = y - y' of a labelling y', so 0, 2 or -2

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that `parse_measure` reads, if there is one."""

    @abstractmethod
    def cut(self, z: FloatArray, y: FloatArray, weight: Weight = None) -> Cut:
        """Return the cut that is tight at z, from the most violated labelling there.

        weight : (n,) positive, of the measures that have weights; None: 1.
        """

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return R(z) and a subgradient with respect to z, (n,)."""
        cut = self.cut(z, y, weight if self.weighted else None)
        value = cut.at(z)
        if value <= 0.0:
            return 0.0, np.zeros_like(z)
        return value, -cut.beta

    def constant_cuts(self, y: FloatArray, weight: Weight = None) -> list[Cut]:
        """Return the cuts of an intercept of plus and minus infinity, where it is free."""
        return []

    def check(self, y: FloatArray) -> None:  # noqa: B027 - most are defined for all labels
        """Raise ValueError where the measure is not defined for these labels."""

    def threshold(self, z: FloatArray, y: FloatArray, weight: Weight = None) -> float:
        """Return the score above which a row is predicted positive, from the training rows."""
        return 0.0

    @abstractmethod
    def score(
        self, y: FloatArray, z: FloatArray, weight: Weight = None, threshold: float = 0.0
    ) -> float:
        """Return the measure of scores, from 0 to 1, higher is better."""

    def chance(self, y: FloatArray, weight: Weight = None) -> float:
        """Return the best that equal scores reach, all rows positive or none."""
        ones = np.ones(y.size)
        return max(self.score(y, ones, weight), self.score(y, -ones, weight))


def threshold_of_top(z: FloatArray, k: float, weight: Weight = None) -> float:
    """Return a number that the k largest scores exceed and, without ties, no others.

    weight : how often a score counts; None: once.
    """
    order = np.argsort(-z, kind="stable")
    falling = z[order]
    filled = np.arange(1.0, z.size + 1.0) if weight is None else np.cumsum(weight[order])
    # The row that makes the k full, and the first one beyond them, up to the rounding of sums.
    last, following = np.searchsorted(filled, [k * (1.0 - 1e-12), k * (1.0 + 1e-12)])
    if following >= z.size:
        return float(np.nextafter(falling[-1], -np.inf))
    return float(falling[following] + 0.5 * (falling[last] - falling[following]))


def refuse_weights(measure: Measure, weight: Weight) -> None:
    """Raise ValueError where rows that a measure counts have different weights."""
    if weight is not None and np.any(weight != weight[0]):
        raise ValueError(f"sample_weight has no meaning for the measure {measure.name!r}.")

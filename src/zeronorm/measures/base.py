"""What all measures are to a solver; AUC, average precision and the number of errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from .._kernels import ap_places
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


def _as_sum(weight: Weight, part: np.ndarray) -> float:
    """Return the weight of the rows in a mask."""
    return float(part.sum()) if weight is None else float(weight[part].sum())


@dataclass(frozen=True, slots=True)
class AUC(Measure):
    """Area under the ROC curve: Delta = 100 (share of swapped pairs).

    R = 100/(n_pos n_neg) sum_{ij} max(0, 1 - (z_i - z_j)) over positives i and negatives j.
    """

    name: ClassVar[str] = "auc"
    weighted: ClassVar[bool] = True
    intercept: ClassVar[str] = "idle"
    labels: ClassVar[bool] = False

    def cut(self, z: FloatArray, y: FloatArray, weight: Weight = None) -> Cut:
        """Return the cut that swaps the pairs with z_i - z_j < 1; counts come from sorting."""
        positive, negative = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
        if weight is None:
            weight = np.ones(z.size)
        shifted, other = z[positive] - 1.0, z[negative]
        s, r = weight[positive], weight[negative]
        of_pairs = 100.0 / (float(s.sum()) * float(r.sum()))
        order = np.argsort(other, kind="stable")
        below = np.concatenate([[0.0], np.cumsum(r[order])])
        above = below[-1] - below[np.searchsorted(other[order], shifted, side="right")]
        order = np.argsort(shifted, kind="stable")
        below = np.concatenate([[0.0], np.cumsum(s[order])])
        under = below[np.searchsorted(shifted[order], other, side="left")]
        beta = np.empty(z.size)
        beta[positive] = of_pairs * s * above
        beta[negative] = -of_pairs * r * under
        return Cut(float(beta[positive].sum()), beta)

    def threshold(self, z: FloatArray, y: FloatArray, weight: Weight = None) -> float:
        """Return the middle of the scores that as many rows exceed as there are positives."""
        return threshold_of_top(z, _as_sum(weight, y > 0), weight)

    def score(
        self, y: FloatArray, z: FloatArray, weight: Weight = None, threshold: float = 0.0
    ) -> float:
        """Return the area under the ROC curve."""
        return float(roc_auc_score(y > 0, z, sample_weight=weight))


@dataclass(frozen=True, slots=True)
class AveragePrecision(Measure):
    """Average precision: the mean, over the positives, of the precision down to their place."""

    name: ClassVar[str] = "ap"
    intercept: ClassVar[str] = "idle"
    labels: ClassVar[bool] = False

    def cut(self, z: FloatArray, y: FloatArray, weight: Weight = None) -> Cut:
        """Return the cut of the most violated ranking."""
        positive, negative = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
        positive = positive[np.argsort(-z[positive], kind="stable")]
        negative = negative[np.argsort(-z[negative], kind="stable")]
        n_pos, n_neg = positive.size, negative.size
        places = np.empty(n_neg, np.int64)
        ap_places(z[positive], z[negative], places)
        # The i-th positive (from 1) stands below the negatives whose place is less than i.
        i = np.arange(1, n_pos + 1)
        above = np.searchsorted(places, i, side="left")
        of_pairs = 200.0 / (n_pos * n_neg)
        beta = np.empty(z.size)
        beta[positive] = of_pairs * above
        beta[negative] = -of_pairs * (n_pos - places)
        return Cut(100.0 * (1.0 - float(np.mean(i / (i + above)))), beta)

    def threshold(self, z: FloatArray, y: FloatArray, weight: Weight = None) -> float:
        """Return the middle of the scores that as many rows exceed as there are positives."""
        return threshold_of_top(z, int((y > 0).sum()))

    def score(
        self, y: FloatArray, z: FloatArray, weight: Weight = None, threshold: float = 0.0
    ) -> float:
        """Return the average precision."""
        return float(average_precision_score(y > 0, z, sample_weight=weight))


@dataclass(frozen=True, slots=True)
class Hamming(Measure):
    """Delta = 2 #errors: R is twice the sum of hinge losses; its score is accuracy."""

    name: ClassVar[str] = "hamming"
    weighted: ClassVar[bool] = True

    def cut(self, z: FloatArray, y: FloatArray, weight: Weight = None) -> Cut:
        """Return the cut of the labelling that errs where y_i z_i < 1."""
        beta = np.where(y * z < 1.0, 2.0 * y, 0.0)
        if weight is not None:
            beta *= weight
        return Cut(float(np.abs(beta).sum()), beta)

    def constant_cuts(self, y: FloatArray, weight: Weight = None) -> list[Cut]:
        """Return the cuts of all negatives, then all positives, labelled falsely."""
        cuts = []
        for sign in (-1.0, 1.0):
            beta = np.where(y == sign, 2.0 * y, 0.0)
            if weight is not None:
                beta *= weight
            cuts.append(Cut(float(np.abs(beta).sum()), beta))
        return cuts

    def score(
        self, y: FloatArray, z: FloatArray, weight: Weight = None, threshold: float = 0.0
    ) -> float:
        """Return the (weighted) share of right labels."""
        return float(np.average((z > threshold) == (y > 0), weights=weight))

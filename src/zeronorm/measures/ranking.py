"""Measures of the whole ranking: AUC and average precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from .._kernels import ap_places
from ..core.types import FloatArray
from .measure import Cut, Measure, Weight, threshold_of_top


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

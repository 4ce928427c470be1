"""Hamming: the errors of the labels, accuracy by the hinge loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.types import FloatArray
from .measure import Cut, Measure, Weight


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

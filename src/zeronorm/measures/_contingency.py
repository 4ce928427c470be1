"""Measures of the numbers of true and false positives: F_beta, and one's own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import fbeta_score

from .. import _validate
from .._kernels import f_labelling
from .._typing import FloatArray
from ._measure import Cut, Measure, Weight, refuse_weights

SLACK = 1.0  # percent of loss by which a threshold may be worse than the best of the training rows


class ContingencyMeasure(Measure):
    """A measure of a, the positives, and b, the negatives that are labelled positive."""

    __slots__ = ()

    @abstractmethod
    def loss(self, a: Any, b: Any, n_pos: int, n_neg: int) -> Any:
        """Return Delta(a, b) in percent, elementwise."""

    @abstractmethod
    def worst(self, positive: FloatArray, negative: FloatArray) -> tuple[int, int]:
        """Return the (a, b) that maximises Delta(a, b) + 2 P(a) + 2 N(b).

        P(a), N(b) : sums of the a and b largest scores, which are given in growing order.
        """

    def cut(self, z: FloatArray, y: FloatArray, weight: Weight = None) -> Cut:
        """Return the cut of the most violated labelling; ties of scores by the order of rows."""
        rows = [np.flatnonzero(y > 0), np.flatnonzero(y < 0)]
        scores = [z[part] for part in rows]
        growing = [np.sort(part) for part in scores]
        counts = self.worst(*growing)
        beta = np.zeros(z.size)
        for part, score, order, count, value in zip(
            rows, scores, growing, counts, (2.0, -2.0), strict=True
        ):
            chosen = _top(score, order, count)
            beta[part[~chosen if value > 0 else chosen]] = value
        n_pos, n_neg = (part.size for part in rows)
        return Cut(float(self.loss(*counts, n_pos, n_neg)), beta)

    def threshold(self, z: FloatArray, y: FloatArray, weight: Weight = None) -> float:
        """Return the threshold nearest to 0 of those that lose little on the training rows.

        R bounds the loss of the labels z > 0, so that 0 is the threshold for new rows too, unless
        another one is better by more than SLACK: where classes overlap, R can be least with all
        scores below 0, and their order says more than their sign. Equal scores are all labelled
        positive, or all negative, whichever loses less.
        """
        order = np.argsort(-z, kind="stable")
        falling, positive = z[order], y[order] > 0
        a = np.concatenate([[0], np.cumsum(positive)])
        b = np.arange(z.size + 1) - a
        n_pos = int(a[-1])
        loss = np.array(self.loss(a, b, n_pos, z.size - n_pos), np.float64)
        if not np.isfinite(loss).all():
            raise ValueError(
                f"The losses of {self.name!r} must be finite; got {loss[~np.isfinite(loss)][0]}."
            )
        loss[1:-1][falling[1:] == falling[:-1]] = np.inf  # a threshold does not part equal scores
        good = loss <= loss.min() + SLACK
        if good[np.count_nonzero(z > 0.0)]:
            return 0.0
        # One threshold for every number of rows above it.
        last = np.nextafter(falling[-1], -np.inf)
        thresholds = np.concatenate(
            [falling[:1], falling[1:] + 0.5 * (falling[:-1] - falling[1:]), [last]]
        )
        return float(thresholds[good][np.abs(thresholds[good]).argmin()])

    def constant_cuts(self, y: FloatArray, weight: Weight = None) -> list[Cut]:
        """Return the cuts of all rows labelled positive, and of all labelled negative."""
        if self.intercept != "free":
            return []
        n_pos = int((y > 0).sum())
        n_neg = y.size - n_pos
        return [
            Cut(float(self.loss(n_pos, n_neg, n_pos, n_neg)), np.where(y < 0, -2.0, 0.0)),
            Cut(float(self.loss(0, 0, n_pos, n_neg)), np.where(y > 0, 2.0, 0.0)),
        ]


def _top(score: FloatArray, growing: FloatArray, count: int) -> np.ndarray:
    """Return the mask of the `count` largest scores, ties by the smaller row number."""
    if count == 0:
        return np.zeros(score.size, bool)
    last = growing[score.size - count]
    chosen: np.ndarray = score > last
    missing = count - int(np.count_nonzero(chosen))
    if missing:
        chosen[np.flatnonzero(score == last)[:missing]] = True
    return chosen


@dataclass(frozen=True, slots=True)
class FBeta(ContingencyMeasure):
    """F_beta = (1 + beta^2) a / (a + b + beta^2 n_pos): the more beta, the more recall counts."""

    beta: float = 1.0

    def __post_init__(self) -> None:
        """Check beta."""
        _validate.check_positive("beta", self.beta)

    @property
    def name(self) -> str:
        """Return "f1", "f2", "f0.5" and so on."""
        return f"f{self.beta:g}"

    def loss(self, a: Any, b: Any, n_pos: int, n_neg: int) -> Any:
        """Return 100 (1 - F_beta)."""
        square = self.beta**2
        return 100.0 * (1.0 - (1.0 + square) * a / (a + b + square * n_pos))

    def worst(self, positive: FloatArray, negative: FloatArray) -> tuple[int, int]:
        """Return the maximiser by one sweep over a + b, in O(n)."""
        return f_labelling(positive, negative, float(self.beta))

    def score(
        self, y: FloatArray, z: FloatArray, weight: Weight = None, threshold: float = 0.0
    ) -> float:
        """Return F_beta of the labels z > threshold; 0 where no row is labelled positive."""
        return float(
            fbeta_score(y > 0, z > threshold, beta=self.beta, sample_weight=weight, zero_division=0)
        )


@dataclass(frozen=True, slots=True)
class Contingency(ContingencyMeasure):
    """A measure of one's own.

    Parameters
    ----------
    function : (a, b, n_pos, n_neg) -> loss in percent, elementwise for arrays a and b; a true and b
        false positives of n_pos positives and n_neg negatives. Not negative, 0 for (n_pos, 0).
    label : its name in reports.

    The most violated labelling is found in a table of all (a, b), O(n_pos n_neg).
    """

    function: Callable[[Any, Any, int, int], Any]
    label: str = "contingency"

    @property
    def name(self) -> str:
        """Return the label."""
        return self.label

    def loss(self, a: Any, b: Any, n_pos: int, n_neg: int) -> Any:
        """Return what the function returns."""
        return self.function(a, b, n_pos, n_neg)

    def check(self, y: FloatArray) -> None:
        """Check the function at the corners of its domain."""
        n_pos, n_neg = int((y > 0).sum()), int((y < 0).sum())
        a, b = np.array([n_pos, n_pos, 0, 0]), np.array([0, n_neg, 0, n_neg])
        found = np.asarray(self.loss(a, b, n_pos, n_neg), np.float64)
        right = found.shape == a.shape and bool(np.isfinite(found).all() and found.min() >= 0.0)
        if not right or found[0] > 1e-9:
            raise ValueError(
                "function must return finite losses that are not negative, elementwise for arrays "
                f"a and b, and 0 for (n_pos, 0); got {found.tolist()} for a = {a.tolist()}, "
                f"b = {b.tolist()}, n_pos = {n_pos}, n_neg = {n_neg}."
            )

    def worst(self, positive: FloatArray, negative: FloatArray) -> tuple[int, int]:
        """Return the maximiser in the table of all (a, b), row by row."""
        n_pos, n_neg = positive.size, negative.size
        above = 2.0 * np.concatenate([[0.0], np.cumsum(positive[::-1])])
        below = 2.0 * np.concatenate([[0.0], np.cumsum(negative[::-1])])
        b = np.arange(n_neg + 1)
        best, answer = -np.inf, (0, 0)
        for a in range(n_pos + 1):
            value = np.asarray(self.loss(np.full(b.size, a), b, n_pos, n_neg)) + below
            place = int(value.argmax())
            if value[place] + above[a] > best:
                best, answer = value[place] + above[a], (a, place)
        return answer

    def score(
        self, y: FloatArray, z: FloatArray, weight: Weight = None, threshold: float = 0.0
    ) -> float:
        """Return 1 - loss / 100 of the labels z > threshold."""
        refuse_weights(self, weight)
        positive, chosen = y > 0, z > threshold
        a, b = int((positive & chosen).sum()), int((~positive & chosen).sum())
        n_pos = int(positive.sum())
        found = self.loss(np.array([a]), np.array([b]), n_pos, y.size - n_pos)
        return 1.0 - float(np.asarray(found)[0]) / 100.0


__all__ = ["Contingency", "ContingencyMeasure", "FBeta"]

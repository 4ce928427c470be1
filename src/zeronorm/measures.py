"""Losses of a labelling or a ranking as a whole: F1, precision at k, PRBEP, AUC, average precision.

A measure is the structured hinge loss of all scores z = Xu + b at once,

    R(z) = max(0, max_{y'} Delta(y, y') - sum_i (y_i - y'_i) z_i),

Delta the loss of the labelling y' in percent (of `Hamming`: twice the number of errors, so that R
is twice the sum of hinge losses); of AUC and average precision y' is a ranking and the sum runs
over pairs. R is convex and not below Delta of what the scores predict. A solver asks for one thing,
the most violated labelling at some scores, as the cut R(z') >= delta - beta'z' that it gives.

A measure of one's own that depends on the numbers of true and false positives is a `Contingency`.

Sources: Joachims, A support vector method for multivariate performance measures, ICML 2005; Yue,
Finley, Radlinski and Joachims, A support vector method for optimizing average precision, SIGIR
2007.
The searches of F_beta and of average precision are O(n log n) here, not O(n^2).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import average_precision_score, fbeta_score, roc_auc_score

from . import _validate
from ._kernels import ap_places, f_labelling
from ._typing import FloatArray
from .structures import largest

__all__ = [
    "AUC",
    "PRBEP",
    "AveragePrecision",
    "Contingency",
    "Cut",
    "FBeta",
    "Hamming",
    "Measure",
    "PrecisionAt",
    "RecallAt",
    "macro_average",
    "parse_measure",
]


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
    # What an intercept does: it is a variable of the problem ("free"), changes nothing as all cuts
    # have sum(beta) = 0 ("idle"), or would make R vanish as all have the same other sum ("spoils").
    intercept: ClassVar[str] = "free"
    labels: ClassVar[bool] = True  # whether beta = y - y' of a labelling y', so 0, 2 or -2

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that `parse_measure` reads, if there is one."""

    @abstractmethod
    def cut(self, z: FloatArray, y: FloatArray, weight: FloatArray | None = None) -> Cut:
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

    def constant_cuts(self, y: FloatArray, weight: FloatArray | None = None) -> list[Cut]:
        """Return the cuts of an intercept of plus and minus infinity, where it is free."""
        return []

    def check(self, y: FloatArray) -> None:  # noqa: B027 - most are defined for all labels
        """Raise ValueError where the measure is not defined for these labels."""

    def threshold(self, z: FloatArray, y: FloatArray, weight: FloatArray | None = None) -> float:
        """Return the score above which a row is predicted positive, from the training rows."""
        return 0.0

    @abstractmethod
    def score(
        self,
        y: FloatArray,
        z: FloatArray,
        weight: FloatArray | None = None,
        threshold: float = 0.0,
    ) -> float:
        """Return the measure of scores, from 0 to 1, higher is better."""


def _as_sum(weight: FloatArray | None, part: np.ndarray) -> float:
    """Return the weight of the rows in a mask."""
    return float(part.sum()) if weight is None else float(weight[part].sum())


@dataclass(frozen=True, slots=True)
class Hamming(Measure):
    """Delta = 2 #errors: R is twice the sum of hinge losses; its score is accuracy."""

    weighted: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Return "hamming"."""
        return "hamming"

    def cut(self, z: FloatArray, y: FloatArray, weight: FloatArray | None = None) -> Cut:
        """Return the cut of the labelling that errs where y_i z_i < 1."""
        beta = np.where(y * z < 1.0, 2.0 * y, 0.0)
        if weight is not None:
            beta *= weight
        return Cut(float(np.abs(beta).sum()), beta)

    def constant_cuts(self, y: FloatArray, weight: FloatArray | None = None) -> list[Cut]:
        """Return the cuts of all negatives, then all positives, labelled falsely."""
        cuts = []
        for sign in (-1.0, 1.0):
            beta = np.where(y == sign, 2.0 * y, 0.0)
            if weight is not None:
                beta *= weight
            cuts.append(Cut(float(np.abs(beta).sum()), beta))
        return cuts

    def score(
        self,
        y: FloatArray,
        z: FloatArray,
        weight: FloatArray | None = None,
        threshold: float = 0.0,
    ) -> float:
        """Return the (weighted) share of right labels."""
        return float(np.average((z > threshold) == (y > 0), weights=weight))


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

    def cut(self, z: FloatArray, y: FloatArray, weight: FloatArray | None = None) -> Cut:
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

    def threshold(self, z: FloatArray, y: FloatArray, weight: FloatArray | None = None) -> float:
        """Return the threshold with the least loss on the training rows.

        R bounds the loss of the labels z > 0, but where classes overlap it can be least with all
        scores below 0; the order of the scores says more than their sign.
        """
        order = np.argsort(-z, kind="stable")
        falling, positive = z[order], y[order] > 0
        if falling[0] == falling[-1]:  # of a model without features
            return float(falling[0])
        a = np.concatenate([[0], np.cumsum(positive)])
        b = np.arange(z.size + 1) - a
        n_pos = int(a[-1])
        loss = np.asarray(self.loss(a, b, n_pos, z.size - n_pos), np.float64)
        loss[1:-1][falling[1:] == falling[:-1]] = np.inf  # a threshold does not part equal scores
        count = int(loss.argmin())
        if count == 0:
            return float(falling[0])
        return _threshold_of_top(z, count)

    def constant_cuts(self, y: FloatArray, weight: FloatArray | None = None) -> list[Cut]:
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
        self,
        y: FloatArray,
        z: FloatArray,
        weight: FloatArray | None = None,
        threshold: float = 0.0,
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
        self,
        y: FloatArray,
        z: FloatArray,
        weight: FloatArray | None = None,
        threshold: float = 0.0,
    ) -> float:
        """Return 1 - loss / 100 of the labels z > threshold."""
        if weight is not None and np.any(weight != weight[0]):
            raise ValueError(f"sample_weight has no meaning for the measure {self.name!r}.")
        positive, chosen = y > 0, z > threshold
        a, b = int((positive & chosen).sum()), int((~positive & chosen).sum())
        n_pos = int(positive.sum())
        found = self.loss(np.array([a]), np.array([b]), n_pos, y.size - n_pos)
        return 1.0 - float(np.asarray(found)[0]) / 100.0


class TopMeasure(ContingencyMeasure):
    """A measure of the k rows with the largest scores: a + b = k.

    Where k is not the number of positives, y itself is none of these labellings, and R may be less
    than the loss of the k rows that the scores predict.
    """

    __slots__ = ()

    @abstractmethod
    def count(self, n_pos: int, n: int) -> int:
        """Return k for n rows."""

    @abstractmethod
    def gain(self, n_pos: int, k: int) -> float:
        """Return kappa of the loss 100 - kappa a."""

    def loss(self, a: Any, b: Any, n_pos: int, n_neg: int) -> Any:
        """Return 100 - kappa a."""
        return 100.0 - self.gain(n_pos, self.count(n_pos, n_pos + n_neg)) * a

    def worst(self, positive: FloatArray, negative: FloatArray) -> tuple[int, int]:
        """Return the maximiser: the value is concave in a, so bisection finds it."""
        k = self.count(positive.size, positive.size + negative.size)
        kappa = self.gain(positive.size, k)
        p, n = positive[::-1], negative[::-1]
        low, high = max(0, k - negative.size), min(k, positive.size)

        def falls(a: int) -> bool:
            """Return whether one more positive in place of a negative lowers the value."""
            return bool(2.0 * (p[a] - n[k - a - 1]) <= kappa)

        a = low + bisect_left(range(low, high), True, key=falls)
        return a, k - a

    def threshold(self, z: FloatArray, y: FloatArray, weight: FloatArray | None = None) -> float:
        """Return the middle between the k-th and the next score."""
        return _threshold_of_top(z, self.count(int((y > 0).sum()), y.size))

    def score(
        self,
        y: FloatArray,
        z: FloatArray,
        weight: FloatArray | None = None,
        threshold: float = 0.0,
    ) -> float:
        """Return the measure of the k largest scores, ties by the smaller row number."""
        n_pos = int((y > 0).sum())
        if weight is not None and np.any(weight != weight[0]):
            raise ValueError(f"sample_weight has no meaning for the measure {self.name!r}.")
        k = self.count(n_pos, y.size)
        a = int((y[largest(z, k)] > 0).sum())
        return self.gain(n_pos, k) * a / 100.0


def _threshold_of_top(z: FloatArray, k: float, weight: FloatArray | None = None) -> float:
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


def _count(name: str, k: int | str, n_pos: int, n: int) -> int:
    """Return k as a number of rows."""
    if isinstance(k, str):
        share = float(k[:-1])
        found = max(1, round(share * n_pos))
    else:
        found = int(k)
    if not 1 <= found <= n:
        got = k if not isinstance(k, str) else f"{k} = {found}"
        raise ValueError(
            f"k of {name} must be between 1 and {n} (the rows); got {got}. Use a smaller k."
        )
    return found


def _check_k(k: Any) -> None:
    """Check k of a measure: a number of rows, or "<share>p"."""
    if isinstance(k, str):
        try:
            right = k.endswith("p") and 0.0 < float(k[:-1]) < np.inf
        except ValueError:
            right = False
    else:
        right = _validate.is_integer(k) and k >= 1
    if not right:
        raise ValueError(
            'k must be an integer of at least 1, or a string like "2p": that many times the '
            f"positives; got {k!r}."
        )


@dataclass(frozen=True, slots=True)
class CountedMeasure(TopMeasure):
    """A measure of a number of rows that the user gives.

    Parameters
    ----------
    k : a number of rows, or a string like "2p": that many times the number of positives.
    """

    k: int | str

    intercept: ClassVar[str] = "spoils"

    def __post_init__(self) -> None:
        """Check k."""
        _check_k(self.k)

    def count(self, n_pos: int, n: int) -> int:
        """Return k."""
        return _count(self.name, self.k, n_pos, n)

    def check(self, y: FloatArray) -> None:
        """Check that there are k rows."""
        self.count(int((y > 0).sum()), y.size)


@dataclass(frozen=True, slots=True)
class PrecisionAt(CountedMeasure):
    """Precision of the k rows with the largest scores.

    Parameters
    ----------
    k : a number of rows, or a string like "2p": that many times the number of positives.
    """

    @property
    def name(self) -> str:
        """Return "precision@k"."""
        return f"precision@{self.k}"

    def gain(self, n_pos: int, k: int) -> float:
        """Return 100 / k."""
        return 100.0 / k


@dataclass(frozen=True, slots=True)
class RecallAt(CountedMeasure):
    """Recall of the k rows with the largest scores.

    Parameters
    ----------
    k : a number of rows, or a string like "2p": that many times the number of positives.
    """

    @property
    def name(self) -> str:
        """Return "recall@k"."""
        return f"recall@{self.k}"

    def gain(self, n_pos: int, k: int) -> float:
        """Return 100 / n_pos."""
        return 100.0 / n_pos

    def check(self, y: FloatArray) -> None:
        """Check k: of all rows the recall is 1 whatever the scores."""
        if self.count(int((y > 0).sum()), y.size) == y.size:
            raise ValueError(
                f"k of {self.name} must be below {y.size} (the rows): the recall of all rows is 1 "
                "for any scores, so nothing can be learnt. Use a smaller k."
            )


@dataclass(frozen=True, slots=True)
class PRBEP(TopMeasure):
    """Precision-recall break-even point: precision of as many rows as there are positives."""

    intercept: ClassVar[str] = "idle"

    @property
    def name(self) -> str:
        """Return "prbep"."""
        return "prbep"

    def count(self, n_pos: int, n: int) -> int:
        """Return the number of positives."""
        return n_pos

    def gain(self, n_pos: int, k: int) -> float:
        """Return 100 / n_pos."""
        return 100.0 / n_pos


@dataclass(frozen=True, slots=True)
class AUC(Measure):
    """Area under the ROC curve: Delta = 100 (share of swapped pairs).

    R = 100/(n_pos n_neg) sum_{ij} max(0, 1 - (z_i - z_j)) over positives i and negatives j.
    """

    weighted: ClassVar[bool] = True
    intercept: ClassVar[str] = "idle"
    labels: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Return "auc"."""
        return "auc"

    def cut(self, z: FloatArray, y: FloatArray, weight: FloatArray | None = None) -> Cut:
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

    def threshold(self, z: FloatArray, y: FloatArray, weight: FloatArray | None = None) -> float:
        """Return the middle of the scores that as many rows exceed as there are positives."""
        return _threshold_of_top(z, _as_sum(weight, y > 0), weight)

    def score(
        self,
        y: FloatArray,
        z: FloatArray,
        weight: FloatArray | None = None,
        threshold: float = 0.0,
    ) -> float:
        """Return the area under the ROC curve."""
        return float(roc_auc_score(y > 0, z, sample_weight=weight))


@dataclass(frozen=True, slots=True)
class AveragePrecision(Measure):
    """Average precision: the mean, over the positives, of the precision down to their place."""

    intercept: ClassVar[str] = "idle"
    labels: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Return "ap"."""
        return "ap"

    def cut(self, z: FloatArray, y: FloatArray, weight: FloatArray | None = None) -> Cut:
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

    def threshold(self, z: FloatArray, y: FloatArray, weight: FloatArray | None = None) -> float:
        """Return the middle of the scores that as many rows exceed as there are positives."""
        return _threshold_of_top(z, int((y > 0).sum()))

    def score(
        self,
        y: FloatArray,
        z: FloatArray,
        weight: FloatArray | None = None,
        threshold: float = 0.0,
    ) -> float:
        """Return the average precision."""
        return float(average_precision_score(y > 0, z, sample_weight=weight))


def macro_average(
    measure: Measure,
    scores: FloatArray,
    labels: np.ndarray,
    classes: np.ndarray,
    weight: FloatArray | None = None,
) -> float:
    """Return the measure of scores, (n_samples, n_models), the mean over the models.

    labels : (n_samples,) of `classes`; each must have a row, and rows of other classes.
    """
    positives = classes[1:] if scores.shape[1] == 1 else classes
    if weight is not None and not np.any(weight != 1.0):
        weight = None
    if weight is not None and not measure.weighted:
        rows = weight > 0
        if np.any(weight[rows] != 1.0):
            raise ValueError(
                f"sample_weight must be 0 or 1 for {measure.name!r}, which counts rows; got "
                f"weights from {weight.min():g} to {weight.max():g}."
            )
        scores, labels, weight = scores[rows], labels[rows], None
    found = []
    for column, label in enumerate(positives):
        y = np.where(labels == label, 1.0, -1.0)
        if abs(float(y.sum())) == y.size:
            raise ValueError(
                f"y must have rows of class {_validate.plain(label)!r} and of others for "
                f"{measure.name!r}; got {int((y > 0).sum())} of {y.size}."
            )
        found.append(measure.score(y, scores[:, column], weight))
    return float(np.mean(found))


NAMES = "hamming, f1 (f2, f0.5, ...), precision@K, recall@K, prbep, auc or ap"


def parse_measure(measure: str | Measure) -> Measure:
    """Return the measure of a name, or the measure itself.

    Names are "hamming", "f1" and other "f<beta>", "precision@K" and "recall@K" with a number K of
    rows or "2p" (twice the positives), "prbep", "auc", "ap".
    """
    if isinstance(measure, Measure):
        return measure
    simple: dict[str, type[Any]] = {
        "hamming": Hamming,
        "prbep": PRBEP,
        "auc": AUC,
        "ap": AveragePrecision,
    }
    if isinstance(measure, str):
        name, _, k = measure.lower().partition("@")
        if name in simple and "@" not in measure:
            found: Measure = simple[name]()
            return found
        if name in ("precision", "recall") and k:
            count: int | str = int(k) if k.isdecimal() else k
            return PrecisionAt(count) if name == "precision" else RecallAt(count)
        if name.startswith("f") and "@" not in measure:
            try:
                return FBeta(float(name[1:]))
            except ValueError:
                pass
    raise ValueError(f"measure must be {NAMES}, or a Measure; got {measure!r}.")

"""Measures of the numbers of true and false positives: F_beta, and one's own."""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.metrics import fbeta_score

from .._kernels import f_labelling
from ..core import validation as validate
from ..core.errors import Message, Parameter, ParameterError
from ..core.messages import span
from ..core.ranking import largest
from ..core.types import FloatArray
from .base import Cut, Measure, Weight, refuse_weights, threshold_of_top

MOST_UNITS = 1 << 24  # The weight of the rows has so many units at most.
SLACK = 1.0  # percent of loss by which a threshold may be worse than the best of the training rows
Gain: TypeAlias = tuple[float, float]  # a weight, and the sum of its scores
Sizes: TypeAlias = tuple[float, float]  # of the positives and of the negatives


class ContingencyMeasure(Measure):
    """A measure of a, the positives, and b, the negatives that are labelled positive.

    With weights a and b are sums of them, and a labelling may split the weight of a row. The
    labellings of R have an a and a b that are whole numbers of units, or all negatives as b. The
    unit is 1 where all weights are whole numbers: a row of weight 3 is three rows. Else it is about
    the mean weight, and R bounds the loss of the labels that scores predict but for a unit.
    """

    __slots__ = ()

    weighted: ClassVar[bool] = True

    @abstractmethod
    def loss(self, a: Any, b: Any, n_pos: float, n_neg: float) -> Any:
        """Return Delta(a, b) in percent, elementwise."""

    @abstractmethod
    def worst(self, positive: FloatArray, negative: FloatArray) -> tuple[int, int]:
        """Return the (a, b) that maximises Delta(a, b) + 2 P(a) + 2 N(b).

        P(a), N(b) : sums of the a and b largest scores, which are given in growing order.
        """

    def worst_weight(self, above: FloatArray, below: FloatArray, last: Gain, sizes: Sizes) -> Sizes:
        """Return the (a, b) of weights that maximises Delta(a, b) + 2 P(a) + 2 N(b).

        above, below : P and N at 0, 1, 2, ... units, as many as a and b may have.
        last : b = n_neg, and N there; not among the units where these do not add up to it.
        sizes : n_pos and n_neg.
        """
        unit = sizes[0] / (above.size - 1)
        b = np.append(unit * np.arange(below.size), last[0])
        gain = 2.0 * np.append(below, last[1])
        best, answer = -np.inf, (0.0, 0.0)
        for k in range(above.size):
            loss = np.asarray(self.loss(np.full(b.size, k * unit), b, *sizes), np.float64)
            value = loss + gain
            place = int(value.argmax())
            if value[place] + 2.0 * above[k] > best:
                best, answer = value[place] + 2.0 * above[k], (k * unit, float(b[place]))
        return answer

    def cut(self, z: FloatArray, y: FloatArray, weight: Weight = None) -> Cut:
        """Return the cut of the most violated labelling; ties of scores by the order of rows."""
        if weight is not None and np.any(weight != 1.0):
            return self._weighted_cut(z, y, weight)
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

    def _weighted_cut(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> Cut:
        rows = [np.flatnonzero(y > 0), np.flatnonzero(y < 0)]
        rows = [part[np.argsort(-z[part], kind="stable")] for part in rows]
        masses = [np.concatenate([[0.0], np.cumsum(weight[part])]) for part in rows]
        gains = [np.concatenate([[0.0], np.cumsum(weight[part] * z[part])]) for part in rows]
        n_pos, n_neg = (float(mass[-1]) for mass in masses)
        unit = _unit(weight, n_pos, n_neg)
        # Up to rounding: units of weights that are whole numbers add up.
        counts = [int(np.floor(mass[-1] / unit * (1.0 + 1e-12))) for mass in masses]
        units = [unit * np.arange(count + 1) for count in counts]
        above, below = (np.interp(*given) for given in zip(units, masses, gains, strict=True))
        last = n_neg, float(gains[1][-1])
        found = self.worst_weight(above, below, last, (n_pos, n_neg))
        beta = np.empty(z.size)
        for part, mass, amount, positive in zip(rows, masses, found, (True, False), strict=True):
            chosen = np.clip(amount - mass[:-1], 0.0, weight[part])
            beta[part] = 2.0 * (weight[part] - chosen) if positive else -2.0 * chosen
        return Cut(float(self.loss(*found, n_pos, n_neg)), beta)

    def threshold(self, z: FloatArray, y: FloatArray, weight: Weight = None) -> float:
        """Return the threshold nearest to 0 of those that lose little on the training rows.

        R bounds the loss of the labels z > 0, so that 0 is the threshold for new rows too, unless
        another one is better by more than SLACK: where classes overlap, R can be least with all
        scores below 0, and their order says more than their sign. Equal scores are all labelled
        positive, or all negative, whichever loses less.
        """
        order = np.argsort(-z, kind="stable")
        falling, positive = z[order], y[order] > 0
        ones = np.ones(z.size, np.int64) if weight is None else weight[order]
        a = np.concatenate([[0], np.cumsum(np.where(positive, ones, 0))])
        b = np.concatenate([[0], np.cumsum(np.where(positive, 0, ones))])
        loss = np.array(self.loss(a, b, a[-1].item(), b[-1].item()), np.float64)
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
        ones = np.ones(y.size, np.int64) if weight is None else weight
        n_pos, n_neg = (ones[y * sign > 0].sum().item() for sign in (1, -1))
        return [
            Cut(float(self.loss(n_pos, n_neg, n_pos, n_neg)), np.where(y < 0, -2.0 * ones, 0.0)),
            Cut(float(self.loss(0, 0, n_pos, n_neg)), np.where(y > 0, 2.0 * ones, 0.0)),
        ]


def _unit(weight: FloatArray, n_pos: float, n_neg: float) -> float:
    """Return the unit in which the weights of labellings are counted; n_pos is a number of them."""
    if np.all(weight == np.round(weight)) and n_pos + n_neg <= MOST_UNITS:
        return 1.0
    unit = n_pos / max(1, round(n_pos / float(weight.mean())))
    if n_neg > MOST_UNITS * unit:
        raise ValueError(
            Message(
                "sample_weight and ",
                Parameter("class_weight"),
                f" must weigh the positives against the negatives more than 1 to {MOST_UNITS}; got "
                f"{n_pos:g} and {n_neg:g}. Use larger weights for the positives.",
            )
        )
    return unit


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
        validate.check_positive("beta", self.beta)

    @property
    def name(self) -> str:
        """Return "f1", "f2", "f0.5" and so on."""
        return f"f{self.beta:g}"

    def loss(self, a: Any, b: Any, n_pos: float, n_neg: float) -> Any:
        """Return 100 (1 - F_beta)."""
        square = self.beta**2
        return 100.0 * (1.0 - (1.0 + square) * a / (a + b + square * n_pos))

    def worst(self, positive: FloatArray, negative: FloatArray) -> tuple[int, int]:
        """Return the maximiser by one sweep over a + b, in O(n)."""
        return f_labelling(positive, negative, float(self.beta))

    def worst_weight(self, above: FloatArray, below: FloatArray, last: Gain, sizes: Sizes) -> Sizes:
        """Return the maximiser by one sweep over a + b in units, and one over a for all of b."""
        n_pos, n_neg = sizes
        unit = n_pos / (above.size - 1)
        positive, negative = (np.ascontiguousarray(np.diff(part)[::-1]) for part in (above, below))
        k, count = f_labelling(positive, negative, float(self.beta))
        answer = k * unit, count * unit
        a = unit * np.arange(above.size)
        ends = np.asarray(self.loss(a, last[0], n_pos, n_neg)) + 2.0 * (above + last[1])
        place = int(ends.argmax())
        value = self.loss(*answer, n_pos, n_neg) + 2.0 * (above[k] + below[count])
        return (float(a[place]), last[0]) if ends[place] > value else answer

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
        false positives of n_pos positives and n_neg negatives. Not negative, 0 for (n_pos, 0). With
        weights they are sums of these.
    label : its name in reports.

    The most violated labelling is found in a table of all (a, b), O(n_pos n_neg).
    """

    function: Callable[[Any, Any, Any, Any], Any]
    label: str = "contingency"

    @property
    def name(self) -> str:
        """Return the label."""
        return self.label

    def loss(self, a: Any, b: Any, n_pos: float, n_neg: float) -> Any:
        """Return what the function returns."""
        return self.function(a, b, n_pos, n_neg)

    def check(self, y: FloatArray) -> None:
        """Check the function at the corners of its domain."""
        n_pos, n_neg = int((y > 0).sum()), int((y < 0).sum())
        a, b = np.array([n_pos, n_pos, 0, 0]), np.array([0, n_neg, 0, n_neg])
        found = np.asarray(self.loss(a, b, n_pos, n_neg), np.float64)
        right = found.shape == a.shape and bool(np.isfinite(found).all() and found.min() >= 0.0)
        if not right or found[0] > 1e-9:
            raise ParameterError(
                "function",
                "must return finite losses that are not negative, elementwise for arrays a and "
                "b, and 0 for (n_pos, 0)",
                f"{found.tolist()} for a = {a.tolist()}, b = {b.tolist()}, n_pos = {n_pos}, "
                f"n_neg = {n_neg}",
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
        positive, chosen = y > 0, z > threshold
        ones = np.ones(y.size, np.int64) if weight is None else weight
        a, b, n_pos, n_neg = (
            ones[part].sum().item()
            for part in (positive & chosen, ~positive & chosen, positive, ~positive)
        )
        found = self.loss(np.array([a]), np.array([b]), n_pos, n_neg)
        return 1.0 - float(np.asarray(found)[0]) / 100.0


class TopMeasure(ContingencyMeasure):
    """A measure of the k rows with the largest scores: a + b = k.

    Where k is not the number of positives, y itself is none of these labellings, and R may be less
    than the loss of the k rows that the scores predict.
    """

    __slots__ = ()

    weighted: ClassVar[bool] = False  # k counts rows

    @abstractmethod
    def count(self, n_pos: int, n: int) -> int:
        """Return k for n rows."""

    @abstractmethod
    def gain(self, n_pos: int, k: int) -> float:
        """Return kappa of the loss 100 - kappa a."""

    def loss(self, a: Any, b: Any, n_pos: float, n_neg: float) -> Any:
        """Return 100 - kappa a."""
        n = int(n_pos + n_neg)
        return 100.0 - self.gain(int(n_pos), self.count(int(n_pos), n)) * a

    def worst(self, positive: FloatArray, negative: FloatArray) -> tuple[int, int]:
        """Return the maximiser: the value is concave in a, so bisection finds it."""
        k = self.count(positive.size, positive.size + negative.size)
        kappa = self.gain(positive.size, k)
        p, n = positive[::-1], negative[::-1]
        low, high = max(0, k - negative.size), min(k, positive.size)

        def falls(a: int) -> bool:
            """Return whether one more positive instead of a negative lowers the value."""
            return bool(2.0 * (p[a] - n[k - a - 1]) <= kappa)

        a = low + bisect_left(range(low, high), True, key=falls)
        return a, k - a

    def threshold(self, z: FloatArray, y: FloatArray, weight: Weight = None) -> float:
        """Return the middle between the k-th and the next score."""
        return threshold_of_top(z, self.count(int((y > 0).sum()), y.size))

    def score(
        self, y: FloatArray, z: FloatArray, weight: Weight = None, threshold: float = 0.0
    ) -> float:
        """Return the measure of the k largest scores, ties by the smaller row number."""
        n_pos = int((y > 0).sum())
        refuse_weights(self, weight)
        k = self.count(n_pos, y.size)
        a = int((y[largest(z, k)] > 0).sum())
        return self.gain(n_pos, k) * a / 100.0

    def chance(self, y: FloatArray, weight: Weight = None) -> float:
        """Return the mean of the measure over all orders of the rows."""
        n_pos = int((y > 0).sum())
        k = self.count(n_pos, y.size)
        return self.gain(n_pos, k) * k * n_pos / y.size / 100.0


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
        k = self.k
        if isinstance(k, str):
            try:
                right = k.endswith("p") and 0.0 < float(k[:-1]) < math.inf
            except ValueError:
                right = False
        else:
            right = validate.is_integer(k) and k >= 1
        if not right:
            raise ParameterError(
                "k",
                'must be an integer of at least 1, or a string like "2p": that many times the '
                "positives",
                f"{k!r}",
            )

    def count(self, n_pos: int, n: int) -> int:
        """Return k as a number of rows."""
        k = self.k
        found = max(1, round(float(k[:-1]) * n_pos)) if isinstance(k, str) else int(k)
        if not 1 <= found <= n:
            got = f"{k} = {found}" if isinstance(k, str) else k
            raise ValueError(
                f"k of {self.name} must be {span(1, n)} (the rows); got {got}. Use a smaller k."
            )
        return found

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

    name: ClassVar[str] = "prbep"
    intercept: ClassVar[str] = "idle"

    def count(self, n_pos: int, n: int) -> int:
        """Return the number of positives."""
        return n_pos

    def gain(self, n_pos: int, k: int) -> float:
        """Return 100 / n_pos."""
        return 100.0 / n_pos

"""Measures of the k rows with the largest scores: precision and recall at k, PRBEP."""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any, ClassVar

from ..core import validation as validate
from ..core.ranking import largest
from ..core.types import FloatArray
from .contingency import ContingencyMeasure
from .measure import Weight, refuse_weights, threshold_of_top


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
            """Return whether one more positive in place of a negative lowers the value."""
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
            right = k.endswith("p") and 0.0 < float(k[:-1]) < math.inf
        except ValueError:
            right = False
    else:
        right = validate.is_integer(k) and k >= 1
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

    name: ClassVar[str] = "prbep"
    intercept: ClassVar[str] = "idle"

    def count(self, n_pos: int, n: int) -> int:
        """Return the number of positives."""
        return n_pos

    def gain(self, n_pos: int, k: int) -> float:
        """Return 100 / n_pos."""
        return 100.0 / n_pos

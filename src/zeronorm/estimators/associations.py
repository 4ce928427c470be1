"""How well a single column tells an outcome, as a probability that two rows are in its order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from ..core.types import FloatArray

# From which concordance on a column may stand apart.
LEVELS = {"classes": 0.93, "numbers": 0.9, "survival": 0.9}
FLAG_LEVELS = {"classes": 0.9, "numbers": 0.95, "survival": 0.9}  # of columns of two values
_ROWS = 700  # rows among which pairs of numbers or survival times are compared
_CHANCE = 1e-3  # how often the best of all columns may be that good by chance
_FEWEST = 0.1  # share of the rarer value from which on two values can tell numbers apart


@dataclass(frozen=True, slots=True)
class Question:
    """What about the outcome a column may tell.

    Attributes
    ----------
    name : what it is, for a message.
    residual : (n,) what a scan for other columns that tell it multiplies X with.
    positive : (n,) bool of a class against the others; None for others.
    code : (n,) of several classes the number of each; None for others.
    pairs : of numbers and survival times the rows that are compared, and the sign of each pair.
    kind : "classes", "numbers" or "survival".
    spread : the standard deviation of the concordance of a column of noise.
    """

    name: str
    residual: FloatArray
    spread: float
    kind: str
    positive: NDArray[np.bool_] | None = None
    code: NDArray[np.int64] | None = None
    pairs: tuple[NDArray[np.int64], NDArray[np.int8]] | None = None

    def concordance(self, column: FloatArray, as_flag: bool = True) -> float:
        """Return the share of pairs of rows that the column puts in the right order, 0.5 to 1.

        Ties count one half. Not so those of a column of two values, neither of them rare, next to
        numbers or survival times (as_flag), which can put no two rows of one value in order.
        """
        if self.positive is not None:
            return _auc(column, self.positive)
        if self.code is not None:
            return _neighbours(column, self.code)
        assert self.pairs is not None
        rows, sign = self.pairs
        x = column[rows]
        above = np.sign(x - x[:, None]).astype(np.int8)
        agree = float((above * sign).sum(dtype=np.int64))
        comparable = np.abs(sign)
        if as_flag and is_flag(x) and _FEWEST <= (x == x.max()).mean() <= 1.0 - _FEWEST:
            comparable = comparable * np.abs(above)
        total = float(comparable.sum(dtype=np.int64))
        return 0.5 + 0.5 * abs(agree) / total if total else 0.5

    def chance(self, n_columns: int) -> float:
        """Return the concordance that the best of so many columns of noise hardly ever has."""
        return min(0.5 + float(norm.isf(_CHANCE / (2 * max(n_columns, 1)))) * self.spread, 1.0)


def strength(concordance: float) -> float:
    """Return how far two normal groups of that concordance are apart, in standard deviations."""
    return float(np.sqrt(2.0) * norm.ppf(min(concordance, 1.0 - 1e-6)))


def is_flag(column: FloatArray) -> bool:
    """Return whether a column has two values."""
    low, high = column.min(), column.max()
    return bool(low < high and ((column == low) | (column == high)).all())


def question_of_classes(codes: NDArray[np.int64]) -> Question:
    """Return the question of the class; of several classes in the order that a column gives them.

    Single features often tell one class among several, as markers of cells do: that is no question.
    """
    n, counts = codes.size, np.bincount(codes)
    m = int(counts.min())
    spread = float(np.sqrt((n + 1) / (12.0 * m * (n - m))))
    several = counts.size > 2
    positive, code = (None, codes) if several else (codes > 0, None)
    return Question("the classes", codes - codes.mean(), spread, "classes", positive, code)


def question_of_numbers(y: Any, name: str) -> Question:
    """Return the question of how large numbers are."""
    y = np.asarray(y, np.float64)
    values, counts = np.unique(y, return_counts=True)
    most = int(counts.max())
    with_outcome = y != values[counts.argmax()] if 2 * most > y.size else None
    rows = _some_rows(y.size, with_outcome)
    own = y[rows]
    sign = np.sign(own - own[:, None]).astype(np.int8)
    residual = rankdata(y)
    n = y.size
    if with_outcome is None:  # Kendall's tau of noise, halved
        spread = np.sqrt(2 * (2 * n + 5) / (9.0 * n * (n - 1))) / 2
    else:
        spread = np.sqrt((n + 1) / (12.0 * most * (n - most)))
    residual -= residual.mean()
    return Question(name, residual, float(spread), "numbers", pairs=(rows, sign))


def question_of_survival(y: FloatArray) -> Question:
    """Return the question of when rows have their event; y as of `validate.check_survival`."""
    time, event = y[:, 0], y[:, 1] > 0
    rows = _some_rows(time.size, event)
    t, e, stratum = time[rows], event[rows], y[rows, 2]
    later = (t[:, None] < t) | ((t[:, None] == t) & ~e)  # of the row: the column outlives it
    later &= e[:, None] & (stratum[:, None] == stratum)
    if y.shape[1] == 4:
        later &= y[rows, 3] < t[:, None]
    sign = later.astype(np.int8)
    # What the model without features leaves: the event less the cumulative hazard until then.
    order = np.argsort(time, kind="stable")
    at_risk = time.size - np.searchsorted(time[order], time[order], "left")
    hazard = np.empty(time.size)
    hazard[order] = np.cumsum(event[order] / at_risk)
    residual = event - hazard
    spread = 0.4 / np.sqrt(max(int(event.sum()), 1))
    residual -= residual.mean()
    return Question("the time", residual, float(spread), "survival", pairs=(rows, sign))


def _some_rows(n: int, with_outcome: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """Return rows that lie evenly, as many as may be with the outcome that few have."""
    if n <= _ROWS:
        return np.arange(n)
    if with_outcome is None:
        return np.linspace(0, n - 1, _ROWS).astype(np.int64)
    parts = [np.flatnonzero(with_outcome), np.flatnonzero(~with_outcome)]
    few = min(parts[0].size, _ROWS // 2), min(parts[1].size, _ROWS // 2)
    kept = [
        part[np.linspace(0, part.size - 1, size).astype(np.int64)]
        for part, size in zip(parts, few, strict=True)
    ]
    return np.sort(np.concatenate(kept))


def _auc(column: FloatArray, positive: NDArray[np.bool_]) -> float:
    m = int(positive.sum())
    pairs = m * (positive.size - m)
    if not pairs:
        return 0.5
    auc = (float(rankdata(column)[positive].sum()) - m * (m + 1) / 2) / pairs
    # Few pairs that are all in order say less than many.
    return min(max(auc, 1.0 - auc), 1.0 - 0.5 / pairs)


def _neighbours(column: FloatArray, code: Any) -> float:
    """Return the mean AUC of neighbouring classes, in the order of their means."""
    counts = np.bincount(code)
    order = np.argsort(np.argsort(np.bincount(code, column) / counts))[code]
    found = []
    for low in range(counts.size - 1):
        pair = (order == low) | (order == low + 1)
        found.append(_auc(column[pair], order[pair] > low))
    return float(np.mean(found))

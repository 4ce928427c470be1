"""Columns that are the target itself, or together a survival time, or numbers of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import gammaln

from ..core.types import FloatArray

_CHANCE = 1e-3  # columns that may be the target by chance
_ROUNDING = 1e-8  # by which a correlation of 1 may be less: values with four digits
_VALUES = 10  # so many different ones that follow each other are no chance
_COUNTED = 10  # rows that a column must number
_OFTEN = 5  # rows, or one in twenty, that must have a number that a column marks
_EXACT, _NEEDED = 1e-6, 1e-2  # of the variance of times: what columns together leave, and without


def itself(column: FloatArray, y: Any, kind: str, n_features: int) -> str:
    """Return what a column is that is a function of the outcome; "" for others."""
    if kind == "survival":
        event = y[:, 1] > 0
        if event.any() and not event.all() and _is_class(column, event, n_features):
            return "the event itself (one value where it was observed, one where not)"
        found = _is_number(column, y[:, 0], n_features)
        if found:
            return found.replace("target", "time")
        value = _marks(column, event, n_features)
        which = "an" if value is not None and (column[event] == value).all() else "no"
        return "" if value is None else f"{value:g} exactly where there is {which} event"
    if kind == "classes":
        found = _is_class(column, y, n_features)
        if found:
            return found
        for label in np.unique(y):
            value = _marks(column, y == label, n_features)
            if value is not None:
                return f"{value:g} exactly where the target is {label}"
        return ""
    single = y.ndim == 1
    several = [y] if single else _nearest(column, y)
    for one in several:
        found = _is_number(column, one, n_features)
        if found:
            return found if single else found.replace("target", "response")
        values, counts = np.unique(one, return_counts=True)
        for place in dict.fromkeys((0, int(counts.argmax()))):  # as no claim is, of many
            value, often = values[place], counts[place]
            few = often < max(_OFTEN, one.size / 20)
            mark = None if few else _marks(column, one == value, n_features)
            if mark is not None:
                return f"{mark:g} exactly where the target is {value:g}"
    return ""


def _nearest(column: FloatArray, y: FloatArray) -> list[FloatArray]:
    """Return the response that a column correlates most with."""
    a, b = column - column.mean(), y - y.mean(axis=0)
    size = np.maximum(np.sqrt((b * b).sum(axis=0)), 1e-300)
    return [y[:, int(np.abs(a @ b / size).argmax())]]


def _marks(column: FloatArray, rows: Any, n_features: int) -> float | None:
    """Return the value that a column has exactly in some rows, or in all others; None without."""
    m = int(rows.sum())
    if not 0 < m < rows.size or not is_no_chance(np.array([m, rows.size - m]), n_features):
        return None
    for part in (rows, ~rows):
        value = column[int(part.argmax())]
        same = column == value
        if same.sum() == part.sum() > 1 and bool((same == part).all()):
            return float(value)
    return None


def _is_class(column: FloatArray, y: Any, n_features: int) -> str:
    """Return what a column is that has one value in every class; "" for others."""
    classes, code, counts = np.unique(y, return_inverse=True, return_counts=True)
    first = np.empty(classes.size)
    first[code] = column
    same = bool((column == first[code]).all()) and np.unique(first).size == classes.size
    if not same or not is_no_chance(counts, n_features):
        return ""
    sure = "one value in each class" if classes.size > 2 else "correlation 1"
    return f"the target itself ({sure})"


def _is_number(column: FloatArray, one: FloatArray, n_features: int) -> str:
    """Return what a column is that is a function of numbers, or they of it; "" for others."""
    a, b = column - column.mean(), one - one.mean()
    norm = float(np.sqrt((a @ a) * (b @ b)))
    counts = np.unique(one, return_counts=True)[1]
    if not norm or not is_no_chance(counts, n_features):
        return ""
    if abs(float(a @ b)) >= (1 - _ROUNDING) * norm:
        return "the target itself (correlation 1)"
    values = np.unique(column).size
    if min(values, counts.size) >= _VALUES and (_follows(column, one) or _follows(one, column)):
        return "the target itself on another scale (same order of the rows)"
    return ""


def is_no_chance(counts: Any, n_features: int, ways: float = 0.0) -> bool:
    """Return whether hardly any column would be the target, were its values in random order.

    counts : how often each of its values occurs. ways : the log of how many orders are the target.
    """
    arrangements = gammaln(counts.sum() + 1) - gammaln(counts + 1).sum()
    return bool(arrangements - ways > np.log(2 * n_features / _CHANCE))


def _follows(a: FloatArray, b: FloatArray) -> bool:
    """Return whether b is a rising or a falling function of a."""
    order = np.argsort(a, kind="stable")
    steps, same = np.diff(b[order]), np.diff(a[order]) == 0
    return not steps[same].any() and bool((steps >= 0).all() or (steps <= 0).all())


def together(columns: Mapping[int, FloatArray], y: FloatArray) -> list[int]:
    """Return the columns whose sum with some weights is the time, each of which that needs."""
    n, names = len(y), [*columns]
    if not 2 <= len(names) <= n // 3:
        return []
    rows = np.linspace(0, n - 1, min(n, 5000)).astype(np.int64)
    A = np.column_stack([columns[j][rows] for j in names])
    A = A - A.mean(axis=0)
    A /= np.maximum(A.std(axis=0), 1e-300)
    b = y[rows, 0] - y[rows, 0].mean()
    total = float(b @ b)

    def left(kept: list[int]) -> float:
        fitted = A[:, kept] @ np.linalg.lstsq(A[:, kept], b, rcond=None)[0]
        return float(((b - fitted) ** 2).sum())

    every = [*range(len(names))]
    if not total or left(every) > _EXACT * total:
        return []
    return [names[one] for one in every if left([k for k in every if k != one]) > _NEEDED * total]


def numbering(column: FloatArray) -> str:
    """Return what a column is that numbers the rows; "" for others."""
    steps = np.diff(column)
    if column.size < _COUNTED or not ((steps > 0).all() or (steps < 0).all()):
        return ""
    if (steps == steps[0]).all():
        return "a number of the row (the same step from each row to the next)"
    if (column == np.floor(column)).all():
        way = "larger" if steps[0] > 0 else "smaller"
        return f"like a number of the row (whole numbers, each {way} than the one before)"
    return ""

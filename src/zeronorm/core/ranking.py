"""The order of scores: the largest ones, ties by the smaller index; that of classes."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from .types import FloatArray, IndexArray

NAN = "scores must be numbers; got NaN."
# Values are looked at in that many lanes; of fewer too many values exceed the least of the maxima.
LANES, LANES_FACTOR = 256, 8


def largest(values: FloatArray, k: int) -> IndexArray:
    """Return the indices of the k largest values, largest first, ties by the smaller index.

    values : (p,), without NaN, which raises ValueError; 0 <= k <= p. Cost O(p + k log k).
    """
    if k == 0:
        return np.empty(0, np.int64)
    lanes = max(LANES, LANES_FACTOR * k)
    rows = values.size // lanes
    if rows < 2:
        return _largest(values, k)
    # The k largest are not below the k-th of the maxima of any k lanes. A partition of all values
    # takes many times as long where many are equal, as scores of sparse columns are.
    maxima = values[: rows * lanes].reshape(rows, lanes).max(axis=0)
    bound = np.partition(maxima, lanes - k)[lanes - k]
    # NaN is the maximum of its lane, and may stand in the values beyond the last row.
    if np.isnan(maxima).any() or np.isnan(values[rows * lanes :]).any():
        raise ValueError(NAN)
    candidates = np.flatnonzero(values >= bound)
    return candidates[_largest(values[candidates], k)]


def _largest(values: FloatArray, k: int) -> IndexArray:
    """Return the same by a partition of all values; k >= 1."""
    ordered = np.partition(values, values.size - k)
    # NaN sorts last, so that it is seen here.
    if np.isnan(ordered[values.size - k :]).any():
        raise ValueError(NAN)
    cut = ordered[values.size - k]
    top = np.flatnonzero(values >= cut)
    if top.size > k:  # of those that tie, the first
        top = np.concatenate([np.flatnonzero(values > cut), np.flatnonzero(values == cut)])[:k]
    top = top[np.argsort(-values[top], kind="stable")]
    return top.astype(np.int64, copy=False)


def predicted(scores: FloatArray) -> IndexArray:
    """Return the number of the class that each sample is in by its scores, (n_samples,).

    scores : (n_samples,) or (n_samples, 1) of the second of two classes, which is predicted above
        0, or (n_samples, n_classes).
    """
    if scores.ndim == 2 and scores.shape[1] > 1:
        return np.asarray(scores.argmax(axis=1))
    return (np.ravel(scores) > 0).astype(np.int64)


def cut_of(threshold: float, positive: int, *, by_score: bool) -> float:
    """Return the score above which the second of two classes is predicted.

    threshold : of the positive class, the second (1) or the first (0) one, which is predicted from
        there on: a score, or a probability 1 / (1 + exp(-score)) as these are rounded.
    """
    least = threshold if by_score else least_score(threshold)
    if not positive:
        return -least
    return float(min(np.nextafter(least, -np.inf), least - np.finfo(float).tiny))


def least_score(probability: float) -> float:
    """Return the least score whose probability, rounded, is at least that."""
    low, high = -800.0, 800.0
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if expit(middle) >= probability else (middle, high)
    return high


def numbered(labels: np.ndarray, classes: np.ndarray) -> IndexArray:
    """Return the number of the class of each label, from 0, (n,); classes in any order."""
    order = np.argsort(classes, kind="stable")
    return np.asarray(order[np.searchsorted(classes[order], labels)], np.int64)


def best_pairs(promise: FloatArray, each: int, most: int) -> list[tuple[int, int]]:
    """Return (row, column) of the `most` smallest finite numbers, at most `each` of a row."""
    each = min(each, promise.shape[1])
    best = np.argpartition(promise, each - 1, axis=1)[:, :each]
    value = np.take_along_axis(promise, best, axis=1)
    value, best = value.ravel(), best.ravel()
    order = np.lexsort((best, value))[:most]
    order = order[np.isfinite(value[order])]
    return list(zip((order // each).tolist(), best[order].tolist(), strict=True))

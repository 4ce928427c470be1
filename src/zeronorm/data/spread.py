"""Means and standard deviations of gathered columns in two passes; which columns lie far from 0."""

from __future__ import annotations

import numpy as np

from ..core.types import Design, FloatArray, IndexArray, Stored
from .dense import Dense
from .wrappers import as_slice, feature_blocks, storage_of

# Above this |mean| / std, the curvature of a column beside an intercept has lost 8 digits.
DISTANT = 1e4
# A standard deviation below this share of the largest |x_ij| is the rounding of a constant: some
# four units in the last place.
CONSTANT = 1e-15
# Below this share few digits of the differences are left, and products with coefficients lose them.
COARSE = 1e-12


def distant_means(design: Design) -> FloatArray | None:
    """Return the means of the columns that lie far from 0, 0 for the others; None if all are near.

    Far is more than 1e4 standard deviations. A few rows tell which columns may be; only those are
    read. None for sparse data, which are never centred.
    """
    rows = storage_of(design).some_rows()
    if rows is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # NaN is found by the first scan
        near = np.abs(rows.mean(axis=0)) <= 0.1 * DISTANT * rows.std(axis=0)
        found = np.zeros(near.size)
        share = np.full(design.shape[0], 1.0 / design.shape[0])
        for features in feature_blocks(np.flatnonzero(~near), share.size):
            columns = dense(design.gather(as_slice(features)))
            mean, std, _ = two_pass(columns, share, design.n_threads)
            found[features] = np.where((std > 0) & (np.abs(mean) > DISTANT * std), mean, 0.0)
    return found if found.any() else None


def coarse_columns(design: Design, features: IndexArray) -> IndexArray:
    """Return those of some features whose standard deviation is below 1e-12 of their largest value.

    A few rows tell which columns may be; only those are read. None of sparse data, which hold 0.
    """
    rows = storage_of(design).some_rows()
    if rows is None or not features.size:
        return np.empty(0, np.int64)
    rows = rows[:, features]
    with np.errstate(over="ignore", invalid="ignore"):
        near = rows.std(axis=0) > 1e3 * COARSE * np.abs(rows).max(axis=0)
    found = []
    share = np.full(design.shape[0], 1.0 / design.shape[0])
    for block in feature_blocks(features[~near], share.size):
        columns = dense(design.gather(as_slice(block)))
        std = two_pass(columns, share, design.n_threads)[1]
        found.append(block[(std > 0) & (std <= COARSE * np.abs(columns).max(axis=0))])
    return np.concatenate([np.empty(0, np.int64), *found])


def dense(stored: Stored) -> FloatArray:
    """Return gathered columns as a dense array; for few columns only."""
    return stored if isinstance(stored, np.ndarray) else stored.toarray(order="F")


def two_pass(
    x: FloatArray, share: FloatArray, n_threads: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, standard deviation (0: constant), and what rounding took off the mean.

    share : (n,) sums to 1.
    """
    low, high = x.min(axis=0), x.max(axis=0)
    n_columns = x.shape[1]
    # Numbers are subtracted before they are squared; the second mean removes the first one's error.
    centred = x - low
    mean, _ = Dense(centred, n_threads).moments(share, 0, n_columns)
    centred -= mean
    rest, square = Dense(centred, n_threads).moments(share, 0, n_columns)
    away = mean + rest
    mean = low + away
    lost = away - (mean - low)  # exact where low and mean are close
    std = np.sqrt(np.maximum(square - rest**2, 0.0))
    constant = std <= CONSTANT * np.maximum(np.abs(low), np.abs(high))
    constant |= low == high
    return mean, np.where(constant, 0.0, std), np.where(constant, 0.0, lost)

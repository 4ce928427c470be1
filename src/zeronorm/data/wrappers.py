"""Designs derived from others without a copy: columns scaled and centred, rows selected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.types import (
    EXACT_SCAN,
    Design,
    FloatArray,
    IndexArray,
    Stored,
    Wrapper,
    float64_scan_error,
)
from .dense import Dense, as_vectors
from .sparse import compressed

# Lazy centring subtracts mean * sum(v) from a score. Where |mean| / std is above the first limit,
# the error of float32 scores is no longer small after it (DELICATE * 6e-7); above the second one,
# that of float64 scores.
DELICATE, DELICATE_FLOAT64 = 100.0, 1e6
# The same for sums of squares, which are float64 for all storage: they lose twice as many digits.
FAR = 1e3
# Elements of gathered columns at a time: of one sum over many columns, which stay in the cache, and
# where memory is the only limit. At least so many columns, since rows are read in cache lines.
CACHED, IN_MEMORY = 1 << 18, 1 << 22
LINE = 8


class Scaled(Wrapper):
    """The columns scale_j (x_j - mean_j) of another design; scale_j (x_j) without means.

    Neither is ever stored: c = scale * (base.correlate(v) - mean * sum(v)).

    Columns with |mean_j| scale_j > 100 over float32 or small integer storage (1e6 over float64)
    lose digits in that difference. They are `delicate`: their scores are computed from centred
    float64 columns, gathered block by block.

    Parameters
    ----------
    base : the design to scale.
    mean : (n_features,) subtracted from each column, or None. Scores and moments are those of
        centred columns in any storage; `gather` centres dense columns only.
    scale : (n_features,) multipliers; 0 makes a column disappear.
    rest : (n_features,) what rounding took off the means, or None. Next to the differences in a
        column it may be large, so that `gather` subtracts it as well.
    """

    def __init__(
        self,
        base: Design,
        mean: FloatArray | None,
        scale: FloatArray,
        rest: FloatArray | None = None,
    ) -> None:
        n_features = base.shape[1]
        for name, array in (("mean", mean), ("scale", scale), ("rest", rest)):
            if array is not None and array.shape != (n_features,):
                raise ValueError(
                    f"{name} must have shape ({n_features},) (the features of X); "
                    f"got {array.shape}."
                )
        super().__init__(base)
        self.mean = mean
        self.scale = scale
        self.rest = rest
        self.delicate = self._find_delicate()

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self.base.shape

    def lower(self, v: FloatArray) -> FloatArray:
        """Return v: both designs have the same samples."""
        return v

    def lift(self, scores: FloatArray, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return scale * (scores - mean * sum(v)) for the columns start <= j < stop, as an array.

        scores : (stop - start,) or (stop - start, m), of the base.
        """
        # Along contiguous memory, so that a vector has one sum alone and among others.
        sums = np.ascontiguousarray(v.T).sum(axis=-1)
        # Vector by vector: loops over the few vectors of a column would cost more than the numbers.
        lifted: FloatArray = scores.T.copy()
        # Scores that are not finite stay so: who scans looks for them.
        with np.errstate(over="ignore", invalid="ignore"):
            if self.mean is not None:
                lifted -= self.mean[start:stop] * sums[..., None]
            lifted *= self.scale[start:stop]
        lifted = np.ascontiguousarray(lifted.T)
        first, last = np.searchsorted(self.delicate, [start, stop])
        for features, columns in self._columns(self.delicate[first:last]):
            lifted[features - start] = columns.correlate(v, 0, features.size)
        return lifted

    def gather(self, features: IndexArray | slice) -> Stored:
        """Return the scaled columns: centred F-ordered float64, or a csc_array, not centred."""
        columns = self.base.gather(features)
        scale = self.scale[features]
        if isinstance(columns, sp.csc_array):
            values = columns.data * np.repeat(scale, np.diff(columns.indptr))
            return compressed(columns.indptr, columns.indices, values, self.shape[0])
        if not columns.flags.writeable:
            columns = columns.copy(order="F")
        with np.errstate(over="ignore", invalid="ignore"):
            if self.mean is not None:
                columns -= self.mean[features]
            if self.rest is not None:
                columns -= self.rest[features]
            columns *= scale
        return columns

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return the weighted sums of the scaled columns and of their squares."""
        total, square = self.base.moments(weight, start, stop)
        scale = self.scale[start:stop]
        if self.mean is not None:
            mean = self.mean[start:stop]
            # sum s (x - m)^2 = sum s x^2 - m (2 sum s x - m sum s)
            square = np.maximum(square - mean * (2.0 * total - mean * weight.sum()), 0.0)
            total = total - mean * weight.sum()
        # One factor at a time: the square of a scale may overflow where the result does not.
        total, square = scale * total, scale * (scale * square)
        for features, columns in self._columns(self._far_columns(FAR, start, stop)):
            part = columns.moments(weight, 0, features.size)
            total[features - start], square[features - start] = part
        return total, square

    def _find_delicate(self) -> IndexArray:
        error = float64_scan_error(storage_of(self).shape[0])
        exact = self.scan_error <= max(error, EXACT_SCAN)
        return self._far_columns(DELICATE_FLOAT64 if exact else DELICATE, 0, self.shape[1])

    def _far_columns(self, limit: float, start: int, stop: int) -> IndexArray:
        """Return the features of start..stop with |mean| / std above a limit."""
        if self.mean is None or self.is_sparse:
            return np.empty(0, np.int64)
        with np.errstate(over="ignore"):
            ratio = np.abs(self.mean[start:stop]) * np.abs(self.scale[start:stop])
        return start + np.flatnonzero(ratio > limit)

    def _columns(self, features: IndexArray) -> Iterator[tuple[IndexArray, Dense]]:
        """Yield features in blocks with their columns, scaled and centred in float64."""
        for block in feature_blocks(features, self.shape[0]):
            columns: Any = self.gather(as_slice(block))
            yield block, Dense(columns, self.n_threads)


class Rows(Wrapper):
    """Some rows of another design: nothing is copied, vectors are scattered.

    Parameters
    ----------
    base : the design to take rows of.
    index : (n_rows,) different row numbers of the base, in any order.
    """

    def __init__(self, base: Design, index: IndexArray) -> None:
        n_samples = base.shape[0]
        index = np.asarray(index)
        if index.ndim != 1 or index.size == 0 or index.dtype.kind not in "iu":
            raise ValueError(
                "index must be a one-dimensional array of row numbers, at least one; got shape "
                f"{index.shape} of {index.dtype}."
            )
        if index.min() < 0 or index.max() >= n_samples:
            raise ValueError(
                f"index must be between 0 and {n_samples - 1} (the rows of X); got values from "
                f"{index.min()} to {index.max()}."
            )
        super().__init__(base)
        self.index: IndexArray = index.astype(np.int64, copy=False)
        # Where each row of the base goes, or -1.
        self._place = np.full(n_samples, -1, np.int64)
        self._place[self.index] = np.arange(index.size)
        if not np.array_equal(self._place[self.index], np.arange(index.size)):
            raise ValueError("index must not name a row twice; use sample weights to repeat rows.")

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features)."""
        return self.index.size, self.base.shape[1]

    def lower(self, v: FloatArray) -> FloatArray:
        """Scatter v, (n_rows,) or (n_rows, m), over the rows of the base; the others get 0."""
        lowered = np.zeros((self.base.shape[0], *v.shape[1:]))
        lowered[self.index] = v
        return lowered

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return c with c[j - start] = sum_i X[index[i], j] v[i], start <= j < stop.

        v : (n_rows,) or (n_rows, m) -> (stop - start,) or (stop - start, m).
        """
        as_vectors(v, self.shape, start, stop)
        return self.base.correlate(self.lower(v), start, stop)

    def gather(self, features: IndexArray | slice) -> Stored:
        """Return the rows of the gathered columns: F-ordered float64, or a csc_array."""
        columns = self.base.gather(features)
        if isinstance(columns, sp.csc_array):
            return self._select_rows(columns)
        # Of the transpose, which is C-ordered, so that the result is F-ordered.
        return np.asarray(columns.T.take(self.index, axis=1).T)

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return the weighted sums of the columns and of their squares, over the rows."""
        as_vectors(weight, self.shape, start, stop)
        return self.base.moments(self.lower(weight), start, stop)

    def _select_rows(self, columns: Any) -> sp.csc_array[Any]:
        """Return the rows of a csc_array, in one pass over its entries."""
        place = self._place[columns.indices]
        kept = place >= 0
        before = np.concatenate([[0], np.cumsum(kept)])
        selected = compressed(
            before[columns.indptr], place[kept], columns.data[kept], self.index.size
        )
        selected.sort_indices()
        return selected


def storage_of(design: Design) -> Design:
    """Return the design under all wrappers."""
    while isinstance(design, Wrapper):
        design = design.base
    return design


def feature_blocks(
    features: IndexArray, n_samples: int, elements: int = CACHED
) -> Iterator[IndexArray]:
    """Yield features in blocks whose gathered columns have about so many elements."""
    width = max(LINE, elements // n_samples)
    for first in range(0, features.size, width):
        yield features[first : first + width]


def as_slice(features: IndexArray) -> IndexArray | slice:
    """Return ascending features as a slice where they are consecutive: cheaper to gather."""
    first, last = int(features[0]), int(features[-1])
    return slice(first, last + 1) if last - first + 1 == features.size else features


Design.view = Rows

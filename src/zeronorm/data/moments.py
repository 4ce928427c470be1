"""Sums of the columns and of their squares over many sets of rows, in one pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..core.parallel import map_threads
from ..core.types import FloatArray, Stored
from .wrappers import CACHED, IN_MEMORY, Rows, storage_of


def moments_of(columns: Stored, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sum_i s_i x_ij and sum_i s_i x_ij^2 of gathered columns, (m, n_columns) each.

    The BLAS multiplies a fixed number of columns at a time, so that the bits do not depend on the
    number of threads. Sums of columns of zeros are 0.

    weights : (n_samples, m), the s_i in columns.
    """
    n_samples, n_columns = columns.shape
    if isinstance(columns, sp.csc_array):
        squares = sp.csc_array((columns.data**2, columns.indices, columns.indptr), columns.shape)
        return np.asarray(columns.T @ weights).T, np.asarray(squares.T @ weights).T
    total, square = np.empty((2, weights.shape[1], n_columns))
    width = max(1, CACHED // n_samples)

    def add(start: int) -> None:
        own = slice(start, start + width)
        part = columns[:, own]
        total[:, own] = weights.T @ part
        square[:, own] = weights.T @ (part * part)

    map_threads(add, range(0, n_columns, width))
    return total, square


class MeasuredRows(Rows):
    """Rows of a design with the sums that `moments` gives for one weight of them.

    Parameters
    ----------
    rows : the rows.
    weight : (n_rows,) of the sums.
    total, square : (n_features,) sums of the columns and of their squares.
    """

    def __init__(
        self, rows: Rows, weight: FloatArray, total: FloatArray, square: FloatArray
    ) -> None:
        super().__init__(rows.base, rows.index)
        self._weight, self._total, self._square = weight, total, square

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return the sums; those of other weights are read."""
        if not np.array_equal(weight, self._weight):
            return super().moments(weight, start, stop)
        return self._total[start:stop].copy(), self._square[start:stop].copy()


def measured(parts: Sequence[tuple[Rows, FloatArray]]) -> list[MeasuredRows]:
    """Return several rows of one design with their sums, all in one pass over it.

    parts : rows, and their weights.
    """
    bases = [rows.base for rows, _ in parts]
    n_samples, n_features = bases[0].shape
    sums = np.empty((2, len(parts), n_features))
    weights = np.column_stack([rows.lower(weight) for rows, weight in parts])
    # Gaps are filled with means of their own, by which the designs of halves differ.
    shared = all(base is bases[0] for base in bases) and not storage_of(bases[0]).is_remote
    block = max(1, min(bases[0].block, IN_MEMORY // n_samples))
    for start in range(0, n_features, block):
        own = slice(start, min(start + block, n_features))
        if shared:
            sums[:, :, own] = moments_of(bases[0].gather(own), weights)
            continue
        for place, base in enumerate(bases):
            sums[:, place, own] = base.moments(weights[:, place], own.start, own.stop)
    return [MeasuredRows(*part, *sums[:, place]) for place, part in enumerate(parts)]

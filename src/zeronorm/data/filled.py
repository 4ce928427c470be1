"""Columns with gaps filled by what some of the rows show: folds differ in what fills them alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.types import Design, FloatArray, IndexArray, Stored, Wrapper
from .dense import read_dense
from .sparse import compressed
from .wrappers import Rows, feature_blocks


class Filled(Wrapper):
    """The columns x_j + mean_j g_j: x_j with zeros in its gaps, g_j 1 there and else 0.

    A scan is one of X and one of the few gaps, c = X'v + mean * (G'v), so that designs with other
    means, those of folds, share a pass over X.

    Parameters
    ----------
    base : X with zeros in the gaps, dense.
    gaps : (indptr, rows), the gaps by column.
    rows : (k,) the rows that the means are of; None: all.
    mean : (n_features,) what is in the gaps instead of means over rows; None: these.
    frequent : whether the most frequent value, of several the least, stands for the mean.
    """

    def __init__(
        self,
        base: Design,
        gaps: tuple[IndexArray, IndexArray],
        rows: IndexArray | None = None,
        mean: FloatArray | None = None,
        frequent: bool = False,
    ) -> None:
        super().__init__(base)
        self.gaps, self._frequent = gaps, frequent
        self.mean = self._means(rows) if mean is None else mean

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self.base.shape

    def over(self, rows: IndexArray) -> Filled:
        """Return the same columns with their means over some of the rows."""
        return Filled(self.base, self.gaps, rows, frequent=self._frequent)

    @property
    def scan_error(self) -> float:
        """Twice that of the base: a score is the sum of two."""
        return 2.0 * self.base.scan_error

    def lower(self, v: FloatArray) -> FloatArray:
        """Return v: both designs have the same samples."""
        return v

    def lift(self, scores: FloatArray, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return scores + mean * (G'v) for the columns start <= j < stop."""
        beside = self._gaps_in(start, stop).T @ v
        mean = self.mean[start:stop]
        return np.asarray(scores + (mean if v.ndim == 1 else mean[:, None]) * beside)

    def gather(self, features: IndexArray | slice) -> Stored:
        """Return the filled columns, F-ordered float64."""
        columns: Any = self.base.gather(features)
        if not columns.flags.writeable:
            columns = columns.copy(order="F")
        indptr, rows = self.gaps
        for place, j in enumerate(np.arange(self.shape[1])[features].tolist()):
            columns[rows[indptr[j] : indptr[j + 1]], place] = self.mean[j]
        return np.asarray(columns)

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return the weighted sums of the filled columns and of their squares."""
        total, square = self.base.moments(weight, start, stop)
        mean, beside = self.mean[start:stop], self._gaps_in(start, stop).T @ weight
        with np.errstate(over="ignore"):  # as in the base: infinite sums are an error of the caller
            return total + mean * beside, square + mean * (mean * beside)

    def _gaps_in(self, start: int, stop: int) -> sp.csc_array[Any]:
        """Return some columns of G."""
        indptr, rows = self.gaps
        first, last = indptr[start], indptr[stop]
        ones = np.ones(last - first)
        return compressed(indptr[start : stop + 1] - first, rows[first:last], ones, self.shape[0])

    def _means(self, rows: IndexArray | None) -> FloatArray:
        """Return the means over rows of the columns with gaps; 0 of the others and of no value."""
        indptr, gaps = self.gaps
        n_samples, n_features = self.shape
        inside = np.full(n_samples, rows is None)
        inside[rows if rows is not None else slice(0)] = True
        mean = np.zeros(n_features)
        counted = np.concatenate([[0], np.cumsum(inside[gaps])])
        n_known = inside.sum() - np.diff(counted[indptr])
        for block in feature_blocks(np.flatnonzero(np.diff(indptr)), n_samples):
            columns: Any = self.base.gather(block)
            if self._frequent:
                for j, column in zip(block.tolist(), columns.T, strict=True):
                    present = inside.copy()
                    present[gaps[indptr[j] : indptr[j + 1]]] = False
                    mean[j] = _most_frequent(column[present])
                continue
            values = np.ascontiguousarray(columns.T[:, inside])
            known = np.maximum(n_known[block], 1)
            with np.errstate(over="ignore"):
                means = values.sum(axis=1) / known
            beyond = ~np.isfinite(means)  # sums, not values, are beyond the range of numbers
            means[beyond] = (values[beyond] / known[beyond, None]).sum(axis=1)
            mean[block] = means
        return mean


def _most_frequent(values: FloatArray) -> float:
    """Return the most frequent value, of several the least; 0 of none."""
    found, counts = np.unique(values, return_counts=True)
    return float(found[counts.argmax()]) if found.size else 0.0


def fill(values: FloatArray, n_threads: int, frequent: bool = False) -> Filled:
    """Return an array with the means of its columns in place of NaN; the array gets zeros there.

    frequent : as of `Filled`.
    """
    order, rows = np.nonzero(np.isnan(values.T))
    indptr = np.searchsorted(order, np.arange(values.shape[1] + 1)).astype(np.int64)
    values[rows, order] = 0.0
    return Filled(read_dense(values, n_threads), (indptr, rows), frequent=frequent)


def filling_of(design: Design) -> Filled | None:
    """Return what fills the gaps of a design, None where it has none."""
    while isinstance(design, Wrapper) and not isinstance(design, Filled):
        design = design.base
    return design if isinstance(design, Filled) else None


def filled_over(design: Design, rows: IndexArray) -> Design:
    """Return a design with gaps filled by the means over some of its rows; any other as it is."""
    if isinstance(design, Filled):
        return design.over(rows)
    if isinstance(design, Rows):
        base = filled_over(design.base, design.index[rows])
        return design if base is design.base else Rows(base, design.index)
    return design

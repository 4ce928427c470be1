"""Sparse storage: compressed columns (CSC) and compressed rows (CSR)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels import (
    csc_correlate,
    csc_moments,
    csr_combine,
    csr_correlate,
    csr_gather,
    csr_moments,
    csr_to_csc,
)
from ..core.types import Design, FloatArray, IndexArray
from .dense import as_features, as_vectors

# Stored entries that one call of a kernel reads: see BLOCK_BYTES of the dense storage. Rows cost a
# pass over the sums as well, hence longer calls.
BLOCK_ENTRIES = 1 << 23
ROW_ENTRIES = 1 << 26
# A matrix of more entries (4 GB in CSC of float64) is not copied into another storage.
MOST_CONVERTED = 350_000_000
# Gram matrices of all columns are cheap where columns are at most so many, and few for the rows,
# and rows are short: so many products in a row for an entry. Of fewer entries they save nothing.
MOST_GRAM_COLUMNS, GRAM_SHARE, MOST_PRODUCTS, LEAST_ENTRIES = 512, 0.25, 9.0, 1 << 15


class Sparse(Design):
    """A compressed sparse matrix as a design; its arrays are read where they lie.

    Parameters
    ----------
    indptr, indices : of one type, int32 or int64, audited: see `read_sparse`.
    data : float32, float64, int8 or uint8; no position of X twice.
    shape : (n_samples, n_features).
    by_column : whether the storage is CSC; else it is CSR.
    is_sorted : whether the indices of every column (row) ascend.
    n_threads : threads of a scan, at least 1.
    """

    is_sparse = True

    def __init__(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        data: NDArray[Any],
        shape: tuple[int, int],
        *,
        by_column: bool,
        is_sorted: bool,
        n_threads: int = 1,
    ) -> None:
        self._indptr, self._indices, self._data = indptr, indices, data
        self._shape = shape
        self._by_column = by_column
        self._is_sorted = is_sorted
        self.n_threads = n_threads

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self._shape

    @property
    def storage(self) -> str:
        """How the numbers are stored, in words."""
        return f"sparse {self._data.dtype}, by {'column' if self._by_column else 'row'}"

    @property
    def block(self) -> int:
        """Columns per scan block: about 8 million entries by column, all columns by row."""
        n_features = self.shape[1]
        if not self._by_column:
            return n_features
        return max(1, min(n_features, BLOCK_ENTRIES * n_features // max(1, self._data.size)))

    @property
    def density(self) -> float:
        """The share of entries that are stored."""
        return self._data.size / (self.shape[0] * self.shape[1])

    @property
    def resident_bytes(self) -> int:
        """The bytes of the three arrays."""
        return self._indptr.nbytes + self._indices.nbytes + self._data.nbytes

    def conversion_bytes(self, for_descent: bool) -> int:
        """Return the bytes of the copy that `arranged` makes; 0 where it makes none."""
        if self._data.size > MOST_CONVERTED or self.shape[0] > np.iinfo(np.int32).max:
            return 0
        is_float = self._data.dtype.kind == "f"
        if self._by_column == (for_descent and self.is_tall):
            return self.resident_bytes + (0 if is_float else 3 * self._data.size)
        return 4 * self._data.size if for_descent and self._by_column and not is_float else 0

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return c with c[j - start] = sum_i X[i, j] v[i], start <= j < stop.

        v : (n_samples,) or (n_samples, m) -> (stop - start,) or (stop - start, m). Storage by row
        is read as a whole for any range of columns.
        """
        vectors = as_vectors(v, self.shape, start, stop)
        scores = np.zeros((stop - start, vectors.shape[1]))
        if not scores.size:  # kernels are never called for nothing
            return scores.reshape(stop - start, *v.shape[1:])
        if self._by_column:
            csc_correlate(*self._major(start, stop), vectors, scores, self.n_threads)
        else:
            part = np.empty((self.shape[1], vectors.shape[1]))
            for first, last in self._row_blocks():
                csr_correlate(*self._major(first, last), vectors[first:last], part, self.n_threads)
                scores += part[start:stop]
        return scores.reshape(stop - start, *v.shape[1:])

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return sum_i s_i X[i, j] and sum_i s_i X[i, j]**2, start <= j < stop."""
        weight = as_vectors(weight, self.shape, start, stop)[:, 0]
        total, square = np.zeros(stop - start), np.zeros(stop - start)
        if start == stop:
            return total, square
        if self._by_column:
            csc_moments(*self._major(start, stop), weight, total, square, self.n_threads)
            return total, square
        part, part_square = np.empty(self.shape[1]), np.empty(self.shape[1])
        for first, last in self._row_blocks():
            csr_moments(
                *self._major(first, last), weight[first:last], part, part_square, self.n_threads
            )
            total += part[start:stop]
            square += part_square[start:stop]
        return total, square

    def gather(self, features: IndexArray | slice) -> sp.csc_array[Any]:
        """Return X[:, features] in the given order: csc_array of float64, sorted indices.

        A slice of consecutive columns of float64 CSC with sorted int32 indices shares the memory
        of X, read-only; everything else is a copy.
        """
        n_samples, n_features = self.shape
        if isinstance(features, slice):
            if self._by_column and features.step in (None, 1):
                start, stop, _ = features.indices(n_features)
                return self._share(start, max(start, stop))
            chosen: IndexArray = np.arange(n_features, dtype=np.int64)[features]
        else:
            chosen = as_features(features, n_features)
        if self._by_column:
            columns = compressed(
                *take_columns(self._indptr, self._indices, self._data, chosen), n_samples
            )
            if not self._is_sorted:
                columns.sort_indices()
            return columns
        wanted, place = np.unique(chosen, return_inverse=True)
        position = np.full(n_features, -1, np.int32)
        position[wanted] = np.arange(wanted.size, dtype=np.int32)
        found = csr_gather(
            self._indptr, self._indices, self._data, position, wanted.size, self.n_threads
        )
        if not np.array_equal(wanted, chosen):
            found = take_columns(*found, place)
        return compressed(*found, n_samples)

    def arranged(self, for_descent: bool) -> Sparse:
        """Return the same matrix as solvers want it: itself, or copied once.

        For scans by column: one by row costs several times as much, and a gather a pass. For
        descent of float32 or float64, and by row where `is_tall`. Itself as well where its entries
        are too many for 32 bits or for a copy, see MOST_CONVERTED.
        """
        n_samples, n_features = self.shape
        if self._data.size > MOST_CONVERTED or n_samples > np.iinfo(np.int32).max:
            return self
        indptr, indices, data = self._indptr, self._indices, self._data
        is_sorted, by_column = True, not (for_descent and self.is_tall)
        if self._by_column != by_column:
            n_minor = n_samples if self._by_column else n_features
            indptr, indices, data = csr_to_csc(indptr, indices, data, n_minor, self.n_threads)
        elif for_descent and self._by_column and data.dtype.kind != "f":
            data, is_sorted = data.astype(np.float32), self._is_sorted
        else:
            return self
        return Sparse(
            indptr, indices, data, self.shape,
            by_column=by_column, is_sorted=is_sorted, n_threads=self.n_threads,
        )  # fmt: skip

    @cached_property
    def is_tall(self) -> bool:
        """Whether a Gram matrix of all columns costs about as much as a few passes."""
        n_samples, n_features = self.shape
        if not LEAST_ENTRIES <= self._data.size <= MOST_CONVERTED:
            return False
        if n_features > min(MOST_GRAM_COLUMNS, GRAM_SHARE * n_samples):
            return False
        lengths = np.bincount(self._indices) if self._by_column else np.diff(self._indptr)
        per_row = lengths.astype(np.float64)
        return float(per_row @ (per_row + 1.0)) <= 2.0 * MOST_PRODUCTS * self._data.size

    def combine(self, coef: FloatArray) -> FloatArray | None:
        """Return X coef in one pass over the rows; None for CSC, whose columns are there."""
        if self._by_column:
            return None
        z = np.zeros(self.shape[0])
        csr_combine(self._indptr, self._indices, self._data, coef, z, self.n_threads)
        return z

    def resident_rows(self) -> tuple[NDArray[Any], ...] | None:
        """Return (indptr, indices, data) of CSR where `is_tall`."""
        if self._by_column or not self.is_tall:
            return None
        return self._indptr, self._indices, self._data

    def resident_columns(self) -> tuple[NDArray[Any], ...] | None:
        """Return (indptr, indices, data) of float CSC."""
        if not self._by_column or self._data.dtype.kind != "f":
            return None
        return self._indptr, self._indices, self._data

    def _share(self, start: int, stop: int) -> sp.csc_array[Any]:
        """Return consecutive columns in the memory of X, or sorted where X is not."""
        indptr, indices, data = self._major(start, stop)
        columns = compressed(indptr, _read_only(indices), _read_only(data), self.shape[0])
        if not self._is_sorted:
            columns = columns.copy()
            columns.sort_indices()
        return columns

    def _major(self, first: int, last: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return (indptr, indices, data) of the columns (rows) first..last, as views but indptr."""
        begin, end = int(self._indptr[first]), int(self._indptr[last])
        indptr = self._indptr[first : last + 1]
        return indptr - begin if begin else indptr, self._indices[begin:end], self._data[begin:end]

    def _row_blocks(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows of about ROW_ENTRIES entries, so that Ctrl-C is noticed."""
        first, n_samples = 0, self.shape[0]
        while first < n_samples:
            limit = int(self._indptr[first]) + ROW_ENTRIES
            last = int(np.searchsorted(self._indptr, limit, side="right")) - 1
            last = min(max(last, first + 1), n_samples)
            yield first, last
            first = last


def compressed(
    indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], n_samples: int
) -> sp.csc_array[Any]:
    """Return a csc_array of float64 and, where it can be, int32; without a copy where it is."""
    values = data.astype(np.float64, copy=False)
    if max(n_samples, data.size) <= np.iinfo(np.int32).max:
        indices, indptr = indices.astype(np.int32, copy=False), indptr.astype(np.int32, copy=False)
    columns = sp.csc_array((n_samples, indptr.size - 1))
    # The constructor would copy every slice of a matrix of more than twice its size.
    columns.data, columns.indices, columns.indptr = values, indices, indptr
    return columns


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def take_columns(
    indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], chosen: IndexArray
) -> tuple[IndexArray, NDArray[Any], NDArray[Any]]:
    """Return (indptr, indices, data) of the chosen columns of a CSC storage, copied in order."""
    begin = indptr[chosen].astype(np.int64)
    counts = indptr[chosen + 1] - begin
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    entry = np.arange(starts[-1]) + np.repeat(begin - starts[:-1], counts)
    return starts, indices[entry], data[entry]

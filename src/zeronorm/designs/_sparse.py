"""Sparse storage: compressed columns (CSC) and compressed rows (CSR)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels import (
    audit_indices,
    csc_correlate,
    csc_moments,
    csr_combine,
    csr_correlate,
    csr_gather,
    csr_moments,
    csr_to_csc,
)
from .._typing import Design, FloatArray, IndexArray
from ._dense import NATIVE_TYPES, as_features, as_vectors, check_size

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
    def block(self) -> int:
        """Columns per scan block: about 8 million entries by column, all columns by row."""
        n_features = self.shape[1]
        if not self._by_column:
            return n_features
        return max(1, min(n_features, BLOCK_ENTRIES * n_features // max(1, self._data.size)))

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

    def arranged(self) -> Sparse:
        """Return the same matrix as coordinate descent wants it: itself, or copied once.

        By column, of float32 or float64; by row where `is_tall`. Itself as well where its entries
        are too many for 32 bits or for a copy, see MOST_CONVERTED.
        """
        n_samples, n_features = self.shape
        if self._data.size > MOST_CONVERTED or n_samples > np.iinfo(np.int32).max:
            return self
        indptr, indices, data = self._indptr, self._indices, self._data
        is_sorted = True
        if self._by_column == self.is_tall:
            n_minor = n_samples if self._by_column else n_features
            indptr, indices, data = csr_to_csc(indptr, indices, data, n_minor, self.n_threads)
        elif self._by_column and data.dtype.kind != "f":
            data, is_sorted = data.astype(np.float32), self._is_sorted
        else:
            return self
        return Sparse(
            indptr, indices, data, self.shape,
            by_column=not self.is_tall, is_sorted=is_sorted, n_threads=self.n_threads,
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


def read_sparse(X: Any, n_threads: int) -> Sparse:
    """Return a SciPy sparse matrix of any format as a design; see `as_design`.

    CSC and CSR are read as they are. Only what the kernels cannot read is copied: duplicate
    entries (into a canonical copy), data of other types (narrowed, never widened where a smaller
    type holds the same values), pointers of another type than the indices.
    """
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional (samples by features); got {X.ndim}-D.")
    shape = (int(X.shape[0]), int(X.shape[1]))
    check_size(shape)
    _check_type(X.dtype)
    if X.format not in ("csc", "csr"):
        X = _to_csc(X, shape)
    by_column = X.format == "csc"
    _check_type(X.data.dtype)
    indptr, indices, data = X.indptr, X.indices, X.data
    indptr, indices, is_sorted, has_duplicates = _audit(
        indptr, indices, data, shape, by_column=by_column
    )
    if data.ndim != 1:
        raise ValueError(f"X must store one value per entry; got values of shape {data.shape}.")
    if has_duplicates:
        # Before narrowing: SciPy adds in the type of the caller.
        kind = np.float32 if data.dtype == np.float16 else data.dtype.newbyteorder("=")
        form = sp.csc_array if by_column else sp.csr_array
        canonical = form((data.astype(kind), indices.copy(), indptr.copy()), shape=shape)
        canonical.sum_duplicates()
        indptr, indices = _one_type(canonical.indptr, canonical.indices)
        data = canonical.data
        is_sorted = True
    return Sparse(
        indptr, indices, _narrow(data), shape,
        by_column=by_column, is_sorted=is_sorted, n_threads=n_threads,
    )  # fmt: skip


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


def _check_type(dtype: np.dtype[Any]) -> None:
    if dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: X must hold real numbers; got a sparse {dtype}. "
            "Pass real and imaginary parts as features of their own."
        )
    if dtype.kind not in "fiub":
        raise TypeError(f"X must hold real numbers; got a sparse {dtype}. Convert it first.")


def _to_csc(X: Any, shape: tuple[int, int]) -> Any:
    """Convert any other format once. SciPy trusts coordinates, so they are audited before."""
    if X.format == "lil":
        X = X.tocsr()
    elif X.format == "dok":
        X = X.tocoo()
    if X.format == "coo":
        if not X.row.size == X.col.size == X.data.size:
            raise ValueError(
                f"X has {X.row.size} row indices, {X.col.size} column indices and {X.data.size} "
                "values; the three must be equal. Rebuild the matrix."
            )
        for index, size, name in ((X.row, shape[0], "row"), (X.col, shape[1], "column")):
            wrong = (index < 0) | (index >= size)
            if wrong.any():
                at = int(np.argmax(wrong))
                raise ValueError(
                    f"X has {name} index {index[at]} in entry {at}, but only {size} {name}s; "
                    "rebuild the matrix."
                )
    elif X.format == "csr":
        _audit(X.indptr, X.indices, X.data, shape, by_column=False)
    elif X.format == "bsr":
        height, width = X.blocksize
        _audit(
            X.indptr, X.indices, X.data, (shape[0] // height, shape[1] // width), by_column=False
        )
    elif X.format == "dia":
        offsets, data = X.offsets, X.data
        if offsets.ndim != 1 or data.ndim != 2 or data.shape[0] != offsets.size:
            raise ValueError(
                f"X has offsets of shape {offsets.shape} but diagonals of shape {data.shape}; "
                "every offset needs one row of values. Rebuild the matrix."
            )
        wrong = (offsets <= -shape[0]) | (offsets >= shape[1])
        if wrong.any() or np.unique(offsets).size != offsets.size:
            raise ValueError(
                f"X must have different offsets between {1 - shape[0]} and {shape[1] - 1}; got "
                f"{offsets.tolist()}. Rebuild the matrix."
            )
    return X.tocsc()


def _audit(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    shape: tuple[int, int],
    *,
    by_column: bool,
) -> tuple[NDArray[Any], NDArray[Any], bool, bool]:
    """Check compressed storage; return (indptr, indices) of one type, is_sorted, has_duplicates.

    Raises ValueError with the position in the matrix before anything reads by these indices.
    """
    form, major, minor = ("CSC", "column", "row") if by_column else ("CSR", "row", "column")
    n_major, n_minor = (shape[1], shape[0]) if by_column else shape
    advice = "rebuild the matrix from its row indices, column indices and values."
    for name, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ValueError(
                f"X must have an {name} of integers in one dimension; got {array.ndim}-D "
                f"{array.dtype}; {advice}"
            )
    if indptr.size != n_major + 1:
        raise ValueError(
            f"X has an indptr of length {indptr.size}; {form} storage of {n_major} {major}s has "
            f"one of length {n_major + 1}; {advice}"
        )
    if data.shape[:1] != indices.shape:
        raise ValueError(
            f"X has {indices.size} indices but values of shape {data.shape}; the two must match; "
            f"{advice}"
        )
    indptr, indices = _one_type(indptr, indices)
    bad_indptr, bad_entry, is_sorted, has_duplicates = audit_indices(indptr, indices, n_minor)
    if bad_indptr >= 0:
        before = f" after {indptr[bad_indptr - 1]}" if bad_indptr else ""
        raise ValueError(
            f"X has indptr[{bad_indptr}] = {indptr[bad_indptr]}{before}; indptr must ascend from 0 "
            f"to {indices.size}, the number of stored values; {advice}"
        )
    if indptr[-1] != indices.size:
        raise ValueError(
            f"X has {indices.size} stored values but its indptr ends at {indptr[-1]}; "
            f"call X.prune() or {advice}"
        )
    if bad_entry >= 0:
        place = int(np.searchsorted(indptr, bad_entry, side="right")) - 1
        raise ValueError(
            f"X has {minor} index {indices[bad_entry]} in {major} {place}, but only {n_minor} "
            f"{minor}s; {advice}"
        )
    return indptr, indices, bool(is_sorted), bool(has_duplicates)


def _one_type(indptr: NDArray[Any], indices: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both in one of int32 and int64, contiguous; only `indptr` is copied if it can be."""
    narrow, wide = np.dtype(np.int32), np.dtype(np.int64)
    if indices.dtype not in (narrow, wide) or (
        indptr.dtype != narrow and indices.size >= np.iinfo(np.int32).max
    ):
        # Unsigned values beyond int64 turn negative: as wrong as before, and found.
        indices = indices.astype(wide, copy=False)
    if indptr.dtype != indices.dtype:
        # Clipping keeps what is out of range out of range, in the smaller type too.
        indptr = np.clip(indptr.astype(wide), -1, indices.size + 1).astype(indices.dtype)
    return np.ascontiguousarray(indptr), np.ascontiguousarray(indices)


def _narrow(data: NDArray[Any]) -> NDArray[Any]:
    """Return the stored values in a type of the kernels that holds them all exactly.

    Integers take the smallest one (counts in int64 become uint8); at most the values double in
    size. Only integers above 2**53 and longdouble are rounded.
    """
    native = data.dtype.newbyteorder("=")
    if data.dtype == np.bool_:
        data = data.view(np.uint8)
    elif native in NATIVE_TYPES:
        data = data.astype(native, copy=False)
    elif data.dtype.kind == "f":
        with np.errstate(over="ignore"):  # longdouble beyond float64 becomes infinity
            data = data.astype(np.float32 if data.dtype.itemsize == 2 else np.float64)
    else:
        low, high = (int(data.min()), int(data.max())) if data.size else (0, 0)
        if low >= 0 and high <= np.iinfo(np.uint8).max:
            data = data.astype(np.uint8)
        elif low >= np.iinfo(np.int8).min and high <= np.iinfo(np.int8).max:
            data = data.astype(np.int8)
        else:
            exact = max(-low, high) <= 1 << 24
            data = data.astype(np.float32 if exact else np.float64)
    return np.require(data, requirements=["C", "A"])

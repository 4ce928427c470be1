"""Arrays as designs, in memory or mapped from files: dense ones, and compressed sparse ones."""

from __future__ import annotations

import mmap
import numbers
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels import (
    FLOAT32_SCAN_ERROR,
    audit_indices,
    csc_correlate,
    csc_moments,
    csr_combine,
    csr_correlate,
    csr_gather,
    csr_moments,
    csr_to_csc,
    dense_correlate,
    dense_moments,
)
from ..core.errors import Column, Message, Parameter, ParameterError
from ..core.messages import span
from ..core.types import Design, FloatArray, IndexArray, float64_scan_error
from ..core.validation import check_unmasked, flags

# Dense storage: arrays and memory maps of any order, strides and real type.

NATIVE_TYPES = frozenset(np.dtype(t) for t in (np.float64, np.float32, np.int8, np.uint8))

# One call of a kernel reads about so much: long enough for the threads to be worth their start,
# short enough for Ctrl-C to be noticed at once.
BLOCK_BYTES = 48 << 20
# Elements of a type that the kernels do not read are converted so many at a time.
CONVERTED = 1 << 21
# Columns of row-wise storage that keep one thread busy.
COLUMNS_PER_THREAD = 2048
# Rows gathered at a time from row-wise storage: the lines of the wanted columns stay in the cache.
GATHER_ROWS = 256
SAMPLED_ROWS = 16
MOST_FLOAT32_TERMS = 1 << 20  # of a sum in float32 whose bound is of any use


class Dense(Design):
    """A two-dimensional array as a design; it is read where it lies and never changed.

    Parameters
    ----------
    x : (n_samples, n_features) array of a real type. float32, float64, int8, uint8 and bool are
        read as they are; other types, byte orders and alignments block by block through a copy.
    n_threads : threads of a scan, at least 1.
    """

    def __init__(self, x: NDArray[Any], n_threads: int = 1) -> None:
        if x.dtype == np.bool_:
            x = x.view(np.uint8)
        self._x = x
        self.n_threads = n_threads
        # The type in which the kernels see the elements.
        native = x.dtype.newbyteorder("=")
        self._type = native if native in NATIVE_TYPES else np.dtype(np.float64)
        self._is_native = x.dtype == self._type and _is_aligned(x)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a memory map as where it lies, for other processes to map it too."""
        place = _place_of(self._x)
        if place is None:
            return Dense, (self._x, self.n_threads)
        return _mapped_again, (*place, self.n_threads)

    @property
    def shape(self) -> tuple[int, int]:
        return self._x.shape[0], self._x.shape[1]

    @property
    def storage(self) -> str:
        return f"dense {self._x.dtype}{', mapped' if _is_mapped(self._x) else ''}"

    @property
    def block(self) -> int:
        """Columns per scan block: about 48 MiB; more by row, all of a memory map by row."""
        n_samples, n_features = self.shape
        block = max(1, BLOCK_BYTES // (n_samples * self._type.itemsize))
        if self._by_row:
            # A block cuts every row: rows of a file should be read once and in one piece.
            block = max(block, n_features if _is_mapped(self._x) else self._busy_columns)
        return min(block, n_features)

    @property
    def resident_bytes(self) -> int:
        """The bytes of the array, 0 of a map."""
        return 0 if _is_mapped(self._x) else self._x.nbytes

    @property
    def read_bytes(self) -> int:
        """The bytes of a copy in the type of the kernels, where that is made."""
        return 0 if self._is_native else min(self._x.size, CONVERTED) * self._type.itemsize

    @property
    def scan_error(self) -> float:
        if self._type == np.float64:
            return float64_scan_error(self.shape[0])
        return FLOAT32_SCAN_ERROR

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        vectors = as_vectors(v, self.shape, start, stop)
        scores = np.empty((stop - start, vectors.shape[1]))
        if not scores.size:  # kernels are never called for nothing
            return scores.reshape(stop - start, *v.shape[1:])
        for rows, part, x in self._blocks(start, stop):
            out = scores[part] if rows is None else np.empty_like(scores)
            dense_correlate(x, vectors if rows is None else vectors[rows], out, self.n_threads)
            if rows is not None:
                scores = out if rows.start == 0 else scores + out
        return scores.reshape(stop - start, *v.shape[1:])

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        weight = as_vectors(weight, self.shape, start, stop)[:, 0]
        total, square = np.empty(stop - start), np.empty(stop - start)
        if start == stop:
            return total, square
        for rows, part, x in self._blocks(start, stop):
            if rows is None:
                dense_moments(x, weight, total[part], square[part], self.n_threads)
                continue
            own = np.empty(stop - start), np.empty(stop - start)
            dense_moments(x, weight[rows], *own, self.n_threads)
            total, square = own if rows.start == 0 else (total + own[0], square + own[1])
        return total, square

    def gather(self, features: IndexArray | slice) -> FloatArray:
        """Return X[:, features] in the given order, F-ordered float64.

        A slice of F-ordered float64 storage is a read-only view; everything else is a copy.
        """
        x, n_samples = self._x, self.shape[0]
        if isinstance(features, slice):
            view = x[:, features]
            if self._is_native and self._type == np.float64 and view.flags.f_contiguous:
                view = view.view()
                view.flags.writeable = False
                return view
            chosen: IndexArray | slice = features
            n_columns = view.shape[1]
        else:
            chosen = as_features(features, self.shape[1])
            n_columns = chosen.size
        columns = np.empty((n_samples, n_columns), order="F")
        with np.errstate(over="ignore"):  # longdouble beyond float64 becomes infinity
            if self._by_row:
                for i in range(0, n_samples, GATHER_ROWS):
                    columns[i : i + GATHER_ROWS] = x[i : i + GATHER_ROWS, chosen]
            elif isinstance(chosen, slice):
                columns[:] = x[:, chosen]
            else:
                for position, j in enumerate(chosen):
                    columns[:, position] = x[:, j]
        return columns

    def resident_columns(self) -> tuple[NDArray[Any], ...] | None:
        x = self._x
        if not self._is_native or x.dtype.kind != "f" or _is_mapped(x) or not x.flags.f_contiguous:
            return None
        return (x,)

    def some_rows(self) -> FloatArray:
        """Return a few rows: evenly spaced ones in memory, the first ones of a map."""
        step = 1 if _is_mapped(self._x) else max(1, self.shape[0] // SAMPLED_ROWS)
        with np.errstate(over="ignore"):
            return self._x[: SAMPLED_ROWS * step : step].astype(np.float64)

    def norm_bounds(self) -> FloatArray | None:
        """Return numbers a little above ||x_j||, summed in float32; None where that is no faster.

        Several times faster than moments. Squares that underflow are counted as if they just did
        not; None where some overflow.
        """
        resident = self.resident_columns()
        n_samples, n_features = self.shape
        if resident is None or self._type != np.float32 or n_samples > MOST_FLOAT32_TERMS:
            return None
        square = np.empty(n_features)
        with np.errstate(over="ignore", under="ignore"):
            for start in range(0, n_features, self.block):
                part = resident[0].T[start : start + self.block]
                square[start : start + self.block] = np.vecdot(part, part)
            # Every product and every sum may round, by half of float32's precision.
            square *= 1.0 + 2.0 * n_samples * float(np.finfo(np.float32).eps)
        if not np.isfinite(square).all():
            return None
        return np.asarray(np.sqrt(square + n_samples * float(np.finfo(np.float32).tiny)))

    @property
    def _by_row(self) -> bool:
        row, column = self._x.strides
        return abs(column) < abs(row) and self.shape[0] > 1

    @property
    def _busy_columns(self) -> int:
        return COLUMNS_PER_THREAD * self.n_threads

    def _blocks(self, start: int, stop: int) -> Iterator[tuple[slice | None, slice, NDArray[Any]]]:
        """Yield parts of the columns start..stop of X as a kernel reads them, and where they stand.

        Some rows of all these columns, whose sums are to be added, or all rows (None) of some of
        them, counted from `start`. A file of rows is converted by rows: by columns it would be read
        once for each range of them.
        """
        (n_samples, n_features), whole = self.shape, slice(0, stop - start)
        if self._is_native:
            yield None, whole, self._x[:, start:stop]
            return
        by_rows = self._by_row and _is_mapped(self._x)
        size = max(1, CONVERTED // (n_features if by_rows else n_samples))
        for first in range(0 if by_rows else start, n_samples if by_rows else stop, size):
            last = min(first + size, n_samples if by_rows else stop)
            x = self._x[first:last, start:stop] if by_rows else self._x[:, first:last]
            with np.errstate(over="ignore"):
                converted = x.astype(self._type)
            if by_rows:
                yield slice(first, last), whole, converted
            else:
                yield None, slice(first - start, last - start), converted


def _place_of(x: NDArray[Any]) -> tuple[Any, ...] | None:
    """Return (path, bytes, type, offset, shape, strides) of what is mapped from a file; else None.

    offset : of the first element from the beginning of the file.
    """
    owner: Any = x
    while owner is not None and not isinstance(owner, np.memmap):
        owner = getattr(owner, "base", None)
    # A map that others derived may begin elsewhere: NumPy says where the first one does.
    while owner is not None and isinstance(owner.base, np.memmap):
        owner = owner.base
    if owner is None or owner.filename is None or owner.mode not in ("r", "c"):
        return None
    offset = owner.offset + x.ctypes.data - owner.ctypes.data
    path = os.path.abspath(owner.filename)
    return path, os.path.getsize(path), x.dtype.str, offset, x.shape, x.strides


def _mapped_again(
    path: str,
    size: int,
    dtype: str,
    offset: int,
    shape: tuple[int, int],
    strides: tuple[int, int],
    n_threads: int,
) -> Dense:
    """Return a design of what `_place_of` says, which must be as it was.

    Raises
    ------
    OSError
        Where there is no such file, or where it has another size.
    """
    found = os.path.getsize(path)
    if found != size:
        raise OSError(
            f"{path}: the file changed since it was opened ({size:,} bytes then, {found:,} now)."
        )
    whole = np.memmap(path, np.uint8, "r")
    return Dense(np.ndarray(shape, dtype, whole, offset, strides), n_threads)


def read_dense(X: Any, n_threads: int) -> Dense:
    """Return an array, data frame, nested list or .npy path as a design; see `as_design`."""
    check_unmasked("X", X)
    if isinstance(X, str | os.PathLike):
        x = _open_npy(X)
    else:
        try:
            x = np.asarray(X)
        except ValueError as error:
            raise ParameterError(
                "X",
                "must be a rectangular table of numbers",
                f"a {type(X).__name__} that is none ({error})",
            ) from error
    _check_shape(x, type(X).__name__)
    if x.dtype.kind == "O":
        x = _numbers_of(x)
    check_type(x.dtype, x)
    return Dense(flags("X", x) if x.dtype == np.bool_ else x, n_threads)


def as_vectors(v: FloatArray, shape: tuple[int, int], start: int, stop: int) -> FloatArray:
    """Return v, (n,) or (n, m), as C-ordered float64 (n, m), after checking it and the columns.

    The kernels read without asking: every shape is checked before they are called.
    """
    n_samples, n_features = shape
    if v.ndim not in (1, 2) or v.shape[0] != n_samples:
        raise ParameterError(
            "v",
            Message(f"must have {n_samples} rows (the samples of ", Parameter("X"), ")"),
            f"shape {v.shape}",
        )
    if not 0 <= start <= stop <= n_features:
        raise ValueError(
            Message(
                f"start and stop must be between 0 and {n_features} (the features of ",
                Parameter("X"),
                f") and ascend; got {start} and {stop}.",
            )
        )
    return np.ascontiguousarray(v.reshape(n_samples, -1) if v.ndim == 1 else v, dtype=np.float64)


def as_features(features: IndexArray, n_features: int) -> IndexArray:
    """Return feature indices as int64, after checking that they are indices of columns."""
    chosen = np.asarray(features, dtype=np.int64)
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < n_features):
        wrong = chosen[(chosen < 0) | (chosen >= n_features)][0]
        raise IndexError(
            f"features must be {span(0, n_features - 1)} (the columns of X); got {wrong}."
        )
    return chosen


def _open_npy(path: str | os.PathLike[str]) -> NDArray[Any]:
    name = os.fspath(path)
    try:
        return np.asarray(np.lib.format.open_memmap(name, mode="r"))
    except ValueError as error:
        raise ParameterError(
            "X",
            "must be an array or the path of a .npy file of numbers",
            f"the path {name!r}, which cannot be read as one ({error})",
        ) from error


def _check_shape(x: NDArray[Any], name: str) -> None:
    if x.ndim != 2:
        raise ParameterError(
            "X",
            "must be two-dimensional (samples by features)",
            f"a {name} with {x.ndim} dimension(s), shape {x.shape}",
            "Reshape your data: X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one sample.",
        )
    check_size((x.shape[0], x.shape[1]))


def check_type(dtype: np.dtype[Any], x: Any = None) -> None:
    """Raise where a type is none of real numbers.

    x : the array, for an example of its text; None where it is not in memory.
    """
    if dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: X must hold real numbers; got dtype {dtype}. "
            "Pass real and imaginary parts as features of their own."
        )
    if dtype.kind in "UST":
        example = "" if x is None else f", {str(x[0, 0])!r} at row 0, column 0"
        raise ParameterError(
            "X",
            "must hold numbers",
            f"strings (dtype {dtype}){example}",
            "Encode or convert them first.",
        )
    if dtype.kind not in "fiub":
        raise TypeError(
            f"X must hold real numbers; got dtype {dtype}. Convert its columns to numbers first."
        )


def check_size(shape: tuple[int, int]) -> None:
    """Raise ValueError where there are no rows or no columns, in scikit-learn's words."""
    for size, what in zip(shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )


def _numbers_of(x: NDArray[np.object_]) -> FloatArray:
    """Convert an array of objects once; only numbers are taken, text is not guessed at."""
    if all(issubclass(t, numbers.Real | np.bool_) for t in set(map(type, x.flat))):
        try:
            return x.astype(np.float64)
        except OverflowError:  # an integer beyond float64, which is found below
            pass
    for (row, column), value in np.ndenumerate(x):
        where = Message(f"at row {row}, ", Column(column))
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            rest = "; remove or impute missing values."
            raise ValueError(Message(f"Input X contains NaN ({value!r}) ", where, rest))
        if isinstance(value, str | bytes):
            raise ParameterError(
                "X",
                "must hold numbers",
                Message(f"the text {value!r} ", where),
                "Encode or convert that column first.",
            )
        if isinstance(value, complex | np.complexfloating):
            raise ValueError(
                Message(
                    f"Complex data not supported: got {value!r} ",
                    where,
                    " of ",
                    Parameter("X"),
                    ".",
                )
            )
        try:
            float(value)
        except OverflowError:
            raise ParameterError(
                "X",
                Message("has an integer too large for float64 ", where, "; rescale that column"),
            ) from None
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"X must hold numbers; got another object {where} ({error})."
            ) from error
    return x.astype(np.float64)


def _is_aligned(x: NDArray[Any]) -> bool:
    return x.flags.aligned and all(stride % x.itemsize == 0 for stride in x.strides)


def _is_mapped(x: NDArray[Any]) -> bool:
    owner: Any = x
    while owner is not None:
        if isinstance(owner, np.memmap | mmap.mmap):
            return True
        owner = getattr(owner, "base", None)
    return False


# Sparse storage: compressed columns (CSC) and compressed rows (CSR).

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
        return self._shape

    @property
    def storage(self) -> str:
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
        return self._data.size / (self.shape[0] * self.shape[1])

    @property
    def resident_bytes(self) -> int:
        return self._indptr.nbytes + self._indices.nbytes + self._data.nbytes

    def conversion_bytes(self, for_descent: bool) -> int:
        if self._data.size > MOST_CONVERTED or self.shape[0] > np.iinfo(np.int32).max:
            return 0
        is_float = self._data.dtype.kind == "f"
        if self._by_column == (for_descent and self.is_tall):
            return self.resident_bytes + (0 if is_float else 3 * self._data.size)
        return 4 * self._data.size if for_descent and self._by_column and not is_float else 0

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
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
        if self._by_column or not self.is_tall:
            return None
        return self._indptr, self._indices, self._data

    def resident_columns(self) -> tuple[NDArray[Any], ...] | None:
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


def beside(parts: Sequence[Any], n_samples: int) -> sp.csc_array[Any]:
    """Return the columns of csc_arrays one after the other."""
    begins = np.cumsum([0, *(one.indptr[-1] for one in parts)])
    pointers = [one.indptr[1:] + begin for one, begin in zip(parts, begins, strict=False)]
    indices = np.concatenate([np.empty(0, np.int32), *(one.indices for one in parts)])
    data = np.concatenate([np.empty(0), *(one.data for one in parts)])
    return compressed(np.concatenate([[0], *pointers]), indices, data, n_samples)


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


# SciPy's sparse matrices, of any format, as designs: audited, and copied only where need be.


def read_sparse(X: Any, n_threads: int) -> Sparse:
    """Return a SciPy sparse matrix of any format as a design; see `as_design`.

    CSC and CSR are read as they are. Only what the kernels cannot read is copied: duplicate
    entries (into a canonical copy), data of other types (narrowed, never widened where a smaller
    type holds the same values), pointers of another type than the indices.
    """
    if X.ndim != 2:
        raise ParameterError("X", "must be two-dimensional (samples by features)", f"{X.ndim}-D")
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
        raise ParameterError("X", "must store one value per entry", f"values of shape {data.shape}")
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
            raise ParameterError(
                "X",
                f"has {X.row.size} row indices, {X.col.size} column indices and {X.data.size} "
                "values; the three must be equal",
                "",
                "Rebuild the matrix.",
            )
        for index, size, name in ((X.row, shape[0], "row"), (X.col, shape[1], "column")):
            wrong = (index < 0) | (index >= size)
            if wrong.any():
                at = int(np.argmax(wrong))
                raise ParameterError(
                    "X",
                    f"has {name} index {index[at]} in entry {at}, but only {size} {name}s; "
                    "rebuild the matrix",
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
            raise ParameterError(
                "X",
                f"has offsets of shape {offsets.shape} but diagonals of shape {data.shape}; "
                "every offset needs one row of values",
                "",
                "Rebuild the matrix.",
            )
        wrong = (offsets <= -shape[0]) | (offsets >= shape[1])
        if wrong.any() or np.unique(offsets).size != offsets.size:
            raise ParameterError(
                "X",
                f"must have different offsets between {1 - shape[0]} and {shape[1] - 1}",
                f"{offsets.tolist()}",
                "Rebuild the matrix.",
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
    advice = "rebuild the matrix from its row indices, column indices and values"
    for name, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ParameterError(
                "X",
                f"must have an {name} of integers in one dimension; got {array.ndim}-D "
                f"{array.dtype}; {advice}",
            )
    if indptr.size != n_major + 1:
        raise ParameterError(
            "X",
            f"has an indptr of length {indptr.size}; {form} storage of {n_major} {major}s has "
            f"one of length {n_major + 1}; {advice}",
        )
    if data.shape[:1] != indices.shape:
        raise ParameterError(
            "X",
            f"has {indices.size} indices but values of shape {data.shape}; the two must match; "
            f"{advice}",
        )
    indptr, indices = _one_type(indptr, indices)
    bad_indptr, bad_entry, is_sorted, has_duplicates = audit_indices(indptr, indices, n_minor)
    if bad_indptr >= 0:
        before = f" after {indptr[bad_indptr - 1]}" if bad_indptr else ""
        raise ParameterError(
            "X",
            f"has indptr[{bad_indptr}] = {indptr[bad_indptr]}{before}; indptr must ascend from 0 "
            f"to {indices.size}, the number of stored values; {advice}",
        )
    if indptr[-1] != indices.size:
        raise ParameterError(
            "X",
            f"has {indices.size} stored values but its indptr ends at {indptr[-1]}; "
            f"call X.prune() or {advice}",
        )
    if bad_entry >= 0:
        place = int(np.searchsorted(indptr, bad_entry, side="right")) - 1
        raise ParameterError(
            "X",
            f"has {minor} index {indices[bad_entry]} in {major} {place}, but only {n_minor} "
            f"{minor}s; {advice}",
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
        data = flags("X", data)
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

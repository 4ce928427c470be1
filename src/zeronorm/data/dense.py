"""Dense storage: arrays and memory maps of any order, strides and real type."""

from __future__ import annotations

import mmap
import numbers
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import FLOAT32_SCAN_ERROR, dense_correlate, dense_moments
from ..core.types import Design, FloatArray, IndexArray, float64_scan_error
from ..core.validation import check_unmasked, flags

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
        """(n_samples, n_features)."""
        return self._x.shape[0], self._x.shape[1]

    @property
    def storage(self) -> str:
        """How the numbers are stored, in words."""
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
        """The factor e of |error of c_j| <= e ||x_j|| ||v|| for the scores of `correlate`."""
        if self._type == np.float64:
            return float64_scan_error(self.shape[0])
        return FLOAT32_SCAN_ERROR

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return c with c[j - start] = sum_i X[i, j] v[i], start <= j < stop.

        v : (n_samples,) or (n_samples, m) -> (stop - start,) or (stop - start, m).
        """
        vectors = as_vectors(v, self.shape, start, stop)
        scores = np.empty((stop - start, vectors.shape[1]))
        if not scores.size:  # kernels are never called for nothing
            return scores.reshape(stop - start, *v.shape[1:])
        for first, last, x in self._blocks(start, stop):
            dense_correlate(x, vectors, scores[first - start : last - start], self.n_threads)
        return scores.reshape(stop - start, *v.shape[1:])

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return sum_i s_i X[i, j] and sum_i s_i X[i, j]**2, start <= j < stop."""
        weight = as_vectors(weight, self.shape, start, stop)[:, 0]
        total, square = np.empty(stop - start), np.empty(stop - start)
        if start == stop:
            return total, square
        for first, last, x in self._blocks(start, stop):
            part = slice(first - start, last - start)
            dense_moments(x, weight, total[part], square[part], self.n_threads)
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
        """Return (x,) of a float array in Fortran order."""
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

    def _blocks(self, start: int, stop: int) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Yield (first, last, columns first..last of X as a kernel reads them)."""
        if self._is_native:
            yield start, stop, self._x[:, start:stop]
            return
        width = max(1, CONVERTED // self.shape[0])
        for first in range(start, stop, width):
            last = min(first + width, stop)
            with np.errstate(over="ignore"):
                yield first, last, self._x[:, first:last].astype(self._type)


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
            raise ValueError(
                f"X must be a rectangular table of numbers; got a {type(X).__name__} that is none "
                f"({error})."
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
        raise ValueError(f"v must have {n_samples} rows (the samples of X); got shape {v.shape}.")
    if not 0 <= start <= stop <= n_features:
        raise ValueError(
            f"start and stop must be between 0 and {n_features} (the features of X) and ascend; "
            f"got {start} and {stop}."
        )
    return np.ascontiguousarray(v.reshape(n_samples, -1) if v.ndim == 1 else v, dtype=np.float64)


def as_features(features: IndexArray, n_features: int) -> IndexArray:
    """Return feature indices as int64, after checking that they are indices of columns."""
    chosen = np.asarray(features, dtype=np.int64)
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < n_features):
        wrong = chosen[(chosen < 0) | (chosen >= n_features)][0]
        raise IndexError(
            f"features must be between 0 and {n_features - 1} (the columns of X); got {wrong}."
        )
    return chosen


def _open_npy(path: str | os.PathLike[str]) -> NDArray[Any]:
    name = os.fspath(path)
    try:
        return np.asarray(np.lib.format.open_memmap(name, mode="r"))
    except ValueError as error:
        raise ValueError(
            f"X must be an array or the path of a .npy file of numbers; got the path {name!r}, "
            f"which cannot be read as one ({error})."
        ) from error


def _check_shape(x: NDArray[Any], name: str) -> None:
    if x.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional (samples by features); got a {name} with {x.ndim} "
            f"dimension(s), shape {x.shape}. Reshape your data: X.reshape(-1, 1) for one feature, "
            "X.reshape(1, -1) for one sample."
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
        raise ValueError(
            f"X must hold numbers; got strings (dtype {dtype}){example}. Encode or convert them "
            "first."
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
        where = f"at row {row}, column {column}"
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            raise ValueError(
                f"Input X contains NaN ({value!r}) {where}; remove or impute missing values."
            )
        if isinstance(value, str | bytes):
            raise ValueError(
                f"X must hold numbers; got the text {value!r} {where}. "
                "Encode or convert that column first."
            )
        if isinstance(value, complex | np.complexfloating):
            raise ValueError(f"Complex data not supported: got {value!r} {where} of X.")
        try:
            float(value)
        except OverflowError:
            raise ValueError(
                f"X has an integer too large for float64 {where}; rescale that column."
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

"""Data that are not in memory, as h5py, zarr, anndata and xarray hand them out, read by blocks.

A reader knows how its array is cut into chunks, and reads so that a pass over all blocks reads
every chunk once. No library is imported here: an array is known by what it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels import FLOAT32_SCAN_ERROR
from ..core.errors import Message, ParameterError
from ..core.memory import available_memory, readable
from ..core.types import Design, FloatArray, IndexArray, Stored, float64_scan_error
from ..core.validation import check_unmasked, flags
from .arrays import (
    NATIVE_TYPES,
    SAMPLED_ROWS,
    Dense,
    as_features,
    as_vectors,
    check_size,
    check_type,
    compressed,
    read_sparse,
)
from .views import IN_MEMORY, as_slice, feature_blocks

# What one read brings into memory: a block of an array, or entries of a sparse matrix.
READ_BYTES = 48 << 20
READ_ENTRIES = 1 << 22


class Reader(ABC):
    """A matrix that is read by blocks; `slabs` and `chunks` say along which lines it is cut.

    Parameters
    ----------
    shape : (n_samples, n_features).
    dtype : of the numbers.
    slabs : (m + 1,) the rows where reads are cut, from 0 to n_samples: sums over the rows are sums
        of these parts in order. They follow from the array alone, so that sums do not depend on
        which columns are read together.
    note : what reading it costs more than it need, or "".
    """

    is_sparse = False
    density = 1.0  # the share of entries that are stored

    def __init__(
        self, shape: tuple[int, int], dtype: np.dtype[Any], slabs: list[int], note: str = ""
    ) -> None:
        self.shape, self.dtype, self.slabs, self.note = shape, dtype, slabs, note

    @property
    @abstractmethod
    def block(self) -> int:
        """Columns that are read together; all of them where the array is cut by rows."""

    @abstractmethod
    def blocks(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of columns (first, last) that cover start..stop, for a read each."""

    @property
    @abstractmethod
    def gap(self) -> int:
        """Columns that nobody wants and that are read with others for less than a read costs."""

    @abstractmethod
    def read(self, top: int, bottom: int, first: int, last: int) -> Any:
        """Return X[top:bottom, first:last]: an array, or a SciPy matrix in CSC or CSR."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The size of the matrix in memory."""

    @property
    @abstractmethod
    def read_bytes(self) -> int:
        """The bytes that a read needs at its peak."""

    def tiles(self, start: int, stop: int) -> Iterator[tuple[int, int, int, int, Any]]:
        """Yield (top, bottom, first, last, X[top:bottom, first:last]) over start..stop, by rows."""
        for top, bottom in pairwise(self.slabs):
            for first, last in self.blocks(start, stop):
                yield top, bottom, first, last, self.read(top, bottom, first, last)

    def around(self, features: IndexArray) -> Iterator[tuple[int, int, IndexArray]]:
        """Yield (first, last, those within) for ascending features, for a read each."""
        place = 0
        while place < features.size:
            first, last = next(iter(self.blocks(int(features[place]), self.shape[1])))
            end = int(np.searchsorted(features, last))
            far = np.flatnonzero(np.diff(features[place:end]) > self.gap)
            end = place + int(far[0]) + 1 if far.size else end
            wanted = features[place:end]
            if self.gap < self.shape[1]:
                first, last = int(wanted[0]), int(wanted[-1]) + 1
            yield first, last, wanted
            place = end


class ArrayReader(Reader):
    """An array with `shape`, `dtype` and slicing, as those of h5py, zarr and xarray.

    Parameters
    ----------
    array : two-dimensional.
    chunks : (rows, columns) that are stored as one; None: single columns.
    """

    def __init__(self, array: Any, chunks: tuple[int, int] | None, note: str = "") -> None:
        dtype = np.dtype(array.dtype)
        shape = (int(array.shape[0]), int(array.shape[1]))
        check_size(shape)
        check_type(dtype)
        tall, wide = (shape[0], 1) if chunks is None else chunks
        self._array = array
        tall, self._wide = max(1, min(tall, shape[0])), max(1, min(wide, shape[1]))
        step, size = shape[0], dtype.itemsize
        if dtype.newbyteorder("=") not in NATIVE_TYPES and dtype != np.bool_:
            size = 8  # as the kernels read it
        if step * self._wide * size > READ_BYTES:
            step = max(1, READ_BYTES // (self._wide * size * tall)) * tall
        slabs = [*range(0, shape[0], step), shape[0]]
        super().__init__(shape, dtype, slabs, note)
        room = max(1, READ_BYTES // (min(step, shape[0]) * size))
        self._step = max(1, room // self._wide) * self._wide
        check_chunk(array, tall * self._wide * dtype.itemsize)

    @property
    def block(self) -> int:
        """Columns that are read together; all of them where rows are stored as wholes."""
        if len(self.slabs) > 2 and self._wide == self.shape[1]:
            return self.shape[1]
        return int(min(self._step, self.shape[1]))

    @property
    def nbytes(self) -> int:
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    @property
    def read_bytes(self) -> int:
        """The bytes of a block as it is stored and as the kernels read it."""
        tall = max(bottom - top for top, bottom in pairwise(self.slabs))
        size = tall * self.block * self.dtype.itemsize
        native = self.dtype.newbyteorder("=") in NATIVE_TYPES or self.dtype == np.bool_
        return int(1.25 * size if native else size + tall * self.block * 8)

    @property
    def gap(self) -> int:
        return int(self._wide)

    def blocks(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of columns that end where chunks do."""
        first = start
        while first < stop:
            last = min(first - first % self._wide + self._step, stop)
            yield first, last
            first = last

    def read(self, top: int, bottom: int, first: int, last: int) -> NDArray[Any]:
        found = fetch(self._array, (slice(top, bottom), slice(first, last)))
        if found.shape != (bottom - top, last - first) or found.dtype != self.dtype:
            raise OSError(
                f"X, a {name_of(self._array)}, gave an array of shape {found.shape} of "
                f"{found.dtype} for {bottom - top} rows and {last - first} columns of "
                f"{self.dtype}. It must be cut by X[rows, columns] as NumPy's arrays are, and not "
                "change while it is read."
            )
        return found


class SparseReader(Reader):
    """A sparse matrix whose arrays are stored one by one, as AnnData and 10x have them.

    Parameters
    ----------
    indptr, indices, data : with `shape`, `dtype` and slicing; only `indptr` is loaded.
    shape : (n_samples, n_features).
    by_column : whether `indptr` cuts columns (CSC), else rows (CSR).
    """

    is_sparse = True

    def __init__(
        self,
        indptr: Any,
        indices: Any,
        data: Any,
        shape: tuple[int, int],
        *,
        by_column: bool,
        note: str = "",
    ) -> None:
        check_size(shape)
        check_type(np.dtype(data.dtype))
        self._indices, self._data, self.by_column = indices, data, by_column
        self._indptr = _pointers(indptr, indices, data, shape[1] if by_column else shape[0])
        self._n_entries = int(self._indptr[-1])
        slabs = [0, shape[0]] if by_column else self._cuts(0, shape[0])
        super().__init__(shape, np.dtype(data.dtype), slabs, note)
        self.density = self._n_entries / (shape[0] * shape[1])
        # The last chunk of the last read: the next one begins in it.
        self._chunk = max(1, *(int((chunks_of(part) or (1,))[0]) for part in (indices, data)))
        self._kept: tuple[int, Any, Any] | None = None
        check_chunk(data, self._chunk * (self.dtype.itemsize + np.dtype(indices.dtype).itemsize))

    @property
    def block(self) -> int:
        """Columns that are read together, of about so many entries; by row all of them."""
        if not self.by_column:
            return self.shape[1]
        per_column = max(1, self._n_entries // self.shape[1])
        return int(min(max(1, READ_ENTRIES // per_column), self.shape[1]))

    @property
    def nbytes(self) -> int:
        per_entry = self.dtype.itemsize + np.dtype(self._indices.dtype).itemsize
        return int(self._n_entries * per_entry + self._indptr.nbytes)

    @property
    def read_bytes(self) -> int:
        """The bytes of the entries of a block, some of them twice, and of the pointers."""
        per_entry = self.dtype.itemsize + np.dtype(self._indices.dtype).itemsize
        entries = min(READ_ENTRIES + self._chunk, self._n_entries)
        return int(1.5 * entries * per_entry + self._indptr.nbytes)

    @property
    def gap(self) -> int:
        """Columns of about a chunk; by row all of them."""
        n_features = self.shape[1]
        per_chunk = self._chunk * n_features // max(1, self._n_entries)
        return int(per_chunk) if self.by_column else n_features

    def blocks(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of columns of at most so many entries each; by row all columns."""
        yield from pairwise(self._cuts(start, stop)) if self.by_column else [(0, self.shape[1])]

    def read(self, top: int, bottom: int, first: int, last: int) -> Any:
        """Return X[top:bottom, first:last], whole rows where they are stored, else columns."""
        major = (first, last) if self.by_column else (top, bottom)
        begin, end = int(self._indptr[major[0]]), int(self._indptr[major[1]])
        indices, data = self._entries(begin, end)
        indptr = self._indptr[major[0] : major[1] + 1] - begin
        if self.by_column:
            return _compressed(sp.csc_array, indptr, indices, data, (self.shape[0], last - first))
        return _compressed(sp.csr_array, indptr, indices, data, (bottom - top, self.shape[1]))

    def _cuts(self, start: int, stop: int) -> list[int]:
        """Return where reads of the columns (rows) start..stop are cut."""
        cuts = [start]
        while cuts[-1] < stop:
            limit = int(self._indptr[cuts[-1]]) + READ_ENTRIES
            last = int(np.searchsorted(self._indptr, limit, side="right")) - 1
            cuts.append(min(max(last, cuts[-1] + 1), stop))
        return cuts

    def _entries(self, begin: int, end: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return indices and values begin..end; whole chunks are read, and the last one is kept."""
        last = min(-(-end // self._chunk) * self._chunk, self._n_entries)
        first = begin - begin % self._chunk
        kept = self._kept
        if last <= first:
            indices, data = fetch(self._indices, slice(0, 0)), fetch(self._data, slice(0, 0))
        elif kept is None or kept[0] != first:
            indices, data = (
                fetch(part, slice(first, last)) for part in (self._indices, self._data)
            )
        else:
            indices, data = kept[1:]
            rest = slice(first + indices.size, last)
            if rest.start < last:
                indices = np.concatenate([indices, fetch(self._indices, rest)])
                data = np.concatenate([data, fetch(self._data, rest)])
        if indices.shape != (max(0, last - first),) or data.shape != indices.shape:
            raise OSError(
                f"X, a {name_of(self._data)}, gave {indices.size} indices and {data.size} values "
                f"for {last - first} entries. It must not change while it is read."
            )
        if last <= first:
            return indices, data
        tail = last - 1 - (last - 1) % self._chunk
        at = tail - first
        self._kept = tail, indices[at:].copy(), data[at:].copy()
        return indices[begin - first : end - first], data[begin - first : end - first]


def fetch(array: Any, where: Any) -> NDArray[Any]:
    """Return a part of an array that is not in memory, as it is stored now."""
    try:
        found = array[where]
        check_unmasked("X", found)
        found = np.asarray(found)
        gone = _metadata(array)
        if gone is not None and not gone.exists():  # zarr takes chunks that are gone for zeros
            raise FileNotFoundError(f"{gone} is gone")
    except ValueError as error:
        if "masked" in str(error):
            raise
        raise unreadable(array, error) from error
    except Exception as error:
        raise unreadable(array, error) from error
    if found.dtype == np.bool_:
        flags(f"X, a {name_of(array)}", np.atleast_1d(found))
    return found


def unreadable(array: Any, error: Exception) -> OSError:
    """Return the error of a read that failed."""
    return OSError(
        f"X, a {name_of(array)}, could not be read ({type(error).__name__}: {error}). Its file "
        "must stay open, where it is, and as it is until the fit has ended."
    )


def name_of(array: Any) -> str:
    """Return the type of an object and its library, for messages."""
    kind = type(array)
    return f"{kind.__module__.split('.')[0]}.{kind.__name__}"


def check_chunk(array: Any, size: int) -> None:
    """Raise MemoryError where a chunk alone is more than the memory has room for."""
    free = available_memory()
    if size > free:
        raise MemoryError(
            f"X, a {name_of(array)}, has chunks of {readable(size)}, and {readable(free)} of "
            "memory are available: a chunk is read as a whole. Write it again in smaller ones, of "
            "few columns each."
        )


def chunks_of(array: Any) -> tuple[int, ...] | None:
    """Return the sizes of the chunks of an array, None where it does not tell."""
    chunks = getattr(array, "chunks", None)
    if chunks is None:  # xarray, of files that it has not loaded
        encoding = getattr(array, "encoding", None)
        chunks = encoding.get("chunksizes") if isinstance(encoding, dict) else None
    if not isinstance(chunks, tuple):
        return None
    sizes = [max(size) if isinstance(size, tuple) and size else size for size in chunks]
    return tuple(sizes) if all(isinstance(size, int) and size > 0 for size in sizes) else None


def _metadata(array: Any) -> Path | None:
    """Return the file that describes an array of zarr, where that is a folder here."""
    root = getattr(getattr(array, "store", None), "root", None)
    if not isinstance(root, Path):
        return None
    folder = root / getattr(array, "path", "")
    return folder / ("zarr.json" if array.metadata.zarr_format == 3 else ".zarray")


def _pointers(indptr: Any, indices: Any, data: Any, n_major: int) -> NDArray[np.int64]:
    """Return the pointers of a sparse matrix, checked: by them its entries are read."""
    found = fetch(indptr, slice(None))
    sizes = int(indices.shape[0]), int(data.shape[0])
    good = found.ndim == 1 and found.dtype.kind in "iu" and found.size == n_major + 1
    good = good and np.dtype(indices.dtype).kind in "iu"
    if good:
        found = found.astype(np.int64)
        good = bool(found[0] == 0 and (np.diff(found) >= 0).all())
    if not good or sizes[0] != sizes[1] or int(found[-1]) != sizes[0]:
        raise ParameterError(
            "X",
            f"must be a sparse matrix with an indptr of {n_major + 1} integers that ascend from "
            "0 to the number of its entries",
            f"one of shape {found.shape} for {sizes[0]} indices and {sizes[1]} values",
            "Write the matrix again.",
        )
    return found


def _compressed(kind: Any, indptr: Any, indices: Any, data: Any, shape: tuple[int, int]) -> Any:
    """Return a SciPy matrix without a look at its indices, which `read_sparse` checks."""
    matrix = kind(shape, dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    return matrix


KEPT_BYTES = 64 << 20  # of gathered columns, since some are asked for again and again


class Chunked(Design):
    """A matrix that a `Reader` reads block by block; every block is a design in memory for a while.

    A pass reads every chunk of the source once. Where the source is cut by rows, scores are sums
    over its slabs of rows in order; slabs do not depend on the columns of a call, and so the bits
    of a score do not either. Of a source in one slab they are those of the array in memory.

    Parameters
    ----------
    reader : of the source, which must stay open and as it is.
    n_threads : threads of a scan, at least 1.
    """

    def __init__(self, reader: Reader, n_threads: int = 1) -> None:
        self.reader, self.n_threads = reader, n_threads
        self.is_sparse = reader.is_sparse
        native = reader.dtype.newbyteorder("=")
        self._type = native if native in NATIVE_TYPES else np.dtype(np.float64)
        if native == np.bool_:
            self._type = np.dtype(np.uint8)
        self._kept: OrderedDict[int, Any] = OrderedDict()  # columns, by feature
        self._largest = 1  # bytes of one of them

    @property
    def shape(self) -> tuple[int, int]:
        return self.reader.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.reader.dtype

    @property
    def storage(self) -> str:
        return f"{'sparse' if self.is_sparse else 'dense'} {self.reader.dtype}, read by blocks"

    @property
    def block(self) -> int:
        """Columns per scan block, whole chunks; all of them where the source is cut by rows."""
        return self.reader.block

    @property
    def density(self) -> float:
        return self.reader.density

    @property
    def note(self) -> str:
        return self.reader.note

    @property
    def read_bytes(self) -> int:
        """The bytes of a block, as it is read and as the kernels take it, and of kept columns."""
        size = 8 * self.shape[0] * self.shape[1] * self.density
        return self.reader.read_bytes + int(min(KEPT_BYTES // 4, size))

    @property
    def scan_error(self) -> float:
        """The error of a scan of the array in memory, and that of the sum of its slabs."""
        if self.is_sparse or self._type == np.float64:
            return float64_scan_error(self.shape[0])
        return FLOAT32_SCAN_ERROR + float64_scan_error(len(self.reader.slabs))

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        vectors = as_vectors(v, self.shape, start, stop)
        scores = np.zeros((stop - start, vectors.shape[1]))
        for rows, own, columns, part in self._parts(start, stop):
            scores[own] += part.correlate(vectors[rows], columns.start, columns.stop)
        return scores.reshape(stop - start, *v.shape[1:])

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        weight = as_vectors(weight, self.shape, start, stop)[:, 0]
        total, square = np.zeros(stop - start), np.zeros(stop - start)
        for rows, own, columns, part in self._parts(start, stop):
            sums, squares = part.moments(weight[rows], columns.start, columns.stop)
            total[own] += sums
            square[own] += squares
        return total, square

    def gather(self, features: IndexArray | slice) -> Stored:
        """Return the columns in the given order: F-ordered float64, or a csc_array if sparse.

        Those that were gathered last are kept, up to 64 MiB of them.
        """
        n_features = self.shape[1]
        if isinstance(features, slice):
            features = np.arange(n_features, dtype=np.int64)[features]
        chosen = as_features(features, n_features)
        wanted, place = np.unique(chosen, return_inverse=True)
        columns = self._sparse(wanted) if self.is_sparse else self._dense(wanted)
        if np.array_equal(wanted, chosen):
            return columns
        return columns[:, place] if self.is_sparse else np.asfortranarray(columns[:, place])

    def some_rows(self) -> FloatArray | None:
        """Return the first rows; None for sparse data, which are never centred."""
        if self.is_sparse:
            return None
        n_samples, n_features = self.shape
        rows = np.empty((min(SAMPLED_ROWS, n_samples), n_features))
        with np.errstate(over="ignore"):
            for first, last in self.reader.blocks(0, n_features):
                rows[:, first:last] = self.reader.read(0, len(rows), first, last)
        return rows

    def combine(self, coef: FloatArray) -> FloatArray:
        z = np.zeros(self.shape[0])
        for rows, own, columns, part in self._parts(0, self.shape[1]):
            z[rows] += _times(part, coef[own], columns)
        return z

    def _parts(self, start: int, stop: int) -> Iterator[tuple[slice, slice, slice, Design]]:
        """Yield (rows, columns of the answer, columns of the part, part in memory), by rows."""
        if start == stop:
            return
        for top, bottom, first, last, values in self.reader.tiles(start, stop):
            low, high = max(first, start), min(last, stop)
            part = self._in_memory(values, top, first)
            yield (
                slice(top, bottom),
                slice(low - start, high - start),
                slice(low - first, high - first),
                part,
            )

    def _in_memory(self, values: Any, top: int, first: int) -> Design:
        """Return a part of X that begins at a row and a column as a design."""
        if not sp.issparse(values):
            return Dense(_by_row(values.astype(self._type, copy=False)), self.n_threads)
        try:
            return read_sparse(values, self.n_threads)
        except ValueError as error:
            where = f" These numbers are counted from row {top} and column {first}."
            raise ValueError(Message(error, where)) from None

    def _gathered(self, features: IndexArray) -> Iterator[tuple[int, int, IndexArray, Any]]:
        """Yield (top, bottom, some of the features, their columns there), by rows."""
        for top, bottom in pairwise(self.reader.slabs):
            for first, last, wanted in self.reader.around(features):
                part = self._in_memory(self.reader.read(top, bottom, first, last), top, first)
                yield top, bottom, wanted, part.gather(wanted - first)

    def _dense(self, features: IndexArray) -> FloatArray:
        """Return ascending columns, F-ordered, those at hand without reading them."""
        out = np.empty((self.shape[0], features.size), order="F")
        known = np.array([int(j) in self._kept for j in features], bool)
        for place in np.flatnonzero(known):
            out[:, place] = self._kept[int(features[place])]
        for top, bottom, wanted, columns in self._gathered(features[~known]):
            out[top:bottom, np.searchsorted(features, wanted)] = columns
        self._keep(features, lambda place: out[:, place].copy(), out[:, :1].nbytes)
        return out

    def _sparse(self, features: IndexArray) -> sp.csc_array[Any]:
        """Return ascending columns, those at hand without reading them."""
        found: dict[int, Any] = {int(j): self._kept.get(int(j), []) for j in features}
        new = np.array([j for j, column in found.items() if not column], np.int64)
        for top, _, wanted, columns in self._gathered(new):
            for place, j in enumerate(wanted.tolist()):
                own = slice(columns.indptr[place], columns.indptr[place + 1])
                found[j].append((columns.indices[own] + top, columns.data[own].copy()))
        for j in new.tolist():
            parts = zip(*found[j], strict=True)
            found[j] = [tuple(np.concatenate(part) for part in parts)]
        columns = [found[int(j)][0] for j in features]
        sizes = [indices.size for indices, _ in columns]
        self._keep(features, lambda place: [columns[place]], 12 * max(sizes, default=0))
        indptr = np.cumsum([0, *sizes])
        indices = np.concatenate([np.empty(0, np.int32), *(one for one, _ in columns)])
        values = np.concatenate([np.empty(0), *(one for _, one in columns)])
        return compressed(indptr, indices, values, self.shape[0])

    def _keep(self, features: IndexArray, column: Callable[[int], Any], size: int) -> None:
        """Keep columns for the next time: the last ones that were asked for, as there is room.

        size : bytes of the largest of them.
        """
        self._largest = max(self._largest, size, 1)
        room = KEPT_BYTES // self._largest
        for place in range(max(0, features.size - room), features.size):
            j = int(features[place])
            self._kept[j] = self._kept.pop(j) if j in self._kept else column(place)
        while len(self._kept) > room:
            self._kept.popitem(last=False)


def _by_row(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array by row, a single column too: the order of sums follows that of memory."""
    if values.shape[1] > 1:
        return np.ascontiguousarray(values)
    wide = np.empty((len(values), 2), values.dtype)
    wide[:, :1] = values
    return wide[:, :1]


def _times(part: Design, coef: FloatArray, columns: slice) -> FloatArray:
    """Return X[:, columns] coef of a design in memory; it may be infinite or NaN."""
    if columns == slice(0, part.shape[1]):
        found = part.combine(np.ascontiguousarray(coef))
        if found is not None:
            return found
    z = np.zeros(part.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):
        for some in feature_blocks(np.arange(columns.start, columns.stop), z.size, IN_MEMORY):
            gathered: Any = part.gather(as_slice(some))
            z += gathered @ coef[some - columns.start]
    return z

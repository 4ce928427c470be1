"""A store on disk: blocks of columns, dense or sparse, each mapped while a scan reads it."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels import FLOAT32_SCAN_ERROR, audit_indices
from ..core.memory import available_memory
from ..core.types import Design, FloatArray, IndexArray, Stored, float64_scan_error
from .beside import InParts
from .dense import SAMPLED_ROWS, Dense, as_features
from .filled import Filled
from .sparse import Sparse, compressed
from .zarr import METADATA, StoreError, ZarrArray, open_array, read_node, read_texts

KEPT_SHARE = 0.25  # of the available memory, of maps that stay
FILES_EACH = 4  # that a thread reads in a call of a scan: threads wait for each other at its end
LATEST = 2  # version of the layout: 1 where no cell is missing
OWN = "zeronorm"  # attribute of a store's group that has the version
INDEX = "_index"  # names of rows of `obs` and `var`
GAPS = Path("uns", "missing")  # cells that are 0 in X and stand for means: `indptr` and `rows`


class Store(InParts):
    """A matrix in a store, (n_samples, n_features): a directory that `zeronorm.convert` wrote.

    A block of columns is a file that is mapped while it is read, so that a store may be larger than
    memory; a file that is missing, of another size than it should be or with other bytes than were
    written is an error when it is first read. The store is found again by its path, in other
    processes too.

    Parameters
    ----------
    path : the directory.
    n_threads : threads of a scan, at least 1.
    """

    def __init__(self, path: Path, n_threads: int = 1) -> None:
        self.path, self.n_threads = path, n_threads
        self._own = read_node(path)["attributes"][OWN]

    def __reduce__(self) -> tuple[Any, ...]:
        return open_store, (self.path, self.n_threads)

    @cached_property
    def feature_names(self) -> list[str] | None:
        """The names of the columns; None where they have numbers alone."""
        return read_texts(self.path / "var" / INDEX) if self._own["named"] else None

    @property
    def has_samples(self) -> bool:
        """Whether the samples have names."""
        return bool(self._own["samples named"])

    @property
    def first_index(self) -> int:
        """What the data called the first column where columns have numbers alone."""
        return int(self._own["first index"])

    @property
    def codings(self) -> Any:
        """How features came from columns of a table, as records that are not checked."""
        return self._own.get("codings", [])

    @property
    def gaps(self) -> tuple[IndexArray, IndexArray] | None:
        """The cells that were empty, (indptr, rows) by column; None where there are none."""
        if self._own["version"] < LATEST:
            return None
        indptr, rows = (open_array(self.path / GAPS / name).whole() for name in ("indptr", "rows"))
        n_samples, n_features = self.shape
        ends = indptr.shape == (n_features + 1,) and indptr[0] == 0 and indptr[-1] == rows.size
        if not ends or (np.diff(indptr) < 0).any() or not ((rows >= 0) & (rows < n_samples)).all():
            raise StoreError(f"{self.path / GAPS}: no places in X; convert the data again.")
        return indptr.astype(np.int64), rows.astype(np.int64)

    @property
    def storage(self) -> str:
        """How X is stored, in words."""
        return f"{'sparse' if self.is_sparse else 'dense'} {self.dtype.name}, mapped by blocks"

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""

    @property
    def block(self) -> int:
        """Columns per scan block: those of some files for each thread."""
        return min(self.shape[1], self._width * FILES_EACH * self.n_threads)

    def gather(self, features: IndexArray | slice) -> Stored:
        """Return the columns in the given order: F-ordered float64, or a csc_array if sparse."""
        n_features = self.shape[1]
        if isinstance(features, slice):
            features = np.arange(n_features, dtype=np.int64)[features]
        return self._gathered(as_features(features, n_features))

    def _each_part(
        self, start: int, stop: int, act: Callable[[Design, int, int, int], None]
    ) -> None:
        """Let every thread read files of its own where there are enough of them."""
        if self.n_threads == 1 or stop - start < 2 * self.n_threads * self._width:
            super()._each_part(start, stop, act)
            return
        cuts, turn = self._cuts(start, stop), Lock()

        def work(_: int) -> None:
            while True:
                with turn:
                    cut = next(cuts, None)
                if cut is None:
                    return
                part, low, high = self._within(*cut)  # a file is mapped when its turn has come
                part.n_threads = 1
                act(part, low, high, cut[0] - start)

        with ThreadPoolExecutor(self.n_threads) as pool:
            list(pool.map(work, range(self.n_threads)))

    def _parts(self, start: int, stop: int) -> Iterator[tuple[Design, int, int, int]]:
        for cut in self._cuts(start, stop):
            yield *self._within(*cut), cut[0] - start

    @abstractmethod
    def _cuts(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield runs of columns: those within a file, or one that is in more than one."""

    @abstractmethod
    def _within(self, first: int, last: int) -> tuple[Design, int, int]:
        """Return a design that has the columns of a run, and which of its own they are."""

    @property
    @abstractmethod
    def _width(self) -> int:
        """The columns of a file, about."""

    @abstractmethod
    def _gathered(self, features: IndexArray) -> Stored:
        """Return columns in the given order."""


class _Mapped:
    """The chunks of an array, mapped once where memory is large for them, or for every use anew.

    To map a file anew costs a third of reading it from the memory of the system. Maps that stay
    count as memory of this process where that is limited, and their tables are memory.
    """

    def __init__(self, array: ZarrArray) -> None:
        self.array = array
        total, most = array.n_chunks * array.chunk_bytes, KEPT_SHARE * available_memory()
        self._kept: dict[int, NDArray[Any]] | None = {} if total <= most else None

    def __call__(self, number: int) -> NDArray[Any]:
        """Return a chunk, whose file has been looked at."""
        if self._kept is None:
            return _native(self.array.mapped(number))
        self.array.look_at(number)
        if number not in self._kept:
            self._kept[number] = _native(self.array.mapped(number))
        return self._kept[number]


class DenseStore(Store):
    """The matrix of a store in which zeros are stored."""

    def __init__(self, path: Path, n_threads: int = 1) -> None:
        super().__init__(path, n_threads)
        self._x = open_array(path / "X")
        self._chunk = _Mapped(self._x)
        if len(self._x.shape) != 2:
            raise StoreError(f"{path}: X must have two dimensions; got {self._x.shape}.")

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self._x.shape[0], self._x.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self._x.dtype

    @property
    def _width(self) -> int:
        return self._x.chunk[1]

    @property
    def scan_error(self) -> float:
        """That of the type that is stored: see `Dense`."""
        wide = self._x.dtype.itemsize > 1 and self._x.dtype != np.float32
        return float64_scan_error(self.shape[0]) if wide else FLOAT32_SCAN_ERROR

    def some_rows(self) -> FloatArray:
        """Return the first rows."""
        rows = np.empty((min(SAMPLED_ROWS, self.shape[0]), self.shape[1]))
        for number in range(self._x.n_chunks):
            own = slice(number * self._x.chunk[1], (number + 1) * self._x.chunk[1])
            rows[:, own] = self._chunk(number)[: len(rows), : rows[:, own].shape[1]]
        return rows

    def _cuts(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        first = start
        while first < stop:
            last = min((first // self._width + 1) * self._width, stop)
            yield first, last
            first = last

    def _within(self, first: int, last: int) -> tuple[Design, int, int]:
        number = first // self._width
        begin = number * self._width
        return self._part(number), first - begin, last - begin

    def _part(self, number: int) -> Dense:
        return Dense(self._chunk(number), self.n_threads)

    def _gathered(self, features: IndexArray) -> FloatArray:
        out = np.empty((self.shape[0], features.size), order="F")
        owner = features // self._x.chunk[1]
        for number in np.unique(owner):
            places = np.flatnonzero(owner == number)
            own = features[places] - number * self._x.chunk[1]
            out[:, places] = self._part(int(number)).gather(own)
        return out


class SparseStore(Store):
    """The matrix of a store by column, in which zeros are not stored.

    The entries of all columns follow each other in files of equal length; a column that begins in
    one file and ends in another is copied when it is read.
    """

    is_sparse = True

    def __init__(self, path: Path, n_threads: int = 1) -> None:
        super().__init__(path, n_threads)
        attributes = read_node(path / "X").get("attributes", {})
        try:
            n_samples, n_features = (int(size) for size in attributes["shape"])
        except (KeyError, TypeError, ValueError):
            raise StoreError(f"{path / 'X'}: has no shape; convert the data again.") from None
        self._shape = n_samples, n_features
        self._data, self._indices = open_array(path / "X" / "data"), open_array(path / "X/indices")
        self._chunks = _Mapped(self._indices), _Mapped(self._data)
        pointers, entries = open_array(path / "X" / "indptr"), self._data.shape
        alike = self._indices.shape == entries and self._indices.chunk == self._data.chunk
        sound = alike and pointers.shape == (n_features + 1,) and self._indices.dtype == np.int32
        if sound:
            self._indptr = pointers.whole().astype(np.int64)
            sound = (self._indptr[0], self._indptr[-1]) == (0, *entries)
        if not sound or (np.diff(self._indptr) < 0).any():
            raise StoreError(
                f"{path}: the pointers, indices and values of X do not belong to each other; "
                "convert the data again."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self._data.dtype

    @property
    def _width(self) -> int:
        return max(1, self._data.chunk[0] * self.shape[1] // max(1, self._data.shape[0]))

    @property
    def scan_error(self) -> float:
        """That of sums in float64."""
        return float64_scan_error(self.shape[0])

    def _within(self, first: int, last: int) -> tuple[Design, int, int]:
        return self._part(first, last), 0, last - first

    def _cuts(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        size, first = self._data.chunk[0], start
        while first < stop:
            end = (self._indptr[first] // size + 1) * size  # of the file where it begins
            last = int(np.searchsorted(self._indptr, end, side="right")) - 1
            last = min(max(last, first + 1), stop)
            yield first, last
            first = last

    def _part(self, first: int, last: int) -> Sparse:
        """Return columns as a design in memory."""
        begin, end = int(self._indptr[first]), int(self._indptr[last])
        indices, data = (self._entries(chunk, begin, end) for chunk in self._chunks)
        indptr = (self._indptr[first : last + 1] - begin).astype(np.int32)
        _, wrong, is_sorted, repeats = audit_indices(indptr, indices, self.shape[0])
        if wrong >= 0 or repeats:
            raise StoreError(
                f"{self.path}: columns {first} to {last - 1} have rows that are not there, or "
                "twice; check the store, and convert the data again."
            )
        return Sparse(
            indptr, indices, data, (self.shape[0], last - first), by_column=True,
            is_sorted=is_sorted, n_threads=self.n_threads,
        )  # fmt: skip

    def _entries(self, chunk: _Mapped, begin: int, end: int) -> NDArray[Any]:
        size = chunk.array.chunk[0]
        numbers = range(begin // size, -(-end // size))
        parts = [chunk(n)[max(begin - n * size, 0) : end - n * size] for n in numbers]
        empty = [np.empty(0, chunk.array.dtype.newbyteorder("="))]
        found = parts[0] if len(parts) == 1 else np.concatenate(parts or empty)
        return found.view(np.uint8) if found.dtype == np.bool_ else found

    def _gathered(self, features: IndexArray) -> sp.csc_array[Any]:
        columns = [self._part(j, j + 1).gather(slice(None)) for j in features.tolist()]
        indptr = np.cumsum([0, *(column.nnz for column in columns)])
        indices = np.concatenate([np.empty(0, np.int32), *(column.indices for column in columns)])
        values = np.concatenate([np.empty(0), *(column.data for column in columns)])
        return compressed(indptr, indices, values, self.shape[0])


def _native(x: NDArray[Any]) -> NDArray[Any]:
    """Return a map as an array of the machine's byte order, which is that of a store mostly."""
    x = np.asarray(x)
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def is_store(path: Any) -> bool:
    """Return whether a path is that of a store."""
    return os.path.isfile(os.path.join(path, METADATA))  # no error where it can be no path


def columns_of(frame: Path) -> list[str]:
    """Return the names of the columns of `obs` or `var` in a store."""
    names = read_node(frame).get("attributes", {}).get("column-order", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise StoreError(
            f"{frame / METADATA}: column-order must be a list of names; got {names!r:.60}. Convert "
            "the data again."
        )
    return names


def open_store(path: Path, n_threads: int = 1) -> Store:
    """Return the matrix of a store as a design.

    Raises
    ------
    StoreError
        If it is no store, of a newer version, or its files are not what its metadata say.
    """
    path = Path(path).absolute()
    own = read_node(path).get("attributes", {}).get(OWN)
    if not isinstance(own, dict) or not isinstance(own.get("version"), int):
        raise StoreError(
            f"{path}: no store of zeronorm; make one of it: zeronorm convert {path} OUT.zarr"
        )
    if own["version"] > LATEST:
        raise StoreError(
            f"{path}: a store of version {own['version']}, and this zeronorm reads up to {LATEST}; "
            "update zeronorm."
        )
    flags = [own.get("named"), own.get("samples named")]
    if {*map(type, flags)} != {bool} or own.get("first index") not in (0, 1):
        raise StoreError(f"{path / METADATA}: not what zeronorm writes; convert the data again.")
    kind = read_node(path / "X").get("attributes", {}).get("encoding-type")
    if kind not in ("array", "csc_matrix"):
        raise StoreError(f"{path}: X must be an array or a CSC matrix; got {kind!r}.")
    store = (DenseStore if kind == "array" else SparseStore)(path, n_threads)
    named = [read_node(path / frame / INDEX).get("shape") for frame in ("obs", "var")]
    if named != [[size] for size in store.shape]:
        raise StoreError(
            f"{path}: X is of {store.shape[0]} samples and {store.shape[1]} features, obs and var "
            f"of {named[0]} and {named[1]}; convert the data again."
        )
    return store


def open_filled(path: Path, n_threads: int = 1) -> Design:
    """Return the matrix of a store with means in its gaps."""
    store = open_store(path, n_threads)
    gaps = store.gaps
    return store if gaps is None else Filled(store, gaps)

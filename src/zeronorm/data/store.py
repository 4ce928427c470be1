"""A store on disk: blocks of columns, dense or sparse, each mapped while a scan reads it.

Its arrays are those of Zarr v3: chunks without compression, each with its checksum. A chunk is a
file of its own that is read where it lies: the numbers, little endian, columns one after the other,
and four bytes of CRC-32C. zarr, dask and anndata read such arrays by themselves.

Source: the Zarr core specification, version 3.1, with its codecs transpose, bytes and crc32c.
"""

from __future__ import annotations

import json
import math
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels import FLOAT32_SCAN_ERROR, audit_indices, crc32c
from ..core.memory import available_memory
from ..core.types import Design, FloatArray, IndexArray, Stored, float64_scan_error
from .arrays import SAMPLED_ROWS, Dense, Sparse, as_features, beside
from .views import Filled, InParts

METADATA = "zarr.json"
CHECKSUM_BYTES = 4
TYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
         "float32", "float64")  # fmt: skip
_TEXT = "string"
_TEXT_BYTES = 1 << 20  # that are written at once
_SOUND: set[tuple[int, ...]] = set()  # the chunks whose checksums this process has compared
_TEXT_CODECS = [{"name": "vlen-utf8"}, {"name": "crc32c"}]


class StoreError(ValueError):
    """A store that is not what its metadata say, or none that can be read where it lies."""


class BlockError(StoreError, OSError):
    """A file of a store that is missing, of another size or with other bytes than it had."""


@dataclass(frozen=True, slots=True)
class ZarrArray:
    """An array of numbers of one or two dimensions, the second one last to vary in a chunk."""

    path: Path
    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def n_chunks(self) -> int:
        """The number of chunks along the last dimension; there is one along the first of two."""
        return -(-self.shape[-1] // self.chunk[-1])

    @property
    def chunk_bytes(self) -> int:
        """The size of a chunk's file."""
        return math.prod(self.chunk) * self.dtype.itemsize + CHECKSUM_BYTES

    def file(self, number: int) -> Path:
        """Return the file of a chunk."""
        first = ("0",) if len(self.shape) == 2 else ()
        return self.path.joinpath("c", *first, str(number))

    def look_at(self, number: int) -> tuple[int, ...]:
        """Return what tells the file of a chunk from any other, and from itself before a change.

        BlockError where it is missing or of another size: to read a mapped file beyond its end
        would end the process.
        """
        path = self.file(number)
        try:
            found = path.stat()
        except FileNotFoundError:
            raise BlockError(
                f"{path}: this block of the store is missing; convert the data again, or copy it."
            ) from None
        if found.st_size != self.chunk_bytes:
            raise BlockError(
                f"{path}: a block of the store must have {self.chunk_bytes:,} bytes; it has "
                f"{found.st_size:,}. Convert the data again, or copy it again."
            )
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns

    def mapped(self, number: int) -> NDArray[Any]:
        """Return a chunk where it lies, read-only, in Fortran order.

        Its bytes are compared with their checksum when this process reads them for the first time,
        and again when the file has changed.
        """
        seen = self.look_at(number)
        file = self.file(number)
        if seen not in _SOUND:
            _sound(file, np.memmap(file, np.uint8, "r"))
            _SOUND.add(seen)
        return np.memmap(file, self.dtype, "r", 0, self.chunk, "F")

    def checksum(self, number: int) -> NDArray[np.uint8]:
        """Return the checksum that was written with a chunk."""
        self.look_at(number)
        return np.fromfile(self.file(number), np.uint8, offset=self.chunk_bytes - CHECKSUM_BYTES)

    def check(self, number: int) -> None:
        """Raise BlockError where the bytes of a chunk are not those that were written."""
        self.look_at(number)
        _sound(self.file(number), np.fromfile(self.file(number), np.uint8))

    def whole(self) -> NDArray[Any]:
        """Return all of it, in memory, when its checksums are right."""
        for number in range(self.n_chunks):  # before memory is asked for what metadata say
            self.look_at(number)
        out = np.empty(self.shape, self.dtype, order="F")
        width = self.chunk[-1]
        for number in range(self.n_chunks):
            part = out[..., number * width : (number + 1) * width]
            part[...] = self.mapped(number)[..., : part.shape[-1]]
        return out

    def write(self, number: int, values: NDArray[Any]) -> None:
        """Write a chunk, in a file of another name until it is there as a whole.

        values : of the chunk's shape, or fewer along the last dimension; the rest are zeros.
        """
        whole = np.asfortranarray(values, self.dtype)
        if whole.shape != self.chunk:
            whole = np.zeros(self.chunk, self.dtype, order="F")
            whole[..., : values.shape[-1]] = values
        numbers = whole.reshape(-1, order="F").view(np.uint8)
        write_whole(self.file(number), (numbers.data, _checksum(numbers)))

    def create(self, attributes: dict[str, Any]) -> None:
        """Write the metadata."""
        numbers: dict[str, Any] = {"name": "bytes"}
        if self.dtype.itemsize > 1:
            numbers["configuration"] = {"endian": "little"}
        codecs = [numbers, {"name": "crc32c"}]
        if len(self.shape) == 2:
            codecs.insert(0, {"name": "transpose", "configuration": {"order": [1, 0]}})
        fill = False if self.dtype == np.bool_ else 0.0 if self.dtype.kind == "f" else 0
        write_array(self.path, self.shape, self.chunk, self.dtype.name, codecs, fill, attributes)


def write_array(
    path: Path,
    shape: tuple[int, ...],
    chunk: tuple[int, ...],
    data_type: str,
    codecs: list[dict[str, Any]],
    fill: Any,
    attributes: dict[str, Any],
) -> None:
    """Write the metadata of an array."""
    node = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": codecs,
        "attributes": attributes,
    }
    _write_json(path, node)


def write_group(path: Path, attributes: dict[str, Any]) -> None:
    _write_json(path, {"zarr_format": 3, "node_type": "group", "attributes": attributes})


def read_node(path: Path) -> dict[str, Any]:
    """Return the metadata of an array or a group."""
    file = path / METADATA
    try:
        node = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise StoreError(f"{file}: no such file; {path.name} is missing from the store.") from None
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{file}: not readable as metadata of Zarr ({error}).") from None
    if not isinstance(node, dict) or node.get("zarr_format") != 3:
        version = node.get("zarr_format") if isinstance(node, dict) else None
        raise StoreError(f"{file}: must be of Zarr's format 3; got {version!r}. Convert the data.")
    if not isinstance(node.get("attributes", {}), dict):
        raise StoreError(f"{file}: its attributes must be an object. Convert the data again.")
    return node


def open_array(path: Path) -> ZarrArray:
    """Return an array of numbers whose chunks can be read where they lie."""
    node = read_node(path)
    try:
        shape, chunk = tuple(node["shape"]), tuple(_configured(node["chunk_grid"])["chunk_shape"])
        dtype, codecs = node["data_type"], [one["name"] for one in node["codecs"]]
        key = node["chunk_key_encoding"]
        order = [_configured(one).get("order") for one in node["codecs"] if one["name"] != "bytes"]
        endian = [_configured(one).get("endian", "little") for one in node["codecs"]]
        well = all(type(size) is int and size >= 0 for size in shape) and all(
            type(size) is int and size > 0 for size in chunk
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise StoreError(
            f"{path / METADATA}: not the metadata of an array ({type(error).__name__}: {error}). "
            "Copy this file again, or convert the data again."
        ) from None
    wanted = ["bytes", "crc32c"] if len(shape) == 1 else ["transpose", "bytes", "crc32c"]
    known = (
        well
        and len(shape) == len(chunk) in (1, 2)
        and dtype in TYPES
        and codecs == wanted
        and (len(shape) == 1 or (order[0] == [1, 0] and chunk[0] == shape[0]))
        and all(one == "little" for one in endian)
        and key == {"name": "default", "configuration": {"separator": "/"}}
    )
    if not known:
        raise StoreError(
            f"{path}: its chunks cannot be read where they lie (they must be whole columns of "
            f"numbers without compression); got {dtype!r} of shape {shape} in chunks of {chunk}, "
            f"codecs {codecs}. Make a store of it: zeronorm convert IN OUT."
        )
    return ZarrArray(path, shape, chunk, np.dtype(dtype).newbyteorder("<"))


def write_texts(path: Path, texts: Iterable[str], count: int, attributes: dict[str, Any]) -> None:
    """Write an array of so many texts, in one chunk."""
    write_array(path, (count,), (max(1, count),), _TEXT, _TEXT_CODECS, "", attributes)
    if count:
        write_whole(path / "c" / "0", _packed(texts, count))


def _packed(texts: Iterable[str], count: int) -> Iterator[bytes | bytearray]:
    """Yield the bytes of a chunk of texts, some thousand at a time, and their checksum at last."""
    part, checksum = bytearray(count.to_bytes(4, "little")), 0
    for text in texts:
        encoded = text.encode()
        part += len(encoded).to_bytes(4, "little") + encoded
        if len(part) > _TEXT_BYTES:
            checksum = crc32c(np.frombuffer(part, np.uint8), checksum)
            yield part
            part = bytearray()
    yield part
    yield crc32c(np.frombuffer(part, np.uint8), checksum).to_bytes(CHECKSUM_BYTES, "little")


def read_texts(path: Path) -> list[str]:
    """Return an array of text that `write_texts` wrote."""
    node = read_node(path)
    known = node.get("data_type") == _TEXT and node.get("codecs") == _TEXT_CODECS
    if not known:
        raise StoreError(f"{path}: must be text without compression. Convert the data again.")
    if node["shape"] == [0]:
        return []
    file = path / "c" / "0"
    try:
        stored = _sound(file, np.fromfile(file, np.uint8)).tobytes()
        place, texts = 4, []
        for _ in range(int.from_bytes(stored[:4], "little")):
            begin = place + 4
            place = begin + int.from_bytes(stored[place:begin], "little")
            texts.append(stored[begin:place].decode())
    except (FileNotFoundError, UnicodeDecodeError) as error:
        raise StoreError(f"{file}: not readable as text ({error}).") from None
    if place != len(stored) or [len(texts)] != node.get("shape"):
        raise StoreError(f"{file}: truncated or damaged; convert the data again, or copy it again.")
    return texts


def _checksum(numbers: NDArray[np.uint8]) -> bytes:
    """Return the last bytes of a file."""
    return crc32c(numbers, 0).to_bytes(CHECKSUM_BYTES, "little")


def _sound(file: Path, stored: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the bytes of a file without their checksum; BlockError where it is not theirs."""
    numbers, written = stored[:-CHECKSUM_BYTES], stored[-CHECKSUM_BYTES:].tobytes()
    found = _checksum(numbers)
    if found != written:
        raise BlockError(
            f"{file}: the checksum of this block is {found[::-1].hex()}, and "
            f"{written[::-1].hex()} was written: its bytes have changed. Copy this file again, "
            "or convert the data again; zeronorm info STORE --check finds all such blocks."
        )
    return numbers


def _configured(part: dict[str, Any]) -> dict[str, Any]:
    configuration = part.get("configuration", {})
    return dict(configuration)


def _write_json(path: Path, node: dict[str, Any]) -> None:
    write_whole(path / METADATA, [json.dumps(node, indent=1).encode()])


def write_whole(path: Path, parts: Iterable[Any]) -> None:
    """Write bytes as a file that has its name only when it is on the disk as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("wb") as stream:
        for part in parts:
            stream.write(part)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)


KEPT_SHARE = 0.25  # of the available memory, of maps that stay
FILES_EACH = 4  # that a thread reads in a call of a scan: threads wait for each other at its end
LATEST = 2  # version of the layout: 1 where no cell is missing
OWN = "zeronorm"  # attribute of a store's group that has the version
INDEX = "_index"  # names of rows of `obs` and `var`
GAPS = Path("uns", "missing")  # cells that are 0 in X and stand for means: `indptr` and `rows`


class Store(InParts):
    """A matrix in a store, (n_samples, n_features): a directory that `zeronorm.write_store` wrote.

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
        return read_texts(self.path / "var" / INDEX) if self._own["named"] else None

    @property
    def has_samples(self) -> bool:
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
        return self._x.shape[0], self._x.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
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
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._data.dtype

    @property
    def _width(self) -> int:
        return max(1, self._data.chunk[0] * self.shape[1] // max(1, self._data.shape[0]))

    @property
    def scan_error(self) -> float:
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
        return beside(columns, self.shape[0])


def _native(x: NDArray[Any]) -> NDArray[Any]:
    """Return a map as an array of the machine's byte order, which is that of a store mostly."""
    x = np.asarray(x)
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def is_store(path: Any) -> bool:
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

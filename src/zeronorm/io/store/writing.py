"""Writes the matrix of a store, and a journal of the columns that are on the disk."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.files import locks
from ...data.dense import BLOCK_BYTES
from ...data.zarr import ZarrArray, write_group, write_whole
from .sources import Matrix

SPARSE_ENTRIES = 1 << 23  # in a file: 64 MiB of float64
JOURNAL_FILE = "journal.json"
_LENGTHS, _TAIL = "lengths", "tail-"


@contextmanager
def alone(partial: Path) -> Iterator[None]:
    """Make a directory and hold it, by a lock that ends with the process.

    FileExistsError where another conversion holds it: two would write one store of both.
    """
    partial.mkdir(exist_ok=True)
    handle = os.open(partial, os.O_RDONLY)
    try:
        if not (_is_locked(handle) and _is_at(partial, handle)):
            raise FileExistsError(
                f"{partial}: another conversion is writing it; wait for it, or name another store."
            )
        yield
    finally:
        os.close(handle)


def _is_locked(handle: int) -> bool:
    """Lock a directory; where the system has no locks there is none to be had by others."""
    if locks is None:  # pragma: no cover
        return True
    try:
        locks.flock(handle, locks.LOCK_EX | locks.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True


def _is_at(path: Path, handle: int) -> bool:
    """Whether a directory still has its name: the one that held it before may have renamed it."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


@dataclass(slots=True)
class Journal:
    """What of a conversion is on the disk."""

    path: Path
    identity: Mapping[str, Any] | None
    columns: int = 0
    entries: int = 0
    missing: int = 0  # numbers that are the mean of their column
    incomplete: int = 0  # columns with such

    @classmethod
    def begin(cls, partial: Path, identity: Mapping[str, Any] | None) -> Journal:
        """Return the journal of an unfinished conversion of the same data, or a new one."""
        file = partial / JOURNAL_FILE
        try:
            known = json.loads(file.read_bytes())
            if identity is not None and known["identity"] == identity:
                counts = ("columns", "entries", "missing", "incomplete")
                return cls(file, identity, *(int(known[name]) for name in counts))
        except (OSError, ValueError, KeyError, TypeError):
            pass
        if not file.exists() and any(partial.iterdir()):
            raise FileExistsError(f"{partial}: exists and is no unfinished store; remove it.")
        for old in partial.iterdir():
            if old.is_dir():
                shutil.rmtree(old)
            else:
                old.unlink()
        journal = cls(file, identity)
        journal.record(0)
        return journal

    def record(self, columns: int, entries: int = 0) -> None:
        """Note what is on the disk by now."""
        self.columns, self.entries = columns, entries
        text = json.dumps({key: value for key, value in asdict(self).items() if key != "path"})
        write_whole(self.path, [text.encode()])


class DenseWriter:
    """Blocks of whole columns."""

    def __init__(self, path: Path, matrix: Matrix, kind: np.dtype[Any]) -> None:
        self._matrix, (n_samples, n_features) = matrix, matrix.shape
        width = min(max(1, BLOCK_BYTES // (n_samples * kind.itemsize)), n_features)
        self._array = ZarrArray(path, matrix.shape, (n_samples, width), kind.newbyteorder("<"))
        self._width = width

    def resume(self, journal: Journal) -> None:
        """Nothing has to be found again."""

    def end(self, first: int, memory: int) -> int:
        """Return where the columns end that are read next: whole blocks."""
        last = self._matrix.end(first, memory)
        whole = first + max(1, (last - first) // self._width) * self._width
        return min(whole, self._matrix.shape[1])

    def write(self, first: int, last: int, values: Any) -> dict[str, int]:
        """Write blocks."""
        for start in range(first, last, self._width):
            part = values[:, start - first : min(start + self._width, last) - first]
            self._array.write(start // self._width, _cast(part, self._array.dtype))
        return {}

    def finish(self, journal: Journal) -> None:
        """Write the metadata."""
        self._array.create({"encoding-type": "array", "encoding-version": "0.2.0"})


class SparseWriter:
    """Entries by column, in files of equal length; what fills none yet waits in a file of its own.

    A file of the lengths of columns grows with them.
    """

    def __init__(self, path: Path, matrix: Matrix, kind: np.dtype[Any]) -> None:
        self._path, self._matrix, self._kind = path, matrix, kind
        self._lengths = path / _LENGTHS
        self._indices, self._data = np.empty(0, np.int32), np.empty(0, kind)
        path.mkdir(exist_ok=True)

    def resume(self, journal: Journal) -> None:
        """Find the entries that fill no file yet, and forget what was written after them."""
        if journal.columns:
            with np.load(self._tail(journal.columns)) as tail:
                self._indices, self._data = tail["indices"], tail["data"]
            os.truncate(self._lengths, 8 * journal.columns)
        else:
            self._lengths.write_bytes(b"")
        self._entries = journal.entries

    def end(self, first: int, memory: int) -> int:
        """Return where the columns end that are read next."""
        return self._matrix.end(first, memory)

    def write(self, first: int, last: int, values: Any) -> dict[str, int]:
        """Write the entries that fill files; keep the others."""
        columns = sp.csc_array(values)
        columns.sum_duplicates()
        with self._lengths.open("ab") as stream:
            stream.write(np.diff(columns.indptr).astype("<i8").tobytes())
            stream.flush()
            os.fsync(stream.fileno())
        begin = self._entries - self._indices.size
        indices = np.concatenate([self._indices, columns.indices.astype(np.int32)])
        data = np.concatenate([self._data, _cast(columns.data, self._kind)])
        self._entries += columns.nnz
        whole = indices.size // SPARSE_ENTRIES * SPARSE_ENTRIES
        for start in range(0, whole, SPARSE_ENTRIES):
            own = slice(start, start + SPARSE_ENTRIES)
            self._write_file((begin + start) // SPARSE_ENTRIES, indices[own], data[own])
        self._indices, self._data = indices[whole:], data[whole:]
        with self._tail(last).open("wb") as stream:
            np.savez(stream, indices=self._indices, data=self._data)
            stream.flush()
            os.fsync(stream.fileno())
        for old in self._path.glob(f"{_TAIL}*"):
            if old not in (self._tail(first), self._tail(last)):
                old.unlink()
        return {"entries": self._entries}

    def finish(self, journal: Journal) -> None:
        """Write what is left, the pointers and the metadata."""
        if self._indices.size:
            number = (self._entries - self._indices.size) // SPARSE_ENTRIES
            self._write_file(number, self._indices, self._data)
        lengths = np.fromfile(self._lengths, "<i8")
        pointers = np.concatenate([[0], np.cumsum(lengths)]).astype("<i8")
        indptr = ZarrArray(self._path / "indptr", pointers.shape, pointers.shape, pointers.dtype)
        indptr.write(0, pointers)
        for array in (indptr, *self._arrays()):
            array.create({})
        attributes = {
            "encoding-type": "csc_matrix", "encoding-version": "0.1.0",
            "shape": list(self._matrix.shape),
        }  # fmt: skip
        write_group(self._path, attributes)

    def _arrays(self) -> tuple[ZarrArray, ZarrArray]:
        shape, chunk = (self._entries,), (min(SPARSE_ENTRIES, max(1, self._entries)),)
        kinds = {"indices": np.dtype("<i4"), "data": self._kind.newbyteorder("<")}
        indices, data = (ZarrArray(self._path / k, shape, chunk, t) for k, t in kinds.items())
        return indices, data

    def _write_file(self, number: int, indices: NDArray[Any], data: NDArray[Any]) -> None:
        for array, values in zip(self._arrays(), (indices, data), strict=True):
            array.write(number, values)

    def _tail(self, columns: int) -> Path:
        return self._path / f"{_TAIL}{columns}"


def tidy(store: Path) -> None:
    """Take away what only an unfinished store needs."""
    leftover = (store / JOURNAL_FILE, store / "X" / _LENGTHS, *(store / "X").glob(f"{_TAIL}*"))
    for old in leftover:
        old.unlink(missing_ok=True)


def _cast(values: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return numbers in a type, in which they may be rounded to float32 alone."""
    if values.dtype == kind:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        found = values.astype(kind)
    if kind.kind != "f" and not np.array_equal(found, values):
        raise ValueError(f"dtype {kind.name} does not hold these numbers; take a wider one.")
    if kind == np.float32 and not np.isfinite(found).all():
        raise ValueError("dtype float32 does not hold numbers above 3e38; take float64.")
    return found

"""Records in a file that grows: each is there complete, with its checksum, or not at all.

A file begins with the line `zeronorm checkpoint 1`. A record is

====== ==================================================================================
prefix bytes of the next two parts (two uint64), and the CRC-32 of these (uint32)
about  JSON in UTF-8, an object
values float64
digest SHA-256 of the digest of the record before, and of the three parts
====== ==================================================================================

with numbers in little-endian order. It is on the disk before `append` returns. What a kill leaves
of a record at the end is no record; a wrong checksum anywhere else is an error, and the digests of
records that were exchanged, or come from another file, do not fit.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import re
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .files import FileError, PathLike, locks
from .types import FloatArray

_VERSION = 1
_FIRST = f"zeronorm checkpoint {_VERSION}\n".encode()
_LINE = re.compile(rb"zeronorm checkpoint ([0-9]{1,9})\n")
_SIZES, _CHECKED = struct.Struct("<QQ"), struct.Struct("<QQI")
_DIGEST = 32
_CHUNK = 1 << 20


class CheckpointError(FileError):
    """A file is no sound checkpoint of this fit; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """One record: what it is about, and where its values are in the file."""

    about: Mapping[str, Any]
    begin: int  # of the record
    values: int  # their place
    size: int  # of the values, bytes
    digest: bytes

    @property
    def end(self) -> int:
        """Where the next record begins."""
        return self.values + self.size + _DIGEST


class JournalFile:
    """A file of records, open and locked.

    Raises
    ------
    CheckpointError
        Where the file is something else, is damaged, or is open in another process.
    OSError
        Where it cannot be made.
    """

    def __init__(self, path: PathLike) -> None:
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"checkpoint must be the path of a file; got {path!r:.50}.")
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"{path}: no such directory {str(self.path.parent)!r}; create it."
            )
        if self.path.exists() and not self.path.is_file():
            raise CheckpointError(f"{path}: not a regular file; name a file.")
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(self.path, flags, 0o666)
        try:
            self._lock()
            self.records = list(self._read())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file, which also unlocks it."""
        os.close(self._descriptor)

    def values(self, record: JournalRecord) -> FloatArray:
        """Return the values of a record, in one dimension."""
        found = np.empty(record.size // 8, "<f8")
        self._fill(_raw(found), record.values)
        return found.astype(np.float64, copy=False)

    def cut(self, n_records: int) -> None:
        """Leave out all records but the first ones; the file changes with the next record."""
        del self.records[n_records:]

    def append(self, about: Mapping[str, Any], values: FloatArray) -> None:
        """Add a record, and wait for the disk; after an OSError the file is as it was before."""
        text = json.dumps(about).encode()
        array = np.ascontiguousarray(values, "<f8").ravel()
        sizes = _SIZES.pack(len(text), array.nbytes)
        parts: list[Any] = [
            sizes + struct.pack("<I", zlib.crc32(sizes)),
            text,
            _raw(array),
        ]
        begin, before = self._end()
        digest = _digest(before, parts)
        os.ftruncate(self._descriptor, begin)
        try:
            place = begin
            for part in (*parts, digest):
                place = self._write(part, place)
            os.fsync(self._descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, begin)
            raise
        after = begin + _CHECKED.size + len(text)
        self.records.append(JournalRecord(about, begin, after, array.nbytes, digest))

    def _end(self) -> tuple[int, bytes]:
        """Return where the next record begins, and the digest before it."""
        if not self.records:
            return len(_FIRST), b""
        return self.records[-1].end, self.records[-1].digest

    def _lock(self) -> None:
        if locks is None:  # pragma: no cover
            return
        try:
            locks.flock(self._descriptor, locks.LOCK_EX | locks.LOCK_NB)
        except BlockingIOError:
            raise CheckpointError(
                f"{self.path}: the checkpoint of a fit that is still running. Wait for it, or name "
                "another file."
            ) from None
        except OSError:  # a file system without locks
            pass

    def _read(self) -> Iterable[JournalRecord]:
        """Yield the records of the file; begin it where there are none."""
        size = os.fstat(self._descriptor).st_size
        first = self._bytes(0, min(size, 40))
        if first == _FIRST[: len(first)] and len(first) < len(_FIRST):
            self._begin()
            return
        line = _LINE.match(first)
        if line is None:
            raise CheckpointError(
                f"{self.path}: not a checkpoint of zeronorm; it stays as it is. Name another file."
            )
        if int(line[1]) != _VERSION:
            raise CheckpointError(
                f"{self.path}: a checkpoint of format {int(line[1])}, and this zeronorm has "
                f"{_VERSION}. Go on with the zeronorm that wrote it, or name another file."
            )
        place, digest, number = len(_FIRST), b"", 1
        while (record := self._record(place, digest, size, number)) is not None:
            yield record
            place, digest, number = record.end, record.digest, number + 1

    def _begin(self) -> None:
        """Write the first line; the file itself has to survive too, not only what it holds."""
        os.ftruncate(self._descriptor, 0)
        self._write(_FIRST, 0)
        os.fsync(self._descriptor)
        with contextlib.suppress(OSError, AttributeError):  # not on Windows
            folder = os.open(self.path.resolve().parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _record(self, begin: int, before: bytes, size: int, number: int) -> JournalRecord | None:
        """Return the record at a place of the file; None: there is none, or the rest of one."""
        left = size - begin
        if left < _CHECKED.size:
            return None
        prefix = self._bytes(begin, _CHECKED.size)
        n_text, n_values, checksum = _CHECKED.unpack(prefix)
        if zlib.crc32(prefix[: _SIZES.size]) != checksum:
            if self._is_empty(begin, left):  # a disk may know of a length before the content
                return None
            raise self._damaged(begin, number)
        total = _CHECKED.size + n_text + n_values + _DIGEST
        if total > left:
            return None
        text = self._bytes(begin + _CHECKED.size, n_text)
        place = begin + _CHECKED.size + n_text
        chunks = (
            self._bytes(at, min(_CHUNK, place + n_values - at))
            for at in range(place, place + n_values, _CHUNK)
        )
        digest = _digest(before, (prefix, text), chunks)
        if digest != self._bytes(place + n_values, _DIGEST):
            if total == left:
                return None
            raise self._damaged(begin, number)
        try:
            about = json.loads(text)
        except ValueError:
            about = None
        if not isinstance(about, dict) or n_values % 8:
            raise self._damaged(begin, number)
        return JournalRecord(about, begin, place, n_values, digest)

    def _damaged(self, begin: int, number: int) -> CheckpointError:
        return CheckpointError(
            f"{self.path}: damaged: the checksum of record {number} does not fit its content. The "
            f"{number - 1} before it are sound: cut the file to {begin} bytes (truncate -s {begin} "
            "FILE) to go on from there, or delete it to begin anew."
        )

    def _is_empty(self, begin: int, size: int) -> bool:
        places = range(begin, begin + size, _CHUNK)
        return not any(any(self._bytes(at, min(_CHUNK, begin + size - at))) for at in places)

    def _bytes(self, place: int, size: int) -> bytes:
        found = bytearray(size)
        self._fill(memoryview(found), place)
        return bytes(found)

    def _fill(self, out: memoryview, place: int) -> None:
        done = 0
        os.lseek(self._descriptor, place, os.SEEK_SET)
        while done < len(out):
            part = os.read(self._descriptor, min(_CHUNK, len(out) - done))
            if not part:
                raise CheckpointError(f"{self.path}: became shorter while it was read.")
            out[done : done + len(part)] = part
            done += len(part)

    def _write(self, data: bytes | memoryview, place: int) -> int:
        """Write all of some bytes at a place; return where they end."""
        left = memoryview(data)
        os.lseek(self._descriptor, place, os.SEEK_SET)
        while left:
            left = left[os.write(self._descriptor, left) :]
        return place + len(data)


def _raw(array: NDArray[Any]) -> memoryview:
    """Return the bytes of an array, not copied."""
    buffer: Any = array.view(np.uint8)
    return memoryview(buffer)


def _digest(before: bytes, *parts: Iterable[bytes | memoryview]) -> bytes:
    found = hashlib.sha256(before)
    for part in itertools.chain(*parts):
        found.update(part)
    return found.digest()

"""Arrays in a file, and back: the zip archive, its checksum, and what is refused at once.

What the arrays mean is not known here.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, PathLike, Require, quote
from ..io.npy import read_npy
from ..io.source import check_path

_FORMAT = re.compile(rb'"format": ([0-9]{1,9})[,}]')  # of the metadata
_TRAILER = re.compile(rb"zeronorm (model|certificate) ([0-9]{1,9}) sha256 ([0-9a-f]{64})\Z")


class ModelFileError(FileError):
    """A file is not a sound model file; the message says what is wrong with it."""


class CertificateFileError(FileError):
    """A file is not a sound certificate file; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """What tells the archives of models and of certificates apart."""

    name: str  # in the archive comment, and in messages
    version: int  # the format of new files
    max_size: int  # bytes
    error: type[FileError]
    oldest: int = 1  # the oldest format that is read

    def requirement(self, where: str) -> Require:
        """Return a function that refuses a file where a condition does not hold."""

        def require(condition: bool, message: str) -> None:
            if not condition:
                raise self.error(f"{where}: {message}.")

        return require


def pack(kind: FileKind, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a file."""
    buffer = io.BytesIO()
    blank = _trailer(kind, "0" * 64)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, values in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(
                member, np.ascontiguousarray(values), (1, 0), allow_pickle=False
            )
            # A fixed time: equal models are equal files.
            archive.writestr(
                zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), member.getbuffer()
            )
        archive.comment = blank
    data = buffer.getbuffer()[: -len(blank)]
    return b"".join([data, _trailer(kind, hashlib.sha256(data).hexdigest())])


def _trailer(kind: FileKind, digest: str) -> bytes:
    return f"zeronorm {kind.name} {kind.version} sha256 {digest}".encode()


def is_archive(path: PathLike) -> bool:
    """Return whether a file ends as those of models and certificates do."""
    with check_path(path).open("rb") as file:
        file.seek(-min(200, os.path.getsize(path)), os.SEEK_END)
        return _TRAILER.search(file.read()) is not None


def unpack(
    kind: FileKind, where: str, data: bytes, members: Callable[[int], Sequence[str]]
) -> dict[str, NDArray[Any]]:
    """Return the arrays in the bytes of a file.

    members : their names, by how many there are.
    """
    require = kind.requirement(where)
    require(len(data) > 0, "the file is empty")
    require(
        not (data[:1] == b"\x80" and data[1:2] <= b"\x05"),
        "a pickle, which is never loaded; zeronorm.persistence writes files that are",
    )
    trailer = _TRAILER.search(data[-200:])
    if trailer is None:
        raise kind.error(f"{where}: not a {kind.name} file of zeronorm, or a truncated one.")
    digest = hashlib.sha256(memoryview(data)[: -len(trailer[0])]).hexdigest().encode()
    require(digest == trailer[3], "damaged: its checksum does not fit its content")
    found = trailer[1].decode()
    require(found == kind.name, f"a {found} file of zeronorm; a {kind.name} file is needed here")
    version = int(trailer[2])
    require(
        version <= kind.version,
        f"written by a newer zeronorm (format {version}, this one reads {kind.version}); upgrade "
        "with pip install -U zeronorm",
    )
    require(version >= kind.oldest, f"unknown format {version}")

    arrays: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            there = [info.filename for info in infos]
            names = members(len(there))
            require(
                there == [f"{name}.npy" for name in names],
                f"must hold the arrays {', '.join(names)}; it holds {quote(', '.join(there))}",
            )
            for name, info in zip(names, infos, strict=True):
                require(
                    info.compress_type == zipfile.ZIP_STORED
                    and info.file_size == info.compress_size <= len(data),
                    f"the array {name} must be stored without compression",
                )
                with archive.open(info) as stream:
                    arrays[name] = read_npy(f"{where}: {name}", stream, info.file_size)
                    stream.read(1)
    except kind.error:
        raise
    except FileError as refusal:
        raise kind.error(str(refusal)) from None
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, ValueError) as failure:
        raise kind.error(f"{where}: damaged ({failure}).") from None
    # The checksum is of what stands before the trailer, and so is not of its number.
    said = _FORMAT.search(arrays["metadata"].tobytes())
    agree = said is None or int(said[1]) == version
    require(agree, f"damaged: its end says format {version}, its content another")
    return arrays


def read_file(kind: FileKind, path: PathLike) -> tuple[str, bytes]:
    """Return what messages call a file, and its content."""
    path = check_path(path)
    size = path.stat().st_size
    if size > kind.max_size:
        raise kind.error(f"{path}: too large for a {kind.name} file ({size} bytes).")
    try:
        return str(path), path.read_bytes()
    except OSError as failure:
        reason = failure.strerror or failure
        raise kind.error(f"{path}: cannot be read ({reason}).") from None

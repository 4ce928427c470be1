"""One codec of files: a record, which is a dataclass, as JSON and arrays in a zip archive.

msgspec reads the JSON by the annotations of the record, so that these say all that a field may be.
Of every array, which is a member of the archive, the JSON has the name: its place in the record.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Generic, TypeVar, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..core.errors import ParameterError
from ..core.files import FileError, PathLike, quote
from ..io.npy import is_text, read_npy
from ..io.source import check_path

_TRAILER = re.compile(rb"zeronorm (model|certificate) ([0-9]{1,9}) sha256 ([0-9a-f]{64})\Z")
_MOST_EXPANDED = 2**26  # bytes of a report
_LONGEST = 400  # characters of a reason, in which text of the file may be
Arrays = dict[str, NDArray[Any]]
Record = TypeVar("Record")


class ModelFileError(FileError):
    """A file is not a sound model file; the message says what is wrong with it."""


class CertificateFileError(FileError):
    """A file is not a sound certificate file; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class FileKind(Generic[Record]):
    """What tells the archives of models and of certificates apart."""

    name: str  # in the archive comment, and in messages
    record: type[Record]
    version: int  # the format
    max_size: int  # bytes
    error: type[FileError]

    @contextmanager
    def reading(self, where: str) -> Iterator[None]:
        """Turn what is wrong with a file into an error that names it."""
        try:
            yield
        except (ValueError, RuntimeError, zipfile.BadZipFile, OSError, EOFError) as error:
            reason = "".join(c if c.isprintable() else "?" for c in str(error)[:_LONGEST])
            raise self.error(f"{where}: {reason.removesuffix('.')}.") from None


def check(condition: bool, message: str) -> None:
    """Refuse a record, or a file, where a condition does not hold."""
    if not condition:
        raise ValueError(message)


def plain(value: Any, arrays: Arrays, place: str = "") -> Any:
    """Return a record as JSON has it, an array as its place, under which it is put into `arrays`.

    Raises
    ------
    ValueError
        Where a number is not finite: msgspec writes null for it. Fields that may be unknown or
        infinite are None then.
    """
    if isinstance(value, np.ndarray):
        arrays[place] = value
        return place
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        check(math.isfinite(value), f"{place} must be finite to be saved; got {value}.")
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if is_dataclass(value):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, Mapping):
        parts = ((str(key), part) for key, part in value.items())
        return {key: plain(part, arrays, f"{place}.{key}".lstrip(".")) for key, part in parts}
    if isinstance(value, list | tuple):
        return [plain(part, arrays, f"{place}.{number}") for number, part in enumerate(value)]
    return value


def compressed(found: Mapping[str, Any] | None) -> NDArray[np.uint8]:
    """Return what JSON has in few bytes, none of None."""
    text = b"" if found is None else zlib.compress(json.dumps(found, allow_nan=False).encode(), 9)
    return np.frombuffer(text, np.uint8)


def expanded(content: NDArray[np.uint8]) -> dict[str, Any] | None:
    """Return what `compressed` was given; refuse what is damaged, or grows beyond all measure."""
    if not content.size:
        return None
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(content.tobytes(), _MOST_EXPANDED)
        check(reader.eof and not reader.unused_data, "it goes on")
        value = msgspec.json.decode(text)  # which has no NaN and no infinity
    except (zlib.error, ValueError, RecursionError) as error:
        raise ValueError(f"report must be compressed JSON, not too long: {error}") from None
    check(isinstance(value, dict), "report must be an object of JSON")
    return dict(value)


def pack(kind: FileKind[Any], record: Mapping[str, Any]) -> bytes:
    """Return the bytes of the file of a record, given its fields by name."""
    arrays: Arrays = {}
    found = plain(record, arrays)
    try:
        text = msgspec.json.encode(found)
    except UnicodeEncodeError as error:
        raise ParameterError(
            "text", "must be Unicode to be saved", quote(str(error.object)), "Rename it."
        ) from None
    return seal(kind, {"metadata": np.frombuffer(text, np.uint8), **arrays})


def seal(kind: FileKind[Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a file of arrays, with a checksum at the end."""
    buffer = io.BytesIO()
    blank = _trailer(kind, "0" * 64)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, values in arrays.items():
            member = io.BytesIO()
            little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
            np.lib.format.write_array(member, little, (1, 0), allow_pickle=False)
            # A fixed time: equal models are equal files.
            info = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            archive.writestr(info, member.getbuffer())
        archive.comment = blank
    data = buffer.getbuffer()[: -len(blank)]
    return b"".join([data, _trailer(kind, hashlib.sha256(data).hexdigest())])


def _trailer(kind: FileKind[Any], digest: str) -> bytes:
    return f"zeronorm {kind.name} {kind.version} sha256 {digest}".encode()


def is_archive(path: PathLike) -> bool:
    """Return whether a file ends as those of models and certificates do."""
    with check_path(path).open("rb") as file:
        file.seek(-min(200, os.path.getsize(path)), os.SEEK_END)
        return _TRAILER.search(file.read()) is not None


def read_file(kind: FileKind[Any], path: PathLike) -> tuple[str, bytes]:
    """Return what messages call a file, and its content."""
    path = check_path(path)
    with kind.reading(str(path)):
        size = path.stat().st_size
        check(size <= kind.max_size, f"too large for a {kind.name} file ({size} bytes)")
        return str(path), path.read_bytes()


def unpack(kind: FileKind[Record], data: bytes) -> tuple[Record, dict[str, Any]]:
    """Return the record in the bytes of a file, and its JSON; each field as it is annotated."""
    _check_end(kind, data)
    arrays = _arrays(data)
    raw = arrays.pop("metadata", np.empty(0))
    check(raw.dtype == np.uint8 and raw.ndim == 1, "metadata must be bytes")
    text = raw.tobytes()

    def array(annotation: Any, name: Any) -> NDArray[Any]:
        values = arrays.pop(name, None) if isinstance(name, str) else None
        if values is None:
            raise ValueError(f"there is no array {quote(str(name))}")
        (scalar,) = get_args((get_args(annotation) or (None, np.dtype[Any]))[1])
        native = values.dtype.newbyteorder("=") if scalar is Any else np.dtype(scalar)
        little = values.dtype == native.newbyteorder("<")
        check(little, f"{name} must be {native}; got {values.dtype} of shape {values.shape}")
        check(native.kind != "f" or bool(np.isfinite(values).all()), f"{name} must be finite")
        check(native.kind != "U" or is_text(values), f"{name} must be valid text")
        return values.astype(native, copy=False)

    try:
        record = msgspec.json.decode(text, type=kind.record, dec_hook=array)
    except msgspec.DecodeError as error:
        raise ValueError(f"metadata: {error}") from None
    check(not arrays, f"the array {quote(next(iter(arrays), ''))} is unknown")
    given, known = msgspec.json.decode(text), plain(record, {})
    if given != known:  # an entry that no field takes, or a field that would have a default
        odd = sorted(_places(given) ^ _places(known))
        check(not odd, f"metadata has the unknown or missing entry {quote(''.join(odd[:1]))}")
        raise ValueError("metadata must name every array by its place, and have numbers of 64 bits")
    check(given["format"] == kind.version, f"damaged: its content says format {given['format']}")
    return record, given


def _places(value: Any, place: str = "") -> set[str]:
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    below = (
        _places(part, f"{place}.{key}") if isinstance(part, dict | list) else {f"{place}.{key}"}
        for key, part in parts
    )
    return {place[1:]}.union(*({one.lstrip(".") for one in some} for some in below))


def _check_end(kind: FileKind[Any], data: bytes) -> None:
    """Refuse the bytes of other files, of damaged ones and of those of other versions."""
    check(len(data) > 0, "the file is empty")
    check(
        not (data[:1] == b"\x80" and data[1:2] <= b"\x05"),
        "a pickle, which is never loaded; zeronorm.persistence writes files that are",
    )
    trailer = _TRAILER.search(data[-200:]) or (b"",) * 4
    check(bool(trailer[0]), f"not a {kind.name} file of zeronorm, or a truncated one")
    digest = hashlib.sha256(memoryview(data)[: -len(trailer[0])]).hexdigest().encode()
    check(digest == trailer[3], "damaged: its checksum does not fit its content")
    found, version = trailer[1].decode(), int(trailer[2])
    check(found == kind.name, f"a {found} file of zeronorm; a {kind.name} file is needed here")
    later = version > kind.version
    remedy = "upgrade with pip install -U zeronorm" if later else "fit, and save it again"
    check(
        version == kind.version,
        f"written by {'a newer' if later else 'an older'} zeronorm (format {version}, this one "
        f"reads {kind.version}); {remedy}",
    )


def _arrays(data: bytes) -> Arrays:
    """Return the arrays of an archive by name; together they are no larger than it."""
    arrays: Arrays = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
        check(
            all(
                info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
                for info in infos
            ),
            "the arrays must be stored without compression",
        )
        # Members may lie within each other.
        check(sum(info.file_size for info in infos) <= len(data), "damaged: its arrays overlap")
        for info in infos:
            name = info.filename.removesuffix(".npy")
            check(name not in arrays and name != info.filename, f"{quote(name)} must be one .npy")
            with archive.open(info) as stream:
                arrays[name] = read_npy(quote(name), stream, info.file_size)
                stream.read(1)
    return arrays

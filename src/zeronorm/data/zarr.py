"""Zarr v3 arrays as a store has them: chunks without compression, each with its checksum.

A chunk is a file of its own that is read where it lies: the numbers, little endian, columns one
after the other, and four bytes of CRC-32C. zarr, dask and anndata read such arrays by themselves.

Source: the Zarr core specification, version 3.1, with its codecs transpose, bytes and crc32c.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import crc32c

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
    """Write the metadata of a group."""
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

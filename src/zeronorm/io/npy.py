"""NumPy's containers, read strictly: the arrays in .npy and .npz files.

Every claim of a header is verified before anything is allocated, and nothing is unpickled. What the
arrays mean is not known here.
"""

from __future__ import annotations

import itertools
import lzma
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, quote
from .source import Source, on_disk, open_member, refuse_bomb


def read_npy_header(
    where: str, stream: IO[bytes], size: int | None
) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, Fortran order and type of an array in .npy form, all verified.

    The stream then stands at the first value; nothing is allocated. `size` is the number of bytes
    there are, header included; None if unknown. Arrays of objects are refused: they would have to
    be unpickled.
    """
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
        else:
            raise FileError(f"{where}: unknown .npy version {version}; save it with numpy.save.")
    except FileError:
        raise
    except Exception as error:  # NumPy parses the header as Python source: it may fail anyhow
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(f"{where}: not a valid .npy array ({quote(reason)}).") from None
    if dtype.hasobject:
        raise FileError(
            f"{where}: an array of objects, which would have to be unpickled; save numbers."
        )
    if dtype.names is not None or dtype.kind not in "biufcSU":
        raise FileError(f"{where}: an array of type {dtype}; save plain numbers or strings.")
    if any(length < 0 for length in shape):
        raise FileError(f"{where}: a negative length in the shape {shape}.")
    if size is not None:
        expected = stream.tell() + math.prod(shape) * dtype.itemsize
        if size != expected:
            raise FileError(
                f"{where}: truncated or damaged: the shape {shape} of {dtype} needs {expected} "
                f"bytes, there are {size}."
            )
    return shape, fortran, dtype


def read_npy(
    where: str, stream: IO[bytes], size: int | None, spill: Path | None = None
) -> NDArray[Any]:
    """Return an array in .npy form, every claim of its header verified; never unpickles.

    spill : a folder, for an array mapped from a file there instead of in memory.
    """
    shape, fortran, dtype = read_npy_header(where, stream, size)
    n_bytes = math.prod(shape) * dtype.itemsize
    if not dtype.itemsize and 0 not in shape:
        raise FileError(f"{where}: numbers or text were expected; got {dtype} without a byte.")
    if not n_bytes:
        return np.empty(shape, dtype)
    if spill is not None:
        buffer = on_disk(_chunks(where, stream, n_bytes), spill)
    else:
        buffer = _in_memory(where, stream, n_bytes, f"the shape {shape} of {dtype}")
    values = buffer.view(dtype).reshape(shape, order="F" if fortran else "C")
    return checked_flags(where, values)


def checked_flags(where: str, values: NDArray[Any]) -> NDArray[Any]:
    """Return values, where they are booleans after a look at their bytes."""
    if values.dtype == np.bool_:
        from ..core.validation import flags

        try:
            flags(where, np.atleast_1d(values))
        except ValueError as error:
            raise FileError(str(error)) from None
    return values


def _in_memory(where: str, stream: IO[bytes], n_bytes: int, what: str) -> NDArray[np.uint8]:
    try:
        buffer = np.empty(n_bytes, np.uint8)
    except (MemoryError, ValueError, OverflowError):
        raise FileError(f"{where}: {what} does not fit in memory.") from None
    done = 0
    for chunk in _chunks(where, stream, n_bytes):
        buffer[done : done + chunk.size] = chunk
        done += chunk.size
    return buffer


def _chunks(where: str, stream: IO[bytes], n_bytes: int) -> Iterator[NDArray[np.uint8]]:
    done = 0
    while done < n_bytes:
        chunk = stream.read(min(1 << 22, n_bytes - done))
        if not chunk:
            raise FileError(f"{where}: truncated: {n_bytes} bytes expected, {done} are there.")
        done += len(chunk)
        yield np.frombuffer(chunk, np.uint8)


@dataclass(frozen=True, slots=True)
class Member:
    """An array in an npz file that is not read yet."""

    shape: tuple[int, ...]
    load: Callable[..., NDArray[Any]]  # with the `spill` of `read_npy`


def load_npz(source: Source) -> Mapping[str, Member]:
    """Return the arrays of an npz file by name; only their headers are read."""
    members: dict[str, Member] = {}
    try:
        with zipfile.ZipFile(source.path) as archive:
            for info in archive.infolist():
                refuse_bomb(source, info.file_size, info.compress_size)
                where = f"{source}: {quote(info.filename)}"
                with open_member(source, archive, info) as stream:
                    shape, _, _ = read_npy_header(where, stream, info.file_size)
                key = info.filename.removesuffix(".npy")
                if key in members:
                    raise FileError(f"{source}: two arrays have the name {quote(key)}.")
                members[key] = Member(shape, _loader(source, info.filename))
    except (zipfile.BadZipFile, OSError, zlib.error, EOFError, lzma.LZMAError) as error:
        raise FileError(f"{source}: truncated or damaged ({error}).") from None
    return members


def _loader(source: Source, member: str) -> Callable[..., NDArray[Any]]:
    def load(spill: Path | None = None) -> NDArray[Any]:
        where = f"{source}: {quote(member)}"
        try:
            with zipfile.ZipFile(source.path) as archive:
                info = archive.getinfo(member)
                with open_member(source, archive, info) as stream:
                    values = read_npy(where, stream, info.file_size, spill)
                    stream.read(1)  # at its end the archive's checksum is compared
        except (zipfile.BadZipFile, OSError, zlib.error, EOFError, lzma.LZMAError) as error:
            raise FileError(f"{where}: truncated or damaged ({error}).") from None
        return values

    return load


def listed(arrays: Mapping[str, Member]) -> str:
    """Return the names and shapes of arrays for a message."""
    shown = [f"{quote(key)} {member.shape}" for key, member in itertools.islice(arrays.items(), 8)]
    return ", ".join(shown) + (", ..." if len(arrays) > 8 else "") if shown else "nothing"


def decoded(source: Source | str, values: NDArray[Any]) -> NDArray[Any]:
    """Return strings as str; refuse what is no text."""
    try:
        if values.dtype.kind == "S":
            return np.char.decode(values, "utf-8")
        valid = is_text(values)
    except UnicodeDecodeError:
        valid = False
    if not valid:
        raise FileError(f"{source}: strings that are not valid text.")
    return values


def is_text(values: NDArray[Any]) -> bool:
    """Whether an array of str holds code points only: NumPy reads any 32 bits as one."""
    if not values.size or not values.dtype.itemsize:
        return True
    kind = np.dtype(np.uint32).newbyteorder(values.dtype.byteorder)
    codes = np.ascontiguousarray(values).reshape(-1).view(kind)
    return bool(codes.max() <= 0x10FFFF)

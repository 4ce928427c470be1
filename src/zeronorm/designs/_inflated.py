"""HDF5 datasets that gzip has packed, unpacked by several threads beside h5py.

h5py unpacks one chunk after the other under a lock of the whole library. Where a chunk is nothing
but gzip, over shuffled bytes or not, it is read here from the open file, inflated and set in place
without that lock, by isal where it is installed (zlib takes twice as long). Whatever else a dataset
or a chunk may be, h5py reads, and says what is wrong with it: values, errors and their words are
those of h5py.
"""

from __future__ import annotations

import os
import sys
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._threads import map_threads

packer: Any
try:
    from isal import isal_zlib

    packer = isal_zlib
except ImportError:
    import zlib

    packer = zlib

# Chunks below this size are read by h5py: for each of them Python takes longer than zlib.
SMALLEST = 1 << 12
_PIECE = 1 << 18  # bytes that are worth a task of a thread
_ROOM = 48 << 20  # bytes of packed and unpacked chunks that all threads have at a time
_DEFLATE, _SHUFFLE = 1, 2  # as HDF5 numbers its filters

Box: TypeAlias = tuple[slice, ...]


def inflated(array: Any) -> Any:
    """Return a dataset of h5py as an `Inflated` where that may read it, anything else as it is."""
    h5py = sys.modules.get("h5py")  # of which a dataset is, if it is one
    try:
        if h5py is None or not isinstance(array, h5py.Dataset) or not _is_plain(h5py, array):
            return array
        return Inflated(array)
    except (AttributeError, OSError, ValueError, RuntimeError, TypeError):
        return array


class Inflated:
    """A dataset of h5py whose chunks are gzip; slices of it are arrays, as those of the dataset.

    Parameters
    ----------
    source : the dataset, of a file that is open for reading.
    """

    def __init__(self, source: Any) -> None:
        self.source = source
        self.shape: tuple[int, ...] = tuple(source.shape)
        self.chunks: tuple[int, ...] = tuple(source.chunks)
        self.dtype = np.dtype(source.dtype)
        self._is_shuffled = int(source.id.get_create_plist().get_nfilters()) == 2
        self._size = prod(self.chunks) * self.dtype.itemsize
        self._places: NDArray[np.int64] | None = None

    def __getitem__(self, where: Any) -> NDArray[Any]:
        """Return source[where]; of other keys than slices, and of closed files, as h5py does."""
        keys = where if isinstance(where, tuple) else (where,)
        keys = (*keys, *(slice(None) for _ in self.shape[len(keys) :]))
        if not self.source or len(keys) > len(self.shape) or not all(map(_is_range, keys)):
            return np.asarray(self.source[where])
        ranges = [key.indices(n)[:2] for key, n in zip(keys, self.shape, strict=True)]
        box = tuple(slice(first, max(first, last)) for first, last in ranges)
        out = np.empty([side.stop - side.start for side in box], self.dtype)
        if out.size:
            self._fill(out, box)
        return out

    def _fill(self, out: NDArray[Any], box: Box) -> None:
        """Set an array to a box of the dataset, chunk by chunk, by threads."""
        if self._places is None:
            self._places = self._find_chunks()
        file = self.source.file.id.get_vfd_handle()
        touched = list(
            product(
                *(
                    range(side.start // size, -(-side.stop // size))
                    for side, size in zip(box, self.chunks, strict=True)
                )
            )
        )
        step = max(1, _PIECE // self._size)
        parts = [touched[first : first + step] for first in range(0, len(touched), step)]

        def unpack(part: list[tuple[int, ...]]) -> None:
            for chunk in part:
                self._unpack(out, box, chunk, file)

        map_threads(unpack, parts, most=max(1, _ROOM // (2 * self._size)))

    def _unpack(self, out: NDArray[Any], box: Box, chunk: tuple[int, ...], file: int) -> None:
        """Set the part of an array that lies in a chunk."""
        corner = [at * size for at, size in zip(chunk, self.chunks, strict=True)]
        own = tuple(
            slice(max(first, side.start), min(first + size, side.stop))
            for first, size, side in zip(corner, self.chunks, box, strict=True)
        )
        to = tuple(
            slice(part.start - side.start, part.stop - side.start)
            for part, side in zip(own, box, strict=True)
        )
        values = self._values(chunk, file)
        if values is None:
            out[to] = self.source[own]
            return
        inner = tuple(
            slice(part.start - first, part.stop - first)
            for part, first in zip(own, corner, strict=True)
        )
        out[to] = values[inner]

    def _values(self, chunk: tuple[int, ...], file: int) -> NDArray[Any] | None:
        """Return the numbers of a chunk, None where it is not simply what it should be."""
        assert self._places is not None
        offset, size = self._places[chunk].tolist()
        if not size:
            return None
        try:
            unpacked = packer.decompress(os.pread(file, size, offset), bufsize=self._size)
        except (packer.error, OSError):  # h5py will say so
            return None
        if len(unpacked) != self._size:
            return None
        if not self._is_shuffled:
            return np.frombuffer(unpacked, self.dtype).reshape(self.chunks)
        width = self.dtype.itemsize
        values = np.empty(self.chunks, self.dtype)
        by_byte = values.reshape(-1).view(np.uint8).reshape(-1, width)
        for place, plane in enumerate(np.frombuffer(unpacked, np.uint8).reshape(width, -1)):
            by_byte[:, place] = plane
        return values

    def _find_chunks(self) -> NDArray[np.int64]:
        """Return by chunk where it lies in the file and its bytes there, 0 for what h5py reads.

        That is what was never written, and what did not go through all filters.
        """
        counts = [-(-n // size) for n, size in zip(self.shape, self.chunks, strict=True)]
        places = np.zeros((*counts, 2), np.int64)

        def note(chunk: Any) -> None:
            at = tuple(
                first // size for first, size in zip(chunk.chunk_offset, self.chunks, strict=True)
            )
            if chunk.filter_mask == 0:
                places[at] = chunk.byte_offset, chunk.size

        self.source.id.chunk_iter(note)
        return places


def _is_plain(h5py: Any, dataset: Any) -> bool:
    """Whether all chunks of a dataset are gzip, of numbers as NumPy has them, in one file."""
    file, dtype, chunks = dataset.file, dataset.dtype, dataset.chunks
    if chunks is None or dtype.kind not in "iuf" or dtype.itemsize > 8:
        return False
    # What somebody writes may not be in the file yet; elsewhere it is at other offsets.
    if file.mode != "r" or file.swmr_mode or file.driver != "sec2" or file.userblock_size:
        return False
    if prod(chunks) * dtype.itemsize < SMALLEST or not hasattr(dataset.id, "chunk_iter"):
        return False
    plan = dataset.id.get_create_plist()
    filters = [plan.get_filter(place) for place in range(plan.get_nfilters())]
    known = [one[0] for one in filters] in ([_DEFLATE], [_SHUFFLE, _DEFLATE])
    if not known or (len(filters) == 2 and filters[0][2][:1] != (dtype.itemsize,)):
        return False
    return bool(h5py.h5t.py_create(dtype).equal(dataset.id.get_type()))


def _is_range(key: Any) -> bool:
    return isinstance(key, slice) and key.step in (None, 1)

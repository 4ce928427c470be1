"""The values of X as arrays, to tell data from any other, however small the difference."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import Design
from .beside import Beside
from .blocks import Blocks
from .dense import Dense
from .filled import Filled
from .genotypes import Genotypes
from .sparse import Sparse
from .store import DenseStore, SparseStore
from .zarr import ZarrArray

_SLAB = 1 << 24  # bytes of an array that are looked at together


def values_of(design: Design) -> Iterator[NDArray[Any]]:
    """Yield arrays whose bytes are the values of a design, where it has them at hand.

    Nothing of a design that computes its columns, or has them on other machines.
    """
    if isinstance(design, Dense):
        yield from _slabs(design._x)
    elif isinstance(design, Sparse):
        for part in (design._indptr, design._indices, design._data):
            yield from _slabs(part)
    elif isinstance(design, Genotypes):
        yield design._kept
        yield design._mask
        yield from _slabs(design._packed)
    elif isinstance(design, DenseStore):
        yield from _checksums(design._x)
    elif isinstance(design, SparseStore):
        yield design._indptr
        yield from _checksums(design._indices)
        yield from _checksums(design._data)
    elif isinstance(design, Beside):
        for one in design.parts:
            yield from values_of(one)
    elif isinstance(design, Blocks):
        for first, last in design.reader.blocks(0, design.shape[1]):
            for top, bottom in pairwise(design.reader.slabs):
                read: Any = design.reader.read(top, bottom, first, last)
                for part in (read.indptr, read.indices, read.data) if design.is_sparse else (read,):
                    yield from _slabs(part)
    elif isinstance(design, Filled):
        yield from design.gaps


def _checksums(array: ZarrArray) -> Iterator[NDArray[Any]]:
    """Yield those of the blocks of a store, with which each is compared when it is read."""
    return (array.checksum(number) for number in range(array.n_chunks))


def _slabs(x: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield an array in parts, along the dimension by which it is stored."""
    if x.ndim == 2 and x.flags.f_contiguous:
        x = x.T
    step = max(1, _SLAB // max(1, x.nbytes // max(1, len(x))))
    for start in range(0, len(x), step):
        yield np.ascontiguousarray(x[start : start + step])

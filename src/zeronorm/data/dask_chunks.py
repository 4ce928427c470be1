"""Chunks of Dask arrays as blocks of whole columns."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .sparse_input import read_sparse

# Column chunks are joined up to the one size, and cut above the other.
SMALL_BYTES, LARGE_BYTES = 32 << 20, 256 << 20


def edges_of(edges: list[int], column_bytes: int) -> list[int]:
    """Return where blocks begin and end: chunks of columns joined where small, cut where large."""
    small = max(1, SMALL_BYTES // column_bytes)
    large = max(1, LARGE_BYTES // column_bytes)
    found = [0]
    for start, stop in pairwise(edges):
        if stop - found[-1] > large:
            if start > found[-1]:
                found.append(start)
            pieces = -(-(stop - start) // large)
            found += np.linspace(start, stop, pieces + 1).astype(int).tolist()[1:-1]
        if stop - found[-1] >= small or stop == edges[-1]:
            found.append(stop)
    # A few columns at the end would count as a block where blocks are shared out.
    if len(found) > 2 and found[-1] - found[-2] < small and found[-1] - found[-3] <= large:
        del found[-2]
    return found


def column_blocks(X: Any, edges: list[int], dtype: np.dtype[Any], is_sparse: bool) -> list[Any]:
    """Return the blocks as `dask.delayed` objects, each with all rows of its columns."""
    from dask.delayed import delayed

    grid = X.to_delayed()
    chunks = np.cumsum([0, *X.chunks[1]]).tolist()
    cut, joined = delayed(_cut, pure=True), delayed(_joined, pure=True)
    blocks = []
    for first, last in pairwise(edges):
        wanted = [
            (number, max(first, start) - start, min(last, stop) - start, stop - start)
            for number, (start, stop) in enumerate(pairwise(chunks))
            if start < last and stop > first
        ]
        pieces = [
            [
                row[number] if high - low == width else cut(row[number], low, high)
                for number, low, high, width in wanted
            ]
            for row in grid
        ]
        blocks.append(joined(pieces, (X.shape[0], last - first), dtype, is_sparse))
    return blocks


def _cut(chunk: Any, low: int, high: int) -> Any:
    by_column: Any = chunk.tocsc() if hasattr(chunk, "tocsc") else chunk
    return by_column[:, low:high]


def _joined(
    pieces: list[list[Any]], shape: tuple[int, int], dtype: np.dtype[Any], is_sparse: bool
) -> NDArray[Any] | sp.csc_array[Any]:
    """Return chunks in rows and columns as one block: an array by column, or a csc_array."""
    for one in (piece for row in pieces for piece in row):
        if sp.issparse(one) != is_sparse or not hasattr(one, "shape"):
            raise TypeError(
                f"X is said to have {'sparse' if is_sparse else 'dense'} chunks; got a "
                f"{type(one).__name__}. Give map_blocks, or what made X, the right `meta`."
            )
    if is_sparse:
        design = read_sparse(sp.csc_array(sp.block_array(pieces, format="csc")), 1)
        indptr, indices, data = design._indptr, design._indices, design._data
        block = sp.csc_array(shape, dtype=data.dtype)
        block.indptr, block.indices, block.data = indptr, indices, data
        return block
    out = np.empty(shape, dtype, order="F")
    top = 0
    for row in pieces:
        bottom, left = top + row[0].shape[0], 0
        for one in row:
            if one.dtype.kind not in "fiub":
                raise TypeError(
                    f"X must have chunks of one type of numbers, {dtype}; got one of {one.dtype}. "
                    "Convert X: X.astype(float)."
                )
            out[top:bottom, left : left + one.shape[1]] = one
            left += one.shape[1]
        top = bottom
    return out

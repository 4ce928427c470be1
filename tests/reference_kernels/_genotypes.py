"""Genotypes in two bits: passes over all variants, and decoding.

A variant is a row of `packed`, (n_variants, stride) uint8: four samples in a byte, the first in its
lowest bits. `index` (p,) has the variants that are the columns of X, and values[j] the numbers that
the codes 0 to 3 mean in column j, float32.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zeronorm.core.types import FloatArray, IndexArray

Packed = NDArray[np.uint8]
_BLOCK = 1 << 22  # genotypes decoded at a time


def genotypes_correlate(
    packed: Packed,
    index: IndexArray,
    values: NDArray[np.float32],
    v: FloatArray,
    out: FloatArray,
    n_threads: int,
) -> None:
    """Put X'v into `out`, (p, m); the native function errs as `dense_correlate` of float32."""
    for columns in _blocks(index.size, v.shape[0]):
        x = _decoded(packed, index[columns], values[columns], v.shape[0])
        for vector in range(v.shape[1]):  # one by one: the bits do not depend on the company
            out[columns, vector] = x @ np.ascontiguousarray(v[:, vector])


def genotypes_moments(
    packed: Packed,
    index: IndexArray,
    values: NDArray[np.float32],
    weight: FloatArray,
    total: FloatArray,
    square: FloatArray,
    n_threads: int,
) -> None:
    """Put sum_i s_i x_ij into total[j] and sum_i s_i x_ij**2 into square[j]; all in float64."""
    for columns in _blocks(index.size, weight.size):
        x = _decoded(packed, index[columns], values[columns], weight.size)
        total[columns] = x @ weight
        square[columns] = x**2 @ weight


def genotypes_count(
    packed: Packed,
    index: IndexArray,
    mask: NDArray[np.uint64],
    counts: IndexArray,
    n_threads: int,
) -> None:
    """Put how many rows have each of the codes 0 to 3 in column j into counts[j], (4,)."""
    n_rows = 4 * packed.shape[1]
    kept = _codes(np.frombuffer(mask.tobytes(), np.uint8)[None], n_rows)[0] == 1
    for columns in _blocks(index.size, n_rows):
        codes = _codes(packed[index[columns]], n_rows)[:, kept]
        for code in range(4):
            counts[columns, code] = np.count_nonzero(codes == code, axis=1)


def genotypes_gather(
    packed: Packed,
    index: IndexArray,
    values: NDArray[np.float32],
    out: FloatArray,
    n_threads: int,
) -> None:
    """Put the columns of X into the rows of `out`, (p, n)."""
    for columns in _blocks(index.size, out.shape[1]):
        out[columns] = _decoded(packed, index[columns], values[columns], out.shape[1])


def _blocks(n_columns: int, n_rows: int) -> list[slice]:
    width = max(1, _BLOCK // max(n_rows, 1))
    return [slice(j, min(j + width, n_columns)) for j in range(0, n_columns, width)]


def _codes(packed: Packed, n_rows: int) -> NDArray[np.uint8]:
    """Return the codes of some variants, (n_variants, n_rows)."""
    shift = np.array([0, 2, 4, 6], np.uint8)
    codes: NDArray[np.uint8] = packed[:, :, None] >> shift & np.uint8(3)
    return codes.reshape(len(packed), -1)[:, :n_rows]


def _decoded(
    packed: Packed, index: IndexArray, values: NDArray[np.float32], n_rows: int
) -> FloatArray:
    codes = _codes(packed[index], n_rows)
    return np.take_along_axis(values.astype(np.float64), codes.astype(np.int64), axis=1)

"""Passes over all columns or rows, and what is read of sparse storage."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from zeronorm.core.types import FloatArray

IndexStorage = NDArray[np.int32] | NDArray[np.int64]

# |error of dense_correlate on float32, int8 or uint8| <= FLOAT32_SCAN_ERROR * ||x_j|| * ||v||:
# eleven roundings to float32 on the way of a product. The native header vectors.hpp derives it.
FLOAT32_SCAN_ERROR = 12 * 2.0**-24

# Elements of X converted to float64 at a time, so that no function copies X.
_CHUNK = 1 << 22


def _column_chunks(n_rows: int, n_columns: int) -> list[slice]:
    width = max(1, _CHUNK // max(n_rows, 1))
    return [slice(j, min(j + width, n_columns)) for j in range(0, n_columns, width)]


def dense_correlate(x: NDArray[Any], v: FloatArray, out: FloatArray, n_threads: int) -> None:
    """Put X'v into `out`; X is float32, float64, int8 or uint8 with any strides."""
    for columns in _column_chunks(*x.shape):
        block = x[:, columns].astype(np.float64)
        for vector in range(v.shape[1]):  # one by one: the bits do not depend on the company
            out[columns, vector] = block.T @ np.ascontiguousarray(v[:, vector])


def dense_moments(
    x: NDArray[Any], weight: FloatArray, total: FloatArray, square: FloatArray, n_threads: int
) -> None:
    """Put sum_i s_i x_ij into total[j] and sum_i s_i x_ij**2 into square[j]; all in float64."""
    for columns in _column_chunks(*x.shape):
        block = x[:, columns].astype(np.float64)
        total[columns] = weight @ block
        square[columns] = weight @ block**2


def csc_correlate(
    indptr: IndexStorage,
    indices: IndexStorage,
    data: NDArray[Any],
    v: FloatArray,
    out: FloatArray,
    n_threads: int,
) -> None:
    """Put X'v into `out` for X in CSC; entries of one position add up."""
    # SciPy's product takes the rows of X' as they are: unsorted and repeated entries included.
    transposed = sp.csr_array((data, indices, indptr), shape=(out.shape[0], v.shape[0]))
    out[:] = transposed.astype(np.float64) @ v


def csc_moments(
    indptr: IndexStorage,
    indices: IndexStorage,
    data: NDArray[Any],
    weight: FloatArray,
    total: FloatArray,
    square: FloatArray,
    n_threads: int,
) -> None:
    """Put the weighted sums of the columns and of their squares into `total` and `square`."""
    column = np.repeat(np.arange(total.size), np.diff(indptr))
    _entry_moments(column, indices, data, weight, total, square)


def csr_correlate(
    indptr: IndexStorage,
    indices: IndexStorage,
    data: NDArray[Any],
    v: FloatArray,
    out: FloatArray,
    n_threads: int,
) -> None:
    """Put X'v into `out` for X in CSR; entries of one position add up."""
    transposed = sp.csc_array((data, indices, indptr), shape=(out.shape[0], v.shape[0]))
    out[:] = transposed.astype(np.float64) @ v


def csr_moments(
    indptr: IndexStorage,
    indices: IndexStorage,
    data: NDArray[Any],
    weight: FloatArray,
    total: FloatArray,
    square: FloatArray,
    n_threads: int,
) -> None:
    """Put the weighted sums of the columns and of their squares into `total` and `square`."""
    row = np.repeat(np.arange(weight.size), np.diff(indptr))
    _entry_moments(indices, row, data, weight, total, square)


def csr_terms(
    indptr: IndexStorage,
    indices: IndexStorage,
    data: NDArray[Any],
    v: FloatArray,
    h: FloatArray,
    product: FloatArray,
    total: FloatArray,
    square: FloatArray,
    n_threads: int,
) -> None:
    """Put x_j'v, sum_i h_i x_ij and sum_i h_i x_ij**2 into `product`, `total` and `square`."""
    csr_correlate(indptr, indices, data, v[:, None], product[:, None], n_threads)
    csr_moments(indptr, indices, data, h, total, square, n_threads)


def csr_combine(
    indptr: IndexStorage,
    indices: IndexStorage,
    data: NDArray[Any],
    z: FloatArray,
    v: FloatArray,
    n_threads: int,
) -> None:
    """Add X z to v, (n,), for X in CSR."""
    v += sp.csr_array((data, indices, indptr), shape=(v.size, z.size)).astype(np.float64) @ z


def csr_gram(
    indptr: IndexStorage,
    indices: IndexStorage,
    data: NDArray[Any],
    position: NDArray[np.int32],
    weight: FloatArray,
    out: FloatArray,
    n_threads: int,
) -> None:
    """Put Z' diag(weight) Z into `out`, (q, q), for some columns Z of X in CSR."""
    x = sp.csr_array((data, indices, indptr), shape=(weight.size, position.size)).astype(float)
    chosen = np.flatnonzero(position >= 0)
    z = x.tocsc()[:, chosen[np.argsort(position[chosen])]]
    out[:] = (z.T @ (sp.diags_array(weight) @ z)).toarray()


def csr_forms(
    indptr: IndexStorage,
    indices: IndexStorage,
    data: FloatArray,
    matrix: FloatArray,
    out: FloatArray,
    n_threads: int,
) -> None:
    """Put x_i' A x_i of every row into `out`, (n,), for X in CSR and A (p, p)."""
    x = sp.csr_array((data, indices, indptr), shape=(out.size, len(matrix)))
    products: Any = x.multiply(x @ matrix)
    out[:] = products.sum(axis=1)


def _entry_moments(
    column: NDArray[Any],
    row: NDArray[Any],
    data: NDArray[Any],
    weight: FloatArray,
    total: FloatArray,
    square: FloatArray,
) -> None:
    value = data.astype(np.float64)
    total[:] = np.bincount(column, weight[row] * value, minlength=total.size)
    square[:] = np.bincount(column, weight[row] * value**2, minlength=total.size)


def csr_gather(
    indptr: IndexStorage,
    indices: IndexStorage,
    data: NDArray[Any],
    position: NDArray[np.int32],
    n_columns: int,
    n_threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]:
    """Return (indptr, indices, data) in CSC of the columns j of X (CSR) with position[j] >= 0."""
    row = np.repeat(np.arange(indptr.size - 1, dtype=np.int32), np.diff(indptr))
    target = position[indices]
    kept = np.flatnonzero(target >= 0)
    order = kept[np.argsort(target[kept], kind="stable")]
    counts = np.bincount(target[kept], minlength=n_columns)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return starts, row[order], data[order].astype(np.float64)


def csr_to_csc(
    indptr: IndexStorage,
    indices: IndexStorage,
    data: NDArray[Any],
    n_columns: int,
    n_threads: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any]]:
    """Return (indptr, indices, data) of X (CSR) in CSC; int8 and uint8 become float32."""
    everything = np.arange(n_columns, dtype=np.int32)
    starts, row, values = csr_gather(indptr, indices, data, everything, n_columns, n_threads)
    kind = np.float32 if data.dtype.kind in "iu" else data.dtype
    return starts.astype(np.int32), row, values.astype(kind)


def audit_indices(
    indptr: IndexStorage, indices: IndexStorage, n_minor: int
) -> tuple[int, int, bool, bool]:
    """Look for the ways in which compressed sparse storage can be broken."""
    wrong = (indptr < 0) | (indptr > indices.size)
    wrong[1:] |= indptr[1:] < indptr[:-1]
    wrong[:1] |= indptr[:1] != 0
    if wrong.any():
        return int(np.argmax(wrong)), -1, False, False
    stored = indices[: int(indptr[-1]) if indptr.size else 0]
    wrong = (stored < 0) | (stored >= n_minor)
    if wrong.any():
        return -1, int(np.argmax(wrong)), False, False
    major = np.repeat(np.arange(max(indptr.size - 1, 0)), np.diff(indptr))
    same = major[1:] == major[:-1]
    is_sorted = not bool(np.any(same & (stored[1:] < stored[:-1])))
    order = np.lexsort((stored, major))
    major, minor = major[order], stored[order]
    repeats = (major[1:] == major[:-1]) & (minor[1:] == minor[:-1])
    return -1, -1, is_sorted, bool(repeats.any())


def sparse_gram(
    indptr: IndexStorage,
    indices: NDArray[np.int32],
    data: FloatArray,
    weight: FloatArray,
    out: FloatArray,
    n_threads: int,
) -> None:
    """Put Z' diag(weight) Z into `out`, (q, q), for Z (n, q) in CSC."""
    shape = (weight.size, out.shape[0])
    z = sp.csc_array((data, indices, indptr), shape=shape)
    weighted = sp.csc_array((data * weight[indices], indices, indptr), shape=shape)
    out[:] = (z.T @ weighted).toarray()

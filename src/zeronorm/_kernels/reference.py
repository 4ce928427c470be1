"""NumPy twin of every native function: the specification, and the oracle of the tests.

Conventions of all functions: X has n rows (samples) and p columns (features). `v` is (n, m)
float64, C order; `out` is (p, m) float64, C order, and is overwritten. Sparse storage is
(indptr, indices, data), with entries in any order within a row or column. `n_threads` is at least
1 and never changes a bit of a result (here it is ignored). Callers check shapes and types.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from zeronorm._typing import FloatArray

IndexStorage = NDArray[np.int32] | NDArray[np.int64]

# |error of dense_correlate on float32, int8 or uint8| <= FLOAT32_SCAN_ERROR * ||x_j|| * ||v||:
# eleven roundings to float32 on the way of a product. The native header columns.hpp derives it.
FLOAT32_SCAN_ERROR = 12 * 2.0**-24

LANES = 4  # blocks in a group of a smoothing sweep

# Elements of X converted to float64 at a time, so that no function copies X.
_CHUNK = 1 << 22


def _column_chunks(n_rows: int, n_columns: int) -> list[slice]:
    width = max(1, _CHUNK // max(n_rows, 1))
    return [slice(j, min(j + width, n_columns)) for j in range(0, n_columns, width)]


def dense_correlate(x: NDArray[Any], v: FloatArray, out: FloatArray, n_threads: int) -> None:
    """Put X'v into `out`; X is float32, float64, int8 or uint8 with any strides.

    The native function sums float32, int8 and uint8 in float32 over short runs of rows:
    |error| <= FLOAT32_SCAN_ERROR * ||x_j|| * ||v|| for each entry.
    """
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
    """Put the weighted sums of the columns and of their squares into `total` and `square`.

    Each stored entry is squared by itself: sum duplicates first.
    """
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
    """Put the weighted sums of the columns and of their squares into `total` and `square`.

    Each stored entry is squared by itself: sum duplicates first.
    """
    row = np.repeat(np.arange(weight.size), np.diff(indptr))
    _entry_moments(indices, row, data, weight, total, square)


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
    """Return (indptr, indices, data) in CSC of the columns j of X (CSR) with position[j] >= 0.

    Column j becomes column position[j] < n_columns of the result. The entries of a column come in
    the order of the rows; repeated entries stay apart.
    """
    row = np.repeat(np.arange(indptr.size - 1, dtype=np.int32), np.diff(indptr))
    target = position[indices]
    kept = np.flatnonzero(target >= 0)
    order = kept[np.argsort(target[kept], kind="stable")]
    counts = np.bincount(target[kept], minlength=n_columns)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return starts, row[order], data[order].astype(np.float64)


def audit_indices(
    indptr: IndexStorage, indices: IndexStorage, n_minor: int
) -> tuple[int, int, bool, bool]:
    """Look for the ways in which compressed sparse storage can be broken.

    Returns
    -------
    bad_indptr : int
        First i with indptr[i] outside [0, indices.size] or below indptr[i - 1], or nonzero
        indptr[0]; -1 if there is none.
    bad_entry : int
        First position in `indices` of a value outside [0, n_minor) among the first indptr[-1]
        entries; -1 if there is none, or if `indptr` is broken.
    is_sorted, has_duplicates : bool
        Whether the indices of every row (column) ascend; whether one of them repeats an index.
        (False, False) where the storage is broken.
    """
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


def dense_smoothing_sweep(
    rows: NDArray[np.float32] | FloatArray,
    starts: NDArray[np.int64],
    order: NDArray[np.int64],
    square: FloatArray,
    weight: FloatArray,
    q: float,
    accuracy: float,
    ratio: float,
    alpha: FloatArray,
    rest: FloatArray,
    scores: FloatArray,
    level: FloatArray,
) -> int:
    """Minimise over one coordinate after the other, 0 < alpha_i < w_i.

        1/q log sum_t exp(q s_t) + sum_i alpha_i log alpha_i + (w_i - alpha_i) log(w_i - alpha_i)

    with s_t = 1/2 ||c_t||^2 and c_t = sum_i alpha_i x_it.

    Parameters
    ----------
    rows : (n, width), x_it for all blocks t: row i on the features of the block, times its label.
        Blocks come in groups of LANES; the entries of a group are the first feature of each of its
        blocks, then the second of each, and so on, 0 beyond the end of a shorter block.
    starts : (T / LANES + 1,) where the entries of each group begin, and the width.
    order : the coordinates in the order of their visits.
    square : (n, T) ||x_it||^2.
    weight : (n,) w_i.
    q : smoothing parameter, positive.
    accuracy, ratio : a coordinate is solved to |derivative| <= accuracy or ratio times what it was.
    alpha, rest : (n,) alpha_i and w_i - alpha_i, kept apart so that cancellation loses neither;
        changed, as are the next two.
    scores : (width,) c, in the order of the entries.
    level : (T,) s, T a multiple of LANES; -inf for padded blocks, which have no features.

    Returns
    -------
    The number of evaluations of the smoothed maximum.
    """
    size = np.diff(starts)
    block = LANES * np.repeat(np.arange(size.size), size) + np.arange(starts[-1]) % LANES
    count = 0
    for i in order:
        row = rows[i].astype(np.float64)
        count += _visit(
            row, block, i, square, weight, q, accuracy, ratio, alpha, rest, scores, level
        )
    return count


def csr_smoothing_sweep(
    indptr: IndexStorage,
    indices: NDArray[np.int32],
    data: FloatArray,
    block: NDArray[np.int32],
    order: NDArray[np.int64],
    square: FloatArray,
    weight: FloatArray,
    q: float,
    accuracy: float,
    ratio: float,
    alpha: FloatArray,
    rest: FloatArray,
    scores: FloatArray,
    level: FloatArray,
) -> int:
    """Do what `dense_smoothing_sweep` does for rows in CSR, column e a feature of block[e]."""
    count = 0
    for i in order:
        stored = slice(indptr[i], indptr[i + 1])
        row = np.zeros(scores.size)
        np.add.at(row, indices[stored], data[stored])
        count += _visit(
            row, block, i, square, weight, q, accuracy, ratio, alpha, rest, scores, level
        )
    return count


def newton_bisections(
    level: FloatArray,
    slope: FloatArray,
    square: FloatArray,
    weight: FloatArray,
    q: FloatArray,
    accuracy: float,
    alpha: FloatArray,
    rest: FloatArray,
    bracket: FloatArray,
    n_evaluations: FloatArray,
) -> None:
    """Solve independent coordinate problems, one per row of level, slope and square, (n, T).

    The derivative log(alpha / rest) + sum_t lambda_t (b_t + a_t z) increases in the step z; it is
    brought to at most `accuracy`, or as near to zero as floating point allows. alpha and rest,
    (n,), are changed; bracket, (n, 2), gets bounds of the smaller of the two at the solution.
    """
    for i in range(level.shape[0]):
        n_evaluations[i] = _coordinate_step(
            level[i], slope[i], square[i], weight[i], q[i], accuracy, 0.0,
            alpha[i : i + 1], rest[i : i + 1],
        )[1]  # fmt: skip
        bracket[i] = min(alpha[i], rest[i]) * np.array([1 - 1e-12, 1 + 1e-12])


def _visit(
    row: FloatArray,
    block: NDArray[Any],
    i: int,
    square: FloatArray,
    weight: FloatArray,
    q: float,
    accuracy: float,
    ratio: float,
    alpha: FloatArray,
    rest: FloatArray,
    scores: FloatArray,
    level: FloatArray,
) -> int:
    """Minimise over coordinate i, entry e of its row in block[e]; return the evaluations."""
    slope = np.asarray(np.bincount(block, row * scores, level.size), dtype=np.float64)
    one = slice(i, i + 1)
    z, count = _coordinate_step(
        level, slope, square[i], weight[i], q, accuracy, ratio, alpha[one], rest[one]
    )
    scores += z * row
    level += z * (slope + 0.5 * square[i] * z)
    return count


def _coordinate_step(
    level: FloatArray,
    slope: FloatArray,
    square: FloatArray,
    weight: float,
    q: float,
    accuracy: float,
    ratio: float,
    alpha: FloatArray,
    rest: FloatArray,
) -> tuple[float, int]:
    """Change alpha and rest, (1,), to the minimiser along the coordinate; return the step.

    The unknown is the log-odds x of alpha / weight, in which the derivative is nearly linear.
    """
    old, old_rest = float(alpha[0]), float(rest[0])

    def step(x: float) -> float:
        # The difference of the smaller of the two parts has the smaller error.
        return float(weight * expit(x)) - old if x < 0 else old_rest - float(weight * expit(-x))

    def derivative(x: float, z: float) -> float:
        s = level + z * (slope + 0.5 * square * z)
        share = np.exp(q * (s - s.max()))
        return x + float(share @ (slope + square * z)) / float(share.sum())

    if abs(derivative(np.log(old / old_rest), 0.0)) <= accuracy:
        return 0.0, 0
    # |x| < 690 keeps both parts above 1e-300 of the weight.
    low, high = -690.0, 690.0
    if derivative(low, step(low)) >= 0.0:
        x, calls = low, 1
    elif derivative(high, step(high)) <= 0.0:
        x, calls = high, 2
    else:
        x, result = brentq(
            lambda x: derivative(x, step(x)), low, high, xtol=1e-14, rtol=1e-15, full_output=True
        )
        calls = 2 + int(result.function_calls)
    z = step(x)
    alpha[0], rest[0] = weight * expit(x), weight * expit(-x)
    return z, calls

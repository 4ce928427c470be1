"""NumPy twin of every native function: the specification, and the oracle of the tests.

Conventions of all functions: X has n rows (samples) and p columns (features). `v` is (n, m)
float64, C order; `out` is (p, m) float64, C order, and is overwritten. Sparse storage is
(indptr, indices, data), with entries in any order within a row or column. `n_threads` is at least
1 and never changes a bit of a result (here it is ignored). Callers check shapes and types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from zeronorm._typing import FloatArray, IndexArray

IndexStorage = NDArray[np.int32] | NDArray[np.int64]
# j -> the rows in which column j may not be zero, and its float64 values there
_Columns: TypeAlias = Callable[[int], tuple[Any, FloatArray]]

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


def dense_terms(
    x: NDArray[Any],
    features: IndexArray,
    v: FloatArray,
    h: FloatArray,
    product: FloatArray,
    square: FloatArray,
    n_threads: int,
) -> None:
    """Put x_j'v and sum_i h_i x_ij**2 of the features, (q,), into `product` and `square`.

    x : (n, m) float32 or float64, Fortran order; so for all functions of dense columns.
    features : (q,) columns of x in any order, each once; so for all functions below.
    v, h : (n,).
    """
    _terms(_dense(x), features, v, h, product, square)


def csc_terms(
    indptr: IndexStorage,
    indices: IndexStorage,
    data: NDArray[Any],
    features: IndexArray,
    v: FloatArray,
    h: FloatArray,
    product: FloatArray,
    square: FloatArray,
    n_threads: int,
) -> None:
    """Do what `dense_terms` does for X in CSC, data float32 or float64.

    Each stored entry is squared by itself: sum duplicates first, here and for all functions below.
    """
    _terms(_csc(indptr, indices, data), features, v, h, product, square)


def dense_combine(x: NDArray[Any], features: IndexArray, z: FloatArray, v: FloatArray) -> None:
    """Add sum_j z_j x_j to v, (n,); z is (q,), and columns with z_j = 0 are not read."""
    _combine(_dense(x), features, z, v)


def csc_combine(
    indptr: IndexStorage,
    indices: IndexStorage,
    data: NDArray[Any],
    features: IndexArray,
    z: FloatArray,
    v: FloatArray,
) -> None:
    """Do what `dense_combine` does for X in CSC."""
    _combine(_csc(indptr, indices, data), features, z, v)


def dense_descend(
    x: NDArray[Any],
    features: IndexArray,
    curvature: FloatArray,
    gradient: FloatArray,
    square: FloatArray,
    penalty: FloatArray,
    u: FloatArray,
    largest_step: FloatArray,
    nu: float,
    intercept: bool,
    gradient_e: float,
    target: float,
    max_sweeps: int,
    shrinking: float,
    seed: int,
    active: IndexArray,
    d: FloatArray,
    residual: FloatArray,
    state: FloatArray,
) -> None:
    """Minimise a quadratic model at u by sweeps of coordinate descent, over the steps d and e.

        gradient'd + gradient_e e + 1/2 sum_i h_i (x_i'd + e)^2 + nu/2 ||d||^2
            + sum_j l1_j |t_j| + l2_j/2 t_j^2   with t = u + d and low_j <= t_j <= high_j

    A sweep moves e, if there is an intercept, to its minimiser, and then visits the active features
    in random order. A visit meets a violation, the least |derivative + subgradient|, and moves the
    feature to its minimiser, or by its largest step towards it; where there is none, it stays.
    Sweeps end when the violations that one of them met add up to at most `target`.

    Shrinking: a feature at t_j = 0 that is optimal there by more than `shrinking` times the largest
    violation of the sweep before becomes inactive. When the sum reaches the target, all are active
    again, and the descent is done only if none was left out of that sweep. The first sweep, and the
    first one with all features again, leave out none.

    Parameters
    ----------
    x, features : see `dense_terms`; vectors of length q belong to the features, in their order.
    curvature : (n,) h, not negative.
    gradient, square, u : (q,), where `square` is sum_i h_i x_ij^2 and u is within the bounds.
    penalty : (q, 4) rows l1, l2, low, high: low is -inf or 0, high is 0 or inf.
    largest_step : (q,) positive.
    nu, gradient_e, target : see above.
    intercept : False where e stays as it is.
    max_sweeps : at most so many sweeps in this call.
    shrinking : see above; 1 / n as published, 0 if all features are to stay active.
    seed : of the random order in this call.
    active : (q,) places in `features`, in the order of the last visits; inactive ones at the end.
        A permutation, changed.
    d, residual : (q,) and (n,), the step and h_i (x_i'd + e); changed.
    state : (6,) e; number of active features; largest violation of the last sweep; sweeps so far;
        sum of the violations of the last sweep; 1 where the descent is done, else 0. Changed. A
        descent begins with d = 0, residual = 0 and (0, q, inf, 0, inf, 0), and goes on with what
        the last call left (1 or 0 in the end is the same).

    Source: Yuan, Ho and Lin, JMLR 13, 2012 (the inner problem of newGLMNET, sections 4 and 5).
    """
    _descend(
        _dense(x), features, curvature, gradient, square, penalty, u, largest_step, nu, intercept,
        gradient_e, target, max_sweeps, shrinking, seed, active, d, residual, state,
    )  # fmt: skip


def csc_descend(
    indptr: IndexStorage,
    indices: IndexStorage,
    data: NDArray[Any],
    features: IndexArray,
    curvature: FloatArray,
    gradient: FloatArray,
    square: FloatArray,
    penalty: FloatArray,
    u: FloatArray,
    largest_step: FloatArray,
    nu: float,
    intercept: bool,
    gradient_e: float,
    target: float,
    max_sweeps: int,
    shrinking: float,
    seed: int,
    active: IndexArray,
    d: FloatArray,
    residual: FloatArray,
    state: FloatArray,
) -> None:
    """Do what `dense_descend` does for X in CSC."""
    _descend(
        _csc(indptr, indices, data), features, curvature, gradient, square, penalty, u,
        largest_step, nu, intercept, gradient_e, target, max_sweeps, shrinking, seed, active, d,
        residual, state,
    )  # fmt: skip


def gram_descend(
    gram: FloatArray,
    penalty: FloatArray,
    u: FloatArray,
    target: float,
    max_sweeps: int,
    d: FloatArray,
    slope: FloatArray,
) -> tuple[int, float]:
    """Minimise a quadratic model by sweeps over its features, in their order.

        slope'd + 1/2 d'Ad + sum_j l1_j |t_j| + l2_j/2 t_j^2,   t = u + d,  low_j <= t_j <= high_j

    What `dense_descend` does, for few features: a visit costs nothing where the feature stays.
    Steps have no limit; a feature without curvature, A_jj = 0, stays.

    Parameters
    ----------
    gram : (q, q) A, symmetric and positive semidefinite.
    penalty, u : (q, 4) and (q,), see `dense_descend`.
    target : sweeps end when the violations that one of them met add up to at most this.
    max_sweeps : at most so many sweeps.
    d, slope : (q,) the step, and the derivative of the quadratic part there; changed.

    Returns
    -------
    The number of sweeps, and the sum of the violations that the last one met.
    """
    total = 0.0
    with np.errstate(over="ignore"):
        for sweep in range(max_sweeps):
            total = 0.0
            for j, row in enumerate(penalty):
                t = float(u[j] + d[j])
                g, h = float(slope[j]), float(gram[j, j])
                total += _violation(row, g, t)
                if h + row[1] <= 0 and abs(g) > row[0]:
                    continue
                z = _minimiser(row, g, h, t) - t
                if z == 0 or not np.isfinite(z):
                    continue
                d[j] = -u[j] if z == -t else d[j] + z
                slope += z * gram[j]
            if total <= target:
                return sweep + 1, total
    return max(max_sweeps, 0), total


def dense_newton_cycle(
    x: NDArray[Any],
    features: IndexArray,
    y: FloatArray,
    weight: FloatArray,
    penalty: FloatArray,
    squared_hinge: bool,
    nu: float,
    sigma: float,
    largest_step: FloatArray,
    max_halvings: int,
    seed: int,
    order: IndexArray,
    u: FloatArray,
    z: FloatArray,
) -> float:
    """Take one Newton step after the other on every feature, each with its line search (CDN).

        min_u  sum_i s_i f(y_i, z_i) + sum_j l1_j |u_j| + l2_j/2 u_j^2,   low_j <= u_j <= high_j

    with margins z that move with X u, and f the logistic loss log(1 + exp(-y z)) or the squared
    hinge max(0, 1 - y z)^2 / 2. The step minimises the second-order model of one feature plus
    nu/2 step^2, is cut to its largest size, and is halved until

        change of the objective <= sigma * share of the step * (change of the linear model)

    at most so often that `max_halvings` shares are tried; if none will do, u_j stays.

    Parameters
    ----------
    x, features : see `dense_terms`.
    y, weight : (n,) labels of +-1, and s.
    penalty : (q, 4), see `dense_descend`.
    squared_hinge : False for the logistic loss.
    nu, sigma, max_halvings : see above.
    largest_step : (q,) positive.
    seed : of the random order.
    order : (q,) a permutation of the places in `features`; changed to the order of the visits.
    u, z : (q,) within the bounds, and (n,); changed.

    Returns
    -------
    The sum of the violations met, see `dense_descend`.

    Source: Yuan, Chang, Hsieh and Lin, JMLR 11, 2010 (section 4.1).
    """
    return _newton_cycle(
        _dense(x), features, y, weight, penalty, squared_hinge, nu, sigma, largest_step,
        max_halvings, seed, order, u, z,
    )  # fmt: skip


def csc_newton_cycle(
    indptr: IndexStorage,
    indices: IndexStorage,
    data: NDArray[Any],
    features: IndexArray,
    y: FloatArray,
    weight: FloatArray,
    penalty: FloatArray,
    squared_hinge: bool,
    nu: float,
    sigma: float,
    largest_step: FloatArray,
    max_halvings: int,
    seed: int,
    order: IndexArray,
    u: FloatArray,
    z: FloatArray,
) -> float:
    """Do what `dense_newton_cycle` does for X in CSC."""
    return _newton_cycle(
        _csc(indptr, indices, data), features, y, weight, penalty, squared_hinge, nu, sigma,
        largest_step, max_halvings, seed, order, u, z,
    )  # fmt: skip


def _dense(x: NDArray[Any]) -> _Columns:
    return lambda j: (slice(None), x[:, j].astype(np.float64))


def _csc(indptr: IndexStorage, indices: IndexStorage, data: NDArray[Any]) -> _Columns:
    def column(j: int) -> tuple[Any, FloatArray]:
        stored = slice(indptr[j], indptr[j + 1])
        return indices[stored], data[stored].astype(np.float64)

    return column


def _terms(
    columns: _Columns,
    features: IndexArray,
    v: FloatArray,
    h: FloatArray,
    product: FloatArray,
    square: FloatArray,
) -> None:
    for k, j in enumerate(features):
        rows, x = columns(j)
        product[k] = x @ v[rows]
        square[k] = (x * x) @ h[rows]


def _combine(columns: _Columns, features: IndexArray, z: FloatArray, v: FloatArray) -> None:
    for k in np.flatnonzero(z):
        rows, x = columns(features[k])
        v[rows] += z[k] * x


def _descend(
    columns: _Columns,
    features: IndexArray,
    curvature: FloatArray,
    gradient: FloatArray,
    square: FloatArray,
    penalty: FloatArray,
    u: FloatArray,
    largest_step: FloatArray,
    nu: float,
    intercept: bool,
    gradient_e: float,
    target: float,
    max_sweeps: int,
    shrinking: float,
    seed: int,
    active: IndexArray,
    d: FloatArray,
    residual: FloatArray,
    state: FloatArray,
) -> None:
    q = features.size
    offset, limit, total = float(state[0]), float(state[2]), float(state[4])
    n_active, n_sweeps, done = int(state[1]), int(state[3]), False
    random = _Random(seed)
    bend_e = curvature.sum() if intercept else 0.0
    last = n_sweeps + max_sweeps
    # Where curvature vanishes, steps may be infinite before they are cut.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        while n_sweeps < last and not done:
            n_sweeps += 1
            if bend_e > 0:
                step = -(gradient_e + residual.sum()) / bend_e
                if np.isfinite(step):  # else curvature has vanished
                    residual += step * curvature
                    offset += step
            random.shuffle(active, n_active)
            shrinks, margin = shrinking > 0 and np.isfinite(limit), shrinking * limit
            limit = total = 0.0
            k = 0
            while k < n_active:
                j = active[k]
                rows, x = columns(features[j])
                t = u[j] + d[j]
                g = float(gradient[j] + nu * d[j] + x @ residual[rows])
                if shrinks and t == 0 and _settled(penalty[j], g, margin):
                    n_active -= 1
                    active[[k, n_active]] = active[[n_active, k]]
                    continue  # with the feature that was moved here
                k += 1
                violation = _violation(penalty[j], g, t)
                limit = max(limit, violation)
                total += violation
                h = square[j] + nu
                if h + penalty[j, 1] <= 0 and abs(g) > penalty[j, 0]:
                    continue  # no minimum
                z = _minimiser(penalty[j], g, h, t) - t
                z = min(max(z, -largest_step[j]), largest_step[j])
                if not np.isfinite(z):
                    continue
                d[j] = -u[j] if z == -t else d[j] + z  # u + d is 0 without rounding
                residual[rows] += z * (x * curvature[rows])
            if total <= target:
                done = n_active == q
                n_active, limit = q, np.inf
    state[:] = offset, n_active, limit, n_sweeps, total, done


def _newton_cycle(
    columns: _Columns,
    features: IndexArray,
    y: FloatArray,
    weight: FloatArray,
    penalty: FloatArray,
    squared_hinge: bool,
    nu: float,
    sigma: float,
    largest_step: FloatArray,
    max_halvings: int,
    seed: int,
    order: IndexArray,
    u: FloatArray,
    z: FloatArray,
) -> float:
    def change_of(rows: Any, move: FloatArray) -> FloatArray:
        """Return the changes of the losses, small ones without cancellation."""
        margin, step = y[rows] * z[rows], y[rows] * move
        if squared_hinge:
            before, after = 1.0 - margin, 1.0 - margin - step
            plain = 0.5 * (np.maximum(0.0, after) ** 2 - np.maximum(0.0, before) ** 2)
            return np.asarray(
                np.where((before > 0) & (after > 0), -0.5 * step * (before + after), plain)
            )
        plain = np.logaddexp(0.0, -margin - step) - np.logaddexp(0.0, -margin)
        small = np.log1p(np.expm1(-np.clip(step, -1.0, 1.0)) * expit(-margin))
        return np.asarray(np.where(np.abs(step) > 1.0, plain, small))

    def derivatives(rows: Any) -> tuple[FloatArray, FloatArray]:
        margin = y[rows] * z[rows]
        if squared_hinge:
            slack = np.maximum(0.0, 1.0 - margin)
            return -y[rows] * slack, np.sign(slack)
        return -y[rows] * expit(-margin), expit(margin) * expit(-margin)

    _Random(seed).shuffle(order, order.size)
    total = 0.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for j in order:
            rows, x = columns(features[j])
            slope, bend = derivatives(rows)
            g = float(x @ (weight[rows] * slope))
            h = nu + float((x * x) @ (weight[rows] * bend))
            total += _violation(penalty[j], g, u[j])
            full = _minimiser(penalty[j], g, h, u[j]) - u[j]
            full = min(max(full, -largest_step[j]), largest_step[j])
            if full == 0:
                continue
            before = _cost(penalty[j], u[j])
            model = g * full + _cost(penalty[j], u[j] + full) - before
            for share in 0.5 ** np.arange(max_halvings):
                step = share * full
                change = weight[rows] @ change_of(rows, step * x)
                change += _cost(penalty[j], u[j] + step) - before
                if change <= sigma * share * model:
                    u[j] += step
                    z[rows] += step * x
                    break
    return float(total)


# One feature: `row` is its l1, l2, low, high; g and h are derivatives at t of the smooth part.


def _cost(row: FloatArray, t: float) -> float:
    """Return the penalty of t."""
    return float(row[0] * abs(t) + 0.5 * row[1] * t * t)


def _violation(row: FloatArray, g: float, t: float) -> float:
    """Return the least |g + a subgradient of the penalty at t|."""
    l1, l2, low, high = row
    g = g + l2 * t
    if t != 0:
        return float(abs(g + np.sign(t) * l1))
    up = -(g + l1) if high > 0 else 0.0
    down = g - l1 if low < 0 else 0.0
    return float(max(up, down, 0.0))


def _settled(row: FloatArray, g: float, margin: float) -> bool:
    """Return whether 0 is optimal even if g changes by the margin."""
    l1, _, low, high = row
    return bool((high <= 0 or g + l1 > margin) and (low >= 0 or l1 - g > margin))


def _minimiser(row: FloatArray, g: float, h: float, t: float) -> float:
    """Return the minimiser over x of g (x - t) + h/2 (x - t)^2 + the penalty of x."""
    l1, l2, low, high = row
    centre = h * t - g
    size = abs(centre) - l1
    if not size > 0:
        return 0.0
    return float(min(max(np.copysign(size / (h + l2), centre), low), high))


class _Random:
    """The random order of visits: xorshift64 (Marsaglia, J. Stat. Softw. 8(14), 2003)."""

    def __init__(self, seed: int) -> None:
        self._state = self._wrapped(seed * 0x9E3779B97F4A7C15 + 1)

    def below(self, n: int) -> int:
        """Return one of 0, ..., n - 1."""
        x = self._state
        x ^= self._wrapped(x << 13)
        x ^= x >> 7
        x ^= self._wrapped(x << 17)
        self._state = x
        return (x >> 11) % n

    def shuffle(self, order: IndexArray, n: int) -> None:
        """Shuffle the first n elements."""
        for k in range(n - 1, 0, -1):
            other = self.below(k + 1)
            order[[k, other]] = order[[other, k]]

    @staticmethod
    def _wrapped(x: int) -> int:
        return x & (2**64 - 1)

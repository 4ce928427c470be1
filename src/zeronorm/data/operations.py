"""What solvers ask of data beyond the three methods of a design, written once for all storages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import Column, Message, ParameterError
from ..core.memory import machine_memory
from ..core.messages import remedy
from ..core.parallel import map_threads
from ..core.ranking import largest
from ..core.types import EXACT_SCAN, Design, FloatArray, IndexArray, Stored, Wrapper
from .arrays import Dense, Sparse, as_vectors
from .chunked import Chunked
from .genotypes import Genotypes
from .repeated import Repeated
from .store import DenseStore, SparseStore, ZarrArray
from .views import (
    CACHED,
    IN_MEMORY,
    Beside,
    Filled,
    Rows,
    Scaled,
    as_slice,
    feature_blocks,
    filled_over,
    lowered,
    storage_of,
)

VECTORS = 6  # of float64 over all features, that a fit has at a time, or more


def scan(design: Design, v: FloatArray) -> FloatArray:
    """Return the scores c = X'v of all columns, block by block (between them Ctrl-C is noticed).

    v : (n_samples,) or (n_samples, m) -> (n_features,) or (n_features, m).

    Raises
    ------
    ValueError
        Where a score is not finite: see `locate_nonfinite`.
    """
    n_features = design.shape[1]
    check_room(n_features)
    scores = np.empty((n_features, *v.shape[1:]))
    for start in range(0, n_features, design.block):
        stop = min(start + design.block, n_features)
        scores[start:stop] = design.correlate(v, start, stop)
    if not np.isfinite(scores).all():
        locate_nonfinite(design, v)
    return scores


def moments(design: Design, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sum_i s_i x_ij and sum_i s_i x_ij^2 of all columns, block by block."""
    n_features = design.shape[1]
    check_room(n_features)
    total, square = np.empty(n_features), np.empty(n_features)
    for start in range(0, n_features, design.block):
        stop = min(start + design.block, n_features)
        total[start:stop], square[start:stop] = design.moments(weight, start, stop)
    return total, square


def check_room(n_features: int) -> None:
    """Raise ValueError where the vectors over all features exceed the memory of this machine.

    A system that promises more memory than it has would end the process in the middle of a fit.
    """
    needed = VECTORS * 8 * n_features
    if needed > machine_memory():
        raise ParameterError(
            "X",
            f"has {n_features:,} columns; a fit keeps about {VECTORS} vectors over all of them, "
            f"{needed / 2**30:.3g} GiB, and this machine has {machine_memory() / 2**30:.3g} "
            "GiB",
            "",
            "Take fewer columns; of products, those that Interactions.best finds, or those "
            "within= groups.",
        )


def top_features(scores: FloatArray, k: int) -> IndexArray:
    """Return the k features with the largest |score|, largest first, ties by the smaller index.

    Parameters
    ----------
    scores : (n_features,) finite; NaN raises ValueError.
    k : how many, at least 0; all that are left where there are fewer.

    Returns
    -------
    (k,) indices. Cost O(n_features + k log k).
    """
    return largest(np.abs(scores), min(k, scores.size))


def margins(
    design: Design, support: IndexArray, coef: FloatArray, intercept: float | FloatArray
) -> FloatArray:
    """Return z = X[:, support] coef + intercept; only these columns are read.

    coef : (k,) or (k, m), intercept a number or (m,) -> (n_samples,) or (n_samples, m); (k,) and
        several intercepts are one sum of columns with each of them.

    Raises
    ------
    ValueError
        Where one of the columns holds NaN or infinity.
    """
    coef = np.asarray(coef, dtype=np.float64)
    if coef.ndim == 1 and np.size(intercept) > 1:
        coef = coef[:, None]
    z = np.zeros((design.shape[0], *coef.shape[1:])) + intercept
    done = 0
    features = np.asarray(support, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        for block in feature_blocks(features, design.shape[0], IN_MEMORY):
            columns: Any = design.gather(block)
            z += columns @ coef[done : done + block.size]
            done += block.size
    if not np.isfinite(z).all():
        _refuse_nonfinite(storage_of(design), features)
    return z


def multiply(design: Design, coef: FloatArray) -> FloatArray:
    """Return X coef over all columns, (n_samples,), in one pass; those of `Scaled` are centred.

    coef : (n_features,).
    """
    if isinstance(design, Rows):
        return multiply(design.base, coef)[design.index]
    if isinstance(design, Scaled) and design.is_sparse:
        weights = design.scale * coef
        z = multiply(design.base, weights)
        return z if design.mean is None else z - float(design.mean @ weights)
    combined = design.combine(np.ascontiguousarray(coef))
    if combined is not None:
        return combined
    return margins(design, np.arange(design.shape[1]), coef, 0.0)


def select_rows(design: Design, index: IndexArray, weight: FloatArray) -> tuple[Design, np.ndarray]:
    """Return some rows of a design, and the mask of the columns that are not constant there.

    Columns that are scaled, centred or filled are so again, by the rows themselves; no data are
    copied.

    weight : (n_rows,) of these rows; of each output, if there are several.
    """
    if isinstance(design, Repeated):
        rows, varies = select_rows(design.base, index, weight[: index.size])
        return Repeated(rows, design.outputs), np.repeat(varies, design.outputs)
    base = design.base if isinstance(design, Scaled) else design
    center = isinstance(design, Scaled) and design.mean is not None
    scaled = center_scale(Rows(filled_over(base, index), index), weight, center=center)
    return scaled if isinstance(design, Scaled) else scaled.base, scaled.scale > 0


def dense(stored: Stored) -> FloatArray:
    """Return gathered columns as a dense array; for few columns only."""
    return stored if isinstance(stored, np.ndarray) else stored.toarray(order="F")


def locate_nonfinite(design: Design, v: FloatArray | None = None) -> NoReturn:
    """Raise the ValueError that says why scores or moments of a design are not finite.

    It names the first column of the user's matrix with NaN or infinity and its first such row;
    else the first column whose values are so large that sums overflow. Rows are numbered as in the
    storage, under all wrappers.

    v : (n_samples,) or (n_samples, m), the vector of the scan that was not finite.
    """
    storage = storage_of(design)
    n_samples, n_features = storage.shape
    vectors = [np.ones(n_samples)]
    if v is not None:
        vectors.append(np.abs(lowered(design, v)[2]).reshape(n_samples, -1).sum(axis=1))
    # Columns whose sums overflow, and the column with the largest sum of squares.
    overflowed: list[int] = []
    widest, widest_square = 0, -1.0
    for start in range(0, n_features, storage.block):
        stop = min(start + storage.block, n_features)
        # The sum of a column with NaN or infinity is not finite: no look at the storage is needed.
        wrong = ~np.isfinite(storage.correlate(vectors[0], start, stop))
        _refuse_nonfinite(storage, start + np.flatnonzero(wrong))
        square = storage.moments(vectors[0], start, stop)[1]
        wrong |= ~np.isfinite(square)
        for vector in vectors[1:]:
            wrong |= ~np.isfinite(storage.correlate(vector, start, stop))
        overflowed.extend(start + np.flatnonzero(wrong)[:1])
        block_widest = int(np.argmax(square))
        if square[block_widest] > widest_square:
            widest, widest_square = start + block_widest, float(square[block_widest])
    if not all(np.isfinite(vector).all() for vector in vectors):
        raise ValueError(f"The vector of a scan is not finite although X is.{remedy(*_SMALLER)}")
    column = int(overflowed[0]) if overflowed else widest
    top = float(np.abs(dense(storage.gather(np.array([column])))).max())
    where = Message("has values too large in ", Column(column), f" (up to {top:.3g} in magnitude)")
    raise ParameterError(
        "X",
        Message(where, ": sums over the samples overflow"),
        "",
        remedy("rescale that column", *_SMALLER).strip(),
    )


# What else helps where sums over the samples overflow.
_SMALLER = ("use a smaller --C", "use a smaller --sample-weight")


def _refuse_nonfinite(design: Design, features: IndexArray) -> None:
    """Raise ValueError if a column holds NaN or infinity: the first such, in its first row."""
    for block in feature_blocks(features, design.shape[0], IN_MEMORY):
        columns = dense(design.gather(block))
        wrong = ~np.isfinite(columns)
        if not wrong.any():
            continue
        at = int(np.argmax(wrong.any(axis=0)))
        row = int(np.argmax(wrong[:, at]))
        what, todo = "infinity", "replace it, or remove that row"
        if np.isnan(columns[row, at]):
            what, todo = "NaN", "remove or impute missing values"
        where = (f"Input X contains {what} at row {row}, ", Column(int(block[at])))
        raise ValueError(Message(*where, f"; {todo}."))


def score_errors(design: Design, weight: FloatArray | None = None) -> FloatArray | None:
    """Return by how much every score of a scan for ||v|| = 1 may err, (n_features,).

    None where sums are of float64, whose rounding touches no digit that counts.

    weight : (n_samples,) of the means and scales of `design`; equal weights save a pass over X.
    """
    factor = design.scan_error
    return None if factor <= EXACT_SCAN else factor * _column_norms(design, weight)


# Squares below this are close to underflow (and gone where denormals are flushed): |x_ij| < 1e-140.
TINY_SQUARE = 1e-280


def _column_norms(design: Design, weight: FloatArray | None) -> FloatArray:
    """Return ||x_j|| of the stored columns times the scale of `design`, or a little more."""
    if isinstance(design, Repeated):
        own = None if weight is None else weight[: design.base.shape[0]]
        return np.repeat(_column_norms(design.base, own), design.outputs)
    n = design.shape[0]
    if isinstance(design, Scaled):
        if design.mean is not None and weight is not None and np.ptp(weight) == 0:
            # ||x_j||^2 = n (mean^2 + std^2) and scale = 1 / std
            return np.asarray(np.sqrt(n * ((design.mean * design.scale) ** 2 + 1.0)))
        return _column_norms(design.base, None) * design.scale
    bounds = design.norm_bounds()
    if bounds is not None:
        return bounds
    return np.sqrt(moments(design, np.ones(n))[1])


# Columns scaled by their standard deviations, and centred; which of them lie far from 0.

# Above this |mean| / std, the curvature of a column beside an intercept has lost 8 digits.
DISTANT = 1e4
# Sparse columns are not centred: above this |mean| / std no digits of their curvature are left.
DISTANT_SPARSE = 1e6
# A standard deviation below this share of the largest |x_ij| is the rounding of a constant: some
# four units in the last place.
CONSTANT = 1e-15
# Below this share few digits of the differences are left, and products with coefficients lose them.
COARSE = 1e-12
# What rounding takes off a mean is kept from this share of the standard deviation on.
COARSE_REST = 1e-9
# Above this mean^2 / variance, the variance from sums of squares has lost 6 of its 16 digits.
CANCELLED = 1e6


def center_scale(design: Design, weight: FloatArray, *, center: bool) -> Scaled:
    """Return the columns divided by their standard deviation, centred if `center` and X is dense.

    With s_i the weights and W their sum, mean_j = sum_i s_i x_ij / W and
    std_j^2 = sum_i s_i (x_ij - mean_j)^2 / W, from one pass of moments. Columns whose mean is more
    than 1000 standard deviations away are read again and centred first, in blocks: sums of squares
    do not know the variance of float32 values around 1e6. Sparse data are never centred.

    A constant column gets scale 0, so that its scores are exactly 0. Constant is what does not vary
    over the rows of positive weight by more than rounding (std <= 1e-15 max|x_ij|), and columns
    with a root mean square below 1e-140, whose squares underflow.

    Parameters
    ----------
    weight : (n_samples,) nonnegative, with a positive sum.

    Raises
    ------
    ValueError
        Where X has NaN or infinity, naming row and column; where the squares of a column overflow,
        or the mean of a column of sparse data is 1e6 standard deviations away, naming the column.
    """
    n_samples, n_features = design.shape
    weight = np.ascontiguousarray(weight, dtype=np.float64)
    total, square = moments(design, weight)
    sum_weight = weight.sum()
    with np.errstate(over="ignore"):
        mean, square = total / sum_weight, square / sum_weight
    if not (np.isfinite(mean).all() and np.isfinite(square).all()):
        locate_nonfinite(design)
    visible = square > TINY_SQUARE
    variance = np.where(visible, np.maximum(square - mean**2, 0.0), 0.0)
    cancelled = np.flatnonzero(visible & (variance <= mean**2 / CANCELLED))
    std = np.sqrt(variance)
    threads = design.n_threads
    lost: FloatArray | None = None
    rows = None if weight.min() > 0 else np.flatnonzero(weight > 0)
    for features in feature_blocks(cancelled, n_samples):
        columns, s = dense(design.gather(as_slice(features))), weight
        if rows is not None:
            columns, s = columns[rows], s[rows]
        mean[features], std[features], rest = two_pass(columns, s / sum_weight, threads)
        if (np.abs(rest) > COARSE_REST * std[features]).any():
            lost = np.zeros(n_features) if lost is None else lost
            lost[features] = rest
    if not np.isfinite(std).all():
        locate_nonfinite(design)
    scale = np.zeros(n_features)
    np.divide(1.0, std, out=scale, where=std > 0)
    if center and design.is_sparse:
        _check_near(mean * scale)
    centred = center and not design.is_sparse
    return Scaled(design, mean if centred else None, scale, lost if centred else None)


def _check_near(ratio: FloatArray) -> None:
    """Raise ValueError where a column of sparse data lies too far from 0; ratio: mean / std."""
    far = np.flatnonzero(np.abs(ratio) > DISTANT_SPARSE)
    if far.size:
        raise ParameterError(
            "X",
            Message(
                "is sparse, and ",
                Column(far[0]),
                f" has a mean of {abs(ratio[far[0]]):.3g} standard deviations",
            ),
            f"{far.size} column(s) with more than {DISTANT_SPARSE:g}",
            "Sparse columns are not centred, so that their differences are lost to rounding. "
            "Subtract a constant from such columns, or pass a dense X.",
        )


def column_scaling(design: Design, features: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and multiplier of columns of a design, 0 and 1 where it is not scaled."""
    if isinstance(design, Repeated):
        return column_scaling(design.base, features // design.outputs)
    mean, scale = np.zeros(features.size), np.ones(features.size)
    if isinstance(design, Scaled):
        scale = design.scale[features]
        if design.mean is not None:
            mean = design.mean[features]
    return mean, scale


def deviations(columns: Stored) -> FloatArray:
    """Return the standard deviation of every gathered column, (k,)."""
    if isinstance(columns, np.ndarray):
        return np.asarray(columns.std(axis=0))
    n_samples = columns.shape[0]
    mean = np.asarray(columns.sum(axis=0)).ravel() / n_samples
    square = np.asarray(columns.power(2).sum(axis=0)).ravel() / n_samples
    return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))


def two_pass(
    x: FloatArray, share: FloatArray, n_threads: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, standard deviation (0: constant), and what rounding took off the mean.

    share : (n,) sums to 1.
    """
    low, high = x.min(axis=0), x.max(axis=0)
    n_columns = x.shape[1]
    # Numbers are subtracted before they are squared; the second mean removes the first one's error.
    centred = x - low
    mean, _ = Dense(centred, n_threads).moments(share, 0, n_columns)
    centred -= mean
    rest, square = Dense(centred, n_threads).moments(share, 0, n_columns)
    away = mean + rest
    mean = low + away
    lost = away - (mean - low)  # exact where low and mean are close
    std = np.sqrt(np.maximum(square - rest**2, 0.0))
    constant = std <= CONSTANT * np.maximum(np.abs(low), np.abs(high))
    constant |= low == high
    return mean, np.where(constant, 0.0, std), np.where(constant, 0.0, lost)


def distant_means(design: Design) -> FloatArray | None:
    """Return the means of the columns that lie far from 0, 0 for the others; None if all are near.

    Far is more than 1e4 standard deviations. A few rows tell which columns may be; only those are
    read. None for sparse data, which are never centred.
    """
    rows = storage_of(design).some_rows()
    if rows is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # NaN is found by the first scan
        near = np.abs(rows.mean(axis=0)) <= 0.1 * DISTANT * rows.std(axis=0)
        found = np.zeros(near.size)
        share = np.full(design.shape[0], 1.0 / design.shape[0])
        for features in feature_blocks(np.flatnonzero(~near), share.size):
            columns = dense(design.gather(as_slice(features)))
            mean, std, _ = two_pass(columns, share, design.n_threads)
            found[features] = np.where((std > 0) & (np.abs(mean) > DISTANT * std), mean, 0.0)
    return found if found.any() else None


def coarse_columns(design: Design, features: IndexArray) -> IndexArray:
    """Return those of some features whose standard deviation is below 1e-12 of their largest value.

    A few rows tell which columns may be; only those are read. None of sparse data, which hold 0.
    """
    rows = storage_of(design).some_rows()
    if rows is None or not features.size:
        return np.empty(0, np.int64)
    rows = rows[:, features]
    with np.errstate(over="ignore", invalid="ignore"):
        near = rows.std(axis=0) > 1e3 * COARSE * np.abs(rows).max(axis=0)
    found = []
    share = np.full(design.shape[0], 1.0 / design.shape[0])
    for block in feature_blocks(features[~near], share.size):
        columns = dense(design.gather(as_slice(block)))
        std = two_pass(columns, share, design.n_threads)[1]
        found.append(block[(std > 0) & (std <= COARSE * np.abs(columns).max(axis=0))])
    return np.concatenate([np.empty(0, np.int64), *found])


def on_scaling_of_x(
    design: Design, support: IndexArray, coef: FloatArray, intercept: Any
) -> tuple[FloatArray, Any]:
    """Return coefficients and intercept for the columns of X as it is, of a model for a design.

    intercept : of several outputs that of each, for columns of all of them.
    """
    mean, scale = column_scaling(design, support)
    coef = coef * scale
    if isinstance(design, Repeated):
        return coef, intercept - (mean * coef).reshape(-1, design.outputs).sum(axis=0)
    return coef, intercept - float(mean @ coef)


def unscaled(design: Design) -> tuple[Design, FloatArray]:
    """Return the design under `Scaled` and its multipliers, or itself and ones."""
    if isinstance(design, Scaled):
        return design.base, design.scale
    return design, np.ones(design.shape[1])


def offsets(design: Design, features: IndexArray) -> FloatArray:
    """Return what is to be subtracted from gathered columns: sparse ones are not centred."""
    if isinstance(design, Scaled) and design.is_sparse and design.mean is not None:
        return np.asarray(design.mean[features] * design.scale[features])
    return np.zeros(features.size)


# Sums of the columns and of their squares over many sets of rows, in one pass.


def moments_of(columns: Stored, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sum_i s_i x_ij and sum_i s_i x_ij^2 of gathered columns, (m, n_columns) each.

    The BLAS multiplies a fixed number of columns at a time, so that the bits do not depend on the
    number of threads. Sums of columns of zeros are 0.

    weights : (n_samples, m), the s_i in columns.
    """
    n_samples, n_columns = columns.shape
    if isinstance(columns, sp.csc_array):
        squares = sp.csc_array((columns.data**2, columns.indices, columns.indptr), columns.shape)
        return np.asarray(columns.T @ weights).T, np.asarray(squares.T @ weights).T
    total, square = np.empty((2, weights.shape[1], n_columns))
    width = max(1, CACHED // n_samples)

    def add(start: int) -> None:
        own = slice(start, start + width)
        part = columns[:, own]
        total[:, own] = weights.T @ part
        square[:, own] = weights.T @ (part * part)

    map_threads(add, range(0, n_columns, width))
    return total, square


class MeasuredRows(Rows):
    """Rows of a design with the sums that `moments` gives for one weight of them.

    Parameters
    ----------
    rows : the rows.
    weight : (n_rows,) of the sums.
    total, square : (n_features,) sums of the columns and of their squares.
    """

    def __init__(
        self, rows: Rows, weight: FloatArray, total: FloatArray, square: FloatArray
    ) -> None:
        super().__init__(rows.base, rows.index)
        self._weight, self._total, self._square = weight, total, square

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        if not np.array_equal(weight, self._weight):
            return super().moments(weight, start, stop)
        return self._total[start:stop].copy(), self._square[start:stop].copy()


def measured(parts: Sequence[tuple[Rows, FloatArray]]) -> list[MeasuredRows]:
    """Return several rows of one design with their sums, all in one pass over it.

    parts : rows, and their weights.
    """
    bases = [rows.base for rows, _ in parts]
    n_samples, n_features = bases[0].shape
    sums = np.empty((2, len(parts), n_features))
    weights = np.column_stack([rows.lower(weight) for rows, weight in parts])
    # Gaps are filled with means of their own, by which the designs of halves differ.
    shared = all(base is bases[0] for base in bases) and not storage_of(bases[0]).is_remote
    block = max(1, min(bases[0].block, IN_MEMORY // n_samples))
    for start in range(0, n_features, block):
        own = slice(start, min(start + block, n_features))
        if shared:
            sums[:, :, own] = moments_of(bases[0].gather(own), weights)
            continue
        for place, base in enumerate(bases):
            sums[:, place, own] = base.moments(weights[:, place], own.start, own.stop)
    return [MeasuredRows(*part, *sums[:, place]) for place, part in enumerate(parts)]


# Columns whose rows are mixed within blocks of samples, so that errors are independent there.


@dataclass(frozen=True, eq=False)
class Mixed:
    """What becomes of the rows of some blocks of one size.

    rows : (g, m) of every block. to : (g, t) the rows that they become.
    matrices : (g, t, m); or (g, 2) numbers a and b of a (I - b J), with J the mean over the block.
    """

    rows: IndexArray
    to: IndexArray
    matrices: FloatArray

    def of(self, x: FloatArray) -> FloatArray:
        """Return T x of the blocks, (g, t, c); x (g, m, c)."""
        if self.matrices.ndim == 3:
            return np.asarray(self.matrices @ x)
        a, b = self.matrices.T[:, :, None, None]
        return np.asarray(a * (x - b * x.mean(axis=1, keepdims=True)))

    def back(self, v: FloatArray) -> FloatArray:
        """Return T'v of the blocks, (g, m, c); v (g, t, c)."""
        if self.matrices.ndim == 3:
            return np.asarray(self.matrices.transpose(0, 2, 1) @ v)
        return self.of(v)


@dataclass(frozen=True, eq=False)
class Whitening:
    """A map T of the rows, block by block; every row is in one of its parts."""

    parts: tuple[Mixed, ...]

    @cached_property
    def shape(self) -> tuple[int, int]:
        """The rows of T x, and those of x."""
        return sum(one.to.size for one in self.parts), sum(one.rows.size for one in self.parts)

    def of(self, x: FloatArray) -> FloatArray:
        """Return T x; x (n,) or (n, c)."""
        found = np.empty((self.shape[0], *x.shape[1:]))
        for one in self.parts:
            own = x[one.rows]
            mixed = one.of(own.reshape(*one.rows.shape, -1))
            found[one.to] = mixed.reshape(*one.to.shape, *x.shape[1:])
        return found

    def back(self, v: FloatArray) -> FloatArray:
        """Return T'v; v (n_rows,) or (n_rows, c)."""
        found = np.empty((self.shape[1], *v.shape[1:]))
        for one in self.parts:
            own = v[one.to]
            mixed = one.back(own.reshape(*one.to.shape, -1))
            found[one.rows] = mixed.reshape(*one.rows.shape, *v.shape[1:])
        return found


class Whitened(Wrapper):
    """The columns T x_j of another design; none is ever stored, c = X'(T'v).

    Parameters
    ----------
    base : of the columns x_j.
    whitening : T.
    """

    def __init__(self, base: Design, whitening: Whitening) -> None:
        super().__init__(base)
        self.is_sparse = False
        self.whitening = whitening

    @property
    def shape(self) -> tuple[int, int]:
        return self.whitening.shape[0], self.base.shape[1]

    def lower(self, v: FloatArray) -> FloatArray:
        """Return T'v."""
        as_vectors(v, self.shape, 0, 0)
        return self.whitening.back(v)

    def gather(self, features: IndexArray | slice) -> FloatArray:
        return np.asfortranarray(self.whitening.of(dense(self.base.gather(features))))

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        as_vectors(weight, self.shape, start, stop)
        columns = self.gather(slice(start, stop))
        return weight @ columns, weight @ columns**2


# The values of X as arrays, to tell data from any other, however small the difference.

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
    elif isinstance(design, Chunked):
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

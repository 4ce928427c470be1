"""What solvers ask of data beyond the three methods of a design, written once for all storages."""

from __future__ import annotations

import os
from typing import Any, NoReturn

import numpy as np

from ..core.ranking import largest
from ..core.remedies import remedy
from ..core.types import EXACT_SCAN, Design, FloatArray, IndexArray, Stored, Wrapper
from .filled import filled_over
from .repeated import Repeated
from .spread import dense, two_pass
from .wrappers import IN_MEMORY, Rows, Scaled, as_slice, feature_blocks, storage_of

# Above this mean^2 / variance, the variance from sums of squares has lost 6 of its 16 digits.
CANCELLED = 1e6
# What rounding takes off a mean is kept from this share of the standard deviation on.
COARSE_REST = 1e-9
# Sparse columns are not centred: above this |mean| / std no digits of their curvature are left.
DISTANT_SPARSE = 1e6
VECTORS = 6  # of float64 over all features, that a fit has at a time, or more
# Squares below this are close to underflow (and gone where denormals are flushed): |x_ij| < 1e-140.
TINY_SQUARE = 1e-280
# What else helps where sums over the samples overflow.
_SMALLER = ("use a smaller --C", "use a smaller --sample-weight")


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
    if needed > memory():
        raise ValueError(
            f"X has {n_features:,} columns; a fit keeps about {VECTORS} vectors over all of them, "
            f"{needed / 2**30:.3g} GiB, and this machine has {memory() / 2**30:.3g} GiB. Take "
            "fewer columns; of products, those that Products.best finds, or those within= groups."
        )


def memory() -> float:
    """Return the bytes of memory of this machine; infinity where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


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
        raise ValueError(
            f"X is sparse, and column {far[0]} has a mean of {abs(ratio[far[0]]):.3g} standard "
            f"deviations; got {far.size} column(s) with more than {DISTANT_SPARSE:g}. Sparse "
            "columns are not centred, so that their differences are lost to rounding. Subtract a "
            "constant from such columns, or pass a dense X."
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


def offsets(design: Design, features: IndexArray) -> FloatArray:
    """Return what is to be subtracted from gathered columns: sparse ones are not centred."""
    if isinstance(design, Scaled) and design.is_sparse and design.mean is not None:
        return np.asarray(design.mean[features] * design.scale[features])
    return np.zeros(features.size)


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
        vectors.append(np.abs(_lowered(design, v)).reshape(n_samples, -1).sum(axis=1))
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
    raise ValueError(
        f"X has values too large in column {column} (up to {top:.3g} in magnitude): sums over the "
        f"samples overflow.{remedy('rescale that column', *_SMALLER)}"
    )


def _refuse_nonfinite(design: Design, features: IndexArray) -> None:
    """Raise ValueError if a column holds NaN or infinity: the first such, in its first row."""
    for block in feature_blocks(features, design.shape[0], IN_MEMORY):
        columns = dense(design.gather(block))
        wrong = ~np.isfinite(columns)
        if not wrong.any():
            continue
        at = int(np.argmax(wrong.any(axis=0)))
        row = int(np.argmax(wrong[:, at]))
        where = f"at row {row}, column {block[at]}"
        if np.isnan(columns[row, at]):
            raise ValueError(f"Input X contains NaN {where}; remove or impute missing values.")
        raise ValueError(f"Input X contains infinity {where}; replace it, or remove that row.")


def _lowered(design: Design, v: FloatArray) -> FloatArray:
    while isinstance(design, Wrapper):
        v = design.lower(v)
        design = design.base
    return v


def score_errors(design: Design, weight: FloatArray | None = None) -> FloatArray | None:
    """Return by how much every score of a scan for ||v|| = 1 may err, (n_features,).

    None where sums are of float64, whose rounding touches no digit that counts.

    weight : (n_samples,) of the means and scales of `design`; equal weights save a pass over X.
    """
    factor = design.scan_error
    return None if factor <= EXACT_SCAN else factor * _column_norms(design, weight)


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

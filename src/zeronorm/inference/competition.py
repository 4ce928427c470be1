"""What features and dummies compete for: a target beside columns that are in every model.

With covariates A the null hypothesis is that x_j says nothing of y given A and the other features.
All is compared in the space orthogonal to 1 and A: y and the columns have their parts there, and
dummies are drawn there. The vectors of a scan lie in it, so that no column is changed: x_j'v is the
product of the part of x_j. Of the parts only the norms are needed, from one pass.

Two classes are y - P(y | A) of a logistic model, which is orthogonal to 1 and A, too. Beside A it
has the mean 0 where that model is right; and where x_j is linear in A, whether it is right or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.types import Design, FloatArray, Smooth
from ..data.whitened import Whitened, Whitening
from ..data.wrappers import IN_MEMORY, Scaled, as_slice, feature_blocks
from ..losses import LeastSquares, Logistic, adjusted

EXPLAINED = 1e-12  # of the variance of the target: less is rounding
SPANNED = 1e-5  # of a squared norm: what is left of a column that others span, in float32
LOST = 1e-8  # of a squared norm: what blocks leave of a column that they lose
DEPENDENT = 1e-6  # of the largest of columns of norm 1


@dataclass(frozen=True, eq=False)
class Competition:
    """The target, columns, and what of them counts."""

    design: Design  # of columns of squared norm n
    left: FloatArray  # (p,) the share of it beside the columns in every model; 0: no candidate
    y: FloatArray  # (n,) beside them
    free: FloatArray | None = None  # (n, r) an orthonormal basis of these; None: of the constant

    @property
    def n_free(self) -> int:
        """How many columns are in every model, independent ones."""
        return 1 if self.free is None else self.free.shape[1]


def residuals(free: FloatArray | None, columns: FloatArray) -> FloatArray:
    """Return what columns, (n,) or (n, m), have beside an orthonormal basis; None: the constant."""
    if free is None:
        return np.asarray(columns - columns.mean(axis=0))
    return np.asarray(columns - free @ (free.T @ columns))


def adjust(y: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the part of y beside covariates, and an orthonormal basis of 1 and these.

    columns : (n, q). A covariate that depends on earlier ones changes nothing.

    Raises
    ------
    ValueError
        Where they leave nothing of y.
    """
    n, classes = y.size, np.unique(y)
    loss: Smooth = LeastSquares()
    numbers = (y - y.mean()) / y.std()
    if classes.size == 2:
        loss, numbers = Logistic(), np.where(y == classes[1], 1.0, -1.0)
    own = adjusted(loss, numbers, columns, np.ones(n), free=True)
    free = own.basis / np.sqrt(n)
    part = -own.value_gradient(np.zeros(n), numbers, np.ones(n))[1]
    part = residuals(free, residuals(free, part))
    if free.shape[1] > n - 2 or part @ part <= EXPLAINED * n:
        raise ValueError(
            f"covariates must leave a part of y to explain; got {free.shape[1] - 1} independent "
            f"ones, which determine y in all {n} rows. Leave some of them out."
        )
    return part, free


def compete(design: Design, usable: np.ndarray, y: FloatArray, free: FloatArray) -> Competition:
    """Return the competition beside an orthonormal basis; one pass over X.

    design : of columns of squared norm n. usable : (p,) mask. y : (n,) beside `free`.
    """
    n, p = design.shape
    left = usable.astype(float)
    for start in range(0, p, design.block):
        stop = min(start + design.block, p)
        products = design.correlate(free / np.sqrt(n), start, stop)
        left[start:stop] -= (products**2).sum(axis=1)
    left[~usable | (left <= SPANNED)] = 0.0
    return Competition(design, left, y, free)


def compete_on(
    whitening: Whitening, design: Scaled, usable: np.ndarray, y: FloatArray, free: FloatArray
) -> Competition:
    """Return the competition on rows that are mixed within blocks; two passes over X."""
    n_rows, n = whitening.shape
    norms = squared_norms(whitening, design)
    kept = usable & (norms > LOST * n)
    size = np.sqrt(n_rows / np.where(kept, norms, 1.0))
    scaled = Scaled(design.base, design.mean, np.where(kept, design.scale * size, 0.0))
    vectors, sizes, _ = np.linalg.svd(whitening.of(free), full_matrices=False)
    free = vectors[:, sizes > DEPENDENT * sizes[0]]
    y = whitening.of(y)
    return compete(Whitened(scaled, whitening), kept, residuals(free, residuals(free, y)), free)


def squared_norms(whitening: Whitening, design: Design) -> FloatArray:
    """Return those of mixed columns, (p,), in one pass over X."""
    mixed, found = Whitened(design, whitening), np.empty(design.shape[1])
    ones = np.ones(mixed.shape[0])
    for features in feature_blocks(np.arange(found.size), whitening.shape[1], IN_MEMORY):
        own = as_slice(features)
        assert isinstance(own, slice)
        found[own] = mixed.moments(ones, own.start, own.stop)[1]
    return found

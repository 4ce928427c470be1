"""Bounds of least squares with a part D of the loss's curvature in the ridge.

Let (1 - a) H - D be positive semidefinite, H = X'WX over the features where D_j > 0. For every u on
these features, any u0 on them and any dual point v, with c = X'v and e = y - v / w - X u0,

    loss(u) = -conjugate(v) - c'u + 1/2 ||X (u - u0) - e||_W^2
           >= -conjugate(v) - c'u + 1/2 (u - u0)'D(u - u0) - 1/2 (1 / a - 1) ||e||_W^2,

as ||x - e||^2 >= (1 - a) ||x||^2 - (1 / a - 1) ||e||^2. With the ridge that is at least the sum of
-conjugate(v), 1/2 u0'Du0, the last term, and -1/2 (c_j + D_j u0_j)^2 / (1 + D_j) for each feature
with a coefficient. v is made the dual point of u0, so that e is rounding, and its square nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.results import Certificate
from ..core.types import FloatArray, IndexArray
from .data import Data
from .form import CertificateError
from .loss import ROUNDOFF

SHARE = 1e-6  # a
LEAST = 1e-250  # Squares of columns times weights below may underflow.


@dataclass(frozen=True, slots=True)
class Extraction:
    """D of a tree, of which (1 - a) H - D has been found to be positive semidefinite."""

    data: Data
    features: IndexArray  # where D_j > 0
    X: FloatArray  # (n, p) these columns
    diagonal: FloatArray  # D there
    inverse: FloatArray  # that of H, nearly
    size: FloatArray  # the largest entry of each of these columns

    @classmethod
    def of(cls, data: Data, certificate: Certificate, diagonal: FloatArray) -> Extraction:
        """Return that of a certificate; raise CertificateError where it bounds nothing."""
        plain = certificate.loss == "least_squares" and certificate.groups is None
        plain = plain and certificate.max_abs_coef is None
        if not plain or data.signs.size or data.covariates is not None:
            raise CertificateError(
                "tree.diagonal is of least squares over single features, without signs, covariates "
                "and max_abs_coef."
            )
        features = np.flatnonzero(diagonal)
        if not data.usable[features].all():
            raise CertificateError("tree.diagonal must be 0 for what is no feature.")
        too_much = "tree.diagonal of the certificate is more than the curvature of the loss."
        if features.size > data.X.shape[0]:  # H has no such rank
            raise CertificateError(too_much)
        X, D = data.X.take(features), diagonal[features]
        n, weight = len(X), data.weight[: len(X)]
        size = data.error[features] / (ROUNDOFF * (4 * n + 8))
        inverse = inverse_beside(X, weight, D, size)
        if inverse is None:
            raise CertificateError(too_much)
        return cls(data, features, X, D, inverse, size)

    def covers(self, units: IndexArray) -> bool:
        """Return whether the models of some features are bounded with D."""
        return bool(np.isin(units, self.features).all())

    def at(self, dual: FloatArray) -> Shifted:
        """Return what a dual point shows with D."""
        data, X = self.data, self.X
        (n, p), q, D = X.shape, data.outputs, self.diagonal[:, None]
        target = data.weight * data.y - dual  # W (y - v / w)
        right = X.T @ target.reshape(q, n).T
        u = self.inverse @ right
        before = data.weight * (data.y - (X @ u).T.ravel())
        v = data.balanced(before)
        # e, as the columns and sums are known to so many roundings.
        parts = np.abs(data.y).reshape(q, n) + (self.size @ np.abs(u))[:, None]
        away = ROUNDOFF * (4 * n + p + 16) * parts.ravel() + data.blur
        away += np.abs(v - before) / data.weight
        value = 0.5 * float((D * u**2).sum())
        wrong_value = 0.5 / SHARE * float(data.weight @ away**2) + ROUNDOFF * (u.size + 8) * value
        if not np.isfinite(value + wrong_value + float(np.abs(v).sum())):
            raise CertificateError("a dual point of the certificate is too large.")
        shift = np.zeros((data.usable.size, q))
        shift[self.features] = D * u
        spread, part = np.zeros((data.usable.size, q)), np.zeros(data.usable.size)
        spread[self.features] = 8 * ROUNDOFF * np.abs(D * u)
        part[self.features] = self.diagonal
        return Shifted(v, shift, spread, part, value, wrong_value)


def inverse_beside(
    X: FloatArray, weight: FloatArray, D: FloatArray, size: FloatArray
) -> FloatArray | None:
    """Return the inverse of H = X'WX, nearly; None unless (1 - a) H - D is shown to be positive.

    size : the largest entry of each column.
    """
    n, p = X.shape
    # The columns are known to (4 n + 8) roundings of their largest entry, the sums to n + 2
    # more; a factor of Cholesky is that of a matrix which is (p + 2) times the trace away
    # (Higham, sections 3.1 and 10.1). In norm all of that is a multiple of the sum of squares.
    shift = ROUNDOFF * (12 * n + 4 * p + 64) * float(size @ size) * float(weight.sum())
    if not float(size.min()) ** 2 * float(weight.min()) >= LEAST:
        raise CertificateError("tree.diagonal is of columns or weights too small for it.")
    matrix = X.T @ (weight[:, None] * X)
    try:
        least = (1.0 - SHARE) * (matrix - shift * np.eye(p))
        lower = np.linalg.cholesky(least - np.diag(D))
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(lower).all():  # not every LAPACK raises where it meets NaN
        return None
    # Any u0 bounds, but the search has that of H: one of H less its rounding shows less.
    return np.asarray(np.linalg.inv(matrix), np.float64)


@dataclass(frozen=True, slots=True)
class Shifted:
    """A dual point as D has it."""

    dual: FloatArray
    shift: FloatArray  # (m, outputs) what is added to scores
    spread: FloatArray  # (m, outputs) by how much these may be wrong, beside their own rounding
    part: FloatArray  # (m,) D
    value: float  # what is added to the bound
    rounding: float  # of it

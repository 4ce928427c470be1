"""The data on the scaling of a certificate, and its loss there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..result import Certificate
from ._form import CertificateError, check_range

# The standard deviation of a constant column is at most this share of its largest entry.
CONSTANT = 1e-12
# The sums of a dual point over both classes differ by this share of its total at most.
BALANCED = 1e-9
LEAST_SIZE = 1e-140  # A column with a smaller root mean square is 0, as its squares underflow.
LEAST_SHARE = 1e-290  # A dual value below this share of C s_i is 0: its quotient has no digits.
ROUNDOFF = 2.0**-53


@dataclass(frozen=True, slots=True)
class Data:
    """The data of a certificate, rows of positive weight, on its selection scaling."""

    X: FloatArray  # (n, m); columns that are constant are 0; centred where the intercept is free
    y: FloatArray  # (n,) +-1
    weight: FloatArray  # (n,) C s_i
    usable: np.ndarray  # (m,) columns that are not constant
    mean: FloatArray  # (m,) what X is centred by, more than its scaling is: a part of the intercept
    error: FloatArray  # (m,) rounding of a score, relative to the sum of the dual point
    told: FloatArray  # (n, m) the columns as the scaling has them
    loss: str
    intercept: bool

    def feasible(self, alpha: FloatArray) -> FloatArray:
        """Return a dual point that is feasible; the given one must be so but for rounding."""
        alpha = np.array(alpha, np.float64)
        total = float(alpha.sum())
        excess = float(alpha @ self.y)
        sound = bool((alpha >= 0).all()) and np.isfinite(total)
        if self.loss == "logistic":
            sound = sound and bool((alpha <= self.weight * (1.0 + BALANCED)).all())
            alpha = np.minimum(alpha, self.weight)
        if self.intercept:
            sound = sound and abs(excess) <= BALANCED * total
        if not sound:
            raise CertificateError("the dual point of the certificate is not feasible.")
        alpha = np.where(alpha < LEAST_SHARE * self.weight, 0.0, alpha)
        return self.balanced(alpha) if self.intercept else alpha

    def balanced(self, alpha: FloatArray) -> FloatArray:
        """Return alpha with the class of the larger sum shrunk to that of the other."""
        up, down = float(alpha[self.y > 0].sum()), float(alpha[self.y < 0].sum())
        if up == down:
            return alpha
        heavier = self.y > 0 if up > down else self.y < 0
        return np.asarray(np.where(heavier, alpha * (min(up, down) / max(up, down)), alpha))

    def conjugate(self, alpha: FloatArray) -> tuple[float, float]:
        """Return the conjugate of the loss at a feasible point, and what its rounding grows with.

        A relative error of alpha_i, as that of its share t of the weight, is one of
        alpha_i |log(t / (1 - t))|; each logarithm has one of its own.
        """
        share = alpha / self.weight
        if self.loss == "squared_hinge":
            return float(alpha @ (0.5 * share - 1.0)), float(alpha @ (2.0 * share + 2.0))
        positive = np.clip(share, 1e-300, None)
        rest = np.clip(1.0 - share, 1e-300, None)
        log_rest = np.where(share < 0.5, np.log1p(-np.minimum(share, 0.5)), np.log(rest))
        terms = self.weight * (share * np.log(positive) + rest * log_rest)  # none is positive
        return float(terms.sum()), -float(terms.sum() + 4.0 * alpha @ (np.log(positive) + log_rest))

    def value(self, z: FloatArray) -> float:
        """Return the loss of margins, without rows of weight 0."""
        if self.loss == "squared_hinge":
            return float(self.weight @ (0.5 * np.maximum(0.0, 1.0 - self.y * z) ** 2))
        return float(self.weight @ np.logaddexp(0.0, -self.y * z))

    def slopes(self, z: FloatArray) -> FloatArray:
        """Return the dual point of margins, -y_i times the derivative of the loss."""
        if self.loss == "squared_hinge":
            return np.asarray(self.weight * np.maximum(0.0, 1.0 - self.y * z))
        return np.asarray(self.weight * np.exp(-np.logaddexp(0.0, self.y * z)))


def read_data(X: Any, y: Any, sample_weight: Any, certificate: Certificate) -> Data:
    """Return the data on the scaling of a certificate."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    labels = np.asarray(y)
    if X.ndim != 2 or labels.shape != X.shape[:1]:
        raise ValueError(
            f"X must be (n, m) and y (n,); got the shapes {X.shape} and {labels.shape}."
        )
    n = len(labels)
    s = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if s.shape != (n,) or not (np.isfinite(s) & (s >= 0)).all():
        raise ValueError("sample_weight must be a finite number for each row of X, not negative.")
    X, labels, s = X[s > 0], labels[s > 0], s[s > 0]
    classes = np.unique(labels)
    if len(classes) != 2:
        raise ValueError(
            f"y must have two classes; got {len(classes)}. Verify one class at a time."
        )
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        raise ValueError("y must be labels; got NaN or infinity.")
    if not np.isfinite(X).all():
        raise ValueError("X must be finite; got NaN or infinity.")
    sign = np.where(labels == classes[1], 1.0, -1.0)
    (n, m) = X.shape
    if certificate.dual.size != n:
        raise CertificateError(
            f"the dual point of the certificate is of {certificate.dual.size} samples; X has {n} "
            "of positive weight."
        )
    if certificate.groups is not None and certificate.groups.code.size != m:
        raise CertificateError(
            f"the groups of the certificate are of {certificate.groups.code.size} features; X has "
            f"{m}."
        )
    check_range(certificate, m)
    # Powers of two, by which columns are divided and multiplied without rounding, keep squares in
    # range; and the second mean removes the error of the first.
    size = np.abs(X).max(axis=0)
    unit = np.ldexp(1.0, np.clip(np.frexp(size)[1], -1021, 1023))
    Z, share = X / unit, s / s.max()
    share /= share.sum()
    mean = share @ Z
    away = Z - mean
    rest = share @ away
    away -= rest
    std = np.sqrt(np.einsum("i,ij,ij->j", share, away, away))
    constant = std <= CONSTANT * np.abs(Z).max(axis=0)
    constant |= np.sqrt(np.einsum("i,ij,ij->j", share, Z, Z)) < LEAST_SIZE / unit
    scale = np.where(constant, np.inf, 1.0 / unit if certificate.scaling == "none" else std)
    centred = certificate.scaling == "standardized"
    moved = bool(certificate.fit_intercept) and not centred
    away /= scale  # in place, as X may fill the memory
    Z /= scale
    values, told = (away if centred or moved else Z), (away if centred else Z)
    # A score is a sum of n products, and so are the mean and the deviation in its entries.
    error = ROUNDOFF * (4 * n + 8) * np.abs(values).max(axis=0)
    if constant[certificate.support].any():
        raise CertificateError(
            "the support of the certificate has constant columns of X, which are no features."
        )
    return Data(
        values, sign, certificate.C * s, ~constant,
        (mean + rest) / scale if moved else np.zeros(m), error, told,
        certificate.loss, bool(certificate.fit_intercept),
    )  # fmt: skip

"""The data on the scaling of a certificate, and its loss there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.results import Certificate
from ..core.types import Design, FloatArray, IndexArray
from .columns import ScaledColumns, Source, read_frame
from .covariates import Covariates
from .form import CertificateError, check_range
from .loss import ROUNDOFF, Loss
from .losses import loss_of
from .multinomial import Multinomial
from .ordinal import Ordinal, in_order
from .survival import survival_target

# The sums of a dual point over both classes differ by this share of its total at most.
BALANCED = 1e-9
LEAST_SHARE = 1e-290  # A dual value below this share of C s_i is 0: its quotient has no digits.
LEAST_NORMAL = 2.0**-1022  # Smaller numbers have fewer digits.


@dataclass(frozen=True, slots=True)
class Data:
    """The data of a certificate, rows of positive weight, on its selection scaling."""

    X: ScaledColumns  # (n, m); centred where the intercept is free
    # (n,) +-1, or numbers; of losses of residuals centred where b is free. Of several outputs, as
    # weights and dual points, (outputs n,): all rows of the first one, then those of the next.
    y: FloatArray
    centre: FloatArray  # (outputs,) of y: a part of the intercept
    blur: float  # by how much centring may have changed an entry of y
    weight: FloatArray  # (n,) C s_i, times e^o_i where an offset o makes it so
    usable: np.ndarray  # (m,) columns that are not constant, and no covariates
    error: FloatArray  # (m,) rounding of a score, relative to the sum of the dual point
    loss: Loss
    intercept: bool
    outputs: int = 1
    signs: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))  # (m,), or none
    covariates: Covariates | None = None

    def scores(self, dual: FloatArray, features: IndexArray | slice) -> FloatArray:
        """Return X'v of some features, (k, outputs); 0 where its sign is that of no coefficient.

        With u >= 0 the largest value of u c - u^2 / 2 is that of max(0, c)^2 / 2, and a score
        that is known to some error is so after this, too.
        """
        found = self.X.dot(dual.reshape(self.outputs, -1).T, features)
        if not self.signs.size:
            return found
        return np.where(self.signs[features][:, None] * found < 0.0, 0.0, found)

    def feasible(self, dual: FloatArray) -> FloatArray:
        """Return a dual point that is feasible; the given one must be so but for rounding."""
        dual = np.array(dual, np.float64).ravel()
        total = float(np.abs(dual).sum())
        low, high = self.loss.limits(self.y, self.weight)
        near = 1.0 + BALANCED
        sound = np.isfinite(total) and bool(((low * near <= dual) & (dual <= high * near)).all())
        dual = np.clip(dual, low, high)
        if self.intercept:
            sound = sound and abs(float(dual.sum())) <= BALANCED * total
        if not sound:
            raise CertificateError("the dual point of the certificate is not feasible.")
        dual = np.where(np.abs(dual) < LEAST_SHARE * self.weight, 0.0, dual)
        return self.balanced(dual) if self.covariates is None else self.covariates.feasible(dual)

    def balanced(self, dual: FloatArray) -> FloatArray:
        """Return a dual point between its ends as a feasible one."""
        if self.covariates is not None:
            return self.covariates.feasible(dual, near=np.inf)
        if self.outputs == 1 or self.loss.classes:
            return self.loss.balanced(dual, self.y, self.weight, self.intercept)
        parts = (one.reshape(self.outputs, -1) for one in (dual, self.y, self.weight))
        return np.concatenate(
            [
                self.loss.balanced(v, y, weight, self.intercept)
                for v, y, weight in zip(*parts, strict=True)
            ]
        )

    def conjugate(self, dual: FloatArray) -> tuple[float, float]:
        """Return the conjugate of the loss at a feasible point, and its rounding."""
        found, terms = self.loss.conjugates(dual, self.y, self.weight)
        rounding = ROUNDOFF * (dual.size + 8) * float(terms @ self.coarse)
        if self.covariates is not None:
            rounding += self.covariates.rounding(dual)
        return float(found.sum()), rounding

    def reach(self, dual: FloatArray) -> FloatArray:
        """Return what the rounding of scores is relative to, (outputs,): above all sums of |v|."""
        sums = np.abs(dual).reshape(self.outputs, -1).sum(axis=1)
        return np.asarray(sums + self.loss.blur(self.y, self.weight))

    def errors(self, dual: FloatArray, features: IndexArray | slice) -> FloatArray:
        """Return by how much scores of a feasible point may differ from these, (k, outputs)."""
        error = self.error[features]
        found = error[:, None] * self.reach(dual)
        if self.covariates is None:
            return found
        return found + self.covariates.moved(dual, lambda v: self.X.dot(v, features), error)

    @property
    def coarse(self) -> FloatArray:
        """How much more than other numbers, relative to them, the weights are rounded."""
        return np.maximum(1.0, LEAST_NORMAL / self.weight)

    def losses(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weighted losses of margins, and terms of which they have the rounding."""
        return self.loss.losses(z, self.y, self.weight)

    def slopes(self, z: FloatArray) -> FloatArray:
        """Return the dual point of margins, minus the derivative of the loss."""
        return self.loss.slopes(z, self.y, self.weight)


def read_target(y: np.ndarray, loss: Loss) -> FloatArray:
    """Return numbers, and +-1 for the two classes of labels."""
    if loss.survival:
        return read_survival(y)
    wrong = ~np.isfinite(y) if y.dtype.kind in "fc" else y != y  # as NaN among objects, and NaT
    if wrong.any():
        raise ValueError("y must be labels or numbers; got NaN or infinity.")
    if isinstance(loss, Ordinal):
        classes, places = np.unique(y, return_inverse=True)
        n_classes = loss.thresholds.size + 1
        if len(classes) != n_classes:
            raise ValueError(
                f"y must have the {n_classes} classes of the certificate; got {len(classes)}."
            )
        return places.astype(np.float64)
    if not loss.labels:
        if y.dtype.kind not in "fiub":
            raise ValueError(f"y must be real numbers for this loss; got dtype {y.dtype}.")
        numbers = y.astype(np.float64)
        if not (numbers >= loss.least).all():
            raise ValueError(
                f"y must be {'not negative' if loss.least == 0 else 'positive'} for this loss; got "
                f"{numbers.min():g}."
            )
        return numbers
    classes = np.unique(y)
    if isinstance(loss, Multinomial):
        if len(classes) != loss.outputs:
            raise ValueError(
                f"y must have the {loss.outputs} classes of the certificate; got {len(classes)}."
            )
        return np.asarray(classes[:, None] == y, np.float64).ravel()
    if len(classes) != 2:
        raise ValueError(
            f"y must have two classes; got {len(classes)}. Verify one class at a time."
        )
    return np.where(y == classes[1], 1.0, -1.0)


def read_survival(y: np.ndarray) -> FloatArray:
    """Return time, event and stratum of a structured array; raise ValueError where it is none."""
    try:
        return survival_target(y)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be survival times: {error}") from None


def read_data(
    X: Any, y: Any, sample_weight: Any, certificate: Certificate, offset: Any = None
) -> Data:
    """Return the data on the scaling of a certificate."""
    X = read_frame(X)
    _check_real(X=X, y=y, sample_weight=sample_weight, offset=offset)
    given = Source(X)
    q = len(certificate.dual) if certificate.dual.ndim == 2 else 1
    loss = loss_of(certificate.loss, certificate.parameters, q, certificate.intercept)
    labels = in_order(y) if loss.ordered else np.asarray(y)
    shape = (*given.shape[:1], q) if q > 1 and not loss.classes else given.shape[:1]
    if len(given.shape) != 2 or labels.shape != shape:  # () of an object that is no array
        wanted = f"(n, {q})" if len(shape) == 2 else "(n,)"
        raise ValueError(
            f"X must be (n, m) and y {wanted}; got the shapes {given.shape} and {labels.shape}."
        )
    n, m = len(labels), given.shape[1]
    s = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if s.shape != (n,) or not (np.isfinite(s) & (s >= 0)).all():
        raise ValueError("sample_weight must be a finite number for each row of X, not negative.")
    used = s > 0
    labels = labels[used]
    target = read_target(labels.T.ravel() if labels.ndim == 2 else labels, loss)
    exposure = np.ones(q * len(labels))
    if offset is not None:
        o = np.asarray(offset, dtype=np.float64)
        if o.shape != (n,) or not np.isfinite(o).all():
            raise ValueError("offset must be a finite number for each row of X.")
        target, exposure = loss.offset(target, np.tile(o[used], q))
    centre, blur = np.zeros(q), 0.0
    if loss.centred and certificate.fit_intercept:
        outputs = target.reshape(q, -1)
        centre = outputs @ s[used] / float(s.sum())
        target = (outputs - centre[:, None]).ravel()
        blur = ROUNDOFF * float(np.abs(target).max())
    n = len(labels)
    if certificate.dual.shape[-1] != n:
        raise CertificateError(
            f"the dual point of the certificate is of {certificate.dual.shape[-1]} samples; X has "
            f"{n} of positive weight."
        )
    if certificate.groups is not None and certificate.groups.code.size != m:
        raise CertificateError(
            f"the groups of the certificate are of {certificate.groups.code.size} features; X has "
            f"{m}."
        )
    check_range(certificate, m)
    free = bool(certificate.fit_intercept)
    X = ScaledColumns(given, s, certificate.scaling, free)
    # A score is a sum of n products, and so are the mean and the deviation in its entries.
    error = ROUNDOFF * (4 * n + 8) * X.largest
    own, weight = certificate.covariates, certificate.C * np.tile(s[used], q) * exposure
    _check_features(certificate, X.constant)
    usable = ~X.constant
    usable[own] = False  # they are no features either
    beside = Covariates.of(X.take(own), error[own], loss, target, weight, free, q)
    return Data(
        X, target, centre, blur, weight, usable, error, loss, free, q, certificate.signs, beside
    )


def _check_real(**given: Any) -> None:
    """Raise ValueError where values are masked or complex."""
    for name, lazy in given.items():
        values = getattr(lazy, "_meta", lazy)  # of Dask: an array without rows
        is_design = isinstance(values, Design)  # of real numbers
        if isinstance(values, np.ma.MaskedArray) or not (is_design or np.isrealobj(values)):
            raise ValueError(f"{name} must not be masked or complex: a part of it would be lost.")


def _check_features(certificate: Certificate, constant: np.ndarray) -> None:
    """Raise CertificateError where columns that are no features are named as ones."""
    for name, own in (("support", certificate.support), ("covariates", certificate.covariates)):
        if constant[own].any():
            raise CertificateError(
                f"the {name} of the certificate must have no constant columns of X, which are no "
                "features."
            )

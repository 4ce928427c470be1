"""How far a support can be from the best one of its size: bounds, safe fixing, verification.

For every alpha with 0 <= alpha_i <= C s_i (and sum_i alpha_i y_i = 0 where the intercept is free),
c = X'(alpha y) and S_k(v) the sum of the k largest entries of v,

    D_k(alpha) = C sum_i s_i H(alpha_i / (C s_i)) - 1/2 S_k(c^2)

(for the logistic loss; minus the conjugate for others) is a lower bound of the l0 problem that
`zeronorm.result.Certificate` states. One scan after a refit gives it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._typing import FloatArray, IndexArray, Smooth
from .designs._operations import top_features
from .losses import dual_bound
from .result import Certificate


@dataclass(frozen=True, slots=True)
class Bound:
    """What one dual point proves about the l0 problem of one size."""

    value: float  # D_k at the rescaled dual point
    dual: FloatArray  # (n_samples,) that point
    dropped: np.ndarray  # (m,) features in no model better than the best known one
    fixed: np.ndarray  # (m,) features in every better model

    def joined(self, other: Bound | None) -> Bound:
        """Return what two dual points prove together: the better bound, all decided features."""
        if other is None:
            return self
        best = self if self.value > other.value else other
        return Bound(best.value, best.dual, self.dropped | other.dropped, self.fixed | other.fixed)


def prove(
    loss: Smooth,
    alpha: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    magnitude: FloatArray,
    k: int,
    forced: IndexArray,
    upper: float,
) -> Bound:
    """Return the bound of a dual point and the features it decides.

    With c_(1)^2 >= c_(2)^2 >= ... of the features that are not forced, j outside the top is dropped
    where D_k + 1/2 (c_(k)^2 - c_j^2) > upper, and j inside is fixed where
    D_k + 1/2 (c_j^2 - c_(k+1)^2) > upper: both are D_k of the problem with j forced in or out.

    magnitude : (m,) |c_j| or upper bounds of it; zero for features that may not enter.
    upper : objective of the best known model.
    """
    square = magnitude**2
    free = square.copy()
    free[forced] = 0.0
    n_free = k - forced.size
    top = top_features(free, n_free)
    quadratic = 0.5 * float(square[forced].sum() + free[top].sum())
    value, scale = dual_bound(loss, alpha, y, weight, quadratic)
    dropped = np.zeros(square.size, bool)
    fixed = np.zeros(square.size, bool)
    limit = upper + 1e-9 * abs(upper)
    half = 0.5 * scale**2
    following = free.copy()
    following[top] = 0.0
    kth = float(free[top].min()) if n_free else np.inf
    dropped[:] = value + half * (kth - free) > limit
    dropped[top] = dropped[forced] = False
    fixed[top] = value + half * (free[top] - float(following.max(initial=0.0))) > limit
    fixed[forced] = True
    return Bound(value, scale * alpha, dropped, fixed)


def verify(
    X: Any,
    y: Any,
    certificate: Certificate,
    *,
    sample_weight: FloatArray | None = None,
    rtol: float = 1e-6,
) -> dict[str, float]:
    """Recompute a certificate from scratch in plain NumPy, sharing no code with the solvers.

    Parameters
    ----------
    X : (n, m) array, dense, the user's matrix.
    y : (n,) labels of two classes; the larger one (the second of `classes_`) counts as +1.
    certificate : what to check; loss, intercept and forced features are those that it names.
    sample_weight : (n,) the weights of the fit, times those of the classes.
    rtol : difference that counts as rounding, relative to the objective.

    Returns
    -------
    The recomputed objective, bound and gap.

    Raises
    ------
    ValueError
        Where the loss is unknown, the dual point is not feasible or the certificate claims more
        than can be recomputed.
    """
    loss, forced = certificate.loss, certificate.forced
    if loss not in ("logistic", "squared_hinge"):
        raise ValueError(
            f"the loss of the certificate must be 'logistic' or 'squared_hinge'; got {loss!r}."
        )
    X = np.asarray(X, dtype=np.float64)
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(
            f"y must have two classes; got {len(classes)}. Verify one class at a time."
        )
    y = np.where(np.asarray(y) == classes[1], 1.0, -1.0)
    s = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    X, y, s = X[s > 0], y[s > 0], s[s > 0]
    alpha, weight = certificate.dual, certificate.C * s
    mean = s @ X / s.sum()
    std = np.sqrt(s @ (X - mean) ** 2 / s.sum())
    constant = std <= 1e-12 * np.abs(X).max(axis=0)
    if certificate.scaling != "none":
        centre = mean if certificate.scaling == "standardized" else 0.0
        X = (X - centre) / np.where(constant, np.inf, std)
    X = np.where(constant, 0.0, X)  # constant columns are no features
    z = X[:, certificate.support] @ certificate.coef + certificate.intercept
    if loss == "logistic":
        values = np.logaddexp(0.0, -y * z)
        share = np.clip(alpha / weight, 1e-300, 1.0)
        rest = np.clip(1.0 - share, 1e-300, 1.0)
        conjugate = float(weight @ (share * np.log(share) + rest * np.log(rest)))
        feasible = bool(np.all((alpha >= 0) & (alpha <= weight)))
    else:
        values = 0.5 * np.maximum(0.0, 1.0 - y * z) ** 2
        conjugate = float(np.sum(alpha**2 / (2.0 * weight) - alpha))
        feasible = bool(np.all(alpha >= 0))
    if not feasible or (certificate.fit_intercept and abs(alpha @ y) > 1e-9 * alpha.sum()):
        raise ValueError("the dual point of the certificate is not feasible.")
    if not certificate.fit_intercept and certificate.intercept != 0:
        raise ValueError("the certificate has an intercept in a problem without one.")
    if not np.isin(forced, certificate.support).all():
        raise ValueError("the certificate has forced features outside of its support.")
    square = (X.T @ (alpha * y)) ** 2
    free = np.sort(np.delete(square, forced))[::-1][: len(certificate.support) - len(forced)]
    objective = float(0.5 * certificate.coef @ certificate.coef + weight @ values)
    bound = float(-conjugate - 0.5 * (square[forced].sum() + free.sum()))
    slack = rtol * max(1e-12, abs(objective))
    if certificate.objective < objective - slack or certificate.bound > bound + slack:
        raise ValueError(
            f"the certificate claims objective {certificate.objective!r} and bound "
            f"{certificate.bound!r}; recomputed: {objective!r} and {bound!r}."
        )
    return {"objective": objective, "bound": bound, "gap": (objective - bound) / abs(objective)}

"""What one dual point proves of the l0 problem: a lower bound, features ruled out or fixed in.

For every alpha with 0 <= alpha_i <= C s_i (and sum_i alpha_i y_i = 0 where the intercept is free),
c = X'(alpha y) and S_k(v) the sum of the k largest entries of v,

    D_k(alpha) = C sum_i s_i H(alpha_i / (C s_i)) - 1/2 S_k(c^2)

(for the logistic loss; minus the conjugate for others) is a lower bound of the l0 problem that
`zeronorm.result.Certificate` states. One scan after a refit gives it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, IndexArray, Smooth
from ..designs._operations import top_features
from ..losses import dual_bound


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


def bound_at(
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

"""Losses of the margins z = Xu + b, for labels y in {-1, +1}; least squares for real y.

Every method takes `weight`, (n_samples,) not negative: the sample weight, times C where the problem
of the solver is Omega(u) + C sum_i s_i f(y_i, z_i). Rows of weight 0 have no part in anything. Dual
variables are alpha_i = -y_i d/dz_i, so that the scan vector of the data is alpha * y. All forms are
stable for any finite margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ._kernels import logistic_conjugate, logistic_curvature, logistic_value_gradient
from ._typing import Curved, FloatArray, Smooth


@dataclass(frozen=True, slots=True)
class Logistic:
    """f(y, z) = log(1 + exp(-y z))."""

    name: ClassVar[str] = "logistic"
    kernel: ClassVar[int] = 0

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return sum_i s_i f(y_i, z_i) and its gradient -s_i y_i sigma(-y_i z_i)."""
        gradient = np.empty(z.size)
        return logistic_value_gradient(z, y, weight, gradient), gradient

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s_i sigma(z_i) sigma(-z_i)."""
        out = np.empty(z.size)
        logistic_curvature(z, weight, out)
        return out

    def conjugate(self, alpha: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return -sum_i s_i H(alpha_i / s_i), H the binary entropy; 0 <= alpha_i <= s_i."""
        return logistic_conjugate(alpha, weight)

    def best_scale(
        self, alpha: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return the t that maximises sum_i s_i H(t alpha_i / s_i) - t**2 quadratic.

        Newton's method in t on the strictly decreasing derivative
        sum_i alpha_i log((s_i - t alpha_i) / (t alpha_i)) - 2 t quadratic,
        inside a bracket; 0 < t < min_i s_i / alpha_i.
        """
        share = _share(alpha, weight)
        largest = float(share.max(initial=0.0))
        if largest <= 0.0:
            return 1.0
        positive = share > 0
        a, share = alpha[positive], share[positive]
        log_share, total = np.log(share), float(a.sum())
        low, high = 0.0, min(1.0 / largest, 1e300)
        t = min(1.0, 0.5 * (low + high))
        for _ in range(200):
            odds = 1.0 - t * share
            slope = float(a @ (np.log(odds) - log_share)) - total * np.log(t) - 2.0 * t * quadratic
            if slope > 0:
                low = t
            else:
                high = t
            bend = float(a @ (1.0 / odds)) / t + 2.0 * quadratic
            proposal = t + slope / bend if bend > 0.0 else high  # 0: all alpha_i underflow
            if not low < proposal < high:
                proposal = np.sqrt(low) * np.sqrt(high) if low > 0 else 0.1 * high
            if abs(proposal - t) <= 1e-10 * t:
                return float(proposal)
            t = float(proposal)
        return t


@dataclass(frozen=True, slots=True)
class SquaredHinge:
    """f(y, z) = 1/2 max(0, 1 - y z)^2 (LIBLINEAR's has no factor 1/2: its C is half of this)."""

    name: ClassVar[str] = "squared_hinge"
    kernel: ClassVar[int] = 1

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return sum_i s_i f(y_i, z_i) and its gradient -s_i y_i max(0, 1 - y_i z_i)."""
        slack = np.maximum(0.0, 1.0 - y * z)
        weighted = weight * slack
        return 0.5 * float(weighted @ slack), np.asarray(-y * weighted)

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s_i where y_i z_i < 1, else 0 (the generalised second derivative)."""
        return np.where(y * z < 1.0, weight, 0.0)

    def conjugate(self, alpha: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return sum_i alpha_i^2 / (2 s_i) - alpha_i; alpha_i >= 0."""
        return float((0.5 * _share(alpha, weight) - 1.0) @ alpha)

    def best_scale(
        self, alpha: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return t = sum alpha / (2 quadratic + sum_i alpha_i^2 / s_i)."""
        total = float(alpha.sum())
        square = 2.0 * quadratic + float(_share(alpha, weight) @ alpha)
        return total / square if total > 0.0 and square > 0.0 else 1.0


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """f(y, z) = 1/2 (z - y)^2, for any real y."""

    name: ClassVar[str] = "least_squares"
    kernel: ClassVar[int] = 2

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return sum_i s_i f(y_i, z_i) and its gradient s_i (z_i - y_i)."""
        residual = z - y
        weighted = weight * residual
        return 0.5 * float(weighted @ residual), np.asarray(weighted)

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s_i."""
        return weight.copy()


def _share(alpha: FloatArray, weight: FloatArray) -> FloatArray:
    """Return alpha / weight, 0 where a row has no weight (and alpha is 0)."""
    return np.divide(alpha, weight, out=np.zeros_like(alpha), where=weight > 0)


def dual_bound(
    loss: Smooth, alpha: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
) -> tuple[float, float]:
    """Return max_t -conjugate(t alpha) - t**2 quadratic, and its t.

    `quadratic` is the value at alpha of the quadratic part of the dual, for example
    1/2 max_t ||c_{S_t}||^2. Without the rescaling the bound is useless far from the optimum.
    """
    scale = loss.best_scale(alpha, y, weight, quadratic)
    return -loss.conjugate(scale * alpha, y, weight) - scale * (scale * quadratic), scale


def balance(alpha: FloatArray, y: FloatArray) -> FloatArray:
    """Return alpha with the heavier class shrunk so that sum_i alpha_i y_i = 0.

    At the optimal intercept the sum is zero up to rounding; after this it is a feasible dual
    point exactly, and bounds computed from it are bounds. Where a class has nothing, as by
    underflow, the other one is left with nothing as well.
    """
    positive = y > 0
    up, down = float(alpha[positive].sum()), float(alpha[~positive].sum())
    if up == down:
        return alpha
    heavier = positive if up > down else ~positive
    return np.where(heavier, min(up, down) / max(up, down) * alpha, alpha)


def fit_intercept(
    loss: Curved, z: FloatArray, y: FloatArray, weight: FloatArray, start: float = 0.0
) -> tuple[float, float, FloatArray]:
    """Return b = argmin_b sum_i s_i f(y_i, z_i + b), the value there and the gradient in z.

    Newton's method on the increasing derivative, with a bracket that bisection can fall back to;
    of least squares it is a weighted mean.
    """
    if isinstance(loss, LeastSquares):
        b = float(weight @ (y - z)) / float(weight.sum())
        return b, *loss.value_gradient(z + b, y, weight)
    b = start
    low, high = -np.inf, np.inf
    width = 1.0
    for _ in range(200):
        value, gradient = loss.value_gradient(z + b, y, weight)
        slope = float(gradient.sum())
        if abs(slope) <= 1e-13 * float(np.abs(gradient).sum()):
            break
        if slope > 0:
            high = b
        else:
            low = b
        bend = float(loss.curvature(z + b, y, weight).sum())
        proposal = b - slope / bend if bend > 0 else np.nan
        if not (low < proposal < high) or abs(proposal - b) > 10.0 * width:
            if np.isinf(low) or np.isinf(high):  # expand towards the missing end
                proposal = b - np.sign(slope) * width
                width *= 4.0
            else:
                proposal = 0.5 * (low + high)
        if abs(proposal - b) <= 1e-15 * max(1.0, abs(b)):
            break
        b = float(proposal)
    return b, value, gradient

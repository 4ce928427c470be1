"""Losses of labels -1 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from .._kernels import logistic_conjugate, logistic_curvature, logistic_value_gradient
from ..core.types import FloatArray, Likelihood, Smooth
from .base import LossOfRows, compiled_scale, fit_intercept, share_of


class _OfLabels(LossOfRows):
    """What losses of labels -1 and 1 have in common: f(y, z) depends on y z alone."""

    of_labels: ClassVar[bool] = True

    @property
    def final(self) -> Likelihood:
        return Logistic()

    def null(self: Smooth, y: FloatArray, weight: FloatArray, intercept: bool) -> float:
        """Return the least value of the model without features: rows differ by label only."""
        positive = y > 0
        weight = np.array([weight[positive].sum(), weight[~positive].sum()])
        zero, y = np.zeros(2), np.array([1.0, -1.0])
        if intercept:
            return fit_intercept(self, zero, y, weight)[1]
        return self.value_gradient(zero, y, weight)[0]


@dataclass(frozen=True, slots=True)
class Logistic(_OfLabels):
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

    def mean(self, z: FloatArray) -> FloatArray:
        """Return the probability of y = 1, sigma(z)."""
        return np.asarray(expit(z))

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return -sum_i s_i H(y_i v_i / s_i), H the binary entropy; 0 <= y_i v_i <= s_i."""
        return logistic_conjugate(y * v, weight)

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return v with y_i v_i clipped to [0, s_i]."""
        return y * np.clip(y * v, 0.0, weight)

    def best_scale(
        self, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return the t that maximises sum_i s_i H(t alpha_i / s_i) - t**2 quadratic, alpha = y v.

        The root of the strictly decreasing derivative
        sum_i alpha_i log((s_i - t alpha_i) / (t alpha_i)) - 2 t quadratic,
        in 0 < t < min_i s_i / alpha_i.
        """
        return compiled_scale(self, v, y, weight, quadratic)


@dataclass(frozen=True, slots=True)
class SquaredHinge(_OfLabels):
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

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return sum_i alpha_i^2 / (2 s_i) - alpha_i with alpha_i = y_i v_i >= 0."""
        alpha = y * v
        return float((0.5 * share_of(alpha, weight) - 1.0) @ alpha)

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return v, 0 where its sign is not that of y."""
        return y * np.maximum(y * v, 0.0)

    def best_scale(
        self, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return t = sum alpha / (2 quadratic + sum_i alpha_i^2 / s_i), alpha = y v."""
        alpha = y * v
        total = float(alpha.sum())
        square = 2.0 * quadratic + float(share_of(alpha, weight) @ alpha)
        return total / square if total > 0.0 and square > 0.0 else 1.0


def probabilities(scores: FloatArray) -> FloatArray:
    """Return the probabilities of the classes by log-odds, (n_samples, n_classes).

    scores : (n_samples,) of the second of two classes, or (n_samples, n_classes), each against the
        rest; these probabilities are normalised to sum one.
    """
    if scores.ndim == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    proba = expit(scores)
    total = proba.sum(axis=1, keepdims=True)
    # All scores far below zero: the limit is the softmax of the scores.
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    proba = np.where(total > 1e-200, proba, shifted)
    return np.asarray(proba / proba.sum(axis=1, keepdims=True))

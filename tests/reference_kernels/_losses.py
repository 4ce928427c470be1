"""The losses of rows, and the logistic loss over all rows; those of weight 0 count for nothing."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from zeronorm.core.types import FloatArray


def logistic_value_gradient(
    z: FloatArray, y: FloatArray, weight: FloatArray, gradient: FloatArray
) -> float:
    """Return sum_i s_i log(1 + exp(-y_i z_i)); put -s_i y_i sigma(-y_i z_i) into `gradient`."""
    t = -y * z
    small = np.exp(-np.abs(t))
    gradient[:] = -(weight * y) * (np.where(t > 0, 1.0, small) / (1.0 + small))
    return float(weight @ (np.log1p(small) + np.maximum(t, 0.0)))


def logistic_curvature(z: FloatArray, weight: FloatArray, out: FloatArray) -> None:
    """Put s_i sigma(z_i) sigma(-z_i) into `out`."""
    small = np.exp(-np.abs(z))
    out[:] = weight * small / (1.0 + small) ** 2


def logistic_conjugate(alpha: FloatArray, weight: FloatArray) -> float:
    """Return -sum_i s_i H(alpha_i / s_i), H the binary entropy."""
    share = np.divide(alpha, weight, out=np.array(alpha), where=weight > 0)
    return float((weight * (xlogy(share, share) + xlog1py(1.0 - share, -share))).sum())


class _Loss(Protocol):
    """f(y_i, z_i) of some rows."""

    @staticmethod
    def change(y: FloatArray, z: FloatArray, step: FloatArray) -> FloatArray:
        """Return f(y, z + step) - f(y, z), small ones without cancellation."""

    @staticmethod
    def derivatives(y: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f' and f''."""


class _Logistic:
    @staticmethod
    def change(y: FloatArray, z: FloatArray, step: FloatArray) -> FloatArray:
        margin, t = y * z, y * step
        plain = np.logaddexp(0.0, -margin - t) - np.logaddexp(0.0, -margin)
        small = np.log1p(np.expm1(-np.clip(t, -1.0, 1.0)) * expit(-margin))
        return np.asarray(np.where(np.abs(t) > 1.0, plain, small))

    @staticmethod
    def derivatives(y: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        return -y * expit(-y * z), expit(y * z) * expit(-y * z)


class _SquaredHinge:
    @staticmethod
    def change(y: FloatArray, z: FloatArray, step: FloatArray) -> FloatArray:
        before, after = 1.0 - y * z, 1.0 - y * z - y * step
        plain = 0.5 * (np.maximum(0.0, after) ** 2 - np.maximum(0.0, before) ** 2)
        bent = -0.5 * (y * step) * (before + after)
        return np.asarray(np.where((before > 0) & (after > 0), bent, plain))

    @staticmethod
    def derivatives(y: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        slack = np.maximum(0.0, 1.0 - y * z)
        return -y * slack, np.sign(slack)


class _LeastSquares:
    @staticmethod
    def change(y: FloatArray, z: FloatArray, step: FloatArray) -> FloatArray:
        return np.asarray(step * (0.5 * step - (y - z)))

    @staticmethod
    def derivatives(y: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        return z - y, np.ones_like(z)


# By their numbers, which the losses of `zeronorm.losses` have as `kernel`.
LOSSES: tuple[type[_Loss], ...] = (_Logistic, _SquaredHinge, _LeastSquares)

"""The logistic loss over all rows; those of weight 0 count for nothing."""

from __future__ import annotations

import numpy as np
from scipy.special import xlog1py, xlogy

from zeronorm._typing import FloatArray


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
    """Return -sum_i s_i H(alpha_i / s_i), H the binary entropy.

    NaN where 0 <= alpha_i <= s_i fails. A share that underflows to 0 adds nothing.
    """
    share = np.divide(alpha, weight, out=np.array(alpha), where=weight > 0)
    return float((weight * (xlogy(share, share) + xlog1py(1.0 - share, -share))).sum())

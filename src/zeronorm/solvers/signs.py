"""Signs that coefficients may have: -1, 0 for any, or 1, a number for each feature.

With u_j >= 0 in place of a free u_j, max over u_j of u_j c_j - u_j^2 / 2 is max(0, c_j)^2 / 2: in
bounds and strengths a score counts where its sign is admitted, else it is 0.
"""

from __future__ import annotations

import numpy as np

from ..core.types import FloatArray


def free_signs(n_features: int) -> np.ndarray:
    """Return the signs of coefficients that may have any, (n_features,)."""
    return np.zeros(n_features, np.int8)


def admitted(values: FloatArray, signs: np.ndarray) -> FloatArray:
    """Return values, 0 in place of those that do not have the sign that they may have.

    Of coefficients it is the nearest point that has the signs. values : (m,) or (m, n).
    """
    if not signs.any():
        return values
    shape = (-1,) + (1,) * (values.ndim - 1)
    return np.where(signs.reshape(shape) * values < 0.0, 0.0, values)


def oriented(magnitudes: FloatArray, signs: np.ndarray) -> FloatArray:
    """Return magnitudes, (m,), as values that have the signs that they may have."""
    negative = signs < 0
    return np.where(negative, -magnitudes, magnitudes) if negative.any() else magnitudes

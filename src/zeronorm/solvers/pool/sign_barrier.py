"""The barrier of coefficients with signs, for the interior-point method of the relaxation.

    -mu sum_j log(sigma_j u_j)    over the coefficients with a sign sigma_j of -1 or 1

Coefficients stay inside of it, so that no step has to ask which of them are 0.
"""

from __future__ import annotations

import numpy as np

from ...core.types import FloatArray

LEAST = 1e-3  # where coefficients begin at least, as a share of the largest


class SignBarrier:
    """The barrier without its factor mu.

    signs : (p,) of the coefficients, 0 for any.
    """

    def __init__(self, signs: np.ndarray) -> None:
        self.places = np.flatnonzero(signs)
        self._sign = signs[self.places]

    @property
    def size(self) -> int:
        """How many coefficients have a sign."""
        return int(self.places.size)

    def inside(self, u: FloatArray) -> FloatArray:
        """Return coefficients that are not 0 where they have a sign."""
        least = LEAST * (float(np.abs(u).max(initial=0.0)) or 1.0)
        u = u.copy()
        u[self.places] = self._sign * np.maximum(np.abs(u[self.places]), least)
        return u

    def value(self, u: FloatArray) -> float:
        """Return the barrier."""
        return -float(np.log(np.abs(u[self.places])).sum())

    def reach(self, u: FloatArray, move: FloatArray) -> float:
        """Return the step at which the first coefficient is 0; infinite where none comes near."""
        size, towards = np.abs(u[self.places]), -self._sign * move[self.places]
        nearer = towards > 0
        return float(np.min(size[nearer] / towards[nearer], initial=np.inf))

"""What the verifier asks of a loss.

A dual point has v_i = -s_i f'(z_i), so its share of the weight, t_i = v_i / s_i, lies between two
ends, and the conjugate of f at -t is finite there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..core.types import FloatArray

ROUNDOFF = 2.0**-53


@dataclass(frozen=True)
class Loss:
    """f(y, z), convex in z, not negative."""

    labels: ClassVar[bool] = False  # whether y is +-1
    classes: ClassVar[bool] = False  # whether y is 1 in the output of the class of a row, else 0
    ordered: ClassVar[bool] = False  # whether y is the number of a class, in their order
    survival: ClassVar[bool] = False  # whether y has times, events and strata
    centred: ClassVar[bool] = False  # whether it is a function of y - z
    least: ClassVar[float] = -np.inf  # y is not below

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest share t of every row."""
        raise NotImplementedError

    def conjugate(self, t: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the conjugate at -t, and terms of which it has the rounding, relative to them."""
        raise NotImplementedError

    def values(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f, and terms of which it has the rounding."""
        raise NotImplementedError

    def shares(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return minus the derivative of f."""
        raise NotImplementedError

    def steepness(self, z: FloatArray, y: FloatArray, by: float) -> FloatArray:
        """Return what the second derivative is at most, no more than `by` away from z."""
        return np.ones_like(z)

    def offset(self, y: FloatArray, o: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the target and the factor of the weight of which f is the loss at z + o."""
        raise ValueError("offset is of losses of numbers.")

    def intercepts(self, given: Any) -> FloatArray:
        """Return what the intercept of a certificate adds to margins, (1 or outputs,)."""
        return np.atleast_1d(given)

    def blur(self, y: FloatArray, weight: FloatArray) -> float:
        """Return what, beside the sum of |v|, the rounding of a dual point is relative to."""
        return 0.0

    def strata(self, y: FloatArray) -> list[Any]:
        """Return the rows over each of which a dual point has the sum 0."""
        return [slice(None)]

    def parts(self, y: FloatArray) -> list[Any]:
        """Return the rows over each of which all margins may move by one number."""
        return self.strata(y)

    def looseness(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return how far away, in the sum over the rows, a point may be whose conjugate is bounded.

        Where sums of v are those of a feasible point but for rounding.
        """
        return 0.0

    def balanced(
        self, dual: FloatArray, y: FloatArray, weight: FloatArray, free: bool
    ) -> FloatArray:
        """Return a dual point between its ends as a feasible one.

        With a free intercept the sign of the larger sum is shrunk to the sum of the other, in every
        stratum.
        """
        for rows in self.strata(y) if free else ():
            dual = np.array(dual)
            dual[rows] = _balanced(dual[rows])
        return dual

    def limits(self, y: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the dual values."""
        low, high = self.ends(y)
        return weight * low, weight * high

    def conjugates(
        self, v: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return weighted parts of the conjugate at -v, and terms of which it has the rounding."""
        found, terms = self.conjugate(v / weight, y)
        return weight * found, weight * terms

    def losses(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return weighted losses, and terms of which their sum has the rounding."""
        found, terms = self.values(z, y)
        return weight * found, weight * terms

    def slopes(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return minus the derivative of the weighted loss."""
        return np.asarray(weight * self.shares(z, y))


def noise_of(v: FloatArray) -> float:
    """Return how much of a sum of a dual point is rounding."""
    return 4.0 * ROUNDOFF * v.size * float(np.abs(v).sum())


def _balanced(dual: FloatArray) -> FloatArray:
    up, down = float(dual[dual > 0].sum()), -float(dual[dual < 0].sum())
    if up == down:
        return dual
    heavier = dual > 0 if up > down else dual < 0
    return np.asarray(np.where(heavier, dual * (min(up, down) / max(up, down)), dual))

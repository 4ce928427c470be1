"""The quadratic model of the loss at a point, with the best intercept of all coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._typing import Columns, FloatArray, IndexArray
from ..risk import Risk


@dataclass(frozen=True, slots=True)
class Expansion:
    """The loss near a point, by its first two derivatives."""

    Z: Columns
    risk: Risk
    u: FloatArray  # coefficients of Z
    z: FloatArray  # (n,) Zu, without the intercept
    b: float
    gradient: FloatArray  # (n,) of the loss in the margins

    def over(self, columns: IndexArray, some: Columns) -> tuple[FloatArray, FloatArray]:
        """Return the curvature H in some coefficients, and minus the gradient where all are 0.

        some : these columns, sorted, all of those with a coefficient among them.
        """
        if self.risk.loss.outputs > 1:
            return self._of_outputs(columns, some)
        curvature, x = self.risk.curvature(self.z + self.b), some.dense()
        matrix, total = some.gram(curvature), float(curvature.sum())
        coupling = self.risk.coupling(some, self.z + self.b)
        if coupling is not None:
            matrix -= coupling
        elif self.risk.intercept and total > 0:
            cross = np.asarray(curvature @ x)
            matrix -= np.outer(cross, cross / total)
        # Exact at this point, where H is rounded: steps by such a model end at the solution.
        return matrix, matrix @ self.u[columns] - np.asarray(self.gradient @ x)

    def _of_outputs(self, columns: IndexArray, some: Columns) -> tuple[FloatArray, FloatArray]:
        """Return the same of several outputs, whose dense columns would be zeros for the most."""
        every = np.union1d(columns, np.flatnonzero(self.u))
        inside = np.searchsorted(every, columns)
        matrix = self.risk.hessian(
            some if every.size == columns.size else self.Z.take(every), self.z
        )
        assert matrix is not None  # outputs share their rows
        right = matrix[inside] @ self.u[every] - some.dot(self.gradient)
        return matrix[np.ix_(inside, inside)], right

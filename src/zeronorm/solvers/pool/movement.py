"""How far features can move the loss at most: where that is little, tolerances must be less."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.types import Columns, FloatArray
from ..risk import Risk
from ..signs import admitted


@dataclass(frozen=True, slots=True)
class MovementTuning:
    """Constants, each with what it was measured for."""

    # Tolerances are shares of the objective, or of this many times what features can lower it by.
    slack: float = 100.0
    rounding: float = 1e-15  # no tolerance is less
    still: float = (
        1e-9  # Where features move no more than this share, their scores alone rank them.
    )


MOVEMENT = MovementTuning()


@dataclass(frozen=True, slots=True)
class Movement:
    """What columns tell of the loss at the model without features.

    With the scores c of its dual point no model lowers the objective by more than 1/2 ||c||^2. As C
    or the weights vanish, coefficients become c, and the best k features are those of the k largest
    |c_j|: to a share of C times the curvature of a column, which is less than what is still here.
    """

    scores: FloatArray  # (p,)
    share: float  # 1/2 ||c||^2 as a share of the objective without features

    @classmethod
    def of(
        cls,
        Z: Columns,
        risk: Risk,
        signs: np.ndarray | None = None,
        penalty: FloatArray | float = 1.0,
    ) -> Movement:
        """Return that of some columns, with the signs and penalties of their coefficients."""
        value, dual, _ = risk.first()
        scores = Z.dot(dual) / np.sqrt(penalty)
        if signs is not None:
            scores = admitted(scores, signs)
        return cls(scores, 0.5 * float(scores @ (scores / value)))

    @property
    def is_still(self) -> bool:
        """Whether no fit tells features apart by its objective."""
        return self.share <= MOVEMENT.still

    @property
    def is_small(self) -> bool:
        """Whether `tolerance` is less than the one asked for."""
        return self.share < 1.0 / MOVEMENT.slack

    def tolerance(self, tol: float) -> float:
        """Return a tolerance as a share of the objective that is small next to what can move."""
        return min(tol, max(MOVEMENT.rounding, tol * MOVEMENT.slack * self.share))

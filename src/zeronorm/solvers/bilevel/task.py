"""A problem of features in groups: what its solvers start from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..._typing import Design, FloatArray, IndexArray
from ...groups import Groups
from ...structures import BilevelBudget
from ..l0.hard_thresholding import Admit, Objective

Size = tuple[int, int]  # features and groups


@dataclass(frozen=True, slots=True)
class BilevelTask:
    """Problem (B) of `bilevel.search`, without its budgets."""

    design: Design  # on the selection scaling
    objective: Objective
    groups: Groups
    forced: IndexArray = field(default_factory=lambda: np.empty(0, np.int64))
    forced_groups: IndexArray = field(default_factory=lambda: np.empty(0, np.int64))
    usable: np.ndarray | None = None  # (m,) mask of the features that may be selected
    spread: FloatArray | None = None  # (m,) deviations of the columns, positive; None: all 1

    @property
    def usable_spread(self) -> FloatArray | None:
        """The deviations of the features that may be selected; None: all 1."""
        if self.spread is None or self.usable is None:
            return self.spread
        return np.asarray(self.spread[self.usable], np.float64)

    def admit(self, size: Size) -> Admit:
        """Return the projection onto the budgets, of vectors over all features."""
        budget = BilevelBudget(*size, self.groups, self.forced, self.forced_groups)

        def admit(target: FloatArray) -> IndexArray:
            if self.usable is not None:
                target = np.where(self.usable, target, 0.0)
            return budget.support(target)

        return admit


__all__ = ["BilevelTask", "Size"]

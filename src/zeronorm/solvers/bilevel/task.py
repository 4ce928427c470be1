"""A problem of features in groups: what its solvers start from.

Of several outputs a feature is one unit with a coefficient in each. Budgets see lengths: of the
coefficients of a feature, of its scores, of its strengths.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from ...core.groups import Groups
from ...core.types import Design, FloatArray, IndexArray, Wrapper
from ..l0.hard_thresholding import Admit, Objective
from .structures import BilevelBudget

Size = tuple[int, int]  # features and groups


@dataclass(frozen=True, slots=True)
class BilevelTask:
    """Problem (B) of `bilevel.search`, without its budgets."""

    design: Design  # on the selection scaling; of several outputs `Repeated`
    objective: Objective
    groups: Groups  # of the m features
    forced: IndexArray = field(default_factory=lambda: np.empty(0, np.int64))
    forced_groups: IndexArray = field(default_factory=lambda: np.empty(0, np.int64))
    usable: np.ndarray | None = None  # (m,) mask of the features that may be selected
    spread: FloatArray | None = None  # (m,) deviations of the columns, positive; None: all 1

    @property
    def outputs(self) -> int:
        """The number of outputs, q."""
        return self.objective.risk.loss.outputs

    @property
    def design_of_features(self) -> Design:
        """The design whose columns are the features."""
        return self.design if self.outputs == 1 else cast("Wrapper", self.design).base

    def columns(self, features: IndexArray) -> IndexArray:
        """Return the columns of features: of each in all outputs."""
        q = self.outputs
        return features if q == 1 else (q * features[:, None] + np.arange(q)).ravel()

    def features(self, columns: IndexArray) -> IndexArray:
        """Return the features of columns, of each in all outputs."""
        q = self.outputs
        return columns if q == 1 else columns[::q] // q

    def lengths(self, values: FloatArray) -> FloatArray:
        """Return the lengths of the rows of values, (m q,) or (m, q); of one output the values."""
        rows = values.reshape(-1, self.outputs)
        return rows[:, 0] if self.outputs == 1 else np.asarray(np.hypot.reduce(rows, axis=1))

    def of_columns(self, admit: Admit) -> Admit:
        """Return a projection of features as that of columns: it keeps features in all outputs."""
        return lambda target: self.columns(admit(self.lengths(target)))

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

"""The binary selection problem that an estimator poses, one per class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .._typing import Design, FloatArray, IndexArray, Smooth
from ..designs._operations import select_rows
from ..groups import Groups
from ..losses import Logistic


@dataclass(frozen=True, slots=True)
class Task:
    """One binary problem: the data on the selection scaling, labels, weights and options."""

    design: Design
    y: FloatArray  # (n,) +-1
    sample_weight: FloatArray  # (n,) positive
    scaling: str  # "standardized", "scaled" or "none"
    loss: Smooth = field(default_factory=Logistic)
    intercept: bool = True
    forced: IndexArray | None = None
    unit: FloatArray | None = None  # (n,) class weights: the weight of one row, 1 by default
    usable: np.ndarray | None = None  # (m,) mask of the features that may be selected
    groups: Groups | None = None  # of the features, for budgets of groups

    def rows(self, index: IndexArray) -> Task:
        """Return the problem on some rows, with the scales of these; no data are copied.

        Columns that are constant there cannot be selected, and are not forced either.
        """
        weight = self.sample_weight[index]
        design, usable = select_rows(self.design, index, weight)
        if self.usable is not None:
            usable &= self.usable
        return replace(
            self,
            design=design,
            y=self.y[index],
            sample_weight=weight,
            forced=None if self.forced is None else self.forced[usable[self.forced]],
            unit=None if self.unit is None else self.unit[index],
            usable=usable,
        )

"""The binary selection problem that an estimator poses, one per class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .._typing import Design, FloatArray, IndexArray, Smooth
from ..designs import Rows, Scaled
from ..designs._operations import center_scale
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
        scaled = isinstance(self.design, Scaled)
        base = self.design.base if isinstance(self.design, Scaled) else self.design
        center = isinstance(self.design, Scaled) and self.design.mean is not None
        design = center_scale(Rows(base, index), weight, center=center)
        usable = design.scale > 0
        if self.usable is not None:
            usable &= self.usable
        return replace(
            self,
            design=design if scaled else design.base,
            y=self.y[index],
            sample_weight=weight,
            forced=None if self.forced is None else self.forced[usable[self.forced]],
            unit=None if self.unit is None else self.unit[index],
            usable=usable,
        )

"""What a fit knows of every row: its data, target, weight, offset and group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.types import Design, FloatArray, IndexArray
from ..data import Rows, filled_over


@dataclass(frozen=True, slots=True)
class Rowwise:
    """What a user passed to fit, validated: rows of positive weight."""

    design: Design
    labels: np.ndarray  # (n,) of the classes, or the real targets
    sample_weight: FloatArray  # (n,) positive
    names: list[str] | None  # of the columns, if X has any
    encoding: Any = None  # of a data frame whose columns are not those of the design
    offset: FloatArray | None = None  # (n,) of the margins
    order: np.ndarray | None = None  # of ordered classes, where it is not that of their labels
    groups: IndexArray | None = None  # (n,) rows with the same number are in one fold

    def rows(self, index: IndexArray) -> Rowwise:
        """Return some of the rows, gaps filled by their means; no data are copied."""
        return replace(
            self,
            design=Rows(filled_over(self.design, index), index),
            labels=self.labels[index],
            sample_weight=self.sample_weight[index],
            offset=None if self.offset is None else self.offset[index],
            groups=None if self.groups is None else self.groups[index],
        )

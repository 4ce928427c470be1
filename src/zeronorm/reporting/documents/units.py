"""What the budget of a model counts, as a page names it: features, or whole groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.groups import Groups
from ...core.results import Selection
from ...core.types import Design, IndexArray
from ...data.operations import margins
from ...estimators.budget import BudgetSelection
from ...io.table import Table
from .data import describe_feature, feature_name

_MEMBERS = 5  # features that are named of a group beside the model


@dataclass(frozen=True, slots=True)
class Units:
    """Features by their indices; where there are `groups`, these by their labels."""

    table: Table
    groups: Groups | None = None

    @classmethod
    def of(cls, estimator: Any, table: Table) -> Units:
        """Return the units of a fitted estimator; features in few groups are features."""
        whole = isinstance(estimator, BudgetSelection) and estimator._plan().counts == "groups"
        return cls(table, estimator.feature_groups if whole else None)

    @property
    def kind(self) -> str:
        """What they are called."""
        return "features" if self.groups is None else "groups"

    def within(self, support: Any) -> np.ndarray:
        """Return the units of a model by its features, sorted."""
        if self.groups is None:
            return np.sort(np.asarray(support))
        return self.groups.labels[self.groups.of_features(np.asarray(support, np.int64))]

    def key(self, unit: Any) -> int | str:
        """Return what stands for a unit in a document: an index, or the name of a group."""
        return int(unit) if self.groups is None else str(unit)

    def name(self, unit: Any) -> str:
        return feature_name(self.table, int(unit)) if self.groups is None else str(unit)

    def describe(self, unit: Any) -> dict[str, Any]:
        """Return a unit as a feature is described."""
        if self.groups is None:
            return describe_feature(self.table, int(unit))
        place = int(np.searchsorted(self.groups.labels, unit))
        return {"index": place, "name": str(unit), "description": None}

    def members(self, unit: Any) -> dict[str, Any] | None:
        """Return how many features of the data a group has, and the first of them; else None."""
        if self.groups is None:
            return None
        features = self.groups.members(int(np.searchsorted(self.groups.labels, unit)))
        first = [feature_name(self.table, j) for j in features[:_MEMBERS].tolist()]
        return {"n_features": int(features.size), "first": first}

    def moves(self, model: Selection, design: Design) -> dict[str, float]:
        """Return for each group of a model by how much it moves the scores.

        That is the standard deviation over the rows of what its features add, the largest of all
        outputs.
        """
        if self.groups is None:
            return {}
        code = self.groups.code[model.support]
        return {
            str(self.groups.labels[place]): _deviation(design, model, np.flatnonzero(code == place))
            for place in np.unique(code).tolist()
        }


def _deviation(design: Design, model: Selection, places: IndexArray) -> float:
    """Return the largest standard deviation of what some features of a model add to its outputs."""
    added = margins(design, model.support[places], model.coef[..., places].T, 0.0)
    return float(added.std(axis=0).max())

"""What a budget counts, and a scan compares: single features, or whole groups of them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .._typing import FloatArray, IndexArray
from ..groups import Groups


class Units(Protocol):
    """The features, in units of which each is in a model as a whole or not at all."""

    usable: np.ndarray  # (n_units,) mask

    def features(self, units: IndexArray) -> IndexArray:
        """Return the usable features of some units, unit by unit, ascending in each."""

    def sizes(self, units: IndexArray) -> IndexArray:
        """Return how many usable features some units have."""

    def of(self, features: IndexArray) -> IndexArray:
        """Return the units of features, each once, in order of the features."""

    def strength(self, scores: FloatArray) -> FloatArray:
        """Return what the units are worth, not negative, as a new array (n_units,)."""


class Singles:
    """Every feature by itself: |c_j|.

    usable : (m,) mask of the features that may be selected.
    """

    def __init__(self, usable: np.ndarray) -> None:
        self.usable = usable

    def features(self, units: IndexArray) -> IndexArray:
        """Return the features, which are the units."""
        return units

    def sizes(self, units: IndexArray) -> IndexArray:
        """Return ones."""
        return np.ones(units.size, np.int64)

    def of(self, features: IndexArray) -> IndexArray:
        """Return the different features, in order."""
        return _unique(features)

    def strength(self, scores: FloatArray) -> FloatArray:
        """Return |c_j|."""
        return np.abs(scores)


class Grouped:
    """Groups: ||c_g|| over the usable features of each."""

    def __init__(self, groups: Groups, usable: np.ndarray) -> None:
        self._code = groups.code
        features = np.flatnonzero(usable)
        owner = groups.code[features]
        order = np.argsort(owner, kind="stable")
        self._features, self._owner = features[order], owner[order]
        size = np.bincount(owner, minlength=len(groups))
        self._end = np.cumsum(size)
        self._begin = self._end - size
        self.usable = size > 0

    def features(self, units: IndexArray) -> IndexArray:
        """Return the usable features of some groups, group by group."""
        parts = [self._features[self._begin[unit] : self._end[unit]] for unit in units]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def sizes(self, units: IndexArray) -> IndexArray:
        """Return how many usable features some groups have."""
        return self._end[units] - self._begin[units]

    def of(self, features: IndexArray) -> IndexArray:
        """Return the groups of features, in order of the features."""
        return _unique(self._code[features])

    def strength(self, scores: FloatArray) -> FloatArray:
        """Return ||c_g|| over the usable features."""
        square = scores[self._features] ** 2
        return np.sqrt(np.bincount(self._owner, square, self.usable.size))


def units_of(usable: np.ndarray, groups: Groups | None) -> Units:
    """Return what a budget counts where there are these groups, or none."""
    return Singles(usable) if groups is None else Grouped(groups, usable)


def _unique(values: IndexArray) -> IndexArray:
    """Return the different values in order of their first appearance."""
    return values[np.sort(np.unique(values, return_index=True)[1])]

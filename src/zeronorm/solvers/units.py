"""What a budget counts, and a scan compares: single features, or whole groups of them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..core.groups import Groups
from ..core.types import FloatArray, IndexArray
from .signs import admitted, free_signs


class Units(Protocol):
    """The features, in units of which each is in a model as a whole or not at all."""

    usable: np.ndarray  # (n_units,) mask
    # (n_features,) the sign that the coefficient of each feature may have, 0: any.
    signs: np.ndarray
    most: float  # what relaxations keep coefficients to, of single features; inf: to nothing
    bounded: bool  # whether the coefficients of models are bounded

    def features(self, units: IndexArray) -> IndexArray:
        """Return the usable features of some units, unit by unit, ascending in each."""

    def sizes(self, units: IndexArray) -> IndexArray:
        """Return how many usable features some units have."""

    def of(self, features: IndexArray) -> IndexArray:
        """Return the units of features, each once, in order of the features."""

    def strength(self, scores: FloatArray) -> FloatArray:
        """Return what the units are worth, not negative, as a new array (n_units,)."""

    def worth(self, scores: FloatArray) -> FloatArray:
        """Return twice what the best coefficients of each unit bring: see `worths`."""

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sums of numbers of the features over the usable ones of each unit."""

    def spread(self, values: FloatArray) -> FloatArray:
        """Return numbers of the units as those of their features, (m,), all of them usable."""

    def bend_across(self, matrix: FloatArray, direction: FloatArray, curvature: FloatArray) -> None:
        """Add the block diagonal matrix of c_g (I - e_g e_g') to a matrix, all features usable.

        direction : (m,) e_g, unit vectors or 0. curvature : (n_units,) c_g.
        """

    def take(self, units: IndexArray) -> Units:
        """Return some units, as those of their features in the order of `features`."""


class Singles:
    """Every feature by itself: |c_j|, and 0 where c_j has a sign that its coefficient may not have.

    usable : (m,) mask of the features that may be selected.
    signs : (m,) of their coefficients, by default any.
    most : what their coefficients are at most in size.
    signed : whether any of them has a sign.
    """

    def __init__(
        self, usable: np.ndarray, signs: np.ndarray | None = None, most: float = np.inf
    ) -> None:
        self.usable, self.most, self.bounded = usable, most, most < np.inf
        self.signs = free_signs(usable.size) if signs is None else signs
        self.signed = signs is not None and bool(signs.any())

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
        """Return |c_j| of the scores that signs admit, 0 of others."""
        return np.abs(admitted(scores, self.signs) if self.signed else scores)

    def worth(self, scores: FloatArray) -> FloatArray:
        """Return those of the features, 0 of scores that signs do not admit."""
        return worths(self.strength(scores), self.most)

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the numbers."""
        return values

    def spread(self, values: FloatArray) -> FloatArray:
        """Return the numbers."""
        return values

    def bend_across(self, matrix: FloatArray, direction: FloatArray, curvature: FloatArray) -> None:
        """Add nothing: features have no other direction."""

    def take(self, units: IndexArray) -> Singles:
        """Return some features."""
        signs = self.signs[units] if self.signed else None
        return Singles(self.usable[units], signs, self.most)


class Grouped:
    """Groups: ||c_g|| over the usable features of each.

    Relaxations do not keep to bounds on coefficients, which dual points count all the same.
    """

    most = np.inf

    def __init__(
        self, code: IndexArray, n_units: int, usable: np.ndarray, limit: float = np.inf
    ) -> None:
        """Begin with the group of every feature, 0, 1, ..., and the mask of the usable ones.

        limit : what their coefficients are at most in size.
        """
        self._limit, self.bounded = limit, limit < np.inf
        self._code, self.signs = code, free_signs(code.size)
        features = np.flatnonzero(usable)
        owner = code[features]
        order = np.argsort(owner, kind="stable")
        self._features, self._owner = features[order], owner[order]
        size = np.bincount(owner, minlength=n_units)
        self._end = np.cumsum(size)
        self._begin = self._end - size
        self.usable = size > 0

    def features(self, units: IndexArray) -> IndexArray:
        """Return the usable features of some groups, group by group."""
        size = self.sizes(units)
        start = np.repeat(self._begin[units] - np.cumsum(size) + size, size)
        return self._features[start + np.arange(start.size)]

    def sizes(self, units: IndexArray) -> IndexArray:
        """Return how many usable features some groups have."""
        return self._end[units] - self._begin[units]

    def of(self, features: IndexArray) -> IndexArray:
        """Return the groups of features, in order of the features."""
        return _unique(self._code[features])

    def strength(self, scores: FloatArray) -> FloatArray:
        """Return ||c_g|| over the usable features."""
        return np.sqrt(self.sums(scores**2))

    def worth(self, scores: FloatArray) -> FloatArray:
        """Return the sums over the usable features."""
        return self.sums(worths(scores, self._limit))

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sums over the usable features."""
        sums = np.bincount(self._owner, values[self._features], self.usable.size)
        return np.asarray(sums, np.float64)

    def spread(self, values: FloatArray) -> FloatArray:
        """Return the number of its group for every feature."""
        return values[self._code]

    def bend_across(self, matrix: FloatArray, direction: FloatArray, curvature: FloatArray) -> None:
        """Add the matrix."""
        same = self._code[:, None] == self._code
        scaled = self.spread(curvature)
        matrix -= np.where(same, np.outer(scaled * direction, direction), 0.0)
        np.einsum("ii->i", matrix)[:] += scaled

    def take(self, units: IndexArray) -> Grouped:
        """Return some groups."""
        code = np.repeat(np.arange(units.size), self.sizes(units))
        return Grouped(code, units.size, np.ones(code.size, bool), self._limit)


def units_of(usable: np.ndarray, groups: Groups | None, signs: np.ndarray, most: float) -> Units:
    """Return what a budget counts where there are these groups, or none."""
    if groups is None:
        return Singles(usable, signs, most)
    return Grouped(groups.code, len(groups), usable, most)


def worths(values: FloatArray, most: float) -> FloatArray:
    """Return twice the largest u c - u^2 / 2 over |u| <= most, of each c: c^2 where that is inside.

    It is the quadratic of c up to `most`, and linear from there on: a Huber function.
    """
    square = values * values
    if most == np.inf:
        return square
    return np.where(square <= most * most, square, most * (2.0 * np.abs(values) - most))


def _unique(values: IndexArray) -> IndexArray:
    """Return the different values in order of their first appearance."""
    return values[np.sort(np.unique(values, return_index=True)[1])]

"""Pairs of features as columns: which pair is which column, in whole numbers of 64 bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.types import IndexArray


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """All pairs of features of the same group, a < b (a <= b with squares), never listed.

    Features stand in places, group by group and ascending within a group, and the partners of a
    place are the places after it until the end of its group. Pair number starts[r] + i is that of
    place r with place r + skip + i, so that pairs ascend by group, then by a, then by b.

    Attributes
    ----------
    order : (p,) the feature at each place.
    stops : (p,) where the group of a place ends.
    starts : (p + 1,) pairs before those of a place.
    skip : 1, or 0 with squares.
    """

    order: IndexArray
    stops: IndexArray
    starts: IndexArray
    skip: int

    @classmethod
    def of(cls, code: IndexArray, squares: bool) -> Grid:
        """Return the pairs of features with equal numbers, (p,)."""
        order = np.argsort(code, kind="stable")
        sizes = np.bincount(code)
        stops = np.repeat(np.cumsum(sizes), sizes)
        skip = 0 if squares else 1
        partners = stops - np.arange(code.size) - skip
        return cls(order, stops, np.concatenate([[0], np.cumsum(partners)]), skip)

    @property
    def size(self) -> int:
        """The number of pairs."""
        return int(self.starts[-1])

    def factors(self, pairs: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Return the features a and b of some pairs."""
        place = np.searchsorted(self.starts, pairs, side="right") - 1
        partner = place + self.skip + (pairs - self.starts[place])
        return self.order[place], self.order[partner]

    def number(self, a: IndexArray, b: IndexArray) -> IndexArray:
        """Return the numbers of pairs of features, in either order, that are among these."""
        place = np.empty_like(self.order)
        place[self.order] = np.arange(self.order.size)
        first, second = np.minimum(place[a], place[b]), np.maximum(place[a], place[b])
        return self.starts[first] + second - first - self.skip

    def partners(self, place: int, start: int, stop: int) -> tuple[int, int]:
        """Return the places first <= r < last whose pairs with a place are within start..stop."""
        begin = place + self.skip - int(self.starts[place])
        first = max(start, int(self.starts[place]))
        last = min(stop, int(self.starts[place + 1]))
        return begin + first, begin + max(first, last)

    def tiles(self, first: int, last: int, few: int, many: int) -> Iterator[tuple[range, int, int]]:
        """Yield places, and a range of partners, of the tiles that have pairs first..last."""
        begin, end = np.searchsorted(self.starts, [first, last - 1], side="right") - 1
        for top in range(int(begin), int(end) + 1, few):
            places = range(top, min(top + few, int(end) + 1))
            spans = [(one, two) for _, one, two in self.spans(places, first, last) if one < two]
            low, high = min(one for one, _ in spans), max(two for _, two in spans)
            for left in range(low, high, many):
                yield places, left, min(left + many, high)

    def spans(self, places: range, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Yield each place with the range of its partners among the pairs first..last."""
        for place in places:
            yield place, *self.partners(place, first, last)


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Pairs as a user lists them, (m, 2)."""

    pairs: IndexArray

    @property
    def size(self) -> int:
        """The number of pairs."""
        return len(self.pairs)

    def factors(self, pairs: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Return the features a and b of some pairs."""
        return self.pairs[pairs, 0], self.pairs[pairs, 1]


def read_pairs(
    pairs: ArrayLike | None, within: ArrayLike | None, squares: bool, n_features: int
) -> Grid | Listed:
    """Return the pairs that `Products` is asked for, after their check."""
    if pairs is not None and within is not None:
        raise ValueError("pairs and within cannot both be given: pairs are a list of their own.")
    if pairs is not None:
        return Listed(_checked(np.asarray(pairs), squares, n_features))
    code = np.zeros(n_features, np.int64)
    if within is not None:
        labels: NDArray[Any] = np.asarray(within)
        if labels.shape != (n_features,):
            raise ValueError(
                f"within must have one label for each of {n_features} features; got shape "
                f"{labels.shape}."
            )
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ValueError("within must have a label for every feature; got NaN or infinity.")
        try:
            code = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        except TypeError as error:
            raise TypeError(
                f"within must have labels of one kind, that can be sorted ({error})."
            ) from error
    found = Grid.of(code, squares)
    if not found.size:
        raise ValueError(
            f"within must leave a pair; each of {n_features} features is alone in its group."
            if within is not None
            else f"X must have at least two features to form products; got {n_features}."
        )
    return found


def _checked(pairs: NDArray[Any], squares: bool, n_features: int) -> IndexArray:
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
        raise ValueError(
            f"pairs must be (m, 2) numbers of features, at least one pair; got shape {pairs.shape}."
        )
    if pairs.dtype.kind not in "iu":
        raise TypeError(f"pairs must be integers, numbers of features; got {pairs.dtype}.")
    outside = (pairs < 0) | (pairs >= n_features)
    if outside.any():
        row = int(np.argmax(outside.any(axis=1)))
        raise ValueError(
            f"pairs must be of features from 0 to {n_features - 1}; got {pairs[row].tolist()} in "
            f"row {row}."
        )
    found = pairs.astype(np.int64)
    same = found[:, 0] == found[:, 1]
    if same.any() and not squares:
        row = int(np.argmax(same))
        raise ValueError(
            f"pairs must be of two different features; got {found[row].tolist()} in row {row}. "
            "Say squares=True for squares."
        )
    low, high = found.min(axis=1), found.max(axis=1)
    order = np.lexsort((high, low))
    again = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    if again.any():
        row = int(order[1:][again].min())
        raise ValueError(
            f"pairs must be distinct, in either order; got {found[row].tolist()} again in row "
            f"{row}."
        )
    return found

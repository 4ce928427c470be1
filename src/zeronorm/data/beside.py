"""The columns of several designs, side by side."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..core.types import Design, FloatArray, IndexArray
from .dense import as_features, as_vectors
from .wrappers import Scaled


class InParts(Design):
    """A design whose columns are those of others, one after the other."""

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return c with c[j - start] = sum_i X[i, j] v[i], start <= j < stop.

        v : (n_samples,) or (n_samples, m) -> (stop - start,) or (stop - start, m).
        """
        as_vectors(v, self.shape, start, stop)
        scores = np.empty((stop - start, *v.shape[1:]))

        def correlate(part: Design, first: int, last: int, place: int) -> None:
            scores[place : place + last - first] = part.correlate(v, first, last)

        self._each_part(start, stop, correlate)
        return scores

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return sum_i s_i X[i, j] and sum_i s_i X[i, j]**2, start <= j < stop."""
        as_vectors(weight, self.shape, start, stop)
        total, square = np.empty(stop - start), np.empty(stop - start)

        def sum_up(part: Design, first: int, last: int, place: int) -> None:
            own = slice(place, place + last - first)
            total[own], square[own] = part.moments(weight, first, last)

        self._each_part(start, stop, sum_up)
        return total, square

    def _each_part(
        self, start: int, stop: int, act: Callable[[Design, int, int, int], None]
    ) -> None:
        """Call a function with every part of some columns; it may run in several threads."""
        for part in self._parts(start, stop):
            act(*part)

    @abstractmethod
    def _parts(self, start: int, stop: int) -> Iterator[tuple[Design, int, int, int]]:
        """Yield (part, first, last, place): its columns first <= j < last, and where they go."""


class Beside(InParts):
    """The columns of several designs of the same rows, one after the other.

    Parameters
    ----------
    parts : the designs, at least one; none of them sparse or `Scaled`.
    names : of all columns; None: those that the parts have.
    """

    def __init__(self, parts: Sequence[Design], names: list[str] | None = None) -> None:
        rows = [part.shape[0] for part in parts]
        if len(set(rows)) != 1:
            raise ValueError(f"parts must have the same number of rows; got {rows}.")
        if any(part.is_sparse for part in parts):
            raise ValueError(
                "parts must not be sparse, since their columns are centred; convert them first."
            )
        if any(isinstance(part, Scaled) for part in parts):
            raise ValueError(
                "parts must not be scaled: the scan error of each depends on its scales. Scale the "
                "columns side by side: Scaled(Beside(parts), mean, scale)."
            )
        self.parts = tuple(parts)
        self.n_threads = max(part.n_threads for part in parts)
        self._names = names
        self._starts = np.cumsum([0, *(part.shape[1] for part in parts)])

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self.parts[0].shape[0], int(self._starts[-1])

    @property
    def storage(self) -> str:
        """How the numbers are stored, in words."""
        return self.parts[0].storage

    @property
    def block(self) -> int:
        """Columns per scan block: those of the part that has the widest ones."""
        return max(part.block for part in self.parts)

    @property
    def resident_bytes(self) -> int:
        """Those of all parts."""
        return sum(part.resident_bytes for part in self.parts)

    @property
    def read_bytes(self) -> int:
        """The most of a part: they are read one after the other."""
        return max(part.read_bytes for part in self.parts)

    @property
    def scan_error(self) -> float:
        """The largest error of the parts."""
        return max(part.scan_error for part in self.parts)

    @property
    def feature_names(self) -> list[str] | None:
        """The names of all columns; None where a part has none."""
        if self._names is not None:
            return self._names
        names: list[str] = []
        for part in self.parts:
            own = part.feature_names
            if own is None:
                return None
            names += own
        return names

    def gather(self, features: IndexArray | slice) -> FloatArray:
        """Return the columns in the given order, F-ordered float64."""
        n_samples, n_features = self.shape
        if isinstance(features, slice):
            features = np.arange(n_features)[features]
        columns = as_features(features, n_features)
        gathered = np.empty((n_samples, columns.size), order="F")
        owner = np.searchsorted(self._starts, columns, side="right") - 1
        for number, part in enumerate(self.parts):
            places = np.flatnonzero(owner == number)
            if places.size:
                own: Any = part.gather(columns[places] - self._starts[number])
                gathered[:, places] = own
        return gathered

    def _parts(self, start: int, stop: int) -> Iterator[tuple[Design, int, int, int]]:
        for part, begin in zip(self.parts, self._starts.tolist(), strict=False):
            first, last = max(start - begin, 0), min(stop - begin, part.shape[1])
            if first < last:
                yield part, first, last, begin + first - start

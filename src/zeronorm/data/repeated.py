"""Every column once for each of several outputs: classes, or responses, that share features."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.types import Columns, Design, FloatArray, IndexArray, Stored, Wrapper
from .arrays import as_vectors, compressed
from .gathered import DenseColumns, SparseColumns, as_columns


class Repeated(Wrapper):
    """Every column once for each of several outputs, with zeros in the rows of the others.

    Entry o n + i of a vector is row i of output o, column j q + o is x_j in the rows of output o: a
    feature is a group of q columns. A scan of it is one of q vectors of the base.

    Parameters
    ----------
    base : the design of the rows and features.
    outputs : q.
    """

    def __init__(self, base: Design, outputs: int) -> None:
        super().__init__(base)
        self.outputs = outputs

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples outputs, n_features outputs)."""
        n, m = self.base.shape
        return n * self.outputs, m * self.outputs

    @property
    def block(self) -> int:
        return self.base.block * self.outputs

    def lower(self, v: FloatArray) -> FloatArray:
        """Return the parts of v, (n q,) or (n q, m), side by side: (n, q) or (n, q m)."""
        n = self.base.shape[0]
        parts = v.reshape(self.outputs, n, -1).transpose(1, 0, 2)
        return np.ascontiguousarray(parts.reshape(n, -1))

    def lift(self, scores: FloatArray, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return scores, (features, q) or (features, q m), column by column."""
        lifted = scores.reshape(scores.shape[0] * self.outputs, *v.shape[1:])
        first = start // self.outputs * self.outputs
        return np.ascontiguousarray(lifted[start - first : stop - first])

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return c with c[j q + o - start] = sum_i X[i, j] v[o n + i]."""
        as_vectors(v, self.shape, start, stop)
        features = start // self.outputs, -(-stop // self.outputs)
        return self.lift(self.base.correlate(self.lower(v), *features), v, start, stop)

    def gather(self, features: IndexArray | slice) -> Stored:
        """Return the columns as they are, zeros and all."""
        columns = np.arange(self.shape[1])[features]
        stored: Any = self.base.gather(columns // self.outputs)
        n, output = self.base.shape[0], columns % self.outputs
        if isinstance(stored, sp.csc_array):
            rows = stored.indices + n * np.repeat(output, np.diff(stored.indptr))
            return compressed(stored.indptr, rows, stored.data, self.shape[0])
        found = np.zeros((self.shape[0], columns.size), order="F")
        for place, o in enumerate(output):
            found[o * n : (o + 1) * n, place] = stored[:, place]
        return found

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        first, last = start // self.outputs, -(-stop // self.outputs)
        parts = [
            self.base.moments(np.ascontiguousarray(one), first, last)
            for one in weight.reshape(self.outputs, -1)
        ]
        total, square = (np.column_stack(one).ravel() for one in zip(*parts, strict=True))
        chosen = slice(start - first * self.outputs, stop - first * self.outputs)
        return total[chosen], square[chosen]

    def gathered(self, features: IndexArray | slice) -> RepeatedColumns:
        """Return the columns without the zeros."""
        return RepeatedColumns.of(self, features)


def in_all_outputs(columns: Columns, outputs: int) -> Columns:
    """Return gathered columns as those of all outputs, each once for every output."""
    if outputs == 1:
        return columns
    place, output = (one.ravel() for one in np.indices((columns.shape[1], outputs)))
    return RepeatedColumns(cast("Any", columns), place, output, outputs)


class RepeatedColumns:
    """Columns of `Repeated`: some of a base, each in the rows of one output; see `Columns`."""

    array: FloatArray | None = None

    def __init__(
        self, base: DenseColumns | SparseColumns, place: IndexArray, output: IndexArray, q: int
    ) -> None:
        """Begin with the columns of a base.

        place, output : (p,) of every column, where it is in the base, and its output.
        q : the number of outputs.
        """
        self._base, self._place, self._output, self._q = base, place, output, q

    @classmethod
    def of(cls, design: Repeated, features: IndexArray | slice) -> RepeatedColumns:
        """Return some columns of a design."""
        columns = np.arange(design.shape[1])[features] if isinstance(features, slice) else features
        own, place = np.unique(columns // design.outputs, return_inverse=True)
        base = as_columns(design.base.gather(own))
        return cls(base, place, columns % design.outputs, design.outputs)

    @classmethod
    def joined(cls, parts: Sequence[RepeatedColumns]) -> RepeatedColumns:
        """Return the columns of all parts."""
        starts = np.cumsum([0, *(part._base.shape[1] for part in parts)])
        bases: list[Any] = [part._base for part in parts]
        base = type(bases[0]).joined(bases)
        place = [start + part._place for start, part in zip(starts, parts, strict=False)]
        output = np.concatenate([part._output for part in parts])
        return cls(base, np.concatenate(place), output, parts[0]._q)

    @property
    def shape(self) -> tuple[int, int]:
        return self._base.shape[0] * self._q, self._place.size

    @cached_property
    def _is_whole(self) -> bool:
        """Whether all outputs have the columns, feature by feature."""
        place = self._place[:: self._q]
        outputs = np.tile(np.arange(self._q), place.size)
        same = np.array_equal(outputs, self._output)
        return same and np.array_equal(np.repeat(place, self._q), self._place)

    @cached_property
    def repeated(self) -> FloatArray | None:
        """The columns of the base, where all outputs have them, feature by feature, in an array."""
        if self._base.array is None or not self._is_whole:
            return None
        return self._base.take(self._place[:: self._q]).array

    @property
    def storage(self) -> tuple[NDArray[Any], ...]:
        """(x,), zeros and all."""
        return (self.dense(),)

    def times(self, u: FloatArray) -> FloatArray:
        spread = np.zeros((self._base.shape[1], self._q, *u.shape[1:]))
        spread[self._place, self._output] = u
        beside = self._q * math.prod(u.shape[1:])
        found = self._base.times(spread.reshape(spread.shape[0], beside))
        n = self._base.shape[0]
        parts = found.reshape(n, self._q, -1).transpose(1, 0, 2)
        return np.asarray(parts.reshape(n * self._q, *u.shape[1:]))

    def dot(self, v: FloatArray) -> FloatArray:
        n = self._base.shape[0]
        parts = v.reshape(self._q, n, -1).transpose(1, 0, 2)
        found = self._base.dot(np.ascontiguousarray(parts.reshape(n, -1)))
        found = found.reshape(self._base.shape[1], self._q, *v.shape[1:])
        return np.asarray(found[self._place, self._output])

    def dot_each(self, v: FloatArray) -> FloatArray:
        parts = v.reshape(self._q, -1)
        found = np.array([self._base.dot_each(np.ascontiguousarray(part)) for part in parts])
        return np.asarray(found[self._output, self._place])

    def gram(self, weight: FloatArray) -> FloatArray:
        """Return Z' diag(weight) Z: columns of different outputs have no row in common."""
        if self._is_whole:
            m = self._place.size // self._q
            blocks = np.zeros((m, self._q, m, self._q))
            base = self._base.take(self._place[:: self._q])
            for output, part in enumerate(weight.reshape(self._q, -1)):
                blocks[:, output, :, output] = base.gram(np.ascontiguousarray(part))
            return blocks.reshape(m * self._q, m * self._q)
        found = np.zeros((self._place.size, self._place.size))
        for own, part in self._by_output(weight):
            place = self._place[own]
            found[np.ix_(own, own)] = self._base.gram(part)[np.ix_(place, place)]
        return found

    def cross(self, chosen: IndexArray, weight: FloatArray) -> FloatArray:
        return self.gram(weight)[chosen]

    def covariance(self, weight: FloatArray, mean: FloatArray) -> FloatArray:
        return self.gram(weight) - float(weight.sum()) * np.outer(mean, mean)

    def squares(self, weight: FloatArray) -> FloatArray:
        found = np.zeros(self._place.size)
        for own, part in self._by_output(weight):
            found[own] = self._base.squares(part)[self._place[own]]
        return found

    def squared(self) -> RepeatedColumns:
        return RepeatedColumns(self._base.squared(), self._place, self._output, self._q)

    def take(self, columns: IndexArray | slice) -> RepeatedColumns:
        own, place = np.unique(self._place[columns], return_inverse=True)
        return RepeatedColumns(self._base.take(own), place, self._output[columns], self._q)

    def rows(self, rows: IndexArray | slice) -> RepeatedColumns:
        return RepeatedColumns(self._base.rows(rows), self._place, self._output, self._q)

    def summed(self, factor: FloatArray, outputs: int) -> FloatArray:
        """Return the sums over the outputs of every row: one output has an entry."""
        parts = factor.reshape(outputs, -1)[self._output].T
        return np.asarray(self._base.dense()[:, self._place] * parts)

    def of_output(self, output: int) -> DenseColumns | SparseColumns:
        return self._base.take(self._place[self._output == output])

    def by_row(self, rows: IndexArray) -> tuple[NDArray[Any], ...]:
        """Return (x,) of some rows, in all outputs, zeros and all."""
        return (self.rows(rows).dense(),)

    def compact(self) -> RepeatedColumns:
        """Return them with the base in an array, where that is small."""
        return RepeatedColumns(self._base.compact(), self._place, self._output, self._q)

    def dense(self) -> FloatArray:
        base = self._base.dense()
        found = np.zeros((self._q, *base.shape[:1], self._place.size))
        for column, (place, output) in enumerate(zip(self._place, self._output, strict=True)):
            found[output, :, column] = base[:, place]
        return np.asarray(found.reshape(-1, self._place.size))

    def _by_output(self, weight: FloatArray) -> Iterator[tuple[IndexArray, FloatArray]]:
        """Yield the columns of every output with its weights."""
        for output, part in enumerate(weight.reshape(self._q, -1)):
            own = np.flatnonzero(self._output == output)
            if own.size:
                yield own, np.ascontiguousarray(part)

"""Gathered columns, dense or sparse, and collections of them that grow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels import csr_forms, sparse_gram
from ..core.parallel import current_threads, map_threads
from ..core.types import Columns, Design, FloatArray, IndexArray, Stored

# Gram matrices above this many multiply-adds are formed in float32: they only shape the step,
# objective, gradient and gap stay float64.
FLOAT32_GRAM = 5e7
# Multiply-adds of one below which a compiled solver with zeros takes less than steps without.
COMPACT_GRAM = 8e6
THREADED = 1 << 23  # entries of columns that take longer to read than threads to start
ROUGH_NORM = 16  # every so many rows give the norms that keep float32 products in range
BLOCK_ROWS = 2048  # rows of one partial sum


class DenseColumns:
    """Columns in an array, Z = x; see `Columns`."""

    repeated: FloatArray | None = None

    def __init__(self, x: FloatArray) -> None:
        self.array = x

    @classmethod
    def joined(cls, parts: Sequence[DenseColumns]) -> DenseColumns:
        return cls(np.vstack([part.array.T for part in parts]).T)

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    @property
    def storage(self) -> tuple[NDArray[Any], ...]:
        return (self.array,)

    def times(self, u: FloatArray) -> FloatArray:
        return np.asarray(self.array @ u)

    def dot(self, v: FloatArray) -> FloatArray:
        x = self.array
        if v.ndim > 1 or x.size < THREADED:
            return np.asarray(x.T @ v)
        width = max(1, THREADED // (8 * x.shape[0]))  # the same for any number of threads
        starts = range(0, x.shape[1], width)
        return np.concatenate(map_threads(lambda j: x[:, j : j + width].T @ v, starts))

    def dot_each(self, v: FloatArray) -> FloatArray:
        return np.asarray(np.vecdot(self.array.T, v))

    def gram(self, weight: FloatArray) -> FloatArray:
        n, p = self.shape
        if n * p * p <= FLOAT32_GRAM:
            scaled = self.array * np.sqrt(weight)[:, None]
            return np.asarray(scaled.T @ scaled)
        return self._float32_gram(weight)

    def cross(self, chosen: IndexArray, weight: FloatArray) -> FloatArray:
        weighted = self.take(chosen).array * weight[:, None]
        return np.asarray(weighted.T @ self.array)

    def covariance(self, weight: FloatArray, mean: FloatArray) -> FloatArray:
        centred = (self.array - mean) * np.sqrt(weight)[:, None]
        return np.asarray(centred.T @ centred)

    def squares(self, weight: FloatArray) -> FloatArray:
        def part(start: int) -> FloatArray:
            rows = slice(start, start + BLOCK_ROWS)
            return np.asarray(weight[rows] @ self.array[rows] ** 2)

        return np.asarray(np.sum(map_threads(part, range(0, self.shape[0], BLOCK_ROWS)), axis=0))

    def squared(self) -> DenseColumns:
        return DenseColumns(np.square(self.array))

    def take(self, columns: IndexArray | slice) -> DenseColumns:
        """Return some of the columns, in Fortran order."""
        return DenseColumns(self.array.T[columns].T)

    def rows(self, rows: IndexArray | slice) -> DenseColumns:
        """Return some rows of all columns, in Fortran order."""
        some = self.array[rows]
        return DenseColumns(some if isinstance(rows, slice) else np.asfortranarray(some))

    def summed(self, factor: FloatArray, outputs: int) -> FloatArray:
        parts = (self.array * factor[:, None]).reshape(outputs, -1, self.shape[1])
        return np.asarray(parts.sum(axis=0))

    def of_output(self, output: int) -> DenseColumns:
        return self

    def by_row(self, rows: IndexArray) -> tuple[NDArray[Any], ...]:
        return (self.array[rows],)

    def dense(self) -> FloatArray:
        return self.array

    def compact(self) -> DenseColumns:
        return self

    def _float32_gram(self, weight: FloatArray) -> FloatArray:
        """Return the Gram matrix by float32 products of columns of mean 0 and norm below 1.

        So no units of X, no offset and no C overflow, underflow or cancel in float32; means and
        norms come back in float64.
        """
        total = float(weight.sum())
        if total <= 0.0:
            return np.zeros((self.shape[1], self.shape[1]))
        share = weight / total
        centre = self.dot(share)
        # Rough norms are enough to stay in range: those of some rows, of all where that fails.
        some = DenseColumns(self.array[::ROUGH_NORM])
        norm = np.sqrt(some.squares(share[::ROUGH_NORM]))
        if not np.all(norm > 0):
            norm = np.sqrt(self.squares(share))
        gram = self._scaled_gram(share, centre, norm)
        if not np.isfinite(gram).all():
            gram = self._scaled_gram(share, centre, np.sqrt(self.squares(share)))
        gram += np.outer(centre, centre)
        gram *= total
        return gram

    def _scaled_gram(self, share: FloatArray, centre: FloatArray, norm: FloatArray) -> FloatArray:
        """Return (Z - centre)' diag(share) (Z - centre), by float32 products of columns / norm."""
        n, p = self.shape
        unit = np.divide(1.0, norm, out=np.zeros(p), where=norm > 0)
        root = np.sqrt(share)[:, None]

        def part(start: int) -> FloatArray:
            rows = slice(start, start + BLOCK_ROWS)
            centred = self.array[rows] - centre
            centred *= unit
            with np.errstate(over="ignore", invalid="ignore"):  # the caller looks at the result
                scaled = np.multiply(centred, root[rows], dtype=np.float32, casting="same_kind")
                return np.asarray(scaled.T @ scaled)

        gram = np.zeros((p, p))
        for block in map_threads(part, range(0, n, BLOCK_ROWS)):
            gram += block
        gram *= norm[:, None]
        gram *= norm
        return gram


class SparseColumns:
    """Columns in a csc_array; see `Columns`."""

    array: FloatArray | None = None
    repeated: FloatArray | None = None

    def __init__(self, x: sp.csc_array[Any]) -> None:
        self._x: Any = x

    @classmethod
    def joined(cls, parts: Sequence[SparseColumns]) -> SparseColumns:
        return cls(sp.csc_array(sp.hstack([part._x for part in parts], format="csc")))

    @property
    def shape(self) -> tuple[int, int]:
        return self._x.shape[0], self._x.shape[1]

    @cached_property
    def storage(self) -> tuple[NDArray[Any], ...]:
        """(indptr, indices, data) by column; indices are int32."""
        # SciPy may have widened them.
        return self._x.indptr, self._x.indices.astype(np.int32, copy=False), self._x.data

    @cached_property
    def counts(self) -> IndexArray:
        """The number of entries of every column, (p,)."""
        return np.asarray(np.diff(self._x.indptr))

    def times(self, u: FloatArray) -> FloatArray:
        return np.asarray(self._x @ u)

    def dot(self, v: FloatArray) -> FloatArray:
        return np.asarray(self._transposed @ v)

    def dot_each(self, v: FloatArray) -> FloatArray:
        return self.dot(v)

    def gram(self, weight: FloatArray) -> FloatArray:
        out = np.empty((self.shape[1], self.shape[1]))
        indptr, indices, data = self.storage
        sparse_gram(indptr, indices, data, weight, out, current_threads())
        return out

    def cross(self, chosen: IndexArray, weight: FloatArray) -> FloatArray:
        weighted = sp.csc_array(self._x[:, chosen].multiply(weight[:, None]))
        return np.asarray((weighted.T @ self._x).toarray())

    def covariance(self, weight: FloatArray, mean: FloatArray) -> FloatArray:
        """Return Z' diag(weight) Z less what the means add to it."""
        scaled = sp.diags_array(np.sqrt(weight)) @ self._x
        return np.asarray((scaled.T @ scaled).toarray() - weight.sum() * np.outer(mean, mean))

    def squares(self, weight: FloatArray) -> FloatArray:
        return np.asarray(self._x.multiply(self._x).T @ weight)

    def squared(self) -> SparseColumns:
        return SparseColumns(self._x.multiply(self._x))

    def take(self, columns: IndexArray | slice) -> SparseColumns:
        return SparseColumns(self._x[:, columns])

    def rows(self, rows: IndexArray | slice) -> SparseColumns:
        return SparseColumns(self._by_row[rows].tocsc())

    def summed(self, factor: FloatArray, outputs: int) -> FloatArray:
        return DenseColumns(self.dense()).summed(factor, outputs)

    def of_output(self, output: int) -> SparseColumns:
        return self

    def by_row(self, rows: IndexArray) -> tuple[NDArray[Any], ...]:
        found = self._by_row[rows]
        return found.indptr, found.indices.astype(np.int32, copy=False), found.data

    @cached_property
    def _transposed(self) -> Any:
        return self._x.T  # shares the entries; SciPy takes longer to make it than to multiply by it

    @cached_property
    def _by_row(self) -> Any:
        return self._x.tocsr()

    def forms(self, matrix: FloatArray) -> FloatArray:
        """Return z_i' A z_i of every row, (n,); matrix: A."""
        out = np.empty(self.shape[0])
        x = self._by_row
        csr_forms(x.indptr, x.indices, x.data, np.ascontiguousarray(matrix), out, current_threads())
        return out

    def dense(self) -> FloatArray:
        return np.asarray(self._x.toarray())

    def compact(self) -> DenseColumns | SparseColumns:
        """Return them in an array where a Gram matrix of that takes COMPACT_GRAM at most."""
        n, p = self.shape
        return self if n * p * p > COMPACT_GRAM else DenseColumns(self._x.toarray(order="F"))


def as_columns(stored: Stored) -> DenseColumns | SparseColumns:
    """Return what `Design.gather` returned as columns."""
    if sp.issparse(stored):
        return SparseColumns(cast("Any", stored))
    return DenseColumns(np.asarray(stored))


def gather(design: Design, features: IndexArray | slice) -> Columns:
    """Return the columns of some features, in the given order."""
    own = design.gathered(features)
    return as_columns(design.gather(features)) if own is None else own


class GrowingColumns:
    """Columns that others are appended to; room for `capacity` is made at once."""

    def __init__(self, capacity: int = 0) -> None:
        self._capacity = capacity
        self._size = 0
        self._dense: FloatArray | None = None
        self._parts: list[Any] = []  # columns that are no array

    @property
    def size(self) -> int:
        return self._size

    def append(self, columns: Columns) -> None:
        """Append columns, all of one kind."""
        old = self._size
        self._size += columns.shape[1]
        stored = columns.array
        if stored is None:
            self._parts.append(columns)
            return
        if self._dense is None or self._dense.shape[1] < self._size:
            room = max(self._capacity, self._size, 3 * old // 2)  # more each time: few copies
            grown = np.empty((stored.shape[0], room), stored.dtype, order="F")
            if self._dense is not None:
                grown[:, :old] = self._dense[:, :old]
            self._dense = grown
        self._dense[:, old : self._size] = stored

    def columns(self) -> Columns:
        if self._parts:
            if len(self._parts) > 1:
                self._parts = [type(self._parts[0]).joined(self._parts)]
            return cast("Columns", self._parts[0])
        assert self._dense is not None
        return DenseColumns(self._dense[:, : self._size])


class GatheredColumns:
    """The columns of a design gathered so far, in order of entry; room for `capacity` of them."""

    def __init__(self, design: Design, capacity: int = 0) -> None:
        self._design = design
        self._columns = GrowingColumns(capacity)
        self.features = np.empty(0, np.int64)
        self._position = np.full(design.shape[1], -1, np.int64)

    @property
    def size(self) -> int:
        return int(self.features.size)

    def position(self, features: IndexArray) -> IndexArray:
        """Return where features are, -1 where they are not."""
        return self._position[features]

    def add(self, features: IndexArray) -> None:
        """Gather columns and append them."""
        self._columns.append(gather(self._design, features))
        self._position[features] = np.arange(self.size, self.size + features.size)
        self.features = np.concatenate([self.features, features])

    def columns(self) -> Columns:
        return self._columns.columns()

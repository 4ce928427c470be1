"""Columns whose rows are mixed within blocks of samples, so that errors are independent there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.types import Design, FloatArray, IndexArray, Wrapper
from .dense import as_vectors


@dataclass(frozen=True, eq=False)
class Mixed:
    """What becomes of the rows of some blocks of one size.

    rows : (g, m) of every block. to : (g, t) the rows that they become.
    matrices : (g, t, m); or (g, 2) numbers a and b of a (I - b J), with J the mean over the block.
    """

    rows: IndexArray
    to: IndexArray
    matrices: FloatArray

    def of(self, x: FloatArray) -> FloatArray:
        """Return T x of the blocks, (g, t, c); x (g, m, c)."""
        if self.matrices.ndim == 3:
            return np.asarray(self.matrices @ x)
        a, b = self.matrices.T[:, :, None, None]
        return np.asarray(a * (x - b * x.mean(axis=1, keepdims=True)))

    def back(self, v: FloatArray) -> FloatArray:
        """Return T'v of the blocks, (g, m, c); v (g, t, c)."""
        if self.matrices.ndim == 3:
            return np.asarray(self.matrices.transpose(0, 2, 1) @ v)
        return self.of(v)


@dataclass(frozen=True, eq=False)
class Whitening:
    """A map T of the rows, block by block; every row is in one of its parts."""

    parts: tuple[Mixed, ...]

    @cached_property
    def shape(self) -> tuple[int, int]:
        """The rows of T x, and those of x."""
        return sum(one.to.size for one in self.parts), sum(one.rows.size for one in self.parts)

    def of(self, x: FloatArray) -> FloatArray:
        """Return T x; x (n,) or (n, c)."""
        found = np.empty((self.shape[0], *x.shape[1:]))
        for one in self.parts:
            own = x[one.rows]
            mixed = one.of(own.reshape(*one.rows.shape, -1))
            found[one.to] = mixed.reshape(*one.to.shape, *x.shape[1:])
        return found

    def back(self, v: FloatArray) -> FloatArray:
        """Return T'v; v (n_rows,) or (n_rows, c)."""
        found = np.empty((self.shape[1], *v.shape[1:]))
        for one in self.parts:
            own = v[one.to]
            mixed = one.back(own.reshape(*one.to.shape, -1))
            found[one.rows] = mixed.reshape(*one.rows.shape, *v.shape[1:])
        return found


class Whitened(Wrapper):
    """The columns T x_j of another design; none is ever stored, c = X'(T'v).

    Parameters
    ----------
    base : of the columns x_j.
    whitening : T.
    """

    def __init__(self, base: Design, whitening: Whitening) -> None:
        super().__init__(base)
        self.is_sparse = False
        self.whitening = whitening

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features)."""
        return self.whitening.shape[0], self.base.shape[1]

    def lower(self, v: FloatArray) -> FloatArray:
        """Return T'v."""
        return self.whitening.back(v)

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return c with c[j - start] = (T x_j)'v, start <= j < stop.

        v : (n_rows,) or (n_rows, m) -> (stop - start,) or (stop - start, m).
        """
        as_vectors(v, self.shape, start, stop)
        return self.base.correlate(self.lower(v), start, stop)

    def gather(self, features: IndexArray | slice) -> FloatArray:
        """Return the columns T x_j, F-ordered."""
        columns = self.base.gather(features)
        dense = columns if isinstance(columns, np.ndarray) else columns.toarray()
        return np.asfortranarray(self.whitening.of(dense))

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return the weighted sums of the columns T x_j and of their squares."""
        as_vectors(weight, self.shape, start, stop)
        columns = self.gather(slice(start, stop))
        return weight @ columns, weight @ columns**2


__all__ = ["Mixed", "Whitened", "Whitening"]

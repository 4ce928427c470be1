"""The factors of products: columns of a design, centred, and the matrices of their products."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from ..core.types import EXACT_SCAN, Design, FloatArray, IndexArray
from .dense import Dense

# Elements of the columns that a tile has of either factor, and at most so many of the first one.
ELEMENTS, FIRST = 1 << 22, 256
SPARSE_TILE = 512  # columns of either factor where they are sparse
# Factors of this range are multiplied in float32 without underflow; see `kScanError`.
SMALLEST, LARGEST = 2.0**-20, 2.0**20


class Factors:
    """The columns x_j - m_j of a design.

    Parameters
    ----------
    base : the design.
    center : (p,) m, or None: 0. None where the design is sparse.
    """

    def __init__(self, base: Design, center: FloatArray | None) -> None:
        self.base, self.center = base, center

    @cached_property
    def kind(self) -> np.dtype[Any]:
        """The type that factors are multiplied in; one look at the features decides."""
        exact = np.dtype(np.float64)
        if self.base.is_sparse or self.base.scan_error <= EXACT_SCAN:
            return exact
        width = self.widths()[1]
        for begin in range(0, self.base.shape[1], width):
            chosen = np.arange(begin, min(begin + width, self.base.shape[1]))
            size: Any = self.base.gather(chosen)
            size = np.abs(size if self.center is None else size - self.center[chosen])
            if not ((size == 0) | ((size >= SMALLEST) & (size <= LARGEST))).all():
                return exact
        return np.dtype(np.float32)

    def columns(self, features: IndexArray) -> Any:
        """Return factors x_j - m_j, rounded to the type of products, or a csc_array."""
        stored: Any = self.base.gather(features)
        if self.base.is_sparse:
            return stored
        if self.center is not None:
            stored = stored - self.center[features]
        with np.errstate(over="ignore"):
            return stored.astype(self.kind, order="F")

    def multiplied(self, first: IndexArray, second: IndexArray) -> Any:
        """Return the columns of some products, each factor gathered once."""
        wanted, place = np.unique(np.concatenate([first, second]), return_inverse=True)
        found = self.columns(wanted)
        left, right = place[: first.size], place[first.size :]
        if self.base.is_sparse:
            product = sp.csc_array(found[:, left].multiply(found[:, right]))
            product.sort_indices()
            product.indices = product.indices.astype(np.int32, copy=False)
            product.indptr = product.indptr.astype(np.int32, copy=False)
            return product
        found = np.asfortranarray(found, np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray((found.T[left] * found.T[right]).T)

    def tile(
        self,
        first: IndexArray,
        second: IndexArray,
        weights: list[FloatArray],
        change: Callable[[Any], Any] = np.asarray,
        kind: DTypeLike | None = None,
        rows: slice = slice(None),
    ) -> list[FloatArray]:
        """Return the matrices sum_i w_i f(x_ia) f(x_ib), (second, first), of weights w (n,)."""
        a, b = self.columns(first), self.columns(second)
        if self.base.is_sparse:
            return [_sparse_tile(a, b, weight, change) for weight in weights]
        own = self.kind if kind is None else np.dtype(kind)
        left, right = change(a[rows].astype(np.float64)), change(b[rows].astype(own, order="F"))
        columns = Dense(np.asfortranarray(right), self.base.n_threads)
        return [
            columns.correlate(np.ascontiguousarray(weight[rows, None] * left), 0, second.size)
            for weight in weights
        ]

    def widths(self) -> tuple[int, int]:
        """Return how many first and second factors a tile has."""
        if self.base.is_sparse:
            return SPARSE_TILE, SPARSE_TILE
        wide = max(8, ELEMENTS // self.base.shape[0])
        return min(FIRST, wide), wide


def _sparse_tile(a: Any, b: Any, weight: FloatArray, change: Callable[[Any], Any]) -> FloatArray:
    left = sp.csc_array((change(a.data) * weight[a.indices], a.indices, a.indptr), shape=a.shape)
    right = sp.csc_array((change(b.data), b.indices, b.indptr), shape=b.shape)
    return np.asarray((left.T @ right).toarray().T)

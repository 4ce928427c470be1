"""The curvature of a loss in one point, which all relaxations of a search share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.parallel import map_threads
from ...core.types import Columns, FloatArray, IndexArray
from ...data.columns import DenseColumns, GrowingColumns, SparseColumns
from ..risk import Risk

# That are used of a matrix, and of dense columns; columns of earlier use are forgotten above.
MOST_BYTES, MOST_COLUMN_BYTES = 2**28, 2**30


@dataclass(frozen=True, slots=True)
class SharedCurvatureTuning:
    """Constants, each with what it was measured for."""

    # Rows from which on dense columns are kept and multiplied in float32: curvature only shapes
    # steps.
    many_rows: int = 1 << 12
    block: int = 256  # columns that a thread multiplies
    scaled: int = 1 << 22  # entries of columns that it scales


SHARED_CURVATURE = SharedCurvatureTuning()
TINY = float(np.finfo(float).tiny)


class SharedCurvature:
    """Z'WZ on columns that are asked for, less what a free intercept takes off."""

    def __init__(self, Z: Columns, risk: Risk, z: FloatArray | None = None) -> None:
        """Begin with no columns of Z, (n, p).

        z : (n,) margins, with the intercept, of which W is the curvature; None: 0.
        """
        self._Z, self._risk = Z, risk
        self._weight = risk.curvature(np.zeros(risk.size) if z is None else z)
        self._total = float(self._weight.sum())
        self._type = np.float32 if Z.shape[0] >= SHARED_CURVATURE.many_rows else np.float64
        self._keep(np.empty(0, np.int64))

    def _keep(self, columns: IndexArray) -> None:
        self._known, self._matrix = GrowingColumns(), np.empty((0, 0))
        self._mean, self._norm = np.empty(0), np.empty(0)  # of dense ones
        self._place = np.full(self._Z.shape[1], -1)
        if columns.size:
            self._add(columns)

    def knows(self, columns: IndexArray) -> NDArray[np.bool_]:
        """Return which columns cost nothing."""
        return self._place[columns] >= 0

    def over(self, columns: IndexArray, z: FloatArray | None = None) -> FloatArray:
        """Return the curvature in the coefficients of some columns, (k, k).

        z : (n,) margins, with the intercept, where the loss has another: W is scaled to its sum.
        """
        fresh = columns[self._place[columns] < 0]
        if fresh.size and self._is_much(self._known.size + fresh.size):
            self._keep(columns)
        elif fresh.size:
            self._add(fresh)
        places = self._place[columns]
        matrix = np.asarray(self._matrix[np.ix_(places, places)])
        if z is not None and not self._risk.loss.quadratic and self._total > 0:
            matrix *= float(self._risk.curvature(z).sum()) / self._total
        return matrix

    def _is_much(self, size: int) -> bool:
        """Return whether so many columns, and their matrix, are more than is kept."""
        n_bytes = 0 if isinstance(self._Z, SparseColumns) else np.dtype(self._type).itemsize
        return 8 * size**2 > MOST_BYTES or n_bytes * self._weight.size * size > MOST_COLUMN_BYTES

    def _add(self, fresh: IndexArray) -> None:
        some, n = self._Z.take(fresh), self._known.size
        size = n + fresh.size
        if size > len(self._matrix):  # more each time: few copies
            grown = np.empty((max(size, 3 * n // 2),) * 2)
            grown[:n, :n] = self._matrix[:n, :n]
            self._matrix = grown
        if some.array is None:
            self._add_sparse(some)
        else:
            self._add_dense(some.array)
        self._place[fresh] = np.arange(n, size)

    def _add_sparse(self, some: Columns) -> None:
        weight, n = self._weight, self._known.size
        own, cross = some.gram(weight), np.empty((0, some.shape[1]))
        if n:
            cross = self._known.columns().dot(weight[:, None] * some.dense())
        self._known.append(some)
        if self._risk.intercept and self._total > 0:
            sums = self._known.columns().dot(weight)
            cross = cross - np.outer(sums[:n], sums[n:] / self._total)
            own = own - np.outer(sums[n:], sums[n:] / self._total)
        size = self._known.size
        self._matrix[:n, n:size], self._matrix[n:size, :n] = cross, cross.T
        self._matrix[n:size, n:size] = own

    def _add_dense(self, x: FloatArray) -> None:
        """Add columns, kept with mean 0 and norm 1: no unit or offset of X overflows in float32."""
        total, n = self._total, self._known.size
        size = n + x.shape[1]
        share = self._weight / max(total, TINY)
        root, scaled = np.sqrt(share)[:, None], np.empty(x.shape, self._type, order="F")
        mean = self._mean = np.append(self._mean, np.empty(x.shape[1]))
        norm = self._norm = np.append(self._norm, np.empty(x.shape[1]))

        width = min(
            SHARED_CURVATURE.block, max(1, SHARED_CURVATURE.scaled // share.size)
        )  # the same for any number of threads

        def scale(start: int) -> None:
            columns, own = slice(start, start + width), slice(n + start, n + start + width)
            mean[own] = share @ x[:, columns]
            centred = root * (x[:, columns] - mean[own])
            norm[own] = np.linalg.norm(centred, axis=0)
            unit = np.divide(1.0, norm[own], out=np.zeros(centred.shape[1]), where=norm[own] > 0)
            scaled[:, columns] = centred * unit

        map_threads(scale, range(0, x.shape[1], width))
        self._known.append(DenseColumns(scaled))
        known, matrix = self._known.columns().dense(), self._matrix

        def multiply(start: int) -> None:
            """Multiply a block of columns, old or new, by the new ones from it on."""
            rows = slice(start, min(start + SHARED_CURVATURE.block, n if start < n else size))
            others = slice(max(start, n), size)
            block = norm[rows, None] * (known[:, rows].T @ known[:, others]) * norm[others]
            if not self._risk.intercept:
                block += np.outer(mean[rows], mean[others])
            block *= total
            matrix[rows, others] = block
            matrix[others, rows] = block.T

        map_threads(
            multiply,
            [*range(0, n, SHARED_CURVATURE.block), *range(n, size, SHARED_CURVATURE.block)],
        )

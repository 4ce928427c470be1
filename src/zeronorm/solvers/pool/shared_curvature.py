"""The curvature of a quadratic loss, which all relaxations of a search share."""

from __future__ import annotations

import numpy as np

from ..._typing import Columns, FloatArray, IndexArray
from ...designs._columns import GrowingColumns
from ..risk import Risk

MOST_BYTES = 2**28  # that are used of a matrix; columns of earlier use are forgotten above


class SharedCurvature:
    """Z'WZ on columns that are asked for, less what a free intercept takes off."""

    def __init__(self, Z: Columns, risk: Risk) -> None:
        """Begin with no columns of Z, (n, p)."""
        self._Z, self._risk = Z, risk
        self._weight = risk.curvature(np.zeros(risk.size))
        self._keep(np.empty(0, np.int64))

    def _keep(self, columns: IndexArray) -> None:
        self._known, self._matrix = GrowingColumns(), np.empty((0, 0))
        self._place = np.full(self._Z.shape[1], -1)
        if columns.size:
            self._add(columns)

    def over(self, columns: IndexArray) -> FloatArray:
        """Return the curvature in the coefficients of some columns, (k, k)."""
        fresh = columns[self._place[columns] < 0]
        if fresh.size and 8 * (self._known.size + fresh.size) ** 2 > MOST_BYTES:
            self._keep(columns)
        elif fresh.size:
            self._add(fresh)
        places = self._place[columns]
        return np.asarray(self._matrix[np.ix_(places, places)])

    def _add(self, fresh: IndexArray) -> None:
        some, n = self._Z.take(fresh), self._known.size
        weight, total = self._weight, float(self._weight.sum())
        own, cross = some.gram(weight), np.empty((0, fresh.size))
        if n:
            cross = self._known.columns().dot(weight[:, None] * some.dense())
        self._known.append(some)
        if self._risk.intercept and total > 0:
            sums = self._known.columns().dot(weight)
            cross = cross - np.outer(sums[:n], sums[n:] / total)
            own = own - np.outer(sums[n:], sums[n:] / total)
        size = n + fresh.size
        if size > len(self._matrix):  # more each time: few copies
            grown = np.empty((max(size, 3 * n // 2),) * 2)
            grown[:n, :n] = self._matrix[:n, :n]
            self._matrix = grown
        self._matrix[:n, n:size], self._matrix[n:size, :n] = cross, cross.T
        self._matrix[n:size, n:size] = own
        self._place[fresh] = np.arange(n, size)

"""Columns that stay where they are, in others or in a design, until some of them are taken."""

from __future__ import annotations

from threading import Lock
from typing import Any, cast

import numpy as np

from ..core.parallel import map_threads
from ..core.types import Columns, Design, FloatArray, IndexArray
from .columns import SparseColumns, gather
from .operations import scan, score_errors
from .wrappers import storage_of

COPIED = 2**28  # bytes of columns in float64 that a copy is made of, at most
PASSED = 8  # times as many columns in memory are passed over in place of a larger copy, at most
MULTIPLIED = 2**22  # entries of columns that a thread takes and multiplies at once


class View:
    """Some columns of others, many of them, which are copied only where they are taken."""

    def __init__(self, Z: Columns, columns: IndexArray) -> None:
        self._Z, self._columns = Z, columns

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""
        return self._Z.shape[0], self._columns.size

    def dot(self, v: FloatArray) -> FloatArray:
        """Return Z'v."""
        return self._Z.dot(v)[self._columns]

    def take(self, columns: IndexArray) -> Columns:
        """Return some of the columns, in the given order."""
        return self._Z.take(self._columns[columns])


class ColumnsInPlace:
    """Columns of a design that are too many to be copied: every product scans the design.

    It has what relaxations and fits of some columns ask of `Columns`; what else is asked for is
    asked of a copy of all.
    """

    array = repeated = None

    def __init__(
        self, design: Design, features: IndexArray, errors: FloatArray | None = None
    ) -> None:
        """Leave them there.

        errors : (p,) by how much a product may err for ||v|| = 1; None: by rounding alone.
        """
        self._design, self._features, self.errors = design, features, errors
        self._turn = Lock()  # files are read by one thread at a time

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""
        return self._design.shape[0], self._features.size

    def dot(self, v: FloatArray) -> FloatArray:
        """Return Z'v."""
        with self._turn:
            return scan(self._design, v)[self._features]

    def take(self, columns: IndexArray | slice) -> Columns:
        """Return some of the columns, in the given order."""
        with self._turn:
            return gather(self._design, self._features[columns])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.take(slice(None)), name)


def in_place(design: Design, features: IndexArray, weight: FloatArray) -> Columns | None:
    """Return columns in place; None for those of other machines, which would be sent every time.

    weight : (n_samples,) of the means and scales of `design`.
    """
    if storage_of(design).is_remote:
        return None
    errors = score_errors(design, weight)
    own = None if errors is None else errors[features]
    return cast("Columns", ColumnsInPlace(design, features, own))


def some_of(Z: Columns, columns: IndexArray) -> Columns | View:
    """Return some columns; without a copy where that takes longer than passes over all of them."""
    many = 8 * Z.shape[0] * columns.size > COPIED
    if not isinstance(Z, ColumnsInPlace):
        dense = not isinstance(Z, SparseColumns)
        share = PASSED if many and dense else 2  # one in so many of all columns
        many = share * columns.size >= Z.shape[1] and Z.repeated is None
    return View(Z, columns) if many else Z.take(columns)


def times_of_used(Z: Columns | View, u: FloatArray) -> FloatArray:
    """Return Zu; only the columns whose coefficients are not 0 are taken."""
    used = np.flatnonzero(u)
    width = max(1, MULTIPLIED // Z.shape[0])  # the same for any number of threads
    parts = [used[i : i + width] for i in range(0, max(used.size, 1), width)]
    products = map_threads(lambda some: Z.take(some).times(u[some]), parts)
    return np.asarray(sum(products[1:], products[0]))

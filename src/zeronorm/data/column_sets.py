"""Columns as coordinate descent visits them: in place where X lies by column, or gathered.

Those of a `ColumnSet` are for its kernels; `ColumnsInPlace` and `View` stay where they are, in a
design or in other columns, until some of them are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from threading import Lock
from typing import Any, cast

import numpy as np

from .. import _kernels
from ..core.parallel import map_threads
from ..core.types import Columns, Design, FloatArray, IndexArray
from .gathered import GatheredColumns, SparseColumns, gather
from .operations import scan, score_errors
from .repeated import Repeated
from .views import storage_of

ROOM = 500  # columns that room is made for at first
COPIED = 2**28  # bytes of columns in float64 that a copy is made of, at most
PASSED = 8  # times as many columns in memory are passed over instead of a larger copy, at most
MULTIPLIED = 2**22  # entries of columns that a thread takes and multiplies at once


class ColumnSet:
    """Some columns of X for the kernels of coordinate descent.

    Parameters
    ----------
    storage : what `Design.resident_columns` returns, or `Columns.storage`.
    features : (q,) features of X.
    position : (q,) where they are in the storage; by default it is that of X.
    """

    def __init__(
        self,
        storage: tuple[Any, ...],
        features: IndexArray,
        n_threads: int = 1,
        position: IndexArray | None = None,
    ) -> None:
        self.storage = storage
        self.features = np.ascontiguousarray(features, dtype=np.int64)
        self._position = self.features if position is None else position  # in the storage
        self._kind = "dense" if len(storage) == 1 else "csc"
        self._n_threads = n_threads

    def of(self, chosen: IndexArray) -> ColumnSet:
        """Return some of these columns, by their place here."""
        return ColumnSet(
            self.storage, self.features[chosen], self._n_threads, self._position[chosen]
        )

    @property
    def size(self) -> int:
        return self.features.size

    def terms(self, v: FloatArray, h: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return x_j'v, sum_i h_i x_ij and sum_i h_i x_ij^2, (q,) each."""
        product, total, square = np.empty((3, self.size))
        if self.size:
            self.call("terms", v, h, product, total, square, self._n_threads)
        return product, total, square

    def combine(self, z: FloatArray, out: FloatArray) -> FloatArray:
        """Add sum_j z_j x_j to `out`, (n,), and return it."""
        if self.size:
            self.call("combine", z, out)
        return out

    @property
    def is_sparse(self) -> bool:
        """Whether the columns are stored as CSC."""
        return self._kind == "csc"

    @property
    def gram_cost(self) -> float:
        """About how many sweeps over the columns a Gram matrix of them costs."""
        return float("inf") if self.is_sparse else 2.0 + self.size / 20.0

    def call(self, kernel: str, *arguments: Any) -> Any:
        """Call a kernel of coordinate descent on the columns."""
        function: Any = getattr(_kernels, f"{self._kind}_{kernel}")
        return function(*self.storage, self._position, *arguments)


class RowSet:
    """Some of the few columns of a CSR matrix, for descents with Gram matrices.

    Parameters
    ----------
    storage : what `Design.resident_rows` returns.
    features : (q,) features of X.
    n_features : of X.
    """

    def __init__(
        self, storage: tuple[Any, ...], features: IndexArray, n_features: int, n_threads: int = 1
    ) -> None:
        self.features = np.ascontiguousarray(features, dtype=np.int64)
        self._indptr, self._indices, self._data = storage
        self._n_features, self._n_threads = n_features, n_threads

    def of(self, chosen: IndexArray) -> RowSet:
        storage = self._indptr, self._indices, self._data
        return RowSet(storage, self.features[chosen], self._n_features, self._n_threads)

    @property
    def size(self) -> int:
        return self.features.size

    def terms(self, v: FloatArray, h: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        product, total, square = np.empty((3, self._n_features))
        _kernels.csr_terms(
            self._indptr, self._indices, self._data, v, h, product, total, square, self._n_threads
        )
        if self.size == self._n_features:
            return product, total, square
        return product[self.features], total[self.features], square[self.features]

    def combine(self, z: FloatArray, out: FloatArray) -> FloatArray:
        coef = np.zeros(self._n_features)
        coef[self.features] = z
        _kernels.csr_combine(self._indptr, self._indices, self._data, coef, out, self._n_threads)
        return out

    def gram(self, weight: FloatArray) -> FloatArray:
        """Return X' diag(weight) X of the columns, (q, q)."""
        position = np.full(self._n_features, -1, np.int32)
        position[self.features] = np.arange(self.size)
        gram = np.empty((self.size, self.size))
        if self.size:
            _kernels.csr_gram(
                self._indptr, self._indices, self._data, position, weight, gram, self._n_threads
            )
        return gram


class RepeatedSet:
    """Some columns of a `Repeated`, each in the rows of one output: those of its base, no zeros.

    Parameters
    ----------
    base : the columns of the base, by feature.
    features : (q,) columns of the design.
    outputs : of the design.
    """

    def __init__(
        self, base: Callable[[IndexArray], ColumnSet | RowSet], features: IndexArray, outputs: int
    ) -> None:
        self.features = np.ascontiguousarray(features, dtype=np.int64)
        self._base, self._outputs = base, outputs
        own = [np.flatnonzero(self.features % outputs == output) for output in range(outputs)]
        self._parts = [(one, base(self.features[one] // outputs)) for one in own]

    def of(self, chosen: IndexArray) -> RepeatedSet:
        return RepeatedSet(self._base, self.features[chosen], self._outputs)

    @property
    def size(self) -> int:
        return self.features.size

    def terms(self, v: FloatArray, h: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        found = np.empty((3, self.size))
        rows = zip(v.reshape(self._outputs, -1), h.reshape(self._outputs, -1), strict=True)
        for (own, columns), (vector, weight) in zip(self._parts, rows, strict=True):
            found[:, own] = columns.terms(vector, weight)
        product, total, square = found
        return product, total, square

    def combine(self, z: FloatArray, out: FloatArray) -> FloatArray:
        for (own, columns), part in zip(self._parts, out.reshape(self._outputs, -1), strict=True):
            columns.combine(np.ascontiguousarray(z[own]), part)
        return out


class ColumnStore:
    """The columns of a design: in place where X lies by column, else those gathered so far.

    Solvers of several problems on one design (folds, classes) may share it.
    """

    def __init__(self, design: Design) -> None:
        self._design, self._n_threads = design, design.n_threads
        self._base: ColumnStore | None = None  # of several outputs
        if isinstance(design, Repeated):
            self._base, self._outputs = ColumnStore(design.base), design.outputs
            self._storage = self._rows = self._gathered = None
            return
        self._storage = design.resident_columns()
        self._rows = design.resident_rows()
        resides = self._storage is not None or self._rows is not None
        self._gathered = None if resides else GatheredColumns(design, ROOM)

    @cached_property
    def score_errors(self) -> FloatArray | None:
        """By how much the scores of a scan err, see `operations.score_errors`."""
        return score_errors(self._design)

    @property
    def is_sparse(self) -> bool:
        return self._design.is_sparse

    def missing(self, features: IndexArray) -> IndexArray:
        """Return the features whose columns would have to be gathered."""
        if self._base is not None:
            own = features // self._outputs
            return features[np.isin(own, self._base.missing(np.unique(own)))]
        if self._gathered is None:
            return features[:0]
        return features[self._gathered.position(features) < 0]

    def columns(self, features: IndexArray, along: IndexArray | None = None) -> Any:
        """Return some columns; what is missing is gathered, and `along` with it."""
        if self._base is not None:
            q, base = self._outputs, self._base
            base.columns(np.unique(features // q), None if along is None else np.unique(along // q))
            return RepeatedSet(base.columns, features, q)
        if self._storage is not None:
            return ColumnSet(self._storage, features, self._n_threads)
        if self._rows is not None:
            return RowSet(self._rows, features, self._design.shape[1], self._n_threads)
        gathered = self._gathered
        assert gathered is not None
        missing = self.missing(features)
        if missing.size and along is not None:
            missing = np.concatenate([missing, self.missing(along)])
        if missing.size or not gathered.size:
            gathered.add(missing)
        storage = gathered.columns().storage
        return ColumnSet(storage, features, self._n_threads, gathered.position(features))

    def passing(self, features: IndexArray) -> Any:
        """Return some columns that are not kept."""
        if self._base is not None:
            return RepeatedSet(self._base.passing, features, self._outputs)
        if self._storage is not None:
            return ColumnSet(self._storage, features, self._n_threads)
        storage = gather(self._design, features).storage
        return ColumnSet(storage, features, self._n_threads, np.arange(features.size))

    def everything(self) -> ColumnSet:
        """Return all columns; X is copied unless it is in memory by column."""
        m = self._design.shape[1]
        if self._storage is None:
            self._storage = gather(self._design, slice(0, m)).storage
            self._rows = self._gathered = None
        return ColumnSet(self._storage, np.arange(m), self._n_threads)


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
        return self._design.shape[0], self._features.size

    def dot(self, v: FloatArray) -> FloatArray:
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


class View:
    """Some columns of others, many of them, which are copied only where they are taken."""

    def __init__(self, Z: Columns, columns: IndexArray) -> None:
        self._Z, self._columns = Z, columns

    @property
    def shape(self) -> tuple[int, int]:
        return self._Z.shape[0], self._columns.size

    def dot(self, v: FloatArray) -> FloatArray:
        return self._Z.dot(v)[self._columns]

    def take(self, columns: IndexArray) -> Columns:
        return self._Z.take(self._columns[columns])


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

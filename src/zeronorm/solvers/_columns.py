"""Columns as coordinate descent visits them: in place where X lies by column, or gathered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _kernels
from .._typing import Columns, Design, FloatArray, IndexArray
from ..designs import Sparse
from ..designs._operations import resident_columns, resident_rows, score_errors
from ..designs._wrappers import storage_of as base_of
from ._cutting_plane import GatheredColumns

ROOM = 500  # columns that room is made for at first


@dataclass(frozen=True)
class Penalty:
    """sum_j l1_j |u_j| + l2_j / 2 u_j^2 for low <= u <= high."""

    l1: FloatArray  # (m,) not negative
    l2: FloatArray  # (m,) not negative
    low: FloatArray  # (m,) -inf or 0
    high: FloatArray  # (m,) 0 or inf

    @cached_property
    def level(self) -> float | FloatArray:
        """l1: one number where it is the same for all features, which spares passes over many."""
        first = float(self.l1[0]) if self.l1.size else 0.0
        return first if bool((self.l1 == first).all()) else self.l1

    @cached_property
    def has_signs(self) -> bool:
        """Whether some u_j may have one sign only."""
        return bool((self.low == 0).any() or (self.high == 0).any())

    @cached_property
    def bounds_all(self) -> bool:
        """Whether the dual bounds the score of every feature."""
        return bool((self.l1 > 0).all() and (self.l2 == 0).all())

    def of(self, features: IndexArray) -> Penalty:
        """Return the penalty of some features."""
        return Penalty(
            self.l1[features], self.l2[features], self.low[features], self.high[features]
        )

    def rows(self) -> FloatArray:
        """Return (m, 4) as the kernels take it."""
        return np.column_stack([self.l1, self.l2, self.low, self.high])

    def value(self, u: FloatArray) -> float:
        """Return the penalty of u."""
        return float(self.l1 @ np.abs(u) + 0.5 * (self.l2 @ (u * u)))

    def violation(self, gradient: FloatArray, u: FloatArray) -> FloatArray:
        """Return the least |gradient + subgradient| of every coordinate, allowed moves only."""
        g = gradient + self.l2 * u
        up = np.where(self.high > 0, -(g + self.l1), 0.0)
        down = np.where(self.low < 0, g - self.l1, 0.0)
        at_zero = np.maximum(np.maximum(up, down), 0.0)
        return np.where(u == 0, at_zero, np.abs(g + np.sign(u) * self.l1))

    def strongest(self, pull: FloatArray) -> float:
        """Return the largest pull_j / l1_j of the features with a bounded score."""
        if not self.bounds_all:
            bounded = (self.l2 == 0) & (self.l1 > 0)
            return float((pull[bounded] / self.l1[bounded]).max(initial=0.0))
        if isinstance(self.level, float):
            return float(pull.max(initial=0.0)) / self.level
        return float((pull / self.l1).max(initial=0.0))

    def settled(self, gradient: FloatArray, margin: float) -> NDArray[np.bool_]:
        """Return whether 0 is optimal with a margin, for every coordinate."""
        return ((self.high <= 0) | (gradient + self.l1 > margin)) & (
            (self.low >= 0) | (self.l1 - gradient > margin)
        )

    def pull(self, scores: FloatArray) -> FloatArray:
        """Return how strongly scores c = -gradient draw each feature from zero: |c_j|, or one sign.

        A feature at zero is optimal where it is at most l1_j.
        """
        if not self.has_signs:
            return np.abs(scores)
        up = np.where(self.high > 0, scores, 0.0)
        down = np.where(self.low < 0, -scores, 0.0)
        return np.maximum(np.maximum(up, down), 0.0)


def storage_of(Z: Columns) -> tuple[Any, ...]:
    """Return the arrays of a gathered matrix."""
    return (Z.indptr, Z.indices, Z.data) if sp.issparse(Z) else (Z,)


class ColumnSet:
    """Some columns of X for the kernels of coordinate descent.

    Parameters
    ----------
    storage : what `resident_columns` returns, or `storage_of`.
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
        """The number of columns."""
        return self.features.size

    def terms(self, v: FloatArray, h: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return x_j'v, sum_i h_i x_ij and sum_i h_i x_ij^2, (q,) each."""
        product, total, square = np.empty((3, self.size))
        if self.size:
            self._kernel("terms")(
                *self.storage, self._position, v, h, product, total, square, self._n_threads
            )
        return product, total, square

    def combine(self, z: FloatArray, out: FloatArray) -> FloatArray:
        """Add sum_j z_j x_j to `out`, (n,), and return it."""
        if self.size:
            self._kernel("combine")(*self.storage, self._position, z, out)
        return out

    @property
    def is_sparse(self) -> bool:
        """Whether the columns are stored as CSC."""
        return self._kind == "csc"

    @property
    def gram_cost(self) -> float:
        """About how many sweeps over the columns a Gram matrix of them costs."""
        return float("inf") if self.is_sparse else 2.0 + self.size / 20.0

    def descent(self, model: Model) -> Descent:
        """Return a coordinate descent on a quadratic model, at step 0."""
        return Descent(self, model)

    def newton_cycle(
        self,
        y: FloatArray,
        weight: FloatArray,
        penalty: FloatArray,
        loss: int,
        largest_step: FloatArray,
        nu: float,
        sigma: float,
        max_halvings: int,
        seed: int,
        order: IndexArray,
        u: FloatArray,
        z: FloatArray,
    ) -> float:
        """One cycle of CDN over the columns, changing order, u and z; return the violations."""
        return float(
            self._kernel("newton_cycle")(
                *self.storage, self._position, y, weight, penalty, loss, nu, sigma,
                largest_step, max_halvings, seed, order, u, z,
            )
        )  # fmt: skip

    def _kernel(self, name: str) -> Any:
        return getattr(_kernels, f"{self._kind}_{name}")


class RowSet:
    """Some of the few columns of a CSR matrix, for descents with Gram matrices.

    Parameters
    ----------
    storage : what `resident_rows` returns.
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
        """Return some of these columns, by their place here."""
        storage = self._indptr, self._indices, self._data
        return RowSet(storage, self.features[chosen], self._n_features, self._n_threads)

    @property
    def size(self) -> int:
        """The number of columns."""
        return self.features.size

    def terms(self, v: FloatArray, h: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return x_j'v, sum_i h_i x_ij and sum_i h_i x_ij^2, (q,) each."""
        product, total, square = np.empty((3, self._n_features))
        _kernels.csr_terms(
            self._indptr, self._indices, self._data, v, h, product, total, square, self._n_threads
        )
        if self.size == self._n_features:
            return product, total, square
        return product[self.features], total[self.features], square[self.features]

    def combine(self, z: FloatArray, out: FloatArray) -> FloatArray:
        """Add sum_j z_j x_j to `out`, (n,), and return it."""
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

    def descent(self, model: Model) -> Descent:
        """Return a coordinate descent on a quadratic model, at step 0: by `sweep_gram` only."""
        return Descent(self, model)


class ColumnStore:
    """The columns of a design: in place where X lies by column, else those gathered so far.

    Solvers of several problems on one design (folds, classes) may share it.
    """

    def __init__(self, design: Design, n_threads: int = 1) -> None:
        self._design, self._n_threads = design, n_threads
        self._storage = resident_columns(design)
        self._rows = resident_rows(design)
        resides = self._storage is not None or self._rows is not None
        self._gathered = None if resides else GatheredColumns(design, ROOM)

    @cached_property
    def score_errors(self) -> FloatArray | None:
        """By how much the scores of a scan err, see `_operations.score_errors`."""
        return score_errors(self._design)

    @property
    def is_sparse(self) -> bool:
        """Whether the columns are sparse."""
        return isinstance(base_of(self._design), Sparse)

    def missing(self, features: IndexArray) -> IndexArray:
        """Return the features whose columns would have to be gathered."""
        if self._gathered is None:
            return features[:0]
        return features[self._gathered.position(features) < 0]

    def columns(self, features: IndexArray, along: IndexArray | None = None) -> ColumnSet | RowSet:
        """Return some columns; what is missing is gathered, and `along` with it."""
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
        storage = storage_of(gathered.columns())
        return ColumnSet(storage, features, self._n_threads, gathered.position(features))

    def passing(self, features: IndexArray) -> ColumnSet:
        """Return some columns that are not kept."""
        if self._storage is not None:
            return ColumnSet(self._storage, features, self._n_threads)
        storage = storage_of(self._design.gather(features))
        return ColumnSet(storage, features, self._n_threads, np.arange(features.size))

    def everything(self) -> ColumnSet:
        """Return all columns; X is copied unless it is in memory by column."""
        m = self._design.shape[1]
        if self._storage is None:
            self._storage = storage_of(self._design.gather(slice(0, m)))
            self._rows = self._gathered = None
        return ColumnSet(self._storage, np.arange(m), self._n_threads)


@dataclass(frozen=True, slots=True)
class Model:
    """gradient'd + gradient_e e + 1/2 sum_i h_i (x_i'd + e)^2 + nu/2 ||d||^2 + penalty(u + d)."""

    curvature: FloatArray  # (n,) h
    gradient: FloatArray  # (q,)
    total: FloatArray  # (q,) sum_i h_i x_ij
    square: FloatArray  # (q,) sum_i h_i x_ij^2
    penalty: FloatArray  # (q, 4) rows of a Penalty
    u: FloatArray  # (q,)
    largest_step: FloatArray  # (q,) of one coordinate: a guard where curvature vanishes
    nu: float
    intercept: bool
    gradient_e: float

    def of(self, chosen: IndexArray) -> Model:
        """Return the model in some of the features, the others at rest."""
        return Model(
            self.curvature, self.gradient[chosen], self.total[chosen], self.square[chosen],
            self.penalty[chosen], self.u[chosen], self.largest_step[chosen], self.nu,
            self.intercept, self.gradient_e,
        )  # fmt: skip


class DescentState(NamedTuple):
    """What a descent goes on from, as its kernel takes and returns it."""

    offset: float  # e
    n_active: int  # features that are visited
    limit: float  # the largest violation of the last sweep
    n_sweeps: int
    violation: float  # the sum of those that the last sweep met
    done: bool


class Descent:
    """Coordinate descent on a quadratic model; `sweep` goes on where the last one ended."""

    def __init__(self, columns: ColumnSet | RowSet, model: Model) -> None:
        self._columns, self._model = columns, model
        self.step = np.zeros(columns.size)  # d
        self.n_iterations = 0  # of conjugate gradients
        self._active = np.arange(columns.size, dtype=np.int64)
        self._state = DescentState(0.0, columns.size, np.inf, 0, np.inf, False)

    def sweep(
        self,
        target: float,
        max_sweeps: int,
        seed: int,
        shrinking: float = 0.0,
    ) -> bool:
        """Sweep until the violations add up to at most `target`; return whether they do.

        shrinking : features at zero that are optimal by this share of the largest violation of the
            previous sweep are left out until the others have converged; 0: none.
        """
        columns, model = self._columns, self._model
        assert isinstance(columns, ColumnSet)
        state = columns._kernel("descend")(
            *columns.storage, columns._position, model.curvature, model.gradient, model.total,
            model.square, model.penalty, model.u, model.largest_step, model.nu, model.intercept,
            model.gradient_e, target, max_sweeps, shrinking, seed, self._active, self.step,
            self._residual, self._state,
        )  # fmt: skip
        self._state = DescentState(*state)
        return self._state.done

    def subspace_step(self, target: float, max_iterations: int) -> None:
        """Step towards the minimum over the features that are not zero, their signs kept.

        By conjugate gradients, until their slopes add up to at most `target`.
        """
        columns, model = self._columns, self._model
        assert isinstance(columns, ColumnSet)
        n_iterations, offset = columns._kernel("subspace_step")(
            *columns.storage, columns._position, model.curvature, model.gradient, model.total,
            model.square, model.penalty, model.u, model.largest_step, model.nu, model.intercept,
            model.gradient_e, target, max_iterations, self.step, self._residual, self.offset,
        )  # fmt: skip
        self.n_iterations += n_iterations
        self._state = self._state._replace(offset=offset)

    def sweep_gram(self, gram: FloatArray, target: float, max_sweeps: int) -> None:
        """Go on with the Gram matrix of the columns, weighted by h: for few columns of many rows.

        A sweep costs as many operations as features move, times q, whatever the number of rows. The
        step of the intercept is eliminated; the residual is not kept up to date, so that `sweep`
        must not follow. Changes `gram`.
        """
        model = self._model
        gram.flat[:: model.u.size + 1] += model.nu
        slope = model.gradient.copy()
        total = float(model.curvature.sum())
        eliminates = model.intercept and total > 0
        if eliminates:
            gram -= np.outer(model.total, model.total / total)
            slope -= model.total * (model.gradient_e / total)
        slope += gram @ self.step
        sweeps, violation = _kernels.gram_descend(
            np.ascontiguousarray(gram), model.penalty, model.u, model.largest_step,
            target, max_sweeps, self.step, slope,
        )  # fmt: skip
        offset = self.offset
        if eliminates:
            offset = -(model.gradient_e + float(model.total @ self.step)) / total
        self._state = self._state._replace(
            offset=offset, n_sweeps=self.n_sweeps + sweeps, violation=violation
        )

    @cached_property
    def _residual(self) -> FloatArray:
        return np.zeros(self._model.curvature.size)  # h_i x_i'd

    @property
    def offset(self) -> float:
        """The step e of the intercept."""
        return self._state.offset

    @property
    def n_sweeps(self) -> int:
        """Sweeps so far."""
        return self._state.n_sweeps

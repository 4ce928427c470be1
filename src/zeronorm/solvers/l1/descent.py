"""The penalty of the l1 family, and coordinate descent on quadratic models with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from ... import _kernels
from ...core.types import FloatArray, IndexArray
from ...data.column_sets import ColumnSet, RowSet

SWEEPS_BETWEEN = 10  # of a descent with a Gram matrix, between steps of the support


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
        state = columns.call(
            "descend", model.curvature, model.gradient, model.total,
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
        n_iterations, offset = columns.call(
            "subspace_step", model.curvature, model.gradient, model.total,
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

    def solve_gram(self, gram: FloatArray, target: float, max_sweeps: int) -> None:
        """Sweep with the Gram matrix until the violations add up to at most `target`.

        Between some sweeps there are steps to the minimum over the features that are not zero: of
        columns that are nearly dependent sweeps alone get nowhere. The model has no intercept and
        no nu, so that the matrix stays as it is.
        """
        while self.n_sweeps < max_sweeps:
            self.sweep_gram(gram, target, SWEEPS_BETWEEN)
            if self._state.violation <= target:
                return
            self._solve_support(gram)

    def _solve_support(self, gram: FloatArray) -> None:
        """Step to the minimum over the features that are not zero, as far as signs are kept."""
        model = self._model
        l1, l2 = model.penalty[:, 0], model.penalty[:, 1]
        u = model.u + self.step
        some = np.flatnonzero(u)
        slope = model.gradient + gram @ self.step + l2 * u + l1 * np.sign(u)
        try:
            factor = cho_factor(gram[np.ix_(some, some)] + np.diag(l2[some]), check_finite=False)
        except np.linalg.LinAlgError:
            return
        move = -cho_solve(factor, slope[some], check_finite=False)
        with np.errstate(divide="ignore", invalid="ignore"):
            to_zero = np.where(move * u[some] < 0, -u[some] / move, np.inf)
            to_limit = model.largest_step[some] / np.abs(move)
        share = min(1.0, float(to_zero.min(initial=1.0)), float(to_limit.min(initial=1.0)))
        if not (np.isfinite(move).all() and share > 0.0):
            return
        self.step[some] += share * move
        end = some[to_zero <= share]
        self.step[end] = -model.u[end]

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

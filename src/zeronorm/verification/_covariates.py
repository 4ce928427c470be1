"""What covariates ask of a dual point: columns free of any penalty have the sum 0 with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray
from ._form import CertificateError
from ._loss import ROUNDOFF, Loss
from ._multinomial import Multinomial

NEAR = 1e-9  # A dual point is moved by this share of it at most, to be feasible.
DEPENDENT = 1e-9  # A column with a smaller part of its own depends on others.
# Where entries are at the ends of their intervals a dual point is that much smaller, so that they
# have room, and less of that than such a share is none.
SHRUNK, LEAST_ROOM = 1e-11, 1e-14
# A dual point is moved on by such shares of its way to the ends, where rounding is bounded.
FURTHER = (1e-3, 1e-6, 0.5)


@dataclass(frozen=True, slots=True)
class Covariates:
    """The columns without a penalty, with 1 where an intercept is free, and the dual points at 0.

    With N these columns and f* the conjugate, a dual point v is feasible where N'v = 0. A point
    near that is moved by -E M^-1 N'v, M = N'E, E = HN, where H is diagonal with the way of every
    row to the nearest end of its interval (of classes s (diag(p) - pp')): no row leaves it. What
    rounding leaves, r = N'v with |r_k| <= e_k, is covered by convexity: the feasible point is the
    mean of the v + p r_k d_k, k = 1, ..., p, with d_k the columns of -E M^-1, and so, for t >= 1,

        f*(feasible) <= f*(v) + 1/p sum_k max over +- of (f*(v +- t p e_k d_k) - f*(v)) / t.
    """

    columns: FloatArray  # (n, p) orthonormal
    error: FloatArray  # (p,) rounding of their sums, relative to the sum of the dual point
    n_strata: int  # how many columns, the last ones, have sums that the loss itself asks for
    loss: Loss
    y: FloatArray
    weight: FloatArray
    outputs: int

    @classmethod
    def of(
        cls,
        columns: FloatArray,
        error: FloatArray,
        loss: Loss,
        y: FloatArray,
        weight: FloatArray,
        free: bool,
        outputs: int,
    ) -> Covariates | None:
        """Return those of the columns of a certificate, if any; error: as of `Data`."""
        if not columns.shape[1]:
            return None
        n, ones, n_strata = len(columns), list[FloatArray](), 0
        if loss.survival and y.shape[1] == 4:
            raise CertificateError("a certificate of rows that enter late has no covariates.")
        if loss.survival:
            for rows in loss.strata(y):
                ones.append(np.bincount(rows, minlength=n).astype(np.float64))
            n_strata = len(ones)
        elif free:
            ones.append(np.ones(n))
        size = np.sqrt((columns**2).sum(axis=0))
        given = np.column_stack([columns / size, *(one / np.sqrt(one.sum()) for one in ones)])
        # The last columns are kept as they are: the first are made orthogonal to them.
        q, p = columns.shape[1], given.shape[1]
        order = np.append(np.arange(q, p), np.arange(q))
        basis, triangle = np.linalg.qr(given[:, order])
        diagonal = np.abs(np.diag(triangle))
        if diagonal.size < p or not diagonal.min() > DEPENDENT:
            raise CertificateError("the covariates of the certificate depend on each other.")
        back = np.abs(np.linalg.inv(triangle))
        own = np.concatenate([np.full(p - q, ROUNDOFF * (n + 8)), error / size])
        rounded = own @ back + ROUNDOFF * (n + p + 8) * (np.abs(given).max(axis=0)[order] @ back)
        turn = np.append(np.arange(p - q, p), np.arange(p - q))
        return cls(basis[:, turn], rounded[turn], n_strata, loss, y, weight, outputs)

    def feasible(self, dual: FloatArray, near: float = NEAR) -> FloatArray:
        """Return a dual point that is feasible but for rounding, near a given one."""
        given, total = dual, float(np.abs(dual).sum())
        if (self._room(dual) < SHRUNK * np.abs(dual)).any():
            dual = dual * (1.0 - SHRUNK)
        for _ in range(3):
            bent, inverse = self._system(dual)
            dual = dual - bent @ (inverse @ self._sums(dual))
            if isinstance(self.loss, Multinomial):
                dual = self.loss.balanced(dual, self.y, self.weight, False)
        away = float(np.abs(dual - given).sum())
        if not (away <= near * total and self._is_inside(dual)):
            raise CertificateError(
                "the dual point of the certificate has not the sum 0 times its covariates."
            )
        return dual

    def moved(self, dual: FloatArray) -> FloatArray:
        """Return by how much the feasible point may differ, the sum over the rows, (outputs,)."""
        directions, left = self._left(dual)
        return np.asarray((np.abs(directions) @ left).reshape(self.outputs, -1).sum(axis=1))

    def rounding(self, dual: FloatArray) -> float:
        """Return by how much the conjugate of the feasible point may be above that of this one."""
        directions, left = self._left(dual)
        room, total = self._room(dual), 0.0
        value = float(self.loss.conjugates(dual, self.y, self.weight)[0].sum())
        for k in np.flatnonzero(self._is_ours()):
            step = left.size * left[k] * directions[:, k]
            moving = step != 0
            share = float((np.abs(step[moving]) / room[moving]).max(initial=0.0))
            rises = (self._rise(dual, h / share * step, h / share, value) for h in FURTHER
                     if share < h)  # fmt: skip
            total += next((rise for rise in rises if rise < np.inf), np.inf)
        return total / left.size

    def _rise(self, dual: FloatArray, step: FloatArray, t: float, value: float) -> float:
        """Return by how much the conjugate rises on a step to either side, divided by t."""
        worst = 0.0
        for point in (dual - step, dual + step):
            found = float(self.loss.conjugates(point, self.y, self.weight)[0].sum())
            if not (self._is_inside(point) and np.isfinite(found)):
                return np.inf
            worst = max(worst, (found - value) / t)
        return worst

    def _left(self, dual: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the directions d_k, (outputs n, p), and the e_k, (p,), twice what they are."""
        bent, inverse = self._system(dual)
        return bent @ inverse, 2.0 * (np.abs(self._sums(dual)) + self._errors(dual))

    def _parts(self, dual: FloatArray) -> FloatArray:
        return dual.reshape(self.outputs, -1)

    def _counted(self) -> int:
        """Return of how many outputs sums are asked: of classes the last one has the rest."""
        return self.outputs - 1 if isinstance(self.loss, Multinomial) else self.outputs

    def _sums(self, dual: FloatArray) -> FloatArray:
        """Return N'v of the outputs that count, one after the other."""
        return np.asarray((self._parts(dual)[: self._counted()] @ self.columns).ravel())

    def _errors(self, dual: FloatArray) -> FloatArray:
        """Return the rounding of these."""
        sizes = np.abs(self._parts(dual)[: self._counted()]).sum(axis=1)
        return np.asarray(np.outer(sizes, self.error).ravel())

    def _is_ours(self) -> np.ndarray:
        """Return which of the sums are not those that the loss itself asks for."""
        ours = np.arange(self.columns.shape[1]) < self.columns.shape[1] - self.n_strata
        return np.tile(ours, self._counted())

    def _room(self, dual: FloatArray) -> FloatArray:
        """Return the way of every entry to the nearest end of its interval."""
        low, high = self.loss.limits(self.y, self.weight)
        room = np.minimum(dual - low, high - dual)
        return np.where(np.isfinite(room), np.maximum(room, 0.0), self.weight)

    def _system(self, dual: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return E and the inverse of N'E."""
        n, p = self.columns.shape
        counted, room = self._counted(), self._parts(self._room(dual))
        if isinstance(self.loss, Multinomial):
            s = self._parts(self.weight)
            share = np.clip(self._parts(self.y) - self._parts(dual) / s, 0.0, 1.0)
            blocks = -(s * share)[:, None] * share[:counted]
            for o in range(counted):
                blocks[o, o] += s[o] * share[o]
        else:
            blocks = np.zeros((self.outputs, counted, n))
            for o in range(counted):
                blocks[o, o] = room[o]
        bent = np.einsum("abn,nr->anbr", blocks, self.columns).reshape(-1, counted * p)
        rows = bent.reshape(self.outputs, n, -1)[:counted]
        matrix = np.concatenate([self.columns.T @ own for own in rows])
        values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
        if not values[0] > LEAST_ROOM * values[-1]:
            raise CertificateError(
                "the dual point of the certificate leaves its covariates no room: too few rows are "
                "away from the ends of their intervals."
            )
        return bent, (vectors / values) @ vectors.T

    def _is_inside(self, dual: FloatArray) -> bool:
        low, high = self.loss.limits(self.y, self.weight)
        return bool(((low <= dual) & (dual <= high)).all())


__all__ = ["Covariates"]

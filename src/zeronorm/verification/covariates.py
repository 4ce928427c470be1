"""What covariates ask of a dual point: columns free of any penalty have the sum 0 with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.types import FloatArray
from .form import CertificateError
from .losses import ROUNDOFF, ReferenceLoss, ReferenceMultinomial

NEAR = 1e-9  # A dual point is moved by this share of it at most, to be feasible.
DEPENDENT = 1e-9  # A column with a smaller part of its own depends on others.
# Where entries are at the ends of their intervals a dual point is that much smaller, so that they
# have room.
SHRUNK = 1e-11
# A dual point is moved on by such shares of its way to the ends, where rounding is bounded.
FURTHER = (1e-3, 1e-6, 0.5)
NO_ROOM = (
    "the dual point of the certificate leaves its covariates no room: too few rows are away from "
    "the ends of their intervals."
)


@dataclass(frozen=True, slots=True)
class Covariates:
    """The columns without a penalty, with 1 where an intercept is free, and the dual points at 0.

    With N these columns and f* the conjugate, a dual point v is feasible where N'v = 0. A point
    near that is moved by -E (N'E)^-1 N'v, E = HN, where H is diagonal with the way of every row to
    the nearest end of its interval (of classes s (diag(p) - pp')): no row leaves it.

    Rounding leaves r = N'v. With D what is computed of E (N'E)^-1, the point v + D w is feasible
    where N'D w = -r; the largest row sum of |N'D - I| is at most 1/2, so that there is such a w,
    with |w_k| <= e, e twice the largest |r_k|. It is the mean of the v + p w_k d_k, k = 1, ..., p,
    d_k the columns of D, so that by convexity, for t >= 1,

        f*(v + D w) <= f*(v) + 1/p sum_k max over +- of (f*(v +- t p e d_k) - f*(v)) / t.
    """

    columns: FloatArray  # (n, p) orthonormal
    error: FloatArray  # (p,) rounding of their sums, relative to the sum of the dual point
    n_strata: int  # how many columns, the last ones, have sums that the loss itself asks for
    loss: ReferenceLoss
    y: FloatArray
    weight: FloatArray
    outputs: int

    @classmethod
    def of(
        cls,
        columns: FloatArray,
        error: FloatArray,
        loss: ReferenceLoss,
        y: FloatArray,
        weight: FloatArray,
        free: bool,
        outputs: int,
    ) -> Covariates | None:
        """Return those of the columns of a certificate, if any; error: as of `Data`."""
        if not columns.shape[1]:
            return None
        n, ones = len(columns), list[FloatArray]()
        if loss.survival:
            for rows in loss.parts(y):
                ones.append(np.bincount(rows, minlength=n).astype(np.float64))
        elif free or loss.ordered:
            ones.append(np.ones(n))
        n_strata = len(ones) if loss.survival or loss.ordered else 0
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
            if isinstance(self.loss, ReferenceMultinomial):
                dual = self.loss.balanced(dual, self.y, self.weight, False)
        away = float(np.abs(dual - given).sum())
        if not (away <= near * total and self._is_inside(dual)):
            raise CertificateError(
                "the dual point of the certificate has not the sum 0 times its covariates."
            )
        return dual

    def moved(
        self, dual: FloatArray, dot: Callable[[FloatArray], FloatArray], error: FloatArray
    ) -> FloatArray:
        """Return by how much the scores X'v of the feasible point may differ, (k, outputs).

        By e times the sum of |X'd_k|, with its rounding.

        dot : returns X'v for v (n, p).
        error : (k,) relative to the sum of |d_k|.
        """
        directions, left = self._left(dual)
        if not left > 0.0:
            return np.zeros((error.size, self.outputs))
        each = directions.reshape(self.outputs, len(self.columns), -1)
        beside = each.transpose(1, 0, 2).reshape(len(self.columns), -1)  # for one pass over X
        found = np.abs(dot(beside)).reshape(error.size, *each.shape[::2]).sum(axis=2)
        return np.asarray(left * (found + np.outer(error, np.abs(each).sum(axis=(1, 2)))))

    def rounding(self, dual: FloatArray) -> float:
        """Return by how much the conjugate of the feasible point may be above that of this one."""
        directions, left = self._left(dual)
        if not left > 0.0:  # of 0 there is no rounding
            return 0.0
        room, total = self._room(dual), 0.0
        value = float(self.loss.conjugates(dual, self.y, self.weight)[0].sum())
        p = directions.shape[1]
        for direction in directions.T:
            step = p * left * direction
            moving = step != 0
            share = float((np.abs(step[moving]) / room[moving]).max(initial=0.0))
            rises = (
                self._rise(dual, h / share * step, h / share, value) for h in FURTHER if share < h
            )
            total += next((rise for rise in rises if rise < np.inf), np.inf)
        return float(total / p)

    def _rise(self, dual: FloatArray, step: FloatArray, t: float, value: float) -> float:
        """Return by how much the conjugate rises on a step to either side, divided by t."""
        worst = 0.0
        for point in (dual - step, dual + step):
            found = float(self.loss.conjugates(point, self.y, self.weight)[0].sum())
            if not (self._is_inside(point) and np.isfinite(found)):
                return np.inf
            worst = max(worst, (found - value) / t)
        return worst

    def _left(self, dual: FloatArray) -> tuple[FloatArray, float]:
        """Return the directions D, (outputs n, p), and e.

        The sums that the loss itself asks for are those of `ReferenceLoss.balanced`.
        """
        bent, inverse = self._system(dual)
        ours = np.tile(
            np.arange(self.columns.shape[1]) < self.columns.shape[1] - self.n_strata,
            self._counted(),
        )
        directions = (bent @ inverse)[:, ours]
        each = [(self._sums(one)[ours], self._errors(one)[ours]) for one in directions.T]
        away = [
            np.abs(own[0] - one) + own[1] for own, one in zip(each, np.eye(len(each)), strict=True)
        ]
        if not np.array(away).sum(axis=0).max(initial=0.0) <= 0.5:
            raise CertificateError(NO_ROOM)
        # The conjugate may be that of a point a little beside.
        beside = self.loss.looseness(dual, self.y, self.weight) * np.abs(self.columns).max(axis=0)
        off = np.abs(self._sums(dual)) + self._errors(dual) + np.tile(beside, self._counted())
        return directions, 2.0 * float(off[ours].max())

    def _parts(self, dual: FloatArray) -> FloatArray:
        return dual.reshape(self.outputs, -1)

    def _counted(self) -> int:
        """Return of how many outputs sums are asked: of classes the last one has the rest."""
        return self.outputs - 1 if isinstance(self.loss, ReferenceMultinomial) else self.outputs

    def _sums(self, dual: FloatArray) -> FloatArray:
        """Return N'v of the outputs that count, one after the other."""
        return np.asarray((self._parts(dual)[: self._counted()] @ self.columns).ravel())

    def _errors(self, dual: FloatArray) -> FloatArray:
        """Return the rounding of these."""
        sizes = np.abs(self._parts(dual)[: self._counted()]).sum(axis=1)
        return np.asarray(np.outer(sizes, self.error).ravel())

    def _room(self, dual: FloatArray) -> FloatArray:
        """Return the way of every entry to the nearest end of its interval."""
        low, high = self.loss.limits(self.y, self.weight)
        room = np.minimum(dual - low, high - dual)
        return np.where(np.isfinite(room), np.maximum(room, 0.0), self.weight)

    def _system(self, dual: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return E and the inverse of N'E."""
        n, p = self.columns.shape
        counted, room = self._counted(), self._parts(self._room(dual))
        if isinstance(self.loss, ReferenceMultinomial):
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
        if not values[0] > 0.0:
            raise CertificateError(NO_ROOM)
        return bent, (vectors / values) @ vectors.T

    def _is_inside(self, dual: FloatArray) -> bool:
        low, high = self.loss.limits(self.y, self.weight)
        return bool(((low <= dual) & (dual <= high)).all())

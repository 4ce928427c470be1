"""Fits of the bi-level problem on a pool of gathered columns, and what single changes would do.

At a fit on the columns S, with H the second derivative of the objective in their coefficients (the
intercept eliminated), c minus the gradient in the columns of the pool, and V = H^-1 Z_S'WZ, the
objective changes by about

    u_j^2 / (2 d_j)      without column j of S,                 d_j = (H^-1)_jj
    - c_i^2 / (2 s_i)    with column i beside S,                s_i = h_i - Z_i'WZ_S V_i

and where i takes the place of j, c_i becomes c_i + V_ji u_j / d_j, and s_i s_i + V_ji^2 / d_j.
For least squares these are no estimates but the exact changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._typing import Columns, FloatArray, IndexArray
from ...designs._columns import GatheredColumns
from ..l0.hard_thresholding import Objective, zero_point
from ..pool.ridge import inverse_factor, ridge, solve_positive

# Certified gaps of the fits of classifiers while supports are compared, and of the final one, as
# shares of their objective.
FIT_TOL, FINAL_TOL = 1e-8, 1e-13
# A column whose curvature beside the others is below this share of its own is a combination of
# them.
DEPENDENT = 1e-9


@dataclass(frozen=True, slots=True)
class PoolFit:
    """Columns of the pool with their fit."""

    columns: IndexArray  # sorted
    coef: FloatArray
    intercept: float
    objective: float
    margins: FloatArray  # (n,) with the intercept
    gradient: FloatArray  # (n,) of the loss in the margins


@dataclass(frozen=True, slots=True)
class Effects:
    """What single columns of a pool of q columns are worth at a fit, to the second order."""

    columns: IndexArray  # (k,) of the fit
    coef: FloatArray  # (k,)
    scores: FloatArray  # (q,) c, zero in the columns of the fit
    inverse: FloatArray  # (k, k) of H
    schur: FloatArray  # (q,) s; infinite where the column is one of the fit, or depends on them

    @property
    def diagonal(self) -> FloatArray:
        """d, (k,); infinite where rounding has left none: the others can do without that column."""
        diagonal = np.einsum("ii->i", self.inverse)
        return np.where(diagonal > 0, diagonal, np.inf)

    def losses(self) -> FloatArray:
        """Return twice the rise of the objective without each column of the fit, (k,)."""
        return np.asarray(self.coef**2 / self.diagonal)

    def gains(self) -> FloatArray:
        """Return twice the fall of the objective with each column of the pool, (q,)."""
        return self.scores**2 / self.schur


@dataclass(frozen=True, slots=True)
class Changes(Effects):
    """The second-order model of the objective at a fit, over the pool of q columns."""

    whiten: FloatArray  # (k, k) R with R'R = H^-1
    half: FloatArray  # (k, q) R Z_S'WZ, so that V = R' half

    def swaps(self) -> FloatArray:
        """Return twice the fall where column i takes the place of j, (k, q)."""
        diagonal = self.diagonal[:, None]
        cross = self.whiten.T @ self.half
        gain = cross * (self.coef[:, None] / diagonal)
        gain += self.scores
        gain *= gain
        cross *= cross
        cross /= diagonal
        cross += self.schur
        gain /= cross
        gain -= self.losses()[:, None]
        return np.asarray(gain)

    def without(self, places: IndexArray) -> Effects:
        """Return the model where some columns of the fit, by their places in it, have left."""
        stay = np.ones(self.columns.size, bool)
        stay[places] = False
        block = self.inverse[np.ix_(places, places)]
        cross = self.whiten[:, places].T @ self.half
        left = solve_positive(block.copy(), np.column_stack([self.coef[places], cross]))
        pull, spread = left[:, 0], left[:, 1:]
        bridge = self.inverse[np.ix_(stay, places)]
        return Effects(
            self.columns[stay],
            self.coef[stay] - bridge @ pull,
            self.scores + cross.T @ pull,
            self.inverse[np.ix_(stay, stay)] - bridge @ solve_positive(block.copy(), bridge.T),
            self.schur + np.einsum("jq,jq->q", cross, spread),
        )


class Pool:
    """The gathered columns of a problem, with fits on some of them."""

    def __init__(self, objective: Objective, gathered: GatheredColumns) -> None:
        self._objective, self._gathered = objective, gathered
        self._moments: Moments | None = None
        if objective.risk.loss.quadratic:
            self._moments = Moments(objective)

    @property
    def features(self) -> IndexArray:
        """The features of the pool, in order of entry."""
        return self._gathered.features

    @property
    def size(self) -> int:
        """The number of columns."""
        return self._gathered.size

    def position(self, features: IndexArray) -> IndexArray:
        """Return where features are in the pool, -1 where they are not."""
        return self._gathered.position(features)

    def add(self, features: IndexArray) -> IndexArray:
        """Gather what is not in the pool; return what that was."""
        fresh = features[self.position(features) < 0]
        if fresh.size:
            self._gathered.add(np.sort(fresh))
            if self._moments is not None:
                self._moments.extend(self.columns())
        return fresh

    def columns(self) -> Columns:
        """Return all columns of the pool, (n, q)."""
        return self._gathered.columns()

    def fit(
        self, columns: IndexArray, start: PoolFit | None = None, tol: float = FIT_TOL
    ) -> PoolFit:
        """Solve the problem on some columns, sorted."""
        objective = self._objective
        if not columns.size:
            zero = zero_point(objective)
            b = zero.intercept
            return PoolFit(columns, zero.coef, b, zero.objective, zero.z + b, zero.gradient)
        Z = self.columns().take(columns)
        if self._moments is not None:
            coef = self._moments.solve(columns)
            z = Z.times(coef)
            value, b, gradient = objective.place(z, coef)
            return PoolFit(columns, coef, b, value, z + b, gradient)
        found = ridge(
            Z, objective.risk, penalty=objective.ridge, start=_started(columns, start), tol=tol,
            of_value=True,
        )  # fmt: skip
        return PoolFit(
            columns, found.coef, found.intercept, found.objective, found.margins, -found.dual
        )

    def changes(self, fit: PoolFit) -> Changes:
        """Return what changes of the columns of a fit would do."""
        objective, Z = self._objective, self.columns()
        if self._moments is not None:
            cross = self._moments.gram[fit.columns]
            bend = self._moments.bend
        else:
            curvature = objective.risk.curvature(fit.margins)
            cross, bend = _second_derivatives(Z, fit.columns, curvature, objective.risk.intercept)
        scores = -Z.dot(fit.gradient)
        H = cross[:, fit.columns].copy()
        np.einsum("ii->i", H)[:] += objective.ridge
        unit = 1.0 / np.sqrt(np.maximum(np.einsum("ii->i", H), np.finfo(float).tiny))
        H *= unit[:, None] * unit
        whiten = inverse_factor(H) * unit
        half = whiten @ cross
        bend = bend + objective.ridge
        schur = bend - np.einsum("kq,kq->q", half, half)
        schur[~(schur > DEPENDENT * bend)] = np.inf
        schur[fit.columns] = np.inf
        scores[fit.columns] = 0.0
        return Changes(fit.columns, fit.coef, scores, whiten.T @ whiten, schur, whiten, half)


class Moments:
    """Gram matrix and moments of the pool for least squares, the intercept eliminated."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        risk = objective.risk
        weight, y = risk.weight, risk.y
        centred = y - float(weight @ y) / float(weight.sum()) if risk.intercept else y
        self._target = weight * centred
        self.gram = np.empty((0, 0))  # (q, q) Z'WZ
        self._product = np.empty(0)  # (q,) Z'Wy

    @property
    def bend(self) -> FloatArray:
        """The second derivative of the loss in every column, (q,)."""
        return np.asarray(np.einsum("ii->i", self.gram))

    def extend(self, Z: Columns) -> None:
        """Go on with a pool that begins with the columns of the one so far."""
        risk, old = self._objective.risk, self._product.size
        new = np.arange(old, Z.shape[1])
        block, _ = _second_derivatives(Z, new, risk.weight, risk.intercept)
        gram = np.empty((Z.shape[1], Z.shape[1]))
        gram[:old, :old] = self.gram
        gram[old:] = block
        gram[:old, old:] = block[:, :old].T
        self.gram = gram
        self._product = np.append(self._product, Z.take(new).dot(self._target))

    def solve(self, columns: IndexArray) -> FloatArray:
        """Return the coefficients of some columns."""
        H = self.gram[np.ix_(columns, columns)]
        view = np.einsum("ii->i", H)
        view += self._objective.ridge
        unit = 1.0 / np.sqrt(np.maximum(view, np.finfo(float).tiny))
        H *= unit[:, None] * unit
        return np.asarray(unit * solve_positive(H, unit * self._product[columns]))


def _second_derivatives(
    Z: Columns, columns: IndexArray, weight: FloatArray, intercept: bool
) -> tuple[FloatArray, FloatArray]:
    """Return Z_S'WZ, (k, q), and the diagonal of Z'WZ, (q,), less what the intercept takes up."""
    cross, bend = Z.cross(columns, weight), Z.squares(weight)
    total = float(weight.sum())
    if intercept and total > 0:
        sums = Z.dot(weight)
        cross -= np.outer(sums[columns] / total, sums)
        bend = bend - sums**2 / total
    return cross, bend


def _started(columns: IndexArray, start: PoolFit | None) -> tuple[FloatArray, float] | None:
    """Return the coefficients of a fit on other columns."""
    if start is None:
        return None
    coef = np.zeros(columns.size)
    both, new, old = np.intersect1d(columns, start.columns, return_indices=True)
    if both.size:
        coef[new] = start.coef[old]
    return coef, start.intercept


__all__ = ["FINAL_TOL", "Changes", "Effects", "Pool", "PoolFit"]

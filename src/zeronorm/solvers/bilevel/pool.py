"""Fits of the bi-level problem on a pool of gathered columns, and what single changes would do.

At a fit on the columns S, with H the second derivative of the objective in their coefficients (the
intercept eliminated), c minus the gradient in the columns of the pool, and V = H^-1 Z_S'WZ, the
objective changes by about

    u_j^2 / (2 d_j)      without column j of S,                 d_j = (H^-1)_jj
    - c_i^2 / (2 s_i)    with column i beside S,                s_i = h_i - Z_i'WZ_S V_i

and where i takes the place of j, c_i becomes c_i + V_ji u_j / d_j, and s_i s_i + V_ji^2 / d_j.
For least squares these are no estimates but the exact changes. Of several outputs the changes are
the sums of theirs: responses have none in common, and what classes have in common is in the
curvature of each, see `Multinomial.curvature_by_output`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ...core.types import Columns, FloatArray, IndexArray
from ...data.columns import GatheredColumns
from ...data.repeated import in_all_outputs
from ...losses import as_adjusted, without_covariates
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

    columns: IndexArray  # (k,) sorted
    coef: FloatArray  # (k,), of several outputs column by column
    intercept: float
    objective: float
    margins: FloatArray  # (n,) with the intercept; of all outputs
    gradient: FloatArray  # (n,) of the loss in the margins


@dataclass(frozen=True, slots=True)
class EffectsOnOutput:
    """What single columns of a pool of q columns are worth to an output, to the second order."""

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

    def loss_of(self, places: IndexArray) -> float:
        """Return twice the rise of the objective without some columns, by their places in it."""
        block, u = self.inverse[np.ix_(places, places)], self.coef[places]
        return float(u @ np.linalg.lstsq(block, u, rcond=None)[0])


@dataclass(frozen=True, slots=True)
class ChangesOfOutput(EffectsOnOutput):
    """The second-order model of the objective of an output, over the pool of q columns."""

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

    def without(self, places: IndexArray) -> EffectsOnOutput:
        """Return the model where some columns of the fit, by their places in it, have left."""
        stay = np.ones(self.columns.size, bool)
        stay[places] = False
        block = self.inverse[np.ix_(places, places)]
        cross = self.whiten[:, places].T @ self.half
        left = solve_positive(block.copy(), np.column_stack([self.coef[places], cross]))
        pull, spread = left[:, 0], left[:, 1:]
        bridge = self.inverse[np.ix_(stay, places)]
        return EffectsOnOutput(
            self.columns[stay],
            self.coef[stay] - bridge @ pull,
            self.scores + cross.T @ pull,
            self.inverse[np.ix_(stay, stay)] - bridge @ solve_positive(block.copy(), bridge.T),
            self.schur + np.einsum("jq,jq->q", cross, spread),
        )


@dataclass(frozen=True, slots=True)
class Effects:
    """What single columns of the pool are worth at a fit: the sums over the outputs."""

    parts: Sequence[EffectsOnOutput]  # of each output

    @property
    def columns(self) -> IndexArray:
        """(k,) of the fit."""
        return self.parts[0].columns

    def losses(self) -> FloatArray:
        """Return twice the rise of the objective without each column of the fit, (k,)."""
        return _sum([part.losses() for part in self.parts])

    def gains(self) -> FloatArray:
        """Return twice the fall of the objective with each column of the pool, (q,)."""
        return _sum([part.gains() for part in self.parts])


@dataclass(frozen=True, slots=True)
class Changes(Effects):
    """The second-order model of the objective at a fit, the sum of those of the outputs."""

    parts: Sequence[ChangesOfOutput]

    def swaps(self) -> FloatArray:
        """Return twice the fall where column i takes the place of j, (k, q)."""
        return _sum([part.swaps() for part in self.parts])

    def without(self, places: IndexArray) -> Effects:
        """Return the model where some columns of the fit, by their places in it, have left."""
        return Effects([part.without(places) for part in self.parts])

    def loss_of(self, places: IndexArray) -> float:
        """Return twice the rise of the objective without some columns, by their places in it."""
        return float(sum(part.loss_of(places) for part in self.parts))


class Pool:
    """The gathered columns of a problem, with fits on some of them; a column is of a feature."""

    def __init__(self, objective: Objective, gathered: GatheredColumns) -> None:
        self._objective, self._gathered = objective, gathered
        loss = objective.risk.loss
        self._outputs = loss.outputs
        own = objective.risk.intercept or loss.own_intercepts
        self._centred = bool(getattr(loss, "free", own))  # whether intercepts take up means
        # Covariates take up more, see `losses.Adjusted`.
        beside = as_adjusted(loss)
        none = np.empty((objective.risk.size, 0))
        self._beside = none if beside is None else beside.free_columns(objective.risk.size)
        self._moments: Moments | None = None
        if without_covariates(loss).quadratic:
            self._moments = Moments(objective, self._centred, self._beside)

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
        Z = in_all_outputs(self.columns().take(columns), self._outputs)
        if self._moments is not None:
            coef = self._moments.solve(columns)
            z = Z.times(coef)
            value, b, gradient = objective.place(z, coef)
            return PoolFit(columns, coef, b, value, z + b, gradient)
        found = ridge(
            Z, objective.risk, penalty=objective.ridge,
            start=_started(columns, start, self._outputs), tol=tol, of_value=True,
        )  # fmt: skip
        return PoolFit(
            columns, found.coef, found.intercept, found.objective, found.margins, -found.dual
        )

    def changes(self, fit: PoolFit) -> Changes:
        """Return what changes of the columns of a fit would do."""
        scores, coef = self.scores(fit.gradient), fit.coef.reshape(-1, self._outputs)
        scores[fit.columns] = 0.0
        if self._moments is not None:  # the same of all outputs
            moments = self._moments.gram[fit.columns], self._moments.bend
            models = [self._model(fit, *moments)] * self._outputs
        else:
            models = [
                self._model(
                    fit,
                    *_second_derivatives(
                        self.columns(), fit.columns, one, self._centred, self._beside
                    ),
                )
                for one in self._objective.risk.curvature_by_output(fit.margins)
            ]
        return Changes([
            ChangesOfOutput(
                fit.columns, coef[:, o], scores[:, o], whiten.T @ whiten, schur, whiten, half
            )
            for o, (whiten, half, schur) in enumerate(models)
        ])  # fmt: skip

    def scores(self, gradient: FloatArray) -> FloatArray:
        """Return minus the gradient in the coefficients of all columns, (q, outputs)."""
        v = gradient
        if self._outputs > 1:
            v = np.ascontiguousarray(gradient.reshape(self._outputs, -1).T)
        return -self.columns().dot(v).reshape(-1, self._outputs)

    def _model(
        self, fit: PoolFit, cross: FloatArray, bend: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return R, half and s of an output; cross, bend: its second derivatives of the loss."""
        ridge = self._objective.ridge
        H = cross[:, fit.columns].copy()
        np.einsum("ii->i", H)[:] += ridge
        unit = 1.0 / np.sqrt(np.maximum(np.einsum("ii->i", H), np.finfo(float).tiny))
        H *= unit[:, None] * unit
        whiten = inverse_factor(H) * unit
        half = whiten @ cross
        bend = bend + ridge
        schur = bend - np.einsum("kq,kq->q", half, half)
        schur[~(schur > DEPENDENT * bend)] = np.inf
        schur[fit.columns] = np.inf
        return whiten, half, schur


class Moments:
    """Gram matrix and moments of the pool for least squares, the intercept eliminated.

    centred : whether there is one. beside : (n, r) the columns of covariates, it among them.
    """

    def __init__(self, objective: Objective, centred: bool, beside: FloatArray) -> None:
        risk = objective.risk
        self._ridge, self._centred, self._beside = objective.ridge, centred, beside
        self._weight = risk.weight[: risk.size]  # the same of all outputs
        targets = [self._weighted(y) for y in risk.y.reshape(risk.loss.outputs, -1)]
        self._target = targets[0] if len(targets) == 1 else np.column_stack(targets)
        self.gram = np.empty((0, 0))  # (q, q) Z'WZ
        self._product = np.empty((0, len(targets)))  # (q, outputs) Z'Wy

    @property
    def bend(self) -> FloatArray:
        """The second derivative of the loss in every column, (q,)."""
        return np.asarray(np.einsum("ii->i", self.gram))

    def extend(self, Z: Columns) -> None:
        """Go on with a pool that begins with the columns of the one so far."""
        old = len(self._product)
        new = np.arange(old, Z.shape[1])
        block, _ = _second_derivatives(Z, new, self._weight, self._centred, self._beside)
        gram = np.empty((Z.shape[1], Z.shape[1]))
        gram[:old, :old] = self.gram
        gram[old:] = block
        gram[:old, old:] = block[:, :old].T
        self.gram = gram
        product = Z.take(new).dot(self._target).reshape(new.size, -1)
        self._product = np.concatenate([self._product, product])

    def solve(self, columns: IndexArray) -> FloatArray:
        """Return the coefficients of some columns, those of all outputs column by column."""
        H = self.gram[np.ix_(columns, columns)]
        view = np.einsum("ii->i", H)
        view += self._ridge
        unit = 1.0 / np.sqrt(np.maximum(view, np.finfo(float).tiny))
        H *= unit[:, None] * unit
        unit = unit[:, None]
        return np.asarray(unit * solve_positive(H, unit * self._product[columns])).ravel()

    def _weighted(self, y: FloatArray) -> FloatArray:
        """Return W y, less the mean of y where an intercept takes it up, or what covariates do."""
        weight, beside = self._weight, self._beside
        if beside.shape[1]:
            bent = weight[:, None] * beside
            fitted = beside @ np.linalg.lstsq(beside.T @ bent, bent.T @ y, rcond=None)[0]
            return np.asarray(weight * (y - fitted))
        centred = y - float(weight @ y) / float(weight.sum()) if self._centred else y
        return np.asarray(weight * centred)


def _second_derivatives(
    Z: Columns,
    columns: IndexArray,
    weight: FloatArray,
    intercept: bool,
    beside: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return Z_S'WZ, (k, q), and the diagonal of Z'WZ, (q,), less what the intercept takes up.

    beside : (n, r) the columns of covariates, with that of the intercept; or none.
    """
    cross, bend = Z.cross(columns, weight), Z.squares(weight)
    total = float(weight.sum())
    if beside.shape[1] and total > 0:
        bent = weight[:, None] * beside
        own = beside.T @ bent
        own.flat[:: len(own) + 1] += np.finfo(float).eps * max(float(np.trace(own)), 1e-300)
        root = Z.dot(bent) @ inverse_factor(own).T
        cross -= root[columns] @ root.T
        bend = bend - np.einsum("qr,qr->q", root, root)
    elif intercept and total > 0:
        sums = Z.dot(weight)
        cross -= np.outer(sums[columns] / total, sums)
        bend = bend - sums**2 / total
    return cross, bend


def _started(
    columns: IndexArray, start: PoolFit | None, outputs: int
) -> tuple[FloatArray, float] | None:
    """Return the coefficients of a fit on other columns."""
    if start is None:
        return None
    coef = np.zeros((columns.size, outputs))
    both, new, old = np.intersect1d(columns, start.columns, return_indices=True)
    if both.size:
        coef[new] = start.coef.reshape(-1, outputs)[old]
    return coef.ravel(), start.intercept


def _sum(parts: Sequence[FloatArray]) -> FloatArray:
    return reduce(np.add, parts)

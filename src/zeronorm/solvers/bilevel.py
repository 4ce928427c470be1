"""At most k features in at most g groups: hard thresholding, and the search for better supports.

    min_{u, b}  rho/2 ||u||^2 + sum_i s_i f(y_i, x_i'u + b)
    subject to  ||u||_0 <= k,  #{groups G : u_G != 0} <= g                                       (B)

The search works on a pool of gathered candidates, as that for the best k features does: a scan at
its result shows the features outside of the pool that might lower the objective; they join it, and
the search goes on until a scan shows nothing that helps.

`Moves` has what makes a support better inside the pool. The published methods take a scan
for each step, and use the pool only to fit the support they end at.

Source: Xiang, Yang and Ye, Simultaneous feature and feature group selection through hard
thresholding, KDD 2014 (the problem, and the published variants in `l0.Thresholding`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from ..core.criteria import information_criteria, no_criteria
from ..core.groups import Groups
from ..core.results import Path, Selection, Status, Step
from ..core.types import Columns, Design, FloatArray, IndexArray
from ..data import Scaled
from ..data.gathered import GatheredColumns, gather
from ..data.operations import center_scale, on_scaling_of_x
from ..data.repeated import Repeated, in_all_outputs
from ..losses import as_adjusted, without_covariates
from .bilevel_budget import BilevelBudget
from .driver import PhaseClock, Scan, SelectionRequest, Solver
from .final_fits import RowsLeftOut, approximate_loss_left_out
from .finish import negative_log_likelihood, refit_support
from .l0 import VARIANTS, Admit, Objective, SparsePoint, Thresholding, hard_threshold, zero_point
from .problem import EQUAL_ROWS, LEAST_SCALE, ByOutputs, Task
from .ridge_fits import MOVEMENT, inverse_factor, ridge, solve_positive

# Fits of the bi-level problem on a pool of gathered columns, and what single changes would do.
#
# At a fit on the columns S, with H the second derivative of the objective in their coefficients
# (the intercept eliminated), c minus the gradient in the columns of the pool, and V = H^-1 Z_S'WZ,
# the objective changes by about
#
#     u_j^2 / (2 d_j)      without column j of S,                 d_j = (H^-1)_jj
#     - c_i^2 / (2 s_i)    with column i beside S,                s_i = h_i - Z_i'WZ_S V_i
#
# and where i takes the place of j, c_i becomes c_i + V_ji u_j / d_j, and s_i s_i + V_ji^2 / d_j.
# For least squares these are no estimates but the exact changes. Of several outputs the changes are
# the sums of theirs: responses have none in common, and what classes have in common is in the
# curvature of each, see `Multinomial.curvature_by_output`.

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


class FeaturePool:
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
    Z: Columns, columns: IndexArray, weight: FloatArray, intercept: bool, beside: FloatArray
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


# A problem of features in groups: what its solvers start from.
#
# Of several outputs a feature is one unit with a coefficient in each. Budgets see lengths: of the
# coefficients of a feature, of its scores, of its strengths.

Size = tuple[int, int]  # features and groups


@dataclass(frozen=True, slots=True)
class BilevelTask(ByOutputs):
    """(B) without its budgets."""

    design: Design  # on the selection scaling; of several outputs `Repeated`
    objective: Objective
    groups: Groups  # of the m features
    forced: IndexArray = field(default_factory=lambda: np.empty(0, np.int64))
    forced_groups: IndexArray = field(default_factory=lambda: np.empty(0, np.int64))
    usable: np.ndarray | None = None  # (m,) mask of the features that may be selected
    spread: FloatArray | None = None  # (m,) deviations of the columns, positive; None: all 1

    @property
    def outputs(self) -> int:
        return self.objective.risk.loss.outputs

    def lengths(self, values: FloatArray) -> FloatArray:
        """Return the lengths of the rows of values, (m q,) or (m, q); of one output the values."""
        rows = values.reshape(-1, self.outputs)
        return rows[:, 0] if self.outputs == 1 else np.asarray(np.hypot.reduce(rows, axis=1))

    def of_columns(self, admit: Admit) -> Admit:
        """Return a projection of features as that of columns: it keeps features in all outputs."""
        return lambda target: self.columns(admit(self.lengths(target)))

    @property
    def usable_spread(self) -> FloatArray | None:
        """The deviations of the features that may be selected; None: all 1."""
        if self.spread is None or self.usable is None:
            return self.spread
        return np.asarray(self.spread[self.usable], np.float64)

    def admit(self, size: Size) -> Admit:
        """Return the projection onto the budgets, of vectors over all features."""
        budget = BilevelBudget(*size, self.groups, self.forced, self.forced_groups)

        def admit(target: FloatArray) -> IndexArray:
            if self.usable is not None:
                target = np.where(self.usable, target, 0.0)
            return budget.support(target)

        return admit


# Better supports of features in groups, inside a pool of gathered columns.
#
# A support is made better by changes under both budgets at once. Every column gets a strength: what
# the objective would rise by without it (inside), or fall by with it (outside). The projection of
# the strengths onto the budgets is a new support; so is that of the strengths without one group,
# and the best exchange of two features.


@dataclass(frozen=True, slots=True)
class MovesTuning:
    """Constants of the moves from one support to another."""

    # Times the budgets: where a pool begins, and a support that shrinks to them.
    pool_factor: int = 3
    max_moves: int = 1000
    most_groups_out: int = 10  # groups whose removal is tried, the weakest first
    most_swaps: int = 6  # exchanges of two features that are tried, the most promising first


MOVES = MovesTuning()
# Strengths of columns outside are multiplied by these: as the sum of the single gains of columns
# that resemble each other promises too much, and that of columns that need each other too little.
BOLDNESS = (0.25, 0.5, 1.0, 2.0, 4.0)
GROWTH, SHRINKAGE = 5, 0.7  # steps of a growing start, and the share left by a step of elimination
LOOSE_TOL, START_STEPS = 1e-5, 500  # of hard thresholding that only begins a search


class Moves:
    """Starts, and changes that better them, of supports of all sizes in one pool.

    The forced features are the first columns of the pool.
    """

    def __init__(
        self, task: BilevelTask, pool: FeaturePool, sizes: Sequence[Size], tol: float
    ) -> None:
        self.task, self.pool, self.tol = task, pool, tol
        self.zero = zero_point(task.objective)
        self._tried: dict[Size, set[bytes]] = {size: set() for size in sizes}
        self._budgets: dict[Size, tuple[int, BilevelBudget]] = {}
        # Roots of the second derivatives of the features, about: scores over them are strengths.
        ridge = task.objective.ridge
        curvature = task.objective.risk.curvature_by_output(self.zero.z + self.zero.intercept)
        spread = np.ones(1) if task.spread is None else task.spread
        bend = np.sqrt(curvature.sum(axis=1)) * spread[:, None]
        self._bend = np.hypot(np.sqrt(ridge), bend)  # (m or 1, outputs)

    def strength(self, scores: FloatArray) -> FloatArray:
        """Return what the features are worth by the scores of a scan in all outputs, (m,)."""
        return self.task.lengths(scores.reshape(-1, self.task.outputs) / self._bend)

    def start(self, size: Size, smaller: PoolFit | None) -> PoolFit:
        """Return the best of several starts, each improved.

        smaller : the best fit of a smaller size. It takes the place of hard thresholding, which
            costs more.
        """
        scores = self.pool.scores(self.zero.gradient) / self._bends()
        share = 0.5 * float(np.vdot(scores, scores)) / max(self.zero.objective, LEAST_SCALE)
        if share <= MOVEMENT.still:
            return self.pool.fit(self._admit(size)(self.task.lengths(scores)))
        first = self._thresholded(size) if smaller is None else smaller.columns
        starts = [first, self._grown(size), self._eliminated(size)]
        distinct = {columns.tobytes(): columns for columns in starts}
        fits = [self.improve(size, self.pool.fit(columns)) for columns in distinct.values()]
        return min(fits, key=lambda fit: fit.objective)

    def _thresholded(self, size: Size) -> IndexArray:
        """Return where hard thresholding inside the pool ends."""
        Z, spread = in_all_outputs(self.pool.columns(), self.task.outputs), self.task.spread
        admit = self.task.of_columns(self._admit(size))
        state = Thresholding(
            self.task.objective, admit, VARIANTS["ista"], LOOSE_TOL,
            spread=None if spread is None else spread[self.pool.features],
        )  # fmt: skip
        for _ in range(START_STEPS):
            if not state.step(Z.dot(state.vector), Z.take):
                break
        return self.task.features(state.best.support)

    def _grown(self, size: Size) -> IndexArray:
        """Return a support that grows by a share of the budgets at a time."""
        k, g = size
        columns = self.forced_columns
        for turn in range(1, GROWTH + 1):
            part = max(-(-k * turn // GROWTH), columns.size), -(-g * turn // GROWTH)
            part = part[0], max(part[1], self.n_groups(columns))
            changes = self.pool.changes(self.pool.fit(columns))
            columns = self._admit(part)(self._strength(changes, 1.0))
        return columns

    def _eliminated(self, size: Size) -> IndexArray:
        """Return what is left of a larger support where the weakest leave, again and again."""
        k, g = size
        most = self.pool.size
        if not self.task.objective.ridge:  # half as many features as rows, equal ones once
            most = min(most, _n_different(self.pool.columns()) // 2)
        part = max(k, min(MOVES.pool_factor * k, most)), MOVES.pool_factor * g
        scores = self.pool.scores(self.zero.gradient) / self._bends()
        columns = self._admit(part)(self.task.lengths(scores))
        while part != size:
            part = max(k, int(SHRINKAGE * part[0])), max(g, int(SHRINKAGE * part[1]))
            changes = self.pool.changes(self.pool.fit(columns))
            columns = self._admit(part)(self._strength(changes, 0.0))
        return columns

    def improve(self, size: Size, fit: PoolFit) -> PoolFit:
        """Change a support while that lowers the objective by more than `tol` times its value."""
        for _ in range(MOVES.max_moves):
            following = self._move(size, fit)
            if following is None:
                break
            fit = following
        return fit

    def cut(self, size: Size, fit: PoolFit) -> PoolFit | None:
        """Return the fit on the part of a support that a size admits, None where it was tried."""
        strength = self._strength(self.pool.changes(fit), 0.0)
        return self._fit(size, self._admit(size)(strength), fit)

    def _move(self, size: Size, fit: PoolFit) -> PoolFit | None:
        """Return the fit on a better support, None where none is found."""
        changes = self.pool.changes(fit)
        admit = self._admit(size)
        limit = fit.objective - self.tol * abs(fit.objective)
        proposals = [admit(self._strength(changes, boldness)) for boldness in BOLDNESS]
        fits = [self._fit(size, columns, fit) for columns in proposals]
        found = [other for other in fits if other is not None]
        if found:
            best = min(found, key=lambda other: other.objective)
            if best.objective < limit:
                return best
        for places in self.weakest_groups(changes)[: MOVES.most_groups_out]:
            left = changes.without(places)
            strength = self._strength(left, 1.0)
            gone = self._code[fit.columns[places[0]]]
            strength[self._code == gone] = 0.0
            other = self._fit(size, admit(strength), fit)
            if other is not None and other.objective < limit:
                return other
        for leaving, entering in self._best_swaps(size, changes):
            columns = np.sort(np.append(np.delete(fit.columns, leaving), entering))
            other = self._fit(size, columns, fit)
            if other is not None and other.objective < limit:
                return other
        return None

    def _fit(self, size: Size, columns: IndexArray, near: PoolFit) -> PoolFit | None:
        """Return the fit on columns, None where they were tried."""
        key = columns.tobytes()
        if key in self._tried[size] or np.array_equal(columns, near.columns):
            return None
        self._tried[size].add(key)
        return self.pool.fit(columns, near)

    def _strength(self, changes: Effects, boldness: float) -> FloatArray:
        """Return what the columns of the pool are worth: those outside times their boldness."""
        strength = boldness * np.sqrt(changes.gains()) if boldness else np.zeros(self.pool.size)
        # Those inside are worth something, be it next to nothing.
        strength[changes.columns] = np.sqrt(np.maximum(changes.losses(), np.finfo(float).tiny))
        return strength

    def weakest_groups(self, changes: Changes) -> list[IndexArray]:
        """Return the places in the fit of every group that may leave, the weakest first."""
        code = self._code[changes.columns]
        forced = np.union1d(self._code[self.forced_columns], self.task.forced_groups)
        blocks = [np.flatnonzero(code == group) for group in np.unique(code) if group not in forced]
        losses = [changes.loss_of(places) for places in blocks]
        return [blocks[place] for place in np.argsort(losses, kind="stable")]

    def _best_swaps(self, size: Size, changes: Changes) -> list[tuple[int, int]]:
        """Return the exchanges that promise most: places in the fit, and columns that enter."""
        k = changes.columns.size
        if k == 0 or k == self.pool.size:
            return []
        code = self._code
        inside = code[changes.columns]
        opened = np.zeros(len(self.task.groups), np.int64)
        np.add.at(opened, inside, 1)
        opened[self.task.forced_groups] += 1
        full = np.count_nonzero(opened) >= size[1]
        promise = changes.swaps()
        most = min(MOVES.most_swaps, promise.size)
        promise[:, changes.columns] = -np.inf
        promise[np.isin(changes.columns, self.forced_columns)] = -np.inf
        if full:  # a new group may enter only where one leaves with its last feature
            alone = opened[inside] == 1
            promise[np.ix_(~alone, opened[code] == 0)] = -np.inf
        best = np.sort(np.argpartition(promise, -most, axis=None)[-most:])
        best = best[np.argsort(-promise.ravel()[best], kind="stable")]
        leaving, entering = np.unravel_index(best, promise.shape)
        return [
            (int(j), int(i)) for j, i in zip(leaving, entering, strict=True) if promise[j, i] > 0
        ]

    @property
    def _code(self) -> IndexArray:
        """The groups of the columns of the pool."""
        return self.task.groups.code[self.pool.features]

    def _bends(self) -> FloatArray:
        """Return the roots of the second derivatives of the columns of the pool."""
        shape = self.task.groups.code.size, self.task.outputs
        return np.broadcast_to(self._bend, shape)[self.pool.features]

    @property
    def forced_columns(self) -> IndexArray:
        """The columns of the forced features."""
        return np.arange(self.task.forced.size)

    def n_groups(self, columns: IndexArray) -> int:
        """Return how many groups some columns and the forced groups are."""
        return int(np.union1d(self._code[columns], self.task.forced_groups).size)

    def _admit(self, size: Size) -> Callable[[FloatArray], IndexArray]:
        """Return the projection onto the budgets, of vectors over the pool."""
        known = self._budgets.get(size)
        if known is None or known[0] != self.pool.size:
            budget = BilevelBudget(
                *size, self.task.groups.take(self.pool.features), self.forced_columns,
                self.task.forced_groups,
            )  # fmt: skip
            known = self._budgets[size] = (self.pool.size, budget)
        return known[1].support


def _n_different(Z: Columns) -> int:
    """Return how many rows are not equal: a weight says no more than a row that is repeated."""
    direction: Any = np.random.RandomState(0).uniform(-1.0, 1.0, Z.shape[1])
    place = np.sort(Z.times(direction))
    return 1 + int(np.count_nonzero(np.diff(place) > EQUAL_ROWS * np.abs(place).max()))


SOLVERS = ("auto", *VARIANTS)

POOL_MIN = 30  # features that a pool begins with beside `MOVES.pool_factor` times the budgets
SCAN_BOLDNESS = (1.0, 4.0)  # factors of the strengths of candidates outside of the pool
MAX_ROUNDS, MAX_STEPS = 20, 10_000
# Groups that are left out in turn by a scan, to see what would take their place, and how many
# candidates that gives for each: as many as cost so many products.
MOST_LEFT_OUT, LEFT_OUT_PRODUCTS = 6, 2e9
MOST_SCORES = 20_000_000  # of one scan: a grid of budgets over many features takes several


@dataclass(frozen=True, slots=True)
class BilevelFit:
    """A solution of (B) for one size, on the selection scaling."""

    support: IndexArray  # sorted, at most k features in at most g groups
    coef: FloatArray  # (k,), of several outputs (k outputs,) feature by feature
    intercept: float
    objective: float
    gradient: FloatArray  # (n,) of the loss in the margins
    status: Status


@dataclass(frozen=True, slots=True)
class BilevelPath:
    """Solutions for all sizes asked for."""

    fits: dict[Size, BilevelFit]
    history: tuple[Step, ...]


def select_bilevel(
    task: BilevelTask,
    sizes: Sequence[Size],
    *,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = MAX_STEPS,
    start: Sequence[IndexArray] = (),
    seconds: dict[str, float] | None = None,
) -> Solver[BilevelPath]:
    """Solve (B) for every size, by a generator of scans.

    Parameters
    ----------
    sizes : (features, groups), none larger than what there is.
    solver : "auto": the search in a pool. "ista", "ista-l", "fista", "fista-c": hard thresholding
        alone, a scan for each step, from the solution of the size before where it fits; the answer
        is fitted on its support.
    tol : decrease of the objective that counts, as a share of it.
    start : features of an earlier fit: the pool has them from the start, and the first of them that
        is admissible is where a size begins.
    seconds : filled with the seconds of each phase.
    """
    clock = PhaseClock(seconds)
    ordered = sorted(set(sizes), key=lambda size: (size[1], size[0]))
    search = BilevelSearch(task, ordered, tol)
    if solver == "auto":
        yield from search.explore(start, clock)
    else:
        yield from search.threshold(solver, max_iter, start, clock)
    return BilevelPath(search.solutions(), tuple(search.history))


class BilevelSearch:
    """The best support of every size so far, and the pool of candidates that they are of."""

    def __init__(self, task: BilevelTask, sizes: Sequence[Size], tol: float) -> None:
        self.task, self.sizes, self.tol = task, list(sizes), tol
        self.pool = FeaturePool(task.objective, GatheredColumns(task.design_of_features, 0))
        self.pool.add(task.forced)
        self.moves = Moves(task, self.pool, sizes, tol)
        self.best: dict[Size, PoolFit] = {}
        self.history: list[Step] = []
        self._status: dict[Size, Status] = {}

    # ------------------------------------------------------------------ published methods

    def threshold(
        self, solver: str, max_iter: int, start: Sequence[IndexArray], clock: PhaseClock
    ) -> Solver[None]:
        """Solve every size by hard thresholding over all features."""
        task = self.task
        for size in self.sizes:
            begin, admit = self._beginning(size, start), task.of_columns(task.admit(size))
            state = Thresholding(
                task.objective, admit, VARIANTS[solver], self.tol, begin, task.usable_spread
            )
            solver_steps = hard_threshold(state, task.design, self._gather, max_iter)
            steps = yield from clock.inside("select", solver_steps)
            # The model without features, where no step is good enough, lacks the forced ones.
            support = np.union1d(task.features(state.best.support), task.forced)
            self.best[size] = self.pool.fit(np.sort(self.pool.position(support)))
            self._status[size] = Status.CONVERGED if steps < max_iter else Status.MAX_ITER
            self.record(size, support, {"curvature": state.curvature, "steps": float(steps)})

    def _beginning(self, size: Size, start: Sequence[IndexArray]) -> SparsePoint | None:
        """Return the best known point that a size admits, None where there is none."""
        smaller = self._best_smaller(size)
        if smaller is not None:
            return self._point(smaller)
        for features in start:
            features = np.unique(np.concatenate([features, self.task.forced]))
            n_groups = np.union1d(
                self.task.groups.of_features(features), self.task.forced_groups
            ).size
            if features.size <= size[0] and n_groups <= size[1]:
                self.pool.add(features)
                return self._point(self.pool.fit(np.sort(self.pool.position(features))))
        return None

    def _best_smaller(self, size: Size) -> PoolFit | None:
        """Return the best fit so far of the sizes that a size admits."""
        known = [fit for other, fit in self.best.items() if _admits(size, other)]
        return min(known, key=lambda fit: fit.objective, default=None)

    def _sorted(self, fit: PoolFit) -> tuple[IndexArray, FloatArray]:
        """Return the features of a fit, sorted, with their coefficients, feature by feature."""
        features = self.pool.features[fit.columns]
        order = np.argsort(features)
        return features[order], fit.coef.reshape(-1, self.task.outputs)[order].ravel()

    def _point(self, fit: PoolFit) -> SparsePoint:
        features, coef = self._sorted(fit)
        return SparsePoint(
            self.task.columns(features), coef, fit.margins - fit.intercept, fit.intercept,
            fit.objective, fit.gradient,
        )  # fmt: skip

    def _gather(self, columns: IndexArray) -> Columns:
        """Return columns of the design by way of the pool, which has their features then."""
        features = self.task.features(columns)
        self.pool.add(features)
        own = self.pool.columns().take(self.pool.position(features))
        return in_all_outputs(own, self.task.outputs)

    # ------------------------------------------------------------------ the search

    def explore(self, start: Sequence[IndexArray], clock: PhaseClock) -> Solver[None]:
        """Search for the best support of every size, with scans for further candidates."""
        task = self.task
        scores = self.moves.strength((yield Scan(task.design, -self.moves.zero.gradient)))
        with clock.phase("gather"):
            for features in start:
                self.pool.add(features)
            fresh = self._first_candidates(scores)
        with clock.phase("select"):
            for size in self.sizes:
                self.best[size] = self.moves.start(size, self._best_smaller(size))
                self.record(size, fresh)
            self._neighbours()
        waiting, replaced = list(self.sizes), set[Size]()
        for _ in range(MAX_ROUNDS):
            before = dict(self.best)
            yield from self._extend(waiting, clock)
            with clock.phase("select"):
                self._neighbours()
            waiting = [size for size in self.sizes if self.best[size] is not before[size]]
            if not waiting:
                waiting = yield from self._replace(replaced, clock)
            if not waiting:
                break
        self._status = dict.fromkeys(self.sizes, Status.CONVERGED)
        self._status.update(dict.fromkeys(waiting, Status.MAX_ITER))

    def _extend(self, waiting: Sequence[Size], clock: PhaseClock) -> Solver[None]:
        """Add candidates by the scores at the best supports of some sizes, and go on with them."""
        fresh: dict[Size, IndexArray] = {}
        part = max(1, MOST_SCORES // self.task.design.shape[1])
        for begin in range(0, len(waiting), part):
            sizes = waiting[begin : begin + part]
            vectors = np.column_stack([-self.best[size].gradient for size in sizes])
            scores = yield Scan(self.task.design, vectors)
            with clock.phase("gather"):
                for place, size in enumerate(sizes):
                    fresh[size] = self._candidates(size, self.moves.strength(scores[:, place]))
        with clock.phase("select"):
            for size in waiting:
                if fresh[size].size:
                    self.best[size] = self.moves.improve(size, self.best[size])
                self.record(size, fresh[size])

    def _first_candidates(self, scores: FloatArray) -> IndexArray:
        """Add the strongest features under larger budgets."""
        k, g = (max(sizes) for sizes in zip(*self.sizes, strict=True))
        larger = (MOVES.pool_factor * k + POOL_MIN, MOVES.pool_factor * g)
        found = self.task.admit(larger)(scores)
        if not found.size:  # nothing is correlated with y; a pool has to have a column
            usable = self.task.usable
            found = np.arange(1) if usable is None else np.flatnonzero(usable)[:1]
        return self.pool.add(found)

    def _candidates(self, size: Size, scores: FloatArray) -> IndexArray:
        """Add the features that the budgets would admit at the best support of a size."""
        fit = self.best[size]
        strength = np.abs(scores)
        strength[self.pool.features] = 0.0
        inside = np.sqrt(self.pool.changes(fit).losses())
        admit = self.task.admit(size)
        found = []
        for boldness in SCAN_BOLDNESS:
            target = boldness * strength
            target[self.pool.features[fit.columns]] = inside
            found.append(admit(target))
        return self.pool.add(np.unique(np.concatenate(found)))

    def _replace(self, replaced: set[Size], clock: PhaseClock) -> Solver[list[Size]]:
        """Look for features that would take the place of a group; return what improved.

        A group that is much like one of the support shows only where that one is left out.
        """
        n, m = self.task.design_of_features.shape
        most = min(MOST_LEFT_OUT, int(LEFT_OUT_PRODUCTS / (n * m * self.task.outputs)))
        before = dict(self.best)
        for size in self.sizes:
            if size in replaced or most < 1:
                continue
            replaced.add(size)
            fit = self.best[size]
            with clock.phase("select"):
                changes = self.pool.changes(fit)
                out = self.moves.weakest_groups(changes)[:most]
                fits = [self.pool.fit(np.delete(fit.columns, places), fit) for places in out]
            if not fits:
                continue
            scores = yield Scan(
                self.task.design, np.column_stack([-without.gradient for without in fits])
            )
            with clock.phase("gather"):
                fresh = [
                    self._in_place(places.size, self.moves.strength(scores[:, number]))
                    for number, places in enumerate(out)
                ]
            with clock.phase("select"):
                self.best[size] = self.moves.improve(size, fit)
                self.record(size, np.concatenate(fresh))
        with clock.phase("select"):
            self._neighbours()
        return [size for size in self.sizes if self.best[size] is not before[size]]

    def _in_place(self, n_features: int, scores: FloatArray) -> IndexArray:
        """Add the best features of the three best groups for so many, beside what is forced."""
        forced = self.moves.forced_columns
        larger = forced.size + 3 * n_features, self.moves.n_groups(forced) + 3
        return self.pool.add(self.task.admit(larger)(scores))

    def _neighbours(self) -> None:
        """Let every size begin from those next to it, where that is better."""
        for place, size in enumerate(self.sizes):
            for next_place, other in enumerate(self.sizes):
                fit = self.best[other]
                if other == size:
                    continue
                if _admits(size, other):
                    if fit.objective < self.best[size].objective * (1.0 - self.tol):
                        self.best[size] = self.moves.improve(size, fit)
                elif abs(place - next_place) == 1:
                    found = self.moves.cut(size, fit)
                    if found is not None:
                        self._offer(size, self.moves.improve(size, found))

    def _offer(self, size: Size, fit: PoolFit) -> None:
        if fit.objective < self.best[size].objective * (1.0 - self.tol):
            self.best[size] = fit

    # ------------------------------------------------------------------ answers

    def record(
        self, size: Size, entered: IndexArray, extra: dict[str, float] | None = None
    ) -> None:
        """Add the best of a size to the history."""
        fit = self.best[size]
        numbers = {"n_groups": float(self.moves.n_groups(fit.columns)), **(extra or {})}
        status = self._status.get(size)
        self.history.append(
            Step(fit.objective, -np.inf, fit.columns.size, entered, {}, numbers, status)
        )

    def solutions(self) -> dict[Size, BilevelFit]:
        """Return the best of every size."""
        answers = {}
        for size in self.sizes:
            fit = self.pool.fit(self.best[size].columns, self.best[size], FINAL_TOL)
            answers[size] = BilevelFit(
                *self._sorted(fit), fit.intercept, fit.objective, fit.gradient, self._status[size]
            )
        return answers


def _admits(size: Size, other: Size) -> bool:
    """Return whether every support of the other size is one of this size."""
    return other != size and other[0] <= size[0] and other[1] <= size[1]


# Features in few groups for a task: budgets, scales, final fits, the path of the models.


def bilevel_path(
    task: Task, sizes: Sequence[Size], request: SelectionRequest, *, solver: str, max_iter: int
) -> Solver[Path]:
    """Select at most k features in at most g groups for every (k, g) of `sizes`.

    Budgets larger than what there is are that. Classification has C before the loss; least squares
    has 1/C before the ridge, so that C may be infinite.
    """
    assert task.groups is not None
    C, q = request.C, task.loss.outputs
    usable, forced_groups = task.usable[::q], task.forced_groups
    groups = task.groups.take(np.arange(0, task.usable.size, q))  # of the features of X
    scaled = without_covariates(task.loss).quadratic
    objective = Objective(task.risk(1.0), 1.0 / C) if scaled else Objective(task.risk(C), 1.0)
    design, spread = task.design, None
    if task.scaling == "none":
        weight = task.sample_weight[: design.shape[0] // q]
        own = center_scale(task.design_of_features, weight, center=task.has_intercept)
        design, spread = _unscaled(own)
        design = design if q == 1 else Repeated(design, q)
    open_to = np.union1d(groups.of_features(np.flatnonzero(usable)), forced_groups)
    clipped = {}
    for size in sizes:
        k = min(size[0], task.n_usable)
        # Every feature opens a group at most, beside those that are forced.
        clipped[size] = k, min(size[1], k + forced_groups.size, open_to.size)
    forced = task.features(task.forced)
    problem = BilevelTask(design, objective, groups, forced, forced_groups, usable, spread)
    found = yield from select_bilevel(
        problem, sorted(set(clipped.values())), solver=solver, tol=request.tol, max_iter=max_iter,
        start=[task.features(columns) for columns in request.start], seconds=request.seconds,
    )  # fmt: skip
    entered = _entry_steps(found.history, usable.size)
    models = {
        size: _selection(task, design, found.fits[clipped[size]], request, entered)
        for size in sizes
    }
    order = np.concatenate([step.entered for step in found.history])
    _, first = np.unique(order, return_index=True)
    unfinished = [fit.status for fit in found.fits.values() if fit.status is not Status.CONVERGED]
    status = unfinished[0] if unfinished else Status.CONVERGED
    return Path(models, order[np.sort(first)], found.history, status, C=C, method=request.method)


def _unscaled(scaled: Scaled) -> tuple[Scaled, FloatArray]:
    """Return the columns as they are, centred where they were, and their deviations, 1 of none.

    The intercept takes up the means, and an offset of a column costs no digits.
    """
    usable = scaled.scale > 0
    spread = np.divide(1.0, scaled.scale, out=np.ones(usable.size), where=usable)
    return Scaled(scaled.base, scaled.mean, usable.astype(np.float64), scaled.rest), spread


def _selection(
    task: Task, design: Design, fit: BilevelFit, request: SelectionRequest, entered: IndexArray
) -> Selection:
    """Return the model of a size; design: that of the selection."""
    support, C = fit.support, request.C
    columns = task.columns(support)
    loo_loss, log_loss, criteria = np.nan, np.nan, no_criteria()
    if request.refit_C is None:
        Z, risk = gather(design, columns), task.risk(1.0)
        z = Z.times(fit.coef) + fit.intercept
        b, effects = risk.unpenalised(z, fit.intercept)
        coef, intercept = on_scaling_of_x(design, columns, fit.coef, b + task.origin)
        loss = without_covariates(task.loss)
        if loss.final == loss and not loss.quadratic:
            log_loss = risk.value_gradient(z)[0]
            rows = RowsLeftOut.of(Z, risk, np.ones(columns.size), task.unit)
            loo_loss = approximate_loss_left_out(rows, C, z) * task.mean_exposure
    else:
        refitted = refit_support(task, gather(task.design, columns), columns, request.refit_C)
        coef, intercept, C = refitted.coef, refitted.intercept, refitted.C
        loo_loss, effects = refitted.loo_loss, refitted.effects
        log_loss = negative_log_likelihood(task, refitted)
    if not np.isnan(log_loss):
        n_free = columns.size + int(task.kept_covariates.sum()) * task.loss.outputs
        criteria = information_criteria(log_loss, n_free, task.n_rows, task.n_usable)
    return Selection(
        support, task.by_output(coef), intercept, C, entered[support], None, loo_loss, log_loss,
        criteria, objective=fit.objective, covariates=task.covariates, effects=effects,
    )  # fmt: skip


def _entry_steps(history: Sequence[Step], n_features: int) -> IndexArray:
    """Return the step, from 1, at which each feature became a candidate; 0: at none."""
    entered = np.zeros(n_features, np.int64)
    for number in range(len(history), 0, -1):
        entered[history[number - 1].entered] = number
    return entered

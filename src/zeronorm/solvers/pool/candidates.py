"""The l0 problem over the units, features or groups of them, that a bound has left."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ...core.ranking import largest
from ...core.types import Columns, FloatArray, IndexArray
from ...data.columns import SparseColumns
from ...data.views import ColumnsInPlace, some_of
from ..risk import Risk
from ..units import Singles, Units
from .bounds import Bound, bound_at, safe_scores
from .compiled_relaxation import decided, is_compiled
from .exchange import Exchanges
from .group_exchange import GroupExchanges
from .relaxation import relax
from .relaxation_steps import RELAXATION_STEPS
from .relaxed import Relaxed
from .shared_curvature import SHARED_CURVATURE, SharedCurvature
from .signed_ridge import signed_ridge

# Columns that are not 0 in a relaxation, their coefficients, the intercept.
Start = tuple[IndexArray, FloatArray, float]
LEAF_TOL = 1e-11  # of the fit of a model
# Relaxations keep to bounds on coefficients where that closes so much of the gap that is left
# without; ROUGH is the tolerance of that comparison.
BINDING, ROUGH = 0.125, 1e-2


@dataclass(frozen=True, slots=True)
class Candidates:
    """The l0 problem over gathered columns, unit by unit, the forced ones first."""

    Z: Columns  # (n, p)
    units: Units  # of the columns, in their order
    names: IndexArray  # (n_units,) what the tree calls them: features of X, or groups
    risk: Risk
    budget: int  # units of a model
    n_forced: int  # of them
    shared: SharedCurvature | None = field(default=None, kw_only=True)  # of all its relaxations
    # What the relaxation over all units starts from.
    start: Start = field(default=(np.empty(0, np.int64), np.empty(0), 0.0), kw_only=True)
    # Whether relaxations may go beyond bounds on coefficients, which their dual points still count.
    loose: bool = field(default=False, kw_only=True)

    @property
    def diagonal(self) -> FloatArray:
        """(n_units,) what of the loss's curvature is a part of the ridge: none."""
        return np.zeros(self.n_units)

    @property
    def n_units(self) -> int:
        """The number of candidates."""
        return int(self.names.size)

    def objective(self, support: IndexArray) -> float:
        """Return the least objective on some units."""
        columns = self.units.features(support)
        return signed_ridge(
            self.Z, self.risk, self.units.signs[columns], columns=columns, tol=LEAF_TOL,
            of_value=True,
        ).objective  # fmt: skip

    def relax(
        self,
        chosen: IndexArray,
        n_fixed: int,
        n_free: int,
        *,
        start: Start,
        tol: float,
        cutoff: float = np.inf,
        deadline: float = np.inf,
        ahead: bool = False,
    ) -> Relaxed:
        """Solve the relaxation over some units, the fixed ones first: see `relaxation.relax`.

        start : columns of Z with coefficients to start from, these, the intercept.
        """
        used, coef, b = start
        u = np.zeros(self.Z.shape[1])
        u[used] = coef
        columns = self.units.features(chosen)
        return relax(
            self.Z, self.units.take(chosen), self.risk, n_fixed, n_free, columns=columns,
            start=(u[columns], b), tol=tol, cutoff=cutoff, deadline=deadline, ahead=ahead,
            shared=self.shared, loose=self.loose,
        )  # fmt: skip

    def bound(
        self,
        dual: FloatArray,
        chosen: IndexArray,
        n_fixed: int,
        size: int,
        upper: float,
        scores: FloatArray | None = None,
    ) -> Bound:
        """Return what a dual point shows of the models of `size` of some units.

        n_fixed : how many of them, the first, are in all models. scores : those of their columns,
        where they are known.
        """
        Z, columns, units = self.Z, self.units.features(chosen), self.units.take(chosen)
        if scores is None:
            scores = some_of(Z, columns).dot(dual)
        if isinstance(Z, ColumnsInPlace) and Z.errors is not None:
            scores = safe_scores(
                scores, float(np.linalg.norm(dual)) * Z.errors[columns], units,
                units.features(largest(units.strength(scores), size)),
                lambda some: Z.take(columns[some]).dot(dual),
            )  # fmt: skip
        known = decided(self.risk, dual, scores, size, n_fixed, upper, units)
        if known is None:
            forced = np.arange(n_fixed)
            known = bound_at(self.risk, dual, scores, size, forced, upper, units=units)
        return known

    def relaxed_loosely(self, tight: float, objective: float) -> Candidates:
        """Return the problem with loose relaxations, where bounds on coefficients change little.

        tight, objective : the bound of the relaxation over all units, and the best known model.
        """
        every, n_free = np.arange(self.n_units), min(self.budget, self.n_units) - self.n_forced
        columns = self.units.features(every)
        quick = n_free > 0 and is_compiled(self.Z, columns, self.units, self.risk)
        if self.units.most == np.inf or not quick:
            return self
        answer = relax(
            self.Z, self.units, self.risk, self.n_forced, n_free, tol=ROUGH,
            max_iter=RELAXATION_STEPS.max_newton,
            loose=True,
        )  # fmt: skip
        bound = self.bound(answer.dual, every, self.n_forced, self.budget, np.inf).value
        binds = tight - bound >= BINDING * (objective - bound)
        return self if binds else replace(self, loose=True)

    def with_shared_curvature(self) -> Candidates:
        """Return the problem with one curvature for all relaxations, where that costs less.

        It is that of the start. Other losses than squares need more steps with it; these take less
        where there are so many rows that the curvature in many columns, which proximal steps move,
        takes longer than passes over all.
        """
        Z, risk, loss = self.Z, self.risk, self.risk.loss
        many = Z.shape[0] >= SHARED_CURVATURE.many_rows and not isinstance(Z, SparseColumns)
        near = many and self.units.most < np.inf and not self.loose
        if not (loss.separable and loss.outputs == 1 and (loss.quadratic or near)):
            return self
        used, coef, intercept = self.start
        margins = Z.take(used).times(coef) + intercept
        return replace(self, shared=SharedCurvature(Z, risk, margins))

    def improved(self, support: IndexArray) -> IndexArray:
        """Return where exchanges of single units lead from some."""
        forced = np.arange(self.n_forced)
        if isinstance(self.units, Singles):
            exchanges = Exchanges(self.Z, self.risk, keep=forced, signs=self.units.signs)
            return exchanges.improve(exchanges.fit(support)).columns
        units = np.arange(self.n_units)
        code = np.repeat(units, self.units.sizes(units))
        of_groups = GroupExchanges(self.Z, code, self.risk, keep=forced)
        found = of_groups.splice(of_groups.fit(np.sort(self.units.features(support))))
        return np.unique(code[found.columns])

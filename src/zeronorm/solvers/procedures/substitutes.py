"""What could stand in the place of each feature of a model: the best exchanges, proven.

With A the other features of the model, the l0 problem over A and one feature more is solved for
every feature i at once by bounds: for any dual point v, c = X'v,

    objective(A + i) >= max_t -conjugate(t v) - t^2 / 2 (sum_A c_j^2 + c_i^2),

so that one scan bounds all exchanges. The dual point of the model on A is such a point, that of the
best exchange so far another one, where features of smaller scores are shown to be no better. The
features whose bounds leave it open are fitted, those of the smallest bounds first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.ranking import largest
from ...core.types import FloatArray, IndexArray
from ...data.columns import gather
from ...data.operations import score_errors
from ..certify.prove import Known
from ..certify.supports import SUPPORTS, safe_magnitudes
from ..drive import Scan, Solver
from ..pool.bounds import DECIDED, best_features
from ..pool.nodes import PROVEN
from ..pool.ridge import Ridge
from ..pool.signed_ridge import signed_ridge
from ..task import Task
from .finish import refit_support

FIRST, FOLLOWING = 16, 64  # exchanges that are fitted before the second scan, and at once after it


@dataclass(frozen=True, slots=True)
class Replaced:
    """What there is in place of a unit of a model."""

    unit: int
    without: float  # the objective of the model of one unit less
    units: IndexArray  # the best first
    objectives: FloatArray
    proven: bool  # whether no other unit has an objective of at most the last one, or the limit
    loo_without: float  # mean approximate leave-one-out loss of the final fit, of one unit less
    loo: FloatArray  # the same of the first units


@dataclass(slots=True)
class _Open:
    """The exchanges of one unit."""

    unit: int
    kept: IndexArray  # the other units of the model
    fit: Ridge  # on these alone
    lower: FloatArray  # (n_units,) bounds of the objectives with each; inf where it is tried
    found: dict[int, float] = field(default_factory=dict)  # objectives
    best: Ridge | None = None  # the fit of the least one

    def cutoff(self, limit: float, n: int) -> float:
        """Return the objective that is of interest: the limit, and that of the n-th best."""
        values = sorted(self.found.values())
        return max(limit, values[n - 1]) if len(values) >= n else np.inf

    def add(self, unit: int, fit: Ridge) -> None:
        """Keep what an exchange brings."""
        self.found[unit], self.lower[unit] = fit.objective, np.inf
        if self.best is None or fit.objective < self.best.objective:
            self.best = fit

    def following(self, cutoff: float, count: int) -> IndexArray:
        """Return the units of the smallest bounds that leave it open whether they are below."""
        most = cutoff + DECIDED * abs(cutoff) if np.isfinite(cutoff) else cutoff
        left = np.flatnonzero((self.lower <= most) & (self.lower < np.inf))
        return left[largest(-self.lower[left], min(count, left.size))]


def replacements(
    task: Task, support: IndexArray, n: int, within: float, max_fits: int, *, C: float
) -> Solver[tuple[float, float, list[Replaced]]]:
    """Return the objective of a support, its leave-one-out loss, and what its units may become.

    Parameters
    ----------
    support : sorted columns of the design.
    n, within : the best n exchanges, and all that raise the objective by that share at most.
    max_fits : of exchanges; where more would be needed, what is found is not proven.
    """
    known, units = Known.of(task, support, C), task.units
    own, value = units.of(support), known.fit.objective
    limit = value + (within + PROVEN) * abs(value)
    places = [_begun(task, known, own, unit) for unit in np.setdiff1d(own, known.forced).tolist()]
    if not places:
        return value, _loo(task, own), []
    yield from _bound(task, known, places, [place.fit.dual for place in places])
    n_fits, count = 0, FIRST
    while n_fits < max_fits:
        cutoffs = [place.cutoff(limit, n) for place in places]
        batches = [
            place.following(cutoff, count) for place, cutoff in zip(places, cutoffs, strict=True)
        ]
        fresh = np.setdiff1d(np.concatenate(batches), known.inside)
        if not fresh.size:
            break
        columns = units.features(fresh)
        known.pool.add(np.setdiff1d(columns, known.pool.features))
        for place, batch, cutoff in zip(places, batches, cutoffs, strict=True):
            for unit in batch.tolist():
                place.add(unit, _fit(task, known, np.append(place.kept, unit), cutoff))
            n_fits += batch.size
        if count == FIRST:
            best = [(place.best or place.fit).dual for place in places]
            yield from _bound(task, known, places, best)
            count = FOLLOWING
    return value, _loo(task, own), [_replaced(task, place, limit, n) for place in places]


def _begun(task: Task, known: Known, own: IndexArray, unit: int) -> _Open:
    """Return the exchanges of a unit before any is bounded."""
    kept = own[own != unit]
    lower = np.full(task.units.usable.size, -np.inf)
    lower[~task.units.usable] = lower[own] = np.inf
    return _Open(unit, kept, _fit(task, known, kept), lower)


def _fit(task: Task, known: Known, units: IndexArray, cutoff: float = np.inf) -> Ridge:
    """Fit gathered units; above the cutoff roughly."""
    columns = np.sort(task.units.features(units))
    return signed_ridge(
        known.pool.columns(), known.risk, task.signs[columns],
        columns=known.pool.position(columns), tol=SUPPORTS.refit_tol, of_value=True,
        cutoff=cutoff + 2 * DECIDED * abs(cutoff) if np.isfinite(cutoff) else np.inf,
    )  # fmt: skip


def _bound(task: Task, known: Known, places: list[_Open], duals: list[FloatArray]) -> Solver[None]:
    """Bound all exchanges by a dual point for each place, with one scan."""
    scores = yield Scan(task.design, np.column_stack(duals))
    errors = score_errors(task.design, task.sample_weight)
    own = np.sort(task.units.features(known.inside))
    for place, v, score in zip(places, duals, scores.T, strict=True):
        square = task.units.strength(safe_magnitudes(task, score, v, own, errors)) ** 2
        square[place.unit] = 0.0
        best = best_features(square, place.kept.size + 1, place.kept)
        value, scale = known.risk.bound(v, 0.5 * best.value)
        lower = value + 0.5 * scale**2 * np.maximum(best.entering, 0.0)
        place.lower = np.maximum(place.lower, lower)


def _replaced(task: Task, place: _Open, limit: float, n: int) -> Replaced:
    """Return what is found of a unit, with the leave-one-out losses of the first exchanges."""
    cutoff = place.cutoff(limit, n)
    ranked = sorted((value, unit) for unit, value in place.found.items())
    ranked = [one for one in ranked if one[0] <= cutoff]
    units = np.array([unit for _, unit in ranked], np.int64)
    return Replaced(
        place.unit,
        place.fit.objective,
        units,
        np.array([value for value, _ in ranked]),
        not place.following(cutoff, 1).size,
        _loo(task, place.kept),
        np.array([_loo(task, np.append(place.kept, unit)) for unit in units[:n].tolist()]),
    )


@dataclass(frozen=True, slots=True)
class Refitted:
    """The final fit of given units, covariates among its features."""

    support: IndexArray
    coef: FloatArray
    intercept: Any


def refitted(task: Task, units: IndexArray, C: float | str) -> Refitted:
    """Return the final fit of some units; C as `refit_C` of a request."""
    columns = np.sort(task.units.features(units))
    fit = refit_support(task, gather(task.design, columns), columns, C)
    support, coef = task.features(columns), task.by_output(fit.coef)
    if task.covariates.size:
        support = np.concatenate([support, task.covariates])
        coef = np.concatenate([coef, fit.effects], axis=-1)
    return Refitted(support, coef, fit.intercept)


def _loo(task: Task, units: IndexArray) -> float:
    """Return the leave-one-out loss of the final fit of some units."""
    columns = np.sort(task.units.features(units))
    return refit_support(task, gather(task.design, columns), columns, "loo").loo_loss

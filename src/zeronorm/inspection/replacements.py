"""What could stand in the place of each feature of a model: `substitutes`, and its record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from ..core import validation as validate
from ..core.errors import ParameterError
from ..core.groups import Groups
from ..core.parallel import one_blas_thread
from ..core.ranking import largest
from ..core.results import PROVEN
from ..core.types import FloatArray, IndexArray
from ..data.gathered import gather
from ..data.operations import score_errors
from ..estimators.base import margins_of
from ..estimators.budget import BudgetSelection
from ..estimators.folds import repeats_of
from ..estimators.held_out import Validation, standard_error
from ..model_selection.cross_validation import prepared
from ..solvers import Task, run_together
from ..solvers.bounds import DECIDED, best_features
from ..solvers.certify import SUPPORTS, Incumbent, safe_magnitudes
from ..solvers.driver import Scan, Solver
from ..solvers.finish import refit_support
from ..solvers.ridge_fits import Ridge, signed_ridge
from .certification import SupportProblem, names_of, pose, poser_of

# What could stand in the place of each feature of a model: the best exchanges, proven.
#
# With A the other features of the model, the l0 problem over A and one feature more is solved for
# every feature i at once by bounds: for any dual point v, c = X'v,
#
#     objective(A + i) >= max_t -conjugate(t v) - t^2 / 2 (sum_A c_j^2 + c_i^2),
#
# so that one scan bounds all exchanges. The dual point of the model on A is such a point, that of
# the best exchange so far another one, where features of smaller scores are shown to be no better.
# The features whose bounds leave it open are fitted, those of the smallest bounds first.

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
    known, units = Incumbent.of(task, support, C), task.units
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


def _begun(task: Task, known: Incumbent, own: IndexArray, unit: int) -> _Open:
    """Return the exchanges of a unit before any is bounded."""
    kept = own[own != unit]
    lower = np.full(task.units.usable.size, -np.inf)
    lower[~task.units.usable] = lower[own] = np.inf
    return _Open(unit, kept, _fit(task, known, kept), lower)


def _fit(task: Task, known: Incumbent, units: IndexArray, cutoff: float = np.inf) -> Ridge:
    """Fit gathered units; above the cutoff roughly."""
    columns = np.sort(task.units.features(units))
    return signed_ridge(
        known.pool.columns(), known.risk, task.signs[columns],
        columns=known.pool.position(columns), tol=SUPPORTS.refit_tol, of_value=True,
        cutoff=cutoff + 2 * DECIDED * abs(cutoff) if np.isfinite(cutoff) else np.inf,
    )  # fmt: skip


def _bound(
    task: Task, known: Incumbent, places: list[_Open], duals: list[FloatArray]
) -> Solver[None]:
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


@dataclass(frozen=True, slots=True)
class Substitutes:
    """What one feature of a model is worth, and what could take its place.

    All other features of the model stay. Of groups of features these are labels of groups. Costs
    are relative to the objective of the model, on the selection scaling, each support with its own
    refit: (objective - that of the model) / that of the model; below 0 where the model gains.
    """

    feature: Any
    without: float  # the cost of the model of one feature less
    features: np.ndarray  # (n,) those that could take its place, the best first
    costs: FloatArray  # (n,)
    within: float  # all features of at most this cost are there
    proven: bool  # whether no other feature costs less than the last one, or at most `within`
    # The mean approximate leave-one-out loss of the final fit (of survival times that of five
    # folds), as `Selection.loo_loss`: of the model, without the feature, with the first ones of
    # `features`. The features were chosen with all rows, so that it says how these models compare.
    loo_loss: float
    loo_without: float
    loo_losses: FloatArray
    # With `cv`: the mean over its folds of the score on the rows that they hold out, of the final
    # fit on the others: of the model, without the feature, with the first ones of `features`; and
    # the standard errors of what the latter have more than the model.
    score: float = np.nan
    score_without: float = np.nan
    scores: FloatArray = field(default_factory=lambda: np.empty(0))
    error_without: float = np.nan
    errors: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def exchangeable(self) -> np.ndarray:
        """The feature, and those that can take its place at a cost of at most `within`."""
        others = self.features[self.costs <= self.within + 1e-9]
        return np.concatenate([np.array([self.feature]), others])

    def __repr__(self) -> str:
        """Return the best substitute, what it costs, and what the feature is worth."""
        best = "none"
        if self.features.size:
            best = f"{self.features[0]} at {self.costs[0]:+.2%}"
        return (
            f"Substitutes(feature={self.feature}, without={self.without:+.2%}, best={best}, "
            f"n_exchangeable={self.exchangeable.size - 1} within {self.within:.2%}, "
            f"proven={self.proven})"
        )


def substitutes(
    model: Any,
    X: Any,
    y: Any,
    *,
    n: int = 5,
    within: float = 0.01,
    max_fits: int = 20_000,
    problem: Any = None,
    sample_weight: Any = None,
    offset: Any = None,
    cv: int | BaseCrossValidator | Iterable[Any] | None = None,
    groups: Any = None,
    scoring: str | Callable[..., float] | None = None,
    random_state: int | None = 0,
    **parameters: Any,
) -> list[Substitutes] | list[list[Substitutes]]:
    """Return for each feature of a model the best ones that could take its place, and their costs.

        cost of i for j = objective(S - j + i) / objective(S) - 1,   S the support of the model,

    with the objective of `near_optimal`. Two scans of X bound the costs of all features i at once;
    those whose bounds leave it open are fitted. What could be better without j where the rest of
    the model may change too: see `NearOptimal.best_without`.

    Parameters
    ----------
    model, X, y, problem, sample_weight, offset, **parameters
        As in `certify`.
    n : so many substitutes of each feature at least (where there are any), with leave-one-out
        losses.
    within : and all that cost at most this share of the objective.
    max_fits : once so many supports are fitted, of all features together, no further ones are;
        `proven` is False where that was not enough.
    cv, groups, scoring, random_state : folds and a score, as of `cross_validate`, by which the
        model, the one without each feature and those with its first n substitutes are compared,
        too: each is fitted in every fold again, the features as they are. They were chosen with all
        rows, so that the score is no estimate for new ones. cv=None: no folds.

    Returns
    -------
    A list of `Substitutes`, one for each feature in order of the support (none for forced ones); a
    list of lists, one for each class against the rest, for several classes.

    Raises
    ------
    ValueError
        Where the model has a budget of features in few groups, of which neither alone gives way to
        another; as `certify`, and of cv as `cross_validate`.

    Examples
    --------
    >>> import zeronorm
    >>> from zeronorm.datasets import load_demo
    >>> from zeronorm.inspection import substitutes
    >>> X, y = load_demo(return_X_y=True)
    >>> model = zeronorm.BudgetClassifier(n_features=5).fit(X, y)
    >>> all(one.proven for one in substitutes(model, X, y))
    True
    """
    n = validate.check_iterations("n", n)
    within = validate.check_not_negative("within", within)
    max_fits = validate.check_iterations("max_fits", max_fits)
    given = model if problem is None else problem
    if isinstance(given, BudgetSelection) and given._plan().counts == "both":
        raise ParameterError(
            "model",
            "must be of features, or of whole groups: one of features in few groups has no "
            "substitutes for either alone",
            "",
            "Pass its support_ for those of each feature.",
        )
    posed = pose(
        model, X, y, problem=problem, parameters=parameters, sample_weight=sample_weight,
        offset=offset,
    )  # fmt: skip
    feature_groups = parameters.pop("feature_groups", None)
    validation = None
    if cv is not None:  # what is wrong with the folds is told before the search
        poser = poser_of(model, y, problem, parameters)
        judge, data = prepared(poser, X, y, sample_weight, None, scoring, offset, groups)
        validation = Validation.pose(judge, data, cv, None, random_state)
    solvers = [replacements(one.task, one.support, n, within, max_fits, C=one.C) for one in posed]
    found = run_together(solvers, n_threads=parameters.get("n_threads"))
    results = [
        [_record(one.task, replaced, value, loo, within) for replaced in each]
        for one, (value, loo, each) in zip(posed, found, strict=True)
    ]
    if validation is not None:
        replaced = [each for _, _, each in found]
        results = _compared(results, replaced, posed, n, validation, feature_groups)
    return results[0] if len(results) == 1 else results


@one_blas_thread()
def _in_folds(
    validation: Validation, variants: list[list[IndexArray]], groups: Groups | None
) -> FloatArray:
    """Return the scores of final fits in folds, (n_variants, n_folds).

    variants : for each the units of every task. groups : of all features, where they are not those
        of the estimator.
    """
    judge = validation.judge
    plan = getattr(judge.estimator, "_plan", None)
    # Other features than those of the selection have no solution of it that could be their model.
    refit_C = "loo" if plan is None or plan().refit_C is None else plan().refit_C
    problems = validation.folded.problems
    scores = np.empty((len(variants), len(problems)))
    for number, problem in enumerate(problems):
        fold, tasks = validation.held_out(number, []), problem.tasks
        if groups is not None:
            tasks = [task.with_groups(groups) for task in tasks]
        for row, units in enumerate(variants):
            models = [refitted(*one, refit_C) for one in zip(tasks, units, strict=True)]
            z = judge.class_scores(margins_of(models, fold.design))
            scores[row, number] = judge.score(z, fold)
    return scores


def _compared(
    results: list[list[Substitutes]],
    replaced: list[list[Replaced]],
    posed: list[SupportProblem],
    n: int,
    validation: Validation,
    feature_groups: Any,
) -> list[list[Substitutes]]:
    """Return records with the scores of the folds.

    replaced : what the records are of. feature_groups : as of `substitutes`.
    """
    units = [one.task.units.of(one.support) for one in posed]
    variants = [units]
    for place, each in enumerate(replaced):
        for one in each:
            kept = units[place][units[place] != one.unit]
            others = [kept, *(np.append(kept, unit) for unit in one.units[:n].tolist())]
            variants += [[*units[:place], other, *units[place + 1 :]] for other in others]
    partition = None if feature_groups is None else posed[0].task.groups_of_features()
    scores = _in_folds(validation, variants, partition)
    repeats = repeats_of([test for _, test in validation.folded.folds])
    mean, error = scores.mean(axis=1), standard_error(scores - scores[0], repeats)
    at = 1
    compared: list[list[Substitutes]] = []
    for records in results:
        compared.append([])
        for record in records:
            end = at + 1 + min(n, record.features.size)
            compared[-1].append(
                replace(
                    record, score=float(mean[0]), score_without=float(mean[at]),
                    scores=mean[at + 1 : end], error_without=float(error[at]),
                    errors=error[at + 1 : end],
                )
            )  # fmt: skip
            at = end
    return compared


def _record(
    task: Task, replaced: Replaced, value: float, loo_loss: float, within: float
) -> Substitutes:
    """Return what is found of one unit, by features of X or by labels of groups."""
    names, groups = names_of(task), task.groups_of_features()
    labels = names if groups is None else groups.labels[names]
    scale = max(abs(value), 1e-300)
    return Substitutes(
        labels[replaced.unit].item(),
        (replaced.without - value) / scale,
        labels[replaced.units],
        (replaced.objectives - value) / scale,
        within,
        replaced.proven,
        loo_loss,
        replaced.loo_without,
        replaced.loo,
    )

"""What could stand in the place of each feature of a model: `substitutes`, and its record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from ..core import validation as validate
from ..core.groups import Groups
from ..core.parallel import one_blas_thread
from ..core.types import FloatArray, IndexArray
from ..estimators.budget_selection import BudgetSelection
from ..estimators.cross_validation import standard_error
from ..estimators.folds import repeats_of
from ..estimators.sparse_linear import margins_of
from ..estimators.validation import Validation
from ..model_selection.cross_validation import prepared
from ..solvers import Task, run_together
from ..solvers.drive import Solver
from ..solvers.procedures.substitutes import Replaced, refitted, replacements
from .problems import Posed, names_of, pose, poser_of


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
    feature_groups: Any = None,
    sample_weight: Any = None,
    offset: Any = None,
    C: float | None = None,
    fit_intercept: bool | None = None,
    standardize: bool | None = None,
    n_threads: int | None = None,
    cv: int | BaseCrossValidator | Iterable[Any] | None = None,
    groups: Any = None,
    scoring: str | Callable[..., float] | None = None,
    random_state: int | None = 0,
) -> list[Substitutes] | list[list[Substitutes]]:
    """Return for each feature of a model the best ones that could take its place, and their costs.

        cost of i for j = objective(S - j + i) / objective(S) - 1,   S the support of the model,

    with the objective of `near_optimal`. Two scans of X bound the costs of all features i at once;
    those whose bounds leave it open are fitted. What could be better without j where the rest of
    the model may change too: see `NearOptimal.best_without`.

    Parameters
    ----------
    model, X, y, problem, feature_groups, sample_weight, offset, C, fit_intercept, standardize
    n_threads
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
    >>> from zeronorm.datasets import load_golub
    >>> from zeronorm.inspection.exchanges import substitutes
    >>> X, y = load_golub(return_X_y=True)
    >>> model = zeronorm.BudgetClassifier(n_features=5).fit(X, y)
    >>> all(one.proven for one in substitutes(model, X, y))
    True
    """
    n = validate.check_iterations("n", n)
    within = validate.check_not_negative("within", within)
    max_fits = validate.check_iterations("max_fits", max_fits)
    stated = model if problem is None else problem
    if isinstance(stated, BudgetSelection) and stated._plan().counts == "both":
        raise ValueError(
            "model must be of features, or of whole groups: one of features in few groups has no "
            "substitutes for either alone. Pass its support_ for those of each feature."
        )
    posed = pose(
        model,
        problem,
        X,
        y,
        sample_weight,
        offset,
        C,
        fit_intercept,
        standardize,
        n_threads,
        feature_groups,
    )
    validation = None
    if cv is not None:  # what is wrong with the folds is told before the search
        poser = poser_of(model, problem, y, C, fit_intercept, standardize, n_threads)
        judge, data = prepared(poser, X, y, sample_weight, None, scoring, offset, groups)
        validation = Validation.pose(judge, data, cv, None, random_state)
    solvers = [replacements(one.task, one.support, n, within, max_fits, C=one.C) for one in posed]
    found = _run(solvers, n_threads)
    results = [
        [_record(one.task, replaced, value, loo, within) for replaced in each]
        for one, (value, loo, each) in zip(posed, found, strict=True)
    ]
    if validation is not None:
        replaced = [each for _, _, each in found]
        results = _compared(results, replaced, posed, n, validation, feature_groups)
    return results[0] if len(results) == 1 else results


@one_blas_thread
def _run(
    solvers: list[Solver[tuple[float, float, list[Replaced]]]], n_threads: int | None
) -> list[tuple[float, float, list[Replaced]]]:
    return run_together(solvers, n_threads=n_threads)


@one_blas_thread
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
    posed: list[Posed],
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


__all__ = ["Substitutes", "substitutes"]

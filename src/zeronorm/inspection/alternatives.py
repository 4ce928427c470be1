"""All models that are nearly as good as the best one: `near_optimal`, and its record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..core import validation as validate
from ..core.budgets import check_cost, check_k
from ..core.errors import Message, Parameter, ParameterError
from ..core.results import Progressed, Status
from ..core.types import FloatArray
from ..estimators.budget import BudgetSelection
from ..estimators.problem import Problem, problem_of
from ..solvers import Task, run, run_together
from ..solvers.certify import Near, near_best
from .certification import check_weight, estimator_for, names_of, stated

_SHOWN = 5  # features of each kind that a line names


@dataclass(frozen=True, slots=True)
class NearOptimal:
    """The supports of one size whose objective is within a share of the best one.

    Where `complete`, there are no others, which is proven. Where not, all supports with an
    objective below `bound` are here, and others may be missing.
    Of groups of features every support has the labels of its groups in place of features.
    """

    supports: np.ndarray  # (n_supports, k) each sorted; those of the least objective first
    objectives: FloatArray  # (n_supports,) of the problem that `Certificate` states, growing
    bound: float  # certified lower bound of the objectives of all supports that are not here
    within: float  # the wanted share
    limit: int  # how many supports are kept at most
    status: Status  # COMPLETE, or why it is not
    # (n_candidates,) sorted: what the first bound leaves. All else is in no support that is near.
    candidates: np.ndarray
    history: tuple[Progressed, ...]  # of the search; the last row is the end
    costs: FloatArray | None = None  # (n_supports,) what their features cost, where that was given

    def __len__(self) -> int:
        """Return the number of supports."""
        return len(self.supports)

    @property
    def complete(self) -> bool:
        """Whether no support within the share is missing: proven."""
        return self.status is Status.COMPLETE

    @property
    def complete_within(self) -> float:
        """The share up to which no support is missing: `within`, or less; 0 where none is known."""
        if self.complete:
            return self.within
        best = float(self.objectives[0])
        return min(self.within, max(0.0, self.bound - best) / max(abs(best), 1e-300))

    @property
    def in_all(self) -> np.ndarray:
        """The features that all supports have."""
        features, count = np.unique(self.supports, return_counts=True)
        return np.asarray(features[count == len(self)])

    @property
    def in_some(self) -> np.ndarray:
        """The features that some supports have and others do not."""
        features, count = np.unique(self.supports, return_counts=True)
        return np.asarray(features[count < len(self)])

    @property
    def in_none(self) -> np.ndarray:
        """The candidates that no support has; what is no candidate is in none either."""
        return np.setdiff1d(self.candidates, self.supports)

    @property
    def cheapest(self) -> int:
        """The place of the support that costs least; of equal ones the first."""
        if self.costs is None:
            raise ValueError("the cheapest support is known where `near_optimal` is told cost.")
        return int(np.argmin(self.costs))

    def best_without(self, feature: Any) -> int | None:
        """Return the place of the best support without a feature, or None where all have it.

        No other support of its size without the feature is better, where `complete_within` is at
        least (objective - objectives[0]) / objectives[0] of that place.
        """
        others = np.flatnonzero(~(self.supports == feature).any(axis=1))
        return int(others[0]) if others.size else None

    def __repr__(self) -> str:
        """Return the figures, and the features, the first ones of many."""
        known = "complete" if self.complete else f"complete within {self.complete_within:.2%}"
        return (
            f"NearOptimal({len(self)} supports of k={self.supports.shape[1]} within "
            f"{self.within:.2%} of {self.objectives[0]:.6g}, {known}, status={self.status.name}, "
            f"in_all={_shown(self.in_all)}, in_some={_shown(self.in_some)}, "
            f"in_none={_shown(self.in_none)})"
        )


def _shown(features: np.ndarray) -> str:
    first = ", ".join(str(one) for one in features[:_SHOWN].tolist())
    return f"[{first}, ... {features.size}]" if features.size > _SHOWN else f"[{first}]"


def near_optimal(
    X: Any,
    y: Any,
    k: int,
    *,
    within: float = 0.01,
    limit: int = 1000,
    time_limit: float = 60.0,
    cost: Any = None,
    problem: BudgetSelection | None = None,
    callback: Callable[[Progressed], None] | None = None,
    sample_weight: Any = None,
    offset: Any = None,
    **parameters: Any,
) -> NearOptimal | list[NearOptimal]:
    """Return every support of k features that is nearly as good as the best one.

        objective(S) = min_{u, b}  1/2 ||u||^2 + C sum_i s_i f(y_i, x_i'u + b)   on the support S
        all S of k features with  objective(S) <= (1 + within) min_S' objective(S')

    by branch and bound (see `prove`) whose nodes end above that value, not above the optimum. Where
    the search ends, the list is complete: features that are in all of the supports are in every
    good model of k features, and those in none are in no good one. Ties count up to 1e-9, relative.

    Parameters
    ----------
    X, y, sample_weight, offset : the data, as for `fit`; X may be anything that `fit` takes.
    k : features of every support; of a problem with groups the number of groups.
    within : the share; 0 for the best support and those that are as good.
    limit : how many supports are kept at most, those of the least objective. Where there are more
        of them, `status` is LIMIT, and the search goes no further than the best ones.
    time_limit : seconds, for each class; Ctrl-C ends a search, too. What is found by then is
        complete below `bound`.
    cost : (n_features,) what every feature costs, not negative: `costs` are those of the supports,
        and `cheapest` is the place of the cheapest one.
    problem : an estimator with a budget, fitted or not, whose parameters state the problem: its
        loss, C, class weights, groups, signs, covariates and forced features. Its method finds the
        first support, "l0" where it is "auto". None: a `BudgetClassifier`, of survival times a
        `BudgetSurvivalAnalysis`.
    callback : called about twice a second with a `Progressed`.
    **parameters : of `problem`, instead of those that it has: C, standardize, forced_features,
        feature_groups, n_threads, ...

    Returns
    -------
    A `NearOptimal`; a list of them, one for each class against the rest, for a problem of
    several classes with multi_class="ovr".

    Raises
    ------
    ValueError
        Where `problem` selects features in few groups (no bound is known), or C is infinite; as
        `fit` otherwise.

    Examples
    --------
    >>> from zeronorm.datasets import load_demo
    >>> from zeronorm.inspection import near_optimal
    >>> X, y = load_demo(return_X_y=True)
    >>> near = near_optimal(X, y, 5)
    >>> len(near), near.complete, near.in_all
    (4, True, array([1407, 2205, 2213]))
    """
    k = validate.check_iterations("k", k)
    within = validate.check_not_negative("within", within)
    limit = validate.check_iterations("limit", limit)
    time_limit = validate.check_positive("time_limit", time_limit)
    poser = _poser(problem, y, k, parameters)
    posed = problem_of(poser, X, y, sample_weight=sample_weight, offset=offset, sizes=(k,))
    charges = None if cost is None else check_cost(cost, posed.design.shape[1])
    first = posed.tasks[0]
    check_k(
        k, int(first.units.usable.sum()), first.units.usable.size,
        first.units.of(first.forced).size, groups=first.groups_of_features() is not None,
    )  # fmt: skip
    check_weight(posed.C)
    found = _search(posed, within, limit, time_limit, callback, poser.n_threads)
    results = [
        _record(task, near, within, limit, charges)
        for task, near in zip(posed.tasks, found, strict=True)
    ]
    return results[0] if len(results) == 1 else results


def _poser(
    problem: BudgetSelection | None, y: Any, k: int, parameters: Mapping[str, Any]
) -> BudgetSelection:
    """Return the estimator that poses the problem of k features, or groups."""
    if problem is None:
        poser: BudgetSelection = estimator_for(None, y)()
    elif isinstance(problem, BudgetSelection):
        poser = clone(problem)
    else:
        raise ParameterError(
            "problem",
            "must be a BudgetClassifier, a BudgetRegressor, a BudgetSurvivalAnalysis or None",
            f"{problem!r:.80}",
        )
    stated(poser.set_params(criterion=None), parameters)
    if poser.feature_groups is not None:
        poser.set_params(n_groups=k)
    elif poser.method == "auto":  # the better the first support, the fewer features are left
        poser.set_params(n_features=k, method="l0")
    else:
        poser.set_params(n_features=k)
    if poser._plan().counts == "both":
        raise ParameterError(
            "problem",
            "must select features, or whole groups: of features in few groups no bound is known",
            "",
            Message(
                "Leave out ", Parameter("n_features"), " or ", Parameter("feature_groups"), "."
            ),
        )
    return poser


def _search(
    posed: Problem,
    within: float,
    limit: int,
    time_limit: float,
    report: Callable[[Progressed], None] | None,
    n_threads: int | None,
) -> list[Near]:
    """Search from the supports that the method finds, for every task."""
    paths = run(posed.solver(certify=False, scaled=False), n_threads=n_threads)
    searches = [
        near_best(
            task, task.columns(path[posed.sizes[0]].support), within, limit, C=posed.C,
            time_limit=time_limit, report=report,
        )
        for task, path in zip(posed.tasks, paths, strict=True)
    ]  # fmt: skip
    return run_together(searches, n_threads=n_threads)


def _record(
    task: Task, near: Near, within: float, limit: int, charges: FloatArray | None
) -> NearOptimal:
    """Return what is found, by features of X or by the labels of its groups."""
    names, groups = names_of(task), task.groups_of_features()
    costs = None
    if charges is not None:
        every = charges
        if groups is not None:
            every = np.asarray(np.bincount(groups.code, charges, len(groups)), np.float64)
        costs = every[names[near.supports]].sum(axis=1)
    supports, candidates = (
        names[units] if groups is None else groups.labels[names[units]]
        for units in (near.supports, near.candidates)
    )
    return NearOptimal(
        supports, near.objectives, near.bound, within, limit, near.status, candidates, near.history,
        costs,
    )  # fmt: skip


__all__ = ["NearOptimal", "near_optimal"]

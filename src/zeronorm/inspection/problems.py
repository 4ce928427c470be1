"""A model, or a set of features, as the problems that its supports are the answers to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor

from ..core import validation as validate
from ..core.groups import Groups
from ..core.results import Certificate
from ..core.types import FloatArray, IndexArray
from ..data.operations import margins
from ..estimators import BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis
from ..solvers import Task
from ..solvers.certify.supports import signs_of
from .models import has_budget, supports_of


@dataclass(frozen=True, slots=True)
class Posed:
    """One binary problem with the support in question."""

    task: Task
    support: IndexArray
    C: float
    dual: FloatArray | None = None  # a dual point to begin with: that of an earlier certificate


def estimator_for(model: Any, y: Any) -> Any:
    """Return the estimator whose problem that of a model, or of a set of features, is."""
    if getattr(getattr(y, "dtype", None), "names", None) is not None:
        return BudgetSurvivalAnalysis
    regresses = hasattr(model, "__sklearn_tags__") and is_regressor(model)
    return BudgetRegressor if regresses else BudgetClassifier


def poser_of(
    model: Any,
    problem: Any,
    y: Any,
    C: float | None,
    fit_intercept: bool | None,
    standardize: bool | None,
    n_threads: int | None,
) -> Any:
    """Return the estimator that poses the problem of a model, not fitted."""
    options = {"C": C, "fit_intercept": fit_intercept, "standardize": standardize}
    chosen: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    chosen["n_threads"] = n_threads
    stated = model if problem is None else problem
    own = has_budget(stated)
    if own and C is None and not isinstance(stated.C, Real) and hasattr(stated, "C_"):
        chosen["C"] = stated.C_  # its own folds have chosen it
    if problem is not None and not own:
        raise TypeError(
            "problem must be an estimator of this package with a budget, as BudgetRegressor(); got "
            f"{problem!r:.80}."
        )
    poser = clone(stated).set_params(**chosen) if own else estimator_for(model, y)(**chosen)
    if not own and isinstance(poser, BudgetClassifier) and len(supports_of(model)) > 1:
        poser.set_params(multi_class="ovr")  # a support for each class
    return poser


def pose(
    model: Any,
    problem: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    offset: Any,
    C: float | None,
    fit_intercept: bool | None,
    standardize: bool | None,
    n_threads: int | None,
    feature_groups: Any,
    max_abs_coef: float | None = None,
) -> list[Posed]:
    """Return the binary problems of a model, on its selection scaling."""
    supports = supports_of(model)
    poser = poser_of(model, problem, y, C, fit_intercept, standardize, n_threads)
    data = poser._read(X, y, sample_weight, offset)
    validate.check_names(data.names, validate.names_of_fit(model))
    m = data.design.shape[1]
    for support in supports:
        if support[-1] >= m:
            raise ValueError(
                f"the support of the model has feature {int(support[-1])}, but X has {m} columns. "
                "Pass the X that the model was fitted on."
            )
    posed_at = poser._pose(data, (supports[0].size,))  # the support is known, and so is its size
    check_weight(posed_at.C)
    tasks = posed_at.tasks
    for support in supports:
        unusable = support[~tasks[0].usable[tasks[0].columns(support)[:: tasks[0].loss.outputs]]]
        if unusable.size:
            shown = ", ".join(f"column {j}" for j in unusable[:5].tolist())
            raise ValueError(
                f"the support must have no constant columns of X, which are no features; got "
                f"{shown}. Leave them out of the support."
            )
        if not np.isin(tasks[0].features(tasks[0].forced), support).all():
            raise ValueError("the support lacks forced features of the model.")
    if feature_groups is not None:
        if tasks[0].signs.any():
            raise ValueError(
                "feature_groups must be None for a model with signs, of single features."
            )
        partition = Groups.of(feature_groups, m, data.names)
        tasks = [task.with_groups(partition) for task in tasks]
    if max_abs_coef is not None:
        tasks = [_bounded(task, max_abs_coef) for task in tasks]
    if len(tasks) != len(supports):
        raise ValueError(
            f"the model has {len(supports)} supports, but y has {len(np.unique(y))} classes. "
            "Pass the y that the model was fitted on, or one support and a y of two classes."
        )
    posed = [
        Posed(task, task.columns(support), posed_at.C)
        for task, support in zip(tasks, supports, strict=True)
    ]
    if problem is not None or not has_budget(model):
        return posed
    known = [path[model.size_].certificate for path in model._paths]
    return [
        one if own is None or not is_of(one, own) else replace(one, dual=own.dual.ravel())
        for one, own in zip(posed, known, strict=True)
    ]


def _bounded(task: Task, max_abs_coef: float) -> Task:
    """Return the problem among models whose coefficients are at most so large."""
    validate.check_positive("max_abs_coef", max_abs_coef)
    return replace(task, max_abs_coef=float(max_abs_coef))


def check_weight(C: float) -> None:
    """Raise ValueError where C leaves no ridge, and so no bound."""
    if not np.isfinite(C):
        raise ValueError(
            "C must be finite for a certificate, whose bound is that of a problem with a ridge; "
            f"got {C}. Pass C."
        )


def names_of(task: Task) -> IndexArray:
    """Return what the units of a task are: features of X, or groups by number; -1: unusable."""
    usable = np.flatnonzero(task.units.usable)
    names = np.full(task.units.usable.size, -1)
    names[usable] = task.named(usable)
    return names


def is_of(posed: Posed, certificate: Certificate) -> bool:
    """Return whether a certificate is of a problem, and its model has the same objective there.

    Dual points of other labels, as of rows in another order, would not be feasible, and their
    bounds false.
    """
    task, risk = posed.task, posed.task.risk(posed.C)
    most = np.inf if certificate.max_abs_coef is None else certificate.max_abs_coef
    same = (
        certificate.C == posed.C
        and certificate.dual.size == risk.weight.size
        and certificate.scaling == task.scaling
        and certificate.loss == task.loss.name
        and certificate.parameters == task.loss.parameters
        and certificate.fit_intercept == task.has_intercept
        and np.array_equal(certificate.forced, task.features(task.forced))
        and np.array_equal(certificate.covariates, task.covariates[task.kept_covariates])
        and _are_same(certificate.groups, task.groups_of_features())
        and np.array_equal(certificate.signs, signs_of(task))
        and most == task.max_abs_coef
        and certificate.support[-1] < task.design_of_features.shape[1]
    )
    if not same:
        return False
    support = task.columns(certificate.support)
    if not (
        task.usable[support].all()
        and task.units.of(support).size == task.units.of(posed.support).size
    ):
        return False
    duals = [certificate.dual, *(() if certificate.tree is None else certificate.tree.dual)]
    if not all(risk.is_near_inside(dual.ravel()) for dual in duals):
        return False
    coef, intercept = certificate.coef, 0.0  # where the loss has its best ones, as of covariates
    if not task.loss.own_intercepts:
        intercept = certificate.intercept - task.origin
    z = margins(task.design_of_features, certificate.support, coef.T, intercept)
    loss, _ = risk.value_gradient(z.T.ravel())
    objective = loss + 0.5 * coef.ravel() @ coef.ravel()
    return bool(abs(objective - certificate.objective) <= 1e-6 * abs(certificate.objective))


def _are_same(groups: Groups | None, others: Groups | None) -> bool:
    """Return whether two partitions are the same, or both none."""
    if groups is None or others is None:
        return groups is others
    return np.array_equal(groups.code, others.code)

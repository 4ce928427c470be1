"""How far a support can be from the best one of its size: bounds and proofs.

`certify` bounds the l0 problem that `core.results.Certificate` states from below, for a support
found by anyone. `prove` goes on by branch and bound until a wanted gap is certain, or until no
better support exists. `zeronorm.verification` recomputes all that from the data, in plain NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.utils.validation import check_is_fitted

from ..core import validation as validate
from ..core.errors import Column, Message, Parameter, ParameterError
from ..core.groups import Groups
from ..core.results import SAME_OBJECTIVE, Certificate, Progressed, Proof, Tree
from ..core.types import FloatArray, IndexArray
from ..core.validation import model_inside
from ..data.operations import margins
from ..estimators import BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis
from ..estimators.problem import Selector, problem_of
from ..solvers import Task, run_together
from ..solvers.certify import Goal, prove_support, signs_of

# The features of models of any kind, as they are given to be certified.


def has_budget(model: Any) -> bool:
    """Return whether a model is an estimator of this package with a budget."""
    return isinstance(model, Selector)


def supports_of(model: Any) -> list[IndexArray]:
    """Return the sorted support of every binary problem of a model."""
    if hasattr(model, "fit"):
        check_is_fitted(model)
    if has_budget(model):
        return [path[model.size_].support for path in model._paths]
    if hasattr(model, "coef_"):
        coef = np.atleast_2d(_dense(model.coef_))
        found = [np.flatnonzero(row) for row in coef]
    elif hasattr(model, "get_support"):
        found = [np.flatnonzero(model.get_support())]
    else:
        found = [_indices(model)]
    for support in found:
        if not support.size:
            raise ValueError(
                "model has no feature with a coefficient: there is nothing to certify."
            )
    return [np.asarray(support, dtype=np.int64) for support in found]


def _dense(coef: Any) -> np.ndarray:
    return np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef)


def _indices(model: Any) -> np.ndarray:
    """Return the support that was passed instead of a model."""
    rule = (
        "must be a fitted model with coef_ or get_support(), the indices of the "
        "features, or a mask of all of them"
    )
    try:
        given = np.asarray(model)
    except (TypeError, ValueError):
        given = np.empty(0, object)
    if given.dtype == bool and given.ndim == 1:
        return np.flatnonzero(given)
    if given.shape == (0,) and given.dtype != object:
        return np.empty(0, np.int64)
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given < 0).any():
        inside = model_inside("model", model)
        got = type(model).__name__ if inside else f"{model!r:.80}"
        raise ParameterError("model", rule, got, inside.strip())
    if np.unique(given).size < given.size:
        raise ParameterError("model", rule, "an index twice")
    return np.sort(given)


# A model, or a set of features, as the problems that its supports are the answers to.


@dataclass(frozen=True, slots=True)
class SupportProblem:
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


def stated(estimator: Any, parameters: Mapping[str, Any]) -> Any:
    """Return an estimator with other parameters, None for those that it has already.

    Raises
    ------
    ValueError
        Where it has no such parameter, or it is about the search: here the size is known.
    """
    chosen = {name: value for name, value in parameters.items() if value is not None}
    for name in ("n_features", "n_groups", "method"):
        if name in chosen:
            raise ParameterError(
                name, "must not be given where the size of the supports is known",
                f"{chosen[name]!r:.80}", "Leave it out.",
            )  # fmt: skip
    unknown = sorted(set(chosen) - set(estimator.get_params()))
    if unknown:
        raise ValueError(
            f"parameters of the problem must be those of {type(estimator).__name__}, such as C, "
            f"standardize, covariates and n_threads; got {', '.join(unknown)}."
        )
    return estimator.set_params(**chosen)


def poser_of(model: Any, y: Any, problem: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the estimator that poses the problem of a model, not fitted."""
    if problem is not None and not has_budget(problem):
        raise TypeError(
            "problem must be an estimator of this package with a budget, as BudgetRegressor(); got "
            f"{problem!r:.80}."
        )
    given = model if problem is None else problem
    if not has_budget(given):
        poser = stated(estimator_for(model, y)(), parameters)
        if isinstance(poser, BudgetClassifier) and len(supports_of(model)) > 1:
            poser.set_params(multi_class="ovr")  # a support for each class
        return poser
    own = {}
    if not isinstance(given.C, Real) and hasattr(given, "C_"):
        own = {"C": given.C_}  # its own folds have chosen it
    return stated(clone(given).set_params(**own), parameters)


def pose(
    model: Any,
    X: Any,
    y: Any,
    *,
    problem: Any,
    parameters: Mapping[str, Any],
    sample_weight: Any,
    offset: Any,
    max_abs_coef: float | None = None,
) -> list[SupportProblem]:
    """Return the binary problems of a model, on its selection scaling: as of `certify`."""
    parameters = dict(parameters)
    feature_groups = parameters.pop("feature_groups", None)
    supports = supports_of(model)
    poser = poser_of(model, y, problem, parameters)
    # The support is known, and so is its size.
    sizes = (supports[0].size,)
    whole = problem_of(poser, X, y, sample_weight=sample_weight, offset=offset, sizes=sizes)
    validate.check_names(whole.data.names, validate.names_of_fit(model))
    m = whole.usable.size
    for support in supports:
        if support[-1] >= m:
            raise ValueError(
                f"the support of the model has feature {int(support[-1])}, but X has {m} columns. "
                "Pass the X that the model was fitted on."
            )
    check_weight(whole.C)
    tasks = whole.tasks
    for support in supports:
        unusable = support[~whole.usable[support]]
        if unusable.size:
            shown = [part for j in unusable[:5].tolist() for part in (", ", Column(j))][1:]
            raise ValueError(
                Message(
                    "the support must have no constant columns of ",
                    Parameter("X"),
                    ", which are no features; got ",
                    *shown,
                    ". Leave them out of the support.",
                )
            )
        if not np.isin(tasks[0].features(tasks[0].forced), support).all():
            raise ValueError("the support lacks forced features of the model.")
    if feature_groups is not None:
        if tasks[0].signs.any():
            raise ParameterError(
                "feature_groups", "must be None for a model with signs, of single features"
            )
        partition = Groups.of(feature_groups, m, whole.data.names)
        tasks = [task.with_groups(partition) for task in tasks]
    if max_abs_coef is not None:
        tasks = [_bounded(task, max_abs_coef) for task in tasks]
    if len(tasks) != len(supports):
        raise ValueError(
            f"the model has {len(supports)} supports, but y has {len(np.unique(y))} classes. "
            "Pass the y that the model was fitted on, or one support and a y of two classes."
        )
    posed = [
        SupportProblem(task, task.columns(support), whole.C)
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
        raise ParameterError(
            "C",
            "must be finite for a certificate, whose bound is that of a problem with a ridge",
            f"{C}",
            "Pass C.",
        )


def names_of(task: Task) -> IndexArray:
    """Return what the units of a task are: features of X, or groups by number; -1: unusable."""
    usable = np.flatnonzero(task.units.usable)
    names = np.full(task.units.usable.size, -1)
    names[usable] = task.named(usable)
    return names


def is_of(posed: SupportProblem, certificate: Certificate) -> bool:
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
    most_apart = SAME_OBJECTIVE * abs(certificate.objective)
    return bool(abs(objective - certificate.objective) <= most_apart)


def _are_same(groups: Groups | None, others: Groups | None) -> bool:
    """Return whether two partitions are the same, or both none."""
    if groups is None or others is None:
        return groups is others
    return np.array_equal(groups.code, others.code)


def certify(
    model: Any,
    X: Any,
    y: Any,
    *,
    problem: Any = None,
    sample_weight: Any = None,
    offset: Any = None,
    max_abs_coef: float | None = None,
    **parameters: Any,
) -> Certificate | list[Certificate]:
    """Return how far the support of a model can be from the best one of its size.

        objective = min_{u, b}  1/2 ||u||^2 + C sum_i s_i f(y_i, x_i'u + b)   on the support
        bound    <= the same of every support of k features

    The bound is that of the convex relaxation (the minimax model with r = k), solved to 1e-4 by
    scans of X; the scores of the last one rule out most features. `prove` goes further. Of a model
    of g groups of features the bound is that of all supports of g groups.

    Parameters
    ----------
    model : a fitted classifier of this package or of scikit-learn's kind (with `coef_`, or
        `get_support()`), or the support itself: indices of features, or a mask of all.
    X, y, sample_weight, offset : the data, as for `fit`; X may be anything that `fit` takes.
    problem : an estimator with a budget, which need not be fitted, whose parameters say what the
        support is certified for: its loss, C, class weights, covariates, forced features. None:
        the model, if it is one of this package with a budget, else an estimator with C = 0.1, an
        intercept and standardised columns, of classes, numbers or survival times.
    max_abs_coef : bound only models whose coefficients are at most so large, on the scaling of the
        problem (those of standardised columns by default). What is said then is that no such model
        has an objective below the bound, and a tighter one where C is large: a bound of models
        with any coefficients grows weak with the ridge. It is for who knows what an effect can be;
        a bound that follows from the data alone tightens nothing. The model's own coefficients may
        be larger. Of groups and of several outputs every coefficient is bounded by itself, and less
        is gained, as relaxations are solved without the bounds.
    **parameters : of `problem`, instead of those that it has: C, fit_intercept, standardize,
        covariates, n_threads, ... With feature_groups the bound is that of all supports of
        as many groups as the support has features of.

    Returns
    -------
    A `Certificate`; a list of them, one for each class against the rest, for several classes.

    Raises
    ------
    ValueError
        Where there is no support, it does not fit the data, C is infinite, or max_abs_coef is not
        positive; as `fit` otherwise.

    Examples
    --------
    >>> import zeronorm
    >>> from zeronorm.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = zeronorm.BudgetClassifier(n_features=8).fit(X, y)
    >>> zeronorm.certify(model, X, y).gap < model.gap_
    True
    """
    posed = pose(
        model, X, y, problem=problem, parameters=parameters, sample_weight=sample_weight,
        offset=offset, max_abs_coef=max_abs_coef,
    )  # fmt: skip
    proofs = _run(posed, parameters.get("n_threads"), Goal(None, np.inf))
    certificates = [proof.certificate for proof in proofs]
    return certificates[0] if len(certificates) == 1 else certificates


def prove(
    model: Any,
    X: Any,
    y: Any,
    *,
    problem: Any = None,
    gap: float = 0.01,
    time_limit: float = 60.0,
    max_nodes: int | None = None,
    resume: Proof | Sequence[Proof] | None = None,
    callback: Callable[[Progressed], None] | None = None,
    sample_weight: Any = None,
    offset: Any = None,
    max_abs_coef: float | None = None,
    **parameters: Any,
) -> Proof | list[Proof]:
    """Prove by branch and bound that no support of this size is better, up to a relative gap.

    First the bound of `certify` rules out features; then a tree over those that are left is
    searched, in memory. A better support that turns up on the way takes the place of the model's.
    Ctrl-C stops the search and returns what is proven so far.

    Parameters
    ----------
    model, X, y, problem, sample_weight, offset, max_abs_coef, **parameters
        As in `certify`.
    gap : the wanted (objective - bound) / objective; 0 for a proof that no better support exists.
    time_limit : seconds, for each class.
    max_nodes : nodes of the tree; by default as many as 1 GiB of their dual points.
    resume : what an earlier call returned for the same data: the search goes on from there.
    callback : called about twice a second with a `Progressed`: seconds, nodes, objective, bound.

    Returns
    -------
    A `Proof`, with the certificate of the best support, why the search ended, and its course; a
    list of them, one for each class against the rest, for several classes.

    Raises
    ------
    ValueError
        As `certify`; where `resume` is of another problem.

    Examples
    --------
    >>> import zeronorm
    >>> from zeronorm.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = zeronorm.BudgetClassifier(n_features=3).fit(X, y)
    >>> proof = zeronorm.prove(model, X, y, gap=0)
    >>> proof.status.name, proof.improved
    ('OPTIMAL', True)
    """
    validate.check_not_negative("gap", gap)
    validate.check_positive("time_limit", time_limit)
    validate.check_count("max_nodes", max_nodes)
    posed = pose(
        model, X, y, problem=problem, parameters=parameters, sample_weight=sample_weight,
        offset=offset, max_abs_coef=max_abs_coef,
    )  # fmt: skip
    trees: list[Tree | None] = [None] * len(posed)
    if resume is not None:
        earlier = [resume] if isinstance(resume, Proof) else list(resume)
        if not all(isinstance(proof, Proof) for proof in earlier):
            raise TypeError(f"resume must be what `prove` returned; got {resume!r:.50}.")
        posed, trees = _resumed(posed, earlier)
    proofs = _run(
        posed,
        parameters.get("n_threads"),
        Goal(float(gap), float(time_limit), max_nodes),
        trees,
        callback,
    )
    return proofs[0] if len(proofs) == 1 else proofs


def _run(
    posed: Sequence[SupportProblem],
    n_threads: int | None,
    goal: Goal,
    trees: Sequence[Tree | None] | None = None,
    report: Callable[[Progressed], None] | None = None,
) -> list[Proof]:
    return run_together(
        [
            prove_support(
                one.task, one.support, goal, C=one.C, dual=one.dual, resume=tree, report=report
            )
            for one, tree in zip(posed, trees or [None] * len(posed), strict=True)
        ],
        n_threads=n_threads,
    )


def _resumed(
    posed: Sequence[SupportProblem], earlier: Sequence[Proof]
) -> tuple[list[SupportProblem], list[Tree | None]]:
    """Return the problems with the supports of earlier proofs, and their trees."""
    if len(earlier) != len(posed):
        raise ParameterError(
            "resume", f"must have a proof for each problem, {len(posed)}", str(len(earlier))
        )
    resumed: list[SupportProblem] = []
    trees: list[Tree | None] = []
    for one, proof in zip(posed, earlier, strict=True):
        certificate = proof.certificate
        if not is_of(one, certificate):
            raise ValueError(
                Message(
                    "resume is a proof of another problem (size, groups, C, scaling, loss, "
                    "intercept, forced features, covariates, signs, ",
                    Parameter("max_abs_coef"),
                    ", X, y or weights differ, or the order of the rows). Pass the model and the "
                    "data of the earlier call.",
                )
            )
        support = one.task.columns(certificate.support)
        resumed.append(replace(one, support=support, dual=certificate.dual.ravel()))
        trees.append(certificate.tree)
    return resumed, trees

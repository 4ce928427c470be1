"""What the l1 estimators share: their checks, the problem that they pose, and its results."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from .. import validate
from .._typing import Design, FloatArray
from ..losses import Multinomial
from ..losses import probabilities as of_each
from ..losses._multinomial import classes_as_outputs
from ..result import Result
from ..solvers import L1Problem
from ..solvers.drive import Solver
from ..solvers.l1.descent import Penalty
from ..solvers.l1.problem import NEVER, Start
from ..solvers.l1.setting import L1Setting, gap_of, refit_on_x
from ..solvers.l1.sizes import Sized
from ..solvers.pool.refit import Refit
from . import _doubts
from ._linear import Rowwise
from ._selecting import one_or_all


def stored(model: Any, design: Design) -> Design:
    """Return the design in the storage that descents over columns want."""
    return design.arranged()


def check_common(model: Any) -> None:
    """Raise ValueError where a parameter that all l1 estimators have breaks a rule."""
    validate.check_share("l1_ratio", model.l1_ratio)
    model._loss()
    validate.check_gap("tol", model.tol)
    validate.check_iterations("max_iter", model.max_iter)
    validate.check_count("n_threads", model.n_threads)
    for name in ("fit_intercept", "standardize"):
        validate.check_flag(name, getattr(model, name))
    if (
        validate.check_option(
            "multi_class", getattr(model, "multi_class", "ovr"), ["ovr", "multinomial"]
        )
        == "multinomial"
    ):
        _check_multinomial(model)


def _check_multinomial(model: Any) -> None:
    """Raise ValueError where one problem of several classes cannot be had."""
    if model._loss().name != "logistic":
        raise ValueError(
            f"loss must be 'logistic' for multi_class='multinomial'; got {model.loss!r}. Use "
            "multi_class='ovr'."
        )


def check(model: Any) -> None:
    """Raise ValueError where a parameter of an estimator at one C, or of k features, does."""
    check_common(model)
    validate.check_positive("C", model.C)
    validate.check_count("n_features", model.n_features)
    if model.refit_C is not None:
        validate.check_refit_penalty(model.refit_C)
    validate.check_flag("warm_start", model.warm_start)
    if model.n_features is not None and getattr(model, "multi_class", "ovr") == "multinomial":
        raise ValueError(
            "n_features must be None for multi_class='multinomial', whose path counts coefficients "
            f"and not features; got {model.n_features!r}. Use BudgetClassifier: it shares its "
            "features among the classes."
        )


def setting_of(model: Any) -> L1Setting:
    """Return the problem of an l1 estimator but its data."""
    return L1Setting(
        model._loss(), float(model.l1_ratio), model.penalty_factor, model.signs,
        bool(model.fit_intercept), bool(model.standardize), float(model.tol), int(model.max_iter),
        for_sizes=getattr(model, "n_features", None) is not None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Posed:
    """The problems of an estimator on its rows, but their weights."""

    setting: L1Setting
    classes: np.ndarray | None
    targets: list[FloatArray]  # of every problem, with the offset
    exposure: FloatArray | None  # (n,) what an offset makes of the weight of a row

    def problems(self, design: Design, weight: FloatArray) -> list[L1Problem]:
        """Return the problems at C = 1."""
        return self.setting.problems(design, self.targets, weight, self.exposure)


def posed(model: Any, data: Rowwise) -> Posed:
    """Return the problems of an estimator."""
    setting = setting_of(model)
    classes, targets = model._problems(data.labels, data.sample_weight)
    if data.offset is not None:
        y, exposure = setting.loss.with_offset(targets[0], data.offset)
        return Posed(setting, classes, [y], exposure)
    if classes is not None and shares(model, len(classes)):
        q = len(classes)
        setting = replace(setting, loss=Multinomial(q, setting.intercept))
        targets = [classes_as_outputs(np.searchsorted(classes, data.labels), q)]
    return Posed(setting, classes, targets, None)


def shares(model: Any, n_classes: int) -> bool:
    """Return whether several classes are one multinomial problem."""
    return n_classes > 2 and getattr(model, "multi_class", "ovr") == "multinomial"


def begin(
    model: Any, data: Rowwise, seconds: dict[str, float]
) -> tuple[np.ndarray | None, list[Solver[Any]]]:
    """Return the classes, if any, and the solver of every problem, at its C or for k features."""
    started = time.perf_counter()
    data, unit = model._weigh(data)
    design, weight = data.design, data.sample_weight
    found = posed(model, data)
    setting, classes, problems = found.setting, found.classes, found.problems(design, weight)
    penalty = problems[0].penalty
    seconds["standardize"] = time.perf_counter() - started
    if model.n_features is not None:
        free, available = int((penalty.l1 == 0).sum()), int((penalty.l1 < NEVER).sum())
        k = validate.check_size(model.n_features, available, design.shape[1], free)
        unit = found.exposure if unit is None else unit
        return classes, [_sized(model, problem, k, unit, seconds) for problem in problems]
    solvers = []
    C, solve = float(model.C), model._solvers()[0]
    starts = _starts(model, classes, penalty, len(problems))
    for at_one, start in zip(problems, starts, strict=True):
        solver = solve(
            replace(at_one, risk=at_one.risk.times(C)), start=start, tol=setting.tol,
            max_iter=setting.max_iter, n_threads=design.n_threads,
        )  # fmt: skip
        solvers.append(setting.explained(solver, design, weight, C))
    return classes, solvers


def _sized(
    model: Any, problem: L1Problem, k: int, unit: FloatArray | None, seconds: dict[str, float]
) -> Solver[tuple[Sized, Refit | None]]:
    """Return the solution of k features, and its refit if there is one."""
    setting, design = setting_of(model), problem.design
    models = yield from model._solvers()[1](
        problem, [k], tol=setting.tol, max_iter=setting.max_iter, n_threads=design.n_threads
    )
    result = models[k].result
    setting.explain(result, design, problem.risk.weight, float(model.C))
    started = time.perf_counter()
    refitted = None
    if model.refit_C is not None:
        refitted = refit_on_x(problem, result.support, model.refit_C, unit)
    seconds["refit"] = seconds.get("refit", 0.0) + time.perf_counter() - started
    return models[k], refitted


def _starts(model: Any, classes: np.ndarray | None, penalty: Penalty, n: int) -> list[Start | None]:
    """Return the feasible part of the n previous models, if they are of these classes."""
    starts: list[Start | None] = []
    if not model.warm_start or not hasattr(model, "support_"):
        return [None] * n
    same = classes is None or np.array_equal(model.classes_, classes)
    if model.n_features_in_ != penalty.l1.size or not same:
        return [None] * n
    here = penalty.of(model.support_)
    intercepts = np.atleast_1d(getattr(model, "intercept_", 0.0))
    for coef, intercept in zip(model._support_coef, intercepts, strict=True):
        kept = (coef != 0) & (coef >= here.low) & (coef <= here.high) & (here.l1 < NEVER)
        b = float(intercept) if model.fit_intercept else 0.0
        starts.append(Start(model.support_[kept], coef[kept], b))
    return starts


def keep(model: Any, results: list[Any]) -> None:
    """Set the attributes of an estimator at one C, or of k features."""
    model.__dict__.pop("refit_C_", None)
    model._refit_gap, model._reached = 0.0, None
    if model.n_features is None:
        keep_solutions(model, results, float(model.C))
        return
    sized = [one for one, _ in results]
    refits = [fit for _, fit in results if fit is not None]  # all of them, or none
    model._reached = min(one.reached for one in sized)
    keep_solutions(model, [one.result for one in sized], one_or_all([one.C for one in sized]))
    if refits:
        model.refit_C_ = one_or_all([fit.C for fit in refits])
        model._refit_gap = max(fit.gap for fit in refits)
        model._models = tuple(
            replace(result, coef=fit.coef, intercept=fit.intercept)
            for result, fit in zip(model._results, refits, strict=True)
        )
        model._set_models(model._models)


def keep_solutions(model: Any, results: Sequence[Result], C: Any) -> None:
    """Set the attributes that the solutions of all problems give, at their C."""
    # Without their dual points, which have a number for every row.
    model._results = tuple(replace(result, dual=None) for result in results)
    model._models = tuple(by_class(result) for result in model._results)
    model._set_models(model._models)
    model.C_ = C
    model.objective_ = one_or_all([result.objective for result in results])
    model.history_ = one_or_all([result.history for result in results])
    model.n_iter_ = max(len(result.history) - 1 for result in results)
    model.dual_gap_ = max(gap_of(result) for result in results)
    model.seconds_["solve"] = sum(
        step.seconds["solve"] for result in results for step in result.history
    )


def by_class(result: Result) -> Result:
    """Return a result as a model of features of X: of several outputs a row of coefficients each.

    Column j q + o of its problem is feature j in output o.
    """
    q = np.size(result.intercept)
    if q == 1:
        return result
    features = np.unique(result.support // q)
    coef: FloatArray = np.zeros((q, features.size))
    coef[result.support % q, np.searchsorted(features, result.support // q)] = result.coef
    return replace(result, support=features, coef=coef)


def probabilities(model: Any, scores: FloatArray) -> FloatArray:
    """Return the probabilities that scores give."""
    if scores.ndim == 2 and shares(model, scores.shape[1]):
        found: FloatArray = softmax(scores, axis=1)
        return found
    return of_each(scores)


def parts(result: Result) -> list[Result]:
    """Return the part of a result that each of several outputs has, on features of X."""
    q = np.size(result.intercept)
    own = [result.support % q == output for output in range(q)]
    return [
        replace(result, support=result.support[one] // q, coef=result.coef[one], intercept=b)
        for one, b in zip(own, result.intercept, strict=True)
    ]


def doubts(model: Any) -> Iterator[Warning]:
    """Return the warnings that a fit at one C, or of k features, gives."""
    setting = setting_of(model)
    yield from _doubts.l1_gap(setting, model._results, model._refit_gap, model.solver)
    yield from _doubts.l1_size(setting, model.n_features, model._reached, model.C_, model.refit_C)


__all__ = [
    "Posed",
    "begin",
    "by_class",
    "check",
    "check_common",
    "doubts",
    "keep",
    "keep_solutions",
    "parts",
    "posed",
    "probabilities",
    "setting_of",
    "shares",
    "stored",
]

"""What the l1 estimators share: their checks, the problem that they pose, and its results.

`L1Model` is the base of those at one C or of k features; `L1Folds` (`_l1_folds`) of those whose C
is chosen by cross-validation. Both call the functions here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from ..core import validation as validate
from ..core.results import Result
from ..core.types import Design, FloatArray
from ..losses import Multinomial
from ..losses import probabilities as of_each
from ..losses.multinomial import classes_as_outputs
from ..solvers import L1Problem, working_set
from ..solvers.drive import Solver
from ..solvers.l1.descent import Penalty
from ..solvers.l1.problem import NEVER, Start
from ..solvers.l1.setting import L1Setting, gap_of, refit_on_x
from ..solvers.l1.sizes import Sized, l1_sizes
from ..solvers.pool.refit import Refit
from . import doubts as _doubts
from .parameters import with_parameters
from .rowwise import Rowwise
from .selected import one_or_all
from .sparse_linear import SparseLinearModel


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


def keep_solutions(model: Any, results: Sequence[Result], C: Any) -> None:
    """Set the attributes that the solutions of all problems give, at their C."""
    # Without their dual points, which have a number for every row.
    model._results = tuple(replace(result, dual=None) for result in results)
    model._models = tuple(by_class(result) for result in model._results)
    model._set_models(model._models)
    model.C_ = C
    model.objective_ = one_or_all([result.objective for result in results])
    model.history_ = one_or_all([result.history for result in results])
    # The model without features is a step too, where nothing better is found.
    model.n_iter_ = max(1, *(len(result.history) - 1 for result in results))
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


@with_parameters
class L1Model(SparseLinearModel):
    """Base of the l1 estimators at one C, or of k features."""

    C: float = field(default=1.0, kw_only=False)
    n_features: int | None = None
    refit_C: float | str | None = "loo"
    l1_ratio: float = 1.0
    penalty_factor: Any = None
    signs: Any = None
    standardize: bool = False
    tol: float = 1e-4
    max_iter: int = 1000
    warm_start: bool = False
    n_threads: int | None = None
    checkpoint: Any = None

    _least_loss = validate.LEAST_L1_LOSS

    def _solvers(self) -> tuple[Callable[..., Solver[Result]], Callable[..., Solver[Any]]]:
        """Return what solves a problem at its C, and what at the C that give some sizes."""
        return working_set, l1_sizes

    def _check_parameters(self) -> None:
        """Raise ValueError where a parameter of an estimator at one C, or of k features, does."""
        check_common(self)
        validate.check_positive("C", self.C)
        validate.check_count("n_features", self.n_features)
        if self.refit_C is not None:
            validate.check_refit_penalty(self.refit_C)
        validate.check_flag("warm_start", self.warm_start)
        if self.n_features is not None and getattr(self, "multi_class", "ovr") == "multinomial":
            raise ValueError(
                "n_features must be None for multi_class='multinomial', whose path counts "
                f"coefficients and not features; got {self.n_features!r}. Use BudgetClassifier: it "
                "shares its features among the classes."
            )

    def _stored(self, design: Design) -> Design:
        """Return the design in the storage that descents over columns want."""
        return design.arranged(for_descent=True)

    def _begin(
        self, data: Rowwise, seconds: dict[str, float]
    ) -> tuple[np.ndarray | None, list[Solver[Any]]]:
        """Return the classes, if any, and what solves each problem at its C, or for k features."""
        started = time.perf_counter()
        data, unit = self._weigh(data)
        design, weight = data.design, data.sample_weight
        found = posed(self, data)
        setting, classes, problems = found.setting, found.classes, found.problems(design, weight)
        penalty = problems[0].penalty
        seconds["standardize"] = time.perf_counter() - started
        if self.n_features is not None:
            free, available = int((penalty.l1 == 0).sum()), int((penalty.l1 < NEVER).sum())
            k = validate.check_size(self.n_features, available, design.shape[1], free)
            unit = found.exposure if unit is None else unit
            return classes, [self._sized(problem, k, unit, seconds) for problem in problems]
        solvers = []
        C, solve = float(self.C), self._solvers()[0]
        starts = self._starts(classes, penalty, len(problems))
        for at_one, start in zip(problems, starts, strict=True):
            solver = solve(
                replace(at_one, risk=at_one.risk.times(C)), start=start, tol=setting.tol,
                max_iter=setting.max_iter, n_threads=design.n_threads,
            )  # fmt: skip
            solvers.append(setting.explained(solver, design, weight, C))
        return classes, solvers

    def _sized(
        self, problem: L1Problem, k: int, unit: FloatArray | None, seconds: dict[str, float]
    ) -> Solver[tuple[Sized, Refit | None]]:
        """Return the solution of k features, and its refit if there is one."""
        setting, design = setting_of(self), problem.design
        models = yield from self._solvers()[1](
            problem, [k], tol=setting.tol, max_iter=setting.max_iter, n_threads=design.n_threads
        )
        result = models[k].result
        setting.explain(result, design, problem.risk.weight, float(self.C))
        started = time.perf_counter()
        refitted = None
        if self.refit_C is not None:
            refitted = refit_on_x(problem, result.support, self.refit_C, unit)
        seconds["refit"] = seconds.get("refit", 0.0) + time.perf_counter() - started
        return models[k], refitted

    def _starts(self, classes: np.ndarray | None, penalty: Penalty, n: int) -> list[Start | None]:
        """Return the feasible part of the n previous models, if they are of these classes."""
        starts: list[Start | None] = []
        if not self.warm_start or not hasattr(self, "support_"):
            return [None] * n
        same = classes is None or np.array_equal(self.classes_, classes)
        if self.n_features_in_ != penalty.l1.size or not same:
            return [None] * n
        here = penalty.of(self.support_)
        intercepts = np.atleast_1d(getattr(self, "intercept_", 0.0))
        for coef, intercept in zip(self._support_coef, intercepts, strict=True):
            kept = (coef != 0) & (coef >= here.low) & (coef <= here.high) & (here.l1 < NEVER)
            b = float(intercept) if self.fit_intercept else 0.0
            starts.append(Start(self.support_[kept], coef[kept], b))
        return starts

    def _store(self, results: list[Any]) -> None:
        """Set the attributes of an estimator at one C, or of k features."""
        self.__dict__.pop("refit_C_", None)
        self._refit_gap = 0.0
        self._reached: int | None = None
        if self.n_features is None:
            keep_solutions(self, results, float(self.C))
            return
        sized = [one for one, _ in results]
        refits = [fit for _, fit in results if fit is not None]  # all of them, or none
        self._reached = min(one.reached for one in sized)
        keep_solutions(self, [one.result for one in sized], one_or_all([one.C for one in sized]))
        if refits:
            self.refit_C_ = one_or_all([fit.C for fit in refits])
            self._refit_gap = max(fit.gap for fit in refits)
            self._models = tuple(
                replace(result, coef=fit.coef, intercept=fit.intercept)
                for result, fit in zip(self._results, refits, strict=True)
            )
            self._set_models(self._models)

    def _doubts(self) -> Iterator[Warning]:
        """Return the warnings that a fit at one C, or of k features, gives."""
        setting = setting_of(self)
        yield from _doubts.l1_gap(setting, self._results, self._refit_gap, self.solver)
        yield from _doubts.l1_size(setting, self.n_features, self._reached, self.C_, self.refit_C)

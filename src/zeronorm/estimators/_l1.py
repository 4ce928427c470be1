"""l1-regularised logistic regression and squared hinge, for every solver of the package."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import validate
from .._typing import Design, FloatArray
from ..result import Result
from ..solvers import L1Problem, working_set
from ..solvers.drive import Solver
from ..solvers.l1.descent import Penalty
from ..solvers.l1.path import Sized, l1_sizes
from ..solvers.l1.problem import NEVER, Start
from ..solvers.l1.setting import L1Setting, gap_of, refit_on_x
from ..solvers.pool.refit import Refit
from . import _doubts
from ._linear import LinearClassifier, Rowwise, one_versus_rest
from ._selecting import LOSSES, one_or_all


class L1Classifier(LinearClassifier):
    """Logistic regression (or squared hinge) with an l1 or elastic net penalty.

        min_{w, b}  sum_j p_j (r |w_j| + (1 - r)/2 w_j^2) + C sum_i s_i f(y_i, x_i'w + b)

    with p `penalty_factor`, r `l1_ratio`, s the sample weights times the class weights, and

        f(y, z) = log(1 + exp(-y z))  or  1/2 max(0, 1 - y z)^2

    (LIBLINEAR's squared hinge has no factor 1/2: its C is half of this). b is never penalised, and
    0 with `fit_intercept=False`. Most w_j are exactly zero: the others are the selected features,
    more of them for a larger C. Several classes are one-versus-rest, their scans merged.

    The solvers stop by a certified duality gap: the objective is within `dual_gap_`, as a share of
    the objective of the model without features, of the best possible.

    With `n_features=k` C is found instead: the largest one whose solution has at most k features.
    Mostly it has exactly k. Where several enter together (equal columns do), so that no C gives k,
    the features in before them are completed by those that are drawn in most, and the solution is
    the best one over these k. For each of several classes. As the penalty that selects also
    shrinks, the model is then a refit of these k features, with the same loss and

        min_{w, b}  1/2 ||w||^2 + refit_C sum_i s_i f(y_i, x_i'w + b)

    Parameters
    ----------
    C : float
        Weight of the summed loss: the 1 / (n_samples lambda) of packages with a mean loss. Not used
        with `n_features`.
    n_features : int or None
        k, of every class where there are several; constant columns do not count (unless there is
        neither an intercept nor standardisation). The path of solutions is followed to C, in some
        five passes over X for every doubling of C.
    refit_C : "loo", float or None
        C of the refit on the scaling of X, as in `BudgetClassifier`; "loo" chooses by approximate
        leave-one-out loss. None: no refit, the model is the l1 solution. Only with `n_features`:
        without, the model is always the l1 solution. The refit keeps no signs: with `signs` and
        `n_features` it must be None.
    l1_ratio : float
        r, in (0, 1]; 1 is the l1 penalty alone.
    loss : "logistic" or "squared_hinge"
        The latter is a support vector machine, without `predict_proba`.
    penalty_factor : (n_features,) or None
        p, finite and not negative, by default 1. A feature with 0 is never penalised.
    signs : (n_features,), a number or None
        -1, 0 or +1: w_j <= 0, free, w_j >= 0; one number is for all features. With several classes
        for each of their problems.
    fit_intercept : bool
        Whether b is free.
    standardize : bool
        Whether w_j is penalised as if column j had standard deviation 1 (weighted by s); then
        constant columns are never selected. X is not changed, and `coef_` is for X as it is.
    class_weight : dict, "balanced" or None
    tol : float
        The certified gap to stop at, relative to the objective of the model without features; at
        most 1.
    max_iter : int
        The most iterations; each ends with a pass over all features.
    warm_start : bool
        Whether to begin at the previous solution, where classes and number of features agree. Not
        used with `n_features`: a path has its own begin.
    n_threads : int or None
        Threads of passes over X; all allowed ones by default.

    Attributes
    ----------
    support_ : sorted indices of the features with a coefficient that is not zero (in any class).
        With `n_features` exactly k (in each class), also where one of them has a coefficient of 0.
    coef_, intercept_ : the model on all features, (1 or n_classes, n_features_in_): the refit where
        there is one, else the l1 solution.
    classes_ : labels.
    refit_C_ : C of the refit; only where there is one.

    What follows is of the l1 problem, also where there is a refit:

    C_ : C of the solution; with `n_features` the one found.
    objective_ : value of the problem at C_.
    dual_gap_ : certified (objective - bound) / objective without features; the largest of classes.
        It is that of the problem over all features at C_, also where k of them were chosen.
    n_iter_ : iterations; the most of any class.
    history_ : a `Step` per pass over the data, the gap in `extra`. With `n_features` passes at
        other C, which `extra` has too, come before those of the model.
    n_scans_ : passes over X for scores and certificates, those of all classes merged.
    seconds_ : by phase.

    With three or more classes refit_C_, C_, objective_ and history_ are tuples, one entry for each
    class against the rest in the order of `classes_`.

    Warns
    -----
    ConvergenceWarning
        Where a solver stopped at a gap of more than twice `tol` (and more than 1e-9).
    UserWarning
        Where no solution has `n_features` features, and scores had to choose the others.

    References
    ----------
    Yuan, Ho and Lin, An improved GLMNET for l1-regularized logistic regression, JMLR 13, 2012.
    Massias, Gramfort and Salmon, Celer: a fast solver for the Lasso with dual extrapolation, ICML
    2018.

    Examples
    --------
    >>> from zeronorm import L1Classifier
    >>> from zeronorm.datasets import load_golub
    >>> X, y = load_golub(return_X_y=True)
    >>> model = L1Classifier(C=0.1).fit(X, y)
    >>> bool(model.dual_gap_ <= 1e-4)
    True
    >>> L1Classifier(n_features=5).fit(X, y).support_.size
    5
    """

    solver: Any = "auto"  # a parameter of those that have others

    def __init__(
        self,
        C: float = 1.0,
        *,
        n_features: int | None = None,
        refit_C: float | str | None = "loo",
        l1_ratio: float = 1.0,
        loss: str = "logistic",
        penalty_factor: Any = None,
        signs: Any = None,
        fit_intercept: bool = True,
        standardize: bool = False,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        warm_start: bool = False,
        n_threads: int | None = None,
    ) -> None:
        self.C = C
        self.n_features = n_features
        self.refit_C = refit_C
        self.l1_ratio = l1_ratio
        self.loss = loss
        self.penalty_factor = penalty_factor
        self.signs = signs
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.n_threads = n_threads

    def _stored(self, design: Design) -> Design:
        return design.arranged()

    def _setting(self) -> L1Setting:
        return l1_setting(self, for_sizes=self.n_features is not None)

    def _begin(
        self, data: Rowwise, seconds: dict[str, float]
    ) -> tuple[np.ndarray, list[Solver[Any]]]:
        begin = time.perf_counter()
        data, unit = self._weigh(data)
        design, weight = data.design, data.sample_weight
        classes = np.unique(data.labels)
        setting = self._setting()
        problems = setting.problems(design, one_versus_rest(data.labels, classes), weight)
        penalty = problems[0].penalty
        seconds["standardize"] = time.perf_counter() - begin
        if self.n_features is not None:
            free, available = int((penalty.l1 == 0).sum()), int((penalty.l1 < NEVER).sum())
            k = validate.check_size(self.n_features, available, design.shape[1], free)
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

    def _solvers(self) -> tuple[Callable[..., Solver[Result]], Callable[..., Solver[Any]]]:
        """Return what solves a problem at its C, and what at the C that give some sizes."""
        return working_set, l1_sizes

    def _sized(
        self, problem: L1Problem, k: int, unit: FloatArray, seconds: dict[str, float]
    ) -> Solver[tuple[Sized, Refit | None]]:
        """Return the solution of k features, and its refit if there is one."""
        setting, design = self._setting(), problem.design
        models = yield from self._solvers()[1](
            problem, [k], tol=setting.tol, max_iter=setting.max_iter, n_threads=design.n_threads
        )
        result = models[k].result
        setting.explain(result, design, problem.risk.weight, float(self.C))
        begin = time.perf_counter()
        refitted = None
        if self.refit_C is not None:
            refitted = refit_on_x(problem, result.support, self.refit_C, unit)
        seconds["refit"] = seconds.get("refit", 0.0) + time.perf_counter() - begin
        return models[k], refitted

    def _starts(self, classes: np.ndarray, penalty: Penalty, n: int) -> list[Start | None]:
        """Return the feasible part of the n previous models, if they are of these classes."""
        starts: list[Start | None] = []
        if not self.warm_start or not hasattr(self, "support_"):
            return [None] * n
        if self.n_features_in_ != penalty.l1.size or not np.array_equal(self.classes_, classes):
            return [None] * n
        here = penalty.of(self.support_)
        for coef, intercept in zip(self._support_coef, self.intercept_, strict=True):
            kept = (coef != 0) & (coef >= here.low) & (coef <= here.high) & (here.l1 < NEVER)
            b = float(intercept) if self.fit_intercept else 0.0
            starts.append(Start(self.support_[kept], coef[kept], b))
        return starts

    def _store(self, results: list[Any]) -> None:
        self.__dict__.pop("refit_C_", None)
        self._refit_gap, self._reached = 0.0, None
        if self.n_features is None:
            keep_solutions(self, results, float(self.C))
            return
        sized = [model for model, _ in results]
        refits = [fit for _, fit in results if fit is not None]  # all of them, or none
        self._reached = min(model.reached for model in sized)
        keep_solutions(self, [model.result for model in sized], one_or_all([m.C for m in sized]))
        if refits:
            self.refit_C_ = one_or_all([fit.C for fit in refits])
            self._refit_gap = max(fit.gap for fit in refits)
            self._models = tuple(
                replace(result, coef=fit.coef, intercept=fit.intercept)
                for result, fit in zip(self._results, refits, strict=True)
            )
            self._set_models(self._models)

    def _check_parameters(self) -> None:
        check_l1(self)
        validate.check_positive("C", self.C)
        validate.check_count("n_features", self.n_features)
        if self.refit_C is not None:
            validate.check_refit_penalty(self.refit_C)
            if self.n_features is not None and self.signs is not None:
                raise ValueError(
                    "refit_C must be None with signs and n_features, as the refit keeps no signs; "
                    f"got {self.refit_C!r}. Use refit_C=None: the model is the l1 solution."
                )
        validate.check_flag("warm_start", self.warm_start)

    def _doubts(self) -> Iterator[Warning]:
        setting = self._setting()
        yield from _doubts.l1_gap(setting, self._results, self._refit_gap, self.solver)
        yield from _doubts.l1_size(setting, self.n_features, self._reached, self.C_, self.refit_C)

    @property
    def _score_loss(self) -> str:
        return str(self.loss)


def l1_setting(model: Any, for_sizes: bool = False) -> L1Setting:
    """Return the problem of an l1 estimator but its data."""
    return L1Setting(
        LOSSES[model.loss], float(model.l1_ratio), model.penalty_factor, model.signs,
        bool(model.fit_intercept), bool(model.standardize), float(model.tol), int(model.max_iter),
        for_sizes,
    )  # fmt: skip


def check_l1(model: Any) -> None:
    """Raise ValueError where a parameter that all l1 estimators have breaks a rule."""
    validate.check_share("l1_ratio", model.l1_ratio)
    validate.check_option("loss", model.loss, list(LOSSES))
    validate.check_gap("tol", model.tol)
    validate.check_iterations("max_iter", model.max_iter)
    validate.check_count("n_threads", model.n_threads)
    for name in ("fit_intercept", "standardize"):
        validate.check_flag(name, getattr(model, name))


def keep_solutions(model: Any, results: Sequence[Result], C: Any) -> None:
    """Set the attributes that the solutions of all classes give, at their C."""
    # Without their dual points, which have a number for every row.
    model._results = tuple(replace(result, dual=None) for result in results)
    model._models = model._results
    model._set_models(model._models)
    model.C_ = C
    model.objective_ = one_or_all([result.objective for result in results])
    model.history_ = one_or_all([result.history for result in results])
    model.n_iter_ = max(len(result.history) - 1 for result in results)
    model.dual_gap_ = max(gap_of(result) for result in results)
    model.seconds_["solve"] = sum(
        step.seconds["solve"] for result in results for step in result.history
    )

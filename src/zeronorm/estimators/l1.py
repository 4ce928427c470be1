"""l1-regularised linear models, at one C or with exactly k features."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import expit, softmax

from ..core import validation as validate
from ..core.budgets import check_size
from ..core.errors import Message, Parameter, ParameterError
from ..core.messages import counted, span
from ..core.results import Result
from ..core.targets import LEAST_L1_LOSS, check_sample_weight, check_total_weight
from ..core.types import Design, FloatArray, IndexArray, Likelihood
from ..data.operations import margins
from ..data.views import filled_over
from ..io.opening import as_design
from ..losses import Multinomial
from ..losses import probabilities as of_each
from ..losses.multi_output import classes_as_outputs
from ..solvers import L1Problem, working_set
from ..solvers.driver import Solver
from ..solvers.final_fits import Refit
from ..solvers.l1.path import Sized, l1_folds, l1_sizes
from ..solvers.l1.problem import NEVER, L1Point, Penalty, Start
from ..solvers.l1.setting import (
    CLASSIFIED,
    LOWER,
    SCORES,
    HeldOutScores,
    L1Setting,
    deviance_of,
    gap_of,
    multinomial_log_loss,
    refit_on_x,
)
from . import warnings as _doubts
from .base import LinearClassifier, LinearRegressor, SparseLinearModel, with_parameters
from .budget import one_or_all
from .folds import RULES, best_and_near, check_fold, splits
from .problem import TrainingData

# What the l1 estimators share: their checks, the problem that they pose, and its results.
#
# `L1Model` is the base of those at one C or of k features; `L1Folds` of those whose C
# is chosen by cross-validation. Both call the functions here.


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
        raise ParameterError(
            "loss",
            Message("must be 'logistic' for ", Parameter.of("multi_class", "multinomial")),
            f"{model.loss!r}",
            Message("Use ", Parameter.of("multi_class", "ovr"), "."),
        )


def setting_of(model: Any) -> L1Setting:
    """Return the problem of an l1 estimator but its data."""
    return L1Setting(
        model._loss(), float(model.l1_ratio), model.penalty_factor, model.signs,
        bool(model.fit_intercept), bool(model.standardize), float(model.tol), int(model.max_iter),
        for_sizes=getattr(model, "n_features", None) is not None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PosedL1:
    """The problems of an estimator on its rows, but their weights."""

    setting: L1Setting
    classes: np.ndarray | None
    targets: list[FloatArray]  # of every problem, with the offset
    exposure: FloatArray | None  # (n,) what an offset makes of the weight of a row

    def problems(self, design: Design, weight: FloatArray) -> list[L1Problem]:
        """Return the problems at C = 1."""
        return self.setting.problems(design, self.targets, weight, self.exposure)


def posed(model: Any, data: TrainingData) -> PosedL1:
    """Return the problems of an estimator."""
    setting = setting_of(model)
    classes, targets = model._problems(data.labels, data.sample_weight)
    if data.offset is not None:
        y, exposure = setting.loss.with_offset(targets[0], data.offset)
        return PosedL1(setting, classes, [y], exposure)
    if classes is not None and shares(model, len(classes)):
        q = len(classes)
        setting = replace(setting, loss=Multinomial(q, setting.intercept))
        targets = [classes_as_outputs(np.searchsorted(classes, data.labels), q)]
    return PosedL1(setting, classes, targets, None)


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
    model.gap_ = max(gap_of(result) for result in results)
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
    refit_C: float | Literal["loo"] | None = "loo"
    l1_ratio: float = 1.0
    penalty_factor: Any = None
    signs: int | ArrayLike | Mapping[Any, int] | None = None
    standardize: bool = False
    tol: float = 1e-4
    max_iter: int = 1000
    warm_start: bool = False
    n_threads: int | None = None
    checkpoint: Any = None

    _least_loss = LEAST_L1_LOSS

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
            raise ParameterError(
                "n_features",
                Message(
                    "must be None for ",
                    Parameter.of("multi_class", "multinomial"),
                    ", whose path counts coefficients and not features",
                ),
                f"{self.n_features!r}",
                "Use BudgetClassifier: it shares its features among the classes.",
            )

    def _stored(self, design: Design) -> Design:
        """Return the design in the storage that descents over columns want."""
        return design.arranged(for_descent=True)

    def _begin(
        self, data: TrainingData, seconds: dict[str, float]
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
            k = check_size(self.n_features, available, design.shape[1], free)
            unit = found.exposure if unit is None else unit
            return classes, [self._sized(problem, k, unit, seconds) for problem in problems]
        solvers = []
        C, solve = float(self.C), self._solvers()[0]
        starts = self._starts(classes, penalty, len(problems))
        for at_one, start in zip(problems, starts, strict=True):
            solver = solve(
                replace(at_one, risk=at_one.risk.times(C)), start=start, tol=setting.tol,
                max_iter=setting.max_iter,
            )  # fmt: skip
            solvers.append(setting.explained(solver, design, weight, C))
        return classes, solvers

    def _sized(
        self, problem: L1Problem, k: int, unit: FloatArray | None, seconds: dict[str, float]
    ) -> Solver[tuple[Sized, Refit | None]]:
        """Return the solution of k features, and its refit if there is one."""
        setting, design = setting_of(self), problem.design
        models = yield from self._solvers()[1](
            problem, [k], tol=setting.tol, max_iter=setting.max_iter
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


@with_parameters
class L1Classifier(L1Model, LinearClassifier):
    """Logistic regression (or squared hinge) with an l1 or elastic net penalty.

        min_{w, b}  sum_j p_j (r |w_j| + (1 - r)/2 w_j^2) + C sum_i s_i f(y_i, x_i'w + b)

    with p `penalty_factor`, r `l1_ratio`, s the sample weights times the class weights, and

        f(y, z) = log(1 + exp(-y z))  or  1/2 max(0, 1 - y z)^2

    (LIBLINEAR's squared hinge has no factor 1/2: its C is half of this). b is never penalised, and
    0 with `fit_intercept=False`. Most w_j are exactly zero: the others are the selected features,
    more of them for a larger C. Several classes are one-versus-rest, their scans merged.

    The solvers stop by a certified duality gap: the objective is within `gap_`, as a share of
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
        without, the model is always the l1 solution. The refit keeps the signs.
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
    multi_class : "ovr" or "multinomial"
        Of three or more classes: one against the rest, a problem for each, or one problem with the
        loss -log of the probability e^(x'w_c + b_c) / sum_o e^(x'w_o + b_o) of the class c of a
        row, and the penalty on every coefficient of every class: glmnet's "ungrouped". Not with
        `n_features`, for which `BudgetClassifier` shares its features among the classes.
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
    checkpoint : path-like or None
        A file that keeps every pass over the data: a killed fit goes on from it, see `Checkpoint`.

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
    gap_ : certified (objective - bound) / objective without features; the largest of classes.
        It is that of the problem over all features at C_, also where k of them were chosen.
    n_iter_ : iterations, at least 1; the most of any class.
    history_ : a `Step` per pass over the data, the gap in `extra`. With `n_features` passes at
        other C, which `extra` has too, come before those of the model.
    n_scans_ : passes over X for scores and certificates, those of all classes merged.
    seconds_ : by phase.

    With three or more classes refit_C_, C_, objective_ and history_ are tuples, one entry for each
    class against the rest in the order of `classes_`; with "multinomial" there is one problem.

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
    >>> from zeronorm.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = L1Classifier(C=0.1).fit(X, y)
    >>> bool(model.gap_ <= 1e-4)
    True
    >>> L1Classifier(n_features=5).fit(X, y).support_.size
    5
    """

    loss: Literal["logistic", "squared_hinge"] = "logistic"
    fit_intercept: bool = True
    multi_class: Literal["ovr", "multinomial"] = "ovr"
    class_weight: Any = None

    _probabilities = probabilities

    @property
    def _score_loss(self) -> str:
        return self._loss().name


@with_parameters
class L1Regressor(L1Model, LinearRegressor):
    """Least squares with an l1 or elastic net penalty: the lasso, and exactly k features of it.

        min_{w, b}  sum_j p_j (r |w_j| + (1 - r)/2 w_j^2) + C sum_i s_i 1/2 (y_i - x_i'w - b)^2

    with p `penalty_factor`, r `l1_ratio` and s the sample weights; b is never penalised, and 0 with
    `fit_intercept=False`. C is the 1 / (n_samples alpha) of packages with a mean loss, such as
    scikit-learn's `Lasso(alpha)`. All else is as in `L1Classifier`, whose twin this is: with
    `n_features=k` C is found, and the model is a refit of these k features by

        min_{w, b}  1/2 ||w||^2 + refit_C sum_i s_i 1/2 (y_i - x_i'w - b)^2

    Parameters
    ----------
    C, n_features, refit_C, l1_ratio, penalty_factor, signs, fit_intercept, standardize, tol,
    max_iter, warm_start, n_threads, checkpoint
        As in `L1Classifier`; "loo" is exact for least squares.
    loss : "least_squares", "huber", "quantile", "poisson", "gamma", or a loss
        In place of 1/2 (y - z)^2, as in `BudgetRegressor`; predictions are the means, e^margin of
        the last two. `fit` and `predict` take an `offset` of the margins.

    Attributes
    ----------
    As of `L1Classifier`, without those of classes; coef_ is (n_columns,) and intercept_ a number.

    Warns
    -----
    ConvergenceWarning
        Where the solver stopped at a gap of more than twice `tol` (and more than 1e-9).
    UserWarning
        Where no solution has `n_features` features, and scores had to choose the others.

    References
    ----------
    Tibshirani, Regression shrinkage and selection via the lasso, JRSS B 58, 1996. Massias, Gramfort
    and Salmon, Celer: a fast solver for the Lasso with dual extrapolation, ICML 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import L1Regressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 40))
    >>> y = X[:, 10] + X[:, 12] - X[:, 30] + 0.1 * rng.standard_normal(100)
    >>> model = L1Regressor(n_features=3).fit(X, y)
    >>> model.support_.tolist(), model.coef_[[10, 12, 30]].round(1).tolist()
    ([10, 12, 30], [1.0, 1.0, -1.0])
    >>> bool(L1Regressor(C=0.1).fit(X, y).gap_ <= 1e-4)
    True
    """

    loss: Any = "least_squares"
    fit_intercept: bool = True


# What the l1 estimators chosen by cross-validation share: folds as weights, all in one pass.


@dataclass(frozen=True, slots=True)
class L1Fold:
    """A fold, and what its held-out rows are scored from."""

    number: int
    drawn: FloatArray  # (n,) sample weights, times how often a row is learnt from
    learnt: np.ndarray  # (n,) whether a row has a weight in the fit
    test: IndexArray
    data: TrainingData
    targets: list[FloatArray]  # of every problem, with the offset
    exposure: FloatArray | None

    @property
    def weight(self) -> FloatArray:
        """The sample weights of the rows held out."""
        return np.asarray(self.data.sample_weight[self.test])


@dataclass(frozen=True, slots=True)
class _Solved:
    """What the solver of all folds found."""

    Cs: FloatArray
    scores: FloatArray  # (n_Cs, n_folds)
    solutions: list[list[Result]]  # of all data: [problem][C]
    names: list[str] | None


@with_parameters
class L1Folds(SparseLinearModel):
    """Base of the l1 estimators whose C is chosen by cross-validation."""

    Cs: Any = field(default=100, kw_only=False)
    cv: Any = 5
    rule: Literal["1se", "best"] = "1se"
    random_state: int | None = 0
    l1_ratio: float = 1.0
    penalty_factor: Any = None
    signs: int | ArrayLike | Mapping[Any, int] | None = None
    standardize: bool = False
    tol: float = 1e-4
    max_iter: int = 1000
    n_threads: int | None = None
    checkpoint: Any = None

    @abstractmethod
    def _shared_by_folds(self, labels: np.ndarray) -> np.ndarray | None:
        """Return what folds have in equal shares, if anything."""

    @abstractmethod
    def _held_out(self, fold: L1Fold, classes: Any, loss: Any) -> HeldOutScores:
        """Return what scores the rows that a fold holds out."""

    def _stored(self, design: Design) -> Design:
        """Return the design in the storage that descents over columns want."""
        return design.arranged(for_descent=True)

    def _check_parameters(self) -> None:
        """Raise ValueError where a parameter breaks a rule."""
        check_common(self)
        validate.check_grid(self.Cs)
        validate.check_option("rule", self.rule, RULES)
        validate.check_seed(self.random_state)

    def _read(
        self, X: Any, y: Any, sample_weight: Any, offset: Any = None, groups: Any = None
    ) -> TrainingData:
        """Validate everything; rows of weight 0 stay, as splits number all rows."""
        data = super()._read(X, y, None, offset, groups)
        weight = check_sample_weight(sample_weight, len(data.labels))
        return replace(data, sample_weight=weight)

    def _begin(
        self, data: TrainingData, seconds: dict[str, float]
    ) -> tuple[np.ndarray | None, list[Solver[Any]]]:
        """Return the classes, if any, and the solver of all folds and all data."""
        started = time.perf_counter()
        design, labels, sample_weight = data.design, data.labels, data.sample_weight
        weight = sample_weight * self._unit(labels, sample_weight)
        found = posed(self, replace(data, sample_weight=weight))
        setting, classes = found.setting, found.classes
        values = validate.check_grid(self.Cs)
        largest = 1.0 if isinstance(values, int) else values[-1]
        check_total_weight(largest, weight, LEAST_L1_LOSS)
        whole = found.problems(design, weight)
        folds: list[list[L1Problem]] = []
        held_out: list[HeldOutScores] = []
        strata = self._shared_by_folds(labels)
        for train, test in splits(
            labels if strata is None else strata, weight, self.cv, self.random_state,
            several=True, stratify=strata is not None, groups=data.groups,
        ):  # fmt: skip
            drawn = sample_weight * np.bincount(train, minlength=weight.size)
            part = drawn * self._unit(labels, drawn)
            fold = L1Fold(len(folds), drawn, part > 0, test, data, found.targets, found.exposure)
            held_out.append(self._held_out(fold, classes, whole[0].risk.loss))
            part *= weight.sum() / part.sum()
            own = posed(self, replace(data, sample_weight=part))
            folds.append(own.problems(filled_over(design, np.flatnonzero(part)), part))
        seconds["standardize"] = time.perf_counter() - started

        def told(fold: int, number: int, step: int, point: L1Point) -> None:
            held_out[fold].add(number, step, folds[fold][number].risk.margins(point.z))

        def solver() -> Solver[_Solved]:
            Cs, solutions, seconds["solve"] = yield from l1_folds(
                whole, folds, lambda smallest: grid(values, None, smallest, whole[0]), told,
                tol=setting.tol, max_iter=setting.max_iter,
                stop_early=isinstance(values, int),
            )  # fmt: skip
            setting.explain(max(chain(*solutions), key=gap_of), design, weight)
            scores = np.array([[fold.scores[step] for fold in held_out] for step in range(len(Cs))])
            return _Solved(Cs, scores, solutions, data.names)

        return classes, [solver()]

    def _store(self, results: list[_Solved]) -> None:
        """Set the attributes that the solutions give."""
        (solved,) = results
        self.Cs_, self.scores_ = solved.Cs, solved.scores
        n_folds = solved.scores.shape[1]
        self.mean_score_ = solved.scores.mean(axis=1)
        self.standard_error_ = solved.scores.std(axis=1, ddof=1) / np.sqrt(n_folds)
        mean = -self.mean_score_ if self.scoring in LOWER else self.mean_score_
        best, near = best_and_near(mean, self.standard_error_)
        chosen = near if self.rule == "1se" else best
        solve = self.seconds_["solve"]  # of the folds too
        models = [path[chosen] for path in solved.solutions]
        keep_solutions(self, models, float(solved.Cs[chosen]))
        self.seconds_["solve"] = solve
        self.C_best_, self.C_1se_ = float(solved.Cs[best]), float(solved.Cs[near])
        self.n_iter_ = max(sum(len(one.history) for one in path) for path in solved.solutions)
        classes = getattr(self, "classes_", None)
        found = solved.solutions
        if classes is not None and shares(self, len(classes)):
            found = [list(part) for part in zip(*map(parts, found[0]), strict=True)]
        paths = [
            path_of(
                solved.Cs, path, self.n_features_in_, self.n_scans_, classes, self._score_loss,
                solved.names,
            )
            for path in found
        ]  # fmt: skip
        self.l1_path_ = one_or_all(paths)
        supports = [[one.support for one in ones] for ones in zip(*found, strict=True)]
        self.n_selected_ = np.array([np.unique(np.concatenate(some)).size for some in supports])

    def _doubts(self) -> Iterable[Warning]:
        """Return the warnings that a fit gives."""
        return _doubts.l1_gap(setting_of(self), self._results, 0.0, "auto")


# The l1 estimators with their C chosen by cross-validation, all folds in the same passes.


@with_parameters
class L1ClassifierCV(L1Folds, LinearClassifier):
    """l1-regularised logistic regression (or squared hinge), C chosen by cross-validation.

        min_{w, b}  sum_j p_j (r |w_j| + (1 - r)/2 w_j^2) + C sum_i s_i f(y_i, x_i'w + b)

    as in `L1Classifier`, for every C of a growing grid; the model is that of the chosen C.
    Several classes are one-versus-rest with one C for all.

    A fold is a set of weights: the rows that it holds out get the weight 0. No data are copied, the
    paths of all folds, classes and of the whole data run side by side, and their scans are merged:
    X is read as often as the longest of them needs. Everything that depends on data is done in each
    fold, standardisation and "balanced" class weights too. The weights of the training rows are
    scaled to the total of all rows, so that at one C loss and penalty have the same balance: a fold
    with the share q of the weight is the problem of `L1Classifier(C / q)` on its rows.

    Parameters
    ----------
    Cs : int or (n_Cs,)
        As for `l1_path`: so many values (at most 10,000) in geometric progression, from the C
        below which no feature enters to 100 times that where X has fewer rows than columns, else
        1e4 times; or these values, growing. So many values end early where 1e-3 of the loss is
        left (for every class).
    cv : int, scikit-learn splitter, or (train, test) pairs of row numbers
        So many stratified folds of the rows of positive weight; the others number all rows of X.
        A row that is twice in a train counts twice.
    scoring : str
        Of the held-out rows, with their sample weights.

        - "log_loss": mean -log of the probability of the true class; the smaller the better.
        - "accuracy"
        - "auc": area under the ROC curve, for two classes.
    rule : str
        - "1se": the smallest C whose mean score is within one standard error of the best one.
        - "best": the C with the best mean score, the smallest of equal ones.
    random_state : int or None
        Of the shuffle of stratified folds, from 0 to 2^32 - 1; None shuffles in another way at
        every fit.
    l1_ratio, loss, penalty_factor, signs, fit_intercept, standardize, multi_class, class_weight,
    tol, max_iter, n_threads, checkpoint : as for `L1Classifier`; tol and max_iter hold at every C.

    Attributes
    ----------
    C_ : C of the model, `C_best_` or `C_1se_` by the rule.
    Cs_ : (n_Cs,) growing.
    scores_ : (n_Cs, n_folds).
    mean_score_, standard_error_ : (n_Cs,) over the folds; the error is their standard deviation
        divided by the root of their number.
    n_selected_ : (n_Cs,) features with a coefficient (in any class) of the solutions on all data.
    l1_path_ : `L1Path` of all data.
    support_, coef_, intercept_, classes_, objective_, gap_ : as for `L1Classifier`.
    n_iter_ : passes of the path of all data; the most of any class.
    history_ : a `Step` per pass at C_.
    n_scans_ : passes over X for scores and certificates, of all folds and classes.
    seconds_ : by phase.

    With three or more classes l1_path_, objective_ and history_ are tuples, one entry for each
    class against the rest in the order of `classes_`; with "multinomial" there is one problem, and
    l1_path_ alone has an entry for the coefficients of each class.

    Warns
    -----
    ConvergenceWarning
        Where the model of C_ stopped at a gap of more than twice `tol` (and more than 1e-9).

    References
    ----------
    Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models via
    coordinate descent, Journal of Statistical Software 33, 2010.

    Examples
    --------
    >>> from zeronorm import L1ClassifierCV
    >>> from zeronorm.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = L1ClassifierCV(standardize=True).fit(X, y)
    >>> model.C_1se_ <= model.C_best_
    True
    """

    scoring: Literal["log_loss", "accuracy", "auc"] = "log_loss"
    loss: Literal["logistic", "squared_hinge"] = "logistic"
    fit_intercept: bool = True
    multi_class: Literal["ovr", "multinomial"] = "ovr"
    class_weight: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        validate.check_option("scoring", self.scoring, CLASSIFIED)
        if self.scoring == "log_loss" and self._score_loss != "logistic":
            raise ValueError(
                Message(
                    Parameter.of("scoring", "log_loss"),
                    " needs ",
                    Parameter.of("loss", "logistic"),
                    f"; got {self.loss!r}, whose scores are no log-odds. Use ",
                    Parameter.of("scoring", "accuracy"),
                    " or 'auc'.",
                )
            )

    _probabilities = probabilities

    @property
    def _score_loss(self) -> str:
        return self._loss().name

    def _shared_by_folds(self, labels: np.ndarray) -> np.ndarray | None:
        """Return what folds have in equal shares: the labels."""
        return labels

    def _held_out(self, fold: L1Fold, classes: Any, loss: Likelihood) -> HeldOutScores:
        """Return what scores the rows that a fold holds out."""
        labels, test = fold.data.labels, fold.test
        check_fold(fold.number, classes, labels[fold.learnt], labels[test], self.scoring)
        codes, judge = np.searchsorted(classes, labels[test]), SCORES[self.scoring]
        if self.scoring == "log_loss" and shares(self, len(classes)):
            judge = multinomial_log_loss
        return HeldOutScores(
            test, len(fold.targets), lambda margins: judge(margins, codes, fold.weight)
        )


@with_parameters
class L1RegressorCV(L1Folds, LinearRegressor):
    """Least squares with an l1 or elastic net penalty, C chosen by cross-validation.

        min_{w, b}  sum_j p_j (r |w_j| + (1 - r)/2 w_j^2) + C sum_i s_i 1/2 (y_i - x_i'w - b)^2

    as in `L1Regressor`, for every C of a growing grid; the model is that of the chosen C. All folds
    and the whole data are followed in the same passes over X, as in `L1ClassifierCV`, whose twin
    this is. The score is the mean squared error of the held-out rows, with their sample weights; of
    other losses the mean deviance, twice the loss, with the width of Huber's and of quantiles that
    follows from all rows.

    Parameters
    ----------
    Cs, rule, random_state
        As in `L1ClassifierCV`.
    cv : int, scikit-learn splitter, or (train, test) pairs of row numbers
        So many folds of the rows of positive weight; the others number all rows of X.
    l1_ratio, loss, penalty_factor, signs, fit_intercept, standardize, tol, max_iter, n_threads,
    checkpoint
        As in `L1Regressor`; tol and max_iter hold at every C.

    Attributes
    ----------
    As of `L1ClassifierCV`, without those of classes; coef_ is (n_columns,) and intercept_ a number.

    Warns
    -----
    ConvergenceWarning
        Where the model of C_ stopped at a gap of more than twice `tol` (and more than 1e-9).

    References
    ----------
    Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models via
    coordinate descent, Journal of Statistical Software 33, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import L1RegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 40))
    >>> y = X[:, 10] + X[:, 12] - X[:, 30] + 0.1 * rng.standard_normal(100)
    >>> model = L1RegressorCV().fit(X, y)
    >>> set([10, 12, 30]) <= set(model.support_.tolist())
    True
    >>> model.mean_score_.min() < 0.1
    np.True_
    """

    loss: Any = "least_squares"
    fit_intercept: bool = True

    @property
    def scoring(self) -> str:
        """What held-out rows are scored by."""
        return "squared_error" if self._loss().name == "least_squares" else "deviance"

    def _shared_by_folds(self, labels: np.ndarray) -> np.ndarray | None:
        """Return what folds have in equal shares: nothing."""
        return None

    def _held_out(self, fold: L1Fold, classes: Any, loss: Likelihood) -> HeldOutScores:
        """Return what scores the rows that a fold holds out."""
        (target,), test, weight = fold.targets, fold.test, fold.weight
        target = target[test]
        if self.scoring == "squared_error":
            judge = SCORES["squared_error"]
            return HeldOutScores(test, 1, lambda margins: judge(margins, target, weight))
        seen = weight if fold.exposure is None else weight * fold.exposure[test]
        return HeldOutScores(test, 1, deviance_of(loss, target, seen, float(weight.sum())))


LARGEST_C = 1e160  # Where only larger ones bring a feature in, squares of scores are 0.


@dataclass(frozen=True, eq=False)
class L1Path:
    """Solutions of an l1 problem along a growing C.

    Coefficients are for X as it is: `coef[[i]]` those of solution i, `support(i)` its features.
    """

    Cs: FloatArray  # (n_Cs,) growing
    coef: Any  # (n_Cs, n_features) csr_array
    intercept: FloatArray  # (n_Cs,)
    objective: FloatArray  # (n_Cs,)
    bound: FloatArray  # (n_Cs,) certified lower bounds of the best objective
    dual_gap: FloatArray  # (n_Cs,) (objective - bound) / objective without features
    explained: FloatArray  # (n_Cs,) share of the loss (the deviance) without features that is gone
    n_scans: int  # passes over X
    classes: np.ndarray | None  # (2,) labels; scores above 0 are for the second
    loss: str  # its name
    feature_names: tuple[str, ...] | None  # of the columns of X, if it has any

    @property
    def n_selected(self) -> IndexArray:
        """The number of features of every solution, (n_Cs,)."""
        return np.asarray(np.diff(self.coef.indptr), np.int64)

    def __len__(self) -> int:
        """Return the number of solutions."""
        return int(self.Cs.size)

    def __repr__(self) -> str:
        """Return the figures, without the arrays."""
        return (
            f"L1Path({len(self)} solutions, C from {self.Cs[0]:.3g} to {self.Cs[-1]:.3g}, "
            f"{self.n_selected[0]} to {self.n_selected[-1]} of {self.coef.shape[1]} features, "
            f"dual_gap<={self.dual_gap.max():.1e})"
        )

    def support(self, i: int) -> IndexArray:
        """Return the features of solution i, sorted; IndexError where there is none."""
        try:
            i = range(len(self))[i]
        except IndexError:
            raise IndexError(
                f"i must be {span(0, len(self) - 1)}: the path has "
                f"{counted(len(self), 'solution')}; got {i}."
            ) from None
        own = slice(self.coef.indptr[i], self.coef.indptr[i + 1])
        return np.asarray(self.coef.indices[own], np.int64)

    def at_most(self, k: int) -> int:
        """Return the number of the solution with the largest C of those with at most k features.

        Raises
        ------
        ValueError
            Where every solution has more.
        """
        small = np.flatnonzero(self.n_selected <= k)
        if not small.size:
            raise ParameterError(
                "k",
                f"must be at least {self.n_selected.min()}, the fewest features of a solution of "
                "this path",
                f"{k}",
            )
        return int(small[-1])

    def decision_function(self, X: Any, *, n_threads: int | None = None) -> FloatArray:
        """Return X coef' + intercept of every solution, (n_samples, n_Cs).

        They are scores of the classes, or what a solution of least squares predicts.

        X : as for `l1_path`; only the features of some solution are read.
        """
        design = as_design(validate.check_data(X), n_threads=n_threads)
        n_features = self.coef.shape[1]
        if design.shape[1] != n_features:
            raise ParameterError(
                "X",
                f"must have {n_features} columns, as the path was fitted on",
                f"{design.shape[1]}",
            )
        used = np.unique(self.coef.indices).astype(np.int64)
        return margins(design, used, self.coef[:, used].toarray().T, self.intercept)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of the second class by every solution, (n_samples, n_Cs)."""
        if self.loss != "logistic":
            raise ValueError(
                Message(
                    "Probabilities need ",
                    Parameter.of("loss", "logistic"),
                    f"; got {self.loss!r}, whose scores are no log-odds. Use decision_function.",
                )
            )
        return np.asarray(expit(self.decision_function(X)))


def grid(
    Cs: int | FloatArray, ratio: float | None, smallest: float, problem: L1Problem
) -> FloatArray:
    """Return values of C, growing, from the smallest one of interest where they are not given."""
    if not smallest < LARGEST_C:
        raise ValueError(UNRELATED)
    if not isinstance(Cs, int):
        return Cs
    if ratio is None:
        y, of_survival = problem.risk.y, problem.risk.loss.target == "survival"
        # Of survival times events count: more features than these can order all of them.
        size = float(problem.risk.weight @ y[:, 1]) if of_survival else problem.size
        ratio = WIDE_RATIO if size < problem.design.shape[1] else TALL_RATIO
    return np.asarray(smallest * np.geomspace(1.0, ratio, Cs))


def path_of(
    Cs: FloatArray,
    results: Sequence[Result],
    n_features: int,
    n_scans: int,
    classes: np.ndarray | None,
    loss: str,
    names: Sequence[str] | None,
) -> L1Path:
    """Return the record of the solutions at every C."""
    sizes = [result.support.size for result in results]
    coef = sp.csr_array(
        (
            np.concatenate([result.coef for result in results]),
            np.concatenate([result.support for result in results]),
            np.concatenate([[0], np.cumsum(sizes)]),
        ),
        shape=(len(results), n_features),
    )
    return L1Path(
        Cs, coef,
        intercept=np.array([result.intercept for result in results]),
        objective=np.array([result.objective for result in results]),
        bound=np.array([result.bounds["dual"] for result in results]),
        dual_gap=np.array([gap_of(result) for result in results]),
        explained=np.array([result.history[-1].extra["explained"] for result in results]),
        n_scans=n_scans, classes=classes, loss=loss,
        feature_names=None if names is None else tuple(names),
    )  # fmt: skip


# Of the largest C to the smallest one, with fewer samples than features, and else: as in glmnet.
WIDE_RATIO, TALL_RATIO = 100.0, 1e4


UNRELATED = (
    "X must have a penalised feature that some C brings in; all their scores are 0, but for "
    "rounding. Are all columns constant or below 1e-160, or y, or are they excluded by "
    "signs, or do the features without a penalty separate the classes, or fit y?"
)

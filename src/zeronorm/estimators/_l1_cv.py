"""The l1 estimators with their C chosen by cross-validation, all folds in the same passes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from .. import validate
from .._folds import RULES, best_and_near, check_fold, splits
from .._typing import FloatArray, IndexArray, Likelihood
from ..result import Result
from ..solvers import L1Problem
from ..solvers.drive import Solver
from ..solvers.l1.held_out import CLASSIFIED, LOWER, SCORES, HeldOut, deviance_of
from ..solvers.l1.path import l1_folds
from ..solvers.l1.problem import Point
from ..solvers.l1.setting import gap_of
from . import _doubts, _l1_problem
from ._l1_path import grid, path_of
from ._linear import LinearClassifier, LinearRegressor, Rowwise
from ._selecting import one_or_all
from ._sparse_linear import SparseLinearModel


@dataclass(frozen=True, slots=True)
class Fold:
    """A fold, and what its held-out rows are scored from."""

    number: int
    drawn: FloatArray  # (n,) sample weights, times how often a row is learnt from
    learnt: np.ndarray  # (n,) whether a row has a weight in the fit
    test: IndexArray
    data: Rowwise
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


def check(model: Any) -> None:
    """Raise ValueError where a parameter breaks a rule."""
    _l1_problem.check_common(model)
    validate.check_grid(model.Cs)
    validate.check_option("rule", model.rule, RULES)
    validate.check_seed(model.random_state)


def read(model: Any, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Rowwise:
    """Validate everything; rows of weight 0 stay, as splits number all rows."""
    data = SparseLinearModel._read(model, X, y, None, offset)
    weight = validate.check_sample_weight(sample_weight, len(data.labels))
    return replace(data, sample_weight=weight)


def begin(
    model: Any, data: Rowwise, seconds: dict[str, float]
) -> tuple[np.ndarray | None, list[Solver[Any]]]:
    """Return the classes, if any, and the solver of all folds and all data."""
    started = time.perf_counter()
    design, labels, sample_weight = data.design, data.labels, data.sample_weight
    weight = sample_weight * model._unit(labels, sample_weight)
    classes, targets, exposure = _l1_problem.posed(model, replace(data, sample_weight=weight))
    values = validate.check_grid(model.Cs)
    validate.check_total_weight(1.0 if isinstance(values, int) else values[-1], weight)
    setting = _l1_problem.setting_of(model)
    whole = setting.problems(design, targets, weight, exposure)
    folds: list[list[L1Problem]] = []
    held_out: list[HeldOut] = []
    strata = model._shared_by_folds(labels)
    for train, test in splits(
        labels if strata is None else strata, weight, model.cv, model.random_state,
        several=True, stratify=strata is not None,
    ):  # fmt: skip
        drawn = sample_weight * np.bincount(train, minlength=weight.size)
        part = drawn * model._unit(labels, drawn)
        fold = Fold(len(folds), drawn, part > 0, test, data, targets, exposure)
        held_out.append(model._held_out(fold, classes, whole[0].risk.loss))
        part *= weight.sum() / part.sum()
        own = _l1_problem.posed(model, replace(data, sample_weight=part))[1]
        folds.append(setting.problems(design, own, part, exposure))
    seconds["standardize"] = time.perf_counter() - started

    def told(fold: int, number: int, step: int, point: Point) -> None:
        held_out[fold].add(number, step, point.z + folds[fold][number].risk.origin)

    def solver() -> Solver[_Solved]:
        Cs, solutions, seconds["solve"] = yield from l1_folds(
            whole, folds, lambda smallest: grid(values, None, smallest, whole[0]), told,
            tol=setting.tol, max_iter=setting.max_iter,
            stop_early=isinstance(values, int), n_threads=design.n_threads,
        )  # fmt: skip
        setting.explain(max(chain(*solutions), key=gap_of), design, weight)
        scores = np.array([[fold.scores[step] for fold in held_out] for step in range(len(Cs))])
        return _Solved(Cs, scores, solutions, data.names)

    return classes, [solver()]


def keep(model: Any, results: list[_Solved]) -> None:
    """Set the attributes that the solutions give."""
    (solved,) = results
    model.Cs_, model.scores_ = solved.Cs, solved.scores
    n_folds = solved.scores.shape[1]
    model.mean_score_ = solved.scores.mean(axis=1)
    model.standard_error_ = solved.scores.std(axis=1, ddof=1) / np.sqrt(n_folds)
    mean = -model.mean_score_ if model.scoring in LOWER else model.mean_score_
    best, near = best_and_near(mean, model.standard_error_)
    chosen = near if model.rule == "1se" else best
    solve = model.seconds_["solve"]  # of the folds too
    models = [path[chosen] for path in solved.solutions]
    _l1_problem.keep_solutions(model, models, float(solved.Cs[chosen]))
    model.seconds_["solve"] = solve
    model.C_best_, model.C_1se_ = float(solved.Cs[best]), float(solved.Cs[near])
    model.n_iter_ = max(sum(len(one.history) for one in path) for path in solved.solutions)
    paths = [
        path_of(
            solved.Cs, path, model.n_features_in_, model.n_scans_,
            getattr(model, "classes_", None), model._score_loss, solved.names,
        )
        for path in solved.solutions
    ]  # fmt: skip
    model.l1_path_ = one_or_all(paths)
    supports = [[one.support for one in ones] for ones in zip(*solved.solutions, strict=True)]
    model.n_selected_ = np.array([np.unique(np.concatenate(some)).size for some in supports])


def warned(model: Any) -> Iterable[Warning]:
    """Return the warnings that a fit gives."""
    return _doubts.l1_gap(_l1_problem.setting_of(model), model._results, 0.0, "auto")


class L1ClassifierCV(LinearClassifier):
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
    l1_ratio, loss, penalty_factor, signs, fit_intercept, standardize, class_weight, tol, max_iter,
    n_threads : as for `L1Classifier`; tol and max_iter hold at every C.

    Attributes
    ----------
    C_ : C of the model, `C_best_` or `C_1se_` by the rule.
    Cs_ : (n_Cs,) growing.
    scores_ : (n_Cs, n_folds).
    mean_score_, standard_error_ : (n_Cs,) over the folds; the error is their standard deviation
        divided by the root of their number.
    n_selected_ : (n_Cs,) features with a coefficient (in any class) of the solutions on all data.
    l1_path_ : `L1Path` of all data.
    support_, coef_, intercept_, classes_, objective_, dual_gap_ : as for `L1Classifier`.
    n_iter_ : passes of the path of all data; the most of any class.
    history_ : a `Step` per pass at C_.
    n_scans_ : passes over X for scores and certificates, of all folds and classes.
    seconds_ : by phase.

    With three or more classes l1_path_, objective_ and history_ are tuples, one entry for each
    class against the rest in the order of `classes_`.

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
    >>> from zeronorm.datasets import load_golub
    >>> X, y = load_golub(return_X_y=True)
    >>> model = L1ClassifierCV(standardize=True).fit(X, y)
    >>> model.C_1se_ <= model.C_best_
    True
    """

    def __init__(
        self,
        Cs: Any = 100,
        *,
        cv: Any = 5,
        scoring: str = "log_loss",
        rule: str = "1se",
        random_state: int | None = 0,
        l1_ratio: float = 1.0,
        loss: str = "logistic",
        penalty_factor: Any = None,
        signs: Any = None,
        fit_intercept: bool = True,
        standardize: bool = False,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        n_threads: int | None = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.random_state = random_state
        self.l1_ratio = l1_ratio
        self.loss = loss
        self.penalty_factor = penalty_factor
        self.signs = signs
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads

    _stored = _l1_problem.stored
    _read = read
    _begin = begin
    _store = keep
    _doubts = warned

    def _check_parameters(self) -> None:
        check(self)
        validate.check_option("scoring", self.scoring, CLASSIFIED)
        if self.scoring == "log_loss" and self._score_loss != "logistic":
            raise ValueError(
                f"scoring='log_loss' needs loss='logistic'; got {self.loss!r}, whose scores are no "
                "log-odds. Use scoring='accuracy' or 'auc'."
            )

    @property
    def _score_loss(self) -> str:
        return self._loss().name

    def _shared_by_folds(self, labels: np.ndarray) -> np.ndarray | None:
        """Return what folds have in equal shares: the labels."""
        return labels

    def _held_out(self, fold: Fold, classes: np.ndarray, loss: Likelihood) -> HeldOut:
        """Return what scores the rows that a fold holds out."""
        labels, test = fold.data.labels, fold.test
        check_fold(fold.number, classes, labels[fold.learnt], labels[test], self.scoring)
        codes, judge = np.searchsorted(classes, labels[test]), SCORES[self.scoring]
        return HeldOut(test, len(fold.targets), lambda margins: judge(margins, codes, fold.weight))


class L1RegressorCV(LinearRegressor):
    """Least squares with an l1 or elastic net penalty, C chosen by cross-validation.

        min_{w, b}  sum_j p_j (r |w_j| + (1 - r)/2 w_j^2) + C sum_i s_i 1/2 (y_i - x_i'w - b)^2

    as in `L1Regressor`, for every C of a growing grid; the model is that of the chosen C. All folds
    and the whole data are followed in the same passes over X, as in `L1ClassifierCV`, whose twin
    this is. The score is the mean squared error of the held-out rows, with their sample weights.

    Parameters
    ----------
    Cs, rule, random_state
        As in `L1ClassifierCV`.
    cv : int, scikit-learn splitter, or (train, test) pairs of row numbers
        So many folds of the rows of positive weight; the others number all rows of X.
    l1_ratio, loss, penalty_factor, signs, fit_intercept, standardize, tol, max_iter, n_threads
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

    def __init__(
        self,
        Cs: Any = 100,
        *,
        cv: Any = 5,
        rule: str = "1se",
        random_state: int | None = 0,
        l1_ratio: float = 1.0,
        loss: str = "least_squares",
        penalty_factor: Any = None,
        signs: Any = None,
        fit_intercept: bool = True,
        standardize: bool = False,
        tol: float = 1e-4,
        max_iter: int = 1000,
        n_threads: int | None = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.rule = rule
        self.random_state = random_state
        self.l1_ratio = l1_ratio
        self.loss = loss
        self.penalty_factor = penalty_factor
        self.signs = signs
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads

    _stored = _l1_problem.stored
    _read = read
    _begin = begin
    _store = keep
    _doubts = warned

    def _check_parameters(self) -> None:
        check(self)

    @property
    def scoring(self) -> str:
        """What held-out rows are scored by."""
        return "squared_error" if self._loss().name == "least_squares" else "deviance"

    def _shared_by_folds(self, labels: np.ndarray) -> np.ndarray | None:
        """Return what folds have in equal shares: nothing."""
        return None

    def _held_out(self, fold: Fold, classes: None, loss: Likelihood) -> HeldOut:
        """Return what scores the rows that a fold holds out."""
        (target,), test, weight = fold.targets, fold.test, fold.weight
        target = target[test]
        if self.scoring == "squared_error":
            judge = SCORES["squared_error"]
            return HeldOut(test, 1, lambda margins: judge(margins, target, weight))
        seen = weight if fold.exposure is None else weight * fold.exposure[test]
        return HeldOut(test, 1, deviance_of(loss, target, seen, float(weight.sum())))


__all__ = [
    "Fold",
    "L1ClassifierCV",
    "L1RegressorCV",
    "begin",
    "check",
    "keep",
    "read",
    "warned",
]

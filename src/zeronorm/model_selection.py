"""Cross-validation of a whole selection procedure: features are selected inside the folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.metrics import get_scorer
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.metaestimators import available_if

from . import validate
from ._folds import EQUAL, RULES, best_and_near, splits
from ._threads import one_blas_thread
from ._typing import Design, FloatArray, IndexArray
from .checkpoints import recorded
from .designs import Rows
from .designs._filled import filled_over
from .estimators._linear import gives_probabilities
from .estimators._selecting import Selector
from .estimators._sparse_linear import margins_of
from .files import PathLike
from .measures import Measure, macro_average, parse_measure
from .ordering import numbered, predicted
from .result import Path
from .solvers import Progress, run_together
from .solvers.drive import Solver


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """Scores on held-out rows, for every size of the budget."""

    # They are the keys of `path_`: numbers, or pairs of features and groups. Without a budget the
    # only size is the number of usable columns.
    sizes: tuple[Any, ...]
    scores: FloatArray  # (n_sizes, n_folds) weighted accuracy, or the measure
    measure: str = "accuracy"

    @property
    def mean(self) -> FloatArray:
        """Mean over the folds, (n_sizes,)."""
        return np.asarray(self.scores.mean(axis=1))

    @property
    def standard_error(self) -> FloatArray:
        """Standard deviation over the folds divided by the root of their number, (n_sizes,)."""
        n_folds = self.scores.shape[1]
        return np.asarray(self.scores.std(axis=1, ddof=1) / np.sqrt(n_folds))

    def choose(self, rule: str = "1se") -> Any:
        """Return the size that a rule takes.

        rule : "1se", the smallest size whose mean is within one standard error of the best mean; or
            "best", the size of the best mean, the smallest of equal ones.
        """
        validate.check_option("rule", rule, RULES)
        if self.scores.shape[1] < 2:
            raise ValueError(
                f"cv must give at least two folds to choose a size; got {self.scores.shape[1]}."
            )
        slack = EQUAL * max(
            1.0, float(np.abs(self.mean).max(where=np.isfinite(self.mean), initial=0))
        )
        best, near = best_and_near(self.mean, self.standard_error, slack)
        return self.sizes[near if rule == "1se" else best]


@one_blas_thread
def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: int | BaseCrossValidator | Iterable[Any] = 5,
    sample_weight: Any = None,
    measure: str | Measure | None = None,
    scoring: str | Callable[..., float] | None = None,
    offset: Any = None,
    pos_label: Any = None,
    random_state: int | None = 0,
    checkpoint: PathLike | None = None,
    callback: Callable[[Progress], None] | None = None,
) -> CrossValidation:
    """Cross-validate a selection under a budget, with the refit, inside every fold.

    No data are copied: a fold is a set of rows of X, and the scans of all folds (and classes) are
    merged into one pass over X. Scores of classes are not calibrated.

    Parameters
    ----------
    estimator : BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis, MeasureClassifier
        Its parameters are used; it is neither fitted nor changed.
    X, y, sample_weight, offset : as for `fit`.
    cv : number of folds of the rows of positive weight, in each of which classes, events or
        quantiles of the target are in equal shares; a scikit-learn splitter, or (train, test) pairs
        of row numbers; the latter two number all rows of X.
    measure : what the held-out rows of a classifier are scored by: "accuracy", or as in
        `MeasureClassifier` (of several classes the mean over the classes). None: the measure of a
        `MeasureClassifier`, the accuracy of others.
    scoring : in place of it, of classifiers and regressors, a scorer of scikit-learn: its name
        ("neg_log_loss", "balanced_accuracy", "neg_mean_absolute_error", ...), or a function of an
        estimator, its X and y. None: of a regressor R^2, of "poisson", "gamma" and "quantile" the
        share of the deviance or pinball loss (D^2); of survival times Harrell's C. Of an ordered
        categorical the classes are numbers, from 0, for a scorer.
    pos_label : of a measure, the positive of two classes; by default that of the estimator, or the
        second in sorted order.
    random_state : of the shuffle of stratified folds, an integer from 0 to 2^32 - 1; None shuffles
        in another way every time.
    checkpoint : a file, so that a killed cross-validation goes on, see `Checkpoint`. None: that of
        the estimator.
    callback : called after every pass over the data.

    Raises
    ------
    ValueError
        Where a class has fewer members than there are folds, where `cv` gives no splits of the
        rows, where the rows of a fold cannot be scored by the measure, where pos_label is not one
        of two classes, and as for `fit`.
    """
    validate.check_seed(random_state)
    if not isinstance(estimator, Selector):
        raise TypeError(
            "estimator must be one of zeronorm with a budget of features; got "
            f"{type(estimator).__name__}. Use scikit-learn's cross_validate."
        )
    of_classes = is_classifier(estimator)
    judge = _Judge.of(estimator, measure, scoring)
    # Rows of weight 0 stay until the splits are known, as these number all rows.
    data = estimator._read(X, y, None, offset)
    weight = validate.check_sample_weight(sample_weight, len(data.labels))
    data = replace(data, sample_weight=weight)
    strata = estimator._strata(data.labels, cv)
    folds = splits(strata, weight, cv, random_state)
    # Of budgets of features and groups at most a fold with fewer usable ones has those it has.
    known = estimator._sizes_of_folds(data.rows(np.flatnonzero(weight > 0)))
    problems = [estimator._pose(data.rows(train), known) for train, _ in folds]
    if estimator.n_features is None:  # the default size follows the usable columns of a fold
        smallest = min(problem.sizes for problem in problems)
        problems = [replace(problem, sizes=smallest) for problem in problems]
    classes = [np.asarray(problem.classes) for problem in problems]
    ordered = [(own, False) for own in classes]
    if of_classes:
        ordered = [validate.check_pos_label(own, pos_label) for own in classes]
    elif pos_label is not None:
        raise ValueError(f"pos_label is of classes; got {pos_label!r} for numbers.")
    if judge.measure is not None:  # before anything is fitted
        classes_of_folds = [names for names, _ in ordered]
        check_folds(judge.measure, data.labels, data.sample_weight, folds, classes_of_folds)
    solvers: list[Solver[Path]] = []
    owners: list[int] = []
    for number, problem in enumerate(problems):
        solvers += problem.solvers(certify=False)
        owners += [number] * len(problem.tasks)
    paths: list[list[Path]] = [[] for _ in folds]
    rows = {f"fold {i}": np.concatenate(fold) for i, fold in enumerate(folds)}
    with recorded(estimator.checkpoint if checkpoint is None else checkpoint):
        identity = estimator._identity(data, **rows)
        results = run_together(solvers, callback, estimator.n_threads, identity)
    for owner, path in zip(owners, results, strict=True):
        paths[owner].append(path)
    sizes, labels = problems[0].sizes, data.labels
    if data.order is not None and min(map(len, classes)) > 2:
        # Scorers that measure distances of classes want their numbers, and sort the names.
        labels = numbered(labels, data.order)
        classes = [numbered(own, data.order) for own in classes]
        ordered = [(own, False) for own in classes]
    scores = np.empty((len(sizes), len(folds)))
    for column, (train, test) in enumerate(folds):
        held_out = Rows(filled_over(data.design, train), test)
        for row, k in enumerate(sizes):
            z = model_scores(paths[column], k, held_out)
            moved = None if data.offset is None else data.offset[test]
            scores[row, column] = judge.score(
                z, labels[test], data.sample_weight[test], classes[column], ordered[column],
                moved,
            )  # fmt: skip
    return CrossValidation(sizes, scores, judge.name)


@dataclass(frozen=True, slots=True)
class _Judge:
    """What held-out rows are scored by."""

    estimator: Any
    name: str
    measure: Measure | None = None  # of classes; None: accuracy, or a scorer
    scorer: Callable[..., float] | None = None  # of scikit-learn

    @classmethod
    def of(cls, estimator: Any, measure: Any, scoring: Any) -> _Judge:
        """Return what `cross_validate` was asked for."""
        if scoring is not None:
            if measure is not None:
                raise ValueError("measure and scoring are one or the other; got both.")
            if not (is_classifier(estimator) or is_regressor(estimator)):
                raise ValueError(
                    "scoring must be None for survival times, which are scored by Harrell's C; got "
                    f"{scoring!r:.50}."
                )
            name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
            return cls(estimator, name, None, get_scorer(scoring))
        if not is_classifier(estimator):
            if measure is not None:
                raise ValueError(f"measure is of classes; got {measure!r:.50}. Use scoring.")
            return cls(estimator, estimator._score_name)
        if measure is None:
            measure = getattr(estimator, "measure", None)
        if measure is None or (isinstance(measure, str) and measure == "accuracy"):
            return cls(estimator, "accuracy")
        parsed = parse_measure(measure)
        return cls(estimator, parsed.name, parsed)

    def score(
        self,
        z: FloatArray,
        labels: np.ndarray,
        weight: FloatArray,
        classes: np.ndarray,
        ordered: tuple[np.ndarray, bool],
        offset: FloatArray | None,
    ) -> float:
        """Return the score of margins (n, n_models) of held-out rows.

        classes : of the margins. ordered : those with the positive one of two last, and whether
            that reversed them.
        """
        if self.scorer is not None:
            given = _HeldOut.of(self.estimator, z, classes, offset)
            equal = bool((weight == weight[0]).all())
            options = {} if equal else {"sample_weight": weight}
            return float(self.scorer(given, np.arange(len(z))[:, None], labels, **options))
        if not is_classifier(self.estimator):
            moved = z if offset is None else z + offset[:, None]
            moved = moved[:, 0] if moved.shape[1] == 1 else moved
            return float(self.estimator._score_of_margins(moved, labels, weight))
        z = self.estimator._class_scores(z)
        if self.measure is None:
            found = classes[predicted(z)]
            return float(np.average(found == labels, weights=weight))
        # A score of 0 is of the first class, which is the positive one then.
        names, reversed_ = ordered
        z = np.where(z == 0.0, np.finfo(float).tiny, -z) if reversed_ else z
        return float(macro_average(self.measure, z, labels, names, weight))


class _HeldOut(BaseEstimator):  # type: ignore[misc]
    """What scorers take for a fitted model: it knows the margins of the rows that are asked."""

    @staticmethod
    def of(
        estimator: Any, z: FloatArray, classes: np.ndarray, offset: FloatArray | None
    ) -> _HeldOut:
        """Return one for held-out rows."""
        found = _HeldOutNumbers()
        if is_classifier(estimator):
            found = _HeldOutClasses()
            z, found.classes_ = estimator._class_scores(z), classes
            if z.shape[1] > 1:  # scorers take the sorted classes for the columns
                order = np.argsort(classes, kind="stable")
                z, found.classes_ = z[:, order], classes[order]
        found.estimator = estimator
        found.z = z if offset is None else z + offset[:, None]
        return found

    estimator: Any
    classes_: np.ndarray
    z: FloatArray

    def __sklearn_is_fitted__(self) -> bool:
        """Return True."""
        return True


class _HeldOutNumbers(RegressorMixin, _HeldOut):  # type: ignore[misc]
    def predict(self, X: np.ndarray) -> FloatArray:
        """Return the means."""
        means: FloatArray = self.estimator._loss().mean(self.z[X[:, 0]])
        return means[:, 0] if means.shape[1] == 1 else means


def _gives_probabilities(held_out: _HeldOut) -> bool:
    """Raise AttributeError where the margins are no log-odds."""
    return gives_probabilities(held_out.estimator)


class _HeldOutClasses(ClassifierMixin, _HeldOut):  # type: ignore[misc]
    def decision_function(self, X: np.ndarray) -> FloatArray:
        """Return the margins."""
        z = self.z[X[:, 0]]
        return np.asarray(z[:, 0] if z.shape[1] == 1 else z)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the labels."""
        return np.asarray(self.classes_[predicted(self.decision_function(X))])

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator,unused-ignore]
    def predict_proba(self, X: np.ndarray) -> FloatArray:
        """Return the probabilities, not calibrated."""
        found: FloatArray = self.estimator._probabilities(self.decision_function(X))
        return found


def check_folds(
    measure: Measure,
    labels: np.ndarray,
    weight: FloatArray,
    folds: Sequence[tuple[IndexArray, IndexArray]],
    classes: Sequence[np.ndarray],
) -> None:
    """Raise ValueError where a measure cannot score all rows, or those held out of a fold.

    classes : of every fold, the positive one of two last.
    """

    def score(rows: IndexArray, classes: np.ndarray) -> None:
        equal = np.zeros((rows.size, 1 if len(classes) == 2 else len(classes)))
        macro_average(measure, equal, labels[rows], classes, weight[rows])

    score(np.flatnonzero(weight > 0), classes[0])
    for number, (_, test) in enumerate(folds):
        try:
            score(test, classes[number])
        except ValueError as error:
            raise ValueError(
                f"{error} These are the {test.size} held-out rows of fold {number}: use fewer "
                "folds, or another measure."
            ) from None


def model_scores(paths: Sequence[Path], k: Any, design: Design) -> FloatArray:
    """Return the scores of the models of size k, (n_samples, n_models)."""
    return margins_of([path[k] for path in paths], design)

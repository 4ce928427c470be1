"""Cross-validation of a whole selection procedure: features are selected inside the folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import BaseCrossValidator

from . import validate
from ._folds import splits
from ._threads import one_blas_thread
from ._typing import Design, FloatArray, IndexArray
from .designs import Rows
from .designs._operations import margins
from .estimators._selecting import Selector
from .measures import Measure, macro_average, parse_measure
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


@one_blas_thread
def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: int | BaseCrossValidator | Iterable[Any] = 5,
    sample_weight: Any = None,
    measure: str | Measure | None = None,
    pos_label: Any = None,
    random_state: int | None = 0,
    callback: Callable[[Progress], None] | None = None,
) -> CrossValidation:
    """Cross-validate a budget classifier, selection and refit inside every fold.

    No data are copied: a fold is a set of rows of X, and the scans of all folds (and classes) are
    merged into one pass over X. Scores are not calibrated: no measure depends on their scale.

    Parameters
    ----------
    estimator : BudgetClassifier, MeasureClassifier or another with a budget of features
        Its parameters are used; it is neither fitted nor changed.
    X, y, sample_weight : as for `fit`.
    cv : number of stratified folds of the rows of positive weight, a scikit-learn splitter, or
        (train, test) pairs of row numbers; the latter two number all rows of X.
    measure : what the held-out rows are scored by: "accuracy", or as in `MeasureClassifier` (of
        several classes the mean over the classes). None: the measure of a `MeasureClassifier`, the
        accuracy of others.
    pos_label : of a measure, the positive of two classes; by default that of the estimator, or the
        second in sorted order.
    random_state : of the shuffle of stratified folds, an integer from 0 to 2^32 - 1; None shuffles
        in another way every time.
    callback : called after every pass over the data.

    Raises
    ------
    ValueError
        Where a class has fewer members than there are folds, where `cv` gives no splits of the
        rows, where the rows of a fold cannot be scored by the measure, where pos_label is not one
        of two classes, and as for `fit`.
    """
    validate.check_seed(random_state)
    if not isinstance(estimator, Selector) or not is_classifier(estimator):
        raise TypeError(
            "estimator must be a classifier of zeronorm with a budget of features; got "
            f"{type(estimator).__name__}. Use scikit-learn's cross_validate."
        )
    scoring = _measure_of(estimator, measure)
    # Rows of weight 0 stay until the splits are known, as these number all rows.
    data = estimator._read(X, y, None)
    weight = validate.check_sample_weight(sample_weight, len(data.labels))
    data = replace(data, sample_weight=weight)
    folds = splits(data.labels, weight, cv, random_state)
    # Of budgets of features and groups at most a fold with fewer usable ones has those it has.
    known = estimator._sizes_of_folds(data.rows(np.flatnonzero(weight > 0)))
    problems = [estimator._pose(data.rows(train), known) for train, _ in folds]
    if estimator.n_features is None:  # the default size follows the usable columns of a fold
        smallest = min(problem.sizes for problem in problems)
        problems = [replace(problem, sizes=smallest) for problem in problems]
    classes = [problem.classes for problem in problems if problem.classes is not None]
    ordered = [validate.check_pos_label(own, pos_label) for own in classes]
    if scoring is not None:  # before anything is fitted
        classes_of_folds = [names for names, _ in ordered]
        check_folds(scoring, data.labels, data.sample_weight, folds, classes_of_folds)
    solvers: list[Solver[Path]] = []
    owners: list[int] = []
    for number, problem in enumerate(problems):
        solvers += problem.solvers(certify=False)
        owners += [number] * len(problem.tasks)
    paths: list[list[Path]] = [[] for _ in folds]
    for owner, path in zip(
        owners, run_together(solvers, callback, estimator.n_threads), strict=True
    ):
        paths[owner].append(path)
    sizes = problems[0].sizes
    scores = np.empty((len(sizes), len(folds)))
    for column, (_, test) in enumerate(folds):
        held_out = Rows(data.design, test)
        for row, k in enumerate(sizes):
            weight = data.sample_weight[test]
            if scoring is None:
                found = predict(paths[column], k, held_out, classes[column])
                scores[row, column] = np.average(found == data.labels[test], weights=weight)
            else:
                names, reversed_ = ordered[column]
                z = model_scores(paths[column], k, held_out)
                # A score of 0 is of the first class, which is the positive one then.
                z = np.where(z == 0.0, np.finfo(float).tiny, -z) if reversed_ else z
                scores[row, column] = macro_average(scoring, z, data.labels[test], names, weight)
    return CrossValidation(sizes, scores, "accuracy" if scoring is None else scoring.name)


def _measure_of(estimator: Any, measure: str | Measure | None) -> Measure | None:
    """Return the measure to score by; None is accuracy."""
    if measure is None:
        own = getattr(estimator, "measure", None)
        return None if own is None else parse_measure(own)
    if isinstance(measure, str) and measure == "accuracy":
        return None
    return parse_measure(measure)


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
    models = [path[k] for path in paths]
    return np.column_stack(
        [margins(design, model.support, model.coef, model.intercept) for model in models]
    )


def predict(paths: Sequence[Path], k: Any, design: Design, classes: np.ndarray) -> np.ndarray:
    """Return the labels that the models of size k give the rows of a design, (n_samples,)."""
    scores = model_scores(paths, k, design)
    if scores.shape[1] == 1:
        return np.asarray(classes[(scores[:, 0] > 0).astype(np.int64)])
    return np.asarray(classes[scores.argmax(axis=1)])

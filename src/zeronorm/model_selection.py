"""Cross-validation of a whole selection procedure: features are selected inside the folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import get_scorer
from sklearn.model_selection import BaseCrossValidator

from . import validate
from ._chance import Fold, margins_without_features, scores_of_shares
from ._cross_validation import CrossValidation as CrossValidation
from ._cross_validation import corrected_error
from ._deviance import HeldOutLosses
from ._folds import check_folds, repeats_of, splits
from ._held_out import HeldOut, Risks, as_times
from ._threads import one_blas_thread
from ._typing import Design, FloatArray, IndexArray
from ._wrapped import cut_asked, way_out, without_threshold
from .checkpoints import recorded
from .designs import Rows, filled_over
from .estimators._folded import Folded
from .estimators._problem import Problem, Selector
from .estimators._rowwise import Rowwise
from .estimators._sparse_linear import margins_of
from .files import PathLike
from .measures import Measure, macro_average, parse_measure
from .measures._ranking import AUC, AveragePrecision
from .ordering import numbered, predicted
from .result import Path
from .solvers import Progress


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
    groups: Any = None,
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
    groups : (n_samples,) labels; samples with the same label, as of one patient, are held out
        together, and a splitter of groups is given them. Then a number of folds has classes and
        events in shares as equal as whole groups can have them.
    measure : what the held-out rows of a classifier are scored by: "accuracy", or as in
        `MeasureClassifier` (of several classes the mean over the classes). None: the measure of a
        `MeasureClassifier`, the accuracy of others.
    scoring : in place of it, of classifiers and regressors, a scorer of scikit-learn: its name
        ("neg_log_loss", "balanced_accuracy", "neg_mean_absolute_error", ...), or a function of an
        estimator, its X and y. None: of a regressor R^2, of "poisson", "gamma" and "quantile" the
        share of the deviance or pinball loss (D^2); of survival times Harrell's C, "c_index". A
        scorer of survival times is a function; its y is a structured array, and the estimator
        predicts risks. Of an ordered categorical the classes are numbers, from 0, for a scorer.
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
    posed, paths = fold_models(
        estimator, X, y, cv=cv, sample_weight=sample_weight, measure=measure, scoring=scoring,
        offset=offset, groups=groups, pos_label=pos_label, random_state=random_state,
        checkpoint=checkpoint, callback=callback,
    )  # fmt: skip
    return posed.scored(paths)


@one_blas_thread
def fold_models(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any,
    sample_weight: Any = None,
    measure: Any = None,
    scoring: Any = None,
    offset: Any = None,
    groups: Any = None,
    pos_label: Any = None,
    random_state: int | None = 0,
    checkpoint: PathLike | None = None,
    callback: Callable[[Progress], None] | None = None,
) -> tuple[Validation, list[list[Path]]]:
    """Return a cross-validation, and the models of every fold: as of `cross_validate`."""
    judge, data = prepared(estimator, X, y, sample_weight, measure, scoring, offset, groups)
    with recorded(judge.estimator.checkpoint if checkpoint is None else checkpoint):
        posed = Validation.pose(judge, data, cv, pos_label, random_state)
        return posed, posed.folded.run(callback)


def _needs_labels(judge: Judge) -> bool:
    """Return whether a score depends on the threshold: it is not of an order or probabilities."""
    if judge.scorer is not None:
        return getattr(judge.scorer, "_response_method", "predict") == "predict"
    return not isinstance(judge.measure, (AUC, AveragePrecision))


def prepared(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    measure: str | Measure | None,
    scoring: str | Callable[..., float] | None,
    offset: Any,
    groups: Any,
) -> tuple[Judge, Rowwise]:
    """Return what scores, and the data, checked: as of `cross_validate`.

    Rows of weight 0 are among them, as splits number all rows.
    """
    inner = without_threshold(estimator)
    if not isinstance(inner, Selector):
        raise TypeError(
            "estimator must be one of zeronorm with a budget of features; got "
            f"{type(inner).__name__}. Use scikit-learn's cross_validate."
            f"{way_out('estimator', inner)}"
        )
    judge = Judge.of(inner, measure, scoring)
    data = inner._read(X, y, None, offset, groups)
    if inner is not estimator and _needs_labels(judge):
        judge = replace(judge, cut=cut_asked(estimator, np.unique(data.labels)))
    weight = validate.check_sample_weight(sample_weight, len(data.labels))
    return judge, replace(data, sample_weight=weight)


def validated(
    judge: Judge,
    data: Rowwise,
    cv: Any,
    pos_label: Any,
    random_state: int | None,
    callback: Callable[[Progress], None] | None = None,
) -> CrossValidation:
    """Return the cross-validation of what is prepared."""
    posed = Validation.pose(judge, data, cv, pos_label, random_state)
    return posed.scored(posed.folded.run(callback))


@dataclass(frozen=True, slots=True)
class Validation:
    """A cross-validation before it is run: the problems of its folds, and what scores them."""

    judge: Judge
    folded: Folded
    classes: list[np.ndarray]  # of each fold, in the order of its scores
    ordered: list[tuple[np.ndarray, bool]]  # as of `check_pos_label`
    labels: np.ndarray  # as scorers take them

    @classmethod
    def pose(
        cls, judge: Judge, data: Rowwise, cv: Any, pos_label: Any, random_state: int | None
    ) -> Validation:
        """Draw the folds and pose their problems; nothing is fitted."""
        validate.check_seed(random_state)
        estimator, labels = judge.estimator, data.labels
        # Groups are too coarse for quantiles of numbers.
        stratify = data.groups is None or not is_regressor(estimator)
        folds = splits(
            estimator._strata(labels, cv), data.sample_weight, cv, random_state,
            stratify=stratify, groups=data.groups,
        )  # fmt: skip
        folded = Folded.pose(estimator, data, folds)
        classes = [np.asarray(problem.classes) for problem in folded.problems]
        ordered = [(own, False) for own in classes]
        if is_classifier(estimator):
            ordered = [validate.check_pos_label(own, pos_label) for own in classes]
        elif pos_label is not None:
            raise ValueError(f"pos_label is of classes; got {pos_label!r} for numbers.")
        if judge.measure is not None:
            names = [one for one, _ in ordered]
            check_folds(judge.measure, labels, data.sample_weight, folds, names)
        if data.order is not None and min(map(len, classes)) > 2:
            # Scorers that measure distances of classes want their numbers, and sort the names.
            labels = numbered(labels, data.order)
            classes = [numbered(own, data.order) for own in classes]
            ordered = [(own, False) for own in classes]
        return cls(judge, folded, classes, ordered, labels)

    def held_out(self, number: int, paths: list[Path]) -> Fold:
        """Return what a fold holds out, and its models."""
        data, (train, test) = self.folded.data, self.folded.folds[number]
        return Fold(
            paths,
            Rows(filled_over(data.design, train), test),
            self.judge.without_features(self.folded.problems[number], data, train, test),
            float(data.sample_weight[train].sum()),
            self.labels[test],
            data.sample_weight[test],
            None if data.offset is None else data.offset[test],
            self.classes[number],
            *self.ordered[number],
            self.judge.normalised,
        )

    def scored(self, paths: Sequence[list[Path]]) -> CrossValidation:
        """Return the scores of the models of every fold."""
        folds = [self.held_out(number, own) for number, own in enumerate(paths)]
        return _scored(self.judge, self.folded, folds)


def _scored(judge: Judge, folded: Folded, folds: list[Fold]) -> CrossValidation:
    """Score the models of all folds, and beside them those without features."""
    sizes, shape = folded.sizes, (len(folded.sizes), len(folds))
    of_classes = is_classifier(judge.estimator)
    baseline = np.array([judge.baseline(fold) for fold in folds])
    scores, separation, error_of = np.empty(shape), np.empty((2, *shape)), np.empty(shape)
    held_out = HeldOutLosses.of(folded, folds)
    for row, k in enumerate(sizes):
        margins = [model_scores(fold.paths, k, fold.design) for fold in folds]
        if held_out is not None:
            held_out.take(margins)
        for column, fold in enumerate(folds):
            z = judge.class_scores(margins[column])
            scores[row, column] = judge.score(z, fold)
            if of_classes:
                separation[:, row, column] = fold.separation(z)
            elif judge.in_units:
                error_of[row, column] = fold.root_mean_square_error(z)
    beside: dict[str, Any] = {} if held_out is None else held_out.figures()
    if judge.in_units:
        without = [fold.root_mean_square_error(fold.without_features) for fold in folds]
        beside |= {"rmse": error_of, "baseline_rmse": np.array(without)}
    if of_classes:
        chance = np.array([fold.separation(fold.without_features) for fold in folds]).T
        # A fold may hold out rows of one class only, which have no order to be right about.
        told = int(not np.isnan(separation[1]).any())
        advantage = separation[told] - chance[told]
        shared = np.mean([fold.weight.sum() / fold.training_weight for fold in folds])
        beside |= {
            "balanced_accuracy": separation[0],
            "auc": separation[1],
            "advantage": advantage,
            "advantage_error": corrected_error(advantage, float(shared)),
            "degrees": len(folds) - 1,
        }
    tests = [test for _, test in folded.folds]
    return CrossValidation(
        sizes, scores, judge.name, baseline, **beside, asked=judge.asked, repeats=repeats_of(tests)
    )


@dataclass(frozen=True, slots=True)
class Judge:
    """What held-out rows are scored by."""

    estimator: Any
    name: str
    measure: Measure | None = None  # of classes; None: accuracy, or a scorer
    scorer: Callable[..., float] | None = None  # of scikit-learn
    cut: float = 0.0  # the score above which the second of two classes is predicted
    asked: bool = False  # whether the user says what scores

    @classmethod
    def of(cls, estimator: Any, measure: Any, scoring: Any) -> Judge:
        """Return what `cross_validate` was asked for."""
        if scoring is not None:
            if measure is not None:
                raise ValueError("measure and scoring are one or the other; got both.")
            if not (is_classifier(estimator) or is_regressor(estimator)):
                if isinstance(scoring, str) and scoring == estimator._score_name:
                    return cls(estimator, scoring, asked=True)
                if not callable(scoring):
                    raise ValueError(
                        "scoring must be None, 'c_index' or a scorer of risks for survival times, "
                        f"such as make_scorer(c_index); got {scoring!r:.50}."
                    )
            name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
            return cls(estimator, name, None, get_scorer(scoring), asked=True)
        if not is_classifier(estimator):
            if measure is not None:
                raise ValueError(f"measure is of classes; got {measure!r:.50}. Use scoring.")
            return cls(estimator, estimator._score_name)
        if measure is None:
            measure = getattr(estimator, "measure", None)
        if measure is None or (isinstance(measure, str) and measure == "accuracy"):
            return cls(estimator, "accuracy", asked=measure is not None)
        parsed = parse_measure(measure)
        return cls(estimator, parsed.name, parsed, asked=True)

    @property
    def in_units(self) -> bool:
        """Whether margins are predictions, in the units of one target."""
        return bool(is_regressor(self.estimator) and self.estimator._score_name == "r2")

    def class_scores(self, z: FloatArray) -> FloatArray:
        """Return the scores of classes that margins give, less the cut; of others the margins."""
        if not is_classifier(self.estimator):
            return z
        scores: FloatArray = self.estimator._class_scores(z)
        return scores - self.cut if self.cut else scores

    def scores_of(self, fold: Fold, size: Any) -> FloatArray:
        """Return the scores of held-out rows by the models of a size, as `class_scores`."""
        return self.class_scores(model_scores(fold.paths, size, fold.design))

    def without_features(
        self, problem: Problem, data: Rowwise, train: IndexArray, test: IndexArray
    ) -> FloatArray:
        """Return the scores of held-out rows by the model of no features, as `class_scores`.

        Of classes these are their shares in the training rows, whatever their weights in the loss;
        beside covariates those of the fit of these.
        """
        if problem.classes is None or self.with_covariates:
            z = margins_without_features(problem.tasks, Rows(data.design, test))
            return self.class_scores(z)
        shares = scores_of_shares(
            data.labels[train],
            data.sample_weight[train],
            problem.classes,
            normalised=self.normalised,
        )
        return np.tile(shares - self.cut, (test.size, 1))

    @property
    def normalised(self) -> bool:
        """Whether the softmax of the scores of several classes are their probabilities."""
        shared = self.estimator._multi_class == "shared"
        return shared and getattr(self.estimator, "loss", "logistic") != "ordinal"

    @property
    def with_covariates(self) -> bool:
        """Whether there are columns in every model."""
        return getattr(self.estimator, "covariates", None) is not None

    def baseline(self, fold: Fold) -> float:
        """Return the score of the model of no features."""
        z = fold.without_features
        if self.measure is None or self.with_covariates:
            return self.score(z, fold)
        return macro_average(self.measure, z, fold.labels, fold.names, fold.weight, chance=True)

    def score(self, z: FloatArray, fold: Fold) -> float:
        """Return the score of held-out rows; z : (n, n_models) as `class_scores`."""
        labels, weight = fold.labels, fold.weight
        moved = z if fold.offset is None else z + fold.offset[:, None]
        if self.scorer is not None:
            given = HeldOut.of(self.estimator, moved, fold.classes, self.cut)
            equal = bool((weight == weight[0]).all())
            options = {} if equal else {"sample_weight": weight}
            if isinstance(given, Risks):
                labels = as_times(labels)
            return float(self.scorer(given, np.arange(len(z))[:, None], labels, **options))
        if not is_classifier(self.estimator):
            moved = moved[:, 0] if moved.shape[1] == 1 else moved
            return float(self.estimator._score_of_margins(moved, labels, weight))
        if self.measure is None:
            found = fold.classes[predicted(z)]
            return float(np.average(found == labels, weights=weight))
        # A score of 0 is of the first class, which is the positive one then.
        z = np.where(z == 0.0, np.finfo(float).tiny, -z) if fold.reversed else z
        return float(macro_average(self.measure, z, labels, fold.names, weight))


def model_scores(paths: Sequence[Path], k: Any, design: Design) -> FloatArray:
    """Return the scores of the models of size k, (n_samples, n_models)."""
    return margins_of([path[k] for path in paths], design)

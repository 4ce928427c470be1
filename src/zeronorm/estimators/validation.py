"""A selection on folds: what judges held-out rows, and the scores of every size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import get_scorer

from ..core import validation as validate
from ..core.ranking import numbered, predicted
from ..core.results import Path
from ..core.types import Design, FloatArray, IndexArray
from ..data import Rows, filled_over
from ..measures import Measure, macro_average, parse_measure
from ..solvers import Progress
from ..solvers.procedures.folds import members
from .chance import Fold, margins_without_features, scores_of_shares
from .cross_validation import CrossValidation as CrossValidation
from .cross_validation import corrected_error
from .deviance import HeldOutLosses
from .folded import Folded
from .folds import check_folds, repeats_of, splits
from .held_out import HeldOut, Risks, as_times
from .problem import Problem
from .rowwise import Rowwise
from .sizes import FOLDS, has_automatic, is_automatic
from .sparse_linear import margins_of


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


def chosen_by_folds(estimator: Any, data: Rowwise) -> CrossValidation | None:
    """Return the cross-validation that chooses the size of a fit; None where none is to be chosen.

    With a budget of "auto" and without a criterion: that of `BudgetCV` with its defaults, in fewer
    folds where a class has fewer rows.
    """
    if not has_automatic(estimator) or estimator.criterion is not None:
        return None
    from .validation import Judge, validated  # which imports the estimators

    groups = data.groups
    folds = data.design.shape[0] if groups is None else int(np.unique(groups).size)
    if not is_regressor(estimator):
        classes, counts = members(estimator._strata(data.labels, FOLDS), groups)
        folds = int(counts.min())
        if folds < 2:
            rare = validate.plain(classes[counts.argmin()])
            of = "features" if is_automatic(estimator.n_features) else "groups"
            need, got = "two rows (of positive weight)", "1 sample of"
            if groups is not None:
                need, got = "samples in two groups", "1 group with a sample of"
            raise ValueError(
                f"n_{of}='auto' is chosen by folds, for which every class needs {need}; got {got} "
                f"class {rare!r}. Pass a number of {of}."
            )
    return validated(Judge.of(estimator, None, None), data, min(FOLDS, folds), None, 0)

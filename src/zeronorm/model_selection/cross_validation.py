"""Cross-validation of a whole selection procedure: features are selected inside the folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from ..core import validation as validate
from ..core.files import PathLike
from ..core.parallel import one_blas_thread
from ..core.results import Path
from ..estimators.cross_validation import CrossValidation as CrossValidation
from ..estimators.problem import Selector
from ..estimators.rowwise import Rowwise
from ..estimators.validation import Judge, Validation
from ..estimators.wrapped import cut_asked, way_out, without_threshold
from ..measures import Measure
from ..measures.ranking import AUC, AveragePrecision
from ..solvers import Progress
from ..solvers.checkpoint import recorded


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

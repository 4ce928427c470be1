"""Cross-validation of a whole selection procedure: features are selected inside the folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from ..core import validation as validate
from ..core.errors import Message, Parameter, ParameterError
from ..core.files import PathLike
from ..core.parallel import one_blas_thread
from ..core.results import Path
from ..core.targets import check_sample_weight
from ..core.types import FloatArray
from ..estimators.folds import order_of_groups
from ..estimators.held_out import CrossValidation, Judge, Validation, validated
from ..estimators.problem import Selector, TrainingData
from ..estimators.wrapped import cut_asked, way_out, without_threshold
from ..measures import Measure
from ..measures.base import AUC, AveragePrecision
from ..solvers import Progress
from ..solvers.checkpoint import recorded


@one_blas_thread()
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


@one_blas_thread()
def fold_models(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any,
    pos_label: Any = None,
    random_state: int | None = 0,
    checkpoint: PathLike | None = None,
    callback: Callable[[Progress], None] | None = None,
    **scored: Any,
) -> tuple[Validation, list[list[Path]]]:
    """Return a cross-validation, and the models of every fold: as of `cross_validate`.

    scored : options of `prepared`.
    """
    judge, data = prepared(estimator, X, y, **scored)
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
    sample_weight: Any = None,
    measure: str | Measure | None = None,
    scoring: str | Callable[..., float] | None = None,
    offset: Any = None,
    groups: Any = None,
) -> tuple[Judge, TrainingData]:
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
    weight = check_sample_weight(sample_weight, len(data.labels))
    return judge, replace(data, sample_weight=weight)


# Whether a selection finds more than chance: its cross-validation with permuted labels.


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """A cross-validation, and what it is with the labels in other orders."""

    validation: CrossValidation  # of the labels as they are
    statistic: str  # what is compared: "auc", or the name of the score
    own: FloatArray  # (n_sizes,) the mean over the folds
    permuted: FloatArray  # (n_permutations, n_sizes) the same of permuted labels

    @property
    def p_value(self) -> FloatArray:
        """The p-value of every size by itself, (n_sizes,): see `permutation_test`."""
        at_least = (self.permuted >= self.own - EQUAL).sum(axis=0)
        return np.asarray((1 + at_least) / (1 + len(self.permuted)))


EQUAL = 1e-12  # Means that differ by rounding are equal.


@one_blas_thread()
def permutation_test(
    estimator: Any,
    X: Any,
    y: Any,
    n_permutations: int = 100,
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
    callback: Callable[[int], None] | None = None,
) -> PermutationTest:
    """Test whether a selection finds more in X than in rows that have nothing to do with y.

    The whole cross-validation, with the selection inside every fold, is repeated with the labels
    in N random orders. With t the mean over the folds of what is compared, and t_1, ..., t_N the
    same of the permuted labels,

        p = (1 + #{i : t_i >= t}) / (N + 1).

    Where the rows of X are independent of y, the probability of p <= a is at most a, whatever the
    number of rows, features and folds (rows that can be exchanged are what it takes). The least p
    is 1 / (N + 1). It is of every size by itself: the smallest p of several sizes is no p-value.

    What is compared is AUC of classes (see `CrossValidation`), and else the score; with `measure`
    or `scoring` what these say. A row keeps its label, weight, offset, time, event and stratum
    together: all of these move to the features of another row.

    With `groups` the groups are exchanged, not the rows. Where all rows of a group have one label
    (and offset), the labels of the groups are permuted. Else all that the rows of a group have
    moves, in a random order, to a group with as many rows; a group that no other is as large as
    keeps its labels, so that a p-value may be large where sizes differ.

    Parameters
    ----------
    estimator, X, y, cv, sample_weight, measure, scoring, offset, groups, pos_label, checkpoint
        As for `cross_validate`, which is run N + 1 times. A number of folds stratifies each order
        anew.
    n_permutations : N, at least 1; p below 0.05 takes 20.
    random_state : of the orders and the folds, an integer from 0 to 2^32 - 1; None: others every
        time.
    callback : called with the number of the permutations done, from 0 on.

    Returns
    -------
    A `PermutationTest`: `p_value` (n_sizes,), `permuted` (n_permutations, n_sizes), `own`
    (n_sizes,), `statistic`, and the `validation` of the labels as they are.

    Raises
    ------
    ValueError
        Where n_permutations is no positive integer, where the estimator has covariates, which
        permuted labels would lose together with the features, and as for `cross_validate`.
    """
    validate.check_iterations("n_permutations", n_permutations)
    inner = without_threshold(estimator)
    if getattr(inner, "covariates", None) is not None:
        raise ParameterError(
            "estimator",
            "must have no covariates for a permutation test: permuted labels lose them together "
            "with the features, so that p would be of both",
            Message(Parameter.of("covariates", inner.covariates)),
            "Compare with the baseline of cross_validate.",
        )
    if isinstance(cv, Iterator):
        cv = list(cv)
    validate.check_seed(random_state)
    judge, data = prepared(estimator, X, y, sample_weight, measure, scoring, offset, groups)
    with recorded(inner.checkpoint if checkpoint is None else checkpoint):
        posed = Validation.pose(judge, data, cv, pos_label, random_state)
        own = posed.scored(posed.folded.run())
        return permuted(
            posed, own, n_permutations, cv, pos_label=pos_label, random_state=random_state,
            by_auc=measure is None and scoring is None, callback=callback,
        )  # fmt: skip


def permuted(
    posed: Validation,
    validation: CrossValidation,
    n_permutations: int,
    cv: Any,
    *,
    pos_label: Any = None,
    random_state: int | None = 0,
    by_auc: bool = True,
    callback: Callable[[int], None] | None = None,
) -> PermutationTest:
    """Return the test of a cross-validation that was posed with these folds.

    by_auc : whether AUC is compared in place of accuracy, where all folds have it.
    """
    judge, data = posed.judge, posed.folded.data
    of_margins = by_auc and judge.name == "accuracy"
    of_margins &= validation.auc is not None and not np.isnan(validation.auc).any()
    generator = np.random.default_rng(random_state)
    found = []
    for done in range(n_permutations):
        if callback is not None:
            callback(done)
        one = validated(judge, _moved(data, generator), cv, pos_label, random_state)
        found.append(_statistic(one, of_margins))
    name = "auc" if of_margins else judge.name
    return PermutationTest(validation, name, _statistic(validation, of_margins), np.array(found))


def _moved(data: TrainingData, generator: np.random.Generator) -> TrainingData:
    """Return the rows with what belongs to the labels in another order."""
    weight = data.sample_weight
    if data.groups is None:
        order = generator.permutation(weight.size)
        weight = weight[order]
    else:
        of_row = [np.unique(part, axis=0, return_inverse=True)[1].ravel()
                  for part in (data.labels, data.offset) if part is not None]  # fmt: skip
        order, alike = order_of_groups(data.groups, of_row, generator)
        weight = weight if alike else weight[order]
    offset = None if data.offset is None else data.offset[order]
    return replace(data, labels=data.labels[order], sample_weight=weight, offset=offset)


def _statistic(validation: CrossValidation, of_margins: bool) -> FloatArray:
    """Return what is compared, (n_sizes,)."""
    if of_margins and validation.auc is not None:
        return np.asarray(validation.auc.mean(axis=1))
    return validation.mean

"""What all linear classifiers share, and all linear regressors: targets, weights, prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import d2_pinball_score, d2_tweedie_score, r2_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from ..core import validation as validate
from ..core.ranking import predicted
from ..core.types import FloatArray, Likelihood, Smooth
from ..losses import (
    OF_NUMBERS,
    Logistic,
    Quantile,
    SquaredHinge,
    probabilities,
)
from .rowwise import Rowwise
from .sparse_linear import Model, SparseLinearModel, with_callbacks


def one_versus_rest(labels: np.ndarray, classes: np.ndarray) -> list[FloatArray]:
    """Return y, (n,) of +-1, for every class against the others; one y for two classes."""
    positives = classes[1:] if len(classes) == 2 else classes
    return [np.where(labels == label, 1.0, -1.0) for label in positives]


def gives_probabilities(estimator: LinearClassifier) -> bool:
    """Raise AttributeError where the scores of an estimator are no log-odds."""
    if estimator._score_loss != "logistic":
        raise AttributeError(
            f"Probabilities need the logistic loss; the scores of this {type(estimator).__name__} "
            f"are of {estimator._score_loss!r}, no log-odds. Use decision_function, or "
            "sklearn.calibration.CalibratedClassifierCV."
        )
    return True


class LinearClassifier(ClassifierMixin, SparseLinearModel):  # type: ignore[misc]
    """Base of the classifiers with sparse coefficients, one-versus-rest for several classes."""

    _losses: ClassVar[dict[str, Smooth]] = {one.name: one for one in (Logistic(), SquaredHinge())}

    class_weight: Any  # a parameter of every such class

    def _record_of(self, parameter: str, name: str) -> Any:
        return (
            self._losses.get(name) if parameter == "loss" else super()._record_of(parameter, name)
        )

    def _loss(self) -> Smooth:
        """Return the loss of the selection."""
        loss: Smooth = loss_of(self.loss, self._losses, of_labels=True)
        return loss

    @property
    def _score_loss(self) -> str:
        """The loss that the scores were fitted for."""
        return "logistic"

    def _target(self, y: Any, n_samples: int) -> np.ndarray:
        return validate.check_target(y, n_samples)

    def _strata(self, labels: np.ndarray, cv: Any) -> np.ndarray:
        """Return the labels, which folds have in equal shares."""
        return labels

    def _unit(self, labels: np.ndarray, sample_weight: FloatArray) -> FloatArray:
        return validate.class_factors(self.class_weight, labels, sample_weight)

    def _problems(
        self, labels: np.ndarray, weight: FloatArray
    ) -> tuple[np.ndarray, list[FloatArray]]:
        classes = np.unique(labels[weight > 0])
        validate.check_two_classes(classes)
        return classes, one_versus_rest(labels, classes)

    def _weigh(self, data: Rowwise) -> tuple[Rowwise, FloatArray]:
        """Return the data with class weights in their sample weights, and the class weights (n,).

        Rows of a class of weight 0 are left out; two classes are left.
        """
        validate.check_two_classes(np.unique(data.labels))
        unit = self._unit(data.labels, data.sample_weight)
        weight = data.sample_weight * unit
        validate.check_total_weight(self._loss_weight(), weight, self._least_loss)
        data = replace(data, sample_weight=weight)
        rows = np.flatnonzero(weight > 0)
        if rows.size < weight.size:
            data, unit = data.rows(rows), unit[rows]
            validate.check_two_classes(np.unique(data.labels))
        return data, unit

    @property
    def coef_(self) -> FloatArray:
        """Coefficients on all features, (1 or n_classes, n_features_in_), made on demand."""
        return self._all_coef()

    def _class_scores(self, margins: FloatArray) -> FloatArray:
        """Return the scores of classes that margins give, (n_samples, 1 or n_classes)."""
        return margins

    def decision_function(self, X: Any) -> FloatArray:
        """Return X[:, support_] @ coef + intercept, (n_samples,) or (n_samples, n_classes)."""
        scores = self._class_scores(self._scores(X))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the largest score, (n_samples,)."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[predicted(scores)])

    @available_if(gives_probabilities)  # type: ignore[untyped-decorator,unused-ignore]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities, (n_samples, n_classes): the logistic function of the scores.

        With several classes, one-versus-rest probabilities normalised to sum one.
        """
        return self._probabilities(self.decision_function(X))

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities that scores give."""
        return probabilities(scores)

    @available_if(gives_probabilities)  # type: ignore[untyped-decorator,unused-ignore]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probabilities, (n_samples, n_classes)."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])
        return np.asarray(np.log(self.predict_proba(X)))


class LinearRegressor(RegressorMixin, SparseLinearModel):  # type: ignore[misc]
    """Base of the regressors with sparse coefficients; the intercept is a number."""

    loss: Any = "least_squares"
    _losses: ClassVar[dict[str, Smooth]] = {one.name: one for one in OF_NUMBERS}

    def _record_of(self, parameter: str, name: str) -> Any:
        return (
            self._losses.get(name) if parameter == "loss" else super()._record_of(parameter, name)
        )

    def _loss(self) -> Likelihood:
        """Return the loss of the selection."""
        loss: Likelihood = loss_of(self.loss, self._losses, of_labels=False)
        return loss

    @property
    def _score_loss(self) -> str:
        """The loss that the scores were fitted for."""
        return self._loss().name

    def _target(self, y: Any, n_samples: int) -> np.ndarray:
        return validate.check_range(self._loss(), validate.check_response(y, n_samples))

    def _offset(self, offset: Any, n_samples: int) -> FloatArray:
        return validate.check_offset(offset, n_samples, self._loss().largest_offset)

    def _unit(self, labels: np.ndarray, sample_weight: FloatArray) -> FloatArray:
        return np.ones_like(sample_weight)

    def _problems(self, labels: np.ndarray, weight: FloatArray) -> tuple[None, list[FloatArray]]:
        return None, [labels]

    def _weigh(self, data: Rowwise) -> tuple[Rowwise, None]:
        weight = data.sample_weight
        if data.offset is not None:
            _, exposure = self._loss().with_offset(data.labels.T, data.offset)
            weight = weight * exposure.reshape(-1, weight.size).max(axis=0)
        validate.check_total_weight(self._loss_weight(), weight, self._least_loss)
        for column in np.atleast_2d(data.labels.T):
            validate.check_some_positive(self._loss(), column)
        return data, None

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        *,
        groups: Any = None,
    ) -> Self:
        """Fit the model and return it.

        Parameters
        ----------
        X, sample_weight, groups : as for `L1Classifier`.
        y : (n_samples,) numbers, of "poisson" not negative, of "gamma" positive; or of several
            responses, for `BudgetRegressor`, (n_samples, n_responses): the model has n_features for
            all of them, and minimises the sum of their losses.
        offset : (n_samples,) known part of the margins, with a coefficient of 1. Of counts in an
            exposure (time, area, people) it is log(exposure).

        Raises
        ------
        ValueError
            Where a parameter or the data break a rule; the message says which and what to do.
        """
        self._fit(X, y, sample_weight, offset, groups)
        return self

    def _set_models(self, models: Sequence[Model]) -> None:
        super()._set_models(models)
        if self.intercept_.size == 1:
            self.intercept_ = float(self.intercept_[0])

    @property
    def coef_(self) -> FloatArray:
        """Coefficients on all features, (n_columns,), or (n_responses, n_columns), on demand."""
        coef = self._all_coef()
        return coef[0] if len(coef) == 1 else coef

    def _keep_columns(self, data: Rowwise) -> None:
        super()._keep_columns(data)
        self._has_offset = data.offset is not None and bool(data.offset.any())

    def predict(self, X: Any, offset: Any = None) -> FloatArray:
        """Return the mean of y (of the loss of a quantile that quantile).

        (n_samples,), of several responses (n_samples, n_responses).

        X[:, support_] @ coef + intercept + offset, or e to that where the loss has a log link.

        offset : (n_samples,) of the margins, or one number for all rows. A model that was fitted
            with an offset needs it here and in `score`; 0 predicts without it.
        """
        margins = self._scores(X)
        largest = self._loss().largest_offset
        given = validate.check_new_offset(offset, len(margins), largest, fitted=self._has_offset)
        if given is not None:
            margins = margins + given[:, None]
        means = self._loss().mean(margins)
        return means[:, 0] if means.shape[1] == 1 else means

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """Return the share of the variation of y that is explained; 1 is perfect, 0 a constant.

        R^2 of least squares, Huber's loss and one of your own; the share of the deviance for
        "poisson" and "gamma", and of the pinball loss for "quantile" (D^2 of scikit-learn).

        offset : as for `predict`.
        """
        found = self.predict(X, offset)
        return self._explained(y, found, sample_weight)

    def _score_of_margins(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return the score of margins, offsets among them."""
        return self._explained(y, self._loss().mean(z), weight)

    @property
    def _score_name(self) -> str:
        """What `score` returns."""
        loss: Any = self._loss()
        of_deviance = isinstance(loss, Quantile) or loss.variance_power is not None
        return "d2" if of_deviance else "r2"

    def _strata(self, y: FloatArray, cv: Any) -> np.ndarray:
        """Return the quantile that every row is in, which folds have in equal shares.

        Of several responses that of the first.
        """
        return quantiles_of(
            y if y.ndim == 1 else y[:, 0], int(cv) if validate.is_integer(cv) else 1
        )

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: positive targets where the loss has no others."""
        tags = super().__sklearn_tags__()
        named = not isinstance(self.loss, str) or self.loss in self._losses
        tags.target_tags.positive_only = named and self._loss().target != "any"
        return tags

    def _explained(self, y: Any, found: FloatArray, sample_weight: Any) -> float:
        """Return the score of means; of several responses the mean of theirs."""
        if found.ndim == 2:
            columns = zip(np.asarray(y).T, found.T, strict=True)
            scores = [self._explained(one, mean, sample_weight) for one, mean in columns]
            return float(np.mean(scores))
        loss: Any = self._loss()
        power = loss.variance_power
        numbers = np.asarray(y)
        if numbers.size and (numbers == numbers[0]).all():  # nothing to explain: R^2's convention
            return float(np.array_equal(numbers, found))
        if isinstance(loss, Quantile):
            explained = d2_pinball_score(y, found, sample_weight=sample_weight, alpha=loss.level)
        elif power is not None:
            explained = d2_tweedie_score(y, found, sample_weight=sample_weight, power=power)
        else:
            explained = r2_score(y, found, sample_weight=sample_weight)
        return float(explained)


def quantiles_of(y: FloatArray, least: int) -> np.ndarray:
    """Return the tenth, or a larger part, that every number is in; each has so many at least."""
    n_parts = max(1, min(10, y.size // max(20, 2 * least)))
    rank = np.empty(y.size, np.int64)
    rank[np.argsort(y, kind="stable")] = np.arange(y.size)
    return rank * n_parts // y.size


def loss_of(given: Any, known: Mapping[str, Smooth], *, of_labels: bool) -> Any:
    """Return the loss of a name, or the one that was given, of labels or of numbers."""
    if isinstance(given, str) or not hasattr(given, "value_gradient"):
        validate.check_option("loss", given, list(known))
        return known[given]
    if isinstance(given, type):
        raise ValueError(f"loss must be a loss, not its class; got {given!r}. Call it.")
    if given.of_labels != of_labels or given.target == "survival":
        raise ValueError(
            f"loss must be one of {'labels' if of_labels else 'numbers'}; got {given!r}. Use "
            "a classifier for labels, a regressor for numbers, and for survival times "
            "BudgetSurvivalAnalysis or L1SurvivalAnalysis."
        )
    return given

"""What all linear classifiers share, and all linear regressors: targets, weights, prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from .. import validate
from .._typing import FloatArray, Smooth
from ..losses import LeastSquares, Logistic, SquaredHinge, probabilities
from ..ordering import predicted
from ._sparse_linear import Model, Rowwise, SparseLinearModel


def one_versus_rest(labels: np.ndarray, classes: np.ndarray) -> list[FloatArray]:
    """Return y, (n,) of +-1, for every class against the others; one y for two classes."""
    positives = classes[1:] if len(classes) == 2 else classes
    return [np.where(labels == label, 1.0, -1.0) for label in positives]


def _gives_probabilities(estimator: LinearClassifier) -> bool:
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

    @property
    def _score_loss(self) -> str:
        """The loss that the scores were fitted for."""
        return "logistic"

    def _target(self, y: Any, n_samples: int) -> np.ndarray:
        return validate.check_target(y, n_samples)

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
        validate.check_total_weight(self._loss_weight(), weight)
        data = replace(data, sample_weight=weight)
        rows = np.flatnonzero(weight > 0)
        if rows.size < weight.size:
            data, unit = data.rows(rows), unit[rows]
            validate.check_two_classes(np.unique(data.labels))
        return data, unit

    @property
    def coef_(self) -> FloatArray:
        """Coefficients on all features, (1 or n_classes, n_features_in_), made on demand."""
        if not hasattr(self, "_support_coef"):
            raise AttributeError("coef_ is set by fit.")
        coef = np.zeros((self._support_coef.shape[0], self._n_columns))
        coef[:, self.support_] = self._support_coef
        return coef

    def decision_function(self, X: Any) -> FloatArray:
        """Return X[:, support_] @ coef + intercept, (n_samples,) or (n_samples, n_classes)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the largest score, (n_samples,)."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[predicted(scores)])

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator,unused-ignore]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities, (n_samples, n_classes): the logistic function of the scores.

        With several classes, one-versus-rest probabilities normalised to sum one.
        """
        return probabilities(self.decision_function(X))

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator,unused-ignore]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probabilities, (n_samples, n_classes)."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])
        return np.asarray(np.log(self.predict_proba(X)))


class LinearRegressor(RegressorMixin, SparseLinearModel):  # type: ignore[misc]
    """Base of the regressors with sparse coefficients; the intercept is a number."""

    _losses: ClassVar[dict[str, Smooth]] = {LeastSquares.name: LeastSquares()}

    @property
    def _score_loss(self) -> str:
        """The loss that the scores were fitted for."""
        return "least_squares"

    def _target(self, y: Any, n_samples: int) -> np.ndarray:
        return validate.check_response(y, n_samples)

    def _unit(self, labels: np.ndarray, sample_weight: FloatArray) -> FloatArray:
        return np.ones_like(sample_weight)

    def _problems(self, labels: np.ndarray, weight: FloatArray) -> tuple[None, list[FloatArray]]:
        return None, [labels]

    def _weigh(self, data: Rowwise) -> tuple[Rowwise, None]:
        validate.check_total_weight(self._loss_weight(), data.sample_weight)
        return data, None

    def _set_models(self, models: Sequence[Model]) -> None:
        super()._set_models(models)
        self.intercept_ = float(self.intercept_[0])

    @property
    def coef_(self) -> FloatArray:
        """Coefficients on all features, (n_columns,), made on demand."""
        if not hasattr(self, "_support_coef"):
            raise AttributeError("coef_ is set by fit.")
        coef = np.zeros(self._n_columns)
        coef[self.support_] = self._support_coef[0]
        return coef

    def predict(self, X: Any) -> FloatArray:
        """Return X[:, support_] @ coef + intercept, (n_samples,)."""
        return self._scores(X)[:, 0]


__all__ = ["LinearClassifier", "LinearRegressor", "Rowwise", "one_versus_rest"]

"""Margins of held-out rows as a fitted model, for scorers of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.utils.metaestimators import available_if

from ..core.ranking import predicted
from ..core.types import FloatArray
from .linear import gives_probabilities


class HeldOut(BaseEstimator):  # type: ignore[misc]
    """What scorers take for a fitted model: it knows the margins of the rows that are asked."""

    @staticmethod
    def of(estimator: Any, z: FloatArray, classes: np.ndarray, cut: float = 0.0) -> HeldOut:
        """Return one for held-out rows; z : scores of classes, or margins, offsets among them.

        cut : what has been subtracted from the scores of two classes, to predict from another one.
        """
        found = _Numbers() if is_regressor(estimator) else Risks()
        if is_classifier(estimator):
            found, found.classes_ = _Classes(), classes
            if z.shape[1] > 1:  # scorers take the sorted classes for the columns
                order = np.argsort(classes, kind="stable")
                z, found.classes_ = z[:, order], classes[order]
        found.estimator, found.z, found.cut = estimator, z, cut
        return found

    estimator: Any
    classes_: np.ndarray
    z: FloatArray
    cut: float

    def __sklearn_is_fitted__(self) -> bool:
        """Return True."""
        return True


class _Numbers(RegressorMixin, HeldOut):  # type: ignore[misc]
    def predict(self, X: np.ndarray) -> FloatArray:
        """Return the means."""
        means: FloatArray = self.estimator._loss().mean(self.z[X[:, 0]])
        return means[:, 0] if means.shape[1] == 1 else means


class Risks(HeldOut):
    """An estimator whose predictions on held-out rows are risks."""

    def predict(self, X: np.ndarray) -> FloatArray:
        """Return the risks."""
        return np.asarray(self.z[X[:, 0], 0])


def as_times(target: FloatArray) -> np.ndarray:
    """Return survival times as scorers take them, a structured array, of those of a fit."""
    time, event, stratum, *start = target.T
    columns: dict[str, Any] = {"event": event > 0, "time": time}
    if start:
        columns = {"start": start[0], "stop": time, "event": event > 0}
    if np.unique(stratum).size > 1:
        columns["stratum"] = stratum
    found = np.empty(len(target), [(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        found[name] = values
    return found


def _gives_probabilities(held_out: HeldOut) -> bool:
    """Raise AttributeError where the margins are no log-odds."""
    return gives_probabilities(held_out.estimator)


class _Classes(ClassifierMixin, HeldOut):  # type: ignore[misc]
    def decision_function(self, X: np.ndarray) -> FloatArray:
        """Return the margins."""
        z = self.z[X[:, 0]] + self.cut
        return np.asarray(z[:, 0] if z.shape[1] == 1 else z)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the labels."""
        return np.asarray(self.classes_[predicted(self.z[X[:, 0]])])

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator,unused-ignore]
    def predict_proba(self, X: np.ndarray) -> FloatArray:
        """Return the probabilities, not calibrated."""
        found: FloatArray = self.estimator._probabilities(self.decision_function(X))
        return found

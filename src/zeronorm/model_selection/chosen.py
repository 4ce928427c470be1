"""What searches for a budget share: the model that they chose, which predicts for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..core.types import FloatArray, IndexArray
from ..estimators.nested import NestedParameters


def _has(name: str) -> Callable[[Any], bool]:
    """Return whether the estimator has a method."""

    def check(search: Any) -> bool:
        getattr(search.estimator, name)
        return True

    return check


def given_offset(offset: Any) -> dict[str, Any]:
    """Return an offset as an argument; none for estimators that do not know offsets."""
    return {} if offset is None else {"offset": offset}


class ChosenModel(MetaEstimatorMixin, SelectorMixin, NestedParameters):  # type: ignore[misc]
    """Base of estimators whose `fit` leaves a `best_estimator_` of the kind of `estimator`."""

    estimator: Any
    best_estimator_: Any

    def _keep_names(self) -> None:
        """Set what scikit-learn asks a fitted estimator for, as the chosen model has it."""
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))
            else:
                self.__dict__.pop(name, None)

    @property
    def support_(self) -> IndexArray:
        """The selected features."""
        return self._best.support_  # type: ignore[no-any-return]

    @property
    def coef_(self) -> FloatArray:
        """As of the estimator."""
        return np.asarray(self._best.coef_)

    @property
    def intercept_(self) -> Any:
        """As of the estimator."""
        return self._best.intercept_

    @property
    def _best(self) -> Any:
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("set by fit.")
        return self.best_estimator_

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """Return what the estimator with the chosen budgets predicts.

        offset : as for `predict` of the estimator.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X, **given_offset(offset)))

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """Return the score of the estimator: accuracy, R^2 or D^2, or Harrell's C.

        offset : as for `predict` of the estimator.
        """
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y, sample_weight, **given_offset(offset)))

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator,unused-ignore]
    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of the estimator with the chosen budgets."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.decision_function(X))

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator,unused-ignore]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the estimator with the chosen budgets."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_proba(X))

    @available_if(_has("predict_log_proba"))  # type: ignore[untyped-decorator,unused-ignore]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of these probabilities."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_log_proba(X))

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X."""
        check_is_fitted(self)
        return self.best_estimator_.transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the selected features, (k,)."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.get_feature_names_out(input_features))

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.get_support())

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the estimator."""
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags = inner.target_tags
        return tags

"""The base of selectors that are no models: the columns of X that they chose."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from ..core.types import IndexArray
from ..estimators.problem import TrainingData


class SelectedColumns(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of such selectors: `get_support`, `transform` and `get_feature_names_out`."""

    support_: IndexArray
    _columns: Any  # an estimator that knows the columns of the fit
    _of_columns: ClassVar = ("n_features_in_", "feature_names_in_")

    def _keep_columns(self, model: Any, data: TrainingData, support: IndexArray) -> None:
        """Set what is known of the columns of a fit, and which of them are chosen.

        model : an estimator that is ours to change, and read the data.
        """
        model._keep_columns(data)
        model.support_ = self.support_ = support
        self._columns = model
        for name in self._of_columns:
            self.__dict__.pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    def transform(self, X: Any) -> Any:
        """Return the chosen columns of X; a file or a design is read for them."""
        check_is_fitted(self)
        return self._columns.transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the chosen features."""
        check_is_fitted(self)
        return np.asarray(self._columns.get_feature_names_out(input_features))

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(self._columns.get_support())

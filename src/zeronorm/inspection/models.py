"""The features of models of any kind, as they are given to be certified."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..core.types import IndexArray
from ..core.validation import model_inside
from ..estimators.problem import Selector


def has_budget(model: Any) -> bool:
    """Return whether a model is an estimator of this package with a budget."""
    return isinstance(model, Selector)


def supports_of(model: Any) -> list[IndexArray]:
    """Return the sorted support of every binary problem of a model."""
    if hasattr(model, "fit"):
        check_is_fitted(model)
    if has_budget(model):
        return [path[model.size_].support for path in model._paths]
    if hasattr(model, "coef_"):
        coef = np.atleast_2d(_dense(model.coef_))
        found = [np.flatnonzero(row) for row in coef]
    elif hasattr(model, "get_support"):
        found = [np.flatnonzero(model.get_support())]
    else:
        found = [_indices(model)]
    for support in found:
        if not support.size:
            raise ValueError(
                "model has no feature with a coefficient: there is nothing to certify."
            )
    return [np.asarray(support, dtype=np.int64) for support in found]


def _dense(coef: Any) -> np.ndarray:
    return np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef)


def _indices(model: Any) -> np.ndarray:
    """Return the support that was passed in place of a model."""
    rule = (
        "model must be a fitted model with coef_ or get_support(), the indices of the "
        "features, or a mask of all of them"
    )
    try:
        given = np.asarray(model)
    except (TypeError, ValueError):
        given = np.empty(0, object)
    if given.dtype == bool and given.ndim == 1:
        return np.flatnonzero(given)
    if given.shape == (0,) and given.dtype != object:
        return np.empty(0, np.int64)
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given < 0).any():
        inside = model_inside("model", model)
        got = type(model).__name__ if inside else f"{model!r:.80}"
        raise ValueError(f"{rule}; got {got}.{inside}")
    if np.unique(given).size < given.size:
        raise ValueError(f"{rule}; got an index twice.")
    return np.sort(given)

"""Fitted estimators in notebooks: scikit-learn's diagram, and a table of the selected features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils import estimator_html_repr

from ..core.html import certificate_text, coefficient_heads, features_table


def features_html(model: Any) -> str:
    """Return the diagram of an estimator; of a fitted one the features and its figures as well."""
    diagram = str(estimator_html_repr(model))
    if not hasattr(model, "_support_coef"):
        return diagram
    rows = [
        [feature_name(model, j), str(j), *(f"{value:+.5g}" for value in coef)]
        for j, coef in zip(model.support_.tolist(), model._support_coef.T, strict=True)
    ]
    heads = ["feature", "index", *coefficient_heads(_outputs(model))]
    return f"{diagram}\n{features_table(_figures(model), heads, rows)}"


def _outputs(model: Any) -> Any:
    """Return the label of each output: the class or the number of a response."""
    n_outputs = len(model._support_coef)
    classes = getattr(model, "classes_", None)
    return range(n_outputs) if classes is None or len(classes) != n_outputs else classes


def feature_name(model: Any, index: int) -> str:
    """Return the name of a feature of a fitted model, or x and its number."""
    if model._encoding is not None:
        return str(model._encoding.names[index])
    names = getattr(model, "feature_names_in_", None)
    return f"x{index}" if names is None else str(names[index])


def _figures(model: Any) -> str:
    """Return the size of a model, its losses and what is certified, as far as it has them."""
    found = [f"{model.support_.size:,} features of {model.n_features_in_:,}"]
    paths = getattr(model, "_paths", None)
    chosen = [] if paths is None else [path[model.size_] for path in paths]
    losses = {
        "leave-one-out loss": [one.loo_loss for one in chosen],
        "log-loss out of fold": [one.cv_log_loss for one in chosen[:1]],
    }
    for name, values in losses.items():
        known = [value for value in values if math.isfinite(value)]
        if known:
            found.append(f"{name} {float(np.mean(known)):.4g}")
    proven = [one.certificate.proven for one in chosen if one.certificate is not None]
    gaps = [one.certificate.gap for one in chosen if one.certificate is not None]
    if gaps:
        found.append(f"certificate: {certificate_text(proven, gaps)}")
    elif bounds := [one.gap for one in chosen if one.bound is not None]:
        found.append(f"gap of the measure's problem {max(bounds):.2%}")
    if hasattr(model, "dual_gap_"):
        found.append(f"duality gap {float(np.max(model.dual_gap_)):.2g}")
    return "; ".join(found) + "."

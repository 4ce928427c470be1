"""What Python and notebooks show of a loaded model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core.html import certificate_text, coefficient_heads, features_table

if TYPE_CHECKING:
    from .linear_model import LinearModel

_SHOWN = 3  # names of features on a line


def shown(model: LinearModel) -> str:
    """Return a line about a model."""
    names = _names(model)
    known = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    classes = getattr(model, "classes_", ())
    parts = [
        str(model.metadata["estimator"]),
        f"{_size(model)}: {known}",
        *([f"classes: {', '.join(map(str, classes))}"] if len(classes) else []),
        *_certified(model),
    ]
    return f"{type(model).__name__}({'; '.join(parts)})"


def shown_in_notebook(model: LinearModel) -> str:
    """Return the features with their coefficients, and the figures, in HTML."""
    metadata = model.metadata
    parts = [
        f"{metadata['estimator']} of zeronorm {metadata['zeronorm']}, {metadata['created']}: "
        f"{_size(model)}",
        *_certified(model),
    ]
    calibration = metadata["calibration"]
    if calibration and calibration["cv_log_loss"] is not None:
        parts.insert(1, f"log-loss out of fold {calibration['cv_log_loss']:.4g}")
    rows: list[list[str]] = [
        [name, *(f"{value:+.5g}" for value in coef)]
        for name, coef in zip(_names(model), model.coef.T, strict=True)
    ]
    if model.intercept_.size == len(model.coef) and model.intercept_.any():
        rows.append(["(intercept)", *(f"{value:+.5g}" for value in model.intercept_)])
    heads = ["feature", *coefficient_heads(_outputs(model))]
    return features_table("; ".join(parts) + ".", heads, rows)


def _size(model: LinearModel) -> str:
    n = model.covariates_.size
    beside = f" and {n:,} covariate{'s' if n > 1 else ''}" if n else ""
    return f"{model.support_.size:,} of {model.n_features_in_:,} features{beside}"


def _names(model: LinearModel) -> Sequence[str]:
    if model.feature_names is not None:
        return model.feature_names
    return [f"x{j}" for j in model.columns.tolist()]


def _outputs(model: LinearModel) -> Sequence[Any]:
    classes = getattr(model, "classes_", ())
    return classes if len(classes) == len(model.coef) else range(len(model.coef))


def _certified(model: LinearModel) -> list[str]:
    known = [one for one in model.metadata["certificates"] if one is not None]
    if not known:
        return []
    gaps = [one["gap"] for one in known]
    return [f"certificate: {certificate_text([one['proven'] for one in known], gaps)}"]

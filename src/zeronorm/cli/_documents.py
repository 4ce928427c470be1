"""What the commands find out, as documents: --json prints them, the report shows them.

Only types that JSON has are in a document. The CSV file of predictions is made here as well.
"""

from __future__ import annotations

import csv
import io
import os
import platform
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import __version__, _kernels
from .._typing import Design, FloatArray
from ..files import Table
from ..model_selection import CrossValidation, predict
from ..persistence import summarize


def describe_data(data: str, table: Table) -> dict[str, Any]:
    """Return the size, storage and classes of the data."""
    n_samples, n_features = table.X.shape
    storage = f"dense {table.X.dtype}"
    if sp.issparse(table.X):
        share = table.X.nnz / max(1, n_samples * n_features)
        storage = f"sparse {table.X.dtype}, {100 * share:.2g}% stored"
    counts = {}
    if table.y is not None:
        labels, sizes = np.unique(table.y, return_counts=True)
        counts = {str(label): int(size) for label, size in zip(labels, sizes, strict=True)}
    return {
        "source": data,
        "n_samples": int(n_samples),
        "n_features": int(n_features),
        "storage": storage,
        "target": table.target_name,
        "class_counts": counts,
    }


def describe_model(
    estimator: Any, k: int, table: Table, design: Design, validation: CrossValidation | None
) -> dict[str, Any]:
    """Return what is known about the model of k features; its file is not written yet."""
    paths = estimator.estimators_
    predicted = predict(paths, k, design, estimator.classes_)
    return {
        "n_features": k,
        "features": _describe_features(estimator, k, table, design),
        "intercept": [float(path[k].intercept) for path in paths],
        "refit_C": [float(path[k].refit_C) for path in paths],
        "training_accuracy": float(np.mean(predicted == np.asarray(table.y))),
        "cross_validation": _describe_validation(validation, k),
        "certificates": [summarize(path[k].certificate) for path in paths],
        "file": None,
    }


def _describe_features(
    estimator: Any, k: int, table: Table, design: Design
) -> list[dict[str, Any]]:
    """Return the features of a model, by class and falling effect of one standard deviation."""
    rows = []
    names = table.feature_names
    classes = estimator.classes_.tolist()
    for number, path in enumerate(estimator.estimators_):
        model = path[k]
        deviation = _deviations(design.gather(model.support))
        effect = model.coef * deviation
        label = classes[1] if len(classes) == 2 else classes[number]
        # Ties, as of features without effect, go by position.
        order = np.lexsort((model.support, -np.abs(effect)))
        for rank, j in enumerate(order, 1):
            index = int(model.support[j])
            name = names[index] if names is not None else str(index + table.first_index)
            rows.append(
                {
                    "class": label,
                    "rank": rank,
                    "index": index,
                    "name": name,
                    "description": table.descriptions[index] if table.descriptions else None,
                    "coefficient": float(model.coef[j]),
                    "per_deviation": float(effect[j]),
                    "block": int(model.entered[j]),
                }
            )
    return rows


def _deviations(columns: Any) -> FloatArray:
    """Return the standard deviation of every column, (k,)."""
    if isinstance(columns, np.ndarray):
        return np.asarray(columns.std(axis=0))
    n_samples = columns.shape[0]
    mean = np.asarray(columns.sum(axis=0)).ravel() / n_samples
    square = np.asarray(columns.power(2).sum(axis=0)).ravel() / n_samples
    return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))


def _describe_validation(validation: CrossValidation | None, k: int) -> dict[str, Any] | None:
    if validation is None or k not in validation.sizes:
        return None
    row = validation.sizes.index(k)
    return {
        "folds": int(validation.scores.shape[1]),
        "mean": float(validation.mean[row]),
        "standard_error": float(validation.standard_error[row]),
        "scores": validation.scores[row].tolist(),
    }


def confusion(truth: Any, predicted: Any, classes: Any) -> list[list[int]]:
    """Return counts, a row per true class of the model and a column per predicted class."""
    return [
        [int(((truth == actual) & (predicted == guess)).sum()) for guess in classes]
        for actual in classes
    ]


def predictions_csv(table: Table, predicted: Any, probabilities: Any, classes: Any) -> bytes:
    """Return the file of predictions, a row per sample."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    header = ["sample", "prediction"]
    if probabilities is not None:
        header += [f"p({_cell(str(label))})" for label in classes]
    writer.writerow(header)
    names = table.sample_names
    for row, label in enumerate(predicted.tolist()):
        cells = [_cell(names[row]) if names else row + 1, _cell(str(label))]
        if probabilities is not None:
            cells += [repr(float(value)) for value in probabilities[row]]
        writer.writerow(cells)
    return text.getvalue().encode("utf-8", "backslashreplace")


def _cell(text: str) -> str:
    """Return text that a spreadsheet does not take for a formula."""
    if text[:1] in ("=", "+", "-", "@", "\t", "\r"):
        try:
            float(text)
        except ValueError:
            return "'" + text
    return text


def describe_installation() -> dict[str, Any]:
    """Return versions, kernels and threads."""
    twins = _kernels.dense_correlate.__module__.endswith("reference")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "zeronorm": __version__,
        "kernels": "reference (NumPy)" if twins else "native",
        "threads": cores,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "scikit-learn": version("scikit-learn"),
        "platform": platform.platform(),
    }

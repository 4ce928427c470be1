"""The data and their features, as every document has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from ..._typing import Design, FloatArray, IndexArray
from ...files import Table
from ...groups import Groups
from ...result import Certificate

_T = TypeVar("_T")


def describe_data(data: str, table: Table, groups: Groups | None = None) -> dict[str, Any]:
    """Return the size, storage and classes of the data, and how many groups its features are in."""
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
        "n_groups": None if groups is None else len(groups),
        "storage": storage,
        "target": table.target_name,
        "class_counts": counts,
    }


def describe_features(
    label: Any,
    support: IndexArray,
    coef: FloatArray,
    step: str,
    entered: IndexArray,
    table: Table,
    design: Design,
) -> list[dict[str, Any]]:
    """Return the features of a model for a class, by falling effect of one standard deviation.

    step : what `entered` counts, at which each feature entered.
    """
    effect = coef * _deviations(design.gather(support))
    # Ties, as of features without effect, go by position.
    order = np.lexsort((support, -np.abs(effect)))
    return [
        {
            "class": label,
            "rank": rank,
            **describe_feature(table, int(support[j])),
            "coefficient": float(coef[j]),
            "per_deviation": float(effect[j]),
            step: int(entered[j]),
        }
        for rank, j in enumerate(order, 1)
    ]


def describe_feature(table: Table, index: int) -> dict[str, Any]:
    return {
        "index": index,
        "name": feature_name(table, index),
        "description": table.descriptions[index] if table.descriptions else None,
    }


def describe_equivalents(certificate: Certificate, table: Table) -> list[dict[str, Any]]:
    """Return the features of a support that have duplicates, each with them."""
    return [
        {
            "feature": describe_feature(table, feature),
            "equivalents": [describe_feature(table, other) for other in others.tolist()],
        }
        for feature, others in certificate.equivalents.items()
    ]


def feature_name(table: Table, index: int) -> str:
    names = table.feature_names
    return names[index] if names is not None else str(index + table.first_index)


def by_class(classes: Any, paths: Sequence[_T]) -> Iterator[tuple[Any, _T]]:
    """Return each path with the class that its scores speak for."""
    labels = classes.tolist()
    return zip(labels[1:] if len(paths) == 1 else labels, paths, strict=True)


def _deviations(columns: Any) -> FloatArray:
    """Return the standard deviation of every column, (k,)."""
    if isinstance(columns, np.ndarray):
        return np.asarray(columns.std(axis=0))
    n_samples = columns.shape[0]
    mean = np.asarray(columns.sum(axis=0)).ravel() / n_samples
    square = np.asarray(columns.power(2).sum(axis=0)).ravel() / n_samples
    return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))

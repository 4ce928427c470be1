"""The data and their features, as every document has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from ...core.groups import Groups
from ...core.ranking import numbered
from ...core.results import Certificate
from ...core.types import Design
from ...io.input import Response
from ...io.table import Table

_T = TypeVar("_T")


def describe_data(
    data: str,
    table: Table,
    response: Response | None = None,
    groups: Groups | None = None,
    n_covariates: int = 0,
) -> dict[str, Any]:
    """Return the size, storage and target of the data, and how many groups its features are in.

    n_covariates : how many of its columns are covariates of the models.
    """
    n_samples, n_features = table.X.shape
    storage = table.X.storage if isinstance(table.X, Design) else f"dense {table.X.dtype}"
    if sp.issparse(table.X):
        share = table.X.nnz / max(1, n_samples * n_features)
        storage = f"sparse {table.X.dtype}, {100 * share:.2g}% stored"
    counts = {}
    if response is not None and response.labelled:
        labels, sizes = np.unique(response.y, return_counts=True)
        if response.order is not None:
            places = np.argsort(numbered(labels, response.order))
            labels, sizes = labels[places], sizes[places]
        counts = {str(label): int(size) for label, size in zip(labels, sizes, strict=True)}
    return {
        "source": data,
        "n_samples": int(n_samples),
        "n_features": int(n_features),
        "n_covariates": n_covariates,
        "n_groups": None if groups is None else len(groups),
        "storage": storage,
        "target": table.target_name
        if isinstance(table.target_name, str | None)
        else list(table.target_name),
        "class_counts": counts,
        "task": None if response is None else response.task,
        "guess": None if response is None else response.guess,
        "columns": dict(table.column_names),
        "coded": describe_codings(table),
        "filled": dict(table.filled),
        "range": None if response is None or counts else _describe_range(response),
    }


def describe_codings(table: Table) -> dict[str, Any]:
    """Return which columns are features in another form: the kind and the levels of each."""
    return {
        coding.column: {"kind": coding.kind, "levels": list(coding.levels)}
        for coding in table.codings.values()
        if coding.kind != "number"
    }


def _describe_range(response: Response) -> dict[str, Any]:
    """Return what there is to see of numbers, counts or survival times."""
    y = response.y
    if response.task == "survival":
        time, event = np.asarray(y["time"]), np.asarray(y["event"])
        ends = {"least": float(time.min()), "largest": float(time.max())}
        found: dict[str, Any] = {"events": int(event.sum()), **ends}
        if "stratum" in y.dtype.names:
            found["strata"] = int(np.unique(y["stratum"]).size)
        return found
    columns = [y] if y.ndim == 1 else y.T
    ranges = [
        {"least": float(one.min()), "largest": float(one.max()), "mean": float(one.mean())}
        for one in columns
    ]
    found = ranges[0] if y.ndim == 1 else {"responses": ranges}
    if response.offset is not None:
        found["exposure"] = float(np.exp(response.offset).sum())
    return found


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
    labels = [None] if classes is None else classes.tolist()  # of numbers there are none
    return zip(labels[1:] if len(labels) == 2 else labels, paths, strict=True)

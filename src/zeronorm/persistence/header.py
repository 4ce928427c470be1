"""What the files of models and of certificates begin with: versions, the features, the classes."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..core.files import Require, check_fields, quote
from ..core.ranking import numbered
from ..core.types import FloatArray, IndexArray
from ..io.npy import is_text
from ..io.table import ROLES
from .archive import FileKind

VERSIONS = {
    "format": int,
    "zeronorm": str,
    "created": str,
}
FEATURES = {
    "n_features_in": int,
    "feature_names": (list, type(None)),
    "first_index": int,
    "target_name": (str, list, type(None)),
    "columns": dict,
}


def encode(metadata: Mapping[str, Any]) -> NDArray[Any]:
    """Return the metadata as an array."""
    return np.frombuffer(json.dumps(metadata, allow_nan=False).encode(), np.uint8)


def decode(raw: NDArray[Any], require: Require) -> dict[str, Any]:
    """Return the metadata, a JSON object."""
    require(raw.dtype == np.uint8 and raw.ndim == 1, "metadata must be bytes")
    metadata: Any = None
    reason = ""
    try:
        metadata = json.loads(raw.tobytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        reason = str(error)
    require(not reason, f"metadata is not valid JSON ({quote(reason)})")
    require(isinstance(metadata, dict), "metadata must be a JSON object")
    return dict(metadata)


def describe_versions(kind: FileKind) -> dict[str, Any]:
    """Return the entries `VERSIONS`."""
    return {
        "format": kind.version,
        "zeronorm": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def describe_features(
    support: IndexArray,
    n_features: int,
    names: Sequence[Any] | None,
    first_index: int,
    target_name: str | Sequence[str] | None,
    columns: Mapping[str, str] | None,
    n_responses: int = 1,
) -> dict[str, Any]:
    """Return the entries `FEATURES`.

    names : of all features; those of the support are written.
    target_name : of several responses the name of each; None: they are numbered.
    columns : names of what else is no feature, by what it is.
    """
    if names is not None:
        if len(names) != n_features:
            raise ValueError(
                f"feature_names must have {n_features} names (the features of X); got {len(names)}."
            )
        names = [str(names[j]) for j in support]
        if len(set(names)) < len(names):
            raise ValueError("feature_names must be distinct; two selected features share one.")
    if n_responses > 1:
        target_name = _response_names(target_name, n_responses)
    elif not isinstance(target_name, str | None):
        raise ValueError(f"target_name must be one name for one target; got {target_name!r:.80}.")
    return {
        "n_features_in": n_features,
        "feature_names": names,
        "first_index": first_index,
        "target_name": target_name,
        "columns": dict(columns or {}),
    }


def _response_names(given: str | Sequence[str] | None, n_responses: int) -> list[str]:
    """Return the names of several responses."""
    if given is None:
        return [f"response {number}" for number in range(1, n_responses + 1)]
    names = [] if isinstance(given, str) else [str(name) for name in given]
    if len(names) != n_responses or len(set(names)) < n_responses:
        raise ValueError(
            f"target_name must be a list of {n_responses} distinct names, one for each response; "
            f"got {given!r:.80}."
        )
    return names


def check_header(
    metadata: Mapping[str, Any], entries: Mapping[str, Any], kind: FileKind, require: Require
) -> None:
    """Check that the metadata have these entries, and what those of all files say."""
    check_fields("metadata", metadata, entries, require)
    known = kind.oldest <= metadata["format"] <= kind.version
    require(known, f"metadata says format {metadata['format']}")
    require(0 < metadata["n_features_in"] < 2**62, "n_features_in must be positive")
    require(metadata["first_index"] in (0, 1), "first_index must be 0 or 1")
    names = metadata["target_name"]
    require(
        not isinstance(names, list)
        or (all(isinstance(name, str) for name in names) and len({*names}) == len(names) > 1),
        "target_name must be a name, or those of two or more responses, distinct strings",
    )
    for what, name in metadata["columns"].items():
        known = what in ROLES or what in (
            "event_value", "layer", "missing", "id", "where", "row_numbers",
        )  # fmt: skip
        require(
            known and isinstance(name, str),
            f"columns must be names by {', '.join(ROLES)}; got {quote(what)}",
        )
    try:
        shlex.split(metadata["columns"].get("row_numbers", ""))
    except ValueError:
        require(False, "columns has row_numbers that are no list of quoted names")


def names_in(metadata: Mapping[str, Any], k: int, require: Require) -> tuple[str, ...] | None:
    """Return the names of the k features of the support."""
    names = metadata["feature_names"]
    if names is None:
        return None
    require(
        len(names) == k and all(isinstance(name, str) for name in names) and len(set(names)) == k,
        f"feature_names must be {k} distinct strings",
    )
    return tuple(names)


def storable(classes: NDArray[Any]) -> NDArray[Any]:
    """Return class labels as numbers or str."""
    if classes.dtype.kind == "O" and all(isinstance(label, str) for label in classes):
        classes = classes.astype(str)
    if classes.dtype.kind not in "biufU":
        raise TypeError(
            f"class labels must be numbers or strings to be saved; got {classes.dtype}. Encode "
            "them as strings."
        )
    return classes


def weights_of_classes(
    labels: NDArray[Any], weight: FloatArray, class_weight: Any, order: NDArray[Any] | None
) -> tuple[NDArray[Any], FloatArray, int]:
    """Return the classes, the weight of each, and the number of rows of positive weight.

    order : of the labels; None: they are sorted.
    """
    from ..core.validation import class_factors

    rows = np.flatnonzero(weight > 0)
    factors = np.zeros(labels.size)
    factors[rows] = class_factors(class_weight, labels[rows], weight[rows])
    used = factors > 0
    classes, first = np.unique(labels[used], return_index=True)
    of_classes = factors[used][first]
    if order is not None:
        places = np.argsort(numbered(classes, order))
        classes, of_classes = classes[places], of_classes[places]
    return classes, of_classes, int(used.sum())


def check_classes(classes: NDArray[Any], require: Require, *, in_order: bool = False) -> None:
    """Check the array of the class labels; in_order: in an order of their own, not sorted."""
    require(
        classes.ndim == 1 and classes.size >= 2 and classes.dtype.kind in "biufU",
        "classes must be two or more numbers or strings",
    )
    require(classes.dtype.kind != "U" or is_text(classes), "classes must be valid text")
    if in_order:
        require(np.unique(classes).size == classes.size, "classes must be distinct")
        return
    ordered = all(a < b for a, b in itertools.pairwise(classes.tolist()))
    require(ordered, "classes must be distinct and sorted")


def count_responses(metadata: Mapping[str, Any]) -> int:
    """Return how many responses the target has."""
    names = metadata["target_name"]
    return len(names) if isinstance(names, list) else 1


def count_scores(classes: NDArray[Any], n_responses: int = 1) -> int:
    """Return how many scores there are: one of two classes, without classes one per response."""
    if not classes.size:
        return n_responses
    return 1 if classes.size == 2 else classes.size

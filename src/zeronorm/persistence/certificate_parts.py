"""What the parts of a certificate in a file must be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import Require
from ..core.groups import Groups
from ..core.results import Minorant, Tree
from ..core.types import IndexArray
from ..io.npy import is_text
from .records import check_record

OF_GROUPS = ("group_of", "group_labels")  # They are there only where groups were selected.
_NUMBERS, _OF_MINORANT = ("intercept", "objective", "core"), ("coef", "bend", "diagonal")
# Each array has this type, and one of these numbers of dimensions: two of several outputs.
OF_CERTIFICATE = {
    "support": ("<i8", (1,)),
    "coef": ("<f8", (1, 2)),
    "dual": ("<f8", (1, 2)),
    "forced": ("<i8", (1,)),
    "parent": ("<i8", (1,)),
    "feature": ("<i8", (1,)),
    "inside": ("|b1", (1,)),
    "row": ("<i8", (1,)),
    "tree_dual": ("<f8", (2,)),
}


def check_certificate(values: dict[str, NDArray[Any]], m: int, require: Require) -> Tree | None:
    """Check the arrays of a certificate; return its tree."""
    for name, (kind, n_dimensions) in OF_CERTIFICATE.items():
        array = values[name]
        require(
            array.dtype == kind and array.ndim in n_dimensions,
            f"{name} must be {np.dtype(kind)} of {' or '.join(map(str, n_dimensions))} dimensions; "
            f"got {array.dtype} of shape {array.shape}",
        )
        require(bool(np.isfinite(array).all()), f"{name} must be finite")
    for name in ("support", "forced", "feature"):
        require(bool((values[name] < m).all()), f"{name} must be below {m}")
    parent, dual = values["parent"], values["tree_dual"]
    require(
        dual.shape[1] == values["dual"].size and (parent.size > 0 or not len(dual)),
        "the arrays of a tree must fit each other",
    )
    if not parent.size:
        return None
    return Tree(parent, values["feature"], values["inside"], values["row"], dual)


def list_diagonal(tree: Tree | None) -> list[list[Any]]:
    """Return the features of the diagonal of a tree, each with what it is there."""
    if tree is None:
        return []
    features = np.flatnonzero(tree.diagonal)
    return [[int(feature), float(tree.diagonal[feature])] for feature in features]


def with_diagonal(tree: Tree | None, listed: list[Any], m: int, require: Require) -> Tree | None:
    """Return a tree with the diagonal that the metadata list."""
    if tree is None or not listed:
        require(not listed, "diagonal must be of a tree")
        return tree
    diagonal = np.zeros(m)
    for entry in listed:
        require(
            isinstance(entry, list)
            and [type(one) for one in entry] == [int, float]
            and 0 <= entry[0] < m
            and 0.0 < entry[1] < np.inf,
            "diagonal must be features, each with a positive number",
        )
        diagonal[entry[0]] = entry[1]
    return replace(tree, diagonal=diagonal)


def list_minorants(tree: Tree | None) -> list[dict[str, Any]]:
    """Return the minorants of a tree, as lists and numbers."""
    return [
        {
            "features": one.features.tolist(),
            **{name: float(getattr(one, name)) for name in _NUMBERS},
            **{name: getattr(one, name).astype(np.float64).tolist() for name in _OF_MINORANT},
        }
        for one in (() if tree is None else tree.minorants)
    ]


def with_minorants(tree: Tree | None, listed: list[Any], m: int, require: Require) -> Tree | None:
    """Return a tree with the minorants that the metadata list."""
    if tree is None or not listed:
        require(not listed, "minorants must be of a tree")
        return tree
    fields = {"features": list} | dict.fromkeys(_NUMBERS, float) | dict.fromkeys(_OF_MINORANT, list)
    found = []
    for one in listed:
        check_record("a minorant", one, fields, require)
        indices = all(type(feature) is int and 0 <= feature < m for feature in one["features"])
        numbers = all(type(value) is float for name in _OF_MINORANT for value in one[name])
        require(indices and numbers, f"minorants must be of numbers and of features below {m}")
        arrays = {name: np.array(one[name], np.float64) for name in _OF_MINORANT}
        own: dict[str, Any] = {name: one[name] for name in _NUMBERS}
        found.append(Minorant(np.array(one["features"], np.int64), **(own | arrays)))
    return replace(tree, minorants=tuple(found))


def check_groups(arrays: Mapping[str, NDArray[Any]], m: int, require: Require) -> Groups | None:
    """Return the groups of the features, None in the file of a budget of features."""
    if OF_GROUPS[0] not in arrays:
        return None
    code, labels = (arrays[name] for name in OF_GROUPS)
    require(code.dtype == "<i8" and code.shape == (m,), f"group_of must be {m} indices")
    require(
        labels.ndim == 1
        and labels.dtype.kind in "iuU"
        and (labels.dtype.kind != "U" or is_text(labels)),
        "group_labels must be integers or valid text",
    )
    within = bool(((code >= 0) & (code < labels.size)).all())
    require(within, f"group_of must be between 0 and {labels.size - 1}")
    return Groups(labels, code.astype(np.int64))


def check_signs(signs: NDArray[Any], m: int, require: Require) -> NDArray[Any]:
    """Return the signs of coefficients, of all features or none."""
    sound = signs.dtype == "|i1" and signs.shape in ((m,), (0,))
    require(sound and bool(np.isin(signs, (-1, 0, 1)).all()), f"signs must be {m} of -1, 0, 1")
    return signs


def check_covariates(own: Mapping[str, Any], m: int, require: Require) -> dict[str, NDArray[Any]]:
    """Return covariates and their coefficients as arrays."""
    covariates, effects = own["covariates"], own["effects"]
    known = all(type(one) is int and 0 <= one < m for one in covariates)
    require(known, f"covariates must be features, from 0 to {m - 1}")
    rows = effects if own["coef"].ndim == 2 and covariates else [effects]
    sound = all(
        isinstance(row, list)
        and len(row) == len(covariates)
        and all(type(value) is float for value in row)
        for row in rows
    )
    require(sound, "effects must be numbers, one for each covariate (and output)")
    return {"covariates": np.array(covariates, np.int64), "effects": np.array(effects, np.float64)}


def check_equivalents(listed: list[Any], m: int, require: Require) -> dict[int, IndexArray]:
    """Return the equivalent features that the metadata list."""

    def is_feature(value: Any) -> bool:
        return type(value) is int and 0 <= value < m

    for entry in listed:
        require(
            isinstance(entry, list)
            and len(entry) == 2
            and is_feature(entry[0])
            and isinstance(entry[1], list)
            and all(map(is_feature, entry[1])),
            "equivalents must be features, each with a list of features",
        )
    return {feature: np.array(others, np.int64) for feature, others in listed}

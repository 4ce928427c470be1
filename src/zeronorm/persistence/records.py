"""What models and proofs found out, as JSON objects: made for metadata, checked in those of a file.

Numbers that are not known (NaN) or infinite are null.
"""

from __future__ import annotations

import itertools
import json
import math
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..core.criteria import CRITERIA
from ..core.files import Require, check_fields, quote
from ..core.groups import Groups
from ..core.ranking import numbered
from ..core.results import Certificate, Minorant, Selection, Status, Step, Tree, relative_gap
from ..core.types import FloatArray, IndexArray
from ..estimators.base import certificate_text, coefficient_heads, features_table
from ..io.npy import is_text
from ..io.table import ROLES
from .archive import FileKind

if TYPE_CHECKING:
    from ..estimators.wrapped import Threshold
    from .models import LinearModel

_CERTIFICATE = {
    "C": float,
    "scaling": str,
    "objective": float,
    "bound": float,
    "gap": float,
    "proven": bool,
    "candidates": int,
    "fixed_in": int,
    "n_forced": int,
    "n_covariates": int,
    "loss": str,
    "fit_intercept": bool,
    "n_groups": (int, type(None)),
    "n_signed": int,
    "max_abs_coef": (float, type(None)),
}
_SOLUTION = {
    "C": (float, type(None)),
    "loss": str,
    "objective": (float, type(None)),
    "gap": (float, type(None)),
}
_CALIBRATION = {
    "scale": float,
    "cv_log_loss": (float, type(None)),
}
_THRESHOLD = {
    "positive": int,  # the place of the positive class among the sorted ones
    # From which one on a row is positive; one of them is null.
    "probability": (float, type(None)),
    "score": (float, type(None)),
    "rule": str,
}
_CRITERIA = {
    "size": (int, list),
    "log_loss": (float, type(None)),
    **dict.fromkeys(CRITERIA, (float, type(None))),
}
_STEP = {
    "n_features": int,
    "objective": (float, type(None)),
    "bound": (float, type(None)),
    "gap": (float, type(None)),
    "status": (str, type(None)),
}
LABELLED = ("logistic", "squared_hinge")


def summarize(certificate: Certificate | None) -> dict[str, Any] | None:
    """Return the numbers of a certificate; support, coefficients and dual stay behind."""
    if certificate is None or not np.isfinite([certificate.objective, certificate.bound]).all():
        return None
    return as_record(certificate, _CERTIFICATE)


def as_record(source: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes of an object as a JSON object, each of the first type of its field."""
    record = {}
    for name, kind in fields.items():
        value = getattr(source, name)
        first = kind[0] if isinstance(kind, tuple) else kind
        record[name] = None if value is None else first(value)
    return record


def summarize_solution(C: float, loss: str, objective: float, gap: float) -> dict[str, Any]:
    """Return the record of a solution of the l1 family."""
    return {
        "C": finite_or_none(C),
        "loss": loss,
        "objective": finite_or_none(objective),
        "gap": finite_or_none(gap),
    }


def summarize_calibration(model: Selection) -> dict[str, Any]:
    """Return what the margins of a model were multiplied by, and the log-loss out of fold."""
    return {"scale": float(model.scale), "cv_log_loss": finite_or_none(model.cv_log_loss)}


def summarize_threshold(threshold: Threshold | None, classes: Any) -> dict[str, Any] | None:
    """Return from which probability on a row is of the positive one of two classes."""
    if threshold is None:
        return None
    labels = np.sort(np.asarray(classes)).tolist()
    if len(labels) != 2 or threshold.pos_label not in labels:
        raise ValueError(
            f"threshold must be of a model of two classes, one of which is its pos_label; got "
            f"{threshold.pos_label!r:.50} of {len(labels)} classes. Pass the estimator in it."
        )
    value = float(threshold.threshold)
    if threshold.by_score and not math.isfinite(value):
        raise ValueError(f"threshold must be a finite score; got {value!r}.")
    if not threshold.by_score and not 0 < value < 1:
        raise ValueError(
            f"threshold must be a probability above 0 and below 1; got {value!r}. Set another one, "
            "or use response_method='decision_function'."
        )
    return {
        "positive": labels.index(threshold.pos_label),
        "probability": None if threshold.by_score else value,
        "score": value if threshold.by_score else None,
        "rule": threshold.rule,
    }


def summarize_step(step: Step) -> dict[str, Any]:
    """Return the numbers of a step; null for what it did not find out."""
    numbers = {
        "objective": step.objective,
        "bound": step.bound,
        "gap": step.extra.get("gap", math.nan),
    }
    return {
        "n_features": int(step.n_features),
        **{name: finite_or_none(value) for name, value in numbers.items()},
        "status": None if step.status is None else step.status.name,
    }


def tabulate(criteria: Mapping[str, NDArray[Any]] | None) -> list[dict[str, Any]]:
    """Return the columns of `criteria_` as rows, none where there are none; null for no number.

    A size is a number, or the list of both budgets of a bi-level model, [features, groups].
    """
    if criteria is None:
        return []
    sizes = criteria["size"].tolist()
    columns = [
        [finite_or_none(value) for value in criteria[name]] for name in ("log_loss", *CRITERIA)
    ]
    return [
        {"size": size, **dict(zip(("log_loss", *CRITERIA), row, strict=True))}
        for size, *row in zip(sizes, *columns, strict=True)
    ]


def finite_or_none(value: float) -> float | None:
    """Return a number, None for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def check_summary(record: Any, losses: Sequence[str], require: Require) -> None:
    """Check what `summarize` returns, of one of some losses."""
    check_record("a certificate", record, _CERTIFICATE, require)
    check_loss("a certificate", record, losses, require)
    objective, gap = record["objective"], record["gap"]
    known = relative_gap(objective, record["bound"])
    require(
        gap == known and record["proven"] == (gap <= 1e-9),
        "gap and proven of a certificate must be those of its objective and bound",
    )


def check_solution(record: Any, losses: Sequence[str], require: Require) -> None:
    """Check what `summarize_solution` returns, of one of some losses."""
    check_record("a solution", record, _SOLUTION, require)
    check_loss("a solution", record, losses, require)
    C = record["C"]  # null: infinite
    require(C is None or C > 0, "the C of a solution must be positive")


def check_calibration(record: Any, require: Require) -> None:
    """Check what `summarize_calibration` returns."""
    check_record("a calibration", record, _CALIBRATION, require)
    require(record["scale"] > 0, "the scale of a calibration must be positive")


def check_threshold(record: Any, require: Require) -> None:
    """Check what `summarize_threshold` returns."""
    check_record("a threshold", record, _THRESHOLD, require)
    require(record["positive"] in (0, 1), "the positive class of a threshold must be 0 or 1")
    probability, score = record["probability"], record["score"]
    require((probability is None) != (score is None), "a threshold is a probability or a score")
    require(probability is None or 0 < probability < 1, "a threshold must be above 0 and below 1")


def check_step(record: Any, require: Require) -> None:
    """Check what `summarize_step` returns."""
    check_record("a step", record, _STEP, require)
    require(
        record["status"] is None or record["status"] in Status.__members__,
        f"a step has the unknown status {quote(str(record['status']))}",
    )


def check_criteria(record: Any, require: Require) -> None:
    """Check a row of what `tabulate` returns."""
    check_record("a row of criteria", record, _CRITERIA, require)
    size = record["size"]
    if isinstance(size, list):
        right = len(size) == 2 and all(type(budget) is int and budget > 0 for budget in size)
    else:
        right = size >= 0  # a model of the l1 norm may have no features
    require(right, "the size of a row of criteria must be a number of features, or a pair")


def check_record(what: str, record: Any, fields: Mapping[str, Any], require: Require) -> None:
    """Check an object with these fields, whose numbers are finite."""
    require(isinstance(record, dict), f"{what} must be a JSON object")
    check_fields(what, record, fields, require)
    finite = all(math.isfinite(value) for value in record.values() if type(value) is float)
    require(finite, f"{what} must be finite")


def check_loss(
    what: str, record: Mapping[str, Any], losses: Sequence[str], require: Require
) -> None:
    """Check the name of the loss in a record; those of labels have measures too."""
    known = record["loss"] in losses
    known = known or (losses[: len(LABELLED)] == LABELLED and record["loss"].startswith("measure "))
    require(known, f"the loss of {what} must be one of {', '.join(losses)}")


# The loss of a model in its file: a name and numbers. No file has anything imported.
#
# A loss of one's own goes by the name of its class, and whoever loads the model passes the object.

_LOSS = {"name": str, "class": (str, type(None)), "parameters": dict}
_PLAIN = (bool, int, float, str, type(None))


def _known() -> dict[str, type]:
    """Return the losses of this package that are not of labels, by name."""
    # On use: certificates are read, and verified, without.
    from ..losses import OF_NUMBERS, Cox

    return {one.name: type(one) for one in OF_NUMBERS} | {"cox": Cox, "cox_efron": Cox}


def describe_loss(loss: Any) -> dict[str, Any]:
    """Return the record of a loss: its name, the name of its class where it is not of this package.

    Raises
    ------
    TypeError
        Where another program could not import the class, or a parameter is no number or text.
    """
    kind = type(loss)
    own = _known().get(loss.name) is not kind
    if own:
        _check_importable(kind)
    return {
        "name": str(loss.name),
        "class": f"{kind.__module__}.{kind.__qualname__}" if own else None,
        "parameters": _parameters(loss),
    }


def _check_importable(kind: type) -> None:
    """Refuse a class that is not found where it says it is."""
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is not kind:
        raise TypeError(
            "loss must be of a class at the top level of a module, so that whoever loads the model "
            f"can import it; got {kind.__module__}.{kind.__qualname__}. Define it in a module."
        )


def _parameters(loss: Any) -> dict[str, Any]:
    """Return what a loss is stated with: the fields of a dataclass, else its attributes."""
    names = [one.name for one in fields(loss)] if is_dataclass(loss) else [*vars(loss)]
    found = {}
    for name in names:
        value = getattr(loss, name)
        value = value.item() if isinstance(value, np.generic) else value
        if type(value) not in _PLAIN or (type(value) is float and not math.isfinite(value)):
            raise TypeError(
                "loss must be stated with finite numbers and text to be saved; got "
                f"{name}={value!r:.60} of {type(loss).__name__}."
            )
        found[name] = value
    return found


def check_loss_record(record: Any, require: Require) -> None:
    """Check what `describe_loss` returns."""
    check_fields("loss", record, _LOSS, require)
    plain = all(type(value) in _PLAIN for value in record["parameters"].values())
    require(plain, "the parameters of the loss must be numbers or text")


def loss_in(record: Mapping[str, Any], losses: Iterable[Any], require: Require) -> Any:
    """Return the loss of a record: one of this package, or one of those that were passed."""
    name, kind = record["name"], record["class"]
    if kind is None:
        known = _known()
        require(name in known, f"the loss must be one of {', '.join(known)}")
        problem = ""
        try:
            return known[name](**record["parameters"])
        except (TypeError, ValueError) as error:
            problem = str(error)
        require(False, f"the parameters of the loss {name} are wrong ({problem.rstrip('.')})")
    for loss in losses:
        if describe_loss(loss) == record:
            return loss
    stated = ", ".join(f"{key}={value!r}" for key, value in record["parameters"].items())
    call = f"{kind.rpartition('.')[2]}({stated})"
    require(
        False,
        f"its loss is {call} of {kind!r}, which is not of zeronorm, and nothing is imported that a "
        f"file names; import it, and load the model with losses=[{call}]",
    )


# What the files of models and of certificates begin with: versions, the features, the classes.

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
    from ..core.targets import class_factors

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


# What the parts of a certificate in a file must be.

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


# What Python and notebooks show of a loaded model.

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


# How far predictions of numbers were from the targets of rows out of fold, for intervals.
#
# An interval is the prediction plus and minus a quantile of these absolute errors. Of rows
# exchangeable with those of the training it has its coverage approximately, where leaving a fold
# out changes the fit little, and on the average over rows: not given the features of one. No bound
# on it holds for all fits; that of CV+, which keeps the models of all folds, is 1 - 2 alpha for a
# coverage of 1 - alpha (Barber, Candes, Ramdas, Tibshirani, "Predictive inference with the
# jackknife+", The Annals of Statistics 49, 2021, where this interval is compared with it).

MOST = 1000  # order statistics that a file keeps


def has_intervals(loss: Any, n_targets: int) -> bool:
    """Return whether a model may have intervals: of one target, by a loss of residuals."""
    return loss is not None and n_targets == 1 and bool(loss.of_residuals)


def summarize_errors(errors: Any) -> dict[str, Any]:
    """Return the number of rows out of fold, and order statistics of their absolute errors.

    Of n rows all, or of more than 1000 those of the ranks ceil(i n / 1000).
    """
    values = np.asarray(errors, np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(
            "errors must be finite numbers, one for each row out of fold; got an array of shape "
            f"{values.shape}."
        )
    n = values.size
    most = min(n, MOST)
    ranks = -(-np.arange(1, most + 1) * n // most)
    return {"n": n, "absolute": np.sort(np.abs(values))[ranks - 1].tolist()}


def check_errors(record: Any, require: Require) -> None:
    """Check what `summarize_errors` returns."""
    known = isinstance(record, dict) and record.keys() == {"n", "absolute"}
    require(known and type(record["n"]) is int, "errors must have n and absolute")
    n, values = record["n"], record["absolute"]
    right = isinstance(values, list) and 0 < len(values) == min(n, MOST)
    right = right and all(type(one) is float and 0 <= one < math.inf for one in values)
    require(right and values == sorted(values), "absolute errors must be numbers that grow")


def half_width(record: Mapping[str, Any], coverage: float) -> float:
    """Return the half of an interval: the absolute error of rank ceil((n + 1) coverage).

    Raises
    ------
    ValueError
        If the coverage is not between 0 and 1, or so high that no error has that rank.
    """
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must be above 0 and below 1; got {coverage:g}.")
    n, values = record["n"], record["absolute"]
    rank = max(1, math.ceil((n + 1) * coverage - 1e-9))
    if rank > n:
        raise ValueError(
            f"coverage must be at most {n / (n + 1):.4g}, as there are the errors of {n} rows out "
            f"of fold; got {coverage:g}."
        )
    place = -(-rank * len(values) // n)
    return float(values[place - 1])


MULTINOMIAL, ORDINAL = "multinomial", "ordinal"  # the losses of several classes at once
OF_ALL = (MULTINOMIAL, ORDINAL)


def named_among(
    chosen: IndexArray, columns: IndexArray, names: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the names of some of sorted columns; none where these have none."""
    if not names:
        return ()
    return tuple(names[place] for place in np.searchsorted(columns, chosen))

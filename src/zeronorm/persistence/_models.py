"""Models in a file: save a fitted one, load one that predicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import IndexArray
from ..files import PathLike
from ..groups import Groups
from ..result import Result, Selection, Step
from ._archive import FileKind, ModelFileError, Require, pack, read_file, unpack, write_file
from ._header import (
    FEATURES,
    VERSIONS,
    check_classes,
    check_header,
    count_scores,
    decode,
    describe_features,
    describe_versions,
    encode,
    names_in,
    storable,
)
from ._linear_model import LinearModel
from ._records import (
    check_calibration,
    check_criteria,
    check_solution,
    check_step,
    check_summary,
    summarize,
    summarize_calibration,
    summarize_solution,
    summarize_step,
    tabulate,
)

# A model of a million features has a hundredth of the size.
MODEL = FileKind("model", version=1, max_size=1 << 30, error=ModelFileError)

_MEMBERS = ("metadata", "classes", "support", "coef", "intercept")
_ENTRIES = {
    **VERSIONS,
    "estimator": str,
    "parameters": dict,
    **FEATURES,
    "refit_C": list,
    "certificates": list,
    "history": list,
    "solutions": list,
    "criteria": list,
    "calibration": (dict, type(None)),
    "groups": (list, type(None)),
}


def save(
    estimator: Any,
    path: PathLike,
    *,
    n_features: int | tuple[int, int] | None = None,
    feature_names: Sequence[str] | None = None,
    first_index: int = 0,
    target_name: str | None = None,
) -> Path:
    """Write a fitted classifier to a model file; return its path.

    The file appears complete or not at all: it is written beside its place under another name,
    flushed to the disk and moved. A model that was there before stays until then.

    Parameters
    ----------
    estimator : fitted classifier of this package
        Of `L1ClassifierCV` the model at `C_` is written.
    path : path-like
    n_features : int, pair of int or None
        Which of the sizes that were fitted: numbers of groups where groups were selected, the pair
        (features, groups) of a `BilevelClassifier`; if None that of the model, the largest or the
        one that the criterion chose. Only for classifiers that fit several sizes, not for those of
        the l1 family.
    feature_names : sequence of n_features_in_ str, or None
        Names of all features if the estimator was fitted on data without (`feature_names_in_`).
    first_index : int
        What the data file calls its first feature: `Table.first_index`.
    target_name : str or None
        Name of the target column.

    Raises
    ------
    ValueError
        If the size was not fitted, there is only one model, the names do not fit, or the estimator
        encodes the columns of a data frame (groups="columns"), which a model file does not.
    TypeError
        If the estimator is not fitted or not of this package.
    OSError
        If the file cannot be written; then nothing is left behind.
    """
    fitted = _contents(estimator, n_features)
    models = fitted.models
    support = np.unique(np.concatenate([model.support for model in models])).astype(np.int64)
    coef = np.zeros((len(models), support.size))
    for row, model in enumerate(models):
        coef[row, np.searchsorted(support, model.support)] = model.coef

    classes = np.asarray(estimator.classes_)
    intercept = np.array([model.intercept for model in models], "<f8")
    if len(classes) == 2 and classes[0] > classes[1]:  # `pos_label` reversed them
        # A score of 0, of a model without weights, is of the first class here as it is there.
        intercept = np.where(intercept == 0.0, np.finfo(float).tiny, -intercept)
        classes, coef = classes[::-1], -coef

    names = feature_names
    if names is None:
        names = getattr(estimator, "feature_names_in_", None)
    metadata = {
        **describe_versions(MODEL),
        "estimator": type(estimator).__name__,
        "parameters": {key: _plain(value) for key, value in estimator.get_params().items()},
        **describe_features(
            support, int(estimator.n_features_in_), names, first_index, target_name
        ),
        "refit_C": fitted.refit_C,
        "certificates": fitted.certificates,
        "history": [[summarize_step(step) for step in steps] for steps in fitted.histories],
        "solutions": fitted.solutions,
        "criteria": fitted.criteria,
        "calibration": fitted.calibration,
        "groups": _groups_of(estimator, support),
    }
    arrays = {
        "metadata": encode(metadata),
        "classes": storable(classes),
        "support": support.astype("<i8"),
        "coef": coef.astype("<f8"),
        "intercept": intercept,
    }
    data = pack(MODEL, arrays)
    read_model("the model", data)  # what cannot be read back is not written
    return write_file(path, data)


@dataclass(frozen=True, slots=True)
class _Contents:
    """What a model file takes from an estimator, an entry for every score."""

    models: Sequence[Selection | Result]
    histories: Sequence[Sequence[Step]]
    certificates: list[dict[str, Any] | None]
    refit_C: list[float]  # none for models that are no refits
    solutions: list[dict[str, Any]]  # of the problems of the l1 family and of those without a refit
    criteria: list[dict[str, Any]]  # a row for every size; none for the l1 family
    calibration: dict[str, Any] | None  # of refits


def _contents(estimator: Any, n_features: int | tuple[int, int] | None) -> _Contents:
    """Return the models of a fitted classifier, those of one size where it has several."""
    # On use: reading a model file needs no estimators.
    from sklearn.base import is_classifier

    from ..estimators import L1Classifier, L1ClassifierCV
    from ..estimators._selecting import Selector
    from ..solvers.l1.setting import gap_of

    kind = type(estimator).__name__
    selects = isinstance(estimator, Selector) and is_classifier(estimator)
    if not selects and not isinstance(estimator, L1Classifier | L1ClassifierCV):
        raise TypeError(f"estimator must be a fitted classifier of zeronorm; got {kind}.")
    if not hasattr(estimator, "support_"):
        raise TypeError(
            f"estimator must be a fitted classifier of zeronorm; got {kind}, which is not fitted. "
            "Call fit first."
        )
    if getattr(estimator, "_encoding", None) is not None:
        raise ValueError(
            f"{kind} with groups='columns' encodes the columns of a data frame, which a model file "
            "does not. Fit it on the encoded columns, with their groups."
        )
    if selects:
        paths = estimator._paths
        sizes = list(paths[0])
        size: Any = estimator.size_ if n_features is None else n_features
        if isinstance(size, list):
            size = tuple(size)
        if size not in sizes:
            raise ValueError(f"n_features must be one of the fitted sizes {sizes}; got {size!r}.")
        chosen = [path[size] for path in paths]
        refit = hasattr(estimator, "_plan") and estimator._plan().refit_C is not None
        return _Contents(
            chosen,
            [path.history for path in paths],
            [summarize(model.certificate) for model in chosen],
            [float(model.refit_C) for model in chosen] if refit else [],
            [] if refit else [
                summarize_solution(model.refit_C, estimator._score_loss, math.nan, math.nan)
                for model in chosen
            ],
            tabulate(getattr(estimator, "criteria_", None)),
            summarize_calibration(chosen[0]) if refit else None,
        )  # fmt: skip
    if n_features is not None:
        raise ValueError(
            f"n_features chooses one of several models, and {kind} has only one; got "
            f"{n_features!r}. Leave it out."
        )
    results = estimator._results
    Cs = np.broadcast_to(np.asarray(estimator.C_, np.float64), len(results))
    solutions = [
        summarize_solution(C, estimator._score_loss, result.objective, gap_of(result))
        for C, result in zip(Cs, results, strict=True)
    ]
    none = [None for _ in results]
    histories = [result.history for result in results]
    refit_C = np.ravel(getattr(estimator, "refit_C_", [])).tolist()
    return _Contents(estimator._models, histories, [*none], refit_C, solutions, [], None)


def _groups_of(estimator: Any, support: IndexArray) -> list[Any] | None:
    """Return the group of every feature of a support; None where there are no groups."""
    if estimator.groups is None:
        return None
    names = getattr(estimator, "feature_names_in_", None)
    groups = Groups.of(
        estimator.groups, int(estimator.n_features_in_), None if names is None else list(names)
    )
    return [_plain(label) for label in groups.labels[groups.code[support]].tolist()]


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it; objects such as splitters as their repr."""
    if isinstance(value, Groups):  # those of the features of the model stand in `groups`
        return f"{len(value)} groups of {value.code.size} features"
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else repr(float(value))
    if hasattr(value, "__array__"):  # a data frame's column too
        return _plain(np.asarray(value).tolist())
    if isinstance(value, (list, tuple, range)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return repr(value)


def load(path: PathLike) -> LinearModel:
    """Read a model file. Nothing in it is executed or unpickled.

    Raises
    ------
    ModelFileError
        If the file is damaged, of a newer version, or no model file. It is a ValueError.
    MissingFileError
        If there is no such file. It is a FileNotFoundError.
    """
    return read_model(*read_file(MODEL, path))


def read_model(where: str, data: bytes) -> LinearModel:
    """Return the model in the bytes of a model file, all of it verified."""
    require = MODEL.requirement(where)
    arrays = unpack(MODEL, where, data, lambda _: _MEMBERS)
    metadata = _metadata(arrays["metadata"], require)
    classes, support = arrays["classes"], arrays["support"]
    coef, intercept = arrays["coef"], arrays["intercept"]
    check_classes(classes, require)
    n_features = metadata["n_features_in"]
    n_scores = count_scores(classes)
    k = support.size
    solved = bool(metadata["solutions"])
    require(support.dtype == "<i8" and support.ndim == 1, "support must be indices")
    require(k >= 1 or solved, "support must be indices, at least one")
    require(bool((np.diff(support) > 0).all()), "support must be sorted and without repeats")
    low, high = (int(support[0]), int(support[-1])) if k else (0, 0)
    require(
        low >= 0 and high < n_features,
        f"support must be between 0 and {n_features - 1}; got {low} to {high}",
    )
    for name, values, shape in (
        ("coef", coef, (n_scores, k)),
        ("intercept", intercept, (n_scores,)),
    ):
        require(
            values.dtype == "<f8" and values.shape == shape,
            f"{name} must be float64 of shape {shape}; got {values.dtype} of shape {values.shape}",
        )
        require(bool(np.isfinite(values).all()), f"{name} must be finite")
    names = names_in(metadata, k, require)
    for key in ("certificates", "history", "refit_C", "solutions"):
        optional = key == "solutions" or (key == "refit_C" and solved)
        require(
            len(metadata[key]) == n_scores or (optional and not metadata[key]),
            f"{key} must have {n_scores} entries",
        )
    calibrated = metadata["calibration"] is not None
    require(not (solved and calibrated), "calibration must be null beside solutions")
    groups = metadata["groups"]
    require(
        groups is None or (len(groups) == k and all(type(label) in (int, str) for label in groups)),
        f"groups must be {k} labels",
    )
    return LinearModel(
        classes,
        support.astype(np.int64),
        coef.astype(np.float64),
        intercept.astype(np.float64),
        n_features,
        names,
        metadata,
    )


def _metadata(raw: NDArray[Any], require: Require) -> dict[str, Any]:
    """Return the metadata with every entry of the right type."""
    metadata = decode(raw, require)
    _complete(metadata)
    check_header(metadata, _ENTRIES, MODEL, require)
    require(
        all(
            type(value) is float and math.isfinite(value) and value > 0
            for value in metadata["refit_C"]
        ),
        "refit_C must be positive numbers",
    )
    for certificate in metadata["certificates"]:
        if certificate is not None:
            check_summary(certificate, require)
    for solution in metadata["solutions"]:
        check_solution(solution, require)
    for row in metadata["criteria"]:
        check_criteria(row, require)
    if metadata["calibration"] is not None:
        check_calibration(metadata["calibration"], require)
    for history in metadata["history"]:
        require(isinstance(history, list), "a history must be a list of steps")
        for step in history:
            check_step(step, require)
    return metadata


def _complete(metadata: dict[str, Any]) -> None:
    """Add what files of earlier versions lack: refits, without groups, of the only loss."""
    metadata.setdefault("solutions", [])
    metadata.setdefault("criteria", [])
    metadata.setdefault("calibration", None)
    metadata.setdefault("groups", None)
    certificates = metadata.get("certificates")
    if not isinstance(certificates, list):
        return
    metadata.setdefault("history", [[] for _ in certificates])
    for certificate in certificates:
        if isinstance(certificate, dict):
            certificate.setdefault("loss", "logistic")
            certificate.setdefault("n_groups", None)

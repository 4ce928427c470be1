"""What is in a model file, and the way back: `load`, which verifies all of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import PathLike, Require
from ..io.coded_columns import check_codings, codings_of
from .archive import FileKind, ModelFileError, read_file, unpack
from .header import (
    FEATURES,
    VERSIONS,
    check_classes,
    check_header,
    count_responses,
    count_scores,
    decode,
    names_in,
)
from .linear_model import (
    LoadedClassifier,
    LoadedModel,
    LoadedRegressor,
    LoadedSurvivalModel,
    is_ordinal,
    shares_features,
)
from .losses import check_loss_record, loss_in
from .records import (
    LABELLED,
    check_calibration,
    check_criteria,
    check_solution,
    check_step,
    check_summary,
    check_threshold,
)
from .saved_certificate import OF_ALL
from .spread import check_errors

if TYPE_CHECKING:
    from ..estimators.baseline import Baseline

# A model of a million features has a hundredth of the size.
# Files of format 1 are of one response, and those before 3 of coefficients of any sign and without
# covariates, those before 4 of columns that are features as they stand, those before 5 without the
# means of the features, those before 6 without a threshold, those before 7 without the number of
# the training rows and what they were chosen by, and those before 8 without errors out of fold.
MODEL = FileKind("model", version=8, max_size=1 << 30, error=ModelFileError)

_MEMBERS = ("metadata", "classes", "support", "coef", "intercept")
_SURVIVAL = ("stratum", "time", "hazard")  # of the baseline of a survival model
_ENTRIES = {
    **VERSIONS,
    "estimator": str,
    "parameters": dict,
    **FEATURES,
    "codings": list,
    "refit_C": list,
    "certificates": list,
    "history": list,
    "solutions": list,
    "criteria": list,
    "calibration": (dict, type(None)),
    "threshold": (dict, type(None)),
    "feature_groups": (list, type(None)),
    "covariates": list,
    "loss": (dict, type(None)),
    "highest_score": (float, type(None)),
    "means": (list, type(None)),
    "n_samples": (int, type(None)),
    "errors": (dict, type(None)),
    "offset": bool,
}


def load(path: PathLike, *, losses: Iterable[Any] = ()) -> LoadedModel:
    """Read a model file. Nothing in it is executed, imported or unpickled.

    Parameters
    ----------
    path : path-like
    losses : losses of your own
        Of a model with one of them, it must be here, as it was fitted with: the file has the name
        of its class and its parameters only.

    Returns
    -------
    LoadedClassifier, LoadedRegressor or LoadedSurvivalModel

    Raises
    ------
    ModelFileError
        If the file is damaged, of a newer version, no model file, or has a loss of one's own that
        is not in `losses`. It is a ValueError.
    MissingFileError
        If there is no such file. It is a FileNotFoundError.
    """
    return read_model(*read_file(MODEL, path), losses)


def read_model(where: str, data: bytes, losses: Iterable[Any] = ()) -> LoadedModel:
    """Return the model in the bytes of a model file, all of it verified."""
    require = MODEL.requirement(where)
    arrays = unpack(MODEL, where, data, _members)
    metadata = _metadata(arrays["metadata"], require)
    loss = None
    if metadata["loss"] is None:
        ordinal = is_ordinal(metadata, arrays["classes"].size)
        check_classes(arrays["classes"], require, in_order=ordinal)
    else:
        require(arrays["classes"].shape == (0,), "classes must be none beside a loss of numbers")
        loss = loss_in(metadata["loss"], losses, require)
    common = _linear(arrays, metadata, require)
    survival = metadata["highest_score"] is not None
    cox = loss is not None and loss.target == "survival"
    require(
        cox == survival == ("hazard" in arrays),
        "highest_score and hazard must be there exactly for the loss cox",
    )
    if loss is None:
        classes = arrays["classes"]
        in_order = classes if ordinal else classes[:0]
        return LoadedClassifier(**common, classes_=np.sort(classes), ordered_classes_=in_order)
    if survival:
        require(not common["intercept_"].any(), "intercept must be 0 for the loss cox")
        baseline = _baseline(arrays, metadata["highest_score"], require)
        return LoadedSurvivalModel(**common, baseline=baseline)
    return LoadedRegressor(**common, loss=loss)


def _members(n_arrays: int) -> tuple[str, ...]:
    """Return the names of the arrays of a model file, given their number."""
    return _MEMBERS if n_arrays <= len(_MEMBERS) else (*_MEMBERS, *_SURVIVAL)


def _baseline(arrays: Mapping[str, NDArray[Any]], highest: float, require: Require) -> Baseline:
    """Return the baseline of a survival model."""
    from ..estimators.baseline import Baseline, StepFunction

    stratum, time, hazard = (arrays[name] for name in _SURVIVAL)
    n = stratum.size
    require(stratum.dtype == "<i8" and stratum.shape == (n,) and n > 0, "stratum must be indices")
    steps = np.diff(stratum)
    ordered = stratum[0] == 0 and bool(((steps == 0) | (steps == 1)).all())
    require(ordered, "stratum must count from 0 in steps of 1")
    for name, values in (("time", time), ("hazard", hazard)):
        sound = values.dtype == "<f8" and values.shape == (n,)
        sound = sound and bool(np.isfinite(values).all() and (values >= 0).all())
        require(sound, f"{name} must be {n} finite float64 that are not negative")
        inside = steps == 0
        up = np.diff(values)[inside]
        grows = bool((up > 0).all() if name == "time" else (up >= 0).all())
        require(grows, f"{name} must grow within a stratum")
    require(math.isfinite(highest), "highest_score must be finite")
    parts = [stratum == one for one in range(int(stratum[-1]) + 1)]
    return Baseline(
        highest,
        tuple(
            StepFunction(time[own].astype(np.float64), hazard[own].astype(np.float64), 0.0)
            for own in parts
        ),
    )


def _linear(
    arrays: Mapping[str, NDArray[Any]], metadata: dict[str, Any], require: Require
) -> dict[str, Any]:
    """Return what all models have, verified."""
    classes, support = arrays["classes"], arrays["support"]
    coef, intercept = arrays["coef"], arrays["intercept"]
    n_features = metadata["n_features_in"]
    n_scores = n_intercepts = count_scores(classes, count_responses(metadata))
    if is_ordinal(metadata, classes.size):
        n_scores, n_intercepts = 1, classes.size - 1
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
        ("intercept", intercept, (n_intercepts,)),
    ):
        require(
            values.dtype == "<f8" and values.shape == shape,
            f"{name} must be float64 of shape {shape}; got {values.dtype} of shape {values.shape}",
        )
        require(bool(np.isfinite(values).all()), f"{name} must be finite")
    falls = n_intercepts == n_scores or bool((np.diff(intercept) < 0).all())
    require(falls, "intercept must fall: it is minus the thresholds between ordered classes")
    names = names_in(metadata, k, require)
    n_models = 1 if not classes.size or shares_features(metadata, classes.size) else n_scores
    for key in ("certificates", "history", "refit_C", "solutions"):
        optional = key == "solutions" or (key == "refit_C" and solved)
        require(
            len(metadata[key]) == n_models or (optional and not metadata[key]),
            f"{key} must have {n_models} entries",
        )
    calibrated = metadata["calibration"] is not None
    no_loss = not calibrated or metadata["calibration"]["cv_log_loss"] is None
    require(no_loss or classes.size > 0, "cv_log_loss must be null without classes")
    require(not (solved and calibrated), "calibration must be null beside solutions")
    has_odds = {solution["loss"] for solution in metadata["solutions"]} <= {"logistic"}
    require(
        metadata["threshold"] is None or classes.size == 2,
        "threshold must be null but for two classes",
    )
    require(
        metadata["threshold"] is None or has_odds or metadata["threshold"]["probability"] is None,
        "threshold must be a score for a model without probabilities",
    )
    covariates = metadata["covariates"]
    columns = set(support.tolist())
    require(
        all(type(one) is int and one in columns for one in covariates)
        and covariates == sorted(set(covariates)),
        "covariates must be columns of the model, sorted, each once",
    )
    require(len(covariates) < k or not covariates, "a model must have more than its covariates")
    groups = metadata["feature_groups"]
    require(
        groups is None or (len(groups) == k and all(type(label) in (int, str) for label in groups)),
        f"feature_groups must be {k} labels",
    )
    means = metadata["means"]
    require(
        means is None
        or (len(means) == k and all(type(m) is float and math.isfinite(m) for m in means)),
        f"means must be {k} finite numbers",
    )
    n_samples = metadata["n_samples"]
    require(n_samples is None or n_samples > 0, "n_samples must be positive")
    return {
        "columns": support.astype(np.int64),
        "covariates_": np.array(covariates, np.int64),
        "coef": coef.astype(np.float64),
        "intercept_": intercept.astype(np.float64),
        "n_features_in_": n_features,
        "feature_names": names,
        "metadata": metadata,
        "codings": codings_of(metadata["codings"], names, require),
    }


def _metadata(raw: NDArray[Any], require: Require) -> dict[str, Any]:
    """Return the metadata with every entry of the right type."""
    metadata = decode(raw, require)
    _complete(metadata)
    check_header(metadata, _ENTRIES, MODEL, require)
    require(
        all(
            value is None or (type(value) is float and math.isfinite(value) and value > 0)
            for value in metadata["refit_C"]
        ),
        "refit_C must be positive numbers",
    )
    shared = len(metadata["certificates"]) == 1 and "multi_class" in metadata["parameters"]
    losses: tuple[str, ...] = (*LABELLED, *OF_ALL) if shared else LABELLED
    if metadata["loss"] is not None:
        check_loss_record(metadata["loss"], require)
        losses = (metadata["loss"]["name"],)
    for certificate in metadata["certificates"]:
        if certificate is not None:
            check_summary(certificate, losses, require)
    for solution in metadata["solutions"]:
        check_solution(solution, losses, require)
    check_codings(metadata["codings"], require)
    for row in metadata["criteria"]:
        check_criteria(row, require)
    if metadata["calibration"] is not None:
        check_calibration(metadata["calibration"], require)
    if metadata["threshold"] is not None:
        check_threshold(metadata["threshold"], require)
    if metadata["errors"] is not None:
        require(metadata["loss"] is not None, "errors must be null without a loss of numbers")
        check_errors(metadata["errors"], require)
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
    metadata.setdefault("threshold", None)
    metadata.setdefault("feature_groups", None)
    metadata.setdefault("loss", None)
    metadata.setdefault("highest_score", None)
    metadata.setdefault("columns", {})
    metadata.setdefault("covariates", [])
    metadata.setdefault("codings", [])
    metadata.setdefault("means", None)
    metadata.setdefault("n_samples", None)
    metadata.setdefault("errors", None)
    if isinstance(metadata["threshold"], dict):
        metadata["threshold"].setdefault("score", None)
    columns = metadata["columns"]
    known = isinstance(columns, dict) and not columns.keys().isdisjoint(("offset", "exposure"))
    metadata.setdefault("offset", known)
    certificates = metadata.get("certificates")
    if not isinstance(certificates, list):
        return
    metadata.setdefault("history", [[] for _ in certificates])
    for certificate in certificates:
        if isinstance(certificate, dict):
            certificate.setdefault("loss", "logistic")
            certificate.setdefault("n_groups", None)
            certificate.setdefault("n_covariates", 0)
            certificate.setdefault("n_signed", 0)
            certificate.setdefault("max_abs_coef", None)

"""Model files: `save` a fitted model, of one of its sizes, and `load` it, which verifies all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import PathLike, Require, write_file
from ..core.groups import Groups
from ..core.messages import span
from ..core.results import (
    Result,
    Selection,
    Step,
)
from ..core.types import FloatArray, IndexArray
from ..io.encoding import Coding, check_codings, codings_of, describe_codings
from .archive import (
    FEATURES,
    LABELLED,
    OF_ALL,
    VERSIONS,
    FileKind,
    ModelFileError,
    check_classes,
    check_header,
    count_responses,
    count_scores,
    decode,
    describe_features,
    describe_versions,
    encode,
    names_in,
    pack,
    read_file,
    storable,
    unpack,
)
from .loaded import (
    LoadedClassifier,
    LoadedModel,
    LoadedRegressor,
    LoadedSurvivalModel,
    is_ordinal,
    shares_features,
)
from .records import (
    check_calibration,
    check_criteria,
    check_errors,
    check_loss_record,
    check_solution,
    check_step,
    check_summary,
    check_threshold,
    describe_loss,
    finite_or_none,
    has_intervals,
    loss_in,
    summarize,
    summarize_calibration,
    summarize_errors,
    summarize_solution,
    summarize_step,
    summarize_threshold,
    tabulate,
)

if TYPE_CHECKING:
    from ..estimators.survival import Baseline
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


def save(
    estimator: Any,
    path: PathLike,
    *,
    n_features: int | tuple[int, int] | None = None,
    feature_names: Sequence[str] | None = None,
    first_index: int = 0,
    target_name: str | Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    codings: Mapping[str, Coding] | None = None,
    X: Any = None,
    errors: Any = None,
) -> Path:
    """Write a fitted model to a file; return its path.

    The file appears complete or not at all: it is written beside its place under another name,
    flushed to the disk and moved. A model that was there before stays until then.

    Parameters
    ----------
    estimator : fitted classifier, regressor or survival model of this package
        Of `L1ClassifierCV` and its like the model at `C_` is written. It may be in scikit-learn's
        `FixedThresholdClassifier` or `TunedThresholdClassifierCV`, whose threshold the file keeps,
        and in a `CalibratedClassifierCV` of two classes with method="sigmoid", ensemble=False.
    path : path-like
    n_features : int, pair of int or None
        Which of the sizes that were fitted: numbers of groups where groups were selected, the pair
        (features, groups) of a `BilevelClassifier`; if None that of the model, the largest or the
        one that the criterion chose. Only for estimators that fit several sizes, not for those of
        the l1 family.
    feature_names : sequence of n_features_in_ str, or None
        Names of all features if the estimator was fitted on data without (`feature_names_in_`).
    first_index : int
        What the data file calls its first feature: `Table.first_index`.
    target_name : str, list of str, or None
        Name of the target column; of several responses the name of each.
    columns : dict of str, or None
        Names of columns that are no features either, by what they are: "time", "event", "start",
        "strata", "offset", "exposure", "cv_groups"; and "event_value", what stands for an event in
        that column; "layer", which of several matrices X is; "missing", what became of empty cells;
        "where", which rows were chosen, as --where says it; "na", what else stood for them, and
        "dates", how dates are written. `zeronorm predict` finds them.
    codings : dict, or None
        How the features came from columns of a table, `Table.codings`: `zeronorm predict` codes
        the columns of other tables so.
    X : data of the fit, or None
        Where they are given, the file keeps how many rows they have, and the means of the features
        of the model, which are what `contributions` compares rows with.
    errors : (n,) or None
        Of one target with a loss of residuals, how far predictions of models that did not see the
        rows were from their targets: the file keeps their order, for `predict_interval`.

    Raises
    ------
    ValueError
        If the size was not fitted, there is only one model, the names do not fit, or the estimator
        encodes the columns of a data frame (feature_groups="columns"), which a model file does not.
    TypeError
        If the estimator is not fitted or not of this package, or has a loss of one's own that
        another program could not import.
    OSError
        If the file cannot be written; then nothing is left behind.
    """
    names = feature_names, first_index, target_name, columns, codings
    data, _ = _packed(estimator, n_features, *names, X, errors)
    return write_file(path, data)


def as_loaded(
    estimator: Any,
    *,
    n_features: int | tuple[int, int] | None = None,
    feature_names: Sequence[str] | None = None,
    target_name: str | Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> LoadedModel:
    """Return a fitted model as `load` would return it from a file, without one.

    The parameters and the errors are those of `save`.
    """
    names = feature_names, 0, target_name
    return _packed(estimator, n_features, *names, columns)[1]


def _packed(
    estimator: Any,
    n_features: int | tuple[int, int] | None,
    feature_names: Sequence[str] | None,
    first_index: int,
    target_name: str | Sequence[str] | None,
    columns: Mapping[str, str] | None = None,
    codings: Mapping[str, Coding] | None = None,
    X: Any = None,
    errors: Any = None,
) -> tuple[bytes, LoadedModel]:
    """Return the bytes of a model file, and the model that is read back from them."""
    # On use: reading a model file needs no estimators.
    from ..estimators.wrapped import model_and_threshold

    estimator, threshold = model_and_threshold(estimator)
    fitted = _contents(estimator, n_features)
    support, coef = _coefficients(fitted.models)

    classes = np.asarray(getattr(estimator, "classes_", np.empty(0, np.int64)))
    classes = np.asarray(getattr(estimator, "ordered_classes_", classes))
    intercepts = [np.atleast_1d(model.intercept) for model in fitted.models]
    intercept = np.concatenate(intercepts).astype("<f8")
    if fitted.baseline is not None:
        intercept[:] = 0.0  # a partial likelihood has none
    if len(classes) == 2 and classes[0] > classes[1]:  # `pos_label` reversed them
        # A score of 0, of a model without weights, is of the first class here as it is there.
        intercept = np.where(intercept == 0.0, np.finfo(float).tiny, -intercept)
        classes, coef = classes[::-1], -coef

    names = feature_names
    if names is None:
        names = getattr(estimator, "feature_names_in_", None)
    means, n_samples = (None, None) if X is None else _of_rows(X, support, estimator)
    metadata = {
        **describe_versions(MODEL),
        "estimator": type(estimator).__name__,
        "parameters": {
            key: _plain(value)
            for key, value in estimator.get_params().items()
            if key != "checkpoint"  # which is of the fit, not of the model
        }
        | ({"multi_class": estimator.multi_class_} if hasattr(estimator, "multi_class_") else {}),
        **describe_features(
            support,
            int(estimator.n_features_in_),
            names,
            first_index,
            target_name,
            columns,
            1 if classes.size else len(coef),
        ),
        "codings": describe_codings(support, names, codings or {}),
        "refit_C": fitted.refit_C,
        "certificates": fitted.certificates,
        "history": [[summarize_step(step) for step in steps] for steps in fitted.histories],
        "solutions": fitted.solutions,
        "criteria": fitted.criteria,
        "calibration": fitted.calibration,
        "threshold": summarize_threshold(threshold, classes),
        "feature_groups": _groups_of(estimator, support),
        "covariates": getattr(estimator, "covariates_", np.empty(0, np.int64)).tolist(),
        "loss": None if fitted.loss is None else describe_loss(fitted.loss),
        "highest_score": None if fitted.baseline is None else fitted.baseline.highest,
        "means": means,
        "n_samples": n_samples,
        "errors": _errors(errors, fitted.loss, len(coef)),
        "offset": getattr(estimator, "_has_offset", False),
    }
    arrays = {
        "metadata": encode(metadata),
        "classes": storable(classes),
        "support": support.astype("<i8"),
        "coef": coef.astype("<f8"),
        "intercept": intercept,
    }
    if fitted.baseline is not None:
        hazards = fitted.baseline.hazards
        sizes = [one.x.size for one in hazards]
        arrays["stratum"] = np.repeat(np.arange(len(hazards)), sizes).astype("<i8")
        arrays["time"] = np.concatenate([one.x for one in hazards]).astype("<f8")
        arrays["hazard"] = np.concatenate([one.y for one in hazards]).astype("<f8")
    data = pack(MODEL, arrays)
    # What cannot be read back is not written.
    return data, read_model("the model", data, [fitted.loss])


def _coefficients(models: Sequence[Selection | Result]) -> tuple[IndexArray, FloatArray]:
    """Return the features of models, sorted, and their coefficients, a row for each score."""
    from ..estimators.base import terms_of

    terms = [terms_of(model) for model in models]
    support = np.unique(np.concatenate([features for features, _ in terms])).astype(np.int64)
    rows = []
    for features, values in terms:
        own = np.atleast_2d(values)
        rows.append(np.zeros((len(own), support.size)))
        rows[-1][:, np.searchsorted(support, features)] = own
    return support, np.vstack(rows)


def _errors(errors: Any, loss: Any, n_scores: int) -> dict[str, Any] | None:
    """Return what a file keeps of errors out of fold; refuse those of other models."""
    if errors is None:
        return None
    if not has_intervals(loss, n_scores):
        raise ValueError(
            "errors are of models of one target with a loss of residuals (least squares, Huber, "
            "quantiles); leave them out of another one."
        )
    return summarize_errors(errors)


def _of_rows(X: Any, columns: IndexArray, estimator: Any) -> tuple[list[float], int]:
    """Return the means of some columns of the data of a fit, and how many rows they have."""
    from ..core.validation import check_names, names_of_fit
    from ..io.opening import as_design

    design = as_design(X)
    check_names(design.feature_names, names_of_fit(estimator))
    return means_of(design, columns), int(design.shape[0])


def means_of(X: Any, columns: IndexArray) -> list[float]:
    """Return the means of some columns of data."""
    from ..io.opening import as_design

    found = np.asarray(as_design(X).gather(columns).mean(axis=0), np.float64).ravel()
    return [float(mean) for mean in found]


@dataclass(frozen=True, slots=True)
class _Contents:
    """What a model file takes from an estimator, an entry for every score."""

    models: Sequence[Selection | Result]
    histories: Sequence[Sequence[Step]]
    certificates: list[dict[str, Any] | None]
    refit_C: list[float | None]  # infinite: None; none for models that are no refits
    solutions: list[dict[str, Any]]  # of the problems of the l1 family and of those without a refit
    criteria: list[dict[str, Any]]  # a row for every size; none for the l1 family
    calibration: dict[str, Any] | None  # of refits
    loss: Any  # of numbers and survival times; None: of labels
    baseline: Any = None  # of survival times


def _contents(estimator: Any, n_features: int | tuple[int, int] | None) -> _Contents:
    """Return the models of a fitted estimator, those of one size where it has several."""
    # On use: reading a model file needs no estimators.
    from sklearn.base import is_classifier

    from .. import estimators as own
    from ..core.validation import model_inside
    from ..estimators.folds import Selector
    from ..estimators.survival import SurvivalModel

    kind = type(estimator).__name__
    selects = isinstance(estimator, Selector)
    of_l1 = (
        own.L1Classifier, own.L1Regressor, own.L1SurvivalAnalysis,
        own.L1ClassifierCV, own.L1RegressorCV, own.L1SurvivalAnalysisCV,
    )  # fmt: skip
    of_survival = isinstance(estimator, SurvivalModel)
    if not selects and not isinstance(estimator, of_l1):
        raise TypeError(
            f"estimator must be a fitted model of zeronorm; got {kind}."
            f"{model_inside('estimator', estimator)}"
        )
    if not hasattr(estimator, "support_"):
        raise TypeError(
            f"estimator must be a fitted model of zeronorm; got {kind}, which is not fitted. "
            "Call fit first."
        )
    classifies = is_classifier(estimator)
    loss = None if classifies else estimator._loss()
    if getattr(estimator, "_encoding", None) is not None:
        raise ValueError(
            f"{kind} with feature_groups='columns' encodes the columns of a data frame, which a "
            "model file does not. Fit it on the encoded columns, with their groups."
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
            [finite_or_none(model.refit_C) for model in chosen] if refit else [],
            [] if refit else [
                summarize_solution(model.refit_C, estimator._score_loss, math.nan, math.nan)
                for model in chosen
            ],
            tabulate(getattr(estimator, "criteria_", None)),
            summarize_calibration(chosen[0]) if refit else None,
            loss,
            estimator._baselines[sizes.index(size)] if of_survival else None,
        )  # fmt: skip
    if n_features is not None:
        raise ValueError(
            f"n_features chooses one of several models, and {kind} has only one; got "
            f"{n_features!r}. Leave it out."
        )
    return _solved(estimator, loss, estimator._baseline() if of_survival else None)


def _solved(estimator: Any, loss: Any, baseline: Any) -> _Contents:
    """Return the models of an estimator of the l1 family."""
    from ..solvers.l1.setting import gap_of

    results = estimator._results
    Cs = np.broadcast_to(np.asarray(estimator.C_, np.float64), len(results))
    solutions = [
        summarize_solution(C, estimator._score_loss, result.objective, gap_of(result))
        for C, result in zip(Cs, results, strict=True)
    ]
    none = [None for _ in results]
    histories = [result.history for result in results]
    refit_C = np.ravel(getattr(estimator, "refit_C_", [])).tolist()
    return _Contents(
        estimator._models, histories, [*none], refit_C, solutions, [], None, loss, baseline
    )


def _groups_of(estimator: Any, support: IndexArray) -> list[Any] | None:
    """Return the group of every feature of a support; None where there are no groups."""
    if estimator.feature_groups is None:
        return None
    names = getattr(estimator, "feature_names_in_", None)
    groups = Groups.of(
        estimator.feature_groups,
        int(estimator.n_features_in_),
        None if names is None else list(names),
    )
    return [_plain(label) for label in groups.labels[groups.code[support]].tolist()]


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it; objects such as splitters as their repr."""
    if isinstance(value, Groups):  # those of the features of the model stand in `feature_groups`
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
    from ..estimators.survival import Baseline, StepFunction

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
        f"support must be {span(0, n_features - 1)}; got {low} to {high}",
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

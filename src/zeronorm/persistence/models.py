"""Model files: `save` a fitted model, of one of its sizes, and `load` it, which verifies all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import Message, Parameter, ParameterError
from ..core.files import PathLike, write_file
from ..core.groups import Groups
from ..core.results import Result, Selection
from ..core.types import FloatArray, IndexArray
from ..io.encoding import Coding, codings_of, describe_codings
from ..methods import Method
from .archive import (
    FileKind,
    ModelFileError,
    check,
    compressed,
    expanded,
    pack,
    read_file,
    unpack,
)  # fmt: skip
from .loaded import LoadedClassifier, LoadedModel, LoadedRegressor, LoadedSurvivalModel
from .records import (
    Hazard,
    LossRecord,
    ModelRecord,
    ThresholdRecord,
    describe,
    finite_or_none,
    has_intervals,
    known,
    summarize,
    summarize_errors,
    tabulate,
)

# A model of a million features has a hundredth of the size.
MODEL = FileKind("model", ModelRecord, version=9, max_size=1 << 30, error=ModelFileError)


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
    report: Mapping[str, Any] | None = None,
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
        What the data file calls its first feature: `Dataset.first_index`.
    target_name : str, list of str, or None
        Name of the target column; of several responses the name of each.
    columns : dict of str, or None
        Names of columns that are no features either, by what they are: "time", "event", "start",
        "strata", "offset", "exposure", "cv_groups"; and "event_value", what stands for an event in
        that column; "layer", which of several matrices X is; "missing", what became of empty cells;
        "where", which rows were chosen, as --where says it; "na", what else stood for them, and
        "dates", how dates are written. `zeronorm predict` finds them.
    codings : dict, or None
        How the features came from columns of a table, `Dataset.codings`: `zeronorm predict` codes
        the columns of other tables so.
    X : data of the fit, or None
        Where they are given, the file keeps how many rows they have, and the means of the features
        of the model, which are what `contributions` compares rows with.
    errors : (n,) or None
        Of one target with a loss of residuals, how far predictions of models that did not see the
        rows were from their targets: the file keeps their order, for `predict_interval`.
    report : dict or None
        A `zeronorm.reporting.records.Report` as values of JSON: `zeronorm report` shows it.

    Raises
    ------
    ValueError
        If the size was not fitted, there is only one model, the names do not fit, or the estimator
        encodes the columns of a data frame (feature_groups="columns"), which a model file does not.
    TypeError
        If the estimator is not fitted or not of this package, or has a loss of your own that
        another program could not import.
    OSError
        If the file cannot be written; then nothing is left behind.
    """
    names = feature_names, first_index, target_name, columns, codings
    data, _ = _packed(estimator, n_features, *names, X, errors, report)
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
    return _packed(estimator, n_features, feature_names, 0, target_name, columns)[1]


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
    report: Mapping[str, Any] | None = None,
) -> tuple[bytes, LoadedModel]:
    """Return the bytes of a model file, and the model that is read back from them."""
    # On use: reading a model file needs no estimators.
    from ..core.validation import check_names, names_of_fit
    from ..estimators.wrapped import model_and_threshold
    from ..io.opening import as_design

    estimator, threshold = model_and_threshold(estimator)
    models, fitted = _fitted(estimator, n_features)
    loss, baseline = fitted.pop("loss"), fitted.pop("baseline")
    support, coef = _coefficients(models)
    if errors is not None and not has_intervals(loss, len(coef)):
        raise ValueError(
            "errors are of models of one target with a loss of residuals (least squares, Huber, "
            "quantiles); leave them out of another one."
        )

    classes = np.asarray(getattr(estimator, "classes_", np.empty(0, np.int64)))
    classes = np.asarray(getattr(estimator, "ordered_classes_", classes))
    intercept = np.concatenate([np.atleast_1d(model.intercept) for model in models]).astype(float)
    if baseline is not None:
        intercept[:] = 0.0  # a partial likelihood has none
    if len(classes) == 2 and classes[0] > classes[1]:  # `pos_label` reversed them
        # A score of 0, of a model without weights, is of the first class here as it is there.
        intercept = np.where(intercept == 0.0, np.finfo(float).tiny, -intercept)
        classes, coef = classes[::-1], -coef

    names = feature_names
    if names is None:
        names = getattr(estimator, "feature_names_in_", None)
    means, n_samples = None, None
    if X is not None:
        design = as_design(X)
        check_names(design.feature_names, names_of_fit(estimator))
        means, n_samples = means_of(design, support), int(design.shape[0])
    parameters = as_plain(estimator.get_params() | {"checkpoint": None})
    del parameters["checkpoint"]  # which is of the fit, not of the model
    if hasattr(estimator, "multi_class_"):
        parameters["multi_class"] = estimator.multi_class_
    features = (support, int(estimator.n_features_in_), names, first_index, target_name, columns)
    record = {
        **describe(MODEL, *features, classes, 1 if classes.size else len(coef)),
        **fitted,
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "codings": describe_codings(support, names, codings or {}),
        "threshold": ThresholdRecord.of(threshold, classes),
        "feature_groups": _groups_of(estimator, support),
        "covariates": getattr(estimator, "covariates_", np.empty(0, np.int64)).tolist(),
        "loss": None if loss is None else LossRecord.of(loss),
        "highest_score": None if baseline is None else baseline.highest,
        "strata": None if baseline is None
        else [Hazard(time=one.x, hazard=one.y) for one in baseline.hazards],
        "means": means,
        "n_samples": n_samples,
        "errors": None if errors is None else summarize_errors(errors),
        "offset": getattr(estimator, "_has_offset", False),
        "support": support,
        "coef": coef,
        "intercept": intercept,
        "report": compressed(report),
    }  # fmt: skip
    data = pack(MODEL, record)
    # What cannot be read back is not written.
    return data, read_model("the model", data, [loss])


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


def means_of(X: Any, columns: IndexArray) -> list[float]:
    """Return the means of some columns of data."""
    from ..io.opening import as_design

    found = np.asarray(as_design(X).gather(columns).mean(axis=0), np.float64).ravel()
    return [float(mean) for mean in found]


def _fitted(
    estimator: Any, n_features: int | tuple[int, int] | None
) -> tuple[Sequence[Selection | Result], dict[str, Any]]:
    """Return the models of a fitted estimator, those of one size where it has several.

    With them come fields of the record, an entry for every model, the loss of numbers and survival
    times, and the baseline of the latter.
    """
    # On use: reading a model file needs no estimators.
    from sklearn.base import is_classifier

    from .. import estimators as own
    from ..core.validation import model_inside
    from ..estimators.problem import Selector
    from ..estimators.survival import SurvivalModel
    from ..solvers.l1.setting import gap_of

    kind = type(estimator).__name__
    selects = isinstance(estimator, Selector)
    of_l1 = (
        own.L1Classifier, own.L1Regressor, own.L1SurvivalAnalysis,
        own.L1ClassifierCV, own.L1RegressorCV, own.L1SurvivalAnalysisCV,
    )  # fmt: skip
    if not selects and not isinstance(estimator, of_l1):
        hint = model_inside("estimator", estimator)
        raise TypeError(f"estimator must be a fitted model of zeronorm; got {kind}.{hint}")
    if not hasattr(estimator, "support_"):
        raise TypeError(
            f"estimator must be a fitted model of zeronorm; got {kind}, which is not fitted. "
            "Call fit first."
        )
    if getattr(estimator, "_encoding", None) is not None:
        raise ValueError(
            Message(
                f"{kind} with ",
                Parameter.of("feature_groups", "columns"),
                " encodes the columns of a data frame, which a model file does not. Fit it on the "
                "encoded columns, with their groups.",
            )
        )
    survival = isinstance(estimator, SurvivalModel)
    loss = None if is_classifier(estimator) else estimator._loss()
    found = {"loss": loss, "criteria": tabulate(getattr(estimator, "criteria_", None))}
    if selects:
        paths = estimator._paths
        sizes = list(paths[0])
        size: Any = estimator.size_ if n_features is None else n_features
        if isinstance(size, list):
            size = tuple(size)
        if size not in sizes:
            raise ParameterError(
                "n_features", f"must be one of the fitted sizes {sizes}", f"{size!r}"
            )
        models = [path[size] for path in paths]
        steps = [path.history for path in paths]
        refit = hasattr(estimator, "_plan") and estimator._plan().refit_C is not None
        refit_C = [finite_or_none(model.refit_C) for model in models] if refit else []
        solved = [] if refit else [(model.refit_C, math.nan, math.nan) for model in models]
        calibration = {"scale": models[0].scale, **known(cv_log_loss=models[0].cv_log_loss)}
        found["calibration"] = calibration if refit else None
        found["certificates"] = [summarize(model.certificate) for model in models]
        found["baseline"] = estimator._baselines[sizes.index(size)] if survival else None
    else:
        if n_features is not None:
            raise ParameterError(
                "n_features",
                f"chooses one of several models, and {kind} has only one",
                f"{n_features!r}",
                "Leave it out.",
            )
        models, results = estimator._models, estimator._results
        steps = [result.history for result in results]
        refit_C = np.ravel(getattr(estimator, "refit_C_", [])).tolist()
        Cs = np.broadcast_to(np.asarray(estimator.C_, np.float64), len(results))
        solved = [(C, one.objective, gap_of(one)) for C, one in zip(Cs, results, strict=True)]
        found |= {"calibration": None, "criteria": [], "certificates": [None for _ in results]}
        found["baseline"] = estimator._baseline() if survival else None
    found["history"] = [
        [
            {
                "n_features": step.n_features,
                "status": None if step.status is None else step.status.name,
                **known(
                    objective=step.objective, bound=step.bound, gap=step.extra.get("gap", math.nan)
                ),
            }
            for step in one
        ]
        for one in steps
    ]
    found["solutions"] = [
        {"loss": estimator._score_loss, **known(C=C, objective=objective, gap=gap)}
        for C, objective, gap in solved
    ]
    return models, found | {"refit_C": refit_C}


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
    return [as_plain(label) for label in groups.labels[groups.code[support]].tolist()]


def as_plain(value: Any) -> Any:
    """Return a parameter as JSON has it; objects such as splitters as their repr.

    A method is its name with its options.
    """
    if isinstance(value, Method):
        return {"name": value.name, **as_plain(asdict(value))}
    if isinstance(value, Groups):  # those of the features of the model stand in `feature_groups`
        return f"{len(value)} groups of {value.code.size} features"
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)) and -(2**63) <= value < 2**64:
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else repr(float(value))
    if hasattr(value, "__array__"):  # a data frame's column too
        return as_plain(np.asarray(value).tolist())
    if isinstance(value, (list, tuple, range)):
        return [as_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
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
        If the file is damaged, of a newer version, no model file, or has a loss of your own that
        is not in `losses`. It is a ValueError.
    MissingFileError
        If there is no such file. It is a FileNotFoundError.
    """
    return read_model(*read_file(MODEL, path), losses)


def read_model(where: str, data: bytes, losses: Iterable[Any] = ()) -> LoadedModel:
    """Return the model in the bytes of a model file, all of it verified."""
    with MODEL.reading(where):
        record, metadata = unpack(MODEL, data)
        loss = None if record.loss is None else record.loss.made(losses)
        return _loaded(record, metadata, loss)


def _loaded(record: ModelRecord, metadata: dict[str, Any], loss: Any) -> LoadedModel:
    arrays = ("classes", "support", "coef", "intercept", "strata", "report")
    names, classes = record.names_of(record.support.size), record.classes
    common: dict[str, Any] = {
        "columns": record.support,
        "covariates_": np.array(record.covariates, np.int64),
        "coef": record.coef,
        "intercept_": record.intercept,
        "n_features_in_": record.n_features_in,
        "feature_names": names,
        "metadata": {key: value for key, value in metadata.items() if key not in arrays},
        "codings": codings_of(record.codings, names, check),
        "report": expanded(record.report),
    }
    cox = loss is not None and loss.target == "survival"
    check(
        cox == (record.highest_score is not None) == bool(record.strata),
        "highest_score and strata must be there exactly for the loss cox",
    )
    if loss is None:
        ordered = classes if record.ordinal else classes[:0]
        return LoadedClassifier(**common, classes_=np.sort(classes), ordered_classes_=ordered)
    if record.highest_score is None:
        return LoadedRegressor(**common, loss=loss)
    from ..estimators.survival import Baseline, StepFunction

    check(not record.intercept.any(), "intercept must be 0 for the loss cox")
    hazards = (StepFunction(one.time, one.hazard, 0.0) for one in record.strata or ())
    return LoadedSurvivalModel(**common, baseline=Baseline(record.highest_score, tuple(hazards)))

"""The command `zeronorm predict`, and the reading of rows for a model, as `evaluate` reads them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import persistence
from ..core.files import FileError, GapError, MissingFeaturesError, TargetError
from ..core.messages import Doubt, show
from ..estimators import BudgetRegressor, BudgetSurvivalAnalysis
from ..io.input import (
    Response,
    as_named,
    comparable,
    is_demo,
    is_genotypes,
    lasting,
    listed,
    read_table,
    refuse_unasked,
)
from ..io.joins import across_hint, features_in_rows
from ..io.read import joined
from ..io.read import read_blocks as read_in_blocks
from ..io.source import is_label_file
from ..io.table import ROLES, TableRequest, Where
from ..io.texts import folded
from ..persistence import LoadedClassifier, LoadedRegressor, LoadedSurvivalModel
from ..persistence.records import half_width, has_intervals
from ..reporting.documents.data import describe_data
from ..reporting.records import PredictionInterval, Predictions, ThresholdUsed
from ..reporting.text.evaluation import print_predictions
from ..reporting.text.words import sentence
from ..reporting.warnings import RepeatedNames
from .files import (
    FORMATS,
    STDOUT,
    Write,
    check_columns_file,
    columns_file,
    refuse_overwriting,
    refuse_swapped,
)
from .messages import Work, say_notes, show_document, watched
from .options import PredictOptions
from .target import columns_of, dates_of, offset_of, response_of
from .training import note_on_rows

if TYPE_CHECKING:
    from ..io.table import Dataset, Layout
    from ..persistence import LoadedModel
    from .options import RowsOptions


_BLOCK = 1 << 20  # so many cells are predicted at once
# What predictions need not.
_TARGETS = ("target", "time", "time_from", "event", "start", "strata", "cv_groups")


def predict(options: PredictOptions) -> None:
    """Predict with a model; with its target in DATA, say how well."""
    with watched(options) as work:
        data, output = options.data, options.output
        to_stdout = output is not None and str(output) == STDOUT
        refuse_swapped("predict", options.model, options.data)
        loaded = with_threshold(
            options.model, persistence.load(options.model), options.threshold, work.notes
        )
        work.notes.extend(note_on_rows(options, data, options.model, loaded.metadata))
        times = _times(options, loaded)
        interval = _check_interval(options, loaded)
        if output is not None:
            refuse_overwriting([output], data, options.target, options.model)
            if not to_stdout:
                check_columns_file(output, "--output", [*FORMATS], ", or be - for stdout")
        if to_stdout and options.as_json:
            raise ValueError("--json and --output - both go to stdout; leave out one of them.")
        work.progress.phase(f"Reading {data}")
        columns = columns_of(options)
        table, found = _predicted(options, loaded, columns, times, interval, work)
        response = None
        try:
            roles = {**loaded.metadata["columns"], **columns, **dates_of(options)}
            response = response_in(loaded, table, data, roles)
        except ValueError as error:  # predictions need no target
            work.notes.append(Doubt(f"no score: {str(error).rstrip('.')}"))
        found |= _judged(loaded, response, found["predictions"], work.notes)
        if interval is not None and response is not None:
            interval["inside"] = _share_inside(response.y, found["predictions"], interval)
        names = table.sample_names
    if to_stdout:
        say_notes(work.notes, options.quiet)
        return
    threshold = loaded.metadata["threshold"]
    document = Predictions(
        model=options.model,
        data=describe_data(data, table, response, n_covariates=loaded.covariates_.size),
        threshold=None if threshold is None else ThresholdUsed(**threshold),
        interval=None if interval is None else PredictionInterval(**interval),
        **found,
        file=None if output is None else str(output),
        notes=work.notes,
    )
    show_document(document, options, partial(print_predictions, sample_names=names))


def _predicted(
    options: PredictOptions,
    loaded: LoadedModel,
    columns: Mapping[str, str],
    times: list[float],
    interval: Mapping[str, Any] | None,
    work: Work,
) -> tuple[Dataset, dict[str, Any]]:
    """Predict block by block, and write what is to be written.

    Returns
    -------
    Dataset
        All rows. An array of features is zeros of its shape, which take no memory, and names are
        left out where the predictions are in a file.
    dict
        What a document says of the predictions.
    """
    seen: list[Dataset] = []
    parts: dict[str, list[Any]] = {"predictions": [], "probabilities": [], "survival": []}
    n_rows = 0
    known: dict[str, Any] = {}
    with ExitStack() as stack:
        write: Write | None = None
        for table in read_blocks(options, loaded.layout, columns, work.notes):
            work.progress.phase(f"Predicting, {n_rows:,} rows so far" if seen else "Predicting")
            known, values = _predictions(options, loaded, table, times)
            if write is None:
                write = stack.enter_context(columns_file(options.output, table.form))
            write(_columns_of_file(table, known, values, n_rows, interval))
            n_rows += table.X.shape[0]
            shown = options.output is None or options.as_json
            for name, array in values.items():
                if name == "predictions" or shown:
                    parts[name].append(array)
            X = table.X
            if isinstance(X, np.ndarray):  # not kept
                table = replace(table, X=np.empty((X.shape[0], 0), X.dtype))
            seen.append(table if shown else replace(table, sample_names=None))
    whole = joined(seen)
    work.notes[:0] = whole.notes
    if isinstance(X, np.ndarray):
        whole = replace(whole, X=np.broadcast_to(np.zeros((), X.dtype), (n_rows, X.shape[1])))
    return whole, known | {
        name: np.concatenate(arrays).tolist() if arrays else None for name, arrays in parts.items()
    }


def _times(options: PredictOptions, loaded: LoadedModel) -> list[float]:
    """Return the times of --times; refuse what the model does not have."""
    if options.proba and not isinstance(loaded, LoadedClassifier):
        raise ValueError(
            f"--proba is of classes; {options.model} has none. Leave it out"
            f"{', or say --times' if isinstance(loaded, LoadedSurvivalModel) else ''}."
        )
    if options.times is None:
        return []
    if not isinstance(loaded, LoadedSurvivalModel):
        raise ValueError(f"--times is of survival times; {options.model} has another target.")
    try:
        times = [float(text) for text in options.times.split(",")]
    except ValueError:
        times = [-1.0]
    if not all(0 <= time < float("inf") for time in times):
        raise ValueError(
            "--times must be numbers that are not negative, with commas between them; got "
            f"{options.times!r}."
        )
    if len(loaded.baseline.hazards) > 1:
        raise ValueError(
            f"--times needs a model without strata; {options.model} has "
            f"{len(loaded.baseline.hazards)}, each with survival curves of its own."
        )
    return times


def _check_interval(options: PredictOptions, loaded: LoadedModel) -> dict[str, Any] | None:
    """Return the interval that --interval asks for, as a document has it; None where it does not.

    Raises
    ------
    ValueError
        If its share is none, the model is not of numbers of one target, or its file has no errors
        of rows out of fold, or too few.
    """
    share, model = options.interval, options.model
    if share is None:
        return None
    if not 0 < share < 1:
        raise ValueError(
            f"--interval must be a share of rows, above 0 and below 1, as 0.9; got {share:g}."
        )
    if not isinstance(loaded, LoadedRegressor) or not has_intervals(loaded.loss, len(loaded.coef)):
        other = "survival times, of which --times says more"
        if isinstance(loaded, LoadedClassifier):
            other = "classes, of which --proba says how sure they are"
        elif isinstance(loaded, LoadedRegressor):
            n = len(loaded.coef)
            other = f"{n} responses" if n > 1 else f"numbers by the loss {loaded.loss.name}"
        raise ValueError(
            f"--interval {share:g} is of numbers of one target, by least_squares, huber or "
            f"quantile; {model} is of {other}. Leave it out."
        )
    record = loaded.metadata["errors"]
    if record is None:
        raise ValueError(
            f"--interval {share:g} needs the errors of rows out of fold, and {model} has none: it "
            "was selected without folds, or by an earlier version. Select it again with them."
        )
    n = record["n"]
    if share > n / (n + 1):
        raise ValueError(
            f"--interval must be at most {n / (n + 1):.4g} of {model}, which has the errors of "
            f"{n:,} rows out of fold; got {share:g}. More rows to select from allow more."
        )
    half = half_width(record, share)
    return {"share": share, "half_width": half, "n_errors": n, "inside": None}


def _share_inside(targets: Any, predictions: Any, interval: Mapping[str, Any]) -> float:
    """Return the share of targets that are in the intervals of their predictions."""
    return float(np.mean(np.abs(targets - np.array(predictions)) <= interval["half_width"]))


def note_on(path: str, loaded: Any) -> list[str]:
    """Return what is told where a model predicts from another probability than 1/2 on."""
    record = loaded.metadata["threshold"]
    if record is None:
        return []
    return [f"{path} predicts {sentence(ThresholdUsed(**record), loaded.classes_.tolist())}"]


def with_threshold(
    path: str, loaded: LoadedModel, asked: float | None, notes: list[str]
) -> LoadedModel:
    """Return a model that acts from the probability of --threshold on, and note which it is.

    asked : None where the model acts as its file has it.

    Raises
    ------
    ValueError
        If the number is no probability, or the model is not of two classes with probabilities.
    """
    if asked is None:
        notes.extend(note_on(path, loaded))
        return loaded
    if not 0 < asked < 1:
        raise ValueError(f"--threshold must be a probability, above 0 and below 1; got {asked:g}.")
    if not isinstance(loaded, LoadedClassifier) or loaded.classes_.size != 2:
        n = loaded.classes_.size if isinstance(loaded, LoadedClassifier) else 0
        got = f"one of {n} classes" if n else "not of classes"
        raise ValueError(
            f"--threshold {asked:g} is of models of two classes; {path} is {got}. Leave it out."
        )
    if {solution["loss"] for solution in loaded.metadata["solutions"]} - {"logistic"}:
        raise ValueError(
            f"--threshold {asked:g} is a probability, and {path} has none: it was trained for "
            "another loss than the logistic one. Leave it out."
        )
    before = loaded.metadata["threshold"]
    positive = 1 if before is None else before["positive"]
    record: dict[str, Any] = {
        "positive": positive,
        "probability": asked,
        "score": None,
        "rule": f"{asked:g}",
    }
    own = "not from 0.5 on"
    if before is not None:
        why = sentence(ThresholdUsed(**before), loaded.classes_).partition(" from ")[2]
        own = f"not from {why}, which {path} has"
    said = sentence(ThresholdUsed(**record), loaded.classes_.tolist())
    notes.append(f"{path} predicts {said} by --threshold, {own}")
    return replace(loaded, metadata={**loaded.metadata, "threshold": record})


def read_blocks(
    options: RowsOptions,
    like: Layout,
    columns: Mapping[str, str],
    notes: list[str],
    need_labels: bool = False,
) -> Iterator[Dataset]:
    """Yield the data to predict, of JSON lines and of several parts block by block.

    notes : what became of the rows is added to it at the end.
    need_labels : refuse columns none of which is the target, where they have names.
    """
    repeated = RepeatedNames()
    for table in _blocks(options, like, columns, notes, need_labels):
        repeated.take(table)
        yield table
    notes += repeated.notes()


def _blocks(
    options: RowsOptions,
    like: Layout,
    columns: Mapping[str, str],
    notes: list[str],
    need_labels: bool,
) -> Iterator[Dataset]:
    """Yield the blocks; see `read_blocks`.

    Predictions need no target: from the first gap in that of the model on it is left.
    """
    data, target = options.data, options.target
    if is_genotypes(data) or is_demo(data) or options.samples or options.transpose:
        table = read_table(
            data, target, id=options.id, like=like, need_labels=need_labels, columns=columns,
            samples=options.samples or (),
            layer=options.layer, where=options.where, encoding=options.encoding,
            by_position=options.by_position, transpose=options.transpose, na=options.na,
            decimal=options.decimal, feature_names=options.feature_names,
        )  # fmt: skip
        yield table
        return
    others = {role: name for role, name in columns.items() if role in ROLES}
    where = None if options.where is None else Where(options.where)
    request = TableRequest(
        target, like, options.id, need_labels, others, (), options.layer, where,
        encoding=options.encoding, decimal=options.decimal, na=options.na,
        feature_names=options.feature_names,
    )  # fmt: skip
    # A file of labels has those of all rows, and text without a model of it is coded by all.
    whole = like.names is None or any(
        is_label_file(name) for name in (target or "", *others.values())
    )
    n_read, size = 0, None if whole else _BLOCK
    with lasting(data) as (path, name):
        try:
            for table in read_in_blocks(path, request, size, name):
                refuse_unasked(table, data, {"target": target, **others}, options.by_position)
                n_read += 1
                yield table
        except GapError as error:
            asked = need_labels or target is not None or error.role in columns
            if asked or like.names is None or error.role not in _TARGETS:
                raise
            notes.append(Doubt(f"{error.what}, so that no target is read"))
            known = {role: one for role, one in like.columns.items() if role not in _TARGETS}
            like = replace(like, target_name=None, columns=known)
            where = None if options.where is None else Where(options.where)
            request = replace(request, like=like, where=where)
            again = read_in_blocks(path, request, size, name)
            yield from itertools.islice(again, n_read, None)
        except TargetError as error:
            hint = across_hint(path, target, options.encoding, options.decimal)
            if not hint:
                raise
            raise FileError(f"{error}{hint}") from None
        except MissingFeaturesError:
            across = None
            if not (target or others):
                across = features_in_rows(path, like, options.encoding, options.decimal, options.id)
            if across is None:
                raise
            yield as_named(across, path, data)
    if where is not None:
        if not where.n_kept:
            raise where.nothing_kept(data)
        notes.append(where.note)


def _predictions(
    options: PredictOptions,
    loaded: LoadedModel,
    table: Dataset,
    times: list[float],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a document says of all rows, and arrays of predictions for those of a table."""
    known: dict[str, Any] = {"classes": [], "responses": [], "loss": None, "times": times}
    values: dict[str, Any] = {}
    if isinstance(loaded, LoadedClassifier):
        classes = classes_in_order(loaded)
        known["classes"] = classes.tolist()
        values["predictions"] = loaded.predict(table)
        if options.proba:
            columns = np.searchsorted(loaded.classes_, classes)
            values["probabilities"] = loaded.predict_proba(table)[:, columns]
        return known, values
    if isinstance(loaded, LoadedSurvivalModel):
        known["loss"] = "cox"
        values["predictions"] = predicted = loaded.predict(table)
        if times:
            curves = loaded.baseline.survivals(predicted, False)
            values["survival"] = np.array([[float(curve(t)) for t in times] for curve in curves])
        return known, values
    offset = known_offset(loaded, table, options.data)
    values["predictions"] = predicted = loaded.predict(table, offset)
    known["loss"] = loaded.loss.name
    if predicted.ndim == 2:
        known["responses"] = loaded.metadata["target_name"]
    return known, values


def response_in(
    loaded: LoadedModel, table: Dataset, data: str, columns: Mapping[str, str]
) -> Response | None:
    """Return the target of a table, None where it has none."""
    if isinstance(loaded, LoadedSurvivalModel):
        there = {"time", "event"} <= table.columns.keys()
        return response_of(table, "survival", data, columns) if there else None
    if table.y is None:
        return None
    if isinstance(loaded, LoadedClassifier):
        return Response("classes", table.y)
    task = "counts" if loaded.loss.name == "poisson" else "numbers"
    return response_of(table, task, data, columns)


def known_offset(loaded: LoadedRegressor, table: Dataset, data: str) -> Any:
    """Return the offset of the samples; None where neither they nor the model have one.

    Raises
    ------
    ValueError
        Where the model has one and the samples do not: it would predict other numbers.
    """
    offset = offset_of(table, data)
    if offset is not None or not loaded.metadata["offset"]:
        return offset
    columns = loaded.metadata["columns"]
    role = "exposure" if "exposure" in columns else "offset"
    named = f" {show(columns[role])}" if role in columns else ""
    neutral = "1 in every row for predictions for one unit" if role == "exposure" else "0 for none"
    raise ValueError(
        f"{data}: no column{named} ({role}), which the model was fitted with. Name the column with "
        f"--{role} COLUMN, or add one, of {neutral}."
    )


def _judged(
    loaded: LoadedModel, response: Response | None, predictions: list[Any], notes: list[str]
) -> dict[str, Any]:
    """Return how good predictions are, as a document has it."""
    found: dict[str, Any] = dict.fromkeys(("accuracy", "confusion", "score", "score_name"))
    predicted = np.array(predictions)
    if isinstance(loaded, LoadedClassifier):
        if response is not None:
            compared = _compare(response.y, predicted, classes_in_order(loaded), notes)
            found["accuracy"], found["confusion"] = compared
        return found
    judge = judge_of(loaded)
    found["score_name"] = judge._score_name
    if response is not None:
        found["score"] = _score(judge, response, predicted, notes)
    return found


def classes_in_order(loaded: LoadedClassifier) -> Any:
    """Return the classes of a model, ordered ones from the lowest."""
    return loaded.ordered_classes_ if loaded.ordered_classes_.size else loaded.classes_


def judge_of(loaded: LoadedModel) -> Any:
    """Return an estimator that scores as those of numbers and of survival times do."""
    if isinstance(loaded, LoadedSurvivalModel):
        return BudgetSurvivalAnalysis()
    return BudgetRegressor(loss=loaded.loss)  # type: ignore[union-attr]


def _score(judge: Any, response: Response, predicted: Any, notes: list[str]) -> float | None:
    """Return the score of predictions, None where the samples allow none."""
    try:
        if response.task == "survival":
            target = judge._target(response.y, len(predicted))
            return float(judge._score_of_margins(predicted, target, np.ones(predicted.size)))
        if response.y.shape != predicted.shape:
            raise ValueError("the data have not as many targets as the model has responses")
        y = judge._target(response.y, len(predicted))
        if (y == y[0]).all(axis=0).any():
            raise ValueError("the targets of the samples must differ")
        return float(judge._explained(y, predicted, None))
    except ValueError as error:
        notes.append(Doubt(f"no score: {str(error).rstrip('.')}"))
        return None


def _compare(
    y: Any, predicted: Any, classes: Any, notes: list[str]
) -> tuple[float | None, list[list[int]] | None]:
    """Return accuracy and confusion of predictions, None where the labels are of other classes."""
    truth = comparable(y, classes)
    unknown = int((~np.isin(truth, classes)).sum())
    if unknown == len(truth):
        notes.append(
            Doubt(
                f"no accuracy: the model does not know the classes {listed(np.unique(y))}"
                f"; it knows {listed(classes)}"
            )
        )
        return None, None
    if unknown:
        notes.append(Doubt(unknown_classes(truth[~np.isin(truth, classes)], classes)))
    accuracy = float(np.mean(truth == predicted))
    return accuracy, confusion_of(truth, predicted, classes)


def unknown_classes(labels: Any, classes: Any) -> str:
    """Return how many labels are of classes that a model does not have, and which.

    labels : those of the samples that are none of `classes`.
    """
    found, known = np.unique(labels), {folded(str(label)): label for label in classes.tolist()}
    number = "1 sample has a class" if labels.size == 1 else f"{labels.size:,} samples have classes"
    alike = [one for one in found.tolist() if folded(str(one)) in known]
    but = ""
    if alike:
        pair = [show(str(one), 30) for one in (alike[0], known[folded(str(alike[0]))])]
        but = f"; {pair[0]!r} differs from {pair[1]!r} by case or blanks alone"
    return f"{number} that the model does not know, {listed(found)}{but}"


def confusion_of(truth: Any, predicted: Any, classes: Any) -> list[list[int]]:
    """Return counts, a row per true class of the model and a column per predicted class."""
    return [
        [int(((truth == actual) & (predicted == guess)).sum()) for guess in classes]
        for actual in classes
    ]


def _columns_of_file(
    table: Dataset,
    known: Mapping[str, Any],
    values: Mapping[str, Any],
    n_before: int,
    interval: Mapping[str, Any] | None,
) -> dict[str, list[Any]]:
    """Return the columns of the file of predictions for the rows of a table."""
    predictions = values["predictions"]
    numbers = range(n_before + 1, n_before + len(predictions) + 1)
    columns: dict[str, list[Any]] = {"sample": table.sample_names or [*numbers]}
    several: dict[str, Any] = {}
    if known["responses"]:
        several = dict(zip(known["responses"], predictions.T, strict=True))
    else:
        columns["risk" if known["loss"] == "cox" else "prediction"] = predictions.tolist()
    if interval is not None:
        half = interval["half_width"]
        several |= {"lower": predictions - half, "upper": predictions + half}
    if "probabilities" in values:
        names = [f"p({label})" for label in known["classes"]]
        several |= dict(zip(names, values["probabilities"].T, strict=True))
    if "survival" in values:
        names = [f"survival({time:g})" for time in known["times"]]
        several |= dict(zip(names, values["survival"].T, strict=True))
    return columns | {name: column.tolist() for name, column in several.items()}

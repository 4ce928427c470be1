"""The command `zeronorm predict`."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ._input import (
    check_folder,
    comparable,
    listed,
    read,
    refuse_overwriting,
)
from ._messages import show
from ._options import PredictOptions
from ._output import csv_cell, show_document
from ._progress import watched
from ._takes import takes
from ._target import Response, columns_of, offset_of, response_of

if TYPE_CHECKING:
    from ..files import Table
    from ..persistence import LoadedModel, LoadedRegressor


@takes(PredictOptions)
def predict(options: PredictOptions) -> None:
    """Predict with a model; with its target in DATA, say how well."""
    with watched(options.quiet) as work:
        work.progress.phase("Starting")
        from .. import persistence
        from .documents._data import describe_data
        from .reports._predictions import print_predictions

        data, output = options.data, options.output
        loaded = persistence.load(options.model)
        times = _times(options, loaded)
        if output is not None:
            check_folder(output)
        work.progress.phase(f"Reading {data}")
        columns = columns_of(options)
        table = read(
            data, options.target, options.id, loaded.layout, columns=columns,
            samples=options.samples or (), layer=options.layer,
        )  # fmt: skip
        work.notes.extend([*table.notes, *_lacking(loaded.metadata["columns"], table)])
        if output is not None:
            refuse_overwriting([output], data, options.target, options.model)
        work.progress.phase("Predicting")
        response = None
        try:
            response = _response(loaded, table, data, {**loaded.metadata["columns"], **columns})
        except ValueError as error:  # predictions need no target
            work.notes.append(f"no score: {str(error).rstrip('.')}")
        found = _predictions(options, loaded, table, response, times, work.notes)
        if output is not None:
            persistence.write_file(output, _predictions_csv(table, found))
    document = {
        "model": options.model,
        "data": describe_data(data, table, response),
        **found,
        "file": None if output is None else str(output),
        "notes": work.notes,
    }
    show_document(document, options, partial(print_predictions, sample_names=table.sample_names))


def _lacking(known: Mapping[str, str], table: Table) -> list[str]:
    """Return a note where a model was trained with an offset or exposure that a table lacks."""
    given = {"exposure": "predicted for an exposure of 1", "offset": "predicted without an offset"}
    if given.keys() & table.columns.keys():
        return []
    return [f"{said}: no column {known[role]!r}" for role, said in given.items() if role in known]


def _times(options: PredictOptions, loaded: LoadedModel) -> list[float]:
    """Return the times of --times; refuse what the model does not have."""
    from ..persistence import LoadedClassifier, LoadedSurvivalModel

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


def _response(
    loaded: LoadedModel, table: Table, data: str, columns: Mapping[str, str]
) -> Response | None:
    """Return the target of a table, None where it has none."""
    from ..persistence import LoadedClassifier, LoadedSurvivalModel

    if isinstance(loaded, LoadedSurvivalModel):
        there = {"time", "event"} <= table.columns.keys()
        return response_of(table, "survival", data, columns) if there else None
    if table.y is None:
        return None
    if isinstance(loaded, LoadedClassifier):
        return Response("classes", table.y)
    task = "counts" if loaded.loss.name == "poisson" else "numbers"
    return response_of(table, task, data, columns)


def _predictions(
    options: PredictOptions,
    loaded: LoadedModel,
    table: Table,
    response: Response | None,
    times: list[float],
    notes: list[str],
) -> dict[str, Any]:
    """Return what a document says of predictions, and how good they are."""
    import numpy as np

    from ..persistence import LoadedClassifier, LoadedSurvivalModel

    found: dict[str, Any] = {
        "classes": [], "responses": [], "loss": None, "predictions": [], "probabilities": None,
        "times": times, "survival": None, "accuracy": None, "confusion": None, "score": None,
        "score_name": None,
    }  # fmt: skip
    if isinstance(loaded, LoadedClassifier):
        predicted = loaded.predict(table)
        classes = loaded.ordered_classes_ if loaded.ordered_classes_.size else loaded.classes_
        found |= {"classes": classes.tolist(), "predictions": predicted.tolist()}
        if options.proba:
            columns = np.searchsorted(loaded.classes_, classes)
            found["probabilities"] = loaded.predict_proba(table)[:, columns].tolist()
        if response is not None:
            compared = _compare(response.y, predicted, classes, notes)
            found["accuracy"], found["confusion"] = compared
        return found
    from ..estimators import BudgetRegressor, BudgetSurvivalAnalysis

    judge: BudgetRegressor | BudgetSurvivalAnalysis
    if isinstance(loaded, LoadedSurvivalModel):
        predicted, judge = loaded.predict(table), BudgetSurvivalAnalysis()
        found["loss"] = "cox"
        if times:
            curves = loaded.baseline.survivals(predicted, False)
            found["survival"] = [[float(curve(time)) for time in times] for curve in curves]
    else:
        offset = _known_offset(loaded, table, options.data, notes)
        predicted, judge = loaded.predict(table, offset), BudgetRegressor(loss=loaded.loss)
        found["loss"] = loaded.loss.name
        if predicted.ndim == 2:
            found["responses"] = loaded.metadata["target_name"]
    found |= {"predictions": predicted.tolist(), "score_name": judge._score_name}
    if response is not None:
        found["score"] = _score(judge, response, predicted, notes)
    return found


def _known_offset(loaded: LoadedRegressor, table: Table, data: str, notes: list[str]) -> Any:
    """Return the offset of the samples; where the model had one and they do not, say so."""
    offset = offset_of(table, data)
    for role in ("offset", "exposure"):
        name = loaded.metadata["columns"].get(role)
        if offset is None and name is not None:
            per = "an offset of 0" if role == "offset" else "one unit of it"
            notes.append(f"no column {show(name)} ({role}) in the data: predictions are for {per}")
    return offset


def _score(judge: Any, response: Response, predicted: Any, notes: list[str]) -> float | None:
    """Return the score of predictions, None where the samples allow none."""
    import numpy as np

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
        notes.append(f"no score: {str(error).rstrip('.')}")
        return None


def _compare(
    y: Any, predicted: Any, classes: Any, notes: list[str]
) -> tuple[float | None, list[list[int]] | None]:
    """Return accuracy and confusion of predictions, None where the labels are of other classes."""
    import numpy as np

    truth = comparable(y, classes)
    unknown = int((~np.isin(truth, classes)).sum())
    if unknown == len(truth):
        notes.append(
            f"no accuracy: the model does not know the classes {listed(np.unique(y))}"
            f"; it knows {listed(classes)}"
        )
        return None, None
    if unknown:
        notes.append(f"{unknown} samples have classes that the model does not know")
    accuracy = float(np.mean(truth == predicted))
    return accuracy, _confusion(truth, predicted, classes)


def _confusion(truth: Any, predicted: Any, classes: Any) -> list[list[int]]:
    """Return counts, a row per true class of the model and a column per predicted class."""
    return [
        [int(((truth == actual) & (predicted == guess)).sum()) for guess in classes]
        for actual in classes
    ]


def _predictions_csv(table: Table, found: Mapping[str, Any]) -> bytes:
    """Return the file of predictions, a row per sample."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    header = ["sample", "risk" if found["loss"] == "cox" else "prediction"]
    if found["responses"]:
        header = ["sample", *map(csv_cell, found["responses"])]
    more = found["survival"]
    if found["probabilities"] is not None:
        header += [f"p({csv_cell(str(label))})" for label in found["classes"]]
        more = found["probabilities"]
    header += [f"survival({time:g})" for time in found["times"]]
    writer.writerow(header)
    names = table.sample_names
    for row, value in enumerate(found["predictions"]):
        values = value if found["responses"] else [value]
        cells = [csv_cell(names[row]) if names else row + 1, *(csv_cell(str(v)) for v in values)]
        if more is not None:
            cells += [repr(value) for value in more[row]]
        writer.writerow(cells)
    return text.getvalue().encode("utf-8", "backslashreplace")

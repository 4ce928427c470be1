"""The command `zeronorm predict`."""

from __future__ import annotations

import csv
import io
from functools import partial
from typing import TYPE_CHECKING, Any

from ._input import (
    check_folder,
    comparable,
    listed,
    read,
    refuse_overwriting,
)
from ._options import PredictOptions, takes
from ._output import csv_cell, show_document
from ._progress import watched

if TYPE_CHECKING:
    from ..files import Table
    from ..persistence import LinearModel


@takes(PredictOptions)
def predict(options: PredictOptions) -> None:
    """Predict with a model; with labels in DATA, say how well."""
    with watched(options.quiet) as work:
        work.progress.phase("Starting")
        from .. import persistence
        from .documents._data import describe_data
        from .reports._predictions import print_predictions

        data, output = options.data, options.output
        loaded = persistence.load(options.model)
        if output is not None:
            check_folder(output)
        work.progress.phase(f"Reading {data}")
        table = read(data, options.target, options.id, loaded.layout)
        work.notes.extend(table.notes)
        if output is not None:
            refuse_overwriting([output], data, options.target, options.model)
        work.progress.phase("Predicting")
        predicted = loaded.predict(table)
        probabilities = loaded.predict_proba(table) if options.proba else None
        accuracy, confusion = None, None
        if table.y is not None:
            accuracy, confusion = _compare(table.y, predicted, loaded, work.notes)
        if output is not None:
            persistence.write_file(
                output, _predictions_csv(table, predicted, probabilities, loaded.classes_)
            )
    document = {
        "model": options.model,
        "data": describe_data(data, table),
        "classes": loaded.classes_.tolist(),
        "predictions": predicted.tolist(),
        "probabilities": None if probabilities is None else probabilities.tolist(),
        "accuracy": accuracy,
        "confusion": confusion,
        "file": None if output is None else str(output),
        "notes": work.notes,
    }
    show_document(document, options, partial(print_predictions, sample_names=table.sample_names))


def _compare(
    y: Any, predicted: Any, model: LinearModel, notes: list[str]
) -> tuple[float | None, list[list[int]] | None]:
    """Return accuracy and confusion of predictions, None where the labels are of other classes."""
    import numpy as np

    truth = comparable(y, model.classes_)
    unknown = int((~np.isin(truth, model.classes_)).sum())
    if unknown == len(truth):
        notes.append(
            f"no accuracy: the model does not know the classes {listed(np.unique(y))}"
            f"; it knows {listed(model.classes_)}"
        )
        return None, None
    if unknown:
        notes.append(f"{unknown} samples have classes that the model does not know")
    accuracy = float(np.mean(truth == predicted))
    return accuracy, _confusion(truth, predicted, model.classes_)


def _confusion(truth: Any, predicted: Any, classes: Any) -> list[list[int]]:
    """Return counts, a row per true class of the model and a column per predicted class."""
    return [
        [int(((truth == actual) & (predicted == guess)).sum()) for guess in classes]
        for actual in classes
    ]


def _predictions_csv(table: Table, predicted: Any, probabilities: Any, classes: Any) -> bytes:
    """Return the file of predictions, a row per sample."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    header = ["sample", "prediction"]
    if probabilities is not None:
        header += [f"p({csv_cell(str(label))})" for label in classes]
    writer.writerow(header)
    names = table.sample_names
    for row, label in enumerate(predicted.tolist()):
        cells = [csv_cell(names[row]) if names else row + 1, csv_cell(str(label))]
        if probabilities is not None:
            cells += [repr(float(value)) for value in probabilities[row]]
        writer.writerow(cells)
    return text.getvalue().encode("utf-8", "backslashreplace")

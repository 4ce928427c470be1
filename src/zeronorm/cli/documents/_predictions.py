"""The confusion and the file of `zeronorm predict`."""

from __future__ import annotations

import csv
import io
from typing import Any

from ...files import Table
from ._data import csv_cell


def confusion(truth: Any, predicted: Any, classes: Any) -> list[list[int]]:
    """Return counts, a row per true class of the model and a column per predicted class."""
    return [
        [int(((truth == actual) & (predicted == guess)).sum()) for guess in classes]
        for actual in classes
    ]


def predictions_csv(table: Table, predicted: Any, probabilities: Any, classes: Any) -> bytes:
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

"""The report of `zeronorm predict`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from ...core.messages import counted, show, some
from .tables import empty_grid, open_console, print_pairs, styled
from .words import words_of

_PREVIEW = 10  # A report without --output shows so many predictions.
_MAX_MORE = 6  # So many probabilities of a sample fit a terminal.
_MAX_CONFUSION = 10  # The confusion matrix of so many classes still fits a terminal.


def print_predictions(
    document: Mapping[str, Any], quiet: bool = False, sample_names: Sequence[str] | None = None
) -> None:
    """Print how many of each class are predicted, how well, and the first predictions."""
    console = open_console()
    classes, predictions = document["classes"], document["predictions"]
    accuracy = document["accuracy"]
    labels = [show(str(label), 30) for label in classes]
    source = show(document["data"]["source"], 60)
    console.print(
        styled(
            (source, "bold"),
            f"   {counted(len(predictions), 'sample')}   by {show(document['model'])}",
        )
    )
    console.print(styled(("predicted: ", "dim"), _summary(document, labels)))
    if document["interval"] is not None:
        console.print(styled(("interval: ", "dim"), _interval(document["interval"])))
    console.print()
    if document["score"] is not None:
        words = words_of(document["data"], document["loss"], document["score_name"])
        value = (f"{document['score']:.3f}", "bold")
        console.print(
            styled((f"{words.score} ", "bold cyan"), value, (f"   {words.baseline}", "dim"))
        )
        console.print()
    if accuracy is not None:
        console.print(styled(("accuracy ", "bold cyan"), (f"{accuracy:.3f}", "bold")))
        if len(labels) <= _MAX_CONFUSION:
            console.print(confusion_grid(labels, document["confusion"]))
        console.print()
    if document["file"] is not None:
        print_pairs(console, [("written", styled((show(document["file"]), "bold")))])
        return
    console.print(_first_predictions(document, labels, sample_names))
    more = len(predictions) - _PREVIEW
    if more > 0:
        console.print(styled((f"{more:,} more; --output FILE.csv writes them all.", "dim")))


def confusion_grid(labels: Sequence[str], confusion: Sequence[Sequence[int]]) -> Table:
    """Return how many of each class are predicted as each."""
    grid = empty_grid()
    grid.add_column("true \\ predicted", style="dim")
    for label in labels:
        grid.add_column(styled(label), justify="right")
    for row, (label, counts) in enumerate(zip(labels, confusion, strict=True)):
        cells = [
            styled((f"{count:,}", "bold green" if row == column else ""))
            for column, count in enumerate(counts)
        ]
        grid.add_row(styled(label), *cells)
    return grid


def _summary(document: Mapping[str, Any], labels: Sequence[str]) -> str:
    """Return how many of each class are predicted, or the range of numbers."""
    predictions = document["predictions"]
    if labels:
        counts = Counter(predictions)
        shown = zip(labels, document["classes"], strict=True)
        return ", ".join(f"{text} {counts[label]:,}" for text, label in shown)
    if document["responses"]:
        names = document["responses"]
        columns = zip(names, zip(*predictions, strict=True), strict=True)
        return some([f"{show(name, 30)} {_range(values)}" for name, values in columns], _MAX_MORE)
    what = "risk scores from " if document["loss"] == "cox" else ""
    mean = sum(predictions) / len(predictions)
    return f"{what}{_range(predictions)}, mean {mean:.4g}"


def _interval(interval: Mapping[str, Any]) -> str:
    """Return how far new rows may be from their predictions."""
    text = (
        f"± {interval['half_width']:.4g} around each prediction has about "
        f"{interval['share']:.4g} of rows like those of the training, by the errors of "
        f"{interval['n_errors']:,} rows out of fold"
    )
    inside = interval["inside"]
    return text if inside is None else f"{text}; of these rows {inside:.3f}"


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.4g} to {max(values):.4g}"


def _numbers(values: Sequence[float]) -> list[str]:
    """Return a column of numbers with one number of decimals, five digits in the largest."""
    high = max(map(abs, values), default=0.0) or 1.0
    decimals = 4 - int(f"{high:e}".partition("e")[2])
    if decimals > 8 or decimals < -4:
        return [f"{value:.4e}" for value in values]
    return [f"{value:.{max(0, decimals)}f}" for value in values]


def _first_predictions(
    document: Mapping[str, Any], labels: Sequence[str], sample_names: Sequence[str] | None
) -> Table:
    """Return a table of the first predictions."""
    grid = empty_grid()
    more = document["survival"] if not labels else document["probabilities"]
    grid.add_column("sample", justify="left" if sample_names else "right")
    responses = [show(name, 14) for name in document["responses"][:_MAX_MORE]]
    for head in responses or ["risk" if document["loss"] == "cox" else "prediction"]:
        grid.add_column(styled(head), style="bold", justify="left" if labels else "right")
    if more is not None:
        heads = [f"p({label})" for label in labels]
        for head in (heads or [f"survival({time:g})" for time in document["times"]])[:_MAX_MORE]:
            grid.add_column(styled(head), justify="right")
    shown = document["predictions"][:_PREVIEW]
    rows = [one[:_MAX_MORE] if responses else [one] for one in shown]
    columns = [
        [show(str(value), 30) for value in column] if labels else _numbers(column)
        for column in zip(*rows, strict=True)
    ]
    for row, texts in enumerate(zip(*columns, strict=True)):
        name = sample_names[row] if sample_names else str(row + 1)
        cells: list[str | Text] = [styled(show(name, 40)), *map(styled, texts)]
        if more is not None:
            cells += [f"{value:.4f}" for value in more[row][:_MAX_MORE]]
        grid.add_row(*cells)
    return grid

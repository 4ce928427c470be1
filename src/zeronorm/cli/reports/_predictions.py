"""The report of `zeronorm predict`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from .._messages import show
from ._tables import empty_grid, open_console, print_pairs, styled

_PREVIEW = 10  # A report without --output shows so many predictions.
_MAX_CONFUSION = 10  # The confusion matrix of so many classes still fits a terminal.


def print_predictions(
    document: Mapping[str, Any], quiet: bool = False, sample_names: Sequence[str] | None = None
) -> None:
    """Print how many of each class are predicted, how well, and the first predictions."""
    console = open_console()
    classes, predictions = document["classes"], document["predictions"]
    probabilities, accuracy = document["probabilities"], document["accuracy"]
    labels = [show(str(label), 30) for label in classes]
    counts = Counter(predictions)
    source = show(document["data"]["source"], 60)
    if not quiet:
        console.print()
    console.print(
        styled(
            (source, "bold"), f"   {len(predictions):,} samples", f"   by {show(document['model'])}"
        )
    )
    shown = [f"{text} {counts[label]:,}" for text, label in zip(labels, classes, strict=True)]
    console.print(styled(("predicted: ", "dim"), ", ".join(shown)))
    console.print()
    if accuracy is not None:
        console.print(styled(("accuracy ", "bold cyan"), (f"{accuracy:.4f}", "bold")))
        if len(labels) <= _MAX_CONFUSION:
            console.print(_confusion_grid(labels, document["confusion"]))
        console.print()
    if document["file"] is not None:
        print_pairs(console, [("written", styled((show(document["file"]), "bold")))])
        if not quiet:
            console.print()
        return
    grid = empty_grid()
    grid.add_column("sample", justify="left" if sample_names else "right")
    grid.add_column("prediction", style="bold")
    if probabilities is not None:
        for label in labels[:6]:
            grid.add_column(styled(f"p({label})"), justify="right")
    for row, prediction in enumerate(predictions[:_PREVIEW]):
        name = sample_names[row] if sample_names else str(row + 1)
        cells: list[str | Text] = [styled(show(name, 40)), styled(show(str(prediction), 30))]
        if probabilities is not None:
            cells += [f"{value:.4f}" for value in probabilities[row][:6]]
        grid.add_row(*cells)
    console.print(grid)
    more = len(predictions) - _PREVIEW
    if more > 0:
        console.print(styled((f"{more:,} more; --output FILE.csv writes them all.", "dim")))
    if not quiet:
        console.print()


def _confusion_grid(labels: Sequence[str], confusion: Sequence[Sequence[int]]) -> Table:
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

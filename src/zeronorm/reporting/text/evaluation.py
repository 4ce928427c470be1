"""The report of `zeronorm evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.messages import show
from .predictions import confusion_grid
from .tables import empty_grid, open_console, print_header, styled

_MAX_CLASSES = 10  # The confusion matrix of so many classes still fits a terminal.
NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "auc": "AUC",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "r2": "R²",
    "d2": "deviance explained",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "c_index": "Harrell's C",
}
_LOSSES = {"log_loss", "brier", "rmse", "mae"}
# What tells whether a model is of use: the first of these that there is.
TELLING = ("auc", "r2", "d2", "c_index")


def print_evaluation(document: Mapping[str, Any], quiet: bool = False) -> None:
    """Print every score beside that of a model without features, and what became of each class."""
    console = open_console()
    print_header(console, document["data"])
    console.print(styled(("model: ", "dim"), show(document["model"])))
    console.print()
    grid = empty_grid()
    grid.add_column("score")
    for head in ("value", "± s.e.", _head_of_baseline(document), ""):
        grid.add_column(styled(head), justify="right")
    for score in document["scores"]:
        more = "smaller is better" if _is_loss(score["name"]) else _interval(score["interval"])
        value, error, plain = (score[key] for key in ("value", "standard_error", "baseline"))
        cells = _number(error, beside=value), _number(plain)
        grid.add_row(_title(score["name"]), styled((_number(value), "bold")), *cells, more)
    console.print(grid)
    console.print()
    _print_verdict(console, document)
    if document["confusion"] is not None:
        labels = [show(str(label), 30) for label in document["classes"]]
        if len(labels) <= _MAX_CLASSES:
            console.print(confusion_grid(labels, document["confusion"]))
            console.print()
        console.print(_classes_grid(document["by_class"]))
        console.print()
    if document["by_response"] is not None:
        console.print(_responses_grid(document["by_response"], document["scores"][0]["name"]))
        console.print()
    if not quiet:
        console.print(
            styled(
                (
                    "True of new samples only where these had no part in the selection. ± is what "
                    "drawing the samples anew would change.",
                    "dim",
                )
            )
        )


def _is_loss(name: str) -> bool:
    """Return whether the smaller a score, the better."""
    return name in _LOSSES


def _title(name: str) -> str:
    """Return what a report calls a score."""
    return NAMES.get(name, name)


def _print_verdict(console: Any, document: Mapping[str, Any]) -> None:
    scores = {score["name"]: score for score in document["scores"]}
    name = next(name for name in TELLING if name in scores)
    score = scores[name]
    error = score["advantage_error"]
    if score["value"] is None or error is None:
        console.print(
            "These samples are too few, or too much of one kind, to tell what the model is worth.\n"
        )
        return
    gain = score["value"] - score["baseline"]
    if gain <= 2.0 * error:
        console.print(
            styled((f"no better than {_without(document)} by {NAMES[name]}", "bold yellow"), "\n")
        )
    accuracy = scores.get("accuracy")
    if accuracy is None or accuracy["advantage_error"] is None:
        return
    gain, label = accuracy["value"] - accuracy["baseline"], show(str(_largest(document)), 30)
    if gain <= 2.0 * accuracy["advantage_error"]:
        less = "below that of" if gain < 0 else "no better than"
        console.print(styled((f"accuracy is {less} always {label!r}", "bold yellow"), "\n"))
    worse = [NAMES[name] for name in ("log_loss", "brier") if _is_worse(scores.get(name))]
    if worse:
        verb = "is" if len(worse) == 1 else "are"
        text = f"{' and '.join(worse)} {verb} worse than by the shares of the classes for all rows"
        console.print(styled((text, "bold yellow"), "\n"))


def _is_worse(loss: Mapping[str, Any] | None) -> bool:
    """Return whether a loss, if there is one, is above that without features, or infinite."""
    if loss is None or loss["baseline"] is None:
        return False
    return loss["value"] is None or loss["value"] > loss["baseline"]


def _without(document: Mapping[str, Any]) -> str:
    if document["classes"] or document["loss"] == "cox":
        return "chance"
    columns = document["data"]["columns"]
    alone = columns.get("exposure") or columns.get("offset")
    return "one value for all" if alone is None else f"{show(alone, 30)} alone"


def _head_of_baseline(document: Mapping[str, Any]) -> str:
    return f"always {show(str(_largest(document)), 20)!r}" if document["classes"] else "no features"


def _largest(document: Mapping[str, Any]) -> Any:
    return max(document["by_class"], key=lambda row: row["n_samples"])["class"]


def _classes_grid(rows: list[Mapping[str, Any]]) -> Any:
    grid = empty_grid()
    grid.add_column("class")
    for head in ("samples", "found", "", "right when said"):
        grid.add_column(head, justify="right")
    for row in rows:
        interval = _interval(row["recall_interval"])
        cells = [_number(row["recall"]), interval, _number(row["precision"])]
        grid.add_row(styled(show(str(row["class"]), 30)), f"{row['n_samples']:,}", *cells)
    return grid


def _responses_grid(rows: Sequence[Mapping[str, Any]], score: str) -> Any:
    grid = empty_grid()
    grid.add_column("response")
    for head in (score, "rmse", "mae"):
        grid.add_column(NAMES[head], justify="right")
    for row in rows:
        cells = [_number(row[key]) for key in ("score", "rmse", "mae")]
        grid.add_row(styled(show(row["response"], 30)), *cells)
    return grid


def _interval(ends: list[float] | None) -> str:
    return "" if ends is None else f"95 %: {ends[0]:.3f} to {ends[1]:.3f}"


def _number(value: float | None, beside: float | None = None) -> str:
    """Return three decimals, or four digits of what is large or small, or stands beside such."""
    if value is None:
        return "-"
    size = abs(value if beside is None else beside)
    return f"{value:.3f}" if 1e-3 <= size < 1e3 or size == 0 else f"{value:.4g}"

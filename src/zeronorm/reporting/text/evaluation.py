"""The reports of `zeronorm predict` and `zeronorm evaluate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from ...core.messages import counted, show, some
from ..records import (
    ClassScores,
    Evaluation,
    PredictionInterval,
    Predictions,
    ResponseScores,
    Score,
)
from .tables import empty_grid, open_console, print_header, print_pairs, styled
from .words import words_of

_PREVIEW = 10  # predictions that a report without --output shows
_MAX_MORE = 6  # So many probabilities of a sample fit a terminal.
_MAX_CONFUSION = 10  # classes whose confusion matrix fits a terminal

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
_LOSSES = {"log_loss", "brier", "rmse", "mae"}  # the smaller, the better
# The scores that tell whether a model is useful; the first one present counts.
TELLING = ("auc", "r2", "d2", "c_index")


def print_predictions(
    document: Predictions, quiet: bool = False, sample_names: Sequence[str] | None = None
) -> None:
    """Print how many of each class are predicted, how well, and the first predictions."""
    console = open_console()
    classes, predictions = document.classes, document.predictions
    accuracy = document.accuracy
    labels = [show(str(label), 30) for label in classes]
    source = show(document.data.source, 60)
    console.print(
        styled(
            (source, "bold"),
            f"   {counted(len(predictions), 'sample')}   by {show(document.model)}",
        )
    )
    console.print(styled(("predicted: ", "dim"), _summary(document, labels)))
    if document.interval is not None:
        console.print(styled(("interval: ", "dim"), _interval_text(document.interval)))
    console.print()
    if document.score is not None:
        words = words_of(document.data, document.loss or "", document.score_name or "")
        value = (f"{document.score:.3f}", "bold")
        console.print(
            styled((f"{words.score} ", "bold cyan"), value, (f"   {words.baseline}", "dim"))
        )
        console.print()
    if accuracy is not None:
        console.print(styled(("accuracy ", "bold cyan"), (f"{accuracy:.3f}", "bold")))
        if len(labels) <= _MAX_CONFUSION:
            console.print(_confusion_grid(labels, document.confusion or ()))
        console.print()
    if document.file is not None:
        print_pairs(console, [("written", styled((show(document.file), "bold")))])
        return
    console.print(_first_predictions(document, labels, sample_names))
    more = len(predictions) - _PREVIEW
    if more > 0:
        console.print(styled((f"{more:,} more; --output FILE.csv writes them all.", "dim")))


def _summary(document: Predictions, labels: Sequence[str]) -> str:
    """Return how many of each class are predicted, or the range of numbers."""
    predictions = document.predictions
    if labels:
        counts = Counter(predictions)
        shown = zip(labels, document.classes, strict=True)
        return ", ".join(f"{text} {counts[label]:,}" for text, label in shown)
    if document.responses:
        names = document.responses
        columns = zip(names, zip(*predictions, strict=True), strict=True)
        return some([f"{show(name, 30)} {_range(values)}" for name, values in columns], _MAX_MORE)
    what = "risk scores from " if document.loss == "cox" else ""
    mean = sum(predictions) / len(predictions)
    return f"{what}{_range(predictions)}, mean {mean:.4g}"


def _interval_text(interval: PredictionInterval) -> str:
    """Return how far new rows may be from their predictions."""
    text = (
        f"± {interval.half_width:.4g} around each prediction covers about {interval.share:.4g} of "
        f"samples like those of the training (by {interval.n_errors:,} held-out errors)"
    )
    inside = interval.inside
    return text if inside is None else f"{text}; of these samples {inside:.3f}"


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
    document: Predictions, labels: Sequence[str], sample_names: Sequence[str] | None
) -> Table:
    """Return a table of the first predictions."""
    grid = empty_grid()
    more = document.survival if not labels else document.probabilities
    grid.add_column("sample", justify="left" if sample_names else "right")
    responses = [show(name, 14) for name in document.responses[:_MAX_MORE]]
    for head in responses or ["risk" if document.loss == "cox" else "prediction"]:
        grid.add_column(styled(head), style="bold", justify="left" if labels else "right")
    if more is not None:
        heads = [f"p({label})" for label in labels]
        for head in (heads or [f"survival({time:g})" for time in document.times])[:_MAX_MORE]:
            grid.add_column(styled(head), justify="right")
    shown = document.predictions[:_PREVIEW]
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


def print_evaluation(document: Evaluation, quiet: bool = False) -> None:
    """Print every score beside that of a model without features, and what became of each class."""
    console = open_console()
    print_header(console, document.data)
    console.print(styled(("model: ", "dim"), show(document.model)))
    console.print()
    grid = empty_grid()
    grid.add_column("score")
    for head in ("value", "± s.e.", _head_of_baseline(document), ""):
        grid.add_column(styled(head), justify="right")
    for score in document.scores:
        more = "smaller is better" if score.name in _LOSSES else _interval(score.interval)
        value, error, plain = score.value, score.standard_error, score.baseline
        cells = _number(error, beside=value), _number(plain)
        grid.add_row(
            NAMES.get(score.name, score.name), styled((_number(value), "bold")), *cells, more
        )
    console.print(grid)
    console.print()
    _print_verdict(console, document)
    if document.confusion is not None:
        labels = [show(str(label), 30) for label in document.classes]
        if len(labels) <= _MAX_CONFUSION:
            console.print(_confusion_grid(labels, document.confusion))
            console.print()
        console.print(_classes_grid(document.by_class or ()))
        console.print()
    if document.by_response is not None:
        console.print(_responses_grid(document.by_response, document.scores[0].name))
        console.print()
    if not quiet:
        console.print(
            styled(
                (
                    "This holds for new samples only if these had no part in the selection. ±: "
                    "standard error, by resampling these samples.",
                    "dim",
                )
            )
        )


def _print_verdict(console: Any, document: Evaluation) -> None:
    scores = {score.name: score for score in document.scores}
    name = next(name for name in TELLING if name in scores)
    score = scores[name]
    error = score.advantage_error
    if score.value is None or score.baseline is None or error is None:
        console.print("These samples are too few or too alike to judge the model.\n")
        return
    gain = score.value - score.baseline
    if gain <= 2.0 * error:
        console.print(
            styled((f"no better than {_without(document)} by {NAMES[name]}", "bold yellow"), "\n")
        )
    accuracy = scores.get("accuracy")
    if accuracy is None or accuracy.advantage_error is None:
        return
    gain = (accuracy.value or 0.0) - (accuracy.baseline or 0.0)
    label = show(str(_largest(document)), 30)
    if gain <= 2.0 * accuracy.advantage_error:
        less = "below that of" if gain < 0 else "no better than"
        console.print(styled((f"accuracy is {less} always {label!r}", "bold yellow"), "\n"))
    worse = [NAMES[name] for name in ("log_loss", "brier") if _is_worse(scores.get(name))]
    if worse:
        verb = "is" if len(worse) == 1 else "are"
        text = f"{' and '.join(worse)} {verb} worse than with the class frequencies for all samples"
        console.print(styled((text, "bold yellow"), "\n"))


def _is_worse(loss: Score | None) -> bool:
    """Return whether a loss, if there is one, is above that without features, or infinite."""
    if loss is None or loss.baseline is None:
        return False
    return loss.value is None or loss.value > loss.baseline


def _without(document: Evaluation) -> str:
    if document.classes or document.loss == "cox":
        return "chance"
    columns = document.data.columns
    alone = columns.get("exposure") or columns.get("offset")
    return "one value for all" if alone is None else f"{show(alone, 30)} alone"


def _head_of_baseline(document: Evaluation) -> str:
    return f"always {show(str(_largest(document)), 20)!r}" if document.classes else "no features"


def _largest(document: Evaluation) -> Any:
    return max(document.by_class or (), key=lambda row: row.n_samples).label


def _confusion_grid(labels: Sequence[str], confusion: Sequence[Sequence[int]]) -> Table:
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


def _classes_grid(rows: Sequence[ClassScores]) -> Any:
    grid = empty_grid()
    grid.add_column("class")
    for head in ("samples", "recall", "", "precision"):
        grid.add_column(head, justify="right")
    for row in rows:
        interval = _interval(row.recall_interval)
        cells = [_number(row.recall), interval, _number(row.precision)]
        grid.add_row(styled(show(str(row.label), 30)), f"{row.n_samples:,}", *cells)
    return grid


def _responses_grid(rows: Sequence[ResponseScores], score: str) -> Any:
    grid = empty_grid()
    grid.add_column("response")
    for head in (score, "rmse", "mae"):
        grid.add_column(NAMES[head], justify="right")
    for row in rows:
        cells = [_number(one) for one in (row.score, row.rmse, row.mae)]
        grid.add_row(styled(show(row.response, 30)), *cells)
    return grid


def _interval(ends: list[float] | None) -> str:
    return "" if ends is None else f"95 %: {ends[0]:.3f} to {ends[1]:.3f}"


def _number(value: float | None, beside: float | None = None) -> str:
    """Return three decimals, or four digits of what is large or small, or stands beside such."""
    if value is None:
        return "-"
    size = abs(value if beside is None else beside)
    return f"{value:.3f}" if 1e-3 <= size < 1e3 or size == 0 else f"{value:.4g}"

"""What the commands print for people: documents as text and tables, fitted to the terminal.

Text from a file goes through `show`. A table gives its numbers the width they need and cuts names
and descriptions to what is left.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import IO, Any, cast

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..persistence import LinearModel
from ._messages import show

_text = Text.assemble  # of texts and (text, style)

_LEGEND = (
    "per s.d.: what one standard deviation of the feature adds to the log-odds; "
    "block: the scan at which it entered."
)
_GAP = 2  # cells between two columns of a table
_MAX_ROWS = 50  # features shown
_PREVIEW = 10  # predictions shown without --output
_MAX_CONFUSION = 10  # classes of a confusion matrix that still fits a terminal


def print_installation(document: Mapping[str, Any]) -> None:
    """Print versions and threads."""
    _print_pairs(_console(), [(key, str(value)) for key, value in document.items()])


def print_selection(document: Mapping[str, Any], quiet: bool = False) -> None:
    """Print the largest model with its accuracy and certificate, and a row for every size."""
    console = _console()
    data, models, classes = document["data"], document["models"], document["classes"]
    if not quiet:
        console.print()
    _print_header(console, data)
    console.print()
    if len(models) > 1:
        _print_sizes(console, models, len(classes))
        console.print()
    model = models[-1]
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for row in model["features"]:
        groups.setdefault(row["class"], []).append(row)
    for label, rows in groups.items():
        title = _title(model["n_features"], label, classes)
        _print_features(console, title, rows)
        console.print()
    if not quiet:
        console.print(_text((_LEGEND, "dim")))
        console.print()
    _print_pairs(console, _facts(document, model, quiet), airy=True)
    if not quiet:
        console.print()


def print_predictions(
    document: Mapping[str, Any], sample_names: Sequence[str] | None, quiet: bool = False
) -> None:
    """Print how many of each class are predicted, how well, and the first predictions."""
    console = _console()
    classes, predictions = document["classes"], document["predictions"]
    probabilities, accuracy = document["probabilities"], document["accuracy"]
    labels = [show(str(label), 30) for label in classes]
    counts = Counter(predictions)
    source = show(document["data"]["source"], 60)
    if not quiet:
        console.print()
    console.print(
        _text(
            (source, "bold"), f"   {len(predictions):,} samples", f"   by {show(document['model'])}"
        )
    )
    shown = [f"{text} {counts[label]:,}" for text, label in zip(labels, classes, strict=True)]
    console.print(_text(("predicted: ", "dim"), ", ".join(shown)))
    console.print()
    if accuracy is not None:
        console.print(_text(("accuracy ", "bold cyan"), (f"{accuracy:.4f}", "bold")))
        if len(labels) <= _MAX_CONFUSION:
            console.print(_confusion_grid(labels, document["confusion"]))
        console.print()
    if document["file"] is not None:
        _print_pairs(console, [("written", _text((show(document["file"]), "bold")))])
        if not quiet:
            console.print()
        return
    grid = _grid()
    grid.add_column("sample", justify="left" if sample_names else "right")
    grid.add_column("prediction", style="bold")
    if probabilities is not None:
        for label in labels[:6]:
            grid.add_column(_text(f"p({label})"), justify="right")
    for row, prediction in enumerate(predictions[:_PREVIEW]):
        name = sample_names[row] if sample_names else str(row + 1)
        cells: list[str | Text] = [_text(show(name, 40)), _text(show(str(prediction), 30))]
        if probabilities is not None:
            cells += [f"{value:.4f}" for value in probabilities[row][:6]]
        grid.add_row(*cells)
    console.print(grid)
    more = len(predictions) - _PREVIEW
    if more > 0:
        console.print(_text((f"{more:,} more; --output FILE.csv writes them all.", "dim")))
    if not quiet:
        console.print()


def _confusion_grid(labels: Sequence[str], confusion: Sequence[Sequence[int]]) -> Table:
    grid = _grid()
    grid.add_column("true \\ predicted", style="dim")
    for label in labels:
        grid.add_column(_text(label), justify="right")
    for row, (label, counts) in enumerate(zip(labels, confusion, strict=True)):
        cells = [
            _text((f"{count:,}", "bold green" if row == column else ""))
            for column, count in enumerate(counts)
        ]
        grid.add_row(_text(label), *cells)
    return grid


def print_model(path: str, loaded: LinearModel) -> None:
    """Print what a model file holds."""
    console = _console()
    metadata = loaded.metadata
    labels = [show(str(label), 30) for label in loaded.classes_]
    console.print()
    pairs: list[tuple[str, str | Text]] = [
        ("model", _text((show(path), "bold"))),
        ("made by", show(f"{metadata['estimator']} of zeronorm {metadata['zeronorm']}")),
        ("created", show(metadata["created"])),
        ("classes", _text(", ".join(labels))),
        ("features", f"{loaded.support_.size:,} of {loaded.n_features_in_:,}"),
    ]
    if metadata["target_name"] is not None:
        pairs.append(("target", _text(show(metadata["target_name"]))))
    if metadata["certificates"][0] is not None:
        pairs.append(("certified gap", _gap(metadata["certificates"])))
        pairs.append(("", _text((_scope(metadata["certificates"][0]), "dim"))))
    _print_pairs(console, pairs)
    console.print()
    grid = _grid()
    grid.add_column("feature", style="bold", overflow="ellipsis", no_wrap=True)
    heads = labels if len(labels) > 2 else [f"for {labels[1]}"]
    for head in heads:
        grid.add_column(_text(head), justify="right")
    columns = [_aligned(row.tolist()) for row in loaded.coef]
    intercepts = _aligned(loaded.intercept_.tolist())
    for column, index in enumerate(loaded.support_.tolist()):
        if loaded.feature_names is not None:
            name = loaded.feature_names[column]
        else:
            name = str(index + metadata["first_index"])
        cells = [
            text[column] if row[column] else ""
            for text, row in zip(columns, loaded.coef, strict=True)
        ]
        grid.add_row(_text(show(name)), *cells)
    grid.add_row(_text(("intercept", "dim")), *intercepts)
    console.print(grid)
    console.print()


def _print_header(console: Console, data: Mapping[str, Any]) -> None:
    console.print(
        _text(
            (show(data["source"], 60), "bold"),
            f"   {data['n_samples']:,} samples \u00d7 {data['n_features']:,} features"
            f"   {data['storage']}",
        )
    )
    counts = data["class_counts"]
    if counts:
        shown = [f"{show(label, 30)} {count:,}" for label, count in list(counts.items())[:12]]
        more = f", and {len(counts) - 12} more" if len(counts) > 12 else ""
        name = show(data["target"] or "classes", 40)
        console.print(_text((f"{name}: ", "dim"), f"{', '.join(shown)}{more}"))


def _title(k: int, label: Any, classes: Sequence[Any]) -> Text:
    what = "feature" if k == 1 else "features"
    shown = show(str(label), 30)
    if len(classes) > 2:
        return _text((f"{k} {what} of {shown}", "bold"), ("   against the other classes", "dim"))
    return _text((f"{k} {what}", "bold"), (f"   positive speaks for {shown}", "dim"))


def _print_features(console: Console, title: Text, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a row per feature; names and descriptions share what the numbers leave of the width."""
    more = len(rows) - _MAX_ROWS
    rows = rows[:_MAX_ROWS]
    described = any(row["description"] for row in rows)
    numbers = list(
        zip(
            [str(row["rank"]) for row in rows],
            _aligned([row["coefficient"] for row in rows]),
            _aligned([row["per_deviation"] for row in rows], 3),
            [str(row["block"]) for row in rows],
            strict=True,
        )
    )
    heads = ("rank", "coefficient", "per s.d.", "block")
    fixed = sum(
        max(len(head), *(len(cells[column]) for cells in numbers)) + _GAP
        for column, head in enumerate(heads)
    )
    room = console.width - fixed
    names = [show(row["name"]) for row in rows]
    width = min(max(7, *(cell_len(name) for name in names)), max(12, room))
    if described:
        width = min(width, max(12, room // 2))
    rest = room - width - _GAP  # of a description; less than a word is of no use
    described = described and rest >= 11
    grid = _grid()
    grid.add_column("rank", justify="right", no_wrap=True)
    grid.add_column("feature", no_wrap=True, overflow="ellipsis", width=width, style="bold")
    if described:
        grid.add_column("description", no_wrap=True, overflow="ellipsis", max_width=rest)
    for head in heads[1:]:
        grid.add_column(head, justify="right", no_wrap=True)
    for row, name, (rank, coefficient, effect, block) in zip(rows, names, numbers, strict=True):
        colour = "green" if row["coefficient"] > 0 else "red"
        cells: list[str | Text] = [rank, _text(name)]
        if described:
            cells.append(_text((show(row["description"] or ""), "dim")))
        cells += [_text((coefficient, colour)), _text((effect, colour)), _text((block, "dim"))]
        grid.add_row(*cells)
    console.print(title)
    console.print(grid)
    if more > 0:
        console.print(_text((f"{more:,} more; --json lists them all.", "dim")))


def _print_sizes(console: Console, models: Sequence[Mapping[str, Any]], n_classes: int) -> None:
    """Print a row per size."""
    validated = all(model["cross_validation"] for model in models)
    grid = _grid()
    grid.add_column("features", justify="right", style="bold")
    grid.add_column("training", justify="right")
    if validated:
        grid.add_column("cross-validated", justify="right")
    grid.add_column("certified gap", justify="right")
    grid.add_column("model", overflow="fold")
    for model in models:
        cells = [str(model["n_features"]), f"{model['training_accuracy']:.3f}"]
        if validated:
            cells.append(_mean_error(model["cross_validation"]))
        cells += [_gap(model["certificates"]), show(model["file"] or "not written")]
        grid.add_row(*cells)
    console.print(grid)
    if validated:
        best = max(model["cross_validation"]["mean"] for model in models)
        leader = next(m for m in models if m["cross_validation"]["mean"] == best)
        limit = best - leader["cross_validation"]["standard_error"]
        small = next(m for m in models if m["cross_validation"]["mean"] >= limit)
        console.print(
            _text(
                (
                    f"{small['n_features']} is the smallest of these sizes within one standard "
                    f"error of the best ({leader['n_features']}).",
                    "dim",
                )
            )
        )


def _facts(
    document: Mapping[str, Any], model: Mapping[str, Any], quiet: bool
) -> list[tuple[str, str | Text]]:
    """Return what stands under the table of features."""
    classes = document["classes"]
    validation = model["cross_validation"]
    accuracy: list[str | tuple[str, str]] = []
    if validation is not None:
        accuracy += [
            (_mean_error(validation), "bold"),
            f" in {validation['folds']}-fold cross-validation, features selected inside every "
            "fold (± standard error)\n",
        ]
    accuracy.append(f"{model['training_accuracy']:.3f} on the training data")
    facts: list[tuple[str, str | Text]] = [("accuracy", _text(*accuracy))]

    certificates = model["certificates"]
    for number, certificate in enumerate(certificates):
        name = "certificate" if number == 0 else ""
        prefix = ""
        if len(classes) > 2:
            prefix = f"{show(str(classes[number]), 30)}: "
        facts.append((name, _certificate_text(prefix, certificate, document, model)))
    known = [certificate for certificate in certificates if certificate is not None]
    if known:
        facts.append(("", _text((_scope(known[0]), "dim"))))

    if quiet:
        if model["file"] is not None:
            facts.append(("model", _text((show(model["file"]), "bold"))))
        return facts
    phases = [
        f"{name} {value:.2f}"
        for name, value in document["seconds"].items()
        if name != "total" and value >= 0.005
    ]
    total = document["seconds"]["total"]
    facts.append(
        (
            "seconds",
            _text(
                (f"{total:.2f}", "bold"),
                f": {', '.join(phases)}\n",
                (f"{document['n_scans']} passes over the data to select and certify", "dim"),
            ),
        )
    )
    if model["file"] is not None:
        command = f"zeronorm predict {show(shlex.quote(model['file']))} DATA"
        facts.append(("model", _text((show(model["file"]), "bold"))))
        facts.append(("", _text(("use it: ", "dim"), command)))
    return facts


def _certificate_text(
    prefix: str,
    certificate: Mapping[str, Any] | None,
    document: Mapping[str, Any],
    model: Mapping[str, Any],
) -> Text:
    if certificate is None:
        return _text(f"{prefix}none")
    k = model["n_features"]
    what = "single feature" if k == 1 else f"{k} features"
    among = ""
    if certificate["n_forced"]:
        among = f" with the {certificate['n_forced']} forced"
    total = document["data"]["n_features"]
    excluded = total - certificate["candidates"]
    if prefix:  # one of several classes: in one line
        gap = "proven" if certificate["proven"] else f"gap {_percent(certificate['gap'])}"
        return _text(
            prefix,
            (gap, "bold"),
            f", objective {certificate['objective']:.5g}, {excluded:,} of {total:,} ruled out",
        )
    if certificate["proven"]:
        head = (f"proven: no other {what}{among} lower the objective", "bold green")
    else:
        head = (
            f"not proven: no {what}{among} lower the objective by more than "
            f"{_percent(certificate['gap'])}",
            "bold",
        )
    return _text(
        head,
        f"\nobjective {certificate['objective']:.6g}, lower bound {certificate['bound']:.6g}; "
        f"{excluded:,} of {total:,} features ruled out, {certificate['fixed_in']} proven to belong",
    )


def _scope(certificate: Mapping[str, Any]) -> str:
    scaling = {
        "standardized": "standardised columns",
        "scaled": "columns scaled to unit deviation, not centred",
        "none": "columns as they are",
    }.get(certificate["scaling"], certificate["scaling"])
    loss = "" if certificate["loss"] == "logistic" else f"{certificate['loss'].replace('_', ' ')}, "
    return (
        f"It holds for the selection problem: {loss}C = {certificate['C']:g}, {scaling}, "
        "its own refit. "
        "It says nothing about test accuracy."
    )


def _gap(certificates: Sequence[Mapping[str, Any] | None]) -> str:
    known = [certificate for certificate in certificates if certificate is not None]
    if len(known) < len(certificates):
        return "-"
    if all(certificate["proven"] for certificate in known):
        return "proven"
    return _percent(max(certificate["gap"] for certificate in known))


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.0995 else f"{100 * share:.0f}%"


def _mean_error(validation: Mapping[str, Any]) -> str:
    return f"{validation['mean']:.3f} ± {validation['standard_error']:.3f}"


def _aligned(values: Sequence[float], least: int = 4) -> list[str]:
    """Return numbers with signs and one number of decimals, all of them three digits or more."""
    sizes = [abs(value) for value in values if value]
    low, high = min(sizes, default=1.0), max(sizes, default=1.0)
    decimals = max(least, 3 - int(f"{low:e}".partition("e")[2]) - 1)
    if high >= 1e6 or decimals > 7:
        return [f"{value:+.3e}" for value in values]
    if high >= 1e3:
        decimals = min(decimals, 2)
    return [f"{value:+.{decimals}f}" for value in values]


class _Trimmed:
    """Standard output without the blanks that fill the ends of lines."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stdout, name)

    def write(self, text: str) -> int:
        return sys.stdout.write(re.sub(r" +(?=\n)", "", text))


def _console() -> Console:
    file = sys.stdout if sys.stdout.isatty() else cast("IO[str]", _Trimmed())
    return Console(file=file, highlight=False, markup=False, emoji=False)


def _grid() -> Table:
    """Return an empty table with a line under its header and nothing else drawn."""
    return Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        header_style="dim",
        border_style="dim",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


def _print_pairs(
    console: Console, pairs: Sequence[tuple[str, str | Text]], airy: bool = False
) -> None:
    """Print a list of names and texts, the texts wrapped in a column of their own."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for order, (name, value) in enumerate(pairs):
        if airy and name and order:
            grid.add_row("", "")
        grid.add_row(name, value)
    console.print(grid)

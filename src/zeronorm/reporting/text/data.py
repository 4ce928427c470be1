"""The reports of `zeronorm info`, `convert` and `report`: what files hold, what was written."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from ...core.memory import readable
from ...core.messages import counted, show, some
from ...export.formats import positive, sign
from ...persistence import LoadedClassifier, LoadedModel, LoadedSurvivalModel
from ..documents.data import describe_file, may_name_samples
from ..records import (
    Column,
    Columns,
    DataFile,
    Installation,
    PageWritten,
    StoreChecked,
    StoreWritten,
    TargetColumn,
    as_json,
)
from .certificates import largest_gap, loss_words, scaled_facts, scope
from .tables import (
    aligned,
    empty_grid,
    like,
    open_console,
    print_pairs,
    seconds_of,
    styled,
    thresholds_text,
)
from .words import sentence

_WORDS = {
    "process": "this process",
    "X": "the data",
    "blocks": "what is read at a time",
    "conversion": "a copy in another storage",
    "features": "numbers for every feature",
    "gathered": "columns at hand",
    "other": "other",
}


def print_installation(document: Installation) -> None:
    """Print versions and threads."""
    found = {key: str(value) for key, value in as_json(document).items() if key != "schema"}
    print_pairs(open_console(), [*found.items()])


def print_model(path: str, loaded: LoadedModel) -> None:
    """Print what a model file holds."""
    console = open_console()
    metadata = loaded.metadata
    labels, ordered = [], False
    if isinstance(loaded, LoadedClassifier):
        ordered = bool(loaded.ordered_classes_.size)
        classes = loaded.ordered_classes_ if ordered else loaded.classes_
        labels = [show(str(label), 30) for label in classes]
    beside = set(loaded.covariates_.tolist())
    n_candidates = loaded.n_features_in_ - len(beside)
    console.print()
    pairs: list[tuple[str, str | Text]] = [
        ("model", styled((show(path), "bold"))),
        ("made by", show(f"{metadata['estimator']} of zeronorm {metadata['zeronorm']}")),
        ("created", show(metadata["created"])),
        ("classes", styled((" < " if ordered else ", ").join(labels)))
        if labels
        else ("loss", show(loss_words(metadata["loss"]["name"]), 60)),
        ("features", f"{loaded.support_.size:,} of {n_candidates:,}"),
    ]
    if beside:
        pairs.append(("covariates", _covariates(loaded)))
    if ordered:
        pairs.append(("thresholds", thresholds_text(labels, (-loaded.intercept_).tolist())))
    groups = metadata["feature_groups"]
    if groups is not None:
        pairs.append(("groups", f"{len(set(groups)):,}"))
    name = metadata["target_name"]
    responses = name if isinstance(name, list) else []
    if name is not None:
        pairs.append(("responses" if responses else "target", show(", ".join(responses) or name)))
    chosen_by = metadata["columns"].get("where")
    if metadata["n_samples"] is not None or chosen_by is not None:
        pairs.append(("selected from", _rows(metadata["n_samples"], chosen_by)))
    for role, name in metadata["columns"].items():
        if role == "where":
            continue
        pairs.append((role.replace("_", " "), styled(show(name))))
    found = describe_file(loaded)
    pairs += scaled_facts(found.calibration, metadata["parameters"], bool(labels))
    if found.threshold is not None and isinstance(loaded, LoadedClassifier):
        pairs.append(
            (
                "predicted",
                f"{sentence(found.threshold, loaded.classes_.tolist())}, not from 0.5 on",
            )
        )
    if found.certificates[0] is not None:
        pairs.append(("certified gap", largest_gap(found.certificates)))
        pairs.append(("", styled((scope(found.certificates[0]), "dim"))))
    print_pairs(console, pairs)
    console.print()
    grid = empty_grid()
    grid.add_column("feature", style="bold", overflow="ellipsis", no_wrap=True)
    if groups is not None:
        grid.add_column("group", overflow="ellipsis", no_wrap=True)
    labels = [] if ordered else labels
    turn = sign(loaded)
    heads = [f"for {labels[positive(loaded)]}"] if len(labels) == 2 else labels
    heads = heads or [show(one, 30) for one in responses] or ["coefficient"]
    for head in heads:
        grid.add_column(styled(head), justify="right")
    columns = [aligned(row.tolist()) for row in turn * loaded.coef]
    intercepts = [
        like(texts[0] if texts else "+0.0000", value)
        for texts, value in zip(columns, (turn * loaded.intercept_).tolist(), strict=False)
    ]
    for column, index in enumerate(loaded.columns.tolist()):
        if loaded.feature_names is not None:
            name = loaded.feature_names[column]
        else:
            name = str(index + metadata["first_index"])
        cells: list[str | Text] = [
            text[column] if row[column] else ""
            for text, row in zip(columns, loaded.coef, strict=True)
        ]
        if groups is not None:
            cells.insert(0, styled(show(str(groups[column]))))
        grid.add_row(styled(show(name) + " *" * (index in beside)), *cells)
    blank = [] if groups is None else [""]
    if not (isinstance(loaded, LoadedSurvivalModel) or ordered):
        grid.add_row(styled(("intercept", "dim")), *blank, *intercepts)
    console.print(grid)
    console.print()


def _rows(n_samples: int | None, chosen_by: str | None) -> str:
    """Return how many rows a model was selected from, and what chose them."""
    number = "rows" if n_samples is None else f"{n_samples:,} samples"
    return number if chosen_by is None else f"{number}, those where {show(chosen_by, 200)}"


def _covariates(loaded: LoadedModel) -> str:
    """Return how many columns are covariates, of text with a feature for each level."""
    layout, count = loaded.layout, int(loaded.covariates_.size)
    made = [layout.codings.get(name) for name in layout.covariates]
    of_text = [one.column for one in made if one is not None and one.kind == "category"]
    n_columns = count - len(of_text) + len({*of_text})
    features = "" if n_columns == count else f", by {counted(count)}"
    return f"{n_columns:,}{features}, marked by *: in the model in any case"


def print_data(document: DataFile) -> None:
    """Print what data hold, and the memory that a selection will need."""
    console = open_console()
    console.print()
    table = document.table
    size = f"{counted(document.n_samples, 'sample')} x {counted(document.n_features)}"
    if table is not None:
        n_columns = len(table.columns)
        size = f"{counted(document.n_samples, 'row')} x {counted(n_columns, 'column')}"
        if document.n_features != n_columns:
            become = "becomes" if n_columns == 1 else "become"
            size += f", which {become} {counted(document.n_features)}"
    pairs: list[tuple[str, str | Text]] = [
        ("data", styled((show(document.source), "bold"))),
        ("size", size),
        ("storage", show(document.storage)),
    ]
    if document.note:
        pairs.append(("", f"it {document.note}; zeronorm convert writes a store that is mapped"))
    if table is not None:
        pairs += _columns(table, document.n_samples)
    if document.layers:
        pairs.append(("layers", some([show(name, 30) for name in document.layers], 12)))
    if document.columns:
        pairs.append(("of samples", some([show(name, 30) for name in document.columns], 24)))
    if document.classes:
        pairs.append(("labels", some([show(str(one), 30) for one in document.classes], 8)))
    parts = [f"{_WORDS[name]} {readable(size)}" for name, size in document.memory.items() if size]
    there = document.available
    room = "" if there is None else f"; {readable(there)} are available"
    selection = f"selecting {counted(document.features)}"
    pairs.append(("memory", f"{selection} will need about {readable(document.total)}{room}"))
    pairs.append(("", ", ".join(parts)))
    if not document.fits:
        pairs.append(("", styled(("more than there is", "bold"))))
    pairs += [("note", show(note)) for note in document.notes]
    print_pairs(console, pairs)
    console.print()


def _columns(table: Columns, n_rows: int) -> list[tuple[str, str | Text]]:
    columns = table.columns
    of_kind = {
        kind: [one for one in columns if one.kind == kind]
        for kind in ("number", "category", "date", "text", "unusable")
    }
    names = [one for one in columns if may_name_samples(one, n_rows)]
    constant = [one for one in columns if one.constant]
    gaps = [one for one in columns if 0 < one.missing < n_rows]
    gaps.sort(key=lambda one: -one.missing)
    pairs: list[tuple[str, str | Text]] = []

    def add(what: str, found: list[Any], words: Callable[[Any], str] = str, rest: str = "") -> None:
        if found:
            pairs.append((what, f"{len(found):,}: {some([words(one) for one in found], 8)}{rest}"))

    add("numbers", of_kind["number"], _name)
    add("categories", of_kind["category"], _valued)
    add("dates", of_kind["date"], _name)
    add(
        "text", of_kind["text"], _valued,
        "; too many for categories, select --drop NAME leaves them out",
    )  # fmt: skip
    lines = [_of_names(one, n_rows) for one in names[:3]]
    n_numbers = len(of_kind["number"])
    if n_rows > n_numbers > len(columns) / 2 and any(one.kind == "text" for one in names):
        lines.append(
            "if it names features, and the samples are in the columns, select --samples FILE "
            "--target COLUMN reads them so, with a table of the samples"
        )
    pairs += _under("names", lines)
    add("constant", constant, _name, "; of one value or none, they can never be selected")
    if gaps:
        n_gaps = table.rows_with_gaps
        shown = [f"{_name(one)} {one.missing:,} ({one.missing / n_rows:.1%})" for one in gaps]
        pairs.append(
            ("missing", f"{some(shown, 8)}; in {n_gaps:,} of {counted(n_rows, 'row')}, of which "
             "select --missing mean, most_frequent or indicator fills the features")
        )  # fmt: skip
    add(
        "unusable", of_kind["unusable"], lambda one: show(one.problem, 120),
        "; mend them, or leave them out with select --drop NAME",
    )  # fmt: skip
    return pairs + _under("targets", _targets(table.targets))


def _under(name: str, lines: Sequence[str]) -> list[tuple[str, str | Text]]:
    """Return lines of which the first has a name."""
    return [("" if order else name, line) for order, line in enumerate(lines)]


def _name(record: Column) -> str:
    return show(record.name, 30)


def _valued(record: Column) -> str:
    return f"{_name(record)} {counted(record.distinct or 0, 'value')}"


def _of_names(record: Column, n_rows: int) -> str:
    """Return what a column says that may name the samples."""
    distinct = record.distinct or 0
    repeated = n_rows - record.missing - distinct
    option = f"select --id {show(shlex.quote(record.name), 40)}"
    if not repeated:
        return f"{_name(record)} differs in all rows; if it names the samples, say {option}"
    return (
        f"{_name(record)} has {counted(distinct, 'value')}, and "
        f"{counted(repeated, 'row')} {'repeats' if repeated == 1 else 'repeat'} one of them; if it "
        f"names the samples, {option} keeps the rows of one in one fold"
    )


def _targets(found: Sequence[TargetColumn]) -> list[str]:
    """Return the columns that could be classes to predict, with the rows of each."""
    lines = [
        f"select --target {show(shlex.quote(one.column), 40)}: "
        + some([f"{show(label, 20)} {count:,}" for label, count in one.counts.items()], 10)
        for one in found[:6]
    ]
    more = ""
    if len(found) > 6:
        more = f"{counted(len(found) - 6, 'more column')} of few values; "
    return [*lines, f"{more}any column of numbers can be predicted, too"]


def print_store(document: StoreWritten) -> None:
    """Print what a store holds."""
    console = open_console()
    n_samples, n_features = document.shape
    zeros = "sparse" if document.is_sparse else "dense"
    console.print()
    pairs: list[tuple[str, str | Text]] = [
        ("store", styled((show(document.path), "bold"))),
        ("samples", f"{n_samples:,}"),
        ("features", f"{n_features:,}, {zeros} {document.dtype}"),
    ]
    if document.columns:
        pairs.append(("of samples", show(", ".join(document.columns), 60)))
    if document.resumed:
        pairs.append(
            (
                "resumed",
                f"{counted(document.resumed)} "
                f"{'was' if document.resumed == 1 else 'were'} there already",
            )
        )
    for note in document.notes:
        pairs.append(("note", show(note, 200)))
    print_pairs(console, pairs)


def print_export(model: str, form: str, path: Path, n_bytes: int) -> None:
    """Print which file has a model for other programs."""
    console = open_console()
    console.print()
    print_pairs(
        console,
        [("model", show(model)), (form, styled((show(str(path)), "bold"), f", {n_bytes:,} bytes"))],
    )
    console.print()


def print_check(document: StoreChecked) -> None:
    """Print which files of a store are damaged, and the columns in them."""
    console = open_console()
    console.print()
    pairs: list[tuple[str, str | Text]] = [
        ("store", styled((show(document.source), "bold"))),
        ("files", f"{document.files:,} compared with their checksums"),
        ("damaged", f"{len(document.damage):,}" if document.damage else "none"),
    ]
    for one in document.damage:
        columns = one.columns
        of = "names or samples" if columns is None else "columns {:,} to {:,}".format(*columns)
        pairs.append(("", f"{show(one.file, 400)}: {of}"))
        pairs.append(("", show(one.reason, 400)))
    print_pairs(console, pairs)
    console.print()


def print_page(document: PageWritten, quiet: bool) -> None:
    """Print where the page is, and what it took."""
    console = open_console()
    sizes = [f"{size:,}" for size in document.sizes]
    beside = f"; compared with {some(sizes, 20)}" if len(sizes) > 1 else ""
    pairs: list[tuple[str, str | Text]] = [
        ("page", f"{show(document.file)}, {document.n_bytes / 1000:,.0f} kB"),
        ("features", f"{document.n_features:,}{beside}"),
    ]
    if document.computed:
        pairs.append(("computed", some(document.computed, 5)))
    if not quiet:
        pairs.append(("seconds", seconds_of(document.seconds)))
    print_pairs(console, pairs)

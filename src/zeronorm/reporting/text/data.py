"""The report of `zeronorm info` on data."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.text import Text

from ...core.memory import readable
from ...core.messages import counted, show, some
from ..documents.columns import may_name_samples
from .tables import open_console, print_pairs, styled

_WORDS = {
    "process": "this process",
    "X": "the data",
    "blocks": "what is read at a time",
    "conversion": "a copy in another storage",
    "features": "numbers for every feature",
    "gathered": "columns at hand",
    "other": "other",
}


def print_data(document: Mapping[str, Any]) -> None:
    """Print what data hold, and the memory that a selection will need."""
    console = open_console()
    console.print()
    table = document["table"]
    size = f"{counted(document['n_samples'], 'sample')} x {counted(document['n_features'])}"
    if table is not None:
        n_columns = len(table["columns"])
        size = f"{counted(document['n_samples'], 'row')} x {counted(n_columns, 'column')}"
        if document["n_features"] != n_columns:
            become = "becomes" if n_columns == 1 else "become"
            size += f", which {become} {counted(document['n_features'])}"
    pairs: list[tuple[str, str | Text]] = [
        ("data", styled((show(document["source"]), "bold"))),
        ("size", size),
        ("storage", show(document["storage"])),
    ]
    if document["note"]:
        pairs.append(("", f"it {document['note']}; zeronorm convert writes a store that is mapped"))
    if table is not None:
        pairs += _columns(table, document["n_samples"])
    if document["layers"]:
        pairs.append(("layers", some([show(name, 30) for name in document["layers"]], 12)))
    if document["columns"]:
        pairs.append(("of samples", some([show(name, 30) for name in document["columns"]], 24)))
    if document["classes"]:
        pairs.append(("labels", some([show(str(one), 30) for one in document["classes"]], 8)))
    parts = [
        f"{_WORDS[name]} {readable(size)}" for name, size in document["memory"].items() if size
    ]
    there = document["available"]
    room = "" if there is None else f"; {readable(there)} are available"
    selection = f"selecting {counted(document['features'])}"
    pairs.append(("memory", f"{selection} will need about {readable(document['total'])}{room}"))
    pairs.append(("", ", ".join(parts)))
    if not document["fits"]:
        pairs.append(("", styled(("more than there is", "bold"))))
    pairs += [("note", show(note)) for note in document["notes"]]
    print_pairs(console, pairs)
    console.print()


def _columns(table: Mapping[str, Any], n_rows: int) -> list[tuple[str, str | Text]]:
    """Return what columns of a table hold."""
    columns = table["columns"]
    of_kind = {
        kind: [one for one in columns if one["kind"] == kind]
        for kind in ("number", "category", "date", "text", "unusable")
    }
    names = [one for one in columns if may_name_samples(one, n_rows)]
    constant = [one for one in columns if one["constant"]]
    gaps = [one for one in columns if 0 < one["missing"] < n_rows]
    gaps.sort(key=lambda one: -one["missing"])
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
    if n_rows > n_numbers > len(columns) / 2 and any(one["kind"] == "text" for one in names):
        lines.append(
            "if it names features, and the samples are in the columns, select --samples FILE "
            "--target COLUMN reads them so, with a table of the samples"
        )
    pairs += _under("names", lines)
    add("constant", constant, _name, "; of one value or none, they can never be selected")
    if gaps:
        n_gaps = table["rows_with_gaps"]
        shown = [f"{_name(one)} {one['missing']:,} ({one['missing'] / n_rows:.1%})" for one in gaps]
        pairs.append(
            ("missing", f"{some(shown, 8)}; in {n_gaps:,} of {counted(n_rows, 'row')}, of which "
             "select --missing mean, most_frequent or indicator fills the features")
        )  # fmt: skip
    add(
        "unusable", of_kind["unusable"], lambda one: show(one["problem"], 120),
        "; mend them, or leave them out with select --drop NAME",
    )  # fmt: skip
    return pairs + _under("targets", _targets(table["targets"]))


def _under(name: str, lines: Sequence[str]) -> list[tuple[str, str | Text]]:
    """Return lines of which the first has a name."""
    return [("" if order else name, line) for order, line in enumerate(lines)]


def _name(record: Mapping[str, Any]) -> str:
    return show(record["name"], 30)


def _valued(record: Mapping[str, Any]) -> str:
    return f"{_name(record)} {counted(record['distinct'], 'value')}"


def _of_names(record: Mapping[str, Any], n_rows: int) -> str:
    """Return what a column says that may name the samples."""
    repeated = n_rows - record["missing"] - record["distinct"]
    option = f"select --id {show(shlex.quote(record['name']), 40)}"
    if not repeated:
        return f"{_name(record)} differs in all rows; if it names the samples, say {option}"
    return (
        f"{_name(record)} has {counted(record['distinct'], 'value')}, and "
        f"{counted(repeated, 'row')} {'repeats' if repeated == 1 else 'repeat'} one of them; if it "
        f"names the samples, {option} keeps the rows of one in one fold"
    )


def _targets(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns that could be classes to predict, with the rows of each."""
    lines = [
        f"select --target {show(shlex.quote(one['column']), 40)}: "
        + some([f"{show(label, 20)} {count:,}" for label, count in one["counts"].items()], 10)
        for one in found[:6]
    ]
    more = ""
    if len(found) > 6:
        more = f"{counted(len(found) - 6, 'more column')} of few values; "
    return [*lines, f"{more}any column of numbers can be predicted, too"]

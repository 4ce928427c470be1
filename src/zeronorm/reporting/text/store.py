"""The report of `zeronorm convert`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.text import Text

from ...core.messages import counted, show
from .tables import open_console, print_pairs, styled


def print_store(document: Mapping[str, Any]) -> None:
    """Print what a store holds."""
    console = open_console()
    n_samples, n_features = document["shape"]
    zeros = "sparse" if document["is_sparse"] else "dense"
    console.print()
    pairs: list[tuple[str, str | Text]] = [
        ("store", styled((show(document["path"]), "bold"))),
        ("samples", f"{n_samples:,}"),
        ("features", f"{n_features:,}, {zeros} {document['dtype']}"),
    ]
    if document["columns"]:
        pairs.append(("of samples", show(", ".join(document["columns"]), 60)))
    if document["resumed"]:
        pairs.append(
            (
                "resumed",
                f"{counted(document['resumed'])} "
                f"{'was' if document['resumed'] == 1 else 'were'} there already",
            )
        )
    for note in document["notes"]:
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


def print_check(document: Mapping[str, Any]) -> None:
    """Print which files of a store are damaged, and the columns in them."""
    console = open_console()
    console.print()
    pairs: list[tuple[str, str | Text]] = [
        ("store", styled((show(document["source"]), "bold"))),
        ("files", f"{document['files']:,} compared with their checksums"),
        ("damaged", f"{len(document['damage']):,}" if document["damage"] else "none"),
    ]
    for one in document["damage"]:
        columns = one["columns"]
        of = "names or samples" if columns is None else "columns {:,} to {:,}".format(*columns)
        pairs.append(("", f"{show(one['file'], 400)}: {of}"))
        pairs.append(("", show(one["reason"], 400)))
    print_pairs(console, pairs)
    console.print()

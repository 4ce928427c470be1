"""The report of `zeronorm info` on data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from ..._memory import readable
from .._messages import show, some
from ._tables import open_console, print_pairs, styled

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
    size = f"{document['n_samples']:,} samples x {document['n_features']:,} features"
    pairs: list[tuple[str, str | Text]] = [
        ("data", styled((show(document["source"]), "bold"))),
        ("size", size),
        ("storage", show(document["storage"])),
    ]
    if document["note"]:
        pairs.append(("", f"it {document['note']}; zeronorm convert writes a store that is mapped"))
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
    selection = f"selecting {document['features']:,} features"
    pairs.append(("memory", f"{selection} will need about {readable(document['total'])}{room}"))
    pairs.append(("", ", ".join(parts)))
    if not document["fits"]:
        pairs.append(("", styled(("more than there is", "bold"))))
    pairs += [("note", show(note)) for note in document["notes"]]
    print_pairs(console, pairs)
    console.print()

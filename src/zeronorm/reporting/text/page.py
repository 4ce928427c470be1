"""The report of `zeronorm report`: where the page is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from ...core.messages import show, some
from .tables import open_console, print_pairs, seconds_fact


def print_page(document: Mapping[str, Any], quiet: bool) -> None:
    """Print where the page is, and what it took."""
    console = open_console()
    sizes = [f"{size:,}" for size in document["sizes"]]
    beside = f"; compared with {some(sizes, 20)}" if len(sizes) > 1 else ""
    pairs: list[tuple[str, str | Text]] = [
        ("page", f"{show(document['file'])}, {document['n_bytes'] / 1000:,.0f} kB"),
        ("features", f"{document['n_features']:,}{beside}"),
    ]
    if not quiet:
        pairs.append(seconds_fact(document, "to select again"))
    print_pairs(console, pairs)

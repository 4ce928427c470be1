"""Tables of features in HTML, and certificates in words, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def features_table(figures: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a line about a model and a table of its features, of many the first ones."""
    known = list(rows)
    lines = [_row("th", heads), *(_row("td", row) for row in known[:_MAX_ROWS])]
    if len(known) > _MAX_ROWS:
        more = f"and {len(known) - _MAX_ROWS:,} more"
        lines.append(_row("td", [more, *("" for _ in heads[1:])]))
    table = "\n".join(lines)
    return f"<p>{escape(figures)}</p>\n<table>\n{table}\n</table>"


def coefficient_heads(labels: Sequence[object]) -> list[str]:
    """Return the heads of the columns of coefficients, of which several have labels."""
    return [f"coefficient ({label})" for label in labels] if len(labels) > 1 else ["coefficient"]


def certificate_text(proven: Sequence[bool], gaps: Sequence[float]) -> str:
    """Return what the certificates of the models of all classes say."""
    return "proven, gap 0" if all(proven) else f"gap {max(gaps):.2%}"


_MAX_ROWS = 100  # features in a table, at most


def _row(cell: str, texts: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(text)}</{cell}>" for text in texts) + "</tr>"

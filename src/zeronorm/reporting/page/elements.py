"""The parts of a page: figures, paragraphs, tables; everything in them is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from .cells import Cell
from .figures import Figure


def figures_in(figures: Sequence[Figure], section: str) -> str:
    """Return the figures of a section side by side, or nothing."""
    own = [one for one in figures if one.section == section]
    shown = "".join(map(_figure, own))
    return f'<div class="figures">{shown}</div>' if own else ""


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def fact_list(facts: Mapping[str, str]) -> str:
    pairs = (f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items())
    return f'<dl class="facts">{"".join(pairs)}</dl>'


def table(
    caption: str,
    heads: Iterable[tuple[str, str]],
    rows: Iterable[Sequence[Cell]],
    *,
    rows_of: str | None = None,
    keys: Sequence[Any] = (),
    chosen: Any = None,
    folded: bool = False,
) -> str:
    """Return a table that sorts.

    rows_of : what the rows are, where the slider moves them. keys : the size that a row is of.
    folded : whether it opens under its caption, as a picture says the same.
    """
    head = "".join(f'<th scope="col" class="{kind}">{escape(text)}</th>' for text, kind in heads)
    lines = []
    for place, row in enumerate(rows):
        attributes = ""
        if keys:
            attributes = f' data-size="{keys[place]}"'
            attributes += ' class="chosen"' if keys[place] == chosen else ""
        lines.append(f"<tr{attributes}>{''.join(map(_cell, row))}</tr>")
    body = "" if rows_of is None else f' data-rows="{rows_of}"'
    title = "" if folded else f"<caption>{escape(caption)}</caption>"
    found = (
        f'<div class="scroll"><table class="sorted">{title}'
        f"<thead><tr>{head}</tr></thead><tbody{body}>{''.join(lines)}</tbody></table></div>"
    )
    if folded:
        return f"<details><summary>{escape(caption)}</summary>{found}</details>"
    return found


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    if cell.kind == "which":
        return f'<td class="which"><details><summary>names</summary>{text}</details></td>'
    value = "" if cell.value is None else f' data-v="{cell.value:.12g}"'
    kind = f' class="{cell.kind}"' if cell.kind else ""
    return f"<td{kind}{value}>{text}</td>"


def _figure(figure: Figure) -> str:
    wide = ' class="wide"' if figure.wide else ""
    return f"<figure{wide}>{figure.svg}<figcaption>{escape(figure.caption)}.</figcaption></figure>"

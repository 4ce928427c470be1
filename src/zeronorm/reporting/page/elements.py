"""The parts of a page: figures, paragraphs, tables; everything in them is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from ...core.messages import show

NAME, TEXT = 60, 120  # characters of a name and of a description, at most


class Cell(NamedTuple):
    """A cell of a table: what is shown, what it is sorted by, and its class in the style."""

    text: str
    value: float | None = None
    kind: str = "n"


def name_cell(name: str) -> Cell:
    return Cell(show(name, NAME), None, "name")


def text_cell(text: str) -> Cell:
    return Cell(show(text, TEXT), None, "text")


def number(value: float | None, form: str = ".3f") -> Cell:
    known = value is not None and math.isfinite(value)
    return Cell(format(value, form), value) if known else Cell("-", None)


def share(value: float) -> Cell:
    return Cell(f"{100 * value:.0f}%", value)


def cost(value: float) -> str:
    """Return a change of the objective, in percent."""
    return f"{100 * value:+.2g}%"


class Figure(NamedTuple):
    """A figure of a page: the section in which it stands, what it shows, and its image."""

    section: str
    caption: str
    source: str  # a data URI
    wide: bool = False  # whether it needs all of the width


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


def figures_in(figures: Sequence[Figure], section: str) -> str:
    """Return the figures of a section side by side, or nothing."""
    own = [one for one in figures if one.section == section]
    shown = "".join(map(_figure, own))
    return f'<div class="figures">{shown}</div>' if own else ""


def _figure(figure: Figure) -> str:
    wide, text = ' class="wide"' if figure.wide else "", escape(figure.caption)
    image = f'<img src="{figure.source}" alt="{text}">'
    return f"<figure{wide}>{image}<figcaption>{text}.</figcaption></figure>"

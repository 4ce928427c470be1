"""The cells of the tables of a page."""

from __future__ import annotations

import math
from typing import NamedTuple

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

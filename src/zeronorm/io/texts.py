"""Columns of text: their different values, and numbers in them with a comma for a point."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import quote
from ..core.messages import some
from ..core.types import FloatArray


def folded(text: str) -> str:
    """Return a text without case and blanks."""
    return "".join(text.casefold().split())


def alike(texts: Iterable[str]) -> list[str]:
    """Return the sets of texts that differ only in case or blanks, for a note."""
    found: dict[str, list[str]] = {}
    for text in texts:
        found.setdefault(folded(text), []).append(quote(text))
    return [some(own, 4) for own in found.values() if len(own) > 1]


@dataclass(frozen=True, slots=True)
class Texts:
    """A column of text, where "" stands for an empty cell."""

    levels: list[str]  # all different
    codes: NDArray[np.int64]  # (n,) the place of each row's text among them
    are_labels: bool = False  # whether they are labels even where they look like numbers or dates

    @classmethod
    def of(cls, texts: Iterable[str], are_labels: bool = False) -> Texts:
        """Return the column of some texts."""
        known = list(texts)
        code = {text: place for place, text in enumerate(dict.fromkeys(known))}
        codes = np.fromiter(map(code.__getitem__, known), np.int64, len(known))
        return cls([*code], codes, are_labels)

    def __len__(self) -> int:
        return self.codes.size

    def __getitem__(self, row: int) -> str:
        return self.levels[int(self.codes[row])]

    def tolist(self) -> list[str]:
        """Return the text of every row."""
        levels = self.levels
        return [levels[code] for code in self.codes.tolist()]

    def mapped(self, function: Callable[[str], str]) -> Texts:
        """Return the column with every text replaced by what a function makes of it."""
        merged = Texts.of(map(function, self.levels))
        return Texts(merged.levels, merged.codes[self.codes])

    def at(self, rows: NDArray[np.int64]) -> Texts:
        """Return some rows of the column."""
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        return Texts([self.levels[code] for code in used], codes, self.are_labels)

    def rows(self, holds: Callable[[str], object]) -> NDArray[np.int64]:
        """Return the rows of whose texts something holds."""
        return np.flatnonzero(np.array([bool(holds(text)) for text in self.levels])[self.codes])

    def numbers(self) -> FloatArray | None:
        """Return the numbers of the rows, NaN where a cell is empty; None where there is text.

        Codes with zeros before them are text.
        """
        if are_codes(self.levels):
            return None
        values = np.empty(len(self.levels))
        for place, text in enumerate(self.levels):
            value = strict_float(text) if text else math.nan
            if value is None:
                return None
            values[place] = value
        found: FloatArray = values[self.codes]
        return found

    def counts(self) -> dict[str, int]:
        """Return how many rows have each text, "" apart, but those that none has."""
        found = np.bincount(self.codes, minlength=len(self.levels)).tolist()
        pairs = zip(self.levels, found, strict=True)
        return {text: count for text, count in pairs if text and count}


def strict_float(token: str) -> float | None:
    """Return the number that a token is, or None: no underscores, which Python's float takes."""
    if "_" in token:
        return None
    try:
        return float(token)
    except ValueError:
        return None


def are_codes(texts: Iterable[str]) -> bool:
    """Return whether all texts are digits, and some begin with a zero that a number would lose."""
    known = [text for text in texts if text]
    return any(map(is_code, known)) and all(map(_DIGITS.fullmatch, known))


def is_code(text: str) -> bool:
    """Return whether a text is digits that begin with a zero: as a number it would lose them."""
    return text[:1] == "0" and len(text) > 1 and _DIGITS.fullmatch(text) is not None


_DIGITS = re.compile(r"[0-9]+")


# Numbers with a comma for a point, as spreadsheets write them in many countries, or with marks
# between thousands.
#
# A column is read with points where all of its cells are numbers and one of them leaves no doubt
# which mark is the decimal one: 1,5 or 4.198,06 do, 1,234 and 1.234 do not.

_PLAIN = re.compile(r"[-+]?[0-9]*([.,])[0-9]+([eE][-+]?[0-9]+)?", re.ASCII)
_WHOLE = re.compile(r"[-+]?[0-9]+", re.ASCII)
_GROUPS = re.compile(
    r"[-+]?[1-9][0-9]{0,2}([.,])[0-9]{3}(?:\1[0-9]{3})*(?:([.,])[0-9]+)?", re.ASCII
)
_NUMBER = re.compile(r"[-+]?[0-9]*,[0-9]+([eE][-+]?[0-9]+)?", re.ASCII)

NOTE = "numbers with a decimal comma are read as with a point"
THOUSANDS = "commas between thousands are left out of numbers"


def decimal_mark(text: str) -> str | None:
    """Return the decimal mark of a number, "" where it needs none; None where it is no number.

    With "3" before it where the other mark separates thousands, with "?" where the mark may do so
    as well.
    """
    if _WHOLE.fullmatch(text):
        return ""
    groups = _GROUPS.fullmatch(text)
    if groups is not None and groups[1] != groups[2]:
        if groups[2] is None and text.count(groups[1]) == 1:
            return f"?{groups[1]}"
        return "3," if groups[1] == "." else "3."
    plain = _PLAIN.fullmatch(text)
    if plain is not None:
        return plain[1]
    return None if strict_float(text) is None else ""


def mark_of(texts: Iterable[str]) -> str | None:
    """Return the decimal mark of a column, as of a number; None where it is text or has both.

    A mark that may separate thousands does so where that of another number certainly does.
    """
    marks = {*map(decimal_mark, texts)} - {""}
    if None in marks:
        return None
    found = {mark[-1] for mark in marks if mark and mark[0] != "?"}
    if not found and len(marks) == 1:
        return marks.pop()
    if len(found) != 1:
        return None if marks else ""
    (mark,) = found
    other = "?," if mark == "." else "?."
    return None if other in marks and f"3{mark}" not in marks else mark


def pointed(number: str, mark: str | None) -> str:
    """Return a number with this decimal mark as it is with a point."""
    if mark in (",", "?,"):
        return number.replace(".", "").replace(",", ".")
    return number.replace(",", "")


def has_comma(text: str) -> bool:
    """Return whether a text is a number with one comma."""
    return _NUMBER.fullmatch(text) is not None


def shown(cell: Any) -> str:
    """Return a cell as text, as CSV would have it: whole numbers without a point, "" for none."""
    if cell is None or cell != cell:  # NaN and NaT
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        cell = cell.date()
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell)

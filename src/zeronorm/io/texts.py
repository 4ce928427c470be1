"""Columns of text: their different values, and numbers in them with a comma for a point."""

from __future__ import annotations

import datetime
import io
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, quote
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


# Text whose numbers have a comma for a point, as spreadsheets write them in many countries.
#
# Such files separate their columns by semicolons or tabs. A cell that is a number with one comma is
# read with a point; text is left as it is, and so is everything in quotes. A file that has both
# kinds of numbers is refused, as 1.234 might be a thousand in it; so is one with tabs whose numbers
# with commas are all like 1,234, which may be thousands as well.
#
# Where commas separate the columns, or all numbers are in quotes, the same is decided of a column
# as a whole: its cells are text, which the readers have by then.

_PART = 1 << 20


_QUOTED = re.compile(rb'"[^"]*"')


_THOUSANDS = re.compile(rb"[-+]?[1-9][0-9]{0,2},[0-9]{3}")


_NUMBER = re.compile(r"[-+]?[0-9]*,[0-9]+([eE][-+]?[0-9]+)?", re.ASCII)


_WHOLE = re.compile(r"[-+]?[0-9]+", re.ASCII)


NOTE = "numbers with a decimal comma are read as with a point"


@dataclass(frozen=True, slots=True)
class DecimalCommas:
    """How numbers with commas are found in a text."""

    delimiter: bytes
    comma: re.Pattern[bytes]
    point: re.Pattern[bytes]

    @classmethod
    def of(cls, delimiter: str) -> DecimalCommas:
        """Return the patterns for the cells between delimiters."""
        ends = re.escape(delimiter.encode()) + rb"\r\n"
        before, after = rb"(?<![^" + ends + rb"])", rb"(?![^" + ends + rb"])"
        power = rb"(?:[eE][-+]?[0-9]+)?"
        return cls(
            delimiter.encode(),
            re.compile(before + rb"([-+]?[0-9]*),([0-9]+" + power + rb")" + after),
            re.compile(before + rb"[-+]?[0-9]*\.[0-9]+" + power + after),
        )

    def are_in(self, head: bytes) -> bool:
        """Return whether the whole lines of the beginning of a text have such numbers alone."""
        lines = _whole_lines(head)
        below = lines[lines.find(b"\n") + 1 :]  # names of columns may have points
        if not all(self.delimiter in line for line in lines.splitlines() if line.strip()):
            return False
        return bool(self.comma.search(below)) and not self.point.search(below)

    def thousand_in(self, head: bytes) -> str | None:
        """Return a number with a comma that may be a thousand; None where one of them is none."""
        found = [one[0] for one in self.comma.finditer(_whole_lines(head))]
        if not all(map(_THOUSANDS.fullmatch, found)):
            return None
        return found[0].decode()

    def replaced(self, text: bytes, quoted: bool) -> tuple[bytes, bool]:
        """Return a text with points for commas, and whether it ends within quotes.

        quoted : whether it begins there.
        """
        parts = text.split(b'"')
        for number in range(int(quoted), len(parts), 2):
            parts[number] = self.comma.sub(rb"\1.\2", parts[number])
        return b'"'.join(parts), quoted ^ (len(parts) % 2 == 0)


def _whole_lines(head: bytes) -> bytes:
    """Return the lines that the beginning of a text has to their ends, without what is quoted."""
    return _QUOTED.sub(b'""', head[: head.rfind(b"\n") + 1])


def decimal_commas(name: str, head: bytes, delimiter: str) -> tuple[str, DecimalCommas | None]:
    """Return the delimiter, and how to read the numbers where they have commas.

    name : of the file. head : the beginning of the text. delimiter : as it seems to be; numbers
        with commas between semicolons have one comma more.

    Raises a FileError where commas between tabs may separate thousands.
    """
    for one in (";", "\t") if delimiter == "," else (delimiter,):
        found = DecimalCommas.of(one)
        if one in (";", "\t") and found.are_in(head):
            thousand = found.thousand_in(head) if one == "\t" else None
            if thousand is not None:
                raise FileError(
                    f"{name}: the comma of numbers such as {quote(thousand)} may be a decimal one "
                    "or separate thousands; write decimals with a point, thousands without a comma."
                )
            return one, found
    return delimiter, None


def has_comma(text: str) -> bool:
    """Return whether a text is a number with one comma."""
    return _NUMBER.fullmatch(text) is not None


def may_be_thousands(texts: Iterable[str]) -> bool:
    """Return whether all numbers with a comma may be thousands, as 1,234 may."""
    return all(_THOUSANDS.fullmatch(text.encode()) for text in texts if has_comma(text))


def with_points(texts: Texts) -> Texts | None:
    """Return a column of text with points for commas, None where it is left as it is.

    All cells must be numbers with a decimal comma, whole numbers or empty.
    """
    there = texts.counts()
    if not any(map(has_comma, there)) or may_be_thousands(there):
        return None
    if not all(has_comma(text) or _WHOLE.fullmatch(text) for text in there):
        return None
    return texts.mapped(lambda text: text.replace(",", "."))


class WithPoints(io.RawIOBase):
    """The bytes of a text with points for decimal commas."""

    def __init__(self, name: str, inner: IO[bytes], commas: DecimalCommas) -> None:
        self._name, self._inner, self._commas = name, inner, commas
        self._ready = memoryview(b"")
        self._quoted = False
        self._n_lines = self._n_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._ready:
            text = self._inner.read(_PART)
            text += self._inner.readline()
            self._check(text, self._quoted)
            changed, self._quoted = self._commas.replaced(text, self._quoted)
            self._ready = memoryview(changed)
        view = memoryview(buffer).cast("B")
        n = min(len(view), len(self._ready))
        view[:n], self._ready = self._ready[:n], self._ready[n:]
        self._n_bytes += n
        return n

    def tell(self) -> int:
        """Return how many bytes were read: as many as of the text with commas."""
        return self._n_bytes

    def _check(self, text: bytes, quoted: bool) -> None:
        """Refuse numbers with points below the first line, and outside of quotes."""
        begin = text.find(b"\n") + 1 if self._n_lines == 0 else 0
        end = 0
        for number, part in enumerate(text.split(b'"'), int(quoted)):
            start, end = end, end + len(part) + 1
            if number % 2:
                continue
            found = self._commas.point.search(part, max(0, begin - start))
            if found is None:
                continue
            line = self._n_lines + text.count(b"\n", 0, start + found.start()) + 1
            raise FileError(
                f"{self._name}: line {line}: {quote(found[0].decode())} has a decimal point, where "
                "other numbers have a comma. Write all of them in one way."
            )
        self._n_lines += text.count(b"\n")


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

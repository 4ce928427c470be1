"""Rows that are kept: comparisons of columns with values, all of which must hold."""

from __future__ import annotations

import math
import operator
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.files import FileError, did_you_mean, quote

MISSING = {"", "na", "n/a", "nan", "null", "#n/a", "?"}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_COMPARISON = re.compile(
    r"""\s*(?:`([^`]+)`|([^\s`'"<>=!]+))\s*(==|!=|<=|>=|<|>)"""
    r"""\s*(?:'([^']*)'|"([^"]*)"|([^\s'"<>=!]+))\s*"""
)
_AND = re.compile(r"and\b", re.IGNORECASE)
_MAX_SEEN = 1000  # Of a column so many values are kept, of which an error may name the nearest.


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column, an operator and what the column is compared with."""

    name: str
    operator: str
    value: float | str

    def __str__(self) -> str:
        """Return it as it is written."""
        value = repr(self.value) if isinstance(self.value, str) else f"{self.value:g}"
        return f"{self.name} {self.operator} {value}"

    @property
    def of_presence(self) -> bool:
        """Whether it only asks for a value: != ''."""
        return (self.operator, self.value) == ("!=", "")

    def holds(self, cell: Any, place: str) -> bool | None:
        """Return whether a cell compares so; None where it is missing.

        cell : a number, text, or None. Text that is compared with a number is read as one.
        """
        if cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING):
            return None
        number: Any = cell
        if self.of_presence:
            return None if isinstance(cell, float) and math.isnan(cell) else True
        if isinstance(self.value, str):
            if not isinstance(cell, str):
                raise FileError(
                    f"{place}: --where compares the column {quote(self.name)} with text; got the "
                    f"number {cell}. Write the number without quotes."
                )
            return bool(_OPERATORS[self.operator](cell.strip(), self.value))
        if isinstance(cell, str):
            try:
                number = math.nan if "_" in cell else float(cell)
            except ValueError:
                number = None
        if not isinstance(number, int | float):
            raise FileError(
                f"{place}: --where compares the column {quote(self.name)} with the number "
                f"{self.value:g}; got {quote(str(cell))}. Write text in quotes."
            )
        if math.isnan(number):
            return None
        return bool(_OPERATORS[self.operator](number, self.value))


class Where:
    """Comparisons that rows must pass, joined by `and`; counts the rows that do.

    A column that is missing in a row passes no comparison, and NAME != '' asks for nothing else.
    Columns that must be a text, or are in a range of texts, are no features; the others are what
    they are of the rows that are left.

    Parameters
    ----------
    text : str
        As "batch == 'B1' and age >= 18": a name, bare or in backticks, one of == != < <= > >=, and
        a number or text in quotes. Text is compared as in a dictionary of code points.
    comparisons : some of those that the text says; None: all.

    Raises
    ------
    ValueError
        If it is something else.
    """

    def __init__(self, text: str, comparisons: tuple[Comparison, ...] | None = None) -> None:
        self.text = " ".join(text.split())
        self.comparisons = _parsed(text) if comparisons is None else comparisons
        self.n_rows = self.n_kept = self.n_missing = 0
        # The comparisons that did not hold for a row; of what was to be a text what it was.
        self._failed: dict[Comparison, set[str]] = {}

    def parted(self, names: Collection[str]) -> tuple[Where | None, Where | None]:
        """Return the comparisons of other columns, and those of columns of these names."""
        parts: list[Where | None] = []
        for inside in (False, True):
            some = tuple(one for one in self.comparisons if (one.name in names) == inside)
            text = self.text if some == self.comparisons else " and ".join(map(str, some))
            parts.append(Where(text, some) if some else None)
        return parts[0], parts[1]

    @property
    def of_text(self) -> list[str]:
        """The names of columns that are compared with text, but for texts that are left out."""
        texts = [one for one in self.comparisons if isinstance(one.value, str)]
        return [one.name for one in texts if one.operator != "!="]

    @property
    def lost(self) -> list[str]:
        """What is said of columns that are compared with text: they are no features."""
        return [
            f"the column {quote(name)} is compared with text, and is no feature"
            for name in dict.fromkeys(self.of_text)
        ]

    def keeps(self, cells: Sequence[Any], place: str) -> bool:
        """Return whether a row is kept. cells : one for each comparison."""
        self.n_rows += 1
        for one, cell in zip(self.comparisons, cells, strict=True):
            held = one.holds(cell, place)
            if not held:
                self.n_missing += held is None
                others = self._failed.setdefault(one, set())
                if held is not None and isinstance(one.value, str) and len(others) < _MAX_SEEN:
                    others.add(cell.strip())
                return False
        self.n_kept += 1
        return True

    @property
    def note(self) -> str:
        """What became of the rows."""
        missing = f"; {self.n_missing:,} have no value there" if self.n_missing else ""
        return f"kept {self.n_kept:,} of {self.n_rows:,} rows ({self.text}){missing}"

    def nothing_kept(self, source: object) -> FileError:
        """Return the error of data of which no row is kept."""
        # No row that passed those before it has passed this one.
        one = max(self._failed, key=self.comparisons.index, default=self.comparisons[0])
        values, hint = sorted(self._failed.get(one, ())), ""
        if one.operator == "==" and isinstance(one.value, str):
            hint = did_you_mean(one.value, values)
        hint = hint or f" Look at the values of {quote(one.name)}."
        return FileError(f"{source}: no samples are left: {self.note}.{hint}")


def where_not(name: str, value: str) -> str:
    """Return the option that leaves out the rows of which a column is a text."""
    shown = name if re.fullmatch(r"[^\s`'\"<>=!]+", name) else f"`{name}`"
    mark = '"' if "'" in value or shown != name else "'"  # no ` within " of a shell
    return typed(f"{shown} != {mark}{value}{mark}")


def typed(comparisons: str) -> str:
    """Return the option as it is typed."""
    for mark, special in (('"', '"$`\\'), ("'", "'")):
        if not {*comparisons} & {*special}:
            return f"--where {mark}{comparisons}{mark}"
    return f"--where {shlex.quote(comparisons)}"


def _parsed(text: str) -> tuple[Comparison, ...]:
    """Return the comparisons that a text says."""
    found, place = list[Comparison](), 0
    while True:
        match = _COMPARISON.match(text, place)
        if match is None:
            raise _refused(text, text[place:])
        quoted_name, name, sign, single, double, bare = match.groups()
        value: float | str | None = single if single is not None else double
        if value is None:
            try:
                value = math.nan if "_" in bare else float(bare)
            except ValueError:
                value = math.nan
            if math.isnan(value):
                raise _refused(text, bare, f"; write text in quotes: {sign} {bare!r}")
        found.append(Comparison(quoted_name or name, sign, value))
        place = match.end()
        if place == len(text):
            return tuple(found)
        joint = _AND.match(text, place)
        if joint is None:
            raise _refused(text, text[place:], "; comparisons are joined by and")
        place = joint.end()


def _refused(text: str, rest: str, hint: str = "") -> ValueError:
    if not hint and re.search(r"[^=!<>]=[^=]", rest):
        hint = "; equality is =="
    return ValueError(
        f"--where must be NAME OP VALUE with ==, !=, <, <=, > or >=, as \"batch == 'B1' and age >= "
        f'18" (names with blanks in backticks); got {quote(text)}, which is not understood at '
        f"{quote(rest.strip())}{hint}."
    )

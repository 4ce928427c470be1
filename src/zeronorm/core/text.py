"""Text for messages: names, numbers of things, text from files, cells of CSV."""

from __future__ import annotations

import re
from collections.abc import Sequence


def one_line(value: object) -> str:
    """Return a message of anyone as one line that a terminal can do nothing but show."""
    return show(" ".join(str(value).split()), 2000)


def some(names: Sequence[str], most: int) -> str:
    """Return the first names with commas between them, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def counted(number: int, what: str = "feature") -> str:
    """Return a number of things in words."""
    if number == 1:
        return f"1 {what}"
    return f"{number:,} {what}{'es' if what.endswith('s') else 's'}"


def show(text: str, limit: int = 200) -> str:
    """Return text from a file so that a terminal can do nothing but show it."""
    if len(text) > limit:
        text = text[: limit - 3] + "..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def csv_cell(text: str) -> str:
    """Return text that a spreadsheet does not take for a formula."""
    if text[:1] in ("=", "+", "-", "@", "\t", "\r"):
        try:
            float(text)
        except ValueError:
            return "'" + text
    return text


_COLUMN = re.compile(r"\bcolumn (\d+)\b")


def with_names(message: str, names: Sequence[str] | None) -> str:
    """Return a message that says `column 'age'` for one that says `column 3`."""

    def named(found: re.Match[str]) -> str:
        place = int(found[1])
        known = names is not None and place < len(names)
        return f"column {names[place]!r:.80}" if names and known else found[0]

    return _COLUMN.sub(named, message)

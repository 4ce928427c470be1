"""Text for messages: names, numbers of things, text from files, cells of CSV."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar


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


def span(least: int, most: int) -> str:
    """Return in words which whole numbers are allowed."""
    return str(least) if least == most else f"between {least} and {most}"


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


# The ways out that messages offer: those alone that whoever reads them has.
#
# A command tells which options it has, and ways out that need others are left out; in Python an
# option is said as the parameter of its name.

# The options of the command that runs, None where none does.
_OFFERED: ContextVar[frozenset[str] | None] = ContextVar("offered", default=None)
_WORD = r"[^\s,;.()]+(?:\.[^\s,;.()]+)*"  # as -9.5 or people.csv, without a point behind it
_OPTION = re.compile(rf"(--[A-Za-z][a-z0-9-]*)(?: (\"[^\"]*\"|'[^']*'|{_WORD}))?")


@contextmanager
def offered(options: Collection[str]) -> Iterator[None]:
    """Let messages of the block offer what these options of a command do, and no others."""
    before = _OFFERED.set(frozenset(options))
    try:
        yield
    finally:
        _OFFERED.reset(before)


def ways_out(*ways: str) -> list[str]:
    """Return the ways of which the command that runs has all options, each once."""
    there = _OFFERED.get()
    if there is None:
        return [*dict.fromkeys(_OPTION.sub(_in_python, way) for way in ways)]
    needed = {way: [option for option, _ in _OPTION.findall(way)] for way in ways}
    return [way for way, options in needed.items() if there.issuperset(options)]


def remedy(*ways: str) -> str:
    """Return the ways out that there are as a sentence behind what is wrong; "" without any."""
    found = ways_out(*ways)
    if not found:
        return ""
    *others, last = found
    if others:
        last = f"; or {last}" if others[1:] else f", or {last}"
    text = "; ".join(others) + last
    return f" {text[0].upper()}{text[1:]}."


def option(name: str) -> str:
    """Return what an option is called: in Python the parameter of its name."""
    return name if _OFFERED.get() is not None else _in_python_name(name)


def _in_python_name(name: str) -> str:
    return name[2:].replace("-", "_")


def _in_python(found: re.Match[str]) -> str:
    """Return the parameter of an option: a word for a value stands as it is, a value in quotes."""
    name, value = _in_python_name(found[1]), found[2]
    if value is None:
        return name
    plain = value[0] in "'\"" or value.isupper()
    return f"{name}={value if plain else repr(value)}"


# Doubts about results: notes that are told even where only results are asked for, and warnings.


class Doubt(str):
    """A note that the answer may not be worth what it seems, or lacks a part that was asked for."""

    __slots__ = ()


class Leaked(Doubt):
    """A note that a selected column may say what it could not know: pages have it first."""

    __slots__ = ()


class LeakWarning(UserWarning):
    """A selected column may have been made from the target, or known only after it."""

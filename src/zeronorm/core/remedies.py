"""The ways out that messages offer: those alone that whoever reads them has.

A command tells which options it has, and ways out that need others are left out; in Python an
option is said as the parameter of its name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# The options of the command that runs, None where none does.
_OFFERED: ContextVar[frozenset[str] | None] = ContextVar("offered", default=None)
_OPTION = re.compile(r"(--[A-Za-z][a-z0-9-]*)(?: (\"[^\"]*\"|'[^']*'|[^\s,;.()]+))?")


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


def _in_python(option: re.Match[str]) -> str:
    """Return the parameter of an option: a word for a value stands as it is, a value in quotes."""
    name, value = option[1][2:].replace("-", "_"), option[2]
    if value is None:
        return name
    plain = value[0] in "'\"" or value.isupper()
    return f"{name}={value if plain else repr(value)}"

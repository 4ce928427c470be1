"""Errors and notes that carry fields: the parameter, the rule, what was got, what to do.

`str` composes them in the words of Python. Who else reads them, as a command whose parameters are
options, renders the same fields in other words: see `Words`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in a message, maybe with a value: n_threads, standardize=False."""

    name: str
    values: tuple[Any, ...] = ()

    @staticmethod
    def of(name: str, value: Any) -> Parameter:
        """Return a parameter with a value."""
        return Parameter(name, (value,))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of X in a message, by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class InPython:
    """A part of a message that only Python offers, as "None or "."""

    text: str


class Words:
    """The words of a reader of messages: those of Python, unless a subclass has others."""

    def parameter(self, one: Parameter) -> str:
        """Return a parameter, with its value where it has one."""
        return "=".join([one.name, *map(repr, one.values)])

    def in_python(self, text: str) -> str:
        """Return what only Python offers."""
        return text

    def column(self, number: int) -> str:
        """Return a column of X."""
        return f"column {number}"


PYTHON = Words()


class Message(str):
    """Text in the words of Python, with its parts, which others read in their own words."""

    __slots__ = ("parts",)
    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part | BaseException) -> Message:
        found: list[Part] = []
        for part in parts:
            if isinstance(part, BaseException):
                part = message_of(part)
            found.extend(part.parts if isinstance(part, Message) else [part])
        new = super().__new__(cls, _joined(found, PYTHON))
        new.parts = tuple(found)
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, self.parts

    def said(self, words: Words) -> str:
        """Return the text in some words."""
        return _joined(self.parts, words)


Part: TypeAlias = str | Parameter | Column | InPython


class ParameterError(ValueError):
    """A parameter is not what a rule says.

    Attributes
    ----------
    name : str
        The parameter, as n_threads.
    rule : str
        What it must be: "must be an integer of at least 1".
    got : str
        What it is; "" where the rule says that.
    remedies : str
        What to do, as sentences; "" where the rule says that.
    """

    def __init__(self, name: str, rule: str, got: str = "", remedies: str = "") -> None:
        super().__init__(name, rule, got, remedies)  # so that copies and pickles have the fields
        self.name, self.rule, self.got, self.remedies = name, rule, got, remedies

    def __str__(self) -> str:
        return str.__str__(self.message)

    @property
    def message(self) -> Message:
        """The fields as one text."""
        got = ("; got ", self.got) if self.got else ()
        todo = (" ", self.remedies) if self.remedies else ()
        return Message(Parameter(self.name), " ", self.rule, *got, ".", *todo)


def message_of(error: BaseException) -> Message:
    """Return the text of an error or a warning, with its fields where it has some."""
    if isinstance(error, ParameterError):
        return error.message
    first = error.args[0] if len(error.args) == 1 else None
    return first if isinstance(first, Message) else Message(str(error))


class Named(Words):
    """The words of Python, with the names of columns."""

    def __init__(self, names: Sequence[str] | None) -> None:
        self.names = names or ()

    def column(self, number: int) -> str:
        """Return a column of X by its name, where it has one."""
        if number < len(self.names):
            return f"column {self.names[number]!r:.80}"
        return f"column {number}"


def _joined(parts: Iterable[Part], words: Words) -> str:
    """Return the text of some parts."""
    return "".join(_said(part, words) for part in parts)


def _said(part: Part, words: Words) -> str:
    match part:
        case Parameter():
            return words.parameter(part)
        case Column(number):
            return words.column(number)
        case InPython(text):
            return words.in_python(text)
        case _:
            return part

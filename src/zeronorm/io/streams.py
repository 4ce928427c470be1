"""Standard input as a file that can be read more than once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .table import Table

NAME = "standard input"  # in messages


@contextmanager
def lasting(data: str) -> Iterator[tuple[str, str | None]]:
    """Yield what can be read more than once, and the name that messages have for it, if another.

    Errors in the body have that name, too.
    """
    if data != "-":
        yield data, None
        return
    from .spill import standard_input

    with standard_input() as file:
        try:
            yield str(file), NAME
        except ValueError as error:
            error.args = tuple(_named(one, str(file)) for one in error.args)
            raise


def as_named(table: Table, path: str, data: str) -> Table:
    """Return a table of a file, of standard input with notes that say so."""
    if data != "-":
        return table
    notes = (type(note)(_named(note, path)) for note in table.notes)
    return replace(table, notes=tuple(notes))


def _named(text: object, path: str) -> str:
    return str(text).replace(path, NAME)

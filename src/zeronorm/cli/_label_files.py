"""Labels in files of their own: taken in the order of the rows only where that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..files import Table


def refuse_unasked(table: Table, data: str, files: Mapping[str, str | None], asked: bool) -> None:
    """Refuse files of labels beside samples with names, unless their order is said to be the same.

    files : the option of each role, the file where it has one. asked : whether it is said.
    """
    if asked or table.sample_names is None:
        return
    for role in table.by_position:
        raise ValueError(
            f"{data}: its samples have names, as {table.sample_names[0]!r:.60}, and the lines of "
            f"--{role} {files.get(role)} have none: their order may be another. Join a table by "
            f"the names with --samples FILE --{role} COLUMN; or say --by-position where the order "
            "is the same."
        )


def refuse_column_of_file(option: str, given: str | None) -> None:
    """Refuse FILE:COLUMN where the name of a column is meant, and a file but for the target."""
    if given is None:
        return
    path, _, column = given.rpartition(":")
    if option != "--target" and Path(given).is_file():
        path, column = given, "COLUMN"
    is_column = option == "--target" and Path(given).exists()
    if path and column and not is_column and Path(path).is_file():
        raise ValueError(
            f"{option} is the name of a column; got {given!r}. Say --samples {path} {option} "
            f"{column}: the table is joined by the names of the samples."
        )

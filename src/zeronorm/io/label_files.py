"""Labels in files of their own: taken in the order of the rows only where that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .table import Table


def refuse_unasked(table: Table, data: str, files: Mapping[str, str | None], asked: bool) -> None:
    """Refuse files of labels beside samples with names, unless their order is said to be the same.

    files : the option of each role, the file where it has one. asked : whether it is said.
    """
    if asked or table.sample_names is None:
        return
    for role in table.by_position:
        option = "--" + role.replace("_", "-")
        raise ValueError(
            f"{data}: its samples have names, as {table.sample_names[0]!r:.60}, and the lines of "
            f"{option} {files.get(role)} have none: their order may be another. Join a table by "
            f"the names with --samples FILE {option} COLUMN; or say --by-position where the order "
            "is the same."
        )


def file_hint(option: str, given: str | None) -> str:
    """Return a remedy for a file, or FILE:COLUMN, in place of the name of a column, or ""."""
    path, mark, column = (given or "").rpartition(":")
    if not mark:
        path, column = column, "COLUMN"
    if not path or not column or not Path(path).is_file():
        return ""
    return (
        f" Columns of a table of the samples are said by --samples {path} {option} {column}: it is "
        "joined by the names of the samples."
    )

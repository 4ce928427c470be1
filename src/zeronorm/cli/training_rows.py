"""The rows that a model or a certificate was made from: taken again, or told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.messages import some
from .options import SelectOptions, VerifyOptions
from .rows_options import ColumnsOptions
from .target import read_response

if TYPE_CHECKING:
    from ..io.input import Response
    from ..io.table import Layout, Table

_Options = TypeVar("_Options", SelectOptions, VerifyOptions)


def read_training(
    options: _Options,
    task: str,
    file: str,
    metadata: Mapping[str, Any],
    notes: list[str],
    like: Layout | None = None,
) -> tuple[_Options, Table, Response]:
    """Return data as `read_response`, of the rows that a file was made from, and what chose them.

    A condition of the user's own wins over that of the file.

    metadata : of the model or the certificate; empty where there is none.
    """
    from ..core.files import WhereError

    own = metadata.get("columns", {}).get("where")
    if own is None or options.where is not None:
        if own not in (None, options.where):
            notes.append(f"rows are chosen by --where; those of {file} were by {own}")
        return options, *read_response(options, task, like)
    asked = replace(options, where=own)
    try:
        table, response = read_response(asked, task, like)
    except WhereError:
        if options.data == "-":  # which is read only once
            raise
        table, response = read_response(options, task, like)
        notes.append(
            f"{file} is of the rows where {own}, and {options.data} has no such column: all of its "
            "rows are taken"
        )
        return options, table, response
    notes.append(
        f"{file} is of the rows where {own}, and so they are taken here; --where chooses others"
    )
    return asked, table, response


def other_rows(data: str, table: Table, file: str, metadata: Mapping[str, Any]) -> str | None:
    """Return what is said where data have not as many rows as a file was made from; else None."""
    n, known = table.X.shape[0], metadata.get("n_samples")
    if known in (None, n):
        return None
    return f"{data} has {n:,} samples here, and {file} is of {known:,}"


def note_on_rows(
    options: ColumnsOptions, data: str, file: str, metadata: Mapping[str, Any]
) -> list[str]:
    """Return what is told of new rows where a model was selected from some rows alone."""
    from ..core.files import quote
    from ..io.table import Where, typed

    own = metadata["columns"].get("where")
    if own is None or options.where is not None:
        return []
    names = dict.fromkeys(quote(one.name) for one in Where(own).comparisons)
    what = "the column" if len(names) == 1 else "the columns"
    return [
        f"{file} is of rows where {own}, and all rows of {data} are taken; if it has {what} "
        f"{some([*names], 5)}, {typed(own)} takes such rows alone"
    ]

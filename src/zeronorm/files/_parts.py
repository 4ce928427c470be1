"""Tables in several files, a directory of Parquet or a pattern: rows one after the other."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import FileError, quote
from ._plink import matching
from ._source import PathLike
from ._table import Request, Table


def parts_of(path: PathLike) -> list[Path] | None:
    """Return the files that a directory of Parquet or a pattern names, part-2 before part-10.

    None for what is one file, or is not there.
    """
    text = str(path)
    try:
        if Path(path).is_dir():
            return [Path(name) for name in matching(f"{glob.escape(text)}/*.parquet")]
        if Path(path).exists() or not glob.has_magic(text) or "\0" in text:
            return None
    except FileError:
        raise FileError(
            f"{path}: a directory; name a file in it. Parquet files alone may be a directory."
        ) from None
    except (OSError, ValueError):
        return None
    return [Path(name) for name in matching(text)]


def tables_of_parts(
    parts: Sequence[Path], request: Request, read: Callable[[Path], list[Table]]
) -> Iterator[Table]:
    """Yield the table of each part; all must have the columns of the first, in any order.

    read : returns the tables of a part, none where no row is kept.
    """
    first: Table | None = None
    for path in parts:
        tables = read(path)
        if not tables:
            continue
        table = joined(tables)
        if first is None:
            first = replace(table, X=table.X[:0]) if isinstance(table.X, np.ndarray) else None
            if first is None:
                raise FileError(f"{path}: parts must be CSV, JSON lines, Parquet or arrays.")
        elif request.like is None:
            table = _alike(table, path, first, parts[0])
        _check_kinds(table, path, first, parts[0])
        yield table


def _alike(table: Table, path: Path, first: Table, first_path: Path) -> Table:
    """Return a table with its features in the order of the first one."""
    names, wanted = table.feature_names, first.feature_names
    if names == wanted and table.X.shape[1] == first.X.shape[1]:
        return table
    if names is None or wanted is None:
        raise FileError(
            f"{path}: {table.X.shape[1]} features, and {first.X.shape[1]} in {first_path.name}; "
            "parts must have the same columns."
        )
    place = {name: j for j, name in enumerate(names)}
    for name in wanted:
        if name not in place:
            raise FileError(
                f"{path}: no column {quote(name)}, which {first_path.name} has; parts must have "
                "the same columns."
            )
    known = set(wanted)
    for name in names:
        if name not in known:
            raise FileError(
                f"{path}: the column {quote(name)} is not in {first_path.name}; parts must have "
                "the same columns. Leave it out with --drop, or write it there."
            )
    X: Any = table.X
    return replace(table, X=X[:, [place[name] for name in wanted]], feature_names=wanted)


def _check_kinds(table: Table, path: Path, first: Table, first_path: Path) -> None:
    """Refuse what is text in one part and numbers in another, and what one part lacks."""
    whole = [("target", table.y, first.y)]
    whole += [(what, table.columns.get(what), first.columns.get(what)) for what in first.columns]
    for what, here, there in whole:
        if (here is None) != (there is None) or table.target_name != first.target_name:
            raise FileError(f"{path}: the {what} is not the one of {first_path.name}.")
        if (
            here is not None
            and there is not None
            and (here.dtype.kind == "U") != (there.dtype.kind == "U")
        ):
            raise FileError(
                f"{path}: the {what} is {'text' if here.dtype.kind == 'U' else 'numbers'} here, "
                f"and not in {first_path.name}; write it in one way."
            )


def joined(tables: Sequence[Table]) -> Table:
    """Return tables as one, rows one after the other."""
    first = tables[0]
    if len(tables) == 1:
        return first
    parts: list[Any] = [table.X for table in tables]
    shape = sum(part.shape[0] for part in parts), parts[0].shape[1]
    X: NDArray[Any] = np.empty(shape, np.result_type(*(part.dtype for part in parts)), order="F")
    top = 0
    for part in parts:
        X[top : top + part.shape[0]] = part
        top += part.shape[0]
    notes = dict.fromkeys(note for table in tables for note in table.notes)
    named = first.sample_names is not None
    return replace(
        first,
        X=X,
        y=_end_to_end([table.y for table in tables]),
        sample_names=[name for table in tables for name in table.sample_names or ()]
        if named
        else None,
        notes=tuple(notes),
        columns={
            what: _end_to_end([table.columns[what] for table in tables]) for what in first.columns
        },
    )


def _end_to_end(columns: Sequence[Any]) -> Any:
    return None if columns[0] is None else np.concatenate(columns)

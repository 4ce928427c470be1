"""Tables in several files, a directory of Parquet or a pattern: rows one after the other."""

from __future__ import annotations

import glob
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, MissingFileError, PathLike, quote
from ..core.remedies import remedy
from .coded import Cells, coded_whole
from .coded_notes import notes_of
from .codings import DROP, Problem
from .elsewhere import refuse_format
from .table import Request, Table, check_count
from .texts import Texts


def parts_of(path: PathLike) -> list[Path] | None:
    """Return the files that a directory of Parquet or a pattern names, part-2 before part-10.

    None for what is one file, or is not there.
    """
    text = str(path)
    try:
        if Path(path).is_dir():
            refuse_format(Path(path))
            return [Path(name) for name in matching(f"{glob.escape(text)}/*.parquet")]
        if Path(path).exists() or not glob.has_magic(text) or "\0" in text:
            return None
    except MissingFileError:
        raise FileError(
            f"{path}: a directory; name a file in it. Parquet files alone may be a directory."
        ) from None
    except FileError:
        raise
    except (OSError, ValueError):
        return None
    return [Path(name) for name in matching(text)]


def matching(pattern: str) -> list[str]:
    """Return the files that a pattern names, chr2 before chr10; MissingFileError without any."""
    found = sorted(glob.glob(pattern), key=_by_numbers)
    if not found:
        raise MissingFileError(f"{pattern}: no such files.")
    return found


def _by_numbers(name: str) -> list[tuple[int, str]]:
    """Return a key by which chr2 comes before chr10."""
    return [(int(part or 0), text) for text, part in re.findall(r"(\D*)(\d*)", name)]


def tables_of_parts(
    path: PathLike,
    parts: Sequence[Path],
    request: Request,
    read: Callable[[Path, Request], Iterator[Table]],
) -> Iterator[Table]:
    """Yield the table of each part; all must have the columns of the first, in any order.

    Where no model says what the features are, all parts say it together: they come in one table.
    """
    if request.like is not None and request.like.names is not None:
        for _, table in _read_alike(parts, request, read):
            yield table
        return
    found = [*_read_alike(parts, replace(request, is_part=True), read)]
    if found:
        yield _coded_together(path, found, request)


def _read_alike(
    parts: Sequence[Path], request: Request, read: Callable[[Path, Request], Iterator[Table]]
) -> Iterator[tuple[Path, Table]]:
    """Yield each part of which rows are kept, and its table."""
    first: Table | None = None
    first_path = parts[0]
    by_name = request.like is not None and request.like.names is not None
    for path in parts:
        tables = [*read(path, request)]
        if not tables:
            continue
        table = joined(tables)
        if first is None:
            first_path = path
            first = replace(table, X=table.X[:0]) if isinstance(table.X, np.ndarray) else None
            if first is None:
                raise FileError(f"{path}: parts must be CSV, JSON lines, Parquet or arrays.")
        elif not by_name:
            table = _alike(table, path, first, first_path)
        _check_kinds(table, path, first, first_path)
        yield path, table


def _coded_together(path: PathLike, found: Sequence[tuple[Path, Table]], request: Request) -> Table:
    """Return all parts as one table, their columns coded by the cells of all."""
    tables = [table for _, table in found]
    whole = joined(tables)
    if all(table.cells is None for table in tables):
        return whole if request.is_part else coded_whole(str(path), whole, request)
    cells = _joined_cells(np.asarray(whole.X, np.float64), whole.feature_names or [], found)
    whole, like = replace(whole, cells=cells), request.like
    if request.is_part:
        return whole
    table = coded_whole(str(path), whole, request)
    if like is not None and like.exact:
        check_count(str(path), table.X.shape[1], like, whole.target_name is not None)
    return table


def _joined_cells(
    numbers: NDArray[Any], names: Sequence[str], found: Sequence[tuple[Path, Table]]
) -> Cells:
    """Return the cells of all parts; refuse a column that is text in some and numbers in others."""
    own = [{} if table.cells is None else table.cells.texts for _, table in found]
    texts: dict[int, list[str]] = {order: [] for order in sorted({*itertools.chain(*own)})}
    places: list[str] = []
    problems: dict[int, Problem] = {}
    for (path, table), words in zip(found, own, strict=True):
        n, top = table.X.shape[0], len(places)
        for order, column in texts.items():
            if order not in words and not np.isnan(numbers[top : top + n, order]).all():
                there = next(
                    part for (part, _), some in zip(found, own, strict=True) if order in some
                )
                raise FileError(
                    f"{there}: the column {quote(names[order])} is text here, and numbers in "
                    f"{path.name}; write it in one way.{remedy(DROP)}"
                )
            column.extend(words[order].tolist() if order in words else [""] * n)
        if table.cells is not None:
            places.extend(f"{path.name}: {place}" for place in table.cells.places)
            for order, one in (table.cells.problems or {}).items():
                row = None if one.row is None else one.row + top
                problems.setdefault(order, replace(one, row=row))
        else:
            places.extend([path.name] * n)
    said = [table.cells.gaps for _, table in found if table.cells is not None]
    labels = {order for words in own for order, some in words.items() if some.are_labels}
    whole = {order: Texts.of(column, order in labels) for order, column in texts.items()}
    return Cells(numbers, whole, places, problems, said[0])


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
                f"the same columns.{remedy('write it there', DROP)}"
            )
    X: Any = table.X
    order = [place[name] for name in wanted]
    cells = None if table.cells is None else table.cells.columns(order)
    return replace(table, X=X[:, order], feature_names=wanted, cells=cells)


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
    """Return tables as one, rows one after the other, with the columns that all of them have."""
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
    # Those that count are of all rows.
    counted = partial(notes_of, by_model=True, codings=first.codings)
    counts = {note for table in tables for note in counted(table.filled, table.unseen)}
    notes = dict.fromkeys(note for table in tables for note in table.notes if note not in counts)
    filled = Counter[str]()
    unseen: dict[str, tuple[int, str]] = {}
    for table in tables:
        filled.update(table.filled)
        for column, (count, example) in table.unseen.items():
            before, shown = unseen.get(column, (0, example))
            unseen[column] = before + count, shown
    named = first.sample_names is not None
    y = _end_to_end([table.y for table in tables])
    shared = [what for what in first.columns if all(what in table.columns for table in tables)]
    return replace(
        first,
        X=X,
        y=y,
        target_name=None if y is None else first.target_name,
        sample_names=[name for table in tables for name in table.sample_names or ()]
        if named
        else None,
        notes=(*notes, *counted(filled, unseen)),
        filled=filled,
        unseen=unseen,
        columns={what: _end_to_end([table.columns[what] for table in tables]) for what in shared},
    )


def _end_to_end(columns: Sequence[Any]) -> Any:
    return None if any(one is None for one in columns) else np.concatenate(columns)

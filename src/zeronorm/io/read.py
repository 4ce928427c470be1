"""Reads tables of samples: files of any format, files in several parts, and data frames."""

from __future__ import annotations

import glob
import importlib
import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import ParameterError
from ..core.files import FileError, MissingFileError, PathLike, WhereError, quote
from ..core.frames import frame_of, kinds_of
from ..core.messages import option, remedy
from .arrays import check_unnamed, read_names
from .encoding import DROP, WAYS, Cells, ColumnProblem, coded, coded_whole, notes_of
from .frames import cells_of, table_from
from .meaning import notes_of_array, notes_of_roles
from .source import Source, check_path, checked_encoding, format_of, refuse_format, standard_input
from .table import (
    Dataset,
    Layout,
    TableColumns,
    TableRequest,
    assign,
    check_count,
    check_dates,
    places_of_features,
)
from .texts import Texts, are_codes, shown

# Readers are imported on use: those of text need the kernels, which a verifier does without.
_READERS = {
    "svmlight": ("svmlight", "read_svmlight"),
    "delimited": ("delimited", "read_delimited"),
    "json_lines": ("frames", "read_json_lines"),
    "excel": ("frames", "read_excel"),
    "parquet": ("frames", "read_parquet"),
    "npy": ("arrays", "read_npy_table"),
    "npz": ("arrays", "read_npz"),
    "hdf5": ("hdf5", "read_hdf5"),
}
WITH_COLUMNS = ("delimited", "json_lines", "excel", "parquet")
_TEXT = ("delimited", "json_lines", "svmlight")


def read_blocks(
    path: PathLike, request: TableRequest, size: int | None = None, name: str | None = None
) -> Iterator[Dataset]:
    """Yield the samples of a file as tables, one after the other; see `zeronorm.read_table`.

    JSON lines come in tables of about `size` cells (None: in one), files of several parts in a
    table for each of them where a model says what the features are, and all else in one.

    name : of the file in messages. None: its path.
    """
    if os.path.isfile(os.path.join(path, "zarr.json")):
        from .hdf5 import read_stored

        refused = "id drop only layer missing encoding decimal na dates feature-names"
        for what in refused.split():
            if getattr(request, what.replace("-", "_")):
                said = option(f"--{what}")
                raise FileError(
                    f"{path}: a store has one matrix and its columns; leave out {said}."
                )
        yield read_stored(Path(path), request)
        return
    encoding = checked_encoding(request.encoding)
    parts = parts_of(path)
    if parts is not None:
        yield from tables_of_parts(path, parts, request, read_blocks)
        return
    with ExitStack() as stack:
        if str(path) == "-":
            source = Source(stack.enter_context(standard_input()), "standard input", encoding)
        else:
            source = Source(check_path(path), name, encoding)
        stream = stack.enter_context(source.open())
        form = format_of(source, stream)
        if form == "hdf5" and source.name != str(source.path):
            raise FileError(f"{source}: HDF5 is read where it lies; name the file.")
        _check_request(source, form, request)
        module, reader = _READERS[form]
        read: Callable[..., Any] = getattr(
            importlib.import_module(f".{module}", __package__), reader
        )
        if form == "json_lines":
            tables = read(source, stream, request, size)
        else:
            tables = [read(source, stream, request)]
        for table in tables:
            if not table.X.shape[0]:
                if request.where is not None:
                    continue
                raise FileError(f"{source}: no samples in it.")
            if not table.X.shape[1]:
                raise FileError(f"{source}: no features in it.")
            if request.feature_names is not None:
                table = _named(source, table, request, request.feature_names)
            if form not in WITH_COLUMNS and request.like is None:
                more = notes_of_array(table.feature_names, table.X, False)
                table = replace(table, notes=(*table.notes, *more))
            yield replace(table, form=form)


def _named(source: Source, table: Dataset, request: TableRequest, path: PathLike) -> Dataset:
    """Return a table whose features have the names in a file; of a model those that it needs."""
    names, n = read_names(path, request.encoding), table.X.shape[1]
    check_unnamed(source, path, table.feature_names, len(names), n)
    table, like = replace(table, feature_names=names), request.like
    if like is not None and like.sources is not None:
        X: Any = table.X
        places = places_of_features(path, like.sources, names)
        return replace(table, X=X[:, places], feature_names=like.sources)
    if like is not None:
        check_count(str(path), n, like, True)
    return table


def read_request(path: PathLike, request: TableRequest, name: str | None = None) -> Dataset:
    """Read samples from a file; see `read_table` and, of the name, `read_blocks`."""
    tables = list(read_blocks(path, request, name=name))
    if not tables and request.where is not None:
        raise request.where.nothing_kept(path)
    return joined(tables)


def _check_request(source: Source, form: str, request: TableRequest) -> None:
    """Refuse what a format has not."""
    if form not in WITH_COLUMNS:
        tables = "CSV, JSON lines, Excel or Parquet"
        if request.id is not None:
            raise FileError(
                f"{source}: only a column of {tables} can be the id; got {request.id!r}."
            )
        if request.where is not None and form != "hdf5":
            raise WhereError(
                f"{source}: only rows of {tables}, of HDF5 or of a store can be chosen; leave out "
                f"{option('--where')}."
            )
        for named, done in ((request.drop, "dropped"), (request.only, "named")):
            if named:
                raise FileError(
                    f"{source}: only columns of {tables} can be {done}; got {named[0]!r}."
                )
        if request.missing is not None:
            raise FileError(
                f"{source}: only empty cells of {tables} can be filled; leave out missing."
            )
        if request.na is not None:
            raise FileError(
                f"{source}: only cells of {tables} can stand for missing values; leave out na."
            )
    if request.decimal is not None and form != "delimited":
        raise FileError(
            f"{source}: only CSV and TSV have decimal marks; leave out {option('--decimal')}."
        )
    if request.encoding is not None and form not in _TEXT:
        raise FileError(f"{source}: only text has an encoding; leave out {option('--encoding')}.")
    if request.layer is not None and form not in ("hdf5", "excel"):
        raise FileError(
            f"{source}: only HDF5 files and workbooks have layers; got {quote(request.layer)}."
        )


# Data frames of pandas, polars and others as tables, as those in files are.

_FRAME = "the data frame"


def read_frame(
    frame: Any,
    target: str | None = None,
    *,
    like: Layout | None = None,
    columns: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    missing: str | None = None,
    covariates: Sequence[str] = (),
    na: str | None = None,
    dates: str | None = None,
) -> Dataset:
    """Return the samples in a data frame of pandas, polars or pyarrow, in memory.

    Columns of text, categories and dates are features as they are in a file, and empty cells are
    filled in the same way.

    Parameters
    ----------
    frame : data frame
        (n_samples, n_columns). The index of a pandas frame is not read.
    target, like, columns, drop, missing, covariates, na, dates : as of `read_table`, of names of
        columns.

    Raises
    ------
    FileError
        Where a column cannot be a feature, or is not there; TypeError where it is no data frame.
    """
    if missing not in (None, *WAYS):
        raise ParameterError(
            "missing", f"must be one of {', '.join(WAYS)}, or None", f"{missing!r:.50}"
        )
    check_dates(dates)
    table = frame_of(frame)
    if table is None:
        raise TypeError(
            f"frame must be a data frame of pandas, polars or pyarrow; got {type(frame).__name__}."
        )
    if not len(table):
        raise FileError(f"{_FRAME}: no samples in it.")
    request = TableRequest(
        target, like, columns=columns or {}, drop=tuple(drop), missing=missing,
        covariates=tuple(covariates), na=na, dates=dates,
    )  # fmt: skip
    found: Dataset = table_from(_FRAME, table, request)
    notes = [] if like is not None else notes_of_roles(found)
    return replace(found, notes=(*found.notes, *notes))


def coded_frame(frame: Any, like: Layout) -> Any:
    """Return the features of a model, (n_samples, n_features), in its order.

    frame : a data frame of narwhals with the columns that they are made of.
    """
    request = TableRequest(like=like)
    columns: TableColumns = assign(_FRAME, list(frame.columns), len(frame.columns), None, request)
    series = [frame[frame.columns[position]] for position in columns.features]
    places = [f"row {row}" for row in range(1, len(frame) + 1)]
    cells: Cells = cells_of(series, kinds_of(frame), columns, request, places)
    return coded(_FRAME, columns, cells, request).X


# Tables in several files, a directory of Parquet or a pattern: rows one after the other.


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
    request: TableRequest,
    read: Callable[[Path, TableRequest], Iterator[Dataset]],
) -> Iterator[Dataset]:
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
    parts: Sequence[Path],
    request: TableRequest,
    read: Callable[[Path, TableRequest], Iterator[Dataset]],
) -> Iterator[tuple[Path, Dataset]]:
    """Yield each part of which rows are kept, and its table."""
    first: Dataset | None = None
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


def _coded_together(
    path: PathLike, found: Sequence[tuple[Path, Dataset]], request: TableRequest
) -> Dataset:
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
    numbers: NDArray[Any], names: Sequence[str], found: Sequence[tuple[Path, Dataset]]
) -> Cells:
    """Return the cells of all parts; refuse a column that is text in some and numbers in others."""
    own = [{} if table.cells is None else table.cells.texts for _, table in found]
    texts: dict[int, list[str]] = {order: [] for order in sorted({*itertools.chain(*own)})}
    # Codes, of which only some parts may have those with zeros before them.
    codes = {
        order
        for order in texts
        if are_codes(level for some in own if order in some for level in some[order].levels)
    }
    places: list[str] = []
    problems: dict[int, ColumnProblem] = {}
    for (path, table), words in zip(found, own, strict=True):
        n, top = table.X.shape[0], len(places)
        for order, column in texts.items():
            values = numbers[top : top + n, order]
            if order in codes and order not in words and not (values % 1 > 0).any():
                column.extend(map(shown, values.tolist()))
                continue
            if order not in words and not np.isnan(values).all():
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
    dates = next(table.cells.dates for _, table in found if table.cells is not None)
    return Cells(numbers, whole, places, problems, said[0], dates)


def _alike(table: Dataset, path: Path, first: Dataset, first_path: Path) -> Dataset:
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


def _check_kinds(table: Dataset, path: Path, first: Dataset, first_path: Path) -> None:
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


def joined(tables: Sequence[Dataset]) -> Dataset:
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

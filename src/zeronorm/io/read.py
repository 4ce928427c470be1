"""Read a table of samples from a file: svmlight, npz, npy, CSV and its kin, Parquet, HDF5.

`read_table` opens the file, finds its format and calls the reader of that format: one module each;
`read_groups` and `read_costs` read the groups and costs of its features from another file,
`svmlight_blocks` an svmlight file block by block.
Nothing is guessed that could be wrong in silence, nothing is unpickled, and every refusal is a
`FileError` that names the file, the place and the remedy.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..core.files import (
    FileError,
    PathLike,
    WhereError,
    quote,
)
from .codings import WAYS
from .encodings import checked_encoding
from .parts import joined, parts_of, tables_of_parts
from .source import Source, check_path, format_of
from .spill import standard_input
from .table import Layout, Request, Table
from .where import Where

# Readers are imported on use: those of text need the kernels, which a verifier does without.
_READERS = {
    "svmlight": ("svmlight", "read_svmlight"),
    "delimited": ("delimited", "read_delimited"),
    "json_lines": ("json_lines", "read_json_lines"),
    "excel": ("excel", "read_excel"),
    "parquet": ("parquet", "read_parquet"),
    "npy": ("arrays", "read_npy_table"),
    "npz": ("arrays", "read_npz"),
    "hdf5": ("hdf5", "read_hdf5"),
}
WITH_COLUMNS = ("delimited", "json_lines", "excel", "parquet")
_TEXT = ("delimited", "json_lines", "svmlight")
_BY_BLOCKS = ("json_lines", "excel")


def read_table(
    path: PathLike,
    target: str | None = None,
    *,
    id: str | None = None,
    like: Layout | None = None,
    need_labels: bool = False,
    columns: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    layer: str | None = None,
    where: str | None = None,
    missing: str | None = None,
    encoding: str | None = None,
    covariates: Sequence[str] = (),
) -> Table:
    """Read samples from a file.

    ==================================== =======================================================
    svmlight (.svm .libsvm .svmlight,    X csr float64, y the labels of the file. Indices from 0
    or text that looks like it)          if a 0 occurs, else from 1
    .npz                                 X the array "X" or the only matrix, y the array `target`,
                                         "y" or "label"; or what `scipy.sparse.save_npz` writes,
                                         with or without labels beside it
    .npy                                 X memory-mapped (in memory if the file is compressed)
    CSV, TSV (any of , ; tab |)          X float64, y the column `target`; a first column without
                                         a name holds names of samples
    JSON lines (.jsonl, .ndjson)         an object on each line, its keys are columns; as CSV
    Excel (.xlsx)                        the first sheet or `layer`, its first row has names; as
                                         CSV; needs openpyxl (extra `excel`)
    Parquet                              X float32 or float64, y the column `target`; needs
                                         polars or pyarrow (extra `files`)
    .h5ad, .h5 of 10x Genomics           X a design that reads by blocks, y a column of obs; needs
                                         h5py (extra `hdf5`)
    a store (zeronorm.convert)           X a design that maps its blocks, y the column `target` of
                                         obs, or the only one
    ==================================== =======================================================

    Each file of them plain or compressed (.gz, .bz2, .xz, .zst, .zip with one file inside). A
    directory of Parquet files, and a pattern as "part-*.csv", are their rows one after the other;
    "-" is standard input, which lies on the disk meanwhile.

    Parameters
    ----------
    path : path-like
    target : str or None
        The labels: name of a column or array, else index of a column (negative from the end),
        else path of a .npy, .npz or one-column text file. None where the file says it by itself.
        Several responses are several columns with commas between them, or an array of several
        columns; an .npz file may have their names in "target_names".
    id : str or None
        The names of the samples: name or index of a column of CSV or Parquet, which is no feature.
    like : Layout or None
        Read as the training data of a model were: the same first index, and of a file with names
        only the features that the model needs, wherever they stand.
    need_labels : bool
        Refuse CSV and Parquet whose target is not known, before any value is read.
    columns : dict of str, or None
        What else is no feature, by what it is, as {"time": "days", "event": "died"}: columns or
        arrays (as for `target`), or files of their own. `Table.columns` has their values.

    drop : list of str
        Columns of CSV or Parquet that are no features, by name or index: they are not read.
    layer : str or None
        Of .h5ad the layer, or "raw"; of 10x Genomics the genome; of other HDF5 files the dataset,
        as "study/expression"; of a workbook the sheet. None: X, or the only one, or the first.
    where : str or None
        Of CSV, JSON lines, Excel and Parquet: the rows that are kept, as "batch == 'B1' and age >=
        18", with ==, !=, <, <=, > and >=; names with blanks stand in backticks. A row without a
        value there is left out, which is all that "income != ''" asks for. A column that is
        compared with other text is no feature.
    missing : "mean", "most_frequent", "indicator" or None
        What becomes of empty cells in features of CSV, JSON lines, Excel and Parquet: the mean of
        their column, or its most frequent value, of several the least; with "indicator" the mean,
        and beside it a column of 0 and 1 that says where; in text a level of its own. Then X is a
        design, whose rows of training in a fold are filled by what they show. None: they are
        refused.
    encoding : str or None
        Of text: an encoding that Python knows, as "latin-1", "cp1252" or "utf-16". None: UTF-8.
    covariates : list of str
        Columns, or levels of text as "batch=B2", that are to be in every model. Of such a column of
        text the first level is no feature (of all levels but one, that one): the intercept and the
        others say where it is, so that it could add nothing to a model. Numbers stay as they are.

    Returns
    -------
    Table
        X is not searched for NaN in .npy and .npz files (the first scan of a fit does it).

    Raises
    ------
    MissingFileError
        If there is no such file (it is a FileError and a FileNotFoundError).
    FileError
        If the file cannot be read: a ValueError with the file, the line and column, the remedy.
    """
    if missing not in (None, *WAYS):
        raise ValueError(f"missing must be one of {', '.join(WAYS)}, or None; got {missing!r:.50}.")
    rows = None if where is None else Where(where)
    request = Request(
        target, like, id, need_labels, columns or {}, tuple(drop), layer, rows, missing,
        tuple(covariates), encoding,
    )  # fmt: skip
    table = read_request(path, request)
    return table if rows is None else replace(table, notes=(*table.notes, rows.note))


def read_blocks(
    path: PathLike, request: Request, size: int | None = None, name: str | None = None
) -> Iterator[Table]:
    """Yield the samples of a file as tables, one after the other; see `read_table`.

    JSON lines and sheets come in tables of about `size` cells (None: in one), files of several
    parts in a table for each of them where a model says what the features are, and all else in one.

    name : of the file in messages. None: its path.
    """
    if os.path.isfile(os.path.join(path, "zarr.json")):
        from .stored import read_stored

        for what in ("id", "drop", "layer", "where", "missing", "encoding"):
            if getattr(request, what):
                raise FileError(
                    f"{path}: a store has one matrix and its columns; leave out {what}."
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
        if form in _BY_BLOCKS:
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
            yield replace(table, form=form)


def read_request(path: PathLike, request: Request, name: str | None = None) -> Table:
    """Read samples from a file; see `read_table` and, of the name, `read_blocks`."""
    tables = list(read_blocks(path, request, name=name))
    if not tables and request.where is not None:
        raise request.where.nothing_kept(path)
    return joined(tables)


def _check_request(source: Source, form: str, request: Request) -> None:
    """Refuse what a format has not."""
    if form not in WITH_COLUMNS:
        tables = "CSV, JSON lines, Excel or Parquet"
        if request.id is not None:
            raise FileError(
                f"{source}: only a column of {tables} can be the id; got {request.id!r}."
            )
        if request.where is not None:
            raise WhereError(f"{source}: only rows of {tables} can be chosen; leave out --where.")
        if request.drop:
            raise FileError(
                f"{source}: only columns of {tables} can be dropped; got {request.drop[0]!r}."
            )
        if request.missing is not None:
            raise FileError(
                f"{source}: only empty cells of {tables} can be filled; leave out missing."
            )
    if request.encoding is not None and form not in _TEXT:
        raise FileError(f"{source}: only text has an encoding; leave out --encoding.")
    if request.layer is not None and form not in ("hdf5", "excel"):
        raise FileError(
            f"{source}: only HDF5 files and workbooks have layers; got {quote(request.layer)}."
        )

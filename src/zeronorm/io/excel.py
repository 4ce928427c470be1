"""Reads Excel workbooks (.xlsx) by openpyxl: a sheet whose first row names the columns."""

from __future__ import annotations

import datetime
import itertools
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..core.files import FileError, did_you_mean, engine_errors, quote
from .delimited import Row, tables_of_cells
from .source import Source, Stream, refuse_bomb
from .table import Table, TableRequest
from .texts import shown


def read_excel(
    source: Source, stream: Stream, request: TableRequest, size: int | None = None
) -> Iterator[Table]:
    """Yield the rows of a sheet as tables of about `size` cells each; None: as one table."""
    with _workbook(source, stream) as book:
        names = [sheet.title for sheet in book.worksheets]
        name = _chosen(source, names, request)
        for table in _tables(source, book[name], request, size):
            named = {} if name == names[0] else {"layer": name}  # which a model keeps
            yield replace(table, layers=names, column_names={**table.column_names, **named})


def rows_of_text(source: Source) -> list[list[str]]:
    """Return what the first sheet of a workbook shows, all rows as wide as the first at least."""
    with source.open() as stream, _workbook(source, stream) as book:
        sheet = book.worksheets[0]
        sheet.reset_dimensions()
        rows = [[*map(shown, row)] for _, row in _filled(sheet)]
    width = len(rows[0]) if rows else 0
    return [[*row, *[""] * (width - len(row))] for row in rows]


@contextmanager
def _workbook(source: Source, stream: Stream) -> Iterator[Any]:
    """Yield an open workbook; what is wrong with it is a FileError."""
    try:
        import openpyxl
    except ImportError:
        raise FileError(
            f"{source}: Excel workbooks need the package openpyxl; install it with "
            "pip install 'zeronorm[excel]', or save the sheet as CSV."
        ) from None
    with engine_errors(f"{source}: not a readable workbook"):
        with zipfile.ZipFile(stream) as archive:
            refuse_bomb(source, sum(info.file_size for info in archive.infolist()), source.size)
        yield openpyxl.load_workbook(stream, read_only=True, data_only=True)


def _chosen(source: Source, names: Sequence[str], request: TableRequest) -> str:
    """Return the name of the sheet: the one asked for, that of the model, or the first."""
    if request.layer is not None:
        if request.layer not in names:
            raise FileError(
                f"{source}: no sheet {quote(request.layer)}.{did_you_mean(request.layer, names)}"
            )
        return request.layer
    known = request.like.columns.get("layer", "") if request.like is not None else ""
    return known if known in names else names[0]


def _tables(source: Source, sheet: Any, request: TableRequest, size: int | None) -> Iterator[Table]:
    sheet.reset_dimensions()  # what the file says of its size need not be so
    rows = _filled(sheet)
    number, header = next(rows, (0, []))
    if not header:
        raise FileError(f"{source}: no samples in the sheet {quote(sheet.title)}, which is empty.")
    names = ["" if cell is None else str(cell).strip() for cell in header]
    if not any(isinstance(cell, str) for cell in header):
        raise FileError(
            f"{source}: row {number} must name the columns; got numbers, as {quote(names[-1])}. "
            "Write names above them."
        )
    first = next(rows, None)
    if first is None:
        raise FileError(f"{source}: a row of names and no samples under it; write a row for each.")

    def padded() -> Iterator[Row]:
        for number, cells in itertools.chain([first], rows):
            if len(cells) > len(names):
                raise FileError(
                    f"{source}: row {number} has a cell {quote(str(cells[-1]))} beyond the columns "
                    "that the first row names; name its column, or clear it."
                )
            yield number, [*cells, *[None] * (len(names) - len(cells))]

    yield from tables_of_cells(source, names, padded(), request, size, "row")


def _filled(sheet: Any) -> Iterator[tuple[int, list[Any]]]:
    """Yield the number and the cells of each row that has any, up to its last filled cell."""
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        cells = [*map(_cell, row)]
        while cells and cells[-1] is None:
            cells.pop()
        if cells:
            yield number, cells


def _cell(value: Any) -> Any:
    """Return a cell as number, text or None; dates are text, as 2024-05-31."""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return None if isinstance(value, str) and not value.strip() else value

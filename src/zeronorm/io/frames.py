"""Tables of typed cells: Parquet files, data frames, JSON lines and workbooks.

A number is a number and text is text: nothing is taken for the other, and a column that has both is
refused with its row. Words that stand for a missing value are missing, as they are in CSV.
"""

from __future__ import annotations

import datetime
import io
import itertools
import json
import math
import re
import zipfile
from array import array
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, did_you_mean, engine_errors, quote
from ..core.frames import categories_of_pandas, is_number, kinds_of
from ..core.messages import some, ways_out
from .arrays import as_labels, read_kept
from .encoding import (
    DROP,
    MEND,
    OF_FORMULA,
    VALUES,
    Cells,
    ColumnProblem,
    Content,
    as_table,
    needs_coding,
    text_features,
)
from .source import Source, Stream, not_utf8, refuse_bomb
from .table import (
    Dataset,
    TableColumns,
    TableRequest,
    assign,
    first_nonfinite,
    is_missing,
    labels_needed,
)
from .texts import Texts, shown

# Parquet files and data frames: columns that have types.

_WORDS = ("text", "categories", "dates", "objects")  # kinds of columns that are read as text


def read_parquet(source: Source, stream: Stream, request: TableRequest) -> Dataset:
    """Read a Parquet file by polars."""
    frame = _frame_of(source, stream)
    with engine_errors(f"{source}: not a readable Parquet file"):
        return table_from(source, frame, request)


def _frame_of(source: Source, stream: Stream) -> Any:
    """Return a Parquet file as a data frame of narwhals; what pandas has as categories is such."""
    import narwhals as nw
    import polars as pl

    data: Any = source.path if source.compression is None else io.BytesIO(stream.read())
    with engine_errors(f"{source}: not a readable Parquet file"):
        metadata = pl.read_parquet_metadata(data)
        if not isinstance(data, io.BytesIO):
            frame = pl.read_parquet(data, glob=False, hive_partitioning=False)
        else:
            data.seek(0)
            frame = pl.read_parquet(data)
        labels = pl.col(categories_of_pandas(metadata.get("pandas", "{}"), frame.columns))
        frame = frame.with_columns(labels.cast(pl.String).cast(pl.Categorical))
        return nw.from_native(frame, eager_only=True)


def table_from(source: Source | str, frame: Any, request: TableRequest) -> Dataset:
    """Return the table in a data frame of narwhals."""
    names: list[str] = frame.columns
    kinds = kinds_of(frame)
    samples = names.index("__index_level_0__") if "__index_level_0__" in names else None
    columns = assign(source, names, len(names), samples, request)
    if request.absent:
        own = [name for place, name in enumerate(names) if place != columns.samples]
        frame = _without(frame, own, request.absent)
    if request.lacks_labels(columns):
        text = [j for j in columns.features if not is_number(kinds[names[j]])]
        raise labels_needed(source, columns, text)
    places = [f"row {row}" for row in range(1, len(frame) + 1)]  # of the file, for messages
    if request.where is not None:
        compared = [frame[names[position]].to_list() for position in columns.compared]
        held = [
            request.where.keeps(row, f"{source}: {place}")
            for row, place in zip(zip(*compared, strict=True), places, strict=True)
        ]
        places = [*itertools.compress(places, held)]
        frame = frame.filter(held)
    series = [frame[names[position]] for position in columns.features]
    cells = None
    coded = needs_coding(request.like)
    if coded or not all(_is_full_number(one, kinds[one.name]) for one in series):
        cells = cells_of(series, kinds, columns, request, places)
        X = cells.numbers
    else:
        X = _matrix_of(source, series, columns, places)
    stored = {
        j: _kept(source, columns, j, _listed(frame[names[j]], kinds), places) for j in columns.kept
    }
    kept = read_kept(source, request, columns, stored, len(frame))
    sample_names = None
    if columns.samples is not None:
        sample_names = [str(value) for value in frame[names[columns.samples]].to_list()]
    return as_table(source, columns, X, cells, request, {**kept, "sample_names": sample_names})


def _without(frame: Any, names: Sequence[str], absent: Sequence[str]) -> Any:
    """Return a frame without the cells of some columns that stand for a missing value."""
    import narwhals as nw

    changed = []
    for name in names:
        series = frame[name]
        if isinstance(series.dtype, nw.Categorical | nw.Enum):
            series = series.cast(nw.String)
        lost = [value for value in series.unique().to_list() if is_missing(value, absent)]
        if lost:
            there = ~nw.col(name).is_in(lost)
            changed.append(frame.select(series).select(nw.when(there).then(nw.col(name)))[name])
    return frame.with_columns(*changed)


def _matrix_of(
    source: Source | str, columns: Sequence[Any], known: TableColumns, places: Sequence[str]
) -> NDArray[Any]:
    """Return columns of numbers as a matrix, of a small type where all have it."""
    import narwhals as nw

    matrix: list[NDArray[Any]] = []
    for position, series in zip(known.features, columns, strict=True):
        if series.dtype.is_decimal() or series.dtype == nw.Boolean:
            series = series.cast(nw.Float64)
        values = series.to_numpy()
        row = first_nonfinite(values)
        if row is not None and not np.isnan(values[row]):
            raise FileError(
                f"{source}: {places[row]}, {known.name(position)}: a value is not finite "
                f"({values[row]}); fill it in or drop the row or column."
            )
        matrix.append(values)
    types = {values.dtype for values in matrix}
    native = (np.float32, np.int8, np.uint8)  # what a scan reads without conversion
    dtype = types.pop() if len(types) == 1 and next(iter(types)) in native else np.dtype(np.float64)
    X = np.empty((len(columns[0]), len(matrix)), dtype, order="F")
    for order, values in enumerate(matrix):
        X[:, order] = values
    return X


def cells_of(
    columns: Sequence[Any],
    kinds: Mapping[str, str],
    known: TableColumns,
    request: TableRequest,
    places: Sequence[str],
) -> Cells:
    """Return what stands in columns of any type.

    kinds : of the columns by name, as of `kinds_of`. places : of every row, as "row 3".
    """
    import narwhals as nw

    text = text_features(known, request.like)
    numbers = np.full((len(columns[0]), len(columns)), np.nan, order="F")
    texts: dict[int, Texts] = {}
    problems: dict[int, ColumnProblem] = {}
    for order, series in enumerate(columns):
        kind = kinds[series.name]
        if is_number(kind) and order not in text:
            numbers[:, order] = series.cast(nw.Float64).to_numpy()
        elif is_number(kind) or kind in _WORDS or order in text:
            words = map(_text_of, series.to_list())
            texts[order] = Texts.of(words, are_labels=kind == "categories")
        elif series.null_count() < len(series):
            what = f"is of the type {series.dtype}; features are numbers, text or dates"
            problems[order] = ColumnProblem(what, (DROP,))
    return Cells(numbers, texts, places, problems)


def _text_of(value: Any) -> str:
    """Return a value as CSV would have it; "" for none."""
    if is_missing(value):
        return ""
    return value.isoformat() if hasattr(value, "isoformat") else str(value).strip()


def _listed(series: Any, kinds: Mapping[str, str]) -> list[Any]:
    """Return the values of a column, dates as text."""
    values: list[Any] = series.to_list()
    return [*map(_text_of, values)] if kinds[series.name] == "dates" else values


def _is_full_number(series: Any, kind: str) -> bool:
    """Whether a column has a number in every row."""
    if not is_number(kind) or series.null_count():
        return False
    return not (series.dtype.is_float() and bool(series.is_nan().any()))


# Rows of cells that are objects of Python, as JSON and workbooks have them.

Row = tuple[int, Sequence[Any]]  # its number, and a cell for each column; None: missing


def table_of_cells(
    source: Source,
    names: list[str],
    rows: Sequence[Row],
    request: TableRequest,
    word: str = "line",
    gaps: str | None = None,
) -> Dataset:
    """Return rows as a table.

    rows : at least one. word : "line" or "row", before their numbers in messages.
    gaps : a sentence that errors about empty cells end with.
    """
    samples = 0 if not names[0] and len(names) > 1 else None
    columns = assign(source, names, len(names), samples, request)
    if request.lacks_labels(columns):
        text = [j for j in columns.features if isinstance(rows[0][1][j], str)]
        raise labels_needed(source, columns, text)
    if request.absent:
        rows = [
            (number, [_or_none(cell, j, columns, request.absent) for j, cell in enumerate(row)])
            for number, row in rows
        ]
    where = request.where
    if where is not None:
        rows = [
            (number, row)
            for number, row in rows
            if where.keeps([row[j] for j in columns.compared], f"{source}: {word} {number}")
        ]
    places = [f"{word} {number}" for number, _ in rows]
    cells = [*zip(*(row for _, row in rows), strict=True)] or [()] * len(names)
    by_model = text_features(columns, request.like)
    numbers = np.full((len(rows), len(columns.features)), np.nan, order="F")
    texts: dict[int, Texts] = {}
    problems: dict[int, ColumnProblem] = {}
    for order, j in enumerate(columns.features):
        content = _content(cells[j], order in by_model)
        if isinstance(content, Texts):
            texts[order] = content
        elif isinstance(content, ColumnProblem):
            problems[order] = content
        else:
            numbers[:, order] = content
    stored = {j: _kept(source, columns, j, cells[j], places) for j in columns.kept}
    others = read_kept(source, request, columns, stored, len(rows))
    if columns.samples is not None:
        others["sample_names"] = [*map(shown, cells[columns.samples])]
    found = None
    coded = texts or problems or needs_coding(request.like)
    if coded or first_nonfinite(numbers) is not None:
        found = Cells(numbers, texts, places, problems, gaps)
    return as_table(source, columns, numbers, found, request, others)


def _or_none(cell: Any, j: int, columns: TableColumns, absent: Sequence[str]) -> Any:
    return None if j != columns.samples and is_missing(cell, absent) else cell


def _content(cells: Sequence[Any], as_text: bool) -> Content | ColumnProblem:
    """Return the numbers or the text of a column, or why it is neither."""
    if not as_text:
        try:
            return np.array(array("d", [math.nan if cell is None else cell for cell in cells]))
        except (TypeError, OverflowError):
            pass
    kinds = [_kind(cell) for cell in cells]
    first = "text" if as_text else next((kind for kind in kinds if kind), "text")
    for row, (cell, kind) in enumerate(zip(cells, kinds, strict=True)):
        if isinstance(cell, str) and cell.startswith("="):
            return ColumnProblem(f"is {quote(cell)}, {OF_FORMULA}", (VALUES, DROP), row)
        if kind == "other":
            what = f"features are numbers or text; got {quote(str(cell))}"
        elif kind in ("", first) or as_text:
            continue
        elif kind == "text":
            what = f"is the text {quote(cell.strip())} where other rows have numbers"
        else:
            what = f"is {quote(str(cell))} where other rows have text"
        return ColumnProblem(what, (MEND, DROP), row)
    if first == "text":
        return Texts.of(
            str(cell).strip() if kind else "" for cell, kind in zip(cells, kinds, strict=True)
        )
    return np.array(
        [float(cell) if kind else math.nan for cell, kind in zip(cells, kinds, strict=True)]
    )


def _kind(cell: Any) -> str:
    """Return what a cell is: number, text, other; "" where it is missing."""
    if isinstance(cell, str):
        return "" if is_missing(cell) else "text"
    try:
        return "" if is_missing(cell) else "number" if array("d", [cell]) else ""
    except (TypeError, OverflowError):
        return "other"


def _kept(
    source: Source | str,
    columns: TableColumns,
    j: int,
    cells: Sequence[Any],
    places: Sequence[str],
) -> NDArray[Any]:
    """Return a column that is read as it stands, numbers alone or text alone."""
    for place, cell in zip(places, cells, strict=True):
        if is_missing(cell):
            shows = quote(cell) if isinstance(cell, str) else ""
            raise columns.gap(f"{source}: {place}", j, shows)
        is_text = isinstance(cell, str)
        if not isinstance(cell, str | int | float) or is_text != isinstance(cells[0], str):
            raise FileError(
                f"{source}: {place}, {columns.name(j)}: {columns.kept[j]} must be numbers alone, "
                f"or text alone; got {quote(str(cell))}. Write all of its values in one way."
            )
    return as_labels(source, np.array(cells), len(cells), columns.name(j))


# JSON lines: an object on each line, whose keys are columns. Polars would take 7 among text for
# "7" and the last of two equal keys, and say no line where one is not JSON.

_GAPS = " A key that a line lacks is a missing value; where it means 0, write 0."


def read_json_lines(
    source: Source, stream: Stream, request: TableRequest, size: int | None = None
) -> Iterator[Dataset]:
    """Yield the rows as tables of about `size` cells each; None: as one table."""
    lines = _objects(source, stream)
    first = next(lines, None)
    if first is None:
        raise FileError(f"{source}: no samples in it (only blank lines).")
    names = list(first[1])
    if not names:
        raise FileError(f"{source}: line {first[0]}: the object has no keys, which name columns.")
    like = request.like
    by_name = like is not None and like.names is not None  # others are not read then
    n_rows = None if size is None else max(1, size // len(names))
    begin = [first]
    if by_name:
        wanted = _wanted(request) - {*names}
        for number, found in itertools.islice(lines if wanted else (), n_rows):
            begin.append((number, found))
            names += [key for key in found if key in wanted]
            wanted -= found.keys()
            if not wanted:
                break

    def rows() -> Iterator[Row]:
        for number, found in itertools.chain(begin, lines):
            if not by_name:
                _refuse_new_key(source, number, found, names)
            yield number, [*map(found.get, names)]

    remaining = rows()
    while block := [*itertools.islice(remaining, n_rows)]:
        yield table_of_cells(source, names, block, request, gaps=_GAPS)


def _refuse_new_key(source: Source, number: int, found: dict[str, Any], names: list[str]) -> None:
    """Refuse a line with a key that the first line, whose keys are the columns, has not."""
    if found.keys() <= {*names}:
        return
    new = next(key for key in found if key not in names)
    raise FileError(
        f"{source}: line {number}: the key {quote(new)} is not on the first line, whose keys are "
        f"the columns.{did_you_mean(new, names, given=found)} Write it there, with null where it "
        "has no value, or 0 where that is meant."
    )


def _wanted(request: TableRequest) -> set[str]:
    """Return the keys that are columns where any line has them: those that are asked for."""
    like = request.like
    named = [name for name in (request.target, request.id) if name is not None]
    asked = [*named, *(request.target or "").split(","), *request.columns.values()]
    return {*asked, *((like.sources or ()) if like is not None else ())}


def _objects(source: Source, stream: Stream) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line that is not blank, and its object."""
    decoder = json.JSONDecoder(object_pairs_hook=_distinct)
    for number, line in enumerate(stream, 1):
        text = line.removeprefix(BOM_UTF8) if number == 1 else line
        if not text.strip():
            continue
        try:
            found = decoder.decode(text.decode("utf-8"))
        except UnicodeDecodeError:
            raise not_utf8(source, of_data=True) from None
        except (ValueError, RecursionError) as error:
            raise FileError(
                f"{source}: line {number}: not JSON ({error}). Write one {{object}} on each line, "
                "with each key once."
            ) from None
        if not isinstance(found, dict):
            raise FileError(
                f'{source}: line {number}: must be an object, as {{"age": 61}}; got '
                f"{quote(str(found))}. Write one object on each line."
            )
        yield number, found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {quote(twice)} occurs twice")
    return found


# Workbooks of Excel, by openpyxl: a sheet of which a row names the columns.

_MERGED = re.compile(rb'mergeCell [^>]*?ref="([A-Z]+)([0-9]+):([A-Z]+)([0-9]+)"')
_FORMULA = re.compile(
    rb'<c r="([A-Z]+)([0-9]+)"[^>]*><f[^>]*>([^<]*)</f>(?:<v\s*/>|<v>\s*</v>)?</c>'
)


def read_excel(source: Source, stream: Stream, request: TableRequest) -> Dataset:
    """Read a sheet: the one asked for, that of the model, or the first."""
    known = request.like.columns.get("layer", "") if request.like is not None else ""
    rows, name, names, notes = _sheet(source, stream, request.layer, known)
    if not rows:
        raise FileError(f"{source}: no samples in the sheet {quote(name)}, which is empty.")
    (number, header), *body = rows
    columns = ["" if cell is None else str(cell).strip() for cell in header]
    if not any(isinstance(cell, str) for cell in header):
        raise FileError(
            f"{source}: row {number} must name the columns; got numbers, as {quote(columns[-1])}. "
            "Write names above them."
        )
    if not body:
        raise FileError(f"{source}: a row of names and no samples under it; write a row for each.")
    for place, cells in body:
        if len(cells) > len(columns):
            raise FileError(
                f"{source}: row {place} has a cell {quote(str(cells[-1]))} beyond the columns "
                f"that row {number} names; name its column, or clear it."
            )
    padded = [(place, [*cells, *[None] * (len(columns) - len(cells))]) for place, cells in body]
    if request.layer is None and request.like is None and len(names) > 1:
        notes.append(_of_others(name, names, *ways_out("--layer NAME reads another")))
    table = table_of_cells(source, columns, padded, request, "row")
    named = {} if name == names[0] else {"layer": name}  # which a model keeps
    return replace(
        table,
        layers=names,
        column_names={**table.column_names, **named},
        notes=(*notes, *table.notes),
    )


def rows_of_sheet(source: Source, wanted: str | None) -> tuple[list[list[str]], list[str]]:
    """Return what a sheet shows, all rows as wide as that with names at least, and notes."""
    with source.open() as stream:
        found, name, names, notes = _sheet(source, stream, wanted)
    rows = [[*map(shown, cells)] for _, cells in found]
    if wanted is None and len(names) > 1:
        notes.append(_of_others(name, names, f"{source}:NAME reads another"))
    return [[*row, *[""] * (len(rows[0]) - len(row))] for row in rows], [
        f"{source}: {note}" for note in notes
    ]


def _of_others(name: str, names: Sequence[str], *ways: str) -> str:
    others = some([quote(one) for one in names if one != name], 5)
    read = f"the sheet {quote(name)} is read, the first of {len(names)}"
    return "; ".join([read, *(f"{way}: {others}" for way in ways)])


@contextmanager
def _workbook(source: Source, stream: Stream) -> Iterator[tuple[Any, zipfile.ZipFile]]:
    """Yield an open workbook and its archive; what is wrong with it is a FileError."""
    try:
        import openpyxl
    except ImportError:
        raise FileError(
            f"{source}: Excel workbooks need the package openpyxl; install it with "
            "pip install 'zeronorm[excel]', or save the sheet as CSV."
        ) from None
    with engine_errors(f"{source}: not a readable workbook"), zipfile.ZipFile(stream) as archive:
        refuse_bomb(source, sum(info.file_size for info in archive.infolist()), source.size)
        yield openpyxl.load_workbook(stream, read_only=True, data_only=True), archive


def _sheet(
    source: Source, stream: Stream, wanted: str | None, known: str = ""
) -> tuple[list[Row], str, list[str], list[str]]:
    """Return the rows of a sheet from that with names on, its name, those of all sheets, and notes.

    Rows have their number and cells up to the last filled one; rows without any are left out. Cells
    that are merged within a column have its value, and formulas without a value are text.

    known : the sheet to read where none is asked for, and it is there.
    """
    from openpyxl.utils import column_index_from_string

    with _workbook(source, stream) as (book, archive):
        names = [sheet.title for sheet in book.worksheets]
        if wanted is not None and wanted not in names:
            raise FileError(f"{source}: no sheet {quote(wanted)}.{did_you_mean(wanted, names)}")
        name = wanted or (known if known in names else names[0])
        sheet = book[name]
        sheet.reset_dimensions()  # what the file says of its size need not be so
        every = [[*map(_cell, row)] for row in sheet.iter_rows(values_only=True)]
        content = archive.read(sheet._worksheet_path)

    def cells_at(letters: bytes, *numbers: bytes) -> tuple[int, list[list[Any]]]:
        column = column_index_from_string(letters.decode()) - 1
        top, last = int(numbers[0]) - 1, int(numbers[-1])
        return column, [row for row in every[top:last] if len(row) > column]

    for letters, number, formula in _FORMULA.findall(content):
        column, rows = cells_at(letters, number)
        for row in rows:
            if row[column] is None:
                row[column] = f"={formula.decode('utf-8', 'replace')}"
    across, filled = list[tuple[int, str]](), list[str]()
    for left, top, right, last in _MERGED.findall(content):
        shown_as = b"%s%s:%s%s" % (left, top, right, last)
        if left != right:
            across.append((int(top), shown_as.decode()))
            continue
        column, rows = cells_at(left, top, last)
        filled.append(shown_as.decode())
        for row in rows[1:]:
            row[column] = rows[0][column]
    found = list[Row]()
    for number, cells in enumerate(every, 1):
        while cells and cells[-1] is None:
            cells.pop()
        if cells:
            found.append((number, cells))
    start = _start(found)
    notes = list[str]()
    if start:
        notes.append(
            f"names of columns are in row {found[start][0]}; what is above is no part of the table"
        )
    if filled:
        notes.append(f"cells that are merged have the value of the first: {some(filled, 5)}")
    for top_row, where in across:
        if found and top_row > found[start][0]:
            raise FileError(
                f"{source}: the cells {where} are merged, and have one value for several columns; "
                "unmerge them, and write a value into each."
            )
    return found[start:], name, names, notes


def _start(rows: Sequence[Row]) -> int:
    """Return which row has the names: the first, or one below titles."""
    from .delimited import are_titles, begins

    looked = [[*map(shown, cells)] for _, cells in rows[:20]]
    width = max(map(len, looked), default=0)
    looked = [[*cells, *[""] * (width - len(cells))] for cells in looked]
    found = (n for n in range(len(looked)) if begins(looked[n:], not are_titles(looked[:n])))
    return next(found, 0)


def _cell(value: Any) -> Any:
    """Return a cell as number, text or None; dates are text, as 2024-05-31."""
    if isinstance(value, datetime.date | datetime.time):
        return shown(value)
    return None if isinstance(value, str) and not value.strip() else value


# Tables of the samples, all of it as text.


def rows_of_json(source: Source, stream: Stream) -> list[list[str]]:
    """Return the keys of the first line, and what all lines have of them."""
    rows = list[list[str]]()
    for number, found in _objects(source, stream):
        if not rows:
            rows.append([*found])
        _refuse_new_key(source, number, found, rows[0])
        rows.append([*map(shown, map(found.get, rows[0]))])
    return rows


def rows_of_parquet(source: Source, stream: Stream) -> list[list[str]]:
    """Return the names of the columns, and what the rows have of them."""
    frame = _frame_of(source, stream)
    columns = [map(shown, frame[name].to_list()) for name in frame.columns]
    return [[*frame.columns], *map(list, zip(*columns, strict=True))]

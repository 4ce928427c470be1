"""Reads Parquet files by pyarrow or polars, whichever is installed.

Columns keep a small type if all have it; a value that is missing or not finite is refused with its
row and column.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, engine_errors
from ..core.frames import categories_of_pandas, is_number, kinds_of
from .arrays import as_labels, read_kept
from .encoding import DROP, Cells, ColumnProblem, as_table, needs_coding, text_features
from .source import Source, Stream
from .table import Table, TableColumns, TableRequest, assign, first_nonfinite, is_na, labels_needed
from .texts import Texts, shown

_WORDS = ("text", "categories", "dates", "objects")  # kinds of columns that are read as text


def read_parquet(
    source: Source,
    stream: Stream,
    request: TableRequest,
) -> Table:
    """Read a Parquet file."""
    frame = _frame_of(source, stream)
    with engine_errors(f"{source}: not a readable Parquet file"):
        return table_from(source, frame, request)


def rows_of_text(source: Source, stream: Stream) -> list[list[str]]:
    """Return the names of the columns, and what the rows have of them, as text."""
    frame = _frame_of(source, stream)
    columns = [map(shown, frame[name].to_list()) for name in frame.columns]
    return [[*frame.columns], *map(list, zip(*columns, strict=True))]


def _frame_of(source: Source, stream: Stream) -> Any:
    """Return a Parquet file as a data frame of narwhals."""
    import narwhals as nw

    data: Any = source.path if source.compression is None else io.BytesIO(stream.read())
    read: Callable[[Any], Any]
    try:  # pyarrow first: it turns all damage into exceptions, where polars may panic
        import pyarrow.parquet as pq

        read = pq.read_table
    except ImportError:
        try:
            from polars import read_parquet, read_parquet_metadata

            def read(data: Any) -> Any:
                return _with_categories(read_parquet(data), read_parquet_metadata(data))

        except ImportError:
            raise FileError(
                f"{source}: Parquet files need pyarrow, or polars from 1.30 on; install them with "
                "pip install 'zeronorm[files]'."
            ) from None
    with engine_errors(f"{source}: not a readable Parquet file"):
        return nw.from_native(read(data), eager_only=True)


def _with_categories(frame: Any, metadata: Mapping[str, str]) -> Any:
    """Return a frame of polars with the columns as categories that pandas has written as such."""
    import polars as pl

    labels = pl.col(categories_of_pandas(metadata.get("pandas", "{}"), frame.columns))
    return frame.with_columns(labels.cast(pl.String).cast(pl.Categorical))


def table_from(source: Source | str, frame: Any, request: TableRequest) -> Table:
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
    stored: dict[int, NDArray[Any]] = {}
    for position in columns.kept:
        series = frame[names[position]]
        row = _first_null(series)
        if row is not None:
            raise columns.gap(f"{source}: {places[row]}", position)
        values = series.to_list()
        if kinds[series.name] == "dates":
            values = [*map(_text_of, values)]
        values = np.asarray(values)
        stored[position] = as_labels(source, values, len(frame), columns.name(position))
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
        lost = [value for value in series.unique().to_list() if is_na(absent, value)]
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
    n = len(columns[0])
    numbers = np.full((n, len(columns)), np.nan, order="F")
    texts: dict[int, Texts] = {}
    problems: dict[int, ColumnProblem] = {}
    for order, series in enumerate(columns):
        kind = kinds[series.name]
        if is_number(kind) and order not in text:
            numbers[:, order] = series.cast(nw.Float64).to_numpy()
        elif is_number(kind) or kind in _WORDS or n == series.null_count():
            words = map(_text_of, series.to_list())
            texts[order] = Texts.of(words, are_labels=kind == "categories")
        else:
            what = f"is of the type {series.dtype}; features are numbers, text or dates"
            problems[order] = ColumnProblem(what, (DROP,))
    return Cells(numbers, texts, places, problems)


def _text_of(value: Any) -> str:
    """Return a value as CSV would have it; "" for none."""
    if value is None or value != value:  # NaN and NaT
        return ""
    return value.isoformat() if hasattr(value, "isoformat") else str(value).strip()


def _is_full_number(series: Any, kind: str) -> bool:
    """Whether a column has a number in every row."""
    if not is_number(kind) or series.null_count():
        return False
    return not (series.dtype.is_float() and bool(series.is_nan().any()))


def _first_null(series: Any) -> int | None:
    if not series.null_count():
        return None
    return int(series.is_null().to_numpy().argmax())

"""Reads Parquet files by pyarrow or polars, whichever is installed.

Columns keep a small type if all have it; a value that is missing or not finite is refused with its
row and column.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import FileError, SampleNamesError, engine_errors
from ._labels import as_labels, read_kept
from ._source import Source, Stream
from ._table import Request, Table, assign, first_nonfinite, labels_needed


def read_parquet(
    source: Source,
    stream: Stream,
    request: Request,
) -> Table:
    """Read a Parquet file."""
    import narwhals as nw

    data: Any = source.path if source.compression is None else io.BytesIO(stream.read())
    read: Callable[[Any], Any]
    try:  # pyarrow first: it turns all damage into exceptions, where polars may panic
        import pyarrow.parquet as pq

        read = pq.read_table
    except ImportError:
        try:
            import polars as pl

            read = pl.read_parquet
        except ImportError:
            raise FileError(
                f"{source}: Parquet files need polars or pyarrow; install one with "
                "pip install 'zeronorm[files]'."
            ) from None
    with engine_errors(f"{source}: not a readable Parquet file"):
        return _table_from(source, nw.from_native(read(data), eager_only=True), request)


def _table_from(source: Source, frame: Any, request: Request) -> Table:
    """Return the table in a data frame of narwhals."""
    import narwhals as nw

    names: list[str] = frame.columns
    samples = names.index("__index_level_0__") if "__index_level_0__" in names else None
    columns = assign(source, names, len(names), samples, request)
    if request.lacks_labels(columns):
        text = [j for j in columns.features if not _is_number(frame[names[j]].dtype)]
        raise labels_needed(source, columns, text)
    rows: NDArray[Any] = np.arange(len(frame))  # of the file, for messages
    if request.where is not None:
        compared = [frame[names[position]].to_list() for position in columns.compared]
        held = [
            request.where.keeps(cells, f"{source}: row {row}")
            for row, cells in enumerate(zip(*compared, strict=True), 1)
        ]
        rows = rows[np.array(held, bool)]
        frame = frame.filter(held)
    matrix: list[NDArray[Any]] = []
    for position in columns.features:
        series = frame[names[position]]
        if not _is_number(series.dtype):
            message = (
                f"{source}: {columns.name(position)}: features must be numbers; got the type "
                f"{series.dtype}. Drop the column (--drop), make it the target, or encode it "
                "(one column of 0 and 1 per value)"
            )
            first = position == columns.features[0] and columns.samples is None
            if first and series.dtype == nw.String and 1 < len(frame) == series.n_unique():
                raise SampleNamesError(message, columns.argument(position))
            raise FileError(f"{message}.")
        if series.dtype.is_decimal() or series.dtype == nw.Boolean:
            series = series.cast(nw.Float64)
        row = _first_null(series)
        if row is not None:
            raise FileError(
                f"{source}: row {rows[row] + 1}, {columns.name(position)}: a value is missing; "
                "fill it in or drop the row or column."
            )
        values = series.to_numpy()
        row = first_nonfinite(values)
        if row is not None:
            raise FileError(
                f"{source}: row {rows[row] + 1}, {columns.name(position)}: a value is not finite "
                f"({values[row]}); fill it in or drop the row or column."
            )
        matrix.append(values)
    types = {values.dtype for values in matrix}
    native = (np.float32, np.int8, np.uint8)  # what a scan reads without conversion
    dtype = types.pop() if len(types) == 1 and next(iter(types)) in native else np.dtype(np.float64)
    X = np.empty((len(frame), len(matrix)), dtype, order="F")
    for order, values in enumerate(matrix):
        X[:, order] = values
    unique, notes = columns.feature_names(request.like)
    stored: dict[int, NDArray[Any]] = {}
    for position, what in columns.kept.items():
        series = frame[names[position]]
        row = _first_null(series)
        if row is not None:
            raise FileError(
                f"{source}: row {rows[row] + 1}, {columns.name(position)}: {what} is missing; "
                "drop the row."
            )
        values = np.asarray(series.to_list())
        stored[position] = as_labels(source, values, len(frame), columns.name(position))
    kept = read_kept(source, request, columns, stored, len(frame))
    sample_names = None
    if columns.samples is not None:
        sample_names = [str(value) for value in frame[names[columns.samples]].to_list()]
    return Table(X, feature_names=unique, sample_names=sample_names, notes=notes, **kept)


def _is_number(dtype: Any) -> bool:
    import narwhals as nw

    return bool(dtype.is_numeric() or dtype == nw.Boolean)


def _first_null(series: Any) -> int | None:
    if not series.null_count():
        return None
    return int(series.is_null().to_numpy().argmax())

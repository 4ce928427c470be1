"""Data frames of pandas, polars and others as tables, as those in files are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.files import FileError
from ..core.frames import frame_of, kinds_of
from .coded import Cells, coded
from .codings import WAYS
from .parquet import cells_of, table_from
from .table import Columns, Layout, Request, Table, assign

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
) -> Table:
    """Return the samples in a data frame of pandas, polars or pyarrow, in memory.

    Columns of text, categories and dates are features as they are in a file, and empty cells are
    filled in the same way.

    Parameters
    ----------
    frame : data frame
        (n_samples, n_columns). The index of a pandas frame is not read.
    target, like, columns, drop, missing, covariates : as of `read_table`, of names of columns.

    Raises
    ------
    FileError
        Where a column cannot be a feature, or is not there; TypeError where it is no data frame.
    """
    if missing not in (None, *WAYS):
        raise ValueError(f"missing must be one of {', '.join(WAYS)}, or None; got {missing!r:.50}.")
    table = frame_of(frame)
    if table is None:
        raise TypeError(
            f"frame must be a data frame of pandas, polars or pyarrow; got {type(frame).__name__}."
        )
    if not len(table):
        raise FileError(f"{_FRAME}: no samples in it.")
    request = Request(
        target, like, columns=columns or {}, drop=tuple(drop), missing=missing,
        covariates=tuple(covariates),
    )  # fmt: skip
    return table_from(_FRAME, table, request)


def coded_frame(frame: Any, like: Layout) -> Any:
    """Return the features of a model, (n_samples, n_features), in its order.

    frame : a data frame of narwhals with the columns that they are made of.
    """
    request = Request(like=like)
    columns: Columns = assign(_FRAME, list(frame.columns), len(frame.columns), None, request)
    series = [frame[frame.columns[position]] for position in columns.features]
    places = [f"row {row}" for row in range(1, len(frame) + 1)]
    cells: Cells = cells_of(series, kinds_of(frame), columns, request, places)
    return coded(_FRAME, columns, cells, request).X

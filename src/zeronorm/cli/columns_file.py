"""A file of columns, written block by block: CSV, JSON lines or Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from ..core.messages import csv_cell
from .paths import check_folder
from .standard_output import standard_output

# What a row of the file has, by name: a value for each row.
Columns: TypeAlias = Mapping[str, Sequence[Any]]
Write: TypeAlias = Callable[[Columns], None]

STDOUT = "-"
FORMATS = {".csv": "csv", ".parquet": "parquet", ".jsonl": "json_lines", ".ndjson": "json_lines"}


def check_columns_file(path: Path, option: str, formats: Sequence[str], also: str = "") -> None:
    """Refuse what is no such file by its name, or cannot become one.

    formats : the suffixes that the option allows. also : what else it may be, for the message.
    """
    check_folder(path, option)
    suffix = path.suffix.lower()
    if suffix not in formats:
        known = " or ".join([*filter(None, [", ".join(formats[:-1])]), formats[-1]])
        raise ValueError(f"{option} must end in {known}{also}; got {path}.")
    if suffix == ".parquet" and not (find_spec("pyarrow") or find_spec("polars")):
        raise ValueError(
            f"{option} {path}: Parquet files need polars or pyarrow; install one with "
            "pip install 'zeronorm[files]', or name a .csv file."
        )


@contextmanager
def columns_file(path: Path | None, form: str = "delimited") -> Iterator[Write]:
    """Yield a function that writes the columns of some rows; the file is there at the end.

    path : None: nothing is written; - is stdout. form : that of the data, which stdout has where it
        can.
    """
    from ..persistence import writing

    if path is None:
        yield lambda columns: None
        return
    with ExitStack() as stack:
        if str(path) == STDOUT:
            kind = "json_lines" if form == "json_lines" else "csv"
            file: BinaryIO = standard_output()
        else:
            kind = FORMATS[path.suffix.lower()]
            file = stack.enter_context(writing(path))
        yield stack.enter_context(_WRITERS[kind](file))
        file.flush()


@contextmanager
def _csv(file: BinaryIO) -> Iterator[Write]:
    is_first = True

    def write(columns: Columns) -> None:
        nonlocal is_first
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if is_first:
            writer.writerow(map(csv_cell, columns))
            is_first = False
        for row in zip(*columns.values(), strict=True):
            writer.writerow([csv_cell(cell) if isinstance(cell, str) else cell for cell in row])
        file.write(text.getvalue().encode("utf-8", "backslashreplace"))

    yield write


@contextmanager
def _json_lines(file: BinaryIO) -> Iterator[Write]:
    def write(columns: Columns) -> None:
        for row in zip(*columns.values(), strict=True):
            line = json.dumps(dict(zip(columns, row, strict=True)), allow_nan=False)
            file.write(f"{line}\n".encode())

    yield write


@contextmanager
def _parquet(file: BinaryIO) -> Iterator[Write]:
    """Write by pyarrow, block by block, or by polars, which has all of them in memory."""
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        with _parquet_by_polars(file) as write:
            yield write
        return
    with ExitStack() as stack:
        writer: Any = None

        def write_block(columns: Columns) -> None:
            nonlocal writer
            table = pa.table({name: list(values) for name, values in columns.items()})
            if writer is None:
                writer = stack.enter_context(ParquetWriter(file, table.schema))
            writer.write_table(table)

        yield write_block


@contextmanager
def _parquet_by_polars(file: BinaryIO) -> Iterator[Write]:
    import polars as pl

    frames: list[Any] = []
    yield lambda columns: frames.append(pl.DataFrame({**columns}))
    pl.concat(frames).write_parquet(file)


_WRITERS = {"csv": _csv, "json_lines": _json_lines, "parquet": _parquet}

"""Tables of the samples as files: what their lines say, all of it as text.

They are text with commas, semicolons, tabs or blanks, workbooks, Parquet or JSON lines, as data
are.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .source import Source


@dataclass(frozen=True, slots=True)
class SampleFile:
    """What stands in a table of the samples, read once."""

    path: str
    header: list[str]  # the names of its columns
    rows: list[list[str]]  # at least one, each as wide as the header

    @classmethod
    def read(cls, path: str, encoding: str | None) -> SampleFile:
        """Read a file; refuse one without samples, or whose columns have no names of their own.

        encoding : of text that is not UTF-8.
        """
        from ..core.files import FileError, quote
        from .encodings import checked_encoding
        from .source import Source, check_path

        rows, word = _rows_of(Source(check_path(path), None, checked_encoding(encoding)))
        if not rows:
            raise FileError(f"{path}: the file is empty.")
        if len(rows) == 1:
            raise FileError(
                f"{path}: no samples in it, but for the line with names of columns. Write a line "
                "for each sample."
            )
        rows = [[cell.strip() for cell in row] for row in rows]
        for number, row in enumerate(rows, 1):
            if len(row) != len(rows[0]):
                raise FileError(
                    f"{path}, {word} {number}: {len(rows[0])} columns as in the first {word}; got "
                    f"{len(row)}. Write all, empty where there is no value."
                )
        header = [cell.lstrip("#") for cell in rows[0]]
        repeated = next((name for name in header if header.count(name) > 1), None)
        if repeated is not None:
            raise FileError(
                f"{path}: the column {quote(repeated)} is there several times. Give each a name of "
                "its own."
            )
        return cls(path, header, rows[1:])


def _rows_of(source: Source) -> tuple[list[list[str]], str]:
    """Return the rows of a file of any format, the names of columns first; and what they are."""
    from .source import has_objects

    if source.is_workbook:
        from . import excel as _excel

        return _excel.rows_of_text(source), "row"
    with source.open() as stream:
        if stream.peek(4).startswith(b"PAR1"):
            from . import parquet as _parquet

            return _parquet.rows_of_text(source, stream), "row"
    text = _text_of(source)
    if has_objects(source, text[:1000].encode()):
        from . import json_lines as _json_lines

        return _json_lines.rows_of_text(source, text), "line"
    return _split(str(source), text), "line"


def _split(path: str, text: str) -> list[list[str]]:
    """Return the rows of a text with commas, semicolons, tabs or blanks."""
    from ..core.files import FileError

    lines = [line for line in text.splitlines() if line.strip()]
    delimiter = next((mark for mark in ",;\t" if lines and mark in lines[0]), None)
    if delimiter is None:
        return [*map(str.split, lines)]
    # Of the whole text: a cell may have ends of lines in it.
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        return [row for row in reader if any(row)]
    except csv.Error as error:
        raise FileError(
            f"{path}, line {reader.line_num + 1}: cannot be read ({error}). Close the quotes, "
            "or shorten the cell."
        ) from None


def _text_of(source: Source) -> str:
    """Return a file of text: UTF-8, or else in the encoding of its source."""
    from ..core.files import FileError
    from .source import not_utf8, nul_byte

    encoding, source.encoding = source.encoding, None
    with source.open() as stream:
        content = stream.read()
    if content.startswith((b"\x89HDF", b"PK\x03\x04", b"\x93NUMPY")):
        raise FileError(
            f"{source}: no table with names of columns; write the table of the samples as CSV, "
            "JSON lines, .xlsx or Parquet."
        )
    if encoding is not None and not _is_utf8(content):
        source.encoding = encoding
        with source.open() as stream:
            content = stream.read()
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(f"{source}: UTF-16 text; say --encoding utf-16, or save it as UTF-8.")
    if b"\x00" in content:
        raise nul_byte(source)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise not_utf8(source, True) from None


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\x00" not in content

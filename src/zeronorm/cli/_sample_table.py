"""Tables of the samples as files: a line for each sample, with its name and values."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._messages import some

if TYPE_CHECKING:
    from ..files._source import Source

MISSING = {"", "na", "nan", "n/a", ".", "null"}
_FAMILY, _NAMES = "fid", ("iid", "id", "sample", "sample_id")


@dataclass(frozen=True, slots=True)
class SampleTable:
    """A file with a line for each sample: family and name, or the name alone, then values."""

    path: str
    keys: list[tuple[str, ...]]
    columns: dict[str, Any]  # of text
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: str, encoding: str | None = None) -> SampleTable:
        """Return the columns of a file that begins with those of family and name, or the name."""
        from ..files import FileError, quote

        header, rows = _rows_of(path, encoding)
        low = [cell.lower() for cell in header]
        by_family = low[0] == _FAMILY and len(low) > 1 and low[1] in _NAMES
        if not by_family and low[0] not in _NAMES:
            raise FileError(
                f"{path}: the first line must name the columns, FID and IID or IID first; got "
                f"{quote(' '.join(header))}. Write such a line at the top."
            )
        return cls._by(path, header, rows, [0, 1] if by_family else [0])

    @classmethod
    def of_names(
        cls,
        path: str,
        names: Collection[str],
        others: Collection[str] = (),
        encoding: str | None = None,
    ) -> SampleTable:
        """Return the columns of a file, one of which has the names of samples: most of them.

        Where none has any, the one that has most of them but for case and blanks.

        others : names of the columns of the data, for the error where it has none.
        """
        from ..files import FileError, quote
        from ..files._texts import folded

        header, rows = _rows_of(path, encoding)
        for as_read in (str, folded):
            wanted = {*map(as_read, names)}
            found = [sum(as_read(one) in wanted for one in own) for own in zip(*rows, strict=True)]
            most = max(range(len(header)), key=found.__getitem__)
            if found[most]:
                break
        else:
            there, here = quote(rows[0][0]), quote(next(iter(names)))
            across = f" and their columns with {quote(next(iter(others)))}" if others else ""
            raise FileError(
                f"{path}: no sample of the data is in it: it begins with {there}, the rows of the "
                f"data with {here}{across}. Write the names of the samples as the data have them."
            )
        return cls._by(path, header, rows, [most])

    @classmethod
    def _by(
        cls, path: str, header: list[str], rows: list[list[str]], own: list[int]
    ) -> SampleTable:
        """Return a table whose samples some columns name."""
        import numpy as np

        from ..files import FileError, quote
        from ..files._decimal_commas import NOTE

        body = np.array(rows, str).reshape(-1, len(header))
        keys = [tuple(row) for row in body[:, own].tolist()]
        twice, count = Counter(keys).most_common(1)[0]
        if count > 1:
            lines = [str(line) for line, key in enumerate(keys, 2) if key == twice]
            raise FileError(
                f"{path}: the sample {quote(' '.join(twice))} has several lines: "
                f"{some(lines, 5)}. Leave one."
            )
        named = {name: body[:, place] for place, name in enumerate(header) if place not in own}
        pointed = {name: _with_points(column) for name, column in named.items()}
        changed = any(pointed[name] is not column for name, column in named.items())
        return cls(path, keys, pointed, (f"{path}: {NOTE}",) if changed else ())


def _with_points(column: Any) -> Any:
    """Return a column with points for the commas of its numbers; itself where it has none."""
    import numpy as np

    from ..files._decimal_commas import with_points
    from ..files._texts import Texts

    texts = Texts.of(column.tolist())
    found = with_points(texts.mapped(lambda text: "" if text.lower() in MISSING else text))
    return column if found is None else np.array(found.tolist())


def header_of(path: str, encoding: str | None) -> list[str]:
    """Return the names of the columns of a table of samples."""
    return _rows_of(path, encoding)[0]


def values_of(path: str, encoding: str | None) -> list[str]:
    """Return all that stands in the cells of a table of samples, one of which names each."""
    return [value for row in _rows_of(path, encoding)[1] for value in row]


def _rows_of(path: str, encoding: str | None) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns of a text file or a workbook, and its rows.

    encoding : of text that is not UTF-8.
    """
    from ..files import FileError, check_path, quote
    from ..files._encodings import checked_encoding
    from ..files._source import Source

    source = Source(check_path(path), None, checked_encoding(encoding))
    if source.is_workbook:
        from ..files._excel import rows_of_text

        rows = rows_of_text(source)
    else:
        rows = _split(path, _text_of(source))
    if not rows:
        raise FileError(f"{path}: the file is empty.")
    if len(rows) == 1:
        raise FileError(
            f"{path}: no samples in it, but for the line with names of columns. Write a line for "
            "each sample."
        )
    rows = [[cell.strip() for cell in row] for row in rows]
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise FileError(
                f"{path}, line {number}: {len(rows[0])} columns as in the first line; got "
                f"{len(row)}. Write all, empty where there is no value."
            )
    header = [cell.lstrip("#") for cell in rows[0]]
    repeated = next((name for name in header if header.count(name) > 1), None)
    if repeated is not None:
        raise FileError(
            f"{path}: the column {quote(repeated)} is there several times. Give each a name of its "
            "own."
        )
    return header, rows[1:]


def _split(path: str, text: str) -> list[list[str]]:
    """Return the rows of a text with commas, semicolons, tabs or blanks."""
    from ..files import FileError

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
    from ..files import FileError
    from ..files._source import not_utf8, nul_byte

    encoding, source.encoding = source.encoding, None
    with source.open() as stream:
        content = stream.read()
    if content.startswith((b"PAR1", b"\x89HDF", b"PK\x03\x04", b"\x93NUMPY")):
        raise FileError(f"{source}: no text; write the table of the samples as CSV.")
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

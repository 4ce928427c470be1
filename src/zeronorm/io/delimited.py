"""Reads delimited text: CSV, TSV and their kin.

A careful reader built on `csv` says for every bad field where it is. Large files go through a fast
one first; whatever has anything odd is left to the careful one.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import operator
import re
from array import array
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ..core.files import FileError, quote
from ..core.messages import option, remedy, some
from ..core.parallel import current_threads
from ..core.types import FloatArray
from .arrays import as_whole, labels_from_text, read_kept
from .encoding import Cells, as_table, needs_coding, text_features
from .meaning import mark_in, quantity, with_points
from .source import DELIMITERS, Source, Stream, not_utf8, nul_byte, on_disk
from .table import (
    Dataset,
    TableColumns,
    TableRequest,
    assign,
    first_nonfinite,
    is_missing,
    labels_needed,
)
from .texts import (
    NOTE,
    THOUSANDS,
    Texts,
    decimal_mark,
    has_comma,
    is_code,
    strict_float,
)

# Text in parts of whole lines, as kernels take it; a part is read while another is parsed.

Text: TypeAlias = NDArray[np.uint8]

PART = 1 << 22  # bytes: enough for threads to pay, few enough to stay in the caches
_PIECE = 1 << 16  # bytes that are worth a thread


def parts_of(source: Source, stream: Stream, size: int = PART) -> Iterator[Text]:
    """Yield the text of an opened source in parts that end with a line end.

    A byte order mark is left out. A part has `size` bytes or a little less, more only where a line
    has; it is overwritten after the next one was taken. A file that changes its length meanwhile is
    a FileError.
    """
    text, following = np.empty(max(size, 2), np.uint8), np.empty(max(size, 2), np.uint8)
    with ThreadPoolExecutor(1) as reader:
        text, n_bytes, is_last = _fill(stream, text, text[:0])
        start = len(BOM_UTF8) if text[: len(BOM_UTF8)].tobytes() == BOM_UTF8 else 0
        while n_bytes > start:
            end = _last_line_end(text, 0, n_bytes)
            if not is_last:
                filling = reader.submit(_fill, stream, following, text[end:n_bytes])
            elif source.compression is source.encoding is None and stream.tell() != source.size:
                raise FileError(
                    f"{source}: changed while it was read: it had {source.size} bytes, then "
                    f"{stream.tell()}."
                )
            yield text[start:end]
            if is_last:
                return
            following, (text, n_bytes, is_last) = text, filling.result()
            start = 0


def _fill(stream: Stream, buffer: Text, tail: Text) -> tuple[Text, int, bool]:
    """Return a buffer with the tail of a part and what follows it, its bytes, whether all is read.

    It is the buffer, or a larger one until a line ends in it; the last part gets a line end.
    """
    while True:
        n_bytes = tail.size
        if n_bytes >= buffer.size - 1:
            buffer = np.empty(2 * n_bytes + 2, np.uint8)
        buffer[:n_bytes] = tail
        while n_bytes < buffer.size - 1:
            count = stream.readinto(buffer[n_bytes:-1].data)
            if not count:
                if n_bytes and buffer[n_bytes - 1] != ord("\n"):
                    buffer[n_bytes] = ord("\n")
                    n_bytes += 1
                return buffer, n_bytes, True
            n_bytes += count
        if _last_line_end(buffer, tail.size, n_bytes) > tail.size:
            return buffer, n_bytes, False
        tail = buffer[:n_bytes]


def _last_line_end(text: Text, start: int, stop: int) -> int:
    """Return where the last line that ends in text[start:stop] does; `start` if none does."""
    while stop > start:
        first = max(start, stop - (1 << 16))
        ends = np.flatnonzero(text[first:stop] == ord("\n"))
        if ends.size:
            return first + int(ends[-1]) + 1
        stop = first
    return start


def cut(text: Text, mark: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return what `_kernels.cut_text` says of text, and the number of threads for its pieces."""
    n_threads = current_threads()
    n_pieces = max(1, min(text.size // _PIECE, 4 * n_threads))
    cuts = np.empty(n_pieces + 1, np.int64)
    counts = np.empty((n_pieces, 2), np.int64)
    _kernels.cut_text(text, ord(mark), cuts, counts)
    return cuts, counts, n_threads


# Delimited text by a kernel on all threads.
#
# It reads what has no surprises: fields that are numbers, or text, quoted as a whole or not at all.
# Whatever departs from that is left to the careful reader, which reads it or says what is wrong;
# what is read here has the same values there.

_ROWS = 1000  # that are searched for what is no number, where a first one was found
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)  # of the first n bytes of eight
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # of the words of a field in its key
_TRIES = 8  # to read the text, each with more of its columns as text


class _Odd(Exception):  # noqa: N818 - no error: another reader takes over
    """The text has something that this reader does not know, in some columns or anywhere."""

    def __init__(self, columns: Collection[int] = ()) -> None:
        self.columns = columns


@dataclass(frozen=True, slots=True)
class Body:
    """Rows under the header."""

    X: FloatArray
    stored: dict[int, NDArray[np.generic]]  # of the target and of what else is read as it stands
    samples: list[str]  # empty without names of samples
    places: Sequence[str]  # of every row, as "line 3"
    cells: Cells | None = None  # what is no number among the features, where there is such
    notes: tuple[str, ...] = ()


def read_body(
    source: Source, delimiter: str, columns: TableColumns, n_lines: int, row: Sequence[str],
    request: TableRequest,
) -> Body | None:  # fmt: skip
    """Return the body of a text; None where it has anything odd.

    n_lines : before the first row. row : its fields. Where the request has a folder to spill to and
    all features are numbers, X is mapped from a file there that has no name, by row, instead of in
    memory; memory then holds a part of the text and what is no feature.
    """
    words = {j for j in columns.kept if j >= len(row) or strict_float(row[j]) is None}
    text = {
        order
        for order, j in enumerate(columns.features)
        if j < len(row) and (_is_text(row[j]) or is_code(row[j].strip()))
    }
    text |= text_features(columns, request.like)
    words |= {*columns.compared, *(columns.features[order] for order in text)}
    for _ in range(_TRIES):
        try:
            return _Reader(source, delimiter, columns, words, request).read(n_lines)
        except _Odd as odd:
            if not odd.columns or not words.isdisjoint(odd.columns):
                return None
            words.update(odd.columns)  # labels of which only the first are numbers, empty cells
        except UnicodeDecodeError:
            return None
    return None


def body_of(
    source: Source,
    delimiter: str,
    columns: TableColumns,
    request: TableRequest,
    body: Body,
    words: dict[int, Texts],
) -> Body:
    """Return a body with what columns of text hold: numbers, labels or text."""
    absent = request.absent
    for j in columns.kept:
        gaps = words[j].rows(lambda text: is_missing(text, absent)) if j in words else ()
        for row in gaps[:1]:
            place = f"{source}: {body.places[row]}"
            raise columns.gap(place, j, quote(words[j][row].strip()))
    words = {
        j: text.mapped(lambda cell: "" if is_missing(cell, absent) else cell.strip())
        for j, text in words.items()
    }
    by_model = text_features(columns, request.like)
    left = {columns.features[order] for order in by_model}
    X, places = body.X, body.places
    notes = _read_marks(source, delimiter, columns, request.decimal, body, words, left)
    stored = dict(body.stored)
    for j in columns.kept:
        if j in words:
            stored[j] = labels_from_text(words[j].levels)[words[j].codes]
    texts: dict[int, Texts] = {}
    for order, j in enumerate(columns.features):
        if j in words:
            values = None if order in by_model else words[j].numbers()
            if values is None:
                texts[order] = words[j]
            else:
                X[:, order] = values
    cells = None
    gaps_in_X = (words or absent) and first_nonfinite(X) is not None
    if texts or needs_coding(request.like) or gaps_in_X:
        cells = Cells(X, texts, places)
    return Body(X, stored, body.samples, places, cells, notes)


def _read_marks(
    source: Source,
    delimiter: str,
    columns: TableColumns,
    decimal: str | None,
    body: Body,
    words: dict[int, Texts],
    left: Collection[int],
) -> tuple[str, ...]:
    """Put points into columns of numbers with commas or thousands; return notes about them.

    Between semicolons a comma is decimal; between these and tabs 1.234 beside whole numbers below
    1000, and no longer ones, may be a thousand.

    left : columns that are text in any case.
    """
    semicolons = delimiter == ";"
    marks = {j: mark_in(text.counts()) for j, text in words.items() if j not in left}

    def cell(j: int, mark: str) -> tuple[str, str]:
        """Return the place of the first cell of a column that has a mark, and what stands there."""
        row = int(words[j].rows(lambda text: _mark(text) == mark)[0])
        return f"{source}: {body.places[row]}, {columns.name(j)}:", words[j][row]

    if decimal is None:
        by_comma = [j for j, mark in marks.items() if mark == "," or (semicolons and mark == "?,")]
        for j in [j for j, mark in marks.items() if mark == "?."]:
            whole = [
                one[0] for one in map(quantity, words[j].counts()) if one and _mark(one[0]) == ""
            ]
            short = bool(whole) and all(abs(float(text)) < 1000 for text in whole)
            if by_comma or (delimiter in _OF_COMMAS and short):
                raise _of_two_readings(*cell(j, "?."))
        if by_comma:
            _refuse_points(source, columns, body, columns.name(by_comma[0]))
            for j in [j for j, mark in marks.items() if mark == "."]:
                place, text = cell(j, ".")
                raise _other_mark(place, text, columns.name(by_comma[0]))
            marks = {j: "," if mark == "?," else mark for j, mark in marks.items()}
    else:
        for j, mark in marks.items():
            if mark in (",", ".") and mark != decimal:
                has = "point" if mark == "." else "comma"
                place, text = cell(j, mark)
                raise FileError(
                    f"{place} {quote(text)} has a decimal {has}, and {option('--decimal')} is "
                    f"{decimal!r}. "
                    "Write all of them in one way."
                )
        marks = {j: decimal if mark in ("?.", "?,") else mark for j, mark in marks.items()}
    changed: dict[str, list[str]] = {NOTE: [], THOUSANDS: []}
    for j, mark in marks.items():
        if mark in (",", "."):
            other = {".": ",", ",": "."}[mark]
            has_other = any(other in text for text in words[j].counts())
            if mark == "," or has_other:
                words[j] = with_points(words[j], mark)
                changed[NOTE if mark == "," else THOUSANDS].append(columns.name(j))
    return tuple(f"{note} ({some(names, 5)})" for note, names in changed.items() if names)


def _mark(text: str) -> str | None:
    part = quantity(text) if decimal_mark(text) is None else (text, "")
    return None if part is None else decimal_mark(part[0])


_OF_COMMAS = ";\t"  # between columns where numbers may have decimal commas
_SAY = ("say --decimal '.' or --decimal ','",)


def _refuse_points(source: Source, columns: TableColumns, body: Body, other: str) -> None:
    """Refuse numbers with a point beside columns with decimal commas: 1.234 may be a thousand."""
    numbers: dict[int, NDArray[Any]] = {
        j: values for j, values in body.stored.items() if values.dtype.kind == "f"
    }
    numbers |= {j: body.X[:, order] for order, j in enumerate(columns.features)}
    for j, values in sorted(numbers.items()):
        rows = np.flatnonzero(np.isfinite(values) & (values % 1 != 0))
        if rows.size:
            place, value = f"{source}: {body.places[rows[0]]}, {columns.name(j)}:", values[rows[0]]
            three = abs(100 * value - round(100 * value)) > 1e-6  # decimals or more
            if three and _may_be_grouped(np.append(values, 0)[:, None], False):
                raise _of_two_readings(place, f"{value:.3f}")
            raise _other_mark(place, str(value), other)


def _of_two_readings(place: str, text: str) -> FileError:
    return FileError(
        f"{place} {quote(text)} may be {text}, with a decimal point, or "
        f"{text.replace('.', '')}, with one between thousands.{remedy(*_SAY)}"
    )


def _other_mark(place: str, text: str, other: str) -> FileError:
    return FileError(
        f"{place} {text} has a decimal point, where numbers of {other} have a comma. Write all of "
        "them in one way."
    )


class _Lines(Sequence[str]):
    """The places of the rows, as "line 3"; the file is read again where one is asked for."""

    def __init__(self, source: Source, n_lines: int, n_rows: int) -> None:
        self.source, self.n_lines, self.n_rows = source, n_lines, n_rows

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, row: Any) -> Any:
        return next(itertools.islice(self, row, None))

    def __iter__(self) -> Iterator[str]:
        with self.source.open() as stream:
            for number, line in enumerate(stream, 1):
                if number > self.n_lines and line.strip(b"\r\n"):
                    yield f"line {number}"


class _Reader:
    """Reads with some of the columns as text, the others as numbers."""

    def __init__(
        self,
        source: Source,
        delimiter: str,
        columns: TableColumns,
        words: Collection[int],
        request: TableRequest,
    ) -> None:
        self.source, self.delimiter, self.columns = source, delimiter, columns
        self.request = request
        self.absent = [number for one in request.absent if (number := strict_float(one))]
        self.absent += [0.0] if is_missing("0", request.absent) else []
        features = columns.features
        self.orders = [order for order, j in enumerate(features) if j not in words]
        kept = [j for j in columns.kept if j not in words]
        self.numeric = [*(features[order] for order in self.orders), *kept]
        samples = [] if columns.samples is None else [columns.samples]
        self.texts = sorted({*words, *samples})
        # Whether a number may have a point between thousands, and whether zeros alone follow one.
        self.grouped = self.with_zeros = False
        self.places = np.full(columns.n_columns, -1)
        self.places[self.numeric] = np.arange(len(self.numeric))
        self.places[self.texts] = -2 - np.arange(len(self.texts))
        self.words = [_Words() for _ in self.texts]

    def read(self, n_lines: int) -> Body:
        """Return the body of a text, or raise _Odd."""
        columns, n_features, request = self.columns, len(self.columns.features), self.request
        whole = request.where is not None or self.absent or len(self.orders) < n_features
        with self.source.open() as stream:
            blocks = (
                block
                for text in _without_header(parts_of(self.source, stream, PART), n_lines)
                for block in self._rows(text)
            )
            if request.spill is None or whole:
                X, kept = _gathered(blocks, self.orders, n_features)
            else:
                X, kept = _spilled(blocks, n_features, request.spill)
        others = dict(zip(self.numeric[len(self.orders) :], kept, strict=True))
        suspects = [j for j, values in others.items() if np.isnan(values).any()]  # by --na
        if self.grouped:
            found = [*_may_be_grouped(X[:, self.orders], self.with_zeros)]
            found += [len(self.orders) + j for j in _may_be_grouped(kept.T, self.with_zeros)]
            suspects += self._mixed(found, np.hstack([X[:, self.orders], kept.T]), n_lines)
        if suspects:
            raise _Odd(suspects)
        stored: dict[int, NDArray[np.generic]] = {j: as_whole(one) for j, one in others.items()}
        words = {j: some.texts() for j, some in zip(self.texts, self.words, strict=True)}
        places: Sequence[str] = _Lines(self.source, n_lines, len(X))
        if request.where is not None:
            compared = zip(*(words[j].tolist() for j in columns.compared), strict=True)
            held = [
                (row, place)
                for row, (cells, place) in enumerate(zip(compared, places, strict=True))
                if request.keeps(cells, f"{self.source}: {place}")
            ]
            rows, places = np.array([row for row, _ in held], np.int64), [one for _, one in held]
            X = np.asfortranarray(X[rows])
            stored = {j: values[rows] for j, values in stored.items()}
            words = {j: text.at(rows) for j, text in words.items()}
        samples = [] if columns.samples is None else words[columns.samples].tolist()
        read = {*columns.features, *columns.kept}
        words = {j: text for j, text in words.items() if j in read}
        body = Body(X, stored, samples, places)
        return body_of(self.source, self.delimiter, columns, request, body, words)

    def _mixed(self, found: Sequence[int], numbers: FloatArray, n_lines: int) -> list[int]:
        """Return the columns with whole numbers that have a point beside some that have none.

        found : among the columns of numbers. Only rows with whole numbers are looked at.
        """
        if not found:
            return []
        whole = numbers[:, found] % 1 == 0
        rest = {j: bool(one) for j, one in zip(found, ~whole.all(0), strict=True)}
        rows = iter(whole.any(1).tolist())
        mixed = list[int]()
        with self.source.open() as stream:
            lines = (line for line in itertools.islice(stream, n_lines, None) if line.strip())
            for line in itertools.compress(lines, rows):
                if not rest:
                    break
                text = line.decode()
                fields = next(csv.reader([text], delimiter=self.delimiter))
                for j, with_points in [*rest.items()]:
                    # Others of the column have a point where not all are whole.
                    if ("." in fields[self.numeric[j]]) != with_points:
                        mixed.append(self.numeric[j])
                        del rest[j]
        return mixed

    def _rows(self, text: Text) -> Iterator[FloatArray]:
        """Yield the numbers of the rows of a part, (columns, rows); keep what is text."""
        if self.delimiter in _OF_COMMAS and not self.grouped and self.request.decimal is None:
            content = text.tobytes()
            self.grouped = _GROUPED.search(content) is not None
            self.with_zeros = self.with_zeros or b".000" in content
        cuts, counts, n_threads = cut(text, b"\n")
        lines = counts[:, 0]
        numbers = np.empty((len(self.numeric), lines.sum()))
        spans = np.empty((lines.sum(), len(self.texts), 2), np.int64)
        rows = np.empty(len(counts), np.int64)
        line, column = _kernels.delimited_rows(
            text, cuts, counts, ord(self.delimiter), self.places, numbers, spans, rows, n_threads
        )
        if line >= 0:
            raise _Odd(self._no_numbers(text[line:], column))
        if (rows == lines).all():
            starts, rows = np.zeros(1, np.int64), rows.sum(keepdims=True)
        else:
            starts = np.cumsum(lines) - lines
        content = b""
        if self.texts or text.max() > 127:
            content = text.tobytes() + bytes(8)
            str(content, "utf-8")  # an error where it is none
        codes = self._codes(text, spans[:, :, 0])
        if codes:
            raise _Odd(codes)
        for start, n_rows in zip(starts.tolist(), rows.tolist(), strict=True):
            part = slice(start, start + n_rows)
            for words, places in zip(self.words, np.moveaxis(spans[part], 0, 2), strict=True):
                words.take(content, places.copy().T)
            block = numbers[:, part]
            for value in self.absent:
                block[block == value] = np.nan
            yield block

    def _codes(self, text: Text, begins: NDArray[np.int64]) -> set[int]:
        """Return the columns that are read as numbers and have a code with zeros before it.

        begins : of the fields of text.
        """
        padded = (text[:-1] == ord("0")) & (text[1:] - ord("0") < 10)
        begin = text[:-2] == ord(self.delimiter)
        begin |= text[:-2] == ord("\n")
        begin |= text[:-2] == ord('"')
        padded[1:] &= begin
        zeros = np.flatnonzero(padded)
        zeros = zeros[~np.isin(zeros, begins)]
        ends = np.flatnonzero(text == ord("\n")) if zeros.size else zeros
        found = set[int]()
        for number in np.unique(np.searchsorted(ends, zeros)).tolist():
            line = text[ends[number - 1] + 1 if number else 0 : ends[number]].tobytes().decode()
            fields = next(csv.reader([line], delimiter=self.delimiter))
            found |= {j for j in self.numeric if is_code(fields[j].strip())}
        return found

    def _no_numbers(self, text: Text, column: int) -> set[int]:
        """Return a column that is no number, and others of which the next rows say the same."""
        if column not in self.numeric:
            return set()
        found = {column}
        for line in text[: 1 << 18].tobytes().split(b"\n")[:_ROWS]:
            fields = line.decode("utf-8", "replace").split(self.delimiter)
            if len(fields) == self.columns.n_columns:
                found |= {j for j in self.numeric if not _is_finite(fields[j])}
        return found


class _Words:
    """The fields of a column of text, part by part."""

    def __init__(self) -> None:
        self.code: dict[str, int] = {}
        self.codes: list[NDArray[np.int64]] = []

    def take(self, content: bytes, spans: NDArray[np.int64]) -> None:
        """Take the fields of some rows, which begin and end at (n, 2) places of some bytes."""
        places, codes = _distinct(content, spans)
        code = self.code
        order = np.argsort(places)  # of appearance, as of other readers
        fields = [
            content[first:last].decode("utf-8") for first, last in spans[places[order]].tolist()
        ]
        known = np.empty(len(places), np.int64)
        known[order] = [code.setdefault(text, len(code)) for text in fields]
        self.codes.append(known[codes])

    def texts(self) -> Texts:
        """Return the column."""
        return Texts([*self.code], np.concatenate([np.empty(0, np.int64), *self.codes]))


def _distinct(
    content: bytes, spans: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows that have all different fields, and for every row which of them has its own.

    Fields are compared eight bytes at a time; those longer than 64 are taken as all different. A
    field has no NUL, and eight bytes follow the last one.
    """
    first, last = spans.T
    n_words = (int((last - first).max(initial=1)) + 7) // 8
    if n_words > 8:
        everything = np.arange(len(spans))
        return everything, everything
    windows: Any = np.ndarray(len(content) - 7, "<u8", content, strides=(1,))
    words = []
    for start in range(0, 8 * n_words, 8):
        at = np.minimum(first + start, last)
        words.append(windows[at] & _MASKS[np.minimum(last - at, 8)])
    key = words[0]
    for word in words[1:]:
        key = key * _FACTOR + word
    _, places, codes = np.unique(key, return_index=True, return_inverse=True)
    # Two fields may have one key.
    if n_words > 1 and any((word != word[places][codes]).any() for word in words):
        return _distinct_of(words)
    return places, codes


def _distinct_of(words: list[NDArray[np.uint64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the same of fields by their words."""
    _, places, codes = np.unique(
        np.column_stack(words), axis=0, return_index=True, return_inverse=True
    )
    return places, codes.ravel()


def _is_finite(field: str) -> bool:
    value = strict_float(field)
    return value is not None and math.isfinite(value)


_GROUPED = re.compile(rb"(?<![^;\t\r\n])[-+]?[1-9][0-9]{0,2}\.[0-9]{3}(?![^;\t\r\n])")
_HEAD = 100  # rows by which most columns are judged


def _may_be_grouped(columns: FloatArray, with_zeros: bool) -> list[int]:
    """Return the columns of whole numbers and of such as 1.234, which may be thousands.

    with_zeros : whether a whole one may have a point as well, as 1.000.
    """
    found = np.arange(columns.shape[1])
    for values in (columns[:_HEAD], columns):
        size = np.abs(values[:, found])
        thousand = np.abs(np.rint(1000 * size) - 1000 * size) < 1e-6
        alike = ((thousand & ((size >= 1) | (size == 0)) & (size < 1000)) | np.isnan(size)).all(0)
        found = found[alike]
    size = np.abs(columns[:, found])
    whole = size % 1 == 0
    both = whole.any(0) & (with_zeros | ~(whole | np.isnan(size)).all(0))
    suspects: list[int] = found[both].tolist()
    return suspects


def _gathered(
    blocks: Iterable[FloatArray], orders: list[int], n_features: int
) -> tuple[FloatArray, FloatArray]:
    """Return X, by column, and the other numbers, (columns, rows), of blocks of rows.

    orders : the columns of X that the blocks begin with; the others are NaN.
    """
    known = list(blocks)
    n, p = sum(block.shape[1] for block in known), len(orders)
    X = (
        np.full((n, n_features), np.nan, order="F")
        if p < n_features
        else np.empty((n, p), order="F")
    )
    kept = np.empty((len(known[0]) - p, n))
    start = 0
    for block in known:
        rows = slice(start, start + block.shape[1])
        X.T[orders, rows], kept[:, rows] = block[:p], block[p:]
        start = rows.stop
    return X, kept


def _spilled(blocks: Iterable[FloatArray], p: int, folder: Path) -> tuple[FloatArray, FloatArray]:
    """Return the same, X by row and mapped from a file."""
    kept = list[FloatArray]()

    def rows() -> Iterator[FloatArray]:
        for block in blocks:
            kept.append(block[p:].copy())
            yield np.ascontiguousarray(block[:p].T)

    X: FloatArray = on_disk(rows(), folder).view(np.float64)
    others = np.concatenate(kept, axis=1)
    return X.reshape(others.shape[1], p), others


def _without_header(parts: Iterator[Text], n_lines: int) -> Iterator[Text]:
    """Yield text without its first lines."""
    for text in parts:
        if n_lines:
            ends = np.flatnonzero(text == ord("\n"))[:n_lines] + 1
            n_lines -= ends.size
            head, text = text[: ends[-1]], text[ends[-1] :]
            if (head[np.flatnonzero(head == ord("\r")) + 1] != ord("\n")).any():
                raise _Odd  # another kind of line end, which others count
        if text.size:
            yield text


# Finds the first line of a table in a text, and the separator of its fields.


_LOOKED = 20  # lines of a table that show where it begins
_LONG = 1 << 18  # characters of them, but for the first three
_SERIES = re.compile(r"![A-Za-z]+_")  # begins lines of GEO around a table
_SEPARATOR = re.compile(r'"?sep=([^"])"?[\r\n]*', re.IGNORECASE)  # as Excel writes it
_COMMA_NUMBER = re.compile(r"[-+]?[0-9]*,[0-9]+")


@dataclass(frozen=True, slots=True)
class Start:
    """Lines before a table in a text, and the separator of its fields."""

    delimiter: str
    before: Sequence[str]  # lines before that with names, or the first row where there is none

    @property
    def is_series(self) -> bool:
        """Whether it is a series matrix of GEO, where such a line ends the table, too."""
        return any(map(_SERIES.match, self.before))

    def note(self, named: bool) -> list[str]:
        """Return a note about lines that are left out. named : whether the next has names."""
        told = [line for line in self.before if line.strip(" ,;\t|\r\n")]
        if not told or (len(told) == 1 and _SEPARATOR.fullmatch(told[0])):
            return []
        what = "names of columns are on" if named else "the table begins with"
        n = len(self.before)
        lines = "line before it is" if n == 1 else f"{n:,} lines before it are"
        return [f"{what} line {n + 1:,}; the {lines} no part of the table"]


def start_of(source: Source) -> Start:
    """Return where the table in a text begins.

    Before it may be blank lines, lines that begin with "#", those of a series matrix of GEO, and
    titles: lines with one cell, or with another number of cells than all that come after them, the
    first of which has names above numbers.
    """
    lines, before = list[str](), list[str]()
    with source.open() as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", "replace", newline="")
        for line in text:
            if not lines and (not line.strip() or line[0] == "#" or _SERIES.match(line)):
                before.append(line)
                continue
            lines.append(line)
            if len(lines) >= _LOOKED or (len(lines) > 2 and sum(map(len, lines)) > _LONG):
                break
        text.detach()
    candidates = DELIMITERS.get(source.suffix, ",;\t|")
    separator = _SEPARATOR.fullmatch(lines[0]) if lines else None
    if separator is not None:
        candidates = separator[1]
        before.append(lines.pop(0))
    marked = bool(before and lines) and before[-1][0] == "#"
    if marked and not begins(_fields(lines, _delimiter(lines[0], candidates))):
        lines.insert(0, _bare(before.pop()))  # as in "#CHROM", it has the names
    for n, line in enumerate(lines[:-1]):
        delimiter = _delimiter(line, candidates)
        rows, above = _fields(lines[n:], delimiter), _fields(lines[:n], delimiter)
        if any(map(str.strip, lines[:n])) and not above:
            break  # a line that is no CSV
        # A line with one cell above two columns may be their header as R writes it.
        sure = n == 0 or (len(rows[0]) > 2 and are_titles(above)) if rows else False
        if line.strip() and begins(rows, not sure):
            return Start(delimiter, [*before, *lines[:n]])
    return Start(_delimiter(lines[0] if lines else "", candidates), before)


def _bare(line: str) -> str:
    """Return a line with names without the mark of a comment before them."""
    return line.lstrip("#").lstrip(" ") if line[:1] == "#" else line


def are_titles(rows: Iterable[Sequence[str]]) -> bool:
    """Return whether no row has more than one cell that is filled."""
    return all(sum(bool(field.strip()) for field in row) < 2 for row in rows)


def begins(rows: Sequence[Sequence[str]], strictly: bool = True) -> bool:
    """Return whether a table begins with the first of some rows: all others are as wide.

    strictly : it must have words alone, and one below a number.
    """
    if not rows:
        return False
    first, *others = rows
    width, widths = len(first), {*map(len, others)}
    if widths - {width} and (widths != {width + 1} or width < 2):  # R leaves out one name
        return False
    if sum(bool(field.strip()) for field in first) < min(width, 2):
        return False
    if not strictly:
        return True
    words = width > 1 and all(_is_text(field) for field in first if field.strip())
    return words and any(strict_float(field) is not None for row in others for field in row)


def _fields(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Return the fields of some lines that are not blank; none where they are not to be told."""
    try:
        rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " ")
        return [row for row in rows if row]
    except csv.Error:
        return []


def _delimiter(line: str, candidates: str) -> str:
    """Return the candidate that occurs most outside quotes; blank as the last resort.

    Numbers with decimal commas between semicolons have one comma more.
    """
    bare = re.sub(r'"[^"]*"', '""', line.rstrip("\r\n"))
    for mark in (";", "\t"):
        with_comma = [cell for cell in bare.split(mark) if "," in cell]
        if (
            mark in candidates
            and mark in bare
            and with_comma
            and all(map(_COMMA_NUMBER.fullmatch, with_comma))
        ):
            return mark
    count, best = max((bare.count(c), -i) for i, c in enumerate(candidates))
    if not count and len(candidates) > 1 and " " in bare.strip():
        return " "
    return str(candidates[-best])


# The rows of a text, and the careful reader of them.


def read_delimited(source: Source, stream: Stream, request: TableRequest) -> Dataset:
    """Read CSV, TSV or another delimited text."""
    start = start_of(source)
    try:
        columns, body = _parse(source, stream, start, request)
    except UnicodeDecodeError:
        raise not_utf8(source, of_data=True) from None
    kept = read_kept(source, request, columns, body.stored, body.X.shape[0])
    samples = body.samples if columns.samples is not None else None
    table = as_table(
        source, columns, body.X, body.cells, request, {**kept, "sample_names": samples}
    )
    return replace(table, notes=(*start.note(columns.names is not None), *body.notes, *table.notes))


def text_rows(source: Source, text: Iterable[str], start: Start) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table that are not blank, each with the number of its last line."""

    def watched() -> Iterator[str]:
        lines = itertools.islice(text, len(start.before), None)
        for line in itertools.chain(map(_bare, itertools.islice(lines, 1)), lines):
            if "\x00" in line:
                raise nul_byte(source)
            if start.is_series and _SERIES.match(line):
                return
            yield " ".join(line.split()) + "\n" if blank and '"' not in line else line

    blank = start.delimiter == " "
    reader = csv.reader(watched(), delimiter=start.delimiter, skipinitialspace=blank, strict=True)
    last = len(start.before)
    try:
        for row in reader:
            last = len(start.before) + reader.line_num
            if row:
                yield last, row
    except csv.Error as error:
        raise FileError(
            f"{source}: line {last + 1}: not a table in CSV form ({error}). "
            "Close the quotes that begin there, or shorten the field."
        ) from None


def _parse(
    source: Source, stream: Stream, start: Start, request: TableRequest
) -> tuple[TableColumns, Body]:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        rows = text_rows(source, text, start)
        pending = list(itertools.islice(rows, 2))
        if not pending:
            raise FileError(f"{source}: no samples in it (only blank lines).")
        columns = _arrange(source, [row for _, row in pending], request)
        n_header = len(start.before)
        if columns.names is not None:
            n_header, _ = pending.pop(0)
            if not pending:
                raise FileError(f"{source}: a header line and no samples under it. Write some.")
        fast = None
        if start.delimiter != " " and request.decimal != "," and not start.is_series:
            fast = read_body(source, start.delimiter, columns, n_header, pending[0][1], request)
        if fast is not None:
            return columns, fast
        rows = itertools.chain(pending, rows)
        return columns, _careful(source, start.delimiter, columns, rows, request)
    finally:
        text.detach()  # whoever opened the stream closes it


def _careful(
    source: Source,
    delimiter: str,
    columns: TableColumns,
    rows: Iterable[tuple[int, list[str]]],
    request: TableRequest,
) -> Body:
    """Return the body of any text, or say what is wrong with it."""
    import polars as pl  # on use: its import takes as long as reading most files

    where, pick, absent = request.where, picker(columns.compared), request.absent
    wanted = [*dict.fromkeys([*columns.features, *columns.kept])]
    wanted += [] if columns.samples is None or columns.samples in wanted else [columns.samples]
    take, lines = picker(wanted), array("q")
    parts = list[pl.DataFrame]()
    some = list[Sequence[str]]()

    def store() -> None:
        series = zip(*some, strict=True) if some else [()] * len(wanted)
        found = zip(wanted, series, strict=True)
        named = {str(j): pl.Series(cells, dtype=pl.String) for j, cells in found}
        parts.append(pl.DataFrame(named))
        some.clear()

    for number, row in rows:
        if len(row) != columns.n_columns:
            raise FileError(
                f"{source}: line {number} has {len(row)} fields; the lines before have "
                f"{columns.n_columns}."
            )
        if where is None or request.keeps(pick(row), f"{source}: line {number}"):
            some.append(take(row))
            lines.append(number)
            if len(some) * len(wanted) >= _CELLS:
                store()
    if some or not parts:
        store()
    frame = pl.concat(parts)
    samples = [] if columns.samples is None else frame[str(columns.samples)].to_list()
    by_model = text_features(columns, request.like)
    X = np.full((len(lines), len(columns.features)), np.nan, order="F")
    words = {j: Texts.of(frame[str(j)].to_list()) for j in columns.kept}
    by_columns = request.decimal == "," or delimiter in _OF_COMMAS or bool(absent)
    for order, j in enumerate(columns.features):
        values = frame[str(j)].str.strip_chars().cast(pl.Float64, strict=False)
        full = not values.null_count() and values.is_finite().all()
        full = full and not frame[str(j)].str.contains(_CODE).any()
        if full and not by_columns and order not in by_model:
            X[:, order] = values.to_numpy()
        else:
            words[j] = Texts.of(frame[str(j)].to_list())
    places = [f"line {number}" for number in lines]
    body = Body(X, {}, samples, places)
    return body_of(source, delimiter, columns, request, body, words)


def picker(positions: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return the function that picks the cells at these positions."""
    if len(positions) == 1:
        (only,) = positions
        return lambda row: (row[only],)
    return operator.itemgetter(*positions) if positions else lambda row: ()


_MANY = 10  # numbers of a line that rise all along by chance once in a million lines
_CODE = r"^\s*0[0-9]+\s*$"
_CELLS = 1 << 18  # that are kept as objects of Python at a time


def _arrange(
    source: Source,
    rows: Sequence[list[str]],
    request: TableRequest,
) -> TableColumns:
    """Decide from the first two rows what each column is."""
    first = rows[0]
    n_columns = len(first)
    names: list[str] | None = None
    samples: int | None = None
    if _is_header(source, first, rows[1] if len(rows) > 1 else []):
        names = [name.strip() for name in first]
        if len(rows) > 1 and len(rows[1]) == len(first) + 1:  # as R writes row names
            names.insert(0, "")
        n_columns = len(names)
        if not names[0] and n_columns > 1:
            samples = 0
    columns = assign(source, names, n_columns, samples, request)
    if request.lacks_labels(columns):
        sample = rows[min(names is not None, len(rows) - 1)]
        text = [j for j in columns.features if j < len(sample) and _is_text(sample[j])]
        raise labels_needed(source, columns, text)
    return columns


def _is_text(field: str) -> bool:
    return not is_missing(field) and _number(field) is None


def _number(field: str) -> float | None:
    """Return the number in a field, with a decimal point or comma."""
    field = field.strip()
    return strict_float(field.replace(",", ".") if has_comma(field) else field)


def _is_header(source: Source, fields: list[str], following: list[str]) -> bool:
    """Whether the first line holds names; an error where it could be either.

    following : the second line.
    """
    filled = [field for field in fields if field.strip()]
    numbers = [value for field in filled if (value := _number(field)) is not None]
    words = len(filled) - len(numbers)
    consecutive = bool(numbers) and numbers == [numbers[0] + j for j in range(len(numbers))]
    if not words:
        # Data, unless a data frame without names wrote 0, 1, 2, ... there, or they are wavelengths.
        return _names_numbers(fields, following, numbers) or bool(
            consecutive
            and numbers[0] == 0
            and (not fields[0].strip() or len(numbers) >= 5)
            and len(fields) - len(filled) <= 1
        )
    missing = all(is_missing(field) for field in filled if _number(field) is None)
    if missing and numbers:
        return False  # a sample with missing values: the body reports it
    if numbers and not (consecutive and len(numbers) > 1):
        if _names_numbers(fields, following, numbers):
            return True
        raise FileError(
            f"{source}: the first line mixes names and numbers (such as "
            f"{quote(next(one for one in filled if _number(one) is not None))}), so it may be "
            "a header or a sample; add a header line, or give such columns other names."
        )
    return True


def _names_numbers(fields: list[str], following: list[str], numbers: Sequence[float]) -> bool:
    """Whether a line of words and numbers, such as wavelengths, is one of names.

    It is where many numbers rise or fall all along, which is no chance, and a word stands over a
    number of the next line, or the numbers of that one do not rise or fall so.
    """
    if len(numbers) < _MANY or not _is_monotone(numbers):
        return False
    over = zip(fields, following, strict=False)
    if any(_is_text(name) and _number(below) is not None for name, below in over):
        return True
    return not _is_monotone([n for field in following if (n := _number(field)) is not None])


def _is_monotone(values: Sequence[float]) -> bool:
    steps = np.sign(np.diff(values))
    return bool(steps.size and steps[0] and (steps == steps[0]).all())

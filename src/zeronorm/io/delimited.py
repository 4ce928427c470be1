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
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ..core.files import FileError, quote
from ..core.parallel import current_threads
from ..core.types import FloatArray
from .arrays import as_labels, as_whole, labels_from_text, read_kept
from .encoding import DROP, MEND, Cells, ColumnProblem, as_table, needs_coding, text_features
from .source import DELIMITERS, Source, Stream, not_utf8, nul_byte, on_disk
from .table import (
    MISSING,
    Table,
    TableColumns,
    TableRequest,
    Where,
    assign,
    first_nonfinite,
    is_na,
    labels_needed,
)
from .texts import NOTE, Texts, decimal_commas, is_code, strict_float, with_points

# Text in parts of whole lines, as kernels take it; a part is read while another is parsed.

Text: TypeAlias = NDArray[np.uint8]

PART = 1 << 22  # bytes: enough for threads to pay, few enough to stay in the caches
_PIECE = 1 << 16  # bytes that are worth a thread
_MARK = b"\xef\xbb\xbf"  # of the order of bytes


def parts_of(source: Source, stream: Stream, size: int = PART) -> Iterator[Text]:
    """Yield the text of an opened source in parts that end with a line end.

    A byte order mark is left out. A part has `size` bytes or a little less, more only where a line
    has; it is overwritten after the next one was taken. A file that changes its length meanwhile is
    a FileError.
    """
    text, following = np.empty(max(size, 2), np.uint8), np.empty(max(size, 2), np.uint8)
    with ThreadPoolExecutor(1) as reader:
        text, n_bytes, is_last = _fill(stream, text, text[:0])
        start = len(_MARK) if text[: len(_MARK)].tobytes() == _MARK else 0
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
    """What stands under the header."""

    X: FloatArray
    stored: dict[int, NDArray[np.generic]]  # of the target and of what else is read as it stands
    samples: list[str]  # empty without names of samples
    places: Sequence[str]  # of every row, as "line 3"
    is_fast: bool = True  # whether a kernel read it
    # What is no number among the features, where there is such.
    cells: Cells | None = None
    commas: Sequence[int] = ()  # columns of text that were numbers with decimal commas


def read_body(
    source: Source, delimiter: str, columns: TableColumns, n_lines: int, row: Sequence[str],
    texts: Collection[int], request: TableRequest,
) -> Body | None:  # fmt: skip
    """Return the body of a text; None where it has anything odd.

    n_lines : of the header. row : the fields of the first row. texts : the features, by place, that
    hold text. Where the request has a folder to spill to and all features are numbers, X is mapped
    from a file there that has no name, by row, instead of in memory; memory then holds a part of
    the text and what is no feature.
    """
    words = {j for j in columns.kept if j >= len(row) or strict_float(row[j]) is None}
    words |= {columns.features[order] for order in texts}
    for _ in range(_TRIES):
        try:
            return _Reader(source, delimiter, columns, words).read(n_lines, request)
        except _Odd as odd:
            if not odd.columns or not words.isdisjoint(odd.columns):
                return None
            words.update(odd.columns)  # labels of which only the first are numbers, empty cells
        except UnicodeDecodeError:
            return None
    return None


def cell_text(text: str) -> str:
    """Return what a cell of text holds, "" where it is missing."""
    text = text.strip()
    return "" if text.lower() in MISSING else text


def points_in(texts: dict[int, Texts], left: Collection[int]) -> list[int]:
    """Put points for the commas of columns of numbers, some columns left as they are.

    Returns
    -------
    list of int
        The columns in which it was done.
    """
    found = {j: with_points(text) for j, text in texts.items() if j not in left}
    changed = {j: text for j, text in found.items() if text is not None}
    texts.update(changed)
    return [*changed]


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
        self, source: Source, delimiter: str, columns: TableColumns, words: Collection[int]
    ) -> None:
        self.source, self.delimiter, self.columns = source, delimiter, columns
        features = columns.features
        self.orders = [order for order, j in enumerate(features) if j not in words]
        kept = [j for j in columns.kept if j not in words]
        self.numeric = [*(features[order] for order in self.orders), *kept]
        self.texts = sorted(words)
        if columns.samples is not None:
            self.texts.append(columns.samples)
        self.places = np.full(columns.n_columns, -1)
        self.places[self.numeric] = np.arange(len(self.numeric))
        self.places[self.texts] = -2 - np.arange(len(self.texts))
        self.words = [_Words() for _ in self.texts]

    def read(self, n_lines: int, request: TableRequest) -> Body:
        """Return the body of a text, or raise _Odd."""
        columns, n_features = self.columns, len(self.columns.features)
        with self.source.open() as stream:
            blocks = (
                block
                for text in _without_header(parts_of(self.source, stream, PART), n_lines)
                for block in self._rows(text)
            )
            if request.spill is None or len(self.orders) < n_features:
                X, kept = _gathered(blocks, self.orders, n_features)
            else:
                X, kept = _spilled(blocks, n_features, request.spill)
        stored: dict[int, NDArray[np.generic]] = {
            j: as_whole(values)
            for j, values in zip(self.numeric[len(self.orders) :], kept, strict=True)
        }
        words = {j: some.texts() for j, some in zip(self.texts, self.words, strict=True)}
        samples = [] if columns.samples is None else words.pop(columns.samples).tolist()
        words = {j: text.mapped(cell_text) for j, text in words.items()}
        by_model = text_features(columns, request.like)
        commas = points_in(words, {columns.features[order] for order in by_model})
        for j in columns.kept:
            if j in words:
                stored[j] = _labels(words[j])
        texts: dict[int, Texts] = {}
        for order, j in enumerate(columns.features):
            if j in words:
                values = None if order in by_model else words[j].numbers()
                if values is None:
                    texts[order] = words[j]
                else:
                    X[:, order] = values
        cells, places = None, _Lines(self.source, n_lines, len(X))
        gaps = len(self.orders) < n_features and first_nonfinite(X) is not None
        if texts or gaps or needs_coding(request.like):
            cells = Cells(X, texts, places)
        return Body(X, stored, samples, places, cells=cells, commas=commas)

    def _rows(self, text: Text) -> Iterator[FloatArray]:
        """Yield the numbers of the rows of a part, (columns, rows); keep what is text."""
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
            yield numbers[:, part]

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
        fields = [content[first:last].decode("utf-8") for first, last in spans[places].tolist()]
        known = [code.setdefault(text, len(code)) for text in fields]
        self.codes.append(np.array(known, np.int64)[codes])

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


def _labels(texts: Texts) -> NDArray[Any]:
    """Return labels that stand in a column of text; _Odd where any is missing."""
    if "" in texts.levels:
        raise _Odd
    return labels_from_text(texts.levels)[texts.codes]


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


# Rows of cells that have types, as JSON has them, as tables, block by block.
#
# A number is a number and text is text: nothing is taken for the other, and a column with both is
# refused with its row.

# The number of a row, and a cell for each column; None: missing.
Row: TypeAlias = "tuple[int, Sequence[Any]]"


def tables_of_cells(
    source: Source,
    names: list[str],
    rows: Iterator[Row],
    request: TableRequest,
    size: int | None = None,
    word: str = "line",
    gaps: str | None = None,
) -> Iterator[Table]:
    """Yield the rows as tables of about `size` cells each; None: as one table.

    rows : at least one. word : what their numbers count. gaps : what is said of empty cells.
    """
    first = next(rows)
    samples = 0 if not names[0] and len(names) > 1 else None
    columns = assign(source, names, len(names), samples, request)
    if request.lacks_labels(columns):
        text = [j for j in columns.features if isinstance(first[1][j], str)]
        raise labels_needed(source, columns, text)
    remaining: Iterator[Row] = itertools.chain([first], rows)
    remaining = _without(remaining, request.absent, columns, None)
    if request.where is not None:
        where, pick = request.where, picker(columns.compared)
        remaining = (
            row for row in remaining if where.keeps(pick(row[1]), f"{source}: {word} {row[0]}")
        )
    n_rows = None if size is None else max(1, size // len(names))
    reader = _CellReader(source, columns, request, word, gaps)
    while (table := reader.read(itertools.islice(remaining, n_rows))) is not None:
        yield table


class _CellReader:
    """Reads rows of typed cells."""

    def __init__(
        self,
        source: Source,
        columns: TableColumns,
        request: TableRequest,
        word: str,
        gaps: str | None,
    ) -> None:
        self._source, self._columns, self._request, self._word = source, columns, request, word
        self._gaps = gaps
        self._of_text: dict[int, bool] = {}  # whether a column that is kept is text

    def read(self, rows: Iterator[Row]) -> Table | None:
        """Return rows as a table, None where there are none."""
        source, columns, request = self._source, self._columns, self._request
        first = next(rows, None)
        if first is None:
            return None
        found = _Features(columns, request, first[1])
        numbers, samples = array("q"), list[str]()
        kept = columns.kept
        stored: dict[int, list[Any]] = {position: [] for position in kept}
        for number, cells in itertools.chain([first], rows):
            found.take(cells)
            for position, what in kept.items():
                stored[position].append(self._kept(number, cells[position], position, what))
            if columns.samples is not None:
                name = cells[columns.samples]
                samples.append("" if name is None else str(name))
            numbers.append(number)
        n = len(numbers)
        arrays = {
            j: as_labels(source, np.array(column), n, columns.name(j))
            for j, column in stored.items()
        }
        others = read_kept(source, request, columns, arrays, n)
        others["sample_names"] = samples if columns.samples is not None else None
        features = found.cells([f"{self._word} {number}" for number in numbers], self._gaps)
        plain = not (features.texts or features.problems or needs_coding(request.like))
        plain = plain and first_nonfinite(features.numbers) is None
        X = features.numbers
        return as_table(source, columns, X, None if plain else features, request, others)

    def _place(self, number: int, position: int) -> str:
        return f"{self._source}: {self._word} {number}, {self._columns.name(position)}"

    def _kept(self, number: int, cell: Any, position: int, what: str) -> Any:
        """Return a cell of a column that is read as it stands, numbers alone or text alone."""
        if _is_missing(cell):
            place = f"{self._source}: {self._word} {number}"
            raise self._columns.gap(place, position, _shown(cell))
        of_text = isinstance(cell, str)
        if not isinstance(cell, str | int | float) or (
            self._of_text.setdefault(position, of_text) != of_text
        ):
            raise FileError(
                f"{self._place(number, position)}: {what} must be numbers alone, or text alone; "
                f"got {_shown(cell)}. Write all of its values in one way."
            )
        return cell


class _Features:
    """The cells of features: numbers, and text beside them."""

    def __init__(self, columns: TableColumns, request: TableRequest, first: Sequence[Any]) -> None:
        self._n_features, self._n_rows = len(columns.features), 0
        self._texts: dict[int, list[str]] = {}
        # Columns that a model takes as text, whatever they hold.
        self._given = text_features(columns, request.like)
        for order, position in enumerate(columns.features):
            if order in self._given or not (
                _is_missing(first[position]) or _is_number(first[position])
            ):
                self._texts[order] = []
        self._numeric = [j for j in range(self._n_features) if j not in self._texts]
        self._pick = picker([columns.features[j] for j in self._numeric])
        self._words = [(j, columns.features[j], found) for j, found in self._texts.items()]
        self._values = array("d")
        self._late: dict[int, dict[int, str]] = {}  # text among numbers, by row
        self._problems: dict[int, ColumnProblem] = {}

    def take(self, cells: Sequence[Any]) -> None:
        """Take the cells of one row."""
        for order, position, found in self._words:
            found.append(self._text(order, cells[position]))
        fields, done = self._pick(cells), len(self._values)
        try:
            self._values.extend(fields)
        except (TypeError, OverflowError):
            del self._values[done:]
            pairs = zip(self._numeric, fields, strict=True)
            self._values.extend(self._number(order, cell) for order, cell in pairs)
        self._n_rows += 1

    def _text(self, order: int, cell: Any) -> str:
        if _is_missing(cell):
            return ""
        if not isinstance(cell, str) and not (order in self._given and _is_number(cell)):
            self._refuse(order, f"is {_shown(cell)} where other rows have text")
        return str(cell).strip()

    def _number(self, order: int, cell: Any) -> float:
        """Return a number; NaN for text and what is missing."""
        if _is_number(cell):
            return float(cell)
        if isinstance(cell, str) and not _is_missing(cell):
            self._late.setdefault(order, {})[self._n_rows] = cell.strip()
        elif cell is not None and not isinstance(cell, str):
            self._refuse(order, f"features are numbers or text; got {_shown(cell)}")
        return math.nan

    def _refuse(self, order: int, what: str) -> None:
        self._problems.setdefault(order, ColumnProblem(what, (MEND, DROP), self._n_rows))

    def cells(self, places: Sequence[str], gaps: str | None) -> Cells:
        """Return what was taken; see `Cells`."""
        n = self._n_rows
        X = np.frombuffer(self._values, np.float64).reshape(n, len(self._numeric))
        numbers = X
        if self._texts:
            numbers = np.full((n, self._n_features), np.nan)
            numbers[:, self._numeric] = X
        for order, words in self._late.items():
            if not np.isnan(numbers[:, order]).all():
                row, word = next(iter(words.items()))
                what = f"is the text {quote(word)} where other rows have numbers"
                self._problems.setdefault(order, ColumnProblem(what, (MEND, DROP), row))
            else:
                self._texts[order] = [words.get(row, "") for row in range(n)]
        texts = {order: Texts.of(words) for order, words in self._texts.items()}
        return Cells(numbers, texts, places, self._problems, gaps)


def _without(
    rows: Iterable[tuple[int, Any]], absent: Sequence[str], columns: TableColumns, empty: Any
) -> Iterator[tuple[int, Any]]:
    """Yield rows with cells empty that stand for a missing value, but for names of samples."""
    for number, row in rows:
        cells = enumerate(row if absent else ())
        lost = {j for j, cell in cells if is_na(absent, cell) and j != columns.samples}
        yield number, [empty if j in lost else cell for j, cell in enumerate(row)] if lost else row


def picker(positions: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return the function that picks the cells at these positions."""
    if not positions:
        return lambda row: ()
    if len(positions) > 1:
        return operator.itemgetter(*positions)
    (only,) = positions
    return lambda row: (row[only],)


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING)


def _is_number(cell: Any) -> bool:
    try:
        array("d").append(cell)
    except (TypeError, OverflowError):
        return False
    return True


def _shown(cell: Any) -> str:
    return "nothing" if cell is None else quote(str(cell))


# Below this many bytes the careful reader takes no time that anybody notices.
_FAST_SIZE = 1 << 16
_POINT_OF_THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}\.[0-9]{3}")
_HEAD = 100  # rows that most columns are judged by
_MANY = 10  # numbers of a line that rise all along by chance once in a million lines


def read_delimited(
    source: Source,
    stream: Stream,
    request: TableRequest,
) -> Table:
    """Read CSV, TSV or another delimited text."""
    # The bytes there are may end inside a character; only their first line is used.
    head = stream.peek(1 << 16).removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    lines = head.splitlines()
    first_line = lines[0].decode("utf-8", "replace") if lines else ""
    delimiter = _delimiter(first_line, DELIMITERS.get(source.suffix, ",;\t|"))
    if source.commas is None:
        delimiter, source.commas = decimal_commas(str(source), head, delimiter)
        if source.commas is not None:
            with source.open() as points:
                table = read_delimited(source, points, request)
            return replace(table, notes=(NOTE, *table.notes))
    try:
        columns, body = _parse(source, stream, delimiter, request)
    except UnicodeDecodeError:
        raise not_utf8(source, of_data=True) from None
    if body.commas:
        _refuse_points(source, columns, body)
    if delimiter in ";\t" and source.commas is None:
        _refuse_thousands(source, columns, body, delimiter)
    kept = read_kept(source, request, columns, body.stored, body.X.shape[0])
    samples = body.samples if columns.samples is not None else None
    table = as_table(
        source, columns, body.X, body.cells, request, {**kept, "sample_names": samples}
    )
    if not body.commas:
        return table
    more = f" and {len(body.commas) - 5:,} more" if len(body.commas) > 5 else ""
    named = ", ".join(columns.name(j) for j in body.commas[:5])
    return replace(table, notes=(f"{NOTE} ({named}{more})", *table.notes))


def _refuse_points(source: Source, columns: TableColumns, body: Body) -> None:
    """Refuse numbers with a point beside columns with decimal commas: 1.234 may be a thousand."""
    numbers: dict[int, NDArray[Any]] = {
        j: values for j, values in body.stored.items() if values.dtype.kind == "f"
    }
    numbers |= {j: body.X[:, order] for order, j in enumerate(columns.features)}
    for j, values in sorted(numbers.items()):
        rows = np.flatnonzero(np.isfinite(values) & (values % 1 != 0))
        if j not in body.commas and rows.size:
            raise FileError(
                f"{source}: {body.places[rows[0]]}, {columns.name(j)}: {values[rows[0]]} has a "
                f"decimal point, where numbers of {columns.name(body.commas[0])} have a comma. "
                "Write all of them in one way."
            )


def _like_thousands(values: FloatArray) -> NDArray[np.bool_]:
    """Return where a number is whole, missing or one as 1.234."""
    sizes = np.abs(values)
    parts = np.abs(sizes * 1000 - np.rint(sizes * 1000)) < 1e-6
    found: NDArray[np.bool_] = ~(values % 1 > 0) | (parts & (sizes >= 1) & (sizes < 1000))
    return found


def _refuse_thousands(source: Source, columns: TableColumns, body: Body, delimiter: str) -> None:
    """Refuse columns of whole numbers and of such as 1.234, which may be thousands.

    Where other columns have semicolons or tabs between them, decimals may have a comma.
    """
    X = body.X
    # Most columns of a wide table are seen by their first rows to be none.
    may_be = _like_thousands(X[:_HEAD]).all(axis=0)
    left = {
        columns.features[order]
        for order in np.flatnonzero(may_be).tolist()
        if _like_thousands(X[:, order]).all() and (X[:, order] % 1 > 0).any()
    }
    if not left:
        return
    first: dict[int, tuple[int, str]] = {}
    with_whole = set[int]()
    with source.open() as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        rows = itertools.islice(
            _Rows(source, text, delimiter), int(columns.names is not None), None
        )
        for line, row in rows:
            for j in [*left]:
                cell = row[j].strip()
                if "." in cell:
                    first.setdefault(j, (line, cell))
                    if not _POINT_OF_THOUSANDS.fullmatch(cell):
                        left.discard(j)
                elif strict_float(cell) is not None:
                    with_whole.add(j)
            if not left:
                break
        text.detach()
    for j in sorted(left & with_whole & first.keys()):
        line, cell = first[j]
        raise FileError(
            f"{source}: line {line}, {columns.name(j)}: {quote(cell)} may be "
            f"{cell.replace('.', '')} or {float(cell):g}: all numbers of the column with a point "
            "have three digits behind it, and the others are whole. Write thousands without a "
            "point, or all numbers of the column with three decimals."
        )


def _delimiter(line: str, candidates: str) -> str:
    """Return the candidate that occurs most outside quotes; blank as the last resort."""
    bare = re.sub(r'"[^"]*"', '""', line)
    count, best = max((bare.count(c), -i) for i, c in enumerate(candidates))
    if not count and len(candidates) > 1 and " " in bare.strip():
        return " "
    return candidates[-best]


def _parse(
    source: Source,
    stream: Stream,
    delimiter: str,
    request: TableRequest,
) -> tuple[TableColumns, Body]:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        return _parse_text(source, text, delimiter, request)
    finally:
        text.detach()  # whoever opened the stream closes it


class _Rows:
    """The rows of a text that are not blank, each with the number of its line."""

    def __init__(self, source: Source, text: Iterable[str], delimiter: str) -> None:
        self._source = source
        # Whether there may be an underscore or a code: Python's float takes 1_000 and 007.
        self.odd = False
        self._code = re.compile(rf'(?:^|[{re.escape(delimiter)}"])\s*0[0-9]')
        self._reader = csv.reader(
            self._watched(text), delimiter=delimiter, skipinitialspace=delimiter == " ", strict=True
        )

    def _watched(self, text: Iterable[str]) -> Iterator[str]:
        for line in text:
            if "\x00" in line:
                raise nul_byte(self._source)
            # A fast search by line tells where to look closer.
            self.odd = self.odd or "_" in line or self._code.search(line) is not None
            yield line

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        last = 0
        try:
            for row in self._reader:
                last = self._reader.line_num
                if row:
                    yield last, row
        except csv.Error as error:
            raise FileError(
                f"{self._source}: line {last + 1}: not a table in CSV form ({error}). "
                "Close the quotes that begin there, or shorten the field."
            ) from None


def _parse_text(
    source: Source, text: io.TextIOWrapper, delimiter: str, request: TableRequest
) -> tuple[TableColumns, Body]:
    rows = _Rows(source, text, delimiter)
    pending = list(itertools.islice(rows, 2))
    if not pending:
        raise FileError(f"{source}: no samples in it (only blank lines).")
    columns = _arrange(source, [row for _, row in pending], request)
    n_header = 0
    if columns.names is not None:
        n_header, _ = pending.pop(0)
        if not pending:
            raise FileError(f"{source}: a header line and no samples under it. Write some.")
    held = _without(itertools.chain(pending, rows), request.absent, columns, "")
    held = _held(source, columns, request.where, held)
    first = next(held, None)
    texts: set[int] = set() if first is None else _texts_of(columns, first[1], request)
    large = source.size >= _FAST_SIZE and delimiter != " " and not request.absent
    if large and request.where is None:  # rows that it leaves out may have anything in them
        fast = read_body(source, delimiter, columns, n_header, pending[0][1], texts, request)
        if fast is not None:
            return columns, fast
    careful = _Careful(source, columns, texts)
    if first is not None:
        rows.odd = any(_is_odd(field) for _, row in [*pending, first] for field in row)
        careful.read(itertools.chain([first], held), rows)
    if careful.late:  # text below numbers: whether they are numbers with a slip is seen by all
        known = {*careful.lines}
        careful = _Careful(source, columns, {*texts, *careful.late})
        with source.open() as stream:
            again = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            rows = _Rows(source, again, delimiter)
            held = ((number, row) for number, row in rows if number in known)
            careful.read(_without(held, request.absent, columns, ""), rows)
            again.detach()
    return columns, careful.body(request)


def _held(
    source: Source,
    columns: TableColumns,
    where: Where | None,
    rows: Iterable[tuple[int, list[str]]],
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are kept; refuse one of another length."""
    pick = picker(columns.compared)
    for number, row in rows:
        if len(row) != columns.n_columns:
            raise FileError(
                f"{source}: line {number} has {len(row)} fields; the lines before have "
                f"{columns.n_columns}."
            )
        if where is None or where.keeps(pick(row), f"{source}: line {number}"):
            yield number, row


def _texts_of(columns: TableColumns, row: Sequence[str], request: TableRequest) -> set[int]:
    """Return the features, by place, that hold text: in the first row, or for a model."""
    cells = [(order, row[j]) for order, j in enumerate(columns.features)]
    text = {order for order, cell in cells if _is_text(cell) or is_code(cell.strip())}
    return text | text_features(columns, request.like)


class _Careful:
    """What a reader by rows has found; features that are text are kept as they stand."""

    def __init__(self, source: Source, columns: TableColumns, texts: Collection[int]) -> None:
        self.source, self.columns = source, columns
        self.late: set[int] = set()  # features with text that are not among the texts
        self.values, self.lines = array("d"), array("q")
        self.texts: dict[int, list[str]] = {order: [] for order in sorted(texts)}
        self.numeric = [order for order in range(len(columns.features)) if order not in self.texts]
        self.kept: dict[int, list[str]] = {position: [] for position in columns.kept}
        self.samples: list[str] = []

    def read(self, held: Iterable[tuple[int, list[str]]], rows: _Rows) -> None:
        """Read the rows that are kept of some rows."""
        columns, values = self.columns, self.values
        kept = columns.kept
        pick = picker([columns.features[order] for order in self.numeric])
        words = [(columns.features[order], found) for order, found in self.texts.items()]
        for number, row in held:
            for position in kept:
                label = row[position].strip()
                if label.lower() in MISSING:
                    raise columns.gap(f"{self.source}: line {number}", position, quote(label))
                self.kept[position].append(label)
            if columns.samples is not None:
                self.samples.append(row[columns.samples])
            for position, found in words:
                found.append(row[position])
            fields = pick(row)
            careful = rows.odd and any(map(_is_odd, fields))
            if careful or not self._extend(fields):
                values.extend(self._numbers(fields))
            self.lines.append(number)

    def _extend(self, fields: Sequence[str]) -> bool:
        """Take some fields that are numbers or empty; return whether they are."""
        done = len(self.values)
        for some in (fields, (field or "nan" for field in fields)):
            try:
                self.values.extend(map(float, some))
            except ValueError:
                del self.values[done:]
            else:
                return True
        return False

    def _numbers(self, fields: Sequence[str]) -> list[float]:
        """Return the numbers in some fields, NaN for those that are missing or text."""
        values = []
        for order, field in zip(self.numeric, fields, strict=True):
            value = strict_float(field)
            if (value is None and field.strip().lower() not in MISSING) or is_code(field.strip()):
                self.late.add(order)
            values.append(math.nan if value is None else value)
        return values

    def body(self, request: TableRequest) -> Body:
        """Return what was read."""
        n, features = len(self.lines), self.columns.features
        X = np.frombuffer(self.values, np.float64).reshape(n, len(self.numeric))
        words = {features[order]: Texts.of(found) for order, found in self.texts.items()}
        words |= {position: Texts.of(found) for position, found in self.kept.items()}
        words = {j: text.mapped(cell_text) for j, text in words.items()}
        by_model = text_features(self.columns, request.like)
        commas = points_in(words, {features[order] for order in by_model})
        stored = {
            position: labels_from_text(words[position].levels)[words[position].codes]
            for position in self.kept
        }
        texts = {order: words[features[order]] for order in self.texts}
        if texts:
            numbers = np.full((n, len(features)), np.nan, order="F")
            numbers[:, self.numeric] = X
            for order in self.texts.keys() - by_model:
                values = texts[order].numbers()
                if values is not None:
                    numbers[:, order] = values
                    del texts[order]
            X = numbers
        cells, places = None, [f"line {number}" for number in self.lines]
        if texts or needs_coding(request.like) or first_nonfinite(X) is not None:
            cells = Cells(X, texts, places)
        return Body(X, stored, self.samples, places, False, cells, commas)


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


def _is_odd(field: str) -> bool:
    """Return whether a field may be a number to Python and none to others."""
    return "_" in field or is_code(field.strip())


def _is_text(field: str) -> bool:
    return field.strip().lower() not in MISSING and strict_float(field) is None


def _is_header(source: Source, fields: list[str], following: list[str]) -> bool:
    """Whether the first line holds names; an error where it could be either.

    following : the second line.
    """
    filled = [field for field in fields if field.strip()]
    numbers = [value for field in filled if (value := strict_float(field)) is not None]
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
    missing = all(
        field.strip().lower() in MISSING for field in filled if strict_float(field) is None
    )
    if missing and numbers:
        return False  # a sample with missing values: the body reports it
    if numbers and not (consecutive and len(numbers) > 1):
        if _names_numbers(fields, following, numbers):
            return True
        raise FileError(
            f"{source}: the first line mixes names and numbers (such as "
            f"{quote(next(one for one in filled if strict_float(one) is not None))}), so it may be "
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
    if any(_is_text(name) and strict_float(below) is not None for name, below in over):
        return True
    return not _is_monotone([n for field in following if (n := strict_float(field)) is not None])


def _is_monotone(values: Sequence[float]) -> bool:
    steps = np.sign(np.diff(values))
    return bool(steps.size and steps[0] and (steps == steps[0]).all())

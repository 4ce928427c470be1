"""Delimited text by a kernel on all threads.

It reads what has no surprises: fields that are numbers, or text, quoted as a whole or not at all.
Whatever departs from that is left to the careful reader, which reads it or says what is wrong; what
is read here has the same values there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ..core.types import FloatArray
from .coded import Cells, needs_coding, text_features
from .decimal_commas import with_points
from .labels import as_whole, labels_from_text
from .lines import PART, Text, cut, parts_of
from .source import Source
from .spill import on_disk
from .table import MISSING, Columns, Request, first_nonfinite, strict_float
from .texts import Texts

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
    source: Source, delimiter: str, columns: Columns, n_lines: int, row: Sequence[str],
    texts: Collection[int], request: Request,
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
        self, source: Source, delimiter: str, columns: Columns, words: Collection[int]
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

    def read(self, n_lines: int, request: Request) -> Body:
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
        for start, n_rows in zip(starts.tolist(), rows.tolist(), strict=True):
            part = slice(start, start + n_rows)
            for words, places in zip(self.words, np.moveaxis(spans[part], 0, 2), strict=True):
                words.take(content, places.copy().T)
            yield numbers[:, part]

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

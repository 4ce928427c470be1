"""Delimited text by a kernel on all threads.

It reads what has no surprises: fields that are numbers, or text, quoted as a whole or not at all.
Whatever departs from that is left to the careful reader, which reads it or says what is wrong; what
is read here has the same values there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from .._typing import FloatArray
from ._coded import Cells
from ._labels import as_whole, labels_from_text
from ._lines import PART, Text, cut, parts_of
from ._source import Source
from ._spill import on_disk
from ._table import MISSING, Columns, strict_float


class _Odd(Exception):  # noqa: N818 - no error: another reader takes over
    """The text has something that this reader does not know, in a column or anywhere (-1)."""

    def __init__(self, column: int = -1) -> None:
        self.column = column


@dataclass(frozen=True, slots=True)
class Body:
    """What stands under the header."""

    X: FloatArray
    stored: dict[int, NDArray[np.generic]]  # of the target and of what else is read as it stands
    samples: list[str]  # empty without names of samples
    is_fast: bool = True  # whether a kernel read it
    # What is no number among the features, where there is such.
    cells: Cells | None = None


def read_body(
    source: Source, delimiter: str, columns: Columns, n_lines: int, row: Sequence[str],
    spill: Path | None = None,
) -> Body | None:  # fmt: skip
    """Return the body of a text; None where it has anything odd.

    n_lines : of the header. row : the fields of the first row. spill : a folder, for X mapped from
    a file there that has no name, by row, instead of in memory; memory then holds a part of the
    text and what is no feature.
    """
    numbers = {j for j in columns.kept if j < len(row) and strict_float(row[j]) is not None}
    while True:
        try:
            return _Reader(delimiter, columns, numbers).read(source, n_lines, spill)
        except _Odd as odd:
            if odd.column not in numbers:
                return None
            numbers.remove(odd.column)  # labels of which only the first ones are numbers
        except UnicodeDecodeError:
            return None


class _Reader:
    """Reads with some of the columns that are kept as numbers, the others as text."""

    def __init__(self, delimiter: str, columns: Columns, numbers: Collection[int]) -> None:
        self.delimiter, self.columns = ord(delimiter), columns
        self.numeric = [*columns.features, *sorted(numbers)]
        self.texts = [j for j in columns.kept if j not in numbers]
        if columns.samples is not None:
            self.texts.append(columns.samples)
        self.places = np.full(columns.n_columns, -1)
        self.places[self.numeric] = np.arange(len(self.numeric))
        self.places[self.texts] = -2 - np.arange(len(self.texts))
        self.words: list[list[str]] = [[] for _ in self.texts]

    def read(self, source: Source, n_lines: int, spill: Path | None) -> Body:
        """Return the body of a text, or raise _Odd."""
        columns, p = self.columns, len(self.columns.features)
        with source.open() as stream:
            blocks = (
                block
                for text in _without_header(parts_of(source, stream, PART), n_lines)
                for block in self._rows(text)
            )
            X, kept = _gathered(blocks, p) if spill is None else _spilled(blocks, p, spill)
        stored: dict[int, NDArray[np.generic]] = {
            j: as_whole(values) for j, values in zip(self.numeric[p:], kept, strict=True)
        }
        words = dict(zip(self.texts, self.words, strict=True))
        samples = [] if columns.samples is None else words.pop(columns.samples)
        for j, texts in words.items():
            labels = [text.strip() for text in texts]
            if not MISSING.isdisjoint(label.lower() for label in set(labels)):
                raise _Odd
            stored[j] = labels_from_text(labels)
        return Body(X, stored, samples)

    def _rows(self, text: Text) -> Iterator[FloatArray]:
        """Yield the numbers of the rows of a part, (columns, rows); keep what is text."""
        cuts, counts, n_threads = cut(text, b"\n")
        lines = counts[:, 0]
        numbers = np.empty((len(self.numeric), lines.sum()))
        spans = np.empty((lines.sum(), len(self.texts), 2), np.int64)
        rows = np.empty(len(counts), np.int64)
        line, column = _kernels.delimited_rows(
            text, cuts, counts, self.delimiter, self.places, numbers, spans, rows, n_threads
        )
        if line >= 0:
            raise _Odd(column)
        if (rows == lines).all():
            starts, rows = np.zeros(1, np.int64), rows.sum(keepdims=True)
        else:
            starts = np.cumsum(lines) - lines
        fields = _Fields(text) if self.texts or text.max() > 127 else None
        for start, n_rows in zip(starts.tolist(), rows.tolist(), strict=True):
            part = slice(start, start + n_rows)
            if fields is not None:
                for words, places in zip(self.words, spans[part].swapaxes(0, 1), strict=True):
                    words += fields.at(places)
            yield numbers[:, part]


def _gathered(blocks: Iterable[FloatArray], p: int) -> tuple[FloatArray, FloatArray]:
    """Return X, by column, and the other numbers, (columns, rows), of blocks of rows."""
    known = list(blocks)
    n = sum(block.shape[1] for block in known)
    X = np.empty((n, p), order="F")
    kept = np.empty((len(known[0]) - p, n))
    start = 0
    for block in known:
        rows = slice(start, start + block.shape[1])
        X.T[:, rows], kept[:, rows] = block[:p], block[p:]
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


class _Fields:
    """The fields of a text as str; UnicodeDecodeError where any of it is not UTF-8."""

    def __init__(self, text: Text) -> None:
        self._string = str(text.data, "utf-8")
        # Where there is nothing but ASCII a place among the bytes is one among the characters.
        self._bytes = text.tobytes() if len(self._string) < text.size else None

    def at(self, places: NDArray[np.int64]) -> list[str]:
        """Return the fields at some places, (n, 2)."""
        pairs = zip(*places.T.tolist(), strict=True)
        if self._bytes is None:
            string = self._string
            return [string[first:last] for first, last in pairs]
        content = self._bytes
        return [content[first:last].decode("utf-8") for first, last in pairs]


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

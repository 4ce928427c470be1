"""Rows of cells that have types, as JSON has them, as tables, block by block.

A number is a number and text is text: nothing is taken for the other, and a column with both is
refused with its row.
"""

from __future__ import annotations

import datetime
import itertools
import math
import operator
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..core.files import FileError, quote
from .coded import Cells, as_table, needs_coding, text_features
from .codings import DROP, MEND, Problem
from .labels import as_labels, read_kept
from .source import Source
from .table import MISSING, Columns, Request, Table, assign, first_nonfinite, labels_needed
from .texts import Texts

# The number of a row, and a cell for each column; None: missing.
Row: TypeAlias = "tuple[int, Sequence[Any]]"


def tables_of_cells(
    source: Source,
    names: list[str],
    rows: Iterator[Row],
    request: Request,
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
    if request.where is not None:
        where, pick = request.where, picker(columns.compared)
        remaining = (
            row for row in remaining if where.keeps(pick(row[1]), f"{source}: {word} {row[0]}")
        )
    n_rows = None if size is None else max(1, size // len(names))
    reader = _Reader(source, columns, request, word, gaps)
    while (table := reader.read(itertools.islice(remaining, n_rows))) is not None:
        yield table


def shown(cell: Any) -> str:
    """Return a cell as text, as CSV would have it: whole numbers without a point, "" for none."""
    if cell is None or cell != cell:  # NaN and NaT
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        cell = cell.date()
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell)


class _Reader:
    """Reads rows of typed cells."""

    def __init__(
        self, source: Source, columns: Columns, request: Request, word: str, gaps: str | None
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

    def __init__(self, columns: Columns, request: Request, first: Sequence[Any]) -> None:
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
        self._problems: dict[int, Problem] = {}

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
        self._problems.setdefault(order, Problem(what, (MEND, DROP), self._n_rows))

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
                self._problems.setdefault(order, Problem(what, (MEND, DROP), row))
            else:
                self._texts[order] = [words.get(row, "") for row in range(n)]
        texts = {order: Texts.of(words) for order, words in self._texts.items()}
        return Cells(numbers, texts, places, self._problems, gaps)


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

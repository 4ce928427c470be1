"""Rows of cells that have types, as JSON has them, as tables, block by block.

A number is a number and text is text: nothing is taken for the other, and a cell that is missing is
refused with its row and column.
"""

from __future__ import annotations

import itertools
import operator
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ._errors import FileError, SampleNamesError, quote
from ._labels import as_labels, read_kept
from ._source import Source
from ._table import MISSING, Columns, Request, Table, assign, first_nonfinite, labels_needed

# The number of a row, and a cell for each column; None: missing.
Row: TypeAlias = "tuple[int, Sequence[Any]]"


def tables_of_cells(
    source: Source,
    names: list[str],
    rows: Iterator[Row],
    request: Request,
    size: int | None = None,
    word: str = "line",
) -> Iterator[Table]:
    """Yield the rows as tables of about `size` cells each; None: as one table.

    rows : at least one. word : what their numbers count.
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
    reader = _Reader(source, columns, request, word)
    while (table := reader.read(itertools.islice(remaining, n_rows))) is not None:
        yield table


class _Reader:
    """Reads rows of typed cells."""

    def __init__(self, source: Source, columns: Columns, request: Request, word: str) -> None:
        self._source, self._columns, self._request, self._word = source, columns, request, word
        self._of_text: dict[int, bool] = {}  # whether a column that is kept is text

    def read(self, rows: Iterator[Row]) -> Table | None:
        """Return rows as a table, None where there are none."""
        source, columns, request = self._source, self._columns, self._request
        values, numbers, samples = array("d"), array("q"), list[str]()
        pick, kept = picker(columns.features), columns.kept
        stored: dict[int, list[Any]] = {position: [] for position in kept}
        for number, cells in rows:
            fields = pick(cells)
            try:
                values.extend(fields)
            except (TypeError, OverflowError):
                following = (pick(cells)[0] for _, cells in itertools.islice(rows, 1000))
                self._report(number, fields, [fields[0], *following])
            for position, what in kept.items():
                stored[position].append(self._kept(number, cells[position], position, what))
            if columns.samples is not None:
                name = cells[columns.samples]
                samples.append("" if name is None else str(name))
            numbers.append(number)
        n = len(numbers)
        if not n:
            return None
        X = np.frombuffer(values, np.float64).reshape(n, len(columns.features))
        bad = first_nonfinite(X)
        if bad is not None:
            i, order = divmod(bad, X.shape[1])
            raise FileError(
                f"{self._place(numbers[i], columns.features[order])}: a value is not finite "
                f"({X[i, order]}); fill it in or drop the row or column."
            )
        arrays = {
            j: as_labels(source, np.array(column), n, columns.name(j))
            for j, column in stored.items()
        }
        names, notes = columns.feature_names(request.like)
        others = read_kept(source, request, columns, arrays, n)
        named = samples if columns.samples is not None else None
        return Table(X, feature_names=names, sample_names=named, notes=notes, **others)

    def _place(self, number: int, position: int) -> str:
        return f"{self._source}: {self._word} {number}, {self._columns.name(position)}"

    def _kept(self, number: int, cell: Any, position: int, what: str) -> Any:
        """Return a cell of a column that is read as it stands, numbers alone or text alone."""
        if _is_missing(cell):
            raise FileError(
                f"{self._place(number, position)}: {what} is missing ({_shown(cell)}); drop the "
                "row."
            )
        of_text = isinstance(cell, str)
        if not isinstance(cell, str | int | float) or (
            self._of_text.setdefault(position, of_text) != of_text
        ):
            raise FileError(
                f"{self._place(number, position)}: {what} must be numbers alone, or text alone; "
                f"got {_shown(cell)}. Write all of its values in one way."
            )
        return cell

    def _report(self, number: int, fields: Sequence[Any], first: Sequence[Any]) -> NoReturn:
        """Raise the error of the first cell of a row that is no number.

        first : cells of the first feature.
        """
        columns = self._columns
        order = next(j for j, cell in enumerate(fields) if not _is_number(cell))
        position, cell = columns.features[order], fields[order]
        place = self._place(number, position)
        if _is_missing(cell):
            raise FileError(
                f"{place}: a value is missing ({_shown(cell)}); fill it in or drop the row or "
                "column."
            )
        message = (
            f"{place}: features must be numbers; got {_shown(cell)}. Drop the column (--drop), "
            "make it the target, or encode it (one column of 0 and 1 per value)"
        )
        if order == 0 and columns.samples is None and 1 < len(first) == len({*map(str, first)}):
            raise SampleNamesError(message, columns.argument(position))
        raise FileError(f"{message}.")


def picker(positions: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return the function that picks the cells at these positions."""
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

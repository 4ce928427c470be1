"""Reads delimited text: CSV, TSV and their kin.

A careful reader built on `csv` says for every bad field where it is. Large files go through a fast
one first; whatever has anything odd is left to the careful one.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, quote
from .cells import picker
from .coded import Cells, as_table, needs_coding, text_features
from .decimal_commas import NOTE, decimal_commas
from .fast_delimited import Body, cell_text, points_in, read_body
from .labels import labels_from_text, read_kept
from .source import DELIMITERS, Source, Stream, not_utf8, nul_byte
from .table import (
    MISSING,
    Columns,
    Request,
    Table,
    assign,
    first_nonfinite,
    labels_needed,
    strict_float,
)
from .texts import Texts
from .where import Where

# Below this many bytes the careful reader takes no time that anybody notices.
_FAST_SIZE = 1 << 16
_MANY = 10  # numbers of a line that rise all along by chance once in a million lines


def read_delimited(
    source: Source,
    stream: Stream,
    request: Request,
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


def _refuse_points(source: Source, columns: Columns, body: Body) -> None:
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
    request: Request,
) -> tuple[Columns, Body]:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        return _parse_text(source, text, delimiter, request)
    finally:
        text.detach()  # whoever opened the stream closes it


class _Rows:
    """The rows of a text that are not blank, each with the number of its line."""

    def __init__(self, source: Source, text: Iterable[str], delimiter: str) -> None:
        self._source = source
        self.underscore = False  # whether there may be one: Python's float takes 1_000
        self._reader = csv.reader(
            self._watched(text), delimiter=delimiter, skipinitialspace=delimiter == " ", strict=True
        )

    def _watched(self, text: Iterable[str]) -> Iterator[str]:
        for line in text:
            if "\x00" in line:
                raise nul_byte(self._source)
            # A fast search by line tells where to look closer.
            self.underscore = self.underscore or "_" in line
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
    source: Source, text: io.TextIOWrapper, delimiter: str, request: Request
) -> tuple[Columns, Body]:
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
    held = _held(source, columns, request.where, itertools.chain(pending, rows))
    first = next(held, None)
    texts: set[int] = set() if first is None else _texts_of(columns, first[1], request)
    large = source.size >= _FAST_SIZE and delimiter != " "
    if large and request.where is None:  # rows that it leaves out may have anything in them
        fast = read_body(source, delimiter, columns, n_header, pending[0][1], texts, request)
        if fast is not None:
            return columns, fast
    careful = _Careful(source, columns, texts)
    if first is not None:
        rows.underscore = any("_" in field for _, row in [*pending, first] for field in row)
        careful.read(itertools.chain([first], held), rows)
    if careful.late:  # text below numbers: whether they are numbers with a slip is seen by all
        known = {*careful.lines}
        careful = _Careful(source, columns, {*texts, *careful.late})
        with source.open() as stream:
            again = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            rows = _Rows(source, again, delimiter)
            careful.read(((number, row) for number, row in rows if number in known), rows)
            again.detach()
    return columns, careful.body(request)


def _held(
    source: Source, columns: Columns, where: Where | None, rows: Iterable[tuple[int, list[str]]]
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


def _texts_of(columns: Columns, row: Sequence[str], request: Request) -> set[int]:
    """Return the features, by place, that hold text: in the first row, or for a model."""
    text = {order for order, j in enumerate(columns.features) if _is_text(row[j])}
    return text | text_features(columns, request.like)


class _Careful:
    """What a reader by rows has found; features that are text are kept as they stand."""

    def __init__(self, source: Source, columns: Columns, texts: Collection[int]) -> None:
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
            careful = rows.underscore and any("_" in field for field in fields)
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
            if value is None and field.strip().lower() not in MISSING:
                self.late.add(order)
            values.append(math.nan if value is None else value)
        return values

    def body(self, request: Request) -> Body:
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
        texts = {order: words[j] for order in self.texts if (j := features[order]) not in commas}
        if self.texts:
            numbers = np.full((n, len(features)), np.nan, order="F")
            numbers[:, self.numeric] = X
            for order in self.texts.keys() - texts.keys():
                numbers[:, order] = words[features[order]].numbers()
            X = numbers
        cells, places = None, [f"line {number}" for number in self.lines]
        if texts or needs_coding(request.like) or first_nonfinite(X) is not None:
            cells = Cells(X, texts, places)
        return Body(X, stored, self.samples, places, False, cells, commas)


def _arrange(
    source: Source,
    rows: Sequence[list[str]],
    request: Request,
) -> Columns:
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

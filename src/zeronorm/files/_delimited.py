"""Reads delimited text: CSV, TSV and their kin.

A careful reader built on `csv` says for every bad field where it is. Large files go through a fast
one first; whatever has anything odd is left to the careful one.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from array import array
from collections.abc import Iterator, Sequence

import numpy as np

from ._cells import picker
from ._errors import FileError, SampleNamesError, quote
from ._fast_delimited import Body, read_body
from ._labels import labels_from_text, read_kept
from ._source import DELIMITERS, Source, Stream, not_utf8
from ._table import (
    MISSING,
    Columns,
    Request,
    Table,
    assign,
    first_nonfinite,
    labels_needed,
    strict_float,
)

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
    head = stream.peek(1 << 16).removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").splitlines()
    first_line = head[0].decode("utf-8", "replace") if head else ""
    delimiter = _delimiter(first_line, DELIMITERS.get(source.suffix, ",;\t|"))
    try:
        columns, body = _parse(source, stream, delimiter, request)
    except UnicodeDecodeError:
        raise not_utf8(source) from None
    except csv.Error as error:
        raise FileError(f"{source}: not a table in CSV form ({error}).") from None
    names, notes = columns.feature_names(request.like)
    kept = read_kept(source, request, columns, body.stored, body.X.shape[0])
    samples = body.samples if columns.samples is not None else None
    return Table(body.X, feature_names=names, sample_names=samples, notes=notes, **kept)


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


def _parse_text(
    source: Source, text: io.TextIOWrapper, delimiter: str, request: Request
) -> tuple[Columns, Body]:
    underscore = False

    def watched() -> Iterator[str]:
        # Python's float takes 1_000; a fast search by line tells where to look closer.
        nonlocal underscore
        for line in text:
            if "\x00" in line:
                raise csv.Error("a NUL byte in it")
            underscore = underscore or "_" in line
            yield line

    reader = csv.reader(
        watched(), delimiter=delimiter, skipinitialspace=delimiter == " ", strict=True
    )
    rows = ((reader.line_num, row) for row in reader if row)
    pending = list(itertools.islice(rows, 2))
    if not pending:
        raise FileError(f"{source}: no samples in it (only blank lines).")
    columns = _arrange(source, [row for _, row in pending], request)
    n_header = 0
    if columns.names is not None:
        n_header, _ = pending.pop(0)
        if not pending:
            raise FileError(f"{source}: a header line and no samples under it.")
    where = request.where  # rows that it leaves out may have anything in them
    if source.size >= _FAST_SIZE and delimiter != " " and where is None:
        fast = read_body(source, delimiter, columns, n_header, pending[0][1], request.spill)
        if fast is not None:
            return columns, fast

    underscore = any("_" in field for _, row in pending for field in row)
    values, lines = array("d"), array("q")
    kept, samples = columns.kept, list[str]()
    texts: dict[int, list[str]] = {position: [] for position in kept}
    pick, compared = picker(columns.features), picker(columns.compared) if where else None
    for number, row in itertools.chain(pending, rows):
        if len(row) != columns.n_columns:
            raise FileError(
                f"{source}: line {number} has {len(row)} fields; the lines before have "
                f"{columns.n_columns}."
            )
        if (
            where is not None
            and compared is not None
            and not where.keeps(compared(row), f"{source}: line {number}")
        ):
            continue
        for position, what in kept.items():
            label = row[position].strip()
            if label.lower() in MISSING:
                raise FileError(
                    f"{source}: line {number}, {columns.name(position)}: {what} is "
                    f"missing ({quote(label)}); drop the row."
                )
            texts[position].append(label)
        if columns.samples is not None:
            samples.append(row[columns.samples])
        fields = pick(row)
        try:
            values.extend(map(float, fields))
        except ValueError:
            _report_field(source, delimiter, columns, number, fields)
        if underscore and any("_" in field for field in fields):
            _report_field(source, delimiter, columns, number, fields)
        lines.append(number)
    X = np.frombuffer(values, np.float64).reshape(len(lines), len(columns.features))
    bad = first_nonfinite(X)
    if bad is not None:
        i, order = divmod(bad, X.shape[1])
        raise FileError(
            f"{source}: line {lines[i]}, {columns.name(columns.features[order])}: a value is "
            f"missing or not finite ({X[i, order]}); fill it in or drop the row or column."
        )
    stored = {position: labels_from_text(column) for position, column in texts.items()}
    return columns, Body(X, stored, samples, is_fast=False)


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


def _report_field(
    source: Source, delimiter: str, columns: Columns, number: int, fields: Sequence[str]
) -> None:
    """Raise the error of the first field of a line that is not a number."""
    bad = [order for order, field in enumerate(fields) if strict_float(field) is None]
    if not bad:
        return
    field = fields[bad[0]].strip()
    name = columns.name(columns.features[bad[0]])
    if field.lower() in MISSING:
        raise FileError(
            f"{source}: line {number}, {name}: a value is missing ({quote(field)}); fill it in or "
            "drop the row or column."
        )
    if re.fullmatch(r"[-+]?[0-9]+,[0-9]+([eE][-+]?[0-9]+)?", field):
        raise FileError(
            f"{source}: line {number}, {name}: {quote(field)} has a decimal comma; write numbers "
            "with a point."
        )
    others = sum(1 for j in bad[1:] if fields[j].strip().lower() not in MISSING)
    more = f" (and {others} more on this line)" if others else ""
    message = (
        f"{source}: line {number}, {name}{more}: features must be numbers; got {quote(field)}. "
        "Drop the column (--drop), make it the target, or encode it (one column of 0 and 1 per "
        "value)"
    )
    if bad[0] == 0 and columns.samples is None and _may_name_samples(source, delimiter, columns):
        raise SampleNamesError(message, columns.argument(columns.features[0]))
    raise FileError(f"{message}.")


def _may_name_samples(source: Source, delimiter: str, columns: Columns) -> bool:
    """Whether the first column of features is mostly text and no value occurs twice."""
    position = columns.features[0]
    seen: set[str] = set()
    n_texts = 0
    with source.open() as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
        try:
            reader = csv.reader(text, delimiter=delimiter, skipinitialspace=delimiter == " ")
            rows = (row for row in reader if len(row) > position)
            for row in itertools.islice(rows, int(columns.names is not None), None):
                if row[position] in seen:
                    return False
                seen.add(row[position])
                n_texts += _is_text(row[position])
        except csv.Error:
            return False
        finally:
            text.detach()
    return len(seen) > 1 and 2 * n_texts > len(seen)

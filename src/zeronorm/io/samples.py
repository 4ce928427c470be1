"""Tables of the samples: files, what their columns say, and which samples have all of it."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.files import FileError, WhereError, did_you_mean, quote
from ..core.messages import Doubt, counted, option, some
from . import frames
from .meaning import mark_in, with_points
from .source import Source, check_path, checked_encoding, has_objects, not_utf8, utf_16_ways
from .table import Where, is_missing, shared_name
from .texts import NOTE, Texts, are_codes, folded, strict_float

if TYPE_CHECKING:
    from .encoding import Content
    from .source import Stream
    from .table import Dataset


# Tables as files: what their lines say, all of it as text. They are text with commas, semicolons,
# tabs or blanks, workbooks, Parquet or JSON lines, as data are.


@dataclass(frozen=True, slots=True)
class SampleFile:
    """What stands in a table of the samples, read once."""

    path: str
    header: list[str]  # the names of its columns
    rows: list[list[str]]  # at least one, each as wide as the header
    notes: tuple[str, ...] = ()
    absent: Sequence[str] = ()  # what stands for a missing value

    @classmethod
    def read(cls, path: str, encoding: str | None, absent: Sequence[str] = ()) -> SampleFile:
        """Read a file; refuse one without samples, or whose columns have no names of their own.

        encoding : of text that is not UTF-8.
        """
        file, sheet = sheet_of(path)
        source = Source(check_path(file), None, checked_encoding(encoding))
        rows, word, notes = _rows_of(source, sheet)
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
        return cls(path, header, rows[1:], tuple(notes), absent)


def sheet_of(path: str) -> tuple[str, str | None]:
    """Split pheno.xlsx:Samples into the file and its sheet; None without a sheet."""
    file, mark, sheet = path.rpartition(":")
    named = mark and sheet and file.lower().endswith(".xlsx") and not Path(path).exists()
    return (file, sheet) if named else (path, None)


def _rows_of(source: Source, sheet: str | None) -> tuple[list[list[str]], str, list[str]]:
    """Return the rows of a file of any format, names of columns first, what they are, and notes."""
    if source.is_workbook:
        rows, notes = frames.rows_of_sheet(source, sheet)
        return rows, "row", notes
    if source.encoding is not None:  # other files than the data may be UTF-8
        encoding, source.encoding = source.encoding, None
        with source.open() as stream:
            source.encoding = None if _is_utf8(stream.read()) else encoding
    with source.open() as stream:
        head = stream.peek(1 << 16)
        if head.startswith(b"PAR1"):
            return frames.rows_of_parquet(source, stream), "row", []
        if head.startswith((b"\x89HDF", b"PK\x03\x04", b"\x93NUMPY")):
            raise FileError(
                f"{source}: no table with names of columns; write the table of the samples as CSV, "
                "JSON lines, .xlsx or Parquet."
            )
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise FileError(f"{source}: UTF-16 text; {utf_16_ways()}.")
        try:
            if has_objects(source, head):
                return frames.rows_of_json(source, stream), "line", []
            return _rows_of_text(source, stream)
        except UnicodeDecodeError:
            raise not_utf8(source, True) from None


def _rows_of_text(source: Source, stream: Stream) -> tuple[list[list[str]], str, list[str]]:
    """Return the rows of a text with commas, semicolons, tabs or blanks."""
    from .delimited import start_of, text_rows  # which verify has not

    start = start_of(source)
    text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
    try:
        rows = [row for _, row in text_rows(source, text, start) if any(row)]
    finally:
        text.detach()
    return rows, "line", [f"{source}: {note}" for note in start.note(True)]


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\x00" not in content


# Which of their columns name the samples, and what the others say.

MISSING = {"", "na", "nan", "n/a", ".", "null", "#n/a", "?"}  # as in data, and a point
_FAMILY, _NAMES = "fid", ("iid", "id", "sample", "sample_id")


@dataclass(frozen=True, slots=True)
class SampleTable:
    """A file with a line for each sample: family and name, or the name alone, then values."""

    path: str
    keys: list[tuple[str, ...]]
    columns: dict[str, Any]  # of text
    notes: tuple[str, ...] = ()
    key_names: tuple[str, ...] = ()  # the names of the columns that the keys stand in

    @classmethod
    def of_people(cls, file: SampleFile) -> SampleTable:
        """Return the columns of a file that begins with those of family and name, or the name."""
        header = file.header
        low = [cell.lower() for cell in header]
        by_family = low[0] == _FAMILY and len(low) > 1 and low[1] in _NAMES
        if not by_family and low[0] not in _NAMES:
            raise FileError(
                f"{file.path}: the first line must name the columns, FID and IID or IID first; got "
                f"{quote(' '.join(header))}. Write such a line at the top."
            )
        return cls._by(file, [0, 1] if by_family else [0])

    @classmethod
    def of_names(
        cls, file: SampleFile, names: Collection[str], others: Collection[str] = ()
    ) -> SampleTable:
        """Return the columns of a file, one of which has the names of samples: most of them.

        Where none has any, the one that has most of them but for case and blanks.

        others : names of the columns of the data, for the error where it has none.
        """
        header, rows = file.header, file.rows
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
                f"{file.path}: no sample of the data is in it: it begins with {there}, the rows of "
                f"the data with {here}{across}. Write the names of the samples as the data have "
                "them."
            )
        return cls._by(file, [most])

    @classmethod
    def _by(cls, file: SampleFile, own: list[int]) -> SampleTable:
        """Return a table whose samples some columns name."""
        path, header = file.path, file.header
        body = np.array(file.rows, str).reshape(-1, len(header))
        keys = [tuple(row) for row in body[:, own].tolist()]
        twice, count = Counter(keys).most_common(1)[0]
        if count > 1:
            lines = [str(line) for line, key in enumerate(keys, 2) if key == twice]
            raise FileError(
                f"{path}: the sample {quote(' '.join(twice))} has several lines: "
                f"{some(lines, 5)}. Leave one."
            )
        texts = {
            name: Texts.of(body[:, j].tolist()) for j, name in enumerate(header) if j not in own
        }
        if file.absent:
            texts = {
                name: text.mapped(lambda cell: "" if is_missing(cell, file.absent) else cell)
                for name, text in texts.items()
            }
        changed = _point(texts)
        columns = {name: np.array(text.tolist()) for name, text in texts.items()}
        note = [f"{path}: {NOTE} ({some([*map(quote, changed)], 5)})"] if changed else []
        return cls(path, keys, columns, (*file.notes, *note), tuple(header[j] for j in own))


def _point(columns: dict[str, Texts]) -> list[str]:
    """Put points for the commas of numbers in columns; return the names of these."""
    pointed = []
    for name, text in columns.items():
        if mark_in([cell for cell in text.counts() if cell.lower() not in MISSING]) == ",":
            columns[name] = with_points(text, ",")
            pointed.append(name)
    return pointed


def column_of(feature: str, names: Collection[str]) -> str:
    """Return the column that a covariate is of: a level of text stands for it."""
    if feature in names:
        return feature
    ends = [name for name in names if feature.startswith(f"{name}=")]
    ends += [name for name in names if feature == f"{name} is missing"]
    return ends[0] if ends else feature


# Errors where tables do not fit the data, or lack what is asked for.


def names_apart(table: SampleTable, people: Any) -> str:
    """Return the first names of a table and of the data, none of which is the same."""
    own = [str(people[what][0]) for what in ("family", "name")][-len(table.keys[0]) :]
    there, here = quote(" ".join(table.keys[0])), quote(" ".join(own))
    return f" (it begins with {there}, the data with {here})"


def check_case(data: str, table: SampleTable, people: Any) -> None:
    """Refuse names that case or blanks alone keep from those of samples that are not found."""
    lines = {folded(key[-1]): line for line, key in enumerate(table.keys, 2)}
    found = [(name, lines.get(folded(name))) for name in map(str, people["name"].tolist())]
    alike = [
        (name, table.keys[line - 2][-1], line)
        for name, line in found
        if line is not None and table.keys[line - 2][-1] != name
    ]
    for name, there, line in alike[:1]:
        verb = "sample differs" if len(alike) == 1 else "samples differ"
        raise ValueError(
            f"{data}: {len(alike):,} {verb} by case or blanks alone from a name in {table.path}, "
            f"as {quote(name)} from {quote(there)} (line {line}). Write the names in one way."
        )


def refuse_data(data: str, tables: Sequence[str]) -> None:
    """Refuse the data as a table of their own samples."""
    for path in tables:
        if Path(path).exists() and Path(data).exists() and Path(path).samefile(data):
            raise ValueError(
                f"{option('--samples')} {path} is DATA itself; name a table with a line for each "
                "sample, or leave it out."
            )


def refuse_twice(data: str, names: Sequence[str]) -> None:
    """Refuse samples of the same name, which lines of tables could not be told apart by."""
    twice, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise ValueError(
            f"{data}: the samples must have distinct names; got {quote(twice)} {count} times."
        )


def nowhere(error: FileError, data: str, headers: Mapping[str, list[str]]) -> FileError:
    """Return the error of a column that is neither in the data nor in the tables; or the given."""
    if error.lacks is None:
        return error
    names = [name for header in headers.values() for name in header]
    hint = did_you_mean(error.lacks, [*names, *error.there], listing=False)
    kind = WhereError if isinstance(error, WhereError) else FileError
    return kind(
        f"{some([*headers], 3)}: no column {quote(error.lacks)}, and none in {data}."
        f"{hint or did_you_mean(error.lacks, names)}"
    )


def refuse_roles(data: str, beside: Sequence[str], roles: Mapping[str, str | None]) -> None:
    """Refuse features that are the target, or another column that is none."""
    for role, name in roles.items():
        if name in beside:
            asked, force = option("--" + role.replace("_", "-")), option("--force")
            raise ValueError(
                f"{data}: the column {quote(str(name))} is that of {asked}, and cannot be a "
                f"feature as well; leave it out of {force} or {option('--covariates')}."
            )


def refuse_typo(
    name: str,
    covariates: Sequence[str],
    given: Collection[str],
    table: Dataset,
    data: str,
    headers: Mapping[str, list[str]],
) -> None:
    """Refuse a feature that is neither in the data nor in the tables, but almost in a table.

    given : all columns that are asked for.
    """
    names = [name for header in headers.values() for name in header]
    own = [shared_name(one)[0] for one in table.feature_names or ()]
    if column_of(name, {*names, *own}) in {*names, *own}:
        return
    hint = did_you_mean(name, names, listing=False, given=given)
    if hint:
        asked = option("--covariates" if name in covariates else "--force")
        raise ValueError(
            f"{asked}: no column {quote(name)} in {some([*headers], 3)}, and no feature of "
            f"{data}.{hint}"
        )


# What tables say of the samples of data.

OWN = "phenotype"  # what the .fam file has


class KnownSamples:
    """What tables say of the samples, and which samples have all that was asked for."""

    def __init__(self, data: str, people: Any, tables: Sequence[SampleTable]) -> None:
        from .genotypes import places_of  # which verify has not

        self.data, self.people, self.tables = data, people, tables
        self.notes: list[str] = []
        self._kept = np.ones(len(people), bool)
        self._columns: dict[str, Any] = {}
        self._asked: set[str] = set()
        self._places = [places_of(people, table.keys) for table in tables]
        for table, place in zip(tables, self._places, strict=True):
            self.notes += table.notes
            check_case(data, table, people[place < 0])
            matched = int((place >= 0).sum())
            left = len(table.keys) - matched
            names = "" if matched else names_apart(table, people)
            self.notes.append(
                f"{matched:,} of {counted(len(people), 'sample')} "
                f"{'is' if matched == 1 else 'are'} in {table.path}{names}; {left:,} of its lines "
                f"{'is' if left == 1 else 'are'} of no sample"
            )

    @property
    def kept(self) -> Any:
        """(n,) bool, the samples that lack nothing; at least one."""
        if not self._kept.any():
            raise ValueError(f"{self.data}: no samples are left: {'; '.join(self.notes)}.")
        return self._kept

    def only_target(self) -> str:
        """Return the name of the phenotypes of the .fam file, where nothing else is to be meant."""
        if self.tables:
            names = ", ".join(quote(name) for table in self.tables for name in table.columns)
            raise ValueError(
                f"{self.data}: say what to predict with {option('--target')}: {OWN} for that of "
                f"the .fam file, or a column of {option('--samples')}: {names}."
            )
        return OWN

    def has(self, name: str) -> bool:
        """Return whether a table has a column."""
        return self.table_of(name) is not None

    def table_of(self, name: str) -> int | None:
        """Return the number of the first table with a column, None where none has it."""
        return next((n for n, table in enumerate(self.tables) if name in table.columns), None)

    def take(
        self, name: str, what: str, missing: float | None = None, filled: bool = False
    ) -> None:
        """Read a column, and leave out the samples without a value; `missing` is none either.

        filled : whether cells may be empty; then samples are left out that have no line alone.
        """
        number = self.table_of(name)
        if number is None:
            names = [name for table in self.tables for name in table.columns]
            hint = did_you_mean(name, names) if names else no_table()
            tables = some([table.path for table in self.tables], 3) or self.data
            raise ValueError(f"{tables}: no column for the {what}.{hint}")
        self._asked.add(name)
        place = self._places[number]
        text = np.where(place >= 0, self.tables[number].columns[name][place], "")
        lacking = np.array([value.lower() in MISSING for value in text.tolist()])
        text = np.where(lacking, "", text)
        self._columns[name] = text
        self._leave_out(place < 0 if filled else lacking, what)
        if missing is not None:
            means = np.array([strict_float(value) == missing for value in text.tolist()])
            self._leave_out(means, f"{what} but {missing:g}, which stands for a missing one")

    def unused(self) -> list[str]:
        """Return notes about tables of which no column was asked for."""
        return [
            f"no column of {one.path} is used: name them with "
            f"{option('--target')}, {option('--covariates')} or {option('--force')}"
            for one in self.tables
            if self._asked.isdisjoint(one.columns)
        ]

    def keep(self, where: Where) -> None:
        """Leave out the samples of which comparisons of columns of the tables do not hold."""
        self._asked |= {one.name for one in where.comparisons}
        cells = [*zip(*(self._cells(one.name) for one in where.comparisons), strict=True)]
        for place in np.flatnonzero(self._kept):
            self._kept[place] = where.keeps(cells[place], f"{self.data}: {option('--samples')}")
        if not where.n_kept:
            raise where.nothing_kept(self.data)
        self.notes.append(where.note)

    def _cells(self, name: str) -> list[str | None]:
        """Return the cell of each sample in a column, which may be that of their names."""
        number = self.table_of(name)
        if number is None:
            number = next(n for n, table in enumerate(self.tables) if name in table.key_names)
            table = self.tables[number]
            column = [key[table.key_names.index(name)] for key in table.keys]
        else:
            column = self.tables[number].columns[name]
        return [None if line < 0 else column[line] for line in self._places[number].tolist()]

    def numbers(self, what: str, values: Any) -> Any:
        """Return numbers of the samples, those without one left out."""
        if np.isnan(values).all():
            raise ValueError(
                f"{self.data}: the .fam file has no {what}s; name a table of the samples with "
                f"{option('--samples')}, and its column with {option('--target')}."
            )
        self._leave_out(np.isnan(values), what)
        return values

    def values(self, name: str) -> Any:
        """Return a column of the samples kept: numbers, or text where none is a number."""
        text = self._columns[name][self.kept]
        values = text.tolist()
        found = [strict_float(value) for value in values]
        if all(number is None for number in found) or are_codes(values):
            return text
        for value, number in zip(values, found, strict=True):
            if number is None or not np.isfinite(number):
                raise ValueError(
                    f"{self.data}: the column {quote(name)} must be finite numbers, or text alone; "
                    f"got {quote(value)} among numbers. Write NA where a value is missing, and "
                    "decimals with a point."
                )
        numbers = np.array(found, np.float64)
        whole = all(value.lstrip("+-").isdigit() for value in values)
        return numbers.astype(np.int64) if whole and np.abs(numbers).max() < 2**53 else numbers

    def content(self, name: str, as_text: bool) -> Content:
        """Return a column of the samples kept, "" or NaN where it is empty: numbers, or text."""
        texts = Texts.of(self._columns[name][self.kept].tolist())
        numbers = None if as_text else texts.numbers()
        return texts if numbers is None else numbers

    def _leave_out(self, lacking: Any, what: str) -> None:
        if (lacking & self._kept).any():
            count = int((lacking & self._kept).sum())
            self.notes.append(Doubt(f"{counted(count, 'sample')} left out: no {what}"))
            self._kept &= ~lacking


def no_table() -> str:
    """Return what to do where no table of the samples is given."""
    return f" Name a table with {option('--samples')}."


def of_samples(where: str, known: KnownSamples) -> Where:
    """Return comparisons, all of which must be of columns of the tables."""
    found = Where(where)
    for one in found.comparisons:
        if not known.has(one.name):
            names = [name for table in known.tables for name in table.columns]
            hint = did_you_mean(one.name, names) if names else no_table()
            raise WhereError(
                f"{known.data}: {option('--where')} compares columns of {option('--samples')} "
                f"alone, and there is no {quote(one.name)}.{hint}"
            )
    return found

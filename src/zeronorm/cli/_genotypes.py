"""Genotypes on the command line: PLINK's files, and tables of their samples."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..files import Layout, Table

_MISSING = {"", "na", "nan", "n/a", ".", "null"}
_OWN = "phenotype"  # what the .fam file has
_MISSING_TARGET = -9.0  # PLINK's, of phenotypes
_FAMILY, _NAMES = "fid", ("iid", "id", "sample", "sample_id")


def is_genotypes(data: str) -> bool:
    """Return whether DATA means .bed files: by its suffix, or as the stem of some."""
    return data.endswith(".bed") or (not Path(data).exists() and Path(f"{data}.bed").exists())


def read_genotypes(
    data: str,
    target: str | None,
    tables: Sequence[str],
    columns: Mapping[str, str],
    covariates: str | None,
    like: Layout | None,
    threads: int | None,
) -> Table:
    """Return genotypes with what tables say of their samples, joined by the samples' names.

    A sample that lacks one of the columns is left out, and a note says how many do.

    tables : text files with a line for each sample.
    columns : what they hold beside the target, by role, as {"time": "days"}.
    covariates : names with commas between them; with a model (`like`) they are its own.
    """
    from ..files import Table, quote
    from ..genotypes import phenotypes, read_plink, read_samples

    beside = covariates.split(",") if covariates and like is None else []
    if like is not None:
        beside = [*like.covariates]
        if target is None and like.exact and isinstance(like.target_name, str):
            target = like.target_name
    roles = {role: name for role, name in columns.items() if role != "event_value"}
    people = read_samples(data)
    known = _Known(data, people, [_SampleTable.read(path) for path in tables])
    if target is None and like is None and not roles:
        target = known.only_target()
    y = None
    if target == _OWN and known.table_of(_OWN) is None:
        y = known.numbers("phenotype", phenotypes(people))
    elif target is not None:
        known.take(target, f"target {quote(target)}", missing=_MISSING_TARGET)
    for name in beside:
        known.take(name, f"covariate {quote(name)}")
    for role, name in roles.items():
        known.take(name, f"{role} {quote(name)}")
    genotypes = read_plink(data, samples=known.kept, n_threads=threads)
    numbers = {}
    for name in beside:
        numbers[name] = known.values(name)
        if numbers[name].dtype.kind == "U":
            bad = quote(str(numbers[name][0]))
            raise ValueError(
                f"{data}: the covariate {quote(name)} must be numbers; got {bad}. Write a "
                "column of 0 and 1 for each of its values but one."
            )
    X: Any = genotypes.with_columns(numbers)
    if y is not None:
        y = _classes(y[known.kept])
    elif target is not None:
        y = known.values(target)
    return Table(
        X,
        y,
        X.feature_names,
        target,
        _distinct(genotypes.samples),
        notes=tuple(known.notes),
        columns={role: known.values(name) for role, name in roles.items()},
        column_names=roles,
        variants=genotypes.variants,
    )


class _Known:
    """What tables say of the samples, and which samples have all that was asked for."""

    def __init__(self, data: str, people: Any, tables: Sequence[_SampleTable]) -> None:
        import numpy as np

        from ..genotypes import places_of

        self.data, self.people, self.tables = data, people, tables
        self.notes: list[str] = []
        self._kept = np.ones(len(people), bool)
        self._columns: dict[str, Any] = {}
        self._places = [places_of(people, table.keys) for table in tables]
        for table, place in zip(tables, self._places, strict=True):
            matched = int((place >= 0).sum())
            self.notes.append(
                f"{matched:,} of {len(people):,} samples are in {table.path}; "
                f"{len(table.keys) - matched:,} of its lines are of no sample"
            )

    @property
    def kept(self) -> Any:
        """(n,) bool, the samples that lack nothing; at least one."""
        if not self._kept.any():
            raise ValueError(f"{self.data}: no samples are left: {'; '.join(self.notes)}.")
        return self._kept

    def only_target(self) -> str:
        """Return the name of the phenotypes of the .fam file, where nothing else is to be meant."""
        from ..files import quote

        if self.tables:
            names = ", ".join(quote(name) for table in self.tables for name in table.columns)
            raise ValueError(
                f"{self.data}: say what to predict with --target: {_OWN} for that of the .fam "
                f"file, or a column of --samples: {names}."
            )
        return _OWN

    def table_of(self, name: str) -> int | None:
        """Return the number of the first table with a column, None where none has it."""
        return next((n for n, table in enumerate(self.tables) if name in table.columns), None)

    def take(self, name: str, what: str, missing: float | None = None) -> None:
        """Read a column, and leave out the samples without a value; `missing` is none either."""
        import numpy as np

        from ..files import did_you_mean, strict_float

        number = self.table_of(name)
        if number is None:
            names = [name for table in self.tables for name in table.columns]
            hint = did_you_mean(name, names) if names else " Name a table with --samples."
            raise ValueError(f"{self.data}: no column for the {what}.{hint}")
        place = self._places[number]
        text = np.where(place >= 0, self.tables[number].columns[name][place], "")
        lacking = np.array([value.lower() in _MISSING for value in text.tolist()])
        self._columns[name] = text
        self._leave_out(lacking, what)
        if missing is not None:
            means = np.array([strict_float(value) == missing for value in text.tolist()])
            self._leave_out(means, f"{what} but {missing:g}, which stands for a missing one")

    def numbers(self, what: str, values: Any) -> Any:
        """Return numbers of the samples, those without one left out."""
        import numpy as np

        if np.isnan(values).all():
            raise ValueError(
                f"{self.data}: the .fam file has no {what}s; name a table of the samples with "
                "--samples, and its column with --target."
            )
        self._leave_out(np.isnan(values), what)
        return values

    def values(self, name: str) -> Any:
        """Return a column of the samples kept: numbers, or text where none is a number."""
        import numpy as np

        from ..files import quote, strict_float

        text = self._columns[name][self.kept]
        values = text.tolist()
        found = [strict_float(value) for value in values]
        if all(number is None for number in found):
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

    def _leave_out(self, lacking: Any, what: str) -> None:
        if (lacking & self._kept).any():
            self.notes.append(f"{int((lacking & self._kept).sum()):,} samples left out: no {what}")
            self._kept &= ~lacking


@dataclass(frozen=True, slots=True)
class _SampleTable:
    """A text file with a line for each sample: family and name, or the name alone, then values."""

    path: str
    keys: list[tuple[str, ...]]
    columns: dict[str, Any]  # of text

    @classmethod
    def read(cls, path: str) -> _SampleTable:
        """Return the columns of a file with commas, tabs or blanks between them."""
        import numpy as np

        from ..files import FileError, check_path, quote

        try:
            text = check_path(path).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise FileError(f"{path}: no text file.") from None
        lines = [line for line in text.splitlines() if line.strip()]
        if not lines:
            raise FileError(f"{path}: the file is empty.")
        delimiter = next((mark for mark in ",;\t" if mark in lines[0]), None)
        if delimiter is None:
            rows = [*map(str.split, lines)]
        else:  # of the whole text: a cell may have ends of lines in it
            rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(row)]
        if len(rows) == 1:
            raise FileError(f"{path}: no samples in it, but for the line with names of columns.")
        rows = [[cell.strip() for cell in row] for row in rows]
        for number, row in enumerate(rows, 1):
            if len(row) != len(rows[0]):
                raise FileError(
                    f"{path}, line {number}: {len(rows[0])} columns as in the first line; got "
                    f"{len(row)}."
                )
        header = [cell.lstrip("#") for cell in rows[0]]
        repeated = next((name for name in header if header.count(name) > 1), None)
        if repeated is not None:
            raise FileError(f"{path}: the column {quote(repeated)} is there several times.")
        low = [cell.lower() for cell in header]
        by_family = low[0] == _FAMILY and len(low) > 1 and low[1] in _NAMES
        if not by_family and low[0] not in _NAMES:
            raise FileError(
                f"{path}: the first line must name the columns, FID and IID or IID first; got "
                f"{quote(' '.join(rows[0]))}. Write such a line at the top."
            )
        n_keys = 2 if by_family else 1
        body = np.array(rows[1:], str).reshape(-1, len(header))
        keys = [tuple(row) for row in body[:, :n_keys].tolist()]
        twice, count = Counter(keys).most_common(1)[0]
        if count > 1:
            raise FileError(f"{path}: the sample {quote(' '.join(twice))} has several lines.")
        named = {name: body[:, place] for place, name in enumerate(header) if place >= n_keys}
        return cls(path, keys, named)


def _classes(y: Any) -> Any:
    """Return cases and controls as the whole numbers 1 and 0, other phenotypes as they are."""
    import numpy as np

    return y.astype(np.int64) if np.isin(y, (0.0, 1.0)).all() else y


def _distinct(people: Any) -> list[str]:
    """Return the names of the samples, with their families where they repeat."""
    names = [str(name) for name in people["name"]]
    if len(set(names)) == len(names):
        return names
    return [f"{family}_{name}" for family, name in zip(people["family"], names, strict=True)]

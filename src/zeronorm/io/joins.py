"""Tables of the samples, which are joined to data by the names of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..core.text import counted, some
from ..core.warnings import Doubt
from .beside import as_trained, column_of, with_columns
from .sample_file import SampleFile
from .sample_table import MISSING, SampleTable
from .unjoined import (
    as_needed,
    check_case,
    names_apart,
    nowhere,
    refuse_data,
    refuse_roles,
    refuse_twice,
    refuse_typo,
)
from .upright import read_named, upright

if TYPE_CHECKING:
    from .codings import Content
    from .table import Layout, Table
    from .where import Where

    # Reads data with a target, other columns by role, and the column that names the rows.
    Read = Callable[[str | None, Mapping[str, str], str | None], Table]

OWN = "phenotype"  # what the .fam file has


class Known:
    """What tables say of the samples, and which samples have all that was asked for."""

    def __init__(self, data: str, people: Any, tables: Sequence[SampleTable]) -> None:
        import numpy as np

        from .genotypes import places_of

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
        from ..core.files import quote

        if self.tables:
            names = ", ".join(quote(name) for table in self.tables for name in table.columns)
            raise ValueError(
                f"{self.data}: say what to predict with --target: {OWN} for that of the .fam "
                f"file, or a column of --samples: {names}."
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
        import numpy as np

        from ..core.files import did_you_mean
        from .table import strict_float

        number = self.table_of(name)
        if number is None:
            names = [name for table in self.tables for name in table.columns]
            hint = did_you_mean(name, names) if names else " Name a table with --samples."
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
            f"no column of {one.path} is used: name them with --target, --covariates or --force"
            for one in self.tables
            if self._asked.isdisjoint(one.columns)
        ]

    def keep(self, where: Where) -> None:
        """Leave out the samples of which comparisons of columns of the tables do not hold."""
        import numpy as np

        numbers = [self.table_of(one.name) for one in where.comparisons]
        self._asked |= {one.name for one in where.comparisons}
        for place in np.flatnonzero(self._kept):
            cells = []
            for one, number in zip(where.comparisons, numbers, strict=True):
                assert number is not None
                line = self._places[number][place]
                cells.append(self.tables[number].columns[one.name][line] if line >= 0 else None)
            self._kept[place] = where.keeps(cells, f"{self.data}: --samples")
        if not where.n_kept:
            raise where.nothing_kept(self.data)
        self.notes.append(where.note)

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

        from ..core.files import quote
        from .table import strict_float

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

    def content(self, name: str, as_text: bool) -> Content:
        """Return a column of the samples kept, "" or NaN where it is empty: numbers, or text."""
        from .texts import Texts

        texts = Texts.of(self._columns[name][self.kept].tolist())
        numbers = None if as_text else texts.numbers()
        return texts if numbers is None else numbers

    def _leave_out(self, lacking: Any, what: str) -> None:
        if (lacking & self._kept).any():
            count = int((lacking & self._kept).sum())
            self.notes.append(Doubt(f"{counted(count, 'sample')} left out: no {what}"))
            self._kept &= ~lacking


def read_joined(
    data: str,
    target: str | None,
    tables: Sequence[SampleFile],
    columns: Mapping[str, str],
    covariates: Sequence[str],
    force: Sequence[str],
    like: Layout | None,
    missing: str | None,
    where: Where | None,
    read: Read,
    intercept: bool,
) -> Table:
    """Return data with what tables say of their samples, joined by the samples' names.

    Names that a table has mean its column, others a column of the data. Where the columns of the
    data are samples of the tables, and not the rows, features are in the rows. A sample that lacks
    one of the columns is left out, and a note says how many do; with `missing` one that lacks the
    target or another column that is no feature, or has no line at all.

    columns, covariates, force, like : as of `read_genotypes`; covariates may be of the data.
    where : comparisons of columns of the tables.
    intercept : as of `read`.
    read : reads the data, all of their columns, not coded yet, with a target and other columns of
        their own, and with the column that names the rows, where no option says which.
    """
    import numpy as np

    from ..core.files import FileError, quote

    refuse_data(data, [table.path for table in tables])
    headers = {table.path: table.header for table in tables}
    names = [name for header in headers.values() for name in header]
    codings = {} if like is None else {one.column: one for one in like.codings.values()}
    columns = {role: name for role, name in columns.items() if role != "event_value"}
    roles = {role: name for role, name in columns.items() if name in names}
    if like is not None:
        covariates = [column_of(one, names) for one in like.covariates]
        missing = like.columns.get("missing") if like.names is None else None
        force = like.sources or like.forced
    if target is None and like is None and not columns:
        listed = ", ".join(map(quote, names))
        raise ValueError(
            f"{data}: say what to predict with --target, a column of --samples: {listed}."
        )
    force = [column_of(one, names) for one in force]
    joined = target is not None and target in names
    others = {role: name for role, name in columns.items() if role not in roles}
    there = {value for table in tables for row in table.rows for value in row}
    wanted = () if like is None or like.sources is None else like.sources
    try:
        named = read_named(partial(read, None if joined else target, others), data, there, wanted)
    except FileError as error:
        raise nowhere(error, data, headers) from None
    table = upright(named, data, there, wanted)
    here = set(table.feature_names or ()) if like is not None else set()
    asked = dict.fromkeys([*covariates, *(name for name in force if name not in here)])
    beside = [name for name in asked if name in names]
    refuse_roles(data, beside, {"target": target, **roles})
    for name in asked if like is None else ():
        refuse_typo(name, covariates, {*asked, target or ""}, table, data, headers)
    own = table.sample_names or []
    refuse_twice(data, own)
    people = np.array([(name, name) for name in own], [("family", object), ("name", object)])
    known = Known(
        data,
        people,
        [SampleTable.of_names(one, own, table.feature_names or ()) for one in tables],
    )
    if where is not None:
        known.keep(where)
    if joined and target is not None:
        known.take(target, f"target {quote(target)}")
    for name in beside:
        coding = codings.get(name)
        filled = missing is not None or (coding is not None and coding.gaps is not None)
        known.take(name, f"covariate {quote(name)}", filled=filled)
    for role, name in roles.items():
        known.take(name, f"{role} {quote(name)}")
    known.notes += known.unused() if like is None else []
    kept = np.flatnonzero(known.kept)
    if kept.size < len(own):
        X, cells = table.X, table.cells
        table = replace(table, X=X[kept], cells=None if cells is None else cells.rows(kept))
    table = replace(table, sample_names=[own[row] for row in kept])
    table = with_columns(table, known, beside, codings, missing)
    if wanted:
        table = as_needed(table, wanted, data, headers)
    without_base = covariates if like is None and intercept else ()
    table = as_trained(table, like, data, missing, without_base)
    y = known.values(target) if joined and target is not None else table.y
    return replace(
        table,
        y=y if joined or y is None else y[kept],
        target_name=target if joined else table.target_name,
        notes=(*table.notes, *known.notes),
        columns={
            **{role: values[kept] for role, values in table.columns.items()},
            **{role: known.values(name) for role, name in roles.items()},
        },
        column_names={**table.column_names, **roles},
    )

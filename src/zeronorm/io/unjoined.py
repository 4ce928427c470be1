"""What is said where tables of the samples do not fit the data, or lack what is asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.text import some
from .beside import column_of, picked
from .sample_table import SampleTable

if TYPE_CHECKING:
    from ..core.files import FileError
    from .table import Table


def names_apart(table: SampleTable, people: Any) -> str:
    """Return the first names of a table and of the data, none of which is the same."""
    from ..core.files import quote

    own = [str(people[what][0]) for what in ("family", "name")][-len(table.keys[0]) :]
    there, here = quote(" ".join(table.keys[0])), quote(" ".join(own))
    return f" (it begins with {there}, the data with {here})"


def check_case(data: str, table: SampleTable, people: Any) -> None:
    """Refuse names that case or blanks alone keep from those of samples that are not found."""
    from ..core.files import quote
    from .texts import folded

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
                f"--samples {path} is DATA itself; name a table with a line for each sample, or "
                "leave it out."
            )


def refuse_twice(data: str, names: Sequence[str]) -> None:
    """Refuse samples of the same name, which lines of tables could not be told apart by."""
    from ..core.files import quote

    twice, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise ValueError(
            f"{data}: the samples must have distinct names; got {quote(twice)} {count} times."
        )


def nowhere(error: FileError, data: str, headers: Mapping[str, list[str]]) -> FileError:
    """Return the error of a column that is neither in the data nor in the tables; or the given."""
    from ..core.files import FileError, WhereError, did_you_mean, quote

    if error.lacks is None:
        return error
    names = [name for header in headers.values() for name in header]
    hint = did_you_mean(error.lacks, [*names, *error.there], listing=False)
    kind = WhereError if isinstance(error, WhereError) else FileError
    return kind(
        f"{some([*headers], 3)}: no column {quote(error.lacks)}, and none in {data}."
        f"{hint or did_you_mean(error.lacks, names)}"
    )


def as_needed(
    table: Table, wanted: Sequence[str], data: str, headers: Mapping[str, list[str]]
) -> Table:
    """Return the columns that a model needs alone; refuse data and tables that lack one."""
    from ..core.files import MissingFeaturesError, did_you_mean

    where = some([data, *headers], 4)
    try:
        return picked(table, wanted, where) if table.feature_names is not None else table
    except MissingFeaturesError as error:
        names = [name for header in headers.values() for name in header]
        missing = next(name for name in wanted if name not in (table.feature_names or ()))
        hint = did_you_mean(missing, names, listing=False, given=wanted)
        raise MissingFeaturesError(f"{error}{hint}") from None


def refuse_roles(data: str, beside: Sequence[str], roles: Mapping[str, str | None]) -> None:
    """Refuse features that are the target, or another column that is none."""
    from ..core.files import quote

    for role, name in roles.items():
        if name in beside:
            option = "--" + role.replace("_", "-")
            raise ValueError(
                f"{data}: the column {quote(str(name))} is that of {option}, and cannot be a "
                "feature as well; leave it out of --force or --covariates."
            )


def refuse_typo(
    name: str,
    covariates: Sequence[str],
    given: Collection[str],
    table: Table,
    data: str,
    headers: Mapping[str, list[str]],
) -> None:
    """Refuse a feature that is neither in the data nor in the tables, but almost in a table.

    given : all columns that are asked for.
    """
    from ..core.files import did_you_mean, quote
    from .unique import shared_name

    names = [name for header in headers.values() for name in header]
    own = [shared_name(one)[0] for one in table.feature_names or ()]
    if column_of(name, {*names, *own}) in {*names, *own}:
        return
    hint = did_you_mean(name, names, listing=False, given=given)
    if hint:
        option = "--covariates" if name in covariates else "--force"
        raise ValueError(
            f"{option}: no column {quote(name)} in {some([*headers], 3)}, and no feature of "
            f"{data}.{hint}"
        )

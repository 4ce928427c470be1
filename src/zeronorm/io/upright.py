"""Data with features in rows and samples in columns: taken the other way round."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.text import counted, some
from .beside import as_trained

if TYPE_CHECKING:
    from .table import Layout, Table
    from .texts import Texts


def read_named(
    read: Callable[[str | None], Table],
    data: str,
    there: Collection[str],
    wanted: Collection[str] = (),
) -> Table:
    """Return data whose rows have names: of samples, or of features where samples are in columns.

    read : takes the column of the names; None: what the data say by themselves. Its cells are not
        coded yet.
    there : what stands in the tables of the samples. wanted : the columns that a model needs.
    """
    from ..core.files import SampleNamesError
    from .coded import uncodable

    table = read(None)
    if table.sample_names is not None:
        return table
    error = uncodable(data, table)
    column = _naming(table, wanted)
    if error is not None and error.column is not None:
        named = read(error.column)
        if _lies(named, there, wanted):
            return named if column == error.column else read(column)
        if isinstance(error, SampleNamesError):
            return named
        raise error
    names = table.feature_names
    if names and names[0] not in there and _lies(table, there, wanted):
        return read(column)
    return table


def _naming(table: Table, wanted: Collection[str] = ()) -> str | None:
    """Return the column that names the features where they are in the rows.

    It is one with features that a model needs; else the first, or where that has text and repeats
    itself the first of text that does not.
    """
    from .unique import shared_name

    names: Sequence[str | None] = table.feature_names or [None]
    texts = {} if table.cells is None else table.cells.texts
    known = {own for name in wanted for own in (name, shared_name(name)[0])}
    for order, column in texts.items():
        if not known.isdisjoint(column.levels):
            return names[order]
    if 0 in texts:
        for order, column in texts.items():
            if len(column.levels) == len(column) and _is_text(column):
                return names[order]
    return names[0]


def _is_text(column: Texts) -> bool:
    """Return whether no cell of a column is a number."""
    from .table import strict_float

    return all(strict_float(text) is None for text in column.levels)


def _lies(table: Table, there: Collection[str], wanted: Collection[str]) -> bool:
    """Return whether the samples are in the columns, and not in the rows.

    They are where the columns that a model needs are in the rows alone; else where names of samples
    are, whatever their case and blanks.
    """
    from .texts import folded

    rows, columns = table.sample_names or (), table.feature_names or ()
    if not {*wanted}.isdisjoint(rows) and {*wanted}.isdisjoint(columns):
        return True
    known = {*map(folded, there)}
    by_row = any(folded(name) in known for name in rows)
    return not by_row and any(folded(name) in known for name in columns)


def upright(table: Table, data: str, there: Collection[str], wanted: Collection[str] = ()) -> Table:
    """Return data with samples in rows; where they are in columns, the other way round."""
    from ..core.files import quote
    from .unique import shared_name

    if not _lies(table, there, wanted):
        if table.sample_names is None:
            raise ValueError(
                f"{data}: its samples have no names by which --samples could be joined; say which "
                "column names them with --id."
            )
        return table
    for name in table.feature_names or ():
        own, count = shared_name(name)
        if count > 1 and own in there and name not in there:
            raise ValueError(
                f"{data}: the sample {own!r:.60} has several columns; leave out all but one."
            )
    table = _without_texts(table, data, there)
    names = table.feature_names or ()
    others = [quote(name) for name in names if name not in there]
    by_column = len(names) - len(others)
    why = f"{by_column:,} of its columns are samples of --samples"
    if others:
        why = f"{why}, and {len(others):,} {'is' if len(others) == 1 else 'are'} not"
        why = f"{why} ({some(others, 5)})"
    if not by_column:
        why = "those of the model are there"
    note = f"features are in the rows of {data}, since {why}: taken the other way round"
    return turned(table, data, note, there)


def features_in_rows(data: str, like: Layout, encoding: str | None, id: str | None) -> Table | None:
    """Return data with samples in columns the other way round; None where rows are no features.

    like : a model, whose features the names of the rows are.
    id : the column of these names; None: what the data say by themselves.

    Raises
    ------
    MissingFeaturesError
        Where all of them are but covariates, which a table of the samples may have.
    """
    from ..core.files import MissingFeaturesError, quote
    from .read import read_request
    from .table import Request
    from .unique import unique_names

    if not Path(data).is_file():
        return None
    wanted = like.sources or ()
    column = id or _naming(read_request(data, Request(is_part=True, encoding=encoding)), wanted)
    if column is None:
        return None
    table = read_request(data, Request(id=column, is_part=True, encoding=encoding))
    rows = set(unique_names(table.sample_names or ())[0])
    n_found = len(rows.intersection(wanted))
    if not n_found:
        return None
    made = {name: one.column for name, one in like.codings.items()}
    beside = {made.get(name, name) for name in like.covariates}
    missing = [name for name in wanted if name not in rows]
    if missing and beside.issuperset(missing):
        what, verb = ("covariates", "are") if missing[1:] else ("covariate", "is")
        raise MissingFeaturesError(
            f"{data}: the features of the model are in its rows, but its {what} "
            f"{', '.join(map(quote, missing))} {verb} not there; name a table of the samples that "
            f"has {'them' if missing[1:] else 'it'} with --samples."
        )
    if any(one.kind != "number" for one in like.codings.values()):
        return None
    note = (
        f"features are in the rows of {data}, since {n_found:,} features of the model are in its "
        f"column {column!r}: taken the other way round"
    )
    return as_trained(turned(table, data, note), like, data)


def check_across(samples: Sequence[str], others: Mapping[str, object]) -> None:
    """Refuse what cannot be with --transpose. others : the values of options."""
    shown = "shows by itself that features are in the rows"
    if samples:
        raise ValueError(
            f"--transpose cannot be with --samples, which {shown}; leave out --transpose."
        )
    for option, value in others.items():
        if value:
            raise ValueError(
                f"--transpose cannot be with {option}; put what is known of the samples into a "
                f"table of --samples, which {shown}, and leave out --transpose."
            )


def read_across(
    data: str,
    target: str | None,
    id: str | None,
    like: Layout | None,
    missing: str | None,
    layer: str | None,
    encoding: str | None,
) -> Table:
    """Return data with samples in columns the other way round, and labels from a file.

    id : the column with the names of the features; None: what the data say by themselves.
    """
    from .labels import read_labels
    from .read import read_request
    from .source import is_label_file
    from .table import Request

    def read(column: str | None) -> Table:
        request = Request(
            None, None, id or column, False, {}, (), layer, None, missing, is_part=True,
            encoding=encoding,
        )  # fmt: skip
        return read_request(data, request)

    table = as_trained(turned(read_named(read, data, ()), data, ""), like, data, missing)
    if target is None:
        return table
    if not is_label_file(target):
        raise ValueError(
            f"{data}: with --transpose the target must be a file with a label for each column; got "
            f"{target!r:.60}. Put it into a table with the names of the samples, and say "
            f"--samples FILE --target {target}."
        )
    y, name = read_labels(target, table.X.shape[0])
    return replace(table, y=y, target_name=name, by_position=("target",))


def across_hint(data: str, target: str | None, encoding: str | None) -> str:
    """Return what to do with data not read that may have samples in columns, or ""."""
    from ..core.files import FileError
    from .labels import read_labels
    from .read import read_request
    from .source import is_label_file
    from .table import Request

    if target is None or not Path(data).is_file():
        return ""
    try:
        table = read_request(data, Request(is_part=True, encoding=encoding))
        n_rows, names = table.X.shape[0], table.feature_names or []
        if is_label_file(target):
            n_columns = _without_texts(table, data, ()).X.shape[1]
            read_labels(target, n_columns)
            seen = f" {data} has {n_columns:,} columns of numbers: where features are in the rows,"
            return f"{seen} say --transpose." if n_columns != n_rows else ""
    except (FileError, ValueError):
        return ""
    if target in names or n_rows < len(names):
        return ""
    return (
        " Where features are in the rows and samples in the columns, name a table of the samples "
        f"with --samples FILE --target {target}: they are found by their names."
    )


def _without_texts(table: Table, data: str, there: Collection[str]) -> Table:
    """Return features in rows without the columns that say what these are: no cell is a number.

    A column that has the name of a sample stays, and so does one with a number in it: where a cell
    of a sample is spoilt, that is to be told.
    """
    import numpy as np

    from ..core.files import quote

    names, cells = table.feature_names, table.cells
    if names is None or cells is None:
        return table

    def says_nothing(order: int) -> bool:
        if order in cells.texts:
            return _is_text(cells.texts[order])
        return bool(np.isnan(cells.numbers[:, order]).all())

    out = [j for j, name in enumerate(names) if name not in there and says_nothing(j)]
    kept = [j for j in range(len(names)) if j not in {*out}]
    if not out or not kept:
        return table
    one = len(out) == 1
    note = (
        f"{counted(len(out), 'column')} of {data} without numbers {'is' if one else 'are'} no "
        f"{'sample' if one else 'samples'}, and left out: {some([quote(names[j]) for j in out], 5)}"
    )
    return replace(
        table,
        X=table.X[:, kept],
        cells=cells.columns(kept),
        feature_names=[names[j] for j in kept],
        notes=(*table.notes, note),
    )


def turned(table: Table, data: str, note: str, there: Collection[str] = ()) -> Table:
    """Return a table whose rows are features and whose columns are samples, the other way round.

    there : what stands in the tables of the samples.
    """
    import numpy as np

    from ..core.files import quote
    from .coded import Cells, uncodable
    from .unique import unique_names

    table = _without_texts(table, data, there)
    error = uncodable(data, table)
    if error is not None:
        raise error
    if table.cells is not None and table.cells.texts:
        name = (table.feature_names or [])[next(iter(table.cells.texts))]
        raise ValueError(
            f"{data}: its columns are samples, and its rows features, which must be numbers; got "
            f"{quote(table.cells.cell(next(iter(table.cells.texts)), 0))} in column {quote(name)}. "
            "Leave such rows out."
        )
    if not isinstance(table.X, np.ndarray) or table.feature_names is None:
        raise ValueError(
            f"{data}: its columns are samples, and its rows features, which is read of CSV, TSV "
            "and Parquet alone; write it with a row for each sample."
        )
    features, notes = table.sample_names, tuple[str, ...]()
    if features is not None:
        features, notes = unique_names(features)
    X, cells = np.asfortranarray(table.X.T), None
    if table.cells is not None:
        cells = Cells(X, {}, [f"sample {quote(name)}" for name in table.feature_names])
    return replace(
        table,
        X=X,
        cells=cells,
        feature_names=features,
        sample_names=table.feature_names,
        descriptions=None,
        column_names={what: name for what, name in table.column_names.items() if what != "id"},
        notes=(*table.notes, *([note] if note else []), *notes),
    )

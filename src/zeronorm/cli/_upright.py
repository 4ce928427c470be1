"""Data with features in rows and samples in columns: taken the other way round."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ._beside import picked

if TYPE_CHECKING:
    from ..files import Layout, Table


def read_named(read: Callable[[str | None], Table], there: Collection[str]) -> Table:
    """Return data whose rows have names: of samples, or of features where samples are in columns.

    read : takes the column of the names; None: what the data say by themselves.
    there : what stands in the tables of the samples.
    """
    from ..files import FileError, SampleNamesError

    try:
        table = read(None)
    except FileError as error:
        if error.column is None:
            raise
        table = read(error.column)
        if not isinstance(error, SampleNamesError) and not _lies(table, there):
            raise
        return table
    names = table.feature_names
    if table.sample_names is None and names and names[0] not in there and _lies(table, there):
        return read(names[0])  # numbers of features
    return table


def _lies(table: Table, there: Collection[str]) -> bool:
    """Return whether the samples are in the columns, and not in the rows; whatever their case."""
    known = {name.casefold() for name in there}
    by_row = any(name.casefold() in known for name in table.sample_names or ())
    return not by_row and any(name.casefold() in known for name in table.feature_names or ())


def upright(table: Table, data: str, there: Collection[str]) -> Table:
    """Return data with samples in rows; where they are in columns, the other way round."""
    from ..files._unique import shared_name

    if not _lies(table, there):
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
    by_column = sum(name in there for name in table.feature_names or ())
    note = (
        f"features are in the rows of {data}, since {by_column:,} of its columns are samples of "
        "--samples: taken the other way round"
    )
    return turned(table, data, note)


def features_in_rows(data: str, like: Layout, encoding: str | None) -> Table | None:
    """Return data with samples in columns the other way round; None where rows are no features.

    like : a model, whose features the names of the rows are.
    """
    from ..files import FileError, read_table
    from ..files._unique import unique_names

    if like.codings or not Path(data).is_file():
        return None
    try:
        column = next(iter(read_table(data, encoding=encoding).feature_names or ()), None)
    except FileError as error:
        column = error.column
    if column is None:
        return None
    table = read_table(data, id=column, encoding=encoding)
    wanted = like.names or ()
    n_found = len(set(wanted) & set(unique_names(table.sample_names or ())[0]))
    if not n_found:
        return None
    note = (
        f"features are in the rows of {data}, since {n_found:,} features of the model are in its "
        f"column {column!r}: taken the other way round"
    )
    table = turned(table, data, note)
    X, features = picked(table.X, table.feature_names or [], wanted, data)
    return replace(table, X=X, feature_names=features)


def turned(table: Table, data: str, note: str) -> Table:
    """Return a table whose rows are features and whose columns are samples, the other way round."""
    import numpy as np

    from ..files._unique import unique_names

    if not isinstance(table.X, np.ndarray) or table.feature_names is None:
        raise ValueError(
            f"{data}: its columns are samples, and its rows features, which is read of CSV, TSV "
            "and Parquet alone; write it with a row for each sample."
        )
    features, notes = table.sample_names, tuple[str, ...]()
    if features is not None:
        features, notes = unique_names(features)
    return replace(
        table,
        X=np.asfortranarray(table.X.T),
        feature_names=features,
        sample_names=table.feature_names,
        descriptions=None,
        column_names={what: name for what, name in table.column_names.items() if what != "id"},
        notes=(*table.notes, note, *notes),
    )

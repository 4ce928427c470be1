"""Columns of tables of samples beside the features of the data: covariates, numbers or text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.remedies import remedy

if TYPE_CHECKING:
    from .codings import Coding, Content
    from .joins import Known
    from .table import Layout, Table


def with_columns(
    table: Table,
    known: Known,
    names: Sequence[str],
    codings: Mapping[str, Coding],
    missing: str | None,
) -> Table:
    """Return a table with columns of tables of samples behind its own; text is still to be coded.

    codings : of a model, by column.
    missing : what becomes of empty cells.
    """
    import numpy as np

    from ..core.files import quote
    from .coded import Cells
    from .texts import Texts

    X, features, cells = table.X, table.feature_names, table.cells
    if not names:
        return table
    if features is None or not isinstance(X, np.ndarray):
        raise ValueError(
            f"{known.data}: covariates of --samples go beside columns with names in memory; write "
            f"{quote(names[0])} into the data."
        )
    for name in {*names} & {*features}:
        raise ValueError(
            f"{known.data}: the covariate {quote(name)} is a column of the data and of "
            "--samples; rename one of them."
        )
    contents = [_content(known, name, codings.get(name), missing) for name in names]
    texts = {j: one for j, one in enumerate(contents, len(features)) if isinstance(one, Texts)}
    numbers = [
        np.full(len(one), np.nan) if isinstance(one, Texts) else one.astype(np.float64)
        for one in contents
    ]
    X = np.asfortranarray(np.column_stack([X, *numbers]))
    if cells is None and (texts or np.isnan(numbers).any()):
        cells = Cells(X, {}, [f"sample {quote(name)}" for name in table.sample_names or ()])
    if cells is not None:
        cells = replace(cells, numbers=X, texts={**cells.texts, **texts})
    return replace(table, X=X, feature_names=[*features, *names], cells=cells)


def _content(known: Known, name: str, coding: Coding | None, missing: str | None) -> Content:
    """Return a column, which must be numbers or text of few values."""
    from ..core.files import quote
    from .codings import Problem, fitted
    from .texts import Texts

    content: Content = known.content(name, as_text=coding is not None and coding.kind != "number")
    result = fitted(name, content, missing) if coding is None else coding
    problem = None if coding is None else coding.problem(content)
    if problem is not None:
        row = problem.row
        shown = quote("" if row is None else str(content[row]))
        raise ValueError(
            f"{known.data}: the covariate {quote(name)}: {shown} {problem.what}."
            f"{remedy(*problem.ways)}"
        )
    if isinstance(result, Problem) or result.kind == "date":
        what = result.what if isinstance(result, Problem) else "is a date"
        row = (result.row if isinstance(result, Problem) else None) or 0
        cell = quote(content[row]) if isinstance(content, Texts) else content[row]
        raise ValueError(
            f"{known.data}: the covariate {quote(name)} must be numbers, or text of few values; "
            f"got {cell}, which {what}."
        )
    return content


def picked(table: Table, wanted: Sequence[str], data: str) -> Table:
    """Return a table with the columns that a model needs alone, in its order."""
    from .unique import places_of_features

    orders = places_of_features(data, wanted, table.feature_names or [])
    cells = None if table.cells is None else table.cells.columns(orders)
    X: Any = table.X
    return replace(table, X=X[:, orders], feature_names=[*wanted], cells=cells)


def as_trained(
    table: Table,
    like: Layout | None,
    data: str,
    missing: str | None = None,
    covariates: Sequence[str] = (),
) -> Table:
    """Return a table with its cells coded, as a model has them where there is one."""
    import numpy as np

    from .coded import Cells, coded_whole, needs_coding
    from .table import Request

    if like is not None and like.sources is not None and table.feature_names is not None:
        table = picked(table, like.sources, data)
    if needs_coding(like) and table.cells is None:
        if not isinstance(table.X, np.ndarray):
            raise ValueError(
                f"{data}: the model codes columns as in its training, which is done of tables in "
                "memory alone; write the data as CSV or Parquet."
            )
        table = replace(table, cells=Cells(table.X, {}, table.sample_names or ()))
    request = Request(like=like, missing=missing, covariates=covariates)
    table = coded_whole(data, table, request)
    if like is not None and like.names is None and table.X.shape[1] != like.n_features:
        raise ValueError(
            f"{data}: {table.X.shape[1]} features; the model was trained on {like.n_features}."
        )
    return table


def column_of(feature: str, names: Collection[str]) -> str:
    """Return the column that a covariate is of: a level of text stands for it."""
    if feature in names:
        return feature
    ends = [name for name in names if feature.startswith(f"{name}=")]
    ends += [name for name in names if feature == f"{name} is missing"]
    return ends[0] if ends else feature

"""What the columns of a table hold, before anything is said of them: kinds, gaps, few values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...files import FileError, Table
from ...files._coded import coded_whole
from ...files._coded_notes import is_constant
from ...files._codings import DROP, NAMES, Coding, Content, Problem, fitted, gaps_of, said
from ...files._table import Request
from ...files._texts import Texts

CLASSES = 10  # values that a target of classes has at most here
_NAMES = re.compile(r"(^|[^a-z])(id|ids|sample|patient|subject)s?($|[^a-z])", re.IGNORECASE)


def describe_columns(table: Table) -> dict[str, Any]:
    """Return what is in each column of a table that is not coded yet, and what they could be."""
    columns = [*_records(table)]
    return {
        "columns": columns,
        "rows_with_gaps": int(_rows_with_gaps(table).sum()),
        "targets": _targets(table, columns),
    }


def coded_as_far_as_can_be(source: str, table: Table, columns: list[dict[str, Any]]) -> Table:
    """Return a table with the columns that can be features alone, their empty cells filled."""
    kept = [j for j, one in enumerate(columns) if one["kind"] not in ("text", "unusable")]
    if not kept:
        listed = "; ".join(one["problem"] for one in columns[:3])
        raise FileError(f"{source}: none of its columns can be a feature: {listed}.")
    if table.cells is None:
        return table
    cells = table.cells.columns(kept)
    names = [columns[j]["name"] for j in kept]
    own = replace(table, X=cells.numbers, feature_names=names, cells=cells)
    return coded_whole(source, own, Request(missing="mean"))


def _content(table: Table, order: int) -> Content:
    X: Any = table.X
    return X[:, order] if table.cells is None else table.cells.content(order)


def _records(table: Table) -> Iterator[dict[str, Any]]:
    """Yield a record of every column."""
    own = {} if table.cells is None else dict(table.cells.problems or {})
    for order, name in enumerate(table.feature_names or ()):
        content = _content(table, order)
        result = own.get(order) or fitted(name, content, "mean")
        record: dict[str, Any] = {"name": name, "kind": "unusable", "problem": None}
        record["constant"] = isinstance(result, Coding) and is_constant(result, content)
        if isinstance(result, Coding):
            record["kind"] = result.kind
        else:
            if isinstance(content, Texts) and {*result.ways} <= {DROP, NAMES}:
                record["kind"] = "text"
            record["problem"] = _in_words(table, order, name, result)
        yield {**record, "missing": int(gaps_of(content).size), **_values(content)}


def _in_words(table: Table, order: int, name: str, problem: Problem) -> str:
    """Return why a column can be no feature, with the place of an example."""
    if table.cells is None or problem.row is None:
        return said(name, "", replace(problem, only=True))
    place = table.cells.places[problem.row]
    return said(f"{name}, {place}", table.cells.cell(order, problem.row), problem)


def _values(content: Content) -> dict[str, Any]:
    """Return the number of different values, of numbers that are not whole None, and the range."""
    if isinstance(content, Texts):
        return {"distinct": len(content.counts()), "least": None, "largest": None}
    known = content[np.isfinite(content)]
    if not known.size:
        return {"distinct": 0, "least": None, "largest": None}
    least, largest = float(known.min()), float(known.max())
    distinct: int | None = 1 if least == largest else None
    if distinct is None and (known == np.floor(known)).all():
        distinct = int(np.unique(known).size)
    return {"distinct": distinct, "least": least, "largest": largest}


def _rows_with_gaps(table: Table) -> Any:
    """Return which rows have an empty cell, but in columns that are empty in all."""
    found = np.zeros(table.X.shape[0], bool)
    if table.cells is not None:
        for order in range(table.X.shape[1]):
            gaps = gaps_of(_content(table, order))
            found[gaps if gaps.size < found.size else []] = True
    return found


def may_name_samples(record: dict[str, Any], n_rows: int) -> bool:
    """Return whether a column may hold names of the samples: of which most rows have their own."""
    n_distinct = record["distinct"] or 0
    own = n_distinct == n_rows
    counted = record["least"] is not None and record["largest"] - record["least"] == n_rows - 1
    named = _NAMES.search(record["name"]) is not None
    return 2 * n_distinct > n_rows > 2 and (
        named or (own and (counted or record["kind"] == "text"))
    )


def _targets(table: Table, columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the columns of few values, which could be classes to predict, two values first.

    Numbers of few values are none where most columns are such, as counts and genotypes are.
    """
    few = [
        (j, one)
        for j, one in enumerate(columns)
        if one["kind"] in ("number", "category") and 2 <= (one["distinct"] or 0) <= CLASSES
    ]
    numbers = sum(one["kind"] == "number" for _, one in few)
    if numbers > len(columns) // 2 and numbers > CLASSES:
        few = [(j, one) for j, one in few if one["kind"] != "number"]
    few.sort(key=lambda pair: pair[1]["distinct"] > 2)
    return [{"column": one["name"], "counts": _counts(_content(table, j))} for j, one in few]


def _counts(content: Content) -> dict[str, int]:
    if isinstance(content, Texts):
        return dict(sorted(content.counts().items()))
    values, counts = np.unique(content[np.isfinite(content)], return_counts=True)
    return {f"{value:g}": int(n) for value, n in zip(values, counts, strict=True)}

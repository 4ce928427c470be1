"""The data and their features, as every document has them; what the columns of a table hold."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
import numpy as np
import scipy.sparse as sp
from msgspec import UNSET

from ...core.files import FileError
from ...core.groups import Groups
from ...core.ranking import numbered
from ...core.results import Certificate
from ...core.types import Design, FloatArray
from ...io.encoding import (
    DROP,
    NAMES,
    Coding,
    ColumnProblem,
    Content,
    coded_whole,
    fitted,
    gaps_of,
    is_constant,
    said,
)
from ...io.input import Response
from ...io.table import Dataset, TableRequest
from ...io.texts import Texts
from ..records import (
    CodedColumn,
    Column,
    Columns,
    DataRead,
    Duplicates,
    Feature,
    ModelFile,
    Range,
    Span,
    TargetColumn,
    Task,
)

if TYPE_CHECKING:
    from ...persistence import LoadedModel

_T = TypeVar("_T")

CLASSES = 10  # values that a target of classes has at most here
_CELLS = 1 << 21  # that are sorted at a time
_NAMES = re.compile(r"(^|[^a-z])(id|ids|sample|patient|subject)s?($|[^a-z])", re.IGNORECASE)


def describe_data(
    data: str,
    table: Dataset,
    response: Response | None = None,
    groups: Groups | None = None,
    n_covariates: int = 0,
) -> DataRead:
    """Return the size, storage and target of the data, and how many groups its features are in.

    n_covariates : how many of its columns are covariates of the models.
    """
    n_samples, n_features = table.X.shape
    storage = table.X.storage if isinstance(table.X, Design) else f"dense {table.X.dtype}"
    if sp.issparse(table.X):
        share = table.X.nnz / max(1, n_samples * n_features)
        storage = f"sparse {table.X.dtype}, {100 * share:.2g}% stored"
    counts = {}
    if response is not None and response.labelled:
        labels, sizes = np.unique(response.y, return_counts=True)
        if response.order is not None:
            places = np.argsort(numbered(labels, response.order))
            labels, sizes = labels[places], sizes[places]
        counts = {str(label): int(size) for label, size in zip(labels, sizes, strict=True)}
    target, task = table.target_name, None if response is None else response.task
    return DataRead(
        source=data,
        n_samples=int(n_samples),
        n_features=int(n_features),
        n_covariates=n_covariates,
        n_groups=None if groups is None else len(groups),
        storage=storage,
        target=target if isinstance(target, str | None) else list(target),
        class_counts=counts,
        task=cast("Task | None", task),
        guess=None if response is None else response.guess,
        columns=dict(table.column_names),
        coded={
            one.column: CodedColumn(kind=one.kind, levels=list(one.levels))
            for one in table.codings.values()
            if one.kind != "number"
        },
        filled=dict(table.filled),
        range=None if response is None or counts else _describe_range(response),
    )


def _describe_range(response: Response) -> Range:
    """Return the range of numbers, counts or survival times."""
    y = response.y
    if response.task == "survival":
        time, event = np.asarray(y["time"]), np.asarray(y["event"])
        strata = int(np.unique(y["stratum"]).size) if "stratum" in y.dtype.names else UNSET
        return Range(
            least=float(time.min()), largest=float(time.max()), events=int(event.sum()),
            strata=strata,
        )  # fmt: skip
    offset = response.offset
    exposure = UNSET if offset is None else float(np.exp(offset).sum())
    spans = [
        Span(least=float(one.min()), largest=float(one.max()), mean=float(one.mean()))
        for one in ([y] if y.ndim == 1 else y.T)
    ]
    if y.ndim > 1:
        return Range(responses=spans, exposure=exposure)
    (one,) = spans
    return Range(least=one.least, largest=one.largest, mean=one.mean, exposure=exposure)


def described(table: Dataset, index: int) -> dict[str, Any]:
    """Return the fields of `Feature`."""
    description = table.descriptions[index] if table.descriptions else None
    return {"index": index, "name": feature_name(table, index), "description": description}


def describe_feature(table: Dataset, index: int) -> Feature:
    return Feature(**described(table, index))


def describe_equivalents(certificate: Certificate, table: Dataset) -> list[Duplicates]:
    """Return the features of a support that have duplicates, each with them."""
    return [
        Duplicates(
            feature=describe_feature(table, feature),
            equivalents=[describe_feature(table, other) for other in others.tolist()],
        )
        for feature, others in certificate.equivalents.items()
    ]


def describe_file(loaded: LoadedModel) -> ModelFile:
    """Return the content of a model file."""
    return msgspec.convert(
        {
            **loaded.metadata,
            "classes": getattr(loaded, "classes_", np.empty(0)).tolist(),
            "support": loaded.support_.tolist(),
            "features": loaded.columns.tolist(),
            "coef": loaded.coef.tolist(),
            "intercept": loaded.intercept_.tolist(),
        },
        ModelFile,
    )


def feature_name(table: Dataset, index: int) -> str:
    names = table.feature_names
    return names[index] if names is not None else str(index + table.first_index)


def by_class(classes: Any, paths: Sequence[_T]) -> Iterator[tuple[Any, _T]]:
    """Return each path with the class that its scores speak for."""
    labels = [None] if classes is None else classes.tolist()  # of numbers there are none
    return zip(labels[1:] if len(labels) == 2 else labels, paths, strict=True)


def describe_columns(table: Dataset) -> Columns:
    """Return what is in each column of a table that is not coded yet, and what they could be."""
    columns = [*_records(table)]
    gaps, targets = int(_rows_with_gaps(table).sum()), _targets(table, columns)
    return Columns(columns=columns, rows_with_gaps=gaps, targets=targets)


def _records(table: Dataset) -> Iterator[Column]:
    """Yield a record of every column."""
    problems = {} if table.cells is None else dict(table.cells.problems or {})
    texts = {} if table.cells is None else table.cells.texts
    numbers = _of_numbers(_numbers(table))
    for order, (name, (values, infinite)) in enumerate(
        zip(table.feature_names or (), numbers, strict=True)
    ):
        # Plain numbers need nothing else, and there may be a million of them.
        plain = not (infinite or order in problems or order in texts)
        constant = values["distinct"] in (0, 1)
        record: dict[str, Any] = {"kind": "number", "problem": None, "constant": constant}
        if not plain:
            record |= _kind(table, order, name, problems.get(order))
        yield Column(name=name, **record, **(_of_texts(texts[order]) if order in texts else values))


def _kind(table: Dataset, order: int, name: str, problem: ColumnProblem | None) -> dict[str, Any]:
    """Return what a column can be, or why it can be no feature."""
    content = _content(table, order)
    result = problem or fitted(name, content, "mean")
    if isinstance(result, Coding):
        return {"kind": result.kind, "constant": is_constant(result, content)}
    is_text = isinstance(content, Texts) and {*result.ways} <= {DROP, NAMES}
    said_of_it = _in_words(table, order, name, result)
    return {"kind": "text" if is_text else "unusable", "problem": said_of_it, "constant": False}


def _content(table: Dataset, order: int) -> Content:
    X: Any = table.X
    return X[:, order] if table.cells is None else table.cells.content(order)


def _in_words(table: Dataset, order: int, name: str, problem: ColumnProblem) -> str:
    """Return why a column can be no feature, with the place of an example."""
    if table.cells is None or problem.row is None:
        return said(name, "", replace(problem, only=True))
    place = table.cells.places[problem.row]
    return said(f"{name}, {place}", table.cells.cell(order, problem.row), problem)


def _of_numbers(numbers: FloatArray) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the gaps of every column, its different numbers and their range; if some are infinite.

    The number of different ones is None where they are not whole.
    """
    missing, infinite = np.isnan(numbers).sum(axis=0), np.isinf(numbers).sum(axis=0)
    last, begin = numbers.shape[0] - 1 - missing - infinite, 0
    for values, is_new in _sorted(numbers, range(numbers.shape[1])):
        own = slice(begin, begin + len(values))
        begin = own.stop
        distinct = is_new.sum(axis=1)
        whole = (np.isnan(values) | (values == np.floor(values))).all(axis=1)
        largest = values[np.arange(len(values)), np.maximum(last[own], 0)]
        parts = missing[own], distinct, whole | (distinct < 2), values[:, 0], largest, infinite[own]
        for gaps, n, is_counted, low, high, n_infinite in zip(
            *(part.tolist() for part in parts), strict=True
        ):
            limits = {"least": low, "largest": high} if n else {"least": None, "largest": None}
            yield {"missing": gaps, "distinct": n if is_counted else None, **limits}, n_infinite > 0


def _sorted(numbers: FloatArray, orders: Sequence[int]) -> Iterator[tuple[FloatArray, Any]]:
    """Yield some columns at a time as rows of finite numbers that grow, then NaN.

    With them, which of these numbers are not as the one before.
    """
    step = max(1, _CELLS // numbers.shape[0])
    for begin in range(0, len(orders), step):
        values = numbers[:, orders[begin : begin + step]].T + 0.0  # -0 is 0
        values[np.isinf(values)] = np.nan
        values.sort(axis=1)
        is_new = ~np.isnan(values)
        is_new[:, 1:] &= values[:, 1:] != values[:, :-1]
        yield values, is_new


def _numbers(table: Dataset) -> FloatArray:
    """Return the numbers of all columns, NaN where a cell is empty or text."""
    return np.asarray(table.X) if table.cells is None else table.cells.numbers


def _of_texts(texts: Texts) -> dict[str, Any]:
    """Return the same of text."""
    values = {"distinct": len(texts.counts()), "least": None, "largest": None}
    return {"missing": int(gaps_of(texts).size), **values}


def _rows_with_gaps(table: Dataset) -> Any:
    """Return which rows have an empty cell, but in columns that are empty in all."""
    if table.cells is None:
        return np.zeros(table.X.shape[0], bool)
    gaps = np.isnan(table.cells.numbers)
    for order, texts in table.cells.texts.items():
        gaps[:, order] = False
        gaps[gaps_of(texts), order] = True
    return gaps[:, ~gaps.all(axis=0)].any(axis=1)


def _targets(table: Dataset, columns: Sequence[Column]) -> list[TargetColumn]:
    """Return the columns of few values, which could be classes to predict, two values first.

    Numbers of few values are none where most columns are such, as counts and genotypes are.
    """
    few = [
        (j, one)
        for j, one in enumerate(columns)
        if one.kind in ("number", "category") and 2 <= (one.distinct or 0) <= CLASSES
    ]
    numbers = sum(one.kind == "number" for _, one in few)
    if numbers > len(columns) // 2 and numbers > CLASSES:
        few = [(j, one) for j, one in few if one.kind != "number"]
    few.sort(key=lambda pair: (pair[1].distinct or 0) > 2)
    of_numbers = [j for j, one in few if one.kind == "number"]
    counts = dict(zip(of_numbers, _counts(_numbers(table), of_numbers), strict=True))
    return [
        TargetColumn(
            column=one.name, counts=counts[j] if j in counts else _counts_of_texts(table, j)
        )
        for j, one in few
    ]


def _counts(numbers: FloatArray, orders: Sequence[int]) -> Iterator[dict[str, int]]:
    """Yield how many rows have each number of some columns."""
    for values, is_new in _sorted(numbers, orders):
        ends = np.isfinite(values).sum(axis=1)
        for row, new, end in zip(values, is_new, ends.tolist(), strict=True):
            begins = [*np.flatnonzero(new).tolist(), end]
            yield {f"{row[at]:g}": to - at for at, to in itertools.pairwise(begins)}


def _counts_of_texts(table: Dataset, order: int) -> dict[str, int]:
    texts = _content(table, order)
    assert isinstance(texts, Texts)
    return dict(sorted(texts.counts().items()))


def coded_as_far_as_can_be(source: str, table: Dataset, columns: Sequence[Column]) -> Dataset:
    """Return a table with the columns that can be features alone, their empty cells filled."""
    kept = [j for j, one in enumerate(columns) if one.kind not in ("text", "unusable")]
    if not kept:
        listed = "; ".join(str(one.problem) for one in columns[:3])
        raise FileError(f"{source}: none of its columns can be a feature: {listed}.")
    if table.cells is None:
        return table
    cells = table.cells.columns(kept)
    names = [columns[j].name for j in kept]
    own = replace(table, X=cells.numbers, feature_names=names, cells=cells)
    return coded_whole(source, own, TableRequest(missing="mean"))


def may_name_samples(record: Column, n_rows: int) -> bool:
    """Return whether a column may hold names of the samples: of which most rows have their own."""
    n_distinct = record.distinct or 0
    if not 2 * n_distinct > n_rows > 2:
        return False
    least, largest = record.least, record.largest
    counted = least is not None and largest is not None and largest - least == n_rows - 1
    own = n_distinct == n_rows and (counted or record.kind == "text")
    return own or _NAMES.search(record.name) is not None

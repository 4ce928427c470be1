"""The features of a table with columns that are no plain numbers, or with empty cells.

Readers give what stands in the cells; this says what becomes of it, or lists all columns of which
nothing can become.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.files import FileError, SampleNamesError, quote
from ..core.remedies import remedy
from ..core.types import Design, FloatArray
from .coded_notes import notes_of, notes_of_constants, notes_of_kinds
from .codings import (
    DROP,
    FILL,
    NAMES,
    UNKNOWN,
    Coding,
    Content,
    Problem,
    by_frequency,
    fitted,
    gaps_of,
    said,
)
from .source import Source
from .table import Columns, Layout, Request, Table, check_count, strict_float
from .texts import Texts

_SHOWN = 10  # columns of a list of bad ones
_DENSE = 1 << 30  # bytes of features above which those of categories are stored sparse


class _Kept(Sequence[str]):
    """Some of the places of rows, each found when it is asked for: that may read the file again."""

    def __init__(self, places: Sequence[str], kept: NDArray[np.int64]) -> None:
        self._places, self._kept = places, kept

    def __len__(self) -> int:
        return self._kept.size

    def __getitem__(self, row: Any) -> Any:
        return self._places[int(self._kept[row])]


@dataclass(frozen=True, slots=True)
class Cells:
    """What stands in the columns of features."""

    numbers: FloatArray  # (n_samples, n_features), NaN where a cell is empty or text
    texts: Mapping[int, Texts]  # by place among the features
    places: Sequence[str]  # of every row, as "line 3"
    # What else is in the way, by place among the features.
    problems: Mapping[int, Problem] | None = None
    gaps: str | None = None  # what is to be said of empty cells where there must be none

    def content(self, order: int) -> Content:
        """Return one column."""
        return self.texts[order] if order in self.texts else self.numbers[:, order]

    def cell(self, order: int, row: int) -> str:
        """Return one cell."""
        return self.texts[order][row] if order in self.texts else str(self.numbers[row, order])

    def rows(self, kept: NDArray[np.int64]) -> Cells:
        """Return some rows."""
        place = {row: new for new, row in enumerate(kept.tolist())}
        return replace(
            self,
            numbers=np.asfortranarray(self.numbers[kept]),
            texts={
                order: replace(some, codes=some.codes[kept]) for order, some in self.texts.items()
            },
            places=_Kept(self.places, kept),
            problems={
                order: replace(one, row=None if one.row is None else place.get(one.row))
                for order, one in (self.problems or {}).items()
            },
        )

    def columns(self, orders: Sequence[int]) -> Cells:
        """Return some columns, in the order given."""
        problems = self.problems or {}
        return replace(
            self,
            numbers=np.asfortranarray(self.numbers[:, orders]),
            texts={new: self.texts[old] for new, old in enumerate(orders) if old in self.texts},
            problems={new: problems[old] for new, old in enumerate(orders) if old in problems},
        )


@dataclass(frozen=True, slots=True)
class Coded:
    """The features, as a table has them."""

    X: FloatArray | sp.csr_array[Any] | Design
    names: list[str]
    notes: tuple[str, ...]
    codings: dict[str, Coding]  # of every feature that is not just a number
    filled: dict[str, int]  # empty cells by column
    unseen: dict[str, tuple[int, str]]  # values that a model does not know by column, an example


def as_table(
    source: Source | str,
    columns: Columns,
    X: NDArray[Any],
    cells: Cells | None,
    request: Request,
    others: Mapping[str, Any],
) -> Table:
    """Return a table, its features as they stand or, where there are cells, coded.

    others : what else the table has.
    """
    like = request.like
    later = request.is_part and columns.names is not None  # coded beside the other parts
    if cells is None or later or not len(X):
        names, notes = columns.feature_names(like)
        if like is None and not request.is_part:
            notes = (*notes, *notes_of_constants(names, X))
        table = Table(X, feature_names=names, notes=notes, cells=cells, **others)
    else:
        table = with_features(Table(X, **others), coded(source, columns, cells, request), like)
    if like is not None and like.exact and table.cells is None:
        named = bool(columns.targets or columns.others or columns.samples)
        check_count(source, table.X.shape[1], like, named)
    return table


def coded_whole(source: str, table: Table, request: Request) -> Table:
    """Return a table with its features coded by the cells of all rows that it has."""
    if table.cells is None:
        more = [] if request.like else notes_of_constants(table.feature_names, table.X)
        return replace(table, notes=(*table.notes, *more))
    found = coded(source, _columns_of(table), table.cells, request)
    return with_features(table, found, request.like)


def uncodable(source: str, table: Table) -> FileError | None:
    """Return why columns of a table can be no features whatever becomes of empty cells."""
    if table.cells is None:
        return None
    try:
        _fitted_codings(source, _columns_of(table), table.cells, Request(missing="indicator"))
    except FileError as error:
        return error
    return None


def _columns_of(table: Table) -> Columns:
    names = table.feature_names or []
    samples = None if table.sample_names is None else 0
    return Columns(names, len(names), [*range(len(names))], (), samples)


def with_features(table: Table, found: Coded, like: Layout | None) -> Table:
    """Return a table with features that are coded."""
    by_model = like is not None and like.names is not None
    notes = notes_of(found.filled, found.unseen, by_model, found.codings)
    return replace(
        table,
        X=found.X,
        feature_names=found.names,
        notes=(*table.notes, *found.notes, *notes),
        codings=found.codings,
        filled=found.filled,
        unseen=found.unseen,
        cells=None,
    )


def coded(source: Source | str, columns: Columns, cells: Cells, request: Request) -> Coded:
    """Return the features of a table, as of a model where the request has one.

    Raises
    ------
    FileError
        Where a column can be no feature, or cells are empty and nothing says what they are: it
        lists all such columns.
    """
    like = request.like
    found = _fitted_codings(source, columns, cells, request)
    if columns.names is None:
        raise FileError(
            f"{source}: text and empty cells in features need names of the columns; add a header "
            "line."
        )
    wanted = None if like is None or like.names is None else list(like.names)
    covariates = {*request.covariates, *(() if like is None else like.covariates)}
    features, codings = _names_of(source, found, covariates, wanted)
    if not features:
        raise FileError(f"{source}: no features in it, but columns of one value.")
    filled = _filled_cells(cells, found, wanted is not None)
    told: list[str] = []
    if wanted is None:
        contents = ((one, cells.content(order)) for order, one in found.items())
        told = [*columns.feature_names(None)[1], *notes_of_kinds(contents)]
    unseen = {} if wanted is None else _unseen(found, cells)
    Y: Any = _assembled(cells, found, features)
    if not sp.issparse(Y) and any(coding.gaps is not None for coding in found.values()):
        if wanted is not None:
            for name, column in zip(features, Y.T, strict=True):
                column[np.isnan(column)] = codings[name].fill or 0.0
        elif np.isnan(Y).any():
            Y, codings = _whole_filled(Y, features, codings, like is None)
    return Coded(Y, features, tuple(told), codings, filled, unseen)


def _fitted_codings(
    source: Source | str, columns: Columns, cells: Cells, request: Request
) -> dict[int, Coding]:
    """Return how every column is coded, by place; a FileError lists those that cannot be."""
    like, way = request.like, request.missing
    names, _ = columns.feature_names(None)
    if like is not None and like.names is None:
        way = like.columns.get("missing")
    known = {} if like is None else {one.column: one for one in like.codings.values()}
    found: dict[int, Coding] = {}
    problems = dict(cells.problems or {})
    for order, name in enumerate(names or []):
        if order in problems:
            continue
        content = cells.content(order)
        own = known.get(name)
        if own is None and like is not None and like.names is not None:
            own = Coding(name, "number")
        result = fitted(name, content, way) if own is None else own.problem(content) or own
        if isinstance(result, Problem):
            problems[order] = result
        else:
            found[order] = result
    if problems:
        raise _refusal(source, columns, cells, problems)
    return found


def _names_of(
    source: Source | str,
    found: Mapping[int, Coding],
    covariates: Collection[str],
    wanted: Sequence[str] | None,
) -> tuple[list[str], dict[str, Coding]]:
    """Return the names of the features and the coding of each; those that are wanted alone."""
    owner: dict[str, Coding] = {}
    for coding in found.values():
        for name in coding.names_beside(covariates if wanted is None else ()):
            if name in owner:
                raise FileError(
                    f"{source}: two features would have the name {quote(name)}, of the columns "
                    f"{quote(owner[name].column)} and {quote(coding.column)}. Rename one of them."
                )
            owner[name] = coding
    names = list(owner) if wanted is None else list(wanted)
    return names, {name: owner[name] for name in names}


def _assembled(
    cells: Cells, found: Mapping[int, Coding], names: Sequence[str]
) -> FloatArray | sp.csr_array[Any]:
    """Return the features of some names; sparse where they are many and without gaps."""
    place = {name: j for j, name in enumerate(names)}

    def columns() -> Iterator[tuple[int, NDArray[Any]]]:
        for order, coding in found.items():
            own = coding.names()
            if not place.keys().isdisjoint(own):
                for name, values in zip(own, coding.features(cells.content(order)), strict=True):
                    if name in place:
                        yield place[name], values

    n = cells.numbers.shape[0]
    gaps = any(coding.number is not None and coding.gaps for coding in found.values())
    if 8 * n * len(names) <= _DENSE or gaps:
        X = np.zeros((n, len(names)), order="F")
        for j, values in columns():
            X[:, j] = values
        return X
    parts: list[Any] = [None] * len(names)
    for j, values in columns():
        parts[j] = sp.csc_array(values[:, None], dtype=np.float64)
    return sp.csr_array(sp.hstack(parts))


def _whole_filled(
    X: FloatArray, names: Sequence[str], codings: Mapping[str, Coding], lazily: bool
) -> tuple[FloatArray | Design, dict[str, Coding]]:
    """Return X with means, or most frequent values, for NaN, and codings that know them.

    lazily : as a design, of which parts of the rows are filled by their own means.
    """
    from ..data import resolve_threads
    from ..data.filled import fill

    design = fill(X, resolve_threads(None), by_frequency(codings))
    kept = with_fills(names, design.mean, codings)
    everything: Any = design.gather(slice(None))
    return design if lazily else everything, kept


def with_fills(
    names: Sequence[str], means: FloatArray, codings: Mapping[str, Coding]
) -> dict[str, Coding]:
    """Return codings that know the means of their columns."""
    kept = dict(codings)
    for name, mean in zip(names, means.tolist(), strict=True):
        coding = codings.get(name)
        if coding is not None and coding.number == name and coding.gaps is not None:
            kept |= {
                feature: replace(coding, fill=mean)
                for feature in coding.names()
                if feature in codings
            }
    return kept


def _filled_cells(cells: Cells, found: Mapping[int, Coding], by_model: bool) -> dict[str, int]:
    counts = {}
    for order, coding in found.items():
        if coding.gaps is None:
            continue
        content = cells.content(order)
        n_gaps = int(gaps_of(content).size)
        # A column without any value has none to be filled by, but a model may have one.
        nothing = not by_model and not isinstance(content, Texts) and n_gaps == content.size
        if n_gaps and not nothing:
            counts[coding.column] = n_gaps
    return counts


def _unseen(found: Mapping[int, Coding], cells: Cells) -> dict[str, tuple[int, str]]:
    """Return how many values of a category a model does not know, and the first of them."""
    rows = {order: one.unseen(cells.content(order)) for order, one in found.items()}
    return {
        found[order].column: (some.size, cells.texts[order][int(some[0])])
        for order, some in rows.items()
        if some.size
    }


def _refusal(
    source: Source | str, columns: Columns, cells: Cells, problems: Mapping[int, Problem]
) -> FileError:
    """Return the error that lists all columns that can be no features."""
    listed = []
    for order in sorted(problems)[:_SHOWN]:
        problem, name = problems[order], columns.name(columns.features[order])
        cell = ""
        if problem.row is not None:
            name = f"{name}, {cells.places[problem.row]}"
            cell = cells.cell(order, problem.row)
        listed.append(said(name, cell, problem))
    more = f"; and {len(problems) - _SHOWN:,} more" if len(problems) > _SHOWN else ""
    head = "" if len(problems) == 1 else f"{len(problems):,} columns cannot be features: "
    names_samples = columns.samples is None and 0 in problems
    names_samples = names_samples and _may_name_samples(cells, problems[0])
    ways = {way: None for problem in problems.values() for way in problem.ways}
    gaps = "" if cells.gaps is None or ways.keys().isdisjoint({FILL, UNKNOWN}) else cells.gaps
    first = columns.argument(columns.features[0])
    named = NAMES.replace("NAME", shlex.quote(first)) if names_samples else NAMES
    last = [way for way in (DROP, NAMES) if ways.pop(way, way) is None]
    ways_out = [*ways, *(named if way == NAMES else way for way in last)]
    error = (SampleNamesError if names_samples else FileError)(
        f"{source}: {head}{'; '.join(listed)}{more}.{gaps}{remedy(*ways_out)}"
    )
    if 0 in problems and 0 in cells.texts:
        error.column = first
    return error


def _may_name_samples(cells: Cells, problem: Problem) -> bool:
    """Whether the first column of features is mostly text and no value occurs twice."""
    texts = cells.texts.get(0)
    if texts is None or NAMES not in problem.ways or not 1 < len(texts) == len(texts.levels):
        return False
    return 2 * sum(strict_float(text) is None for text in texts.levels) > len(texts)


def text_features(columns: Columns, like: Layout | None) -> set[int]:
    """Return the features, by place, that a model takes as text: categories and dates."""
    codings = {} if like is None else like.codings
    text = {one.column for one in codings.values() if one.kind != "number"}
    names = columns.feature_names(None)[0] if text else None
    return {order for order, name in enumerate(names or ()) if name in text}


def needs_coding(like: Layout | None) -> bool:
    """Whether the features of a model are not the columns of a table as they stand."""
    return like is not None and bool(like.codings)

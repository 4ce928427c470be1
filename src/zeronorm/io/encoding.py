"""The features of a table with columns that are no plain numbers, or with empty cells.

Readers give what stands in the cells; this says what becomes of it, or lists all columns of which
nothing can become.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.files import FileError, Require, SampleNamesError, check_fields, quote
from ..core.messages import Doubt, counted, remedy, some
from ..core.types import Design, FloatArray
from .meaning import (
    DAY_FIRST,
    ISO,
    MONTH_FIRST,
    ORDERS,
    POINTS,
    Unclear,
    date_of,
    days_of,
    first_day,
    is_written_out,
    notes_of_array,
    notes_of_codes,
    notes_of_stand_ins,
    number_problem,
    numbers_of,
    order_of,
    unit_of,
    units_of,
)
from .source import Source
from .table import Dataset, Layout, TableColumns, TableRequest, check_count
from .texts import Texts, alike, are_codes, folded, is_code, strict_float

# How one column of a table becomes features: categories one-hot, dates as days, gaps filled.
#
# A `Coding` is made of the rows that a model is trained on, is kept with the model, and gives the
# features of any other rows.

KINDS = ("number", "category", "date")
# What becomes of empty cells: the mean of the column, or its most frequent value; indicator: the
# mean, and a column beside it that says where.
FREQUENT = "most_frequent"
WAYS = ("mean", FREQUENT, "indicator")
MAX_LEVELS = 1000

# The cells of a column: numbers, NaN where one is missing, or text.
Content: TypeAlias = "FloatArray | Texts"


@dataclass(frozen=True, slots=True)
class ColumnProblem:
    """Why a column can be no feature, with an example."""

    what: str
    ways: tuple[str, ...]  # out of it, as of `remedy`
    row: int | None = None  # of the example
    only: bool = True  # whether `what` is all that there is to say; else the cell comes first


DROP = "leave the column out with --drop NAME"
NAMES = "say --id NAME if it names the samples"
MEND = "mend such a value"
WRITE = "write a value there"
FILL = (
    "say --missing mean, which fills what is missing with the mean of its column (most_frequent: "
    "with its most frequent value; indicator: and says in a column where)"
)
VALUES = "save values, not formulas"
TRAINED = "write such a value as the training data have it"
OF_FORMULA = "a formula, of which the file does not say the value"
UNKNOWN = (
    "fill it: no cell was empty in the training of the model, which knows no mean or level for it"
)


@dataclass(frozen=True, slots=True)
class Coding:
    """How a column becomes features.

    - A number is itself, without the unit that it is written with; with gaps an empty cell is
      `fill`, and with "indicator" the feature "NAME is missing" is 1 there and else 0.
    - A category is "NAME=LEVEL", 1 or 0, for every level; of two levels for the second alone, as
      the first is where it is 0. With gaps it is "NAME is missing" where its cell is empty. Another
      level is 0 in all of them.
    - A date is "NAME: days since ORIGIN", a number; a time of the day is a part of a day.
    """

    column: str
    kind: str
    levels: tuple[str, ...] = ()  # sorted, of categories
    origin: str | None = None  # of dates the first day
    gaps: str | None = None  # one of `WAYS`; None: there must be none
    fill: float | None = None  # of numbers and dates
    form: str | None = None  # of numbers their unit; of dates one of `ORDERS`

    @property
    def absent(self) -> str:
        """The feature that says where cells are empty."""
        return f"{self.column} is missing"

    @property
    def number(self) -> str | None:
        """The feature that is a number, if there is one."""
        if self.kind == "date":
            return f"{self.column}: days since {self.origin}"
        return self.column if self.kind == "number" else None

    def names(self) -> list[str]:
        """Return the names of the features."""
        names = [] if self.number is None else [self.number]
        if self.kind == "category":
            first = len(self.levels) == 2 and self.gaps is None
            names += [f"{self.column}={level}" for level in self.levels[first:]]
        return [*names, self.absent] if self.gaps == "indicator" else names

    def names_beside(self, covariates: Collection[str]) -> list[str]:
        """Return the names of the features but that of the base level of a covariate.

        Where the category is a covariate, that is its first level, as the intercept and the others
        say where it is; where single levels are, the only one that is none of them.
        """
        names = self.names()
        if self.kind != "category" or len(names) < 2:
            return names
        base = names[:1] if self.column in covariates else {*names}.difference(covariates)
        return [name for name in names if name not in base] if len(base) == 1 else names

    def features(self, content: Content) -> Iterator[NDArray[Any]]:
        """Yield the values of every feature, NaN where a number is missing; bool for 1 and 0."""
        if isinstance(content, Texts):
            if self.kind == "number":
                yield numbers_of(content)
            elif self.kind == "date":
                yield days_of(content, str(self.form), str(self.origin))
            else:
                yield from self._levels(content)
        else:
            yield content
        if self.gaps == "indicator":
            empty = np.zeros(len(content), bool)
            empty[gaps_of(content)] = True
            yield empty

    def unseen(self, content: Content) -> NDArray[np.int64]:
        """Return the rows whose texts are none of the levels of a category."""
        if self.kind != "category" or not isinstance(content, Texts):
            return np.empty(0, np.int64)
        known = {"", *self.levels}
        return content.rows(lambda text: text not in known)

    def problem(self, content: Content) -> ColumnProblem | None:
        """Return why other rows cannot be coded so."""
        trained = "and the model was trained on"
        if not isinstance(content, Texts):
            rows = np.flatnonzero(~np.isnan(content)) if self.form else np.empty(0, np.int64)
            if rows.size:
                what = f"has no unit, {trained} numbers with {quote(str(self.form))}"
                return ColumnProblem(what, (TRAINED,), int(rows[0]), only=False)
            return _infinite(content) or self.gaps_problem(content, (UNKNOWN,))
        unclear: Unclear | None = None
        counts = content.counts()
        if self.kind == "date":
            order = str(self.form)
            dates = {text: date_of(text) for text in counts}
            what = f"is no {_DATED[order]}, {trained} dates there"
            unclear = Unclear(what, lambda text: not ((one := dates[text]) and one.moment(order)))
        elif self.kind == "number":
            unclear = number_problem(counts, self.form or "", f"{trained} numbers there")
            if unclear is None and not (self.form or is_written_out(counts) or are_codes(counts)):
                what = f"is a number that is written as text, {trained} numbers there"
                unclear = Unclear(what, bool)
        rows = content.rows(lambda text: text in counts and unclear and unclear.holds(text))
        if unclear is not None and rows.size:
            what, ways = unclear.what, (TRAINED,)
            if content[int(rows[0])].startswith("="):
                what, ways = f"is {OF_FORMULA}, {trained} {self.kind}s there", (VALUES,)
            elif POINTS in unclear.ways:
                ways = (POINTS,)
            return ColumnProblem(what, ways, int(rows[0]), only=False)
        return self._alike(content) or self.gaps_problem(content, (UNKNOWN,))

    def _alike(self, texts: Texts) -> ColumnProblem | None:
        """Return the problem of a text that is almost a level, which would be 0 in all features."""
        rows = self.unseen(texts)
        if not rows.size:
            return None
        levels = {folded(level): level for level in self.levels}
        alike = {text: levels[folded(text)] for text in texts.levels if folded(text) in levels}
        row = next((int(row) for row in rows if texts[row] in alike), None)
        if row is None:
            return None
        known = quote(alike[texts[row]])
        what = f"differs from {known}, which the model knows, by case or blanks alone"
        return ColumnProblem(what, (TRAINED,), row, only=False)

    def gaps_problem(
        self, content: Content, ways: tuple[str, ...] = (FILL, WRITE, DROP)
    ) -> ColumnProblem | None:
        """Return the problem of empty cells where there must be none."""
        found = gaps_of(content)
        if self.gaps is not None or not found.size:
            return None
        n = len(content)
        if found.size == n:
            ways = tuple(way for way in ways if way != FILL)  # by nothing
            return ColumnProblem("all values are missing", ways, int(found[0]))
        return ColumnProblem(f"a value is missing ({found.size:,} of {n:,})", ways, int(found[0]))

    def _levels(self, texts: Texts) -> Iterator[NDArray[np.bool_]]:
        code = {level: place for place, level in enumerate(self.levels)}
        # Short integers are compared several times as fast.
        codes = np.array([code.get(text, -1) for text in texts.levels], np.int16)[texts.codes]
        for place in range(len(self.levels) == 2 and self.gaps is None, len(self.levels)):
            yield codes == place


def gaps_of(content: Content) -> NDArray[np.int64]:
    """Return the rows whose cells are empty."""
    if isinstance(content, Texts):
        return content.rows(lambda text: not text)
    return np.flatnonzero(np.isnan(content))


def fitted(
    column: str, content: Content, way: str | None, dates: str | None = None
) -> Coding | ColumnProblem:
    """Return how a column is coded for a model, or why it cannot be.

    way : one of `WAYS`, None where empty cells are refused. dates : how dates are written, one of
        `ORDERS`; None: as the column says.
    """
    coding: Coding | ColumnProblem
    if isinstance(content, Texts):
        coding = _of_text(column, content, dates)
    else:
        coding = _infinite(content) or Coding(column, "number")
    if isinstance(coding, ColumnProblem):
        return coding
    empty = gaps_of(content).size > 0
    if way is None or not empty:
        return coding.gaps_problem(content) or replace(coding, gaps=None)
    return replace(coding, gaps="indicator" if coding.kind == "category" else way)


def by_frequency(codings: Mapping[str, Coding]) -> bool:
    """Return whether most frequent values fill what is empty."""
    return any(coding.gaps == FREQUENT for coding in codings.values())


def _infinite(values: FloatArray) -> ColumnProblem | None:
    """Return the problem of a number that is not finite."""
    rows = np.flatnonzero(np.isinf(values))
    if not rows.size:
        return None
    return ColumnProblem(f"a value is not finite ({values[rows[0]]})", (MEND, DROP), int(rows[0]))


_DATED = {
    ISO: "date as 2020-01-31",
    DAY_FIRST: "date as 31/01/2020",
    MONTH_FIRST: "date as 01/31/2020",
}


def _of_text(column: str, texts: Texts, order: str | None) -> Coding | ColumnProblem:
    """Return how a column of text is coded: as dates or numbers where they are, else as a category.

    Labels of a categorical column are a category, whatever they look like.
    """
    counts = texts.counts()
    n = sum(counts.values())

    def problem(what: str, holds: Any, *ways: str) -> ColumnProblem:
        row = int(texts.rows(lambda text: text in counts and holds(text))[0])
        return ColumnProblem(what, ways or (MEND, DROP), row, only=False)

    def refused(unclear: Unclear) -> ColumnProblem:
        return problem(unclear.what, unclear.holds, *(unclear.ways and (*unclear.ways, DROP)))

    codes = are_codes(counts)
    if not (texts.are_labels or codes):
        dates = {text: date_of(text) for text in counts}
        if 2 * sum(count for text, count in counts.items() if dates[text]) > n:
            found = order_of(dates, order)
            if isinstance(found, Unclear):
                return refused(found)
            first = first_day(dates.values(), found)
            return Coding(column, "date", origin=first, form=found)
        if any(text.startswith("=") for text in counts):
            what = f"is {OF_FORMULA}"
            return problem(what, lambda text: text.startswith("="), VALUES, DROP)
        unit = unit_of(counts)
        if unit is not None:
            unclear = number_problem(counts, unit)
            if unclear is not None:
                return refused(unclear)
            if not (unit or is_written_out(counts)):
                return problem("is a number that is written as text", bool)
            return Coding(column, "number", form=unit or None)
    levels = sorted(counts)
    if len(levels) > MAX_LEVELS or 2 * len(levels) > n:
        many = f"{len(levels):,} different values in {n:,} rows"
        most = f"a category has at most {MAX_LEVELS:,}, and half as many as rows"
        units = units_of(counts) if not codes else []
        if units:
            what = f"is a number, and the units of the column are several ({some(units, _LISTED)})"
            return problem(what, bool, "write all numbers in one unit", DROP)
        kind = "a code that begins with a zero" if codes else "text"
        what = f"is {kind}, with {many}; {most}"
        of_codes = ("write numbers without zeros before them",) if codes else ()
        named = [NAMES] if len(levels) == n else []
        return problem(what, is_code if codes else bool, *of_codes, DROP, *named)
    return Coding(column, "category", tuple(levels))


def said(name: str, cell: str, problem: ColumnProblem) -> str:
    """Return a problem in words. name : of the column, with the place of the example."""
    return f"{name}: {problem.what if problem.only else f'{quote(cell)} {problem.what}'}"


# Notes on columns that became features: kinds, cells that were filled, unknown values.

_LISTED = 10  # columns of a list


def notes_of(
    filled: Mapping[str, int],
    unseen: Mapping[str, tuple[int, str]],
    by_model: bool,
    codings: Mapping[str, Coding],
) -> list[str]:
    """Return notes about cells that are filled, and about values that a model does not know.

    codings : of features of the columns.
    """
    notes: list[str] = [
        Doubt(
            f"{count:,} {'row has' if count == 1 else 'rows have'} a value of {quote(column)} that "
            f"the model never saw, as {quote(example)}: scored {_as_what(column, codings)}"
        )
        for column, (count, example) in unseen.items()
    ]
    return [*notes, _said_of_filled(filled, by_model, codings)] if filled else notes


def _as_what(column: str, codings: Mapping[str, Coding]) -> str:
    """Return as which levels a value counts that a model does not know: those without a feature."""
    coding = next(one for one in codings.values() if one.column == column)
    base = [level for level in coding.levels if f"{column}={level}" not in codings]
    if coding.gaps is not None and coding.absent not in codings:
        base.append("")
    shown = [quote(level) if level else "an empty cell" for level in base]
    if not base:
        return "as none of the levels that it knows, each of which has a coefficient"
    if len(base) == 1:
        return f"as if it were {shown[0]}, the base level"
    return f"as if it were one of {some(shown, _LISTED)}, which have no coefficient"


def _said_of_filled(
    filled: Mapping[str, int], by_model: bool, codings: Mapping[str, Coding]
) -> str:
    of_model, of_rows = "means", "mean"
    if by_frequency(codings):
        of_model, of_rows = "most frequent values", "most frequent value"
    shown = some([f"{column} {count:,}" for column, count in filled.items()], _LISTED)
    of_text = {one.column for one in codings.values() if one.kind == "category"}
    ways = []
    if not of_text.issuperset(filled):
        ways.append(
            f"by the {of_model} of its training rows"
            if by_model
            else f"by the {of_rows} of the training rows, in every fold by that of the fold"
        )
    if not of_text.isdisjoint(filled):
        ways.append("text by a level of its own")
    how = f"{'as the model was trained: ' if by_model else ''}{'; '.join(ways)}"
    total = counted(sum(filled.values()), "empty cell")
    return f"{total} in {counted(len(filled), 'column')} filled ({shown}) {how}"


_READ = {
    ISO: "",
    DAY_FIRST: ", read with the day first,",
    MONTH_FIRST: ", read with the month first,",
}


def notes_of_kinds(columns: Iterable[tuple[Coding, Content]]) -> list[str]:
    """Return notes about the columns that are no numbers, and about those without any use."""
    known = list(columns)
    categories = [
        f"{one.column} {len(one.levels)}"
        for one, _ in known
        if one.kind == "category" and one.names()
    ]
    dates: dict[str, list[str]] = {}
    for one, _ in known:
        if one.kind == "date":
            dates.setdefault(_READ[str(one.form)], []).append(one.column)
    constant = [one.column for one, content in known if is_constant(one, content)]
    notes = []
    if categories:
        notes.append(
            f"{counted(len(categories), 'column')} of text as categories, with the number of their "
            f"levels: {some(categories, _LISTED)}"
        )
    notes += [
        f"{counted(len(columns), 'column')} of dates{read} as days since the first: "
        f"{some(columns, _LISTED)}"
        for read, columns in dates.items()
    ]
    written = [
        f"{one.column} ({one.form or 'signs or blanks of typesetting'})"
        for one, content in known
        if one.kind == "number" and isinstance(content, Texts) and is_written_out(content.counts())
    ]
    if written:
        notes.append(
            f"{counted(len(written), 'column')} of numbers with units or signs, read without them: "
            f"{some(written, _LISTED)}"
        )
    notes += notes_of_codes(
        (one.column, one.levels)
        for one, content in known
        if one.kind == "category" and isinstance(content, Texts) and not content.are_labels
    )
    numbers = (
        (one.column, numbers_of(content) if isinstance(content, Texts) else content)
        for one, content in known
        if one.kind == "number"
    )
    doubled = [
        Doubt(
            f"column {quote(one.column)}: the levels {levels} differ only in case or blanks, and "
            "are features of their own; write them alike"
        )
        for one, _ in known
        if one.kind == "category"
        for levels in alike(one.levels)
    ]
    return [*notes, *doubled, *_said_of_constants(constant), *notes_of_stand_ins(numbers)]


def notes_of_numbers(names: Sequence[str] | None, X: Any) -> list[str]:
    """Return notes about the columns of an array that have one value, or codes for missing ones.

    Rows are compared with the first one, a growing number at a time, in the columns that are left:
    most differ within a few rows, so that this is no pass over the data.
    """
    if names is None or not isinstance(X, np.ndarray) or len(X) < 2:
        return []
    left, top, n_rows = np.arange(X.shape[1]), 1, 1
    while left.size and top < len(X):
        same = (X[top : top + n_rows, left] == X[0, left]).all(axis=0)
        left, top, n_rows = left[same], top + n_rows, 2 * n_rows
    constant = _said_of_constants([names[j] for j in left.tolist()])
    return [*constant, *notes_of_array(names, X)]


def _said_of_constants(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    what = counted(len(names), "column")
    return [f"{what} with one value or none, which can never be selected: {some(names, _LISTED)}"]


def is_constant(coding: Coding, content: Content) -> bool:
    """Return whether a column has one value or none."""
    if coding.kind == "category":
        return len(coding.levels) + (coding.gaps is not None) < 2
    if isinstance(content, Texts):
        return len(content.counts()) < 2
    known = content[~np.isnan(content)]
    return not known.size or bool((known == known[0]).all())


_SHOWN = 10  # columns of a list of bad ones
_DENSE = 1 << 30  # bytes of features above which those of categories are stored sparse


class _SomePlaces(Sequence[str]):
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
    problems: Mapping[int, ColumnProblem] | None = None
    gaps: str | None = None  # what is to be said of empty cells where there must be none
    dates: str | None = None  # how dates are written, one of `ORDERS`; None: as a column says

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
            places=_SomePlaces(self.places, kept),
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
    columns: TableColumns,
    X: NDArray[Any],
    cells: Cells | None,
    request: TableRequest,
    others: Mapping[str, Any],
) -> Dataset:
    """Return a table, its features as they stand or, where there are cells, coded.

    others : what else the table has.
    """
    like = request.like
    if cells is not None:
        cells = replace(cells, dates=request.dates)
    later = request.is_part and columns.names is not None  # coded beside the other parts
    if cells is None or later or not len(X):
        names, notes = columns.feature_names(like)
        if like is None and not request.is_part:
            notes = (*notes, *notes_of_numbers(names, X))
        table = Dataset(X, feature_names=names, notes=notes, cells=cells, **others)
    else:
        table = with_features(Dataset(X, **others), coded(source, columns, cells, request), like)
    if like is not None and like.exact and table.cells is None:
        named = bool(columns.targets or columns.others or columns.samples)
        check_count(source, table.X.shape[1], like, named)
    return table


def coded_whole(source: str, table: Dataset, request: TableRequest) -> Dataset:
    """Return a table with its features coded by the cells of all rows that it has."""
    if table.cells is None:
        more = [] if request.like else notes_of_numbers(table.feature_names, table.X)
        return replace(table, notes=(*table.notes, *more))
    found = coded(source, _columns_of(table), table.cells, request)
    return with_features(table, found, request.like)


def uncodable(source: str, table: Dataset) -> FileError | None:
    """Return why columns of a table can be no features whatever becomes of empty cells."""
    if table.cells is None:
        return None
    try:
        _fitted_codings(source, _columns_of(table), table.cells, TableRequest(missing="indicator"))
    except FileError as error:
        return error
    return None


def _columns_of(table: Dataset) -> TableColumns:
    names = table.feature_names or []
    samples = None if table.sample_names is None else 0
    return TableColumns(names, len(names), [*range(len(names))], (), samples)


def with_features(table: Dataset, found: Coded, like: Layout | None) -> Dataset:
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


def coded(
    source: Source | str, columns: TableColumns, cells: Cells, request: TableRequest
) -> Coded:
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
    source: Source | str, columns: TableColumns, cells: Cells, request: TableRequest
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
        result = own and (own.problem(content) or own)
        result = result or fitted(name, content, way, cells.dates)
        if isinstance(result, ColumnProblem):
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
    from ..data.views import fill

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
    source: Source | str, columns: TableColumns, cells: Cells, problems: Mapping[int, ColumnProblem]
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


def _may_name_samples(cells: Cells, problem: ColumnProblem) -> bool:
    """Whether the first column of features is mostly text and no value occurs twice."""
    texts = cells.texts.get(0)
    if texts is None or NAMES not in problem.ways or not 1 < len(texts) == len(texts.levels):
        return False
    return 2 * sum(strict_float(text) is None for text in texts.levels) > len(texts)


def text_features(columns: TableColumns, like: Layout | None) -> set[int]:
    """Return the features, by place, that a model takes as text: categories and dates."""
    codings = {} if like is None else like.codings
    text = {one.column for one in codings.values() if one.kind != "number"}
    names = columns.feature_names(None)[0] if text else None
    return {order for order, name in enumerate(names or ()) if name in text}


def needs_coding(like: Layout | None) -> bool:
    """Whether the features of a model are not the columns of a table as they stand."""
    return like is not None and bool(like.codings)


# How features came from columns of a table, in model files: categories, dates, means of gaps.

_CODING = {
    "column": str,
    "kind": str,
    "levels": list,
    "origin": (str, type(None)),
    "gaps": (str, type(None)),
    "fill": (float, type(None)),
    "form": (str, type(None)),
}


def describe_codings(
    support: Iterable[int], names: Sequence[Any] | None, codings: Mapping[str, Coding]
) -> list[dict[str, Any]]:
    """Return the records of the columns that features of a model come from, but for plain numbers.

    names : of all features.
    """
    if names is None:
        return []
    used = {coding.column: coding for j in support if (coding := codings.get(str(names[j])))}
    return [
        {**asdict(coding), "levels": list(coding.levels)}
        for coding in used.values()
        if coding.kind != "number" or coding.gaps is not None or coding.form is not None
    ]


def check_codings(records: Sequence[Any], require: Require) -> None:
    """Check what `describe_codings` returns."""
    for record in records:
        require(isinstance(record, dict), "a coding must be a JSON object")
        check_fields("a coding", record, _CODING, require)
        kind, gaps, fill = record["kind"], record["gaps"], record["fill"]
        require(kind in KINDS, f"the kind of a coding must be one of {', '.join(KINDS)}")
        levels = record["levels"]
        require(
            all(isinstance(level, str) for level in levels) and len({*levels}) == len(levels),
            "the levels of a coding must be distinct strings",
        )
        dated = record["origin"] is not None and date_of(record["origin"]) is not None
        require(dated == (kind == "date"), "the origin of a coding must be the day of dates")
        of_form = record["form"] is None if kind == "category" else kind == "number"
        require(
            of_form or record["form"] in ORDERS,
            f"the form of a coding of dates must be one of {', '.join(ORDERS)}, of numbers a unit",
        )
        require(gaps is None or gaps in WAYS, f"gaps must be one of {', '.join(WAYS)}, or null")
        require(fill is None or math.isfinite(fill), "the fill of a coding must be finite")
    columns = [record["column"] for record in records]
    require(len({*columns}) == len(columns), "codings must be of distinct columns")


def codings_of(
    records: Sequence[Mapping[str, Any]], names: Sequence[str] | None, require: Require
) -> dict[str, Coding]:
    """Return the coding of every feature of a model that has one.

    names : of the features of the model.
    """
    found: dict[str, Coding] = {}
    known = set(names or ())
    for record in records:
        coding = Coding(**{**record, "levels": tuple(record["levels"])})
        own = known.intersection(coding.names())
        require(bool(own), f"the coding of {quote(coding.column)} must be of a feature")
        found |= dict.fromkeys(own, coding)
    return found

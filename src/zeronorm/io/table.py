"""What the readers return, and what each column of a file with columns is.

`Dataset` is the result of every reader, `Layout` what a trained model demands of one. CSV and
Parquet find their target and features with `assign`, so that a column is named alike in both.
"""

from __future__ import annotations

import math
import operator
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import ParameterError
from ..core.files import (
    FileError,
    GapError,
    MissingFeaturesError,
    PathLike,
    TargetError,
    WhereError,
    did_you_mean,
    quote,
)
from ..core.messages import option, remedy, span
from ..core.types import Design
from .source import Source, is_label_file
from .texts import strict_float

if TYPE_CHECKING:
    from .encoding import Cells, Coding


# Names of columns that occur twice, as gene symbols do: the n-th of m columns is "NAME (n of m)".
#
# The place in the table is no part of such a name, so that another order of other columns changes
# nothing. The number of columns is, so that a file with more or fewer of them has no such feature.

_MARKED = re.compile(r"(.*) \([0-9]+ of ([0-9]+)\)'*", re.DOTALL)
_UNNAMED = "unnamed"


def unique_names(
    names: Sequence[str], places: Sequence[int] | None = None
) -> tuple[list[str], tuple[str, ...]]:
    """Return different names of all columns, and a note if any had to be changed.

    places : the columns whose names are returned, told apart from those of all others as well.
    """
    count = Counter(names)
    wanted = range(len(names)) if places is None else places
    if len(count) == len(names) and "" not in count:
        return [names[j] for j in wanted], ()
    taken = set(count)
    seen = Counter[str]()
    unique: list[str] = []
    for name in names:
        if name and count[name] == 1:
            unique.append(name)
            continue
        seen[name] += 1
        candidate = f"{name or _UNNAMED} ({seen[name]} of {count[name]})"
        while candidate in taken:
            candidate += "'"
        taken.add(candidate)
        unique.append(candidate)
    changed = [unique[j] for j in wanted if unique[j] != names[j]]
    notes = (
        f"{len(changed):,} features share a name or have none: they are told apart by their order, "
        f"as {quote(changed[0])}"
        for _ in changed[:1]
    )
    return [unique[j] for j in wanted], tuple(notes)


def shared_name(name: str) -> tuple[str, int]:
    """Return the name that columns share, and how many do; of any other name itself and 1."""
    found = _MARKED.fullmatch(name)
    return (name, 1) if found is None else (found[1], int(found[2]))


def other_number(missing: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the message where columns share the name of a missing feature, but not as many.

    names : different ones, of what is there.
    """
    count = Counter(shared_name(name)[0] for name in names)
    for name in missing:
        own, trained = shared_name(name)
        there = count[own]
        if there:
            return (
                f"{there} {'column has' if there == 1 else 'columns have'} the name {quote(own)}, "
                f"and the model was trained on {trained}, so that its feature {quote(name)} cannot "
                f"be told. Give the column that is meant, and no other, the name {quote(name)}."
            )
    return None


def places_of_features(source: object, wanted: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return where the features of a model stand among columns of different names."""
    position = {name: j for j, name in enumerate(names)}
    missing = [name for name in wanted if name not in position]
    if missing:
        other = other_number(missing, names)
        if other is not None:
            raise MissingFeaturesError(f"{source}: {other}")
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        shown = ", ".join(quote(name) for name in missing[:3])
        kind, verb = ("features", "are") if missing[1:] else ("feature", "is")
        raise MissingFeaturesError(
            f"{source}: the model needs the {kind} {shown}{more}, which {verb} not there."
            f"{did_you_mean(missing[0], names, given=wanted)}"
        )
    return [position[name] for name in wanted]


# Rows that are kept: comparisons of columns with values, all of which must hold.

MISSING = {"", "na", "n/a", "nan", "null", "#n/a", "?"}


def absent(na: str | None, like: Layout | None) -> tuple[str, ...]:
    """Return what stands for a missing value, by an option or as in the training of a model."""
    text = na or (None if like is None else like.columns.get("na")) or ""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def check_dates(dates: str | None, name: str = "dates") -> None:
    """Refuse what is no way to write dates. name : of the parameter."""
    if dates not in (None, "day-first", "month-first", "iso"):
        raise ParameterError(name, "must be day-first, month-first or iso", f"{dates!r:.50}")


def is_missing(cell: Any, absent: Sequence[str] = ()) -> bool:
    """Return whether a cell has no value: none, NaN, or a word that stands for one.

    absent : other texts and numbers that do; a number is the same in any form: -9 is -9.0.
    """
    if isinstance(cell, str):
        cell = cell.strip()
        if cell.lower() in MISSING or cell in absent:
            return True
    elif cell is None or cell != cell:
        return True
    if not absent or isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return False
    number = strict_float(cell) if isinstance(cell, str) else cell
    return number is not None and any(strict_float(one) == number for one in absent)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_NAME = re.compile(r"""\s*(?:`([^`]+)`|([^\s`'"<>=!(),][^\s`'"<>=!]*))""")
_SIGN = re.compile(r"\s*(==|!=|<=|>=|<|>|in\b|not\s+in\b)", re.IGNORECASE)
_VALUE = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)"|([^\s'"<>=!(),]+))""")
_MARK = re.compile(r"\s*([(),]|and\b|or\b)", re.IGNORECASE)
_MAX_SEEN = 1000  # values of a column that are kept, of which an error may name the nearest


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """A column, an operator and what the column is compared with."""

    name: str
    operator: str
    value: float | str | tuple[float | str, ...]  # several of in and not in, of one kind

    def __str__(self) -> str:
        """Return it as it is written."""
        several = self.value if isinstance(self.value, tuple) else (self.value,)
        shown = [repr(one) if isinstance(one, str) else f"{one:.15g}" for one in several]
        value = f"({', '.join(shown)})" if isinstance(self.value, tuple) else shown[0]
        name = self.name if _NAME.fullmatch(self.name) else f"`{self.name}`"
        return f"{name} {self.operator} {value}"

    @property
    def of_text(self) -> bool:
        """Whether it compares with text."""
        return isinstance(self.value[0] if isinstance(self.value, tuple) else self.value, str)

    def _compared(self, cell: Any) -> bool:
        if isinstance(self.value, tuple):
            return (cell in self.value) == (self.operator == "in")
        return bool(_OPERATORS[self.operator](cell, self.value))

    @property
    def of_presence(self) -> bool:
        """Whether it only asks for a value: != ''."""
        return (self.operator, self.value) == ("!=", "")

    def holds(self, cell: Any, place: str) -> bool | None:
        """Return whether a cell compares so; None where it is missing.

        cell : a number, text, or None. Text that is compared with a number is read as one.
        """
        if is_missing(cell):
            return None
        number: Any = cell
        if self.of_presence:
            return True
        if self.of_text:
            if not isinstance(cell, str):
                raise FileError(
                    f"{place}: {option('--where')} compares the column {quote(self.name)} with "
                    f"text; got the number {cell}. Write the number without quotes."
                )
            return self._compared(cell.strip())
        if isinstance(cell, str):
            try:
                number = math.nan if "_" in cell else float(cell)
            except ValueError:
                number = None
        if not isinstance(number, int | float):
            raise FileError(
                f"{place}: {option('--where')} compares the column {quote(self.name)} with "
                f"the number {str(self).rpartition(f'{self.operator} ')[2]}; "
                f"got {quote(str(cell))}. Write text in quotes."
            )
        if math.isnan(number):
            return None
        return self._compared(number)


@dataclass(frozen=True, slots=True)
class Joint:
    """Conditions of which all must hold, or one."""

    word: str  # "and" or "or"
    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        """Return them as they are written."""
        shown = (f"({one})" if isinstance(one, Joint) else str(one) for one in self.parts)
        return f" {self.word} ".join(shown)


Condition: TypeAlias = "ColumnComparison | Joint"


def _comparisons_of(condition: Condition) -> Iterator[ColumnComparison]:
    if isinstance(condition, Joint):
        for one in condition.parts:
            yield from _comparisons_of(one)
    else:
        yield condition


class Where:
    """A condition that rows must pass, comparisons joined by `and` and `or`; counts those that do.

    A column that is missing in a row passes no comparison, and NAME != '' asks for nothing else.
    Columns that must be a text, or are in a range of texts, are no features; the others are what
    they are of the rows that are left.

    Parameters
    ----------
    text : str
        As "batch == 'B1' and (age >= 18 or site in ('x', 'y'))": a name, bare or in backticks, one
        of == != < <= > >= in, not in, and a number or text in quotes, or several in brackets. Text
        is compared as in a dictionary of code points. `and` binds before `or`.
    condition : a part of that of the text; None: all.

    Raises
    ------
    ValueError
        If it is something else.
    """

    def __init__(self, text: str, condition: Condition | None = None) -> None:
        self.text = " ".join(text.split())
        self.condition = _Parser(text).parsed() if condition is None else condition
        self.comparisons = tuple(_comparisons_of(self.condition))
        self.n_rows = self.n_kept = self.n_missing = 0
        # The comparisons that did not hold for a row; of what was to be a text what it was.
        self._failed: dict[ColumnComparison, set[str]] = {}

    @property
    def _needed(self) -> tuple[Condition, ...]:
        """The conditions that must all hold."""
        whole = self.condition
        return whole.parts if isinstance(whole, Joint) and whole.word == "and" else (whole,)

    def parted(self, names: Collection[str]) -> tuple[Where | None, Where | None]:
        """Return the conditions on other columns, and those on columns of these names."""
        parts: list[Where | None] = []
        for inside in (False, True):
            some = []
            for one in self._needed:
                where = {leaf.name in names for leaf in _comparisons_of(one)}
                if len(where) > 1:
                    raise ValueError(
                        f"{option('--where')} {one}: or joins a column of the data and one of a "
                        "table of samples; columns of both can be joined by and alone. Write "
                        "the column into the same file."
                    )
                if where == {inside}:
                    some.append(one)
            whole = some[0] if len(some) == 1 else Joint("and", tuple(some))
            text = self.text if len(some) == len(self._needed) else str(whole)
            parts.append(Where(text, whole) if some else None)
        return parts[0], parts[1]

    @property
    def of_text(self) -> list[str]:
        """The names of columns that must be a text, or in a range of texts."""
        needed = [one for one in self._needed if isinstance(one, ColumnComparison) and one.of_text]
        return [one.name for one in needed if one.operator in ("==", "<", "<=", ">", ">=")]

    @property
    def lost(self) -> list[str]:
        """Notes on columns that are compared with text: they are no features."""
        return [
            f"the column {quote(name)} is compared with text, and is no feature"
            for name in dict.fromkeys(self.of_text)
        ]

    def keeps(self, cells: Sequence[Any], place: str) -> bool:
        """Return whether a row is kept. cells : one for each comparison."""
        self.n_rows += 1
        held = self._holds(self.condition, iter(cells), place)
        self.n_kept += held is True
        self.n_missing += held is None
        return held is True

    def _holds(self, condition: Condition, cells: Iterator[Any], place: str) -> bool | None:
        """Return whether a condition holds; None where it does not, and a cell is missing."""
        if isinstance(condition, Joint):
            ends = condition.word == "or"  # whether what holds ends it, or what does not
            result: bool | None = not ends
            ended = False
            for one in condition.parts:
                if ended:  # the rest is not looked at, as cells may be of another kind there
                    for _ in _comparisons_of(one):
                        next(cells)
                    continue
                held = self._holds(one, cells, place)
                ended = (held is True) == ends
                if ended or held is None:
                    result = held
            return result
        cell = next(cells)
        held = condition.holds(cell, place)
        if not held:
            others = self._failed.setdefault(condition, set())
            if held is not None and condition.of_text and len(others) < _MAX_SEEN:
                others.add(cell.strip())
        return held

    @property
    def note(self) -> str:
        """What became of the rows."""
        missing = f"; {self.n_missing:,} have no value there" if self.n_missing else ""
        return f"kept {self.n_kept:,} of {self.n_rows:,} rows ({self.text}){missing}"

    def nothing_kept(self, source: object) -> FileError:
        """Return the error of data of which no row is kept."""
        # No row that passed those before it has passed this one.
        one = max(self._failed, key=self.comparisons.index, default=self.comparisons[0])
        values, hint = sorted(self._failed.get(one, ())), ""
        if one.operator in ("==", "in") and one.of_text:
            wanted = one.value[0] if isinstance(one.value, tuple) else one.value
            hint = did_you_mean(str(wanted), values)
        hint = hint or f" Look at the values of {quote(one.name)}."
        return FileError(f"{source}: no samples are left: {self.note}.{hint}")


def where_not(name: str, value: str) -> str:
    """Return the option that leaves out the rows of which a column is a text."""
    shown = name if _NAME.fullmatch(name) else f"`{name}`"
    mark = '"' if "'" in value or shown != name else "'"  # no ` within " of a shell
    return typed(f"{shown} != {mark}{value}{mark}")


def typed(comparisons: str) -> str:
    """Return the option as it is typed."""
    for mark, special in (('"', '"$`\\'), ("'", "'")):
        if not {*comparisons} & {*special}:
            return f"--where {mark}{comparisons}{mark}"
    return f"--where {shlex.quote(comparisons)}"


class _Parser:
    """Reads a condition from a text."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.depth = text, 0, 0

    def parsed(self) -> Condition:
        """Return the whole text as a condition."""
        found = self._joined("or")
        if self.text[self.place :].strip():
            raise self._refused("; comparisons are joined by and, or")
        return found

    def _joined(self, word: str) -> Condition:
        parts = [self._joined("and") if word == "or" else self._one()]
        while self._mark(word):
            parts.append(self._joined("and") if word == "or" else self._one())
        return parts[0] if len(parts) == 1 else Joint(word, tuple(parts))

    def _one(self) -> Condition:
        if self._mark("("):
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                raise self._refused("; there are too many brackets")
            found = self._joined("or")
            if not self._mark(")"):
                raise self._refused("; a bracket is not closed")
            self.depth -= 1
            return found
        begin = self.place
        name, sign = self._next(_NAME), self._next(_SIGN)
        if name is None or sign is None:
            self.place = begin
            raise self._refused()
        operator = " ".join(sign[0].lower().split())
        value: float | str | tuple[float | str, ...]
        value = self._several(operator) if operator.endswith("in") else self._value(operator)
        return ColumnComparison(name[0] or name[1], operator, value)

    def _several(self, operator: str) -> tuple[float | str, ...]:
        if not self._mark("("):
            raise self._refused(f"; write {operator} ('a', 'b')")
        values = [self._value(operator)]
        while self._mark(","):
            values.append(self._value(operator))
        if not self._mark(")"):
            raise self._refused("; a bracket is not closed")
        if len({isinstance(one, str) for one in values}) > 1:
            raise self._refused(f"; {operator} takes numbers, or text in quotes, and not both")
        return tuple(values)

    def _value(self, operator: str) -> float | str:
        begin = self.place
        found = self._next(_VALUE)
        if found is None:
            raise self._refused()
        single, double, bare = found
        text: str | None = single if single is not None else double
        if text is not None:
            return text
        number = strict_float(bare)
        if number is None or math.isnan(number):
            self.place = begin
            raise self._refused(f"; write text in quotes: {operator} {bare!r}", bare)
        return number

    def _next(self, pattern: re.Pattern[str]) -> tuple[Any, ...] | None:
        found = pattern.match(self.text, self.place)
        if found is None:
            return None
        self.place = found.end()
        return found.groups()

    def _mark(self, wanted: str) -> bool:
        found = _MARK.match(self.text, self.place)
        if found is None or found[1].lower() != wanted:
            return False
        self.place = found.end()
        return True

    def _refused(self, hint: str = "", at: str | None = None) -> ValueError:
        return _refused(self.text, at or self.text[self.place :], hint)


_MAX_DEPTH = 50  # brackets within brackets


def _refused(text: str, rest: str, hint: str = "") -> ValueError:
    if not hint and re.search(r"[^=!<>]=[^=]", rest):
        hint = "; equality is =="
    return ValueError(
        f'{option("--where")} must be NAME OP VALUE with ==, !=, <, <=, >, >= or in, as "batch == '
        f"'B1' and age >= 18\" (names with blanks in backticks); got "
        f"{quote(text)}, which is not understood at {quote(rest.strip())}{hint}."
    )


# What columns can be that are neither features nor the target.
ROLES = (
    "time", "event", "start", "strata", "offset", "exposure", "cv_groups", "blocks", "time_from",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dataset:
    """Samples read from a file, with what tables say of them; see `zeronorm.read_table`."""

    # (n_samples, n_features); a design where the file is read by blocks
    X: NDArray[Any] | sp.csr_array[Any] | Design
    y: NDArray[Any] | None  # (n_samples,); of several responses (n_samples, n_responses) numbers
    feature_names: list[str] | None = None  # n_features, unique
    target_name: str | tuple[str, ...] | None = None  # of several responses the name of each
    sample_names: list[str] | None = None  # n_samples
    descriptions: list[str] | None = None  # n_features, in words
    first_index: int = 0  # what the file calls its first feature when features have no names
    notes: tuple[str, ...] = ()  # what a user should know about the reading
    # What was asked for beside the target, as "time" or "offset": (n_samples,) each, and its name.
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    column_names: Mapping[str, str] = field(default_factory=dict)
    # What came from files of labels, in the order of their lines: "target", "time" and so on.
    by_position: tuple[str, ...] = ()
    # Of files that have them: the names of all columns of the samples, and of other matrices.
    known: Sequence[str] = ()
    layers: Sequence[str] = ()
    form: str = ""  # of the file, as "delimited" or "json_lines"
    variants: NDArray[np.void] | None = None  # of genotypes: where the first columns lie
    # How columns became features, by feature, of CSV and Parquet with other columns than numbers.
    codings: Mapping[str, Coding] = field(default_factory=dict)
    filled: Mapping[str, int] = field(default_factory=dict)  # empty cells by column
    # By column: in how many rows a model does not know the value, and one of them.
    unseen: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    cells: Cells | None = None  # of a part: what is still to be coded
    n_before: int | None = None  # rows of the file before --where
    na: str | None = None  # what stood for a missing value, as the caller said

    @property
    def layout(self) -> Layout:
        """How other files are read for a model of these features."""
        own = dict(self.column_names) | ({} if self.na is None else {"na": self.na})
        names, n_features = self.feature_names, self.X.shape[1]
        return Layout(
            n_features, names, self.first_index, self.target_name, columns=own,
            codings=self.codings,
        )  # fmt: skip

    @property
    def features(self) -> Any:
        """A data frame of polars with a line for each feature: its name and its column.

        Also what kind it is, number, category or date, and its description where there is one.
        """
        import polars as pl

        names = self.feature_names or [str(j) for j in range(self.X.shape[1])]
        made = [self.codings.get(name) for name in names]
        found = {
            "feature": names,
            "column": [
                name if one is None else one.column for name, one in zip(names, made, strict=True)
            ],
            "kind": ["number" if one is None else one.kind for one in made],
        }
        if self.descriptions is not None:
            found["description"] = self.descriptions
        return pl.DataFrame(found)

    @property
    def samples(self) -> Any:
        """A data frame of polars with a line for each sample: name, target, what else was asked."""
        import polars as pl

        found: dict[str, Any] = {}
        if self.sample_names is not None:
            found["sample"] = self.sample_names
        if self.y is not None:
            name = self.target_name or "target"
            if isinstance(name, tuple):
                found |= dict(zip(name, self.y.T, strict=True))
            else:
                found[name] = self.y
        found |= {self.column_names.get(role, role): one for role, one in self.columns.items()}
        return pl.DataFrame(found)


@dataclass(frozen=True, slots=True)
class Layout:
    """The table that a model was trained on: how another file of the same kind is to be read."""

    n_features: int
    names: Sequence[str] | None = None  # of the features the model needs
    first_index: int = 0
    target_name: str | Sequence[str] | None = None
    covariates: Sequence[str] = ()  # the names of those in the model, where it has names
    forced: Sequence[str] = ()  # of those in every model, where the others have no names
    exact: bool = False  # whether features that it lacks are an error; else they are ignored
    # Names of columns that were no features, by what they are: taken where the file has them.
    columns: Mapping[str, str] = field(default_factory=dict)
    codings: Mapping[str, Coding] = field(default_factory=dict)  # of its features, by their names

    @property
    def sources(self) -> list[str] | None:
        """The columns that the features are made of, by name; None where these have none."""
        if self.names is None:
            return None
        made = (self.codings[name].column if name in self.codings else name for name in self.names)
        return [*dict.fromkeys(made)]


@dataclass(frozen=True, slots=True)
class TableRequest:
    """What the caller says about the file."""

    target: str | None = None
    like: Layout | None = None
    id: str | None = None  # the column of the names of samples
    need_labels: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)  # by what they are, as "time"
    drop: Sequence[str] = ()  # columns that are nothing
    only: Sequence[str] = field(default=(), kw_only=True)  # columns that may be features
    layer: str | None = None  # which of several matrices
    where: Where | None = None  # which rows are kept
    missing: str | None = None  # what becomes of empty cells in features
    covariates: Sequence[str] = ()  # columns in every model: text without its base level
    encoding: str | None = None  # of text that is no UTF-8
    decimal: str | None = None  # the mark in numbers of text: "," or "."; None: found
    is_part: bool = False  # whether columns are coded beside those of other files
    na: str | None = None  # what stands for a missing value, with commas, beside what always does
    dates: str | None = None  # how dates are written: "day-first", "month-first" or "iso"
    spill: Path | None = None  # where X of text may lie on the disk instead of in memory
    feature_names: PathLike | None = None  # a file with a name on each line

    @property
    def absent(self) -> tuple[str, ...]:
        """What stands for a missing value: as the caller says, or as in the training of a model."""
        return absent(self.na, self.like)

    def keeps(self, cells: Sequence[Any], place: str) -> bool:
        """Return whether a row is kept, by the cells of the columns that are compared."""
        if self.where is None:
            return True
        return self.where.keeps(
            [None if is_missing(one, self.absent) else one for one in cells], place
        )

    @property
    def given(self) -> set[str]:
        """The names of columns that are something: what the caller names, and a model needs."""
        target = self.target or ""
        named = {target, *(part.strip() for part in target.split(",")), *self.columns.values()}
        return {
            *named,
            *self.drop,
            *self.only,
            self.id or "",
            *((self.like and self.like.sources) or ()),
        }

    def lacks_labels(self, columns: TableColumns) -> bool:
        """Whether labels are needed and nothing says where they are."""
        return self.need_labels and self.target is None and not columns.targets


@dataclass(frozen=True, slots=True)
class TableColumns:
    """What each column of a file is."""

    names: list[str] | None  # of all columns
    n_columns: int
    features: list[int]  # positions
    targets: tuple[int, ...]  # positions; of several responses one for each
    samples: int | None  # position of the names of samples
    others: Mapping[str, int] = field(default_factory=dict)  # by what they are
    compared: tuple[int, ...] = ()  # positions, for each comparison that rows must pass

    @property
    def kept(self) -> dict[int, str]:
        """What the columns are that are read as they stand: the target and the others."""
        return dict.fromkeys(self.targets, "the target") | {
            position: f"the {what}" for what, position in self.others.items()
        }

    def name(self, position: int) -> str:
        """Return a column in words, for a message."""
        if self.names is None:
            return f"column {position}"
        return f"column {quote(self.names[position])}"

    def gap(self, place: str, position: int, cell: str = "") -> GapError:
        """Return the error of a row that lacks a value of a column that is read as it stands.

        place : the file and the row. cell : what stands there.
        """
        role, ways = self.kept[position], ["drop the row"]
        if self.names is not None:
            ways.append(f"drop all without one by {where_not(self.names[position], '')}")
        what = f"{place}, {self.name(position)}: {role} is missing{cell and f' ({cell})'}"
        return GapError(role.removeprefix("the "), what, remedy(*ways))

    def argument(self, position: int) -> str:
        """Return what a caller writes for a column: its name if that is enough, or its index."""
        name = self.names[position] if self.names is not None else ""
        return name if self.names is not None and self.names.count(name) == 1 else str(position)

    def feature_names(self, like: Layout | None) -> tuple[list[str] | None, tuple[str, ...]]:
        """Return unique names of the features and a note if some had to be changed."""
        if self.names is None:
            # Numbers of columns tell the features of this file apart, but another file may have
            # its target elsewhere: there only the order counts.
            return None if like is not None else [f"column {j}" for j in self.features], ()
        if like is not None and like.names is not None:
            return list(like.names), ()
        return unique_names(self.names, self.features)

    def plain_name(self, position: int) -> str:
        """Return what a model calls a column that is no feature."""
        return f"column {position}" if self.names is None else self.names[position]


def assign(
    source: Source | str,
    names: list[str] | None,
    n_columns: int,
    samples: int | None,
    request: TableRequest,
) -> TableColumns:
    """Find the target, the names of samples and the features among the columns."""
    like = request.like
    targets = _find_targets(source, names, n_columns, request)
    roles: dict[str, int | None] = {}
    for what, name in request.columns.items():
        roles[what] = _find_column(source, name, names, n_columns, request, what)
    if like is not None and names is not None:
        for what in ROLES:
            known = like.columns.get(what)
            if known is not None and what not in roles and names.count(known) == 1:
                roles[what] = names.index(known)
    if request.id is not None:
        roles["id"] = samples = _find_column(source, request.id, names, n_columns, request, "id")
    elif like is not None and names is not None:
        own = like.columns.get("id")
        if own is not None and names.count(own) == 1:
            roles["id"] = samples = names.index(own)
    there = {what: place for what, place in roles.items() if place is not None}
    _check_distinct(source, targets, there)
    dropped: list[int | None] = []
    asked = {*targets, *there.values()}
    for name in request.drop:
        several = None if names is None else _several_columns(source, name, names)
        if several is None:
            place = _find_column(source, name, names, n_columns, request, "dropped")
            if place in asked:
                raise FileError(
                    f"{source}: column {quote(name)} is asked for, so it cannot be dropped."
                )
            dropped.append(place)
        else:
            dropped += [place for place in several if place not in asked]
    if request.only:
        kept: set[int | None] = {*asked}
        for name in request.only:
            several = None if names is None else _several_columns(source, name, names)
            kept |= {*several} if several is not None else {
                _find_column(source, name, names, n_columns, request, "kept")
            }  # fmt: skip
        dropped += [place for place in range(n_columns) if place not in kept]
    compared: tuple[int, ...] = ()
    if request.where is not None:
        wanted = [one.name for one in request.where.comparisons]
        found = [
            _find_column(source, name, names, n_columns, request, "compared") for name in wanted
        ]
        compared = tuple(place for place in found if place is not None)
        dropped += [_find_column(source, name, names, n_columns, request, "compared")
                    for name in request.where.of_text]  # fmt: skip
    taken = {*targets, *there.values(), *dropped, samples}
    if like is not None and names is not None:
        numbering = shlex.split(like.columns.get("row_numbers", ""))
        taken |= {names.index(name) for name in numbering if names.count(name) == 1}
    sources = None if like is None else like.sources
    if sources is not None and names is not None:
        features = places_of_features(source, sources, unique_names(names)[0])
    else:
        features = [j for j in range(n_columns) if j not in taken]
        if like is not None and not like.exact:
            check_count(source, len(features), like, bool(targets or there))
    if not features:
        why = "one column, which is the target" if n_columns == 1 else "every column is left out"
        raise FileError(f"{source}: no features in it ({why}).")
    others = {what: place for what, place in there.items() if what != "id"}
    return TableColumns(names, n_columns, features, targets, samples, others, compared)


def _several_columns(source: Source | str, text: str, names: Sequence[str]) -> list[int] | None:
    """Return the columns that a pattern as gene_* or a range as a:f means; None where it is a name.

    A column of that very name comes first.
    """
    if text in names:
        return None
    if {*text} & {*"*?"}:
        pattern = re.compile(".*".join(map(_with_single, text.split("*"))), re.DOTALL)
        found = [place for place, name in enumerate(names) if pattern.fullmatch(name)]
        if not found:
            raise FileError(f"{source}: no column is like {quote(text)}; write an existing name.")
        return found
    first, mark, last = text.partition(":")
    if not mark or names.count(first) != 1 or names.count(last) != 1:
        return None
    ends = names.index(first), names.index(last)
    if ends[0] > ends[1]:
        raise FileError(
            f"{source}: {quote(first)} stands behind {quote(last)}; write {last}:{first}."
        )
    return [*range(ends[0], ends[1] + 1)]


def _with_single(text: str) -> str:
    return ".".join(map(re.escape, text.split("?")))


def check_count(source: Source | str, n_features: int, like: Layout, named: bool) -> None:
    """Refuse another number of features than that of a model.

    named : whether any column is named as something else.
    """
    if n_features == like.n_features:
        return
    hint = ""
    if n_features == like.n_features + 1 and not named:
        hint = remedy("name the column of labels, if one of them is, with --target NAME")
    elif n_features > like.n_features:
        hint = remedy(
            "leave out those that were dropped there with --drop NAME",
            "choose rows as there with --where",
        )
    raise FileError(
        f"{source}: {n_features} features; the model was trained on {like.n_features}.{hint}"
    )


def _find_targets(
    source: Source | str, names: list[str] | None, n_columns: int, request: TableRequest
) -> tuple[int, ...]:
    """Return the positions of the target's columns; none if it is a file of its own, or nowhere."""
    target, like = request.target, request.like
    if target is None:
        known = None if like is None else like.target_name
        wanted = [known] if isinstance(known, str) else list(known or ())
        if names is not None and all(names.count(name) == 1 for name in wanted):
            return tuple(names.index(name) for name in wanted)
        if names is not None and request.need_labels:
            for name in wanted:  # the first without is refused
                _find_column(source, name, names, n_columns, request)
        return ()
    parts = [part.strip() for part in target.split(",")]
    if len(parts) == 1 or target in (names or ()) or is_label_file(target):
        position = _find_column(source, target, names, n_columns, request)
        return () if position is None else (position,)
    places = [_find_column(source, part, names, n_columns, request) for part in parts]
    found = tuple(place for place in places if place is not None)
    if len(set(found)) < len(parts):
        raise FileError(
            f"{source}: the target {quote(target)} must name different columns, with commas "
            "between them, or one file."
        )
    return found


def _check_distinct(source: Source | str, targets: Iterable[int], roles: Mapping[str, int]) -> None:
    """Refuse a column that is two things."""
    owner = dict.fromkeys(targets, "target")
    for what, position in roles.items():
        if position in owner:
            raise FileError(
                f"{source}: the {owner[position]} and the {what} must be two columns, not one."
            )
        owner[position] = what


def _find_column(
    source: Source | str,
    target: str,
    names: list[str] | None,
    n_columns: int,
    request: TableRequest,
    what: str = "target",
) -> int | None:
    """Return the position of a column; None if it is a file of its own."""
    if names is not None:
        count = names.count(target)
        if count == 1:
            return names.index(target)
        if count > 1:
            positions = ", ".join(str(j) for j, name in enumerate(names) if name == target)
            raise FileError(
                f"{source}: {count} columns have the name {quote(target)} (positions "
                f"{positions}); give the {what} by position."
            )
    if re.fullmatch(r"-?[0-9]{1,18}", target):
        position = int(target)
        if not -n_columns <= position < n_columns:
            raise FileError(
                f"{source}: the {what} column must be between {-n_columns} and {n_columns - 1}; "
                f"got {position}."
            )
        return position % n_columns
    if what not in ("id", "dropped", "compared") and is_label_file(target):
        return None
    if names is None:
        raise FileError(
            f"{source}: no header line, so the {what} column must be "
            f"{span(0, n_columns - 1)} (-1 is the last); got {quote(target)}."
        )
    kind = {"target": TargetError, "compared": WhereError}.get(what, FileError)
    # Of any column rows can be chosen by, whatever else it is.
    given = () if what == "compared" else request.given
    hint = did_you_mean(target, names, given=given)
    error = kind(f"{source}: no column {quote(target)}.{hint}")
    if what not in ("id", "dropped"):  # which are of this file alone
        error.lacks, error.there = target, [name for name in names if name not in given]
    raise error


def labels_needed(source: Source | str, columns: TableColumns, text: Sequence[int]) -> FileError:
    """Return the error of a file that does not say which column is the target."""
    *_, last = columns.features
    hint = f" The last column is {quote(columns.argument(last))}"
    if text:
        names = ", ".join(quote(columns.argument(j)) for j in text[:5])
        more = f" and {len(text) - 5} more" if len(text) > 5 else ""
        hint += f"; not numbers: {names}{more}"
    named = option("--target")
    return FileError(f"{source}: nothing says what to predict; name it with {named}.{hint}.")


def first_nonfinite(values: NDArray[Any]) -> int | None:
    """Return the position of the first NaN or infinity in C order; None if there is none."""
    finite = np.isfinite(values)
    return None if finite.all() else int(finite.argmin())

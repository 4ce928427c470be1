"""How one column of a table becomes features: categories one-hot, dates as parts, gaps filled.

A `Coding` is made of the rows that a model is trained on, is kept with the model, and gives the
features of any other rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.files import quote
from ..core.types import FloatArray
from .decimal_commas import has_comma, may_be_thousands
from .table import strict_float
from .texts import Texts, folded

KINDS = ("number", "category", "date")
# What becomes of empty cells: the mean of the column, or its most frequent value; indicator: the
# mean, and a column beside it that says where.
FREQUENT = "most_frequent"
WAYS = ("mean", FREQUENT, "indicator")
MAX_LEVELS = 1000
YEARS = (1600, 2400)

# The cells of a column: numbers, NaN where one is missing, or text.
Content: TypeAlias = "FloatArray | Texts"

_DATE = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a column can be no feature, with an example."""

    what: str
    ways: tuple[str, ...]  # out of it, as of `remedy`
    row: int | None = None  # of the example
    only: bool = True  # whether `what` is all that there is to say; else the cell comes first


DROP = "leave the column out with --drop NAME"
NAMES = "say --id NAME if it names the samples"
POINTS = "write decimals with a point, thousands without a comma"
MEND = "mend such a value"
WRITE = "write a value there"
FILL = (
    "say --missing mean, which fills what is missing with the mean of its column (most_frequent: "
    "with its most frequent value; indicator: and says in a column where)"
)
VALUES = "save the values in place of formulas"
TRAINED = "write such a value as the training data have it"
OF_FORMULA = "a formula, of which the file does not say the value"
UNKNOWN = (
    "fill it: no cell was empty in the training of the model, which knows no mean or level for it"
)


@dataclass(frozen=True, slots=True)
class Coding:
    """How a column becomes features.

    - A number is itself; with gaps an empty cell is `fill`, and with
      "indicator" the feature "NAME is missing" is 1 there and else 0.
    - A category is "NAME=LEVEL", 1 or 0, for every level; of two levels for the second alone, as
      the first is where it is 0. With gaps it is "NAME is missing" where its cell is empty. Another
      level is 0 in all of them.
    - A date is "NAME: days since ORIGIN", a number, and "NAME: month=03", "NAME: weekday=Mon" and,
      where times are not all midnight, "NAME: hour=17", 1 or 0 for all that occur.
    """

    column: str
    kind: str
    levels: tuple[str, ...] = ()  # sorted; of dates those of their parts, as "month=03"
    origin: str | None = None  # of dates the first day
    gaps: str | None = None  # one of `WAYS`; None: there must be none
    fill: float | None = None  # of numbers and dates

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
        if self.kind == "date":
            names += [f"{self.column}: {level}" for level in self.levels]
        elif self.kind == "category":
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
            if self.kind == "number":  # all are empty
                yield np.full(len(content), np.nan)
            else:
                yield from self._dates(content) if self.kind == "date" else self._levels(content)
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

    def problem(self, content: Content) -> Problem | None:
        """Return why other rows cannot be coded so."""
        if not isinstance(content, Texts):
            return _infinite(content) or self.gaps_problem(content, (UNKNOWN,))
        if self.kind != "category":
            holds = _moment if self.kind == "date" else strict_float
            rows = content.rows(lambda text: text and holds(text) is None)
            no = "no ISO date" if self.kind == "date" else "no number"
            if not rows.size and self.kind == "number":
                rows, no = content.rows(bool), "a number that is written as text"
            if rows.size:
                text, ways = content[int(rows[0])], (TRAINED,)
                if text.startswith("="):
                    no, ways = OF_FORMULA, (VALUES,)
                elif has_comma(text):
                    no, ways = "a number with a comma", (POINTS,)
                what = f"is {no}, and the model was trained on {self.kind}s there"
                return Problem(what, ways, int(rows[0]), only=False)
        return self._alike(content) or self.gaps_problem(content, (UNKNOWN,))

    def _alike(self, texts: Texts) -> Problem | None:
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
        return Problem(what, (TRAINED,), row, only=False)

    def gaps_problem(
        self, content: Content, ways: tuple[str, ...] = (FILL, WRITE, DROP)
    ) -> Problem | None:
        """Return the problem of empty cells where there must be none."""
        found = gaps_of(content)
        if self.gaps is not None or not found.size:
            return None
        n = len(content)
        if found.size == n:
            ways = tuple(way for way in ways if way != FILL)  # by nothing
            return Problem("all values are missing", ways, int(found[0]))
        return Problem(f"a value is missing ({found.size:,} of {n:,})", ways, int(found[0]))

    def _levels(self, texts: Texts) -> Iterator[NDArray[np.bool_]]:
        code = {level: place for place, level in enumerate(self.levels)}
        # Short integers are compared several times as fast.
        codes = np.array([code.get(text, -1) for text in texts.levels], np.int16)[texts.codes]
        for place in range(len(self.levels) == 2 and self.gaps is None, len(self.levels)):
            yield codes == place

    def _dates(self, texts: Texts) -> Iterator[NDArray[Any]]:
        moments = [_moment(text) for text in texts.levels]
        first = datetime.fromisoformat(str(self.origin))
        days = [
            float("nan") if moment is None else (moment - first).total_seconds() / 86400
            for moment in moments
        ]
        yield np.array(days)[texts.codes]
        parts = [_parts(moment) for moment in moments]
        for level in self.levels:
            yield np.array([level in some for some in parts])[texts.codes]


def gaps_of(content: Content) -> NDArray[np.int64]:
    """Return the rows whose cells are empty."""
    if isinstance(content, Texts):
        return content.rows(lambda text: not text)
    return np.flatnonzero(np.isnan(content))


def fitted(column: str, content: Content, way: str | None) -> Coding | Problem:
    """Return how a column is coded for a model, or why it cannot be.

    way : one of `WAYS`, None where empty cells are refused.
    """
    coding: Coding | Problem
    if isinstance(content, Texts):
        coding = _of_text(column, content)
    else:
        coding = _infinite(content) or Coding(column, "number")
    if isinstance(coding, Problem):
        return coding
    empty = gaps_of(content).size > 0
    if way is None or not empty:
        return coding.gaps_problem(content) or replace(coding, gaps=None)
    return replace(coding, gaps="indicator" if coding.kind == "category" else way)


def by_frequency(codings: Mapping[str, Coding]) -> bool:
    """Return whether most frequent values fill what is empty."""
    return any(coding.gaps == FREQUENT for coding in codings.values())


def _infinite(values: FloatArray) -> Problem | None:
    """Return the problem of a number that is not finite."""
    rows = np.flatnonzero(np.isinf(values))
    if not rows.size:
        return None
    return Problem(f"a value is not finite ({values[rows[0]]})", (MEND, DROP), int(rows[0]))


def _of_text(column: str, texts: Texts) -> Coding | Problem:
    """Return how a column of text is coded: as dates where they are, else as a category.

    Labels of a categorical column are a category, whatever they look like.
    """
    counts = texts.counts()
    n = sum(counts.values())

    def most(holds: Any) -> bool:
        return 2 * sum(count for text, count in counts.items() if holds(text)) > n

    def problem(what: str, holds: Any, *ways: str) -> Problem:
        row = int(texts.rows(lambda text: text and holds(text))[0])
        return Problem(what, ways or (MEND, DROP), row, only=False)

    if most(_is_any_number) and not texts.are_labels:
        if any(text.startswith("=") for text in counts):
            what = f"is {OF_FORMULA}"
            return problem(what, lambda text: text.startswith("="), VALUES, DROP)
        if not all(map(_is_any_number, counts)):
            what = "is no number, as most of the column are"
            return problem(what, lambda text: not _is_any_number(text))
        if not any(map(has_comma, counts)):
            return problem("is a number that is written as text", bool)
        if any("." in text for text in counts):
            what = "has a comma, and other numbers of the column have a point"
        elif may_be_thousands(counts):
            what = "may have a decimal comma, or one of thousands"
        else:
            what = "has a decimal comma; numbers have a point"
        return problem(what, has_comma, POINTS)
    if most(_DATE.fullmatch) and not texts.are_labels:
        moments = {text: _moment(text) for text in counts}
        if None in moments.values():
            what = "is no ISO date, as most of the column are"
            return problem(what, lambda text: moments[text] is None)
        return _of_dates(column, moments, problem)
    levels = sorted(counts)
    if len(levels) > MAX_LEVELS or 2 * len(levels) > n:
        what = (
            f"is text, with {len(levels):,} different values in {n:,} rows; a category has at "
            f"most {MAX_LEVELS:,}, and half as many as rows"
        )
        return problem(what, bool, DROP, *([NAMES] if len(levels) == n else []))
    return Coding(column, "category", tuple(levels))


def _is_any_number(text: str) -> bool:
    return has_comma(text) or strict_float(text) is not None


def _of_dates(
    column: str, moments: Mapping[str, datetime | None], problem: Callable[..., Problem]
) -> Coding | Problem:
    known = [moment for moment in moments.values() if moment is not None]
    if not all(map(_is_near, known)):
        what = f"is a date beyond the years {YEARS[0]} to {YEARS[1] - 1}"
        return problem(what, lambda text: not _is_near(moments[text]))
    parts: dict[str, set[str]] = {}
    for moment in known:
        for part in _parts(moment):
            parts.setdefault(part.partition("=")[0], set()).add(part)
    levels: list[str] = []
    for found in parts.values():
        # One value tells nothing, and of two the second tells all.
        levels += sorted(found, key=_order_of)[1 if len(found) <= 2 else 0 :]
    return Coding(column, "date", tuple(levels), min(known).date().isoformat())


def _is_near(moment: datetime | None) -> bool:
    return moment is not None and YEARS[0] <= moment.year < YEARS[1]


def _order_of(part: str) -> Any:
    name, _, value = part.partition("=")
    return _DAYS.index(value) if name == "weekday" else int(value)


def is_date(text: str) -> bool:
    """Return whether a text is an ISO date."""
    return _moment(text) is not None


def _moment(text: str) -> datetime | None:
    """Return the date and the time on the wall of an ISO date; None where there is none."""
    if not _DATE.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None


def _parts(moment: datetime | None) -> tuple[str, ...]:
    """Return the parts of a date that are categories."""
    if moment is None:
        return ()
    day = _DAYS[moment.weekday()]
    return f"month={moment.month:02}", f"weekday={day}", f"hour={moment.hour:02}"


def said(name: str, cell: str, problem: Problem) -> str:
    """Return a problem in words. name : of the column, with the place of the example."""
    return f"{name}: {problem.what if problem.only else f'{quote(cell)} {problem.what}'}"

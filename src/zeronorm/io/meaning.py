"""The meaning of cells: dates, numbers with a unit, codes, and codes for missing values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.files import quote
from ..core.messages import Doubt, remedy, some
from ..core.types import FloatArray
from .texts import Texts, are_codes, decimal_mark, is_code, mark_of, pointed, strict_float

if TYPE_CHECKING:
    from .table import Dataset

# Dates. 03/04/2020 is the third of April or the fourth of March: all cells of a column say which,
# or the user does.

ISO, DAY_FIRST, MONTH_FIRST = "iso", "day-first", "month-first"
ORDERS = (DAY_FIRST, MONTH_FIRST, ISO)
YEARS = (1600, 2400)

_TIME = (
    r"(?:(?:T|,? +)([0-9]{1,2}(?::[0-9]{2}){1,2}(?:\.[0-9]+)?) ?([AaPp][Mm])?"
    r"(?:Z| ?[+-][0-9]{2}:?[0-9]{2})?)?"
)
_YEAR_FIRST = re.compile(rf"([0-9]{{4}})([-/.])([0-9]{{1,2}})\2([0-9]{{1,2}}){_TIME}")
_YEAR_LAST = re.compile(
    rf"([0-9]{{1,2}})(?:([-/])|\. ?)([0-9]{{1,2}})(?(2)\2|\. ?)([0-9]{{4}}|[0-9]{{2}}){_TIME}"
)
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_DAY_NAMED = re.compile(
    rf"([0-9]{{1,2}})[-. ]*([A-Za-z]{{3,9}})[-., ]*([0-9]{{4}}|[0-9]{{2}}){_TIME}"
)
_MONTH_NAMED = re.compile(rf"([A-Za-z]{{3,9}})\.? ([0-9]{{1,2}}),? ([0-9]{{4}}){_TIME}")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Date:
    """The date that a text may be, by the order of its day and its month."""

    day_first: datetime | None
    month_first: datetime | None
    is_iso: bool = False
    has_points: bool = False  # as 31.01.2020, which is written with the day first
    short_year: bool = False  # as 31/01/20

    def moment(self, order: str) -> datetime | None:
        """Return the date and the time on the wall; None where it is none in this order."""
        if order == ISO:
            return self.day_first if self.is_iso else None
        return self.day_first if order == DAY_FIRST else self.month_first


def date_of(text: str) -> Date | None:
    """Return the date that a text is; None where it is none in any order."""
    if not text[-1:].isalnum() or not any(map(str.isdigit, text[:12])):
        return None
    if found := _YEAR_FIRST.fullmatch(text):
        year, _, month, day, *time = found.groups()
        moment = _moment(year, month, day, *time)
        return None if moment is None else Date(moment, moment, is_iso=True)
    if found := _MONTH.fullmatch(text):
        year, month = found.groups()
        moment = _moment(year, month, "1", None, None)
        return None if moment is None else Date(moment, moment, is_iso=True)
    if found := _YEAR_LAST.fullmatch(text):
        first, mark, second, year, *time = found.groups()
        short = len(year) == 2
        long = f"20{year}" if short else year
        one, two = _moment(long, second, first, *time), _moment(long, first, second, *time)
        return None if one is two is None else Date(one, two, False, mark is None, short)
    if found := _DAY_NAMED.fullmatch(text):
        day, name, year, *time = found.groups()
    elif found := _MONTH_NAMED.fullmatch(text):
        name, day, year, *time = found.groups()
    else:
        return None
    short_name = name.lower().removesuffix("t") if name.lower() == "sept" else name.lower()
    known = [place for place, month in enumerate(_MONTHS, 1) if month.startswith(short_name)]
    short = len(year) == 2
    long = f"20{year}" if short else year
    moment = _moment(long, str(known[0]), day, *time) if len(known) == 1 else None
    return None if moment is None else Date(moment, moment, is_iso=True, short_year=short)


def _moment(year: str, month: str, day: str, time: str | None, half: str | None) -> datetime | None:
    parts = (time or "0:00").split(":")
    hour, seconds = int(parts[0]), float(parts[2]) if len(parts) > 2 else 0.0
    if half is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half.lower() == "pm")
    try:
        return datetime(
            int(year), int(month), int(day), hour, int(parts[1]), int(seconds),
            int(seconds % 1 * 1e6),
        )  # fmt: skip
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Unclear:
    """The reason why a column of text cannot be read, and the texts that it concerns."""

    what: str
    holds: Callable[[str], object]
    ways: tuple[str, ...] = ()


CHOOSE = "say --dates day-first or --dates month-first"
WRITE_ISO = "write dates as 2020-01-31"


def order_of(dates: Mapping[str, Date | None], asked: str | None) -> str | Unclear:
    """Return the order of day and month in the dates of a column, one of `ORDERS`.

    asked : what the user says of it.
    """
    known = {text: one for text, one in dates.items() if one is not None}
    if len(known) < len(dates):
        what = "is no date, as most of the column are"
        return Unclear(what, lambda text: dates[text] is None)
    if any(one.short_year for one in known.values()):
        what = "is a date with a year of two digits"
        return Unclear(what, lambda text: known[text].short_year, (WRITE_ISO,))
    order = asked
    if order is None:
        order = _order_found(known)
    if order is None:
        days = [text for text, one in known.items() if one.month_first is None]
        if days:
            what = f"has the month first, and {quote(days[0])} of the same column the day"
            return Unclear(what, lambda text: known[text].day_first is None, (WRITE_ISO,))
        text, one = next((text, one) for text, one in known.items() if _differ(one))
        what = (
            f"may be {_shown(one.day_first)} (day first) or {_shown(one.month_first)} (month "
            "first), and so may all dates of the column"
        )
        return Unclear(what, lambda other: other == text, (CHOOSE, WRITE_ISO))
    if any(one.moment(order) is None for one in known.values()):
        what = "is no ISO date" if order == ISO else f"is no date with the {order[:-6]} first"
        return Unclear(what, lambda text: known[text].moment(order) is None, (CHOOSE, WRITE_ISO))
    if not all(_is_near(one.moment(order)) for one in known.values()):
        what = f"is a date beyond the years {YEARS[0]} to {YEARS[1] - 1}"
        return Unclear(what, lambda text: not _is_near(known[text].moment(order)))
    return order


def _order_found(dates: Mapping[str, Date]) -> str | None:
    """Return the order that all dates together have; None where they have none, or several."""
    written = [one for one in dates.values() if not one.is_iso]
    if not written:
        return ISO
    days = any(one.month_first is None for one in written)
    months = any(one.day_first is None for one in written)
    if days or months:
        return None if days and months else DAY_FIRST if days else MONTH_FIRST
    open_ones = [one for one in written if _differ(one)]
    return DAY_FIRST if all(one.has_points for one in open_ones) else None


def _differ(one: Date) -> bool:
    return one.day_first != one.month_first


def _is_near(moment: datetime | None) -> bool:
    return moment is not None and YEARS[0] <= moment.year < YEARS[1]


def _shown(moment: datetime | None) -> str:
    return "" if moment is None else moment.date().isoformat()


def first_day(dates: Iterable[Date | None], order: str) -> str:
    """Return the first day of some dates, as an ISO date."""
    moments = (None if one is None else one.moment(order) for one in dates)
    return min(moment.date() for moment in moments if moment is not None).isoformat()


def days_of(texts: Texts, order: str, origin: str) -> FloatArray:
    """Return the days from the origin to every date, NaN where a cell is empty."""
    first = datetime.fromisoformat(origin)
    found = np.full(len(texts.levels), np.nan)
    for place, text in enumerate(texts.levels):
        date = date_of(text) if text else None
        moment = None if date is None else date.moment(order)
        if moment is not None:
            found[place] = (moment - first).total_seconds() / 86400
    days: FloatArray = found[texts.codes]
    return days


# Numbers in text: with a unit, which all of a column share, with a minus sign of typesetters, with
# blanks or apostrophes between thousands.

_SIGNS = str.maketrans(
    "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d\uff0b", "-------+", "\u200b\u2060\ufeff"
)
_QUANTITY = re.compile(
    r"([-+]?)\s?([€$£¥]?)\s*([-+]?)\s?"
    r"((?:[0-9]{1,3}(?:[\s'\u2019][0-9]{3})+|[0-9]+|(?=[.,][0-9]))(?:[.,][0-9]+)?(?:[eE][-+]?[0-9]+)?"
    r"|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?|[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]*)?)"
    r"(\s*)([%‰°µμΩ€$£¥A-Za-z].{0,14})?"
)
_UNITS = "gmlLshdyKVWNJ"  # of one letter that may follow a digit: A1 and 1A are names
_ORDINALS = {"st", "nd", "rd", "th"}  # 1st and 2nd are names, too


def quantity(text: str) -> tuple[str, str] | None:
    """Return the number that stands in a text, as text, and its unit; None where there is none."""
    plain = text.translate(_SIGNS).strip()
    if strict_float(plain) is not None:
        return plain, ""
    found = _QUANTITY.fullmatch(plain)
    if found is None:
        return None
    before, money, sign, number, blank, unit = found.groups()
    if (before and sign) or (money and unit):
        return None
    glued = unit if unit and not blank else ""
    if glued.lower() in _ORDINALS or (len(glued) == 1 and glued.isalpha() and glued not in _UNITS):
        return None
    return before + sign + re.sub(r"[\s'\u2019]", "", number), money or (unit or "").strip()


def numbers_of(texts: Texts) -> FloatArray:
    """Return the numbers in some texts, NaN where there is none."""
    parts = [quantity(text) if text else None for text in texts.levels]
    mark = mark_of(part[0] for part in parts if part is not None)
    found = [math.nan if part is None else strict_float(pointed(part[0], mark)) for part in parts]
    numbers: FloatArray = np.array(found, np.float64)[texts.codes]
    return numbers


def mark_in(texts: Collection[str]) -> str | None:
    """Return the decimal mark of the numbers in some texts, with units or without, as `mark_of`."""
    if all(decimal_mark(text) is not None for text in texts):
        return mark_of(texts)
    numbers = []
    for text in texts:
        part = quantity(text)
        if part is None:
            return None
        numbers.append(part[0])
    return mark_of(numbers)


def with_points(texts: Texts, mark: str) -> Texts:
    """Return a column of numbers with this decimal mark as they are with points."""

    def changed(text: str) -> str:
        part = quantity(text) if text and decimal_mark(text) is None else (text, "")
        return text if part is None else f"{pointed(part[0], mark)} {part[1]}".strip()

    return texts.mapped(changed)


POINTS = "write decimals with a point, thousands without a comma"


def number_problem(
    counts: Mapping[str, int], unit: str, no: str = "as most of the column are"
) -> Unclear | None:
    """Return why texts are not all numbers with a unit ("" for none)."""
    parts = {text: quantity(text) for text in counts}
    odd = {text for text, part in parts.items() if part is None or part[1] != unit}
    if odd:
        others = {part[1] for part in parts.values() if part is not None and part[1]}
        what = f"is no number{f' with the unit {quote(unit)}' if unit else ''}, {no}"
        ways = (f"write all numbers with {quote(unit)}, or all without it",) if unit else ()
        if not unit and others:
            ways = (f"write numbers without {quote(min(others))}",)
        return Unclear(what, lambda text: text in odd, ways)
    bare = {text: part[0] for text, part in parts.items() if part is not None}
    commas = {text for text, number in bare.items() if "," in number}
    mark = mark_of(bare.values())
    marked = {text for text, number in bare.items() if (decimal_mark(number) or "")[:1] == "3"}
    if mark is None and marked:
        commas, what = marked, "has points or commas between thousands"
    elif mark is None:
        what = "has a comma, and other numbers of the column have a point"
    elif mark == "?,":
        what = "may have a decimal comma, or one of thousands"
    elif mark == "," and not unit and all(text == number for text, number in bare.items()):
        what = "has a decimal comma; numbers have a point"
    else:
        return None
    return Unclear(what, lambda text: text in commas, (POINTS,))


def unit_of(counts: Mapping[str, int]) -> str | None:
    """Return the unit of most numbers in a column, "" for none; None where most are no numbers.

    A letter is a unit where all have it: 2L and 2R are names.
    """
    of_unit: dict[str, int] = {}
    for text, count in counts.items():
        part = quantity(text)
        if part is not None:
            of_unit[part[1]] = of_unit.get(part[1], 0) + count
    unit = max(of_unit, key=lambda one: of_unit[one], default=None)
    if unit is None:
        return None
    n, total = of_unit[unit], sum(counts.values())
    is_letter = len(unit) == 1 and unit.isalpha()
    return unit if (n == total if is_letter else 2 * n > total) else None


def units_of(counts: Iterable[str]) -> list[str]:
    """Return the different units of texts that are all numbers; none where one is no number."""
    parts = [quantity(text) for text in counts]
    return sorted({part[1] for part in parts if part is not None}) if all(parts) else []


def is_written_out(texts: Iterable[str]) -> bool:
    """Return whether some texts are numbers only by their signs, blanks or units."""
    return any((part := quantity(text)) is not None and part[0] != text for text in texts)


def notes_of_codes(columns: Iterable[tuple[str, Iterable[str]]]) -> list[str]:
    """Return a note about the columns whose levels are codes. columns : names and levels."""
    found = [(name, next(filter(is_code, levels))) for name, levels in columns if are_codes(levels)]
    if not found:
        return []
    listed = some([f"{name} (as {quote(code)})" for name, code in found], _LISTED)
    return [f"numbers with zeros before them are codes, and stay text: {listed}"]


# Numbers that stand for missing values: -9, 99, -999, 9999. They lie far from all other values of
# their column and occur several times.

_LISTED = 10  # columns of a list
_MOST = 5  # codes that one column may have at an end, as 97, 98 and 99
_NINES = [float("9" * n) for n in range(1, 10)]
_DECIMALS = [99.9, 999.9, 9999.9, 99.99, 999.99, 9999.99, 999.25]
# Ends of the ranges of numbers, and what programs write for them.
_LIMITS = [
    32767.0, 65535.0, 2147483647.0, 4294967295.0, 1e20, 1e30, 1e31, 1e34, 1e36,
    9.969209968386869e36, float(np.finfo(np.float32).max), float(np.finfo(np.float64).max),
]  # fmt: skip
_HIGH = np.array([*_NINES, *_DECIMALS, *_LIMITS])
_LOW = -np.array([1.0, *_NINES, *_DECIMALS, *_LIMITS, 32768.0, 2147483648.0])
# Codes for other reasons, beside these: refused, does not know, does not apply.
_BESIDE = np.array(
    [float(str(d) * n) for n in range(1, 5) for d in (8, 7, 6)]
    + [float("9" * n + str(d)) for n in range(1, 4) for d in (8, 7, 6)]
)
_BESIDE_LOW = -np.array([*_BESIDE, 1.0, 2.0, 3.0, 4.0, 5.0, *(float(f"{d}{d}") for d in (5, 4, 3))])
_ALL_HIGH, _ALL_LOW = {*_HIGH.tolist(), *_BESIDE.tolist()}, {*_LOW.tolist(), *_BESIDE_LOW.tolist()}


@dataclass(frozen=True, slots=True)
class StandIn:
    """A number of a column that may stand for a missing value."""

    value: float
    count: int
    least: float  # of the other values
    largest: float


def stand_ins(column: FloatArray) -> list[StandIn]:
    """Return the numbers of a column that look as if they stood for missing values.

    They have the form of such codes, occur in two rows or more, and lie further from the other
    values than these lie from each other; of values that are else not negative a negative code
    need not. A code of one digit must be in 3% of the rows, as counts may have a long tail.
    """
    known = column[~np.isnan(column)]
    if not known.size or not (known.max() in _ALL_HIGH or known.min() in _ALL_LOW):
        return []
    values, counts = np.unique(known, return_counts=True)
    found = []
    for sign in (1, -1):
        kinds = (_HIGH, _BESIDE) if sign > 0 else (_LOW, _BESIDE_LOW)
        ends = values[::-sign]
        of_form = np.isin(ends[:_MOST], kinds[0]) | np.isin(ends[:_MOST], kinds[1])
        most = int(np.argmin(of_form)) if not of_form.all() else of_form.size
        for size in range(1, most + 1):
            numbers, others = counts[::-sign][:size], ends[size:]
            if _stand_apart(ends[:size], others, numbers, counts.sum(), kinds[0]):
                least, largest = others.min(), others.max()
                pairs = zip(ends[:size].tolist(), numbers.tolist(), strict=True)
                found += [StandIn(value, n, float(least), float(largest)) for value, n in pairs]
                break
    return found


def _stand_apart(codes: Any, others: Any, counts: Any, n_rows: int, forms: Any) -> bool:
    """Return whether the values at an end of a column are codes. counts : of the codes."""
    strict = np.isin(codes, forms)
    if others.size < 2 or not (strict & (counts >= 2)).any():
        return False
    gap, spread = abs(codes[-1] - others[0]), abs(others[-1] - others[0])
    size = np.abs(codes).max()
    spacing = np.median(np.abs(np.diff(others)))
    if codes[0] < 0 and others.min() >= 0:
        if size > 1:
            return bool(gap >= 5 * spacing or others.size >= 10)
        return bool(others.size >= 3 and gap >= 10 * spacing)
    if size == 1:
        return bool(others.size >= 3 and gap > spread)
    if 0 < codes[0] < 10:
        return bool(gap > spread and counts.sum() >= max(3, 0.03 * n_rows))
    prices = np.isin(size, (99.99, 999.99, 9999.99))
    return bool(gap > (3 if prices else 1) * spread)


def notes_of_stand_ins(
    columns: Iterable[tuple[str, FloatArray]],
    way: str = "if it stands for a missing value, say --na {} --missing mean",
) -> list[str]:
    """Return a note for each number that seems to stand for missing values in some columns.

    way : what to do then, as of `remedy`, with {} for the number.
    """
    found: dict[float, list[tuple[str, StandIn]]] = {}
    for name, column in columns:
        for one in stand_ins(column):
            found.setdefault(one.value, []).append((name, one))
    notes: list[str] = []
    for value, own in found.items():
        shown = f"{value:.15g}"
        option = shown if shown.lstrip("-").isdigit() else f"'{shown}'"
        what_to_do = remedy(way.format(option))
        name, one = own[0]
        rows = f"{one.count:,} row{'' if one.count == 1 else 's'}"
        if len(own) == 1:
            said = (
                f"column {quote(name)} has {shown} in {rows}, far from all its other values "
                f"({one.least:.6g} to {one.largest:.6g})"
            )
        else:
            listed = some([f"{name} {one.count:,}" for name, one in own], _LISTED)
            said = (
                f"{len(own):,} columns have {shown} far from all their other values (column and "
                f"number of rows: {listed})"
            )
        hint = what_to_do and f";{what_to_do[:2].lower()}{what_to_do[2:-1]}"
        notes.append(Doubt(f"{said}, as codes for missing values are{hint}"))
    return notes


_LOOKED_AT = 1 << 28  # bytes of an array that are looked through for codes


def notes_of_array(names: Sequence[str] | None, X: Any, has_cells: bool = True) -> list[str]:
    """Return notes about the numbers in an array that seem to stand for missing values.

    names : of its columns; None: their numbers. has_cells : whether options are about its cells.
    """
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "iuf" or not X.size:
        return []
    if X.nbytes > _LOOKED_AT:
        return []
    with np.errstate(invalid="ignore"):
        low, high = X.min(axis=0), X.max(axis=0)
    may_be = np.isnan(low) | np.isin(low, _LOW) | np.isin(low, _BESIDE_LOW) | np.isin(high, _HIGH)

    def columns() -> Iterator[tuple[str, FloatArray]]:
        for j in np.flatnonzero(may_be).tolist():
            yield str(j) if names is None else names[j], np.asarray(X[:, j], np.float64)

    own = "if it stands for a missing value, fill such cells first, or leave the column out"
    return notes_of_stand_ins(columns()) if has_cells else notes_of_stand_ins(columns(), own)


def notes_of_roles(table: Dataset) -> list[str]:
    """Return notes about numbers of the target, and of what is no feature, that seem to do so."""
    y = table.y
    names = table.target_name if isinstance(table.target_name, tuple) else (table.target_name,)
    columns = [] if y is None else [*zip(names, [y] if y.ndim == 1 else y.T, strict=True)]
    columns += [
        (table.column_names.get(role, role), table.columns[role])
        for role in ("time", "start", "offset", "exposure")
        if role in table.columns
    ]
    numbers = [(str(name), values) for name, values in columns if values.dtype.kind in "iuf"]
    return notes_of_stand_ins(
        ((name, np.asarray(values, np.float64)) for name, values in numbers),
        "if it stands for a missing value, say --na {}",
    )

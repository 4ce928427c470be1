"""Parts of dates as expressions of SQL that servers share: SUBSTR, FLOOR, CASE and arithmetic."""

from __future__ import annotations

from datetime import date
from typing import Any

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DIGITS = 6  # of a second, as Python reads them


def date_part(column: str, origin: dict[str, Any]) -> str:
    """Return the expression of a feature that is a part of a date.

    The date is text as ISO 8601 has it, or of a type that is written so; a zone is not looked at.

    column : the quoted name.
    origin : of kind "date", see `origins`. Where a day is empty, the days since another are NULL.
    """
    text = f"CAST({column} AS VARCHAR(40))"
    if origin["part"] == "days":
        days = f"({_days(text)} - {date.fromisoformat(origin['origin']).toordinal()}"
        return days + f" + ({_seconds(text)}) / 86400E0)"
    value = origin["value"]
    if origin["part"] == "weekday":  # the first day of the calendar was a Monday
        past = f"({_days(text)} - 1)"
        holds = f"{past} - 7 * FLOOR({past} / 7E0) = {_WEEKDAYS.index(value)}"
    elif origin["part"] == "month":
        holds = f"{_digits(text, 6)} = {int(value)}"
    else:
        holds = f"{_hour(text)} = {int(value)}"
    empty = "0E0" if origin["empty"] == 0.0 else "NULL"
    return f"CASE WHEN {column} IS NULL THEN {empty} WHEN {holds} THEN 1E0 ELSE 0E0 END"


def _digits(text: str, first: int, count: int = 2) -> str:
    """Return the number that stands in a text."""
    return f"CAST(SUBSTR({text}, {first}, {count}) AS INTEGER)"


def _days(text: str) -> str:
    """Return the days since the last day of the year 0, of years that begin in March."""
    year, month, day = _digits(text, 1, 4), _digits(text, 6), _digits(text, 9)
    early = f"CASE WHEN {month} <= 2 THEN 1 ELSE 0 END"
    years, months = f"({year} - {early})", f"({month} - 3 + 12 * {early})"
    return (
        f"(365 * {years} + FLOOR({years} / 4E0) - FLOOR({years} / 100E0) + FLOOR({years} / 400E0)"
        f" + FLOOR((153 * {months} + 2) / 5E0) + {day} - 307 + 1)"
    )


def _hour(text: str) -> str:
    """Return the hour, 0 of a date without a time."""
    return f"CASE WHEN LENGTH({text}) < 13 THEN 0 ELSE {_digits(text, 12)} END"


def _seconds(text: str) -> str:
    """Return the seconds since midnight."""
    fraction = "0E0"
    for place in reversed(range(_DIGITS)):  # until the first that is no digit
        mark = f"SUBSTR({text}, {21 + place}, 1)"
        fraction = (
            f"CASE WHEN {mark} BETWEEN '0' AND '9' THEN CAST({mark} AS INTEGER)"
            f" * 1E-{place + 1} + {fraction} ELSE 0E0 END"
        )
    return (
        f"CASE WHEN LENGTH({text}) < 16 THEN 0E0 ELSE 3600 * {_digits(text, 12)}"
        f" + 60 * {_digits(text, 15)}"
        f" + CASE WHEN SUBSTR({text}, 17, 1) <> ':' THEN 0E0 ELSE {_digits(text, 18)}"
        f" + CASE WHEN SUBSTR({text}, 20, 1) = '.' THEN {fraction} ELSE 0E0 END END END"
    )

"""How features came from columns of a table, in model files: categories, dates, means of gaps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..core.files import Require, check_fields, quote
from .codings import KINDS, WAYS, Coding, is_date

_CODING = {
    "column": str,
    "kind": str,
    "levels": list,
    "origin": (str, type(None)),
    "gaps": (str, type(None)),
    "fill": (float, type(None)),
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
        if coding.kind != "number" or coding.gaps is not None
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
        dated = record["origin"] is not None and is_date(record["origin"])
        require(dated == (kind == "date"), "the origin of a coding must be the day of dates")
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

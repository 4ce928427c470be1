"""What is said of columns that became features: kinds, cells that were filled, unknown values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.files import quote
from ..core.warnings import Doubt
from .codings import Coding, Content, by_frequency
from .texts import Texts

_SHOWN = 10  # columns of a list


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
    return f"as if it were one of {_listed(shown)}, which have no coefficient"


def _said_of_filled(
    filled: Mapping[str, int], by_model: bool, codings: Mapping[str, Coding]
) -> str:
    of_model, of_rows = "means", "mean"
    if by_frequency(codings):
        of_model, of_rows = "most frequent values", "most frequent value"
    shown = _listed([f"{column} {count:,}" for column, count in filled.items()])
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
    total = _count(sum(filled.values()), "empty cell")
    return f"{total} in {_count(len(filled), 'column')} filled ({shown}) {how}"


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
            dates.setdefault(_parts(one), []).append(one.column)
    constant = [one.column for one, content in known if is_constant(one, content)]
    notes = []
    if categories:
        notes.append(
            f"{_count(len(categories), 'column')} of text as categories, with the number of their "
            f"levels: {_listed(categories)}"
        )
    notes += [
        f"{_count(len(columns), 'column')} of dates as {parts}: {_listed(columns)}"
        for parts, columns in dates.items()
    ]
    return [*notes, *_said_of_constants(constant)]


def notes_of_constants(names: Sequence[str] | None, X: Any) -> list[str]:
    """Return a note about the columns of an array that have one value.

    Rows are compared with the first one, a growing number at a time, in the columns that are left:
    most differ within a few rows, so that this is no pass over the data.
    """
    if names is None or not isinstance(X, np.ndarray) or len(X) < 2:
        return []
    left, top, n_rows = np.arange(X.shape[1]), 1, 1
    while left.size and top < len(X):
        same = (X[top : top + n_rows, left] == X[0, left]).all(axis=0)
        left, top, n_rows = left[same], top + n_rows, 2 * n_rows
    return _said_of_constants([names[j] for j in left.tolist()])


def _said_of_constants(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    what = _count(len(names), "column")
    return [f"{what} with one value or none, which can never be selected: {_listed(names)}"]


def _parts(coding: Coding) -> str:
    """Return what a date became: hours only where there are times."""
    parts = dict.fromkeys(
        ["days since the first", *(one.partition("=")[0] for one in coding.levels)]
    )
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def is_constant(coding: Coding, content: Content) -> bool:
    """Return whether a column has one value or none."""
    if coding.kind == "category":
        return len(coding.levels) + (coding.gaps is not None) < 2
    if isinstance(content, Texts):
        return len(content.counts()) < 2
    known = content[~np.isnan(content)]
    return not known.size or bool((known == known[0]).all())


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _listed(names: Iterable[str]) -> str:
    known = list(names)
    more = f" and {len(known) - _SHOWN:,} more" if len(known) > _SHOWN else ""
    return ", ".join(known[:_SHOWN]) + more

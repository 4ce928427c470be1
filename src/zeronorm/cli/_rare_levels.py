"""What can be done where some of the rows have no model, as a level of a covariate is rare."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ._messages import show

if TYPE_CHECKING:
    from ..files import Table
    from ._target import Response

_FOLD = re.compile(r"\(In the training rows of fold \d+\.\)$")
_HALF = re.compile(r"These are the \d+ rows of half-sample")
# Rows of one value of covariates lack an outcome; or a covariate has one value alone.
_LACKS = re.compile(r"rows with ([01]) in (column .+?) none has ")
_CONSTANT = re.compile(r"covariates must not be constant columns of \w+; got (column \d+)")
_LONE = re.compile(r"every class for pairs of half-samples; got one of class '(.*)'\.")
_PLACE = re.compile(r"column (\d+)")


@contextmanager
def fold_remedies(table: Table, response: Response, *, others: str = "") -> Iterator[None]:
    """Say in an error of the training rows of a fold what can be done.

    others : a further way.
    """
    try:
        yield
    except ValueError as error:
        message = str(error)
        if _FOLD.search(message) is None:
            raise
        where, n = _rows_at_fault(message, table, response)
        ways = [where] if where else []
        if n > 1:  # else the fold that holds it out has none
            ways.append("more folds (--cv), whose training rows are more")
        ways += [others] if others else []
        if not ways:
            raise
        raise type(error)(f"{message} Ways out: {'; '.join(ways)}.") from error


def half_remedies(note: str, table: Table) -> str:
    """Return a note, where it is of half-samples without a model with what can be done."""
    lone = _LONE.search(note)
    if lone is not None:
        return note.replace("Leave that row out", f"Leave that row out{by_where(table, lone[1])}")
    if _HALF.search(note) is None:
        return note
    where, _ = _rows_at_fault(note, table)
    return f"{note.rstrip('.')}. A way out: {where}" if where else note


def by_where(table: Table, label: str) -> str:
    """Return how the rows of a class are left out; "" where no column has it, or of two classes."""
    from ..files import WITH_COLUMNS
    from ..files._where import where_not

    name, y = table.target_name, table.y
    has_column = table.form in WITH_COLUMNS and "target" not in table.by_position
    if not (isinstance(name, str) and has_column and y is not None and y.dtype.kind == "U"):
        return ""
    if len({*y.tolist()}) < 3:
        return ""
    return f" by {where_not(name, label)}"


def _rows_at_fault(message: str, table: Table, response: Response | None = None) -> tuple[str, int]:
    """Return how to leave out the rows at fault, "" if unknown, and how many they are.

    Of classes that is how many the rarest has among them; 0 where it is not known.
    """
    import numpy as np

    from ..designs import as_design
    from ..designs._columns import gather
    from ..files._where import where_not

    lacks, constant = _LACKS.search(message), _CONSTANT.search(message)
    found = lacks[2] if lacks else constant[1] if constant else ""
    places = [int(place) for place in _PLACE.findall(found)]
    known = [(table.feature_names or [])[place] for place in places if table.feature_names]
    coding = table.codings.get(known[0]) if known else None
    if coding is None or coding.kind != "category":
        return "", 0
    at_zero = lacks is not None and lacks[1] == "0"
    levels = {f"{coding.column}={level}": level for level in coding.levels}
    if coding.gaps is not None:
        levels[coding.absent] = ""
    names = sorted({*levels}.difference(known)) if at_zero else known
    if len(names) != 1 or names[0] not in levels:
        return "", 0
    columns = gather(as_design(table.X), np.array(places)).dense()
    rows = (columns == 0).all(axis=1) if at_zero else (columns == 1).all(axis=1)
    n = int(rows.sum())
    if response is not None and response.labelled:
        n = min(int((response.y[rows] == one).sum()) for one in np.unique(response.y))
    where = f"leave those rows out by {where_not(coding.column, levels[names[0]])}"
    if len(levels) < 3:  # then the column says nothing any more
        where += f", and {show(coding.column)} out of --covariates"
    return where, n

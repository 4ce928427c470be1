"""Columns that number the rows: left out of the features, unless they are asked for by name."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.messages import Doubt, Leaked, show
from ..reporting.warnings import NUMBERS

if TYPE_CHECKING:
    from ..io.table import Table

_FEWEST = 5  # rows that a column must number
_FEW = 64  # columns of a design that are all looked at; of more the first and the last
_SHOWN = 40


def without_row_numbers(
    table: Table, kept: Collection[str], n_rows: int | None, again: Callable[[str], Table] | None
) -> Table:
    """Return a table without the columns that number its rows, with notes that say so.

    Numbers from 0 or 1 in the order of the rows are left out; where rows were left out, numbers of
    the rows of the file, too. Others that only rise or fall by one step have a note.

    kept : columns that are asked for by name. n_rows : of the file where --where left some out.
    again : reads the data without a column, where that is the way to leave it out.
    """
    names = table.feature_names
    notes: list[str] = []
    left_out: list[str] = []
    for j, what in _numberings(table.X, n_rows):
        name = f"{j + table.first_index}" if names is None else names[j]
        shown = f"column {show(name, _SHOWN)!r} {what[1]}"
        if name in kept:
            continue
        if names is None:
            notes.append(Leaked(f"{shown}; if it measures nothing, leave it out of the array"))
            continue
        if not what[0] or table.X.shape[1] == 1:
            notes.append(Leaked(f"{shown}; {NUMBERS}"))
            continue
        notes.append(
            Doubt(
                f"{shown}: it numbers the rows and is no feature; if it is one, say "
                f"--keep {show(shlex.quote(name), _SHOWN)}"
            )
        )
        place = (table.feature_names or []).index(name)
        before = table
        if not hasattr(table.X, "gather"):
            table = _without(table, place)
        elif again is not None:
            table = again(name)
        else:
            notes[-1] = Leaked(f"{shown}; {NUMBERS}")
        if table is not before:
            left_out.append(name)
    if left_out:
        known = {**table.column_names, "row_numbers": shlex.join(left_out)}
        table = replace(table, column_names=known)
    return replace(table, notes=(*table.notes, *notes)) if notes else table


def _numberings(X: Any, n_rows: int | None) -> list[tuple[int, tuple[bool, str]]]:
    """Return the columns that number rows: whether surely, and in words how."""
    import numpy as np

    from ..io.opening import as_design

    n, p = X.shape
    if n < _FEWEST:
        return []
    if hasattr(X, "gather"):
        places = np.arange(p) if p <= _FEW else np.array([0, p - 1])
    else:  # of most columns two or three rows say that they number none
        head = X[:_FEWEST]
        head = np.asarray(head if isinstance(head, np.ndarray) else head.toarray())
        if head.dtype.kind not in "iuf":
            return []
        steps = np.diff(head.astype(np.float64), axis=0)
        with np.errstate(invalid="ignore"):
            whole = (head == np.floor(head)).all(axis=0)
            places = np.flatnonzero(whole & ((steps > 0).all(axis=0) | (steps < 0).all(axis=0)))
    design = as_design(X)
    found = []
    for j in places.tolist():
        column = design.gather(np.array([j]))
        column = column if isinstance(column, np.ndarray) else column.toarray()
        what = _numbering(np.asarray(column, np.float64).ravel(), n_rows)
        if what is not None:
            found.append((j, what))
    return found


def _numbering(column: Any, n_rows: int | None) -> tuple[bool, str] | None:
    """Return whether a column surely numbers the rows, and how; None where it does not."""
    import numpy as np

    steps = np.diff(column)
    if not np.isfinite(steps).all() or not (column == np.floor(column)).all():
        return None
    first, last = int(column[0]), int(column[-1])
    if (steps == 1).all() and first in (0, 1):
        return True, f"holds {first}, {first + 1}, {first + 2}, ... in the order of the rows"
    if n_rows is not None and (steps > 0).all() and first >= 0 and last <= n_rows:
        return True, f"holds numbers of the rows of the file ({first} to {last}, in order)"
    if steps[0] and (steps == steps[0]).all():
        way = "rises" if steps[0] > 0 else "falls"
        return False, f"{way} by {abs(steps[0]):g} from each row to the next"
    return None


def _without(table: Table, place: int) -> Table:
    """Return a table without one of its features."""
    import numpy as np

    X: Any = table.X
    p = X.shape[1]
    if place == 0:
        X = X[:, 1:]  # a view: the first column is where row numbers are
    elif place == p - 1:
        X = X[:, : p - 1]
    else:
        X = X[:, np.delete(np.arange(p), place)]
    names, told = list(table.feature_names or ()), table.descriptions
    del names[place]
    if told is not None:
        told = [*told[:place], *told[place + 1 :]]
    return replace(table, X=X, feature_names=names, descriptions=told)

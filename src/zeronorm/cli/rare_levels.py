"""What can be done where some of the rows have no model, as a level of a covariate is rare."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from ..core.messages import show

if TYPE_CHECKING:
    from ..core.budgets import AtFault
    from ..io.input import Response
    from ..io.table import Table

_Error = TypeVar("_Error", bound=BaseException)


@contextmanager
def fold_remedies(table: Table, response: Response, *, others: str = "") -> Iterator[None]:
    """Say in an error of the training rows of a fold what can be done.

    others : a further way.
    """
    from ..estimators.folds import FoldError

    try:
        yield
    except ValueError as error:
        if _cause(error, FoldError) is None:
            raise
        where, n = _ways_of(error, table, response)
        ways = [where] if where else []
        if n > 1:  # else the fold that holds it out has none
            ways.append("more folds (--cv), whose training rows are more")
        ways += [others] if others else []
        if not ways:
            raise
        raise type(error)(f"{error} Ways out: {'; '.join(ways)}.") from error


def half_remedy(error: BaseException, table: Table) -> str:
    """Return what can be done about half-samples without a model, behind why; "" if unknown."""
    from ..inference.stability import LoneRowError

    lone = _cause(error, LoneRowError)
    if lone is not None:  # which ends with "Leave that row out"
        return by_where(table, lone.label)
    where, _ = _ways_of(error, table)
    return f". A way out: {where}" if where else ""


def by_where(table: Table, label: str) -> str:
    """Return how the rows of a class are left out; "" where no column has it, or of two classes."""
    from ..io.read import WITH_COLUMNS
    from ..io.table import where_not

    name, y = table.target_name, table.y
    has_column = table.form in WITH_COLUMNS and "target" not in table.by_position
    if not (isinstance(name, str) and has_column and y is not None and y.dtype.kind == "U"):
        return ""
    if len({*y.tolist()}) < 3:
        return ""
    return f" by {where_not(name, label)}"


def _cause(error: BaseException | None, kind: type[_Error]) -> _Error | None:
    """Return an error, or the one that it is raised from, of a kind; None where none is."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__
    return error


def _ways_of(
    error: BaseException, table: Table, response: Response | None = None
) -> tuple[str, int]:
    """Return how to leave out the rows at fault, "" if unknown, and how many they are.

    Of classes that is how many the rarest has among them; 0 where it is not known.
    """
    from ..core.budgets import UnfittableError

    unfittable = _cause(error, UnfittableError)
    found = None if unfittable is None else unfittable.at_fault
    return ("", 0) if found is None else _rows_at_fault(found, table, response)


def _rows_at_fault(at_fault: AtFault, table: Table, response: Response | None) -> tuple[str, int]:
    """Return what `_ways_of` does of rows of one level of a category."""
    import numpy as np

    from ..data.gathered import gather
    from ..io.opening import as_design
    from ..io.table import where_not

    if table.feature_names is None or at_fault.value not in (0, 1):
        return "", 0
    known = [table.feature_names[place] for place in at_fault.columns]
    coding = table.codings.get(known[0])
    if coding is None or coding.kind != "category":
        return "", 0
    levels = {f"{coding.column}={level}": level for level in coding.levels}
    if coding.gaps is not None:
        levels[coding.absent] = ""
    names = known if at_fault.value else sorted({*levels}.difference(known))
    if len(names) != 1 or names[0] not in levels:
        return "", 0
    columns = gather(as_design(table.X), np.array(at_fault.columns)).dense()
    rows = (columns == at_fault.value).all(axis=1)
    n = int(rows.sum())
    if response is not None and response.labelled:
        n = min(int((response.y[rows] == one).sum()) for one in np.unique(response.y))
    where = f"leave those rows out by {where_not(coding.column, levels[names[0]])}"
    if len(levels) < 3:  # then the column says nothing any more
        where += f", and {show(coding.column)} out of --covariates"
    return where, n

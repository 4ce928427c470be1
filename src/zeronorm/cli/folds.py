"""The folds that data allow, in which all samples of a group are held out together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..core.messages import Doubt, show
from .rare_levels import by_where

if TYPE_CHECKING:
    from ..io.input import Response
    from ..io.table import Table

# Names of columns that say whose a sample is.
_WHOSE = re.compile(
    r"(^|[^a-z])(patient|subject|donor|participant|person|individual|animal|mouse|family|household"
    r"|customer|client|user|id)s?([^a-z]|id|$)"
)
_FEWEST = 5  # values of such a column


def groups_of(table: Table) -> Any:
    """Return the number of the group of every sample, (n,); None where each is by itself.

    Without --cv-groups samples of one name are a group: others of a sample that is held out would
    say what its target is.
    """
    import numpy as np

    labels = table.columns.get("cv_groups", table.sample_names)
    if labels is None:
        return None
    names, code = np.unique(np.asarray(labels), return_inverse=True)
    alone = "cv_groups" not in table.columns and names.size == code.size
    return None if alone else code


def usable_folds(cv: int, table: Table, response: Response, notes: list[str]) -> int | None:
    """Return as many folds as the target allows; None if it allows none.

    The smallest class must have a sample, or a group with one, for every fold; held-out numbers
    must differ, and held-out survival times have a pair to compare, for a score of them.
    """
    if response.groups is None:
        notes += _repeated_ids(table)
    else:
        name = table.column_names.get("cv_groups")
        of = "name" if name is None else show(name, 40)
        notes.append(
            f"in the cross-validation samples of one {of} are held out together: "
            f"{int(response.groups.max()) + 1:,} groups"
        )
    if response.labelled:
        return _folds_of_classes(cv, table, response, notes)
    return _folds_of_numbers(cv, response, notes)


def _repeated_ids(table: Table) -> list[str]:
    """Return notes about columns that say whose a sample is, and say it of several samples."""
    import numpy as np

    from ..io.opening import dense_columns

    found: dict[str, tuple[str, int]] = {}
    codings = table.codings
    for place, name in enumerate(table.feature_names or ()):
        column = codings[name].column if name in codings else name
        if not _WHOSE.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column).lower()):
            continue
        if name in codings and codings[name].kind == "category":
            if len(codings[name].levels) < _FEWEST:
                continue
            value = repr(name.removeprefix(f"{column}="))
            (values,) = dense_columns(table.X, np.array([place]))
            often = int(np.count_nonzero(values))
        else:
            (values,) = dense_columns(table.X, np.array([place]))
            numbers, counts = np.unique(values, return_counts=True)
            if numbers.size < _FEWEST or (numbers != np.round(numbers)).any():
                continue
            value, often = f"{numbers[counts.argmax()]:g}", int(counts.max())
        if often > max(1, found.get(column, ("", 1))[1]):
            found[column] = value, often
    return [
        Doubt(
            f"{show(column, 40)} {show(value, 40)} occurs in {often:,} samples: folds may hold out "
            f"one and train on another; say --cv-groups {show(column, 40)}"
        )
        for column, (value, often) in found.items()
    ]


def _folds_of_classes(cv: int, table: Table, response: Response, notes: list[str]) -> int | None:
    from ..solvers.folds import members

    classes, counts = members(response.y, response.groups)
    smallest = int(counts.min())
    if smallest >= cv:
        return cv
    label = show(str(classes[counts.argmin()]))
    one, many = ("group", "groups") if "cv_groups" in table.columns else ("sample", "samples")
    if smallest < 2:
        remedy = by_where(table, str(classes[counts.argmin()]))
        remedy = f"; leave it out{remedy}" if remedy else ""
        notes.append(Doubt(f"no cross-validation: the class {label} has one {one}{remedy}"))
        return None
    notes.append(
        Doubt(f"{smallest} folds instead of {cv}: the class {label} has {smallest} {many}")
    )
    return smallest


def _folds_of_numbers(cv: int, response: Response, notes: list[str]) -> int | None:
    import numpy as np

    from ..core.targets import check_survival
    from ..estimators.base import quantiles_of
    from ..estimators.folds import splits
    from ..estimators.survival import concordance

    survival, n, groups = response.task == "survival", len(response.y), response.groups
    target = check_survival(response.y, n) if survival else response.y
    why = (
        "a held-out event needs a sample that outlives it"
        if survival
        else ("held-out numbers must differ")
    )

    def scored(test: Any) -> bool:
        if not survival:
            return bool((target[test] != target[test[0]]).any(axis=0).all())
        try:
            concordance(target[test], np.zeros(test.size), np.ones(test.size))
        except ValueError:
            return False
        return True

    def pairs(folds: int) -> list[tuple[Any, Any]] | None:
        first = target if target.ndim == 1 else target[:, 0]  # of several responses
        strata = target[:, 1].astype(np.int64) if survival else quantiles_of(first, folds)
        try:
            return splits(
                strata, np.ones(n), folds, 0, stratify=survival or groups is None, groups=groups
            )
        except ValueError:
            return None

    n_samples = n if groups is None else int(groups.max()) + 1
    for folds in range(min(cv, n_samples), 1, -1):
        found = pairs(folds)
        if found is not None and all(scored(test) for _, test in found):
            if folds < cv:
                notes.append(Doubt(f"{folds} folds instead of {cv}: {why}"))
            return folds
    notes.append(Doubt(f"no cross-validation: {why}"))
    return None

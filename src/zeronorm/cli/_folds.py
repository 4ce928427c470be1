"""The folds that data allow, in which all rows of a sample are held out together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._messages import Doubt, show
from ._rare_levels import by_where

if TYPE_CHECKING:
    from ..files import Table
    from ._target import Response


def usable_folds(cv: int, table: Table, response: Response, notes: list[str]) -> Any:
    """Return as many folds as the target allows, a number or pairs of rows; None if it allows none.

    The smallest class must have a sample for every fold; held-out numbers must differ, and
    held-out survival times have a pair to compare, for a score of them.
    """
    samples = _samples_of(table)
    if samples is not None:
        notes.append("in the cross-validation rows of one name are held out together")
    if response.labelled:
        folds = _folds_of_classes(cv, table, response.y, samples, notes)
    else:
        folds = _folds_of_numbers(cv, response, samples, notes)
    return None if folds is None else kept_together(table, response, folds)


def kept_together(table: Table, response: Response, folds: int) -> Any:
    """Return the folds, or where names of samples repeat pairs of rows that hold theirs out.

    Other rows of a sample that is held out would say what its target is.
    """
    samples = _samples_of(table)
    return folds if samples is None else _splits(response, folds, samples)


def _samples_of(table: Table) -> Any:
    """Return the number of the sample of every row, (n,); None where each has its own.

    Rows of one sample that differ in their start are meant so: they are of other times.
    """
    import numpy as np

    if table.sample_names is None or "start" in table.columns:
        return None
    names, code = np.unique(np.array(table.sample_names, str), return_inverse=True)
    return None if names.size == code.size else code


def _splits(response: Response, folds: int, samples: Any) -> list[tuple[Any, Any]]:
    """Return pairs of rows of training and held-out ones, the rows of a sample in one of them."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    kind = StratifiedGroupKFold if response.labelled else GroupKFold
    y = response.y if response.labelled else None
    return list(kind(folds, shuffle=True, random_state=0).split(samples, y, samples))


def _folds_of_classes(cv: int, table: Table, y: Any, samples: Any, notes: list[str]) -> int | None:
    import numpy as np

    if samples is not None:  # a sample counts once in each of its classes
        first = np.unique(np.column_stack([np.unique(y, return_inverse=True)[1], samples]), axis=0)
        y = np.unique(y)[first[:, 0]]
    classes, counts = np.unique(y, return_counts=True)
    smallest = int(counts.min())
    if smallest >= cv:
        return cv
    label = show(str(classes[counts.argmin()]))
    if smallest < 2:
        remedy = by_where(table, str(classes[counts.argmin()]))
        remedy = f"; leave it out{remedy}" if remedy else ""
        notes.append(Doubt(f"no cross-validation: the class {label} has one sample{remedy}"))
        return None
    notes.append(
        Doubt(f"{smallest} folds in place of {cv}: the class {label} has {smallest} samples")
    )
    return smallest


def _folds_of_numbers(cv: int, response: Response, samples: Any, notes: list[str]) -> int | None:
    import numpy as np

    from .._folds import splits
    from ..estimators._linear import quantiles_of
    from ..estimators._survival import concordance
    from ..validate import check_survival

    survival, n = response.task == "survival", len(response.y)
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
        if samples is not None:
            return _splits(response, folds, samples)
        first = target if target.ndim == 1 else target[:, 0]  # of several responses
        strata = target[:, 1].astype(np.int64) if survival else quantiles_of(first, folds)
        if np.unique(strata, return_counts=True)[1].min() < folds:
            return None
        return splits(strata, np.ones(n), folds, 0)

    n_samples = n if samples is None else int(samples.max()) + 1
    for folds in range(min(cv, n_samples), 1, -1):
        found = pairs(folds)
        if found is not None and all(scored(test) for _, test in found):
            if folds < cv:
                notes.append(Doubt(f"{folds} folds in place of {cv}: {why}"))
            return folds
    notes.append(Doubt(f"no cross-validation: {why}"))
    return None

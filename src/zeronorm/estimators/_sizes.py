"""Numbers of features or groups to compare, where the user leaves them to the data: "auto"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_regressor

from .. import validate
from .._together import members

if TYPE_CHECKING:
    from ..model_selection import CrossValidation
    from ._rowwise import Rowwise

AUTOMATIC = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
FEW = 6  # whole groups that are compared however many features they have
FOLDS = 5  # of the cross-validation that chooses among them


def is_automatic(budget: Any) -> bool:
    """Return whether a number of features or of groups is left to the data."""
    return isinstance(budget, str) and budget == "auto"


def has_automatic(estimator: Any) -> bool:
    """Return whether one of the budgets of an estimator is left to the data."""
    return is_automatic(estimator.n_features) or is_automatic(getattr(estimator, "n_groups", None))


def ladder(n_rows: int, n_usable: int, n_forced: int) -> tuple[int, ...]:
    """Return the sizes that are worth comparing: at most half of the rows, and all of them.

    n_usable, n_forced : columns or groups.
    """
    least, most = max(1, n_forced), min(n_rows // 2, n_usable)
    return tuple(k for k in AUTOMATIC if least <= k <= most) or (least,)


def ladder_of_groups(n_rows: int, n_usable: int, n_forced: int, n_columns: int) -> tuple[int, ...]:
    """Return the numbers of whole groups that are worth comparing.

    Those above FEW have no more features than there are rows.

    n_columns : of all usable groups; of some the mean counts.
    """
    most = max(FEW, n_rows * n_usable // max(1, n_columns))
    return ladder(n_rows, min(n_usable, most), n_forced)


def sizes_of_rows(estimator: Any, data: Rowwise) -> tuple[int, ...] | None:
    """Return the automatic sizes by the shape of the data alone, without a pass; None: no such."""
    if not is_automatic(estimator.n_features):
        return None
    n_rows, n_columns = data.design.shape
    n_columns -= len(estimator.covariates or ())
    return ladder(n_rows, n_columns, len(estimator.forced_features or ()))


def chosen_by_folds(estimator: Any, data: Rowwise) -> CrossValidation | None:
    """Return the cross-validation that chooses the size of a fit; None where none is to be chosen.

    With a budget of "auto" and without a criterion: that of `BudgetCV` with its defaults, in fewer
    folds where a class has fewer rows.
    """
    if not has_automatic(estimator) or estimator.criterion is not None:
        return None
    from ..model_selection import Judge, validated  # which imports the estimators

    groups = data.groups
    folds = data.design.shape[0] if groups is None else int(np.unique(groups).size)
    if not is_regressor(estimator):
        classes, counts = members(estimator._strata(data.labels, FOLDS), groups)
        folds = int(counts.min())
        if folds < 2:
            rare = validate.plain(classes[counts.argmin()])
            of = "features" if is_automatic(estimator.n_features) else "groups"
            need, got = "two rows (of positive weight)", "1 sample of"
            if groups is not None:
                need, got = "samples in two groups", "1 group with a sample of"
            raise ValueError(
                f"n_{of}='auto' is chosen by folds, for which every class needs {need}; got {got} "
                f"class {rare!r}. Pass a number of {of}."
            )
    return validated(Judge.of(estimator, None, None), data, min(FOLDS, folds), None, 0)


__all__ = [
    "AUTOMATIC",
    "chosen_by_folds",
    "has_automatic",
    "is_automatic",
    "ladder",
    "ladder_of_groups",
    "sizes_of_rows",
]

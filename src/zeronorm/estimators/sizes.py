"""Numbers of features or groups to compare, where the user leaves them to the data: "auto"."""

from __future__ import annotations

from typing import Any

from .problem import TrainingData

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


def sizes_of_rows(estimator: Any, data: TrainingData) -> tuple[int, ...] | None:
    """Return the automatic sizes by the shape of the data alone, without a pass; None: no such."""
    if not is_automatic(estimator.n_features):
        return None
    n_rows, n_columns = data.design.shape
    n_columns -= len(estimator.covariates or ())
    return ladder(n_rows, n_columns, len(estimator.forced_features or ()))

"""Numbers of features to compare, where the user leaves them to the data: n_features="auto"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_regressor

from .. import validate

if TYPE_CHECKING:
    from ..model_selection import CrossValidation
    from ._sparse_linear import Rowwise

AUTOMATIC = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
FOLDS = 5  # of the cross-validation that chooses among them


def is_automatic(n_features: Any) -> bool:
    """Return whether sizes are left to the data."""
    return isinstance(n_features, str) and n_features == "auto"


def ladder(n_rows: int, n_usable: int, n_forced: int) -> tuple[int, ...]:
    """Return the sizes that are worth comparing: at most half of the rows, and all columns."""
    least, most = max(1, n_forced), min(n_rows // 2, n_usable)
    return tuple(k for k in AUTOMATIC if least <= k <= most) or (least,)


def sizes_of_rows(estimator: Any, data: Rowwise) -> tuple[int, ...] | None:
    """Return the automatic sizes by the shape of the data alone, without a pass; None: no such."""
    if not is_automatic(estimator.n_features):
        return None
    n_rows, n_columns = data.design.shape
    n_columns -= len(estimator.covariates or ())
    return ladder(n_rows, n_columns, len(estimator.forced_features or ()))


def chosen_by_folds(estimator: Any, data: Rowwise) -> CrossValidation | None:
    """Return the cross-validation that chooses the size of a fit; None where none is to be chosen.

    With n_features="auto" and without a criterion: that of `BudgetCV` with its defaults, in fewer
    folds where a class has fewer rows.
    """
    if not is_automatic(estimator.n_features) or estimator.criterion is not None:
        return None
    from ..model_selection import Judge, validated  # which imports the estimators

    folds = data.design.shape[0]
    if not is_regressor(estimator):
        classes, counts = np.unique(estimator._strata(data.labels, FOLDS), return_counts=True)
        folds = int(counts.min())
        if folds < 2:
            rare = validate.plain(classes[counts.argmin()])
            raise ValueError(
                "n_features='auto' is chosen by folds, for which every class needs two rows (of "
                f"positive weight); got 1 sample of class {rare!r}. Pass a number of features."
            )
    return validated(Judge.of(estimator, None, None), data, min(FOLDS, folds), None, 0)


__all__ = ["AUTOMATIC", "chosen_by_folds", "is_automatic", "ladder", "sizes_of_rows"]

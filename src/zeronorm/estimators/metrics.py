"""Harrell's C as a metric and as a scorer of scikit-learn, for survival times."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import make_scorer

from ..core import validation as validate
from .survival import concordance


def c_index(y: Any, risk: Any, sample_weight: Any = None) -> float:
    """Return Harrell's C: the share of comparable pairs whose risks are in the order of events.

        C = sum_{(i, j)} w_i w_j ([r_i > r_j] + [r_i = r_j] / 2) / sum_{(i, j)} w_i w_j

    over the pairs of an event i and a row j that is under observation then and outlives it, in one
    stratum. It is what `score` of the models of survival times returns, see there.

    Parameters
    ----------
    y : (n_samples,) survival times, as for `BudgetSurvivalAnalysis.fit`.
    risk : (n_samples,) finite numbers: the higher, the sooner the event.
    sample_weight : (n_samples,) or None

    Raises
    ------
    ValueError
        Where risk is not a finite number for every row, or no pair can be compared.

    Source
    ------
    Harrell, Lee and Mark, Multivariable prognostic models, Statistics in Medicine 15 (1996).

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm.estimators.metrics import c_index
    >>> y = np.array([(True, 1), (True, 2), (False, 3)], dtype=[("event", "?"), ("time", "f8")])
    >>> round(c_index(y, [3.0, 1.0, 2.0]), 3)
    0.667
    """
    found = validate.as_numbers(risk)
    if found is None or found.ndim != 1 or not np.isfinite(found).all():
        raise ValueError(
            f"risk must be finite numbers, one for each row; got {validate.shown(risk)}."
        )
    target = validate.check_survival(y, found.size)
    weight = validate.check_sample_weight(sample_weight, found.size)
    return concordance(target, found, weight)


# For `scoring` of scikit-learn, of any estimator whose `predict` is a risk.
c_index_scorer = make_scorer(c_index)

__all__ = ["c_index", "c_index_scorer"]

"""How far predictions of numbers were from the targets of rows out of fold, for intervals.

An interval is the prediction plus and minus a quantile of these absolute errors. Of rows
exchangeable with those of the training it has its coverage approximately, where leaving a fold out
changes the fit little, and on the average over rows: not given the features of one. No bound on it
holds for all fits; that of CV+, which keeps the models of all folds, is 1 - 2 alpha for a coverage
of 1 - alpha (Barber, Candes, Ramdas, Tibshirani, "Predictive inference with the jackknife+", The
Annals of Statistics 49, 2021, where this interval is compared with it).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.files import Require

MOST = 1000  # order statistics that a file keeps


def has_intervals(loss: Any, n_targets: int) -> bool:
    """Return whether a model may have intervals: of one target, by a loss of residuals."""
    return loss is not None and n_targets == 1 and bool(loss.of_residuals)


def summarize_errors(errors: Any) -> dict[str, Any]:
    """Return the number of rows out of fold, and order statistics of their absolute errors.

    Of n rows all, or of more than 1000 those of the ranks ceil(i n / 1000).
    """
    values = np.asarray(errors, np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(
            "errors must be finite numbers, one for each row out of fold; got an array of shape "
            f"{values.shape}."
        )
    n = values.size
    most = min(n, MOST)
    ranks = -(-np.arange(1, most + 1) * n // most)
    return {"n": n, "absolute": np.sort(np.abs(values))[ranks - 1].tolist()}


def check_errors(record: Any, require: Require) -> None:
    """Check what `summarize_errors` returns."""
    known = isinstance(record, dict) and record.keys() == {"n", "absolute"}
    require(known and type(record["n"]) is int, "errors must have n and absolute")
    n, values = record["n"], record["absolute"]
    right = isinstance(values, list) and 0 < len(values) == min(n, MOST)
    right = right and all(type(one) is float and 0 <= one < math.inf for one in values)
    require(right and values == sorted(values), "absolute errors must be numbers that grow")


def half_width(record: Mapping[str, Any], coverage: float) -> float:
    """Return the half of an interval: the absolute error of rank ceil((n + 1) coverage).

    Raises
    ------
    ValueError
        If the coverage is not between 0 and 1, or so high that no error has that rank.
    """
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must be above 0 and below 1; got {coverage:g}.")
    n, values = record["n"], record["absolute"]
    rank = max(1, math.ceil((n + 1) * coverage - 1e-9))
    if rank > n:
        raise ValueError(
            f"coverage must be at most {n / (n + 1):.4g}, as there are the errors of {n} rows out "
            f"of fold; got {coverage:g}."
        )
    place = -(-rank * len(values) // n)
    return float(values[place - 1])

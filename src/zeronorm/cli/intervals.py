"""Intervals around predictions of numbers, by the errors of rows out of fold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..persistence import LoadedModel
    from .rows_options import PredictOptions


def check_interval(options: PredictOptions, loaded: LoadedModel) -> dict[str, Any] | None:
    """Return the interval that --interval asks for, as a document has it; None where it does not.

    Raises
    ------
    ValueError
        If its share is none, the model is not of numbers of one target, or its file has no errors
        of rows out of fold, or too few.
    """
    from ..persistence import LoadedClassifier, LoadedRegressor
    from ..persistence.records import half_width, has_intervals

    share, model = options.interval, options.model
    if share is None:
        return None
    if not 0 < share < 1:
        raise ValueError(
            f"--interval must be a share of rows, above 0 and below 1, as 0.9; got {share:g}."
        )
    if not isinstance(loaded, LoadedRegressor) or not has_intervals(loaded.loss, len(loaded.coef)):
        other = "survival times, of which --times says more"
        if isinstance(loaded, LoadedClassifier):
            other = "classes, of which --proba says how sure they are"
        elif isinstance(loaded, LoadedRegressor):
            n = len(loaded.coef)
            other = f"{n} responses" if n > 1 else f"numbers by the loss {loaded.loss.name}"
        raise ValueError(
            f"--interval {share:g} is of numbers of one target, by least_squares, huber or "
            f"quantile; {model} is of {other}. Leave it out."
        )
    record = loaded.metadata["errors"]
    if record is None:
        raise ValueError(
            f"--interval {share:g} needs the errors of rows out of fold, and {model} has none: it "
            "was selected without folds, or by an earlier version. Select it again with them."
        )
    n = record["n"]
    if share > n / (n + 1):
        raise ValueError(
            f"--interval must be at most {n / (n + 1):.4g} of {model}, which has the errors of "
            f"{n:,} rows out of fold; got {share:g}. More rows to select from allow more."
        )
    half = half_width(record, share)
    return {"share": share, "half_width": half, "n_errors": n, "inside": None}


def share_inside(targets: Any, predictions: Any, interval: Mapping[str, Any]) -> float:
    """Return the share of targets that are in the intervals of their predictions."""
    import numpy as np

    return float(np.mean(np.abs(targets - np.array(predictions)) <= interval["half_width"]))

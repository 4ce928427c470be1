"""The covariates of a selection: read from the data, taken from what may be selected, checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import validate
from .._typing import FloatArray, IndexArray
from ..designs._columns import gather
from ..losses import as_adjusted
from ..methods import Method, with_covariates
from ..solvers import Task
from ._sparse_linear import Rowwise


def check_method(covariates: Any, method: Method) -> None:
    """Raise ValueError where a method has no covariates."""
    if covariates is not None and not method.adjusts:
        raise ValueError(
            f"covariates are of the methods {with_covariates()}; got "
            f"method={method.name!r}. Pass them as forced_features, which are counted and "
            "penalised, or use one of these."
        )


def taken(
    covariates: Any, forced_features: Any, data: Rowwise, usable: np.ndarray
) -> tuple[IndexArray, FloatArray] | None:
    """Return covariates, sorted, and their columns, (n, q); they are no longer usable then."""
    found = validate.check_features("covariates", covariates, usable, data.names)
    if not found.size:
        return None
    forced = validate.check_features("forced_features", forced_features, usable, data.names)
    validate.check_apart(found, forced)
    usable[found] = False
    return found, gather(data.design, found).dense()


def check_tasks(tasks: Iterable[Task]) -> None:
    """Raise ValueError where covariates leave nothing to explain, or have no best coefficients."""
    for task in tasks:
        adjusted = as_adjusted(task.loss)
        if adjusted is not None:
            validate.check_adjustable(adjusted, task.y, task.risk(1.0).weight)

"""C of the final refit by folds that repeat the elimination inside the pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._typing import Columns, FloatArray, IndexArray
from ..designs._operations import column_scaling
from ..losses import Logistic
from ._calibrate import fold_numbers
from ._exchange import Exchanges
from ._refit import LOO_GRID, refit, variances
from ._ridge import take
from ._task import Task


def _rows(Z: Columns, rows: IndexArray) -> Any:
    dense: Any = Z
    part = dense[rows]
    return np.asfortranarray(part) if isinstance(part, np.ndarray) else part.tocsc()


def cv_penalties(
    task: Task,
    Z: Columns,
    features: IndexArray,
    chosen: Mapping[int, IndexArray],
    keep: IndexArray | None,
    C: float,
    sizes: Sequence[int],
    splice: Sequence[int],
) -> dict[int, float | str]:
    """Return C of the final refit for every size."""
    std = 1.0 / column_scaling(task.design, features)[1]
    y, weight = task.y, task.sample_weight
    place = np.asarray(
        Z @ np.random.RandomState(0).uniform(-1.0, 1.0, features.size), np.float64
    ).ravel()
    number = fold_numbers(place, y)
    total = {k: np.zeros(len(LOO_GRID)) for k in sizes}
    n_folds = int(number.max()) + 1
    if n_folds < 2:
        return dict.fromkeys(sizes, "loo")
    for f in range(n_folds):
        train, test = np.flatnonzero(number != f), np.flatnonzero(number == f)
        inside, outside = _rows(Z, train), _rows(Z, test)
        exchanges = Exchanges(
            inside, y[train], C * weight[train], task.loss, intercept=task.intercept, keep=keep
        )
        found = exchanges.eliminate(np.arange(features.size), list(sizes))
        for k in sizes:
            at = found[k]
            if k in splice:
                at = exchanges.improve(exchanges.fit(at), swaps=False).columns
            columns = take(inside, at)
            v = float(variances(columns, std[at], weight[train]).mean())
            none: FloatArray = np.zeros(k)
            for place_, g in enumerate(LOO_GRID):
                fit = refit(
                    columns, none, std[at], y[train], weight[train], C=g / v,
                    intercept=task.intercept,
                )  # fmt: skip
                z = np.asarray(take(outside, at) @ (fit.coef * std[at])) + fit.intercept
                total[k][place_] += Logistic().value_gradient(z, y[test], weight[test])[0]
    result: dict[int, float | str] = {}
    for k in sizes:
        at = chosen[k]
        v = float(variances(take(Z, at), std[at], weight).mean())
        result[k] = LOO_GRID[int(np.argmin(total[k]))] / v
    return result

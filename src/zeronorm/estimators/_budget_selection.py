"""What estimators with a budget for one target do at fit: of numbers, counts, survival times.

They have these functions as methods: no class has more than three of ours among its bases.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..methods import Method, named
from ..solvers.drive import Solver
from ._selecting import Plan, Problem, begun, keep_paths
from ._sparse_linear import Rowwise


def plan_of(model: Any) -> Plan:
    """Return the selection as the parameters state it."""
    return Plan.of(model)


def method_of(model: Any, automatic: type[Method]) -> Method:
    """Return what finds the features; automatic: the method of "auto"."""
    return named(model.method, automatic)


def check(model: Any) -> None:
    """Raise ValueError where a parameter breaks a rule that no data are needed for."""
    Plan.of(model)


def least_weight(model: Any) -> float:
    """Return what weights are compared with: 1, as C may be infinite."""
    return 1.0


def sizes_of_folds(model: Any, data: Rowwise) -> tuple[Any, ...] | None:
    """Return the sizes of all folds, checked with all data; None: each has its own."""
    return model._pose(data).sizes if Plan.of(model).counts == "both" else None


def pose(model: Any, data: Rowwise, sizes: tuple[Any, ...] | None = None) -> Problem:
    """Return the problem of `fit` on these rows."""
    data, unit = model._weigh(data)
    return Plan.of(model).pose(data, [data.labels], None, unit, sizes)


def begin(
    model: Any, data: Rowwise, seconds: dict[str, float]
) -> tuple[np.ndarray | None, list[Solver[Any]]]:
    """Return no classes, and the solver."""
    return None, begun(model, data, seconds)[1]


def store(model: Any, results: list[Any]) -> None:
    """Set the attributes that the results of the solvers give."""
    keep_paths(model, results)
    Plan.of(model).keep_groups(model)


def doubts(model: Any) -> Iterable[Warning]:
    """Return the warnings that a fit gives."""
    return Plan.of(model).doubts(model._paths, model.size_)

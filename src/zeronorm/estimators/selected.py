"""A fit under a budget: how it begins, and what it keeps of the models of all sizes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.criteria import criteria_table
from ..core.results import Path
from ..solvers.drive import Solver
from .problem import Problem
from .rowwise import Rowwise
from .sparse_linear import SparseLinearModel
from .validation import chosen_by_folds


def begun(
    model: Any, data: Rowwise, seconds: dict[str, float], **options: Any
) -> tuple[Problem, Solver[list[Path]]]:
    """Return the problem of a fit, and its solver, with options as of `Problem.solver`.

    It begins with what the previous fit gives, where it had these columns and as many classes.
    """
    begin = time.perf_counter()
    model.__dict__.pop("_by_folds", None)
    validation = chosen_by_folds(model, data)
    if validation is None:
        problem = model._pose(data)
    else:
        seconds["cross-validation"] = time.perf_counter() - begin
        begin = time.perf_counter()
        problem = model._pose(data, validation.sizes)
        model._by_folds = validation, validation.choose()  # until the fit has ended
    seconds["standardize"] = time.perf_counter() - begin
    tasks, paths = problem.tasks, getattr(model, "_paths", ())
    starts = None
    n_columns = tasks[0].design_of_features.shape[1]
    same = len(paths) == len(tasks) and model._n_columns == n_columns
    if model.warm_start and same:
        starts = model._plan().method.start(paths)
    return problem, problem.solver(starts, seconds, **options)


def one_or_all(values: Sequence[Any]) -> Any:
    """Return the only value, or the tuple of those of all classes, in the order of `classes_`."""
    return values[0] if len(values) == 1 else tuple(values)


def keep_paths(model: SparseLinearModel, paths: Sequence[Path]) -> None:
    """Set the attributes that the paths of a fit give, and unset those of an earlier one."""
    sizes = list(paths[0])
    table = criteria_table(paths)
    model._paths = tuple(paths)
    chosen = sizes[-1 if model.criterion is None else int(np.argmin(table[model.criterion]))]
    model.__dict__.pop("validation_", None)
    by_folds = model.__dict__.pop("_by_folds", None)
    if by_folds is not None:
        model.validation_, chosen = by_folds
    known = {"path_": one_or_all(paths), "history_": one_or_all([path.history for path in paths])}
    model.__dict__.pop("criteria_", None)
    if not np.isnan(table["log_loss"]).all():
        known["criteria_"] = table
    model.__dict__.update(known)
    keep_size(model, chosen)


def keep_size(model: SparseLinearModel, size: Any) -> None:
    """Make one of the sizes of a fit the model that predicts.

    `certificate_`, `proof_` and `optimality_gap_` are there where they are known.
    """
    chosen = [path[size] for path in model._paths]
    model.size_ = size
    if model._paths[0].method:  # else the problem is that of a measure
        model.C_, model.method_ = model._paths[0].C, model._paths[0].method
    known: dict[str, Any] = {}
    certificates = [selection.certificate for selection in chosen]
    gaps = [selection.gap for selection in chosen]
    if all(certificates):
        known["certificate_"] = one_or_all(certificates)
        gaps = [certificate.gap for certificate in certificates if certificate is not None]
    if not np.isnan(gaps).any():
        known["optimality_gap_"] = float(max(gaps))
    if any(selection.proof for selection in chosen):
        known["proof_"] = one_or_all([selection.proof for selection in chosen])
    for name in ("certificate_", "optimality_gap_", "proof_"):
        model.__dict__.pop(name, None)
    model.__dict__.update(known)
    model._set_models(chosen)

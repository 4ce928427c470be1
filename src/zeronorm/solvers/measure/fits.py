"""Fits over some features, and the models that they are on the user's scaling of X."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.criteria import no_criteria
from ...core.results import Selection
from ...core.types import FloatArray, IndexArray
from ...data.operations import on_scaling_of_x
from ..drive import Solver
from .cuts import BlockModel, FullModel
from .inner_layer import InnerLayer, InnerSolution
from .task import MeasureTask


@dataclass(frozen=True, slots=True)
class Fit:
    """A model on the selection scaling."""

    support: IndexArray  # in order of entry
    coef: FloatArray
    inner: InnerSolution


def add_constant_cuts(task: MeasureTask, model: BlockModel | FullModel) -> Solver[None]:
    """Give a model the cuts of constant scores, for good."""
    for cut in task.constant_cuts():
        yield from model.add(cut, keep=True)


def refitted(
    model: BlockModel, sizes: Sequence[int], b: float, solve: InnerLayer, tol: float
) -> Solver[dict[int, Fit]]:
    """Fit the first features of the model, as many as each size says, as one block."""
    fits = {}
    for k in sizes:
        features = model.features[:k]
        one = model.restricted(features)
        found = yield from solve(one, one.zero(b), tol)
        fits[k] = Fit(features, one.coef(found.point)[:k], found)
    return fits


def selection_of(
    task: MeasureTask,
    support: IndexArray,
    coef: FloatArray,
    fit: InnerSolution,
    bound: float | None,
    entered: list[IndexArray],
) -> Selection:
    """Return the model on the user's scaling of X, the threshold taken from its intercept."""
    data = task.data
    position = np.argsort(support, kind="stable")
    support, coef = support[position], coef[position]
    threshold = task.measure.threshold(fit.point.scores, data.y, task.weight)
    coef, intercept = on_scaling_of_x(data.design, support, coef, fit.point.b - threshold)
    steps = np.zeros(support.size, np.int64)
    for number, features in enumerate(entered, start=1):
        steps[(steps == 0) & np.isin(support, features)] = number
    return Selection(
        support, coef, intercept, task.C, steps, None,
        math.nan, math.nan, no_criteria(), objective=fit.objective, bound=bound,
    )  # fmt: skip

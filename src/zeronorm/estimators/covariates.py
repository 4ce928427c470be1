"""The covariates of a selection: read from the data, taken from what may be selected, checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.budgets import AtFault, check_adjustable, check_apart, check_features
from ..core.errors import Column, Message, Named, Parameter, ParameterError
from ..core.types import FloatArray, IndexArray
from ..data.gathered import gather
from ..losses import as_adjusted
from ..losses.covariates import Adjusted
from ..methods import Method, names_of_methods
from ..solvers import Task
from .problem import TrainingData


def check_adjusts(covariates: Any, method: Method) -> None:
    """Raise ValueError where a method has no covariates."""
    if covariates is not None and not method.adjusts:
        raise ParameterError(
            "covariates",
            f"are of the methods {names_of_methods(lambda one: one.adjusts)}",
            Message(Parameter.of("method", method.name)),
            Message(
                "Pass them as ",
                Parameter("forced_features"),
                ", which are counted and penalised, or use one of these.",
            ),
        )


def covariates_of(
    covariates: Any, forced: IndexArray, data: TrainingData, usable: np.ndarray
) -> tuple[IndexArray, FloatArray] | None:
    """Return covariates, sorted, and their columns, (n, q); they are no longer usable then."""
    found = check_features("covariates", covariates, usable, data.names)
    if not found.size:
        return None
    check_apart(found, forced)
    usable[found] = False
    return found, gather(data.design, found).dense()


def check_covariates(
    tasks: Iterable[Task], beside: tuple[IndexArray, FloatArray], data: TrainingData
) -> None:
    """Raise ValueError where covariates leave nothing to explain, or have no best coefficients.

    beside : what `covariates_of` returned.
    """
    for task in tasks:
        adjusted = as_adjusted(task.loss)
        if adjusted is not None:
            find = partial(_one_sided, adjusted, *beside, data)
            check_adjustable(adjusted, task.y, task.risk(1.0).weight, find)


def _one_sided(
    loss: Adjusted, found: IndexArray, columns: FloatArray, data: TrainingData
) -> tuple[Message, AtFault | None]:
    """Return which rows of one value of a covariate lack an outcome: in words, and as such.

    "" and None where none are known.
    """
    outcome = data.labels
    if loss.target == "survival":
        outcome = np.where(outcome[:, 1] > 0, "an event", "no event")
    elif not loss.of_labels:
        outcome = np.where(outcome > 0, "a count above 0", "a count of 0")
    if outcome.ndim > 1:
        return Message(), None
    everything = np.unique(outcome)
    for rows, value, places in _set_apart(columns):
        lacking = np.setdiff1d(everything, outcome[rows])
        if rows.any() and lacking.size:
            own = tuple(found[places].tolist())
            named = [part for j in own for part in (" and ", Column(j))][1:]
            text = Message(
                f": of the {int(rows.sum())} rows with {value:g} in ",
                *named,
                f" none has {str(lacking[0])!r:.40}",
            )
            if data.names:
                text = Message(text.said(Named(data.names)))
            return text, AtFault(own, value)
    return Message(), None


def _set_apart(columns: FloatArray) -> Iterator[tuple[NDArray[Any], float, list[int]]]:
    """Yield the rows of each value of binary covariates, and those of the base of some levels.

    With them that value, and which covariates have it. Levels are columns of 0 and 1, one after the
    other, of which no row has two.
    """
    levels: list[int] = []
    base = np.ones(len(columns), bool)
    for place, column in enumerate(columns.T):
        values = np.unique(column)
        if values.size != 2:
            continue
        for value in values.tolist():
            yield column == value, value, [place]
        apart = bool((values == (0, 1)).all() and base[column == 1].all())
        levels = [*levels, place] if apart else [place]
        base = (base if apart else np.ones(len(columns), bool)) & (column == 0)
        yield base, 0.0, levels

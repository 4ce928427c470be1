"""The features and covariates of a model, with the effects of one standard deviation each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.effects import effects
from ...core.results import Selection
from ...core.types import Design, FloatArray, IndexArray
from ...data.operations import deviations
from ...io.table import Table
from .data import describe_feature


def describe_features(
    label: Any,
    support: IndexArray,
    coef: FloatArray,
    step: str,
    entered: IndexArray,
    table: Table,
    design: Design,
    loss: str | None,
) -> list[dict[str, Any]]:
    """Return the features of a model for a class, by falling effect of one standard deviation.

    coef : (k,), or (outputs, k); then a row has the coefficients and effects of all outputs, and
        the order is that of their root mean square.
    step : what `entered` counts, at which each feature entered.
    loss : by its name, of which the exponentials of coefficients may be ratios; None: of none.
    """
    deviation = deviations(design.gather(support))
    effect = coef * deviation
    # Ties, as of features without effect, go by position.
    order = np.lexsort((support, -np.sqrt((np.atleast_2d(effect) ** 2).sum(axis=0))))
    return [
        {
            "class": label,
            "rank": rank,
            **describe_feature(table, int(support[j])),
            **effects(coef[..., j], deviation[j], loss),
            step: int(entered[j]),
        }
        for rank, j in enumerate(order, 1)
    ]


def describe_covariates(
    label: Any, model: Selection, table: Table, design: Design, loss: str | None
) -> list[dict[str, Any]]:
    """Return the covariates of a model for a class, in order, as `describe_features`."""
    deviation = deviations(design.gather(model.covariates))
    return [
        {
            "class": label,
            **describe_feature(table, int(feature)),
            **effects(model.effects[..., j], deviation[j], loss),
        }
        for j, feature in enumerate(model.covariates)
    ]

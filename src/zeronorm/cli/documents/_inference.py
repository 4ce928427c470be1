"""What rows say of a model that other rows chose, as a document has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._effects import effects, ratio, ratio_name
from ...designs import as_design
from ...designs._operations import deviations
from ...persistence import finite_or_none
from ...split_inference import ChosenModel, SplitInference
from ._data import describe_data, describe_feature

if TYPE_CHECKING:
    from ...files import Table
    from .._infer import InferOptions
    from .._selection import Samples


def describe_inference(
    options: InferOptions, samples: Samples, found: SplitInference
) -> dict[str, Any]:
    """Return the model of every split, and what all splits say of each feature together."""
    table, response = samples.table, samples.response
    features, p, adjusted = found.features, found.p_values, found.adjusted_p_values
    often = np.array([sum(int(j) in one.features for one in found.models) for j in features])
    order = np.lexsort((features, -often, p))
    return {
        "data": describe_data(options.data, table, response),
        "model": found.model,
        "classes": np.unique(response.y).tolist() if response.labelled else [],
        "n_features": int(options.features),
        "share": options.share,
        "confidence": found.level,
        "features": [
            {
                **describe_feature(table, int(features[at])),
                "chosen": float(often[at] / len(found.models)),
                "p_value": float(p[at]),
                "adjusted_p_value": float(adjusted[at]),
            }
            for at in order
        ],
        "splits": [_describe_split(one, table, found.model) for one in found.models],
    }


def _describe_split(one: ChosenModel, table: Table, model: str) -> dict[str, Any]:
    """Return the model that some rows chose, with what the others say of each coefficient."""
    of = one.estimates
    deviation = deviations(as_design(table.X).gather(one.features))
    return {
        "n_chose": int(one.chosen_on.size),
        "n_inferred": int(one.inferred_on.size),
        "features": [
            {
                **describe_feature(table, int(j)),
                **effects(of.coef[at], deviation[at], model),
                "standard_error": float(of.error[at]),
                "lower": finite_or_none(float(of.lower[at])),
                "upper": finite_or_none(float(of.upper[at])),
                "ratio_lower": ratio(of.lower[at]) if ratio_name(model) else None,
                "ratio_upper": ratio(of.upper[at]) if ratio_name(model) else None,
                "p_value": float(of.p_values[at]),
            }
            for at, j in enumerate(one.features)
        ],
    }

"""What half-samples choose, at the size of a model, as a document has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ...core.groups import Groups
from ...inference.stability import StabilitySelection
from ...io.table import Table
from ...persistence import finite_or_none
from .data import describe_feature

if TYPE_CHECKING:
    from ...io.input import Samples


def half_samples(estimator: Any, samples: Samples, n_pairs: int) -> StabilitySelection:
    """Return how half-samples select, at the size of a fitted model."""
    size, names = estimator.size_, ["n_features", "n_groups"]
    if not isinstance(size, tuple):
        size = (size,)
        names = names[estimator.n_features is None :]  # whole groups have their number alone
    model = clone(estimator).set_params(
        **dict(zip(names, size, strict=False)),
        **({"criterion": None} if "criterion" in estimator.get_params() else {}),
    )
    selection = StabilitySelection(model, n_pairs)
    response = samples.response
    return selection.fit(samples.table.X, samples.y, offset=response.offset, groups=response.groups)


def describe_stability(
    selection: StabilitySelection, table: Table, estimator: Any
) -> dict[str, Any]:
    """Return how often half-samples choose each feature, and what that guarantees.

    estimator : the model of all samples, whose features are there also where no half chooses them.
    """
    stability, threshold = selection.stability_, float(selection.threshold_)
    stable = stability.stable(threshold)
    of_groups = stability.unit == "groups"
    counted, forced = estimator.support_, estimator.forced_features
    forced = np.array([] if forced is None else forced, np.int64)
    if of_groups:
        code = estimator.feature_groups.code
        counted, forced = code[counted], code[forced]
    counted = np.setdiff1d(counted, forced)
    features = np.union1d(stability.features, counted).astype(np.int64)
    shares = np.zeros((2, features.size))
    places = np.searchsorted(features, stability.features)
    shares[:, places] = stability.frequency, stability.simultaneous
    order = np.lexsort((features, -shares[1], -shares[0])).tolist()
    return {
        "unit": stability.unit,
        "n_pairs": stability.n_pairs,
        "n_left_out": len(stability.left_out),
        "n_rows": stability.n_rows,
        "n_chosen": stability.n_chosen,
        "n_candidates": stability.n_candidates,
        "threshold": threshold,
        "n_stable": int(stable.size),
        "expected_low": float(selection.expected_low_),
        "index": finite_or_none(stability.index),
        "interval": list(map(finite_or_none, stability.index_interval())),
        "features": [
            {
                **(
                    _describe_group(estimator.feature_groups, int(features[at]))
                    if of_groups
                    else describe_feature(table, int(features[at]))
                ),
                "frequency": float(shares[0, at]),
                "by_both": float(shares[1, at]),
                "stable": bool(features[at] in stable),
                "in_model": bool(features[at] in counted),
            }
            for at in order
        ],
    }


def _describe_group(groups: Groups, place: int) -> dict[str, Any]:
    """Return a group as a feature is described, by its place among all."""
    return {"index": place, "name": str(groups.labels[place]), "description": None}

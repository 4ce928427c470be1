"""What half-samples choose, as a document has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...files import Table
from ...persistence import finite_or_none
from ...stability import StabilitySelection
from ._data import describe_feature


def describe_stability(
    selection: StabilitySelection, table: Table, estimator: Any
) -> dict[str, Any]:
    """Return how often half-samples choose each feature, and what that guarantees.

    estimator : the model of all samples, whose features are there also where no half chooses them.
    """
    stability, threshold = selection.stability_, float(selection.threshold_)
    stable = stability.stable(threshold)
    counted = np.setdiff1d(estimator.support_, estimator.forced_features or [])
    features = np.union1d(stability.features, counted).astype(np.int64)
    shares = np.zeros((2, features.size))
    places = np.searchsorted(features, stability.features)
    shares[:, places] = stability.frequency, stability.simultaneous
    order = np.lexsort((features, -shares[1], -shares[0])).tolist()
    return {
        "n_pairs": stability.n_pairs,
        "n_rows": stability.n_rows,
        "n_chosen": stability.n_chosen,
        "n_candidates": stability.n_candidates,
        "threshold": threshold,
        "n_stable": int(stable.size),
        "expected_low": float(selection.expected_low_),
        "index": finite_or_none(stability.index),
        "features": [
            {
                **describe_feature(table, int(features[at])),
                "frequency": float(shares[0, at]),
                "by_both": float(shares[1, at]),
                "stable": bool(features[at] in stable),
                "in_model": bool(features[at] in counted),
            }
            for at in order
        ],
    }

"""Features at a false discovery rate, as a document has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...inference.false_discoveries import Discoveries
from .data import describe_data, describe_feature

if TYPE_CHECKING:
    from ...io.input import Samples


def describe_discoveries(
    data: str, samples: Samples, found: Discoveries, covariates: Sequence[int]
) -> dict[str, Any]:
    """Return the discoveries, and the features that had enough votes, but are too doubtful."""
    table = samples.table
    rivals = [describe_feature(table, int(j)) if j >= 0 else None for j in found.rivals]
    blocks = None
    if found.n_blocks is not None:
        within = found.correlation
        blocks = {
            "column": table.column_names["blocks"],
            "n_blocks": found.n_blocks,
            "correlation": None if within is None or np.isnan(within) else within,
        }
    return {
        "data": describe_data(data, table, samples.response, n_covariates=len(covariates)),
        "fdr": found.fdr,
        "estimate": found.estimate,
        "n_found": found.n_found,
        "n_candidates": found.n_candidates,
        "n_dummies": found.n_dummies,
        "n_experiments": found.n_experiments,
        "n_entered": found.n_entered,
        "least_votes": found.least_votes,
        "covariates": [describe_feature(table, j) for j in covariates],
        "blocks": blocks,
        "features": [
            {
                **describe_feature(table, int(j)),
                "votes": float(found.votes[at]),
                "stand_in": float(found.stand_in[at]),
                "rival": rivals[at],
                "found": at < found.n_found,
            }
            for at, j in enumerate(found.features)
        ],
    }

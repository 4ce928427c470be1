"""Features at a false discovery rate, as a document has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...false_discoveries import Discoveries
from ._data import describe_data, describe_feature

if TYPE_CHECKING:
    from .._selection import Samples


def describe_discoveries(data: str, samples: Samples, found: Discoveries) -> dict[str, Any]:
    """Return the discoveries, and the features that had enough votes, but are too doubtful."""
    table = samples.table
    rivals = [describe_feature(table, int(j)) if j >= 0 else None for j in found.rivals]
    return {
        "data": describe_data(data, table, samples.response),
        "fdr": found.level,
        "estimate": found.estimate,
        "n_found": found.n_found,
        "n_candidates": found.n_candidates,
        "n_dummies": found.n_dummies,
        "n_experiments": found.n_experiments,
        "n_entered": found.n_entered,
        "least_votes": found.least_votes,
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

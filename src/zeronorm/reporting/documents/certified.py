"""What `zeronorm certify` and `zeronorm prove` find out of a list of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.groups import Groups
from ...core.results import Certificate, Proof
from ...core.types import IndexArray
from ...persistence import summarize
from .data import describe_data, describe_equivalents, describe_feature
from .selection import describe_proof

if TYPE_CHECKING:
    from ...io.input import Samples


def describe_certified(
    source: str, samples: Samples, support: list[int], certificate: Certificate, proof: Proof | None
) -> dict[str, Any]:
    """Return what is certified of a list of features.

    support : the list that was given; a proof may end with a better one, that of the certificate.
    """
    table, best = samples.table, certificate.support
    begin = certificate.objective if proof is None else proof.history[0].objective
    return {
        "data": describe_data(
            source, table, samples.response, samples.groups, certificate.covariates.size
        ),
        "groups": None
        if samples.groups is None
        else {
            name: _labels(samples.groups, features)
            for name, features in (("given", support), ("best", best))
        },
        "features": [describe_feature(table, j) for j in sorted(support)],
        "best": [describe_feature(table, j) for j in best.tolist()],
        "dropped": [describe_feature(table, j) for j in np.setdiff1d(support, best).tolist()],
        "added": [describe_feature(table, j) for j in np.setdiff1d(best, support).tolist()],
        "objective_given": float(begin),
        "certificate": summarize(certificate),
        "equivalents": describe_equivalents(certificate, table),
        "proof": describe_proof(proof, table),
    }


def _labels(groups: Groups, features: Sequence[int] | IndexArray) -> list[str]:
    """Return the names of the groups of some features."""
    return [str(label) for label in groups.labels[np.unique(groups.code[features])]]

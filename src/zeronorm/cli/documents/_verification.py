"""The claims of `zeronorm verify`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...files import Table
from ...persistence import SavedCertificate, summarize
from ._data import describe_equivalents, describe_feature


def describe_claims(
    saved: SavedCertificate, found: Sequence[Mapping[str, float]] | None, table: Table
) -> dict[str, Any]:
    """Return what certificates claim, and what was recomputed.

    found : what the verifier returned, None where a certificate claims too much.
    """
    claims = []
    for number, (label, certificate) in enumerate(
        zip(saved.positive, saved.certificates, strict=True)
    ):
        claims.append(
            {
                "class": label,
                "features": [describe_feature(table, j) for j in certificate.support.tolist()],
                "claimed": summarize(certificate),
                "recomputed": None if found is None else dict(found[number]),
                "forced": [describe_feature(table, j) for j in certificate.forced.tolist()],
                "equivalents": describe_equivalents(certificate, table),
            }
        )
    return {
        "classes": saved.classes_.tolist(),
        "class_weight": saved.class_weight.tolist(),
        "claims": claims,
    }

"""The lists that are nearly as good as the best one, as a document has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...core.types import FloatArray
from ...inspection.alternatives import NearOptimal
from .units import Units


def describe_near_optimal(
    near: NearOptimal, support: Any, units: Units, file: Path | None
) -> dict[str, Any]:
    """Return the lists, which features they have, and where a given one is among them.

    support : the features of the given list. units : what the lists are of.
    """
    features, counts = np.unique(near.supports, return_counts=True)
    order = np.lexsort((features, -counts)).tolist()
    places = np.flatnonzero((near.supports == units.within(support)).all(axis=1))
    excess = excess_of(near).tolist()
    costs = [None] * len(near) if near.costs is None else near.costs.tolist()
    return {
        "within": near.within,
        "limit": near.limit,
        "complete": near.complete,
        "complete_within": near.complete_within,
        "status": near.status.name,
        "cheapest": None if near.costs is None else near.cheapest,
        "given": int(places[0]) if places.size else None,
        "features": [{**units.describe(features[at]), "n_lists": int(counts[at])} for at in order],
        "lists": [
            {
                "objective": float(objective),
                "worse_by": worse,
                "cost": cost,
                "features": list(map(units.name, one)),
            }
            for one, objective, worse, cost in zip(
                near.supports.tolist(), near.objectives, excess, costs, strict=True
            )
        ],
        "file": None if file is None else str(file),
    }


def excess_of(near: NearOptimal) -> FloatArray:
    """Return by how much each support is worse than the best one, relative to it."""
    best = float(near.objectives[0])
    return np.asarray((near.objectives - best) / max(abs(best), 1e-300))

"""How sure a selection is, and what else would do: what a page says beside its document."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...certificate import prove
from ...estimators._budget_selection import BudgetSelection
from ...files import Table
from ...near_optimal import NearOptimal, near_optimal
from ...persistence import summarize
from ...result import Proof
from ...stability import Stability, StabilitySelection
from ...substitutes import Substitutes, substitutes
from ._data import feature_name
from ._selection import describe_proof

if TYPE_CHECKING:
    from .._selection import Samples

STABLE = 0.75  # a share of the halves, from which on a feature is called stable
_SUBSTITUTES = 3  # of each feature, those that are named
_LISTS = 20  # near-optimal lists that are named


def has_bounds(estimator: Any) -> bool:
    """Return whether there are certificates of what an estimator selects."""
    if not isinstance(estimator, BudgetSelection):
        return False
    plan = estimator._plan()
    return plan.counts != "both" and bool(np.isfinite(plan.C))


def describe_trust(
    estimator: Any,
    samples: Samples,
    n_pairs: int,
    time_limit: float,
    phase: Callable[[str], None],
) -> tuple[dict[str, Any], list[Proof]]:
    """Return what there is to say of the models of all sizes, and the proofs of the model.

    estimator : fitted; its size is that of the half-samples and of the near-optimal lists.
    n_pairs : of half-samples; 0 for none.
    time_limit : seconds for the proof of each size and for the near-optimal lists; 0 for neither.
    phase : told what is being done.
    """
    found: dict[str, Any] = {"stability": None, "models": {}, "near": None}
    if n_pairs:
        phase("Selecting on half-samples")
        found["stability"] = _stability(estimator, samples, n_pairs)
    if not has_bounds(estimator):
        return found, []
    own: list[Proof] = []
    offset = samples.response.offset
    X, y, table = samples.table.X, samples.y, samples.table
    for size in estimator._paths[0]:
        phase(f"Looking for better features, {size}")
        one = copy.copy(estimator)
        one._keep_size(size)
        others = _each(substitutes(one, X, y, offset=offset))
        rows: dict[str, Any] = {
            "substitutes": [[_substitute(row, table) for row in part] for part in others]
        }
        if time_limit:
            proofs = _each(prove(one, X, y, gap=0, time_limit=time_limit, offset=offset))
            supports = [path[size].support for path in estimator._paths]
            rows["proofs"] = [
                _proof(proof, support, table)
                for proof, support in zip(proofs, supports, strict=True)
            ]
            own = proofs if size == estimator.size_ else own
        found["models"][int(size)] = rows
    if time_limit:
        phase("Looking for lists that are nearly as good")
        near = near_optimal(
            X, y, int(estimator.size_), problem=estimator, time_limit=time_limit, offset=offset
        )
        found["near"] = [_near(one, table) for one in _each(near)]
    return found, own


def _each(found: Any) -> list[Any]:
    """Return what there is for each class, of one problem a list of one."""
    several = isinstance(found, list) and (not found or not isinstance(found[0], Substitutes))
    return list(found) if several else [found]


def _stability(estimator: Any, samples: Samples, n_pairs: int) -> dict[str, Any]:
    """Return how often half-samples choose each feature; or why they do not."""
    size, one = estimator.size_, copy.copy(estimator)
    if isinstance(size, tuple):
        one.set_params(n_features=size[0], n_groups=size[1])
    else:
        one.set_params(n_features=int(size))
    if getattr(one, "criterion", None) is not None:
        one.set_params(criterion=None)
    offset = samples.response.offset
    try:
        selection = StabilitySelection(one, n_pairs, threshold=STABLE)
        stability: Stability = selection.fit(samples.table.X, samples.y, offset=offset).stability_
    except ValueError as error:
        return {"reason": str(error)}
    low, high = stability.index_interval()
    order = np.lexsort((stability.features, -stability.frequency))
    table = samples.table
    return {
        "n_pairs": stability.n_pairs,
        "n_rows": stability.n_rows,
        "n_features": int(stability.n_chosen),
        "index": float(stability.index),
        "interval": [float(low), float(high)],
        "expected_low": float(stability.expected_low(STABLE)),
        "n_chosen_once": int(stability.features.size),
        "frequency": dict(
            zip(stability.features.tolist(), stability.frequency.tolist(), strict=True)
        ),
        "most": [feature_name(table, int(j)) for j in stability.features[order[: 2 * _LISTS]]],
    }


def _proof(proof: Proof, support: np.ndarray, table: Table) -> dict[str, Any]:
    """Return how the search for a better list ended, and what of a better one is another."""
    best = proof.support
    begin = float(proof.history[0].objective)
    return {
        **(describe_proof(proof, table) or {}),
        "certificate": summarize(proof.certificate),
        "objective_given": begin,
        "gain": (begin - float(proof.certificate.objective)) / max(abs(begin), 1e-300),
        "added": _names(np.setdiff1d(best, support), table),
        "dropped": _names(np.setdiff1d(support, best), table),
    }


def _substitute(one: Substitutes, table: Table) -> dict[str, Any]:
    """Return what a feature is worth, and what could take its place."""
    return {
        "index": int(one.feature),
        "without": float(one.without),
        "names": _names(one.features[:_SUBSTITUTES], table),
        "costs": one.costs[:_SUBSTITUTES].tolist(),
        "within": one.within,
        "n_exchangeable": int(one.exchangeable.size - 1),
        "proven": bool(one.proven),
    }


def _near(near: NearOptimal, table: Table) -> dict[str, Any]:
    """Return the lists that are nearly as good as the best one, and in how many a feature is."""
    features, counts = np.unique(near.supports, return_counts=True)
    order = np.lexsort((features, -counts))
    best = float(near.objectives[0])
    return {
        "n_lists": len(near),
        "limit": near.limit,
        "within": near.within,
        "complete": bool(near.complete),
        "complete_within": float(near.complete_within),
        "index": features[order].tolist(),
        "names": _names(features[order], table),
        "shares": (counts[order] / len(near)).tolist(),
        "lists": [_names(one, table) for one in near.supports[:_LISTS]],
        "costs": (near.objectives[:_LISTS] / best - 1.0).tolist(),
    }


def _names(features: Sequence[int] | np.ndarray, table: Table) -> list[str]:
    return [feature_name(table, int(j)) for j in features]

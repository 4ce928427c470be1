"""How sure a selection is, and what else would do: what a page says beside its document."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.messages import with_names
from ...core.results import Proof
from ...core.types import FloatArray
from ...estimators.budget import BudgetSelection
from ...estimators.validation import Judge, auc_of_classes, log_odds_of_softmax, standard_error
from ...inference.stability import StabilitySelection
from ...inspection.alternatives import NearOptimal, near_optimal
from ...inspection.certification import prove
from ...inspection.exchanges import Substitutes, substitutes
from ...io.opening import as_design
from ...persistence import finite_or_none, summarize
from .near_optimal import describe_near_optimal
from .selection import describe_proof
from .stability import describe_stability, half_samples
from .units import Units

if TYPE_CHECKING:
    from ...estimators.validation import CrossValidation
    from ...io.input import Samples


@dataclass(slots=True)
class Evidence:
    """What there is to draw of the model: the records of which a page has the words."""

    halves: StabilitySelection | None = None
    proofs: list[Proof] = field(default_factory=list)
    near: list[NearOptimal] = field(default_factory=list)


_SUBSTITUTES = 3  # of each unit, those that are named and compared, where they are 10 or fewer
_SAME = 1e-7  # Objectives that differ by a smaller share are of one list.
_COMPARED = 30  # substitutes that are named and compared, of all units together


def has_bounds(estimator: Any) -> bool:
    """Return whether lists of features, or of whole groups, are certified, and others sought."""
    if not isinstance(estimator, BudgetSelection):
        return False
    plan = estimator._plan()
    return plan.counts != "both" and bool(np.isfinite(plan.C))


def describe_trust(
    estimator: Any,
    samples: Samples,
    validation: CrossValidation | None,
    halves: StabilitySelection | None,
    n_pairs: int,
    time_limit: float,
    phase: Callable[[str], None],
) -> tuple[dict[str, Any], Evidence]:
    """Return what there is to say of the models of all sizes, and to draw of the model.

    estimator : fitted; its size is that of the half-samples and of the near-optimal lists.
    validation : by as many folds substitutes of the model are compared; None: by none.
    halves : what half-samples choose, where that is known.
    n_pairs : of half-samples where it is not; 0 for none.
    time_limit : seconds for the proof of each size and for the near-optimal lists; 0 for neither.
    phase : told what is being done.
    """
    table, units = samples.table, Units.of(estimator, samples.table)
    found: dict[str, Any] = {
        "unit": units.kind, "stability": None, "models": {}, "near": None, "compared_by": None,
        "moves": _moves(estimator, units),
    }  # fmt: skip
    evidence = Evidence(halves)
    if halves is None and n_pairs:
        phase("Selecting on half-samples")
        try:
            evidence.halves = half_samples(estimator, samples, n_pairs)
        except ValueError as error:
            found["stability"] = {"reason": with_names(str(error), table.feature_names)}
    if evidence.halves is not None:
        found["stability"] = describe_stability(evidence.halves, table, estimator)
    if not has_bounds(estimator):
        return found, evidence
    offset = samples.response.offset
    X, y = table.X, samples.y
    folds, scoring = None, None
    if validation is not None:
        folds = validation.scores.shape[1]
        if _by_auc(validation):
            scoring, found["compared_by"] = _auc, "AUC"
    if time_limit:
        phase("Looking for lists that are nearly as good")
        near = near_optimal(
            X, y, int(estimator.size_), problem=estimator, time_limit=time_limit, offset=offset
        )
        evidence.near = _each(near)
        found["near"] = [
            describe_near_optimal(one, path[estimator.size_].support, units, None)
            for one, path in zip(evidence.near, estimator._paths, strict=True)
        ]
    for size in estimator._paths[0]:
        phase(f"Looking for better features, {size}")
        one = copy.copy(estimator)
        one._keep_size(size)
        n = max(1, min(_SUBSTITUTES, _COMPARED // max(1, units.within(one.support_).size)))
        cv = folds if size == estimator.size_ else None
        given = {"offset": offset, "groups": samples.response.groups}
        others = _each(substitutes(one, X, y, n=n, cv=cv, scoring=scoring, **given))
        rows: dict[str, Any] = {
            "substitutes": [[_substitute(row, units, n) for row in part] for part in others]
        }
        if time_limit:
            proofs = _each(prove(one, X, y, gap=0, time_limit=time_limit, offset=offset))
            chosen = size == estimator.size_
            nearest = [*evidence.near] if chosen else [None for _ in proofs]
            supports = [path[size].support for path in estimator._paths]
            rows["proofs"] = [
                _proof(*each, units) for each in zip(proofs, supports, others, nearest, strict=True)
            ]
            if chosen:
                evidence.proofs = proofs
        found["models"][int(size)] = rows
    return found, evidence


def _moves(estimator: Any, units: Units) -> dict[int, list[dict[str, float]]]:
    """Return for each size, and each of its models, by how much its groups move the scores."""
    if units.groups is None:
        return {}
    design = as_design(units.table.X)
    return {
        int(size): [units.moves(path[size], design) for path in estimator._paths]
        for size in estimator._paths[0]
    }


def _by_auc(validation: CrossValidation) -> bool:
    """Return whether AUC tells lists apart in place of accuracy.

    It does where no size is more accurate than the largest class alone by more than two standard
    errors: with few positives all lists are as accurate, however well they rank.
    """
    auc = validation.auc
    if validation.measure != "accuracy" or auc is None or np.isnan(auc).any():
        return False
    gain = validation.scores - validation.baseline
    return not (gain.mean(axis=1) > 2.0 * standard_error(gain, validation.repeats)).any()


def _auc(model: Any, X: Any, y: np.ndarray, sample_weight: FloatArray | None = None) -> float:
    """Return the AUC of a classifier, as `select` compares sizes by it, for `scoring`."""
    z = np.asarray(model.decision_function(X)).reshape(len(y), -1)
    if z.shape[1] > 1 and Judge(model.estimator, "auc").normalised:
        z = log_odds_of_softmax(z)
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    return auc_of_classes(z, y, model.classes_, weight)


def _each(found: Any) -> list[Any]:
    """Return what there is for each class, of one problem a list of one."""
    several = isinstance(found, list) and (not found or not isinstance(found[0], Substitutes))
    return list(found) if several else [found]


def _proof(
    proof: Proof,
    support: np.ndarray,
    others: Sequence[Substitutes],
    near: NearOptimal | None,
    units: Units,
) -> dict[str, Any]:
    """Return how the search for a better list ended, and what of a better one is another.

    others, near : of the same list, as a better one may be among them where the search is cut off.
    """
    begin, certificate = float(proof.history[0].objective), proof.certificate
    size = max(abs(begin), 1e-300)
    given, own = units.within(support), units.within(proof.support)
    objective, best = float(certificate.objective), own
    known = [
        (begin + float(one.costs[0]) * size, np.append(given[given != one.feature], other))
        for one in others
        for other in one.features[:1]
    ]
    if near is not None:
        known.append((float(near.objectives[0]), near.supports[0]))
    for value, another in known:
        if value < objective - _SAME * size:
            objective, best = value, another
    summary = summarize(certificate)
    if summary is not None and best is not own:
        gap = (objective - float(certificate.bound)) / max(abs(objective), 1e-300)
        summary = {**summary, "objective": objective, "gap": max(0.0, gap)}
    return {
        **(describe_proof(proof, units.table) or {}),
        "certificate": summary,
        "objective_given": begin,
        "gain": (begin - objective) / size,
        "added": list(map(units.name, np.setdiff1d(best, given))),
        "dropped": list(map(units.name, np.setdiff1d(given, best))),
    }


def _substitute(one: Substitutes, units: Units, n: int) -> dict[str, Any]:
    """Return what a unit is worth, and the first n that could take its place."""
    return {
        "index": units.key(one.feature),
        "without": float(one.without),
        "names": list(map(units.name, one.features[:n])),
        "members": list(map(units.members, one.features[:n])),
        "costs": one.costs[:n].tolist(),
        "score": finite_or_none(one.score),
        "score_without": finite_or_none(one.score_without),
        "error_without": finite_or_none(one.error_without),
        "scores": one.scores.tolist(),
        "errors": one.errors.tolist(),
        "within": one.within,
        "n_exchangeable": int(one.exchangeable.size - 1),
        "proven": bool(one.proven),
    }

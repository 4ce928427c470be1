"""How sure a selection is, and what else would do: half-samples, other lists, certificates."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ...core.groups import Groups
from ...core.messages import Leaked, with_names
from ...core.results import Certificate, Proof, Selection
from ...core.types import Design, FloatArray, IndexArray
from ...data.operations import margins
from ...estimators.budget import BudgetSelection
from ...estimators.held_out import Judge, auc_of_classes, log_odds_of_softmax, standard_error
from ...inference.stability import StabilitySelection
from ...inspection.alternatives import NearOptimal, near_optimal
from ...inspection.certification import prove
from ...inspection.replacements import Substitutes, substitutes
from ...io.opening import as_design
from ...io.table import Dataset
from ...persistence import finite_or_none, summarize
from .data import describe_data, describe_equivalents, describe_feature, feature_name
from .selection import describe_proof

if TYPE_CHECKING:
    from ...estimators.held_out import CrossValidation
    from ...io.input import Samples
    from ...persistence import LoadedModel


MOST_ROWS = 500  # features, or groups, of a model in a table, at most
MOST_KEPT = 1500  # features of all sizes that a page, or a model file, has, at most
_SUBSTITUTES = 3  # of each unit, those that are named and compared, where they are 10 or fewer
_SAME = 1e-7  # Objectives that differ by a smaller share are of one list.
_COMPARED = 30  # substitutes that are named and compared, of all units together
_MEMBERS = 5  # features that are named of a group beside the model


@dataclass(slots=True)
class Evidence:
    """What there is to draw of the model: the records of which a page has the words."""

    halves: StabilitySelection | None = None
    proofs: list[Proof] = field(default_factory=list)
    near: list[NearOptimal] = field(default_factory=list)


def has_bounds(estimator: Any) -> bool:
    """Return whether lists of features, or of whole groups, are certified, and others sought."""
    if not isinstance(estimator, BudgetSelection):
        return False
    plan = estimator._plan()
    return plan.counts != "both" and bool(np.isfinite(plan.C))


def known_trust(
    estimator: Any, samples: Samples, halves: StabilitySelection | None
) -> dict[str, Any]:
    """Return what there is to say without further work; as of `describe_trust`."""
    units = CountedUnits.of(estimator, samples.table)
    stability = None if halves is None else describe_stability(halves, samples.table, estimator)
    return {
        "unit": units.kind, "stability": stability, "models": {}, "near": None,
        "compared_by": None, "moves": _moves(estimator, units),
    }  # fmt: skip


def kept_report(document: Mapping[str, Any], trust: Mapping[str, Any], size: int) -> dict[str, Any]:
    """Return what a model file keeps of a selection: its document, and how sure it is.

    size : of the model; half-samples and nearly optimal lists are of the chosen one.
    """
    own = trust if size == document["chosen"] else {**trust, "stability": None, "near": None}
    notes = document["notes"]
    return {
        "document": {
            **document,
            "chosen": size,
            "models": fitting(document["models"], size, MOST_KEPT),
            "stability": own["stability"],
            "seconds": {**document["seconds"], "total": sum(document["seconds"].values())},
            "notes": [str(one) for one in notes],
        },
        "trust": own,
        "leaks": [place for place, one in enumerate(notes) if isinstance(one, Leaked)],
    }


def report_of(loaded: LoadedModel) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the document and the trust that a model file keeps; None where it has none.

    Raises
    ------
    ValueError
        Where the features or the certificates are not those of the model.
    """
    found = loaded.report
    if found is None:
        return None
    document, trust = dict(found["document"]), dict(found["trust"])
    (model,) = (one for one in document["models"] if one["size"] == document["chosen"])
    rows = {row["index"] for row in (*model["features"], *model["covariates"])}
    if rows != {*loaded.columns.tolist()} or model["certificates"] != [
        *loaded.metadata["certificates"]
    ]:
        raise ValueError("the report is of another model: its features or certificates differ")
    leaks = {*found["leaks"]}
    document["notes"] = [
        Leaked(one) if place in leaks else one for place, one in enumerate(document["notes"])
    ]
    for name in ("models", "moves"):  # by size
        trust[name] = {int(size): one for size, one in trust[name].items()}
    return document, trust


def fitting(models: Sequence[Any], chosen: int, most: int) -> list[Any]:
    """Return the chosen model, and others of few features in all."""
    kept = [model for model in models if model["size"] == chosen]
    left = most - sum(len(model["features"]) for model in kept)
    others = [model for model in models if model["size"] != chosen]
    while others and sum(min(len(one["features"]), MOST_ROWS) for one in others) > left:
        del others[1::2]  # every other one, of several of them the smallest stays
        if len(others) == 1 and len(others[0]["features"]) > left:
            others = []
    return sorted([*kept, *others], key=lambda model: model["size"])


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
    table, units = samples.table, CountedUnits.of(estimator, samples.table)
    found, evidence = known_trust(estimator, samples, halves), Evidence(halves)
    if halves is None and n_pairs:
        phase("Selecting on half-samples")
        try:
            evidence.halves = half_samples(estimator, samples, n_pairs)
        except ValueError as error:
            found["stability"] = {"reason": with_names(str(error), table.feature_names)}
        else:
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


def _moves(estimator: Any, units: CountedUnits) -> dict[int, list[dict[str, float]]]:
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
    units: CountedUnits,
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


def _substitute(one: Substitutes, units: CountedUnits, n: int) -> dict[str, Any]:
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


@dataclass(frozen=True, slots=True)
class CountedUnits:
    """What the budget of a model counts: features, or whole `groups` of them by their labels."""

    table: Dataset
    groups: Groups | None = None

    @classmethod
    def of(cls, estimator: Any, table: Dataset) -> CountedUnits:
        """Return the units of a fitted estimator; features in few groups are features."""
        whole = isinstance(estimator, BudgetSelection) and estimator._plan().counts == "groups"
        return cls(table, estimator.feature_groups if whole else None)

    @property
    def kind(self) -> str:
        """What they are called."""
        return "features" if self.groups is None else "groups"

    def within(self, support: Any) -> np.ndarray:
        """Return the units of a model by its features, sorted."""
        if self.groups is None:
            return np.sort(np.asarray(support))
        return self.groups.labels[self.groups.of_features(np.asarray(support, np.int64))]

    def key(self, unit: Any) -> int | str:
        """Return what stands for a unit in a document: an index, or the name of a group."""
        return int(unit) if self.groups is None else str(unit)

    def name(self, unit: Any) -> str:
        return feature_name(self.table, int(unit)) if self.groups is None else str(unit)

    def describe(self, unit: Any) -> dict[str, Any]:
        """Return a unit as a feature is described."""
        if self.groups is None:
            return describe_feature(self.table, int(unit))
        place = int(np.searchsorted(self.groups.labels, unit))
        return {"index": place, "name": str(unit), "description": None}

    def members(self, unit: Any) -> dict[str, Any] | None:
        """Return how many features of the data a group has, and the first of them; else None."""
        if self.groups is None:
            return None
        features = self.groups.members(int(np.searchsorted(self.groups.labels, unit)))
        first = [feature_name(self.table, j) for j in features[:_MEMBERS].tolist()]
        return {"n_features": int(features.size), "first": first}

    def moves(self, model: Selection, design: Design) -> dict[str, float]:
        """Return for each group of a model by how much it moves the scores.

        That is the standard deviation over the rows of what its features add, the largest of all
        outputs.
        """
        if self.groups is None:
            return {}
        code = self.groups.code[model.support]
        return {
            str(self.groups.labels[place]): _deviation(design, model, np.flatnonzero(code == place))
            for place in np.unique(code).tolist()
        }


def _deviation(design: Design, model: Selection, places: IndexArray) -> float:
    """Return the largest standard deviation of what some features of a model add to its outputs."""
    added = margins(design, model.support[places], model.coef[..., places].T, 0.0)
    return float(added.std(axis=0).max())


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
    selection: StabilitySelection, table: Dataset, estimator: Any
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
    units = CountedUnits(table, estimator.feature_groups if of_groups else None)
    named = features if units.groups is None else units.groups.labels[features]
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
                **units.describe(named[at]),
                "frequency": float(shares[0, at]),
                "by_both": float(shares[1, at]),
                "stable": bool(features[at] in stable),
                "in_model": bool(features[at] in counted),
            }
            for at in order
        ],
    }


def describe_near_optimal(
    near: NearOptimal, support: Any, units: CountedUnits, file: Path | None
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

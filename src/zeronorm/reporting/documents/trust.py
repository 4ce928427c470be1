"""How sure a selection is, and what else would do: half-samples, other lists, certificates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import scipy.sparse as sp
from msgspec.structs import replace
from sklearn.base import clone

from ...core.errors import Named, message_of
from ...core.groups import Groups
from ...core.messages import Leaked
from ...core.results import Certificate, Proof, relative_gap
from ...core.types import Design, FloatArray, IndexArray
from ...data.operations import margins
from ...estimators.held_out import Judge, auc_of_classes, log_odds_of_softmax
from ...inference.stability import StabilitySelection
from ...inspection.alternatives import NearOptimal, near_optimal
from ...inspection.certification import certify, prove
from ...inspection.replacements import Substitutes, substitutes
from ...io.opening import as_design
from ...io.table import Dataset
from ...persistence import finite_or_none, summarize
from ..records import (
    CertifiedSet,
    Feature,
    Improvement,
    Label,
    Members,
    ModelFound,
    NearFeature,
    NearSet,
    NearSets,
    Report,
    SelectionFound,
    SizeTrust,
    StabilityFound,
    Stable,
    SubstitutesFound,
    Trust,
    WholeGroups,
    as_json,
)
from .data import (
    describe_data,
    describe_equivalents,
    describe_feature,
    described,
    feature_name,
)
from .selection import describe_proof, size_number

if TYPE_CHECKING:
    from ...io.input import Samples
    from ...persistence import LoadedModel


MOST_ROWS = 500  # features, or groups, of a model in a table, at most
MOST_KEPT = 1500  # features of all sizes that a page, or a model file, has, at most
_SUBSTITUTES = 3  # of each unit, those that are named and compared, where they are 10 or fewer
_SAME = 1e-7  # Objectives that differ by a smaller share are of one list.
_COMPARED = 30  # substitutes that are named and compared, of all units together
_MEMBERS = 5  # features that are named of a group beside the model


def has_bounds(selection: SelectionFound) -> bool:
    """Return whether the models are certified, so that others can be searched."""
    return any(one is not None for one in selection.model_of(selection.chosen).certificates)


def supports_of(model: ModelFound) -> list[IndexArray]:
    """Return the selected features of each problem of a model, sorted."""
    labels = dict.fromkeys(row.label for row in model.features)
    found = ([row.index for row in model.features if row.label == label] for label in labels)
    return [np.array(sorted(own), np.int64) for own in found]


def known_trust(
    estimator: Any, samples: Samples, selection: SelectionFound, halves: StabilitySelection | None
) -> Trust:
    """Return what is known without further work.

    halves : what half-samples choose, where that is known.
    """
    units = CountedUnits.of(estimator, samples)
    design = as_design(samples.table.X)
    stability = None
    if halves is not None:
        stability = describe_stability(halves, samples, estimator, selection)
    moves = {} if units.groups is None else {
        model.size: units.moves(model, design) for model in selection.models
    }  # fmt: skip
    return Trust(unit=units.kind, stability=stability, moves=moves)


def kept_report(selection: SelectionFound, trust: Trust, size: int) -> Report:
    """Return what a model file keeps of a selection.

    size : of the model; half-samples and near-optimal feature sets are of the chosen one.
    """
    if size != selection.chosen:
        trust = replace(trust, stability=None, reason=None, near=None)
    seconds = {**selection.seconds, "total": sum(selection.seconds.values())}
    notes, models = selection.notes, fitting(selection.models, size, MOST_KEPT)
    sizes = {model.size for model in models}
    own = replace(
        selection,
        chosen=size,
        models=models,
        criteria=[row for row in selection.criteria if size_number(row.size) in sizes],
        stability=trust.stability,
        seconds=seconds,
        notes=[str(one) for one in notes],
    )
    leaks = [place for place, one in enumerate(notes) if isinstance(one, Leaked)]
    return Report(selection=own, trust=trust, leaks=leaks)


def report_of(loaded: LoadedModel) -> tuple[SelectionFound, Trust] | None:
    """Return what a model file keeps of its selection; None where it keeps nothing.

    Raises
    ------
    ValueError
        Where the record is not of this version, its features, coefficients, classes or certificates
        are not those of the model, or a certificate claims more than its own bound.
    """
    if loaded.report is None:
        return None
    try:
        found = msgspec.convert(loaded.report, Report, str_keys=True)
    except msgspec.ValidationError as error:
        raise ValueError(f"the report is not of this zeronorm ({error})") from None
    selection, searches = found.selection, found.trust.models.values()
    sizes = [one.size for one in selection.models]
    if selection.chosen not in sizes or len({*sizes}) < len(sizes) or not _is_of(selection, loaded):
        raise ValueError(
            "the report is of another model: its features, coefficients, classes or certificates "
            "differ"
        )
    certified = [one for model in selection.models for one in model.certificates]
    certified += [end.certificate for size in searches for end in size.proofs]
    for one in certified:
        if one is not None:
            one.check()
    leaks = {*found.leaks}
    notes = [Leaked(one) if at in leaks else one for at, one in enumerate(selection.notes)]
    return replace(selection, notes=notes), found.trust


def _is_of(selection: SelectionFound, loaded: LoadedModel) -> bool:
    """Return whether the chosen model of a selection is that of a file."""
    found, metadata, columns = selection.model_of(selection.chosen), loaded.metadata, loaded.columns
    classes: list[Any] = getattr(loaded, "classes_", np.empty(0)).tolist()
    ordered = getattr(loaded, "ordered_classes_", np.empty(0)).tolist()
    swapped = len(classes) == 2 and selection.classes == classes[::-1]  # by the positive class
    if not swapped and selection.classes != (ordered or classes):
        return False
    names = loaded.feature_names or map(str, columns + metadata["first_index"])
    named = dict(zip(columns.tolist(), names, strict=True))
    labels = selection.classes[1:] if len(classes) == 2 else selection.classes
    coef, places = np.zeros_like(loaded.coef), {j: place for place, j in enumerate(named)}
    rows = (*found.features, *found.covariates)
    for row in rows:
        shared = row.label is None
        shape = (len(coef),) if shared and len(coef) > 1 else ()
        known = named.get(row.index) == row.name and (shared or row.label in labels)
        if not known or np.shape(row.coefficient) != shape:
            return False
        scores = slice(None) if shared else labels.index(row.label)
        coef[scores, places[row.index]] = row.coefficient
    certificates = [None if one is None else as_json(one) for one in found.certificates]
    return (
        {row.index for row in rows} == {*named}
        and np.array_equal(coef, -loaded.coef if swapped else loaded.coef)
        and certificates == metadata["certificates"]
    )


def fitting(models: Sequence[ModelFound], chosen: int, most: int) -> list[ModelFound]:
    """Return the chosen model, and others of few features in all."""
    kept = [model for model in models if model.size == chosen]
    left = most - sum(len(model.features) for model in kept)
    others = [model for model in models if model.size != chosen]
    while others and sum(min(len(one.features), MOST_ROWS) for one in others) > left:
        del others[1::2]  # every other one, of several of them the smallest stays
        if len(others) == 1 and len(others[0].features) > left:
            others = []
    return sorted([*kept, *others], key=lambda model: model.size)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A selection with its data, about which more can be computed without a second fit.

    estimator : with the parameters of the selection; it need not be fitted.
    """

    estimator: Any
    samples: Samples
    selection: SelectionFound

    @property
    def units(self) -> CountedUnits:
        return CountedUnits.of(self.estimator, self.samples)

    @property
    def chosen(self) -> ModelFound:
        return self.selection.model_of(self.selection.chosen)

    def posed(self, model: ModelFound) -> tuple[Any, dict[str, Any]]:
        """Return the features of a model as `inspection` takes them, and its problem."""
        (C, *_) = (one.C for one in model.certificates if one is not None)
        poser = clone(self.estimator).set_params(C=C)
        if self.samples.groups is not None:
            poser.set_params(feature_groups=self.samples.groups)
        supports = supports_of(model)
        given = {"problem": poser, "offset": self.samples.response.offset}
        if len(supports) == 1:
            return supports[0], given
        rows = sp.lil_array((len(supports), self.samples.table.X.shape[1]))
        for row, support in enumerate(supports):
            rows[row, support] = 1.0
        return SimpleNamespace(coef_=rows.tocsr()), given

    def differs(self) -> str | None:
        """Return in what the data are not those of the fit; None where that is not seen.

        The objective of the selected features must be that of their certificate.
        """
        if not has_bounds(self.selection):
            return None
        support, given = self.posed(self.chosen)
        found = _each(certify(support, self.samples.table.X, self.samples.y, **given))
        for own, known in zip(found, self.chosen.certificates, strict=True):
            if known and abs(own.objective - known.objective) > 1e-4 * abs(known.objective):
                return (
                    f"the objective of the selected features is {own.objective:.6g} on them, and "
                    f"was {known.objective:.6g} when they were selected"
                )
        return None

    def answered(
        self,
        known: Trust,
        n_pairs: int,
        time_limit: float,
        phase: Callable[[str], None],
    ) -> tuple[Trust, list[Proof]]:
        """Return how sure the selection is, and the proofs of the chosen model, to draw them.

        Known parts are not computed again.

        n_pairs : of half-samples; 0 for none.
        time_limit : seconds for the search of each size and for the near-optimal sets; 0 for
            neither.
        phase : called with what is being done.
        """
        samples, names = self.samples, self.samples.table.feature_names
        if known.stability is None and known.reason is None and n_pairs:
            phase("Selecting on half-samples")
            try:
                halves = half_samples(self.estimator, samples, n_pairs, self.chosen)
            except ValueError as error:
                known = replace(known, reason=message_of(error).said(Named(names)))
            else:
                found = describe_stability(halves, samples, self.estimator, self.selection)
                known = replace(known, stability=found)
        if not has_bounds(self.selection):
            return known, []
        near: list[NearOptimal | None] = [None for _ in self.chosen.certificates]
        if time_limit and known.near is None:
            phase("Looking for near-optimal feature sets")
            near = self._near(time_limit)
            found_near = [
                describe_near_optimal(one, own, self.units, None)
                for one, own in zip(near, supports_of(self.chosen), strict=True)
                if one is not None
            ]
            known = replace(known, near=found_near)
        proofs: list[Proof] = []
        models = dict(known.models)
        by_auc = self._by_auc()
        for model in self.selection.models:
            own, is_chosen = models.get(model.size), model is self.chosen
            if own is not None and (own.proofs or not time_limit):
                continue
            phase(f"Looking for better features, {model.size}")
            others = self._others(model, _auc if by_auc and is_chosen else None)
            ends: list[Improvement] = []
            if time_limit:
                support, given = self.posed(model)
                data = samples.table.X, samples.y
                found_proofs = _each(prove(support, *data, gap=0, time_limit=time_limit, **given))
                nearest = near if is_chosen else [None for _ in found_proofs]
                parts = zip(found_proofs, supports_of(model), others, nearest, strict=True)
                ends = [_improvement(*part, self.units) for part in parts]
                proofs = found_proofs if is_chosen else proofs
            n = self._n_named(model)
            rows = [[_substitutes(row, self.units, n) for row in part] for part in others]
            models[model.size] = SizeTrust(substitutes=rows, proofs=ends)
        return replace(known, models=models, compared_by="AUC" if by_auc else None), proofs

    def _near(self, time_limit: float) -> list[NearOptimal | None]:
        _, given = self.posed(self.chosen)
        found = near_optimal(
            self.samples.table.X, self.samples.y, self.chosen.size, time_limit=time_limit, **given
        )
        return _each(found)

    def _n_named(self, model: ModelFound) -> int:
        """Return the number of substitutes of each unit that are named and compared."""
        n_units = self.units.within([row.index for row in model.features]).size
        return max(1, min(_SUBSTITUTES, _COMPARED // max(1, n_units)))

    def _others(self, model: ModelFound, scoring: Any) -> list[list[Substitutes]]:
        """Return the substitutes of each problem; of the chosen model by held-out scores too."""
        support, given = self.posed(model)
        own = model.cross_validation
        cv = own.folds if own is not None and model is self.chosen else None
        given |= {"groups": self.samples.response.groups, "scoring": scoring, "cv": cv}
        X, y = self.samples.table.X, self.samples.y
        return _each(substitutes(support, X, y, n=self._n_named(model), **given))

    def _by_auc(self) -> bool:
        """Return whether AUC tells feature sets apart, not accuracy.

        It does where no size is more accurate than the largest class alone by more than two
        standard errors: with few positives all are as accurate, however well they rank.
        """
        scores = [one.cross_validation for one in self.selection.models]
        if self.selection.score != "accuracy" or any(
            one is None or one.auc is None for one in scores
        ):
            return False
        return not any(
            one is not None and one.mean - one.baseline > 2.0 * one.standard_error for one in scores
        )


def _auc(model: Any, X: Any, y: np.ndarray, sample_weight: FloatArray | None = None) -> float:
    """Return the AUC of a classifier, as `select` compares sizes by it, for `scoring`."""
    z = np.asarray(model.decision_function(X)).reshape(len(y), -1)
    if z.shape[1] > 1 and Judge(model.estimator, "auc").normalised:
        z = log_odds_of_softmax(z)
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    return auc_of_classes(z, y, model.classes_, weight)


def _each(found: Any) -> list[Any]:
    """Return what there is for each problem, of one a list of one."""
    several = isinstance(found, list) and (not found or not isinstance(found[0], Substitutes))
    return list(found) if several else [found]


def _improvement(
    proof: Proof,
    support: IndexArray,
    others: Sequence[Substitutes],
    near: NearOptimal | None,
    units: CountedUnits,
) -> Improvement:
    """Return the end of a search for a better feature set, and what that has and lacks.

    others, near : of the same set, as a better one may be among them where the search is cut off.
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
    figures = summarize(certificate)
    if figures is not None and best is not own:
        gap = relative_gap(objective, figures.bound)
        figures = replace(figures, objective=objective, gap=gap, proven=gap <= 1e-9)
    end = describe_proof(proof, units.table)
    assert end is not None
    return Improvement(
        **msgspec.structs.asdict(end),
        certificate=figures,
        objective_given=begin,
        gain=(begin - objective) / size,
        added=list(map(units.name, np.setdiff1d(best, given))),
        dropped=list(map(units.name, np.setdiff1d(given, best))),
    )


def _substitutes(one: Substitutes, units: CountedUnits, n: int) -> SubstitutesFound:
    """Return what a unit is worth, and the first n that could take its place."""
    return SubstitutesFound(
        index=units.key(one.feature),
        without=float(one.without),
        names=list(map(units.name, one.features[:n])),
        members=list(map(units.members, one.features[:n])),
        costs=one.costs[:n].tolist(),
        score=finite_or_none(one.score),
        score_without=finite_or_none(one.score_without),
        error_without=finite_or_none(one.error_without),
        scores=one.scores.tolist(),
        errors=one.errors.tolist(),
        within=one.within,
        n_exchangeable=int(one.exchangeable.size - 1),
        proven=bool(one.proven),
    )


@dataclass(frozen=True, slots=True)
class CountedUnits:
    """The units of a budget: features, or whole `groups` of them by their labels."""

    table: Dataset
    groups: Groups | None = None

    @classmethod
    def of(cls, estimator: Any, samples: Samples) -> CountedUnits:
        """Return the units of the budget of an estimator; features in few groups are features."""
        whole = samples.groups is not None and estimator.n_features is None
        return cls(samples.table, samples.groups if whole else None)

    @property
    def kind(self) -> Literal["features", "groups"]:
        """Return the kind of the units."""
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

    def described(self, unit: Any) -> dict[str, Any]:
        """Return the fields of `Feature` of a unit."""
        if self.groups is None:
            return described(self.table, int(unit))
        place = int(np.searchsorted(self.groups.labels, unit))
        return {"index": place, "name": str(unit), "description": None}

    def members(self, unit: Any) -> Members | None:
        """Return how many features of the data a group has, and the first of them; else None."""
        if self.groups is None:
            return None
        features = self.groups.members(int(np.searchsorted(self.groups.labels, unit)))
        first = [feature_name(self.table, j) for j in features[:_MEMBERS].tolist()]
        return Members(n_features=int(features.size), first=first)

    def moves(self, model: ModelFound, design: Design) -> list[dict[str, float]]:
        """Return for each problem of a model by how much its groups move the scores.

        That is the standard deviation over the samples of what the features of a group add, the
        largest of all outputs.
        """
        found: dict[Label, dict[str, float]] = {}
        for row in sorted(model.features, key=lambda row: row.index):
            found.setdefault(row.label, {}).setdefault(str(row.group), 0.0)
        for label, own in found.items():
            for group in own:
                rows = [one for one in model.features if (one.label, one.group) == (label, group)]
                features = np.array([one.index for one in rows], np.int64)
                added = margins(design, features, np.array([one.coefficient for one in rows]), 0.0)
                own[group] = float(added.std(axis=0).max())
        return [*found.values()]


def half_samples(
    estimator: Any, samples: Samples, n_pairs: int, chosen: ModelFound | None = None
) -> StabilitySelection:
    """Return how half-samples select, at the size of the chosen model.

    chosen : the model; None: that of a fitted estimator.
    """
    given: dict[str, Any] = {}
    if chosen is not None:
        given = {"n_features": chosen.size}
        if samples.groups is not None:
            whole = estimator.n_features is None
            given = {} if whole else given
            given |= {"n_groups": chosen.n_groups, "feature_groups": samples.groups}
    else:
        size, names = estimator.size_, ["n_features", "n_groups"]
        if not isinstance(size, tuple):
            size = (size,)
            names = names[estimator.n_features is None :]  # whole groups have their number alone
        given = dict(zip(names, size, strict=False))
    if "criterion" in estimator.get_params():
        given["criterion"] = None
    model = clone(estimator).set_params(**given)
    selection = StabilitySelection(model, n_pairs)
    response = samples.response
    return selection.fit(samples.table.X, samples.y, offset=response.offset, groups=response.groups)


def describe_stability(
    halves: StabilitySelection, samples: Samples, estimator: Any, selection: SelectionFound
) -> StabilityFound:
    """Return how often half-samples choose each feature, and what that guarantees.

    selection : of all samples; features of its model are there also where no half chooses them.
    """
    stability, threshold = halves.stability_, float(halves.threshold_)
    stable = stability.stable(threshold)
    of_groups = stability.unit == "groups"
    model = selection.model_of(selection.chosen)
    counted = np.array([row.index for row in model.features], np.int64)
    forced = estimator.forced_features
    forced = np.array([] if forced is None else forced, np.int64)
    if of_groups and samples.groups is not None:
        code = samples.groups.code
        counted, forced = code[counted], code[forced]
    counted = np.setdiff1d(counted, forced)
    features = np.union1d(stability.features, counted).astype(np.int64)
    shares = np.zeros((2, features.size))
    places = np.searchsorted(features, stability.features)
    shares[:, places] = stability.frequency, stability.simultaneous
    order = np.lexsort((features, -shares[1], -shares[0])).tolist()
    units = CountedUnits(samples.table, samples.groups if of_groups else None)
    named = features if units.groups is None else units.groups.labels[features]
    return StabilityFound(
        unit=units.kind,
        n_pairs=stability.n_pairs,
        n_left_out=len(stability.left_out),
        n_rows=stability.n_rows,
        n_chosen=int(stability.n_chosen),
        n_candidates=int(stability.n_candidates),
        threshold=threshold,
        n_stable=int(stable.size),
        expected_low=float(halves.expected_low_),
        index=finite_or_none(stability.index),
        interval=list(map(finite_or_none, stability.index_interval())),
        features=[
            Stable(
                **units.described(named[at]),
                frequency=float(shares[0, at]),
                by_both=float(shares[1, at]),
                stable=bool(features[at] in stable),
                in_model=bool(features[at] in counted),
            )
            for at in order
        ],
    )


def describe_near_optimal(
    near: NearOptimal, support: Any, units: CountedUnits, file: Path | None
) -> NearSets:
    """Return the lists, which features they have, and where a given one is among them.

    support : the features of the given list. units : what the lists are of.
    """
    features, counts = np.unique(near.supports, return_counts=True)
    order = np.lexsort((features, -counts)).tolist()
    places = np.flatnonzero((near.supports == units.within(support)).all(axis=1))
    excess = excess_of(near).tolist()
    costs = [None] * len(near) if near.costs is None else near.costs.tolist()
    return NearSets(
        within=near.within,
        limit=near.limit,
        complete=near.complete,
        complete_within=near.complete_within,
        status=near.status.name,
        cheapest=None if near.costs is None else near.cheapest,
        given=int(places[0]) if places.size else None,
        features=[
            NearFeature(**units.described(features[at]), n_lists=int(counts[at])) for at in order
        ],
        lists=[
            NearSet(
                objective=float(objective),
                worse_by=worse,
                cost=cost,
                features=list(map(units.name, one)),
            )
            for one, objective, worse, cost in zip(
                near.supports.tolist(), near.objectives, excess, costs, strict=True
            )
        ],
        file=None if file is None else str(file),
    )


def excess_of(near: NearOptimal) -> FloatArray:
    """Return by how much each support is worse than the best one, relative to it."""
    best = float(near.objectives[0])
    return np.asarray((near.objectives - best) / max(abs(best), 1e-300))


def describe_certified(
    source: str,
    samples: Samples,
    support: list[int],
    certificate: Certificate,
    proof: Proof | None,
    **more: Any,
) -> CertifiedSet:
    """Return what is certified of a list of features.

    support : the list that was given; a proof may end with a better one, that of the certificate.
    """
    table, best = samples.table, certificate.support
    begin = certificate.objective if proof is None else proof.history[0].objective
    groups = samples.groups

    def listed(features: Any) -> list[Feature]:
        return [describe_feature(table, int(j)) for j in features]

    return CertifiedSet(
        data=describe_data(source, table, samples.response, groups, certificate.covariates.size),
        groups=None
        if groups is None
        else WholeGroups(given=_labels(groups, support), best=_labels(groups, best)),
        features=listed(sorted(support)),
        best=listed(best),
        dropped=listed(np.setdiff1d(support, best)),
        added=listed(np.setdiff1d(best, support)),
        objective_given=float(begin),
        certificate=summarize(certificate),
        equivalents=describe_equivalents(certificate, table),
        proof=describe_proof(proof, table),
        **more,
    )


def _labels(groups: Groups, features: Sequence[int] | IndexArray) -> list[str]:
    """Return the names of the groups of some features."""
    return [str(label) for label in groups.labels[np.unique(groups.code[features])]]

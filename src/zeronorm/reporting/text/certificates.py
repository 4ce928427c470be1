"""The words of certificates and proofs; the reports of `certify`, `prove`, `verify`."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from math import ceil
from typing import Any

import msgspec
from rich.text import Text

from ...core.messages import counted, show, some
from ...persistence.records import Certified
from ...verification import RTOL
from ..records import (
    ByFolds,
    Calibrated,
    CertifiedSet,
    Duplicates,
    Feature,
    MeasureBound,
    NearSets,
    Searched,
    Verification,
)
from .tables import open_console, print_header, print_pairs, styled

_LOSSES = {
    "huber": "Huber's loss",
    "quantile": "quantile loss",
    "poisson": "Poisson loss",
    "gamma": "Gamma loss",
    "cox": "Cox's partial likelihood",
    "multinomial": "multinomial loss",
    "ordinal": "ordinal logistic loss",
    "cox_efron": "Cox's partial likelihood with Efron's ties",
}
_MAX_EQUIVALENTS = 5  # duplicates of a feature that a report names
_MAX_NAMES = 20  # features that a report names,
_MAX_LISTED = 30  # and features of a given list
_SLACK = 22.0  # times rtol, a verified gap is true: the theorem on what `verify` proves

_ENDS = {
    "LIMIT": "--limit is reached",
    "TIME_LIMIT": "--time-limit is reached",
    "CANDIDATES": "too many features are left to search on other machines",
    "INTERRUPTED": "interrupted",
}


def state_claim(
    certificate: Certified | MeasureBound, k: int, wanted: bool = False
) -> tuple[str, str]:
    """Return what a certificate says, with its style.

    wanted : whether its gap is what was asked for: nothing is missing then.
    """
    what = "single feature" if k == 1 else f"{k} features"
    n_groups = getattr(certificate, "n_groups", None)
    if n_groups is not None:
        what = "single group" if n_groups == 1 else f"{n_groups} groups of features"
    among = f" with the {certificate.n_forced} forced" if certificate.n_forced else ""
    if isinstance(certificate, Certified) and certificate.n_covariates:
        among += " beside the covariate" + "s" * (certificate.n_covariates > 1)
    among += " with the signs asked for" if getattr(certificate, "n_signed", 0) else ""
    if isinstance(certificate, Certified) and certificate.max_abs_coef is not None:
        per = " per SD" if certificate.scaling != "none" else ""
        among += f" with coefficients of at most {certificate.max_abs_coef:g}{per}"
    lower = "lowers the objective" if what.startswith("single") else "lower the objective"
    if getattr(certificate, "proven", False):
        return f"proven: no other {what}{among} {lower}", "bold green"
    claim = f"no {what}{among} {lower} by more than {percent(certificate.gap)}"
    return (
        (f"proven: {claim}", "bold green") if wanted else (f"not proven optimal: {claim}", "bold")
    )


def scope(certificate: Certified, by_folds: ByFolds | None = None) -> str:
    """Return which problem a certificate is of; by_folds: what folds chose, and how many."""
    scaling = {
        "standardized": "standardised columns",
        "scaled": "columns scaled to unit deviation, not centred",
        "none": "columns as they are",
    }.get(certificate.scaling, certificate.scaling)
    loss = "" if certificate.loss == "logistic" else f"{loss_words(certificate.loss)}, "
    of_labels = certificate.loss in ("logistic", "squared_hinge", "multinomial", "ordinal")
    other = "accuracy on new data" if of_labels else "predictions of new data"
    intercept = "" if certificate.fit_intercept else ", no intercept"
    beside = ", covariates not penalised" if certificate.n_covariates else ""
    chosen = f"{by_words(by_folds)}, " if by_folds and by_folds.parameter == "C" else ""
    return (
        f"This bounds the training objective ({loss}C = {certificate.C:g}, {chosen}{scaling}"
        f"{intercept}{beside}), not {other}."
    )


def by_words(by_folds: ByFolds) -> str:
    """Return that folds chose a parameter."""
    return f"chosen by {counted(by_folds.folds, 'fold')}"


def loss_words(name: str) -> str:
    """Return a loss as a sentence has it."""
    plain = name.replace("_", " ")
    return _LOSSES.get(name, plain)


def largest_gap(certificates: Sequence[Certified | None]) -> str:
    known = [certificate for certificate in certificates if certificate is not None]
    if len(known) < len(certificates):
        return "-"
    if all(certificate.proven for certificate in known):
        return "proven"
    return percent(max(certificate.gap for certificate in known))


def search_end(proof: Searched) -> str:
    """Return how a branch and bound ended."""
    seconds = f"{proof.seconds:.{1 if proof.seconds >= 1 else 2}f} s"
    if not proof.nodes and proof.status in ("OPTIMAL", "GAP"):
        return f"no branching needed, {seconds}: {proof.reason}"
    nodes = counted(proof.nodes, "node")
    better = "; it found a better feature set" if proof.improved else ""
    return f"branch and bound, {nodes} in {seconds}: {proof.reason}{better}"


def duplicate_facts(
    labels: Sequence[Any], groups: Sequence[Sequence[Duplicates]]
) -> list[tuple[str, str | Text]]:
    """Return the features that others can take the place of, for each class."""
    lines = []
    for label, group in zip(labels, groups, strict=False):
        prefix = f"{show(str(label), 30)}: " if len(labels) > 1 else ""
        for row in group:
            names = [show(other.name) for other in row.equivalents]
            feature = show(row.feature.name)
            lines.append(f"{prefix}{feature} is equivalent to {some(names, _MAX_EQUIVALENTS)}")
    if not lines:
        return []
    text = styled("\n".join(lines), ("\nequal columns, up to the sign", "dim"))
    return [("duplicates", text)]


def scaled_facts(
    calibration: Calibrated | None, parameters: Mapping[str, Any], of_classes: bool
) -> list[tuple[str, str | Text]]:
    """Return by what a model was scaled, and of classes what else their probabilities are.

    parameters : of the estimator.
    """
    if of_classes:
        said = _probabilities(calibration, parameters)
        return [] if said is None else [("probabilities", said)]
    if calibration is None or calibration.scale == 1.0:
        return []
    return [("coefficients", f"scaled by {calibration.scale:.2g} (held-out samples)")]


def _probabilities(calibration: Calibrated | None, parameters: Mapping[str, Any]) -> Text | None:
    """Return by what margins were scaled, the log-loss of rows held out, and what weights change.

    None where nothing is to be said.
    """
    lines: list[str | tuple[str, str]] = []
    if calibration is not None and calibration.cv_log_loss is not None:
        text = f"scaled by {calibration.scale:.2g}; held-out log-loss "
        text += f"{calibration.cv_log_loss:.3f}"
        if calibration.base_log_loss:
            text += f" (base rate {calibration.base_log_loss:.3f})"
        lines.append(text)
    weighted = weighted_classes(parameters)
    if weighted is not None:
        lines += ["\n"] * bool(lines) + [(weighted, "bold yellow")]
    return styled(*lines) if lines else None


def weighted_classes(parameters: Mapping[str, Any]) -> str | None:
    """Return of which classes probabilities are where classes were weighted; None elsewhere."""
    weight = parameters.get("class_weight")
    if weight is None or parameters.get("measure") or parameters.get("loss") == "squared_hinge":
        return None
    of = "equally frequent classes" if weight == "balanced" else "classes of other frequency"
    return (
        f"those of {of}, because of the class weights, and too high for a rare class; leave the "
        "weights out for probabilities of the data, and use a threshold below 0.5"
    )


def percent(share: float) -> str:
    """Return a gap in percent, rounded up: what it bounds is not above it."""
    percent = 100 * share * (1 - 1e-9)  # 7 is not 7.1 for the last bit of a float
    if share >= 0.0995:
        return f"{ceil(percent)}%"
    return f"{_rounded(percent, 2, ROUND_CEILING):.2g}%"


def at_least(bound: float) -> str:
    """Return a lower bound in six digits, rounded down."""
    return f"{_rounded(bound, 6, ROUND_FLOOR):.6g}"


def _rounded(value: float, digits: int, mode: str) -> float:
    return float(Context(prec=digits, rounding=mode).create_decimal_from_float(value))


def certificate_text(
    prefix: str,
    certificate: Certified | None,
    proof: Searched | None,
    total: int,
    k: int,
) -> Text:
    """Return what is certified, and how it was proven.

    prefix : the class, where there are several: then it is in one line.
    total : features of the data.
    """
    if certificate is None:
        return styled(f"{prefix}none")
    excluded = total - certificate.candidates
    if prefix:
        gap = "proven" if certificate.proven else f"gap {percent(certificate.gap)}"
        search = "" if proof is None else f"; {search_end(proof)}"
        return styled(
            prefix,
            (gap, "bold"),
            f", objective {certificate.objective:.5g}, {excluded:,} of {total:,} ruled out{search}",
        )
    left = "" if proof is None else f"{certificate.candidates:,} candidates left, "
    text = styled(
        state_claim(certificate, k, wanted=proof is not None and proof.status == "GAP"),
        f"\nobjective {certificate.objective:.6g}, "
        f"lower bound {at_least(certificate.bound)}; "
        f"{excluded:,} of {total:,} features ruled out, {left}"
        f"{certificate.fixed_in} proven to belong",
    )
    if proof is not None:
        text.append(f"\n{search_end(proof)}")
    return text


def print_certified(document: CertifiedSet, quiet: bool = False) -> None:
    """Print the list, what is certified of it, and the better one where there is one."""
    console = open_console()
    print_header(console, document.data)
    console.print()
    certificate, proof = document.certificate, document.proof
    assert certificate is not None
    k = len(document.features)
    facts: list[tuple[str, str | Text]] = [
        ("features", f"{counted(k)}: {_names(document.features)}")
    ]
    groups, length = document.groups, counted(k)
    dropped, added = _names(document.dropped), _names(document.added)
    if groups is not None:
        given, best = groups.given, groups.best
        length = counted(len(given), "group")
        facts.insert(0, ("groups", f"{length}: {_listed(given)}"))
        dropped, added = _listed({*given} - {*best}), _listed({*best} - {*given})
    total = document.data.n_features - (certificate.n_covariates or 0)
    if document.added:
        before, after = document.objective_given, certificate.objective
        gain = percent((before - after) / abs(before)) if before else "-"
        facts.append(
            (
                "better",
                styled(
                    (f"another set of {length} lowers the objective by {gain}", "bold yellow"),
                    f", from {before:.6g} to {after:.6g}\nwithout  {dropped}\nwith     {added}",
                ),
            )
        )
    elif proof is not None:
        facts.append(("better", "no better feature set of this size was found"))
    name = "its bound" if document.added else "certificate"
    facts.append((name, certificate_text("", certificate, proof, total, k)))
    facts.append(("", styled((scope(certificate), "dim"))))
    facts += duplicate_facts([None], [document.equivalents])
    if document.near_optimal:
        facts += _near_optimal_facts(document.near_optimal)
    if document.file is not None:
        facts.append(("written", styled((show(document.file), "bold"))))
        if not quiet:
            command = f"zeronorm verify {show(shlex.quote(document.file))} DATA"
            facts.append(("", styled(("check it: ", "dim"), command)))
    print_pairs(console, facts, airy=True)


def near_claim(near: NearSets, what: str) -> str:
    """Return how many feature sets are near the best one, and whether these are all.

    what : a set has: 5 features, or 2 groups.
    """
    n = len(near.lists)
    sets = f"{counted(n, 'set')} of {what}"
    within = f"within {100 * near.within:,.6g}% of the best objective"
    if near.complete:
        return f"{sets} {'is' if n == 1 else 'are'} {within}; no others exist (proven)"
    known = near.complete_within
    rest = f"; the list is complete up to {100 * known:.2g}%" if known > 0 else ""
    return f"{sets} found {within}; others may exist{rest}"


def _near_optimal_facts(near: NearSets) -> list[tuple[str, str | Text]]:
    """Return how many lists there are, whether these are all, and what they have in common."""
    lists, features = near.lists, near.features
    n, k = len(lists), len(lists[0].features)
    claim = near_claim(near, counted(k))
    parts: list[str | tuple[str, str]] = [(claim, "bold")]
    if not near.complete:
        parts = [(claim, "bold yellow"), f": {_ENDS.get(near.status, near.status)}"]
    in_all = [show(row.name, 40) for row in features if row.n_lists == n]
    in_some = [f"{show(row.name, 40)} ({row.n_lists:,})" for row in features if row.n_lists < n]
    parts.append(f"\nin all   {some(in_all, _MAX_NAMES) or 'none'}")
    if in_some:
        parts.append(f"\nin some  {some(in_some, _MAX_NAMES)}")
    if near.complete:
        parts.append("\nin none  all others")
    facts: list[tuple[str, str | Text]] = [("near", styled(*parts))]
    place = near.given
    if place is None:
        own = "the given set is not among them"
    elif place == 0:
        own = "the given set is the best of them"
    else:
        worse = 100 * lists[place].worse_by
        own = f"the given set is number {place + 1:,}, worse by {worse:.2g}%"
    facts.append(("", own))
    if near.cheapest is not None:
        cheap = lists[near.cheapest]
        names = some([show(name, 40) for name in cheap.features], _MAX_NAMES)
        which = "" if near.complete else " of those found"
        facts.append(
            (
                "cheapest",
                styled(
                    (f"{names}{which}", "bold"),
                    f": it costs {cheap.cost:,.6g}, the best one {lists[0].cost:,.6g}; worse "
                    f"by {100 * cheap.worse_by:.2g}%",
                ),
            )
        )
    if near.file is not None:
        facts.append(("sets", styled((show(near.file), "bold"))))
    return facts


def _names(features: Sequence[Feature]) -> str:
    return _listed([row.name for row in features], in_order=True)


def _listed(names: Collection[str], in_order: bool = False) -> str:
    """Return names, sorted unless they are in order."""
    return some([show(name, 40) for name in (names if in_order else sorted(names))], _MAX_LISTED)


def print_verification(document: Verification, quiet: bool = False) -> None:
    """Print whether certificates hold, what they claim, and what was recomputed."""
    console = open_console()
    print_header(console, document.data)
    console.print()
    claims, classes = document.claims, document.classes
    several = len(claims) > 1
    facts: list[tuple[str, str | Text]] = [
        ("proof", styled((show(document.certificate), "bold"))),
    ]
    for claim in claims:
        names = [show(row.name, 40) for row in claim.features]
        of_class = f" of {show(str(claim.label), 30)}" if claim.label is not None else ""
        if document.outputs:
            what = "classes" if classes else "responses"
            of_class = f", shared by the {len(document.outputs)} {what}"
        facts.append(("", f"{counted(len(names))}{of_class}: {some(names, _MAX_NAMES)}"))
        if claim.forced:
            names = [show(row.name, 40) for row in claim.forced]
            facts.append(("", f"forced: {', '.join(names)}"))
        signs = (("at least 0", claim.signs.nonnegative), ("at most 0", claim.signs.nonpositive))
        if any(n for _, n in signs):
            parts = [f"{limit} for {n:,}" for limit, n in signs if n]
            facts.append(("", f"coefficients: {' and '.join(parts)} of the features of the data"))
    if claims[0].covariates:
        names = [show(row.name, 40) for row in claims[0].covariates]
        facts.append(("", f"covariates: {some(names, _MAX_NAMES)}"))
    if set(document.class_weight) - {1.0}:
        weights = [
            f"{show(str(label), 30)} {weight:.4g}"
            for label, weight in zip(classes, document.class_weight, strict=True)
        ]
        facts.append(("", styled(("class weights: ", "dim"), ", ".join(weights))))
    if not document.verified:
        word, style = ("undecided", "yellow") if document.undecided else ("refuted", "bold red")
        facts.append((word, styled((show(document.reason or "", 500), style))))
    for number, claim in enumerate(claims if document.verified else []):
        assert claim.claimed is not None
        assert claim.recomputed is not None
        claimed, found = _weakened(claim.claimed, document.rtol), claim.recomputed
        prefix = f"{show(str(claim.label), 30)}: " if several else ""
        said, style = state_claim(claimed, len(claim.features), wanted=True)
        text = styled(
            prefix,
            (said, style),
            f"\nrecomputed: objective {found.objective:.6g}, lower bound {at_least(found.bound)}",
        )
        if found.nodes:
            text.append(f", from a tree of {counted(found.nodes, 'node')}")
        if document.rtol > RTOL:
            text.append(f"; to rtol = {document.rtol:g}, by which the claim is weakened here")
        facts.append(("verified" if not number else "", text))
    if document.verified and claims[0].claimed is not None:
        facts.append(("", styled((scope(claims[0].claimed), "dim"))))
        labels = [claim.label for claim in claims]
        facts += duplicate_facts(labels, [claim.equivalents for claim in claims])
    print_pairs(console, facts, airy=True)


def _weakened(claimed: Certified, rtol: float) -> Certified:
    """Return what is certain of a claim that was verified to a larger rtol than the usual one."""
    if rtol <= RTOL:
        return claimed
    return msgspec.structs.replace(claimed, proven=False, gap=claimed.gap + _SLACK * rtol)

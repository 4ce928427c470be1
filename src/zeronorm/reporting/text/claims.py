"""What certificates and proofs say, in words, for the reports of several commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from math import ceil
from typing import Any

from rich.text import Text

from ...core.messages import counted, show, some
from .tables import styled

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
_MAX_EQUIVALENTS = 5  # A report names so many duplicates of a feature.


def state_claim(certificate: Mapping[str, Any], k: int, wanted: bool = False) -> tuple[str, str]:
    """Return what a certificate says, with its style.

    wanted : whether its gap is what was asked for: nothing is missing then.
    """
    what = "single feature" if k == 1 else f"{k} features"
    if certificate.get("n_groups") is not None:
        n_groups = certificate["n_groups"]
        what = "single group" if n_groups == 1 else f"{n_groups} groups of features"
    among = f" with the {certificate['n_forced']} forced" if certificate["n_forced"] else ""
    if certificate.get("n_covariates"):
        among += " beside the covariate" + "s" * (certificate["n_covariates"] > 1)
    among += " with the signs asked for" if certificate.get("n_signed") else ""
    if certificate.get("max_abs_coef") is not None:
        per = " per SD" if certificate["scaling"] != "none" else ""
        among += f" with coefficients of at most {certificate['max_abs_coef']:g}{per}"
    lower = "lowers the objective" if what.startswith("single") else "lower the objective"
    if certificate.get("proven"):
        return f"proven: no other {what}{among} {lower}", "bold green"
    claim = f"no {what}{among} {lower} by more than {percent(certificate['gap'])}"
    return (f"proven: {claim}", "bold green") if wanted else (f"not proven best: {claim}", "bold")


def scope(certificate: Mapping[str, Any], by_folds: Mapping[str, Any] | None = None) -> str:
    """Return which problem a certificate is of; by_folds: what folds chose, and how many."""
    scaling = {
        "standardized": "standardised columns",
        "scaled": "columns scaled to unit deviation, not centred",
        "none": "columns as they are",
    }.get(certificate["scaling"], certificate["scaling"])
    loss = "" if certificate["loss"] == "logistic" else f"{loss_words(certificate['loss'])}, "
    of_labels = certificate["loss"] in ("logistic", "squared_hinge", "multinomial", "ordinal")
    unsaid = "test accuracy" if of_labels else "how well new samples are predicted"
    intercept = "" if certificate["fit_intercept"] else "no intercept, "
    beside = "covariates without a penalty, " if certificate.get("n_covariates") else ""
    chosen = f"{by_words(by_folds)}, " if by_folds and by_folds["parameter"] == "C" else ""
    return (
        f"It holds for the selection problem: {loss}C = {certificate['C']:g}, {chosen}{scaling}, "
        f"{intercept}{beside}its own refit. "
        f"It says nothing about {unsaid}."
    )


def by_words(by_folds: Mapping[str, Any]) -> str:
    """Return that folds chose a parameter."""
    return f"chosen by {counted(by_folds['folds'], 'fold')}"


def loss_words(name: str) -> str:
    """Return a loss as a sentence has it."""
    plain = name.replace("_", " ")
    return _LOSSES.get(name, plain)


def largest_gap(certificates: Sequence[Mapping[str, Any] | None]) -> str:
    known = [certificate for certificate in certificates if certificate is not None]
    if len(known) < len(certificates):
        return "-"
    if all(certificate["proven"] for certificate in known):
        return "proven"
    return percent(max(certificate["gap"] for certificate in known))


def search_end(proof: Mapping[str, Any]) -> str:
    """Return how a branch and bound ended."""
    seconds = f"{proof['seconds']:.{1 if proof['seconds'] >= 1 else 2}f} s"
    if not proof["nodes"] and proof["status"] in ("OPTIMAL", "GAP"):
        return f"no branching needed, {seconds}: {proof['reason']}"
    nodes = counted(proof["nodes"], "node")
    better = "; it found better features on the way" if proof["improved"] else ""
    return f"branch and bound, {nodes} in {seconds}: {proof['reason']}{better}"


def duplicate_facts(
    labels: Sequence[Any], groups: Sequence[Sequence[Mapping[str, Any]]]
) -> list[tuple[str, str | Text]]:
    """Return the features that others can take the place of, for each class."""
    lines = []
    for label, group in zip(labels, groups, strict=False):
        prefix = f"{show(str(label), 30)}: " if len(labels) > 1 else ""
        for row in group:
            names = [show(other["name"]) for other in row["equivalents"]]
            feature = show(row["feature"]["name"])
            lines.append(f"{prefix}{feature} is equivalent to {some(names, _MAX_EQUIVALENTS)}")
    if not lines:
        return []
    text = styled("\n".join(lines), ("\nequal columns, up to the sign", "dim"))
    return [("duplicates", text)]


def scaled_facts(
    calibration: Mapping[str, Any] | None, parameters: Mapping[str, Any], of_classes: bool
) -> list[tuple[str, str | Text]]:
    """Return by what a model was scaled, and of classes what else their probabilities are.

    parameters : of the estimator.
    """
    if of_classes:
        said = _probabilities(calibration, parameters)
        return [] if said is None else [("probabilities", said)]
    if calibration is None or calibration["scale"] == 1.0:
        return []
    return [("coefficients", f"scaled by {calibration['scale']:.2g} (held-out samples)")]


def _probabilities(
    calibration: Mapping[str, Any] | None, parameters: Mapping[str, Any]
) -> Text | None:
    """Return by what margins were scaled, the log-loss of rows held out, and what weights change.

    None where nothing is to be said.
    """
    lines: list[str | tuple[str, str]] = []
    if calibration is not None and calibration["cv_log_loss"] is not None:
        text = f"scaled by {calibration['scale']:.2g}; log-loss out of fold "
        text += f"{calibration['cv_log_loss']:.3f}"
        if "base_log_loss" in calibration:
            text += f" (base rate {calibration['base_log_loss']:.3f})"
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
        f"those of {of}, as class weights ask, and so too high for a rare one: for those of the "
        "data leave the weights out, and act from a lower probability than 0.5 on"
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

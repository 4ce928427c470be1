"""The report of `zeronorm verify`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from ...core.messages import counted, show, some
from ...verification import RTOL
from .claims import at_least, duplicate_facts, scope, state_claim
from .tables import open_console, print_header, print_pairs, styled

_SLACK = 22.0  # A verified gap is true to so many rtol: the theorem on what `verify` proves.
_MAX_CLAIMED = 20  # A report names so many features of a certificate.


def print_verification(document: Mapping[str, Any], quiet: bool = False) -> None:
    """Print whether certificates hold, what they claim, and what was recomputed."""
    console = open_console()
    print_header(console, document["data"])
    console.print()
    claims, classes = document["claims"], document["classes"]
    several = len(claims) > 1
    facts: list[tuple[str, str | Text]] = [
        ("proof", styled((show(document["certificate"]), "bold"))),
    ]
    for claim in claims:
        names = [show(row["name"], 40) for row in claim["features"]]
        of_class = f" of {show(str(claim['class']), 30)}" if claim["class"] is not None else ""
        if document["outputs"]:
            what = "classes" if classes else "responses"
            of_class = f", shared by the {len(document['outputs'])} {what}"
        facts.append(("", f"{counted(len(names))}{of_class}: {some(names, _MAX_CLAIMED)}"))
        if claim["forced"]:
            names = [show(row["name"], 40) for row in claim["forced"]]
            facts.append(("", f"forced: {', '.join(names)}"))
        if any(claim["signs"].values()):
            limits = {"nonnegative": "at least 0", "nonpositive": "at most 0"}
            parts = [f"{limits[side]} for {n:,}" for side, n in claim["signs"].items() if n]
            facts.append(("", f"coefficients: {' and '.join(parts)} of the features of the data"))
    if claims[0]["covariates"]:
        names = [show(row["name"], 40) for row in claims[0]["covariates"]]
        facts.append(("", f"covariates: {some(names, _MAX_CLAIMED)}"))
    if set(document["class_weight"]) - {1.0}:
        weights = [
            f"{show(str(label), 30)} {weight:.4g}"
            for label, weight in zip(classes, document["class_weight"], strict=True)
        ]
        facts.append(("", styled(("class weights: ", "dim"), ", ".join(weights))))
    if not document["verified"]:
        word, style = ("undecided", "yellow") if document["undecided"] else ("refuted", "bold red")
        facts.append((word, styled((show(document["reason"], 500), style))))
    for number, claim in enumerate(claims if document["verified"] else []):
        claimed, found = _weakened(claim["claimed"], document["rtol"]), claim["recomputed"]
        prefix = f"{show(str(claim['class']), 30)}: " if several else ""
        said, style = state_claim(claimed, len(claim["features"]), wanted=True)
        text = styled(
            prefix,
            (said, style),
            f"\nrecomputed: objective {found['objective']:.6g}, lower bound "
            f"{at_least(found['bound'])}",
        )
        if found["nodes"]:
            text.append(f", from a tree of {counted(found['nodes'], 'node')}")
        if document["rtol"] > RTOL:
            text.append(f"; to rtol = {document['rtol']:g}, by which the claim is weakened here")
        facts.append(("verified" if not number else "", text))
    if document["verified"]:
        facts.append(("", styled((scope(claims[0]["claimed"]), "dim"))))
        labels = [claim["class"] for claim in claims]
        facts += duplicate_facts(labels, [claim["equivalents"] for claim in claims])
    print_pairs(console, facts, airy=True)


def _weakened(claimed: Mapping[str, Any], rtol: float) -> Mapping[str, Any]:
    """Return what is certain of a claim that was verified to a larger rtol than the usual one."""
    if rtol <= RTOL:
        return claimed
    return {**claimed, "proven": False, "gap": claimed["gap"] + _SLACK * rtol}

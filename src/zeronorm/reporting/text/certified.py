"""The report of `zeronorm certify` and `zeronorm prove`."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from typing import Any

from rich.text import Text

from ...core.messages import counted, show, some
from .claims import duplicate_facts, percent, scope
from .near_optimal import near_optimal_facts
from .selection import certificate_text
from .tables import open_console, print_header, print_pairs, styled

_MAX_NAMES = 30  # A report names so many features.


def print_certified(document: Mapping[str, Any], quiet: bool = False) -> None:
    """Print the list, what is certified of it, and the better one where there is one."""
    console = open_console()
    print_header(console, document["data"])
    console.print()
    certificate, proof = document["certificate"], document["proof"]
    k = len(document["features"])
    facts: list[tuple[str, str | Text]] = [
        ("features", f"{counted(k)}: {_names(document['features'])}")
    ]
    groups, length = document["groups"], counted(k)
    dropped, added = _names(document["dropped"]), _names(document["added"])
    if groups is not None:
        given, best = groups["given"], groups["best"]
        length = counted(len(given), "group")
        facts.insert(0, ("groups", f"{length}: {_listed(given)}"))
        dropped, added = _listed({*given} - {*best}), _listed({*best} - {*given})
    total = document["data"]["n_features"] - (certificate["n_covariates"] or 0)
    if document["added"]:
        given, best = document["objective_given"], certificate["objective"]
        gain = percent((given - best) / abs(given)) if given else "-"
        facts.append(
            (
                "better",
                styled(
                    (f"another list of {length} lowers the objective by {gain}", "bold yellow"),
                    f", from {given:.6g} to {best:.6g}\nwithout  {dropped}\nwith     {added}",
                ),
            )
        )
    elif proof is not None:
        facts.append(("better", "no better list of this length was found"))
    name = "of the better" if document["added"] else "certificate"
    facts.append((name, certificate_text("", certificate, proof, total, k)))
    facts.append(("", styled((scope(certificate), "dim"))))
    facts += duplicate_facts([None], [document["equivalents"]])
    if document.get("near_optimal") is not None:
        facts += near_optimal_facts(document["near_optimal"])
    if document["file"] is not None:
        facts.append(("written", styled((show(document["file"]), "bold"))))
        if not quiet:
            command = f"zeronorm verify DATA {show(shlex.quote(document['file']))}"
            facts.append(("", styled(("check it: ", "dim"), command)))
    print_pairs(console, facts, airy=True)


def _names(features: list[Mapping[str, Any]]) -> str:
    return _listed([row["name"] for row in features], in_order=True)


def _listed(names: Collection[str], in_order: bool = False) -> str:
    """Return names, sorted unless they are in order."""
    return some([show(name, 40) for name in (names if in_order else sorted(names))], _MAX_NAMES)

"""The report of `zeronorm discover`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from ...core.messages import counted, show
from .tables import (
    MAX_ROWS,
    open_console,
    print_features,
    print_header,
    print_pairs,
    print_rest,
    seconds_of,
    styled,
)

_MAX_DOUBTFUL = 10  # A report shows so many features that are not counted.


def print_discoveries(document: Mapping[str, Any], quiet: bool = False) -> None:
    """Print the features found, those that are too doubtful, and what is promised of them."""
    console = open_console()
    print_header(console, document["data"])
    console.print()
    rows = document["features"]
    found = [row for row in rows if row["found"]]
    doubtful = [row for row in rows if not row["found"]]
    n, rate = len(found), f"{100 * document['fdr']:g}%"
    for title, own, most in (
        (f"{counted(n)} found", found, MAX_ROWS),
        (f"{counted(len(doubtful))} not counted, as others may be meant", doubtful, _MAX_DOUBTFUL),
    ):
        if own:
            _print_rows(console, title, own[:most])
            print_rest(console, len(own) - most)
            console.print()
    facts: list[tuple[str, str | Text]] = [
        (
            "found",
            styled(
                (f"{counted(n) if n else 'no feature'} at a false discovery rate of {rate}", "bold")
                if n
                else (f"no feature at a false discovery rate of {rate}", "bold yellow"),
                f"; of these {document['estimate']:.1%} are false by estimate" if n else "",
            ),
        ),
        (
            "",
            styled(
                (
                    f"{document['n_experiments']} experiments, each with "
                    f"{document['n_dummies']:,} dummies beside "
                    f"{counted(document['n_candidates'])}, until {document['n_entered']:,} of the "
                    f"dummies entered; {document['least_votes']:.0%} of the votes asked for",
                    "dim",
                )
            ),
        ),
    ]
    blocks = document["blocks"]
    if blocks is not None:
        within = "whose means are the rows"
        if blocks["correlation"] is not None:
            within = f"whose errors have a correlation of {blocks['correlation']:.2f} within them"
        facts.append(
            (
                "blocks",
                f"{counted(blocks['n_blocks'], 'block')} of {show(blocks['column'], 40)}, {within}",
            )
        )
    if not quiet:
        facts += _meaning(n, rate, "samples" if blocks is None else "blocks of samples")
    if document["features_file"] is not None:
        facts.append(("written", styled((show(document["features_file"]), "bold"))))
    if not quiet:
        facts.append(("seconds", seconds_of(document["seconds"])))
    print_pairs(console, facts, airy=True)


def _print_rows(console: Any, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a row for each feature: votes, and which other one may be meant."""
    ranks = [str(rank) for rank in range(1, len(rows) + 1)]
    votes = [styled(f"{row['votes']:.0%}") for row in rows]
    doubts = [styled(f"{row['stand_in']:.1%}") for row in rows]
    rivals = [
        styled((show(row["rival"]["name"], 24) if row["rival"] else "", "dim")) for row in rows
    ]
    columns = [("votes", votes), ("other meant", doubts), ("the likeliest", rivals)]
    print_features(console, styled((title, "bold")), rows, ("rank", ranks), columns)


def _meaning(n: int, rate: str, independent: str) -> list[tuple[str, str | Text]]:
    """Return in plain words what the rate promises, and what it does not."""
    if not n:
        return [("meaning", "That none is found is no proof that none has an effect.")]
    return [
        (
            "meaning",
            f"In the mean over data like these at most {rate} of the features found have no effect "
            "on the target once all others are known.",
        ),
        (
            "",
            "It is no probability that one of them is false, and no promise for this very list; "
            f"others may have an effect, too. It rests on independent {independent} and a linear "
            "model. Where features are correlated it is known from simulations alone.",
        ),
    ]

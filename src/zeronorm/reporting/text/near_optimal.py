"""The lists that are nearly as good as the best one, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from ...core.messages import counted, show, some
from .tables import styled

_MAX_NAMES = 20  # A report names so many features.
_ENDS = {
    "LIMIT": "more of them are near than --limit keeps",
    "TIME_LIMIT": "--time-limit is reached",
    "CANDIDATES": "too many features on other machines are left to search among",
    "INTERRUPTED": "interrupted",
}


def near_optimal_facts(near: Mapping[str, Any]) -> list[tuple[str, str | Text]]:
    """Return how many lists there are, whether these are all, and what they have in common."""
    lists, features = near["lists"], near["features"]
    n, k = len(lists), len(lists[0]["features"])
    are = "list is" if n == 1 else "lists are"
    head = f"{n:,} {are} within {100 * near['within']:,.6g}% of the best {counted(k)}"
    parts: list[str | tuple[str, str]] = [(f"{head}, and no others: proven", "bold")]
    if not near["complete"]:
        end = _ENDS.get(near["status"], near["status"])
        parts = [
            (f"{head}; others may be missing", "bold yellow"),
            f": {end}; none is missing up to {100 * near['complete_within']:.2g}%",
        ]
    in_all = [show(row["name"], 40) for row in features if row["n_lists"] == n]
    in_some = [
        f"{show(row['name'], 40)} ({row['n_lists']:,})" for row in features if row["n_lists"] < n
    ]
    parts.append(f"\nin all   {some(in_all, _MAX_NAMES) or 'none'}")
    if in_some:
        parts.append(f"\nin some  {some(in_some, _MAX_NAMES)}")
    if near["complete"]:
        parts.append("\nin none  all others")
    facts: list[tuple[str, str | Text]] = [("near", styled(*parts))]
    place = near["given"]
    if place is None:
        own = "the given one is not among them"
    elif place == 0:
        own = "the given one is the best of them"
    else:
        worse = 100 * lists[place]["worse_by"]
        own = f"the given one is number {place + 1:,}, worse by {worse:.2g}%"
    facts.append(("", own))
    if near["cheapest"] is not None:
        cheap = lists[near["cheapest"]]
        names = some([show(name, 40) for name in cheap["features"]], _MAX_NAMES)
        which = "" if near["complete"] else " of those found"
        facts.append(
            (
                "cheapest",
                styled(
                    (f"{names}{which}", "bold"),
                    f": it costs {cheap['cost']:,.6g}, the best one {lists[0]['cost']:,.6g}; worse "
                    f"by {100 * cheap['worse_by']:.2g}%",
                ),
            )
        )
    if near["file"] is not None:
        facts.append(("lists", styled((show(near["file"]), "bold"))))
    return facts

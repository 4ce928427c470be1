"""What half-samples choose, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from ...core.messages import counted, show, some
from .tables import styled

_MAX_NAMES = 20  # A report names so many features.


def stability_text(found: Mapping[str, Any]) -> Text:
    """Return how many features are stable, how often each is chosen, and what that guarantees."""
    rows, n = found["features"], found["n_stable"]
    unit = found["unit"][:-1]
    share = f"{found['threshold']:.0%}"
    halves = f"{2 * found['n_pairs']} half-samples of {counted(found['n_rows'], 'sample')}"
    parts: list[str | tuple[str, str]] = [
        (f"{counted(n, unit) if n else f'no {unit}'} chosen by {share} or more", "bold"),
        f" of {halves}, {found['n_chosen']:,} on each",
    ]
    if found["n_left_out"]:
        more = counted(found["n_left_out"], "more pair")
        parts.append(f"; {more} left out, as a half has no model")
    own = [row for row in rows if row["in_model"]]
    others = [row for row in rows if not row["in_model"] and row["frequency"] >= 0.5]
    for name, shown in (("those of the model", own), ("others", others)):
        if shown:
            listed = [f"{show(row['name'], 40)} {row['frequency']:.0%}" for row in shown]
            parts.append(f"\n{name}: {some(listed, _MAX_NAMES)}")
    parts.append(
        (
            f"\nOf {unit}s that halves choose no more often than by lot at most "
            f"{found['expected_low']:.2g} are expected among those chosen by {share}.",
            "dim",
        )
    )
    return styled(*parts)

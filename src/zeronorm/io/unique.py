"""Names of columns that occur twice, as gene symbols do: the n-th of m columns is "NAME (n of m)".

The place in the table is no part of such a name, so that another order of other columns changes
nothing. The number of columns is, so that a file with more or fewer of them has no such feature.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ..core.files import MissingFeaturesError, did_you_mean, quote

_MARKED = re.compile(r"(.*) \([0-9]+ of ([0-9]+)\)'*", re.DOTALL)
_UNNAMED = "unnamed"


def unique_names(
    names: Sequence[str], places: Sequence[int] | None = None
) -> tuple[list[str], tuple[str, ...]]:
    """Return different names of all columns, and a note if any had to be changed.

    places : the columns whose names are returned, told apart from those of all others as well.
    """
    count = Counter(names)
    wanted = range(len(names)) if places is None else places
    if len(count) == len(names) and "" not in count:
        return [names[j] for j in wanted], ()
    taken = set(count)
    seen = Counter[str]()
    unique: list[str] = []
    for name in names:
        if name and count[name] == 1:
            unique.append(name)
            continue
        seen[name] += 1
        candidate = f"{name or _UNNAMED} ({seen[name]} of {count[name]})"
        while candidate in taken:
            candidate += "'"
        taken.add(candidate)
        unique.append(candidate)
    changed = [unique[j] for j in wanted if unique[j] != names[j]]
    notes = (
        f"{len(changed):,} features share a name or have none: they are told apart by their order, "
        f"as {quote(changed[0])}"
        for _ in changed[:1]
    )
    return [unique[j] for j in wanted], tuple(notes)


def shared_name(name: str) -> tuple[str, int]:
    """Return the name that columns share, and how many do; of any other name itself and 1."""
    found = _MARKED.fullmatch(name)
    return (name, 1) if found is None else (found[1], int(found[2]))


def other_number(missing: Sequence[str], names: Sequence[str]) -> str | None:
    """Return what is said where columns share the name of a missing feature, but not as many.

    names : different ones, of what is there.
    """
    count = Counter(shared_name(name)[0] for name in names)
    for name in missing:
        own, trained = shared_name(name)
        there = count[own]
        if there:
            return (
                f"{there} {'column has' if there == 1 else 'columns have'} the name {quote(own)}, "
                f"and the model was trained on {trained}, so that its feature {quote(name)} cannot "
                f"be told. Give the column that is meant, and no other, the name {quote(name)}."
            )
    return None


def places_of_features(source: object, wanted: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return where the features of a model stand among columns of different names."""
    position = {name: j for j, name in enumerate(names)}
    missing = [name for name in wanted if name not in position]
    if missing:
        other = other_number(missing, names)
        if other is not None:
            raise MissingFeaturesError(f"{source}: {other}")
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        shown = ", ".join(quote(name) for name in missing[:3])
        kind, verb = ("features", "are") if missing[1:] else ("feature", "is")
        raise MissingFeaturesError(
            f"{source}: the model needs the {kind} {shown}{more}, which {verb} not there."
            f"{did_you_mean(missing[0], names, given=wanted)}"
        )
    return [position[name] for name in wanted]

"""Gene sets as groups of features, from a GMT file: name, description and genes in every line.

Such files speak of more genes than a table has, and not of all that it has: a feature in no set is
a group of its own. Sets that share a feature of the table are refused, as groups are a partition.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..core.files import FileError, did_you_mean, quote
from ..core.groups import Groups
from .source import Source
from .unique import shared_name

_SHOWN = 5  # names in a note

_Set = tuple[int, str, list[str]]  # the number of the line, the name, the genes


def groups_of_sets(
    source: Source, names: Sequence[str], place: Mapping[str, Sequence[int]]
) -> tuple[Groups, list[str]]:
    """Return the sets as groups of the features, and notes about what did not match.

    names : of the features. place : the features that a name stands for.
    """
    sets = [*_sets(source)]
    if not sets:
        raise FileError(f"{source}: no gene sets in it (only blank lines).")
    places = _with_shared(names, place)
    owner: dict[int, _Set] = {}
    shared: dict[int, _Set] = {}
    unmatched: dict[str, None] = {}
    for one in sets:
        for gene in one[2]:
            if gene not in places:
                unmatched[gene] = None
            for feature in places.get(gene, ()):
                if owner.setdefault(feature, one) is not one:
                    shared.setdefault(feature, one)
    if not owner:
        gene = next(iter(unmatched))
        raise FileError(
            f"{source}: none of its genes is a feature of the data, as {quote(gene)}."
            f"{did_you_mean(gene, names, listing=False)} A feature of the data is "
            f"{quote(names[0])}; write the genes as the data have them."
        )
    if shared:
        feature, (line, name, _) = next(iter(shared.items()))
        first = owner[feature]
        more = f" ({len(shared):,} features are in several)" if len(shared) > 1 else ""
        raise FileError(
            f"{source}: line {line}: groups must not overlap; the feature {quote(names[feature])} "
            f"is in the set {quote(name)}, and by line {first[0]} in {quote(first[1])}{more}. "
            "Leave out sets, or genes, until each is in one."
        )
    labels = [names[j] if j not in owner else owner[j][1] for j in range(len(names))]
    own = [name for j, name in enumerate(names) if j not in owner]
    found = {one[1] for one in owner.values()}
    clash = next((name for name in own if name in found), None)
    if clash is not None:
        raise FileError(
            f"{source}: {quote(clash)} is a set, and a feature of the data in no set, which is a "
            "group of its own. Rename the set."
        )
    kept, code = np.unique(labels, return_inverse=True)
    genes = {gene for *_, members in sets for gene in members}
    notes = [f"{len(found):,} of {len(sets):,} sets of {source} have features of the data"]
    notes += [f"{len(unmatched):,} of their {len(genes):,} genes are not in the data: "
              f"{_listed(unmatched)}"] if unmatched else []  # fmt: skip
    notes += [f"{len(own):,} of {len(names):,} features are in no set, and each is a group of its "
              f"own: {_listed(own)}"] if own else []  # fmt: skip
    return Groups(kept, code.astype(np.int64)), notes


def _with_shared(
    names: Sequence[str], place: Mapping[str, Sequence[int]]
) -> dict[str, Sequence[int]]:
    """Return the features that a name stands for; one that columns share stands for all of them."""
    places = dict(place)
    shared: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        own = shared_name(name)[0]
        if own != name:
            shared.setdefault(own, []).append(j)
    return shared | places


def _sets(source: Source) -> Iterator[_Set]:
    """Yield the sets, which must have different names and genes."""
    line_of: dict[str, int] = {}
    with source.open() as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            for line, content in enumerate(text, 1):
                if not content.strip():
                    continue
                name, *more = (field.strip() for field in content.split("\t"))
                genes = [gene for gene in more[1:] if gene]
                if not name or not genes:
                    raise FileError(
                        f"{source}: line {line}: a set is its name, a description and its genes, "
                        f"parted by tabs; got {quote(content.strip())}. Mend the line, or leave "
                        "it out."
                    )
                if name in line_of:
                    raise FileError(
                        f"{source}: line {line}: the set {quote(name)} is in line {line_of[name]} "
                        "already. Rename it, or leave it out."
                    )
                line_of[name] = line
                yield line, name, genes
        finally:
            text.detach()  # whoever opened the stream closes it


def _listed(names: Sequence[str] | Mapping[str, None]) -> str:
    known = [*names]
    more = f" and {len(known) - _SHOWN:,} more" if len(known) > _SHOWN else ""
    return ", ".join(known[:_SHOWN]) + more

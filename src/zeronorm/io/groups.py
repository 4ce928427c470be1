"""Groups or costs of the features of a table, from text: a feature and its own in every line.

A line before them may name the two columns. Every feature of the table has to be there once.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..core.files import FileError, PathLike, did_you_mean, quote
from ..core.groups import Groups
from ..core.types import FloatArray, IndexArray
from .source import Source, check_path, format_of, not_utf8
from .table import MISSING, Dataset, shared_name

# A name may hold a comma or a blank, and hardly a tab.
_DELIMITERS = "\t,;| "
_Row = tuple[int, str, str]  # the number of the line, the feature, its group or cost


def read_groups(path: PathLike, table: Dataset, notes: list[str] | None = None) -> Groups:
    """Read the group of every feature of a table.

    Parameters
    ----------
    path : path-like
        Text, plain or compressed, with two columns and any lines in between that are blank: the
        name of a feature (its number as the data file counts where features have no names) and
        the label of its group; the name of a column of text or dates stands for all features
        that it became. Columns are parted by tab , ; | or blanks, whichever makes two of
        the first line. The first line is a header if it names no feature and its second column is
        the group of no feature. Or gene sets, a .gmt file with the name of a set, a description
        and its genes in every line, parted by tabs: a feature in no set is a group of its own.
    table : Dataset
        The data.
    notes : list of str or None
        What a user should know about gene sets is added to it: what is not in the data, and which
        features are in no set.

    Raises
    ------
    FileError
        Where a feature of the table is missing or occurs twice, or where a line is of no feature
        of the table; the message has the line and the feature. Of gene sets where one feature is in
        several sets, or none in any.
    """
    source = Source(check_path(path))
    if source.suffix == ".gmt":
        try:
            groups, said = groups_of_sets(source, *_places(table))
        except UnicodeDecodeError:
            raise not_utf8(source) from None
        if notes is not None:
            notes += said
        return groups
    twice = "groups must not overlap; the feature {} is in the group {}, and by line {} in {}"
    labels, code = _of_features(source, table, "group", twice, " Give it a group of its own.")
    return Groups(np.array(labels), code)


def read_costs(path: PathLike, table: Dataset) -> FloatArray:
    """Read what every feature of a table costs, (n_features,), from text as of `read_groups`.

    Raises
    ------
    FileError
        As `read_groups`, and where a cost is no finite number, or negative.
    """
    source = Source(check_path(path))
    twice = "the feature {} costs {}, and by line {} {}"
    labels, code = _of_features(source, table, "cost", twice, " Give it one, 0 where it is free.")
    costs = np.empty(len(labels))
    for place, label in enumerate(labels):
        try:
            costs[place] = float(label)
        except ValueError:
            costs[place] = np.nan
        if not 0 <= costs[place] < np.inf:
            raise FileError(
                f"{source}: costs must be finite numbers, not negative; got {quote(label)} for the "
                f"feature {quote(_places(table)[0][int(np.argmax(code == place))])}."
            )
    return costs[code]


def _places(table: Dataset) -> tuple[list[str], dict[str, list[int]]]:
    """Return the names of the features, and the places of each, of a column of text of several."""
    n_features = table.X.shape[1]
    names = table.feature_names
    if names is None:
        names = [str(j + table.first_index) for j in range(n_features)]
    place = {name: [j] for j, name in enumerate(names)}
    for name, coding in table.codings.items():  # a column stands for all features that it became
        if coding.column not in names:
            place.setdefault(coding.column, []).extend(place[name])
    return names, place


def _of_features(
    source: Source, table: Dataset, what: str, twice: str, remedy: str
) -> tuple[list[str], IndexArray]:
    """Return the different values of a file, sorted, and the place of that of every feature.

    what : a value is. twice, remedy : of messages about features with two values, and with none.
    """
    names, place = _places(table)
    try:
        rows = list(_rows(source, what, remedy))
    except UnicodeDecodeError:
        raise not_utf8(source) from None
    except csv.Error as error:
        raise FileError(f"{source}: not a table in CSV form ({error}). Shorten it.") from None
    if rows and rows[0][1] not in place and rows[0][2] not in {group for *_, group in rows[1:]}:
        del rows[0]
    labels = sorted({group for *_, group in rows})
    number = {label: g for g, label in enumerate(labels)}
    code = np.full(len(names), -1, np.int64)
    line_of: dict[int, int] = {}
    for line, name, group in rows:
        if name not in place:
            hint = f" They have the numbers {names[0]} to {names[-1]}."
            if table.feature_names is not None:
                hint = did_you_mean(name, names, given={own for _, own, _ in rows})
            raise FileError(f"{source}: line {line}: the data have no feature {quote(name)}.{hint}")
        for feature in place[name]:
            if code[feature] >= 0:
                first = labels[code[feature]]
                both = twice.format(quote(name), quote(group), line_of[feature], quote(first))
                raise FileError(f"{source}: line {line}: {both}. Leave one of the lines out.")
            code[feature] = number[group]
            line_of[feature] = line
    missing = np.flatnonzero(code < 0)
    if missing.size:
        more = f" (and {missing.size - 1:,} more)" if missing.size > 1 else ""
        raise FileError(
            f"{source}: every feature of the data must have a {what}; {quote(names[missing[0]])}"
            f"{more} has none.{remedy}"
        )
    return labels, code


def _rows(source: Source, what: str, remedy: str) -> Iterator[_Row]:
    """Return the lines that are not blank."""
    with source.open() as stream:
        if format_of(source, stream) not in ("delimited", "svmlight"):
            raise FileError(
                f"{source}: {what}s must be text, with a feature and its {what} in every line."
            )
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            delimiter = None
            for line, content in enumerate(text, 1):
                content = content.strip()
                if not content:
                    continue
                if delimiter is None:
                    delimiter = next((d for d in _DELIMITERS if len(_split(content, d)) == 2), ",")
                fields = _split(content, delimiter)
                if len(fields) != 2:
                    raise FileError(
                        f"{source}: line {line}: two columns are needed, a feature and its "
                        f"{what}; got {len(fields)}."
                    )
                name, group = fields
                if group.lower() in MISSING:
                    raise FileError(
                        f"{source}: line {line}: the feature {quote(name)} has no {what} "
                        f"({quote(group)}).{remedy}"
                    )
                yield line, name, group
        finally:
            text.detach()  # whoever opened the stream closes it


def _split(line: str, delimiter: str) -> list[str]:
    if '"' not in line:  # many times faster than a reader for every line
        parts = line.split(None if delimiter == " " else delimiter)
        return [part.strip() for part in parts]
    (fields,) = csv.reader([line], delimiter=delimiter, skipinitialspace=delimiter == " ")
    return [field.strip() for field in fields]


# Gene sets as groups of features, from a GMT file: name, description and genes in every line.
#
# Such files speak of more genes than a table has, and not of all that it has: a feature in no set
# is a group of its own. Sets that share a feature of the table are refused, as groups are a
# partition.

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

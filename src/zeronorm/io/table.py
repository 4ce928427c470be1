"""What the readers return, and what each column of a file with columns is.

`Table` is the result of every reader, `Layout` what a trained model demands of one. CSV and Parquet
find their target and features with `assign`, so that a column is named in the same way in both.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.files import FileError, GapError, TargetError, WhereError, did_you_mean, quote
from ..core.remedies import remedy
from ..core.types import Design
from .source import Source, is_label_file
from .texts import strict_float as strict_float
from .unique import places_of_features, unique_names
from .where import MISSING as MISSING
from .where import Where, where_not

if TYPE_CHECKING:
    from .coded import Cells
    from .codings import Coding

# What columns can be that are neither features nor the target.
ROLES = ("time", "event", "start", "strata", "offset", "exposure", "cv_groups", "blocks")


@dataclass(frozen=True, slots=True)
class Table:
    """Samples read from a file."""

    # (n_samples, n_features); a design where the file is read by blocks
    X: NDArray[Any] | sp.csr_array[Any] | Design
    y: NDArray[Any] | None  # (n_samples,); of several responses (n_samples, n_responses) numbers
    feature_names: list[str] | None = None  # n_features, unique
    target_name: str | tuple[str, ...] | None = None  # of several responses the name of each
    sample_names: list[str] | None = None  # n_samples
    descriptions: list[str] | None = None  # n_features, in words
    first_index: int = 0  # what the file calls its first feature when features have no names
    notes: tuple[str, ...] = ()  # what a user should know about the reading
    # What was asked for beside the target, as "time" or "offset": (n_samples,) each, and its name.
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    column_names: Mapping[str, str] = field(default_factory=dict)
    # What came from files of labels, in the order of their lines: "target", "time" and so on.
    by_position: tuple[str, ...] = ()
    # Of files that have them: the names of all columns of the samples, and of other matrices.
    known: Sequence[str] = ()
    layers: Sequence[str] = ()
    form: str = ""  # of the file, as "delimited" or "json_lines"
    variants: NDArray[np.void] | None = None  # of genotypes: where the first columns lie
    # How columns became features, by feature, of CSV and Parquet with other columns than numbers.
    codings: Mapping[str, Coding] = field(default_factory=dict)
    filled: Mapping[str, int] = field(default_factory=dict)  # empty cells by column
    # By column: in how many rows a model does not know the value, and one of them.
    unseen: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    cells: Cells | None = None  # of a part: what is still to be coded
    n_before: int | None = None  # rows of the file before --where


@dataclass(frozen=True, slots=True)
class Layout:
    """The table that a model was trained on: how another file of the same kind is to be read."""

    n_features: int
    names: Sequence[str] | None = None  # of the features the model needs
    first_index: int = 0
    target_name: str | Sequence[str] | None = None
    covariates: Sequence[str] = ()  # the names of those in the model, where it has names
    forced: Sequence[str] = ()  # of those in every model, where the others have no names
    exact: bool = False  # whether features that it lacks are an error; else they are ignored
    # Names of columns that were no features, by what they are: taken where the file has them.
    columns: Mapping[str, str] = field(default_factory=dict)
    codings: Mapping[str, Coding] = field(default_factory=dict)  # of its features, by their names

    @property
    def sources(self) -> list[str] | None:
        """The columns that the features are made of, by name; None where these have none."""
        if self.names is None:
            return None
        made = (self.codings[name].column if name in self.codings else name for name in self.names)
        return [*dict.fromkeys(made)]


@dataclass(frozen=True, slots=True)
class Request:
    """What the caller says about the file."""

    target: str | None = None
    like: Layout | None = None
    id: str | None = None  # the column of the names of samples
    need_labels: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)  # by what they are, as "time"
    drop: Sequence[str] = ()  # columns that are nothing
    layer: str | None = None  # which of several matrices
    where: Where | None = None  # which rows are kept
    missing: str | None = None  # what becomes of empty cells in features
    covariates: Sequence[str] = ()  # columns in every model: text without its base level
    encoding: str | None = None  # of text that is no UTF-8
    is_part: bool = False  # whether columns are coded beside those of other files
    spill: Path | None = None  # where X of text may lie on the disk instead of in memory

    @property
    def given(self) -> set[str]:
        """The names of columns that are something: what the caller names, and a model needs."""
        target = self.target or ""
        named = {target, *(part.strip() for part in target.split(",")), *self.columns.values()}
        return {*named, *self.drop, self.id or "", *((self.like and self.like.sources) or ())}

    def lacks_labels(self, columns: Columns) -> bool:
        """Whether labels are needed and nothing says where they are."""
        return self.need_labels and self.target is None and not columns.targets


@dataclass(frozen=True, slots=True)
class Columns:
    """What each column of a file is."""

    names: list[str] | None  # of all columns
    n_columns: int
    features: list[int]  # positions
    targets: tuple[int, ...]  # positions; of several responses one for each
    samples: int | None  # position of the names of samples
    others: Mapping[str, int] = field(default_factory=dict)  # by what they are
    compared: tuple[int, ...] = ()  # positions, for each comparison that rows must pass

    @property
    def kept(self) -> dict[int, str]:
        """What the columns are that are read as they stand: the target and the others."""
        return dict.fromkeys(self.targets, "the target") | {
            position: f"the {what}" for what, position in self.others.items()
        }

    def name(self, position: int) -> str:
        """Return a column in words, for a message."""
        if self.names is None:
            return f"column {position}"
        return f"column {quote(self.names[position])}"

    def gap(self, place: str, position: int, cell: str = "") -> GapError:
        """Return the error of a row that lacks a value of a column that is read as it stands.

        place : the file and the row. cell : what stands there.
        """
        role, ways = self.kept[position], ["drop the row"]
        if self.names is not None:
            ways.append(f"drop all without one by {where_not(self.names[position], '')}")
        what = f"{place}, {self.name(position)}: {role} is missing{cell and f' ({cell})'}"
        return GapError(role.removeprefix("the "), what, remedy(*ways))

    def argument(self, position: int) -> str:
        """Return what a caller writes for a column: its name if that is enough, or its index."""
        name = self.names[position] if self.names is not None else ""
        return name if self.names is not None and self.names.count(name) == 1 else str(position)

    def feature_names(self, like: Layout | None) -> tuple[list[str] | None, tuple[str, ...]]:
        """Return unique names of the features and a note if some had to be changed."""
        if self.names is None:
            # Numbers of columns tell the features of this file apart, but another file may have
            # its target elsewhere: there only the order counts.
            return None if like is not None else [f"column {j}" for j in self.features], ()
        if like is not None and like.names is not None:
            return list(like.names), ()
        return unique_names(self.names, self.features)

    def plain_name(self, position: int) -> str:
        """Return what a model calls a column that is no feature."""
        return f"column {position}" if self.names is None else self.names[position]


def assign(
    source: Source | str,
    names: list[str] | None,
    n_columns: int,
    samples: int | None,
    request: Request,
) -> Columns:
    """Find the target, the names of samples and the features among the columns."""
    like = request.like
    targets = _find_targets(source, names, n_columns, request)
    roles: dict[str, int | None] = {}
    for what, name in request.columns.items():
        roles[what] = _find_column(source, name, names, n_columns, request, what)
    if like is not None and names is not None:
        for what in ROLES:
            known = like.columns.get(what)
            if known is not None and what not in roles and names.count(known) == 1:
                roles[what] = names.index(known)
    if request.id is not None:
        roles["id"] = samples = _find_column(source, request.id, names, n_columns, request, "id")
    elif like is not None and names is not None:
        own = like.columns.get("id")
        if own is not None and names.count(own) == 1:
            roles["id"] = samples = names.index(own)
    there = {what: place for what, place in roles.items() if place is not None}
    _check_distinct(source, targets, there)
    dropped = [
        _find_column(source, name, names, n_columns, request, "dropped") for name in request.drop
    ]
    for name, place in zip(request.drop, dropped, strict=True):
        if place in (*targets, *there.values()):
            raise FileError(
                f"{source}: column {quote(name)} is asked for, so it cannot be dropped."
            )
    compared: tuple[int, ...] = ()
    if request.where is not None:
        wanted = [one.name for one in request.where.comparisons]
        found = [
            _find_column(source, name, names, n_columns, request, "compared") for name in wanted
        ]
        compared = tuple(place for place in found if place is not None)
        dropped += [_find_column(source, name, names, n_columns, request, "compared")
                    for name in request.where.of_text]  # fmt: skip
    taken = {*targets, *there.values(), *dropped, samples}
    if like is not None and names is not None:
        numbering = shlex.split(like.columns.get("row_numbers", ""))
        taken |= {names.index(name) for name in numbering if names.count(name) == 1}
    sources = None if like is None else like.sources
    if sources is not None and names is not None:
        features = places_of_features(source, sources, unique_names(names)[0])
    else:
        features = [j for j in range(n_columns) if j not in taken]
        if like is not None and not like.exact:
            check_count(source, len(features), like, bool(targets or there))
    if not features:
        raise FileError(f"{source}: no features in it (one column, which is the target).")
    others = {what: place for what, place in there.items() if what != "id"}
    return Columns(names, n_columns, features, targets, samples, others, compared)


def check_count(source: Source | str, n_features: int, like: Layout, named: bool) -> None:
    """Refuse another number of features than that of a model.

    named : whether any column is named as something else.
    """
    if n_features == like.n_features:
        return
    hint = ""
    if n_features == like.n_features + 1 and not named:
        hint = remedy("name the column of labels, if one of them is, with --target NAME")
    elif n_features > like.n_features:
        hint = remedy(
            "leave out those that were dropped there with --drop NAME",
            "choose rows as there with --where",
        )
    raise FileError(
        f"{source}: {n_features} features; the model was trained on {like.n_features}.{hint}"
    )


def _find_targets(
    source: Source | str, names: list[str] | None, n_columns: int, request: Request
) -> tuple[int, ...]:
    """Return the positions of the target's columns; none if it is a file of its own, or nowhere."""
    target, like = request.target, request.like
    if target is None:
        known = None if like is None else like.target_name
        wanted = [known] if isinstance(known, str) else list(known or ())
        if names is not None and all(names.count(name) == 1 for name in wanted):
            return tuple(names.index(name) for name in wanted)
        if names is not None and request.need_labels:
            for name in wanted:  # the first without is refused
                _find_column(source, name, names, n_columns, request)
        return ()
    parts = [part.strip() for part in target.split(",")]
    if len(parts) == 1 or target in (names or ()) or is_label_file(target):
        position = _find_column(source, target, names, n_columns, request)
        return () if position is None else (position,)
    places = [_find_column(source, part, names, n_columns, request) for part in parts]
    found = tuple(place for place in places if place is not None)
    if len(set(found)) < len(parts):
        raise FileError(
            f"{source}: the target {quote(target)} must name different columns, with commas "
            "between them, or one file."
        )
    return found


def _check_distinct(source: Source | str, targets: Iterable[int], roles: Mapping[str, int]) -> None:
    """Refuse a column that is two things."""
    owner = dict.fromkeys(targets, "target")
    for what, position in roles.items():
        if position in owner:
            raise FileError(
                f"{source}: the {owner[position]} and the {what} must be two columns, not one."
            )
        owner[position] = what


def _find_column(
    source: Source | str,
    target: str,
    names: list[str] | None,
    n_columns: int,
    request: Request,
    what: str = "target",
) -> int | None:
    """Return the position of a column; None if it is a file of its own."""
    if names is not None:
        count = names.count(target)
        if count == 1:
            return names.index(target)
        if count > 1:
            positions = ", ".join(str(j) for j, name in enumerate(names) if name == target)
            raise FileError(
                f"{source}: {count} columns have the name {quote(target)} (positions "
                f"{positions}); give the {what} by position."
            )
    if re.fullmatch(r"-?[0-9]{1,18}", target):
        position = int(target)
        if not -n_columns <= position < n_columns:
            raise FileError(
                f"{source}: the {what} column must be between {-n_columns} and {n_columns - 1}; "
                f"got {position}."
            )
        return position % n_columns
    if what not in ("id", "dropped", "compared") and is_label_file(target):
        return None
    if names is None:
        raise FileError(
            f"{source}: no header line, so the {what} column is a number between 0 and "
            f"{n_columns - 1} (-1 is the last); got {quote(target)}."
        )
    kind = {"target": TargetError, "compared": WhereError}.get(what, FileError)
    # Of any column rows can be chosen by, whatever else it is.
    given = () if what == "compared" else request.given
    hint = did_you_mean(target, names, given=given)
    error = kind(f"{source}: no column {quote(target)}.{hint}")
    if what not in ("id", "dropped"):  # which are of this file alone
        error.lacks, error.there = target, [name for name in names if name not in given]
    raise error


def labels_needed(source: Source | str, columns: Columns, text: Sequence[int]) -> FileError:
    """Return the error of a file that does not say which column is the target."""
    *_, last = columns.features
    hint = f" The last column is {quote(columns.argument(last))}"
    if text:
        names = ", ".join(quote(columns.argument(j)) for j in text[:5])
        more = f" and {len(text) - 5} more" if len(text) > 5 else ""
        hint += f"; not numbers: {names}{more}"
    return FileError(f"{source}: nothing says what to predict; name it with --target.{hint}.")


def first_nonfinite(values: NDArray[Any]) -> int | None:
    """Return the position of the first NaN or infinity in C order; None if there is none."""
    finite = np.isfinite(values)
    return None if finite.all() else int(finite.argmin())

"""Groups of features: a partition, from labels or from lists, checked once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from .errors import Message, Parameter, ParameterError
from .types import IndexArray

# Integer labels in a range of at most so many times their number are sorted by counting.
COUNTED = 4


@dataclass(frozen=True, eq=False)
class Groups:
    """A partition of features into groups, which need not be contiguous or of equal size.

    Parameters
    ----------
    labels : (n_groups,) the names of the groups, sorted: integers or str.
    code : (n_features,) int64, the place in `labels` of the group of every feature.
    """

    labels: np.ndarray
    code: IndexArray

    @classmethod
    def of(cls, groups: Any, n_features: int, names: Sequence[str] | None = None) -> Groups:
        """Return the groups that a user describes.

        Parameters
        ----------
        groups : one of
            - (n_features,) integers or str: the label of the group of every feature;
            - a dict of lists: the features of every group by its label, as indices or names;
            - `Groups`, returned as they are.
        names : of the features, where they have any.

        Raises
        ------
        ValueError
            Where a feature is in no group or in several, is unknown, or where the number of labels
            is not that of the features; the message names the feature and the groups.

        Cost O(n_features) for integers of a small range, else that of a sort.
        """
        if isinstance(groups, Groups):
            if groups.code.size != n_features:
                raise ParameterError(
                    "feature_groups",
                    Message(f"must be of the {n_features} features of ", Parameter("X")),
                    f"groups of {groups.code.size} features",
                )
            return groups
        if isinstance(groups, Mapping):
            return _of_lists(groups, n_features, names)
        what = "column of X"
        return _of_labels(
            groups, n_features, "feature_groups", what, partial(_refuse_missing, names)
        )

    @classmethod
    def of_rows(cls, labels: Any, n_rows: int, name: str) -> Groups:
        """Return a partition of rows from the label of every row; `name` is what messages say."""

        def refuse(row: int) -> None:
            raise ParameterError(
                name,
                Message(
                    "must have a label for every row of ", Parameter("X"), f"; row {row} has none"
                ),
                "",
                "Leave such rows out, or give them a label.",
            )

        return _of_labels(labels, n_rows, name, "row of X", refuse)

    def __len__(self) -> int:
        """Return the number of groups."""
        return int(self.labels.size)

    @cached_property
    def sizes(self) -> IndexArray:
        """The number of features of every group, (n_groups,)."""
        return np.bincount(self.code, minlength=len(self)).astype(np.int64, copy=False)

    @cached_property
    def by_group(self) -> tuple[IndexArray, IndexArray]:
        """All features by group, ascending in each, and where every group begins."""
        order = np.argsort(self.code, kind="stable").astype(np.int64, copy=False)
        return order, np.concatenate([[0], np.cumsum(self.sizes)])

    def places(self, name: str, labels: Any) -> IndexArray:
        """Return the places of some labels, ascending; `name` is what messages call them."""
        if labels is None:
            return np.empty(0, np.int64)
        if isinstance(labels, str | bytes) or not isinstance(labels, Sequence | np.ndarray):
            raise ParameterError(name, "must be a list of labels of groups", f"{labels!r}")
        known = {label: place for place, label in enumerate(self.labels.tolist())}
        for label in labels:
            plain = label.item() if isinstance(label, np.generic) else label
            if isinstance(plain, bool) or plain not in known:
                raise ValueError(
                    Message(
                        f"{name} has the label {plain!r}, which is not in ",
                        Parameter("feature_groups"),
                        ".",
                    )
                )
        return np.unique(np.array([known[label] for label in labels], np.int64))

    def members(self, group: int) -> IndexArray:
        """Return the features of the group at a place in `labels`, ascending."""
        order, start = self.by_group
        return order[start[group] : start[group + 1]]

    def of_features(self, features: IndexArray) -> IndexArray:
        """Return the groups that some features are of, ascending."""
        return np.unique(self.code[features])

    def take(self, features: IndexArray) -> Groups:
        """Return the groups of some features, in their order; groups without any of them stay."""
        return Groups(self.labels, self.code[features])


def _of_labels(
    values: Any, n_items: int, name: str, what: str, refuse_missing: Callable[[int], None]
) -> Groups:
    """Return the partition of items, each a `what`, by their labels, (n_items,)."""
    rule = f"must be integers or strings, one for every {what} ({n_items})"
    try:
        labels = np.asarray(values)
    except ValueError:
        raise ParameterError(name, rule, "a ragged sequence") from None
    if labels.shape != (n_items,):
        raise ParameterError(name, rule, f"shape {labels.shape}")
    if labels.dtype.kind == "O":
        labels = _named(labels, refuse_missing)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        refuse_missing(int(np.argmax(np.isnan(labels))))
    if labels.dtype.kind not in "iuU":
        raise ParameterError(name, rule, f"values of type {labels.dtype}")
    if labels.dtype.kind != "U":
        counted = _counted(labels)
        if counted is not None:
            return counted
    unique, code = np.unique(labels, return_inverse=True)
    return Groups(unique, code.astype(np.int64, copy=False))


def _counted(labels: np.ndarray) -> Groups | None:
    """Return the groups of integer labels of a small range, without a sort."""
    if not labels.size:
        return None
    low, high = int(labels.min()), int(labels.max())
    if high - low >= COUNTED * labels.size + 1000:
        return None
    shifted = labels.astype(np.int64, copy=False)
    shifted = shifted if low == 0 else shifted - low
    present = np.bincount(shifted, minlength=high - low + 1) > 0
    unique = (np.flatnonzero(present) + low).astype(labels.dtype)
    if present.all():
        return Groups(unique, shifted)
    return Groups(unique, (np.cumsum(present) - 1)[shifted])


def _named(labels: np.ndarray, refuse_missing: Callable[[int], None]) -> np.ndarray:
    """Return labels in an array of objects as strings, or as integers where all of them are."""
    for place, label in enumerate(labels):
        if label is None or type(label).__name__ in ("NAType", "NaTType") or label != label:
            refuse_missing(place)
    if all(isinstance(label, str) for label in labels):
        return labels.astype(str)
    if all(isinstance(label, int | np.integer) and not isinstance(label, bool) for label in labels):
        return labels.astype(np.int64)
    return labels


def _shown(feature: int, names: Sequence[str] | None) -> str:
    return f"feature {feature}" + (f" ({names[feature]!r})" if names is not None else "")


def _refuse_missing(names: Sequence[str] | None, feature: int) -> None:
    raise ParameterError(
        "feature_groups",
        f"must have a label for every feature; {_shown(feature, names)} has none",
        "",
        "Give it a group of its own.",
    )


def _of_lists(groups: Mapping[Any, Any], n_features: int, names: Sequence[str] | None) -> Groups:
    """Return the groups that a dict of lists of features describes."""
    keys = list(groups)
    texts = all(isinstance(key, str) for key in keys)
    if not keys or not (texts or all(_is_integer(key) for key in keys)):
        raise ParameterError(
            "feature_groups",
            "must be a dict with strings or integers as labels of the groups, at least one",
            f"{keys[:5]!r}",
        )
    labels = np.array(sorted(keys))
    place = {} if names is None else {name: feature for feature, name in enumerate(names)}
    code = np.full(n_features, -1, np.int64)
    for number, label in enumerate(labels.tolist()):
        members = groups[label]
        if isinstance(members, str | bytes) or not isinstance(members, Sequence | np.ndarray):
            raise ParameterError(
                "feature_groups",
                "must have a list of features for every group",
                f"{members!r} for {label!r}",
            )
        for member in members:
            feature = _feature(member, label, n_features, place)
            if code[feature] >= 0:
                raise ParameterError(
                    "feature_groups",
                    f"must not overlap; {_shown(feature, names)} is in the groups "
                    f"{labels[code[feature]].item()!r} and {label!r}",
                    "",
                    "Leave it in one of them.",
                )
            code[feature] = number
    if (code < 0).any():
        missing = np.flatnonzero(code < 0)
        more = f" (and {missing.size - 1} more)" if missing.size > 1 else ""
        raise ParameterError(
            "feature_groups",
            f"must have every feature in a group; {_shown(int(missing[0]), names)}{more} is in "
            "none",
            "",
            "Give it a group of its own.",
        )
    return Groups(labels, code)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _feature(member: Any, label: Any, n_features: int, place: Mapping[str, int]) -> int:
    """Return the index of a member of a group."""
    if isinstance(member, str):
        if member not in place:
            raise ParameterError(
                "feature_groups", f"has the unknown feature {member!r} in group {label!r}"
            )
        return place[member]
    if not _is_integer(member):
        raise ParameterError(
            "feature_groups",
            "must list features by index or name",
            f"{member!r} in group {label!r}",
        )
    if not 0 <= int(member) < n_features:
        raise ParameterError(
            "feature_groups",
            Message(
                f"must list features from 0 to {n_features - 1} (the columns of ",
                Parameter("X"),
                ")",
            ),
            f"{int(member)} in group {label!r}",
        )
    return int(member)

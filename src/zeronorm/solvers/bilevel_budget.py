"""The budget of few features in few groups. It sees vectors of scores and nothing else."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ..core.errors import ParameterError
from ..core.groups import Groups
from ..core.types import FloatArray, IndexArray

SHOWN = 10  # A message has room for so many names.


@dataclass(frozen=True, slots=True)
class BilevelBudget:
    """At most k features in at most n_groups groups.

    Parameters
    ----------
    k : how many features, at least 1; more than there are count as all.
    n_groups : how many groups, at least 1; more than there are count as all.
    groups : the partition of the features.
    forced_features : indices of features that are always in. They count in k and their groups in
        n_groups.
    forced_groups : groups, by their places in `groups.labels`, that always count in n_groups;
        which of their features are in is free.

    Raises
    ------
    TypeError, ValueError
        Where k or n_groups is not an integer, or below 1; where what is forced is not in `groups`
        or exceeds the budget.
    """

    k: int
    n_groups: int
    groups: Groups
    forced_features: Sequence[int] | IndexArray = ()
    forced_groups: Sequence[int] | IndexArray = ()
    _forced: IndexArray = field(init=False, repr=False, compare=False)
    _opened: NDArray[np.uint8] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the numbers, and store them as plain integers."""
        object.__setattr__(self, "k", positive_integer(self.k, "k"))
        object.__setattr__(self, "n_groups", positive_integer(self.n_groups, "n_groups"))
        _check_groups(self.groups)
        code, labels = self.groups.code, self.groups.labels
        features = _places(self.forced_features, code.size, "forced_features", "the features")
        wanted = _places(self.forced_groups, len(self.groups), "forced_groups", "the groups")
        opened = tuple(sorted({*wanted, *code[list(features)].tolist()}))
        if len(features) > self.k:
            raise ValueError(
                f"k counts the forced features: it must be at least {len(features)} (the features "
                f"{_listed(features)}); got {self.k}."
            )
        if len(opened) > self.n_groups:
            raise ParameterError(
                "n_groups",
                "counts the forced groups and those of forced features: it must be at least "
                f"{len(opened)} (the groups {_listed(labels[list(opened)].tolist())})",
                f"{self.n_groups}",
            )
        flags = np.zeros(len(self.groups), np.uint8)
        flags[list(opened)] = 1
        object.__setattr__(self, "forced_features", features)
        object.__setattr__(self, "forced_groups", wanted)
        object.__setattr__(self, "_forced", np.array(features, np.int64))
        object.__setattr__(self, "_opened", flags)

    def support(self, w: FloatArray) -> IndexArray:
        """Return the features, ascending, that the nearest admissible point to w, (p,), keeps.

        The forced features are among them, whatever their value, and beside them only features
        that are not 0 in w, so that there can be fewer than k. Of equal |w_j| in a group those of
        the smaller index stay. Cost as of `project_bilevel`.
        """
        _check_length(w, self.groups)
        forced = self._forced
        if forced.size:
            w = w.copy()
            w[forced] = 0.0  # so that they are not taken a second time
        further = self.n_groups - int(self._opened.sum())
        found = best_bilevel(w, self.k - forced.size, further, self.groups, self._opened)
        return np.sort(np.concatenate([forced, found])) if forced.size else found


def best_bilevel(
    values: FloatArray,
    k: int,
    n_groups: int,
    groups: Groups,
    opened: NDArray[np.uint8],
    *,
    name: str = "scores",
    program: bool = False,
) -> IndexArray:
    """Return the best k features in at most n_groups groups beside the opened ones, sorted."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    code = np.ascontiguousarray(groups.code, dtype=np.int64)
    out = np.empty(min(k, values.size), np.int64)
    kernel = _kernels.bilevel_program if program else _kernels.bilevel_select
    # More than there are count as all: the kernel takes 64-bit integers.
    count, _ = kernel(values, code, len(groups), out.size, min(n_groups, len(groups)), opened, out)
    if count < 0:
        _refuse(values, name)
    return out[:count]


def positive_integer(value: Any, name: str) -> int:
    """Return an integer of at least 1 as a plain one."""
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be an integer, at least 1; got {value!r}.")
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, at least 1; got {value!r}.") from None
    if count < 1:
        raise ParameterError(name, "must be at least 1", f"{count}")
    return count


def _refuse(values: FloatArray, name: str) -> NoReturn:
    place = int(np.argmin(np.isfinite(values)))
    raise ParameterError(name, "must be finite numbers", f"{values[place]} at place {place}")


def _check_groups(groups: Any) -> None:
    if not isinstance(groups, Groups):
        raise TypeError(
            f"groups must be Groups; got {type(groups).__name__}. Make them by Groups.of(labels, "
            "n_features)."
        )


def _check_length(values: FloatArray, groups: Groups) -> None:
    if values.shape != groups.code.shape:
        raise ParameterError(
            "scores",
            f"must be one for each of the {groups.code.size} features of groups",
            f"shape {values.shape}",
        )


def _places(values: Any, size: int, name: str, what: str) -> tuple[int, ...]:
    """Return distinct places among `size`, ascending."""
    places = set()
    for value in np.asarray(values, dtype=object).ravel().tolist():
        if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
            raise TypeError(f"{name} must be indices of {what}; got {value!r}.")
        if not 0 <= operator.index(value) < size:
            raise ParameterError(
                name, f"must be indices from 0 to {size - 1} ({what})", f"{value!r}"
            )
        places.add(operator.index(value))
    return tuple(sorted(places))


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    return shown + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")

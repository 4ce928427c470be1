"""Complementary pairs of half-samples: two sets of rows of one law, without a row in common."""

from __future__ import annotations

import math

import numpy as np

from ..core import validation as validate
from ..core.errors import ParameterError
from ..core.types import FloatArray, IndexArray
from ..estimators.folds import kinds_of_groups
from ..solvers.folds import members

Pair = tuple[IndexArray, IndexArray]


class LoneRowError(ParameterError):
    """A class has one row, so that no pair of half-samples has it on both sides.

    label : the class, as a file would have it.
    """

    def __init__(self, label: object, of: str = "rows") -> None:
        super().__init__(
            "y",
            f"must have at least two {of} (of positive weight) of every class for pairs of "
            "half-samples",
            f"one of class {label!r}",
            f"Leave that {'row' if of == 'rows' else 'class'} out.",
        )
        self.args, self.label = (label, of), str(label)


def half_samples(
    strata: np.ndarray | None,
    weight: FloatArray,
    n_pairs: int,
    random_state: int | None,
    groups: IndexArray | None = None,
) -> list[Pair]:
    """Return pairs of half-samples of the rows of positive weight, row numbers ascending.

    Of every stratum of m rows each half has floor(m / 2); the odd row is left out, another one each
    time. Given how many rows the strata have, the halves of a pair are as independent as the rows
    are, and alike in law: with odd rows shared out they would not be.

    With groups these are drawn, not rows: the groups of a stratum are those with rows of its class
    alone, and all groups with rows of several classes are a stratum.

    strata : (n,) the class of every row; None: one for all.
    groups : (n,) rows with the same number come to the same half; None: each is by itself.
    """
    used = np.flatnonzero(weight > 0)
    if groups is not None:
        return _halves_of_groups(strata, groups, used, n_pairs, random_state)
    labels = np.zeros(used.size) if strata is None else strata[used]
    classes, code, counts = np.unique(labels, return_inverse=True, return_counts=True)
    smallest = int(counts.argmin())
    if strata is not None and counts[smallest] < 2:
        raise LoneRowError(validate.plain(classes[smallest]))
    members = [used[code == one] for one in range(classes.size)]
    check_rows(counts, n_pairs)
    rng = np.random.default_rng(random_state)
    pairs = []
    for _ in range(n_pairs):
        orders = [rng.permutation(rows) for rows in members]
        halves = [(rows[: rows.size // 2], rows[rows.size // 2 :]) for rows in orders]
        first = np.concatenate([one for one, _ in halves])
        second = np.concatenate([other[: one.size] for one, other in halves])
        pairs.append((np.sort(first), np.sort(second)))
    return pairs


def _halves_of_groups(
    strata: np.ndarray | None,
    groups: IndexArray,
    used: IndexArray,
    n_pairs: int,
    random_state: int | None,
) -> list[Pair]:
    """Return pairs of half-samples of whole groups of the rows that are used."""
    labels = np.zeros(used.size) if strata is None else strata[used]
    classes, kinds, number = kinds_of_groups(labels, groups[used])
    several = classes.size  # the kind of groups with rows of several classes
    if kinds.size < 2:
        raise ParameterError(
            "groups", "must be at least two for pairs of half-samples", str(kinds.size)
        )
    if strata is not None:
        within, counts = members(labels, number)
        if counts.min() < 2:
            raise LoneRowError(validate.plain(within[counts.argmin()]), of="groups of samples")
    # A group that is alone of its kind has no other one to be drawn with.
    kinds[np.bincount(kinds, minlength=several + 1)[kinds] < 2] = several
    if np.count_nonzero(kinds == several) == 1:
        kinds[:] = several
    pairs = half_samples(kinds, np.ones(kinds.size), n_pairs, random_state)
    return [(used[np.isin(number, one)], used[np.isin(number, other)]) for one, other in pairs]


def check_rows(counts: IndexArray, n_pairs: int) -> None:
    """Raise ValueError where the rows allow fewer different pairs than are asked for.

    counts : the rows of every stratum.
    """
    # The two halves of a pair have no order.
    different = math.prod(math.comb(m, m // 2) * math.comb(m - m // 2, m // 2) for m in counts) // 2
    if different < n_pairs:
        raise ParameterError(
            "n_pairs",
            f"must be at most {different}, the different pairs of half-samples of "
            f"{int(counts.sum())} rows",
            str(n_pairs),
            "Stability needs more rows.",
        )

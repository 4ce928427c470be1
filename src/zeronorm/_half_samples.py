"""Complementary pairs of half-samples: two sets of rows of one law, without a row in common."""

from __future__ import annotations

import math

import numpy as np

from . import validate
from ._typing import FloatArray, IndexArray

Pair = tuple[IndexArray, IndexArray]


class LoneRowError(ValueError):
    """A class has one row, so that no pair of half-samples has it on both sides.

    label : the class, as a file would have it.
    """

    def __init__(self, label: object) -> None:
        super().__init__(
            "y must have at least two rows (of positive weight) of every class for pairs of "
            f"half-samples; got one of class {label!r}. Leave that row out."
        )
        self.label = str(label)


def half_samples(
    strata: np.ndarray | None, weight: FloatArray, n_pairs: int, random_state: int | None
) -> list[Pair]:
    """Return pairs of half-samples of the rows of positive weight, row numbers ascending.

    Of every stratum of m rows each half has floor(m / 2); the odd row is left out, another one each
    time. Given how many rows the strata have, the halves of a pair are as independent as the rows
    are, and alike in law: with odd rows shared out they would not be.

    strata : (n,) the class of every row; None: one for all.
    """
    used = np.flatnonzero(weight > 0)
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


def check_rows(counts: IndexArray, n_pairs: int) -> None:
    """Raise ValueError where so many rows have fewer different pairs than are asked for.

    counts : the rows of every stratum.
    """
    # The two halves of a pair have no order.
    different = math.prod(math.comb(m, m // 2) * math.comb(m - m // 2, m // 2) for m in counts) // 2
    if different < n_pairs:
        raise ValueError(
            f"n_pairs must be at most {different}, the different pairs of half-samples of "
            f"{int(counts.sum())} rows; got {n_pairs}. Stability needs more rows."
        )

"""Samples that belong together: whole groups of rows as folds, as halves, in other orders."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._typing import FloatArray, IndexArray

SHARE = 1e12  # the unit of shares that are compared: a class as a whole
EQUAL = 1e-9  # folds that differ by less are equal: integer weights count as repeated rows


def members(labels: np.ndarray, groups: IndexArray | None) -> tuple[np.ndarray, IndexArray]:
    """Return the classes, and how many rows each has, or in how many groups it occurs."""
    classes, code = np.unique(labels, return_inverse=True)
    if groups is not None:
        code = np.unique(np.column_stack([code, groups]), axis=0)[:, 0]
    return classes, np.bincount(code, minlength=classes.size).astype(np.int64)


def folds_of_groups(
    groups: IndexArray,
    weight: FloatArray,
    n_folds: int,
    labels: np.ndarray | None = None,
    shuffle: Callable[[int], np.ndarray] = np.arange,
) -> IndexArray:
    """Return the fold, from 0, that holds each row out, (n,); a group is in one fold.

    Groups go to the folds one by one, those with the largest share of a class first, each where it
    leaves the shares of the classes the most equal. The folds do not depend on the order of the
    rows, and an integer weight counts as that many rows.

    Parameters
    ----------
    groups : (n,) the number of the group of every row.
    weight : (n,) not negative.
    n_folds : at most the number of groups.
    labels : (n,) what folds should have in equal shares; None: the weight alone.
    shuffle : the order of groups that are alike, given their number.
    """
    own, group = np.unique(groups, return_inverse=True)
    code = np.zeros(group.size, np.int64)
    if labels is not None:
        code = np.unique(labels, return_inverse=True)[1]
    totals = np.zeros((own.size, int(code.max(initial=0)) + 1))
    np.add.at(totals, (group, code), weight)
    whole = totals.sum(axis=0)
    # Whole numbers, whose sums are exact.
    shares = np.rint(totals / np.where(whole > 0, whole, 1.0) * SHARE)
    size = np.rint(totals.sum(axis=1) / max(float(whole.sum()), 1e-300) * SHARE)
    most = shares.max(axis=1)
    fold = np.empty(own.size, np.int64)
    held, weights = np.zeros((n_folds, shares.shape[1])), np.zeros(n_folds)
    order = np.asarray(shuffle(own.size))
    for one in order[np.lexsort((-size[order], -most[order]))]:
        # What the sum of squares of the shares grows by, but for what is the same for all folds.
        growth = held @ shares[one]
        near = np.flatnonzero(growth <= growth.min() + EQUAL * SHARE * most[one])
        fold[one] = chosen = near[weights[near].argmin()]
        held[chosen] += shares[one]
        weights[chosen] += size[one]
    return fold[group]


def order_of_groups(
    groups: IndexArray, of_row: list[IndexArray], generator: np.random.Generator
) -> tuple[IndexArray, bool]:
    """Return whose labels every row gets where groups are exchanged, (n,), and how.

    Where the rows of each group are alike, a group gets those of any other, and the second is True;
    else those of a group with as many rows, in a random order.

    of_row : numbers of what a row has, each (n,).
    """
    order = np.argsort(groups, kind="stable")
    counts = np.unique(groups, return_counts=True)[1]
    starts = np.cumsum(counts) - counts
    first = np.repeat(order[starts], counts)  # a row of the group of each, in that order
    if all((one[order] == one[first]).all() for one in of_row):
        source = order[starts][generator.permutation(counts.size)]
        found = np.empty_like(order)
        found[order] = np.repeat(source, counts)
        return found, True
    found = np.empty_like(order)
    for size in np.unique(counts):
        blocks = order[starts[counts == size][:, None] + np.arange(size)]
        moved = blocks[generator.permutation(len(blocks))]
        found[blocks] = generator.permuted(moved, axis=1)
    return found, False


def kinds_of_groups(
    strata: np.ndarray, groups: IndexArray
) -> tuple[np.ndarray, IndexArray, IndexArray]:
    """Return the classes, the kind of every group, and the number of the group of every row.

    The kind of a group is the number of the class of all its rows; of groups with rows of several
    classes, the number of classes.
    """
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    classes, code = np.unique(strata, return_inverse=True)
    kinds = code[first]
    kinds[number[code != kinds[number]]] = classes.size
    return classes, kinds.astype(np.int64), number.astype(np.int64)

"""Samples that belong together: whole groups of rows as folds, as halves, in other orders."""

from __future__ import annotations

import numpy as np

from ..core.types import IndexArray


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

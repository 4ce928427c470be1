"""The best k features in at most g groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zeronorm.core.types import FloatArray, IndexArray


def bilevel_select(
    v: FloatArray,
    code: IndexArray,
    n_groups: int,
    k: int,
    g: int,
    opened: NDArray[np.uint8],
    out: IndexArray,
) -> tuple[int, int]:
    """Put the features S with the largest sum of v_j**2 into `out`, sorted, |S| <= k."""
    return bilevel_program(v, code, n_groups, k, g, opened, out)


def bilevel_program(
    v: FloatArray,
    code: IndexArray,
    n_groups: int,
    k: int,
    g: int,
    opened: NDArray[np.uint8],
    out: IndexArray,
) -> tuple[int, int]:
    """Do what bilevel_select does by the dynamic programme of Xiang, Yang and Ye, Algorithm 3."""
    p = v.size
    n_opened = int(np.count_nonzero(opened))
    k, g = min(k, p), min(g, n_groups - n_opened)
    if k == 0 or g + n_opened == 0:
        return 0, 0
    if code.min() < 0 or code.max() >= n_groups:
        raise IndexError("code of a group out of range")
    size = np.abs(v)
    finite = size <= np.finfo(float).max
    if not finite.all():
        return -1 - int(np.argmin(finite)), 0
    # By group, the largest first, ties by the smaller index.
    feature = np.flatnonzero(size > 0)
    feature = feature[np.lexsort((feature, -size[feature], code[feature]))]
    if not feature.size:
        return 0, 0
    size = size[feature]
    # By a power of two: exact, and the largest c is between 1/4 and 4.
    exponent = int(np.frexp(size.max())[1])
    c = (size * np.ldexp(1.0, min(max(-exponent, -1022), 1022))) ** 2
    groups, start = np.unique(code[feature], return_index=True)
    ends = [*start[1:].tolist(), feature.size]
    sums = [np.cumsum(c[low:high]) for low, high in zip(start, ends, strict=True)]

    before = np.zeros((g + 1, k + 1))
    taken = np.zeros((groups.size, g + 1, k + 1), np.int32)
    for i, total in enumerate(sums):
        used = 0 if opened[groups[i]] else 1
        now = before.copy()
        for t in range(1, min(k, total.size) + 1):
            value = before[: g + 1 - used, : k + 1 - t] + total[t - 1]
            better = value > now[used:, t:]
            now[used:, t:][better] = value[better]
            taken[i, used:, t:][better] = t
        before = now
    chosen = np.asarray(opened, bool)[groups]
    j, q = g, k
    for i in range(groups.size - 1, -1, -1):
        if taken[i, j, q]:
            chosen[i] = True
            q -= int(taken[i, j, q])
            j -= 0 if opened[groups[i]] else 1

    others = np.flatnonzero(~chosen)
    left = g - int(np.count_nonzero(chosen & ~np.asarray(opened, bool)[groups]))
    worth = np.array([total[min(k, total.size) - 1] for total in sums])[others]
    head = start[others]
    chosen[others[np.lexsort((feature[head], -size[head], -worth))[:left]]] = True
    among = np.repeat(chosen, np.diff([*start, feature.size]))
    found, size = feature[among], size[among]
    best = np.sort(found[np.lexsort((found, -size))[:k]])
    out[: best.size] = best
    return int(best.size), int(groups.size)

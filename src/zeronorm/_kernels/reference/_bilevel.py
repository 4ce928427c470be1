"""The best k features in at most g groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zeronorm._typing import FloatArray, IndexArray


def bilevel_select(
    v: FloatArray,
    code: IndexArray,
    n_groups: int,
    k: int,
    g: int,
    opened: NDArray[np.uint8],
    squares: bool,
    out: IndexArray,
) -> tuple[int, int]:
    """Put the features S with the largest sum of c_j into `out`, sorted, |S| <= k.

        c_j = v_j**2  (squares),  or  v_j

    S is in at most g groups beside the opened ones. Features with v_j = 0 (c_j = v_j: v_j <= 0) are
    never in S. Of several groups with equal sums any may be taken; in each, of equal |v_j| those of
    the smaller index. The sum is the largest one up to rounding; of groups that it is too large to
    show, as many as may come in do, those with the largest sums first.

    The native kernel decides by a bound, and by the programme only about groups that this leaves
    open; the twin is the programme.

    Parameters
    ----------
    v : (p,) float64.
    code : (p,) int64, the group of every feature, from 0 to n_groups - 1; another one raises
        IndexError where it is read.
    k, g : not negative; more than there are count as all.
    opened : (n_groups,) uint8, not 0 of groups that do not count among the g.
    out : (min(k, p),) int64; the first |S| places are overwritten.

    Returns
    -------
    (number of features, number of groups that the programme had to decide about); the first is
    -1 - j where v_j is the first value that is NaN or infinite (c_j = v_j: NaN or +infinity).
    """
    return bilevel_program(v, code, n_groups, k, g, opened, squares, out)


def bilevel_program(
    v: FloatArray,
    code: IndexArray,
    n_groups: int,
    k: int,
    g: int,
    opened: NDArray[np.uint8],
    squares: bool,
    out: IndexArray,
) -> tuple[int, int]:
    """Do what bilevel_select does by the dynamic programme of Xiang, Yang and Ye, Algorithm 3.

        T(i, j, q) = max(T(i-1, j, q),  max_{1 <= t <= q} T(i-1, j-1, q-t) + C(i, t))

    with C(i, t) the sum of the t largest c of group i; opened groups take no place among the j. Of
    equal values the one with the fewest features of the last group is kept.

    Differences from the paper: the programme gives the groups; the features are the k largest of
    these groups together, the same up to ties and rounding, and groups come in as said at
    bilevel_select.

    Cost O(p log p + k g sum_i min(|G_i|, k)), memory 4 n_groups (g + 1) (k + 1) bytes.
    """
    p = v.size
    n_opened = int(np.count_nonzero(opened))
    k, g = min(k, p), min(g, n_groups - n_opened)
    if k == 0 or g + n_opened == 0:
        return 0, 0
    if code.min() < 0 or code.max() >= n_groups:
        raise IndexError("code of a group out of range")
    size = np.abs(v) if squares else v
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
    c = size * np.ldexp(1.0, min(max(-exponent, -1022), 1022))
    c = c**2 if squares else c
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

"""Which features are the best ones of a scan, however X is stored.

Sums in another order, by row or by column, differ in their last bits, and those of float32, small
integers and booleans in more. That would decide between features that are tied: of columns with
few values many are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.types import EXACT_SCAN, Columns, Design, FloatArray, IndexArray
from ..data.columns import gather
from ..data.wrappers import IN_MEMORY, feature_blocks
from .units import Units

# Shares of the largest strength: what is summed again after a scan in float32, and what is equal.
CLOSE, EQUAL_BITS = 1e-5, 36
# Rows are equal whose projections on a direction differ by less than this share of the largest one.
EQUAL_ROWS = 1e-9


def copies(Z: Columns, kept: np.ndarray) -> np.ndarray:
    """Return which columns equal another one, up to the sign, that is kept or before them, (p,).

    Columns are compared whose projections on a direction agree.

    kept : (p,) mask of columns that are no copies, whatever they equal.
    """
    n, p = Z.shape
    direction: Any = np.random.RandomState(0).uniform(-1.0, 1.0, n)
    size = np.abs(Z.dot(direction))
    order = np.argsort(size, kind="stable")
    near = np.diff(size[order]) <= EQUAL_ROWS * size[order[1:]]
    found = np.zeros(p, bool)
    for block in np.split(order, np.flatnonzero(~near) + 1):
        if block.size == 1:
            continue
        different: list[FloatArray] = []
        for place in block[np.lexsort((block, ~kept[block]))]:
            own = Z.take(np.array([place])).dense()[:, 0]
            limit = EQUAL_ROWS * float(np.abs(own).max())
            found[place] = any(
                min(float(np.abs(other - own).max()), float(np.abs(other + own).max())) <= limit
                for other in different
            )
            if not found[place]:
                different.append(own)
    return np.asarray(found & ~kept)


def ranked(
    design: Design,
    units: Units,
    strength: FloatArray,
    scores: FloatArray,
    vector: FloatArray,
    best: IndexArray,
) -> IndexArray:
    """Return the best units and those that are as good, best first, ties by the smaller index.

    Strengths that are nearly equal are made exactly so; those of a scan in float32 are summed again
    before that, from gathered columns.

    strength : (n_units,) of the scores, -1 where a unit may not enter; changed where tied.
    scores : (n_features,) of the vector (n,); changed in the same units.
    best : the units of the largest strengths, best first.
    """
    if not best.size or strength[best[0]] <= 0.0:
        return best
    top, last = float(strength[best[0]]), float(strength[best[-1]])
    exact = design.scan_error <= EXACT_SCAN
    equal = float(np.ldexp(1.0, np.frexp(top)[1] - EQUAL_BITS))
    close = equal if exact else CLOSE * top
    near = np.flatnonzero(strength >= max(0.0, last - close))
    near = near[np.argsort(-strength[near], kind="stable")]
    close_to_next = -np.diff(strength[near]) <= close
    is_tied = np.zeros(near.size, bool)
    is_tied[:-1] |= close_to_next
    is_tied[1:] |= close_to_next
    tied = np.sort(near[is_tied])
    if not tied.size:
        return near
    if not exact:
        for features in feature_blocks(units.features(tied), design.shape[0], IN_MEMORY):
            scores[features] = gather(design, features).dot(vector)
        strength[tied] = units.strength(scores)[tied]
    strength[tied] = np.round(strength[tied] / equal) * equal
    near.sort()
    return near[np.argsort(-strength[near], kind="stable")]

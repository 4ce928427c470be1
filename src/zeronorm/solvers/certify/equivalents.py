"""Features whose columns equal, up to the sign, those of a support: they can take their place."""

from __future__ import annotations

import numpy as np

from ...core.types import FloatArray, IndexArray
from ...data.columns import gather
from ..task import Task

# Columns are compared, so many at most, where scores agree to this share; the entries of equal ones
# agree to that share of their own, or of the largest.
SAME_SCORE, SAME_COLUMN, SAME_ZERO, MOST_COMPARED = 1e-5, 1e-9, 1e-12, 2000
FIRST_ROWS = 64


def equivalents(task: Task, support: IndexArray, magnitude: FloatArray) -> dict[int, IndexArray]:
    """Return the features with the column of one of the support, up to the sign.

    Every model has the forced features: nothing takes their place.
    """
    support = np.setdiff1d(support, task.forced)
    if not support.size:
        return {}
    magnitude = np.abs(magnitude)
    near = np.zeros(magnitude.size, bool)
    order = np.argsort(magnitude[support])
    known = magnitude[support][order]
    for side in ("left", "right"):
        place = np.searchsorted(known, magnitude, side=side)
        for step in (-1, 0):
            closest = known[np.clip(place + step, 0, known.size - 1)]
            near |= np.abs(magnitude - closest) <= SAME_SCORE * closest
    near &= task.usable
    if task.signs.any():  # scores that are 0 for their sign tell nothing of the columns
        near &= magnitude > 0
    near[support] = False
    others = np.flatnonzero(near)[:MOST_COMPARED]
    if not others.size:
        return {}
    Z, own = (gather(task.design, some).dense() for some in (others, support))
    found = {}
    for feature, column in zip(support.tolist(), own.T, strict=True):
        limit = SAME_COLUMN * np.abs(column) + SAME_ZERO * np.abs(column).max()
        same = np.arange(others.size)
        for rows in (slice(FIRST_ROWS), slice(None)):  # few columns agree in the first ones
            if same.size:
                some, ours, most = Z[rows, same], column[rows, None], limit[rows, None]
                equal = (np.abs(some - ours) <= most).all(axis=0)
                opposite = (np.abs(some + ours) <= most).all(axis=0)
                same = same[equal | opposite]
        if same.size:
            found[feature] = others[same]
    return found

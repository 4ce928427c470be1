"""Budgets: which sets of features a model may use. They see score vectors and nothing else."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np

from ._typing import FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class Budget:
    """Exactly k features.

    Parameters
    ----------
    k : how many features, at least 1.

    Raises
    ------
    TypeError, ValueError
        Where k is not an integer, or below 1; by `project` and `top` where there are fewer than k
        features.
    """

    k: int

    def __post_init__(self) -> None:
        """Check k, and store it as a plain integer."""
        if isinstance(self.k, bool | np.bool_):
            raise TypeError(f"k must be an integer, at least 1; got {self.k!r}.")
        try:
            k = operator.index(self.k)
        except TypeError:
            raise TypeError(f"k must be an integer, at least 1; got {self.k!r}.") from None
        if k < 1:
            raise ValueError(f"k must be at least 1; got {k}.")
        object.__setattr__(self, "k", k)

    def project(self, w: FloatArray) -> FloatArray:
        """Return the nearest point to w, (p,), with at most k nonzeros: its k largest |w_j|.

        Of equal |w_j| at the cut those of the smaller index stay.
        """
        kept = self.top(np.abs(w))
        projected = np.zeros_like(w)
        projected[kept] = w[kept]
        return projected

    def top(self, score: FloatArray) -> IndexArray:
        """Return the k features, ascending, with the largest sum of scores; cost O(p).

        Of equal scores at the cut those of the smaller index are taken.
        """
        if self.k > score.size:
            raise ValueError(f"k must be between 1 and {score.size} (the features); got {self.k}.")
        return np.sort(largest(score, self.k))


def largest(values: FloatArray, k: int) -> IndexArray:
    """Return the indices of the k largest values, largest first, ties by the smaller index.

    values : (p,), without NaN, which raises ValueError; 0 <= k <= p. Cost O(p + k log k).
    """
    if k == 0:
        return np.empty(0, np.int64)
    ordered = np.partition(values, values.size - k)
    # NaN sorts last, so that it is seen here.
    if np.isnan(ordered[values.size - k :]).any():
        raise ValueError("scores must be numbers; got NaN.")
    cut = ordered[values.size - k]
    above = np.flatnonzero(values > cut)
    above = above[np.argsort(-values[above], kind="stable")]
    ties = np.flatnonzero(values == cut)[: k - above.size]
    return np.concatenate([above, ties]).astype(np.int64, copy=False)

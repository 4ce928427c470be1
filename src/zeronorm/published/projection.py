"""The projection onto few features in few groups, and the published programme for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import ParameterError
from ..core.groups import Groups
from ..core.types import FloatArray
from ..solvers.bilevel_budget import best_bilevel, positive_integer


def project_bilevel(
    v: Any, k: int, n_groups: int, feature_groups: Any, *, method: str = "auto"
) -> FloatArray:
    """Return the nearest point to v with at most k nonzeros in at most n_groups groups.

        min_x  1/2 ||x - v||^2   subject to  ||x||_0 <= k,  #{i : x_{G_i} != 0} <= n_groups

    x_j is v_j or 0. The answer is exact: no other choice of features has a smaller distance, up to
    the rounding of the sums.

    Parameters
    ----------
    v : (p,) finite numbers.
    k : how many nonzeros, at least 1; more than p count as p.
    n_groups : how many groups, at least 1; more than there are count as all.
    feature_groups : (p,) integers or strings, the label of the group of every value; or a dict of
        lists of indices by label; or `Groups`, which spares the check of labels in a loop. Groups
        need be neither contiguous nor of equal size.
    method : "auto", or "dp" for the dynamic programme of the paper, which gives the same distance.

    Returns
    -------
    (p,) float64. Zeros of v are never counted. Of equal |v_j| in a group those of the smaller index
    stay; which of several sets with the same distance is taken is deterministic.

    Raises
    ------
    TypeError, ValueError
        Where v is not one-dimensional, or NaN or infinite somewhere (the message says where), where
        the groups are no partition, or where a number is no integer or below 1.

    Notes
    -----
    "auto" reads v once and looks closer at about k G / n_groups of its values (G groups); in the
    worst case it costs O(p + G n_groups k log k). "dp" costs O(p log p + k n_groups sum_i
    min(|G_i|, k)), and 4 G (n_groups + 1) (k + 1) bytes.

    The problem and "dp" are of Xiang, Yang and Ye, KDD 2014, Section 3 and Algorithm 3.
    """
    k, n_groups = positive_integer(k, "k"), positive_integer(n_groups, "n_groups")
    if method not in ("auto", "dp"):
        raise ParameterError("method", "must be 'auto' or 'dp'", f"{method!r}")
    values = _vector(v)
    partition = Groups.of(feature_groups, values.size)
    opened = np.zeros(len(partition), np.uint8)
    kept = best_bilevel(values, k, n_groups, partition, opened, name="v", program=method == "dp")
    projected = np.zeros(values.size)
    projected[kept] = values[kept]
    return projected


def _vector(v: Any) -> FloatArray:
    """Return real numbers of one dimension, at least one, as float64."""
    try:
        values = np.asarray(v)
    except ValueError:
        raise ParameterError("v", "must be one-dimensional", "a ragged sequence") from None
    if values.ndim != 1:
        raise ParameterError("v", "must be one-dimensional", f"shape {values.shape}")
    if values.dtype.kind not in "iuf":
        raise TypeError(f"v must be real numbers; got values of type {values.dtype}.")
    if not values.size:
        raise ParameterError("v", "must have at least one value", "none")
    return values.astype(np.float64, copy=False)

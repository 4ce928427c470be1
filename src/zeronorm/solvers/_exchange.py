"""Backward elimination, splicing and swaps on gathered columns: from a pool to exactly k features.

All work on the ridge problem of `_ridge` with unit penalty, on a pool that fits in memory; no
further scan of the data is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._typing import Columns, FloatArray, IndexArray, Smooth
from ._ridge import Ridge, ridge, take

# Drop this share of the remaining features at once, and one at a time from this size on: dropping
# one by one everywhere selects no better and costs several times as much.
DROP_SHARE, ONE_BY_ONE = 0.15, 10
MAX_EXCHANGE = 5  # features exchanged at once by splicing
MAX_ROUNDS = 30
# Fits are compared to this share of the decrease that counts, of their own objective: less accurate
# ones would undo each other's exchanges for ever where the data separate.
ACCURACY = 0.1
# Swaps: the weakest features that may leave, the exchanges that are tried before giving up, and of
# these how many for one leaving feature.
MOST_LEAVING, MOST_TRIALS, TRIALS_EACH = 64, 12, 3


def eliminate(
    Z: Columns,
    y: FloatArray,
    weight: FloatArray,
    loss: Smooth,
    sizes: Sequence[int],
    *,
    intercept: bool = True,
    keep: IndexArray | None = None,
    tol: float = 1e-3,
) -> dict[int, IndexArray]:
    """Eliminate the features of smallest |u_j| until each of the sizes is reached.

    Parameters
    ----------
    Z : (n, p) the pool; columns on the selection scaling, so that |u_j| are comparable.
    weight : (n,) sample weights times C.
    sizes : the wanted numbers of features, at most p each.
    keep : columns of Z that may not be dropped.

    Returns
    -------
    A nested support, sorted positions in Z, for every size.
    """
    p = Z.shape[1]
    protected = np.zeros(p, bool)
    protected[[] if keep is None else keep] = True
    left = np.arange(p)
    supports: dict[int, IndexArray] = {}
    start: tuple[FloatArray, float] | None = None
    for size in sorted(set(sizes), reverse=True):
        while left.size > size:
            fit = ridge(Z, y, weight, loss, columns=left, intercept=intercept, start=start, tol=tol)
            count = 1 if left.size <= ONE_BY_ONE else max(1, int(DROP_SHARE * left.size))
            count = min(count, left.size - size)
            magnitude = np.where(protected[left], np.inf, np.abs(fit.coef))
            # Of equal magnitudes the larger index goes first, so that ties keep the smaller one.
            worst = np.lexsort((-left, magnitude))[:count]
            stay = np.ones(left.size, bool)
            stay[worst] = False
            left = left[stay]
            start = (fit.coef[stay], fit.intercept)
        supports[size] = left
    return supports


class Failures:
    """Supports whose objective is known not to be below some value."""

    def __init__(self) -> None:
        self._limits: dict[bytes, float] = {}

    def above(self, support: IndexArray, limit: float) -> bool:
        """Return whether the objective of a support is known to be at least the limit."""
        return self._limits.get(support.tobytes(), -np.inf) >= limit

    def add(self, support: IndexArray, limit: float) -> None:
        """Remember that the objective of a support is at least the limit."""
        key = support.tobytes()
        self._limits[key] = max(limit, self._limits.get(key, -np.inf))


def splice(
    Z: Columns,
    y: FloatArray,
    weight: FloatArray,
    loss: Smooth,
    support: IndexArray,
    *,
    intercept: bool = True,
    keep: IndexArray | None = None,
    max_rounds: int = MAX_ROUNDS,
    tol: float = 1e-7,
    failed: Failures | None = None,
) -> IndexArray:
    """Exchange features of the support with others of the pool while the objective falls.

    With h_j = 1 + sum_i w_i z_ij^2, the backward sacrifice of a feature inside is h_j u_j^2 / 2,
    the forward one of a feature outside (z_j'(alpha y))^2 / (2 h_j). For c = 5, 2, 1 the c smallest
    and the c largest change places; the best exchange is kept if the objective falls by more than
    `tol` times its value. A trial ends as soon as its certified bound shows that it cannot win.

    failed : supports that were tried in vain, by anyone; it grows.

    Source: the splicing of best-subset selection (Zhu et al., PNAS 2020), with a ridge.
    """
    p = Z.shape[1]
    protected = np.zeros(p, bool)
    protected[[] if keep is None else keep] = True
    square = _squares(Z)
    failed = Failures() if failed is None else failed
    current = np.sort(support)
    fit = ridge(
        Z, y, weight, loss, columns=current, intercept=intercept, tol=ACCURACY * tol, of_value=True
    )  # fmt: skip
    for _ in range(max_rounds):
        outside = _others(p, current)
        movable = np.flatnonzero(~protected[current])
        most = min(MAX_EXCHANGE, movable.size, outside.size)
        if most == 0:
            break
        curvature = loss.curvature(fit.margins, y, weight)
        scores = np.asarray(Z.T @ (fit.alpha * y))
        bend = 1.0 + np.asarray(square.T @ curvature)
        backward = bend[current[movable]] * fit.coef[movable] ** 2
        forward = scores[outside] ** 2 / bend[outside]
        weakest = movable[np.lexsort((-current[movable], backward))]
        strongest = outside[np.lexsort((outside, -forward))]
        best: tuple[Ridge, IndexArray] | None = None
        limit = fit.objective * (1.0 - tol)
        count = most
        while count >= 1:
            stay = np.delete(np.arange(current.size), weakest[:count])
            trial = np.concatenate([current[stay], strongest[:count]])
            order = np.argsort(trial)
            start = np.concatenate([fit.coef[stay], np.zeros(count)])[order]
            trial = trial[order]
            count //= 2
            if failed.above(trial, limit):
                continue
            candidate = ridge(
                Z, y, weight, loss, columns=trial, intercept=intercept,
                start=(start, fit.intercept), tol=ACCURACY * tol, of_value=True, cutoff=limit,
            )  # fmt: skip
            if candidate.objective < limit:
                best, limit = (candidate, trial), candidate.objective
            else:
                failed.add(trial, limit)
        if best is None:
            break
        fit, current = best
    return current


def swap(
    Z: Columns,
    y: FloatArray,
    weight: FloatArray,
    loss: Smooth,
    support: IndexArray,
    *,
    intercept: bool = True,
    keep: IndexArray | None = None,
    tol: float = 1e-7,
    failed: Failures | None = None,
) -> IndexArray:
    """Exchange one feature of the support for another of the pool while the objective falls.

    At the margins without feature j of the support, feature i outside would lower the objective by
    about g_i^2 / (2 h_i), g and h its first and second derivative there. The pairs (j, i) that
    promise most are tried by a fit, which ends as soon as its certified bound shows that it cannot
    win; the first that lowers the objective by more than `tol` times its value is made. Where none
    of them does, no single exchange is likely to help.

    failed : supports that were tried in vain, by anyone; it grows.

    Source: the swaps of Hazimeh and Mazumder, Operations Research 68(5), 2020, with a ridge.
    """
    protected = np.zeros(Z.shape[1], bool)
    protected[[] if keep is None else keep] = True
    square = _squares(Z)
    failed = Failures() if failed is None else failed
    current = np.sort(support)
    fit = ridge(
        Z, y, weight, loss, columns=current, intercept=intercept, tol=ACCURACY * tol, of_value=True
    )  # fmt: skip
    while True:
        outside = _others(Z.shape[1], current)
        movable = np.flatnonzero(~protected[current])
        if not outside.size or not movable.size:
            return current
        if movable.size > MOST_LEAVING:
            bend = 1.0 + np.asarray(
                take(square, current[movable]).T @ loss.curvature(fit.margins, y, weight)
            )
            movable = movable[np.argsort(bend * fit.coef[movable] ** 2, kind="stable")]
            movable = np.sort(movable[:MOST_LEAVING])
        promise = _promises(Z, square, y, weight, loss, current, fit, movable)[:, outside]
        limit = fit.objective * (1.0 - tol)
        for leaving, entering in _best_pairs(promise):
            stay = np.delete(np.arange(current.size), movable[leaving])
            trial = np.append(current[stay], outside[entering])
            order = np.argsort(trial)
            start = np.append(fit.coef[stay], 0.0)[order]
            trial = trial[order]
            if failed.above(trial, limit):
                continue
            candidate = ridge(
                Z, y, weight, loss, columns=trial, intercept=intercept,
                start=(start, fit.intercept), tol=ACCURACY * tol, of_value=True, cutoff=limit,
            )  # fmt: skip
            if candidate.objective < limit:
                fit, current = candidate, trial
                break
            failed.add(trial, limit)
        else:
            return current


def _squares(Z: Columns) -> Any:
    """Return the squares of the elements of Z, stored alike."""
    return Z.multiply(Z).tocsc() if sp.issparse(Z) else np.square(np.asarray(Z))


def _others(p: int, current: IndexArray) -> IndexArray:
    """Return the positions below p that are not in `current`, sorted."""
    outside = np.ones(p, bool)
    outside[current] = False
    return np.flatnonzero(outside)


def _promises(
    Z: Columns,
    square: Any,
    y: FloatArray,
    weight: FloatArray,
    loss: Smooth,
    current: IndexArray,
    fit: Ridge,
    leaving: IndexArray,
) -> FloatArray:
    """Return estimates of the objective with one feature for another, (leaving, pool)."""
    # Columns in Fortran order: they are written one by one, and read by the BLAS.
    residual, curvature = (np.empty((y.size, leaving.size), order="F") for _ in range(2))
    value = np.empty(leaving.size)
    columns = take(Z, current[leaving])
    dense = np.asarray(columns.toarray() if sp.issparse(columns) else columns)
    penalty = 0.5 * float(fit.coef @ fit.coef)
    for place, j in enumerate(leaving):
        margins = fit.margins - fit.coef[j] * dense[:, place]
        loss_value, residual[:, place] = loss.value_gradient(margins, y, weight)
        curvature[:, place] = loss.curvature(margins, y, weight)
        value[place] = loss_value + penalty - 0.5 * fit.coef[j] ** 2
    gain = np.asarray(Z.T @ residual) ** 2 / (2.0 * (1.0 + np.asarray(square.T @ curvature)))
    return np.asarray(value[:, None] - gain.T)


def _best_pairs(promise: FloatArray) -> list[tuple[int, int]]:
    """Return (leaving, entering) of the smallest estimates, few of each that leaves."""
    each = min(TRIALS_EACH, promise.shape[1])
    best = np.argpartition(promise, each - 1, axis=1)[:, :each]
    value = np.take_along_axis(promise, best, axis=1)
    order = np.lexsort((best.ravel(), value.ravel()))[:MOST_TRIALS]
    rows = np.repeat(np.arange(promise.shape[0]), each)[order]
    return list(zip(rows.tolist(), best.ravel()[order].tolist(), strict=True))

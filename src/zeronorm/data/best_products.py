"""The best products of all by their scores, without a vector of all scores."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.types import Design, FloatArray, IndexArray
from .factors import Factors
from .pairs import Grid, Listed

SHARES = (0.125, 0.25, 0.5, 0.75, 0.875)  # of the rows, after which a tile may be left out
SPREAD = 6.0  # deviations of a score of chance that a tile is expected to reach
ROUNDING = 1e-6  # of bounds, which are of norms in float64
LISTED = 1 << 16  # listed products at a time
# Of a deviation: below this share of the root mean square it is the rounding of a constant.
CONSTANT = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The best products, largest |score| first.

    Attributes
    ----------
    columns : (k,) of the design.
    pairs : (k, 2) their features, which `Products(X, pairs=...)` takes.
    scores : (k,) signed.
    share : the part of the multiplications of all scores that was done.
    """

    columns: IndexArray
    pairs: IndexArray
    scores: FloatArray
    share: float


class _Kept:
    """The best k of the scores seen, and the least |score| that still counts."""

    def __init__(self, k: int, least: float) -> None:
        self._k = k
        self.columns, self.scores = np.empty(0, np.int64), np.empty(0)
        self.least = least

    def add(self, columns: IndexArray, scores: FloatArray) -> None:
        """Take what is not below the least; ties go to the smaller column."""
        if not np.isfinite(scores).all():
            raise ValueError(
                "scores of products must be finite; X has NaN, infinity or values so large that "
                "products overflow."
            )
        counts = np.abs(scores) >= self.least
        columns = np.concatenate([self.columns, columns[counts]])
        scores = np.concatenate([self.scores, scores[counts]])
        order = np.lexsort((columns, -np.abs(scores)))[: self._k]
        self.columns, self.scores = columns[order], scores[order]
        if order.size == self._k:
            self.least = max(self.least, float(np.abs(self.scores[-1])))


def best_products(
    design: Design,
    factors: Factors,
    pairs: Grid | Listed,
    main: int,
    v: ArrayLike,
    k: int,
    least: float,
    *,
    standardize: bool,
) -> Best:
    """Return the best products of a design; see `Products.best`."""
    n = design.shape[0]
    vector = np.asarray(v, np.float64)
    if vector.shape != (n,) or not np.isfinite(vector).all():
        raise ValueError(
            f"v must be {n} finite numbers (the samples of X); got shape {vector.shape}."
        )
    try:
        k = operator.index(k)
    except TypeError:
        raise TypeError(f"k must be an integer; got {k!r}.") from None
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}.")
    if not 0.0 <= float(least) < np.inf:
        raise ValueError(f"least must be a finite number, not negative; got {least!r}.")
    if standardize:
        vector = vector - vector.mean()
    kept, share = _Kept(min(k, pairs.size), float(least)), 1.0
    if isinstance(pairs, Listed):
        for start in range(0, pairs.size, LISTED):
            first, last = main + start, main + min(start + LISTED, pairs.size)
            scores = design.correlate(vector, first, last)
            if standardize:
                scores = _standardized(scores, *design.moments(np.full(n, 1.0 / n), first, last))
            kept.add(np.arange(first, last), scores)
    elif standardize:
        weights = [np.full(n, 1.0 / n)]
        for a, b, chosen in _tiles(factors, pairs, pairs.order):
            own, other = np.nonzero(chosen)
            scores = factors.tile(a, b, [vector])[0][chosen]
            total = factors.tile(a, b, weights, np.asarray, np.float64)[0][chosen]
            square = factors.tile(a, b, weights, np.square, np.float64)[0][chosen]
            columns = pairs.number(a[other], b[own]) + main
            kept.add(columns, _standardized(scores, total, square))
    else:
        error = 2.0 * design.scan_error + ROUNDING
        share = _search(factors, pairs, main, vector, kept, error)
    found = np.column_stack(pairs.factors(kept.columns - main))
    return Best(kept.columns, found, kept.scores, share)


def _standardized(scores: FloatArray, total: FloatArray, square: FloatArray) -> FloatArray:
    variance = np.maximum(square - total**2, 0.0)
    varies = variance > CONSTANT**2 * square
    return np.divide(scores, np.sqrt(variance), out=np.zeros(scores.size), where=varies)


def _search(
    factors: Factors, pairs: Grid, main: int, v: FloatArray, kept: _Kept, error: float
) -> float:
    """Keep the best of all pairs; return the part of the multiplications that was done.

    With N_a^2 = sum_i |v_i| x_ia^2 over the rows that are left, they add at most N_a N_b to a
    score. Features are taken by their N_a, so that the largest bounds come first.
    """
    n = v.size
    cuts = [0] if factors.base.is_sparse else sorted({0, *(int(share * n) for share in SHARES)})
    left = _norms(factors, v, cuts)
    arranged = pairs.order[np.lexsort((-left[0][pairs.order], pairs.stops))]
    done = 0
    for first, second, chosen in _tiles(factors, pairs, arranged):
        a, b = left[:, first], left[:, second]
        whole = float(a[0].max() * b[0].max())
        if whole * (1.0 + error) < kept.least:
            continue
        cut = _cut_of(a, b, cuts, kept.least - error * whole)
        if cut:
            rows = cuts[cut]
            part = factors.tile(first, second, [v], rows=slice(0, rows))[0]
            done += rows * int(chosen.sum())
            bound = np.abs(part) + np.outer(b[cut], a[cut]) + error * whole
            chosen &= bound >= kept.least
            left_over = chosen.any(axis=1)
            second, chosen = second[left_over], chosen[left_over]
        if chosen.any():
            scores = factors.tile(first, second, [v])[0]
            done += n * int(chosen.sum())
            chosen &= ~(np.abs(scores) < kept.least)  # NaN is kept, and refused
            own, other = np.nonzero(chosen)
            kept.add(pairs.number(first[other], second[own]) + main, scores[chosen])
    return done / (n * pairs.size)


def _cut_of(a: FloatArray, b: FloatArray, cuts: list[int], least: float) -> int:
    """Return after which of the cuts a tile is likely to be out of the running; 0: after none."""
    whole = float(a[0].max() * b[0].max())
    for cut in range(1, len(cuts)):
        rest = float(a[cut].max() * b[cut].max())
        if rest + SPREAD * (whole - rest) / np.sqrt(cuts[cut]) < least:
            return cut
    return 0


def _norms(factors: Factors, v: FloatArray, cuts: list[int]) -> FloatArray:
    """Return sqrt(sum_i |v_i| x_ij^2) over the rows from each cut on, (cuts, p)."""
    p = factors.base.shape[1]
    found = np.empty((len(cuts), p))
    for start in range(0, p, factors.widths()[1]):
        features = np.arange(start, min(start + factors.widths()[1], p))
        columns: Any = factors.columns(features)
        if factors.base.is_sparse:
            found[0, features] = columns.power(2).T @ np.abs(v)
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            square = np.abs(v)[:, None] * columns.astype(np.float64) ** 2
            for row, cut in enumerate(cuts):
                found[row, features] = square[cut:].sum(axis=0)
    return np.sqrt(found)


def _tiles(
    factors: Factors, pairs: Grid, order: IndexArray
) -> Iterator[tuple[IndexArray, IndexArray, NDArray[np.bool_]]]:
    """Yield first and second factors, and which of their products are pairs, (second, first).

    order : (p,) the features at the places of `pairs`, in any order within a group.
    """
    few, many = factors.widths()
    for top in range(0, order.size, few):
        places = np.arange(top, min(top + few, order.size))
        low, high = top + pairs.skip, int(pairs.stops[places[-1]])
        for begin in range(low, high, many):
            other = np.arange(begin, min(begin + many, high))
            chosen = (other[:, None] >= places + pairs.skip) & (
                other[:, None] < pairs.stops[places]
            )
            if chosen.any():
                yield order[places], order[other], chosen

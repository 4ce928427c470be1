"""Blocks of samples that belong together: families, the measurements of one person, litters.

Errors of different blocks are independent; those of a block have a covariance of three parts,

    y = X w + A g + e,    Cov(e) = s^2 V,    V = (1 - a - b) I + a J + b K,    a, b >= 0,

J of 1 within blocks, which is an intercept of each block, and K the mean of x_j x_j' over all
features, within blocks: rows that are alike in the features may be so in their errors, as kin are.
T with T'T = V^(-1) makes errors independent, of one variance. X, A and 1 are mixed by T as well,
and dummies are drawn for the rows of T y. With a and b of the largest likelihood (of contrasts,
REML) the derivatives of it say of r, T y less what T A explains,

    r'T M T'r / |r|^2  =  trace(T M T') / trace(1)    for M of I, J and K,

traces in the space that T A leaves: a feature without effect whose rows have the covariance M, or
any sum of these, has a product with r of the variance of a dummy, whatever the true errors are; at
a = 0 or b = 0 of at most that.

Where the target, or all features, are constant within blocks, the rows say nothing but the means of
blocks, and these are the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from ..core import validation as validate
from ..core.types import Design, FloatArray, IndexArray
from ..data.whitened import Mixed, Whitening
from ..data.wrappers import IN_MEMORY, as_slice, feature_blocks

LARGE = 200  # rows of a block, of which all pairs are taken to be alike
LARGEST = 0.999  # a + b
GRID = 0.0, 0.1, 0.25, 0.45, 0.65, 0.85, LARGEST
SHARES = 0.0, 0.25, 0.5, 0.75, 1.0
LOST = 1e-8  # of a squared norm: rounding of what is constant within blocks


def blocks_of(groups: Any, n_samples: int) -> IndexArray | None:
    """Return the block of every row as numbers from 0 on; None where each is a block by itself.

    groups : (n_samples,) labels, numbers or text, or None.
    """
    if groups is None:
        return None
    labels = np.asarray(validate.in_memory(groups))
    if labels.shape != (n_samples,):
        raise ValueError(
            f"groups must have a label for every row of X, shape ({n_samples},); got shape "
            f"{labels.shape}."
        )
    values = labels.tolist()
    validate.check_labels(values, "row of X", "groups")
    number: dict[Any, int] = {}
    code = np.array([number.setdefault(one, len(number)) for one in values], np.int64)
    if len(number) == 1:
        raise ValueError(
            f"groups must have several labels; got {validate.shown(values[0])} in all {n_samples} "
            "rows, so that no two of them are independent."
        )
    return None if len(number) == n_samples else code


@dataclass(frozen=True, eq=False)
class _OneSize:
    """The blocks of one size."""

    rows: IndexArray  # (g, m)
    blocks: IndexArray  # (g, 1) their numbers
    alike: FloatArray  # (g, m, m) K; of large blocks (g, 2): its mean diagonal, and of the others

    def parts(self, a: float, b: float) -> tuple[FloatArray, float]:
        """Return T, as `Mixed` has it, and the logarithm of the determinant of V."""
        m, own = self.rows.shape[1], 1.0 - a - b
        if self.alike.ndim == 3:
            root = np.linalg.cholesky(own * np.eye(m) + a + b * self.alike)
            diagonal = np.diagonal(root, axis1=1, axis2=2)
            return np.linalg.inv(root), 2.0 * float(np.log(diagonal).sum())
        other = a + b * self.alike[:, 1]
        alone = own + a + b * self.alike[:, 0] - other
        shared = alone + m * other
        both = np.column_stack([alone**-0.5, 1.0 - np.sqrt(alone / shared)])
        return both, float(((m - 1) * np.log(alone) + np.log(shared)).sum())

    def mean(self, a: float) -> FloatArray:
        """Return T of the mean of a block alone, (g, 1, m); of b = 0."""
        g, m = self.rows.shape
        return np.full((g, 1, m), (m * (1.0 - a) + m * m * a) ** -0.5)

    def sums(self, a: float, b: float) -> FloatArray:
        """Return the sums of the diagonal of V and of all else, and how many these are."""
        g, m = self.rows.shape
        if self.alike.ndim == 3:
            diagonal = np.trace(self.alike, axis1=1, axis2=2).sum()
            others = self.alike.sum() - diagonal
        else:
            diagonal, others = self.alike.sum(axis=0) * (m, m * (m - 1))
        n, pairs = g * m, g * m * (m - 1)
        return np.array([(1 - b) * n + b * diagonal, a * pairs + b * others, n, pairs])


class Blocks:
    """The blocks of the rows of a design; one pass over X.

    design : of standardised columns. usable : (p,) mask of the features.
    code : (n,) the block of every row, from 0 on. y : (n,) the target.
    """

    def __init__(self, design: Design, usable: np.ndarray, code: IndexArray, y: FloatArray) -> None:
        self.n_blocks = int(code.max()) + 1
        size, order = np.bincount(code), np.argsort(code, kind="stable")
        rows_of = np.split(order, np.cumsum(size)[:-1])
        places = [np.flatnonzero(size == one) for one in np.unique(size)]
        rows = [np.stack([rows_of[block] for block in own]) for own in places]
        alike, features_vary = _alike(design, usable, rows)
        self._sizes = [
            _OneSize(own, number[:, None], each)
            for own, number, each in zip(rows, places, alike, strict=True)
        ]
        target_varies = any((y[own] != y[own[:, :1]]).any() for own in rows)
        self.are_rows = not (target_varies and features_vary)
        # The covariance within blocks is of no importance to the means of equal ones.
        self.are_alike = not target_varies or (self.are_rows and len(rows) == 1)

    def whitening(self, y: FloatArray, fixed: FloatArray) -> tuple[Whitening, float]:
        """Return T, and the mean correlation of two errors of a block, NaN where rows are blocks.

        y : (n,). fixed : (n, r) the columns of a model of it, independent ones.
        """
        if self.are_alike:
            return self._mixing([one.mean(1.0) for one in self._sizes]), np.nan
        a, b = self._shares(y, fixed)
        if self.are_rows:
            return self._mixing([one.mean(a) for one in self._sizes]), np.nan
        matrices = [one.parts(a, b)[0] for one in self._sizes]
        diagonal, others, n, pairs = np.sum([one.sums(a, b) for one in self._sizes], axis=0)
        return self._mixing(matrices), float(others / pairs / (diagonal / n))

    def _mixing(self, matrices: list[FloatArray]) -> Whitening:
        to = [one.blocks if self.are_rows else one.rows for one in self._sizes]
        parts = zip(self._sizes, to, matrices, strict=True)
        return Whitening(tuple(Mixed(one.rows, own, each) for one, own, each in parts))

    def _shares(self, y: FloatArray, fixed: FloatArray) -> tuple[float, float]:
        """Return a and b of the largest restricted likelihood; of means of blocks b is 0."""
        both = np.column_stack([fixed, y])

        def cost(place: FloatArray) -> float:
            """Return minus twice the logarithm of the likelihood, at a + b and the share of b."""
            a, b = place[0] * (1.0 - place[1]), place[0] * place[1]
            mixed, logarithm = np.empty_like(both), 0.0
            for one in self._sizes:
                matrices, own = one.parts(a, b)
                logarithm += own
                mixed[one.rows] = Mixed(one.rows, one.rows, matrices).of(both[one.rows])
            diagonal = np.abs(np.diag(np.linalg.qr(mixed, mode="r")))
            size = np.log(np.maximum(diagonal, np.finfo(float).tiny))
            free = y.size - fixed.shape[1]
            return float(logarithm + 2.0 * size[:-1].sum() + 2.0 * free * size[-1])

        shares = (0.0,) if self.are_rows else SHARES
        starts = [np.array([total, share]) for total in GRID for share in shares]
        best = min(starts, key=cost)
        bounds = [(0.0, LARGEST), (0.0, shares[-1])]
        found = optimize.minimize(
            cost, best, method="Nelder-Mead", bounds=bounds, options={"xatol": 1e-4, "fatol": 1e-6}
        )
        total, share = found.x if found.fun < cost(best) else best
        return float(total * (1.0 - share)), float(total * share)


def _alike(
    design: Design, usable: np.ndarray, rows: list[IndexArray]
) -> tuple[list[FloatArray], bool]:
    """Return K for blocks of every size, of mean diagonal 1, and whether columns vary in blocks."""
    n, p = design.shape
    found = [np.zeros((len(own), *(2 * own.shape[1:] if own.shape[1] <= LARGE else (2,))))
             for own in rows]  # fmt: skip
    total = between = 0.0
    for features in feature_blocks(np.arange(p), n, IN_MEMORY):
        gathered = design.gather(as_slice(features))
        columns = gathered if isinstance(gathered, np.ndarray) else gathered.toarray()
        columns = (columns - columns.mean(axis=0)) * usable[features]
        for own, each in zip(rows, found, strict=True):
            m, parts = own.shape[1], columns[own]
            square = (parts**2).sum(axis=(1, 2))
            sums = (parts.sum(axis=1) ** 2).sum(axis=1)
            total, between = total + square.sum(), between + sums.sum() / m
            if each.ndim == 3:
                each += parts @ parts.transpose(0, 2, 1)
            else:
                each += np.column_stack([square / m, (sums - square) / (m * (m - 1))])
    for each in found:
        each *= n / total
    return found, bool(total - between > LOST * total)

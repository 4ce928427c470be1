"""Cuts of a measure and what a cutting-plane method needs of them over some features.

A point of the problem over blocks of features S_1, ..., S_T is

    1/2 (sum_t ||v_t||)^2 + C R(sum_t X_{S_t} v_t + b),

and a cut R(z) >= delta - beta'z acts on it by a = X'beta. Cuts say nothing of features, so they
stay when blocks are added: `BlockModel` extends a. `FullModel` is the model of all features as one
block, which never stores a: it needs X'beta and X(X'beta) of every cut, two passes over X.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..._kernels import solve_cuts
from ...core.types import Design, FloatArray, IndexArray
from ...data.columns import GatheredColumns
from ...data.operations import multiply, offsets
from ...measures import Cut
from ..drive import Scan, Solver

CHUNK = 16  # cuts that are products with new columns at a time, of those stored as small integers


@dataclass(frozen=True, slots=True)
class Master:
    """The solution of the program over the cuts, see `solve_cuts`."""

    alpha: FloatArray  # (n_cuts,)
    block_weight: FloatArray  # (n_blocks,)
    intercept: float
    bound: float  # lower bound of the problem over the blocks
    value: float  # upper bound of the program itself


def solve_master(
    grams: FloatArray, delta: FloatArray, g: FloatArray, C: float, tol: float
) -> Master:
    """Solve the program over the cuts; where rounding ends it early the bound tells."""
    alpha, block_weight = np.empty(delta.size), np.empty(grams.shape[0])
    bound, value, intercept, _ = solve_cuts(
        np.ascontiguousarray(grams), delta, g, C, tol, alpha, block_weight
    )
    return Master(alpha, block_weight, intercept, bound, value)


class Cuts:
    """The cuts found so far, in arrays that grow."""

    def __init__(self, n_samples: int, labels: bool, intercept: bool) -> None:
        # beta of a labelling is 0, 2 or -2.
        self._beta = np.empty((8, n_samples), np.int8 if labels else np.float64)
        self.size = 0
        self.delta = np.empty(0)
        self.g = np.empty(0)  # sum(beta), of a free intercept; else 0
        self.idle = np.empty(0, np.int64)  # rounds without weight; negative: never dropped
        self._intercept = intercept

    def add(self, cut: Cut, keep: bool = False) -> None:
        """Append a cut."""
        if self.size == len(self._beta):
            grown = np.empty((2 * self.size + 1, self._beta.shape[1]), self._beta.dtype)
            grown[: self.size] = self._beta
            self._beta = grown
        self._beta[self.size] = cut.beta
        self.size += 1
        self.delta = np.append(self.delta, cut.delta)
        self.g = np.append(self.g, float(cut.beta.sum()) if self._intercept else 0.0)
        self.idle = np.append(self.idle, -(1 << 40) if keep else 0)

    def combine(self, alpha: FloatArray) -> FloatArray:
        """Return sum_k alpha_k beta_k, (n,)."""
        total = np.zeros(self._beta.shape[1])
        for k in np.flatnonzero(alpha > 0.0):
            total += alpha[k] * self._beta[k]
        return total

    def beta(self, first: int = 0, last: int | None = None) -> FloatArray:
        """Return some rows beta_k as float64."""
        return np.asarray(self._beta[first : self.size if last is None else last], np.float64)

    @classmethod
    def like(cls, other: Cuts) -> Cuts:
        """Return an empty store for cuts of the same kind."""
        return cls(other._beta.shape[1], other._beta.dtype == np.int8, other._intercept)

    def copy(self) -> Cuts:
        """Return a copy."""
        other = Cuts.like(self)
        other._beta, other.size = self._beta[: self.size].copy(), self.size
        other.delta, other.g, other.idle = self.delta.copy(), self.g.copy(), self.idle.copy()
        return other

    def rest(self, alpha: FloatArray, least: float) -> None:
        """Count a round without weight for the cuts whose alpha is not above `least`."""
        idle = self.idle[: alpha.size]
        idle += 1
        idle[(alpha > least) & (idle > 0)] = 0

    def keep(self, mask: np.ndarray) -> None:
        """Drop the other cuts."""
        kept = np.flatnonzero(mask)
        self._beta[: kept.size] = self._beta[kept]
        self.size = kept.size
        self.delta, self.g, self.idle = self.delta[mask], self.g[mask], self.idle[mask]


@dataclass(frozen=True, slots=True)
class Point:
    """A point: its weights in the form of its model, and its scores without the intercept."""

    w: FloatArray
    z: FloatArray  # (n,)
    b: float

    @property
    def scores(self) -> FloatArray:
        """(n,) z + b."""
        return self.z + self.b

    def towards(self, other: Point, share: float) -> Point:
        """Return the point at a share of the way to another one."""
        w, z = (
            here + share * (there - here) for here, there in ((self.w, other.w), (self.z, other.z))
        )
        return Point(w, z, self.b + share * (other.b - self.b))


class Model(Protocol):
    """Features, in blocks, and the cuts in terms of them."""

    cuts: Cuts

    @property
    def grams(self) -> FloatArray:
        """G_t = (a_k' a_l over S_t)_kl, (n_blocks, n_cuts, n_cuts)."""

    def add(self, cut: Cut, keep: bool = False) -> Solver[None]:
        """Add a cut."""

    def keep(self, mask: np.ndarray) -> None:
        """Drop the other cuts."""

    def point(self, master: Master) -> Point:
        """Return the point that belongs to a solution of the program."""

    def quadratic(self, alpha: FloatArray) -> float:
        """Return max_t 1/2 ||sum_k alpha_k a_k||^2 over S_t, where terms cancel too."""

    def products(self, p: Point, q: Point) -> FloatArray:
        """Return the inner products over the blocks, (n_blocks,)."""

    def zero(self, b: float) -> Point:
        """Return the point without features."""


class BlockModel:
    """Blocks of gathered features."""

    def __init__(self, design: Design, cuts: Cuts, capacity: int = 0) -> None:
        self.cuts = cuts
        self._pool = GatheredColumns(design, capacity)
        self._design = design
        self._offset = np.empty(0)  # of the columns, where sparse ones are to be centred
        self._a = np.empty((cuts.size, 0))  # X'beta_k, (n_cuts, n_pool)
        self._blocks: list[IndexArray] = []  # places in the pool
        self._grams: list[FloatArray] = []

    @property
    def features(self) -> IndexArray:
        """The features of all blocks in order of entry."""
        return self._pool.features

    @property
    def grams(self) -> FloatArray:
        """G_t, (n_blocks, n_cuts, n_cuts)."""
        return np.array(self._grams)

    def enter(self, new: IndexArray, block: IndexArray) -> None:
        """Gather new features and add a block of seen and new ones."""
        old = self._pool.size
        if new.size:
            self._pool.add(new)
            self._offset = np.append(self._offset, offsets(self._design, new))
            columns = self._pool.columns().take(slice(old, None))
            offset = self._offset[old:]
            rows = [np.empty((0, new.size))]
            for first in range(0, self.cuts.size, CHUNK):
                beta = self.cuts.beta(first, min(first + CHUNK, self.cuts.size))
                rows.append(columns.dot(beta.T).T - beta.sum(axis=1)[:, None] * offset)
            self._a = np.hstack([self._a, np.concatenate(rows)])
        places = self._pool.position(block)
        self._blocks.append(places)
        part = self._a[:, places]
        self._grams.append(part @ part.T)

    def restricted(self, features: IndexArray) -> BlockModel:
        """Return the model of one block of some of the features, with a copy of the cuts."""
        model = BlockModel.__new__(BlockModel)
        model.cuts, model._pool, model._design = self.cuts.copy(), self._pool, self._design
        model._offset, model._a = self._offset, self._a
        model._blocks = [self._pool.position(features)]
        part = self._a[:, model._blocks[0]]
        model._grams = [part @ part.T]
        return model

    @classmethod
    def of_blocks(cls, other: BlockModel, cuts: Cuts) -> BlockModel:
        """Return the model of the blocks of another one, with no cuts yet."""
        model = cls.__new__(cls)
        model.cuts, model._pool, model._design = cuts, other._pool, other._design
        model._offset, model._a = other._offset, np.empty((0, other._pool.size))
        model._blocks = other._blocks
        model._grams = [np.empty((0, 0)) for _ in other._blocks]
        return model

    def add(self, cut: Cut, keep: bool = False) -> Solver[None]:
        """Add a cut; no pass over the data."""
        yield from ()
        self.cuts.add(cut, keep)
        row = np.empty(0)
        if self._pool.size:
            row = self._pool.columns().dot(cut.beta) - float(cut.beta.sum()) * self._offset
        self._a = np.vstack([self._a, row])
        for t, (places, gram) in enumerate(zip(self._blocks, self._grams, strict=True)):
            self._grams[t] = _bordered(gram, self._a[:, places] @ row[places])

    def keep(self, mask: np.ndarray) -> None:
        """Drop the other cuts."""
        self.cuts.keep(mask)
        self._a = self._a[mask]
        self._grams = [gram[np.ix_(mask, mask)] for gram in self._grams]

    def point(self, master: Master) -> Point:
        """Return v_t = mu_t (sum_k alpha_k a_k) over S_t."""
        q = master.alpha @ self._a
        parts = [
            mu * q[places] for mu, places in zip(master.block_weight, self._blocks, strict=True)
        ]
        w = np.concatenate(parts)
        return Point(w, self._scores(w), master.intercept)

    def quadratic(self, alpha: FloatArray) -> float:
        """Return max_t 1/2 ||sum_k alpha_k a_k||^2 over S_t: not by G, whose terms are squares."""
        square = (alpha @ self._a) ** 2
        return 0.5 * max(float(square[places].sum()) for places in self._blocks)

    def products(self, p: Point, q: Point) -> FloatArray:
        """Return v_t'v_t of two points, (n_blocks,)."""
        starts = np.cumsum([0, *(places.size for places in self._blocks[:-1])])
        return np.asarray(np.add.reduceat(p.w * q.w, starts))

    def zero(self, b: float) -> Point:
        """Return the point without features."""
        n_samples = self._design.shape[0]
        return Point(np.zeros(sum(map(len, self._blocks))), np.zeros(n_samples), b)

    def extended(self, point: Point) -> Point:
        """Return a point of the model before its last block, that block at zero."""
        return Point(np.append(point.w, np.zeros(self._blocks[-1].size)), point.z, point.b)

    def coef(self, point: Point) -> FloatArray:
        """Return u = sum_t v_t on the features, in order of entry."""
        return self._coef(point.w)

    def _coef(self, w: FloatArray) -> FloatArray:
        places = np.concatenate(self._blocks)
        return np.asarray(np.bincount(places, w, self._pool.size), np.float64)

    def _scores(self, w: FloatArray) -> FloatArray:
        u = self._coef(w)
        return self._pool.columns().times(u) - float(self._offset @ u)


class FullModel:
    """All features as one block; a point is sum_k alpha_k beta_k, (n,), its weights u = X'w."""

    def __init__(self, design: Design, cuts: Cuts, features: IndexArray) -> None:
        self.cuts = cuts
        self._design, self._features = design, features
        self._scores = np.empty((0, design.shape[0]))  # X a_k
        self._gram = np.empty((0, 0))

    @property
    def grams(self) -> FloatArray:
        """G, (1, n_cuts, n_cuts)."""
        return self._gram[None]

    def add(self, cut: Cut, keep: bool = False) -> Solver[None]:
        """Add a cut by two passes over the data."""
        a = yield from self.weights(cut.beta)
        coef = np.zeros(self._design.shape[1])
        coef[self._features] = a
        z = multiply(self._design, coef)
        self.cuts.add(cut, keep)
        self._scores = np.vstack([self._scores, z])
        border = np.append(self._scores[:-1] @ cut.beta, float(a @ a))
        self._gram = _bordered(self._gram, border)

    def weights(self, w: FloatArray) -> Solver[FloatArray]:
        """Return X'w on the features."""
        scores = yield Scan(self._design, w)
        return np.asarray(scores[self._features])

    def keep(self, mask: np.ndarray) -> None:
        """Drop the other cuts."""
        self.cuts.keep(mask)
        self._scores = self._scores[mask]
        self._gram = self._gram[np.ix_(mask, mask)]

    def point(self, master: Master) -> Point:
        """Return w = sum_k alpha_k beta_k and its scores XX'w."""
        return Point(self.cuts.combine(master.alpha), master.alpha @ self._scores, master.intercept)

    def quadratic(self, alpha: FloatArray) -> float:
        """Return 1/2 ||sum_k alpha_k a_k||^2."""
        return max(0.0, 0.5 * float(self.cuts.combine(alpha) @ (alpha @ self._scores)))

    def products(self, p: Point, q: Point) -> FloatArray:
        """Return u'u of two points, w'(XX'w), (1,)."""
        return np.array([p.w @ q.z])

    def zero(self, b: float) -> Point:
        """Return the point without features."""
        n_samples = self._design.shape[0]
        return Point(np.zeros(n_samples), np.zeros(n_samples), b)


def _bordered(gram: FloatArray, border: FloatArray) -> FloatArray:
    """Return a symmetric matrix with one more row and column."""
    size = border.size
    grown = np.empty((size, size))
    grown[:-1, :-1] = gram
    grown[-1], grown[:, -1] = border, border
    return grown


def average_by_class(beta: FloatArray, y: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return beta averaged over each class, by the weights of its rows.

    Where all scores are equal, any permutation of the rows of a class violates as much: the average
    of these cuts is a subgradient that does not depend on the order of rows.
    """
    positive = y > 0
    if weight is None:
        return np.where(positive, float(beta[positive].mean()), float(beta[~positive].mean()))
    parts = (positive, ~positive)
    share = [float(beta[part].sum()) / float(weight[part].sum()) for part in parts]
    return np.asarray(weight * np.where(positive, *share))

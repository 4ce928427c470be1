"""Feature selection for a measure: blocks of features outside, cuts of the measure inside.

    min_{d in D_B} min_{u, b}  1/2 sum_j u_j^2 / d_j + C R(Xu + b)                             (P)
    D_B = {0 <= d_j <= 1, sum_j d_j <= B}

R is the loss of a measure (`zeronorm.measures`). The outer layer adds the block of the B features
with the largest |X'beta|, beta the weighted sum of the cuts; the inner layer solves (P) over the
blocks by cutting planes, to a certified gap.

Source: Mao and Tsang, A feature selection method for multivariate performance measures, IEEE TPAMI
2013, Algorithms 1 and 2.

`published=True` is that method. The default solves the same problems to the same gaps with fewer
programs: it keeps the cuts between blocks, searches lines in the inner layer, and solves the
problems that only generate blocks to a gap of 1e-2.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .._kernels import solve_cuts
from ..core.criteria import no_criteria
from ..core.errors import Message, Parameter
from ..core.ranking import largest
from ..core.results import Path, Selection, Status, Step
from ..core.types import Design, FloatArray, IndexArray
from ..data.gathered import GatheredColumns, gather
from ..data.operations import multiply, offsets, on_scaling_of_x, score_errors
from ..data.views import IN_MEMORY, feature_blocks
from ..measures import Cut, Measure
from .driver import PhaseClock, Scan, Solver
from .minimax import fit_budget, unseen
from .problem import Task

# Cuts of a measure and what a cutting-plane method needs of them over some features.
#
# A point of the problem over blocks of features S_1, ..., S_T is
#
#     1/2 (sum_t ||v_t||)^2 + C R(sum_t X_{S_t} v_t + b),
#
# and a cut R(z) >= delta - beta'z acts on it by a = X'beta. Cuts say nothing of features, so they
# stay when blocks are added: `BlockModel` extends a. `FullModel` is the model of all features as
# one block, which never stores a: it needs X'beta and X(X'beta) of every cut, two passes over X.

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
class CutPoint:
    """A point: its weights in the form of its model, and its scores without the intercept."""

    w: FloatArray
    z: FloatArray  # (n,)
    b: float

    @property
    def scores(self) -> FloatArray:
        """(n,) z + b."""
        return self.z + self.b

    def towards(self, other: CutPoint, share: float) -> CutPoint:
        """Return the point at a share of the way to another one."""
        w, z = (
            here + share * (there - here) for here, there in ((self.w, other.w), (self.z, other.z))
        )
        return CutPoint(w, z, self.b + share * (other.b - self.b))


class CutModel(Protocol):
    """Features, in blocks, and the cuts in terms of them."""

    cuts: Cuts

    @property
    def grams(self) -> FloatArray:
        """G_t = (a_k' a_l over S_t)_kl, (n_blocks, n_cuts, n_cuts)."""

    def add(self, cut: Cut, keep: bool = False) -> Solver[None]:
        """Add a cut."""

    def keep(self, mask: np.ndarray) -> None:
        """Drop the other cuts."""

    def point(self, master: Master) -> CutPoint:
        """Return the point that belongs to a solution of the program."""

    def quadratic(self, alpha: FloatArray) -> float:
        """Return max_t 1/2 ||sum_k alpha_k a_k||^2 over S_t, where terms cancel too."""

    def products(self, p: CutPoint, q: CutPoint) -> FloatArray:
        """Return the inner products over the blocks, (n_blocks,)."""

    def zero(self, b: float) -> CutPoint:
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
        self.cuts.keep(mask)
        self._a = self._a[mask]
        self._grams = [gram[np.ix_(mask, mask)] for gram in self._grams]

    def point(self, master: Master) -> CutPoint:
        """Return v_t = mu_t (sum_k alpha_k a_k) over S_t."""
        q = master.alpha @ self._a
        parts = [
            mu * q[places] for mu, places in zip(master.block_weight, self._blocks, strict=True)
        ]
        w = np.concatenate(parts)
        return CutPoint(w, self._scores(w), master.intercept)

    def quadratic(self, alpha: FloatArray) -> float:
        """Return max_t 1/2 ||sum_k alpha_k a_k||^2 over S_t: not by G, whose terms are squares."""
        square = (alpha @ self._a) ** 2
        return 0.5 * max(float(square[places].sum()) for places in self._blocks)

    def products(self, p: CutPoint, q: CutPoint) -> FloatArray:
        starts = np.cumsum([0, *(places.size for places in self._blocks[:-1])])
        return np.asarray(np.add.reduceat(p.w * q.w, starts))

    def zero(self, b: float) -> CutPoint:
        n_samples = self._design.shape[0]
        return CutPoint(np.zeros(sum(map(len, self._blocks))), np.zeros(n_samples), b)

    def extended(self, point: CutPoint) -> CutPoint:
        """Return a point of the model before its last block, that block at zero."""
        return CutPoint(np.append(point.w, np.zeros(self._blocks[-1].size)), point.z, point.b)

    def coef(self, point: CutPoint) -> FloatArray:
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
        self.cuts.keep(mask)
        self._scores = self._scores[mask]
        self._gram = self._gram[np.ix_(mask, mask)]

    def point(self, master: Master) -> CutPoint:
        """Return w = sum_k alpha_k beta_k and its scores XX'w."""
        return CutPoint(
            self.cuts.combine(master.alpha), master.alpha @ self._scores, master.intercept
        )

    def quadratic(self, alpha: FloatArray) -> float:
        return max(0.0, 0.5 * float(self.cuts.combine(alpha) @ (alpha @ self._scores)))

    def products(self, p: CutPoint, q: CutPoint) -> FloatArray:
        return np.array([p.w @ q.z])

    def zero(self, b: float) -> CutPoint:
        n_samples = self._design.shape[0]
        return CutPoint(np.zeros(n_samples), np.zeros(n_samples), b)


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


# One binary problem of selection for a measure: what both layers of its solver start from.


@dataclass(frozen=True, slots=True)
class MeasureRequest:
    """How the two layers are to select.

    block_size : B; by default a tenth of the size, of several a tenth of the smallest, but at least
        a thirtieth of the largest.
    max_blocks : the most blocks; it yields to the sizes.
    tol : certified gap of the final models (with `published`, of all problems), relative to the
        objective of the model without features.
    refit : whether the final model is the solution over the selected features as one block, or that
        of the problem over the generated blocks.
    published : whether by the published method.
    """

    block_size: int | None = None
    max_blocks: int | None = None
    tol: float = 1e-3
    refit: bool = True
    published: bool = False

    def block_of(self, sizes: Sequence[int]) -> int:
        """Return the number of features of a block for models of these sizes, growing."""
        if self.block_size is not None:
            return self.block_size
        if sizes[0] < sizes[-1] and self.max_blocks is None:
            return max(-(-sizes[0] // 10), -(-sizes[-1] // 30))
        return -(-sizes[-1] // (10 if self.max_blocks is None else self.max_blocks))


@dataclass(frozen=True, slots=True)
class MeasureTask:
    """One binary problem: the data of a `Task` and the measure with its weight C."""

    data: Task
    measure: Measure
    C: float

    @property
    def intercept(self) -> bool:
        """Whether b is free."""
        return self.data.intercept and self.measure.intercept == "free"

    @property
    def weight(self) -> FloatArray | None:
        """The sample weights, where the measure has them and they differ from 1."""
        weight = self.data.sample_weight
        return weight if self.measure.weighted and np.any(weight != 1.0) else None

    def cut(self, z: FloatArray) -> Cut:
        """Return the cut that is tight at scores z."""
        return self.measure.cut(z, self.data.y, self.weight)

    def constant_cuts(self) -> list[Cut]:
        """Return the cuts of an intercept of +-infinity, where it is free."""
        if not self.intercept:
            return []
        return self.measure.constant_cuts(self.data.y, self.weight)

    def without_features(self) -> tuple[float, float]:
        """Return the best intercept of the model without features, and its objective.

        R along constant scores is convex and piecewise linear: the crossing of two cuts is the next
        b.
        """
        n = self.data.y.size

        def line(b: float) -> tuple[float, float]:
            cut = self.cut(np.full(n, b))
            return cut.at(np.full(n, b)), -float(cut.beta.sum())

        if not self.intercept:
            return 0.0, self.C * max(0.0, line(0.0)[0])
        # Value at 0 and slope of the two outermost lines.
        rising, falling = sorted(
            ((cut.delta, -float(cut.beta.sum())) for cut in self.constant_cuts()),
            key=lambda found: -found[1],
        )
        best, answer = np.inf, 0.0
        for _ in range(50):
            b = (falling[0] - rising[0]) / (rising[1] - falling[1])
            value, slope = line(b)
            if value < best:
                best, answer = value, b
            if value <= rising[0] + rising[1] * b + 1e-9 * abs(value):
                break
            if slope >= 0.0:
                rising = (value - slope * b, slope)
            else:
                falling = (value - slope * b, slope)
        return answer, self.C * max(0.0, best)

    def first_vector(self) -> tuple[FloatArray, float]:
        """Return the vector of the first scan, and its delta: sum_k alpha_k (beta_k, delta_k)."""
        y = self.data.y
        if self.intercept:
            # The mixture of the two constant labellings with sum(beta) = 0.
            one, other = self.constant_cuts()
            up, down = float(one.beta.sum()), float(other.beta.sum())
            share = down / (down - up)
            vector = share * one.beta + (1.0 - share) * other.beta
            return self.C * vector, self.C * (share * one.delta + (1.0 - share) * other.delta)
        cut = self.cut(np.zeros(y.size))
        beta = average_by_class(cut.beta, y, self.weight)
        return self.C * beta, self.C * cut.delta


# The inner layer of selection for a measure: cutting planes to a certified gap.
#
#     min_{v, b}  1/2 (sum_t ||v_t||)^2 + C R(sum_t X_{S_t} v_t + b)
#
# over given blocks of features S_1, ..., S_T. Published: a cut at the solution of the program over
# the cuts, in every round (Mao and Tsang 2013, Algorithm 2). The line search (OCAS, Franc and
# Sonnenburg 2008) goes from the best point towards that of the program and adds cuts at the best
# point on the way and close by: those at the points of the program itself, far away, say little.


@dataclass(frozen=True, slots=True)
class InnerLayerTuning:
    """Constants of the cutting planes over given blocks."""

    loose: float = 1e-2  # gap of the problems that only generate blocks
    max_cuts: int = 2000  # rounds of one problem
    idle_rounds: int = 40  # after which a cut without weight is dropped
    no_weight: float = 1e-3  # of the largest
    line_calls: int = 6  # labellings of one line search
    master_share: float = 0.2  # of the gap: how exactly the program over the cuts is solved
    # Share of the way from the best point to that of the program, of a second cut.
    near: float = 0.03
    # Rounds without a smaller gap, after which the cut of the program is added too.
    patience: int = 10
    stalled: int = 100  # rounds without a smaller gap that end the method
    huge_c: float = 1e30  # from where a smaller C is looked for
    failed: float = 1e-2  # relative gap of a program over the cuts that rounding has spoilt


INNER_LAYER = InnerLayerTuning()
SolveMaster = Callable[[FloatArray, FloatArray, FloatArray, float, float], Master]


@dataclass(frozen=True, slots=True)
class InnerSolution:
    """The best point of a problem over blocks, and the last dual point, which bounds it."""

    point: CutPoint
    objective: float
    bound: float
    vector: FloatArray  # (n,) sum_k alpha_k beta_k of the last dual point
    delta: float  # sum_k alpha_k delta_k
    n_rounds: int
    status: Status


class InnerLayer:
    """The inner layer: cutting planes to a certified gap."""

    def __init__(
        self,
        task: MeasureTask,
        scale: float,
        *,
        line_search: bool = True,
        master: SolveMaster = solve_master,
    ) -> None:
        self._task = task
        self.scale = scale
        self._line_search = line_search
        self._solve_master = master
        self._C = task.C  # of the programs over the cuts: less where rounding spoils those of C
        # Cuts grow with the weights, as with the root of C.
        mean = 1.0 if task.weight is None else float(task.weight.mean())
        self._enough = min(1.0, mean**-2)

    def __call__(self, model: CutModel, start: CutPoint, tol: float) -> Solver[InnerSolution]:
        """Solve the problem over the blocks of a model, from a point of it."""
        task, cuts = self._task, model.cuts
        limit = tol * self.scale
        best, cut = start, task.cut(start.scores)
        objective = self._objective(model, best, cut)
        yield from model.add(cut)
        bound, gap, since = 0.0, np.inf, 0
        rounds = 0
        status = Status.CONVERGED
        while True:
            exactness = (
                INNER_LAYER.master_share * max(limit, objective - bound) / max(objective, limit)
            )
            found = self._program(model, min(1e-3, max(1e-9, exactness)))
            share, low = (1.0, found.bound) if self._C == task.C else self._stretched(model, found)
            bound = max(bound, low)
            if objective - bound < 0.999 * gap:
                gap, since = objective - bound, 0
            else:
                since += 1
            if objective - bound <= limit:
                break
            rest = self._objective(model, best, cut, self._C) - found.bound
            if self._C < task.C and rest <= limit * (self._C / task.C):
                status = Status.STALLED
                break
            if rounds == INNER_LAYER.max_cuts or since == INNER_LAYER.stalled:
                status = Status.MAX_ITER if rounds == INNER_LAYER.max_cuts else Status.STALLED
                break
            rounds += 1
            point = model.point(found)
            new = task.cut(point.scores)
            if self._line_search:
                best, cut, between = self._search(model, best, cut, point, new)
                adding = [task.cut(best.towards(point, INNER_LAYER.near).scores)]
                if between:
                    adding.append(cut)
                if not between or since >= INNER_LAYER.patience:
                    adding.append(new)
            else:
                adding = [new]
                value = self._objective(model, point, new)
                if value < objective:
                    best, cut = point, new
            objective = self._objective(model, best, cut)
            for one in adding:
                yield from model.add(one)
            cuts.rest(found.alpha, INNER_LAYER.no_weight * float(found.alpha.max()))
            mask = cuts.idle <= INNER_LAYER.idle_rounds
            if not mask.all():
                model.keep(mask)
        alpha = share * found.alpha
        vector, delta = cuts.combine(alpha), float(alpha @ cuts.delta)
        return InnerSolution(best, objective, bound, vector, delta, rounds, status)

    def _program(self, model: CutModel, tol: float) -> Master:
        """Return the solution of the program over the cuts.

        Where classes overlap, the sum of alpha is C, and X'beta adds up to weights that do not grow
        with C: beyond some C rounding leaves nothing of them. The program of a smaller C has
        nearly the same weights then, those of the least R.
        """
        cuts = model.cuts
        while True:
            found = self._solve_master(model.grams, cuts.delta, cuts.g, self._C, tol)
            if (
                found.value - found.bound <= INNER_LAYER.failed * abs(found.value)
                or self._enough >= self._C
            ):
                return found
            self._C = min(0.1 * self._C, INNER_LAYER.huge_c)

    def _stretched(self, model: CutModel, found: Master) -> tuple[float, float]:
        """Return a multiple of the dual point of a smaller C, and the bound that it gives for C."""
        delta, worst = float(found.alpha @ model.cuts.delta), model.quadratic(found.alpha)
        share = self._task.C / self._C
        if worst > 0.0:
            share = min(share, delta / (2.0 * worst))
        return share, share * delta - share * share * worst

    def _objective(
        self, model: CutModel, point: CutPoint, cut: Cut, C: float | None = None
    ) -> float:
        """Return the objective at a point where the cut is tight."""
        norms = np.sqrt(np.maximum(0.0, model.products(point, point)))
        loss = max(0.0, cut.at(point.scores))
        return 0.5 * float(norms.sum()) ** 2 + (self._task.C if C is None else C) * loss

    def _search(
        self, model: CutModel, start: CutPoint, first: Cut, end: CutPoint, last: Cut
    ) -> tuple[CutPoint, Cut, bool]:
        """Return the best point on a segment, its cut, and whether that cut is a new one.

        The penalty along the segment is known, and R is convex: two of its cuts, one that falls and
        one that rises, give the next share to try.
        """
        task = self._task
        squares = (
            model.products(start, start), model.products(start, end), model.products(end, end)
        )  # fmt: skip
        way = end.scores - start.scores

        def line(share: float, cut: Cut) -> tuple[float, float]:
            """Return value at 0 and slope of a cut along the segment, times C; 0 below 0."""
            slope = -float(cut.beta @ way)
            value = cut.at(start.scores)
            if value + share * slope <= 0.0:
                return 0.0, 0.0
            return task.C * value, task.C * slope

        def penalty(share: float) -> tuple[float, float]:
            """Return the penalty and its slope."""
            rest = 1.0 - share
            square = np.maximum(
                0.0, rest * rest * squares[0] + 2.0 * share * rest * squares[1]
                + share * share * squares[2],
            )  # fmt: skip
            turn = (1.0 - 2.0 * share) * squares[1] + share * squares[2] - rest * squares[0]
            norm = np.sqrt(square)
            total = float(norm.sum())
            slopes = np.divide(turn, norm, out=np.zeros_like(turn), where=norm > 0.0)
            return 0.5 * total * total, total * float(slopes.sum())

        low, high = 0.0, 1.0
        falling, rising = line(0.0, first), line(1.0, last)
        best = (penalty(0.0)[0] + falling[0], 0.0, first, False)
        at_end = penalty(1.0)[0] + rising[0] + rising[1]
        if at_end < best[0]:
            best = (at_end, 1.0, last, False)
        if penalty(1.0)[1] + rising[1] <= 0.0:
            return end, last, False
        for _ in range(INNER_LAYER.line_calls):
            share = _lowest(penalty, falling, rising, low, high)
            if not low < share < high:
                break
            point = start.towards(end, share)
            cut = task.cut(point.scores)
            here = line(share, cut)
            pen, slope = penalty(share)
            value = pen + here[0] + share * here[1]
            model_value = pen + max(falling[0] + share * falling[1], rising[0] + share * rising[1])
            if value < best[0]:
                best = (value, share, cut, True)
            if value - model_value <= 1e-3 * abs(best[0] - model_value) + 1e-12 * abs(value):
                break
            if slope + here[1] > 0.0:
                high, rising = share, here
            else:
                low, falling = share, here
        if best[1] in (0.0, 1.0):
            return (end if best[1] else start), best[2], False
        return start.towards(end, best[1]), best[2], True


def _lowest(
    penalty: Callable[[float], tuple[float, float]],
    falling: tuple[float, float],
    rising: tuple[float, float],
    low: float,
    high: float,
) -> float:
    """Return the minimiser over low..high of the penalty plus the larger of two lines."""
    bend = rising[1] - falling[1]
    middle = (falling[0] - rising[0]) / bend if bend > 0.0 else 0.5 * (low + high)
    middle = min(max(middle, low), high)
    slope = penalty(middle)[1]
    if slope + falling[1] > 0.0:
        side, high = falling[1], middle
    elif slope + rising[1] < 0.0:
        side, low = rising[1], middle
    else:
        return middle
    for _ in range(12):
        share = 0.5 * (low + high)
        if penalty(share)[1] + side > 0.0:
            high = share
        else:
            low = share
    return 0.5 * (low + high)


# The blocks of features of the outer layer: which come next, and what they bound.

CLOSE = 1e-9  # of the largest score: how far the scores of scans of float64 may be off


def dual_bound(delta: float, worst: float) -> float:
    """Return max_s s delta - s^2 worst over 0 <= s <= 1: any share of a dual point is one."""
    if delta <= 0.0:
        return 0.0
    s = min(1.0, delta / (2.0 * worst)) if worst > 0.0 else 1.0
    return s * delta - s * s * worst


class FeatureBlocks:
    """The features that are seen, and which come next."""

    def __init__(self, task: MeasureTask, n_features: int, block_size: int) -> None:
        self._forced = task.data.forced
        self._allowed = task.data.usable.copy()
        self._allowed[self._forced] = False
        self._n_allowed = int(self._allowed.sum())
        self._n_features = n_features
        self._design = task.data.design
        self._block_size = block_size
        self._seen = np.zeros(self._allowed.size, bool)
        self.n_seen = 0
        # Norms follow from means and scales only where these are of the standard deviations.
        scaled = task.data.scaling != "none"
        weight = task.data.sample_weight if scaled else None
        self._errors = score_errors(task.data.design, weight)

    @property
    def full(self) -> bool:
        """Whether there are as many features as there shall be."""
        return self.n_seen >= self._n_features

    @property
    def width(self) -> int:
        """The features of a block, forced ones in."""
        return self._block_size + self._forced.size

    def mass(self, scores: FloatArray, vector: FloatArray, size: int) -> float:
        """Return half the largest sum of squared scores of so many features, forced ones in.

        Scores are raised by what rounding may have taken from them.
        """
        if self._errors is not None:
            scores = np.abs(scores) + self._errors * np.linalg.norm(vector)
        square = scores**2
        forced = float(square[self._forced].sum())
        square[~self._allowed] = -1.0
        best = largest(square, min(max(0, size - self._forced.size), self._n_allowed))
        return 0.5 * (forced + float(square[best].sum()))

    def _sum_again(self, magnitude: FloatArray, vector: FloatArray) -> None:
        """Put scores from gathered columns instead of those that may decide about a block.

        Those of a scan depend on the storage of X, in their last bits or, summed in float32, in
        more: ties and the order of features must not.
        """
        reach = min(self._block_size + self.n_seen, self._n_allowed)
        if reach == 0:
            return
        last = float(np.partition(magnitude, magnitude.size - reach)[magnitude.size - reach])
        error = np.full(magnitude.size, CLOSE * float(magnitude.max()))
        if self._errors is not None:
            error += self._errors * np.linalg.norm(vector)
        lowest = last - float(error[magnitude >= last].max())
        decisive = np.flatnonzero(self._allowed & (magnitude + error >= lowest))
        for features in feature_blocks(decisive, self._design.shape[0], IN_MEMORY):
            # One product for each column: those of a matrix depend on the columns beside it.
            products = gather(self._design, features).dot_each(vector)
            products -= float(vector.sum()) * offsets(self._design, features)
            magnitude[features] = np.abs(products)

    def of_budget(
        self, scores: FloatArray, vector: FloatArray
    ) -> tuple[IndexArray, IndexArray] | None:
        """Return the new features of the next block, best first, and the block, under the budget.

        None: there are no more features.
        """
        magnitude, block = self._most_violated(scores, vector)
        missing = self._n_features - self.n_seen
        block = fit_budget(block, magnitude, self._seen, self._block_size, missing, self._forced)
        new = self._enter(block, magnitude)
        return (new, np.sort(block)) if new.size else None

    def most_violated(
        self, scores: FloatArray, vector: FloatArray
    ) -> tuple[IndexArray, IndexArray]:
        """Return the new features of the most violated block, best first, and the block."""
        magnitude, block = self._most_violated(scores, vector)
        return self._enter(block, magnitude), np.sort(block)

    def _most_violated(
        self, scores: FloatArray, vector: FloatArray
    ) -> tuple[FloatArray, IndexArray]:
        """Return what features count by, -1 where by nothing, and the block: forced ones first."""
        magnitude = np.abs(scores)
        magnitude[~self._allowed] = -1.0
        self._sum_again(magnitude, vector)
        best = largest(magnitude, min(self._block_size, self._n_allowed))
        return magnitude, np.concatenate([self._forced, best])

    def _enter(self, block: IndexArray, magnitude: FloatArray) -> IndexArray:
        """Take note of the features of a block; return those that were not seen before."""
        new = unseen(block, self._seen, magnitude)
        self._seen[new] = True
        self.n_seen += new.size
        return new


# Fits over some features, and the models that they are on the user's scaling of X.


@dataclass(frozen=True, slots=True)
class Fit:
    """A model on the selection scaling."""

    support: IndexArray  # in order of entry
    coef: FloatArray
    inner: InnerSolution


def add_constant_cuts(task: MeasureTask, model: BlockModel | FullModel) -> Solver[None]:
    """Give a model the cuts of constant scores, for good."""
    for cut in task.constant_cuts():
        yield from model.add(cut, keep=True)


def refitted(
    model: BlockModel, sizes: Sequence[int], b: float, solve: InnerLayer, tol: float
) -> Solver[dict[int, Fit]]:
    """Fit the first features of the model, as many as each size says, as one block."""
    fits = {}
    for k in sizes:
        features = model.features[:k]
        one = model.restricted(features)
        found = yield from solve(one, one.zero(b), tol)
        fits[k] = Fit(features, one.coef(found.point)[:k], found)
    return fits


def selection_of(
    task: MeasureTask,
    support: IndexArray,
    coef: FloatArray,
    fit: InnerSolution,
    bound: float | None,
    entered: list[IndexArray],
) -> Selection:
    """Return the model on the user's scaling of X, the threshold taken from its intercept."""
    data = task.data
    position = np.argsort(support, kind="stable")
    support, coef = support[position], coef[position]
    threshold = task.measure.threshold(fit.point.scores, data.y, task.weight)
    coef, intercept = on_scaling_of_x(data.design, support, coef, fit.point.b - threshold)
    steps = np.zeros(support.size, np.int64)
    for number, features in enumerate(entered, start=1):
        steps[(steps == 0) & np.isin(support, features)] = number
    return Selection(
        support, coef, intercept, task.C, steps, None,
        math.nan, math.nan, no_criteria(), objective=fit.objective, bound=bound,
    )  # fmt: skip


# The problem over all features, itself: of one block, or by blocks to a certified gap.
#
# With B features per block it is (P). Blocks are added until no block of B features,
# of all that there are, lowers the objective by more than the gap: every dual point bounds (P) from
# below by the block that it violates most, which the scan for the next block finds. With all
# features in one block it is the support vector machine for the measure.

# Numbers up to which the model of all features gathers them: faster than two passes for a cut. Of
# few rows the cuts are what takes memory.
MOST_GATHERED, FEW_ROWS = 1 << 22, 500
SHARE = 0.5  # of the gap: how exactly the problems over the blocks are solved at last
AHEAD = 0.3  # of the gap that there is: how exactly until then
NONE = np.empty(0, np.int64)


def one_block(
    task: MeasureTask,
    cuts: Cuts,
    b: float,
    solve: InnerLayer,
    request: MeasureRequest,
    clock: PhaseClock,
) -> Solver[Path]:
    """Fit the model of all usable features."""
    data = task.data
    features = np.flatnonzero(data.usable)
    begin = time.perf_counter()
    model: BlockModel | FullModel
    if max(data.y.size, FEW_ROWS) * features.size <= MOST_GATHERED:
        model = BlockModel(data.design, cuts, features.size)
        model.enter(features, features)
    else:
        model = FullModel(data.design, cuts, features)
    yield from add_constant_cuts(task, model)
    fit = yield from solve(model, model.zero(b), request.tol)
    if isinstance(model, BlockModel):
        coef = model.coef(fit.point)
    else:
        coef = yield from model.weights(fit.point.w)
    seconds_of = {"solve": time.perf_counter() - begin}
    step = _step(fit, solve.scale, cuts.size, features.size, features, seconds_of)
    clock.add_history([step])
    selection = selection_of(task, features, coef, fit, fit.bound, [features])
    return Path({features.size: selection}, features, (step,), fit.status, step.extra["gap"])


def to_gap(
    task: MeasureTask,
    cuts: Cuts,
    b: float,
    solve: InnerLayer,
    request: MeasureRequest,
    clock: PhaseClock,
) -> Solver[Path]:
    """Solve the problem over all features to a gap of `tol`, by blocks of `block_size`.

    There are as many blocks as that takes, or `max_blocks`. The model is the solution over them, on
    the union of their features, and its bound is one of (P); with `refit` it is that of the union
    as one block, and its bound one of all supports of as many features.
    """
    data, scale, exact = task.data, solve.scale, SHARE * request.tol
    most = np.inf if request.max_blocks is None else request.max_blocks
    n_usable = int(data.usable.sum())
    blocks = FeatureBlocks(task, n_usable, request.block_of([n_usable]))
    model = BlockModel(data.design, cuts)
    yield from add_constant_cuts(task, model)
    vector, delta = task.first_vector()
    answer: InnerSolution | None = None
    found: list[IndexArray] = []
    history: list[Step] = []
    gap, outer, limit = 1.0, 0.0, np.inf
    while True:
        scores = yield Scan(data.design, vector)
        begin = time.perf_counter()
        outer = max(outer, dual_bound(delta, blocks.mass(scores, vector, blocks.width)))
        if answer is not None:
            gap = (answer.objective - outer) / scale
            history[-1] = replace(history[-1], extra={**history[-1].extra, "outer_bound": outer})
            if gap <= request.tol:
                status = Status.CONVERGED
                break
        start = model.zero(b) if answer is None or request.published else answer.point
        entered, block = NONE, NONE
        if len(found) < most:
            entered, block = blocks.most_violated(scores, vector)
        if block.size and not any(np.array_equal(block, old) for old in found):
            found.append(block)
            model.enter(entered, block)
            start = model.extended(start)
            limit = exact if request.published else max(exact, min(INNER_LAYER.loose, AHEAD * gap))
        elif limit > exact:
            limit = exact
        else:
            status = Status.REPEATED if block.size else Status.MAX_BLOCKS
            break
        seconds_of = {"gather": time.perf_counter() - begin}
        begin = time.perf_counter()
        if request.published:
            model = BlockModel.of_blocks(model, Cuts.like(cuts))
            yield from add_constant_cuts(task, model)
        answer = yield from solve(model, start, limit)
        vector, delta = answer.vector, answer.delta
        seconds_of["solve"] = time.perf_counter() - begin
        history.append(_step(answer, scale, model.cuts.size, blocks.n_seen, entered, seconds_of))
    assert answer is not None
    clock.add_history(history)
    k, fit, bound = blocks.n_seen, Fit(model.features, model.coef(answer.point), answer), outer
    if request.refit:
        with clock.phase("refit"):
            fit = (yield from refitted(model, [k], b, solve, request.tol))[k]
        scores = yield Scan(data.design, fit.inner.vector)
        bound = dual_bound(fit.inner.delta, blocks.mass(scores, fit.inner.vector, k))
        gap = max(gap, (fit.inner.objective - fit.inner.bound) / scale)
    entered_at = [step.entered for step in history]
    selection = selection_of(task, fit.support, fit.coef, fit.inner, bound, entered_at)
    return Path({k: selection}, model.features, tuple(history), status, gap)


def _step(
    answer: InnerSolution,
    scale: float,
    n_cuts: int,
    n_features: int,
    entered: IndexArray,
    seconds_of: dict[str, float],
) -> Step:
    extra = {
        "without_features": scale,
        "gap": (answer.objective - answer.bound) / scale,
        "inner_iterations": float(answer.n_rounds),
        "cuts": float(n_cuts),
    }
    return Step(
        answer.objective, answer.bound, n_features, entered, seconds_of, extra, answer.status
    )


def select_by_measure(
    task: MeasureTask,
    sizes: Sequence[int] | None,
    request: MeasureRequest,
    *,
    seconds: dict[str, float] | None = None,
    master: SolveMaster = solve_master,
) -> Solver[Path]:
    """Select features for a measure by the two layers, exactly as many as each of the sizes says.

    Parameters
    ----------
    sizes : growing. None: the problem over all usable features, of one block, or by blocks of
        `block_size` to a gap of `tol`.
    seconds : filled with the seconds of the phases.
    master : solver of the program over the cuts.

    Returns
    -------
    Path, by a generator of scans. Every selection has the value of its problem and, with `refit`, a
    lower bound over all supports of its size.
    """
    tol, refit, published = request.tol, request.refit, request.published
    clock = PhaseClock(seconds)
    data = task.data
    cuts = Cuts(data.design.shape[0], task.measure.labels and task.weight is None, task.intercept)
    b, scale = task.without_features()
    _check_loss(task, scale)
    solve = InnerLayer(task, scale, line_search=not published, master=master)
    if sizes is None:
        whole = one_block if request.block_size is None else to_gap
        return (yield from whole(task, cuts, b, solve, request, clock))
    model = BlockModel(data.design, cuts, sizes[-1])
    blocks = FeatureBlocks(task, sizes[-1], request.block_of(sizes))
    history: list[Step] = []
    yield from add_constant_cuts(task, model)
    vector, delta = task.first_vector()
    best: CutPoint | None = None
    answer: InnerSolution | None = None
    objective, bound, outer = scale, 0.0, 0.0
    bounds = dict.fromkeys(sizes, 0.0)  # of all models of a size: any dual point gives one
    status = Status.BUDGET
    while True:
        scores = yield Scan(data.design, vector)
        begin = time.perf_counter()
        block_found = blocks.of_budget(scores, vector)
        outer = max(outer, dual_bound(delta, blocks.mass(scores, vector, blocks.width)))
        for k in sizes:
            bounds[k] = max(bounds[k], dual_bound(delta, blocks.mass(scores, vector, k)))
        if block_found is None:
            status = Status.REPEATED
            break
        entered, block = block_found
        model.enter(entered, block)
        seconds_of = {"gather": time.perf_counter() - begin}
        begin = time.perf_counter()
        last = blocks.full
        extra: dict[str, float] = {"outer_bound": outer, "without_features": scale}
        step_status: Status | None = None
        if not last or published or not refit:
            if published:
                fresh = BlockModel.of_blocks(model, Cuts.like(cuts))
                yield from add_constant_cuts(task, fresh)
                model, cuts, best = fresh, fresh.cuts, None
            start = model.zero(b) if best is None else model.extended(best)
            exact = published or (last and not refit)
            answer = yield from solve(model, start, tol if exact else max(tol, INNER_LAYER.loose))
            best, objective, bound = answer.point, answer.objective, answer.bound
            vector, delta = answer.vector, answer.delta
            extra |= {
                "gap": (objective - bound) / scale,
                "inner_iterations": float(answer.n_rounds),
                "cuts": float(cuts.size),
            }
            step_status = answer.status
        seconds_of["solve"] = time.perf_counter() - begin
        history.append(
            Step(objective, bound, blocks.n_seen, entered, seconds_of, extra, step_status)
        )
        if last:
            break
    clock.add_history(history)

    order = model.features
    if refit:
        with clock.phase("refit"):
            fits = yield from refitted(model, sizes, b, solve, tol)
        answers = yield [Scan(data.design, fit.inner.vector) for fit in fits.values()]
        for (k, fit), scores in zip(fits.items(), answers, strict=True):
            mass = blocks.mass(scores, fit.inner.vector, k)
            bounds[k] = max(bounds[k], dual_bound(fit.inner.delta, mass))
    else:
        assert answer is not None
        fits = {sizes[-1]: Fit(order, model.coef(answer.point), answer)}
    entered_at = [step.entered for step in history]
    known = bounds if refit else dict.fromkeys(sizes)
    selections = {
        k: selection_of(task, fit.support, fit.coef, fit.inner, known[k], entered_at)
        for k, fit in fits.items()
    }
    gap = max((fit.inner.objective - fit.inner.bound) / scale for fit in fits.values())
    return Path(selections, order, tuple(history), status, gap)


def _check_loss(task: MeasureTask, scale: float) -> None:
    """Raise where the objective of the model without features leaves nothing to learn."""
    if scale <= 0.0:
        raise ValueError(
            Message(
                Parameter.of("measure", task.measure.name),
                " has no loss for any scores here, so nothing can be learnt from these rows. Use "
                "another measure.",
            )
        )

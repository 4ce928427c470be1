"""Features at a controlled false discovery rate, by random experiments with virtual dummies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from ..core import validation as validate
from ..core.budgets import check_usable
from ..core.errors import Message, Parameter, ParameterError
from ..core.frames import in_memory
from ..core.memory import machine_memory
from ..core.parallel import map_threads, one_blas_thread, solver_threads
from ..core.targets import check_labels, check_target
from ..core.types import Design, FloatArray, IndexArray, Smooth
from ..data.gathered import gather
from ..data.operations import Mixed, Whitened, Whitening, center_scale, dense
from ..data.views import IN_MEMORY, Scaled, as_slice, feature_blocks
from ..estimators.base import with_parameters
from ..estimators.budget import BudgetRegressor
from ..estimators.covariates import covariates_of
from ..losses import LeastSquares, Logistic, adjusted
from .selected_columns import SelectedColumns

# What random experiments with dummies find: votes, stand-ins, and the share that is false.

SHOWN = 20  # features that a printed result has
POINTS = 2000  # of an integral over a law of votes


# Of features: the probability of each that another one is meant, and the likeliest other.
StandIns = Callable[[IndexArray], tuple[FloatArray, IndexArray]]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Features with enough votes at one number of dummies."""

    features: IndexArray  # (m,) ascending
    votes: FloatArray  # (m,) the share of the experiments in which they entered
    false: float  # how many without any effect are expected
    least: float  # the share of the votes that was asked for
    n_entered: int  # the dummies after which each experiment ended


@dataclass(frozen=True, slots=True, repr=False)
class Discoveries:
    """Features with enough votes, and which of them are discoveries at the level."""

    features: IndexArray  # (m,) with enough votes, the least doubtful first
    votes: FloatArray  # (m,) the share of the experiments in which they entered
    stand_in: FloatArray  # (m,) the probability that a correlated feature is meant
    rivals: IndexArray  # (m,) the likeliest of these, -1 where there is none
    n_found: int  # how many of `features`, from the first on, are discoveries
    estimate: float  # of the share of false ones among these, at most the level; 0 of none
    least_votes: float  # the share of the votes that was asked for
    n_entered: int  # T, the dummies after which each experiment ended
    n_dummies: int  # L, of how many
    n_candidates: int  # p, the features that vary
    n_experiments: int  # K
    fdr: float
    n_covariates: int = 0  # independent ones, beside which features were compared
    n_blocks: int | None = None  # of samples that belong together; None: all are independent
    # Of two errors of a block; NaN where the rows are blocks, and None without any.
    correlation: float | None = None
    names: tuple[str, ...] | None = None  # of `features`, where they have some
    rival_names: tuple[str, ...] | None = None

    @property
    def found(self) -> IndexArray:
        """The discoveries, ascending."""
        return np.sort(self.features[: self.n_found])

    def __repr__(self) -> str:
        """Return the features with enough votes, as a table."""
        head = (
            f"{self.n_found} of {self.n_candidates} features at a false discovery rate of "
            f"{self.fdr:g}"
        )
        if not self.features.size:
            return f"{head}."
        names = [str(one) for one in self.features] if self.names is None else self.names
        rivals = self.rival_names or [str(one) if one >= 0 else "" for one in self.rivals]
        width = max(len("features"), *(len(one) for one in names[:SHOWN]))
        lines = [
            f"{head} (estimated {self.estimate:.3f}).",
            f"{self.n_experiments} experiments with {self.n_dummies} dummies, until "
            f"{self.n_entered} of these entered; {self.least_votes:.0%} of the votes.",
            *self._beside(),
            f"{'features':<{width}}  votes  stand-in  for",
        ]
        for place in range(min(SHOWN, self.features.size)):
            mark = "" if place < self.n_found else "  (not counted)"
            lines.append(
                f"{names[place]:<{width}}  {self.votes[place]:5.0%}  {self.stand_in[place]:8.1%}"
                f"  {rivals[place]}{mark}".rstrip()
            )
        if self.features.size > SHOWN:
            lines.append(f"and {self.features.size - SHOWN} more")
        return "\n".join(lines)

    def _beside(self) -> list[str]:
        """Return a line on covariates and blocks, where there are any."""
        parts = [f"{self.n_covariates} covariate(s)"] if self.n_covariates else []
        if self.n_blocks is not None and self.correlation is not None:
            within = "the rows are their means"
            if self.correlation == self.correlation:
                within = f"with a correlation of {self.correlation:.2f} within them"
            parts.append(f"{self.n_blocks} blocks of samples, {within}")
        return [f"Beside {'; '.join(parts)}."] if parts else []


def best_of(
    candidates: Sequence[Candidates], level: float, stand_ins: StandIns
) -> tuple[Candidates, FloatArray, IndexArray, int, float]:
    """Return the candidates with the most discoveries, the least doubtful first.

    Beside them their stand-ins and rivals, the number of discoveries and its estimate. Stand-ins
    are asked for as seldom as can be. Of none with discoveries it is the largest set.
    """
    best: tuple[Candidates, FloatArray, IndexArray, int, float] | None = None
    known: dict[bytes, tuple[FloatArray, IndexArray]] = {}
    for one in sorted(candidates, key=lambda one: (-one.features.size, one.false)):
        if best is not None and one.features.size <= best[3]:
            break
        key = one.features.tobytes()
        if key not in known:
            known[key] = stand_ins(one.features)
        doubt, rivals = known[key]
        order = np.lexsort((one.features, -one.votes, doubt))
        estimate = (one.false + np.cumsum(doubt[order])) / np.arange(1, order.size + 1)
        within = np.flatnonzero(estimate <= level)
        n_found = int(within[-1]) + 1 if within.size else 0
        if best is None or n_found > best[3]:
            sorted_one = replace(one, features=one.features[order], votes=one.votes[order])
            share = float(estimate[n_found - 1]) if n_found else 0.0
            best = sorted_one, doubt[order], rivals[order], n_found, share
    if best is None:
        raise ParameterError("there", "must be candidates", "none")
    return best


@cache
def expected_false(n_votes: int, n_experiments: int, n_entered: int) -> float:
    """Return how many features without any effect are expected to get so many votes.

    Of as many such features as dummies, each experiment with dummies of its own until n_entered of
    them, T, have entered. With l the number of dummies that are expected before a feature, T of
    them are not reached with probability Q_T(l) = P(Poisson(l) < T), and features have all l alike:

        integral over l > 0 of P(Binomial(K, Q_T(l)) >= votes) = E Q_T^-1(U),

    U of the law Beta(votes, K - votes + 1). With T = 1 it is the sum of 1 / i for i from votes to
    K. It is exact for the first feature that enters, and an upper bound after dummies have entered.
    """
    shares = (np.arange(POINTS) + 0.5) / POINTS
    u = special.betaincinv(n_votes, n_experiments - n_votes + 1, shares)
    return float(special.gammainccinv(n_entered, u).mean())


# Dummies that are never columns: of so many as are asked for, those that could enter a model.
#
# A dummy is a direction drawn uniformly among all that are orthogonal to the constant. Features
# enter a model by their partial correlation t with the target, and the law of t is known for
# dummies:
#
# - Given m columns in the model, t is a coordinate of a point drawn uniformly on the sphere of the
#   d = n - 1 - m dimensions that are left, so that t^2 has the law Beta(1/2, (d - 1) / 2).
# - Where a column enters whose own partial correlation is r, the next t is a function of this one
#   and of another coordinate, drawn independently; and so is this one of the next one.
#
# A dummy of |t| below the best feature's has no effect, and nothing is drawn for it. Those that
# exceed that for the first time at a step are drawn there: as many as exceed it at all, each with a
# past, without those whose past exceeded it. Where the number of dummies has the law of Poisson,
# these are independent from step to step, and all is as if every dummy had been drawn.


def coordinates(rng: np.random.Generator, dimension: int, size: int) -> FloatArray:
    """Return coordinates of points drawn uniformly on the unit sphere of so many dimensions."""
    first = rng.standard_normal(size)
    return np.asarray(first / np.sqrt(first**2 + rng.chisquare(dimension - 1, size)))


def exceeding(rng: np.random.Generator, dimension: int, count: float, least: float) -> FloatArray:
    """Return those coordinates of more than `least` in magnitude, of a Poisson number of points.

    count : its mean.
    """
    shape = 0.5, 0.5 * (dimension - 1)
    tail = float(special.betaincc(*shape, min(least, 1.0) ** 2))
    size = rng.poisson(count * tail)
    square = special.betainccinv(*shape, tail * rng.random(size))
    return np.asarray(np.where(rng.random(size) < 0.5, -1.0, 1.0) * np.sqrt(square))


def after(rng: np.random.Generator, t: FloatArray, entered: float, dimension: int) -> FloatArray:
    """Return partial correlations once a column of this one has entered.

    dimension : before it did.
    """
    across = np.sqrt(1.0 - t**2) * coordinates(rng, dimension - 1, t.size)
    length = np.sqrt(1.0 - entered**2)
    # The part along the column that enters is lost.
    lost = entered * t + length * across
    return np.asarray((length * t - entered * across) / np.sqrt(np.maximum(1.0 - lost**2, 1e-300)))


def before(rng: np.random.Generator, t: FloatArray, entered: float, dimension: int) -> FloatArray:
    """Return partial correlations before a column of this one entered, drawn given those after.

    dimension : before it did.
    """
    lost = coordinates(rng, dimension, t.size)
    return np.asarray(entered * lost + np.sqrt((1.0 - entered**2) * (1.0 - lost**2)) * t)


class Dummies:
    """The dummies of one experiment: those that exceeded the best feature, and did not enter.

    Parameters
    ----------
    rng : draws them.
    count : the mean of their number.
    """

    def __init__(self, rng: np.random.Generator, count: float) -> None:
        self.rng, self._count = rng, count
        self._near = np.empty(0)

    def enter(
        self, best: float, past: Sequence[tuple[float, float]], dimension: int
    ) -> float | None:
        """Return the partial correlation of the dummy that enters before the best feature, if any.

        best : |t| of that feature. past : of every step so far the best |t| and the partial
        correlation of what entered. dimension : what is left.
        """
        rng = self.rng
        first = exceeding(rng, dimension, self._count, best)
        then = first
        for back, (limit, entered) in enumerate(reversed(past), start=1):
            if not first.size:
                break
            then = before(rng, then, entered, dimension + back)
            new = np.abs(then) <= limit
            first, then = first[new], then[new]
        self._near = np.concatenate([self._near, first])
        if not self._near.size:
            return None
        place = int(np.argmax(np.abs(self._near)))
        t = float(self._near[place])
        if abs(t) <= best:
            return None
        self._near = np.delete(self._near, place)
        return t

    def follow(self, entered: float, dimension: int) -> None:
        """Take note that a column of this partial correlation has entered."""
        if self._near.size:
            self._near = after(self.rng, self._near, entered, dimension)


# What features and dummies compete for: a target beside columns that are in every model.
#
# With covariates A the null hypothesis is that x_j says nothing of y given A and the other
# features. All is compared in the space orthogonal to 1 and A: y and the columns have their parts
# there, and dummies are drawn there. The vectors of a scan lie in it, so that no column is changed:
# x_j'v is the product of the part of x_j. Of the parts only the norms are needed, from one pass.
#
# Two classes are y - P(y | A) of a logistic model, which is orthogonal to 1 and A, too. Beside A it
# has the mean 0 where that model is right; and where x_j is linear in A, whether it is right or
# not.

EXPLAINED = 1e-12  # of the variance of the target: less is rounding
SPANNED = 1e-5  # of a squared norm: what is left of a column that others span, in float32
LOST = 1e-8  # of a squared norm: what blocks leave of a column that they lose
DEPENDENT = 1e-6  # of the largest of columns of norm 1


@dataclass(frozen=True, eq=False)
class Competition:
    """The target, columns, and what of them counts."""

    design: Design  # of columns of squared norm n
    left: FloatArray  # (p,) the share of it beside the columns in every model; 0: no candidate
    y: FloatArray  # (n,) beside them
    free: FloatArray | None = None  # (n, r) an orthonormal basis of these; None: of the constant

    @property
    def n_free(self) -> int:
        """How many columns are in every model, independent ones."""
        return 1 if self.free is None else self.free.shape[1]


def residuals(free: FloatArray | None, columns: FloatArray) -> FloatArray:
    """Return what columns, (n,) or (n, m), have beside an orthonormal basis; None: the constant."""
    if free is None:
        return np.asarray(columns - columns.mean(axis=0))
    return np.asarray(columns - free @ (free.T @ columns))


def adjust(y: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the part of y beside covariates, and an orthonormal basis of 1 and these.

    columns : (n, q). A covariate that depends on earlier ones changes nothing.

    Raises
    ------
    ValueError
        Where they leave nothing of y.
    """
    n, classes = y.size, np.unique(y)
    loss: Smooth = LeastSquares()
    numbers = (y - y.mean()) / y.std()
    if classes.size == 2:
        loss, numbers = Logistic(), np.where(y == classes[1], 1.0, -1.0)
    own = adjusted(loss, numbers, columns, np.ones(n), free=True)
    free = own.basis / np.sqrt(n)
    part = -own.value_gradient(np.zeros(n), numbers, np.ones(n))[1]
    part = residuals(free, residuals(free, part))
    if free.shape[1] > n - 2 or part @ part <= EXPLAINED * n:
        raise ParameterError(
            "covariates",
            "must leave a part of y to explain",
            f"{free.shape[1] - 1} independent ones, which determine y in all {n} rows",
            "Leave some of them out.",
        )
    return part, free


def compete(design: Design, usable: np.ndarray, y: FloatArray, free: FloatArray) -> Competition:
    """Return the competition beside an orthonormal basis; one pass over X.

    design : of columns of squared norm n. usable : (p,) mask. y : (n,) beside `free`.
    """
    n, p = design.shape
    left = usable.astype(float)
    for start in range(0, p, design.block):
        stop = min(start + design.block, p)
        products = design.correlate(free / np.sqrt(n), start, stop)
        left[start:stop] -= (products**2).sum(axis=1)
    left[~usable | (left <= SPANNED)] = 0.0
    return Competition(design, left, y, free)


def compete_on(
    whitening: Whitening, design: Scaled, usable: np.ndarray, y: FloatArray, free: FloatArray
) -> Competition:
    """Return the competition on rows that are mixed within blocks; two passes over X."""
    n_rows, n = whitening.shape
    norms = squared_norms(whitening, design)
    kept = usable & (norms > LOST * n)
    size = np.sqrt(n_rows / np.where(kept, norms, 1.0))
    scaled = Scaled(design.base, design.mean, np.where(kept, design.scale * size, 0.0))
    vectors, sizes, _ = np.linalg.svd(whitening.of(free), full_matrices=False)
    free = vectors[:, sizes > DEPENDENT * sizes[0]]
    y = whitening.of(y)
    return compete(Whitened(scaled, whitening), kept, residuals(free, residuals(free, y)), free)


def squared_norms(whitening: Whitening, design: Design) -> FloatArray:
    """Return those of mixed columns, (p,), in one pass over X."""
    mixed, found = Whitened(design, whitening), np.empty(design.shape[1])
    ones = np.ones(mixed.shape[0])
    for features in feature_blocks(np.arange(found.size), whitening.shape[1], IN_MEMORY):
        own = as_slice(features)
        assert isinstance(own, slice)
        found[own] = mixed.moments(ones, own.start, own.stop)[1]
    return found


# Random experiments: forward selection among features and dummies, until enough dummies entered.
#
# All experiments share their steps until a dummy enters one of them; what they ask of X is answered
# for all of them in one pass a step. Of every model two numbers a feature are kept, in float32: the
# product with the residual, and what of the squared norm the model leaves.

BYTES = 8  # of a feature in a model
BUSY = 1 << 18  # products that keep several threads busy


@dataclass(eq=False)
class Experiment:
    """What entered a model: features in order, and how many of them before each dummy."""

    dummies: Dummies
    features: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def before_dummy(self, number: int) -> list[int]:
        """Return the features that entered before a dummy; the first one has number 1."""
        return self.features[: self.ends[number - 1]] if number <= len(self.ends) else self.features


@dataclass(eq=False)
class _Model:
    """A model, and the experiments that have it."""

    members: list[Experiment]
    residual: FloatArray  # (n,) of norm 1
    free: FloatArray | None  # (n, r) an orthonormal basis of what is in every model; None: of 1
    columns: FloatArray  # (n, m) an orthonormal basis of what entered
    scores: NDArray[np.float32]  # (p,) x_j' residual, of columns of norm 1
    left: NDArray[np.float32]  # (p,) the squared norm of what x_j has beside the model
    past: list[tuple[float, float]]  # of every step the best |t| of a feature, and what entered
    unexplained: float = 1.0  # the share of the variance of the target
    is_full: bool = False  # whether nothing is left to explain, or nothing to explain it with
    best: float = 0.0  # |t| of the best feature
    feature: int = -1
    entered: tuple[FloatArray, float] | None = None  # what the next pass has to be told

    def apart(self, member: Experiment) -> _Model:
        """Return the same model for one experiment alone."""
        return _Model(
            [member], self.residual, self.free, self.columns, self.scores.copy(),
            self.left.copy(), list(self.past), self.unexplained, best=self.best,
        )  # fmt: skip

    @property
    def dimension(self) -> int:
        """What of the space of the rows is beside the model."""
        n_free = 1 if self.free is None else self.free.shape[1]
        return int(self.residual.size - n_free - self.columns.shape[1])

    def enter(self, column: FloatArray, t: float) -> None:
        """Let a column enter: of norm 1, orthogonal to the model, t its product with `residual`."""
        for member in self.members:
            member.dummies.follow(t, self.dimension)
        self.past.append((self.best, t))
        self.unexplained *= 1.0 - t * t
        self.is_full = self.unexplained < EXPLAINED
        self.residual = self.residual - t * column
        self.residual /= max(np.linalg.norm(self.residual), np.finfo(float).tiny)
        self.columns = np.column_stack([self.columns, column])
        self.entered = column, t

    def enter_feature(self, column: FloatArray) -> None:
        """Let the best feature enter."""
        column = self._beside(column)
        t = float(np.clip(column @ self.residual, -1.0, 1.0))
        for member in self.members:
            member.features.append(self.feature)
        self.enter(column if t >= 0 else -column, abs(t))

    def enter_dummy(self, t: float) -> None:
        """Let a dummy of a partial correlation enter; the rest of its direction is drawn."""
        (member,) = self.members
        member.ends.append(len(member.features))
        across = self._beside(member.dummies.rng.standard_normal(self.residual.size))
        across -= self.residual * (self.residual @ across)
        across /= np.linalg.norm(across)
        self.enter(abs(t) * self.residual + np.sqrt(1.0 - t * t) * across, abs(t))

    def update(self, products: FloatArray, start: int) -> None:
        """Take the products of some features, from `start` on, with what entered."""
        own = slice(start, start + products.size)
        scores, left, new = self.scores[own], self.left[own], products.astype(np.float32)
        if self.past and self.entered is not None:
            t = self.entered[1]
            scores -= np.float32(t) * new
            scores /= np.float32(np.sqrt(1.0 - t * t))
            left -= new * new
        else:
            scores[:] = new
        inside = left > SPANNED
        partial = np.where(inside, np.abs(scores) / np.sqrt(np.where(inside, left, 1.0)), 0.0)
        place = int(np.argmax(partial))
        if partial[place] > self.best:
            self.best, self.feature = min(float(partial[place]), 1.0), start + place

    def _beside(self, column: FloatArray) -> FloatArray:
        """Return what a column has beside the model, of norm 1."""
        for _ in range(2):  # the second time takes away the rounding of the first
            column = residuals(self.free, column)
            column = column - self.columns @ (self.columns.T @ column)
        return np.asarray(column / np.linalg.norm(column))


class Experiments:
    """Random experiments on the same data.

    Parameters
    ----------
    design : of standardised columns.
    left : (p,) the share of each squared norm that is beside `free`; 0: no candidate.
    y : (n,) the target, beside `free` if that is given, else not constant.
    dummies : those of every experiment.
    n_steps : how many columns may enter a model.
    free : (n, r) an orthonormal basis of what is in every model; None: of the constant.
    """

    def __init__(
        self,
        design: Design,
        left: np.ndarray,
        y: FloatArray,
        dummies: Sequence[Dummies],
        n_steps: int,
        free: FloatArray | None = None,
    ) -> None:
        n, p = design.shape
        _check_room(p, len(dummies))
        self._design, self._n_steps = design, n_steps
        self.all = [Experiment(one) for one in dummies]
        self.n_passes = 0
        residual = residuals(free, y)
        residual /= np.linalg.norm(residual)
        first = _Model(
            list(self.all), residual, free, np.empty((n, 0)), np.zeros(p, np.float32),
            left.astype(np.float32), [],
        )  # fmt: skip
        first.entered = residual, 0.0
        self._models = [first]

    def run(self, n_dummies: int) -> bool:
        """Go on until so many dummies have entered; return whether they have in all experiments."""
        while models := [one for one in self._models if self._goes_on(one, n_dummies)]:
            self._scan(models)
            self._models += [new for model in models for new in self._step(model)]
            self._models = [one for one in self._models if one.members]
        return all(len(one.ends) >= n_dummies for one in self.all)

    def votes(self, n_dummies: int) -> tuple[IndexArray, IndexArray]:
        """Return the features that entered before so many dummies, and in how many experiments."""
        entered = [one.before_dummy(n_dummies) for one in self.all]
        return np.unique(
            np.concatenate([np.array(one, np.int64) for one in entered]), return_counts=True
        )

    def _goes_on(self, model: _Model, n_dummies: int) -> bool:
        short = any(len(one.ends) < n_dummies for one in model.members)
        return short and not model.is_full and model.columns.shape[1] < self._n_steps

    def _scan(self, models: list[_Model]) -> None:
        """Tell models what entered them, in one pass over X, and find their best features."""
        self.n_passes += 1
        n, p = self._design.shape
        asked = [one for one in models if one.entered is not None]
        vectors = np.column_stack([one.entered[0] for one in asked if one.entered]) / np.sqrt(n)
        for one in asked:
            one.best, one.feature = 0.0, -1
        for start in range(0, p, self._design.block):
            stop = min(start + self._design.block, p)
            products = self._design.correlate(vectors, start, stop)

            def update(place: int, found: FloatArray = products, first: int = start) -> None:
                asked[place].update(found[:, place], first)

            map_threads(update, range(len(asked)), None if products.size > BUSY else 1)
        for one in asked:
            one.entered = None

    def _step(self, model: _Model) -> list[_Model]:
        """Let the best of all enter; return the models of experiments that leave this one."""
        stay, leave = [], []
        for member in model.members:
            t = member.dummies.enter(model.best, model.past, model.dimension)
            if t is None:
                stay.append(member)
            else:
                own = model.apart(member)
                own.enter_dummy(t)
                leave.append(own)
        model.members = stay
        if stay and model.feature < 0:
            model.is_full = True
        elif stay:
            model.enter_feature(dense(self._design.gather(np.array([model.feature])))[:, 0])
        return leave


def _check_room(n_features: int, n_experiments: int) -> None:
    """Raise ValueError where the models of all experiments exceed the memory of this machine."""
    needed = BYTES * n_features * n_experiments
    if needed > machine_memory():
        raise ParameterError(
            "n_experiments",
            f"must be smaller: the models of {n_experiments} experiments on {n_features:,} "
            f"features take {needed / 2**30:.3g} GiB, and this machine has "
            f"{machine_memory() / 2**30:.3g} GiB",
        )


# Whether features of a model stand for others that they are correlated with.
#
# With z_i^2 = -d log(1 - t_i^2), t_i the partial correlation of feature i with the target given the
# model without feature j and d the dimension that is left, the likelihood of the model with i in
# the place of j is proportional to exp(z_i^2 / 2). Where one of j and its rivals is the one that
# counts, and each is as likely beforehand, it is not j with the probability
#
#     1 - exp(c z_j^2 / 2) / sum over j and its rivals of exp(c z_i^2 / 2),
#
# as in a regression with a single effect. Rivals are correlated with j, given the rest of the
# model, by more than one of p independent features would be. The power c of the likelihood would be
# 1 if no effects were missing from the model; with missing ones it is too sure, and 0.8 was chosen
# in simulations (benchmarks/results/false_discoveries.md is of other ones).
#
# Source: Wang, Sarkar, Carbonetto and Stephens, A simple new approach to variable selection in
# regression, with application to genetic fine mapping, JRSS B 82 (2020): the single effect.

POWER = 0.8  # of the likelihood
ROUNDING = 1e-8  # of a squared norm: rounding
LARGEST_EXPONENT = 600.0  # of an exponent


def stand_ins(competition: Competition, features: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Return for each feature the probability that another one is meant, and the likeliest other.

    One pass over X.

    features : (k,) of the model, linearly independent, k below n - 2.

    Returns
    -------
    (k,) probabilities, and (k,) features, -1 where there is no rival.
    """
    design, free = competition.design, competition.free
    n, p = design.shape
    k = features.size
    d = n - k - competition.n_free + 1
    basis, triangle = np.linalg.qr(residuals(free, dense(design.gather(features))))
    y = residuals(free, competition.y)
    y /= np.linalg.norm(y)
    residual = y - basis @ (basis.T @ y)
    # Row j of the inverse of R is what column j has beside the others, but for its length.
    beside = np.linalg.pinv(triangle).T
    beside /= np.linalg.norm(beside, axis=0)
    own = beside.T @ (basis.T @ y)  # (k,) the product of the target with these directions
    rest = residual @ residual + own**2  # of the target without j
    exponent = -0.5 * POWER * d * np.log1p(-np.minimum(own**2 / rest, 1.0 - 1e-15))
    limit = _largest_of_chance(p, d)
    total, likeliest = np.zeros(k), np.full(k, -1, np.int64)
    largest = np.full(k, -np.inf)
    vectors = np.column_stack([basis, residual]) / np.sqrt(n)
    for start in range(0, p, design.block):
        stop = min(start + design.block, p)
        products = design.correlate(vectors, start, stop)
        along = products[:, :k] @ beside
        left = np.maximum(competition.left[start:stop] - (products[:, :k] ** 2).sum(axis=1), 0.0)
        for place in range(k):
            norm = left + along[:, place] ** 2
            rivals = np.flatnonzero((norm > ROUNDING) & (along[:, place] ** 2 > limit**2 * norm))
            rivals = rivals[start + rivals != features[place]]
            if not rivals.size:
                continue
            score = products[rivals, k] + own[place] * along[rivals, place]
            t_square = score**2 / (norm[rivals] * rest[place])
            gain = -0.5 * POWER * d * np.log1p(-np.minimum(t_square, 1.0 - 1e-15)) - exponent[place]
            total[place] += np.exp(np.minimum(gain, LARGEST_EXPONENT)).sum()
            best = int(np.argmax(gain))
            if gain[best] > largest[place]:
                largest[place], likeliest[place] = gain[best], start + rivals[best]
    return total / (1.0 + total), likeliest


def _largest_of_chance(p: int, dimension: int) -> float:
    """Return the correlation that one of p independent directions is expected to exceed."""
    square = special.betainccinv(0.5, 0.5 * (dimension - 1), min(1.0 / p, 1.0))
    return float(np.sqrt(square))


# Blocks of samples that belong together: families, the measurements of one person, litters.
#
# Errors of different blocks are independent; those of a block have a covariance of three parts,
#
#     y = X w + A g + e,    Cov(e) = s^2 V,    V = (1 - a - b) I + a J + b K,    a, b >= 0,
#
# J of 1 within blocks, which is an intercept of each block, and K the mean of x_j x_j' over all
# features, within blocks: rows that are alike in the features may be so in their errors, as kin
# are. T with T'T = V^(-1) makes errors independent, of one variance. X, A and 1 are mixed by T as
# well, and dummies are drawn for the rows of T y. With a and b of the largest likelihood (of
# contrasts, REML) the derivatives of it say of r, T y less what T A explains,
#
#     r'T M T'r / |r|^2  =  trace(T M T') / trace(1)    for M of I, J and K,
#
# traces in the space that T A leaves: a feature without effect whose rows have the covariance M, or
# any sum of these, has a product with r of the variance of a dummy, whatever the true errors are;
# at a = 0 or b = 0 of at most that.
#
# Where the target, or all features, are constant within blocks, the rows say nothing but the means
# of blocks, and these are the rows.

LARGE = 200  # rows of a block, of which all pairs are taken to be alike
LARGEST_CORRELATION = 0.999  # a + b
GRID = 0.0, 0.1, 0.25, 0.45, 0.65, 0.85, LARGEST_CORRELATION
SHARES = 0.0, 0.25, 0.5, 0.75, 1.0
CONSTANT = 1e-8  # of a squared norm: rounding of what is constant within blocks


def blocks_of(groups: Any, n_samples: int) -> IndexArray | None:
    """Return the block of every row as numbers from 0 on; None where each is a block by itself.

    groups : (n_samples,) labels, numbers or text, or None.
    """
    if groups is None:
        return None
    labels = np.asarray(in_memory(groups))
    if labels.shape != (n_samples,):
        raise ParameterError(
            "groups",
            Message(
                "must have a label for every row of ", Parameter("X"), f", shape ({n_samples},)"
            ),
            f"shape {labels.shape}",
        )
    values = labels.tolist()
    check_labels(values, "row of X", "groups")
    number: dict[Any, int] = {}
    code = np.array([number.setdefault(one, len(number)) for one in values], np.int64)
    if len(number) == 1:
        raise ParameterError(
            "groups",
            "must have several labels",
            f"{validate.shown(values[0])} in all {n_samples} rows, so that no two of them are "
            "independent",
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
        bounds = [(0.0, LARGEST_CORRELATION), (0.0, shares[-1])]
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
        columns = dense(design.gather(as_slice(features)))
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
    return found, bool(total - between > CONSTANT * total)


LEAST_ROWS = 10
# Of a feature; as many in the mean exceed the best of features without effect, and are drawn.
MOST_DUMMIES = 1000
ROUNDS = 5  # of the covariance within blocks, beside the discoveries


@with_parameters
class FalseDiscoverySelector(SelectedColumns):
    """The features of a linear model, with a bound on the share of them that are false.

    With H the features that have no effect given all others, and S those that are chosen,

        E |S and H| / max(|S|, 1)  <=  fdr,

    as far as the assumptions of the notes hold. In each of K random experiments features enter a
    linear model one by one, the one of the largest partial correlation first, among L dummies,
    until T of these have entered. A feature has a vote for each experiment that it entered before.
    Votes and T are chosen so that the estimate of the false share is at most the level, with the
    most features. No dummy is ever a column: of each only its partial correlation is drawn, and
    that only where it exceeds those of all features.

    Parameters
    ----------
    fdr : float
        The false discovery rate, above 0 and below 1.
    covariates : list of int or str, or None
        Columns that no feature is found for being correlated with, as components of ancestry, by
        index or name: features are compared beside them, and they are never found. One that depends
        on earlier ones changes nothing.
    n_experiments : int
        K, at least 2. A single feature can be found at a level of 1/K at least.
    n_dummies : int or None
        L, at most 1000 times the features that vary; None: as many as these.
    n_threads : int or None
        Of passes over X; None: all.
    random_state : int or None
        Of the dummies, from 0 to 2^32 - 1; None draws others every time.

    Attributes
    ----------
    discoveries_ : the `Discoveries`: votes, stand-ins and rivals of the features, the estimate;
        how many covariates and blocks there were, and the correlation within blocks.
    support_ : the discoveries, ascending; `get_support`, `transform` and `get_feature_names_out`
        are of them. It may be empty.

    Notes
    -----
    The estimate is (V + sum over S of q_j) / |S|. V is how many features would be chosen that are
    independent of the target and all others (`expected_false`): it is right where rows are
    independent and either the features are normal, or the errors of the target are. Where features
    *and* errors have heavy tails it is too small; normal scores of y are a remedy. q_j is the
    probability that feature j stands for another one that it is correlated with: it rests on the
    likelihood of the linear model. Features of large q_j are not counted as found, so that of two
    copies neither is.

    The target are numbers, or two classes, which enter as two numbers: the working model is linear
    for both, and partial correlations with a class are no odds ratios. Counts, several classes and
    survival times have no proven control here, and the latter two are refused.

    With covariates A, H are the features that have no effect given A and all others. Numbers,
    columns and dummies are compared in the space orthogonal to 1 and A; two classes less their
    probabilities given A, by a logistic model. The law of votes holds if features are linear in A
    with normal errors, or if that model of the target is right.

    With `groups`, rows of different blocks are independent. The errors of a block share an
    intercept, whose variance is that of the largest restricted likelihood beside the discoveries:
    rows are mixed so that their errors are independent, and dummies are drawn for these. Features
    may be dependent within blocks in any way. Where y, or all features, are constant within blocks,
    the rows are the means of blocks.

    Raises
    ------
    ValueError
        Where a parameter breaks its rule, X has fewer than 10 rows (more than covariates), y is
        constant, has several columns or more than two classes that are no numbers, covariates
        determine y, labels of groups are missing or all equal, the models exceed the memory, or X
        is not finite.

    Source
    ------
    Machkour, Muma and Palomar, The terminating-random experiments selector: fast high-dimensional
    variable selection with false discovery rate control, Signal Processing 231 (2025), for the
    experiments. Koka, Machkour, Palomar and Muma, Virtual dummies: enabling scalable FDR-controlled
    variable selection via sequential sampling of null features, arXiv:2604.07464 (2026), for
    dummies as projections. Here forward selection by partial correlations takes the place of LARS,
    dummies that cannot enter are not drawn at all, and the estimate counts votes by their law.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm.inference import FalseDiscoverySelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1000))
    >>> y = X[:, :5].sum(axis=1) + rng.standard_normal(200)
    >>> FalseDiscoverySelector(fdr=0.1).fit(X, y).support_
    array([0, 1, 2, 3, 4])
    """

    fdr: float = field(default=0.1, kw_only=False)
    covariates: Any = None
    n_experiments: int = 20
    n_dummies: int | None = None
    n_threads: int | None = None
    random_state: int | None = 0

    @one_blas_thread()
    def fit(self, X: Any, y: Any, groups: Any = None) -> FalseDiscoverySelector:
        """Find features at the level.

        X : array, sparse matrix or array, data frame, path of a file that can be mapped, or a
            Design, (n_samples, n_features). It is never copied.
        y : (n_samples,) finite numbers, or two classes.
        groups : (n_samples,) labels of blocks of samples that belong together, or None: all are
            independent.
        """
        self._check()
        model = BudgetRegressor(1, n_threads=self.n_threads)
        data = model._read(X, _numbers(y), None)
        target = _target(data.labels)
        blocks = blocks_of(in_memory(groups), target.size)
        with solver_threads(self.n_threads):
            design = center_scale(data.design, np.ones(target.size), center=True)
            usable = design.scale > 0
            check_usable(int(usable.sum()), usable.size)
            none: IndexArray = np.empty(0, np.int64)
            own = covariates_of(self.covariates, none, data, usable)
            _check_left(int(usable.sum()))
            columns = np.empty((target.size, 0)) if own is None else own[1]
            if blocks is not None:
                found = self._find_in_blocks(design, usable, target, columns, blocks, data.names)
            elif own is not None:
                part, free = adjust(target, columns)
                found = self._find(compete(design, usable, part, free), data.names)
            else:
                found = self._find(Competition(design, usable.astype(float), target), data.names)
        self._keep_columns(model, data, found.found)
        self.discoveries_ = found
        return self

    def _check(self) -> None:
        """Raise ValueError where a parameter breaks a rule that no data are needed for."""
        if not 0 < validate.number(self.fdr) < 1:
            raise ParameterError(
                "fdr", "must be a rate above 0 and below 1", validate.shown(self.fdr)
            )
        if validate.check_iterations("n_experiments", self.n_experiments) < 2:
            raise ParameterError("n_experiments", "must be at least 2", f"{self.n_experiments}")
        validate.check_count("n_dummies", self.n_dummies)
        validate.check_count("n_threads", self.n_threads)
        validate.check_seed(self.random_state)

    def _find_in_blocks(
        self,
        design: Scaled,
        usable: np.ndarray,
        y: FloatArray,
        columns: FloatArray,
        code: IndexArray,
        names: list[str] | None,
    ) -> Discoveries:
        """Return the discoveries where rows of a block depend on each other.

        The covariance within blocks is that beside the discoveries, which are found with it.

        columns : (n, q) the covariates. code : (n,) the block of every row.
        """
        part, free = adjust(y, columns)
        blocks = Blocks(design, usable, code, y)
        known, fixed = np.empty(0, np.int64), free
        for _ in range(ROUNDS):
            rows, correlation = blocks.whitening(part, fixed)
            found = self._find(compete_on(rows, design, usable, part, free), names)
            if blocks.are_alike or np.array_equal(found.found, known):
                break
            known = found.found
            fixed = np.column_stack([free, residuals(free, gather(design, known).dense())])
        return replace(found, n_blocks=blocks.n_blocks, correlation=correlation)

    def _find(self, competition: Competition, names: list[str] | None) -> Discoveries:
        """Return the discoveries, from experiments with more and more dummies."""
        n_usable, n_covariates = int((competition.left > 0).sum()), competition.n_free - 1
        n_rows = competition.y.size - n_covariates
        if n_rows < LEAST_ROWS:
            raise ParameterError(
                "X",
                f"must have at least {LEAST_ROWS} rows more than covariates for experiments with "
                "dummies, or as many blocks where the target or all features are constant "
                "within them",
                f"{competition.y.size}, and {n_covariates} covariates",
            )
        _check_left(n_usable)
        largest = n_rows // 2
        n_dummies = n_usable if self.n_dummies is None else int(self.n_dummies)
        if n_dummies > MOST_DUMMIES * n_usable:
            raise ParameterError(
                "n_dummies",
                f"must be at most {MOST_DUMMIES * n_usable:,}, {MOST_DUMMIES} times the features "
                "that vary",
                f"{n_dummies:,}",
                "Hardly a feature could be the first.",
            )
        seeds = np.random.SeedSequence(self.random_state).spawn(self.n_experiments)
        dummies = [Dummies(np.random.default_rng(seed), float(n_dummies)) for seed in seeds]
        experiments = Experiments(
            competition.design, competition.left, competition.y, dummies, largest, competition.free
        )
        candidates: list[Candidates] = []
        for n_entered in range(1, largest + 1):
            reached = experiments.run(n_entered)
            own = list(self._candidates(experiments, n_entered, n_usable / n_dummies))
            candidates += [one for one in own if 0 < one.features.size <= largest]
            strictest = own[-1]
            if not reached or strictest.false > self.fdr * strictest.features.size:
                break
        candidates = [one for one in candidates if one.false <= self.fdr * one.features.size]
        settings = n_dummies, n_usable, self.n_experiments, float(self.fdr), n_covariates
        if not candidates:
            none, empty = np.empty(0, np.int64), np.empty(0)
            return Discoveries(none, empty, empty, none, 0, 0.0, 1.0, n_entered, *settings)
        one, doubt, rivals, n_found, estimate = best_of(
            candidates, float(self.fdr), lambda some: stand_ins(competition, some)
        )
        named = None if names is None else tuple(str(names[at]) for at in one.features)
        others = (
            None if names is None else tuple(str(names[at]) if at >= 0 else "" for at in rivals)
        )
        return Discoveries(
            one.features, one.votes, doubt, rivals, n_found, estimate, one.least, one.n_entered,
            *settings, names=named, rival_names=others,
        )  # fmt: skip

    def _candidates(
        self, experiments: Experiments, n_entered: int, share: float
    ) -> Iterator[Candidates]:
        """Yield the features with more than half of the votes, and so on up to all of them.

        share : features for each dummy.
        """
        K = self.n_experiments
        features, votes = experiments.votes(n_entered)
        for least in range(K // 2 + 1, K + 1):
            enough = votes >= least
            false = expected_false(least, K, n_entered) * share
            yield Candidates(features[enough], votes[enough] / K, false, least / K, n_entered)

    def __sklearn_tags__(self) -> Any:
        """Return the tags: sparse input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _check_left(n_usable: int) -> None:
    """Raise ValueError where covariates or blocks leave no feature."""
    if not n_usable:
        raise ParameterError(
            "X",
            "must have a column that covariates and blocks leave a part of, to select from; all "
            "others are sums of these",
        )


def _numbers(y: Any) -> Any:
    """Return two classes as 0 and 1, and numbers as they are."""
    given = np.asarray(in_memory(y))
    if given.dtype.kind in "iuf" or given.ndim != 1:
        return y
    labels = check_target(y, given.size)
    classes = np.unique(labels)
    if classes.size > 2 and all(isinstance(one, (int, float)) for one in classes.tolist()):
        return y
    if classes.size > 2:
        raise ParameterError(
            "y",
            "must be numbers, or two classes, for a linear working model",
            f"{classes.size} classes",
            "Compare one class with the others.",
        )
    return (labels == classes[-1]).astype(float)


def _target(y: np.ndarray) -> FloatArray:
    """Return a target that a linear model can explain, (n,)."""
    if y.ndim != 1:
        raise ParameterError(
            "y", "must be one column of numbers", f"{y.shape[1]}", "Fit each response by itself."
        )
    if y.size < LEAST_ROWS:
        raise ParameterError(
            "X", f"must have at least {LEAST_ROWS} rows for experiments with dummies", str(y.size)
        )
    if np.ptp(y) == 0:
        raise ParameterError("y", "must vary", f"{y.size} times {validate.shown(y[0])}")
    return np.asarray(y, np.float64)

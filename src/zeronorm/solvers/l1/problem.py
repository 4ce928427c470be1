"""Fits with an l1 penalty: the problem, and what certifies a point of it.

    min_{u, b}  sum_j l1_j |u_j| + l2_j/2 u_j^2 + sum_i s_i f(y_i, x_i'u + b),  low <= u <= high

with s the sample weights times C, f a smooth loss, and b free or 0. The dual problem is, with
c = X'v,

    max_v  -conjugate(v) - sum_j max(|c_j| - l1_j, 0)^2 / (2 l2_j)

with |c_j| <= l1_j where l2_j = 0, and sum_i v_i = 0 where b is free; with a sign constraint only
one sign of c_j counts. Any v = -gradient becomes feasible by shrinking, and its value certifies the
gap that all solvers of the problem stop by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.types import Design, FloatArray, IndexArray
from ...data import Scaled
from ...data.operations import distant_means
from ..problem import Risk

NEVER = 1e300  # l1 weight of features that are not to enter


@dataclass(frozen=True, slots=True)
class L1Problem:
    """The problem of this module: X; target, weights and loss; penalty."""

    design: Design
    risk: Risk
    penalty: Penalty
    size: float  # sum of the sample weights: the number of rows, were they repeated
    centre: FloatArray | None = None  # (n_features,) what is subtracted from the columns of X

    def centred(self) -> L1Problem:
        """Return the problem on columns less their means where these are far from 0.

        It has the same solutions but for b, and the curvature of its columns keeps its digits.
        """
        centre = distant_means(self.design) if self.risk.intercept else None
        if centre is None:
            return self
        return replace(
            self, design=Scaled(self.design, centre, np.ones(centre.size)), centre=centre
        )

    def intercept(self, point: L1Point, features: IndexArray, u: FloatArray) -> Any:
        """Return b of X and its target at a point; of several outputs those of all."""
        q = self.risk.loss.outputs
        if q > 1:
            own = 0.0 if self.centre is None else self.centre[features // q] * u
            moved = np.bincount(features % q, np.broadcast_to(own, u.shape), q)
            return self.risk.intercepts(point.z) + self.risk.origin - moved
        return point.b - self.shift(features, u)

    def shift(self, features: IndexArray, u: FloatArray) -> float:
        """Return b of the design and the risk less b of X and its target."""
        moved = 0.0 if self.centre is None else float(self.centre[features] @ u)
        return moved - float(self.risk.origin)


@dataclass(frozen=True, slots=True)
class Start:
    """Where a solver begins: a sparse u, and b."""

    support: IndexArray = field(default_factory=lambda: np.empty(0, np.int64))
    coef: FloatArray = field(default_factory=lambda: np.empty(0))
    intercept: float = 0.0


@dataclass(frozen=True, slots=True)
class L1Point:
    """A point, u on some features and b, with its margins and its loss."""

    features: IndexArray  # (q,) sorted
    u: FloatArray  # (q,)
    b: float
    z: FloatArray  # (n,) X u + b
    value: float  # of the loss
    gradient: FloatArray  # (n,) of the loss in the margins

    @property
    def support(self) -> IndexArray:
        return np.asarray(self.features[self.u != 0])

    def on(self, features: IndexArray) -> L1Point:
        """Return the same point on other features, sorted, that hold the support."""
        u = np.zeros(features.size)
        used = self.u != 0
        u[np.searchsorted(features, self.features[used])] = self.u[used]
        return replace(self, features=features, u=u)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A point before the scan that certifies it."""

    point: L1Point
    dual: FloatArray  # (n,) its dual point, the vector to scan for
    feasible: bool  # but for the features
    seconds: float  # of solving
    counts: Mapping[str, float]


def with_best_intercept(problem: L1Problem, point: L1Point) -> L1Point:
    """Return the point with b optimal for its u."""
    if not problem.risk.intercept:
        return point
    z = point.z - point.b
    b, value, gradient = problem.risk.best(z, point.b)
    return replace(point, b=b, z=z + b, value=value, gradient=gradient)


def bound_at(
    problem: L1Problem,
    penalty: Penalty,
    dual: FloatArray,
    pull: FloatArray,
    entropy: float | None = None,
) -> float:
    """Return the value of the dual at the largest feasible multiple of v, at most 1.

    pull : of the features of `penalty` at v, see Penalty.pull.
    entropy : -conjugate(v) where it is known. As the conjugate is convex and 0 at 0, t times
        that is a bound of its value at t v, without logarithms.
    """
    t = 1.0 / max(1.0, penalty.strongest(pull))
    value = -problem.risk.conjugate(t * dual) if entropy is None else t * entropy
    if not penalty.bounds_all:
        ridge = penalty.l2 > 0
        excess = np.maximum(t * pull[ridge] - penalty.l1[ridge], 0.0)
        value -= 0.5 * float((excess**2 / penalty.l2[ridge]).sum())
    return value


@dataclass(frozen=True)
class Penalty:
    """sum_j l1_j |u_j| + l2_j / 2 u_j^2 for low <= u <= high."""

    l1: FloatArray  # (m,) not negative
    l2: FloatArray  # (m,) not negative
    low: FloatArray  # (m,) -inf or 0
    high: FloatArray  # (m,) 0 or inf

    @cached_property
    def level(self) -> float | FloatArray:
        """l1: one number where it is the same for all features, which spares passes over many."""
        first = float(self.l1[0]) if self.l1.size else 0.0
        return first if bool((self.l1 == first).all()) else self.l1

    @cached_property
    def has_signs(self) -> bool:
        """Whether some u_j may have one sign only."""
        return bool((self.low == 0).any() or (self.high == 0).any())

    @cached_property
    def bounds_all(self) -> bool:
        """Whether the dual bounds the score of every feature."""
        return bool((self.l1 > 0).all() and (self.l2 == 0).all())

    def of(self, features: IndexArray) -> Penalty:
        """Return the penalty of some features."""
        return Penalty(
            self.l1[features], self.l2[features], self.low[features], self.high[features]
        )

    def rows(self) -> FloatArray:
        """Return (m, 4) as the kernels take it."""
        return np.column_stack([self.l1, self.l2, self.low, self.high])

    def value(self, u: FloatArray) -> float:
        """Return the penalty of u."""
        return float(self.l1 @ np.abs(u) + 0.5 * (self.l2 @ (u * u)))

    def violation(self, gradient: FloatArray, u: FloatArray) -> FloatArray:
        """Return the least |gradient + subgradient| of every coordinate, allowed moves only."""
        g = gradient + self.l2 * u
        up = np.where(self.high > 0, -(g + self.l1), 0.0)
        down = np.where(self.low < 0, g - self.l1, 0.0)
        at_zero = np.maximum(np.maximum(up, down), 0.0)
        return np.where(u == 0, at_zero, np.abs(g + np.sign(u) * self.l1))

    def strongest(self, pull: FloatArray) -> float:
        """Return the largest pull_j / l1_j of the features with a bounded score."""
        if not self.bounds_all:
            bounded = (self.l2 == 0) & (self.l1 > 0)
            return float((pull[bounded] / self.l1[bounded]).max(initial=0.0))
        if isinstance(self.level, float):
            return float(pull.max(initial=0.0)) / self.level
        return float((pull / self.l1).max(initial=0.0))

    def settled(self, gradient: FloatArray, margin: float) -> NDArray[np.bool_]:
        """Return whether 0 is optimal with a margin, for every coordinate."""
        return ((self.high <= 0) | (gradient + self.l1 > margin)) & (
            (self.low >= 0) | (self.l1 - gradient > margin)
        )

    def pull(self, scores: FloatArray) -> FloatArray:
        """Return how strongly scores c = -gradient draw each feature from zero: |c_j|, or one sign.

        A feature at zero is optimal where it is at most l1_j.
        """
        if not self.has_signs:
            return np.abs(scores)
        up = np.where(self.high > 0, scores, 0.0)
        down = np.where(self.low < 0, -scores, 0.0)
        return np.maximum(np.maximum(up, down), 0.0)

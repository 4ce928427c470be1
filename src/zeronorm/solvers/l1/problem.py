"""l1-regularised classification: the problem, and what certifies a point of it.

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
from typing import Any

import numpy as np

from ...core.types import Design, FloatArray, IndexArray
from ...data import Scaled
from ...data.spread import distant_means
from ..risk import Risk
from .descent import Penalty

NEVER = 1e300  # l1 weight of features that are not to enter


@dataclass(frozen=True, slots=True)
class L1Problem:
    """The problem of this module: data, labels, weights, penalty, loss."""

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

    def intercept(self, point: Point, features: IndexArray, u: FloatArray) -> Any:
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
class Point:
    """A point, u on some features and b, with its margins and its loss."""

    features: IndexArray  # (q,) sorted
    u: FloatArray  # (q,)
    b: float
    z: FloatArray  # (n,) X u + b
    value: float  # of the loss
    gradient: FloatArray  # (n,) of the loss in the margins

    @property
    def support(self) -> IndexArray:
        """The features with u_j != 0."""
        return np.asarray(self.features[self.u != 0])

    def on(self, features: IndexArray) -> Point:
        """Return the same point on other features, sorted, that hold the support."""
        u = np.zeros(features.size)
        used = self.u != 0
        u[np.searchsorted(features, self.features[used])] = self.u[used]
        return replace(self, features=features, u=u)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A point before the scan that certifies it."""

    point: Point
    dual: FloatArray  # (n,) its dual point, the vector to scan for
    feasible: bool  # but for the features
    seconds: float  # of solving
    counts: Mapping[str, float]


def with_best_intercept(problem: L1Problem, point: Point) -> Point:
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

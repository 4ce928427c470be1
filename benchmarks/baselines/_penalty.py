"""The penalty sum_j a_j |x_j| + sum_g b_g ||x_g||: its prox, its dual norm; lower bounds.

A feature with a_j = 0 in a group with b_g = 0 is free; the intercept is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from zeronorm.core.types import FloatArray, IndexArray

from ._base import ConvexLoss

ROUNDS = 200  # of Newton's method for the dual norm; it needs about ten


@dataclass(frozen=True, eq=False)
class Penalty:
    """sum_j a_j |x_j| + sum_g b_g ||x_g||, for groups of adjacent features."""

    features: FloatArray  # (m,) a
    groups: FloatArray  # (n_groups,) b
    start: IndexArray  # (n_groups + 1,) where groups begin; features after the last one have none

    @cached_property
    def code(self) -> IndexArray:
        """The group of every feature that has one, (start[-1],)."""
        return np.repeat(np.arange(self.groups.size), np.diff(self.start))

    @cached_property
    def free(self) -> IndexArray:
        """The features without a penalty."""
        free = self.features == 0.0
        free[: self.code.size] &= (self.groups == 0.0)[self.code]
        return np.flatnonzero(free)

    def norms(self, v: FloatArray) -> FloatArray:
        """Return ||v_g|| of every group, (n_groups,)."""
        return np.sqrt(self.sums(v * v))

    def sums(self, v: FloatArray) -> FloatArray:
        """Return sum_{j in g} v_j of every group, (n_groups,)."""
        if not self.groups.size:
            return np.zeros(0)
        return np.asarray(np.add.reduceat(v[: self.code.size], self.start[:-1]), np.float64)

    def value(self, x: FloatArray) -> float:
        """Return the penalty."""
        return float(self.features @ np.abs(x)) + float(self.groups @ self.norms(x))

    def prox(self, v: FloatArray, step: float) -> FloatArray:
        """Return argmin_x step penalty(x) + 1/2 ||x - v||^2: soft thresholds, then of groups."""
        u = soften(v, step * self.features)
        norms = self.norms(u)
        share = np.divide(step * self.groups, norms, out=np.ones_like(norms), where=norms > 0)
        u[: self.code.size] *= np.maximum(0.0, 1.0 - share)[self.code]
        return u

    def excess(self, c: FloatArray) -> FloatArray:
        """Return ||S(c_g, a_g)|| - b_g of every group: above 0 where x_g = 0 is not optimal."""
        return self.norms(soften(c, self.features)) - self.groups

    def dual_norm(self, c: FloatArray) -> float:
        """Return the smallest t with ||S(c_g, t a_g)|| <= t b_g in all groups.

        Newton's method on convex falling functions from the left: every step goes to the largest
        of the zeros of the tangents, none of which is beyond the zero of its function.

        c : (m,), 0 for free features.
        """
        t = 0.0
        magnitude = np.abs(c)
        for _ in range(ROUNDS):
            rest = np.maximum(magnitude - t * self.features, 0.0)
            norms = self.norms(rest)
            excess = norms - t * self.groups
            above = excess > 0.0
            if not above.any():
                break
            slope = self.sums(rest * self.features)[above] / norms[above] + self.groups[above]
            following = t + float((excess[above] / slope).max())
            if following <= t * (1.0 + 1e-15):
                break
            t = following
        return t


def soften(v: FloatArray, threshold: FloatArray | float) -> FloatArray:
    """Return sign(v) max(|v| - threshold, 0)."""
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0.0)


def dual_point(
    loss: ConvexLoss,
    columns: FloatArray,
    z: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    free: IndexArray,
) -> tuple[float, FloatArray]:
    """Return the loss at z and its gradient in z, made orthogonal to the columns of free features.

    The correction is in the metric of the curvature, as Newton's step in the free coefficients
    would make it, and vanishes with the steps of the solver.
    """
    value, theta = loss.value_gradient(z, y, weight)
    if free.size:
        Z = columns[:, free]
        H = loss.curvature(z, y, weight)[:, None] * Z
        gram = Z.T @ H
        for _ in range(2):  # the second time against rounding
            theta = theta - H @ np.linalg.lstsq(gram, Z.T @ theta, rcond=None)[0]
    return value, theta


def lower_bound(
    loss: ConvexLoss, theta: FloatArray, y: FloatArray, weight: FloatArray, reach: float = 0.0
) -> float:
    """Return -sum_i f_i^*(theta_i) - reach, or 0, which no objective is below.

    reach : the support function of the feasible set at minus the scores of theta.
    """
    v = -theta
    if (loss.inside(v, y, weight) != v).any():  # outside the domain of the conjugate
        return 0.0
    return max(0.0, -loss.conjugate(v, y, weight) - reach)

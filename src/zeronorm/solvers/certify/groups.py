"""Certify groups of features: the relaxation of the l0 problem over groups, solved for its bound.

    min_{u, b}  1/2 ||u_A||^2 + 1/2 ||h_F||_(q)^2 + sum_i s_i f(y_i, z_i'u + b),  h_g = ||u_g|| (RG)

A are the groups that are fixed in, F the free ones, of which a model takes q, and ||.||_(q) is the
k-support norm as in `pool.relaxation`: the minimax problem over groups with r = q. Its value over a
pool of gathered groups gives a dual point, and a scan with that the bound over all features and the
groups that the pool lacks.

(RG) is solved by accelerated proximal gradient steps: the proximal map shrinks every group by a
factor that depends on its length only, and many correlated columns in a group do no harm.

Source: Beck and Teboulle, SIAM J. Imaging Sciences 2(1), 2009; restarts by the gradient: O'Donoghue
and Candes, Foundations of Computational Mathematics 15, 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.ranking import largest
from ...core.results import Certificate
from ...core.types import Columns, FloatArray, IndexArray
from ...data.columns import GatheredColumns, gather
from ..drive import Scan, Solver
from ..found import BestDual
from ..pool.ridge import ridge
from ..pool.support_norm import proximal_shares, support_norm, top_squares
from ..risk import Risk
from ..task import Task
from .supports import certify_supports


@dataclass(frozen=True, slots=True)
class GroupBoundsTuning:
    """Constants, each with what it was measured for."""

    max_scans: int = 50
    tight_tol: float = 1e-4  # gap of the relaxation, relative
    share: float = 0.1  # the pool's problem is solved to this share of the gap over all features
    steps: int = 5  # between two certificates
    max_steps: int = 2000
    max_doublings: int = 100  # of the step constant, in one step
    shrink: float = 0.97  # of that constant after every step, so that it follows the curvature down
    noise: float = 1e-8  # relative differences of the loss below this are too inexact to compare


GROUP_BOUNDS = GroupBoundsTuning()
# A scan adds the groups that are longer than this share of the q-th in the pool, so many at most.
NEAR, NEW_FACTOR, NEW_MIN = 0.9, 2, 5


def tighten_groups(
    task: Task, support: IndexArray, *, C: float, dual: FloatArray | None = None
) -> Solver[Certificate]:
    """Certify the groups of a support with the bound of the relaxation over all features.

    It is solved to `TIGHT_TOL`, or as far as `MAX_SCANS` scans go; `task` has groups.

    dual : (n,) a dual point to begin with, that of the refit if None; no bound is below its bound.
    """
    assert task.groups is not None
    design, risk, units = task.design, task.risk(C), task.units
    own, fixed = units.of(support), units.of(task.forced)
    n_free = own.size - fixed.size
    inside = np.concatenate([fixed, np.setdiff1d(own, fixed)])  # in order of entry
    pool = GatheredColumns(design, 0)
    pool.add(units.features(inside))
    fit = ridge(gather(design, support), risk, tol=GROUP_BOUNDS.tight_tol)
    u, b, v = np.zeros(pool.size), fit.intercept, fit.dual if dual is None else dual
    u[pool.position(support)] = fit.coef
    best, relaxed, tol = BestDual(-np.inf, v), fit.objective, 1.0
    for _ in range(GROUP_BOUNDS.max_scans if n_free else 0):
        strength = units.strength((yield Scan(design, v)))
        quadratic = 0.5 * float((strength[fixed] ** 2).sum())
        strength[fixed] = 0.0
        quadratic += 0.5 * top_squares(strength, n_free)
        bound, scale = risk.bound(v, quadratic)
        if bound > best.bound:
            best = BestDual(bound, scale * v)
        gap = (relaxed - best.bound) / abs(relaxed)
        if gap <= GROUP_BOUNDS.tight_tol:
            break
        near = NEAR * np.sort(strength[inside])[-n_free]
        strength[inside] = -1.0
        fresh = largest(strength, min(NEW_FACTOR * n_free + NEW_MIN, strength.size))
        fresh = fresh[(strength[fresh] > 0) & (strength[fresh] >= near)]
        if not fresh.size and tol == GROUP_BOUNDS.share * GROUP_BOUNDS.tight_tol:
            break
        inside = np.concatenate([inside, fresh])
        pool.add(units.features(fresh))
        code = np.repeat(np.arange(inside.size), units.sizes(inside))
        problem = _Problem(pool.columns(), code, risk, fixed.size, n_free)
        u = np.append(u, np.zeros(pool.size - u.size))
        tol = GROUP_BOUNDS.share * max(GROUP_BOUNDS.tight_tol, gap)
        u, b, v, relaxed = problem.solve(u, b, tol)
    certificates = yield from certify_supports(
        task, [support], C=C, known={own.size: best} if np.isfinite(best.bound) else None
    )
    return certificates[0]


class _Problem:
    """(RG) over gathered columns.

    code : (p,) group of every column, 0, 1, ...; the first `n_fixed` are fixed in.
    n_free : q.
    """

    def __init__(
        self,
        Z: Columns,
        code: IndexArray,
        risk: Risk,
        n_fixed: int,
        n_free: int,
    ) -> None:
        self._Z, self._code, self._risk = Z, code, risk
        self._n_fixed, self._q = n_fixed, n_free

    def solve(
        self, u: FloatArray, b: float, tol: float
    ) -> tuple[FloatArray, float, FloatArray, float]:
        """Return u, b, the best dual point and the objective, at a gap of `tol` relative to that.

        u, b : where to start.
        """
        Z = self._Z
        z = Z.times(u)
        previous, z_previous, t, L = u, z, 1.0, 0.0
        best_bound, best_dual = -np.inf, np.zeros_like(z)
        best, objective = (u, b), np.inf
        for n_steps in range(GROUP_BOUNDS.max_steps + 1):
            if n_steps % GROUP_BOUNDS.steps == 0:
                b, value, slope = self._risk.best(z, b)
                here = value + self._penalty(u)
                if here < objective:
                    best, objective = (u, b), here
                bound, dual = self._bound(slope)
                if bound > best_bound:
                    best_bound, best_dual = bound, dual
                if objective - best_bound <= tol * abs(objective):
                    break
            t_next = 0.5 + np.sqrt(0.25 + t * t)
            momentum = (t - 1.0) / t_next
            w = u + momentum * (u - previous)
            z_w = z + momentum * (z - z_previous)  # Z is linear: no product
            b, value, slope = self._risk.best(z_w, b)
            gradient = Z.dot(slope)
            if L <= 0.0:
                L = self._curvature_along(gradient, z_w + b)
            for _ in range(GROUP_BOUNDS.max_doublings):
                u_new = self._proximal(w - gradient / L, L)
                z_new = Z.times(u_new)
                move = u_new - w
                _, value_new, slope_new = self._risk.best(z_new, b)
                square = float(move @ move)
                if abs(value_new - value) > GROUP_BOUNDS.noise * abs(value):
                    excess = value_new - value - float(gradient @ move) - 0.5 * L * square
                else:  # the same to second order, from gradients, which are exact for small moves
                    excess = float((slope_new - slope) @ (z_new - z_w)) - L * square
                if excess <= 0.0:
                    break
                L *= 2.0
            else:  # the products overflow
                break
            if float((w - u_new) @ (u_new - u)) > 0.0:  # momentum points uphill: restart
                t_next = 1.0
            previous, z_previous = u, z
            u, z, t = u_new, z_new, t_next
            L *= GROUP_BOUNDS.shrink
        return *best, best_dual, objective

    def _sizes(self, v: FloatArray) -> FloatArray:
        """Return ||v_g||, (n_groups,)."""
        return np.sqrt(np.bincount(self._code, v * v))

    def _penalty(self, u: FloatArray) -> float:
        size = self._sizes(u)
        fixed, free = size[: self._n_fixed], size[self._n_fixed :]
        return 0.5 * float(fixed @ fixed) + support_norm(free, self._q)[0]

    def _bound(self, slope: FloatArray) -> tuple[float, FloatArray]:
        """Return the bound that the gradient of the loss gives, and its dual point."""
        dual = self._risk.dual_point(slope)
        size = self._sizes(self._Z.dot(dual))
        fixed, free = size[: self._n_fixed], size[self._n_fixed :]
        quadratic = 0.5 * (float(fixed @ fixed) + top_squares(free, self._q))
        bound, scale = self._risk.bound(dual, quadratic)
        return bound, scale * dual

    def _proximal(self, v: FloatArray, curvature: float) -> FloatArray:
        """Return argmin_u curvature/2 ||u - v||^2 + the penalty."""
        size = self._sizes(v)
        share = np.ones(size.size)
        share[self._n_fixed :] = proximal_shares(size[self._n_fixed :], self._q, curvature)
        factor = curvature * share / (curvature * share + 1.0)
        return np.asarray(v * factor[self._code])

    def _curvature_along(self, direction: FloatArray, margins: FloatArray) -> float:
        """Return the curvature of the loss along a direction: where the search for L starts."""
        square = float(direction @ direction)
        if square <= 0.0:
            return 1.0  # a zero gradient moves nothing, whatever L is
        step = self._Z.times(direction) ** 2
        bend = float(self._risk.curvature(margins) @ step)
        return (bend if bend > 0 else float(self._risk.weight @ step)) / square

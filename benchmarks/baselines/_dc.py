"""The DC approximation of counts: truncated norms J(t) = min(|t| / tau, 1), by convex problems.

Penalised:    min_{x, b}  F(x, b) + l1 sum_j J(x_j) + l2 sum_g J(||x_g||)
Constrained:  min_{x, b}  F(x, b)  s.t.  sum_j J(x_j) <= k,  sum_g J(||x_g||) <= g

with F(x, b) = sum_i s_i f(y_i, a_i'x + b). J is the difference of two convex functions,
|t| / tau - max(|t| - tau, 0) / tau; a pass linearises the second one at the x before it. With T1
the features with |x_j| < tau, T2 the groups with ||x_g|| < tau, it solves

    a sparse group lasso of thresholds l1 / tau on T1, l2 / tau on T2, and 0 elsewhere; or
    min F  s.t.  sum_T1 |x_j| <= tau (k - p + |T1|),  sum_T2 ||x_g|| <= tau (g - n_groups + |T2|).

The first pass has everything in T1 and T2. What is linearised lies above J, so that the x of every
pass satisfies the constraints of the problem itself and those of the next pass, and no pass raises
the objective. The result is a stationary point, no more. Both problems stop at a certified gap.

Difference from the source: it has |x_j| <= tau in T1 and ||x_g|| <= tau in T2. At equality both
linearisations are valid, but that one leaves coefficients at tau for ever, where many of the
constrained problem are after the first pass.

Source: Xiang, Shen and Ye, Efficient sparse group feature selection via nonconvex optimization
(constrained); the truncated l1 penalty: Shen, Pan and Zhu, JASA 107(497), 2012.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from zeronorm.core import validation as validate
from zeronorm.core.budgets import check_n_groups, check_sizes
from zeronorm.core.groups import Groups
from zeronorm.core.types import FloatArray

from ._base import Classifier, Data, Fit, Regressor
from ._fista import fista
from ._passes import InPasses, by_passes
from ._penalty import Penalty, dual_point, lower_bound, soften
from ._sparse_group_lasso import MAX_ITER, TOL, solve

MAX_PASSES = 10
AT_TAU = 1e-6  # relative: what is nearer to tau counts as there


def penalised(
    data: Data, l1: float, l2: float, tau: float, *, max_passes: int, tol: float, max_iter: int
) -> Fit:
    """Solve the penalised problem; `history` has its objective after every pass."""

    def convex(x: FloatArray | None) -> Fit:
        features, groups = _small(data, data.null() if x is None else x, tau)
        return solve(
            data, l1 / tau * features, l2 / tau * groups, start=x, tol=tol, max_iter=max_iter
        )

    def objective(x: FloatArray) -> float:
        counts = truncated_counts(data, x, tau)
        return data.value(x) + l1 * counts[0] + l2 * counts[1]

    return by_passes(convex, objective, max_passes)


def constrained(
    data: Data,
    n_features: int,
    n_groups: int,
    tau: float,
    *,
    max_passes: int,
    tol: float,
    max_iter: int,
) -> Fit:
    """Solve the constrained problem; `history` has its objective after every pass."""

    def convex(x: FloatArray | None) -> Fit:
        x = data.null() if x is None else x
        features, groups = _small(data, x, tau)
        balls = TwoBalls(
            np.append(features, np.zeros(int(data.intercept), bool)), groups, data.start,
            tau * (n_features - (~features).sum()), tau * (n_groups - (~groups).sum()),
        )  # fmt: skip
        return _solve_within(data, balls, x, tol, max_iter)

    return by_passes(convex, data.value, max_passes)


class TwoBalls:
    """The x with sum_{j in T1} |x_j| <= r1 and sum_{g in T2} ||x_g|| <= r2."""

    def __init__(
        self, features: np.ndarray, groups: np.ndarray, start: np.ndarray, r1: float, r2: float
    ) -> None:
        self._unit = Penalty(features.astype(np.float64), groups.astype(np.float64), start)
        self._features, self._groups = features, groups
        # The rounding of a feasible x must not make the set of the next pass empty.
        self._r1, self._r2 = max(0.0, float(r1)), max(0.0, float(r2))
        self.free = self._unit.free

    def project(self, v: FloatArray) -> FloatArray:
        """Return the nearest x: group-soft of soft, with two multipliers.

        That of the groups is found by sorting, given that of the features; the sum of magnitudes
        falls as the latter grows, for it is the derivative of a concave dual function.
        """
        x = self._shrink(v, 0.0)
        if self._size(x) <= self._r1:
            return x

        def excess(threshold: float) -> float:
            return self._size(self._shrink(v, threshold)) - self._r1

        most = float(np.abs(v[self._features]).max())
        return self._shrink(v, brentq(excess, 0.0, most, xtol=1e-15 * most, rtol=1e-15))

    def _size(self, x: FloatArray) -> float:
        return float(np.abs(x[self._features]).sum())

    def _shrink(self, v: FloatArray, threshold: float) -> FloatArray:
        """Return the nearest point to the soft threshold of v in the ball of the groups."""
        unit = self._unit
        u = soften(v, threshold * unit.features)
        norms = unit.norms(u)
        of_ball = norms[self._groups]
        if of_ball.sum() <= self._r2:
            return u
        falling = np.sort(of_ball)[::-1]
        level = (np.cumsum(falling) - self._r2) / np.arange(1, falling.size + 1)
        multiplier = level[np.flatnonzero(falling > level)[-1]] if self._r2 > 0 else falling[0]
        share = np.divide(multiplier, norms, out=np.zeros_like(norms), where=norms > 0)
        share[~self._groups] = 0.0
        u[: unit.code.size] *= np.maximum(0.0, 1.0 - share)[unit.code]
        return u

    def support_function(self, c: FloatArray) -> float:
        """Return an upper bound of max {c'x : x in the set}, the maximum but for rounding.

        min_a  a r1 + r2 max_{g in T2} ||S(c_g, a)||, over the a that leave no other group anything;
        every such a gives a bound.

        c : (m,), 0 for free features.
        """
        unit = self._unit
        grouped = np.append(
            self._groups[unit.code], np.zeros(unit.features.size - unit.code.size, bool)
        )
        least = float(np.abs(c[self._features & ~grouped]).max(initial=0.0))
        most = max(least, float(np.abs(c[self._features & grouped]).max(initial=0.0)))

        def bound(a: float) -> float:
            lengths = unit.norms(soften(c, a * unit.features))
            return a * self._r1 + self._r2 * float(lengths[self._groups].max(initial=0.0))

        best = min(bound(least), bound(most))
        if most > least:
            found = minimize_scalar(
                bound, bounds=(least, most), method="bounded", options={"xatol": 1e-12 * most}
            )
            best = min(best, float(found.fun))
        return best


def _solve_within(data: Data, balls: TwoBalls, x: FloatArray, tol: float, max_iter: int) -> Fit:
    """Minimise F over the two balls, to a certified gap."""
    scale = data.null_objective or 1.0
    objective, bound = np.inf, 0.0

    def solved(u: FloatArray, z: FloatArray) -> bool:
        nonlocal objective, bound
        objective, theta = dual_point(data.loss, data.columns, z, data.y, data.weight, balls.free)
        c = data.columns.T @ theta
        c[balls.free] = 0.0
        reach = balls.support_function(c)
        bound = max(bound, lower_bound(data.loss, theta, data.y, data.weight, reach))
        return objective - bound <= tol * scale

    x, _, n_iter = fista(
        data.loss, data.columns, data.y, data.weight, lambda v, _: balls.project(v),
        balls.project(x), 0.0, solved, max_iter,
    )  # fmt: skip
    return Fit(x, data.value(x), max(0.0, (objective - bound) / scale), n_iter)


def truncated_counts(data: Data, x: FloatArray, tau: float) -> tuple[float, float]:
    """Return sum_j J(x_j) and sum_g J(||x_g||)."""
    magnitude, norms = np.abs(x[: data.n_features]), data.group_norms(x)
    return (
        float(np.minimum(magnitude / tau, 1.0).sum()), float(np.minimum(norms / tau, 1.0).sum())
    )  # fmt: skip


def _small(data: Data, x: FloatArray, tau: float) -> tuple[np.ndarray, np.ndarray]:
    """Return T1 and T2 as masks."""
    end = tau * (1.0 - AT_TAU)
    return np.abs(x[: data.n_features]) < end, data.group_norms(x) < end


class _DC(InPasses):
    def __init__(
        self,
        l1: float = 1.0,
        l2: float = 1.0,
        tau: float = 0.1,
        *,
        feature_groups: Any = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        max_passes: int = MAX_PASSES,
        tol: float = TOL,
        max_iter: int = MAX_ITER,
    ) -> None:
        super().__init__(feature_groups, fit_intercept, standardize, max_passes, tol, max_iter)
        self.l1 = l1
        self.l2 = l2
        self.tau = tau

    def _check_parameters(self) -> None:
        validate.check_not_negative("l1", self.l1)
        validate.check_not_negative("l2", self.l2)
        validate.check_positive("tau", self.tau)
        super()._check_parameters()

    def _run(self, data: Data, groups: Groups, max_passes: int, tol: float, max_iter: int) -> Fit:
        return penalised(
            data, float(self.l1), float(self.l2), float(self.tau), max_passes=max_passes, tol=tol,
            max_iter=max_iter,
        )  # fmt: skip


class _ConstrainedDC(InPasses):
    def __init__(
        self,
        n_features: int | None = None,
        n_groups: int | None = None,
        tau: float = 0.1,
        *,
        feature_groups: Any = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        max_passes: int = MAX_PASSES,
        tol: float = TOL,
        max_iter: int = MAX_ITER,
    ) -> None:
        super().__init__(feature_groups, fit_intercept, standardize, max_passes, tol, max_iter)
        self.n_features = n_features
        self.n_groups = n_groups
        self.tau = tau

    def _check_parameters(self) -> None:
        validate.check_count("n_features", self.n_features)
        validate.check_count("n_groups", self.n_groups)
        validate.check_positive("tau", self.tau)
        super()._check_parameters()

    def _run(self, data: Data, groups: Groups, max_passes: int, tol: float, max_iter: int) -> Fit:
        p, G = data.n_features, len(groups)
        n_features = check_sizes(self.n_features, p, p, 0)[0]
        n_groups = check_n_groups(G if self.n_groups is None else self.n_groups, G, 0)[0]
        return constrained(
            data, n_features, n_groups, float(self.tau), max_passes=max_passes, tol=tol,
            max_iter=max_iter,
        )  # fmt: skip


class DCRegressor(_DC, Regressor):
    """Linear regression with truncated penalties on coefficients and on the norms of groups.

        min_{x, b}  1/2 sum_i s_i (y_i - a_i'x - b)^2
                    + l1 sum_j min(|x_j| / tau, 1) + l2 sum_g min(||x_g|| / tau, 1)

    by passes of the sparse group lasso: a stationary point of it.

    Parameters
    ----------
    l1, l2 : float
        The price of a feature and of a group, not negative.
    tau : float
        Where the penalties end: coefficients on the scaled columns beyond it cost no more.
    max_passes : int
        The most convex problems.
    feature_groups, fit_intercept, standardize, tol, max_iter
        As of `SparseGroupLassoRegressor`; `tol` and `max_iter` of every convex problem.

    Attributes
    ----------
    As of `SparseGroupLassoRegressor`; `gap_` is the worst of the convex problems, and
    `objectives_` has the objective after every pass.
    """


class DCClassifier(_DC, Classifier):
    """Logistic regression with truncated penalties on coefficients and on norms of groups.

    Parameters and attributes as of `DCRegressor`; for two classes.
    """


class ConstrainedDCRegressor(_ConstrainedDC, Regressor):
    """Linear regression with bounds on truncated counts of features and of groups.

        min_{x, b}  1/2 sum_i s_i (y_i - a_i'x - b)^2
        s.t.  sum_j min(|x_j| / tau, 1) <= n_features,  sum_g min(||x_g|| / tau, 1) <= n_groups

    by passes over convex problems: a stationary point of it. A coefficient below tau counts in
    part, so that `support_` may have more than `n_features`.

    Parameters
    ----------
    n_features : int or None
        None: 10, or all columns if fewer.
    n_groups : int or None
        None: all groups.
    tau, max_passes, feature_groups, fit_intercept, standardize, tol, max_iter
        As of `DCRegressor`. The first pass allows sum_j |x_j| <= tau n_features only: with a small
        tau it takes many passes to grow.

    Attributes
    ----------
    As of `DCRegressor`. The solver works on all columns at once, without active groups.
    """


class ConstrainedDCClassifier(_ConstrainedDC, Classifier):
    """Logistic regression with bounds on truncated counts of features and of groups.

    Parameters and attributes as of `ConstrainedDCRegressor`; for two classes.
    """

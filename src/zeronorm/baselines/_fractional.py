"""The fractional models: a penalty of the power 2/3 on the norms of groups, by reweighting.

    min_{x, b}  sum_i s_i f(y_i, a_i'x + b) + penalty sum_g ||x_g||_q^(2/3)

q = 1, frac(1,2), selects groups and features within them; q = 2, frac(2,1), whole groups. Every
pass solves a weighted lasso, or group lasso, with w_g = 2/3 (||x_g||_q + EPSILON)^(-1/3) of the
pass before it, w_g = 1 in the first one. By concavity no pass after the first raises

    sum_i s_i f(y_i, a_i'x + b) + penalty sum_g (||x_g||_q + EPSILON)^(2/3).

The result is a stationary point, no more.

Source: Xiang, Shen and Ye, Efficient sparse group feature selection via nonconvex optimization, and
the factorised form of the models there that gives the power 2/3: Xiang, Yuan, Fan, Wang, Thompson
and Ye, Multi-source learning with block-wise missing data, KDD 2013. In frac(a,b) the first number
is the norm: so say the tables of the published comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _validate
from .._typing import FloatArray
from ..groups import Groups
from ._base import Classifier, Data, Fit, LinearModel, Regressor, warn_of_gap
from ._sparse_group_lasso import MAX_ITER, SLOW, TOL, solve

EPSILON = 1e-4
POWER = 2.0 / 3.0
MAX_PASSES = 20
CHANGE = 1e-6  # relative, of the objective, to stop at


def fractional(
    data: Data, penalty: float, norm: int, *, max_passes: int, tol: float, max_iter: int
) -> Fit:
    """Reweight until nothing changes; `history` has the smoothed objective of every pass.

    The gap is that of the worst pass, of its own convex problem.
    """
    weights = np.ones(data.n_groups)
    none = np.zeros(data.n_groups)
    x, worst, n_iter = None, 0.0, 0
    history: list[float] = []
    for _ in range(max_passes):
        thresholds = penalty * weights
        if norm == 1:
            l1, l2 = np.repeat(thresholds, data.sizes), none
        else:
            l1, l2 = np.zeros(data.n_features), thresholds
        fit = solve(data, l1, l2, start=x, tol=tol, max_iter=max_iter)
        x, worst, n_iter = fit.x, max(worst, fit.gap), n_iter + fit.n_iter
        lengths = group_norms(data, x, norm)
        loss = data.loss.value_gradient(data.columns @ x, data.y, data.weight)[0]
        history.append(loss + penalty * float(((lengths + EPSILON) ** POWER).sum()))
        weights = POWER * (lengths + EPSILON) ** (POWER - 1.0)
        if len(history) > 1 and abs(history[-2] - history[-1]) <= CHANGE * abs(history[-2]):
            break
    assert x is not None  # max_passes >= 1
    return Fit(x, loss + penalty * float((lengths**POWER).sum()), worst, n_iter, tuple(history))


def group_norms(data: Data, x: FloatArray, norm: int) -> FloatArray:
    """Return ||x_g||_1 or ||x_g||_2 of every group, (n_groups,)."""
    magnitude = np.abs(x[: data.n_features])
    sums = np.add.reduceat(magnitude if norm == 1 else magnitude**2, data.start[:-1])
    return np.asarray(sums if norm == 1 else np.sqrt(sums), np.float64)


class _Fractional(LinearModel):
    def __init__(
        self,
        penalty: float = 1.0,
        norm: int = 1,
        *,
        groups: Any = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        max_passes: int = MAX_PASSES,
        tol: float = TOL,
        max_iter: int = MAX_ITER,
    ) -> None:
        self.penalty = penalty
        self.norm = norm
        self.groups = groups
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.max_passes = max_passes
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        _validate.check_not_negative("penalty", self.penalty)
        if not _validate.is_integer(self.norm) or self.norm not in (1, 2):
            raise ValueError(f"norm must be 1 or 2; got {self.norm!r}.")
        _validate.check_iterations("max_passes", self.max_passes)
        _validate.check_gap("tol", self.tol)
        _validate.check_iterations("max_iter", self.max_iter)

    def _solve(self, data: Data, groups: Groups) -> Fit:
        fit = fractional(
            data, float(self.penalty), int(self.norm), max_passes=int(self.max_passes),
            tol=float(self.tol), max_iter=int(self.max_iter),
        )  # fmt: skip
        warn_of_gap(fit.gap, float(self.tol), SLOW)
        self.history_ = fit.history
        return fit


class FractionalRegressor(_Fractional, Regressor):
    """Linear regression with a penalty of the power 2/3 on the norms of groups.

        min_{x, b}  1/2 sum_i s_i (y_i - a_i'x - b)^2 + penalty sum_g ||x_g||_norm^(2/3)

    by reweighting: a stationary point of it.

    Parameters
    ----------
    penalty : float
        Not negative.
    norm : {1, 2}
        1 selects groups and features within them, frac(1,2); 2 whole groups, frac(2,1).
    max_passes : int
        The most convex problems.
    groups, fit_intercept, standardize, tol, max_iter
        As of `SparseGroupLassoRegressor`; `tol` and `max_iter` of every convex problem.

    Attributes
    ----------
    As of `SparseGroupLassoRegressor`; `dual_gap_` is the worst of the convex problems, and
    `history_` has the objective after every pass, smoothed: of ||x_g|| + 1e-4 in place of ||x_g||.
    """


class FractionalClassifier(_Fractional, Classifier):
    """Logistic regression with a penalty of the power 2/3 on the norms of groups, for two classes.

    Parameters and attributes as of `FractionalRegressor`.
    """


__all__ = ["FractionalClassifier", "FractionalRegressor", "fractional"]

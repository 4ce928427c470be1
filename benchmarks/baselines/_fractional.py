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

from dataclasses import replace
from typing import Any

import numpy as np

from zeronorm.core import validation as validate
from zeronorm.core.groups import Groups
from zeronorm.core.types import FloatArray

from ._base import Classifier, Data, Fit, Regressor
from ._passes import InPasses, by_passes
from ._sparse_group_lasso import MAX_ITER, TOL, solve

EPSILON = 1e-4
POWER = 2.0 / 3.0
MAX_PASSES = 20


def fractional(
    data: Data, penalty: float, norm: int, *, max_passes: int, tol: float, max_iter: int
) -> Fit:
    """Reweight until nothing changes; `history` has the smoothed objective of every pass."""
    none = np.zeros(data.n_groups)

    def convex(x: FloatArray | None) -> Fit:
        thresholds = np.full(data.n_groups, penalty)
        if x is not None:
            thresholds *= POWER * (data.group_norms(x, norm) + EPSILON) ** (POWER - 1.0)
        if norm == 1:
            l1, l2 = np.repeat(thresholds, data.sizes), none
        else:
            l1, l2 = np.zeros(data.n_features), thresholds
        return solve(data, l1, l2, start=x, tol=tol, max_iter=max_iter)

    def objective(x: FloatArray, smoothing: float = EPSILON) -> float:
        norms = data.group_norms(x, norm)
        return data.value(x) + penalty * float(((norms + smoothing) ** POWER).sum())

    fit = by_passes(convex, objective, max_passes)
    return replace(fit, objective=objective(fit.x, 0.0))


class _Fractional(InPasses):
    def __init__(
        self,
        penalty: float = 1.0,
        norm: int = 1,
        *,
        feature_groups: Any = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        max_passes: int = MAX_PASSES,
        tol: float = TOL,
        max_iter: int = MAX_ITER,
    ) -> None:
        super().__init__(feature_groups, fit_intercept, standardize, max_passes, tol, max_iter)
        self.penalty = penalty
        self.norm = norm

    def _check_parameters(self) -> None:
        validate.check_not_negative("penalty", self.penalty)
        if not validate.is_integer(self.norm) or self.norm not in (1, 2):
            raise ValueError(f"norm must be 1 or 2; got {self.norm!r}.")
        super()._check_parameters()

    def _run(self, data: Data, groups: Groups, max_passes: int, tol: float, max_iter: int) -> Fit:
        return fractional(
            data, float(self.penalty), int(self.norm), max_passes=max_passes, tol=tol,
            max_iter=max_iter,
        )  # fmt: skip


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
    feature_groups, fit_intercept, standardize, tol, max_iter
        As of `SparseGroupLassoRegressor`; `tol` and `max_iter` of every convex problem.

    Attributes
    ----------
    As of `SparseGroupLassoRegressor`; `gap_` is the worst of the convex problems, and
    `objectives_` has that after every pass, smoothed: of ||x_g|| + 1e-4 in place of ||x_g||.
    """


class FractionalClassifier(_Fractional, Classifier):
    """Logistic regression with a penalty of the power 2/3 on the norms of groups, for two classes.

    Parameters and attributes as of `FractionalRegressor`.
    """

"""Orthogonal matching pursuit, of features (OMP) and of groups (gOMP).

Least squares: with the columns of every group orthonormalised, A_G = Q_G R_G, a step adds the
group with the largest ||Q_G'r||, r = y - A x, and fits all groups so far by least squares; a
feature is a group of one, with |a_j'r| / ||a_j||. The fits share an orthonormal basis, which the
steps extend.

Logistic: the same steps with r the gradient of the loss, by `zeronorm.solvers.greedy` with a tiny
ridge, without which there is no fit where the classes are separable.

Sources: Pati, Rezaiifar and Krishnaprasad, Asilomar 1993; Lozano, Swirszcz and Abe, NIPS 2009
(groups) and AISTATS 2011 (logistic).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from zeronorm.core import validation as validate
from zeronorm.core.budgets import check_n_groups, check_sizes
from zeronorm.core.groups import Groups
from zeronorm.core.types import FloatArray, IndexArray
from zeronorm.data import as_design
from zeronorm.solvers import SelectionRequest, Task, greedy, run

from ._base import CALLER_OF_FIT, Classifier, Data, Fit, LinearModel, LinearPath, Regressor

RANK = 1e-8  # columns whose new part is below this share of their length are dependent
EXACT = 1e-12  # a residual below this share of y, as the groups see it, is rounding
RIDGE = 1e-6
TOL = 1e-8


def pursue(data: Data, n_steps: int) -> tuple[list[int], list[FloatArray]]:
    """Return the groups in order of entry, and the coefficients after 0, 1, ... steps.

    It ends early where nothing is left that a group could explain.
    """
    root = np.sqrt(data.weight)
    columns = data.features if (root == 1.0).all() else data.features * root[:, None]
    y = root * (data.y - data.null_intercept)
    basis, owner, inverse = _orthonormalise(columns, data)
    left = np.zeros(data.n_groups, bool)
    left[owner] = True
    Q = np.empty((columns.shape[0], 0))
    order: list[int] = []
    models = [data.null()]
    residual = y
    for _ in range(n_steps):
        strength = np.bincount(owner, (inverse * (basis.T @ residual)) ** 2, data.n_groups)
        strength[~left] = -1.0
        best = int(strength.argmax())
        if np.sqrt(max(0.0, strength[best])) <= EXACT * np.linalg.norm(y):
            break
        order.append(best)
        left[best] = False
        own = np.flatnonzero(owner == best)
        block = basis[:, own] * inverse[own]
        for _ in range(2):  # the second time against rounding
            block = block - Q @ (Q.T @ block)
        directions, lengths, _ = np.linalg.svd(block, full_matrices=False)
        Q = np.hstack([Q, directions[:, lengths > RANK]])
        projected = Q.T @ y
        residual = y - Q @ projected
        members = np.concatenate([np.arange(data.start[g], data.start[g + 1]) for g in order])
        x = data.null()
        x[members] = np.linalg.lstsq(Q.T @ columns[:, members], projected, rcond=RANK)[0]
        models.append(x)
    return order, models


def _orthonormalise(columns: FloatArray, data: Data) -> tuple[FloatArray, IndexArray, FloatArray]:
    """Return orthogonal bases of the columns of every group side by side, their groups, 1 / norms.

    Where every feature is a group, they are the columns themselves.
    """
    if data.n_groups == data.n_features:
        norm = np.sqrt(np.einsum("ij,ij->j", columns, columns))
        inverse = np.divide(1.0, norm, out=np.zeros_like(norm), where=data.scale > 0)
        return columns, np.arange(data.n_features), inverse
    basis = np.empty_like(columns)
    owner: list[int] = []
    for g in range(data.n_groups):
        Q, R, _ = scipy.linalg.qr(
            columns[:, data.start[g] : data.start[g + 1]], mode="economic", pivoting=True
        )
        lengths = np.abs(np.diag(R))
        rank = int((lengths > RANK * lengths[0]).sum())
        basis[:, len(owner) : len(owner) + rank] = Q[:, :rank]
        owner += [g] * rank
    return basis[:, : len(owner)], np.array(owner, np.int64), np.ones(len(owner))


def pursue_logistic(data: Data, n_steps: int) -> tuple[list[int], list[FloatArray]]:
    """Return what `pursue` does, for the logistic loss: models after 0, 1, ..., n_steps steps."""
    code = np.repeat(np.arange(data.n_groups), data.sizes)
    p = data.n_features
    task = Task.of(
        as_design(data.features), data.y, data.weight,
        "standardized" if data.intercept else "none",
        intercept=data.intercept, usable=data.scale > 0,
        groups=None if data.n_groups == p else Groups(np.arange(data.n_groups), code),
    )  # fmt: skip
    path = run(
        greedy(
            task, range(1, n_steps + 1),
            SelectionRequest(refit_C=1.0 / RIDGE, tol=TOL, certify=False), fit_C=1.0 / RIDGE,
        )
    )  # fmt: skip
    models = [data.null()]
    for size in range(1, n_steps + 1):
        x = np.zeros(p + int(data.intercept))
        x[path[size].support] = path[size].coef
        x[p:] = path[size].intercept
        models.append(x)
    assert path.order is not None
    return list(dict.fromkeys(code[path.order].tolist())), models


class _Pursuit(LinearModel):
    """A number of features, by forward steps."""

    def __init__(self, n_features: int | None = None, *, fit_intercept: bool = True) -> None:
        self.n_features = n_features
        self.fit_intercept = fit_intercept

    def _check_parameters(self) -> None:
        validate.check_count("n_features", self.n_features)

    def _n_steps(self, data: Data) -> int:
        usable = int((data.scale > 0).sum())
        return check_sizes(self.n_features, usable, data.n_features, 0)[0]

    def _solve(self, data: Data, groups: Groups) -> Fit:
        n_steps = self._n_steps(data)
        follow = pursue if self._loss.name == "least_squares" else pursue_logistic
        order, models = follow(data, n_steps)
        if len(order) < n_steps:
            warnings.warn(
                f"Matching pursuit ended after {len(order)} of {n_steps} steps: no other column "
                "explains anything of what is left of y.",
                ConvergenceWarning,
                stacklevel=CALLER_OF_FIT - 1,
            )
        self.order_ = groups.labels[order]
        self.steps_ = LinearPath.of(range(len(models)), [data.unscale(x) for x in models])
        return Fit(models[-1], data.value(models[-1]), np.nan, len(order))


class _GroupPursuit(_Pursuit):
    """A number of groups."""

    def __init__(
        self, n_groups: int | None = None, *, feature_groups: Any = None, fit_intercept: bool = True
    ) -> None:
        self.n_groups = n_groups
        self.feature_groups = feature_groups
        self.fit_intercept = fit_intercept

    def _check_parameters(self) -> None:
        validate.check_count("n_groups", self.n_groups)

    def _n_steps(self, data: Data) -> int:
        usable = np.unique(np.repeat(np.arange(data.n_groups), data.sizes)[data.scale > 0]).size
        wanted = min(10, usable) if self.n_groups is None else self.n_groups
        return check_n_groups(wanted, usable, 0)[0]


class OMPRegressor(_Pursuit, Regressor):
    """Linear regression on exactly k features by orthogonal matching pursuit.

    Parameters
    ----------
    n_features : int or None
        How many; None: 10, or all usable columns if fewer. Fewer where nothing is left of y, with a
        `ConvergenceWarning`.
    fit_intercept : bool
        A free intercept, which is not counted.

    Attributes
    ----------
    support_ : sorted features of the model.
    coef_ : (n_features_in_,), of a classifier (1, n_features_in_).
    intercept_ : float, of a classifier (1,).
    order_ : the features (the labels of the groups) in order of entry.
    steps_ : `LinearPath` of the models after 0, 1, ... steps, `coef_` the last.
    objective_ : the loss, summed.

    Examples
    --------
    >>> import numpy as np
    >>> from baselines import OMPRegressor
    >>> X = np.random.default_rng(0).standard_normal((50, 6))
    >>> model = OMPRegressor(2).fit(X, X[:, 0] - 2 * X[:, 4] + 0.1 * X[:, 5])
    >>> model.order_
    array([4, 0])
    """


class OMPClassifier(_Pursuit, Classifier):
    """Logistic regression on exactly k features by orthogonal matching pursuit, for two classes.

    The fits have a ridge penalty of 1e-6 / 2 ||x||^2 on standardised columns. A choice of the
    ridge, certificates and any storage of X: `zeronorm.published.GreedyLogisticRegression`.

    Parameters and attributes as of `OMPRegressor`.
    """


class GroupOMPRegressor(_GroupPursuit, Regressor):
    """Linear regression on a number of groups of features by group matching pursuit.

    Parameters
    ----------
    n_groups : int or None
        How many; None: 10, or all groups if fewer.
    feature_groups, fit_intercept
        As of `SparseGroupLassoRegressor`.

    Attributes
    ----------
    As of `OMPRegressor`.
    """


class GroupOMPClassifier(_GroupPursuit, Classifier):
    """Logistic regression on a number of groups of features by group matching pursuit.

    Parameters and attributes as of `GroupOMPRegressor`, the ridge as of `OMPClassifier`.
    """

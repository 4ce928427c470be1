"""Hard thresholding for few features in few groups, as published, and the search beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Literal

import numpy as np

from ..estimators import BudgetClassifier, BudgetRegressor
from ..estimators.base import with_constants, with_parameters
from ..methods import Bilevel, Method

NOT_BILEVEL: dict[str, Any] = {  # parameters of `BudgetClassifier` that the paper does without
    "calibrate": False,
    **dict.fromkeys(("method", "signs", "covariates", "criterion", "checkpoint")),
}


@with_parameters
@with_constants(multi_class="ovr", **NOT_BILEVEL)
class BilevelClassifier(BudgetClassifier):
    """Classification by at most k features in at most g groups.

        min_{u, b}  1/2 ||u||^2 + C sum_i s_i f(y_i, x_i'u + b)
        subject to  ||u||_0 <= n_features,  #{groups G : u_G != 0} <= n_groups

    on the selection scaling. A search inside a pool of candidates changes features and groups under
    both budgets at once; a scan of X at its result shows the features outside of the pool that
    would lower the objective, which join the pool, until a scan shows none that helps. The result
    is a local optimum.

    Parameters
    ----------
    n_features : int, list or range of int, or None
        How many features at most. None: 10, or all usable columns if fewer.
    n_groups : int, list or range of int, or None
        How many groups they are in at most. None: any number.
    feature_groups : (n_features_in_,) labels, a dict of lists, `Groups`, "columns" or None
        The group of every column of X, or the columns (indices or names) of every group by its
        label. "columns": X is a data frame whose categorical columns (of strings, categories or
        booleans) are one-hot encoded; every column of the frame is a group. None: every column is a
        group of its own.
    solver : str
        - "auto": the search, a few scans for any number of iterations.
        - "ista", "ista-l", "fista", "fista-c": the published hard thresholding methods, a scan for
          each step: plain with a sufficient decrease, plain with a Lipschitz condition, accelerated
          with the first step of Barzilai and Borwein, and accelerated with a constant one.
    loss : "logistic" or "squared_hinge"
        The latter is a support vector machine, without `predict_proba` (but with `refit_C`).
    C : float
        Weight of the summed loss, for standardised columns.
    refit_C : None, "loo" or float
        None: the model is the solution of the problem above. Else a logistic regression on its
        support is fitted on the scaling of X, with this C, or with the one that approximate
        leave-one-out chooses.
    forced_features : list of int or str, or None
        In every model, counted in both budgets. With feature_groups="columns" they are encoded
        columns: the name of a categorical one is "column=category", and "column" alone is refused.
        To keep a place for the column as a whole, use `forced_groups`.
    forced_groups : list of labels, or None
        Counted as groups of every model, with or without features of theirs.
    tol : float
        Changes are made where the objective falls by more than this share of itself.
    max_iter : int
        Steps of the published methods.
    warm_start : bool
        Whether the candidates of the previous fit are candidates from the start; the published
        methods begin at its support, where the budgets admit it.
    fit_intercept, standardize, class_weight, n_threads
        As in `BudgetClassifier`.

    Attributes
    ----------
    As of `BudgetClassifier`, without a certificate. Lists of budgets give a model of each pair from
    one fit, `path_[k, g]`; `predict` uses the largest. `groups_` are the labels of the groups of
    the model. A `Step` of `history_` has the objective of one size and the candidates that entered.

    References
    ----------
    Xiang, Yang and Ye, Simultaneous feature and feature group selection through hard thresholding,
    KDD 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm.published import BilevelClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.standard_normal((200, 40)), np.repeat(np.arange(8), 5)
    >>> y = X[:, 10] + X[:, 12] - X[:, 30] > 0
    >>> model = BilevelClassifier(n_features=3, n_groups=2, feature_groups=groups).fit(X, y)
    >>> model.support_.tolist(), model.groups_.tolist()
    ([10, 12, 30], [2, 6])
    """

    n_groups: int | Sequence[int] | None = field(default=None, kw_only=False)
    solver: str = "auto"
    loss: Literal["logistic", "squared_hinge"] = "logistic"
    C: float = 1.0
    refit_C: float | Literal["auto", "loo"] | None = None
    forced_groups: Any = None
    tol: float = 1e-6
    max_iter: int = 10_000

    def _method(self, automatic: type[Method]) -> Method:
        return Bilevel(self.solver, self.max_iter)

    @property
    def n_iter_(self) -> int:
        """Rows of the history, the most of any class."""
        return max(len(path.history) for path in self._paths)


@with_parameters
@with_constants(loss="least_squares", refit_C=None, **NOT_BILEVEL)
class BilevelRegressor(BudgetRegressor):
    """Least squares on at most k features in at most g groups.

        min_{u, b}  1/2 sum_i s_i (x_i'u + b - y_i)^2 + 1/(2 C) ||u||^2
        subject to  ||u||_0 <= n_features,  #{groups G : u_G != 0} <= n_groups

    on the selection scaling, found as by `BilevelClassifier`.

    Parameters
    ----------
    n_features, n_groups, feature_groups, solver, tol, max_iter, warm_start
        As in `BilevelClassifier`.
    C : float
        The ridge is 1/(2 C) ||u||^2; inf: none. It is the C of `BilevelClassifier`: that objective,
        with C before the loss, is C times this one.
    forced_features, forced_groups
        As in `BilevelClassifier`; with feature_groups="columns" the names in `forced_features` are
        of encoded columns, "column=category".
    fit_intercept, standardize, n_threads
        As in `BudgetClassifier`.

    Attributes
    ----------
    As of `BudgetRegressor`.

    References
    ----------
    Xiang, Yang and Ye, Simultaneous feature and feature group selection through hard thresholding,
    KDD 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm.published import BilevelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.standard_normal((100, 40)), np.repeat(np.arange(8), 5)
    >>> y = X[:, 10] + X[:, 12] - X[:, 30] + 0.1 * rng.standard_normal(100)
    >>> model = BilevelRegressor(n_features=3, n_groups=2, feature_groups=groups).fit(X, y)
    >>> model.support_.tolist(), model.groups_.tolist()
    ([10, 12, 30], [2, 6])
    """

    n_groups: int | Sequence[int] | None = field(default=None, kw_only=False)
    solver: str = "auto"
    C: float = np.inf
    forced_groups: Any = None
    tol: float = 1e-6
    max_iter: int = 10_000

    def _method(self, automatic: type[Method]) -> Method:
        return Bilevel(self.solver, self.max_iter)

    @property
    def n_iter_(self) -> int:
        """Rows of the history."""
        return len(self._paths[0].history)

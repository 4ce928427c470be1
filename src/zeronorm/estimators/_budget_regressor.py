"""The front door of selection for numbers: least squares on so many features or groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..methods import Method, named
from ..solvers.drive import Solver
from ._linear import LinearRegressor, Rowwise
from ._selecting import Plan, Problem, begun, keep_paths


class BudgetRegressor(LinearRegressor):
    """Least squares on exactly k features, whole groups, or features in few groups.

        min_{u, b}  1/2 ||u||^2 + C sum_i s_i 1/2 (y_i - x_i'u - b)^2   subject to the budget

    on the selection scaling. Budgets, methods and certificates are those of `BudgetClassifier`,
    whose twin this is.

    Parameters
    ----------
    n_features, n_groups, groups, method, forced_features, forced_groups, fit_intercept,
    standardize, criterion, tol, warm_start, n_threads
        As in `BudgetClassifier`.
    loss : "least_squares"
    C : "auto" or float
        Weight of the summed loss during selection. "auto": 0.1, and inf for "bilevel", which alone
        can do without a ridge. Where so many features fit all different rows exactly, many supports
        do without one, and rounding chooses among them: a finite C has one best of them.
    refit_C : "auto", "loo", float or None
        C of the final fit on the scaling of X; "loo" chooses by approximate leave-one-out error,
        which is exact for least squares. "auto": "loo", and None for "bilevel".

    Attributes
    ----------
    As of `BudgetClassifier`, without those of classes; coef_ is (n_columns,) and intercept_ a
    number. `criteria_` counts n/2 log(RSS/n), up to constants minus the log-likelihood of normal
    errors.

    References
    ----------
    Bertsimas, King and Mazumder, Best subset selection via a modern optimization lens, Annals of
    Statistics 44(2), 2016. Of "bilevel": Xiang, Yang and Ye, Simultaneous feature and feature group
    selection through hard thresholding, KDD 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import BudgetRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.standard_normal((100, 40)), np.repeat(np.arange(8), 5)
    >>> y = X[:, 10] + X[:, 12] - X[:, 30] + 0.1 * rng.standard_normal(100)
    >>> model = BudgetRegressor(n_features=3, method="l0").fit(X, y)
    >>> model.support_.tolist(), model.certificate_.loss
    ([10, 12, 30], 'least_squares')
    >>> model = BudgetRegressor(n_features=3, n_groups=2, groups=groups).fit(X, y)
    >>> model.support_.tolist(), model.groups_.tolist()
    ([10, 12, 30], [2, 6])
    """

    def __init__(
        self,
        n_features: int | Sequence[int] | None = None,
        *,
        n_groups: int | Sequence[int] | None = None,
        groups: Any = None,
        loss: str = "least_squares",
        method: str | Method = "auto",
        C: float | str = "auto",
        refit_C: float | str | None = "auto",
        fit_intercept: bool = True,
        standardize: bool = True,
        forced_features: Any = None,
        forced_groups: Any = None,
        criterion: str | None = None,
        tol: float | None = None,
        warm_start: bool = False,
        n_threads: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.n_groups = n_groups
        self.groups = groups
        self.loss = loss
        self.method = method
        self.C = C
        self.refit_C = refit_C
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.forced_features = forced_features
        self.forced_groups = forced_groups
        self.criterion = criterion
        self.tol = tol
        self.warm_start = warm_start
        self.n_threads = n_threads

    def _doubts(self) -> Iterable[Warning]:
        return self._plan().doubts(self._paths, self.size_)

    def _method(self, automatic: type[Method]) -> Method:
        """Return what finds the features; automatic: the method of "auto"."""
        return named(self.method, automatic)

    def _plan(self) -> Plan:
        return Plan.of(self)

    def _check_parameters(self) -> None:
        self._plan()

    def _loss_weight(self) -> float:
        return 1.0  # C may be infinite

    def _sizes_of_folds(self, data: Rowwise) -> tuple[Any, ...] | None:
        return self._pose(data).sizes if self._plan().counts == "both" else None

    def _pose(self, data: Rowwise, sizes: tuple[Any, ...] | None = None) -> Problem:
        data, unit = self._weigh(data)
        classes, targets = self._problems(data.labels, data.sample_weight)
        return self._plan().pose(data, targets, classes, unit, sizes)

    def _begin(
        self, data: Rowwise, seconds: dict[str, float]
    ) -> tuple[np.ndarray | None, list[Solver[Any]]]:
        return None, begun(self, data, seconds)[1]

    def _store(self, results: list[Any]) -> None:
        keep_paths(self, results)
        self._plan().keep_groups(self)


__all__ = ["BudgetRegressor"]

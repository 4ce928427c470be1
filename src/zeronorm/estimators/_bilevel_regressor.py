"""BilevelRegressor: least squares on at most k features in at most g groups."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from .. import _validate
from .._typing import FloatArray, IndexArray
from ..designs import Scaled, Sparse
from ..designs._operations import center_scale, on_scaling_of_x
from ..designs._wrappers import storage_of
from ..losses import LeastSquares
from ..result import Status, Step
from ..solvers._bilevel import BilevelTask, Size
from ..solvers._drive import Solver
from ..solvers._hard_thresholding import Objective
from ._bilevel import Bilevel, unscaled
from ._sparse_linear import CALLER_OF_FIT, Rowwise, SparseLinearModel, with_callbacks


@dataclass(frozen=True, slots=True)
class RegressionModel:
    """A model of a regressor, on the scaling of X."""

    support: IndexArray  # (k,) sorted
    coef: FloatArray  # (k,)
    intercept: float
    objective: float  # of the problem, on the selection scaling
    status: Status

    @property
    def n_features(self) -> int:
        """The size of the support."""
        return int(self.support.size)


class BilevelRegressor(Bilevel, RegressorMixin, SparseLinearModel):  # type: ignore[misc]
    """Least squares on at most k features in at most g groups.

        min_{u, b}  1/2 sum_i s_i (x_i'u + b - y_i)^2 + 1/(2 C) ||u||^2
        subject to  ||u||_0 <= n_features,  #{groups G : u_G != 0} <= n_groups

    on the selection scaling, found as by `BilevelClassifier`.

    Parameters
    ----------
    n_features, n_groups, groups, solver, tol, max_iter, warm_start
        As in `BilevelClassifier`.
    C : float
        The ridge is 1/(2 C) ||u||^2; inf: none. It is the C of `BilevelClassifier`: that objective,
        with C before the loss, is C times this one.
    forced_features, forced_groups
        As in `BilevelClassifier`; with groups="columns" the names in `forced_features` are of
        encoded columns, "column=category".
    fit_intercept, standardize, n_threads
        As in `BudgetClassifier`.

    Attributes
    ----------
    support_ : (k,) selected features, sorted.
    groups_ : labels of their groups.
    coef_, intercept_ : the model on all features, (n_columns,), and a number.
    path_ : dict of the models by (n_features, n_groups), with `support`, `coef`, `intercept`,
        `objective` and `status`; `predict` uses the largest.
    history_ : a `Step` for every scan and size, with its objective and the candidates that entered.
    n_scans_ : passes over X. `seconds_` : by phase.
    feature_names_in_, n_features_in_ : of X.

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
    >>> model = BilevelRegressor(n_features=3, n_groups=2, groups=groups).fit(X, y)
    >>> model.support_.tolist(), model.groups_.tolist()
    ([10, 12, 30], [2, 6])
    """

    def __init__(
        self,
        n_features: int | Sequence[int] | None = None,
        n_groups: int | Sequence[int] | None = None,
        *,
        groups: Any = None,
        solver: str = "auto",
        C: float = np.inf,
        fit_intercept: bool = True,
        standardize: bool = True,
        forced_features: Any = None,
        forced_groups: Any = None,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        warm_start: bool = False,
        n_threads: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.n_groups = n_groups
        self.groups = groups
        self.solver = solver
        self.C = C
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.forced_features = forced_features
        self.forced_groups = forced_groups
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.n_threads = n_threads

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BilevelRegressor:
        """Select features and groups, and fit the model on them.

        Parameters
        ----------
        X : array, sparse matrix or array, data frame, path of a .npy file, or a Design
            (n_samples, n_features). Never copied as a whole, never modified.
        y : (n_samples,) finite numbers.
        sample_weight : (n_samples,) not negative; integer weights equal repeated rows, except
            where `n_features` fit all different rows exactly and C is inf: many supports do, and
            rounding chooses among them. A finite C has one best of them.

        Raises
        ------
        ValueError
            Where a parameter or the data break a rule; the message says which and what to do.
        """
        self._fit(X, y, sample_weight)
        self._warn_of_ends(self.history_, CALLER_OF_FIT)
        return self

    def _check_parameters(self) -> None:
        _validate.check_positive_or_infinite("C", self.C)
        _validate.check_positive("tol", self.tol)
        _validate.check_count("n_threads", self.n_threads)
        for name in ("fit_intercept", "standardize", "warm_start"):
            _validate.check_flag(name, getattr(self, name))
        self._check_bilevel()

    def _target(self, y: Any, n_samples: int) -> np.ndarray:
        return _validate.check_response(y, n_samples)

    def _begin(
        self, data: Rowwise, seconds: dict[str, float]
    ) -> tuple[np.ndarray | None, list[Solver[Any]]]:
        begin = time.perf_counter()
        task, sizes = self._pose(data)
        seconds["standardize"] = time.perf_counter() - begin
        start = self._warm_start(task.groups.code.size)
        return None, [self._regression(task, sizes, start, seconds)]

    def _pose(self, data: Rowwise) -> tuple[BilevelTask, tuple[Size, ...]]:
        """Pose the problem; one pass over X gives the scales and finds NaN."""
        weight = data.sample_weight
        _validate.check_total_weight(1.0, weight)
        center = bool(self.fit_intercept) and not isinstance(storage_of(data.design), Sparse)
        scaled = center_scale(data.design, data.sample_weight, center=center)
        usable, spread = scaled.scale > 0, None
        if not self.standardize:
            _validate.check_spread(scaled.scale)
            scaled, spread = unscaled(scaled)
        groups = self._groups_of(data)
        forced = _validate.check_forced(self.forced_features, usable.size, data.names, usable)
        sizes = self._sizes(groups, usable, forced)
        y = data.labels.astype(np.float64)
        objective = Objective(
            y, weight, LeastSquares(), 1.0 / float(self.C), bool(self.fit_intercept)
        )
        task = BilevelTask(
            scaled, objective, groups, forced,
            groups.places("forced_groups", self.forced_groups), usable, spread,
        )  # fmt: skip
        return task, sizes

    def _posed_sizes(self, data: Rowwise) -> tuple[Size, ...]:
        """Return the sizes, checked with these rows."""
        return self._pose(data)[1]

    def _model_of(self, results: Any, size: Size) -> RegressionModel:
        """Return the model of a size from what the solver returned."""
        found: RegressionModel = results[0][size]
        return found

    def _regression(
        self,
        task: BilevelTask,
        sizes: tuple[Size, ...],
        start: Sequence[IndexArray],
        seconds: dict[str, float],
    ) -> Solver[tuple[dict[Size, RegressionModel], tuple[Step, ...]]]:
        """Return the models of all sizes, and the history."""
        path = yield from self._select(task, sizes, start, seconds)
        models = {}
        for size in sorted(path.fits):
            fit = path.fits[size]
            assert isinstance(task.design, Scaled)
            coef, intercept = on_scaling_of_x(task.design, fit.support, fit.coef, fit.intercept)
            models[size] = RegressionModel(fit.support, coef, intercept, fit.objective, fit.status)
        return models, path.history

    def _warm_start(self, n_columns: int) -> list[IndexArray]:
        if not self.warm_start or not hasattr(self, "path_") or self._n_columns != n_columns:
            return []
        return [self.support_, *(step.entered for step in self.history_)]

    def _store(self, results: list[Any]) -> None:
        self.path_, self.history_ = results[0]
        model = self.path_[max(self.path_)]
        self._set_models([model])
        self.intercept_ = float(model.intercept)

    @property
    def coef_(self) -> FloatArray:
        """Coefficients on all features, (n_columns,), made on demand."""
        if not hasattr(self, "_support_coef"):
            raise AttributeError("coef_ is set by fit.")
        coef = np.zeros(self._n_columns)
        coef[self.support_] = self._support_coef[0]
        return coef

    def predict(self, X: Any) -> FloatArray:
        """Return X[:, support_] @ coef + intercept, (n_samples,)."""
        return self._scores(X)[:, 0]


__all__ = ["BilevelRegressor", "RegressionModel"]

"""At most k features in at most g groups: classification and regression."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from .. import _validate
from .._typing import Design, FloatArray, IndexArray
from ..criteria import information_criteria
from ..designs import Scaled, Sparse
from ..designs._operations import center_scale
from ..designs._wrappers import storage_of
from ..groups import Groups
from ..losses import LeastSquares, Logistic, SquaredHinge
from ..result import Path, Selection, Status, Step
from ..solvers import Task
from ..solvers._bilevel import (
    SOLVERS,
    BilevelFit,
    BilevelPath,
    BilevelTask,
    Size,
    select_bilevel,
)
from ..solvers._drive import Solver
from ..solvers._hard_thresholding import Objective
from ..solvers._refit import leave_one_out_loss
from ..solvers._select import refit_support
from ._base import BudgetedClassifier, Problem
from ._frames import EncodedFrame
from ._sparse_linear import CALLER_OF_FIT, Rowwise, SparseLinearModel, with_callbacks

LOSSES: dict[str, Logistic | SquaredHinge] = {
    "logistic": Logistic(),
    "squared_hinge": SquaredHinge(),
}


class _Bilevel:
    """Parameters and problems that classification and regression share."""

    n_features: Any
    n_groups: Any
    groups: Any
    forced_features: Any
    forced_groups: Any
    solver: Any
    tol: Any
    max_iter: Any

    # Set by cross-validation, whose folds may have fewer usable columns than all data.
    _sizes_of_folds: tuple[Size, ...] | None = None

    def _check_bilevel(self) -> None:
        """Raise ValueError where a parameter breaks a rule that no data are needed for."""
        _validate.check_option("solver", self.solver, SOLVERS)
        _validate.check_iterations("max_iter", self.max_iter)
        if self.groups is None and self.forced_groups is not None:
            raise ValueError(
                f"forced_groups names groups, but groups is None; got {self.forced_groups!r}. Pass "
                "the group of every column as groups, or use forced_features."
            )

    def _numeric(self, X: Any) -> tuple[Any, list[str] | None, Any]:
        """Return X as numbers, one-hot where the columns of a frame are the groups."""
        if not (isinstance(self.groups, str) and self.groups == "columns"):
            return X, _validate.feature_names(X), None
        encoding, matrix = EncodedFrame.fit(X)
        return matrix, encoding.names, encoding

    def _groups_of(self, data: Rowwise) -> Groups:
        """Return the groups of the columns; each is one of its own where none are given."""
        return self._partition(data.encoding, data.design.shape[1], data.names)

    def _partition(
        self, encoding: EncodedFrame | None, n_columns: int, names: Sequence[str] | None
    ) -> Groups:
        if encoding is not None:
            return encoding.groups
        if self.groups is None:
            own = np.arange(n_columns)
            return Groups(own, own)
        return Groups.of(self.groups, n_columns, names)

    @property
    def groups_(self: Any) -> np.ndarray:
        """The labels of the groups of the selected features, sorted."""
        if not hasattr(self, "support_"):
            raise AttributeError("groups_ is set by fit.")
        names = getattr(self, "feature_names_in_", None)
        groups = self._partition(
            self._encoding, self._n_columns, None if names is None else list(names)
        )
        return np.asarray(groups.labels[groups.of_features(self.support_)])

    def _sizes(
        self, groups: Groups | None, usable: np.ndarray, forced: IndexArray
    ) -> tuple[Any, ...]:
        """Return the sizes: (features, groups)."""
        assert groups is not None
        if self._sizes_of_folds is not None:
            return self._sizes_of_folds
        forced_groups = groups.places("forced_groups", self.forced_groups)
        n_usable = int(usable.sum())
        ks = _validate.check_sizes(self.n_features, n_usable, usable.size, forced.size)
        n_forced = np.union1d(groups.of_features(forced), forced_groups).size
        n_groups = groups.of_features(np.flatnonzero(usable)).size
        gs: tuple[int, ...] = (n_groups,)
        if self.n_groups is not None:
            gs = _validate.check_n_groups(self.n_groups, n_groups, n_forced)
        return tuple((k, g) for k in ks for g in gs)

    @property
    def n_iter_(self: Any) -> int:
        """Passes over X."""
        if not hasattr(self, "n_scans_"):
            raise AttributeError("n_iter_ is set by fit.")
        return int(self.n_scans_)

    def _warn_of_ends(self, history: Sequence[Step], stacklevel: int) -> None:
        """Warn where a published method did not converge."""
        for number, step in enumerate(history, start=1):
            if step.status is Status.MAX_ITER:
                warnings.warn(
                    f"solver={self.solver!r} did not converge in max_iter={self.max_iter} steps "
                    f"(step {number} of `history_`, {step.n_features} features). Use a larger "
                    "max_iter or tol, or solver='auto'.",
                    ConvergenceWarning,
                    stacklevel=stacklevel,
                )
                return

    def _select(
        self,
        task: BilevelTask,
        sizes: Sequence[Size],
        start: Sequence[IndexArray],
        seconds: dict[str, float] | None,
    ) -> Solver[BilevelPath]:
        """Solve all sizes; budgets larger than what there is are that."""
        usable = np.ones(task.groups.code.size, bool) if task.usable is None else task.usable
        most = int(usable.sum()), task.groups.of_features(np.flatnonzero(usable)).size
        most = most[0], max(most[1], np.union1d(task.forced_groups, []).size)
        clipped = {(k, g): (min(k, most[0]), min(k, g, most[1])) for k, g in sizes}
        path = yield from select_bilevel(
            task, sorted(set(clipped.values())), solver=self.solver, tol=float(self.tol),
            max_iter=int(self.max_iter), start=start, seconds=seconds,
        )  # fmt: skip
        return BilevelPath({size: path.fits[clipped[size]] for size in sizes}, path.history)


def _on_scaling_of_x(design: Design, fit: BilevelFit) -> tuple[FloatArray, float]:
    """Return coefficients and intercept for the columns of the user's X."""
    if not isinstance(design, Scaled):
        return fit.coef, fit.intercept
    coef = fit.coef * design.scale[fit.support]
    if design.mean is None:
        return coef, fit.intercept
    return coef, fit.intercept - float(design.mean[fit.support] @ coef)


def _entry_steps(history: Sequence[Step], support: IndexArray) -> IndexArray:
    """Return the step, from 1, at which each feature of a support became a candidate."""
    entered = np.zeros(support.size, np.int64)
    for number, step in enumerate(history, start=1):
        entered[(entered == 0) & np.isin(support, step.entered)] = number
    return entered


def _gives_probabilities(estimator: Any) -> bool:
    return bool(estimator.loss == "logistic") or estimator.refit_C is not None


class BilevelClassifier(_Bilevel, BudgetedClassifier):
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
    groups : (n_features_in_,) integers or strings, a dict of lists, `Groups`, "columns" or None
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
        In every model, counted in both budgets.
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
    >>> from zeronorm import BilevelClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.standard_normal((200, 40)), np.repeat(np.arange(8), 5)
    >>> y = X[:, 10] + X[:, 12] - X[:, 30] > 0
    >>> model = BilevelClassifier(n_features=3, n_groups=2, groups=groups).fit(X, y)
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
        loss: str = "logistic",
        C: float = 1.0,
        refit_C: float | str | None = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        forced_features: Any = None,
        forced_groups: Any = None,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        warm_start: bool = False,
        n_threads: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.n_groups = n_groups
        self.groups = groups
        self.solver = solver
        self.loss = loss
        self.C = C
        self.refit_C = refit_C
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.forced_features = forced_features
        self.forced_groups = forced_groups
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.n_threads = n_threads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_bilevel()
        _validate.check_option("loss", self.loss, list(LOSSES))

    def _check_refit(self) -> None:
        if self.refit_C is not None:
            _validate.check_refit_penalty(self.refit_C)

    def _pose(self, data: Rowwise) -> Problem:
        problem = super()._pose(data)
        return replace(problem, loss=LOSSES[self.loss])

    def _solver(
        self,
        task: Task,
        sizes: tuple[Any, ...],
        start: Sequence[IndexArray] = (),
        seconds: dict[str, float] | None = None,
        certify: bool = True,
    ) -> Solver[Path]:
        assert task.groups is not None
        objective = Objective(
            task.y, float(self.C) * task.sample_weight, task.loss, 1.0, task.intercept
        )
        problem = BilevelTask(
            task.design, objective, task.groups,
            np.empty(0, np.int64) if task.forced is None else task.forced,
            task.groups.places("forced_groups", self.forced_groups), task.usable,
        )  # fmt: skip
        path = yield from self._select(problem, sizes, start, seconds)
        selections = {size: self._selection(task, path, size) for size in sizes}
        order = np.concatenate([step.entered for step in path.history])
        _, first = np.unique(order, return_index=True)
        return Path(selections, order[np.sort(first)], path.history, Status.BUDGET)

    def _selection(self, task: Task, path: BilevelPath, size: Size) -> Selection:
        """Return the model of a size."""
        fit = path.fits[size]
        Z = task.design.gather(fit.support)
        n_rows = float(task.sample_weight.sum())
        if self.refit_C is None:
            coef, intercept = _on_scaling_of_x(task.design, fit)
            C, loo_loss, log_loss = float(self.C), np.nan, np.nan
            if self.loss == "logistic":
                z = np.asarray(Z @ fit.coef) + fit.intercept
                log_loss = task.loss.value_gradient(z, task.y, task.sample_weight)[0]
                loo_loss = leave_one_out_loss(
                    Z, task.y, task.sample_weight, task.loss, C, np.ones(fit.support.size), z,
                    task.intercept, task.unit,
                )  # fmt: skip
        else:
            refitted = refit_support(task, Z, fit.support, self.refit_C)
            coef, intercept, C = refitted.coef, refitted.intercept, refitted.C
            loo_loss, log_loss = refitted.loo_loss, refitted.loss
        n_usable = task.design.shape[1] if task.usable is None else int(task.usable.sum())
        return Selection(
            fit.support, coef, intercept, C, _entry_steps(path.history, fit.support), None,
            loo_loss, log_loss,
            information_criteria(log_loss, fit.support.size, n_rows, n_usable),
        )  # fmt: skip

    def _warn_of_gaps(self, paths: Sequence[Path], stacklevel: int = CALLER_OF_FIT) -> None:
        self._warn_of_ends([step for path in paths for step in path.history], stacklevel + 1)

    def _posed_sizes(self, data: Rowwise) -> tuple[Size, ...]:
        """Return the sizes, checked with these rows."""
        return self._pose(data).sizes

    def _model_of(self, path: Path, size: Size) -> Selection:
        """Return the model of a size from what the solver returned."""
        return path[size]

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator,unused-ignore]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities, (n_samples, n_classes): the logistic function of the scores.

        With several classes, one-versus-rest probabilities normalised to sum one.
        """
        return super().predict_proba(X)

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator,unused-ignore]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probabilities, (n_samples, n_classes)."""
        return super().predict_log_proba(X)


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


class BilevelRegressor(_Bilevel, RegressorMixin, SparseLinearModel):  # type: ignore[misc]
    """Least squares on at most k features in at most g groups.

        min_{u, b}  1/2 sum_i s_i (x_i'u + b - y_i)^2 (+ 1/(2 C) ||u||^2)
        subject to  ||u||_0 <= n_features,  #{groups G : u_G != 0} <= n_groups

    on the selection scaling, found as by `BilevelClassifier`.

    Parameters
    ----------
    n_features, n_groups, groups, solver, forced_features, forced_groups, tol, max_iter, warm_start
        As in `BilevelClassifier`.
    C : float
        Weight of the summed loss beside a ridge 1/2 ||u||^2, for standardised columns. inf: no
        ridge.
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
    >>> from zeronorm import BilevelRegressor
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
        sample_weight : (n_samples,) not negative; integer weights equal repeated rows.

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
        ridge = 0.0 if np.isinf(self.C) else 1.0
        if ridge:
            weight = float(self.C) * weight
        _validate.check_total_weight(1.0, weight)
        center = bool(self.fit_intercept) and not isinstance(storage_of(data.design), Sparse)
        scaled = center_scale(data.design, data.sample_weight, center=center)
        usable = scaled.scale > 0
        design: Design = scaled
        if not self.standardize:
            design = data.design
            _validate.check_spread(scaled.scale)
        groups = self._groups_of(data)
        forced = _validate.check_forced(self.forced_features, usable.size, data.names, usable)
        sizes = self._sizes(groups, usable, forced)
        y = data.labels.astype(np.float64)
        task = BilevelTask(
            design, Objective(y, weight, LeastSquares(), ridge, bool(self.fit_intercept)), groups,
            forced, groups.places("forced_groups", self.forced_groups), usable,
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
            coef, intercept = _on_scaling_of_x(task.design, fit)
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


__all__ = ["BilevelClassifier", "BilevelRegressor", "RegressionModel"]

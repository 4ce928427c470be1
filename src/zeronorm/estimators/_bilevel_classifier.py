"""BilevelClassifier: at most k features in at most g groups, for two or more classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _validate
from .._typing import IndexArray
from ..criteria import information_criteria
from ..designs import Scaled, Sparse
from ..designs._operations import center_scale, on_scaling_of_x
from ..designs._wrappers import storage_of
from ..losses import Logistic, SquaredHinge
from ..result import Path, Selection, Status, Step
from ..solvers import Task
from ..solvers._bilevel import BilevelFit, BilevelTask, Size
from ..solvers._drive import Solver
from ..solvers._hard_thresholding import Objective
from ..solvers._refit import leave_one_out_loss
from ..solvers._select import refit_support
from ._base import BudgetedClassifier, Problem
from ._bilevel import Bilevel, unscaled
from ._sparse_linear import CALLER_OF_FIT, Rowwise

LOSSES: dict[str, Logistic | SquaredHinge] = {
    "logistic": Logistic(),
    "squared_hinge": SquaredHinge(),
}


class BilevelClassifier(Bilevel, BudgetedClassifier):
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
        In every model, counted in both budgets. With groups="columns" they are encoded columns: the
        name of a categorical one is "column=category", and "column" alone is refused. To keep a
        place for the column as a whole, use `forced_groups`.
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
        design, spread = task.design, None
        if task.scaling == "none":
            center = task.intercept and not isinstance(storage_of(design), Sparse)
            design, spread = unscaled(center_scale(design, task.sample_weight, center=center))
        assert isinstance(design, Scaled)
        problem = BilevelTask(
            design, objective, task.groups,
            np.empty(0, np.int64) if task.forced is None else task.forced,
            task.groups.places("forced_groups", self.forced_groups), task.usable, spread,
        )  # fmt: skip
        path = yield from self._select(problem, sizes, start, seconds)
        entered = _entry_steps(path.history, task.design.shape[1])
        selections = {
            size: self._selection(task, design, path.fits[size], entered) for size in sizes
        }
        order = np.concatenate([step.entered for step in path.history])
        _, first = np.unique(order, return_index=True)
        return Path(selections, order[np.sort(first)], path.history, Status.BUDGET)

    def _selection(
        self, task: Task, design: Scaled, fit: BilevelFit, entered: IndexArray
    ) -> Selection:
        """Return the model of a size; design: the task's, on which it was selected."""
        n_rows = float(task.sample_weight.sum())
        if self.refit_C is None:
            coef, intercept = on_scaling_of_x(design, fit.support, fit.coef, fit.intercept)
            C, loo_loss, log_loss = float(self.C), np.nan, np.nan
            if self.loss == "logistic":
                Z = design.gather(fit.support)
                z = np.asarray(Z @ fit.coef) + fit.intercept
                log_loss = task.loss.value_gradient(z, task.y, task.sample_weight)[0]
                loo_loss = leave_one_out_loss(
                    Z, task.y, task.sample_weight, task.loss, C, np.ones(fit.support.size), z,
                    task.intercept, task.unit,
                )  # fmt: skip
        else:
            Z = task.design.gather(fit.support)
            refitted = refit_support(task, Z, fit.support, self.refit_C)
            coef, intercept, C = refitted.coef, refitted.intercept, refitted.C
            loo_loss, log_loss = refitted.loo_loss, refitted.loss
        n_usable = task.design.shape[1] if task.usable is None else int(task.usable.sum())
        return Selection(
            fit.support, coef, intercept, C, entered[fit.support], None,
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

    @property
    def _score_loss(self) -> str:
        return str(self.loss) if self.refit_C is None else "logistic"


def _entry_steps(history: Sequence[Step], n_features: int) -> IndexArray:
    """Return the step, from 1, at which each feature became a candidate; 0: at none."""
    entered = np.zeros(n_features, np.int64)
    for number in range(len(history), 0, -1):
        entered[history[number - 1].entered] = number
    return entered


__all__ = ["BilevelClassifier"]

"""What all classifiers with a feature budget share: their problem, paths and attributes."""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .. import validate as _validate
from .._typing import Design, FloatArray, IndexArray, Smooth
from ..criteria import CRITERIA, LEAST_ROWS
from ..designs._operations import center_scale
from ..groups import Groups
from ..losses import Logistic
from ..result import Certificate, Path, Step
from ..solvers import Task
from ..solvers._calibrate import AUTO_ROWS, calibrated
from ..solvers._drive import Solver
from ._linear import (
    CALLER_OF_FIT,
    GAP_SLACK,
    LinearClassifier,
    Rowwise,
    one_versus_rest,
    with_callbacks,
)

# Rounding ends progress at gaps far below this, however small a tolerance was asked.
GAP_FLOOR = 1e-6


@dataclass(frozen=True, slots=True)
class Problem:
    """Validated data of one fit, before classes are told apart."""

    design: Design  # on the selection scaling, rows of positive weight
    labels: np.ndarray  # (n,) of those rows
    sample_weight: FloatArray  # (n,) positive, class weights included
    unit: FloatArray  # (n,) class weights
    classes: np.ndarray
    scaling: str
    usable: np.ndarray  # (m,) non-constant columns
    forced: IndexArray
    sizes: tuple[Any, ...]  # numbers of features or of groups, or pairs of them
    loss: Smooth  # of the selection
    groups: Groups | None = None  # of the columns

    def tasks(self, intercept: bool) -> list[Task]:
        """Return one binary task per class, or one for two classes."""
        return [
            Task(
                self.design,
                y,
                self.sample_weight,
                self.scaling,
                self.loss,
                intercept,
                self.forced,
                self.unit,
                self.usable,
                self.groups,
            )
            for y in one_versus_rest(self.labels, self.classes)
        ]


class BudgetedClassifier(LinearClassifier):
    """Base of the classifiers that select exactly k features."""

    # Parameters that every such class has; set by the constructors of the subclasses.
    n_features: Any
    refit_C: Any
    standardize: Any
    forced_features: Any

    groups: Any = None  # of the columns, where a class has that parameter
    criterion: Any = None  # what chooses among the sizes, where a class has that parameter
    calibrate: Any = False  # whether the margins are scaled, where a class has that parameter

    _loss: Smooth = Logistic()  # of the selection; the final fit is logistic

    @abstractmethod
    def _solver(
        self,
        task: Task,
        sizes: tuple[Any, ...],
        start: Sequence[IndexArray] = (),
        seconds: dict[str, float] | None = None,
        certify: bool = True,
    ) -> Solver[Path]:
        """Return the generator that selects for one binary task."""

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BudgetedClassifier:
        """Select exactly `n_features` features and fit the model on them.

        Parameters
        ----------
        X : array, sparse matrix or array, data frame, path of a .npy file, or a Design
            (n_samples, n_features). Never copied as a whole, never modified.
        y : (n_samples,) labels of two or more classes.
        sample_weight : (n_samples,) not negative; integer weights equal repeated rows (within
            `tol` for the smoothing solvers, whose path depends on the order of the rows).

        Raises
        ------
        ValueError
            Where a parameter or the data break a rule; the message says which and what to do.
        """
        self._fit(X, y, sample_weight)
        self._warn_of_gaps(self.estimators_)
        return self

    def _begin(
        self, data: Rowwise, seconds: dict[str, float]
    ) -> tuple[np.ndarray, list[Solver[Any]]]:
        begin = time.perf_counter()
        problem = self._pose(data)
        seconds["standardize"] = time.perf_counter() - begin
        tasks = problem.tasks(bool(self.fit_intercept))
        solvers = [
            self._solver(task, problem.sizes, start, seconds)
            for task, start in zip(tasks, self._warm_starts(tasks), strict=True)
        ]
        if not self._calibrates(problem):
            return problem.classes, solvers
        # A fold begins anew: what an earlier fit selected knows the rows that are held out.
        fold = copy(self)
        if self.refit_C == "loo":
            fold.refit_C = 1.0  # any: the models of the folds are refitted
        return problem.classes, [
            calibrated(
                solvers, tasks, problem.sizes, problem.labels,
                lambda task, sizes: fold._solver(task, tuple(sizes), certify=False),
                self.refit_C, seconds,
            )
        ]  # fmt: skip

    def _calibrates(self, problem: Problem) -> bool:
        """Return whether the margins are scaled."""
        if self.calibrate == "auto":
            return float(problem.sample_weight.sum()) < AUTO_ROWS
        return bool(self.calibrate)

    def _store(self, results: list[Any]) -> None:
        # A calibration has run the selections of all classes, and has their paths in a list.
        self.estimators_ = tuple(results[0] if isinstance(results[0], list) else results)
        sizes = list(self.estimators_[0])
        self._size = sizes[-1]
        if self.criterion is not None:
            self._size = sizes[int(np.argmin(self.criteria_[self.criterion]))]
        self._set_models([path[self._size] for path in self.estimators_])

    def _warm_starts(self, tasks: list[Task]) -> list[list[IndexArray]]:
        """Return the blocks of the previous fit, where it had these columns and classes."""
        nothing: list[list[IndexArray]] = [[] for _ in tasks]
        if not self.warm_start or not hasattr(self, "estimators_"):
            return nothing
        n_features = tasks[0].design.shape[1]
        if len(self.estimators_) != len(tasks) or self._n_columns != n_features:
            return nothing
        return [[step.entered for step in path.history] for path in self.estimators_]

    def _pose(self, data: Rowwise) -> Problem:
        """Pose the selection problem; one pass over X gives the scales and finds NaN."""
        data, unit = self._weigh(data)
        design, labels, weight = data.design, data.labels, data.sample_weight
        classes = np.unique(labels)
        center = bool(self.fit_intercept) and not design.is_sparse
        scaled = center_scale(design, weight, center=center)
        usable = scaled.scale > 0
        scaling = "none"
        if self.standardize:
            design, scaling = scaled, "standardized" if center else "scaled"
        else:
            _validate.check_spread(scaled.scale)
        m = design.shape[1]
        groups = self._groups_of(data)
        forced = _validate.check_forced(self.forced_features, m, data.names, usable)
        sizes = self._sizes(groups, usable, forced)
        if self.criterion is not None:
            if weight.sum() < LEAST_ROWS:
                raise ValueError(
                    f"criterion needs sample_weight (times class_weight) to count rows, at least "
                    f"{LEAST_ROWS} in sum; got {weight.sum():g}. Scale them to the number of rows, "
                    "or use criterion=None."
                )
            if np.ndim(self.n_features) == 0:
                sizes = tuple(range(max(1, forced.size), sizes[0] + 1))
        return Problem(
            design,
            labels,
            weight,
            unit,
            classes,
            scaling,
            usable,
            forced,
            sizes,
            self._loss,
            groups,
        )

    def _groups_of(self, data: Rowwise) -> Groups | None:
        """Return the groups of the columns, None where features are selected one by one."""
        if self.groups is None:
            return None
        return Groups.of(self.groups, data.design.shape[1], data.names)

    def _sizes(
        self, groups: Groups | None, usable: np.ndarray, forced: IndexArray
    ) -> tuple[Any, ...]:
        """Return the wanted sizes, growing."""
        n_usable = int(usable.sum())
        return _validate.check_sizes(self.n_features, n_usable, usable.size, forced.size)

    def _check_parameters(self) -> None:
        _validate.check_positive("C", self.C)
        self._check_refit()
        _validate.check_positive("tol", self.tol)
        _validate.check_count("n_threads", self.n_threads)
        for name in ("fit_intercept", "standardize", "warm_start"):
            _validate.check_flag(name, getattr(self, name))
        _validate.check_option("criterion", self.criterion, [None, *CRITERIA])
        _validate.check_calibrate(self.calibrate)

    def _check_refit(self) -> None:
        _validate.check_refit_penalty(self.refit_C)

    def _solver_and_remedy(self) -> tuple[str, str]:
        """Return what solves the problems of the selection, and what helps where it fails."""
        return "The solver", "A smaller C helps."

    def _warn_of_gaps(self, paths: Sequence[Path], stacklevel: int = CALLER_OF_FIT) -> None:
        """Warn where a problem was not solved: its gap is above twice `tol`, and above rounding."""
        limit = max(GAP_SLACK * float(self.tol), GAP_FLOOR)
        steps = [
            (np.nan_to_num(step.extra.get("gap", 0.0), nan=np.inf), number, step.status)
            for path in paths
            for number, step in enumerate(path.history, start=1)
        ]
        gap, number, status = max(steps, key=lambda step: step[0], default=(0.0, 0, None))
        if status is not None and not gap <= limit:
            solver, remedy = self._solver_and_remedy()
            warnings.warn(
                f"{solver} stopped at a certified gap of {gap:.2g} (asked: tol={self.tol:g}) at "
                f"step {number} of the selection ({status.value}); the support has the requested "
                "size, but its features may not be those of the method. "
                f"{remedy} `history_` has the gap of every step.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
            return
        gap = max(path.gap for path in paths)
        if not gap <= limit:
            warnings.warn(
                f"A problem over the selected features stopped at a certified gap of {gap:.2g} "
                f"(asked: tol={self.tol:g}); the support has the requested size, its coefficients "
                "may be inaccurate. A smaller C or refit_C helps.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )

    @property
    def path_(self) -> Path | tuple[Path, ...]:
        """The models of every size asked for, `path_[k]`; one path per class with several."""
        if not hasattr(self, "estimators_"):
            raise AttributeError("path_ is set by fit.")
        return self.estimators_[0] if len(self.estimators_) == 1 else self.estimators_

    @property
    def criteria_(self) -> dict[str, np.ndarray]:
        """The information criteria of every size: a table, as a dict of its columns (n_sizes,).

        "size", growing; "log_loss", summed over the training rows; "aic", "bic", "ebic" and "gic",
        as `zeronorm.criteria` defines them. Of several classes, the sums over the models of each
        class against the others.
        """
        if not hasattr(self, "estimators_"):
            raise AttributeError("criteria_ is set by fit.")
        sizes = list(self.estimators_[0])
        table = {"size": np.array(sizes)}
        models = [[path[k] for path in self.estimators_] for k in sizes]
        table["log_loss"] = np.array([sum(model.log_loss for model in row) for row in models])
        for name in CRITERIA:
            table[name] = np.array([sum(model.criteria[name] for model in row) for row in models])
        return table

    @property
    def certificate_(self) -> Certificate | list[Certificate | None] | None:
        """The certificate of the support, at the selection C; a list for several classes."""
        if not hasattr(self, "estimators_"):
            raise AttributeError("certificate_ is set by fit.")
        certificates = [path[self._size].certificate for path in self.estimators_]
        return certificates[0] if len(certificates) == 1 else certificates

    @property
    def optimality_gap_(self) -> float:
        """The (largest, over classes) certified gap of the support."""
        if not hasattr(self, "estimators_"):
            raise AttributeError("optimality_gap_ is set by fit.")
        found = [path[self._size].certificate for path in self.estimators_]
        return max((c.gap for c in found if c is not None), default=float("nan"))

    @property
    def history_(self) -> tuple[Step, ...] | list[tuple[Step, ...]]:
        """One row per scan of the selection; a list for several classes."""
        if not hasattr(self, "estimators_"):
            raise AttributeError("history_ is set by fit.")
        histories = [path.history for path in self.estimators_]
        return histories[0] if len(histories) == 1 else histories


class GroupBudgetedClassifier(BudgetedClassifier):
    """Base of those that select single features or, with `groups`, whole groups of them."""

    n_groups: Any

    def _pose(self, data: Rowwise) -> Problem:
        problem = super()._pose(data)
        if problem.groups is None:
            return problem
        n_usable = problem.groups.of_features(np.flatnonzero(problem.usable)).size
        n_forced = problem.groups.of_features(problem.forced).size
        return replace(problem, sizes=_validate.check_n_groups(self.n_groups, n_usable, n_forced))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.groups is None and self.n_groups is not None:
            raise ValueError(
                f"n_groups counts groups, but groups is None; got n_groups={self.n_groups!r}. "
                "Pass the group of every column as groups, or use n_features."
            )
        if self.groups is not None and self.n_features is not None:
            raise ValueError(
                "n_features must be None with groups, which enter as a whole; got "
                f"n_features={self.n_features!r}. Use n_groups."
            )
        if self.groups is not None and self.n_groups is None:
            raise ValueError("groups needs the number of them to select: pass n_groups.")


class CuttingPlaneClassifier(BudgetedClassifier):
    """Base of those that generate their features in blocks, by the minimax cutting plane."""

    block_size: Any
    max_blocks: Any
    solver: Any

    _solvers: tuple[str, ...] = ()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _validate.check_count("block_size", self.block_size)
        _validate.check_count("max_blocks", self.max_blocks)
        _validate.check_option("solver", self.solver, self._solvers)

    def _solver_and_remedy(self) -> tuple[str, str]:
        newton = self.solver in ("auto", "newton")
        remedy = "A smaller C helps." if newton else "Use solver='newton'."
        return f"solver={self.solver!r}", remedy


__all__ = [
    "BudgetedClassifier",
    "CuttingPlaneClassifier",
    "GroupBudgetedClassifier",
    "Problem",
    "Rowwise",
]

"""What all classifiers with a feature budget share: preparation of data, attributes, prediction."""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _validate
from .._typing import Design, FloatArray, IndexArray, Smooth
from ..designs import Rows, Sparse, as_design
from ..designs._operations import center_scale, margins
from ..designs._wrappers import storage_of
from ..losses import Logistic
from ..result import Certificate, Path, Selection, Step
from ..solvers import Progress, Task, run_together
from ..solvers._drive import Solver

try:  # scikit-learn's callback API is experimental: used where it exists
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # pragma: no cover - scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef,unused-ignore]
        """Stand-in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


# A solver has failed where its certified gap is above this many times the tolerance. Rounding ends
# progress at gaps far below the floor, however small a tolerance was asked.
GAP_SLACK, GAP_FLOOR = 2.0, 1e-6


@dataclass(frozen=True, slots=True)
class Rowwise:
    """What a user passed to fit, validated: rows of positive weight."""

    design: Design
    labels: np.ndarray  # (n,)
    sample_weight: FloatArray  # (n,) positive
    names: list[str] | None  # of the columns, if X has any

    def rows(self, index: IndexArray) -> Rowwise:
        """Return some of the rows; no data are copied."""
        return Rowwise(
            Rows(self.design, index), self.labels[index], self.sample_weight[index], self.names
        )


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
    sizes: tuple[int, ...]
    loss: Smooth  # of the selection

    def tasks(self, intercept: bool) -> list[Task]:
        """Return one binary task per class, or one for two classes."""
        positives = self.classes[1:] if len(self.classes) == 2 else self.classes
        return [
            Task(
                self.design,
                np.where(self.labels == label, 1.0, -1.0),
                self.sample_weight,
                self.scaling,
                self.loss,
                intercept,
                self.forced,
                self.unit,
                self.usable,
            )
            for label in positives
        ]


class BudgetedClassifier(CallbackSupportMixin, ClassifierMixin, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers that select exactly k features."""

    # Parameters that every such class has; set by the constructors of the subclasses.
    n_features: Any
    C: Any
    refit_C: Any
    block_size: Any
    max_blocks: Any
    solver: Any
    fit_intercept: Any
    standardize: Any
    forced_features: Any
    class_weight: Any
    tol: Any
    warm_start: Any
    n_threads: Any

    _loss: Smooth = Logistic()  # of the selection; the final fit is logistic
    _solvers: tuple[str, ...] = ()

    @abstractmethod
    def _solver(
        self,
        task: Task,
        sizes: tuple[int, ...],
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
        context = self._begin_callbacks()
        begin = time.perf_counter()
        seconds: dict[str, float] = {}
        data = self._read(X, y, sample_weight)
        seconds["read"] = time.perf_counter() - begin
        problem = self._pose(data)
        seconds["standardize"] = time.perf_counter() - begin - seconds["read"]
        tasks = problem.tasks(bool(self.fit_intercept))
        starts = self._warm_starts(tasks)
        passes = 0

        def report(progress: Progress) -> None:
            nonlocal passes
            passes = progress.n_scans
            seconds["scan"] = progress.seconds
            if context is not None:
                scan = context.subcontext(task_name="scan")
                scan.call_on_fit_task_begin(estimator=self)
                scan.call_on_fit_task_end(estimator=self)

        paths = tuple(
            run_together(
                [
                    self._solver(task, problem.sizes, start, seconds)
                    for task, start in zip(tasks, starts, strict=True)
                ],
                report,
                self.n_threads,
            )
        )
        if hasattr(X, "shape") and not isinstance(X, Design):
            validate_data(self, X, skip_check_array=True)  # sets n_features_in_ and the names
        else:
            self.n_features_in_ = data.design.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        self.classes_ = problem.classes
        self.estimators_ = paths
        self.n_scans_ = passes
        seconds["total"] = time.perf_counter() - begin
        self.seconds_ = seconds
        self._set_models([path[max(path)] for path in paths])
        self._warn_of_gaps(paths)
        if context is not None:
            context.call_on_fit_task_end(estimator=self)
        return self

    def _warm_starts(self, tasks: list[Task]) -> list[list[IndexArray]]:
        """Return the blocks of the previous fit, where it had these columns and classes."""
        nothing: list[list[IndexArray]] = [[] for _ in tasks]
        if not self.warm_start or not hasattr(self, "estimators_"):
            return nothing
        n_features = tasks[0].design.shape[1]
        if len(self.estimators_) != len(tasks) or self.n_features_in_ != n_features:
            return nothing
        return [[step.entered for step in path.history] for path in self.estimators_]

    def _begin_callbacks(self) -> Any:
        """Open scikit-learn's callback context, where there is one and somebody listens."""
        if not hasattr(self, "_init_callback_context"):
            return None
        context = self._init_callback_context(max_subtasks=None)
        return context.call_on_fit_task_begin(estimator=self)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Rowwise:
        """Validate parameters, X, y and weights; rows of weight 0 are left out."""
        self._check_parameters()
        names = _validate.feature_names(X)
        design = as_design(_validate.check_data(X), n_threads=self.n_threads)
        n = design.shape[0]
        labels = _validate.check_target(y, n)
        weight = _validate.check_sample_weight(sample_weight, n)
        rows = np.flatnonzero(weight > 0)
        if rows.size < n:
            design, labels, weight = Rows(design, rows), labels[rows], weight[rows]
        return Rowwise(design, labels, weight, names)

    def _pose(self, data: Rowwise) -> Problem:
        """Pose the selection problem; one pass over X gives the scales and finds NaN."""
        design, labels, weight = data.design, data.labels, data.sample_weight
        _validate.check_two_classes(np.unique(labels))
        unit = _validate.class_factors(self.class_weight, labels, weight)
        weight = weight * unit
        _validate.check_total_weight(float(self.C), weight)
        rows = np.flatnonzero(weight > 0)
        if rows.size < len(labels):  # a class of weight 0
            design, labels = Rows(design, rows), labels[rows]
            weight, unit = weight[rows], unit[rows]
        classes = np.unique(labels)
        _validate.check_two_classes(classes)
        center = bool(self.fit_intercept) and not isinstance(storage_of(design), Sparse)
        scaled = center_scale(design, weight, center=center)
        usable = scaled.scale > 0
        scaling = "none"
        if self.standardize:
            design, scaling = scaled, "standardized" if center else "scaled"
        else:
            _validate.check_spread(scaled.scale)
        m = design.shape[1]
        forced = _validate.check_forced(self.forced_features, m, data.names, usable)
        sizes = _validate.check_sizes(self.n_features, int(usable.sum()), m, forced.size)
        return Problem(
            design, labels, weight, unit, classes, scaling, usable, forced, sizes, self._loss
        )

    def _check_parameters(self) -> None:
        _validate.check_positive("C", self.C)
        _validate.check_refit_penalty(self.refit_C)
        _validate.check_positive("tol", self.tol)
        _validate.check_count("block_size", self.block_size)
        _validate.check_count("max_blocks", self.max_blocks)
        _validate.check_count("n_threads", self.n_threads)
        _validate.check_option("solver", self.solver, self._solvers)
        for name in ("fit_intercept", "standardize", "warm_start"):
            _validate.check_flag(name, getattr(self, name))

    def _set_models(self, models: list[Selection]) -> None:
        """Store the models that predictions use."""
        support = np.unique(np.concatenate([model.support for model in models]))
        coef = np.zeros((len(models), support.size))
        for row, model in enumerate(models):
            coef[row, np.searchsorted(support, model.support)] = model.coef
        self.support_ = support
        self._support_coef = coef
        self.intercept_ = np.array([model.intercept for model in models])

    def _warn_of_gaps(self, paths: Sequence[Path]) -> None:
        """Warn where a problem was not solved: its gap is above twice `tol`, and above rounding."""
        limit = max(GAP_SLACK * float(self.tol), GAP_FLOOR)
        steps = [
            (np.nan_to_num(step.extra.get("gap", 0.0), nan=np.inf), number, step.status)
            for path in paths
            for number, step in enumerate(path.history, start=1)
        ]
        gap, number, status = max(steps, key=lambda step: step[0], default=(0.0, 0, None))
        if status is not None and not gap <= limit:
            if self.solver in ("auto", "newton"):
                remedy = "A smaller C helps."
            else:
                remedy = "Use solver='newton'."
            warnings.warn(
                f"solver={self.solver!r} stopped at a certified gap of {gap:.2g} (asked: "
                f"tol={self.tol:g}) at step {number} of the selection ({status.value}); the "
                "support has the requested size, but its features may not be those of the method. "
                f"{remedy} `history_` has the gap of every step.",
                ConvergenceWarning,
                stacklevel=3,
            )
            return
        gap = max(path.gap for path in paths)
        if not gap <= limit:
            warnings.warn(
                f"A problem over the selected features stopped at a certified gap of {gap:.2g} "
                f"(asked: tol={self.tol:g}); the support has the requested size, its coefficients "
                "may be inaccurate. A smaller C or refit_C helps.",
                ConvergenceWarning,
                stacklevel=3,
            )

    @property
    def coef_(self) -> FloatArray:
        """Coefficients on all features, (1 or n_classes, n_features_in_), made on demand."""
        if not hasattr(self, "_support_coef"):
            raise AttributeError("coef_ is set by fit.")
        coef = np.zeros((self._support_coef.shape[0], self.n_features_in_))
        coef[:, self.support_] = self._support_coef
        return coef

    @property
    def path_(self) -> Path | tuple[Path, ...]:
        """The models of every size asked for, `path_[k]`; one path per class with several."""
        if not hasattr(self, "estimators_"):
            raise AttributeError("path_ is set by fit.")
        return self.estimators_[0] if len(self.estimators_) == 1 else self.estimators_

    @property
    def certificate_(self) -> Certificate | list[Certificate | None] | None:
        """The certificate of the support, at the selection C; a list for several classes."""
        if not hasattr(self, "estimators_"):
            raise AttributeError("certificate_ is set by fit.")
        certificates = [path[max(path)].certificate for path in self.estimators_]
        return certificates[0] if len(certificates) == 1 else certificates

    @property
    def optimality_gap_(self) -> float:
        """The (largest, over classes) certified gap of the support."""
        if not hasattr(self, "estimators_"):
            raise AttributeError("optimality_gap_ is set by fit.")
        found = [path[max(path)].certificate for path in self.estimators_]
        return max((c.gap for c in found if c is not None), default=float("nan"))

    @property
    def history_(self) -> tuple[Step, ...] | list[tuple[Step, ...]]:
        """One row per scan of the selection; a list for several classes."""
        if not hasattr(self, "estimators_"):
            raise AttributeError("history_ is set by fit.")
        histories = [path.history for path in self.estimators_]
        return histories[0] if len(histories) == 1 else histories

    def decision_function(self, X: Any) -> FloatArray:
        """Return X[:, support_] @ coef + intercept, (n_samples,) or (n_samples, n_classes)."""
        check_is_fitted(self)
        design = self._prediction_design(X)
        scores = margins(design, self.support_, self._support_coef.T, self.intercept_)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the largest score, (n_samples,)."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.asarray(self.classes_[(scores > 0).astype(np.int64)])
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities, (n_samples, n_classes): the logistic function of the scores.

        With several classes, one-versus-rest probabilities normalised to sum one.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            positive = expit(scores)
            return np.column_stack([expit(-scores), positive])
        proba = expit(scores)
        total = proba.sum(axis=1, keepdims=True)
        # All scores far below zero: the limit is the softmax of the scores.
        shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
        proba = np.where(total > 1e-200, proba, shifted)
        return np.asarray(proba / proba.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probabilities, (n_samples, n_classes)."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])
        return np.asarray(np.log(self.predict_proba(X)))

    def _prediction_design(self, X: Any) -> Design:
        """Return X as a design after the checks of scikit-learn; only the support is read.

        NaN and infinity are looked for in arrays in memory; of files only the support is read.
        """
        out_of_core = isinstance(X, str | FilePath | np.memmap | Design)
        if not out_of_core and not sp.issparse(X):
            X = validate_data(self, X, reset=False, dtype=None)
        elif sp.issparse(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            values = getattr(X, "data", None)
            if isinstance(values, np.ndarray) and values.dtype.kind == "f":
                assert_all_finite(values, input_name="X")
        design = as_design(X, n_threads=self.n_threads)
        if design.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {design.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return design

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X, (n_samples, k); a file or a design is read for them."""
        if not isinstance(X, str | FilePath | np.memmap | Design):
            return super().transform(X)
        check_is_fitted(self)
        return self._prediction_design(X).gather(self.support_)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.support_] = True
        return mask

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: sparse input, several classes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


__all__ = ["BudgetedClassifier", "Problem", "Rowwise"]

"""What all sparse linear models share: reading data, running solvers, scores of new samples."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, Self

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..core import validation as validate
from ..core.frames import frame_of
from ..core.parallel import one_blas_thread
from ..core.results import Path, Progressed, Selection
from ..core.types import Design, FloatArray, IndexArray
from ..data.operations import margins
from ..io.opening import as_design
from ..solvers import Progress, run_together
from ..solvers.checkpoint import identity_of, recorded
from ..solvers.drive import Solver
from .callbacks import CALLER_OF_FIT, CallbackSupportMixin
from .callbacks import with_callbacks as with_callbacks
from .doubts import warn_after, warn_before
from .frames import encoded
from .html import features_html
from .nested import NestedParameters
from .rowwise import Rowwise


class Model(Protocol):
    """A sparse linear model, of one class against the others or of a real target."""

    @property
    def support(self) -> IndexArray:
        """(k,) sorted feature indices."""

    @property
    def coef(self) -> FloatArray:
        """(k,) values on the support, or (outputs, k)."""

    @property
    def intercept(self) -> Any:
        """The intercept, or those of all outputs."""


def terms_of(model: Model) -> tuple[IndexArray, FloatArray]:
    """Return the features of a model, covariates among them, and their coefficients."""
    return model.terms if isinstance(model, Selection) else (model.support, model.coef)


def margins_of(models: Sequence[Model], design: Design) -> FloatArray:
    """Return the scores of the rows of a design by some models, (n_samples, n_models)."""
    terms = [(*terms_of(model), model.intercept) for model in models]
    return np.column_stack([margins(design, one, coef.T, b) for one, coef, b in terms])


class SparseLinearModel(CallbackSupportMixin, SelectorMixin, NestedParameters):  # type: ignore[misc]
    """Base of the classifiers and regressors with sparse coefficients."""

    # Parameters that every such class has.
    C: Any
    fit_intercept: Any
    tol: Any
    n_threads: Any
    feature_groups: Any = None  # from here on: what some have, and the others do without
    n_groups: Any = None
    signs: Any = None
    forced_features: Any = None
    forced_groups: Any = None
    covariates: Any = None
    criterion: Any = None
    _multi_class: Any = "ovr"
    refit_C: Any = None
    calibrate: Any = False
    warm_start: Any = False
    solver: Any = "auto"
    checkpoint: Any = None
    intercept_: Any  # (n_models,), or a number

    _models: Sequence[Model]  # of the l1 estimators: those that predict
    _paths: tuple[Path, ...]  # of those with a budget: of every class
    size_: Any  # of the model of these that predicts
    _report: Callable[[Progressed], None] | None = None  # told where a proof stands
    _least_loss = validate.LEAST_LOSS  # that C times the weights may be
    _html_repr = features_html

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise ValueError where a parameter breaks a rule that no data are needed for."""

    @abstractmethod
    def _begin(
        self, data: Rowwise, seconds: dict[str, float]
    ) -> tuple[np.ndarray | None, list[Solver[Any]]]:
        """Return the classes, if any, and the solver of every problem; they may add seconds."""

    @abstractmethod
    def _store(self, results: list[Any]) -> None:
        """Set the attributes that the results of the solvers give."""

    @abstractmethod
    def _doubts(self) -> Iterable[Warning]:
        """Return the warnings that a fit gives."""

    @abstractmethod
    def _target(self, y: Any, n_samples: int) -> np.ndarray:
        """Return y, validated, (n_samples,)."""

    def _order(self, y: Any) -> np.ndarray | None:
        """Return the classes of a target in their order, where that is not the sorted one."""
        return None

    def _offset(self, offset: Any, n_samples: int) -> FloatArray:
        """Return offsets of the margins, validated, (n_samples,)."""
        raise ValueError(f"offset must be None for {type(self).__name__}, which has none.")

    @abstractmethod
    def _unit(self, labels: np.ndarray, sample_weight: FloatArray) -> FloatArray:
        """Return what multiplies the sample weights, (n,): the class weights."""

    @abstractmethod
    def _problems(
        self, labels: np.ndarray, weight: FloatArray
    ) -> tuple[np.ndarray | None, list[FloatArray]]:
        """Return the classes of the rows of positive weight, if any, and y of every problem."""

    @abstractmethod
    def _weigh(self, data: Rowwise) -> tuple[Rowwise, FloatArray | None]:
        """Return the data with the weights of the problem, and the class weights (n,), if any."""

    def _loss_weight(self) -> float:
        """Return C as a number."""
        return float(self.C)

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the model and return it.

        Parameters
        ----------
        X : array, sparse matrix or array, data frame, path of a .npy file, or a Design
            (n_samples, n_features). Never modified; copied as a whole where it is sparse and does
            not lie by column, and for some l1 methods.
        y : (n_samples,) labels of two or more classes; of a regressor finite numbers.
        sample_weight : (n_samples,) not negative; integer weights equal repeated rows, within `tol`
            where a solver depends on the order of the rows.
        groups : (n_samples,) labels; samples with the same label, as of one patient, are in one
            fold wherever the fit makes folds. None: each sample is by itself.

        Raises
        ------
        ValueError
            Where a parameter or the data break a rule; the message says which and what to do.
        """
        self._fit(X, y, sample_weight, groups=groups)
        return self

    @one_blas_thread
    def _fit(
        self, X: Any, y: Any, sample_weight: Any, offset: Any = None, groups: Any = None
    ) -> None:
        """Read the data, run the solvers in lockstep and set the attributes.

        Nothing is set before all solvers have ended: a failed fit leaves the model before it. Then
        it warns of what the fit leaves in doubt.
        """
        context = self._begin_callbacks()
        begin = time.perf_counter()
        seconds: dict[str, float] = {}
        passes = 0

        def report(progress: Progress) -> None:
            nonlocal passes
            passes = progress.n_scans
            seconds["scan"] = progress.seconds
            if context is not None:
                scan = context.subcontext(task_name="scan")
                scan.call_on_fit_task_begin(estimator=self)
                scan.call_on_fit_task_end(estimator=self)

        with recorded(self.checkpoint):  # a file of another fit is refused before data are read
            data = self._read(X, y, sample_weight, offset, groups)
            warn_before(data.design, self, data.labels, CALLER_OF_FIT)
            seconds["read"] = time.perf_counter() - begin
            classes, solvers = self._begin(data, seconds)
            results = run_together(solvers, report, self.n_threads, self._identity(data))
        self._keep_columns(data)
        if classes is not None:
            self._set_classes(classes)
        self.n_scans_ = passes
        seconds["total"] = time.perf_counter() - begin
        self.seconds_ = seconds
        self._store(results)
        if context is not None:
            context.call_on_fit_task_end(estimator=self)
        warn_after(data, self, CALLER_OF_FIT)

    def _keep_columns(self, data: Rowwise) -> None:
        """Set what the columns of a fit are known by."""
        self._encoding, self._n_columns = data.encoding, data.design.shape[1]
        self.n_features_in_, names = self._n_columns, data.names
        if data.encoding is not None:
            names = data.encoding.columns
            self.n_features_in_ = len(names)
        validate.keep_names(self, names)

    def _identity(self, data: Rowwise, **more: Any) -> Callable[[], dict[str, str]]:
        """Return what a checkpoint tells a run of this estimator apart by, beside X."""
        return lambda: identity_of(
            type(self).__name__, self.get_params(deep=False), y=data.labels,
            sample_weight=data.sample_weight, offset=data.offset, groups=data.groups, **more,
        )  # fmt: skip

    def _set_classes(self, classes: np.ndarray) -> None:
        """Store the classes of the problem."""
        self.classes_ = classes

    def _begin_callbacks(self) -> Any:
        """Open scikit-learn's callback context, where there is one and somebody listens."""
        if not hasattr(self, "_init_callback_context"):
            return None
        context = self._init_callback_context(max_subtasks=None)
        return context.call_on_fit_task_begin(estimator=self)

    def _read(
        self, X: Any, y: Any, sample_weight: Any, offset: Any = None, groups: Any = None
    ) -> Rowwise:
        """Validate parameters and what there is of every row; rows of weight 0 are left out."""
        self._check_parameters()
        given = y, sample_weight, offset, groups
        y, sample_weight, offset, groups = map(validate.in_memory, given)
        X, encoding = encoded(X, self.feature_groups)
        stored = as_design(validate.check_data(X), n_threads=self.n_threads)
        design = self._stored(stored)
        names = stored.feature_names if encoding is None else encoding.names
        n = design.shape[0]
        target = self._target(y, n)
        weight = validate.check_sample_weight(sample_weight, n)
        moved = None if offset is None else self._offset(offset, n)
        together = validate.check_groups(groups, n)
        data = Rowwise(design, target, weight, names, encoding, moved, self._order(y), together)
        return data if weight.all() else data.rows(np.flatnonzero(weight))

    def _stored(self, design: Design) -> Design:
        """Return the design in the storage that the solvers want."""
        return design

    def _set_models(self, models: Sequence[Model]) -> None:
        """Store the models that predictions use."""
        support = np.unique(np.concatenate([model.support for model in models]))
        parts, beside = [], []
        self.__dict__.pop("covariates_", None)
        for model in models:
            own = np.atleast_2d(model.coef)
            effects = np.zeros((len(own), 0))
            if isinstance(model, Selection) and model.covariates.size:
                self.covariates_, effects = model.covariates, np.atleast_2d(model.effects)
            beside.append(effects)
            coef = np.zeros((len(own), support.size))
            coef[:, np.searchsorted(support, model.support)] = own
            parts.append(coef)
        self.support_ = support
        self._support_coef, self._effects = np.vstack(parts), np.vstack(beside)
        self.intercept_ = np.concatenate([np.atleast_1d(model.intercept) for model in models])

    def _all_coef(self) -> FloatArray:
        """Return the coefficients on all features, (n_models, n_columns)."""
        if not hasattr(self, "_support_coef"):
            raise AttributeError("coef_ is set by fit.")
        coef = np.zeros((self._support_coef.shape[0], self._n_columns))
        features, values = self._terms()
        coef[:, features] = values
        return coef

    def _terms(self) -> tuple[IndexArray, FloatArray]:
        """Return the features of the models, covariates among them, and their coefficients."""
        if not self._effects.size:
            return self.support_, self._support_coef
        features = np.concatenate([self.support_, self.covariates_])
        return features, np.hstack([self._support_coef, self._effects])

    def _scores(self, X: Any) -> FloatArray:
        """Return X @ coef + intercept, (n_samples, n_models)."""
        check_is_fitted(self)
        features, coef = self._terms()
        design, places = self._prediction_columns(X, features)
        return margins(design, places, coef.T, self.intercept_)

    def _prediction_columns(self, X: Any, features: IndexArray) -> tuple[Design, IndexArray]:
        """Return X as a design, and where features of the fit are in it."""
        design = self._prediction_design(X)
        if self._encoding is None:
            fitted = getattr(self, "feature_names_in_", None)
            of = type(self).__name__
            features = validate.columns_of_fit(features, design, self.n_features_in_, fitted, of)
        return design, features

    def _prediction_design(self, X: Any) -> Design:
        """Return X as a design after the checks of scikit-learn; only the support is read.

        NaN and infinity are looked for in arrays in memory; of files only the support is read.
        """
        if self._encoding is not None:
            X = self._encoding.transform(self, X)
        elif not validate.out_of_core(X):
            X = validate.as_fitted(self, X)
        return as_design(X, n_threads=self.n_threads)

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X, (n_samples, k); a file or a design is read for them."""
        check_is_fitted(self)
        if self._encoding is None and not validate.out_of_core(X):
            frame = frame_of(X)
            if frame is None:
                return super().transform(X)
            if frame.implementation.is_pandas():  # columns of which set_output keeps the types
                validate.as_fitted(self, X)
                return super().transform(X)
        design, places = self._prediction_columns(X, self.support_)
        return design.gather(places)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask = np.zeros(self._n_columns, dtype=bool)
        mask[self.support_] = True
        return mask

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the selected features, (k,)."""
        check_is_fitted(self)
        if self._encoding is None:
            return np.asarray(super().get_feature_names_out(input_features))
        return np.asarray(np.array(self._encoding.names, dtype=object)[self.support_])

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: sparse input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

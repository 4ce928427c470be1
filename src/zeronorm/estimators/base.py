"""What all sparse linear models share: reading data, running solvers, scores of new samples."""

from __future__ import annotations

import inspect
import math
import os
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, Protocol, Self, TypeVar, dataclass_transform, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import d2_pinball_score, d2_tweedie_score, r2_score
from sklearn.utils import Tags, estimator_html_repr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..core import validation as validate
from ..core.errors import ParameterError
from ..core.frames import frame_of, in_memory, out_of_core
from ..core.html import certificate_text, coefficient_heads, features_table
from ..core.parallel import one_blas_thread
from ..core.ranking import predicted
from ..core.results import Path, Progressed, Selection
from ..core.targets import (
    LEAST_LOSS,
    check_new_offset,
    check_offset,
    check_range,
    check_response,
    check_sample_weight,
    check_some_positive,
    check_target,
    check_total_weight,
    check_two_classes,
    class_factors,
)
from ..core.types import Design, FloatArray, IndexArray, Likelihood, Smooth
from ..data.opening import as_design as design_of
from ..data.operations import margins
from ..io.opening import as_design
from ..losses import OF_NUMBERS, Logistic, Quantile, SquaredHinge, probabilities
from ..methods import METHODS
from ..solvers import Progress, run_together
from ..solvers.checkpoint import identity_of, recorded
from ..solvers.driver import Solver
from .frames import EncodedFrame
from .memory import is_noticed, warn_of_memory
from .problem import TrainingData
from .warnings import warn_after, warn_of_numbers

# Callbacks of scikit-learn, whose API is experimental: used where it exists.

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks

    CALLER_OF_FIT = 5  # the `stacklevel` of warnings by `_fit`
except ImportError:  # pragma: no cover - scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef,unused-ignore]
        """Stand-in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method

    CALLER_OF_FIT = 4


# Fitted estimators in notebooks: scikit-learn's diagram, and a table of the selected features.


def features_html(model: Any) -> str:
    """Return the diagram of an estimator; of a fitted one the features and its figures as well."""
    diagram = str(estimator_html_repr(model))
    if not hasattr(model, "_support_coef"):
        return diagram
    rows = [
        [feature_name(model, j), str(j), *(f"{value:+.5g}" for value in coef)]
        for j, coef in zip(model.support_.tolist(), model._support_coef.T, strict=True)
    ]
    heads = ["feature", "index", *coefficient_heads(_outputs(model))]
    return f"{diagram}\n{features_table(_figures(model), heads, rows)}"


def _outputs(model: Any) -> Any:
    """Return the label of each output: the class or the number of a response."""
    n_outputs = len(model._support_coef)
    classes = getattr(model, "classes_", None)
    return range(n_outputs) if classes is None or len(classes) != n_outputs else classes


def feature_name(model: Any, index: int) -> str:
    """Return the name of a feature of a fitted model, or x and its number."""
    if model._encoding is not None:
        return str(model._encoding.names[index])
    names = getattr(model, "feature_names_in_", None)
    return f"x{index}" if names is None else str(names[index])


def _figures(model: Any) -> str:
    """Return the size of a model, its losses and what is certified, as far as it has them."""
    found = [f"{model.support_.size:,} features of {model.n_features_in_:,}"]
    paths = getattr(model, "_paths", None)
    chosen = [] if paths is None else [path[model.size_] for path in paths]
    losses = {
        "leave-one-out loss": [one.loo_loss for one in chosen],
        "log-loss out of fold": [one.cv_log_loss for one in chosen[:1]],
    }
    for name, values in losses.items():
        known = [value for value in values if math.isfinite(value)]
        if known:
            found.append(f"{name} {float(np.mean(known)):.4g}")
    proven = [one.certificate.proven for one in chosen if one.certificate is not None]
    gaps = [one.certificate.gap for one in chosen if one.certificate is not None]
    if gaps:
        found.append(f"certificate: {certificate_text(proven, gaps)}")
    elif bounds := [one.gap for one in chosen if one.bound is not None]:
        found.append(f"gap of the measure's problem {max(bounds):.2%}")
    if hasattr(model, "gap_"):
        found.append(f"duality gap {float(np.max(model.gap_)):.2g}")
    return "; ".join(found) + "."


# Options of records, as of methods, losses and solvers, as parameters: "method__gap".


class NestedParameters(BaseEstimator):  # type: ignore[misc]
    """Base of estimators with parameters that are records, whose options searches can tune."""

    def _record_of(self, parameter: str, name: str) -> Any:
        """Return the record that a name stands for, as "l0" of the method; else None."""
        return METHODS[name]() if parameter == "method" and name in METHODS else None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; deep: options of records too, as "method__gap"."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, value in [*params.items()]:
                params |= {f"{name}__{path}": option for path, option in _options(value)}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; "method__gap" is an option of the method, a record or a name."""
        own = super().get_params(deep=False)
        nested: dict[str, dict[str, Any]] = {}
        for key in [*params]:
            name, divided, path = key.partition("__")
            given = params.get(name, own.get(name))
            if divided and name in own and not hasattr(given, "get_params"):
                nested.setdefault(name, {})[path] = params.pop(key)
        super().set_params(**params)
        for name, values in nested.items():
            given = getattr(self, name)
            record = self._record_of(name, given) if isinstance(given, str) else given
            known = sorted(path for path, _ in _options(record))
            if not set(values) <= set(known):
                raise ValueError(f"{name}={given!r} has the options {known}; got {sorted(values)}.")
            super().set_params(**{name: _with_options(record, values)})
        return self


def _options(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the options of a record and of the records among these; none of other values."""
    if not is_dataclass(value) or isinstance(value, type) or hasattr(value, "get_params"):
        return
    for one in fields(value):
        if one.init:
            option = getattr(value, one.name)
            yield one.name, option
            yield from ((f"{one.name}__{path}", inner) for path, inner in _options(option))


def _with_options(record: Any, values: Mapping[str, Any]) -> Any:
    """Return a record with other options, those of records in it last."""
    record = replace(record, **{path: one for path, one in values.items() if "__" not in path})
    inner: dict[str, dict[str, Any]] = {}
    for path, one in values.items():
        name, divided, rest = path.partition("__")
        if divided:
            inner.setdefault(name, {})[rest] = one
    return replace(
        record,
        **{name: _with_options(getattr(record, name), own) for name, own in inner.items()},
    )


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
    _least_loss = LEAST_LOSS  # that C times the weights may be
    _html_repr = features_html

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise ValueError where a parameter breaks a rule that no data are needed for."""

    @abstractmethod
    def _begin(
        self, data: TrainingData, seconds: dict[str, float]
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
        raise ParameterError("offset", f"must be None for {type(self).__name__}, which has none")

    @abstractmethod
    def _unit(self, labels: np.ndarray, sample_weight: FloatArray) -> FloatArray:
        """Return what multiplies the sample weights, (n,): the class weights."""

    @abstractmethod
    def _problems(
        self, labels: np.ndarray, weight: FloatArray
    ) -> tuple[np.ndarray | None, list[FloatArray]]:
        """Return the classes of the rows of positive weight, if any, and y of every problem."""

    def _weigh(self, data: TrainingData) -> tuple[TrainingData, FloatArray | None]:
        """Return the data with the weights of the problem, and the class weights (n,), if any."""
        check_total_weight(self._loss_weight(), data.sample_weight, self._least_loss)
        self._check_outcomes(data.labels)
        return data, None

    def _check_outcomes(self, labels: np.ndarray) -> None:
        """Raise ValueError where the targets of the rows of positive weight leave no problem."""

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
        y : (n_samples,) labels of two or more classes; of a regressor finite numbers; of a survival
            analysis what `survival_target` returns, or a structured array or data frame of event
            (True where it was observed, False where the sample is censored), time and maybe
            stratum, or, by these names, of start, stop, event and maybe stratum.
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

    @one_blas_thread()
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
            if is_noticed(data.design.shape):
                warn_of_memory(data.design, self, data.labels, CALLER_OF_FIT)
            warn_of_numbers(self, data.labels, CALLER_OF_FIT)
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
        self._keep_baseline(data)
        if context is not None:
            context.call_on_fit_task_end(estimator=self)
        warn_after(data, self, CALLER_OF_FIT)

    def _keep_columns(self, data: TrainingData) -> None:
        """Set what the columns of a fit are known by."""
        self._encoding, self._n_columns = data.encoding, data.design.shape[1]
        self.n_features_in_, names = self._n_columns, data.names
        if data.encoding is not None:
            names = data.encoding.columns
            self.n_features_in_ = len(names)
        validate.keep_names(self, names)

    def _keep_baseline(self, data: TrainingData) -> None:
        """Set what survival times need to become probabilities."""

    def _identity(self, data: TrainingData, **more: Any) -> Callable[[], dict[str, str]]:
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
    ) -> TrainingData:
        """Validate parameters and what there is of every row; rows of weight 0 are left out."""
        self._check_parameters()
        y, sample_weight, offset, groups = map(in_memory, (y, sample_weight, offset, groups))
        encoding = None
        if isinstance(self.feature_groups, str) and self.feature_groups == "columns":
            encoding, X = EncodedFrame.fit(X)
        given = validate.check_data(X)
        of_files = isinstance(given, str | os.PathLike)  # genotypes and single cells among them
        stored = (as_design if of_files else design_of)(given, n_threads=self.n_threads)
        design = self._stored(stored)
        names = stored.feature_names if encoding is None else encoding.names
        n = design.shape[0]
        target = self._target(y, n)
        weight = check_sample_weight(sample_weight, n)
        moved = None if offset is None else self._offset(offset, n)
        together = validate.check_groups(groups, n)
        data = TrainingData(
            design, target, weight, names, encoding, moved, self._order(y), together
        )
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
        elif not out_of_core(X):
            X = validate.as_fitted(self, X)
        return as_design(X, n_threads=self.n_threads)

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X, (n_samples, k); a file or a design is read for them."""
        check_is_fitted(self)
        if self._encoding is None and not out_of_core(X):
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


# What all linear classifiers share, and all linear regressors: targets, weights, prediction.


def one_versus_rest(labels: np.ndarray, classes: np.ndarray) -> list[FloatArray]:
    """Return y, (n,) of +-1, for every class against the others; one y for two classes."""
    positives = classes[1:] if len(classes) == 2 else classes
    return [np.where(labels == label, 1.0, -1.0) for label in positives]


def gives_probabilities(estimator: LinearClassifier) -> bool:
    """Raise AttributeError where the scores of an estimator are no log-odds."""
    if estimator._score_loss != "logistic":
        raise AttributeError(
            f"Probabilities need the logistic loss; the scores of this {type(estimator).__name__} "
            f"are of {estimator._score_loss!r}, no log-odds. Use decision_function, or "
            "sklearn.calibration.CalibratedClassifierCV."
        )
    return True


class LinearClassifier(ClassifierMixin, SparseLinearModel):  # type: ignore[misc]
    """Base of the classifiers with sparse coefficients, one-versus-rest for several classes."""

    _losses: ClassVar[dict[str, Smooth]] = {one.name: one for one in (Logistic(), SquaredHinge())}

    class_weight: Any  # a parameter of every such class

    def _record_of(self, parameter: str, name: str) -> Any:
        return (
            self._losses.get(name) if parameter == "loss" else super()._record_of(parameter, name)
        )

    def _loss(self) -> Smooth:
        """Return the loss of the selection."""
        loss: Smooth = loss_of(self.loss, self._losses, of_labels=True)
        return loss

    @property
    def _score_loss(self) -> str:
        """The loss that the scores were fitted for."""
        return "logistic"

    def _target(self, y: Any, n_samples: int) -> np.ndarray:
        return check_target(y, n_samples)

    def _strata(self, labels: np.ndarray, cv: Any) -> np.ndarray:
        """Return the labels, which folds have in equal shares."""
        return labels

    def _unit(self, labels: np.ndarray, sample_weight: FloatArray) -> FloatArray:
        return class_factors(self.class_weight, labels, sample_weight)

    def _problems(
        self, labels: np.ndarray, weight: FloatArray
    ) -> tuple[np.ndarray, list[FloatArray]]:
        classes = np.unique(labels[weight > 0])
        check_two_classes(classes)
        return classes, one_versus_rest(labels, classes)

    def _weigh(self, data: TrainingData) -> tuple[TrainingData, FloatArray]:
        """Return the data with class weights in their sample weights, and the class weights (n,).

        Rows of a class of weight 0 are left out; two classes are left.
        """
        check_two_classes(np.unique(data.labels))
        unit = self._unit(data.labels, data.sample_weight)
        weight = data.sample_weight * unit
        check_total_weight(self._loss_weight(), weight, self._least_loss)
        data = replace(data, sample_weight=weight)
        rows = np.flatnonzero(weight > 0)
        if rows.size < weight.size:
            data, unit = data.rows(rows), unit[rows]
            check_two_classes(np.unique(data.labels))
        return data, unit

    @property
    def coef_(self) -> FloatArray:
        """Coefficients on all features, (1 or n_classes, n_features_in_), made on demand."""
        return self._all_coef()

    def _class_scores(self, margins: FloatArray) -> FloatArray:
        """Return the scores of classes that margins give, (n_samples, 1 or n_classes)."""
        return margins

    def decision_function(self, X: Any) -> FloatArray:
        """Return X[:, support_] @ coef + intercept, (n_samples,) or (n_samples, n_classes)."""
        scores = self._class_scores(self._scores(X))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the largest score, (n_samples,)."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[predicted(scores)])

    @available_if(gives_probabilities)  # type: ignore[untyped-decorator,unused-ignore]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities, (n_samples, n_classes): the logistic function of the scores.

        With several classes, one-versus-rest probabilities normalised to sum one.
        """
        return self._probabilities(self.decision_function(X))

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities that scores give."""
        return probabilities(scores)

    @available_if(gives_probabilities)  # type: ignore[untyped-decorator,unused-ignore]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probabilities, (n_samples, n_classes)."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])
        return np.asarray(np.log(self.predict_proba(X)))


class LinearRegressor(RegressorMixin, SparseLinearModel):  # type: ignore[misc]
    """Base of the regressors with sparse coefficients; the intercept is a number."""

    loss: Any = "least_squares"
    _losses: ClassVar[dict[str, Smooth]] = {one.name: one for one in OF_NUMBERS}

    def _record_of(self, parameter: str, name: str) -> Any:
        return (
            self._losses.get(name) if parameter == "loss" else super()._record_of(parameter, name)
        )

    def _loss(self) -> Likelihood:
        """Return the loss of the selection."""
        loss: Likelihood = loss_of(self.loss, self._losses, of_labels=False)
        return loss

    @property
    def _score_loss(self) -> str:
        """The loss that the scores were fitted for."""
        return self._loss().name

    def _target(self, y: Any, n_samples: int) -> np.ndarray:
        return check_range(self._loss(), check_response(y, n_samples))

    def _offset(self, offset: Any, n_samples: int) -> FloatArray:
        return check_offset(offset, n_samples, self._loss().largest_offset)

    def _unit(self, labels: np.ndarray, sample_weight: FloatArray) -> FloatArray:
        return np.ones_like(sample_weight)

    def _problems(self, labels: np.ndarray, weight: FloatArray) -> tuple[None, list[FloatArray]]:
        return None, [labels]

    def _weigh(self, data: TrainingData) -> tuple[TrainingData, None]:
        weight = data.sample_weight
        if data.offset is not None:
            _, exposure = self._loss().with_offset(data.labels.T, data.offset)
            weight = weight * exposure.reshape(-1, weight.size).max(axis=0)
        check_total_weight(self._loss_weight(), weight, self._least_loss)
        for column in np.atleast_2d(data.labels.T):
            check_some_positive(self._loss(), column)
        return data, None

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        *,
        groups: Any = None,
    ) -> Self:
        """Fit the model and return it.

        Parameters
        ----------
        X, sample_weight, groups : as for `L1Classifier`.
        y : (n_samples,) numbers, of "poisson" not negative, of "gamma" positive; or of several
            responses, for `BudgetRegressor`, (n_samples, n_responses): the model has n_features for
            all of them, and minimises the sum of their losses.
        offset : (n_samples,) known part of the margins, with a coefficient of 1. Of counts in an
            exposure (time, area, people) it is log(exposure).

        Raises
        ------
        ValueError
            Where a parameter or the data break a rule; the message says which and what to do.
        """
        self._fit(X, y, sample_weight, offset, groups)
        return self

    def _set_models(self, models: Sequence[Model]) -> None:
        super()._set_models(models)
        if self.intercept_.size == 1:
            self.intercept_ = float(self.intercept_[0])

    @property
    def coef_(self) -> FloatArray:
        """Coefficients on all features, (n_columns,), or (n_responses, n_columns), on demand."""
        coef = self._all_coef()
        return coef[0] if len(coef) == 1 else coef

    def _keep_columns(self, data: TrainingData) -> None:
        super()._keep_columns(data)
        self._has_offset = data.offset is not None and bool(data.offset.any())

    def predict(self, X: Any, offset: Any = None) -> FloatArray:
        """Return the mean of y (of the loss of a quantile that quantile).

        (n_samples,), of several responses (n_samples, n_responses).

        X[:, support_] @ coef + intercept + offset, or e to that where the loss has a log link.

        offset : (n_samples,) of the margins, or one number for all rows. A model that was fitted
            with an offset needs it here and in `score`; 0 predicts without it.
        """
        margins = self._scores(X)
        largest = self._loss().largest_offset
        given = check_new_offset(offset, len(margins), largest, fitted=self._has_offset)
        if given is not None:
            margins = margins + given[:, None]
        means = self._loss().mean(margins)
        return means[:, 0] if means.shape[1] == 1 else means

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """Return the share of the variation of y that is explained; 1 is perfect, 0 a constant.

        R^2 of least squares, Huber's loss and one of your own; the share of the deviance for
        "poisson" and "gamma", and of the pinball loss for "quantile" (D^2 of scikit-learn).

        offset : as for `predict`.
        """
        found = self.predict(X, offset)
        return self._explained(y, found, sample_weight)

    def _score_of_margins(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return the score of margins, offsets among them."""
        return self._explained(y, self._loss().mean(z), weight)

    @property
    def _score_name(self) -> str:
        """What `score` returns."""
        loss: Any = self._loss()
        of_deviance = isinstance(loss, Quantile) or loss.variance_power is not None
        return "d2" if of_deviance else "r2"

    def _strata(self, y: FloatArray, cv: Any) -> np.ndarray:
        """Return the quantile that every row is in, which folds have in equal shares.

        Of several responses that of the first.
        """
        return quantiles_of(
            y if y.ndim == 1 else y[:, 0], int(cv) if validate.is_integer(cv) else 1
        )

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: positive targets where the loss has no others."""
        tags = super().__sklearn_tags__()
        named = not isinstance(self.loss, str) or self.loss in self._losses
        tags.target_tags.positive_only = named and self._loss().target != "any"
        return tags

    def _explained(self, y: Any, found: FloatArray, sample_weight: Any) -> float:
        """Return the score of means; of several responses the mean of theirs."""
        if found.ndim == 2:
            columns = zip(np.asarray(y).T, found.T, strict=True)
            scores = [self._explained(one, mean, sample_weight) for one, mean in columns]
            return float(np.mean(scores))
        loss: Any = self._loss()
        power = loss.variance_power
        numbers = np.asarray(y)
        if numbers.size and (numbers == numbers[0]).all():  # nothing to explain: R^2's convention
            return float(np.array_equal(numbers, found))
        if isinstance(loss, Quantile):
            explained = d2_pinball_score(y, found, sample_weight=sample_weight, alpha=loss.quantile)
        elif power is not None:
            explained = d2_tweedie_score(y, found, sample_weight=sample_weight, power=power)
        else:
            explained = r2_score(y, found, sample_weight=sample_weight)
        return float(explained)


def quantiles_of(y: FloatArray, least: int) -> np.ndarray:
    """Return the tenth, or a larger part, that every number is in; each has so many at least."""
    n_parts = max(1, min(10, y.size // max(20, 2 * least)))
    rank = np.empty(y.size, np.int64)
    rank[np.argsort(y, kind="stable")] = np.arange(y.size)
    return rank * n_parts // y.size


def loss_of(given: Any, known: Mapping[str, Smooth], *, of_labels: bool) -> Any:
    """Return the loss of a name, or the one that was given, of labels or of numbers."""
    if isinstance(given, str) or not hasattr(given, "value_gradient"):
        validate.check_option("loss", given, list(known))
        return known[given]
    if isinstance(given, type):
        raise ParameterError("loss", "must be a loss, not its class", f"{given!r}", "Call it.")
    if given.of_labels != of_labels or given.target == "survival":
        raise ParameterError(
            "loss",
            f"must be one of {'labels' if of_labels else 'numbers'}",
            f"{given!r}",
            "Use a classifier for labels, a regressor for numbers, and for survival times "
            "BudgetSurvivalAnalysis or L1SurvivalAnalysis.",
        )
    return given


# The parameters of an estimator, as the fields of its class.

_Estimator = TypeVar("_Estimator")


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def with_parameters(cls: type[_Estimator]) -> type[_Estimator]:
    """Make the fields of a class, and of its bases, the parameters of its `__init__`.

    They are passed by name, but for fields with kw_only=False. Estimators are equal where they are
    the same object, and scikit-learn has the repr. The annotations of `__init__` are types, not
    text: that of a base has names which the module of the class need not know.
    """
    made = dataclass(eq=False, repr=False, kw_only=True)(cls)
    begin: Any = made.__init__
    types = get_type_hints(made)
    begin.__annotations__ = {
        name: types.get(name, text) for name, text in begin.__annotations__.items()
    }
    return made


def with_constants(**values: Any) -> Callable[[type[_Estimator]], type[_Estimator]]:
    """Give parameters of the bases of a class one value each: they are no parameters of it.

    Below `with_parameters`, which reads the annotations.
    """

    def decorate(cls: type[_Estimator]) -> type[_Estimator]:
        own = inspect.get_annotations(cls)
        cls.__annotations__ = {**own, **dict.fromkeys(values, ClassVar[Any])}
        for name, value in values.items():
            setattr(cls, name, value)
        return cls

    return decorate

"""What all baselines share: columns on one scaling, the scikit-learn classes, paths of models."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from zeronorm.core import validation as validate
from zeronorm.core.budgets import check_spread
from zeronorm.core.groups import Groups
from zeronorm.core.parallel import one_blas_thread
from zeronorm.core.ranking import predicted
from zeronorm.core.targets import (
    check_response,
    check_sample_weight,
    check_target,
    check_total_weight,
    check_two_classes,
)
from zeronorm.core.types import FloatArray, IndexArray
from zeronorm.data import as_design
from zeronorm.data.operations import center_scale
from zeronorm.losses import LeastSquares, Logistic, probabilities

ConvexLoss: TypeAlias = LeastSquares | Logistic

# Bounds of f'' for a sample weight of 1.
CURVATURE = {"least_squares": 1.0, "logistic": 0.25}
CALLER_OF_FIT = 6  # the `stacklevel` of warnings by functions that `_solve` calls


@dataclass(frozen=True, eq=False)
class Data:
    """Columns on the scaling of the problem, those of one group side by side; labels and weights.

    The intercept is the last column of `columns` where there is one: a feature without a penalty.
    """

    loss: ConvexLoss
    columns: FloatArray  # (n, p + intercept) F-ordered
    y: FloatArray  # (n,)
    weight: FloatArray  # (n,) positive
    start: IndexArray  # (n_groups + 1,) group g is columns[:, start[g]:start[g + 1]]
    order: IndexArray  # (p,) the columns of X
    mean: FloatArray  # (p,) column j of `columns` is (X[:, order[j]] - mean[j]) * scale[j]
    scale: FloatArray  # (p,) 0 for constant columns
    intercept: bool
    null_intercept: float = field(init=False)  # of the best model without features
    null_objective: float = field(init=False)

    def __post_init__(self) -> None:
        b = _best_constant(self.loss, self.y, self.weight) if self.intercept else 0.0
        value = self.loss.value_gradient(np.full(self.y.size, b), self.y, self.weight)[0]
        object.__setattr__(self, "null_intercept", b)
        object.__setattr__(self, "null_objective", value)

    @property
    def n_features(self) -> int:
        """The number of columns of X."""
        return int(self.order.size)

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return int(self.start.size) - 1

    @property
    def sizes(self) -> IndexArray:
        """The number of features of every group, (n_groups,)."""
        return np.diff(self.start)

    @property
    def features(self) -> FloatArray:
        """The columns without that of the intercept, (n, p), a view."""
        return self.columns[:, : self.n_features]

    def null(self) -> FloatArray:
        """Return the coefficients of the best model without features, (p + intercept,)."""
        x = np.zeros(self.columns.shape[1])
        if self.intercept:
            x[-1] = self.null_intercept
        return x

    def value(self, x: FloatArray) -> float:
        """Return the summed loss of coefficients on `columns`."""
        return self.loss.value_gradient(self.columns @ x, self.y, self.weight)[0]

    def group_norms(self, x: FloatArray, norm: int = 2) -> FloatArray:
        """Return ||x_g||_1 or ||x_g||_2 of every group, (n_groups,)."""
        magnitude = np.abs(x[: self.n_features])
        sums = np.add.reduceat(magnitude if norm == 1 else magnitude**2, self.start[:-1])
        return np.asarray(sums if norm == 1 else np.sqrt(sums), np.float64)

    def unscale(self, x: FloatArray) -> tuple[FloatArray, float]:
        """Return the coefficients on X, (p,), and the intercept of coefficients on `columns`."""
        scaled = x[: self.n_features] * self.scale
        coef = np.zeros(self.n_features)
        coef[self.order] = scaled
        intercept = x[-1] - scaled @ self.mean if self.intercept else 0.0
        return coef, float(intercept)


def _best_constant(loss: ConvexLoss, y: FloatArray, weight: FloatArray) -> float:
    """Return argmin_b sum_i s_i f(y_i, b)."""
    if isinstance(loss, LeastSquares):
        return float(weight @ y / weight.sum())
    return float(np.log(weight[y > 0].sum() / weight[y < 0].sum()))


def prepare(
    X: FloatArray,
    y: FloatArray,
    loss: ConvexLoss,
    feature_groups: Any = None,
    *,
    names: list[str] | None = None,
    sample_weight: Any = None,
    intercept: bool = True,
    standardize: bool = True,
) -> tuple[Data, Groups]:
    """Return the columns of X on the scaling of the problem, and their groups.

    With an intercept columns are centred, which changes no solution but for rounding. Rows of
    weight 0 are left out, and groups without features. `feature_groups=None` makes every feature a
    group of its own.
    """
    n, p = X.shape
    partition = _filled(
        Groups.of(np.arange(p) if feature_groups is None else feature_groups, p, names)
    )
    weight = check_sample_weight(sample_weight, n)
    check_total_weight(1.0, weight)
    kept = weight > 0
    if not kept.all():
        X, y, weight = X[kept], y[kept], weight[kept]
    if isinstance(loss, Logistic):
        check_two_classes(np.unique(y))
    scaled = center_scale(as_design(X), weight, center=True)
    if not standardize:
        check_spread(scaled.scale)
    assert scaled.mean is not None  # dense data
    order = np.argsort(partition.code, kind="stable").astype(np.int64, copy=False)
    mean = scaled.mean[order] if intercept else np.zeros(p)
    usable = scaled.scale[order] > 0
    scale = scaled.scale[order] if standardize else usable.astype(np.float64)
    columns = np.empty((X.shape[0], p + intercept), order="F")
    np.take(X, order, axis=1, out=columns[:, :p])
    columns[:, :p] -= mean
    columns[:, :p] *= scale
    columns[:, p:] = 1.0
    start = np.concatenate([[0], np.cumsum(partition.sizes)]).astype(np.int64)
    return Data(loss, columns, y, weight, start, order, mean, scale, intercept), partition


def _filled(groups: Groups) -> Groups:
    """Return the groups that have features."""
    filled = groups.sizes > 0
    if filled.all():
        return groups
    return Groups(groups.labels[filled], (np.cumsum(filled) - 1)[groups.code])


def dense(X: Any) -> tuple[Any, list[str] | None]:
    """Return X as an array of numbers, (n, p), and the names of its columns.

    Sparse data are left to the checks of scikit-learn, which refuse them.
    """
    if sp.issparse(X):
        return X, None
    design = as_design(validate.check_data(X))
    return design.gather(slice(None)), design.feature_names


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients on the columns of `Data`, and how good they are."""

    x: FloatArray  # (p + intercept,)
    objective: float
    gap: float  # certified, relative to the objective without features; NaN: nothing certified
    n_iter: int
    history: tuple[float, ...] = ()  # objective after every pass of a method in passes


@dataclass(frozen=True, eq=False)
class LinearPath:
    """Models along a growing size or a falling penalty; coefficients are for X as it is."""

    values: FloatArray  # (n_models,) the sizes or the penalties
    coef: Any  # (n_models, n_features) csr_array
    intercept: FloatArray  # (n_models,)

    @classmethod
    def of(cls, values: Any, models: list[tuple[FloatArray, float]]) -> LinearPath:
        """Return the path of (coef, intercept), one for each value."""
        coef = sp.vstack([sp.csr_array(coef[None, :]) for coef, _ in models], format="csr")
        intercept = np.array([intercept for _, intercept in models])
        return cls(np.asarray(values, np.float64), coef, intercept)

    def __len__(self) -> int:
        """Return the number of models."""
        return int(self.values.size)

    def support(self, i: int) -> IndexArray:
        """Return the features of model i, sorted."""
        return np.flatnonzero(self.coef[[i]].toarray()[0])

    def decision_function(self, X: Any) -> FloatArray:
        """Return X coef' + intercept of every model, (n_samples, n_models)."""
        X = check_array(dense(X)[0], dtype=np.float64)
        if X.shape[1] != self.coef.shape[1]:
            raise ValueError(
                f"X must have {self.coef.shape[1]} columns, as the path was fitted on; got "
                f"{X.shape[1]}."
            )
        return np.asarray((self.coef @ X.T).T + self.intercept)


class LinearModel(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the baselines: dense X, one vector of coefficients, an optional free intercept."""

    fit_intercept: Any
    standardize: Any = True  # a parameter of the methods with a penalty on the coefficients
    feature_groups: Any = None

    _loss: ConvexLoss

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise ValueError where a parameter breaks a rule that no data are needed for."""

    @abstractmethod
    def _solve(self, data: Data, groups: Groups) -> Fit:
        """Return the solution; further attributes may be set."""

    @abstractmethod
    def _target(self, y: Any) -> FloatArray:
        """Return y as the loss takes it, (n,)."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model and return it.

        Parameters
        ----------
        X : (n_samples, n_features) dense numbers without NaN.
        y : (n_samples,) numbers; of a classifier two labels.
        sample_weight : (n_samples,) not negative, multiplies the loss of each row.
        """
        for name in ("fit_intercept", "standardize"):
            validate.check_flag(name, getattr(self, name))
        self._check_parameters()
        return self._fit(X, y, sample_weight)

    @one_blas_thread()
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        X, names = dense(X)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=self._loss.name != "logistic")
        validate.keep_names(self, names)
        data, groups = prepare(
            X, self._target(y), self._loss, self.feature_groups, names=names,
            sample_weight=sample_weight, intercept=bool(self.fit_intercept),
            standardize=bool(self.standardize),
        )  # fmt: skip
        fit = self._solve(data, groups)
        coef, intercept = data.unscale(fit.x)
        self.support_ = np.flatnonzero(coef)
        self._store(coef, intercept)
        self.objective_ = fit.objective
        if not np.isnan(fit.gap):
            self.gap_ = fit.gap
        self.n_iter_ = max(1, fit.n_iter)
        return self

    def _store(self, coef: FloatArray, intercept: float) -> None:
        self.coef_: FloatArray = coef
        self.intercept_: Any = intercept

    def _scores(self, X: Any) -> FloatArray:
        """Return X coef + intercept, (n_samples,)."""
        check_is_fitted(self)
        X, _ = dense(validate.as_fitted(self, X))
        return np.asarray(X @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0])

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.support_] = True
        return mask


class Regressor(RegressorMixin, LinearModel):  # type: ignore[misc]
    """Least squares, 1/2 (z - y)^2."""

    _loss: ConvexLoss = LeastSquares()

    def _target(self, y: Any) -> FloatArray:
        return check_response(y, len(y))

    def predict(self, X: Any) -> FloatArray:
        """Return X coef_ + intercept_, (n_samples,)."""
        return self._scores(X)


class Classifier(ClassifierMixin, LinearModel):  # type: ignore[misc]
    """Logistic loss, log(1 + exp(-y z)), for two classes."""

    _loss: ConvexLoss = Logistic()

    def _target(self, y: Any) -> FloatArray:
        classes = np.unique(check_target(y, len(y)))
        check_two_classes(classes)
        if classes.size > 2:
            raise ValueError(
                f"Only binary classification is supported: y must have two classes; got "
                f"{classes.size}. Fit one class against the others."
            )
        self.classes_ = classes
        return np.where(y == classes[1], 1.0, -1.0)

    def _store(self, coef: FloatArray, intercept: float) -> None:
        self.coef_ = coef[None, :]
        self.intercept_ = np.array([intercept])

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds of the second class, (n_samples,)."""
        return self._scores(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the more probable class, (n_samples,)."""
        scores = self._scores(X)
        return np.asarray(self.classes_[predicted(scores)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the two classes, (n_samples, 2)."""
        return probabilities(self._scores(X))

    def __sklearn_tags__(self) -> Any:
        """Return the tags: two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def warn_of_gap(gap: float, tol: float, remedy: str, stacklevel: int = CALLER_OF_FIT) -> None:
    """Warn where a problem was not solved to the tolerance."""
    if not gap <= tol:
        warnings.warn(
            f"The solver stopped at a certified gap of {gap:.2g} (asked: tol={tol:g}). {remedy}",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )

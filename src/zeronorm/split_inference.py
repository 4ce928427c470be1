"""Intervals and p-values for a chosen model, from rows that did not choose it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from . import validate
from ._frames import frame_of
from ._submodel import MODELS, Estimates, check_rows, estimates, target_of
from ._threads import one_blas_thread
from ._together import kinds_of_groups
from ._typing import Design, FloatArray, IndexArray
from .designs import as_design


@dataclass(frozen=True, slots=True, repr=False)
class ChosenModel:
    """The features that some rows chose, and what the other rows say of them."""

    features: IndexArray  # (k,) ascending
    names: tuple[str, ...]
    estimates: Estimates  # in the same order
    chosen_on: IndexArray  # rows
    inferred_on: IndexArray  # all other rows

    def __len__(self) -> int:
        """Return k."""
        return self.features.size


@dataclass(frozen=True, slots=True, repr=False)
class SplitInference:
    """Inference for the model that each of B random splits chose."""

    models: tuple[ChosenModel, ...]  # (B,)
    model: str  # "linear", "logistic" or "cox"
    level: float  # of the intervals

    @property
    def features(self) -> IndexArray:
        """The features that were chosen in any split, ascending."""
        return np.unique(np.concatenate([one.features for one in self.models]))

    @property
    def names(self) -> list[str]:
        """Their names."""
        known = {
            int(feature): name
            for one in self.models
            for feature, name in zip(one.features, one.names, strict=True)
        }
        return [known[int(one)] for one in self.features]

    @property
    def p_values(self) -> FloatArray:
        """The p-value of each of `features`: see `split_inference`."""
        return self._combined(adjust=False)

    @property
    def adjusted_p_values(self) -> FloatArray:
        """The same with p times the size of each model, for all features at once."""
        return self._combined(adjust=True)

    def _combined(self, adjust: bool) -> FloatArray:
        features, count = self.features, len(self.models)
        values = np.ones((count, features.size))
        for row, one in zip(values, self.models, strict=True):
            factor = len(one) if adjust else 1
            row[np.searchsorted(features, one.features)] = factor * one.estimates.p_values
        half = (count + 1) // 2
        smallest: FloatArray = np.sort(values, axis=0)[half - 1]
        return np.minimum(smallest * count / half, 1.0)

    def __repr__(self) -> str:
        """Return the table of the features: of one split with intervals."""
        first = self.models[0]
        rows = f"{first.chosen_on.size} rows chose, {first.inferred_on.size} others infer"
        names = self.names
        width = max([len("features"), *map(len, names)])
        if len(self.models) == 1:
            one = first.estimates
            lines = [
                f"{len(first)} feature(s) of a {self.model} model; {rows}.",
                f"{'features':<{width}}  {'coef':>10}  {f'{self.level:.0%} interval':>24}  p-value",
            ]
            lines += [
                f"{name:<{width}}  {one.coef[at]:>10.4g}  "
                f"{f'{one.lower[at]:.4g} to {one.upper[at]:.4g}':>24}  {one.p_values[at]:7.2g}"
                for at, name in enumerate(names)
            ]
            return "\n".join(lines)
        features, p, adjusted = self.features, self.p_values, self.adjusted_p_values
        often = [sum(feature in one.features for one in self.models) for feature in features]
        order = np.lexsort((features, -np.array(often), p))
        lines = [
            f"{len(self.models)} splits of a {self.model} model; in each {rows}.",
            f"{'features':<{width}}  chosen  p-value  adjusted",
        ]
        lines += [
            f"{names[at]:<{width}}  {often[at] / len(self.models):6.0%}  {p[at]:7.2g}  "
            f"{adjusted[at]:8.2g}"
            for at in order[: max(10, int((p < 1).sum()))].tolist()
        ]
        return "\n".join(lines)


@one_blas_thread
def split_inference(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_splits: int = 1,
    share: float = 0.5,
    level: float = 0.95,
    model: str = "auto",
    groups: Any = None,
    random_state: int | None = 0,
) -> SplitInference:
    """Choose features on some rows, and infer on all others how they act together.

    With S the features that the estimator chooses on a random share of the rows, and b the
    coefficients of these alone in the model of all rows of that kind,

        P(lower_j <= b_j <= upper_j) = level  for each j of S,    P(p_j <= a) = a  where b_j = 0,

    whatever the estimator does, since S is fixed given the rows that chose it. The b_j are of the
    model of S, not of one with all features. Of a linear model intervals and tests are those of
    Student, exact where errors given the features of S are normal, of one variance and of mean 0;
    of a logistic model and of Cox's (ties as Efron has them) both are those of the likelihood
    ratio, for rows many times the features.

    With B splits a feature has a p-value in each one, 1 where it is not chosen. The smallest p that
    half of these (k = ceil(B / 2)) do not exceed, times B / k, is a p-value of the feature having a
    coefficient of 0 in every model that has it, however dependent the splits are.

    Parameters
    ----------
    estimator : any selector with `fit`, `get_support`, `transform` and `get_feature_names_out`, of
        this package or of scikit-learn; it is not changed.
    X, y : as for its `fit`.
    n_splits : B, at least 1.
    share : of the rows that choose, above 0 and below 1; classes and events in equal shares.
    level : of the intervals, above 0 and below 1.
    model : "linear", "logistic" or "cox"; "auto": "cox" for events and times, "logistic" for a
        classifier and for labels that are no numbers, else "linear".
    groups : (n_samples,) labels; samples with the same label are on the same side, so that a share
        of the groups chooses. Intervals still take the samples of a group as independent of each
        other: where they are not, as of one patient, intervals are too short. Average the samples
        of a group, or pass one of each.
    random_state : of the splits, from 0 to 2^32 - 1; None draws others every time.

    Returns
    -------
    A `SplitInference`: `models`, each a `ChosenModel` with `features`, `names` and `estimates`
    (coef, error, lower, upper, p_values), and the combined `p_values` and `adjusted_p_values` of
    `features`.

    Raises
    ------
    ValueError
        Where a parameter breaks its rule; where more features are chosen than the other rows bear
        (n - 2 of a linear or logistic model, one less than the events of Cox's), or one of them is
        constant there or a combination of others; where they separate the classes, or order the
        events, so that there is no largest likelihood; where y has more than two classes, and as by
        `fit` of the estimator.

    Source
    ------
    Cox, A note on data-splitting for the evaluation of significance levels, Biometrika 62 (1975);
    Meinshausen, Meier and Buehlmann, p-values for high-dimensional regression, JASA 104 (2009), for
    several splits; Rueger, Das maximale Signifikanzniveau des Tests: Lehne H0 ab, wenn k unter n
    gegebenen Tests zur Ablehnung fuehren, Metrika 25 (1978), for the rule.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import BudgetRegressor
    >>> from zeronorm.split_inference import split_inference
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 500))
    >>> y = X[:, 3] - X[:, 7] + rng.standard_normal(200)
    >>> found = split_inference(BudgetRegressor(3), X, y)
    >>> found.features.size, (found.p_values < 0.001).sum().item()
    (3, 2)
    """
    validate.check_iterations("n_splits", n_splits)
    for name, value in (("share", share), ("level", level)):
        if not 0 < validate.number(value) < 1:
            raise ValueError(f"{name} must be above 0 and below 1; got {validate.shown(value)}.")
    validate.check_option("model", model, ("auto", *MODELS))
    validate.check_seed(random_state)
    for name in ("fit", "get_support", "transform", "get_feature_names_out"):
        if not hasattr(estimator, name):
            raise TypeError(
                f"estimator must be a selector, with {name}; got {type(estimator).__name__}."
            )
    if validate.out_of_core(X) or isinstance(X, str | Path):
        X = as_design(validate.check_data(X))
    y = validate.in_memory(y)
    if y is None:
        raise ValueError("y must be the target of every row; got None.")
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    n = int(X.shape[0])
    kind = _kind(estimator, y) if model == "auto" else model
    target = target_of(kind, y, n)
    strata = {"linear": np.zeros(n), "logistic": target, "cox": target.T[1:2].ravel()}[kind]
    together = validate.check_groups(validate.in_memory(groups), n)
    rng = np.random.default_rng(random_state)
    models = []
    for _ in range(n_splits):
        first = _drawn(rng, strata, float(share), together)
        models.append(_chosen(estimator, X, y, target, kind, first, float(level), together))
    return SplitInference(tuple(models), kind, float(level))


def _kind(estimator: Any, y: Any) -> str:
    """Return the model that a target and an estimator ask for."""
    structured = getattr(getattr(y, "dtype", None), "names", None) is not None
    if structured or (hasattr(y, "columns") and len(y.columns) > 1):
        return "cox"
    inner = getattr(estimator, "estimator", estimator)
    labels = np.asarray(y).dtype.kind not in "iuf"
    return "logistic" if labels or is_classifier(inner) else "linear"


def _drawn(
    rng: np.random.Generator, strata: np.ndarray, share: float, groups: IndexArray | None
) -> np.ndarray:
    """Return a mask of the rows that choose: a share of every stratum, or of whole groups."""
    if groups is not None:
        _, kinds, number = kinds_of_groups(strata, groups)
        return _drawn(rng, kinds, share, None)[number]
    first = np.zeros(strata.size, bool)
    for one in np.unique(strata):
        rows = rng.permutation(np.flatnonzero(strata == one))
        first[rows[: round(share * rows.size)]] = True
    if first.all() or not first.any():
        raise ValueError(f"share must leave rows on both sides; got {share} of {strata.size} rows.")
    return first


def _chosen(
    estimator: Any,
    X: Any,
    y: Any,
    target: np.ndarray,
    kind: str,
    first: np.ndarray,
    level: float,
    groups: IndexArray | None,
) -> ChosenModel:
    """Return what some rows choose, and what the others say of it."""
    ours, others = np.flatnonzero(first), np.flatnonzero(~first)
    try:
        given = {}
        if groups is not None and has_fit_parameter(estimator, "groups"):
            given = {"groups": groups[ours]}
        fitted = clone(estimator).fit(_rows(X, ours), _safe_indexing(y, ours), **given)
    except ValueError as error:
        _refuse_gaps(X, error)
        raise
    features = np.flatnonzero(fitted.get_support())
    names = tuple(str(one) for one in fitted.get_feature_names_out())
    nothing = np.empty(0)
    found = Estimates(nothing, nothing, nothing, nothing, nothing)
    if features.size:
        columns = fitted.transform(_rows(X, others))
        columns = columns.toarray() if hasattr(columns, "toarray") else columns
        Z = np.asarray(columns, np.float64)
        check_rows(kind, Z, target[others], names)
        found = estimates(kind, Z, target[others], level)
    return ChosenModel(features, names, found, ours, others)


def _refuse_gaps(X: Any, error: ValueError) -> None:
    """Say where X has gaps that a selector does not take, whose own error counts other rows."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        gaps = np.argwhere(~np.isfinite(X))
        if gaps.size:
            row, column = gaps[0].tolist()
            raise ValueError(
                f"X must be finite for this estimator; got {X[row, column]} at row {row}, column "
                f"{column}. Remove or impute such values."
            ) from error


def _rows(X: Any, rows: IndexArray) -> Any:
    """Return some rows of X, a frame of the same library where it is one."""
    frame = frame_of(X)
    if frame is not None:
        return frame[rows.tolist()].to_native()
    return X[rows] if isinstance(X, Design) else _safe_indexing(X, rows)


__all__ = ["ChosenModel", "Estimates", "SplitInference", "split_inference"]

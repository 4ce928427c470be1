"""A model as an estimator of scikit-learn, which needs nothing of zeronorm."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import ParameterError
from ..core.ranking import least_score
from ..core.types import FloatArray
from ..core.validation import check_option
from ..persistence import LoadedClassifier, LoadedModel, LoadedRegressor
from .formats import as_model, link_of, raw_columns
from .pipelines import joined, of_sklearn_alone, parts_of


def to_sklearn(model: Any, *, by: str = "position") -> Any:
    """Return a fitted `Pipeline` of scikit-learn: the columns of the model, and a linear model.

    It predicts the same numbers, and can be pickled and read where zeronorm is not installed. The
    linear model is LogisticRegression, of classes against the others OneVsRestClassifier of it, of
    scores that are no log-odds LinearSVC, with a threshold inside FixedThresholdClassifier; of
    numbers Ridge, HuberRegressor, QuantileRegressor, PoissonRegressor or GammaRegressor. Offsets
    are 0 there: predictions are for an exposure of 1.

    Parameters
    ----------
    model : fitted estimator, what `load` returns, or a fitted `Pipeline` of scikit-learn with one
        of these last. The steps before it are kept, selectors of this package as the columns that
        they choose.
    by : "position" or "name"
        How columns are found: in an array of all features that the model was fitted on, or by their
        names in a data frame (needs pandas), which may have any other columns. By name a model of
        columns of text or with gaps takes these as they are, empty cells as NaN or None: the
        pipeline has a `OneHotEncoder`, in which a value that the model never saw is 0, a
        `SimpleImputer` with the means of training, and a `MissingIndicator`.

    Raises
    ------
    ValueError
        Where scikit-learn has no such model (survival times, ordered classes, losses of your own,
        several responses of other losses than least squares), the model has no features, or no
        names for by="name", or for that features that are parts of a date.
    """
    check_option("by", by, ["position", "name"])
    steps, last = parts_of(model)
    if steps:
        if by == "name":
            raise ValueError(
                "by must be 'position' for a pipeline, whose first step finds its columns by the "
                "names that it was fitted with; got 'name'."
            )
        return joined([of_sklearn_alone(step) for step in steps], to_sklearn(last))
    loaded = as_model(last)
    if not loaded.columns.size:
        raise ParameterError(
            "model", "must have features for scikit-learn", "none: it is a constant"
        )
    from sklearn.pipeline import Pipeline

    if by == "name" and loaded.codings:
        columns, order = _raw(loaded)
    else:
        columns, order = _columns(loaded, by), list(range(loaded.columns.size))
    return Pipeline([("columns", columns), ("model", _estimator(loaded, loaded.coef[:, order]))])


def _columns(model: LoadedModel, by: str) -> Any:
    """Return a transformer of data to the columns of a model."""
    from scipy.sparse import csr_array
    from sklearn.compose import ColumnTransformer

    if by == "position":
        data: Any = csr_array((1, model.n_features_in_))  # all zero: of any width
        columns: Any = model.columns.tolist()
    else:
        if model.feature_names is None:
            raise ParameterError(
                "by", "must be 'position' for a model without names of features", "'name'"
            )
        columns = list(model.feature_names)
        data = _pandas().DataFrame(np.zeros((1, len(columns))), columns=columns)
    chosen = ColumnTransformer([("features", "passthrough", columns)], sparse_threshold=0.0)
    return chosen.fit(data)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("by='name' needs pandas: pip install pandas.") from error
    return pandas


def _raw(model: LoadedModel) -> tuple[Any, list[int]]:
    """Return a transformer of a table as it was read, and which feature each of its columns is."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    pandas = _pandas()
    columns = raw_columns(model, "a pipeline", "Take by='position' and the features as a table has")
    levels: dict[str, list[str]] = {}  # of text, those that are features; "" where it is empty
    parts: dict[str, list[str]] = {"numbers": [], "filled": [], "gaps": [], "text": [], "texts": []}
    order: dict[str, list[int]] = {what: [] for what in parts}
    sample: dict[str, Any] = {}
    for one in columns:
        if one.kind == "category":
            what = "texts" if one.of_kind("missing") else "text"
            levels[one.name] = ["" if origin["kind"] == "missing" else origin["value"]
                                for origin in one.features.values() if origin]  # fmt: skip
            parts[what].append(one.name)
            order[what] += one.features
            sample[one.name] = levels[one.name][0]
            continue
        sample[one.name] = 0.0
        for place, origin in one.features.items():
            what = {"filled": "filled", "missing": "gaps"}[origin["kind"]] if origin else "numbers"
            parts[what].append(one.name)
            order[what].append(place)
            if what == "filled" and origin:
                sample[one.name] = origin["fill"]  # the mean of this row

    def encoder(names: list[str]) -> Any:
        known = [np.array(levels[name], object) for name in names]
        return OneHotEncoder(categories=known, handle_unknown="ignore", sparse_output=False)

    empty = SimpleImputer(missing_values=pandas.NA, strategy="constant", fill_value="")
    made = {
        "numbers": "passthrough",
        "filled": SimpleImputer(),
        "gaps": MissingIndicator(features="all"),
        "text": encoder(parts["text"]),
        "texts": Pipeline([("empty", empty), ("levels", encoder(parts["texts"]))]),
    }
    used = [(what, made[what], names) for what, names in parts.items() if names]
    transformer = ColumnTransformer(used, sparse_threshold=0.0)
    data = pandas.DataFrame({name: [value] for name, value in sample.items()})
    return transformer.fit(data), [place for what, *_ in used for place in order[what]]


def _estimator(model: LoadedModel, coef: FloatArray) -> Any:
    """Return a fitted linear model with these coefficients.

    It is fitted to zeros, by which scikit-learn sets all that it needs, before it gets them.
    """
    link = link_of(model)
    if isinstance(model, LoadedClassifier) and link != "ordered logit":
        return _classifier(model, link, coef)
    if isinstance(model, LoadedRegressor):
        return _regressor(model, coef)
    what = "ordered classes" if link == "ordered logit" else "survival times"
    raise ParameterError(
        "model",
        f"must be of classes or numbers for scikit-learn, which has no linear model of {what}",
        "",
        "Use to_json or to_sql.",
    )


def _classifier(model: LoadedClassifier, link: str, coef: FloatArray) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    own = LinearSVC() if link in ("sign", "largest") else LogisticRegression()
    zeros = np.zeros((len(model.classes_), model.columns.size))
    if model.metadata["threshold"] is not None:
        acting = _acting(own, model).fit(zeros, model.classes_)
        _with(acting.estimator_, coef, model.intercept_)
        return acting
    if link != "one-versus-rest":
        return _with(own.fit(zeros, model.classes_), coef, model.intercept_)
    several = OneVsRestClassifier(own).fit(zeros, model.classes_)
    for one, row, intercept in zip(several.estimators_, coef, model.intercept_, strict=True):
        _with(one, row[None], np.array([intercept]))
    return several


def _acting(estimator: Any, model: LoadedClassifier) -> Any:
    """Return a classifier that predicts the positive class from its probability on."""
    from sklearn.model_selection import FixedThresholdClassifier

    record = model.metadata["threshold"]
    by_score = record["probability"] is None
    return FixedThresholdClassifier(
        estimator,
        threshold=record["score"] if by_score else least_score(record["probability"]),
        pos_label=model.classes_[record["positive"]],
        response_method="decision_function",
    )


def _regressor(model: LoadedRegressor, coef: FloatArray) -> Any:
    from sklearn import linear_model

    own = {
        "least_squares": linear_model.Ridge,
        "huber": linear_model.HuberRegressor,
        "quantile": linear_model.QuantileRegressor,
        "poisson": linear_model.PoissonRegressor,
        "gamma": linear_model.GammaRegressor,
    }
    name = model.loss.name
    if model.metadata["loss"]["of_class"] is not None or name not in own:
        raise ParameterError(
            "model",
            "must have a loss of zeronorm for scikit-learn",
            f"{name!r}, a loss of your own",
            "Use to_json or to_sql.",
        )
    several = len(model.coef) > 1
    if several and name != "least_squares":
        raise ParameterError(
            "model",
            f"must have one response for the loss {name!r} in scikit-learn",
            str(len(model.coef)),
            "Use to_json or to_sql.",
        )
    zeros = np.zeros((2, model.columns.size))
    options = {"quantile": model.loss.quantile} if name == "quantile" else {}
    target = np.ones((2, len(model.coef)) if several else 2)
    fitted = own[name](**options).fit(zeros, target)
    if several:
        return _with(fitted, coef, model.intercept_)
    return _with(fitted, coef[0], model.intercept_[0])


def _with(estimator: Any, coef: FloatArray, intercept: Any) -> Any:
    """Give a linear model its coefficients, and return it."""
    estimator.coef_, estimator.intercept_ = coef.copy(), intercept
    return estimator

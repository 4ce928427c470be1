"""Pipelines of scikit-learn around a model, as SQL and as scikit-learn alone: same predictions."""

import math
import pickle
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1Regressor,
    survival_target,
)
from zeronorm.export import to_sklearn, to_sql


@pytest.fixture(scope="module")
def frame():
    """A table with gaps, texts and numbers, and a target that depends on all of them."""
    rng = np.random.default_rng(0)
    n = 80
    X = pd.DataFrame(rng.standard_normal((n, 3)) * [1, 50, 0.1] + [0, 300, 5], columns=list("abc"))
    X["site"] = rng.choice(["north", "south", "it's"], n)
    X["grade"] = rng.choice([1, 2, 3], n)
    score = X["a"] + (X["b"] - 300) / 50 + (X["site"] == "south") + 0.5 * X["grade"]
    X.loc[rng.random(n) < 0.2, "a"] = np.nan
    X.loc[:4, "b"] = np.nan
    return X, (score + 0.3 * rng.standard_normal(n)).to_numpy()


def answers(query, X):
    """The columns of a query on a frame, as a dict of arrays."""
    base = sqlite3.connect(":memory:")
    base.create_function("EXP", 1, lambda x: None if x is None else math.exp(x))
    X.to_sql("data", base, index=False)
    found = base.execute(query)
    rows = found.fetchall()
    return {
        name: np.array([row[j] for row in rows]) for j, (name, *_) in enumerate(found.description)
    }


NUMBERS = ["a", "b", "c"]
STEPS = {
    "standard": (NUMBERS, [SimpleImputer(), StandardScaler()]),
    "without a mean": (NUMBERS, [SimpleImputer(), StandardScaler(with_mean=False)]),
    "without a deviation": (NUMBERS, [SimpleImputer(), StandardScaler(with_std=False)]),
    "scaled first": (NUMBERS, [StandardScaler(), SimpleImputer(strategy="median")]),
    "between": (NUMBERS, [SimpleImputer(), MinMaxScaler(feature_range=(-1, 3))]),
    "clipped": (NUMBERS, [SimpleImputer(), MinMaxScaler(clip=True)]),
    "largest": (NUMBERS, [SimpleImputer(), MaxAbsScaler()]),
    "robust": (NUMBERS, [SimpleImputer(), RobustScaler()]),
    "constant": (NUMBERS, [SimpleImputer(strategy="constant", fill_value=-7.5), RobustScaler()]),
    "indicators": (NUMBERS, [SimpleImputer(add_indicator=True), StandardScaler()]),
    "union": (
        NUMBERS,
        [
            FeatureUnion(
                [("filled", SimpleImputer()), ("gaps", MissingIndicator(features="all"))],
                transformer_weights={"gaps": 2.0},
            )
        ],
    ),
    "selectors": (NUMBERS, [SimpleImputer(), VarianceThreshold(0.001), "passthrough",
                            FunctionTransformer(), SelectKBest(f_regression, k=2)]),
    "selected by us": (NUMBERS, [SimpleImputer(), BudgetRegressor(2, C=1.0), StandardScaler()]),
    "selected by us in them": (
        NUMBERS,
        [SimpleImputer(), SelectFromModel(L1Regressor(C=1.0), threshold=1e-9)],
    ),
    "columns": (
        [*NUMBERS, "site", "grade"],
        [
            make_column_transformer(
                (make_pipeline(SimpleImputer(), StandardScaler()), ["b", "a"]),
                (OneHotEncoder(handle_unknown="ignore"), ["site"]),
                (OneHotEncoder(drop="first", sparse_output=False), ["grade"]),
                remainder="passthrough",
            )
        ],
    ),
    "columns by other ways": (
        [*NUMBERS, "site", "grade"],
        [
            make_column_transformer(
                (SimpleImputer(), slice("a", "c")),
                (OrdinalEncoder(), make_column_selector(dtype_exclude=np.number)),
                ("passthrough", [-1]),
                ("drop", [True, False, False, False, False]),
            ),
            StandardScaler(),
        ],
    ),
    "in a pipeline": (NUMBERS, [make_pipeline(SimpleImputer(), MinMaxScaler()), RobustScaler()]),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_a_pipeline_is_one_query(frame, name):
    """A database would score rows by other numbers than the pipeline that was validated."""
    (X, y), (columns, steps) = frame, STEPS[name]
    model = make_pipeline(*steps, BudgetRegressor(2, C=1.0)).fit(X[columns], y)
    expected = model.predict(X[columns])
    found = answers(to_sql(model), X)["mean"]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    exported = to_sklearn(model)
    np.testing.assert_allclose(exported.predict(X[columns]), expected, rtol=1e-10)


def test_what_training_did_not_see(frame):
    """Rows with texts and values that no sample of training had would get other scores."""
    X, y = frame
    steps = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["site"]),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["grade"]),
        (make_pipeline(SimpleImputer(), MinMaxScaler(clip=True)), NUMBERS),
    )
    model = make_pipeline(steps, BudgetRegressor(7, C=1.0)).fit(X, y)
    new = X.assign(site="east", grade=9, a=1e6, b=-1e6)
    np.testing.assert_allclose(answers(to_sql(model), new)["mean"], model.predict(new), rtol=1e-10)
    strict = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["site", "grade"])), BudgetRegressor(4, C=1.0)
    ).fit(X, y)
    assert set(answers(to_sql(strict), new)["mean"]) == {None}  # scikit-learn refuses such rows


def test_classes_and_thresholds(frame):
    """A threshold around a pipeline would be lost, or its probabilities change."""
    X, y = frame
    X, y = X[NUMBERS], np.where(y > np.median(y), "high", "low")
    inner = make_pipeline(SimpleImputer(), StandardScaler(), BudgetClassifier(2, calibrate=False))
    model = FixedThresholdClassifier(inner, threshold=0.8, pos_label="low").fit(X, y)
    found = answers(to_sql(model), X)
    assert (found["predicted"] == model.predict(X)).all()
    assert (found["predicted"] != model.estimator_.predict(X)).any()
    np.testing.assert_allclose(found["probability"], model.predict_proba(X)[:, 1], rtol=1e-10)
    exported = to_sklearn(model)
    assert (exported.predict(X) == model.predict(X)).all()
    search = GridSearchCV(inner, {"budgetclassifier__n_features": [1, 2]}, cv=2).fit(X, y)
    np.testing.assert_allclose(to_sklearn(search).predict_proba(X), search.predict_proba(X))
    filled = X.fillna(0.0)
    search = GridSearchCV(BudgetClassifier(calibrate=False), {"n_features": [1, 2]}, cv=2)
    found = answers(to_sql(search.fit(filled, y)), filled)
    assert (found["predicted"] == search.predict(filled)).all()


def test_survival_times(frame):
    """Risks of a pipeline could be had in Python alone."""
    X, y = frame
    target = survival_target(np.exp(-y), np.ones(len(y), bool))
    model = make_pipeline(SimpleImputer(), RobustScaler(), BudgetSurvivalAnalysis(2, C=1.0))
    model.fit(X[NUMBERS], target)
    risk = answers(to_sql(model), X)["risk"]
    np.testing.assert_allclose(risk, model.predict(X[NUMBERS]), rtol=1e-10)
    with pytest.raises(ValueError, match="no linear model of survival times"):
        to_sklearn(model)


def test_arrays_have_numbers_for_names(frame):
    """A pipeline that was fitted on an array has columns x0, x1, ... as a model has."""
    X, y = frame
    values = X[NUMBERS].to_numpy()
    model = make_pipeline(SimpleImputer(), StandardScaler(), BudgetRegressor(2, C=1.0))
    model.fit(values, y)
    table = pd.DataFrame(values, columns=["x0", "x1", "x2"])
    found = answers(to_sql(model), table)["mean"]
    np.testing.assert_allclose(found, model.predict(values), rtol=1e-10)


def test_other_steps_are_refused_by_name(frame):
    """A query that leaves a step out would be wrong without a word."""
    X, y = frame
    model = make_pipeline(SimpleImputer(), PCA(2), BudgetRegressor(1, C=1.0)).fit(X[NUMBERS], y)
    with pytest.raises(ValueError, match=r"got PCA in step 'pca'\. Use to_sklearn"):
        to_sql(model)
    np.testing.assert_allclose(to_sklearn(model).predict(X[NUMBERS]), model.predict(X[NUMBERS]))
    squared = make_pipeline(
        SimpleImputer(), FunctionTransformer(np.square), BudgetRegressor(1, C=1.0)
    ).fit(X[NUMBERS], y)
    with pytest.raises(ValueError, match="FunctionTransformer in step 'functiontransformer'"):
        to_sql(squared)
    rare = make_pipeline(OneHotEncoder(min_frequency=0.35), BudgetRegressor(1, C=1.0))
    with pytest.raises(ValueError, match="infrequent"):
        to_sql(rare.fit(X[["site"]], y))
    with pytest.raises(ValueError, match="by must be 'position' for a pipeline"):
        to_sklearn(model, by="name")
    last = make_pipeline(SimpleImputer(), StandardScaler()).fit(X[NUMBERS])
    with pytest.raises(TypeError, match=r"fitted model of zeronorm; got StandardScaler"):
        to_sql(last)


def test_names_of_columns_without_use_are_free(frame):
    """One name with a backslash would keep a table of thousands from any query."""
    X, y = frame
    X = X[NUMBERS].rename(columns={"c": "c\\d"})
    model = make_pipeline(SimpleImputer(), StandardScaler(), BudgetRegressor(2, C=1.0)).fit(X, y)
    assert 2 not in model[-1].support_
    assert "FROM" in to_sql(model)
    model = make_pipeline(SimpleImputer(), StandardScaler(), BudgetRegressor(3, C=1.0)).fit(X, y)
    with pytest.raises(ValueError, match="backslashes"):
        to_sql(model)


def test_a_pipeline_is_read_without_this_package(frame):
    """Whoever gets the file would have to install zeronorm."""
    X, y = frame
    ours = BudgetRegressor(2, C=1.0)
    model = Pipeline([("model", SimpleImputer()), ("ours", ours), ("last", L1Regressor(1.0))])
    model.fit(X[NUMBERS], y)
    data = pickle.dumps(to_sklearn(model))
    assert b"zeronorm" not in data
    code = (
        "import pickle, sys, numpy as np\n"
        "found = pickle.loads(sys.stdin.buffer.read())\n"
        "assert 'zeronorm' not in sys.modules and len(dict(found.steps)) == len(found.steps) == 3\n"
    )
    subprocess.run([sys.executable, "-c", code], input=data, check=True)
    union = FeatureUnion([("ours", ours), ("other", SelectKBest(f_regression, k=1))])
    model = make_pipeline(SimpleImputer(), union, BudgetRegressor(1, C=1.0)).fit(X[NUMBERS], y)
    with pytest.raises(ValueError, match="FeatureUnion in step 'featureunion', which needs"):
        to_sklearn(model)

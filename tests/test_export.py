"""Models in other formats: each predicts what the model predicts, and says what it cannot."""

import json
import math
import os
import pickle
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from conftest import slow
from golub import load_golub
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1Classifier,
    L1Regressor,
    MultipleInstanceClassifier,
    certify,
    persistence,
    report,
)
from zeronorm.cli import app
from zeronorm.export import FORMATS, as_loaded, to_json, to_sklearn, to_sql
from zeronorm.io import read_table

NAMES = ["age", "s e x", 'b"mi', "bp", "s1", "s2", "s3;--", "s4", "s5", "s6"]


def sick():
    """The diabetes data, with names that SQL has to quote."""
    X, y = load_diabetes(return_X_y=True)
    return X, y


def golub():
    data = load_golub()
    names = list(data.feature_names)
    model = BudgetClassifier(5, calibrate=False).fit(data.X, data.y)
    return as_loaded(model, feature_names=names), data.X[:, model.support_], data.X


def flowers(labels=None, **options):
    X, y = load_iris(return_X_y=True)
    y = y if labels is None else np.array(labels)[y]
    model = BudgetClassifier(3, calibrate=False, **options).fit(X, y)
    return as_loaded(model, feature_names=NAMES[:4]), X[:, model.support_], X


def numbers(target=None, make=BudgetRegressor, **options):
    X, y = sick()
    model = make(n_features=4, **options).fit(X, y if target is None else target(X, y))
    columns = as_loaded(model).columns
    return as_loaded(model, feature_names=NAMES), X[:, columns], X


def acting(positive):
    """Two classes, of which one is predicted from the probability 0.3 on."""
    X, y = sick()
    y = np.where(y > 140, "up", "down")
    plain = BudgetClassifier(3, calibrate=False)
    model = FixedThresholdClassifier(plain, threshold=0.3, pos_label=positive).fit(X, y)
    loaded = as_loaded(model, feature_names=NAMES)
    acted = loaded.predict(X)
    assert (acted == model.predict(X)).all()
    assert (acted != model.estimator_.predict(X)).any()
    return loaded, X[:, model.estimator_.support_], X


def ordered():
    X, y = sick()
    grade = np.array(["mild", "bad", "worst"])[np.digitize(y, [100, 200])]
    grade = pd.Categorical(grade, ["mild", "bad", "worst"], ordered=True)
    model = BudgetClassifier(4, loss="ordinal", calibrate=False).fit(X, grade)
    assert model.ordered_classes_.tolist() == ["mild", "bad", "worst"]
    return as_loaded(model, feature_names=NAMES), X[:, model.support_], X


def survival():
    X, y = sick()
    times = np.rec.fromarrays([y > 60, y], names="event,time")
    model = BudgetSurvivalAnalysis(3).fit(X, times)
    return as_loaded(model, feature_names=NAMES), X[:, model.support_], X


def hinge():
    X, y = sick()
    model = L1Classifier(10.0, loss="squared_hinge").fit(X, y > 140)
    return as_loaded(model, feature_names=NAMES), X[:, model.support_], X


def hinges():
    X, y = load_iris(return_X_y=True)
    model = L1Classifier(0.1, loss="squared_hinge").fit(X, y)
    return as_loaded(model, feature_names=NAMES[:4]), X[:, model.support_], X


MODELS = {
    "two classes": golub,
    "a threshold": lambda: acting("up"),
    "a threshold of the first class": lambda: acting("down"),
    "classes that share": lambda: flowers(["it's", "A", "a"]),
    "each class": lambda: flowers(multi_class="ovr"),
    "ordered": ordered,
    "hinge": hinge,
    "several hinges": hinges,
    "least squares": numbers,
    "huber": lambda: numbers(loss="huber"),
    "quantile": lambda: numbers(loss="quantile"),
    "poisson": lambda: numbers(loss="poisson"),
    "gamma": lambda: numbers(loss="gamma"),
    "l1": lambda: numbers(make=L1Regressor),
    "responses": lambda: numbers(lambda X, y: np.column_stack([y, np.sqrt(y)])),
    "covariates": lambda: numbers(covariates=[0, 1]),
    "survival": survival,
}
each_model = pytest.mark.parametrize("kind", MODELS)


@pytest.fixture(scope="module")
def made():
    """Models by their kinds, each fitted once: the model, its features, all features."""
    found = {}

    def get(kind):
        if kind not in found:
            found[kind] = MODELS[kind]()
        return found[kind]

    return get


def probabilities(model, X):
    """The probabilities of a model, None where it has none."""
    try:
        return model.predict_proba(X)
    except (AttributeError, ValueError):
        return None


# --------------------------------------------------------------------------- JSON


def predicted_by_hand(document, values):
    """What the document of a model says of features: scores, and what they mean."""
    coef = np.array([one["coef"] for one in document["features"]]).T
    scores = values @ coef.T + np.array(document["intercepts"])
    link, classes = document["link"], np.array(document["classes"])
    if link in ("logit", "sign"):
        above = scores[:, 0] > document["cut"]
        return classes[above.astype(int)], np.hstack([expit(-scores), expit(scores)])
    if link == "ordered logit":
        below = expit(np.array(document["thresholds"]) - scores)
        proba = np.diff(below, axis=1, prepend=0.0, append=1.0)
        return classes[proba.argmax(axis=1)], proba[:, np.argsort(classes)]
    if link == "softmax":
        return classes[scores.argmax(axis=1)], softmax(scores, axis=1)
    if link in ("one-versus-rest", "largest"):
        proba = expit(scores)
        return classes[scores.argmax(axis=1)], proba / proba.sum(axis=1, keepdims=True)
    means = np.exp(scores) if link == "log" else scores
    return (means[:, 0] if means.shape[1] == 1 else means), None


@each_model
def test_the_document_is_enough_to_predict(made, kind):
    """Another program would predict something else from it, or could not."""
    model, values, X = made(kind)
    document = json.loads(to_json(model))
    answer, proba = predicted_by_hand(document, values)
    if len(document["classes"]):
        assert (answer == model.predict(X)).all()
        expected = probabilities(model, X)
        if expected is not None:
            np.testing.assert_allclose(proba, expected, atol=1e-12)
    else:
        np.testing.assert_allclose(answer, model.predict(X), rtol=1e-12, atol=1e-12)
    assert [one["column"] for one in document["features"]] == model.columns.tolist()
    assert [one["name"] for one in document["features"]] == list(model.feature_names)
    chosen = {one["column"] for one in document["features"] if one["covariate"]}
    assert chosen == set(model.covariates_.tolist())


def test_calibration_is_in_the_coefficients():
    """A reader who multiplies by the scale would do so twice."""
    X, y = sick()
    model = BudgetClassifier(3, calibrate=True).fit(X, y > 140)
    document = json.loads(to_json(model))
    assert document["calibration"]["scale"] != 1.0
    _, proba = predicted_by_hand(document, X[:, model.support_])
    np.testing.assert_allclose(proba, model.predict_proba(X), atol=1e-12)


# --------------------------------------------------------------------------- SQL


def answers(query, names, values, table="data"):
    """The rows and the columns of a query on a table of features, beside their number."""
    base = sqlite3.connect(":memory:")
    base.create_function("EXP", 1, lambda x: None if x is None else math.exp(x))
    base.create_function("LN", 1, lambda x: None if x is None else math.log(x))
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    base.execute(f'CREATE TABLE "{table}" ("row", {quoted})')
    places = ", ".join("?" * (len(names) + 1))
    rows = [[place, *row] for place, row in enumerate(values)]
    base.executemany(f'INSERT INTO "{table}" VALUES ({places})', rows)
    cursor = base.execute(query)
    return cursor.fetchall(), [one[0] for one in cursor.description]


@each_model
def test_a_database_predicts_the_same(made, kind):
    """A server would score patients by other numbers than the model that was validated."""
    model, values, X = made(kind)
    rows, columns = answers(to_sql(model, key="row"), model.feature_names, values.tolist())
    assert [row[0] for row in rows] == list(range(len(X)))
    found = {name: np.array([row[place] for row in rows]) for place, name in enumerate(columns)}
    if not hasattr(model, "classes_"):
        means = np.column_stack([found[name] for name in columns[1:]])
        expected = model.predict(X)
        np.testing.assert_allclose(means, expected.reshape(len(X), -1), rtol=1e-12, atol=1e-12)
        return
    assert (found["predicted"] == model.predict(X)).all()
    proba = probabilities(model, X)
    given = [found[name] for name in columns if name.startswith("probability")]
    if proba is None:
        assert not given
    elif len(given) == 1:
        np.testing.assert_allclose(given[0], proba[:, 1], atol=1e-12)
    else:
        order = model.ordered_classes_.tolist() or model.classes_.tolist()
        given = [given[order.index(label)] for label in model.classes_.tolist()]
        np.testing.assert_allclose(np.column_stack(given), proba, atol=1e-12)
    scores = [found[name] for name in columns if name.startswith("score")]
    if kind != "ordered":
        expected = model.decision_function(X).reshape(len(X), -1)
        np.testing.assert_allclose(np.column_stack(scores), expected, rtol=1e-11, atol=1e-11)


@each_model
def test_a_missing_value_predicts_nothing(made, kind):
    """A row without a measurement would get a class."""
    model, values, _ = made(kind)
    row = [*values[0].tolist()]
    row[int(np.flatnonzero(model.coef.all(axis=0))[0])] = None
    rows, _ = answers(to_sql(model), model.feature_names, [row])
    assert set(rows[0]) == {None}


@pytest.mark.parametrize("kind", ["two classes", "classes that share", "each class", "ordered"])
def test_far_values_neither_overflow_nor_vanish(made, kind):
    """A server would stop at the exponential of an outlier."""
    model, values, _ = made(kind)
    far = np.concatenate([1e5 * values, -1e5 * values])
    rows, columns = answers(to_sql(model), model.feature_names, far.tolist())
    places = [j for j, name in enumerate(columns) if name.startswith("probability")]
    found = np.array([[row[place] for place in places] for row in rows])
    assert ((found >= 0) & (found <= 1)).all()
    if len(places) > 1:
        np.testing.assert_allclose(found.sum(axis=1), 1.0)


DATA = Path(os.environ.get("ZERONORM_DATA", "/nowhere"))


@pytest.mark.parametrize(
    ("name", "options"), [("srbct", {}), ("qsar_hepatic", {"loss": "ordinal"})]
)
def test_a_database_predicts_the_same_of_real_classes(name, options, tmp_path):
    """Four tumours, or the grades of an injury, would be told apart otherwise than in Python."""
    if not (DATA / name).is_dir():
        pytest.skip(f"ZERONORM_DATA has no {name}")
    arrays = np.load(DATA / name / "arrays.npz")
    X, y = arrays["X"], arrays["y"]
    fitted = BudgetClassifier(8, calibrate=False, **options).fit(X, y)
    model = persistence.load(persistence.save(fitted, tmp_path / "a.model.npz"))
    names = [f"x{column}" for column in model.columns]
    values = X[:, model.columns].astype(float).tolist()
    rows, columns = answers(to_sql(model, key="row"), names, values)
    found = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
    assert found["predicted"] == fitted.predict(X).tolist()
    order = (
        getattr(fitted, "ordered_classes_", fitted.classes_).tolist() or fitted.classes_.tolist()
    )
    given = [found[f"probability_{1 + order.index(label)}"] for label in fitted.classes_.tolist()]
    np.testing.assert_allclose(np.column_stack(given), fitted.predict_proba(X), atol=1e-12)


def test_names_and_numbers_of_sql():
    """A name would end the query early, or a coefficient lose digits on its way."""
    model = MODELS["least squares"]()[0]
    query = to_sql(model, table='da"ta')
    assert '"b""mi"' in query
    assert 'FROM "da""ta"' in query
    coefs = model.coef[0].tolist()
    assert all(repr(one) in query for one in coefs)
    with pytest.raises(ValueError, match="key must be no column of the predictions; got 'Mean'"):
        to_sql(model, key="Mean")
    with pytest.raises(ValueError, match="SQL must have names and labels"):
        to_sql(model, table="")
    unnamed = as_loaded(BudgetRegressor(2).fit(*sick()))
    assert all(f'"x{j}"' in to_sql(unnamed) for j in unnamed.columns)


@pytest.mark.parametrize(
    "text", ["a\\", "\\' THEN 0 END, (SELECT 1) -- ", '\\"x', "a\\b", "a\nb", "\0a", "\x7f", ""]
)
def test_text_that_servers_read_differently_is_refused_in_sql(text):
    """MySQL, BigQuery and others take a backslash for an escape: a label would leave its quotes."""
    X, y = sick()
    by_label = BudgetClassifier(2, calibrate=False).fit(X, np.where(y > 140, text, "up"))
    by_name = as_loaded(BudgetRegressor(1).fit(X[:, 2:3], y), feature_names=[text or "\t"])
    calls = [lambda: to_sql(by_label), lambda: to_sql(by_name)]
    calls += [lambda: to_sql(BudgetRegressor(2).fit(X, y), table=text)]
    calls += [lambda: to_sql(BudgetRegressor(2).fit(X, y), key=text)]
    for call in calls:
        with pytest.raises(
            ValueError, match=r"without backslashes and control .* got .* Rename it"
        ):
            call()


def test_labels_of_any_type_are_quoted_in_sql():
    """A quotation mark would end a label early, or numbers and truth values become text."""
    X, y = load_iris(return_X_y=True)
    for labels in (["it's", 'b"', "A"], [7, 1, 3], [1.0, 3e9, 2.0], [False, True, True]):
        given = np.array(labels)[y]
        model = BudgetClassifier(2, calibrate=False).fit(X, given)
        names = [f"x{column}" for column in as_loaded(model).columns]
        rows, columns = answers(to_sql(model), names, X[:, model.support_].tolist())
        assert [row[columns.index("predicted")] for row in rows] == model.predict(X).tolist()


def test_an_exposure_is_a_column(tmp_path):
    """Counts would be predicted as if all rows had been watched for as long."""
    X, y = sick()
    hours = np.linspace(0.5, 2.0, len(y))
    model = BudgetRegressor(2, loss="poisson").fit(X, np.ceil(hours * y), offset=np.log(hours))
    path = persistence.save(
        model, tmp_path / "a.model.npz", feature_names=NAMES, columns={"exposure": "hours"}
    )
    loaded = persistence.load(path)
    values = np.column_stack([X[:, model.support_], hours]).tolist()
    rows, _ = answers(to_sql(loaded), [*loaded.feature_names, "hours"], values)
    expected = model.predict(X, offset=np.log(hours))
    np.testing.assert_allclose([row[0] for row in rows], expected, rtol=1e-12)
    assert json.loads(to_json(loaded))["offset"] == {"column": "hours", "log": True}


# --------------------------------------------------------------------------- scikit-learn


@each_model
def test_scikit_learn_predicts_the_same(made, kind):
    """The pipeline would be another model."""
    model, _, X = made(kind)
    if kind in ("ordered", "survival"):
        with pytest.raises(ValueError, match="model must be of classes or numbers for scikit-lea"):
            to_sklearn(model)
        return
    pipeline = to_sklearn(model)
    if not hasattr(model, "classes_"):
        np.testing.assert_allclose(pipeline.predict(X), model.predict(X), rtol=1e-12)
        return
    assert (pipeline.predict(X) == model.predict(X)).all()
    assert pipeline.classes_.tolist() == model.classes_.tolist()
    proba = probabilities(model, X)
    assert hasattr(pipeline, "predict_proba") == (proba is not None)
    if proba is not None:
        np.testing.assert_allclose(pipeline.predict_proba(X), proba, rtol=1e-9, atol=1e-14)


@each_model
def test_skl2onnx_converts_the_pipeline(made, kind):
    """The recipe of the documentation would promise a conversion that fails."""
    skl2onnx, runtime = map(pytest.importorskip, ("skl2onnx", "onnxruntime"))
    if kind in ("ordered", "survival"):
        return
    model, _, X = made(kind)
    pipeline = to_sklearn(model)
    if kind.startswith("a threshold"):
        pipeline = make_pipeline(pipeline[0], pipeline[-1].estimator_)
    options = None
    if hasattr(model, "classes_"):
        options = {"raw_scores": True} if "hinge" in kind else {"zipmap": False}
    X = X.astype(np.float64)
    graph = skl2onnx.to_onnx(pipeline, X[:1], options=options and {id(pipeline[-1]): options})
    first, *more = runtime.InferenceSession(graph.SerializeToString()).run(None, {"X": X})
    if more:
        assert (first == pipeline.predict(X)).all()
    if not more:
        expected = pipeline.predict(X).reshape(first.shape)
        np.testing.assert_allclose(first, expected, rtol=1e-12)
    elif "hinge" in kind:
        scores = pipeline.decision_function(X)
        np.testing.assert_allclose(more[0][:, -1] if scores.ndim == 1 else more[0], scores)
    else:
        np.testing.assert_allclose(more[0], model.predict_proba(X), atol=1e-12)


def test_a_pipeline_by_names(made):
    """Columns in another order would be taken for each other."""
    model, _, X = made("least squares")
    frame = pd.DataFrame(X, columns=NAMES)
    shuffled = frame[NAMES[::-1]].assign(more=1.0)
    found = to_sklearn(model, by="name").predict(shuffled)
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-12)
    unnamed = BudgetRegressor(2).fit(*sick())
    with pytest.raises(ValueError, match="by must be 'position' for a model without names"):
        to_sklearn(unnamed, by="name")
    with pytest.raises(ValueError, match="by must be one of 'position', 'name'; got 'index'"):
        to_sklearn(unnamed, by="index")


@pytest.mark.parametrize("kind", [*slow("each class"), "poisson"])
def test_a_pickle_needs_no_zeronorm(made, kind, tmp_path):
    """The server that reads it would have to install the package."""
    model, _, X = made(kind)
    (tmp_path / "model").write_bytes(pickle.dumps(to_sklearn(model)))
    np.save(tmp_path / "X.npy", X)
    code = (
        "import pickle, sys, numpy as np\n"
        "sys.modules['zeronorm'] = None\n"
        "model = pickle.load(open('model', 'rb'))\n"
        "np.save('found.npy', model.predict(np.load('X.npy')))\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    found = np.load(tmp_path / "found.npy")
    expected = model.predict(X)
    assert (found == expected).all() if found.dtype.kind in "US" else np.allclose(found, expected)


# --------------------------------------------------------------------------- what is exported


def test_fitted_and_loaded_models_are_the_same(tmp_path):
    """A model would change on its way through a file."""
    model = BudgetClassifier([2, 4], calibrate=False).fit(*load_iris(return_X_y=True))
    loaded = persistence.load(persistence.save(model, tmp_path / "a.model.npz"))
    for make in (to_json, to_sql):
        assert make(model) == make(loaded)
    small = json.loads(to_json(as_loaded(model, n_features=2)))
    assert len(small["features"]) == 2


def test_a_model_inside_a_pipeline_or_a_search_is_named(tmp_path):
    """Whoever has it in a pipeline would be told that it is no model, and not how to pass it."""
    X, y = load_iris(return_X_y=True)
    chain = make_pipeline(StandardScaler(), BudgetClassifier(2))
    search = GridSearchCV(chain, {"budgetclassifier__n_features": [1, 2]}, cv=3).fit(X, y)
    plain = GridSearchCV(BudgetClassifier(), {"n_features": [1, 2]}, cv=3).fit(X, y)
    ways = {"[-1], and data as {}[:-1] makes them": search.best_estimator_}
    ways[".best_estimator_[-1], and data as {}.best_estimator_[:-1] makes them"] = search
    ways[".best_estimator_"] = plain
    calls = {
        "estimator": [to_json, lambda m: persistence.save(m, "m.npz"), lambda m: report(
            m, X, y, str(tmp_path / "page.html"))],
        "model": [lambda m: certify(m, X, y)],
    }  # fmt: skip
    for way, given in ways.items():
        for name, each in calls.items():
            told = re.escape(f"Pass the model in it, {name}{way.format(name)}.")
            for call in each:
                with pytest.raises((TypeError, ValueError), match=told):
                    call(given)
        inside = eval("given" + way.partition(",")[0], {"given": given})
        assert json.loads(to_json(inside))["features"]
    others = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [1.0]}).fit(X, y)
    with pytest.raises(TypeError, match=r"got GridSearchCV\.$"):
        to_json(others)


def test_what_cannot_be_exported():
    """A user would get another model than the one that was fitted."""
    with pytest.raises(TypeError, match="estimator must be a fitted model of zeronorm; got dict"):
        to_json({})
    with pytest.raises(TypeError, match="which is not fitted"):
        to_sql(BudgetClassifier(3))
    with pytest.raises(
        TypeError, match="got MultipleInstanceClassifier, which predicts from similarities"
    ):
        to_sql(MultipleInstanceClassifier())
    constant = as_loaded(L1Regressor(1e-9).fit(*sick()))
    assert not constant.columns.size
    with pytest.raises(ValueError, match="model must have features for"):
        to_sklearn(constant)
    rows, _ = answers(to_sql(constant), ["a"], [[1.0]])
    assert rows[0][0] == pytest.approx(float(constant.intercept_[0]))


# --------------------------------------------------------------------------- coded columns


def coded_model(tmp_path, dates=False, way="indicator"):
    """A model of text, numbers with gaps and dates, its table of raw cells and the path of that."""
    rng = np.random.default_rng(5)
    n = 300
    ward = rng.choice(["heart", "lungs", "o'neill", ""], n, p=[0.4, 0.3, 0.2, 0.1])
    sex = rng.choice(["f", "m"], n)
    age = np.where(rng.random(n) < 0.2, np.nan, rng.integers(20, 80, n))
    day = rng.integers(1, 28, n)
    z = (ward == "o'neill") + 0.04 * np.nan_to_num(age, nan=50.0) + (sex == "m") + np.isnan(age)
    y = np.where(z + 0.3 * rng.standard_normal(n) > np.median(z), "yes", "no")
    rows = [
        [w, s, None if np.isnan(a) else int(a), f"2024-01-{d:02}", label]
        for w, s, a, d, label in zip(ward, sex, age, day, y, strict=True)
    ]
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    path = tmp_path / "d.csv"
    path.write_text("\n".join(["ward,sex,age,day,y", *lines]) + "\n")
    drop = () if dates else ("day",)
    table = read_table(path, "y", missing=way, drop=drop)
    n_features = table.X.shape[1]
    model = BudgetClassifier(n_features, calibrate=False).fit(table.X, table.y)
    file = persistence.save(
        model, tmp_path / "m.npz", feature_names=table.feature_names, codings=table.codings
    )
    return persistence.load(file), [[None if c == "" else c for c in row] for row in rows], path


def frame_of(rows):
    """Return raw cells as pandas reads them."""
    columns = ["ward", "sex", "age", "day", "y"]
    return pd.DataFrame(
        [[np.nan if c is None else c for c in row] for row in rows], columns=columns
    )


@pytest.mark.parametrize("way", ["mean", "indicator"])
def test_a_pipeline_takes_raw_columns(tmp_path, way):
    """Rows as they are would have to be coded by hand, and levels and means be guessed."""
    model, rows, path = coded_model(tmp_path, way=way)
    expected = model.predict_proba(read_table(path, "y", like=model.layout))
    labels = model.predict(read_table(path, "y", like=model.layout))
    frame = frame_of(rows)
    pipeline = pickle.loads(pickle.dumps(to_sklearn(model, by="name")))
    for shuffled in (frame, frame[["day", "age", "sex", "ward"]]):
        np.testing.assert_allclose(pipeline.predict_proba(shuffled), expected, atol=1e-12)
    assert (pipeline.predict(frame) == labels).all()
    # Cells that pandas has as None, a level that nobody saw, and one that is a part of another.
    new = [["kidney", "f", 40, None, ""], ["hear", "m", None, None, ""], [None, "f", 30, None, ""]]
    text = "\n".join(",".join("" if c is None else str(c) for c in row[:3]) for row in new)
    (tmp_path / "new.csv").write_text("ward,sex,age\n" + text + "\n")
    expected = model.predict_proba(read_table(tmp_path / "new.csv", like=model.layout))
    frame = frame_of(new)
    none = frame.assign(ward=frame["ward"].astype(object).where(frame["ward"].notna(), None))
    assert none["ward"][2] is None
    for one in (frame, none):
        np.testing.assert_allclose(pipeline.predict_proba(one), expected, atol=1e-12)


def test_every_level_of_a_covariate_predicts_the_same_everywhere(tmp_path):
    """The base level, which is no feature, would be taken for a value that nobody saw."""
    _, _, path = coded_model(tmp_path)
    table = read_table(path, "y", missing="mean", drop=["day"], covariates=["ward"])
    names = ["ward=lungs", "ward=o'neill", "ward is missing", "sex=m", "age"]
    assert table.feature_names == names
    fitted = BudgetClassifier(2, covariates=[0, 1, 2], calibrate=False).fit(table.X, table.y)
    file = persistence.save(fitted, tmp_path / "m.npz", feature_names=names, codings=table.codings)
    model, wards = persistence.load(file), ["heart", "lungs", "o'neill", None, "kidney"]
    new = [[ward, "f", 40, None, None] for ward in wards]
    text = "\n".join(f"{ward or ''},f,40" for ward in wards)
    (tmp_path / "new.csv").write_text(f"ward,sex,age\n{text}\n")
    told = read_table(tmp_path / "new.csv", like=model.layout)
    assert told.unseen == {"ward": (1, "kidney")}
    own = fitted.coef_[0, [0, 1, 2]]
    scores = fitted.decision_function([[0, 0, 0, 0, 40.0]]) + np.array([0.0, *own, 0.0])
    np.testing.assert_allclose(model.decision_function(told), scores, rtol=1e-12)
    expected, frame = expit(scores), frame_of(new)
    np.testing.assert_allclose(
        to_sklearn(model, by="name").predict_proba(frame)[:, 1], expected, atol=1e-12
    )
    levels = [one["origin"] for one in json.loads(to_json(model))["features"][:2]]
    assert [one["value"] for one in levels] == wards[1:3]


def test_features_that_a_model_lacks_are_in_no_pipeline(tmp_path):
    """Levels that were not selected would be columns, or others take their coefficients."""
    _, rows, path = coded_model(tmp_path)
    table = read_table(path, "y", missing="indicator", drop=["day"])
    for k in (1, 2, 3, 4):
        fitted = BudgetClassifier(k, calibrate=False).fit(table.X, table.y)
        file = persistence.save(
            fitted, tmp_path / "k.npz", feature_names=table.feature_names, codings=table.codings
        )
        model = persistence.load(file)
        expected = model.predict_proba(read_table(path, "y", like=model.layout))
        pipeline = to_sklearn(model, by="name")
        assert pipeline[-1].coef_.shape == (1, k)
        np.testing.assert_allclose(pipeline.predict_proba(frame_of(rows)), expected, atol=1e-12)


def test_json_says_what_features_are_made_of(tmp_path):
    """Nobody could predict by hand from raw rows."""
    model, rows, path = coded_model(tmp_path)
    document = json.loads(to_json(model))
    score = np.full(len(rows), document["intercepts"][0])
    places = {"ward": 0, "sex": 1, "age": 2}
    for feature in document["features"]:
        origin = feature["origin"]
        cells = [row[places[origin["column"]]] for row in rows]
        value = {
            "level": lambda cell, one: float(cell == one["value"]),
            "missing": lambda cell, _: float(cell is None),
            "filled": lambda cell, one: one["fill"] if cell is None else cell,
        }[origin["kind"]]
        score += feature["coef"][0] * np.array([value(cell, origin) for cell in cells])
    table = read_table(path, "y", like=model.layout)
    np.testing.assert_allclose(score, model.decision_function(table), rtol=1e-12)


# --------------------------------------------------------------------------- the command


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The file of a model of golub."""
    data = load_golub()
    model = BudgetClassifier(3, calibrate=False).fit(data.X, data.y)
    file = tmp_path_factory.mktemp("golub") / "a.model.npz"
    return persistence.save(model, file, feature_names=list(data.feature_names))


def run(*arguments):
    return CliRunner().invoke(app, ["info", *map(str, arguments)])


def test_the_command_writes_what_the_functions_return(path, tmp_path):
    """The command would export another model, or with other options."""
    model = persistence.load(path)
    assert run(path, "--format", "json").stdout == to_json(model) + "\n"
    sql = run(path, "--format", "sql", "--table", "t", "--key", "id").stdout
    assert sql == to_sql(model, table="t", key="id")
    out = tmp_path / "model.sql"
    done = run(path, "--format", "sql", "-o", out)
    assert done.exit_code == 0
    assert f"{out.stat().st_size:,} bytes" in " ".join(done.stdout.split())
    assert out.read_text() == to_sql(model)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["M", "--format", "xml"], "--format must be one of json, sql; got 'xml'"),
        (["M", "--format", "json", "-o", "M"], "is an input as well; name another file"),
        (["M", "--format", "json", "-o", "."], "--output must be a file; . is a directory"),
        (["M", "--format", "json", "--key", "id"], "--key is of --format sql; got"),
        (["M", "--format", "json", "--json"], "a report of its own; leave out --json"),
        (["--format", "json"], "--format needs a model; name a file that select wrote"),
        (["M", "-o", "b"], "--output is of an export; say --format, or leave it out"),
        (["M", "--table", "b"], "--table is of an export; say --format, or leave it out"),
    ],
)
def test_what_the_command_refuses(path, arguments, message):
    """A file would be lost, or an option ignored without a word."""
    before = path.read_bytes()
    command = ["info", *(str(path) if one == "M" else one for one in arguments)]
    done = subprocess.run(
        [sys.executable, "-m", "zeronorm", *command], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert path.read_bytes() == before


def test_the_help_names_every_format():
    """A format would be there that nobody can find."""
    text = Path(sys.modules["zeronorm.cli"].__file__).with_name("options.py").read_text()
    assert all(name in text.split("Export MODEL")[1].split('"')[0] for name in FORMATS)

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
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from conftest import slow
from zeronorm import (
    BagClassifier,
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1Classifier,
    L1Regressor,
    certify,
    persistence,
)
from zeronorm.cli import app
from zeronorm.datasets import load_golub
from zeronorm.export import (
    FORMATS,
    _sql,
    as_loaded,
    to_json,
    to_onnx,
    to_scorecard,
    to_sklearn,
    to_sql,
)
from zeronorm.files import read_table
from zeronorm.losses import LeastSquares
from zeronorm.reporting import report
from zeronorm.thresholds import choose_threshold

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
    """Two classes, of which one is predicted from the probability on that finds 90 % of it."""
    X, y = sick()
    y = np.where(y > 140, "up", "down")
    model = BudgetClassifier(3, calibrate=False).fit(X, y)
    p = model.predict_proba(X)[:, model.classes_.tolist().index(positive)]
    told = choose_threshold(y, p, sensitivity=0.9, pos_label=positive)
    loaded = as_loaded(model, feature_names=NAMES, threshold=told)
    acted = loaded.predict(X)
    assert np.mean(acted[y == positive] == positive) >= 0.9
    assert (acted != model.predict(X)).any()
    return loaded, X[:, model.support_], X


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
    base.create_function("FLOOR", 1, lambda x: None if x is None else math.floor(x))
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
    given = [found[f"probability_{label}"] for label in fitted.classes_.tolist()]
    np.testing.assert_allclose(np.column_stack(given), fitted.predict_proba(X), atol=1e-12)


def test_names_and_numbers_of_sql():
    """A name would end the query early, or a coefficient lose digits on its way."""
    model = MODELS["least squares"]()[0]
    query = to_sql(model, table=["lab", 'da"ta'])
    assert '"b""mi"' in query
    assert 'FROM "lab"."da""ta"' in query
    coefs = model.coef[0].tolist()
    assert all(repr(one) in query for one in coefs)
    with pytest.raises(ValueError, match="key must be no column of the predictions, mean; got"):
        to_sql(model, key="Mean")
    with pytest.raises(ValueError, match="SQL must have names of at least one character"):
        to_sql(model, table="")
    unnamed = as_loaded(BudgetRegressor(2).fit(*sick()))
    assert all(f'"x{j}"' in to_sql(unnamed) for j in unnamed.columns)


@pytest.mark.parametrize("text", ["a\\", "\\' THEN 0 END, (SELECT 1) -- ", '\\"x', "a\\b"])
def test_a_backslash_is_refused_in_sql(text):
    """MySQL, BigQuery and others take it for an escape: a label would leave its literal."""
    for quoted in (_sql.literal, _sql.identifier):
        with pytest.raises(ValueError, match=r"without a backslash; got .* Rename it"):
            quoted(text)
    assert _sql.literal("it's") == "'it''s'"


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


# --------------------------------------------------------------------------- scorecards


def test_a_scorecard_is_the_formula_that_it_says(made):
    """Points would add up to another score than the table has, or the loss be told too small."""
    model, values, X = made("two classes")
    card = to_scorecard(model, points=5, X=X)
    values = values.astype(np.float64)
    effect = model.coef[0] * values.std(axis=0)
    unit = np.abs(effect).max() / 5
    assert card.points == tuple(np.rint(effect / unit).astype(int))
    score = card.base + card.unit * (values / values.std(axis=0) @ np.array(card.points))
    np.testing.assert_allclose(card.score(values), score)
    full = model.decision_function(X)
    assert score.mean() == pytest.approx(full.mean())
    assert card.agreement.score == pytest.approx(np.abs(score - full).max())
    gap = np.abs(expit(score) - expit(full)).max()
    assert card.agreement.probability == pytest.approx(gap)
    assert card.agreement.same == np.mean((score > 0) == (full > 0))
    assert card.agreement.n_samples == 38
    for total, probability in card.table:
        assert probability == pytest.approx(expit(card.base + card.unit * total))
    totals = [total for total, _ in card.table]
    assert totals[0] <= card.total(values).min()
    assert totals[-1] >= card.total(values).max()
    assert "the same class for 100.0% of them" in str(card)


def test_a_scorecard_says_who_is_positive(made):
    """Its reader would act from 0 on."""
    model, _, X = made("a threshold")
    card = to_scorecard(model, X=X)
    at = re.search(rf"up where score > {model.cut:.6g}, total > (\S+), else down", str(card))
    assert card.base + card.unit * float(at[1]) == pytest.approx(model.cut, abs=1e-4)
    acted = card.score(X[:, model.columns]) > model.cut
    assert card.agreement.same == np.mean(acted == (model.predict(X) == "up"))
    assert "where score >" not in str(to_scorecard(made("two classes")[0]))


def test_a_scorecard_takes_data_of_any_storage(made):
    """Rows would be read in the wrong columns, or refused."""
    model, _, X = made("poisson")
    card = to_scorecard(model, X=X)
    shuffled = pd.DataFrame(X, columns=NAMES)[NAMES[::-1]]
    assert to_scorecard(model, X=shuffled).points == card.points
    assert to_scorecard(model, X=sp.csr_array(X)).agreement == card.agreement
    with pytest.raises(ValueError, match="X must have 10 features"):
        to_scorecard(model, X=X[:, :5])
    with pytest.raises(ValueError, match="X must have the 4 features of the scorecard; got the sh"):
        card.score(X)
    bad = X.copy()
    bad[3, model.columns[0]] = np.nan
    with pytest.raises(ValueError, match="X must have rows, and finite values"):
        to_scorecard(model, X=bad)


def test_more_points_agree_more(made):
    """The honest number would not be of the card."""
    model, _, X = made("two classes")
    worst = [to_scorecard(model, points=n, X=X).agreement.score for n in (2, 10, 1000)]
    assert worst[0] > worst[1] > worst[2]


@pytest.mark.parametrize("kind", ["hinge", "least squares", "poisson", "survival", "covariates"])
def test_scorecards_of_other_targets(made, kind):
    """The table would call a mean, or a hazard, a probability."""
    model, values, X = made(kind)
    card = to_scorecard(model, X=X)
    assert card.agreement.probability is None
    assert max(map(abs, card.points)) == 10
    means = card.score(values)
    means = np.exp(means) if kind in ("poisson", "survival") else means
    of = {"survival": "hazard", "hinge": "score"}.get(kind, "mean")
    assert card.meaning.startswith(of)
    if kind != "hinge":
        truth = model.predict(X)
        truth = np.exp(truth) if kind == "survival" else truth
        assert np.corrcoef(np.log(abs(truth)), np.log(abs(means)))[0, 1] > 0.95


def test_a_scorecard_without_data_says_so(made):
    """A reader would take it for as good as the model."""
    card = to_scorecard(made("two classes")[0])
    assert card.agreement is None
    assert "agreement with the model is not known without data" in str(card)
    assert card.scale is None


def test_a_scorecard_says_what_helps_features_of_no_points():
    """The strongest feature, in small units, would have none, and its reader no remedy."""
    X = np.random.default_rng(0).normal(size=(200, 3)) * (1000.0, 1.0, 1.0)
    model = BudgetClassifier(3, calibrate=False).fit(X, X @ (3e-3, 0.5, 1.0) > 0)
    coarse = to_scorecard(model)
    assert coarse.points[0] == 0
    assert "1 feature is rounded to 0 points; given data, points are for one sta" in str(coarse)
    fine = to_scorecard(model, X=X)
    assert fine.points[0] == 10
    assert "rounded to 0" not in str(fine)
    few = str(to_scorecard(model, X=X, points=1))
    assert "2 features are rounded to 0 points; let the largest effect have more points." in few


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("classes that share", {}, "model must have one score for a scorecard; got 3"),
        ("ordered", {}, "got 3 ordered classes. Export it as sql or json"),
        ("two classes", {"points": 0}, "points must be an integer of at least 1; got 0"),
        ("two classes", {"per": "sd"}, "per must be 'unit', or 'sd' with X"),
        ("two classes", {"per": "hour"}, "per must be 'unit', or 'sd' with X.*got 'hour'"),
    ],
)
def test_what_no_scorecard_can_say(made, kind, options, message):
    """A card would have points that mean nothing."""
    with pytest.raises(ValueError, match=message):
        to_scorecard(made(kind)[0], **options)


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


# --------------------------------------------------------------------------- ONNX


@each_model
@pytest.mark.parametrize("inputs", ["selected", "all"])
def test_a_graph_predicts_the_same(made, kind, inputs):
    """A runtime in another language would be another model."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, values, X = made(kind)
    graph = to_onnx(model, inputs=inputs)
    session = runtime.InferenceSession(graph.SerializeToString())
    outputs = [one.name for one in session.get_outputs()]
    given = X if inputs == "all" else values
    found = dict(zip(outputs, session.run(None, {"X": given.astype(float)}), strict=True))
    known = {one.key: json.loads(one.value) for one in graph.metadata_props}
    assert known["features"] == list(model.feature_names)
    if not hasattr(model, "classes_"):
        assert outputs == ["risk" if kind == "survival" else "variable"]
        expected = model.predict(X).reshape(len(X), -1)
        np.testing.assert_allclose(found[outputs[0]], expected, rtol=1e-11, atol=1e-11)
        return
    assert (found["label"] == model.predict(X)).all()
    assert known["classes"] == model.classes_.tolist()
    proba = probabilities(model, X)
    if proba is None:
        expected = model.decision_function(X).reshape(len(X), -1)
        np.testing.assert_allclose(found["scores"], expected, rtol=1e-11, atol=1e-11)
    else:
        np.testing.assert_allclose(found["probabilities"], proba, atol=1e-12)


def test_a_graph_of_one_row_and_of_few_digits(made):
    """A single request would have another shape, or float32 not be taken."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, values, X = made("two classes")
    session = runtime.InferenceSession(to_onnx(model, dtype="float32").SerializeToString())
    label, proba = session.run(None, {"X": values[:1].astype(np.float32)})
    assert label.tolist() == model.predict(X[:1]).tolist()
    np.testing.assert_allclose(proba, model.predict_proba(X[:1]), atol=1e-5)


def test_without_onnx_it_says_what_to_install(made, monkeypatch):
    """A user would see the name of a module, and not what to install."""
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "zeronorm\[onnx\]"'):
        to_onnx(made("two classes")[0])


# --------------------------------------------------------------------------- what is exported


def test_fitted_and_loaded_models_are_the_same(tmp_path):
    """A model would change on its way through a file."""
    model = BudgetClassifier([2, 4], calibrate=False).fit(*load_iris(return_X_y=True))
    loaded = persistence.load(persistence.save(model, tmp_path / "a.model.npz"))
    for make in (to_json, to_sql):
        assert make(model) == make(loaded)
    small = json.loads(to_json(as_loaded(model, n_features=2)))
    assert len(small["features"]) == 2


class Halved(LeastSquares):
    """A loss of one's own, whose mean is no link that others know."""

    name = "halved"

    def mean(self, z):
        return np.tanh(z)


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
    with pytest.raises(TypeError, match="got BagClassifier, which predicts from similarities"):
        to_sql(BagClassifier())
    constant = as_loaded(L1Regressor(1e-9).fit(*sick()))
    assert not constant.columns.size
    for make in (to_sklearn, to_onnx):
        with pytest.raises(ValueError, match="model must have features for"):
            make(constant)
    with pytest.raises(ValueError, match="model must have a feature of a coefficient"):
        to_scorecard(constant)
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


@pytest.mark.parametrize("way", ["mean", "indicator"])
def test_a_database_has_the_raw_columns(tmp_path, way):
    """A query would ask for columns that are in no table, or take gaps and levels for others."""
    model, rows, path = coded_model(tmp_path, way=way)
    expected = model.predict_proba(read_table(path, "y", like=model.layout))[:, 1]
    query = to_sql(model, key="row")
    assert "\"ward\" = 'o''neill'" in query
    found, columns = answers(query, ["ward", "sex", "age", "day", "y"], rows)
    probability = [row[columns.index("probability")] for row in found]
    np.testing.assert_allclose(probability, expected, rtol=1e-12)
    # A level that nobody saw is none; of text without gaps in training NULL is not known.
    new = [["kidney", "f", 40, None, None], ["heart", None, 40, None, None]]
    found, _ = answers(query, ["ward", "sex", "age", "day", "y"], new)
    assert found[0][1] is not None
    assert found[1][1] is None


def frame_of(rows):
    """Return raw cells as pandas reads them."""
    columns = ["ward", "sex", "age", "day", "y"]
    return pd.DataFrame(
        [[np.nan if c is None else c for c in row] for row in rows], columns=columns
    )


def inputs_of(session, frame):
    """Return what a graph of raw columns is given."""
    found = {}
    for one in session.get_inputs():
        text = one.type == "tensor(string)"
        values = frame[one.name].fillna("").astype(str) if text else frame[one.name].astype(float)
        found[one.name] = values.to_numpy(object if text else float)[:, None]
    return found


@pytest.mark.parametrize("way", ["mean", "indicator"])
def test_other_programs_take_raw_columns(tmp_path, way):
    """Rows as they are would have to be coded by hand, and levels and means be guessed."""
    onnxruntime = pytest.importorskip("onnxruntime")
    model, rows, path = coded_model(tmp_path, way=way)
    expected = model.predict_proba(read_table(path, "y", like=model.layout))
    labels = model.predict(read_table(path, "y", like=model.layout))
    frame = frame_of(rows)
    pipeline = pickle.loads(pickle.dumps(to_sklearn(model, by="name")))
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    assert {one.name for one in session.get_inputs()} == {"ward", "sex", "age"}
    for shuffled in (frame, frame[["day", "age", "sex", "ward"]]):
        np.testing.assert_allclose(pipeline.predict_proba(shuffled), expected, atol=1e-12)
        found = session.run(["label", "probabilities"], inputs_of(session, shuffled))
        assert (found[0] == labels).all()
        np.testing.assert_allclose(found[1], expected, atol=1e-12)
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
    found = session.run(["probabilities"], inputs_of(session, frame))[0]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_every_level_of_a_covariate_predicts_the_same_everywhere(tmp_path):
    """The base level, which is no feature, would be taken for a value that nobody saw."""
    onnxruntime = pytest.importorskip("onnxruntime")
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
    found, columns = answers(to_sql(model, key="row"), ["ward", "sex", "age", "day", "y"], new)
    probability = [row[columns.index("probability")] for row in found]
    np.testing.assert_allclose(probability, expected, rtol=1e-12)
    np.testing.assert_allclose(
        to_sklearn(model, by="name").predict_proba(frame)[:, 1], expected, atol=1e-12
    )
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    found = session.run(["probabilities"], inputs_of(session, frame))[0]
    np.testing.assert_allclose(found[:, 1], expected, atol=1e-12)
    levels = [one["origin"] for one in json.loads(to_json(model))["features"][:2]]
    assert [one["value"] for one in levels] == wards[1:3]


def test_features_that_a_model_lacks_are_in_no_pipeline(tmp_path):
    """Levels that were not selected would be columns, or others take their coefficients."""
    onnxruntime = pytest.importorskip("onnxruntime")
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
        session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
        found = session.run(["probabilities"], inputs_of(session, frame_of(rows)))[0]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_graphs_without_dates_say_what_features_are(tmp_path):
    """A graph would ask for columns that nobody can make."""
    onnxruntime = pytest.importorskip("onnxruntime")
    model, _, path = coded_model(tmp_path, dates=True)
    for make, options in ((to_onnx, {"inputs": "columns"}), (to_sklearn, {"by": "name"})):
        with pytest.raises(ValueError, match="cannot be made of dates"):
            make(model, **options)
    made = to_onnx(model)
    metadata = {one.key: json.loads(one.value) for one in made.metadata_props}
    assert metadata["features"] == list(model.feature_names)
    assert {one["column"] for one in metadata["origins"] if one["kind"] == "date"} == {"day"}
    session = onnxruntime.InferenceSession(made.SerializeToString())
    table = read_table(path, "y", like=model.layout)
    found = session.run(["probabilities"], {"X": np.asarray(table.X)})[0]
    np.testing.assert_allclose(found, model.predict_proba(table), atol=1e-12)


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


DAYS = [
    *("1600-02-29", "1900-02-28", "1900-03-01", "2000-02-29", "2000-12-31", "2001-01-01"),
    *("2023-01-01T00:00", "2024-02-29 17:30", "2024-02-29T17:30:45Z", "2399-12-31T23:59:59.5"),
    *("2024-06-30T05:06:07.123456+02:00", "2024-06-30T05:06:07.12+02:00", "2024-07-01T18:00-0500"),
]


def dated_model(tmp_path, days, way):
    """A model of all parts of dates, and its path."""
    rng = np.random.default_rng(2)
    n = 400
    day = np.array(days)[np.arange(n) % len(days)].astype(object)
    if way is not None:
        day[rng.random(n) < 0.1] = ""
    path = tmp_path / "d.csv"
    noise = rng.standard_normal(n)
    y = rng.standard_normal(n) + np.array([len(one) + int(one[5:7] or 0) for one in day])
    lines = [f"{d},{z!r},{t!r}" for d, z, t in zip(day, noise.tolist(), y.tolist(), strict=True)]
    path.write_text("\n".join(["day,z,y", *lines]) + "\n")
    table = read_table(path, "y", missing=way)
    fitted = BudgetRegressor(table.X.shape[1], C=1e3).fit(table.X, table.y)
    names = {"feature_names": table.feature_names, "codings": table.codings}
    return persistence.load(persistence.save(fitted, tmp_path / "m.npz", **names)), day, noise


@pytest.mark.parametrize("way", [None, "mean", "indicator"])
@pytest.mark.parametrize("times", [True, *slow(False)])
def test_a_database_takes_dates_apart(tmp_path, way, times):
    """Leap days, Sundays, zones or missing days would be others on the server."""
    days = DAYS if times else [one[:10] for one in DAYS]
    model, day, noise = dated_model(tmp_path, days, way)
    parts = {one["origin"]["part"] for one in json.loads(to_json(model))["features"]
             if one["origin"] is not None and one["origin"]["kind"] == "date"}  # fmt: skip
    assert parts == {"days", "month", "weekday", *(["hour"] if times else [])}
    # Other days than those of training, all months and weekdays of some years.
    more = np.arange("1999-12-25", "2001-03-05", dtype="datetime64[D]").astype(str)
    day, noise = [*day, *more], np.concatenate([noise, np.zeros(len(more))])
    path = tmp_path / "new.csv"
    path.write_text("\n".join(["day,z", *(f"{d},{z!r}" for d, z in zip(day, noise.tolist(),
                                                                       strict=True))]))  # fmt: skip
    expected = model.predict(read_table(path, like=model.layout))
    query = to_sql(model, key="row")
    rows = [[d or None, z] for d, z in zip(day, noise.tolist(), strict=True)]
    found, columns = answers(query, ["day", "z"], rows)
    assert columns == ["row", "mean"]
    np.testing.assert_allclose([row[1] for row in found], expected, rtol=1e-9)
    duckdb = pytest.importorskip("duckdb")
    base = duckdb.connect()
    kinds = ["VARCHAR"] if times else ["VARCHAR", "DATE", "TIMESTAMP"]
    for kind in kinds:
        base.execute(f'CREATE OR REPLACE TABLE "data" ("row" INT, "day" {kind}, "z" DOUBLE)')
        numbered = [[place, *row] for place, row in enumerate(rows)]
        base.executemany('INSERT INTO "data" VALUES (?, ?, ?)', numbered)
        given = base.execute(query).fetchall()
        np.testing.assert_allclose([mean for _, mean in sorted(given)], expected, rtol=1e-9)
    if way is None:
        assert answers(query, ["day", "z"], [[None, 0.0]])[0][0][1] is None


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
    data = load_golub()
    assert run(path, "--format", "json").stdout == to_json(model) + "\n"
    sql = run(path, "--format", "sql", "--table", "t", "--key", "id").stdout
    assert sql == to_sql(model, table="t", key="id")
    card = run(path, "--format", "scorecard", "--points", 7, "--data", "golub").stdout
    assert card == str(to_scorecard(model, points=7, X=data.X))
    out = tmp_path / "model.sql"
    done = run(path, "--format", "sql", "-o", out)
    assert done.exit_code == 0
    assert f"{out.stat().st_size:,} bytes" in " ".join(done.stdout.split())
    assert out.read_text() == to_sql(model)


def test_the_command_writes_onnx(path, tmp_path):
    """The file would be of another model, or a text."""
    onnx = pytest.importorskip("onnx")
    out = tmp_path / "model.onnx"
    assert run(path, "--format", "onnx", "-o", out).exit_code == 0
    assert onnx.load(out) == to_onnx(persistence.load(path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["M", "--format", "xml"], "--format must be one of json, sql, scorecard, onnx; got 'xml'"),
        (["M", "--format", "onnx"], "--format onnx is no text; name its file: --output a.onnx."),
        (["M", "--format", "json", "-o", "M"], "is an input as well; name another file"),
        (["M", "--format", "json", "-o", "."], "--output must be a file; . is a directory"),
        (["M", "--format", "json", "--points", "3"], "--points is of --format scorecard; got"),
        (["M", "--format", "json", "--json"], "a report of its own; leave out --json"),
        (["--format", "json"], "--format needs a model; name a file that select wrote"),
        (["M", "-o", "b"], "--output is of an export; say --format, or leave it out"),
        (["M", "--table", "b"], "--table is of an export; say --format, or leave it out"),
        (["M", "--format", "scorecard", "--points", "0"], "points must be an integer of at leas"),
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
    text = Path(sys.modules["zeronorm.cli"].__file__).with_name("_options.py").read_text()
    assert all(name in text.split("Export MODEL")[1].split('"')[0] for name in FORMATS)

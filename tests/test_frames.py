"""Data frames of pandas, polars and pyarrow: names, order of columns, columns of no numbers."""

from __future__ import annotations

import datetime
import decimal
import re
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import zeronorm
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    L1Classifier,
    certify,
    l1_path,
    prove,
    report,
    verify,
    write_store,
)
from zeronorm.data import as_design
from zeronorm.inference.false_discoveries import FalseDiscoverySelector
from zeronorm.inference.split import split_inference
from zeronorm.inference.stability import StabilitySelection
from zeronorm.inspection.alternatives import near_optimal
from zeronorm.inspection.replacements import substitutes
from zeronorm.io import read_table
from zeronorm.io.read import read_frame
from zeronorm.model_selection.cross_validation import cross_validate
from zeronorm.persistence import load, load_certificate, save, save_certificate

NAMES = list("abcdefgh")
MODEL = BudgetClassifier(2, calibrate=False)
LIBRARIES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pl.DataFrame(columns),
    "pyarrow": lambda columns: pa.table(columns),
}
each_library = pytest.mark.parametrize("library", LIBRARIES)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 8))
    score = X[:, 2] - X[:, 5] + 0.3 * rng.standard_normal(90)
    return X, score, score > 0


def frame_of(library, X, names=NAMES):
    return LIBRARIES[library](dict(zip(names, X.T, strict=True)))


@each_library
def test_names_are_kept_by_selectors_and_functions(library, data):
    """A record would name features x2 where the user has named them, or names be refused."""
    X, score, y = data
    frame = frame_of(library, X)
    named = MODEL.set_params(covariates=["a"], forced_features=["b"]).fit(frame, y)
    assert named.get_feature_names_out().tolist() == ["b", "f"]
    MODEL.set_params(covariates=None, forced_features=None)
    stable = StabilitySelection(MODEL, n_pairs=3).fit(frame, y)
    assert stable.get_feature_names_out().tolist() == ["c", "f"]
    found = FalseDiscoverySelector(0.5, n_experiments=3).fit(frame, score)
    assert {"c", "f"} <= set(found.get_feature_names_out())
    if find_spec("statsmodels"):
        assert [*split_inference(BudgetRegressor(2), frame, score).models[0]["name"]] == ["c", "f"]
    assert l1_path(frame, y).feature_names == tuple(NAMES)
    assert zeronorm.Interactions(frame).feature_names[:9] == [*NAMES, "a*b"]
    assert cross_validate(MODEL, frame, y, cv=3).scores.tolist() == (
        cross_validate(MODEL, X, y, cv=3).scores.tolist()
    )
    (near,) = near_optimal(frame, y, 2).supports
    assert near.tolist() == [2, 5]


@each_library
def test_stores_keep_names(library, data, tmp_path):
    """The names of a frame would be lost in a store."""
    X, _, y = data
    frame = frame_of(library, X)
    path = write_store(frame, tmp_path / "a.zarr").path
    assert as_design(path).feature_names == NAMES
    np.testing.assert_array_equal(MODEL.fit(path, y).feature_names_in_, NAMES)


@each_library
def test_columns_in_another_order(library, data, tmp_path):
    """Figures of other features would be computed in silence, in one library or in all."""
    X, _, y = data
    frame, turned = frame_of(library, X), frame_of(library, X[:, ::-1], NAMES[::-1])
    model = MODEL.fit(frame, y)
    file = tmp_path / "model.npz"
    kept = save_certificate(model.certificate_, tmp_path / "certificate.npz", frame, y)
    asks = {
        "certify": lambda X: certify(model, X, y).bound,
        "prove": lambda X: prove(model, X, y, gap=0).certificate.bound,
        "verify": lambda X: verify(model.certificate_, X, y)["bound"],
        "saved certificate": lambda X: load_certificate(kept).verify(X, y)[0]["bound"],
        "substitutes": lambda X: len(substitutes(model, X, y)),
        "means": lambda X: load(save(model, file, X=X)).metadata["means"][0],
    }
    for name, ask in asks.items():
        assert ask(frame) == pytest.approx(ask(X), rel=1e-12), name
        with pytest.raises(ValueError, match=r"order|not optimal on its support"):
            ask(turned)
    loaded = load(save(model, file))  # which looks columns up by their names
    assert loaded.feature_names == load_certificate(kept).feature_names == ("c", "f")
    np.testing.assert_array_equal(loaded.predict(turned), model.predict(frame))
    with pytest.raises(ValueError, match="2 are missing, the first is 'c'"):
        loaded.predict(frame_of(library, X, list("ABCDEFGH")))


def test_reports_refuse_columns_in_another_order(data, tmp_path):
    """A page would name the wrong features."""
    X, _, y = data
    model = MODEL.fit(frame_of("polars", X), y)
    with pytest.raises(ValueError, match="same order as they were in fit"):
        report(model, frame_of("polars", X[:, ::-1], NAMES[::-1]), y, tmp_path / "page.html")


def test_names_by_the_rules_of_scikit_learn(data):
    """Numbers would be names, or a name stand for two columns."""
    X, _, y = data
    numbered = MODEL.fit(pd.DataFrame(X), y)
    assert not hasattr(numbered, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names, but BudgetClassifier was fitted"):
        numbered.predict(frame_of("polars", X))
    named = MODEL.fit(frame_of("polars", X), y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        named.predict(pd.DataFrame(X))
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        MODEL.fit(pd.DataFrame(X, columns=[*"abcdefg", 7]), y)
    for frame in (
        pd.DataFrame(X, columns=list("abcdefga")), pa.table([*X.T], names=list("abcdefga")),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="must have unique column names; got 'a' 2 times"):
            MODEL.fit(frame, y)
    with pytest.raises(TypeError, match=r"got a LazyFrame of polars. Call \.collect\(\) first"):
        MODEL.fit(frame_of("polars", X).lazy(), y)
    with pytest.raises(TypeError, match=r"Call \.collect\(\) first"):
        named.predict(frame_of("polars", X).lazy())


def test_numbers_of_any_type():
    """Booleans, decimals and missing values would be refused, or be other numbers."""
    half = decimal.Decimal("0.5")
    frames = [
        pd.DataFrame({"a": [1.0, 2.0], "b": [True, False], "c": [3, 4], "d": [half, half]}),
        pl.DataFrame({"a": [1.0, 2.0], "b": [True, False], "c": [3, 4], "d": [half, half]}),
        pa.table({"a": [1.0, 2.0], "b": [True, False], "c": [3, 4], "d": [half, half]}),
        pa.record_batch({"a": [1.0, 2.0], "b": [True, False], "c": [3, 4], "d": [half, half]}),
    ]
    for frame in frames:
        design = as_design(frame)
        assert design.gather(slice(None)).tolist() == [[1, 1, 3, 0.5], [2, 0, 4, 0.5]]
        assert design.feature_names == ["a", "b", "c", "d"]
    for frame in (
        pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": pd.array([True, None], "boolean")}),
        pl.DataFrame({"a": [1, None], "b": [True, None]}),
        pa.table({"a": [1, None], "b": [True, None]}),
    ):
        found = as_design(frame).gather(slice(None))
        np.testing.assert_array_equal(found, [[1, 1], [np.nan, np.nan]])
    assert as_design(pl.DataFrame({"a": np.ones(3, np.float32)})).storage == "dense float32"


NO_NUMBERS = {
    "pandas integers": ("categories", lambda: pd.DataFrame({"v": pd.Categorical([1, 2, 1, 2])})),
    "pandas floats": ("categories", lambda: pd.DataFrame({"v": pd.Categorical([0.5, 1, 1, 0.5])})),
    "pandas ordered": (
        "categories", lambda: pd.DataFrame({"v": pd.Categorical([1, 2, 1, 2], ordered=True)})
    ),
    "pandas booleans": (
        "categories", lambda: pd.DataFrame({"v": pd.Categorical([True, False, True, False])})
    ),
    "polars categorical": (
        "categories", lambda: pl.DataFrame({"v": pl.Series([*"1212"], dtype=pl.Categorical)})
    ),
    "polars enum": (
        "categories", lambda: pl.DataFrame({"v": pl.Series([*"1212"], dtype=pl.Enum(["1", "2"]))})
    ),
    "pyarrow": ("categories", lambda: pa.table({"v": pa.array([1, 2, 1, 2]).dictionary_encode()})),
    "pyarrow of a file": ("categories", lambda: categories_of_a_file()),
    "text": ("text", lambda: pd.DataFrame({"v": [*"1212"]})),
    "strings": ("text", lambda: pl.DataFrame({"v": [*"1212"]})),
    "dates": ("dates", lambda: pd.DataFrame({"v": pd.date_range("2024-01-01", periods=4)})),
    "days": ("dates", lambda: pl.DataFrame({"v": [datetime.date(2024, 1, 1)] * 4})),
    "durations": ("durations", lambda: pd.DataFrame({"v": pd.to_timedelta([1, 2, 3, 4])})),
    "times": ("times", lambda: pl.DataFrame({"v": [datetime.time(1)] * 4})),
    "lists": ("lists", lambda: pl.DataFrame({"v": [[1], [2], [1], [2]]})),
}  # fmt: skip


def categories_of_a_file():
    """Return a table as pyarrow reads it of a Parquet file: integers, and what pandas wrote."""
    table = pa.Table.from_pandas(pd.DataFrame({"v": pd.Categorical([1, 2, 1, 2])}))
    written = pa.field("v", pa.int64())
    return table.cast(pa.schema([written], metadata=table.schema.metadata))


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_columns_without_numbers_are_refused(name):
    """Labels, dates or text would be measurements."""
    kind, make = NO_NUMBERS[name]
    y = np.arange(4) % 2
    for estimator in (BudgetClassifier(1, calibrate=False), L1Classifier()):
        with pytest.raises(ValueError, match=f"must hold numbers; got {kind} in column 'v'"):
            estimator.fit(make(), y)
        numbers = pd.DataFrame({"v": np.array([0.0, 1.0, 0.1, 0.9])})
        with pytest.raises(ValueError, match=f"got {kind} in column 'v'"):
            estimator.fit(numbers, y).predict(make())
    certificate = BudgetClassifier(1, calibrate=False).fit(numbers, y).certificate_
    for ask in (lambda X: as_design(X), lambda X: verify(certificate, X, y)):
        with pytest.raises(ValueError, match=f"got {kind} in column 'v'"):
            ask(make())


@pytest.mark.parametrize(
    "made",
    [
        lambda X: np.ma.masked_array(X, X > 1), lambda X: (X * 1e9).astype("datetime64[s]"),
        lambda X: (X * 1e9).astype("timedelta64[s]"), lambda X: X.astype(str),
        lambda X: X.astype(str).astype(object),
    ],
    ids=["masked", "dates", "durations", "strings", "objects"],
)  # fmt: skip
def test_arrays_without_numbers_are_refused(made, data):
    """A fit would take them as numbers, and verification too."""
    X, _, y = data
    fitted = clone(MODEL).fit(X, y)
    certificate = fitted.certificate_
    for ask in (
        fitted.predict, lambda X: MODEL.fit(X, y), lambda X: verify(certificate, X, y),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=r"must hold|mask"):
            ask(made(X))


def clusters(n=80):
    rng = np.random.default_rng(0)
    label = rng.permutation(np.repeat([1, 2, 3, 4], n // 4))
    frame = pd.DataFrame(rng.standard_normal((n, 2)), columns=["a", "b"])
    return frame.assign(cluster=pd.Categorical(label)), np.isin(label, [2, 3]).astype(int)


def test_the_ways_out_of_categories():
    """An error would name a way that does not work."""
    frame, y = clusters()
    with pytest.raises(ValueError, match="got categories") as caught:
        BudgetClassifier(2).fit(frame, y)
    assert "feature_groups='columns'" in str(caught.value)
    model = BudgetClassifier(n_groups=1, feature_groups="columns", calibrate=False).fit(frame, y)
    assert model.groups_.tolist() == ["cluster"]
    assert model.score(frame, y) == 1.0
    code = re.search(r"make_pipeline\(.*\)", str(caught.value))[0]
    names = {
        "make_pipeline": make_pipeline, "make_column_transformer": make_column_transformer,
        "OneHotEncoder": OneHotEncoder, "estimator": BudgetClassifier(2, calibrate=False),
    }  # fmt: skip
    assert eval(code, names).fit(frame, y).score(frame, y) == 1.0


def test_columns_as_groups_in_any_library():
    """The columns of a polars frame could not be groups, or its labels be coded otherwise."""
    pandas, y = clusters()
    pandas["word"] = np.where(np.arange(80) % 3, "u", "v")
    pandas["flag"] = np.arange(80) % 7 == 0
    model = BudgetClassifier(n_groups=3, feature_groups="columns", calibrate=False)
    expected = model.fit(pandas, y)
    scores = expected.decision_function(pandas)
    names = expected._encoding.names
    assert names[2:6] == [f"cluster={one}" for one in (1, 2, 3, 4)]
    for frame in (pa.Table.from_pandas(pandas), pl.from_pandas(pandas.astype({"cluster": str}))):
        again = clone(model).fit(frame, y)
        assert again._encoding.names == names
        np.testing.assert_array_equal(again.decision_function(frame), scores)
        assert again.feature_names_in_.tolist() == list(pandas.columns)
    with pytest.raises(ValueError, match="same order as they were in fit"):
        expected.predict(pandas[pandas.columns[::-1]])
    with pytest.raises(ValueError, match=r"'cluster' of X.*its labels are str, and were int"):
        expected.predict(pandas.assign(cluster=pandas.cluster.astype(str)))
    with pytest.raises(ValueError, match=r"cannot encode column 'a' of X.*it holds no numbers"):
        expected.predict(pandas.assign(a="x"))
    unseen = expected.decision_function(pandas.assign(cluster=pd.Categorical([9] * 80)))
    assert np.isfinite(unseen).all()


def test_missing_labels_of_columns_as_groups():
    """Rows without a label would be those of some label."""
    frame = pd.DataFrame({"v": ["x", None, "y", np.nan] * 20, "w": np.arange(80) % 5 / 4})
    y = (np.arange(80) + (np.arange(80) % 9 < 2)) % 2
    model = BudgetClassifier(1, n_groups=1, feature_groups="columns", calibrate=False)
    assert model.fit(frame, y)._encoding.names == ["v=x", "v=y", "v=nan", "w"]
    assert model.get_feature_names_out().tolist() == ["v=nan"]


def test_categories_in_files_and_tables(tmp_path):
    """Labels that are numbers or dates would be measurements, as in a file without a type."""
    frame, y = clusters()
    frame["day"] = pd.Categorical(np.where(np.arange(80) % 2, "2024-01-01", "2024-01-02"))
    frame["half"] = pd.Categorical(np.arange(80) % 2 / 2)
    frame["digit"] = pd.Categorical([*"12"] * 40)
    frame["known"] = pd.array(np.arange(80) % 3, dtype="Int64")
    frame["y"] = np.where(y, "in", "out")
    path = tmp_path / "a.parquet"
    frame.to_parquet(path)
    names = ["a", "b", *(f"cluster={one}" for one in (1, 2, 3, 4))]
    names += ["day=2024-01-02", "half=0.5", "digit=2", "known"]
    tables = [read_table(path, "y"), read_frame(frame, "y"), read_frame(pa.table(frame), "y")]
    for table in tables:
        assert table.feature_names == names
    np.testing.assert_array_equal(tables[0].X, tables[1].X)
    made = write_store(path, tmp_path / "a.zarr", target="y")
    assert as_design(made.path).feature_names == names
    model = MODEL.fit(np.asarray(tables[0].X), frame.y)
    assert [names[j] for j in model.support_] == ["cluster=2", "cluster=3"]
    file = tmp_path / "model.npz"
    loaded = load(save(model, file, feature_names=names, codings=tables[0].codings))
    plain = frame.astype({"cluster": int})  # as of a file of text
    labels = pl.DataFrame({"cluster": plain.cluster.to_numpy()})  # all that the model needs
    for new in (frame, plain, labels, pa.Table.from_pandas(frame)):
        np.testing.assert_array_equal(loaded.predict(new), frame.y)
    parts = [tmp_path / f"part-{half}.parquet" for half in (0, 1)]
    for half, part in enumerate(parts):
        frame.iloc[half::2].to_parquet(part)
    assert read_table(tmp_path / "part-*.parquet", "y").feature_names == names

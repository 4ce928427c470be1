"""Tables with categories, dates and empty cells: as features, in folds, in models, in messages."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold

from conftest import slow
from zeronorm import BudgetClassifier, BudgetCV, BudgetRegressor, L1RegressorCV
from zeronorm.core.files import FileError
from zeronorm.data import Dense, Rows, Scaled
from zeronorm.data.views import Filled, fill, filled_over
from zeronorm.io import encoding as _coded
from zeronorm.io import read_table
from zeronorm.io.groups import read_groups
from zeronorm.io.read import read_frame
from zeronorm.io.store import check_store, write_store
from zeronorm.io.table import Layout
from zeronorm.model_selection.cross_validation import cross_validate
from zeronorm.persistence import load, save

DATA = Path(os.environ.get("ZERONORM_DATA", "none"))
N, P = 90, 12


def census(n=400, seed=0):
    """Columns of a table: text, dates, numbers with gaps, and a target of all of them."""
    rng = np.random.default_rng(seed)
    city = rng.choice(["Oslo", "Paris", "Rome", "Lima"], n, p=[0.3, 0.3, 0.2, 0.2])
    sex = rng.choice(["f", "m"], n)
    age = rng.normal(40, 12, n).round(1)
    day = rng.integers(0, 700, n)
    noise = rng.standard_normal((n, 6)).round(3)
    z = 2.0 * (city == "Oslo") + 0.06 * (age - 40) + 1.2 * (sex == "m") + 0.003 * (day - 350)
    y = np.where(z + 0.5 * rng.logistic(size=n) > 1.2, "yes", "no")
    gone = rng.random(n) < 0.15
    return {
        "city": city,
        "sex": sex,
        "age": np.where(gone, "", age.astype(str)),
        "seen": (np.datetime64("2019-03-02") + day).astype(str),
        **{f"x{j}": noise[:, j] for j in range(6)},
        "y": y,
    }


def csv_of(columns):
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else csv_of(content))
        return path

    return write


@pytest.fixture
def holes():
    """An array with NaN."""
    rng = np.random.default_rng(1)
    X = np.asfortranarray(rng.standard_normal((N, P)) + 3 * rng.standard_normal(P))
    X[rng.random((N, P)) < 0.2] = np.nan
    X[:, 3] = rng.standard_normal(N)  # without gaps
    return X


def filled_by(X, rows):
    return np.where(np.isnan(X), np.nanmean(X[rows], axis=0), X)


# --- the design ---------------------------------------------------------------------------------


def test_filled_columns_are_those_with_means(holes):
    """Scans, sums and gathered columns would be of other numbers than the filled table."""
    train = np.arange(0, N, 2)
    twin = filled_by(holes, train)
    design = fill(holes.copy(order="F"), 1).over(train)
    v = np.random.default_rng(2).standard_normal((N, 3))
    np.testing.assert_allclose(design.correlate(v, 0, P), twin.T @ v, atol=1e-11)
    np.testing.assert_allclose(design.correlate(v, 4, 9), (twin.T @ v)[4:9], atol=1e-11)
    assert np.array_equal(design.correlate(v[:, 1], 0, P), design.correlate(v, 0, P)[:, 1])
    for features in (slice(None), slice(2, 7), np.array([P - 1, 0, 5])):
        np.testing.assert_allclose(design.gather(features), twin[:, features], rtol=1e-14)
    total, square = design.moments(v[:, 0] ** 2, 1, P)
    np.testing.assert_allclose(total, (twin.T @ v[:, 0] ** 2)[1:], atol=1e-11)
    np.testing.assert_allclose(square, ((twin**2).T @ v[:, 0] ** 2)[1:], atol=1e-10)
    scaled = Scaled(Rows(design, train), twin[train].mean(axis=0), np.full(P, 2.0))
    np.testing.assert_allclose(
        scaled.correlate(v[train], 0, P),
        2 * (twin[train] - twin[train].mean(axis=0)).T @ v[train],
        atol=1e-11,
    )


def test_rows_are_filled_by_their_own_means(holes):
    """Rows of rows would have the means of all rows, or of the wrong ones."""
    design = fill(holes.copy(order="F"), 1)
    outer = np.arange(N)[::-1][:60]
    inner = np.arange(0, 60, 3)
    found = Rows(filled_over(Rows(design, outer), inner), inner).gather(slice(None))
    expected = filled_by(holes[outer], inner)[inner]
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    plain = Dense(np.ones((4, 2)), 1)
    assert filled_over(plain, np.arange(2)) is plain


def test_a_column_without_values_among_the_rows_is_zero():
    """The mean of no value would be NaN."""
    X = np.array([[np.nan, 1.0], [5.0, 2.0], [7.0, np.nan]], order="F")
    assert fill(X, 1).over(np.array([0])).gather(slice(None))[:, 0].tolist() == [0.0, 5.0, 7.0]


def test_values_whose_sum_is_beyond_the_range_of_numbers_have_a_mean():
    """It would be infinite, with a warning of NumPy, and the error be of a gap in place of X."""
    X = np.array([[1e308, 1.0], [1.5e308, 2.0], [np.nan, 4.0], [1.7e308, np.nan]], order="F")
    design = fill(X, 1)
    np.testing.assert_allclose(design.mean, [1.4e308, 7 / 3], rtol=1e-14)
    with pytest.raises(ValueError, match=r"values too large in column 0 \(up to 1\.7e\+308"):
        BudgetClassifier(1, calibrate=False).fit(design, [0, 1, 0, 1])


@pytest.mark.parametrize("method", ["pool", "l0"])
def test_folds_do_not_see_the_rows_they_hold_out(holes, method):
    """The means of a fold would be those of all rows, the score that of another procedure."""
    rng = np.random.default_rng(3)
    y = filled_by(holes, np.arange(N))[:, :4] @ [1.0, -1.0, 2.0, 1.0] + rng.standard_normal(N)
    design = fill(holes.copy(order="F"), 1)
    folds = list(KFold(3).split(y))
    model = BudgetRegressor(3, method=method, C=0.1)  # no folds of its own
    found = cross_validate(model, design, y, cv=folds)
    for column, (train, test) in enumerate(folds):
        twin = filled_by(holes, train)
        fitted = BudgetRegressor(3, method=method, C=0.1).fit(twin[train], y[train])
        assert found.scores[0, column] == pytest.approx(fitted.score(twin[test], y[test]), rel=1e-8)
    # It does matter: means over all rows give other scores.
    everything = cross_validate(model, filled_by(holes, np.arange(N)), y, cv=folds)
    assert not np.allclose(everything.scores, found.scores, rtol=1e-6)


def test_folds_of_l1_are_filled_by_their_own_means(holes):
    """The C of an l1 model would be chosen with means that held-out rows have a part in."""
    rng = np.random.default_rng(4)
    y = filled_by(holes, np.arange(N))[:, :4] @ [1.0, -1.0, 2.0, 1.0] + rng.standard_normal(N)
    Cs = [0.01, 0.1, 1.0]
    folds = list(KFold(3).split(y))
    found = L1RegressorCV(Cs, cv=folds, tol=1e-9).fit(fill(holes.copy(order="F"), 1), y)
    for column, (train, test) in enumerate(folds):
        twin = filled_by(holes, train)
        one = L1RegressorCV(Cs, cv=[(train, test)] * 2, tol=1e-9).fit(twin, y)
        np.testing.assert_allclose(found.scores_[:, column], one.scores_[:, 0], rtol=1e-6)


def test_folds_of_budgets_are_filled_by_their_own_means(holes):
    """The budgets of features and groups would be chosen with such means."""
    rng = np.random.default_rng(5)
    z = filled_by(holes, np.arange(N))[:, :4] @ [1.0, -1.0, 2.0, 1.0]
    groups = np.arange(P) // 3
    folds = list(KFold(3).split(z))
    y = np.where(z - np.median(z) + rng.standard_normal(N) > 0, 1, 0)
    model = BudgetClassifier(3, n_groups=2, feature_groups=groups)
    found = BudgetCV(model, [3], [1, 2], cv=folds).fit(fill(holes.copy(order="F"), 1), y)
    for column, (train, test) in enumerate(folds):
        twin = filled_by(holes, train)
        one = BudgetCV(model, [3], [1, 2], cv=[(train, test)] * 2).fit(twin, y)
        of_all, of_one = found.validation_.scores, one.validation_.scores
        np.testing.assert_allclose(of_all[:, column], of_one[:, 0], rtol=1e-6)


def test_calibration_is_of_folds_that_are_filled(holes):
    """The scale of the probabilities would come from means with held-out rows in them."""
    z = filled_by(holes, np.arange(N))[:, 3]
    y = (z + np.random.default_rng(6).standard_normal(N) > z.mean()).astype(int)
    lazily = BudgetClassifier(2, calibrate=True).fit(fill(holes.copy(order="F"), 1), y)
    leaking = BudgetClassifier(2, calibrate=True).fit(filled_by(holes, np.arange(N)), y)
    assert lazily.support_.tolist() == leaking.support_.tolist()
    assert np.isfinite(lazily.predict_proba(filled_by(holes, np.arange(N)))).all()


# --- columns ------------------------------------------------------------------------------------


def test_categories_and_dates_are_features(write):
    """A column of text would be refused, or a level be lost."""
    columns = census()
    del columns["age"]
    table = read_table(write("a.csv", columns), "y")
    names = table.feature_names
    assert names[:6] == [
        "city=Lima", "city=Oslo", "city=Paris", "city=Rome", "sex=m", "seen: days since 2019-03-03",
    ]  # fmt: skip
    assert names[6:] == [f"x{j}" for j in range(6)]

    def column(name):
        return table.X[:, names.index(name)]

    assert np.array_equal(column("city=Oslo"), columns["city"] == "Oslo")
    assert np.array_equal(column("sex=m"), columns["sex"] == "m")
    dates = columns["seen"].astype("datetime64[D]")
    since = (dates - np.datetime64("2019-03-03")).astype(int)
    assert np.array_equal(column("seen: days since 2019-03-03"), since)
    assert np.array_equal(column("x3"), columns["x3"])
    assert table.notes[0].endswith("with the number of their levels: city 4, sex 2")
    assert table.notes[1] == "1 column of dates as days since the first: seen"


def test_times_are_parts_of_days(write):
    """The time of a day would be lost, or a zone move it."""
    times = ["2020-01-01T06:00", "2020-01-01 18:30:00", "2020-01-02T07:00:00+02:00"] * 4
    table = read_table(write("a.csv", {"at": times, "x": range(12), "y": list("ab") * 6}), "y")
    assert table.feature_names == ["at: days since 2020-01-01", "x"]
    np.testing.assert_allclose(table.X[:3, 0], [0.25, 18.5 / 24, 1 + 7 / 24])
    assert table.notes == ("1 column of dates as days since the first: at",)


def test_empty_cells(write):
    """They would be filled by something else, or nobody would be told."""
    columns = census()
    path = write("a.csv", columns)
    age = np.array([float(text or "nan") for text in columns["age"]])
    gaps = int(np.isnan(age).sum())
    with pytest.raises(FileError, match=rf"column 'age', line \d+: .* \({gaps} of 400\)\. Say"):
        read_table(path, "y")
    table = read_table(path, "y", missing="mean")
    assert isinstance(table.X, Filled)
    assert table.filled == {"age": gaps}
    place = table.feature_names.index("age")
    expected = np.where(np.isnan(age), np.nanmean(age), age)
    np.testing.assert_allclose(table.X.gather(np.array([place]))[:, 0], expected, rtol=1e-14)
    assert table.codings["age"].fill == pytest.approx(np.nanmean(age), rel=1e-14)
    table = read_table(path, "y", missing="indicator")
    told = table.X.gather(np.array([table.feature_names.index("age is missing")]))[:, 0]
    assert np.array_equal(told, np.isnan(age))
    with pytest.raises(ValueError, match="missing must be mean, most_frequent or indicator"):
        read_table(path, "y", missing="median")


def test_most_frequent_values_are_those_of_the_rows_of_training(write):
    """A gap would be filled by a mean that no row has, or know the rows that a fold holds out."""
    rng = np.random.default_rng(3)
    rooms = rng.choice([1.0, 2.0, 3.0, 7.0], N, p=[0.3, 0.4, 0.2, 0.1])
    rooms[rng.random(N) < 0.2] = np.nan
    ties = np.where(np.arange(N) % 4 == 3, np.nan, np.arange(N) % 4)
    size = rng.standard_normal(N)
    y = np.where(np.nan_to_num(rooms) + size > 2, "u", "v")
    names = ("rooms", "ties", "size")
    columns = {"rooms": rooms, "ties": ties, "size": size}
    cells = {name: np.where(np.isnan(x), "", x.astype(str)) for name, x in columns.items()}
    table = read_table(write("a.csv", {**cells, "y": y}), "y", missing="most_frequent")
    X = table.X.gather(slice(None))
    assert table.feature_names == [*names]
    for name, column in zip(names, X.T, strict=True):
        values = columns[name]
        known, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        filled = known[counts == counts.max()].min()
        assert np.array_equal(column, np.where(np.isnan(values), filled, values))
        if name != "size":  # which has no gaps
            assert table.codings[name].fill == filled
    some = np.flatnonzero(rooms != 2.0)  # NaN among them
    fold = table.X.over(some).gather(np.array([0]))[:, 0]
    known, counts = np.unique(rooms[some][~np.isnan(rooms[some])], return_counts=True)
    assert known[counts.argmax()] == 1.0
    assert np.array_equal(fold, np.where(np.isnan(rooms), 1.0, rooms))
    assert "by the most frequent value of the training rows" in " ".join(table.notes)


def test_empty_text_is_a_level(write):
    """A missing category would be a wrong one, or of two levels a third be left out."""
    city = ["Oslo", "", "Rome", "Oslo", "NA", "Rome"] * 3
    table = read_table(
        write("a.csv", {"city": city, "x": range(18), "y": list("ab") * 9}), "y", missing="mean"
    )
    assert table.feature_names == ["city=Oslo", "city=Rome", "city is missing", "x"]
    np.testing.assert_array_equal(table.X[:3], [[1, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 2]])


def test_parquet_has_the_same_features(write, tmp_path):
    """Text, categories, dates and nulls of Parquet would be other features than those of CSV."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    columns = census()
    table = read_table(write("a.csv", columns), "y", missing="indicator")
    ages = [float(text) if text else None for text in columns["age"]]
    typed = {
        "city": pa.array(columns["city"].tolist()).dictionary_encode(),
        "sex": columns["sex"].tolist(),
        "age": ages,
        "seen": columns["seen"].astype("datetime64[D]").tolist(),
        **{name: values.tolist() for name, values in columns.items() if name[0] in "xy"},
    }
    write_table(pa.table(typed), tmp_path / "a.parquet")
    same = read_table(tmp_path / "a.parquet", "y", missing="indicator")
    assert same.feature_names == table.feature_names
    assert same.filled == table.filled
    assert np.array_equal(same.X.gather(slice(None)), table.X.gather(slice(None)))


def test_all_bad_columns_are_listed(write):
    """A user would mend a table of many bad columns one message at a time."""
    n = 30
    columns = {
        "name": [f"person {i}" for i in range(n)],
        "age": ["", *map(str, range(1, n))],
        "size": ["12", "tall", *map(str, range(2, n))],
        "price": ["1,5" if i else "2.5" for i in range(n)],
        "day": ["2020-01-01" if i else "2020-02-30" for i in range(n)],
        "far": ["9999-12-31" if i else "2020-01-01" for i in range(n)],
        "none": [""] * n,
        "y": ["a", "b"] * (n // 2),
    }
    columns["price"] = [f'"{one}"' for one in columns["price"]]
    with pytest.raises(FileError) as caught:
        read_table(write("a.csv", columns), "y")
    message = str(caught.value)
    for part in (
        "7 columns cannot be features: column 'name', line 2: 'person 0' is text, with 30 diff",
        "column 'age', line 2: a value is missing (1 of 30)",
        "column 'size', line 3: 'tall' is no number, as most of the column are",
        "column 'price', line 3: '1,5' has a comma, and other numbers of the column have a point",
        "column 'day', line 2: '2020-02-30' is no date, as most of the column are",
        "column 'far', line 3: '9999-12-31' is a date beyond the years 1600 to 2399",
        "column 'none', line 2: all values are missing",
        "leave the column out with drop=NAME",
        "Say missing='mean'",
        "say id='name'",
    ):
        assert part in message
    wide = {f"c{j}": [f"v{i}" for i in range(n)] for j in range(25)}
    with pytest.raises(FileError, match=r"25 columns cannot be features.*'c9'.*; and 15 more"):
        read_table(write("b.csv", {"x": range(n), **wide, "y": columns["y"]}), "y")


def test_text_below_many_numbers_is_found(write):
    """A column that begins with numbers would end the reading, or lose its first rows."""
    values = ["7", "", *["a7", "b7"] * 14]
    table = read_table(
        write("a.csv", {"x": range(30), "code": values, "y": list("ab") * 15}), "y", missing="mean"
    )
    assert table.feature_names == ["x", "code=7", "code=a7", "code=b7", "code is missing"]
    assert table.X[:3, 1:].tolist() == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]]


def test_many_levels_are_stored_sparse(write, monkeypatch):
    """A thousand levels of a million rows would not fit into memory."""
    columns = census()
    del columns["age"]
    path = write("a.csv", columns)
    dense = read_table(path, "y")
    monkeypatch.setattr(_coded, "_DENSE", 1000)
    sparse = read_table(path, "y")
    assert sp.issparse(sparse.X)
    assert np.array_equal(sparse.X.toarray(), dense.X)
    supports = [BudgetClassifier(4).fit(one.X, one.y).support_ for one in (dense, sparse)]
    assert supports[0].tolist() == supports[1].tolist()


def test_constant_columns_are_named(write):
    """A column of one value would be a feature, or be left out without a word."""
    table = read_table(
        write("a.csv", {"c": ["one"] * 8, "k": [4] * 8, "x": range(8), "y": list("ab") * 4}), "y"
    )
    assert table.feature_names == ["k", "x"] or table.feature_names == ["c=one", "k", "x"]
    said = "2 columns with one value or none, which can never be selected: c, k"
    assert any(said in note for note in table.notes)


def test_constant_columns_of_numbers_are_named(write, tmp_path):
    """They were named only where another column was text, or of a part of the rows."""
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(3).integers(0, 2, (40, 6)).astype(float)
    X[:, 1], X[:39, 4], X[39, 4] = 7.0, 0.0, 1.0  # one differs in the last row alone
    columns = {f"g{j}": X[:, j] for j in range(6)} | {"y": list("ab") * 20}
    path = write("a.csv", columns)
    said = ("1 column with one value or none, which can never be selected: g1",)
    assert read_table(path, "y").notes == said
    assert read_frame(pandas.read_csv(path), "y").notes == said
    for half in (0, 20):
        write(f"p{half}.csv", {name: column[half : half + 20] for name, column in columns.items()})
    assert read_table(tmp_path / "p*.csv", "y").notes == said
    assert read_table(path, "y", like=Layout(6, names=["g1", "g2"])).notes == ()
    one_row = write("b.csv", {name: column[:1] for name, column in columns.items()})
    assert read_table(one_row, "y").notes == ()


def test_notes_say_how_each_kind_is_filled(write):
    """Text would be told to have a mean."""
    own = {"x": [1, "", 3, 4] * 3, "city": ["Oslo", "", "Bergen", "Oslo"] * 3, "y": list("ab") * 6}
    by = "by the mean of the training rows, in every fold by that of the fold"
    for kept, how in (("x", by), ("city", "text by a level of its own"), ("", f"{by}; text by a")):
        columns = own if not kept else {kept: own[kept], "y": own["y"]}
        (note,) = (one for one in read_table(write("a.csv", columns), "y", missing="mean").notes
                   if "filled" in one)  # fmt: skip
        assert f") {how}" in note
        assert ("text" in note) == (kept != "x")


def test_columns_without_names(write):
    """Gaps would be filled by place, which another file need not have, or not be located."""
    path = write("a.csv", "1,2,0\n3,,1\n5,6,0\n")
    with pytest.raises(FileError, match=r"column 1, line 2: a value is missing \(1 of 3\)"):
        read_table(path, "2")
    with pytest.raises(FileError, match="need names of the columns; add a header line"):
        read_table(path, "2", missing="mean")


def test_names_that_meet_are_refused(write):
    """Two features would share a name, and a model find the wrong one."""
    columns = {"c": list("ppqr") * 4, "c=p": range(16), "y": list("ab") * 8}
    with pytest.raises(FileError, match="two features would have the name 'c=p'"):
        read_table(write("a.csv", columns), "y")


def test_groups_take_a_column_as_a_whole(write):
    """Every level of a category would need a line of its own in a file of groups."""
    columns = census()
    del columns["age"], columns["seen"]
    table = read_table(write("a.csv", columns), "y")
    lines = ["city,places", "sex,people", *(f"x{j},noise" for j in range(6))]
    groups = read_groups(write("groups.csv", "\n".join(lines)), table)
    assert groups.labels[groups.code[:5]].tolist() == ["places"] * 4 + ["people"]
    with pytest.raises(FileError, match="no feature 'town'"):
        read_groups(write("groups.csv", "\n".join([*lines[1:], "town,places"])), table)


# --- models -------------------------------------------------------------------------------------


def test_a_model_codes_new_rows(run, tmp_path, write):
    """Predictions would be of other columns than the model was trained on."""
    columns = census()
    path = write("a.csv", columns)
    found = json.loads(
        run(
            "select", path, "--target", "y", "-k", 5, "--missing", "indicator", "--cv", 3,
            "-o", "m.npz", "--certificate", "c.npz", "--json",
        ).stdout
    )  # fmt: skip
    chosen = {one["name"] for one in found["models"][0]["features"]}
    assert {"city=Oslo", "sex=m", "age"} < chosen
    assert found["data"]["filled"] == {"age": int((columns["age"] == "").sum())}
    assert found["data"]["coded"]["city"]["levels"] == ["Lima", "Oslo", "Paris", "Rome"]
    assert json.loads(run("verify", "c.npz", path, "--json").stdout)["verified"]
    table = read_table(path, "y", missing="indicator")
    model = load("m.npz")
    expected = model.predict(table).tolist()
    again = json.loads(run("predict", "m.npz", path, "--json").stdout)
    assert again["predictions"] == expected
    # Rows by themselves, in other columns, with cities that nobody has seen.
    few = {name: values[:9] for name, values in columns.items() if name[0] != "x"}
    few = dict(reversed(few.items()))
    few["age"] = np.array(["", "41", "12.5"] * 3)
    alone = write("few.csv", few)
    seen = model.predict(read_table(alone, "y", like=model.layout)).tolist()
    few["city"] = np.where(few["city"] == "Oslo", "Oslo", "Bergen")
    told = json.loads(run("predict", "m.npz", write("few.csv", few), "--json").stdout)
    assert told["predictions"] == seen  # none of the other cities is in the model
    many = (few["city"] == "Bergen").sum()
    assert any(
        f"{many} rows have a value of 'city' that the model never saw, as 'Bergen'" in note
        for note in told["notes"]
    )


@pytest.mark.parametrize("value", ["oslo", "OSLO", "O slo"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "frame"])
def test_a_value_that_is_almost_a_level_is_refused(run, fails, write, value, kind):
    """Rows of Oslo would be predicted as rows of no city."""
    columns = census()
    path = write("a.csv", columns)
    given = ("--drop", "age", "--drop", "seen", "--no-cv", "-o", "m.npz")
    run("select", path, "--target", "y", "-k", 2, *given)
    few = {name: values[:9].astype(object) for name, values in columns.items()}
    few["city"][:] = ["Oslo", "Paris", " Oslo ", "Bergen", value, "Rome", "Lima", "Oslo", "Rome"]
    place = "row 5" if kind == "frame" else "line 5" if kind == "jsonl" else "line 6"
    said = (
        f"column 'city', {place}: {value!r} differs from 'Oslo', which the model knows, by case or "
        "blanks alone. Write such a value as the training data have it."
    )
    if kind == "frame":
        frame = pytest.importorskip("pandas").DataFrame(
            {**few, "city": map(str.strip, few["city"])}
        )
        with pytest.raises(FileError, match=re.escape(said)):
            load("m.npz").predict(frame)
        return
    if kind == "csv":
        new = write("new.csv", few)
    else:
        rows = zip(*few.values(), strict=True)
        lines = [json.dumps(dict(zip(few, row, strict=True))) for row in rows]
        new = write("new.jsonl", "\n".join(lines))
    for command in ("predict", "evaluate"):
        assert said in fails(command, "m.npz", new)


def test_a_model_has_the_means_of_its_training(tmp_path, write):
    """Gaps of new rows would be filled by the means of these."""
    columns = {"a": ["", "1", "2", "3", "9", "6"] * 6, "b": range(36)}
    columns["y"] = [3.0 * float(text or 4.2) for text in columns["a"]]
    table = read_table(write("a.csv", columns), "y", missing="mean")
    fitted = BudgetRegressor(1).fit(table.X, table.y)
    names = {"feature_names": table.feature_names, "target_name": "y"}
    save(fitted, tmp_path / "m.npz", **names, codings=table.codings)
    model = load(tmp_path / "m.npz")
    assert model.codings["a"].fill == pytest.approx(4.2)
    new = read_table(write("new.csv", "a,b\n,5\n100,5\n"), like=model.layout)
    assert new.X[:, 0].tolist() == [pytest.approx(4.2), 100.0]
    # A model that knows no means refuses gaps.
    save(fitted, tmp_path / "m.npz", **names)
    with pytest.raises(FileError, match=r"column 'a', line 2: a value is missing .* knows no mean"):
        read_table(write("new.csv", "a,b\n,5\n100,5\n"), like=load(tmp_path / "m.npz").layout)


def test_a_layout_reads_what_its_codings_are_of(write):
    """Numbers for names of levels would be read as numbers, or text where the model has numbers."""
    columns = {"code": ["7", "a", "b", "a", "b", "b"] * 3, "x": range(18), "y": list("ab") * 9}
    table = read_table(write("a.csv", columns), "y")
    like = Layout(4, ["code=7", "x"], codings={"code=7": table.codings["code=7"]})
    assert read_table(write("b.csv", "x,code\n1,7\n2,8\n"), like=like).X.tolist() == [
        [1, 1],
        [0, 2],
    ]
    with pytest.raises(
        FileError, match="'one' is no number, and the model was trained on numbers there"
    ):
        read_table(write("b.csv", "x,code\none,7\n2,8\n"), like=like)
    with pytest.raises(FileError, match="the model needs the feature 'code', which is not"):
        read_table(write("b.csv", "x\n1\n2\n"), like=like)


def test_data_frames_are_tables_too(tmp_path, write):
    """A frame would have other features than its file, or a model not know its columns."""
    pl = pytest.importorskip("polars")
    path = write("a.csv", census())
    frame = pl.read_csv(path, null_values=[""], try_parse_dates=True)
    table, of_frame = read_table(path, "y", missing="mean"), read_frame(frame, "y", missing="mean")
    assert of_frame.feature_names == table.feature_names
    assert np.array_equal(of_frame.X.gather(slice(None)), table.X.gather(slice(None)))
    assert of_frame.y.tolist() == table.y.tolist()
    fitted = BudgetClassifier(5).fit(table.X, table.y)
    save(fitted, tmp_path / "m.npz", feature_names=table.feature_names, codings=table.codings)
    model = load(tmp_path / "m.npz")
    expected = model.decision_function(table)
    shown = frame.select(sorted(frame.columns))
    for given in (shown, shown.to_pandas()):
        np.testing.assert_allclose(model.decision_function(given), expected, rtol=1e-12)
    with pytest.raises(FileError, match=r"the data frame: column 'age', row .*missing='mean'"):
        read_frame(frame, "y")
    with pytest.raises(ValueError, match="one of mean, most_frequent, indicator, or None"):
        read_frame(frame, "y", missing="zero")
    with pytest.raises(FileError, match="the data frame: no column 'z'"):
        read_frame(frame, "z")


@pytest.fixture
def apart(write):
    """Return a census as one file, and as data and a table of the samples in another order."""
    columns = census()
    rng = np.random.default_rng(3)
    columns["city"] = np.where(rng.random(400) < 0.1, "", columns["city"])
    columns["x1"] = np.where(rng.random(400) < 0.2, "", columns["x1"].astype(str))
    ward = np.where(rng.random(400) < 0.1, "NA", rng.choice(["a", "b", "c"], 400))
    weight = np.where(rng.random(400) < 0.2, "", rng.normal(70, 9, 400).round(1).astype(str))
    names, target = [f"s{i}" for i in range(400)], columns.pop("y")
    beside = {"ward": ward, "weight": weight, "y": target}
    kept = np.arange(400) < 390  # the last ten have no line in the table
    order = rng.permutation(400)
    order = order[kept[order]]
    whole = {"id": names, **columns, "ward": ward, "weight": weight, "y": target}
    some = {name: np.asarray(values)[kept] for name, values in whole.items()}
    table = {"id": names, **beside}
    table = {name: np.asarray(values)[order] for name, values in table.items()}
    one, data = write("one.csv", some), write("a.csv", {"id": names, **columns})
    return one, (data, "--samples", write("s.csv", table))


@pytest.mark.parametrize("way", ["indicator", *slow("mean", "most_frequent")])
def test_tables_of_samples_are_joined_and_filled(run, apart, way):
    """Means would be of rows that are left out, or a fold know those that it holds out."""
    one, joined = apart
    asked = ("--target", "y", "-k", 6, "--missing", way, "--cv", 3, "--covariates", "ward,weight")
    documents, predicted = [], []
    for number, data in enumerate([(one, "--id", "id"), joined]):
        files = ("-o", f"m{number}.npz", "--certificate", f"c{number}.npz")
        documents.append(json.loads(run("select", *data, *asked, *files, "--json").stdout))
        checked = ("verify", f"c{number}.npz", data[0], *data[1:], "--target", "y")
        assert "verified" in run(*checked).stdout
        shown = run("predict", f"m{number}.npz", *data, "--proba", "--json")
        predicted.append(json.loads(shown.stdout))
    a, b = documents
    assert a["data"]["filled"].keys() == {"age", "city", "x1", "ward", "weight"}
    assert a["data"]["filled"] == b["data"]["filled"]
    assert a["data"]["coded"] == b["data"]["coded"]
    assert b["data"]["n_samples"] == 390
    assert "10 samples left out: no target" in " ".join(b["notes"])
    for before, after in zip(a["models"], b["models"], strict=True):
        for part in ("features", "covariates"):
            assert [x["name"] for x in before[part]] == [x["name"] for x in after[part]]
            found = [[x["coefficient"] for x in one[part]] for one in (before, after)]
            np.testing.assert_allclose(*found, rtol=1e-9)
    assert a["models"][0]["cross_validation"] == b["models"][0]["cross_validation"]
    np.testing.assert_allclose(*(shown["probabilities"] for shown in predicted), rtol=1e-9)


def test_joined_rows_are_coded_as_in_training(run, fails, apart, write):
    """A level would be one of numbers, and an empty cell have the mean of new rows."""
    _, joined = apart
    asked = ("--target", "y", "-k", 4, "--no-cv", "--covariates", "ward,weight")
    run("select", *joined, *asked, "--missing", "mean", "-o", "m.npz")
    model = load("m.npz")
    assert set(model.layout.sources) >= {"ward", "weight", "city"}
    columns = {**census(), "weight": [""] * 400, "ward": ["b"] * 400, "city": ["1"] * 400}
    wanted = model.decision_function(read_table(write("n.csv", columns), like=model.layout))
    beside = {"id": [f"s{i}" for i in range(400)], "weight": [""] * 400, "ward": ["b"] * 400}
    data = {"id": beside["id"], **{n: columns[n] for n in columns if n not in beside}}
    data, samples = write("b.csv", data), ("--samples", write("t.csv", beside))
    shown = run("predict", "m.npz", data, *samples, "--proba", "--json")
    found = np.array(json.loads(shown.stdout)["probabilities"])
    np.testing.assert_allclose(found[:, 1], 1 / (1 + np.exp(-wanted)), rtol=1e-9)
    assert "400 rows have a value of 'city' that the model never saw" in shown.stdout
    assert "a value is missing" in fails("select", *joined, *asked)


@pytest.mark.parametrize("way", ["mean", "most_frequent", "indicator"])
def test_features_in_rows_are_filled(run, fails, write, holes, way):
    """The means would be those of samples, over all features."""
    y = np.where(np.nan_to_num(holes[:, 3] + holes[:, 5]) > 0, "u", "v")
    names, cells = [f"s{i}" for i in range(N)], np.where(np.isnan(holes), "", holes.astype(str))
    genes = {"gene": [f"g{j}" for j in range(P)]} | dict(zip(names, cells, strict=True))
    rows = {"id": names, **{f"g{j}": cells[:, j] for j in range(P)}}
    samples = ("--samples", write("s.csv", {"id": names, "y": y}))
    turned, upright = write("genes.csv", genes), write("rows.csv", rows)
    asked = (*samples, "--target", "y", "-k", 3, "--cv", 3, "--json")
    a, b = (
        json.loads(run("select", data, *asked, "--missing", way, "-o", f"{data}.npz").stdout)
        for data in (turned, upright)
    )
    assert a["models"][0]["features"] == b["models"][0]["features"]
    assert a["models"][0]["cross_validation"] == b["models"][0]["cross_validation"]
    assert a["data"]["filled"] == b["data"]["filled"]
    message = fails("select", turned, *asked)
    assert "column 'g0', sample 's" in message
    assert "Say --missing mean" in message
    if way == "mean":  # new samples come in the form of the old ones, without a table
        given = ("--id", "id", "--proba", "--json")
        one = json.loads(run("predict", f"{turned}.npz", upright, *given).stdout)
        two = json.loads(run("predict", f"{turned}.npz", turned, *given[2:]).stdout)
        assert one["probabilities"] == two["probabilities"]


def test_a_category_is_named_as_a_whole(run, write):
    """A covariate of text would need the names of all of its levels, and all are one too many."""
    columns = census()
    del columns["age"], columns["seen"]
    path = write("a.csv", columns)
    command = ("select", path, "--target", "y", "-k", 2, "--no-cv", "--no-save", "--json")
    found = json.loads(run(*command, "--covariates", "city").stdout)["models"][0]
    names = [one["name"] for one in found["covariates"]]
    assert names == ["city=Oslo", "city=Paris", "city=Rome"]
    found = json.loads(run(*command, "--covariates", "sex", "--signs", "city=+").stdout)
    assert [one["name"] for one in found["models"][0]["covariates"]] == ["sex=m"]


def test_a_category_is_reported_as_it_was_named(run, fails, write):
    """A user who forced one column reads of four, and of features that nobody chose."""
    columns = census()
    del columns["age"], columns["seen"]
    path = write("a.csv", columns)
    command = ("select", path, "--target", "y", "--no-cv", "--no-save")
    found = run(*command, "-k", 6, "--force", "city", "--force", "sex", "--force", "x1")
    assert "forced       city (all 4 levels), sex (2 levels by 1 feature)" in found.stdout
    document = json.loads(run(*command, "-k", 6, "--force", "city", "--json").stdout)
    city = {"option": "--force", "column": "city", "levels": 4, "features": 4}
    assert document["categories"] == [city]
    found = run(*command, "-k", 2, "--covariates", "city,x1").stdout
    assert "2 covariates   in every model" in found
    assert "city (all 4 levels by 3 features)" in " ".join(found.split())
    assert "2 features beside the covariates lower" in " ".join(found.split())
    assert "forced" not in found
    for sizes in ("2", "2,7"):
        given = ("-k", sizes, "--rule", "all", "--force", "city", "--force", "x1")
        message = fails(*command, *given)
        said = "--features counts what is forced, and a column of text is a feature for each of its"
        assert f"{said} levels (city 4): it must be at least 5; got 2." in message
        assert "--covariates" in message


def test_mice_as_they_were_measured(run, tmp_path):
    """Real records of text, numbers and gaps would be refused, or folds leak."""
    path = DATA / "mice" / "phenotypes.csv.gz"
    if not path.exists():
        pytest.skip("needs the records of the mice")
    found = json.loads(
        run(
            "select", path, "--target", "Obesity.BMI", "--task", "numbers", "-k", 6, "--missing",
            "mean", "--drop", "SUBJECT.NAME", "-o", "m.npz", "--certificate", "c.npz", "--json",
        ).stdout
    )  # fmt: skip
    assert found["data"]["n_features"] == 573
    assert sum(found["data"]["filled"].values()) == 6389
    assert len(found["data"]["coded"]["cage"]["levels"]) == 523
    first = [one["name"] for one in found["models"][0]["features"]][:2]
    assert first == ["Obesity.EndNormalBW", "Obesity.BodyLength"]
    document = json.loads(run("verify", "c.npz", path, "--drop", "SUBJECT.NAME", "--json").stdout)
    assert document["verified"]
    assert json.loads(run("predict", "m.npz", path, "--json").stdout)["score"] > 0.7


def test_the_option_is_checked(fails, run, write):
    """A word that is none would be taken for no filling."""
    path = write("a.csv", census())
    command = ("select", path, "--target", "y", "-k", 2, "--missing")
    assert "--missing must be mean, most_frequent or indicator; got 'median'" in fails(
        *command, "median"
    )
    np.save("x.npy", np.ones((4, 2)))
    np.save("t.npy", np.arange(4) % 2)
    command = ("select", "x.npy", "--target", "t.npy", "-k", 1, "--missing", "mean")
    assert "only empty cells of CSV, JSON lines, Excel or Parquet can be filled" in fails(*command)


# --- stores -------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["mean", "indicator"])
@pytest.mark.parametrize("kind", [*slow("csv"), "parquet"])
def test_a_store_has_codings_and_gaps(run, tmp_path, write, way, kind):
    """A fold would know what it holds out, or a model of a store take no raw rows."""
    path = write("a.csv", census())
    data = path
    if kind == "parquet":
        polars = pytest.importorskip("polars")
        data = tmp_path / "a.parquet"
        polars.read_csv(path).write_parquet(data)
    run("convert", data, "a.zarr", "--target", "y", "--missing", way, "--quiet")
    assert not check_store(tmp_path / "a.zarr").damage
    asked = ("-k", 5, "--cv", 3, "--json", "--covariates", "age")
    files = ("-o", "a.npz", "--certificate", "c.npz")
    a = json.loads(run("select", path, "--target", "y", "--missing", way, *asked).stdout)
    b = json.loads(run("select", "a.zarr", *asked, *files).stdout)
    for part in ("features", "covariates"):
        assert [x["name"] for x in a["models"][0][part]] == [
            x["name"] for x in b["models"][0][part]
        ]
        found = [[x["coefficient"] for x in one["models"][0][part]] for one in (a, b)]
        np.testing.assert_allclose(*found, rtol=1e-9)
    folds = [one["models"][0]["cross_validation"] for one in (a, b)]
    assert folds[0]["scores"] == pytest.approx(folds[1]["scores"], rel=1e-9)
    for entry in ("coded", "filled"):
        assert a["data"][entry] == b["data"][entry]
    assert "verified" in run("verify", "c.npz", "a.zarr", "--target", "y").stdout
    shown = [
        json.loads(run("predict", "a.npz", one, "--proba", "--json").stdout)["probabilities"]
        for one in (path, "a.zarr")
    ]
    np.testing.assert_allclose(*shown, rtol=1e-9)


def test_a_store_is_filled_as_the_model_was(run, write):
    """New rows would be filled by their own means."""
    columns = census()
    run("select", write("a.csv", columns), "--target", "y", "-k", 4, "--force", "age",
        "--missing", "mean", "--no-cv", "-o", "m.npz", "--quiet")  # fmt: skip
    new = {name: values[:200] for name, values in columns.items()}
    new["seen"] = columns["seen"][:200].copy()
    new["seen"][0] = min(columns["seen"])
    run("convert", write("b.csv", new), "b.zarr", "--missing", "mean", "--target", "y", "--quiet")
    shown = [
        json.loads(run("predict", "m.npz", one, "--proba", "--json").stdout)["probabilities"]
        for one in ("b.csv", "b.zarr")
    ]
    np.testing.assert_allclose(*shown, rtol=1e-9)


def test_estimators_fill_the_gaps_of_a_store(tmp_path, write):
    """A store would be read with zeros for empty cells."""
    table = read_table(write("a.csv", census()), target="y", missing="mean")
    path = write_store(tmp_path / "a.csv", tmp_path / "a.zarr", target="y", missing="mean").path
    one, two = (BudgetClassifier(4).fit(X, table.y) for X in (table.X, path))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9)
    scores = [cross_validate(BudgetClassifier(4), X, table.y, cv=3) for X in (table.X, path)]
    np.testing.assert_array_equal(scores[0].scores, scores[1].scores)
    rows = path / "uns" / "missing" / "rows" / "c" / "0"
    whole = rows.read_bytes()
    rows.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    assert [one.file for one in check_store(path).damage] == [rows]


def test_empty_cells_are_refused_where_they_cannot_be_filled(fails, write):
    """An option would be ignored."""
    path = write("a.csv", census())
    assert "Say --missing mean" in fails("convert", path, "a.zarr", "--target", "y")
    svm = write("a.svm", "1 1:2\n0 2:3\n")
    assert "only empty cells of tables" in fails("convert", svm, "a.zarr", "--missing", "mean")
    assert "--missing must be mean or" in fails("convert", path, "a.zarr", "--missing", "median")

"""`zeronorm explain`: parts add up to the scores, and are those of a feature alone."""

import csv
import json
import re

import numpy as np
import pytest
import scipy.sparse as sp

from archives import parts, rewrite
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1Classifier,
    MeasureClassifier,
)
from zeronorm.persistence import ModelFileError, load, save
from zeronorm.persistence._models import MODEL


def drawn(seed=0, n=60, p=8):
    return np.random.default_rng(seed).standard_normal((n, p)) + np.arange(p)


def fitted(kind, X):
    rng = np.random.default_rng(1)
    if kind == "two":
        return BudgetClassifier(3, calibrate=False).fit(X, X[:, 1] + X[:, 2] > 3)
    if kind == "reversed":
        y = np.where(X[:, 1] > 1, "a", "b")
        return MeasureClassifier("f1", 2, pos_label="a").fit(X, y)
    if kind == "several":
        return BudgetClassifier(3, calibrate=False).fit(X, np.argmax(X - np.arange(8), axis=1) % 3)
    if kind == "each":
        y = np.argmax(X - np.arange(8), axis=1) % 3
        return BudgetClassifier(2, multi_class="ovr", calibrate=False).fit(X, y)
    if kind == "ordered":
        y = np.digitize(X[:, 3] + rng.standard_normal(len(X)), [2.5, 3.5])
        return BudgetClassifier(2, loss="ordinal", calibrate=False).fit(X, y)
    if kind == "numbers":
        return BudgetRegressor(3, covariates=[0]).fit(X, X[:, 1] - X[:, 2])
    if kind == "responses":
        return BudgetRegressor(3).fit(X, X[:, 1:3] @ [[1, 2], [0, 1]])
    if kind == "counts":
        return BudgetRegressor(2, loss="poisson").fit(X, rng.poisson(np.exp(X[:, 1] - 1)))
    if kind == "l1":
        return L1Classifier(1.0).fit(X, X[:, 1] > 1)
    y = np.rec.fromarrays([X[:, 0] > -1, np.exp(-X[:, 1]) + 0.1], names="event,time")
    return BudgetSurvivalAnalysis(2).fit(X, y)


KINDS = (
    "two", "reversed", "several", "each", "ordered", "numbers", "responses", "counts", "l1",
    "survival",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_parts_add_up_to_the_scores(tmp_path, kind):
    """A mean row has none, and moving one feature changes its own part alone."""
    X = drawn()
    model = load(save(fitted(kind, X), tmp_path / "m.npz", X=X))
    base, own = model.contributions(X)
    assert own.mean(axis=0) == pytest.approx(np.zeros_like(own[0]), abs=1e-12)
    sums = base + own.sum(axis=2)
    if kind == "ordered":
        assert sums == pytest.approx(X[:, model.columns] @ model.coef.T)
    else:
        assert sums == pytest.approx(model._scores(X))
    moved = X.copy()
    moved[:, model.columns[0]] += 1.0
    _, others = model.contributions(moved)
    change = others - own
    assert change[:, :, 0] == pytest.approx(np.tile(model.coef[:, 0], (len(X), 1)))
    assert change[:, :, 1:] == pytest.approx(0.0)


def test_means_are_of_the_rows_that_are_named(tmp_path):
    """Sparse ones too; without any there is nothing to compare with."""
    X = drawn()
    fit = fitted("two", X)
    kept = load(save(fit, tmp_path / "m.npz", X=sp.csc_array(X)))
    assert kept.metadata["means"] == pytest.approx(X[:, kept.columns].mean(axis=0).tolist())
    bare = load(save(fit, tmp_path / "n.npz"))
    with pytest.raises(ValueError, match="has no means of its training rows; pass reference"):
        bare.contributions(X)
    _, found = bare.contributions(X, reference=X[:20])
    assert found[:20].mean(axis=0) == pytest.approx(np.zeros_like(found[0]), abs=1e-12)
    with pytest.raises(ValueError, match=r"row 1 \(from 0\) has nan in feature 1"):
        bare.contributions(np.where(np.arange(60)[:, None] == 1, np.nan, X))


@pytest.mark.parametrize("bad", [[1.0], [1.0, 2.0, "3"], [1.0, 2.0, 1e999], 3])
def test_bad_means_are_refused(tmp_path, bad):
    """Rows would be compared with numbers of nobody."""
    X = drawn()
    path = save(fitted("two", X), tmp_path / "m.npz", X=X)
    arrays = parts(path)
    arrays["metadata"]["means"] = bad
    rewrite(MODEL, path, arrays)
    with pytest.raises(ModelFileError):
        load(path)


def table(path, X, **columns):
    names = [*columns, *(f"g{j}" for j in range(X.shape[1]))]
    rows = zip(*columns.values(), *(map(repr, one.tolist()) for one in X.T), strict=True)
    path.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n")


@pytest.fixture
def people(run, tmp_path):
    X = drawn()
    names = [f"P{i:02d}" for i in range(60)]
    y = np.where(X[:, 1] + X[:, 2] > 3, "ill", "well")
    table(tmp_path / "people.csv", X, who=names, state=y)
    given = ("--target", "state", "--id", "who", "-k", "3", "--no-cv", "-q", "-o", "m.npz")
    run("select", "people.csv", *given)
    return X


def test_a_sample_is_explained(run, people, tmp_path):
    """By its name or number; the parts are those of the model."""
    base, own = load(tmp_path / "m.npz").contributions(people)
    for name in ("P07", "8"):
        given = ("m.npz", "people.csv", "--sample", name, "--json")
        document = json.loads(run("explain", *given).stdout)
        (one,) = document["samples"]
        assert one["sample"] == "P07"
        (score,) = one["scores"].values()
        assert score["parts"] == pytest.approx(own[7, 0].tolist())
        assert score["score"] == pytest.approx(base[0] + own[7, 0].sum())
    text = run("explain", "m.npz", "people.csv", "--sample", "P07").stdout
    assert "P07" in text
    assert "positive where well is more likely" in " ".join(text.split())
    assert "log-odds" in text


def test_the_shown_parts_add_up(run, people):
    """A reader who adds up the column would come to another number than its last line."""
    lines = run("explain", "m.npz", "people.csv", "--sample", "P07").stdout.splitlines()
    rows = [line for line in lines if re.search(r"[+-]\d", line)]
    shown = [re.search(r"[+-]\d+\.(\d+)", line)[0] for line in rows]
    assert rows[0].startswith("mean sample")
    assert rows[-1].startswith("log-odds")
    assert len({len(one.partition(".")[2]) for one in shown}) == 1
    *parts, total = map(float, shown)
    last = 10.0 ** -len(shown[0].partition(".")[2])
    assert sum(parts) == pytest.approx(total, abs=len(shown) * last / 2)


def test_all_samples_go_to_a_file(run, people, tmp_path):
    """A row for each, whose columns add up."""
    run("explain", "m.npz", "people.csv", "-o", "parts.csv")
    with open(tmp_path / "parts.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60
    for row in rows:
        total = sum(float(value) for name, value in row.items() if name.startswith("from "))
        assert float(row["base"]) + total == pytest.approx(float(row["score"]))
    streamed = run("explain", "m.npz", "people.csv", "-o", "-").stdout
    assert streamed == (tmp_path / "parts.csv").read_text()


def test_a_reference_is_compared_with(run, people, tmp_path):
    """The mean of other people is another base."""
    table(tmp_path / "others.csv", people[:10] + 1.0)
    given = ("m.npz", "people.csv", "--reference", "others.csv", "--json")
    document = json.loads(run("explain", *given).stdout)
    base, _ = load(tmp_path / "m.npz").contributions(people, people[:10] + 1.0)
    assert document["base"][""] == pytest.approx(base[0])


def test_models_without_means_say_what_they_compare_with(run, people, tmp_path):
    """Files of earlier versions have none."""
    X = people
    save(fitted("two", X), tmp_path / "old.npz", feature_names=[f"g{j}" for j in range(8)])
    said = run("explain", "old.npz", "people.csv", "--id", "who").stderr
    assert "has no means of its training data" in said.replace("\n", " ")


def test_samples_that_are_not_there_are_refused(fails, people):
    """Nothing would be explained, without a word."""
    said = fails("explain", "m.npz", "people.csv", "--sample", "P99")
    assert "no sample of people.csv has that name or number" in said


def test_every_sample_that_is_asked_for_must_be_there(fails, people):
    """One that is not would be left out without a word."""
    said = fails("explain", "m.npz", "people.csv", "--sample", "P07", "--sample", "P99")
    assert "--sample P99: no sample" in said


def test_a_reference_is_not_overwritten(fails, people, tmp_path):
    """It is an input."""
    table(tmp_path / "others.csv", people[:10])
    before = (tmp_path / "others.csv").read_text()
    given = ("--reference", "others.csv", "-o", "others.csv")
    assert "is an input as well" in fails("explain", "m.npz", "people.csv", *given)
    assert (tmp_path / "others.csv").read_text() == before


def test_an_exposure_is_one_of_the_parts(run, tmp_path):
    """The lines add up to the logarithm of what is predicted."""
    rng = np.random.default_rng(2)
    X, t = drawn(), rng.uniform(1, 9, 60).round(2)
    table(tmp_path / "a.csv", X, claims=rng.poisson(t * np.exp(0.3 * X[:, 1])), years=t)
    given = ("--target", "claims", "--task", "counts", "--exposure", "years", "-k", "2", "--no-cv")
    run("select", "a.csv", *given, "-q", "-o", "m.npz")
    document = json.loads(run("explain", "m.npz", "a.csv", "--json").stdout)
    for one, exposure in zip(document["samples"], t, strict=True):
        score = one["scores"][""]
        total = document["base"][""] + one["offset"] + sum(score["parts"])
        assert one["offset"] == pytest.approx(np.log(exposure))
        assert score["score"] == pytest.approx(total)
        assert np.exp(score["score"]) == pytest.approx(one["prediction"])
    run("explain", "m.npz", "a.csv", "-o", "p.csv")
    with open(tmp_path / "p.csv") as file:
        row = next(csv.DictReader(file))
    total = sum(float(row[name]) for name in row if name.startswith("from "))
    assert float(row["base"]) + float(row["offset"]) + total == pytest.approx(float(row["score"]))

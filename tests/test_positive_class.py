"""Coefficients are shown for the class that the user has named as the one to find."""

import csv
import json
import re

import matplotlib as mpl
import numpy as np
import pytest

from conftest import write_csv
from zeronorm.export import to_scorecard
from zeronorm.persistence import load
from zeronorm.plots import CoefficientsDisplay

N = 60
SELECT = ("select", "a.csv", "--target", "y", "-k", 2, "--no-cv")
ILL = ("--threshold", 0.3, "--positive", "ill")  # the first of the classes in their order


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Rows that are ill where a is large and b is small, in a.csv."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 5)).round(3)
    z = X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(N)
    columns = {name: X[:, j] for j, name in enumerate("abcde")}
    write_csv("a.csv", columns | {"y": np.where(z > 0, "ill", "well")})
    return X


def signs(rows):
    return {row["name"]: np.sign(float(row["coefficient"])) for row in rows}


def test_a_selection_shows_the_positive_class(run, table):
    """Whoever asks for the ill would read the signs of the well."""
    given = (*SELECT, *ILL, "-o", "m.npz", "--features-out", "f.csv", "--covariates", "e")
    document = json.loads(run(*given, "--json").stdout)
    (model,) = document["models"]
    assert signs(model["features"]) == {"a": 1.0, "b": -1.0}
    assert {row["class"] for row in model["features"] + model["covariates"]} == {"ill"}
    with open("f.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["class"] for row in rows} == {"ill"}
    assert signs(rows[:2]) == signs(model["features"])
    text = run(*given).stdout
    assert "positive speaks for ill" in text
    # The intercept is that of the same scores, and the file that of the second class.
    loaded = load("m.npz")
    assert model["intercept"] == (-loaded.intercept_).tolist()
    values = {row["index"]: row["coefficient"] for row in model["features"] + model["covariates"]}
    assert [values[j] for j in loaded.columns] == pytest.approx((-loaded.coef[0]).tolist())
    other = json.loads(run(*SELECT, "--threshold", 0.3, "--no-save", "--json").stdout)
    assert signs(other["models"][0]["features"]) == {"a": -1.0, "b": 1.0}
    assert other["models"][0]["features"][0]["class"] == "well"


@pytest.mark.parametrize("named", [ILL, ("--measure", "f1", "--positive", "ill")])
def test_a_model_file_is_shown_so(run, table, named):
    """One report would say that a speaks for the ill, and the next one the opposite."""
    run(*SELECT, *named, "-o", "m.npz")
    text = run("info", "m.npz").stdout
    assert "for ill" in text
    assert "for well" not in text
    assert re.search(r"\ba +\+", text)
    assert re.search(r"\bb +-", text)
    intercept = float(re.search(r"intercept +(\S+)", text)[1])
    assert intercept == pytest.approx(-load("m.npz").intercept_[0], abs=1e-4)


def test_a_scorecard_counts_for_it(run, table):
    """More points would mean less of what is looked for."""
    run(*SELECT, *ILL, "-o", "m.npz")
    loaded = load("m.npz")
    card = to_scorecard(loaded, X=table, per="unit", points=1000)
    assert card.meaning == "probability of ill"
    assert dict(zip(card.features, np.sign(card.points), strict=True)) == {"a": 1, "b": -1}
    score = card.score(table[:, list(card.columns)])
    at = float(re.search(r"ill where score >= (\S+), total >= \S+, else well", card.decision)[1])
    assert card.agreement.same > 0.98
    assert np.mean((score >= at) == (loaded.predict(table) == "ill")) > 0.98


def test_a_picture_is_of_it(run, table):
    """A table and the picture beside it would have opposite signs."""
    mpl.use("agg")
    run(*SELECT, *ILL, "-o", "m.npz")
    loaded = load("m.npz")
    shown = CoefficientsDisplay.from_estimator(loaded)
    np.testing.assert_allclose(np.sort(shown.coef[0]), np.sort(-loaded.coef[0]))
    assert shown.unit == "coefficient for ill"


def test_a_page_is_of_it(run, table, tmp_path):
    """The page that is forwarded would tell the well from the ill."""
    run(*SELECT, *ILL, "-o", "m.npz")
    run("report", "m.npz", "a.csv", "--pairs", 0, "--time-limit", 0, "--cv", 2, "-o", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<title>2 of 5 features that tell ill from well" in page
    assert "Positive speaks for ill." in page
    assert "positive speaks for ill" in page  # under the picture
    assert "ositive speaks for well" not in page

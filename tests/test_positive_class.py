"""Coefficients are shown for the class that the user has named as the one to find."""

import re

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.model_selection import FixedThresholdClassifier

from conftest import write_csv
from zeronorm import BudgetClassifier
from zeronorm.persistence import load, save
from zeronorm.plotting import CoefficientsDisplay

N = 60
SELECT = ("select", "a.csv", "--target", "y", "-k", 2, "--no-cv")


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


def write_acting(run, X):
    """Save a model that looks for the ill, the first of the classes in their order, as m.npz."""
    y = np.loadtxt("a.csv", str, delimiter=",", skiprows=1, usecols=5)
    acting = FixedThresholdClassifier(
        BudgetClassifier(2, calibrate=False), threshold=0.3, pos_label="ill"
    ).fit(X, y)
    save(acting, "m.npz", feature_names=[*"abcde"], target_name="y", X=X)


def write_measured(run, X):
    """Save a model for F1 of the ill as m.npz."""
    run(*SELECT, "--measure", "f1", "--positive", "ill", "-o", "m.npz")


@pytest.mark.parametrize("write", [write_acting, write_measured])
def test_a_model_file_is_shown_so(run, table, write):
    """One report would say that a speaks for the ill, and the next one the opposite."""
    write(run, table)
    text = run("info", "m.npz").stdout
    assert "for ill" in text
    assert "for well" not in text
    assert re.search(r"\ba +\+", text)
    assert re.search(r"\bb +-", text)
    intercept = float(re.search(r"intercept +(\S+)", text)[1])
    assert intercept == pytest.approx(-load("m.npz").intercept_[0], abs=1e-4)


def test_a_picture_is_of_it(run, table):
    """A table and the picture beside it would have opposite signs."""
    mpl.use("agg")
    write_acting(run, table)
    loaded = load("m.npz")
    shown = CoefficientsDisplay.from_estimator(loaded)
    np.testing.assert_allclose(np.sort(shown.coef[0]), np.sort(-loaded.coef[0]))
    assert shown.unit == "coefficient for ill"

"""A column that numbers the rows is left out by `select`, and by every command after it."""

import json

import numpy as np
import pytest

from archives import parts, rewrite
from conftest import write_csv
from zeronorm.persistence import load
from zeronorm.persistence.models import MODEL

ROWS = 60
SELECT = ("data.csv", "--target", "label")


@pytest.fixture(autouse=True)
def data(tmp_path):
    """Write features beside two columns that number the rows, and one of sites."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((ROWS, 4))
    label = np.array(["a", "b"])[(X[:, 0] + rng.standard_normal(ROWS) > 0) * 1]
    values = {f"x{j}": X[:, j] for j in range(4)}
    numbers = {"no": np.arange(1, ROWS + 1), "row id": np.arange(ROWS)}
    write_csv(
        tmp_path / "data.csv", {**numbers, "site": np.arange(ROWS) // 4, **values, "label": label}
    )


KEPT = ("--keep", "no", "--keep", "row id")


@pytest.mark.parametrize(("more", "n_features"), [((), 5), (KEPT, 7)])
def test_what_was_selected_is_certified_verified_and_reported(run, more, n_features):
    """Commands after `select` would miss columns, or have some that were no features."""
    given = ("-k", 2, "--prove", "-o", "m.npz", "--certificate", "c.npz", *more)
    found = json.loads(run("select", *SELECT, *given, "--json").stdout)
    assert found["data"]["n_features"] == n_features
    assert json.loads(run("verify", "c.npz", *SELECT, "--json").stdout)["verified"]
    again = run("certify", "m.npz", "data.csv", *more, "--certificate", "d.npz", "--json")
    assert json.loads(again.stdout)["data"]["n_features"] == n_features
    assert json.loads(run("verify", "d.npz", *SELECT, "--json").stdout)["verified"]
    run("report", "m.npz", "data.csv", "-o", "p.html", "--pairs", 0, "--time-limit", 0, *more)


def test_a_damaged_list_of_columns_is_refused(run, fails, tmp_path):
    """`verify` and `predict` would end in an error of another library."""
    run("select", *SELECT, "-k", 2, "-o", "m.npz")
    assert load(tmp_path / "m.npz").metadata["columns"]["row_numbers"] == "no 'row id'"
    arrays = parts(tmp_path / "m.npz")
    arrays["metadata"]["columns"]["row_numbers"] = "no 'row id"
    rewrite(MODEL, tmp_path / "bad.npz", arrays)
    assert "row_numbers that are no list" in fails("predict", "bad.npz", "data.csv")


def test_a_column_of_folds_is_no_feature_of_a_certificate(run):
    """`certify` would end in an error, or count the column among the features."""
    run("select", *SELECT, "-k", 2, "-o", "m.npz", "--cv-groups", "site")
    run("certify", "m.npz", "data.csv", "--certificate", "d.npz")
    found = json.loads(run("verify", "d.npz", *SELECT, "--json").stdout)
    assert found["verified"]
    assert found["data"]["n_features"] == 4

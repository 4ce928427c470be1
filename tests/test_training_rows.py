"""Models of some rows alone: files keep what chose the rows, and commands choose them again."""

import csv
import json

import numpy as np
import pytest

from zeronorm.persistence import load, load_certificate

N = 60
ONLY = "batch == 'B1'"
SELECT = ("select", "all.csv", "--target", "y", "-k", 2, "--no-cv")


def write_rows(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Rows of three batches in all.csv, of which g2 says the target in B1 alone."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    found = []
    for i in range(N):
        x = rng.standard_normal(4).round(3)
        batch = f"B{i % 3 + 1}"
        z = x[2] if batch == "B1" else x[0]
        row = {"y": "case" if z + 0.5 * rng.standard_normal() > 0 else "control", "batch": batch}
        found.append(row | {f"g{j}": value for j, value in enumerate(x)})
    write_rows("all.csv", found)
    write_rows("no_batch.csv", [{k: v for k, v in row.items() if k != "batch"} for row in found])
    return found


@pytest.fixture
def model(run, rows):
    """A model of B1 in m.npz, its certificate in c.npz."""
    run(*SELECT, "--where", ONLY, "-o", "m.npz", "--certificate", "c.npz")


def test_files_keep_what_chose_the_rows(run, model):
    """Nobody could say a year later which rows a model is of."""
    assert load("m.npz").metadata["columns"]["where"] == ONLY
    assert load("m.npz").metadata["n_samples"] == N // 3
    assert load_certificate("c.npz").metadata["columns"]["where"] == ONLY
    assert "20 samples, those where batch == 'B1'" in run("info", "m.npz").stdout
    document = json.loads(run("info", "m.npz", "--json").stdout)
    assert (document["n_samples"], document["columns"]["where"]) == (N // 3, ONLY)
    run(*SELECT, "-o", "whole.npz")
    shown = run("info", "whole.npz").stdout
    assert "60 samples" in shown
    assert "where" not in shown


@pytest.mark.parametrize("command", ["certify", "prove"])
def test_a_list_is_certified_on_its_own_rows(run, model, command):
    """What is said of a list would be of rows that it was not selected from, without a word."""
    document = json.loads(run(command, "m.npz", "all.csv", "--json").stdout)
    assert document["data"]["n_samples"] == N // 3
    assert any("m.npz is of the rows where batch == 'B1'" in note for note in document["notes"])
    same = json.loads(run(command, "m.npz", "all.csv", "--json", "--where", ONLY).stdout)
    assert same["data"] == document["data"]
    assert not any("m.npz" in note for note in same["notes"])
    other = ("--where", "batch == 'B2'")
    document = json.loads(run(command, "m.npz", "all.csv", "--json", *other).stdout)
    assert any("those of m.npz were by batch == 'B1'" in note for note in document["notes"])


def test_a_certificate_of_certify_is_verified_on_these_rows(run, model):
    """The certificate would be refused as one of other data."""
    run("certify", "m.npz", "all.csv", "--certificate", "again.npz")
    for file in ("again.npz", "c.npz"):
        document = json.loads(run("verify", file, "all.csv", "--json").stdout)
        assert document["verified"]
        assert document["data"]["n_samples"] == N // 3
        assert any(f"{file} is of the rows where" in note for note in document["notes"])


def test_a_report_is_of_the_rows_of_its_model(run, model):
    """The page of a model of some rows would be refused as that of other data."""
    quick = ("--pairs", 0, "--time-limit", 0, "--cv", 2, "-o", "page.html")
    document = json.loads(run("report", "m.npz", "all.csv", *quick, "--json").stdout)
    assert document["data"]["n_samples"] == N // 3


def test_other_numbers_of_rows_are_told(run, fails, model):
    """Figures of 40 rows would pass for those of the 20 that a model was selected from."""
    others = ("--where", "batch >= 'B2'")
    said = run("certify", "m.npz", "all.csv", *others, "--quiet").stderr
    assert "all.csv has 40 samples here, and m.npz is of 20" in said
    assert "--where chooses" in fails("report", "m.npz", "all.csv", *others, "-o", "page.html")
    assert "all.csv has 40 samples here, and c.npz is of 20" in fails(
        "verify", "c.npz", "all.csv", *others
    )


def test_data_without_the_column(run, fails, rows, model):
    """Rows that somebody has chosen before could not be certified, or wrong ones would be."""
    own = [{k: v for k, v in row.items() if k != "batch"} for row in rows if row["batch"] == "B1"]
    write_rows("own.csv", own)
    for command in (("certify", "m.npz", "own.csv"), ("verify", "c.npz", "own.csv")):
        said = run(*command).stderr
        assert "own.csv has no such column: all of its rows are taken" in said
        assert "samples here" not in said
    assert "has 60 samples here" in run("certify", "m.npz", "no_batch.csv").stderr
    assert "has 60 samples here" in fails("verify", "c.npz", "no_batch.csv")


@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_new_rows_are_all_taken_and_that_is_told(run, model, command):
    """Rows would be left out that somebody wants scored, or others be scored without a word."""
    document = json.loads(run(command, "m.npz", "all.csv", "--json").stdout)
    assert document["data"]["n_samples"] == N
    (note,) = [one for one in document["notes"] if "m.npz is of rows where" in one]
    assert "if it has the column 'batch', " in note  # which they need not have
    assert f'--where "{ONLY}" takes such rows alone' in note
    document = json.loads(run(command, "m.npz", "all.csv", "--json", "--where", ONLY).stdout)
    assert document["data"]["n_samples"] == N // 3
    assert not any("m.npz is of rows where" in one for one in document["notes"])


def test_rows_that_tables_of_the_samples_choose(run, rows):
    """A condition on a column of another file would be lost."""
    write_rows("batches.csv", [{"id": f"s{i}", "batch": r["batch"]} for i, r in enumerate(rows)])
    write_rows(
        "named.csv",
        [
            {"id": f"s{i}"} | {k: v for k, v in r.items() if k != "batch"}
            for i, r in enumerate(rows)
        ],
    )
    given = ("--samples", "batches.csv", "--id", "id")
    run("select", "named.csv", *SELECT[2:], *given, "--where", ONLY, "-o", "m.npz")
    found = json.loads(run("certify", "m.npz", "named.csv", *given, "--json").stdout)
    assert found["data"]["n_samples"] == N // 3


# --- what is wrong in a condition ------------------------------------------------------------


@pytest.mark.parametrize(("where", "hint"), [
    ("batch == 'b1'", "Did you mean 'B1'?"),
    ("batch == 'x'", "There is 'B1', 'B2', 'B3'."),
    ("batch == 'B1' and y == 'cases'", "Did you mean 'case'?"),
    ("y == 'case' and g0 > 1000", "Look at the values of 'g0'."),
])  # fmt: skip
def test_a_value_that_no_row_has(fails, rows, where, hint):
    """A slip in a value would be looked for in the data."""
    assert hint in fails(*SELECT, "--where", where, "--no-save")


def test_a_column_that_is_not_there(fails, rows):
    """A slip in a name would be looked for in the data."""
    assert "Did you mean 'batch'?" in fails(*SELECT, "--where", "bacth == 'B1'", "--no-save")


def test_a_value_that_no_row_of_a_table_of_samples_has(fails, rows):
    """Of values of other files nothing would be suggested."""
    write_rows("batches.csv", [{"id": f"s{i}", "site": r["batch"]} for i, r in enumerate(rows)])
    write_rows("named.csv", [{"id": f"s{i}"} | r for i, r in enumerate(rows)])
    given = ("--samples", "batches.csv", "--id", "id", "--no-save", "--where")
    select = ("select", "named.csv", *SELECT[2:], *given)
    assert "Did you mean 'B1'" in fails(*select, "site == 'B11'")
    assert "Did you mean 'site'" in fails(*select, "sites == 'B1'")


@pytest.mark.parametrize("operator", ["==", ">"])
def test_columns_that_are_no_features_any_more_are_told(run, rows, operator):
    """A column would be missing among the features, and nobody would know why."""
    document = json.loads(
        run(*SELECT, "--where", f"batch {operator} 'B1'", "--no-save", "--json").stdout
    )
    assert "the column 'batch' is compared with text, and is no feature" in document["notes"]


def test_columns_of_which_values_are_left_out_are_features(run, rows):
    """Without one rare batch the others could be no covariate any more."""
    given = ("--where", "batch != 'B1'", "--covariates", "batch", "--no-save", "--json")
    document = json.loads(run(*SELECT, *given).stdout)
    assert document["data"]["coded"] == {"batch": {"kind": "category", "levels": ["B2", "B3"]}}
    given = ("--where", "batch != 'B1' and batch != 'B2'", "--no-save", "--json")
    notes = json.loads(run(*SELECT, *given).stdout)["notes"]
    assert "1 column with one value or none, which can never be selected: batch" in notes

"""`--cv-groups`: samples of one patient are held out together, by every command with folds."""

import json

import numpy as np
import pytest

from conftest import write_csv
from zeronorm import BudgetClassifier, cross_validate
from zeronorm.persistence import load

PATIENTS, FEATURES = 20, 30


@pytest.fixture(scope="module")
def columns():
    """A level of each patient in every column, and the class of the patient by chance."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(PATIENTS), 3)
    X = rng.standard_normal((PATIENTS, FEATURES))[patient]
    X += 0.05 * rng.standard_normal(X.shape)
    label = np.array(["a", "b"])[rng.permutation(np.arange(PATIENTS) % 2)[patient]]
    values = {f"x{j}": X[:, j] for j in range(FEATURES)}
    return {"patient": [f"P{i:02}" for i in patient], "label": label, **values}


@pytest.fixture
def table(columns, tmp_path):
    """Write the columns, with the column of patients."""
    write_csv(tmp_path / "data.csv", columns)
    return columns


def document(run, *command, **more):
    """Return what a command prints as JSON."""
    return json.loads(run(*command, "--json", **more).stdout)


SELECT = ("data.csv", "--target", "label", "-k", 3)


def test_a_column_that_repeats_is_told(run, table):
    """The accuracy would be that of patients that are known, without a word."""
    found = document(run, "select", *SELECT, "--no-save")
    assert (
        "patient 'P00' occurs in 3 samples: folds may hold out one and train on another; say "
        "--cv-groups patient"
    ) in found["notes"]
    assert found["models"][0]["cross_validation"]["mean"] > 0.9


@pytest.mark.parametrize("name", ["patient_id", "SubjectID", "donor"])
def test_numbers_of_patients_are_told(run, columns, tmp_path, name):
    """Patients that have numbers would be a feature, without a word."""
    numbers = np.repeat(np.arange(PATIENTS), 3)
    rest = {key: one for key, one in columns.items() if key != "patient"}
    write_csv(tmp_path / "data.csv", {name: numbers, **rest})
    notes = " ".join(document(run, "cv", *SELECT)["notes"])
    assert f"{name} 0 occurs in 3 samples" in notes
    assert f"say --cv-groups {name}" in notes


def test_columns_that_name_nobody_are_not_told(run, columns, tmp_path):
    """A site, a humidity or a few families are no patients; nor is a number of each sample."""
    others = {
        "site": [f"S{i % 6}" for i in range(60)], "humidity": np.arange(60) % 7,
        "width": np.arange(60) // 2, "id": np.arange(60), "family": ["A", "B"] * 30,
    }  # fmt: skip
    rest = {key: one for key, one in columns.items() if key != "patient"}
    write_csv(tmp_path / "data.csv", {**others, **rest})
    assert "--cv-groups" not in " ".join(document(run, "cv", *SELECT)["notes"])


def test_select_by_patients(run, table, tmp_path):
    """Folds, probabilities, half-samples or permutations would cut patients; the file forgets."""
    found = document(
        run, "select", *SELECT, "--cv-groups", "patient", "-o", "m.npz", "--stability", 2,
        "--permutations", 2, calibrate=True,
    )  # fmt: skip
    X = np.column_stack([table[f"x{j}"] for j in range(FEATURES)])
    y, groups = table["label"], table["patient"]
    expected = cross_validate(BudgetClassifier(3), X, y, groups=groups)
    model = found["models"][0]
    assert found["data"]["n_features"] == FEATURES
    assert model["cross_validation"]["mean"] == pytest.approx(expected.mean[0])
    fitted = BudgetClassifier(3).fit(X, y, groups=groups)
    assert model["calibration"]["cv_log_loss"] == pytest.approx(fitted.path_[3].cv_log_loss)
    assert model["permutations"]["p_value"] > 1 / 3
    assert "samples of one patient are held out together: 20 groups" in " ".join(found["notes"])
    assert "say --cv-groups" not in " ".join(found["notes"])
    assert load(tmp_path / "m.npz").metadata["columns"]["cv_groups"] == "patient"
    run("predict", "m.npz", "data.csv")
    rest = {key: one for key, one in table.items() if key != "patient"}
    write_csv(tmp_path / "new.csv", rest)
    run("predict", "m.npz", "new.csv")


@pytest.mark.slow
def test_a_report_knows_the_patients(run, table):
    """A report of a model file would fit another model, and score known patients."""
    run("select", *SELECT, "--cv-groups", "patient", "-o", "m.npz", "--no-cv")
    asked = ("report", "m.npz", "data.csv", "-o", "page.html", "--pairs", 2, "--time-limit", 0)
    notes = " ".join(document(run, *asked)["notes"])
    assert "samples of one patient are held out together: 20 groups" in notes


def test_patients_of_a_table_of_samples(run, columns, tmp_path):
    """The column of patients is often where the samples are described."""
    names = [f"S{i}" for i in range(60)]
    rest = {key: one for key, one in columns.items() if key != "patient"}
    write_csv(tmp_path / "data.csv", {"id": names, **rest})
    write_csv(tmp_path / "samples.csv", {"id": names, "patient": columns["patient"]})
    write_csv(tmp_path / "both.csv", columns)
    joined = document(
        run, "cv", *SELECT, "--id", "id", "--samples", "samples.csv", "--cv-groups", "patient"
    )
    one = document(run, "cv", "both.csv", *SELECT[1:], "--cv-groups", "patient")
    scores = [each["models"][0]["cross_validation"]["mean"] for each in (joined, one)]
    assert scores[0] == pytest.approx(scores[1])


def test_names_that_repeat_are_groups(run, columns, tmp_path):
    """Rows of one name, and a column of the same groups, would be kept together in two ways."""
    write_csv(tmp_path / "data.csv", columns)
    by_id = document(run, "cv", *SELECT, "--id", "patient")
    by_groups = document(run, "cv", *SELECT, "--cv-groups", "patient")
    scores = [each["models"][0]["cross_validation"]["mean"] for each in (by_id, by_groups)]
    assert scores[0] == scores[1] < 0.8


def test_a_path_by_patients(run, table):
    """A path would choose C by samples of known patients."""
    given = ("path", "data.csv", "--target", "label", "--cv", 4, "--points", 10)
    known = document(run, *given, "--drop", "patient")
    new = document(run, *given, "--cv-groups", "patient")
    assert new["parameters"]["cv"] == 4
    assert new["chosen"]["n_features"] < known["chosen"]["n_features"]


def test_too_few_groups(run, table):
    """Folds without a class would be scored."""
    columns = table | {"half": [one[:2] for one in table["patient"]]}
    write_csv("data.csv", columns)
    found = document(run, "cv", *SELECT, "--cv-groups", "half", "--drop", "patient")
    assert "2 folds instead of 5: the class a has 2 groups" in found["notes"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--cv-groups", "nobody"), "no column 'nobody'"),
        (("--cv-groups", "label"), "must be two columns, not one"),
        (("--cv-groups", "patient", "--drop", "patient"), "cannot be dropped"),
    ],
)
def test_wrong_columns(fails, table, given, told):
    """Another column would be taken, or the target."""
    assert told in fails("select", *SELECT, "--no-save", *given)


def test_a_patient_without_a_name(fails, columns, tmp_path):
    """Samples of nobody would be one patient."""
    names = ["", *columns["patient"][1:]]
    write_csv(tmp_path / "data.csv", columns | {"patient": names})
    told = fails("cv", *SELECT, "--cv-groups", "patient")
    assert "is missing" in told or "empty" in told

"""Covariates on the command line."""

import json

import numpy as np
import pytest

from conftest import write_csv
from zeronorm import BudgetClassifier

rng = np.random.default_rng(11)
X = rng.standard_normal((80, 8))
AGE, SEX = 50.0 + 9.0 * X[:, 1] + 6.0 * rng.standard_normal(80), rng.random(80) < 0.4
MARGINS = X[:, 0] - X[:, 2] + 0.1 * (AGE - 50.0) - SEX
KINDS = np.array(["red", "green", "blue"])[np.digitize(MARGINS + rng.logistic(size=80), [-1, 1])]
EVENT, TIME = rng.random(80) < 0.7, rng.exponential(np.exp(-MARGINS))


@pytest.fixture(autouse=True)
def narrow(run, monkeypatch):
    """Let reports be 80 columns wide."""
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def write(tmp_path):
    """Write a CSV file of the features, age, sex and some columns; return its name."""

    def write(**columns):
        features = {f"x{j}": X[:, j] for j in range(8)}
        write_csv(tmp_path / "d.csv", features | {"age": AGE, "sex": 1 * SEX} | columns)
        return "d.csv"

    return write


def test_covariates_are_named_and_told_apart(run, write):
    """Covariates are selected, counted, or lost on the way to the report and the files."""
    y = np.where(KINDS == "red", "ill", "well")
    write(y=y)
    options = ["select", "d.csv", "--target", "y", "--features", 2, "--covariates", "age, sex"]
    files = ["--output", "m.npz", "--certificate", "c.npz"]
    result = run(*options, "--no-cv", *files)
    told = " ".join(result.stdout.split())
    assert "2 covariates in every model, not counted, not penalised" in told
    assert "no 2 features beside the covariates lower the objective" in told
    assert "of 8 features ruled out" in told
    assert "covariates not penalised" in told
    document = json.loads(run(*options, "--cv", 2, *files, "--json").stdout)
    (model,) = document["models"]
    direct = BudgetClassifier(2, covariates=[8, 9], calibrate=False)
    direct.fit(np.column_stack([X, AGE, SEX]), y)
    found = {row["name"]: row["coefficient"] for row in model["covariates"]}
    assert found == pytest.approx(dict(zip(["age", "sex"], direct.coef_[0, 8:], strict=True)))
    assert {row["index"] for row in model["features"]} == set(direct.support_)
    assert document["n_covariates"] == model["certificates"][0]["n_covariates"] == 2
    verified = run("verify", "c.npz", "d.csv", "--target", "y")
    assert "covariates: age, sex" in verified.stdout
    told = run("info", "m.npz").stdout
    assert "2, marked by *" in told
    assert "age *" in told
    assert json.loads(run("info", "m.npz", "--json").stdout)["features"] == [*direct.support_, 8, 9]
    predicted = json.loads(run("predict", "m.npz", "d.csv", "--json").stdout)
    assert predicted["accuracy"] == pytest.approx(direct.score(np.column_stack([X, AGE, SEX]), y))


@pytest.mark.parametrize("shared", ["--shared", "--per-class"])
def test_covariates_of_several_classes(shared, run, write):
    """The covariates of one class are printed for all, or of none."""
    write(y=KINDS)
    options = ["--target", "y", "--features", 2, "--covariates", "age,sex", "--no-cv", shared]
    told = run("select", "d.csv", *options, "--certificate", "c.npz").stdout
    assert told.count("in every model, not counted") == (1 if shared == "--shared" else 3)
    assert "covariates: age, sex" in run("verify", "c.npz", "d.csv", "--target", "y").stdout


def test_covariates_of_survival_times(run, write):
    """Covariates have no hazard ratios."""
    write(time=TIME, event=1 * EVENT)
    options = ["--time", "time", "--event", "event", "--features", 2, "--covariates", "sex"]
    told = run("select", "d.csv", *options, "--no-cv", "--no-save").stdout
    beside = told[told.index("1 covariate") :]
    assert "hazard ratio" in beside[:200]


def test_bad_covariates(run, write):
    """A wrong name ends in a traceback, or in another model."""
    write(y=KINDS == "red")
    options = ["select", "d.csv", "--target", "y", "--features", 2, "--no-cv", "--no-save"]
    told = run(*options, "--covariates", "age,sexx", code=2).stderr
    assert "--covariates: no feature" in told
    assert "Did you mean" in told
    told = run(*options, "--covariates", "age", "--method", "l1", code=2).stderr
    assert "covariates are of the methods" in " ".join(told.split())
    told = run(*options, "--covariates", "age", "--measure", "f1", code=2).stderr
    assert "which has no --covariates" in " ".join(told.split())


@pytest.mark.parametrize("task", ["ordered", "late"])
def test_ordered_classes_and_late_entries_have_covariates(run, write, task):
    """The command refuses covariates, or names them after a class, where one model has all."""
    start = 0.8 * TIME * rng.random(80)
    own = {
        "ordered": ({"y": KINDS}, ["--target", "y", "--order", "red,green,blue"]),
        "late": (
            {"start": start, "stop": TIME, "event": 1 * EVENT},
            ["--time", "stop", "--event", "event", "--start", "start"],
        ),
    }
    columns, options = own[task]
    write(**columns)
    asked = ["--features", 2, "--covariates", "age,sex", "--no-cv", "--certificate", "c.npz"]
    told = run("select", "d.csv", *options, *asked).stdout
    assert "2 covariates   in every model" in told
    checked = run("verify", "c.npz", "d.csv", *(options if task == "late" else options[:2]))
    assert "covariates: age, sex" in checked.stdout


BATCH = np.array(["B1", "B2", "B3"])[np.arange(80) % 3]
OUTCOME = np.where(MARGINS + rng.logistic(size=80) > 0, "ill", "well")


@pytest.mark.parametrize("command", ["select", "cv"])
def test_the_base_level_of_a_covariate_cannot_be_chosen(command, run, tmp_path):
    """It has nothing to add to the others and the intercept, and would be one of the k."""
    columns = {f"x{j}": X[:, j] for j in range(8)} | {"batch": BATCH, "y": OUTCOME}
    write_csv(tmp_path / "d.csv", columns)
    given = ("d.csv", "--target", "y", "--covariates", "batch")
    told = run(command, *given, "-k", 9, code=2).stderr
    assert "--features must be between 1 and 8 (the non-constant features of DATA)" in told
    asked = ("-k", 8, "--no-cv") if command == "select" else ("-k", "4,8")
    document = json.loads(run(command, *given, *asked, "--json").stdout)
    assert document["data"]["n_features"] == 10
    assert document["n_covariates"] == 2


def test_models_with_a_covariate_of_text_agree_with_their_certificates(run, tmp_path):
    """The commands that read the data again would count other features than select has."""
    columns = {f"x{j}": X[:, j] for j in range(8)} | {"batch": BATCH, "y": OUTCOME}
    write_csv(tmp_path / "d.csv", columns)
    given = ("d.csv", "--target", "y", "--covariates", "batch", "-k", 3, "--no-cv")
    told = run("select", *given, "-o", "m.npz", "--certificate", "c.npz").stdout
    assert "of 8 features ruled out" in told
    info = run("info", "m.npz").stdout
    assert "3 of 8" in info
    assert "1, by 2 features, marked by *" in info
    assert "covariates: batch=B2, batch=B3" in run("verify", "c.npz", "d.csv").stdout
    for command in (("certify",), ("prove", "--time-limit", 1)):
        assert "of 8 features ruled out" in run(*command, "m.npz", "d.csv").stdout
    run("report", "m.npz", "d.csv", "-o", "p.html", "--pairs", 0, "--time-limit", 0)
    assert "3 of 8 features that tell well from ill" in (tmp_path / "p.html").read_text()


def test_levels_that_are_named_one_by_one_are_a_covariate(run, tmp_path):
    """The level that is left would be a feature, and other commands would force what nobody did."""
    columns = {f"x{j}": X[:, j] for j in range(8)} | {"batch": BATCH, "y": OUTCOME}
    write_csv(tmp_path / "d.csv", columns)
    for named, left in (("batch=B1,batch=B3", 8), ("batch=B3", 10)):
        given = ("d.csv", "--target", "y", "--covariates", named, "-k", 2, "--no-cv")
        told = run("select", *given, "-o", "m.npz", "--certificate", "c.npz").stdout
        assert f"of {left} features ruled out" in told
        assert f"covariates: {named.replace(',', ', ')}" in run("verify", "c.npz", "d.csv").stdout
        told = run("certify", "m.npz", "d.csv", "--certificate", "again.npz").stdout
        assert f"of {left} features ruled out" in told
        assert (
            f"covariates: {named.replace(',', ', ')}" in run("verify", "again.npz", "d.csv").stdout
        )


@pytest.mark.parametrize("beside", [False, True])
def test_without_an_intercept_every_level_is_a_covariate(beside, run, tmp_path):
    """Nothing would say what the rows of the base level have."""
    columns = {"id": [f"S{i}" for i in range(80)]} | {f"x{j}": X[:, j] for j in range(8)}
    own = {"batch": BATCH, "y": OUTCOME}
    write_csv(tmp_path / "d.csv", columns | ({} if beside else own))
    write_csv(tmp_path / "s.csv", {"id": columns["id"]} | own)
    given = ("d.csv", "--target", "y", *(("--samples", "s.csv") if beside else ()))
    asked = ("--id", "id", "--covariates", "batch", "-k", 2, "--no-cv", "--no-intercept")
    told = run("select", *given, *asked, "--certificate", "c.npz", "-o", "m.npz").stdout
    assert "1 covariate" in told
    assert "batch (all 3 levels)" in " ".join(told.split())
    assert "of 8 features ruled out" in told
    told = run("verify", "c.npz", "d.csv", *given[3:]).stdout
    assert "covariates: batch=B1, batch=B2, batch=B3" in told
    indicators = np.column_stack([X, *(level == BATCH for level in ("B1", "B2", "B3"))])
    direct = BudgetClassifier(2, covariates=[8, 9, 10], fit_intercept=False, calibrate=False)
    direct.fit(indicators.astype(float), OUTCOME)
    coef = json.loads(run("info", "m.npz", "--json").stdout)["coef"][0]
    np.testing.assert_allclose(coef, direct.coef_[0][direct.coef_[0] != 0], rtol=1e-5)


def test_features_are_counted_without_covariates(run, write):
    """The same list would be of 10 features in one report and of 8 in another."""
    y = np.where(KINDS == "red", "ill", "well")
    write(y=y)
    options = ("--target", "y", "--covariates", "age,sex", "--no-cv")
    files = ("-o", "m.npz", "--certificate", "c.npz")
    header = "80 samples \u00d7 8 features beside 2 of covariates"
    assert header in run("select", "d.csv", "-k", 2, *options, *files).stdout
    assert "2 of 8" in run("info", "m.npz").stdout
    for command in (
        ("certify", "m.npz", "d.csv"),
        ("verify", "c.npz", "d.csv"),
        ("evaluate", "m.npz", "d.csv"),
    ):
        assert header in run(*command).stdout
        data = json.loads(run(*command, "--json").stdout)["data"]
        assert (data["n_features"], data["n_covariates"]) == (10, 2)


def test_scores_beside_covariates_and_the_largest_class(run, write):
    """A model that is worse than one answer for all would pass for better than its covariates."""
    signal = X[:, 0] - X[:, 2] + np.random.default_rng(4).standard_normal(80)
    write(y=np.where(signal >= np.sort(signal)[-10], "ill", "well"))
    options = ("--target", "y", "--covariates", "age", "--class-weight", "balanced", "--no-save")
    result = run("select", "d.csv", "-k", 2, *options, "--json")
    held = json.loads(result.stdout)["models"][0]["cross_validation"]
    told = " ".join(run("select", "d.csv", "-k", 2, *options).stdout.split())
    assert f"(covariates alone: {held['baseline']:.3f}; always 'well': 0.875)" in told
    assert held["mean"] < 0.875
    assert "accuracy is below that of always 'well'" in told

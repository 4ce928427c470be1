"""The command with numbers, counts and survival times: what it prints, writes and refuses."""

import csv
import json

import numpy as np
import pytest
from sklearn.base import clone

from conftest import write_csv
from zeronorm import BudgetRegressor, BudgetSurvivalAnalysis, L1SurvivalAnalysisCV, l1_path
from zeronorm.cli.options import LOSSES
from zeronorm.core.effects import RATIOS
from zeronorm.losses import OF_NUMBERS, Quantile
from zeronorm.model_selection.cross_validation import cross_validate

rng = np.random.default_rng(3)
X = np.asfortranarray(rng.standard_normal((80, 6)))  # as files are read
MARGINS = X[:, 1] - X[:, 4]
YEARS = rng.uniform(0.5, 4.0, 80)
COLUMNS = {
    "price": MARGINS + 0.4 * rng.standard_normal(80),
    "claims": rng.poisson(YEARS * np.exp(0.8 * MARGINS + 1.0)),
    "years": YEARS,
    "days": np.minimum(rng.exponential(np.exp(-MARGINS)), 2.0),
    "site": rng.choice(["north", "south"], 80),
    "grade": rng.integers(1, 4, 80),
}
COLUMNS["died"] = (COLUMNS["days"] < 2.0).astype(int)
COLUMNS["status"] = np.where(COLUMNS["died"], "dead", "alive")
SURVIVAL = np.rec.fromarrays([COLUMNS["died"], COLUMNS["days"]], names="event,time")


@pytest.fixture
def write(tmp_path):
    """Write a CSV file of the features and some columns, changed; return its name."""

    def write(*names, **changes):
        columns = {f"x{j}": X[:, j] for j in range(6)}
        columns |= {name: changes[name] if name in changes else COLUMNS[name] for name in names}
        write_csv(tmp_path / "d.csv", columns)
        return "d.csv"

    return write


def put(name, row, value):
    """Return a column with one other value."""
    values = np.asarray(COLUMNS[name], object).copy()
    values[row] = value
    return values


def words(result):
    return " ".join(result.stdout.split())


def test_numbers(run, write):
    """Real numbers would be refused, or the report speak of classes."""
    data = write("price")
    result = run("select", data, "-k", "1,2", "--rule", "all", "--target", "price")
    text = words(result)
    model = BudgetRegressor([1, 2], calibrate=False)
    fitted = clone(model).fit(X, COLUMNS["price"])
    scores = cross_validate(model, X, COLUMNS["price"])
    assert "read as numbers: 80 distinct values in 80 rows" in text
    assert "2 features positive raises price" in text
    assert "change of the mean of price per unit" in text
    assert f"R² {scores.mean[1]:.3f} ± {scores.standard_error[1]:.3f} (without features: " in text
    assert f"{fitted.score(X, COLUMNS['price']):.3f} on the training data" in text
    assert "0: as good as the mean" in text
    assert f"least squares, C = {fitted.C_:g}, chosen by 5 folds" in text
    assert "not predictions of new data." in text
    assert "classes" not in text
    run("predict", "d-k2.model.npz", data, "-o", "p.csv")
    with open("p.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["sample", "prediction"]
    np.testing.assert_array_equal([float(row[1]) for row in rows[1:]], fitted.predict(X))
    document = json.loads(run("select", data, "-k", 2, "--target", "price", "--json").stdout)
    assert document["data"]["task"] == "numbers"
    assert document["score"] == "r2"
    assert document["classes"] == []
    assert document["models"][0]["training_score"] == pytest.approx(
        fitted.score(X, COLUMNS["price"])
    )


def test_folds_choose_the_weight_and_scale(run, write):
    """A user would not learn which C selected, or errors of intervals be of another model."""
    data, y = write("price"), COLUMNS["price"]
    command = ("select", data, "-k", 2, "--target", "price")
    model = BudgetRegressor(2).fit(X, y)
    scaled = f"scaled by {model.path_[2].scale:.2g} (held-out samples)"
    text = words(run(*command, calibrate=True))
    assert f"C = {model.C_:g}, chosen by 5 folds, standardised" in text
    assert scaled in text
    assert scaled in words(run("info", "d-k2.model.npz"))
    found = json.loads(run("predict", "d-k2.model.npz", data, "--interval", 0.8, "--json").stdout)
    np.testing.assert_array_equal(found["predictions"], model.predict(X))
    document = json.loads(run(*command, "--no-cv", "--no-save", "--json", calibrate=True).stdout)
    assert document["by_folds"] == {"parameter": "C", "folds": 5}
    assert document["parameters"]["C"] == model.C_
    assert document["models"][0]["calibration"] == {
        "scale": model.path_[2].scale, "cv_log_loss": None, "base_log_loss": None,
    }  # fmt: skip
    given = json.loads(
        run(*command, "--C", 1, "--no-cv", "--no-save", "--json", calibrate=True).stdout
    )
    assert given["by_folds"] is None
    assert given["models"][0]["calibration"] is None
    forced = json.loads(
        run(*command, "--C", 1, "--calibrate", "--no-cv", "--no-save", "--json").stdout
    )
    assert forced["models"][0]["calibration"]["scale"] != 1.0


def test_losses_of_numbers(run, write):
    """An option of a loss would not reach the estimator."""
    data, y = write("price"), COLUMNS["price"]
    for option, loss in (
        (("huber",), "huber"),
        (("quantile:0.8",), Quantile(0.8)),
    ):
        command = ("select", data, "-k", 2, "--target", "price", "--loss", *option, "--no-cv")
        document = json.loads(run(*command, "--json").stdout)
        fitted = BudgetRegressor(2, loss=loss, calibrate=False).fit(X, y)
        assert document["models"][0]["intercept"] == [fitted.intercept_]
        assert document["models"][0]["training_score"] == pytest.approx(fitted.score(X, y))
    assert "change of the 0.8 quantile of price per unit" in words(run(*command))
    positive = write("price", price=np.exp(y))
    result = run("select", positive, "-k", 2, "--target", "price", "--loss", "gamma", "--no-cv")
    assert "mean ratio" in result.stdout
    assert "above 1: higher price" in result.stdout
    assert "read as" not in result.stdout


def test_counts_of_an_exposure(run, fails, write):
    """Rates would be those of all rows alike, or their certificate not verify."""
    data = write("claims", "years")
    offset = np.log(YEARS)
    model = BudgetRegressor(2, loss="poisson", calibrate=False)
    model.fit(X, COLUMNS["claims"], offset=offset)
    count = ("--target", "claims", "--exposure", "years")
    result = run("select", data, "-k", 2, *count, "--prove", "--gap", 0, "--no-cv")
    text = words(result)
    assert "claims: counts from 0 to" in text
    assert f"years {YEARS.sum():.6g} in all" in text
    assert "above 1: more claims" in text
    assert "factor on the expected count" in text
    assert "by years without features" in text
    assert "proven: no other 2 features" in text
    ratio = np.exp(model.coef_[1] * X[:, 1].std())
    assert f" {ratio:.3f} " in text
    assert "verified" in run("verify", "d-k2.certificate.npz", data).stdout
    predicted = json.loads(run("predict", "d-k2.model.npz", data, "--json").stdout)
    np.testing.assert_allclose(predicted["predictions"], model.predict(X, offset), rtol=1e-8)
    assert predicted["score"] == pytest.approx(model.score(X, COLUMNS["claims"], offset=offset))
    unknown = fails("verify", "d-k2.certificate.npz", write("claims"))
    assert "made with the exposure 'years', which is not there; say where it is with" in unknown
    logs = write("claims", "years", years=offset)
    document = json.loads(
        run("select", logs, "-k", 2, "--target", "claims", "--task", "counts", "--offset", "years",
            "--no-cv", "--no-save", "--json").stdout
    )  # fmt: skip
    assert document["models"][0]["intercept"] == pytest.approx([model.intercept_])


def test_survival_times(run, write):
    """Times would be taken for features, or hazard ratios be of another model."""
    data = write("days", "status", "grade")
    survival = ("--time", "days", "--event", "status=dead")
    text = words(run("select", data, "-k", 2, *survival, "--certificate", "c.npz"))
    model = BudgetSurvivalAnalysis(2, calibrate=False)
    model.fit(np.column_stack([X, COLUMNS["grade"]]), SURVIVAL)
    assert "80 samples \u00d7 7 features" in text
    assert f"days, status: survival: times {COLUMNS['days'].min():.6g} to 2, " in text
    assert f"{COLUMNS['died'].sum()} of 80 samples have the event" in text
    assert "above 1: earlier events" in text
    assert f" {np.exp(model.coef_[1] * X[:, 1].std()):.3f} " in text
    assert "Harrell's C" in text
    assert "0.5: chance" in text
    assert f"Cox's partial likelihood, C = {model.C_:g}, chosen by 5 folds" in text
    # Model and certificate know their columns, and what stands for the event.
    assert "verified" in run("verify", "c.npz", data).stdout
    run("predict", "d-k2.model.npz", data, "--times", "0.2,1", "-o", "p.csv")
    with open("p.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["sample", "risk", "survival(0.2)", "survival(1)"]
    full = np.column_stack([X, COLUMNS["grade"]])
    curves = model.predict_survival_function(full)
    found = np.array(rows[1:], float)
    np.testing.assert_array_equal(found[:, 1], model.predict(full))
    np.testing.assert_array_equal(found[:, 3], [curve(1.0) for curve in curves])
    shown = run("predict", "d-k2.model.npz", data, "--times", "0.2,1").stdout
    assert "survival(0.2)" in shown
    assert f"Harrell's C {model.score(full, SURVIVAL):.3f}" in shown
    assert "event value" in run("info", "d-k2.model.npz").stdout
    alive = write("days", "status", "grade", status=["alive"] * 80)
    censored = run("predict", "d-k2.model.npz", alive)
    assert "Note: no score: d.csv: the event 'status' is never 'dead'" in censored.stderr
    assert "risk scores from" in censored.stdout


def test_ties_and_late_entries(run, fails, write):
    """Rows would be at risk before they were there, or the ties be those of the default."""
    days = np.ceil(5.0 * COLUMNS["days"])
    entry = np.floor(np.random.default_rng(8).uniform(0.0, 0.7, 80) * days)
    data = write("days", "died", "entry", days=days, entry=entry)
    command = ("--time", "days", "--event", "died", "--start", "entry", "-k", 2, "--no-cv")
    command += ("--C", 0.1)
    y = np.rec.fromarrays([entry, days, COLUMNS["died"]], names="start,stop,event")
    supports = {}
    for ties in ("breslow", "efron"):
        model = BudgetSurvivalAnalysis(2, C=0.1, calibrate=False, ties=ties).fit(X, y)
        supports[ties] = model.coef_[model.support_]
        text = words(run("select", data, *command, "--ties", ties, "--certificate", "c.npz"))
        assert "80 samples \u00d7 6 features" in text
        assert "above 1: earlier events" in text
        assert ("with Efron's ties, C = 0.1" in text) == (ties == "efron")
        assert f" {np.exp(model.coef_[1] * X[:, 1].std()):.3f} " in text
        assert "verified" in run("verify", "c.npz", data).stdout
        run("predict", "d-k2.model.npz", data, "-o", "p.csv")
        with open("p.csv", newline="") as file:
            rows = list(csv.reader(file))
        assert rows[0] == ["sample", "risk"]
        np.testing.assert_array_equal([float(one) for _, one in rows[1:]], model.predict(X))
        shown = run("predict", "d-k2.model.npz", data).stdout
        assert f"Harrell's C {model.score(X, y):.3f}" in shown
    assert not np.allclose(supports["breslow"], supports["efron"], rtol=1e-3)
    late = entry.copy()
    late[6] = days[6]
    message = fails("select", write("days", "died", "entry", days=days, entry=late), *command)
    assert "the start 'entry' must be before the time" in message
    assert "in sample 7. Remove such rows, or correct them." in message
    assert "--ties must be breslow or efron; got 'exact'" in fails(
        "select", data, *command, "--ties", "exact"
    )
    assert "--ties says survival" in fails("select", data, "-k", 2, "--target", "died", "--ties",
                                           "efron", "--loss", "huber")  # fmt: skip


def test_strata_and_roles_of_other_formats(run, fails, write):
    """Columns that are no features would be found in CSV alone."""
    data = write("days", "died", "site")
    command = ("--time", "days", "--event", "died", "--strata", "site", "-k", 2, "--no-cv")
    text = run("select", data, *command, "--certificate", "c.npz").stdout
    assert "2 strata" in text
    assert "verified" in run("verify", "c.npz", data).stdout
    message = fails("predict", "d-k2.model.npz", data, "--times", "1")
    assert "--times needs a model without strata; d-k2.model.npz has 2" in message
    expected = json.loads(run("select", data, *command, "--no-save", "--json").stdout)
    np.savez("d.npz", X=X, **{name: COLUMNS[name] for name in ("days", "died", "site")})
    np.save("x.npy", X)
    for name in ("days", "died", "site"):
        np.savetxt(f"{name}.txt", COLUMNS[name], fmt="%s")
    files = [f"{word}.txt" if word in COLUMNS else word for word in command]
    for given in (("d.npz", *command), ("x.npy", *files)):
        found = json.loads(run("select", *given, "--no-save", "--json").stdout)
        assert found["models"][0]["training_score"] == expected["models"][0]["training_score"]
    assert "x.npy: has no columns with names, and there is no file 'days'" in fails(
        "select", "x.npy", *command
    )


@pytest.mark.parametrize(
    ("values", "task", "guess"),
    [
        (rng.integers(0, 2, 80), "classes", None),
        (np.where(X[:, 0] > 0, "a", "b"), "classes", None),
        (
            rng.integers(-1, 4, 80),
            "classes",
            "read as classes: 5 distinct whole numbers in 80 rows; say --task numbers if they",
        ),
        (
            np.arange(80) + 3,
            "numbers",
            "read as numbers: 80 distinct whole numbers in 80 rows; say --task counts if they "
            "count something",
        ),
        (np.arange(80) % 12, "classes", "read as classes: 12 distinct whole numbers in 80 rows"),
        (
            np.array([f"town {i % 50:02}" for i in range(80)]),
            "classes",
            "read as classes: 50 distinct texts in 80 rows",
        ),
        # A value that occurs once, among many others, is no class.
        (np.append(np.arange(12), np.zeros(68, int)), "numbers", "12 distinct whole numbers"),
        (X[:, 0], "numbers", "read as numbers: 80 distinct values in 80 rows"),
        (
            np.where(X[:, 0] > 0, 0.5, 1.5),
            "numbers",
            "read as numbers: 2 distinct values in 80 rows",
        ),
    ],
)
def test_the_task_is_guessed_aloud(run, write, values, task, guess):
    """A target would be taken for what it is not, without a word."""
    data = write("price", price=values)
    command = ("select", data, "-k", 1, "--target", "price", "--no-cv", "--no-save")
    result = run(*command, "--quiet")
    document = json.loads(run(*command, "--json").stdout)
    assert document["data"]["task"] == task
    for said in ("all of them numbers", "number of unique classes"):  # in words of Python
        assert said not in result.stderr  # the report says it already
    assert ("read as" in result.stdout) == (guess is not None)
    assert guess is None or guess in words(result)


@pytest.mark.parametrize(
    ("arguments", "changes", "message"),
    [
        (("--target", "claims", "--task", "classes"), {},
         "distinct numbers in 80 rows, which cannot be classes; say "
         "--task numbers, or --task counts if they count"),
        (("--target", "price", "--task", "counts"), {}, "must be 0 or more for counts; got"),
        (("--target", "claims", "--loss", "gamma"), {},
         "must be positive for --loss gamma; got 0 in sample"),
        (("--target", "site", "--task", "numbers"), {},
         "the target 'site' must be finite numbers; got "),
        (("--target", "claims", "--task", "counts"), {"claims": np.full(80, 7)},
         "the target 'claims' is 7 in all samples; there is nothing to explain"),
        (("--target", "claims", "--exposure", "years"), {"years": put("years", 4, "")},
         "line 6, column 'years': the exposure is missing (''). Drop the row"),
        (("--target", "claims", "--exposure", "years"), {"years": put("years", 4, "inf")},
         "the exposure 'years' must be finite numbers; got 'inf' in sample 5"),
        (("--target", "claims", "--exposure", "years"), {"years": put("years", 4, 0)},
         "the exposure 'years' must be positive; got 0 in sample 5"),
        (("--target", "claims", "--exposure", "year"), {}, "no column 'year'. Did you mean"),
        (("--target", "claims", "--exposure", "claims"), {},
         "the target and the exposure must be two columns, not one"),
        (("--time", "days", "--event", "died"), {"days": put("days", 2, -1)},
         "the time 'days' must not be negative; got -1 in sample 3"),
        (("--time", "days", "--event", "died"), {"days": put("days", 2, "soon")},
         "the time 'days' must be finite numbers; got 'soon' in sample 3"),
        (("--time", "days", "--event", "died"), {"days": put("days", 2, "NA")},
         "line 4, column 'days': the time is missing ('NA'). Drop the row"),
        (("--time", "days", "--event", "died"), {"died": COLUMNS["died"] + 1},
         "got '1', '2'. Say which value is the event: --event died=VALUE"),
        (("--time", "days", "--event", "status"), {}, "got 'alive', 'dead'. Say which value is"),
        (("--time", "days", "--event", "status=ded"), {}, "never 'ded'; it has the values 'alive'"),
        (("--time", "days", "--event", "died"), {"died": np.zeros(80, int)},
         "the event 'died' is nowhere 1: all rows are censored"),
        (("--time", "days", "--event", "died", "--strata", "sites"), {}, "Did you mean 'site'?"),
    ],
)  # fmt: skip
def test_bad_targets(fails, write, arguments, changes, message):
    """A mistake in the data would end in a traceback, or in another model than was asked for."""
    named = {word.split("=")[0] for word in arguments} | changes.keys()
    named |= {"year": {"years"}, "sites": {"site"}}.get(arguments[-1], set())
    data = write(*sorted(named & COLUMNS.keys()), **changes)
    assert message in fails("select", data, "-k", 2, *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--task", "number"),
            "--task must be one of auto, classes, ordered, ",
        ),
        (
            ("--loss", "logistic"),
            "--loss must be one of least_squares, huber, quantile, gamma",
        ),
        (
            ("--loss", "poisson", "--task", "numbers"),
            "--loss poisson is of counts, but --task",
        ),
        (("--time", "t", "--event", "e", "--loss", "huber"), "but --time says survival. Leave out"),
        (
            ("--exposure", "e", "--measure", "f1"),
            "--measure is of classes, but --exposure",
        ),
        (("--class-weight", "balanced", "--task", "counts"), "--class-weight is of classes, but"),
        (("--time", "t"), "Survival times need --event: say --time COLUMN"),
        (("--task", "survival"), "Survival times need --time"),
        (("--time", "t", "--event", "e", "--target", "y"), "leave out --target 'y'"),
        (("--time", "t", "--event", "e", "--no-intercept"), "--no-intercept is not of survival"),
        (
            ("--time", "t", "--event", "e", "--offset", "o"),
            "of numbers and counts; got survival",
        ),
        (("--offset", "o", "--exposure", "e"), "they are one or the other; got both"),
        (("--loss", "quantile:x"), "--loss quantile:Q must have Q between 0 and 1"),
        (("--loss", "quantile:1"), "as quantile:0.9; got 'quantile:1'."),
        (("--time", "t", "--event", "e"), "demo has no column of that name; leave out --time 't'"),
    ],
)
def test_options_that_do_not_go_together(fails, arguments, message):
    """Half of what was asked for would be done."""
    assert message in fails("select", "demo", "-k", 2, *arguments)


def test_predict_refuses_what_a_model_does_not_have(run, fails, write):
    """Probabilities of numbers, or survival of classes, would be asked for in vain."""
    data = write("price")
    run("select", data, "-k", 1, "--target", "price", "--no-cv", "-o", "n.npz")
    assert "--proba is of classes; n.npz has none" in fails("predict", "n.npz", data, "--proba")
    assert "--times is of survival times" in fails("predict", "n.npz", data, "--times", "1")
    data = write("days", "died")
    survival = ("--time", "days", "--event", "died")
    run("select", data, "-k", 1, *survival, "--no-cv", "-o", "s.npz")
    for times in ("x", "1,,2", "-1", "inf"):
        assert "--times must be numbers that are not negative" in fails(
            "predict", "s.npz", data, "--times", times
        )
    alone = run("predict", "s.npz", write())  # without times there is no score
    assert "Harrell" not in alone.stdout
    assert "risk scores from" in alone.stdout


def test_few_samples_have_fewer_folds(run, write):
    """Folds that nobody could score would end in an error, or in a score of nothing."""
    few = np.zeros(80, int)
    few[np.argsort(COLUMNS["days"])[:3]] = 1
    data = write("days", "died", died=few)
    survival = ("--time", "days", "--event", "died", "--no-save")
    result = run("select", data, "-k", 1, *survival)
    assert "Note: 3 folds instead of 5: a held-out event needs a sample that" in result.stderr
    few[:] = 0
    few[COLUMNS["days"].argmin()] = 1
    result = run("select", write("days", "died", died=few), "-k", 1, *survival)
    assert "Note: no cross-validation: a held-out event needs" in result.stderr
    rare = np.zeros(80)
    rare[7] = 3.0
    data = write("price", price=rare)
    result = run("select", data, "-k", 1, "--target", "price", "--task", "counts", "--no-save")
    assert "Note: no cross-validation: held-out numbers must differ" in result.stderr


def test_groups_and_criteria_of_numbers(run, write):
    """Options beside the task would be lost with it."""
    data = write("claims", "years")
    with open("g.tsv", "w") as file:
        file.writelines(f"x{j}\t{j // 2}\n" for j in range(6))
    count = ("--target", "claims", "--exposure", "years", "--no-save", "--no-cv")
    text = run("select", data, "-k", 2, "--groups", 1, "--group-file", "g.tsv", *count).stdout
    assert "in 1 of 3 groups" in text
    text = words(run("select", data, "-k", 3, "--rule", "bic", *count))
    assert "-log lik." in text
    assert "the smallest BIC of the 3 sizes" in text


def test_path_of_numbers(run, fails, write):
    """The l1 path would be of classes alone."""
    data = write("price")
    numbers = ("--target", "price", "--loss", "least_squares", "--points", 5)
    assert "least squares loss" in run("path", data, *numbers).stdout
    text = words(run("path", data, *numbers, "--cv", 3))
    assert "squared-error" in text
    assert "positive raises price" in text
    assert "change of the mean of price per unit" in text
    assert "--scoring is of classes, but --loss least_squares says numbers" in fails(
        "path", data, *numbers, "--cv", 3, "--scoring", "auc"
    )
    message = fails("path", data, "--target", "price")
    assert "cannot be classes; say --loss least_squares, or --loss poisson if" in message


def test_signs_are_asked_for_by_name(run, write):
    """The options would be ignored, ask for the other sign, or not be told in the reports."""
    path, common = write("price"), ["--target", "price", "-k", 2, "--no-cv"]
    text = " ".join(
        run("select", path, *common, "--signs", "all=+", "--prove", "--gap", 0,
            "--output", "m.npz", "--certificate", "c.npz").stdout.split()
    )  # fmt: skip
    assert "no other 2 features with the signs asked for lower the objective" in text
    said = " ".join(run("verify", "c.npz", path, "--target", "price").stdout.split())
    assert "coefficients: at least 0 for 6 of the features of the data" in said
    certified = " ".join(run("certify", "m.npz", path).stdout.split())
    assert "2 features with the signs asked for lower the objective" in certified
    by_name = ["--signs", "x4=+", "--signs", "x0=-", "--signs", "x1=-"]
    run("select", path, *common, *by_name, "--output", "some.npz")
    certified = json.loads(run("certify", "some.npz", path, "--json").stdout)
    assert certified["certificate"]["n_signed"] == 3
    document = json.loads(run("select", path, *common, *by_name, "--no-save", "--json").stdout)
    wanted = BudgetRegressor([2], signs={4: 1, 0: -1, 1: -1}).fit(X, COLUMNS["price"])
    found = [row["index"] for row in document["models"][0]["features"]]
    assert sorted(found) == wanted.support_.tolist()
    assert document["models"][0]["certificates"][0]["n_signed"] == 3
    more = write("price", "further", further=X[:, 0] ** 2)
    told = " ".join(run("certify", "some.npz", more).stderr.split())
    assert "some.npz was selected with signs of coefficients; the certificate is of models" in told


def test_signs_that_cannot_be(fails, write):
    """Contradictions and methods without signs would be found out after the work, or never."""
    path = write("price", "grade")
    common = ["select", path, "--target", "price", "-k", 2, "--no-save"]
    for options, message in (
        (
            ["--signs", "x1=+", "--signs", "x1=-"],
            "--signs must have one sign for a feature; got both for 'x1'",
        ),
        (["--signs", "x1=+", "--signs", "all=-"], "--signs all=- leaves no features for other"),
        (["--signs", "x9=+"], "--signs: no feature 'x9'"),
        (["--signs", "x1=+,x2=-"], "say --signs x1=+ --signs x2=-."),
        (["--signs", "x1=+", "--method", "greedy"], "--signs needs --method pool or l0"),
    ):
        assert message in fails(*common, *options)
    measured = ["select", path, "--target", "grade", "-k", 2, "--no-save", "--signs", "x1=+"]
    assert "which has no --signs" in fails(*measured, "--measure", "f1")
    assert "Use --per-class" in fails(*measured, "--task", "classes", "--shared")


def test_paths_of_survival_times_and_of_counts(run, fails, write):
    """The l1 path would not know times, or leave the exposure out."""
    data = write("days", "died", "claims", "years")
    survival = ["--time", "days", "--event", "died"]
    document = json.loads(run("path", data, *survival, "--cv", 3, "--points", 10, "--json").stdout)
    names = [f"x{j}" for j in range(6)] + ["claims", "years"]
    columns = np.column_stack([X, COLUMNS["claims"], COLUMNS["years"]])
    model = L1SurvivalAnalysisCV(10, cv=3, standardize=True).fit(columns, SURVIVAL)
    assert document["parameters"]["loss"] == "cox"
    assert document["parameters"]["scoring"] == "deviance"
    assert document["chosen"]["C"] == pytest.approx(model.C_)
    found = {row["name"]: row["coefficient"] for row in document["chosen"]["features"]}
    assert found == pytest.approx({names[j]: model.coef_[j] for j in model.support_})
    text = words(run("path", data, *survival, "--ties", "efron", "--points", 5))
    assert "C weighs the cox efron loss" in text
    text = words(run("path", data, *survival, "--cv", 3, "--scoring", "c_index", "--points", 5))
    assert "hazard ratio" in text
    counts = ["--loss", "poisson", "--target", "claims", "--exposure", "years"]
    document = json.loads(run("path", data, *counts, "--points", 8, "--json").stdout)
    columns = np.column_stack([X, COLUMNS["days"], COLUMNS["died"]])
    path = l1_path(
        columns, COLUMNS["claims"], offset=np.log(YEARS), loss="poisson", Cs=8, standardize=True
    )
    explained = [point["explained"] for point in document["path"]]
    np.testing.assert_allclose(explained, path.explained, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--loss", "cox", "--time", "days"], "--loss cox is of survival times: say --event"),
        (["--loss", "poisson", "--time", "days"], "--time is of --loss cox; got --loss poisson"),
        (["--offset", "years"], "--offset and --exposure are one or the other"),
        (["--loss", "lasso"], "--loss must be one of logistic, squared_hinge"),
        (["--time", "days", "--event", "died", "--ties", "exact"], "--ties must be breslow or"),
        (["--time", "days", "--event", "died", "--target", "price"], "--target is not of surv"),
        (["--time", "days", "--event", "died", "--no-intercept"], "--no-intercept is not of"),
        (
            ["--time", "days", "--event", "died", "--class-weight", "balanced"],
            "--class-weight is of classes, but --loss cox says survival",
        ),
    ],
)
def test_a_path_refuses_what_its_loss_has_not(fails, write, arguments, message):
    """Half of a target would be left out without a word."""
    assert message in fails("path", write("days", "died", "price", "years"), *arguments)


def test_the_command_has_words_for_every_loss():
    """A loss would be added to the estimators alone, or have no words in reports."""
    assert set(LOSSES) == {loss.name for loss in OF_NUMBERS}
    assert {loss.name for loss in OF_NUMBERS if loss.variance_power is not None} <= set(RATIOS)


def test_dropped_columns_are_no_features(run, fails, write):
    """A cost that is known only afterwards, or a column with gaps, would be in the model."""
    gaps = ["", *map(str, COLUMNS["price"][1:])]
    data = write("claims", "years", "died", "status", "price", price=gaps)
    command = ("select", data, "--target", "claims", "--exposure", "years", "-k", 2, "--no-cv")
    assert "column 'price', line 2: a value is missing (1 of" in fails(*command)
    dropped = ("--drop", "status", "--drop", "price", "--drop", "died")
    file = ("--certificate", "c.npz", "--output", "m.npz")
    found = json.loads(run(*command, *dropped, *file, "--json").stdout)
    assert found["data"]["n_features"] == X.shape[1]
    assert "verified" in run("verify", "c.npz", data, *dropped).stdout
    assert "Leave out those that were dropped there with --drop NAME" in fails(
        "verify", "c.npz", data, "--drop", "status", "--drop", "price"
    )
    run("predict", "m.npz", data)  # which has its features by their names
    path = ("path", data, "--target", "claims", "--exposure", "years", "--loss", "poisson")
    assert f"{X.shape[1]} features" in run(*path, *dropped, "--points", 3).stdout
    assert "--drop NAME" in fails(*path, "--points", 3)
    assert "column 'claims' is asked for" in fails(*command, "--drop", "claims")
    assert "no column 'dead'. Did you mean 'died'?" in fails(*command, "--drop", "dead")
    assert "only columns of CSV, JSON lines, Excel or Parquet can be dropped" in fails(
        "select", save_arrays(), "-k", 2, "--drop", "a"
    )
    assert "leave out --drop" in fails("select", "demo", "-k", 2, "--drop", "a")


def save_arrays():
    np.savez("arrays.npz", X=X, y=COLUMNS["died"])
    return "arrays.npz"


def test_predictions_without_their_exposure_are_refused(run, fails, write):
    """Rates of one year would be taken for counts, and a score of them for that of the model."""
    command = ("--target", "claims", "--exposure", "years", "-k", 2, "--no-cv", "--output", "m.npz")
    run("select", write("claims", "years"), *command)
    assert run("predict", "m.npz", write("claims", "years")).stderr.count("exposure") == 0
    alone = write("claims")
    for command in ("predict", "evaluate"):
        said = " ".join(fails(command, "m.npz", alone).split())
        assert "no column years (exposure), which the model was fitted with" in said
        assert "--exposure COLUMN, or add one, of 1 in every row" in said
    assert run("predict", "m.npz", write("claims", "years", years=np.ones(len(X)))).stdout

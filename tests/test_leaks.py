"""Columns that tell the target as only a part of it could, and columns that number the rows."""

import warnings

import numpy as np
import pandas as pd
import pytest

from conftest import write_csv
from golub import GOLUB, load_golub
from zeronorm import BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis, L1Regressor
from zeronorm.data import as_design
from zeronorm.estimators.leaks import (
    LeakWarning,
    find,
    numbering,
    question_of_classes,
    question_of_numbers,
    question_of_survival,
    strength,
    suspects,
)
from zeronorm.estimators.survival import c_index

N, P = 200, 30
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, P))
SIGNAL = X[:, 0] - X[:, 1] + X[:, 2] + RNG.standard_normal(N)
CLASSES = (SIGNAL > 0).astype(int)
TIME = RNG.exponential(np.exp(-0.5 * X[:, 0]))
CENSORED = RNG.exponential(2.0, N)
EVENT = CENSORED > TIME
SURVIVAL = np.rec.fromarrays([EVENT, np.minimum(TIME, CENSORED)], names=["event", "time"])
COUNTS = RNG.poisson(np.exp(-1.5 + 0.5 * X[:, 0]))
NOISE = RNG.standard_normal(N)
CHEAP = ("--no-cv", "--no-save")


def warned(model, data, y):
    """Return what a fit says of leaks; other warnings are errors."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(data, y)
    return [str(one.message) for one in found if one.category is LeakWarning]


def frame(name, column):
    """Return the data with one more column in their middle."""
    found = pd.DataFrame(X, columns=[f"v{j}" for j in range(P)])
    found.insert(P // 2, name, column)
    return found


ENTRY = RNG.uniform(0, 5, N)
END = ENTRY + SURVIVAL["time"]
FLAG = RNG.random(N) < np.where(CLASSES == 1, 0.95, 0.02)
COSTS = COUNTS * RNG.lognormal(7.0, 1.0, N)
PLANTED = {
    "a copy with noise, classes": (BudgetClassifier, CLASSES, "v", CLASSES + 0.2 * NOISE),
    "a copy with noise, numbers": (BudgetRegressor, SIGNAL, "v", SIGNAL + 0.2 * NOISE),
    "the same by l1": (L1Regressor, SIGNAL, "v", SIGNAL + 0.2 * NOISE),
    "a date of death, means for the living": (
        BudgetSurvivalAnalysis, SURVIVAL, "date_of_death", np.where(EVENT, END, END[EVENT].mean()),
    ),
    "time under observation": (
        BudgetSurvivalAnalysis, SURVIVAL, "v", SURVIVAL["time"] * (1 + 0.05 * NOISE),
    ),
    "a cost, 0 where nothing happened": (BudgetRegressor, COUNTS, "v", COSTS),
    "the square of another response": (BudgetRegressor, SIGNAL, "v", np.exp(0.3 * SIGNAL)),
    "a flag set after the outcome": (BudgetClassifier, CLASSES, "v", FLAG),
    "a flag set after death": (BudgetSurvivalAnalysis, SURVIVAL, "v", EVENT),
}  # fmt: skip


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_leak_is_named(kind):
    """A model of the target by itself would be a discovery with a score near 1."""
    make, y, name, column = PLANTED[kind]
    given = {"calibrate": False} if make is BudgetClassifier else {}
    given |= {"C": 1.0} if make is L1Regressor else {"n_features": 3}
    if y is COUNTS:
        given["loss"] = "poisson"
    (said,) = warned(make(**given), frame(name, column), y)
    assert f"'{name}'" in said
    assert "Leave it out of X if it was made from the target" in said
    plain = pd.DataFrame(X, columns=[f"v{j}" for j in range(P)])
    assert warned(make(**given), plain, y) == []


def test_a_column_without_a_name_has_a_number():
    """The warning would name nothing that a user can find."""
    data = X.copy()
    data[:, 7] = CLASSES + 0.2 * NOISE
    (said,) = warned(BudgetClassifier(3, calibrate=False), data, CLASSES)
    assert said.startswith("The column 'x7' tells the classes apart")


def test_genes_that_separate_classes_are_no_leak():
    """Some gene of thousands always tells the classes: each study of them would have an alarm."""
    golub = load_golub()
    for k in (1, 5, 20):
        assert warned(BudgetClassifier(k, calibrate=False), golub.X, golub.y) == []


def test_noise_is_no_leak():
    """The best of many columns of noise would be doubted where rows are few."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        noise, y = rng.standard_normal((24, 100)), np.arange(24) % 2
        assert find(as_design(noise), np.arange(100), y, "classes") == []
        assert find(as_design(noise), np.arange(100), rng.standard_normal(24), "numbers") == []


def test_two_dates_that_are_the_time_are_named():
    """Dates of diagnosis and of the last visit would be the best predictors of survival."""
    data = frame("first", ENTRY).assign(last=END)
    said = " ".join(warned(BudgetSurvivalAnalysis(6), data, SURVIVAL))
    assert "'first'" in said
    assert "'last'" in said
    assert "they add up to it" in said
    assert warned(BudgetSurvivalAnalysis(6), frame("first", ENTRY), SURVIVAL) == []


def test_the_rule_knows_numbers_of_rows_and_columns():
    """The same column would be a leak among 2,000 columns of 24 rows, where chance makes it."""
    y = np.arange(24) % 2
    few, many = np.random.default_rng(1).standard_normal((2, 24, 2000))
    data = few[:, :10].copy()
    data[:, 3] = y + 0.1 * many[:, 0]
    assert [one.features for one in find(as_design(data), [3], y, "classes")] == [(3,)]
    data = few.copy()
    data[:, 3] = y + 0.1 * many[:, 0]
    assert find(as_design(data), [3], y, "classes") == []


def test_concordance_is_harrells_and_auc():
    """Levels would be of another scale than the scores that users know."""
    target = np.column_stack([SURVIVAL["time"], EVENT, np.zeros(N)])
    harrell = c_index(SURVIVAL, -X[:, 0])
    own = question_of_survival(target).concordance(X[:, 0])
    assert own == pytest.approx(max(harrell, 1 - harrell), abs=1e-12)
    from sklearn.metrics import roc_auc_score

    auc = roc_auc_score(CLASSES, X[:, 0])
    assert question_of_classes(CLASSES).concordance(X[:, 0]) == pytest.approx(auc, abs=1e-12)
    from scipy.stats import kendalltau

    tau = kendalltau(SIGNAL, X[:, 0]).statistic
    own = question_of_numbers(SIGNAL, "y").concordance(X[:, 0])
    assert own == pytest.approx(0.5 + tau / 2, abs=1e-12)


def test_the_chance_level_is_rarely_reached():
    """A level of chance that noise passes more often than one time in a thousand would alarm."""
    rng = np.random.default_rng(3)
    for question in (question_of_classes(CLASSES[:60]), question_of_numbers(SIGNAL[:60], "y")):
        best = [
            max(question.concordance(column) for column in rng.standard_normal((20, 60)))
            for _ in range(100)
        ]
        assert sum(one >= question.chance(20) for one in best) <= 1
        assert max(best) + 0.1 > question.chance(20)
    assert strength(0.5) == pytest.approx(0.0)
    assert strength(0.9) == pytest.approx(1.8124, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "kind", "targets", "is_one"),
    [
        ("date_of_death", "survival", (), True),
        ("DaysToDeath", "survival", (), True),
        ("last follow-up", "survival", (), True),
        ("date_of_birth", "survival", (), False),
        ("age", "survival", (), False),
        ("claim_cost", "numbers", (), True),
        ("veh_value", "numbers", (), False),
        ("status_code", "classes", ("status",), True),
        ("churn_reason", "classes", ("churn",), True),
        ("readmission", "classes", ("readmitted",), True),
        ("group", "classes", ("group",), False),
        ("x1", "classes", ("y",), False),
    ],
)
def test_names_of_outcomes(name, kind, targets, is_one):
    """A name alone says nothing, but a column of such a name needs less to be doubted."""
    assert suspects([name], kind, targets) == [is_one]


def test_a_name_lowers_the_level():
    """A date of death that is a rough measure of the time would not be named."""
    column = SURVIVAL["time"] * np.exp(0.5 * NOISE)
    assert warned(BudgetSurvivalAnalysis(3), frame("v", column), SURVIVAL) == []
    (said,) = warned(BudgetSurvivalAnalysis(3), frame("last_contact", column), SURVIVAL)
    assert "has the name of an outcome" in said


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (np.arange(20), "the same step"),
        (np.arange(20.0)[::-1], "the same step"),
        (1000 + 3 * np.arange(20), "the same step"),
        (np.arange(20) ** 2, "each larger"),
        (-(np.arange(20) ** 2), "each smaller"),
        (np.arange(9), ""),
        (np.r_[np.arange(19), 3], ""),
        (np.arange(20) // 2, ""),
        (np.sort(np.random.default_rng(0).standard_normal(20)), ""),
    ],
)
def test_numbers_of_rows_are_known(column, said):
    """Row numbers of a sorted file would be its finding; sorted measurements are none."""
    found = numbering(np.asarray(column, float))
    assert (said in found) if said else not found


def test_estimators_warn_of_row_numbers_and_keep_them():
    """An estimator that drops columns would have other coefficients than its X has columns."""
    order = np.argsort(SIGNAL)
    data = X[order].copy()
    data[:, 4] = np.arange(N)
    model = BudgetRegressor(2)
    (said,) = warned(model, data, SIGNAL[order])
    assert "'x4' is a number of the row" in said
    assert 4 in model.support_


# ----------------------------------------------------------------------------- of the command


def table(n=60):
    """Return columns of numbers, and classes in the order of the rows, as cohorts come."""
    rng = np.random.default_rng(1)
    columns = {f"x{j}": rng.standard_normal(n).tolist() for j in range(4)}
    return {**columns, "y": ["ALL"] * (n - n // 3) + ["AML"] * (n // 3)}


def notes_of(result):
    """Return the notes of a run, in one line."""
    return " ".join(result.stderr.split())


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx", "jsonl"])
def test_row_numbers_are_left_out(run, tmp_path, kind, first):
    """`Unnamed: 0` would be the finding of every file that pandas wrote."""
    data = pd.DataFrame({"x0": table()["x0"], "nr": np.arange(60.0) + first, **table()})
    path = tmp_path / f"d.{kind}"
    if kind == "jsonl":
        data.to_json(path, orient="records", lines=True)
    elif kind == "csv":
        data.to_csv(path, index=False)
    else:
        pytest.importorskip("openpyxl" if kind == "xlsx" else "pyarrow")
        getattr(data, "to_excel" if kind == "xlsx" else "to_parquet")(path, index=False)
    found = run("select", path.name, "--target", "y", "-k", 1, *CHEAP)
    assert f"column 'nr' holds {first}, {first + 1}, {first + 2}, ..." in notes_of(found)
    assert " 4 features " in found.stdout
    assert "nr" not in found.stdout.split("feature")[-1].split("certificate")[0].split()


def test_row_numbers_can_be_kept(run, tmp_path):
    """Points in time of a small study would be lost."""
    write_csv(tmp_path / "d.csv", {"week": list(range(1, 61)), **table()})
    kept = run("select", "d.csv", "--target", "y", "-k", 1, *CHEAP, "--keep", "week")
    assert "week" in kept.stdout
    assert "week" not in notes_of(kept)
    forced = run("select", "d.csv", "--target", "y", "-k", 2, *CHEAP, "--force", "week")
    assert " 5 features " in forced.stdout


@pytest.mark.parametrize("missing", [False, True])
def test_row_numbers_of_chosen_rows_are_left_out(run, tmp_path, missing):
    """--where would leave gaps in the numbers, which then pass for measurements."""
    columns = {"nr": list(range(60)), **table()}
    given = ()
    if missing:
        columns["x1"][50] = ""
        given = ("--missing", "mean")
    write_csv(tmp_path / "d.csv", columns)
    found = run("select", "d.csv", "--target", "y", "-k", 1, *CHEAP, "--where", "x0 > 0", *given)
    assert "column 'nr' holds numbers of the rows of the file" in notes_of(found)
    assert " 4 features " in found.stdout


@pytest.mark.parametrize("command", ["path", "discover", "cv"])
def test_other_commands_leave_them_out_as_well(run, tmp_path, command):
    """A command of the same data would have another finding than select."""
    write_csv(tmp_path / "d.csv", {"nr": list(range(60)), **table()})
    k = () if command in ("path", "discover") else ("-k", 2)
    found = run(command, "d.csv", "--target", "y", *k)
    assert "column 'nr' holds 0, 1, 2, ..." in notes_of(found)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (np.arange(60)[::-1], "falls by 1 from each row to the next"),
        (np.arange(100, 400, 5), "rises by 5 from each row to the next"),
        (np.arange(60) ** 2 + 7, "each larger than the one before"),
    ],
)
def test_other_numbers_in_order_have_a_note(run, tmp_path, numbers, said):
    """Identifiers that rise with the classes would be selected without a word."""
    write_csv(tmp_path / "d.csv", {**table(), "id": numbers.tolist()})
    notes = notes_of(run("select", "d.csv", "--target", "y", "-k", 1, *CHEAP))
    assert notes.count("column 'id'") == 1
    assert said in notes


def test_models_without_row_numbers_predict_from_the_same_file(run, tmp_path):
    """A model would look for the column that was left out, or take another one for it."""
    write_csv(tmp_path / "d.csv", {"nr": list(range(60)), **table()})
    run("select", "d.csv", "--target", "y", "-k", 1, "--no-cv", "-o", "m.npz")
    assert "60 samples" in run("predict", "m.npz", "d.csv").stdout


def test_a_date_of_death_is_named_by_the_command(run, tmp_path):
    """Survival would be predicted by its date, with a C near 1 and without a word."""
    start = np.datetime64("2010-01-01")
    days = np.ceil(SURVIVAL["time"] * 400).astype(int)
    date = start + np.where(EVENT, (ENTRY * 30).astype(int) + days, 5000)
    columns = {f"x{j}": X[:, j].tolist() for j in range(5)}
    columns |= {"died_on": date.astype(str).tolist(), "days": days.tolist()}
    columns["event"] = EVENT.astype(int).tolist()
    write_csv(tmp_path / "d.csv", columns)
    survival = ("--time", "days", "--event", "event")
    notes = notes_of(run("select", "d.csv", *survival, "-k", 2, *CHEAP))
    assert "column 'died_on: days since" in notes
    assert "leave out by --drop" in notes


def test_the_page_says_it_first(run, tmp_path):
    """A reader of the page would believe the score before the doubt about it."""
    columns = table()
    rng = np.random.default_rng(2)
    code = np.array([label == "AML" for label in columns["y"]])
    columns["state"] = (code + 0.1 * rng.standard_normal(60)).tolist()
    order = rng.permutation(60)
    write_csv(tmp_path / "d.csv", {name: [own[i] for i in order] for name, own in columns.items()})
    given = ("select", "d.csv", "--target", "y", "-k", 1, *CHEAP)
    run(*given, "--report", "page.html")
    page = (tmp_path / "page.html").read_text()
    main = page[page.index("<main>") :]
    assert (
        main.index("Read this first")
        < main.index("&#x27;state&#x27; tells")
        < main.index("Summary")
    )
    run(*given, "--drop", "state", "--report", "clean.html")
    assert "Read this first" not in (tmp_path / "clean.html").read_text()


def test_more_features_than_samples_are_told(run):
    """So many features fit any target, and nobody would be told."""
    said = "40 features are more than the 38 samples"
    assert said in notes_of(run("select", GOLUB, "-k", 40, *CHEAP))
    assert said not in notes_of(run("select", GOLUB, "-k", 5, *CHEAP))


def test_the_least_p_value_is_told(run, tmp_path):
    """p = 0.0476 of 20 permutations would pass for evidence that is just significant."""
    rng = np.random.default_rng(0)
    signal = rng.standard_normal(60)
    columns = {"a": signal.tolist(), "b": rng.standard_normal(60).tolist()}
    columns["y"] = np.where(signal + 0.3 * rng.standard_normal(60) > 0, "p", "q").tolist()
    write_csv(tmp_path / "d.csv", columns)
    given = ("cv", "d.csv", "--target", "y", "-k", 1, "--permutations", 9)
    assert "9 permutations can show no smaller p than 1/10" in " ".join(run(*given).stdout.split())


def test_levels_alike_are_told(run, tmp_path):
    """`iia` next to `IIA` would be a level of its own, which no row of another file has."""
    stage = ["IIA", "iia", "III", "IIA"] * 15
    write_csv(tmp_path / "d.csv", {**table(), "stage": stage})
    notes = notes_of(run("select", "d.csv", "--target", "y", "-k", 1, *CHEAP))
    assert "column 'stage': the levels 'IIA', 'iia' differ only in case or blanks" in notes
    write_csv(tmp_path / "d.csv", {**table(), "stage": ["I", "II", "III"] * 20})
    assert "differ only" not in notes_of(run("select", "d.csv", "--target", "y", "-k", 1, *CHEAP))


def test_other_sheets_are_told(run, tmp_path):
    """The second half of a study on another sheet would be unseen."""
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "d.xlsx") as book:
        pd.DataFrame(table()).to_excel(book, sheet_name="calibration", index=False)
        pd.DataFrame(table()).to_excel(book, sheet_name="validation", index=False)
    given = ("select", "d.xlsx", "--target", "y", "-k", 1, *CHEAP)
    assert (
        "the sheet 'calibration' is read, the first of 2; --layer NAME reads another: 'validation'"
        in notes_of(run(*given))
    )
    assert "the first of 2" not in notes_of(run(*given, "--layer", "calibration"))

"""The command: what it prints, what it writes, how it fails."""

import csv
import dataclasses
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from dataclasses import fields, replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import f1_score

import zeronorm
import zeronorm.cli
from conftest import COMMAND as COMMANDS
from conftest import slow
from golub import GOLUB, load_golub
from zeronorm import BudgetClassifier, MeasureClassifier, persistence
from zeronorm.cli.messages import ProgressBar
from zeronorm.cli.options import (
    FEATURES,
    FILES,
    PROBLEM,
    READING,
    SCORE,
    SEARCH,
    OutputOptions,
    ReadingOptions,
)
from zeronorm.core.results import Progressed
from zeronorm.model_selection.cross_validation import cross_validate, fold_models
from zeronorm.published import MinimaxLogisticRegression
from zeronorm.solvers import branch_and_bound
from zeronorm.solvers.branch_and_bound import BranchAndBound


@pytest.fixture(autouse=True)
def interruptible():
    """A shell that runs the tests in the background has SIGINT ignored, in their commands too."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.fixture
def table(tmp_path):
    """Write a small CSV file with two classes; return its path."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12))
    y = np.where(X[:, 3] - X[:, 7] + 0.3 * rng.standard_normal(60) > 0, "yes", "no")
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([f"x{j}" for j in range(12)] + ["status"])
        writer.writerows([*map(repr, row), label] for row, label in zip(X.tolist(), y, strict=True))
    return path


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


# --- select --------------------------------------------------------------------------------


def test_the_demo(run, tmp_path):
    """The first command that a newcomer types would not say what it found."""
    text = run("select", GOLUB, "--features", 8, calibrate=True).stdout
    assert "38 samples \u00d7 3,051 features" in text
    assert "ALL 27, AML 11" in text
    assert "positive favours AML" in text
    assert "X95735_at" in text
    assert "Zyxin" in text
    assert "in 5-fold cross-validation, features selected inside every fold" in " ".join(
        text.split()
    )
    assert "(C = 0.1, standardised columns)" in " ".join(text.split())
    assert "not accuracy on new data." in " ".join(text.split())
    assert "zeronorm predict golub-k8.model.npz DATA" in text
    assert [path.name for path in tmp_path.iterdir()] == ["golub-k8.model.npz"]
    text = run("predict", "golub-k8.model.npz", GOLUB).stdout
    assert "accuracy 1.000" in text
    assert "accuracy 1.0000" not in text  # as select says it


@pytest.mark.parametrize("width", [40, *slow(60, 120)])
def test_no_line_is_wider_than_the_terminal(run, monkeypatch, width):
    """Tables would be broken into pieces by a narrow terminal."""
    monkeypatch.setenv("COLUMNS", str(width))
    for command in (
        ("select", GOLUB, "-k", "3,5", "--rule", "all"),
        ("predict", "golub-k5.model.npz", GOLUB, "--proba"),
        ("info", "golub-k5.model.npz"),
        ("select", GOLUB, "-k", 5, "--prove"),
        ("verify", "golub-k5.certificate.npz", GOLUB),
        ("path", GOLUB),
        ("path", GOLUB, "--cv", 3, "--points", 30),
    ):
        lines = run(*command, calibrate=True).stdout.splitlines()
        assert max(map(len, lines)) <= width


def test_json(run):
    """A program that reads --json would miss a field, or find another number than the text has."""
    result = run("select", GOLUB, "-k", "2,5", "--rule", "all", "--json")
    document = json.loads(result.stdout)
    assert result.stderr == ""
    assert document["zeronorm"] == zeronorm.__version__
    assert document["data"]["n_features"] == 3051
    assert document["classes"] == ["ALL", "AML"]
    small, large = document["models"]
    assert [small["n_features"], large["n_features"]] == [2, 5]
    assert [row["rank"] for row in large["features"]] == [1, 2, 3, 4, 5]
    effects = [abs(row["coefficient_per_sd"]) for row in large["features"]]
    assert effects == sorted(effects, reverse=True)
    golub = load_golub()
    for row in large["features"]:
        assert row["name"] == golub.feature_names[row["index"]]
        assert row["description"] == golub.descriptions[row["index"]]
        deviation = golub.X[:, row["index"]].astype(float).std()
        assert row["coefficient_per_sd"] == pytest.approx(row["coefficient"] * deviation)
    certificate = large["certificates"][0]
    assert certificate["C"] == 0.1
    assert certificate["bound"] <= certificate["objective"]
    validation = large["cross_validation"]
    assert len(validation["scores"]) == validation["folds"] == 5
    assert validation["mean"] == pytest.approx(np.mean(validation["scores"]))
    assert validation["standard_error"] == pytest.approx(
        np.std(validation["scores"], ddof=1) / np.sqrt(5)
    )
    phases = document["seconds"]
    assert sum(v for k, v in phases.items() if k != "total") <= phases["total"] * 1.01
    model = persistence.load(large["file"])
    np.testing.assert_array_equal(sorted(row["index"] for row in large["features"]), model.support_)


def test_the_model_is_that_of_the_estimator(run):
    """The command would fit another model than the library."""
    command = ("select", GOLUB, "-k", 4, "--no-cv", "-o", "m.npz", "--C", "0.2", "--refit-c", "3")
    run(*command, calibrate=True)
    golub = load_golub()
    expected = zeronorm.BudgetClassifier(4, C=0.2, refit_C=3.0).fit(golub.X, golub.y)
    model = persistence.load("m.npz")
    np.testing.assert_array_equal(model.support_, expected.support_)
    np.testing.assert_array_equal(
        model.decision_function(golub.X), expected.decision_function(golub.X)
    )
    assert model.feature_names == tuple(golub.feature_names[j] for j in expected.support_)
    assert model.metadata["certificates"][0]["C"] == 0.2


def test_several_sizes(run, tmp_path):
    """Sizes would overwrite each other's files, or the report name no choice."""
    text = run("select", GOLUB, "-k", "8,2,4", "-o", "out.model.npz", "--rule", "all").stdout
    assert "the largest of the 3 sizes from 2 to 8" in text
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"out-k{k}.model.npz" for k in (2, 4, 8)]
    for k in (2, 4, 8):
        assert persistence.load(f"out-k{k}.model.npz").support_.size == k


@pytest.mark.parametrize("rule", ["1se", "best"])
def test_the_folds_choose_among_the_sizes(run, tmp_path, rule):
    """Another model would be shown, written or used than the one that is told."""
    sizes = ["1", "2", "5", "10"]
    options = () if rule == "1se" else ("--rule", rule)  # 1se is the default
    result = run("select", GOLUB, "-k", ",".join(sizes), *options)
    golub = load_golub()
    estimator = BudgetClassifier([1, 2, 5, 10])
    k = cross_validate(estimator, golub.X, golub.y).choose(rule)
    assert k == 10
    (line,) = [line for line in result.stdout.splitlines() if line.endswith("chosen")]
    assert line.split()[0] == str(k)
    assert f"{k} features   positive favours AML" in result.stdout
    text = " ".join(result.stdout.split())
    assert f"size {k} features: the {'best' if rule == 'best' else 'smallest size within'}" in text
    assert os.listdir() == [f"golub-k{k}.model.npz"]
    model = persistence.load(f"golub-k{k}.model.npz")
    np.testing.assert_array_equal(model.support_, estimator.fit(golub.X, golub.y).path_[k].support)
    document = json.loads(run("select", GOLUB, "-k", "1,2,5,10", *options, "--json").stdout)
    assert (document["rule"], document["chosen"]) == (rule, k)


def test_folds_that_cannot_be_had_choose_nothing(run, fails, tmp_path):
    """The largest size would be told as the one that the folds chose."""
    rows = [f"{i},{i * i % 7},{'rare' if i == 5 else 'usual'}" for i in range(12)]
    (tmp_path / "d.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    command = ("select", "d.csv", "--target", "y")
    message = "--rule 1se chooses by cross-validation, which these data do not allow"
    assert message in fails(*command)
    assert "the class rare has one sample" in fails(*command, "-k", "1:2")
    assert os.listdir() == ["d.csv"]
    assert "no cross-validation" in run(*command, "-k", 1).stderr
    assert json.loads(run(*command, "--rule", "bic", "--json").stdout)["rule"] == "bic"


def test_sizes_by_themselves(run):
    """Without --features the folds must compare sizes that the rows can bear."""
    document = json.loads(run("select", GOLUB, "--json", "--force", "X95735_at").stdout)
    sizes = [model["n_features"] for model in document["models"]]
    assert sizes == [1, 2, 3, 4, 5, 6, 8, 10, 12, 15]
    assert document["chosen"] in sizes
    assert os.listdir() == [f"golub-k{document['chosen']}.model.npz"]
    by_criterion = ("select", GOLUB, "--rule", "ebic", "--no-cv", "--no-save", "--json")
    assert json.loads(run(*by_criterion).stdout)["rule"] == "ebic"


def test_a_criterion_chooses_among_the_sizes(run, tmp_path):
    """Another model would be shown or written, or all of them."""
    arguments = ("select", GOLUB, "-k", "1:5", "--method", "l0", "--rule", "aic", "--no-cv")
    text = run(*arguments).stdout
    (line,) = [line for line in text.splitlines() if line.endswith("chosen")]
    golub = load_golub()
    model = zeronorm.published.L0LogisticRegression(range(1, 6), criterion="aic").fit(
        golub.X, golub.y
    )
    k = model.support_.size
    assert 1 < k < 5
    assert line.split()[0] == str(k)
    place = k - 1
    assert line.split()[1] == f"{model.criteria_['log_loss'][place]:.2f}"
    assert line.split()[2] == f"{model.criteria_['aic'][place]:.2f}"
    assert f"{k} features   positive favours AML" in text
    assert re.search(rf"size +{k} features: the smallest AIC of the 5 sizes from 1 to 5\n", text)
    assert os.listdir() == [f"golub-k{k}.model.npz"]
    np.testing.assert_array_equal(
        persistence.load(f"golub-k{k}.model.npz").support_, model.support_
    )
    document = json.loads(run(*arguments[:3], 5, *arguments[4:], "-o", "m.npz", "--json").stdout)
    assert document["chosen"] == k
    assert [row["aic"] for row in document["criteria"]] == model.criteria_["aic"].tolist()
    assert [model["file"] for model in document["models"]] == [
        "m.npz" if size == k else None for size in range(1, 6)
    ]
    assert document["rule"] == "aic"


def test_a_criterion_with_folds_and_classes(run, multiclass):
    """The table would leave out the criterion where folds are shown too."""
    X, y = multiclass
    np.savez("m.npz", X=X, y=y)
    text = run("select", "m.npz", "-k", "1:2", "--rule", "bic", "--cv", 3).stdout
    assert re.search("features +log-loss +BIC +training +cross-validated +certified gap", text)
    assert text.count("chosen") == 1


def test_the_largest_size_chosen_is_a_warning(run):
    """A user would not learn that the range of sizes was too short."""
    text = run("select", GOLUB, "-k", 2, "--rule", "aic", "--no-cv", "--no-save").stdout
    assert "it is the largest of them, so that more may be better" in " ".join(text.split())


def test_ranges_of_sizes(run):
    """A range in -k would be read as other sizes."""
    document = json.loads(
        run("select", GOLUB, "-k", "2:4,7", "--rule", "all", "--no-cv", "--json").stdout
    )
    assert [model["n_features"] for model in document["models"]] == [2, 3, 4, 7]
    assert document["chosen"] == 7


def test_options_reach_the_estimator(run, table):
    """An option of the command would be ignored."""
    result = run(
        "select", table, "--target", "status", "-k", 3, "--force", "x1", "--force", "x5",
        "--no-intercept", "--no-standardize", "--class-weight", "balanced", "--threads", 1,
        "--cv", 3, "--no-save", "--json",
    )  # fmt: skip
    document = json.loads(result.stdout)
    names = {row["name"] for row in document["models"][0]["features"]}
    assert {"x1", "x5"} <= names
    assert document["models"][0]["intercept"] == [0.0]
    assert document["models"][0]["certificates"][0]["n_forced"] == 2
    assert document["models"][0]["file"] is None
    assert document["models"][0]["cross_validation"]["folds"] == 3
    assert document["parameters"]["class_weight"] == "balanced"
    assert document["parameters"]["standardize"] is False
    assert os.listdir() == ["table.csv"]


def test_csv_and_its_predictions(run, table):
    """Columns in another order would be predicted from, or names be lost."""
    text = run("select", table, "--target", "status", "-k", 2, "--no-cv").stdout
    assert "x3" in text
    assert "x7" in text
    # The model finds its features by name in a file with other columns in another order.
    head, *lines = rows_of(table)
    rows = [dict(zip(head, line, strict=True)) for line in lines]
    with open("new.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ["who", "x7", "x3"])
        writer.writeheader()
        writer.writerows(
            {"who": f"p{i}", "x3": row["x3"], "x7": row["x7"]} for i, row in enumerate(rows)
        )
    full = json.loads(run("predict", "table-k2.model.npz", table, "--json").stdout)
    few = json.loads(run("predict", "table-k2.model.npz", "new.csv", "--json").stdout)
    assert full["predictions"] == few["predictions"]
    assert full["accuracy"] > 0.8
    assert few["accuracy"] is None
    assert np.sum(full["confusion"]) == 60
    text = run("predict", "table-k2.model.npz", table, "-o", "p.csv", "--proba").stdout
    assert "p.csv" in text
    written = rows_of("p.csv")
    assert written[0] == ["sample", "prediction", "p(no)", "p(yes)"]
    assert [row[1] for row in written[1:]] == full["predictions"]
    assert all(abs(float(row[2]) + float(row[3]) - 1) < 1e-12 for row in written[1:])


def test_sparse_files(run, tmp_path):
    """svmlight files would be made dense, or their columns be numbered from 0."""
    rng = np.random.default_rng(0)
    X = sp.random_array((80, 30), density=0.4, rng=rng, format="csr")
    y = np.where(X[:, [4]].toarray().ravel() > 0.2, 1, -1)
    dump_svmlight_file(X, y, "a.svm", zero_based=False)
    text = run("select", "a.svm", "-k", 2).stdout
    assert "sparse float64" in text
    assert "not centred" in " ".join(text.split())
    document = json.loads(run("select", "a.svm", "-k", 1, "--json", "--no-cv").stdout)
    row = document["models"][0]["features"][0]
    assert (row["index"], row["name"]) == (4, "5")  # as the file numbers it
    assert "5" in run("info", "a-k1.model.npz").stdout
    assert json.loads(run("predict", "a-k1.model.npz", "a.svm", "--json").stdout)["accuracy"] > 0.9
    forced = json.loads(run("select", "a.svm", "-k", 1, "--force", 9, "--json", "--no-cv").stdout)
    assert forced["models"][0]["features"][0]["index"] == 8


def test_several_classes(run, multiclass):
    """The report would not say which class a feature speaks for."""
    X, y = multiclass
    np.savez("m.npz", X=X, y=np.array(["red", "green", "blue"])[y])
    text = run("select", "m.npz", "-k", 3, "--per-class").stdout
    for name in ("red", "green", "blue"):
        assert f"3 features of {name}   against the other classes" in text
        assert f"{name}: gap" in text or f"{name}: proven" in text
    document = json.loads(run("predict", "m-k3.model.npz", "m.npz", "--proba", "--json").stdout)
    assert np.shape(document["probabilities"]) == (150, 3)
    assert document["accuracy"] > 0.6
    assert "intercept" in run("info", "m-k3.model.npz").stdout


def test_labels_in_another_type(run):
    """Strings at training, numbers in the file to predict: compared as text."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    y = (X[:, 2] > 0).astype(int)
    np.savez("a.npz", X=X, y=y.astype(str))
    np.savez("b.npz", X=X, y=y)
    run("select", "a.npz", "-k", 1, "--no-cv")
    for name in ("a.npz", "b.npz"):
        document = json.loads(run("predict", "a-k1.model.npz", name, "--json").stdout)
        assert document["accuracy"] > 0.9
    np.savez("c.npz", X=X, y=y + 5)
    result = run("predict", "a-k1.model.npz", "c.npz")
    # Otherwise: an accuracy of 0 and a table of zeros that say nothing of the model.
    note = "Note: no accuracy: the model does not know the classes 5, 6; it knows 0, 1.\n"
    assert result.stderr == note
    assert "accuracy" not in result.stdout
    assert "true" not in result.stdout
    np.savez("d.npz", X=X, y=y + 1)
    result = run("predict", "a-k1.model.npz", "d.npz")
    assert f"Note: {y.sum()} samples have classes that the model does not know" in result.stderr
    assert "accuracy" in result.stdout


def test_few_samples_of_a_class(run):
    """Fewer folds than asked for would be used without a word."""
    X = np.random.default_rng(0).standard_normal((12, 5))
    np.savez("a.npz", X=X, y=[0] * 9 + [1] * 3)
    result = run("select", "a.npz", "-k", 1)
    assert "Note: 3 folds instead of 5: the class 1 has 3 samples." in result.stderr
    assert "3-fold cross-validation" in result.stdout
    # Fewer folds than usual change what the accuracy is worth: quiet or not.
    quiet = run("select", "a.npz", "-k", 1, "--quiet").stderr
    assert quiet == "Note: 3 folds instead of 5: the class 1 has 3 samples.\n"
    np.savez("b.npz", X=X, y=[0] * 11 + [1])
    result = run("select", "b.npz", "-k", 1)
    assert "Note: no cross-validation: the class 1 has one sample." in result.stderr
    assert "on the training data" in result.stdout
    # Otherwise: --quiet leaves the accuracy out without a word.
    result = run("select", "b.npz", "-k", 1, "--quiet")
    assert result.stderr == "Note: no cross-validation: the class 1 has one sample.\n"


def test_quiet_prints_results_only(run):
    """A script that asks for silence has to skip legends, timings and blank lines."""
    for command in (("select", GOLUB, "-k", 3, "-q"), ("predict", "golub-k3.model.npz", GOLUB)):
        text = run(*command, "-q").stdout
        assert text.startswith(f"{GOLUB}   38 samples")
        assert not text.endswith("\n\n")
        assert "accuracy" in text
        assert not any(word in text for word in ("per SD:", "seconds", "passes", "use it"))


def test_no_blanks_at_the_ends_of_lines(run):
    """What is piped into a file differs from line to line in blanks nobody sees."""
    for command in (
        ("select", GOLUB, "-k", "3,5", "--rule", "all"),
        ("predict", "golub-k5.model.npz", GOLUB, "--proba"),
        ("info", "golub-k5.model.npz"),
        ("info",),
        ("path", GOLUB, "--cv", 3, "--points", 30),
    ):
        assert not [line for line in run(*command).stdout.split("\n") if line != line.rstrip()]


@pytest.fixture
def patients(table, tmp_path):
    """Write the table with names of patients before the features; return its path."""
    head, *lines = rows_of(table)
    path = tmp_path / "patients.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", *head])
        writer.writerows([f"P{i}", *line] for i, line in enumerate(lines))
    return path


def test_names_of_samples(run, fails, patients):
    """A table with names of samples cannot be read, or they are taken for a feature."""
    line = fails("select", patients, "--target", "status", "-k", 2)
    assert line.endswith(", or say --id patient if it names the samples.")
    command = ("select", patients, "--target", "status", "-k", 2, "--id", "patient", "--no-cv")
    assert json.loads(run(*command, "--json").stdout)["data"]["n_features"] == 12
    run("predict", "patients-k2.model.npz", patients, "--id", "patient", "-o", "p.csv")
    assert [row[0] for row in rows_of("p.csv")[1:4]] == ["P0", "P1", "P2"]
    assert "leave out --id 'x'" in fails("select", "demo", "-k", 2, "--id", "x")


def test_labels_are_asked_for_before_cells_are_read(fails, patients):
    """The first message is about a cell, and the user drops the column of labels."""
    line = fails("select", patients, "-k", 2)
    assert line.endswith(
        "nothing says what to predict; name it with --target. The last column is 'status'; "
        "not numbers: 'patient', 'status'."
    )


def test_force_of_a_name_of_two_columns(fails, tmp_path):
    """The user is told that a column that is there does not exist."""
    (tmp_path / "a.csv").write_text("a,g,b,g,y\n1,2,3,4,u\n4,3,2,1,v\n1,2,3,5,u\n4,3,2,0,v\n")
    line = fails("select", "a.csv", "--target", "y", "-k", 1, "--force", "g")
    assert "'g' is the name of 2 columns: g (1 of 2), g (2 of 2); name one of these." in line


def test_many_features_are_cut_in_the_table_only(run):
    """--json would leave out features that the table has no room for."""
    rng = np.random.default_rng(0)
    np.savez("a.npz", X=rng.standard_normal((100, 80)), y=np.arange(100) % 2)
    assert "20 more; --json lists them all." in run("select", "a.npz", "-k", 70, "--no-cv").stdout
    document = json.loads(run("select", "a.npz", "-k", 70, "--no-cv", "--json").stdout)
    assert len(document["models"][0]["features"]) == 70


def test_hostile_names(run):
    """A name can neither drive the terminal, nor be markup, nor become a formula."""
    names = ["\x1b[31mred\x07", "[bold]b[/bold]", "new\nline", "\u202egnp.exe", "x" * 10_000]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    y = np.where(X.sum(axis=1) > 0, "=cmd|' /C calc'!A0", "[red]no")
    np.savez("a.npz", X=X, y=y, feature_names=names, sample_names=["@s"] * 40)
    for command in (
        ("select", "a.npz", "-k", 5),
        ("predict", "a-k5.model.npz", "a.npz", "--proba"),
        ("info", "a-k5.model.npz"),
        ("path", "a.npz"),
    ):
        text = run(*command).output
        assert all(character.isprintable() or character == "\n" for character in text)
        if command[0] != "predict":
            assert "\\x1b[31mred\\x07" in text
            assert "[bold]b[/bold]" in text
            assert "new\\nline" in text
        else:
            assert "[red]no" in text
    assert len(max(run("info", "a-k5.model.npz").stdout.splitlines(), key=len)) <= 100
    run("path", "a.npz", "-o", "path.csv")
    assert "[bold]b[/bold]" in rows_of("path.csv")[0]
    run("predict", "a-k5.model.npz", "a.npz", "-o", "p.csv")
    rows = rows_of("p.csv")
    assert {row[0] for row in rows[1:]} == {"'@s"}
    assert {row[1] for row in rows[1:]} == {"'=cmd|' /C calc'!A0", "[red]no"}


def test_numbers_are_no_formulas(run):
    """Negative labels would be quoted as if a spreadsheet could run them."""
    np.savez(
        "a.npz", X=np.random.default_rng(0).standard_normal((40, 5)), y=np.arange(40) % 2 * 2 - 1
    )
    run("select", "a.npz", "-k", 1, "--no-cv")
    run("predict", "a-k1.model.npz", "a.npz", "-o", "p.csv")
    assert {row[1] for row in rows_of("p.csv")} <= {"prediction", "-1", "1"}


# --- methods of select ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "head", "fact"),
    [
        ("l1", "point", "l1: the path, at the largest C with at most 5 features"),
        ("reweighted-l1", "", "reweighted-l1: the path in stages"),
        ("greedy", "step", "greedy: in every scan the feature that fits best"),
    ],
)
def test_methods(run, method, head, fact):
    """--method would run another method, or show figures of another one."""
    command = ("select", GOLUB, "-k", 5, "--method", method, "--no-cv", "--no-save")
    document = json.loads(run(*command, "--json").stdout)
    golub = load_golub()
    model = zeronorm.BudgetClassifier(5, method=method, calibrate=False).fit(golub.X, golub.y)
    rows = sorted(document["models"][0]["features"], key=lambda row: row["index"])
    assert document["parameters"]["method"] == method
    assert [row["index"] for row in rows] == model.support_.tolist()
    assert [row["coefficient"] for row in rows] == model.coef_[0, model.support_].tolist()
    assert document["models"][0]["certificates"][0]["gap"] == model.gap_
    text = run(*command).stdout
    assert fact in text
    assert f"odds ratio per SD  {head}".rstrip() + "\n" in text
    assert "block" not in text
    assert (f"; {head}: the {head}" in " ".join(text.split())) == (head != "")


def test_when_features_entered_says_what_is_true(run):
    """The l1 path of golub has no 40 features: scores choose the others."""
    text = run("select", GOLUB, "-k", 40, "--method", "l1", "--no-cv", "--no-save").stdout
    assert "point: the point of the path at which it entered, - where its" in " ".join(text.split())
    assert any(line.endswith(" -") for line in text.splitlines())


# --- a measure -----------------------------------------------------------------------------


@pytest.fixture
def rare(tmp_path):
    """Write a CSV file with 24 positives in 240 rows; return its path, X and y."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 12))
    score = X[:, 3] - X[:, 7] + 0.5 * rng.standard_normal(240)
    y = np.where(score >= np.sort(score)[-24], "fraud", "plain")
    path = tmp_path / "rare.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([f"x{j}" for j in range(12)] + ["status"])
        writer.writerows([*map(repr, row), label] for row, label in zip(X.tolist(), y, strict=True))
    return path, X, y


def test_a_measure(run, rare):
    """It would be another model than the estimator's, or the gain would be of something else."""
    path, X, y = rare
    command = (
        "select", path, "--target", "status", "-k", "2,4", "--measure", "f1", "--positive", "fraud",
        "--rule", "all",
    )  # fmt: skip
    document = json.loads(run(*command, "--json").stdout)
    fitted = MeasureClassifier("f1", [2, 4], pos_label="fraud").fit(X, y)
    beside = cross_validate(BudgetClassifier([2, 4]), X, y, measure="f1", pos_label="fraud")
    assert document["parameters"]["method"] == "measure"
    assert document["parameters"]["measure"] == "f1"
    assert document["parameters"]["pos_label"] == "fraud"
    for k, model, mean in zip((2, 4), document["models"], beside.mean, strict=True):
        one = fitted.path_[k]
        assert sorted(row["index"] for row in model["features"]) == one.support.tolist()
        assert {row["class"] for row in model["features"]} == {"fraud"}
        assert model["measure"] == "f1"
        z = X[:, one.support] @ one.coef + one.intercept
        assert model["training_measure"] == pytest.approx(f1_score(y == "fraud", z > 0))
        assert model["for_accuracy"]["mean"] == pytest.approx(mean)
        bound = model["bounds"][0]
        assert 0 <= bound["bound"] <= bound["objective"]
        assert bound["gap"] == pytest.approx(1 - one.bound / one.objective)
    assert model["cross_validation"]["mean"] == pytest.approx(
        cross_validate(fitted, X, y).mean[1], abs=1e-3
    )
    assert bound["gap"] == pytest.approx(fitted.gap_)
    loaded = persistence.load("rare-k4.model.npz")
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))

    text = " ".join(run(*command).stdout.split())
    assert "positive favours fraud" in text
    assert "in 5-fold cross-validation, features selected inside every fold" in text
    assert (
        f"for accuracy {beside.mean[1]:.3f} \u00b1 {beside.standard_error[1]:.3f} if as many"
        in text
    )
    assert f"lower the objective by more than {100 * fitted.gap_:.0f}%" in text
    assert "not f1 on new data." in text


def test_the_positive_class_of_a_measure(run, rare):
    """The second label in sorted order would be the positive one, whatever was said."""
    path, X, y = rare
    command = ("select", path, "--target", "status", "-k", 2, "--measure", "f1", "--no-cv")
    common = json.loads(run(*command, "--json").stdout)
    fraud = json.loads(run(*command, "--positive", "fraud", "--json").stdout)
    assert common["models"][0]["training_measure"] > 0.9 > fraud["models"][0]["training_measure"]
    assert common["models"][0]["for_accuracy"] is None
    np.testing.assert_array_equal(
        persistence.load("rare-k2.model.npz").predict(X),
        MeasureClassifier("f1", 2, pos_label="fraud").fit(X, y).predict(X),
    )


@pytest.mark.parametrize(
    "measure", ["recall@2p", "auc", *slow("precision@10", "prbep", "ap", "hamming")]
)
def test_every_measure(run, rare, measure):
    """--measure would select for another measure, or report another score."""
    path, _, _ = rare
    command = (
        "select", path, "--target", "status", "-k", 2, "--measure", measure, "--positive", "fraud",
        "--cv", 3,
    )  # fmt: skip
    document = json.loads(run(*command, "--json").stdout)
    model = document["models"][0]
    assert {row["name"] for row in model["features"]} == {"x3", "x7"}
    if measure == "recall@2p":  # centred scores of so many rows cost more than they gain
        (note,) = (note for note in document["notes"] if "No features lower the loss" in note)
        assert "Use --measure auc or --measure ap, or a larger C" in note
    else:
        assert 0.5 < model["cross_validation"]["mean"] <= 1
    text = run(*command).stdout
    assert measure in text
    vacuous = model["bounds"][0]["gap"] > 0.995
    assert ("none: the lower bound is void with this C" in text) == vacuous
    assert ("This bounds the training objective" in text) != vacuous


def test_options_reach_the_measure_classifier(run, rare, monkeypatch):
    """C of the measure would be taken for the selection for accuracy beside it too."""
    path, X, y = rare
    validated = []

    def noted(estimator, *arguments, **options):
        validated.append(estimator)
        return fold_models(estimator, *arguments, **options)

    monkeypatch.setattr("zeronorm.model_selection.cross_validation.fold_models", noted)
    document = json.loads(
        run(
            "select", path, "--target", "status", "-k", 3, "--measure", "hamming", "--C", 1e-4,
            "--no-standardize", "--no-intercept", "--force", "x5", "--class-weight", "balanced",
            "--cv", 3, "--json", calibrate=True,
        ).stdout
    )  # fmt: skip
    parameters = document["parameters"]
    assert (parameters["C"], parameters["standardize"]) == (1e-4, False)
    assert (parameters["fit_intercept"], parameters["forced_features"]) == (False, [5])
    assert parameters["class_weight"] == "balanced"
    model = document["models"][0]
    assert "x5" in {row["name"] for row in model["features"]}
    beside = BudgetClassifier(
        3, standardize=False, fit_intercept=False, forced_features=[5], class_weight="balanced"
    )
    found = cross_validate(beside, X, y, cv=3, measure="hamming")
    assert model["for_accuracy"]["mean"] == pytest.approx(found.mean[0])
    beside.set_params(n_features=[3], refit_C="loo", multi_class="ovr")
    assert validated[1].get_params() == beside.get_params()


@pytest.mark.slow
def test_a_measure_of_several_classes(run, multiclass):
    """Classes would share features, or a bound be missing."""
    X, y = multiclass
    dump_svmlight_file(X, y, "m.svm")
    document = json.loads(run("select", "m.svm", "-k", 4, "--measure", "f1", "--json").stdout)
    model = document["models"][0]
    assert [row["class"] for row in model["features"]] == [0] * 4 + [1] * 4 + [2] * 4
    assert len(model["bounds"]) == 3
    text = run("select", "m.svm", "-k", 4, "--measure", "f1", "--no-cv").stdout
    assert len(re.findall(r"[012]: gap \d+%, objective", text)) == 3


# --- groups of features --------------------------------------------------------------------


@pytest.fixture
def groups(table):
    """Write the groups of the features of the table; return the path."""
    path = table.with_name("groups.tsv")
    names = rows_of(table)[0][:-1]
    path.write_text("".join(f"{name}\tset {j % 4}\n" for j, name in enumerate(names)))
    return path


def test_groups(run, table, groups):
    """It would be another model than that of the estimator, or other groups than the file's."""
    command = (
        "select", table, "--target", "status", "-k", "2,9", "--groups", 2, "--group-file", groups,
        "--cv", 3, "--rule", "all",
    )  # fmt: skip
    document = json.loads(run(*command, "--json").stdout)
    lines = rows_of(table)[1:]
    X, y = (
        np.array([line[:-1] for line in lines], float, order="F"),
        np.array([line[-1] for line in lines]),
    )
    labels = np.array([f"set {j % 4}" for j in range(12)])
    fitted = zeronorm.published.BilevelClassifier(
        [2, 9], 2, feature_groups=labels, refit_C="loo"
    ).fit(X, y)
    validation = cross_validate(fitted, X, y, cv=3)
    assert document["data"]["n_groups"] == 4
    assert document["chosen"] == 9
    for row, (model, k) in enumerate(zip(document["models"], (2, 9), strict=True)):
        expected = fitted.path_[k, 2]
        rows = sorted(model["features"], key=lambda row: row["index"])
        assert (model["n_features"], model["n_groups"]) == (k, 2)
        assert [row["index"] for row in rows] == expected.support.tolist()
        assert [row["coefficient"] for row in rows] == expected.coef.tolist()
        assert [row["group"] for row in rows] == labels[expected.support].tolist()
        assert model["certificates"] == [None]
        assert model["cross_validation"]["scores"] == validation.scores[row].tolist()
        loaded = persistence.load(model["file"])
        np.testing.assert_array_equal(loaded.decision_function(X), X[:, expected.support]
                                      @ expected.coef + expected.intercept)  # fmt: skip
    parameters = document["parameters"]
    assert (parameters["method"], parameters["C"], parameters["refit_C"]) == ("bilevel", 1, "loo")
    assert (parameters["n_groups"], parameters["feature_groups"]) == (2, str(groups))
    # Nine at most are six, where two groups have three features each.
    assert len(document["models"][1]["features"]) == 6
    text = " ".join(run(*command).stdout.split())
    assert "60 samples \u00d7 12 features in 4 groups" in text
    assert "features groups training cross-validated model" in text
    assert "6 features in 2 of 4 groups positive favours yes" in text
    assert "at most 9 of them in at most 2 groups, until none is found that helps" in text
    assert "certificate none: features in few groups have no certificate" in text
    assert "to select model" in text
    text = run("info", "table-k9.model.npz").stdout
    assert re.search(r"x3 +set 3 +\+", text)
    assert re.search(r"groups +2\n", text)
    assert (
        json.loads(run("predict", "table-k9.model.npz", table, "--json").stdout)["accuracy"] > 0.8
    )


def test_the_number_of_groups_by_folds(run, table, groups):
    """Another number of groups would be chosen than by hand, or another model be written."""
    command = ("select", table, "--target", "status", "--groups", "auto", "--group-file", groups)
    document = json.loads(run(*command, "-k", "1,3,5", "-o", "m.npz", "--json").stdout)
    lines = rows_of(table)[1:]
    X, y = (
        np.array([line[:-1] for line in lines], float, order="F"),
        np.array([line[-1] for line in lines]),
    )
    labels = np.array([f"set {j % 4}" for j in range(12)])
    fitted = BudgetClassifier(
        [1, 3, 5], feature_groups=labels, n_groups=[1, 2, 3, 4], refit_C="loo"
    )
    validation = cross_validate(fitted, X, y)
    k, g = validation.choose()
    by_number = {k: (k, g)}
    for number in {1, 3, 5} - {k}:
        among = [size for size in validation.sizes if size[0] == number]
        by_number[number] = validation.choose(among=among)
    assert document["chosen"] == k
    for model in document["models"]:
        assert (model["n_features"], model["n_groups"]) == by_number[model["n_features"]]
        row = validation.sizes.index(by_number[model["n_features"]])
        assert model["cross_validation"]["scores"] == validation.scores[row].tolist()
    support = fitted.fit(X, y).path_[k, g].support
    assert persistence.load("m.npz").support_.tolist() == support.tolist()
    text = " ".join(run(*command, "-k", 3, "--no-save").stdout.split())
    among = [size for size in validation.sizes if size[0] == 3]
    n_groups = len(set(labels[fitted.path_[validation.choose(among=among)].support]))
    assert f"3 features in {n_groups} of 4 groups" in text
    every = json.loads(run(*command, "-k", "1,3", "--rule", "all", "--json").stdout)
    assert [model["file"] for model in every["models"]] == [
        "table-k1.model.npz", "table-k3.model.npz",
    ]  # fmt: skip
    assert [one["size"] for one in document["criteria"]] == [list(by_number[i]) for i in (1, 3, 5)]


def test_options_reach_the_bilevel_estimator(run, table, groups):
    """An option would be ignored where groups are selected."""
    command = (
        "select", table, "--target", "status", "-k", 3, "--groups", 2, "--group-file", groups,
        "--force", "x1", "--C", 0.3, "--refit-c", 2, "--no-intercept", "--no-standardize",
        "--class-weight", "balanced", "--threads", 1, "--no-cv", "--no-save", "--json",
    )  # fmt: skip
    document = json.loads(run(*command).stdout)
    (model,) = document["models"]
    assert "x1" in {row["name"] for row in model["features"]}
    assert model["intercept"] == [0.0]
    assert model["refit_C"] == [2.0]
    parameters = document["parameters"]
    assert (parameters["C"], parameters["standardize"]) == (0.3, False)
    assert parameters["class_weight"] == "balanced"
    assert sorted(os.listdir()) == ["groups.tsv", "table.csv"]


def test_groups_of_several_classes_and_numbers(run, multiclass):
    """Features without names would be taken for others, as the data count them from 1."""
    X, y = multiclass
    dump_svmlight_file(X, y, "m.svm", zero_based=False)
    with open("g.txt", "w") as file:
        file.writelines(f"{j + 1} {j // 5}\n" for j in range(25))
    command = ("select", "m.svm", "-k", 4, "--groups", 2, "--group-file", "g.txt", "--no-cv",
               "--per-class")  # fmt: skip
    (model,) = json.loads(run(*command, "--json").stdout)["models"]
    fitted = zeronorm.published.BilevelClassifier(
        4, 2, feature_groups=np.arange(25) // 5, refit_C="loo"
    )
    fitted.fit(sp.csr_array(X), y)
    for label, path in enumerate(fitted.path_):
        rows = [row for row in model["features"] if row["class"] == label]
        assert sorted(row["index"] for row in rows) == path[4, 2].support.tolist()
        assert all(row["group"] == str(row["index"] // 5) for row in rows)
    text = run(*command).stdout
    assert text.count("4 features of") == text.count("of 5 groups   against the other") == 3
    assert text.count("none: features in few groups have no certificate") == 1


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_groups_fit_the_terminal(run, monkeypatch, table, groups, width):
    """Long names of groups would break the table."""
    monkeypatch.setenv("COLUMNS", str(width))
    text = groups.read_text().replace("set", "a set of features whose name is of some length:")
    groups.write_text(text)
    command = ("select", table, "--target", "status", "--groups", 3, "--group-file", groups, "-q")
    lines = run(*command, "-k", "2,5", "--rule", "all").stdout.splitlines()
    assert max(map(len, lines)) <= width
    shown = [line for line in lines if re.match(" +[0-9]  x[0-9]+ +a", line)]
    assert len(shown) == 5
    assert max(map(len, run("info", "table-k5.model.npz").stdout.splitlines())) <= width
    assert not [line for line in lines if line != line.rstrip()]


# --- proofs --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [(), pytest.param(("--method", "l0"), marks=pytest.mark.slow)])
def test_proof(run, method):
    """The proof is that of the estimator, and the report says what it is."""
    command = ("select", GOLUB, "-k", 7, "--prove", "--gap", 0, "--no-cv", *method)
    document = json.loads(run(*command, "--json").stdout)
    golub = load_golub()
    fitted = zeronorm.published.L0LogisticRegression(7, gap=0).fit(golub.X, golub.y)
    (model,) = document["models"]
    indices = sorted(row["index"] for row in model["features"])
    assert indices == fitted.support_.tolist()
    (certificate,), (proof,) = model["certificates"], model["proofs"]
    assert certificate["proven"]
    assert certificate["objective"] == fitted.certificate_.objective
    assert proof["status"] == "OPTIMAL"
    assert proof["improved"]
    assert proof["nodes"] == fitted.proof_.history[-1].n_nodes > 0
    assert document["parameters"]["method"] == "l0"
    assert document["parameters"]["gap"] == 0
    assert sum(v for k, v in document["seconds"].items() if k != "total") <= (
        document["seconds"]["total"] * 1.01
    )
    text = " ".join(run(*command).stdout.split())
    assert "proven: no other 7 features lower the objective objective" in text
    assert f"features ruled out, {certificate['candidates']} candidates left" in text
    assert f"branch and bound, {proof['nodes']} nodes in" in text
    assert "s: no better support exists; it found a better feature set" in text
    assert "check it: zeronorm verify golub-k7.certificate.npz DATA" in text


def test_proof_of_a_gap_and_its_end(run, monkeypatch):
    """The report would claim more than was proven, or not say why it ended."""
    command = ("select", GOLUB, "-k", 8, "--prove", "--no-cv", "--no-save")
    text = " ".join(run(*command).stdout.split())
    assert "certificate proven: no 8 features lower the objective by more than 0.82%" in text
    assert re.search(r"no branching needed, [\d.]+ s: the wanted gap is proven", text)
    text = " ".join(run(*command, "--gap", 0, "--time-limit", 1e-9).stdout.split())
    assert "certificate not proven optimal: no 8 features lower the objective by more than" in text
    assert "branch and bound, 0 nodes in" in text
    assert "s: the time limit is reached" in text
    assert os.listdir() == []


def test_proof_goes_with_the_other_options(run, table):
    """--prove would drop another option, or leave out a size."""
    command = (
        "select", table, "--target", "status", "-k", "1:4", "--rule", "bic", "--prove",
        "--force", "x5", "--class-weight", "balanced", "--cv", 3, "--gap", 0,
    )  # fmt: skip
    document = json.loads(run(*command, "-o", "m.model.npz", "--json").stdout)
    assert [model["n_features"] for model in document["models"]] == [1, 2, 3, 4]
    assert {model["proofs"][0]["status"] for model in document["models"]} == {"OPTIMAL"}
    assert all(model["cross_validation"] for model in document["models"])
    assert sorted(os.listdir()) == ["m.certificate.npz", "m.model.npz", "table.csv"]
    saved = persistence.load_certificate("m.certificate.npz")
    (certificate,) = saved.certificates
    assert certificate.support.size == document["chosen"]
    assert certificate.forced.tolist() == [5]
    assert len(set(saved.class_weight)) == 2
    text = run("verify", "m.certificate.npz", table).stdout  # the target by its name
    assert f"no other {document['chosen']} features with the 1 forced lower" in " ".join(
        text.split()
    )
    assert "class weights: no" in text


def test_proof_of_several_classes(run, multiclass):
    """The proof of a class would be missing in the report or in the file."""
    X, y = multiclass
    np.savez("m.npz", X=X, y=np.array(["red", "green", "blue"])[y])
    text = run("select", "m.npz", "-k", 2, "--prove", "--gap", 0, "--no-cv", "--per-class").stdout
    for name in ("red", "green", "blue"):
        assert re.search(
            rf"{name}: proven, objective [^;]*; branch and bound, \d+ nodes? in [\d.]+ s: no",
            " ".join(text.split()),
        )
    saved = persistence.load_certificate("m-k2.certificate.npz")
    assert saved.positive == ["blue", "green", "red"]
    document = json.loads(run("verify", "m-k2.certificate.npz", "m.npz", "--json").stdout)
    assert document["verified"]
    assert [claim["class"] for claim in document["claims"]] == saved.positive
    text = " ".join(run("verify", "m-k2.certificate.npz", "m.npz").stdout.split())
    assert "red: proven: no other 2 features lower the objective" in text


def test_duplicates_are_named(run):
    """A user would take one of two equal columns for the only choice."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    y = (X[:, 1] + 0.3 * rng.standard_normal(60) > 0).astype(int)
    X = np.column_stack([X, -2 * X[:, 1]])
    np.savez("a.npz", X=X, y=y, feature_names=[*"abcdef", "twin"])
    command = ("select", "a.npz", "-k", 1, "--prove", "--no-cv")
    text = run(*command, calibrate=True).stdout
    assert "duplicates     b is equivalent to twin\n" in text
    document = json.loads(run(*command, "--json").stdout)
    (row,) = document["models"][0]["proofs"][0]["equivalents"]
    assert (row["feature"]["name"], row["equivalents"][0]["name"]) == ("b", "twin")
    assert (
        "duplicates  b is equivalent to twin\n"
        in run("verify", "a-k1.certificate.npz", "a.npz").stdout
    )


def test_interrupt_of_a_proof_keeps_the_model(run, monkeypatch):
    """What minutes of searching have shown would be lost."""
    monkeypatch.setattr(
        branch_and_bound, "BRANCHING", replace(branch_and_bound.BRANCHING, most_grown=1)
    )
    take = BranchAndBound._take
    calls = iter(range(5))

    def interrupted(*arguments):
        if next(calls, None) is None:
            signal.raise_signal(signal.SIGINT)
        take(*arguments)

    monkeypatch.setattr(BranchAndBound, "_take", interrupted)
    proof = ("--prove", "--gap", 0, "--no-cv")
    result = run("select", GOLUB, "-k", "7,8", "--rule", "all", *proof, "--json")
    first, second = json.loads(result.stdout)["models"]
    assert first["proofs"][0]["status"] == "INTERRUPTED"
    assert first["proofs"][0]["nodes"] == 5
    assert second["proofs"] == [None]
    for model in (first, second):
        assert 0 < model["certificates"][0]["gap"] < 0.1
        k = model["n_features"]
        assert persistence.load(f"golub-k{k}.model.npz").support_.size == k
        assert "verified" in run("verify", f"golub-k{k}.certificate.npz", GOLUB).stdout
    calls = iter(range(5))
    text = run("select", GOLUB, "-k", 8, "--prove", "--gap", 0, "--no-cv").stdout
    assert re.search(r"branch and bound, 5 nodes in [\d.]+ s: interrupted", text)
    calls = iter(range(5))
    text = run("select", GOLUB, "-k", "7,8", "--rule", "all", *proof).stdout
    assert "not searched: interrupted" in text


def test_progress_of_a_proof(run, monkeypatch):
    """A long proof would show nothing, or that of a fold."""
    rows = []
    monkeypatch.setattr(ProgressBar, "searched", lambda _, state: rows.append(state))
    run("select", GOLUB, "-k", 8, "--prove", "--gap", 0, "--cv", 2, "--no-save")
    assert rows[0].n_nodes == 0
    assert rows[-1].n_nodes > 100
    assert rows[-1].gap <= 1e-9
    assert [row.n_nodes for row in rows].count(0) == 1  # none of the folds


def test_what_the_progress_line_says(monkeypatch):
    """The line would show wrong numbers, or those of a phase that is over."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with ProgressBar(quiet=False) as progress:
        progress.phase("Cross-validating", total=3)
        progress.phase("Selecting")
        (task,) = progress._bar.tasks
        assert task.total is None
        progress.searched(Progressed(12.3, 4567, 89, 2.0, 1.98))
        assert task.description == "Proving"
        assert task.fields["count"] == "4,567 nodes, 12 s, gap 1.00%"
        progress.proving(0.01, 60.0)
        progress.searched(Progressed(0.0, 0, 1, 2.0, 1.90))
        assert task.completed == 0.0
        progress.searched(Progressed(6.0, 10, 9, 2.0, 1.96))  # from 5% to 2% on the way to 1%
        assert task.percentage == pytest.approx(75.0)
        assert task.fields["count"] == "10 nodes, 6 s, gap 2.00%, at most 0:54 left"
        progress.searched(Progressed(54.0, 10, 9, 2.0, 1.96))
        assert task.percentage == pytest.approx(90.0)
        progress.phase("Writing")
        (task,) = progress._bar.tasks
        assert task.fields["count"] == ""


def test_progress_has_a_share_and_the_time_left(monkeypatch):
    """Nobody could tell whether to wait or to go to bed."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    now = iter([100.0, 110.0, 130.0, 140.0])
    with ProgressBar(quiet=False) as progress:
        monkeypatch.setattr(zeronorm.cli.messages.time, "monotonic", lambda: next(now))
        shown = []
        progress.phase("Cross-validating", total=1200, unit="pass passes")
        for done in (1, 2, 1202):
            progress.advance(done)
            (task,) = progress._bar.tasks
            shown.append(task.fields["count"])
        monkeypatch.undo()
        assert shown == [
            "1 of 1,200 passes, 0%",
            "2 of 1,200 passes, 0%, 3:19:40 left",
            "1,202 passes",  # more than was thought
        ]


@pytest.mark.parametrize("option", ["--no-save", "--quiet", "--json"])
def test_progress_is_of_terminals_and_people(run, monkeypatch, option):
    """A log file would be full of bars, or what calls the command for its JSON."""
    asked = []
    own = ProgressBar.__init__
    monkeypatch.setattr(ProgressBar, "__init__", lambda self, quiet: own(self, asked.append(quiet)))
    run("select", GOLUB, "-k", 2, "--no-cv", option)
    assert asked == [option != "--no-save"]
    assert not ProgressBar(quiet=False)._wanted  # stderr is no terminal here


def test_a_log_has_a_line_now_and_then(monkeypatch):
    """Who reads the log of a batch queue could not tell slow work from work that hangs."""
    lines, said = [], threading.Event()
    monkeypatch.setattr(ProgressBar, "seconds_of_line", 0.02)
    monkeypatch.setattr(zeronorm.cli.messages, "say", lambda line: (lines.append(line), said.set()))
    with ProgressBar(quiet=True) as progress:
        progress.phase("Selecting", total=8)
        assert not said.wait(0.2)
    with ProgressBar(quiet=False) as progress:
        progress.phase("Selecting", total=8)
        progress.advance(3)
        said.clear()
        assert said.wait(60)
    assert lines[-1].startswith("Selecting: 3 of 8 passes, 37% (after 0:0")


def test_certificate_of_any_method(run):
    """--certificate would write nothing where nothing is proven."""
    options = ("--rule", "all", "--no-cv", "--no-save", "--certificate", "c.npz")
    run("select", GOLUB, "-k", "3,4", *options)
    assert sorted(os.listdir()) == ["c-k3.npz", "c-k4.npz"]
    document = json.loads(run("verify", "c-k4.npz", GOLUB, "--json").stdout)
    (claim,) = document["claims"]
    assert claim["recomputed"]["gap"] == pytest.approx(claim["claimed"]["gap"], rel=1e-4)
    assert claim["recomputed"]["nodes"] == 0


@pytest.fixture
def proven(run):
    """Prove four features of golub; return the path of the certificate."""
    run("select", GOLUB, "-k", 4, "--prove", "--gap", 0, "--no-cv")
    return "golub-k4.certificate.npz"


def test_verify(run, proven):
    """A valid certificate would not be said to be one, or without what it states."""
    text = " ".join(run("verify", proven, GOLUB).stdout.split())
    assert "verified proven: no other 4 features lower the objective" in text
    assert re.search(r"from a tree of \d+ nodes", text)
    document = json.loads(run("verify", proven, GOLUB, "--json").stdout)
    (claim,) = document["claims"]
    (certificate,) = persistence.load_certificate(proven).certificates
    assert document["verified"]
    assert claim["class"] == "AML"
    assert [row["index"] for row in claim["features"]] == certificate.support.tolist()
    assert claim["recomputed"]["objective"] == pytest.approx(certificate.objective, rel=1e-9)
    assert run("verify", proven, GOLUB, "-q").stdout.startswith(f"{GOLUB}   38 samples")


@pytest.mark.parametrize("change", [{"bound": 1.2}, {"objective": 0.9, "bound": 0.9}])
def test_a_certificate_that_claims_too_much(run, proven, change):
    """A false certificate would pass."""
    golub = load_golub()
    (certificate,) = persistence.load_certificate(proven).certificates
    change = {"objective": 1.2, **change}
    persistence.save_certificate(
        dataclasses.replace(certificate, **change), "t.npz", golub.X, golub.y
    )
    result = run("verify", "t.npz", GOLUB, code=1)
    assert re.search(r"refuted  the certificate claims the\s+(bound|objective)", result.stdout)
    assert "verified" not in result.stdout
    document = json.loads(run("verify", "t.npz", GOLUB, "--json", code=1).stdout)
    assert not document["verified"]
    assert "the certificate claims" in document["reason"]
    assert document["claims"][0]["recomputed"] is None


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_refuted_certificate_states_nothing(run, proven, tmp_path):
    """The rest of a false certificate would be printed as true, or `| head` exit with 0."""
    golub = load_golub()
    (certificate,) = persistence.load_certificate(proven).certificates
    equal = {int(certificate.support[0]): np.setdiff1d([0, 1], certificate.support)[:1]}
    false = dataclasses.replace(certificate, objective=1.2, equivalents=equal)
    persistence.save_certificate(false, "t.npz", golub.X, golub.y)
    stdout = run("verify", "t.npz", GOLUB, code=1).stdout
    assert "refuted" in stdout
    assert "It holds" not in stdout
    assert "equivalent" not in stdout
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [*COMMAND, "verify", "t.npz", GOLUB],
        stdout=write_end, stderr=subprocess.PIPE, text=True, timeout=120,
    )  # fmt: skip
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, "")


def test_rounding_refutes_no_certificate(run, fails):
    """A true certificate of data that round much would be called false, or pass unchecked."""
    rng = np.random.default_rng(0)
    X, far = rng.standard_normal((60, 3)), 2.0**20
    y = np.where(X @ [2.0, -1.0, 1.0] + rng.logistic(size=60) > 0, "b", "a")
    model = BudgetClassifier(3, standardize=False, calibrate=False).fit(X, y)
    certificate = model.certificate_
    moved = certificate.intercept - far * float(certificate.coef.sum())
    moved = dataclasses.replace(certificate, intercept=moved)
    np.savez("far.npz", X=X + far, y=y)
    persistence.save_certificate(moved, "c.npz", X + far, y)
    stdout = run("verify", "c.npz", "far.npz", code=3).stdout
    assert "undecided" in stdout
    assert not re.search("refuted |verified ", stdout.replace("verified nor refuted", ""))
    document = json.loads(run("verify", "c.npz", "far.npz", "--json", code=3).stdout)
    assert (document["verified"], document["undecided"]) == (False, True)
    needed = re.search(r"Use rtol=(\S+),", document["reason"])[1]
    text = " ".join(run("verify", "c.npz", "far.npz", "--rtol", needed).stdout.split())
    assert "verified proven: no 3 features lower the objective by more than" in text
    assert f"to rtol = {needed}, by which the claim is weakened here" in text
    near = " ".join(run("verify", "c.npz", "far.npz", "--rtol", 1e-3).stdout.split())
    assert "by more than 2.2%" in near
    assert "rtol must be above 0" in fails("verify", "c.npz", "far.npz", "--rtol", 1)
    false = dataclasses.replace(moved, bound=moved.bound * 1.01)
    persistence.save_certificate(false, "false.npz", X + far, y)
    document = json.loads(run("verify", "false.npz", "far.npz", "--json", code=1).stdout)
    assert not document["undecided"]


def test_verify_says_what_the_budget_counts(run):
    """The best groups would be told as the best single features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 12))
    y = np.where(X[:, 0] + X[:, 5] > 0, "b", "a")
    np.savez("data.npz", X=X, y=y)
    model = MinimaxLogisticRegression(feature_groups=np.arange(12) // 3, n_groups=2).fit(X, y)
    persistence.save_certificate(model.certificate_, "g.npz", X, y)
    text = " ".join(run("verify", "g.npz", "data.npz").stdout.split())
    assert re.search(r"no (other )?2 groups of features lower the objective", text)


def test_verify_with_other_data(run, fails, proven):
    """A certificate would pass for data that it is not about."""
    golub = load_golub()
    names = list(golub.feature_names)
    X = golub.X.copy()
    X[3, persistence.load_certificate(proven).support_[0]] += 1.0
    np.savez("changed.npz", X=X, y=golub.y)
    assert "refuted" in run("verify", proven, "changed.npz", code=1).stdout
    np.savez("labels.npz", X=golub.X, y=golub.y[::-1])
    assert "refuted" in run("verify", proven, "labels.npz", code=1).stdout
    np.savez("few.npz", X=golub.X[:30], y=golub.y[:30])
    assert f"few.npz has 30 samples here, and {proven} is of 38" in fails(
        "verify", proven, "few.npz"
    )
    np.savez("classes.npz", X=golub.X, y=np.where(golub.y == "AML", "X", "Y"))
    assert "must have the classes 'ALL, AML', as at the fit; 38 rows have others" in fails(
        "verify", proven, "classes.npz"
    )
    np.savez("names.npz", X=golub.X[:, ::-1], y=golub.y, feature_names=names[::-1])
    assert "as in the certificate; got" in fails("verify", proven, "names.npz")
    assert "a model file of zeronorm; a certificate file is needed here" in fails(
        "verify", "golub-k4.model.npz", GOLUB
    )


def test_verify_refuses_what_does_not_fit_into_memory(fails, proven, monkeypatch):
    """The verifier would be killed for want of memory."""
    monkeypatch.setattr(persistence.certificates, "_MAX_DENSE", 2**19)
    line = fails("verify", proven, GOLUB)
    assert "DATA must be at most 0.00049 GiB as dense float64" in line
    assert "got 0.00086 GiB" in line


def test_verify_sparse_files_and_labels_of_another_type(run):
    """A certificate would be tied to one format of its data."""
    rng = np.random.default_rng(0)
    X = sp.random_array((80, 30), density=0.4, rng=rng, format="csr")
    y = np.where(X[:, [4]].toarray().ravel() > 0.2, 1, -1)
    dump_svmlight_file(X, y, "a.svm", zero_based=False)
    run("select", "a.svm", "-k", 2, "--prove", "--no-cv")
    assert "not centred" in " ".join(run("verify", "a-k2.certificate.npz", "a.svm").stdout.split())
    np.savez("b.npz", X=X.toarray(), y=y.astype(str))
    # Dense columns would be centred: the problem is that of the certificate, not of the storage.
    assert "verified" in run("verify", "a-k2.certificate.npz", "b.npz").stdout


def test_verify_takes_no_other_features_for_noise(run, fails):
    """A support would be called the best of data of which a part was never looked at."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 7))
    y = np.where(X[:, 5] + 0.1 * rng.standard_normal(60) > 0, 1, -1)
    dump_svmlight_file(X[:, :4], y, "part.svm", zero_based=False)
    dump_svmlight_file(X, y, "all.svm", zero_based=False)
    run("select", "part.svm", "-k", 2, "--prove", "--gap", 0, "--no-cv")
    assert "verified" in run("verify", "part-k2.certificate.npz", "part.svm").stdout
    line = fails("verify", "part-k2.certificate.npz", "all.svm")
    assert "must have the features of the certificate, up to 4; got feature 7" in line


def test_figures_are_rounded_to_the_side_that_holds():
    """A gap of 5.825 % would be told as one of 5.8 %, and a bound as a little more than it is."""
    from zeronorm.reporting.text.certificates import at_least, percent

    for gap, text in (
        (0.0, "0%"), (0.05825, "5.9%"), (0.07, "7%"), (0.0991, "10%"), (0.5, "50%"),
        (0.5001, "51%"), (0.9951, "100%"), (1.2e-7, "1.2e-05%"),
    ):  # fmt: skip
        assert percent(gap) == text
    for bound, text in ((1.23456789, "1.23456"), (0.0, "0"), (-2.7182818, "-2.71829")):
        assert at_least(bound) == text


def test_verify_says_which_problem_it_was(run):
    """A proof without an intercept, or with a forced feature, would pass for one without these."""
    golub = load_golub()
    model = BudgetClassifier(3, fit_intercept=False, forced_features=[7]).fit(golub.X, golub.y)
    names = [f"g{j}" for j in range(golub.X.shape[1])]
    np.savez("named.npz", X=golub.X, y=golub.y, feature_names=names)
    persistence.save_certificate(model.certificate_, "f.npz", golub.X, golub.y, feature_names=names)
    text = " ".join(run("verify", "f.npz", "named.npz").stdout.split())
    assert "forced: g7" in text
    assert ", no intercept), not" in text


# --- path ----------------------------------------------------------------------------------


def test_path_is_that_of_the_library(run):
    """The command would follow another path than the library."""
    golub = load_golub()
    options = ("--points", 40, "--ratio", 30, "--class-weight", "balanced", "--tol", "1e-5")
    document = json.loads(run("path", GOLUB, *options, "--json").stdout)
    path = zeronorm.l1_path(
        golub.X, golub.y, Cs=40, C_ratio=30, class_weight="balanced", tol=1e-5, standardize=True
    )
    points = document["path"]
    assert [point["point"] for point in points] == list(range(1, 41))
    for name, values in (
        ("C", path.Cs), ("n_features", path.n_selected), ("explained", path.explained),
        ("gap", path.dual_gap),
    ):  # fmt: skip
        assert [point[name] for point in points] == values.tolist()
    assert document["classes"] == ["ALL", "AML"]
    assert document["chosen"] is None
    assert document["n_scans"] == path.n_scans
    assert document["parameters"]["standardize"] is True
    entered = document["entered"]
    assert {row["index"] for row in entered} == set(path.coef.indices.tolist())
    assert [row["point"] for row in entered] == sorted(row["point"] for row in entered)
    for row in entered:
        column = path.coef[:, [row["index"]]].toarray().ravel()
        assert row["point"] == np.flatnonzero(column)[0] + 1
        assert row["C"] == path.Cs[row["point"] - 1]
        assert row["name"] == golub.feature_names[row["index"]]
    assert document["seconds"]["path"] <= document["seconds"]["total"]


def test_path_options_reach_the_library(run, table):
    """An option of the path would be ignored."""
    options = (
        "--no-standardize", "--no-intercept", "--l1-ratio", 0.8, "--loss", "squared_hinge",
        "--max-features", 4, "--points", 50, "--threads", 1,
    )  # fmt: skip
    document = json.loads(run("path", table, "--target", "status", *options, "--json").stdout)
    lines = rows_of(table)[1:]
    X, y = (
        np.array([line[:-1] for line in lines], float, order="F"),
        np.array([line[-1] for line in lines]),
    )
    path = zeronorm.l1_path(
        X, y, Cs=50, max_features=4, l1_ratio=0.8, loss="squared_hinge", fit_intercept=False
    )
    assert [point["C"] for point in document["path"]] == path.Cs.tolist()
    assert [point["explained"] for point in document["path"]] == path.explained.tolist()
    assert document["path"][-1]["n_features"] > 4
    assert document["path"][-2]["n_features"] <= 4


@pytest.mark.parametrize("limited", [True, *slow(False)])
def test_path_with_cross_validation(run, limited):
    """Another C would be chosen than by the library."""
    golub = load_golub()
    limits = {"C_ratio": 20.0, "max_features": 10} if limited else {}
    options = ("--ratio", 20, "--max-features", 10) if limited else ()
    command = ("path", GOLUB, "--points", 30, "--cv", 4, "--scoring", "accuracy", *options)
    Cs = 30
    if limited:
        Cs = zeronorm.l1_path(golub.X, golub.y, Cs=30, standardize=True, **limits).Cs
    model = zeronorm.L1ClassifierCV(
        Cs, cv=4, scoring="accuracy", standardize=True
    ).fit(golub.X, golub.y)  # fmt: skip
    document = json.loads(run(*command, "--json").stdout)
    points, chosen = document["path"], document["chosen"]
    for name, values in (
        ("C", model.Cs_), ("score", model.mean_score_), ("standard_error", model.standard_error_),
        ("n_features", model.n_selected_), ("gap", model.l1_path_.dual_gap),
    ):  # fmt: skip
        assert [point[name] for point in points] == values.tolist()
    assert points[chosen["point"] - 1]["C"] == chosen["C"] == model.C_1se_
    assert points[chosen["best_point"] - 1]["C"] == model.C_best_
    assert chosen["intercept"] == model.intercept_.tolist()
    rows = sorted(chosen["features"], key=lambda row: row["index"])
    assert [row["index"] for row in rows] == model.support_.tolist()
    assert [row["coefficient"] for row in rows] == model.coef_[0, model.support_].tolist()
    assert all(row["point"] <= chosen["point"] for row in rows)

    text = run(*command).stdout
    marked = {
        line.split()[0]: line for line in text.splitlines() if line.endswith(("best", "1 s.e."))
    }
    assert marked[str(chosen["point"])].endswith("1 s.e.")
    assert marked[str(chosen["best_point"])].split("  ")[-1].startswith("best")
    assert f"C = {model.C_1se_:.4g}" in text
    assert f"{model.support_.size} features   positive favours AML" in text
    assert "of the best" in " ".join(text.split())


def test_path_table_has_what_changes(run):
    """The rows shown would be any, not those where the number of features changes."""
    document = json.loads(run("path", GOLUB, "--json").stdout)
    lines = run("path", GOLUB).stdout.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("point"))
    end = next(i for i, line in enumerate(lines) if "more points" in line)
    shown = [line.split() for line in lines[begin + 2 : end]]
    assert len(shown) <= 20
    assert (shown[0][0], shown[-1][0]) == ("1", str(len(document["path"])))
    for number, _, size, *_ in shown:
        assert int(size) == document["path"][int(number) - 1]["n_features"]
    left_out = len(document["path"]) - len(shown)
    assert lines[end] == f"{left_out} more points; --output FILE.csv writes all."
    begin = next(i for i, line in enumerate(lines) if "features enter" in line) + 3
    entered = document["entered"][:20]
    for line, row in zip(lines[begin:], entered, strict=False):
        cells = line.split()
        assert (cells[1], cells[-1]) == (row["name"], str(row["point"]))
    few = run("path", GOLUB, "--points", 12).stdout.splitlines()
    assert not any("more points" in line for line in few)
    begin = next(i for i, line in enumerate(few) if line.startswith("point")) + 2
    assert [line.split()[0] for line in few[begin : begin + 12]] == [str(n) for n in range(1, 13)]


@pytest.mark.parametrize(("width", "columns"), [(80, 6), (60, 5), (40, 3)])
def test_path_table_leaves_columns_out_before_it_cuts_numbers(run, monkeypatch, width, columns):
    """Numbers would be cut on a narrow terminal."""
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run("path", GOLUB, "--points", 5, "--cv", 3).stdout.splitlines()
    begin = next(i for i, line in enumerate(lines) if "log-loss" in line)
    table = lines[begin : begin + 7]
    assert len(re.split("  +", table[0].strip())) == columns
    assert table[-1].endswith(("best", "1 s.e."))
    assert not any("\u2026" in line for line in table)
    legend = " ".join(" ".join(lines).split())
    assert ("certified gap: how far" in legend) == (columns == 6)
    assert ("explained: the share" in legend) == (columns >= 5)


def test_path_csv(run, table):
    """The file would lack points, or have coefficients in other columns."""
    command = ("path", table, "--target", "status", "--points", 25)
    text = run(*command, "-o", "p.csv").stdout
    assert "p.csv has all" in text
    document = json.loads(run(*command, "--json").stdout)
    head, *rows = rows_of("p.csv")
    names = [row["name"] for row in document["entered"]]
    assert head == ["point", "C", "n_features", "explained", "gap", "intercept", *names]
    assert len(rows) == len(document["path"])
    for row, point in zip(rows, document["path"], strict=True):
        assert [float(cell) for cell in row[:5]] == [point[name] for name in head[:5]]
        assert sum(float(cell) != 0 for cell in row[6:]) == point["n_features"]
    head, *_ = rows_of(table)
    lines = rows_of(table)[1:]
    X = np.array([line[:-1] for line in lines], float, order="F")  # as it is read
    path = zeronorm.l1_path(X, [line[-1] for line in lines], Cs=25, standardize=True)
    last = path.coef[[len(path) - 1]].toarray().ravel()
    assert [float(cell) for cell in rows[-1][6:]] == [last[head.index(name)] for name in names]
    assert float(rows[-1][5]) == path.intercept[-1]


def test_path_csv_tells_features_from_figures(run):
    """A feature called C would pass for the column of C, or run as a formula."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    np.savez("a.npz", X=X, y=(X.sum(axis=1) > 0) * 1, feature_names=["C", "gap", "=1+x"])
    run("path", "a.npz", "-o", "p.csv")
    head = rows_of("p.csv")[0]
    assert len(set(head)) == len(head)
    assert sorted(head[6:]) == ["'=1+x", "C'", "gap'"]


@pytest.mark.slow
def test_path_of_several_classes(run, fails, multiclass):
    """The classes would be mixed in the table, or one be left out."""
    X, y = multiclass
    labels = np.array(["red", "green", "blue"])[y]
    np.savez("m.npz", X=X, y=labels)
    command = ("path", "m.npz", "--cv", 3, "--points", 12)
    document = json.loads(run(*command, "--json").stdout)
    model = zeronorm.L1ClassifierCV(12, cv=3, standardize=True).fit(X, labels)
    assert [point["n_features"] for point in document["path"]] == model.n_selected_.tolist()
    assert [point["score"] for point in document["path"]] == model.mean_score_.tolist()
    coef = np.zeros_like(model.coef_)
    for row in document["chosen"]["features"]:
        coef[document["classes"].index(row["class"]), row["index"]] = row["coefficient"]
    np.testing.assert_array_equal(coef, model.coef_)
    text = run(*command, "-o", "p.csv").stdout
    assert "against the other classes" in text
    assert "Over all classes: the mean share explained and the largest gap." in " ".join(
        text.split()
    )
    assert {"intercept (red)", "intercept (blue)"} <= set(rows_of("p.csv")[0])
    assert "A path without --cv is for two classes; got 3. Say --cv 5" in fails("path", "m.npz")
    assert "--ratio and --max-features are for two classes; got 3" in fails(*command, "--ratio", 9)
    assert "--scoring auc needs two classes" in fails(*command, "--scoring", "auc")
    np.savez("rare.npz", X=X, y=[*labels[:-1], "white"])
    assert "got 4 classes, the smallest with one" in fails("path", "rare.npz", "--cv", 3)


def test_path_of_small_data(run):
    """Small data would end in an error, or in fewer folds without a word."""
    X = np.random.default_rng(0).standard_normal((12, 5))
    np.savez("a.npz", X=X, y=[0] * 9 + [1] * 3)
    result = run("path", "a.npz", "--cv", 5, "--points", 8)
    assert "Note: 3 folds instead of 5: the class 1 has 3 samples." in result.stderr
    # Nothing to learn: the model without features is the best.
    assert "best, 1 s.e." in result.stdout
    assert ", 0 features: the smallest C" in result.stdout
    assert "coefficient" not in result.stdout
    np.savez("b.npz", X=X, y=[0] * 11 + [1])
    result = run("path", "b.npz", "--cv", 5, "--quiet")
    assert result.stderr == "Note: no cross-validation: the class 1 has one sample.\n"
    assert "features enter" in result.stdout
    assert "no feature enters" in run("path", "a.npz", "--points", 2, "--ratio", "1.0000001").stdout


def test_path_without_words(run):
    """--quiet would still explain."""
    result = run("path", GOLUB, "-q")
    assert result.stderr == ""
    assert result.stdout.startswith(f"{GOLUB}   38 samples")
    assert not any(word in result.stdout for word in ("explained:", "seconds", "passes"))


# --- info ----------------------------------------------------------------------------------


def test_info_and_version(run):
    """A bug report could not say what is installed, or what is in a file."""
    assert run("--version").stdout == f"zeronorm {zeronorm.__version__}\n"
    assert "threads" in run("info").stdout
    assert json.loads(run("info", "--json").stdout)["zeronorm"] == zeronorm.__version__
    run("select", GOLUB, "-k", 3, "--no-cv")
    text = run("info", "golub-k3.model.npz").stdout
    assert "BudgetClassifier of zeronorm" in text
    assert "3 of 3,051" in text
    document = json.loads(run("info", "golub-k3.model.npz", "--json").stdout)
    assert len(document["support"]) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["select", GOLUB, "-k", "3", "--threads", "0"],
            "--threads must be an integer of at least 1; got 0.",
        ),
        (
            ["select", GOLUB, "-k", "4000"],
            "--features must be between 1 and 3051 (the features of DATA); got 4000.",
        ),
        (
            ["select", GOLUB, "-k", "3", "--class-weight", "none"],
            "--class-weight must be 'balanced'; got 'none'.",
        ),
        (
            ["select", GOLUB, "-k", "3", "--rule", "cp"],
            "--rule must be one of 1se, best, aic, bic, ebic, gic, all; got 'cp'.",
        ),
        (
            ["select", GOLUB, "-k", "1", "--force", "X95735_at", "--force", "M27891_at"],
            "--features counts the forced features: it must be at least 2 (the length of "
            "--force); got 1.",
        ),
        (
            ["select", GOLUB, "-k", "2", "--force", "X95735_at", "--covariates", "X95735_at"],
            "--covariates are in every model and must not be --force as well;",
        ),
        (
            ["select", GOLUB, "-k", "3", "--features", "4"],
            "--features is given 2 times; say it once.",
        ),
        (
            ["select", GOLUB, "--shared", "-k", "3", "--per-class"],
            "--shared or --per-class is given 2 times; say it once.",
        ),
        (["select", GOLUB, "-k", "3", "-C", "-1"], "--C must be a positive finite number;"),
        (["path", GOLUB, "--l1-ratio", "2"], "--l1-ratio must be above 0 and at most 1;"),
        (["path", GOLUB, "--tol", "-1"], "--tol must be a positive finite number; got -1.0."),
        (["path", GOLUB, "--cv", "3", "--scoring", "r"], "--scoring must be one of 'log_loss'"),
        (["info", GOLUB, "--method", "r"], "--method must be one of 'auto', 'pool'"),
    ],
)
def test_errors_name_options(fails, arguments, message):
    """A user of the command would be told of a parameter of Python that no option is called."""
    assert fails(*arguments).startswith(f"Error: {message}")


def test_numbers_of_a_table_have_the_same_digits(run, tmp_path):
    """A column would be ragged, and a score read otherwise in another report."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6))
    y = 100 * (X[:, 0] - X[:, 3]) + rng.standard_normal(50)
    path = tmp_path / "n.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{j}" for j in range(6)), "y"])
        writer.writerows(np.column_stack([X, y]).tolist())
    said = run("select", "n.csv", "--target", "y", "-k", 2, "-o", "n.npz", "--no-cv").stdout
    score = re.search(r"([01]\.\d+) on the training data", said)[1]
    text = run("predict", "n.npz", "n.csv", "--target", "y").stdout
    assert re.search(r"R² ([01]\.\d+)", text)[1] == score
    rows = re.findall(r"^ +\d+ +(-?\d+\.\d+)$", text, re.MULTILINE)
    assert len(rows) == 10
    assert len({len(row.partition(".")[2]) for row in rows}) == 1
    text = run("info", "n.npz").stdout
    rows = re.findall(r"^ *(?:x\d|intercept) +([+-]\d+\.\d+)$", text, re.MULTILINE)
    assert len(rows) == 3
    assert len({len(row.partition(".")[2]) for row in rows}) == 1


def test_help_says_what_there_is(run):
    """A command or an option would be missing in the help."""
    for arguments in ((), ("--help",), ("-h",)):
        text = run(*arguments).stdout
        assert all(command in text for command in ("select", "verify", "predict", "path", "info"))
    assert "--features" in run("select", "--help").stdout


@pytest.mark.parametrize("name", zeronorm.cli.COMMANDS)
def test_help_has_an_example_that_can_be_read(run, name, monkeypatch):
    """Help would lack an example, or have one with options that are no longer there."""
    monkeypatch.setenv("COLUMNS", "80")
    line = re.search(r"^ Example: (.*\S) *$", run(name, "--help").stdout, re.MULTILINE)[1]
    words = shlex.split(line)
    assert words[:2] == ["zeronorm", name]
    COMMANDS.commands[name].make_context(name, words[2:])


def test_a_command_is_made_once():
    """Every look at a command would make its options anew, which takes longer than most errors."""
    one = COMMANDS.commands["select"]
    assert COMMANDS.commands["select"] is one


def test_help_is_in_panels(run, monkeypatch):
    """Forty options would stand in one list, in a column too narrow to read."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("select", "--help").stdout.splitlines()
    assert len(lines) < 178
    for panel in (READING, FEATURES, PROBLEM, SEARCH, SCORE, FILES):
        assert any(panel in line for line in lines)
    first = next(i for i, line in enumerate(lines) if READING in line)
    assert any("--features" in line for line in lines[:first])
    assert all(any(f" --{f.replace('_', '-')} " in line for line in lines)
               for f in ("order", "covariates", "time_limit", "C", "refit_c", "no_cv"))  # fmt: skip
    assert not any("<bool>" in line or "{DATA}" in line for line in lines)


def test_few_options_beside_those_of_reading():
    """A command of sixty options would be a list that nobody reads."""
    names = ({one.name for one in fields(kind)} for kind in (ReadingOptions, OutputOptions))
    reading = next(names) - next(names)
    for name in zeronorm.cli.COMMANDS:
        command = COMMANDS.commands[name]
        own = {one.name for one in command.params if one.param_type_name == "option"} - reading
        assert len(own) <= 40, sorted(own)
        shown = {one.rich_help_panel for one in command.params if one.name in reading}
        assert shown <= {READING}


def test_brief_help_is_a_screen(run, monkeypatch):
    """Whoever asks what to type would get five screens, or none of what most people need."""
    monkeypatch.setenv("COLUMNS", "80")
    listed = set()
    for name in zeronorm.cli.COMMANDS:
        text = run(name, "-h").stdout
        assert len(text.splitlines()) <= 40
        assert text.rstrip().endswith("--help shows all options.")
        listed |= {word.replace("-", "_") for word in re.findall(r"--([a-z-]+)", text)}
        assert len(run(name, "--help").stdout) > len(text)  # though it was brief before
    assert listed >= zeronorm.cli.DAILY - {"as_json"}


# --- errors --------------------------------------------------------------------------------

GROUPS = ("--group-file", "g.tsv", "--groups")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["select"], "Missing argument 'DATA'"),
        (["select", GOLUB, "-k", "5", "--nonsense"], "No such option: --nonsense"),
        (["nonsense"], "No such command 'nonsense'"),
        (["select", GOLUB, "-k", "2.5"], "--features must be whole numbers with commas between"),
        (["select", GOLUB, "-k", ""], "--features must be whole numbers"),
        (["select", GOLUB, "-k", "5,,6"], "--features must be whole numbers"),
        (["select", GOLUB, "-k", "-3"], "--features must be whole numbers"),
        (["select", GOLUB, "-k", "0"], "--features must be at least 1; got '0'"),
        (["select", GOLUB, "-k", "0:3"], "--features must be at least 1; got '0:3'"),
        (["select", GOLUB, "-k", "5:3"], "--features must have the smaller end first; got '5:3'"),
        (["select", GOLUB, "-k", "1:2:3"], "--features must be whole numbers"),
        (["select", GOLUB, "-k", ":3"], "--features must be whole numbers"),
        (["select", GOLUB, "-k", "1:999999999"], "must be at most 1,000 sizes"),
        (
            ["select", GOLUB, "-k", "3", "--rule", "hqic"],
            "--rule must be one of 1se, best, aic, bic, ebic, gic, all; got 'hqic'.",
        ),
        (
            ["select", GOLUB, "-k", "3", "--rule", "best"],
            "--rule best chooses among several sizes; got --features 3. Say --features 1:3 or auto",
        ),
        (
            ["select", GOLUB, "-k", "3:5", "--no-cv"],
            "--no-cv leaves nothing to choose among the sizes 3:5 by; say --rule ebic",
        ),
        (["select", GOLUB, "--prove"], "--prove needs the number of features: say --features K"),
        (["select", GOLUB, "-k", "4000"], "--features must be between 1 and 3051"),
        (["select", GOLUB, "-k", "3", "--C", "-1"], "--C must be a positive"),
        (["select", GOLUB, "-k", "3", "--C", "x"], "Invalid value for '--C' / '-C': "),
        (["select", GOLUB, "-k", "3", "--refit-c", "no"], "--refit-c must be loo or a positive"),
        (["select", GOLUB, "-k", "3", "--refit-c", "nan"], "--refit-c must be loo or a positive"),
        (["select", GOLUB, "-k", "3", "--cv", "1"], "--cv must be at least 2; got 1"),
        (
            ["select", GOLUB, "-k", "3", "--no-cv", "--cv", "4"],
            "--no-cv and --cv 4 say the opposite",
        ),
        (["select", GOLUB, "-k", "3", "-o", "m.csv"], "--output must be a file of zeronorm"),
        (
            ["select", GOLUB, "-k", "3", "--certificate", "c.json"],
            "--certificate must be a file of",
        ),
        (["select", GOLUB, "-k", "3", "--threads", "0"], "--threads must be"),
        (["select", GOLUB, "-k", "3", "--class-weight", "x"], "--class-weight must be"),
        (["select", "demo", "-k", "3", "--target", "y"], "demo has its labels built in"),
        (["select", GOLUB, "-k", "3", "--force", "X95735"], "no feature 'X95735'. Did you mean"),
        (
            ["select", GOLUB, "-k", "3", "--force", "M27891_at,X95735_at"],
            "--force names one feature each time; say --force M27891_at --force X95735_at.",
        ),
        (["convert", GOLUB, "d.zarr", "--dtype", "x"], "--dtype must be one of bool, float32,"),
        (["select", GOLUB, "-k", "3", "--cv", "1"], "must be at least 2; got 1. Leave it out"),
        (["select", GOLUB, "-k", "3", "-o", "no/m.npz"], "--output: no such directory 'no'"),
        (["select", GOLUB, "-k", "3", "-o", "."], "--output must be a file; . is a directory"),
        (
            ["select", GOLUB, "-k", "3", "--method", "lasso"],
            "--method must be one of auto, pool, l1, reweighted-l1, greedy, l0, minimax; got",
        ),
        (["select", GOLUB, "-k", "4000", "--method", "l1"], "--features must be between 1 and"),
        (["select", GOLUB, "-k", "3", "--gap", "0.1"], "--gap 0.1 is of a proof; say --prove"),
        (
            ["select", GOLUB, "-k", "3", "--signs", "age"],
            "--signs must be NAME=+ for coefficients of 0 or more, or NAME=-; got 'age'.",
        ),
        (
            ["select", GOLUB, "-k", "3", "--signs", "=+"],
            "--signs must be NAME=+",
        ),
        (["select", GOLUB, "-k", "3", "--time-limit", "9"], "--time-limit 9 is of a proof; say"),
        (
            ["select", GOLUB, "-k", "3", "--prove", "--method", "greedy"],
            "--prove needs --method l0; got 'greedy'. Leave --method out, or --prove.",
        ),
        (["select", GOLUB, "-k", "3", "--prove", "--method", "auto"], "l0; got 'auto'"),
        (["select", GOLUB, "-k", "3", "--prove", "--gap", "-1"], "--gap must be at least 0"),
        (["select", GOLUB, "-k", "3", "--prove", "--gap", "nan"], "--gap must be at least 0"),
        (
            ["select", GOLUB, "-k", "3", "--prove", "--time-limit", "0"],
            "--time-limit must be a positive finite number of seconds; got 0",
        ),
        (
            ["select", GOLUB, "-k", "3", "--groups", "2"],
            "--groups 2 needs the group of every feature; say --group-file FILE as well.",
        ),
        (
            ["select", GOLUB, "-k", "3", "--group-file", "g.tsv"],
            "--group-file g.tsv needs the number of groups to select at most; say --groups G as",
        ),
        (["select", GOLUB, "-k", "3", *GROUPS, "0"], "--groups must be at least 1; got 0"),
        (
            ["select", GOLUB, "-k", "3", *GROUPS, "1,2"],
            "--groups must be a whole number or auto; got '1,2'. Which features are in which",
        ),
        (
            ["select", GOLUB, "-k", "3", *GROUPS, "auto", "--no-cv"],
            "--no-cv leaves nothing to choose the number of groups by; say --groups G, or leave",
        ),
        (["select", GOLUB, "-k", "3", *GROUPS, "2"], "g.tsv: no such file"),
        (
            ["select", GOLUB, "-k", "3", *GROUPS, "2", "--prove"],
            "--groups implies the method bilevel, and there are no proofs for budgets of features "
            "and groups at once. Leave out --prove, or --groups and --group-file.",
        ),
        (
            ["select", GOLUB, "-k", "3", *GROUPS, "2", "--method", "l0"],
            "implies the method bilevel, which is the only one that has a budget of groups. Leave "
            "out --method",
        ),
        (
            ["select", GOLUB, "-k", "3", *GROUPS, "2", "--rule", "aic"],
            "and information criteria do not count groups",
        ),
        (
            ["select", GOLUB, "-k", "3", *GROUPS, "2", "--certificate", "c.npz"],
            "which gives no certificate",
        ),
        (["select", GOLUB, "-k", "3", "--measure", "f"], "--measure must be hamming, f1 (f2, "),
        (
            ["select", GOLUB, "-k", "3", "--positive", "AML"],
            "--positive AML is of --measure; say that as well, or leave it out.",
        ),
        (
            ["select", GOLUB, "-k", "3", "--measure", "f1", "--positive", "x"],
            "--positive must be one of the classes ALL, AML; got 'x'.",
        ),
        *(
            (
                ["select", GOLUB, "-k", "3", "--measure", "f1", *option],
                f"which has no {option[0]}",
            )
            for option in (
                ["--prove"],
                ["--method", "l0"],
                ["--rule", "bic"],
                ["--refit-c", "1"],
                ["--certificate", "c.npz"],
                [*GROUPS[-1:], "2", *GROUPS[:-1]],
            )
        ),
        (
            ["select", GOLUB, "-k", "3", "--measure", "precision@39"],
            "k of precision@39 must be between 1 and 38 (the rows)",
        ),
        (
            ["select", GOLUB, "-k", "3", "--measure", "precision@9"],
            "held-out rows of fold 0: use fewer folds, or another measure.",
        ),
        (
            ["select", GOLUB, "-k", "3", "--certificate", "no/c.npz"],
            "--certificate: no such directory 'no'",
        ),
        (
            ["select", GOLUB, "-k", "3", "--certificate", "m.npz", "-o", "m.npz"],
            "--certificate m.npz is the file of the model; name another",
        ),
        (["verify", GOLUB], "Missing argument 'DATA'"),
        (["verify", "none.npz", GOLUB], "none.npz: no such file."),
        (["path"], "Missing argument 'DATA'"),
        (["path", GOLUB, "--points", "1"], "--points must be at least 2; got 1"),
        (["path", GOLUB, "--points", "x"], "Invalid value for '--points': "),
        (["path", GOLUB, "--ratio", "1"], "--ratio must be a finite number above 1; got 1"),
        (["path", GOLUB, "--ratio", "nan"], "--ratio must be a finite number above 1; got nan"),
        (["path", GOLUB, "--max-features", "0"], "--max-features must be at least 1; got 0"),
        (["path", GOLUB, "--l1-ratio", "0"], "--l1-ratio must be above 0"),
        (
            ["path", GOLUB, "--loss", "hinge"],
            "--loss must be one of logistic, squared_hinge",
        ),
        (["path", GOLUB, "--tol", "0"], "--tol must be a positive finite number"),
        (["path", GOLUB, "--class-weight", "x"], "--class-weight must be"),
        (["path", GOLUB, "--threads", "0"], "--threads must be"),
        (["path", GOLUB, "--cv", "1"], "--cv must be at least 2; got 1"),
        (
            ["path", GOLUB, "--cv", "3", "--scoring", "f1"],
            "--scoring must be one of 'log_loss', 'accuracy', 'auc'; got 'f1'",
        ),
        (["path", GOLUB, "--scoring", "auc"], "--scoring 'auc' needs a cross-validation"),
        (["path", "demo", "--target", "y"], "demo has its labels built in"),
        (["path", GOLUB, "-o", "no/p.csv"], "--output: no such directory 'no'"),
        (["path", "none.csv"], "none.csv: no such file."),
        (["select", "none.csv", "-k", "3"], "none.csv: no such file."),
        (["select", ".", "-k", "3"], ".: a directory; name a file in it."),
        (["select", "-", "-k", "3"], "standard input: the file is empty"),
        (["select", "*.csv", "-k", "3"], "*.csv: no such files."),
        (["predict", "none.npz", GOLUB], "none.npz: no such file."),
        (["info", "none.npz"], "none.npz: no such file."),
    ],
)
def test_errors(fails, arguments, message):
    """A mistake would end in a traceback, or leave a file behind."""
    assert message in fails(*arguments)
    assert os.listdir() == []


def test_errors_in_the_data(fails, run, table):
    """Bad data would end in a traceback instead of a line that says what is wrong."""
    name = table.name
    assert "no column 'statos'. Did you mean 'status'?" in fails(
        "select", name, "--target", "statos", "-k", 2
    )
    assert "nothing says what to predict; name it with --target" in fails("select", name, "-k", 2)
    np.savez("one.npz", X=np.eye(3), y=[1, 1, 1])
    assert "two classes" in fails("select", "one.npz", "-k", 1)
    np.savez("nan.npz", X=[[1, np.nan], [2, 3]], y=[0, 1])
    assert "NaN" in fails("select", "nan.npz", "-k", 1)
    np.savez("none.npz", X=np.eye(3))
    assert "nothing says what to predict; name it with --target" in fails(
        "select", "none.npz", "-k", 1
    )
    np.savez("real.npz", X=np.eye(3), y=[0.5, 1.5, 2.7])
    message = fails("select", "real.npz", "-k", 1, "--task", "classes")
    assert "3 distinct numbers in 3 rows, which cannot be classes; say --task numbers" in message
    run("select", GOLUB, "-k", 2, "--no-cv")
    assert "the model needs the features" in fails("predict", "golub-k2.model.npz", name)
    with open("golub-k2.model.npz", "r+b") as file:
        file.truncate(900)
    assert "not a model file of zeronorm, or a truncated one" in fails(
        "predict", "golub-k2.model.npz", GOLUB
    )


def test_errors_in_the_groups(fails, table, groups):
    """A bad file of groups would end in a traceback."""
    command = ("select", table, "--target", "status", "-k", 2, "--group-file", groups, "--groups")
    assert "--groups must be between 1 and 4 (the groups with a non" in fails(*command, 5)
    assert "counts the groups of forced features: it must be at least 2; got 1" in fails(
        *command, 1, "--force", "x1", "--force", "x2"
    )
    assert "is an input as well; name another file" in fails(*command, 2, "-o", groups)
    groups.write_text("x0 a\nx11 a\n")
    line = fails(*command, 1)
    assert line.endswith(
        "groups.tsv: every feature of the data must have a group; 'x1' (and 9 more) has none. Give "
        "it a group of its own."
    )


def test_input_files_are_not_overwritten(fails, run, table):
    """The user's data would be lost."""
    content = table.read_bytes()
    for arguments in (
        ("select", table, "--target", "status", "-k", 2, "-o", table),
        ("select", "table.csv", "--target", "status", "-k", 2, "-o", "./table.csv"),
    ):
        assert "is an input as well; name another file" in fails(*arguments)
    run("select", table, "--target", "status", "-k", 2, "-o", "m.npz", "--no-cv")
    for output in ("table.csv", "m.npz"):
        assert "is an input as well" in fails("predict", "m.npz", table, "-o", output)
    assert "is an input as well" in fails("path", table, "--target", "status", "-o", table)
    assert table.read_bytes() == content
    persistence.load("m.npz")


def test_a_file_comes_before_the_built_in_data(fails, tmp_path):
    """A file called demo could not be read."""
    (tmp_path / "demo").write_text("a,b\n1,2\n")
    assert "nothing says what to predict" in fails("select", "demo", "-k", 1)


def test_debug_shows_the_traceback(run):
    """--debug would hide where an error comes from."""
    result = run("select", "none.csv", "-k", 3, "--debug", code=1)
    assert isinstance(result.exception, zeronorm.core.files.MissingFileError)


def test_unexpected_error(fails, monkeypatch):
    """A bug would end in a traceback that a user cannot read."""

    def broken(*_, **__):
        raise KeyError("lost")

    monkeypatch.setattr(persistence, "save", broken)
    line = fails("select", GOLUB, "-k", 2, "--no-cv", code=1)
    assert "unexpected KeyError: 'lost' (--debug shows where; please report it)." in line


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError("of 9 TB"), "Error: not enough memory. of 9 TB"),
        (OSError(28, "No space left on device", "m.npz"), "Error: m.npz: No space left on device."),
    ],
)
def test_the_machine_fails(fails, monkeypatch, error, message):
    """A full disk would end in a traceback, or leave half a file."""

    def broken(*_, **__):
        raise error

    monkeypatch.setattr(persistence, "save", broken)
    assert fails("select", GOLUB, "-k", 2, "--no-cv") == message
    assert os.listdir() == []


def test_interrupt(run, monkeypatch):
    """Ctrl-C would leave half a file, or end with the code of success."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)  # at the last moment
    result = run("select", GOLUB, "-k", 2, code=130)
    assert result.stderr == "Interrupted.\n"
    assert result.stdout == ""
    assert os.listdir() == []


# --- as a process --------------------------------------------------------------------------

COMMAND = [sys.executable, "-c", "from zeronorm.cli import main; main()"]


def test_process(tmp_path):
    """The installed command would differ from what is tested inside one process."""

    def call(*arguments):
        return subprocess.run(
            [*COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )

    done = call("select", GOLUB, "-k", "3", "--no-cv", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["models"][0]["n_features"] == 3
    assert done.stderr == ""
    failed = call("info", "none.npz")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == "Error: none.npz: no such file.\n"
    debug = call("info", "none.npz", "--debug")
    assert debug.returncode == 1
    assert "Traceback" in debug.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
@pytest.mark.parametrize("option", [[], pytest.param(["--json"], marks=pytest.mark.slow)])
def test_a_closed_pipe_is_no_error(tmp_path, option):
    """`zeronorm select ... | head -1` would end with an error after it has done its work."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [*COMMAND, "select", GOLUB, "-k", "3", "--no-cv", *option],
        cwd=tmp_path, stdout=write_end, stderr=subprocess.PIPE, text=True, timeout=120,
    )  # fmt: skip
    os.close(write_end)
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir(tmp_path) == ["golub-k3.model.npz"]


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_fewer_folds_than_asked_for_are_said(run, quiet):
    """--cv 1000 is another number without a word."""
    err = run("select", GOLUB, "-k", 2, "--cv", 1000, "--no-save", *quiet).stderr
    assert "11 folds instead of 1000: the class AML has 11 samples" in err


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
@pytest.mark.parametrize(
    ("arguments", "closed", "code"),
    [
        pytest.param(["info"], "sys.stdout = None", 0, marks=pytest.mark.slow, id="stdout"),
        pytest.param(
            ["info", "none.npz"], "sys.stderr = None", 2, marks=pytest.mark.slow, id="stderr"
        ),
        pytest.param(["info", "none.npz"], "", 2, id="pipe"),
    ],
)
@pytest.mark.slow
def test_closed_streams_are_no_error(tmp_path, arguments, closed, code):
    """`zeronorm ... >&-`, or a stderr that nobody reads, would end with another exit code."""
    command = f"import sys; {closed}\nfrom zeronorm.cli import main; main()"
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [sys.executable, "-c", command, *arguments], cwd=tmp_path, stderr=write_end, timeout=120
    )
    os.close(write_end)
    assert done.returncode == code


def test_the_package_is_the_command():
    """`python -m zeronorm` would say that the package cannot be run."""
    command = [sys.executable, "-m", "zeronorm", "--help"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "select" in found.stdout


def test_help_imports_nothing_heavy():
    """--help would take seconds."""
    code = (
        "import sys\n"
        "from zeronorm.cli import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'polars', 'pyarrow', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)


def test_estimators_fit_without_the_readers_of_tables():
    """Importing zeronorm, and each fit of arrays, would wait for polars."""
    code = (
        "import sys\n"
        "import numpy as np\n"
        "import zeronorm\n"
        "X = np.random.default_rng(0).standard_normal((30, 4))\n"
        "zeronorm.BudgetClassifier(1, calibrate=False).fit(X, X[:, 0] > 0)\n"
        "heavy = {'polars', 'openpyxl', 'h5py'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)


def completed(line, *options):
    """What the command answers bash about a line, whose last word is not ended."""
    question = {
        "_ZERONORM_COMPLETE": "complete_bash", "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, *options, "-m", "zeronorm"],
        env=os.environ | question, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("zeronorm pre", {"predict"}),
        ("zeronorm select golub --no-s", {"--no-save", "--no-standardize"}),
    ],
)
def test_commands_and_options_are_completed(line, words):
    """Tab would do nothing, or offer what there is not, or take a second."""
    done = completed(line, "-X", "importtime")
    assert {*done.stdout.split()} == words
    modules = {one.rpartition("|")[2].strip() for one in done.stderr.splitlines()}
    assert "typer" in modules
    assert not {"numpy", "scipy", "sklearn", "rich"} & modules


def test_completion_can_be_installed(run):
    """The script would ask another command, or the option be gone."""
    assert "--install-completion" in run("--help").stdout
    shown = subprocess.run(
        [sys.executable, "-m", "zeronorm", "--show-completion", "bash"],
        capture_output=True, text=True, timeout=60,
        env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )  # fmt: skip
    assert "_ZERONORM_COMPLETE=complete_bash" in shown.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.slow
def test_ctrl_c_ends_a_fit_and_leaves_nothing(tmp_path):
    """Ctrl-C would be noticed only after the fit."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 3000)).astype(np.float32)
    np.savez(tmp_path / "a.npz", X=X, y=(X[:, :50].sum(axis=1) > 0).astype(int))
    process = subprocess.Popen(
        [*COMMAND, "select", "a.npz", "-k", "100,200,300"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    begin = time.perf_counter()
    out, err = process.communicate(timeout=60)
    assert time.perf_counter() - begin < 10  # a second on a machine with nothing else to do
    assert process.returncode == 130
    assert (out, err) == ("", "Interrupted.\n")
    assert os.listdir(tmp_path) == ["a.npz"]


@pytest.mark.parametrize("memory", ["inf", "nan", "-5", "0", "0.5", "1e300"])
def test_memory_of_a_conversion_is_a_number_of_megabytes(fails, table, tmp_path, memory):
    """Infinity would overflow where bytes are counted, an unexpected error."""
    said = fails("convert", table, tmp_path / "x.zarr", f"--memory={memory}")
    assert "--memory must be a number of megabytes from 1" in said
    assert "For example: --memory 1024" in said
    assert not (tmp_path / "x.zarr").exists()

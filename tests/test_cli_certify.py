"""`zeronorm certify` and `prove`: lists of features from anywhere, for the problem of select."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas
import pytest

from conftest import write_csv
from golub import GOLUB
from zeronorm import BudgetClassifier, BudgetRegressor, certify, prove
from zeronorm.inspection.alternatives import near_optimal


def written(path, X, columns):
    names = [*(f"g{j}" for j in range(X.shape[1])), *columns]
    rows = zip(*(map(repr, one.tolist()) for one in X.T), *columns.values(), strict=True)
    path.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n")


@pytest.fixture
def table(tmp_path):
    """Numbers, counts, classes and times that three features say."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 10))
    z = X[:, 1] - X[:, 4] + X[:, 7]
    number = z + 0.5 * rng.standard_normal(80)
    columns = {
        "number": number,
        "count": rng.poisson(np.exp(0.5 * z)),
        "kind": np.array(["a", "b", "c"])[np.digitize(number, [-1, 1])],
        "sick": np.where(number > 0, "yes", "no"),
        "days": np.exp(-z) + 0.01,
        "died": (rng.random(80) < 0.8).astype(int),
    }
    for name, values in columns.items():
        written(tmp_path / f"{name}.csv", X, {name: values})
    written(tmp_path / "times.csv", X, {name: columns[name] for name in ("days", "died")})
    return X, columns


def found(run, *arguments):
    return json.loads(run(*arguments, "--json").stdout)


TARGETS = {
    "number": ("number.csv", "--target", "number"),
    "count": ("count.csv", "--target", "count", "--task", "counts"),
    "kind": ("kind.csv", "--target", "kind"),
    "sick": ("sick.csv", "--target", "sick"),
    "times": ("times.csv", "--time", "days", "--event", "died"),
}


@pytest.mark.parametrize("target", TARGETS)
def test_the_list_of_select_has_its_certificate(run, table, tmp_path, target):
    """By its model, its table of features or their names: it is the same problem."""
    data, *given = TARGETS[target]
    files = ("-o", "m.npz", "--features-out", "list.csv")
    options = ("-k", "3", "--no-cv", "--json", *files)
    (model,) = json.loads(run("select", data, *given, *options).stdout)["models"]
    names = [one["name"] for one in model["features"]]
    (tmp_path / "list.txt").write_text("\n".join(names))
    expected = model["certificates"][0]
    for source in ("m.npz", "list.csv", "list.txt", ",".join(names)):
        asked = () if source == "m.npz" else (*given, "--C", str(expected["C"]))
        document = found(run, "certify", source, data, *asked)
        assert sorted(one["name"] for one in document["features"]) == sorted(names)
        certificate = document["certificate"]
        assert certificate["objective"] == pytest.approx(expected["objective"], rel=1e-6)
        assert certificate["bound"] >= expected["bound"] * (1 - 1e-9)
        assert certificate["loss"] == expected["loss"]


def test_the_bound_holds_for_all_lists(table):
    """Of every list of three numbers the objective is above the bound of a bad one."""
    X, columns = table
    y = columns["number"]
    problem = BudgetRegressor(C=0.5)
    bad = certify([0, 2, 3], X, y, problem=problem)
    best = min(
        certify(list(three), X, y, problem=problem).objective
        for three in combinations(range(10), 3)
    )
    assert bad.bound <= best <= bad.objective
    proof = prove([0, 2, 3], X, y, problem=problem, gap=0)
    assert proof.certificate.objective == pytest.approx(best)
    assert bad.C == 0.5


@pytest.mark.parametrize("target", TARGETS)
def test_a_better_list_is_found_and_shown(run, table, target):
    """A bad list ends as the best one, with what was exchanged; the proof can be verified."""
    data, *given = TARGETS[target]
    options = ("--gap", "0", "--certificate", "c.npz")
    document = found(run, "prove", "g0,g4,g7", data, *given, *options)
    assert [one["name"] for one in document["best"]] == ["g1", "g4", "g7"]
    assert [one["name"] for one in document["dropped"]] == ["g0"]
    assert [one["name"] for one in document["added"]] == ["g1"]
    certificate = found(run, "certify", "g0,g4,g7", data, *given)["certificate"]
    assert document["objective_given"] == pytest.approx(certificate["objective"])
    assert document["certificate"]["objective"] < document["objective_given"]
    assert document["certificate"]["proven"]
    of_target = given[: given.index("--task")] if "--task" in given else given
    assert "verified" in run("verify", "c.npz", data, *of_target).stdout
    text = run("prove", "g0,g4,g7", data, *given).stdout
    assert "lowers the objective by" in text
    assert "no better feature set" in run("prove", "g1,g4,g7", data, *given).stdout


def test_options_of_the_problem_count(run, table):
    """C, scaling, weights and covariates are those that are asked for."""
    X, columns = table
    given = ("g1,g4", "sick.csv", "--target", "sick", "-C", "2", "--no-standardize")
    one = found(run, "certify", *given, "--class-weight", "balanced")["certificate"]
    problem = BudgetClassifier(C=2.0, standardize=False, class_weight="balanced")
    expected = certify([1, 4], X, columns["sick"], problem=problem)
    assert one["objective"] == pytest.approx(expected.objective)
    beside = found(run, "certify", *given, "--covariates", "g7")["certificate"]
    assert beside["n_covariates"] == 1
    assert beside["objective"] < one["objective"]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("g1,g99", "no feature 'g99'. Did you mean"),
        ("g1,g1", "each feature once; got 'g1' twice"),
        (" , ", "must name one feature or more"),
        ("empty.txt", "must name one feature or more"),
        ("others.csv", "got the columns a, b. If these are the data, name them after FEATURES"),
        ("bytes.txt", "no text file, and no model"),
        ("each.npz", "the model has one for each class"),
    ],
)
def test_bad_lists_are_refused(run, fails, table, tmp_path, features, message):
    """Something else would be certified, or nothing."""
    (tmp_path / "empty.txt").write_text("\n\n")
    (tmp_path / "others.csv").write_text("a,b\ng1,g2\n")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00g")
    if features == "each.npz":
        options = ("-k", "2", "--per-class", "--no-cv", "-q", "-o", "each.npz")
        run("select", "kind.csv", "--target", "kind", *options)
    assert message in fails("certify", features, "kind.csv", "--target", "kind")


def test_bad_problems_are_refused(fails, table):
    """In the words of options, and before any work."""
    X, columns = table
    given = ("g1", "sick.csv", "--target", "sick")
    assert "--gap must be at least 0" in fails("prove", *given, "--gap", "-1")
    assert "--time-limit must be a positive" in fails("prove", *given, "--time-limit", "0")
    assert "is an input as well" in fails("certify", *given, "--certificate", "sick.csv")
    with pytest.raises(TypeError, match="problem must be an estimator of this package"):
        certify([1], X, columns["sick"], problem="ridge")


def test_all_lists_that_are_nearly_as_good(run, table):
    """Those of near_optimal for the problem of the list, in the report, in JSON and in a file."""
    X, columns = table
    y = columns["number"]
    given = ("g0,g1,g4,g7", "number.csv", "--target", "number", "--within", 0.5)
    document = found(run, "prove", *given, "-o", "all.csv")["near_optimal"]
    near = near_optimal(X, y, 4, within=0.5, problem=BudgetRegressor(4))
    names = [[f"g{j}" for j in support] for support in near.supports.tolist()]
    assert len(names) > 2
    assert [one["features"] for one in document["lists"]] == names
    assert [one["objective"] for one in document["lists"]] == pytest.approx(near.objectives)
    assert document["complete"]
    assert names[document["given"]] == ["g0", "g1", "g4", "g7"]
    assert {one["name"] for one in document["features"] if one["n_lists"] == len(names)} == {
        f"g{j}" for j in near.in_all
    }
    frame = pandas.read_csv("all.csv")
    assert frame[[f"feature_{j}" for j in range(1, 5)]].to_numpy().tolist() == names
    assert frame["complete"].all()
    assert frame["worse_by"].to_numpy() == pytest.approx(near.objectives / near.objectives[0] - 1)
    text = " ".join(run("prove", *given).stdout.split())
    assert (
        f"{len(names)} sets of 4 features are within 50% of the best objective; no others" in text
    )
    assert f"the given set is number {document['given'] + 1}" in text
    other = found(run, "prove", "g1,g2,g5", "number.csv", "--target", "number", "--within", 0.01)
    assert other["near_optimal"]["given"] is None
    assert found(run, "prove", *given[:4])["near_optimal"] is None


def test_the_cheapest_list_is_that_of_enumeration(run, table):
    """Another list would be bought, or the prices be of other features."""
    X, columns = table
    y, m = columns["number"], X.shape[1]
    price = np.round(1 + 10 * np.random.default_rng(3).random(m), 2)
    order = np.random.default_rng(1).permutation(m)
    Path("cost.tsv").write_text("".join(["gene\tprice\n", *(f"g{j}\t{price[j]}\n" for j in order)]))
    given = (
        "g0,g1,g4,g7",
        "number.csv",
        "--target",
        "number",
        "--within",
        0.5,
        "--cost",
        "cost.tsv",
    )
    document = found(run, "prove", *given, "-o", "all.csv")["near_optimal"]
    objectives = {
        tuple(support): certify(support, X, y, problem=BudgetRegressor()).objective
        for support in map(list, combinations(range(m), 4))
    }
    limit = 1.5 * min(objectives.values())
    costs = {one: price[list(one)].sum() for one, value in objectives.items() if value <= limit}
    assert len(costs) > 2
    best = min(objectives, key=objectives.__getitem__)
    cheapest = min(costs, key=costs.__getitem__)
    assert cheapest != best
    assert document["complete"]
    assert [one["cost"] for one in document["lists"]] == pytest.approx(
        [costs[tuple(int(name[1:]) for name in one["features"])] for one in document["lists"]]
    )
    row = document["lists"][document["cheapest"]]
    assert row["features"] == [f"g{j}" for j in cheapest]
    text = " ".join(run("prove", *given).stdout.split())
    names = ", ".join(row["features"])
    assert (
        f"cheapest {names}: it costs {costs[cheapest]:.6g}, the best one {costs[best]:.6g}" in text
    )
    assert pandas.read_csv("all.csv")["cost"].to_numpy() == pytest.approx(
        [one["cost"] for one in document["lists"]]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("g0\t1\n", "cost.tsv: every feature of the data must have a cost; 'g1' (and"),
        ("g0\t1\ng0\t2\n", "line 2: the feature 'g0' costs '2', and by line 1 '1'. Leave one"),
        ("g0\t1\nother\t2\n", "line 2: the data have no feature 'other'"),
        ("g0\t\n", "line 1: two columns are needed, a feature and its cost"),
        ("g0\tNA\n", "line 1: the feature 'g0' has no cost ('NA'). Give it one, 0 where it is"),
        (None, "costs must be finite numbers, not negative; got '-3' for the feature 'g1'"),
    ],
)
def test_costs_that_cannot_be(fails, table, text, message):
    """A feature would be free of charge, or cost what another does."""
    if text is None:
        text = "".join(f"g{j}\t{'-3' if j == 1 else 1}\n" for j in range(table[0].shape[1]))
    Path("cost.tsv").write_text(text)
    given = ("prove", "g0,g1", "number.csv", "--target", "number", "--cost", "cost.tsv")
    assert message in fails(*given, "--within", 0.1)
    assert "--cost is of the lists of --within; got cost.tsv" in fails(*given)


def test_lists_with_gaps_are_told(run, table):
    """Whoever reads a file of two lists would think that there are no others."""
    pytest.importorskip("pyarrow")
    given = ("g0,g1,g4,g7", "number.csv", "--target", "number", "--within", 0.5, "--limit", 2)
    document = found(run, "prove", *given, "-o", "two.parquet")["near_optimal"]
    assert (len(document["lists"]), document["complete"]) == (2, False)
    assert 0 < document["complete_within"] < 0.5
    text = " ".join(run("prove", *given).stdout.split())
    assert "others may exist; the list is complete up to" in text
    assert "--limit is reached" in text
    worse, certain = pandas.read_parquet("two.parquet")[["worse_by", "complete"]].to_numpy().T
    assert np.array_equal(certain.astype(bool), worse < document["complete_within"])


def test_lists_that_cannot_be(fails, table):
    """Options that say nothing without --within would be left out in silence."""
    given = ("g1,g4,g7", "number.csv", "--target", "number")
    for more, message in (
        (("-o", "a.csv"), "--output is of the lists of --within; got a.csv"),
        (("--limit", 3), "--limit is of the lists of --within; got 3"),
        (("--within", -1), "--within must be at least 0"),
        (("--within", 0.1, "--limit", 0), "--limit must be at least 1; got 0"),
        (("--within", 0.1, "-o", "a.txt"), "--output must end in .csv or .parquet"),
        (("--within", 0.1, "-o", "number.csv"), "--output number.csv is an input as well"),
    ):
        assert message in fails("prove", *given, *more)


@pytest.mark.parametrize("of", ["g1,g4", "m.npz"])
def test_certificates_of_filled_data_are_verified(run, table, of):
    """Verify would leave out the samples with gaps, and refuse what certify has just written."""
    frame = pandas.read_csv("sick.csv")
    frame.loc[[3, 20, 41], "g4"] = np.nan
    frame.to_csv("gaps.csv", index=False)
    data = ("gaps.csv", "--target", "sick")
    run("select", *data, "-k", 2, "--missing", "mean", "--no-cv", "-o", "m.npz")
    given = data if of == "m.npz" else (*data, "--missing", "mean")
    run("certify", of, *given, "--certificate", "c.npz")
    assert "80 samples" in run("verify", "c.npz", data[0]).stdout


@pytest.mark.parametrize("command", ["certify", "prove"])
def test_bounded_coefficients_are_said(run, table, command, tmp_path, monkeypatch):
    """A bound of some models would be read as one of all."""
    monkeypatch.chdir(tmp_path)
    X, columns = table
    line = (command, "g1,g4,g7", "number.csv", "--target", "number", "-C", 10, "--max-abs-coef", 2)
    certificate = found(run, *line)["certificate"]
    problem = BudgetRegressor(3, C=10.0)
    own = certify([1, 4, 7], X, columns["number"], problem=problem, max_abs_coef=2.0)
    assert certificate["max_abs_coef"] == own.max_abs_coef
    if command == "certify":
        assert certificate["bound"] == pytest.approx(own.bound, rel=1e-6)
    said = run(*line, "--certificate", "c.npz").stdout
    assert "3 features with coefficients of at most 2 per SD lower" in " ".join(said.split())
    if command == "prove":
        whole = " ".join(run(*line, "--gap", 0).stdout.split())
        assert "no better support with such coefficients exists" in whole
    checked = run("verify", "c.npz", "number.csv").stdout
    assert "with coefficients of at most 2 per SD" in " ".join(checked.split())


def test_lists_nearly_as_good_have_any_coefficients(fails, table, tmp_path, monkeypatch):
    """The lists would be taken for those of bounded models."""
    monkeypatch.chdir(tmp_path)
    line = ("prove", "g1,g4,g7", "number.csv", "--target", "number", "--max-abs-coef", 2)
    assert "leave out --max-abs-coef, or --within" in fails(*line, "--within", 0.01)
    assert "--max-abs-coef must be a positive finite number" in fails(*line[:-1], -1)


def test_a_loose_certificate_says_what_makes_it_tighter(run):
    """A gap of tens of percent would be taken for that of the list."""
    given = ("select", GOLUB, "-k", 4, "--no-cv", "-o", "m.npz")
    text = run(*given, "-C", 10).stdout
    assert "tighten it: zeronorm certify m.npz DATA" in text
    before = json.loads(run(*given, "-C", 10, "--json").stdout)["models"][0]["certificates"][0]
    after = json.loads(run("certify", "m.npz", GOLUB, "--json").stdout)["certificate"]
    assert after["gap"] < 0.8 * before["gap"]
    for options in (("-C", 0.1), ("-C", 10, "--prove", "--time-limit", 0.1)):
        assert "tighten it" not in run(*given, *options).stdout


def test_a_model_of_fewer_features_than_the_data_is_told(run):
    """The certificate of a selection with --drop would silently be one of all columns."""
    rng = np.random.default_rng(0)
    columns = {f"x{j}": one for j, one in enumerate(rng.standard_normal((5, 60)).round(3))}
    write_csv("all.csv", columns | {"y": columns["x0"] + columns["x1"]})
    run("select", "all.csv", "--target", "y", "-k", 1, "--drop", "x4", "-o", "m.npz")
    told = "all.csv has 5 features, and m.npz was selected from 4: the certificate is of all"
    for command in ("certify", "prove"):
        assert told in run(command, "m.npz", "all.csv").stderr
        assert "selected from" not in run(command, "m.npz", "all.csv", "--drop", "x4").stderr

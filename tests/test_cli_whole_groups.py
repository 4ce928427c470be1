"""Whole groups in the command: `--features all --groups G --group-file FILE`."""

import base64
import json
import re

import numpy as np
import pytest

from conftest import slow
from zeronorm import BudgetClassifier, BudgetRegressor, certify, persistence, prove
from zeronorm.core.messages import counted
from zeronorm.inspection.alternatives import near_optimal
from zeronorm.inspection.replacements import substitutes
from zeronorm.model_selection.cross_validation import cross_validate

N, P = 60, 12
NAMES = [f"g{j}" for j in range(P)]
LABELS = np.array([f"set {j % 5}" for j in range(P)])
FILES = ("--group-file", "groups.tsv")
WHOLE = ("--features", "all", "--groups")


@pytest.fixture
def data(tmp_path):
    """Write features in five groups, of which one column is constant; two groups matter."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, P)).round(3)
    X[:, 6] = 2.0  # of set 1
    z = X[:, 1] + X[:, 11] - X[:, 3] - X[:, 8]
    y = np.where(z + rng.standard_normal(N) > 0, "yes", "no")
    number = (z + 0.5 * rng.standard_normal(N)).round(3)
    for name, target in (("class", y), ("number", number)):
        rows = [",".join([*NAMES, "y"]), *(
            ",".join([*map(str, row), str(one)]) for row, one in zip(X, target, strict=True)
        )]  # fmt: skip
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n")
    lines = [f"{name}\t{label}" for name, label in zip(NAMES, LABELS, strict=True)]
    (tmp_path / "groups.tsv").write_text("feature\tgroup\n" + "\n".join(lines) + "\n")
    return X, y, number


def found(run, *arguments):
    return json.loads(run(*arguments, "--target", "y", "--json").stdout)


@pytest.mark.parametrize("kind", ["class", *slow("number")])
def test_whole_groups_are_those_of_the_estimator(run, data, kind):
    """The command would select features in few groups, or score other folds."""
    X, y, number = data
    target = y if kind == "class" else number
    estimator = BudgetClassifier if kind == "class" else BudgetRegressor
    model = estimator(None, n_groups=[1, 2, 3], feature_groups=LABELS).fit(X, target)
    given = ("select", f"{kind}.csv", *WHOLE, "1:3", *FILES, "--rule", "all", "--target", "y")
    document = json.loads(run(*given, "--json", calibrate=True).stdout)
    validation = cross_validate(model, X, target)
    assert document["data"]["n_groups"] == 5
    assert document["parameters"]["n_groups"] == [1, 2, 3]
    for row, one in enumerate(document["models"]):
        own = model.path_[row + 1]
        assert (one["size"], one["n_groups"]) == (row + 1, row + 1)
        assert one["n_features"] == own.support.size == len(one["features"])
        assert sorted(part["index"] for part in one["features"]) == own.support.tolist()
        assert {part["group"] for part in one["features"]} == {*LABELS[own.support]}
        assert one["certificates"][0]["gap"] == pytest.approx(own.certificate.gap)
        assert one["certificates"][0]["n_groups"] == row + 1
        np.testing.assert_allclose(one["cross_validation"]["scores"], validation.scores[row])
        assert one["file"] == f"{kind}-g{row + 1}.model.npz"
        assert persistence.load(one["file"]).support_.tolist() == own.support.tolist()
    folds = found(run, "cv", f"{kind}.csv", *WHOLE, "1:3", *FILES)
    assert folds["chosen"] == validation.choose()
    assert [one["size"] for one in folds["models"]] == [1, 2, 3]


def test_the_number_of_whole_groups_is_chosen_by_folds(run, data):
    """The folds would choose a number of features, or the report would call it that."""
    X, y, _ = data
    model = BudgetClassifier(None, n_groups="auto", feature_groups=LABELS, calibrate=False).fit(
        X, y
    )
    given = ("select", "class.csv", *WHOLE, "auto", *FILES, "--no-calibrate", "--no-save")
    document = found(run, *given)
    assert document["chosen"] == model.size_
    text = " ".join(run(*given, "--target", "y").stdout.split())
    assert f"size {model.size_} group" in text
    assert f"in {model.size_} of 5 groups" in text
    assert "groups of features lower the objective" in text


def test_stability_of_whole_groups_counts_groups(run, data):
    """Frequencies of groups would stand beside features of the same numbers."""
    given = ("class.csv", *WHOLE, 2, *FILES, "--no-cv", "--no-save", "--no-calibrate")
    stability = found(run, "select", *given, "--stability", 5)["stability"]
    assert (stability["unit"], stability["n_chosen"]) == ("groups", 2)
    assert stability["n_candidates"] == 5
    assert {row["name"] for row in stability["features"]} <= {*LABELS}
    own = {row["name"] for row in stability["features"] if row["in_model"]}
    chosen = found(run, "select", *given)["models"][0]["features"]
    assert own == {row["group"] for row in chosen}
    text = run("select", *given, "--target", "y", "--stability", 5).stdout
    assert "those of the model: set" in text


def test_whole_groups_are_certified_and_proven(run, data):
    """A list of as many features would be certified, which is another problem."""
    X, y, _ = data
    run("select", "class.csv", *WHOLE, 2, *FILES, "--target", "y", "--no-cv", "-o", "m.npz")
    support = persistence.load("m.npz").support_
    names = ",".join({*LABELS[support]})
    expected = certify(support, X, y, feature_groups=LABELS)
    for given in ("m.npz", names):
        document = found(run, "certify", given, "class.csv", *FILES, "--certificate", "c.npz")
        assert document["certificate"]["bound"] == pytest.approx(expected.bound)
        assert document["certificate"]["n_groups"] == 2
        assert document["groups"]["given"] == sorted({*LABELS[support]})
        assert run("verify", "c.npz", "class.csv", "--target", "y").exit_code == 0
    # From the worst pair on the search finds the best one.
    worst = ["set 0", "set 2"]
    features = np.flatnonzero(np.isin(LABELS, worst) & (X.std(axis=0) > 0))
    proof = prove(features, X, y, feature_groups=LABELS, gap=0)
    document = found(run, "prove", ",".join(worst), "class.csv", *FILES, "--gap", 0)
    assert document["certificate"]["proven"]
    assert document["certificate"]["objective"] == pytest.approx(proof.certificate.objective)
    best = sorted({*LABELS[proof.support]})
    assert document["groups"] == {"given": worst, "best": best}
    text = " ".join(
        run("prove", ",".join(worst), "class.csv", *FILES, "--target", "y").stdout.split()
    )
    assert "another set of 2 groups lowers" in text
    assert f"with {', '.join(best)}" in text
    assert f"without {', '.join(worst)}" in text
    run("select", "class.csv", *WHOLE, 2, *FILES, "--target", "y", "--prove", "--no-cv")
    told = run("info", "class-g2.model.npz").stdout
    assert "certified gap" in told
    assert run("verify", "class-g2.certificate.npz", "class.csv", "--target", "y").exit_code == 0


def test_a_constant_column_of_a_named_group_is_left_out(run, data):
    """A group with a constant column could not be certified by its name."""
    document = found(run, "certify", "set 1,set 3", "class.csv", *FILES)
    assert [row["name"] for row in document["features"]] == ["g1", "g3", "g8", "g11"]


def test_the_page_of_whole_groups(run, data, tmp_path):
    """The page would count groups as features, or have nothing in place of a group."""
    pytest.importorskip("matplotlib")
    run("select", "class.csv", *WHOLE, "2,3", *FILES, "--target", "y", "--rule", "all")
    given = ("report", "class-g2.model.npz", "class.csv", "-o", "page.html", "--pairs", 3)
    document = json.loads(run(*given, *FILES, "--json").stdout)
    assert document["n_features"] == persistence.load("class-g2.model.npz").support_.size
    page = (tmp_path / "page.html").read_text()
    words = ["of 2 groups", "2 on each; the sets are", "2 of 5 groups of features"]
    for told in (*words, "n_groups=2", "feature_groups=feature_groups", "--group-file groups.tsv"):
        assert told in page
    assert "Groups(labels" not in page
    X, y, _ = data
    model = BudgetClassifier(None, n_groups=2, feature_groups=LABELS, calibrate=False).fit(X, y)
    known = {one.feature: one for one in substitutes(model, X, y, n=3)}
    sizes = json.loads(re.search(r"page-data\">(.*?)</script>", page)[1])
    assert [size["texts"]["size"][:8] for size in sizes] == ["2 groups", "3 groups"]
    rows = sizes[0]["tables"]["groups"]
    assert {row[1][0] for row in rows} == set(known)
    moved = [row[3][1] for row in rows]
    assert moved == sorted(moved, reverse=True)
    for _, (name, *_), (n, *_), (moves, *_), _, without, best, cost, others, which in rows:
        one, members = known[name], model.support_[LABELS[model.support_] == name]
        assert int(n) == members.size
        assert set(which[0].split(", ")) == {NAMES[j] for j in members}
        places = np.isin(model.support_, members)
        added = (X[:, members] @ model.coef_[0, members] if model.coef_.shape[1] == P
                 else X[:, members] @ model.coef_[0, places])  # fmt: skip
        assert float(moves) == pytest.approx(added.std(), abs=6e-4)
        assert without[1] == pytest.approx(one.without)
        assert (best[0], cost[1]) == (one.features[0], pytest.approx(one.costs[0]))
        assert int(others[0]) == one.exchangeable.size - 1
        # And how these do on held-out rows.
        assert f"{one.features[0]} ({counted(int((one.features[0] == LABELS).sum()))})" in page
    assert "The model with one group replaced or left out" in page
    images = [base64.b64decode(one).decode() for one in re.findall(r"base64,([^\"]*)", page)]
    drawn = "".join(images)
    assert drawn.count(">number of groups<") == 2  # below the scores, and the features of sizes
    assert ">number of features<" not in drawn
    near = near_optimal(X, y, 2, problem=model)
    assert f"{len(near)} set" in sizes[0]["texts"]["instead"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("select class.csv --features all", "--features all takes whole groups"),
        ("select class.csv --features all --groups 2", "--groups 2 needs the group of every"),
        ("select class.csv --features all --groups 0 --group-file groups.tsv",
         "--groups must be at least 1"),
        ("select class.csv --features all --groups x --group-file groups.tsv",
         "--groups must be whole numbers with commas"),
        ("select class.csv --features all --groups 9 --group-file groups.tsv",
         "--groups must be between 1 and 5"),
        ("select class.csv --features all --groups auto --prove --group-file groups.tsv",
         "--prove needs the number of groups: say --groups K"),
        ("select class.csv --features all --groups 2 --rule ebic --group-file groups.tsv",
         "--rule ebic is of single features"),
        ("select class.csv --features all --groups 2 --signs g1=+ --group-file groups.tsv",
         "--signs is of single features"),
        ("select class.csv -k 3 --groups 1:2 --group-file groups.tsv",
         "several numbers are of whole groups, --features all"),
        ("select class.csv -k 3 --groups 2 --prove --group-file groups.tsv",
         "Whole groups, --features all, may have it"),
        ("certify set class.csv --group-file groups.tsv", "has no group 'set'"),
        ("certify m.npz class.csv", "m.npz is a model of whole groups"),
        ("prove 'set 1' class.csv --within 0.1 --group-file groups.tsv", "--within lists features"),
        ("report m.npz class.csv -o p.html", "m.npz is of whole groups"),
        ("report k.npz class.csv -o p.html --group-file groups.tsv", "k.npz is of features"),
    ],
)  # fmt: skip
def test_what_whole_groups_cannot_have(run, fails, data, arguments, message):
    """Half of a selection in groups would be another one, without a word."""
    import shlex

    if ".npz" in arguments:
        pytest.importorskip("matplotlib")
        common = ("select", "class.csv", "--target", "y", "--no-cv")
        run(*common, *WHOLE, 2, *FILES, "-o", "m.npz")
        run(*common, "-k", 2, "-o", "k.npz")
    target = () if arguments.startswith("report") else ("--target", "y")
    assert message in fails(*shlex.split(arguments), *target)

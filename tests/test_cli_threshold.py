"""`zeronorm select --threshold`: from which probability on the positive class is predicted."""

import json
import re

import numpy as np
import pytest
from scipy.special import expit

from zeronorm import BudgetClassifier
from zeronorm._folds import splits
from zeronorm.persistence import load


@pytest.fixture
def visits(tmp_path):
    """A table of 80 rows, of which 20 relapse; X and labels."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((80, 12)), 3)
    odds = X[:, 0] - X[:, 1] + 0.8 * rng.standard_normal(80)
    y = np.where(odds > np.sort(odds)[-21], "relapse", "none")
    lines = [",".join([*(f"x{j}" for j in range(12)), "outcome"])]
    lines += [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    (tmp_path / "visits.csv").write_text("\n".join(lines))
    return X, y


def select(run, *options, **more):
    given = ("select", "visits.csv", "--target", "outcome", "-k", "2", "-o", "m.npz", *options)
    return json.loads(run(*given, "--json", **more).stdout)["models"][0]


def held_out(X, y, k=2):
    """The scores of all rows by fits to the other folds."""
    z = np.empty(len(y))
    for train, test in splits(y, np.ones(len(y)), 5, 0):
        fitted = BudgetClassifier(k, calibrate=False).fit(X[train], y[train])
        z[test] = fitted.decision_function(X[test])
    return z


@pytest.mark.parametrize("positive", ["relapse", "none"])
@pytest.mark.parametrize("calibrate", [False, True])
def test_rates_are_of_rows_out_of_fold(run, visits, positive, calibrate):
    """Training rows have probabilities that are too good, and a rate of theirs is not kept."""
    X, y = visits
    options = ("--threshold", "sensitivity=0.9", "--positive", positive)
    model = select(run, *options, "--calibrate" if calibrate else "--no-calibrate")
    scale = model["calibration"]["scale"] if calibrate else 1.0
    p = expit(scale * held_out(X, y) * (1 if positive == "relapse" else -1))
    own = np.sort(p[y == positive])[::-1]
    expected = own[int(np.ceil(0.9 * own.size)) - 1]
    told = model["threshold"]
    assert told["probability"] == pytest.approx(expected, rel=1e-6)
    assert told["positive"] == ["none", "relapse"].index(positive)
    assert told["sensitivity"] >= 0.9
    assert told["precision"] == pytest.approx(np.mean(y[p >= expected - 1e-9] == positive))
    loaded = load("m.npz")
    acted = loaded.predict_proba(X)[:, told["positive"]] >= told["probability"]
    np.testing.assert_array_equal(loaded.predict(X) == positive, acted)


def test_costs_and_sizes(run, visits):
    """Each size has scores of its own; a threshold of another would be written with it."""
    X, y = visits
    given = ("select", "visits.csv", "--target", "outcome", "-k", "1,3", "--rule", "all")
    text = run(*given, "--threshold", "cost=1:4", "-o", "m.npz", "--json").stdout
    for model in json.loads(text)["models"]:
        p, told = expit(held_out(X, y, model["n_features"])), model["threshold"]
        ill = y == "relapse"
        costs = [np.mean((p >= t) & ~ill) + 4 * np.mean((p < t) & ill) for t in [*p, 1.0]]
        assert told["cost"] == pytest.approx(min(costs))
        assert load(model["file"]).metadata["threshold"] == told


def test_a_probability_needs_no_folds(run, visits):
    """It is known already; what it does to held-out rows is not, and is not made up."""
    told = select(run, "--threshold", "0.2", "--no-cv")["threshold"]
    assert (told["probability"], told["sensitivity"]) == (0.2, None)
    assert select(run, "--threshold", "0.2")["threshold"]["sensitivity"] > 0.5
    assert select(run)["threshold"] is None


def test_all_commands_act_from_it_on(run, visits):
    """predict would say other classes than the model was selected to say."""
    X, y = visits
    select(run, "--threshold", "sensitivity=0.95")
    loaded = load("m.npz")
    told = loaded.metadata["threshold"]
    p = loaded.predict_proba(X)[:, 1]
    expected = np.where(p >= told["probability"], "relapse", "none").tolist()
    assert expected != np.where(p > 0.5, "relapse", "none").tolist()
    found = json.loads(run("predict", "m.npz", "visits.csv", "--json").stdout)
    assert found["predictions"] == expected
    assert "m.npz predicts 'relapse' from a probability of " in found["notes"][0]
    assert "(sensitivity=0.95)" in found["notes"][0]
    judged = json.loads(run("evaluate", "m.npz", "visits.csv", "--json").stdout)
    accuracy = {one["name"]: one["value"] for one in judged["scores"]}["accuracy"]
    assert accuracy == np.mean(np.array(expected) == y)
    text = " ".join(run("info", "m.npz").stdout.split())
    assert (
        f"'relapse' from a probability of {told['probability']:.3g} on (sensitivity=0.95)" in text
    )
    assert f"it finds {told['sensitivity']:.1%} of relapse" in text


def test_the_report_says_what_it_does(run, visits):
    """A reader would take the accuracy for that of the threshold."""
    given = ("select", "visits.csv", "--target", "outcome", "-k", "2", "--no-save")
    text = " ".join(run(*given, "--threshold", "cost=1:5").stdout.split())
    assert "'relapse' from a probability of " in text
    assert "(cost=1:5)" in text
    assert re.search(
        r"a sample costs [\d.]+ in the mean \(relapse for all 0.75, for none 1.25\)", text
    )
    assert "the accuracy above is from 0.5 on" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.5", "--threshold must be a probability (0.3)"),
        ("high", "--threshold must be"),
        ("sensitivity=0", "--threshold must be"),
        ("sensitivity=95", "--threshold must be"),
        ("recall=0.9", "--threshold must be"),
        ("cost=5", "--threshold must be"),
        ("cost=0:5", "--threshold must be"),
        ("cost=1:nan", "--threshold must be"),
        ("nan", "--threshold must be"),
    ],
)
def test_what_is_no_threshold_is_refused(fails, visits, text, message):
    """It would be left out, or taken for another one."""
    given = ("select", "visits.csv", "--target", "outcome", "-k", "2", "--threshold", text)
    assert message in fails(*given)
    assert f"got {text!r}" in fails(*given)


def test_where_there_are_none(fails, visits, tmp_path):
    """A threshold of a model that does not act would be in no file, without a word."""
    given = ("select", "visits.csv", "--target", "outcome", "-k", "2")
    rate = ("--threshold", "precision=0.5")
    assert "leave out --no-cv, or say a probability" in fails(*given, *rate, "--no-cv")
    assert "got numbers" in fails("select", "visits.csv", "--target", "x0", "-k", "2", *rate)
    assert "which has no --threshold" in fails(*given, *rate, "--measure", "f1")
    assert "one of the classes none, relapse; got 'ill'" in fails(
        *given, *rate, "--positive", "ill"
    )
    assert "--positive ill is of --measure and --threshold" in fails(*given, "--positive", "ill")
    rows = (tmp_path / "visits.csv").read_text().replace("relapse", "late", 9)
    (tmp_path / "three.csv").write_text(rows)
    three = fails("select", "three.csv", "--target", "outcome", "-k", "2", *rate)
    assert "is of two classes; got 3 classes" in three
    assert "precision must be one that some threshold has" in fails(
        *given, "--threshold", "precision=1", "--drop", "x0", "--drop", "x1"
    )


def test_evaluate_knows_the_cost(run, visits, tmp_path):
    """A threshold by costs was judged by accuracy alone, which it gives up on purpose."""
    X, y = visits
    select(run, "--threshold", "cost=1:7", "--positive", "relapse")
    run("select", "visits.csv", "--target", "outcome", "-k", 1, "--no-cv", "-q", "-o", "one.npz")
    document = json.loads(run("evaluate", "m.npz", "visits.csv", "--json").stdout)
    predicted = load("m.npz").predict(X)

    def cost(predicted):
        fp = (predicted == "relapse") & (y == "none")
        fn = (predicted == "none") & (y == "relapse")
        return np.mean(fp + 7.0 * fn)

    found = {one["name"]: one for one in document["scores"]}["cost=1:7"]
    assert found["value"] == pytest.approx(cost(predicted))
    assert found["baseline"] == pytest.approx(cost(np.full(80, "none")))
    assert found["standard_error"] > 0
    (costs,) = document["costs"]
    assert (costs["positive"], costs["score"]) == ("relapse", "cost=1:7")
    assert costs["never"] == pytest.approx(cost(np.full(80, "none")))
    assert costs["always"] == pytest.approx(cost(np.full(80, "relapse")))
    said = " ".join(run("evaluate", "m.npz", "visits.csv").stdout.split())
    assert "mean cost 1:7: 1.750 a row where 'relapse' is never predicted, 0.750 where al" in said
    assert "no better by mean cost" not in said
    swapped = np.where(y == "none", "relapse", "none")  # a model that is always wrong
    lines = (tmp_path / "visits.csv").read_text().splitlines()
    lines = [
        lines[0],
        *(f"{line.rpartition(',')[0]},{one}" for line, one in zip(lines[1:], swapped, strict=True)),
    ]
    (tmp_path / "swapped.csv").write_text("\n".join(lines))
    said = " ".join(run("evaluate", "m.npz", "swapped.csv").stdout.split())
    assert "no better by mean cost 1:7 than always 'relapse'" in said
    plain = json.loads(run("evaluate", "one.npz", "visits.csv", "--json").stdout)
    assert plain["costs"] == []
    assert not any("cost" in one["name"] for one in plain["scores"])


def test_a_cost_is_rounded_in_one_way(run, visits, tmp_path):
    """The table would say 0.487, and the line under it 0.488."""
    select(run, "--threshold", "cost=1:10")
    head, *rows = (tmp_path / "visits.csv").read_text().splitlines()
    ill = [row for row in rows if row.endswith("relapse")]
    well = [row for row in rows if row.endswith("none")]
    (tmp_path / "many.csv").write_text("\n".join([head, *(ill * 2)[:39], *(well * 13)[:761]]))
    document = json.loads(run("evaluate", "m.npz", "many.csv", "--json").stdout)
    (costs,) = document["costs"]
    assert {one["name"]: one for one in document["scores"]}["cost=1:10"]["baseline"] == costs[
        "never"
    ]


@pytest.mark.parametrize("positive", ["relapse", "none"])
def test_another_threshold_for_a_model_that_is_there(run, visits, tmp_path, positive):
    """Who acts more carefully would have to select again, or to sort probabilities by hand."""
    _, y = visits
    select(run, "--threshold", "cost=1:4", "--positive", positive)
    wanted, file = {}, {}
    for t in (0.15, 0.85):
        shown = json.loads(
            run("predict", "m.npz", "visits.csv", "--threshold", t, "--proba", "--json").stdout
        )
        p = np.array(shown["probabilities"])[:, shown["classes"].index(positive)]
        assert (np.array(shown["predictions"]) == positive).tolist() == (p >= t).tolist()
        wanted[t] = np.mean((p >= t) == (y == positive))
        assert shown["threshold"]["probability"] == t
        (note,) = [one for one in shown["notes"] if "--threshold" in one]
        assert f"m.npz predicts {positive!r} from a probability of {t} on by --threshold" in note
        assert re.search(r"not from a probability of \S+ on \(cost=1:4\), which m.npz has", note)
        judged = run("evaluate", "m.npz", "visits.csv", "--threshold", t, "--json").stdout
        file[t] = json.loads(judged)
        assert file[t]["threshold"] == shown["threshold"]
        assert file[t]["scores"][0]["value"] == pytest.approx(wanted[t])
        (cost,) = file[t]["costs"]
        assert cost["score"] == "cost=1:4"
    assert wanted[0.15] != wanted[0.85]


def test_another_threshold_of_a_model_without_one(run, visits):
    """The note would say what the file has, or that it has none would not be known."""
    select(run)
    given = ("predict", "m.npz", "visits.csv")
    assert json.loads(run(*given, "--json").stdout)["threshold"] is None
    said = run(*given, "--threshold", "0.3").stderr
    assert "'relapse' from a probability of 0.3 on by --threshold, not from 0.5 on." in said


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        ((), "1", "must be a probability, above 0 and below 1; got 1. Costs and rates choose one"),
        ((), "nan", "must be a probability, above 0 and below 1; got nan"),
        ((), "cost=1:4", "Invalid value for '--threshold': Input should be"),
        (("--target", "kind"), "0.3", "is of models of two classes; m.npz is one of 3 classes"),
        (("--target", "x1"), "0.3", "is of models of two classes; m.npz is not of classes"),
        (("--measure", "auc", "--refit-c", "loo"), "0.3", "is a probability, and m.npz has none"),
    ],
)
def test_models_that_have_no_threshold(run, fails, visits, tmp_path, options, text, message):
    """A number would be taken, and say nothing."""
    lines = (tmp_path / "visits.csv").read_text().splitlines()
    kinds = ["kind", *("abc"[row % 3] for row in range(80))]
    wide = "\n".join(f"{line},{kind}" for line, kind in zip(lines, kinds, strict=True))
    (tmp_path / "wide.csv").write_text(wide)
    target = () if "--target" in options else ("--target", "outcome")
    drop = ("--drop", "kind") if "kind" not in options else ("--drop", "outcome")
    drop = (*drop, "--drop", "outcome") if "x1" in options else drop
    given = ("-k", "2", "--no-cv", "-q", "-o", "m.npz")
    run("select", "wide.csv", *target, *drop, *options, *given)
    for command in ("predict", "evaluate"):
        assert message in fails(command, "m.npz", "wide.csv", "--threshold", text)

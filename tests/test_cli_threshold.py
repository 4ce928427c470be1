"""Models of two classes that predict from a probability other than 1/2."""

import json

import numpy as np
import pytest
from sklearn.model_selection import FixedThresholdClassifier

from zeronorm import BudgetClassifier
from zeronorm.persistence import save


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


def select(run):
    run("select", "visits.csv", "--target", "outcome", "-k", "2", "--no-cv", "-q", "-o", "m.npz")


def write_acting(X, y, threshold, positive="relapse"):
    """Save a model that acts from a threshold by scikit-learn, as m.npz; return it."""
    plain = BudgetClassifier(2, calibrate=False)
    model = FixedThresholdClassifier(plain, threshold=threshold, pos_label=positive).fit(X, y)
    names = [f"x{j}" for j in range(X.shape[1])]
    save(model, "m.npz", feature_names=names, target_name="outcome", X=X)
    return model


def test_all_commands_act_from_it_on(run, visits):
    """predict would say other classes than the estimator that was saved."""
    X, y = visits
    model = write_acting(X, y, 0.15)
    expected = model.predict(X).tolist()
    assert expected != model.estimator_.predict(X).tolist()
    found = json.loads(run("predict", "m.npz", "visits.csv", "--json").stdout)
    assert found["predictions"] == expected
    record = {"positive": 1, "probability": 0.15, "score": None, "rule": "0.15"}
    assert found["threshold"] == record
    assert "m.npz predicts 'relapse' from a probability of 0.15 on" in found["notes"]
    judged = json.loads(run("evaluate", "m.npz", "visits.csv", "--json").stdout)
    accuracy = {one["name"]: one["value"] for one in judged["scores"]}["accuracy"]
    assert accuracy == np.mean(np.array(expected) == y)
    text = " ".join(run("info", "m.npz").stdout.split())
    assert "'relapse' from a probability of 0.15 on, not from 0.5 on" in text


@pytest.mark.slow
def test_a_model_that_python_saved_has_no_report(fails, visits):
    """A page would be of another selection than that of the model in the file."""
    write_acting(*visits, 0.15)
    said = fails("report", "m.npz", "visits.csv", "--pairs", 0, "--time-limit", 0, "-o", "p.html")
    assert "m.npz keeps no report" in said
    assert "zeronorm.report(model, X, y, 'FILE.html') writes a page" in said


def test_where_there_are_none(fails, visits):
    """A positive class of no measure would be left out without a word."""
    given = ("select", "visits.csv", "--target", "outcome", "-k", "2", "--positive", "relapse")
    assert "--positive relapse is of --measure; say that as well" in fails(*given)


@pytest.mark.parametrize("positive", ["relapse", "none"])
def test_another_threshold_for_a_model_that_is_there(run, visits, tmp_path, positive):
    """Who acts more carefully would have to select again, or to sort probabilities by hand."""
    X, y = visits
    write_acting(X, y, 0.4, positive)
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
        assert note.endswith("not from a probability of 0.4 on, which m.npz has")
        judged = run("evaluate", "m.npz", "visits.csv", "--threshold", t, "--json").stdout
        file[t] = json.loads(judged)
        assert file[t]["threshold"] == shown["threshold"]
        assert file[t]["scores"][0]["value"] == pytest.approx(wanted[t])
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
        ((), "1", "must be a probability, above 0 and below 1; got 1."),
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

"""`zeronorm evaluate`: scores are those of scikit-learn, errors those of other samples."""

import json
import re

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    d2_tweedie_score,
    f1_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from conftest import slow
from zeronorm import BudgetRegressor, BudgetSurvivalAnalysis
from zeronorm.persistence import load
from zeronorm.reporting.documents.evaluation import (
    judged,
    scores_of_classes,
    scores_of_numbers,
    scores_of_shares,
    wilson,
)


def written(path, X, columns):
    """A CSV file of features and other columns."""
    names = [*(f"g{j}" for j in range(X.shape[1])), *columns]
    rows = zip(*(map(repr, one.tolist()) for one in X.T), *columns.values(), strict=True)
    path.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def scores(run, *arguments):
    document = json.loads(run("evaluate", *arguments, "--json").stdout)
    return document, {one["name"]: one for one in document["scores"]}


@pytest.fixture
def classes(run, tmp_path):
    """A model of three classes, and new rows with some of each."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 8))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + rng.standard_normal((150, 3)), axis=1)]
    written(tmp_path / "old.csv", X[:90], {"kind": y[:90]})
    written(tmp_path / "new.csv", X[90:], {"kind": y[90:]})
    run("select", "old.csv", "--target", "kind", "-k", "3", "--no-cv", "-q", "-o", "m.npz")
    return X[90:], y[90:]


def test_scores_of_classes_are_scikit_learns(run, classes, tmp_path):
    """A reader would compare them with those of other programs."""
    X, y = classes
    document, found = scores(run, "m.npz", "new.csv")
    model = load(tmp_path / "m.npz")
    proba = model.predict_proba(X)
    predicted = model.predict(X)
    assert found["accuracy"]["value"] == pytest.approx(accuracy_score(y, predicted))
    expected = balanced_accuracy_score(y, predicted)
    assert found["balanced_accuracy"]["value"] == pytest.approx(expected)
    expected = roc_auc_score(y, proba, multi_class="ovr")
    assert found["auc"]["value"] == pytest.approx(expected)
    assert found["log_loss"]["value"] == pytest.approx(log_loss(y, proba))
    largest = max(np.mean(y == one) for one in "abc")
    assert found["accuracy"]["baseline"] == pytest.approx(largest)
    shares = np.tile([np.mean(y == one) for one in "abc"], (len(y), 1))
    assert found["log_loss"]["baseline"] == pytest.approx(log_loss(y, shares))
    right = [np.mean(predicted[y == one] == one) for one in "abc"]
    assert [one["recall"] for one in document["by_class"]] == pytest.approx(right)
    said = [np.mean(y[predicted == one] == one) for one in "abc"]
    assert [one["precision"] for one in document["by_class"]] == pytest.approx(said)
    assert sum(map(sum, document["confusion"])) == len(y)


def test_brier_score_of_two_classes():
    """It is of one event: the sum over both classes would be twice as much."""
    rng = np.random.default_rng(1)
    p = rng.random(80)
    y = np.where(rng.random(80) < p, "yes", "no")
    proba, names = np.column_stack([1 - p, p]), np.array(["no", "yes"])
    found = scores_of_classes(y, names[(p > 0.5).astype(int)], proba, names, p[:, None])
    assert found["brier"](np.ones(80)) == pytest.approx(brier_score_loss(y == "yes", p))
    assert found["auc"](np.ones(80)) == pytest.approx(roc_auc_score(y == "yes", p))


@pytest.mark.slow
def test_standard_errors_are_of_other_samples():
    """Over many draws of as many rows the score spreads as the error of one of them says."""
    rng = np.random.default_rng(2)
    names, values, errors = np.array([0, 1]), [], []
    for _ in range(60):
        y = rng.integers(0, 2, 100)
        z = y + rng.standard_normal(100)
        own = scores_of_classes(y, (z > 0.5).astype(int), None, names, z[:, None])
        found = judged(own, scores_of_shares(y, names), 100, 100)
        values.append([one.value for one in found])
        errors.append([one.standard_error for one in found])
    ratio = np.mean(errors, axis=0) / np.std(values, axis=0, ddof=1)
    assert np.all((ratio > 0.75) & (ratio < 1.35))  # accuracy, balanced accuracy, AUC


def test_scores_of_numbers_are_scikit_learns(run, tmp_path):
    """R^2, and errors in the unit of the target, against the mean for all."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 6))
    y = 10 + 3 * X[:, 1] + rng.standard_normal(120)
    written(tmp_path / "old.csv", X[:80], {"fat": y[:80]})
    written(tmp_path / "new.csv", X[80:], {"fat": y[80:]})
    run("select", "old.csv", "--target", "fat", "-k", "2", "--no-cv", "-q", "-o", "m.npz")
    _, found = scores(run, "m.npz", "new.csv")
    new, p = y[80:], load(tmp_path / "m.npz").predict(X[80:])
    assert found["r2"]["value"] == pytest.approx(r2_score(new, p))
    assert found["rmse"]["value"] == pytest.approx(root_mean_squared_error(new, p))
    assert found["mae"]["value"] == pytest.approx(mean_absolute_error(new, p))
    assert found["rmse"]["baseline"] == pytest.approx(np.std(new))
    text = run("evaluate", "m.npz", "new.csv").stdout
    assert "root mean squared error" in text
    assert "no better than" not in text


def test_several_responses_are_averaged():
    """R^2 is the mean of theirs, and errors are over all of them."""
    rng = np.random.default_rng(4)
    y = rng.standard_normal((50, 2))
    p = y + 0.3 * rng.standard_normal((50, 2))
    explained = BudgetRegressor()._explained
    found = scores_of_numbers(y, p, explained, "r2")
    assert found["r2"](np.ones(50)) == pytest.approx(r2_score(y, p))
    assert found["mae"](np.ones(50)) == pytest.approx(mean_absolute_error(y, p))


def test_each_response_has_scores_of_its_own(run, tmp_path):
    """A response that is not predicted at all would hide behind the mean of the others."""
    rng = np.random.default_rng(4)
    X, noise = rng.standard_normal((120, 6)), rng.standard_normal((120, 2))
    Y = np.c_[10 + 3 * X[:, 1], np.zeros(120)] + noise * (1.0, 50.0)
    for name, rows in {"old.csv": slice(80), "new.csv": slice(80, None)}.items():
        written(tmp_path / name, X[rows], {"fat": Y[rows, 0], "luck": Y[rows, 1]})
    run("select", "old.csv", "--target", "fat,luck", "-k", "2", "--no-cv", "-q", "-o", "m.npz")
    document, _ = scores(run, "m.npz", "new.csv", "--target", "fat,luck")
    p, truth = load(tmp_path / "m.npz").predict(X[80:]), Y[80:]
    assert [one["response"] for one in document["by_response"]] == ["fat", "luck"]
    for own, y, found in zip(document["by_response"], truth.T, p.T, strict=True):
        assert own["score"] == pytest.approx(r2_score(y, found))
        assert own["rmse"] == pytest.approx(root_mean_squared_error(y, found))
        assert own["mae"] == pytest.approx(mean_absolute_error(y, found))
    text = run("evaluate", "m.npz", "new.csv", "--target", "fat,luck").stdout
    assert re.search(rf"\nluck +{r2_score(truth[:, 1], p[:, 1]):.3f} ", text)


def test_survival_times_have_harrells_c(run, tmp_path):
    """It is that of `score`, beside one half."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((160, 5))
    time, end = rng.exponential(np.exp(-1.5 * X[:, 2])), rng.exponential(2.0, 160)
    seen = time <= end
    days = np.minimum(time, end)
    for name, rows in {"old.csv": slice(100), "new.csv": slice(100, None)}.items():
        columns = {"days": days[rows], "died": seen[rows].astype(int)}
        written(tmp_path / name, X[rows], columns)
    given = ("--time", "days", "--event", "died")
    run("select", "old.csv", *given, "-k", "1", "--no-cv", "-q", "-o", "m.npz")
    document, found = scores(run, "m.npz", "new.csv")
    y = np.rec.fromarrays([seen[:100], days[:100]], names="event,time")
    new = np.rec.fromarrays([seen[100:], days[100:]], names="event,time")
    model = BudgetSurvivalAnalysis(1).fit(X[:100], y)
    assert found["c_index"]["value"] == pytest.approx(model.score(X[100:], new))
    assert document["confusion"] is None


def test_a_model_of_nothing_is_said_to_be_none(run, tmp_path):
    """Pure noise, where always the larger class does better."""
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((200, 30)), np.where(rng.random(200) < 0.2, "yes", "no")
    written(tmp_path / "old.csv", X[:60], {"ill": y[:60]})
    written(tmp_path / "new.csv", X[60:], {"ill": y[60:]})
    run("select", "old.csv", "--target", "ill", "-k", "5", "--no-cv", "-q", "-o", "m.npz")
    text = run("evaluate", "m.npz", "new.csv").stdout
    assert "no better than chance by AUC" in text


def test_probabilities_of_weighted_classes_are_told(run, tmp_path):
    """Risks that are ten times too high would be read as those of patients."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((800, 4))
    y = np.where(rng.random(800) < 1 / (1 + np.exp(4 - 1.5 * X[:, 0])), "yes", "no")
    written(tmp_path / "old.csv", X[:500], {"ill": y[:500]})
    written(tmp_path / "new.csv", X[500:], {"ill": y[500:]})
    given = ("select", "old.csv", "--target", "ill", "-k", "1", "--no-cv")
    told = "those of equally frequent classes, because of the class weights"
    worse = "log-loss and Brier score are worse than with the class frequencies for all samples"
    assert told in " ".join(
        run(*given, "--class-weight", "balanced", "-o", "w.npz", "-q").stdout.split()
    )
    assert told in " ".join(run("info", "w.npz").stdout.split())
    found = run("evaluate", "w.npz", "new.csv", "-q")
    assert f"Note: the probabilities of w.npz are {told}" in found.stderr
    assert worse in found.stdout
    _, known = scores(run, "w.npz", "new.csv")
    assert all(known[name]["value"] > known[name]["baseline"] for name in ("log_loss", "brier"))
    assert "class weights" not in run(*given, "-o", "m.npz").stdout
    for command in (("info", "m.npz"), ("evaluate", "m.npz", "new.csv")):
        assert not any(words in run(*command).output for words in ("class weights", worse))


@pytest.mark.parametrize(("right", "n"), [(0, 5), (5, 5), (40, 50), (1, 1)])
def test_shares_have_wilsons_interval(right, n):
    """It is the set of shares p that a test by the normal distribution does not refuse."""
    low, high = wilson(right, n)
    for p in (low, high):
        if 0 < p < 1:
            assert abs(right / n - p) == pytest.approx(1.959964 * np.sqrt(p * (1 - p) / n))
    assert 0 <= low < high <= 1


def test_samples_of_one_class_tell_little(run, classes, tmp_path):
    """There is no AUC, and the accuracy is that of always saying so."""
    X, y = classes
    written(tmp_path / "one.csv", X[y == "a"], {"kind": y[y == "a"]})
    result = run("evaluate", "m.npz", "one.csv")
    assert "too alike to judge" in result.stdout
    assert result.stderr == ""  # no warning of numpy's


def test_classes_of_few_samples_give_no_warning(run, classes, tmp_path):
    """A resample without a class has no balanced accuracy; the reader has no use for that."""
    X, y = classes
    few = np.concatenate([np.flatnonzero(y == "a"), np.flatnonzero(y != "a")[:2]])
    written(tmp_path / "few.csv", X[few], {"kind": y[few]})
    assert run("evaluate", "m.npz", "few.csv").stderr == ""


def test_what_cannot_be_compared_is_refused(run, fails, classes, tmp_path):
    """A score of other classes, or of none, would be one of nothing."""
    X, y = classes
    written(tmp_path / "bare.csv", X, {})
    assert "nothing to compare predictions with" in fails("evaluate", "m.npz", "bare.csv")
    written(tmp_path / "others.csv", X, {"kind": np.full(len(y), "d")})
    assert "knows the classes a, b, c" in fails("evaluate", "m.npz", "others.csv")
    mixed = np.where(np.arange(len(y)) < 4, "d", y)
    written(tmp_path / "mixed.csv", X, {"kind": mixed})
    document, found = scores(run, "m.npz", "mixed.csv")
    assert "left out: 4 samples have classes that the model does not know, d" in " ".join(
        document["notes"]
    )
    assert found["accuracy"]["value"] is not None


@pytest.mark.parametrize("positive", ["no", *slow("yes")])
def test_the_measure_of_the_training_is_among_the_scores(run, tmp_path, positive):
    """F1 counts one class alone, whichever of the two it is."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((120, 6))
    y = np.where(X[:, 0] + 0.7 * rng.standard_normal(120) > 0.5, "yes", "no")
    written(tmp_path / "old.csv", X[:60], {"ill": y[:60]})
    written(tmp_path / "new.csv", X[60:], {"ill": y[60:]})
    given = ("--target", "ill", "-k", "2", "--no-cv", "-q", "-o", "m.npz")
    run("select", "old.csv", *given, "--measure", "f1", "--positive", positive)
    document, found = scores(run, "m.npz", "new.csv")
    predicted = load(tmp_path / "m.npz").predict(X[60:])
    assert found["f1"]["value"] == pytest.approx(f1_score(y[60:], predicted, pos_label=positive))
    share = np.mean(y[60:] == positive)
    assert found["f1"]["baseline"] == pytest.approx(2 * share / (1 + share))  # all are positive
    assert found["f1"]["standard_error"] > 0
    assert not any("same samples" in note for note in document["notes"])


def test_the_training_samples_are_recognised(run, classes):
    """Scores of these would be taken for those of new ones."""
    document, _ = scores(run, "m.npz", "old.csv")
    assert any("these seem to be the same samples" in note for note in document["notes"])
    document, _ = scores(run, "m.npz", "new.csv")
    assert not document["notes"]


def test_an_exposure_alone_is_the_baseline(run, tmp_path):
    """It explains most of counts; one mean for all would credit the features with it."""
    rng = np.random.default_rng(5)
    X, t = rng.standard_normal((200, 5)), rng.lognormal(2, 1, 200).round(3)
    y = rng.poisson(t * np.exp(0.3 * X[:, 0]))
    written(tmp_path / "a.csv", X, {"claims": y, "years": t})
    given = ("--target", "claims", "--task", "counts", "--exposure", "years", "-k", "1", "--no-cv")
    run("select", "a.csv", *given, "-q", "-o", "m.npz")
    _, found = scores(run, "m.npz", "a.csv")
    plain = t * y.sum() / t.sum()
    assert found["d2"]["baseline"] == pytest.approx(d2_tweedie_score(y, plain, power=1))
    assert 0.5 < found["d2"]["baseline"] < found["d2"]["value"]
    assert found["rmse"]["baseline"] == pytest.approx(root_mean_squared_error(y, plain))
    rng.shuffle(X)  # features of nobody
    written(tmp_path / "b.csv", X, {"claims": y, "years": t})
    assert "no better than years alone" in run("evaluate", "m.npz", "b.csv").stdout


def test_what_cannot_be_known_has_no_number(run, classes, tmp_path):
    """One row has no standard error, and a target that is one value nothing to explain."""
    lines = (tmp_path / "new.csv").read_text().splitlines()
    (tmp_path / "row.csv").write_text("\n".join(lines[:2]) + "\n")
    document, _ = scores(run, "m.npz", "row.csv")
    assert {one["standard_error"] for one in document["scores"]} == {None}
    constant, predicted = np.full(9, 2.0), np.arange(9.0)
    found = scores_of_numbers(constant, predicted, BudgetRegressor()._explained, "r2")
    assert np.isnan(found["r2"](np.ones(9)))
    wanted = root_mean_squared_error(constant, predicted)
    assert found["rmse"](np.ones(9)) == pytest.approx(wanted)


def test_samples_of_other_classes_are_told_quiet_or_not(run, classes, tmp_path):
    """The scores are not of them."""
    text = (tmp_path / "new.csv").read_text().replace(",a\n", ",z\n", 1)
    (tmp_path / "other.csv").write_text(text)
    said = run("evaluate", "m.npz", "other.csv", "-q").stderr
    assert "left out: 1 sample has a class that the model does not know, z." in said


def test_the_error_of_a_difference_is_that_of_pairs():
    """What both models get wrong alike is no part of it: it is far below that of either score."""
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(200)
    y = 3 * noise
    own, other = (scores_of_numbers(y, y + noise + d, None, "r2") for d in (0.0, 0.01))
    mae = judged(own, other, 200, 200)[2]
    assert mae.advantage_error < 0.05 * mae.standard_error
    errors = np.abs(noise) - np.abs(noise + 0.01)
    assert mae.value - mae.baseline == pytest.approx(errors.mean())
    assert mae.advantage_error == pytest.approx(errors.std() / np.sqrt(200), rel=0.2)

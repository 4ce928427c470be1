"""What cross-validated scores are worth: baselines, chance, permutations."""

import json
import re
from types import SimpleNamespace as Bag

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.metrics import balanced_accuracy_score, log_loss, r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold
from typer.testing import CliRunner

from conftest import slow
from golub import GOLUB, load_golub
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    MeasureClassifier,
    cross_validate,
    permutation_test,
)
from zeronorm.cli import app
from zeronorm.estimators.held_out import auc_of_classes
from zeronorm.measures import FBeta, PrecisionAt
from zeronorm.reporting.text.selection import score_beside_chance

CHEAP = {"calibrate": False, "refit_C": 1.0}


def drawn(n=90, p=20, share=0.2, signal=2.0, seed=0):
    """Return data of two classes, of which the second is rare, with one feature that tells."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < share * n, "yes", "no")
    X = rng.standard_normal((n, p))
    X[:, 0] += signal * (y == "yes")
    return X, y


def survival_of(time, event):
    """Return survival times as estimators take them."""
    kind = [("event", bool), ("time", float)]
    return np.array(list(zip(event.astype(bool), time, strict=True)), dtype=kind)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_beside_accuracy_are_those_of_fits_by_hand(class_weight, weighted):
    """They would be of other rows, or weighted in another way, or turned round."""
    X, y = drawn(signal=1.0)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, y.size) if weighted else np.ones(y.size)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=2).split(X, y))
    model = BudgetClassifier([1, 3], class_weight=class_weight, **CHEAP)
    found = cross_validate(model, X, y, cv=folds, sample_weight=weight)
    for fold, (train, test) in enumerate(folds):
        fitted = BudgetClassifier(3, class_weight=class_weight, **CHEAP)
        fitted.fit(X[train], y[train], sample_weight=weight[train])
        z, own = fitted.decision_function(X[test]), {"sample_weight": weight[test]}
        assert found.auc[1, fold] == pytest.approx(roc_auc_score(y[test] == "yes", z, **own))
        assert found.balanced_accuracy[1, fold] == pytest.approx(
            balanced_accuracy_score(y[test], fitted.predict(X[test]), **own)
        )
        assert found.baseline[fold] == pytest.approx(
            np.average(y[test] == "no", weights=weight[test])
        )
    np.testing.assert_allclose(found.advantage, found.auc - 0.5)
    spread = found.advantage.std(axis=1, ddof=1)
    ratio = np.mean([weight[test].sum() / weight[train].sum() for train, test in folds])
    np.testing.assert_allclose(found.advantage_error, spread * np.sqrt(1 / 3 + ratio))
    assert found.better_than_chance.all()


@pytest.mark.parametrize("n_folds", [3, 5, 10])
def test_the_limit_of_chance_is_students_and_shared_by_sizes(n_folds):
    """Noise would be told as more than chance in one set of five, or the best of many sizes."""
    X, y = drawn(share=0.5)
    found = cross_validate(BudgetClassifier([1, 2], **CHEAP), X, y, cv=n_folds)
    limit = student.ppf(0.95, n_folds - 1)
    assert found.limit_of_chance() == pytest.approx(limit)
    assert found.limit_of_chance(9) == pytest.approx(student.ppf(1 - 0.05 / 3, n_folds - 1))
    ratio = found.advantage.mean(axis=1) / found.advantage_error
    assert (found.better_than_chance == (ratio > limit)).all()


@pytest.mark.parametrize("sizes", [1, 9])
def test_the_words_for_chance_are_of_the_limit(sizes):
    """What one set of noise in five reaches would be told as better than chance."""
    limit = student.ppf(1 - 0.05 / sizes**0.5, 4)

    def said(errors, **more):
        validation = Bag(
            mean=0.7, standard_error=0.01, folds=5, baseline=0.5, rmse=None, auc=None,
            balanced_accuracy=None, advantage=0.1 * errors, compared=sizes, advantage_error=0.1,
            limit_of_chance=limit, better_than_chance=errors > limit,
        )  # fmt: skip
        data = Bag(class_counts={"a": 5, "b": 5})
        document = Bag(data=data, classes=["a", "b"], n_covariates=0)
        model = Bag(
            **{"cross_validation": validation, "measure": None, "permutations": None} | more
        )
        parts = score_beside_chance(document, model, "accuracy")
        return "".join(part if isinstance(part, str) else part[0] for part in parts)

    assert "chance" not in said(limit + 0.01)
    among = "" if sizes == 1 else " for the best of 9 sizes"
    below = said(limit - 0.1)
    assert f"not clearly better than chance{among}: the gain is {limit - 0.1:.1f}" in below
    assert f"chance alone reaches {limit:.1f} in one study of 20; --permutations 99" in below
    assert f"\nno better than chance{among}" in said(-0.1)
    tested = said(limit - 0.1, permutations={"p_value": 0.2})
    assert ("chance" in tested) == (sizes > 1)  # the p-value is of one size


def test_the_baseline_is_of_the_training_rows():
    """The largest class of the held-out rows would be told in its place."""
    X, y = drawn(share=0.5)
    train, test = np.r_[0:30, 45:80], np.r_[30:45, 80:90]
    found = cross_validate(BudgetClassifier(1, **CHEAP), X, y, cv=[(train, test)])
    assert found.baseline == pytest.approx([10 / 25])  # "no", of 35 in 65 training rows
    assert found.better_than_chance.all()  # of one fold there is no spread
    one = cross_validate(BudgetClassifier(1, **CHEAP), X, y, cv=[(train, test[:15])] * 2)
    assert np.isnan(one.auc).all()  # one class is held out: balanced accuracy tells
    np.testing.assert_allclose(one.advantage, one.balanced_accuracy)


@pytest.mark.parametrize("multi_class", ["multinomial", "ovr"])
def test_several_classes_beside_the_rest(multi_class):
    """AUC would be of other columns, or the model without features give no probabilities."""
    rng = np.random.default_rng(0)
    y = np.array(["c", "a", "b", "b"])[np.arange(120) % 4]
    X = rng.standard_normal((120, 10)) + 2 * np.eye(10)[np.searchsorted(["a", "b", "c"], y)]
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    model = BudgetClassifier(3, multi_class=multi_class, **CHEAP)
    found = cross_validate(model, X, y, cv=folds)
    for fold, (train, test) in enumerate(folds):
        model.fit(X[train], y[train])
        z = model.decision_function(X[test])
        if multi_class == "multinomial":  # the score of the middle one of three is no order
            z = model.predict_proba(X[test])
        areas = [roc_auc_score(y[test] == one, z[:, i]) for i, one in enumerate(model.classes_)]
        assert found.auc[0, fold] == pytest.approx(np.mean(areas))
    np.testing.assert_allclose(found.baseline, 0.5)
    scored = cross_validate(model, X, y, cv=folds, scoring="neg_log_loss")
    shares = [log_loss(y[test], np.tile([0.25, 0.5, 0.25], (40, 1))) for _, test in folds]
    np.testing.assert_allclose(scored.baseline, -np.array(shares))
    assert scored.better_than_chance.all()


def test_ties_count_by_half_in_auc():
    """A model of equal scores would be better or worse than chance by the order of the rows."""
    rng = np.random.default_rng(0)
    z, y = rng.integers(0, 4, 50).astype(float), rng.integers(0, 2, 50)
    weight = rng.uniform(0.5, 2.0, 50)
    area = auc_of_classes(z[:, None], y, np.array([0, 1]), weight)
    assert area == pytest.approx(roc_auc_score(y, z, sample_weight=weight))
    assert auc_of_classes(0 * z[:, None], y, np.array([0, 1]), weight) == 0.5


def test_numbers_counts_and_times_beside_their_baselines():
    """The model without features would not know the mean, the offset or the covariates."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6))
    y = 100.0 + X[:, 0] + 3.0 * X[:, 5] + rng.standard_normal(80)
    folds = list(KFold(4).split(X))
    found = cross_validate(BudgetRegressor(1), X, y, cv=folds)
    means = [r2_score(y[test], np.full(test.size, y[train].mean())) for train, test in folds]
    np.testing.assert_allclose(found.baseline, means, atol=1e-9)
    assert found.auc is None
    np.testing.assert_allclose(found.advantage, found.baseline_deviance - found.deviance)
    beside = cross_validate(BudgetRegressor(1, covariates=[5]), X, y, cv=folds)
    alone = []
    for train, test in folds:
        slope, mean = np.polyfit(X[train, 5], y[train], 1)
        alone.append(r2_score(y[test], mean + slope * X[test, 5]))
    np.testing.assert_allclose(beside.baseline, alone, atol=1e-9)
    several = cross_validate(BudgetRegressor(1), X, np.column_stack([y, -y]), cv=folds)
    np.testing.assert_allclose(several.baseline, means, atol=1e-9)
    exposure = rng.uniform(0.5, 20.0, 80)
    counts = rng.poisson(exposure)
    model = BudgetRegressor(1, loss="poisson")
    rates = cross_validate(model, X, counts, cv=folds, offset=np.log(exposure))
    assert (rates.baseline > 0.5).all()  # the exposure is no merit of the features
    assert (rates.advantage < 0.1).all()
    times = survival_of(rng.exponential(np.exp(-X[:, 0])), np.ones(80))
    survival = cross_validate(BudgetSurvivalAnalysis(1), X, times, cv=folds)
    np.testing.assert_allclose(survival.baseline, 0.5)
    assert survival.better_than_chance.all()


def test_measures_by_chance():
    """A measure that anything reaches, as F1 of frequent positives, would look like a merit."""
    y = np.where(np.arange(40) < 30, 1.0, -1.0)
    assert FBeta(1.0).chance(y) == pytest.approx(2 * 0.75 / 1.75)  # all positive
    assert PrecisionAt(5).chance(y) == pytest.approx(0.75)  # of any five rows
    X, labels = drawn(share=0.4, signal=3.0)
    for measure, value in (("auc", 0.5), ("f1", 0.8 / 1.4), ("recall@5", 5 / 30)):
        found = cross_validate(
            BudgetClassifier(1, **CHEAP), X, labels, cv=3, measure=measure, pos_label="yes"
        )
        np.testing.assert_allclose(found.baseline, value)
    found = cross_validate(MeasureClassifier("f1", 2, pos_label="yes"), X, labels, cv=3)
    np.testing.assert_allclose(found.baseline, 0.8 / 1.4)
    assert found.better_than_chance.all()


def test_noise_is_told_and_signal_is_not():
    """Noise would be taken for a find, or a find for noise."""
    told = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 300))
        found = cross_validate(BudgetClassifier(10, **CHEAP), X, np.arange(60) % 2)
        told.append(bool(found.better_than_chance[0]))
    assert sum(told) <= 9
    assert cross_validate(BudgetClassifier(3, **CHEAP), *load_golub(True)).better_than_chance.all()
    # Rare positives: nearly all is "no", and yet the scores tell the classes apart.
    X, y = drawn(n=300, share=0.08, signal=1.5)
    found = cross_validate(BudgetClassifier(2, class_weight="balanced", **CHEAP), X, y)
    assert found.mean[0] < found.baseline.mean()
    assert found.better_than_chance.all()


def test_permutations_repeat_the_selection():
    """p would not be (1 + #{permuted >= own}) / (N + 1), or labels leave their weights behind."""
    X, y = drawn(signal=3.0)
    model = BudgetClassifier([1, 3], **CHEAP)
    found = permutation_test(model, X, y, 9, cv=3, random_state=4)
    assert found.statistic == "auc"
    assert found.permuted.shape == (9, 2)
    np.testing.assert_allclose(found.p_value, 0.1)
    np.testing.assert_array_equal(
        found.own, cross_validate(model, X, y, cv=3, random_state=4).auc.mean(1)
    )
    order = np.random.default_rng(4).permutation(y.size)
    again = cross_validate(model, X, y[order], cv=3, random_state=4).auc.mean(axis=1)
    np.testing.assert_array_equal(found.permuted[0], again)
    noise = permutation_test(model, X[:, 1:], y, 19, cv=3)
    at_least = (noise.permuted >= noise.own).sum(axis=0)
    np.testing.assert_allclose(noise.p_value, (1 + at_least) / 20)
    assert (noise.p_value > 0.05).all()
    by_accuracy = permutation_test(model, X, y, 2, cv=3, measure="accuracy")
    np.testing.assert_array_equal(by_accuracy.own, by_accuracy.validation.mean)


def test_permutations_of_numbers_and_times():
    """Offsets, times and events of a row would come apart."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    counts = rng.poisson(np.exp(0.8 * X[:, 0]) * 3)
    exposure = np.full(60, 3.0)
    found = permutation_test(
        BudgetRegressor(1, loss="poisson"), X, counts, 19, cv=3, offset=np.log(exposure)
    )
    assert found.statistic == "d2"
    assert found.p_value == pytest.approx([0.05])
    times = survival_of(rng.exponential(np.exp(-2 * X[:, 0])), rng.integers(0, 2, 60))
    found = permutation_test(BudgetSurvivalAnalysis(1), X, times, 19, cv=3)
    assert found.statistic == "c_index"
    assert found.p_value == pytest.approx([0.05])


def test_permutations_that_cannot_be():
    """A number of none would end in an empty array, and covariates give a p that is theirs."""
    X, y = drawn()
    with pytest.raises(ValueError, match=r"n_permutations must be an integer of at least 1; got 0"):
        permutation_test(BudgetClassifier(1), X, y, 0)
    with pytest.raises(ValueError, match=r"no covariates for a permutation test.*got\s+covari"):
        permutation_test(BudgetClassifier(1, covariates=[2]), X, y, 2)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs the command in an empty folder with noise and rare positives."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    np.savez(
        "noise.npz", X=np.random.default_rng(2).standard_normal((60, 200)), y=np.arange(60) % 2
    )
    X, y = drawn(n=300, share=0.08, signal=1.5)
    np.savez("rare.npz", X=X, y=y)

    def called(*arguments):
        shown = CliRunner().invoke(app, ["select", *map(str, arguments), "--no-save"])
        return shown, " ".join(shown.output.split())

    return called


def test_the_command_tells_what_scores_are_worth(run):
    """An accuracy below that of "no" for all would be told as if it were something."""
    rare = ("rare.npz", "-k", 2, "--class-weight", "balanced", "--no-calibrate")
    text = run(*rare, "--permutations", 19)[1]
    model = BudgetClassifier(2, class_weight="balanced", calibrate=False)
    data = np.load("rare.npz")
    found = cross_validate(model, data["X"], data["y"])
    own, balanced, area = (
        f"{one.mean():.3f} ± {one.std(ddof=1) / 5**0.5:.3f}"
        for one in (found.scores, found.balanced_accuracy, found.auc)
    )
    assert (
        f"{own} (always 'no': 0.920) balanced accuracy {balanced}, AUC {area} in 5-fold "
        "cross-validation" in text
    )
    assert "accuracy is below that of always 'no'" in text
    assert "probabilities those of equally frequent classes, because of the class weights" in text
    assert "p = 0.05: AUC" in text
    document = json.loads(run(*rare, "--json")[0].stdout)["models"][0]
    assert document["cross_validation"]["better_than_chance"] is True
    assert document["cross_validation"]["baseline"] == pytest.approx(0.92)
    assert document["permutations"] is None
    noise = ("noise.npz", "-k", 10, "--no-calibrate")
    text = run(*noise)[1]
    assert "no better than chance" in text
    assert "class weights" not in text
    document = json.loads(run(*noise, "--json", "--permutations", 3)[0].stdout)["models"][0]
    assert document["cross_validation"]["better_than_chance"] is False
    assert document["permutations"]["p_value"] >= 0.5


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["0"], "--permutations must be at least 1; got 0"),
        (["9", "--no-cv"], "--permutations 9 repeats the cross-validation, and --no-cv has none"),
        (["9", "--covariates", "1"], "--permutations 9 does not go with --covariates"),
    ],
)
def test_permutations_of_the_command_that_cannot_be(run, more, message):
    """The command would work for a while, and then say nothing of the permutations."""
    shown, text = run("rare.npz", "-k", 2, "--permutations", *more)
    assert shown.exit_code != 0
    assert message in text


@pytest.mark.parametrize("seeds", [range(10), *slow(range(10, 60))])
@pytest.mark.slow
def test_noise_with_the_default_sizes_is_told(run, seeds):
    """The best of 13 sizes on the same folds would be told as more than chance on noise.

    By the errors of one size alone too many of such sets pass.
    """
    passed = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        np.savez("n.npz", X=rng.standard_normal((60, 300)), y=(rng.random(60) < 0.4) * 1)
        text = run("n.npz", "--no-calibrate", "-q")[1]
        if not re.search("better than chance for the best of 13 sizes", text):
            passed.append(seed)
    assert len(passed) <= len(seeds) // 10


def test_a_signal_with_the_default_sizes_is_told_as_one(run):
    """What is found would be doubted because several sizes were tried."""
    assert "chance" not in run(GOLUB, "--no-calibrate", "-q")[1]

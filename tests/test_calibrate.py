"""Probabilities scaled by one number, fitted out of folds that repeat the whole selection."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.base import clone

from zeronorm import BudgetClassifier
from zeronorm.model_selection.cross_validation import cross_validate
from zeronorm.persistence import load, save
from zeronorm.published import (
    FeatureGeneratingMachine,
    GreedyLogisticRegression,
    L0LogisticRegression,
    MinimaxLogisticRegression,
)
from zeronorm.solvers.folds import OfClasses, fold_numbers

EVERY = [
    BudgetClassifier([2, 5]),
    BudgetClassifier([2, 5], method="l1"),
    L0LogisticRegression([2, 5]),
    MinimaxLogisticRegression([2, 5]),
    FeatureGeneratingMachine([2, 5]),
    GreedyLogisticRegression([2, 5]),
]


def weak(n=50, p=40, seed=0, classes=2):
    """Data on which selection overfits: two weak features among many."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    score = X[:, 3] + X[:, 7] + 1.5 * rng.standard_normal(n)
    edges = np.quantile(score, np.arange(1, classes) / classes)
    return X, np.searchsorted(edges, score)


def log_loss(model, X, y):
    """Mean log-loss of a binary model."""
    return np.logaddexp(0.0, -np.where(y > 0, 1, -1) * model.decision_function(X)).mean()


@pytest.mark.parametrize("model", EVERY, ids=lambda m: f"{type(m).__name__}-{m.n_features}")
def test_only_the_margins_change(model):
    """Calibration would change what is selected, decided or certified, or figures of the refit."""
    X, y = weak()
    plain = clone(model).set_params(calibrate=False).fit(X, y)
    scaled = clone(model).fit(X, y)
    for k in (2, 5):
        before, after = plain.path_[k], scaled.path_[k]
        assert after.scale != 1.0
        assert before.scale == 1.0
        assert np.isnan(before.cv_log_loss)
        np.testing.assert_array_equal(after.support, before.support)
        np.testing.assert_array_equal(after.coef, after.scale * before.coef)
        assert after.intercept == after.scale * before.intercept
        for name in ("refit_C", "loo_loss", "log_loss", "criteria"):
            assert getattr(after, name) == getattr(before, name)
        assert repr(after.certificate) == repr(before.certificate)
    np.testing.assert_array_equal(scaled.predict(X), plain.predict(X))
    assert "folds" in scaled.seconds_
    assert "folds" not in plain.seconds_


def test_passes_are_shared_with_the_selection():
    """Folds would cost passes over the data of their own."""
    X, y = weak(n=120, p=300)
    plain = BudgetClassifier(10, calibrate=False).fit(X, y)
    scaled = BudgetClassifier(10, calibrate=True).fit(X, y)
    assert scaled.n_scans_ <= plain.n_scans_ + 2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_best_scale_has_the_least_loss(n_classes):
    """The scale would not be the minimiser, inside the interval or at its ends."""
    rng = np.random.default_rng(1)
    n = 50
    codes, weight = rng.integers(0, n_classes, n), rng.uniform(0.5, 2.0, n)
    y = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    y = y[:, 1:] if n_classes == 2 else y
    for spread in (0.1, 3.0, 100.0):
        z = y * rng.uniform(0, 1, y.shape) + spread * rng.standard_normal(y.shape)

        def loss(a, z=z):
            proba = expit(a * np.hstack([-z, z]) if n_classes == 2 else a * z)
            own = proba[np.arange(n), codes] / proba.sum(axis=1)
            return -float(weight @ np.log(own)) / weight.sum()

        answer = minimize_scalar(
            loss, bounds=(0.02, 1.2), method="bounded", options={"xatol": 1e-9}
        )
        a, mean = OfClasses(codes, weight).scale(z)
        assert 0.02 <= a <= 1.2
        assert mean == pytest.approx(loss(a), rel=1e-9)
        assert mean <= answer.fun + 1e-9
    assert OfClasses(codes, weight).scale(y)[0] == pytest.approx(1.2)
    assert OfClasses(codes, weight).scale(-y)[0] == pytest.approx(0.02)


@pytest.mark.parametrize("refit_C", ["loo", 0.5])
@pytest.mark.parametrize("sparse", [False, True])
def test_scale_equals_that_of_fits_on_the_folds(refit_C, sparse):
    """The folds would see held-out rows, other features, or another C than the final fit."""
    X, y = weak()
    if sparse:
        X = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    dense = X.toarray() if sparse else X
    whole = BudgetClassifier(5, refit_C=refit_C).fit(X, y).path_[5]
    free = whole.refit_C * dense[:, whole.support].var(axis=0).mean()
    direction = np.random.RandomState(0).uniform(-1.0, 1.0, X.shape[1])
    number = fold_numbers(dense @ (direction / dense.std(axis=0)), y)
    z = np.empty(y.size)
    for fold in range(5):
        test = number == fold
        C = refit_C
        if C == "loo":
            first = BudgetClassifier(5, calibrate=False).fit(X[~test], y[~test])
            C = free / dense[~test][:, first.support_].var(axis=0).mean()
        model = BudgetClassifier(5, refit_C=C, calibrate=False).fit(X[~test], y[~test])
        z[test] = model.decision_function(X[test])
    a, loss = OfClasses(y, np.ones(y.size)).scale(z[:, None])
    assert whole.scale == pytest.approx(a, rel=1e-6)
    assert whole.cv_log_loss == pytest.approx(loss, rel=1e-6)


def test_folds_are_stratified_and_hold_every_row_out_once():
    """A row would be scored by a model that has seen it, or a class be absent."""
    y = np.repeat([0, 1, 2], [7, 20, 33])
    number = fold_numbers(np.random.default_rng(0).standard_normal(60), y)
    counts = np.array([np.bincount(number[y == label], minlength=5) for label in range(3)])
    assert (np.ptp(counts, axis=1) <= 1).all()
    assert np.ptp(np.bincount(number)) <= 1


def test_equal_rows_share_a_fold():
    """Rows drawn twice would be held out beside their copies: the scale would see training rows."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 40, 90)
    place, y = rng.standard_normal(40)[drawn], (np.arange(40) % 2)[drawn]
    # Copies of a row, summed in another order, differ by rounding.
    number = fold_numbers(place * (1.0 + 1e-15 * rng.standard_normal(90)), y)
    assert set(number) == set(range(5))
    for row in range(40):
        assert np.unique(number[drawn == row]).size <= 1


def test_weights_equal_repeated_rows():
    """The scale would count rows in place of weights."""
    X, y = weak()
    weight = 1 + np.arange(y.size) % 3
    one = BudgetClassifier(4).fit(X, y, sample_weight=weight).path_[4]
    other = BudgetClassifier(4).fit(np.repeat(X, weight, 0), np.repeat(y, weight)).path_[4]
    assert other.scale == pytest.approx(one.scale, rel=1e-6)
    assert other.cv_log_loss == pytest.approx(one.cv_log_loss, rel=1e-6)


def test_auto_counts_weights():
    """A weight of 20 would not say the same as 20 rows."""
    X, y = weak()
    assert BudgetClassifier(3).fit(X, y).path_[3].scale != 1.0
    many = BudgetClassifier(3).fit(X, y, sample_weight=np.full(y.size, 20)).path_[3]
    assert many.scale == 1.0
    asked = BudgetClassifier(3, calibrate=True).fit(X, y, sample_weight=np.full(y.size, 20))
    assert asked.path_[3].scale != 1.0


def test_probabilities_of_noise_are_near_one_half():
    """A model selected from noise would be sure of itself: the fault that is mended."""
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((50, 500)), np.arange(50) % 2
    X_new, y_new = rng.standard_normal((500, 500)), np.arange(500) % 2
    plain = BudgetClassifier(10, calibrate=False).fit(X, y)
    scaled = BudgetClassifier(10).fit(X, y)
    assert log_loss(plain, X_new, y_new) > 2.0
    assert log_loss(scaled, X_new, y_new) < 0.8
    assert scaled.path_[10].cv_log_loss > 0.6


def test_classes_share_a_number():
    """Numbers of their own would change which class has the largest score."""
    X, y = weak(n=90, classes=3)
    plain = BudgetClassifier([2, 4], multi_class="ovr", calibrate=False).fit(X, y)
    scaled = BudgetClassifier([2, 4], multi_class="ovr").fit(X, y)
    for k in (2, 4):
        (scale,) = {path[k].scale for path in scaled.path_}
        assert scale < 1.0
    np.testing.assert_array_equal(scaled.predict(X), plain.predict(X))
    np.testing.assert_allclose(
        scaled.decision_function(X), scale * plain.decision_function(X), rtol=1e-9
    )


def test_a_class_of_one_row_is_not_calibrated():
    """A fold would have one class only."""
    X, y = weak()
    y = np.where(np.arange(y.size) == 3, 1, 0)
    model = BudgetClassifier(2).fit(X, y)
    assert model.path_[2].scale == 1.0
    twice = BudgetClassifier(2).fit(np.vstack([X, X[3]]), np.append(y, 1))
    assert twice.path_[2].scale == 1.0


@pytest.mark.parametrize("standardize", [True, False])
def test_columns_that_are_constant_in_a_fold(standardize):
    """A fold without one of the features would end the fit, or select what it cannot see."""
    rng = np.random.default_rng(4)
    X = np.zeros((30, 6))
    X[:5] = np.eye(5, 6)  # every column but the last differs in one row only
    X[:, 5] = rng.standard_normal(30)
    y = np.arange(30) % 2
    model = BudgetClassifier(6, forced_features=[0, 1], standardize=standardize).fit(X, y)
    assert 0.02 <= model.path_[6].scale <= 1.2
    X[:, 5] = 0.0
    X[:, 1:5] = 0.0  # one column, constant outside of one row: nothing to select in its fold
    assert BudgetClassifier(1, standardize=standardize).fit(X, y).path_[1].scale == 1.0


def test_groups_and_class_weights():
    """Models of groups, or with weights of classes, would stay without a scale."""
    X, y = weak()
    groups = np.arange(40) // 4
    model = MinimaxLogisticRegression(
        feature_groups=groups, n_groups=[1, 3], class_weight="balanced"
    )
    model.fit(X, y)
    assert all(0.02 <= model.path_[g].scale != 1.0 for g in (1, 3))


def test_a_warm_start_does_not_leak():
    """Folds would begin with features that their held-out rows have chosen."""
    X, y = weak()
    cold = BudgetClassifier(5, tol=1e-6).fit(X, y)
    warm = BudgetClassifier(5, tol=1e-6, warm_start=True).fit(X, y)
    warm.fit(X, y)
    assert warm.path_[5].cv_log_loss == pytest.approx(cold.path_[5].cv_log_loss, rel=1e-6)


def test_cross_validation_does_not_calibrate_inside_its_folds():
    """Accuracy does not depend on the scale: folds in folds would cost six times the work."""
    X, y = weak()
    passes, answers = [], []
    for calibrate in (True, False):
        seen = []
        answers.append(
            cross_validate(
                BudgetClassifier([2, 4], calibrate=calibrate), X, y, callback=seen.append
            )
        )
        passes.append(len(seen))
    np.testing.assert_array_equal(answers[0].scores, answers[1].scores)
    assert passes[0] == passes[1]


@pytest.mark.parametrize("make", [MinimaxLogisticRegression, FeatureGeneratingMachine])
def test_published_models_are_not_scaled(make):
    """A published method would be another one than its paper's."""
    X, y = weak()
    assert make.as_published(10).fit(X, y).path_[10].scale == 1.0


@pytest.mark.parametrize("value", ["always", None, 1, "True"])
def test_calibrate_is_checked(value):
    """A wrong option would be taken for True."""
    X, y = weak()
    with pytest.raises(ValueError, match="calibrate must be 'auto', True or False; got"):
        BudgetClassifier(2, calibrate=value).fit(X, y)


def test_model_files_have_the_scale(tmp_path):
    """A loaded model would give other probabilities, or not say that they are scaled."""
    X, y = weak()
    model = BudgetClassifier([2, 5]).fit(X, y)
    loaded = load(save(model, tmp_path / "model", n_features=2))
    chosen = model.path_[2]
    assert loaded.metadata["calibration"] == {
        "scale": chosen.scale,
        "cv_log_loss": chosen.cv_log_loss,
    }
    z = X[:, chosen.support] @ chosen.coef + chosen.intercept
    np.testing.assert_allclose(loaded.predict_proba(X)[:, 1], expit(z), rtol=1e-12)
    plain = BudgetClassifier(2, calibrate=False).fit(X, y)
    loaded = load(save(plain, tmp_path / "plain"))
    assert loaded.metadata["calibration"] == {"scale": 1.0, "cv_log_loss": None}


def test_command(tmp_path, monkeypatch):
    """The report would not say that probabilities are scaled, and the option would do nothing."""
    from typer.testing import CliRunner

    from zeronorm.cli import app

    monkeypatch.chdir(tmp_path)
    X, y = weak()
    np.savetxt(
        "d.csv", np.column_stack([X, y]), delimiter=",", header=",".join(map(str, range(41)))
    )
    select = ["select", "d.csv", "-k", "3", "--target", "40", "--no-cv", "-o", "m.npz"]
    runner = CliRunner()
    text = runner.invoke(app, select).output
    found = json.loads(runner.invoke(app, [*select, "--json"]).output)
    record = found["models"][0]["calibration"]
    assert f"scaled by {record['scale']:.2g}; held-out log-loss" in text
    assert f"(base rate {record['base_log_loss']:.3g})" in text
    assert record["base_log_loss"] == pytest.approx(np.log(2), rel=1e-9)
    shown = runner.invoke(app, ["info", "m.npz"]).output
    assert f"scaled by {record['scale']:.2g}; held-out log-loss" in shown
    plain = runner.invoke(app, [*select, "--no-calibrate"]).output
    assert "scaled by" not in plain
    refused = runner.invoke(app, [*select, "--calibrate", "--measure", "f1"])
    assert refused.exit_code != 0

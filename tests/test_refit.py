"""The ridge of the final fit: how weak it may get, and what units of X mean to it."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

import zeronorm.solvers.final_fits as final
from conftest import slow
from zeronorm import BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis
from zeronorm.data.gathered import as_columns
from zeronorm.losses import LeastSquares
from zeronorm.solvers.problem import Risk

WIDE = 10.0 ** np.array([-4, 0, 3, -1, 2, 5])  # beyond SPREAD
TARGETS = ["classes", "three", "numbers", "counts", "times", "responses"]


def data(target, seed=0, n=90):
    """Six columns of like variance, of which four matter, and a target."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    z = X @ [1.0, -1.0, 0.5, 0.5, 0.0, 0.0]
    noisy = z + rng.logistic(size=n)
    if target == "classes":
        return X, noisy > 0
    if target == "three":
        return X, np.digitize(noisy, [-1.0, 1.0])
    if target == "counts":
        return X, rng.poisson(np.exp(0.5 * z))
    if target == "times":
        time = rng.exponential(np.exp(-z)) + 0.01
        return X, np.rec.fromarrays([rng.random(n) < 0.7, time], names="event,time")
    return X, np.column_stack([noisy, z - noisy]) if target == "responses" else noisy


def fitted(target, X, y, method="auto"):
    """The estimator of a target on four features, fitted."""
    if target in ("classes", "three"):
        return BudgetClassifier(4, method=method, calibrate=False).fit(X, y)
    if target == "times":
        return BudgetSurvivalAnalysis(4, method=method).fit(X, y)
    loss = "poisson" if target == "counts" else "least_squares"
    return BudgetRegressor(4, loss=loss, method=method).fit(X, y)


def margins(model, X):
    """What a model says of rows, without a link."""
    decide = getattr(model, "decision_function", model.predict)
    return np.asarray(decide(X), float)


@pytest.mark.parametrize("target", TARGETS)
def test_predictions_do_not_depend_on_units_that_differ_widely(target):
    """Columns in small units would be shrunk away: C can suit the large ones only."""
    X, y = data(target)
    one, other = fitted(target, X * WIDE, y), fitted(target, X * WIDE[::-1], y)
    expected = margins(one, X * WIDE)
    np.testing.assert_allclose(
        margins(other, X * WIDE[::-1]), expected, rtol=1e-5, atol=1e-5 * np.ptp(expected)
    )
    like = margins(fitted(target, X, y), X)  # of one scale: the ridge is nearly the same
    assert np.corrcoef(like.ravel(), expected.ravel())[0, 1] > 0.995


@pytest.mark.parametrize("method", ["l0", *slow("greedy", "l1")])
@pytest.mark.parametrize("target", ["classes", "numbers", "times"])
def test_every_method_refits_so(target, method):
    """A method would have a final fit of its own, whose ridge depends on units."""
    X, y = data(target)
    expected = margins(fitted(target, X * WIDE, y, method), X * WIDE)
    other = margins(fitted(target, X * WIDE[::-1], y, method), X * WIDE[::-1])
    np.testing.assert_allclose(other, expected, rtol=1e-5, atol=1e-5 * np.ptp(expected))


def test_calibration_in_folds_refits_so():
    """The folds would scale the margins of models with another ridge than that of the fit."""
    X, y = data("classes")
    one = BudgetClassifier(4).fit(X * WIDE, y)
    other = BudgetClassifier(4).fit(X * WIDE[::-1], y)
    assert one.path_[4].scale == pytest.approx(other.path_[4].scale, rel=1e-4)


def test_columns_of_like_variance_keep_the_ridge_of_the_user():
    """The default would change the models of data that are in proportion, to the last bit."""
    X, y = data("numbers")
    X = X * [1.0, 5.0, 20.0, 0.5, 1.0, 2.0]
    model = BudgetRegressor(4, C=0.1).fit(X, y)
    C = model.path_[4].refit_C
    given = BudgetRegressor(4, C=0.1, refit_C=C).fit(X, y)
    np.testing.assert_allclose(given.coef_, model.coef_, rtol=1e-6)
    variance = X[:, model.support_].var(axis=0)
    assert (final.column_penalties(variance) == 1.0).all()


def test_penalties_of_columns():
    """C would not mean the same, or a constant column would have a coefficient without a ridge."""
    tiny = np.finfo(float).tiny
    variance = np.array([1.0, 1e6, 10.0, tiny])
    expected = np.array([1.0, 1e6, 10.0, 0.0]) / variance.mean()
    expected[3] = 1.0
    np.testing.assert_allclose(final.column_penalties(variance), expected)
    for like in ([1.0, 9e3], [3.0, tiny], [tiny, tiny], []):
        np.testing.assert_array_equal(final.column_penalties(np.array(like)), np.ones(len(like)))


def test_the_weakest_ridge_is_that_of_the_column_with_the_least_of_its_own():
    """Nearly collinear columns would keep a ridge that their difference cannot overcome."""
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((50, 4))
    Z[:, 3] = Z[:, 0] - Z[:, 1] + 1e-2 * Z[:, 3]
    std = np.array([1.0, 2.0, 0.5, 3.0])
    weight = rng.uniform(0.5, 2.0, 50)
    share = np.array([1.0, 2.0, 1.0, 0.5])
    centred = Z - weight @ Z / weight.sum()
    own = []
    for j in range(4):
        root = np.sqrt(weight)
        others = root[:, None] * np.delete(centred, j, axis=1)
        coef = np.linalg.lstsq(others, root * centred[:, j], rcond=None)[0]
        left = root * centred[:, j] - others @ coef
        own.append(std[j] ** 2 * (left @ left) / weight.sum() / share[j])
    risk = Risk(np.zeros(50), weight, LeastSquares())
    found = final.weakest_ridge(as_columns(Z), std, risk, share)
    assert found == pytest.approx(final.LOO_GRID[-1] / min(own), rel=1e-5)
    # Equal columns, or one that is constant, leave it finite.
    Z[:, 3], Z[:, 2] = Z[:, 0], 1.0
    assert 0.0 < final.weakest_ridge(as_columns(Z), std, risk, share) < 1e14


@pytest.mark.parametrize("target", ["numbers", "counts", "times", "responses"])
def test_collinear_columns_get_a_ridge_as_weak_as_they_need(target):
    """On spectra a final fit would explain a part only of what its features can."""
    X, y = data(target, n=300)
    level = 100.0 * np.random.default_rng(1).standard_normal((300, 1))
    spectrum = np.hstack([level + X, level])  # a channel is the level and a little of its own
    train = np.arange(300) < 200
    if target == "times":
        model = BudgetSurvivalAnalysis(7)
    else:
        model = BudgetRegressor(7, loss="poisson" if target == "counts" else "least_squares")
    score = model.fit(spectrum[train], y[train]).score(spectrum[~train], y[~train])
    model.set_params(n_features=6)
    direct = model.fit(X[train], y[train]).score(X[~train], y[~train])
    assert score > direct - 0.05 * abs(direct)


def test_wine_as_it_is():
    """Wines would be told apart by what is written in small units: proline in mg, hue in 1."""
    X, y = load_wine(return_X_y=True)
    train = np.random.default_rng(0).permutation(len(y)) % 3 > 0
    model = BudgetClassifier(5, calibrate=False).fit(X[train], y[train])
    assert model.score(X[~train], y[~train]) > 0.93


def test_the_search_beyond_the_grid_ends_where_the_loss_rises(monkeypatch):
    """The ridge would be weakened without need, or past what leave-one-out says."""
    X, y = data("numbers", n=400)
    Z = X.copy()
    Z[:, 5] = Z[:, 4] + 1e-4 * Z[:, 5]  # C may go far
    risk = Risk.centred(y, np.ones(400), LeastSquares(), True)
    found = final.refit(as_columns(Z), np.zeros(6), np.ones(6), risk)
    variance = Z.var(axis=0).mean()
    assert final.LOO_GRID[-1] / variance * 1.01 >= found.C
    monkeypatch.setattr(final, "weakest_ridge", lambda *_: 0.0)
    plain = final.refit(as_columns(Z), np.zeros(6), np.ones(6), risk)
    assert plain.C == found.C
    np.testing.assert_array_equal(plain.coef, found.coef)

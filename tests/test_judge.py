"""C and the method of a selection, chosen by folds, and the scale of its models."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.model_selection import PredefinedSplit

from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    methods,
)
from zeronorm.inference.stability import StabilitySelection
from zeronorm.model_selection.cross_validation import cross_validate
from zeronorm.solvers.folds import folds_of_numbers

GRID = (0.1, 0.001, 0.01, 1.0, 10.0)  # the default first


def weak(n=60, p=40, seed=0):
    """Data on which selection overfits: three weak features among many."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, 3.0 + X[:, 3] + X[:, 7] - X[:, 11] + 2.0 * rng.standard_normal(n)


def fold_of(X, y):
    """Return the fold that holds each sample out."""
    direction = np.random.RandomState(0).uniform(-1.0, 1.0, X.shape[1])
    return folds_of_numbers(X @ (direction / X.std(axis=0)), y)


def times(n=80, p=20, seed=1):
    """Survival times of three features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    time = rng.exponential(np.exp(X[:, 0] - X[:, 4] + 0.5 * X[:, 9]))
    return X, np.rec.fromarrays([time < 2, np.minimum(time, 2.0)], names="event,time")


def test_penalty_and_scale_are_those_of_explicit_folds():
    """Folds would see held-out samples, or another C or scale would win than theirs."""
    X, y = weak()
    model = BudgetRegressor([2, 5]).fit(X, y)
    number, sizes = fold_of(X, y), (2, 5)
    losses, margins, nulls = [], [], np.empty(y.size)
    for C in GRID:
        z = {k: np.empty(y.size) for k in sizes}
        for f in range(5):
            test = number == f
            own = BudgetRegressor(list(sizes), C=C).fit(X[~test], y[~test])
            nulls[test] = y[~test].mean()
            for k in sizes:
                one = own.path_[k]
                z[k][test] = X[test][:, one.support] @ one.coef + one.intercept
        margins.append(z)
        losses.append(sum(y.size / 2 * np.log(np.mean((y - z[k]) ** 2)) for k in sizes))
    best = int(np.argmin(losses))
    assert GRID[best] == model.C_
    final = BudgetRegressor([2, 5], C=GRID[best]).fit(X, y)
    for k in sizes:
        beyond = margins[best][k] - nulls

        def objective(a, beyond=beyond):
            error = np.mean((y - nulls - a * beyond) ** 2)
            return y.size / 2 * np.log(error) + (a - 1.0) ** 2 / 2.0

        a = minimize_scalar(objective, bounds=(0.02, 1.2), method="bounded").x
        scaled, plain = model.path_[k], final.path_[k]
        assert scaled.scale == pytest.approx(a, abs=1e-4)
        np.testing.assert_array_equal(scaled.support, plain.support)
        np.testing.assert_allclose(scaled.coef, scaled.scale * plain.coef)
        mean = X[:, scaled.support].mean(axis=0) @ scaled.coef + scaled.intercept
        assert mean == pytest.approx(y.mean())
        assert scaled.certificate.C == plain.certificate.C == model.C_


def test_passes_are_at_most_three_times_those_of_one_fit():
    """Each value of C would cost passes over the data of its own."""
    X, y = weak(n=120, p=300)
    plain = BudgetRegressor(10, C=0.1).fit(X, y)
    assert BudgetRegressor(10).fit(X, y).n_scans_ <= 3 * plain.n_scans_


def test_a_number_stays_a_number():
    """A user who states C would get another one, or models of another scale."""
    X, y = weak()
    model = BudgetRegressor(3, C=0.02).fit(X, y)
    assert (model.C_, model.path_[3].scale, model.method_) == (0.02, 1.0, "pool")
    scaled = BudgetRegressor(3, C=0.02, calibrate=True).fit(X, y)
    assert scaled.path_[3].scale < 1.0
    np.testing.assert_allclose(scaled.coef_, scaled.path_[3].scale * model.coef_)
    assert BudgetRegressor(3, calibrate=False).fit(X, y).path_[3].scale == 1.0


@pytest.mark.parametrize("kind", ["numbers", "times"])
def test_few_samples_have_no_folds(kind):
    """A C would be chosen by two samples a fold, or the fit would fail."""
    X, y = weak(n=9, p=12)
    model = BudgetRegressor(2)
    if kind == "times":
        X, y = times(n=30)
        y["event"][np.flatnonzero(y["event"])[9:]] = False
        model = BudgetSurvivalAnalysis(2)
    fitted = model.fit(X, y)
    assert fitted.path_[2].scale == 1.0
    default = 0.1 if kind == "numbers" else 0.1 / (9 / 30)
    assert pytest.approx(default, rel=0.2) == fitted.C_


def test_the_unit_of_rates_has_no_part():
    """Rates for a person or for a million would select other features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 15))
    y = rng.poisson(np.exp(1.0 + 0.7 * X[:, 2] - 0.7 * X[:, 5])).astype(float)
    one = BudgetRegressor(2, loss="poisson").fit(X, 1e-2 * y)
    other = BudgetRegressor(2, loss="poisson").fit(X, 1e-4 * y)
    np.testing.assert_array_equal(one.support_, other.support_)
    assert pytest.approx(1e2 * one.C_) == other.C_
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-4, atol=1e-6)


def test_samples_of_a_group_are_held_out_together():
    """C would be judged by samples whose copies have been learnt from."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(15), 4)
    X = rng.standard_normal((15, 60))[group] + 0.05 * rng.standard_normal((60, 60))
    y = rng.standard_normal(15)[group] + 0.05 * rng.standard_normal(60)
    leaky, honest = (BudgetRegressor(5).fit(X, y, groups=g).path_[5].scale for g in (None, group))
    assert leaky > 0.8
    assert honest < 0.5


def test_every_training_part_chooses_anew():
    """Held-out samples of an outer fold would have chosen C."""
    X, y = weak(n=90)
    fold = np.arange(90) % 3
    found = cross_validate(BudgetRegressor(3), X, y, cv=PredefinedSplit(fold)).scores[0]
    for f in range(3):
        test = fold == f
        own = BudgetRegressor(3).fit(X[~test], y[~test])
        error = ((y[test] - own.predict(X[test])) ** 2).sum()
        around = ((y[test] - y[test].mean()) ** 2).sum()
        assert found[f] == pytest.approx(1.0 - error / around)


def test_halves_have_the_penalty_of_all_samples():
    """A stability selection would choose C a hundred times, by a few samples each."""
    X, y = weak()
    C = BudgetRegressor(3).fit(X, y).C_
    one = StabilitySelection(BudgetRegressor(3), n_pairs=5).fit(X, y).stability_
    other = StabilitySelection(BudgetRegressor(3, C=C), n_pairs=5).fit(X, y).stability_
    np.testing.assert_array_equal(one.features, other.features)
    np.testing.assert_array_equal(one.frequency, other.frequency)


def test_large_budgets_have_other_methods():
    """Elimination among as many candidates as samples would fit the training samples."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 600))
    y = (X[:, :40] @ rng.standard_normal(40) > 0).astype(int)
    few = BudgetClassifier(10, calibrate=False).fit(X, y)
    assert few.method_ == "pool"
    many = BudgetClassifier(80).fit(X, y)
    assert many.method_ in ("minimax", "l1")
    assert many.path_[80].scale != 1.0
    known = BudgetClassifier(80, method=many.method_, calibrate=False).fit(X, y)
    np.testing.assert_array_equal(many.support_, known.support_)
    scale = many.path_[80].scale
    np.testing.assert_allclose(many.coef_, scale * known.coef_, rtol=1e-3, atol=1e-6)
    assert BudgetClassifier(80, method="pool", calibrate=False).fit(X, y).method_ == "pool"


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_collinear_columns_are_exchanged(C):
    """On spectra elimination would end far from the best features."""
    rng = np.random.default_rng(0)
    steps = np.cumsum(rng.standard_normal((50, 80)), axis=1)
    X = np.cumsum(steps, axis=1) / 10.0
    y = X[:, 20] - 2.0 * X[:, 28] + X[:, 40] + 0.05 * rng.standard_normal(50)
    for k in (3, 6):
        own = BudgetRegressor(k, C=C).fit(X, y).certificate_
        best = BudgetRegressor(k, C=C, method=methods.L0(n_starts=4)).fit(X, y).certificate_
        assert own.objective <= 1.01 * best.objective


def test_the_pool_has_the_size_that_is_asked_for():
    """The candidates of elimination could not be bounded."""
    X, y = weak(n=200, p=300)
    for factor, n in ((1.0, 40), (1.5, 60), (3.0, 120)):
        model = BudgetRegressor(40, C=0.1, method=methods.Pool(factor=factor)).fit(X, y)
        assert model.path_.order.size == n
    with pytest.raises(ValueError, match=r"factor must be at least 1; got 0\.5"):
        BudgetRegressor(2, method=methods.Pool(factor=0.5)).fit(X, y)

"""Numbers, counts and positive numbers: every loss through every procedure, against enumeration."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import gamma as gamma_distribution
from scipy.stats import poisson as poisson_distribution
from sklearn.linear_model import GammaRegressor, HuberRegressor, PoissonRegressor, QuantileRegressor
from sklearn.metrics import r2_score

import forgeries
import zeronorm
from conftest import slow
from zeronorm import BudgetRegressor, L1Regressor, certify, cross_validate, methods, prove, verify
from zeronorm.estimators import LeakWarning
from zeronorm.losses import (
    Cox,
    Gamma,
    Huber,
    LeastSquares,
    Logistic,
    NumericLoss,
    Poisson,
    Quantile,
    SquaredHinge,
    check_loss,
)
from zeronorm.verification import CertificateError
from zeronorm.verification.losses import loss_of

NAMES = ("least_squares", "huber", "quantile", "poisson", "gamma")
OF_NUMBERS = {"huber": Huber(), "quantile": Quantile(), "poisson": Poisson(), "gamma": Gamma()}
each_name = pytest.mark.parametrize("name", NAMES)
each_new = pytest.mark.parametrize("name", NAMES[1:])


def draw(name, seed, n=30, p=7):
    """Columns of different spread, two of them informative, and a target of the loss."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.2, 4.0, p) + rng.uniform(-2.0, 2.0, p)
    X[:, p - 1] = X[:, 0]  # a duplicate
    z = 0.8 * (X[:, 1] - X[:, 1].mean()) / X[:, 1].std() - 0.5 * X[:, 2] / X[:, 2].std()
    if name == "poisson":
        return X, rng.poisson(np.exp(z)).astype(float)
    if name == "gamma":
        return X, rng.gamma(2.0, np.exp(z) / 2.0)
    return X, 5.0 + 2.0 * z + rng.standard_t(2, n)


def formula(name, z, y, parameters):
    """f(y, z) and its derivative in z, as textbooks have them."""
    if name == "poisson":
        saturated = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)) - y, 0.0)
        return np.exp(z) - y * z + saturated, np.exp(z) - y
    if name == "gamma":
        return z + y / np.exp(z) - 1.0 - np.log(y), 1.0 - y / np.exp(z)
    r = y - z
    if name == "least_squares":
        return 0.5 * r**2, -r
    width = parameters["width"]
    low, high = -width, width
    if name == "quantile":
        low, high = (parameters["quantile"] - 1.0) * width, parameters["quantile"] * width
    value = np.where(
        r < low, low * r - low**2 / 2, np.where(r > high, high * r - high**2 / 2, 0.5 * r**2)
    )
    return value, -np.clip(r, low, high)


def optimum(name, Z, y, weight, C, parameters, *, offset=0.0, intercept=True):
    """The least 1/2 ||u||^2 + C sum_i s_i f(y_i, z_i'u + b + o_i)."""

    def value(v):
        z = Z @ v[:-1] + v[-1] + offset
        f, slope = formula(name, z, y, parameters)
        pull = C * weight * slope
        gradient = np.append(v[:-1] + Z.T @ pull, pull.sum() if intercept else 0.0)
        return 0.5 * v[:-1] @ v[:-1] + C * weight @ f, gradient

    start = np.zeros(Z.shape[1] + 1)
    if intercept:
        start[-1] = np.log(y.mean()) if name in ("poisson", "gamma") else np.median(y)
    best = minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000})
    return min(best.fun, value(start)[0])


def standardised(X, weight, intercept):
    """Columns as the selection has them."""
    mean = weight @ X / weight.sum()
    deviation = np.sqrt(weight @ (X - mean) ** 2 / weight.sum())
    return (X - mean if intercept else X) / deviation


@pytest.mark.parametrize(
    "loss",
    [
        Logistic(),
        SquaredHinge(),
        LeastSquares(),
        Huber(),
        Huber(0.5),
        Quantile(),
        Quantile(0.9, 1.0),
        Poisson(),
        Gamma(),
    ],
    ids=repr,
)
def test_losses_are_what_solvers_rely_on(loss):
    """Steps, bounds or scales of a loss would be wrong."""
    check_loss(loss)
    if loss.target == "not negative":
        check_loss(loss, np.array([0.0, 0.0, 1.0, 1e6, 0.3, 7.0]))


class Steep(Poisson):
    def bends(self, z, y):
        return 2.0 * super().bends(z, y)


class Slanted(Poisson):
    def of_rows(self, z, y):
        value, slope = super().of_rows(z, y)
        return value, slope + 0.1


class Low(Poisson):
    def conjugates(self, t, y):
        return super().conjugates(t, y) - 0.1


class Narrow(Poisson):
    def interval(self, y):
        low, high = super().interval(y)
        return np.maximum(low, -0.5), high


def test_a_wrong_loss_is_refused():
    """`check_loss` would pass losses that have a wrong derivative, bend or conjugate."""

    for wrong, word in (
        (Steep, "curvature"),
        (Slanted, "gradient"),
        (Low, "conjugate"),
        (Narrow, "inside"),
    ):
        with pytest.raises(AssertionError, match=word):
            check_loss(wrong())


@each_name
@pytest.mark.parametrize("seed", [3, 4, 5, *slow(0, 1, 2)])
def test_proofs_against_enumeration_of_all_supports(name, seed):
    """A support that is called best would not be, or a bound would be above the optimum."""
    rng = np.random.default_rng(100 + seed)
    X, y = draw(name, seed)
    weight = rng.integers(0, 4, len(y)).astype(float) if seed % 2 else np.ones(len(y))
    intercept, k, C = seed != 4, 2 + seed % 2, (0.1, 1.0, 5.0)[seed % 3]
    forced = [3] if seed == 3 else None
    offset = rng.uniform(-0.5, 0.5, len(y)) if seed in (2, 5) else None
    model = BudgetRegressor(
        k, loss=name, C=C, method=methods.L0(gap=0.0), fit_intercept=intercept,
        forced_features=forced,
    ).fit(X, y, sample_weight=weight, offset=offset)  # fmt: skip
    certificate = model.proof_.certificate
    used = weight > 0
    o = np.zeros(len(y)) if offset is None else offset
    Z = standardised(X[used], weight[used], intercept)
    found = {
        support: optimum(
            name, Z[:, list(support)], y[used], weight[used], C, certificate.parameters,
            offset=o[used], intercept=intercept,
        )
        for support in itertools.combinations(range(X.shape[1]), k)
        if forced is None or 3 in support
    }  # fmt: skip
    best = min(found.values())
    assert certificate.objective == pytest.approx(best, rel=1e-6)
    assert found[tuple(certificate.support.tolist())] == pytest.approx(best, rel=1e-6)
    assert certificate.bound <= best * (1.0 + 1e-7)
    assert certificate.proven
    told = verify(certificate, X, y, sample_weight=weight, offset=offset)
    assert told["gap"] <= 1e-9
    bound = certify(model, X, y, sample_weight=weight, offset=offset)
    assert bound.bound <= best * (1.0 + 1e-7)
    verify(bound, X, y, sample_weight=weight, offset=offset)


@each_new
@pytest.mark.parametrize("method", ["pool", "minimax", "greedy", "l0", "l1", "reweighted-l1"])
def test_every_method_certifies_what_it_selects(name, method):
    """A method would fail for a loss, or its certificate would be of another problem."""
    X, y = draw(name, 3, n=60, p=12)
    model = BudgetRegressor([2, 4], loss=name, method=method).fit(X, y)
    assert [model.path_[size].support.size for size in (2, 4)] == [2, 4]
    for size in (2, 4):
        verify(model.path_[size].certificate, X, y)
    assert model.certificate_.loss == name
    assert np.isfinite(model.predict(X)).all()
    assert model.score(X, y) > (0.0 if name == "huber" else 0.1)
    proof = prove(model, X, y, gap=0.0)
    assert proof.certificate.proven
    verify(proof.certificate, X, y)
    assert proof.certificate.objective <= model.certificate_.objective * (1.0 + 1e-9)


@each_name
def test_groups_and_features_in_few_groups(name):
    """Budgets of groups would have no models of a loss."""
    X, y = draw(name, 5, n=80, p=24)
    groups = np.arange(24) // 3
    whole = BudgetRegressor(n_groups=2, feature_groups=groups, loss=name).fit(X, y)
    assert len(np.unique(whole.groups_)) == 2
    verify(whole.certificate_, X, y)
    verify(certify(whole, X, y), X, y)
    both = BudgetRegressor(3, n_groups=2, feature_groups=groups, loss=name).fit(X, y)
    assert both.support_.size == 3
    assert len(np.unique(both.groups_)) <= 2
    assert both.score(X, y) > 0.1


def test_refits_are_those_of_other_packages():
    """The final model would not be that of the likelihood where there is next to no ridge."""
    X, y = draw("poisson", 8, n=200, p=4)
    options = {"method": "pool", "refit_C": 1e7, "calibrate": False}
    ours = BudgetRegressor(3, loss="poisson", **options).fit(X, y)
    theirs = PoissonRegressor(alpha=0.0, tol=1e-10, max_iter=5000).fit(X[:, ours.support_], y)
    np.testing.assert_allclose(ours.coef_[ours.support_], theirs.coef_, rtol=1e-4, atol=1e-5)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-4, abs=1e-5)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X[:, ours.support_]), rtol=1e-3)
    assert ours.score(X, y) == pytest.approx(theirs.score(X[:, ours.support_], y), rel=1e-6)
    X, y = draw("gamma", 8, n=200, p=4)
    ours = BudgetRegressor(3, loss="gamma", **options).fit(X, y)
    theirs = GammaRegressor(alpha=0.0, tol=1e-10, max_iter=5000).fit(X[:, ours.support_], y)
    np.testing.assert_allclose(ours.coef_[ours.support_], theirs.coef_, rtol=1e-4, atol=1e-5)
    X, y = draw("huber", 8, n=200, p=4)
    robust = HuberRegressor(epsilon=1.35, alpha=0.0, tol=1e-8, max_iter=2000)
    robust.fit(X, y)
    # Theirs finds the scale of the residuals, with which the width of ours is the same loss.
    ours = BudgetRegressor(4, loss=Huber(width=1.35 * robust.scale_), **options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, robust.coef_, atol=0.02)
    X, y = draw("quantile", 8, n=200)
    X = X[:, :3]
    ours = BudgetRegressor(3, loss=Quantile(0.8, 0.01), **options).fit(X, y)
    theirs = QuantileRegressor(quantile=0.8, alpha=0.0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=0.1)
    assert np.mean(y <= ours.predict(X)) == pytest.approx(0.8, abs=0.03)


@each_new
def test_l1_models_are_those_of_a_plain_optimiser(name):
    """The l1 models of other losses than least squares would not be optimal."""
    X, y = draw(name, 4, n=60, p=12)
    model = L1Regressor(loss=name, C=0.3, tol=1e-8).fit(X, y)
    fitted = OF_NUMBERS[name].fitted(y, np.ones(60))

    def value(v):
        u = v[:12] - v[12:24]
        f, g = fitted.value_gradient(X @ u + v[24], y, np.ones(60))
        pull = 0.3 * (X.T @ g)
        gradient = np.concatenate([1.0 + pull, 1.0 - pull, [0.3 * g.sum()]])
        return v[:24].sum() + 0.3 * f, gradient

    start = np.zeros(25)
    start[24] = model.intercept_
    found = minimize(
        value, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * 24 + [(None, None)],
        options={"maxiter": 20000, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    ours = np.concatenate(
        [np.maximum(model.coef_, 0), np.maximum(-model.coef_, 0), [model.intercept_]]
    )
    assert value(ours)[0] <= found.fun * (1.0 + 1e-7)
    assert model.gap_ <= 1e-8
    few = L1Regressor(n_features=3, loss=name).fit(X, y)
    assert few.support_.size == 3
    assert np.isfinite(few.predict(X)).all()


def test_offsets_are_exposures_of_rates():
    """Counts in unequal exposures would be compared as if these were equal."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 12))
    exposure = rng.uniform(0.1, 20.0, 400)
    y = rng.poisson(exposure * np.exp(0.5 * X[:, 2] - 0.7 * X[:, 7] - 1.0)).astype(float)
    model = BudgetRegressor(2, loss="poisson").fit(X, y, offset=np.log(exposure))
    assert model.support_.tolist() == [2, 7]
    np.testing.assert_allclose(model.coef_[[2, 7]], [0.5, -0.7], atol=0.05)
    found = model.predict(X, offset=np.log(exposure))
    np.testing.assert_allclose(found, model.predict(X, offset=0) * exposure, rtol=1e-12)
    assert found.sum() == pytest.approx(y.sum(), rel=1e-3)
    # The same of rates, with exposures as weights; but the weights count rows otherwise.
    rates = PoissonRegressor(alpha=0.0, tol=1e-10, max_iter=5000)
    rates.fit(X[:, [2, 7]], y / exposure, sample_weight=exposure)
    np.testing.assert_allclose(model.coef_[[2, 7]], rates.coef_, atol=0.01)
    assert model.score(X, y, offset=np.log(exposure)) > model.score(X, y, offset=0)
    moved = BudgetRegressor(2).fit(X, y, offset=y - X[:, 4])
    assert 4 in moved.support_
    assert moved.coef_[4] == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_loss_left_out_is_of_a_row_whatever_its_exposure(grouped):
    """It would be of a unit of exposure, and another figure for the same data in other units."""
    n, C = 30, 2.0
    rng = np.random.default_rng(0)
    X, exposure = rng.standard_normal((n, 4)), rng.uniform(1.0, 50.0, n)
    y = rng.poisson(exposure * np.exp(0.5 * X[:, 0] - 1.0)).astype(float)
    groups = {"n_groups": 2, "feature_groups": [0, 0, 1, 1]} if grouped else {}
    model = BudgetRegressor(2, loss="poisson", refit_C=C, **groups)
    model.fit(X, y, offset=np.log(exposure))
    total = 0.0
    for row in range(n):
        rest = np.arange(n) != row
        own, weight = X[:, model.support_], exposure[rest]
        rates = PoissonRegressor(alpha=1.0 / (C * weight.sum()), tol=1e-10, max_iter=5000)
        rates.fit(own[rest], y[rest] / weight, sample_weight=weight)
        mean = exposure[row] * rates.predict(own[[row]])[0]
        total += formula("poisson", np.log([mean]), y[[row]], {})[0].item()
    assert model.path_[model.size_].loo_loss == pytest.approx(total / n, rel=5e-3)  # one step


@each_new
def test_weights_are_repetitions(name):
    """Counts of equal rows would be another problem."""
    X, y = draw(name, 11)
    counts = np.resize([1, 2, 0, 3], len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    one = BudgetRegressor(3, loss=name, method="l0").fit(X, y, sample_weight=counts)
    other = BudgetRegressor(3, loss=name, method="l0").fit(X[rows], y[rows])
    assert one.certificate_.objective == pytest.approx(other.certificate_.objective, rel=1e-9)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-5, atol=1e-8)


def test_likelihoods_are_those_of_the_distributions():
    """Criteria would not be comparable with those of other packages, up to a constant of y."""
    rng = np.random.default_rng(3)
    z, n = rng.uniform(-1, 2, (2, 50)), 50
    y, weight = rng.poisson(np.exp(z[0])).astype(float), np.ones(n)
    told, direct = [], []
    for one in z:
        value = Poisson().value_gradient(one, y, weight)[0]
        told.append(Poisson().negative_log_likelihood(value, y, weight, n))
        direct.append(-poisson_distribution.logpmf(y, np.exp(one)).sum())
    assert told[0] - told[1] == pytest.approx(direct[0] - direct[1], rel=1e-10)
    y = rng.gamma(3.0, np.exp(z[0]) / 3.0)
    value = Gamma().value_gradient(z[1], y, weight)[0]
    told = Gamma().negative_log_likelihood(value, y, weight, n)
    shapes = np.geomspace(0.01, 100.0, 20001)[:, None]
    scale = np.exp(z[1]) / shapes
    best = -gamma_distribution.logpdf(y, shapes, scale=scale).sum(axis=1).max()
    assert told == pytest.approx(best, rel=1e-6)


@each_new
def test_criteria_choose_among_sizes(name):
    """A criterion would be of another likelihood, and choose too many features."""
    X, y = draw(name, 12, n=300, p=12)
    model = BudgetRegressor(6, loss=name, criterion="ebic").fit(X, y)
    assert {1, 2} <= set(model.support_.tolist())
    assert model.size_ <= 3
    deviance = 2.0 * model.criteria_["log_loss"]
    if name == "poisson":
        total = model.path_[6].log_loss
        means = [model.path_[6].intercept + X[:, model.path_[6].support] @ model.path_[6].coef]
        assert total == pytest.approx(Poisson().value_gradient(means[0], y, np.ones(300))[0])
    assert (np.diff(deviance) <= 1e-6 * np.abs(deviance[:-1])).all()


def test_forged_certificates_of_counts_and_quantiles():
    """A parameter of the loss, an offset or a dual value could be forged."""
    X, y = draw("poisson", 1, n=60, p=10)
    model = BudgetRegressor(2, loss="poisson").fit(X, y)
    true = model.certificate_
    verify(true, X, y)
    for forged in (
        replace(true, bound=true.objective),
        replace(true, objective=true.objective * 0.999, bound=true.bound * 0.99),
        replace(true, dual=2.0 * true.dual, bound=true.bound),
        replace(true, loss="gamma"),
        replace(true, loss="least_squares"),
        replace(true, parameters={"width": 1.0}),
        replace(true, coef=true.coef + 1e-2),
    ):
        with pytest.raises((CertificateError, ValueError)):
            verify(forged, X, y)
    with pytest.raises(CertificateError):
        verify(true, X, y, offset=np.linspace(0.0, 1.0, 60))
    X, y = draw("quantile", 1, n=60, p=10)
    true = BudgetRegressor(2, loss=Quantile(0.3)).fit(X, y).certificate_
    verify(true, X, y)
    width = true.parameters["width"]
    for wrong in (
        {"quantile": 0.4, "width": width}, {"quantile": 0.3, "width": 2.0 * width}, {},
        {"quantile": 1.5, "width": width}, {"quantile": 0.3, "width": np.nan}, None,
        {"width": width},
    ):  # fmt: skip
        with pytest.raises(CertificateError):
            verify(replace(true, parameters=wrong), X, y)
    for level in (1.0, 1.5):
        with pytest.raises(CertificateError, match="the quantile must be below 1"):
            verify(replace(true, parameters={"quantile": level, "width": width}), X, y)


@pytest.mark.parametrize(
    ("name", "y", "words"),
    [
        ("poisson", [1.0, -2.0, 3.0, 0.0], "y must be not negative for loss='poisson'; got -2"),
        ("poisson", [0.0, 0.0, 0.0, 0.0], "positive number for loss='poisson'; got only zeros"),
        ("gamma", [1.0, 0.0, 3.0, 2.0], "y must be positive for loss='gamma'; got 0 at row 1"),
        ("tweedie", [1.0, 0.0, 3.0, 2.0], "loss must be one of"),
        (Logistic(), [1.0, 0.0, 3.0, 2.0], "loss must be one of numbers"),
        (Poisson, [1.0, 0.0, 3.0, 2.0], "Call it"),
        (Cox(), [1.0, 0.0, 3.0, 2.0], "BudgetSurvivalAnalysis"),
    ],
)
def test_bad_targets_and_losses_are_named(name, y, words):
    """A user would see a failure of a solver, or a model of something else."""
    X = np.arange(12.0).reshape(4, 3) % 5
    with pytest.raises(ValueError, match=words):
        BudgetRegressor(1, loss=name).fit(X, y)


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        ([1.0], "one per row of X"),
        ([np.inf, 0.0, 0.0, 0.0], "offset must be finite"),
        ([np.nan, 0.0, 0.0, 0.0], "offset must be finite"),
        ([1e3, 0.0, 0.0, 0.0], "logarithm"),
        (["a", "b", "c", "d"], "offset must be numbers"),
    ],
)
def test_bad_offsets_are_named(offset, words):
    """An exposure passed as it is, or a zero exposure, would give a model of nothing."""
    X = np.arange(12.0).reshape(4, 3) % 5
    with pytest.raises(ValueError, match=words):
        BudgetRegressor(1, loss="poisson").fit(X, [1.0, 2.0, 0.0, 1.0], offset=offset)


@each_new
@pytest.mark.filterwarnings("error")
def test_constant_targets_and_few_rows_are_sane(name):
    """A constant target, or three rows, would give NaN or a warning of overflow."""
    X = np.random.default_rng(0).standard_normal((20, 5))
    model = BudgetRegressor(2, loss=name).fit(X, np.full(20, 3.0))
    np.testing.assert_allclose(model.predict(X), 3.0, rtol=1e-6)
    model = BudgetRegressor(1, loss=name).fit(X[:3], [1.0, 2.0, 4.0])
    assert np.isfinite(model.predict(X)).all()
    with pytest.warns(LeakWarning, match="'x0' is the target itself on another scale"):
        model = BudgetRegressor(2, loss=name).fit(X, 1e6 * np.exp(X[:, 0]))
    assert np.isfinite(model.predict(X)).all()
    assert model.support_[0] == 0


class LogCosh(NumericLoss):
    """A loss of someone else: log cosh(y - z)."""

    name = "log_cosh"

    def of_rows(self, z, y):
        r = np.abs(y - z)
        return r + np.log1p(np.exp(-2.0 * r)) - np.log(2.0), -np.tanh(y - z)

    def bends(self, z, y):
        return 1.0 - np.tanh(y - z) ** 2

    def interval(self, y):
        return np.full(y.shape, -1.0), np.ones(y.shape)

    def conjugates(self, t, y):
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = [np.where(1 + s * t > 0, (1 + s * t) * np.log1p(s * t), 0.0) for s in (1, -1)]
        return 0.5 * (parts[0] + parts[1]) - t * y

    def margins(self, t, y):
        with np.errstate(divide="ignore"):
            return y - np.arctanh(t)


def test_a_loss_of_someone_else():
    """The protocol would not be enough to add a loss, or the list of names be closed."""
    check_loss(LogCosh())
    X, y = draw("huber", 2, n=60, p=15)
    model = BudgetRegressor(2, loss=LogCosh()).fit(X, y)
    assert set(model.support_) & {1, 2}
    proof = prove(model, X, y, gap=0.0)
    assert proof.certificate.proven
    assert zeronorm.certify(model, X, y).loss == "log_cosh"
    assert model.score(X, y) == r2_score(y, model.predict(X))
    assert cross_validate(model, X, y).measure == "r2"  # not a deviance of another loss


@each_new
@pytest.mark.parametrize("seed", [0, *slow(1)])
def test_forged_certificates_state_nothing_false(name, seed):
    """A changed certificate would pass that states another optimum, bound or objective."""
    X, y = draw(name, 20 + seed, n=20, p=6)
    rng = np.random.default_rng(seed)
    model = BudgetRegressor(2, loss=name, C=1.0, method=methods.L0(gap=0.0)).fit(X, y)
    Z = standardised(X, np.ones(20), True)
    accepted = []
    for certificate in (model.proof_.certificate, certify(model, X, y)):
        verify(certificate, X, y)
        accepted += forgeries.accepted(
            rng, certificate, X, y, 150,
            lambda one, support: optimum(
                name, Z[:, support], y, np.ones(20), float(one.C), one.parameters,
                intercept=bool(one.fit_intercept),
            ),
        )  # fmt: skip
    for one in accepted:
        assert one.loss == name
        assert one.scaling == "standardized" or (one.fit_intercept and one.scaling != "none")
    assert len(accepted) > 5  # some changes take nothing away, or say less


@each_name
def test_the_verifier_knows_every_loss_and_its_rounding(name):
    """A bound could be above the optimum by an error of a formula, or by its rounding."""
    rng = np.random.default_rng(5)
    _, y = draw(name, 6, n=80)
    y[:3] *= 1e3
    weight = np.exp(rng.uniform(-6.0, 6.0, 80))
    ours = LeastSquares() if name == "least_squares" else OF_NUMBERS[name].fitted(y, weight)
    known = loss_of(name, ours.parameters)
    z = rng.normal(0.0, 2.0, 80) + (0.0 if name in ("poisson", "gamma") else 5.0)
    value, gradient = ours.value_gradient(z, y, weight)
    parts, terms = known.losses(z, y, weight)
    assert parts.sum() == pytest.approx(value, rel=1e-12)
    assert (terms >= np.abs(parts)).all()
    np.testing.assert_allclose(known.slopes(z, y, weight), -gradient, rtol=1e-11, atol=1e-12)
    exact = high_precision(name, z.astype(np.longdouble), y, ours.parameters)
    assert abs((exact * weight).sum() - parts.sum()) <= 2.0**-53 * 88 * terms.sum()
    low, high = known.limits(y, weight)
    v = np.clip(-gradient, low, high)
    np.testing.assert_allclose(v, -gradient, rtol=1e-12)
    for share in (1.0, 0.3, 1e-6):
        own, terms = known.conjugates(share * v, y, weight)
        assert own.sum() == pytest.approx(ours.conjugate(share * v, y, weight), rel=1e-10, abs=1e-9)
        assert (terms >= 0.0).all()
        t = share * v / weight
        at = y - t if name == "least_squares" else ours.margins(t, y)  # where it is attained
        at = at.astype(np.longdouble)
        best = -at * (share * v) - high_precision(name, at, y, ours.parameters) * weight
        assert abs(own.sum() - best.sum()) <= 2.0**-53 * 88 * terms.sum()
    bend = known.steepness(z, y, 0.1)
    for moved in (z - 0.1, z, z + 0.1):
        curvature = ours.curvature(moved, y, np.ones(80))
        assert (curvature <= bend * (1.0 + 1e-12)).all()
    o = rng.uniform(-1.0, 1.0, 80)
    for mine, theirs in zip(ours.with_offset(y, o), known.offset(y, o), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-14)


def high_precision(name, z, y, parameters):
    """f(y, z) in extended precision."""
    y = y.astype(np.longdouble)
    if name == "poisson":
        own = np.where(y > 0, y, 1)
        return np.exp(z) - y * z + np.where(y > 0, y * np.log(own) - y, 0)
    if name == "gamma":
        return z + y / np.exp(z) - 1 - np.log(y)
    low, high = -np.inf, np.inf
    if name == "huber":
        low, high = -parameters["width"], parameters["width"]
    if name == "quantile":
        low, high = ((parameters["quantile"] - one) * parameters["width"] for one in (1.0, 0.0))
    t = np.clip(y - z, low, high)
    return t * (y - z) - t * t / 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: Huber(-1.0), lambda: Huber(width=0.0), lambda: Huber(np.nan),
        lambda: Quantile(0.0), lambda: Quantile(1.0), lambda: Quantile(1.5),
        lambda: Quantile(0.5, 0.0), lambda: Quantile(0.5, width=np.inf),
    ],
)  # fmt: skip
def test_parameters_of_losses_are_checked(make):
    """A level of 1.5, or a width of 0, would be another loss, or none."""
    with pytest.raises(ValueError, match="must be"):
        make()


@each_new
def test_resumed_proofs_hold(name):
    """A proof that goes on from an earlier tree would not verify, or state a bound that is none."""
    for seed in range(3):
        X, y = draw(name, 70 + seed, n=40, p=8)
        model = BudgetRegressor(3, loss=name, C=3.0).fit(X, y)
        first = prove(model, X, y, gap=0.02, max_nodes=2)
        proof = prove(model, X, y, gap=0.0, resume=first)
        assert proof.certificate.proven
        verify(proof.certificate, X, y)


def test_an_l1_fit_that_ends_early_says_so():
    """What a fit warns of would fail itself, as of a loss whose width is not known yet."""
    X, y = draw("quantile", 1, n=60, p=30)
    with pytest.warns(UserWarning, match="certified gap"):
        L1Regressor(1e3, loss="quantile", max_iter=1, tol=1e-12).fit(X, y)


@pytest.mark.parametrize("name", NAMES)
def test_scores_of_equal_numbers_are_numbers(name):
    """A fold without an event of a rare count would make a mean of NaN."""
    X, y = draw(name, 3)
    model = BudgetRegressor(2, loss=name).fit(X, y)
    same = np.zeros(30) if name != "gamma" else np.ones(30)
    assert model.score(X, same) == 0.0
    if name == "poisson":
        rare = (np.arange(30) < 3).astype(float)
        assert np.isfinite(cross_validate(BudgetRegressor(1, loss=name), X, rare).scores).all()

"""Efron's ties: Cox's partial likelihood with events at the same time, one after the other."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import forgeries
from conftest import slow
from test_survival import draw, survival
from zeronorm import BudgetSurvivalAnalysis, certify, methods, prove, verify
from zeronorm.losses import Cox, check_loss
from zeronorm.losses.base import dual_bound
from zeronorm.persistence import load, load_certificate, save, save_certificate
from zeronorm.verification import CertificateError
from zeronorm.verification.losses import loss_of


def partial_likelihood(z, y, weight, ties="efron"):
    """The loss by its definition, one event after the other, and its gradient.

    y: time, event, stratum and maybe when a row comes under observation.
    """
    value, gradient = 0.0, np.zeros_like(z)
    time, event, size = y[:, 0], y[:, 1] > 0, weight * np.exp(z)
    start = y[:, 3] if y.shape[1] > 3 else np.full(len(y), -np.inf)
    for group in np.unique(y[:, 2]):
        own = (y[:, 2] == group) & (weight > 0)
        for t in np.unique(time[own & event]):
            dead, risk = own & event & (time == t), own & (time >= t) & (start < t)
            d = int(dead.sum()) if ties == "efron" else 1
            each = weight[dead].sum() / d
            for number in range(d):
                part = size * (risk - number / d * dead)
                value += each * np.log(part.sum() / (each * (d - number)))
                gradient += each * part / part.sum()
            value -= weight[dead] @ z[dead]
            gradient[dead] -= weight[dead]
    return value, gradient


def target(event, time, stratum=None):
    stratum = np.zeros(len(time)) if stratum is None else stratum
    return np.column_stack([time, event.astype(float), stratum])


def optimum(Z, y, weight, C):
    def value(u):
        f, g = partial_likelihood(Z @ u, y, weight)
        return 0.5 * u @ u + C * f, u + C * (Z.T @ g)

    found = minimize(value, np.zeros(Z.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9})
    return found.fun


def standardised(X, weight):
    mean = weight @ X / weight.sum()
    return (X - mean) / np.sqrt(weight @ (X - mean) ** 2 / weight.sum())


@pytest.mark.parametrize("seed", range(4))
def test_value_gradient_and_conjugate(seed):
    """Terms of tied events, their weights, or bounds from them would be wrong."""
    rng = np.random.default_rng(seed)
    _, event, time = draw(seed, n=50, ties=True)
    y = target(event, time, rng.integers(0, 2, 50).astype(float) if seed % 2 else None)
    weight, z = rng.uniform(0.2, 3.0, 50) * (rng.random(50) < 0.9), rng.normal(0.0, 2.0, 50)
    loss, known = Cox("efron"), loss_of("cox_efron", {})
    value, gradient = loss.value_gradient(z, y, weight)
    expected, slope = partial_likelihood(z, y, weight)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-12)
    used = weight > 0
    for share in (1.0, 0.6, 1e-4):
        v = -share * gradient
        conjugate = loss.conjugate(v, y, weight)
        parts, terms = known.conjugates(v[used], y[used], weight[used])
        assert abs(parts.sum() - conjugate) <= 1e-12 * terms.sum()
    losses, _ = known.losses(z[used], y[used], weight[used])
    assert losses.sum() == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(known.slopes(z[used], y[used], weight[used]), -gradient[used],
                               atol=1e-11)  # fmt: skip


def test_the_loss_is_what_solvers_rely_on():
    """Steps, bounds or scales of the loss would be wrong."""
    check_loss(Cox("efron"))
    rng = np.random.default_rng(0)
    every = np.column_stack([rng.integers(1, 3, 40), np.ones(40), np.zeros(40)]).astype(float)
    check_loss(Cox("efron"), every)
    with pytest.raises(ValueError, match="ties must be"):
        Cox("exact")
    with pytest.raises(ValueError, match="ties must be"):
        BudgetSurvivalAnalysis(1, ties="exact").fit(*data(0)[:2])


def data(seed, n=40):
    X, event, time = draw(seed, n=n, ties=True)
    return X, survival(event, time), target(event, time)


def test_without_ties_it_is_breslow():
    """Models of distinct times would depend on an option that is of ties."""
    X, event, time = draw(3)
    y, weight = target(event, time), np.linspace(0.5, 2.0, 40)
    z = np.random.default_rng(0).normal(size=40)
    one, other = (Cox(ties).value_gradient(z, y, weight) for ties in ("breslow", "efron"))
    assert one[0] == other[0]
    np.testing.assert_array_equal(one[1], other[1])
    v = -0.7 * one[1]
    conjugates = [Cox(ties).conjugate(v, y, weight) for ties in ("breslow", "efron")]
    np.testing.assert_allclose(*conjugates, rtol=1e-14)  # the one is compiled, the other is not
    fits = [
        BudgetSurvivalAnalysis(2, ties=ties).fit(X, survival(event, time))
        for ties in ("breslow", "efron")
    ]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    bounds = [fit.certificate_.bound for fit in fits]
    np.testing.assert_allclose(*bounds, rtol=1e-12)


@pytest.mark.parametrize("seed", [0, 1, *slow(2, 3, 4, 5, 6, 7)])
def test_proofs_against_enumeration_of_all_supports(seed):
    """A support that is called best would not be, or a bound would be above the optimum."""
    rng = np.random.default_rng(seed)
    X, y, numbers = data(50 + seed, n=30)
    weight = rng.integers(0, 3, 30).astype(float) if seed % 2 else np.ones(30)
    if seed % 3 == 1:
        numbers[:, 2] = rng.integers(0, 2, 30)
        y = survival(y["event"], y["time"], numbers[:, 2])
    forced, C = ([4] if seed % 4 == 2 else None), (0.1, 1.0, 3.0)[seed % 3]
    model = BudgetSurvivalAnalysis(
        2, C=C, method=methods.L0(gap=0.0), forced_features=forced, ties="efron"
    ).fit(X, y, sample_weight=weight)
    used = weight > 0
    Z = standardised(X, weight)[used]
    found = {
        support: optimum(Z[:, list(support)], numbers[used], weight[used], C)
        for support in itertools.combinations(range(X.shape[1]), 2)
        if forced is None or 4 in support
    }
    best, certificate = min(found.values()), model.proof_.certificate
    assert certificate.loss == "cox_efron"
    assert certificate.objective == pytest.approx(best, rel=1e-7)
    assert found[tuple(certificate.support.tolist())] == pytest.approx(best, rel=1e-7)
    assert best * (1.0 - 1e-8) <= certificate.bound * (1.0 + 1e-8)
    assert certificate.bound <= best * (1.0 + 1e-8)
    assert verify(certificate, X, y, sample_weight=weight)["gap"] <= 1e-9
    assert certify(model, X, y, sample_weight=weight).bound <= best * (1.0 + 1e-8)


def test_strata_without_events_are_verified():
    """The verifier would end with an error that is none of its own, or count a row of them."""
    X, event, time = draw(5, n=40, p=6, ties=True)
    stratum = np.repeat([0, 1], [30, 10])
    event = event & (stratum == 0)
    y = survival(event, time, stratum)
    model = BudgetSurvivalAnalysis(2, ties="efron").fit(X, y)
    verify(model.certificate_, X, y)
    own = loss_of("cox_efron", {})
    z, numbers = X[:, 0], target(event, time, stratum.astype(float))
    expected = partial_likelihood(z, numbers, np.ones(40))[0]
    assert own.losses(z, numbers, np.ones(40))[0].sum() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_the_bound_of_a_point_outside_of_the_domain_is_finite(ties):
    """A bound would be -inf where the sum of a dual point over a stratum is lost in rounding."""
    _, event, time = draw(3, n=30, ties=True)
    y, weight = target(event, time, None), np.ones(30)
    loss = Cox(ties)
    v = -loss.value_gradient(np.zeros(30), y, weight)[1]
    v[0] += 1e-6
    assert loss.conjugate(v, y, weight) == np.inf
    assert dual_bound(loss, v, y, weight, 1.0) == (pytest.approx(0.0, abs=1e-12), 0.0)


@pytest.mark.parametrize("method", ["pool", "minimax", "greedy", "l0", "l1"])
def test_every_method_certifies_what_it_selects(method):
    """A method would fail for tied times, or its certificate be of another problem."""
    X, y, _ = data(7, n=80)
    model = BudgetSurvivalAnalysis([2, 3], method=method, ties="efron").fit(X, y)
    for size in (2, 3):
        verify(model.path_[size].certificate, X, y)
    proof = prove(model, X, y, gap=0.0)
    assert proof.certificate.proven
    verify(proof.certificate, X, y)


@pytest.mark.parametrize("seed", [0, *slow(1, 2)])
def test_forged_certificates_state_nothing_false(seed):
    """A changed certificate would pass that states another optimum, bound or objective."""
    X, event, time = draw(30 + seed, n=20, p=6, ties=True)
    y, numbers, rng = survival(event, time), target(event, time), np.random.default_rng(seed)
    model = BudgetSurvivalAnalysis(2, C=1.0, method=methods.L0(gap=0.0), ties="efron").fit(X, y)
    true, Z = model.proof_.certificate, standardised(X, np.ones(20))
    breslow = BudgetSurvivalAnalysis(2, C=1.0).fit(X, y).certificate_
    for wrong in (replace(true, loss="cox"), replace(breslow, loss="cox_efron")):
        with pytest.raises(CertificateError):
            verify(wrong, X, y)
    accepted = forgeries.accepted(
        rng, true, X, y, 120,
        lambda one, support: optimum(Z[:, support], numbers, np.ones(20), float(one.C)),
    )  # fmt: skip
    assert all(one.loss == "cox_efron" for one in accepted)
    assert len(accepted) > 2  # some changes take nothing away, or say less


def test_the_baseline_has_the_ties_of_the_model():
    """Curves would be of other hazards than those that the model is fitted with."""
    X, y, numbers = data(4, n=100)
    model = BudgetSurvivalAnalysis(3, ties="efron").fit(X, y)
    z, hazard = model.predict(X), 0.0
    for t in np.unique(numbers[numbers[:, 1] > 0, 0]):
        dead, risk = (numbers[:, 0] == t) & (numbers[:, 1] > 0), numbers[:, 0] >= t
        for share in np.arange(dead.sum()) / dead.sum():
            hazard += 1.0 / (np.exp(z[risk]).sum() - share * np.exp(z[dead]).sum())
        assert model.cum_baseline_hazard_(t) == pytest.approx(hazard, rel=1e-10)


def test_files_say_which_ties(tmp_path):
    """A saved certificate or model would be one of other ties."""
    X, y, _ = data(5)
    model = BudgetSurvivalAnalysis(2, ties="efron").fit(X, y)
    loaded = load(save(model, tmp_path / "m.npz"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(
        loaded.predict_survival_function(X, True), model.predict_survival_function(X, True)
    )
    saved = load_certificate(save_certificate(model.certificate_, tmp_path / "c.npz", X, y))
    assert saved.certificates[0].loss == "cox_efron"
    saved.verify(X, y)


def test_margins_of_any_size_and_ties_everywhere():
    """Risk sets of which all but the events vanish would give NaN."""
    X, _, numbers = data(1)
    for size in (300.0, 700.0, 1e4):
        z = np.linspace(-size, size, 40)
        for order in (np.argsort(numbers[:, 0]), np.argsort(-numbers[:, 0])):
            value, gradient = Cox("efron").value_gradient(z[order], numbers, np.ones(40))
            assert np.isfinite(value)
            assert np.isfinite(gradient).all()
    tied = survival(np.arange(40) % 2 == 0, np.ones(40))
    model = BudgetSurvivalAnalysis(2, ties="efron").fit(X, tied)
    assert np.isfinite(model.predict_survival_function(X, return_array=True)).all()
    verify(model.certificate_, X, tied)


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("breslow", [0.17655768082763, 0.74525629685435, -0.17272638753469, 0.05026509671388]),
        ("efron", [0.26856035823490, 0.97882164624727, -0.20755863577524, 0.06873946312069]),
    ],
)
def test_fits_are_those_of_statsmodels(ties, expected):
    """Coefficients without a ridge would not be those of other packages: PHReg of 0.15.0."""
    X, y, _ = data(2, n=200)
    ours = BudgetSurvivalAnalysis(4, C=0.1, ties=ties, refit_C=1e7).fit(X[:, :4], y)
    np.testing.assert_allclose(ours.coef_, expected, rtol=1e-4, atol=1e-6)

"""Start-stop times: rows that come under observation late, in Cox's model."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import forgeries
from conftest import slow
from test_survival import draw, survival
from test_ties import partial_likelihood, standardised
from zeronorm import BudgetSurvivalAnalysis, certify, cross_validate, methods, prove, verify
from zeronorm.losses import Cox, check_loss
from zeronorm.persistence import load, save
from zeronorm.verification import CertificateError
from zeronorm.verification.losses import Events, loss_of, survival_target

TIES = ("breslow", "efron")


def late(seed, n=40, ties=False, p=7, strata=False):
    """Columns, start-stop times as users have them, and as the loss has them."""
    X, event, time = draw(seed, n=n, ties=ties, p=p)
    rng = np.random.default_rng(seed + 99)
    start = time * rng.random(n) * 0.9
    start = np.floor(start) if ties else start
    stratum = rng.integers(0, 2, n).astype(float) if strata else np.zeros(n)
    fields = [start, time, event] + ([stratum] if strata else [])
    y = np.rec.fromarrays(fields, names="start,stop,event" + (",stratum" if strata else ""))
    return X, y, np.column_stack([time, event, stratum, start]).astype(float)


def optimum(Z, y, weight, C, ties):
    def value(u):
        f, g = partial_likelihood(Z @ u, y, weight, ties)
        return 0.5 * u @ u + C * f, u + C * (Z.T @ g)

    found = minimize(value, np.zeros(Z.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9})
    return found.fun


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("seed", range(2))
def test_value_gradient_and_conjugate(seed, ties):
    """Risk sets of rows that are not there yet, or bounds from them, would be wrong."""
    rng = np.random.default_rng(seed)
    _, _, y = late(seed, ties=True, strata=seed == 1)
    weight, z = rng.uniform(0.2, 3.0, 40), rng.normal(0.0, 2.0, 40)
    loss = Cox(ties).fitted(y, weight)
    value, gradient = loss.value_gradient(z, y, weight)
    expected, slope = partial_likelihood(z, y, weight, ties)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-12)
    assert value + loss.conjugate(-gradient, y, weight) == pytest.approx(z @ gradient, rel=1e-9)
    known = loss_of(loss.name, {})
    assert known.losses(z, y, weight)[0].sum() == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(known.slopes(z, y, weight), -gradient, atol=1e-11)
    for share in (1.0, 0.5, 0.1):
        # The verifier's is at least the true one, and next to nothing more.
        more = known.conjugates(-share * gradient, y, weight)[0].sum()
        own = loss.conjugate(-share * gradient, y, weight)
        assert -1e-10 <= more - own <= 1e-9 * (1.0 + abs(own))
        for _ in range(10):
            other = rng.normal(0.0, 3.0, 40)
            at = loss.value_gradient(other, y, weight)[0]
            assert at + more >= share * (gradient @ other) - 1e-9
    assert np.isinf(loss.conjugate(-5.0 * gradient, y, weight))
    assert np.isinf(known.conjugates(-5.0 * gradient, y, weight)[0]).any()


@pytest.mark.parametrize("ties", TIES)
def test_the_loss_is_what_solvers_rely_on(ties):
    """Steps, bounds or scales of the loss would be wrong."""
    check_loss(Cox(ties), late(1, n=18, ties=True)[2])


def test_rows_that_are_there_from_the_first_on_are_ordinary_ones():
    """Starts before all events would make another problem of the same risk sets."""
    X, y, numbers = late(2)
    early = y.copy()
    early["start"] = -1.0
    plain = survival(y["event"], y["stop"])
    one, other = (BudgetSurvivalAnalysis(2).fit(X, target) for target in (early, plain))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert verify(other.certificate_, X, early) == verify(other.certificate_, X, plain)
    numbers[:, 3] = -1.0
    z, weight = np.linspace(-1.0, 1.0, 40), np.ones(40)
    loss = Cox().fitted(numbers, weight)
    value, gradient = loss.value_gradient(z, numbers, weight)
    expected = Cox().value_gradient(z, numbers[:, :3].copy(), weight)
    assert value == pytest.approx(expected[0], rel=1e-12)
    conjugate = Cox().conjugate(-0.5 * gradient, numbers[:, :3].copy(), weight)
    assert loss.conjugate(-0.5 * gradient, numbers, weight) == pytest.approx(conjugate, rel=1e-9)


@pytest.mark.parametrize("seed", [1, *slow(0, 2, 3, 4, 5)])
def test_proofs_against_enumeration_of_all_supports(seed):
    """A support that is called best would not be, or a bound would be above the optimum."""
    rng, ties = np.random.default_rng(seed), TIES[seed % 2]
    X, y, numbers = late(50 + seed, 28, seed % 2 == 1, strata=seed % 3 == 2)
    weight = rng.integers(0, 3, 28).astype(float) if seed % 3 == 1 else np.ones(28)
    forced, C = ([4] if seed == 3 else None), (0.3, 1.0, 2.0)[seed % 3]
    model = BudgetSurvivalAnalysis(
        2, C=C, method=methods.L0(gap=0.0), forced_features=forced, ties=ties
    ).fit(X, y, sample_weight=weight)
    Z = standardised(X, weight)
    found = {
        support: optimum(Z[:, list(support)], numbers, weight, C, ties)
        for support in itertools.combinations(range(X.shape[1]), 2)
        if forced is None or 4 in support
    }
    best, certificate = min(found.values()), model.proof_.certificate
    assert certificate.objective == pytest.approx(best, rel=1e-7)
    assert found[tuple(certificate.support.tolist())] == pytest.approx(best, rel=1e-7)
    assert certificate.bound <= best * (1.0 + 1e-8)
    assert verify(certificate, X, y, sample_weight=weight)["gap"] <= 1e-9
    assert certify(model, X, y, sample_weight=weight).bound <= best * (1.0 + 1e-8)


@pytest.mark.parametrize("method", ["pool", *slow("minimax", "greedy", "l0", "l1")])
def test_methods_files_and_predictions(method, tmp_path):
    """A method would fail for start-stop times, or predictions be of another model."""
    X, y, numbers = late(7, n=60, p=10)
    model = BudgetSurvivalAnalysis(2, method=method).fit(X, y)
    verify(model.certificate_, X, y)
    proof = prove(model, X, y, gap=0.0)
    verify(proof.certificate, X, y)
    loaded = load(save(model, tmp_path / "m.npz"))
    curves = model.predict_survival_function(X, return_array=True)
    np.testing.assert_array_equal(loaded.predict_survival_function(X, True), curves)
    z, hazard, right, total = model.predict(X), 0.0, 0.0, 0.0
    time, event, _, start = numbers.T
    for i in np.argsort(time):
        if event[i]:
            risk = (start < time[i]) & (time >= time[i])
            hazard += 1.0 / np.exp(z[risk]).sum()
            assert model.cum_baseline_hazard_(time[i]) == pytest.approx(hazard, rel=1e-9)
            later = risk & (time > time[i])
            total += later.sum()
            right += (z[i] > z[later]).sum()
    assert model.score(X, y) == pytest.approx(right / total, rel=1e-12)


def test_folds_have_risk_sets_of_their_own():
    """Cross-validation would score rows against others that were not there."""
    X, y, _ = late(3, n=80)
    found = cross_validate(BudgetSurvivalAnalysis([1, 2]), X, y, cv=3)
    assert (found.mean > 0.5).all()


@pytest.mark.parametrize("seed", slow(0, 1))
def test_forged_certificates_state_nothing_false(seed):
    """A changed certificate would pass that states another optimum, bound or objective."""
    X, y, numbers = late(30 + seed, 20, seed == 1, p=6)
    rng, ties = np.random.default_rng(seed), TIES[seed]
    model = BudgetSurvivalAnalysis(2, C=1.0, method=methods.L0(gap=0.0), ties=ties).fit(X, y)
    true, Z = model.proof_.certificate, standardised(X, np.ones(20))
    accepted = forgeries.accepted(
        rng, true, X, y, 150,
        lambda one, support: optimum(Z[:, support], numbers, np.ones(20), float(one.C), ties),
    )  # fmt: skip
    assert len(accepted) > 2  # some changes take nothing away, or say less


@pytest.mark.parametrize("seed", [2, 18, 51, 63, *slow(102, 163, 246)])
def test_dual_points_at_the_end_of_the_domain(seed):
    """Where C is large certificates have the bound -inf, or verify refuses them."""
    X, y, _ = late(seed, n=30, ties=True, p=5)
    weight = np.random.default_rng(seed).choice([0.3, 1.0, 2.0], len(y))
    model = BudgetSurvivalAnalysis(1, C=100.0, method="l0").fit(X, y, sample_weight=weight)
    assert verify(model.certificate_, X, y, sample_weight=weight)["bound"] > 0.0


def test_forged_dual_points_and_starts_are_refuted():
    """Parts of events could be given to rows that are not there, and the bound be too high."""
    X, y, numbers = late(12, n=30)
    true = BudgetSurvivalAnalysis(2).fit(X, y).certificate_
    verify(true, X, y)
    time, event, _, start = numbers.T
    first = np.flatnonzero(event)[np.argmin(time[event > 0])]
    absent = int(np.argmax(start))
    assert start[absent] > time[first]
    dual = true.dual.copy()
    dual[first] -= 2.0 * true.C
    dual[absent] += 2.0 * true.C
    other = y.copy()
    other["start"] = 0.5 * y["start"]
    for data, forged in (
        (y, replace(true, dual=dual)),
        (y, replace(true, bound=true.objective)),
        (y, replace(true, dual=-true.dual)),
        (other, true),
        (survival(y["event"], y["stop"]), true),
    ):
        with pytest.raises(CertificateError):
            verify(forged, X, data)


@pytest.mark.parametrize(
    ("names", "change", "words"),
    [
        ("start,stop,event", lambda s, t, e: (t, t, e), "before the stop.*at row 0"),
        ("start,stop,event", lambda s, t, e: (np.where(t == t[3], t + 1, s), t, e), "at row 3"),
        ("start,stop,event", lambda s, t, e: (s * np.nan, t, e), "before the stop"),
        ("start,stop,event", lambda s, t, e: (s.astype(str), t, e), "start of y must be numbers"),
        ("start,stop,event", lambda s, t, e: (s, t, 0 * e), "censored"),
        ("start,stop,event", lambda s, t, e: (s, t, e + 1), "status == 2"),
        ("start,stop,dead", lambda s, t, e: (s, t, e), "'event' or 'status'"),
        ("start,stop,time", lambda s, t, e: (s, t, t), "'event' or 'status'"),
        ("start,stop,event,more", lambda s, t, e: (s, t, e, t), "structured array"),
    ],
)
def test_bad_targets_are_named(names, change, words):
    """A user would see a failure of a solver, or a model of something else."""
    X, y, _ = late(0)
    fields = change(y["start"], y["stop"], y["event"].astype(int))
    with pytest.raises(ValueError, match=words):
        BudgetSurvivalAnalysis(2).fit(X, np.rec.fromarrays(fields, names=names))


def test_any_way_to_share_the_events_out_bounds_the_conjugate():
    """The verifier's last resort would be below the conjugate, and its bound above the optimum."""
    stop = np.arange(1.0, 4.0)
    alone = np.column_stack([stop, np.ones(3), np.zeros(3), stop - 0.5])
    s = np.array([0.5, 2.0, 3.0])
    # Every row has its own event: the loss is 0 at any margins, and so is its conjugate there.
    events = Events.of(alone, s, False)
    assert events._shared_out(s, 0.0) + events.constant == pytest.approx(0.0, abs=1e-14)
    beside = np.vstack([alone, [[9.0, 0.0, 0.0, 0.0]]])
    s = np.append(s, 4.0)
    # One row has all of the events of the three others.
    found = Events.of(beside, s, False)._shared_out(np.array([0.0, 0.0, 0.0, 5.5]), 0.0)
    assert found == pytest.approx(-5.5 * np.log(4.0), rel=1e-14)
    for seed, ties, size in itertools.product(range(3), TIES, (1e-3, 1.0, 1e3)):
        _, _, y = late(seed, ties=True)
        rng = np.random.default_rng(seed)
        weight, loss = size * rng.uniform(0.2, 3.0, 40), Cox(ties).fitted(y, np.ones(40))
        gradient = loss.value_gradient(rng.normal(0.0, 2.0, 40), y, weight)[1]
        events = Events.of(y, weight, ties == "efron")
        p = weight * y[:, 1] + gradient
        most = events._shared_out(p, 1e-12 * weight.sum())
        own = loss.conjugate(-gradient, y, weight)
        assert own * (1.0 - 1e-9) <= most + events.constant <= own + 10.0 * events.weight.sum()
        p[np.argmin(p)] = -1.0
        assert events._shared_out(p, 1e-12 * weight.sum()) is None


def test_rows_that_are_alone_at_every_event():
    """Data with nothing to compare would give a model of rounding."""
    X = np.random.default_rng(0).standard_normal((6, 3))
    stop = np.arange(1.0, 7.0)
    y = np.rec.fromarrays([stop - 0.5, stop, np.ones(6, bool)], names="start,stop,event")
    with pytest.raises(ValueError, match="nothing to compare"):
        BudgetSurvivalAnalysis(1).fit(X, y)


def test_the_verifier_reads_the_same_targets():
    """Columns in another order would be other times."""
    pandas = pytest.importorskip("pandas")
    X, y, numbers = late(4, ties=True, strata=True)
    np.testing.assert_array_equal(survival_target(y), numbers)
    frame = pandas.DataFrame(
        {"Event": y["event"], "time": y["stop"], "strata": y["stratum"], "START": y["start"]}
    )
    one, other = (BudgetSurvivalAnalysis(2).fit(X, target) for target in (y, frame))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    wrong = np.rec.fromarrays([y["stop"], y["stop"], y["event"]], names="start,stop,event")
    with pytest.raises(ValueError, match="before the stops"):
        survival_target(wrong)


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("breslow", [0.01658591153394, 1.28547514398837, -0.22654270983181, 0.06356831579890]),
        ("efron", [0.01130658996941, 1.47235806784725, -0.24566593907932, 0.08337519574363]),
    ],
)
def test_fits_are_those_of_statsmodels(ties, expected):
    """Coefficients without a ridge would not be those of other packages.

    PHReg of 0.15.0, where a row that enters at the time of an event is at risk there, which here it
    is not: it was given starts later by one half.
    """
    X, y, _ = late(2, n=150, ties=True)
    ours = BudgetSurvivalAnalysis(4, C=0.1, ties=ties, refit_C=1e7).fit(X[:, :4], y)
    np.testing.assert_allclose(ours.coef_, expected, rtol=1e-4, atol=1e-6)

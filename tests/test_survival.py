"""Survival times: Cox's partial likelihood, its certificates, and the estimator."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.model_selection import KFold

import forgeries
from conftest import slow
from zeronorm import (
    BudgetCV,
    BudgetSurvivalAnalysis,
    certify,
    cross_validate,
    methods,
    prove,
    survival_target,
    verify,
)
from zeronorm.core.targets import check_survival
from zeronorm.estimators import c_index, c_index_scorer
from zeronorm.losses import Cox, check_loss
from zeronorm.verification import CertificateError
from zeronorm.verification.losses import loss_of


def survival(event, time, stratum=None):
    """The structured array that scikit-survival has, with a stratum."""
    if stratum is None:
        return np.rec.fromarrays([event, time], names="event,time")
    return np.rec.fromarrays([event, time, stratum], names="event,time,stratum")


def draw(seed, n=40, p=7, ties=False):
    """Columns, two of them informative, one a duplicate, and censored times."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.3, 3.0, p) + rng.uniform(-2.0, 2.0, p)
    X[:, p - 1] = X[:, 0]
    z = (X[:, 1] - X[:, 1].mean()) / X[:, 1].std() - 0.7 * X[:, 2] / X[:, 2].std()
    time, censored = rng.exponential(np.exp(-z)), rng.exponential(1.5, n)
    event, time = time <= censored, np.minimum(time, censored)
    return X, event, np.ceil(4 * time) if ties else time


def partial_likelihood(z, event, time, stratum, weight):
    """The loss by its definition, one event time after the other, and its gradient."""
    value, gradient = 0.0, np.zeros_like(z)
    for group in np.unique(stratum):
        own = stratum == group
        for t in np.unique(time[own & event]):
            dead, risk = own & event & (time == t), own & (time >= t)
            D, S = weight[dead].sum(), weight[risk] @ np.exp(z[risk])
            value += D * np.log(S / D) - weight[dead] @ z[dead]
            gradient[risk] += D * weight[risk] * np.exp(z[risk]) / S
            gradient[dead] -= weight[dead]
    return value, gradient


def target(event, time, stratum):
    return np.column_stack([time, event.astype(float), stratum])


@pytest.mark.parametrize("seed", range(6))
def test_value_and_gradient_are_those_of_the_definition(seed):
    """Risk sets, ties, strata or weights would be wrong."""
    rng = np.random.default_rng(seed)
    _, event, time = draw(seed, ties=seed % 2 == 1)
    stratum = rng.integers(0, 3, time.size).astype(float) if seed > 2 else np.zeros(time.size)
    weight, z = rng.uniform(0.2, 3.0, time.size), rng.normal(0.0, 2.0, time.size)
    value, gradient = Cox().value_gradient(z, target(event, time, stratum), weight)
    wanted = partial_likelihood(z, event, time, stratum, weight)
    assert value == pytest.approx(wanted[0], rel=1e-12)
    np.testing.assert_allclose(gradient, wanted[1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_the_conjugate_is_attained_and_is_a_bound(seed):
    """Certificates of survival models would be above the optimum, or far below it."""
    rng = np.random.default_rng(seed)
    _, event, time = draw(seed, ties=seed % 2 == 1)
    stratum = rng.integers(0, 2, time.size).astype(float) if seed > 3 else np.zeros(time.size)
    y, weight = target(event, time, stratum), rng.uniform(0.2, 3.0, time.size)
    loss, z = Cox(), rng.normal(0.0, 2.0, time.size)
    value, gradient = loss.value_gradient(z, y, weight)
    assert value + loss.conjugate(-gradient, y, weight) == pytest.approx(z @ gradient, rel=1e-9)
    for t in (0.0, 1e-6, 0.3, 0.9):
        v = -t * gradient
        conjugate = loss.conjugate(v, y, weight)
        assert np.isfinite(conjugate)
        for _ in range(20):
            other = rng.normal(0.0, 3.0, time.size)
            assert loss.value_gradient(other, y, weight)[0] + conjugate >= -v @ other - 1e-9
    assert loss.conjugate(np.zeros(time.size), y, weight) == 0.0
    assert loss.conjugate(-5.0 * gradient, y, weight) == np.inf
    assert loss.conjugate(-gradient + 0.1, y, weight) == np.inf
    inside = loss.inside(-5.0 * gradient, y, weight)
    assert np.isfinite(loss.conjugate(inside, y, weight))
    for quadratic in (1e-3, 1.0, 100.0):
        t = loss.best_scale(-gradient, y, weight, quadratic)
        bound = [-loss.conjugate(-f * t * gradient, y, weight) - (f * t) ** 2 * quadratic
                 for f in (1.0, 0.99, 1.01)]  # fmt: skip
        assert max(bound) == bound[0]


def test_the_loss_is_what_solvers_rely_on():
    """Steps, bounds or scales of the loss would be wrong."""
    check_loss(Cox())


def test_extremes_and_rows_without_a_part():
    """Margins of any size, weights of 0 and rows censored before all events would be NaN."""
    _, event, time = draw(3)
    event[np.argmin(time)] = False
    y = target(event, time, np.zeros(time.size))
    for size in (700.0, 1e4, 1e6):
        z = np.linspace(-size, size, time.size)
        value, gradient = Cox().value_gradient(z, y, np.ones(time.size))
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
    z = np.linspace(-300.0, 300.0, time.size)
    _, gradient = Cox().value_gradient(z, y, np.ones(time.size))
    assert np.isfinite(Cox().conjugate(-gradient, y, np.ones(time.size)))
    weight = np.resize([1.0, 0.0, 2.0], time.size)
    rows = np.repeat(np.arange(time.size), weight.astype(int))
    z = np.linspace(-1.0, 1.0, time.size)
    one = Cox().value_gradient(z, y, weight)[0]
    assert one == pytest.approx(Cox().value_gradient(z[rows], y[rows], np.ones(rows.size))[0])


def optimum(Z, event, time, stratum, weight, C):
    def value(u):
        f, g = partial_likelihood(Z @ u, event, time, stratum, weight)
        return 0.5 * u @ u + C * f, u + C * (Z.T @ g)

    found = minimize(value, np.zeros(Z.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9})
    return found.fun


@pytest.mark.parametrize("seed", [1, 2, 3, *slow(0, 4, 5)])
def test_proofs_against_enumeration_of_all_supports(seed):
    """A support that is called best would not be, or a bound would be above the optimum."""
    rng = np.random.default_rng(50 + seed)
    X, event, time = draw(seed, n=30, ties=seed % 2 == 1)
    stratum = rng.integers(0, 2, 30).astype(float) if seed in (2, 5) else np.zeros(30)
    weight = rng.integers(0, 3, 30).astype(float) if seed in (1, 5) else np.ones(30)
    forced, k, C = ([4] if seed == 3 else None), 2, (0.1, 1.0, 3.0)[seed % 3]
    y = survival(event, time, stratum) if seed in (2, 5) else survival(event, time)
    model = BudgetSurvivalAnalysis(k, C=C, method=methods.L0(gap=0.0), forced_features=forced).fit(
        X, y, sample_weight=weight
    )
    used = weight > 0
    mean = weight @ X / weight.sum()
    Z = (X - mean) / np.sqrt(weight @ (X - mean) ** 2 / weight.sum())
    found = {
        support: optimum(
            Z[used][:, list(support)], event[used], time[used], stratum[used], weight[used], C
        )
        for support in itertools.combinations(range(X.shape[1]), k)
        if forced is None or 4 in support
    }
    best, certificate = min(found.values()), model.proof_.certificate
    assert certificate.objective == pytest.approx(best, rel=1e-7)
    assert found[tuple(certificate.support.tolist())] == pytest.approx(best, rel=1e-7)
    assert certificate.bound <= best * (1.0 + 1e-8)
    assert certificate.proven
    assert verify(certificate, X, y, sample_weight=weight)["gap"] <= 1e-9
    bound = certify(model, X, y, sample_weight=weight)
    assert bound.bound <= best * (1.0 + 1e-8)


@pytest.mark.parametrize("method", ["pool", "minimax", "greedy", "l0", "l1"])
def test_every_method_certifies_what_it_selects(method):
    """A method would fail for survival times, or its certificate would be of another problem."""
    X, event, time = draw(7, n=100, p=16)
    y = survival(event, time)
    model = BudgetSurvivalAnalysis([2, 4], method=method).fit(X, y)
    for size in (2, 4):
        assert model.path_[size].support.size == size
        verify(model.path_[size].certificate, X, y)
    assert {1, 2} <= set(model.support_.tolist())
    assert model.score(X, y) > 0.65
    assert not hasattr(model, "intercept_")
    proof = prove(model, X, y, gap=0.0)
    assert proof.certificate.proven
    verify(proof.certificate, X, y)


def test_groups_and_features_in_few_groups():
    """Budgets of groups would have no survival models."""
    X, event, time = draw(2, n=100, p=24)
    y, groups = survival(event, time), np.arange(24) // 3
    whole = BudgetSurvivalAnalysis(n_groups=2, feature_groups=groups).fit(X, y)
    assert len(np.unique(whole.groups_)) == 2
    verify(whole.certificate_, X, y)
    both = BudgetSurvivalAnalysis(3, n_groups=2, feature_groups=groups).fit(X, y)
    assert both.support_.size == 3
    assert both.score(X, y) > 0.6


def test_curves_concordance_and_baseline():
    """Predictions that a person can use would be of another model."""
    X, event, time = draw(4, n=150)
    y = survival(event, time)
    model = BudgetSurvivalAnalysis(3).fit(X, y)
    z = model.predict(X)
    np.testing.assert_allclose(z, X @ model.coef_, rtol=1e-12)
    hazard = model.cum_baseline_hazard_
    # Breslow's estimate: all events are shared out.
    assert np.exp(z) @ hazard(time) == pytest.approx(event.sum(), rel=1e-9)
    curves = model.predict_survival_function(X[:5])
    table = model.predict_survival_function(X[:5], return_array=True)
    np.testing.assert_allclose([one(model.unique_times_) for one in curves], table, rtol=1e-12)
    assert (np.diff(table, axis=1) <= 0.0).all()
    assert curves[0](0.0) == pytest.approx(1.0, abs=0.05)
    hazards = model.predict_cumulative_hazard_function(X[:5], return_array=True)
    np.testing.assert_allclose(np.exp(-hazards), table)
    np.testing.assert_allclose(model.baseline_survival_(1.0), np.exp(-hazard(1.0)))
    right = total = 0.0
    for i, j in itertools.permutations(range(150), 2):
        if event[i] and (time[i] < time[j]):
            total += 1
            right += 1.0 if z[i] > z[j] else 0.5 if z[i] == z[j] else 0.0
    assert model.score(X, y) == pytest.approx(right / total, rel=1e-12)
    strata = survival(event, time, np.arange(150) % 2)
    model.fit(X, strata)
    assert len(model.cum_baseline_hazard_) == 2
    with pytest.raises(ValueError, match="strata"):
        model.predict_survival_function(X)


def test_weights_are_repetitions_and_rows_may_be_permuted():
    """Counts of equal rows, or the order of rows, would change the model."""
    X, event, time = draw(9)
    X = X[:, :-1]  # the duplicate may take the place of the other
    counts = np.resize([1, 2, 0, 3], time.size)
    rows = np.repeat(np.arange(time.size), counts)
    y = survival(event, time)
    one = BudgetSurvivalAnalysis(3, refit_C=1.0).fit(X, y, sample_weight=counts)
    order = np.random.default_rng(0).permutation(rows)
    other = BudgetSurvivalAnalysis(3, refit_C=1.0).fit(X[order], y[order])
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6, atol=1e-9)


def test_the_final_fit_is_that_of_a_plain_optimiser():
    """The refit on the user's scaling would be another model."""
    X, event, time = draw(6, n=120)
    model = BudgetSurvivalAnalysis(3, C=0.1, refit_C=2.0).fit(X, survival(event, time))
    Z, none = X[:, model.support_], np.zeros(120)

    def value(w):
        f, g = partial_likelihood(Z @ w, event, time, none, np.ones(120))
        return 0.5 * w @ w + 2.0 * f, w + 2.0 * (Z.T @ g)

    found = minimize(value, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(model.coef_[model.support_], found.x, rtol=1e-5, atol=1e-7)


def test_forged_certificates_of_survival_are_refuted():
    """A bound, a coefficient or a dual value could be forged, or the times be others."""
    X, event, time = draw(1, n=60, p=10)
    y = survival(event, time)
    true = BudgetSurvivalAnalysis(2).fit(X, y).certificate_
    verify(true, X, y)
    rng = np.random.default_rng(0)
    forged = [
        replace(true, bound=true.objective),
        replace(true, objective=0.999 * true.objective, bound=0.99 * true.bound),
        replace(true, coef=true.coef + 1e-2),
        replace(true, dual=-true.dual),
        replace(true, loss="poisson"),
        replace(true, C=2.0 * true.C),
    ]
    forged += [replace(true, dual=rng.permutation(true.dual)) for _ in range(20)]
    for one in forged:
        with pytest.raises((CertificateError, ValueError)):
            verify(one, X, y)
    with pytest.raises((CertificateError, ValueError)):
        verify(true, X, survival(event, time[::-1]))
    with pytest.raises(ValueError, match="survival times"):
        verify(true, X, time)


def good():
    X, event, time = draw(0)
    return X, survival(event, time)


def test_data_frames_of_event_and_time():
    """A data frame would have to be converted by hand."""
    pandas = pytest.importorskip("pandas")
    X, y = good()
    frame = pandas.DataFrame({"dead": y["event"], "days": y["time"]})
    one = BudgetSurvivalAnalysis(2).fit(X, y)
    other = BudgetSurvivalAnalysis(2).fit(X, frame)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    coded = pandas.DataFrame({"dead": y["event"].astype(int), "days": y["time"]})
    np.testing.assert_array_equal(BudgetSurvivalAnalysis(2).fit(X, coded).coef_, one.coef_)
    objects = y.astype([("event", object), ("time", object)])  # as rows of Python make it
    np.testing.assert_array_equal(BudgetSurvivalAnalysis(2).fit(X, objects).coef_, one.coef_)
    listed = pandas.DataFrame({"dead": pandas.Series([*y["event"]], dtype=object), "t": y["time"]})
    np.testing.assert_array_equal(BudgetSurvivalAnalysis(2).fit(X, listed).coef_, one.coef_)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e, t: None, "y to be passed"),
        (lambda e, t: t, "structured array"),
        (lambda e, t: survival(e.astype(int) + 1, t), "status == 2"),
        (lambda e, t: survival(np.where(e, "dead", "alive"), t), "event of y"),
        (lambda e, t: survival(e, -t), "not negative"),
        (lambda e, t: survival(e, np.where(e, np.nan, t)), "finite"),
        (lambda e, t: survival(e, np.where(e, np.inf, t)), "finite"),
        (lambda e, t: survival(np.zeros_like(e), t), "censored"),
        (lambda e, t: survival(np.ones_like(e), np.ones_like(t)), "nothing to compare"),
        (lambda e, t: survival(t == t.max(), t), "nothing to compare"),
        (lambda e, t: survival(e, t * 1e300), r"at most 1e\+100"),
        (
            lambda e, t: survival(e, t + 0j),
            r"must be numbers; got an array of shape \(40,\) of comp",
        ),
        (lambda e, t: np.column_stack([e, t]), r"got an array of shape \(40, 2\) of float64"),
        (lambda e, t: survival(e[:-1], t[:-1]), "one time per row"),
        (lambda e, t: survival(e, np.array([str(one) + "d" for one in t])), "must be numbers"),
    ],
)
def test_bad_targets_are_named(change, words):
    """A user would see a failure of a solver, or a model of something else."""
    X, event, time = draw(0)
    with pytest.raises(ValueError, match=words):
        BudgetSurvivalAnalysis(2).fit(X, change(event, time))


def test_all_events_of_weight_zero_are_named():
    """Weights that leave no event would give a model of nothing."""
    X, y = good()
    with pytest.raises(ValueError, match="censored"):
        BudgetSurvivalAnalysis(2).fit(X, y, sample_weight=1.0 - y["event"])


def test_few_rows_and_equal_times_are_sane():
    """Two rows, or times that are nearly all tied, would give NaN."""
    X, _ = good()
    model = BudgetSurvivalAnalysis(1).fit(X[:2], survival(np.array([True, False]), [1.0, 2.0]))
    assert np.isfinite(model.predict(X)).all()
    tied = survival(np.arange(40) % 2 == 0, np.ones(40))
    model = BudgetSurvivalAnalysis(2).fit(X, tied)
    assert np.isfinite(model.predict_survival_function(X, return_array=True)).all()


@pytest.mark.parametrize("seed", [1, *slow(0, 2)])
def test_forged_certificates_state_nothing_false(seed):
    """A changed certificate would pass that states another optimum, bound or objective."""
    X, event, time = draw(30 + seed, n=20, p=6, ties=seed == 1)
    y, rng, none = survival(event, time), np.random.default_rng(seed), np.zeros(20)
    if seed == 2:
        none = np.resize([0.0, 1.0], 20)
        y = survival(event, time, none)
    model = BudgetSurvivalAnalysis(2, C=1.0, method=methods.L0(gap=0.0)).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    accepted = []
    for certificate in (model.proof_.certificate, certify(model, X, y)):
        verify(certificate, X, y)
        accepted += forgeries.accepted(
            rng, certificate, X, y, 200,
            lambda one, support: optimum(
                Z[:, support], event, time, none, np.ones(20), float(one.C)
            ),
        )  # fmt: skip
    assert all(one.loss == "cox" and one.scaling != "none" for one in accepted)
    assert len(accepted) > 5  # some changes take nothing away, or say less


def test_the_verifier_refuses_dual_points_outside_of_the_domain():
    """Parts of events could be given to rows that are not at risk, and the bound be too high."""
    X, event, time = draw(12, n=30)
    y = survival(event, time)
    true = BudgetSurvivalAnalysis(2).fit(X, y).certificate_
    order = np.argsort(time)
    moved = [(order[0], order[-1]), (order[-1], order[0])]
    for more, less in moved:
        for share in (1e-3, 0.1, 1.0):
            dual = true.dual.copy()
            dual[more] += share * true.C
            dual[less] -= share * true.C
            with pytest.raises(CertificateError):
                verify(replace(true, dual=dual), X, y)
    both = survival(event, time, np.resize([0, 1], 30))
    with pytest.raises(CertificateError):
        verify(true, X, both)


def high_precision(v, y, weight):
    """The conjugate at -v in extended precision, row by row from its formula."""
    v, s = v.astype(np.longdouble), weight.astype(np.longdouble)
    p, total = np.where(y[:, 1] > 0, s, 0) - v, np.longdouble(0)
    total += sum(a * np.log(a / b) for a, b in zip(p, s, strict=True) if a > 0)
    for group in np.unique(y[:, 2]):
        own = y[:, 2] == group
        for t in np.unique(y[own & (y[:, 1] > 0), 0]):
            D = s[own & (y[:, 0] == t) & (y[:, 1] > 0)].sum()
            left = max(-v[own & (y[:, 0] >= t)].sum(), np.longdouble(0))
            x = left + D
            total -= x * np.log(x) - D * np.log(D) - (left * np.log(left) if left > 0 else 0)
    return total


@pytest.mark.parametrize("seed", range(4))
def test_the_verifier_knows_the_conjugate_and_its_rounding(seed):
    """A bound could be above the optimum by an error of the formula, or by its rounding."""
    rng = np.random.default_rng(seed)
    _, event, time = draw(seed, n=60, ties=seed % 2 == 1)
    event[np.argsort(time)[:2]] = False  # in no risk set
    y = target(event, time, np.resize([0.0, 1.0], 60) if seed == 3 else np.zeros(60))
    weight = np.exp(rng.uniform(-8.0, 8.0, 60))
    known, ours = loss_of("cox", {}), Cox()
    gradient = ours.value_gradient(rng.normal(0.0, 5.0, 60), y, weight)[1]
    for share in (1.0, 0.5, 1e-3, 1e-9):
        parts, terms = known.conjugates(-share * gradient, y, weight)
        assert (terms >= 0.0).all()
        exact = high_precision(-share * gradient, y, weight)
        rounding = 2.0**-53 * 68 * float(terms.sum())
        assert abs(np.longdouble(parts.sum()) - exact) <= rounding
        assert rounding <= 1e-9 * (abs(float(exact)) + float(weight.sum()))
        assert parts.sum() == pytest.approx(ours.conjugate(-share * gradient, y, weight), rel=1e-9)
    low, high = known.limits(y, weight)
    first = min(time[event])
    outside = time < first if seed < 3 else np.zeros(60, bool)
    assert (low[outside] == 0.0).all()
    np.testing.assert_array_equal(high, np.where(event, weight, 0.0))
    # More of the last events than the rows at risk then can have.
    order = np.argsort(time)
    wrong = -gradient.copy()
    move = 0.5 * weight[order[-1]]
    wrong[order[-1]] += move + abs(wrong).sum()
    wrong[order[len(order) // 2]] -= move + abs(wrong).sum()
    assert np.isinf(known.conjugates(wrong, y, weight)[0]).any()


@pytest.mark.parametrize("size", [0.1, 1.0, 30.0])
def test_the_verifier_knows_values_slopes_and_their_rounding(size):
    """The objective of a certificate could be another one, or be refused for its rounding."""
    rng = np.random.default_rng(7)
    _, event, time = draw(7, n=60, ties=True)
    y = target(event, time, np.resize([0.0, 1.0, 1.0], 60))
    weight, z = rng.uniform(0.1, 9.0, 60), rng.normal(0.0, size, 60)
    known, (value, gradient) = loss_of("cox", {}), Cox().value_gradient(z, y, weight)
    parts, terms = known.losses(z, y, weight)
    assert parts.sum() == pytest.approx(value, rel=1e-11)
    assert (terms >= np.abs(parts) - 1e-9).all()
    assert terms.sum() <= 100.0 * (np.abs(parts).sum() + weight.sum() * (1.0 + size))
    np.testing.assert_allclose(known.slopes(z, y, weight), -gradient, rtol=1e-9, atol=1e-11)
    assert known.steepness(z, y, 0.0).tolist() == event.astype(float).tolist()
    assert [rows.tolist() for rows in known.strata(y)] == [
        np.flatnonzero(y[:, 2] == one).tolist() for one in (0.0, 1.0)
    ]


@pytest.mark.parametrize(
    "y",
    [
        np.arange(5.0),
        np.rec.fromarrays([np.arange(5.0)], names="time"),
        np.rec.fromarrays([np.arange(5) > 2] * 4, names="a,b,c,d"),
        np.rec.fromarrays([np.full(5, 0.5), np.arange(5.0)], names="event,time"),
        np.rec.fromarrays([np.full(5, 2), np.arange(5.0)], names="event,time"),
        np.rec.fromarrays([np.arange(5) > 2, np.arange(5.0) - 1.0], names="event,time"),
        np.rec.fromarrays([np.arange(5) > 2, np.array([1, 2, 3, 4, np.nan])], names="event,time"),
        np.rec.fromarrays([np.arange(5) > 2, np.array([1, 2, 3, 4, np.inf])], names="event,time"),
    ],
)
def test_the_verifier_names_targets_that_are_no_survival_times(y):
    """Something else than times and events would be verified."""
    X, _, time = draw(1, n=5)
    true = BudgetSurvivalAnalysis(1).fit(X, survival(np.array([1, 1, 1, 0, 1]) > 0, time))
    with pytest.raises(ValueError, match="survival times"):
        verify(true.certificate_, X, y)


def test_dual_points_that_give_some_events_to_nobody_are_refuted():
    """Without an intercept to balance it, a dual point could raise the bound above the optimum."""
    X, event, time = draw(1, n=60, p=10)
    y = survival(event, time)
    true = BudgetSurvivalAnalysis(2).fit(X, y).certificate_
    for share in np.geomspace(1e-6, 0.1, 8):
        for sign in (-1.0, 1.0):
            dual = true.dual + sign * share * true.C
            dual[time < time[event].min()] = 0.0
            for bound in (1.001 * true.bound, 0.999 * true.objective):
                for intercept in (True, False):
                    forged = replace(true, dual=dual, bound=bound, fit_intercept=intercept)
                    with pytest.raises(CertificateError):
                        verify(replace(forged, intercept=0.0, candidates=10, fixed_in=0), X, y)


def test_curves_of_columns_far_from_zero():
    """Risk scores of thousands, as of years, would make all curves NaN."""
    X, event, time = draw(4, n=150)
    y = survival(event, time)
    near, far = BudgetSurvivalAnalysis(3, refit_C=1.0), BudgetSurvivalAnalysis(3, refit_C=1.0)
    one = near.fit(X, y).predict_survival_function(X, return_array=True)
    other = far.fit(X + 1e4, y).predict_survival_function(X + 1e4, return_array=True)
    np.testing.assert_allclose(one, other, atol=1e-6)
    assert np.isfinite(far.predict_survival_function(X + 2e4, return_array=True)).all()


def test_strata_that_are_missing_are_named():
    """Rows without a stratum would be compared with each other."""
    X, event, time = draw(0)
    stratum = np.resize([0.0, 1.0, np.nan], 40)
    with pytest.raises(ValueError, match="the stratum of y must be there; got nan at row 2"):
        BudgetSurvivalAnalysis(2).fit(X, survival(event, time, stratum))
    hidden = [(False, row == 3) for row in range(40)]
    masked = np.ma.MaskedArray(survival(event, time), mask=hidden)
    with pytest.raises(ValueError, match="mask"):
        BudgetSurvivalAnalysis(2).fit(X, masked)
    known = survival(event, time, np.resize([0.0, 1.0], 40))
    true = BudgetSurvivalAnalysis(2).fit(X, known).certificate_
    with pytest.raises(ValueError, match="missing"):
        verify(true, X, survival(event, time, stratum))


@pytest.mark.parametrize("seed", [0, 1, *slow(2, 3, 4, 5)])
def test_resumed_proofs_hold(seed):
    """A proof that goes on from an earlier tree would not verify, or state a bound that is none."""
    X, event, time = draw(60 + seed, n=40, p=8, ties=seed % 2 == 1)
    y = survival(event, time)
    model = BudgetSurvivalAnalysis(3, C=3.0).fit(X, y)
    first = prove(model, X, y, gap=0.02, max_nodes=2)
    proof = prove(model, X, y, gap=0.0, resume=first)
    assert proof.certificate.proven
    verify(proof.certificate, X, y)
    fresh = prove(model, X, y, gap=0.0).certificate
    assert proof.certificate.objective == pytest.approx(fresh.objective, rel=1e-9)


def test_scikit_survival_takes_models_and_agrees():
    """Its metrics, its scorers in searches of scikit-learn or its curves would not work."""
    metrics = pytest.importorskip("sksurv.metrics")
    from sklearn.model_selection import KFold, cross_val_score
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    X, y = good()
    model = BudgetSurvivalAnalysis(2, refit_C=1e9, calibrate=False).fit(X, y)
    found = metrics.concordance_index_censored(y["event"], y["time"], model.predict(X))[0]
    assert found == pytest.approx(model.score(X, y), abs=1e-12)
    theirs = CoxPHSurvivalAnalysis().fit(X[:, model.support_], y)
    np.testing.assert_allclose(model.coef_[model.support_], theirs.coef_, rtol=1e-5)
    curve = model.predict_survival_function(X)[0]
    expected = theirs.predict_survival_function(X[:, model.support_])[0]
    np.testing.assert_array_equal(curve.x, expected.x)
    np.testing.assert_allclose(curve.y, expected.y, atol=1e-6)
    assert curve.domain == expected.domain
    scorer = metrics.as_concordance_index_ipcw_scorer(BudgetSurvivalAnalysis(2))
    folds = KFold(2, shuffle=True, random_state=0)
    assert np.isfinite(cross_val_score(scorer, X, y, cv=folds)).all()


@pytest.mark.parametrize("extra", [(), ("stratum",), ("start", "stratum")])
def test_scorers_have_times_as_a_user_has_them(extra):
    """A scorer would see other times, of other rows, or have no strata."""
    X, y = good()
    strata = np.arange(len(X)) % 2
    columns = {"event": y["event"], "time": y["time"] + 1.0}
    if "start" in extra:
        columns = {"start": y["time"] * 0.9, "stop": y["time"] + 1.0, "event": y["event"]}
    if "stratum" in extra:
        columns["stratum"] = strata
    target = np.rec.fromarrays(list(columns.values()), names=",".join(columns))
    seen = []

    def scorer(estimator, rows, times):
        seen.append(times)
        return c_index(times, estimator.predict(rows))

    model = BudgetSurvivalAnalysis(2)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    found = cross_validate(model, X, target, cv=folds, scoring=scorer)
    for number, (train, test) in enumerate(folds):
        assert any(np.array_equal(times, target[test]) for times in seen)
        risk = clone(model).fit(X[train], target[train]).predict(X[test])
        assert found.scores[0, number] == pytest.approx(c_index(target[test], risk))
        assert found.baseline[number] == 0.5
    search = BudgetCV(BudgetSurvivalAnalysis(), [1, 2, 3], cv=folds, scoring=scorer).fit(X, target)
    plain = BudgetCV(BudgetSurvivalAnalysis(), [1, 2, 3], cv=folds).fit(X, target)
    assert search.n_features_ == plain.n_features_


def test_curves_end_where_times_do():
    """Code that plots the curves of scikit-survival would not find where they end."""
    X, y = good()
    curve = BudgetSurvivalAnalysis(2).fit(X, y).predict_survival_function(X[:1])[0]
    assert curve.domain == (0.0, y["time"].max())
    assert curve(2.0 * curve.domain[1]) == curve.y[-1]


def test_searches_of_scikit_learn_score_by_harrells_c():
    """A search among models that are not of this package would have no score of survival times."""
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = good()
    model = BudgetSurvivalAnalysis(2)
    own = cross_val_score(model, X, y, cv=3)
    assert np.array_equal(cross_val_score(model, X, y, cv=3, scoring=c_index_scorer), own)
    steps = make_pipeline(StandardScaler(), BudgetSurvivalAnalysis())
    grid = {"budgetsurvivalanalysis__n_features": [1, 2]}
    search = GridSearchCV(steps, grid, cv=3, scoring=c_index_scorer).fit(X, y)
    assert search.best_score_ == pytest.approx(
        max(cross_val_score(BudgetSurvivalAnalysis(k), X, y, cv=3).mean() for k in (1, 2))
    )
    other = LinearRegression().fit(X, -y["time"])
    assert c_index_scorer(other, X, y) == c_index(y, other.predict(X))
    weight = np.resize([1.0, 0.0, 2.0], len(X))
    fitted = model.fit(X, y)
    assert c_index(y, fitted.predict(X), weight) == fitted.score(X, y, weight)
    named = cross_validate(model, X, y, cv=3, scoring="c_index")
    assert np.array_equal(named.scores, cross_validate(model, X, y, cv=3).scores)
    by_scorer = cross_validate(model, X, y, cv=3, scoring=c_index_scorer)
    assert np.array_equal(by_scorer.scores, named.scores)
    with pytest.raises(ValueError, match="scoring must be None, 'c_index' or a scorer of risks"):
        cross_validate(model, X, y, scoring="r2")
    for wrong in (np.full(len(X), np.nan), np.zeros((len(X), 2)), ["a"] * len(X)):
        with pytest.raises(ValueError, match="risk must be finite numbers, one for each row"):
            c_index(y, wrong)


def test_survival_target_is_what_fits_take():
    """Users would have to build structured arrays by hand, in an order that nothing says."""
    event, time = [1, 0, 1], pd.Series([3.0, 2.0, 5.0])
    y = survival_target(time, event, strata=["b", "a", "b"])
    assert y.dtype.names == ("event", "time", "stratum")
    assert y["event"].tolist() == [True, False, True]
    found = check_survival(y, 3)
    np.testing.assert_array_equal(found, [[3, 1, 1], [2, 0, 0], [5, 1, 1]])
    late = survival_target(time, event, start=[0.0, 1.0, 4.0])
    np.testing.assert_array_equal(check_survival(late, 3)[:, 3], [0, 1, 4])
    frame = pd.DataFrame({"time": time, "status": event})  # by name, in any order
    np.testing.assert_array_equal(check_survival(frame, 3), check_survival(y[["event", "time"]], 3))
    frame = frame.assign(centre=["b", "a", "b"])  # what is neither of the two is the stratum
    np.testing.assert_array_equal(check_survival(frame, 3), found)
    with pytest.raises(ValueError, match=r"one event and one time; .* 'event' and 'status'"):
        check_survival(frame.assign(event=event), 3)
    with pytest.raises(ValueError, match="must be True or False"):
        survival_target(time, [2, 1, 1])
    with pytest.raises(ValueError, match="of one length"):
        survival_target(time, [1, 0])
    with pytest.raises(ValueError, match="finite and not negative"):
        survival_target([-1.0, 2.0], [True, True])
    with pytest.raises(ValueError, match="start of y must be before the stop"):
        survival_target([1.0, 2.0], [True, True], start=[1.0, 0.0])

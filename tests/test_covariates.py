"""Covariates: columns in every model that no budget counts and no penalty touches."""

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
import scipy.sparse.csgraph
import scipy.special

import forgeries
from conftest import slow, slow_among
from zeronorm import (
    BudgetClassifier,
    BudgetCV,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    certify,
    cross_validate,
    methods,
    persistence,
    prove,
    verify,
)
from zeronorm.core.budgets import AtFault, UnfittableError
from zeronorm.core.groups import Groups
from zeronorm.data.gathered import DenseColumns
from zeronorm.losses import Cox, Huber, LeastSquares, Logistic, Multinomial, Poisson, adjusted
from zeronorm.losses.cox import parts_of
from zeronorm.solvers.problem import Risk
from zeronorm.solvers.ridge_fits import newton, ridge
from zeronorm.verification import CertificateError, check_form
from zeronorm.verification.data import read_data
from zeronorm.verification.losses import loss_of, survival_target

COVARIATES = [3, 6]
LOSSES = ["logistic", "squared_hinge", "least_squares", "huber", "poisson", "gamma", "cox",
          "cox_efron", "multinomial", "responses", "ordinal", "cox_late",
          "cox_efron_late"]  # fmt: skip

OTHERS = ["squared_hinge", "huber", "gamma", "cox_efron", "responses", "cox_efron_late"]
SOME_LOSSES = slow_among(LOSSES, *OTHERS)


def drawn(seed=0, n=36, m=8):
    """Data whose covariates, 3 and 6, matter and are correlated with the features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m))
    X[:, 3] = 50.0 + 9.0 * X[:, 1] + 6.0 * rng.standard_normal(n)
    X[:, 6] = rng.random(n) < 0.4
    z = X[:, 0] - 0.8 * X[:, 2] + 0.1 * (X[:, 3] - 50.0) - X[:, 6]
    return X, z, rng


def target(loss, z, rng):
    """A target of a loss."""
    n = z.size
    if loss in ("logistic", "squared_hinge"):
        return (z + rng.logistic(size=n) > 0).astype(int)
    if loss in ("least_squares", "huber", "quantile"):
        return 7.0 + z + rng.standard_normal(n)
    if loss == "poisson":
        return rng.poisson(np.exp(0.5 * z)).astype(float)
    if loss == "gamma":
        return np.exp(0.5 * z) * rng.gamma(2.0, size=n)
    if loss in ("multinomial", "ordinal"):
        return np.digitize(z + rng.logistic(size=n), [-0.8, 0.8])
    if loss == "responses":
        return np.column_stack([z, -z]) + rng.standard_normal((n, 2))
    time = np.ceil(4.0 * rng.exponential(np.exp(-z)))
    if loss.endswith("late"):
        start = np.floor(0.9 * time * rng.random(n))
        return np.rec.fromarrays([start, time, rng.random(n) < 0.7], names="start,stop,event")
    rows = zip(rng.random(n) < 0.7, time, strict=True)
    return np.array(list(rows), dtype=[("event", bool), ("time", float)])


def estimator(loss, k, **options):
    """The estimator of a loss; fits are not calibrated."""
    if loss in ("logistic", "squared_hinge", "multinomial"):
        f = "logistic" if loss == "multinomial" else loss
        return BudgetClassifier(k, loss=f, calibrate=False, **options)
    if loss == "ordinal":
        return BudgetClassifier(k, loss=loss, calibrate=False, **options)
    if loss.startswith("cox"):
        return BudgetSurvivalAnalysis(k, ties="efron" if "efron" in loss else "breslow", **options)
    f = {"responses": "least_squares", "huber": Huber(0.5)}.get(loss, loss)
    return BudgetRegressor(k, loss=f, **options)


def losses_of_margins(loss, Z, y, weight, parameters):
    """The weighted loss of margins, (n, outputs), written down here once more.

    Of ordered classes those less every threshold.
    """
    z = Z[:, 0]
    if loss == "ordinal":
        above = np.column_stack([np.ones(len(Z)), scipy.special.expit(Z), np.zeros(len(Z))])
        each = np.arange(len(Z))
        return -float(weight @ np.log(np.maximum(above[each, y] - above[each, y + 1], 1e-300)))
    if loss in ("logistic", "squared_hinge"):
        s = np.where(y == y.max(), 1.0, -1.0)
        if loss == "logistic":
            return float(weight @ np.logaddexp(0.0, -s * z))
        return float(weight @ (0.5 * np.maximum(0.0, 1.0 - s * z) ** 2))
    if loss == "least_squares":
        return float(weight @ (0.5 * (y - z) ** 2))
    if loss == "responses":
        return float(weight @ (0.5 * (y - Z) ** 2).sum(axis=1))
    if loss == "huber":
        away, width = np.abs(y - z), parameters["width"]
        return float(weight @ np.where(away < width, away**2 / 2, width * away - width**2 / 2))
    if loss == "poisson":
        return float(
            weight @ (np.exp(z) - y * z - y + np.where(y > 0, y * np.log(y + (y == 0)), 0))
        )
    if loss == "gamma":
        return float(weight @ (z + y * np.exp(-z) - 1.0 - np.log(y)))
    if loss == "multinomial":
        top = np.logaddexp.reduce(Z, axis=1)
        return float(weight @ (top - Z[np.arange(len(y)), np.searchsorted(np.unique(y), y)]))
    total, late = 0.0, loss.endswith("late")
    times, start = (y["stop"], y["start"]) if late else (y["time"], np.full(len(y), -1.0))
    loss = loss.removesuffix("_late")
    for time in np.unique(times[y["event"]]):
        at_risk = (start < time) & (times >= time)
        dead = y["event"] & (times == time)
        size, d = weight * np.exp(z), int(dead.sum())
        D = float(weight[dead].sum())
        for before in range(d):
            left = before / d * float(size[dead].sum()) if loss == "cox_efron" else 0.0
            share = float(size[at_risk].sum()) - left
            total += D / d * np.log(share * d / (D * (d - before if loss == "cox_efron" else d)))
        total -= float(weight[dead] @ z[dead])
    return total


def optimum(X, y, loss, C, support, covariates, parameters=None, weight=None):
    """The optimum on a support by scipy, with free covariates, and their coefficients."""
    weight = np.ones(len(X)) if weight is None else weight
    share = weight / weight.sum()
    Z = (X - share @ X) / np.sqrt(share @ (X - share @ X) ** 2)
    A = np.column_stack([Z[:, support], Z[:, covariates], np.ones(len(X))])
    q = {"multinomial": np.unique(y).size if loss == "multinomial" else 0, "responses": 2}.get(
        loss, 1
    )
    k, size = len(support), A.shape[1] * q
    gaps = np.unique(y).size - 2 if loss == "ordinal" else 0  # logarithms of those of thresholds

    def value(w):
        W = w[:size].reshape(A.shape[1], q)
        ridge = 0.5 * (W[:k] ** 2).sum()
        ridge += 1e-9 * W[-1].sum() ** 2  # of what changes nothing
        Z = A @ W - np.append(0.0, np.cumsum(np.exp(w[size:])))
        return ridge + losses_of_margins(loss, Z, y, C * weight, parameters)

    found = scipy.optimize.minimize(
        value, np.zeros(size + gaps), method="BFGS", options={"gtol": 1e-7}
    )
    return found.fun, found.x[:size].reshape(A.shape[1], q)[k:-1]


@pytest.mark.parametrize("loss", SOME_LOSSES)
def test_the_proven_support_is_that_of_an_enumeration(loss):
    """The best support beside free covariates is another one, or has another objective."""
    X, z, rng = drawn(LOSSES.index(loss))
    y = target(loss, z, rng)
    model = estimator(loss, 2, covariates=COVARIATES, C=0.3).fit(X, y)
    proof = prove(model, X, y, gap=0.0)
    certificate = proof.certificate
    free = [j for j in range(X.shape[1]) if j not in COVARIATES]
    parameters = certificate.parameters
    values = {
        support: optimum(X, y, loss, 0.3, list(support), COVARIATES, parameters)[0]
        for support in itertools.combinations(free, 2)
    }
    best = min(values, key=values.get)
    assert certificate.proven
    assert tuple(certificate.support) == best
    assert certificate.objective == pytest.approx(values[best], rel=1e-5)
    assert verify(certificate, X, y)["gap"] <= 2e-9
    for one in (model.certificate_, certify(model, X, y)):
        verify(one, X, y)
        assert one.bound <= values[best] * (1 + 1e-6)
        assert np.array_equal(one.covariates, COVARIATES)


@pytest.mark.parametrize("loss", SOME_LOSSES)
def test_coefficients_of_covariates_are_those_without_a_penalty(loss):
    """The coefficients of covariates are shrunk."""
    X, z, rng = drawn(20 + LOSSES.index(loss), n=80)
    y = target(loss, z, rng)
    model = estimator(loss, 2, covariates=COVARIATES, C=0.3).fit(X, y)
    one = model.certificate_
    _, effects = optimum(X, y, loss, 0.3, list(one.support), COVARIATES, one.parameters)
    if loss == "multinomial":
        effects, own = (e - e.mean(axis=-1, keepdims=True) for e in (effects, one.effects.T))
    else:
        own = np.atleast_2d(one.effects).T
    np.testing.assert_allclose(own, effects, rtol=1e-4, atol=1e-4 * np.abs(effects).max())


@pytest.mark.parametrize("loss", ["logistic", "least_squares", "cox", "multinomial",
                                  *slow("ordinal", "cox_late")])  # fmt: skip
def test_without_a_penalty_means_that_covariates_take_up_what_they_span(loss):
    """A shift of a feature by covariates, or other units of these, changes the selection."""
    X, z, rng = drawn(5, n=60)
    y = target(loss, z, rng)
    options = {"covariates": COVARIATES, "standardize": False, "refit_C": 1.0}
    one = estimator(loss, 2, C=0.1, **options).fit(X, y)
    moved = X.copy()
    moved[:, 0] += 0.5 * (X[:, 3] - 50.0) - 2.0 * X[:, 6]
    moved[:, 3] = 1e-3 * X[:, 3] + 4.0
    moved[:, 6] = 1e4 * X[:, 6] - 3.0 * moved[:, 3]
    other = estimator(loss, 2, C=0.1, **options).fit(moved, y)
    assert np.array_equal(one.support_, other.support_)
    assert one.certificate_.objective == pytest.approx(other.certificate_.objective, rel=1e-9)
    scores = [
        m.decision_function(d) if hasattr(m, "decision_function") else m.predict(d)
        for m, d in ((one, X), (other, moved))
    ]
    if loss.startswith("cox"):
        scores = [s - s.mean() for s in scores]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("method", ["pool", "minimax", "greedy", "l0", methods.L0(gap=0.0)])
@pytest.mark.parametrize("loss", ["logistic", *slow("ordinal", "least_squares", "cox", "cox_late")])
def test_every_method_that_has_covariates(method, loss):
    """A method counts covariates, selects them, or leaves them out."""
    X, z, rng = drawn(1, n=60)
    y = target(loss, z, rng)
    model = estimator(loss, [1, 3], covariates=COVARIATES, method=method).fit(X, y)
    for k in (1, 3):
        one = model.path_[k]
        assert one.support.size == k
        assert not set(one.support) & set(COVARIATES)
        assert np.array_equal(one.covariates, COVARIATES)
        assert one.effects.shape == (2,)
        assert one.effects.all()
        verify(one.certificate, X, y)
    coef = np.ravel(model.coef_)
    assert set(np.flatnonzero(coef)) == {*model.support_, *COVARIATES}
    assert np.array_equal(model.covariates_, COVARIATES)


FEW = ["logistic", "least_squares", "cox_late", "multinomial", *slow(
    "poisson", "cox", "responses", "ordinal")]  # fmt: skip


@pytest.mark.parametrize("loss", FEW)
def test_few_features_in_few_groups_beside_covariates(loss):
    """Another pair than the best one is selected, or covariates are shrunk, counted, or lost."""
    X, z, rng = drawn(70, n=40)
    y = target(loss, z, rng)
    groups = np.array([0, 0, 1, 9, 1, 2, 9, 2])
    options = {"n_groups": 1, "feature_groups": groups, "covariates": COVARIATES, "C": 0.3}
    model = estimator(loss, 2, **options).fit(X, y)
    values = {
        pair: optimum(X, y, loss, 0.3, list(pair), COVARIATES)[0]
        for pair in ((0, 1), (2, 4), (5, 7))
    }
    best = min(values, key=values.get)
    one = model.path_[2, 1]
    assert tuple(model.support_) == best
    assert not set(one.support) & set(COVARIATES)
    assert np.array_equal(model.covariates_, COVARIATES)
    unit = 0.3 if loss in ("least_squares", "responses") else 1.0  # 1 / C before their ridge
    assert unit * one.objective == pytest.approx(values[best], rel=1e-5)
    _, effects = optimum(X, y, loss, 0.3, list(best), COVARIATES)
    solution = estimator(loss, 2, refit_C=None, **options).fit(X, y).path_[2, 1]
    own = np.atleast_2d(solution.effects).T * X[:, COVARIATES].std(axis=0)[:, None]
    if loss == "multinomial":
        effects, own = (e - e.mean(axis=1, keepdims=True) for e in (effects, own))
    np.testing.assert_allclose(own, effects, rtol=1e-3, atol=1e-4)
    other = estimator(loss, 2, refit_C=None, **options).fit(X + 100.0, y).path_[2, 1]
    np.testing.assert_allclose(other.effects, solution.effects, rtol=1e-5, atol=1e-7)


def test_few_groups_are_cross_validated_beside_covariates():
    """Held-out rows are scored without covariates."""
    X, z, rng = drawn(71, n=120)
    X[:, 3] += 40.0 * rng.standard_normal(120)
    y = target("least_squares", z + 0.1 * (X[:, 3] - 50.0), rng)
    groups = np.array([0, 0, 1, 9, 1, 2, 9, 2])
    model = estimator("least_squares", 1, n_groups=1, feature_groups=groups, covariates=[3])
    search = BudgetCV(model, n_features=[1, 2], n_groups=[1], cv=3).fit(X, y)
    assert np.array_equal(search.best_estimator_.covariates_, [3])
    assert search.best_estimator_.score(X, y) > 0.8


@pytest.mark.parametrize("method", ["l1", "reweighted-l1"])
def test_other_methods_refuse_them(method):
    """A method ignores covariates."""
    X, z, rng = drawn()
    with pytest.raises(ValueError, match="covariates are of the methods 'pool', 'greedy'"):
        estimator("logistic", 2, covariates=[3], method=method).fit(X, target("logistic", z, rng))


FORGED = {
    "effects": lambda c: replace(c, effects=c.effects * 1.01),
    "fewer": lambda c: replace(c, covariates=c.covariates[:1], effects=c.effects[:1]),
    "none": lambda c: replace(c, covariates=c.covariates[:0], effects=c.effects[:0]),
    "others": lambda c: replace(c, covariates=np.array([3, 7])),
    "more": lambda c: replace(c, covariates=np.array([3, 6, 7]), effects=np.append(c.effects, 0.0)),
    "selected": lambda c: replace(c, covariates=np.array([c.support[0], 9]), effects=c.effects),
    "unsorted": lambda c: replace(c, covariates=c.covariates[::-1], effects=c.effects[::-1]),
    "outside": lambda c: replace(c, covariates=np.array([3, 99])),
    "shape": lambda c: replace(c, effects=c.effects[:1]),
    "nan": lambda c: replace(c, effects=np.array([np.nan, 1.0])),
    "bound": lambda c: replace(c, bound=c.bound * (1 + 1e-6)),
    "dual": lambda c: replace(c, dual=c.dual * np.linspace(0.9, 1.0, c.dual.size)),
    "centred": lambda c: replace(c, dual=c.dual * 0.0 + _apart(c.dual)),
    "candidates": lambda c: replace(c, candidates=c.candidates - 1),
    "zero": lambda c: replace(c, dual=0.0 * c.dual, candidates=11, fixed_in=0),
}


def _apart(v):
    """A dual point with the sum 0, but not the sum 0 times covariates."""
    moved = v * np.linspace(0.9, 1.0, v.size)
    up, down = moved[moved > 0].sum(), -moved[moved < 0].sum()
    return np.where(moved > 0, moved * min(1.0, down / up), moved * min(1.0, up / down))


@cache
def certified(loss):
    """Data of a loss and a certificate of them that is verified."""
    X, z, rng = drawn(2, n=50)
    X = np.column_stack([X, rng.standard_normal((50, 3))])
    y = target(loss, z, rng)
    certificate = estimator(loss, 2, covariates=COVARIATES).fit(X, y).certificate_
    verify(certificate, X, y)
    return X, y, certificate


@pytest.mark.parametrize("loss", ["logistic", "least_squares", "ordinal", "cox_late",
                                  *slow("poisson", "huber")])  # fmt: skip
@pytest.mark.parametrize("forged", FORGED)
def test_forged_certificates_are_refused(forged, loss):
    """A certificate that claims what is not so of covariates is verified."""
    X, y, certificate = certified(loss)
    with pytest.raises(CertificateError):
        verify(FORGED[forged](certificate), X, y)


@pytest.mark.parametrize("loss", ["logistic", "least_squares", "cox", "multinomial", "responses",
                                  *slow("ordinal", "cox_late")])  # fmt: skip
def test_coefficients_of_covariates_have_to_be_the_best(loss):
    """A model whose covariates are not at their best, with its true objective, is verified."""
    X, z, rng = drawn(21, n=50)
    y = target(loss, z, rng)
    one = estimator(loss, 2, covariates=COVARIATES).fit(X, y).certificate_
    for size, sound in ((1e-5, True), (0.05, False)):
        effects = one.effects * (1.0 + size * rng.choice([-1.0, 1.0], one.effects.shape))
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        features = [*one.support, *one.covariates]
        W = np.concatenate([one.coef, effects], axis=-1)
        margins = Z[:, features] @ np.atleast_2d(W).T + one.intercept
        objective = 0.5 * (one.coef**2).sum()
        objective += losses_of_margins(loss, margins, y, np.full(50, one.C), one.parameters)
        forged = replace(one, effects=effects, objective=float(objective))
        if sound:
            verify(forged, X, y)
            continue
        with pytest.raises(CertificateError, match=r"not optimal|no room|sum 0"):
            verify(forged, X, y)


@pytest.mark.parametrize("loss", SOME_LOSSES)
def test_a_random_dual_point_never_proves_too_much(loss):
    """The verifier takes a bound above the optimum from a dual point that is not feasible."""
    X, z, rng = drawn(3, n=30)
    y = target(loss, z, rng)
    model = estimator(loss, 2, covariates=COVARIATES, C=0.3).fit(X, y)
    proven = prove(model, X, y, gap=0.0).certificate
    dual, claim = proven.dual, proven.objective * (1 + 1e-7)
    forged = replace(proven, tree=None, bound=claim, fixed_in=0, candidates=X.shape[1])
    for scale in (0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.1):
        for _ in range(4):
            moved = dual * (1.0 + scale * rng.standard_normal(dual.shape))
            with pytest.raises(CertificateError):
                verify(replace(forged, dual=moved), X, y)


@pytest.mark.parametrize("loss", ["logistic", "cox", "cox_late", "ordinal"])
@pytest.mark.slow
def test_no_forgery_states_what_is_not_so(monkeypatch, loss):
    """A random forgery of a certificate with covariates verifies, and what it says is false."""
    monkeypatch.setattr(
        forgeries, "_CHANGES", [*forgeries._CHANGES, *[forgeries.other_covariates] * 8]
    )
    X, z, rng = drawn(50 + LOSSES.index(loss), n=30, m=7)
    y = target(loss, z, rng)
    model = estimator(loss, 2, covariates=COVARIATES, C=0.3).fit(X, y)

    def least(c, support):
        covariates = np.asarray(c.covariates, int).tolist()
        return optimum(X, y, loss, c.C, support, covariates, c.parameters)[0]

    accepted, draws = [], 30 if loss == "ordinal" else 80
    for true in (model.certificate_, prove(model, X, y, gap=0.0).certificate):
        accepted += forgeries.accepted(rng, true, X, y, draws, least)
    assert accepted


def test_rows_at_the_ends_of_their_intervals_leave_room_for_covariates():
    """Outliers of Huber's loss, whose dual values are at their caps, cannot be verified."""
    X, z, rng = drawn(4, n=60)
    y = z + rng.standard_normal(60)
    y[:25] += 100.0 * np.sign(rng.standard_normal(25))
    model = BudgetRegressor(2, loss=Huber(0.3), C=0.1, covariates=COVARIATES).fit(X, y)
    assert (np.abs(model.certificate_.dual) >= 0.1 * 0.3 * (1 - 1e-12)).sum() > 20
    verify(model.certificate_, X, y)
    quantile = BudgetRegressor(2, loss="quantile", C=1.0, covariates=COVARIATES).fit(X, y)
    verify(quantile.certificate_, X, y)


@pytest.mark.parametrize("loss", ["logistic", "least_squares", "cox", "multinomial",
                                  *slow("ordinal", "cox_late")])  # fmt: skip
def test_integer_weights_equal_repeated_rows(loss):
    """Weights reach covariates otherwise than repeated rows do."""
    X, z, rng = drawn(6, n=50)
    y = target(loss, z, rng)
    weight = rng.integers(1, 4, 50)
    again = np.repeat(np.arange(50), weight)
    options = {"covariates": COVARIATES, "refit_C": 1.0}
    one = estimator(loss, 2, **options).fit(X, y, sample_weight=weight)
    other = estimator(loss, 2, **options).fit(X[again], y[again])
    assert np.array_equal(one.support_, other.support_)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-5, atol=1e-7)
    assert one.certificate_.bound == pytest.approx(other.certificate_.bound, rel=1e-9)
    verify(one.certificate_, X, y, sample_weight=weight)


@pytest.mark.parametrize("stored", [np.asfortranarray, np.ascontiguousarray, sp.csc_array,
                                    sp.csr_array, np.float32])  # fmt: skip
def test_any_storage(stored):
    """Covariates are read otherwise in another storage."""
    X, z, rng = drawn(7, n=60)
    X = np.where(np.abs(X) < 0.3, 0.0, X).astype(np.float32).astype(float)
    y = target("logistic", z, rng)
    options = {"covariates": COVARIATES, "standardize": False}
    one = estimator("logistic", 2, **options).fit(X, y)
    other = estimator("logistic", 2, **options).fit(stored(X), y)
    assert np.array_equal(one.support_, other.support_)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-5, atol=1e-9)
    verify(other.certificate_, X, y)
    np.testing.assert_allclose(other.decision_function(stored(X)), one.decision_function(X), 1e-4)


def test_names_of_a_data_frame_and_a_warm_start():
    """Names are looked up otherwise than those of forced features, or a warm start differs."""
    pd = pytest.importorskip("pandas")
    X, z, rng = drawn(8, n=60)
    y = target("logistic", z, rng)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    model = estimator("logistic", 2, covariates=["x6", "x3"], warm_start=True).fit(frame, y)
    first = model.coef_
    assert np.array_equal(model.covariates_, COVARIATES)
    assert np.array_equal(model.get_feature_names_out(), [f"x{j}" for j in model.support_])
    np.testing.assert_allclose(model.fit(frame, y).coef_, first, rtol=1e-9)
    model.set_params(covariates=None).fit(frame, y)
    assert not hasattr(model, "covariates_")
    assert np.count_nonzero(model.coef_) == 2


def test_forced_features_and_groups_beside_covariates():
    """Forced features or groups are lost beside covariates."""
    X, z, rng = drawn(9, n=60)
    y = target("logistic", z, rng)
    model = estimator("logistic", 2, covariates=COVARIATES, forced_features=[7]).fit(X, y)
    assert 7 in model.support_
    verify(model.certificate_, X, y)
    groups = [0, 0, 1, 1, 2, 2, 2, 3]
    model = BudgetClassifier(
        n_groups=2, feature_groups=groups, covariates=COVARIATES, calibrate=False
    ).fit(X, y)
    assert model.groups_.size == 2
    assert not set(model.support_) & set(COVARIATES)
    verify(model.certificate_, X, y)
    tighter = certify(model, X, y)
    assert isinstance(tighter.groups, Groups)
    verify(tighter, X, y)


def test_dependent_covariates_have_one_model():
    """A covariate that depends on others makes a model fail, or changes its predictions."""
    X, z, rng = drawn(10, n=60)
    y = target("logistic", z, rng)
    one = estimator("logistic", 2, covariates=COVARIATES).fit(X, y)
    more = np.column_stack([X, 1.0 - X[:, 6], 2.0 * X[:, 3] + X[:, 6]])
    other = estimator("logistic", 2, covariates=[*COVARIATES, 8, 9]).fit(more, y)
    np.testing.assert_allclose(other.decision_function(more), one.decision_function(X), rtol=1e-7)
    assert np.array_equal(other.covariates_, [3, 6, 8, 9])
    assert np.array_equal(other.certificate_.covariates, COVARIATES)
    assert not other.coef_[0, 8:].any()
    verify(other.certificate_, more, y)
    assert other.path_[2].criteria == pytest.approx(one.path_[2].criteria, rel=1e-3)


def test_dependent_covariates_are_not_ruled_out():
    """A certificate has fewer candidates than its dual point leaves, as a feature has no use."""
    X, z, rng = drawn(11)
    X = np.column_stack([X, 1.0 - X[:, 6]])
    y = target("least_squares", z, rng)
    model = estimator("least_squares", 6, covariates=[*COVARIATES, 8], signs={0: -1})
    with pytest.warns(UserWarning, match="with these signs"):
        model.fit(X, y)
    assert model.certificate_.candidates == 7
    for one in (model.certificate_, certify(model, X, y), prove(model, X, y, gap=0).certificate):
        verify(one, X, y)


def test_what_cannot_be_is_refused():
    """Bad covariates end in NaN, in a crash, or in a model that nobody asked for."""
    X, z, rng = drawn(11)
    y = target("logistic", z, rng)
    X = np.column_stack([X, np.ones(len(X)), y])

    def refused(match, X=X, y=y, **options):
        with pytest.raises(ValueError, match=match):
            estimator("logistic", 2, **options).fit(X, y)

    refused("covariates must be between 0 and 9", covariates=[10])
    refused("covariates must be distinct; got 3 twice", covariates=[3, 3])
    refused("covariates must be a list of indices or of feature names", covariates="age")
    refused("covariates must be a list of indices or of feature names", covariates=[3.5])
    refused("covariates has the name 'age', but X has no feature names", covariates=["age"])
    refused("covariates must not be constant columns of X; got column 8", covariates=[3, 8])
    refused("must not be forced_features as well; got column 3", covariates=[3, 6],
            forced_features=[3])  # fmt: skip
    refused("covariates must not determine the target of some rows", covariates=[9])
    refused("n_features=1 is the only choice", X=X[:, :8], covariates=list(range(7)))
    wide = rng.standard_normal((36, 50))
    refused("covariates must be fewer than the rows", X=wide, covariates=list(range(40)))
    strata = np.array(
        [(True, j + 1.0, int(one)) for j, one in enumerate(X[:, 6])],
        dtype=[("event", bool), ("time", float), ("stratum", int)],
    )
    with pytest.raises(ValueError, match="covariates must vary within the strata"):
        BudgetSurvivalAnalysis(2, covariates=[6]).fit(X[:, :8], strata)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "poisson", "cox", "cox_efron",
                                  "ordinal", "cox_late"])  # fmt: skip
def test_a_single_covariate_that_determines_targets_is_refused(loss):
    """A category without events, the only covariate, has a coefficient of -30, for infinity."""
    X, z, rng = drawn(13, n=60)
    y = target(loss, z, rng)
    inside = X[:, 6] == 1.0
    if loss.startswith("cox"):
        y["event"] &= ~inside
    else:
        y[inside] = 0
    always = loss.startswith("cox") or loss == "ordinal"
    for options in ({},) if always else ({}, {"fit_intercept": False}):
        where = f"of the {int(inside.sum())} rows with 1 in column 6 none has"
        match = f"covariates must not determine the target.*{where}"
        with pytest.raises(UnfittableError, match=match) as told:
            estimator(loss, 2, covariates=[6], **options).fit(X, y)
        assert told.value.at_fault == AtFault((6,), 1.0)


def test_the_level_that_has_no_column_is_at_fault_where_all_others_are_zero():
    """The command could not say which rows to leave out, or would name those of another level."""
    X, z, _ = drawn(13, n=60)
    code = np.arange(60) % 3
    levels = np.column_stack([code == 1, code == 2]).astype(float)
    X, y = np.column_stack([X[:, :4], levels]), (z > 0).astype(int)
    y[code == 0] = 0
    with pytest.raises(UnfittableError, match="0 in column 4 and column 5 none has '1'") as told:
        BudgetClassifier(2, covariates=[4, 5]).fit(X, y)
    assert told.value.at_fault == AtFault((4, 5), 0.0)
    X[:, 4] = 3.0
    with pytest.raises(UnfittableError, match="constant columns of X; got column 4") as told:
        BudgetClassifier(2, covariates=[4, 5]).fit(X, y)
    assert told.value.at_fault == AtFault((4,), 1.0)


def gaps(seed, n=60):
    """Data with late entries, of which two thirds of the rows enter when all others have left."""
    X, z, rng = drawn(seed, n=n)
    y = target("cox_late", z, rng)
    later = 1000.0 * rng.integers(0, 3, n)
    kind = [("start", float), ("stop", float), ("event", bool), ("stratum", int)]
    rows = zip(y.start + later, y.stop + later, y.event, rng.integers(0, 2, n), strict=True)
    return X, np.array(list(rows), dtype=kind), later


@pytest.mark.parametrize("seed", range(3))
def test_parts_of_the_rows_without_a_common_event(seed):
    """Parts are torn apart or taken together, and dual points have sums that they must not have."""
    _, y, _ = gaps(seed)
    rows = survival_target(y)
    apart = [
        (rows[:, [3]] < t) & (rows[:, [0]] >= t) & (rows[:, [2]] == stratum)
        for stratum in (0, 1)
        for t in np.unique(rows[(rows[:, 1] > 0) & (rows[:, 2] == stratum), 0])
    ]
    at_risk = np.hstack(apart).astype(float)
    _, code = sp.csgraph.connected_components(at_risk @ at_risk.T)
    expected = {frozenset(np.flatnonzero(code == one).tolist()) for one in np.unique(code)}
    assert {frozenset(part.tolist()) for part in parts_of(rows)} == expected
    none = {row for row in range(len(rows)) if not at_risk[row].any()}
    known = {frozenset(part.tolist()) for part in loss_of("cox", {}).parts(rows)}
    assert known == {one for one in expected if not one & none}
    assert len(known) > 3


@pytest.mark.parametrize("seed", [0, *slow(1, 2)])
@pytest.mark.slow
def test_what_is_constant_where_rows_are_compared_is_no_covariate(seed):
    """The period of rows that are never compared has a coefficient, or ends in an error."""
    X, y, later = gaps(seed)
    X[:, 7] = later + 50.0 * y["stratum"]
    model = BudgetSurvivalAnalysis(2, covariates=[3, 6, 7]).fit(X, y)
    assert model.coef_[7] == 0.0 != model.coef_[3]
    certificate = prove(model, X, y, gap=0.0).certificate
    assert np.array_equal(certificate.covariates, [3, 6])
    assert certificate.proven
    verify(certificate, X, y)
    raised = replace(certificate, tree=None, bound=certificate.objective * (1 + 1e-7))
    rng = np.random.default_rng(seed)
    for scale in (0.0, 1e-10, 1e-7, 1e-3):
        moved = certificate.dual * (1.0 + scale * rng.standard_normal(60))
        with pytest.raises(CertificateError):
            verify(replace(raised, dual=moved, fixed_in=0, candidates=8), X, y)


@pytest.mark.parametrize("loss", [*slow("ordinal"), "cox_late"])
def test_covariates_that_depend_on_others_have_no_coefficients(loss):
    """A combination of covariates ends in a singular system beside thresholds or late entries."""
    X, z, rng = drawn(44, n=60)
    y = target(loss, z, rng)
    X[:, 7] = X[:, 6] - 0.1 * X[:, 3]
    one = estimator(loss, 2, C=0.1, covariates=[3, 6, 7]).fit(X, y)
    other = estimator(loss, 2, C=0.1, covariates=[3, 6]).fit(X[:, :7], y)
    assert np.ravel(one.coef_)[7] == 0.0
    assert np.array_equal(np.ravel(one.coef_)[:7], np.ravel(other.coef_))
    verify(one.certificate_, X, y)


def test_no_intercept_and_strata():
    """Covariates are centred where there is no intercept, or over strata."""
    X, z, rng = drawn(12, n=60)
    y = target("logistic", z, rng)
    options = {"covariates": COVARIATES, "fit_intercept": False, "standardize": False}
    model = estimator("logistic", 2, **options).fit(X, y)
    assert model.intercept_ == 0.0
    verify(model.certificate_, X, y)
    times = target("cox", z, rng)
    kind = [("event", bool), ("time", float), ("stratum", int)]
    stratified = np.array([(*row, j % 2) for j, row in enumerate(times.tolist())], dtype=kind)
    model = estimator("cox", 2, covariates=COVARIATES).fit(X, stratified)
    verify(model.certificate_, X, stratified)


def test_criteria_count_covariates():
    """Criteria count the features alone, or covariates only once for several outputs."""
    X, z, rng = drawn(13, n=80)
    y = target("logistic", z, rng)
    model = estimator("logistic", [1, 2], covariates=COVARIATES).fit(X, y)
    for k in (1, 2):
        one = model.path_[k]
        assert one.criteria["aic"] == pytest.approx(2 * one.log_loss + 2 * (k + 2))
    y = target("multinomial", z, rng)
    one = estimator("multinomial", 2, covariates=COVARIATES).fit(X, y).path_[2]
    assert one.criteria["aic"] == pytest.approx(2 * one.log_loss + 2 * 3 * (2 + 2))


@pytest.mark.parametrize("loss", ["logistic", *slow("multinomial", "ordinal")])
def test_calibration_scales_the_whole_margin(loss):
    """The calibration scales the features alone, or folds leave covariates out."""
    X, z, rng = drawn(14, n=90)
    y = target(loss, z, rng)
    plain = estimator(loss, 2, covariates=COVARIATES).fit(X, y)
    scaled = estimator(loss, 2, covariates=COVARIATES).set_params(calibrate=True).fit(X, y)
    a = scaled.path_[2].scale
    assert 0.02 <= a < 1.2
    assert a != 1.0
    own = [0, -1] if loss == "ordinal" else slice(None)  # of the middle class it is no log-odds
    np.testing.assert_allclose(
        scaled.decision_function(X)[..., own], a * plain.decision_function(X)[..., own], rtol=1e-7
    )
    without = estimator(loss, 2).set_params(calibrate=True).fit(X, y).path_[2]
    assert scaled.path_[2].cv_log_loss < without.cv_log_loss


@pytest.mark.parametrize("loss", ["logistic", *slow("least_squares", "cox", "ordinal", "cox_late")])
def test_cross_validation_has_covariates_in_every_fold(loss):
    """Folds have no covariates: their models would be much worse."""
    X, z, rng = drawn(15, n=120)
    X[:, 3] += 40.0 * rng.standard_normal(120)
    y = target(loss, z + 0.1 * (X[:, 3] - 50.0), rng)
    with_them = cross_validate(estimator(loss, 1, covariates=COVARIATES), X, y, cv=3)
    without = cross_validate(estimator(loss, 1).set_params(forced_features=[0]), X, y, cv=3)
    assert with_them.mean[0] > without.mean[0] + 0.05


def test_leaving_one_row_out_counts_the_covariates():
    """The choice of refit_C thinks that covariates are free: its loss is far from the true one."""
    X, z, rng = drawn(16, n=40)
    y = target("least_squares", z, rng)
    model = estimator("least_squares", 2, covariates=COVARIATES, refit_C=0.5).fit(X, y)
    features = [*model.support_, *COVARIATES]
    total = 0.0
    for row in range(40):
        rest = np.arange(40) != row
        A = np.column_stack([X[:, features], np.ones(40)])
        penalty = np.diag([1.0, 1.0, 0.0, 0.0, 0.0])
        w = np.linalg.solve(penalty + 0.5 * A[rest].T @ A[rest], 0.5 * A[rest].T @ y[rest])
        total += 0.5 * (y[row] - A[row] @ w) ** 2
    assert model.path_[2].loo_loss == pytest.approx(total / 40, rel=1e-6)


def test_an_earlier_proof_is_resumed_only_for_the_same_covariates():
    """A proof of other covariates is taken for one of these."""
    X, z, rng = drawn(17, n=60, m=14)
    y = target("logistic", z, rng)
    model = estimator("logistic", 3, covariates=COVARIATES, C=1.0).fit(X, y)
    proof = prove(model, X, y, gap=0.0, max_nodes=3)
    again = prove(model, X, y, gap=0.0, resume=proof)
    assert again.certificate.proven
    verify(again.certificate, X, y)
    other = estimator("logistic", 3, covariates=[3], C=1.0).fit(X, y)
    with pytest.raises(ValueError, match="resume is a proof of another problem"):
        prove(other, X, y, gap=0.0, resume=proof)


def test_duplicates_of_a_covariate_are_no_equivalents():
    """A feature is said to be equivalent to a covariate, which cannot be selected."""
    X, z, rng = drawn(18, n=60)
    y = target("logistic", z, rng)
    X = np.column_stack([X, X[:, 0]])
    model = estimator("logistic", 2, covariates=[0, 3]).fit(X, y)
    proof = certify(model, X, y)
    assert all(0 not in others for others in proof.equivalents.values())
    verify(proof, X, y)


@pytest.mark.parametrize("loss", ["logistic", "least_squares", "cox", "multinomial", "responses",
                                  *slow("ordinal", "cox_late")])  # fmt: skip
def test_files_of_models_and_certificates(loss, tmp_path):
    """Covariates are lost in a file."""
    X, z, rng = drawn(19, n=60)
    y = target(loss, z, rng)
    model = estimator(loss, 2, covariates=COVARIATES).fit(X, y)
    loaded = persistence.load(persistence.save(model, tmp_path / "model.npz"))
    assert np.array_equal(loaded.support_, model.support_)
    assert np.array_equal(loaded.covariates_, COVARIATES)
    scores = ("decision_function", "predict")[loss not in ("logistic", "multinomial", "ordinal")]
    np.testing.assert_allclose(getattr(loaded, scores)(X), getattr(model, scores)(X))
    path = persistence.save_certificate(model.certificate_, tmp_path / "certificate.npz", X, y)
    saved = persistence.load_certificate(path)
    (found,) = saved.verify(X, y)
    assert found["objective"] == pytest.approx(model.certificate_.objective)
    assert np.array_equal(saved.certificates[0].effects, model.certificate_.effects)


@pytest.mark.parametrize("base", [Logistic(), LeastSquares(), Huber(0.5, 0.5), Poisson(), Cox(),
                                  Cox("efron"), Multinomial(3)])  # fmt: skip
def test_the_derivatives_of_a_loss_at_the_best_coefficients(base):
    """Gradient or second derivative are not those of the loss at the best coefficients."""
    X, z, rng = drawn(30, n=40)
    q = base.outputs
    y = {
        "logistic": np.where(z > 0, 1.0, -1.0) * np.where(rng.random(40) < 0.3, -1.0, 1.0),
        "poisson": rng.poisson(np.exp(0.3 * z)).astype(float),
    }.get(base.name, z + rng.standard_normal(40))
    if base.name.startswith("cox"):
        y = np.column_stack([np.ceil(3 * rng.exponential(np.exp(-z))), rng.random(40) < 0.7,
                             np.arange(40) % 2]).astype(float)  # fmt: skip
    if q > 1:
        y = (np.arange(q)[:, None] == rng.integers(0, q, 40)).astype(float).ravel()
    weight = np.tile(rng.uniform(0.5, 2.0, 40), q)
    loss = adjusted(base, y, X[:, COVARIATES], weight[:40], True)
    at, direction = 0.3 * rng.standard_normal(40 * q), rng.standard_normal((40 * q, 2))
    value, gradient = loss.value_gradient(at, y, weight)
    assert np.abs(gradient.reshape(q, -1) @ X[:, COVARIATES]).max() < 1e-9
    h = 1e-5
    sides = [loss.value_gradient(at + h * s * direction[:, 0], y, weight) for s in (-1, 1)]
    slope = (sides[1][0] - sides[0][0]) / (2 * h)
    assert slope == pytest.approx(gradient @ direction[:, 0], rel=1e-6, abs=1e-6 * value)
    from zeronorm.data.gathered import DenseColumns

    Z = DenseColumns(np.asfortranarray(direction))
    if q > 1:
        Z.summed = lambda factor, n: (direction * factor[:, None]).reshape(n, -1, 2).sum(axis=0)
    bend = Z.gram(loss.curvature(at, y, weight)) - loss.coupling(Z, at, y, weight)
    along = direction.T @ (sides[1][1] - sides[0][1]) / (2 * h)
    np.testing.assert_allclose(bend[:, 0], along, rtol=1e-4, atol=1e-5)
    assert loss.conjugate(-gradient, y, weight) == pytest.approx(gradient @ at - value, rel=1e-6)
    assert loss.conjugate(1.0 - gradient, y, weight) == np.inf


def posed(loss, seed=40, n=40):
    """The data of a certificate as the verifier has them, and a dual point."""
    X, z, rng = drawn(seed, n=n)
    y = target(loss, z, rng)
    one = check_form(estimator(loss, 2, covariates=COVARIATES).fit(X, y).certificate_)
    return read_data(X, y, None, one), one.dual.ravel(), rng


@pytest.mark.parametrize("loss", SOME_LOSSES)
def test_points_are_made_feasible(loss):
    """A dual point that is nearly feasible stays as it is, leaves its interval, or moves far."""
    data, dual, rng = posed(loss)
    own = data.covariates
    moved = dual * (1.0 + 3e-10 * rng.standard_normal(dual.size))
    found = data.feasible(moved)
    left = found.reshape(own.outputs, -1) @ own.columns
    before = moved.reshape(own.outputs, -1) @ own.columns
    assert np.abs(left).max() < 1e-4 * np.abs(before).max()
    low, high = own.loss.limits(own.y, own.weight)
    assert ((low <= found) & (found <= high)).all()
    np.testing.assert_allclose(found, moved, rtol=1e-6, atol=1e-9 * np.abs(dual).max())
    far = dual * (1.0 + 1e-6 * rng.standard_normal(dual.size))
    with pytest.raises(CertificateError, match="sum 0 times its covariates"):
        own.feasible(np.clip(far, low, high))
    np.testing.assert_allclose(
        own.columns.T @ own.columns, np.eye(own.columns.shape[1]), atol=1e-12
    )


@pytest.mark.parametrize("loss", SOME_LOSSES)
@pytest.mark.parametrize("size", [1e-7, 1e-11])
def test_rounding_covers_the_point_that_is_feasible(loss, size):
    """What rounding hides of the conjugate is more than the verifier says."""
    data, dual, rng = posed(loss, seed=41)
    own = replace(data.covariates, error=np.full_like(data.covariates.error, size))
    base = own.feasible(dual)
    value = data.loss.conjugates(base, data.y, data.weight)[0].sum()
    X = data.X.take(np.arange(data.error.size))
    most, reach = own.rounding(base), own.moved(base, lambda v: X.T @ v, data.error)
    known = replace(data, covariates=own)
    bent, inverse = own._system(base)
    p = own.columns.shape[1] - own.n_strata
    ours = np.tile(np.arange(own.columns.shape[1]) < p, inverse.shape[0] // own.columns.shape[1])
    D, e = (bent @ inverse)[:, ours], own._errors(base)[ours]
    worst = 0.0
    for _ in range(200):
        point = base + D @ (e * rng.choice([-1.0, 1.0], e.size))
        worst = max(worst, data.loss.conjugates(point, data.y, data.weight)[0].sum() - value)
        away = X.T @ (point - base).reshape(own.outputs, -1).T
        assert (np.abs(away) <= reach).all()
        assert (np.abs(away) <= known.errors(base, slice(None))).all()
    assert 0.0 < worst <= most <= 20.0 * worst + 1e-13 * abs(value)


@pytest.mark.slow
def test_rows_by_the_thousand_with_several_covariates_are_verified():
    """Rounding is bounded by so much that nothing of a usual size can be verified."""
    rng = np.random.default_rng(46)
    X = rng.standard_normal((2000, 40))
    z = X[:, 0] - X[:, 2] + X[:, 3]
    for loss in ("logistic", "ordinal"):
        y = target(loss, z, rng)
        one = estimator(loss, 3, covariates=[3, 4, 5, 6, 7]).fit(X, y).certificate_
        assert verify(one, X, y)["rounding"] < 3e-10 * one.objective


def test_a_point_without_room_is_refused():
    """Where hardly a row can move a feasible point is claimed to be near all the same."""
    data, dual, _ = posed("logistic")
    own = data.covariates
    alone = np.zeros_like(dual)
    alone[[0, 1]] = dual[[0, 1]]
    with pytest.raises(CertificateError, match="no room"):
        own.feasible(alone)
    coarse = replace(own, error=np.full_like(own.error, 1.0))
    with pytest.raises(CertificateError, match="no room"):
        coarse.rounding(own.feasible(dual))


def test_dependent_covariates_of_a_certificate_are_refused():
    """The verifier divides by next to nothing where a covariate is there twice."""
    X, z, rng = drawn(42, n=40)
    y = target("logistic", z, rng)
    one = estimator("logistic", 2, covariates=COVARIATES).fit(X, y).certificate_
    X = np.column_stack([X, X[:, 3] + 1e-11 * X[:, 6]])
    forged = replace(one, covariates=np.array([3, 6, 8]), effects=np.append(one.effects, 0.0))
    with pytest.raises(CertificateError, match="depend on each other"):
        verify(forged, X, y)


def test_signs_are_of_the_selected_features_alone():
    """A sign of all features is one of covariates too, or is lost beside them."""
    X, z, rng = drawn(43, n=60)
    y = target("logistic", z, rng)
    model = estimator("logistic", 2, covariates=COVARIATES, signs=1).fit(X, y)
    assert (model.coef_[0, model.support_] > 0).all()
    assert model.coef_[0, 6] < 0 < model.coef_[0, 3]
    verify(model.certificate_, X, y)
    proof = prove(model, X, y, gap=0.0).certificate
    assert proof.proven
    verify(proof, X, y)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_covariates_as_columns_end_in_the_same_fit(C, late):
    """Fits that take them for columns would be of another problem, or their bounds wrong."""
    X, z, rng = drawn(5, n=60)
    times = np.ceil(8 * rng.exponential(np.exp(-z)))
    y = np.column_stack([times, rng.random(60) < 0.7, X[:, 0] > 0])
    if late:
        y = np.column_stack([y, np.floor(0.5 * times)])
    weight, free = rng.uniform(0.5, 2.0, 60), np.delete(X, COVARIATES, axis=1)
    loss = adjusted(Cox().fitted(y, weight), y, X[:, COVARIATES], weight, free=False)
    risk, Z = Risk(y, C * weight, loss, False), DenseColumns(np.asfortranarray(free))
    penalty = np.ones(Z.shape[1])
    found = ridge(Z, risk, tol=1e-12)
    slow = newton(Z, risk, penalty, (np.zeros(Z.shape[1]), 0.0), 1e-12, False, np.inf)
    np.testing.assert_allclose(found.coef, slow.coef, atol=1e-6 * np.abs(slow.coef).max())
    assert found.objective == pytest.approx(slow.objective, rel=1e-10)
    assert found.bound <= slow.objective * (1 + 1e-12)
    assert found.gap <= 1e-11


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-5, 1e-2])
def test_points_near_the_best_coefficients_bound_the_loss(size, late):
    """A value below the least one, or a dual point that proves too much, would certify what is not
    so; a point without a bound would cost the slow steps that it is there to save.
    """
    X, z, rng = drawn(7, n=60)
    times = np.ceil(8 * rng.exponential(np.exp(-z)))
    y = np.column_stack([times, rng.random(60) < 0.7, np.arange(60) % 3])
    if late:
        y = np.column_stack([y, np.floor(0.5 * times)])
    weight = rng.uniform(0.5, 2.0, 60)
    loss = adjusted(Cox().fitted(y, weight), y, X[:, COVARIATES], weight, free=False)
    at = 0.5 * z
    best = loss.solution(at, y, weight)
    least = loss.value_gradient(at, y, weight)[0]
    value, dual = loss.near(at, y, weight, best + size * rng.standard_normal(best.shape))
    assert value >= least * (1 - 1e-13)
    assert value <= least * (1 + 1e-13 + 100 * size**2)
    conjugate = loss.conjugate(dual, y, weight)
    assert np.isfinite(conjugate)
    for _ in range(20):
        other = at + 10.0 ** rng.uniform(-6, 1) * rng.standard_normal(60)
        bound = -dual @ other - conjugate
        assert bound <= loss.value_gradient(other, y, weight)[0] + 1e-12 * least
    assert least - (-dual @ at - conjugate) <= (1e-12 + 100 * size**2) * least


def test_covariates_far_from_zero_are_those_at_zero():
    """A year, or a time in seconds, varies by little of its size and is no constant."""
    X, z, rng = drawn(8, n=80)
    y = np.empty(80, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(80) < 0.7, rng.exponential(np.exp(-z))
    far = X.copy()
    far[:, COVARIATES] += 1e8
    models = [BudgetSurvivalAnalysis(2, C=0.1, covariates=COVARIATES).fit(x, y) for x in (X, far)]
    assert np.array_equal(models[0].support_, models[1].support_)
    np.testing.assert_allclose(models[1].coef_, models[0].coef_, rtol=1e-5)

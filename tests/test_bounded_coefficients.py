"""Certificates among models whose coefficients are at most so large."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from python_paths import without_solvers
from zeronorm import BudgetClassifier, BudgetRegressor, certify, prove, verify
from zeronorm.core.parallel import solver_threads
from zeronorm.core.results import Status
from zeronorm.data import column_sets
from zeronorm.data.gathered import DenseColumns, as_columns
from zeronorm.losses import Huber, LeastSquares, Logistic, Poisson, SquaredHinge
from zeronorm.persistence import load_certificate, save_certificate
from zeronorm.solvers import (
    branch_and_bound,
    relaxation,
)
from zeronorm.solvers.branch_and_bound import NOTHING, CandidateProblem, RelaxationOptions
from zeronorm.solvers.problem import Risk, Singles
from zeronorm.solvers.quadratic import ProximalQuadratic, proximal_point, support_norm, within
from zeronorm.solvers.relaxation import SharedCurvature, relax
from zeronorm.verification import CertificateError

LOSSES = [Logistic(), SquaredHinge(), LeastSquares(), Huber(1.0), Poisson()]


def drawn(loss, n=60, p=12, seed=0, signal=1.0):
    """Draw correlated columns and a target of a loss, of which three features count."""
    rng = np.random.default_rng([seed, n, p])
    X = rng.standard_normal((n, p)) + 0.7 * rng.standard_normal((n, 1))
    score = signal * (X[:, 0] - X[:, 1] + 0.5 * X[:, 2])
    if isinstance(loss, Poisson):
        return X, rng.poisson(np.exp(0.5 * score)).astype(float)
    if isinstance(loss, LeastSquares | Huber):
        return X, score + rng.standard_normal(n)
    return X, np.where(score + rng.logistic(size=n) > 0, 1.0, -1.0)


def bounded_optimum(X, y, support, C, most, labels):
    """Return the least objective of a support among coefficients of at most `most`."""
    Z = X[:, support]

    def objective(u):
        z = Z @ u
        loss = np.logaddexp(0.0, -y * z) if labels else 0.5 * (y - z) ** 2
        slope = -y / (1.0 + np.exp(y * z)) if labels else z - y
        return 0.5 * u @ u + C * loss.sum(), u + C * Z.T @ slope

    start, bounds = np.zeros(len(support)), [(-most, most)] * len(support)
    options = {"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-12}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(found.fun)


def no_model_is_below(model, X, y, most, every):
    """Fail where a bounded model, of all their objectives, is below a bound or a proven one.

    Return the certificates without and with a search.
    """
    certificates = (
        certify(model, X, y, max_abs_coef=most),
        prove(model, X, y, gap=0.0, max_abs_coef=most).certificate,
    )
    for certificate in certificates:
        assert certificate.max_abs_coef == most
        assert certificate.bound <= min(every) * (1 + 1e-9)
        verify(certificate, X, y)
    assert certificate.proven  # no bounded model is better, or the bound is that of the best model
    assert min(every) >= certificate.objective * (1 - 1e-9)
    return certificates


def estimator(labels, k, C):
    """Return one of the problem on the columns as they are, without an intercept."""
    kind = BudgetClassifier if labels else BudgetRegressor
    return kind(k, C=C, standardize=False, fit_intercept=False)


@pytest.mark.parametrize("q", [1, 2, 4])
@pytest.mark.parametrize("curvature", [0.3, 1.0, 20.0])
@pytest.mark.parametrize("most", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("n", [3, 6])
def test_the_proximal_point_is_the_least(q, curvature, most, n):
    """Steps would end elsewhere than at the solution."""
    rng = np.random.default_rng([q, int(10 * curvature), int(10 * most), n])
    v = 2.0 * rng.standard_normal(n)
    u = proximal_point(v, q, curvature, most)
    assert np.abs(u).max() <= most * (1 + 1e-12)
    assert np.abs(u).sum() <= q * most * (1 + 1e-9)
    # Minus the gradient of the distance has to be a slope of the penalty: the best vector with at
    # most q entries of this size, which the penalty is the hull of, has no more along it.
    slope = curvature * (v - u)
    entry = np.clip(np.abs(slope), 0.0, most)
    worth = entry * np.abs(slope) - 0.5 * entry**2
    most_of_all = max(sum(worth[list(s)]) for s in combinations(range(n), min(q, n)))
    assert support_norm(u, q)[0] + most_of_all == pytest.approx(float(slope @ u), rel=1e-9)


def test_curvature_that_overflows_ends_the_steps():
    """Columns beyond the range of numbers would keep a search from ever coming back."""
    units = Singles(np.ones(3, bool))
    for wrong in (np.nan, np.inf):
        model = ProximalQuadratic(np.full((3, 3), wrong), np.ones(3), units, 0, 1)
        with np.errstate(invalid="ignore", over="ignore"):
            assert np.array_equal(model.minimise(np.zeros(3), 1e-6), np.zeros(3))


def test_a_start_is_brought_within_the_bounds():
    """A solution of the parent is no point of its children, whose penalty would be infinite."""
    units = Singles(np.ones(6, bool), np.array([0, 0, 0, 1, -1, 0], np.int8), 1.0)
    u = within(np.array([3.0, 0.5, -2.0, -1.0, 0.4, 0.9]), 1, 1, units)
    assert u[0] == 1.0
    assert u[3] == u[4] == 0.0
    assert np.abs(u[1:]).sum() == pytest.approx(1.0)
    assert np.abs(u).max() <= 1.0


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("most", [0.1, 0.6, 100.0])
@pytest.mark.parametrize(("n_fixed", "n_free"), [(0, 3), (2, 1), (2, 4)])
@pytest.mark.parametrize("signed", [False, True])
def test_the_relaxation_is_solved(loss, most, n_fixed, n_free, signed):
    """The bound would be that of a point on the way."""
    X, y = drawn(loss)
    signs = np.resize(np.array([1, 0, -1, 0], np.int8), X.shape[1]) * signed
    units = Singles(np.ones(X.shape[1], bool), signs, most)
    weight = np.full(y.size, 2.0)
    risk = Risk(y, weight, loss.fitted(y, weight))
    found = relax(DenseColumns(np.asfortranarray(X)), units, risk, n_fixed, n_free, tol=1e-7)
    assert found.bound <= found.objective * (1 + 1e-12)
    assert found.objective - found.bound <= 1e-6 * found.objective
    assert np.abs(found.coef).max() <= most * (1 + 1e-9)
    free = Singles(np.ones(X.shape[1], bool), signs)
    without = relax(DenseColumns(np.asfortranarray(X)), free, risk, n_fixed, n_free, tol=1e-7)
    assert found.bound >= without.bound * (1 - 1e-6)
    if most == 100.0:  # no coefficient is as large
        assert found.bound == pytest.approx(without.bound, rel=1e-6)


@pytest.mark.parametrize(("most", "is_loose"), [(3.0, True), (0.2, False)])
def test_relaxations_keep_to_bounds_that_change_something(most, is_loose):
    """Nodes would take ten times as long for bounds that hold by themselves."""
    X, y = drawn(LeastSquares(), n=80, p=30)
    risk = Risk(y, np.ones(80), LeastSquares(), False)
    problem = CandidateProblem(
        DenseColumns(np.asfortranarray(X)), Singles(np.ones(30, bool), most=most), np.arange(30),
        risk, 4, 0,
    )  # fmt: skip
    options = RelaxationOptions(NOTHING, 1e-6)
    tight = problem.relax(np.arange(30), 0, 4, options)
    best = min(problem.objective(np.array(one)) for one in combinations(range(6), 4))
    found = problem.relaxed_loosely(tight.bound, best)
    assert found.loose == is_loose
    again = found.relax(np.arange(30), 0, 4, options)
    value = found.bound(again.dual, np.arange(30), 0, 4, best).value
    assert value <= tight.objective * (1 + 1e-6)
    assert is_loose or np.abs(again.coef).max() <= most * (1 + 1e-9)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("most", [0.15, 0.5, 2.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_bounded_model_is_below_the_bound(labels, most, seed):
    """A model would be called the best that is not; a feature ruled out that the best one has."""
    C, k = 3.0, 3
    X, y = drawn(Logistic() if labels else LeastSquares(), n=40, p=9, seed=seed)
    model = estimator(labels, k, C).fit(X, y)
    every = [bounded_optimum(X, y, list(s), C, most, labels) for s in combinations(range(9), k)]
    no_model_is_below(model, X, y, most, every)


@pytest.mark.parametrize("labels", [False, True])
def test_bounds_prove_where_the_ridge_is_weak(labels):
    """Who knows how large an effect can be would have no use of it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 80))
    score = 2.0 * X[:, :3].sum(axis=1)
    y = score + rng.logistic(size=80) > 0 if labels else score + rng.standard_normal(80)
    model = estimator(labels, 3, 10.0).fit(X, y)
    most = 1.1 * float(np.abs(certify(model, X, y).coef).max())
    without, within_bounds = certify(model, X, y), certify(model, X, y, max_abs_coef=most)
    assert within_bounds.gap < 0.8 * without.gap
    proof = prove(model, X, y, gap=0.0, max_abs_coef=most)
    assert proof.status is Status.OPTIMAL
    assert verify(proof.certificate, X, y)["gap"] <= 1e-9


def test_a_bound_of_bounded_models_is_none_of_all():
    """A certificate could be passed off as one of models with any coefficients."""
    X, y = drawn(LeastSquares(), n=80, p=80, signal=2.0)  # where the bound changes much
    model = estimator(False, 3, 10.0).fit(X, y)
    certificate = prove(model, X, y, gap=0.0, max_abs_coef=2.5).certificate
    verify(certificate, X, y)
    verify(dataclasses.replace(certificate, max_abs_coef=2.0), X, y)  # of fewer models
    for wrong in (None, 50.0):
        with pytest.raises(CertificateError, match="shows only"):
            verify(dataclasses.replace(certificate, max_abs_coef=wrong), X, y)
    with pytest.raises(CertificateError, match="shows only"):
        verify(dataclasses.replace(certificate, max_abs_coef=1e200), X, y)  # its square overflows
    for wrong in (0.0, -1.0, np.nan, "2"):
        with pytest.raises(CertificateError, match="max_abs_coef of the certificate must be"):
            verify(dataclasses.replace(certificate, max_abs_coef=wrong), X, y)


def test_a_file_keeps_the_bound_on_coefficients(tmp_path):
    """Who reads the file would take the proof for one of all models."""
    X, y = drawn(LeastSquares(), n=80, p=40, signal=2.0)
    model = estimator(False, 3, 10.0).fit(X, y)
    certificate = prove(model, X, y, gap=0.0, max_abs_coef=2.5).certificate
    saved = load_certificate(save_certificate(certificate, tmp_path / "one.npz", X, y))
    assert saved.certificates[0].max_abs_coef == 2.5
    saved.verify(X, y)
    assert "max_abs_coef=2.5" in repr(saved.certificates[0])
    without = save_certificate(certify(model, X, y), tmp_path / "other.npz", X, y)
    assert load_certificate(without).certificates[0].max_abs_coef is None


def test_a_search_goes_on_with_the_same_bounds_only():
    """Nodes that one bound has ended would count for another."""
    X, y = drawn(LeastSquares(), n=80, p=40, signal=2.0)
    model = estimator(False, 3, 10.0).fit(X, y)
    begun = prove(model, X, y, gap=0.0, max_abs_coef=2.5, max_nodes=1)
    whole = prove(model, X, y, gap=0.0, max_abs_coef=2.5, resume=begun)
    assert whole.status is Status.OPTIMAL
    none = dataclasses.replace(begun.certificate, max_abs_coef=0.0)
    with pytest.raises(ValueError, match="another problem"):
        prove(model, X, y, gap=0.0, resume=dataclasses.replace(begun, certificate=none))
    for other in (None, 2.6):
        with pytest.raises(ValueError, match="another problem"):
            prove(model, X, y, gap=0.0, max_abs_coef=other, resume=begun)


@pytest.mark.parametrize("wrong", [0, -1.0, np.nan, np.inf])
def test_bounds_must_be_positive(wrong):
    """What is said of no model at all would hold for any model."""
    X, y = drawn(LeastSquares())
    model = estimator(False, 3, 1.0).fit(X, y)
    with pytest.raises(ValueError, match="max_abs_coef must be a positive finite number"):
        certify(model, X, y, max_abs_coef=wrong)


GROUPS = np.array([0, 1, 2, 0, 1, 2, 3, 3, 4, 4])


def several_outputs(seed, classes):
    """Return columns, classes or two responses, and a model of two features of them."""
    rng = np.random.default_rng([seed, 7])
    X = rng.standard_normal((60, 6)) + 0.5 * rng.standard_normal((60, 1))
    score = X[:, [0, 1, 1]] * [1.5, -1.5, 1.0] + X[:, [2, 2, 3]] * [0.5, 0.0, 1.0]
    options = {"C": 3.0, "standardize": False, "fit_intercept": False}
    if classes:
        y = np.argmax(score + rng.gumbel(size=(60, 3)), axis=1)
        return X, y, BudgetClassifier(2, multi_class="multinomial", **options).fit(X, y)
    y = score[:, :2] + rng.standard_normal((60, 2))
    return X, y, BudgetRegressor(2, **options).fit(X, y)


def bounded_outputs(X, y, support, most):
    """Return the least objective of a support with C = 3 among coefficients of at most `most`."""
    if y.ndim == 2:
        return sum(bounded_optimum(X, own, support, 3.0, most, False) for own in y.T)
    Z, own = X[:, support], np.eye(3)[y]

    def objective(u):
        u = u.reshape(-1, 3)
        z = Z @ u
        total = np.logaddexp.reduce(z, axis=1, keepdims=True)
        slope = Z.T @ (np.exp(z - total) - own)
        loss = float(total.sum() - (z * own).sum())
        return 0.5 * float((u**2).sum()) + 3.0 * loss, (u + 3.0 * slope).ravel()

    size = 3 * len(support)
    options = {"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-12}
    bounds = [(-most, most)] * size
    found = minimize(
        objective, np.zeros(size), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    return float(found.fun)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("most", [0.2, 0.6, 5.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_bounded_model_of_groups_is_below_the_bound(labels, most, seed):
    """Groups would be bounded by what their lengths are worth, or not at all."""
    X, y = drawn(Logistic() if labels else LeastSquares(), n=40, p=10, seed=seed)
    kind = BudgetClassifier if labels else BudgetRegressor
    model = kind(n_groups=2, feature_groups=GROUPS, C=3.0, standardize=False, fit_intercept=False)
    model.fit(X, y)
    every = [
        bounded_optimum(X, y, np.flatnonzero(np.isin(GROUPS, pair)), 3.0, most, labels)
        for pair in combinations(range(5), 2)
    ]
    free = certify(model, X, y)
    for certificate in no_model_is_below(model, X, y, most, every):
        assert certificate.bound >= free.bound * (1 - 1e-9)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("most", [0.2, 0.8, 5.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_bounded_model_of_several_outputs_is_below_the_bound(classes, most, seed):
    """The bound of one coefficient would be that of all outputs of a feature."""
    X, y, model = several_outputs(seed, classes)
    every = [bounded_outputs(X, y, list(s), most) for s in combinations(range(6), 2)]
    free = certify(model, X, y)
    for certificate in no_model_is_below(model, X, y, most, every):
        assert certificate.bound >= free.bound * (1 - 1e-4)  # to which relaxations are solved


@pytest.mark.parametrize("kind", ["groups", "responses", "classes"])
def test_bounds_of_groups_and_outputs_are_of_bounded_models_alone(kind):
    """A certificate of bounded models could be passed off as one of all."""
    if kind == "groups":
        X, y = drawn(LeastSquares(), n=80, p=80, signal=2.0)
        model = BudgetRegressor(
            n_groups=2, feature_groups=np.arange(80) // 2, C=10.0, standardize=False,
            fit_intercept=False
        ).fit(X, y)  # fmt: skip
    else:
        X, y, model = several_outputs(0, kind == "classes")
    most = 0.4 * float(np.abs(certify(model, X, y).coef).max())
    without, certificate = certify(model, X, y), certify(model, X, y, max_abs_coef=most)
    assert certificate.bound > without.bound + 1e-3 * without.objective
    verify(certificate, X, y)
    verify(dataclasses.replace(certificate, max_abs_coef=0.9 * most), X, y)  # of fewer models
    for wrong in (None, 2.0 * most):
        with pytest.raises(CertificateError, match="shows only"):
            verify(dataclasses.replace(certificate, max_abs_coef=wrong), X, y)


@pytest.mark.parametrize("labels", [False, True])
def test_bounds_that_no_model_reaches_change_nothing(labels):
    """A search would take many times as long, or other ways, where bounds are of no account."""
    X, y = drawn(Logistic() if labels else LeastSquares(), n=60, p=25)
    model = estimator(labels, 4, 3.0).fit(X, y)
    free = prove(model, X, y, gap=0.0, max_nodes=20)  # no curvature is extracted before
    bounded = prove(model, X, y, gap=0.0, max_nodes=20, max_abs_coef=1e6)
    assert free.history[-1].n_nodes > 3  # the control
    assert bounded.history[-1].n_nodes == free.history[-1].n_nodes
    assert bounded.certificate.bound == pytest.approx(free.certificate.bound, rel=1e-9)


@pytest.mark.parametrize("loss", [LeastSquares(), Logistic()], ids=lambda loss: loss.name)
def test_rounded_curvature_leads_to_the_solution(monkeypatch, loss):
    """Steps by a model in float32 would end beside it, and interior points take a minute."""
    monkeypatch.setattr("zeronorm.data.gathered.FLOAT32_GRAM", 0.0)
    monkeypatch.setattr(
        relaxation.RelaxationProblem, "interior", lambda *_: pytest.fail("interior")
    )
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((300, 300)))
    score = X[:, :5].sum(axis=1)
    y = score + rng.standard_normal(300)
    if loss.of_labels:
        y = np.where(y > 0, 1.0, -1.0)
    units, risk = Singles(np.ones(300, bool)), Risk(y, np.ones(300), loss)
    found = relax(DenseColumns(X), units, risk, 0, 5, tol=1e-5)
    assert found.objective - found.bound <= 1e-5 * found.objective
    assert np.count_nonzero(found.coef) > 50  # the control: many features


def test_shared_curvature_is_the_one_of_least_squares(monkeypatch):
    """Nodes would be solved for another problem, and their bounds be loose."""
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((50, 30)))
    y, weight = rng.standard_normal(50), rng.uniform(0.5, 2.0, 50)
    for intercept in (False, True):
        risk = Risk.centred(y, weight, LeastSquares(), intercept)
        shared = SharedCurvature(DenseColumns(X), risk)
        centred = X - (weight @ X / weight.sum() if intercept else 0.0)
        whole = centred.T @ (weight[:, None] * centred)
        monkeypatch.setattr("zeronorm.solvers.relaxation.MOST_BYTES", 8 * 12**2)
        for columns in (np.array([3, 1, 8]), np.array([8, 2, 29, 1]), np.arange(5, 17)):
            found = shared.over(columns)
            np.testing.assert_allclose(found, whole[np.ix_(columns, columns)], atol=1e-9)


def in_float32(monkeypatch):
    """Keep dense columns in float32 however few the rows."""
    tuning = replace(relaxation.SHARED_CURVATURE, many_rows=0)
    monkeypatch.setattr(relaxation, "SHARED_CURVATURE", tuning)


@pytest.mark.parametrize("intercept", [False, True])
def test_shared_curvature_of_many_rows_is_rounded_only(monkeypatch, intercept):
    """Units of columns, or their offsets, would leave float32, and steps would lead nowhere."""
    in_float32(monkeypatch)
    monkeypatch.setattr(
        relaxation,
        "SHARED_CURVATURE",
        replace(relaxation.SHARED_CURVATURE, block=4),
    )
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((50, 30)) + 1e3) * np.logspace(-60, 60, 30)
    X[:, 5] = 0.0
    X[:, 6] = 7.0
    X[:, 7] *= 1e-200  # whose square is 0
    y, weight = rng.standard_normal(50), rng.uniform(0.5, 2.0, 50)
    risk = Risk.centred(y, weight, LeastSquares(), intercept)
    centred = X - (weight @ X / weight.sum() if intercept else 0.0)
    whole = centred.T @ (weight[:, None] * centred)
    size = np.sqrt(np.diag(whole))
    size[5:8] = 1.0, 7.0, 1.0
    found = {}
    for threads in (1, 3):
        with solver_threads(threads):
            shared = SharedCurvature(DenseColumns(np.asfortranarray(X)), risk)
            shared.over(np.array([3, 1, 8, 5, 29, 17]))
            found[threads] = shared.over(np.arange(30))
    assert np.array_equal(found[1], found[3])
    rounding = 1e-6 if intercept else 1e-9  # means, most of these columns, are in float64
    np.testing.assert_allclose(
        found[1] / size / size[:, None], whole / size / size[:, None], atol=rounding
    )


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge(), Huber(1.0), Poisson()], ids=str)
@pytest.mark.parametrize("far", [False, True])
def test_relaxations_with_the_curvature_of_another_point_are_solved(monkeypatch, loss, far):
    """Steps with curvature that is none of the point's would end before the solution."""
    in_float32(monkeypatch)
    X, y = drawn(loss, n=200, p=60, seed=3)
    without_solvers(monkeypatch)
    Z, units = DenseColumns(np.asfortranarray(X)), Singles(np.ones(60, bool), most=1.0)
    risk = Risk.centred(y, np.ones(200), loss, False)
    whole = relax(Z, units, risk, 1, 3, tol=1e-8)
    margins = X @ whole.coef
    shared = SharedCurvature(Z, risk, 3.0 * np.roll(margins, 50) if far else margins)
    found = relax(Z, units, risk, 1, 3, tol=1e-8, shared=shared)
    assert found.objective - found.bound <= 1e-8 * found.objective
    assert found.objective == pytest.approx(whole.objective, rel=3e-8)


def test_shared_curvature_has_the_sum_of_the_weights_of_the_point():
    """Steps far from where it was formed would be as much too long as margins have grown."""
    X, y = drawn(Logistic(), n=50, p=6)
    risk = Risk(y, np.ones(50), Logistic(), False)
    shared = SharedCurvature(DenseColumns(np.asfortranarray(X)), risk)
    margins = X[:, 0].copy()
    ratio = risk.curvature(margins).sum() / risk.curvature(np.zeros(50)).sum()
    found = shared.over(np.arange(6), margins)
    np.testing.assert_allclose(found, ratio * 0.25 * X.T @ X, rtol=1e-9, atol=1e-9)
    assert ratio < 0.9  # the control


def test_curvature_is_shared_where_it_costs_less(monkeypatch):
    """Proofs for 16,000 rows and columns would take twice as long, those of few rows, too."""
    X, y = drawn(Logistic(), n=80, p=30)
    names = np.arange(30)

    def problem(loss, units, Z):
        risk = Risk(y, np.ones(80), loss)
        return CandidateProblem(Z, units, names, risk, 3, 0).with_shared_curvature().shared

    dense, free = DenseColumns(np.asfortranarray(X)), Singles(np.ones(30, bool))
    bounded = Singles(np.ones(30, bool), most=1.0)
    assert problem(LeastSquares(), free, dense) is not None
    assert problem(Logistic(), bounded, dense) is None
    tuning = replace(relaxation.SHARED_CURVATURE, many_rows=80)
    monkeypatch.setattr(branch_and_bound, "SHARED_CURVATURE", tuning)
    assert problem(Logistic(), bounded, dense) is not None
    assert problem(Logistic(), free, dense) is None
    assert problem(Logistic(), bounded, as_columns(sp.csc_array(X))) is None


@pytest.mark.parametrize("labels", [False, True])
def test_proofs_of_shared_curvature_are_those_of_enumeration(monkeypatch, labels):
    """Nodes solved with the curvature of the first one could end models that are better."""
    in_float32(monkeypatch)
    loss = Logistic() if labels else LeastSquares()
    X, y = drawn(loss, seed=5)
    for most in (0.3, 1.0):
        every = [
            bounded_optimum(X, y, list(s), 5.0, most, labels) for s in combinations(range(12), 3)
        ]
        no_model_is_below(estimator(labels, 3, 5.0).fit(X, y), X, y, most, every)


def test_a_gap_of_little_use_is_left_by_rough_steps(monkeypatch):
    """Nodes far from the cutoff would take step after step for a bound that is hardly larger."""
    without_solvers(monkeypatch)
    X, y = drawn(Logistic(), n=200, p=60, seed=3)
    Z, risk = DenseColumns(np.asfortranarray(X)), Risk(y, np.ones(200), Logistic())
    units = Singles(np.ones(60, bool), most=1.0)
    whole = relax(Z, units, risk, 1, 3, tol=1e-9)
    shared = SharedCurvature(Z, risk, X @ whole.coef)
    for missing in (0.1, 1.0, 10.0):
        cutoff = whole.objective + missing
        found = relax(Z, units, risk, 1, 3, tol=1e-9, cutoff=cutoff, shared=shared)
        assert found.objective - found.bound <= relaxation.SLACK * missing
        own = relax(Z, units, risk, 1, 3, tol=1e-9, cutoff=cutoff)
        gap = 1e-9 * found.objective
        assert own.objective - own.bound <= gap
    assert found.objective - found.bound > 1e3 * gap  # the control


def test_shared_columns_of_many_rows_are_forgotten(monkeypatch):
    """Columns of a million rows, kept for good, would fill the memory."""
    monkeypatch.setattr("zeronorm.solvers.relaxation.MOST_COLUMN_BYTES", 8 * 50 * 12)
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((50, 30)))
    risk = Risk(rng.standard_normal(50), np.ones(50), LeastSquares(), False)
    shared = SharedCurvature(DenseColumns(X), risk)
    for columns in (np.arange(8), np.arange(4, 14), np.arange(10, 16)):
        np.testing.assert_allclose(shared.over(columns), (X.T @ X)[np.ix_(columns, columns)])
        assert shared.knows(np.arange(30)).sum() <= 12


def test_columns_are_passed_over_or_copied_with_the_same_products(monkeypatch):
    """Products of many columns, by parts or in place, would be those of others."""
    monkeypatch.setattr(column_sets, "COPIED", 8 * 40 * 5)
    monkeypatch.setattr(column_sets, "MULTIPLIED", 40 * 3)
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((40, 64)))
    v, u = rng.standard_normal(40), np.where(np.arange(64) % 4 == 1, rng.standard_normal(64), 0.0)
    for Z in (DenseColumns(X), as_columns(sp.csc_array(X))):
        np.testing.assert_allclose(column_sets.times_of_used(Z, u), X @ u)
        assert np.array_equal(column_sets.times_of_used(Z, 0.0 * u), np.zeros(40))
        for size in (4, 7, 8, 31, 32, 64):
            columns = rng.permutation(64)[:size]
            some = column_sets.some_of(Z, columns)
            passed = 8 if isinstance(Z, DenseColumns) else 32
            assert isinstance(some, column_sets.View) == (size >= passed)
            np.testing.assert_allclose(some.dot(v), X[:, columns].T @ v)

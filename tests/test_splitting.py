"""SALM and ASALM: stationary end points, oracles, (2.2), stopping rules, screening, warnings."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_expit
from sklearn.exceptions import ConvergenceWarning

from conftest import make_classification
from test_l0 import specified
from zeronorm.core.results import Status
from zeronorm.data import as_design
from zeronorm.data.gathered import GatheredColumns, as_columns
from zeronorm.data.repeated import Repeated
from zeronorm.losses import Logistic, Multinomial, SquaredHinge, adjusted
from zeronorm.losses.multi_output import classes_as_outputs
from zeronorm.published import L0LogisticRegression
from zeronorm.published.solvers import SplitProblem, Splitting, split
from zeronorm.published.solvers import select as _select
from zeronorm.published.solvers.alpha_step import INNER_METHODS, AlphaStep, bfgs_update
from zeronorm.solvers.problem import Grouped, Risk
from zeronorm.solvers.ridge_fits import ridge

LOGISTIC = Logistic()
METHODS = {
    "salm": Splitting("salm"),
    "asalm": Splitting("asalm"),
    "raw": Splitting("asalm", safeguard=False),
}
TIGHT = 1e-9
NEARLY_NONE = 1e-10  # ridge of the mean loss


def posed(X, y, mu=NEARLY_NONE, weight=None, intercept=True):
    """Return the problem with the mean loss and the ridge mu."""
    weight = np.ones(len(y)) if weight is None else weight
    risk = Risk(y.astype(float), weight / (mu * weight.sum()), LOGISTIC, intercept)
    return SplitProblem(as_columns(X), risk)


def drawn(n=100, p=40, k=6, seed=0):
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.standard_normal((n, p)))
    w = np.zeros(p)
    w[rng.choice(p, k, replace=False)] = rng.choice([-1, 1], k) * rng.uniform(0.5, 1.5, k)
    return X, np.where(X @ w + 0.3 + rng.logistic(size=n) > 0, 1.0, -1.0)


def full(found, p):
    alpha = np.zeros(p + 1)
    alpha[0] = found.intercept
    alpha[1 + found.support] = found.coef
    return alpha


def mean_loss(X, y, alpha):
    return float(np.mean(-log_expit(y * (X @ alpha[1:] + alpha[0]))))


# ------------------------------------------------------------------------------- end points


@pytest.mark.parametrize("name", METHODS)
def test_end_points_are_rho_stationary(name):
    """No gradient on the support, and |gradient| <= rho min |beta| off it, gamma the gradient."""
    ended = 0
    for seed, n, p, k in ((0, 60, 8, 2), (1, 80, 10, 3), (3, 100, 12, 4)):
        X, y = specified(seed, n, p, k)
        problem = posed(X, y)
        options = replace(METHODS[name], rho=0.5, tol=1e-7, max_iter=3000)
        found = split(problem, k, options)
        if found.status is not Status.CONVERGED:
            continue
        ended += 1
        assert np.count_nonzero(found.coef) == k
        alpha = full(found, p)
        margins = X @ alpha[1:] + alpha[0]
        residual = -y / (1 + np.exp(y * margins)) / n
        gradient = X.T @ residual
        assert abs(residual.sum()) < 1e-7
        assert np.abs(gradient[found.support]).max() < 1e-6
        off = np.delete(np.abs(gradient), found.support)
        assert off.max() <= found.rho * np.abs(found.coef).min() * (1 + 1e-6)
        np.testing.assert_allclose(found.gamma, gradient, atol=1e-6)
    assert ended >= 2


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("intercept", [True, False])
def test_all_features_are_the_unconstrained_fit(name, intercept):
    """Without a budget the end would not be the ridge model."""
    X, y = drawn(p=8)
    risk = Risk(y, np.full(len(y), 0.3), LOGISTIC, intercept)
    options = replace(METHODS[name], tol=TIGHT, rho=0.5, max_iter=5000)
    found = split(SplitProblem(as_columns(X), risk), 8, options)
    expected = ridge(as_columns(X), risk, tol=1e-13)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-6)
    assert found.intercept == pytest.approx(expected.intercept, abs=1e-6)
    assert found.history[-1].objective == pytest.approx(expected.objective, rel=1e-9)


@pytest.mark.parametrize("name", ["asalm"])  # the raw one goes round where little bends
def test_without_the_ridge_the_end_is_the_unpenalised_fit(name):
    """mu would stay in the steps, in the multipliers of a start, or in the objective."""
    X, y = drawn(p=8)
    risk = Risk(y, np.full(len(y), 0.01), LOGISTIC)  # mu = 0.5: a ridge that cannot be overlooked
    problem = SplitProblem(as_columns(X), risk)
    options = replace(METHODS[name], tol=TIGHT, rho=0.5, max_iter=5000, ridge=False)
    expected = ridge(as_columns(X), Risk(y, np.full(len(y), 1e8), LOGISTIC), tol=1e-13)
    begun = (np.where(np.arange(8) == 2, 1.0, 0.0), 0.0)
    for start in (None, begun):
        found = split(problem, 8, options, start=start)
        assert found.status is Status.CONVERGED
        np.testing.assert_allclose(found.coef, expected.coef, atol=1e-5)
        value = 0.01 * len(y) * mean_loss(X, y, full(found, 8))
        assert found.history[-1].objective == pytest.approx(value, rel=1e-12)
    ridged = split(problem, 8, replace(METHODS[name], tol=TIGHT, rho=0.5, max_iter=5000))
    assert np.abs(ridged.coef - expected.coef).max() > 0.1


@pytest.mark.parametrize("name", METHODS)
def test_other_losses(name):
    """L, the steps or the gradients would be those of the logistic loss."""
    X, y = drawn(p=12)
    problem = SplitProblem(as_columns(X), Risk(y, np.full(len(y), 0.5), SquaredHinge()))
    options = replace(METHODS[name], rho=3.0, tol=TIGHT, max_iter=5000)
    found = split(problem, 4, options)
    assert found.status is Status.CONVERGED
    fit = ridge(as_columns(X[:, found.support]), problem.risk, tol=1e-13)
    np.testing.assert_allclose(found.coef, fit.coef, atol=1e-6)


def test_curvature_is_the_largest_eigenvalue():
    """A suggested rho would be of another scale than the problem's."""
    X, y = drawn(n=80, p=30)
    X = X + 3.0
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 80)
    share = weight / weight.sum()
    for intercept in (True, False):
        centred = X - share @ X if intercept else X
        expected = np.linalg.eigvalsh(0.25 * centred.T @ (share[:, None] * centred))[-1]
        for form in (X, sp.csc_array(X)):
            found = posed(form, y, weight=weight, intercept=intercept).curvature()
            assert found == pytest.approx(expected, rel=1e-2)
            assert found <= expected * (1 + 1e-12)


# ---------------------------------------------------------------------------- the alpha-step


def alpha_step(X, y, rho=0.3, intercept=True):
    pull = np.random.default_rng(5).normal(0, 0.2, X.shape[1])
    return AlphaStep(posed(X, y, mu=0.01, intercept=intercept), 0.01 + rho, pull)


@pytest.mark.parametrize("inner", INNER_METHODS)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_alpha_step_is_solved(inner, intercept):
    """The three methods would not end at the minimiser, or move an intercept that is none."""
    X, y = drawn(n=60, p=25)
    step = alpha_step(X, y, intercept=intercept)
    start = np.random.default_rng(2).normal(size=26)
    start[0] = 0.7 if intercept else 0.0
    alpha, count = INNER_METHODS[inner](step, start, 1e-9)
    gradient = step.value_gradient(alpha)[1]
    assert np.linalg.norm(gradient) <= 1e-8
    assert count > 0
    assert (alpha[0] != 0) == intercept
    again, none = INNER_METHODS[inner](step, alpha, 1e-6)
    assert none == 0
    np.testing.assert_array_equal(again, alpha)


def test_steps_are_exact():
    """The one-dimensional minimum would be missed, or a step go up."""
    X, y = drawn(n=40, p=7)
    step = alpha_step(X, y)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e3):
        alpha = rng.normal(size=8)
        z = step.problem.margins(alpha)
        d = -scale * step.at(alpha, z)[1]
        t = step.best_step(alpha, z, d, step.problem.margins(d))
        slope = step.value_gradient(alpha + t * d)[1] @ d
        assert abs(slope) <= 1e-7 * abs(step.value_gradient(alpha)[1] @ d)
        assert step.best_step(alpha, z, -d, -step.problem.margins(d)) == 0.0


def test_bfgs_update_is_its_formula():
    """Approximate Newton steps would use another matrix."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(6, 6))
    U = np.asfortranarray(root @ root.T)
    s, q = rng.normal(size=(2, 6))
    q *= np.sign(s @ q)
    left = np.eye(6) - np.outer(s, q) / (s @ q)
    expected = left @ U @ left.T + np.outer(s, s) / (s @ q)
    found = bfgs_update(U.copy(order="F"), s, q)
    np.testing.assert_allclose(np.tril(found), np.tril(expected), rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(bfgs_update(U.copy(order="F"), s, -q), U)


# ------------------------------------------------------------------- acceleration, stopping


def test_the_first_iterations_are_the_published_ones():
    """(2.2) to (2.5), written out with a general minimiser, against the history."""
    from scipy.optimize import minimize

    X, y = drawn(n=60, p=12)
    p, k, rho = 12, 3, 0.5
    for method, safeguard in (("salm", True), ("asalm", False), ("asalm", True)):
        options = Splitting(method, rho=rho, tol=1e-6, safeguard=safeguard, max_iter=6)
        history = split(posed(X, y), k, options).history
        beta, gamma, before, t, left = np.zeros(p), np.zeros(p), np.zeros(p), 1.0, np.inf
        alpha = np.zeros(p + 1)
        for step in history:

            def value(a, beta=beta, gamma=gamma):
                d = beta - a[1:]
                return mean_loss(X, y, a) + gamma @ d + 0.5 * rho * d @ d

            alpha = minimize(value, alpha, method="BFGS", options={"gtol": 1e-9}).x
            xi = alpha[1:] - gamma / rho
            new = np.zeros(p)
            top = np.argsort(-np.abs(xi))[:k]
            new[top] = xi[top]
            ghat = gamma + rho * (new - alpha[1:])
            following = (1 + np.sqrt(1 + 4 * t**2)) / 2
            primal, dual = np.linalg.norm(alpha[1:] - new), rho * np.linalg.norm(new - beta)
            assert step.extra["primal"] == pytest.approx(primal, rel=1e-3, abs=1e-6)
            assert step.extra["dual"] == pytest.approx(dual, rel=1e-3, abs=1e-6)
            now = rho * primal**2 + dual**2 / rho
            if method == "salm" or (safeguard and now >= 0.999 * left):
                gamma, following = ghat, 1.0
            elif safeguard:
                gamma = ghat + (t - 1) / following * (ghat - before)
            else:
                gamma = (
                    ghat + (t - 1) / following * (ghat - before) + t / following * (ghat - gamma)
                )
            beta, before, t, left = new, ghat, following, now


def test_both_stopping_rules():
    """The method would end before both residuals are small."""
    X, y = drawn()
    both = split(posed(X, y), 6, Splitting(rho=0.5))
    last = both.history[-1].extra
    assert last["primal"] <= last["primal_tol"]
    assert last["dual"] <= last["dual_tol"]
    before = both.history[-2].extra
    assert before["primal"] > before["primal_tol"] or before["dual"] > before["dual_tol"]
    w = np.linalg.norm(both.coef)
    root = 40**0.5 * 1e-6
    assert last["primal_tol"] == pytest.approx(root + 1e-3 * w, rel=1e-2)
    assert last["dual_tol"] == pytest.approx(root + 1e-3 * np.linalg.norm(both.gamma), 1e-6)
    primal = split(posed(X, y), 6, Splitting(rho=0.5, stop="primal", tol=1e-2))
    residuals = [step.extra["primal"] for step in primal.history]
    assert residuals[-1] <= 1e-2 < min(residuals[:-1])
    assert primal.status is both.status is Status.CONVERGED
    few = split(posed(X, y), 6, Splitting(rho=0.5, max_iter=3))
    assert few.status is few.history[-1].status is Status.MAX_ITER
    assert len(few.history) == 3
    assert all(step.status is None for step in few.history[:-1])


def test_rho_grows_where_the_support_keeps_changing():
    """Without it the support changes to the last iteration."""
    X, y = drawn(200, 100, k=10)
    problem = posed(X, y, mu=1e-8)
    fixed = split(problem, 10, Splitting(rho=0.02, max_iter=100))
    assert fixed.status is Status.MAX_ITER
    found = split(problem, 10, Splitting())
    rhos = np.array([step.extra["rho"] for step in found.history])
    assert found.status is Status.CONVERGED
    assert rhos[0] == pytest.approx(0.1 * found.curvature)
    assert set(np.round(rhos[1:] / rhos[:-1], 9)) == {1.0, 1.5}
    # Where the support stays, a larger rho would be slower only: nearly collinear columns stall.
    alike = X[:, :1] + np.hstack([np.zeros((200, 1)), 0.03 * X[:, 1:2]])
    options = Splitting(tol=1e-6, max_iter=200)
    alone = split(posed(alike, y), 2, options)
    assert {step.extra["rho"] for step in alone.history} == {alone.rho}
    # But not so for ASALM as published, which may go round there.
    raw = split(posed(alike, y), 2, Splitting("asalm", tol=1e-6, max_iter=200, safeguard=False))
    assert raw.history[-1].extra["rho"] > raw.history[0].extra["rho"]


def test_a_start_at_the_end_is_the_end():
    """A warm start would walk away from the solution."""
    X, y = drawn()
    problem = posed(X, y)
    first = split(problem, 6, Splitting(tol=1e-6))
    alpha = full(first, X.shape[1])
    again = split(problem, 6, Splitting(rho=first.rho), start=(alpha[1:], alpha[0]))
    assert len(again.history) == 1
    assert again.support.tolist() == first.support.tolist()
    np.testing.assert_allclose(again.coef, first.coef, atol=1e-4)


# ------------------------------------------------------------------------------ as a solver


@pytest.mark.parametrize("solver", ["salm", "asalm", Splitting("asalm", inner="l-bfgs")])
def test_the_estimator_tells_what_happened(solver):
    """The history would not say how the method ended, or warn for nothing."""
    X, y = make_classification(80, 40, seed=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = L0LogisticRegression([3, 6], solver=solver, C=1.0, calibrate=False).fit(X, y)
    ends = [step for step in model.history_ if "primal" in step.extra and step.status]
    assert [step.n_features for step in ends] == [3, 6]
    assert {step.status for step in ends} == {Status.CONVERGED}
    assert model.path_.status is Status.CONVERGED
    keys = {"primal", "dual", "primal_tol", "dual_tol", "rho", "curvature", "restarts",
            "inner_iterations", "columns", "usable"}  # fmt: skip
    assert set(ends[0].extra) == keys
    assert ends[0].extra["columns"] == ends[0].extra["usable"] == 40
    # What follows is the fit of the support, at most the objective at beta.
    fitted = [step for step in model.history_ if "gap" in step.extra]
    for end, fit, k in zip(ends, fitted, (3, 6), strict=True):
        assert fit.objective <= end.objective * (1 + 1e-9)
        assert fit.objective == pytest.approx(model.path_[k].certificate.objective, rel=1e-6)
    assert model.n_scans_ == 1  # of the certificate


@pytest.mark.parametrize("inner", ["newton-cg"])
def test_screened_features_are_stated(inner, monkeypatch):
    """Features would be left out in silence, or the forced or the strongest ones not be there."""
    X, y = make_classification(60, 200, seed=6)
    monkeypatch.setattr(_select, "SPLIT_ELEMENTS", 60 * 50)
    weakest = int(np.argmin(np.abs(X.T @ (y - y.mean()))))
    model = L0LogisticRegression(
        4, solver=Splitting(inner=inner), forced_features=[weakest], calibrate=False
    )
    with pytest.warns(UserWarning, match=r"of 200 features it saw the 50 with the largest"):
        model.fit(X, y)
    assert weakest in model.support_
    end = next(step for step in model.history_ if step.status is not None)
    assert (end.extra["columns"], end.extra["usable"]) == (50, 200)
    Z = (X - X.mean(0)) / X.std(0)
    strongest = np.argsort(-np.abs(Z.T @ (y - y.mean())))[:49]
    alone = np.sort(np.append(strongest, weakest))
    same = L0LogisticRegression(
        4,
        solver=Splitting(inner=inner),
        forced_features=[int(np.searchsorted(alone, weakest))],
        calibrate=False,
    )
    monkeypatch.setattr(_select, "SPLIT_ELEMENTS", 10**7)
    same.fit(X[:, alone], y)
    np.testing.assert_array_equal(alone[same.support_], model.support_)
    assert model.n_scans_ == same.n_scans_ + 1


def test_warm_start_begins_at_the_model():
    """A second fit would begin anew."""
    X, y = make_classification(100, 60, seed=6)
    for method in ("salm", "asalm"):
        solver = Splitting(method, rho=0.5)
        model = L0LogisticRegression([2, 4], solver=solver, warm_start=True, calibrate=False).fit(
            X, y
        )
        first, steps = model.path_, len(model.history_)
        model.fit(X, y)
        assert len(model.history_) < steps / 2
        for k in (2, 4):
            np.testing.assert_array_equal(model.path_[k].support, first[k].support)
        model.set_params(n_features=3).fit(X, y)
        assert model.support_.size == 3


# ------------------------------------------------------------------- several classes, whole groups


def several(X, classes, mu=NEARLY_NONE, q=None, intercept=True):
    """Return the multinomial problem with the mean loss and the ridge mu, and its units."""
    q = int(classes.max()) + 1 if q is None else q
    n, p = X.shape
    pool = GatheredColumns(Repeated(as_design(X), q), p * q)
    pool.add(np.arange(p * q))
    risk = Risk(
        classes_as_outputs(classes, q), np.full(n * q, 1 / (mu * n)), Multinomial(q, intercept),
        False,
    )  # fmt: skip
    units = Grouped(np.repeat(np.arange(p), q), p, np.ones(p * q, bool))
    return SplitProblem(pool.columns(), risk), units


def three_classes(n=150, p=12, k=3, seed=0):
    """Return X and classes, 0 to 2, that the first k features tell."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    w = np.zeros((p, 3))
    w[:k] = 2 * rng.standard_normal((k, 3))
    return X, (X @ w + [0.5, 0, 0] + rng.gumbel(size=(n, 3))).argmax(axis=1)


@pytest.mark.parametrize("name", METHODS)
def test_two_classes_as_outputs_are_the_binary_method(name):
    """(2.2), H_k or the multipliers of several classes would be other ones than of two."""
    X, y = drawn(n=120, p=30, k=4)
    options = replace(METHODS[name], tol=1e-10, rho=0.5, max_iter=12)
    # Coefficients -u/2 and u/2 have half the ridge and half the rho of u.
    half = replace(METHODS[name], tol=1e-10, rho=0.25, max_iter=12)
    problem, units = several(X, (y > 0).astype(int), mu=0.02)
    found = split(problem, 4, options, units=units)
    binary = split(posed(X, y, mu=0.01), 4, half)
    assert len(found.history) == len(binary.history) > 1
    for step, other in zip(found.history, binary.history, strict=True):
        # Theirs is at the best intercepts of beta, that of two classes at the b of w.
        assert 2 * step.objective <= other.objective * (1 + 1e-9)
        assert np.unique(step.entered // 2).tolist() == other.entered.tolist()
        assert step.extra["primal"] == pytest.approx(other.extra["primal"] / np.sqrt(2), abs=1e-8)
        assert step.extra["dual"] == pytest.approx(other.extra["dual"] * np.sqrt(2), abs=1e-8)
    assert (found.support[::2] // 2).tolist() == binary.support.tolist()
    np.testing.assert_allclose(found.coef.reshape(-1, 2)[:, 1], binary.coef / 2, atol=1e-8)


@pytest.mark.parametrize(("name", "intercept"), [("asalm", True), ("salm", False)])
def test_end_points_of_several_classes_are_rho_stationary(name, intercept):
    """Rows of coefficients would be cut one by one, or the end be none in their norms."""
    X, classes = three_classes(n=60)
    problem, units = several(X, classes, mu=1e-2, intercept=intercept)
    options = replace(METHODS[name], tol=1e-6, max_iter=3000, rho=0.5)
    found = split(problem, 4, options, units=units)
    assert found.status is Status.CONVERGED
    rows = found.coef.reshape(4, 3)
    assert found.support.reshape(4, 3).tolist() == [[3 * j, 3 * j + 1, 3 * j + 2] for j in
                                                    found.support[::3] // 3]  # fmt: skip
    alpha = full(found, 36)
    z = np.zeros((len(X), 3)) + X @ alpha[1:].reshape(12, 3)
    z += problem.mean.intercepts(z.T.ravel())  # 0 where there are none
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    residual = (p - np.eye(3)[classes]) / len(X)
    gradient = X.T @ residual + 1e-2 * alpha[1:].reshape(12, 3)
    if intercept:
        assert np.abs(residual.sum(axis=0)).max() < 1e-9
    own = found.support[::3] // 3
    assert np.abs(gradient[own]).max() < 1e-4
    off = np.linalg.norm(np.delete(gradient, own, axis=0), axis=1)
    assert off.max() <= 0.5 * np.linalg.norm(rows, axis=1).min() * (1 + 1e-4)
    np.testing.assert_allclose(found.gamma.reshape(12, 3), gradient, atol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("covariates", [True, False])
def test_the_second_derivative_of_several_classes(intercept, covariates):
    """Newton's directions and L would be those of another loss, without its free intercepts."""
    X, classes = three_classes(n=40, p=4)
    problem, _ = several(X, classes, intercept=intercept)
    mean = problem.mean
    if covariates:
        rng = np.random.default_rng(3)
        loss = adjusted(mean.loss, mean.y, rng.standard_normal((40, 2)), np.ones(40), intercept)
        risk = Risk(mean.y, problem.risk.weight, loss, False)
        problem = SplitProblem(problem.Z, risk)
        mean = problem.mean
    rng = np.random.default_rng(4)
    z, v = rng.standard_normal((2, 120))
    step = 1e-5
    ends = [mean.value_gradient(z + sign * step * v)[1] for sign in (1, -1)]
    np.testing.assert_allclose(problem.bend(z)(v), (ends[0] - ends[1]) / (2 * step), atol=1e-8)
    H = np.array([problem.bend(np.zeros(120))(e) for e in np.eye(120)])
    Z = np.column_stack([problem.Z.times(e) for e in np.eye(12)])
    largest = np.linalg.eigvalsh(Z.T @ H @ Z)[-1]
    assert problem.curvature() == pytest.approx(largest, rel=1e-2)


# -------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "rho", "message"),
    [
        (Splitting(rho=0.001, max_iter=100), "least", "did not converge in 100 iterations"),
        (Splitting("asalm", rho=0.05, safeguard=False), "least", "diverged"),
        (Splitting(rho=500.0, max_iter=20), "most", "did not converge in 20 iterations"),
    ],
)
def test_a_bad_rho_is_told(options, rho, message):
    """A user would not learn which rho would do."""
    X, y = drawn(n=150, p=150, k=10)
    model = L0LogisticRegression(10, solver=options, C=1e4, refit_C=1.0, calibrate=False)
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model.fit(X, y)
    text = str(caught[0].message)
    assert f"rho should be at {rho} " in text
    assert "rho='adaptive'" in text
    assert caught[0].filename == __file__
    suggested = float(text.rstrip(".").rsplit("rho=", 1)[1])
    curvature = model.history_[0].extra["curvature"]
    share = 0.3 if options.raw else 0.1
    assert suggested == pytest.approx(share * curvature, rel=0.06)
    assert np.isfinite(model.coef_).all()
    assert model.support_.size == 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(solver=Splitting(options.method, rho=suggested)).fit(X, y)


def test_a_large_rho_is_told_where_it_converges():
    """Any support would pass for a good one, since it converged."""
    X, y = make_classification(80, 10, seed=1)
    with pytest.warns(UserWarning, match="keeps nearly any support"):
        L0LogisticRegression(3, solver=Splitting(rho=30.0, max_iter=10_000), calibrate=False).fit(
            X, y
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "admm"}, "method must be one of 'salm', 'asalm'; got 'admm'"),
        ({"rho": 0}, "rho must be a positive finite number; got 0"),
        ({"rho": "small"}, "rho must be 'adaptive' or a positive finite number; got 'small'"),
        ({"inner": "newton"}, "inner must be one of 'newton-cg', 'l-bfgs', 'bfgs'"),
        ({"safeguard": "yes"}, "safeguard must be True or False"),
        ({"stop": "dual"}, "stop must be one of 'both', 'primal'"),
        ({"tol": 2.0}, "tol must be at most 1"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
    ],
)
def test_bad_options(options, message):
    """A wrong option would be ignored, or fail deep inside."""
    with pytest.raises(ValueError, match=message):
        Splitting(**options)


def test_a_class_is_no_options():
    """The class in place of its options would fail deep inside."""
    X, y = make_classification(30, 8, seed=0)
    with pytest.raises(ValueError, match=r"solver must be one of .*'salm', 'asalm'"):
        L0LogisticRegression(2, solver=Splitting).fit(X, y)

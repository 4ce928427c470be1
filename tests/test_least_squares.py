"""Least squares through the solvers: the best subset of real targets, by enumeration."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import slow
from zeronorm import BudgetRegressor, certify, methods, prove, verify
from zeronorm.core.results import Certificate, Status
from zeronorm.data import as_design
from zeronorm.losses import LeastSquares
from zeronorm.published import MinimaxBy
from zeronorm.solvers import (
    SelectionRequest,
    Task,
    certify_supports,
    greedy,
    run,
    select,
    select_l0,
    select_nested,
)
from zeronorm.solvers.certify import Goal, prove_support
from zeronorm.verification import CertificateError, check_form
from zeronorm.verification.data import read_data
from zeronorm.verification.recomputation import _objective

N, P, K = 40, 25, 3
SUPPORTS = np.array(list(combinations(range(P), K)))
PROBLEMS = range(20)
FEATURES = ("plain", "weights", "offsets", "duplicates", "no intercept")


def values_of(X, y, weight, intercept):
    """The optimal objectives of all supports, (2300,), in closed form."""
    if intercept:
        X = X - weight @ X / weight.sum()
        y = y - weight @ y / weight.sum()
    gram, product = X.T @ (weight[:, None] * X), X.T @ (weight * y)
    H = np.eye(K) + gram[SUPPORTS[:, :, None], SUPPORTS[:, None, :]]
    right = product[SUPPORTS]
    solved = np.linalg.solve(H, right[:, :, None])[:, :, 0]
    return 0.5 * (weight @ y**2 - np.einsum("ij,ij->i", right, solved))


class Posed:
    """A small problem with its enumerated objectives."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.kind = FEATURES[seed % len(FEATURES)]
        X = rng.standard_normal((N, P)) + 0.5 * rng.standard_normal((N, 1))
        true = rng.choice(P, K, replace=False)
        y = X[:, true] @ (rng.choice([-1.0, 1.0], K) * rng.uniform(0.5, 2.0, K))
        y += 0.7 * rng.standard_normal(N)
        self.y = y + (3.0 if self.kind != "no intercept" else 0.0)
        weight = rng.uniform(0.2, 2.0, N) if self.kind == "weights" else np.ones(N)
        if self.kind == "offsets":
            X += rng.uniform(-3.0, 3.0, P)
        if self.kind == "duplicates":
            X[:, rng.choice(np.setdiff1d(np.arange(P), true))] = X[:, true[0]]
            X[:, rng.choice(np.setdiff1d(np.arange(P), true))] = -X[:, true[1]]
        self.X, self.C = X, (0.05, 0.5, 5.0)[seed % 3]
        self.intercept = self.kind != "no intercept"
        self.values = values_of(X, self.y, self.C * weight, self.intercept)
        self.best = self.values.min()
        alike = np.triu(np.abs(np.corrcoef(X.T)) > 1 - 1e-9, 1)
        copied = [alike[np.ix_(one, one)].any() for one in SUPPORTS]
        self.best_distinct = self.values[~np.array(copied)].min()
        self.weight = weight

    def task(self, form=np.asfortranarray):
        return Task.of(
            as_design(form(self.X)), self.y, self.weight, loss=LeastSquares(),
            intercept=self.intercept,
        )  # fmt: skip

    def value(self, support):
        """The objective of a support."""
        return self.values[(np.sort(support) == SUPPORTS).all(axis=1)][0]

    def check(self, certificate):
        """Assert what every certificate has to be: of its support, its bound below the optimum."""
        assert certificate.loss == "least_squares"
        assert certificate.objective == pytest.approx(self.value(certificate.support), rel=1e-9)
        assert certificate.bound <= self.best * (1 + 1e-9)
        assert certificate.bound >= 0


@pytest.mark.parametrize("seed", [*PROBLEMS[:5], *slow(*PROBLEMS[5:])])
@pytest.mark.parametrize("form", [np.asfortranarray, sp.csc_array], ids=["dense", "sparse"])
def test_proofs_are_of_the_best_subset(seed, form):
    """The best subset of real targets would be another one, or be claimed without proof."""
    problem = Posed(seed)
    worst = SUPPORTS[problem.values.argmax()]
    proof = run(prove_support(problem.task(form), worst, Goal(0.0), C=problem.C))
    problem.check(proof.certificate)
    assert proof.status is Status.OPTIMAL
    assert proof.certificate.objective == pytest.approx(problem.best, rel=1e-9)
    assert proof.certificate.bound == pytest.approx(problem.best, rel=1e-8)
    assert proof.improved


@pytest.mark.parametrize("seed", [*PROBLEMS[:5], *slow(*PROBLEMS[5:])])
@pytest.mark.parametrize("goal", [None, Goal(0.0)])
def test_the_l0_solver_finds_the_best_subset(seed, goal):
    """The search of numbers would end at a subset that is not the best one."""
    problem = Posed(seed)
    path = run(select_l0(problem.task(), [K], SelectionRequest(problem.C, tol=1e-4), goal=goal))
    problem.check(path[K].certificate)
    assert problem.value(path[K].support) == pytest.approx(problem.best, rel=1e-9)
    if goal is not None:
        assert path[K].certificate.bound == pytest.approx(problem.best, rel=1e-8)


# The solver, and of how many problems it finds the best subset at least.
HEURISTICS = {
    "select": (select, 20),
    "nested": (select_nested, 16),
    "greedy": (partial(greedy, fit_C=0.1), 15),
}


@pytest.mark.parametrize("name", list(HEURISTICS))
def test_heuristics_are_certified_and_mostly_find_the_best_subset(name):
    """They would minimise another loss, or their certificates prove nothing of this one.

    A strong ridge may prefer a feature and its copy to two features: such subsets do not count.
    """
    solver, least = HEURISTICS[name]
    ratios = []
    for seed in PROBLEMS:
        problem = Posed(seed)
        path = run(solver(problem.task(), [K], SelectionRequest(problem.C)))
        problem.check(path[K].certificate)
        ratios.append(problem.value(path[K].support) / problem.best_distinct)
    assert np.count_nonzero(np.array(ratios) <= 1 + 1e-9) >= least
    assert max(ratios) < 2


@pytest.mark.parametrize("seed", PROBLEMS)
def test_certificates_of_any_support(seed):
    """A bound above the optimum, or a feature of a better subset ruled out, would be a lie."""
    problem = Posed(seed)
    order = np.argsort(problem.values)
    supports = SUPPORTS[order[[0, 1, 10, 500, -1]]]
    found = run(certify_supports(problem.task(), list(supports), C=problem.C))
    for certificate, support in zip(found, supports, strict=True):
        np.testing.assert_array_equal(certificate.support, support)
        problem.check(certificate)
        upper = certificate.objective
        better = SUPPORTS[problem.values < upper * (1 - 1e-8)]
        assert certificate.candidates >= np.unique(better).size
        if len(better):
            common = set(range(P)).intersection(*map(set, better.tolist()))
            assert certificate.fixed_in <= len(common)


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("solver", [select, select_nested, partial(greedy, fit_C=0.1), select_l0])
def test_the_final_fit_is_one_of_least_squares(solver, seed):
    """The coefficients would be those of labels that the target has not."""
    problem = Posed(seed)
    found = run(solver(problem.task(), [K], SelectionRequest(refit_C=2.0)))[K]
    Z = np.column_stack([problem.X[:, found.support], np.ones(N)])
    H = 2.0 * Z.T @ (problem.weight[:, None] * Z) + np.diag([1.0] * K + [0.0])
    expected = np.linalg.solve(H, 2.0 * Z.T @ (problem.weight * problem.y))
    np.testing.assert_allclose([*found.coef, found.intercept], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 2])
def test_the_dual_point_of_a_certificate_proves_its_bound(seed):
    """Nobody could verify a bound without the point that proves it."""
    problem = Posed(seed)
    c = run(select(problem.task(), [K], SelectionRequest(problem.C)))[K].certificate
    assert abs(c.dual.sum()) <= 1e-9 * np.abs(c.dual).sum()
    square = np.sort((problem.X.T @ c.dual) ** 2)[-K:]
    conjugate = LeastSquares().conjugate(c.dual, problem.y, problem.C * problem.weight)
    assert -conjugate - 0.5 * square.sum() == pytest.approx(c.bound, rel=1e-9)


@pytest.mark.parametrize("seed", [2, 7, 17])
def test_a_proof_goes_on_where_another_one_ended(seed):
    """A proof that was cut off would be lost, or go on from bounds that are none."""
    problem = Posed(seed)
    support, options = SUPPORTS[problem.values.argmin()], {"C": problem.C}
    short = run(prove_support(problem.task(), support, Goal(0.0, max_nodes=3), **options))
    tree = short.certificate.tree
    onward = run(
        prove_support(problem.task(), support, Goal(0.0, max_nodes=1), resume=tree, **options)
    )
    for proof in (short, onward):
        assert proof.status is Status.NODE_LIMIT
        problem.check(proof.certificate)
    assert onward.certificate.bound >= short.certificate.bound * (1 - 1e-9)
    end = run(
        prove_support(problem.task(), support, Goal(0.0), resume=onward.certificate.tree, **options)
    )
    assert end.status is Status.OPTIMAL
    assert end.certificate.bound == pytest.approx(problem.best, rel=1e-8)


METHODS = (
    "auto",
    "l0",
    "greedy",
    "minimax",
    "l1",
    "reweighted-l1",
    MinimaxBy(solver="fista"),
)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_regressor_by_every_method(method):
    """A method would fit labels that the target has not, or give no certificate."""
    posed = Posed(0)
    model = BudgetRegressor([2, K], method=method, refit_C=1e8, calibrate=False).fit(
        posed.X, posed.y
    )
    assert [path.support.size for path in (model.path_[2], model.path_[K])] == [2, K]
    A = np.column_stack([posed.X[:, model.support_], np.ones(N)])
    expected = np.linalg.lstsq(A, posed.y, rcond=None)[0]
    np.testing.assert_allclose(model.coef_[model.support_], expected[:-1], rtol=1e-5)
    assert model.intercept_ == pytest.approx(expected[-1], abs=1e-5)
    c = model.certificate_
    assert c.loss == "least_squares"
    assert verify(c, posed.X, posed.y)["gap"] == pytest.approx(c.gap, abs=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0.0, 0.1, 3e9])
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_constant_target(method, value):
    """Gaps would be divided by the objective of the model without features, which is 0."""
    posed = Posed(0)
    model = BudgetRegressor(K, method=method).fit(posed.X, np.full(N, value))
    assert model.support_.size == K
    assert model.predict(posed.X) == pytest.approx(value, rel=1e-12, abs=1e-12)


def test_a_regressor_is_proven_best():
    """The best subset would not be the best one, or nobody could check it."""
    posed = Posed(3)
    with pytest.warns(UserWarning, match="are equal up to their units"):
        model = BudgetRegressor(K, method=methods.L0(gap=0.0), C=posed.C).fit(posed.X, posed.y)
    share = (posed.X - posed.X.mean(axis=0)) / posed.X.std(axis=0)
    best = values_of(share, posed.y, np.full(N, posed.C), True).min()
    assert model.certificate_.proven
    assert model.certificate_.objective == pytest.approx(best, rel=1e-9)
    verify(model.certificate_, posed.X, posed.y)
    again = prove(model, posed.X, posed.y, gap=0.0)
    assert again.status is Status.OPTIMAL
    own = certify(model, posed.X, posed.y)
    assert own.bound <= best * (1 + 1e-12)
    with pytest.raises(ValueError, match="claims the bound"):
        verify(replace(own, bound=1.001 * own.bound), posed.X, posed.y)


def test_a_model_without_a_ridge_is_certified_at_a_finite_c_alone():
    """The bound needs a ridge: users would read of data that overflow, which they do not."""
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((60, 12)), np.repeat(np.arange(3), 4)
    y = X[:, 3] - X[:, 1] + 0.1 * rng.standard_normal(60)
    model = BudgetRegressor(5, n_groups=2, feature_groups=groups).fit(X, y)
    with pytest.raises(ValueError, match=r"C must be finite for a certificate.*got inf. Pass C"):
        certify(model, X, y)
    # There are more features than groups: neither number is a budget of the other kind.
    assert 0.0 <= certify(model, X, y, C=1.0).gap < 1.0


def test_criteria_of_a_regressor_are_those_of_normal_errors():
    """The size would be chosen by squares of the target's units."""
    posed = Posed(5)
    options = {"criterion": "bic", "refit_C": 1e8, "calibrate": False}
    model = BudgetRegressor(8, **options).fit(posed.X, posed.y)
    table = model.criteria_
    for k, bic in zip(table["size"], table["bic"], strict=True):
        selection = model.path_[k]
        residual = posed.y - posed.X[:, selection.support] @ selection.coef - selection.intercept
        expected = N * np.log(residual @ residual / N) + k * np.log(N)
        assert bic == pytest.approx(expected, rel=1e-6)
    scaled = BudgetRegressor(8, **options).fit(posed.X, 100.0 * posed.y)
    assert scaled.size_ == model.size_


def claim(X, y, C):
    """The certificate of the only feature without an intercept, in closed form."""
    x = X[:, 0].astype(np.longdouble)
    u = C * x @ y / (1 + C * x @ x)
    dual = C * (y - x * u)
    value = float(0.5 * u**2 + 0.5 * dual @ (y - x * u))
    return Certificate(
        C=C, scaling="none", support=np.array([0]), coef=np.array([u], float), intercept=0.0,
        objective=value, bound=value, dual=dual.astype(float), fixed_in=0, candidates=1,
        loss="least_squares", fit_intercept=False,
    )  # fmt: skip


def test_squares_of_residuals_may_leave_the_range():
    """A loss whose squares underflow would pass for none, and what is true be refused."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 1)), rng.standard_normal(12)
    for unit, target, C in ((1e-139, 1e-163, 1e278), (1.0, 1e180, 1e-280)):
        own = claim(unit * X, target * y, C)
        verify(own, unit * X, target * y)
        ridge = 0.5 * float(own.coef @ own.coef)
        with pytest.raises(CertificateError, match="claims the objective"):
            verify(replace(own, objective=ridge, bound=ridge), unit * X, target * y)


def test_weights_without_digits_count_as_rounding():
    """C s_i, rounded to 5 units of the smallest number from 4.8, would pass for exact."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 1)), 1e140 * rng.standard_normal(12)
    weight = np.full(12, 2.4)
    verify(replace(claim(X, y, 2.4e-300), C=1e-300), X, y, sample_weight=weight)
    forged = replace(claim(X, y, 5 * 2.0**-1074), C=2 * 2.0**-1074)
    with pytest.raises(CertificateError, match="change its figures by"):
        verify(forged, X, y, sample_weight=weight)


def test_targets_far_from_zero():
    """What a target's offset cannot blur would be refused as rounding, or what it does pass."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 5))
    y = np.round((X[:, 0] + 0.5 * rng.standard_normal(20)) * 1024) / 1024  # the sums are exact
    for C in (0.1, 100.0):
        own = BudgetRegressor(2, C=C).fit(X, y).certificate_
        for offset in (2.0**10, 2.0**30, -(2.0**40)):
            moved = replace(own, intercept=own.intercept + offset)
            assert verify(moved, X, y + offset)["bound"] == pytest.approx(own.bound, rel=1e-12)
            for shift in (0.01, -0.01):
                with pytest.raises(CertificateError, match=r"are not optimal|claims the objective"):
                    verify(replace(moved, intercept=moved.intercept + shift), X, y + offset)


def test_rounding_of_the_objective_is_what_the_theorem_says():
    """The rounding of a centred target, which moves every margin, would be left out."""
    rng = np.random.default_rng(0)
    X, offset, unit = rng.standard_normal((20, 1)), 2.0**30, 2.0**-53
    y = np.round((X[:, 0] + 0.01 * rng.standard_normal(20)) * 1024) / 1024
    Z, b = X - X.mean(axis=0), y.mean()
    own = claim(Z, y - b, 1e3)
    moved = replace(own, fit_intercept=True, intercept=offset + b - X.mean(axis=0) @ own.coef)
    data = read_data(X, y + offset, None, check_form(moved))
    objective, rounding = _objective(data, check_form(moved))
    v, size = np.abs(own.dual), np.abs(own.coef)
    entry = (4 * 20 + 8) * unit * np.abs(Z).max(axis=0)
    parts = abs(moved.intercept - offset - b) + np.abs(X.mean(axis=0)) @ size
    margins = entry @ size + 5 * unit * parts + unit * np.abs(y - b).max()
    error = entry * v.sum()
    expected = margins * (v.sum() + 0.5 * 1e3 * 20 * margins)
    expected += 0.5 * error @ (2 * np.abs(Z.T @ own.dual) + error)
    expected += 28 * unit * (2 * (v @ v / 1e3 + v @ np.abs(y - b)) + objective)
    assert rounding == pytest.approx(expected, rel=1e-4)


def test_targets_whose_squares_underflow():
    """A gap would be told as none, and an objective as 0."""
    posed = Posed(0)
    with pytest.raises(ValueError, match=r"y must be somewhere at least 1e-100 in magnitude"):
        BudgetRegressor(3).fit(posed.X, 1e-120 * posed.y)
    own = certify(BudgetRegressor(3, C=0.5).fit(posed.X, posed.y), posed.X, posed.y)
    tiny = replace(own, objective=1e-310 * own.objective, bound=1e-310 * own.bound)
    assert tiny.gap == pytest.approx(own.gap, rel=1e-6)


@pytest.mark.parametrize("offset", [1e9, *slow(1e5, 1e7)])
@pytest.mark.parametrize("C", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("method", ["pool", "l0", "greedy", "minimax", "l1"])
def test_an_offset_of_the_target_is_the_intercept(method, C, offset):
    """Solvers would see the rounding of the target, and end at models that are not optimal."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 5))
    y = np.round(X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(8), 4)
    plain = BudgetRegressor(2, C=C, method=method).fit(X, y)
    moved = BudgetRegressor(2, C=C, method=method).fit(X, y + offset)
    np.testing.assert_array_equal(moved.support_, plain.support_)
    np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=1e-13 * offset)
    assert moved.intercept_ - offset == pytest.approx(plain.intercept_, abs=1e-14 * offset)
    assert moved.certificate_.gap == pytest.approx(plain.certificate_.gap, abs=1e-14 * offset)
    verify(moved.certificate_, X, y + offset)
    proof = prove(moved, X, y + offset, gap=0.0)
    verify(proof.certificate, X, y + offset)

"""Least squares through the solvers: the best subset of real targets, by enumeration."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from zeronorm import BudgetRegressor, certify, methods, prove, verify
from zeronorm.designs import as_design
from zeronorm.losses import LeastSquares
from zeronorm.result import Status
from zeronorm.solvers import (
    Task,
    certify_supports,
    greedy,
    run,
    select,
    select_l0,
    select_nested,
)
from zeronorm.solvers.certify.prove import prove_support

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


@pytest.mark.parametrize("seed", PROBLEMS)
@pytest.mark.parametrize("form", [np.asfortranarray, sp.csc_array], ids=["dense", "sparse"])
def test_proofs_are_of_the_best_subset(seed, form):
    """The best subset of real targets would be another one, or be claimed without proof."""
    problem = Posed(seed)
    worst = SUPPORTS[problem.values.argmax()]
    proof = run(prove_support(problem.task(form), worst, C=problem.C, gap=0.0))
    problem.check(proof.certificate)
    assert proof.status is Status.OPTIMAL
    assert proof.certificate.objective == pytest.approx(problem.best, rel=1e-9)
    assert proof.certificate.bound == pytest.approx(problem.best, rel=1e-8)
    assert proof.improved


@pytest.mark.parametrize("seed", PROBLEMS)
@pytest.mark.parametrize("gap", [None, 0.0])
def test_the_l0_solver_finds_the_best_subset(seed, gap):
    """The search of numbers would end at a subset that is not the best one."""
    problem = Posed(seed)
    path = run(select_l0(problem.task(), [K], C=problem.C, gap=gap))
    problem.check(path[K].certificate)
    assert problem.value(path[K].support) == pytest.approx(problem.best, rel=1e-9)
    if gap is not None:
        assert path[K].certificate.bound == pytest.approx(problem.best, rel=1e-8)


# The solver, and of how many problems it finds the best subset at least.
HEURISTICS = {"select": (select, 20), "nested": (select_nested, 16), "greedy": (greedy, 15)}


@pytest.mark.parametrize("name", list(HEURISTICS))
def test_heuristics_are_certified_and_mostly_find_the_best_subset(name):
    """They would minimise another loss, or their certificates prove nothing of this one."""
    solver, least = HEURISTICS[name]
    ratios = []
    for seed in PROBLEMS:
        problem = Posed(seed)
        path = run(solver(problem.task(), [K], C=problem.C))
        problem.check(path[K].certificate)
        ratios.append(problem.value(path[K].support) / problem.best)
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
@pytest.mark.parametrize("solver", [select, select_nested, greedy, select_l0])
def test_the_final_fit_is_one_of_least_squares(solver, seed):
    """The coefficients would be those of labels that the target has not."""
    problem = Posed(seed)
    found = run(solver(problem.task(), [K], refit_C=2.0))[K]
    Z = np.column_stack([problem.X[:, found.support], np.ones(N)])
    H = 2.0 * Z.T @ (problem.weight[:, None] * Z) + np.diag([1.0] * K + [0.0])
    expected = np.linalg.solve(H, 2.0 * Z.T @ (problem.weight * problem.y))
    np.testing.assert_allclose([*found.coef, found.intercept], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 2])
def test_the_dual_point_of_a_certificate_proves_its_bound(seed):
    """Nobody could verify a bound without the point that proves it."""
    problem = Posed(seed)
    c = run(select(problem.task(), [K], C=problem.C))[K].certificate
    assert abs(c.dual.sum()) <= 1e-9 * np.abs(c.dual).sum()
    square = np.sort((problem.X.T @ c.dual) ** 2)[-K:]
    conjugate = LeastSquares().conjugate(c.dual, problem.y, problem.C * problem.weight)
    assert -conjugate - 0.5 * square.sum() == pytest.approx(c.bound, rel=1e-9)


@pytest.mark.parametrize("seed", [2, 7, 17])
def test_a_proof_goes_on_where_another_one_ended(seed):
    """A proof that was cut off would be lost, or go on from bounds that are none."""
    problem = Posed(seed)
    support, options = SUPPORTS[problem.values.argmin()], {"C": problem.C, "gap": 0.0}
    short = run(prove_support(problem.task(), support, max_nodes=3, **options))
    tree = short.certificate.tree
    onward = run(prove_support(problem.task(), support, max_nodes=1, resume=tree, **options))
    for proof in (short, onward):
        assert proof.status is Status.NODE_LIMIT
        problem.check(proof.certificate)
    assert onward.certificate.bound >= short.certificate.bound * (1 - 1e-9)
    end = run(prove_support(problem.task(), support, resume=onward.certificate.tree, **options))
    assert end.status is Status.OPTIMAL
    assert end.certificate.bound == pytest.approx(problem.best, rel=1e-8)


METHODS = (
    "auto",
    "l0",
    "greedy",
    "minimax",
    "l1",
    "reweighted-l1",
    methods.Minimax(solver="fista"),
)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_regressor_by_every_method(method):
    """A method would fit labels that the target has not, or give no certificate."""
    posed = Posed(0)
    model = BudgetRegressor([2, K], method=method, refit_C=1e8).fit(posed.X, posed.y)
    assert [path.support.size for path in (model.path_[2], model.path_[K])] == [2, K]
    A = np.column_stack([posed.X[:, model.support_], np.ones(N)])
    expected = np.linalg.lstsq(A, posed.y, rcond=None)[0]
    np.testing.assert_allclose(model.coef_[model.support_], expected[:-1], rtol=1e-5)
    assert model.intercept_ == pytest.approx(expected[-1], abs=1e-5)
    c = model.certificate_
    assert c.loss == "least_squares"
    assert verify(posed.X, posed.y, c)["gap"] == pytest.approx(c.gap, abs=1e-9)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_target_of_zeros(method):
    """Gaps would be divided by the objective of the model without features, which is 0."""
    posed = Posed(0)
    model = BudgetRegressor(K, method=method).fit(posed.X, np.zeros(N))
    assert model.support_.size == K
    assert not model.predict(posed.X).any()
    assert model.optimality_gap_ == 0.0


def test_a_regressor_is_proven_best():
    """The best subset would not be the best one, or nobody could check it."""
    posed = Posed(3)
    model = BudgetRegressor(K, method=methods.L0(gap=0.0), C=posed.C).fit(posed.X, posed.y)
    share = (posed.X - posed.X.mean(axis=0)) / posed.X.std(axis=0)
    best = values_of(share, posed.y, np.full(N, posed.C), True).min()
    assert model.certificate_.proven
    assert model.certificate_.objective == pytest.approx(best, rel=1e-9)
    verify(posed.X, posed.y, model.certificate_)
    again = prove(model, posed.X, posed.y, gap=0.0)
    assert again.status is Status.OPTIMAL
    own = certify(model, posed.X, posed.y)
    assert own.bound <= best * (1 + 1e-12)
    with pytest.raises(ValueError, match="claims the bound"):
        verify(posed.X, posed.y, replace(own, bound=1.001 * own.bound))


def test_criteria_of_a_regressor_are_those_of_normal_errors():
    """The size would be chosen by squares of the target's units."""
    posed = Posed(5)
    model = BudgetRegressor(8, criterion="bic", refit_C=1e8).fit(posed.X, posed.y)
    table = model.criteria_
    for k, bic in zip(table["size"], table["bic"], strict=True):
        selection = model.path_[k]
        residual = posed.y - posed.X[:, selection.support] @ selection.coef - selection.intercept
        expected = N * np.log(residual @ residual / N) + k * np.log(N)
        assert bic == pytest.approx(expected, rel=1e-6)
    scaled = BudgetRegressor(8, criterion="bic", refit_C=1e8).fit(posed.X, 100.0 * posed.y)
    assert scaled.size_ == model.size_

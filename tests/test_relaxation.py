"""The relaxation of the l0 problem, its norm, and the two ways to solve it."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
import scipy.sparse as sp

import oracles
from conftest import slow
from generators import instance
from python_paths import without_solvers
from zeronorm.data.gathered import as_columns
from zeronorm.losses import Gamma, Huber, LeastSquares, Logistic, Poisson, SquaredHinge
from zeronorm.solvers import relaxation
from zeronorm.solvers.problem import Risk, Singles
from zeronorm.solvers.quadratic import proximal_shares, support_norm
from zeronorm.solvers.relaxation import is_compiled, relax

LOSSES = {"logistic": Logistic(), "squared_hinge": SquaredHinge()}
WHOLE = 30  # draws from there on have nothing to choose: all columns make the one model
WAYS = [True, False]  # whether steps are compiled


def by_column(X):
    """Return gathered columns as a design gives them."""
    return as_columns(np.asfortranarray(X))


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Both ways, one after the other."""
    if not request.param:
        without_solvers(monkeypatch)
    return request.param


@pytest.mark.parametrize("q", [1, 2, 3, 7])
def test_support_norm_is_that_of_the_definition(q):
    """The relaxation would minimise another penalty, and its bounds be false."""
    rng = np.random.default_rng(q)
    for _ in range(50):
        u = rng.standard_normal(7) * (rng.random(7) < 0.7)
        value, threshold = support_norm(u, q)
        assert value == pytest.approx(oracles.k_support(u, q)[0], rel=1e-9, abs=1e-12)
        share = np.minimum(1.0, np.abs(u) / threshold) if threshold > 0 else (u != 0).astype(float)
        assert share.sum() <= q + 1e-9
        used = u != 0
        assert 0.5 * np.sum(u[used] ** 2 / share[used]) == pytest.approx(value, rel=1e-9)


def test_shares_of_next_to_no_curvature():
    """A relaxation in which the loss is flat ends in an IndexError."""
    size = np.array([3.0, 1.0, 2.0, 0.5])
    for curvature in (1e-9, 1e-17, 1e-300):
        for q in (1, 2):
            share = proximal_shares(size, q, curvature)
            np.testing.assert_allclose(share, np.isin(size, np.sort(size)[-q:]), atol=1e-4)


@pytest.mark.parametrize("curvature", [0.2, 1.0, 30.0])
def test_proximal_shares_minimise(curvature):
    """No other share of the budget gives a smaller proximal objective."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        q = int(rng.integers(1, 6))
        v = rng.standard_normal(9) * (rng.random(9) < 0.8)
        v[3] = v[4]  # a tie
        share = proximal_shares(np.abs(v), q, curvature)
        assert share.sum() <= q + 1e-9
        assert np.all((share >= 0) & (share <= 1))
        u = v * curvature * share / (curvature * share + 1)

        def value(u, v=v, q=q):
            return 0.5 * curvature * np.sum((u - v) ** 2) + support_norm(u, q)[0]

        for _ in range(30):
            other = u + rng.choice([1e-3, 0.1, 1.0]) * rng.standard_normal(9)
            assert value(u) <= value(other) + 1e-12


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("intercept", [False, True])
def test_relaxation_agrees_with_a_conic_solver(loss, intercept, way):
    """The bound at the root would not be that of the convex relaxation."""
    for seed in range(3):
        X, y = instance(seed, n=25, p=9)
        for k in (1, 3, 6):
            conic = oracles.full_problem(X, y, k, 0.4, loss=loss, intercept=intercept)
            risk = Risk(y, np.full(25, 0.4), LOSSES[loss], intercept)
            found = relax(by_column(X), Singles(np.ones(X.shape[1], bool)), risk, 0, k, tol=1e-9)
            assert found.objective == pytest.approx(conic.objective, rel=1e-6)
            assert found.bound == pytest.approx(conic.objective, rel=1e-6)
            assert found.bound <= found.objective + 1e-12


def hard(seed):
    """Return a problem whose loss outweighs the ridge, or whose columns are nearly collinear."""
    rng = np.random.default_rng(seed)
    X, y = instance(seed, n=int(rng.integers(18, 38)), p=int(rng.integers(9, 12)), correlated=False)
    if seed % 2:
        X[:, 1:] = X[:, :1] + 10 ** rng.uniform(-3, -1) * X[:, 1:]
    return X, y, float(10 ** rng.uniform(1, 4)), int(rng.integers(2, 4))


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("n_fixed", [0, 1])
def test_relaxations_of_a_small_ridge_and_collinear_columns_are_solved(loss, n_fixed, way):
    """A node would take thousands of small steps, and its bound be loose."""
    for seed in range(10):
        X, y, C, k = hard(seed)
        risk = Risk(y, np.full(len(y), C), LOSSES[loss])
        found = relax(
            by_column(X), Singles(np.ones(X.shape[1], bool)), risk, n_fixed, k - n_fixed, tol=1e-6
        )
        assert found.objective - found.bound <= 1e-6 * found.objective


def test_interior_points_of_many_columns_have_those_that_count(way):
    """Columns that the interior-point method leaves out would be missed."""
    for seed in range(4):
        X, y = instance(seed, n=30, p=350)
        risk = Risk(y, np.full(30, 300.0), Logistic())
        found = relax(by_column(X), Singles(np.ones(X.shape[1], bool)), risk, 0, 3, tol=1e-5)
        assert found.objective - found.bound <= 1e-5 * found.objective


@pytest.mark.parametrize(
    "loss", [Logistic(), SquaredHinge(), LeastSquares(), Poisson(), Gamma(), Huber(0.5)]
)
@pytest.mark.parametrize("seed", [*range(4), *slow(*range(4, WHOLE)), WHOLE, *slow(WHOLE + 1)])
@pytest.mark.parametrize("sparse", [False, True])
def test_compiled_and_python_relax_alike(monkeypatch, loss, seed, sparse):
    """A proof would have other bounds, or divide by other features, where nodes are small."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(9, 40)), int(rng.integers(4, 30))
    X = np.asfortranarray(rng.standard_normal((n, p)) + 0.8 * rng.standard_normal((n, 1)))
    if sparse:
        X[np.random.default_rng(seed).random((n, p)) < 0.6] = 0.0
    Z = as_columns(sp.csc_array(X)) if sparse else by_column(X)
    y = X[:, :3].sum(axis=1) + rng.standard_normal(n)
    if loss.of_labels:
        y = np.where(y > 0, 1.0, -1.0)
    elif loss.target != "any":
        y = np.exp(np.clip(y, -2.0, 2.0))
    weight = 10.0 ** rng.uniform(-1, 0.5) * rng.integers(1, 3, n)
    risk = Risk.centred(y, weight, loss, bool(seed % 2))
    chosen = rng.permutation(p)[: max(3, p - 2)]
    n_fixed = int(rng.integers(0, 3))
    q = int(rng.integers(1, chosen.size - n_fixed))
    if seed >= WHOLE:
        q = chosen.size - n_fixed
    units = Singles(np.ones(chosen.size, bool))
    start = 0.1 * rng.standard_normal(chosen.size), 0.1
    found = []
    for compiled in WAYS:
        if not compiled:
            without_solvers(monkeypatch)
        assert is_compiled(Z, chosen, units, risk) == compiled
        found.append(
            relax(
                Z, units, risk, n_fixed, q, columns=chosen, start=start, tol=1e-11, ahead=True
            )
        )  # fmt: skip
    one, other = found
    assert one.objective == pytest.approx(other.objective, rel=2e-9)
    assert one.bound == pytest.approx(other.bound, rel=2e-9)
    np.testing.assert_allclose(one.share, other.share, atol=2e-3)
    for ours, theirs in ((one.into, other.into), (one.out, other.out)):
        np.testing.assert_allclose(ours, theirs, rtol=0.02, atol=1e-3 * one.objective)
    quadratic = np.sort((X[:, chosen].T @ one.dual)[n_fixed:] ** 2)[::-1][:q].sum()
    quadratic += ((X[:, chosen].T @ one.dual)[:n_fixed] ** 2).sum()
    assert -risk.conjugate(one.dual) - 0.5 * quadratic == pytest.approx(one.bound, rel=1e-12)


@pytest.mark.parametrize("seed", list(range(3)))
def test_entries_that_repeat_add_up_in_compiled_steps(seed):
    """The curvature of such columns would be too small, and their steps too long."""
    X, y = instance(seed, 40, 12)
    X[np.random.default_rng(seed).random(X.shape) < 0.5] = 0.0
    whole = sp.csc_array(X)
    twice = sp.csc_array(
        (np.repeat(whole.data, 2) * np.tile([0.25, 0.75], whole.nnz),
         np.repeat(whole.indices, 2), 2 * whole.indptr), whole.shape,
    )  # fmt: skip
    risk, units = Risk(y, np.full(40, 3.0), Logistic()), Singles(np.ones(12, bool))
    one, other = (
        relax(as_columns(Z), units, risk, 1, 3, tol=1e-9, max_iter=6) for Z in (whole, twice)
    )
    assert other.objective == pytest.approx(one.objective, rel=1e-12)
    np.testing.assert_allclose(other.coef, one.coef, atol=1e-9)


@pytest.mark.parametrize("most", [1, 2, 4])
def test_relaxations_take_no_more_steps_than_asked_for(monkeypatch, most):
    """A few steps that are to improve a bound would take the time of a solution."""
    X, y = instance(5, 60, 40)
    Z, units = by_column(X), Singles(np.ones(40, bool))
    risk, found = Risk(y, np.full(60, 2.0), Logistic()), []
    for compiled in WAYS:
        if not compiled:
            without_solvers(monkeypatch)
        for same in (Z, as_columns(sp.csc_array(X))):
            found.append(relax(same, units, risk, 1, 3, tol=1e-12, max_iter=most, ahead=True))
    whole = relax(Z, units, risk, 1, 3, tol=1e-12)
    for one in found:
        assert one.objective == pytest.approx(found[0].objective, rel=1e-7)
        assert one.bound < whole.bound - 1e-7 * whole.bound
        assert one.objective > whole.objective * (1 + 1e-7)


def test_a_bound_above_the_cutoff_ends_the_compiled_steps():
    """A node that cannot hold a better model would be solved to the end."""
    X, y = instance(3, 40, 12)
    risk, units = Risk(y, np.ones(40), Logistic()), Singles(np.ones(12, bool))
    whole = relax(by_column(X), units, risk, 1, 3, tol=1e-9)
    cutoff = 0.9 * whole.objective
    short = relax(by_column(X), units, risk, 1, 3, tol=1e-9, cutoff=cutoff)
    assert cutoff < short.bound <= whole.objective
    assert short.objective - short.bound > 1e-6 * short.objective


@pytest.mark.parametrize("descends", [True, False])
def test_a_relaxation_that_takes_long_is_left(monkeypatch, descends):
    """A single relaxation could take many times the time limit; what it leaves must be a bound."""
    X, y = instance(0, n=40, p=60)
    risk, units = Risk(y, np.full(40, 50.0), Logistic()), Singles(np.ones(60, bool))
    whole = relax(as_columns(X), units, risk, 1, 3, tol=1e-6)  # by row: no step is compiled
    if not descends:  # interior points only
        monkeypatch.setattr(relaxation.RelaxationProblem, "newton_step", lambda *_: None)
    ticks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    short = relax(as_columns(X), units, risk, 1, 3, tol=1e-6, deadline=4.0, ahead=True)
    assert next(ticks) <= 8
    assert -np.inf < short.bound < whole.bound - 1e-3 * abs(whole.bound)
    assert short.objective >= whole.bound
    assert not short.into.any()
    none = relax(as_columns(X), units, risk, 1, 3, tol=1e-6, deadline=-np.inf)
    assert none.bound < short.bound + 1e-9


@pytest.mark.parametrize(
    "loss", [Logistic(), SquaredHinge(), LeastSquares(), Poisson(), Gamma(), Huber(0.5)]
)
@pytest.mark.parametrize("intercept", [False, True])
def test_bounds_on_the_way_are_those_of_their_dual_points(loss, intercept):
    """A node would be ended by a bound that its dual point does not have."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 12)) + rng.standard_normal((40, 1))
        y = X[:, 1] - X[:, 4] + rng.standard_normal(40)
        if loss.of_labels:
            y = np.where(y > 0, 1.0, -1.0)
        elif loss.target != "any":
            y = np.exp(np.clip(y, -2.0, 2.0))
        risk = Risk.centred(y, rng.integers(0, 3, 40).astype(float), loss, intercept)
        units, start = Singles(np.ones(12, bool)), (0.3 * rng.standard_normal(12), -0.3)
        best = relax(by_column(X), units, risk, 1, 2, tol=1e-10).bound
        for tol, cutoff in ((0.1, np.inf), (1e-3, np.inf), (1e-6, 0.9 * best), (0.1, 0.999 * best)):
            found = relax(by_column(X), units, risk, 1, 2, start=start, tol=tol, cutoff=cutoff)
            scores = X.T @ found.dual
            np.testing.assert_allclose(found.scores, scores, rtol=1e-9, atol=1e-9)
            quadratic = scores[0] ** 2 + np.sort(scores[1:] ** 2)[-2:].sum()
            value = -risk.conjugate(found.dual) - 0.5 * quadratic
            assert found.bound == pytest.approx(value, rel=1e-12)
            assert found.bound <= best * (1.0 + 1e-9)
            if intercept:
                assert abs(found.dual.sum()) <= 1e-12 * np.abs(found.dual).sum()

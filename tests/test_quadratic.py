"""The relaxation of a quadratic loss, and what dividing by a unit is said to bring."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from zeronorm.solvers import quadratic
from zeronorm.solvers.problem import Grouped, Singles
from zeronorm.solvers.quadratic import QUADRATIC, Quadratic


def value(H, r, code, q, *, inside=(), outside=()):
    """Return the least value over the shares d of all units, by SLSQP, some of them given."""
    n_units = code.max() + 1
    low, high = np.full(n_units, 1e-9), np.ones(n_units)
    low[list(inside)], high[list(outside)] = 1.0, 1e-9

    def of(d):
        u = np.linalg.solve(H + np.diag(1.0 / d[code]), r)
        return -0.5 * float(r @ u), -0.5 * np.bincount(code, u**2, n_units) / d**2

    start = np.clip(np.full(n_units, q / n_units), low, high)
    room = {"type": "ineq", "fun": lambda d: q - d.sum(), "jac": lambda d: -np.ones(n_units)}
    found = minimize(
        of, start, jac=True, method="SLSQP", bounds=list(zip(low, high, strict=True)),
        constraints=room, options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    return float(found.fun)


def draw(seed, n, code):
    """Return H and r of least squares with correlated columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, code.size)) + 0.7 * rng.standard_normal((n, 1))
    y = X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(n)
    return 0.3 * X.T @ X, 0.3 * X.T @ y


def objective(H, r, code, n_fixed, q, u):
    """Return the value at u: the penalty is the largest u'c - 1/2 (sum of the largest c^2)."""
    length = np.sqrt(np.bincount(code, u**2))
    free = np.sort(length[n_fixed:])[::-1]
    tails = [free[i:].sum() / (q - i) for i in range(q)]
    i = next(i for i in range(q) if free.size <= i or free[i] <= tails[i] or i == q - 1)
    penalty = 0.5 * ((length[:n_fixed] ** 2).sum() + (free[:i] ** 2).sum())
    penalty += 0.5 * free[i:].sum() ** 2 / (q - i)
    return 0.5 * float(u @ H @ u) - float(r @ u) + penalty


@pytest.mark.parametrize("seed", [*range(3)])
@pytest.mark.parametrize("size", [1, 2])
def test_minima_are_those_of_the_shares(seed, size):
    """A Newton step would lead elsewhere than to the minimum of its model."""
    code = np.repeat(np.arange(8), size)
    units = Singles(np.ones(8, bool)) if size == 1 else Grouped(code, 8, np.ones(16, bool))
    for n, n_fixed, q in ((40, 0, 3), (6, 0, 2), (40, 2, 1), (6, 1, 6)):
        H, r = draw(seed, n, code)
        u = Quadratic(H, r, units, n_fixed, q).minimise(np.zeros(code.size), 1e-9)
        least = value(H, r, code, n_fixed + q, inside=range(n_fixed))
        assert objective(H, r, code, n_fixed, q, u) == pytest.approx(least, rel=5e-4)


@pytest.mark.parametrize("seed", [*range(20)])
def test_compiled_and_python_lead_to_the_same_minimum(monkeypatch, seed):
    """Proofs would have worse bounds where nodes are small, or where the loss is far from flat."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 30))
    n_fixed = int(rng.integers(0, p + 1))
    q = int(rng.integers(0, p - n_fixed + 1))
    n = int(rng.integers(1, 40)) if seed % 2 else 3 * p
    X = rng.integers(-2, 3, (n, p)) * 10.0 ** rng.integers(-1, 2, p)
    H, r = X.T @ X, X.T @ rng.standard_normal(n)
    model = Quadratic(H, r, Singles(np.ones(p, bool)), n_fixed, q)
    start = rng.standard_normal(p) if q else np.zeros(p)
    values, gaps = [], []
    for most in (QUADRATIC.most_compiled, -1):
        monkeypatch.setattr(quadratic, "QUADRATIC", replace(QUADRATIC, most_compiled=most))
        u = model.minimise(start, 1e-12)
        scores, penalty = r - H @ u, model._penalty(u)
        values.append(0.5 * u @ H @ u - r @ u + penalty)
        gaps.append(penalty + model._conjugate(scores) - u @ scores)
    assert abs(values[0] - values[1]) <= sum(gaps) + 1e-9
    assert max(gaps) < 1e-5


def gap(H, r, code, n_fixed, q, u):
    """Return how far u may be from the minimum: its value less the dual one at c = r - Hu."""
    c = r - H @ u
    squares = np.bincount(code, c**2)
    most = np.sort(squares[n_fixed:])[::-1][:q].sum()
    dual = -0.5 * float(u @ H @ u) - 0.5 * (squares[:n_fixed].sum() + most)
    return objective(H, r, code, n_fixed, q, u) - dual


@pytest.mark.parametrize("seed", [*range(20)])
def test_minima_of_groups_have_no_gap(seed):
    """Bounds of several responses or classes would be too low, and their proofs take longer."""
    rng = np.random.default_rng(seed)
    n_units = int(rng.integers(2, 15))
    code = np.repeat(np.arange(n_units), rng.integers(1, 6, n_units))
    n_fixed = int(rng.integers(0, n_units))
    q = int(rng.integers(1, n_units - n_fixed + 1))
    n = int(rng.integers(1, 40)) if seed % 2 else 3 * code.size
    X = rng.integers(-2, 3, (n, code.size)) * 10.0 ** rng.integers(-1, 2, n_units)[code]
    H, r = X.T @ X, X.T @ rng.standard_normal(n)
    units = Grouped(code, n_units, np.ones(code.size, bool))
    for start in (np.zeros(code.size), rng.standard_normal(code.size)):
        u = Quadratic(H, r, units, n_fixed, q).minimise(start, 1e-12)
        assert gap(H, r, code, n_fixed, q, u) < 1e-5


@pytest.mark.parametrize("seed", range(10))
def test_groups_of_one_are_features_by_themselves(seed):
    """One response would have another bound than the same response as one of a list."""
    code = np.arange(12)
    usable = np.ones(12, bool)
    for n_fixed, q in ((0, 3), (2, 1), (1, 11)):
        H, r = draw(seed, 30, code)
        values = [
            objective(H, r, code, n_fixed, q, model.minimise(np.zeros(12), 1e-12))
            for model in (
                Quadratic(H, r, Singles(usable), n_fixed, q),
                Quadratic(H, r, Grouped(code, 12, usable), n_fixed, q),
            )
        ]
        assert values[0] == pytest.approx(values[1], rel=1e-9)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e300])
def test_numbers_that_have_no_order_end_a_minimisation(wrong):
    """A NaN in a sort would read beyond an array."""
    H, r = np.eye(20), np.ones(20)
    H[3, 4] = H[4, 3] = wrong
    r[5:] = wrong
    u = Quadratic(H, r, Singles(np.ones(20, bool)), 1, 3).minimise(np.zeros(20), 1e-9)
    assert u.shape == (20,)


@pytest.mark.parametrize("size", [1, 2])
def test_rises_are_those_of_forced_units_while_the_others_stay(size):
    """Nodes would be divided by units that bring nothing."""
    n_units = 9
    code = np.repeat(np.arange(n_units), size)
    usable = np.ones(code.size, bool)
    units = Singles(usable) if size == 1 else Grouped(code, n_units, usable)
    h = np.array([2.0, 4.0, 5.0, 6.0, 4.5, 4.2, 5.1, 4.8, 5.5])
    r = np.array([9.0, 1.0, 1.05, 1.1, 0.98, 1.0, 1.02, 1.0, 1.04])[code]
    r *= np.resize([1.0, -0.5], code.size)
    H = np.diag(h[code])
    model = Quadratic(H, r, units, 1, 2)
    u = model.minimise(np.zeros(code.size), 1e-14)
    into, out = model.rises(u)
    known = value(H, r, code, 3, inside=[0])
    assert into[0] == out[0] == 0
    for unit in range(1, n_units):
        inside = value(H, r, code, 3, inside=[0, unit]) - known
        outside = value(H, r, code, 3, inside=[0], outside=[unit]) - known
        assert into[unit] == pytest.approx(inside, rel=2e-4)
        assert out[unit] == pytest.approx(outside, rel=2e-4)


def test_rises_of_the_last_place():
    """Where one feature is to be chosen, a rise would be divided by zero."""
    H, r = np.array([[3.0, 1.0], [1.0, 3.0]]), np.array([2.0, -1.9])
    model = Quadratic(H, r, Singles(np.ones(2, bool)), 0, 1)
    u = model.minimise(np.zeros(2), 1e-14)
    known = 0.5 * u @ H @ u - r @ u + 0.5 * np.abs(u).sum() ** 2
    into, out = model.rises(u)
    alone = -0.5 * r**2 / (np.diag(H) + 1.0)
    np.testing.assert_allclose(into, alone - known, rtol=1e-6)
    np.testing.assert_allclose(out, alone[::-1] - known, rtol=1e-6)


def test_columns_that_are_equal_bring_nothing():
    """A tree would be divided by one of two equal columns, and neither half be better."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4)) + 0.5 * rng.standard_normal((30, 1))
    X = np.column_stack([X, X[:, 0]])
    y = X[:, 0] + 0.5 * X[:, 1] + 0.5 * X[:, 2] + 0.5 * rng.standard_normal(30)
    model = Quadratic(0.3 * X.T @ X, 0.3 * X.T @ y, Singles(np.ones(5, bool)), 0, 2)
    into, out = model.rises(model.minimise(np.zeros(5), 1e-12))
    gain = into * out
    assert gain[[1, 2]].max() > 1e-6 > 1e3 * gain[[0, 4]].max()

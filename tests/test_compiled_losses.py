"""Losses of numbers and times in the compiled solvers, against their formulas in NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from python_paths import without_solvers
from test_kernels import exchange_pool
from zeronorm._kernels import _native as native
from zeronorm.core.results import Status
from zeronorm.data.gathered import as_columns
from zeronorm.losses import (
    Cox,
    Gamma,
    Huber,
    LeastSquares,
    Logistic,
    Poisson,
    Quantile,
    SquaredHinge,
    fit_intercept,
)
from zeronorm.losses.base import at_margins, is_compiled
from zeronorm.solvers import exchange, ridge
from zeronorm.solvers.exchange import Exchanges
from zeronorm.solvers.final_fits import RowsLeftOut, leave_one_out_loss, refit
from zeronorm.solvers.minimax import BlockProblem, State, bound_of, newton, penalty
from zeronorm.solvers.problem import Risk
from zeronorm.verification.losses import loss_of

OF_ROWS = [Poisson(), Gamma(), Huber(width=0.7), Quantile(0.8, width=0.3)]
LOSSES = [*OF_ROWS, Cox(), Cox("efron")]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


@pytest.fixture
def in_python(monkeypatch):
    """A function that leaves the calls that follow to Python."""
    return lambda: without_solvers(monkeypatch)


def target(loss, seed, n):
    """Targets of a loss: of counts with many zeros, of times with ties and strata."""
    rng = np.random.default_rng(seed)
    if loss.name == "poisson":
        return rng.poisson(1.5, n) * rng.choice([1.0, 0.37], n)
    if loss.name == "gamma":
        return rng.gamma(2.0, 1.0, n)
    if loss.target == "survival":
        time = np.ceil(rng.exponential(10.0, n)) + 1.0
        return np.column_stack([time, rng.random(n) < 0.6, rng.integers(0, 3, n)]).astype(float)
    if loss.of_labels:
        return rng.choice([-1.0, 1.0], n)
    return rng.standard_normal(n)


def weights(seed, n):
    """Weights, one of them 0 but for the first rows."""
    weight = np.random.default_rng(seed + 1).uniform(0.05, 2.0, n)
    weight[5:6] = 1e-3
    return weight


@each_loss
@pytest.mark.parametrize("scale", [1e-6, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("n", [1, 4, 7, 64])
def test_margins(loss, scale, n, in_python):
    """A fit would descend on another loss than its certificate is of."""
    y, weight = target(loss, n, n), weights(n, n)
    z = scale * np.random.default_rng(7).standard_normal(n)
    assert is_compiled(loss)
    _, value, gradient, curvature = at_margins(loss, z, y, weight)
    if loss.target == "survival":  # as the verifier knows it
        known = loss_of(loss.name, {})
        expected = known.losses(z, y, weight)[0].sum()
        slope = -known.slopes(z, y, weight)
        bend = slope + weight * y[:, 1]
    else:
        in_python()
        expected, slope = loss.value_gradient(z, y, weight)
        bend = loss.curvature(z, y, weight)
    size = np.abs(slope).max() + weight.max() + 0.01 * scale
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(gradient, slope, rtol=1e-11, atol=1e-13 * size)
    np.testing.assert_allclose(curvature, bend, rtol=1e-11, atol=1e-13 * size)


@pytest.mark.parametrize("loss", OF_ROWS[:2], ids=lambda loss: loss.name)
@pytest.mark.parametrize("away", [1e-7, 1e-4, 0.1, 0.49, 0.51, 0.99, 1.01, -0.3, -3.0])
def test_no_digits_are_lost_near_the_least_value(loss, away):
    """The value of a good fit would be the rounding of larger numbers."""
    y = np.array([1e-3, 0.7, 3.0, 500.0, 1e6])
    d = (np.log(y) + away) - np.log(y)  # as it is in floating point
    one = d if loss.name == "poisson" else -d
    series = sum(one**k / np.prod(np.arange(1.0, k + 1)) for k in range(30, 1, -1))
    expected = np.sum((y if loss.name == "poisson" else 1.0) * series)
    value = at_margins(loss, np.log(y) + away, y, np.ones(5))[1]
    assert value == pytest.approx(expected, rel=1e-8 if abs(away) < 1e-6 else 1e-11)


@pytest.mark.parametrize("loss", OF_ROWS, ids=lambda loss: loss.name)
@pytest.mark.parametrize("scale", [0.1, 3.0, 50.0])
def test_best_intercept(loss, scale, in_python):
    """Bounds would be of a point with another intercept."""
    y, weight = target(loss, 3, 41), weights(3, 41)
    z = scale * np.random.default_rng(8).standard_normal(41)
    found = fit_intercept(loss, z, y, weight)
    in_python()
    expected = fit_intercept(loss, z, y, weight)
    assert found[0] == pytest.approx(expected[0], rel=1e-9)
    assert found[1] == pytest.approx(expected[1], rel=1e-12)
    assert abs(found[2].sum()) <= 1e-12 * np.abs(found[2]).sum()


@each_loss
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "origin"])
@pytest.mark.parametrize(("n", "p"), [(12, 1), (40, 5), (203, 17)])
def test_ridge(loss, intercept, n, p, in_python):
    """A fit would not be the best one on its features, or its bound not below the best."""
    rng = np.random.default_rng(n)
    Z = as_columns(np.asfortranarray(rng.standard_normal((n, p + 2))))
    columns = rng.permutation(p + 2)[:p]
    risk = Risk(target(loss, n, n), weights(n, n), loss, intercept)
    penalty = rng.uniform(0.5, 2.0, p)
    options = {"columns": columns, "penalty": penalty, "tol": 1e-13}
    found = ridge(Z, risk, **options)
    in_python()
    expected = ridge(Z, risk, **options)
    size = expected.objective
    assert found.objective == pytest.approx(expected.objective, rel=1e-11)
    assert found.bound <= expected.objective * (1.0 + 1e-12)
    assert found.objective - found.bound <= 1e-11 * max(size, risk.null())
    assert found.gap == pytest.approx((found.objective - found.bound) / risk.null(), abs=1e-13)
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-5 * np.abs(expected.coef).max())
    np.testing.assert_allclose(found.dual, expected.dual, atol=1e-5 * np.abs(expected.dual).max())
    np.testing.assert_allclose(found.scores, Z.take(columns).dot(found.dual), atol=1e-9)
    assert abs(found.dual.sum()) <= 1e-9 if intercept else True


@each_loss
@pytest.mark.parametrize("away", [200.0, 1e4])
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "numpy"])
def test_ridge_from_a_start_that_overflows(loss, away, compiled, in_python):
    """A fit of counts without one of two features that cancelled would end with an error."""
    if not compiled:
        in_python()
    Z = as_columns(np.asfortranarray(np.random.default_rng(3).standard_normal((40, 3))))
    risk = Risk(target(loss, 3, 40), weights(3, 40), loss, True)
    expected = ridge(Z, risk, tol=1e-12)
    found = ridge(Z, risk, start=(np.full(3, away), 0.0), tol=1e-12)
    assert found.objective == pytest.approx(expected.objective, rel=1e-10)
    assert found.objective - found.bound <= 1e-10 * risk.null()


@each_loss
@pytest.mark.parametrize("seed", range(3))
def test_exchanges(loss, seed, in_python):
    """The search would end at other supports than the specification says."""
    (x, _, weight, is_kept), order = exchange_pool(seed, 60, 20)
    x = x / x.std(axis=0)
    risk = Risk(target(loss, seed, 60), np.clip(weight, 0.05, 5.0), loss, True)
    kept = np.flatnonzero(is_kept)
    support = np.sort(np.concatenate([kept, order[~np.isin(order, kept)][: 5 - kept.size]]))

    def improved():
        exchanges = Exchanges(as_columns(np.asfortranarray(x)), risk, keep=kept, tol=1e-6)
        return exchanges.improve(exchanges.fit(support))

    found = improved()
    in_python()
    expected = improved()
    np.testing.assert_array_equal(found.columns, expected.columns)
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)


def test_a_constant_count_has_a_gap_of_zero():
    """A gap relative to no more than rounding would be any number."""
    rng = np.random.default_rng(0)
    Z = as_columns(np.asfortranarray(rng.standard_normal((30, 3))))
    found = ridge(Z, Risk(np.full(30, 3.0), np.ones(30), Poisson(), True), tol=1e-8)
    assert abs(found.gap) <= 1e-6
    assert np.abs(found.coef).max() <= 1e-7


def test_times_with_margins_that_differ_by_much(in_python):
    """Risk sets would be empty by underflow, and Newton steps not finite."""
    y, weight = target(Cox(), 5, 50), weights(5, 50)
    z = 900.0 * np.sign(np.random.default_rng(1).standard_normal(50))
    Z = as_columns(np.asfortranarray(z[:, None]))
    risk = Risk(y, weight, Cox(), True)
    start = np.array([1.0]), 0.0
    found = ridge(Z, risk, penalty=1e6, start=start, tol=1e-10)
    in_python()
    expected = ridge(Z, risk, penalty=1e6, start=start, tol=1e-10)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)


def test_a_loss_that_changes_a_compiled_one_is_not_compiled():
    """The form of its base would be minimised without a word."""

    class Doubled(Poisson):
        def of_rows(self, z, y):
            value, slope = super().of_rows(z, y)
            return 2.0 * value, 2.0 * slope

    assert Doubled().kernel == -1
    assert Poisson().kernel >= 0
    y, z = target(Poisson(), 0, 9), np.linspace(-1, 1, 9)
    once = Poisson().value_gradient(z, y, np.ones(9))[0]
    assert Doubled().value_gradient(z, y, np.ones(9))[0] == pytest.approx(2.0 * once)


def test_coordinate_steps_are_of_losses_that_have_them():
    """The descent would be on another loss without a word."""
    x, y = np.zeros((4, 1), order="F"), np.ones(4)
    with pytest.raises(ValueError, match="no coordinate steps"):
        native.dense_newton_cycle(
            x, np.zeros(1, np.int64), y, y, np.ones((1, 4)), Poisson.kernel, 1e-12, 0.01, y[:1],
            10, 0, np.zeros(1, np.int64), np.zeros(1), np.zeros(4),
        )  # fmt: skip


def test_labels_and_squares_have_ways_of_their_own():
    """What is known of them to the bit would change."""
    assert not is_compiled(LeastSquares())


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("margin", [50.0, 60.0, 80.0])
def test_one_row_with_all_the_curvature(compiled, margin, in_python):
    """A fit would fail as "not finite": rounding leaves less than nothing of a centred column.

    The start, as that of an exchange may, predicts a huge count for the one outlying row.
    """
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((80, 5))
    Z[3] = rng.uniform(5.0, 9.0, 5)
    risk = Risk(rng.poisson(1.0, 80).astype(float), rng.uniform(0.5, 2.0, 80), Poisson())
    start = np.full(5, margin / Z[3].sum()), 0.0
    columns = as_columns(np.asfortranarray(Z))
    if not compiled:
        in_python()
    found = ridge(columns, risk, start=start, tol=1e-9)
    expected = ridge(columns, risk, tol=1e-9)
    assert found.gap <= 1e-8
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-6)


@each_loss
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "origin"])
@pytest.mark.parametrize("share", [1e-3, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("quadratic", [0.0, 1.0, 1e3])
@pytest.mark.parametrize("n", [1, 7, 64])
def test_dual_points(loss, intercept, share, quadratic, n, in_python):
    """A bound would be no bound, or not the one of the scale that bounds the most."""
    y, weight = target(loss, n, n), weights(n, n)
    risk = Risk(y, weight, loss, intercept)
    z = 2.0 * np.random.default_rng(n).standard_normal(n)
    v = risk.dual_point(risk.best(z)[2] if intercept else risk.value_gradient(z)[1])
    found = risk.bound(v, quadratic), risk.conjugate(share * v)
    in_python()
    expected = risk.bound(v, quadratic), risk.conjugate(share * v)
    size = weight.sum() + abs(expected[0][0])
    assert found[0][1] == pytest.approx(expected[0][1], rel=1e-6)
    assert found[0][0] == pytest.approx(expected[0][0], abs=1e-11 * size)
    assert found[1] == pytest.approx(expected[1], rel=1e-11, abs=1e-12 * size)


@each_loss
@pytest.mark.parametrize("away", [1e-3, -1e-3, 1e3, -1e3, np.nan])
def test_no_bound_outside_of_the_domain(loss, away, in_python):
    """A dual point that is none would bound an objective from above."""
    y, weight = target(loss, 5, 30), weights(5, 30)
    risk = Risk(y, weight, loss, False)
    v = risk.dual_point(risk.value_gradient(np.zeros(30))[1])
    v[3] += away
    found = risk.conjugate(v)
    in_python()
    assert np.isfinite(found) == np.isfinite(risk.conjugate(v))


OF_BLOCKS = [*OF_ROWS, LeastSquares(), Logistic(), SquaredHinge()]


@pytest.mark.parametrize(
    ("loss", "n"), [(Cox(), 80), *((loss, n) for loss in OF_BLOCKS for n in (11, 80))],
    ids=lambda one: getattr(one, "name", one),
)  # fmt: skip
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "origin"])
@pytest.mark.parametrize("twins", [False, True], ids=["", "twins"])
def test_blocks(loss, n, intercept, twins, in_python):
    """A pool would not be that of the cutting plane: its inner problem has another solution."""
    rng = np.random.default_rng(11)
    x = rng.standard_normal((n, 14))
    if twins:  # equal columns, in a block of their own
        x[:, 7:] = x[:, :7]
    y, weight = target(loss, 6, n), weights(6, n)
    risk = Risk(y, weight, loss, intercept and loss.has_intercept)
    membership = np.zeros((14, 3))
    membership[:6, 0] = membership[4:10, 1] = membership[8:, 2] = 1.0
    scale, _, b = risk.first()
    problem = BlockProblem(as_columns(np.asfortranarray(x)), membership, risk, scale)
    start = State(np.zeros(14), b, np.array([0.6, 0.2, 0.2]))
    found = newton(problem, start, 1e-9)
    in_python()
    expected = newton(problem, start, 1e-9)
    u, d = found.state.coef, membership @ found.state.block_weight
    value = risk.value_gradient(x @ u + found.state.intercept)[0]
    assert found.status is expected.status is Status.CONVERGED
    assert found.objective == pytest.approx(value + penalty(u, d), rel=1e-12)
    assert found.objective == pytest.approx(expected.objective, abs=2e-9 * scale)
    assert found.bound <= expected.objective * (1.0 + 1e-12)
    assert found.objective - found.bound <= 1e-9 * scale
    assert found.state.block_weight.sum() == pytest.approx(1.0)
    assert found.state.block_weight.min() >= 0.0
    bound = bound_of(problem, found.dual, x.T @ found.dual)
    assert bound == pytest.approx(found.bound, abs=1e-11 * scale)
    assert len(found.history) == found.n_iter + 1
    assert found.history[-1].objective == found.objective


@pytest.mark.parametrize("seed", range(40))
def test_program_over_the_simplex(seed):
    """Weights of blocks would not be the best ones."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 7))
    x = rng.standard_normal((80, 2 * size))
    y = x @ rng.standard_normal(2 * size) + rng.standard_normal(80)
    risk = Risk(y, np.full(80, rng.choice([1e-3, 0.1, 10.0])), LeastSquares(), True)
    membership = np.zeros((2 * size, size))
    for t in range(size):
        membership[rng.permutation(2 * size)[:2], t] = 1.0
    membership[:, 0] = np.maximum(membership[:, 0], membership.sum(axis=1) == 0)
    scale, _, b = risk.first()
    problem = BlockProblem(as_columns(np.asfortranarray(x)), membership, risk, scale)
    found = newton(problem, State(np.zeros(2 * size), b, np.full(size, 1.0 / size)), 1e-9)
    # min over lambda of 1/2 y'(I / C + sum_t lambda_t X_t X_t')^-1 y, centred
    Z, r = x - x.mean(axis=0), y - y.mean()

    def value(at):
        K = np.eye(80) / risk.weight[0] + (Z * (membership @ at)) @ Z.T
        return 0.5 * r @ np.linalg.solve(K, r)

    best = minimize(
        value, np.full(size, 1.0 / size), bounds=[(0.0, 1.0)] * size, method="SLSQP",
        constraints={"type": "eq", "fun": lambda at: at.sum() - 1.0}, options={"ftol": 1e-14},
    )  # fmt: skip
    assert found.objective <= best.fun * (1.0 + 1e-6)
    assert found.bound <= best.fun * (1.0 + 1e-9)


@pytest.mark.parametrize("loss", [*OF_ROWS, LeastSquares(), Logistic()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "origin"])
@pytest.mark.parametrize("C", [1e-6, 0.3, 1e4])
@pytest.mark.parametrize(("n", "p"), [(3, 0), (12, 1), (203, 17)])
def test_rows_left_out(loss, intercept, C, n, p):
    """The final fit would choose another C than the leave-one-out loss says."""
    rng = np.random.default_rng(n)
    Z = as_columns(np.asfortranarray(rng.standard_normal((n, p))))
    y, weight = target(loss, n, n), weights(n, n)
    if loss.of_labels:
        y = np.where(y > 0, 1.0, -1.0)
    risk, penalty = Risk(y, weight, loss, intercept), rng.uniform(0.5, 2.0, p)
    margins = ridge(Z, risk.times(C), penalty=penalty, tol=1e-9).margins
    for unit in (None, rng.uniform(0.1, 1.5, n)):
        rows = RowsLeftOut.of(Z, risk, penalty, unit)
        found = leave_one_out_loss(rows, C, margins)
        with pytest.MonkeyPatch.context() as patch:
            without_solvers(patch)
            expected = leave_one_out_loss(rows, C, margins)
        assert found == pytest.approx(expected, rel=1e-9)


@each_loss
@pytest.mark.parametrize("sizes", [[1], [7, 2], [14, 12, 3]], ids=str)
def test_elimination(loss, sizes, monkeypatch):
    """A pool would be reduced to other supports than the specification says."""
    rng = np.random.default_rng(4)
    x = np.asfortranarray(rng.standard_normal((90, 16)))
    x[:, 9] = x[:, 2]  # a tie: the smaller index stays
    risk = Risk(target(loss, 4, 90), weights(4, 90), loss, True)
    columns = np.delete(np.arange(16), 5)
    exchanges = Exchanges(as_columns(x), risk, keep=np.array([3]))
    found = exchanges.eliminate(columns, sizes)
    monkeypatch.setattr(exchange, "EXCHANGE", replace(exchange.EXCHANGE, kernel_pool=0.0))
    expected = exchanges.eliminate(columns, sizes)
    assert list(found) == list(expected) == sizes
    for size in sizes:
        assert found[size].tolist() == expected[size].tolist()
        assert found[size].size == size
        assert 3 in found[size]


@pytest.mark.parametrize("loss", [*OF_ROWS, LeastSquares(), Logistic()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("seed", range(3))
def test_choice_of_a_weight(loss, seed, in_python):
    """The final fit would have another C, or other coefficients."""
    rng = np.random.default_rng(seed)
    y = target(loss, seed, 60)
    if loss.of_labels:
        y = np.where(y > 0, 1.0, -1.0)
    mean, std = rng.standard_normal(4), 10.0 ** rng.uniform(-1.0, 1.0, 4)
    risk = Risk(y, np.clip(weights(seed, 60), 0.1, None), loss, True)
    Z = as_columns(np.asfortranarray(rng.standard_normal((60, 4))))
    found = refit(Z, mean, std, risk)
    in_python()
    expected = refit(Z, mean, std, risk)
    assert pytest.approx(expected.C, rel=1e-14) == found.C
    assert found.loo_loss == pytest.approx(expected.loo_loss, rel=1e-4)
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-4, atol=1e-6)

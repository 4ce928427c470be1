"""Losses of the margins: derivatives, conjugates, extremes, weights."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import oracles
from zeronorm.core.types import Smooth
from zeronorm.losses import (
    LeastSquares,
    Logistic,
    SquaredHinge,
    balance,
    dual_bound,
    fit_intercept,
)

LOSSES = [pytest.param(loss, id=loss.name) for loss in (Logistic(), SquaredHinge(), LeastSquares())]
each_loss = pytest.mark.parametrize("loss", LOSSES)
each_loss_of_labels = pytest.mark.parametrize("loss", LOSSES[:2])
likelihoods = pytest.mark.parametrize("loss", [LOSSES[0], LOSSES[2]])


def values_of(loss, y, z):
    """f(y_i, z_i) by the documented formula."""
    if isinstance(loss, LeastSquares):
        return 0.5 * (z - y) ** 2
    return oracles.loss_values(loss.name, y * z)


def target_of(loss, y):
    """Labels, or numbers that are none."""
    return y * np.linspace(0.0, 3.0, len(y)) if isinstance(loss, LeastSquares) else y


def feasible(loss, y, weight, share):
    """A dual point by shares in (0, 1): of the caps, of the side of the label, or of any sign."""
    return (y if not isinstance(loss, LeastSquares) else np.resize([1.0, 1.0, -1.0], len(y))) * (
        weight * share
    )


@pytest.fixture
def sample():
    """Margins of both signs away from the kink of the hinge, labels, weights."""
    rng = np.random.default_rng(0)
    z = rng.uniform(-6, 6, 40)
    y = rng.choice([-1.0, 1.0], 40)
    z[np.abs(y * z - 1) < 0.05] += 0.2
    assert (y * z < 1).any()
    assert (y * z > 1).any()
    return z, y, rng.uniform(0.2, 3, 40)


def central(f, z, step=1e-3):
    """4th-order central difference, entry by entry."""
    return (f(z - 2 * step) - 8 * f(z - step) + 8 * f(z + step) - f(z + 2 * step)) / (12 * step)


@each_loss
def test_is_smooth_frozen_and_empty(loss):
    """Solvers that need curvature could be given a loss without it, or one with state."""
    for method in ("value_gradient", "curvature", "conjugate", "best_scale", "inside", "null"):
        assert callable(getattr(loss, method))
    typed: Smooth = loss
    assert typed == type(loss)()
    with pytest.raises((AttributeError, TypeError)):
        loss.scale = 1.0


@each_loss
def test_value_against_direct_formula(loss, sample):
    """The loss would be another function than the one documented."""
    z, y, weight = sample
    y = target_of(loss, y)
    value, _ = loss.value_gradient(z, y, weight)
    assert value == pytest.approx(weight @ values_of(loss, y, z), rel=1e-14)


@each_loss
def test_gradient_is_the_derivative_of_the_value(loss, sample):
    """Scan vectors and Newton steps would point in the wrong direction."""
    z, y, weight = sample
    y, one = target_of(loss, y), np.ones(1)
    _, gradient = loss.value_gradient(z, y, weight)
    for i in range(len(z)):

        def value(t, i=i):
            return weight[i] * loss.value_gradient(np.array([t]), y[i : i + 1], one)[0]

        assert gradient[i] == pytest.approx(central(value, z[i]), rel=1e-9, abs=1e-10)


@each_loss
def test_curvature_is_the_derivative_of_the_gradient(loss, sample):
    """Newton steps would lose their quadratic convergence."""
    z, y, weight = sample
    y = target_of(loss, y)
    curve = central(lambda t: loss.value_gradient(t, y, weight)[1], z)
    np.testing.assert_allclose(loss.curvature(z, y, weight), curve, rtol=1e-8, atol=1e-10)
    assert (loss.curvature(z, y, weight) >= 0).all()


@each_loss
def test_fenchel_young_equality(loss, sample):
    """Primal and dual values would not meet at the optimum, so no gap could close."""
    z, y, weight = sample
    y = target_of(loss, y)
    value, gradient = loss.value_gradient(z, y, weight)
    v = -gradient
    np.testing.assert_allclose(loss.inside(v, y, weight), v, rtol=1e-15)
    conjugate = loss.conjugate(v, y, weight)
    assert value + conjugate == pytest.approx(-z @ v, rel=1e-12, abs=1e-12)


@each_loss
def test_fenchel_young_inequality(loss, sample):
    """A lower bound could exceed the optimum at a dual point that is not optimal."""
    _, y, weight = sample
    rng = np.random.default_rng(1)
    target = target_of(loss, y)
    for _ in range(50):
        v = feasible(loss, y, weight, rng.uniform(0, 1, len(y)))
        other = loss.conjugate(v, target, weight)
        assert np.isfinite(other)
        z = rng.normal(0, 3, len(y))
        value, _ = loss.value_gradient(z, target, weight)
        assert value + other >= -z @ v - 1e-10


@each_loss
def test_conjugate_against_numerical_maximisation(loss, sample):
    """The bound would be that of another loss, or have lost the weights."""
    _, y, weight = sample
    v = feasible(loss, y, weight, np.random.default_rng(2).uniform(0.01, 0.99, len(y)))
    y = target_of(loss, y)
    for i in range(len(y)):
        row = slice(i, i + 1)
        # The maximum over z of -v z - s f(y, z).
        found = minimize_scalar(
            lambda z, row=row: (
                float(v[row][0] * z) + loss.value_gradient(np.array([z]), y[row], weight[row])[0]
            ),
            bracket=(-1.0, 1.0),
            options={"xtol": 1e-9},
        )
        own = loss.conjugate(v[row], y[row], weight[row])
        assert own == pytest.approx(-found.fun, rel=1e-9, abs=1e-9)
    parts = [loss.conjugate(v[[i]], y[[i]], weight[[i]]) for i in range(len(y))]
    assert loss.conjugate(v, y, weight) == pytest.approx(sum(parts), rel=1e-12)


@each_loss_of_labels
def test_conjugate_against_direct_formula(loss, sample):
    """The dual value would miss its constant, and weighted bounds would be no bounds."""
    _, y, weight = sample
    alpha = weight * np.random.default_rng(2).uniform(0.01, 0.99, len(y))
    expected = -oracles.dual_value(loss.name, alpha, 1.0, weight)
    assert loss.conjugate(alpha * y, y, weight) == pytest.approx(expected, rel=1e-12)


@each_loss
def test_inside_is_the_nearest_point_of_finite_conjugate(loss, sample):
    """A point with an infinite conjugate would be taken for one that proves something."""
    _, y, weight = sample
    target = target_of(loss, y)
    rng = np.random.default_rng(12)
    v = 2 * rng.standard_normal(len(y)) * weight
    inside = loss.inside(v, target, weight)
    assert np.isfinite(loss.conjugate(inside, target, weight))
    np.testing.assert_array_equal(loss.inside(inside, target, weight), inside)
    if isinstance(loss, LeastSquares):
        np.testing.assert_array_equal(inside, v)
        return
    assert (inside != v).any()
    assert (y * inside >= 0).all()
    if isinstance(loss, Logistic):
        assert (np.abs(inside) <= weight).all()
    for _ in range(200):  # entry by entry no other point of the set is nearer
        other = feasible(loss, y, weight, rng.uniform(0, 1, len(y)))
        assert (np.abs(inside - v) <= np.abs(other - v) + 1e-15).all()


@each_loss
@pytest.mark.parametrize("intercept", [False, True])
def test_null_is_the_least_value_without_features(loss, sample, intercept):
    """Gaps, which are shares of it, would mean something else."""
    _, y, weight = sample
    y = target_of(loss, y)

    def value(b):
        return loss.value_gradient(np.full(len(y), b), y, weight)[0]

    found = loss.null(y, weight, intercept)
    if not intercept:
        assert found == pytest.approx(value(0.0), rel=1e-14)
        return
    best = minimize_scalar(value, bracket=(-1.0, 1.0), options={"xtol": 1e-10}).fun
    assert found == pytest.approx(best, rel=1e-12)
    assert found < value(0.0)
    assert found == pytest.approx(fit_intercept(loss, np.zeros(len(y)), y, weight)[1], rel=1e-13)
    fold = np.where(np.arange(len(y)) % 3 > 0, weight, 0.0)
    some = fold > 0
    assert loss.null(y, fold, True) == pytest.approx(loss.null(y[some], fold[some], True))


@likelihoods
def test_deviance_is_twice_the_loss_less_that_of_a_perfect_fit(loss, sample):
    """Explained deviance would be no share of what can be explained."""
    z, y, weight = sample
    y = target_of(loss, y)
    expected = 2 * weight @ values_of(loss, y, z)
    assert loss.deviance(z, y, weight) == pytest.approx(expected, rel=1e-13)
    perfect = y if isinstance(loss, LeastSquares) else 800 * y
    assert loss.deviance(perfect, y, weight) == 0


@likelihoods
def test_mean_is_where_the_expected_gradient_is_zero(loss):
    """Probabilities would be those of another model."""
    z = np.array([-800.0, -3.0, -0.1, 0.0, 2.0, 800.0])
    mean, one = loss.mean(z), np.ones(z.size)
    if isinstance(loss, LeastSquares):
        np.testing.assert_array_equal(mean, z)
        return
    np.testing.assert_allclose(mean, np.exp(-np.logaddexp(0.0, -z)), rtol=1e-14)
    up, down = (loss.value_gradient(z, label * one, one)[1] for label in (1.0, -1.0))
    np.testing.assert_allclose(mean * up + (1 - mean) * down, 0.0, atol=1e-15)


@each_loss
def test_rows_of_weight_zero_have_no_part(loss, sample):
    """A fold, which is a set of weights, would not be the problem of its rows."""
    z, y, weight = sample
    v = feasible(loss, y, weight, 0.3)
    y = target_of(loss, y)
    kept = np.arange(len(y)) % 3 > 0
    fold = np.where(kept, weight, 0.0)
    value, gradient = loss.value_gradient(z, y, fold)
    small, of_rows = loss.value_gradient(z[kept], y[kept], weight[kept])
    assert value == pytest.approx(small, rel=1e-13)
    assert not gradient[~kept].any()
    np.testing.assert_allclose(gradient[kept], of_rows, rtol=1e-15)
    assert not loss.curvature(z, y, fold)[~kept].any()
    v[~kept] = 0.0
    for function in (loss.conjugate, lambda *a: loss.best_scale(*a, 0.7)):
        some = function(v[kept], y[kept], weight[kept])
        assert function(v, y, fold) == pytest.approx(some, rel=1e-12)


@each_loss
def test_conjugate_at_the_ends(loss, sample):
    """A dual variable of exactly 0 or exactly the cap would give NaN instead of the limit."""
    _, y, weight = sample
    assert loss.conjugate(np.zeros(len(y)), y, weight) == 0
    if isinstance(loss, Logistic):
        assert loss.conjugate(weight * y, y, weight) == 0


@each_loss
@pytest.mark.parametrize("quadratic", [0.0, 1e-6, 0.3, 40.0, 1e9])
@pytest.mark.parametrize("spread", ["even", "wide"])
def test_best_scale_maximises(loss, sample, quadratic, spread):
    """Bounds would be looser than the scan allows, useless when columns are not scaled."""
    _, y, weight = sample
    rng = np.random.default_rng(3)
    share = rng.uniform(0.1, 0.9, len(y)) if spread == "even" else 10 ** rng.uniform(-9, -1, len(y))
    v = feasible(loss, y, weight, share)
    y = target_of(loss, y)
    v *= np.sign(y @ v) if isinstance(loss, LeastSquares) else 1.0  # a direction of ascent

    def dual(t):
        return -loss.conjugate(t * v, y, weight) - t * t * quadratic

    scale = loss.best_scale(v, y, weight, quadratic)
    assert scale > 0
    high = 1 / share.max() if isinstance(loss, Logistic) else 1e4 / share.max()
    grid = np.geomspace(1e-14 * high, high * (1 - 1e-12), 400)
    best = grid[np.argmax([dual(t) for t in grid])]
    found = minimize_scalar(
        lambda t: -dual(t),
        bounds=(best / 3, min(best * 3, high)),
        method="bounded",
        options={"xatol": 1e-12 * best},
    )
    rounding = 1e-15 * weight.sum()
    assert dual(scale) >= -found.fun - 1e-9 * abs(found.fun) - rounding
    if isinstance(loss, Logistic):
        assert (scale * np.abs(v) <= weight).all()


def test_best_scale_of_a_direction_of_descent():
    """A bound of least squares would be divided by zero, or turned round."""
    y, weight = np.array([1.0, -2.0, 0.5]), np.ones(3)
    for v in (-y, np.array([2.0, 1.0, 0.0]), np.zeros(3)):
        assert LeastSquares().best_scale(v, y, weight, 0.3) == 1.0


@each_loss
def test_best_scale_does_not_depend_on_the_scale_given(loss, sample):
    """The bound would depend on how far the dual point is from its best multiple."""
    _, y, weight = sample
    share = np.random.default_rng(4).uniform(0.1, 0.9, len(y))
    y = target_of(loss, y)
    v = weight * share * np.where(y >= 0, 1.0, -1.0)
    bounds = [dual_bound(loss, t * v, y, weight, 0.7 * t * t)[0] for t in (1.0, 1e-8, 1e-3, 0.99)]
    np.testing.assert_allclose(bounds, bounds[0], rtol=1e-9)


def test_best_scale_where_the_dual_underflows():
    """The second derivative is 0 there: division by it would give NaN with a warning."""
    y, weight = np.array([1.0, -1.0, 1.0]), np.full(3, 1e3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (1e-290, 1e-308, 5e-324):
            for quadratic in (0.0, 1e-300, 1.0, 1e200):
                v = np.array([size, 0.0, size])
                bound, scale = dual_bound(Logistic(), v, y, weight, quadratic)
                assert np.isfinite(bound)
                assert 0 < scale < np.inf
                assert np.all(scale * v <= weight)


@each_loss
def test_best_scale_of_a_zero_dual(loss, sample):
    """A dual point of zeros (every row fitted) would divide by zero."""
    _, y, weight = sample
    scale = loss.best_scale(np.zeros(len(y)), y, weight, 0.0)
    assert np.isfinite(scale)
    assert scale > 0


@each_loss
@pytest.mark.parametrize("largest", [0.5, 1e-100, 1e-150])
def test_best_scale_of_nearly_zero_duals(loss, largest):
    """Well separated rows have dual variables near underflow: the bound would be NaN or warn."""
    y = np.resize([1.0, -1.0], 40)
    v = y * largest * 10 ** -np.linspace(0, 150, 40)
    v[-2:] = 5e-324, 0.0
    for quadratic in (0.0, largest**2, largest, 1.0):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            bound, scale = dual_bound(loss, v, y, np.ones(40), quadratic)
        assert np.isfinite(bound)
        assert 0 < scale < np.inf
        assert bound >= -1e-12
        if isinstance(loss, Logistic):
            assert (scale * np.abs(v) <= 1).all()


@each_loss
@pytest.mark.parametrize("size", [1e2, 1e3, 1e4])
def test_extreme_margins_are_finite_and_silent(loss, size):
    """Separable data with a large C would end in overflow, NaN or warnings."""
    z = np.array([size, -size, size, -size, 0.0])
    y = np.array([1.0, 1.0, -1.0, -1.0, 1.0])
    weight = np.array([1.0, 0.5, 2.0, 1e-3, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, gradient = loss.value_gradient(z, y, weight)
        curve = loss.curvature(z, y, weight)
        conjugate = loss.conjugate(-gradient, y, weight)
    assert value == pytest.approx(weight @ values_of(loss, y, z), rel=1e-13)
    assert np.isfinite([value, conjugate, *gradient, *curve]).all()
    assert isinstance(loss, LeastSquares) or (y * gradient <= 0).all()
    if isinstance(loss, Logistic):
        assert (np.abs(gradient) <= weight).all()
        assert gradient[1] == pytest.approx(-0.5)


def test_logistic_keeps_tiny_gradients():
    """Well separated rows would lose their dual variable, and with it the next scan."""
    y = np.array([1.0, -1.0])
    _, gradient = Logistic().value_gradient(np.array([600.0, -600.0]), y, np.ones(2))
    np.testing.assert_allclose(-y * gradient, np.exp(-600.0), rtol=1e-12)
    value, _ = Logistic().value_gradient(np.array([40.0]), y[:1], np.ones(1))
    assert value == pytest.approx(np.exp(-40.0), rel=1e-12)


@each_loss
def test_weights_are_linear(loss, sample):
    """Integer weights would not equal repeated rows."""
    z, y, _ = sample
    counts = np.arange(len(z)) % 4
    keep = counts > 0
    z, y, counts = z[keep], y[keep], counts[keep]
    v = feasible(loss, y, np.ones(len(z)), 0.4)
    y = target_of(loss, y)
    again = np.repeat(np.arange(len(z)), counts)
    value, gradient = loss.value_gradient(z, y, counts.astype(float))
    value_again, gradient_again = loss.value_gradient(z[again], y[again], np.ones(len(again)))
    assert value == pytest.approx(value_again, rel=1e-14)
    np.testing.assert_allclose(gradient / counts, gradient_again[np.unique(again, True)[1]])
    curve = loss.curvature(z, y, counts.astype(float))
    np.testing.assert_allclose(curve, counts * loss.curvature(z, y, np.ones(len(z))))
    assert loss.conjugate(counts * v, y, counts.astype(float)) == pytest.approx(
        loss.conjugate(v[again], y[again], np.ones(len(again)))
    )


@each_loss
def test_arguments_are_not_written_to(loss, sample):
    """A caller's margins or weights would change under its feet."""
    arrays = [a.copy() for a in sample]
    for a in arrays:
        a.flags.writeable = False
    z, y, weight = arrays
    _, gradient = loss.value_gradient(z, y, weight)
    v = y * np.maximum(-y * gradient, 1e-9 * weight)
    v.flags.writeable = False
    loss.curvature(z, y, weight)[:] = np.nan
    loss.conjugate(v, y, weight)
    loss.best_scale(v, y, weight, 1.0)
    loss.null(y, weight, True)
    loss.inside(v, y, weight)
    balance(v)
    fit_intercept(loss, z, y, weight)


@each_loss
@pytest.mark.parametrize("case", ["mixed", "rare", "far", "separated"])
def test_intercept_is_optimal(loss, case):
    """The dual constraint sum_i alpha_i y_i = 0 would not hold, so bounds would not be bounds."""
    rng = np.random.default_rng(5)
    n = 200
    z = {"far": 500.0, "separated": 0.0}.get(case, 1.0) + 3 * rng.standard_normal(n)
    y = np.where(rng.uniform(size=n) < (0.01 if case == "rare" else 0.4), 1.0, -1.0)
    y[0], y[1] = 1.0, -1.0
    if case == "separated":
        z = 30 * y + rng.standard_normal(n)
    weight = rng.uniform(0.1, 2, n)
    y = target_of(loss, y)
    b, value, gradient = fit_intercept(loss, z, y, weight)
    assert abs(gradient.sum()) <= 1e-10 * weight.sum()
    assert value == pytest.approx(loss.value_gradient(z + b, y, weight)[0], rel=1e-13)
    for other in (b - 0.1, b + 0.1):
        assert loss.value_gradient(z + other, y, weight)[0] >= value - 1e-12


def test_balance_makes_the_dual_feasible():
    """A bound with a free intercept would be computed at an infeasible point."""
    rng = np.random.default_rng(6)
    for y in (np.where(rng.uniform(size=50) < 0.3, 1.0, -1.0), np.resize([1.0, 1.0, -1.0], 50)):
        v = y * rng.uniform(0, 1, 50)
        balanced = balance(v)
        assert abs(balanced.sum()) <= 1e-14 * np.abs(v).sum()
        assert (np.abs(balanced) <= np.abs(v)).all()
        assert (balanced * y >= 0).all()
        heavier = np.sign(v.sum())
        np.testing.assert_array_equal(balanced[y != heavier], v[y != heavier])
        np.testing.assert_array_equal(balance(-v), -balanced)
    # A sign that has nothing leaves nothing to the other: else the point would not be feasible.
    np.testing.assert_array_equal(balance(np.maximum(v, 0.0)), np.zeros(50))
    np.testing.assert_array_equal(balance(np.zeros(3)), np.zeros(3))
    even = np.array([0.5, -0.25, -0.25])
    np.testing.assert_array_equal(balance(even), even)

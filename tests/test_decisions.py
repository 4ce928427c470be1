"""What a dual point decides by the kernel, beside `bound_at`, which the theory page states."""

from __future__ import annotations

import numpy as np
import pytest

from zeronorm.losses import Gamma, Huber, LeastSquares, Logistic, Poisson, SquaredHinge
from zeronorm.solvers.bounds import bound_at
from zeronorm.solvers.problem import Risk, Singles
from zeronorm.solvers.relaxation import decided

LOSSES = [Logistic(), SquaredHinge(), LeastSquares(), Huber(1.0), Poisson(), Gamma()]


def point(loss, seed, p=30, n=25):
    """Return a risk, a dual point, its scores of p columns of whole numbers, which often tie."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, p)).astype(np.float64)
    X[:, p // 2 :] = X[:, : p - p // 2]  # every column twice
    y = X[:, 0] + rng.standard_normal(n)
    if loss.of_labels:
        y = np.where(y > 0.5, 1.0, -1.0)
    elif loss.target != "any":
        y = np.exp(np.clip(y, -2.0, 2.0))
    risk = Risk.centred(y, rng.uniform(0.1, 2.0, n), loss, bool(seed % 2))
    _, _, gradient = risk.best(0.2 * (X[:, :3] @ rng.standard_normal(3)))
    dual = risk.dual_point(gradient)
    return risk, dual, X.T @ dual


def same(one, other):
    """Assert that two bounds are one, but for rounding."""
    assert one.value == pytest.approx(other.value, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(one.dual, other.dual, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(one.dropped, other.dropped)
    np.testing.assert_array_equal(one.fixed, other.fixed)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("seed", list(range(6)))
def test_the_kernel_decides_what_the_bound_decides(loss, seed):
    """A search would rule out a unit of the best model, or keep units that cannot matter."""
    risk, dual, scores = point(loss, seed)
    units = Singles(np.ones(scores.size, bool))
    some = 0
    for n_fixed, k in ((0, 1), (0, 4), (2, 5), (3, 3), (1, 30), (0, 40)):
        whole = bound_at(risk, dual, scores, k, np.arange(n_fixed), np.inf, units=units)
        for below in (0.0, 1e-3, 0.02, 0.2, 1.0):
            upper = whole.value + below * (abs(whole.value) - whole.value + 1.0)
            known = decided(risk, dual, scores, k, n_fixed, upper, units)
            other = bound_at(risk, dual, scores, k, np.arange(n_fixed), upper, units=units)
            same(known, other)
            some += bool(known.dropped.any()) + bool(known.fixed[n_fixed:].any())
    assert some > 0


def test_scores_beyond_the_range_of_numbers_decide_nothing():
    """An infinite square would make every comparison false, or the bound NaN."""
    risk, dual, scores = point(Logistic(), 1)
    for bad in (np.nan, np.inf, 1e200):
        scores[3] = bad
        known = decided(risk, dual, scores, 4, 1, 1.0, Singles(np.ones(scores.size, bool)))
        assert known.value == pytest.approx(-risk.conjugate(np.zeros(dual.size)))
        assert not known.dual.any()
        assert not known.dropped.any()
        assert not known.fixed.any()


def test_units_that_the_kernel_does_not_know_are_left_to_the_bound():
    """Signs and bounds on coefficients would be lost."""
    risk, dual, scores = point(Logistic(), 2)
    usable = np.ones(scores.size, bool)
    for units in (Singles(usable, np.ones(scores.size, np.int8)), Singles(usable, most=2.0)):
        assert decided(risk, dual, scores, 4, 1, 1.0, units) is None

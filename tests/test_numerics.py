"""Extreme units, offsets and penalties: the k-scale must not lose digits or invent proofs."""

import threading

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info

from conftest import slow
from golub import load_golub
from zeronorm import BudgetClassifier, BudgetRegressor
from zeronorm.data.gathered import FLOAT32_GRAM, as_columns
from zeronorm.losses import Logistic, dual_bound
from zeronorm.solvers.final_fits import leverages, refit
from zeronorm.solvers.problem import Risk
from zeronorm.solvers.ridge_fits import ridge
from zeronorm.verification import verify


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("seed", [0, 1, *slow(2, 3, 4, 5)])
def test_no_false_proof_on_heavy_tails(seed, C):
    """Dual variables that underflow would give an infinite bound and a false proof."""
    rng = np.random.default_rng(seed)
    X = rng.standard_cauchy((400, 6))
    y = np.where(X[:, 0] + rng.standard_cauchy(400) > 0, 1, -1)
    model = BudgetClassifier(2, C=C, standardize=False, calibrate=False).fit(X, y)
    verify(model.certificate_, X, y)


@pytest.mark.parametrize("unit", [1e15, 1e20, 1e49])
@pytest.mark.parametrize("budget", [BudgetClassifier, BudgetRegressor])
def test_one_column_of_another_unit_ends_no_fit(budget, unit):
    """Rounding beside it is larger than all that others have: systems would not be positive."""
    X, y = load_golub(return_X_y=True)
    wide = X[:, :60].astype(np.float64)
    wide[:, 7] *= unit
    target = y if budget is BudgetClassifier else (y == y[0]).astype(float)
    with pytest.warns(ConvergenceWarning, match="the solver found no further progress"):
        model = budget(5, C=0.1, standardize=False).fit(wide, target)
    own = budget(5, C=0.1, standardize=False).fit(X[:, :60], target)
    assert model.support_.size == 5
    assert model.certificate_.objective < 1.1 * own.certificate_.objective


def test_bound_is_finite_for_denormal_dual_variables():
    """A share alpha / weight of zero with alpha above zero has no entropy, not infinitely much."""
    y = np.array([1.0, -1, 1, -1])
    dual = y * np.array([5e-324, 0.0, 3.0, 2.0])
    bound = dual_bound(Logistic(), dual, y, np.full(4, 10.0), 1.0)[0]
    assert bound <= 40 * np.log(2)


@pytest.fixture(scope="module")
def tall():
    """A problem above the size where Gram matrices are formed in float32."""
    rng = np.random.default_rng(3)
    Z = np.asfortranarray(rng.standard_normal((6000, 100)))
    y = np.where(Z[:, :5].sum(axis=1) + rng.logistic(size=6000) > 0, 1.0, -1.0)
    assert Z.size * Z.shape[1] > FLOAT32_GRAM
    return Z, y


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("scale", [1e-100, 1e-19, 1.0, 1e60])
def test_gram_matrices_for_any_units_and_offset(tall, scale, offset):
    """float32 products would overflow, underflow or cancel where X has unusual units."""
    Z = (tall[0] + offset) * scale
    weight = np.random.default_rng(0).uniform(0, 1e-3, 6000)
    exact = (Z * weight[:, None]).T @ Z
    assert np.abs(as_columns(Z).gram(weight) - exact).max() <= 1e-6 * np.diag(exact).max()
    mean = Z.T @ weight / weight.sum()
    inside = exact - weight.sum() * np.outer(mean, mean)
    got = as_columns(Z).gram(weight) - weight.sum() * np.outer(mean, mean)
    assert np.abs(got - inside).max() <= 1e-5 * np.diag(inside).max()


def test_gram_matrices_with_outliers_that_a_sample_of_rows_misses(tall):
    """Norms of some rows would let one huge value overflow in float32."""
    Z = tall[0].copy()
    Z[1, 0] = 1e30
    weight = np.ones(6000)
    exact = Z.T @ Z
    size = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    # 2048 float32 terms a block: relative errors up to 2048 * 2^-24.
    assert np.abs((as_columns(Z).gram(weight) - exact) / size).max() <= 2048 * 2.0**-24


@pytest.mark.parametrize("scale", [1e-60, 1e-19, 1e60])
def test_refit_does_not_depend_on_units(tall, scale):
    """The chosen C, the coefficients or the leave-one-out loss would change with the units of X."""
    Z, y = tall
    ones, zeros = np.ones(100), np.zeros(100)
    risk = Risk(y, np.ones(6000), Logistic())
    base = refit(as_columns(Z), zeros, ones, risk)
    other = refit(as_columns(Z * scale), zeros, ones, risk)
    np.testing.assert_allclose(other.coef * scale, base.coef, rtol=1e-5)
    assert other.loo_loss == pytest.approx(base.loo_loss, rel=1e-6)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e30])
def test_leverages_in_float32_are_those_of_float64(tall, C):
    """Leverages, and with them the choice of C, would be wrong for large problems."""
    Z, y = tall
    risk = Risk(y, np.ones(6000), Logistic())
    curvature = C * risk.curvature(ridge(as_columns(Z), risk).margins)
    X = np.column_stack([Z, np.ones(6000)])
    H = (X * curvature[:, None]).T @ X + np.diag(np.append(np.ones(100), 0.0))
    exact = np.einsum("ij,ij->i", X, np.linalg.solve(H / C, X.T).T) / C
    np.testing.assert_allclose(
        leverages(as_columns(Z), curvature, np.ones(100), True), exact, rtol=1e-4
    )


def test_fits_in_several_threads_leave_the_blas_as_it_was():
    """Overlapping fits would leave the whole process with one BLAS thread."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 30)), np.arange(60) % 2
    before = [library["num_threads"] for library in threadpool_info()]
    threads = [
        threading.Thread(
            target=lambda: [BudgetClassifier(3, calibrate=False).fit(X, y) for _ in range(3)]
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [library["num_threads"] for library in threadpool_info()] == before


@pytest.mark.parametrize("multi_class", ["multinomial", "ovr"])
def test_balanced_weights_equal_repetition(multi_class):
    """Leaving one row out would remove its class weight of repeated rows, but less of weighted."""
    rng = np.random.default_rng(5)
    y = rng.choice(3, 300, p=[0.7, 0.2, 0.1])
    X = rng.standard_normal((300, 8))
    X[:, :3] += np.eye(3)[y]
    times = rng.integers(1, 4, 300)
    options = {"n_features": 3, "class_weight": "balanced", "multi_class": multi_class}
    weighted = BudgetClassifier(**options, calibrate=False).fit(X, y, sample_weight=times)
    repeated = BudgetClassifier(**options, calibrate=False).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)
    for a, b in zip(weighted._paths, repeated._paths, strict=True):
        assert a[3].loo_loss == pytest.approx(b[3].loo_loss, rel=1e-7)

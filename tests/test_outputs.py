"""Several classes or responses that share their features: losses, scans, models, certificates."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier

from reference_kernels._multinomial import circulating
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    certify,
    cross_validate,
    methods,
    prove,
    verify,
)
from zeronorm.core.results import Status
from zeronorm.data import Scaled, as_design
from zeronorm.data.gathered import as_columns
from zeronorm.data.repeated import Repeated, RepeatedColumns
from zeronorm.losses import Huber, LeastSquares, Multinomial, Poisson, Responses
from zeronorm.losses.multi_output import classes_as_outputs
from zeronorm.persistence import as_loaded
from zeronorm.solvers import curvature, run_together
from zeronorm.solvers.driver import Scan
from zeronorm.verification import CertificateError
from zeronorm.verification.losses import ReferenceMultinomial as Verified
from zeronorm.verification.losses import _factors

N, Q = 30, 3


def of_loss(kind, free, seed=0):
    """Return a loss of three outputs, a target and weights."""
    rng = np.random.default_rng(seed)
    weight = np.tile(rng.uniform(0.5, 2.0, N), Q)
    if kind == "multinomial":
        codes = np.concatenate([np.arange(Q), rng.integers(0, Q, N - Q)])
        return Multinomial(Q, free), classes_as_outputs(codes, Q), weight
    each = {"least_squares": LeastSquares(), "huber": Huber(1.0, width=1.0), "poisson": Poisson()}[
        kind
    ]
    y = rng.poisson(2.0, Q * N) + 0.0 if kind == "poisson" else rng.standard_normal(Q * N)
    return Responses(each, Q, free), y, weight


LOSSES = pytest.mark.parametrize("kind", ["multinomial", "least_squares", "huber", "poisson"])
FREE = pytest.mark.parametrize("free", [True, False])


@LOSSES
@FREE
def test_derivatives(kind, free):
    """The gradient and the second derivative in coefficients are those of differences."""
    loss, y, weight = of_loss(kind, free)
    rng = np.random.default_rng(1)
    z, step, e = rng.standard_normal(Q * N), rng.standard_normal(Q * N), 1e-6
    _value, gradient = loss.value_gradient(z, y, weight)
    slope = (
        loss.value_gradient(z + e * step, y, weight)[0]
        - loss.value_gradient(z - e * step, y, weight)[0]
    ) / (2 * e)
    assert slope == pytest.approx(gradient @ step, rel=1e-6, abs=1e-7)
    X = rng.standard_normal((N, 2))
    Z = RepeatedColumns(as_columns(X), np.repeat([0, 1], Q), np.tile(np.arange(Q), 2), Q)
    bend = Z.gram(loss.curvature(z, y, weight))
    less = loss.coupling(Z, z, y, weight)
    bend = bend if less is None else bend - less
    columns = Z.dense()
    moved = [
        loss.value_gradient(z + e * column, y, weight)[1]
        - loss.value_gradient(z - e * column, y, weight)[1]
        for column in columns.T
    ]
    if kind != "huber":  # whose second derivative jumps
        found = columns.T @ np.array(moved).T / (2 * e)
        np.testing.assert_allclose(bend, found, rtol=1e-5, atol=1e-5 * np.abs(bend).max())


@LOSSES
@FREE
def test_conjugates(kind, free):
    """f(z) + f*(-v) is z'(-v) at the gradient, and no less anywhere; the scale is the best one."""
    loss, y, weight = of_loss(kind, free)
    rng = np.random.default_rng(2)
    z = rng.standard_normal(Q * N)
    value, gradient = loss.value_gradient(z, y, weight)
    assert value + loss.conjugate(-gradient, y, weight) == pytest.approx(z @ gradient, rel=1e-9)
    v = loss.inside(-0.7 * gradient, y, weight)
    conjugate = loss.conjugate(v, y, weight)
    for _ in range(20):
        other = 3.0 * rng.standard_normal(Q * N)
        assert loss.value_gradient(other, y, weight)[0] + conjugate >= -(other @ v) - 1e-9
    quadratic = 3.0

    def bound(t):
        return -loss.conjugate(t * v, y, weight) - t * t * quadratic

    best = loss.best_scale(v, y, weight, quadratic)
    assert bound(best) >= max(bound(t * best) for t in (0.9, 0.99, 1.01, 1.1)) - 1e-9
    if free:  # any multiple of v has the sums of v, and these are 0
        assert np.abs(v.reshape(Q, N).sum(axis=1)).max() <= 1e-12 * np.abs(v).sum()


@FREE
def test_points_inside(free):
    """What is put inside of the domain of the multinomial loss has a finite conjugate there."""
    loss, y, weight = of_loss("multinomial", free)
    rng = np.random.default_rng(3)
    for size in (1e-8, 1.0, 1e3):
        v = loss.inside(size * rng.standard_normal(Q * N), y, weight)
        assert np.isfinite(loss.conjugate(v, y, weight))
        np.testing.assert_allclose(loss.inside(v, y, weight), v, rtol=1e-12, atol=1e-300)
    assert loss.conjugate(1.001 * weight * y, y, weight) == np.inf


@pytest.mark.parametrize("storage", ["dense", "sparse", "scaled"])
def test_repeated_columns(storage):
    """Every operation is that of the matrix which repeats X for each output."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 5)) * (rng.random((N, 5)) < 0.6)
    base = as_design(sp.csc_array(X) if storage == "sparse" else X)
    if storage == "scaled":
        base = Scaled(base, X.mean(axis=0), np.linspace(1.0, 2.0, 5))
        X = (X - X.mean(axis=0)) * np.linspace(1.0, 2.0, 5)
    design, full = Repeated(base, Q), np.kron(np.eye(Q), X).reshape(Q * N, Q, 5)
    full = full.transpose(0, 2, 1).reshape(Q * N, 5 * Q)
    v, weight = rng.standard_normal(Q * N), rng.random(Q * N)
    V, u = rng.standard_normal((Q * N, 2)), rng.standard_normal(4)

    def scans():
        return (yield [Scan(design, v), Scan(design, V), Scan(base, v[:N])])

    one, two, three = run_together([scans()])[0]
    np.testing.assert_allclose(one, full.T @ v, atol=1e-12)
    np.testing.assert_allclose(two, full.T @ V, atol=1e-12)
    np.testing.assert_allclose(three, X.T @ v[:N], atol=1e-12)
    np.testing.assert_allclose(design.correlate(v, 4, 11), full.T[4:11] @ v, atol=1e-12)
    total, square = design.moments(weight, 2, 12)
    np.testing.assert_allclose(total, weight @ full[:, 2:12], atol=1e-12)
    np.testing.assert_allclose(square, weight @ full[:, 2:12] ** 2, atol=1e-12)
    chosen = np.array([7, 1, 2, 13])
    Z, D = RepeatedColumns.of(design, chosen), full[:, chosen]
    np.testing.assert_allclose(as_columns(design.gather(chosen)).dense(), D)
    np.testing.assert_allclose(Z.dense(), D)
    np.testing.assert_allclose(Z.times(u), D @ u, atol=1e-12)
    np.testing.assert_allclose(Z.times(V[:4]), D @ V[:4], atol=1e-12)
    np.testing.assert_allclose(Z.dot(v), D.T @ v, atol=1e-12)
    np.testing.assert_allclose(Z.dot(V), D.T @ V, atol=1e-12)
    np.testing.assert_allclose(Z.dot_each(v), D.T @ v, atol=1e-12)
    np.testing.assert_allclose(Z.gram(weight), (D.T * weight) @ D, atol=1e-12)
    np.testing.assert_allclose(Z.squares(weight), weight @ D**2, atol=1e-12)
    np.testing.assert_allclose(Z.squared().dense(), D**2, atol=1e-12)
    some = Z.cross(np.array([0, 2]), weight)
    np.testing.assert_allclose(some, (D[:, [0, 2]].T * weight) @ D, atol=1e-12)
    np.testing.assert_allclose(
        Z.summed(weight, Q), (D * weight[:, None]).reshape(Q, N, 4).sum(axis=0), atol=1e-12
    )
    joined = RepeatedColumns.joined([Z, Z.take(np.array([3, 0]))])
    np.testing.assert_allclose(joined.dense(), np.hstack([D, D[:, [3, 0]]]))
    rows = np.array([4, 0, 9])
    places = (N * np.arange(Q)[:, None] + rows).ravel()
    np.testing.assert_allclose(Z.rows(rows).dense(), D[places])


def least(kind, X, Y, weight, C, free):
    """Return the least objective on all columns of X, by an independent program.

    Y : (n, Q) indicators of classes, or responses.
    """
    _n, k = X.shape

    def objective(x):
        U, b = x[: k * Q].reshape(k, Q), x[k * Q :] * free
        Z = X @ U + b
        if kind == "multinomial":
            total, slope = logsumexp(Z, axis=1), np.exp(Z - logsumexp(Z, axis=1)[:, None]) - Y
            loss = weight @ (total - (Y * Z).sum(axis=1))
        elif kind == "poisson":
            loss = weight @ (
                np.exp(Z) - Y * Z - Y + np.where(Y > 0, Y * np.log(np.maximum(Y, 1)), 0)
            ).sum(axis=1)
            slope = np.exp(Z) - Y
        else:
            loss, slope = 0.5 * weight @ ((Z - Y) ** 2).sum(axis=1), Z - Y
        slope = C * weight[:, None] * slope
        gradient = np.concatenate([(X.T @ slope + U).ravel(), slope.sum(axis=0) * free])
        return C * loss + 0.5 * (U**2).sum(), gradient

    start = np.zeros(k * Q + Q)
    found = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-9})
    return float(found.fun)


def problem(kind, seed):
    rng = np.random.default_rng(seed)
    n, m = 36, 6
    X = rng.standard_normal((n, m))
    X[:, 5] = X[:, 1] if seed % 2 else X[:, 5]  # a duplicate
    signal = X[:, [1, 2, 1]] * [1.5, 1.0, -1.0] + X[:, [4, 4, 4]]
    if kind == "multinomial":
        y = (signal + rng.gumbel(size=(n, Q))).argmax(axis=1)
        y[:Q] = np.arange(Q)
        return X, y, np.eye(Q)[y]
    Y = (
        signal + rng.standard_normal((n, Q))
        if kind != "poisson"
        else rng.poisson(np.exp(signal / 3))
    )
    return X, Y + 0.0, Y + 0.0


@pytest.mark.parametrize("kind", ["multinomial", "least_squares", "poisson"])
@pytest.mark.parametrize("seed", range(4))
def test_models_against_all_supports(kind, seed):
    """No support is better than the bound says, and the model is the best one or near to it."""
    X, y, Y = problem(kind, seed)
    rng = np.random.default_rng(seed)
    weight, free = rng.integers(1, 3, len(X)) + 0.0, seed != 2
    options = {"C": 0.3, "fit_intercept": free, "forced_features": [0] if seed == 3 else None}
    if kind == "multinomial":
        model = BudgetClassifier(2, calibrate=False, **options)
    else:
        model = BudgetRegressor(2, loss=kind, **options)
    model.fit(X, y, weight)
    mean = np.average(X, axis=0, weights=weight)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    standardized = (X - mean * free) / scale
    values = {
        S: least(kind, standardized[:, S], Y, weight, 0.3, free)
        for S in itertools.combinations(range(X.shape[1]), 2)
        if seed != 3 or 0 in S
    }
    optimum = min(values.values())
    certificate = certify(model, X, y, sample_weight=weight)
    assert certificate.objective == pytest.approx(values[tuple(model.support_)], rel=1e-6)
    assert certificate.objective <= 1.01 * optimum
    for one in (certificate, model.certificate_):
        assert one.bound <= optimum * (1 + 1e-7)
        figures = verify(one, X, y, sample_weight=weight)
        assert figures["bound"] == pytest.approx(one.bound)
    assert certificate.bound >= model.certificate_.bound
    # What is excluded is in no better model.
    better = [S for S, value in values.items() if value <= certificate.objective * (1 + 1e-9)]
    assert len(set().union(*better)) <= certificate.candidates
    # A proof finds the best support, at once or in two runs.
    rough = prove(model, X, y, sample_weight=weight, gap=0, max_nodes=1)
    for earlier in (None, rough):
        proof = prove(model, X, y, sample_weight=weight, gap=0, resume=earlier)
        assert proof.status is Status.OPTIMAL
        assert proof.certificate.objective == pytest.approx(optimum, rel=1e-6)
        assert proof.certificate.objective - proof.certificate.bound <= 1e-9 * optimum
        verify(proof.certificate, X, y, sample_weight=weight)
    assert rough.certificate.bound <= optimum * (1 + 1e-7)
    verify(rough.certificate, X, y, sample_weight=weight)


@pytest.mark.parametrize("kind", ["multinomial", "least_squares"])
def test_forged_trees(kind, monkeypatch):
    """A tree that leaves models out, or whose dual points show less, would be a proof."""
    monkeypatch.setattr(
        curvature, "EXTRACTION", replace(curvature.EXTRACTION, worth=np.inf)
    )  # for a tree to forge
    X, y, _ = problem(kind, 0)
    estimator = BudgetClassifier if kind == "multinomial" else BudgetRegressor
    model = estimator(2, C=0.03).fit(X, y)
    found = prove(model, X, y, gap=0, C=1.0).certificate
    verify(found, X, y)
    tree = found.tree
    assert tree is not None
    assert tree.parent.size > 2
    half = np.flatnonzero(tree.feature >= 0)[0]
    feature, dual = tree.feature.copy(), tree.dual.copy()
    feature[half] += 1
    dual[-1] *= 50.0
    for changed in (
        {"tree": None},
        {"tree": replace(tree, feature=feature)},
        {"tree": replace(tree, inside=~tree.inside | True)},
        {"tree": replace(tree, dual=dual)},
        {"tree": replace(tree, dual=tree.dual[:, : len(X)])},
        {"tree": replace(tree, row=np.where(tree.row > 0, 0, tree.row))},
        {"bound": found.objective * 1.001, "objective": found.objective * 1.001},
    ):
        with pytest.raises(CertificateError):
            verify(replace(found, **changed), X, y)
    for other in (prove(model, X, y, C=0.5), prove(estimator(1).fit(X, y), X, y, C=1.0)):
        with pytest.raises(ValueError, match="proof of another problem"):
            prove(model, X, y, C=1.0, resume=other)


@pytest.mark.parametrize("kind", ["multinomial", "least_squares"])
def test_forged_certificates(kind):
    """Nothing that says more than its data show passes."""
    X, y, _ = problem(kind, 0)
    model = BudgetClassifier(2) if kind == "multinomial" else BudgetRegressor(2)
    sound = certify(model.fit(X, y), X, y)
    verify(sound, X, y)
    smaller = np.array(sound.coef)
    smaller[0] *= 0.9
    for changed in (
        {"coef": smaller},
        {"coef": sound.coef[:, :1]},
        {"coef": sound.coef.ravel()},
        {"intercept": sound.intercept + np.eye(Q)[0] * 0.1},
        {"intercept": 0.0},
        {"objective": 0.99 * sound.objective},
        {"bound": sound.bound + 1e-6 * sound.objective},
        {"dual": sound.dual[:2]},
        {"dual": sound.dual.ravel()},
        {"dual": 50.0 * sound.dual},
        {"dual": -sound.dual},
        {"dual": np.zeros_like(sound.dual)},
        {"candidates": 2} if sound.candidates > 2 else {"fixed_in": 3},
        {"support": np.array([0, 3])},
        {"loss": "logistic"},
        {"loss": "poisson"} if kind == "least_squares" else {"loss": "cox"},
        {"fit_intercept": False},
    ):
        with pytest.raises((CertificateError, ValueError), match=r"certificate|y must"):
            verify(replace(sound, **changed), X, y)
    with pytest.raises(CertificateError):
        verify(sound, X, y[::-1])


def test_flows_that_never_come_back_are_left_out():
    """A dual point whose sums are near 0, not 0, would prove a bound that is false."""
    for factors in (circulating, _factors):
        flow = np.array([[0, 1, 1e-3, 0], [2, 0, 0, 0], [0, 0, 0, 3], [0, 0, 1, 0]], float)
        found = factors(flow) * flow
        np.testing.assert_allclose(found.sum(axis=0), found.sum(axis=1), rtol=1e-13)
        assert found[0, 2] == 0.0
        assert found[0, 1] > 0.0
        circle = np.roll(np.diag([1.0, 2.0, 4.0]), 1, axis=1)  # each gives to the next one alone
        np.testing.assert_allclose(factors(circle) * circle, circle > 0, rtol=1e-13)
        rng = np.random.default_rng(0)
        for size in (2, 3, 6):
            flow = rng.random((size, size)) * 10.0 ** rng.uniform(-12, 0, (size, size))
            np.fill_diagonal(flow, 0.0)
            found = factors(flow) * flow
            assert (factors(flow) >= 0).all()
            assert factors(flow).max() <= 1.0
            np.testing.assert_allclose(found.sum(axis=0), found.sum(axis=1), rtol=1e-12)


@FREE
def test_the_verifier_makes_any_dual_point_feasible(free):
    """A dual point outside of the domain would be taken for one that proves something."""
    rng = np.random.default_rng(4)
    codes = np.arange(N) % Q
    y, s = classes_as_outputs(codes, Q), rng.uniform(0.5, 2.0, N)
    for size in (1e-3, 1.0, 1e3):
        dual = size * rng.standard_normal(Q * N)
        found = Verified(Q).balanced(dual, y, np.tile(s, Q), free).reshape(Q, N)
        p = y.reshape(Q, N) - found / s
        assert (p >= 0.0).all()
        assert np.abs(found).max() > 0.0
        np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-15)
        if free:
            np.testing.assert_allclose(found.sum(axis=1), 0.0, atol=1e-13)
        elif size == 1e-3:  # it is feasible but for the own class, which follows
            others = np.minimum(dual.reshape(Q, N), 0.0) * (1.0 - y.reshape(Q, N))
            np.testing.assert_allclose(np.minimum(found, 0.0), others, rtol=1e-14)


@pytest.mark.parametrize("far", [1.0, 30.0, 1e6])
def test_the_verifier_knows_the_rounding_of_the_multinomial_loss(far):
    """A bound could be above the optimum by an error of a formula, or by its rounding."""
    rng = np.random.default_rng(7)
    codes = np.arange(N) % Q
    y, weight = classes_as_outputs(codes, Q), np.tile(np.exp(rng.uniform(-6.0, 6.0, N)), Q)
    known, unit = Verified(Q), 2.0**-53 * (Q * N + 8)
    z = far * rng.standard_normal((Q, N))
    own = np.longdouble(z) - np.longdouble(z[codes, np.arange(N)])
    top = own.max(axis=0)
    exact = np.log(np.exp(own - top).sum(axis=0)) + top
    parts, terms = known.losses(z.ravel(), y, weight)
    assert abs(parts.sum() - (exact * weight[:N]).sum()) <= unit * terms.sum()
    assert (terms >= np.abs(parts)).all()
    assert (terms.reshape(Q, N)[codes, np.arange(N)] >= weight[:N] * np.abs(z).max(axis=0)).all()
    p = np.exp(own - top) / np.exp(own - top).sum(axis=0)
    for share in (1.0, 0.3, 1e-9):
        v = share * (weight * (y - p.ravel())).astype(np.float64)
        v.reshape(Q, N)[codes, np.arange(N)] = 0.0
        v.reshape(Q, N)[codes, np.arange(N)] = -v.reshape(Q, N).sum(axis=0)
        parts, terms = known.conjugates(v, y, weight)
        left = np.maximum(y - np.longdouble(v) / weight, 1e-300)
        assert abs(parts.sum() - (weight * left * np.log(left)).sum()) <= unit * terms.sum()
        assert (terms >= np.abs(parts)).all()
        assert (terms[y > 0] >= weight[y > 0]).all()  # 1 - t has the rounding of 1


def test_several_sizes_storages_and_weights():
    """One fit gives all sizes; the storage and repeated rows change nothing."""
    X, y, _ = problem("multinomial", 0)
    X = X * (np.abs(X) > 0.3)
    options = {"standardize": False, "calibrate": False, "refit_C": 1.0}
    model = BudgetClassifier([1, 2, 3], **options).fit(X, y)
    assert [model.path_[k].support.size for k in model.path_] == [1, 2, 3]
    assert model.coef_.shape == (Q, X.shape[1])
    assert model.size_ == 3
    assert (np.flatnonzero(np.abs(model.coef_).sum(axis=0)) == model.support_).all()
    sparse = BudgetClassifier([1, 2, 3], **options).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, model.coef_, atol=1e-6)
    weight = np.arange(len(X)) % 3
    weighted = BudgetClassifier(2, **options).fit(X, y, weight)
    repeated = BudgetClassifier(2, **options).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    names = BudgetClassifier(2, **options).fit(X, np.array(["b", "c", "a"])[y])
    plain = BudgetClassifier(2, **options).fit(X, y)
    np.testing.assert_allclose(names.coef_[[1, 2, 0]], plain.coef_, atol=1e-6)


def test_final_fits_are_those_of_scikit_learn():
    """On the support, the multinomial model and the ridge regression are scikit-learn's."""
    X, y, _ = problem("multinomial", 0)
    model = BudgetClassifier(3, refit_C=0.7, calibrate=False).fit(X, y)
    own = X[:, model.support_]
    peer = LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000).fit(own, y)
    np.testing.assert_allclose(model.coef_[:, model.support_], peer.coef_, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(own), atol=1e-5)
    np.testing.assert_allclose(model.predict_log_proba(X), peer.predict_log_proba(own), atol=1e-4)
    X, Y, _ = problem("least_squares", 0)
    regression = BudgetRegressor(3, refit_C=0.7, calibrate=False).fit(X, Y)
    own = X[:, regression.support_]
    ridge = Ridge(alpha=1 / 0.7).fit(own, Y)
    np.testing.assert_allclose(regression.coef_[:, regression.support_], ridge.coef_, atol=1e-7)
    np.testing.assert_allclose(regression.predict(X), ridge.predict(own), atol=1e-7)
    assert regression.score(X, Y) == pytest.approx(ridge.score(own, Y))


def test_targets_far_from_zero_and_of_other_scales():
    """Responses far from 0 are fitted as if they were near; constant ones do no harm."""
    X, Y, _ = problem("least_squares", 0)
    near = BudgetRegressor(2).fit(X, Y)
    far = BudgetRegressor(2).fit(X, Y + np.array([1e6, -1e5, 0.0]))
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-6)
    constant = BudgetRegressor(2).fit(X, np.column_stack([Y[:, 0], np.full(len(X), 7.0)]))
    assert np.abs(constant.coef_[1]).max() <= 1e-12
    assert constant.intercept_[1] == 7.0


def test_probabilities_are_calibrated_on_held_out_rows():
    """The scale changes probabilities, not labels; what it is measured by is reported."""
    X, y, _ = problem("multinomial", 0)
    plain = BudgetClassifier(2, calibrate=False).fit(X, y)
    model = BudgetClassifier(2).fit(X, y)
    scale = model.path_[2].scale
    assert 0.02 <= scale <= 1.2
    assert np.isfinite(model.path_[2].cv_log_loss)
    np.testing.assert_allclose(model.coef_, scale * plain.coef_, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, scale * plain.intercept_, atol=1e-8)
    assert (model.predict(X) == plain.predict(X)).all()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_methods_groups_and_errors():
    """Whole groups and greedy steps work; what cannot share is refused with the remedy."""
    X, y, _ = problem("multinomial", 0)
    groups = [0, 1, 1, 2, 0, 2]
    model = BudgetClassifier(feature_groups=groups, n_groups=1, method="minimax").fit(X, y)
    assert len(model.groups_) == 1
    assert model.support_.size == 2
    certificate = certify(model, X, y)
    assert certificate.n_groups == 1
    assert certificate.groups.code.tolist() == groups
    verify(certificate, X, y)
    for method in ("greedy", "minimax", "l0"):
        assert BudgetClassifier(2, method=method).fit(X, y).support_.size == 2
    with pytest.raises(ValueError, match=r"method='l1' for more than two .* multi_class='ovr'"):
        BudgetClassifier(2, method="l1", multi_class="multinomial").fit(X, y)
    with pytest.raises(ValueError, match="squared_hinge"):
        BudgetClassifier(2, loss="squared_hinge", multi_class="multinomial").fit(X, y)
    with pytest.raises(ValueError, match="multi_class must be"):
        BudgetClassifier(2, multi_class="both").fit(X, y)
    by_class = BudgetClassifier(2, multi_class="ovr").fit(X, y)
    assert len(by_class.path_) == Q
    Y = np.column_stack([y, y == 1]) + 0.0
    with pytest.raises(ValueError, match="several responses"):
        BudgetRegressor(2, method="l1").fit(X, Y)
    with pytest.raises(ValueError, match="only zeros"):
        BudgetRegressor(2, loss="poisson").fit(X, Y * [1.0, 0.0])
    Y[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        BudgetRegressor(2).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({}, "multinomial"),
        ({"method": "greedy"}, "multinomial"),
        ({"method": "l1"}, "ovr"),
        ({"method": "reweighted-l1"}, "ovr"),
        ({"method": methods.L1(max_iter=30)}, "ovr"),
        ({"loss": "squared_hinge"}, "ovr"),
        ({"loss": "squared_hinge", "refit_C": None, "method": "bilevel"}, "ovr"),
        ({"signs": {0: 1}}, "ovr"),
    ],
)
def test_the_default_can_always_fit_several_classes(options, chosen):
    """A default setting would refuse three classes, or not say which model it fitted."""
    X, y, _ = problem("multinomial", 0)
    options = {"calibrate": False, **options}
    model = BudgetClassifier(2, **options).fit(X, y)
    asked = BudgetClassifier(2, multi_class=chosen, **options).fit(X, y)
    assert model.get_params()["multi_class"] == "auto"  # a clone chooses anew
    assert model.multi_class_ == asked.multi_class_ == chosen
    np.testing.assert_array_equal(model.coef_, asked.coef_)
    np.testing.assert_array_equal(model.decision_function(X), asked.decision_function(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(X), asked.predict_proba(X))
    loaded = as_loaded(model)
    assert loaded.metadata["parameters"]["multi_class"] == chosen
    np.testing.assert_allclose(loaded.decision_function(X), model.decision_function(X))
    scores = [cross_validate(one, X, y, cv=3).scores for one in (model, asked)]
    np.testing.assert_array_equal(*scores)


def test_cross_validation():
    """Folds of classes and responses are scored as the models of scikit-learn would be."""
    X, y, Y = problem("multinomial", 0)
    found = cross_validate(BudgetClassifier([1, 2]), X, y, cv=3, scoring="neg_log_loss")
    assert found.scores.shape == (2, 3)
    assert (found.scores < 0).all()
    assert (cross_validate(BudgetClassifier(2), X, y, cv=3).scores > 0.3).all()
    X, Y, _ = problem("least_squares", 0)
    scores = cross_validate(BudgetRegressor([1, 3]), X, Y, cv=3).scores
    train = np.arange(len(X)) % 2 > 0
    split = [(np.flatnonzero(train), np.flatnonzero(~train))]
    scores = cross_validate(BudgetRegressor(3), X, Y, cv=split).scores
    model = BudgetRegressor(3).fit(X[train], Y[train])
    assert scores[0, 0] == pytest.approx(model.score(X[~train], Y[~train]))


def test_offsets_of_several_responses():
    """An offset is the same part of the margins of all responses."""
    X, Y, _ = problem("poisson", 0)
    offset = np.linspace(-1.0, 1.0, len(X))
    model = BudgetRegressor(2, loss="poisson", refit_C=1.0).fit(X, Y, offset=offset)
    zero = BudgetRegressor(2, loss="poisson", refit_C=1.0).fit(X, Y, offset=np.zeros(len(X)))
    plain = BudgetRegressor(2, loss="poisson", refit_C=1.0).fit(X, Y)
    np.testing.assert_allclose(zero.coef_, plain.coef_, atol=1e-6)
    mean = model.predict(X, offset=offset)
    np.testing.assert_allclose(mean.sum(axis=0), Y.sum(axis=0), rtol=1e-6)  # free intercepts
    verify(certify(model, X, Y, offset=offset), X, Y, offset=offset)


def test_several_labels_of_a_row_have_a_remedy():
    """A user with labels that are yes or no, or one-hot, would be sent to a regression."""
    X = np.random.default_rng(0).standard_normal((N, 4))
    Y = (X[:, :3] > 0).astype(int)
    for y in (Y, Y.astype(bool), Y.tolist()):
        with pytest.raises(
            ValueError, match=r"got 3 columns\. .*MultiOutputClassifier or OneVsRest"
        ):
            BudgetClassifier(2).fit(X, y)
    assert MultiOutputClassifier(BudgetClassifier(2, calibrate=False)).fit(X, Y).predict(
        X
    ).shape == (N, 3)
    assert OneVsRestClassifier(BudgetClassifier(2, calibrate=False)).fit(X, Y).predict(X).shape == (
        N,
        3,
    )
    with pytest.raises(ValueError, match=r"one class in each row: pass y\.argmax\(axis=1\)"):
        BudgetClassifier(2).fit(X, np.eye(3)[Y[:, 0] + Y[:, 1]])


def test_targets_of_another_estimator_are_named():
    """A user with responses or events, and the class of something else, would have to guess."""
    X = np.random.default_rng(0).standard_normal((N, 4))
    with pytest.raises(ValueError, match=r"got 2 columns. Several columns .* BudgetRegressor"):
        BudgetClassifier(2).fit(X, X[:, :2])
    seen = np.rec.fromarrays([X[:, 0] > 0, X[:, 1] ** 2], names="event,time")
    with pytest.raises(ValueError, match=r"fields event, time.* BudgetSurvivalAnalysis for events"):
        BudgetRegressor(2).fit(X, seen)

"""Competitors of bi-level selection: conic programs, plain NumPy and scikit-learn as oracles."""

from __future__ import annotations

import itertools
import re

import clarabel
import numpy as np
import pandas as pd
import pytest
import scipy.optimize
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, OrthogonalMatchingPursuit
from sklearn.model_selection import GridSearchCV

import oracles
from baselines import (
    ConstrainedDCClassifier,
    ConstrainedDCRegressor,
    DCClassifier,
    DCRegressor,
    FractionalClassifier,
    FractionalRegressor,
    GroupOMPClassifier,
    GroupOMPRegressor,
    OMPClassifier,
    OMPRegressor,
    SparseGroupLassoClassifier,
    SparseGroupLassoRegressor,
    sparse_group_lasso_path,
)
from baselines._base import prepare
from baselines._dc import TwoBalls
from baselines._penalty import Penalty
from baselines._sparse_group_lasso import solve
from zeronorm import L1Classifier
from zeronorm.losses import LeastSquares, Logistic

pytestmark = pytest.mark.slow  # competitors, of benchmarks only

LOSSES = ["least_squares", "logistic"]
OBJECTS = {"least_squares": LeastSquares(), "logistic": Logistic()}
SPARSE_GROUP = {
    "least_squares": SparseGroupLassoRegressor, "logistic": SparseGroupLassoClassifier
}  # fmt: skip
FRACTIONAL = {"least_squares": FractionalRegressor, "logistic": FractionalClassifier}
DC = {"least_squares": DCRegressor, "logistic": DCClassifier}
CONSTRAINED = {"least_squares": ConstrainedDCRegressor, "logistic": ConstrainedDCClassifier}
ALL = [*SPARSE_GROUP.values(), *FRACTIONAL.values(), *DC.values(), *CONSTRAINED.values(),
       OMPRegressor, OMPClassifier, GroupOMPRegressor, GroupOMPClassifier]  # fmt: skip


# ------------------------------------------------------------------------ instances, oracles


def instance(loss, seed=0, n=40, p=14):
    """X with columns of different units and offsets, y, labels of groups out of order."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.15 * rng.standard_normal((p, p)))
    groups = rng.permutation(np.repeat([7, 2, 9, 4, 1], [1, 2, 3, 4, p - 10]))
    z = 2 * X[:, groups == 9] @ [1, -1, 0.5] + X[:, groups == 4] @ [1, 0, 0, 0]
    if loss == "logistic":
        y = np.where(z + rng.logistic(size=n) > 0.3, 1, -1)
        assert n / 4 < (y > 0).sum() < 3 * n / 4
    else:
        y = 3 + z + rng.standard_normal(n)
    return X * rng.uniform(0.5, 2, p) + rng.uniform(-2, 2, p), y, groups


def loss_value(loss, z, y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    f = 0.5 * (z - y) ** 2 if loss == "least_squares" else np.logaddexp(0, -y * z)
    return float(weight @ f)


def conic(loss, X, y, groups, l1, l2, *, intercept=True, weight=None, radii=None):
    """Minimise loss + sum_j l1_j |x_j| + sum_g l2_g ||x_g|| by a conic solver: x, b, optimum.

    radii: bounds of these two sums, with l1 and l2 of zeros and ones, in place of penalties.
    """
    n, p = X.shape
    labels = np.unique(groups)
    G, s = len(labels), np.ones(n) if weight is None else np.asarray(weight, float)
    head = 2 * p + 1 + G  # x, b, |x|, norms
    map_ = np.zeros((n, head))
    map_[:, :p], map_[:, p] = X, intercept
    costs = np.zeros(head)
    costs[p + 1 : 2 * p + 1], costs[2 * p + 1 :] = l1, l2
    eye, none = np.eye(p), np.zeros((p, 1))
    fixed = np.zeros((1, head))
    fixed[0, p] = not intercept
    rest = np.zeros((p, G))
    rows = [fixed, np.hstack([eye, none, -eye, rest]), np.hstack([-eye, none, -eye, rest])]
    rhs = [np.zeros(1 + 2 * p)]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * p)]
    if radii is not None:
        limits = np.zeros((2, head))
        limits[0, p + 1 : 2 * p + 1], limits[1, 2 * p + 1 :] = l1, l2
        rows.append(limits)
        rhs.append(np.asarray(radii, float))
        cones.append(clarabel.NonnegativeConeT(2))
        costs[:] = 0
    for g, label in enumerate(labels):
        members = np.flatnonzero(groups == label)
        ball = np.zeros((len(members) + 1, head))
        ball[0, 2 * p + 1 + g] = -1
        ball[np.arange(1, len(members) + 1), members] = -1
        rows.append(ball)
        rhs.append(np.zeros(len(members) + 1))
        cones.append(clarabel.SecondOrderConeT(len(members) + 1))
    A, b = sp.csc_matrix(np.vstack(rows)), np.concatenate(rhs)
    if loss == "least_squares":
        P, q = sp.csc_matrix(map_.T @ (s[:, None] * map_)), costs - map_.T @ (s * y)
    else:
        P, q, more, tail, loss_cones = oracles._loss_cones(y[:, None] * map_, loss, 1.0, s, head)
        A = sp.vstack([sp.hstack([A, sp.csc_matrix((A.shape[0], more.shape[1] - head))]), more])
        P = sp.block_diag([sp.csc_matrix((head, head)), P], format="csc")
        q, b, cones = np.r_[costs, q], np.concatenate([b, tail]), cones + loss_cones
    found = oracles._solve(P, q, A, b, cones)[0]
    x, b0 = found[:p], found[p] * intercept
    value = loss_value(loss, X @ x + b0, y, s)
    if radii is None:
        value += penalty_value(x, groups, l1, l2)
    return x, b0, value


def penalty_value(x, groups, l1, l2):
    norms = np.array([np.linalg.norm(x[groups == g]) for g in np.unique(groups)])
    return float(np.sum(l1 * np.abs(x)) + np.sum(l2 * norms))


def roots(groups):
    return np.sqrt(np.unique(groups, return_counts=True)[1])


def standardise(X, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    mean = np.average(X, axis=0, weights=weight)
    return (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))


def model_value(model, loss, X, y, weight=None):
    """Return the loss of a fitted model."""
    return loss_value(loss, X @ np.ravel(model.coef_) + np.ravel(model.intercept_)[0], y, weight)


def simulation(active, seed):
    """The published simulation: 20 groups of 10, six of them with so many features each."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((100, 200))
    x = np.zeros(200)
    for g, value in enumerate([10, 8, 6, 4, 2, 1]):
        x[10 * g : 10 * g + active] = value
    return A, A @ x + rng.standard_normal(100), np.repeat(np.arange(20), 10), np.flatnonzero(x)


# ---------------------------------------------------------------------- prox and dual norm


def test_the_prox_is_the_published_number():
    """The penalty would not be that of the paper."""
    v = np.random.default_rng(0).standard_normal(6)
    penalty = Penalty(np.full(6, 0.1), np.full(2, 0.2), np.array([0, 3, 6]))
    wanted = [0.0162354387, -0.0202577560, 0.3409997451,
              0.0029716835, -0.2642123539, 0.1586447189]  # fmt: skip
    np.testing.assert_allclose(penalty.prox(v, 1.0), wanted, atol=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_the_prox_minimises(seed):
    """With weights of 0, and a last feature without a group: the intercept."""
    rng = np.random.default_rng(seed)
    groups = np.repeat([0, 1, 2, 3], [1, 4, 2, 3])
    l1 = rng.choice([0, 0.3, 1.0], 10)
    l2 = rng.choice([0, 0.5, 2.0], 4)
    v = np.r_[rng.standard_normal(10), 5.0]
    found = Penalty(np.r_[l1, 0], l2, np.array([0, 1, 5, 7, 10])).prox(v, 0.5)
    x, _, best = conic("least_squares", np.eye(10), v[:10], groups, l1 / 2, l2 / 2, intercept=False)
    np.testing.assert_allclose(found[:10], x, atol=1e-5)
    value = 0.5 * np.sum((found - v) ** 2) + penalty_value(found[:10], groups, l1 / 2, l2 / 2)
    assert value <= best + 1e-12
    assert found[10] == 5.0


@pytest.mark.parametrize("seed", range(20))
def test_the_dual_norm_is_where_a_group_first_enters(seed):
    """The path would begin at another penalty, or a gap be false."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 8)
    start = np.concatenate([[0], np.cumsum(sizes)])
    l1, l2 = rng.choice([0, 0.3, 1.0], start[-1]), rng.choice([0, 0.5, 2.0], 8)
    c = rng.standard_normal(start[-1]) * 10.0 ** rng.integers(-3, 3)
    penalty = Penalty(l1, l2, start)
    c[penalty.free] = 0.0
    t = penalty.dual_norm(c)
    assert np.any(c)

    def violation(t):
        return Penalty(t * l1, t * l2, start).excess(c).max()

    assert violation(t * (1 + 1e-12)) <= 1e-12 * t
    assert violation(t * (1 - 1e-6)) > 0
    assert penalty.dual_norm(0 * c) == 0.0


# --------------------------------------------------------------------- sparse group lasso


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("l1", "l2"), [(1.0, 2.0), (3.0, 0.0), (0.0, 3.0), (0.2, 0.1)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_sparse_group_lasso_solves_its_problem(loss, l1, l2, intercept, weighted):
    """Both penalties, each alone (lasso, group lasso), intercepts and weights (0 too)."""
    X, y, groups = instance(loss, seed=int(10 * l1))
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    model = SPARSE_GROUP[loss](
        l1,
        l2,
        feature_groups=groups,
        fit_intercept=intercept,
        standardize=False,
        tol=1e-9,
        max_iter=10**5,
    ).fit(X, y, weight)
    _, _, best = conic(
        loss, X, y, groups, l1, l2 * roots(groups), intercept=intercept, weight=weight
    )  # fmt: skip
    value = model_value(model, loss, X, y, weight)
    value += penalty_value(np.ravel(model.coef_), groups, l1, l2 * roots(groups))
    assert value <= best * (1 + 1e-6)
    assert value == pytest.approx(model.objective_, rel=1e-9)
    assert model.gap_ <= 1e-9


@pytest.mark.parametrize("loss", LOSSES)
def test_standardised_columns_are_what_is_penalised(loss):
    """The units of a column would change its penalty."""
    X, y, groups = instance(loss, seed=3)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    model = SPARSE_GROUP[loss](2.0, 1.0, feature_groups=groups, tol=1e-9).fit(X, y, weight)
    Z = standardise(X, weight)
    best = conic(loss, Z, y, groups, 2.0, roots(groups), weight=weight)[2]
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    scale = np.sqrt(np.average((X - np.average(X, axis=0, weights=weight)) ** 2, axis=0,
                               weights=weight))  # fmt: skip
    value = model_value(model, loss, X, y, weight)
    value += penalty_value(np.ravel(model.coef_) * scale, groups, 2.0, roots(groups))
    assert value == pytest.approx(model.objective_, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_a_gap_never_claims_too_much(loss, seed):
    """At loose tolerances too, and with free features, where the dual point needs correction."""
    X, y, groups = instance(loss, seed)
    rng = np.random.default_rng(seed)
    data, partition = prepare(X, y.astype(float), OBJECTS[loss], groups)
    l1 = rng.choice([0.0, 1.0, 3.0], X.shape[1])
    l2 = rng.choice([0.0, 2.0], len(partition))
    Z = data.features
    code = np.repeat(partition.labels, partition.sizes)
    _, _, best = conic(loss, Z, y, code, l1, l2)
    free = (l1 == 0) & (np.repeat(l2, partition.sizes) == 0)
    assert free.any() or seed != 1
    gaps = []
    for tol in (0.3, 1e-2, 1e-4, 1e-8):
        fit = solve(data, l1, l2, tol=tol)
        gaps.append(fit.gap)
        assert fit.gap <= tol
        assert fit.objective - fit.gap * data.null_objective <= best + 1e-7 * data.null_objective
        assert fit.objective >= best - 1e-7 * data.null_objective
    assert gaps[0] > gaps[-1]


@pytest.mark.parametrize("loss", LOSSES)
def test_groups_enter_where_there_are_many(loss):
    """KKT conditions over all 3000 features, of which few are ever active."""
    rng = np.random.default_rng(5)
    n, p = 80, 3000
    X = rng.standard_normal((n, p))
    groups = rng.permutation(np.arange(p) // 5)
    z = 2 * X[:, groups == 3].sum(axis=1) + X[:, groups == 40] @ [1, -2, 0, 0, 0]
    y = z + rng.standard_normal(n) if loss == "least_squares" else np.where(z > 0, 1, -1)
    model = SPARSE_GROUP[loss](
        4.0, 4.0, feature_groups=groups, group_weights=np.ones(600), standardize=False, tol=1e-10
    ).fit(X, y)
    x, z = np.ravel(model.coef_), X @ np.ravel(model.coef_) + np.ravel(model.intercept_)[0]
    slope = z - y if loss == "least_squares" else -y / (1 + np.exp(y * z))
    assert abs(slope.sum()) < 1e-3
    g = X.T @ slope
    assert 0 < model.support_.size < 120
    for group in range(600):
        own = groups == group
        if not x[own].any():
            soft = np.maximum(np.abs(g[own]) - 4.0, 0)
            assert np.linalg.norm(soft) <= 4.0 + 1e-3
            continue
        on = own & (x != 0)
        residual = g[on] + 4.0 * np.sign(x[on]) + 4.0 * x[on] / np.linalg.norm(x[own])
        assert np.abs(residual).max() < 1e-3
        assert np.abs(g[own & (x == 0)]).max(initial=0) <= 4.0 + 1e-3


def test_lasso_is_scikit_learns():
    """Without groups the model would not be the lasso."""
    X, y, _ = instance("least_squares", seed=8)
    ours = SparseGroupLassoRegressor(4.0, 0.0, standardize=False, tol=1e-10, max_iter=10**5)
    theirs = Lasso(alpha=4.0 / len(y), tol=1e-12, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(ours.fit(X, y).coef_, theirs.coef_, atol=1e-5)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-4)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)


def test_l1_logistic_is_the_other_solver_of_this_package():
    """Two solvers of one problem would disagree."""
    X, y, _ = instance("logistic", seed=8)
    ours = SparseGroupLassoClassifier(2.0, 0.0, tol=1e-10).fit(X, y)
    theirs = L1Classifier(0.5, standardize=True, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("ratio", [0.0, 0.4, 1.0])
def test_the_model_is_empty_exactly_where_the_condition_says(loss, ratio):
    """||S(A_g'r, l1)|| <= l2 w_g in all groups, r the residual without features."""
    X, y, groups = instance(loss, seed=2)
    largest = sparse_group_lasso_path(X, y, groups, loss=loss, l1_ratio=ratio, penalties=2).values[
        0
    ]
    Z = standardise(X)
    r = y - y.mean() if loss == "least_squares" else (y > 0) - np.mean(y > 0)
    for factor, empty in ((1 + 1e-6, True), (1 - 1e-4, False)):
        l1, l2 = factor * largest * ratio, factor * largest * (1 - ratio)
        soft = np.maximum(np.abs(Z.T @ r) - l1, 0)
        lengths = [np.linalg.norm(soft[groups == g]) for g in np.unique(groups)]
        assert np.all(lengths <= l2 * roots(groups)) == empty
        model = SPARSE_GROUP[loss](l1, l2, feature_groups=groups, tol=1e-10).fit(X, y)
        assert (model.support_.size == 0) == empty


@pytest.mark.parametrize("loss", LOSSES)
def test_the_path_has_the_models_of_single_fits(loss):
    """A model of the path would not be that of its penalty."""
    X, y, groups = instance(loss, seed=4)
    path = sparse_group_lasso_path(
        X, y, groups, loss=loss, l1_ratio=0.7, penalties=6, penalty_ratio=0.1, tol=1e-9
    )
    assert len(path) == 6
    assert path.values[-1] == pytest.approx(0.1 * path.values[0])
    scores = path.decision_function(X)
    for i, value in enumerate(path.values):
        model = SPARSE_GROUP[loss](0.7 * value, 0.3 * value, feature_groups=groups, tol=1e-9).fit(
            X, y
        )
        np.testing.assert_allclose(path.coef[[i]].toarray()[0], np.ravel(model.coef_), atol=1e-4)
        z = X @ np.ravel(model.coef_) + np.ravel(model.intercept_)[0]
        np.testing.assert_allclose(scores[:, i], z, atol=1e-3)
    assert path.support(0).size == 0
    assert path.support(5).size > 0
    again = sparse_group_lasso_path(
        X, y, groups, loss=loss, l1_ratio=0.7, penalties=path.values[2:], tol=1e-9
    )
    np.testing.assert_allclose(again.coef.toarray(), path.coef.toarray()[2:], atol=1e-4)


def test_few_steps_are_told():
    """A fit that did not converge would pass for one that did."""
    X, y, groups = instance("least_squares")
    model = SparseGroupLassoRegressor(0.01, 0.01, feature_groups=groups, max_iter=3)
    with pytest.warns(ConvergenceWarning, match="stopped at a certified gap of") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert model.gap_ > 1e-6


# ------------------------------------------------------------------------ fractional models


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("norm", [1, 2])
def test_fractional_models_are_fixed_points_of_the_reweighting(loss, norm):
    """Passes would end before the model stays."""
    X, y, groups = instance(loss, seed=6)
    model = FRACTIONAL[loss](3.0, norm, feature_groups=groups, max_passes=200, tol=1e-9).fit(X, y)
    Z, x = standardise(X), np.ravel(model.coef_) * X.std(axis=0)
    lengths = np.array([np.linalg.norm(x[groups == g], norm) for g in np.unique(groups)])
    w = 2 / 3 * (lengths + 1e-4) ** (-1 / 3)
    value = model_value(model, loss, X, y)
    assert model.objective_ == pytest.approx(value + 3.0 * np.sum(lengths ** (2 / 3)), rel=1e-9)
    code = np.searchsorted(np.unique(groups), groups)
    l1, l2 = (3.0 * w[code], 0 * w) if norm == 1 else (0 * x, 3.0 * w)
    best = conic(loss, Z, y, groups, l1, l2)[2]
    assert value + penalty_value(x, groups, l1, l2) <= best * (1 + 1e-5)
    history = np.array(model.objectives_)
    assert len(history) > 2
    assert np.all(np.diff(history) <= 1e-6 * history[0])
    assert history[-1] == pytest.approx(value + 3.0 * np.sum((lengths + 1e-4) ** (2 / 3)), rel=1e-9)


def test_a_fractional_model_of_one_feature_is_a_root():
    """x - v + 2/3 penalty (|x| + 1e-4)^(-1/3) = 0, or x = 0 where v is small."""
    v = np.array([3.0, -2.0, 0.5])
    model = FractionalRegressor(
        1.0, fit_intercept=False, standardize=False, max_passes=500, tol=1e-12
    ).fit(np.eye(3), v)
    x = model.coef_
    assert x[2] == 0.0
    slope = x[:2] - v[:2] + 2 / 3 * np.sign(x[:2]) * (np.abs(x[:2]) + 1e-4) ** (-1 / 3)
    np.testing.assert_allclose(slope, 0, atol=1e-3)


# ------------------------------------------------------------------------- DC approximation


def truncated(x, groups, tau):
    norms = np.array([np.linalg.norm(x[groups == g]) for g in np.unique(groups)])
    return np.minimum(np.abs(x) / tau, 1).sum(), np.minimum(norms / tau, 1).sum()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_the_penalised_dc_model_never_rises_and_is_stationary(loss, seed):
    """A pass would raise the objective, or end where it still falls."""
    X, y, groups = instance(loss, seed)
    model = DC[loss](1.0, 0.5, 0.4, feature_groups=groups, max_passes=100, tol=1e-9).fit(X, y)
    x = np.ravel(model.coef_) * X.std(axis=0)
    counts = truncated(x, groups, 0.4)
    value = model_value(model, loss, X, y)
    assert model.objective_ == pytest.approx(value + counts[0] + 0.5 * counts[1], rel=1e-9)
    history = np.array(model.objectives_)
    assert np.all(np.diff(history) <= 1e-8 * history[0])
    assert history[-1] < history[0]
    # The next pass would not find anything better.
    l1 = 1.0 / 0.4 * (np.abs(x) <= 0.4)
    norms = np.array([np.linalg.norm(x[groups == g]) for g in np.unique(groups)])
    l2 = 0.5 / 0.4 * (norms <= 0.4)
    best = conic(loss, standardise(X), y, groups, l1, l2)[2]
    assert value + penalty_value(x, groups, l1, l2) <= best + 1e-5 * history[0]


def tiny(loss, seed, n):
    """The instances whose best supports under both budgets are known; groups of 3."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, 12))
    x = np.zeros(12)
    x[0], x[1], x[6] = 2, -1.5, 1
    if loss == "least_squares":
        return A, A @ x + 0.5 * rng.standard_normal(n), np.repeat(np.arange(4), 3)
    y = np.where(A @ x + rng.logistic(size=n) > 0, 1, -1)
    return A, y, np.repeat(np.arange(4), 3)


def best_by_prices(A, y, groups, price, price_of_group):
    """Return the best of 1/2 ||Ax - y||^2 + price ||x||_0 + price_of_group #groups, and its x."""
    best = (0.5 * y @ y, np.zeros(A.shape[1]))
    for k in range(1, 5):
        for support in itertools.combinations(range(A.shape[1]), k):
            index = list(support)
            coef = np.linalg.lstsq(A[:, index], y, rcond=None)[0]
            value = 0.5 * np.sum((y - A[:, index] @ coef) ** 2) + price * k
            value += price_of_group * len(set(groups[index]))
            if value < best[0]:
                x = np.zeros(A.shape[1])
                x[index] = coef
                best = (value, x)
    return best


@pytest.mark.parametrize(("seed", "n"), [(0, 30), (1, 40)])
def test_the_penalised_dc_model_finds_the_best_counts(seed, n):
    """By enumeration; its coefficients are beyond tau, so that truncated counts are counts."""
    A, y, groups = tiny("least_squares", seed, n)
    value, x = best_by_prices(A, y, groups, 1.0, 0.5)
    model = DCRegressor(
        1.0, 0.5, 0.1, feature_groups=groups, fit_intercept=False, standardize=False, tol=1e-10
    ).fit(A, y)
    assert np.abs(x[x != 0]).min() > 0.1
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.coef_, x, atol=1e-4)


@pytest.mark.parametrize(
    ("loss", "seed", "n", "k", "g", "best"),
    [
        ("least_squares", 0, 30, 3, 2, 2.5304552500),
        ("least_squares", 1, 40, 4, 2, 4.1084062040),
        ("logistic", 0, 60, 3, 2, 25.3353141633),
        ("logistic", 1, 80, 4, 2, 29.6546945173),
    ],
)
def test_the_constrained_dc_model_finds_the_best_supports(loss, seed, n, k, g, best):
    """Those of the budgets, by enumeration; and passes keep to the budgets and never rise.

    With |x_j| <= tau in T1, as published, all four would end at coefficients of exactly tau.
    """
    A, y, groups = tiny(loss, seed, n)
    model = CONSTRAINED[loss](
        k,
        g,
        0.1,
        feature_groups=groups,
        fit_intercept=False,
        standardize=False,
        max_passes=200,
        tol=1e-8,
    ).fit(A, y)
    x = np.ravel(model.coef_)
    counts = truncated(x, groups, 0.1)
    assert counts[0] <= k + 1e-5
    assert counts[1] <= g + 1e-5
    history = np.array(model.objectives_)
    assert np.all(np.diff(history) <= 1e-6 * history[0])
    assert model.objective_ == pytest.approx(model_value(model, loss, A, y), rel=1e-9)
    assert model.objective_ == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_a_pass_of_the_constrained_dc_model_is_solved(loss, seed):
    """The convex problem of a pass would not be solved."""
    X, y, groups = instance(loss, seed)
    model = CONSTRAINED[loss](4, 2, 0.3, feature_groups=groups, max_passes=1, tol=1e-8).fit(X, y)
    Z = standardise(X)
    best = conic(loss, Z, y, groups, np.ones(14), np.ones(5), radii=(1.2, 0.6))[2]
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    assert model.gap_ <= 1e-8
    two = CONSTRAINED[loss](4, 2, 0.3, feature_groups=groups, max_passes=2, tol=1e-8).fit(X, y)
    x = np.ravel(model.coef_) * X.std(axis=0)
    small = np.abs(x) <= 0.3
    few = np.array([np.linalg.norm(x[groups == g]) <= 0.3 for g in np.unique(groups)])
    assert not small.all()
    radii = (0.3 * (4 - (~small).sum()), 0.3 * (2 - (~few).sum()))
    best = conic(loss, Z, y, groups, small.astype(float), few.astype(float), radii=radii)[2]
    assert two.objective_ == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_the_projection_onto_two_balls_is_nearest(seed):
    """Steps would go to another point than the projection."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(4), [1, 4, 2, 3])
    features, few = rng.random(10) < 0.8, rng.random(4) < 0.8
    v = 2 * rng.standard_normal(10)
    radii = rng.choice([0.0, 0.5, 2.0, 8.0]), rng.choice([0.0, 0.5, 2.0, 8.0])
    balls = TwoBalls(features, few, np.array([0, 1, 5, 7, 10]), *radii)
    x = balls.project(v)
    norms = np.array([np.linalg.norm(x[groups == g]) for g in range(4)])
    assert np.abs(x[features]).sum() <= radii[0] + 1e-12
    assert norms[few].sum() <= radii[1] + 1e-12
    nearest = conic("least_squares", np.eye(10), v, groups, features.astype(float),
                    few.astype(float), intercept=False, radii=radii)[0]  # fmt: skip
    np.testing.assert_allclose(x, nearest, atol=1e-4)
    # max {c'x : x in the set}, where it is finite.
    c = rng.standard_normal(10)
    c[balls.free] = 0.0
    reach = balls.project(1e7 * c) @ c
    assert balls.support_function(c) == pytest.approx(reach, rel=1e-4, abs=1e-6)


# ------------------------------------------------------------------------- matching pursuit


def pursuit(X, y, groups, steps, weight=None):
    """Return order, and coefficients and intercept of the last fit, by least squares afresh."""
    s = np.sqrt(np.ones(len(y)) if weight is None else weight)
    free = np.column_stack([np.ones(len(y)), X]) * s[:, None]
    order, labels = [], np.unique(groups)
    while True:
        chosen = np.r_[0, 1 + np.flatnonzero(np.isin(groups, order))]
        fit = np.linalg.lstsq(free[:, chosen], s * y, rcond=None)[0]
        r = s * y - free[:, chosen] @ fit
        if len(order) == steps:
            coef = np.zeros(X.shape[1])
            coef[chosen[1:] - 1] = fit[1:]
            return order, coef, fit[0]
        strength = []
        for g in labels:
            own = free[:, 1:][:, groups == g]
            own = own - np.outer(s, s @ own) / (s @ s)
            strength.append(-1 if g in order else np.linalg.norm(scipy.linalg.orth(own).T @ r))
        order.append(labels[int(np.argmax(strength))])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_omp_and_group_omp_are_the_plain_ones(seed, weighted):
    """Features would enter in another order than the algorithm's."""
    X, y, groups = instance("least_squares", seed)
    weight = np.random.default_rng(2).uniform(0, 2, len(y)) if weighted else None
    single = np.arange(14)
    for model, labels, steps in (
        (OMPRegressor(5), single, 5), (GroupOMPRegressor(3, feature_groups=groups), groups, 3)
    ):  # fmt: skip
        order, coef, b = pursuit(X, y, labels, steps, weight)
        model.fit(X, y, weight)
        np.testing.assert_array_equal(model.order_, order)
        np.testing.assert_allclose(model.coef_, coef, atol=1e-9)
        assert model.intercept_ == pytest.approx(b)
        for size in range(steps):
            before = pursuit(X, y, labels, size, weight)[1]
            np.testing.assert_allclose(model.steps_.coef[[size]].toarray()[0], before, atol=1e-9)
        np.testing.assert_allclose(model.steps_.decision_function(X)[:, -1], model.predict(X))


def test_omp_is_scikit_learns():
    """Whose features must have the same length, for it does not divide by norms."""
    X, y, _ = instance("least_squares", seed=9)
    Z = standardise(X)
    theirs = OrthogonalMatchingPursuit(n_nonzero_coefs=6).fit(Z, y)
    ours = OMPRegressor(6).fit(Z, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    raw = OMPRegressor(6).fit(X, y)  # neither the units nor the offsets of X matter
    np.testing.assert_array_equal(raw.order_, ours.order_)


def test_dependent_columns_of_a_group_are_shared():
    """A group of rank 2 with 3 columns: the fit of smallest norm, the same predictions."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 6))
    X[:, 2] = X[:, 0] + X[:, 1]
    y = X[:, 0] - X[:, 2] + 0.1 * rng.standard_normal(30)
    groups = np.array([0, 0, 0, 1, 1, 2])
    model = GroupOMPRegressor(1, feature_groups=groups).fit(X, y)
    assert model.order_.tolist() == [0]
    plain = np.linalg.lstsq(np.column_stack([np.ones(30), X[:, :2]]), y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), plain[0] + X[:, :2] @ plain[1:], atol=1e-9)


def test_pursuit_ends_where_nothing_is_left():
    """Steps on rounding would add features for nothing."""
    X, _, _ = instance("least_squares", seed=1)
    y = 2 * X[:, 3] - X[:, 5]
    with pytest.warns(ConvergenceWarning, match="ended after 2 of 4 steps") as caught:
        model = OMPRegressor(4).fit(X, y)
    assert caught[0].filename == __file__
    assert set(model.order_) == {3, 5} == set(model.support_)
    assert len(model.steps_) == 3


def logistic_fit(Z, y, ridge):
    """Return coefficients and intercept of 1/2 ridge ||x||^2 + sum log(1 + exp(-y z))."""
    A = np.column_stack([Z, np.ones(len(y))])
    penalty = np.r_[np.full(Z.shape[1], ridge), 0]
    found = scipy.optimize.minimize(
        lambda v: np.logaddexp(0, -y * (A @ v)).sum() + 0.5 * penalty @ v**2,
        np.zeros(A.shape[1]),
        jac=lambda v: penalty * v - A.T @ (y / (1 + np.exp(y * (A @ v)))),
        method="BFGS",
        options={"gtol": 1e-8},
    )
    return found.x[:-1], found.x[-1]


@pytest.mark.parametrize("grouped", [False, True])
def test_logistic_pursuit_is_the_plain_one(grouped):
    """Features would enter by another gradient than that of the loss."""
    X, y, groups = instance("logistic", seed=5, n=120)
    labels, steps = (groups, 2) if grouped else (np.arange(14), 4)
    model = GroupOMPClassifier(2, feature_groups=groups) if grouped else OMPClassifier(4)
    model.fit(X, y)
    Z, order = standardise(X), []
    for _ in range(steps):
        chosen = np.isin(labels, order)
        x, b = logistic_fit(Z[:, chosen], y, 1e-6)
        r = y / (1 + np.exp(y * (Z[:, chosen] @ x + b)))
        strength = [
            -1 if g in order else np.linalg.norm(np.linalg.qr(Z[:, labels == g])[0].T @ r)
            for g in np.unique(labels)
        ]
        order.append(np.unique(labels)[int(np.argmax(strength))])
    np.testing.assert_array_equal(model.order_, order)
    chosen = np.isin(labels, order)
    x, b = logistic_fit(Z[:, chosen], y, 1e-6)
    z = Z[:, chosen] @ x + b
    np.testing.assert_allclose(model.decision_function(X), z, atol=1e-4)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(chosen))
    np.testing.assert_allclose(model.steps_.decision_function(X)[:, -1], z, atol=1e-4)


# ------------------------------------------------------------------- the published simulation


@pytest.mark.parametrize("seed", range(2))
def test_the_simulation_comes_out_as_it_should(seed):
    """What each method can and cannot see, with the true sizes or one fixed penalty.

    Reduced from 10 draws; the first draw of each kind that fails would show a broken method.
    """
    A, y, groups, true = simulation(3, seed)  # within groups
    assert set(OMPRegressor(18).fit(A, y).support_) == set(true)
    gomp = GroupOMPRegressor(6, feature_groups=groups).fit(A, y)
    assert set(gomp.order_) == set(range(6))
    first = FractionalRegressor(20.0, 1, feature_groups=groups).fit(A, y)
    second = FractionalRegressor(20.0, 2, feature_groups=groups).fit(A, y)
    dc = DCRegressor(10.0, 10.0, 0.5, feature_groups=groups).fit(A, y)
    lasso = SparseGroupLassoRegressor(10.0, 10.0, feature_groups=groups).fit(A, y)
    for model in (first, second, dc, lasso):
        assert set(true) <= set(model.support_)
    assert set(groups[first.support_]) == set(range(6))
    assert 18 <= first.support_.size < 60
    assert second.support_.size == 10 * len(set(groups[second.support_]))  # whole groups
    assert dc.support_.size < lasso.support_.size

    A, y, groups, true = simulation(10, seed)  # whole groups
    assert set(GroupOMPRegressor(6, feature_groups=groups).fit(A, y).support_) == set(true)
    assert set(OMPRegressor(60).fit(A, y).support_) != set(true)  # it cannot see groups


# ----------------------------------------------------------------- the scikit-learn contract


def test_a_grid_search_chooses():
    """Comparisons could not tune these methods."""
    X, y, groups = instance("least_squares", seed=12, n=80)
    named = {f"g{g}": [f"x{j}" for j in np.flatnonzero(groups == g)] for g in np.unique(groups)}
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(14)])
    search = GridSearchCV(SparseGroupLassoRegressor(feature_groups=named), {"l1": [0.1, 1e3]}, cv=3)
    assert search.fit(frame, y).best_params_ == {"l1": 0.1}
    sizes = GridSearchCV(GroupOMPRegressor(feature_groups=groups), {"n_groups": [1, 2]}, cv=3)
    assert sizes.fit(X, y).best_params_ == {"n_groups": 2}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SparseGroupLassoRegressor(l1=-1), "l1 must be finite and not negative; got -1."),
        (SparseGroupLassoClassifier(l2=np.nan), "l2 must be finite and not negative; got nan."),
        (
            SparseGroupLassoRegressor(feature_groups=[1, 2]),
            "every column of X (14); got shape (2,)",
        ),
        (
            SparseGroupLassoRegressor(feature_groups={0: [0, 1], 1: [1]}),
            "must not overlap; feature 1",
        ),
        (
            SparseGroupLassoRegressor(group_weights=[1, 2]),
            "group_weights must be a number for every group (14), not negative; got shape (2,)",
        ),
        (
            SparseGroupLassoRegressor(group_weights=np.full(14, -1.0)),
            "not negative; got -1.0 for group 0.",
        ),
        (SparseGroupLassoRegressor(tol=0), "tol must be a positive finite number; got 0."),
        (
            SparseGroupLassoRegressor(max_iter=0),
            "max_iter must be an integer of at least",
        ),
        (SparseGroupLassoRegressor(standardize="no"), "standardize"),
        (FractionalRegressor(penalty=-1), "penalty must be finite and not negative; got -1."),
        (FractionalRegressor(norm=3), "norm must be 1 or 2; got 3."),
        (FractionalRegressor(max_passes=0), "max_passes must be an integer of at least 1; got 0."),
        (DCRegressor(tau=0), "tau must be a positive finite number; got 0."),
        (DCClassifier(l1=-2), "l1 must be finite and not negative; got -2."),
        (ConstrainedDCRegressor(15), "n_features must be between 1 and 14"),
        (ConstrainedDCRegressor(3, 15), "n_groups must be between 1 and 14"),
        (OMPRegressor(0), "n_features must be None or an integer of at least 1; got 0."),
        (OMPRegressor(15), "n_features must be between 1 and 14 (the features of X); got 15."),
        (OMPClassifier(2.5), "n_features must be None or an integer of at least 1; got 2.5."),
        (GroupOMPRegressor(15), "n_groups must be between 1 and 14"),
    ],
)
def test_parameters_are_checked(model, message):
    """A wrong option would be ignored, or fail deep inside."""
    X, y, _ = instance("logistic")
    with pytest.raises(ValueError, match=re.escape(message)):
        model.fit(X, y)


def test_data_are_checked():
    """Data that the methods do not take would be read otherwise."""
    X, y, _ = instance("logistic")
    bad = X.copy()
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        OMPRegressor(2).fit(bad, y)
    with pytest.raises(TypeError, match="dense data is required"):
        OMPRegressor(2).fit(sp.csr_array(X), y)
    with pytest.raises(ValueError, match="must have two classes; got 3"):
        OMPClassifier(2).fit(X, np.arange(40) % 3)
    with pytest.raises(ValueError, match="y must have at least two classes; got one class"):
        DCClassifier().fit(X, y, (y > 0).astype(float))
    with pytest.raises(ValueError, match="sample_weight must be finite and not negative"):
        DCRegressor().fit(X, y, np.full(40, -1.0))
    X[:, 1] = 5.0
    with pytest.raises(ValueError, match=r"between 1 and 13 \(the non-constant features of X\)"):
        OMPRegressor(14).fit(X, y)
    assert 1 not in SparseGroupLassoRegressor(0.01, 0.01).fit(X, y).support_


@pytest.mark.parametrize(
    "model",
    [
        SparseGroupLassoRegressor(2.0, 2.0),
        DCRegressor(1.0, 1.0),
        ConstrainedDCRegressor(3, 2, 0.5),
        FractionalRegressor(2.0, 1),
        FractionalRegressor(2.0, 2),
        GroupOMPRegressor(2),
        GroupOMPClassifier(2),
    ],
)
def test_groups_without_features_are_none(model):
    """Sums over an empty group would be those of its neighbour; with as many groups as
    features, features would be taken for groups.
    """
    X, y, _ = instance("logistic")
    X = X[:, :6]
    filled = {"b": [0, 1], "d": [2, 3], "f": [4, 5]}
    for empty in ("e", "ace", "z"):
        groups = filled | {label: [] for label in empty}
        given = clone(model).set_params(feature_groups=groups).fit(X, y)
        plain = clone(model).set_params(feature_groups=filled).fit(X, y)
        np.testing.assert_array_equal(given.coef_, plain.coef_)
    if isinstance(model, GroupOMPRegressor):
        assert set(given.order_) <= set(filled)


def test_data_that_overflow_are_refused():
    """FISTA would double its constant for ever, or return a model of zeros."""
    X, y, _ = instance("logistic")
    for model in (SparseGroupLassoRegressor(standardize=False), DCRegressor(standardize=False)):
        with pytest.raises(ValueError, match="standardize=False needs columns of X"):
            model.fit(X * 1e150, y)
    for model in (SparseGroupLassoRegressor(), ConstrainedDCRegressor(2), OMPRegressor(2)):
        with pytest.raises(ValueError, match=r"y must be at most 1e\+100 in magnitude"):
            model.fit(X, y * 1e200)
        with pytest.raises(ValueError, match=r"sample_weight .* must be at most 1e\+100"):
            model.fit(X, y, np.full(y.size, 1e200))
    with pytest.raises(ValueError, match=r"y must be at most 1e\+100 in magnitude"):
        sparse_group_lasso_path(X, y * 1e200)


def test_paths_are_checked():
    """A wrong option would be ignored, or fail deep inside."""
    X, y, groups = instance("logistic")
    cases = [
        ({"loss": "hinge"}, "loss must be"),
        ({"l1_ratio": 1.5}, "l1_ratio must be at most 1; got 1.5."),
        ({"penalties": [1.0, 2.0]}, "penalties must be a number of them, or falling positive"),
        ({"penalties": 0}, "penalties must be an integer of at least 1; got 0."),
        ({"penalty_ratio": 0}, "penalty_ratio must be above 0 and at most 1; got 0."),
        (
            {"l1_ratio": 0.0, "group_weights": [0, 1, 1, 1, 1]},
            "penalties must be numbers where features have no penalty; got their number, 30,",
        ),
    ]
    for options, message in cases:
        with pytest.raises(ValueError, match=re.escape(message)):
            sparse_group_lasso_path(X, y, groups, **options)
    with pytest.raises(ValueError, match=re.escape("y must be -1 and +1 with loss='logistic'")):
        sparse_group_lasso_path(X, (y > 0).astype(int), groups, loss="logistic")
    path = sparse_group_lasso_path(X, y, groups, penalties=2)
    with pytest.raises(ValueError, match="X must have 14 columns, as the path was"):
        path.decision_function(X[:, :3])


@pytest.mark.parametrize("model", [DCClassifier(l1=100.0), DCRegressor(l1=100.0)])
def test_an_empty_model_took_an_iteration(model):
    """n_iter_ would be 0, which scikit-learn takes for a fit that did not run."""
    X, y, _ = instance("logistic")
    assert model.fit(X, y).n_iter_ >= 1


@pytest.mark.parametrize("kind", ALL)
def test_rows_and_columns_count_as_they_should(kind):
    """A row of weight 2 would not be two rows, or the model depend on the order of the columns."""
    X, y, groups = instance("logistic", seed=3)
    weight = np.random.default_rng(3).integers(1, 4, y.size)
    order = np.random.default_rng(4).permutation(14)
    grouped = "feature_groups" in kind().get_params()
    model = kind().set_params(feature_groups=groups) if grouped else kind()
    found = model.fit(X, y, sample_weight=weight).coef_.copy().ravel()
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(found, repeated.coef_.ravel(), atol=1e-4)
    if grouped:
        model.set_params(feature_groups=groups[order])
    other = model.fit(X[:, order], y, sample_weight=weight).coef_.ravel()
    np.testing.assert_allclose(found[order], other, atol=1e-4)

"""Competitors in benchmarks/: each against a conic program, plain NumPy or scikit-learn."""

from __future__ import annotations

import itertools

import clarabel
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.feature_selection import RFE
from sklearn.svm import LinearSVC

import oracles
from baselines import (
    L1SVM,
    SVMRFE,
    ConstrainedDCClassifier,
    ConstrainedDCRegressor,
    DCClassifier,
    DCRegressor,
    FractionalClassifier,
    FractionalRegressor,
    GroupOMPClassifier,
    GroupOMPRegressor,
    L1Bmrm,
    OMPClassifier,
    OMPRegressor,
    SparseGroupLassoClassifier,
    SparseGroupLassoRegressor,
    sparse_group_lasso_path,
)
from baselines._svm_rfe import elimination_sizes
from zeronorm.measures import parse_measure

LOSSES = ["least_squares", "logistic"]
SPARSE_GROUP = {
    "least_squares": SparseGroupLassoRegressor, "logistic": SparseGroupLassoClassifier
}  # fmt: skip
FRACTIONAL = {"least_squares": FractionalRegressor, "logistic": FractionalClassifier}
DC = {"least_squares": DCRegressor, "logistic": DCClassifier}
CONSTRAINED = {"least_squares": ConstrainedDCRegressor, "logistic": ConstrainedDCClassifier}
PURSUIT = {"least_squares": (OMPRegressor, GroupOMPRegressor),
           "logistic": (OMPClassifier, GroupOMPClassifier)}  # fmt: skip


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


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("l1", "l2"), [(1.0, 2.0), (3.0, 0.0), (0.0, 3.0)])
def test_the_sparse_group_lasso_solves_its_problem(loss, l1, l2):
    """Both penalties, each alone (lasso, group lasso), weights of rows (0 too), its path."""
    X, y, groups = instance(loss, seed=int(10 * l1))
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    options = {"feature_groups": groups, "tol": 1e-9, "max_iter": 10**5}
    model = SPARSE_GROUP[loss](l1, l2, **options).fit(X, y, weight)
    Z = standardise(X, weight)
    best = conic(loss, Z, y, groups, l1, l2 * roots(groups), weight=weight)[2]
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    assert model.gap_ <= 1e-9
    penalty, share = l1 + l2, l1 / (l1 + l2)
    path = sparse_group_lasso_path(
        X, y, groups, loss=loss, l1_ratio=share, penalties=[2 * penalty, penalty],
        sample_weight=weight, tol=1e-9, max_iter=10**5,
    )  # fmt: skip
    np.testing.assert_allclose(path.coef[[1]].toarray()[0], np.ravel(model.coef_), atol=1e-4)


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


def truncated(x, groups, tau):
    norms = np.array([np.linalg.norm(x[groups == g]) for g in np.unique(groups)])
    return np.minimum(np.abs(x) / tau, 1).sum(), np.minimum(norms / tau, 1).sum()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", [0])
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


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", [0])
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


@pytest.mark.parametrize(("seed", "weighted"), [(0, False), (1, True)])
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


# ------------------------------------------------------------------------------ for a measure


def labelled(seed, n=60, p=12):
    """X with columns of different units and offsets, and labels that depend on four of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.5, 2.0, p) + rng.uniform(-1.0, 1.0, p)
    score = X[:, :4] @ [2.0, -1.5, 1.0, 0.5] + rng.standard_normal(n)
    return X, np.where(score > np.median(score), 1, -1)


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array, sp.csc_array])
def test_elimination_is_that_of_scikit_learn(stored):
    """Another criterion than w_j^2, or fits on stale columns, would give other features."""
    X, y = labelled(0, p=30)
    passed = elimination_sizes(30, [3], 25, 0.2, 8)
    assert passed == [30, 15, 12, 10, 8, 7, 6, 5, 4, 3]
    svm, left = LinearSVC(C=0.3, dual=False, tol=1e-8), np.arange(30)
    for m in passed[1:]:
        one = RFE(svm, n_features_to_select=m, step=left.size - m).fit(X[:, left], y)
        left = left[one.support_]
    model = SVMRFE(3, C=0.3, standardize=False, halve_above=25, share=0.2, single_below=8)
    model.fit(stored(X), y)
    np.testing.assert_array_equal(model.support_, left)
    assert [step.n_features for step in model.history_] == passed
    svm.fit(X[:, left], y)
    np.testing.assert_allclose(model.coef_[0, left], svm.coef_[0], rtol=1e-4)
    assert list(SVMRFE([2, 9, 4], C=0.5).fit(stored(X), y, y + 2.0).path_) == [2, 4, 9]


@pytest.mark.parametrize("k", [None, 4])
def test_l1_svm_is_that_of_liblinear(k):
    """The factor 1/2 of the package's squared hinge would give the model of half the C."""
    X, y = labelled(4)
    model = L1SVM(k, C=0.1, fit_intercept=False, standardize=False, tol=1e-9).fit(X, y)
    C = 0.1 if k is None else model.C_
    wanted = LinearSVC(
        penalty="l1", dual=False, C=C, fit_intercept=False, tol=1e-10, max_iter=100_000
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, wanted.coef_, rtol=1e-3, atol=1e-5)
    assert k in (None, model.support_.size)


def labelling_loss(measure, y, other):
    """Return Delta(y, y'), None where y' is not feasible."""
    n_pos, n_neg = int((y > 0).sum()), int((y < 0).sum())
    if measure.name == "hamming":
        return 2.0 * float((other != y).sum())
    a, b = int(((other > 0) & (y > 0)).sum()), int(((other > 0) & (y < 0)).sum())
    if hasattr(measure, "count") and a + b != measure.count(n_pos, y.size):
        return None
    return float(measure.loss(a, b, n_pos, n_neg))


def program_over_labellings(measure, X, y, C, box, intercept):
    """Return the optimum of the l1 problem from one program with all labellings as rows."""
    deltas, betas = [], []
    if measure.name == "auc":
        pairs = list(itertools.product(np.flatnonzero(y > 0), np.flatnonzero(y < 0)))
        for swapped in itertools.product([0.0, 1.0], repeat=len(pairs)):
            beta = np.zeros(y.size)
            for share, (i, j) in zip(swapped, pairs, strict=True):
                beta[i] += 100.0 * share / len(pairs)
                beta[j] -= 100.0 * share / len(pairs)
            deltas.append(100.0 * sum(swapped) / len(pairs))
            betas.append(beta)
    else:
        for other in itertools.product([-1.0, 1.0], repeat=y.size):
            delta = labelling_loss(measure, y, np.array(other))
            if delta is not None:
                deltas.append(delta)
                betas.append(y - np.array(other))
    beta, m = np.array(betas), X.shape[1]
    rows = beta @ X
    cost = np.concatenate([np.ones(2 * m), [C, 0.0]])
    free = (None, None) if intercept else (0.0, 0.0)
    answer = linprog(
        cost,
        A_ub=np.column_stack([-rows, rows, -np.ones(len(rows)), -beta.sum(axis=1)]),
        b_ub=-np.array(deltas),
        bounds=[(0.0, box)] * (2 * m) + [(0.0, None), free],
    )
    assert answer.status == 0
    return answer.fun


@pytest.mark.filterwarnings("ignore:A coefficient lies on box")
@pytest.mark.parametrize(("C", "box"), [(1.0, 0.3), (0.3, 10.0)])
@pytest.mark.parametrize("name", ["hamming", "f1", "prbep", "precision@2", "recall@3", "auc"])
def test_bmrm_against_all_labellings(name, C, box):
    """A missing cut or column, a wrong sign of a multiplier, or a bound that none proves."""
    rng = np.random.default_rng(11)
    n = 6 if name == "auc" else 8
    X = rng.standard_normal((n, 6))
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    measure = parse_measure(name)
    centred = X - X.mean(axis=0) if measure.intercept == "spoils" else X
    model = L1Bmrm(name, C=C, box=box, standardize=False, tol=1e-7).fit(X, y)
    wanted = program_over_labellings(measure, centred, y, C, box, measure.intercept == "free")
    (found,) = model.path_.selections.values()
    assert found.bound <= wanted * (1 + 1e-9) + 1e-9
    assert found.objective == pytest.approx(wanted, rel=1e-6)
    assert 0 < np.abs(model.coef_).sum() <= found.objective + 1e-9
    assert np.abs(model.coef_).max() <= box + 1e-12

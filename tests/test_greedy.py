"""Forward greedy selection: its order against plain NumPy, budgets, storages, groups, messages."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from golub import load_golub
from zeronorm.core.results import Status
from zeronorm.data import as_design
from zeronorm.losses import SquaredHinge
from zeronorm.published import GreedyLogisticRegression
from zeronorm.solvers import SelectionRequest, Task, greedy, run
from zeronorm.verification import verify

TIGHT = 1e-10


def fit_logistic(Z, y, weight, intercept):
    """Return (residual alpha y, objective) of 1/2 ||u||^2 + sum_i s_i log(1 + exp(-y_i z_i))."""
    A = np.column_stack([Z, np.ones(len(y))]) if intercept else Z
    penalty = np.ones(A.shape[1])
    penalty[Z.shape[1] :] = 0.0

    def objective(v):
        return np.logaddexp(0, -y * (A @ v)) @ weight + 0.5 * (penalty * v) @ v

    def residual(v):
        return weight * y / (1 + np.exp(y * (A @ v)))

    def hessian(v):
        share = 1 / (1 + np.exp(-A @ v))
        return (A.T * (weight * share * (1 - share))) @ A + np.diag(penalty)

    v = np.zeros(A.shape[1])
    if v.size:
        found = scipy.optimize.minimize(
            objective, v, jac=lambda v: penalty * v - A.T @ residual(v), hess=hessian,
            method="trust-exact", options={"gtol": 1e-9 * weight.sum()},
        )  # fmt: skip
        v = found.x
    return residual(v), objective(v)


def forward(X, y, steps, fit_C, *, intercept=True, weight=None, groups=None, forced=()):
    """Return the order of entry (in groups, features ascending) and the objectives of the fits.

    Groups are orthonormalised by QR, in the metric of the sample weights.
    """
    n, m = X.shape
    weight = np.ones(n) if weight is None else np.asarray(weight, float)
    groups = np.arange(m) if groups is None else np.asarray(groups)
    free = X - (weight @ X / weight.sum() if intercept else 0.0)
    members = {g: np.flatnonzero(groups == g) for g in np.unique(groups)}
    bases = {g: np.linalg.qr(free[:, j] * np.sqrt(weight)[:, None])[0] for g, j in members.items()}
    chosen = list(dict.fromkeys(groups[list(forced)])) if len(forced) else []
    objectives = []
    while True:
        order = np.concatenate([members[g] for g in chosen]) if chosen else np.empty(0, int)
        residual, objective = fit_logistic(X[:, order], y, fit_C * weight, intercept)
        objectives.append(objective)
        if len(chosen) == steps:
            return order, objectives
        lengths = {
            g: -1.0 if g in chosen else np.linalg.norm(Q.T @ (residual / np.sqrt(weight)))
            for g, Q in bases.items()
        }
        chosen.append(max(lengths, key=lengths.get))


def instance(seed, n=60, p=25):
    """X with columns of different length and offset, labels +-1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.5, 2, p) + rng.uniform(-1, 1, p)
    z = X[:, :4] @ rng.standard_normal(4) + rng.logistic(size=n)
    y = np.where(z > np.quantile(z, 0.4), 1, -1)
    assert (y > 0).sum() == 0.6 * n
    return X, y


# ------------------------------------------------------------------- the order of entry


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_order_is_that_of_plain_forward_selection(seed, intercept, standardize, sparse):
    """Features would enter in another order than forward selection has."""
    X, y = instance(seed)
    if sparse:
        X = np.where(np.random.default_rng(seed).random(X.shape) < 0.4, X, 0.0)
    model = GreedyLogisticRegression(
        6, fit_C=2.0, fit_intercept=intercept, standardize=standardize, tol=TIGHT, calibrate=False
    ).fit(sp.csc_array(X) if sparse else X, y)
    Z = X
    if standardize:
        Z = X / X.std(axis=0)
    order, objectives = forward(Z, y, 6, 2.0, intercept=intercept)
    np.testing.assert_array_equal(model.path_.order, order)
    found = [step.objective for step in model.history_]
    np.testing.assert_allclose(found, objectives[1:], rtol=1e-7)
    for step in model.history_:
        assert step.bound <= step.objective * (1 + 1e-12)
        assert step.objective - step.bound <= 1e-9 * step.objective


def test_norms_divide_the_scores():
    """The longer of two columns with one direction wins no step: c_j alone would choose it."""
    X, y = instance(4)
    first = (
        GreedyLogisticRegression(1, fit_C=2.0, standardize=False, calibrate=False)
        .fit(X, y)
        .support_
    )
    other = np.setdiff1d(np.arange(X.shape[1]), first)[0]
    stretched = X.copy()
    stretched[:, other] *= 1e4
    again = GreedyLogisticRegression(1, fit_C=2.0, standardize=False, calibrate=False).fit(
        stretched, y
    )
    np.testing.assert_array_equal(again.support_, first)


@pytest.mark.parametrize("fit_C", [1e-3, 0.1, 1e8])
def test_the_first_feature_does_not_depend_on_the_penalty(fit_C):
    """The first step would prefer columns by the penalty."""
    X, y = instance(5)
    score = np.abs((X - X.mean(0)).T @ (y - y.mean())) / X.std(axis=0)
    model = GreedyLogisticRegression(1, fit_C=fit_C, calibrate=False).fit(X, y)
    assert model.support_.tolist() == [score.argmax()]


def test_squared_hinge():
    """The solver takes any smooth loss: every step lowers its objective."""
    X, y = instance(6)
    Z = (X - X.mean(0)) / X.std(0)
    task = Task.of(as_design(Z), y.astype(float), scaling="standardized", loss=SquaredHinge())
    path = run(greedy(task, [5], SelectionRequest(tol=TIGHT), fit_C=1.0))
    objectives = [step.objective for step in path.history]
    assert np.all(np.diff(objectives) < 0)
    features = path.order[:4]
    coef, b = scipy_hinge(Z[:, features], y)
    residual = y * np.maximum(0, 1 - y * (Z[:, features] @ coef + b))
    scores = np.abs(Z.T @ residual)
    scores[features] = 0
    assert path.order[4] == scores.argmax()
    assert path[5].certificate.loss == "squared_hinge"


def scipy_hinge(Z, y):
    """Return (u, b) that minimise 1/2 ||u||^2 + sum_i 1/2 max(0, 1 - y_i z_i)^2."""
    A = np.column_stack([Z, np.ones(len(y))])
    keep = np.append(np.ones(Z.shape[1]), 0.0)

    def both(v):
        slack = np.maximum(0, 1 - y * (A @ v))
        return 0.5 * slack @ slack + 0.5 * (keep * v) @ v, keep * v - A.T @ (y * slack)

    v = scipy.optimize.minimize(both, np.zeros(A.shape[1]), jac=True, options={"gtol": 1e-10}).x
    return v[:-1], v[-1]


def test_ties_go_to_the_smaller_index():
    """Equal columns would be chosen by chance, or a copy enter for nothing."""
    X, y = instance(7)
    best = GreedyLogisticRegression(1, calibrate=False).fit(X, y).support_[0]
    doubled = np.asfortranarray(np.column_stack([X, X[:, best]]))
    assert GreedyLogisticRegression(1, calibrate=False).fit(doubled, y).support_.tolist() == [best]
    swapped = np.asfortranarray(np.column_stack([X[:, best], X]))
    assert GreedyLogisticRegression(1, calibrate=False).fit(swapped, y).support_.tolist() == [0]
    # Without a penalty to speak of, the copy explains nothing of what is left; five features do
    # not separate the classes.
    model = GreedyLogisticRegression(5, fit_C=1e8, calibrate=False).fit(doubled, y)
    assert model.score(doubled, y) < 1
    assert np.isin([best, X.shape[1]], model.support_).tolist() == [True, False]


# ------------------------------------------------------------------- budgets


def test_sizes_are_prefixes_of_one_order(binary):
    """A smaller model would not be the beginning of a larger one."""
    X, y = binary
    model = GreedyLogisticRegression([7, 1, 4], calibrate=False).fit(X, y)
    assert list(model.path_) == [1, 4, 7]
    for k in (1, 4, 7):
        np.testing.assert_array_equal(model.path_[k].support, np.sort(model.path_.order[:k]))
        alone = GreedyLogisticRegression(k, calibrate=False).fit(X, y)
        np.testing.assert_array_equal(alone.support_, model.path_[k].support)
        np.testing.assert_allclose(alone.coef_[0][alone.support_], model.path_[k].coef, rtol=1e-9)
    np.testing.assert_array_equal(
        model.path_[7].entered, 1 + np.argsort(model.path_.order)
    )  # one feature per step
    assert model.n_scans_ == 7 + 1  # and one for the certificates


def test_forced_features_are_first_and_count(binary):
    """Forced features would be scored like others, or cost scans."""
    X, y = binary
    free = GreedyLogisticRegression(5, calibrate=False).fit(X, y)
    forced = [int(j) for j in np.setdiff1d(np.arange(X.shape[1]), free.support_)[[3, 8]]]
    model = GreedyLogisticRegression(
        [2, 5], forced_features=forced, tol=TIGHT, calibrate=False
    ).fit(X, y)
    Z = (X - X.mean(0)) / X.std(0)
    order, _ = forward(Z, np.where(y > 0, 1, -1), 5, 0.1, forced=forced)
    np.testing.assert_array_equal(model.path_.order, order)
    np.testing.assert_array_equal(model.path_[2].support, forced)
    assert model.n_scans_ == 3 + 1
    assert model.certificate_.n_forced == 2


def test_certificates_hold(binary):
    """The certificate would be of other coefficients than the steps had."""
    X, y = binary
    model = GreedyLogisticRegression([2, 4], tol=TIGHT, calibrate=False).fit(X, y)
    for k, step in ((2, 1), (4, 3)):
        found = verify(model.path_[k].certificate, X, y)
        # The fits are of the certified problem where fit_C = C.
        assert found["objective"] == pytest.approx(model.history_[step].objective, rel=1e-9)


def test_warm_start_takes_the_features_of_the_fit_before(binary):
    """A larger size would begin anew, or a smaller one keep too much."""
    X, y = binary
    cold = GreedyLogisticRegression(8).fit(X, y)
    warm = GreedyLogisticRegression(5, calibrate=False, warm_start=True).fit(X, y)
    warm.set_params(n_features=8).fit(X, y)
    np.testing.assert_array_equal(warm.path_.order, cold.path_.order)
    assert warm.n_scans_ == 3 + 1
    warm.set_params(n_features=2).fit(X, y)
    np.testing.assert_array_equal(warm.path_.order, cold.path_.order[:2])
    warm.set_params(n_features=3, forced_features=[int(cold.path_.order[7])]).fit(X, y)
    np.testing.assert_array_equal(warm.path_.order, cold.path_.order[[7, 0, 1]])


# ------------------------------------------------------------------- separable data


@pytest.mark.parametrize("fit_C", [0.1, 100.0, 1e8])
def test_separable_data(fit_C):
    """Steps after the classes are separated still choose what lowers the objective most."""
    X, y = load_golub(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GreedyLogisticRegression(20, fit_C=fit_C, calibrate=False).fit(X, y)
    objectives = np.array([step.objective for step in model.history_])
    assert np.isfinite(objectives).all()
    assert np.all(np.diff(objectives) < 0)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, y) == 1.0
    assert all(step.status is Status.CONVERGED for step in model.history_)
    assert all(step.objective - step.bound <= 1.01e-6 * step.objective for step in model.history_)


# ------------------------------------------------------------------- groups


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sparse", [False, True])
def test_groups_enter_in_the_order_of_their_projections(seed, intercept, sparse):
    """Groups would be scored by another number than their share of the gradient."""
    X, y = instance(seed, p=24)
    if sparse:
        X = np.where(np.random.default_rng(seed).random(X.shape) < 0.5, X, 0.0)
    groups = np.random.default_rng(seed).permutation(np.repeat(np.arange(8), [1, 2, 3, 4] * 2)[:24])
    groups = np.append(groups, [9] * (24 - groups.size))
    model = GreedyLogisticRegression(
        feature_groups=groups, n_groups=[2, 4], fit_C=2.0, fit_intercept=intercept,
        standardize=False, tol=TIGHT, calibrate=False
    ).fit(sp.csr_array(X) if sparse else X, y)  # fmt: skip
    order, objectives = forward(X, y, 4, 2.0, intercept=intercept, groups=groups)
    np.testing.assert_array_equal(model.path_.order, order)
    found = [step.objective for step in model.history_]
    np.testing.assert_allclose(found, objectives[1:], rtol=1e-7)
    assert list(model.path_) == [2, 4]
    assert np.unique(groups[model.path_[2].support]).size == 2
    assert np.isin(groups, groups[model.support_]).sum() == model.support_.size


def test_a_change_of_basis_inside_a_group_changes_nothing():
    """Mixed columns span the same space; a copy inside a group adds nothing to it."""
    X, y = instance(9, p=24)
    groups = np.repeat(np.arange(8), 3)
    mixed = X.copy()
    rng = np.random.default_rng(9)
    for g in range(8):
        mixed[:, groups == g] = X[:, groups == g] @ rng.standard_normal((3, 3))
    copied, labels = np.column_stack([X, X[:, groups == 2]]), np.append(groups, [2] * 3)
    first = GreedyLogisticRegression(feature_groups=groups, n_groups=1, calibrate=False).fit(X, y)
    chosen = groups[first.support_[0]]
    for data, names in ((mixed, groups), (copied, labels)):
        model = GreedyLogisticRegression(feature_groups=names, n_groups=1, calibrate=False).fit(
            data, y
        )
        assert set(names[model.support_]) == {chosen}


def test_forced_and_constant_features_of_groups():
    """A group would be torn, or one without usable columns be counted."""
    X, y = instance(10, p=12)
    X[:, 4] = 1.0
    X[:, 9:] = 0.0  # the last group has no usable column
    groups = np.repeat(np.arange(4), 3)
    model = GreedyLogisticRegression(
        feature_groups=groups, n_groups=1, forced_features=[3], calibrate=False
    ).fit(X, y)
    assert model.support_.tolist() == [3, 5]
    with pytest.raises(ValueError, match=r"n_groups must be between 1 and 3 .*; got 4\."):
        GreedyLogisticRegression(feature_groups=groups, n_groups=4).fit(X, y)
    with pytest.raises(ValueError, match=r"at least 2; got 1\."):
        GreedyLogisticRegression(feature_groups=groups, n_groups=1, forced_features=[0, 5]).fit(
            X, y
        )


# ------------------------------------------------------------------- the estimator


def test_several_classes(multiclass):
    """Classes would share features, or each cost its own scans."""
    X, y = multiclass
    model = GreedyLogisticRegression(4).fit(X, y)
    assert model.coef_.shape == (3, 25)
    for label, path in enumerate(model.path_):
        alone = GreedyLogisticRegression(4).fit(X, y == label)
        np.testing.assert_array_equal(path.order, alone.path_.order)
    assert model.n_scans_ == 4 + 1  # the classes share them
    assert model.score(X, y) > 0.7
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


GROUPS = np.arange(40) // 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fit_C": 0.0}, r"fit_C must be a positive finite number; got 0\.0\."),
        ({"fit_C": "a"}, r"fit_C must be a positive finite number; got 'a'\."),
        ({"n_features": 41}, r"n_features must be between 1 and 40"),
        ({"n_features": 3, "forced_features": [0, 1, 2, 3]}, r"must be at least 4"),
        ({"n_groups": 3}, r"feature_groups is None; got n_groups=3\. Pass the group"),
        (
            {"feature_groups": GROUPS, "n_features": 3},
            r"n_features must be None",
        ),
        (
            {"feature_groups": GROUPS, "n_features": 3, "n_groups": 3},
            r"n_features must be None",
        ),
        ({"feature_groups": GROUPS}, r"pass n_groups"),
        (
            {"feature_groups": GROUPS, "n_groups": 21},
            r"between 1 and 20 .*; got 21\.",
        ),
        (
            {"feature_groups": GROUPS, "n_groups": [2, 0]},
            r"between 1 and 20 .*; got 0\.",
        ),
        ({"feature_groups": GROUPS, "n_groups": 2.0}, r"n_groups must be an integer.*; got 2\.0\."),
        (
            {"feature_groups": GROUPS, "n_groups": True},
            r"must be an integer.*; got True\.",
        ),
        ({"feature_groups": GROUPS, "n_groups": "2"}, r"n_groups must be an integer.*; got '2'\."),
        ({"feature_groups": GROUPS, "n_groups": []}, r"n_groups must be .*; got an empty list\."),
        (
            {"feature_groups": GROUPS[1:], "n_groups": 2},
            r"every column of X \(40\); got shape",
        ),
        (
            {"feature_groups": GROUPS / 2, "n_groups": 2},
            r"integers or strings.*; got values of",
        ),
        ({"feature_groups": [[1], [2, 3]], "n_groups": 2}, r"integers or strings.*; got a ragged"),
    ],
)
def test_messages(binary, options, message):
    """A wrong option would be ignored, or fail deep inside."""
    with pytest.raises(ValueError, match=message):
        GreedyLogisticRegression(**options).fit(*binary)

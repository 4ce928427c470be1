"""The lasso and the elastic net, against other packages; paths, sizes, cross-validation, errors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, Lasso, LassoCV, lars_path, lasso_path
from sklearn.model_selection import KFold

from zeronorm import L1Regressor, L1RegressorCV, l1_path

N, M = 80, 30
TIGHT = 1e-11


@pytest.fixture(scope="module")
def data():
    """(X, y): 80 x 30, columns of several sizes and means, an offset of y."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((N, M)) * rng.uniform(0.5, 2, M) + rng.uniform(-1, 1, M)
    y = X[:, [2, 5, 11, 17]] @ [1.0, -2.0, 0.5, 1.5] + 3.0 + rng.standard_normal(N)
    X.flags.writeable = y.flags.writeable = False
    return X, y


def objective(X, y, w, b, C, l1_ratio=1.0, weight=1.0):
    """The problem as the docstring has it."""
    penalty = l1_ratio * np.abs(w).sum() + 0.5 * (1 - l1_ratio) * w @ w
    return penalty + 0.5 * C * (weight * (y - X @ w - b) ** 2).sum()


@pytest.mark.parametrize("alpha", [0.02, 0.3, 2.0])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
@pytest.mark.parametrize("intercept", [True, False])
def test_agrees_with_the_elastic_net_of_scikit_learn(alpha, l1_ratio, intercept, data):
    """The problem would be another than that of the docstring, or not be solved."""
    X, y = data
    C = 1.0 / (N * alpha)
    ours = L1Regressor(C, l1_ratio=l1_ratio, fit_intercept=intercept, tol=TIGHT).fit(X, y)
    theirs = ElasticNet(
        alpha, l1_ratio=l1_ratio, fit_intercept=intercept, tol=1e-12, max_iter=100_000
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-6)
    own = objective(X, y, ours.coef_, ours.intercept_, C, l1_ratio)
    assert ours.objective_ == pytest.approx(own, rel=1e-10)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


def test_weights_are_those_of_the_lasso(data):
    """Rows would count by something else than their weights."""
    X, y = data
    weight = np.random.default_rng(0).uniform(0.1, 3, N)
    ours = L1Regressor(0.1, tol=TIGHT).fit(X, y, weight)
    theirs = Lasso(1.0 / (0.1 * weight.sum()), tol=1e-12, max_iter=100_000)
    theirs.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-4])
def test_the_gap_bounds_the_suboptimality(tol, data):
    """A model would be told nearer to the best one than it is."""
    X, y = data
    best = L1Regressor(0.1, tol=TIGHT).fit(X, y).objective_
    model = L1Regressor(0.1, tol=tol).fit(X, y)
    zero = objective(X, y, np.zeros(M), y.mean(), 0.1)
    assert model.gap_ <= tol
    assert best * (1 - 1e-9) <= model.objective_ <= best + model.gap_ * zero * (1 + 1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_an_offset_is_the_intercept(offset, data):
    """Digits of a target far from 0 would be lost, or its intercept be that of a centred one."""
    X, y = data
    plain = L1Regressor(0.1, tol=1e-9).fit(X, y)
    moved = L1Regressor(0.1, tol=1e-9).fit(X, y + offset)
    np.testing.assert_allclose(moved.coef_, plain.coef_, atol=1e-6)
    assert moved.intercept_ - offset == pytest.approx(plain.intercept_, abs=2e-6)
    sized = L1Regressor(n_features=4, warm_start=True).fit(X, y + offset)
    assert sized.intercept_ - offset == pytest.approx(
        L1Regressor(n_features=4).fit(X, y).intercept_, abs=2e-6
    )
    again = L1Regressor(0.1, tol=1e-8, warm_start=True).fit(X, y + offset)
    assert len(again.fit(X, y + offset).history_) == 1


@pytest.mark.parametrize("k", [1, 2, 4, 7])
def test_exactly_k_features_are_those_of_least_angle_regression(k, data):
    """The features would be others than those of the path, or more or fewer."""
    X, y = data
    model = L1Regressor(n_features=k, refit_C=1e9).fit(X, y)
    _, _, path = lars_path(X - X.mean(axis=0), y - y.mean(), method="lasso")
    wanted = next(set(np.flatnonzero(w)) for w in path.T[::-1] if np.count_nonzero(w) == k)
    assert set(model.support_.tolist()) == wanted
    A = np.column_stack([X[:, model.support_], np.ones(N)])
    expected = np.linalg.lstsq(A, y, rcond=None)[0]
    np.testing.assert_allclose(model.coef_[model.support_], expected[:-1], rtol=1e-6)
    assert model.refit_C_ == 1e9


def test_path_agrees_with_that_of_scikit_learn(data):
    """A solution of the path would be that of another C, or of classes."""
    X, y = data
    path = l1_path(X, y, loss="least_squares", Cs=12, tol=1e-10)
    alphas = 1.0 / (N * path.Cs)
    centred = X - X.mean(axis=0)
    theirs = lasso_path(centred, y - y.mean(), alphas=alphas, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(path.coef.toarray(), theirs[1].T, atol=1e-5)
    assert path.classes is None
    model = L1Regressor(path.Cs[7], tol=1e-10).fit(X, y)
    np.testing.assert_allclose(path.decision_function(X)[:, 7], model.predict(X), atol=1e-5)
    with pytest.raises(ValueError, match="Probabilities need loss='logistic'"):
        path.predict_proba(X)


@pytest.mark.parametrize("rule", ["best", "1se"])
def test_cross_validation_agrees_with_that_of_scikit_learn(rule, data):
    """Folds would be scored on other rows, another scale or another balance of loss and penalty."""
    X, y = data
    folds = list(KFold(4, shuffle=True, random_state=1).split(X))
    Cs = np.geomspace(0.01, 2, 8)
    ours = L1RegressorCV(Cs, cv=folds, rule=rule, tol=1e-10).fit(X, y)
    theirs = LassoCV(alphas=1.0 / (N * Cs), cv=folds, tol=1e-12, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.scores_, theirs.mse_path_, rtol=1e-5)
    assert ours.C_best_ == pytest.approx(1.0 / (N * theirs.alpha_))
    assert (ours.C_best_ if rule == "best" else ours.C_1se_) == ours.C_
    alone = L1Regressor(ours.C_, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, alone.coef_, atol=1e-6)
    assert ours.n_selected_[list(ours.Cs_).index(ours.C_)] == ours.support_.size


def test_a_warm_start_is_at_the_solution(data):
    """A refit of the same data would begin from nothing."""
    X, y = data
    model = L1Regressor(0.1, warm_start=True, tol=1e-8).fit(X, y)
    assert len(model.history_) > 1
    assert len(model.fit(X, y).history_) == 1  # a pass that proves it
    assert model.n_iter_ == 1  # as of any fit
    assert model.gap_ <= 1e-8


@pytest.mark.parametrize("value", [0.0, 0.1, 2e9])
@pytest.mark.filterwarnings("error")
def test_a_constant_target(value, data):
    """Gaps would be divided by a loss of 0."""
    model = L1Regressor(0.1).fit(data[0], np.full(N, value))
    assert not model.coef_.any()
    assert model.predict(data[0]) == pytest.approx(value)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda X, y: L1Regressor(loss="logistic").fit(X, y), "loss must be one of"),
        (lambda X, y: L1Regressor(C=0).fit(X, y), "C must be a positive"),
        (lambda X, y: L1Regressor(C=1e300).fit(X, y), "C must be at most"),
        (lambda X, y: L1Regressor(n_features=31).fit(X, y), "n_features must be between 1 and 30"),
        (lambda X, y: L1Regressor().fit(X, y > 0), None),
        (lambda X, y: L1Regressor().fit(X, [str(v) for v in y]), "y must be numbers"),
        (lambda X, y: L1Regressor().fit(X, np.where(y > 3, np.nan, y)), "y contains NaN"),
        (lambda X, y: L1RegressorCV(cv=81).fit(X, y), "cv must be between 2 and 80"),
        (lambda X, y: L1RegressorCV(cv=[(range(40), range(40, 80))]).fit(X, y), "two folds"),
        (lambda X, y: L1RegressorCV().fit(X, y, np.eye(N)[0]), "at least two rows of positive"),
        (lambda X, y: L1RegressorCV(rule="least").fit(X, y), "rule must be one of"),
        (lambda X, y: l1_path(X, y, loss="hinge"), "loss must be one of"),
        (
            lambda X, y: l1_path(X, y, loss="least_squares", class_weight="balanced"),
            "class_weight must be None for loss='least_squares'",
        ),
        (lambda X, y: l1_path(X, np.ones(N), loss="least_squares"), "all their scores are 0"),
    ],
)
def test_bad_input(make, error, data):
    """A user would get a model of something else, or a message of another parameter."""
    if error is None:  # booleans are numbers
        assert make(*data).support_.size
        return
    with pytest.raises(ValueError, match=error):
        make(*data)

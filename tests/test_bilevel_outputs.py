"""Features in few groups that classes or responses share: oracles, enumeration, folds, files."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from conftest import slow
from zeronorm import (
    BudgetClassifier,
    BudgetCV,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    certify,
    cross_validate,
    methods,
    verify,
)
from zeronorm.data import as_design
from zeronorm.data.gathered import GatheredColumns
from zeronorm.losses import LeastSquares, Logistic, Multinomial, Responses
from zeronorm.losses.multi_output import classes_as_outputs
from zeronorm.persistence import load, save
from zeronorm.published import L0By
from zeronorm.solvers.bilevel import FeaturePool
from zeronorm.solvers.l0 import VARIANTS, Objective
from zeronorm.solvers.problem import Risk

N, M, Q = 48, 6, 3
GROUPS = np.arange(M) % 3  # not contiguous
KINDS = ("multinomial", "least_squares", "poisson")


def drawn(kind, seed=0, n=N):
    """Columns that depend on each other, and a target of Q outputs; two groups matter."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, M)) + 0.7 * rng.standard_normal((n, 1))
    signal = X[:, [1, 2, 1]] * [1.2, 1.0, -1.0] + X[:, [4, 4, 5]]
    if kind == "multinomial":
        y = (signal + rng.gumbel(size=(n, Q))).argmax(axis=1)
        y[:Q] = np.arange(Q)
        return X, y
    if kind == "poisson":
        return X, rng.poisson(np.exp(signal / 3)) + 0.0
    return X, signal + rng.standard_normal((n, Q))


def least_of_counts(Z, y, weight, C, free):
    """Return that of a Poisson regression, by Newton's method."""
    A = np.column_stack([Z, np.full(len(Z), float(free))])
    penalty = np.append(np.ones(Z.shape[1]), 0.0 if free else 1.0)
    u = np.zeros(A.shape[1])
    for _ in range(30):
        mean = np.exp(A @ u)
        H = C * A.T @ ((weight * mean)[:, None] * A) + np.diag(penalty)
        u -= np.linalg.solve(H, C * A.T @ (weight * (mean - y)) + penalty * u)
    logs = np.where(y > 0, y * np.log(np.maximum(y, 1.0) / mean), 0.0)
    return C * weight @ (mean - y + logs) + 0.5 * penalty @ u**2


def least(kind, Z, y, weight, C, free):
    """Return the least objective on columns, without a penalty where C is infinite; by others."""
    if kind == "multinomial":
        peer = LogisticRegression(C=C, tol=1e-9, max_iter=1000, fit_intercept=free)
        peer.fit(Z, y, weight)
        loss = log_loss(y, peer.predict_proba(Z), sample_weight=weight, normalize=False)
        return C * loss + 0.5 * (peer.coef_**2).sum()
    total = 0.0
    for one in y.T:
        if kind == "poisson":
            total += least_of_counts(Z, one, weight, C, free)
            continue
        # The ridge is rows more, as many as there are columns; it is before the loss.
        A = np.column_stack([Z, np.ones(len(Z))]) if free else Z
        root = np.sqrt(weight)
        A = np.vstack([root[:, None] * A, np.eye(Z.shape[1], A.shape[1]) / np.sqrt(C)])
        b = np.concatenate([root * one, np.zeros(Z.shape[1])])
        u = np.linalg.lstsq(A, b, rcond=None)[0]
        total += 0.5 * ((A @ u - b) ** 2).sum()
    return total


def admissible(k, g, forced=()):
    """Yield the supports of k features in at most g groups."""
    for support in combinations(range(M), k):
        if len(set(GROUPS[list(support)])) <= g and set(forced) <= set(support):
            yield list(support)


def check_certificate(estimator, X, y, weight, values):
    """The bound is below all supports of these groups, and no larger one verifies.

    values : the least objective of every support that the budgets admit.
    """
    model = estimator.fit(X, y, weight)
    certificate = certify(model, X, y, sample_weight=weight)
    assert certificate.objective == pytest.approx(values[tuple(model.support_)], rel=1e-5)
    assert certificate.bound <= min(values.values()) * (1 + 1e-6)
    verify(certificate, X, y, sample_weight=weight)
    better = 0.5 * (certificate.bound + certificate.objective)
    if better > certificate.bound * (1 + 1e-4):
        with pytest.raises(ValueError, match="bound"):
            verify(replace(certificate, bound=better), X, y, sample_weight=weight)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1, *slow(*range(2, 12))])
def test_models_against_all_supports(kind, seed):
    """The model would be worse than the best one that the budgets admit, or of another problem."""
    X, y = drawn(kind, seed)
    rng = np.random.default_rng(seed)
    weight, free = rng.integers(1, 3, N) + 0.0, seed % 3 != 1
    forced = [0] if seed % 4 == 3 else []
    C = np.inf if kind == "least_squares" and seed % 2 == 0 else 0.3
    kinds = {} if kind == "multinomial" else {"loss": kind}
    estimator = BudgetClassifier if kind == "multinomial" else BudgetRegressor
    model = estimator(
        [2, 3, 4], n_groups=[1, 2], feature_groups=GROUPS, C=C, fit_intercept=free, tol=1e-9,
        forced_features=forced, **kinds,
    ).fit(X, y, weight)  # fmt: skip
    mean = np.average(X, axis=0, weights=weight)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    Z = (X - mean * free) / scale
    for k, g in ((2, 1), (2, 2), (3, 2), (4, 2)):
        values = {
            tuple(S): least(kind, Z[:, S], y, weight, C, free) for S in admissible(k, g, forced)
        }
        found = model.path_[k, g]
        assert found.support.size == k
        assert set(forced) <= set(found.support.tolist())
        assert found.objective == pytest.approx(values[tuple(found.support)], rel=1e-5)
        assert found.objective <= min(values.values()) * (1 + 1e-5), (k, g)
        if np.isfinite(C):
            scale = C if kind == "least_squares" else 1.0  # a ridge is before the loss there
            values = {support: scale * value for support, value in values.items()}
            one = clone(model).set_params(n_features=k, n_groups=g)
            check_certificate(one, X, y, weight, values)


@pytest.mark.parametrize("solver", list(VARIANTS))
@pytest.mark.parametrize("kind", KINDS)
def test_published_methods_keep_both_budgets(kind, solver):
    """A step would select coefficients in place of features, or end far from the search."""
    X, y = drawn(kind)
    estimator = BudgetClassifier if kind == "multinomial" else BudgetRegressor
    kinds = {} if kind == "multinomial" else {"loss": kind}
    options = {"n_groups": 2, "feature_groups": GROUPS, "C": 0.3, **kinds}
    model = estimator(3, method=methods.Bilevel(solver), **options).fit(X, y)
    best = estimator(3, **options).fit(X, y)
    assert model.support_.size == 3
    assert model.groups_.size <= 2
    assert model.coef_.shape == (Q, M)
    assert (model.coef_[:, model.support_] != 0).all()
    low, high = best.path_[3, 2].objective, model.path_[3, 2].objective
    assert low * (1 - 1e-9) <= high <= 1.2 * low


def pool_of(X, risk, ridge, columns):
    pool = FeaturePool(Objective(risk, ridge), GatheredColumns(as_design(X)))
    pool.add(np.arange(X.shape[1]))
    return pool, pool.fit(np.asarray(columns))


@pytest.mark.parametrize("free", [True, False])
def test_changes_of_responses_are_exact(free):
    """Features would be exchanged by what they are worth to one response."""
    X, Y = drawn("least_squares", 3)
    weight = np.random.default_rng(3).uniform(0.5, 2.0, N)
    loss = Responses(LeastSquares(), Q, free)
    columns = np.array([0, 2, 3, 5])
    pool, fit = pool_of(X, Risk(Y.T.ravel(), np.tile(weight, Q), loss, False), 0.3, columns)

    def value(columns):
        return pool.fit(np.sort(np.asarray(columns))).objective

    changes, outside = pool.changes(fit), np.setdiff1d(np.arange(M), columns)
    expected = [2 * (value(np.delete(columns, j)) - fit.objective) for j in range(4)]
    np.testing.assert_allclose(changes.losses(), expected, rtol=1e-8)
    expected = [2 * (fit.objective - value([*columns, i])) for i in outside]
    np.testing.assert_allclose(changes.gains()[outside], expected, rtol=1e-7, atol=1e-9)
    for j in range(4):
        for i in outside:
            swapped = 2 * (fit.objective - value([*np.delete(columns, j), i]))
            assert changes.swaps()[j, i] == pytest.approx(swapped, rel=1e-7, abs=1e-8)
    two = np.array([1, 2])
    without = 2 * (value(columns[[0, 3]]) - fit.objective)
    assert changes.loss_of(two) == pytest.approx(without, rel=1e-8)
    rest = pool.changes(pool.fit(columns[[0, 3]]))
    left = changes.without(two)
    np.testing.assert_allclose(left.losses(), rest.losses(), rtol=1e-8)
    np.testing.assert_allclose(left.gains()[outside], rest.gains()[outside], rtol=1e-8)


@pytest.mark.parametrize("free", [True, False])
def test_two_classes_change_as_the_logistic_loss(free):
    """The curvature of a class by itself would not be that along what the classes can do.

    With two classes the coefficients are w / 2 and -w / 2, so that a ridge on both is half of it on
    w.
    """
    X, y = drawn("multinomial", 1)
    y = (y > 0).astype(int)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, N)
    outputs = Risk(classes_as_outputs(y, 2), np.tile(weight, 2), Multinomial(2, free), False)
    logistic = Risk(np.where(y, 1.0, -1.0), weight, Logistic(), free)
    columns = [0, 3, 5]
    (pool, fit), (own, other) = (
        pool_of(X, risk, ridge, columns) for risk, ridge in ((outputs, 0.6), (logistic, 0.3))
    )
    assert fit.objective == pytest.approx(other.objective, rel=1e-9)
    changes, expected = pool.changes(fit), own.changes(other)
    for name in ("losses", "gains", "swaps"):
        np.testing.assert_allclose(
            getattr(changes, name)(), getattr(expected, name)(), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("kind", KINDS)
def test_weights_repetition_storages_and_scales(kind):
    """A weight would not count rows, or a storage or unit of X choose other features."""
    X, y = drawn(kind, 2, n=90)
    X[np.abs(X) < 0.8] = 0.0
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    estimator = BudgetClassifier if kind == "multinomial" else BudgetRegressor
    options = {"n_groups": 2, "feature_groups": GROUPS, "C": 0.3}
    if kind != "multinomial":
        options["loss"] = kind
    model = estimator(3, **options).fit(X, y, weight)
    others = [
        (estimator(3, **options).fit(X[rows], y[rows]), 1e-6),
        (estimator(3, **options).fit(np.asfortranarray(X), y, weight), 1e-9),
        (estimator(3, **options).fit(sp.csr_array(X), y, weight), 1e-6),
        (estimator(3, **options).fit(sp.csc_array(X), y, weight), 1e-6),
    ]
    for other, tolerance in others:
        assert other.support_.tolist() == model.support_.tolist()
        np.testing.assert_allclose(other.coef_, model.coef_, atol=tolerance)
        np.testing.assert_allclose(other.intercept_, model.intercept_, atol=10 * tolerance)
    unscaled = estimator(3, **options, standardize=False).fit(X, y)
    moved = estimator(3, **options, standardize=False).fit(X + 1000.0, y)
    assert moved.support_.tolist() == unscaled.support_.tolist()
    np.testing.assert_allclose(moved.coef_, unscaled.coef_, atol=1e-5)


def test_final_fits_and_criteria():
    """The refit would be of one output, or its criteria count features in place of numbers."""
    X, y = drawn("multinomial")
    options = {"n_groups": 2, "feature_groups": GROUPS}
    refitted = BudgetClassifier(3, refit_C=0.7, **options).fit(X, y)
    own = X[:, refitted.support_]
    peer = LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000).fit(own, y)
    np.testing.assert_allclose(refitted.coef_[:, refitted.support_], peer.coef_, atol=1e-5)
    np.testing.assert_allclose(refitted.predict_proba(X), peer.predict_proba(own), atol=1e-5)
    model = BudgetClassifier(3, **options).fit(X, y)
    loss = log_loss(y, model.predict_proba(X), normalize=False)
    assert model.criteria_["log_loss"][0] == pytest.approx(loss, rel=1e-9)
    assert model.criteria_["aic"][0] == pytest.approx(2 * loss + 2 * 3 * Q, rel=1e-9)
    # The loss of rows left out is that of fits without them, but for one Newton step.
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    left = [
        -LogisticRegression(C=1.0, tol=1e-10, max_iter=1000)
        .fit(np.delete(Z, i, 0)[:, model.support_], np.delete(y, i))
        .predict_log_proba(Z[[i]][:, model.support_])[0, y[i]]
        for i in range(N)
    ]
    assert model.path_[3, 2].loo_loss == pytest.approx(np.mean(left), rel=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_warm_starts_and_files(kind, tmp_path):
    """A fit would begin with columns in place of features; a model be read as another one."""
    X, y = drawn(kind)
    estimator = BudgetClassifier if kind == "multinomial" else BudgetRegressor
    kinds = {} if kind == "multinomial" else {"loss": kind}
    model = estimator([2, 3], n_groups=2, feature_groups=GROUPS, warm_start=True, **kinds).fit(X, y)
    support, n_scans = model.support_.tolist(), model.n_scans_
    entered = np.concatenate([step.entered for step in model.history_])
    assert entered.max() < M
    assert set(support) <= set(entered.tolist())
    model.fit(X, y)
    assert model.support_.tolist() == support
    assert model.n_scans_ <= n_scans
    pool = estimator(2, warm_start=True, **kinds).fit(X, y)
    n_scans, support_of_pool = pool.n_scans_, pool.support_.tolist()
    pool.fit(X, y)
    assert pool.n_scans_ < n_scans
    assert pool.support_.tolist() == support_of_pool
    save(model, tmp_path / "model.npz")
    read = load(tmp_path / "model.npz")
    assert read.support_.tolist() == support
    np.testing.assert_array_equal(read.predict(X), model.predict(X))


def test_ordered_classes():
    """Thresholds would be lost, or taken for one intercept."""
    X, Y = drawn("least_squares", n=90)
    y = np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.6]))
    options = {"n_groups": 2, "feature_groups": GROUPS, "loss": "ordinal", "C": 0.3}
    model = BudgetClassifier(3, **options).fit(X, y)
    assert model.support_.size == 3
    assert model.groups_.size <= 2
    assert (np.diff(model.thresholds_) > 0).all()
    # Its objective is the least of all supports: that of exchanges with as many features.
    best = BudgetClassifier(3, loss="ordinal", C=0.3, method="l0", calibrate=False).fit(X, y)
    within = len(set(GROUPS[best.support_])) <= 2
    bound = best.certificate_.bound
    assert model.path_[3, 2].objective >= bound
    if within:
        assert model.path_[3, 2].objective == pytest.approx(best.certificate_.objective, rel=1e-6)
    p = model.predict_proba(X)
    value = 0.3 * -np.log(p[np.arange(len(y)), y]).sum()
    Z_coef = model.coef_[0] * X.std(axis=0)
    assert model.path_[3, 2].objective == pytest.approx(value + 0.5 * Z_coef @ Z_coef, rel=1e-6)


# ------------------------------------------------------------------- folds

SPLITS = [(np.flatnonzero(np.arange(90) % 3 != r), np.flatnonzero(np.arange(90) % 3 == r))
          for r in range(3)]  # fmt: skip


def survival(X, seed=0):
    rng = np.random.default_rng(seed)
    time = rng.exponential(np.exp(-X[:, 1] + X[:, 4]))
    seen = rng.random(len(X)) < 0.7
    return np.rec.fromarrays([seen, time], names="event,time")


@pytest.mark.parametrize("kind", [*KINDS, "ovr", "huber"])
def test_cross_validation_is_what_it_says(kind):
    """Held-out rows would be scored by one output, or by another loss."""
    X, y = drawn({"ovr": "multinomial", "huber": "least_squares"}.get(kind, kind), n=90)
    weight = np.random.default_rng(0).integers(1, 3, 90) + 0.0
    if kind in ("multinomial", "ovr"):
        shared = "ovr" if kind == "ovr" else "multinomial"
        model = BudgetClassifier(feature_groups=GROUPS, multi_class=shared)
    else:
        model = BudgetRegressor(feature_groups=GROUPS, loss=kind, C=0.5)
    scoring = "neg_log_loss" if kind in ("multinomial", "ovr") else None
    search = BudgetCV(model, [1, 3], [1, 2], cv=SPLITS, scoring=scoring).fit(X, y, weight)
    train, test = SPLITS[1]
    one = model.set_params(n_features=3, n_groups=2).fit(X[train], y[train], weight[train])
    place = search.validation_.sizes.index((3, 2)), 1
    found = -search.validation_.scores[place]
    if scoring is None:
        found = 2 * search.validation_.deviance[place] / Q  # a sum over the responses
    if kind in ("multinomial", "ovr"):
        expected = log_loss(y[test], one.predict_proba(X[test]), sample_weight=weight[test])
        shape = 90, Q
        assert search.predict_proba(X).shape == shape
    elif kind == "poisson":
        mean, t = one.predict(X[test]), y[test]
        logs = np.where(t > 0, t * np.log(np.maximum(t, 1.0) / mean), 0.0)
        deviance = 2 * (mean - t + logs)
        expected = np.average(deviance.mean(axis=1), weights=weight[test])
    else:
        away = np.abs(y[test] - one.predict(X[test]))
        losses = away**2
        if kind == "huber":  # the width is 1.345 deviations by the median one of all rows
            loss = model._loss().fitted(y.T.ravel(), np.tile(weight, Q))
            width = next(iter(loss.parameters.values()))
            losses = np.where(away <= width, away**2, 2 * width * away - width**2)
        expected = np.average(losses.mean(axis=1), weights=weight[test])
    assert found == pytest.approx(expected, rel=1e-6)
    assert search.best_estimator_.size_ in search.validation_.sizes
    assert np.isfinite(search.score(X, y))
    both = cross_validate(model.set_params(n_features=[1, 3], n_groups=[1, 2]), X, y, cv=SPLITS)
    assert sorted(both.sizes) == sorted(search.validation_.sizes)


def test_cross_validation_of_survival_and_ordered_classes():
    """A loss would have no search over both budgets, or be scored by nonsense."""
    X, _ = drawn("least_squares", n=90)
    y = survival(X)
    model = BudgetSurvivalAnalysis(feature_groups=GROUPS)
    for scoring in (None, "c_index"):
        search = BudgetCV(model, [1, 2], [1, 2], cv=3, scoring=scoring, rule="best").fit(X, y)
        assert search.validation_.scores.shape == (4, 3)
        assert search.score(X, y) > 0.6
    ordered = np.digitize(X[:, 1] + X[:, 4], [-1, 1])
    search = BudgetCV(
        BudgetClassifier(feature_groups=GROUPS, loss="ordinal"),
        [1, 2],
        [1, 2],
        cv=3,
        scoring="accuracy",
    ).fit(X, ordered)
    assert search.support_.tolist() == [1, 4]
    assert search.validation_.mean.max() > 0.8
    with pytest.raises(ValueError, match=r"scoring must be None, 'c_index' or a scorer"):
        BudgetCV(model, [1], [1], scoring="squared_error").fit(X, y)
    y["event"] = np.arange(90) < 8
    folds = [(np.arange(45), np.arange(45, 90)), (np.arange(45, 90), np.arange(45))]
    with pytest.raises(ValueError, match="event"):
        BudgetCV(model, [1], [1], cv=folds).fit(X, y)


# ------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_groups": 4}, r"n_groups must be between 1 and 3 .*; got 4"),
        ({"n_features": M + 1}, r"n_features must be between 1 and 6 .*; got 7"),
        (
            {"feature_groups": np.repeat(GROUPS, Q)},
            r"one for every column of X \(6\); got shape \(18,\)",
        ),
        ({"forced_features": [0, 1, 2]}, r"n_groups counts the groups of forced features"),
        ({"forced_groups": [7]}, "forced_groups has the label 7, which is not in feature_groups"),
        ({"method": "l1"}, "method='l1' selects single features; got feature_groups"),
        ({"signs": 1}, "signs"),
    ],
)
@pytest.mark.parametrize("kind", ["multinomial", "least_squares"])
def test_wrong_parameters(kind, options, message):
    """Columns of the outputs would be counted in place of features."""
    X, y = drawn(kind)
    estimator = BudgetClassifier if kind == "multinomial" else BudgetRegressor
    given = {"n_features": 3, "n_groups": 2, "feature_groups": GROUPS}
    with pytest.raises(ValueError, match=message):
        estimator(**{**given, **options}).fit(X, y)


def test_targets_with_little_to_say():
    """A constant response, a class of one row or one group would give NaN, or end the fit."""
    X, Y = drawn("least_squares")
    Y[:, 1] = 7.0
    model = BudgetRegressor(3, n_groups=2, feature_groups=GROUPS).fit(X, Y)
    assert np.abs(model.coef_[1]).max() <= 1e-12
    assert model.intercept_[1] == pytest.approx(7.0, rel=1e-12)
    assert np.isfinite(model.coef_).all()
    constant = BudgetRegressor(3, n_groups=2, feature_groups=GROUPS).fit(X, np.full_like(Y, 2.0))
    assert not constant.coef_.any()
    np.testing.assert_allclose(constant.predict(X), 2.0)
    y = np.zeros(N, int)
    y[0], y[1] = 1, 2
    for groups in (GROUPS, np.zeros(M, int), np.arange(M)):
        found = BudgetClassifier(2, n_groups=1, feature_groups=groups).fit(X, y)
        assert np.isfinite(found.predict_proba(X)).all()
        assert found.support_.size <= 2
    with pytest.raises(ValueError, match="squared_hinge"):
        BudgetClassifier(
            2, n_groups=1, feature_groups=GROUPS, loss="squared_hinge", multi_class="multinomial"
        ).fit(X, y)
    assert np.isfinite(BudgetClassifier(2, method=L0By()).fit(X, y).predict_proba(X)).all()
    for method in ("l1", "reweighted-l1"):
        with pytest.raises(ValueError, match="for more than two classes"):
            BudgetClassifier(2, method=method, multi_class="multinomial").fit(X, y)

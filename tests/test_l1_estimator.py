"""L1Classifier: the problem it states, against other solvers; options, storages, errors."""

from __future__ import annotations

import pickle
import warnings
from collections import deque

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import oracles
from conftest import make_classification, slow
from zeronorm import BudgetClassifier, L1Classifier, l1_path
from zeronorm.core.results import Status
from zeronorm.data import Rows, as_design
from zeronorm.losses import Logistic, SquaredHinge
from zeronorm.published import (
    BilevelRegressor,
    L1LogisticRegression,
    ReweightedL1LogisticRegression,
)
from zeronorm.published.solvers import L1_SOLVERS

LOSSES = ["logistic", "squared_hinge"]
each_loss = pytest.mark.parametrize("loss", LOSSES)


def made(C=1.0, **options):
    """Return an estimator that has a solver among its options."""
    return L1LogisticRegression(C, **{"solver": "auto", **options})


each_solver = pytest.mark.parametrize("solver", list(L1_SOLVERS))
TIGHT = 1e-11
# What scikit-learn calls the l1 penalty, and the elastic net.
RENAMED = LogisticRegression().l1_ratio is not None  # since 1.8
L1 = {"l1_ratio": 1} if RENAMED else {"penalty": "l1"}
ELASTIC_NET = {} if RENAMED else {"penalty": "elasticnet"}


@pytest.fixture(scope="module")
def data():
    """(X, y) of shape (100, 30), labels 0 and 1, columns of similar size."""
    X, y = make_classification(100, 30, seed=60)
    X = X * np.random.default_rng(61).uniform(0.5, 2, 30) + 0.3
    X.flags.writeable = y.flags.writeable = False
    return X, y


def objective(
    X, y, w, b, *, C=1.0, l1_ratio=1.0, loss="logistic", factor=1.0, weight=1.0
):  # fmt: skip
    """The problem as the docstring has it; y is 0 or 1."""
    margin = (2 * y - 1) * (X @ w + b)
    losses = (
        np.logaddexp(0, -margin) if loss == "logistic" else 0.5 * np.maximum(0, 1 - margin) ** 2
    )
    penalty = factor * (l1_ratio * np.abs(w) + (1 - l1_ratio) / 2 * w**2)
    return penalty.sum() + C * (weight * losses).sum()


def reference(X, y, *, C=1.0, l1_ratio=1.0, loss="logistic", factor=1.0, intercept=True, signs=0):
    """Minimise over w = p - q with p, q >= 0 by L-BFGS-B; return (w, b, objective)."""
    m = X.shape[1]
    factor, signs = np.broadcast_to(factor, m), np.broadcast_to(signs, m)
    s = 2.0 * y - 1

    def value_gradient(v):
        w = v[:m] - v[m : 2 * m]
        margin = s * (X @ w + v[-1])
        hinge = np.maximum(0, 1 - margin)
        slope = -expit(-margin) if loss == "logistic" else -hinge
        smooth = factor * (1 - l1_ratio) * w + C * X.T @ (s * slope)
        l1 = factor * l1_ratio
        gradient = np.r_[smooth + l1, -smooth + l1, C * (s @ slope)]
        value = objective(X, y, w, v[-1], C=C, l1_ratio=l1_ratio, loss=loss, factor=factor)
        return value + l1 @ (v[:m] + v[m : 2 * m] - np.abs(w)), gradient

    bounds = [(0, 0 if sign < 0 else None) for sign in signs]
    bounds += [(0, 0 if sign > 0 else None) for sign in signs]
    bounds += [(None, None) if intercept else (0, 0)]
    v = np.zeros(2 * m + 1)
    for _ in range(3):  # restarts forget a bad quadratic model
        options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-16, "gtol": 1e-11, "maxcor": 30}
        v = minimize(value_gradient, v, jac=True, method="L-BFGS-B", bounds=bounds,
                     options=options).x  # fmt: skip
    w, b = v[:m] - v[m : 2 * m], v[-1]
    return w, b, objective(X, y, w, b, C=C, l1_ratio=l1_ratio, loss=loss, factor=factor)


def assert_same(a, b, atol=1e-7):
    """Same features and nearly the same numbers."""
    np.testing.assert_array_equal(a.support_, b.support_)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=atol)
    np.testing.assert_allclose(a.intercept_, b.intercept_, atol=atol)


# ------------------------------------------------------------------- the problem it says it solves

INSTANCES = [
    # seed, n, p, C, smallest C with a feature, optimum, support, first coefficients, l1 norm
    (0, 20, 6, 1.0, 0.1179665414, 6.4105030768, [0, 1, 3], [1.80125063, -1.19748792, 0],
     3.80381682),
    (1, 30, 50, 0.5, 0.1032543750, 6.6078298970, [0, 1, 2, 4, 30, 32, 38, 48],
     [1.77623843, -0.72123297, 0.24309060], 3.41413861),
    (2, 100, 10, 10.0, 0.0342071667, 57.0223477547, range(9),
     [14.5855784, -10.01389361, 7.20146205], 38.30341765),
    (3, 50, 200, 2.0, 0.0518099697, 13.7017970212,
     [0, 1, 2, 11, 19, 23, 42, 45, 80, 83, 107, 115, 121, 131, 134, 136, 143, 158, 165, 172, 193,
      194, 197], [2.6551317, -1.58195986, 0.13127332], 10.02446668),
]  # fmt: skip


def draw(seed, n, p):
    """The instances of the table."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    w = np.zeros(p)
    w[:3] = [2, -1.5, 1]
    return X, (X @ w + 0.5 * rng.standard_normal(n) > 0).astype(int)


@pytest.mark.parametrize(
    ("solver", "instance"),
    [  # nothing makes glmnet converge, and at larger C it does not
        (solver, instance)
        for solver in L1_SOLVERS
        for instance in INSTANCES
        if solver != "glmnet" or instance[3] <= 1
    ],
    ids=lambda value: value if isinstance(value, str) else f"seed{value[0]}",
)
def test_known_solutions(solver, instance):
    """The solution would not be that of independent implementations."""
    seed, n, p, C, _, optimum, support, first, norm = instance
    X, y = draw(seed, n, p)
    model = L1LogisticRegression(C, fit_intercept=False, solver=solver, tol=1e-13).fit(X, y)
    assert model.objective_ == pytest.approx(optimum, abs=2e-10)
    np.testing.assert_array_equal(model.support_, support)
    np.testing.assert_allclose(model.coef_[0, :3], first, atol=2e-6)
    assert np.abs(model.coef_).sum() == pytest.approx(norm, abs=2e-6)
    assert model.intercept_ == 0


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda i: f"seed{i[0]}")
def test_smallest_weight_with_a_feature(instance):
    """Features would enter before they pay, or too late."""
    X, y = draw(*instance[:3])
    smallest = instance[4]
    for C, some in ((0.999 * smallest, False), (1.001 * smallest, True)):
        model = L1Classifier(C, fit_intercept=False, tol=1e-9).fit(X, y)
        assert (model.support_.size > 0) == some
        assert model.predict_proba(X).shape == (len(y), 2)


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_agrees_with_liblinear(C, data):
    """The logistic problem would not be the one of scikit-learn's liblinear."""
    X, y = data
    model = L1Classifier(C, fit_intercept=False, tol=TIGHT).fit(X, y)
    other = LogisticRegression(
        C=C, **L1, solver="liblinear", fit_intercept=False, tol=1e-10, max_iter=100_000,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    w = other.coef_[0]
    assert model.objective_ == pytest.approx(objective(X, y, w, 0, C=C), rel=1e-8)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-4)
    np.testing.assert_array_equal(model.classes_, other.classes_)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_agrees_with_the_linear_svm_at_half_its_weight(C, data):
    """The squared hinge would not be LIBLINEAR's with half of our C."""
    X, y = data
    model = L1Classifier(C, loss="squared_hinge", fit_intercept=False, tol=TIGHT).fit(X, y)
    other = LinearSVC(
        C=C / 2, penalty="l1", dual=False, fit_intercept=False, tol=1e-10, max_iter=1_000_000,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    w = other.coef_[0]
    expected = objective(X, y, w, 0, C=C, loss="squared_hinge")
    assert model.objective_ == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
def test_agrees_with_the_elastic_net_of_saga(intercept, data):
    """l1_ratio, or the free intercept, would not be those of scikit-learn."""
    X, y = data
    model = L1Classifier(0.5, l1_ratio=0.5, fit_intercept=intercept, tol=TIGHT).fit(X, y)
    other = LogisticRegression(
        C=0.5, l1_ratio=0.5, **ELASTIC_NET, solver="saga", fit_intercept=intercept, tol=1e-12,
        max_iter=20_000, random_state=0,
    ).fit(X, y)  # fmt: skip
    w, b = other.coef_[0], float(np.ravel(other.intercept_)[0])
    assert model.objective_ == pytest.approx(objective(X, y, w, b, C=0.5, l1_ratio=0.5), rel=1e-8)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)
    assert model.intercept_[0] == pytest.approx(b, abs=1e-5)


@each_loss
@pytest.mark.parametrize(
    "solver", [s if s == "auto" else pytest.param(s, marks=pytest.mark.slow) for s in L1_SOLVERS]
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"l1_ratio": 0.3},
        {"intercept": False},
        {"signs": 1},
        {"signs": np.resize([-1, 0, 1], 30), "l1_ratio": 0.7},
        {"factor": np.resize([0.5, 1.0, 3.0], 30)},
        {"factor": np.r_[0.0, 0.0, np.ones(28)]},
        {"factor": np.r_[0.0, np.ones(29)], "l1_ratio": 0.4, "C": 0.1},
    ],
    ids=lambda o: "-".join(o) or "plain",
)
def test_agrees_with_a_general_optimiser(loss, solver, options, data):
    """An option would be another problem than the docstring says, for one of the solvers."""
    X, y = data
    w, b, optimum = reference(X, y, loss=loss, **options)
    names = {"intercept": "fit_intercept", "factor": "penalty_factor"}
    keywords = {names.get(name, name): value for name, value in options.items()}
    tol = 1e-7 if solver == "cdn" else 1e-9  # differences of its objective are rounding below
    model = L1LogisticRegression(loss=loss, solver=solver, tol=tol, max_iter=5000, **keywords)
    if solver == "glmnet":  # need not converge: then it has to say so
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        assert model.objective_ >= optimum - 1e-7
        if model.gap_ > tol:
            return
    else:
        model.fit(X, y)
    assert model.gap_ <= tol
    assert model.objective_ == pytest.approx(optimum, rel=1e-7 + 10 * tol)
    np.testing.assert_allclose(model.coef_[0], w, atol=2e-3)
    assert model.intercept_[0] == pytest.approx(b, abs=2e-3)
    told = {name: options[name] for name in ("C", "l1_ratio", "factor") if name in options}
    recomputed = objective(X, y, model.coef_[0], model.intercept_[0], loss=loss, **told)
    assert model.objective_ == pytest.approx(recomputed, rel=1e-10)


@each_loss
@each_solver
@pytest.mark.parametrize("l1_ratio", [0.5, *slow(1.0)])
@pytest.mark.parametrize("free", [0, 2])
def test_gap_bounds_the_suboptimality(loss, solver, l1_ratio, free, data):
    """The certificate would claim more than is true."""
    X, y = data
    factor = np.r_[np.zeros(free), np.ones(30 - free)]
    options = {"C": 0.3, "loss": loss, "l1_ratio": l1_ratio, "penalty_factor": factor}
    best = reference(X, y, C=0.3, loss=loss, l1_ratio=l1_ratio, factor=factor)[2]
    for tol in (0.3, 1e-2, 1e-4):
        model = L1LogisticRegression(**options, solver=solver, tol=tol, max_iter=5000).fit(X, y)
        assert model.gap_ <= tol
        for step in model.history_:
            assert step.bound <= best
            assert step.objective >= best * (1 - 1e-8)
        without = model.history_[0].objective
        assert (model.objective_ - best) / without <= model.gap_
        assert model.gap_ == pytest.approx(
            (model.objective_ - model.history_[-1].bound) / without, abs=1e-12
        )


def test_a_never_penalised_sign_constrained_feature_at_zero(data):
    """A feature held at zero by its sign alone would keep the gap open."""
    X, y = data
    strongest = np.abs(X.T @ (y - y.mean())).argmax()
    sign = -np.sign(X[:, strongest] @ (y - y.mean()))
    factor, signs = np.ones(30), np.zeros(30)
    factor[strongest], signs[strongest] = 0, sign
    model = L1Classifier(penalty_factor=factor, signs=signs, tol=1e-8).fit(X, y)
    assert strongest not in model.support_
    assert model.gap_ <= 1e-8


# ------------------------------------------------------------------------- properties of the model


@each_loss
def test_flipping_the_labels_flips_the_model(loss, data):
    """The two classes would not be treated alike."""
    X, y = data
    a = L1Classifier(loss=loss, tol=TIGHT).fit(X, y)
    b = L1Classifier(loss=loss, tol=TIGHT).fit(X, 1 - y)
    np.testing.assert_array_equal(a.support_, b.support_)
    np.testing.assert_allclose(a.coef_, -b.coef_, atol=1e-5)
    np.testing.assert_allclose(a.intercept_, -b.intercept_, atol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.6])
def test_standardize_is_fitting_scaled_columns(fit_intercept, l1_ratio, data):
    """standardize=True would penalise by other scales than the standard deviations."""
    X, y = data
    X = X * 10.0 ** np.linspace(-2, 2, 30)
    # Without an intercept columns are scaled and not centred.
    scaler = StandardScaler(with_mean=fit_intercept).fit(X)
    options = {"C": 0.3, "l1_ratio": l1_ratio, "fit_intercept": fit_intercept, "tol": TIGHT}
    model = L1Classifier(**options, standardize=True).fit(X, y)
    scaled = L1Classifier(**options).fit(scaler.transform(X), y)
    np.testing.assert_array_equal(model.support_, scaled.support_)
    np.testing.assert_allclose(model.coef_ * scaler.scale_, scaled.coef_, atol=1e-5)
    np.testing.assert_allclose(
        model.decision_function(X), scaled.decision_function(scaler.transform(X)), atol=1e-4
    )
    assert model.objective_ == pytest.approx(scaled.objective_, rel=1e-9)


def test_units_of_columns_do_not_matter_when_standardising(data):
    """Columns in very large or small units would be out of reach, or drawn in at once."""
    X, y = data
    units = 10.0 ** np.random.default_rng(63).integers(-12, 13, 30)
    options = {"C": 0.3, "standardize": True, "tol": 1e-9, "max_iter": 20}
    a, b = L1Classifier(**options).fit(X, y), L1Classifier(**options)
    b.fit(X * units, y)
    np.testing.assert_array_equal(a.support_, b.support_)
    np.testing.assert_allclose(b.coef_ * units, a.coef_, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1e4, 1e100])
def test_units_of_all_columns_are_units_of_the_loss(scale, data):
    """X times t with C / t would not be the coefficients divided by t."""
    X, y = data
    options = {"fit_intercept": False, "tol": 1e-9, "max_iter": 20}
    a = L1Classifier(0.5, **options).fit(X, y)
    b = L1Classifier(0.5 / scale, **options).fit(scale * X, y)
    np.testing.assert_array_equal(a.support_, b.support_)
    np.testing.assert_allclose(scale * b.coef_, a.coef_, atol=1e-5)


def test_penalty_factor_scales_columns(data):
    """Twice the penalty would not be half the column; factors would be normalised."""
    X, y = data
    factor = np.resize([1.0, 2.0, 0.5], 30)
    a = L1Classifier(penalty_factor=factor, tol=TIGHT).fit(X, y)
    b = L1Classifier(tol=TIGHT).fit(X / factor, y)
    np.testing.assert_array_equal(a.support_, b.support_)
    np.testing.assert_allclose(a.coef_, b.coef_ / factor, atol=1e-5)
    c = L1Classifier(0.5, penalty_factor=0.5 * factor, tol=TIGHT).fit(X, y)
    np.testing.assert_allclose(a.coef_, c.coef_, atol=1e-5)


@each_solver
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_penalty_factor_zero_keeps_a_feature(fit_intercept, solver, data):
    """A feature that is not penalised could be dropped, or the fit not start."""
    X, y = data
    factor = np.ones(30)
    factor[[7, 29]] = 0
    model = L1LogisticRegression(
        1e-3, penalty_factor=factor, fit_intercept=fit_intercept, solver=solver, tol=1e-8,
        max_iter=5000,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_array_equal(model.support_, [7, 29])
    unpenalised = oracles.ridge(X[:, [7, 29]], 2.0 * y - 1, 1e8, intercept=fit_intercept)
    np.testing.assert_allclose(model.coef_[0, [7, 29]], unpenalised.coef, atol=1e-3)


@each_loss
def test_signs(loss, data):
    """Coefficients would have a sign that was excluded."""
    X, y = data
    for sign in (-1, 1):
        model = L1Classifier(loss=loss, signs=sign).fit(X, y)
        assert model.support_.size
        assert (sign * model.coef_ >= 0).all()
    mixed = np.resize([-1, 0, 1], 30)
    model = L1Classifier(loss=loss, signs=mixed).fit(X, y)
    assert (mixed * model.coef_ >= 0).all()
    assert set(np.sign(model.coef_[0, mixed == 0])) >= {-1, 1}
    free = L1Classifier(loss=loss, signs=0).fit(X, y)
    np.testing.assert_array_equal(free.coef_, L1Classifier(loss=loss).fit(X, y).coef_)


def test_three_classes_are_one_versus_rest(multiclass):
    """Several classes would be another model than one fit per class, or cost their scans."""
    X, y = multiclass
    options = {"C": 0.2, "tol": 1e-8}
    model = L1Classifier(**options).fit(X, y)
    assert model.coef_.shape == (3, 25)
    assert model.intercept_.shape == (3,)
    singles = [L1Classifier(**options).fit(X, y == c) for c in range(3)]
    for c, single in enumerate(singles):
        np.testing.assert_array_equal(model.coef_[c], single.coef_[0])
        assert model.objective_[c] == single.objective_
        assert len(model.history_[c]) == len(single.history_)
    assert model.n_iter_ == max(single.n_iter_ for single in singles)
    assert model.gap_ == max(single.gap_ for single in singles)
    assert model.n_scans_ == max(single.n_scans_ for single in singles)
    union = np.unique(np.concatenate([single.support_ for single in singles]))
    np.testing.assert_array_equal(model.support_, union)
    proba = model.predict_proba(X)
    assert proba.shape == (150, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert model.score(X, y) > 0.6


def test_constant_columns_are_never_selected_when_standardising(data):
    """A constant column would be selected in place of the intercept."""
    X, y = data
    wide = np.column_stack([np.zeros(100), X, np.full(100, 1e8), np.full(100, -0.1)])
    for fit_intercept in (True, False):
        options = {"standardize": True, "fit_intercept": fit_intercept, "tol": 1e-8}
        model = L1Classifier(**options).fit(wide, y)
        plain = L1Classifier(**options).fit(X, y)
        np.testing.assert_array_equal(model.support_ - 1, plain.support_)
    penalised = L1Classifier(fit_intercept=False).fit(np.column_stack([X, np.ones(100)]), y)
    assert penalised.coef_.shape == (1, 31)  # without standardising it is a feature as any other


# ------------------------------------------------------------------------------------------ storage


@pytest.fixture(scope="module")
def counts():
    """Small counts: exact in every type, so that all storages hold the same numbers."""
    rng = np.random.default_rng(64)
    X = rng.integers(0, 5, (90, 25)) * (rng.uniform(size=(90, 25)) < 0.7)
    y = np.where(X[:, :3] @ [1, -1, 1] + rng.standard_normal(90) > 1, "yes", "no")
    return X.astype(np.float64), y


def store(X, storage, folder):
    """X in some storage."""
    if storage in ("memory map", "path"):
        np.save(folder / "X.npy", X)
        return folder / "X.npy" if storage == "path" else np.load(folder / "X.npy", mmap_mode="r")
    if storage == "rows":
        order = np.random.default_rng(0).permutation(2 * len(X))
        return Rows(as_design(np.repeat(X, 2, axis=0)[order]), np.argsort(order)[::2])
    kinds = {
        "C": np.ascontiguousarray, "F": np.asfortranarray,
        "strided": lambda X: np.repeat(X, 2, 0)[::2],
        "csc": sp.csc_array, "csr": sp.csr_array, "csr_matrix": sp.csr_matrix, "coo": sp.coo_array,
        "frame": lambda X: pd.DataFrame(X).rename(columns=str), "list": lambda X: X.tolist(),
    }  # fmt: skip
    return kinds[storage](X)


@pytest.mark.parametrize("options", [{}, {"standardize": True}, {"n_features": 4}], ids=str)
def test_columns_far_from_zero(data, options):
    """An offset of 1e8 would take away the curvature of a column, and with it all progress."""
    X, y = data
    offset = np.zeros(30)
    offset[[0, 3, 7]] = [1e8, -1e8, 2e6]
    model = L1Classifier(0.3, tol=1e-9, **options).fit(X + offset, y)
    expected = L1Classifier(0.3, tol=1e-9, **options).fit(X, y)
    assert model.gap_ <= 1e-9
    np.testing.assert_array_equal(model.support_, expected.support_)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-5, atol=1e-6)
    far = X + offset
    margins = expected.decision_function(X)
    np.testing.assert_allclose(model.decision_function(far), margins, atol=1e-5)
    again = model.set_params(warm_start=True).fit(far, y)
    assert len(again.history_) == 1 or options.get("n_features")


# ------------------------------------------------------------------------ attributes, tools, states


@each_solver
def test_attributes(solver, data):
    """What a fit found, and how, would not be told."""
    X, y = data
    model = L1LogisticRegression(0.3, solver=solver, max_iter=5000).fit(X, y)
    assert (np.diff(model.support_) > 0).all()
    np.testing.assert_array_equal(np.flatnonzero(model.coef_[0]), model.support_)
    assert model.coef_.shape == (1, 30)
    assert model.intercept_.shape == (1,)
    assert isinstance(model.objective_, float)
    assert isinstance(model.gap_, float)
    assert 0 <= model.gap_ <= 1e-4
    assert model.n_iter_ == len(model.history_) - 1 >= 1
    assert model.n_scans_ >= len(model.history_)
    assert model.history_[-1].extra["gap"] == model.gap_
    assert min(step.objective for step in model.history_) == model.objective_
    for phase in ("read", "standardize", "scan", "solve", "total"):
        assert 0 <= model.seconds_[phase] <= model.seconds_["total"]
    np.testing.assert_array_equal(model.transform(X), X[:, model.support_])
    np.testing.assert_array_equal(np.flatnonzero(model.get_support()), model.support_)
    decision = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), decision, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-decision)))
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))


def test_not_fitted(data):
    """A model without fit would fail with a confusing error."""
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        with pytest.raises(NotFittedError):
            getattr(L1Classifier(), method)(data[0])
    for name in ("coef_", "objective_", "history_", "gap_"):
        assert not hasattr(L1Classifier(), name)


def test_no_probabilities_of_a_margin(data):
    """Scores of a support vector machine would be sold as log-odds."""
    X, y = data
    model = L1Classifier(loss="squared_hinge").fit(X, y)
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, name)
        assert hasattr(L1Classifier(), name)
        with pytest.raises(AttributeError) as error:
            getattr(model, name)
        assert "Probabilities need the logistic loss" in str(error.value.__cause__)
    assert model.score(X, y) > 0.7


def test_a_model_does_not_keep_its_rows():
    """A pickled model would grow with the data."""
    sizes = []
    for n in (100, 4000):
        X, y = make_classification(n, 10, seed=66)
        sizes.append(len(pickle.dumps(L1Classifier(0.1).fit(X, y))))
    assert sizes[1] < sizes[0] + 4000


def test_in_a_pipeline_with_a_grid_search(data):
    """C and l1_ratio could not be tuned with scikit-learn's own tools."""
    X, y = data
    pipeline = make_pipeline(StandardScaler(), L1Classifier())
    grid = {"l1classifier__C": [0.01, 0.1], "l1classifier__l1_ratio": [0.5, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.7
    selector = make_pipeline(L1Classifier(0.1), LogisticRegression(max_iter=2000))
    assert selector.fit(X, y)[-1].n_features_in_ == selector[0].support_.size


@each_solver
@each_loss
def test_warm_start(loss, solver, data, multiclass):
    """A warm start would cost as much as a cold one, or end at another solution."""
    options = {"loss": loss, "solver": solver, "tol": 1e-7, "max_iter": 5000}
    for X, y in (data, multiclass):
        cold = made(0.2, **options).fit(X, y)
        model = made(0.2, warm_start=True, **options).fit(X, y)
        np.testing.assert_array_equal(model.coef_, cold.coef_)
        assert model.fit(X, y).n_iter_ <= 1
        np.testing.assert_allclose(model.objective_, cold.objective_, rtol=1e-6)
        model.set_params(C=0.22).fit(X, y)
        other = made(0.22, **options).fit(X, y)
        np.testing.assert_allclose(model.objective_, other.objective_, rtol=1e-6)
        assert model.gap_ <= 1e-7


def test_warm_start_drops_what_is_no_longer_allowed(data, multiclass):
    """A start outside of the signs, with a fixed intercept, or of other data would be kept."""
    X, y = data
    model = L1Classifier(warm_start=True, tol=1e-9).fit(X, y)
    model.set_params(signs=1, fit_intercept=False).fit(X, y)
    assert_same(model, L1Classifier(signs=1, fit_intercept=False, tol=1e-9).fit(X, y), 1e-4)
    assert (model.coef_ >= 0).all()
    constant = X.copy()
    constant[:, model.support_[0]] = 1
    model.set_params(signs=None, fit_intercept=True, standardize=True).fit(constant, y)
    assert_same(model, L1Classifier(standardize=True, tol=1e-9).fit(constant, y), 1e-4)
    model.fit(*multiclass)
    cold = L1Classifier(standardize=True, tol=1e-9).fit(*multiclass)
    np.testing.assert_array_equal(model.coef_, cold.coef_)


# ------------------------------------------------------------------------- models of a given size


@each_loss
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"standardize": True, "l1_ratio": 0.6},
        {"fit_intercept": False, "signs": np.resize([-1, 0, 1], 30)},
        {"penalty_factor": np.r_[0.0, 2.0, np.ones(28)], "class_weight": "balanced"},
    ],
    ids=lambda o: "-".join(o) or "plain",
)
@pytest.mark.parametrize("storage", ["F", "csr"])
def test_exactly_as_many_features_as_asked(loss, options, storage, data, tmp_path):
    """The support would have another size, or the model would not be a solution of the problem."""
    X, y = data
    weight = np.random.default_rng(80).uniform(0.5, 2, len(y))
    before = 0.0
    for k in (1, 3, 9):
        model = L1Classifier(n_features=k, refit_C=None, loss=loss, **options)
        model.fit(store(X, storage, tmp_path), y, sample_weight=weight)
        assert model.support_.size == k
        assert np.isin(np.flatnonzero(model.coef_[0]), model.support_).all()
        assert before <= model.C_
        before = model.C_
        if "penalty_factor" in options:
            assert 0 in model.support_
        alone = L1Classifier(model.C_, loss=loss, tol=TIGHT, **options)
        alone.fit(X, y, sample_weight=weight)
        without = model.history_[0].objective * model.C_  # the first pass is at C = 1
        assert model.objective_ >= alone.objective_ - 1e-9 * without
        assert model.objective_ - alone.objective_ <= (model.gap_ + 1e-9) * without
        assert model.gap_ <= 1e-4
        np.testing.assert_allclose(model.coef_, alone.coef_, atol=0.02)
        # C is the largest: a little above it there are more features.
        more = L1Classifier(1.4 * model.C_, loss=loss, tol=1e-9, **options)
        assert more.fit(X, y, sample_weight=weight).support_.size > k
        assert model.transform(X).shape == (100, k)


def test_equal_columns_are_made_up_to_the_size(data):
    """Features that enter together would be both in, or both out."""
    X, y = data
    X = np.hstack([X, X])
    sizes = []
    for k in range(1, 9):
        model = L1Classifier(n_features=k).fit(X, y)
        assert model.support_.size == k
        assert model.coef_[0, model.support_].any()
        assert model.gap_ <= 1e-3
        sizes.append(np.unique(model.support_ % 30).size)
    assert sizes[0] == 1
    assert sizes[1] < 2 or sizes[3] < 4  # equal columns are drawn equally


def test_a_size_in_between_is_solved_over_its_features(data):
    """A support that was made up would come without coefficients, or with another gap than its."""
    X, y = data
    strongest = np.abs(X.T @ (y - y.mean())).argmax()
    X = np.hstack([X, X[:, [strongest]]])
    model = L1Classifier(n_features=1).fit(X, y)
    assert model.support_.tolist() in ([strongest], [X.shape[1] - 1])
    assert model.coef_[0, model.support_[0]] != 0
    best = L1Classifier(model.C_, tol=TIGHT).fit(X, y).objective_
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    assert 0 <= model.gap_ <= 1e-6


@pytest.mark.parametrize("sparse", [False, True])
def test_all_features(sparse):
    """The search would never end, or stop before the last feature."""
    rng = np.random.default_rng(81)
    X = rng.standard_normal((400, 8)) * (rng.random((400, 8)) < 0.6)
    y = X @ np.linspace(1, 2, 8) + rng.standard_normal(400) > 0
    model = L1Classifier(n_features=8).fit(sp.csc_array(X) if sparse else X, y)
    np.testing.assert_array_equal(model.support_, np.arange(8))
    assert (model.coef_ != 0).all()
    constant = np.hstack([X, np.ones((400, 1))])
    model.fit(constant, y)
    np.testing.assert_array_equal(model.support_, np.arange(8))
    with pytest.raises(ValueError, match=r"between 1 and 8 .the non-constant features.*; got 9"):
        L1Classifier(n_features=9).fit(constant, y)
    L1Classifier(n_features=9, fit_intercept=False).fit(constant, y)  # a feature there


def test_never_penalised_features_count(data):
    """Free features would come on top of the number asked for."""
    X, y = data
    factor = np.r_[0.0, 0.0, np.ones(28)]
    for k in (2, 3):
        model = L1Classifier(n_features=k, penalty_factor=factor).fit(X, y)
        assert model.support_.size == k
        assert {0, 1} <= set(model.support_.tolist())
        assert model.coef_[0, :2].all()
    with pytest.raises(ValueError, match=r"n_features counts .*at least 2 .the zeros of penal"):
        L1Classifier(n_features=1, penalty_factor=factor).fit(X, y)


def test_every_class_has_the_size(multiclass):
    """Classes would share one C, or one support."""
    X, y = multiclass
    model = L1Classifier(n_features=4).fit(X, y)
    assert len(model.C_) == 3
    supports = []
    for number, C in enumerate(model.C_):
        alone = L1Classifier(n_features=4).fit(X, y == number)
        assert C == alone.C_
        np.testing.assert_array_equal(model.coef_[number], alone.coef_[0])
        supports.append(alone.support_)
    np.testing.assert_array_equal(model.support_, np.unique(np.concatenate(supports)))
    passes = [sum(step.n_features >= 0 for step in history) for history in model.history_]
    assert model.n_scans_ == max(passes)


def test_sizes_that_no_solution_has():
    """Sizes beyond the path would be answered without a word."""
    rng = np.random.default_rng(82)
    X = rng.standard_normal((20, 100))
    y = X[:, 0] > 0
    model = L1Classifier(n_features=60, refit_C=None)
    message = (
        r"n_features=60: within tol=0.0001 no l1 solution was found that has more than \d+ feat"
        r"ures \(at C=.*chosen by their scores, with coefficients of 0\. Use a smaller"
    )
    with pytest.warns(UserWarning, match=message) as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert model.support_.size == 60
    n_real = np.count_nonzero(model.coef_)
    assert 0 < n_real < 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = L1Classifier(n_features=n_real).fit(X, y)
    assert exact.support_.size == n_real
    with pytest.warns(UserWarning, match=r"chosen by their scores\. Use a smaller"):
        refitted = L1Classifier(n_features=60).fit(X, y)
    np.testing.assert_array_equal(refitted.support_, model.support_)
    assert np.count_nonzero(refitted.coef_) == 60
    with pytest.warns(UserWarning, match="no l1 solution was .* more than 0 features"):
        model = L1Classifier(n_features=2, fit_intercept=False).fit(np.zeros((20, 3)), y)
    np.testing.assert_array_equal(model.support_, [0, 1])
    assert not model.coef_.any()


def test_weight_of_the_loss_is_that_of_the_model(data):
    """C_ would be missing, or be that of another model."""
    X, y = data
    assert L1Classifier(0.3).fit(X, y).C_ == 0.3
    a = L1Classifier(123.0, n_features=5).fit(X, y)
    b = L1Classifier(n_features=5).fit(X, y)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    last = [step.extra.get("C") for step in a.history_][-1]
    assert last == a.C_ == b.C_
    assert a.n_iter_ == a.n_scans_ - 1
    weight = np.random.default_rng(83).integers(1, 4, len(y))
    X2, y2 = oracles.repeat_rows(X, y, weight)
    a.fit(X, y, sample_weight=weight)
    b.fit(X2, y2)
    np.testing.assert_array_equal(a.support_, b.support_)
    assert pytest.approx(b.C_, rel=0.02) == a.C_


@each_loss
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"standardize": True, "l1_ratio": 0.6},
        {"fit_intercept": False},
        {"penalty_factor": np.r_[0.0, 2.0, np.ones(28)], "class_weight": {0: 2.0, 1: 0.5}},
    ],
    ids=lambda o: "-".join(o) or "plain",
)
@pytest.mark.parametrize("storage", ["F", "csr"])
def test_features_of_a_size_are_refitted(loss, options, storage, data, tmp_path):
    """Coefficients would be those that the l1 penalty shrank, or of another problem."""
    X, y = data
    X, weight = X + 0.7, np.random.default_rng(84).uniform(0.5, 2, len(y))
    fits = [
        L1Classifier(n_features=4, refit_C=C, loss=loss, **options).fit(
            store(X, storage, tmp_path), y, sample_weight=weight
        )
        for C in (0.3, None)
    ]
    model, solution = fits
    np.testing.assert_array_equal(model.support_, solution.support_)
    for name in ("C_", "objective_", "gap_", "n_iter_"):  # they are of the l1 problem
        assert getattr(model, name) == getattr(solution, name)
    assert model.refit_C_ == 0.3
    assert not hasattr(solution, "refit_C_")
    # 1/2 ||w||^2 + C sum_i s_i f(y_i, x_i'w + b) has no slope at the model.
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    total = weight * np.array([options.get("class_weight", {}).get(label, 1.0) for label in y])
    w, f = model.coef_[0, model.support_], (Logistic if loss == "logistic" else SquaredHinge)()
    slope = 0.3 * f.value_gradient(model.decision_function(X), sign, total)[1]
    np.testing.assert_allclose(w, -X[:, model.support_].T @ slope, atol=2e-5)
    if options.get("fit_intercept", True):
        assert abs(slope.sum()) <= 2e-5
    else:
        assert model.intercept_ == 0


def test_refit_with_the_best_leave_one_out_loss(data, multiclass):
    """C of the refit would not be the one that `BudgetClassifier` finds for the same features."""
    X, y = multiclass
    model = L1Classifier(n_features=4, standardize=True).fit(X, y)
    same = BudgetClassifier(4, method="l1", multi_class="ovr", calibrate=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.refit_C_, [path[4].refit_C for path in same._paths])
    assert model.seconds_["refit"] > 0
    X, y = data
    weight = np.random.default_rng(85).integers(1, 4, len(y))
    options = {"n_features": 4, "class_weight": {0: 3.0, 1: 1.0}}
    model.set_params(**options).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(*oracles.repeat_rows(X, y, weight))
    assert model.refit_C_ == pytest.approx(repeated.refit_C_)
    np.testing.assert_allclose(model.coef_, repeated.coef_, atol=1e-6)


def test_refit_of_features_that_do_not_vary():
    """Without an intercept constant columns are features: their scale would be divided by."""
    y = np.arange(20) % 3 == 0
    X = np.c_[np.full(20, 0.1), np.zeros(20)]
    model = L1Classifier(n_features=1, fit_intercept=False).fit(X, y)
    assert model.support_.tolist() == [0]
    assert model.coef_[0, 0] < 0  # as an intercept: fewer rows are True
    assert np.isfinite(model.refit_C_)


def test_no_refit_without_a_number_of_features(data):
    """The model at a given C would not be the solution of the problem."""
    X, y = data
    for C in ("loo", 0.3):
        model = L1Classifier(0.3, refit_C=C, signs=1).fit(X, y)
        np.testing.assert_array_equal(model.coef_, L1Classifier(0.3, signs=1).fit(X, y).coef_)
        assert not hasattr(model, "refit_C_")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("cv", "refit_C must be 'loo' or a positive finite number; got 'cv'"),
        (0, "refit_C must be a positive finite number; got 0"),
        (np.inf, "refit_C must be a positive finite number; got inf"),
        ([1.0], "refit_C must be a positive finite number"),
    ],
)
def test_bad_refit(value, message, data):
    """A wrong option would be ignored or fail deep inside."""
    for options in ({}, {"n_features": 3}):
        for kind in (L1Classifier, ReweightedL1LogisticRegression):
            with pytest.raises(ValueError, match=message):
                kind(refit_C=value, **options).fit(*data)


def test_refit_with_signs(data):
    """A refit would break the promise of signs."""
    X, y = data
    for kind in (L1Classifier, ReweightedL1LogisticRegression):
        for sign in (1, -1, np.resize([-1, 0, 1], X.shape[1])):
            solution = kind(n_features=3, signs=sign, refit_C=None).fit(X, y)
            refitted = kind(n_features=3, signs=sign, refit_C=1.0).fit(X, y)
            np.testing.assert_array_equal(refitted.support_, solution.support_)
            assert (sign * refitted.coef_ >= 0).all()
            assert (sign * solution.coef_ >= 0).all()
            support = refitted.support_
            bounds = [(0, None) if s > 0 else (None, 0) if s < 0 else (None, None)
                      for s in np.broadcast_to(sign, X.shape[1])[support]]  # fmt: skip
            labels = np.where(y == refitted.classes_[1], 1.0, -1.0)

            def value(w, support=support, labels=labels):
                z = labels * (X[:, support] @ w[:-1] + w[-1])
                return 0.5 * w[:-1] @ w[:-1] + np.logaddexp(0.0, -z).sum()

            best = minimize(value, np.zeros(4), bounds=[*bounds, (None, None)])
            own = np.append(refitted.coef_[0, support], refitted.intercept_)
            assert value(own) <= best.fun * (1.0 + 1e-6)


@pytest.mark.parametrize("value", [0, -1, 2.5, "5", True, [3, 5]])
def test_bad_number_of_features(value, data):
    """A wrong number would be ignored or fail deep inside."""
    with pytest.raises(ValueError, match="n_features must be None or an integer of at least 1"):
        L1Classifier(n_features=value).fit(*data)


def test_size_as_an_array_of_one_and_without_usable_columns(data):
    """An integer of numpy would be refused, and a range of 1 to 0 be asked for."""
    X, y = data
    assert L1Classifier(n_features=np.array(2)).fit(X, y).support_.size == 2
    with pytest.raises(ValueError, match=r"X must have a column that is not constant.*all its 3"):
        L1Classifier(n_features=2).fit(np.ones((100, 3)), y)


def test_too_many_features(data):
    """More features than there are would be an error without a remedy."""
    X, y = data
    with pytest.raises(ValueError, match=r"between 1 and 30 .the features of X.; got 31"):
        L1Classifier(n_features=31).fit(X, y)
    for solver in ("newglmnet", "glmnet", "cdn"):
        with pytest.raises(ValueError, match="n_features needs a solver that follows a path, 'aut"):
            L1LogisticRegression(n_features=3, solver=solver).fit(X, y)


# ------------------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"max_iter": 1}, "Use a larger max_iter than 1"),
        ({"max_iter": 1, "solver": "newglmnet"}, "Use a larger max_iter than 1"),
        ({"max_iter": 2, "solver": "cdn"}, "Use solver='working-set'"),
        ({"max_iter": 2, "solver": "glmnet"}, "Use solver='working-set'"),
    ],
    ids=str,
)
def test_warns_where_the_gap_is_open(options, remedy, data):
    """A fit that did not converge would pass for one that did."""
    X, y = data
    # More columns than a working set has, for one of them not to be enough.
    X = np.hstack([X, np.random.default_rng(0).standard_normal((len(y), 4000))])
    model = made(20.0, tol=1e-8, **options)
    message = (
        rf"stopped at a certified gap of .* \(asked: tol=1e-08\): the largest number.*{remedy}"
    )
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert model.gap_ > 2e-8
    gap = model.gap_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(tol=gap / 1.9).fit(X, y)


def test_warns_where_rounding_keeps_the_gap_open(data):
    """A column too large for a certificate would be left to the user's guess."""
    X, y = data
    X = X * np.where(np.arange(30) == 11, 1e40, 1.0)
    with pytest.warns(ConvergenceWarning, match=r"no further progress.*use standardize=True"):
        L1Classifier().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        L1Classifier(standardize=True).fit(X, y)


def test_the_published_stop_is_refused_or_warned_of(data):
    """A rule that a solver has not would be taken for ours, and one that was not met for met."""
    X, y = data
    with pytest.raises(ValueError, match=r"stop must be .*got .kkt."):
        L1LogisticRegression(stop="kkt").fit(X, y)
    with pytest.raises(ValueError, match=r"of the solvers .newglm.*got solver=.auto."):
        L1LogisticRegression(solver="auto", stop="violations").fit(X, y)
    one = L1LogisticRegression(20.0, stop="violations", tol=1e-8, max_iter=2)
    with pytest.warns(ConvergenceWarning, match=r"added up to tol=1e-08 times.*larger tol or max_"):
        one.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loose = one.set_params(tol=0.1, max_iter=1000).fit(X, y)
    assert loose.gap_ > 1e-3  # which stop="gap" would warn of


@each_solver
def test_no_warning_where_rounding_ends_progress(solver, data):
    """A tolerance below rounding would be reported as a failure, or run forever."""
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = L1LogisticRegression(0.3, tol=1e-18, solver=solver, max_iter=5000).fit(X, y)
    assert model.gap_ <= 1e-10
    assert model._results[0].status in (Status.STALLED, Status.CONVERGED)


@each_loss
@pytest.mark.parametrize("C", [1e-300, 1e-12, 1e6, 1e12, 1e90, 1e300])
def test_extreme_penalties_are_finite_or_refused(loss, C, data):
    """An extreme C would hang, overflow or give NaN."""
    X, y = data
    model = L1Classifier(C, loss=loss, max_iter=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if C > 1e100:
            with pytest.raises(ValueError, match="C must be at most 1e\\+100"):
                model.fit(X, y)
            return
        model.fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.gap_)
    if C < 1e-10:
        assert model.support_.size == 0
        with pytest.warns(UserWarning, match="No features were selected"):
            assert model.transform(X).shape == (100, 0)


@each_loss
@pytest.mark.parametrize("solver", ["auto", "newglmnet", "cdn"])
def test_separable_data_are_finite(loss, solver):
    """Perfectly separated classes would end in infinite coefficients."""
    rng = np.random.default_rng(67)
    X = rng.standard_normal((30, 50))
    y = X[:, 7] > 0
    for C in (0.1, 100.0, 1e6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = L1LogisticRegression(C, loss=loss, solver=solver, max_iter=200).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.objective_)
        if C > 1:
            assert model.score(X, y) == 1


POSITIVE = "must be a positive finite number; got"
HUGE = 10**400  # beyond the range of floats
PER_COLUMN = r"one number for every column of X \(30\); got shape"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *[("C", v, f"C {POSITIVE} {v!r}") for v in (0, -1.0, np.nan, np.inf, "1", None, True)],
        *[("tol", v, f"tol {POSITIVE} {v!r}") for v in (0, -1e-3, np.nan, "small")],
        ("C", np.float64(-1.0), f"C {POSITIVE} -1.0"),
        ("tol", 1.5, "tol must be at most 1, the gap of a model without features; got 1.5"),
        *[(name, HUGE, f"{name} must be .*; got 1000") for name in ("C", "tol", "l1_ratio")],
        ("class_weight", {0: HUGE}, "class_weight must be finite and not negative; got 1000"),
        ("penalty_factor", [HUGE] * 30, "penalty_factor must be finite .*; got inf for column 0"),
        *[(name, v, f"{name} must be numbers, one for every column of X .*; got")
          for name in ("penalty_factor", "signs")
          for v in (["1"] * 30, [1j] * 30, [None] * 30, [[1], [1, 2]])],
        ("signs", 1 + 0j, r"signs must be None, -1, 0 or 1, .*; got \(1\+0j\)"),
        *[("l1_ratio", v, f"l1_ratio must be above 0 and at most 1; got {v!r}")
          for v in (0, -0.5, 1.5, np.nan, "1", None, True)],
        *[("max_iter", v, f"max_iter must be an integer of at least 1; got {v!r}")
          for v in (0, -1, 1.5, None, True)],
        ("n_threads", 0, "n_threads must be None or an integer of at least 1; got 0"),
        ("loss", "hinge", "loss must be one of 'logistic', 'squared_hinge'; got 'hinge'"),
        ("solver", "liblinear", "solver must be one of 'auto', 'working-set', .*; got 'liblinear'"),
        ("fit_intercept", 1, "fit_intercept must be True or False; got 1"),
        ("standardize", "no", "standardize must be True or False; got 'no'"),
        ("warm_start", None, "warm_start must be True or False; got None"),
        ("class_weight", "even", "class_weight must be None, 'balanced' or a dict; got 'even'"),
        ("penalty_factor", np.ones(29), rf"penalty_factor must have {PER_COLUMN} \(29,\)"),
        ("penalty_factor", 2.0, rf"penalty_factor must have {PER_COLUMN} \(\)"),
        ("penalty_factor", np.ones((30, 1)), rf"penalty_factor must have {PER_COLUMN} \(30, 1\)"),
        ("penalty_factor", np.zeros(30), "penalty_factor must have a positive number; got only ze"),
        ("penalty_factor", ["a"] * 30, "penalty_factor must be numbers, one for every column"),
        *[("penalty_factor", np.r_[1, 1, 1, v, np.ones(26)],
           f"penalty_factor must be finite .*and not negative; got {v} for column 3")
          for v in (-1.0, np.nan, np.inf)],
        *[("signs", v, "signs must be None, -1, 0 or 1, or one of .*; got")
          for v in (2, "+", True, np.nan)],
        ("signs", np.ones(31), rf"signs must have {PER_COLUMN} \(31,\)"),
        ("signs", np.full(30, 0.5), "signs must be -1, 0 or 1; got 0.5 for column 0"),
        ("signs", np.r_[1, np.nan, np.ones(28)], "signs must be -1, 0 or 1; got nan for column 1"),
    ],
    ids=lambda v: str(v)[:40],
)  # fmt: skip
def test_bad_parameter(name, value, message, data):
    """A wrong option would be ignored or fail deep inside."""
    with pytest.raises(ValueError, match=message):
        made(**{name: value}).fit(*data)


def test_integers_that_cannot_be_printed(data):
    """The message of Python's limit of digits would take the place of ours."""
    for name in ("solver", "fit_intercept", "class_weight", "n_features"):
        with pytest.raises(ValueError, match=f"{name} must be .*; got an integer of thousands of"):
            made(**{name: -(10**5000)}).fit(*data)
    with pytest.raises(ValueError, match=f"C {POSITIVE} an integer of thousands of digits"):
        L1Classifier(10**5000).fit(*data)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (["1"] * 100, r"sample_weight must be numbers.*; got \['1', '1'"),
        (np.ones(100, complex), "sample_weight must be numbers.*; got an array"),
        (pd.Series([1.0] * 99 + [None], dtype=object), "sample_weight must be numbers"),
        ([HUGE] * 100, "sample_weight must be finite and not negative; got inf at row 0"),
    ],
    ids=["text", "complex", "missing", "huge"],
)
def test_bad_weights(weight, message, data):
    """What is no number would be taken for one, or fail deep inside."""
    with pytest.raises(ValueError, match=message):
        L1Classifier().fit(*data, sample_weight=weight)


MISSING = r"y must have a label for every row of X; got {} at row 1"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, "a"], "y must have labels of one type; got 0 at row 0 and 'a' at row 1"),
        (np.array([1, "a"], object), "y must have labels of one type; got 1 at row 0"),
        (["a", None], MISSING.format("None")),
        (["a", np.nan], MISSING.format("nan")),
        (np.array(["a", pd.NA], object), MISSING.format("<NA>")),
        (np.array(["a", pd.NaT], object), MISSING.format("NaT")),
        (
            np.array(["2020-01-01", "NaT"], "datetime64[ns]"),
            MISSING.format(r"np.datetime64\('NaT'.*"),
        ),
        (np.array([5, "NaT"], "timedelta64[s]"), MISSING.format(r"np.timedelta64\('NaT'.*")),
        ([np.float32(1), np.float32("nan")], MISSING.format(r"np.float32\(nan\)")),
        ([(0,), ("a",)], "y must have labels of one type; got 0 at row 0 and 'a' at row 1"),
        (np.array([np.datetime64(9, "s"), 1], object), "y must have labels of one type; got datet"),
        (deque([0, "a"]), "y must have labels of one type; got 0 at row 0 and 'a' at row 1"),
    ],
    ids=str,
)
def test_mixed_and_missing_labels(labels, message, data):
    """Numbers would become strings, what is missing a class of its own."""
    y = np.tile(labels, 50) if isinstance(labels, np.ndarray) else labels * 50
    with pytest.raises(ValueError, match=message):
        L1Classifier().fit(data[0], y)


def test_dates_are_labels(data):
    """Labels that are all there would be refused for their type."""
    X, y = data
    dates = np.array(["2020-01-01", "2021-01-01"], "datetime64[D]")
    model = L1Classifier().fit(X, dates[np.unique(y, return_inverse=True)[1]])
    np.testing.assert_array_equal(model.classes_, dates)


def test_masked_entries(data):
    """What is masked would be read as if it were not."""
    X, y = data
    masked = np.ma.masked_array(np.ones(100), np.arange(100) == 7)
    words = "must not have masked entries, which have no value; got 1, the first one at 7"
    with pytest.raises(ValueError, match=f"y {words}"):
        L1Classifier().fit(X, np.ma.masked_array(y, masked.mask))
    with pytest.raises(ValueError, match=f"y {words}"):
        BilevelRegressor(2).fit(X, masked)
    with pytest.raises(ValueError, match=f"sample_weight {words}"):
        L1Classifier().fit(X, y, masked)
    with pytest.raises(ValueError, match="penalty_factor must not have masked entries"):
        L1Classifier(penalty_factor=np.ma.masked_less(np.arange(30.0), 1)).fit(X, y)
    hidden = np.ma.masked_greater(X, 0.9 * X.max())
    with pytest.raises(ValueError, match=r"X must not have masked entries.* the first one at \("):
        L1Classifier().fit(hidden, y)
    whole = np.ma.masked_array(X), np.ma.masked_array(y), np.ma.masked_array(np.ones(100))
    model, expected = L1Classifier().fit(*whole), L1Classifier().fit(X, y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.predict(whole[0]), expected.predict(X))
    with pytest.raises(ValueError, match="X must not have masked entries"):
        model.predict(hidden)


def test_more_features_than_the_only_column(data):
    """scikit-learn looks for these words where X has one feature."""
    X, y = data
    with pytest.raises(
        ValueError, match=r"^n_features must be 1 \(n_features=1 is the only choice\); got 2"
    ):
        L1Classifier(n_features=2).fit(X[:, :1], y)
    with pytest.raises(IndexError, match=r"^i must be 0: the path has 1 solution; got 3"):
        l1_path(X, y, Cs=[0.01]).support(3)


def test_one_class(data):
    """One class would give a model that always answers the same."""
    X, y = data
    with pytest.raises(ValueError, match="y must have at least two classes; got one class: 'b'"):
        L1Classifier().fit(X, np.full(100, "b"))
    with pytest.raises(ValueError, match="y must have at least two classes; got one class: 'b'"):
        L1Classifier().fit(X, np.full(100, "b", dtype=object))
    with pytest.raises(ValueError, match="at least two classes; got one class: 1"):
        L1Classifier().fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match="at least two classes; got one class: 1"):
        L1Classifier(class_weight={0: 0.0}).fit(X, y)


@each_solver
@pytest.mark.parametrize("storage", ["C", "F", "csc", "csr"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_located(solver, storage, value, data, tmp_path):
    """One bad value among many would give a wrong model, or an error without a place."""
    X, y = data
    bad = X.copy()
    bad[17, 23] = value
    kind = "NaN" if np.isnan(value) else "infinity"
    for dtype in (np.float64, np.float32):
        for options in ({}, {"standardize": True}, {"penalty_factor": np.r_[np.ones(29), 0]}):
            with pytest.raises(ValueError, match=f"contains {kind} at row 17, column 23"):
                L1LogisticRegression(solver=solver, **options).fit(
                    store(bad.astype(dtype), storage, tmp_path), y
                )


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("storage", ["C", "F", "csc", "csr"])
def test_huge_values_are_an_error_that_names_the_column(standardize, storage, data, tmp_path):
    """Values of 1e300 would overflow to a wrong model, silently."""
    X, y = data
    bad = X.copy()
    bad[:, 11] = 1e300 * np.sign(X[:, 11])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(ValueError, match="column 11"):
            L1Classifier(standardize=standardize).fit(store(bad, storage, tmp_path), y)


@pytest.mark.parametrize("exponent", [75, 100, 150])
@pytest.mark.parametrize(
    "options", [{}, {"n_features": 3}, {"solver": "newglmnet"}, {"loss": "squared_hinge"}], ids=str
)
def test_columns_too_large_for_standardisation(exponent, options, data):
    """No feature would be selected, with advice that does not help."""
    X, y = data
    X = X * np.where(np.arange(30) == 11, 10.0**exponent, 1.0)
    with pytest.raises(ValueError, match=r"too large in column 11: .*standardize=True does not"):
        made(standardize=True, **options).fit(X, y)
    if not options:
        with pytest.raises(ValueError, match=r"in column 11\. Rescale it\.$"):
            L1Classifier().fit(X, y)


def test_squares_that_only_a_weight_makes_too_large(data):
    """A large C would do the same to columns that are fine at a small one."""
    X, y = data
    X = X * np.where(np.arange(30) == 11, 1e50, 1.0)
    assert L1Classifier(standardize=True).fit(X, y).gap_ <= 1e-4
    with pytest.raises(ValueError, match="X has values too large in column 11"):
        L1Classifier(1e60, standardize=True).fit(X, y)


def test_nan_at_predict(data):
    """NaN would be predicted as a class."""
    X, y = data
    model = L1Classifier().fit(X, y)
    new = X[:5].copy()
    new[2, model.support_[0]] = np.nan
    for rows in (new, sp.csr_array(new)):
        with pytest.raises(ValueError, match=r"(?i)nan"):
            model.predict(rows)

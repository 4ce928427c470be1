"""Estimators: the scikit-learn contract, what a user may pass, every error text."""

from __future__ import annotations

import dataclasses
import logging
import os
import signal
import threading
import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

import oracles
from conftest import make_classification, slow
from golub import load_golub
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    L1Classifier,
    MeasureClassifier,
    _kernels,
    l1_path,
    methods,
)
from zeronorm.core.results import Status
from zeronorm.core.targets import check_target
from zeronorm.core.types import Design
from zeronorm.data import as_design
from zeronorm.model_selection.cross_validation import cross_validate
from zeronorm.published import (
    BilevelClassifier,
    BilevelRegressor,
    FeatureGeneratingMachine,
    GreedyLogisticRegression,
    L0LogisticRegression,
    MinimaxBy,
    MinimaxLogisticRegression,
)
from zeronorm.published.solvers import INNER_SOLVERS
from zeronorm.solvers import newton
from zeronorm.verification import verify

CLASSES = [BudgetClassifier, MinimaxLogisticRegression, FeatureGeneratingMachine]
PER_CLASS = {BudgetClassifier: {"multi_class": "ovr"}}  # others know nothing else
each_class = pytest.mark.parametrize("make", CLASSES, ids=lambda c: c.__name__)
SMOOTHING = ("smoothing", "smoothing-published")


def made(make, **parameters):
    """Return an estimator; options of a method are those of a record for `BudgetClassifier`."""
    if make is BudgetClassifier:
        blocks = {name: parameters.pop(name) for name in [*parameters] if name in OPTIONS}
        if blocks:
            kind = MinimaxBy if "solver" in blocks else methods.Pool
            parameters["method"] = kind(**blocks)
    return make(**{"calibrate": False, **parameters})


OPTIONS = ("block_size", "max_blocks", "solver")


def assert_same_model(a, b, *, atol=1e-8, classes=True):
    """Same support, coefficients and intercept."""
    np.testing.assert_array_equal(a.support_, b.support_)
    scale = np.abs(b.coef_).max(initial=1e-300)
    np.testing.assert_allclose(a.coef_ / scale, b.coef_ / scale, atol=atol)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=atol, atol=atol)
    if classes:
        np.testing.assert_array_equal(a.classes_, b.classes_)


# ------------------------------------------------------------------- the scikit-learn contract


def test_defaults_are_the_documented_ones():
    """Documented defaults and real ones would differ."""
    common = {
        "C": 0.1,
        "refit_C": "loo",
        "calibrate": "auto",
        "standardize": True,
        "fit_intercept": True,
        "tol": 1e-3,
        "n_features": None,
        "block_size": None,
        "max_blocks": None,
        "forced_features": None,
        "class_weight": None,
        "warm_start": False,
        "n_threads": None,
    }
    grouped = {"feature_groups": None, "n_groups": None}
    own = {
        **{name: value for name, value in common.items() if name not in OPTIONS}, **grouped,
        "forced_groups": None, "method": "auto", "C": "auto", "refit_C": "auto", "tol": None,
            "signs": None, "covariates": None,
    }  # fmt: skip
    classifier = {"loss": "logistic", "criterion": None}
    assert BudgetClassifier().get_params() == {
        **own, **classifier, "multi_class": "auto", "checkpoint": None,
    }  # fmt: skip
    del own["class_weight"]
    assert BudgetRegressor().get_params() == {
        **own, "loss": "least_squares", "criterion": None, "checkpoint": None,
    }  # fmt: skip
    own = {"solver": "newton", "union": False, **grouped}
    assert MinimaxLogisticRegression().get_params() == {**common, **own}
    assert FeatureGeneratingMachine().get_params() == {**common, **own}
    for name in ("block_size", "max_blocks"):
        del common[name]
    own = {"tol": 1e-6, "fit_C": 0.1, **grouped}
    assert GreedyLogisticRegression().get_params() == {**common, **own}
    own = {
        "criterion": None, "tol": 1e-4, "solver": "auto", "gap": None, "time_limit": 60.0,
        "multi_class": "ovr",
    }  # fmt: skip
    assert L0LogisticRegression().get_params() == {**common, **own}
    del common["class_weight"], common["calibrate"]
    own = {
        **grouped, "forced_groups": None, "solver": "auto", "max_iter": 10_000, "tol": 1e-6,
    }  # fmt: skip
    classifier = {"loss": "logistic", "C": 1.0, "refit_C": None, "class_weight": None}
    assert BilevelClassifier().get_params() == {**common, **own, **classifier}
    del common["refit_C"]
    assert BilevelRegressor().get_params() == {**common, **own, "C": np.inf}


@pytest.mark.parametrize("k", [1, 7, 20, 21])
def test_as_published(k, binary):
    """The paper's model would run with other constants: C 10, refit 5, ten blocks of k/10."""
    model = MinimaxLogisticRegression.as_published(k)
    parameters = model.get_params()
    assert parameters["n_features"] == k
    assert parameters["C"] == 10
    assert parameters["refit_C"] == 5
    assert parameters["calibrate"] is False
    assert parameters["standardize"] is False
    assert parameters["fit_intercept"] is False
    assert parameters["solver"] == "newton"
    assert parameters["tol"] == 1e-3
    X, y = binary
    model.fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert model.support_.size == k
    assert model.intercept_ == 0
    assert model.path_[k].refit_C == 5
    sizes = [len(step.entered) for step in model.history_]
    assert max(sizes) <= -(-k // 10)
    assert len(sizes) >= -(-k // -(-k // 10))


# ------------------------------------------------------------------- exactly k, whatever happens


@each_class
@pytest.mark.parametrize("k", [1, 10, 40])
@pytest.mark.parametrize("block_size", [1, 4, 1000])
def test_exactly_k_in_blocks_of_any_size(make, k, block_size, binary):
    """A user who asks for k features would get another number."""
    X, y = binary
    model = made(make, n_features=k, block_size=block_size, calibrate=False).fit(X, y)
    assert model.support_.size == k
    assert model.support_.dtype == np.int64
    assert (np.diff(model.support_) > 0).all()
    assert model.coef_.shape == (1, 40)
    assert np.isfinite(model.coef_).all()
    np.testing.assert_array_equal(np.flatnonzero(model.get_support()), model.support_)
    assert not model.coef_[0, np.setdiff1d(np.arange(40), model.support_)].any()
    assert model.transform(X).shape == (len(X), k)


@each_class
def test_default_number_of_features(make, binary):
    """n_features=None would not mean ten, or all usable columns if there are fewer."""
    X, y = binary
    assert make().fit(X, y).support_.size == 10
    assert make().fit(X[:, :4], y).support_.size == 4
    constant = X[:, :6].copy()
    constant[:, 2] = 3.0
    model = make().fit(constant, y)
    np.testing.assert_array_equal(model.support_, [0, 1, 3, 4, 5])


@each_class
def test_constant_columns_are_never_selected(make, binary):
    """A constant or all-zero column would be selected, or give NaN."""
    X, y = binary
    wide = np.column_stack([np.zeros(120), X, np.full(120, 1e8), np.full(120, -0.1)])
    model = made(make, n_features=40).fit(wide, y)
    np.testing.assert_array_equal(model.support_, np.arange(1, 41))
    with pytest.raises(ValueError, match=r"n_features must be between 1 and 40 .*got 41"):
        make(n_features=41).fit(wide, y)


@each_class
def test_several_sizes_from_one_fit(make, binary):
    """path_ would not hold the models asked for, or predictions not use the largest."""
    X, y = binary
    model = make(n_features=[10, 3, 5], calibrate=False).fit(X, y)
    assert list(model.path_) == [3, 5, 10]
    assert len(model.path_) == 3
    assert model.support_.size == 10
    for k in (3, 5, 10):
        selection = model.path_[k]
        assert selection.n_features == selection.support.size == selection.coef.size == k
        assert selection.entered.shape == (k,)
        assert (selection.entered >= 1).all()
        assert selection.certificate.support.size == k
        assert np.isfinite(selection.loo_loss)
        columns = X[:, selection.support]
        variance = columns.var(axis=0)
        assert variance.max() > 1e4 * variance.min()  # the ridge is that of standardised columns
        like = columns * np.sqrt(variance.mean() / variance)
        expected = oracles.ridge(like, 2 * y - 1, selection.refit_C, intercept=True)
        decision = columns @ selection.coef + selection.intercept
        reference = like @ expected.coef + expected.intercept
        np.testing.assert_allclose(decision, reference, atol=0.02 * np.abs(reference).max())
    np.testing.assert_array_equal(model.path_[10].support, model.support_)
    np.testing.assert_array_equal(model.coef_[0, model.support_], model.path_[10].coef)
    if make is not BudgetClassifier:
        assert set(model.path_[3].support) <= set(model.path_[5].support)
        assert set(model.path_[5].support) <= set(model.path_[10].support)


def test_several_sizes_equal_single_fits_where_they_share_a_pool(binary):
    """A model from a list of sizes would differ without reason from one fitted alone."""
    X, y = binary
    largest = BudgetClassifier(n_features=10, calibrate=False).fit(X, y)
    several = BudgetClassifier(n_features=[4, 10], calibrate=False).fit(X, y)
    assert_same_model(several, largest)


def test_minimax_prefix_equals_a_run_of_that_size(binary):
    """The nested path would differ from dedicated runs with the same blocks."""
    X, y = binary
    path = (
        MinimaxLogisticRegression(n_features=[2, 6, 12], block_size=2, calibrate=False)
        .fit(X, y)
        .path_
    )
    for k in (2, 6, 12):
        alone = MinimaxLogisticRegression(n_features=k, block_size=2, calibrate=False).fit(X, y)
        np.testing.assert_array_equal(path[k].support, alone.support_)
        np.testing.assert_allclose(path[k].coef, alone.path_[k].coef, rtol=1e-6, atol=1e-9)


@each_class
def test_finds_the_features_that_matter(make):
    """The selection would be no better than chance."""
    rng = np.random.default_rng(30)
    X = rng.standard_normal((400, 300))
    truth = [5, 50, 150, 250]
    y = X[:, truth] @ [2, -2, 1.5, 1.5] + rng.logistic(size=400) > 0
    model = made(make, n_features=4).fit(X, y)
    np.testing.assert_array_equal(model.support_, truth)
    np.testing.assert_array_equal(np.sign(model.coef_[0, truth]), [1, -1, 1, 1])


# ------------------------------------------------------------------------------- predictions


@each_class
def test_predictions_follow_from_the_coefficients(make, binary):
    """predict, decision_function, probabilities and score would contradict each other."""
    X, y = binary
    model = make(n_features=5).fit(X, y)
    decision = X[:, model.support_] @ model.coef_[0, model.support_] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), decision, rtol=1e-9, atol=1e-9)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-decision)), rtol=1e-9)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(proba), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), (decision > 0).astype(int))
    assert model.score(X, y) == np.mean(model.predict(X) == y)
    assert model.score(X, y) > 0.75


@each_class
def test_extreme_decision_values_give_probabilities(make, binary):
    """Far away rows would get NaN as probability or logarithm."""
    X, y = binary
    model = make(n_features=3).fit(X, y)
    far = np.vstack([1e6 * X[:5], -1e6 * X[:5], 1e150 * X[:2]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        proba, log_proba = model.predict_proba(far), model.predict_log_proba(far)
    assert np.isfinite(proba).all()
    assert np.isfinite(log_proba[:10]).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)


@each_class
def test_multiclass_probabilities(make, multiclass):
    """Probabilities of several classes would not be normalised one-versus-rest sigmoids."""
    X, y = multiclass
    make = partial(make, **PER_CLASS.get(make, {}))
    model = make(n_features=4).fit(X, y)
    decision = model.decision_function(X)
    assert decision.shape == (150, 3)
    sigmoid = 1 / (1 + np.exp(-decision))
    expected = sigmoid / sigmoid.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), decision.argmax(axis=1))
    far = model.predict_proba(-1e5 * np.sign(model.coef_.sum(axis=0)) * np.ones((2, 25)))
    np.testing.assert_allclose(far.sum(axis=1), 1)
    assert model.score(X, y) > 0.6


def test_asking_for_probabilities_checks_no_parameters():
    """Tools ask by hasattr, which would raise for a parameter that a search is still to set."""
    assert hasattr(BudgetClassifier(C=-1.0), "predict_proba")


@each_class
def test_prediction_reads_only_the_support(make, binary):
    """Predicting would need all columns of X to be gathered."""
    X, y = binary
    model = made(make, n_features=5).fit(X, y)
    reads = []

    class Watching(Design):
        def __init__(self, base):
            self.base_design = base

        shape, block = X.shape, X.shape[1]

        def correlate(self, v, start, stop):
            raise AssertionError("predicting scans X")

        def moments(self, weight, start, stop):
            raise AssertionError("predicting scans X")

        def gather(self, features):
            reads.append(np.asarray(features))
            return self.base_design.gather(features)

    decision = model.decision_function(Watching(as_design(X)))
    np.testing.assert_allclose(decision, model.decision_function(X), rtol=1e-12)
    assert set(np.concatenate(reads)) == set(model.support_)


# ---------------------------------------------------------------------------------- multi-class


@each_class
def test_multiclass_is_one_versus_rest_with_merged_scans(make, multiclass):
    """Several classes would be another model than one fit per class, or cost their scans."""
    X, y = multiclass
    make = partial(make, **PER_CLASS.get(make, {}))
    make = partial(make, calibrate=False)  # the classes share its number, and folds
    model = make(n_features=4).fit(X, y)
    assert model.coef_.shape == (3, 25)
    assert model.intercept_.shape == (3,)
    assert len(model.path_) == len(model.certificate_) == 3
    scans, union = [], set()
    for c in range(3):
        alone = make(n_features=4).fit(X, y == c)
        np.testing.assert_array_equal(model.path_[c][4].support, alone.support_)
        np.testing.assert_array_equal(model.coef_[c], alone.coef_[0])
        assert model.intercept_[c] == alone.intercept_[0]
        assert model.certificate_[c].bound == alone.certificate_.bound
        scans.append(alone.n_scans_)
        union |= set(alone.support_)
    np.testing.assert_array_equal(model.support_, sorted(union))
    assert model.n_scans_ == max(scans)
    assert model.gap_ == max(c.gap for c in model.certificate_)


@each_class
def test_multiclass_sizes_and_labels(make, multiclass):
    """A list of sizes or names as labels would fail with several classes."""
    X, y = multiclass
    names = np.array(["setosa", "versicolor", "virginica"])
    make = partial(make, calibrate=False, **PER_CLASS.get(make, {}))
    model = make(n_features=[2, 4]).fit(X, names[y])
    plain = make(n_features=[2, 4]).fit(X, y)
    assert_same_model(model, plain, classes=False)
    np.testing.assert_array_equal(model.classes_, names)
    np.testing.assert_array_equal(model.predict(X), names[plain.predict(X)])
    for path in model.path_:
        assert list(path) == [2, 4]


# --------------------------------------------------------------------------------- certificate


@each_class
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"C": 1.0}], ids=str)
@pytest.mark.parametrize("k", [1, 3])
def test_certificate_against_enumeration(make, options, k):
    """The certified bound would exceed the optimum over all supports of the size."""
    X, y = make_classification(70, 9, informative=3, seed=31)
    X = X * np.geomspace(0.01, 100, 9) + 2
    model = make(n_features=k, calibrate=False, **options).fit(X, y)
    certificate = model.certificate_
    free = options.get("fit_intercept", True)
    Z, _, _ = oracles.standardise(X, center=free)
    C = options.get("C", 0.1)
    loss = "squared_hinge" if make is FeatureGeneratingMachine else "logistic"
    assert certificate.loss == loss
    optimum, best = oracles.enumerate_supports(Z, 2 * y - 1, C, k, loss=loss, intercept=free)[0]
    assert certificate.bound <= optimum + 1e-8
    assert certificate.objective >= optimum - 1e-8
    own = oracles.ridge(Z[:, certificate.support], 2 * y - 1, C, loss=loss, intercept=free)
    assert certificate.objective == pytest.approx(own.objective, rel=1e-8)
    assert certificate.C == C
    np.testing.assert_array_equal(certificate.support, model.support_)
    assert k <= certificate.candidates <= 9
    assert 0 <= certificate.fixed_in <= k
    assert model.gap_ == certificate.gap
    if certificate.proven:
        np.testing.assert_array_equal(best, model.support_)


@each_class
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": False},
        {"standardize": False, "C": 1e-4},
        {"forced_features": [7, 8]},
        {"n_features": [2, 6, 9]},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
def test_certificate_is_verified_from_scratch(make, options, binary):
    """A certificate would be claimed that the data do not support."""
    X, y = binary
    X = np.where(np.arange(X.size).reshape(X.shape) % 3, X, 0)
    stored = np.float32(X)
    X = stored.astype(float)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    options = {"n_features": 6, "calibrate": False, **options}
    model = make(**options).fit(stored, y, sample_weight=weight)
    if options.get("class_weight"):
        totals = np.array([weight[y == 0].sum(), weight[y == 1].sum()])
        weight = weight * (weight.sum() / (2 * totals))[y]
    for k in model.path_:
        certificate = model.path_[k].certificate
        found = verify(certificate, X, 2 * y - 1, sample_weight=weight)
        assert certificate.fit_intercept == options.get("fit_intercept", True)
        assert certificate.forced.tolist() == sorted(options.get("forced_features", ()))
        assert found["bound"] == pytest.approx(certificate.bound, rel=1e-5)
        assert found["objective"] == pytest.approx(certificate.objective, rel=1e-5)
        assert 0 <= certificate.gap <= 1


def test_scaling_of_the_certificate_is_told(binary):
    """A bound would be read as one for another scaling of the columns."""
    X, y = binary
    names = {
        "standardized": BudgetClassifier(3, calibrate=False).fit(X, y),
        "scaled": BudgetClassifier(3, calibrate=False).fit(sp.csr_array(X), y),
        "none": BudgetClassifier(3, standardize=False, calibrate=False).fit(X, y),
    }
    for name, model in names.items():
        assert model.certificate_.scaling == name


# ------------------------------------------------------------------------------ forced features


@each_class
def test_default_size_makes_room_for_forced_features(make, binary):
    """Forcing more than ten features would fail with the default number."""
    X, y = binary
    model = made(make, forced_features=list(range(15))).fit(X, y)
    np.testing.assert_array_equal(model.support_, np.arange(15))


@pytest.mark.parametrize(
    ("forced", "message"),
    [
        ([0, 0], "forced_features must be distinct; got 0 twice"),
        ([40], r"forced_features must be between 0 and 39 \(the columns of X\); got 40"),
        ([-1], r"forced_features must be between 0 and 39 \(the columns of X\); got -1"),
        ([1, 2, 3, 4], r"at least 4 \(the length of forced_features\); got 3"),
        (["height"], "forced_features has the name 'height', but X has no feature names"),
        ([1.5], "forced_features must be a list of indices or of feature names; got 1.5"),
        ([True], "forced_features must be a list of indices or of feature names; got True"),
        ("height", "forced_features must be a list of indices or of feature names; got 'height'"),
        (3, "forced_features must be a list of indices or of feature names; got 3"),
    ],
    ids=str,
)
@each_class
def test_bad_forced_features(make, forced, message, binary):
    """Forced features in conflict with the data or the budget would be ignored."""
    with pytest.raises(ValueError, match=message):
        make(n_features=3, forced_features=forced).fit(*binary)


@each_class
def test_bad_forced_names(make, binary):
    """Unknown or ambiguous names, and constant columns, would be forced silently."""
    X, y = binary
    names = [f"x{j}" for j in range(40)]
    with pytest.raises(ValueError, match="forced_features has the unknown feature name 'weight'"):
        make(n_features=3, forced_features=["weight"]).fit(pd.DataFrame(X, columns=names), y)
    with pytest.raises(ValueError, match=r"(?is)unique.*twin|twin.*unique"):
        make(n_features=3, forced_features=["twin"]).fit(
            pd.DataFrame(X, columns=["twin", "twin", *names[2:]]), y
        )
    constant = X.copy()
    constant[:, 5] = 1
    with pytest.raises(ValueError, match="must not be constant columns of X; got column 5"):
        make(n_features=3, forced_features=[5]).fit(constant, y)


# ------------------------------------------------------------------------------------- storage

STORAGES = {
    "f_order": np.asfortranarray,
    "c_order": np.ascontiguousarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X).rename(columns=str),
    "polars": lambda X: pl.DataFrame(X, schema=[str(j) for j in range(X.shape[1])]),
    "big_endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "csc_array": sp.csc_array,
    "csr_array": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "csr_matrix": sp.csr_matrix,
    "coo_array": sp.coo_array,
}


@pytest.fixture(scope="module")
def counts():
    """Small counts: exact in every type, so that all storages hold the same numbers."""
    rng = np.random.default_rng(32)
    X = rng.integers(0, 5, (90, 25)) * (rng.uniform(size=(90, 25)) < 0.7)
    y = np.where(X[:, :3] @ [1, -1, 1] + rng.standard_normal(90) > 1, "yes", "no")
    assert min(np.unique(y, return_counts=True)[1]) > 20
    return X, y


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize(
    ("make", "seeds"),
    [(MinimaxLogisticRegression, [12, 30]), (GreedyLogisticRegression, [49])],
)
def test_tied_booleans_are_the_same_in_every_storage(make, seeds, standardize):
    """The rounding of a scan, another one in each storage, would choose among tied features."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n, m = rng.integers(10, 41), rng.integers(10, 60)
        X = rng.random((n, m)) < 0.5
        y = np.arange(n) % 2
        model = make(n_features=5, standardize=standardize, calibrate=False, refit_C=1.0)
        order = clone(model).fit(X.astype(float), y).path_.order
        for dtype in (bool, np.float32, np.float64):
            for storage in ("c_order", "f_order", "csr_array", "csc_array"):
                other = clone(model).fit(STORAGES[storage](X.astype(dtype)), y)
                np.testing.assert_array_equal(other.path_.order, order)


@each_class
def test_sparse_with_unsorted_duplicate_and_explicit_zero_entries(make, counts):
    """Sparse matrices would not mean what SciPy says they mean."""
    X, y = counts
    clean = sp.csr_array(X.astype(float))
    rows = [np.repeat(np.arange(25), 2)] * len(X)
    indices = np.concatenate([np.random.default_rng(i).permutation(r) for i, r in enumerate(rows)])
    data = 0.5 * X[np.repeat(np.arange(len(X)), 50), indices].astype(float)
    messy = sp.csr_array((data, indices, np.arange(0, 50 * len(X) + 1, 50)), shape=X.shape)
    np.testing.assert_array_equal(messy.toarray(), X)
    a, b = made(make, n_features=4).fit(messy, y), made(make, n_features=4).fit(clean, y)
    assert_same_model(a, b)
    assert messy.nnz == 50 * len(X)
    np.testing.assert_allclose(a.decision_function(messy), b.decision_function(clean), atol=1e-8)


def test_frames_of_sparse_columns(counts):
    """They would be refused with a remedy that frames do not have, or made dense."""
    X, y = counts
    matrix = sp.csc_array(X.astype(float))
    names = [f"f{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csc_matrix(matrix), columns=names)
    model = BudgetClassifier(4, calibrate=False).fit(frame, y)
    expected = BudgetClassifier(4, calibrate=False).fit(matrix, y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    scores = model.decision_function(frame)
    np.testing.assert_array_equal(scores, expected.decision_function(matrix))
    assert model.get_feature_names_out().tolist() == [names[j] for j in model.support_]
    ones = frame.astype(pd.SparseDtype(float, fill_value=1.0))
    with pytest.raises(ValueError, match="X must have 0 as the fill value of all sparse columns"):
        model.fit(ones, y)


@pytest.mark.parametrize("method", ["l1", "reweighted-l1"])
def test_l1_methods_hand_their_threads_to_coordinate_descent(method, monkeypatch):
    """The columns of an l1 path would be read by one thread, whatever was asked for."""
    X, y = make_classification(200, 40, seed=35)
    asked = []
    terms = _kernels.dense_terms

    def recorded(*arguments):
        asked.append(arguments[-1])
        return terms(*arguments)

    monkeypatch.setattr(_kernels, "dense_terms", recorded)
    one = BudgetClassifier(4, method=method, n_threads=1, calibrate=False).fit(X, y)
    assert set(asked) == {1}
    asked.clear()
    two = BudgetClassifier(4, method=method, n_threads=2, calibrate=False).fit(X, y)
    assert set(asked) == {2}
    np.testing.assert_array_equal(two.coef_, one.coef_)
    np.testing.assert_array_equal(two.intercept_, one.intercept_)


@each_class
def test_units_of_columns_do_not_matter_when_standardising(make, binary):
    """Columns from 1e-12 to 1e12 would change which features are selected."""
    X, y = binary
    factor = 10.0 ** np.random.default_rng(0).integers(-12, 13, 40)
    a, b = made(make, n_features=6).fit(X, y), made(make, n_features=6).fit(X * factor, y)
    np.testing.assert_array_equal(a.support_, b.support_)
    assert np.isfinite(b.coef_).all()
    assert a.certificate_.bound == pytest.approx(b.certificate_.bound, rel=1e-5)


# -------------------------------------------------------------------- weights, classes, labels


@each_class
def test_weights_of_different_size_are_finite(make, binary):
    """Weights that differ by 1e12 would give NaN."""
    X, y = binary
    weight = 10.0 ** np.random.default_rng(0).uniform(-6, 6, len(y))
    model = made(make, n_features=3).fit(X, y, sample_weight=weight)
    assert np.isfinite(model.coef_).all()
    assert 0 <= model.gap_ <= 1


@each_class
def test_class_weight_is_a_sample_weight(make, binary, multiclass):
    """class_weight would do something else than multiply the weights of the rows.

    With a fixed refit_C: leaving one row out removes all of its class weight, but one unit of a
    sample weight, so that integer sample weights equal repeated rows.
    """
    make = partial(make, calibrate=False)
    for X, y in (binary, multiclass):
        count = np.bincount(y)
        balanced = len(y) / (len(count) * count)
        a = make(n_features=4, refit_C=1.0, class_weight="balanced").fit(X, y)
        b = make(n_features=4, refit_C=1.0).fit(X, y, sample_weight=balanced[y])
        assert_same_model(a, b)
        c = make(n_features=4, refit_C=1.0, class_weight=dict(enumerate(balanced))).fit(X, y)
        assert_same_model(c, b)
        weight = np.linspace(0.5, 1.5, len(y))
        d = make(n_features=4, refit_C=1.0, class_weight={0: 2.0}).fit(X, y, sample_weight=weight)
        e = make(n_features=4, refit_C=1.0).fit(
            X, y, sample_weight=np.where(y == 0, 2.0, 1.0) * weight
        )
        assert_same_model(d, e)


@pytest.mark.parametrize(
    ("classifier", "regressor"),
    [
        (partial(BudgetClassifier, 1, calibrate=False), "BudgetRegressor"),
        (partial(MeasureClassifier, "f1", n_features=1, C=10.0), "BudgetRegressor"),
        (partial(L1Classifier, C=0.01), "L1Regressor"),
    ],
)
def test_classes_that_are_numbers_are_told(classifier, regressor):
    """Ages would be fitted as dozens of classes without a word, where the command asks."""
    ages = np.arange(66) % 11
    X = np.random.default_rng(0).standard_normal((66, 2)) + ages[:, None]
    said = f"y has 11 classes, all of them numbers, in 66 rows.* are for {regressor} "
    for y in (ages, ages.astype(float), ages.astype(str), ages.astype(str).astype(object)):
        with pytest.warns(UserWarning, match=said) as told:
            classifier().fit(X, y)
        assert sum(str(one.message).startswith("y has") for one in told) == 1
        assert {one.filename for one in told if "y has" in str(one.message)} == {__file__}
    for y in (ages % 10, [f"c{age}" for age in ages]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            classifier().fit(X, y)


def test_ordered_classes_that_are_numbers_are_meant_so():
    """Numbers are how the order of classes is said."""
    ages = np.arange(66) % 11
    X = np.random.default_rng(0).standard_normal((66, 2)) + ages[:, None]
    BudgetClassifier(1, loss="ordinal", calibrate=False).fit(X, ages)


@each_class
def test_series_and_categories_as_labels(make, binary):
    """Labels in a pandas or polars column would be refused."""
    X, y = binary
    names = np.array(["a", "b"])[y]
    reference = made(make, n_features=3).fit(X, names)
    for labels in (pd.Series(names), pd.Series(names, dtype="category"), pl.Series(names)):
        assert_same_model(made(make, n_features=3).fit(X, labels), reference)


# ----------------------------------------------------------------------- names, frames, tools


@each_class
def test_in_a_pipeline_with_a_grid_search(make, binary):
    """n_features could not be tuned with scikit-learn's own tools."""
    X, y = binary
    pipeline = make_pipeline(StandardScaler(), make(calibrate=False))
    name = f"{make.__name__.lower()}__n_features"
    search = GridSearchCV(pipeline, {name: [1, 4]}, cv=3).fit(X, y)
    assert search.best_params_[name] in (1, 4)
    assert search.best_score_ > 0.6
    assert search.best_estimator_[-1].support_.size == search.best_params_[name]
    scores = cross_val_score(make(n_features=3, calibrate=False), X, y, cv=3)
    assert scores.mean() > 0.6


@each_class
def test_as_a_selector_in_front_of_another_model(make, binary):
    """The estimator could not be used as a feature selector."""
    X, y = binary
    pipeline = make_pipeline(made(make, n_features=4), LogisticRegression(max_iter=2000)).fit(X, y)
    assert pipeline[-1].n_features_in_ == 4
    selector = SelectFromModel(made(make, n_features=4), threshold=1e-12).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(selector.get_support()), pipeline[0].support_)
    back = pipeline[0].inverse_transform(pipeline[0].transform(X))
    np.testing.assert_array_equal(back[:, pipeline[0].support_], X[:, pipeline[0].support_])


@each_class
def test_sample_weight_is_routed(make):
    """sample_weight could not be requested in a pipeline or a search."""
    with sklearn.config_context(enable_metadata_routing=True):
        model = make().set_fit_request(sample_weight=True)
        assert model.get_metadata_routing().fit.requests["sample_weight"] is True


# -------------------------------------------------------------------------- history, warm start


@each_class
def test_history_seconds_and_scans(make, binary):
    """What a fit did and how long it took would not be told."""
    X, y = binary
    model = made(make, n_features=6).fit(X, y)
    assert len(model.history_) >= 1
    entered = np.concatenate([step.entered for step in model.history_])
    assert len(set(entered)) == len(entered)
    assert set(model.support_) <= set(entered)
    assert len(model.history_) <= model.n_scans_ <= len(model.history_) + 2
    for phase in ("read", "standardize", "scan", "select", "refit", "certify"):
        if phase != "select" or make is BudgetClassifier:
            assert model.seconds_[phase] >= 0
    selection = model.path_[6]
    for j, step in zip(selection.support, selection.entered, strict=True):
        assert j in model.history_[step - 1].entered


@each_class
def test_certificates_do_not_change_with_the_number_of_sizes(make, binary):
    """Several sizes from one fit would each cost a scan for the certificate."""
    X, y = binary
    one = made(make, n_features=10).fit(X, y)
    block_size = one.history_[0].entered.size
    many = made(make, n_features=[8, 9, 10], block_size=block_size).fit(X, y)
    assert many.n_scans_ <= one.n_scans_ + 1


@each_class
def test_warm_start_with_other_data_starts_cold(make, binary, multiclass):
    """A dual point of other rows would be used, and fail or mislead."""
    make = partial(make, calibrate=False)
    model = make(n_features=3, warm_start=True).fit(*binary)
    model.fit(*multiclass)
    assert_same_model(model, make(n_features=3).fit(*multiclass))
    X, y = binary
    model.fit(X[:50], y[:50])
    assert_same_model(model, make(n_features=3).fit(X[:50], y[:50]))
    model.fit(X, y, sample_weight=np.linspace(0, 1, len(y)))
    verify(model.certificate_, X, 2 * y - 1, sample_weight=np.linspace(0, 1, len(y)))


# --------------------------------------------------------------------------------- inner solvers


@each_class
def test_history_has_the_status_of_every_inner_problem(make, binary):
    """A step whose problem was not solved would look like one that was."""
    X, y = binary
    model = made(make, n_features=6).fit(X, y)
    *solved, last = model.history_
    assert all(step.status is Status.CONVERGED for step in solved)
    assert all(step.extra["gap"] <= 1e-3 for step in solved)
    # The features of the last scan complete the pool of a BudgetClassifier: nothing is solved.
    assert last.status is (None if make is BudgetClassifier else Status.CONVERGED)
    assert ("gap" in last.extra) == (last.status is not None)
    model.set_params(warm_start=True, n_features=8).fit(X, y)
    assert [step.status for step in model.history_].count(None) < len(model.history_)


def lazy(blocks, state, tol):
    """An inner solver that gives up long before the tolerance."""
    return dataclasses.replace(newton(blocks, state, 0.2), status=Status.MAX_ITER)


@pytest.mark.parametrize("make", [MinimaxLogisticRegression, FeatureGeneratingMachine])
def test_warns_where_an_inner_solver_gave_up(make, binary, monkeypatch):
    """A solver that stalled would give a support without a word."""
    X, y = binary
    monkeypatch.setitem(INNER_SOLVERS, "fista", lazy)
    model = made(make, n_features=9, solver="fista", C=1.0)
    message = (
        r"solver='fista' stopped at a certified gap of .* \(asked: tol=0.001\) at step \d of the "
        r"selection .*Use solver='newton'"
    )
    with pytest.warns(ConvergenceWarning, match=message):
        model.fit(X, y)
    assert {step.status for step in model.history_} == {Status.MAX_ITER}
    gap = max(step.extra["gap"] for step in model.history_)
    with pytest.warns(ConvergenceWarning, match=f"stopped at a certified gap of {gap:.2g}"):
        model.set_params(tol=gap / 2.1).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(tol=gap / 1.9).fit(X, y)


@each_class
def test_no_warning_where_rounding_ends_progress(make, binary):
    """A tolerance below rounding would be reported as a failure."""
    X, y = binary
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make(n_features=6, tol=1e-18, calibrate=False).fit(X, y)
    assert Status.STALLED in {step.status for step in model.history_}


@pytest.mark.parametrize("solver", list(INNER_SOLVERS))
def test_every_inner_solver_selects(solver, binary):
    """A registered solver could not be reached from the estimator, or would select otherwise."""
    X, y = binary
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    options = {"n_features": 6, "C": 0.03, "fit_intercept": False, "standardize": False}
    reference = MinimaxLogisticRegression(tol=1e-8, **options, calibrate=False).fit(X, y)
    model = MinimaxLogisticRegression(solver=solver, **options, calibrate=False).fit(X, y)
    np.testing.assert_array_equal(model.support_, reference.support_)
    for step, exact in zip(model.history_, reference.history_, strict=True):
        np.testing.assert_array_equal(step.entered, exact.entered)
        assert step.status is Status.CONVERGED
        assert step.bound <= exact.objective * (1 + 1e-9)
        assert step.objective >= exact.bound * (1 - 1e-9)
    verify(model.certificate_, X, y)


def test_the_published_schedule_stalls_and_says_so():
    """The paper's own algorithm would give features of no method, silently."""
    X, y = load_golub(return_X_y=True)
    model = MinimaxLogisticRegression.as_published(10).set_params(solver="smoothing-published")
    with pytest.warns(ConvergenceWarning, match="solver='smoothing-published' stopped.*'newton'"):
        model.fit(X, y)
    assert Status.CONVERGED not in {s.status for s in model.history_ if s.extra["gap"] > model.tol}
    assert max(step.extra["gap"] for step in model.history_) > 2 * model.tol
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(rows, y)
    reference = MinimaxLogisticRegression.as_published(10).fit(rows, y)
    np.testing.assert_array_equal(model.support_, reference.support_)


@pytest.mark.parametrize("solver", SMOOTHING)
def test_smoothing_has_no_free_intercept(solver, binary):
    """The intercept would be dropped silently, or the data be read for nothing."""
    for flag in (True, np.True_):
        model = MinimaxLogisticRegression(3, solver=solver, fit_intercept=flag)
        with pytest.raises(ValueError, match=f"solver='{solver}' has no free intercept.*'newton'"):
            model.fit(None, None)  # nothing but parameters is looked at
    with pytest.raises(ValueError, match="fit_intercept must be True or False; got 0"):
        MinimaxLogisticRegression(3, solver=solver, fit_intercept=0).fit(None, None)
    X, y = binary
    model = MinimaxLogisticRegression(3, solver=solver, fit_intercept=np.False_, calibrate=False)
    model.fit(X, y)
    assert not model.intercept_.any()
    assert not model.certificate_.fit_intercept


@pytest.mark.parametrize("solver", SMOOTHING)
def test_repeated_rows_are_weights_within_the_tolerance(solver, binary):
    """Weights could mean something else; the same to rounding they are not, for these solvers."""
    X, y = binary
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    options = {"block_size": 4, "fit_intercept": False, "standardize": False, "tol": 1e-5}
    model = MinimaxLogisticRegression(4, solver=solver, **options, calibrate=False)
    weighted = model.fit(X, y, sample_weight=weight).history_[0]
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).history_[0]
    scale = 0.1 * weight.sum() * np.log(2)  # C sum_i s_i log 2, without features
    assert weighted.status is repeated.status is Status.CONVERGED
    assert abs(weighted.objective - repeated.objective) <= 1e-5 * scale


@pytest.mark.parametrize("value", [1e60, 1e160])
@each_class
def test_columns_too_large_for_products_are_refused(make, value, binary):
    """Products of columns that are not scaled would overflow somewhere inside."""
    X, y = binary
    X = X.copy()
    X[:, 4] *= value
    with pytest.raises(ValueError, match=r"column 4|too large in column 4"):
        make(3, standardize=False).fit(X, y)
    if value < 1e150:
        assert np.isfinite(make(3).fit(X, y).decision_function(X)).all()


def test_a_method_refuses_what_it_cannot_do(binary):
    """An option, a loss or a budget would be ignored without a word."""
    offered = "'newton', 'fista', 'simplemkl', 'smoothing', 'smoothing-published'"
    for make, message in [
        (MinimaxLogisticRegression(3, solver="other"), f"solver must be one of {offered}"),
        (FeatureGeneratingMachine(3, solver="smoothing"), "is of the logistic loss alone"),
        (BudgetClassifier(3, method="lasso"), "method must be one of 'auto', 'pool', 'l1', "),
        (BudgetClassifier(3, method=methods.L1(), warm_start=True), "warm_start must be False"),
        (BudgetClassifier(3, loss="least_squares"), "loss must be one of 'logistic', 'squared"),
        (BudgetClassifier(n_groups=2), "n_groups counts groups, but feature_groups is None"),
        (
            BudgetClassifier(feature_groups=np.arange(40)),
            "feature_groups needs the number of them to select",
        ),
        (
            BudgetClassifier(3, feature_groups=np.arange(40)),
            "feature_groups needs the number of them to select",
        ),
        (
            BudgetClassifier(3, n_groups=2, feature_groups=np.arange(40), method="greedy"),
            "n_features must",
        ),
        (
            BudgetClassifier(n_groups=2, feature_groups=np.arange(40), method="l1"),
            "selects single featur",
        ),
        (BudgetClassifier(3, method="bilevel", calibrate=True), "calibrate must be 'auto' or Fal"),
        (BudgetClassifier(3, method="bilevel", criterion="bic"), "criterion chooses among numbers"),
        (
            BudgetRegressor(3, loss="logistic"),
            "'poisson', 'gamma'; got 'logistic'",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            make.fit(*binary)


def test_options_of_a_method_are_parameters(binary):
    """A grid search could not try the options of a method, or would change that of another."""
    model = BudgetClassifier(3, method=methods.Minimax(block_size=1))
    copied = clone(model).set_params(method__block_size=3)
    assert model.method == methods.Minimax(block_size=1)
    assert copied.get_params()["method__block_size"] == copied.method.block_size == 3
    named = BudgetClassifier(3).set_params(method="greedy", method__fit_C=2.0)
    assert named.method == methods.Greedy(fit_C=2.0)
    with pytest.raises(ValueError, match="method='auto' has the options"):
        BudgetClassifier(3).set_params(method__gap=0.1)
    search = GridSearchCV(named, {"method__fit_C": [0.1, 10.0]}, cv=3).fit(*binary)
    assert search.best_estimator_.method.fit_C == search.best_params_["method__fit_C"]


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_the_front_door_is_the_published_algorithms(loss, binary):
    """A method of the front door would be another one than that under its paper's name."""
    X, y = binary
    groups = np.repeat(np.arange(20), 2)
    whole = {"feature_groups": groups, "n_groups": 3}
    cutting = MinimaxLogisticRegression if loss == "logistic" else FeatureGeneratingMachine
    pairs = [
        (BudgetClassifier(4, loss=loss, method="minimax"), cutting(4)),
        (BudgetClassifier(**whole, loss=loss), cutting(**whole)),
        (BudgetClassifier(4, **whole, loss=loss), BilevelClassifier(4, **whole, loss=loss)),
    ]
    if loss == "logistic":
        pairs += [
            (BudgetClassifier(4, method="l0"), L0LogisticRegression(4)),
            (BudgetClassifier(4, method="greedy"), GreedyLogisticRegression(4)),
            (BudgetClassifier(**whole, method="greedy"), GreedyLogisticRegression(**whole)),
            (BudgetRegressor(4, **whole), BilevelRegressor(4, **whole)),
        ]
    for front, published in pairs:
        assert_same_model(front.fit(X, y), published.fit(X, y), classes=hasattr(front, "classes_"))


# ---------------------------------------------------------------------------------- callbacks


def test_scikit_learn_callbacks(binary):
    """Progress bars of scikit-learn would show nothing."""
    pytest.importorskip("sklearn.callback")
    X, y = binary
    events = []

    class Recorder:
        def setup(self, estimator, context):
            events.append("setup")

        def teardown(self, estimator, context):
            events.append("teardown")

        def on_fit_task_begin(self, estimator, context, **state):
            events.append(f"begin {context.task_name}")

        def on_fit_task_end(self, estimator, context, **state):
            events.append(f"end {context.task_name}")
            return False

    model = BudgetClassifier(n_features=3, calibrate=False).set_callbacks(Recorder()).fit(X, y)
    assert events[0] == "setup"
    assert events[-1] == "teardown"
    assert events.count("begin scan") == events.count("end scan") == model.n_scans_
    assert "begin fit" in events
    assert "end fit" in events
    events.clear()
    with pytest.raises(ValueError, match="C must be"):
        model.set_params(C=-1).fit(X, y)
    assert events[-1:] in ([], ["teardown"])


def test_progress_bar_of_scikit_learn(binary, capsys):
    """scikit-learn's progress bar would raise on this estimator."""
    callback = pytest.importorskip("sklearn.callback")
    X, y = binary
    bar = callback.ProgressBar()
    model = MinimaxLogisticRegression(n_features=3, calibrate=False).set_callbacks(bar).fit(X, y)
    assert model.support_.size == 3
    assert "MinimaxLogisticRegression" in capsys.readouterr().out


def test_callback_that_raises_ends_the_fit(binary):
    """A callback could not stop a long fit."""
    pytest.importorskip("sklearn.callback")
    X, y = binary

    class Stop:
        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **state):
            if context.task_name == "scan":
                raise RuntimeError("enough")

        def on_fit_task_end(self, estimator, context, **state):
            return False

    model = BudgetClassifier(n_features=3, calibrate=False).set_callbacks(Stop())
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(X, y)
    assert not hasattr(model, "support_")
    model.set_callbacks()
    assert model.fit(X, y).support_.size == 3


# ------------------------------------------------------------------------------- bad parameters


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, r"n_features must be between 1 and 40 \(the features of X\); got 0"),
        (-3, r"n_features must be between 1 and 40 \(the features of X\); got -3"),
        (41, r"n_features must be between 1 and 40 \(the features of X\); got 41"),
        (10**18, r"n_features must be between 1 and 40 \(the features of X\); got 10+"),
        (2.5, "n_features must be an integer or a list of integers; got 2.5"),
        (2.0, "n_features must be an integer or a list of integers; got 2.0"),
        (float("nan"), "n_features must be an integer or a list of integers; got nan"),
        (True, "n_features must be an integer or a list of integers; got True"),
        ("10", "n_features must be an integer or a list of integers; got '10'"),
        ({3}, r"n_features must be an integer or a list of integers; got \{3\}"),
        ([], "n_features must be an integer or a list of integers; got an empty list"),
        ([5, 0], r"n_features must be between 1 and 40 \(the features of X\); got 0"),
        ([5, 50], r"n_features must be between 1 and 40 \(the features of X\); got 50"),
        ([5, True], "n_features must be an integer or a list of integers; got True"),
        ([5, "6"], "n_features must be an integer or a list of integers; got '6'"),
    ],
    ids=str,
)
@each_class
def test_bad_n_features(make, value, message, binary):
    """A wrong budget would be changed silently."""
    with pytest.raises(ValueError, match=message):
        make(n_features=value).fit(*binary)


@each_class
def test_numpy_integers_are_integers(make, binary):
    """A budget from a NumPy array would be refused."""
    X, y = binary
    make = partial(make, calibrate=False)
    reference = make(n_features=3).fit(X, y)
    for value in (np.int64(3), np.uint8(3), np.array([3]), (3,), [np.int32(3), 3]):
        assert_same_model(make(n_features=value).fit(X, y), reference)


POSITIVE = "must be a positive finite number; got"
COUNT = "must be None or an integer of at least 1; got"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *[("C", v, f"C {POSITIVE} {v!r}") for v in (0, -1.0, float("nan"), float("inf"), "1")],
        ("C", None, f"C {POSITIVE} None"),
        ("C", True, f"C {POSITIVE} True"),
        *[("tol", v, f"tol {POSITIVE} {v!r}") for v in (0, -1e-3, float("nan"), "small")],
        ("refit_C", "alo", "refit_C must be 'loo' or a positive finite number; got 'alo'"),
        ("refit_C", 0, f"refit_C {POSITIVE} 0"),
        ("refit_C", None, f"refit_C {POSITIVE} None"),
        *[("block_size", v, f"block_size {COUNT} {v!r}") for v in (0, -1, 2.5, True, "3")],
        *[("max_blocks", v, f"max_blocks {COUNT} {v!r}") for v in (0, -1, 2.5, True)],
        *[("n_threads", v, f"n_threads {COUNT} {v!r}") for v in (0, -1, 1.0, True, "all")],
        ("solver", "liblinear", "solver must be one of .*'newton'.*; got 'liblinear'"),
        ("solver", None, "solver must be one of .*'newton'.*; got None"),
        ("fit_intercept", "yes", "fit_intercept must be True or False; got 'yes'"),
        ("standardize", 1, "standardize must be True or False; got 1"),
        ("warm_start", None, "warm_start must be True or False; got None"),
        ("class_weight", "even", "class_weight must be None, 'balanced' or a dict; got 'even'"),
        ("class_weight", 3, "class_weight must be None, 'balanced' or a dict; got 3"),
        ("class_weight", {7: 1.0}, "class_weight has the label 7, which is not in y"),
        ("class_weight", {0: -1.0}, "class_weight must be finite and not negative; got -1.0"),
        ("class_weight", {0: float("nan")}, "class_weight must be finite and not negative"),
    ],
    ids=str,
)
@each_class
def test_bad_parameter(make, name, value, message, binary):
    """A wrong option would be ignored or fail deep inside."""
    with pytest.raises(ValueError, match=message):
        made(make, **{"n_features": 3, name: value}).fit(*binary)


@each_class
@pytest.mark.parametrize("C", [1e-300, 1e-12, 1e12, 1e300])
def test_extreme_penalties_are_finite_or_refused(make, C, binary):
    """An extreme C would hang, overflow or give NaN."""
    X, y = binary
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = made(make, n_features=3, C=C).fit(X, y)
        except ValueError as error:
            assert "C" in str(error)  # noqa: PT017
            return
    assert model.support_.size == 3
    assert np.isfinite(model.coef_).all()


@pytest.mark.filterwarnings(
    "ignore::zeronorm.estimators.LeakWarning"
)  # one column does separate them
@each_class
def test_separable_data_are_finite(make):
    """Perfectly separated classes would end in infinite coefficients."""
    rng = np.random.default_rng(35)
    X = rng.standard_normal((30, 50))
    y = X[:, 7] > 0
    X[:, 7] *= 100
    for C in (0.1, 100.0, 1e6):
        model = made(make, n_features=2, C=C).fit(X, y)
        assert 7 in model.support_
        assert np.isfinite(model.coef_).all()
        assert model.score(X, y) == 1


@each_class
def test_more_features_than_rows(make):
    """k above n or above the rank would fail."""
    rng = np.random.default_rng(36)
    X, y = rng.standard_normal((12, 60)), np.arange(12) % 2
    model = made(make, n_features=40).fit(X, y)
    assert model.support_.size == 40
    doubled = np.repeat(X[:, :5], 12, axis=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X columns 0 and 1 are equal")
        assert made(make, n_features=40).fit(doubled, y).support_.size == 40


# -------------------------------------------------------------------------------------- bad data


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("storage", ["c_order", "f_order", "csc_array", "csr_array", "pandas"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nan_and_infinity_are_found_with_row_and_column(value, storage, dtype, binary):
    """One bad value among many would give a wrong model, or an error without a place."""
    X, y = binary
    bad = X.astype(dtype)
    bad[17, 23] = value
    with pytest.raises(ValueError, match=r"(?is)(nan|inf).*") as error:
        BudgetClassifier(3).fit(STORAGES[storage](bad), y)
    text = str(error.value).lower()
    assert "row 17" in text
    assert "column 23" in text
    assert ("nan" if np.isnan(value) else "inf") in text


@each_class
def test_nan_in_a_file_and_in_a_row_of_weight_zero(make, binary, tmp_path):
    """NaN in data on disk would not be found; a row of weight zero may hold anything or nothing."""
    X, y = binary
    bad = X.copy()
    bad[17, 23] = np.nan
    np.save(tmp_path / "bad.npy", bad)
    with pytest.raises(ValueError, match="row 17"):
        make(n_features=3).fit(tmp_path / "bad.npy", y)
    weight = (np.arange(len(y)) != 17).astype(float)
    try:
        model = made(make, n_features=3).fit(bad, y, sample_weight=weight)
    except ValueError as error:
        assert "row 17" in str(error)  # noqa: PT017
    else:
        assert_same_model(model, made(make, n_features=3).fit(X, y, sample_weight=weight))


@each_class
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("storage", ["c_order", "f_order", "csc_array", "csr_array"])
def test_huge_values_are_an_error_that_names_the_column(make, standardize, storage, binary):
    """Values of 1e300 would overflow to a zero model, silently."""
    X, y = binary
    bad = X.copy()
    bad[:, 11] = 1e300 * np.sign(X[:, 11])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(ValueError, match="column 11"):
            make(n_features=3, standardize=standardize).fit(STORAGES[storage](bad), y)


@each_class
def test_tiny_values_are_fine(make, binary):
    """Columns of denormal numbers would give infinite scales."""
    X, y = binary
    tiny = X.copy()
    tiny[:, 11] *= 1e-310
    model = made(make, n_features=3).fit(tiny, y)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.empty((0, 5)), r"0 sample\(s\)"),
        (np.empty((5, 0)), r"0 feature\(s\)"),
        (np.ones(5), "Expected 2D array, got 1D array"),
        (np.ones((5, 2, 2)), "dim"),
        (np.ones((5, 2), complex), "(?i)complex"),
        (np.full((5, 2), "a"), "(?i)numeric|string|convert"),
        (np.array([["a", 1], ["b", 2], ["c", 3], ["d", 4], ["e", 5]], object), "(?i)string|conv"),
        (np.zeros((5, 2), "datetime64[s]"), "(?i)datetime|dtype|type"),
        ([[1, 2], [3], [4, 5], [6, 7], [8, 9]], "(?i)inhomogeneous|shape|sequence"),
        (sp.csr_array((0, 5)), r"0 sample\(s\)"),
        (sp.csr_array((5, 0)), r"0 feature\(s\)"),
    ],
    ids=str,
)
@each_class
def test_bad_shapes_and_types(make, X, message):
    """X that is no table of numbers would crash or be guessed at."""
    with pytest.raises((ValueError, TypeError), match=message):
        make(n_features=1).fit(X, np.array([0, 1, 0, 1, 1])[: len(X) if isinstance(X, list)
                                                           else X.shape[0]])  # fmt: skip


@each_class
def test_no_usable_column(make):
    """X of constant columns only would divide by zero."""
    y = np.arange(10) % 2
    for X in (np.zeros((10, 3)), np.ones((10, 3)), sp.csr_array((10, 3))):
        for k in (None, 1, [1, 2]):
            with pytest.raises(ValueError, match="constant"):
                make(n_features=k).fit(X, y)


@each_class
def test_one_class(make, binary):
    """One class would give a model that always answers the same."""
    X, _ = binary
    with pytest.raises(ValueError, match="y must have at least two classes; got one class: 'b'"):
        make(n_features=3).fit(X, np.full(120, "b"))
    weight = np.ones(120)
    y = np.arange(120) % 2
    weight[y == 0] = 0
    with pytest.raises(ValueError, match=r"at least two classes; got one class: .*1"):
        make(n_features=3).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.linspace(0, 1, 120), "(?i)unknown label type: continuous"),
        (np.where(np.arange(120) == 5, np.nan, np.arange(120) % 2), "(?i)nan"),
        (np.ones((120, 2)), "(?i)y should be a 1d array|multi|shape"),
        (np.arange(119) % 2, r"one label per row of X; got 119 labels for 120 rows"),
        (np.array([], int), "got 0 labels for 120 rows|0 sample"),
        (None, "y to be passed, but the target y is None"),
        (0, "(?i)1d|shape|dim"),
    ],
    ids=["continuous", "nan", "two columns", "short", "empty", "none", "scalar"],
)
@each_class
def test_bad_targets(make, labels, message, binary):
    """A target that is no list of classes would be taken for one."""
    with pytest.raises((ValueError, TypeError), match=message):
        make(n_features=3).fit(binary[0], labels)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.where(np.arange(120) == 7, -1.0, 1.0), "not negative; got -1.0 at row 7"),
        (np.where(np.arange(120) == 7, np.nan, 1.0), "finite and not negative; got nan at row 7"),
        (np.where(np.arange(120) == 7, np.inf, 1.0), "finite and not negative; got inf at row 7"),
        (np.zeros(120), "sample_weight must have a positive weight; got only zeros"),
        (np.ones(119), r"one weight per row of X \(120\); got 119"),
        (np.ones((120, 2)), "(?i)1D"),
        (np.full(120, "heavy"), "sample_weight must be numbers"),
        (np.full(120, 1e-310), "must be at least 1e-200 in some row; got 1e-310"),
        (np.where(np.arange(120) == 7, 1e20, 1.0), "all rows but one; got 1.19e-18: beside row 7"),
    ],
    ids=["negative", "nan", "inf", "zeros", "short", "two columns", "text", "tiny", "one row"],
)
@each_class
def test_bad_weights(make, weight, message, binary):
    """Weights that cannot be weights would be used."""
    with pytest.raises(ValueError, match=message):
        make(n_features=3).fit(*binary, sample_weight=weight)


@each_class
def test_sparse_at_fit_and_dense_at_predict(make, binary):
    """The storage of new rows would have to be that of the training rows."""
    X, y = binary
    model = made(make, n_features=3).fit(sp.csc_array(X), y)
    for new in (X, sp.csr_matrix(X), X.astype(np.float32), pd.DataFrame(X), X.tolist()):
        np.testing.assert_allclose(model.decision_function(new), model.decision_function(X),
                                   rtol=1e-4, atol=1e-4)  # fmt: skip


# ------------------------------------------------------------------- errors, interrupts, states


def interrupt_after(seconds, action):
    """Run an action, send SIGINT to this process after some seconds; return how long it took."""
    sent = []

    def send():
        time.sleep(seconds)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=send)
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            thread.start()
            action()
            thread.join()
            time.sleep(0.5)
            raise AssertionError("the fit ended before the signal: make it longer")
        return time.perf_counter() - sent[0]
    finally:
        thread.join()
        signal.signal(signal.SIGINT, old)


def wide_data(n, p, dtype, order):
    """An array of p equal columns that takes the memory of one: long scans without memory."""
    rng = np.random.default_rng(37)
    column = rng.integers(-3, 4, n).astype(dtype)
    if order == "f_order":
        X = np.lib.stride_tricks.as_strided(column, (n, p), (column.itemsize, 0))
    else:
        X = np.lib.stride_tricks.as_strided(np.zeros(p, dtype), (n, p), (0, column.itemsize))
    return X, np.where(column + rng.standard_normal(n) > 0, 1, 0)


@each_class
@pytest.mark.parametrize("dtype", [np.float64, *slow(np.int8)])
def test_interrupt_inside_a_scan(make, dtype, binary):
    """Ctrl-C during a long pass over the data would be noticed seconds later, or not at all."""
    X, y = wide_data(20_000, 1_000_000, dtype, "f_order")
    others = threading.active_count()
    model = made(make, n_features=3).fit(*binary)
    before = model.decision_function(binary[0])
    delay = interrupt_after(0.4, lambda: model.fit(X, y))
    assert delay < 1
    np.testing.assert_array_equal(model.decision_function(binary[0]), before)
    assert_same_model(model.fit(*binary), made(make, n_features=3).fit(*binary))
    assert threading.active_count() <= others + 2


@each_class
def test_interrupt_between_scans(make):
    """Ctrl-C during the work on the selected features would not end the fit."""
    X, y = make_classification(1500, 3000, seed=38)
    model = made(make, n_features=1500, block_size=3, tol=1e-8)
    delay = interrupt_after(1.0, lambda: model.fit(X, y))
    assert delay < 1
    assert not hasattr(model, "support_")
    model.set_params(n_features=2)
    assert model.fit(X[:100, :20], y[:100]).support_.size == 2


@pytest.mark.parametrize("call", ["fit", "path", "validate"])
def test_blas_has_one_thread_from_first_to_last(call, monkeypatch):
    """One product with several threads would leave them spinning, and slow down the fit."""
    limits = []

    def watched(y, n):
        limits.extend(
            pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
        )
        return original(y, n)

    original = check_target
    monkeypatch.setattr("zeronorm.estimators.base.check_target", watched)
    X, y = load_golub(return_X_y=True)
    with threadpool_limits(2):
        {
            "fit": lambda: L1Classifier().fit(X, y),
            "path": lambda: l1_path(X, y, Cs=2),
            "validate": lambda: cross_validate(BudgetClassifier(3, calibrate=False), X, y, cv=2),
        }[call]()
    assert limits
    assert set(limits) == {1}


def test_the_logger_of_the_package(binary, caplog, capsys):
    """A program could not have the package in its own log, or would have it without asking."""
    model = BudgetClassifier(2)
    with caplog.at_level(logging.DEBUG, "zeronorm"):
        model.fit(*binary)
    (line,) = [record for record in caplog.records if record.levelno == logging.INFO]
    assert line.getMessage().startswith("BudgetClassifier on 40 features: size 2, ")
    passes = [record for record in caplog.records if record.levelno == logging.DEBUG]
    assert len(passes) == model.n_scans_
    assert capsys.readouterr() == ("", "")

"""l1 of several classes at once: one multinomial problem, by other formulas and packages."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp, softmax
from sklearn.linear_model import LogisticRegression

from conftest import slow
from zeronorm import L1Classifier, L1ClassifierCV
from zeronorm.persistence import load, save

N, M, Q = 100, 20, 4
NAMES = np.array(["ash", "fir", "oak", "yew"])


@pytest.fixture(scope="module")
def data():
    """X, labels of four classes and weights."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((N, M)) + rng.uniform(-1, 1, M)
    W = np.zeros((M, Q))
    W[[1, 5, 9], [0, 1, 2]], W[3] = 1.5, [1, -1, 0.5, 0]
    chosen = np.array([rng.choice(Q, p=p) for p in softmax(X @ W, axis=1)])
    return X, NAMES[chosen], rng.uniform(0.3, 2.0, N)


def objective(X, y, W, b, C, weight, ratio=1.0):
    """The problem as the docstring has it; W of (Q, M)."""
    z = X @ W.T + b
    loss = logsumexp(z, axis=1) - z[np.arange(len(y)), np.searchsorted(NAMES, y)]
    return ratio * np.abs(W).sum() + 0.5 * (1 - ratio) * (W * W).sum() + C * weight @ loss


@pytest.mark.parametrize("C", [0.05, 0.3, *slow(3.0)])
@pytest.mark.parametrize("options", [{}, {"l1_ratio": 0.5}, {"fit_intercept": False}])
def test_the_optimality_conditions_hold(C, options, data):
    """The model would be that of another problem, or none of this one."""
    X, y, weight = data
    model = L1Classifier(C, multi_class="multinomial", tol=1e-11, **options).fit(X, y, weight)
    W, p = model.coef_, model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    rest = weight[:, None] * ((y[:, None] == NAMES) - p)
    ratio = options.get("l1_ratio", 1.0)
    pull = C * rest.T @ X - (1 - ratio) * W
    np.testing.assert_allclose(pull[W != 0], ratio * np.sign(W[W != 0]), atol=1e-4)
    assert (np.abs(pull[W == 0]) <= ratio * (1 + 1e-4)).all()
    assert 0 < np.count_nonzero(W) < W.size
    if options.get("fit_intercept", True):
        np.testing.assert_allclose(rest.sum(axis=0), 0.0, atol=1e-8)
    else:
        assert not model.intercept_.any()
    assert model.gap_ <= 1e-11
    found = objective(X, y, W, model.intercept_, C, weight, ratio)
    assert model.objective_ == pytest.approx(found, rel=1e-10)


def test_agrees_with_scikit_learn(data):
    """C would mean something else than there."""
    X, y, weight = data
    ours = L1Classifier(0.3, multi_class="multinomial", tol=1e-10).fit(X, y, weight)
    theirs = LogisticRegression(
        C=0.3, l1_ratio=1.0, solver="saga", tol=1e-8, max_iter=20_000, random_state=0
    ).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    found = objective(X, y, theirs.coef_, theirs.intercept_, 0.3, weight)
    assert ours.objective_ <= found * (1 + 1e-9)


def test_the_gap_bounds_the_suboptimality(data):
    """A certificate would claim more than there is."""
    X, y, weight = data
    best = L1Classifier(0.3, multi_class="multinomial", tol=1e-11).fit(X, y, weight).objective_
    share = np.array([weight[y == name].sum() for name in NAMES]) / weight.sum()
    null = objective(X, y, np.zeros((Q, M)), np.log(share), 0.3, weight)
    for tol in (0.3, 0.01):
        model = L1Classifier(0.3, multi_class="multinomial", tol=tol).fit(X, y, weight)
        assert model.gap_ <= tol
        assert best * (1 - 1e-9) <= model.objective_
        assert model.objective_ <= best + model.gap_ * null * (1 + 1e-9)


@pytest.mark.parametrize("storage", ["csc", "csr", "float32", "standardized"])
def test_storages_and_scales(storage, data):
    """Columns would be those of another class, or the zeros of the others be stored."""
    X, y, _ = data
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    options, factor = {}, 1.0
    given = {"csc": sp.csc_array(X), "csr": sp.csr_array(X)}.get(storage, X)
    if storage == "float32":
        X = given = X.astype(np.float32).astype(float)
        given = given.astype(np.float32)
    if storage == "standardized":
        options, factor = {"standardize": True}, X.std(axis=0)
    plain = L1Classifier(0.2, multi_class="multinomial", tol=1e-8)
    expected = plain.fit(X / factor, y).predict_proba(X / factor)
    model = L1Classifier(0.2, multi_class="multinomial", tol=1e-8, **options).fit(given, y)
    np.testing.assert_allclose(model.predict_proba(given), expected, atol=1e-4)


def test_columns_far_from_zero(data):
    """Curvatures of raw columns would have no digits left, and intercepts be of centred ones."""
    X, y, weight = data
    plain = L1Classifier(0.2, multi_class="multinomial", tol=1e-8).fit(X, y, weight)
    far = L1Classifier(0.2, multi_class="multinomial", tol=1e-8).fit(X + 1e6, y, weight)
    assert far.gap_ <= 1e-8
    np.testing.assert_allclose(far.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(far.predict_proba(X + 1e6), plain.predict_proba(X), atol=1e-4)
    folds = L1ClassifierCV([0.1, 0.3], cv=3, multi_class="multinomial")
    expected = folds.fit(X, y).scores_
    np.testing.assert_allclose(folds.fit(X + 1e6, y).scores_, expected, atol=1e-3)


@pytest.mark.parametrize("scoring", ["log_loss", "accuracy"])
def test_folds_are_fits_on_their_rows(scoring, data):
    """Held-out rows would be scored without their intercepts, or as against the rest."""
    X, y, weight = data
    rows, Cs = np.arange(N), [0.05, 0.2, 1.0]
    folds = [(rows[rows % 3 != f], rows[rows % 3 == f]) for f in range(3)]
    model = L1ClassifierCV(Cs, cv=folds, scoring=scoring, multi_class="multinomial", tol=1e-9)
    model.fit(X, y, weight)
    for column, (train, test) in enumerate(folds):
        for row, C in enumerate(Cs):
            C *= weight.sum() / weight[train].sum()
            alone = L1Classifier(C, multi_class="multinomial", tol=1e-9)
            alone.fit(X[train], y[train], weight[train])
            own = alone.predict_proba(X[test])[
                np.arange(test.size), np.searchsorted(NAMES, y[test])
            ]
            expected = -np.average(np.log(own), weights=weight[test])
            if scoring == "accuracy":
                expected = alone.score(X[test], y[test], weight[test])
            assert model.scores_[row, column] == pytest.approx(expected, rel=1e-4)
    assert len(model.l1_path_) == Q
    chosen = Cs.index(model.C_)
    alone = L1Classifier(model.C_, multi_class="multinomial", tol=1e-9).fit(X, y, weight)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, alone.intercept_, atol=1e-4)
    for own, path in zip(model.coef_, model.l1_path_, strict=True):
        np.testing.assert_array_equal(path.coef[[chosen]].toarray()[0], own)
    assert model.n_selected_[chosen] == model.support_.size


def test_two_classes_and_files(data, tmp_path):
    """Two classes would be doubled, or a file predict as of classes against the rest."""
    X, y, _ = data
    pair = np.isin(y, NAMES[:2])
    one = L1Classifier(0.3, multi_class="multinomial").fit(X[pair], y[pair])
    np.testing.assert_array_equal(one.coef_, L1Classifier(0.3).fit(X[pair], y[pair]).coef_)
    model = L1Classifier(0.3, multi_class="multinomial").fit(X, y)
    loaded = load(save(model, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_separated_classes_have_a_solution():
    """Probabilities of 0 and 1 would leave no step, or no dual point."""
    X = np.repeat(np.eye(3), 5, axis=0)
    y = np.repeat([0, 1, 2], 5)
    model = L1Classifier(1e4, multi_class="multinomial").fit(X, y)
    assert model.gap_ <= 1e-4
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 3}, "n_features must be None for multi_class='multinomial'"),
        ({"loss": "squared_hinge"}, "loss must be 'logistic' for multi_class='multinomial'"),
        (
            {"penalty_factor": np.r_[0.0, np.ones(M - 1)]},
            "penalty_factor must be positive for multi_class=",
        ),
        ({"multi_class": "shared"}, "multi_class must be one of 'ovr', 'multinomial'"),
    ],
)
def test_bad_options(options, message, data):
    """Options that one problem of several classes has not would be left out without a word."""
    X, y, _ = data
    with pytest.raises(ValueError, match=message):
        L1Classifier(**{"multi_class": "multinomial", **options}).fit(X, y)

"""Competitors of selection for a measure: scikit-learn and programs over all labellings."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, minimize_scalar
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE
from sklearn.svm import LinearSVC

from baselines import L1SVM, SVMRFE, L1Bmrm
from baselines import _bmrm as bmrm
from baselines import _svm_rfe as svm_rfe
from baselines._svm_rfe import elimination_sizes
from zeronorm.measures import Contingency, parse_measure
from zeronorm.persistence import load, save

pytestmark = [
    pytest.mark.slow,  # competitors, of benchmarks only
    pytest.mark.filterwarnings("ignore:A coefficient lies on box"),
]


def instance(seed=0, n=60, p=12, n_classes=2):
    """X with columns of different units and offsets, and labels that depend on four of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.5, 2.0, p) + rng.uniform(-1.0, 1.0, p)
    scores = np.column_stack([X[:, c : c + 4] @ [2.0, -1.5, 1.0, 0.5] for c in range(n_classes)])
    scores += rng.standard_normal(scores.shape)
    if n_classes == 2:
        return X, np.where(scores[:, 0] > np.median(scores[:, 0]), 1, -1)
    return X, scores.argmax(axis=1)


# ---------------------------------------------------------------------------- elimination


@pytest.mark.parametrize("seed", range(20))
def test_elimination_keeps_to_its_schedule(seed):
    """A wrong step would remove features too early, or jump over a size that was asked for."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30_000))
    sizes = sorted(rng.integers(1, min(n, 2000) + 1, 3).tolist())
    halve_above, single_below = (int(size) for size in rng.integers(1, 5000, 2))
    share = float(rng.uniform(0.001, 1.0))
    passed = elimination_sizes(n, sizes, halve_above, share, single_below)
    assert passed[0] == n
    assert passed[-1] == sizes[0]
    assert set(sizes) <= set(passed)
    for m, left in itertools.pairwise(passed):
        share_of = max(1, int(share * m)) if m > single_below else 1
        wanted = m // 2 if m > halve_above else share_of
        assert m - left == wanted or (left in sizes and 1 <= m - left < wanted)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("intercept", [True, False])
def test_fits_with_fewer_rows_than_columns_are_exact(storage, intercept):
    """Coordinate descent ends at its limit on correlated columns, and ranks them by noise."""
    rng = np.random.default_rng(2)
    X = np.exp(rng.standard_normal((70, 1)) + 0.3 * rng.standard_normal((70, 400)))  # not centred
    y = np.where(X[:, 0] - X[:, 1] + 0.2 * rng.standard_normal(70) > 0, 1.0, -1.0)
    weight = rng.uniform(0.5, 2.0, 70)
    model = SVMRFE([400, 40, 20], C=3.0, standardize=False, fit_intercept=intercept)
    path = model.fit(storage(X), y, sample_weight=weight).path_
    for k in (400, 40, 20):
        one = path[k]
        columns = X[:, one.support]
        margin = np.maximum(0.0, 1.0 - y * (columns @ one.coef + one.intercept))
        pull = 2.0 * 3.0 * weight * margin * y
        np.testing.assert_allclose(one.coef, columns.T @ pull, atol=1e-7 * np.abs(one.coef).max())
        if intercept:
            assert one.intercept == pytest.approx(pull.sum(), rel=1e-6)
        value = 0.5 * (one.coef @ one.coef + one.intercept**2) + 3.0 * weight @ margin**2
        step = next(step for step in path.history if step.n_features == k)
        assert step.objective == pytest.approx(value)


def test_a_gram_matrix_that_cannot_be_factored_leaves_the_fit_to_liblinear(monkeypatch):
    """Hostile columns would end in an error of LAPACK."""
    X, y = instance()
    exact = SVMRFE(8).fit(X, y)

    def fails(*_, **__):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(svm_rfe, "cho_factor", fails)
    other = SVMRFE(8, tol=1e-8, max_iter=100_000).fit(X, y)
    np.testing.assert_array_equal(other.support_, exact.support_)
    np.testing.assert_allclose(other.coef_, exact.coef_, atol=1e-6)


def test_more_rows_than_a_gram_matrix_is_for(monkeypatch):
    """With many rows a matrix of their products would fill the memory."""
    X, y = instance()
    exact = SVMRFE(8).fit(X, y)
    monkeypatch.setattr(svm_rfe, "GRAM_ROWS", 59)
    other = SVMRFE(8, tol=1e-8, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(other.coef_, exact.coef_, atol=1e-6)
    assert not np.array_equal(other.coef_, exact.coef_)


def test_the_default_schedule():
    """As described: half, then tenths, then one by one."""
    passed = elimination_sizes(20_000, [5], 4000, 0.1, 100)
    assert passed[:5] == [20_000, 10_000, 5000, 2500, 2250]
    few = [m for m in passed if m <= 100]
    assert few == list(range(few[0], 4, -1))
    assert few[0] >= 90


def rfe_by_steps(X, y, passed, svm):
    """Return the columns left by scikit-learn's RFE, one of its steps for each of ours."""
    left = np.arange(X.shape[1])
    for m in passed[1:]:
        one = RFE(svm, n_features_to_select=m, step=left.size - m).fit(X[:, left], y)
        left = left[one.support_]
    return left


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("seed", range(3))
def test_elimination_is_that_of_scikit_learn(stored, seed):
    """Another criterion than w_j^2, or fits on stale columns, would give other features."""
    X, y = instance(seed, p=40)
    options = {"halve_above": 25, "share": 0.2, "single_below": 8}
    passed = elimination_sizes(40, [3], 25, 0.2, 8)
    assert passed == [40, 20, 16, 13, 11, 9, 8, 7, 6, 5, 4, 3]
    svm = LinearSVC(C=0.3, dual=False, tol=1e-8)
    model = SVMRFE(3, C=0.3, standardize=False, tol=1e-8, max_iter=100_000, **options)
    model.fit(stored(X), y)
    left = rfe_by_steps(X, y, passed, svm)
    np.testing.assert_array_equal(model.support_, left)
    assert [step.n_features for step in model.history_] == passed


def test_elimination_one_by_one():
    """The final model must be the SVM on the features that are left, in the units of X."""
    X, y = instance(3, p=30)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    wanted = RFE(LinearSVC(C=2.0, dual=False, tol=1e-8), n_features_to_select=5, step=1).fit(Z, y)
    model = SVMRFE(5, C=2.0, tol=1e-8, max_iter=100_000).fit(X, y)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(wanted.support_))
    np.testing.assert_allclose(
        model.decision_function(X), wanted.decision_function(Z), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_array_equal(model.predict(X), wanted.predict(Z))
    # The order of removal is the ranking.
    rank = np.empty(30, int)
    rank[model.path_.order] = np.arange(30)
    removed = wanted.ranking_ > 1
    np.testing.assert_array_equal(rank[removed] - 3, wanted.ranking_[removed])


def test_one_elimination_gives_all_sizes():
    """A size on the way would not be fitted, or fitted on other features than alone."""
    X, y = instance(1, p=40)
    path = SVMRFE([2, 9, 4], C=0.5).fit(X, y).path_
    assert list(path) == [2, 4, 9]
    for k in path:
        alone = SVMRFE(k, C=0.5).fit(X, y)
        np.testing.assert_array_equal(path[k].support, alone.support_)
        np.testing.assert_allclose(path[k].coef, alone.coef_[0, alone.support_])
        np.testing.assert_array_equal(path.support(k), alone.support_)


def test_constant_columns_leave_first():
    """A constant column would survive the elimination."""
    X, y = instance(0)
    X[:, [0, 5]] = 3.0
    model = SVMRFE(10).fit(X, y)
    assert not {0, 5} & set(model.support_.tolist())
    with pytest.raises(ValueError, match=r"between 1 and 10 \(the non-constant features of X\)"):
        SVMRFE(11).fit(X, y)


# ---------------------------------------------------------------------------- the l1 norm


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("C", [0.02, 0.1, 1.0])
def test_l1_svm_is_that_of_liblinear(stored, C):
    """The factor 1/2 of the package's squared hinge would give the model of half the C."""
    X, y = instance(4, n=80)
    model = L1SVM(C=C, fit_intercept=False, standardize=False, tol=1e-10).fit(stored(X), y)
    wanted = LinearSVC(
        penalty="l1", dual=False, C=C, fit_intercept=False, tol=1e-10, max_iter=100_000
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, wanted.coef_, rtol=1e-4, atol=1e-6)
    w = wanted.coef_[0]
    slack = np.maximum(0.0, 1.0 - y * (X @ w))
    assert model.objective_ == pytest.approx(np.abs(w).sum() + C * slack @ slack, rel=1e-7)


@pytest.mark.parametrize("k", [1, 4, 9])
def test_l1_svm_of_so_many_features(k):
    """C_ would be that of another loss, or the number of features another one."""
    X, y = instance(6, n=80)
    model = L1SVM(k, fit_intercept=False, standardize=False, tol=1e-9).fit(X, y)
    assert model.support_.size == k
    wanted = LinearSVC(
        penalty="l1", dual=False, C=model.C_, fit_intercept=False, tol=1e-10, max_iter=100_000
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, wanted.coef_, rtol=1e-3, atol=1e-5)


# ------------------------------------------------------------------ the l1 norm with a measure


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


def attained(measure, model, X, y, C, threshold):
    """Return the objective of a fitted model, from its coefficients alone."""
    z = model.decision_function(X) + threshold
    return float(np.abs(model.coef_).sum() + C * max(0.0, measure.cut(z, y).at(z)))


@pytest.mark.parametrize("columns", [1, 200])
@pytest.mark.parametrize("box", [0.3, 10.0])
@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("name", ["hamming", "f1", "f2", "prbep", "precision@2", "recall@3", "auc"])
def test_bmrm_against_all_labellings(name, C, box, columns, monkeypatch):
    """A missing cut or column, a wrong sign of a multiplier, or a bound that none proves."""
    monkeypatch.setattr(bmrm, "COLUMNS", columns)
    rng = np.random.default_rng(11)
    n = 6 if name == "auc" else 8
    X = rng.standard_normal((n, 6))
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    measure = parse_measure(name)
    centred = X - X.mean(axis=0) if measure.intercept == "spoils" else X
    free = measure.intercept == "free"
    model = L1Bmrm(name, C=C, box=box, standardize=False, tol=1e-7).fit(X, y)
    wanted = program_over_labellings(measure, centred, y, C, box, free)
    (found,) = model.path_.selections.values()
    assert found.bound <= wanted * (1 + 1e-9) + 1e-9
    assert found.objective == pytest.approx(wanted, rel=1e-6)
    assert model.gap_ <= 1e-7
    # The model returned has that objective; only rankings have their threshold elsewhere.
    threshold = 0.0
    if not free:
        threshold = measure.threshold(centred @ model.coef_[0], y)
    if name.startswith("f"):  # its threshold is the best on the training rows, b is to be found

        def at(shift):
            return attained(measure, model, X, y, C, shift)

        threshold = minimize_scalar(at, bounds=(-100.0, 100.0), options={"xatol": 1e-9}).x
    assert attained(measure, model, X, y, C, threshold) == pytest.approx(wanted, rel=1e-6)
    if box == 0.3:
        assert np.abs(model.coef_).max() <= 0.3 + 1e-12


def test_bmrm_bounds_hold_on_the_way():
    """A bound above the optimum would end the method too early."""
    X, y = instance(7, n=60, p=30)
    path = L1Bmrm("f1", C=0.1, tol=1e-6).fit(X, y).path_
    bounds = np.array([step.bound for step in path.history])
    objectives = np.array([step.objective for step in path.history])
    assert len(path.history) > 3
    assert np.all(np.diff(bounds) >= 0)
    assert np.all(np.diff(objectives) <= 0)
    assert bounds[-1] <= objectives[-1] <= bounds[-1] * (1 + 2e-6)


@pytest.mark.parametrize("name", ["f1", "precision@2p"])
def test_bmrm_reads_sparse_data(name):
    """Sparse columns are not centred when they are gathered; scores and scans must agree."""
    rng = np.random.default_rng(8)
    X = sp.random(60, 12, 0.3, random_state=8, data_rvs=rng.standard_normal).toarray()
    y = X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(60) > 0.6
    objectives = []
    for stored in (X, sp.csc_array(X)):
        model = L1Bmrm(name, C=0.3, tol=1e-6).fit(stored, y)
        (found,) = model.path_.selections.values()
        objectives.append(found.objective)
        assert {0, 1} <= set(model.support_.tolist())
        np.testing.assert_allclose(
            model.decision_function(X), model.decision_function(stored), atol=1e-12
        )
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-5)


def test_bmrm_says_where_it_stopped():
    """A fit that did not converge would pass for one that did."""
    X, y = instance(9, n=100, p=60)
    with pytest.warns(ConvergenceWarning, match=r"gap of .* Use a larger max_iter than 2"):
        model = L1Bmrm("f1", C=1.0, max_iter=2).fit(X, y)
    assert model.n_iter_ == len(model.history_) == 2
    assert model.gap_ > 0.1
    with pytest.warns(ConvergenceWarning, match=r"lies on box=0\.01; the gap .* Use a larger box"):
        L1Bmrm("f1", C=1.0, box=0.01).fit(X, y)


def test_bmrm_without_features():
    """A small C gives the model of no features, which predicts one class."""
    X, y = instance(0)
    model = L1Bmrm("f1", C=1e-6).fit(X, y)
    assert model.support_.size == 0
    assert np.unique(model.predict(X)).size == 1


# ---------------------------------------------------------------------------- interface


@pytest.mark.parametrize("model", [SVMRFE(2), L1SVM(2), L1Bmrm(C=0.1)])
def test_there_are_no_probabilities(model):
    """Margins of a hinge would be given as probabilities."""
    X, y = instance()
    model = clone(model).fit(X, y)
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError) as error:
            getattr(model, name)
        assert f"the scores of this {type(model).__name__} are of" in str(error.value.__cause__)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", [SVMRFE([2, 5]), L1SVM(2), L1Bmrm(C=0.1)], ids=repr)
def test_models_are_saved(model, n_classes, tmp_path):
    """A fitted competitor could not be saved, or would be loaded with probabilities."""
    X, y = instance(n_classes=n_classes)
    model = clone(model).fit(X, y)
    loaded = load(save(model, tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match=f"this {type(model).__name__} has"):
        loaded.predict_proba(X)


def test_there_are_no_criteria():
    """Criteria of a likelihood would be given for a model without one."""
    X, y = instance()
    for model in (SVMRFE([2, 5]), L1Bmrm(C=0.1)):
        assert not hasattr(clone(model).fit(X, y), "criteria_")


def test_classes_of_other_sizes_have_one_name():
    """Sizes of the classes follow from their solutions: the largest names all of them."""
    X, y = instance(n_classes=3)
    model = L1Bmrm(C=0.02).fit(X, y)
    counts = np.count_nonzero(model.coef_, axis=1)
    assert np.ptp(counts) > 0
    assert [list(path) for path in model.path_] == [[counts.max()]] * 3
    assert [path[counts.max()].n_features for path in model.path_] == counts.tolist()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVMRFE(0), "n_features must be between 1 and 12 (the features of X); got 0."),
        (SVMRFE(13), "n_features must be between 1 and 12 (the features of X); got 13."),
        (SVMRFE(2.5), "n_features must be an integer or a list of integers; got 2.5."),
        (SVMRFE(2, C=0), "C must be a positive finite number; got 0."),
        (SVMRFE(2, share=0), "share must be above 0 and at most 1; got 0."),
        (SVMRFE(2, halve_above=0), "halve_above must be an integer of at least 1; got 0."),
        (SVMRFE(2, single_below=1.5), "single_below must be an integer of at least 1; got 1.5."),
        (SVMRFE(2, standardize=1), "standardize must be True or False; got 1."),
        (L1SVM(0), "n_features must be None or an integer of at least 1; got 0."),
        (L1SVM(13), "n_features must be between 1 and 12 (the features of X); got 13."),
        (L1SVM(C=-1), "C must be a positive finite number; got -1."),
        (L1SVM(tol=2), "tol must be at most 1"),
        (L1Bmrm("accuracy"), "measure must be hamming, f1"),
        (L1Bmrm(C="auto"), "C must be a positive finite number; got 'auto'."),
        (L1Bmrm(box=0), "box must be a positive finite number; got 0."),
        (L1Bmrm(box=np.inf), "box must be a positive finite number; got inf."),
        (L1Bmrm(tol=0), "tol must be a positive finite number; got 0."),
        (L1Bmrm(max_iter=0), "max_iter must be an integer of at least 1; got 0."),
        (L1Bmrm("precision@5", fit_intercept=True), "fit_intercept must be 'auto' or False"),
        (L1Bmrm("precision@61"), "k of precision@61 must be between 1 and 60 (the rows); got 61."),
        (L1Bmrm(Contingency(lambda a, b, n_pos, n_neg: 0.0 * (a + b))), "nothing can be learnt"),
    ],
)  # fmt: skip
def test_parameters_are_checked(model, message):
    """A wrong option would be ignored, or fail deep inside."""
    X, y = instance()
    with pytest.raises(ValueError, match=re.escape(message)):
        model.fit(X, y)


@pytest.mark.parametrize("model", [SVMRFE(2), L1SVM(2), L1Bmrm()])
def test_data_are_checked(model):
    """Data without two classes would give a model."""
    X, y = instance()
    with pytest.raises(ValueError, match="y must have at least two classes; got one class"):
        model.fit(X, np.ones(60))
    with pytest.raises(ValueError, match="sample_weight must be finite and not negative"):
        model.fit(X, y, np.full(60, -1.0))
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN at row 3, column 2"):
        model.fit(X, y)


def test_weights_need_a_measure_that_has_them():
    """Weights would be ignored by a measure that counts rows."""
    X, y = instance()
    weight = np.linspace(0.5, 2.0, y.size)
    with pytest.raises(
        ValueError, match="sample_weight and class_weight must be 0 or 1 for 'prbep"
    ):
        L1Bmrm("prbep").fit(X, y, weight)
    doubled = L1Bmrm("hamming", C=0.1, tol=1e-6).fit(X, y, np.full(y.size, 2.0))
    plain = L1Bmrm("hamming", C=0.2, tol=1e-6).fit(X, y)
    (one,), (other,) = (model.path_.selections.values() for model in (doubled, plain))
    assert one.objective == pytest.approx(other.objective, rel=1e-5)


def test_weights_count_in_the_threshold():
    """Rows of weight 2 would be two rows in training and one in the threshold."""
    X, y = instance()
    weight = np.where(np.arange(60) % 3 == 0, 3, 1)
    twice = np.repeat(np.arange(60), weight)
    one = L1Bmrm("auc", C=1.0, tol=1e-6).fit(X, y, weight.astype(float))
    other = L1Bmrm("auc", C=1.0, tol=1e-6).fit(X[twice], y[twice])
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)
    np.testing.assert_allclose(one.intercept_, other.intercept_, atol=1e-6)


def test_a_model_without_features_is_saved(tmp_path):
    """A model without features could not be saved, or not predict."""
    X, y = instance()
    model = L1Bmrm("f1", C=1e-4).fit(X, y)
    assert model.support_.size == 0
    loaded = load(save(model, tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_gram_matrix_at_rounding_is_left_to_liblinear():
    """Columns of large units would end far from the optimum, called exact."""
    rng = np.random.default_rng(0)
    X = 1e5 * np.exp(rng.standard_normal((100, 50)))
    y = np.where(X[:, 0] > X[:, 1], 1.0, -1.0)
    assert svm_rfe._Gram(True).fit(X, y, np.ones(100)) is None
    w, b, _ = svm_rfe._Gram(True).fit(X / 1e5, y, np.ones(100))
    margin = np.maximum(0.0, 1.0 - y * (X / 1e5 @ w + b))
    np.testing.assert_allclose(w, X.T / 1e5 @ (2.0 * y * margin), atol=1e-6)


def test_svm_rfe_of_integer_weights_is_that_of_repeated_rows():
    """Another solver would fit the repeated rows, to a tolerance that decides about features."""
    rng = np.random.default_rng(21)
    X = rng.standard_normal((30, 8))
    y = X[:, 0] - X[:, 1] + rng.standard_normal(30) > 0
    weight = rng.integers(0, 5, 30)
    rows = np.repeat(np.arange(30), weight)
    first = SVMRFE(4, C=10.0).fit(X, y, sample_weight=weight)
    second = SVMRFE(4, C=10.0).fit(X[rows], y[rows])
    np.testing.assert_array_equal(first.path_.order, second.path_.order)
    np.testing.assert_allclose(first.coef_, second.coef_, rtol=1e-8)


def test_svm_rfe_keeps_the_first_of_equal_columns():
    """Weights that differ by rounding would decide between them."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 8))
        y = 2 * X[:, 2] - 1.5 * X[:, 5] + 0.5 * rng.normal(size=60) > 0
        X[:, 7] = X[:, 2]
        assert SVMRFE(2).fit(X, y).support_.tolist() == [2, 5]


@pytest.mark.parametrize("C", [1e-3, 1e-8, 1e-30, 1e-90])
@pytest.mark.filterwarnings("ignore:C=.* is too small")
def test_svm_rfe_of_small_penalties_selects_by_scores(C):
    """Where the loss cannot move, the first columns would be "selected", or none."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12))
    y = X[:, 3] - X[:, 8] + 0.5 * rng.standard_normal(80) > 0
    assert set(SVMRFE(2, C=C).fit(X, y).support_) == {3, 8}
    with pytest.raises(ValueError, match=r"must be at least 1e-100.*use a larger C"):
        SVMRFE(2, C=1e-300).fit(X, y)

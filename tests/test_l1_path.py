"""l1_path and L1ClassifierCV: against single fits, copied rows and scikit-learn."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GroupKFold, StratifiedKFold

import oracles
from conftest import make_classification, slow
from generators import sparse
from zeronorm import L1Classifier, L1ClassifierCV, l1_path
from zeronorm.core.results import Status
from zeronorm.core.types import Design
from zeronorm.data import as_design
from zeronorm.data.operations import scan
from zeronorm.losses import Logistic
from zeronorm.solvers import L1Problem, run
from zeronorm.solvers import l1_path as solve_path
from zeronorm.solvers.l1.path import l1_sizes
from zeronorm.solvers.l1.problem import Penalty
from zeronorm.solvers.problem import Risk

RENAMED = LogisticRegression().l1_ratio is not None  # scikit-learn since 1.8
L1 = {"l1_ratio": 1} if RENAMED else {"penalty": "l1"}


@pytest.fixture(scope="module")
def data():
    """(X, y) of shape (120, 200), columns of different size, labels "a" and "b"."""
    X, y = make_classification(120, 200, seed=70, noise=1.0)
    X = X * np.random.default_rng(71).uniform(0.5, 2, 200) + 0.2
    X.flags.writeable = False
    return X, np.array(["a", "b"])[y]


FACTOR = np.r_[0.0, 0.0, 2.0, np.ones(197)]


# ------------------------------------------------------------------------------------ the path


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": False, "l1_ratio": 0.5},
        {"standardize": True, "loss": "squared_hinge"},
        {"penalty_factor": FACTOR, "class_weight": "balanced"},
        {"signs": 1, "standardize": True},
    ],
    ids=lambda options: "-".join(options) or "plain",
)
@pytest.mark.parametrize("storage", [np.asfortranarray, sp.csr_array], ids=["F", "csr"])
def test_points_are_single_fits(options, storage, data):
    """A solution of the path would not be that of its C."""
    X, y = data
    path = l1_path(storage(X), y, Cs=30, C_ratio=30, tol=1e-7, **options)
    assert len(path) == 30
    np.testing.assert_allclose(path.Cs, path.Cs[0] * np.geomspace(1, 30, 30))
    assert (path.dual_gap <= 1e-7).all()
    for i in (0, 1, 11, 29):
        model = L1Classifier(path.Cs[i], tol=1e-9, **options).fit(X, y)
        assert path.objective[i] == pytest.approx(model.objective_, rel=1e-6)
        assert path.bound[i] <= model.objective_ * (1 + 1e-12)
        np.testing.assert_allclose(path.coef[[i]].toarray(), model.coef_, atol=2e-3)
        assert path.intercept[i] == pytest.approx(model.intercept_[0], abs=2e-3)
        np.testing.assert_allclose(
            path.decision_function(X)[:, i], model.decision_function(X), atol=1e-2
        )


def test_the_path_begins_where_features_enter(data):
    """The grid would begin too late, or with points that have nothing."""
    X, y = data
    for options in ({}, {"standardize": True, "l1_ratio": 0.5}, {"penalty_factor": FACTOR}):
        path = l1_path(X, y, Cs=3, C_ratio=1.02, tol=1e-9, **options)
        free = 2 if "penalty_factor" in options else 0
        assert path.n_selected[0] == free
        assert path.n_selected[1] > free
        assert path.classes.tolist() == ["a", "b"]


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_explained_is_the_share_of_the_loss(loss, data):
    """Early stops and tables would rest on another number than the deviance."""
    X, y = data
    path = l1_path(X, y, Cs=10, loss=loss)
    z = (2.0 * (y == "b") - 1.0)[:, None] * path.decision_function(X)
    each = np.logaddexp(0, -z) if loss == "logistic" else 0.5 * np.maximum(0, 1 - z) ** 2
    deviance = each.sum(axis=0)
    np.testing.assert_allclose(path.explained, 1 - deviance / deviance[0], atol=1e-6)
    assert (np.diff(path.explained) > 0).all()


def test_path_agrees_with_liblinear(data):
    """Coefficients along the path would not be those of scikit-learn."""
    X, y = data
    path = l1_path(X, y, Cs=[0.05, 0.2, 1.0], fit_intercept=False, tol=1e-10)
    np.testing.assert_array_equal(path.Cs, [0.05, 0.2, 1.0])
    for i, C in enumerate(path.Cs):
        other = LogisticRegression(
            C=C, **L1, solver="liblinear", fit_intercept=False, tol=1e-9, max_iter=100_000,
            random_state=0,
        ).fit(X, y)  # fmt: skip
        np.testing.assert_allclose(path.coef[[i]].toarray(), other.coef_, atol=1e-4)
        np.testing.assert_allclose(
            path.predict_proba(X)[:, i], other.predict_proba(X)[:, 1], atol=1e-4
        )


@pytest.mark.parametrize("standardize", [False, True])
def test_weights_equal_repeated_rows(standardize, data):
    """The grid, its ratio or a point would count rows instead of weights."""
    X, y = data
    X = X[:, :80]
    weight = np.random.default_rng(72).integers(0, 3, len(y))
    X2, y2 = oracles.repeat_rows(X, y, weight)
    options = {"Cs": 12, "standardize": standardize, "tol": 1e-9}
    a = l1_path(X, y, sample_weight=weight, **options)
    b = l1_path(X2, y2, **options)
    np.testing.assert_allclose(a.Cs, b.Cs, rtol=1e-9)
    np.testing.assert_array_equal(a.n_selected, b.n_selected)
    np.testing.assert_allclose(a.coef.toarray(), b.coef.toarray(), atol=1e-5)


def test_the_path_ends_early(data):
    """Points would be solved beyond what was asked, or where nothing is left to explain."""
    X, y = data
    path = l1_path(X, y, max_features=7)
    assert path.n_selected[-1] > 7
    assert (path.n_selected[:-1] <= 7).all()
    path = l1_path(X, y, C_ratio=1e5)
    assert len(path) < 100
    assert path.explained[-1] >= 0.999 > path.explained[-2]
    given = l1_path(X, y, Cs=[*path.Cs[-2:], 2 * path.Cs[-1]])
    assert len(given) == 3


def test_ratio_of_the_grid(data):
    """Wide data would be followed until they are separated, tall ones not far enough."""
    X, y = data
    wide, tall = l1_path(X, y, Cs=5), l1_path(X[:, :20], y, Cs=5)
    assert wide.Cs[-1] / wide.Cs[0] == pytest.approx(100)
    assert tall.Cs[-1] / tall.Cs[0] == pytest.approx(1e4)


def test_record(data):
    """Supports, sizes and names would not be those of the coefficients."""
    X, y = data
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(200)])
    path = l1_path(frame, y, Cs=20)
    dense = path.coef.toarray()
    assert dense.shape == (20, 200)
    for i in (0, 5, -1):
        np.testing.assert_array_equal(path.support(i), np.flatnonzero(dense[i]))
    np.testing.assert_array_equal(path.n_selected, (dense != 0).sum(axis=1))
    assert path.feature_names[3] == "gene3"
    k = int(path.n_selected[10])
    at = path.at_most(k)
    assert path.n_selected[at] <= k
    assert (path.n_selected[at + 1 :] > k).all()
    assert "20 solutions" in repr(path)
    copy = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(copy.coef.toarray(), dense)
    scores = path.decision_function(X)
    np.testing.assert_allclose(path.decision_function(sp.csr_array(X[:7])), scores[:7], atol=1e-12)
    np.testing.assert_allclose(path.decision_function(frame), X @ dense.T + path.intercept)
    with pytest.raises(IndexError):
        path.support(20)
    with pytest.raises(ValueError, match=r"k must be at least 0, the fewest features.*got -1"):
        path.at_most(-1)
    with pytest.raises(ValueError, match=r"X must have 200 columns.*got 5"):
        path.decision_function(X[:, :5])
    hinge = l1_path(X, y, Cs=2, loss="squared_hinge")
    with pytest.raises(ValueError, match="Probabilities need loss='logistic'"):
        hinge.predict_proba(X)


BAD_GRIDS = [
    (1, "Cs must be an integer of at least 2"),
    (True, "Cs must be an integer of at least 2"),
    ("many", "Cs must be an integer of at least 2, or an array of numbers"),
    ([], "Cs must be an integer of at least 2, or an array of numbers"),
    ([[0.1], [1.0]], "Cs must be an integer of at least 2, or an array of numbers"),
    ([0.0, 1.0], "Cs must be positive and finite .*got 0.0"),
    ([0.1, np.nan], "Cs must be positive and finite .*got nan"),
    ([0.1, 1e101], "Cs must be positive and finite .*got 1e"),
    ([0.2, 0.1], "Cs must grow; got 0.1 after 0.2"),
    ([0.2, 0.2], "Cs must grow; got 0.2 after 0.2"),
    (10_001, "Cs must be at most 10000, or an array of numbers; got 10001"),
    (10**400, "Cs must be at most 10000, or an array of numbers; got 1000"),
    ([1, 10**400], "Cs must be positive and finite .*got inf"),
    (["1", "2"], "Cs must be an integer of at least 2, or an array of numbers; got .'1'"),
    ([True, 2.0], "Cs must be an integer of at least 2, or an array of numbers; got .True"),
]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *[({"Cs": Cs}, message) for Cs, message in BAD_GRIDS],
        ({"C_ratio": 1.0}, "C_ratio must be None or a number above 1; got 1.0"),
        ({"C_ratio": np.inf}, "C_ratio must be None or a number above 1; got inf"),
        ({"C_ratio": 10**400}, "C_ratio must be None or a number above 1; got 1000"),
        ({"max_features": 0}, "max_features must be None or an integer of at least 1; got 0"),
        ({"tol": 0}, "tol must be a positive"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"signs": np.ones(3)}, "signs must have one number for every column"),
        ({"sample_weight": -np.ones(120)}, "sample_weight must be finite and not negative"),
    ],
    ids=str,
)
def test_bad_input_of_a_path(options, message, data):
    """A wrong option would be ignored or fail deep inside."""
    with pytest.raises(ValueError, match=message):
        l1_path(*data, **options)


def test_a_path_needs_two_classes_and_a_feature(data, multiclass):
    """Other problems would give a path that nobody asked for."""
    X, y = data
    with pytest.raises(ValueError, match="y must have two classes for a path; got 3"):
        l1_path(*multiclass)
    with pytest.raises(ValueError, match="at least two classes"):
        l1_path(X, np.zeros(120))
    for Cs in (5, [1.0, 2.0]):
        with pytest.raises(ValueError, match="X must have a penalised feature that some C brings"):
            l1_path(np.zeros((120, 3)), y, Cs=Cs)
        with pytest.raises(ValueError, match="X must have a penalised feature that some C brings"):
            L1ClassifierCV(Cs).fit(np.zeros((120, 3)), y)


@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, np.float32])
def test_rounding_is_no_score(form, data):
    """Columns that are constant would enter at a C of 1e14."""
    X, y = data
    constant = np.outer(np.ones(120), np.geomspace(0.3, 3e8, 6))
    for fit in (l1_path, L1ClassifierCV(5).fit):
        with pytest.raises(ValueError, match="all their scores are 0, but for rounding"):
            fit(form(constant), y)
    # A column in small units has scores below that rounding, and is the one that enters.
    mixed = np.hstack([constant, 1e-6 * X[:, :1]])
    alone = l1_path(form(mixed[:, 6:]), y, Cs=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = l1_path(form(mixed), y, Cs=3)
    np.testing.assert_allclose(path.Cs, alone.Cs, rtol=1e-6)


def test_free_features_that_leave_nothing(data):
    """The rounding of a loss of 0 would tell at which C others enter: 6e15."""
    X, _ = data
    y = X[:, 0] + X[:, 1] > 0.2
    factor = np.r_[np.zeros(7), 1.0]
    for fit in (
        lambda: l1_path(X[:, :8], y, penalty_factor=factor),
        lambda: L1ClassifierCV(5, penalty_factor=factor).fit(X[:, :8], y),
    ):
        with pytest.raises(ValueError, match="do the features without a penalty separate the cl"):
            fit()


def test_solutions_that_a_path_has_not(data):
    """The message would not say how many there are."""
    path = l1_path(*data, Cs=[0.1, 0.2])
    np.testing.assert_array_equal(path.support(-1), path.support(1))
    with pytest.raises(IndexError, match="between 0 and 1: the path has 2 solutions; got 1000000"):
        path.support(10**6)


def test_several_sizes_in_one_walk(data):
    """Sizes would disturb one another, or each be walked to from the beginning."""
    X, y = data
    everything = np.full(200, np.inf)
    penalty = Penalty(np.ones(200), np.zeros(200), -everything, everything)
    signed = np.where(y == "b", 1.0, -1.0)
    problem = L1Problem(as_design(X), Risk(signed, np.ones(120), Logistic()), penalty, 120.0)
    passes = []

    def sized(sizes):
        return run(l1_sizes(problem, sizes, tol=1e-6, max_iter=99),
                   lambda progress: passes.append(progress.n_scans))  # fmt: skip

    sizes = [12, 3, 7, 30]
    models = sized(sizes)
    together = passes[-1]
    assert models.keys() == set(sizes)
    alone = 0
    for k in sizes:
        model, single = models[k], sized([k])[k]
        alone += passes[-1]
        assert model.result.support.size == model.reached == k
        assert np.all(np.diff(model.result.support) > 0)
        np.testing.assert_array_equal(model.result.support, single.result.support)
        np.testing.assert_allclose(model.C, single.C, rtol=1e-3)
        steps = model.result.history
        assert len(steps) == together
        assert steps[-1].extra["C"] == model.C
        at = l1_path(X, y, Cs=[model.C], tol=1e-9)
        assert model.result.objective == pytest.approx(at.objective[0], rel=1e-5)
    assert together < 0.7 * alone


# ------------------------------------------------------------------------- cross-validation


def score_of(model, X, y, weight, scoring):
    """The score by scikit-learn."""
    if scoring == "accuracy":
        return model.score(X, y, sample_weight=weight)
    if scoring == "auc":
        return roc_auc_score(y, model.decision_function(X), sample_weight=weight)
    return log_loss(y, model.predict_proba(X), sample_weight=weight, labels=model.classes_)


@pytest.mark.parametrize(
    ("options", "scoring", "several"),
    [
        ({}, "log_loss", False),
        ({"standardize": True, "class_weight": "balanced"}, "auc", False),
        ({"loss": "squared_hinge", "penalty_factor": FACTOR[:25]}, "accuracy", False),
        ({"l1_ratio": 0.6, "fit_intercept": False, "standardize": True}, "log_loss", True),
        ({"class_weight": {0: 2.0}}, "accuracy", True),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "storage",
    [
        pytest.param(np.asfortranarray, id="F"),
        pytest.param(sp.csr_array, id="csr", marks=pytest.mark.slow),
    ],
)
def test_folds_are_fits_on_copied_rows(options, scoring, several, storage, data, multiclass):
    """A fold would see held-out rows, or another balance of loss and penalty."""
    X, y = multiclass if several else (data[0][:, :25], (data[1] == "b").astype(int))
    weight = np.random.default_rng(73).uniform(0.5, 2, len(y))
    cv = StratifiedKFold(3, shuffle=True, random_state=5)
    Cs = np.geomspace(0.03, 3, 4)
    model = L1ClassifierCV(Cs, cv=cv, scoring=scoring, tol=1e-9, **options)
    model.fit(storage(X), y, sample_weight=weight)
    np.testing.assert_array_equal(model.Cs_, Cs)
    expected = np.empty((4, 3))
    total = weight if options.get("class_weight") != {0: 2.0} else weight * np.where(y, 1, 2)
    for column, (train, test) in enumerate(cv.split(X, y)):
        for row, C in enumerate(Cs):
            alone = L1Classifier(
                C * total.sum() / total[train].sum(), tol=1e-9, **options
            ).fit(X[train], y[train], sample_weight=weight[train])  # fmt: skip
            expected[row, column] = score_of(alone, X[test], y[test], weight[test], scoring)
    np.testing.assert_allclose(model.scores_, expected, atol=1e-4)
    np.testing.assert_allclose(model.mean_score_, expected.mean(axis=1), atol=1e-4)
    error = expected.std(axis=1, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(model.standard_error_, error, atol=1e-4)
    same = L1Classifier(model.C_, tol=1e-9, **options).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, same.intercept_, atol=1e-3)
    np.testing.assert_allclose(model.objective_, same.objective_, rtol=1e-7)
    assert model.gap_ <= 1e-9


def test_rules(data):
    """The rule would choose another C than its definition."""
    X, y = data
    best = L1ClassifierCV(30, rule="best").fit(X, y)
    near = L1ClassifierCV(30).fit(X, y)
    np.testing.assert_array_equal(best.scores_, near.scores_)
    i = best.mean_score_.argmin()
    assert best.C_ == best.C_best_ == best.Cs_[i]
    within = best.mean_score_ <= best.mean_score_[i] + best.standard_error_[i]
    assert near.C_ == near.C_1se_ == near.Cs_[np.flatnonzero(within)[0]]
    assert near.C_ < best.C_
    accurate = L1ClassifierCV(30, scoring="accuracy", rule="best").fit(X, y)
    assert accurate.Cs_[np.argmax(accurate.mean_score_.round(9))] == accurate.C_


def test_attributes(data):
    """The path or the numbers beside it would be another model's."""
    X, y = data
    model = L1ClassifierCV(30, cv=3).fit(pd.DataFrame(X).add_prefix("g"), y)
    path = model.l1_path_
    np.testing.assert_array_equal(path.Cs, model.Cs_)
    np.testing.assert_array_equal(path.n_selected, model.n_selected_)
    at = int(np.searchsorted(model.Cs_, model.C_))
    np.testing.assert_array_equal(path.coef[[at]].toarray(), model.coef_)
    np.testing.assert_array_equal(path.support(at), model.support_)
    assert path.dual_gap[at] == model.gap_
    assert path.feature_names[0] == "g0"
    assert path.n_scans == model.n_scans_
    np.testing.assert_allclose(model.predict_proba(pd.DataFrame(X).add_prefix("g"))[:, 1],
                               path.predict_proba(X)[:, at])  # fmt: skip
    alone = l1_path(X, y, Cs=30)
    np.testing.assert_allclose(path.coef.toarray(), alone.coef.toarray(), atol=1e-9)
    assert model.seconds_["solve"] > sum(step.seconds["solve"] for step in model.history_)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.coef_, model.coef_)
    assert "C" not in clone(model).get_params()


def test_several_classes_share_their_grid(multiclass):
    """Classes would end at different C, or have different ones."""
    X, y = multiclass
    model = L1ClassifierCV(15, cv=3, rule="best").fit(X, y)
    assert len(model.l1_path_) == 3
    for path in model.l1_path_:
        np.testing.assert_array_equal(path.Cs, model.Cs_)
    assert model.scores_.shape == (len(model.Cs_), 3)
    assert model.n_selected_[0] == 0
    assert model.n_selected_[1] >= 1
    each = [path.coef.toarray() != 0 for path in model.l1_path_]
    np.testing.assert_array_equal(model.n_selected_, np.any(each, axis=0).sum(axis=1))
    at = int(np.searchsorted(model.Cs_, model.C_))
    np.testing.assert_array_equal(
        model.coef_, np.vstack([path.coef[[at]].toarray() for path in model.l1_path_])
    )


def test_all_classes_are_followed_to_the_end():
    """A class that is easy would end the path of the others."""
    rng = np.random.default_rng(74)
    X = rng.standard_normal((90, 12))
    y = np.where(X[:, 0] > 0.6, 0, np.where(X[:, 1] + rng.standard_normal(90) > 0, 1, 2))
    model = L1ClassifierCV(30, cv=3).fit(X, y)
    explained = np.array([path.explained for path in model.l1_path_])
    assert explained[0, -1] > 0.999
    assert explained[1:].max() < 0.9
    assert len(model.Cs_) == 30
    separated = L1ClassifierCV(60, cv=3).fit(X, y == 0)
    assert len(separated.Cs_) < 60
    assert separated.l1_path_.explained[-1] >= 0.999 > separated.l1_path_.explained[-2]
    assert separated.scores_.shape == (len(separated.Cs_), 3)


def test_values_of_c_share_passes(data):
    """A path would read the data once for every C."""
    X, y = data
    assert l1_path(X, y, Cs=40).n_scans <= 20


def test_passes_are_shared(data):
    """Every fold would read the data by itself."""
    X, y = data
    model = L1ClassifierCV(40, cv=5).fit(X, y)
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    alone = [l1_path(X, y, Cs=model.Cs_).n_scans]
    for train, _ in cv.split(X, y):
        q = len(train) / len(y)
        alone.append(l1_path(X[train], y[train], Cs=model.Cs_ / q).n_scans)
    assert model.n_scans_ <= max(alone) + 5
    assert 4 * model.n_scans_ < sum(alone)


def test_no_data_are_copied(data):
    """Folds would hold rows of X, in memory or one after the other."""
    X, y = data
    design = as_design(X)
    shapes = []

    class Watched(Design):
        """A design that notes what is gathered."""

        shape, block = design.shape, design.block

        def correlate(self, v, start, stop):
            shapes.append(v.shape[1:])
            return design.correlate(v, start, stop)

        def gather(self, features):
            return design.gather(features)

        def moments(self, weight, start, stop):
            assert weight.shape == (len(y),)
            return design.moments(weight, start, stop)

    model = L1ClassifierCV(10, cv=5, standardize=True).fit(Watched(), y)
    assert shapes[0] == (6,)  # all folds and all data: one pass
    assert model.scores_.shape == (10, 5)


def test_rows_of_weight_zero(data):
    """They would be trained on, scored, stratified, or shift the rows that a splitter numbers."""
    X, y = data
    keep = np.random.default_rng(75).random(len(y)) < 0.7
    wild = np.where(keep[:, None], X, 100 * X)
    y_wild = np.where(keep, y, "c")  # a class that nobody has
    weight = keep * np.random.default_rng(76).uniform(1, 2, len(y))
    rows = np.flatnonzero(keep)
    model = L1ClassifierCV(8, cv=3, standardize=True, tol=1e-9)
    a = clone(model).fit(wild, y_wild, sample_weight=weight)
    b = clone(model).fit(X[rows], y[rows], sample_weight=weight[rows])
    np.testing.assert_allclose(a.scores_, b.scores_, atol=1e-6)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-5)
    assert a.classes_.tolist() == ["a", "b"]
    splits = list(StratifiedKFold(3).split(X[rows], y[rows]))
    numbered = [(rows[train], rows[test]) for train, test in splits]
    a = clone(model).set_params(cv=numbered).fit(X, y, sample_weight=weight)
    b = clone(model).set_params(cv=splits).fit(X[rows], y[rows], sample_weight=weight[rows])
    np.testing.assert_allclose(a.scores_, b.scores_, atol=1e-6)


def test_integer_weights_equal_repeated_rows_in_groups(data):
    """The score, the scale or the balance of a fold would count rows."""
    X, y = data
    X = X[:, :30]
    weight = np.random.default_rng(77).integers(1, 4, len(y))
    X2, y2 = oracles.repeat_rows(X, y, weight)
    groups = np.arange(len(y)) % 3
    repeated = np.repeat(groups, weight)
    options = {"Cs": np.geomspace(0.02, 1, 6), "standardize": True, "tol": 1e-9}
    cv = list(GroupKFold(3).split(X, y, groups))
    a = L1ClassifierCV(cv=cv, **options).fit(X, y, sample_weight=weight)
    tests = [np.flatnonzero(np.isin(repeated, np.unique(groups[test]))) for _, test in cv]
    cv2 = [(np.setdiff1d(np.arange(len(y2)), test), test) for test in tests]
    b = L1ClassifierCV(cv=cv2, **options).fit(X2, y2)
    np.testing.assert_allclose(a.scores_, b.scores_, atol=1e-6)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-5)


def test_sparse_cross_validation():
    """Storages would have other scores."""
    X = sparse(150, 60, seed=8)
    y = (X.toarray()[:, :3].sum(axis=1) + 0.3 * np.random.default_rng(0).standard_normal(150)) > 0
    models = [
        L1ClassifierCV(10, cv=3, tol=1e-8).fit(form, y) for form in (X, X.tocsr(), X.toarray())
    ]
    for other in models[1:]:
        np.testing.assert_allclose(other.scores_, models[0].scores_, atol=1e-5)
        assert pytest.approx(models[0].C_) == other.C_


def test_folds_with_a_column_far_from_zero(data):
    """One column with an offset of 1e8 would make a cross-validation take hours."""
    X, y = data
    far = X.copy()
    far[:, 2] += 1e8
    a, b = (L1ClassifierCV(8, cv=3, random_state=0).fit(Z, y) for Z in (far, X))
    np.testing.assert_allclose(a.C_, b.C_, rtol=1e-6)
    np.testing.assert_allclose(a.scores_, b.scores_, atol=1e-5)
    np.testing.assert_array_equal(a.support_, b.support_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *[({"Cs": Cs}, message) for Cs, message in BAD_GRIDS],
        ({"cv": 1}, "cv must be between 2 and"),
        ({"cv": 99}, "cv must be between 2 and"),
        ({"cv": True}, "cv must be a number of folds, a splitter or splits; got True"),
        ({"scoring": "f1"}, "scoring must be one of 'log_loss', 'accuracy', 'auc'; got 'f1'"),
        ({"rule": "worst"}, "rule must be one of '1se', 'best'; got 'worst'"),
        ({"loss": "squared_hinge"}, "scoring='log_loss' needs loss='logistic'"),
        ({"tol": -1}, "tol must be a positive"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"class_weight": "even"}, "class_weight must be None, 'balanced' or a dict"),
        ({"cv": [(np.arange(60), np.arange(60, 120))]}, "cv must have at least two folds; got 1"),
        ({"cv": [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), [])]},
         "cv must hold out a row of positive weight in every fold; fold 1 has none"),
    ],
    ids=lambda v: str(v)[:40],
)  # fmt: skip
def test_bad_parameter(options, message, data):
    """A wrong option would be ignored or fail deep inside."""
    with pytest.raises(ValueError, match=message):
        L1ClassifierCV(**options).fit(*data)


def test_folds_that_cannot_be(data, multiclass):
    """A fold without a class would be trained, or scored, on nothing."""
    X, y = data
    one = np.flatnonzero(y == "a")
    rest = np.setdiff1d(np.arange(len(y)), one)
    with pytest.raises(ValueError, match=r"cv must leave rows of every class .*fold 0 has none of"):
        L1ClassifierCV(cv=[(one, rest), (rest, one)]).fit(X, y)
    split = (np.setdiff1d(np.arange(len(y)), one[:5]), one[:5])
    with pytest.raises(ValueError, match="scoring='auc' needs held-out rows of both classes"):
        L1ClassifierCV(cv=[split, split], scoring="auc").fit(X, y)
    with pytest.raises(ValueError, match="scoring='auc' needs two classes; got 3"):
        L1ClassifierCV(scoring="auc").fit(*multiclass)


def test_warns_where_the_gap_is_open(data):
    """A model that did not converge would pass for one that did."""
    X, y = data
    X = X[:, :30] * np.where(np.arange(30) == 11, 1e20, 1.0)
    model = L1ClassifierCV([0.3, 1.0], rule="best")
    with pytest.warns(ConvergenceWarning, match=r"no further progress.*use standardize=True"):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(standardize=True).fit(X, y)
    with pytest.warns(
        ConvergenceWarning, match=r"The path has .*no further.*standardize"
    ) as caught:
        l1_path(X, y, Cs=[0.3, 1.0])
    assert caught[0].filename == __file__


def test_columns_too_large_to_square(data):
    """They would be left out without a word."""
    X, y = data
    X = X[:, :30] * np.where(np.arange(30) == 11, 1e150, 1.0)
    for fit in (l1_path, L1ClassifierCV(5, cv=2).fit):
        with pytest.raises(ValueError, match=r"=False needs .* in column 11\. Rescale it\.$"):
            fit(X, y)
    for fit in (
        lambda: l1_path(X, y, standardize=True),
        lambda: L1ClassifierCV(5, cv=2, standardize=True).fit(X, y),
    ):
        with pytest.raises(ValueError, match=r"X has values too large in column 11"):
            fit()


def scanned(problem, values, tol):
    """The solutions of a path, and how many vectors its scans had."""
    n_vectors, answer = 0, None
    solver = solve_path(problem, lambda _: values, tol=tol, max_iter=100, enough=lambda *_: False)
    while True:
        try:
            request = solver.send(answer)
        except StopIteration as stop:
            return stop.value, n_vectors
        answer = scan(request.design, request.vector)
        n_vectors += answer.size // problem.design.shape[1]


@pytest.mark.parametrize("storage", ["float32", "csr", *slow("float64")])
@pytest.mark.parametrize("intercept", [False, True])
def test_scans_certify_what_lies_between_them(storage, intercept):
    """Every C would be scanned, or the certificate of one that is not would be none."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 900)) + 0.3
    y = np.where(X[:, :5].sum(axis=1) + rng.standard_normal(150) > 1.5, 1.0, -1.0)
    X = {
        "float64": np.asfortranarray(X),
        "float32": np.asfortranarray(X, dtype=np.float32),
        "csr": sp.csr_array(X * (rng.random(X.shape) < 0.3)),
    }[storage]
    m = X.shape[1]
    everything = np.full(m, np.inf)
    penalty = Penalty(np.ones(m), np.zeros(m), -everything, everything)
    risk = Risk(y, np.ones(150), Logistic(), intercept)
    problem = L1Problem(as_design(X), risk, penalty, 150.0)
    values = np.geomspace(0.05, 1.0, 60)
    exact, _ = scanned(problem, values, 1e-10)
    for tol, most in ((0.03, 20), (1e-8, 300)):
        found, n_vectors = scanned(problem, values, tol)
        assert len(found) == 60
        assert n_vectors <= most
        for (C, result), (_, best) in zip(found, exact, strict=True):
            assert result.status is Status.CONVERGED
            assert result.bounds["dual"] <= best.objective * (1 + 1e-12)
            assert result.objective >= best.bounds["dual"] * (1 - 1e-12)
            assert result.objective - result.bounds["dual"] <= tol * C * 150 * np.log(2)


def test_parameters_that_a_path_does_not_have():
    """A C or a typing error would be left out of the problem without a word."""
    X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
    for name in ("C", "l1_ration", "n_features"):
        with pytest.raises(ValueError, match=rf"some of l1_ratio, .*; got {name}\."):
            l1_path(X, y, **{name: 1})

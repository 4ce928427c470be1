"""Information criteria: formulas, the size they choose, weights, classes, files, messages."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.base import clone

from conftest import make_classification, slow
from zeronorm import BudgetClassifier, persistence
from zeronorm.core.criteria import CRITERIA, information_criteria
from zeronorm.data import as_design
from zeronorm.estimators import budget as _selected
from zeronorm.model_selection.cross_validation import cross_validate
from zeronorm.published import (
    GreedyLogisticRegression,
    L0LogisticRegression,
    MinimaxLogisticRegression,
)
from zeronorm.solvers import Task
from zeronorm.solvers.l0 import L0Search


def sparse_truth(seed, n=2000, p=30):
    """Return data whose labels depend on five of the columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    w = np.zeros(p)
    w[[3, 7, 11, 19, 23]] = [1.5, -1, 1, -1.2, 0.8]
    return X, np.where(X @ w + 0.2 + rng.logistic(size=n) > 0, 1, -1)


def expected(model, k, X, y, weight, p):
    """Return the criteria of size k of two classes, from the probabilities of that model."""
    one = model.path_[k]
    z = X[:, one.support] @ one.coef + one.intercept
    probability = 1 / (1 + np.exp(-np.where(y == model.classes_[1], z, -z)))
    deviance = -2 * np.sum(weight * np.log(probability))
    n = weight.sum()
    costs = {
        "aic": 2,
        "bic": np.log(n),
        "ebic": np.log(n) + 2 * np.log(p),
        "gic": np.log(np.log(n)) * np.log(p),
    }
    return {name: deviance + k * cost for name, cost in costs.items()}


@pytest.mark.parametrize("refit_C", ["loo", 3.0])
@pytest.mark.parametrize(
    "make",
    [
        L0LogisticRegression,
        BudgetClassifier,
        GreedyLogisticRegression,
        MinimaxLogisticRegression,
    ],
)
def test_the_criteria_are_their_formulas(make, refit_C):
    """A constant column would count, weights not, or the loss be one of another C or scaling."""
    X, y = make_classification(80, 20, seed=1)
    X = 3 * X + 1
    X[:, 4] = 5.0
    weight = np.random.default_rng(0).uniform(0, 2, 80)
    model = make([1, 2, 5], refit_C=refit_C, calibrate=False).fit(X, y, sample_weight=weight)
    assert list(model.criteria_) == ["size", "log_loss", *CRITERIA]
    assert model.criteria_["size"].tolist() == [1, 2, 5]
    for place, k in enumerate([1, 2, 5]):
        for name, value in expected(model, k, X, y, weight, 19).items():
            assert model.path_[k].criteria[name] == pytest.approx(value, rel=1e-9)
            assert model.criteria_[name][place] == pytest.approx(value, rel=1e-9)
        loss = (model.criteria_["aic"][place] - 2 * k) / 2
        assert model.criteria_["log_loss"][place] == pytest.approx(loss)


def test_the_criteria_by_hand():
    """A criterion would not be its formula."""
    found = information_criteria(10.0, 3, 100.0, 50)
    by_hand = {"aic": 26.0, "bic": 33.815511, "ebic": 57.287649, "gic": 37.923085}
    assert found == pytest.approx(by_hand, abs=1e-5)
    for n_rows in (0.5, 1.0):
        assert not np.isfinite(information_criteria(10.0, 3, n_rows, 50)["gic"])


@pytest.mark.parametrize("criterion", ["aic", *slow("bic", "ebic", "gic")])
def test_the_smallest_criterion_chooses(criterion):
    """Another size would be the model, or an attribute be that of the largest."""
    X, y = sparse_truth(4, n=150)
    sizes = range(1, 10)
    model = L0LogisticRegression(sizes, criterion=criterion, calibrate=False).fit(X, y)
    plain = L0LogisticRegression(list(sizes), calibrate=False).fit(X, y)
    values = model.criteria_[criterion]
    k = sizes[int(np.argmin(values))]
    np.testing.assert_array_equal(values, plain.criteria_[criterion])
    assert list(model.path_) == list(sizes)
    chosen = model.path_[k]
    np.testing.assert_array_equal(model.support_, chosen.support)
    np.testing.assert_array_equal(model.coef_[0, chosen.support], chosen.coef)
    assert model.certificate_ is chosen.certificate
    assert model.gap_ == chosen.certificate.gap
    np.testing.assert_array_equal(
        model.decision_function(X), X[:, chosen.support] @ chosen.coef + chosen.intercept
    )
    assert plain.support_.size == 9


def test_criteria_differ_in_what_they_choose():
    """AIC, BIC and EBIC would penalise alike."""
    X, y = sparse_truth(4, n=150)
    sizes = [
        L0LogisticRegression(9, criterion=name, calibrate=False).fit(X, y).support_.size
        for name in ("aic", "bic", "ebic")
    ]
    assert sizes[0] > sizes[1] > sizes[2] >= 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("criterion", ["bic", "ebic"])
def test_the_true_size_is_found(criterion, seed):
    """With many rows, and for "bic" few columns, these are the features of the labels."""
    X, y = sparse_truth(seed, n=4000)
    columns = np.arange(30) if criterion == "ebic" else np.array([3, 7, 11, 19, 23, 0, 1])
    model = L0LogisticRegression(7, criterion=criterion, calibrate=False).fit(X[:, columns], y)
    assert np.sort(columns[model.support_]).tolist() == [3, 7, 11, 19, 23]


@pytest.mark.parametrize("refit_C", ["loo", 1.0])
def test_weights_are_repeated_rows(refit_C):
    """Criteria would count rows in place of weights."""
    X, y = make_classification(60, 25, seed=2)
    weight = np.random.default_rng(1).integers(0, 4, 60)

    def make():
        return L0LogisticRegression(6, criterion="bic", refit_C=refit_C, tol=1e-9, calibrate=False)

    first = make().fit(X, y, sample_weight=weight)
    second = make().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    for name, values in first.criteria_.items():
        np.testing.assert_allclose(values, second.criteria_[name], rtol=1e-6)
    np.testing.assert_array_equal(first.support_, second.support_)


def test_class_weights_count_as_sample_weights():
    """Weights of classes would be left out of a criterion."""
    X, y = make_classification(60, 12, seed=3)
    label = y[0]
    first = L0LogisticRegression(
        4, criterion="bic", class_weight={label: 2.0}, refit_C=1.0, calibrate=False
    )
    second = L0LogisticRegression(4, criterion="bic", refit_C=1.0, calibrate=False)
    first.fit(X, y)
    second.fit(X, y, sample_weight=np.where(y == label, 2.0, 1.0))
    np.testing.assert_allclose(first.criteria_["bic"], second.criteria_["bic"], rtol=1e-7)


@pytest.mark.slow
def test_one_size_for_all_classes():
    """The criterion would be that of one class, or classes have models of other sizes."""
    X, y = make_classification(150, 12, seed=8, n_classes=3)
    model = L0LogisticRegression([1, 2, 4, 7], criterion="bic").fit(X, y)
    for name in ("log_loss", *CRITERIA):
        total = np.zeros(4)
        for label in model.classes_:
            binary = L0LogisticRegression([1, 2, 4, 7]).fit(X, y == label)
            total += binary.criteria_[name]
        np.testing.assert_allclose(model.criteria_[name], total, rtol=1e-6)
    k = [1, 2, 4, 7][int(model.criteria_["bic"].argmin())]
    assert [np.count_nonzero(row) for row in model.coef_] == [k, k, k]
    assert k == len(model.certificate_[0].support)


def test_a_number_is_the_largest_size():
    """k with a criterion is 1, ..., k, with forced features from their number on."""
    X, y = make_classification(50, 12, seed=5)
    assert list(L0LogisticRegression(4, criterion="aic", calibrate=False).fit(X, y).path_) == [
        1,
        2,
        3,
        4,
    ]
    forced = L0LogisticRegression(
        4, criterion="aic", forced_features=[7, 9, 2], calibrate=False
    ).fit(X, y)
    assert list(forced.path_) == [3, 4]
    assert list(BudgetClassifier(criterion="aic", calibrate=False).fit(X, y).path_) == list(
        range(1, 11)
    )
    assert list(L0LogisticRegression([4], criterion="aic", calibrate=False).fit(X, y).path_) == [4]
    assert list(
        L0LogisticRegression(np.int64(3), criterion="aic", calibrate=False).fit(X, y).path_
    ) == [1, 2, 3]
    assert list(L0LogisticRegression(4, calibrate=False).fit(X, y).path_) == [4]


@pytest.mark.parametrize("make", [BudgetClassifier, MinimaxLogisticRegression])
def test_ranges_are_lists_of_sizes(make, tmp_path):
    """A range would be refused, changed by clone or lost in a file."""
    X, y = make_classification(50, 12, seed=5)
    ranged = make(range(2, 7, 2)).fit(X, y)
    listed = make([2, 4, 6]).fit(X, y)
    assert list(ranged.path_) == [2, 4, 6]
    np.testing.assert_array_equal(ranged.coef_, listed.coef_)
    assert clone(ranged).n_features == range(2, 7, 2)
    persistence.save(ranged, tmp_path / "model.npz")
    parameters = persistence.load(tmp_path / "model.npz").metadata["parameters"]
    assert parameters["n_features"] == [2, 4, 6]


def test_equal_criteria_choose_the_smallest_size(monkeypatch):
    """A larger model would be chosen without a reason."""
    X, y = make_classification(40, 6, seed=0)
    equal = {"gic": np.array([5.0, 4.0, 4.0]), "log_loss": np.zeros(3)}
    monkeypatch.setattr(_selected, "criteria_table", lambda paths: equal)
    model = L0LogisticRegression([1, 2, 3], criterion="gic").fit(X, y)
    assert model.support_.size == 2


def test_criteria_are_saved(tmp_path):
    """The file would hold the largest model, or lose the criteria."""
    X, y = sparse_truth(4, n=150)
    model = L0LogisticRegression(9, criterion="ebic", calibrate=False).fit(X, y)
    persistence.save(model, tmp_path / "model.npz")
    loaded = persistence.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.support_, model.support_)
    assert loaded.support_.size < 9
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    rows = loaded.metadata["criteria"]
    for name, values in model.criteria_.items():
        assert [row[name] for row in rows] == values.tolist()
    assert loaded.metadata["parameters"]["criterion"] == "ebic"
    persistence.save(model, tmp_path / "model.npz", n_features=9)
    assert persistence.load(tmp_path / "model.npz").support_.size == 9


def test_criteria_of_little_weight(tmp_path):
    """A number that does not exist would be chosen by, or spoil the file."""
    X, y = make_classification(40, 6, seed=0)
    weight = np.full(40, 0.02)
    with pytest.raises(ValueError, match=r"criterion needs .* at least 3 in sum; got 0\.8"):
        L0LogisticRegression(3, criterion="aic").fit(X, y, sample_weight=weight)
    model = L0LogisticRegression([1, 3], calibrate=False).fit(X, y, sample_weight=weight)
    assert np.isnan(model.criteria_["gic"]).all()
    assert np.isfinite(model.criteria_["bic"]).all()
    persistence.save(model, tmp_path / "model.npz")
    rows = persistence.load(tmp_path / "model.npz").metadata["criteria"]
    assert [row["gic"] for row in rows] == [None, None]


@pytest.mark.parametrize("make", [L0LogisticRegression, BudgetClassifier])
@pytest.mark.parametrize("criterion", ["BIC", "cv", 1, True, ["bic"], np.array(["bic", "aic"])])
def test_unknown_criteria(make, criterion):
    """A misspelt criterion would be ignored."""
    X, y = make_classification(30, 8, seed=0)
    message = "criterion must be one of None, 'aic', 'bic', 'ebic', 'gic'; got"
    with pytest.raises(ValueError, match=message):
        make(3, criterion=criterion).fit(X, y)


def test_before_fit_and_parameters():
    """A model without fit would fail with a confusing error."""
    model = L0LogisticRegression(range(1, 4), criterion="gic", calibrate=False)
    assert not hasattr(model, "criteria_")
    copied = clone(model)
    assert (copied.n_features, copied.criterion) == (range(1, 4), "gic")
    X, y = make_classification(30, 8, seed=0)
    with pytest.raises(ValueError, match="n_features"):
        L0LogisticRegression(range(7, 10), criterion="gic").fit(X, y)
    with pytest.raises(ValueError, match="n_features"):
        L0LogisticRegression(range(3, 3), criterion="gic").fit(X, y)


def test_cross_validation_scores_every_size():
    """Sizes would be chosen inside the folds that are to compare them."""
    X, y = make_classification(60, 10, seed=1)
    found = cross_validate(L0LogisticRegression(3, criterion="bic", calibrate=False), X, y, cv=3)
    assert found.sizes == (1, 2, 3)
    plain = cross_validate(L0LogisticRegression([1, 2, 3], calibrate=False), X, y, cv=3)
    np.testing.assert_array_equal(found.scores, plain.scores)


def test_the_objective_never_rises_with_the_size():
    """A decrease below `tol` would be refused where a larger size is worse than a smaller one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12))
    y = np.where(X[:, :3] @ [1.0, -1.0, 1.0] + rng.logistic(size=200) > 0, 1.0, -1.0)
    search = L0Search(Task.of(as_design(X), y), 1.0, [3, 4, 5], 0.9)
    search.add(np.arange(12))
    for support in ([0, 1, 2], [4, 5, 6, 7], [6, 7, 8, 9, 10]):
        search.best[len(support)] = search.exchanges.fit(np.array(support))
    search.neighbours()
    values = [search.best[k].objective for k in (3, 4, 5)]
    assert values[0] >= values[1] >= values[2]
    assert search.support(3).tolist() == [0, 1, 2]


def test_criteria_are_plain_numbers():
    """Criteria could not be written as JSON."""
    X, y = make_classification(40, 6, seed=0)
    model = L0LogisticRegression([1, 2], calibrate=False).fit(X, y)
    json.dumps(persistence.tabulate(model.criteria_), allow_nan=False)

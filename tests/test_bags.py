"""Bags: similarities against a direct loop, as a lazy design, in classifiers; every error text."""

from __future__ import annotations

import os
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from test_designs import OPERATIONS, WRAPPERS
from zeronorm import Bags, BudgetClassifier, L1Classifier, MultipleInstanceClassifier
from zeronorm.data import bags as module
from zeronorm.estimators import MilesEmbedding
from zeronorm.estimators import bags as embedding_module
from zeronorm.published import (
    BilevelRegressor,
    FeatureGeneratingMachine,
    GreedyLogisticRegression,
    L0LogisticRegression,
)

DATA = Path(os.environ.get("ZERONORM_DATA", "none"))


def direct(bags, concepts, sigma):
    """The similarities by their definition, one bag and one concept at a time."""
    out = np.empty((len(bags), len(concepts)))
    for i, bag in enumerate(bags):
        for k, z in enumerate(concepts):
            out[i, k] = max(np.exp(-np.sum((x - z) ** 2) / (2 * sigma**2)) for x in bag)
    return out


def random_bags(n_bags, d, seed=0, largest=9):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((int(m), d)) for m in rng.integers(1, largest + 1, n_bags)]


def flattened(bags, labels, seed=0):
    """(X, bag_index) of a list of bags, rows in random order, and where every row came from."""
    X = np.concatenate(bags)
    index = np.repeat(np.asarray(labels), [len(bag) for bag in bags])
    order = np.random.default_rng(seed).permutation(len(X))
    return X[order], index[order], order


def planted(n_bags=30, d=3, seed=1, n_classes=2):
    """Bags of 4 to 8 instances; those of class c > 0 have one near a point of that class."""
    rng = np.random.default_rng(seed)
    points = 3.0 * np.eye(n_classes, d)
    y = np.arange(n_bags) % n_classes
    bags = []
    for label in y:
        bag = rng.standard_normal((int(rng.integers(3, 6)), d))
        if label:
            bag[rng.integers(len(bag))] = points[label] + 0.2 * rng.standard_normal(d)
        bags.append(bag)
    return bags, y, points


# ------------------------------------------------------------------- similarities


@pytest.mark.parametrize("tiles", [(256, 1024), (7, 5), (1, 1)])
def test_similarities_are_those_of_a_direct_loop(tiles, monkeypatch):
    """A bag would get the nearest instance of another bag, or of a part of itself."""
    monkeypatch.setattr(module, "TILE_CONCEPTS", tiles[0])
    monkeypatch.setattr(module, "TILE_INSTANCES", tiles[1])
    train, test = random_bags(9, 4), random_bags(6, 4, seed=1, largest=12)
    embedding = MilesEmbedding(sigma=1.7).fit(train)
    concepts = np.concatenate(train)
    for bags in (train, test, test[:1], [test[0][:1]]):
        got = embedding.transform(bags)
        assert got.dtype == np.float64
        assert got.flags.f_contiguous
        np.testing.assert_allclose(got, direct(bags, concepts, 1.7), rtol=0, atol=2e-15)


@pytest.mark.parametrize(
    ("offset", "scale", "atol"), [(1e6, 1.0, 1e-14), (0.0, 1e-30, 2e-15), (-1e40, 1e35, 1e-9)]
)
def test_similarities_far_from_the_origin_and_in_any_unit(offset, scale, atol, monkeypatch):
    """||x||^2 - 2x'z + ||z||^2 would cancel: 1e6 leaves four digits of a distance of 1. Or all
    instances would be taken for outliers, which is slow.
    """
    monkeypatch.setattr(module, "cdist", None)
    bags = [offset + scale * bag for bag in random_bags(12, 4)]
    got = MilesEmbedding(sigma=1.5 * scale).fit_transform(bags)
    expected = direct([bag / scale for bag in bags], np.concatenate(bags) / scale, 1.5)
    np.testing.assert_allclose(got, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("sigma", [1.5, 2e-3])
def test_similarities_of_outliers(sigma):
    """Far away, or for a narrow sigma, the distance of near instances would be rounding only."""
    bags = random_bags(12, 4)
    for number, far in enumerate((1e2, 1e5, 1e8)):
        for place in (3 * number, 3 * number + 1):
            bags[place] = far + 1e-3 * bags[place]
    got = MilesEmbedding(sigma=sigma).fit_transform(bags)
    expected = direct(bags, np.concatenate(bags), sigma)
    assert np.count_nonzero((expected > 0.01) & (expected < 0.99)) > 5
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-11)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 5),
    st.sampled_from([1e-6, 1e-2, 1.0, 1e3, 1e12]),
)  # fmt: skip
def test_similarities_are_at_most_1_which_own_instances_have(seed, n_bags, d, sigma):
    """Clipping, or the bag of a concept, would be wrong."""
    bags = Bags.of(random_bags(n_bags, d, seed))
    got = MilesEmbedding(sigma=sigma).fit_transform(bags)
    assert np.all((got >= 0) & (got <= 1))
    assert np.all(got[bags.codes, np.arange(bags.rows.size)] >= 1 - 1e-11)


def test_order_of_instances_and_of_bags_does_not_matter():
    """Results would depend on how a file is sorted."""
    bags, rng = random_bags(20, 5), np.random.default_rng(3)
    embedding = MilesEmbedding().fit(bags)
    expected = embedding.transform(bags)
    inside = [rng.permutation(bag) for bag in bags]
    np.testing.assert_allclose(embedding.transform(inside), expected, rtol=0, atol=2e-15)
    order = rng.permutation(20)
    other = MilesEmbedding().fit([bags[i] for i in order])
    assert other.sigma_ == pytest.approx(embedding.sigma_, rel=1e-14)
    again = other.transform([bags[i] for i in order])
    columns = np.concatenate([np.flatnonzero(embedding.bags_.codes == i) for i in order])
    np.testing.assert_allclose(again, expected[np.ix_(order, columns)], rtol=0, atol=2e-15)


def test_sigma_is_the_median_distance_of_different_instances(monkeypatch):
    """ "median" would be another width than the documented one."""
    bags = random_bags(15, 4)
    bags.append(bags[0])  # distances of 0 are not counted
    X = np.concatenate(bags)
    square = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    distance = np.sqrt(square[np.triu_indices(len(X), 1)])
    assert MilesEmbedding().fit(bags).sigma_ == pytest.approx(np.median(distance[distance > 0]))
    many = np.random.default_rng(0).standard_normal((2000, 3))
    sigma = MilesEmbedding().fit([many]).sigma_
    assert MilesEmbedding().fit([many[::-1]]).sigma_ == pytest.approx(sigma, rel=1e-6)
    monkeypatch.setattr(embedding_module, "MEDIAN_SAMPLE", 2000)
    assert sigma == pytest.approx(MilesEmbedding().fit([many]).sigma_, rel=0.03)


# ------------------------------------------------------------------- bags as users give them


@pytest.mark.parametrize("labels", ["integers", "negative", "text", "objects"])
def test_bags_from_an_index_are_those_of_a_list(labels):
    """Rows would end up in other bags, or in another order than their labels say."""
    bags = random_bags(8, 3)
    names = {
        "integers": [3, 8, 10, 21, 34, 35, 90, 1000], "negative": np.arange(-4, 4),
        "text": list("abdefhmz"), "objects": np.array(list("abdefhmz"), dtype=object),
    }[labels]  # fmt: skip
    X, index, order = flattened(bags, names)
    got = Bags.of((X, index))
    assert len(got) == 8
    assert got.labels.tolist() == list(names)
    for one, bag in zip(got, bags, strict=True):
        assert sorted(one.tolist()) == sorted(bag.tolist())
    np.testing.assert_array_equal(X[got.rows], got.instances)
    assert all(np.all(np.diff(got.rows[got.codes == i]) > 0) for i in range(8))
    assert Bags.of(got) is got
    expected = MilesEmbedding(sigma=1.0).fit(bags)
    embedding = MilesEmbedding(sigma=1.0).fit((X, index))
    columns = order[got.rows]
    np.testing.assert_allclose(
        embedding.transform(bags), expected.transform(bags)[:, columns], rtol=0, atol=2e-15
    )
    place = int(got.offsets[6]) - 1
    name = f"instance {len(bags[5]) - 1} of bag {names[5]}"
    assert embedding.get_feature_names_out()[place] == name
    assert repr(got) == f"Bags(8 bags, {len(X)} instances, 3 features)"


@pytest.mark.parametrize(
    "kind",
    [
        tuple, np.asfortranarray, pd.DataFrame, pl.DataFrame, np.ndarray.tolist,
        lambda bag: bag.astype(object), lambda bag: bag[::-1][::-1],
    ],
    ids=["tuple", "F", "pandas", "polars", "lists", "objects", "strides"],
)  # fmt: skip
def test_bags_of_any_kind(kind):
    """A usual container would be refused, or read in another order."""
    bags = random_bags(5, 3)
    expected = Bags.of(bags)
    got = Bags.of(tuple(bags) if kind is tuple else [kind(bag) for bag in bags])
    np.testing.assert_array_equal(got.instances, expected.instances)
    assert got.instances.flags.c_contiguous
    assert (
        got.offsets.tolist() == expected.offsets.tolist() == [0, *np.cumsum(list(map(len, bags)))]
    )
    assert got.rows.tolist() == list(range(len(got.instances)))


def test_two_bags_in_a_tuple_are_bags():
    """They would be taken for (X, bag_index)."""
    two = Bags.of((np.zeros((2, 2)), np.ones((2, 2))))
    assert len(two) == 2
    stacked = Bags.of(np.arange(12.0).reshape(3, 2, 2))
    assert stacked[-1].tolist() == [[8, 9], [10, 11]]
    with pytest.raises(IndexError):
        stacked[3]


def test_bags_are_copies():
    """A later change of the user's arrays would change the model, or the other way round."""
    X, index = np.random.default_rng(0).standard_normal((6, 2)), np.repeat([0, 1], 3)
    for given_ in ((X, index), [X], [np.asfortranarray(X)]):
        got = Bags.of(given_)
        assert not np.shares_memory(got.instances, given_[0])
        with pytest.raises(ValueError, match="read-only"):
            got.instances[0, 0] = 1.0
    X[0] = 7.0


# ------------------------------------------------------------------- the lazy design


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS.keys())
@pytest.mark.parametrize("block", [20, 1 << 22])
def test_design_is_the_matrix_that_it_does_not_store(wrap, block, monkeypatch):
    """A solver would see another matrix than the embedding."""
    monkeypatch.setattr(module, "BLOCK_SIMILARITIES", block)
    monkeypatch.setattr(module, "TILE_CONCEPTS", 8)
    monkeypatch.setattr(module, "TILE_INSTANCES", 16)
    train, test = random_bags(5, 3), random_bags(12, 3, seed=1)
    embedding = MilesEmbedding(n_threads=2).fit(train)
    twin = direct(test, np.concatenate(train), embedding.sigma_)
    design, expected = wrap(embedding.design(test), twin)
    for operation in OPERATIONS:
        operation(design, expected, None)


def test_design_has_the_bits_of_the_embedding_for_any_number_of_threads(monkeypatch):
    """Results would depend on the machine."""
    monkeypatch.setattr(module, "TILE_CONCEPTS", 16)
    bags, rng = random_bags(60, 7), np.random.default_rng(0)
    v, features = rng.standard_normal((60, 2)), rng.permutation(200)[:50]
    expected = MilesEmbedding(n_threads=1).fit(bags)
    stored = expected.transform(bags)
    base = expected.design(bags)
    np.testing.assert_array_equal(base.gather(slice(None)), stored)
    for n_threads in (2, 5):
        embedding = MilesEmbedding(n_threads=n_threads).fit(bags)
        design = embedding.design(bags)
        assert design.n_threads == n_threads
        np.testing.assert_array_equal(embedding.transform(bags), stored)
        np.testing.assert_array_equal(design.gather(features), base.gather(features))
        np.testing.assert_array_equal(design.correlate(v, 3, 150), base.correlate(v, 3, 150))
        for ours, theirs in zip(design.moments(v[:, 0] ** 2, 3, 150),
                                base.moments(v[:, 0] ** 2, 3, 150), strict=True):  # fmt: skip
            np.testing.assert_array_equal(ours, theirs)


def test_design_stores_no_similarities(monkeypatch):
    """It would need the memory that it is there to save."""
    monkeypatch.setattr(module, "BLOCK_SIMILARITIES", 1 << 13)
    bags = list(np.random.default_rng(0).standard_normal((400, 4, 2)))
    embedding = MilesEmbedding(n_threads=1).fit(bags)
    v = np.ones(400)
    tracemalloc.start()
    design = embedding.design(bags)
    assert design.nbytes == 8 * 400 * 1600
    design.correlate(v, 0, 1600)
    design.moments(v, 0, 1600)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < design.nbytes / 8


def test_design_checks_what_it_is_asked():
    """A wrong vector or column would be read beyond its end."""
    design = MilesEmbedding().fit(random_bags(5, 2)).design(random_bags(4, 2))
    with pytest.raises(ValueError, match=r"v must have 4 rows"):
        design.correlate(np.ones(5), 0, 2)
    with pytest.raises(ValueError, match=r"start and stop must be between 0 and"):
        design.moments(np.ones(4), 0, 1000)
    with pytest.raises(IndexError, match=r"features must be between 0 and"):
        design.gather(np.array([-1]))


# ------------------------------------------------------------------- classifiers

ESTIMATORS = [
    BudgetClassifier(n_features=3, calibrate=False),
    BudgetClassifier(n_features=[2, 4], method="greedy", calibrate=False),
    FeatureGeneratingMachine(n_features=3, calibrate=False),
    GreedyLogisticRegression(n_features=2, refit_C=1.0, calibrate=False),
    L0LogisticRegression(n_features=2, calibrate=False),
    L1Classifier(n_features=4),
    L1Classifier(C=3.0, loss="squared_hinge"),
]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)


@each_estimator
def test_lazy_and_stored_similarities_give_the_same_model(estimator):
    """A limit of memory would change the answer."""
    bags, y, _ = planted()
    stored = MultipleInstanceClassifier(estimator).fit(bags, y)
    lazy = MultipleInstanceClassifier(estimator, memory_limit=1000).fit(bags, y)
    np.testing.assert_array_equal(lazy.estimator_.support_, stored.estimator_.support_)
    np.testing.assert_allclose(lazy.estimator_.coef_, stored.estimator_.coef_, rtol=1e-6, atol=1e-8)
    scores = stored.decision_function(bags)
    np.testing.assert_allclose(lazy.decision_function(bags), scores, rtol=1e-6, atol=1e-8)
    X = stored.embedding_.transform(bags)
    np.testing.assert_allclose(scores, stored.estimator_.decision_function(X), atol=1e-12)
    assert stored.score(bags, y) == stored.estimator_.score(X, y)
    assert stored.predict(bags).tolist() == stored.estimator_.predict(X).tolist()
    assert estimator.get_params() == stored.estimator.get_params()
    assert not hasattr(estimator, "support_")


def test_what_makes_a_bag_positive_is_found():
    """The selected instances would not say where the label comes from."""
    bags, y, points = planted(80)
    test, y_test, _ = planted(100, seed=2)
    model = MultipleInstanceClassifier(
        BudgetClassifier(n_features=2, calibrate=False), sigma=1.0
    ).fit(bags, y)
    best = model.selected_instances_[0]
    assert best.weight > 0
    assert np.linalg.norm(best.instance - points[1]) < 1.0
    assert y[best.bag] == 1
    assert model.score(test, y_test) > 0.9
    np.testing.assert_array_equal(
        model.predict_proba(test)[:, 1] > 0.5, model.predict(test).astype(bool)
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_selected_instances_lie_in_the_data_of_the_user(n_classes):
    """The report would point to other rows than those that the model uses."""
    bags, y, _ = planted(36, n_classes=n_classes)
    names = np.array([f"bag{number:02d}" for number in range(36)])
    X, index, _ = flattened(bags, names)
    labels = np.array(["no", "one", "two"])[y]
    target = labels[np.searchsorted(names, index)]
    model = MultipleInstanceClassifier(BudgetClassifier(n_features=4, calibrate=False)).fit(
        (X, index), target
    )
    assert model.classes_.tolist() == ["no", "one", "two"][:n_classes]
    chosen = model.selected_instances_
    support = model.estimator_.support_
    assert len(chosen) == support.size >= 4
    for one in chosen:
        np.testing.assert_array_equal(X[one.row], one.instance)
        assert index[one.row] == one.bag
        assert one.position == np.count_nonzero(index[: one.row] == one.bag)
        name = f"instance {one.position} of bag {one.bag}"
        column = model.embedding_.get_feature_names_out().tolist().index(name)
        assert column in support
        np.testing.assert_array_equal(model.estimator_.coef_[:, column], np.atleast_1d(one.weight))
    sizes = [np.abs(one.weight).max() for one in chosen]
    assert sizes == sorted(sizes, reverse=True)
    by_list = MultipleInstanceClassifier(BudgetClassifier(n_features=4, calibrate=False)).fit(
        Bags.of((X, index)), labels
    )
    assert by_list.predict(bags).tolist() == model.predict((X, index)).tolist()
    assert model.score((X, index), target) == by_list.score(bags, labels)


def test_prediction_computes_similarities_with_selected_instances_only(monkeypatch):
    """Predictions would cost as much as training."""
    bags, y, _ = planted()
    model = MultipleInstanceClassifier(BudgetClassifier(n_features=3, calibrate=False)).fit(bags, y)
    asked = []
    fill = module.MilesDesign._fill

    def counted(design, concepts, similarity):
        asked.append(len(concepts))
        fill(design, concepts, similarity)

    monkeypatch.setattr(module.MilesDesign, "_fill", counted)
    for method in ("predict", "decision_function", "predict_proba"):
        asked.clear()
        getattr(model, method)(bags[:5])
        assert sum(asked) == 3
    asked.clear()
    model.score(bags[:5], y[:5])
    assert sum(asked) == 3


def test_scikit_learn_splits_clones_and_searches_bags():
    """Cross-validation would need code of its own."""
    bags, y, _ = planted()
    model = MultipleInstanceClassifier(BudgetClassifier(n_features=2, calibrate=False), sigma=1.0)
    assert clone(model).get_params()["estimator__n_features"] == 2
    scores = [
        cross_val_score(model, given_, y, cv=StratifiedKFold(3)) for given_ in (bags, Bags.of(bags))
    ]
    assert scores[0].mean() > 0.8
    assert scores[0].tolist() == scores[1].tolist()
    search = GridSearchCV(model, {"sigma": [0.01, 1.0]}, cv=2)
    assert search.fit(bags, y).best_params_["sigma"] == 1.0
    steps = make_pipeline(MilesEmbedding(sigma=1.0), LogisticRegression()).fit(bags, y)
    assert steps.score(bags, y) > 0.8
    frame = MilesEmbedding().set_output(transform="pandas").fit_transform(bags[:3])
    assert frame.columns[1] == "instance 1 of bag 0"
    fitted = model.fit(bags, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(bags), fitted.decision_function(bags))


@pytest.mark.skipif(not (DATA / "mil_musk1").is_dir(), reason="ZERONORM_DATA has no mil_musk1")
def test_musk():
    """The method would not do on its best known data what its article says (accuracy 0.86)."""
    with np.load(DATA / "mil_musk1" / "arrays.npz") as arrays:
        X, index, y = arrays["X"], arrays["bag"], arrays["y"]
    bags = Bags.of((X, index))
    expected = direct(bags, bags.instances[::60], 11.0)
    got = MilesEmbedding(sigma=11.0).fit(bags).transform(bags)[:, ::60]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14)
    model = MultipleInstanceClassifier(BudgetClassifier(n_features=20, calibrate=False))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert cross_val_score(model, bags, y, cv=folds).mean() > 0.75


# ------------------------------------------------------------------- bad input

TWO = [np.zeros((2, 3)), np.ones((1, 3))]
X6, INDEX6 = np.arange(18.0).reshape(6, 3), np.array([0, 0, 1, 1, 2, 2])


def with_value(value):
    bag = np.ones((3, 3))
    bag[1, 2] = value
    return [TWO[0], bag]


@pytest.mark.parametrize(
    ("bags", "message"),
    [
        ([], r"bags must have at least one bag; got none\."),
        ({}, r"bags must be a list of arrays .*; got a dict\."),
        ("abc", r"bags must be a list of arrays .*; got a str\."),
        (None, r"bags must be a list of arrays .*; got a NoneType\."),
        (X6, r"got one array of shape \(6, 3\), which does not say whose .* \(X, bag_index\)"),
        (pd.DataFrame(X6), r"bags must be a list of arrays .*; got a DataFrame\."),
        ([TWO[0], np.ones((0, 3))], r"bag 1 must have at least one instance; got none\. Leave"),
        ([TWO[0], []], r"bag 1 must be two-dimensional.* got shape \(0,\)"),
        ([TWO[0], np.ones(3)], r"bag 1 must be two-dim.* got shape \(3,\)\. A single .*reshape"),
        ([np.ones((2, 0))], r"bag 0 must be .* at least one feature; got shape \(2, 0\)"),
        ([TWO[0], [[1, 2, 3], [1, 2]]], r"bag 1 must be an array; got rows of different lengths"),
        ([TWO[0], np.ones((2, 4))], r"the same features; got 3 columns in bag 0 and 4 in bag 1\."),
        (sp.csr_array(X6), r"bags must be a list .*; got one sparse matrix of shape \(6, 3\)"),
        (np.array(5.0), r"bags must be a list .*; got an array without dimensions"),
        ([TWO[0], [["a", "b", "c"]]], r"bag 1: X must hold numbers; got strings"),
        ([TWO[0], np.ones((1, 3)) * 1j], r"bag 1: Complex data not supported"),
        (with_value(np.nan), r"got nan in column 2 of instance 1 of bag 1 \(row 3\)"),
        (with_value(-np.inf), r"finite numbers .* got -inf in column 2 of instance 1 of bag 1"),
        (with_value(1e101), r"finite numbers of at most 1e\+100 in magnitude; got 1e\+101"),
        ((np.where(X6 == 7, np.nan, X6), list("ccabba")), r"column 1 of instance 0 of bag a \(row"),
        ((X6, INDEX6[:5]), r"bag_index must be integers or strings, one for every row of X \(6\); "
                           r"got shape \(5,\)\."),
        ((X6, None), r"bag_index must be .*; got shape \(\)\."),
        ((X6, INDEX6[:, None]), r"got 3 columns in bag 0 and 1 in bag 1\. In \(X, bag_index\) the "
                                r"index is one-dimensional\."),
        ((X6, INDEX6 + 0.5), r"bag_index must be .*; got values of type float64\."),
        ((X6, ["a", "b", None, "a", "b", "c"]), r"bag_index must have a label for every row of X; "
                                                r"row 2 has none\."),
        ((X6, [0, 1, np.nan, 1, 2, 2]), r"bag_index must have .*; row 2 has none\."),
        ((X6[0], INDEX6[:3]), r"X must be two-dimensional, instances by features"),
        ((X6[:0], INDEX6[:0]), r"X must have at least one instance; got none\."),
        ((sp.csr_array(np.where(X6 == 7, np.nan, X6)), list("ccabba")),
         r"got nan in column 1 of instance 0 of bag a \(row"),
        ([sp.csr_array(X6), sp.csr_array((0, 3))], r"bag 1 must have at least one instance"),
    ],
)  # fmt: skip
def test_bad_bags(bags, message):
    """An error would come from the depths, or a wrong model."""
    for attempt in (
        Bags.of,
        MilesEmbedding().fit,
        lambda b: MultipleInstanceClassifier(LAST).fit(b, [0, 1]),
    ):
        with pytest.raises(ValueError, match=message):
            attempt(bags)


LAST = BudgetClassifier(n_features=1, calibrate=False)


@pytest.mark.parametrize("sigma", [0, -1.0, np.nan, np.inf, "mean", None, True, 1e-50, [1.0]])
def test_bad_sigma(sigma):
    """Similarities would be all 0, all 1 or NaN."""
    rule = r"sigma must be 'median' or a number from 1e-40 to 1e\+100; got "
    with pytest.raises(ValueError, match=rule):
        MilesEmbedding(sigma).fit(TWO)
    with pytest.raises(ValueError, match=rule):
        MultipleInstanceClassifier(LAST, sigma=sigma).fit(TWO, [0, 1])


@pytest.mark.parametrize("bags", [[np.ones((3, 2))], [np.ones((1, 2))], [np.full((2, 2), 1e90)]])
def test_no_median_of_equal_instances(bags):
    """Sigma would be 0."""
    with pytest.raises(ValueError, match=r"sigma='median' needs instances that differ .* is 0\. P"):
        MilesEmbedding().fit(bags)
    assert np.all(MilesEmbedding(1.0).fit_transform(bags) == 1.0)


@pytest.mark.parametrize("limit", [0, -5, "1 GB", None, np.nan, True])
def test_bad_memory_limit(limit):
    """It would be ignored."""
    rule = r"memory_limit must be a positive finite number; got"
    with pytest.raises(ValueError, match=rule):
        MilesEmbedding(memory_limit=limit).fit(TWO)
    with pytest.raises(ValueError, match=rule):
        MultipleInstanceClassifier(LAST, memory_limit=limit).fit(TWO, [0, 1])


def test_memory_beyond_the_limit_is_refused_before_it_is_taken(monkeypatch):
    """The process would be killed instead."""
    bags = random_bags(10, 2)
    n = len(np.concatenate(bags))
    embedding = MilesEmbedding(memory_limit=80 * n - 1).fit(bags)
    monkeypatch.setattr(module.MilesDesign, "_fill", None)
    with pytest.raises(
        ValueError,
        match=rf"memory_limit must be at least {80 * n} bytes, for the similarities of 10 bags "
        rf"with {n} instances; got {80 * n - 1}\. Raise it, or pass design\(bags\)",
    ):
        embedding.transform(bags)
    monkeypatch.undo()
    assert embedding.set_params(memory_limit=80 * n).transform(bags).shape == (10, n)
    assert embedding.set_params(memory_limit=np.inf).transform(bags).shape == (10, n)


@pytest.mark.parametrize(
    ("bags", "y", "message"),
    [
        (TWO, None, r"pass one label per bag\."),
        (TWO, [0], r"y must have one label per bag; got 1 labels for 2 bags\."),
        (TWO, [0, 1, 1], r"y must have one label per bag; got 3 labels for 2 bags\."),
        (TWO, ["a", None], r"y must have a label for every bag; got None at bag 1\. Remove such b"),
        (TWO, ["a", 1], r"labels of one type; got 'a' at bag 0 and 1 at bag 1"),
        (TWO, [0.5, 1.5], r"Unknown label type"),
        (TWO, [1, 1], r"y must have at least two classes; got one class: 1\."),
        ((X6, INDEX6), [0, 1], r"y must have one label per row of X; got 2 labels for 6 rows"),
        ((X6, INDEX6), [0, 1, 1], r"y must have one label per row of X with \(X, bag_index\); got "
         r"3 labels for 6 rows in 3 bags\. Labels of bags go with Bags\.of"),
        ((X6, INDEX6), [0, 0, 1, 0, 1, 1],
         r"one label per bag; bag 1 has 1 \(row 2\) and 0 \(row 3\)\. Give all its rows the same"),
        ((X6, list("bababa")), list("nyynny"),
         r"one label per bag; bag 'a' has 'y' \(row 1\) and 'n' \(row 3\)\. Give"),
        (Bags.of((X6, INDEX6)), [0, 0, 1, 1, 1, 1], r"one label per bag; got 6 labels for 3 bags"),
    ],
)  # fmt: skip
def test_bad_labels(bags, y, message):
    """A bag would get the label of another one."""
    with pytest.raises(ValueError, match=message):
        MultipleInstanceClassifier(LAST).fit(bags, y)


def test_other_bags_at_prediction():
    """Distances would be between different features."""
    bags, y, _ = planted()
    model = MultipleInstanceClassifier(LAST).fit(bags, y)
    wrong = r"bags must have the 3 features of those that MilesEmbedding was fitted to; got 2\."
    for method in ("predict", "decision_function", "predict_proba", "embedding_.transform"):
        call = model.embedding_.transform if "." in method else getattr(model, method)
        with pytest.raises(ValueError, match=wrong):
            call([bag[:, :2] for bag in bags])
    with pytest.raises(ValueError, match=wrong):
        model.score([bag[:, :2] for bag in bags], y)
    with pytest.raises(ValueError, match=r"y must have one label per bag; got 29 labels for 30"):
        model.score(bags, y[:29])


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), BilevelRegressor(), BudgetClassifier, "f1"]
)
def test_other_estimators_are_refused(estimator):
    """They would fail at prediction, on a design."""
    with pytest.raises(TypeError, match=r"estimator must be a classifier of this package, or None"):
        MultipleInstanceClassifier(estimator).fit(TWO, [0, 1])


# ---------------------------------------------------------------------------------------- sparse


def texts(n_bags=20, n_features=120, seed=3):
    """Return bags of sparse instances of norm 1, every second with one word that tells, and y."""
    rng = np.random.default_rng(seed)
    bags, y = [], np.arange(n_bags) % 2
    for label in y:
        bag = rng.random((rng.integers(2, 6), n_features)) * (rng.random(n_features) < 0.05)
        if label:
            bag[0, :3] = 2.0
        bag[:, 5] += 0.1
        bags.append(bag / np.linalg.norm(bag, axis=1, keepdims=True))
    return bags, y


@pytest.mark.parametrize("form", [sp.csr_array, sp.coo_matrix])
@pytest.mark.parametrize("sigma", ["median", 0.01])
def test_sparse_bags_are_those_of_the_dense_numbers(form, sigma):
    """Similarities of sparse instances would be others, those far in units of sigma above all."""
    dense, _ = texts()
    dense[4] = np.concatenate([dense[4], dense[4][:1]])  # a distance of 0
    sparse = [form(bag) for bag in dense]
    names = np.repeat(np.arange(len(dense)), [len(bag) for bag in dense])
    expected = MilesEmbedding(sigma).fit(dense)
    answer = expected.transform(dense)
    for bags in (sparse, (form(np.concatenate(dense)), names), [sparse[0], *dense[1:]]):
        found = MilesEmbedding(sigma).fit(bags)
        assert found.sigma_ == pytest.approx(expected.sigma_, rel=1e-12)
        np.testing.assert_allclose(found.transform(bags), answer, rtol=0, atol=1e-10)
        # Either kind may be compared with the other.
        np.testing.assert_allclose(found.transform(dense), answer, rtol=0, atol=1e-10)
        np.testing.assert_allclose(expected.transform(bags), answer, rtol=0, atol=1e-10)


@pytest.mark.parametrize("memory_limit", [np.inf, 0.5])
def test_a_classifier_of_sparse_bags_is_that_of_dense_ones(memory_limit):
    """Bags of texts would be refused, or another instance called the reason."""
    bags, y = texts()
    sparse = [sp.csr_array(bag) for bag in bags]
    kwargs = {"memory_limit": memory_limit}
    model = MultipleInstanceClassifier(
        BudgetClassifier(n_features=2, calibrate=False), **kwargs
    ).fit(sparse, y)
    other = MultipleInstanceClassifier(
        BudgetClassifier(n_features=2, calibrate=False), **kwargs
    ).fit(bags, y)
    assert model.score(sparse, y) == model.score(bags, y) == 1.0
    np.testing.assert_allclose(
        model.decision_function(sparse), other.decision_function(bags), rtol=1e-6
    )
    for one, two in zip(model.selected_instances_, other.selected_instances_, strict=True):
        assert (one.bag, one.position, one.row) == (two.bag, two.position, two.row)
        assert one.instance.shape == (1, 120)
        np.testing.assert_array_equal(one.instance.toarray()[0], two.instance)
    np.testing.assert_array_equal(model.embedding_.bags_[3].toarray(), bags[3])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(sparse), y)


def test_sparse_instances_are_never_made_dense():
    """A hundred thousand words would need the memory of all of them for every instance."""
    rng = np.random.default_rng(0)
    X = sp.random_array((2000, 100_000), density=1e-4, format="csr", rng=rng)
    names = np.arange(2000) // 4
    bags = Bags.of((X, names))
    tracemalloc.start()
    similarity = MilesEmbedding(1.0, n_threads=1).fit(bags).design(bags).gather(np.arange(300))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert similarity.shape == (500, 300)
    assert peak < 50e6  # dense instances: 1.6e9

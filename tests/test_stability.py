"""Stability selection: pairs, bounds against other computations, choices against separate fits."""

import itertools
import json

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, minimize
from sklearn.base import clone

from golub import GOLUB, load_golub
from zeronorm import (
    BudgetClassifier,
    BudgetCV,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    MeasureClassifier,
    write_store,
)
from zeronorm.inference import stability as of_halves
from zeronorm.inference.half_samples import half_samples
from zeronorm.inference.stability import Stability, StabilitySelection, expected_low, r_concave_tail


def sample(n=40, p=24, seed=0):
    """Numbers, and a target of which the first three columns say something."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] - X[:, 1] + X[:, 2] + rng.standard_normal(n)


# Bounds


def test_bounds_of_published_settings():
    """Of the example of R's `stabs` (2 of 9, cutoff 0.75, 50 pairs): 0.454 where unimodal."""
    assert expected_low(2, 9, 0.75, 50, 2 / 9, "unimodal") == pytest.approx(0.454, abs=5e-4)
    assert expected_low(2, 9, 0.75, 50, 2 / 9, "none") == pytest.approx(8 / 9)
    # Any selection: k^2 / ((2 tau - 1) p).
    assert expected_low(10, 7129, 0.75, 50, 10 / 7129, "none") == pytest.approx(0.028, abs=5e-4)
    # A threshold between two frequencies is the upper one.
    assert expected_low(10, 900, 0.745, 50, 0.01, "none") == pytest.approx(0.2)
    for threshold in (0.55, 0.7, 0.9, 1.0):
        found = [
            expected_low(20, 1000, threshold, 50, 0.02, one)
            for one in ("none", "unimodal", "r-concave")
        ]
        assert found == sorted(found, reverse=True)
        assert found[2] < found[0]


@pytest.mark.parametrize("n_pairs", [5])
@pytest.mark.parametrize("low", [0.1, 0.3, 0.5])
def test_unimodal_laws_reach_their_bound(n_pairs, low):
    """By linear programmes: for each mode the most mass where both halves choose often enough."""
    for count in range(n_pairs + 2, 2 * n_pairs + 1):
        threshold = count / (2 * n_pairs)
        bound = expected_low(10, 10**9, threshold, n_pairs, low, "unimodal") / 10
        # P(frequency >= tau) <= P(simultaneous >= 2 tau - 1), whose mean is p^2, at p = low.
        tails = [
            _unimodal_tail(n_pairs, low**2, count - n_pairs, mode) for mode in range(n_pairs + 1)
        ]
        # By Markov's inequality P(frequency >= tau) <= low / tau too.
        assert min(max(tails), low / threshold) <= bound * low * (1 + 1e-9)
        if threshold > 0.5 + low**2:  # where the theorem says something
            assert max(tails) == pytest.approx(bound * low)


def _unimodal_tail(n_pairs, mean, least, mode):
    """Return max P(X >= least / B) over the laws on 0, 1/B, ..., 1 with this mode and mean."""
    support = np.arange(n_pairs + 1)
    rises = []
    for i in range(n_pairs):
        row = np.zeros(n_pairs + 1)
        row[[i, i + 1]] = (1, -1) if i < mode else (-1, 1)
        rises.append(row)
    answer = linprog(
        -(support >= least).astype(float), A_ub=rises, b_ub=np.zeros(n_pairs),
        A_eq=[np.ones(n_pairs + 1), support / n_pairs], b_eq=[1.0, mean],
    )  # fmt: skip
    return -answer.fun if answer.status == 0 else 0.0


@pytest.mark.parametrize(("r", "mean", "least"), [(-0.5, 0.04, 3), (-0.25, 0.1, 4)])
def test_r_concave_tails_are_the_largest(r, mean, least):
    """Convex f^r of any form, by a general optimiser, come as near and no further."""
    largest = 6
    found = r_concave_tail(mean, least, largest, r)

    def law(x):
        # f^r = 1 + a slope, which grows: positive second differences are all there is to convexity.
        g = 1.0 + np.concatenate([[0.0], np.cumsum(np.cumsum(np.exp(x)))])
        f = g ** (1.0 / r)
        return f / f.sum()

    i = np.arange(largest + 1)
    best = 0.0
    rng = np.random.default_rng(0)
    for number in range(8):
        start = rng.uniform(-3, 6, largest)
        start[1:] = np.where(number % 2, -8, start[1:])  # every other one nearly a power
        answer = minimize(
            lambda x: -law(x)[least:].sum(), start, method="SLSQP", bounds=[(-12, 16)] * largest,
            constraints={"type": "eq", "fun": lambda x: law(x) @ i / largest - mean},
            options={"maxiter": 500},
        )  # fmt: skip
        if abs(law(answer.x) @ i / largest - mean) < 1e-7:
            best = max(best, -answer.fun)
    assert 0.99 * found <= best <= found + 1e-5


def test_r_concave_tails_of_extremes():
    """Laws that grow are allowed below twice the mean; none is above the largest value."""
    assert r_concave_tail(0.3, 5, 10, -0.5) == 1.0
    assert r_concave_tail(0.3, 11, 10, -0.5) == 0.0
    assert r_concave_tail(0.0, 3, 10, -0.5) == 0.0
    tails = [r_concave_tail(1e-10, least, 50, -0.5) for least in (2, 10, 25, 50)]
    assert 0 < tails[3] < tails[2] < tails[1] < tails[0] < 1e-10 * 50 / 2


# Pairs


def test_halves_are_alike_and_disjoint():
    """Of every class each half has as many rows; the odd one is another one each time."""
    labels = np.array(["a"] * 11 + ["b"] * 6 + ["c"] * 3)
    weight = np.ones(20)
    weight[[0, 19]] = 0
    pairs = half_samples(labels, weight, 30, 0)
    used = set()
    for first, second in pairs:
        assert not set(first) & set(second)
        for half in (first, second):
            assert (np.diff(half) > 0).all()
            assert [int((labels[half] == one).sum()) for one in "abc"] == [5, 3, 1]
        used |= {*first.tolist(), *second.tolist()}
    assert used == set(range(1, 19))
    again = half_samples(labels, weight, 30, 0)
    assert all(np.array_equal(a, b) for a, b in zip(sum(pairs, ()), sum(again, ()), strict=True))
    # Of numbers: 7 of 15 rows in each.
    assert {half.size for pair in half_samples(None, np.ones(15), 5, 1) for half in pair} == {7}


# Choices


def chosen(model, X, y, weight=None):
    """The model with the C and the method that its fit of all rows chooses, for all halves."""
    fit = clone(model).fit(X, y, weight)
    if getattr(model, "C", None) != "auto" or not hasattr(fit, "method_"):
        return model
    return clone(model).set_params(C=fit.C_, method=fit.method_)


def separate(model, X, y, pairs, weight=None):
    """The features that fits of the halves by themselves have, as a mask of all columns."""
    found, model = [], chosen(model, X, y, weight)
    for rows in itertools.chain(*pairs):
        own = None if weight is None else weight[rows]
        support = clone(model).fit(X[rows], y[rows], own).support_
        found.append(np.isin(np.arange(X.shape[1]), support))
    return np.array(found)


def mask(stability, p):
    """What the halves chose, as a mask of all columns."""
    found = np.zeros((len(stability.chosen), p), bool)
    found[:, stability.features] = stability.chosen
    return found


def cases():
    """An estimator, a target for it, and whether halves have its classes."""
    _X, y = sample()
    order = np.argsort(np.argsort(y))
    times = np.array(
        list(zip(order % 4 > 0, np.exp(-y), strict=True)), [("event", bool), ("time", float)]
    )
    signs = np.zeros(24)
    signs[1] = 1
    plain = {"calibrate": False}
    return {
        "classes": (BudgetClassifier(3, **plain), y > 0.3, True),
        "three classes": (BudgetClassifier(3, **plain), order // 14, True),
        "one against the rest": (
            BudgetClassifier(2, multi_class="ovr", **plain),
            order // 14,
            True,
        ),
        "weights of classes": (BudgetClassifier(3, class_weight="balanced", **plain), y > 1, True),
        "numbers": (BudgetRegressor(3), y, False),
        "counts": (BudgetRegressor(2, loss="poisson"), order // 5, False),
        "responses": (BudgetRegressor(3), np.column_stack([y, -y + order]), False),
        "greedy": (BudgetRegressor(3, method="greedy"), y, False),
        "l1": (BudgetRegressor(3, method="l1"), y, False),
        "signs": (BudgetRegressor(3, signs=signs), y, False),
        "times": (BudgetSurvivalAnalysis(3), times, "events"),
        "measure": (MeasureClassifier(n_features=3), y > 0.3, True),
        "in few groups": (
            BudgetRegressor(4, n_groups=2, feature_groups=np.arange(24) // 4),
            y,
            False,
        ),
    }


@pytest.mark.parametrize("name", cases())
def test_halves_choose_as_fits_of_their_rows(name):
    """One pass for all halves changes nothing: every half is a fit of its rows alone."""
    model, y, classes = cases()[name]
    X = sample()[0]
    found = StabilitySelection(model, 2, random_state=5).fit(X, y).stability_
    strata = {True: y, False: None, "events": y["event"] if classes == "events" else None}[classes]
    pairs = half_samples(strata, np.ones(len(X)), 2, 5)
    assert np.array_equal(mask(found, 24), separate(model, X, y, pairs))
    assert found.n_chosen >= found.chosen.sum(axis=1).max()
    if name not in ("one against the rest", "in few groups"):
        assert (found.chosen.sum(axis=1) == found.n_chosen).all()


def test_whole_groups_are_counted():
    """Of groups as a whole the groups are chosen, and their features are stable together."""
    X, y = sample()
    labels = np.array([f"g{j}" for j in np.arange(24) // 3])
    model = BudgetRegressor(n_groups=2, feature_groups=labels)
    found = StabilitySelection(model, 6).fit(X, y)
    record = found.stability_
    assert (record.unit, record.n_candidates, record.n_chosen) == ("groups", 8, 2)
    assert (record.chosen.sum(axis=1) == 2).all()
    assert found.support_[:3].tolist() == [0, 1, 2]
    assert found.support_.size == 3 * record.stable(found.threshold_).size
    assert record.names[0] == "g0"
    assert "groups" in repr(record)


def test_weights_and_rows_without_weight():
    """Weights go with their rows; rows of weight 0 are not there."""
    X, y = sample()
    weight = np.linspace(0.5, 2, 40)
    weight[[3, 7]] = 0
    model = BudgetRegressor(3)
    found = StabilitySelection(model, 3).fit(X, y, weight).stability_
    used = np.flatnonzero(weight)
    pairs = half_samples(None, np.ones(used.size), 3, 0)
    assert np.array_equal(mask(found, 24), separate(model, X[used], y[used], pairs, weight[used]))


def test_features_of_every_model_are_not_counted():
    """Forced features and covariates are neither candidates nor stable."""
    X, y = sample()
    model = BudgetRegressor(3, C=0.1, forced_features=[0], covariates=[1])
    for screen in (None, 12):
        found = StabilitySelection(model, 4, screen=screen).fit(X, y)
        record = found.stability_
        assert (record.n_chosen, record.n_candidates) == (2, 22)
        assert not np.isin([0, 1], record.features).any()
        assert (record.chosen.sum(axis=1) == 2).all()
        assert found.support_.tolist() == [2]


@pytest.mark.parametrize(("sparse", "standardize"), [(False, True), (True, True), (False, False)])
def test_screened_halves_choose_among_their_largest_scores(sparse, standardize):
    """As a fit of the features whose correlations on the half are largest, by plain NumPy."""
    X, y = sample(p=60)
    X = X * np.linspace(1, 3, 60) + (0 if sparse else 5)
    if sparse:
        X[np.random.default_rng(1).random(X.shape) < 0.3] = 0
    model = BudgetRegressor(3, standardize=standardize)
    given = sp.csr_array(X) if sparse else X
    found = StabilitySelection(model, 2, screen=20).fit(given, y).stability_
    halves = itertools.chain(*half_samples(None, np.ones(40), 2, 0))
    model = chosen(model, given, y)
    for rows, own in zip(halves, mask(found, 60), strict=True):
        part = X[rows]
        scores = np.abs(part.T @ (y[rows] - y[rows].mean()))
        scores = scores / part.std(axis=0) if standardize else scores
        best = np.sort(np.argsort(-scores)[:20])
        fit = clone(model).fit(given[rows][:, best], y[rows])
        assert np.flatnonzero(own).tolist() == best[fit.support_].tolist()


@pytest.mark.parametrize("name", ["classes", "three classes", "responses", "times"])
def test_screening_that_leaves_out_little_changes_little(name):
    """Among all but the two features of the least scores the choices are the same."""
    model, y, _ = cases()[name]
    X = sample()[0]
    whole, screened = (
        StabilitySelection(model, 2, screen=one).fit(X, y).stability_ for one in (None, 22)
    )
    assert np.array_equal(mask(whole, 24), mask(screened, 24))


def test_storages_agree(tmp_path):
    """A store is read as the array is, and names come from it."""
    X, y = sample()
    X = X.astype(np.float32)
    write_store(X, tmp_path / "store")
    models = [
        StabilitySelection(BudgetRegressor(3), 2, screen=screen).fit(data, y)
        for data in (X, tmp_path / "store")
        for screen in (None, 9)
    ]
    whole, screened = models[:2]
    for one, other in ((whole, models[2]), (screened, models[3])):
        assert np.array_equal(one.stability_.chosen, other.stability_.chosen)
    assert models[2].transform(tmp_path / "store").shape == (40, whole.support_.size)


def test_halves_in_several_passes(monkeypatch):
    """Where memory is short halves come one after the other, and choose the same."""
    X, y = sample()
    whole = [StabilitySelection(BudgetRegressor(3), 2, screen=one).fit(X, y) for one in (None, 9)]
    monkeypatch.setattr("zeronorm.inference.stability.machine_memory", lambda: 3e4)
    parts = [StabilitySelection(BudgetRegressor(3), 2, screen=one).fit(X, y) for one in (None, 9)]
    for one, other in zip(whole, parts, strict=True):
        assert np.array_equal(one.stability_.chosen, other.stability_.chosen)


def test_halves_go_on_from_a_checkpoint(tmp_path):
    """The scans of halves are kept, and a second run has the same choices from them."""
    X, y = sample()
    model = BudgetRegressor(3, checkpoint=tmp_path / "kept")
    first, again = (StabilitySelection(model, 2).fit(X, y).stability_ for _ in range(2))
    plain = StabilitySelection(BudgetRegressor(3), 2).fit(X, y).stability_
    assert np.array_equal(first.chosen, plain.chosen)
    assert np.array_equal(again.chosen, plain.chosen)
    assert (tmp_path / "kept").stat().st_size > 0


def test_offsets_go_with_their_rows():
    """What is known before is taken off every half."""
    X, y = sample()
    offset = np.linspace(-3, 3, 40)
    given = StabilitySelection(BudgetRegressor(3), 3).fit(X, y + offset, offset=offset).stability_
    plain = StabilitySelection(BudgetRegressor(3), 3).fit(X, y).stability_
    assert np.array_equal(given.chosen, plain.chosen)


# Results


def record(chosen, q, p):
    """The record of halves that chose columns of a mask."""
    return Stability(np.arange(chosen.shape[1]), chosen, q, p, 20)


def test_frequencies_and_the_stable_set():
    """Shares of halves, and of pairs; a threshold counts as reached where it is equal."""
    chosen = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 0], [1, 1, 0]], bool)
    found = record(chosen, 2, 50)
    assert found.frequency.tolist() == [1, 0.75, 0.25]
    assert found.simultaneous.tolist() == [1, 0.5, 0]
    assert found.stable(0.75).tolist() == [0, 1]
    assert found.stable(0.76).tolist() == [0]
    assert found.expected_low(1.0) == pytest.approx(4 / 50)
    assert found.least_threshold(0.17) == 0.75
    assert found.expected_low(1.0, low=0.5) == pytest.approx(1.0)
    assert found.expected_low(0.75, low=1) == pytest.approx(2 / 0.75)  # as many can be stable


def test_the_index_is_the_mean_agreement_of_two_sets():
    """Of sets of k: the mean of (|A and B| - k^2/d) / (k - k^2/d) over all pairs of sets."""
    rng = np.random.default_rng(0)
    d, k = 30, 4
    chosen = np.array([np.isin(np.arange(d), rng.choice(12, k, replace=False)) for _ in range(10)])
    found = record(chosen, k, d)
    by_lot = k * k / d
    agreed = [(a & b).sum() for a, b in itertools.combinations(chosen, 2)]
    assert found.index == pytest.approx((np.mean(agreed) - by_lot) / (k - by_lot))
    low, high = found.index_interval()
    narrow = found.index_interval(0.5)
    assert low < narrow[0] < found.index < narrow[1] < high
    same = record(np.repeat(chosen[:1], 10, axis=0), k, d)
    assert same.index == pytest.approx(1)
    assert same.index_interval() == pytest.approx((1, 1))
    assert np.isnan(record(np.ones((4, 3), bool), 3, 3).index)


def test_the_error_of_the_index_is_that_of_leaving_out_sets():
    """The jackknife over sets, which knows no formula, gives nearly the same error."""
    rng = np.random.default_rng(1)
    d, k = 40, 5
    chance = np.r_[np.full(5, 0.9), np.full(35, 0.1)]
    chosen = np.zeros((200, d), bool)
    for row in chosen:
        row[np.argsort(rng.random(d) / chance)[:k]] = True
    found = record(chosen, k, d)
    low, high = found.index_interval(0.6826894921)
    left = [record(np.delete(chosen, b, axis=0), k, d).index for b in range(200)]
    error = np.sqrt(199 / 200 * ((left - np.mean(left)) ** 2).sum())
    assert (high - low) / 2 == pytest.approx(error, rel=0.05)


def test_golub_as_a_selector():
    """As scikit-learn's selectors: support, names, transform; the text has the genes by name."""
    golub = load_golub()
    X = pandas.DataFrame(golub.X[:, :200], columns=golub.feature_names[:200])
    found = StabilitySelection(BudgetClassifier(10, calibrate=False), 5, threshold=0.55).fit(
        X, golub.y
    )
    names = found.get_feature_names_out()
    assert found.transform(X).shape == (38, found.support_.size)
    assert found.get_support().sum() == found.support_.size > 0
    assert names.tolist() == [golub.feature_names[j] for j in found.support_]
    text = repr(found.stability_)
    assert text.startswith("5 pairs of half-samples of 18 rows; each chose 10 of 200 features.")
    assert names[0] in text
    assert "chosen by" in text
    assert clone(found).get_params()["threshold"] == 0.55


def test_the_threshold_of_a_bound():
    """The least threshold whose bound is small enough; where none is, the message says so."""
    X, y = sample()
    model = BudgetRegressor(3)
    found = StabilitySelection(model, threshold=None, expected_low=0.8, n_pairs=10).fit(X, y)
    assert found.expected_low_ <= 0.8 < found.stability_.expected_low(found.threshold_ - 0.05)
    tight = StabilitySelection(
        model, threshold=None, expected_low=0.8, n_pairs=10, assume="r-concave"
    ).fit(X, y)
    assert tight.threshold_ < found.threshold_
    with pytest.raises(ValueError, match=r"expected_low must be at least 0\.375.*got 0\.01"):
        StabilitySelection(model, threshold=None, expected_low=0.01).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"threshold": 0.5}, r"threshold must be above 0\.5 and at most 1.*got 0\.5"),
        ({"threshold": 1.1}, r"threshold must be above 0\.5"),
        ({"threshold": "high"}, r"threshold must be above.*got 'high'"),
        ({"threshold": None}, r"threshold and expected_low are one or the other"),
        ({"expected_low": 1.0}, r"threshold and expected_low are one or the other"),
        ({"threshold": None, "expected_low": -1}, r"expected_low must be a positive"),
        ({"n_pairs": 0}, r"n_pairs must be an integer of at least 1; got 0"),
        ({"assume": "normal"}, r"assume must be one of 'none', 'unimodal', 'r-concave'"),
        ({"random_state": -1}, r"random_state must be None or an integer"),
        ({"screen": 0}, r"screen must be an integer of at least 1"),
        ({"screen": 2}, r"screen must be at least 3, the features that a half chooses; got 2"),
        ({"estimator": BudgetRegressor([1, 2])}, r"n_features must be one size.*sizes 1, 2\."),
        ({"estimator": BudgetRegressor(3, criterion="bic")}, r"must be one size without a crit"),
        ({"estimator": BudgetRegressor(20)}, r"n_features must be at most 19.*20 rows.*got 20"),
        ({"estimator": BudgetRegressor(1, forced_features=[4])}, r"leave something to choose"),
    ],
)
def test_what_cannot_be(parameters, message):
    """One error names the parameter, the rule and what was got."""
    X, y = sample()
    with pytest.raises(ValueError, match=message):
        StabilitySelection(**({"estimator": BudgetRegressor(3)} | parameters)).fit(X, y)


def test_data_that_cannot_be():
    """Too few rows or members of a class, columns that a half has not, estimators of others."""
    X, y = sample()
    with pytest.raises(
        ValueError, match=r"n_pairs must be at most 35, the different pairs.*8 rows"
    ):
        StabilitySelection(BudgetRegressor(1)).fit(X[:8], y[:8])
    with pytest.raises(
        ValueError, match=r"at least two rows .*of every class.*got one of class True"
    ):
        StabilitySelection(BudgetClassifier(1)).fit(X, np.arange(40) == 3)
    rare = np.zeros((40, 3))
    rare[:2, 0] = 1
    rare[:, 1:] = X[:, 1:3]
    with pytest.raises(ValueError, match=r"got 3\. These are the 20 rows of half-sample \d"):
        StabilitySelection(BudgetRegressor(3)).fit(rare, y)
    with pytest.raises(TypeError, match=r"estimator must be one of zeronorm.*got BudgetCV"):
        StabilitySelection(BudgetCV(BudgetRegressor(3))).fit(X, y)
    groups = BudgetRegressor(n_groups=2, feature_groups=np.arange(24) // 3)
    with pytest.raises(ValueError, match=r"screen must be None with groups"):
        StabilitySelection(groups, screen=10).fit(X, y)
    found = StabilitySelection(BudgetRegressor(3), 3).fit(X, y).stability_
    for wrong in (0, 1.5):
        with pytest.raises(ValueError, match="confidence_level must be between 0 and 1"):
            found.index_interval(1 if wrong == 0 else wrong)
        with pytest.raises(ValueError, match="low must be a probability"):
            found.expected_low(0.8, low=wrong)


@pytest.mark.parametrize("screen", [None, 9])
def test_pairs_with_a_half_that_has_no_model_are_left_out(screen):
    """A rare level that determines the class on some halves costs these pairs, no others."""
    X, y = sample(60, 12)
    y = (y > 0).astype(int)
    X[:, 9] = 0.0
    X[[*np.flatnonzero(y == 0)[:3], *np.flatnonzero(y == 1)[:3]], 9] = 1.0
    selection = StabilitySelection(
        BudgetClassifier(3, covariates=[9], calibrate=False), 6, screen=screen
    )
    with pytest.warns(
        UserWarning, match=r"\d of 6 pairs .*left out.*in column '?9'? none has"
    ) as told:
        found = selection.fit(X, y).stability_
    assert told[0].filename == __file__
    assert {one.at_fault.columns for one in selection._left_out} == {(9,)}
    pairs = half_samples(y, np.ones(60), 6, 0)
    alike = [
        all(X[half, 9].any() and {*y[half[X[half, 9] == 1]]} == {0, 1} for half in pair)
        for pair in pairs
    ]
    assert 0 < sum(alike) < 6
    assert found.n_pairs == sum(alike)
    assert len(found.left_out) == 6 - sum(alike)
    assert f"{len(found.left_out)} more pairs are left out" in repr(found)
    if screen is None:
        halves = [half for pair, good in zip(pairs, alike, strict=True) if good for half in pair]
        for half, chosen in zip(halves, found.chosen, strict=True):
            fit = clone(selection.estimator).fit(X[half], y[half])
            assert {*found.features[chosen]} == {*fit.support_}
    X[:, 9] = 0.0
    X[[np.flatnonzero(y == one)[0] for one in (0, 1)], 9] = 1.0
    with pytest.raises(ValueError, match=r"column '?9'?.*None of 6 pairs of half-samples"):
        selection.fit(X, y)


# The command


def test_the_command_names_the_covariate_of_pairs_left_out(run):
    """By its column, not its number; the pairs that are left are counted."""
    X, y = sample(60, 12)
    level = np.full(60, "A")
    level[[*np.flatnonzero(y <= 0)[:3], *np.flatnonzero(y > 0)[:3]]] = "C"
    frame = pandas.DataFrame(X, columns=[f"g{j}" for j in range(12)])
    frame.assign(batch=level, y=np.where(y > 0, "case", "control")).to_csv("d.csv", index=False)
    found, notes = told(
        run, "d.csv", "--target", "y", "-k", 2, "--covariates", "batch", "--stability", 6
    )
    assert found["n_left_out"] > 0
    assert found["n_pairs"] + found["n_left_out"] == 6
    (note,) = [note for note in notes if "in column 'batch=C' none has" in note]
    assert "pass it as one of --force, which" in note


def told(run, *arguments, **more):
    """What the command tells of stability, and its notes."""
    shown = run("select", *arguments, "--no-cv", "--no-save", "--json", **more)
    document = json.loads(shown.stdout)
    return document["stability"], document["notes"]


def test_the_command_counts_as_the_class_does(run):
    """At the size that is chosen, with the options of the selection; nothing unless asked for."""
    found, _ = told(run, GOLUB, "-k", "1:4", "--rule", "bic", "--stability", 6)
    golub = load_golub()
    fit = BudgetClassifier(4, criterion="bic", calibrate=False).fit(golub.X, golub.y)
    alone = StabilitySelection(BudgetClassifier(fit.size_), 6).fit(golub.X, golub.y)
    record = alone.stability_
    assert found["n_chosen"] == fit.size_
    assert found["expected_low"] == alone.expected_low_
    assert found["n_stable"] == alone.support_.size
    shares = {row["index"]: (row["frequency"], row["by_both"]) for row in found["features"]}
    assert {j: one for j, one in shares.items() if one[0]} == {
        j: (share, both)
        for j, share, both in zip(
            record.features.tolist(), record.frequency, record.simultaneous, strict=True
        )
    }
    assert {row["index"] for row in found["features"] if row["in_model"]} == {*fit.support_}
    assert told(run, GOLUB, "-k", 2)[0] is None


def test_the_command_says_it_in_words(run):
    """The features of the model by how often halves choose them, and what is guaranteed."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 30))
    y = X[:, 4] + X[:, 7] + 0.3 * rng.standard_normal(60)
    np.savez("data.npz", X=X, y=y)
    data = ("select", "data.npz", "--task", "numbers", "--no-cv", "--no-save")
    text = " ".join(run(*data, "-k", 3, "--stability", 10).stdout.split())
    assert "2 features chosen by 75% or more of 20 half-samples of 30 samples, 3 on each" in text
    assert "those of the model: 4 100%, 7 100%," in text
    assert "by 75% or more, at most 0.6 are expected to be there by chance." in text
    forced, _ = told(run, "data.npz", "--task", "numbers", "-k", 2, "--force", 9, "--stability", 3)
    assert forced["n_chosen"] == 1
    assert 9 not in {row["index"] for row in forced["features"]}
    groups = [(str(j), str(j // 3)) for j in range(30)]
    with open("groups.tsv", "w") as file:
        file.writelines(f"{feature}\t{group}\n" for feature, group in groups)
    few, _ = told(
        run, "data.npz", "--task", "numbers", "-k", 2, "--groups", 2, "--group-file", "groups.tsv",
        "--stability", 3,
    )  # fmt: skip
    assert few["n_stable"] == 2
    np.savez("classes.npz", X=X, y=y > 0)
    measured, _ = told(run, "classes.npz", "-k", 2, "--measure", "f1", "--stability", 3)
    assert measured["n_chosen"] == 2


def test_what_the_command_leaves_out_it_says(run, fails, monkeypatch):
    """A model would be lost where halves are too small for its size, or by Ctrl-C."""
    found, notes = told(run, GOLUB, "-k", 20, "--stability", 3)
    assert found is None
    assert notes[-1].startswith("no stability: --features must be at most 17")
    assert "--stability must be at least 1 pair" in fails(
        "select", GOLUB, "-k", 2, "--stability", 0
    )

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(of_halves.StabilitySelection, "fit", interrupted)
    found, notes = told(run, GOLUB, "-k", 2, "--stability", 3, code=130)
    assert found is None
    assert notes[-1] == "interrupted in the stability, which is left out"

"""Virtual dummies against drawn ones, votes against their law, stand-ins against a formula."""

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from scipy import stats

from zeronorm import write_store
from zeronorm.data import as_design
from zeronorm.data.operations import center_scale
from zeronorm.inference.false_discoveries import (
    POWER,
    Candidates,
    Competition,
    Dummies,
    Experiments,
    FalseDiscoverySelector,
    adjust,
    after,
    before,
    best_of,
    compete,
    coordinates,
    exceeding,
    expected_false,
    stand_ins,
)


def sample(n=120, p=200, seed=0):
    """Numbers, and a target that the first three columns make."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] - X[:, 1] + X[:, 2] + rng.standard_normal(n)


def standardised(X):
    design = center_scale(as_design(X), np.ones(len(X)), center=True)
    return design, design.scale > 0


# Virtual dummies


def drawn(X, y, n_dummies, n_entered, rng, free):
    """Forward selection among columns that are there: features before dummies, and how many.

    free : an orthonormal basis of what is in every model.
    """
    n, p = X.shape
    both = np.column_stack([X, rng.standard_normal((n, rng.poisson(n_dummies)))])
    both -= free @ (free.T @ both)
    residual, basis = y - free @ (free.T @ y), np.empty((n, 0))
    features, dummies = [], 0
    while dummies < n_entered and basis.shape[1] < n // 2:
        beside = both - basis @ (basis.T @ both)
        norm = np.linalg.norm(beside, axis=0)
        t = np.where(norm > 1e-6, np.abs(beside.T @ residual) / np.maximum(norm, 1e-6), 0)
        best = int(np.argmax(t))
        if best < p:
            features.append(best)
        else:
            dummies += 1
        column = beside[:, best] / norm[best]
        basis = np.column_stack([basis, column])
        residual = residual - column * (column @ residual)
    return features


@pytest.mark.parametrize(("n_entered", "n_covariates"), [(1, 0), (3, 0), (3, 6)])
def test_virtual_dummies_are_as_drawn_ones(n_entered, n_covariates):
    """How often each feature enters before so many dummies, and how many enter."""
    draws, n_dummies = 500, 15
    rng = np.random.default_rng(1)
    X = rng.standard_normal((24, 12))
    y = 0.6 * X[:, :3].sum(axis=1) + rng.standard_normal(24)
    A = rng.standard_normal((24, n_covariates))
    y, X = y + 2 * A.sum(axis=1), X + A[:, :1] if n_covariates else X
    part, free = adjust(y, A)
    first = np.zeros((draws, 12))
    for row, seed in zip(first, range(draws), strict=True):
        row[drawn(X, y, n_dummies, n_entered, np.random.default_rng([1, seed]), free)] = 1
    dummies = [Dummies(np.random.default_rng([2, seed]), n_dummies) for seed in range(draws)]
    if n_covariates:
        beside = compete(*standardised(X), part, free)
        experiments = Experiments(beside.design, beside.left, beside.y, dummies, 12, free)
    else:
        experiments = Experiments(*standardised(X), y, dummies, 12)
    experiments.run(n_entered)
    second = np.zeros((draws, 12))
    for row, one in zip(second, experiments.all, strict=True):
        row[one.before_dummy(n_entered)] = 1
    share = 0.5 * (first.mean(axis=0) + second.mean(axis=0))
    error = np.sqrt(2.0 * share * (1.0 - share) / draws) + 1e-3
    assert np.abs(first.mean(axis=0) - second.mean(axis=0)).max() < (4.0 * error).max()
    assert (np.abs(first.mean(axis=0) - second.mean(axis=0)) < 4.5 * error).all()
    assert stats.mannwhitneyu(first.sum(axis=1), second.sum(axis=1)).pvalue > 1e-4
    assert first.mean() > 0.1


def test_the_next_partial_correlation_has_the_law_of_the_last():
    """One dimension less each time, forward and back, and the pair is that of drawn points."""
    rng, size, entered = np.random.default_rng(0), 20_000, 0.6
    points = rng.standard_normal((size, 9))
    points /= np.linalg.norm(points, axis=1)[:, None]
    column = np.zeros(9)
    column[:2] = entered, 0.8
    rest = points - np.outer(points @ column, column)
    rest /= np.linalg.norm(rest, axis=1)[:, None]
    residual = np.zeros(9)
    residual[:2] = 0.8, -entered
    pairs = np.column_stack([points[:, 0], rest @ residual])
    forward = coordinates(rng, 9, size)
    forward = np.column_stack([forward, after(rng, forward, entered, 9)])
    back = coordinates(rng, 8, size)
    back = np.column_stack([before(rng, back, entered, 9), back])
    for one in (forward, back):
        for mine, theirs in zip(one.T, pairs.T, strict=True):
            assert stats.ks_2samp(mine, theirs).pvalue > 1e-3
        assert np.corrcoef(one.T)[0, 1] == pytest.approx(np.corrcoef(pairs.T)[0, 1], abs=0.03)
        assert stats.ks_2samp(one.sum(axis=1), pairs.sum(axis=1)).pvalue > 1e-3
    many = [exceeding(rng, 9, 100.0, 0.5).size for _ in range(2000)]
    assert np.mean(many) == pytest.approx(100 * (np.abs(points[:, 0]) > 0.5).mean(), rel=0.05)
    assert np.var(many) == pytest.approx(np.mean(many), rel=0.15)


def test_many_dummies_ask_for_more():
    """Of each feature; with few the votes say less, since each stands for many features."""
    X, y = sample()
    many = FalseDiscoverySelector(n_dummies=200_000).fit(X, y)
    assert many.discoveries_.n_dummies == 200_000
    few = FalseDiscoverySelector(n_dummies=20).fit(X, y)
    assert many.support_.size > 0
    assert set(many.support_) <= {0, 1, 2}
    # All votes at the first dummy are expected of 10 / 20 features: 5 have to be found.
    assert few.support_.size == 0 or few.support_.size >= 5
    with pytest.raises(ValueError, match=r"n_dummies must be at most 200,000.*got 200,001"):
        FalseDiscoverySelector(n_dummies=200_001).fit(X, y)


# Votes


def test_votes_of_features_without_effect():
    """With one dummy the sum of 1 / i; with more against a simulation of its own."""
    for votes in (11, 16, 20):
        assert expected_false(votes, 20, 1) == pytest.approx(
            sum(1 / one for one in range(votes, 21)), rel=1e-3
        )
    rng, least = np.random.default_rng(0), 0.0
    places = np.linspace(0, 12, 1001)
    for place in places:
        least += (rng.binomial(20, stats.poisson.cdf(2, place), 200) >= 14).mean()
    assert expected_false(14, 20, 3) == pytest.approx(least * 12 / 1000, rel=0.02)


def test_votes_are_as_many_as_expected_where_nothing_has_an_effect():
    """With the first dummy exactly; this is what the estimate rests on."""
    rng, counts, draws = np.random.default_rng(3), np.zeros(21), 200
    for draw in range(draws):
        X, y = rng.standard_normal((30, 40)), rng.standard_normal(30)
        dummies = [Dummies(np.random.default_rng([draw, one]), 40) for one in range(20)]
        experiments = Experiments(*standardised(X), y, dummies, 15)
        experiments.run(1)
        counts += (experiments.votes(1)[1][:, None] >= np.arange(21)).sum(axis=0)
    for votes in (11, 15, 18):
        expected = expected_false(votes, 20, 1)
        assert abs(counts[votes] / draws - expected) < 4 * np.sqrt(2 * expected / draws)


# Stand-ins


@pytest.mark.parametrize("n_covariates", [0, 3])
def test_stand_ins_are_those_of_fits(n_covariates):
    """By fits of the model with each rival in the place of each feature, beside covariates."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 40))
    X[:, 1] = X[:, 0] + 0.3 * rng.standard_normal(60)
    X[:, 2] = X[:, 0] + 0.5 * rng.standard_normal(60)
    y = X[:, 0] + X[:, 7] + rng.standard_normal(60)
    A = rng.standard_normal((60, n_covariates))
    if n_covariates:
        X, y = X + 0.5 * A[:, :1], y + A.sum(axis=1)
    chosen = np.array([0, 7, 9])
    design, usable = standardised(X)
    competition = Competition(design, usable, y)
    if n_covariates:
        competition = compete(design, usable, *adjust(y, A))
    doubt, rivals = stand_ins(competition, chosen)
    d = 57 - n_covariates
    residual = lambda Z, v: v - Z @ np.linalg.lstsq(Z, v, rcond=None)[0]  # noqa: E731
    for place, j in enumerate(chosen):
        rest = np.column_stack([np.ones(60), A, X[:, np.delete(chosen, place)]])
        own = residual(rest, X[:, j])
        likelihood = {}
        for i in range(40):
            other = residual(rest, X[:, i])
            if np.linalg.norm(other) < 1e-6:
                continue
            r = own @ other / np.linalg.norm(own) / np.linalg.norm(other)
            # One of 40 independent ones has so large a correlation.
            limit = stats.beta.isf(1 / 40, 0.5, 0.5 * (d - 1)) ** 0.5
            if i == j or abs(r) > limit:
                errors = residual(np.column_stack([rest, X[:, i]]), y)
                likelihood[i] = (errors @ errors) ** (-0.5 * POWER * d)
        total = sum(likelihood.values())
        assert doubt[place] == pytest.approx(1 - likelihood.pop(j) / total, abs=1e-6)
        if likelihood:
            assert rivals[place] == max(likelihood, key=likelihood.get)
        else:
            assert rivals[place] == -1
    assert doubt[0] > 0.01


def test_of_copies_neither_is_found():
    """Which one is meant cannot be known; the others are found all the same."""
    X, y = sample()
    X[:, 50] = -2 * X[:, 1] + 3
    found = FalseDiscoverySelector().fit(X, y)
    assert set(found.support_) >= {0, 2}
    assert not {1, 50} & set(found.support_)
    record = found.discoveries_
    place = int(np.flatnonzero(record.features == 1)[0])
    assert record.stand_in[place] >= 0.5
    assert record.rivals[place] == 50
    assert "(not counted)" in repr(record)


def test_the_choice_among_candidates():
    """The most discoveries; estimates are the expected false ones and stand-ins over them."""
    votes = np.full(4, 1.0)
    large = Candidates(np.arange(4), votes, 0.1, 0.6, 2)
    small = Candidates(np.arange(2), votes[:2], 0.05, 1.0, 1)
    doubts = {4: np.array([0.0, 0.9, 0.1, 0.0]), 2: np.array([0.0, 0.0])}
    asked = []

    def ask(features):
        asked.append(features.size)
        return doubts[features.size], np.full(features.size, -1)

    one, doubt, _, n_found, share = best_of([small, large], 0.1, ask)
    assert (one.features.tolist(), n_found) == ([0, 3, 2, 1], 3)
    assert share == pytest.approx((0.1 + 0.1) / 3)
    assert doubt.tolist() == [0.0, 0.0, 0.1, 0.9]
    assert asked == [4]  # the small one has too few
    assert best_of([small, large], 0.04, ask)[3] == 2


# The selector


def test_true_features_are_found():
    """Whatever the scale, and the seed decides the rest."""
    X, y = sample(seed=4)
    for scale in (1e-6, 1e6):
        found = FalseDiscoverySelector().fit(scale * X + 3 * scale, scale * y - 7)
        assert set(found.support_) >= {0, 1, 2}
        assert found.support_.size <= 5
    record = found.discoveries_
    assert record.estimate <= 0.1
    assert record.found.tolist() == found.support_.tolist()
    again = FalseDiscoverySelector().fit(1e6 * X + 3e6, 1e6 * y - 7)
    assert np.array_equal(again.discoveries_.votes, record.votes)


def test_storages_agree(tmp_path):
    """Votes are the same for any storage, a data frame has names."""
    X, y = sample()
    X[np.abs(X) < 0.4] = 0
    write_store(X, tmp_path / "store")
    np.save(tmp_path / "x.npy", X)
    first = FalseDiscoverySelector().fit(X, y)
    for given in (sp.csr_array(X), tmp_path / "store", tmp_path / "x.npy", np.asfortranarray(X)):
        found = FalseDiscoverySelector().fit(given, y)
        assert np.array_equal(found.support_, first.support_)
        np.testing.assert_array_equal(found.discoveries_.votes, first.discoveries_.votes)
    frame = pandas.DataFrame(X, columns=[f"gene {one}" for one in range(X.shape[1])])
    named = FalseDiscoverySelector().fit(frame, y)
    assert named.get_feature_names_out().tolist() == [f"gene {one}" for one in first.support_]
    assert "gene 0" in repr(named.discoveries_)
    np.testing.assert_array_equal(np.asarray(named.transform(frame)), X[:, first.support_])
    assert named.get_support().sum() == first.support_.size


def test_two_classes_are_two_numbers():
    """Labels of any kind and order give the same."""
    X, y = sample()
    classes = y > 0
    first = FalseDiscoverySelector().fit(X, classes.astype(int))
    for labels in (classes, np.where(classes, "b", "a"), np.where(classes, -3.0, 5.0)):
        assert np.array_equal(FalseDiscoverySelector().fit(X, labels).support_, first.support_)


def test_a_target_without_errors():
    """The true features explain it; nothing is left to compare dummies with."""
    X, _ = sample()
    found = FalseDiscoverySelector().fit(X, X[:, :4].sum(axis=1))
    assert found.support_.tolist() == [0, 1, 2, 3]


def test_nothing_is_found_in_noise_and_constant_columns_are_no_features():
    """An empty set is a result."""
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((60, 100)), rng.standard_normal(60)
    X[:, 10:20] = 4.0
    found = FalseDiscoverySelector(fdr=0.01).fit(X, y)
    assert found.support_.size == 0
    assert found.discoveries_.n_candidates == 90
    assert found.discoveries_.n_dummies == 90
    assert "0 of 90 features" in repr(found.discoveries_)


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_the_share_of_false_discoveries(correlation):
    """At most the level, of independent features and of features in tens."""
    shares = []
    for draw in range(60):
        rng = np.random.default_rng([draw, 3])
        common = np.repeat(rng.standard_normal((200, 30)), 10, axis=1)
        own = rng.standard_normal((200, 300))
        X = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
        active = rng.choice(300, 8, replace=False)
        y = 0.6 * X[:, active].sum(axis=1) + rng.standard_normal(200)
        found = FalseDiscoverySelector().fit(X, y).support_
        shares.append((~np.isin(found, active)).sum() / max(1, found.size))
    assert np.mean(shares) < 0.1 + 2 * np.std(shares) / np.sqrt(60)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"fdr": 0}, r"fdr must be a rate above 0 and below 1; got 0"),
        ({"fdr": 1.0}, r"fdr must be a rate.*got 1\.0"),
        ({"fdr": "low"}, r"fdr must be a rate.*got 'low'"),
        ({"n_experiments": 1}, r"n_experiments must be at least 2; got 1"),
        ({"n_experiments": 2.5}, r"n_experiments must be an integer"),
        ({"n_dummies": 0}, r"n_dummies must be None or an integer of at least 1; got 0"),
        ({"n_threads": -1}, r"n_threads must be None or an integer"),
        ({"random_state": -1}, r"random_state must be None or an integer"),
    ],
)
def test_what_cannot_be(parameters, message):
    """One error names the parameter, the rule and what was got."""
    with pytest.raises(ValueError, match=message):
        FalseDiscoverySelector(**parameters).fit(*sample())


def test_data_that_cannot_be(monkeypatch):
    """Targets of other kinds, too few rows, nothing that varies, NaN, too little memory."""
    X, y = sample()
    wrong = [
        (np.ones(120), r"y must vary; got 120 times 1\.0"),
        (np.array(list("abc") * 40), r"y must be numbers, or two classes.*got 3 classes"),
        (np.column_stack([y, y]), r"y must be one column of numbers; got 2"),
        (np.zeros(120, [("event", bool), ("time", float)]), r"y must be"),
        (np.where(y > 2, np.nan, y), r"NaN"),
        (y[:50], r"inconsistent numbers of samples"),
    ]
    for target, message in wrong:
        with pytest.raises(ValueError, match=message):
            FalseDiscoverySelector().fit(X, target)
    with pytest.raises(ValueError, match=r"X must have at least 10 rows.*got 9"):
        FalseDiscoverySelector().fit(X[:9], y[:9])
    with pytest.raises(ValueError, match=r"constant"):
        FalseDiscoverySelector().fit(np.ones((120, 3)), y)
    Z = X.copy()
    Z[3, 7] = np.nan
    with pytest.raises(ValueError, match=r"NaN at row 3, column 7"):
        FalseDiscoverySelector().fit(Z, y)
    monkeypatch.setattr("zeronorm.inference.false_discoveries.machine_memory", lambda: 1000.0)
    with pytest.raises(ValueError, match=r"n_experiments must be smaller.*20 experiments"):
        FalseDiscoverySelector().fit(X, y)

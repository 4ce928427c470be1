"""Thresholds and decision curves against counting by hand."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline

from zeronorm import BudgetClassifier, BudgetCV, BudgetRegressor, MeasureClassifier
from zeronorm.thresholds import choose_threshold, decision_curve, held_out_probabilities


def drawn(seed=0, n=60):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    p = np.round(np.clip(0.3 + 0.3 * positive + 0.2 * rng.standard_normal(n), 0, 1), 2)
    return positive, p


def rates(positive, p, t):
    """Sensitivity, specificity, precision and counts, by counting."""
    found = p >= t
    tp, fp = int(np.sum(found & positive)), int(np.sum(found & ~positive))
    fn, tn = int(np.sum(~found & positive)), int(np.sum(~found & ~positive))
    return tp / (tp + fn), tn / (tn + fp), tp / max(1, tp + fp), fp, fn


def levels(p):
    return [*np.unique(p).tolist(), np.nextafter(p.max(), 2)]


@pytest.mark.parametrize("cost", [(1, 1), (1, 10), (10, 1), (0, 1), (1, 0)])
@pytest.mark.parametrize("seed", range(5))
def test_costs_are_the_least(cost, seed):
    """No other threshold costs less, and of equal ones it is the largest."""
    positive, p = drawn(seed)
    found = choose_threshold(positive, p, cost=cost)
    costs = {}
    for t in levels(p):
        _, _, _, fp, fn = rates(positive, p, t)
        costs[t] = (cost[0] * fp + cost[1] * fn) / p.size
    assert found.cost == pytest.approx(min(costs.values()))
    best = [t for t, value in costs.items() if value == pytest.approx(min(costs.values()))]
    assert found.threshold == max(best)


@pytest.mark.parametrize("name", ["sensitivity", "specificity", "precision"])
@pytest.mark.parametrize("least", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_rates_are_kept_at_the_least_price(name, least, seed):
    """The next threshold that gives less away does not have the rate any more."""
    positive, p = drawn(seed)
    place = ["sensitivity", "specificity", "precision"].index(name)
    having = [t for t in levels(p) if rates(positive, p, t)[place] >= least]
    if not having:
        with pytest.raises(ValueError, match="the highest is"):
            choose_threshold(positive, p, **{name: least})
        return
    found = choose_threshold(positive, p, **{name: least})
    assert found.threshold == (max(having) if name == "sensitivity" else min(having))
    sensitivity, specificity, precision, _, _ = rates(positive, p, found.threshold)
    assert found.sensitivity == pytest.approx(sensitivity)
    assert found.specificity == pytest.approx(specificity)
    assert found.share == pytest.approx(np.mean(p >= found.threshold))
    assert found.precision == pytest.approx(precision) or found.share == 0
    assert math.isnan(found.cost)


@pytest.mark.parametrize("t", [0.001, 0.3, 0.305, 0.5, 1.0])
def test_what_a_threshold_does(t):
    """A threshold of one's own would be judged by other rows than those that it finds."""
    positive, p = drawn(3)
    labels = np.where(positive, "ill", "well")
    found = choose_threshold(labels, p, at=t, pos_label="ill")
    sensitivity, specificity, _, _, _ = rates(positive, p, t)
    assert found.threshold == t
    assert (found.sensitivity, found.specificity) == (sensitivity, specificity)
    assert found.share == np.mean(p >= t)
    assert (found.pos_label, found.rule) == ("ill", f"{t:g}")


def test_thresholds_say_what_chose_them():
    """A file would not tell for what its model was tuned."""
    positive, p = drawn()
    assert choose_threshold(positive, p, cost=(1, 2.5)).rule == "cost=1:2.5"
    assert choose_threshold(positive, p, sensitivity=0.95).rule == "sensitivity=0.95"
    assert choose_threshold(positive, p, precision=0.2).pos_label is True


def test_decision_curve_by_hand():
    """Net benefit counts a false positive t / (1 - t) of a true one."""
    positive, p = drawn(1)
    t = np.array([0.1, 0.25, 0.4, 0.8])
    curve = decision_curve(np.where(positive, "yes", "no"), p, t)
    for place, threshold in enumerate(t):
        acted = p >= threshold
        odds = threshold / (1 - threshold)
        expected = (np.sum(acted & positive) - odds * np.sum(acted & ~positive)) / p.size
        assert curve.net_benefit[place] == pytest.approx(expected)
        everyone = (positive.sum() - odds * (~positive).sum()) / p.size
        assert curve.treat_all[place] == pytest.approx(everyone)


def test_probabilities_are_held_out():
    """They are those of a loop over the folds; of noise they are no better than chance."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 400)), np.repeat(["a", "b", "c"], 20)
    model = BudgetClassifier(n_features=4, calibrate=False)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    found = held_out_probabilities(model, X, y, cv=3, pos_label="b")
    for train, test in cv.split(X, y):
        expected = clone(model).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
        assert found[test] == pytest.approx(expected)
    with pytest.raises(ValueError, match="pos_label must say which of the 3 classes"):
        held_out_probabilities(model, X, y)


def test_parameters_that_name_labels_hold_in_folds():
    """The folds would know the labels by number, and refuse weights of the classes by name."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 10)), np.resize(["sick", "well"], 40)
    plain = BudgetClassifier(2, calibrate=False)
    equal, more = ({"well": 1.0, "sick": weight} for weight in (1.0, 20.0))
    p = held_out_probabilities(plain, X, y, pos_label="sick")
    same = held_out_probabilities(
        clone(plain).set_params(class_weight=equal), X, y, pos_label="sick"
    )
    assert same == pytest.approx(p)
    weighted = clone(plain).set_params(class_weight=more)
    assert np.mean(held_out_probabilities(weighted, X, y, pos_label="sick")) > p.mean()
    with pytest.raises(TypeError, match=r"have probabilities .*MeasureClassifier has scores alone"):
        held_out_probabilities(MeasureClassifier("f1", 2, pos_label="sick"), X, y)


def test_searches_and_pipelines_are_held_out_as_a_whole():
    """The choice of the number of features, and what stands before, are fitted in every fold."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 30))
    y = X[:, 0] + 0.5 * rng.standard_normal(50) > 0
    search = BudgetCV(BudgetClassifier(calibrate=False), n_features=[1, 3], cv=3)
    p = held_out_probabilities(search, X, y, cv=KFold(2))
    assert np.mean((p > 0.5) == y) > 0.7
    texts = np.array(["good fine day", "bad poor day", "good day", "poor day"] * 5, dtype=object)
    pipe = make_pipeline(TfidfVectorizer(), BudgetClassifier(n_features=2, calibrate=False))
    p = held_out_probabilities(pipe, texts, np.arange(20) % 2, cv=4)
    assert np.array_equal(p > 0.5, np.arange(20) % 2 == 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "one of cost, sensitivity, specificity, precision and at must be given; got 0"),
        ({"cost": (1, 2), "precision": 0.5}, "must be given; got 2"),
        ({"cost": (1, -2)}, "cost must be two numbers, not negative"),
        ({"cost": (0, 0)}, "not both 0"),
        ({"cost": 3}, "cost must be two numbers"),
        ({"sensitivity": 1.5}, "sensitivity must be above 0 and at most 1; got 1.5"),
        ({"precision": "high"}, "precision must be above 0 and at most 1"),
        ({"at": 0.0}, "at must be above 0 and at most 1; got 0"),
        ({"at": 0.5, "cost": (1, 1)}, "must be given; got 2"),
        ({"sensitivity": 0.5, "pos_label": "maybe"}, "pos_label must be one of False, True"),
    ],
)
def test_bad_thresholds(options, message):
    """A threshold of anything else would be acted upon."""
    with pytest.raises(ValueError, match=message):
        choose_threshold(*drawn(), **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probability": np.zeros((60, 2))}, "one for each of the 60 rows of y; got shape"),
        ({"probability": np.full(60, np.nan)}, "probability must be finite"),
        ({"probability": np.full(60, 3.0)}, "must be from 0 to 1 for a decision curve"),
        ({"y": np.ones(60)}, "y must have two classes; got 1"),
        ({"y": np.arange(60) % 3}, "which of the 3 classes is positive"),
        ({"thresholds": [0.5, 1.0]}, "thresholds must be above 0 and below 1"),
        ({"thresholds": [0.5, 0.2]}, "and grow"),
        ({"thresholds": []}, "thresholds must be"),
    ],
)
def test_bad_curves(change, message):
    """Scores that are no probabilities have no net benefit."""
    positive, p = drawn()
    with pytest.raises(ValueError, match=message):
        decision_curve(**{"y": positive, "probability": p, **change})


def test_bad_folds():
    """A fold without a class, or a model without probabilities, has none to hold out."""
    X, y = np.random.default_rng(0).standard_normal((12, 3)), np.repeat([0, 1], [9, 3])
    with pytest.raises(ValueError, match=r"n_splits|folds|cv"):
        held_out_probabilities(BudgetClassifier(n_features=1), X, y, cv=5)
    repeated = RepeatedStratifiedKFold(n_splits=3, n_repeats=2)
    with pytest.raises(
        ValueError, match=r"cv must hold out every row once.* got 24 .* rows for 12"
    ):
        held_out_probabilities(BudgetClassifier(n_features=1), X, y, cv=repeated)
    with pytest.raises(TypeError, match="must be a classifier; got BudgetRegressor"):
        held_out_probabilities(BudgetRegressor(n_features=1), X, y)


def test_a_rate_is_reached_where_it_is_met_exactly():
    """1 - 0.9 is below 0.1 in floating point."""
    y = [1] + [0] * 10
    score = [0.05] + [0.1 * j for j in range(10)]
    found = choose_threshold(y, score, specificity=0.1)
    assert found.specificity == 0.1
    assert found.threshold == 0.05

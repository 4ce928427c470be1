"""Measures: most violated labellings against enumeration, kernels against their twins, scores."""

from __future__ import annotations

import functools
import itertools
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import metrics

import oracles
import reference_kernels as reference
from zeronorm._kernels import _native as native
from zeronorm.measures import (
    AUC,
    PRBEP,
    AveragePrecision,
    Contingency,
    Cut,
    FBeta,
    Hamming,
    PrecisionAt,
    RecallAt,
    parse_measure,
)

LOOSE = settings(deadline=None, max_examples=25)
NAMES = [
    "hamming", "f1", "f2", "f0.5", "precision@1", "precision@3", "precision@2p", "recall@4", "prbep"
]  # fmt: skip
ALL = [*NAMES, "auc", "ap"]
all_cuts = functools.cache(lambda name, y: oracles.all_cuts(name, np.array(y)))
# Scores with many ties, with few, and so large or small that one term decides.
SCORES = st.sampled_from(("ties", "normal", "large", "small", "zero", "equal"))
SIZE = st.integers(1, 30)


def draw(rng, kind, n):
    """Return n scores."""
    return {
        "ties": lambda: rng.integers(-2, 3, n) * 0.5,
        "normal": lambda: rng.standard_normal(n) * 2,
        "large": lambda: rng.standard_normal(n) * 1e6,
        "small": lambda: rng.standard_normal(n) * 1e-9,
        "zero": lambda: np.zeros(n),
        "equal": lambda: np.full(n, rng.standard_normal()),
    }[kind]()


def labels(rng, n_pos, n_neg):
    """Return +-1 in random order."""
    return rng.permutation(np.r_[np.ones(n_pos), -np.ones(n_neg)])


# --------------------------------------------------------------------------- kernels and twins


@given(
    seed=st.integers(0, 10**6),
    n_pos=SIZE,
    n_neg=SIZE,
    kind=SCORES,
    beta=st.sampled_from((0.1, 0.5, 1, 2, 30)),
)
@LOOSE
def test_f_labelling(seed, n_pos, n_neg, kind, beta):
    """The sweep over a + b would miss the worst labelling, or the kernel differ from its twin."""
    rng = np.random.default_rng(seed)
    positive, negative = np.sort(draw(rng, kind, n_pos)), np.sort(draw(rng, kind, n_neg))
    found = native.f_labelling(positive, negative, float(beta))
    twin = reference.f_labelling(positive, negative, float(beta))
    a, b = np.arange(n_pos + 1)[:, None], np.arange(n_neg + 1)
    table = (
        100 * (1 - (1 + beta**2) * a / (a + b + beta**2 * n_pos))
        + 2 * np.r_[0, np.cumsum(positive[::-1])][:, None]
        + 2 * np.r_[0, np.cumsum(negative[::-1])]
    )
    exact = 1e-12 * (np.abs(table).max() + np.abs(positive).sum() + np.abs(negative).sum())
    assert table[found] >= table.max() - exact
    assert table[twin] >= table.max() - exact
    if kind != "large":  # there rounding of the sums decides among ties
        assert found == twin


@given(seed=st.integers(0, 10**6), n_pos=SIZE, n_neg=SIZE, kind=SCORES)
@LOOSE
def test_ap_places(seed, n_pos, n_neg, kind):
    """A negative would stand at a place that violates less, or the kernel differ from its twin."""
    rng = np.random.default_rng(seed)
    positive = np.sort(draw(rng, kind, n_pos))[::-1].copy()
    negative = np.sort(draw(rng, kind, n_neg))[::-1].copy()
    found, twin = np.empty(n_neg, np.int64), np.empty(n_neg, np.int64)
    native.ap_places(positive, negative, found)
    reference.ap_places(positive, negative, twin)
    np.testing.assert_array_equal(found, twin)
    assert np.all(np.diff(found) >= 0)
    i = np.arange(1, n_pos + 1)
    for j, score in enumerate(negative, start=1):
        terms = 100 / n_pos * (j / (j + i) - (j - 1) / (j + i - 1)) - 200 / (n_pos * n_neg) * (
            positive - score
        )
        sums = np.r_[np.cumsum(terms[::-1])[::-1], 0]
        scale = 1 + np.abs(terms).sum()
        assert sums[found[j - 1]] >= sums.max() - 1e-11 * scale


@given(
    seed=st.integers(0, 10**6),
    n_cuts=st.integers(1, 12),
    n_blocks=st.integers(1, 5),
    free=st.booleans(),
    C=st.sampled_from((1e-3, 0.1, 1.0, 100.0)),
)
@LOOSE
def test_solve_cuts(seed, n_cuts, n_blocks, free, C):
    """The interior point would leave the feasible set, or bound on the wrong side."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n_blocks, n_cuts, 6)) * 10 ** rng.uniform(-2, 2)
    grams = factors @ factors.transpose(0, 2, 1)
    delta = rng.uniform(0, 100, n_cuts)
    g = np.zeros(n_cuts)
    if free and n_cuts > 1:
        g = rng.integers(-20, 20, n_cuts) * 2.0
        g[:2] = 10.0, -30.0
    values = []
    for kernels in (native, reference):
        alpha, mu = np.full(n_cuts, np.nan), np.full(n_blocks, np.nan)
        bound, value, b, steps = kernels.solve_cuts(grams, delta, g, C, 1e-8, alpha, mu)
        # Steps end at the limit where rounding keeps the gap open, some digits above the tolerance.
        assert steps < 60 or value - bound <= 1e-6 * abs(value)
        assert alpha.min() >= 0
        assert alpha.sum() <= C * (1 + 1e-12)
        assert abs(g @ alpha) <= 1e-9 * C * np.abs(g).max()
        assert mu.min() >= 0
        assert abs(mu.sum() - 1) < 1e-9
        q = grams @ alpha
        assert bound == pytest.approx(delta @ alpha - 0.5 * (q @ alpha).max(), rel=1e-9)
        root = mu @ np.sqrt(q @ alpha)
        primal = 0.5 * root**2 + C * max(0.0, (delta - mu @ q - b * g).max())
        assert value == pytest.approx(primal, rel=1e-9)
        assert 0 <= value - bound <= 1e-8 * value
        values.append((bound, value))
    (low, high), (twin_low, twin_high) = values
    assert low <= twin_high * (1 + 1e-12)
    assert twin_low <= high * (1 + 1e-12)


def test_solve_cuts_without_loss():
    """Cuts that say nothing would give NaN or a bound above 0."""
    for kernels in (native, reference):
        alpha, mu = np.empty(2), np.empty(3)
        found = kernels.solve_cuts(
            np.ones((3, 2, 2)), np.zeros(2), np.zeros(2), 1.0, 1e-9, alpha, mu
        )
        assert tuple(found) == (0, 0, 0, 0)
        assert not alpha.any()
        np.testing.assert_allclose(mu, 1 / 3)


# ------------------------------------------------------------------------ most violated labelling


def check_cut(name, y, z, cuts):
    """The cut is one of the list and no other is larger at z."""
    delta, beta = cuts
    cut = parse_measure(name).cut(z, y)
    values = delta - beta @ z
    scale = 1e-12 * (100 + np.abs(beta).sum(axis=1).max() * np.abs(z).max(initial=0))
    assert cut.at(z) >= values.max() - scale
    known = np.isclose(delta, cut.delta, atol=1e-8) & np.isclose(beta, cut.beta, atol=1e-8).all(1)
    assert known.any()


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 10**6), kind=SCORES, n_pos=st.integers(1, 4), n_neg=st.integers(1, 5))
@settings(deadline=None, max_examples=12)
def test_cut_is_the_worst_of_all_labellings(name, seed, kind, n_pos, n_neg):
    """Some labelling would violate more, or the cut belong to no labelling of the measure."""
    rng = np.random.default_rng(seed)
    y, z = labels(rng, n_pos, n_neg), draw(rng, kind, n_pos + n_neg)
    name = name.replace("2p", str(2 * n_pos))
    assume(int(name.partition("@")[2] or 1) <= y.size)
    check_cut(name, y, z, all_cuts(name, tuple(y)))


@pytest.mark.parametrize("name", ["auc", "ap"])
@given(seed=st.integers(0, 10**6), kind=SCORES, n_pos=st.integers(1, 3), n_neg=st.integers(1, 3))
@settings(deadline=None, max_examples=20)
def test_cut_is_the_worst_of_all_rankings(name, seed, kind, n_pos, n_neg):
    """Some swaps of pairs, or some ranking of all rows, would violate more."""
    rng = np.random.default_rng(seed)
    y = np.r_[np.ones(n_pos), -np.ones(n_neg)]  # few different ones, so that the lists are reused
    check_cut(name, y, draw(rng, kind, y.size), all_cuts(name, tuple(y)))


@pytest.mark.parametrize(
    "name", [*NAMES, "precision@30", "precision@300", "recall@30", "recall@250", "auc"]
)
@pytest.mark.parametrize("kind", ["normal", "ties"])
def test_cut_against_the_table_of_all_counts(name, kind):
    """At real sizes a sweep or a bisection would end early."""
    rng = np.random.default_rng(5)
    n_pos, n_neg = 90, 310
    y, z = labels(rng, n_pos, n_neg), draw(rng, kind, n_pos + n_neg) + 0.3
    z += 0.5 * y
    cut = parse_measure(name).cut(z, y)
    positive, negative = np.sort(z[y > 0])[::-1], np.sort(z[y < 0])[::-1]
    if name == "auc":
        margins = positive[:, None] - negative
        worst = 100 * np.maximum(0, 1 - margins).mean()
    else:
        a, b = np.meshgrid(np.arange(n_pos + 1), np.arange(n_neg + 1), indexing="ij")
        kind_of, _, k = name.partition("@")
        k = 2 * n_pos if k == "2p" else int(k or n_pos)
        table = {
            "hamming": lambda: 2.0 * (b + n_pos - a),
            "precision": lambda: 100 * (1 - a / k),
            "recall": lambda: 100 * (1 - a / n_pos),
            "prbep": lambda: 100 * (1 - a / n_pos),
        }
        if kind_of in table:
            values = table[kind_of]()
            if kind_of != "hamming":
                values = np.where(a + b == k, values, -np.inf)
        else:
            square = float(kind_of[1:]) ** 2
            values = 100 * (1 - (1 + square) * a / (a + b + square * n_pos))
        sums = [np.r_[0, np.cumsum(part)] for part in (positive, negative)]
        values = values + 2 * sums[0][:, None] + 2 * sums[1] - ((y + 1) * z).sum()
        worst = values.max()
    assert cut.at(z) == pytest.approx(worst, rel=1e-11)


@pytest.mark.parametrize(
    ("name", "value", "delta"),
    [
        ("hamming", 23.9986074099, 20), ("f1", 107.3034609285, 100), ("f2", 107.3034609285, 100),
        ("precision@3", 106.7747750214, 100), ("recall@10", 37.1343039984, 40),
        ("prbep", 103.9986074099, 100), ("auc", 118.8825437924, 80), ("ap", 157.4050532937, 57),
    ],
)  # fmt: skip
def test_known_instance(name, value, delta):
    """The losses would be in other units than documented."""
    rng = np.random.default_rng(7)
    y = np.where(rng.uniform(size=12) < 0.4, 1.0, -1.0)
    v = rng.standard_normal(12)
    assert (y > 0).sum() == 5
    cut = parse_measure(name).cut(v, y)
    assert cut.at(v) == pytest.approx(value, abs=1e-9)
    assert cut.delta == pytest.approx(delta, abs=1e-9)


@pytest.mark.parametrize("name", ALL)
@given(seed=st.integers(0, 10**6), kind=SCORES, n_pos=st.integers(2, 30), n_neg=st.integers(2, 30))
@settings(deadline=None, max_examples=25)
def test_cuts_are_minorants(name, seed, kind, n_pos, n_neg):
    """R(z') >= delta - beta'z' would fail somewhere: then no bound of a fit holds."""
    rng = np.random.default_rng(seed)
    y, measure = labels(rng, n_pos, n_neg), parse_measure(name)
    assume("@" not in name or measure.count(n_pos, y.size) <= y.size if "2p" not in name
           else 2 * n_pos <= y.size)  # fmt: skip
    here, there = draw(rng, kind, y.size), draw(rng, "normal", y.size)
    weight = np.ones(y.size)
    value, gradient = measure.value_gradient(there, y, weight)
    assert value >= measure.cut(here, y).at(there) - 1e-9 * (1 + np.abs(here).max())
    assert value >= 0
    # value_gradient is the same cut, cut off at 0.
    cut = measure.cut(there, y)
    assert value == max(0.0, cut.at(there))
    np.testing.assert_array_equal(gradient, -cut.beta if value > 0 else 0 * there)


@pytest.mark.parametrize("name", ALL)
def test_loss_bounds_the_measure_of_what_is_predicted(name):
    """Training would lower something that says nothing of the score."""
    rng = np.random.default_rng(11)
    for _ in range(10):
        y = labels(rng, 6, 14)
        z = rng.standard_normal(20) + rng.uniform(0, 3) * y
        measure = parse_measure(name)
        loss, _ = measure.value_gradient(z, y, np.ones(20))
        if name == "hamming":
            assert loss >= 2 * 20 * (1 - measure.score(y, z)) - 1e-9
        elif measure.intercept != "spoils":
            assert loss >= 100 * (1 - measure.score(y, z)) - 1e-9


@pytest.mark.parametrize("name", ["hamming", "f1", "f0.5"])
def test_constant_cuts_are_those_of_an_infinite_intercept(name):
    """A fit with an intercept would start from wrong cuts."""
    rng = np.random.default_rng(3)
    y = labels(rng, 7, 12)
    measure = parse_measure(name)
    found = {(cut.delta, *cut.beta) for cut in measure.constant_cuts(y)}
    far = {(cut.delta, *cut.beta) for cut in (measure.cut(np.full(19, b), y) for b in (-1e9, 1e9))}
    assert found == far
    assert sorted(np.sign(sum(cut[1:])) for cut in found) == [-1, 1]


@pytest.mark.parametrize("name", ALL)
def test_what_an_intercept_does(name):
    """`intercept` would promise what the cuts do not keep."""
    rng = np.random.default_rng(4)
    y, measure = labels(rng, 8, 20), parse_measure(name)
    sums = {
        round(float(measure.cut(b + rng.standard_normal(28), y).beta.sum()), 9)
        for b in np.linspace(-4, 4, 40)
    }
    if measure.intercept == "free":
        assert min(sums) < 0 < max(sums)
    elif measure.intercept == "idle":
        assert sums == {0.0}
    else:
        (total,) = sums
        assert total == 2 * (8 - measure.count(8, 28)) != 0
    if measure.intercept != "free":
        assert measure.constant_cuts(y) == []


# ------------------------------------------------------------------------------ weights, scores


def gmean_loss(a, b, n_pos, n_neg):
    """Return 100 times 1 less the geometric mean of the shares of right labels."""
    return 100.0 * (1.0 - np.sqrt(a / n_pos * (1.0 - b / n_neg)))


WEIGHTED = [Hamming(), AUC(), FBeta(1.0), FBeta(2.0), Contingency(gmean_loss, "gmean")]
each_weighted = pytest.mark.parametrize("measure", WEIGHTED, ids=lambda measure: measure.name)


@each_weighted
@pytest.mark.parametrize("kind", ["normal", "ties"])
def test_integer_weights_equal_repetition(measure, kind):
    """A weight would not count as so many equal rows, in the loss, the score or the threshold."""
    rng = np.random.default_rng(8)
    y, z = labels(rng, 9, 21), draw(rng, kind, 30)
    weight = rng.integers(1, 4, 30)
    repeated = np.repeat(np.arange(30), weight)
    far_y, far_z = y[repeated], z[repeated]
    pairs = [(measure.cut(z, y, weight.astype(float)), measure.cut(far_z, far_y))]
    found = measure.constant_cuts(y, weight.astype(float))
    pairs += zip(found, measure.constant_cuts(far_y), strict=True)
    for cut, far in pairs:
        assert cut.delta == pytest.approx(far.delta, rel=1e-12)
        np.testing.assert_allclose(cut.beta, np.bincount(repeated, far.beta), atol=1e-10)
    assert measure.score(y, z, weight) == pytest.approx(measure.score(far_y, far_z), rel=1e-12)
    assert measure.threshold(z, y, weight) == pytest.approx(measure.threshold(far_z, far_y))
    value, gradient = measure.value_gradient(z, y, weight.astype(float))
    assert value == pytest.approx(pairs[0][1].at(far_z))
    np.testing.assert_allclose(gradient, -pairs[0][0].beta)


@each_weighted
def test_cuts_with_weights_bound_the_loss_everywhere(measure):
    """The loss would not be convex with weights that are no whole numbers: no bound would hold."""
    rng = np.random.default_rng(18)
    for n_pos, n_neg in ((1, 6), (5, 2), (4, 5)):
        y = labels(rng, n_pos, n_neg)
        for weight in (rng.uniform(0.01, 3.0, y.size), rng.uniform(0.1, 0.2, y.size)):
            points = [scale * rng.standard_normal(y.size) for scale in (0.1, 1.0, 5.0, 40.0)]
            cuts = [measure.cut(z, y, weight) for z in points]
            values = [cut.at(z) for cut, z in zip(cuts, points, strict=True)]
            cuts += measure.constant_cuts(y, weight)
            for value, z in zip(values, points, strict=True):
                assert value >= -1e-9
                assert max(cut.at(z) for cut in cuts) <= value + 1e-9 * (1.0 + abs(value))


@pytest.mark.parametrize("measure", WEIGHTED[2:], ids=lambda measure: measure.name)
def test_the_worst_labelling_of_weights_is_that_of_the_whole_table(measure):
    """A labelling in units of weight would be missed, or one counted that splits a unit."""
    rng = np.random.default_rng(19)
    for _ in range(5):
        y, z = labels(rng, 3, 5), 10.0 * rng.standard_normal(8)
        weight = rng.uniform(0.5, 3.0, 8)
        n_pos, n_neg = weight[y > 0].sum(), weight[y < 0].sum()
        unit = n_pos / round(n_pos / weight.mean())
        found = -np.inf
        for a, b in itertools.product(
            np.linspace(0.0, n_pos, round(n_pos / unit) + 1),
            [*np.arange(0.0, n_neg, unit), n_neg],
        ):
            value = measure.loss(a, b, n_pos, n_neg) - 2.0 * (weight * z)[y > 0].sum()
            for sign, amount in ((1, a), (-1, b)):  # the best scores to that weight
                for i in sorted(np.flatnonzero(y == sign), key=lambda i: -z[i]):
                    value += 2.0 * z[i] * min(weight[i], amount)
                    amount -= min(weight[i], amount)
            found = max(found, value)
        assert measure.cut(z, y, weight).at(z) == pytest.approx(found, rel=1e-10)


def test_weights_of_one_change_no_bit():
    """Models would differ by rounding where a user passes weights that say nothing."""
    rng = np.random.default_rng(20)
    y, z = labels(rng, 9, 21), rng.standard_normal(30)
    for measure in (FBeta(1.0), Contingency(gmean_loss)):
        cut, same = measure.cut(z, y), measure.cut(z, y, np.ones(30))
        assert cut.delta == same.delta
        np.testing.assert_array_equal(cut.beta, same.beta)
        assert measure.threshold(z, y) == measure.threshold(z, y, np.ones(30))


def test_weights_out_of_all_proportion_are_refused():
    """A table without end would be filled."""
    y, z = np.array([1.0, -1.0, -1.0]), np.zeros(3)
    message = r"more than 1 to 16777216; got 1e-09 and 1\.5\. Use larger weights for the positives"
    with pytest.raises(ValueError, match=message):
        FBeta(1.0).cut(z, y, np.array([1e-9, 1.0, 0.5]))


@pytest.mark.parametrize("kind", ["normal", "ties"])
def test_scores_are_those_of_scikit_learn(kind):
    """A score would not be the measure of its name."""
    rng = np.random.default_rng(9)
    y, z = labels(rng, 12, 28), draw(rng, kind, 40)
    predicted = z > 0
    expected = {
        "hamming": metrics.accuracy_score(y > 0, predicted),
        "f1": metrics.f1_score(y > 0, predicted),
        "f2": metrics.fbeta_score(y > 0, predicted, beta=2),
        "auc": metrics.roc_auc_score(y > 0, z),
        "ap": metrics.average_precision_score(y > 0, z),
    }
    for k in (1, 7, 12, 24):
        top = np.zeros(40, bool)
        top[np.argsort(-z, kind="stable")[:k]] = True
        expected[f"precision@{k}"] = metrics.precision_score(y > 0, top)
        expected[f"recall@{k}"] = metrics.recall_score(y > 0, top)
    expected["prbep"] = expected["precision@12"]
    expected["recall@2p"] = expected["recall@24"]
    expected["precision@0.5p"] = metrics.precision_score(
        y > 0, np.isin(np.arange(40), np.argsort(-z, kind="stable")[:6])
    )
    for name, value in expected.items():
        assert parse_measure(name).score(y, z) == pytest.approx(value, abs=1e-12), name
    assert expected["prbep"] == expected["recall@12"]


def test_f_score_of_no_prediction_is_zero():
    """No row above the threshold would warn or give NaN."""
    assert FBeta(1.0).score(np.array([1.0, -1.0]), np.array([-1.0, -2.0])) == 0.0


def test_thresholds_part_the_top_rows():
    """predict would label another number of rows than the measure is about."""
    rng = np.random.default_rng(10)
    y, z = labels(rng, 12, 28), rng.standard_normal(40)
    for name, count in [("precision@5", 5), ("recall@2p", 24), ("prbep", 12), ("auc", 12),
                        ("ap", 12), ("precision@40", 40)]:  # fmt: skip
        threshold = parse_measure(name).threshold(z, y)
        assert (z > threshold).sum() == count
    assert parse_measure("hamming").threshold(z, y) == 0.0


@pytest.mark.parametrize("shift", [-2.0, 0.0, 2.0])
@pytest.mark.parametrize("ties", [False, True])
def test_threshold_of_f_is_a_good_one_near_0(ties, shift):
    """Overlapping classes would all be labelled negative, or a good sign be given up for noise."""
    measure, signs = FBeta(2.0 if shift else 1.0), []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = labels(rng, 6, 18)
        z = 0.7 * y + rng.standard_normal(24) + shift
        z = np.round(2.0 * z) if ties else z
        every = np.unique(np.append(z, z.min() - 1.0))
        score = np.array([measure.score(y, z, threshold=t) for t in every])
        threshold = measure.threshold(z, y)
        found = measure.score(y, z, threshold=threshold)
        assert found >= score.max() - 0.01 - 1e-12
        signs.append(measure.score(y, z) >= score.max() - 0.01 + 1e-12)
        if signs[-1]:
            assert threshold == 0.0
        else:  # between two scores all thresholds are as good: none is nearer than the next score
            edges = np.append(every, np.inf)
            distance = [
                max(0.0, low, -high)
                for low, high, one in zip(edges[:-1], edges[1:], score, strict=True)
                if one >= score.max() - 0.01 - 1e-12
            ]
            at = np.searchsorted(every, threshold, side="right") - 1
            own = max(0.0, edges[at], -edges[at + 1]) if at >= 0 else 0.0
            assert own <= min(distance) + 1.0  # the middle of a gap is chosen, not its end
            middle = 0.5 * (edges[1:-2] + edges[2:-1])
            good = score[1:-1] >= score.max() - 0.01 - 1e-12
            if at >= 0 and good.any():
                assert abs(threshold) <= np.abs(middle[good]).min() + 1e-12
    if shift == 0.0:
        assert any(signs)
    if shift != 0.0:
        assert not all(signs)


@pytest.mark.parametrize("n_pos", [15, 2])
def test_threshold_of_equal_scores(n_pos):
    """A model without features would label all rows negative where all positive is better."""
    y = np.where(np.arange(20) < n_pos, 1.0, -1.0)
    for level in (-1.0, 0.0, 1.0):
        z = np.full(20, level)
        assert (z > FBeta().threshold(z, y)).all()
    precise = Contingency(lambda a, b, n_pos, n_neg: 50 * (n_pos - a) / n_pos + 10.0 * b)
    z = np.full(20, 1.0)
    assert not (z > precise.threshold(z, np.where(np.arange(20) < 2, 1.0, -1.0))).any()


def test_threshold_of_losses_that_are_not_finite():
    """The loss of one's own would be caught at its corners only, or its array be written to."""
    y, z = np.where(np.arange(20) < 5, 1.0, -1.0), np.arange(20.0)
    nan = Contingency(lambda a, b, n_pos, n_neg: np.where(a == 2, np.nan, 100.0 * (n_pos - a + b)))
    with pytest.raises(ValueError, match="losses of 'contingency' must be finite; got nan"):
        nan.threshold(z, y)
    kept = np.linspace(100.0, 0.0, 21)
    kept.flags.writeable = False
    Contingency(lambda a, b, n_pos, n_neg: kept).threshold(np.round(z / 2), y)


def test_threshold_of_the_largest_scores_parts_no_ties():
    """Rows with equal scores would be given different labels."""
    rng = np.random.default_rng(11)
    y = labels(rng, 9, 31)
    tied = np.r_[np.full(10, 2.0), np.full(30, 1.0)]
    assert (tied > PrecisionAt(10).threshold(tied, y)).sum() == 10
    assert (tied > PrecisionAt(5).threshold(tied, y)).sum() == 0  # no threshold parts equal scores


# --------------------------------------------------------------------------- one's own measure


def f1_loss(a, b, n_pos, n_neg):
    return 100 * (1 - 2 * a / (a + b + n_pos))


@given(seed=st.integers(0, 10**6), kind=SCORES, n_pos=st.integers(1, 12), n_neg=st.integers(1, 12))
@LOOSE
def test_own_measure_equals_f1(seed, kind, n_pos, n_neg):
    """The table of all counts and the sweep would disagree."""
    rng = np.random.default_rng(seed)
    y, z = labels(rng, n_pos, n_neg), draw(rng, kind, n_pos + n_neg)
    own, f1 = Contingency(f1_loss), FBeta(1.0)
    own.check(y)
    scale = 1e-12 * (1 + np.abs(z).sum())
    assert own.cut(z, y).at(z) == pytest.approx(f1.cut(z, y).at(z), abs=100 * scale)
    assert own.score(y, z) == pytest.approx(f1.score(y, z))
    for cut, other in zip(own.constant_cuts(y), f1.constant_cuts(y), strict=True):
        assert cut.delta == pytest.approx(other.delta)
        np.testing.assert_array_equal(cut.beta, other.beta)


def test_own_measure_is_any_function_of_the_counts():
    """A loss that is not linear in a, or that fills an array, would not be maximised."""
    rng = np.random.default_rng(12)

    def loss(a, b, n_pos, n_neg):
        out = np.zeros(np.broadcast(a, b).shape)
        out[(a < n_pos) | (b > 0)] = 20.0
        out[(b > 2) | (a < n_pos / 2)] = 100.0
        return out

    measure = Contingency(loss, label="steps")
    assert measure.name == "steps"
    for _ in range(4):
        y, z = labels(rng, 4, 5), rng.standard_normal(9) * 10
        measure.check(y)
        worst = -np.inf
        for other in itertools.product((-1.0, 1.0), repeat=9):
            other = np.array(other)
            a, b = np.sum((y > 0) & (other > 0)), np.sum((y < 0) & (other > 0))
            wrong = 100.0 if b > 2 or a < 2 else 20.0 if a < 4 or b > 0 else 0.0
            worst = max(worst, wrong - (y - other) @ z)
        assert measure.cut(z, y).at(z) == pytest.approx(worst, abs=1e-9)
        assert len(measure.constant_cuts(y)) == 2


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b, n_pos, n_neg: a / (a + b),  # 1 instead of 0 at (n_pos, 0), NaN at (0, 0)
        lambda a, b, n_pos, n_neg: n_pos - a - b,  # negative
        lambda a, b, n_pos, n_neg: np.where(b > 0, np.inf, n_pos - a),
        lambda a, b, n_pos, n_neg: 0.0,  # not elementwise
    ],
)
def test_bad_functions(function):
    """A loss that is none would give a model of nothing."""
    y = np.array([1.0, 1.0, -1.0])
    message = (
        "function must return finite losses that are not negative, elementwise for arrays a and b, "
        "and 0 for (n_pos, 0); got "
    )
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(ValueError, match=re.escape(message) + r".* n_pos = 2, n_neg = 1\."),
    ):
        Contingency(function).check(y)


def test_measures_of_the_top_refuse_weights():
    """Weights would be ignored."""
    y, measure = np.array([1.0, 1.0, -1.0]), PRBEP()
    with pytest.raises(ValueError, match="sample_weight has no meaning for the measure 'prbep'"):
        measure.score(y, y, weight=np.array([1.0, 2.0, 1.0]))
    assert measure.score(y, y, weight=np.full(3, 2.0)) == 1.0


# ----------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("hamming", Hamming()), ("f1", FBeta(1.0)), ("F1", FBeta(1.0)), ("f0.5", FBeta(0.5)),
        ("precision@50", PrecisionAt(50)), ("Precision@2p", PrecisionAt("2p")),
        ("recall@7", RecallAt(7)), ("recall@1.5p", RecallAt("1.5p")), ("prbep", PRBEP()),
        ("auc", AUC()), ("ap", AveragePrecision()),
    ],
)  # fmt: skip
def test_names(name, measure):
    """A name would mean another measure, or a measure not know its name."""
    assert parse_measure(name) == measure
    assert parse_measure(measure.name) == measure
    assert parse_measure(measure) is measure


@pytest.mark.parametrize(
    "name",
    ["accuracy", "f", "f0", "f-1", "fnan", "finf", "fx", "f1@3", "precision", "precision@", "auc@3",
     "@3", "", None, 1, Hamming, "prbep@", "p@3"],
)  # fmt: skip
def test_bad_names(name):
    """A slip of the pen would train for something else, or fail without a word on what is right."""
    message = (
        "measure must be hamming, f1 (f2, f0.5, ...), precision@K, recall@K, prbep, auc or ap, or "
        f"a Measure; got {name!r}."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_measure(name)


@pytest.mark.parametrize("k", [0, -3, 1.5, True, None, "p", "0p", "-1p", "nanp", "infp", "2", "2q"])
@pytest.mark.parametrize("make", [PrecisionAt, RecallAt])
def test_bad_k(make, k):
    """k would be rounded, or an array be indexed from its end."""
    message = (
        'k must be an integer of at least 1, or a string like "2p": that many times the positives; '
        f"got {k!r}."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        make(k)
    if k in (0, "0p", "nanp", "2q"):
        with pytest.raises(ValueError, match=re.escape(message)):
            parse_measure(f"precision@{k}")


def test_k_beyond_the_rows():
    """The k best of fewer than k rows would be scored, or a loss that is 0 be minimised."""
    y = np.array([1.0, 1.0, -1.0, -1.0, -1.0])
    for name, got in [("precision@6", "6"), ("recall@9", "9"), ("precision@3p", "3p = 6")]:
        message = f"k of {name} must be between 1 and 5 (the rows); got {got}. Use a smaller k."
        for call in (lambda m: m.check(y), lambda m: m.cut(y, y), lambda m: m.score(y, y)):
            with pytest.raises(ValueError, match=re.escape(message)):
                call(parse_measure(name))
    with pytest.raises(
        ValueError, match=r"k of recall@5 must be below 5 \(the rows\): the recall of"
    ):
        RecallAt(5).check(y)
    PrecisionAt(5).check(y)
    assert PrecisionAt("0.1p").count(2, 5) == 1  # at least one row


@pytest.mark.parametrize("beta", [0, -1, np.nan, np.inf, "2"])
def test_bad_beta(beta):
    """F of a beta that is no positive number would be NaN."""
    with pytest.raises(ValueError, match="beta must be a positive finite number; got"):
        FBeta(beta)


def test_cut_at():
    """A cut would be evaluated with another sign than it is defined."""
    assert Cut(3.0, np.array([1.0, -2.0])).at(np.array([0.5, 0.25])) == 3.0

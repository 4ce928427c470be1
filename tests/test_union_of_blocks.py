"""The minimax family as published: r features a scan, for T scans, and the union of the blocks."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from conftest import make_classification
from zeronorm import BudgetClassifier, BudgetCV, certify, persistence
from zeronorm.core.results import Status
from zeronorm.model_selection.cross_validation import cross_validate
from zeronorm.published import FeatureGeneratingMachine, MinimaxBy, MinimaxLogisticRegression

PUBLISHED = [MinimaxLogisticRegression, FeatureGeneratingMachine]
EXACT = {"calibrate": False, "standardize": False, "tol": 1e-10}


def loop(X, sign, r, T, C, loss, *, intercept):
    """Return the blocks of the published loop, with a conic solver of the problem over them."""
    slopes = {"logistic": lambda m: 1 / (1 + np.exp(m)), "squared_hinge": lambda m: (1 - m).clip(0)}
    blocks = []
    b = 0.0
    if intercept:
        b = oracles.ridge(np.zeros((len(sign), 1)), sign, C, loss=loss, intercept=True).intercept
    margins = sign * b
    for _ in range(T):
        scores = np.abs(X.T @ (C * slopes[loss](margins) * sign))
        order = np.argsort(-scores, kind="stable")
        assert scores[order[r]] < 0.999 * scores[order[r - 1]], "a near tie: take another seed"
        blocks.append(np.sort(order[:r]))
        fit = oracles.reduced_problem(X, sign, blocks, C, loss=loss, intercept=intercept)
        margins = sign * (X @ fit.coef + fit.intercept)
    return blocks


@pytest.mark.parametrize("make", PUBLISHED)
@pytest.mark.parametrize("intercept", [False, True], ids=["fixed", "free"])
def test_the_union_is_that_of_a_loop_by_hand(make, intercept):
    """Blocks would be cut or filled up, or chosen at other dual points than the published ones."""
    X, y = make_classification(60, 25, seed=4)
    sign = np.where(y == 1, 1.0, -1.0)
    smaller = []
    for C, r, T in ((1.0, 3, 5), (0.3, 3, 5)):
        blocks = loop(X, sign, r, T, C, make.loss, intercept=intercept)
        model = make(
            block_size=r, max_blocks=T, union=True, C=C, fit_intercept=intercept, **EXACT
        ).fit(X, y)
        union = np.unique(np.concatenate(blocks))
        seen = [np.unique(np.concatenate(blocks[: t + 1])).size for t in range(T)]
        np.testing.assert_array_equal(model.support_, union)
        assert [step.n_features for step in model.history_] == seen
        assert set(model.history_[1].entered) == set(blocks[1]) - set(blocks[0])
        assert r <= union.size <= r * T
        smaller.append(union.size < r * T)
        assert model.size_ == min(r * T, 25)
        C = model.path_[model.size_].refit_C
        fit = oracles.ridge(X[:, union], sign, C, intercept=intercept)
        np.testing.assert_allclose(model.coef_[0, union], fit.coef, rtol=1e-4, atol=1e-6)
        assert model.certificate_.support.size == union.size
    assert any(smaller), "blocks share nothing: the union is no other than exactly r T features"


@pytest.mark.parametrize("make", PUBLISHED)
def test_as_published_with_a_block_size(make, binary):
    """The paper's r and T_m would be another mode, or their constants others."""
    model = make.as_published(block_size=3)
    expected = make.as_published(30).get_params() | {
        "n_features": None, "block_size": 3, "union": True,
    }  # fmt: skip
    assert model.get_params() == expected
    assert model.max_blocks == 10
    X, y = binary
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model.fit(X, y)
    assert 3 <= model.support_.size <= 30
    assert len(model.history_) <= 10
    assert len(make.as_published(block_size=3, max_blocks=2).fit(X, y).history_) == 2


def test_the_loop_ends_where_the_problem_is_solved():
    """Blocks would be added after the optimum over all features, or none be the last."""
    X, y = make_classification(60, 25, seed=4)
    sign = np.where(y == 1, 1.0, -1.0)
    options = {**EXACT, "C": 0.02, "fit_intercept": False}
    model = MinimaxLogisticRegression(block_size=3, union=True, **options).fit(X, y)
    optimum = oracles.full_problem(X, sign, 3, 0.02)
    assert model.history_[-1].objective == pytest.approx(optimum.objective, rel=1e-6)
    assert model.path_.status in {Status.CONVERGED, Status.REPEATED}
    assert set(np.flatnonzero(np.abs(optimum.coef) > 1e-4)) <= set(model.support_)
    assert model.size_ == 25
    more = MinimaxLogisticRegression(block_size=3, max_blocks=50, union=True, **options).fit(X, y)
    np.testing.assert_array_equal(more.support_, model.support_)


def test_several_classes_groups_and_forced_features(binary, tmp_path):
    """Unions of different sizes would have no common place in a path, or a file lose them."""
    X, y = binary
    union = {"block_size": 2, "max_blocks": 3, "union": True}
    many = MinimaxLogisticRegression(**union, calibrate=False).fit(X, np.resize([0, 1, 2], y.size))
    assert many.size_ == 6
    assert [2 <= path[6].n_features <= 6 for path in many.path_] == [True] * 3
    assert many.support_.size > 6
    forced = MinimaxLogisticRegression(**union, forced_features=[7, 0]).fit(X, y)
    assert forced.size_ == 8
    assert set(forced.support_) >= {0, 7}
    assert forced.history_[0].n_features == 4
    assert forced.path_[8].cv_log_loss > 0
    groups = np.arange(40) // 4
    whole = MinimaxLogisticRegression(feature_groups=groups, **union).fit(X, y)
    assert 2 <= whole.groups_.size <= 6 == whole.size_
    assert np.isin(groups, whole.groups_).sum() == whole.support_.size
    persistence.save(forced, tmp_path / "m.npz")
    again = persistence.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(again.predict_proba(X), forced.predict_proba(X))
    assert certify(forced, X, y).gap <= forced.gap_
    assert cross_validate(forced, X, y, cv=3).sizes == (8,)
    front = BudgetClassifier(method=MinimaxBy(2, 3, union=True), calibrate=False).fit(X, y)
    own = MinimaxLogisticRegression(**union, calibrate=False).fit(X, y)
    np.testing.assert_array_equal(front.support_, own.support_)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"max_blocks": 0}, "max_blocks must be None or an integer of at least 1; got 0"),
        ({"block_size": 0}, "block_size must be None or an integer of at least 1; got 0"),
        ({"block_size": None}, "block_size must be a number with union=True"),
        ({"block_size": 41}, r"block_size must be at most 40, .* not constant; got 41"),
        ({"n_features": 6}, "n_features must be None with union=True.*; got 6"),
        ({"n_features": "auto"}, "n_features must be None with union=True.*; got 'auto'"),
        ({"n_groups": 6, "feature_groups": np.arange(40)}, "n_groups must be None with union=True"),
        ({"feature_groups": np.arange(40) // 20, "block_size": 3}, "block_size must be at most 2"),
        ({"union": "yes"}, "union must be True or False; got 'yes'"),
        ({"warm_start": True}, "warm_start must be False for union=True"),
    ],
)
def test_what_the_union_cannot_be(options, told, binary):
    """A size would be asked for and not be there, or a block be cut without a word."""
    for make in PUBLISHED:
        union = {"block_size": 2, "max_blocks": 3, "union": True} | options
        with pytest.raises(ValueError, match=told):
            make(**union).fit(*binary)


def test_as_published_takes_one_of_both_sizes():
    """One of two sizes would be left out of account."""
    for make in PUBLISHED:
        for given in ({"n_features": 10, "block_size": 2}, {}):
            with pytest.raises(ValueError, match=r"as_published takes n_features.*or block_size"):
                make.as_published(**given)


def test_no_criterion_chooses_among_unions(binary):
    """A criterion or a search over sizes would compare one model with itself."""
    method = MinimaxBy(2, 3, union=True)
    with pytest.raises(ValueError, match="criterion must be None with union=True"):
        BudgetClassifier(method=method, criterion="bic").fit(*binary)
    with pytest.raises(ValueError, match="n_features must be None with union=True"):
        BudgetCV(MinimaxLogisticRegression(block_size=2, union=True), [2, 4]).fit(*binary)

"""Reweighted l1: what the stages minimise, their sizes, and the budgets made of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from conftest import make_classification
from zeronorm import BudgetClassifier, L1Classifier
from zeronorm.core.results import Status
from zeronorm.data import as_design
from zeronorm.losses import Logistic
from zeronorm.published import ReweightedL1LogisticRegression
from zeronorm.solvers import CappedL1, L1Problem, LogPenalty, reweighted, run, working_set
from zeronorm.solvers.l1.problem import Penalty
from zeronorm.solvers.l1.reweighted import FLOOR, reweighted_sizes
from zeronorm.solvers.problem import Risk

RULES = [LogPenalty(0.3), LogPenalty(), CappedL1(0.5), CappedL1()]
each_rule = pytest.mark.parametrize("rule", RULES, ids=str)


def posed(seed=0, n=120, m=60, C=0.3, l1=None):
    X, y = make_classification(n, m, informative=8, seed=seed)
    inf = np.full(m, np.inf)
    penalty = Penalty(np.ones(m) if l1 is None else l1, np.zeros(m), -inf, inf)
    risk = Risk(np.where(y > 0, 1.0, -1.0), np.full(n, C), Logistic())
    return X, L1Problem(as_design(X), risk, penalty, n)


def stages(problem, rule, n, **options):
    return run(
        reweighted(
            problem, rule=replace(rule, stages=n), **{"tol": 1e-10, "max_iter": 200} | options
        )
    )


def objective(X, problem, result, cost):
    z = X[:, result.support] @ result.coef + result.intercept
    a = problem.penalty.l1[result.support] * np.abs(result.coef)
    return problem.risk.value_gradient(z)[0] + cost(a).sum()


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        (LogPenalty(0.3), lambda a: 0.3 * np.log1p(a / 0.3)),
        (CappedL1(0.5), lambda a: np.minimum(a, 0.5)),
    ],
    ids=["log", "capped"],
)
def test_stages_decrease_the_penalty_they_majorise(rule, cost):
    """Weights of another penalty, or of another stage, would not."""
    for seed in range(3):
        X, problem = posed(seed, l1=np.linspace(0.5, 2.0, 60))
        values = [objective(X, problem, stages(problem, rule, n), cost) for n in range(1, 7)]
        assert np.all(np.diff(values) <= 1e-5)
        assert values[-1] < values[0] - 0.05


@each_rule
def test_a_stage_is_a_weighted_problem(rule):
    """The penalty of a stage would not come from the stage before."""
    X, problem = posed(1)
    first = run(working_set(problem, tol=1e-10, max_iter=200))
    weights = np.ones(X.shape[1])
    weights[first.support] = rule.weights(np.abs(first.coef))
    assert weights.min() < 0.7
    assert weights.min() >= FLOOR
    found = stages(problem, rule, 2)
    peer = LogisticRegression(
        C=problem.risk.weight[0], l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=100_000
    )
    kept = weights > 2 * FLOOR  # an unpenalised column has no scale
    if kept.all():
        peer.fit(X / weights, problem.risk.y)
        coef = np.zeros(X.shape[1])
        coef[found.support] = found.coef
        np.testing.assert_allclose(coef, peer.coef_[0] / weights, atol=2e-4)
    weighted = replace(problem, penalty=replace(problem.penalty, l1=weights))
    again = run(working_set(weighted, tol=1e-10, max_iter=200))
    np.testing.assert_array_equal(found.support, again.support)
    np.testing.assert_allclose(found.coef, again.coef, atol=1e-6)


def test_one_stage_is_l1_and_the_history_numbers_them():
    """Stages would be lost, or counted from elsewhere."""
    _, problem = posed(2)
    plain = run(working_set(problem, tol=1e-10, max_iter=200))
    one = stages(problem, LogPenalty(), 1)
    np.testing.assert_array_equal(one.coef, plain.coef)
    three = stages(problem, LogPenalty(), 3)
    assert {step.extra["stage"] for step in three.history} == {1, 2, 3}
    assert three.support.size < plain.support.size


def test_a_stage_that_fails_is_the_last():
    """A later stage would hide that it began at no solution."""
    _, problem = posed(3, n=60, m=3000, C=3.0)
    result = stages(problem, LogPenalty(), 3, max_iter=1, tol=1e-12)
    assert result.status is Status.MAX_ITER
    assert {step.extra["stage"] for step in result.history} == {1}


def test_features_without_penalty_stay_without():
    """A weight would divide by zero, or penalise what was to be free."""
    l1 = np.ones(60)
    l1[5] = 0.0
    _, problem = posed(4, l1=l1)
    for rule in RULES:
        result = stages(problem, rule, 3)
        assert result.status is Status.CONVERGED
        assert 5 in result.support


@each_rule
@pytest.mark.parametrize("k", [1, pytest.param(15, marks=pytest.mark.slow)])
def test_sizes_are_exact(rule, k):
    """A stage would return as many features as its C happens to give."""
    _, problem = posed(5, C=1.0)
    found = run(reweighted_sizes(problem, [k, 20], rule=rule, tol=1e-6, max_iter=100))
    assert found[k].result.support.size == k
    assert found[20].result.support.size == 20
    alone = run(reweighted_sizes(problem, [k], rule=rule, tol=1e-6, max_iter=100))
    np.testing.assert_array_equal(alone[k].result.support, found[k].result.support)
    assert {step.extra["stage"] for step in found[k].result.history} == {1, 2, 3}


@pytest.mark.slow
def test_stages_recover_more_of_the_truth_than_l1():
    """Reweighting would be without effect, or the wrong way round."""
    hits = {"l1": 0, "reweighted-l1": 0}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        shared = rng.standard_normal((600, 10))[:, np.arange(400) % 10]
        X = np.sqrt(0.5) * (rng.standard_normal((600, 400)) + shared)
        truth = rng.choice(400, 20, replace=False)
        z = X[:, truth] @ (rng.choice([-1, 1], 20) * (0.7 + rng.random(20)))
        y = z + rng.logistic(size=600) > 0
        for method in hits:
            support = BudgetClassifier(20, method=method, calibrate=False).fit(X, y).support_
            hits[method] += np.isin(truth, support).sum()
    assert hits["reweighted-l1"] >= hits["l1"] + 8


@pytest.mark.parametrize("method", ["l1", "reweighted-l1", "greedy"])
def test_budgets_by_other_methods(method):
    """The size, the forced features or the certificate would depend on how features are found."""
    X, y = make_classification(100, 40, informative=6, seed=0)
    model = BudgetClassifier([3, 7], method=method, forced_features=[11], calibrate=False).fit(X, y)
    assert [model.path_[k].support.size for k in (3, 7)] == [3, 7]
    assert all(11 in model.path_[k].support for k in (3, 7))
    assert model.certificate_.bound <= model.certificate_.objective
    assert 0 <= model.gap_ < 1
    assert model.score(X, y) > 0.6
    several = BudgetClassifier(3, method=method, multi_class="ovr", calibrate=False)
    several.fit(X, np.arange(100) % 3)
    assert all(path[3].support.size == 3 for path in several.path_)


def test_bad_method():
    """A misspelt method would be ignored."""
    X, y = make_classification(60, 10, informative=3, seed=0)
    with pytest.raises(ValueError, match=r"method must be one of .*got 'lasso'"):
        BudgetClassifier(3, method="lasso").fit(X, y)


# The estimator


def test_the_estimator_solves_the_stages():
    """Parameters would not reach the solver, or the scales of standardised columns get lost."""
    X, problem = posed(6, C=1.0)
    model = ReweightedL1LogisticRegression(0.3, tol=1e-10).fit(X, problem.risk.y)
    result = stages(replace(problem, risk=problem.risk.times(0.3)), LogPenalty(), 3)
    np.testing.assert_array_equal(model.support_, result.support)
    np.testing.assert_allclose(model.coef_[0, model.support_], result.coef, rtol=1e-6)
    assert {step.extra["stage"] for step in model.history_} == {1, 2, 3}
    one = ReweightedL1LogisticRegression(0.3, n_stages=1, tol=1e-10).fit(X, problem.risk.y)
    plain = L1Classifier(0.3, tol=1e-10).fit(X, problem.risk.y)
    np.testing.assert_array_equal(one.coef_, plain.coef_)
    scale = np.linspace(0.1, 10, X.shape[1])
    options = {"standardize": True, "tol": 1e-10}
    for weights in ("log", "capped"):
        a = ReweightedL1LogisticRegression(0.3, weights=weights, **options).fit(X, problem.risk.y)
        b = ReweightedL1LogisticRegression(0.3, weights=weights, **options)
        b.fit(X * scale, problem.risk.y)
        np.testing.assert_allclose(a.coef_, b.coef_ * scale, atol=1e-6)


@pytest.mark.parametrize("weights", ["log", "capped"])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_the_estimator_gives_exactly_k(weights, loss):
    """A user who asks for k features would get another number."""
    X, y = make_classification(120, 60, informative=8, seed=1)
    model = ReweightedL1LogisticRegression(n_features=5, weights=weights, loss=loss).fit(X, y)
    assert model.support_.size == 5
    assert np.count_nonzero(model.coef_) == 5
    assert model.C_ > 0
    several = ReweightedL1LogisticRegression(n_features=3, weights=weights, loss=loss)
    several.fit(X, np.arange(120) % 3)
    assert all((row != 0).sum() <= 3 for row in several.coef_)


@pytest.mark.parametrize("seed", range(10))
def test_the_count_is_exact_where_kept_features_are_nearly_free(seed):
    """A feature that enters just below the first C of a later stage would stop the fit."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    y = (0.3 * X[:, 0] + rng.normal(size=30) > 0).astype(int)
    for k in (1, 2):
        model = ReweightedL1LogisticRegression(n_features=k, weights="capped", standardize=True)
        assert model.fit(X, y).support_.size == k


def test_parameters_of_the_other_rule_are_refused():
    """A parameter would be ignored where the rule has no use for it."""
    X, y = make_classification(60, 10, informative=3, seed=0)
    with pytest.raises(ValueError, match=r"epsilon is of weights='log'; got epsilon=1.0"):
        ReweightedL1LogisticRegression(epsilon=1.0, weights="capped").fit(X, y)
    with pytest.raises(ValueError, match=r"threshold is of weights='capped'"):
        ReweightedL1LogisticRegression(threshold=1.0).fit(X, y)
    with pytest.raises(ValueError, match="n_stages must be an integer of at least 1; got 0"):
        ReweightedL1LogisticRegression(n_stages=0).fit(X, y)
    with pytest.raises(ValueError, match="epsilon must be"):
        ReweightedL1LogisticRegression(epsilon=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="weights must be one of"):
        ReweightedL1LogisticRegression(weights="candes").fit(X, y)

"""Exactly g groups of features by the minimax family, and the certificates of such budgets."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import oracles
from zeronorm import BudgetClassifier, certify, prove, verify
from zeronorm.core.groups import Groups
from zeronorm.core.results import Status, Tree
from zeronorm.data import as_design
from zeronorm.data.gathered import as_columns
from zeronorm.data.operations import scan, score_errors
from zeronorm.losses import Logistic, SquaredHinge, balance
from zeronorm.published import (
    FeatureGeneratingMachine,
    GreedyLogisticRegression,
    MinimaxLogisticRegression,
)
from zeronorm.solvers import SelectionRequest, Task, certify_supports, run
from zeronorm.solvers.bounds import bound_at
from zeronorm.solvers.certify import Goal, GroupRelaxation, prove_support, safe_magnitudes
from zeronorm.solvers.minimax import CuttingPlane, cutting_plane
from zeronorm.solvers.problem import Grouped, Risk
from zeronorm.verification import CertificateError

LOSSES = {"logistic": Logistic(), "squared_hinge": SquaredHinge()}
NONE = np.empty(0, np.int64)
each_loss = pytest.mark.parametrize("loss", list(LOSSES))
each_classifier = pytest.mark.parametrize(
    "classifier", [MinimaxLogisticRegression, FeatureGeneratingMachine, GreedyLogisticRegression]
)
each_minimax = pytest.mark.parametrize(
    "classifier", [MinimaxLogisticRegression, FeatureGeneratingMachine]
)
# Of 40 features: uneven groups, scattered over the columns, with names.
LABELS = np.array([f"set {g:02d}" for g in np.repeat(np.arange(9), [1, 2, 3, 4, 5, 6, 7, 8, 4])])
LABELS = LABELS[np.random.default_rng(0).permutation(40)]


def instance(seed, n=60, sizes=(1, 3, 2, 4, 2)):
    """X on scattered groups of these sizes, labels +-1 that two of the groups explain."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.standard_normal((n, groups.size)) + 0.5 * rng.standard_normal((n, 1))
    z = X[:, groups == 1].sum(axis=1) - X[:, groups == 3].sum(axis=1) / 2
    return X, np.where(z + rng.logistic(size=n) > 0, 1.0, -1.0), groups


def units_of(code):
    return Grouped(code, code.max() + 1, np.ones(code.size, bool))


def grouped(X, y, groups, *, loss="logistic", weight=None, intercept=False, forced=None):
    """A task with groups on the columns as they are."""
    return Task.of(
        as_design(X), y, weight, loss=LOSSES[loss], intercept=intercept, forced=forced,
        groups=Groups.of(groups, X.shape[1]),
    )  # fmt: skip


def certified(X, y, support, groups, *, C=0.3, **options):
    """Certify the groups of a support."""
    task = grouped(X, y, groups, **options)
    return run(certify_supports(task, [np.asarray(support)], C=C))[0]


# --------------------------------------------------------------------------------- the problem


@each_loss
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("r", [1, 2])
def test_the_problem_has_one_scaling_for_each_group(loss, intercept, r):
    """Features of one group would be scaled apart, or blocks be of other groups than the best."""
    X, y, groups = instance(1)
    weight = np.random.default_rng(1).uniform(0.5, 1.5, len(y))
    conic = oracles.full_problem(
        X, y, r, 0.5, loss=loss, intercept=intercept, weight=weight, groups=groups
    )
    task = grouped(X, y, groups, loss=loss, intercept=intercept, weight=weight)
    tight = CuttingPlane(r, max_blocks=200, inner_tol=1e-11, tol=1e-9)
    found = run(cutting_plane(task, None, tight, C=0.5)).result
    assert found.objective == pytest.approx(conic.objective, rel=1e-6)
    assert found.bounds["outer"] == pytest.approx(conic.objective, rel=1e-6)
    u = np.zeros(X.shape[1])
    u[found.support] = found.coef
    length = np.sqrt(np.bincount(groups, u**2))
    value = oracles.loss_values(loss, y * (X @ u + found.intercept))
    assert found.objective == pytest.approx(
        oracles.k_support(length, r)[0] + 0.5 * weight @ value, rel=1e-6
    )


def test_blocks_are_the_groups_with_the_longest_scores():
    """Groups would be ranked by their largest or mean score; the order inside be arbitrary."""
    X, y, groups = instance(2, sizes=(1, 3, 2, 4, 2, 7, 1))
    result = run(cutting_plane(grouped(X, y, groups), 4, CuttingPlane(2), C=1.0)).result
    length = np.bincount(groups, (X.T @ (0.5 * y)) ** 2)
    first, second = np.argsort(-length)[:2]
    expected = [*np.flatnonzero(groups == first), *np.flatnonzero(groups == second)]
    assert result.history[0].entered.tolist() == expected
    assert [len(set(groups[step.entered])) for step in result.history] == [2, 2]


def test_solver_refuses_more_groups_than_there_are():
    """The loop would look for further groups without end."""
    task = grouped(*instance(1), forced=np.array([0]))
    with pytest.raises(ValueError, match=r"n_groups must be between 1 .*forced groups.* 5 .*got 6"):
        run(cutting_plane(task, 6, CuttingPlane(2), C=1.0))


# --------------------------------------------------------------------------------- exactly g


@each_minimax
@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array])
def test_exactly_the_usable_features_of_exactly_so_many_groups(classifier, storage, binary):
    """A group would be torn, a constant column be selected, or a size be missed."""
    X, y = binary[0].copy(), binary[1]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if storage is sp.csc_array:
        X[np.abs(X) < 0.3] = 0.0
    constant = [3, 17, int(np.flatnonzero(LABELS == "set 00")[0])]
    X[:, constant] = 0.0
    model = classifier(feature_groups=LABELS, n_groups=range(1, 9), calibrate=False).fit(
        storage(X), y
    )
    usable = np.setdiff1d(np.arange(40), constant)
    before = set()
    for n_groups, found in model.path_.selections.items():
        chosen = set(LABELS[found.support])
        assert len(chosen) == n_groups
        assert before <= chosen
        before = chosen
        whole = usable[np.isin(LABELS[usable], list(chosen))]
        np.testing.assert_array_equal(found.support, whole)
        assert found.certificate.n_groups == n_groups
    np.testing.assert_array_equal(model.support_, whole)
    with pytest.raises(ValueError, match=r"n_groups must be between 1 and 8 \(the groups with a n"):
        clone(model).set_params(n_groups=9).fit(X, y)


@each_minimax
@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array])
@pytest.mark.parametrize("forced", [[5, 9]])
def test_groups_of_one_are_features_to_the_bit(classifier, storage, forced, binary):
    """Groups would be another method than features where they are features."""
    X, y = storage(binary[0]), binary[1]
    options = {"forced_features": forced, "block_size": 2}
    one = classifier([3, 8], **options, calibrate=False).fit(X, y)
    other = classifier(
        feature_groups=np.arange(40), n_groups=[3, 8], **options, calibrate=False
    ).fit(X, y)
    np.testing.assert_array_equal(one.path_.order, other.path_.order)
    for k in (3, 8):
        a, b = one.path_[k], other.path_[k]
        np.testing.assert_array_equal(a.coef, b.coef)
        for field in dataclasses.fields(a.certificate):
            if field.name not in ("n_groups", "groups"):
                np.testing.assert_array_equal(
                    getattr(a.certificate, field.name), getattr(b.certificate, field.name)
                )
    a, b = certify(one, X, y), certify(other, X, y)
    assert a.objective == b.objective
    assert a.bound == pytest.approx(b.bound, rel=2e-4)


@each_minimax
def test_groups_of_forced_features_are_forced_as_a_whole(classifier, binary):
    """Single features would be forced, or their groups not be counted."""
    X, y = binary
    model = classifier(
        feature_groups=LABELS, n_groups=[2, 4], forced_features=[7, 8], calibrate=False
    ).fit(X, y)
    must = set(LABELS[[7, 8]])
    assert len(must) == 2
    for n_groups in (2, 4):
        chosen = LABELS[model.path_[n_groups].support]
        assert must <= set(chosen)
        assert len(set(chosen)) == n_groups
        assert np.isin(LABELS, chosen).sum() == chosen.size
    assert model.path_[2].certificate.proven
    assert certify(model, X, y).bound >= model.certificate_.bound * (1 - 1e-12)
    constant = X.copy()
    constant[:, np.flatnonzero(LABELS[7] == LABELS)[-1]] = 5.0
    found = clone(model).set_params(n_groups=2).fit(constant, y).certificate_
    assert found.fixed_in == found.candidates == found.support.size
    with pytest.raises(ValueError, match=r"counts the groups of forced .* at least 2; got 1\."):
        clone(model).set_params(n_groups=1).fit(X, y)


@each_minimax
def test_warm_start_goes_on_from_the_groups_before(classifier, binary):
    """A larger budget would begin anew, or count features of the old blocks as groups."""
    X, y = binary
    model = classifier(
        feature_groups=LABELS, n_groups=3, block_size=1, warm_start=True, calibrate=False
    ).fit(X, y)
    first, scans = model.path_.order, model.n_scans_
    model.set_params(n_groups=5).fit(X, y)
    cold = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.path_.order[: first.size], first)
    np.testing.assert_array_equal(model.support_, cold.support_)
    assert model.n_scans_ < cold.n_scans_
    assert scans == 3 + 2


# --------------------------------------------------------------------------------- certificates


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("case", ["plain", "weights", "forced", "squared_hinge", "intercept"])
def test_bound_and_fixing_hold_over_all_choices_of_groups(seed, case):
    """A bound above the best choice, or a decision about a feature that is wrong."""
    X, y, groups = instance(seed)
    rng = np.random.default_rng(seed)
    options = {
        "weight": rng.uniform(0.5, 1.5, 60) if case == "weights" else np.ones(60),
        "loss": "squared_hinge" if case == "squared_hinge" else "logistic",
        "intercept": case == "intercept",
    }
    forced = np.array([int(np.flatnonzero(groups == 2)[0])]) if case == "forced" else NONE
    risk = grouped(X, y, groups, **options).risk(0.1)
    for n_groups in (1, 2, 3):
        models = oracles.enumerate_groups(X, y, 0.1, n_groups, groups, forced=forced, **options)
        for value, support in models[:3]:
            found = certified(X, y, support, groups, C=0.1, forced=forced, **options)
            assert found.objective == pytest.approx(value, rel=1e-9)
            assert found.bound <= models[0][0] * (1 + 1e-9)
            assert found.n_groups == n_groups
            fit = oracles.ridge(X[:, support], y, 0.1, **options)
            dual = fit.alpha * y
            dual = balance(dual) if case == "intercept" else dual
            own, units = groups[forced], units_of(groups)
            proof = bound_at(risk, dual, np.abs(X.T @ dual), n_groups, own, value, units)
            for other, better in models:
                if other < value * (1 - 1e-9):
                    assert not proof.dropped[groups[list(better)]].any()
                    assert set(np.flatnonzero(proof.fixed)) <= set(groups[list(better)])


def test_decisions_are_those_of_the_stated_inequalities():
    """Nothing, or less than what is proven, would be decided."""
    X, y, groups = instance(5)
    chosen = oracles.enumerate_groups(X, y, 0.02, 2, groups)
    support = chosen[0][1]
    fit = oracles.ridge(X[:, support], y, 0.02)
    dual = fit.alpha * y
    c = X.T @ dual
    risk = Risk(y, np.full(60, 0.02), Logistic(), intercept=False)
    proof = bound_at(risk, dual, np.abs(c), 2, NONE, chosen[0][0], units_of(groups))
    square = np.bincount(groups, (X.T @ proof.dual) ** 2)
    order = np.argsort(-square)
    limit = chosen[0][0] * (1 + 1e-9)
    dropped = [g for g in order[2:] if proof.value + (square[order[1]] - square[g]) / 2 > limit]
    fixed = [g for g in order[:2] if proof.value + (square[g] - square[order[2]]) / 2 > limit]
    np.testing.assert_array_equal(np.flatnonzero(proof.dropped), np.sort(dropped))
    np.testing.assert_array_equal(np.flatnonzero(proof.fixed), np.sort(fixed))
    assert dropped
    assert fixed


@pytest.mark.parametrize("code", [[0, 1, 2, 3], [0, 1, 1, 2]])
def test_forced_features_without_scores_stay_fixed(code):
    """A forced feature among the best by a tie of zeros would be as free as those."""
    y = np.array([1.0, -1.0])
    risk = Risk(y, np.ones(2), Logistic())
    for value in (0.0, 1.0):
        magnitude = np.array([0.0, 0.0, 0.0, value])
        units = units_of(np.array(code))
        proof = bound_at(risk, 0.1 * y, magnitude, 2, np.array([0]), 99.0, units)
        assert units.spread(proof.fixed).tolist() == [True, False, False, False]
        assert not proof.dropped.any()


def test_bound_at_any_dual_point_is_below_the_optimum():
    """The bound would hold only at the dual points of refits."""
    X, y, groups = instance(6)
    rng = np.random.default_rng(6)
    risk = Risk(y, np.full(60, 0.3), Logistic(), intercept=False)
    best = oracles.enumerate_groups(X, y, 0.3, 2, groups)[0][0]
    for _ in range(50):
        dual = 0.3 * y * rng.uniform(0, 1, 60) ** 2
        magnitude = np.abs(X.T @ dual)
        bound = bound_at(risk, dual, magnitude, 2, NONE, best, units_of(groups))
        assert bound.value <= best


def test_a_proven_support_is_the_best_choice():
    """`proven` would be claimed for other groups than the best."""
    proven = 0
    for seed in range(12):
        X, y, groups = instance(seed, sizes=(2, 3, 2, 3))
        models = oracles.enumerate_groups(X, y, 0.003, 1, groups)
        for value, support in models:
            if certified(X, y, support, groups, C=0.003).proven:
                proven += 1
                assert value == pytest.approx(models[0][0], rel=1e-9)
    assert proven > 5
    every = certified(X, y, np.arange(10), groups)
    assert every.proven
    assert every.candidates == 10


@pytest.mark.parametrize("limit", [0, 200])
def test_bounds_are_safe_in_float32(monkeypatch, limit):
    """Errors of a float32 scan would lift the bound, with all columns in doubt or with few."""
    monkeypatch.setattr("zeronorm.solvers.bounds.MAX_RECOMPUTED", limit)
    rng = np.random.default_rng(7)
    groups = rng.integers(0, 12, 150)
    X = (rng.standard_normal((400, 150)) * 20).astype(np.float32)
    y = np.where(X[:, 0] + X[:, 1] + 20 * rng.standard_normal(400) > 0, 1.0, -1.0)
    for n_groups in (1, 3, 8):
        support = np.flatnonzero(np.isin(groups, rng.choice(12, n_groups, replace=False)))
        exact = certified(X.astype(float), y, support, groups, C=1e-4)
        stored = certified(X, y, support, groups, C=1e-4)
        square = np.bincount(groups, (X.astype(float).T @ stored.dual) ** 2)
        truth = oracles.dual_value("logistic", y * stored.dual, 1e-4, np.ones(400))
        truth -= oracles.top_sum(square, n_groups) / 2
        assert stored.bound <= truth + 1e-11 * abs(truth)
        assert stored.bound == pytest.approx(exact.bound, rel=1e-3)
        assert stored.candidates >= exact.candidates


def test_magnitudes_of_float32_scans_are_exact_where_groups_decide():
    """Scores would enter without their error, or the best groups with it."""
    rng = np.random.default_rng(9)
    groups = rng.integers(0, 60, 400)
    X = (1000 * rng.standard_normal((500, 400)) + 3000).astype(np.float32)
    v = rng.standard_normal(500)
    task = grouped(X, np.sign(v), groups)
    true = np.abs(X.astype(float).T @ v)
    length = np.sqrt(np.bincount(groups, true**2))
    support = np.flatnonzero(np.isin(groups, np.argsort(length)[:5]))  # the worst ones
    found = safe_magnitudes(task, scan(task.design, v), v, support, score_errors(task.design))
    rounding = 1e-12 * np.linalg.norm(v) * np.linalg.norm(X.astype(float), axis=0)
    assert (found >= true - rounding).all()
    decisive = np.isin(groups, np.argsort(-length)[:5]) | np.isin(np.arange(400), support)
    assert (np.abs(found - true) <= rounding)[decisive].all()
    assert (found > true + rounding)[~decisive].mean() > 0.9


@each_classifier
@pytest.mark.parametrize("case", ["dense", "weights", "sparse", "float32", "unscaled", "forced"])
def test_certificates_verify_and_tighten(classifier, case, binary):
    """A model of groups would be certified as one of features, or with a bound that is none."""
    X, y = binary
    options = {"feature_groups": LABELS, "n_groups": [1, 3]}
    weight = None
    if case == "weights":
        weight = np.random.default_rng(8).uniform(0, 2, len(y))
        weight[::7] = 0.0
    if case == "unscaled":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        options |= {"standardize": False, "fit_intercept": False}
    if case == "forced":
        options["forced_features"] = [4]
    stored = X
    if case == "sparse":
        X = np.where(np.random.default_rng(8).random(X.shape) < 0.5, X, 0.0)
        stored = sp.csr_array(X)
    if case == "float32":
        stored = X.astype(np.float32)
        X = stored.astype(float)
    model = classifier(**options, calibrate=False).fit(stored, y, sample_weight=weight)
    tight = certify(model, stored, y, sample_weight=weight)
    first = model.certificate_
    assert tight.bound >= first.bound * (1 - 1e-9)
    assert tight.objective == pytest.approx(first.objective, rel=1e-9)
    for found in (model.path_[1].certificate, first, tight):
        assert np.unique(LABELS[found.support]).size == found.n_groups
        np.testing.assert_array_equal(found.groups.labels[found.groups.code], LABELS)
        checked = verify(found, X, y, sample_weight=weight)
        assert checked["objective"] == pytest.approx(found.objective, rel=1e-7)
        assert checked["bound"] >= found.bound * (1 - 1e-9)
        assert checked["bound"] == pytest.approx(found.bound, rel=1e-3)


def test_the_tightened_bound_is_that_of_the_relaxation(binary):
    """`certify` would stop short of the bound it promises, or pass it."""
    X, y = binary
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    sign = np.where(y == 1, 1.0, -1.0)
    code = Groups.of(LABELS, 40).code
    for n_groups in (2, 4):
        conic = oracles.full_problem(Z, sign, n_groups, 0.1, intercept=True, groups=code)
        model = MinimaxLogisticRegression(
            feature_groups=LABELS, n_groups=n_groups, calibrate=False
        ).fit(X, y)
        tight = certify(model, X, y)
        assert tight.bound <= conic.objective * (1 + 1e-7)
        assert tight.bound == pytest.approx(conic.objective, rel=2e-4)


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("case", ["plain", "weights", "forced", "squared_hinge", "intercept"])
def test_the_tightened_bound_is_below_every_choice_of_groups(seed, case):
    """The relaxation would leave out groups, or forced ones would count as free."""
    X, y, groups = instance(seed)
    options = {"weight": np.ones(60), "loss": "logistic", "intercept": case == "intercept"}
    if case == "weights":
        options["weight"] = np.random.default_rng(seed).uniform(0.5, 1.5, 60)
    if case == "squared_hinge":
        options["loss"] = case
    forced = np.array([int(np.flatnonzero(groups == 2)[0])]) if case == "forced" else NONE
    task = grouped(X, y, groups, forced=forced, **options)
    for n_groups in (1, 3):
        models = oracles.enumerate_groups(X, y, 0.1, n_groups, groups, forced=forced, **options)
        for value, support in (models[0], models[-1]):
            first = certified(X, y, support, groups, C=0.1, forced=forced, **options)
            tight = run(prove_support(task, np.array(support), Goal(None), C=0.1)).certificate
            assert first.bound * (1 - 1e-12) <= tight.bound <= models[0][0] * (1 + 1e-9)
            assert tight.objective == pytest.approx(value, rel=1e-9)
            if n_groups > forced.size:  # the same relaxation from everywhere
                best = np.array(models[0][1])
                again = run(prove_support(task, best, Goal(None), C=0.1)).certificate
                assert tight.bound == pytest.approx(again.bound, rel=3e-4)


def test_the_dual_point_of_the_relaxation_is_feasible():
    """Away from the best intercept its bound would be none."""
    X, y, groups = instance(0)
    columns, code = X[:, np.argsort(groups, kind="stable")], np.sort(groups)
    risk = Risk(y, np.full(60, 0.3), Logistic())
    slope = risk.value_gradient(X[:, 0] + 0.5)[1]
    assert abs(slope.sum()) > 0.5
    problem = GroupRelaxation(as_columns(columns), code, risk, 1, 2)
    bound, dual = problem._bound(slope)
    assert abs(dual.sum()) <= 1e-12 * np.abs(dual).sum()
    square = np.bincount(code, (columns.T @ dual) ** 2)
    expected = oracles.dual_value("logistic", dual * y, 0.3, np.ones(60))
    expected -= 0.5 * (square[0] + oracles.top_sum(square[1:], 2))  # the first group is fixed in
    assert bound == pytest.approx(expected, rel=1e-12)


def test_any_support_is_certified_among_groups(binary):
    """Models of others, and torn groups, would have no certificate."""
    X, y = binary
    models = [
        [0, 1, 2],
        BudgetClassifier(3, calibrate=False).fit(X, y),
        LogisticRegression(max_iter=5000),
    ]
    models[2].fit((X[:, :3] - X[:, :3].mean(0)) / X[:, :3].std(0), y)
    models[2].coef_ = np.append(models[2].coef_, np.zeros((1, 37)), axis=1)
    for model in models:
        found = certify(model, X, y, feature_groups=LABELS)
        assert found.n_groups == np.unique(LABELS[found.support]).size
        assert found.support.size == 3
        verify(found, X, y)
    with pytest.raises(ValueError, match=r"every column of X \(40\); got shape \(39,\)"):
        certify([0, 1], X, y, feature_groups=LABELS[1:])


@pytest.mark.parametrize("seed", [2, 3])
def test_proofs_find_the_best_groups(seed):
    """A proof would be of groups that are not the best ones, or no proof."""
    rng = np.random.default_rng(seed)
    groups = np.array([3, 3, 3, 0, 1, 1, 4, 2, 2, 4, 5])  # of one to three features
    X = rng.standard_normal((40, 11)) + 0.7 * rng.standard_normal((40, 1))
    X[:, 7:9] = X[:, 4:6]  # two groups are equal
    y = (X[:, 0] - X[:, 4] + X[:, 9] + rng.standard_normal(40) > 0) * 2.0 - 1.0
    forced = (9,) if seed == 3 else ()
    models = oracles.enumerate_groups(X, y, 0.3, 2, groups, forced=forced)
    optimum = models[0][0]
    model = BudgetClassifier(
        feature_groups=groups, n_groups=2, C=0.3, fit_intercept=False, standardize=False,
        forced_features=list(forced), calibrate=False,
    ).fit(X, y)  # fmt: skip
    rough = prove(model, X, y, gap=0, max_nodes=1)
    for earlier in (None, rough):
        proof = prove(model, X, y, gap=0, resume=earlier)
        assert proof.status is Status.OPTIMAL
        assert proof.certificate.objective == pytest.approx(optimum, rel=1e-8)
        assert np.unique(groups[proof.support]).size == 2
        verify(proof.certificate, X, y)
    assert rough.certificate.bound <= optimum * (1 + 1e-9)
    other = prove(model, X, y, feature_groups=np.arange(11) // 2, gap=0)
    with pytest.raises(ValueError, match="of another problem"):
        prove(model, X, y, resume=other)


@pytest.mark.parametrize(
    "what",
    ["bound", "objective", "more groups", "fewer groups", "no groups", "no number", "other groups",
     "groups of others", "tree", "forced"],
)  # fmt: skip
def test_verifier_notices_tampering(binary, what):
    """A changed certificate would pass."""
    X, y = binary
    found = (
        MinimaxLogisticRegression(feature_groups=LABELS, n_groups=3, calibrate=False)
        .fit(X, y)
        .certificate_
    )
    labels = found.groups.labels
    other = np.flatnonzero(~np.isin(np.arange(40), found.support))[:1]
    code = found.groups.code
    alone = np.arange(40)  # every feature a group by itself: the bound would rise
    none = np.empty(0, np.int64)
    changed, message = {
        "bound": ({"bound": found.bound * 1.01}, "claims the (objective|bound)"),
        "objective": ({"objective": found.objective * 0.99}, "claims the (objective|bound)"),
        "more groups": ({"n_groups": 4}, "claims the (objective|bound)"),
        "fewer groups": ({"n_groups": 2}, "features of more than 2 groups"),
        "no groups": ({"n_groups": None, "groups": None}, "claims the (objective|bound)"),
        "no number": ({"n_groups": None}, "groups without their number"),
        "other groups": ({"groups": Groups(alone, alone)}, "features of more than 3 groups"),
        "groups of others": ({"groups": Groups(labels, code[1:])}, "of 39 feat|more than 3 groups"),
        "tree": ({"tree": Tree(none, none, none, none, none)}, "must have parent, feature"),
        "forced": ({"forced": other}, "outside of its support"),
    }[what]
    verify(found, X, y)
    with pytest.raises(CertificateError, match=message):
        verify(dataclasses.replace(found, **changed), X, y)


def test_a_certificate_of_groups_says_so(binary):
    """Nobody could see what was certified."""
    model = MinimaxLogisticRegression(feature_groups=LABELS, n_groups=3, calibrate=False).fit(
        *binary
    )
    shown = repr(model.certificate_)
    assert shown.startswith(f"Certificate(n_groups=3, k={model.support_.size}, loss='logistic'")
    assert len(shown) < 200
    again = pickle.loads(pickle.dumps(model.certificate_))
    np.testing.assert_array_equal(again.groups.code, model.certificate_.groups.code)


def test_tasks_with_groups_are_selected_by_group(signed):
    """Estimators alone would know of groups."""
    from zeronorm.solvers import select_nested

    X, y = signed
    path = run(
        select_nested(grouped(X, y, np.arange(60) // 4, intercept=True), [1, 3], SelectionRequest())
    )
    assert [path[g].support.size for g in path] == [4, 12]

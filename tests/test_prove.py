"""Relaxation, branch and bound, and the verifier of trees."""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import pickle
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.svm import LinearSVC

import oracles
import zeronorm
from conftest import slow
from generators import instance
from golub import load_golub
from zeronorm import BudgetClassifier, BudgetRegressor, MeasureClassifier
from zeronorm.core.results import Status
from zeronorm.data import column_sets
from zeronorm.data.arrays import Dense
from zeronorm.data.gathered import as_columns
from zeronorm.losses import Logistic
from zeronorm.model_selection.cross_validation import cross_validate
from zeronorm.published import FeatureGeneratingMachine, L0LogisticRegression
from zeronorm.solvers import branch_and_bound, certify
from zeronorm.solvers.bounds import bound_at
from zeronorm.solvers.branch_and_bound import BranchAndBound, CandidateProblem, GrowingTree
from zeronorm.solvers.problem import Risk, Singles
from zeronorm.solvers.relaxation import RelaxationProblem, relax

NONE = np.empty(0, np.int64)


def optima(X, y, C, k, *, intercept, weight=None):
    """Return the optimum of every support of size k, by Newton's method on all of them at once."""
    n, p = X.shape
    weight = np.full(n, C) if weight is None else C * weight
    supports = np.array(list(itertools.combinations(range(p), k)))
    Z = X.T[supports].transpose(0, 2, 1)
    ridge = np.ones(k + intercept)
    if intercept:
        Z = np.concatenate([Z, np.ones((len(Z), n, 1))], axis=2)
        ridge[-1] = 0.0
    u = np.zeros((len(Z), Z.shape[2]))

    def objective(u):
        z = np.einsum("sij,sj->si", Z, u)
        return np.logaddexp(0, -y * z) @ weight + 0.5 * (u * u) @ ridge, z

    for _ in range(60):
        value, z = objective(u)
        slope = 1 / (1 + np.exp(y * z))
        gradient = ridge * u - np.einsum("sij,si->sj", Z, weight * y * slope)
        bend = np.einsum("sij,si,sik->sjk", Z, weight * slope * (1 - slope), Z)
        bend += np.diag(ridge + 1e-14)
        step = np.linalg.solve(bend, gradient[:, :, None])[:, :, 0]
        share = np.ones(len(Z))
        for _ in range(30):
            worse = objective(u - share[:, None] * step)[0] > value * (1 + 1e-12)
            if not worse.any():
                break
            share[worse] /= 2
        u -= share[:, None] * step
        if np.abs(gradient).max() < 1e-9 * C * n:
            break
    return objective(u)[0], supports


# ------------------------------------------------------------------------------- the relaxation


def test_bounds_and_decisions_of_hundreds_of_instances_are_safe():
    """A bound above the optimum, or a feature of a better model ruled out, would be a lie."""
    # Where C is large, bounds are far below the optimum and decide nothing: thirty are enough.
    Cs, shares = [0.01, 0.03, 0.1, 0.3, 1.0, 10.0, 100.0], [0.19] * 5 + [0.03, 0.02]
    drawn = np.random.default_rng(0).choice(Cs, 240, p=shares)
    tight = decided = 0
    for seed, C in enumerate(drawn.tolist()):
        X, y = instance(seed, n=24, p=6)
        intercept = bool(seed % 2)
        k = 1 + seed % 3
        risk = Risk(y, np.full(24, C), Logistic(), intercept)
        values, supports = optima(X, y, C, k, intercept=intercept)
        best = values.min()
        found = relax(as_columns(X), Singles(np.ones(X.shape[1], bool)), risk, 0, k)
        assert found.bound <= best * (1 + 1e-9)
        # As if the third best model were the best known one.
        upper = np.sort(values)[min(2, len(values) - 1)]
        scores = np.abs(X.T @ found.dual)
        known = bound_at(risk, found.dual, scores, k, NONE, upper)
        better = supports[values < upper * (1 - 1e-8)]
        assert not known.dropped[better].any()
        assert np.all([np.isin(np.flatnonzero(known.fixed), support).all() for support in better])
        tight += found.bound > best * (1 - 1e-3)
        decided += known.dropped.sum() + known.fixed.sum()
    assert tight > 120
    assert decided > 240


# -------------------------------------------------------------------------------------- the proof


@pytest.mark.parametrize("intercept", [pytest.param(False, marks=pytest.mark.slow), True])
def test_proven_optima_are_those_of_enumeration(intercept):
    """A support would be called the best one that is not."""
    for seed in range(24):
        X, y = instance(seed)
        C, k = (0.05, 0.5, 5.0)[seed % 3], 2 + seed % 3
        values, supports = optima(X, y, C, k, intercept=intercept)
        poor = supports[np.argmax(values)]  # the search begins with the worst model
        proof = zeronorm.prove(poor, X, y, gap=0, C=C, fit_intercept=intercept, standardize=False)
        assert proof.status is Status.OPTIMAL
        assert proof.certificate.proven
        assert proof.certificate.objective == pytest.approx(values.min(), rel=1e-8)
        assert proof.improved == bool(values.max() > values.min() * (1 + 1e-8))
        zeronorm.verify(proof.certificate, X, y, rtol=1e-8)


@pytest.mark.parametrize("seed", [*range(4), *slow(*range(4, 12))])
def test_gap_and_history_are_true(seed):
    """A proof would end above the wanted gap, or report bounds that do not hold."""
    X, y = instance(seed, n=60, p=14)
    values, _ = optima(X, y, 1.0, 4, intercept=True)
    rows = []
    proof = zeronorm.prove(
        np.arange(4), X, y, gap=0.02, C=1.0, standardize=False, callback=rows.append
    )
    assert proof.status in (Status.GAP, Status.OPTIMAL)
    certificate = proof.certificate
    assert certificate.gap <= 0.02 + 1e-12
    assert certificate.bound <= values.min() * (1 + 1e-9)
    assert certificate.objective >= values.min() * (1 - 1e-9)
    assert tuple(rows) == proof.history
    assert [row.objective for row in rows] == sorted((row.objective for row in rows), reverse=True)
    assert np.all(np.diff([row.n_nodes for row in rows]) >= 0)
    assert all(row.bound <= values.min() * (1 + 1e-9) for row in rows)
    assert proof.history[-1].bound == pytest.approx(certificate.bound)
    zeronorm.verify(certificate, X, y)


def test_weights_and_forced_features_count():
    """The proof would be of a problem without weights or forced features."""
    X, y = instance(3)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, 30).astype(float)
    weight[:2] = 1
    model = L0LogisticRegression(
        3, C=0.5, standardize=False, forced_features=[6], gap=0, calibrate=False
    )
    model.fit(X, y, sample_weight=weight)
    found = oracles.enumerate_supports(
        X[weight > 0], y[weight > 0], 0.5, 3, forced=[6], intercept=True, weight=weight[weight > 0]
    )
    assert model.certificate_.objective == pytest.approx(found[0][0], rel=1e-7)
    assert tuple(model.support_) == found[0][1]
    assert model.proof_.status is Status.OPTIMAL
    zeronorm.verify(model.certificate_, X, y, sample_weight=weight)
    repeated = zeronorm.prove(
        model, *(np.repeat(part, weight.astype(int), axis=0) for part in (X, y)), gap=0
    )
    assert repeated.certificate.objective == pytest.approx(model.certificate_.objective, rel=1e-9)
    assert tuple(repeated.certificate.forced) == (6,)


def test_storages_agree():
    """A proof would depend on how X is stored."""
    X, y = instance(8, n=50, p=20)
    X = np.where(np.abs(X) > 0.8, X, 0.0).astype(np.float32)
    expected = None
    for data in (X, np.asfortranarray(X), sp.csr_array(X), sp.csc_array(X)):
        proof = zeronorm.prove([0, 1, 2, 3], data, y, gap=0, standardize=False)
        if expected is None:
            expected = proof.certificate
        assert proof.certificate.objective == pytest.approx(expected.objective, rel=1e-9)
        np.testing.assert_array_equal(proof.support, expected.support)
        zeronorm.verify(proof.certificate, X, y)


def test_squared_hinge_of_a_feature_generating_machine():
    """The proof would be of another loss than the model."""
    X, y = instance(4, n=40, p=10)
    model = FeatureGeneratingMachine(3, C=0.5, calibrate=False).fit(X, y)
    proof = zeronorm.prove(model, X, y, gap=0)
    Z = oracles.standardise(X)[0]
    found = oracles.enumerate_supports(
        Z, y, 0.5, 3, loss="squared_hinge", intercept=bool(model.fit_intercept)
    )
    assert proof.certificate.loss == "squared_hinge"
    assert proof.certificate.objective == pytest.approx(found[0][0], rel=1e-6)
    zeronorm.verify(proof.certificate, X, y)


def test_classes_have_proofs_of_their_own():
    """The proof of one class would be shown for another."""
    X, _ = instance(5, n=60, p=12)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 3], [-0.5, 0.8])
    model = L0LogisticRegression(2, C=0.3, gap=0, calibrate=False).fit(X, y)
    assert [proof.status for proof in model.proof_] == [Status.OPTIMAL] * 3
    for label, certificate in zip(model.classes_, model.certificate_, strict=True):
        zeronorm.verify(certificate, X, (y == label).astype(int))
    certificates = zeronorm.certify(model, X, y)
    assert [c.support.size for c in certificates] == [2, 2, 2]


def test_golub_is_proven_and_read_from_a_pickle():
    """The whole of it on real data: exchanges, proof, verifier."""
    X, y = load_golub(return_X_y=True)
    model = L0LogisticRegression(n_features=8, gap=0, calibrate=False).fit(X, y)
    certificate = pickle.loads(pickle.dumps(model.certificate_))
    assert certificate.proven
    assert certificate.tree.row.size > 1
    checked = zeronorm.verify(certificate, X, y, rtol=1e-8)
    assert checked["gap"] <= 1e-8
    before = BudgetClassifier(n_features=8, calibrate=False).fit(X, y).certificate_
    tight = zeronorm.certify(BudgetClassifier(n_features=8, calibrate=False).fit(X, y), X, y)
    assert before.bound < tight.bound <= certificate.objective <= tight.objective
    assert tight.candidates <= before.candidates
    zeronorm.verify(tight, X, y)


# ------------------------------------------------------------------------------- stop and go on


def test_limits_keep_what_is_proven_and_the_search_goes_on():
    """What was proven before a limit would be lost."""
    X, y = load_golub(return_X_y=True)
    model = L0LogisticRegression(n_features=8, calibrate=False).fit(X, y)
    short = zeronorm.prove(model, X, y, gap=0, max_nodes=20)
    assert short.status is Status.NODE_LIMIT
    assert short.history[-1].n_nodes == 20
    assert 0 < short.certificate.gap < zeronorm.certify(model, X, y).gap
    zeronorm.verify(short.certificate, X, y)
    onward = zeronorm.prove(model, X, y, gap=0, resume=short)
    whole = zeronorm.prove(model, X, y, gap=0)
    assert onward.status is whole.status is Status.OPTIMAL
    assert onward.certificate.objective == pytest.approx(whole.certificate.objective, rel=1e-12)
    assert onward.history[-1].n_nodes <= whole.history[-1].n_nodes + 30
    zeronorm.verify(onward.certificate, X, y, rtol=1e-8)
    rough = zeronorm.prove(model, X, y, gap=0.005)
    assert rough.status is Status.GAP
    finer = zeronorm.prove(model, X, y, gap=0, resume=rough)  # with another wanted gap
    assert finer.status is Status.OPTIMAL
    zeronorm.verify(finer.certificate, X, y, rtol=1e-8)


def test_time_limit_is_reported():
    """A search that ran out of time would pass for one that ended."""
    X, y = load_golub(return_X_y=True)
    model = L0LogisticRegression(n_features=8, calibrate=False).fit(X, y)
    proof = zeronorm.prove(model, X, y, gap=0, time_limit=1e-9)
    assert proof.status is Status.TIME_LIMIT
    assert proof.certificate.gap > 0
    zeronorm.verify(proof.certificate, X, y)


def test_all_relaxations_of_a_proof_know_the_time(monkeypatch):
    """The tightening before the search, or a node of it, could go on without end."""
    X, y = load_golub(return_X_y=True)
    model = L0LogisticRegression(n_features=8, calibrate=False).fit(X, y)
    begin, known = time.perf_counter(), []

    def noting(*args, deadline=np.inf, ahead=False, **kwargs):
        known.append((ahead, deadline - begin))
        return relax(*args, deadline=deadline, ahead=ahead, **kwargs)

    monkeypatch.setattr(branch_and_bound, "relax", noting)
    monkeypatch.setattr(
        branch_and_bound, "can_grow", lambda problem: False
    )  # kernels take no such time
    zeronorm.prove(model, X, y, gap=0, time_limit=5000.0, max_nodes=3)
    assert {ahead for ahead, _ in known} == {False, True}
    assert all(5000.0 <= left < 5100.0 for _, left in known)


def test_further_supports_are_exchanged(monkeypatch):
    """A better model near the fit would hide those that are far from it."""
    X, y = load_golub(return_X_y=True)
    model = L0LogisticRegression(n_features=8, calibrate=False).fit(X, y)
    tried = []
    improved = CandidateProblem.improved

    def noting(self, support):
        tried.append(tuple(support))
        return improved(self, support)

    monkeypatch.setattr(CandidateProblem, "improved", noting)
    zeronorm.prove(model, X, y, gap=0, max_nodes=40)
    assert len(set(tried)) >= 4


def test_every_class_has_its_time(monkeypatch):
    """The proof of one class would take the time of the others, which run beside it."""
    X, y = load_golub(return_X_y=True)
    X, three = X[:, :200], np.arange(y.size) % 3  # labels without a reason: proofs that do not end
    model = L0LogisticRegression(6, C=1.0, calibrate=False, refit_C=1.0).fit(X, three)
    ticks = itertools.count()  # a clock that a busy machine does not hurry
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks) / 100)
    short = zeronorm.prove(model, X, three, gap=0, time_limit=1)
    onward = zeronorm.prove(model, X, three, gap=0, time_limit=1, resume=short)
    for before, after in zip(short, onward, strict=True):
        assert before.status is after.status is Status.TIME_LIMIT
        assert 0 < before.history[-1].n_nodes < after.history[-1].n_nodes
        assert before.history[0].seconds < 0.9


def test_rounding_is_no_proof(monkeypatch):
    """Where no bound of a model is good enough, `OPTIMAL` would be a lie."""
    X, y = instance(7, n=60, p=12)
    bound = BranchAndBound._bound

    def rounded(search, node, alpha, scores=None):
        found = bound(search, node, alpha, scores)
        return dataclasses.replace(found, value=found.value * (1 - 1e-8))

    monkeypatch.setattr(BranchAndBound, "_bound", rounded)
    monkeypatch.setattr(branch_and_bound, "can_grow", lambda problem: False)
    proof = zeronorm.prove([0, 1, 2], X, y, gap=0)
    assert proof.status is Status.STALLED
    assert 1e-9 < proof.certificate.gap < 1e-7
    zeronorm.verify(proof.certificate, X, y)


def test_data_that_separate_are_proven():
    """Where the loss is next to nothing beside C, refits would be too rough for a proof."""
    X, y = instance(7, n=60, p=12)
    X[:, 3] = y + 0.1 * X[:, 3]
    proof = zeronorm.prove([0, 1, 2], X, y, gap=0, C=1e7)
    assert proof.status is Status.OPTIMAL
    zeronorm.verify(proof.certificate, X, y, rtol=1e-8)


@pytest.mark.parametrize("gap", [0.01, 0.02, 0.03])
def test_a_gap_is_at_most_the_wanted_one(gap):
    """A proof would end before the wanted gap is reached."""
    X, y = load_golub(return_X_y=True)
    proof = zeronorm.prove(np.arange(6), X, y, gap=gap)
    assert proof.status is Status.GAP
    assert proof.certificate.gap <= gap


def test_interrupt_keeps_what_is_proven(monkeypatch):
    """Ctrl-C would throw away hours of a search."""
    monkeypatch.setattr(
        branch_and_bound, "BRANCHING", replace(branch_and_bound.BRANCHING, report_seconds=0.0)
    )  # a row for every node
    X, y = load_golub(return_X_y=True)
    model = L0LogisticRegression(n_features=8, calibrate=False).fit(X, y)

    rows = []

    def interrupt(row):
        rows.append(row)
        if row.n_nodes > 5 and rows[-2].n_nodes <= 5:
            raise KeyboardInterrupt

    proof = zeronorm.prove(np.arange(8), X, y, gap=0, callback=interrupt)
    assert proof.status is Status.INTERRUPTED
    assert proof.certificate.objective > proof.certificate.bound
    zeronorm.verify(proof.certificate, X, y)
    onward = zeronorm.prove(np.arange(8), X, y, gap=0, resume=proof)
    assert onward.status is Status.OPTIMAL
    best = zeronorm.prove(model, X, y, gap=0)
    assert onward.certificate.objective == pytest.approx(best.certificate.objective, rel=1e-9)


PLACES = [
    (GrowingTree, "add", False, 20), (GrowingTree, "add", False, 21),
    (GrowingTree, "add", False, 23), (GrowingTree, "keep", True, 5),
    (GrowingTree, "graft", True, 0), (GrowingTree, "graft", True, 6),
    (heapq, "heappush", True, 9), (heapq, "heappush", True, 30), (heapq, "heappop", True, 7),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(("owner", "name", "grows", "after"), PLACES)
def test_interrupt_in_the_middle_of_a_node(monkeypatch, owner, name, grows, after, before):
    """A node that is half divided would be lost, and the bound would claim too much."""
    X, y = load_golub(return_X_y=True)
    original = getattr(owner, name)
    calls = iter(range(after))

    def interrupted(*arguments):
        found = None if before else original(*arguments)
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return original(*arguments) if before else found

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, interrupted)
        if not grows:
            patch.setattr(branch_and_bound, "can_grow", lambda problem: False)
        proof = zeronorm.prove(np.arange(8), X, y, gap=0)
    assert proof.status is Status.INTERRUPTED
    zeronorm.verify(proof.certificate, X, y)
    onward = zeronorm.prove(np.arange(8), X, y, gap=0, resume=proof)
    assert onward.status is Status.OPTIMAL
    zeronorm.verify(onward.certificate, X, y, rtol=1e-8)


def draw(seed):
    """Return a small problem, a support and the options of its proof."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(18, 50)), int(rng.integers(5, 9))
    X = rng.standard_normal((n, p))
    if seed % 4 == 1:
        X[:, 1:] += rng.uniform(0, 1.5) * X[:, :1]
    if seed % 4 == 2:
        X[:, -1], X[:, -2] = X[:, 0], -X[:, 1]
    if seed % 4 == 3:
        X[np.abs(X) < 0.7] = 0.0
    y = np.where(X @ rng.standard_normal(p) + rng.logistic(size=n) > 0, 1.0, -1.0)
    y[0], y[1] = 1.0, -1.0
    support = np.sort(rng.choice(p, int(rng.integers(1, 4)), replace=False))
    options = {
        "C": float(10 ** rng.uniform(-1.5, 1)),
        "fit_intercept": bool(rng.random() < 0.7),
        "standardize": bool(rng.random() < 0.7),
    }
    if rng.random() < 0.3:
        options["sample_weight"] = rng.uniform(0.3, 3, n)
    return X, y, support, options


def hold(X, y, proof, options):
    """Assert that a certificate holds to rounding, and the status says what it says."""
    certificate, weight = proof.certificate, options.get("sample_weight")
    zeronorm.verify(certificate, X, y, sample_weight=weight, rtol=1e-9)
    assert certificate.proven == (proof.status is Status.OPTIMAL)


def test_resumed_proofs_hold():
    """A search that goes on would decide by other dual points than its tree has."""
    for seed in (*range(395, 405), 437):  # 400 and 437 showed it
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((44, 7))
        if seed % 3 == 1:
            X[:, 1:] += rng.uniform(0, 1.5) * X[:, :1]
        w = rng.standard_normal(7)
        if seed % 2:
            w *= rng.random(7) < 0.5
        y = np.where(X @ w + rng.logistic(size=44) > 0, 1.0, -1.0)
        y[0], y[1] = 1.0, -1.0
        support = [int(rng.integers(7))]
        rough = zeronorm.prove(support, X, y, C=1.0, gap=0.02, max_nodes=3)
        proof = zeronorm.prove(support, X, y, C=1.0, gap=0, resume=rough)
        assert proof.status is Status.OPTIMAL
        hold(X, y, proof, {})


@pytest.mark.slow
def test_proofs_hold_however_they_are_stopped_and_resumed():
    """Other gaps, limits and interrupts, in turn, and then to the end."""
    stopped = set()
    for seed in range(40):
        X, y, support, options = draw(seed)
        rng = np.random.default_rng(1000 + seed)
        proof = None
        for _ in range(int(rng.integers(1, 5))):
            stop = {}
            how = rng.integers(4)
            if how == 0:
                stop["max_nodes"] = int(rng.integers(1, 8))
            elif how == 1:
                stop["time_limit"] = 1e-9
            elif how == 2:
                stop["callback"] = interrupting(int(rng.integers(1, 8)))
            gap = float(rng.choice([0.0, 0.01, 0.1]))
            proof = zeronorm.prove(support, X, y, gap=gap, resume=proof, **stop, **options)
            stopped.add(proof.status)
            hold(X, y, proof, options)
        proof = zeronorm.prove(support, X, y, gap=0, resume=proof, **options)
        assert proof.status is Status.OPTIMAL
        hold(X, y, proof, options)
        whole = zeronorm.prove(support, X, y, gap=0, **options)
        assert proof.certificate.objective == pytest.approx(whole.certificate.objective, rel=2e-9)
    assert stopped == {
        Status.OPTIMAL, Status.GAP, Status.NODE_LIMIT, Status.TIME_LIMIT, Status.INTERRUPTED,
    }  # fmt: skip


def interrupting(n_nodes):
    """Return a callback that interrupts whenever there are so many nodes."""

    def callback(row):
        if row.n_nodes >= n_nodes:
            raise KeyboardInterrupt

    return callback


def test_interrupt_after_the_last_node_takes_nothing_back():
    """A proof of the wanted gap would be said to have a larger one."""

    def interrupt(row):
        if row.n_nodes and row.gap <= 0.05:
            raise KeyboardInterrupt

    X, y = instance(3, n=40, p=12)
    proof = zeronorm.prove([0, 1, 2], X, y, C=10.0, gap=0.05, callback=interrupt)
    assert len(proof.history) > 1
    assert proof.certificate.gap <= 0.05
    assert proof.status is Status.GAP


@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize("grows", [True, False])
def test_interrupt_of_a_node_that_was_examined_before(monkeypatch, after, grows):
    """Dual points of other nodes would be lost with those of the node."""
    name = "_take" if grows else "_relax"
    original = getattr(BranchAndBound, name)
    for seed in range(6):
        X, y, support, options = draw(seed)
        proof = zeronorm.prove(support, X, y, gap=0.01, **options)
        calls = iter(range(after))

        def interrupted(*arguments, calls=calls):
            if next(calls, None) is None:
                raise KeyboardInterrupt
            return original(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(BranchAndBound, name, interrupted)
            if not grows:
                patch.setattr(branch_and_bound, "can_grow", lambda problem: False)
            proof = zeronorm.prove(support, X, y, gap=0, resume=proof, **options)
        hold(X, y, proof, options)
        proof = zeronorm.prove(support, X, y, gap=0, resume=proof, **options)
        assert proof.status is Status.OPTIMAL
        hold(X, y, proof, options)


@pytest.mark.parametrize("grows", [True, False])
def test_two_threads_search_the_same_tree(monkeypatch, grows):
    """A proof would depend on the machine, or threads not be used at all."""
    monkeypatch.setattr(
        branch_and_bound, "BRANCHING", replace(branch_and_bound.BRANCHING, threaded=0)
    )
    if not grows:
        monkeypatch.setattr(branch_and_bound, "can_grow", lambda problem: False)
    answered, threads = BranchAndBound._answered, set()

    def heard(search, asked):
        threads.add(threading.get_ident())
        return answered(search, asked)

    monkeypatch.setattr(BranchAndBound, "_answered", heard)
    X, y = load_golub(return_X_y=True)
    found, used = [], []
    for n_threads in (1, 2):
        threads.clear()
        model = L0LogisticRegression(5, C=1.0, calibrate=False, n_threads=n_threads).fit(X, y)
        proof = zeronorm.prove(model, X, y, gap=0, n_threads=n_threads)
        assert proof.status is Status.OPTIMAL
        found.append(proof.certificate.tree)
        used.append(len(threads))
    assert used == [1, 2]
    for name in ("parent", "feature", "inside", "row", "dual"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))


def test_interrupt_ends_the_proofs_of_all_sizes():
    """The sizes that are left would each have to be interrupted again, or have no certificate."""
    X, y = load_golub(return_X_y=True)
    model = L0LogisticRegression([6, 7, 8], gap=0, calibrate=False)
    rows = []

    def interrupt(row):
        rows.append(row)
        if [row.n_nodes > 0 for row in rows].count(True) == 1:
            raise KeyboardInterrupt

    model._report = interrupt
    path = model.fit(X, y).path_
    assert path[6].proof.status is Status.INTERRUPTED
    assert path[7].proof is path[8].proof is None
    assert not hasattr(model, "proof_")
    for k in path:
        assert path[k].certificate.gap > 0
        np.testing.assert_array_equal(path[k].certificate.support, path[k].support)
        zeronorm.verify(path[k].certificate, X, y)


def test_cross_validation_does_not_prove():
    """Every fold would branch for nothing that its score needs."""
    X, y = load_golub(return_X_y=True)
    rows = []
    model = L0LogisticRegression([3, 8], gap=0, calibrate=False)
    model._report = rows.append
    found = cross_validate(model, X, y, cv=3)
    assert rows == []
    np.testing.assert_array_equal(
        found.scores,
        cross_validate(L0LogisticRegression([3, 8], calibrate=False), X, y, cv=3).scores,
    )
    model.fit(X, y)
    assert rows  # the control


WIDE = {
    "float32": lambda X: np.asfortranarray(X, np.float32),
    "float64": lambda X: X,
    "sparse": lambda X: sp.csc_array(np.where(np.abs(X) > 0.7, X, 0.0)),
}


@pytest.fixture
def in_place(monkeypatch):
    """Candidates that are never copied, however few they are."""
    monkeypatch.setattr("zeronorm.solvers.certify.CANDIDATE_BYTES", 0)
    monkeypatch.setattr("zeronorm.solvers.certify.MEMORY_SHARE", 0.0)
    monkeypatch.setattr("zeronorm.data.column_sets.COPIED", 1000)


@pytest.mark.parametrize("storage", list(WIDE))
@pytest.mark.parametrize("maker", [BudgetClassifier, BudgetRegressor])
def test_candidates_beyond_memory_are_searched_where_they_are(request, storage, maker):
    """A million columns would have no proof, or decisions be taken by rounded scores."""
    X, y = instance(5, n=60, p=90)
    X = WIDE[storage](X)
    model = maker(4, C=0.1).fit(X, y)
    copied = zeronorm.prove(model, X, y, gap=0)
    assert copied.history[-1].n_nodes > 3
    request.getfixturevalue("in_place")
    found = zeronorm.prove(model, X, y, gap=0)
    assert found.status is copied.status is Status.OPTIMAL
    np.testing.assert_array_equal(found.certificate.support, copied.certificate.support)
    assert found.certificate.bound == pytest.approx(copied.certificate.bound, rel=1e-8)
    zeronorm.verify(found.certificate, X, y)


def test_decisions_allow_for_the_errors_of_scans(monkeypatch, in_place):
    """Columns of float32 would be ruled out by errors of their scores."""
    X, y = instance(5, n=60, p=90)
    model = BudgetClassifier(4, C=0.3).fit(X, y)
    exact, wrong = column_sets.ColumnsInPlace.dot, 0.02
    rng = np.random.default_rng(0)

    def rounded(Z, v):
        size = np.linalg.norm(v) * wrong
        return exact(Z, v) + size * rng.uniform(-1, 1, Z.shape[1])

    monkeypatch.setattr(column_sets.ColumnsInPlace, "dot", rounded)
    monkeypatch.setattr(
        column_sets, "score_errors", lambda design, weight: np.full(X.shape[1], wrong)
    )
    found = zeronorm.prove(model, X, y, gap=0.01)
    zeronorm.verify(found.certificate, X, y)
    monkeypatch.undo()
    best = zeronorm.prove(model, X, y, gap=0)
    assert found.certificate.bound <= best.certificate.objective
    assert found.certificate.objective == pytest.approx(best.certificate.objective, rel=0.01)


def test_too_many_candidates_are_said(monkeypatch, in_place):
    """A search would send the columns of other machines over and over, or pass for a proof."""
    X, y = load_golub(return_X_y=True)
    monkeypatch.setattr(Dense, "is_remote", True)
    proof = zeronorm.prove(np.arange(8), X, y, gap=0)
    assert proof.status is Status.CANDIDATES
    assert proof.certificate.tree is None
    zeronorm.verify(proof.certificate, X, y)


# ------------------------------------------------------------------------ models of other makers


def test_any_support_is_certified():
    """Supports of other packages would be refused, or read otherwise."""
    X, y = load_golub(return_X_y=True)
    ranking = SelectKBest(k=6).fit(X, y)
    lasso = LinearSVC(penalty="l1", dual=False, C=0.01).fit(X, y)
    index = np.flatnonzero(ranking.get_support())
    expected = zeronorm.certify(index, X, y)
    for model in (ranking, ranking.get_support(), index[::-1], index.tolist()):
        assert zeronorm.certify(model, X, y).objective == expected.objective
    certificate = zeronorm.certify(lasso, X, y, C=0.5)
    np.testing.assert_array_equal(certificate.support, np.flatnonzero(lasso.coef_[0]))
    assert certificate.C == 0.5
    zeronorm.verify(certificate, X, y)


def test_problem_is_that_of_the_model():
    """The certificate would be of another C, weight or scaling than the model."""
    X, y = instance(9, n=60, p=12)
    weights = {-1.0: 1.0, 1.0: 3.0}
    model = BudgetClassifier(
        3,
        C=0.7,
        fit_intercept=False,
        standardize=False,
        class_weight=weights,
        forced_features=[2],
        calibrate=False,
    ).fit(X, y)
    certificate = zeronorm.certify(model, X, y)
    own = model.certificate_
    assert certificate.objective == pytest.approx(own.objective, rel=1e-9)
    assert (certificate.C, certificate.scaling, certificate.fit_intercept) == (0.7, "none", False)
    assert tuple(certificate.forced) == (2,)
    assert certificate.bound >= own.bound * (1 - 1e-9)
    assert zeronorm.certify(model, X, y, C=0.2).C == 0.2


def test_weight_of_the_loss_that_a_measure_has_by_default():
    """C='auto' would be certified as another number."""
    X, y = instance(9, n=60, p=12)
    model = MeasureClassifier("f1", n_features=3).fit(X, y)
    assert model.C == "auto"
    certificate = zeronorm.certify(model, X, y)
    assert model._loss_weight() == certificate.C
    np.testing.assert_array_equal(certificate.support, model.support_)


@pytest.mark.slow
def test_certify_is_never_looser_than_the_fit():
    """A dual point that the fit has would be forgotten."""
    for seed in range(40):
        X, y, support, options = draw(seed)
        weight = options.pop("sample_weight", None)
        model = BudgetClassifier(support.size, **options, calibrate=False).fit(
            X, y, sample_weight=weight
        )
        tight = zeronorm.certify(model, X, y, sample_weight=weight)
        assert tight.gap <= model.certificate_.gap + 1e-14


@pytest.mark.parametrize("most", [None, 1.0])
def test_a_search_begins_at_the_solution_over_all_features(monkeypatch, most):
    """It would be found a second time: a large part of the time of proofs of few nodes."""
    begun = []

    class Noted(BranchAndBound):
        def __init__(self, problem, *others):
            begun.append(problem)
            super().__init__(problem, *others)

    monkeypatch.setattr("zeronorm.solvers.certify.BranchAndBound", Noted)
    X, y = instance(4, n=60, p=40)
    model = BudgetClassifier(3, C=5.0, calibrate=False).fit(X, y)
    bound = zeronorm.certify(model, X, y, max_abs_coef=most).bound
    zeronorm.prove(model, X, y, gap=0.0, max_abs_coef=most)
    problem = begun[0]
    used, coef, intercept = problem.start
    u = np.zeros(problem.Z.shape[1])
    u[used] = coef
    posed = RelaxationProblem(problem.Z, problem.units, problem.risk, 0, 3, np.inf)
    near, far = posed.at(u, intercept).objective, posed.at(0.0 * u, 0.0).objective
    assert near == pytest.approx(bound, rel=1e-2)
    assert far > 1.1 * bound  # the control


def test_equal_columns_are_named():
    """A user would take one of two equal columns for the only choice."""
    X, y = instance(2, n=50, p=10)
    X = np.column_stack([X, X[:, 3], -2.0 * X[:, 0], X[:, 3] + 1e-3 * X[:, 1]])
    certificate = zeronorm.certify([0, 3, 5], X, y)
    found = {feature: same.tolist() for feature, same in certificate.equivalents.items()}
    assert found == {0: [11], 3: [10]}
    assert zeronorm.certify([1, 5], X, y).equivalents == {}


def test_columns_that_are_equal_in_their_first_rows_are_not_named(monkeypatch):
    """A user would take a column for the same as another that differs from it in a few samples."""
    monkeypatch.setattr(certify, "SAME_SCORE", 1e9)  # all columns are compared
    X, y = instance(2, n=200, p=10)
    other = X[:, 3].copy()
    other[150] += 1.0
    X = np.column_stack([X, other, -X[:, 3]])
    certificate = zeronorm.certify([0, 3], X, y, standardize=False)
    found = {feature: same.tolist() for feature, same in certificate.equivalents.items()}
    assert found == {3: [11]}


# ------------------------------------------------------------------------------ the verifier


def proven():
    X, y = load_golub(return_X_y=True)
    model = L0LogisticRegression(n_features=5, calibrate=False).fit(X, y)
    return X, y, zeronorm.prove(model, X, y, gap=0).certificate


def forge(certificate, **changes):
    tree = dataclasses.replace(certificate.tree, **changes)
    return dataclasses.replace(certificate, tree=tree)


def test_verifier_sees_through_false_trees():
    """A tree with a hole in it would pass for a proof."""
    X, y, certificate = proven()
    tree = certificate.tree
    zeronorm.verify(certificate, X, y)
    with pytest.raises(ValueError, match="claims the bound"):
        zeronorm.verify(dataclasses.replace(certificate, bound=1.02 * certificate.bound), X, y)
    leaf = np.flatnonzero(~np.isin(np.arange(tree.parent.size), tree.parent))
    divided = np.flatnonzero(tree.feature >= 0)
    # Half of a division is missing.
    gone = np.delete(np.arange(tree.parent.size), divided[-1])
    rename = np.full(tree.parent.size + 1, -1)
    rename[gone] = np.arange(gone.size)
    cut = {
        "parent": rename[tree.parent[gone]],
        "feature": tree.feature[gone],
        "inside": tree.inside[gone],
        "row": tree.row[gone],
    }
    with pytest.raises(ValueError, match="divided with a rest"):
        zeronorm.verify(forge(certificate, **cut), X, y)
    # A dual point that proves nothing at a leaf.
    dual = tree.dual.copy()
    dual[tree.row[leaf[-1]]] *= 0.1
    with pytest.raises(ValueError, match="claims the bound"):
        zeronorm.verify(forge(certificate, dual=dual), X, y)
    # One that is not feasible.
    dual = tree.dual.copy()
    dual[tree.row[leaf[-1]]] += 1.0
    with pytest.raises(ValueError, match="not feasible"):
        zeronorm.verify(forge(certificate, dual=dual), X, y)
    # Both halves with the feature.
    with pytest.raises(ValueError, match="divided with a rest"):
        zeronorm.verify(forge(certificate, inside=np.ones_like(tree.inside)), X, y)


# -------------------------------------------------------------------------------- bad input


def test_bad_models_are_refused():
    """What is no support would be certified as one."""
    X, y = instance(1)
    with pytest.raises(ValueError, match="there is nothing to certify"):
        zeronorm.certify([], X, y)
    for model in ("genes", [0.5, 1.0], [[1, 2]], [-1, 2], object()):
        with pytest.raises(ValueError, match="model must be a fitted model"):
            zeronorm.certify(model, X, y)
    with pytest.raises(ValueError, match="got an index twice"):
        zeronorm.certify([1, 1], X, y)
    with pytest.raises(ValueError, match="has feature 9, but X has 8 columns"):
        zeronorm.certify([1, 9], X, y)
    constant = X.copy()
    constant[:, 2] = 4.0
    with pytest.raises(ValueError, match=r"no constant columns of X, .*got column 2"):
        zeronorm.certify([1, 2], constant, y)
    two = BudgetClassifier(2).fit(X, y)
    with pytest.raises(ValueError, match="1 supports, but y has 3 classes"):
        zeronorm.certify(two.set_params(multi_class="ovr"), X, np.arange(30) % 3)
    with pytest.raises(NotFittedError):
        zeronorm.certify(BudgetClassifier(3), X, y)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_rows_in_another_order_are_certified(loss):
    """The dual point of the model would be taken where its rows have other labels."""
    X, y = instance(1)
    model = BudgetClassifier(2, loss=loss, calibrate=False).fit(X, y)
    order = np.roll(np.arange(len(y)), 1)
    zeronorm.verify(zeronorm.certify(model, X[order], y[order]), X[order], y[order])


def test_bad_options_are_refused():
    """A wrong option would be ignored, or fail deep inside."""
    X, y = instance(1)
    for options, match in (
        ({"gap": -0.1}, "gap must"),
        ({"gap": np.nan}, "gap must"),
        ({"time_limit": 0}, "time_limit must"),
        ({"max_nodes": 0}, "max_nodes must"),
        ({"C": -1}, "C must"),
    ):
        with pytest.raises(ValueError, match=match):
            zeronorm.prove([1, 2], X, y, **options)
    proof = zeronorm.prove([1, 2], X, y)
    with pytest.raises(ValueError, match="a proof of another problem"):
        zeronorm.prove([1, 2, 3], X, y, resume=proof)
    for other in ((X, -y), (X, np.roll(y, 1)), (2 * X + y[:, None], y), (X[:, 2:], y)):
        with pytest.raises(ValueError, match="a proof of another problem"):
            zeronorm.prove([0, 1], *other, resume=proof)
    with pytest.raises(ValueError, match="a proof of another problem"):
        zeronorm.prove([1, 2], X, y, resume=proof, sample_weight=1.0 + (y > 0))
    # Objectives agree here, and no dual point is feasible, or the support lacks a forced feature.
    order = np.roll(np.arange(len(y)), 1)
    with pytest.raises(ValueError, match="a proof of another problem"):
        zeronorm.prove([1, 2], X[order], y[order], resume=proof)
    (other,) = np.setdiff1d([0, 1, 2], proof.support)[:1]
    forced = BudgetClassifier(2, forced_features=[other], calibrate=False).fit(X, y)
    with pytest.raises(ValueError, match="a proof of another problem"):
        zeronorm.prove(forced, X, y, resume=proof)
    with pytest.raises(ValueError, match="a proof for each problem"):
        zeronorm.prove([1, 2], X, y, resume=[proof, proof])
    for options, match in (({"gap": -1}, "gap must"), ({"time_limit": -1}, "time_limit must")):
        with pytest.raises(ValueError, match=match):
            L0LogisticRegression(2, **options).fit(X, y)

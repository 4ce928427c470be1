"""Parts of search trees by the kernel, beside the nodes that Python examines one by one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

import zeronorm
from golub import load_golub
from zeronorm.core.results import Status
from zeronorm.data.gathered import as_columns
from zeronorm.losses import Gamma, Huber, LeastSquares, Logistic, Poisson, SquaredHinge
from zeronorm.published import L0LogisticRegression
from zeronorm.solvers import branch_and_bound
from zeronorm.solvers.branch_and_bound import (
    LEAF_TOL,
    NODE_TOL,
    BranchAndBound,
    CandidateProblem,
    Node,
    NodeQuestion,
    RelaxationOptions,
    can_grow,
    grown,
)
from zeronorm.solvers.problem import Risk, Singles

LOSSES = [Logistic(), SquaredHinge(), LeastSquares(), Huber(1.0), Poisson(), Gamma()]


def asked(node, support, target, objective, most, level=np.inf):
    """Return the question for what comes of a node, so many nodes at most."""
    return NodeQuestion(node, 1, most, level, support, objective, target)


def drawn(loss, seed, *, n=40, p=14, k=3, n_forced=0, sparse=False, most=np.inf):
    """Return a problem of k of p columns, the forced ones first."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    if sparse:
        X[rng.random((n, p)) < 0.6] = 0.0
    y = X[:, 1] - X[:, 4] + rng.standard_normal(n)
    if loss.of_labels:
        y = np.where(y > 0, 1.0, -1.0)
    elif loss.target != "any":
        y = np.exp(np.clip(y, -2.0, 2.0))
    risk = Risk.centred(y, rng.uniform(0.3, 2.0, n), loss, bool(seed % 2))
    Z = as_columns(sp.csc_array(X) if sparse else np.asfortranarray(X))
    units = Singles(np.ones(p, bool), most=most)
    return CandidateProblem(Z, units, np.arange(p), risk, k, n_forced, loose=most < np.inf)


def searching(problem, support, *, grows):
    """Return a search at its first node, the bound of which is unknown."""
    search = BranchAndBound(problem, support, 0.0, np.zeros(problem.risk.size), -np.inf)
    search._grows = grows
    return search


def best_of(problem):
    """Return the best support, as Python finds it."""
    search = searching(problem, np.arange(problem.budget), grows=False)
    assert search.run(60.0) is Status.GAP
    return search.support


def same_nodes(one, other, rel):
    """Assert that two searches have the same open nodes, but for rounding."""
    assert len(one) == len(other)
    for a, b in zip(sorted(one), sorted(other), strict=True):
        np.testing.assert_array_equal(a.units, b.units)
        assert (a.n_fixed, a.number) == (b.n_fixed, b.number)
        assert a.bound == pytest.approx(b.bound, rel=rel, abs=1e-12)
        np.testing.assert_allclose(a.dual, b.dual, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(a.start[0], b.start[0])
        np.testing.assert_allclose(a.start[1], b.start[1], rtol=1e-6, atol=1e-9)
        assert a.start[2] == pytest.approx(b.start[2], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("most", [np.inf, 0.4], ids=["free", "bounded"])
def test_a_node_is_examined_as_in_python(loss, sparse, most):
    """A search would divide by other units, or lose nodes, and no verifier knows of these."""
    n_divided = n_examined = 0
    rel = 1e-9 if most == np.inf else 1e-7  # a scale that is no maximum there has fewer digits
    for seed in range(6):
        problem = drawn(loss, seed, n_forced=seed % 3, sparse=sparse, most=most)
        assert can_grow(problem)
        support = np.arange(3)
        kernel = searching(problem, support, grows=True)
        python = searching(problem, support, grows=False)
        for _ in range(12):
            if not kernel._open or kernel._open[0].bound >= kernel.target:
                break
            same_nodes(kernel._open, python._open, rel)
            first = min(kernel._open)
            for search in (kernel, python):
                search._open.remove(min(search._open))
                search._offer = lambda support: False  # the same target, whatever is found
            found = grown(problem, asked(first, support, kernel.target, kernel.objective, 1))
            if found is None:  # both ways go on in Python
                break
            n_divided += bool(found.parent.size)
            n_examined += 1
            kernel._take(first, found)
            tol = LEAF_TOL if first.is_single(problem.budget) else NODE_TOL
            python._examine(first, python._relax(first, tol, python.target))
            for name in ("parent", "feature", "inside", "row"):
                ours, theirs = getattr(kernel._record, name), getattr(python._record, name)
                assert ours == theirs, name
            assert kernel._least == pytest.approx(python._least, rel=rel)
    assert n_examined > 10
    assert n_divided > 5


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_a_subtree_is_what_its_nodes_are_one_after_the_other(loss):
    """The nodes of one call know more of each other, which may change no bound to its digits."""
    for seed in range(4):
        problem = drawn(loss, seed, n=60, p=30, k=4, sparse=bool(seed % 2))
        support = best_of(problem)
        whole = searching(problem, support, grows=True)
        node = whole._open[0]
        found = grown(problem, asked(node, support, whole.target, whole.objective, 40))
        assert found is not None
        assert 1 < len(found.dual) <= 40
        whole._open.clear()
        whole._record.graft(node.number, found, problem.names)
        nodes = list(found.open(2))
        tree = whole.tree()
        assert tree.parent.size == 2 + found.parent.size
        assert np.all(tree.parent[2:] < np.arange(2, tree.parent.size))
        assert sorted(tree.row[tree.row >= 0].tolist()) == list(range(len(tree.dual)))
        opened = {one.number for one in nodes}
        assert opened == set(np.flatnonzero(tree.row < 0).tolist())
        least = found.least
        for one in nodes:
            assert one.n_fixed <= problem.budget
            path, number = {}, one.number
            while number > 1:
                if tree.feature[number] >= 0:
                    path[int(tree.feature[number])] = bool(tree.inside[number])
                number = tree.parent[number]
            assert {unit for unit, inside in path.items() if inside} <= set(one.fixed.tolist())
            assert not {unit for unit, inside in path.items() if not inside} & set(one.units)
            size = one.n_fixed + one.n_free(problem.budget)
            shown = problem.bound(one.dual, one.units, one.n_fixed, size, np.inf)
            assert shown.value >= one.bound * (1 - 1e-9)  # its models are some of the parent's
            least = min(least, one.bound)
        known = problem.bound(found.dual[0], node.units, 0, problem.budget, np.inf)
        assert least >= known.value * (1 - 1e-9)


def test_a_better_model_ends_a_subtree():
    """Decisions would go on by an objective that is known to be too large."""
    problem = drawn(Logistic(), 3, n=80, p=30, k=4)
    every = searching(problem, np.arange(4), grows=True)
    poor = np.array([20, 21, 22, 23])
    objective = problem.objective(poor)
    node = every._open[0]
    found = grown(problem, asked(node, poor, objective, objective, 200))
    assert found.is_better
    assert problem.objective(found.support) < objective
    best = every.run(60.0)
    assert best is Status.GAP
    again = grown(problem, asked(node, every.support, every.objective, every.objective, 200))
    assert len(found.dual) < len(again.dual)
    assert not again.is_better
    assert problem.objective(again.support) >= every.objective * (1 - 1e-9)


def test_nodes_above_the_level_wait():
    """A search that ends early would have spent its time on nodes that its bound has no use of."""
    problem = drawn(LeastSquares(), 2, n=60, p=30, k=4)
    search = searching(problem, best_of(problem), grows=True)
    node = search._open[0]
    every = grown(problem, asked(node, search.support, search.target, search.objective, 200))
    bounds = {len(every.dual)}
    for share in (0.0, 0.3, 0.6):
        first = problem.bound(every.dual[0], node.units, 0, 4, np.inf).value
        level = first + share * (search.target - first)
        found = grown(
            problem, asked(node, search.support, search.target, search.objective, 200, level)
        )
        assert all(one.bound > level for one in found.open(2))
        bounds.add(len(found.dual))
    assert len(bounds) > 2


def test_nodes_that_the_kernel_does_not_take_are_left_to_python():
    """Signs, and bounds that relaxations have to keep to, would be lost."""
    bounded = drawn(Logistic(), 0, most=0.4)
    assert not can_grow(dataclasses.replace(bounded, loose=False))
    problem = drawn(Logistic(), 0)
    signs = Singles(np.ones(14, bool), np.ones(14, np.int8))
    assert not can_grow(dataclasses.replace(problem, units=signs))
    node = searching(problem, np.arange(3), grows=True)._open[0]
    wrong = np.full(14, np.nan)
    start = np.arange(14), wrong, 0.0
    lost = Node(-np.inf, 1, node.units, 0, node.dual, start)
    assert grown(problem, asked(lost, np.arange(3), 1.0, 1.0, 10)) is None


def test_the_kernel_takes_nodes_that_move_many_columns(monkeypatch):
    """Python would solve them, one thread after the other, in many times their time."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((800, 400)), np.where(rng.random(800) < 0.5, 1.0, -1.0)
    risk = Risk.centred(y, np.full(800, 0.15), Logistic(), True)
    units = Singles(np.ones(400, bool))
    problem = CandidateProblem(as_columns(np.asfortranarray(X)), units, np.arange(400), risk, 8, 0)
    search = searching(problem, np.arange(8), grows=True)
    node = search._open[0]
    relaxed = problem.relax(node.units, 0, 8, RelaxationOptions(node.start, NODE_TOL))
    used = np.flatnonzero(relaxed.coef)
    assert used.size > 160
    start = used, 1.1 * relaxed.coef[used], relaxed.intercept
    node = dataclasses.replace(node, start=start)  # as near as a parent is
    found = grown(problem, asked(node, search.support, search.target, search.objective, 1))
    assert [one.bound for one in found.open(2)] == pytest.approx([relaxed.bound] * 2, rel=1e-4)
    monkeypatch.setattr(branch_and_bound, "MOST_MOVED_GROWN", 160)
    assert grown(problem, asked(node, search.support, search.target, search.objective, 1)) is None


def test_a_node_without_units_is_one_model():
    """All features may be ruled out: the size of a node would divide by 0, or its model be lost."""
    problem = drawn(Logistic(), 0)
    search = searching(problem, np.arange(3), grows=True)
    nothing = dataclasses.replace(search._open[0], units=np.empty(0, np.int64))
    assert nothing.numbers(problem.Z) == 1
    found = grown(problem, asked(nothing, search.support, 1e9, 1e9, 10))
    assert found.least == pytest.approx(problem.objective(nothing.units), rel=1e-9)
    assert not list(found.open(2))


def test_relaxations_that_share_their_curvature_take_turns():
    """What is left to Python would be written by two threads."""
    problem = drawn(LeastSquares(), 0)
    for shared, threads in ((None, True), (object(), False)):
        own = dataclasses.replace(problem, shared=shared)
        search = searching(own, np.arange(3), grows=True)
        assert search._is_large(1) is threads


@pytest.mark.parametrize("max_nodes", [1, 2, 7, 40, 41])
def test_a_limit_of_nodes_is_kept_to(max_nodes):
    """A subtree would go beyond it, or leave nodes out."""
    X, y = load_golub(return_X_y=True)
    model = L0LogisticRegression(n_features=8, calibrate=False).fit(X, y)
    proof = zeronorm.prove(model, X, y, gap=0, max_nodes=max_nodes)
    assert proof.status is Status.NODE_LIMIT
    assert proof.history[-1].n_nodes == max_nodes
    zeronorm.verify(proof.certificate, X, y)


def test_no_subtree_begins_after_the_deadline(monkeypatch):
    """Sixteen of them, one after the other, would take the time of minutes."""
    X, y = load_golub(return_X_y=True)
    model = L0LogisticRegression(n_features=8, calibrate=False).fit(X, y)
    begun = []

    def slow(problem, asked):
        begun.append(asked.node.number)
        searches[-1]._deadline = -np.inf  # from here on
        return grown(problem, asked)

    searches = []
    run = BranchAndBound.run

    def running(search, *arguments):
        searches.append(search)
        return run(search, *arguments)

    monkeypatch.setattr(branch_and_bound, "grown", slow)
    monkeypatch.setattr(BranchAndBound, "run", running)
    proof = zeronorm.prove(model, X, y, gap=0, n_threads=1)
    assert proof.status is Status.TIME_LIMIT
    assert len(begun) == 1
    zeronorm.verify(proof.certificate, X, y)
    monkeypatch.undo()
    onward = zeronorm.prove(model, X, y, gap=0, resume=proof)
    assert onward.status is Status.OPTIMAL


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("seed", list(range(4)))
def test_both_ways_prove_the_same(loss, seed):
    """One of them would miss the best model."""
    problem = drawn(loss, seed, n=50, p=16, k=3, sparse=seed == 3, n_forced=seed % 2)
    support = best_of(problem)  # from which on both divide nodes for the same target
    found = []
    for grows in (True, False):
        search = searching(problem, support, grows=grows)
        assert search.run(60.0) is Status.GAP
        found.append(search)
    one, other = found
    assert one.objective == pytest.approx(other.objective, rel=1e-9)
    np.testing.assert_array_equal(one.support, other.support)
    assert 0.9 < one.n_nodes / other.n_nodes < 1.1

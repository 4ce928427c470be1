"""The order in which a search takes its nodes, and by which unit it divides them."""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np
import pytest

from generators import instance
from zeronorm.data.gathered import as_columns
from zeronorm.losses import Logistic
from zeronorm.solvers.bounds import Bound
from zeronorm.solvers.branch_and_bound import BranchAndBound, CandidateProblem, Node
from zeronorm.solvers.problem import Risk, Singles
from zeronorm.solvers.relaxation import Relaxed

P = 6


@pytest.fixture
def search():
    """A search for the best two of six features, at its first node."""
    X, y = instance(0, 30, P)
    risk = Risk(y, np.ones(30), Logistic())
    problem = CandidateProblem(
        as_columns(np.asfortranarray(X)), Singles(np.ones(P, bool)), np.arange(P), risk, 2, 0
    )
    return BranchAndBound(problem, np.array([0, 1]), 0.0, np.zeros(30), 0.0)


def divided(search, into, out, share=None, dropped=()):
    """Return the units by which the first node is divided, 1.0 below the target."""
    node = search._open[0]
    share = np.full(P, 2 / P) if share is None else share
    gone = np.isin(np.arange(P), dropped)
    known = Bound(search.target - 1.0, node.dual, gone, np.zeros(P, bool))
    coef = np.zeros(P)
    answer = Relaxed(
        coef, 0.0, share, node.dual, np.inf, -np.inf, np.array(into, float), np.array(out, float)
    )
    search._divide(node, answer, known)
    return search.tree().feature[-2:].tolist()


def test_rises_beyond_the_target_are_worth_no_more(search):
    """A unit that ends one half many times over would hide one that nearly ends both."""
    assert divided(search, [100.0, 1.0, 0, 0, 0, 0], [0.05, 0.9, 0, 0, 0, 0]) == [1, 1]


def test_units_that_are_decided_divide_nothing(search):
    """One half would have no models, and the other all of them: the search would not end."""
    assert divided(search, [0.9, 0.5, 0, 0, 0, 0], [0.9, 0.5, 0, 0, 0, 0], dropped=[0]) == [1, 1]


def test_where_no_rise_is_known_the_largest_share_divides(search):
    """Relaxations that are models, or that are not solved, tell of no rise."""
    share = np.array([0.1, 0.2, 0.3, 0.9, 0.3, 0.2])
    assert divided(search, np.zeros(P), np.zeros(P), share, dropped=[0]) == [3, 3]


def test_nodes_come_by_bound_then_depth_then_age():
    """The tree would be another than the one that a proof was resumed from."""
    first = Node(1.0, 5, np.arange(4), 1, np.zeros(3), (np.arange(0), np.zeros(0), 0.0))
    order = [
        replace(first, bound=0.5, n_fixed=0, number=1), replace(first, n_fixed=2, number=2),
        replace(first, number=7), first, replace(first, n_fixed=0, number=9),
    ]  # fmt: skip
    heap = order[::-1]
    heapq.heapify(heap)
    assert [heapq.heappop(heap).number for _ in order] == [one.number for one in order]
    assert first.fixed.tolist() == [0]
    assert first.free.tolist() == [1, 2, 3]
    assert [first.n_free(budget) for budget in (1, 3, 9)] == [0, 2, 3]

"""Budgets: project and top against the enumeration of all supports."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from generators import tied_scores
from zeronorm._typing import Structure
from zeronorm.structures import Budget, largest

STRUCTURES = [Budget(1), Budget(3), Budget(7)]
VALUES = st.integers(-4, 4).map(float) | st.floats(-1e3, 1e3)


def supports(structure, p):
    """All admissible supports, in the order in which ties are broken."""
    return [np.array(c) for c in combinations(range(p), structure.k)]


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
def test_is_a_structure(structure):
    # Solvers would not accept it.
    typed: Structure = structure
    assert callable(typed.project)
    assert callable(typed.top)


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
@given(data=st.data())
def test_top_is_the_best_support(structure, data):
    # A solver would take a set of features that is not the best one, or depend on luck in a tie.
    p = data.draw(st.integers(structure.k, 9))
    score = data.draw(arrays(float, p, elements=st.integers(-4, 4).map(float)))
    # Exact sums (small integers); the first best support in lexicographic order wins ties.
    best = max(supports(structure, p), key=lambda s: score[s].sum())
    assert np.array_equal(structure.top(score), best)
    assert structure.top(score).dtype == np.int64


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
@given(data=st.data())
def test_project_is_the_nearest_point(structure, data):
    # Hard thresholding would step to a point that is not the projection.
    p = data.draw(st.integers(structure.k, 9))
    w = data.draw(arrays(float, p, elements=VALUES))
    before = w.copy()
    projected = structure.project(w)
    distances = [np.sum(np.delete(w, s) ** 2) for s in supports(structure, p)]
    assert np.sum((w - projected) ** 2) <= min(distances) * (1 + 1e-12)
    assert np.array_equal(structure.project(projected), projected)  # idempotent
    assert np.count_nonzero(projected) <= structure.k
    assert np.array_equal(w, before)


def test_ties_go_to_the_smaller_index():
    # Duplicated columns would be chosen differently from run to run.
    assert np.array_equal(Budget(2).top(np.array([1.0, 2.0, 2.0, 2.0])), [1, 2])
    assert np.array_equal(Budget(2).project(np.array([1.0, -1.0, 1.0])), [1.0, -1.0, 0.0])
    # Squares of these underflow to equal zeros: the projection must not square.
    assert np.array_equal(Budget(1).project(np.array([1e-200, 3e-200])), [0.0, 3e-200])


@pytest.mark.parametrize("k", [0, 1, 5, 499, 500])
def test_largest_is_a_stable_sort(k):
    # The order in which features enter would not be reproducible.
    values = tied_scores(500)
    assert np.array_equal(largest(values, k), np.argsort(-values, kind="stable")[:k])


@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        (0, ValueError, "k must be at least 1; got 0."),
        (-3, ValueError, "k must be at least 1; got -3."),
        (2.5, TypeError, "k must be an integer, at least 1; got 2.5."),
        (True, TypeError, "k must be an integer, at least 1; got True."),
        ("10", TypeError, "k must be an integer, at least 1; got '10'."),
        (None, TypeError, "k must be an integer, at least 1; got None."),
    ],
)
def test_wrong_budgets_are_refused(k, error, message):
    # A wrong k would turn into a wrong number of features.
    with pytest.raises(error) as caught:
        Budget(k)
    assert str(caught.value) == message


def test_more_than_there_is():
    # Fewer features than asked for would be returned in silence.
    with pytest.raises(ValueError, match=r"k must be between 1 and 3 \(the features\); got 4\."):
        Budget(4).top(np.ones(3))
    assert Budget(np.int8(2)).k == 2


def test_nan_scores_are_refused():
    # NaN would win or lose by accident.
    with pytest.raises(ValueError, match="scores must be numbers; got NaN"):
        Budget(1).top(np.array([1.0, np.nan, 2.0]))

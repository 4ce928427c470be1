"""Budgets: project and top against the enumeration of all supports."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from generators import tied_scores
from zeronorm._typing import Structure
from zeronorm.groups import Groups
from zeronorm.structures import BilevelBudget, Budget, GroupBudget, largest

SINGLE = [Budget(1), Budget(3), Budget(7)]
# Neither contiguous nor of equal size; the group 3 has no features.
GROUPS = Groups(np.array(list("abcde")), np.array([0, 1, 0, 2, 1, 4, 0, 2, 1]))
GROUPED = [
    GroupBudget(1, GROUPS),
    GroupBudget(2, GROUPS),
    GroupBudget(4, GROUPS),
    BilevelBudget(3, 2, GROUPS),
    BilevelBudget(20, 9, GROUPS),
    BilevelBudget(4, 3, GROUPS, forced_features=[8, 2]),
    BilevelBudget(2, 2, GROUPS, forced_features=(3,), forced_groups=(4,)),
    BilevelBudget(3, 1, GROUPS, forced_groups=[1]),
    BilevelBudget(1, 1, GROUPS, forced_features=[5]),
]
STRUCTURES = SINGLE + GROUPED
few = settings(max_examples=30)  # for each of a dozen structures
VALUES = st.integers(-4, 4).map(float) | st.floats(-1e3, 1e3)


def name(structure):
    """What pytest calls a structure."""
    return str(structure).replace(f"groups={GROUPS}", "groups")


def sizes(structure):
    """How many features a structure can be asked about."""
    return st.integers(structure.k, 9) if isinstance(structure, Budget) else st.just(9)


def supports(structure, p):
    """All admissible supports, in the order in which ties are broken."""
    if isinstance(structure, Budget):
        return [np.array(c) for c in combinations(range(p), structure.k)]
    if isinstance(structure, GroupBudget):
        existing = np.unique(GROUPS.code)
        return [
            np.flatnonzero(np.isin(GROUPS.code, chosen))
            for chosen in combinations(existing, structure.n_groups)
        ]
    forced, opened = set(structure.forced_features), set(structure.forced_groups)
    return [
        np.array(chosen, int)
        for k in range(structure.k + 1)
        for chosen in combinations(range(p), k)
        if forced <= set(chosen)
        and len(opened | set(GROUPS.code[list(chosen)].tolist())) <= structure.n_groups
    ]


def flags(structure, p):
    """A row of flags of features for every admissible support."""
    return np.array([np.isin(np.arange(p), support) for support in supports(structure, p)])


ENUMERATED = {structure: flags(structure, 9) for structure in GROUPED}


def admissible(structure, p):
    return ENUMERATED[structure] if structure in GROUPED else flags(structure, p)


@pytest.mark.parametrize("structure", STRUCTURES, ids=name)
def test_is_a_structure(structure):
    """Solvers would not accept it."""
    typed: Structure = structure
    assert callable(typed.project)
    assert callable(typed.top)


@pytest.mark.parametrize("structure", [*SINGLE, *GROUPED[:3]], ids=name)
@few
@given(data=st.data())
def test_top_is_the_best_support(structure, data):
    """A solver would take a set of features that is not the best one, or depend on luck in a
    tie.
    """
    p = data.draw(sizes(structure))
    score = data.draw(arrays(float, p, elements=st.integers(0, 4).map(float)))
    # Exact sums (small integers); the first best support in lexicographic order wins ties.
    inside = admissible(structure, p)
    best = inside[np.argmax(inside @ score)]
    assert np.array_equal(structure.top(score), np.flatnonzero(best))
    assert structure.top(score).dtype == np.int64


@pytest.mark.parametrize("structure", GROUPED[3:], ids=name)
@given(score=arrays(float, 9, elements=st.integers(-1, 4).map(float)))
def test_top_is_a_best_support_of_both_budgets(structure, score):
    """A model would have features that are not the best, beyond a budget, or of no score."""
    found = structure.top(score)
    inside = admissible(structure, 9)
    assert (inside == np.isin(np.arange(9), found)).all(axis=1).any()
    assert score[found].sum() == (inside @ score).max()
    assert np.all((score[found] > 0) | np.isin(found, structure.forced_features))
    assert found.dtype == np.int64
    assert np.all(np.diff(found) > 0)


@pytest.mark.parametrize("structure", STRUCTURES, ids=name)
@few
@given(data=st.data())
def test_project_is_the_nearest_point(structure, data):
    """Hard thresholding would step to a point that is not the projection."""
    p = data.draw(sizes(structure))
    w = data.draw(arrays(float, p, elements=VALUES))
    before = w.copy()
    w.flags.writeable = False
    projected = structure.project(w)
    inside = admissible(structure, p)
    assert np.sum((w - projected) ** 2) <= (~inside @ w**2).min() * (1 + 1e-12)
    assert np.array_equal(structure.project(projected), projected)  # idempotent
    assert inside[:, projected != 0].all(axis=1).any()
    assert np.array_equal(w, before)


def test_ties_go_to_the_smaller_index():
    """Duplicated columns would be chosen differently from run to run."""
    assert np.array_equal(Budget(2).top(np.array([1.0, 2.0, 2.0, 2.0])), [1, 2])
    assert np.array_equal(Budget(2).project(np.array([1.0, -1.0, 1.0])), [1.0, -1.0, 0.0])
    # Squares of these underflow to equal zeros: the projection must not square.
    assert np.array_equal(Budget(1).project(np.array([1e-200, 3e-200])), [0.0, 3e-200])


def test_ties_of_groups_go_to_the_smaller_one():
    """Equal groups would be chosen differently from run to run."""
    ones = np.ones(9)
    assert np.array_equal(GroupBudget(1, GROUPS).top(ones), [0, 2, 6])
    assert np.array_equal(GroupBudget(1, GROUPS).top(np.zeros(9)), [0, 2, 6])
    # A group without features comes last, not in the place of its index.
    assert GroupBudget(4, GROUPS).top(np.zeros(9)).size == 9
    assert np.array_equal(BilevelBudget(2, 1, GROUPS).top(ones), [0, 2])
    assert np.array_equal(BilevelBudget(2, 1, GROUPS).project(-ones), [-1, 0, -1, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("structure", GROUPED, ids=name)
def test_scales_do_not_matter(structure, scale):
    """Sums of squares would overflow, or underflow to ties."""
    w = np.array([3.0, 1, 4, 9, 5, 7, 2, 6, 5])
    kept = np.flatnonzero(structure.project(w))
    assert np.array_equal(np.flatnonzero(structure.project(scale * w)), kept)
    assert np.array_equal(structure.top(scale * w), structure.top(w))


def test_groups_of_very_different_scales():
    """What underflows beside the largest group would be ordered by index."""
    w = np.array([1e300, 1e-300, 0, 3e-300, 1e-300, 2e-300, 0, 1e-300, 0])
    assert np.array_equal(GroupBudget(2, GROUPS).top(w), [0, 2, 3, 6, 7])
    assert np.array_equal(np.flatnonzero(GroupBudget(2, GROUPS).project(w)), [0, 3, 7])


@pytest.mark.parametrize("k", [0, 1, 5, 499, 500])
def test_largest_is_a_stable_sort(k):
    """The order in which features enter would not be reproducible."""
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
    """A wrong k would turn into a wrong number of features."""
    with pytest.raises(error) as caught:
        Budget(k)
    assert str(caught.value) == message


def test_more_than_there_is():
    """Fewer features than asked for would be returned in silence."""
    with pytest.raises(ValueError, match=r"k must be between 1 and 3 \(the features\); got 4\."):
        Budget(4).top(np.ones(3))
    assert Budget(np.int8(2)).k == 2


def test_nan_scores_are_refused():
    """NaN would win or lose by accident."""
    with pytest.raises(ValueError, match="scores must be numbers; got NaN"):
        Budget(1).top(np.array([1.0, np.nan, 2.0]))


# The last one has nothing to choose, and reads no scores.
@pytest.mark.parametrize("structure", GROUPED[:-1], ids=name)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_scores_of_groups_must_be_finite(structure, wrong):
    """NaN would win or lose by accident."""
    score = np.ones(9)
    score[4] = wrong
    message = f"scores must be finite numbers; got {wrong} at place 4."
    with pytest.raises(ValueError, match=message):
        structure.top(score)
    with pytest.raises(ValueError, match=message):
        structure.project(score)


@pytest.mark.parametrize("structure", GROUPED, ids=name)
def test_scores_of_other_features(structure):
    """Scores of another matrix would be read in silence."""
    message = r"scores must be one for each of the 9 features of groups; got shape \(8,\)."
    with pytest.raises(ValueError, match=message):
        structure.top(np.ones(8))
    with pytest.raises(ValueError, match=message):
        structure.project(np.ones(8))


def test_forced_features_stay_whatever_their_value():
    """A feature that the user wants would be dropped, or counted twice."""
    structure = BilevelBudget(3, 2, GROUPS, forced_features=[3, 3], forced_groups=[0, 0])
    assert structure.forced_features == (3,)
    assert structure.forced_groups == (0,)
    assert np.array_equal(structure.top(np.array([1.0, 9, 2, 0, 9, 9, 0, 0, 9])), [0, 2, 3])
    w = np.array([-1.0, 9, 2, 5, 9, 9, 0, 0, 9])
    assert np.array_equal(structure.project(w), [-1, 0, 2, 5, 0, 0, 0, 0, 0])
    assert w[3] == 5.0
    assert structure == BilevelBudget(3, 2, GROUPS, (3,), (0,))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: GroupBudget(0, GROUPS), ValueError, "n_groups must be at least 1; got 0."),
        (
            lambda: GroupBudget(2.0, GROUPS),
            TypeError,
            "n_groups must be an integer, at least 1; got 2.0.",
        ),
        (
            lambda: GroupBudget(5, GROUPS),
            ValueError,
            "n_groups must be between 1 and 4 (the groups that have features); got 5.",
        ),
        (
            lambda: GroupBudget(1, [0, 1]),
            TypeError,
            "groups must be Groups; got list. Make them by Groups.of(labels, n_features).",
        ),
        (lambda: BilevelBudget(0, 1, GROUPS), ValueError, "k must be at least 1; got 0."),
        (
            lambda: BilevelBudget(1, True, GROUPS),
            TypeError,
            "n_groups must be an integer, at least 1; got True.",
        ),
        (
            lambda: BilevelBudget(1, 1, "ab"),
            TypeError,
            "groups must be Groups; got str. Make them by Groups.of(labels, n_features).",
        ),
        (
            lambda: BilevelBudget(2, 3, GROUPS, forced_features=[5, 0, 1]),
            ValueError,
            "k counts the forced features: it must be at least 3 (the features 0, 1, 5); got 2.",
        ),
        (
            lambda: BilevelBudget(3, 1, GROUPS, forced_features=[0], forced_groups=[4]),
            ValueError,
            "n_groups counts the forced groups and those of forced features: it must be at least "
            "2 (the groups 'a', 'e'); got 1.",
        ),
        (
            lambda: BilevelBudget(3, 1, GROUPS, forced_features=[9]),
            ValueError,
            "forced_features must be indices from 0 to 8 (the features); got 9.",
        ),
        (
            lambda: BilevelBudget(3, 1, GROUPS, forced_groups=[-1]),
            ValueError,
            "forced_groups must be indices from 0 to 4 (the groups); got -1.",
        ),
        (
            lambda: BilevelBudget(3, 1, GROUPS, forced_groups=["a"]),
            TypeError,
            "forced_groups must be indices of the groups; got 'a'.",
        ),
    ],
)
def test_wrong_budgets_of_groups_are_refused(make, error, message):
    """A wrong budget would turn into a wrong number of groups."""
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message

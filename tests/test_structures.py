"""The budget of features and groups against an enumeration of supports; the order of scores."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from generators import tied_scores
from zeronorm.core.groups import Groups
from zeronorm.core.ranking import largest
from zeronorm.solvers.bilevel_budget import BilevelBudget

# Neither contiguous nor of equal size; the group 3 has no features.
GROUPS = Groups(np.array(list("abcde")), np.array([0, 1, 0, 2, 1, 4, 0, 2, 1]))
STRUCTURES = [
    BilevelBudget(3, 2, GROUPS),
    BilevelBudget(20, 9, GROUPS),
    BilevelBudget(4, 3, GROUPS, forced_features=[8, 2]),
    BilevelBudget(2, 2, GROUPS, forced_features=(3,), forced_groups=(4,)),
    BilevelBudget(3, 1, GROUPS, forced_groups=[1]),
    BilevelBudget(1, 1, GROUPS, forced_features=[5]),
]
VALUES = st.integers(-4, 4).map(float) | st.floats(-1e3, 1e3)


def name(structure):
    """What pytest calls a structure."""
    return str(structure).replace(f"groups={GROUPS}", "groups")


def supports(structure):
    """All admissible supports."""
    forced, opened = set(structure.forced_features), set(structure.forced_groups)
    return [
        np.array(chosen, int)
        for k in range(structure.k + 1)
        for chosen in combinations(range(9), k)
        if forced <= set(chosen)
        and len(opened | set(GROUPS.code[list(chosen)].tolist())) <= structure.n_groups
    ]


# A row of flags of features for every admissible support.
ENUMERATED = {
    structure: np.array([np.isin(np.arange(9), support) for support in supports(structure)])
    for structure in STRUCTURES
}


@pytest.mark.parametrize("structure", STRUCTURES, ids=name)
@given(w=arrays(float, 9, elements=VALUES))
def test_the_support_is_that_of_the_nearest_point(structure, w):
    """Hard thresholding would step to a point that is not the projection."""
    before = w.copy()
    w.flags.writeable = False
    found = structure.support(w)
    inside, kept = ENUMERATED[structure], np.isin(np.arange(9), found)
    assert (inside == kept).all(axis=1).any()
    assert np.sum(w[~kept] ** 2) <= (~inside @ w**2).min() * (1 + 1e-12)
    assert np.all((w[found] != 0) | np.isin(found, structure.forced_features))
    assert found.dtype == np.int64
    assert np.all(np.diff(found) > 0)
    assert np.array_equal(structure.support(np.where(kept, w, 0)), found)  # idempotent
    assert np.array_equal(w, before)


def test_ties_in_groups_go_to_the_smaller_index():
    """Equal groups and duplicated columns would be chosen differently from run to run."""
    for w in (np.ones(9), -np.ones(9)):
        assert np.array_equal(BilevelBudget(2, 1, GROUPS).support(w), [0, 2])


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("structure", STRUCTURES, ids=name)
def test_scales_do_not_matter(structure, scale):
    """Sums of squares would overflow, or underflow to ties."""
    w = np.array([3.0, 1, 4, 9, 5, 7, 2, 6, 5])
    assert np.array_equal(structure.support(scale * w), structure.support(w))


# From 512 values on most are left out by the maxima of lanes first.
@pytest.mark.parametrize("n", [500, 511, 512, 5000, 5119])
@pytest.mark.parametrize("k", [0, 1, 5, 70, 499, 500])
@pytest.mark.parametrize("share", [0.0, 0.02, 1.0])
def test_largest_is_a_stable_sort(n, k, share):
    """The order in which features enter would not be reproducible, or the best would be missed."""
    values = tied_scores(n)
    values[np.random.default_rng(k).random(n) >= share] = 0.0
    values[n // 2] = -np.inf
    assert np.array_equal(largest(values, k), np.argsort(-values, kind="stable")[:k])


@pytest.mark.parametrize("n", [3, 5000, 5119])
@pytest.mark.parametrize("place", ["first", "last"])
def test_nan_scores_are_refused(n, place):
    """NaN would win or lose by accident."""
    values = np.arange(float(n))
    values[0 if place == "first" else -1] = np.nan
    with pytest.raises(ValueError, match="scores must be numbers; got NaN"):
        largest(values, 1)


# The last one has nothing to choose, and reads no scores.
@pytest.mark.parametrize("structure", STRUCTURES[:-1], ids=name)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_scores_of_groups_must_be_finite(structure, wrong):
    """NaN would win or lose by accident."""
    score = np.ones(9)
    score[4] = wrong
    message = f"scores must be finite numbers; got {wrong} at place 4."
    with pytest.raises(ValueError, match=message):
        structure.support(score)


@pytest.mark.parametrize("structure", STRUCTURES, ids=name)
def test_scores_of_other_features(structure):
    """Scores of another matrix would be read in silence."""
    message = r"scores must be one for each of the 9 features of groups; got shape \(8,\)."
    with pytest.raises(ValueError, match=message):
        structure.support(np.ones(8))


def test_forced_features_stay_whatever_their_value():
    """A feature that the user wants would be dropped, or counted twice."""
    structure = BilevelBudget(3, 2, GROUPS, forced_features=[3, 3], forced_groups=[0, 0])
    assert structure.forced_features == (3,)
    assert structure.forced_groups == (0,)
    for value in (0.0, 5.0):
        w = np.array([-1.0, 9, 2, value, 9, 9, 0, 0, 9])
        assert np.array_equal(structure.support(w), [0, 2, 3])
        assert w[3] == value
    assert structure == BilevelBudget(3, 2, GROUPS, (3,), (0,))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: BilevelBudget(0, 1, GROUPS), ValueError, "k must be at least 1; got 0."),
        (
            lambda: BilevelBudget("10", 1, GROUPS),
            TypeError,
            "k must be an integer, at least 1; got '10'.",
        ),
        (
            lambda: BilevelBudget(1, 2.0, GROUPS),
            TypeError,
            "n_groups must be an integer, at least 1; got 2.0.",
        ),
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

"""The projection onto few features in few groups: exhaustive search, programme, oracles."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest

from zeronorm import Groups, _kernels
from zeronorm.published import project_bilevel

TINY = 8
SUBSETS = (np.arange(2**TINY)[:, None] >> np.arange(TINY)) & 1
SIZES = SUBSETS.sum(axis=1)


def select(kernel, v, code, n_groups, k, g, opened=None):
    """The features that a kernel selects, and how many groups its programme decided about."""
    opened = np.zeros(n_groups, np.uint8) if opened is None else opened
    out = np.full(min(k, v.size), -1, np.int64)
    count, undecided = kernel(v, code, n_groups, k, g, opened, out)
    assert count >= 0
    assert np.all(out[count:] == -1)
    return out[:count], undecided


def check(found, v, code, k, g, opened):
    """The set is sorted, within the budgets, without zeros, the largest of every group first."""
    size = np.abs(v)
    assert np.all(np.diff(found) > 0)
    assert found.size <= k
    assert np.all(size[found] > 0)
    groups = np.unique(code[found])
    assert np.count_nonzero(opened[groups] == 0) <= g
    for group in groups:
        members = np.flatnonzero(code == group)
        ordered = members[np.argsort(-size[members], kind="stable")]
        count = np.count_nonzero(code[found] == group)
        assert np.array_equal(np.sort(ordered[:count]), found[code[found] == group])


def values(rng, p, kind):
    """Values with ties and zeros, of any size, nearly equal, or of many magnitudes."""
    return (
        rng.integers(-3, 4, p).astype(float),
        rng.standard_normal(p),
        10 + 0.01 * rng.standard_normal(p),
        rng.standard_normal(p) * 10 ** rng.uniform(-3, 3, p),
        np.full(p, 2.0),
    )[kind]


@pytest.mark.parametrize("kernel", [_kernels.bilevel_select, _kernels.bilevel_program])
def test_tiny_instances_by_exhaustive_search(kernel):
    """The projection would not be the nearest point: 500 instances, with ties, zeros,
    empty and opened groups, and budgets larger than what there is.
    """
    rng = np.random.default_rng(1)
    slack = tied = 0
    for trial in range(500):
        p, n_groups = int(rng.integers(1, TINY + 1)), int(rng.integers(1, 6))
        v = values(rng, p, trial % 5)
        code = np.minimum(rng.integers(0, n_groups, p), rng.integers(0, n_groups, p))
        k, g = int(rng.integers(1, p + 3)), int(rng.integers(1, n_groups + 2))
        opened = np.zeros(n_groups, np.uint8)
        if trial % 3 == 0:
            opened[:] = rng.random(n_groups) < 0.3
            g -= 1
        found, _ = select(kernel, v, code, n_groups, k, g, opened)
        check(found, v, code, k, g, opened)
        worth = v**2
        some = SUBSETS[: 2**p, :p]
        used = (some @ np.eye(n_groups, dtype=int)[code] > 0)[:, opened == 0].sum(axis=1)
        sums = (some @ worth)[(SIZES[: 2**p] <= k) & (used <= g)]
        assert np.isclose(worth[found].sum(), sums.max(), rtol=1e-13, atol=0)
        slack += found.size < k
        tied += np.count_nonzero(sums == sums.max()) > 1
    assert slack > 50
    assert tied > 50


def same_as_program(v, code, n_groups, k, g, opened=None):
    """Check the selection against the programme; the groups left to the residual programme."""
    opened = np.zeros(n_groups, np.uint8) if opened is None else opened
    found, undecided = select(_kernels.bilevel_select, v, code, n_groups, k, g, opened)
    best, _ = select(_kernels.bilevel_program, v, code, n_groups, k, g, opened)
    check(found, v, code, k, g, opened)
    worth = v**2
    assert np.isclose(worth[found].sum(), worth[best].sum(), rtol=1e-13, atol=0)
    return undecided


@pytest.mark.slow
def test_larger_instances_by_the_programme():
    """A bound, a fixed group or a filtered value would be wrong where there is no enumeration."""
    rng = np.random.default_rng(0)
    for trial in range(1000):
        n_groups = int(rng.integers(1, 61))
        p = int(rng.integers(1, n_groups * int(rng.integers(1, 60)) + 2))
        code = rng.integers(0, n_groups, p)
        if trial % 2:
            code = np.minimum(code, rng.integers(0, n_groups, p))  # of uneven sizes
        if trial % 5 == 0:
            code.sort()
        opened = (rng.random(n_groups) < (0.1 if trial % 4 == 0 else 0)).astype(np.uint8)
        k = int(rng.integers(1, rng.choice([5, 30, 80])))
        g = int(rng.integers(1, rng.choice([2, n_groups + 1, 5])))
        v = values(rng, p, trial % 5) * rng.choice([1, 10], n_groups)[code]
        same_as_program(v, code, n_groups, k, g, opened)


def knapsack(rng, largest=12, n_most=25):
    """Groups whose totals nearly grow with their size, so that they have to be packed."""
    n_groups = int(rng.integers(5, n_most))
    sizes = rng.integers(1, largest, n_groups)
    totals = sizes ** rng.uniform(0.7, 1.0) * (1 + 0.1 * rng.standard_normal(n_groups))
    code = rng.permutation(np.repeat(np.arange(n_groups), sizes))
    v = np.sqrt((totals / sizes)[code]) * (1 + 0.01 * rng.standard_normal(code.size))
    g = int(rng.integers(2, max(3, n_groups // 2)))
    return v, code, n_groups, int(rng.integers(g, 2 + g * largest * 2 // 3)), g


@pytest.mark.parametrize(("largest", "n_most", "count"), [(12, 25, 1000), (200, 10, 150)])
def test_instances_like_knapsacks_by_the_programme(largest, n_most, count):
    """The residual programme, which ordinary values do not need, would be wrong; for the larger
    groups it divides the choices instead of trying them all.
    """
    rng = np.random.default_rng(0)
    needed = [same_as_program(*knapsack(rng, largest, n_most)) for _ in range(count)]
    assert np.count_nonzero(needed) > count // 10
    assert max(needed) >= 5


def test_packed_groups_behind_a_filter_by_the_programme():
    """Where the bound leaves a wide gap, values below the threshold of the filter can be in the
    best set.
    """
    rng = np.random.default_rng(0)
    for _ in range(800):
        n_groups, size = int(rng.integers(5, 12)), int(rng.integers(60, 150))
        heavy = rng.integers(1, 12, n_groups)
        v = np.full((n_groups, size), 0.05) * rng.uniform(0.1, 1.5, n_groups)[:, None]
        v *= rng.uniform(0.9, 1.0, v.shape)
        for group, count in enumerate(heavy):
            v[group, :count] = count ** -rng.uniform(0.0, 0.6)
        code = np.repeat(np.arange(n_groups), size)
        same_as_program(
            v.ravel(), code, n_groups, int(rng.integers(2, 30)), int(rng.integers(1, 4))
        )


@pytest.mark.parametrize("order", ["ascending", "descending", "burst", "constant", "sparse"])
def test_the_filter_by_the_programme(order):
    """A first threshold that does not fit the values would lose some of them."""
    rng = np.random.default_rng(0)
    p, n_groups = 20_000, 40
    v = rng.standard_normal(p)
    if order == "burst":
        v[:200] *= 1000
        v[::2] *= 1e-3
    elif order == "constant":
        v[:] = 1.5
    elif order == "sparse":
        v[rng.random(p) < 0.999] = 0
    else:
        v = np.sort(np.abs(v))[:: 1 if order == "ascending" else -1].copy()
    for code in (np.arange(p) * n_groups // p, rng.integers(0, n_groups, p)):
        for k, g in ((1, 1), (50, 3), (60, 40), (900, 20)):
            same_as_program(v, code, n_groups, k, g)


def test_one_group_that_the_filter_misses():
    """The best group has no large value at all: everything has to be looked at."""
    rng = np.random.default_rng(0)
    p, n_groups = 60_000, 30
    code = np.arange(p) % n_groups
    v = np.where(code == 7, 1.0, 0.01) * (1 + 0.1 * rng.random(p))
    v[np.flatnonzero(code != 7)[:400]] = 3.0
    kept = np.flatnonzero(project_bilevel(v, 1500, 1, code))
    assert kept.size == 1500
    assert np.all(code[kept] == 7)
    same_as_program(v, code, n_groups, 1500, 1)


ORACLES = [
    (0, (3, 5, 2, 4), 4, 2, 8.391617627090, 1.509105030267),
    (1, (6,) * 8, 10, 3, 26.360741346526, 5.688585402703),
    (2, (1, 2, 3, 4, 5, 6), 7, 2, 12.679055710658, 1.795360985711),
    (3, (10,) * 20, 25, 5, 81.289845088227, 65.697828609815),
]


@pytest.mark.parametrize("method", ["auto", "dp"])
@pytest.mark.parametrize(("seed", "sizes", "k", "g", "kept", "distance"), ORACLES)
def test_known_projections(method, seed, sizes, k, g, kept, distance):
    """Values of another implementation would not be found."""
    v = np.random.default_rng(seed).standard_normal(sum(sizes))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    x = project_bilevel(v, k, g, labels, method=method)
    assert abs(x @ x - kept) < 1e-10
    assert abs((x - v) @ (x - v) / 2 - distance) < 1e-10


@pytest.mark.parametrize("method", ["auto", "dp"])
@pytest.mark.parametrize(
    ("k", "g", "kept"), [(2, 1, 18), (3, 1, 27), (4, 1, 27), (4, 2, 43), (10, 1, 27), (10, 2, 43)]
)
def test_ties_and_zeros(method, k, g, kept):
    """A zero would take the place of a value, or one group's tie that of another group."""
    v = np.array([3, 3, 3, 0, 2, 2, 2, 2, 4, 0])
    x = project_bilevel(v, k, g, list("aaaabbbbcc"), method=method)
    assert x @ x == kept
    assert x.dtype == np.float64


@pytest.mark.parametrize("method", ["auto", "dp"])
def test_forms_of_groups_and_values(method):
    """Labels, lists, read-only memory and strides would give different answers."""
    rng = np.random.default_rng(0)
    v, code = rng.standard_normal(60), rng.integers(0, 7, 60)
    expected = project_bilevel(v, 9, 3, code, method=method)
    same = partial(project_bilevel, k=9, n_groups=3, method=method)
    names = np.array(list("gfedcba"))[code]
    frozen = v.copy()
    frozen.flags.writeable = False
    lists = {str(name): np.flatnonzero(names == name).tolist() for name in np.unique(names)}
    for groups in (Groups.of(code, 60), names, lists, list(code)):
        assert np.array_equal(same(frozen, feature_groups=groups), expected)
    assert np.array_equal(same(np.repeat(v, 2)[::2], feature_groups=code), expected)
    assert np.array_equal(same(v.tolist(), feature_groups=code), expected)
    order = rng.permutation(60)
    assert np.array_equal(same(v[order], feature_groups=code[order]), expected[order])
    once = project_bilevel(expected, 9, 3, code, method=method)
    assert np.array_equal(once, expected)


@pytest.mark.parametrize("method", ["auto", "dp"])
@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-300, 1e-160, 1e160, 1e300])
def test_extreme_scales(method, scale):
    """Squares would overflow, or underflow to ties."""
    v = np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])
    labels = np.arange(12) % 4
    kept = np.flatnonzero(project_bilevel(v, 4, 2, labels))
    assert np.array_equal(np.flatnonzero(project_bilevel(v * scale, 4, 2, labels)), kept)


@pytest.mark.parametrize("method", ["auto", "dp"])
def test_values_of_all_magnitudes(method):
    """What is lost beside the largest square would be left out, or taken in the wrong order."""
    v = np.array([1e300, 1e-300, 0.0, 2e-300, 1e-200, 3e-300])
    labels = [0, 0, 0, 1, 2, 1]
    project = partial(project_bilevel, v, method=method)
    assert np.flatnonzero(project(6, 1, labels)).tolist() == [0, 1]
    assert np.flatnonzero(project(6, 2, labels)).tolist() == [0, 1, 4]
    assert np.flatnonzero(project(2, 2, labels)).tolist() == [0, 4]
    assert np.flatnonzero(project(3, 3, labels)).tolist() == [0, 4, 5]
    assert np.flatnonzero(project(60, 30, labels)).tolist() == [0, 1, 3, 4, 5]


def test_no_values_but_zero():
    """A search among nothing would fail."""
    assert not project_bilevel(np.zeros(5000), 3, 2, np.arange(5000) % 7).any()


@pytest.mark.parametrize("method", ["auto", "dp"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("p", [10, 100_000, 100_030])
def test_values_that_are_not_finite(method, wrong, p):
    """NaN has no order: any set would do."""
    labels = np.arange(p) % 20
    for place in (0, p // 3, p - 1):
        v = np.random.default_rng(0).standard_normal(p)
        v[[place, p - 1]] = wrong
        with pytest.raises(ValueError, match=rf"^v must be finite numbers; got {wrong} at place "):
            project_bilevel(v, 5, 2, labels, method=method)
        with pytest.raises(ValueError, match=f"at place {place}.$"):
            project_bilevel(v, 5, 2, labels, method=method)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be at least 1; got 0."),
        ({"k": 2.0}, TypeError, "k must be an integer, at least 1; got 2.0."),
        ({"k": True}, TypeError, "k must be an integer, at least 1; got True."),
        ({"n_groups": -1}, ValueError, "n_groups must be at least 1; got -1."),
        ({"n_groups": None}, TypeError, "n_groups must be an integer, at least 1; got None."),
        ({"method": "fast"}, ValueError, "method must be 'auto' or 'dp'; got 'fast'."),
        ({"v": np.ones((2, 2))}, ValueError, "v must be one-dimensional; got shape (2, 2)."),
        ({"v": [[1], [1, 2]]}, ValueError, "v must be one-dimensional; got a ragged sequence."),
        ({"v": ["a"]}, TypeError, "v must be real numbers; got values of type <U1."),
        ({"v": [1j]}, TypeError, "v must be real numbers; got values of type complex128."),
        ({"v": []}, ValueError, "v must have at least one value; got none."),
        (
            {"feature_groups": Groups.of([0, 1], 2)},
            ValueError,
            "feature_groups must be of the 4 features of X; got groups of 2 features.",
        ),
    ],
)
def test_wrong_arguments_are_refused(changed, error, message):
    """They would be taken for something else."""
    arguments = {"v": np.ones(4), "k": 2, "n_groups": 1, "feature_groups": [0, 0, 1, 1], **changed}
    with pytest.raises(error) as caught:
        project_bilevel(**arguments)
    assert str(caught.value) == message


def test_integers_of_any_size():
    """A budget beyond what there is, also beyond 64 bits, counts as all."""
    v = np.array([1.0, -2.0, 0.0, 3.0])
    assert np.array_equal(project_bilevel(v, 10**30, 10**30, [0, 1, 2, 2]), v)
    assert np.count_nonzero(project_bilevel(v, np.int8(2), np.uint8(2), [0, 1, 2, 2])) == 2


@pytest.mark.parametrize(("k", "g"), [(1, 1), (2, 1), (2, 2)])
def test_thresholded_steps_stay_below_the_bound_of_theorem_1(k, g):
    """A projection that is not the nearest point would end far from the optimum."""
    p, code = 12, np.repeat(np.arange(4), 3)
    rng = np.random.default_rng(k + g)
    A = rng.standard_normal((900, p)) / 30
    true = project_bilevel(rng.standard_normal(p), k, g, code)
    y = A @ true + 0.01 * rng.standard_normal(900)

    def isometry(supports):
        values = [np.linalg.eigvalsh(A[:, one].T @ A[:, one]) for one in map(list, supports)]
        return max(np.abs(value - 1).max() for value in values)

    def least(times):
        groups = combinations(range(4), min(times * g, 4))
        columns = [np.flatnonzero(np.isin(code, some)) for some in groups]
        return min(isometry(combinations(range(p), times * k)), isometry(columns))

    c1, c2 = least(3), least(2)
    assert c1 < 0.5
    assert c2 < 0.25
    best, value = None, np.inf
    for support in map(list, combinations(range(p), k)):
        if np.unique(code[support]).size <= g:
            coef, rest = np.linalg.lstsq(A[:, support], y, rcond=None)[:2]
            if rest[0] < value:
                value, best = rest[0], np.zeros(p)
                best[support] = coef
    x, rest = np.zeros(p), 2 * np.sqrt((1 + c2) * value)
    first = np.linalg.norm(best)
    for number in range(1, 30):
        x = project_bilevel(x + A.T @ (y - A @ x), k, g, code)
        error = np.linalg.norm(x - best)
        assert error <= (2 * c1) ** number * first + rest / (1 - 2 * c1)
        assert error <= (4 * c2) ** number * first + rest / (1 - 4 * c2)
    assert error <= 1e-9 * first

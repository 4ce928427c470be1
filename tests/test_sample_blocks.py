"""Covariates of false discoveries, and blocks of samples that belong together."""

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from scipy import linalg

from test_false_discoveries import sample, standardised
from zeronorm.data import as_design
from zeronorm.data.operations import Whitened
from zeronorm.inference.false_discoveries import (
    Blocks,
    Dummies,
    Experiments,
    FalseDiscoverySelector,
    adjust,
    blocks_of,
    compete,
)


def families(draw, effects=0, n_families=50, size=3, p=100, share=0.7):
    """Features and errors that families share; the first features have effects."""
    rng = np.random.default_rng([draw, 11])
    family = np.repeat(np.arange(n_families), size)

    def shared(*columns):
        common = rng.standard_normal((n_families, *columns))[family]
        own = rng.standard_normal((family.size, *columns))
        return np.sqrt(share) * common + np.sqrt(1 - share) * own

    X = shared(p)
    return X, X[:, :effects].sum(axis=1) + shared(), family


def populations(draw, n=160, p=100):
    """Two populations, which differ in most features and in the target; the last column is which.

    The first two features have an effect.
    """
    rng = np.random.default_rng([draw, 12])
    which = np.arange(n) % 2
    X = rng.standard_normal((n, p)) + np.outer(which, rng.standard_normal(p))
    y = X[:, 0] - X[:, 1] + 3.0 * which + rng.standard_normal(n)
    return np.column_stack([X, which]), y


# Covariates


def test_covariates_are_as_residuals_of_all_columns():
    """Features would be compared with dummies of another space, or with the parts of A in them."""
    X, y = sample(n=60)
    A, rest = X[:, 3:6].copy(), np.delete(X, [3, 4, 5], axis=1)
    rest += A @ np.random.default_rng(2).standard_normal((3, rest.shape[1]))
    y = y + A.sum(axis=1)
    seeds = range(10)

    def votes(design, left, target, free):
        dummies = [Dummies(np.random.default_rng(seed), 200.0) for seed in seeds]
        experiments = Experiments(design, left, target, dummies, 20, free)
        experiments.run(1)
        return [one.before_dummy(1) for one in experiments.all]

    design, usable = standardised(rest)
    competition = compete(design, usable, *adjust(y, A))
    first = votes(design, competition.left, competition.y, competition.free)
    # In coordinates of the space that 1 and A leave nothing is beside them.
    space = linalg.null_space(np.column_stack([np.ones(60), A]).T)
    Z = space.T @ rest
    Z *= np.sqrt(len(Z)) / np.linalg.norm(Z, axis=0)
    second = votes(as_design(Z), np.ones(Z.shape[1]), space.T @ y, np.empty((len(Z), 0)))
    assert first == second
    assert max(map(len, first)) >= 3
    parts = np.linalg.norm(space.T @ (rest - rest.mean(axis=0)), axis=0) / rest.std(axis=0)
    np.testing.assert_allclose(competition.left, parts**2 / 60, rtol=1e-6)


def test_populations_need_covariates():
    """All features that differ between two populations would be found."""
    alone, beside = 0, 0
    for draw in range(8):
        X, y = populations(draw)
        alone += np.setdiff1d(FalseDiscoverySelector().fit(X[:, :100], y).support_, [0, 1]).size
        found = FalseDiscoverySelector(covariates=[100]).fit(X, y).support_
        assert {0, 1} <= {*found}
        beside += found.size - 2
    assert alone >= 10
    assert beside <= 6


@pytest.mark.parametrize("classes", [False, True])
def test_covariates_and_what_they_span_are_never_found(classes):
    """A covariate would be a discovery; a sum of covariates would be compared by rounding."""
    X, y = populations(0)
    X[:, 50] = 2.0 * X[:, 100] - 3.0 * X[:, 51]
    y = (y > y.mean()) if classes else y
    one = FalseDiscoverySelector(0.2, covariates=[100, 51]).fit(X, y)
    assert one.discoveries_.n_candidates == 98
    assert one.discoveries_.n_covariates == 2
    assert not {50, 51, 100} & {*one.discoveries_.features}
    more = FalseDiscoverySelector(0.2, covariates=[100, 51, 50]).fit(X, y)
    np.testing.assert_array_equal(more.discoveries_.votes, one.discoveries_.votes)
    frame = pandas.DataFrame(X, columns=[f"c{j}" for j in range(101)])
    named = FalseDiscoverySelector(0.2, covariates=["c100", "c51"]).fit(frame, y)
    np.testing.assert_array_equal(named.discoveries_.votes, one.discoveries_.votes)
    assert "Beside 2 covariate(s)." in repr(named.discoveries_) or not named.support_.size


def test_classes_are_less_their_probabilities():
    """Beside a covariate whose effect is not linear on probabilities others of its form count."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal(4000)
    y = (rng.random(4000) < 1 / (1 + np.exp(-3 * a))).astype(float)
    part, free = adjust(y, a[:, None])
    np.testing.assert_allclose(free.T @ np.column_stack([part, np.ones(4000)])[:, 0], 0, atol=1e-9)
    linear = y - free @ (free.T @ y)
    curved = np.tanh(3 * a) - free @ (free.T @ np.tanh(3 * a))
    t = [curved @ one / np.linalg.norm(curved) / one.std() for one in (part, linear)]
    assert abs(t[0]) < 3.5 < abs(t[1])
    # Where a covariate determines the class of some rows they say nothing; the others do.
    sure = np.where(a > 1, 1.0, y)
    part, _ = adjust(sure, (a > 1)[:, None].astype(float))
    assert np.abs(part[a > 1]).max() < 1e-6 < part.std()


# Blocks


def test_blocks_of_labels():
    """Labels of any kind name the same blocks; none and one each are no blocks."""
    text = np.array(["b", "a", "b", "c"])
    for labels in (text, list(text), pandas.Series(text).astype("category"), [2, 7, 2, 1]):
        assert blocks_of(labels, 4).tolist() == [0, 1, 0, 2]
    assert blocks_of(None, 4) is None
    assert blocks_of(np.arange(4), 4) is None


def explicit(design, code):
    """The matrices J and K of blocks, of standardised columns."""
    X = design.gather(np.arange(design.shape[1]))
    X = X if isinstance(X, np.ndarray) else X.toarray()
    X = X - X.mean(axis=0)
    alike = code[:, None] == code
    return alike.astype(float), np.where(alike, X @ X.T, 0) * len(X) / (X**2).sum()


def unequal(seed=0, n=60):
    """A design of dependent rows, and blocks of one to four of them in any order."""
    rng = np.random.default_rng(seed)
    code = np.unique(rng.integers(0, 25, n), return_inverse=True)[1]
    X = rng.standard_normal((25, 40))[code] + rng.standard_normal((n, 40))
    y = rng.standard_normal(25)[code] + rng.standard_normal(n)
    return X, y, code.astype(np.int64)


@pytest.mark.parametrize("large", [200, 2])
def test_mixed_rows_are_those_of_an_explicit_matrix(large, monkeypatch):
    """Errors would not be independent; scans and gathers would be of other columns."""
    monkeypatch.setattr("zeronorm.inference.false_discoveries.LARGE", large)
    X, y, code = unequal()
    J, K = explicit(standardised(X)[0], code)
    blocks = Blocks(*standardised(X), code, y)
    monkeypatch.setattr(blocks, "_shares", lambda y, fixed: (0.3, 0.2))
    whitening, correlation = blocks.whitening(y, np.ones((60, 1)))
    V = 0.5 * np.eye(60) + 0.3 * J + 0.2 * K
    T = whitening.of(np.eye(60))
    if large == 200:
        np.testing.assert_allclose(T.T @ T, np.linalg.inv(V), atol=1e-10)
    else:  # pairs of a block are alike
        for block in range(code.max() + 1):
            own = np.flatnonzero(code == block)
            part, m = V[np.ix_(own, own)], own.size
            if m > 2:
                other = (part.sum() - np.trace(part)) / (m * m - m)
                part = (np.trace(part) / m - other) * np.eye(m) + other
            mixed = T[np.ix_(own, own)]
            np.testing.assert_allclose(mixed.T @ mixed, np.linalg.inv(part), atol=1e-10)
    pairs = (J == 1) & ~np.eye(60, dtype=bool)
    assert correlation == pytest.approx(V[pairs].mean() / np.diag(V).mean())
    v = np.random.default_rng(1).standard_normal((60, 3))
    np.testing.assert_allclose(whitening.back(v[:, 0]), T.T @ v[:, 0], atol=1e-12)
    X[np.abs(X) < 0.5] = 0
    for given in (X, sp.csr_array(X)):
        design = Whitened(as_design(given), whitening)
        np.testing.assert_allclose(design.correlate(v, 1, 4), (T @ X[:, 1:4]).T @ v, atol=1e-10)
        np.testing.assert_allclose(design.gather(np.array([3, 0])), T @ X[:, [3, 0]], atol=1e-12)
        total, square = design.moments(np.ones(60), 1, 4)
        np.testing.assert_allclose(total, (T @ X).sum(axis=0)[1:4], atol=1e-10)
        np.testing.assert_allclose(square, ((T @ X) ** 2).sum(axis=0)[1:4], atol=1e-10)


def test_means_of_blocks_have_one_variance():
    """Where features are constant within blocks; large ones would count as little as small ones."""
    X, y, code = unequal()
    first = np.unique(code, return_index=True)[1]
    X = X[first][code]
    blocks = Blocks(*standardised(X), code, y)
    rows, correlation = blocks.whitening(y, np.ones((60, 1)))
    T = rows.of(np.eye(60))
    assert T.shape == (code.max() + 1, 60)
    assert np.isnan(correlation)
    a, b = blocks._shares(y, np.ones((60, 1)))
    assert (a > 0.1, b) == (True, 0.0)
    V = (1 - a) * np.eye(60) + a * explicit(standardised(X)[0], code)[0]
    np.testing.assert_allclose(T @ V @ T.T, np.eye(len(T)), atol=1e-10)
    assert np.ptp(T[T > 0]) > 0
    # A covariate that varies within blocks is no feature.
    X = np.column_stack([X, np.arange(60)])
    design, usable = standardised(X)
    assert not Blocks(design, usable, code, y).are_rows
    assert Blocks(design, np.arange(41) < 40, code, y).are_rows


def test_the_covariance_within_blocks_is_the_likeliest():
    """By explicit matrices; a null feature would not be as correlated with y as dummies are."""
    X, y, code = unequal(3)
    X = np.column_stack([X, np.repeat([1.0, 0.0], 30)])
    F = np.column_stack([np.ones(60), X[:, -1]])
    design = standardised(X)[0]
    J, K = explicit(design, code)
    a, b = Blocks(design, design.scale > 0, code, y)._shares(y, F)
    N = linalg.null_space(F.T)

    def cost(a, b):
        V = N.T @ ((1 - a - b) * np.eye(60) + a * J + b * K) @ N
        r = N.T @ y
        return 58 * np.log(r @ np.linalg.solve(V, r)) + np.linalg.slogdet(V)[1]

    best = cost(a, b)
    steps = np.linspace(0, 0.99, 34)
    assert best <= min(cost(one, two) for one in steps for two in steps if one + two < 1) + 1e-3
    # Errors as alike as features are, in time: the intercept of blocks alone would not do.
    rng = np.random.default_rng(0)
    time = np.linalg.cholesky(0.8 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6))))
    X = (time @ rng.standard_normal((30, 6, 80))).reshape(180, 80)
    y = (time @ rng.standard_normal((30, 6, 1))).reshape(180)
    code, ones = np.repeat(np.arange(30), 6), np.ones((180, 1))
    design = standardised(X)[0]
    blocks = Blocks(design, design.scale > 0, code, y)
    T = blocks.whitening(y, ones)[0].of(np.eye(180))
    assert min(blocks._shares(y, ones)) < 0.3 < blocks._shares(y, ones)[1]
    rest = linalg.null_space((T @ ones).T)
    r = rest.T @ T @ y
    for M in explicit(design, code):
        mixed = rest.T @ T @ M @ T.T @ rest
        assert r @ mixed @ r / (r @ r) <= 1.02 * np.trace(mixed) / len(r)


def test_repeated_rows_are_one_each():
    """Rows that are there three times would be three times the evidence."""
    X, y = sample()
    once = FalseDiscoverySelector().fit(X, y).discoveries_
    order = np.random.default_rng(0).permutation(360)
    copies, which = np.repeat(X, 3, axis=0)[order], np.repeat(np.arange(120), 3)[order]
    for target in (np.repeat(y, 3)[order], np.repeat(y, 3)[order] + 1e-3 * (order % 3 - 1)):
        found = FalseDiscoverySelector().fit(copies, target, groups=which).discoveries_
        np.testing.assert_array_equal(found.features, once.features)
        np.testing.assert_array_equal(found.votes, once.votes)
        assert found.n_blocks == 120
        assert "the rows are their means" in repr(found)
    assert FalseDiscoverySelector().fit(copies, target).support_.size > once.n_found


def test_blocks_of_one_row_each_change_nothing():
    """The same bits as without."""
    X, y = sample()
    first, second = (
        FalseDiscoverySelector().fit(X, y, groups=groups).discoveries_
        for groups in (None, np.arange(120))
    )
    assert repr(first) == repr(second)
    np.testing.assert_array_equal(first.stand_in, second.stand_in)


def test_families_without_effects():
    """Nearly every data set of dependent rows would have discoveries, taken for independent."""
    alone, in_blocks = 0, 0
    for draw in range(8):
        X, y, family = families(draw, share=0.9)
        alone += FalseDiscoverySelector().fit(X, y).support_.size > 0
        in_blocks += FalseDiscoverySelector().fit(X, y, groups=family).support_.size > 0
    assert alone >= 5
    assert in_blocks <= 2


def test_effects_in_families_are_found():
    """Beside a covariate too; the bits do not depend on threads, nor votes on the storage."""
    X, y, family = families(3, effects=3)
    X[:, 99] = family % 2
    y = y + 2.0 * X[:, 99]
    first = FalseDiscoverySelector(covariates=[99], n_threads=1).fit(X, y, groups=family)
    assert {0, 1, 2} <= {*first.support_}
    record = first.discoveries_
    assert 0.5 < record.correlation < 0.9
    assert (record.n_blocks, record.n_covariates) == (50, 1)
    assert "50 blocks of samples, with a correlation of 0." in repr(record)
    for given, threads in ((X, 3), (np.asfortranarray(X), 2), (sp.csc_array(X), 2)):
        found = FalseDiscoverySelector(covariates=[99], n_threads=threads)
        found.fit(given, y, groups=family.astype(str))
        np.testing.assert_array_equal(found.discoveries_.votes, record.votes)
        if threads == 3:
            np.testing.assert_array_equal(found.discoveries_.stand_in, record.stand_in)
            assert found.discoveries_.estimate == record.estimate


def test_covariates_and_groups_that_cannot_be():
    """Each error names the parameter, the rule, and what was got."""
    X, y = sample()
    X[:, 5] = 2.0
    Z = X.copy()
    Z[7, 4] = np.nan
    wrong = [
        (X, {"covariates": [5]}, r"covariates must not be constant columns of X; got column 5"),
        (X, {"covariates": [200]}, r"covariates.*200"),
        (X, {"covariates": 3}, r"covariates must be a list of indices or of feature names; got 3"),
        (X, {"covariates": ["pc1"]}, r"covariates.*names"),
        (Z, {"covariates": [4]}, r"NaN at row 7, column 4"),
        (X, {"covariates": [*range(6, 126)]}, r"covariates must leave a part of y to explain"),
        (
            X,
            {"covariates": [*range(6, 118)]},
            r"at least 10 rows more than covariates.*got 120, and 112",
        ),
    ]
    for given, parameters, message in wrong:
        with pytest.raises(ValueError, match=message):
            FalseDiscoverySelector(**parameters).fit(given, y)
    with pytest.raises(ValueError, match=r"covariates must leave a part of y to explain; got 2"):
        FalseDiscoverySelector(covariates=[0, 1]).fit(X, X[:, 0] - 2 * X[:, 1])
    with pytest.raises(ValueError, match=r"a column that covariates and blocks leave a part of"):
        FalseDiscoverySelector(covariates=[0, 1]).fit(np.column_stack([X[:, :2], X[:, 0]]), y)
    with pytest.raises(ValueError, match=r"a column that covariates and blocks leave a part of"):
        FalseDiscoverySelector(covariates=[0, 1]).fit(X[:, :2], y, groups=np.arange(120) // 3)
    gaps = np.array([*"ab" * 60], object)
    gaps[4] = None
    mixed = np.array([1, "b"] * 60, object)
    wrong = [
        (np.arange(119), r"groups must have a label for every row.*\(120,\); got shape \(119,\)"),
        (np.zeros((120, 2)), r"groups must have a label for every row.*got shape \(120, 2\)"),
        (np.zeros(120), r"groups must have several labels; got 0\.0 in all 120 rows"),
        (np.where(np.arange(120) == 9, np.nan, 1.0), r"groups must have a label.*nan at row 9"),
        (gaps, r"groups must have a label for every row of X; got None at row 4"),
        (mixed, r"groups must have labels of one type; got 1 at row 0 and 'b' at row 1"),
    ]
    for groups, message in wrong:
        with pytest.raises(ValueError, match=message):
            FalseDiscoverySelector().fit(X, y, groups=groups)
    with pytest.raises(ValueError, match=r"as many blocks where the target.*got 6"):
        FalseDiscoverySelector().fit(X, np.repeat([1.0, 2, 3, 4, 5, 7], 20), np.arange(120) // 20)

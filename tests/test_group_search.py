"""The search for the best groups of features, and so for features that several outputs share."""

import itertools

import numpy as np
import pytest

from conftest import slow
from zeronorm import BudgetClassifier, BudgetRegressor, certify, methods, verify
from zeronorm.core.groups import Groups
from zeronorm.core.results import Status
from zeronorm.data import as_design
from zeronorm.data.gathered import as_columns
from zeronorm.losses import LeastSquares, Logistic
from zeronorm.solvers import Task
from zeronorm.solvers.l0 import L0Search
from zeronorm.solvers.ridge_fits import ridge


def drawn(seed, n=60, n_groups=9, classes=2):
    """Return X of correlated columns in groups of one to three, their labels, and a target."""
    rng = np.random.default_rng(seed)
    code = np.repeat(np.arange(n_groups), rng.integers(1, 4, n_groups))
    code = rng.permutation(code)  # the columns of a group need not lie side by side
    X = rng.standard_normal((n, code.size)) + rng.standard_normal((n, 1))
    z = X @ np.where(np.isin(code, [1, 4, 6]), rng.standard_normal(code.size), 0.0)
    noisy = z + rng.standard_normal(n)
    if classes == 0:
        return X, noisy, code
    return X, np.digitize(noisy, np.quantile(noisy, np.arange(1, classes) / classes)), code


def best_of_all(X, y, code, loss, C, k):
    """Return the least objective over all sets of k groups, on standardised columns."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    task = Task.of(as_design(Z), y, loss=loss)
    objectives = []
    for groups in itertools.combinations(np.unique(code), k):
        columns = np.flatnonzero(np.isin(code, groups))
        part = as_columns(np.asfortranarray(Z[:, columns]))
        fit = ridge(part, task.risk(C), tol=1e-12, of_value=True)
        objectives.append(fit.objective)
    return min(objectives)


@pytest.mark.parametrize("classes", [0, 2])
@pytest.mark.parametrize("seed", [0, 1, *slow(*range(2, 12))])
def test_the_best_groups_of_all_are_found_and_proven(classes, seed):
    """Exchanges of whole groups end at the best support of small problems; proofs agree."""
    X, y, code = drawn(seed, classes=classes)
    loss, kind = (Logistic(), BudgetClassifier) if classes else (LeastSquares(), BudgetRegressor)
    target = 2.0 * y - 1.0 if classes else y
    best = best_of_all(X, target, code, loss, 0.5, 3)
    options = {"feature_groups": code, "n_groups": 3, "C": 0.5}
    if classes:
        options["calibrate"] = False
    found = kind(method="l0", **options).fit(X, y)
    assert found.certificate_.objective == pytest.approx(best, rel=1e-7)
    proven = kind(method=methods.L0(gap=0.0), **options).fit(X, y)
    assert proven.proof_.status is Status.OPTIMAL
    assert proven.certificate_.objective == pytest.approx(best, rel=1e-7)
    verify(proven.certificate_, X, y)


@pytest.mark.parametrize("kind", ["classes", "responses"])
def test_scans_bring_features_that_the_first_pool_lacks(kind):
    """The search would be one inside the pool of the strongest scores.

    A feature of no score by itself belongs to the best pair: only the scan beside the other shows
    it.
    """
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 120))
    z = 0.4 * rng.standard_normal(150)
    X[:, 7] = X[:, 2] + z
    X[:, 10:60] = z[:, None] + 3.0 * rng.standard_normal((150, 50))
    if kind == "classes":
        y = np.digitize(z, np.quantile(z, [1 / 3, 2 / 3]))
        model = BudgetClassifier(2, method="l0", C=30.0, calibrate=False).fit(X, y)
    else:
        Y = np.column_stack([z, -2.0 * z]) + 0.05 * rng.standard_normal((150, 2))
        model = BudgetRegressor(2, method="l0", C=30.0).fit(X, Y)
    assert model.support_.tolist() == [2, 7]
    assert model.n_scans_ > 2


@pytest.mark.parametrize("solver", ["auto", "splicing", "iht"])
def test_solvers_of_shared_classes(solver):
    """Every solver selects exactly k features, forced ones among them, with a true certificate."""
    X, y, _ = drawn(5, classes=3)
    method = methods.L0(solver=solver)
    model = BudgetClassifier([2, 3], method=method, forced_features=[0], calibrate=False)
    model.fit(X, y)
    for size in (2, 3):
        selection = model.path_[size]
        assert selection.support.size == size
        assert 0 in selection.support
    certificate = certify(model, X, y)
    verify(certificate, X, y)
    assert certificate.bound <= certificate.objective


def test_exchanges_never_end_above_the_pool():
    """The method would be no better than elimination, which it begins with."""
    for seed in range(4):
        X, y, _ = drawn(seed, n=80, n_groups=30, classes=3)
        both = [
            BudgetClassifier(3, method=method, calibrate=False).fit(X, y).certificate_.objective
            for method in ("pool", "l0")
        ]
        assert both[1] <= both[0] * (1.0 + 1e-3)


def test_no_swap_of_two_groups_helps_where_swaps_end():
    """Swaps would stop at supports that the change of a single group improves."""
    for seed in range(6):
        X, y, code = drawn(seed, n_groups=7)
        task = Task.of(as_design(X), 2.0 * y - 1.0, groups=Groups(np.unique(code), code))
        search = L0Search(task, 0.5, [3], 1e-6)
        search.add(np.arange(7))
        search.offer(search.place(np.array([0, 2, 5])), improve=True)
        end = search.best[3]
        groups = set(search.units.of(end.columns).tolist())
        for leaving in groups:
            for entering in set(range(7)) - groups:
                other = np.sort(list((groups - {leaving}) | {entering}))
                columns = np.sort(search.units.features(other))
                objective = search.exchanges.fit(columns).objective
                assert objective >= end.objective * (1.0 - 1e-6)


def test_groups_of_one_column_are_features():
    """Groups would be another problem than the features that they are."""
    X, y, _ = drawn(1)
    single = BudgetClassifier(3, method="l0", calibrate=False).fit(X, y)
    own = np.arange(X.shape[1])
    groups = BudgetClassifier(feature_groups=own, n_groups=3, method="l0", calibrate=False).fit(
        X, y
    )
    assert groups.support_.tolist() == single.support_.tolist()
    np.testing.assert_allclose(groups.coef_, single.coef_, rtol=1e-5)

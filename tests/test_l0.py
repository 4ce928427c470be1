"""The best k features: oracles by enumeration, exchanges, thresholding, storages, messages."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import oracles
from conftest import make_classification
from golub import load_golub
from zeronorm import BudgetClassifier, BudgetRegressor, methods, persistence
from zeronorm.data import as_design
from zeronorm.data.gathered import as_columns
from zeronorm.losses import Logistic, SquaredHinge
from zeronorm.published import L0LogisticRegression
from zeronorm.solvers import SelectionRequest, Task, run
from zeronorm.solvers.exchange import Exchanges
from zeronorm.solvers.l0 import SOLVERS, L0Search, select_l0
from zeronorm.solvers.problem import Risk
from zeronorm.solvers.ridge_fits import ridge

LOGISTIC = Logistic()
TIGHT = 1e-10
EXCHANGES = ("exchange", "splicing")


def solve(
    X, y, k, *, C, intercept=True, weight=None, loss=LOGISTIC, forced=None, tol=TIGHT, **options
):
    """Return the certificate of the best k features on the scaling of X."""
    usable = np.ptp(X.toarray() if sp.issparse(X) else X, axis=0) > 0
    task = Task.of(
        as_design(X), y.astype(float), weight, loss=loss, intercept=intercept, forced=forced,
        usable=usable,
    )  # fmt: skip
    path = run(select_l0(task, [k], SelectionRequest(C, 1.0, tol), **options))
    return path[k].certificate


def specified(seed, n, p, k):
    """Return the instances whose optima the mean loss with a small ridge has."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    w = np.zeros(p)
    w[:k] = [1.5, -1, 0.8, 0.6][:k]
    return X, np.where(X @ w + 0.2 + rng.logistic(size=n) > 0, 1, -1)


@pytest.mark.parametrize(
    ("seed", "n", "p", "k", "ridge_", "optimum", "support", "b", "w"),
    [
        (0, 60, 8, 2, 0.0, 0.4719869161, [0, 4], 0.44329091, [2.10435593, -0.55833960]),
        (1, 80, 10, 3, 0.0, 0.4660569115, [0, 1, 2], 0.23420775,
         [1.56040038, -0.85169958, 0.65233546]),
        (2, 80, 10, 3, 0.01, 0.4949950899, [0, 1, 2], 0.50386763,
         [1.25159058, -0.67587100, 0.74118869]),
        (3, 100, 12, 4, 0.0, 0.3249554624, [0, 1, 2, 8], -0.12374986,
         [1.51827366, -2.50750483, 1.27973416, -0.67871492]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("solver", EXCHANGES)
def test_specified_optima(solver, seed, n, p, k, ridge_, optimum, support, b, w):
    """The optimum of the mean loss with ridge mu is that of C = 1 / (mu n), times mu."""
    X, y = specified(seed, n, p, k)
    mu = ridge_ or 1e-10
    found = solve(X, y, k, C=1.0 / (mu * n), solver=solver)
    assert found.support.tolist() == support
    assert mu * found.objective == pytest.approx(optimum, abs=2e-9)
    np.testing.assert_allclose(found.coef, w, atol=1e-5)
    assert found.intercept == pytest.approx(b, abs=1e-5)


@pytest.mark.parametrize(
    "loss",
    [pytest.param(LOGISTIC, id="logistic"), pytest.param(SquaredHinge(), id="squared_hinge")],
)
@pytest.mark.parametrize("intercept", [True, False])
def test_against_enumeration(loss, intercept):
    """Local search would miss optima that are near, or report less than one."""
    hits = dict.fromkeys(SOLVERS, 0)
    rng = np.random.default_rng(7)
    n_instances = 4
    for seed in range(n_instances):
        X, y, _ = oracles.certificate_instance(seed)
        X = X + 0.5 * rng.standard_normal((60, 1))  # correlated columns
        k, C, weight = 1 + seed % 3, 10.0 ** rng.uniform(-2, 1), rng.integers(1, 4, 60) / 2.0
        best = oracles.enumerate_supports(
            X, y, C, k, loss=loss.name, intercept=intercept, weight=weight
        )[0][0]
        for solver in SOLVERS:
            found = solve(
                X, y, k, C=C, intercept=intercept, weight=weight, loss=loss, solver=solver
            )
            assert found.objective >= best * (1 - 1e-9)
            assert found.bound <= best * (1 + 1e-9)
            hits[solver] += found.objective <= best * (1 + 1e-7)
    assert hits["exchange"] == hits["auto"] >= n_instances - 1
    assert hits["splicing"] >= 0.5 * n_instances
    assert hits["iht"] >= 0.3 * n_instances


def test_features_are_found_outside_of_the_pool():
    """One column tells nothing by itself, but how to correct the other one."""
    rng = np.random.default_rng(0)
    n, p = 300, 400
    X, signal, noise = rng.standard_normal((n, p)), *rng.standard_normal((2, n))
    y = np.where(signal + 0.05 * rng.logistic(size=n) > 0, 1, -1)
    noise -= y * (y @ noise) / n
    X[:, 0], X[:, 1] = signal + 2 * noise, noise
    weakest = np.argsort(np.abs(X.T @ y))[:50]
    assert 1 in weakest
    for solver in EXCHANGES:
        found = solve(X, y, 2, C=10.0, solver=solver)
        assert found.support.tolist() == [0, 1], solver


def pooled(seed=0, n=200, p=40, C=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    w = rng.standard_normal(p) * (np.arange(p) < 8)
    y = np.where(X @ w + rng.logistic(size=n) > 0, 1.0, -1.0)
    return np.asfortranarray(X), Risk(y, np.full(n, C), LOGISTIC)


def swapped(Z, risk, support, keep=None):
    exchanges = Exchanges(Z, risk, keep=keep)
    return exchanges.swap(exchanges.fit(support)).columns


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("seed", range(5))
def test_swaps_end_where_no_single_exchange_helps(form, seed):
    """A swap would raise the objective, or one that helps be missed."""
    X, risk = pooled(seed)
    Z = as_columns(sp.csc_array(X) if form == "sparse" else X)
    start = np.arange(32, 40)
    place = swapped(Z, risk, start)

    def value(support):
        return ridge(as_columns(X[:, support]), risk, tol=1e-9).objective

    assert place.size == 8
    assert value(place) < value(start)
    best = value(place)
    others = np.setdiff1d(np.arange(40), place)
    single = [
        value(np.append(np.delete(place, leaving), entering))
        for leaving in range(8)
        for entering in others
    ]
    assert min(single) >= best * (1 - 1e-6)
    kept = swapped(Z, risk, start, keep=np.array([33]))
    assert 33 in kept


def test_swaps_go_on_where_splicing_ends():
    """Splicing exchanges the weakest only; somewhere a stronger one has a better substitute."""
    better = 0
    for seed in range(30):
        X, risk = pooled(seed, n=60, p=40, C=1.0)
        exchanges = Exchanges(as_columns(X), risk)
        spliced = exchanges.splice(exchanges.fit(np.arange(6)))
        better_still = exchanges.swap(spliced)
        first, second = (
            ridge(as_columns(X[:, support]), risk, tol=1e-9).objective
            for support in (spliced.columns, better_still.columns)
        )
        assert second <= first * (1 + 1e-9)
        better += second < first * (1 - 1e-6)
    assert better >= 5


def test_swaps_without_choice():
    """With all features chosen a swap would look for others."""
    X, risk = pooled(p=8)
    Z = as_columns(X)
    assert swapped(Z, risk, np.arange(8)).tolist() == list(range(8))
    keep = np.array([1, 3])
    assert swapped(Z, risk, keep, keep=keep).tolist() == [1, 3]


@pytest.mark.parametrize("solver", SOLVERS)
def test_forced_constant_and_all_features(solver):
    """A forced feature would be missing, a constant one selected, or k = all fail."""
    X, y = make_classification(60, 20, seed=4)
    X[:, 9] = 3.0
    options = {"solver": solver, "forced_features": [13, 2], "calibrate": False}
    model = L0LogisticRegression([3, 19], **options).fit(X, y)
    assert {2, 13} <= set(model.path_[3].support)
    assert model.path_[19].support.tolist() == [j for j in range(20) if j != 9]
    assert model.certificate_.proven
    alone = L0LogisticRegression(2, **options).fit(X, y)
    assert alone.support_.tolist() == [2, 13]
    with pytest.raises(ValueError, match="n_features"):
        L0LogisticRegression(20, solver=solver).fit(X, y)


def test_thresholding_without_a_gradient():
    """Where no column tells anything, a constant one would be taken."""
    X = np.array([[5.0, 1.0], [5.0, -1.0], [5.0, 1.0], [5.0, -1.0]])
    y = np.array([1, 1, -1, -1])
    for solver in SOLVERS:
        assert L0LogisticRegression(1, solver=solver, calibrate=False).fit(
            X, y
        ).support_.tolist() == [1]


def test_sizes_help_each_other():
    """With more features the objective would not be lower, or the history not tell sizes."""
    X, y = load_golub(return_X_y=True)
    sizes = [1, 2, 3, 5, 8, 12]
    model = L0LogisticRegression(sizes, calibrate=False).fit(X, y)
    objectives = [model.path_[k].certificate.objective for k in sizes]
    assert np.all(np.diff(objectives) < 0)
    assert {step.n_features for step in model.history_} >= set(sizes)
    order = model.path_.order
    assert np.unique(order).size == order.size
    for k in sizes:
        assert set(model.path_[k].support) <= set(order)
        assert np.all(model.path_[k].entered >= 1)
    budget = BudgetClassifier(sizes, calibrate=False).fit(X, y)
    for k in sizes:
        ours, theirs = model.path_[k].certificate, budget.path_[k].certificate
        assert ours.objective <= theirs.objective * (1 + 1e-4)
    assert model.n_scans_ < 20


@pytest.mark.parametrize("groups", [False, True])
def test_more_searches_find_better_models(groups):
    """They would all end where the first one does, or a worse one be the answer."""
    objectives = {1: [], 4: []}
    for seed in (0, 6, 8):
        rng = np.random.default_rng(seed)
        part = np.arange(120) % 4
        X = rng.standard_normal((50, 120)) + 2.0 * rng.standard_normal((50, 4))[:, part]
        y = X[:, :6].sum(1) + 4.0 * rng.standard_normal(50)
        names = (
            {"feature_groups": np.arange(120) // 2, "n_groups": 5} if groups else {"n_features": 5}
        )
        for n_starts, found in objectives.items():
            method = methods.L0(n_starts=n_starts)
            model = BudgetRegressor(method=method, C=1.0, **names).fit(X, y)
            found.append(model.certificate_.objective)
    again = BudgetRegressor(method=method, C=1.0, **names).fit(X, y)
    assert model.certificate_.objective == again.certificate_.objective
    ratio = np.array(objectives[4]) / objectives[1]
    assert ratio.max() <= 1 + 1e-4
    assert (ratio < 1 - 1e-3).sum() >= 2


def test_starts_are_of_exchanges():
    """The option would be ignored where nothing begins anew."""
    X, y = make_classification(30, 8, seed=0)
    for method, message in (
        (methods.L0(n_starts=0), "n_starts must be an integer of at least 1; got 0"),
        (methods.L0(n_starts=2, solver="iht"), "n_starts above 1 needs solver='exchange'"),
    ):
        with pytest.raises(ValueError, match=message):
            BudgetClassifier(2, method=method).fit(X, y)


def test_the_best_of_a_size_is_never_given_up():
    """A later scan would replace a support by a worse one."""
    X, risk = pooled(1)
    search = L0Search(Task.of(as_design(X), risk.y), 0.5, [3], 1e-6)
    search.add(np.arange(40)[::-1])
    features = np.array([10, 20, 30])
    search.offer(search.place(features))
    np.testing.assert_array_equal(search.support(3), features)
    first = search.best[3]
    search.offer(search.place(features))
    assert search.best[3] is first
    search.improve(3)
    assert search.best[3].objective < first.objective
    better = search.best[3]
    search.offer(search.place(features))
    assert search.best[3] is better


def test_exchanges_go_on_in_a_pool_that_grows():
    """Columns that come later would not be tried, or what was tried before be tried again."""
    for form in (np.asfortranarray, sp.csc_array):
        for seed in range(6):
            X, risk = pooled(seed, n=100)
            exchanges = Exchanges(as_columns(form(X[:, :20])), risk)
            found = exchanges.improve(exchanges.fit(np.arange(16, 20)))
            assert exchanges.improve(found) is found
            exchanges.extend(as_columns(form(X)))
            later = exchanges.improve(found)
            anew = Exchanges(as_columns(form(X)), risk)
            assert later.objective <= found.objective
            best = anew.improve(anew.fit(found.columns)).objective
            np.testing.assert_allclose(later.objective, best, rtol=1e-6)


def test_regrowing_goes_on_where_single_exchanges_end():
    """Supports that differ by many features at once would not be compared."""
    better = 0
    for seed in range(40):
        X, risk = pooled(seed, n=60)
        search = L0Search(Task.of(as_design(X), risk.y), 1.0, [6], 1e-6)
        search.add(np.arange(40))
        search.offer(np.arange(34, 40), improve=True)
        before = search.best[6].objective
        search.regrow(6)
        assert search.best[6].columns.size == 6
        assert search.best[6].objective <= before
        better += search.best[6].objective < before * (1 - 1e-6)
    assert better >= 2


@pytest.mark.parametrize(("seed", "before"), [(3, 25.4882306), (21, 20.0756924)])
def test_the_search_regrows(seed, before):
    """The search would end where it does without growing supports."""
    X, risk = pooled(seed, n=80, p=60)
    assert solve(X, risk.y, 8, C=1.0, tol=1e-6).objective < before * (1 - 1e-3)


@pytest.mark.filterwarnings("ignore:The 5 features separate the classes")
@pytest.mark.parametrize("seed", [3, 7])
def test_little_ridge_is_reached_from_more_of_it(seed):
    """Where the data separate, the search would end in the nearest of many poor optima."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 400)) + rng.standard_normal((50, 1))
    y = np.where(X[:, :3] @ [2.0, -2.0, 2.0] + 0.3 * rng.standard_normal(50) > 0, 1.0, -1.0)
    C = 1e4
    model = L0LogisticRegression(5, C=C, calibrate=False).fit(X, y)
    objective = model.certificate_.objective
    for stage in (0.1, 1.0):
        easier = L0LogisticRegression(5, C=stage, calibrate=False).fit(X, y)
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        risk = Risk(y, np.full(50, C), LOGISTIC)
        fit = ridge(as_columns(Z[:, easier.support_]), risk, tol=1e-9)
        assert objective <= fit.objective * (1 + 1e-3)
    # The steps are those of the problem that was asked for.
    values = [step.objective for step in model.history_]
    assert min(values) >= objective * (1 - 1e-6)


def test_warm_start_has_the_old_candidates():
    """A second fit would scan for what the first one has found."""
    X, y = make_classification(60, 200, seed=6)
    model = L0LogisticRegression(4, warm_start=True, solver="splicing", calibrate=False).fit(X, y)
    first, scans = model.support_, model.n_scans_
    assert model.fit(X, y).n_scans_ <= scans
    np.testing.assert_array_equal(model.support_, first)


def test_several_classes_and_persistence(tmp_path):
    """Classes would share a support, or be lost in a file."""
    X, y = make_classification(90, 25, seed=8, n_classes=3)
    model = L0LogisticRegression(3, calibrate=False).fit(X, y)
    assert len(model.path_) == 3
    assert all(path[3].support.size == 3 for path in model.path_)
    persistence.save(model, tmp_path / "model.npz")
    loaded = persistence.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_columns_that_share_their_noise_are_found():
    """What tells something only beside others would be missed: it has no score by itself."""
    rng = np.random.default_rng(4)
    own = rng.standard_normal((200, 192))
    X = own + 3.0 * np.repeat(rng.standard_normal((200, 24)), 8, axis=1)
    y = own[:, :32:8].sum(axis=1) + 0.5 * rng.logistic(size=200) > 0
    several = methods.L0(n_starts=2)
    model = BudgetClassifier(8, C=10.0, method=several, calibrate=False).fit(X, y)
    # Four columns of the four informative blocks each beside another one of its block.
    assert set(model.support_ // 8) == {0, 1, 2, 3}
    assert {0, 8, 16, 24} <= set(model.support_)
    whole = L0Search(
        Task.of(as_design(X), np.where(y, 1.0, -1.0), None, loss=LOGISTIC), 10.0, [8], 1e-5
    )
    whole.add(np.arange(192))
    left = whole.exchanges.eliminate(np.arange(192), [8])[8]
    assert model.certificate_.objective <= whole.exchanges.fit(left).objective * (1 + 1e-6)


@pytest.mark.parametrize(
    ("kind", "called"),
    [("dense", True), ("sparse", False), ("classes", False), ("groups", False), ("long", False)],
)
def test_all_features_are_eliminated_where_that_is_cheap(kind, called, monkeypatch):
    """A fit of a second would take minutes: these have no compiled fits of many columns."""
    shares, drawn, from_all = [], [], L0Search.restarted_from_all
    monkeypatch.setattr(L0Search, "eliminated", lambda _, share: bool(shares.append(share)))
    monkeypatch.setattr(
        L0Search, "restarted_from_all", lambda *given: drawn.append(1) or from_all(*given)
    )
    if kind == "long":
        monkeypatch.setattr("zeronorm.solvers.l0.MOST_ENTRIES", 30 * 20 - 1)
    X = np.random.default_rng(0).standard_normal((30, 20))
    y = np.digitize(X[:, 0], [-0.5, 0.5] if kind == "classes" else [0.0])
    given = (
        {"n_groups": 2, "feature_groups": np.arange(20) // 4}
        if kind == "groups"
        else {"n_features": 2}
    )
    model = BudgetClassifier(**given, method=methods.L0(n_starts=2), calibrate=False)
    model.fit(sp.csc_array(X) if kind == "sparse" else X, y)
    assert shares == ([0.1, 1.0] if called else [])
    assert len(drawn) == called


def test_a_restart_begins_with_half_of_all_features():
    """It would begin with the pool once more, where searches end that have found nothing else."""
    X, y = make_classification(80, 40, seed=2)
    task = Task.of(as_design(X), np.where(y > 0, 1.0, -1.0), None, loss=LOGISTIC, forced=[7])
    search = L0Search(task, 1.0, [4], 1e-5)
    search.add(np.array([1, 2, 3, 4]))
    search.offer(search.place(np.array([1, 2, 3, 7])))
    found = set()
    for seed in range(5):
        other = search.restarted_from_all(np.random.default_rng(seed))
        support = other.support(4)
        assert support.size == 4
        assert 7 in support
        assert other.best[4].objective <= search.best[4].objective
        found |= set(support)
    assert found - {1, 2, 3, 4, 7}
    assert search.support(4).tolist() == [1, 2, 3, 7]


def test_duplicated_columns():
    """Ties would go to the larger index, or the same column be taken twice for nothing."""
    X, y = make_classification(60, 30, seed=9)
    single = L0LogisticRegression(4, tol=1e-9, calibrate=False).fit(X, y)
    doubled = L0LogisticRegression(4, tol=1e-9, calibrate=False).fit(np.hstack([X, X]), y)
    assert doubled.certificate_.objective <= single.certificate_.objective * (1 + 1e-9)


def test_supports_that_separate_are_said():
    """Without a ridge there would be no model: at a large C it alone bounds the coefficients."""
    X, y = load_golub(return_X_y=True)
    with pytest.warns(UserWarning, match="The 4 features separate the classes: their mean log-los"):
        L0LogisticRegression(n_features=4, C=1e4, calibrate=False).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        L0LogisticRegression(n_features=4, calibrate=False).fit(
            X, y
        )  # at the default C they separate as well


def test_more_features_than_the_rank_are_said():
    """The count would pass for one that the data decide."""
    X, y = load_golub(return_X_y=True)
    with pytest.warns(UserWarning, match="n_features=40 is more than the 37 features that 38"):
        L0LogisticRegression(n_features=40, calibrate=False).fit(X, y)

"""Features and groups at once: oracles, enumeration, descent, storages, folds, messages."""

from __future__ import annotations

import copy
import pickle
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import oracles
from zeronorm import BudgetCV
from zeronorm.core.groups import Groups
from zeronorm.core.results import Status
from zeronorm.data import Scaled, as_design
from zeronorm.data.gathered import GatheredColumns, as_columns
from zeronorm.losses import LeastSquares, Logistic, SquaredHinge
from zeronorm.published import BilevelClassifier, BilevelRegressor, L0LogisticRegression
from zeronorm.solvers import bilevel as solver_module
from zeronorm.solvers import run
from zeronorm.solvers.bilevel import SOLVERS, BilevelTask, FeaturePool, select_bilevel
from zeronorm.solvers.l0 import VARIANTS, Objective, Thresholding
from zeronorm.solvers.problem import Risk

LOSSES = {"ls": LeastSquares(), "log": Logistic(), "hinge": SquaredHinge()}


def specified(loss, seed, n, g=3, n_groups=4):
    """The instances whose optima were found by enumeration."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, g * n_groups))
    x = np.zeros(g * n_groups)
    x[[0, 1, 2 * g]] = 2, -1.5, 1
    if loss == "ls":
        return A, A @ x + 0.5 * rng.standard_normal(n)
    return A, np.where(A @ x + rng.logistic(size=n) > 0, 1.0, -1.0)


def drawn(seed, loss="ls", n=60, p=40, size=4, intercept=True, ridge=0.5):
    """A random problem with correlated columns and groups that are not contiguous."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    code = rng.permutation(np.arange(p) // size)
    w = rng.standard_normal(p) * (rng.random(p) < 0.2)
    z = X @ w + 1.0
    y = (
        z + rng.standard_normal(n)
        if loss == "ls"
        else np.where(z + rng.logistic(size=n) > 1, 1, -1)
    )
    risk = Risk(y.astype(float), rng.uniform(0.5, 2, n), LOSSES[loss], intercept)
    return X, Objective(risk, ridge), Groups.of(code, p)


def task_of(X, objective, groups, **options):
    return BilevelTask(as_design(X), objective, groups, **options)


def fitted(X, objective, columns):
    """The fit on some columns, by the pool."""
    pool = FeaturePool(objective, GatheredColumns(as_design(X)))
    pool.add(np.arange(X.shape[1]))
    return pool, pool.fit(np.asarray(columns, np.int64))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("loss", "seed", "n", "size", "value", "support", "coef"),
    [
        ("ls", 0, 30, (3, 2), 2.5304552500, [0, 1, 6], [1.82866742, -1.49421260, 0.89621187]),
        (
            "ls", 1, 40, (4, 2), 4.1084062040, [0, 1, 6, 7],
            [1.98811538, -1.45634885, 1.17566791, -0.17393865],
        ),
        ("log", 0, 60, (3, 2), 25.3353141633, [0, 1, 6], [2.01852388, -1.40031647, 0.92080573]),
        (
            "log", 1, 80, (4, 2), 29.6546945173, [0, 1, 10, 11],
            [2.12289103, -2.20571638, -0.56804854, -0.92714848],
        ),
    ],
)  # fmt: skip
def test_known_optima(loss, seed, n, size, value, support, coef, solver):
    """The problem solved would be another one than that of the paper."""
    A, y = specified(loss, seed, n)
    risk = Risk(y, np.ones(n), LOSSES[loss], intercept=False)
    objective = Objective(risk, 0.0 if loss == "ls" else 1e-9)
    groups = Groups.of(np.repeat(np.arange(4), 3), 12)
    fit = run(select_bilevel(task_of(A, objective, groups), [size], solver=solver)).fits[size]
    assert fit.support.tolist() == support
    np.testing.assert_allclose(fit.coef, coef, rtol=2e-5)
    np.testing.assert_allclose(fit.objective, value, rtol=1e-7)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_search_finds_the_optimum_of_small_problems(loss):
    """The search would be weak, or its objective too good to be true."""
    size, hits, n_instances = (4, 2), 0, 12
    for seed in range(n_instances):
        X, objective, groups = drawn(seed, loss, n=40, p=12, size=3, ridge=0.1)
        pool, _ = fitted(X, objective, [])
        best = min(
            pool.fit(np.array(columns)).objective
            for columns in combinations(range(12), 4)
            if len(set(groups.code[list(columns)])) <= 2
        )
        found = run(select_bilevel(task_of(X, objective, groups), [size])).fits[size]
        assert found.objective >= best * (1 - 1e-7)
        hits += found.objective <= best * (1 + 1e-6)
    assert hits >= n_instances - 1


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("solver", list(VARIANTS))
def test_descent_of_the_published_methods(solver, loss, intercept):
    """ISTA and ISTA-L would ascend, or an end point be not stationary."""
    for seed in range(4):
        X, objective, groups = drawn(seed, loss, intercept=intercept)
        admit = task_of(X, objective, groups).admit((6, 3))
        state = Thresholding(objective, admit, VARIANTS[solver], 1e-12)
        values = [state.current.objective]
        going = True
        while going and len(values) < 5000:
            going = state.step(X.T @ state.vector, as_columns(X).take)
            values.append(state.current.objective)
            assert state.current.support.size <= 6
            assert groups.of_features(state.current.support).size <= 3
        assert len(values) > 2
        point = state.best
        assert point.objective == min(values)
        if not VARIANTS[solver].accelerated:
            assert np.all(np.diff(values) <= 1e-12 * abs(values[0]))
        # F at the point is what it says.
        z = X[:, point.support] @ point.coef
        value, b, _ = objective.place(z, point.coef)
        np.testing.assert_allclose((value, b), (point.objective, point.intercept), rtol=1e-9)
        if VARIANTS[solver].accelerated:
            continue  # its best point lies between ripples
        # L-stationary: no gradient on the support, and no better projection at step 1 / L.
        full = point.dense(X.shape[1])
        descent = -X.T @ point.gradient - objective.ridge * full
        scale = np.abs(X.T @ (objective.risk.weight * objective.risk.y)).max()
        assert np.abs(descent[point.support]).max() < 2e-4 * scale
        target = full + descent / state.curvature
        assert np.array_equal(admit(target), point.support)


def test_a_step_is_its_formula():
    """u <- P(u - grad / L) with L the mean curvature, where that descends."""
    X, objective, groups = drawn(3, "log", intercept=False)
    admit = task_of(X, objective, groups).admit((4, 2))
    state = Thresholding(objective, admit, VARIANTS["ista"], 1e-9)
    weight = objective.risk.weight
    descent = X.T @ (weight * objective.risk.y / 2)
    target = descent / (0.5 + weight.sum() / 4)
    state.step(descent, as_columns(X).take)
    support = admit(target)
    assert np.array_equal(state.current.support, support)
    ratio = state.current.coef / target[support]
    assert np.allclose(ratio, ratio[0])
    halvings = -np.log2(ratio[0])
    assert halvings == pytest.approx(round(halvings))


def iterates_of(X, objective, groups, size, solver, tol):
    """All points of a run of hard thresholding, and the L of the steps that led there."""
    admit = task_of(X, objective, groups).admit(size)
    state = Thresholding(objective, admit, VARIANTS[solver], tol)
    points, curvatures, going = [state.current], [np.nan], True
    while going:
        going = state.step(X.T @ state.vector, as_columns(X).take)
        points.append(state.current)
        curvatures.append(state.curvature)
    return points, curvatures


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["ls", "log"])
@pytest.mark.parametrize("solver", list(VARIANTS))
def test_iterates_are_those_of_the_published_variants(solver, loss, intercept):
    """A variant would be another method: its momentum, first L, criterion or end."""
    size, tol = (5, 3), 1e-5
    for seed in (0, 1, 5):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 20)) + 0.5 * rng.standard_normal((40, 1))
        groups = Groups.of(rng.permutation(np.arange(20) // 4), 20)
        z = X @ (rng.standard_normal(20) * (rng.random(20) < 0.3)) + 1.0
        y = z + rng.standard_normal(40)
        if loss == "log":
            y = np.where(z + rng.logistic(size=40) > 1, 1.0, -1.0)
        weight = rng.uniform(0.5, 2, 40)
        objective = Objective(Risk(y, weight, LOSSES[loss], intercept), 0.5)
        expected = oracles.hard_thresholding(
            X, y, weight, loss, 0.5, groups.code, size, solver, tol, intercept=intercept
        )
        points, curvatures = iterates_of(X, objective, groups, size, solver, tol)
        assert len(points) == len(expected) > 8
        for point, curvature, other in zip(points, curvatures, expected, strict=True):
            np.testing.assert_allclose(point.dense(20), other.coef, rtol=0, atol=1e-10)
            assert point.intercept == pytest.approx(other.intercept, abs=1e-10)
            assert point.objective == pytest.approx(other.objective, rel=1e-10)
            assert curvature == pytest.approx(other.curvature, rel=1e-9, nan_ok=True)
        # The solver takes the same steps, and fits the support of the best point.
        task = task_of(X, objective, groups)
        path = run(select_bilevel(task, [size], solver=solver, tol=tol))
        assert path.history[0].extra["steps"] == len(expected) - 2
        assert path.history[0].extra["curvature"] == pytest.approx(expected[-1].curvature, rel=1e-9)
        best = min(reversed(expected), key=lambda iterate: iterate.objective)
        assert path.fits[size].support.tolist() == np.flatnonzero(best.coef).tolist()


@pytest.mark.parametrize("solver", list(VARIANTS))
def test_a_step_has_to_decrease_enough(solver):
    """Steps that lower the objective by next to nothing would be taken, or good ones refused."""
    for bend in (0.9, 1.1, 1.99, 1.9985, 1.9995, 2.0005, 2.5):
        # One column, whose curvature is `bend` times the mean one: the decrease of the first step
        # is (2 - bend) L/2 ||step||^2, and the quadratic model of (3) holds to bend = 1.
        X = np.sqrt(bend) * np.array([[1.0], [1.0], [-1.0], [1.0]])
        y = 2.0 * X[:, 0]
        objective = Objective(Risk(y, np.ones(4), LeastSquares(), intercept=False), 0.0)
        groups = Groups.of([0], 1)
        points, curvatures = iterates_of(X, objective, groups, (1, 1), solver, 1e-3)
        most = 1.999 if solver == "ista" else 1.0
        doublings = max(0, int(np.ceil(np.log2(bend / most))))
        assert curvatures[1] == 4.0 * 2.0**doublings
        assert points[1].coef == pytest.approx(2.0 * bend / 2.0**doublings)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_changes_of_least_squares_are_exact(intercept, sparse):
    """Features would be exchanged by wrong estimates."""
    X, objective, _ = drawn(1, intercept=intercept, p=15)
    if sparse:
        X[np.abs(X) < 0.7] = 0.0
    columns = np.array([1, 4, 6, 11])
    pool, fit = fitted(sp.csc_array(X) if sparse else X, objective, columns)
    changes = pool.changes(fit)

    def value(columns):
        return pool.fit(np.sort(np.asarray(columns))).objective

    outside = np.setdiff1d(np.arange(15), columns)
    losses = [2 * (value(np.delete(columns, j)) - fit.objective) for j in range(4)]
    np.testing.assert_allclose(changes.losses(), losses, rtol=1e-7)
    gains = [2 * (fit.objective - value([*columns, i])) for i in outside]
    np.testing.assert_allclose(changes.gains()[outside], gains, rtol=1e-6, atol=1e-9)
    assert not changes.gains()[columns].any()
    swaps = changes.swaps()
    for j in range(4):
        for i in outside:
            swapped = value([*np.delete(columns, j), i])
            assert swaps[j, i] == pytest.approx(2 * (fit.objective - swapped), rel=1e-6, abs=1e-8)
    left = changes.without(np.array([0, 2]))
    rest = pool.changes(pool.fit(columns[[1, 3]]))
    left, rest = left.parts[0], rest.parts[0]
    for name in ("coef", "inverse"):
        np.testing.assert_allclose(getattr(left, name), getattr(rest, name), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(left.gains()[outside], rest.gains()[outside], rtol=1e-7)


def test_dependent_columns_gain_nothing():
    """A copy of a selected column would look like a feature worth infinitely much."""
    X, objective, _ = drawn(2, ridge=0.0, p=6)
    X[:, 5] = 2.0 * X[:, 0] - X[:, 1]
    pool, fit = fitted(X, objective, [0, 1, 2])
    assert pool.changes(fit).gains()[5] == 0.0
    both = pool.fit(np.array([0, 1, 5]))
    assert both.objective == pytest.approx(pool.fit(np.array([0, 1])).objective, rel=1e-9)


# ------------------------------------------------------------------- estimators


def grouped(seed=0, n=120, p=60, size=5, k=4, noise=0.5):
    """Data where 2 groups have 2 features each; groups are not contiguous."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.5, 3, p) + rng.uniform(-2, 2, p)
    groups = np.arange(p) % (p // size)
    chosen = np.flatnonzero(np.isin(groups, [1, 4]))[[0, 1, 4, 5]]
    y = X[:, chosen] @ np.array([1.0, -1.5, 1.0, 2.0]) / X[:, chosen].std(axis=0).mean() + 3.0
    return X, y + noise * rng.standard_normal(n), groups, np.sort(chosen[:k])


def test_regression_recovers_features_and_groups():
    """The search would miss what is plain in the data."""
    X, y, groups, chosen = grouped()
    model = BilevelRegressor(4, 2, feature_groups=groups).fit(X, y)
    assert model.support_.tolist() == chosen.tolist()
    assert model.groups_.tolist() == [1, 4]
    A = np.column_stack([X[:, chosen], np.ones(len(y))])
    expected = np.linalg.lstsq(A, y, rcond=None)[0]
    np.testing.assert_allclose(model.coef_[chosen], expected[:4], rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, expected[4], rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), A @ expected, rtol=1e-9)
    residual = y - A @ expected
    assert model.path_[4, 2].objective == pytest.approx(0.5 * residual @ residual, rel=1e-9)
    assert model.transform(X).shape == (len(y), 4)


def test_ridge_and_scaling_of_the_regression():
    """C would be on another scaling than documented."""
    X, y, groups, _ = grouped()
    for standardize in (True, False):
        model = BilevelRegressor(4, 2, feature_groups=groups, C=0.02, standardize=standardize).fit(
            X, y
        )
        Z = X[:, model.support_] - X[:, model.support_].mean(axis=0)
        std = Z.std(axis=0) if standardize else np.ones(4)
        Z = Z / std
        u = np.linalg.solve(Z.T @ Z + 50.0 * np.eye(4), Z.T @ (y - y.mean()))
        np.testing.assert_allclose(model.coef_[model.support_], u / std, rtol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_classification_of_groups(solver):
    """A solver would break a budget, or predict no better than chance."""
    X, y, groups, chosen = grouped(noise=0.1)
    labels = np.where(y > np.median(y), "high", "low")
    model = BilevelClassifier(4, 2, feature_groups=groups, solver=solver).fit(X, labels)
    assert model.support_.size <= 4
    assert model.groups_.size <= 2
    assert model.score(X, labels) > 0.9
    if solver == "auto":
        assert model.support_.tolist() == chosen.tolist()


def test_groups_of_one_are_the_best_features():
    """Without groups it would not be the l0 problem."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 80))
    y = X[:, :5].sum(axis=1) + rng.logistic(size=100) > 0
    bilevel = BilevelClassifier(4, C=0.5, refit_C=1.0).fit(X, y)
    single = L0LogisticRegression(4, C=0.5, refit_C=1.0, calibrate=False).fit(X, y)
    assert bilevel.support_.tolist() == single.support_.tolist()
    np.testing.assert_allclose(bilevel.coef_, single.coef_, rtol=1e-6)


def test_paths_over_both_budgets():
    """A larger budget would give a worse model, or a pair be left out or break its budgets."""
    X, y, groups, _ = grouped(3, noise=2.0)
    for solver in ("auto", "ista"):
        model = BilevelRegressor(range(1, 7), [1, 2, 4], feature_groups=groups, solver=solver).fit(
            X, y
        )
        assert sorted(model.path_) == [(k, g) for k in range(1, 7) for g in (1, 2, 4)]
        for k, g in model.path_:
            one = model.path_[k, g]
            assert one.support.size <= k
            assert np.unique(groups[one.support]).size <= g
            for other in ((k - 1, g), (k, g // 2)):
                if other in list(model.path_):
                    assert one.objective <= model.path_[other].objective * (1 + 1e-9)
        assert model.support_.tolist() == model.path_[6, 4].support.tolist()
    alone = BilevelRegressor(4, 2, feature_groups=groups).fit(X, y).path_[4, 2].objective
    many = BilevelRegressor(range(1, 7), [1, 2, 4], feature_groups=groups).fit(X, y)
    assert many.path_[4, 2].objective <= alone * (1 + 1e-6)


@pytest.mark.parametrize("solver", ["auto", "ista", "fista"])
def test_forced_features_and_groups(solver):
    """Forced ones would be missing, or come on top of a budget."""
    X, y, groups, chosen = grouped()
    forced = int(np.setdiff1d(np.arange(60), chosen)[7])
    options = {"feature_groups": groups, "solver": solver}
    model = BilevelRegressor(4, 3, forced_features=[forced], **options).fit(X, y)
    assert forced in model.support_
    assert model.support_.size == 4
    assert groups[forced] in model.groups_
    # A forced group takes its place in the budget, with or without features.
    alone = BilevelRegressor(4, 1, forced_groups=[groups[forced]], **options).fit(X, y)
    assert alone.groups_.tolist() == [groups[forced]]
    two = BilevelRegressor(8, 2, forced_groups=[groups[forced]], **options).fit(X, y)
    assert np.setdiff1d(two.groups_, groups[forced]).size <= 1


def test_constant_columns_are_no_features():
    """A constant column would be selected, or opened as a group."""
    X, y, groups, chosen = grouped()
    X[:, groups == 2] = 7.0
    X[:, chosen[0]] = 0.0
    model = BilevelRegressor(10, 4, feature_groups=groups, standardize=False).fit(X, y)
    assert chosen[0] not in model.support_
    assert 2 not in model.groups_
    with pytest.raises(ValueError, match=r"n_groups must be between 1 and 11 \(the groups with a"):
        BilevelRegressor(10, 12, feature_groups=groups).fit(X, y)


def test_names_of_groups():
    """Groups would be reported by numbers that the user never gave."""
    X, y, groups, _ = grouped()
    names = np.array([f"g{number:02d}" for number in range(12)])
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(60)])
    by_label = BilevelRegressor(4, 2, feature_groups=names[groups]).fit(X, y)
    lists = {names[g]: [f"x{j}" for j in np.flatnonzero(groups == g)] for g in range(12)}
    by_list = BilevelRegressor(4, 2, feature_groups=lists).fit(frame, y)
    assert by_label.groups_.tolist() == by_list.groups_.tolist() == ["g01", "g04"]
    assert by_list.get_feature_names_out().tolist() == [f"x{j}" for j in by_label.support_]
    given = BilevelRegressor(4, 2, feature_groups=Groups.of(groups, 60)).fit(X, y)
    assert given.support_.tolist() == by_label.support_.tolist()


@pytest.mark.parametrize("refit_C", [None, "loo", 1.0])
def test_models_without_features(refit_C, capfd):
    """The mean variance of no columns would be NaN, with a warning, and LAPACK would complain."""
    X = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BilevelClassifier(1, refit_C=refit_C).fit(X, [0, 1, 0, 1])
    assert model.support_.size == 0
    assert np.isfinite([model.path_[1, 1].loo_loss, model.path_[1, 1].refit_C]).all()
    np.testing.assert_array_equal(model.predict_proba(X), np.full((4, 2), 0.5))
    assert capfd.readouterr() == ("", "")


def test_several_classes_and_refit():
    """Classes would share a selection, or stay without the refit."""
    X, y, groups, _ = grouped()
    labels = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    model = BilevelClassifier([2, 4], 2, feature_groups=groups, refit_C="loo").fit(X, labels)
    assert len(model.path_) == 3
    assert model.predict_proba(X).shape == (120, 3)
    for path in model.path_:
        assert list(path) == [(2, 2), (4, 2)]
        assert path[4, 2].n_features <= 4
    hinge = BilevelClassifier(4, 2, feature_groups=groups, loss="squared_hinge").fit(X, labels)
    assert not hasattr(hinge, "predict_proba")
    assert hinge.score(X, labels) > 0.5
    assert hasattr(hinge.set_params(refit_C=1.0), "predict_proba")


def test_solution_of_the_classifier_is_stationary():
    """The coefficients would not solve the problem that the docstring states."""
    X, y, groups, _ = grouped()
    labels = np.where(y > y.mean(), 1.0, -1.0)
    for loss in ("logistic", "squared_hinge"):
        model = BilevelClassifier(4, 2, feature_groups=groups, loss=loss, C=0.3).fit(X, labels)
        std = X[:, model.support_].std(axis=0)
        Z = (X[:, model.support_] - X[:, model.support_].mean(axis=0)) / std
        u = model.coef_[0, model.support_] * std
        z = model.decision_function(X)
        gradient = {"logistic": Logistic(), "squared_hinge": SquaredHinge()}[loss].value_gradient(
            z, labels, np.full(120, 0.3)
        )[1]
        assert np.abs(Z.T @ gradient + u).max() < 1e-4
        assert abs(gradient.sum()) < 1e-4


def test_warm_start_and_persistence_of_the_object():
    """A warm start would be lost by pickling, or cost as much as a cold one."""
    X, y, groups, _ = grouped()
    model = BilevelRegressor(4, 2, feature_groups=groups, warm_start=True).fit(X, y)
    first = model.coef_
    again = pickle.loads(pickle.dumps(model)).set_params(n_features=5).fit(X, y)
    assert again.support_.size == 5
    cold = BilevelRegressor(4, 2, feature_groups=groups, solver="ista", warm_start=True)
    steps = cold.fit(X, y).n_scans_
    assert cold.fit(X, y).n_scans_ < steps
    np.testing.assert_array_equal(copy.deepcopy(model).fit(X, y).coef_, first)


def test_unconverged_methods_are_told():
    """A fit that did not converge would pass for one that did."""
    X, y, groups, _ = grouped()
    with pytest.warns(ConvergenceWarning, match=r"solver='ista' did not converge in max_iter=1 st"):
        BilevelRegressor(4, 2, feature_groups=groups, solver="ista", max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"Use a larger max_iter or tol, or solver='auto'"):
        BilevelClassifier(4, 2, feature_groups=groups, solver="fista", max_iter=1).fit(
            X, y > y.mean()
        )


# ------------------------------------------------------------------- frames


def frame_of(n=200):
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], n)
    shape = pd.Categorical(rng.choice(["round", "square"], n))
    size, noise = rng.standard_normal((2, n))
    y = 2.0 * (colour == "red") - 1.0 * (colour == "blue") + size + 0.1 * rng.standard_normal(n)
    frame = pd.DataFrame({"shape": shape, "colour": colour, "noise": noise, "size": size})
    return frame, y


def test_columns_of_a_frame_are_groups():
    """The categories of one column would be torn apart."""
    frame, y = frame_of()
    model = BilevelRegressor(3, 2, feature_groups="columns").fit(frame, y)
    assert model.groups_.tolist() == ["colour", "size"]
    names = model.get_feature_names_out().tolist()
    assert names[-1] == "size"
    assert all(name.startswith("colour=") for name in names[:-1])
    assert model.score(frame, y) > 0.98
    assert model.n_features_in_ == 4
    assert model.coef_.shape == (7,)
    # By hand.
    dummies = pd.get_dummies(frame, columns=["shape", "colour"], prefix_sep="=", dtype=float)
    order = ["shape=round", "shape=square", "colour=blue", "colour=green", "colour=red"]
    dummies = dummies[[*order, "noise", "size"]]
    groups = ["shape"] * 2 + ["colour"] * 3 + ["noise", "size"]
    same = BilevelRegressor(3, 2, feature_groups=groups).fit(dummies, y)
    np.testing.assert_allclose(same.coef_, model.coef_, rtol=1e-9)
    np.testing.assert_allclose(same.predict(dummies), model.predict(frame), rtol=1e-9)
    # Categories that were never seen are none of those.
    strange = frame.assign(colour="violet")
    assert np.isfinite(model.predict(strange)).all()
    assert model.transform(frame).shape == (200, 3)
    labels = BilevelClassifier(3, 2, feature_groups="columns").fit(frame, y > 0)
    assert labels.score(frame, y > 0) > 0.9


def test_columns_need_a_frame():
    """An array would be grouped by columns that it does not have."""
    frame, y = frame_of()
    with pytest.raises(
        ValueError, match=r"feature_groups='columns' needs X as a data frame.*ndarray"
    ):
        BilevelRegressor(2, feature_groups="columns").fit(frame[["size", "noise"]].to_numpy(), y)
    model = BilevelRegressor(2, feature_groups="columns").fit(frame, y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"size": "length"}))


# ------------------------------------------------------------------- cross-validation


def test_cross_validation_selects_columns():
    """A pipeline could not go on with the columns and their names."""
    X, y, groups, _ = grouped()
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(60)])
    for model, target in (
        (BilevelRegressor(feature_groups=groups), y),
        (BilevelClassifier(feature_groups=groups), y > 0),
    ):  # fmt: skip
        search = BudgetCV(model, [2, 4], [1, 2], cv=3).fit(frame, target)
        best = search.best_estimator_
        np.testing.assert_array_equal(search.get_support(indices=True), best.support_)
        names = search.get_feature_names_out()
        assert names.tolist() == [f"f{j}" for j in best.support_]
        search.set_output(transform="pandas")
        assert search.transform(frame).columns.tolist() == names.tolist()
        np.testing.assert_array_equal(search.transform(frame), X[:, best.support_])
        if isinstance(model, BilevelClassifier):
            given = search.predict_log_proba(frame)
            np.testing.assert_array_equal(given, best.predict_log_proba(frame))
        else:
            assert not hasattr(search, "predict_log_proba")


def test_cross_validation_is_what_it_says():
    """A fold would see held-out rows, or another pair be chosen."""
    X, y, groups, chosen = grouped(noise=1.0)
    folds = list(KFold(4, shuffle=True, random_state=3).split(X))
    grid = {"n_features": [1, 2, 4, 6], "n_groups": [1, 2, 3]}
    search = BudgetCV(BilevelRegressor(feature_groups=groups), **grid, cv=folds).fit(X, y)
    found = search.validation_
    assert sorted(found.sizes) == [(k, g) for k in (1, 2, 4, 6) for g in (1, 2, 3)]
    for number, (train, test) in enumerate(folds):
        one = BilevelRegressor(feature_groups=groups, **grid).fit(X[train], y[train])
        for row, size in enumerate(found.sizes):
            model = one.path_[size]
            error = X[test][:, model.support] @ model.coef + model.intercept - y[test]
            assert 2 * found.deviance[row, number] == pytest.approx(np.mean(error**2), rel=1e-6)
    mean = found.deviance.mean(axis=1)
    best = int(np.argmin(mean))
    away = (found.deviance - found.deviance[best]).std(axis=1, ddof=1) / 2.0
    near = [size for size, m, e in zip(found.sizes, mean, away, strict=True) if m <= mean[best] + e]
    first = min(near, key=lambda size: (size[1], size[0]))
    assert (search.n_features_, search.n_groups_) == first == (4, 2)
    assert search.support_.tolist() == chosen.tolist()
    np.testing.assert_allclose(
        search.predict(X), BilevelRegressor(4, 2, feature_groups=groups).fit(X, y).predict(X)
    )
    greedy = BudgetCV(BilevelRegressor(feature_groups=groups), **grid, cv=folds, rule="best").fit(
        X, y
    )
    assert (greedy.n_features_, greedy.n_groups_) == found.sizes[best]


def test_cross_validation_of_classifiers():
    """Classifiers would be scored by something else than asked for."""
    X, y, groups, _ = grouped(noise=0.3)
    labels = np.where(y > y.mean(), "b", "a")
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    grid = [2, 4], [1, 2]
    for scoring in (None, "accuracy", "roc_auc"):
        search = BudgetCV(
            BilevelClassifier(feature_groups=groups), *grid, scoring=scoring, cv=3, rule="best"
        ).fit(X, labels, weight)
        assert search.n_groups_ == 2
        assert search.score(X, labels) > 0.8
        assert search.predict_proba(X).shape == (120, 2)
        assert search.classes_.tolist() == ["a", "b"]
    hinge = BudgetCV(BilevelClassifier(feature_groups=groups, loss="squared_hinge"), *grid).fit(
        X, labels
    )
    assert not hasattr(hinge, "predict_proba")
    assert hinge.validation_.mean.max() <= 1


def test_folds_with_fewer_columns_than_all_data():
    """A category that is absent from a fold would end the whole search."""
    X, y, _, _ = grouped(n=30)
    X, groups = X[:, :10], np.arange(10) % 2
    X[:, 7] = 0.0
    X[4, 7] = 1.0
    search = BudgetCV(BilevelRegressor(feature_groups=groups), [2, 10], [1, 2], cv=KFold(5)).fit(
        X, y
    )
    assert np.isfinite(search.validation_.scores).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"estimator": L0LogisticRegression(calibrate=False)},
            TypeError,
            "n_groups is not for a L0LogisticRegression",
        ),
        ({"scoring": "accuracy"}, ValueError, "continuous is not supported"),
        ({"rule": "min"}, ValueError, "rule must be one of '1se', 'best'; got 'min'"),
        ({"cv": 1}, ValueError, r"cv must be between 2 and 20 .*; got 1\."),
        ({"n_features": []}, ValueError, "got an empty list"),
        ({"n_features": 2}, ValueError, "n_features must be 'auto' or a list or range of sizes"),
        ({"n_features": [[1], [2, 3]]}, ValueError, r"or a list of integers; got \[1\]"),
        ({"n_groups": [99]}, ValueError, r"n_groups must be between 1 and 12 .*; got 99"),
        ({"random_state": -1}, ValueError, "random_state must be None or an integer from 0"),
    ],
)
def test_wrong_searches(options, error, message):
    """A wrong grid would be searched."""
    X, y, groups, _ = grouped()
    given = {
        "estimator": BilevelRegressor(feature_groups=groups),
        "n_features": [2],
        "n_groups": [1],
    }
    with pytest.raises(error, match=message):
        BudgetCV(**{**given, **options}).fit(X, y)


# ------------------------------------------------------------------- bad input

GROUPS = np.arange(60) % 12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 0}, r"n_features must be between 1 and 60 .*; got 0\."),
        ({"n_features": 61}, r"n_features must be between 1 and 60 .*; got 61\."),
        ({"n_features": 2.0}, r"n_features must be an integer or a list of integers; got 2\.0"),
        ({"n_groups": 0}, r"n_groups must be between 1 and 12 .*; got 0\."),
        ({"n_groups": 13}, r"n_groups must be between 1 and 12 .*; got 13\."),
        ({"n_groups": "2"}, r"n_groups must be an integer or a list of integers; got '2'"),
        ({"n_groups": [[1], [2, 3]]}, r"or a list of integers; got \[1\]"),
        ({"feature_groups": GROUPS[1:]}, r"one for every column of X \(60\); got shape \(59,\)"),
        ({"feature_groups": [*GROUPS[:-1], None]}, r"feature 59 has none\. Give it a group"),
        ({"feature_groups": [*GROUPS[:-1].astype(float), np.nan]}, r"feature 59 has none"),
        ({"feature_groups": {"a": range(50), "b": range(49, 60)}},
         r"must not overlap; feature 49 is in the groups 'a' and 'b'\. Leave it in one"),
        ({"feature_groups": {"a": range(50), "b": range(51, 60)}}, r"feature 50 is in none"),
        ({"feature_groups": {"a": range(50), "b": range(52, 60)}}, r"feature 50 \(and 1 more"),
        ({"feature_groups": {"a": range(61)}}, r"features from 0 to 59 .*; got 60 in group 'a'"),
        ({"feature_groups": {"a": ["x1"]}}, r"unknown feature 'x1' in group 'a'"),
        ({"feature_groups": {"a": 3}}, r"a list of features for every group; got 3 for 'a'"),
        ({"feature_groups": {}}, r"labels of the groups, at least one; got \[\]"),
        ({"forced_features": [0, 1, 2, 3]}, r"n_features counts the forced features.*4 .*; got 3"),
        ({"forced_features": [0, 1, 2], "n_groups": 2}, r"n_groups counts the groups of forced f"),
        ({"forced_groups": [0, 1, 2]}, r"it must be at least 3; got 2"),
        ({"forced_groups": ["a"]}, "has the label 'a', which is not in feature_groups"),
        ({"forced_groups": 3}, r"forced_groups must be a list of labels of groups; got 3"),
        ({"feature_groups": None, "forced_groups": [1]}, "but feature_groups is None"),
        ({"solver": "newton"}, r"solver must be one of 'auto', 'ista'.*; got 'newton'"),
        ({"max_iter": 0}, r"max_iter must be an integer of at least 1; got 0"),
        ({"C": 0}, r"C must be a positive finite number; got 0"),
        ({"tol": -1}, r"tol must be a positive finite number; got -1"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("model", [BilevelRegressor, BilevelClassifier])
def test_wrong_parameters(model, options, message):
    """A wrong option would be ignored, or fail deep inside."""
    X, y, _, _ = grouped()
    given = {"n_features": 3, "n_groups": 2, "feature_groups": GROUPS}
    with pytest.raises(ValueError, match=message):
        model(**{**given, **options}).fit(X, y > y.mean())


def test_wrong_data():
    """Data that cannot be fitted would be, or crash."""
    X, y, groups, _ = grouped()
    with_nan = X.copy()
    with_nan[3, 5] = np.nan
    model = BilevelRegressor(3, 2, feature_groups=groups)
    with pytest.raises(ValueError, match="NaN at row 3, column 5"):
        model.fit(with_nan, y)
    for target, message in (
        (np.where(np.arange(120) == 4, np.nan, y), "Input y contains NaN"),
        (y[:-1], "got 119 numbers for 120 rows"),
        ([str(value) for value in y], "y must be numbers"),
        (y + 1j, "y must be numbers"),
        (y * 1e200, "y must be at most 1e"),
        (None, "the target y is None"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, target)
    with pytest.raises(ValueError, match="C must be at least 1e-100; got 1e-320"):
        BilevelRegressor(3, 2, feature_groups=groups, C=1e-320).fit(X, y)
    with pytest.raises(ValueError, match="C must be a positive finite number; got 1000"):
        BilevelRegressor(3, 2, feature_groups=groups, C=10**400).fit(X, y)
    with pytest.raises(ValueError, match="at least two classes"):
        BilevelClassifier(3, 2, feature_groups=groups).fit(X, np.ones(120))
    with pytest.raises(ValueError, match="loss must be one of 'logistic', 'squared_hinge'"):
        BilevelClassifier(3, loss="hinge").fit(X, y > 0)
    with pytest.raises(ValueError, match="refit_C must be 'loo' or"):
        BilevelClassifier(3, refit_C="cv").fit(X, y > 0)


def test_exact_fits_and_extreme_scales():
    """An objective of zero, or units far from 1, would stop the search early or overflow."""
    X, y, groups, chosen = grouped(noise=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x_scale, y_scale in ((1.0, 1.0), (1e-30, 1e20), (1e40, 1e-20)):
            model = BilevelRegressor(4, 2, feature_groups=groups).fit(X * x_scale, y * y_scale)
            assert model.support_.tolist() == chosen.tolist()
            np.testing.assert_allclose(model.predict(X * x_scale), y * y_scale, rtol=1e-6)
        constant = BilevelRegressor(4, 2, feature_groups=groups).fit(X, np.full(120, 2.5))
        np.testing.assert_allclose(constant.predict(X), 2.5)
        wide = BilevelRegressor(30, 12, feature_groups=groups).fit(
            X[:20], y[:20]
        )  # more features than rows
        np.testing.assert_allclose(wide.predict(X[:20]), y[:20], atol=1e-6)


# ------------------------------------------------------------------- rare budgets and data


def test_the_objective_is_that_of_the_docstring():
    """The objective of a ridge would be on another scale than documented."""
    X, y, groups, _ = grouped()
    for C in (0.02, 3.0):
        model = BilevelRegressor(4, 2, feature_groups=groups, C=C).fit(X, y)
        u = model.coef_[model.support_] * X[:, model.support_].std(axis=0)
        expected = 0.5 * np.sum((model.predict(X) - y) ** 2) + u @ u / (2 * C)
        assert model.path_[4, 2].objective == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("model", [BilevelRegressor, BilevelClassifier])
def test_forced_groups_leave_room_for_others(model):
    """A budget of groups would be cut to that of the features, which forced groups do not need."""
    X, y, groups, chosen = grouped(noise=0.1)
    options = {"feature_groups": groups, "forced_groups": [7, 8]}
    y = y if model is BilevelRegressor else y > y.mean()
    one = model(1, 3, **options).fit(X, y)
    assert one.support_.size == 1
    assert one.groups_.tolist() in ([1], [4])
    four = model(4, 4, **options).fit(X, y)
    assert four.support_.tolist() == chosen.tolist()


def test_many_forced_features():
    """The look for what might replace a group would break the budget of the forced features."""
    X, y, groups, _ = grouped()
    forced = [0, 2, 3, 5, 6]  # of five groups
    for n_groups in (5, 6, 7):
        model = BilevelRegressor(7, n_groups, feature_groups=groups, forced_features=forced).fit(
            X, y
        )
        assert set(forced) <= set(model.support_.tolist())
        assert model.groups_.size <= n_groups


def test_forced_groups_of_constant_columns():
    """A forced group without a usable column would count, but could not be counted in n_groups."""
    X, y, groups, chosen = grouped()
    X[:, np.isin(groups, [2, 3])] = 7.0
    options = {"feature_groups": groups, "forced_groups": [2, 3]}
    model = BilevelRegressor(4, 4, **options).fit(X, y)
    assert model.support_.tolist() == chosen.tolist()
    assert BilevelRegressor(8, 12, **options).fit(X, y).support_.size == 8
    folds = BilevelRegressor(
        feature_groups=groups, forced_groups=[2], forced_features=[int(chosen[0])]
    )
    X[3, groups == 2] = 8.0  # constant in the fold that leaves out this row
    search = BudgetCV(folds, [1, 2], [2], cv=KFold(4)).fit(X, y)
    assert np.isfinite(search.validation_.scores).all()


@pytest.mark.parametrize("model", [BilevelRegressor, BilevelClassifier])
def test_columns_of_any_spread_without_standardisation(model):
    """Columns of a small spread would never be candidates, though their coefficients are free."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 300)) + rng.standard_normal((80, 1))
    spread, groups = 10.0 ** rng.uniform(-3, 3, 300), np.arange(300) // 5
    z = X[:, rng.choice(300, 8)] @ rng.standard_normal(8) + rng.standard_normal(80)
    if model is BilevelRegressor:
        first = model(8, 3, feature_groups=groups).fit(X, z)
        other = model(8, 3, feature_groups=groups, standardize=False).fit(X * spread, z)
    else:  # a ridge next to nothing, on either scale
        first = model(2, 1, feature_groups=groups, C=1e6).fit(X * 1e3, z > 0)
        other = model(2, 1, feature_groups=groups, C=1e6, standardize=False).fit(
            X * spread * 1e3, z > 0
        )
    assert other.support_.tolist() == first.support_.tolist()


@pytest.mark.parametrize("model", [BilevelRegressor, BilevelClassifier])
def test_offsets_without_standardisation(model):
    """Second derivatives of columns far from zero would cancel."""
    X, y, groups, _ = grouped()
    y = y if model is BilevelRegressor else y > y.mean()
    near = model(4, 2, feature_groups=groups, standardize=False).fit(X, y)
    far = model(4, 2, feature_groups=groups, standardize=False).fit(X + 1e8, y)
    assert far.support_.tolist() == near.support_.tolist()
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-6)


@pytest.mark.parametrize("model", [BilevelRegressor, BilevelClassifier])
@pytest.mark.parametrize("intercept", [True, False])
def test_scaled_designs_without_standardisation(model, intercept):
    """Coefficients would be of the columns below a design that the user has scaled."""
    X, y, groups, _ = grouped()
    y = y if model is BilevelRegressor else y > y.mean()
    scale = np.linspace(1, 3, 60)
    options = {"feature_groups": groups, "standardize": False, "fit_intercept": intercept}
    wrapped = model(4, 2, **options).fit(Scaled(as_design(X), None, scale), y)
    direct = model(4, 2, **options).fit(X * scale, y)
    np.testing.assert_allclose(wrapped.coef_, direct.coef_, rtol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_units_of_all_columns_without_standardisation(solver):
    """Steps of standardised columns would be far too short, or no short one would be tried: the
    methods would end at once and call that converged.
    """
    X, y, groups, _ = grouped(noise=2.0)
    options = {"feature_groups": groups, "standardize": False, "solver": solver}
    plain = BilevelRegressor(5, 3, **options).fit(X, y)
    for scale in (2.0**-40, 2.0**-10, 2.0**40):  # powers of two change no digit
        model = BilevelRegressor(5, 3, **options).fit(X * scale, y)
        assert model.n_scans_ == plain.n_scans_
        np.testing.assert_array_equal(model.coef_ * scale, plain.coef_)


@pytest.mark.parametrize("solver", list(VARIANTS))
def test_columns_of_all_units_without_standardisation(solver):
    """The line search would end before a step is short enough for the largest column."""
    X, y, groups, _ = grouped()
    X = X * 10.0 ** np.random.default_rng(1).integers(-14, 14, 60)
    options = {"feature_groups": groups, "standardize": False, "solver": solver, "max_iter": 100}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = BilevelRegressor(4, 2, forced_features=[7], **options).fit(X, y)
    assert 7 in model.support_
    assert model.support_.size > 1
    assert model.history_[-1].extra["steps"] > 0


@pytest.mark.parametrize(
    ("seed", "n_features", "storage"), [(3, 4, np.asarray), (1, 5, sp.csr_array)]
)
def test_weights_equal_repetition_without_a_ridge(seed, n_features, storage):
    """Half as many features as rows would be more than what repeated rows can tell apart.

    Elimination would begin with an exact fit, and rounding would choose the support.
    """
    rng = np.random.RandomState(seed)
    X, y, weight = rng.rand(15, 30), rng.randint(0, 3, 15), rng.randint(0, 5, 15)
    model = BilevelRegressor(n_features=n_features).fit(
        storage(X.repeat(weight, axis=0)), y.repeat(weight)
    )
    order = np.random.RandomState(0).permutation(15)
    weighted = BilevelRegressor(n_features=n_features).fit(
        storage(X[order]), y[order], sample_weight=weight[order]
    )
    np.testing.assert_array_equal(weighted.support_, model.support_)
    np.testing.assert_allclose(weighted.predict(X), model.predict(X), rtol=1e-7)


def test_huge_weights_do_not_take_long(monkeypatch):
    """Hard thresholding that only begins a search would take thousands of steps."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 24))
    y = 2 * X[:, 0] - X[:, 4] + X[:, 8] + 0.3 * rng.standard_normal(60) > 0
    steps, step = [], Thresholding.step
    monkeypatch.setattr(Thresholding, "step", lambda *a: steps.append(1) or step(*a))
    BilevelClassifier(4, 3, feature_groups=np.repeat(np.arange(8), 3), C=1e12).fit(X, y)
    assert 0 < len(steps) <= 500


def test_grids_over_many_features_take_several_scans(monkeypatch):
    """The scores of all pairs of a grid would be in memory at once."""
    X, y, groups, _ = grouped(noise=2.0)
    options = {"n_features": range(1, 6), "n_groups": [1, 2], "feature_groups": groups}
    whole = BilevelRegressor(**options).fit(X, y)
    widths, scan = [], solver_module.Scan
    monkeypatch.setattr(solver_module, "MOST_SCORES", 3 * 60)
    monkeypatch.setattr(
        solver_module, "Scan", lambda d, v: widths.append(v.shape[1:]) or scan(d, v)
    )
    parts = BilevelRegressor(**options).fit(X, y)
    assert (3,) in widths
    assert parts.n_scans_ > whole.n_scans_
    for size in parts.path_:
        wanted = pytest.approx(whole.path_[size].objective, rel=1e-6)
        assert parts.path_[size].objective == wanted


def test_an_unfinished_search_is_told(monkeypatch):
    """A search cut short would call itself converged."""
    X, y, groups, _ = grouped(noise=2.0)
    model = BilevelRegressor(4, 2, feature_groups=groups)
    assert model.fit(X, y).path_.status is Status.CONVERGED
    monkeypatch.setattr(solver_module, "MAX_ROUNDS", 0)
    assert model.fit(X, y).path_.status is Status.MAX_ITER


def test_warm_start_after_a_frame():
    """Columns of an encoded frame would be looked for in a matrix that has fewer."""
    frame, y = frame_of()
    model = BilevelClassifier(3, 2, feature_groups="columns", warm_start=True).fit(frame, y > 0)
    X = np.random.default_rng(0).standard_normal((200, 4))
    model.set_params(feature_groups=None, n_groups=None).fit(X, y > 0)
    assert model.support_.max() < 4


def test_columns_that_cannot_be_encoded():
    """A column of odd values would be read as numbers."""
    frame, y = frame_of()
    model = BilevelRegressor(3, 2, feature_groups="columns")
    day = pd.date_range("2020-01-01", periods=200)
    for values in (day, [1, "a"] * 100, [[1]] * 200):
        with pytest.raises(ValueError, match="cannot encode column 'bad' of X, of type"):
            model.fit(frame.assign(bad=pd.Series(values)), y)
    with pytest.raises(ValueError, match="whose columns have strings as names; got one without"):
        model.fit(frame.set_axis(range(4), axis=1), y)
    model.fit(frame, y)
    with pytest.raises(ValueError, match=r"cannot encode column 'colour' of X.*fit and predict"):
        model.predict(frame.assign(colour=1.0))


def test_any_names_of_columns_are_encoded():
    """Scikit-learn reserves names of its steps, of which the user knows nothing."""
    frame, y = frame_of()
    new = {"colour": "colour__of", "shape": "remainder", "size": "n_jobs"}
    model = BilevelRegressor(3, 2, feature_groups="columns").fit(frame.rename(columns=new), y)
    plain = BilevelRegressor(3, 2, feature_groups="columns").fit(frame, y)
    assert model.groups_.tolist() == ["colour__of", "n_jobs"]
    expected = [name.replace("colour", "colour__of") for name in plain.get_feature_names_out()]
    assert model.get_feature_names_out().tolist() == [
        name.replace("size", "n_jobs") for name in expected
    ]
    np.testing.assert_array_equal(model.predict(frame.rename(columns=new)), plain.predict(frame))
    with pytest.raises(ValueError, match=r"distinct from all others; got 'colour=red' twice\."):
        model.fit(frame.assign(**{"colour=red": y}), y)


def test_folds_that_cannot_be_scored():
    """A score of nothing, or of a model that cannot be, would choose."""
    X, y, groups, _ = grouped()
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    search = BudgetCV(BilevelClassifier(feature_groups=groups), [1, 2], [1])
    with pytest.raises(ValueError, match="multi_class must be in"):
        search.set_params(scoring="roc_auc", cv=3).fit(X, labels)
    X[1:, 5] = 0.0
    forced = BilevelRegressor(feature_groups=groups, forced_features=[5])
    with pytest.raises(ValueError, match=r"got column 5\..*training rows of fold 0"):
        BudgetCV(forced, [1, 2], [1], cv=KFold(3)).fit(X, y)
    once = np.zeros((120, 2))
    once[0] = 1.0
    with pytest.raises(ValueError, match=r"all its 2 columns are constant.*rows of fold 0"):
        BudgetCV(BilevelRegressor(), [1, 2], [1], cv=KFold(3)).fit(once, y)


def test_more_features_than_rows():
    """In singular systems rounding leaves no diagonal of an inverse: the search would end in
    inf.
    """
    for seed in (1,):
        rng = np.random.default_rng(seed)
        for n, p, k in ((20, 100, 30), (15, 60, 20)):
            X, y = rng.standard_normal((n, p)), rng.standard_normal(n)
            X[:, 1] = X[:, 0]
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                model = BilevelRegressor(
                    range(1, k + 1, 4), [1, 3, 5], feature_groups=np.arange(p) // 5
                ).fit(X, y)
            assert np.isfinite(model.coef_).all()

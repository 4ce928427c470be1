"""The l1 solvers behind the estimator: certificates, storages, paths; kernels: test_descent.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import oracles
from conftest import slow
from reference_kernels._coordinate import Random
from zeronorm.core.results import Status
from zeronorm.data import Rows, Scaled, as_design
from zeronorm.data.column_sets import RowSet
from zeronorm.losses import Logistic, SquaredHinge
from zeronorm.published.solvers import L1_SOLVERS
from zeronorm.solvers import (
    L1Problem,
    Task,
    l1_path,
    l1_supports,
    run,
    run_together,
    working_set,
)
from zeronorm.solvers.l1.problem import Penalty, Start
from zeronorm.solvers.l1.solvers import Run, largest_steps, prox_newton
from zeronorm.solvers.problem import Risk

LOSSES = [Logistic(), SquaredHinge()]


def data(seed=0, n=120, m=300):
    """Columns of different size and offset, labels from six of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m)) * rng.uniform(0.5, 2, m) + rng.uniform(-0.5, 0.5, m)
    w = np.zeros(m)
    w[:6] = [2, -2, 1.5, -1, 1, 0.7]
    return X, np.where(X @ w + rng.standard_normal(n) > 0.3, 1.0, -1.0)


def posed(X, y, C=0.5, loss=None, intercept=True, **penalty):
    """The problem with l1 weights of one, or other penalties."""
    design = as_design(X)
    m = design.shape[1]
    parts = {"l1": np.ones(m), "l2": np.zeros(m), "low": np.full(m, -np.inf),
             "high": np.full(m, np.inf), **penalty}  # fmt: skip
    loss = Logistic() if loss is None else loss
    risk = Risk(y, np.full(len(y), float(C)), loss, intercept)
    return L1Problem(design, risk, Penalty(**parts), float(len(y)))


def times(problem, C):
    """The problem with C times its loss."""
    return replace(problem, risk=problem.risk.times(C))


def solve(problem, solver="working-set", tol=1e-10, max_iter=500, **options):
    """Run a solver."""
    return run(L1_SOLVERS[solver](problem, tol=tol, max_iter=max_iter, **options))


def gap_of(problem, result):
    """(objective - bound) / objective without features, as the history has it."""
    assert result.history[-1].extra["gap"] == pytest.approx(
        (min(step.objective for step in result.history) - result.bounds["dual"])
        / result.history[0].objective,
        rel=1e-6, abs=1e-13,
    )  # fmt: skip
    return result.history[-1].extra["gap"]


def kkt(X, problem, result):
    """The largest violation of the optimality conditions, from scratch."""
    u = np.zeros(X.shape[1])
    u[result.support] = result.coef
    gradient = problem.risk.value_gradient(X @ u + result.intercept)[1]
    violation = problem.penalty.violation(X.T @ gradient, u).max()
    return max(violation, abs(gradient.sum()) if problem.risk.intercept else 0.0)


def penalty_of(kind, m):
    """What differs from l1 weights of one."""
    return {
        "l1": {},
        "net": {"l1": np.full(m, 0.6), "l2": np.full(m, 0.4)},
        "factors": {"l1": np.random.default_rng(1).choice([0.5, 1.0, 3.0], m)},
        "free": {"l1": np.where(np.arange(m) == 20, 0.0, 1.0)},
        "signs": {"low": np.where(np.arange(m) % 2, 0.0, -np.inf)},
    }[kind]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["l1", "net", "factors", "signs"])
def test_working_sets_end_at_the_optimum(loss, intercept, kind):
    """Violations outside of the last working set would be overlooked."""
    X, y = data()
    penalty = penalty_of(kind, X.shape[1])
    problem = posed(X, y, loss=loss, intercept=intercept, **penalty)
    result = solve(problem)
    assert result.status is Status.CONVERGED
    assert gap_of(problem, result) <= 1e-10
    assert kkt(X, problem, result) <= 1e-4
    assert np.all(result.coef >= problem.penalty.low[result.support])


@pytest.mark.parametrize("solver", ["working-set", "newglmnet", "glmnet", "cdn"])
def test_every_history_is_a_certificate(solver):
    """A bound would pass the optimum somewhere on the way, or the best values get worse."""
    X, y = data(2)
    problem = posed(X, y, C=0.1, intercept=False)
    optimum = solve(problem, tol=1e-12).objective
    result = solve(problem, solver, tol=1e-6)
    bounds = [step.bound for step in result.history]
    assert np.all(np.diff(bounds) >= 0)
    assert max(bounds) <= optimum * (1 + 1e-12)
    assert min(step.objective for step in result.history) >= optimum * (1 - 1e-12)
    gaps = [step.extra["gap"] for step in result.history]
    assert np.all(np.diff(gaps) <= 1e-15)
    assert result.objective - optimum <= gaps[-1] * result.history[0].objective
    entered = np.concatenate([step.entered for step in result.history])
    assert np.unique(entered).size == entered.size
    assert set(result.support) <= set(entered)


def test_the_objective_of_newton_steps_never_increases():
    """The line search would be missing: only GLMNET may go up."""
    X, y = data(3)
    problem = posed(3 * X, y, C=20.0)
    for solver in ("working-set", "newglmnet", "cdn"):
        objectives = [step.objective for step in solve(problem, solver, tol=1e-7).history]
        assert np.all(np.diff(objectives) <= 1e-12 * objectives[0])


@pytest.mark.parametrize(
    ("seed", "n", "m", "C"), [(0, 60, 40, 0.3), (2, 60, 80, 1), (4, 80, 50, 10)]
)
def test_newglmnet_takes_the_published_steps(seed, n, m, C):
    """Shrinking on either level, the inner tolerance or its quarters could be left out unseen."""
    X, y = data(seed, n=n, m=m)
    result = solve(posed(X, y, C=C, intercept=False), "newglmnet", tol=1e-7)
    assert result.status is Status.CONVERGED
    steps = result.history[1:]
    expected = oracles.newglmnet(X, y, C, len(steps), Random)
    assert [step.extra["visited"] for step in steps] == [step.visited for step in expected]
    assert [step.extra["sweeps"] for step in steps] == [step.sweeps for step in expected]
    for step, other in zip(steps, expected, strict=True):
        assert step.objective == pytest.approx(other.objective, rel=1e-12)
    last = min(expected, key=lambda step: step.objective)
    np.testing.assert_array_equal(result.support, np.flatnonzero(last.coef))
    np.testing.assert_allclose(result.coef, last.coef[result.support], atol=1e-12)
    # All of that took part: shrinking, inner problems of several sweeps, many quarters.
    assert expected[-1].visited < m == expected[0].visited
    assert max(step.sweeps for step in expected) > 2
    assert expected[-1].target < 1e-3 * expected[0].target


def test_glmnet_does_not_shrink():
    """What newGLMNET is compared with would have its improvements too."""
    X, y = data(2, n=60, m=80)
    result = solve(posed(X, y, C=1.0), "glmnet", tol=1e-5)
    assert {step.extra["visited"] for step in result.history[1:]} == {80}


def test_cdn_shrinks_and_ends_where_it_would_without():
    """CDN would lack what it is credited with, or drop what belongs into the model."""
    X, y = data(2, n=60, m=400)
    problem = posed(X, y, C=1.0)
    shrunk, whole = (solve(problem, "cdn", tol=1e-9, shrinking=one) for one in (True, False))
    visited = [step.extra["visited"] for step in shrunk.history[1:]]
    assert visited[0] == 400
    assert max(visited[5:]) < 100
    assert {step.extra["visited"] for step in whole.history[1:]} == {400}
    np.testing.assert_array_equal(shrunk.support, whole.support)
    assert shrunk.objective == pytest.approx(whole.objective, rel=1e-8)


@pytest.mark.parametrize("solver", ["newglmnet", "glmnet", "cdn"])
def test_cdn_and_newglmnet_shrink_by_the_violation_before(solver):
    """The margin of shrinking would be of another iteration, or of other rows."""
    X, y = data(3, n=80, m=200)
    problem = posed(X, y, C=0.7, intercept=False)
    result = solve(problem, solver, tol=1e-8, max_iter=6)
    limit = np.inf
    for number in range(6):  # the point after so many iterations, by a run that ends there
        point = solve(problem, solver, tol=1e-8, max_iter=number) if number else None
        u = np.zeros(200)
        if point is not None:
            u[point.support] = point.coef
        gradient = X.T @ problem.risk.value_gradient(X @ u)[1]
        kept = (u != 0) | (np.abs(gradient) >= 1 - limit / 80)
        kept |= solver == "glmnet"
        limit = problem.penalty.violation(gradient, u)[kept].max()
        assert result.history[number + 1].extra["visited"] == kept.sum()


@pytest.mark.parametrize("solver", ["newglmnet", "glmnet", "cdn"])
def test_the_published_rule_stops_at_a_share_of_the_first_violations(solver):
    """The sum would be of other features, or the stop one iteration late, or by the gap."""
    X, y = data(6, n=90, m=120)
    problem = posed(X, y, C=0.6)

    def violations(result):
        u = np.zeros(120)
        u[result.support] = result.coef
        gradient = X.T @ problem.risk.value_gradient(X @ u + result.intercept)[1]
        return problem.penalty.violation(gradient, u).sum()

    first = violations(solve(problem, solver, tol=1.0))
    for tol in (1e-2, 1e-5):
        result = solve(problem, solver, tol=tol, stop="violations")
        assert result.status is Status.CONVERGED
        n_steps = len(result.history) - 1
        assert violations(result) <= tol * first * (1 + 1e-9)
        before = solve(problem, solver, tol=tol, stop="violations", max_iter=n_steps - 1)
        assert before.status is Status.MAX_ITER
        assert violations(before) > tol * first * (1 - 1e-9)


STORAGES = {
    "F": np.asfortranarray,
    "C": np.ascontiguousarray,
    "csc": sp.csc_array,
    "csr": sp.csr_array,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
}


@pytest.mark.parametrize("storage", STORAGES)
def test_storages_give_the_same_model(storage):
    """Columns in place and gathered ones would not be the same."""
    X, y = data(4)
    stored = STORAGES[storage](X)
    assert (as_design(stored).resident_columns() is None) == (storage not in ("F", "csc"))
    expected = solve(posed(np.asfortranarray(X), y))
    result = solve(posed(stored, y))
    np.testing.assert_array_equal(result.support, expected.support)
    np.testing.assert_allclose(result.coef, expected.coef, rtol=1e-5)
    for solver in ("newglmnet", "cdn"):
        assert solve(posed(stored, y), solver, tol=1e-7).objective == pytest.approx(
            expected.objective, rel=1e-7
        )


def test_subsets_of_rows_and_files(tmp_path):
    """Folds and files would have to be copied, or be other data."""
    X, y = data(5)
    rows = np.arange(120) % 3 > 0
    expected = solve(posed(np.asfortranarray(X[rows]), y[rows]))
    design = Rows(as_design(X), np.flatnonzero(rows))
    some = replace(posed(X[rows], y[rows]), design=design)
    np.save(tmp_path / "x.npy", np.asfortranarray(X[rows]))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for one in (some, posed(mapped, y[rows])):
        result = solve(one)
        np.testing.assert_array_equal(result.support, expected.support)
        np.testing.assert_allclose(result.coef, expected.coef, rtol=1e-5)
    assert as_design(mapped).resident_columns() is None


def test_scores_in_float32_do_not_spoil_the_certificate():
    """The gap could not fall below the rounding of the scan, or a bound be false."""
    X, y = data(6, n=2000, m=200)
    X = np.asfortranarray(X.astype(np.float32))
    exact = solve(posed(X.astype(float), y), tol=1e-12)
    for stored in (X, np.ascontiguousarray(X)):
        result = solve(posed(stored, y), tol=1e-9)
        assert result.status is Status.CONVERGED
        assert result.bounds["dual"] <= exact.objective * (1 + 1e-12)
        assert result.objective == pytest.approx(exact.objective, rel=1e-8)


def test_few_scans():
    """Every scan would bring in few features, or working sets be solved too well or too badly."""
    X, y = data(7, n=400, m=3000)
    for C in (0.02, 0.1, 0.5):
        result = solve(posed(np.asfortranarray(X), y, C=C), tol=1e-6)
        assert result.support.size > 2
        assert len(result.history) <= 9


def test_without_useful_features_nothing_is_selected():
    """The smallest useful C would be another one."""
    X, y = data(8)
    z = np.full(len(y), np.log((y > 0).sum() / (y < 0).sum()))
    gradient = Logistic().value_gradient(z, y, np.ones(len(y)))[1]
    smallest = 1 / np.abs(X.T @ gradient).max()
    none, some = (solve(posed(X, y, C=C * smallest), tol=1e-9) for C in (0.999, 1.02))
    assert none.support.size == 0
    assert len(none.history) == 1
    assert none.intercept == pytest.approx(z[0], abs=1e-6)
    assert some.support.size == 1


def test_a_start_at_the_solution_needs_one_scan():
    """A warm start would be thrown away."""
    X, y = data(9)
    problem = posed(X, y)
    first = solve(problem, tol=1e-8)
    again = solve(problem, tol=1e-7, start=Start(first.support, first.coef, first.intercept))
    assert len(again.history) == 1
    np.testing.assert_array_equal(again.coef, first.coef)
    for solver in ("newglmnet", "cdn"):
        start = Start(first.support, first.coef, first.intercept)
        assert len(solve(problem, solver, tol=1e-7, start=start).history) <= 2


def test_tolerances_below_rounding_end_as_stalled():
    """A run would idle at rounding level, or claim a gap that it has not."""
    X, y = data(10)
    result = solve(posed(X, y), tol=1e-18, max_iter=10_000)
    assert result.status is Status.STALLED
    assert len(result.history) < 60
    assert result.history[-1].extra["gap"] + 1e-15 >= 0
    assert result.history[-1].extra["gap"] < 1e-10
    wide = posed(*data(10, m=4000), C=2.0)
    assert solve(wide, tol=1e-12, max_iter=1).status is Status.MAX_ITER


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_columns_far_from_zero(loss):
    """A column of years would take a hundred times as long, or end without a solution."""
    X, y = data(12)
    near = solve(posed(X, y, C=0.5, loss=loss), tol=1e-7)
    for offset in (1e2, 1e4, 1e6):
        far = solve(posed(X + offset, y, C=0.5, loss=loss), tol=1e-7, max_iter=12)
        assert far.status is Status.CONVERGED
        assert far.objective == pytest.approx(near.objective, rel=1e-6)
        assert set(far.support[np.abs(far.coef) > 0.01]) <= set(near.support)


def test_unpenalised_features_are_in_every_model():
    """The dual has an equality for each: without it there is no bound."""
    X, y = data(11)
    l1 = np.ones(X.shape[1])
    l1[[50, 200]] = 0
    for intercept in (True, False):
        problem = posed(X, y, C=0.05, l1=l1, intercept=intercept)
        result = solve(problem, tol=1e-9)
        assert result.status is Status.CONVERGED
        assert {50, 200} <= set(result.support)
        assert kkt(X, problem, result) <= 1e-4
        tiny = solve(times(problem, 1e-6), tol=1e-9)
        assert set(tiny.support) == {50, 200}


def test_threads_do_not_change_a_bit():
    """A sum would be split by threads."""
    X, y = data(12, n=3000, m=400)
    one, two = (
        solve(replace(posed(np.asfortranarray(X), y, C=0.05),
                      design=as_design(np.asfortranarray(X), n_threads=k)))
        for k in (1, 2)
    )  # fmt: skip
    np.testing.assert_array_equal(one.coef, two.coef)
    assert one.bounds["dual"] == two.bounds["dual"]


# --------------------------------------------------------------------------------------- paths


@pytest.mark.parametrize("storage", ["F", "csr"])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_path_is_its_solutions(storage, intercept):
    """A point would keep the solution of the one before it, or lack what the rule left out."""
    X, y = data(13)
    problem = posed(STORAGES[storage](X), y, C=1.0, intercept=intercept)
    path = run(l1_path(problem, lambda low: low * np.geomspace(1, 60, 15), tol=1e-8, max_iter=99))
    assert len(path) == 15
    sizes = [result.support.size for _, result in path]
    assert sizes[0] == 0
    assert sizes[-1] > 20
    for C, result in path:
        assert result.status is Status.CONVERGED
        alone = solve(times(problem, C), tol=1e-10)
        assert result.objective == pytest.approx(alone.objective, rel=1e-7)
        assert result.bounds["dual"] <= alone.objective * (1 + 1e-12)
        weight = C * np.ones(len(y))
        margins = X[:, result.support] @ result.coef + result.intercept
        value = Logistic().value_gradient(margins, y, weight)[0] + np.abs(result.coef).sum()
        assert value == pytest.approx(result.objective, rel=1e-9)
    scans = sum(len(result.history) for _, result in path)
    assert scans <= 2 * len(path)


def test_a_path_ends_where_it_is_told():
    """Points would be solved that nobody asked for."""
    X, y = data(14)
    seen = []

    def enough(result):
        seen.append(result.support.size)
        return result.support.size >= 5

    path = run(
        l1_path(posed(X, y, C=1.0), lambda low: low * 1.2 ** np.arange(40), tol=1e-6,
                max_iter=99, enough=enough)
    )  # fmt: skip
    assert [result.support.size for _, result in path] == seen
    assert seen[-1] >= 5 > max(seen[:-1])


def task_of(X, y, **options):
    """A task on scaled columns."""
    mean, std = X.mean(axis=0), X.std(axis=0)
    scale = np.divide(1.0, std, out=np.zeros(std.size), where=std > 0)
    return Task.of(Scaled(as_design(X), mean, scale), y, scaling="standardized", **options)


def test_supports_of_given_sizes():
    """Sizes would be missed, constant columns selected or forced features left out."""
    X, y = data(15)
    X[:, 7] = 3.0
    usable = np.arange(X.shape[1]) != 7
    forced = np.array([250])
    supports, answer = run(l1_supports(task_of(X, y, forced=forced, usable=usable), [2, 5, 17, 40]))
    assert {k: support.size for k, support in supports.items()} == {2: 2, 5: 5, 17: 17, 40: 40}
    for support in supports.values():
        assert 7 not in support
        assert 250 in support
        assert np.all(np.diff(support) > 0)
    Z = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    order = np.argsort(-np.abs(Z.T @ y))
    assert set(order[:2]) & set(supports[5])
    entered = np.concatenate([step.entered for step in answer.result.history])
    assert np.unique(entered).size == entered.size


def test_columns_times_their_penalty_are_scaled_columns():
    """Supports on standardised data would be those of the raw columns."""
    X, y = data(16)
    units = 10.0 ** np.random.default_rng(0).uniform(-3, 3, X.shape[1])
    first, second = (run(l1_supports(task_of(Z, y), [4, 12]))[0] for Z in (X, X * units))
    np.testing.assert_array_equal(first[4], second[4])
    assert np.intersect1d(first[12], second[12]).size >= 10  # within the tolerance of the path


def test_classes_share_their_scans():
    """Every class would read the data by itself."""
    X, y = data(17)
    design = as_design(np.asfortranarray(X))
    problems = [replace(posed(X, sign * y), design=design) for sign in (1.0, -1.0)]
    passes = []
    together = run_together(
        [working_set(one, tol=1e-6, max_iter=99) for one in problems],
        lambda progress: passes.append(progress.n_scans),
    )
    alone = solve(problems[0], tol=1e-6)
    np.testing.assert_array_equal(together[0].coef, alone.coef)
    np.testing.assert_allclose(together[1].coef, -alone.coef, rtol=1e-6)
    assert passes[-1] == len(alone.history)


def tall(n=6000, m=40, seed=0):
    """Many rows of a few small integers."""
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 5, (n, m)) * (rng.random((n, m)) < 0.15)
    margin = X @ (rng.standard_normal(m) * (np.arange(m) < 12)) - 0.5
    return X.astype(float), np.where(margin + rng.logistic(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["l1", "net", *slow("factors", "free", "signs")])
def test_tall_sparse_data_by_row(loss, intercept, kind):
    """Steps with Gram matrices of the drawn features would end elsewhere than sweeps."""
    X, y = tall()
    m = X.shape[1]
    options = {"C": 0.01, "loss": loss, "intercept": intercept, **penalty_of(kind, m)}
    by_row, by_column = posed(sp.csr_array(X), y, **options), posed(sp.csc_array(X), y, **options)
    run_by_row = Run(by_row, 1e-4, 9)
    assert isinstance(run_by_row.columns(np.arange(m)), RowSet)
    result, expected = solve(by_row, tol=1e-11), solve(by_column, tol=1e-11)
    assert result.status is Status.CONVERGED
    assert 3 < result.support.size < m
    np.testing.assert_array_equal(result.support, expected.support)
    np.testing.assert_allclose(result.coef, expected.coef, rtol=1e-4, atol=1e-7)
    assert result.objective == pytest.approx(expected.objective, rel=1e-11)
    assert kkt(X, by_row, result) <= 1e-4
    for solver in ("newglmnet", "cdn"):
        published = solve(by_row, solver, tol=1e-8).objective
        assert published == pytest.approx(expected.objective, rel=1e-7)


@pytest.mark.parametrize("by_row", [True, False])
def test_steps_from_where_nothing_bends(by_row):
    """Steps would be of any size, whichever way they are found, and no line search enough."""
    if by_row:
        X, y = tall()
        X = sp.csr_array(X)
    else:  # the descent takes so many sweeps that it steps on the support too
        rng = np.random.default_rng(0)
        X = (rng.random((6000, 40)) < rng.uniform(0.01, 0.16, 40)).astype(float)
        margin = X @ rng.normal(scale=2, size=40) - 3.5
        X, y = sp.csc_array(X), np.where(margin + rng.logistic(size=6000) > 0, 1.0, -1.0)
    problem, features = posed(X, y, C=1.0, intercept=False), np.arange(40)
    begun = Run(problem, 1e-10, 500)
    columns = begun.columns(features)
    assert isinstance(columns, RowSet) == by_row
    point = begun._point(Start(features, np.full(40, -30.0), 0.0))
    point, counts = prox_newton(begun, columns, point, 1e-8)
    assert by_row or counts["iterations"] > 0
    warm = point.value + problem.penalty.value(point.u)
    assert warm == pytest.approx(solve(problem).objective, rel=1e-9)


# ---------------------------------------------------------------------------- what went wrong once


def test_rows_of_huge_margins_do_not_free_the_steps():
    """Rows without curvature would not count in the largest step, and no line search be enough."""
    rng = np.random.default_rng(18)
    X = sp.random_array((400, 60), density=0.2, rng=rng).toarray()
    X[:5] *= 1e4
    y = np.where(X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(400) > 0, 1.0, -1.0)
    for C in (1.0, 30.0):
        problem = posed(np.asfortranarray(X), y, C=C, intercept=False)
        columns = Run(problem, 1e-4, 9).columns(np.arange(60))
        size = np.sqrt((X**2).mean(axis=0))
        np.testing.assert_allclose(largest_steps(problem, columns), 10 / size, rtol=1e-9)
        assert solve(problem, tol=1e-4).status is Status.CONVERGED


@pytest.mark.parametrize("seed", range(12))
def test_squared_hinge_without_active_rows(seed):
    """No row would bend the model: nothing moves, though the penalty pulls to zero."""
    X = np.random.default_rng(seed).standard_normal((6, 50))
    y = np.repeat([1.0, -1.0], 3)
    problem = posed(X, y, C=10.0, loss=SquaredHinge())
    result = solve(problem, tol=1e-6)
    assert result.status is Status.CONVERGED
    slow = solve(problem, "newglmnet", tol=1e-6, max_iter=3000)
    assert result.objective <= slow.objective * (1 + 1e-5)


def test_a_path_does_not_begin_with_all_features():
    """The strong rule would keep everything where C jumps, and files be read into memory."""
    X, y = data(19, m=5000)
    scale = 1e-3  # far from C = 1
    path = run(
        l1_path(posed(X * scale, y, C=1.0), lambda low: low * np.geomspace(1, 10, 5), tol=1e-6,
                max_iter=99)
    )  # fmt: skip
    visited = [step.extra["visited"] for _, result in path for step in result.history]
    assert max(visited) <= 2500
    assert visited[0] <= 50


def test_float32_scores_are_recomputed_where_they_decide():
    """Nearly all columns would be gathered in float64 at the first scan."""
    X, y = data(20, n=500, m=8000)
    design = as_design(np.ascontiguousarray(X.astype(np.float32)))
    gathered = []
    original = design.gather

    def gather(features):
        columns = original(features)
        gathered.append(columns.shape[1])
        return columns

    design.gather = gather
    result = solve(replace(posed(X, y, C=1.0), design=design), tol=1e-6)
    assert result.status is Status.CONVERGED
    assert gathered[0] < 100  # at u = 0 most scores are above their l1
    assert sum(gathered) < 6000


def test_a_bad_start_is_a_cold_start():
    """A solution of other data would take more iterations than none."""
    X, y = data(21)
    first = solve(posed(X, y, C=1.0), tol=1e-6)
    other = posed(1e3 * X, -y, C=1.0)
    start = Start(first.support, first.coef, first.intercept)
    for solver in ("working-set", "newglmnet"):
        warm, cold = (solve(other, solver, tol=1e-5, start=s) for s in (start, None))
        assert warm.objective == pytest.approx(cold.objective, rel=1e-9)
        assert warm.history[-1].extra["gap"] <= 1e-5
    nan = Start(first.support, np.full(first.coef.size, np.nan), 0.0)
    assert solve(other, tol=1e-5, start=nan).status is Status.CONVERGED
    for begin in (None, start):
        one = solve(posed(X, y, C=0.3), "newglmnet", tol=1e-9, max_iter=1, start=begin)
        assert one.history[-1].objective < one.history[-2].objective  # an iteration was made

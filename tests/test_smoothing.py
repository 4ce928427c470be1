"""Smoothing coordinate descent: what the solver promises; its kernels are in test_kernels.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import oracles
from conftest import slow
from python_paths import with_twins
from test_inner_solvers import LOSSES, gap, inner_problem, objective_of, random_problem
from zeronorm.core.results import Status
from zeronorm.data import as_design
from zeronorm.data.gathered import as_columns
from zeronorm.published import MinimaxLogisticRegression
from zeronorm.published.solvers import smoothing, smoothing_published
from zeronorm.published.solvers.smoothing import FIRST_Q, GROWTH, _SmoothedRows
from zeronorm.solvers import Task, run
from zeronorm.solvers.minimax import CuttingPlane, cutting_plane, newton

each = pytest.mark.parametrize(
    "solver", [smoothing, smoothing_published], ids=["smoothing", "published"]
)

TABLE = [
    *(case for case in oracles.REDUCED_ONE if case[0] == "logistic" and not case[2]),
    *(case for case in oracles.REDUCED_TWO if not case[2]),
]


def table_problem(case):
    """The problem, its start and its optimum for a row of the tables."""
    if case in oracles.REDUCED_ONE:
        X, y, blocks = oracles.instance_one()
        return *inner_problem(X, y, blocks, case[1]), oracles.REDUCED_ONE[case][0]
    X, y, blocks = oracles.instance_two(case[0])
    return *inner_problem(X, y, blocks, case[1]), oracles.REDUCED_TWO[case]


def unit_rows(seed, n=300, p=40, T=4, size=8, C=10.0):
    """A problem on rows of unit norm, as in the comparison of the paper."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.where(X[:, :5].sum(axis=1) + rng.logistic(size=n) > 0, 1.0, -1.0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    blocks = [np.sort(rng.choice(p, size, replace=False)) for _ in range(T)]
    return inner_problem(X, y, blocks, C)


def check_answer(problem, found, tol):
    """Assert what every answer promises, whatever the schedule reached."""
    weight, alpha = problem.risk.weight, found.dual * problem.risk.y
    assert np.all((alpha > 0) & (alpha < weight))
    assert (found.status is Status.CONVERGED) == (gap(problem, found) <= tol)
    assert found.bound <= found.objective + 1e-12 * problem.scale
    assert found.state.intercept == 0
    assert found.state.block_weight.min() >= 0
    assert found.state.block_weight.sum() == pytest.approx(1, abs=1e-12)
    assert objective_of(problem, found.state) == pytest.approx(found.objective, rel=1e-11)
    c = problem.Z.dot(found.dual)
    share = alpha / weight
    worst = 0.5 * (problem.membership.T @ c**2).max()
    plain = weight @ oracles.entropy(share) - worst
    assert plain <= found.bound + 1e-9 * problem.scale  # the best scale is not worse


@each
@pytest.mark.parametrize("case", [*TABLE[::2], *slow(*TABLE[1::2])], ids=str)
@pytest.mark.parametrize(
    "tol", [1e-4, *(pytest.param(tol, marks=pytest.mark.slow) for tol in (1e-2, 1e-9))]
)
def test_tables_within_the_certified_gap(solver, case, tol):
    """A bound would pass the optimum, or the objective be below it."""
    problem, start, optimum = table_problem(case)
    found = solver(problem, start, tol)
    slack = 1e-9 * max(1, optimum)  # digits of the table
    assert found.bound <= optimum + slack
    assert optimum <= found.objective + slack
    assert found.objective - optimum <= found.objective - found.bound + slack
    check_answer(problem, found, tol)


@pytest.mark.parametrize("case", TABLE, ids=str)
def test_gap_driven_schedule_converges_on_the_tables(case):
    """The schedule would stop at a kink of the maximum, as the published one does."""
    problem, start, optimum = table_problem(case)
    tol = 1e-4 if case[1] < 1 else 2e-3
    found = smoothing(problem, start, tol)
    assert found.status is Status.CONVERGED
    assert found.objective - optimum <= tol * problem.scale


def test_one_active_block_is_solved_to_eight_digits():
    """Where no levels tie there is no kink: nothing else limits the accuracy."""
    case = ("logistic", 0.1, False)
    problem, start, optimum = table_problem(case)
    found = smoothing(problem, start, 1e-11)
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(optimum, rel=1e-9)
    np.testing.assert_allclose(found.state.block_weight, [1, 0, 0], atol=1e-8)


@pytest.mark.parametrize("seed", [3, 4])
def test_against_the_conic_solver_with_weights(seed):
    """Sample weights would be no longer the upper ends of the boxes."""
    X, y, blocks = oracles.instance_two(seed)
    weight = np.random.default_rng(seed).uniform(0.1, 3, len(y))
    problem, start = inner_problem(X, y, blocks, 0.3, weight=weight)
    found = smoothing(problem, start, 1e-3)
    conic = oracles.reduced_problem(X, y, blocks, 0.3, weight=weight)
    assert found.status is Status.CONVERGED
    assert found.bound <= conic.objective + 1e-6
    assert found.objective >= conic.objective - 1e-6
    assert found.objective - conic.objective <= 1e-3 * problem.scale + 1e-6
    check_answer(problem, found, 1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_against_newton_on_random_problems(seed):
    """Columns of other units, weights, overlapping blocks."""
    problem, start = random_problem(seed, C=[0.1, 1, 5][seed])
    found, expected = smoothing(problem, start, 5e-3), newton(problem, start, 1e-10)
    assert found.bound <= expected.objective + 1e-9 * problem.scale
    assert found.objective >= expected.bound - 1e-9 * problem.scale
    check_answer(problem, found, 5e-3)


# -------------------------------------------------------------------------------- schedules


@pytest.mark.parametrize("seed", range(2))
def test_q_grows_only_where_the_smoothed_problem_is_solved(seed):
    """The smoothing would outrun the convergence, as with the published schedule."""
    problem, start = random_problem(seed, C=5)
    found = smoothing(problem, start, 1e-5)
    q = np.array([row.extra["q"] for row in found.history])
    assert q[0] <= FIRST_Q
    ratio = q[1:] / q[:-1]
    grown = ratio > 1
    np.testing.assert_allclose(ratio[grown], GROWTH)
    assert np.all(ratio[~grown] == 1)
    assert grown.sum() > 5
    # The row after a growth is of the sweep with the new q: the decision is on the row before.
    # Objective and bound of a row are the best so far, so the gap is at most that of the rule;
    # the smoothed dual is at most log(T) / q below the dual.
    T = problem.membership.shape[1]
    for row in np.flatnonzero(grown):
        best = found.history[row]
        assert best.objective - best.bound <= 2 * np.log(T) / q[row] * (1 + 1e-9)


def test_published_schedule_of_q():
    """The published method would be compared under another schedule."""
    problem, start, _ = table_problem((0, 10, False))
    q = np.array([row.extra["q"] for row in smoothing_published(problem, start, 1e-9).history])
    assert q[0] == q[1] == 1 / 100
    expected = 0.01 * (5 / 3) ** np.arange(40)
    np.testing.assert_allclose(q[1:41], expected, rtol=1e-12)
    assert np.all(np.diff(q) >= 0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_published_schedule_stalls_on_unscaled_columns(seed):
    """Its end at a kink would be told as convergence."""
    problem, start, optimum = table_problem((seed, 10, False))
    found = smoothing_published(problem, start, 1e-3)
    assert found.status is Status.STALLED
    assert gap(problem, found) > 1e-3
    assert found.objective > optimum * (1 + 1e-4)
    check_answer(problem, found, 1e-3)
    better = smoothing(problem, start, 1e-3)
    assert gap(problem, better) < 0.5 * gap(problem, found)


@each
@pytest.mark.parametrize("seed", range(2))
def test_rows_of_unit_norm_converge(solver, seed):
    """The setting of the paper would not be reproduced."""
    problem, start = unit_rows(seed)
    found = solver(problem, start, 1e-3)
    assert found.status is Status.CONVERGED
    optimum = newton(problem, start, 1e-9).objective
    assert found.objective - optimum <= 1e-3 * problem.scale
    check_answer(problem, found, 1e-3)


@each
def test_answer_is_never_worse_than_the_start(solver):
    """The objective over more blocks would be above that over fewer."""
    rng = np.random.default_rng(2)
    X = 30 * rng.standard_normal((60, 30))
    y = np.where(X[:, 0] + X[:, 3] + 20 * rng.standard_normal(60) > 0, 1.0, -1.0)
    problem, start = inner_problem(X, y, [np.arange(9), np.arange(5, 20), np.arange(18, 30)], 10.0)
    for begin in (newton(problem, start, 1e-10).state, start):
        first = objective_of(problem, begin) * (1 + 1e-12)
        found = solver(problem, begin, 1e-9)
        assert found.objective <= first
        assert found.history[0].objective <= first
        assert objective_of(problem, found.state) == pytest.approx(found.objective, rel=1e-11)


def test_rows_of_unequal_blocks_take_little_more_than_their_features():
    """One large block among many small ones would be as many large ones."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20, 400))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    blocks = [np.array([j]) for j in range(40)] + [np.arange(300)]
    problem, _ = inner_problem(X, y, blocks, 1.0)
    rows, starts = _SmoothedRows(problem, rng)._storage
    assert rows.shape == (20, 4 * (300 + 10))
    assert starts.tolist() == [0, *range(1200, 1241, 4)]
    assert np.count_nonzero(rows) == 20 * 340
    sparse = replace(problem, Z=as_columns(sp.csc_array(problem.Z.array)))
    assert _SmoothedRows(sparse, rng)._storage[2].size == 20 * 340


@each
@pytest.mark.parametrize("storage", [np.asfortranarray, sp.csc_array])
def test_unequal_blocks(solver, storage):
    """Blocks of other sizes than their neighbours would be mixed up."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((80, 40)) / 6
    y = np.where(X[:, :4].sum(axis=1) + 0.1 * rng.standard_normal(80) > 0, 1.0, -1.0)
    sizes = (1, 12, 2, 30, 1, 5, 1, 9, 3)
    blocks = [np.sort(rng.choice(40, size, replace=False)) for size in sizes]
    problem, start = inner_problem(X, y, blocks, 1.0)
    found = solver(replace(problem, Z=as_columns(storage(problem.Z.array))), start, 1e-4)
    assert found.status is Status.CONVERGED
    check_answer(problem, found, 1e-4)
    optimum = newton(problem, start, 1e-9).objective
    assert found.bound <= optimum <= found.objective <= optimum + 1e-4 * problem.scale


@each
@pytest.mark.parametrize(
    ("loss", "intercept"),
    [("logistic", True), ("squared_hinge", False), ("squared_hinge", True)],
)
def test_unsupported_problems_are_refused(solver, loss, intercept):
    """A wrong problem would be solved without a word."""
    X, y, blocks = oracles.instance_one()
    problem, start = inner_problem(X, y, blocks, 1.0, loss, intercept)
    assert problem.risk.loss == LOSSES[loss]
    rule = "logistic loss" if loss != "logistic" else "fit_intercept=False"
    with pytest.raises(ValueError, match=rule) as error:
        solver(problem, start, 1e-3)
    assert "'newton'" in str(error.value)


# ---------------------------------------------------------------------------------- shapes


def test_one_block_is_ridge(signed):
    """Without a maximum there is nothing to smooth: the accuracy is that of coordinate descent."""
    X, y = signed
    problem, start = inner_problem(X, y, [np.arange(10)], 0.1)
    found = smoothing(problem, start, 1e-8)
    expected = oracles.ridge(X[:, :10], y, 0.1)
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)
    np.testing.assert_allclose(found.state.coef, expected.coef, atol=1e-3)


BLOCKS = {
    "unequal": [[0, 1, 2, 3, 4, 5], [2], [6, 7, 8], [1, 9]],
    "single": [[0], [1], [2], [3], [4]],
    "shared": [[0, 1], [0, 2, 3], [0, 4], [0, 5], [0, 9]],
    "equal": [[0, 1, 2], [0, 1, 2]],
}


@pytest.mark.parametrize("name", list(BLOCKS))
@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_of_any_shape(name, sparse):
    """Rows are padded to the deepest block and to a multiple of four blocks."""
    X, y, _ = oracles.instance_one()
    blocks = [np.array(block) for block in BLOCKS[name]]
    problem, start = inner_problem(X, y, blocks, 0.3)
    expected = newton(problem, start, 1e-10)
    if sparse:
        problem = replace(problem, Z=as_columns(sp.csc_array(problem.Z.array)))
    found = smoothing(problem, start, 2e-3)
    assert found.status is Status.CONVERGED
    assert found.bound <= expected.objective + 1e-9
    assert expected.bound - 1e-9 <= found.objective
    assert found.objective - expected.objective <= 2e-3 * problem.scale


@each
def test_sparse_columns_equal_dense_ones(solver):
    """The order of the visits is the same: storage would change the answer."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((90, 15)) * (rng.random((90, 15)) < 0.3)
    X[:5] = 0
    y = np.where(X[:, :4].sum(axis=1) + rng.logistic(size=90) > 0, 1.0, -1.0)
    blocks = [np.sort(rng.choice(15, 5, replace=False)) for _ in range(6)]
    problem, start = inner_problem(X, y, blocks, 1.0)
    dense = solver(problem, start, 1e-3)
    sparse = solver(replace(problem, Z=as_columns(sp.csc_array(problem.Z.array))), start, 1e-3)
    assert (dense.n_iter, dense.status) == (sparse.n_iter, sparse.status)
    assert sparse.objective == pytest.approx(dense.objective, rel=1e-8)
    assert sparse.bound == pytest.approx(dense.bound, rel=1e-8)
    np.testing.assert_allclose(sparse.state.coef, dense.state.coef, atol=1e-8)


@each
def test_same_bits_twice_and_nothing_changed(solver):
    """A fit could not be repeated, or would change the caller's data."""
    problem, start = random_problem(6)
    risk = problem.risk
    arrays = problem.Z.array, risk.y, risk.weight, start.coef, start.block_weight
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    first, second = (solver(problem, start, 1e-3) for _ in range(2))
    assert all(map(np.array_equal, arrays, before))
    assert (first.objective, first.bound, first.n_iter) == (
        second.objective, second.bound, second.n_iter,
    )  # fmt: skip
    np.testing.assert_array_equal(first.state.coef, second.state.coef)
    np.testing.assert_array_equal(first.dual, second.dual)


def test_warm_start_needs_few_sweeps():
    """Every block of the outer loop would pay for a cold start."""
    problem, start = unit_rows(5)
    cold = smoothing(problem, start, 1e-4)
    warm = smoothing(problem, newton(problem, start, 1e-9).state, 1e-4)
    assert warm.status is cold.status is Status.CONVERGED
    assert warm.history[0].bound > cold.history[0].bound
    assert warm.n_iter <= cold.n_iter


# ------------------------------------------------------------------------------------ outer loop


def normalised(seed=0):
    """(X, y) with rows of unit norm."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 40))
    y = np.where(X[:, :6] @ [2, -2, 1.5, -1.5, 1, 1] + 0.5 * rng.logistic(size=200) > 0, 1, 0)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.mark.parametrize("name", ["smoothing", "smoothing-published"])
@pytest.mark.parametrize(("seed", "k"), [(0, 6), (1, 10), (2, 10)])  # without near ties
def test_estimator_selects_the_features_of_newton(name, seed, k):
    """The published algorithm would select other features than the default solver of it."""
    X, y = normalised(seed)
    model = MinimaxLogisticRegression.as_published(k)
    expected = model.set_params(solver="newton").fit(X, y).support_.tolist()
    assert set(range(6)) <= set(expected)
    found = MinimaxLogisticRegression.as_published(k).set_params(solver=name).fit(X, y)
    assert found.support_.tolist() == expected
    assert found.history_[0].status is Status.CONVERGED


def test_interrupt_between_steps_is_not_swallowed():
    """Ctrl-C would be lost."""
    X, y = normalised()

    def interrupt(step):
        raise KeyboardInterrupt

    task = Task.of(as_design(X), np.where(y == 1, 1.0, -1.0), intercept=False)
    problem = cutting_plane(task, 8, CuttingPlane(2, inner=smoothing), C=10.0)
    with pytest.raises(KeyboardInterrupt):
        run(problem, interrupt)


def test_twins_give_the_same_answer(monkeypatch):
    """The twin would be the specification of another algorithm."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 6))
    y = X[:, 0] > 0
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = MinimaxLogisticRegression.as_published(2).set_params(solver="smoothing", tol=1e-2)
    support, coef = model.fit(X, y).support_, model.coef_
    with_twins(monkeypatch)
    np.testing.assert_array_equal(model.fit(X, y).support_, support)
    assert model.coef_.sum() == pytest.approx(coef.sum(), abs=1e-6)

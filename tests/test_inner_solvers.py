"""Inner solvers: oracles first, then what every solver promises, then their parts."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import oracles
from conftest import slow
from zeronorm.core.results import Status
from zeronorm.data import as_design
from zeronorm.data.gathered import as_columns
from zeronorm.losses import Logistic, SquaredHinge
from zeronorm.published.solvers import fista, simplemkl, smoothing, smoothing_published
from zeronorm.published.solvers.fista import shrink_norms
from zeronorm.solvers import Task, run
from zeronorm.solvers.minimax import (
    BlockProblem,
    CuttingPlane,
    State,
    cutting_plane,
    minimize_on_simplex,
    newton,
)
from zeronorm.solvers.problem import Risk

LOSSES = {"logistic": Logistic(), "squared_hinge": SquaredHinge()}
each_loss = pytest.mark.parametrize("loss", list(LOSSES))
with_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["fixed", "free"])

# Any loss, any intercept. The second order of J near its minimum is rounding before the gap is
# below about 1e-8: the line search of simplemkl ends there.
TIGHT = {newton: 1e-9, fista: 1e-9, simplemkl: 1e-7}
TABLE = [*oracles.REDUCED_ONE, *oracles.REDUCED_TWO]
every_solver = pytest.mark.parametrize("solver", list(TIGHT), ids=lambda s: s.__name__)
# Those of the logistic loss without an intercept as well: for tests of such problems.
SMOOTHING = (smoothing, smoothing_published)
any_solver = pytest.mark.parametrize("solver", [*TIGHT, *SMOOTHING], ids=lambda s: s.__name__)
exact_solver = pytest.mark.parametrize("solver", [newton, fista], ids=lambda s: s.__name__)


def module(name):
    """The module of an inner solver, whose name in the package is that of its function."""
    home = "solvers.minimax" if name == "newton" else f"published.solvers.{name}"
    return importlib.import_module(f"zeronorm.{home}")


def inner_problem(X, y, blocks, C, loss="logistic", intercept=False, weight=None):
    """The inner problem over given blocks, and its start."""
    members = np.unique(np.concatenate(blocks))
    membership = np.zeros((len(members), len(blocks)))
    for t, block in enumerate(blocks):
        membership[np.searchsorted(members, block), t] = 1
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    risk = Risk(np.asarray(y, float), C * weight, LOSSES[loss], intercept)
    scale = replace(risk, intercept=True).first()[0]
    Z = np.asfortranarray(X[:, members], dtype=float)
    problem = BlockProblem(as_columns(Z), membership, risk, scale)
    return problem, State(np.zeros(len(members)), 0.0, np.full(len(blocks), 1 / len(blocks)))


def random_problem(seed, *, loss="logistic", intercept=False, C=1.0, n=60, p=20, T=5, size=6):
    """A problem over random blocks, with sample weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * 10 ** rng.uniform(-0.5, 0.5, p)
    y = np.where(X[:, :6].sum(axis=1) + rng.logistic(size=n) > 0.5, 1.0, -1.0)
    blocks = [np.sort(rng.choice(p, size, replace=False)) for _ in range(T)]
    return inner_problem(X, y, blocks, C, loss, intercept, rng.uniform(0.2, 2, n))


def gap(problem, found):
    """The certified gap relative to the model without features."""
    return (found.objective - found.bound) / problem.scale


def objective_of(problem, state):
    """The objective at a state, by the oracle's losses."""
    d = problem.membership @ state.block_weight
    used = state.coef != 0
    assert np.all(d[used] > 0)
    risk = problem.risk
    margins = risk.y * (problem.Z.times(state.coef) + state.intercept)
    loss = risk.weight @ oracles.loss_values(risk.loss.name, margins)
    return 0.5 * np.sum(state.coef[used] ** 2 / d[used]) + loss


# ------------------------------------------------------------------------- oracles


@exact_solver
@pytest.mark.parametrize("case", list(oracles.REDUCED_ONE), ids=str)
def test_table_of_the_first_instance_to_eight_digits(solver, case):
    """The inner problem would not be solved."""
    loss, C, intercept = case
    X, y, blocks = oracles.instance_one()
    optimum, lam, b = oracles.REDUCED_ONE[case]
    problem, start = inner_problem(X, y, blocks, C, loss, intercept)
    found = solver(problem, start, 1e-12)
    assert found.objective == pytest.approx(optimum, rel=1e-9)
    np.testing.assert_allclose(found.state.block_weight, lam, atol=2e-7)
    assert found.state.intercept == pytest.approx(b, abs=2e-8)
    assert found.objective - found.bound <= 1e-7 * problem.scale
    assert found.bound <= optimum + 1e-9


@exact_solver
@pytest.mark.parametrize("case", list(oracles.REDUCED_TWO), ids=str)
def test_second_instance_to_eight_digits(solver, case):
    """Overlapping random blocks would break the membership bookkeeping."""
    seed, C, intercept = case
    X, y, blocks = oracles.instance_two(seed)
    problem, start = inner_problem(X, y, blocks, C, "logistic", intercept)
    found = solver(problem, start, 1e-12)
    assert found.objective == pytest.approx(oracles.REDUCED_TWO[case], rel=2e-9)
    assert found.bound <= found.objective
    assert found.objective - found.bound <= 1e-7 * problem.scale


@exact_solver
@pytest.mark.parametrize("C", [0.1, 1, 10])
def test_machine_with_a_free_margin_is_the_squared_hinge(solver, C):
    """The feature generating machine would be another model than the squared hinge."""
    X, y, blocks = oracles.instance_one()
    value, alpha = oracles.margin_machine(X, y, C, blocks)
    assert value == pytest.approx(oracles.MARGIN_MACHINE[C], rel=1e-8)
    problem, start = inner_problem(X, y, blocks, C, "squared_hinge")
    found = solver(problem, start, 1e-12)
    assert found.objective == pytest.approx(1 / (4 * value), rel=1e-8)
    np.testing.assert_allclose(found.dual * y, alpha / (2 * value), atol=2e-4 * C)


@every_solver
@each_loss
@with_intercept
def test_against_the_conic_solver_with_weights(solver, loss, intercept):
    """Sample weights would enter the inner problem in the wrong place."""
    X, y, blocks = oracles.instance_two(3)
    weight = np.random.default_rng(0).uniform(0.1, 3, len(y))
    problem, start = inner_problem(X, y, blocks, 0.7, loss, intercept, weight)
    found = solver(problem, start, 1e-12)
    conic = oracles.reduced_problem(
        X, y, blocks, 0.7, loss=loss, intercept=intercept, weight=weight
    )
    assert found.objective == pytest.approx(conic.objective, rel=1e-6)
    assert found.objective <= conic.objective + 1e-9
    assert found.bound <= conic.objective + 1e-9


@exact_solver
@each_loss
@with_intercept
@pytest.mark.parametrize("C", [0.1, 10])
def test_optimality_conditions(solver, loss, intercept, C):
    """Objective and bound could agree by a common mistake: u, lambda and b would be wrong."""
    X, y, blocks = oracles.instance_one()
    problem, start = inner_problem(X, y, blocks, C, loss, intercept)
    found = solver(problem, start, 1e-12)
    u, b, lam = found.state.coef, found.state.intercept, found.state.block_weight
    slope, _ = oracles.loss_slopes(loss, y * (problem.Z.times(u) + b))
    alpha = C * slope
    c = problem.Z.dot(alpha * y)
    mass = 0.5 * problem.membership.T @ c**2
    assert lam.min() >= 0
    assert lam.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(u, (problem.membership @ lam) * c, atol=2e-4)
    np.testing.assert_allclose(mass[lam > 1e-6], mass.max(), rtol=1e-4)
    if intercept:
        assert abs(alpha @ y) <= 1e-9 * alpha.sum()
    np.testing.assert_allclose(found.dual * y, alpha, atol=1e-6 * C)


@each_loss
def test_weak_duality_of_the_inner_problem_at_random_points(loss):
    """A bound could pass the optimum where it is not reached by Newton's method."""
    X, y, blocks = oracles.instance_one()
    rng = np.random.default_rng(7)
    optimum = oracles.REDUCED_ONE[(loss, 1, False)][0]
    for _ in range(30):
        alpha = rng.uniform(0.01, 0.99, len(y))
        mass = max(0.5 * np.sum((X[:, b].T @ (alpha * y)) ** 2) for b in blocks)
        assert oracles.dual_value(loss, alpha, 1, np.ones(len(y))) - mass <= optimum
        u, lam = rng.standard_normal(10), rng.dirichlet(np.ones(3))
        d = np.zeros(10)
        for t, block in enumerate(blocks):
            d[block] += lam[t]
        u[d == 0] = 0
        primal = 0.5 * np.sum(u[d > 0] ** 2 / d[d > 0])
        assert primal + oracles.loss_values(loss, y * (X @ u)).sum() >= optimum


@every_solver
def test_one_block_is_ridge(solver, signed):
    """The refit and the inner problem would differ where there is a single block."""
    X, y = signed
    problem, start = inner_problem(X, y, [np.arange(10)], 0.5, "logistic", True)
    found = solver(problem, start, 1e-12)
    expected = oracles.ridge(X[:, :10], y, 0.5, intercept=True)
    assert found.objective == pytest.approx(expected.objective, rel=1e-11)
    np.testing.assert_allclose(found.state.coef, expected.coef, atol=1e-6)


@pytest.mark.parametrize("case", [*TABLE[::3], *slow(*TABLE[1::3], *TABLE[2::3])], ids=str)
def test_simplemkl_is_within_its_certified_gap_of_the_table(case):
    """The baseline would be compared by objectives that it does not reach."""
    if case in oracles.REDUCED_ONE:
        (X, y, blocks), (loss, C, intercept) = oracles.instance_one(), case
        optimum = oracles.REDUCED_ONE[case][0]
    else:
        seed, C, intercept = case
        (X, y, blocks), loss = oracles.instance_two(seed), "logistic"
        optimum = oracles.REDUCED_TWO[case]
    problem, start = inner_problem(X, y, blocks, C, loss, intercept)
    found = simplemkl(problem, start, TIGHT[simplemkl])
    assert found.status is Status.CONVERGED
    slack = 2e-9 * optimum  # digits of the table
    assert found.objective - optimum <= found.objective - found.bound + slack
    assert found.objective >= optimum - slack
    assert found.bound <= optimum + slack


@pytest.mark.parametrize("seed", [0, 2, *slow(1, 3)])
@each_loss
@with_intercept
def test_solvers_agree_within_their_gaps(seed, loss, intercept):
    """Solvers of one problem would solve different ones."""
    problem, start = random_problem(seed, loss=loss, intercept=intercept, C=[0.05, 1, 5, 50][seed])
    answers = [solver(problem, start, tol) for solver, tol in TIGHT.items()]
    for one in answers:
        assert one.status is Status.CONVERGED
        for other in answers:
            assert one.bound <= other.objective + 1e-13 * problem.scale
            assert (
                abs(one.objective - other.objective)
                <= (max(gap(problem, one) + gap(problem, other), 0) + 1e-13) * problem.scale
            )


@every_solver
@each_loss
def test_blocks_of_single_columns_against_the_conic_solver(solver, loss):
    """With blocks of one the penalty would not be 1/2 ||u||_1^2."""
    X, y, _ = oracles.instance_one()
    blocks = [np.array([j]) for j in range(10)]
    problem, start = inner_problem(X, y, blocks, 0.5, loss)
    found = solver(problem, start, TIGHT[solver])
    conic = oracles.reduced_problem(X, y, blocks, 0.5, loss=loss)
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(conic.objective, rel=1e-6)
    norm = 0.5 * np.abs(found.state.coef).sum() ** 2
    slope = objective_of(problem, found.state) - norm
    at = problem.risk.y * (problem.Z.times(found.state.coef))
    assert slope == pytest.approx(problem.risk.weight @ oracles.loss_values(loss, at), rel=1e-6)


@every_solver
@each_loss
@with_intercept
def test_columns_of_zeros(solver, loss, intercept):
    """A block without information would stop a solver or get weight in the model."""
    X, y, blocks = oracles.instance_one()
    X = np.hstack([X, np.zeros((len(y), 3))])
    more = [*blocks, np.arange(10, 13)]
    problem, start = inner_problem(X, y, more, 1.0, loss, intercept)
    plain, plain_start = inner_problem(X, y, blocks, 1.0, loss, intercept)
    found, expected = solver(problem, start, TIGHT[solver]), newton(plain, plain_start, 1e-12)
    assert found.status is Status.CONVERGED
    assert found.objective - expected.objective <= (gap(problem, found) + 1e-12) * problem.scale
    np.testing.assert_array_equal(found.state.coef[-3:], 0)
    assert found.state.block_weight[-1] <= 1e-3


@every_solver
@each_loss
def test_columns_of_zeros_alone_are_the_model_without_features(solver, loss):
    """There would be a division by the norm of nothing."""
    _, y, _ = oracles.instance_one()
    blocks = [np.arange(2), np.arange(1, 4)]
    problem, start = inner_problem(np.zeros((len(y), 4)), y, blocks, 1.0, loss, True)
    found = solver(problem, start, 1e-9)
    assert found.status is Status.CONVERGED
    assert found.n_iter == 0
    assert found.objective == pytest.approx(problem.scale, rel=1e-12)
    assert found.state.block_weight.sum() == pytest.approx(1)


@every_solver
@each_loss
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_one_class_with_a_fixed_intercept(solver, loss, sign):
    """Labels of one class have an optimum where the intercept is zero."""
    X, _, blocks = oracles.instance_two(1)
    y = np.full(len(X), sign)
    n = np.zeros(len(y))
    problem, start = inner_problem(X, y, blocks, 0.5, loss)
    problem = replace(problem, scale=problem.risk.value_gradient(n)[0])
    found = solver(problem, start, TIGHT[solver])
    conic = oracles.reduced_problem(X, y, blocks, 0.5, loss=loss)
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(conic.objective, rel=1e-6)


# ---------------------------------------------------------------------- what every solver promises


@every_solver
@each_loss
@with_intercept
def test_history_and_certificate_are_what_they_say(solver, loss, intercept):
    """The record of a run would flatter the solver, or belong to another point."""
    problem, start = random_problem(5, loss=loss, intercept=intercept, C=3)
    found = solver(problem, start, 1e-6)
    history = found.history
    assert found.n_iter == len(history) - 1 > 0
    assert found.status is Status.CONVERGED
    assert gap(problem, found) <= 1e-6
    assert (found.objective, found.bound) == (history[-1].objective, history[-1].bound)
    assert np.all(np.diff([row.objective for row in history]) <= 0)
    assert np.all(np.diff([row.bound for row in history]) >= 0)
    assert np.all(np.diff([row.seconds for row in history]) > 0)
    assert history[0].seconds >= 0
    # The certificate, from the answer alone.
    lam, alpha = found.state.block_weight, found.dual * problem.risk.y
    assert lam.min() >= 0
    assert lam.sum() == pytest.approx(1, abs=1e-12)
    assert objective_of(problem, found.state) == pytest.approx(found.objective, rel=1e-12)
    assert alpha.min() >= 0
    if loss == "logistic":
        assert np.all(alpha <= problem.risk.weight)
    if intercept:
        assert abs(alpha @ problem.risk.y) <= 1e-12 * alpha.sum()
    else:
        assert found.state.intercept == 0
    worst = 0.5 * (problem.membership.T @ problem.Z.dot(found.dual) ** 2).max()
    bound = problem.risk.bound(found.dual, worst)[0]
    assert bound == pytest.approx(found.bound, abs=1e-6 * problem.scale)


@any_solver
def test_answer_does_not_share_memory_with_the_start(solver):
    """A caller's state would change under its feet."""
    problem, start = random_problem(6)
    coef, lam = start.coef.copy(), start.block_weight.copy()
    solver(problem, start, 1e-4)
    np.testing.assert_array_equal(start.coef, coef)
    np.testing.assert_array_equal(start.block_weight, lam)


@every_solver
def test_stops_at_the_tolerance_it_is_given(solver):
    """The tolerance would be ignored, or reported as reached when it is not."""
    X, y, blocks = oracles.instance_one()
    for tol in (1e-1, 1e-3, 1e-6):
        problem, start = inner_problem(X, y, blocks, 1.0, intercept=True)
        found = solver(problem, start, tol)
        assert found.status is Status.CONVERGED
        assert found.objective - found.bound <= tol * problem.scale


@every_solver
def test_warm_start_needs_no_step(solver):
    """Every block of the outer loop would pay for a cold start."""
    X, y, blocks = oracles.instance_one()
    problem, start = inner_problem(X, y, blocks, 1.0)
    cold = solver(problem, start, 1e-7)
    warm = solver(problem, cold.state, 1e-6)
    assert warm.n_iter == 0
    assert warm.objective == pytest.approx(cold.objective, rel=1e-12)


@every_solver
def test_warm_start_at_a_rough_solution_saves_steps(solver):
    """The start would be thrown away."""
    problem, start = random_problem(7, C=5, intercept=True)
    cold = solver(problem, start, 1e-6)
    rough = solver(problem, start, 1e-4)
    warm = solver(problem, rough.state, 1e-6)
    assert warm.status is Status.CONVERGED
    assert warm.n_iter < cold.n_iter
    first = warm.history[0]
    assert first.objective <= rough.objective * (1 + 1e-9)


@every_solver
def test_a_new_block_at_zero_continues_from_the_old_solution(solver):
    """The outer loop appends columns at zero and a small weight: solvers would start over."""
    X, y, blocks = oracles.instance_two(0)
    old, start = inner_problem(X, y, blocks[:3], 1.0, intercept=True)
    state = solver(old, start, 1e-7).state
    members = np.unique(np.concatenate(blocks[:3]))
    problem, _ = inner_problem(X, y, blocks, 1.0, intercept=True)
    coef = np.zeros(problem.Z.shape[1])
    coef[np.searchsorted(np.unique(np.concatenate(blocks)), members)] = state.coef
    lam = np.append(0.875 * state.block_weight, 0.125)
    found = solver(problem, State(coef, state.intercept, lam), TIGHT[solver])
    optimum = oracles.REDUCED_TWO[(0, 1, True)]
    assert found.status is Status.CONVERGED
    assert found.history[0].objective < 1.1 * optimum
    assert abs(found.objective - optimum) <= (gap(problem, found) + 1e-9) * problem.scale


@every_solver
@each_loss
@with_intercept
def test_sparse_columns_equal_dense_ones(solver, loss, intercept):
    """Storage would change the answer."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((80, 15)) * (rng.random((80, 15)) < 0.3)
    y = np.where(X[:, :4].sum(axis=1) + rng.logistic(size=80) > 0, 1.0, -1.0)
    blocks = [np.sort(rng.choice(15, 5, replace=False)) for _ in range(4)]
    problem, start = inner_problem(X, y, blocks, 2.0, loss, intercept)
    tol = TIGHT[solver]
    dense = solver(problem, start, tol)
    sparse = solver(replace(problem, Z=as_columns(sp.csc_array(problem.Z.array))), start, tol)
    assert dense.status is sparse.status is Status.CONVERGED
    assert abs(sparse.objective - dense.objective) <= (2 * tol + 1e-13) * problem.scale
    near = np.sqrt(8 * tol * problem.scale)  # the objective is 1-strongly convex in u
    np.testing.assert_allclose(sparse.state.coef, dense.state.coef, atol=near)


@pytest.mark.slow
@every_solver
@each_loss
@with_intercept
def test_a_tolerance_below_rounding_is_never_reported_as_reached(solver, loss, intercept):
    """A certificate would claim more than it proves."""
    problem, start = random_problem(9, loss=loss, intercept=intercept)
    # No point passes a negative tolerance, by weak duality; 1e-17 can be met by rounding alone.
    found = solver(problem, start, -1e-12)
    assert found.status in {Status.STALLED, Status.MAX_ITER}
    assert -1e-12 < gap(problem, found) <= 1e-7
    found = solver(problem, start, 1e-17)
    assert (found.status is Status.CONVERGED) == (gap(problem, found) <= 1e-17)


LIMITS = {
    newton: (module("newton"), "MINIMAX_NEWTON"),
    fista: (module("fista"), "MAX_FISTA"),
    simplemkl: (module("simplemkl"), "MAX_SIMPLEMKL"),
    smoothing: (module("smoothing"), "MAX_SWEEPS"),
    smoothing_published: (module("smoothing"), "MAX_PUBLISHED_SWEEPS"),
}


@any_solver
@pytest.mark.parametrize("limit", [0, 2])
def test_the_limit_of_iterations_is_told(solver, limit, monkeypatch):
    """A run that was cut off would look like a solution."""
    home, name = LIMITS[solver]
    value = replace(home.MINIMAX_NEWTON, max_newton=limit) if solver is newton else limit
    monkeypatch.setattr(home, name, value)
    problem, start = random_problem(10, C=20)
    found = solver(problem, start, 1e-9)
    assert found.status is Status.MAX_ITER
    assert found.n_iter == limit
    assert gap(problem, found) > 1e-9
    assert objective_of(problem, found.state) == pytest.approx(found.objective, rel=1e-12)


@every_solver
def test_outer_loop_generates_the_same_blocks(solver, signed):
    """The choice of the inner solver would change what is selected."""
    X, y = signed

    def select(inner):
        options = CuttingPlane(3, inner=inner, inner_tol=1e-6)
        return run(cutting_plane(Task.of(as_design(X), y), 12, options, C=1.0)).result

    found, expected = select(solver), select(newton)
    assert len(found.history) == len(expected.history) > 3
    for one, other in zip(found.history, expected.history, strict=True):
        np.testing.assert_array_equal(one.entered, other.entered)
    np.testing.assert_array_equal(found.support, expected.support)
    assert found.objective == pytest.approx(expected.objective, rel=3e-6)


# ---------------------------------------------------------------------------------- parts: newton


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_newton_reaches_a_small_gap_with_subsampled_curvature(C):
    """With many more rows than columns the subsampled curvature would stop the convergence."""
    rng = np.random.default_rng(11)
    X = rng.standard_normal((4000, 30))
    y = np.where(X[:, :8].sum(axis=1) + rng.logistic(size=4000) > 0, 1.0, -1.0)
    blocks = [np.sort(rng.choice(30, 10, replace=False)) for _ in range(5)]
    problem, start = inner_problem(X, y, blocks, C, "logistic", True)
    found = newton(problem, start, 1e-9)
    assert found.status is Status.CONVERGED
    assert found.objective - found.bound <= 1e-9 * problem.scale


def test_simplex_quadratic_against_enumeration():
    """Block weights would not be optimal for the quadratic model."""
    rng = np.random.default_rng(12)
    for _ in range(40):
        T = int(rng.integers(1, 6))
        root = rng.standard_normal((T, int(rng.integers(1, T + 1))))
        H, g = root @ root.T, rng.standard_normal(T)
        start = rng.dirichlet(np.ones(T)) * (rng.uniform(size=T) < 0.7)
        x = minimize_on_simplex(g, H, start if start.sum() > 0 else np.full(T, 1 / T))
        assert x.min() >= 0
        assert x.sum() == pytest.approx(1)
        slope = g + H @ x
        assert x @ slope - slope.min() <= 1e-7 * (1 + np.abs(slope).max())


# ----------------------------------------------------------------------------------- parts: fista


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_proximal_map_is_the_minimum(seed):
    """A step would not be the proximal one: the algorithm would converge elsewhere."""
    rng = np.random.default_rng(seed)
    T = int(rng.integers(1, 6))
    block = np.repeat(np.arange(T), rng.integers(1, 4, T))
    v = rng.standard_normal(block.size) * rng.uniform(0.1, 3, T)[block]
    tau = 10 ** rng.uniform(-2, 1.5)

    def value(x):
        norms = np.array([np.linalg.norm(x[block == t]) for t in range(T)])
        return 0.5 * np.sum((x - v) ** 2) + 0.5 * tau * norms.sum() ** 2

    x = shrink_norms(v, tau, block, T)
    options = {"xatol": 1e-9, "fatol": 1e-14, "maxiter": 40000, "maxfev": 40000, "adaptive": True}
    searched = minimize(value, x + 0.01 * v, method="Nelder-Mead", options=options)
    assert value(x) <= searched.fun + 1e-12
    assert value(x) <= min(value(x + 1e-3 * rng.standard_normal(v.size)) for _ in range(200))


def test_proximal_map_satisfies_its_optimality_conditions():
    """Many blocks, ties, empty blocks and zeros: v - x = tau (sum of norms) x_t / ||x_t||."""
    rng = np.random.default_rng(3)
    dropped = 0
    for _ in range(200):
        T = int(rng.integers(1, 12))
        block = np.sort(rng.integers(0, T, 30))
        v = np.round(rng.standard_normal(30), 1) * (rng.random(T) < 0.8)[block]
        v *= 10.0 ** rng.integers(-2, 2, T)[block]
        tau = 10 ** rng.uniform(-4, 4)
        x = shrink_norms(v, tau, block, T)
        norms = np.sqrt(np.bincount(block, x * x, T))
        total = norms.sum()
        for t in range(T):
            residual = (v - x)[block == t]
            if norms[t] > 0:
                expected = tau * total * x[block == t] / norms[t]
                np.testing.assert_allclose(residual, expected, rtol=1e-9, atol=1e-12)
            else:
                dropped += np.linalg.norm(residual) > 0
                assert np.linalg.norm(residual) <= tau * total * (1 + 1e-9) + 1e-12
    assert dropped > 20


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_fista_finds_its_step_in_any_units(unit):
    """The step constant would fit columns of unit variance only."""
    problem, start = random_problem(11, C=1.0)
    scaled = replace(problem, Z=as_columns(problem.Z.array * unit))
    found = fista(scaled, start, 1e-6)
    expected = newton(scaled, start, 1e-9)
    assert found.status is Status.CONVERGED
    assert found.objective - expected.objective <= 1e-6 * problem.scale


def test_fista_starts_with_a_value_not_above_that_of_the_state():
    """Copies of a column would not add up to it, or cost more than it does."""
    problem, _ = random_problem(12)
    rng = np.random.default_rng(0)
    for _ in range(20):
        lam = rng.dirichlet(np.ones(5)) * (rng.random(5) < 0.7)
        lam = lam / lam.sum() if lam.sum() > 0 else np.full(5, 0.2)
        coef = 0.1 * rng.standard_normal(problem.Z.shape[1]) * (problem.membership @ lam > 0)
        state = State(coef, 0.0, lam)
        first = fista(problem, state, 1e9)
        assert first.n_iter == 0
        np.testing.assert_allclose(first.state.coef, coef, atol=1e-15)
        assert first.objective <= objective_of(problem, state) * (1 + 1e-12)


# ------------------------------------------------------------------------------- parts: simplemkl


def test_simplemkl_objective_falls_at_every_iteration():
    """The line search would accept a step that J does not."""
    problem, start = random_problem(13, C=10, intercept=True)
    found = simplemkl(problem, start, 1e-6)
    values = [row.objective for row in found.history]
    assert len(values) > 3
    assert np.all(np.diff(values) < 0)


def test_simplemkl_starts_from_a_corner_and_from_outside_the_domain():
    """A block of weight zero could never come back, or columns of no weight break the ridge."""
    problem, start = random_problem(14, C=2)
    expected = newton(problem, start, 1e-10)
    for t in range(5):
        corner = np.eye(5)[t]
        coef = np.ones(problem.Z.shape[1])  # the objective here is infinite
        found = simplemkl(problem, State(coef, 0.0, corner), 1e-6)
        assert found.status is Status.CONVERGED
        assert found.objective - expected.objective <= 1e-6 * problem.scale

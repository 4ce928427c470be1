"""Solvers: certified gaps first, then oracles, invariances, the driver, every storage."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import oracles
from conftest import slow
from zeronorm.core.results import Result, Status
from zeronorm.core.types import Design
from zeronorm.data import Rows, Scaled, as_design
from zeronorm.data.gathered import as_columns
from zeronorm.losses import LeastSquares, Logistic, SquaredHinge
from zeronorm.solvers import (
    Scan,
    SelectionRequest,
    Task,
    run,
    run_together,
    select,
    select_nested,
)
from zeronorm.solvers.exchange import Exchanges
from zeronorm.solvers.final_fits import LOO_GRID, RowsLeftOut, leave_one_out_loss, leverages, refit
from zeronorm.solvers.minimax import CuttingPlane, cutting_plane
from zeronorm.solvers.problem import Risk
from zeronorm.solvers.ridge_fits import ridge

LOSSES = {"logistic": Logistic(), "squared_hinge": SquaredHinge()}
each_loss = pytest.mark.parametrize("loss", list(LOSSES))
with_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["fixed", "free"])


def pose(X, y, weight=None, **options):
    """A task on an array or design as it is."""
    design = X if hasattr(X, "correlate") else as_design(X)
    weight = None if weight is None else np.asarray(weight, float)
    return Task.of(design, np.asarray(y, float), weight, **options)


def solve(X, y, k, *, loss="logistic", C=1.0, r=3, weight=None, intercept=False, forced=None,
          usable=None, start=(), final_scan=True, l0_sizes=(), **options):  # fmt: skip
    """Run the minimax solver on an array or design."""
    task = pose(X, y, weight, loss=LOSSES[loss], intercept=intercept, forced=forced, usable=usable)
    return run(
        cutting_plane(
            task, k, CuttingPlane(r, **options), C=C, start=start, final_scan=final_scan,
            l0_sizes=l0_sizes,
        )
    )  # fmt: skip


def full(X, y, r, C=1.0, **options):
    """Solve the full problem (P) as far as floating point goes."""
    return solve(X, y, None, C=C, r=r, max_blocks=200, inner_tol=1e-11, tol=1e-9, **options).result


def used(result):
    """Features with a coefficient that is not zero."""
    return tuple(result.support[np.abs(result.coef) > 1e-6])


# ------------------------------------------------------------- the oracles agree with each other


@pytest.mark.parametrize("case", list(oracles.REDUCED_ONE), ids=str)
def test_conic_oracle_matches_the_table(case):
    """The conic solver that checks everything else would solve another problem."""
    loss, C, intercept = case
    X, y, blocks = oracles.instance_one()
    optimum, lam, b = oracles.REDUCED_ONE[case]
    found = oracles.reduced_problem(X, y, blocks, C, loss=loss, intercept=intercept)
    assert found.objective == pytest.approx(optimum, rel=1e-7)
    np.testing.assert_allclose(found.scaling, lam, atol=1e-5)
    assert found.intercept == pytest.approx(b, abs=1e-6)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_k_support_norm_values(r):
    """The regulariser of the full problem would not be the k-support norm."""
    value, d = oracles.k_support(np.array([3, 2, 1, 0.5, 0.1]), r)
    assert value == pytest.approx({1: 21.78, 2: 10.89, 3: 7.78}[r], rel=1e-12)
    assert d.sum() <= r + 1e-12
    if r == 3:
        np.testing.assert_allclose(d, [1, 1, 0.625, 0.3125, 0.0625])


# ----------------------------------------------------------------- outer loop, the full problem


@pytest.mark.parametrize("r", [2, 3])
def test_first_blocks(r):
    """The outer loop would generate other blocks than the most active ones."""
    X, y, _ = oracles.instance_one()
    result = solve(X, y, None, r=r, max_blocks=3, inner_tol=1e-11, tol=1e-12).result
    blocks = [set(b) for b, _ in oracles.FIRST_BLOCKS[r]]
    seen: set[int] = set()
    for step, (block, value) in zip(result.history, oracles.FIRST_BLOCKS[r], strict=True):
        assert set(step.entered) == set(block) - seen
        seen |= set(block)
        assert step.objective == pytest.approx(value, rel=2e-9)
        assert step.n_features == len(seen)
    assert len(blocks) == len(result.history)
    first = result.history[0].entered
    scores = X.T @ (0.5 * y)
    np.testing.assert_array_equal(first, first[np.argsort(-np.abs(scores[first]))])


@pytest.mark.parametrize("case", list(oracles.FULL_ONE), ids=str)
def test_full_problem_optimum_and_support(case):
    """The outer loop would stop at something that is not the optimum of (P)."""
    C, r = case
    X, y, _ = oracles.instance_one()
    optimum, support = oracles.FULL_ONE[case]
    result = full(X, y, r, C)
    assert result.objective == pytest.approx(optimum, rel=1e-9)
    assert used(result) == support
    assert result.bounds["outer"] <= optimum + 1e-9
    assert result.objective - result.bounds["outer"] <= 1e-8 * optimum
    assert result.status in {Status.CONVERGED, Status.REPEATED}


@each_loss
@with_intercept
def test_full_problem_against_the_conic_solver(loss, intercept):
    """Intercept, weights or the hinge would be wrong in the outer loop only."""
    X, y, _ = oracles.instance_two(5)
    weight = np.random.default_rng(1).uniform(0.2, 2, len(y))
    conic = oracles.full_problem(X, y, 3, 0.4, loss=loss, intercept=intercept, weight=weight)
    result = full(X, y, 3, 0.4, loss=loss, intercept=intercept, weight=weight)
    assert result.objective == pytest.approx(conic.objective, rel=1e-6)
    coef = np.zeros(X.shape[1])
    coef[result.support] = result.coef
    np.testing.assert_allclose(coef, conic.coef, atol=2e-3)
    assert result.intercept == pytest.approx(conic.intercept, abs=2e-3)


def test_objective_is_the_k_support_norm_plus_loss():
    """The reported objective would not be that of the reported coefficients."""
    X, y, _ = oracles.instance_one()
    result = full(X, y, 2)
    coef = np.zeros(10)
    coef[result.support] = result.coef
    penalty, _ = oracles.k_support(coef, 2)
    loss = oracles.softplus(-y * (X @ coef)).sum()
    assert penalty + loss == pytest.approx(result.objective, rel=1e-7)


def test_block_of_one_is_squared_l1():
    """With blocks of one feature (P) would not be 1/2 ||u||_1^2 plus the loss."""
    X, y, _ = oracles.instance_one()
    result = full(X, y, 1)
    conic = oracles.reduced_problem(X, y, [np.array([j]) for j in range(10)], 1.0)
    assert result.objective == pytest.approx(conic.objective, rel=1e-7)
    loss = oracles.softplus(-y * (X[:, result.support] @ result.coef)).sum()
    l1 = np.abs(result.coef).sum()
    assert 0.5 * l1**2 + loss == pytest.approx(result.objective, rel=1e-7)


@pytest.mark.parametrize("r", [10, 50])
@with_intercept
def test_block_of_all_features_is_ridge(r, intercept):
    """With a block of all features (P) would not be ridge logistic regression."""
    X, y, _ = oracles.instance_one()
    result = full(X, y, r, intercept=intercept)
    expected = oracles.ridge(X, y, 1.0, intercept=intercept)
    assert result.objective == pytest.approx(expected.objective, rel=1e-9)
    np.testing.assert_allclose(result.coef, expected.coef, atol=1e-5)


def test_objective_never_rises_with_more_blocks():
    """A new block would make the model worse: the warm start or the cut is wrong."""
    X, y, _ = oracles.instance_two(0)
    history = full(X, y, 2, 5.0, intercept=True).history
    objectives = [step.objective for step in history]
    assert len(objectives) > 3
    assert (np.diff(objectives) <= 1e-8 * objectives[0]).all()
    bounds = [step.bound for step in history]
    assert all(b <= o + 1e-12 for b, o in zip(bounds, objectives, strict=True))


@with_intercept
def test_permutation_of_features_and_rows_does_not_matter(signed, intercept):
    """Results would depend on the order of columns or rows."""
    X, y = signed
    rng = np.random.default_rng(0)
    columns, rows = rng.permutation(X.shape[1]), rng.permutation(len(y))
    a = solve(X, y, 12, r=4, C=0.3, intercept=intercept, inner_tol=1e-9).result
    b = solve(
        np.ascontiguousarray(X[np.ix_(rows, columns)]),
        y[rows],
        12,
        r=4,
        C=0.3,
        intercept=intercept,
        inner_tol=1e-9,
    ).result
    np.testing.assert_array_equal(np.sort(columns[b.support]), a.support)
    np.testing.assert_array_equal(columns[b.order], a.order)
    np.testing.assert_allclose(b.coef[np.argsort(columns[b.support])], a.coef, atol=1e-6)


@pytest.mark.parametrize("r", [2, 3])
def test_doubled_feature(r):
    """A copy of a feature would make the model worse, or change what both copies do together."""
    X, y, _ = oracles.instance_one()
    doubled = np.column_stack([X, X[:, 0]])
    result = full(doubled, y, r)
    assert result.objective == pytest.approx(oracles.FULL_ONE_DOUBLED[r], rel=2e-9)
    assert result.objective <= oracles.FULL_ONE[(1, r)][0]
    coef = np.zeros(11)
    coef[result.support] = result.coef
    # u_j = d_j c_j: equal where d is; only the sum is unique where the budget is not used up.
    conic = oracles.full_problem(doubled, y, r, 1.0)
    assert coef[0] + coef[10] == pytest.approx(conic.coef[0] + conic.coef[10], abs=1e-4)
    np.testing.assert_allclose(coef[1:10], conic.coef[1:10], atol=1e-4)


def test_doubled_feature_gets_equal_weights_where_both_are_fully_used():
    """Two copies of a strong feature in one block would not share its weight evenly."""
    X, y, _ = oracles.instance_one()
    doubled = np.column_stack([X, X[:, 0]])
    result = full(doubled, y, 11)
    assert result.coef[0] == pytest.approx(result.coef[10], rel=1e-9)


def test_doubled_feature_changes_nothing_for_blocks_of_one():
    """For r = 1 (squared l1) a copy of a feature cannot help."""
    X, y, _ = oracles.instance_one()
    doubled = np.column_stack([X, X[:, 0]])
    assert full(doubled, y, 1).objective == pytest.approx(full(X, y, 1).objective, rel=1e-8)


@pytest.mark.parametrize("scale", [1e-3, 7.0, 1e3])
def test_scaling_of_all_columns_is_a_change_of_penalty(scale):
    """X times s with C / s^2 would select other features."""
    X, y, _ = oracles.instance_two(1)
    a = solve(X, y, 6, C=1.0, r=2, intercept=True, inner_tol=1e-9).result
    b = solve(scale * X, y, 6, C=scale**-2, r=2, intercept=True, inner_tol=1e-9).result
    np.testing.assert_array_equal(a.order, b.order)
    np.testing.assert_allclose(b.coef * scale, a.coef, atol=1e-6)
    assert b.objective * scale**2 == pytest.approx(a.objective, rel=1e-8)
    assert b.bounds["outer"] * scale**2 == pytest.approx(a.bounds["outer"], rel=1e-5)


# ------------------------------------------------------------------------------- exactly k


@pytest.mark.parametrize("r", [1, 2, 3, 7, 60, 100])
def test_exactly_k_for_every_k(signed, r):
    """The budget would be missed: 0, 1 or many features too few or too many."""
    X, y = signed
    for k in (1, 2, 3, 5, 8, 20, 59, 60):
        if k / r > 25:
            continue
        result = solve(X, y, k, r=r, C=0.1, intercept=True).result
        assert result.support.size == k
        assert len(set(result.support)) == k
        np.testing.assert_array_equal(np.sort(result.order), result.support)
        assert (np.diff(result.support) > 0).all()
        assert result.status is Status.BUDGET
        assert result.history[-1].n_features == k


def test_exactly_k_where_the_convex_optimum_has_fewer(signed):
    """Strong regularisation would end the generation of blocks before k features are found."""
    X, y = signed
    result = solve(X, y, 40, r=5, C=1e-4, intercept=True).result
    assert result.support.size == 40


@pytest.mark.parametrize("r", [2, 5, 9])
def test_exactly_k_with_many_scores_of_zero(r):
    """Features whose score is exactly zero could enter twice, or columns that may not enter."""
    rng = np.random.default_rng(0)
    X = np.zeros((16, 9))
    y = np.tile([1.0, -1.0], 8)
    X[:, 0] = y * rng.uniform(1, 2, 16)
    X[:, 1] = y * rng.uniform(0, 1, 16)
    for j in range(2, 9):  # orthogonal to y and to everything that is a function of y
        X[:, j] = np.repeat(rng.choice([-1.0, 1.0], 4), 4)
    X[8:, 2:] = -X[:8, 2:]
    usable = np.ones(9, bool)
    usable[4] = False
    for forced in (None, np.array([3]), np.array([0, 5])):
        for k in (2, 5, 8):
            result = solve(X, y, k, r=r, usable=usable, forced=forced).result
            assert result.support.size == k
            assert len(np.unique(result.support)) == k
            assert 4 not in result.support
            if forced is not None:
                assert set(forced) <= set(result.support)


@pytest.mark.parametrize("r", [2, 3, 10])
@with_intercept
def test_forced_features_are_kept_and_counted(signed, r, intercept):
    """A feature that the user forces would be lost, or not counted in the budget."""
    X, y = signed
    plain = solve(X, y, 8, r=r, C=0.1, intercept=intercept).result
    forced = np.array([j for j in range(60) if j not in plain.support][:3])
    result = solve(X, y, 8, r=r, C=0.1, intercept=intercept, forced=forced).result
    assert set(forced) <= set(result.support)
    assert result.support.size == 8
    assert result.objective >= result.bounds["inner"] - 1e-9


def test_features_that_may_not_enter_never_do(signed):
    """Constant columns would be selected."""
    X, y = signed
    best = solve(X, y, 5, r=5, C=0.1).result.support
    usable = np.ones(60, bool)
    usable[best] = False
    result = solve(X, y, 55, r=10, C=0.1, usable=usable).result
    assert result.support.size == 55
    assert not set(best) & set(result.support)


def test_prefixes_of_one_run_are_nested_and_equal_a_run_of_that_size(signed):
    """The nested path would not be a path: order of entry and shorter runs would differ."""
    X, y = signed
    long = solve(X, y, 30, r=3, C=0.1, intercept=True).result
    assert long.order.size == 30
    assert len(set(long.order)) == 30
    for k in (1, 3, 7, 12, 20):
        short = solve(X, y, k, r=3, C=0.1, intercept=True).result
        np.testing.assert_array_equal(np.sort(long.order[:k]), short.support)


def test_ties_go_to_the_smaller_index():
    """Equal columns would be chosen at random, or differently by storage."""
    rng = np.random.default_rng(3)
    X = np.repeat(rng.standard_normal((40, 5)), 2, axis=1)
    y = np.where(X[:, 2] + 0.3 * rng.standard_normal(40) > 0, 1.0, -1.0)
    for k in (1, 3):
        result = solve(X, y, k, r=1, C=0.1).result
        assert result.order[0] == 2


def test_history_tells_what_happened(signed):
    """Time, entered features and bounds by step would be missing from the report."""
    X, y = signed
    result = solve(X, y, 9, r=3, C=0.1).result
    assert isinstance(result, Result)
    assert len(result.history) == 3
    np.testing.assert_array_equal([s.n_features for s in result.history], [3, 6, 9])
    for step in result.history:
        assert step.bound <= step.objective + 1e-12
        assert {"gather", "solve"} <= set(step.seconds)
        assert all(t >= 0 for t in step.seconds.values())
    assert result.bounds["outer"] <= result.objective + 1e-12


def test_outer_bound_is_below_the_optimum_at_every_stop(signed):
    """The outer gap would be certified by a number above the optimum."""
    X, y = signed
    optimum = full(X, y, 4, 0.1, intercept=True).objective
    for blocks in (1, 2, 4):
        result = solve(X, y, None, r=4, C=0.1, intercept=True, max_blocks=blocks, tol=1e-9).result
        assert result.bounds["outer"] <= optimum + 1e-9
        assert len(result.history) <= blocks


def test_bounds_of_the_budgeted_problem_on_the_way():
    """Bounds for several sizes collected during one run would exceed the enumerated optimum."""
    X, y, _ = oracles.certificate_instance(1)
    sizes = (1, 2, 3, 4)
    answer = solve(X, y, 6, C=0.3, r=2, l0_sizes=sizes)
    for k in sizes:
        optimum = oracles.enumerate_supports(X, y, 0.3, k)[0][0]
        best = answer.l0_bounds[k]
        assert best.bound <= optimum
        assert best.bound > 0
        again = oracles.scaled_bound(X, y, 0.3, k, best.dual * y)
        assert best.bound == pytest.approx(again, rel=1e-7)


def test_warm_start_from_the_blocks_of_an_earlier_fit(signed):
    """A second fit would not profit from the first, or come to another optimum."""
    X, y = signed
    cold = full(X, y, 4, 0.3, intercept=True)
    warm = full(X, y, 4, 0.3, intercept=True, start=[s.entered for s in cold.history])
    assert warm.objective == pytest.approx(cold.objective, rel=1e-8)
    counting = Counting(as_design(X))
    options = {"C": 0.3, "intercept": True}
    first = solve(X, y, 9, **options).result
    start = [s.entered for s in first.history]
    again = solve(counting, y, 9, start=start, **options).result
    np.testing.assert_array_equal(again.order, first.order)
    assert again.objective == pytest.approx(first.objective, rel=2e-3)
    assert counting.passes == 1  # for the outer bound
    fewer = solve(X, y, 7, start=start, **options).result
    np.testing.assert_array_equal(fewer.order, first.order[:7])
    more = solve(X, y, 12, start=start, **options).result
    np.testing.assert_array_equal(more.order[:9], first.order)
    assert more.support.size == 12


def test_more_features_than_there_are_is_refused(signed):
    """The outer loop would look for further features without end."""
    X, y = signed
    with pytest.raises(ValueError, match="n_features must be between 0"):
        solve(X, y, X.shape[1] + 1)


# ---------------------------------------------------------------------------------- weights


@each_loss
@with_intercept
def test_integer_weights_equal_repeated_rows(signed, loss, intercept):
    """Weights would be a different model from the rows that they stand for."""
    X, y = signed
    weight = np.random.default_rng(9).integers(1, 4, len(y))
    options = {"r": 4, "C": 0.1, "loss": loss, "intercept": intercept, "inner_tol": 1e-10}
    a = solve(X, y, 12, weight=weight, **options).result
    b = solve(*oracles.repeat_rows(X, y, weight), 12, **options).result
    np.testing.assert_array_equal(a.order, b.order)
    assert a.objective == pytest.approx(b.objective, rel=1e-8)
    np.testing.assert_allclose(a.coef, b.coef, atol=1e-6)
    assert a.bounds["outer"] == pytest.approx(b.bounds["outer"], rel=1e-5)


# ------------------------------------------------------------------------------ every storage

STORAGES = {
    "c_order": np.ascontiguousarray,
    "f_order": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "csc_array": sp.csc_array,
    "csr_array": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "csr_matrix": sp.csr_matrix,
}


@pytest.mark.parametrize("storage", list(STORAGES))
@pytest.mark.parametrize("dtype", [np.float32, *slow(np.int8)])
@with_intercept
def test_every_storage_gives_the_same_model(storage, dtype, intercept):
    """The answer would depend on how X is stored."""
    rng = np.random.default_rng(10)
    X = rng.integers(0, 4, (80, 30)).astype(np.int64) * (rng.uniform(size=(80, 30)) < 0.6)
    y = np.where(X[:, :3] @ [1, -1, 1] + rng.standard_normal(80) > 0.5, 1.0, -1.0)
    plain = solve(X.astype(float), y, 9, r=3, C=0.1, intercept=intercept, inner_tol=1e-10).result
    stored = STORAGES[storage](X.astype(dtype))
    found = solve(stored, y, 9, r=3, C=0.1, intercept=intercept, inner_tol=1e-10).result
    np.testing.assert_array_equal(found.order, plain.order)
    np.testing.assert_allclose(found.coef, plain.coef, atol=1e-8)
    assert found.intercept == pytest.approx(plain.intercept, abs=1e-8)


def test_scaled_and_row_wrappers_equal_the_explicit_matrix(signed):
    """Lazy standardisation or a fold would give another model than the explicit one."""
    X, y = signed
    rows = np.sort(np.random.default_rng(1).choice(len(y), 100, replace=False))
    explicit, mean, scale = oracles.standardise(X[rows])
    a = solve(explicit, y[rows], 8, r=3, C=0.1, intercept=True, inner_tol=1e-10).result
    design = Scaled(Rows(as_design(X), rows), mean, scale)
    b = solve(design, y[rows], 8, r=3, C=0.1, intercept=True, inner_tol=1e-10).result
    np.testing.assert_array_equal(a.order, b.order)
    np.testing.assert_allclose(a.coef, b.coef, atol=1e-8)


# --------------------------------------------------------------------------------- the driver


class Counting(Design):
    """A design that counts complete passes and can fail in the middle of one."""

    def __init__(self, base, fail_at=None, block=None):
        self.inner, self.fail_at = base, fail_at
        self.columns_per_block = block or base.block
        self.columns = 0
        self.vectors = []

    @property
    def shape(self):
        return self.inner.shape

    @property
    def block(self):
        return self.columns_per_block

    @property
    def passes(self):
        assert self.columns % self.shape[1] == 0
        return self.columns // self.shape[1]

    def correlate(self, v, start, stop):
        self.columns += stop - start
        self.vectors.append(1 if v.ndim == 1 else v.shape[1])
        if self.fail_at is not None and len(self.vectors) >= self.fail_at:
            raise KeyboardInterrupt
        return self.inner.correlate(v, start, stop)

    def gather(self, features):
        return self.inner.gather(features)

    def moments(self, weight, start, stop):
        return self.inner.moments(weight, start, stop)


def generators(design, y, sizes):
    """Solvers of several sizes and labels that share one design."""
    rng = np.random.default_rng(0)
    flips = [np.where(rng.uniform(size=len(y)) < 0.2, -y, y) for _ in sizes]
    return [
        cutting_plane(pose(design, labels), k, CuttingPlane(2), C=0.1)
        for k, labels in zip(sizes, flips, strict=True)
    ]


@pytest.mark.parametrize("storage", ["c_order", "f_order", "csc_array", "csr_array"])
def test_run_together_gives_the_bits_of_separate_runs(signed, storage):
    """Classes and folds fitted together would differ from fits of their own."""
    X, y = signed
    design = as_design(STORAGES[storage](X))
    together = run_together(generators(design, y, (4, 9, 6)))
    for a, solver in zip(together, generators(design, y, (4, 9, 6)), strict=True):
        b = run(solver)
        np.testing.assert_array_equal(a.result.order, b.result.order)
        np.testing.assert_array_equal(a.result.coef, b.result.coef)
        assert a.result.intercept == b.result.intercept
        assert a.result.bounds == b.result.bounds


def test_run_together_merges_scans_into_one_pass(signed):
    """Every class and fold would read the data for itself."""
    X, y = signed
    counting = Counting(as_design(X))
    solvers = generators(counting, y, (4, 9, 6))
    seen = []
    results = run_together(solvers, callback=seen.append)
    alone = [len(r.result.history) + 1 for r in results]
    assert counting.passes == max(alone) == len(seen)
    assert sum(counting.vectors) >= sum(alone)
    assert [p.n_scans for p in seen] == list(range(1, len(seen) + 1))


def test_run_together_merges_folds_and_scalings(signed):
    """Folds of one data set would be scanned one after the other."""
    X, y = signed
    base = Counting(as_design(X))
    folds = np.arange(len(y)) % 3
    solvers, explicit = [], []
    for fold in range(3):
        rows = np.flatnonzero(folds != fold)
        Z, mean, scale = oracles.standardise(X[rows])
        task = pose(Scaled(Rows(base, rows), mean, scale), y[rows])
        solvers.append(cutting_plane(task, 9, CuttingPlane(3), C=0.1))
        explicit.append(solve(Z, y[rows], 9, C=0.1, intercept=True).result)
    results = [r.result for r in run_together(solvers)]
    assert base.passes == max(len(r.history) + 1 for r in results)
    for a, b in zip(results, explicit, strict=True):
        np.testing.assert_array_equal(a.order, b.order)
        np.testing.assert_allclose(a.coef, b.coef, atol=1e-7)


@pytest.mark.parametrize("block", [1, 7, 60])
def test_blocks_of_columns_do_not_change_the_answer(signed, block):
    """A storage that reads in blocks would give other scores."""
    X, y = signed
    counting = Counting(as_design(X), block=block)
    a = run(generators(counting, y, (7,))[0]).result
    b = run(generators(as_design(X), y, (7,))[0]).result
    np.testing.assert_array_equal(a.order, b.order)
    np.testing.assert_allclose(a.coef, b.coef, rtol=1e-10)


def test_number_of_scans_of_one_solver(signed):
    """A fit would cost more passes over the data than blocks plus one."""
    X, y = signed
    for final_scan, extra in ((True, 1), (False, 0)):
        counting = Counting(as_design(X))
        result = solve(counting, y, 12, r=4, C=0.1, final_scan=final_scan).result
        assert counting.passes == len(result.history) + extra
        assert len(result.history) == 3


@pytest.mark.parametrize("fail_at", [1, 2, 5])
def test_interrupt_inside_a_scan_reaches_the_caller(signed, fail_at):
    """Ctrl-C would be swallowed, or leave generators running."""
    X, y = signed
    closed = []

    def watched(solver):
        try:
            return (yield from solver)
        finally:
            closed.append(True)

    counting = Counting(as_design(X), fail_at=fail_at, block=20)
    solvers = [watched(s) for s in generators(counting, y, (4, 9))]
    with pytest.raises(KeyboardInterrupt):
        run_together(solvers)
    assert len(counting.vectors) == fail_at
    assert len(closed) >= 1
    again = run(generators(as_design(X), y, (4,))[0]).result
    assert again.support.size == 4


def test_callback_can_stop_a_run(signed):
    """A callback that raises would be ignored."""
    X, y = signed

    class StopHere(Exception):  # noqa: N818
        pass

    def callback(progress):
        if progress.n_scans == 2:
            raise StopHere

    counting = Counting(as_design(X))
    with pytest.raises(StopHere):
        run(generators(counting, y, (9,))[0], callback)
    assert counting.passes == 2


def test_scan_of_several_vectors():
    """A solver that asks for several vectors at once would get another shape."""
    X = np.random.default_rng(0).standard_normal((20, 6))
    V = np.random.default_rng(1).standard_normal((20, 3))
    design = as_design(X)

    def two():
        one = yield Scan(design, V[:, 0])
        many = yield Scan(design, V)
        return one, many

    def single():
        return (yield Scan(design, V[:, 1]))

    (one, many), other = run_together([two(), single()])
    assert one.shape == (6,)
    assert many.shape == (6, 3)
    np.testing.assert_allclose(many, X.T @ V, rtol=1e-12)
    np.testing.assert_array_equal(many[:, 0], one)
    np.testing.assert_array_equal(many[:, 1], other)


def test_solver_without_scans():
    """A solver that needs no data would hang the driver."""

    def nothing():
        return 42
        yield

    assert run_together([nothing(), nothing()]) == [42, 42]
    assert run_together([]) == []


# ---------------------------------------------------- elimination, splicing, the whole procedure


def pool_problem(seed, n=80, p=9, C=0.3):
    """A pool with correlated columns, where greedy choices are not always the best ones."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.5 * rng.standard_normal((p, p)))
    y = np.where(X[:, :4] @ [1, -1, 0.7, 0.5] + rng.logistic(size=n) > 0, 1.0, -1.0)
    X, _, _ = oracles.standardise(X)
    return np.asfortranarray(X), y, np.full(n, C)


def logistic(y, weight=None):
    """The logistic loss of labels, with weights of 1 unless others are given."""
    return Risk(y, np.ones(len(y)) if weight is None else weight, Logistic())


@with_intercept
def test_elimination_is_nested_and_keeps_what_it_must(intercept):
    """Backward elimination would miss a size, or drop a forced feature."""
    Z, y, weight = pool_problem(0, p=30)
    keep = np.array([3, 17])
    exchanges = Exchanges(as_columns(Z), Risk(y, weight, Logistic(), intercept), keep=keep)
    found = exchanges.eliminate(np.arange(30), [2, 5, 11, 30])
    assert sorted(found) == [2, 5, 11, 30]
    for size, support in found.items():
        assert len(support) == size
        assert set(keep) <= set(support)
    assert set(found[2]) <= set(found[5]) <= set(found[11]) <= set(found[30])


def test_elimination_drops_the_smallest_coefficient():
    """One step of elimination would not drop the feature with the smallest |u_j|."""
    for seed in range(5):
        Z, y, weight = pool_problem(seed)
        fit = oracles.ridge(Z, y, 0.3, intercept=True)
        exchanges = Exchanges(as_columns(Z), logistic(y, weight))
        found = exchanges.eliminate(np.arange(9), [8], tol=1e-10)
        assert set(range(9)) - set(found[8]) == {int(np.abs(fit.coef).argmin())}


def spliced(Z, risk, support, **options):
    exchanges = Exchanges(as_columns(Z), risk, **options)
    return exchanges.splice(exchanges.fit(support)).columns


@each_loss
@with_intercept
def test_splicing_never_makes_the_objective_worse(loss, intercept):
    """Splicing would leave a better support for a worse one, or change the size."""
    improved, optimal = 0, 0
    for seed in range(6):
        Z, y, weight = pool_problem(seed)
        options = {"loss": loss, "intercept": intercept, "weight": weight}
        models = oracles.enumerate_supports(Z, y, 1.0, 3, **options)
        value = {support: objective for objective, support in models}
        start = models[-1][1]
        risk = Risk(y, weight, LOSSES[loss], intercept)
        found = tuple(spliced(Z, risk, np.array(start)).tolist())
        assert len(set(found)) == 3
        assert list(found) == sorted(found)
        assert value[found] <= value[start] * (1 + 1e-9)
        improved += value[found] < value[start]
        optimal += found == models[0][1]
    assert improved == 6
    assert optimal >= 3


def test_splicing_keeps_forced_features():
    """Splicing would exchange a forced feature."""
    for seed in range(5):
        Z, y, weight = pool_problem(seed)
        risk, start = logistic(y, weight), np.array([6, 7, 8])
        found = spliced(Z, risk, start, keep=np.array([7, 8]))
        assert {7, 8} <= set(found)
        np.testing.assert_array_equal(spliced(Z, risk, start, keep=start), start)
        everything = spliced(Z, risk, np.arange(9))
        np.testing.assert_array_equal(everything, np.arange(9))


@pytest.mark.parametrize("procedure", [select, select_nested])
def test_procedures_return_exactly_the_sizes(signed, procedure):
    """A path would lack a size, or hold a model of another one."""
    X, y = signed
    for sizes in ([1], [60], [3, 7, 40], [2, 50]):
        path = run(procedure(pose(X, y), sizes, SelectionRequest()))
        assert list(path) == sizes
        for k in sizes:
            assert path[k].support.size == k
            assert path[k].certificate.support.size == k
            assert len(set(path[k].support)) == k


@pytest.mark.parametrize("procedure", [select, select_nested])
def test_procedures_keep_forced_features_at_every_size(signed, procedure):
    """Small sizes of a path would lose forced features."""
    X, y = signed
    forced = np.array([11, 58])
    path = run(procedure(pose(X, y, forced=forced), [2, 3, 9, 20], SelectionRequest()))
    for k in path:
        assert set(forced) <= set(path[k].support)
        assert path[k].certificate.n_forced == 2


def test_sizes_that_share_a_pool_are_nested(signed):
    """Models of similar size from one pool and one elimination would not be nested."""
    X, y = signed
    path = run(select(pose(X, y), [12, 15, 20], SelectionRequest()))
    assert set(path[12].support) <= set(path[15].support) <= set(path[20].support)
    alone = run(select(pose(X, y), [20], SelectionRequest()))
    np.testing.assert_array_equal(path[20].support, alone[20].support)
    np.testing.assert_array_equal(path[20].coef, alone[20].coef)


def test_selection_without_a_certificate_saves_its_scan(signed):
    """certify=False would still pay for the scan of the certificate."""
    X, y = signed
    counts = []
    for certify in (True, False):
        counting = Counting(as_design(X))
        path = run(select(pose(counting, y), [5], SelectionRequest(certify=certify)))
        counts.append(counting.passes)
        assert (path[5].certificate is not None) == certify
    assert counts[0] == counts[1] + 1


def test_selection_is_near_the_enumerated_optimum():
    """The whole procedure would select clearly worse supports than the best ones."""
    ratios = []
    for seed in range(8):
        Z, y, _ = pool_problem(seed, p=12)
        path = run(select(pose(Z, y), [3], SelectionRequest(0.3)))
        best = oracles.enumerate_supports(Z, y, 0.3, 3, intercept=True)[0][0]
        ratios.append(path[3].certificate.objective / best)
    assert min(ratios) >= 1 - 1e-9
    assert np.mean(ratios) <= 1.01


# -------------------------------------------------------------------------- ridge and refit


@each_loss
@with_intercept
@pytest.mark.parametrize("shape", [(60, 5), (30, 60), (40, 1)])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_ridge_against_plain_newton(loss, intercept, shape, C):
    """Elimination, refit and certificates would rest on a wrong ridge solution."""
    rng = np.random.default_rng(13)
    X = rng.standard_normal(shape) + 0.5
    y = np.where(X[:, 0] + 0.7 * rng.standard_normal(shape[0]) > 0.5, 1.0, -1.0)
    weight = rng.uniform(0.3, 2, shape[0])
    found = ridge(as_columns(X), Risk(y, C * weight, LOSSES[loss], intercept), tol=1e-12)
    expected = oracles.ridge(X, y, C, loss=loss, intercept=intercept, weight=weight)
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)
    np.testing.assert_allclose(found.coef, expected.coef, atol=2e-5)
    assert found.intercept == pytest.approx(expected.intercept, abs=2e-5)
    assert found.bound <= found.objective + 1e-12
    assert found.objective - found.bound <= 1e-7 * C * weight.sum()
    np.testing.assert_allclose(found.scores, X.T @ found.dual, atol=1e-9)


def test_ridge_with_a_penalty_per_column():
    """The refit on the user's scaling would use the wrong penalty."""
    rng = np.random.default_rng(14)
    X = rng.standard_normal((50, 4))
    y = np.where(X[:, 0] + rng.standard_normal(50) > 0, 1.0, -1.0)
    penalty = np.array([1e-4, 1.0, 30.0, 1e4])
    risk = logistic(y, np.full(50, 0.7))
    found = ridge(as_columns(X), risk, penalty=penalty, tol=1e-12)
    expected = oracles.ridge(X / np.sqrt(penalty), y, 0.7, intercept=True)
    np.testing.assert_allclose(found.coef, expected.coef / np.sqrt(penalty), atol=1e-5)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)


def test_ridge_of_no_columns():
    """A model without features would fail instead of being the intercept."""
    y = np.array([1.0, 1.0, 1.0, -1.0])
    found = ridge(as_columns(np.empty((4, 0))), logistic(y))
    assert found.intercept == pytest.approx(np.log(3))
    assert found.coef.shape == (0,)


@with_intercept
@pytest.mark.parametrize("shape", [(40, 3), (12, 30)])
@pytest.mark.parametrize("form", [np.asfortranarray, sp.csc_array], ids=["dense", "sparse"])
def test_ridge_of_least_squares_meets_the_normal_equations(shape, form, intercept):
    """Least squares would get the coefficients of another model, or a bound that is none."""
    rng = np.random.default_rng(15)
    X = (rng.standard_normal(shape) + 2) * (rng.random(shape) < 0.5)
    y, weight = 5 * rng.standard_normal(shape[0]) + 3, rng.uniform(0.2, 2, shape[0])
    penalty = rng.uniform(0.5, 2, shape[1])
    risk = Risk(y, weight, LeastSquares(), intercept)
    found = ridge(as_columns(form(X)), risk, penalty=penalty, tol=1e-12)
    Z = np.column_stack([X, np.ones(shape[0])]) if intercept else X
    H = Z.T @ (weight[:, None] * Z) + np.diag(np.append(penalty, 0.0)[: Z.shape[1]])
    expected = np.linalg.solve(H, Z.T @ (weight * y))
    np.testing.assert_allclose(found.coef, expected[: shape[1]], rtol=0, atol=1e-10)
    assert found.intercept == pytest.approx(expected[-1] if intercept else 0.0, abs=1e-10)
    residual = y - Z @ expected
    value = 0.5 * (weight @ residual**2 + penalty @ expected[: shape[1]] ** 2)
    assert found.objective == pytest.approx(value, rel=1e-12)
    assert value * (1 - 1e-10) <= found.bound <= value * (1 + 1e-12)
    assert found.gap <= 1e-12
    np.testing.assert_allclose(found.dual, weight * residual, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.scores, X.T @ found.dual, rtol=0, atol=1e-9)


def test_ridge_on_separated_data_is_finite():
    """Separable rows with a large C would overflow or never end."""
    X = np.array([[1.0], [2.0], [-1.0], [-2.0]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    for C in (1e3, 1e6, 1e9):
        found = ridge(as_columns(X), logistic(y, np.full(4, C)), tol=1e-8)
        assert np.isfinite(found.coef).all()
        assert found.bound <= found.objective * (1 + 1e-12)


@with_intercept
@pytest.mark.parametrize("shape", [(50, 6), (20, 45)])
def test_leverages_against_the_explicit_inverse(intercept, shape):
    """Approximate leave-one-out would use wrong leverages."""
    rng = np.random.default_rng(16)
    X = rng.standard_normal(shape) + 1
    w, penalty = rng.uniform(0.01, 0.3, shape[0]), rng.uniform(0.5, 2, shape[1])
    Z = np.column_stack([X, np.ones(shape[0])]) if intercept else X
    H = np.diag(np.r_[penalty, 0] if intercept else penalty) + Z.T @ (w[:, None] * Z)
    expected = np.einsum("ij,ji->i", Z, np.linalg.solve(H, Z.T))
    for stored in (X, sp.csc_array(X)):
        found = leverages(as_columns(stored), w, penalty, intercept)
        np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("level", [1.0, 1e3, 1e7])
def test_leverages_of_sparse_rows_with_a_column_that_hardly_varies(level):
    """Digits that cancel would choose C for sparse columns that are nearly constant."""
    rng = np.random.default_rng(17)
    X = rng.standard_normal((200, 5)) * (rng.random((200, 5)) < 0.2)
    X[:, 2] += level
    w, penalty = rng.uniform(0.1, 0.3, 200), np.full(5, 1e-3)
    dense, sparse = (leverages(as_columns(one), w, penalty, True) for one in (X, sp.csc_array(X)))
    np.testing.assert_allclose(sparse, dense, rtol=1e-6)


@pytest.mark.parametrize("C", [0.03, 0.3, 3.0])
def test_approximate_leave_one_out_is_near_the_exact_one(C):
    """C of the final fit would be chosen by a criterion that is not leave-one-out."""
    rng = np.random.default_rng(17)
    X = rng.standard_normal((40, 3)) + 2
    y = np.where(X @ [1.5, -1, 0.5] - 2 + rng.logistic(size=40) > 0, 1.0, -1.0)
    fit = oracles.ridge(X, y, C, intercept=True)
    plain = float(oracles.softplus(-y * (X @ fit.coef + fit.intercept)).mean())
    exact = oracles.leave_one_out_loss(X, y, C)
    rows = RowsLeftOut.of(as_columns(X), logistic(y), np.ones(3))
    approximate = leave_one_out_loss(rows, C, X @ fit.coef + fit.intercept)
    assert exact > plain
    assert approximate == pytest.approx(exact, abs=0.1 * (exact - plain))


def test_approximate_leave_one_out_of_weights_equals_repetition():
    """Weighted leave-one-out would remove a row of weight 3 at once, not a third of it."""
    rng = np.random.default_rng(18)
    X = rng.standard_normal((30, 3))
    y = np.where(X[:, 0] + rng.logistic(size=30) > 0, 1.0, -1.0)
    weight = rng.integers(1, 4, 30)
    X2, y2 = oracles.repeat_rows(X, y, weight)
    options = {"mean": np.zeros(3), "std": np.ones(3), "C": 0.5, "tol": 1e-12}
    a = refit(as_columns(X), risk=logistic(y, weight.astype(float)), **options)
    b = refit(as_columns(X2), risk=logistic(y2), **options)
    assert a.loo_loss == pytest.approx(b.loo_loss, rel=1e-8)
    np.testing.assert_allclose(a.coef, b.coef, atol=1e-7)
    exact = oracles.leave_one_out_loss(X, y, 0.5, weight=weight)
    assert a.loo_loss == pytest.approx(exact, rel=0.02)


def test_refit_with_a_given_penalty_is_ridge_on_the_users_columns():
    """The final coefficients would be those of the standardised columns."""
    rng = np.random.default_rng(19)
    X = rng.standard_normal((60, 4)) * [0.01, 1, 50, 3] + [5, 0, -100, 1]
    y = np.where(X[:, 1] + rng.standard_normal(60) > 0, 1.0, -1.0)
    weight = rng.uniform(0.5, 1.5, 60)
    Z, mean, scale = oracles.standardise(X, weight)
    found = refit(as_columns(Z), mean, 1 / scale, logistic(y, weight), C=2.0, tol=1e-12)
    expected = oracles.ridge(X, y, 2.0, intercept=True, weight=weight)
    np.testing.assert_allclose(X @ found.coef + found.intercept, X @ expected.coef
                               + expected.intercept, atol=1e-4)  # fmt: skip
    assert found.C == 2.0


def test_refit_chooses_its_penalty_by_leave_one_out():
    """The default C of the final fit would not be the one with the best leave-one-out loss."""
    rng = np.random.default_rng(20)
    X = rng.standard_normal((50, 3)) * [1, 2, 4]
    y = np.where(X @ [1, 0.5, 0] + rng.logistic(size=50) > 0, 1.0, -1.0)
    Z, mean, scale = oracles.standardise(X)
    found = refit(as_columns(Z), mean, 1 / scale, logistic(y), tol=1e-10)
    grid = np.array(LOO_GRID) / X.var(axis=0).mean()
    assert pytest.approx(grid[np.argmin(np.abs(grid - found.C))]) == found.C
    losses = [oracles.leave_one_out_loss(X, y, C) for C in grid]
    best = float(grid[np.argmin(losses)])
    assert pytest.approx(best) == found.C
    assert found.loo_loss == pytest.approx(min(losses), rel=0.03)

"""The two layers of cutting planes: conic programs over all labellings, enumeration of supports."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar

import oracles
from zeronorm._kernels import solve_cuts
from zeronorm.core.results import Status
from zeronorm.data import Dense, Scaled, as_design
from zeronorm.measures import Contingency, Cut, parse_measure
from zeronorm.solvers import MeasureRequest, MeasureTask, Task, run, select_by_measure
from zeronorm.solvers import measures as _all_features
from zeronorm.solvers.measures import BlockModel, Cuts, InnerLayer

ALL = ["hamming", "f1", "f2", "precision@2", "recall@3", "prbep", "auc", "ap"]
# Weights of the loss where the solution is neither 0 nor without any loss.
WEIGHT = {"auc": 0.5, "ap": 0.5}
each_measure = pytest.mark.parametrize("name", ALL)
both = pytest.mark.parametrize("published", [False, True], ids=["fast", "published"])


def task_of(X, y, name, C, *, intercept=False, weight=None):
    """Return the task on the columns as they are."""
    data = Task.of(as_design(X), y.astype(float), weight, intercept=intercept)
    return MeasureTask(data, parse_measure(name), C)


def over_blocks(task, blocks, *, published=False, tol=1e-8):
    """Solve the problem over given blocks; return the answer of the inner layer and the model."""
    cuts = Cuts(task.data.y.size, task.measure.labels and task.weight is None, task.intercept)
    model = BlockModel(task.data.design, cuts)
    b, scale = task.without_features()

    def solver():
        for cut in task.constant_cuts():
            yield from model.add(cut, keep=True)
        seen = set()
        for block in blocks:
            new = [j for j in block if j not in seen]
            seen.update(new)
            model.enter(np.array(new, np.int64), np.array(block))
        solve = InnerLayer(task, scale, line_search=not published)
        return (yield from solve(model, model.zero(b), tol))

    return run(solver()), model


def select(task, sizes, **options):
    return run(select_by_measure(task, sizes, MeasureRequest(**options)))


def small(seed, n_pos=4, n_neg=5, m=6):
    """Return X and y; the first two columns matter."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_pos + n_neg, m))
    score = X[:, 0] - 0.7 * X[:, 1] + 0.8 * rng.standard_normal(n_pos + n_neg)
    y = np.full(n_pos + n_neg, -1.0)
    y[np.argsort(-score)[:n_pos]] = 1.0
    return X, y


def size_for(name):
    """Return class sizes for which all cuts of a measure can be listed."""
    return (3, 3) if name == "ap" else (3, 5)


# --------------------------------------------------------------------- the program over the cuts


def master_instance(trial):
    """Return factors of the matrices, delta, g and C, degenerate as in fits."""
    rng = np.random.default_rng(trial)
    K, T, s = (int(rng.integers(1, high)) for high in (50, 8, 12))
    scale = 10 ** rng.uniform(-1, 1)
    A = rng.standard_normal((T, K, s)) * scale
    if trial % 3 == 0:  # cuts that are nearly parallel, as all point along the class means
        A = np.abs(A) + 3 * scale * rng.standard_normal((T, 1, s))
    if trial % 5 == 0 and T > 1:  # a block twice
        A[1] = A[0]
    if trial % 7 == 0 and K > 2:  # a cut twice
        A[:, 1] = A[:, 0]
    delta = rng.uniform(0, 100, K)
    if trial % 4 == 0:
        delta = 100 - rng.uniform(0, 1e-3, K)
    g = np.zeros(K)
    if trial % 2 and K > 1:
        g = 100 * rng.standard_normal(K)
        g[:2] = abs(g[0]) + 1, -abs(g[1]) - 1
    return A, delta, g, 10 ** rng.uniform(-2, 2)


@pytest.mark.parametrize("trial", range(22))
def test_program_over_the_cuts(trial):
    """The interior point would end early, or at another value than a conic solver."""
    A, delta, g, C = master_instance(trial)
    T, K, _ = A.shape
    G = A @ A.transpose(0, 2, 1)
    alpha, mu = np.empty(K), np.empty(T)
    bound, value, b, steps = solve_cuts(G, delta, g, C, 1e-6, alpha, mu)
    expected, _ = oracles.cut_program(A, delta, g, C)
    assert steps < 40
    assert value - bound <= 1e-6 * value
    assert bound <= expected * (1 + 1e-8)
    assert value >= expected * (1 - 1e-8)
    v = [m * a.T @ alpha for m, a in zip(mu, A, strict=True)]
    slack = delta - sum(a @ part for a, part in zip(A, v, strict=True)) - b * g
    primal = 0.5 * sum(map(np.linalg.norm, v)) ** 2 + C * max(0.0, slack.max())
    assert primal == pytest.approx(value, rel=1e-9)
    assert abs(g @ alpha) <= 1e-9 * C * np.abs(g).max()
    # Columns in other units are the same program: alpha, C and the values in theirs.
    for power in (-30, 30):
        unit = 2.0**power
        scaled = np.empty(K)
        found = solve_cuts(G / unit, delta, g / 8, C * unit, 1e-6, scaled, mu)
        assert found[:3] == pytest.approx((bound * unit, value * unit, 8 * b), rel=1e-6)
        np.testing.assert_allclose(scaled / unit, alpha, atol=1e-6 * alpha.max())


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"A": np.zeros((2, 3, 4))}, id="no features"),
        pytest.param({"A": np.array([np.zeros((3, 4)), np.ones((3, 4))])}, id="an empty block"),
        pytest.param({"delta": np.array([0.0, 0.0, 5.0])}, id="cuts without loss"),
        pytest.param({"delta": np.array([-3.0, 2.0, 5.0])}, id="a negative loss"),
        pytest.param({"g": np.array([1.0, -1e-6, 0.0])}, id="sums of different size"),
        pytest.param({"C": 1e-3}, id="little weight"),
        pytest.param({"C": 1e3}, id="much weight"),
    ],
)
def test_program_over_the_cuts_at_its_limits(change):
    """Cuts that say little would break the method where a conic solver has an answer."""
    rng = np.random.default_rng(1)
    parts = {"A": rng.standard_normal((2, 3, 4)), "delta": np.array([7.0, 50.0, 100.0])}
    parts |= {"g": np.zeros(3), "C": 0.5} | change
    A, delta, g, C = parts.values()
    alpha, mu = np.empty(3), np.empty(2)
    found = solve_cuts(A @ A.transpose(0, 2, 1), delta, g, C, 1e-8, alpha, mu)
    expected, _ = oracles.cut_program(A, delta, g, C)
    assert found[0] == pytest.approx(expected, rel=1e-6)
    assert found[1] == pytest.approx(expected, rel=1e-6)
    assert np.isfinite(alpha).all()
    assert mu.sum() == pytest.approx(1)


def test_program_over_the_cuts_with_hardly_any_or_endless_weight():
    """Where C decides nothing, or everything, the method would divide by what is left of it."""
    A = np.random.default_rng(1).standard_normal((2, 3, 4))
    delta, g = np.array([7.0, 50.0, 100.0]), np.zeros(3)
    alpha, mu = np.empty(3), np.empty(2)
    G = A @ A.transpose(0, 2, 1)
    little = solve_cuts(G, delta, g, 1e-12, 1e-8, alpha, mu)
    assert little[:2] == pytest.approx((1e-10, 1e-10), rel=1e-7)
    enough = oracles.cut_program(A, delta, g, 1e3)
    assert enough[1].sum() < 900
    much = solve_cuts(G, delta, g, 1e9, 1e-8, alpha, mu)
    assert much[:2] == pytest.approx((enough[0], enough[0]), rel=1e-6)
    assert alpha.sum() == pytest.approx(enough[1].sum(), rel=1e-3)


# ------------------------------------------------------------------------------- known optimum

KNOWN = {
    "hamming": (0.53006845, 2.78666402), "f1": (0.98688137, 8.68813655),
    "prbep": (0.97056571, 7.13536872), "auc": (0.48842074, 1.56366819),
    "ap": (0.40052321, 1.80048345),
}  # fmt: skip


@both
@pytest.mark.parametrize("name", list(KNOWN))
@pytest.mark.parametrize(("C", "place"), [(0.01, 0), (0.1, 1)])
def test_known_instance(name, C, place, published):
    """The problem would be another one than stated: other units, or another penalty."""
    X, y, blocks = oracles.instance_one()
    answer, _ = over_blocks(task_of(X, y, name, C), blocks, published=published)
    value = KNOWN[name][place]
    assert answer.objective == pytest.approx(value, abs=2e-7)
    assert answer.bound == pytest.approx(value, abs=2e-7)
    assert answer.bound <= answer.objective
    assert answer.status is Status.CONVERGED


@both
@pytest.mark.parametrize(
    ("name", "value", "b"), [("hamming", 2.68439870, -0.229113), ("f1", 7.19332232, 1.210987)]
)
def test_known_instance_with_an_intercept(name, value, b, published):
    """The intercept would not be the multiplier of the equality, or have the other sign."""
    X, y, blocks = oracles.instance_one()
    answer, _ = over_blocks(task_of(X, y, name, 0.1, intercept=True), blocks, published=published)
    assert answer.objective == pytest.approx(value, abs=2e-7)
    assert answer.bound == pytest.approx(value, abs=2e-7)
    assert answer.point.b == pytest.approx(b, abs=1e-4)


# --------------------------------------------------------------------- all labellings, conically


@both
@each_measure
def test_optimum_over_all_labellings(name, published):
    """The cuts would not be all that count, or weights and intercept not attain the objective."""
    X, y = small(0, *size_for(name))
    rng = np.random.default_rng(0)
    blocks = [np.sort(rng.choice(6, size, replace=False)) for size in (2, 3, 2)]
    free = parse_measure(name).intercept == "free"
    for C in (WEIGHT.get(name, 0.2),):
        for intercept in (False, True)[: 1 + free]:
            task = task_of(X, y, name, C, intercept=intercept)
            answer, model = over_blocks(task, blocks, published=published, tol=1e-7)
            conic = oracles.measure_problem(X, y, blocks, name, C, intercept=intercept)
            assert answer.objective == pytest.approx(conic.objective, rel=1e-5)
            assert answer.bound <= conic.objective * (1 + 1e-8)
            assert answer.bound >= conic.objective * (1 - 1e-5)
            coef = np.zeros(6)
            coef[model.features] = model.coef(answer.point)
            np.testing.assert_allclose(coef, conic.coef, atol=5e-3 * np.abs(conic.coef).max())
            np.testing.assert_allclose(answer.point.z, X @ coef, atol=1e-10)
            assert intercept or answer.point.b == 0


@pytest.mark.parametrize(("C", "intercept"), [(0.05, False), (0.5, True)])
def test_hamming_is_the_support_vector_machine(C, intercept):
    """Twice the errors would not be the hinge loss with weight 2 C times that of the row."""
    X, y, blocks = oracles.instance_one()
    weight = np.random.default_rng(0).uniform(0.2, 3, 30)
    for s in (np.ones(30), weight):
        task = task_of(X, y, "hamming", C, intercept=intercept, weight=s)
        answer, _ = over_blocks(task, blocks, tol=1e-7)
        machine = oracles.polyhedral_problem(
            X, blocks, np.diag(y), np.ones(30), owner=np.arange(30), cost=2 * C * s,
            intercept=intercept,
        )  # fmt: skip
        assert answer.objective == pytest.approx(machine.objective, rel=1e-6)
        assert answer.bound == pytest.approx(machine.objective, rel=1e-6)


def test_weighted_auc_is_a_weighted_sum_over_pairs():
    """The weight of a pair would not be the product of those of its rows."""
    X, y, blocks = oracles.instance_one()
    s = np.random.default_rng(1).uniform(0.2, 3, 30)
    pairs = list(itertools.product(np.flatnonzero(y > 0), np.flatnonzero(y < 0)))
    beta = np.array([np.eye(30)[i] - np.eye(30)[j] for i, j in pairs])
    cost = np.array([s[i] * s[j] for i, j in pairs])
    conic = oracles.polyhedral_problem(
        X, blocks, beta, np.ones(len(pairs)), owner=np.arange(len(pairs)),
        cost=100 * 0.1 * cost / cost.sum(),
    )  # fmt: skip
    answer, _ = over_blocks(task_of(X, y, "auc", 0.1, weight=s), blocks, tol=1e-7)
    assert answer.objective == pytest.approx(conic.objective, rel=1e-6)


@both
@pytest.mark.parametrize("name", ["f1", "prbep", "auc"])
def test_bounds_hold_and_meet_around_the_relaxed_optimum(name, published):
    """A bound would lie on the wrong side of the problem over all blocks, or fall back."""
    X, y = small(3, *size_for(name))
    C, B = WEIGHT.get(name, 0.1), 2
    everything = [np.array(block) for block in itertools.combinations(range(6), B)]
    free = parse_measure(name).intercept == "free"
    optimum = oracles.measure_problem(X, y, everything, name, C, intercept=free).objective
    task = task_of(X, y, name, C, intercept=free)
    path = select(task, (6,), block_size=B, tol=1e-6, refit=False, published=published)
    zero = task.without_features()[1]
    objectives = np.array([step.objective for step in path.history])
    outer = np.array([step.extra["outer_bound"] for step in path.history])
    assert len(objectives) >= 3
    assert all(step.bound <= step.objective for step in path.history)
    assert np.all(np.diff(objectives) <= 1e-6 * zero)
    assert np.all(np.diff(outer) >= 0)
    assert outer[-1] <= optimum * (1 + 1e-7)
    assert objectives.min() >= optimum * (1 - 1e-7)
    assert objectives[0] <= zero
    assert path.gap <= 1e-6
    # Two blocks more than the features need: the relaxation is all but solved.
    assert objectives[-1] - outer[-1] <= 0.5 * zero


@both
@pytest.mark.parametrize("name", ["f1", "prbep", "auc", "ap"])
def test_the_problem_over_all_features_is_solved_to_its_gap(name, published):
    """Blocks would end before no other one gains, or the gap be that of the blocks alone."""
    X, y = small(3, *size_for(name))
    C, B, tol = WEIGHT.get(name, 0.1), 2, 1e-6
    free = parse_measure(name).intercept == "free"
    everything = [np.array(block) for block in itertools.combinations(range(6), B)]
    optimum = oracles.measure_problem(X, y, everything, name, C, intercept=free).objective
    task = task_of(X, y, name, C, intercept=free)
    path = select(task, None, block_size=B, tol=tol, refit=False, published=published)
    (model,) = path.selections.values()
    limit = tol * task.without_features()[1]
    assert path.status is Status.CONVERGED
    assert path.gap <= tol
    assert optimum - limit <= model.bound <= optimum * (1 + 1e-7)
    assert optimum * (1 - 1e-7) <= model.objective <= model.bound + limit
    assert path.history[-1].extra["outer_bound"] == model.bound
    entered = np.concatenate([step.entered for step in path.history])
    np.testing.assert_array_equal(model.support, np.sort(entered))
    # Half the squared norm whose unit ball is the hull of all pairs: no block is left out of it.
    coef = np.zeros(6)
    coef[model.support] = model.coef
    measure = task.measure
    z = X[:, model.support] @ model.coef + model.intercept
    if measure.intercept == "free":  # of F_beta another threshold may have been taken

        def loss(b):
            return measure.value_gradient(z + b, task.data.y, np.ones(y.size))[0]

        least = minimize_scalar(loss, bounds=(-60.0, 60.0), options={"xatol": 1e-10}).fun
    else:
        shift = X[:, model.support] @ model.coef
        least = measure.value_gradient(shift, task.data.y, np.ones(y.size))[0]
    assert oracles.k_support(coef, B)[0] + C * least <= model.objective + 1e-6 * model.objective


def test_a_block_of_seen_features_is_added_where_it_is_violated():
    """The gap would stay open where the best blocks share features that others brought in."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 5))
    y = np.where(X @ [1.0, 0.9, 0.8, 0.7, 0.0] + 0.3 * rng.standard_normal(60) > 0.4, 1.0, -1.0)
    path = select(task_of(X, y, "hamming", 0.2, intercept=True), None, block_size=3, tol=1e-5)
    assert path.status is Status.CONVERGED
    assert sum(step.entered.size == 0 for step in path.history) > 0
    assert sum(step.entered.size for step in path.history) == path.order.size <= 5


def test_max_blocks_ends_the_blocks_before_the_gap():
    """max_blocks would be passed over, or its model be solved only roughly."""
    X, y, _ = oracles.instance_one()
    task = task_of(X, y, "f1", 0.1, intercept=True)
    whole = select(task, None, block_size=2, tol=1e-4, refit=False)
    path = select(task, None, block_size=2, max_blocks=2, tol=1e-4, refit=False)
    (model,), (best,) = path.selections.values(), whole.selections.values()
    assert whole.status is Status.CONVERGED
    assert path.status is Status.MAX_BLOCKS
    assert model.support.size <= 4 < best.support.size
    assert model.bound <= best.objective
    assert best.bound <= model.objective
    assert path.gap == (model.objective - model.bound) / task.without_features()[1] > 1e-4
    assert path.history[-1].extra["gap"] <= 1e-4  # over its blocks


@pytest.mark.parametrize("name", ["f1", "prbep"])
def test_one_block_of_all_features_is_the_svm_for_the_measure(name):
    """B = m would be another problem than that of all features without blocks."""
    X, y, _ = oracles.instance_one()
    task = task_of(X, y, name, 0.1, intercept=True)
    blocks, machine = (
        select(task, None, block_size=size, tol=1e-6, refit=False) for size in (10, None)
    )
    assert blocks[10].objective == pytest.approx(machine[10].objective, rel=1e-5)
    np.testing.assert_allclose(blocks[10].coef, machine[10].coef, atol=5e-3)


def test_forced_features_are_in_every_block_of_the_whole_problem():
    """A forced feature would share a place of the B, or be missing where it does not pay."""
    X, y = small(6)
    task = task_of(X, y, "prbep", 0.1)
    forced = MeasureTask(replace(task.data, forced=np.array([5])), task.measure, task.C)
    path = select(forced, None, block_size=1, tol=1e-6, refit=False)
    blocks = [np.array([j, 5]) for j in range(5)]
    optimum = oracles.measure_problem(X, y, blocks, "prbep", 0.1, intercept=False).objective
    (model,) = path.selections.values()
    assert 5 in model.support
    assert model.objective == pytest.approx(optimum, rel=1e-5)


def test_a_refit_of_the_union_is_one_block():
    """With refit the weights over the blocks would stay, or be certified as those of the union."""
    X, y, _ = oracles.instance_one()
    task = task_of(X, y, "hamming", 0.05, intercept=True)
    path = select(task, None, block_size=2, tol=1e-5)
    (model,) = path.selections.values()
    answer, _ = over_blocks(task, [model.support], tol=1e-6)
    assert model.objective == pytest.approx(answer.objective, rel=1e-4)
    assert model.bound <= model.objective
    assert path.history[-1].objective > model.objective  # a block is a smaller ball


@pytest.mark.parametrize("name", ["f1", "prbep", "auc"])
def test_l0_bound_is_below_the_best_support(name):
    """A certificate would claim more than enumeration of all supports finds."""
    X, y = small(4, *size_for(name), m=5)
    C = WEIGHT.get(name, 0.1)
    free = parse_measure(name).intercept == "free"
    task = task_of(X, y, name, C, intercept=free)
    limit = 1e-6 * task.without_features()[1]
    forced = MeasureTask(replace(task.data, forced=np.array([4])), task.measure, C)
    paths = [select(posed, (1, 2), block_size=1, tol=1e-6) for posed in (task, forced)]
    for k in (1, 2):
        values = {
            support: oracles.measure_problem(
                X, y, [np.array(support)], name, C, intercept=free
            ).objective
            for support in itertools.combinations(range(5), k)
        }
        best = min(values.values())
        best_forced = min(value for support, value in values.items() if 4 in support)
        for path, least in zip(paths, (best, best_forced), strict=True):
            assert path[k].support.size == k
            assert 0 <= path[k].bound <= least + limit
            own = values[tuple(path[k].support.tolist())]
            assert own - limit <= path[k].objective <= own + 2 * limit
        assert 4 in paths[1][k].support


def test_bounds_allow_for_the_rounding_of_a_scan():
    """Scores that are summed in float32 would give a bound above the optimum."""

    class Rounding(Dense):
        """A storage whose scores may err by a tenth of ||x_j|| ||v||, and nearly do."""

        scan_error = 0.1

        def correlate(self, v, start, stop):
            return 0.9 * super().correlate(v, start, stop)

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    y = np.where(X[:, 2] - X[:, 5] + 0.3 * rng.standard_normal(60) > 1, 1.0, -1.0)
    exact = task_of(X, y, "f1", 0.01)
    rounded = replace(exact, data=replace(exact.data, design=Rounding(X)))
    best = min(
        over_blocks(exact, [pair])[0].objective for pair in itertools.combinations(range(6), 2)
    )
    bound, other = (select(task, [2])[2].bound for task in (exact, rounded))
    assert 0 < other < bound <= best


def test_a_clear_best_support_is_found_and_its_bound_is_close():
    """Bounds would be true but say nothing."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((300, 40))
    y = np.where(X[:, 3] - X[:, 17] + 0.1 * rng.standard_normal(300) > 1.5, 1.0, -1.0)
    for name, C in (("f1", 0.01), ("prbep", 0.01)):
        path = select(task_of(X, y, name, C, intercept=True), (2,))
        np.testing.assert_array_equal(path[2].support, [3, 17])
        assert path[2].bound >= 0.8 * path[2].objective


# ------------------------------------------------------------------------- other algorithms agree


@pytest.mark.parametrize("name", ["f1", "prbep", "precision@40", "auc", "ap", "hamming"])
def test_fast_and_published_algorithms_agree(name):
    """The shortcuts would change the answer by more than the gap."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((200, 20))
    y = np.where(X[:, :4] @ [2, -2, 1, 1] + rng.standard_normal(200) > 2, 1.0, -1.0)
    task = task_of(X, y, name, 3.0 if name in ("auc", "ap") else 0.1, intercept=True)
    zero = task.without_features()[1]
    for refit in (True, False):
        fast, slow = (
            select(task, (4,), block_size=2, tol=1e-4, refit=refit, published=published)
            for published in (False, True)
        )
        np.testing.assert_array_equal(fast[4].support, [0, 1, 2, 3])
        np.testing.assert_array_equal(slow[4].support, [0, 1, 2, 3])
        assert fast[4].objective == pytest.approx(slow[4].objective, abs=1e-4 * zero)
        assert max(fast.gap, slow.gap) <= 1e-4
    rounds = [sum(step.extra["inner_iterations"] for step in path.history) for path in (fast, slow)]
    assert rounds[0] < rounds[1]


@pytest.mark.parametrize("shape", [(20, 30), (30, 8)])
@pytest.mark.parametrize("name", ["f1", "precision@9", "auc"])
def test_model_of_all_features(name, shape, monkeypatch):
    """Products with XX' would give another model than the columns themselves."""
    monkeypatch.setattr(_all_features, "MOST_GATHERED", 0)
    rng = np.random.default_rng(8)
    X = rng.standard_normal(shape) + 0.3
    y = np.where(X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(len(X)) > 0.5, 1.0, -1.0)
    task = task_of(X, y, name, 5.0 if name in ("auc", "ap") else 0.1, intercept=True)
    features = np.arange(shape[1])
    usable = features != 3
    data = replace(task.data, usable=usable)
    limit = 1e-7 * task.without_features()[1]
    for posed, columns in (
        (task, features), (MeasureTask(data, task.measure, task.C), features[usable])
    ):  # fmt: skip
        answer, model = over_blocks(posed, [columns], tol=1e-7)
        path = select(posed, None, tol=1e-7)
        (k,) = list(path)
        assert k == columns.size
        np.testing.assert_array_equal(path[k].support, columns)
        assert path[k].objective == pytest.approx(answer.objective, abs=limit)
        assert path[k].bound <= path[k].objective
        # The objective is strongly convex: points within the gap are this close.
        away = np.linalg.norm(path[k].coef - model.coef(answer.point))
        assert away <= 2 * np.sqrt(2 * limit)


@each_measure
def test_order_of_rows_does_not_matter(name):
    """The first block would depend on how rows with equal scores are ordered."""
    rng = np.random.default_rng(9)
    X = rng.standard_normal((80, 30))
    y = np.where(X[:, :3].sum(axis=1) + rng.standard_normal(80) > 1, 1.0, -1.0)
    order = rng.permutation(80)
    C = WEIGHT.get(name, 0.1)
    first, second = (
        select(task_of(X[rows], y[rows], name, C, intercept=True), (3,), block_size=3, tol=1e-5)
        for rows in (np.arange(80), order)
    )
    np.testing.assert_array_equal(first[3].support, second[3].support)
    assert first[3].objective == pytest.approx(second[3].objective, rel=1e-3)


def test_cuts_without_weight_are_dropped():
    """The program over the cuts would grow without end, or lose a cut that counts."""
    cuts = Cuts(2, True, True)
    for number in range(4):
        beta = np.array([2.0, 0.0]) if number % 2 else np.array([0.0, -2.0])
        cuts.add(Cut(10.0 * number, beta), keep=number == 0)
    for _ in range(5):
        cuts.rest(np.array([0.0, 1.0, 1e-9, 0.3]), 1e-3)
    cuts.rest(np.array([0.0, 1.0, 0.0, 0.0]), 1e-3)
    assert cuts.idle[0] < 0  # never dropped
    np.testing.assert_array_equal(cuts.idle[1:], [0, 6, 1])
    other = cuts.copy()
    cuts.keep(cuts.idle <= 3)
    np.testing.assert_array_equal(cuts.delta, [0, 10, 30])
    np.testing.assert_array_equal(cuts.g, [-2, 2, 2])
    np.testing.assert_array_equal(cuts.beta(), [[0, -2], [2, 0], [2, 0]])
    np.testing.assert_array_equal(cuts.combine(np.array([0.5, 0, 2.0])), [4, -1])
    assert other.size == 4
    np.testing.assert_array_equal(other.delta, [0, 10, 20, 30])


def test_the_intercept_stays_bounded():
    """Dropping the cuts of an infinite intercept would leave the program without a solution."""
    rng = np.random.default_rng(10)
    X = rng.standard_normal((80, 12))
    y = np.where(X[:, :5].sum(axis=1) + 2 * rng.standard_normal(80) > 2, 1.0, -1.0)
    for name in ("hamming", "f1"):
        task = task_of(X, y, name, 1.0, intercept=True)
        answer, model = over_blocks(task, [np.arange(12)], tol=1e-5)
        assert model.cuts.size == model.grams.shape[1] == len(model.cuts.beta())
        kept = [(cut.delta, *cut.beta) for cut in task.measure.constant_cuts(y)]
        stored = model.cuts.beta(0, 2)
        assert [(d, *beta) for d, beta in zip(model.cuts.delta, stored, strict=False)] == kept
        assert answer.objective - answer.bound <= 1e-5 * task.without_features()[1]


# -------------------------------------------------------------------------------------- storages


@pytest.mark.parametrize("sizes", [(4,), None])
@pytest.mark.parametrize("name", ["precision@10", "f1"])
def test_sparse_columns_are_centred_without_being_stored(name, sizes, monkeypatch):
    """Centring would be forgotten in a product: scores, cuts and weights would not fit together."""
    monkeypatch.setattr(_all_features, "MOST_GATHERED", 0)
    rng = np.random.default_rng(12)
    X = rng.poisson(0.7, (100, 20)).astype(float)
    score = X[:, [2, 8, 11, 17]] @ [3, -3, 2, -2]
    y = np.where(score + rng.standard_normal(100) > 1.5, 1.0, -1.0)
    mean, scale = X.mean(axis=0), 1 / X.std(axis=0)
    models = []
    for base in (X, sp.csc_array(X), sp.csr_array(X.astype(np.float32))):
        data = Task.of(Scaled(as_design(base), mean, scale), y)
        task, size = MeasureTask(data, parse_measure(name), 0.1), 2 if sizes else None
        path = select(task, sizes, block_size=size, tol=1e-7)
        models.append(path[next(iter(path))])
    for model in models:
        np.testing.assert_array_equal(model.support, np.arange(20) if not sizes else [2, 8, 11, 17])
        np.testing.assert_allclose(model.coef, models[0].coef, atol=0.01)
        assert model.objective == pytest.approx(models[0].objective, rel=1e-5, abs=1e-6)
    # And the centred, scaled columns as such.
    known = task_of((X - mean) * scale, y, name, 0.1, intercept=True)
    columns = models[0].support
    answer, model = over_blocks(known, [columns], tol=1e-7)
    assert models[1].objective == pytest.approx(answer.objective, rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(
        models[1].coef, (model.coef(answer.point) * scale[columns]), atol=0.01
    )


# ----------------------------------------------------------------------------------- budgets


def test_exactly_k_with_blocks_of_any_size():
    """Another number of features would be returned than asked for."""
    X, y, _ = oracles.instance_one()
    task = task_of(X, y, "f1", 0.1, intercept=True)
    options = ((None, None, []), (1, None, [5, 8]), (3, 2, []), (50, None, [5, 8]))
    for block_size, max_blocks, forced in options:
        data = replace(task.data, forced=np.array(forced, np.int64))
        path = select(
            MeasureTask(data, task.measure, 0.1), (3, 5, 10), block_size=block_size,
            max_blocks=max_blocks,
        )  # fmt: skip
        assert list(path) == [3, 5, 10]
        for k in (3, 5, 10):
            assert path[k].support.size == k
            assert set(path[k].support) == set(path.order[:k])
            assert set(forced) <= set(path[k].support)
            assert path[k].bound <= path[k].objective


def test_one_solution_over_the_blocks_as_published():
    """Without a refit the weights would not be those of the relaxed problem."""
    X, y, _ = oracles.instance_one()
    task = task_of(X, y, "hamming", 0.1, intercept=True)
    path = select(task, (6,), block_size=2, tol=1e-6, refit=False)
    step = path.history[-1]
    assert path[6].objective == step.objective
    assert path[6].bound is None
    loss, _ = task.measure.value_gradient(
        X[:, path[6].support] @ path[6].coef + path[6].intercept, task.data.y, np.ones(30)
    )
    penalty, _ = oracles.k_support(np.r_[path[6].coef, np.zeros(4)], 2)
    # The norm is the least over all pairs of features, those of no block included.
    assert penalty + 0.1 * loss <= step.objective + 1e-9
    assert penalty + 0.1 * loss >= step.extra["outer_bound"] - 1e-9


def test_the_objective_is_attained_by_the_returned_model():
    """Support, coefficients and intercept would be put together wrongly."""
    rng = np.random.default_rng(13)
    X = rng.standard_normal((50, 9)) * 10 ** rng.uniform(-2, 2, 9) + rng.uniform(-3, 3, 9)
    mean, scale = X.mean(axis=0), 1 / X.std(axis=0)
    score = (X[:, 0] - mean[0]) * scale[0]
    y = np.where(score + 0.5 * rng.standard_normal(50) > 0.5, 1.0, -1.0)
    design = Scaled(as_design(X), mean, scale)
    for name in ("f1", "hamming", "prbep", "auc", "precision@7"):
        measure = parse_measure(name)
        data = Task.of(design, y)
        path = select(MeasureTask(data, measure, 0.2), (2, 4), block_size=2, tol=1e-5)
        for k in (2, 4):
            model = path[k]
            z = X[:, model.support] @ model.coef + model.intercept
            threshold = 0.0
            if measure.intercept != "free":  # scores have their threshold subtracted
                centred = (X - mean)[:, model.support] @ model.coef
                threshold = (centred - z)[0]
                np.testing.assert_allclose(centred - z, threshold, atol=1e-9)
                assert threshold == pytest.approx(measure.threshold(centred, y), abs=1e-9)
            elif name == "f1":  # the best threshold on the training rows, not that of the problem

                def at(shift, measure=measure, z=z):
                    return measure.value_gradient(z + shift, y, np.ones(50))[0]

                shifts = (-50.0, 50.0)
                threshold = minimize_scalar(at, bounds=shifts, options={"xatol": 1e-10}).x
            loss, _ = measure.value_gradient(z + threshold, y, np.ones(50))
            penalty = 0.5 * np.sum((model.coef / scale[model.support]) ** 2)
            assert penalty + 0.2 * loss == pytest.approx(model.objective, rel=1e-6)


def test_a_measure_without_loss_is_refused():
    """The zero model would be returned as if it had been learnt."""
    X, y, _ = oracles.instance_one()
    nothing = Contingency(lambda a, b, n_pos, n_neg: 0.0 * (a + b), label="nothing")
    message = (
        "measure='nothing' has no loss for any scores here, so nothing can be learnt from these "
        "rows. Use another measure."
    )
    with pytest.raises(ValueError, match=message):
        select(task_of(X, y, nothing, 1.0), (2,))

"""Coordinate descent over columns: native kernels against their twins, and what they promise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp

import reference_kernels as reference
from zeronorm._kernels import _native as native
from zeronorm.losses import LeastSquares, Logistic, SquaredHinge
from zeronorm.solvers.l1.solvers import DescentState

INF = np.inf
NU = 1e-12
FORMS = [
    ("dense", np.float32, None),
    ("dense", np.float64, None),
    *(
        ("csc", dtype, index)
        for dtype in (np.float32, np.float64)
        for index in (np.int32, np.int64)
    ),
]
each_form = pytest.mark.parametrize(
    "form", FORMS, ids=lambda form: "-".join(np.dtype(t).name if t else "" for t in form[1:])
)
two_forms = pytest.mark.parametrize("form", [FORMS[1], FORMS[-1]], ids=["dense", "csc"])
# Around the widths of the loops: 4 lanes, 2 or 4 sums at a time.
ROWS = [0, 3, 33]
SIZES = (0, 1, 5, 17)
CASES = [(0, 1), (1, 2), *((5, case) for case in range(8)), (17, 3), (17, 4)]
# l1, l2, low, high: lasso, elastic net, ridge, no penalty, one sign only.
PENALTIES = np.array(
    [
        [0.3, 0.0, -INF, INF],
        [0.2, 0.5, -INF, INF],
        [0.0, 0.4, -INF, INF],
        [0.0, 0.0, -INF, INF],
        [0.3, 0.0, 0.0, INF],
        [0.1, 0.2, -INF, 0.0],
    ]
)
KINDS = ("mixed", *range(len(PENALTIES)))


def matrix(seed, n, m):
    """(n, m) of float32 values, many of them zero, with an empty column and two equal ones."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, m)) * (rng.random((n, m)) < 0.6) * 10 ** rng.uniform(-1, 1, m)
    x[:, 1] = 0
    x[:, 3] = x[:, 2]
    return x.astype(np.float32).astype(np.float64)


def stored(x, form):
    """The arguments of x that come first in a kernel; read-only."""
    name, dtype, index = form
    if name == "dense":
        arrays = (np.asfortranarray(x, dtype=dtype),)
    else:
        X = sp.csc_array(x)
        arrays = (X.indptr.astype(index), X.indices.astype(index), X.data.astype(dtype))
    for array in arrays:
        array.flags.writeable = False
    return arrays


def call(module, form, name, x, *arguments):
    """Call a kernel of this storage."""
    return getattr(module, f"{form[0]}_{name}")(*stored(x, form), *arguments)


def assert_close(found, expected, scale):
    """Equal up to the rounding of sums whose terms have the magnitudes `scale`."""
    assert np.all(np.abs(found - expected) <= 1e-13 * scale + 1e-300)


def penalties(kind, q):
    """(q, 4) rows: all of one kind, or one of each in turn."""
    return PENALTIES[np.arange(q) % len(PENALTIES)] if kind == "mixed" else PENALTIES[[kind] * q]


def allowed(rng, rows):
    """(q,) a sparse u within the bounds."""
    u = rng.standard_normal(len(rows)) * (rng.random(len(rows)) < 0.5)
    return np.clip(u, rows[:, 2], rows[:, 3])


# Terms and combinations


@each_form
@pytest.mark.parametrize("n", ROWS)
def test_terms_and_combine(form, n):
    """Gradients and margins would be those of other columns."""
    for q in SIZES:
        rng = np.random.default_rng(q)
        x = matrix(q, n, q + 4)
        features = rng.permutation(q + 4)[:q]
        v, h, z = rng.standard_normal(n), rng.random(n), rng.standard_normal(q)
        z[::2] = 0
        z[1:2] = 1e-310
        Z = x[:, features]
        for module in (native, reference):
            product, total, square = np.full((3, q), np.nan)
            call(module, form, "terms", x, features, v, h, product, total, square, 2)
            assert_close(product, Z.T @ v, np.abs(Z).T @ np.abs(v))
            assert_close(total, Z.T @ h, np.abs(Z).T @ h)
            assert_close(square, (Z**2).T @ h, (Z**2).T @ h)
            out = v.copy()
            call(module, form, "combine", x, features, z, out)
            assert_close(out, v + Z @ z, np.abs(v) + np.abs(Z) @ np.abs(z))


@each_form
def test_terms_give_the_same_bits_for_any_number_of_threads(form):
    """A fit would depend on the machine."""
    rng = np.random.default_rng(0)
    x = matrix(0, 1500, 400)
    features = rng.permutation(400)[:397]
    v, h = rng.standard_normal(1500), rng.random(1500)
    first = np.full((3, 397), np.nan)
    call(native, form, "terms", x, features, v, h, *first, 1)
    assert not np.isnan(first).any()
    assert np.count_nonzero(x) > 2 * 2**17  # enough for a second thread
    for n_threads in (2, 7):
        found = np.full((3, 397), np.nan)
        call(native, form, "terms", x, features, v, h, *found, n_threads)
        assert np.array_equal(found, first)


def test_columns_that_are_not_used_are_not_read():
    """A column outside the working set would cost time, or spread its NaN."""
    x = matrix(0, 9, 4)
    x[:, 2] = np.nan
    for form in (FORMS[1], FORMS[-1]):
        out = np.zeros(9)
        call(native, form, "combine", x, np.array([0, 2]), np.array([2.0, 0.0]), out)
        np.testing.assert_allclose(out, 2 * x[:, 0], rtol=1e-15)
        found = np.zeros((3, 1))
        call(native, form, "terms", x, np.array([3]), np.ones(9), np.ones(9), *found, 1)
        assert np.all(np.isfinite(found))


# The descent


@dataclass(frozen=True)
class Model:
    """A quadratic model on some columns of x."""

    x: np.ndarray
    features: np.ndarray
    curvature: np.ndarray
    gradient: np.ndarray
    penalty: np.ndarray
    u: np.ndarray
    nu: float = NU
    intercept: bool = False
    gradient_e: float = 0.0

    @property
    def chosen(self):
        return self.x[:, self.features]

    @property
    def total(self):
        return self.curvature @ self.chosen

    @property
    def square(self):
        return self.curvature @ self.chosen**2

    def residual(self, d, e):
        """h_i (x_i'd + e), afresh."""
        return self.curvature * (self.chosen @ d + e)

    def objective(self, d, e):
        """The model, from its formula."""
        l1, l2, low, high = self.penalty.T
        t = self.u + d
        assert np.all((low <= t) & (t <= high))
        smooth = self.gradient @ d + self.gradient_e * e + 0.5 * self.nu * d @ d
        smooth += 0.5 * self.curvature @ (self.chosen @ d + e) ** 2
        return smooth + l1 @ np.abs(t) + 0.5 * l2 @ t**2

    def violations(self, d, e):
        """How far -derivative is from the subgradients of the rest, per feature."""
        derivative = self.gradient + self.nu * d + self.chosen.T @ self.residual(d, e)
        return subgradient_distance(derivative, self.penalty, self.u + d)

    def slope_e(self, d, e):
        """The derivative in e."""
        return self.gradient_e + self.residual(d, e).sum()


def subgradient_distance(derivative, penalty, t):
    """Distance of -derivative from the subgradients of l1 |t| + l2/2 t^2 + bounds."""
    l1, l2, low, high = penalty.T
    least = np.where(t > 0, l1, np.where(low < 0, -l1, -INF))
    most = np.where(t < 0, -l1, np.where(high > 0, l1, INF))
    pull = -(derivative + l2 * t)
    return np.maximum(np.maximum(least - pull, pull - most), 0)


def model_of(seed, n, q, kind="mixed", intercept=False, spare=4, x=None, **changes):
    """A model as a solver makes one: gradient X'v at a u within the bounds."""
    rng = np.random.default_rng([seed, n, q])
    x = matrix(seed, n, q + spare) if x is None else x
    features = rng.permutation(x.shape[1])[:q]
    curvature = 10 ** rng.uniform(-2, 0, n) * (rng.random(n) < 0.9)
    v = rng.standard_normal(n) * np.sqrt(curvature)
    rows = penalties(kind, q)
    model = Model(
        x, features, curvature, x[:, features].T @ v, rows, allowed(rng, rows),
        intercept=intercept, gradient_e=float(v.sum()),
    )  # fmt: skip
    return replace(model, **changes)


def correlated(seed=0, n=300, q=60, l1=4.0):
    """A model in which features are shrunk that the solution needs; its solution is unique."""
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((n, q)) + 1.5 * rng.standard_normal((n, 5))[:, np.arange(q) % 5]).T.T
    curvature = rng.random(n)
    w = np.where(np.arange(q) < 12, rng.choice([-1.0, 1.0], q), 0.0)
    v = -curvature * (x @ w + rng.standard_normal(n))
    rows = np.tile([l1, 0.0, -INF, INF], (q, 1))
    return Model(x, np.arange(q), curvature, x.T @ v, rows, np.zeros(q), gradient_e=float(v.sum()))


@dataclass
class Run:
    """The state of a descent, and how it goes on."""

    module: object
    form: tuple
    model: Model

    def __post_init__(self):
        q, n = self.model.features.size, self.model.curvature.size
        self.active, self.d, self.residual = np.arange(q), np.zeros(q), np.zeros(n)
        self.state = DescentState(0.0, q, INF, 0, INF, False)

    def sweep(self, target, max_sweeps=1, seed=0, shrink=True, largest_step=10.0):
        """Go on; return whether the target is reached."""
        m = self.model
        largest_step = np.full(m.u.size, largest_step)
        shrinking = shrink / max(m.curvature.size, 1)  # as published
        state = call(
            self.module, self.form, "descend", m.x, m.features, m.curvature, m.gradient, m.total,
            m.square, m.penalty, m.u, largest_step, m.nu, m.intercept, m.gradient_e, target,
            max_sweeps, shrinking, seed, self.active, self.d, self.residual, self.state,
        )  # fmt: skip
        self.state = DescentState(*state)
        assert np.array_equal(np.sort(self.active), np.arange(m.features.size))
        return bool(self.state.done)

    def subspace_step(self, target=0.0, max_iterations=3, largest_step=10.0):
        """Step with the features that are not zero; return the iterations."""
        m = self.model
        largest_step = np.full(m.u.size, largest_step)
        iterations, offset = call(
            self.module, self.form, "subspace_step", m.x, m.features, m.curvature, m.gradient,
            m.total, m.square, m.penalty, m.u, largest_step, m.nu, m.intercept, m.gradient_e,
            target, max_iterations, self.d, self.residual, self.state.offset,
        )  # fmt: skip
        self.state = self.state._replace(offset=offset)
        return iterations

    @property
    def step(self):
        return self.d, self.state.offset

    def objective(self):
        return self.model.objective(*self.step)


def curved(n, q, case):
    """Return nu: without it, rounding decides where more columns than rows leave the model flat."""
    return 0.5 if q > n or case % 3 == 1 else NU


def assert_same(found, expected):
    """Same visits, and the same step up to rounding."""
    assert np.array_equal(found.active, expected.active)
    assert found.state[1::2] == expected.state[1::2]  # the integers, and whether it is done
    t, at = found.model.u + found.d, expected.model.u + expected.d
    assert np.array_equal(t == 0, at == 0)
    scale = 1 + np.abs(expected.d).max(initial=0.0)
    for a, b in (
        (found.d, expected.d),
        (found.residual, expected.residual),
        (found.state[0::2], expected.state[0::2]),
    ):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10 * scale)
    model = found.model
    size = model.curvature * (np.abs(model.chosen) @ np.abs(found.d) + abs(found.state.offset))
    np.testing.assert_array_less(
        np.abs(found.residual - model.residual(found.d, 0.0)), 1e-12 * (size + 1)
    )


@each_form
@pytest.mark.parametrize("n", ROWS)
def test_descend_is_its_twin(form, n):
    """Coordinate descent would minimise another model, or in another order."""
    for q, case in CASES:
        intercept, shrink = bool(case & 1), bool(case & 2)
        kind = "mixed" if case < 4 else (case + n + q) % len(PENALTIES)
        model = model_of(case, n, q, kind, intercept, nu=curved(n, q, case))
        runs = [Run(module, form, model) for module in (native, reference)]
        for run in runs:
            largest_step = 10.0 if case != 3 else np.linspace(0.01, 0.5, q)
            run.sweep(1e-3, 6, seed=case, shrink=shrink, largest_step=largest_step)
        assert_same(*runs)
        assert runs[0].state.n_sweeps == 6 or runs[0].state.done


@each_form
def test_descend_in_pieces(form):
    """A descent that is interrupted to look at Ctrl-C would start again or lose features."""
    for seed in range(2):
        model = model_of(seed, 33, 12, intercept=bool(seed & 1))
        runs = [Run(module, form, model) for module in (native, reference)]
        for piece in range(8):
            done = [run.sweep(1e-2, 1, seed=piece) for run in runs]
            assert_same(*runs)
            if done[0]:
                break
        assert runs[0].state.n_sweeps == piece + 1 > 2
    # One feature has no order, so pieces are exactly the whole.
    model = model_of(7, 33, 1, kind=3, intercept=True)
    whole, pieces = Run(native, form, model), Run(native, form, model)
    whole.sweep(-1.0, 4, seed=3)
    for piece in range(4):
        pieces.sweep(-1.0, 1, seed=piece)
    for name in ("active", "d", "residual", "state"):
        assert np.array_equal(getattr(whole, name), getattr(pieces, name))
    assert whole.d[0] != 0


def test_no_sweeps_change_nothing_but_the_verdict():
    """A descent without sweeps left would count as converged."""
    run = Run(native, FORMS[1], model_of(0, 7, 5))
    before = run.state
    run.state = before._replace(done=True)
    assert not run.sweep(INF, 0)
    assert run.state == before
    assert not run.d.any()
    assert not run.residual.any()


@two_forms
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("kind", "nu"), [("mixed", 5.0), *((k, NU) for k in KINDS)])
def test_descend_solves_the_model(form, intercept, kind, nu):
    """The step would not be the minimiser: optimality conditions, computed afresh."""
    x = np.random.default_rng(5).standard_normal((33, 20)).astype(np.float32).astype(float)
    x[:, 1] = 0
    for shrink in (False, True):
        run = Run(native, form, model_of(11, 33, 15, kind, intercept, x=x, nu=nu))
        assert run.sweep(1e-11, 20000, seed=1, shrink=shrink)
        assert run.model.violations(*run.step).sum() <= 1e-9
        if intercept:
            assert abs(run.model.slope_e(*run.step)) <= 1e-9
        else:
            assert run.state.offset == 0
        assert np.abs(run.d).max() > 0.01
        assert run.objective() < run.model.objective(np.zeros(15), 0.0)


@two_forms
def test_columns_far_from_zero_cost_no_sweeps(form):
    """An intercept that lags behind the features would take thousands of sweeps to follow."""
    near = replace(correlated(l1=2.0), intercept=True)
    x = near.x.astype(np.float32).astype(float)
    shift = np.where(np.arange(x.shape[1]) % 2, 500.0, -1000.0)
    steps, sweeps = [], []
    for far in (x, x + shift):
        gradient = near.gradient + (far - x)[0] * near.gradient_e
        run = Run(native, form, replace(near, x=far, gradient=gradient))
        assert run.sweep(1e-4, 1000)
        steps.append(run.d)
        sweeps.append(run.state.n_sweeps)
    assert sweeps[1] <= sweeps[0] + 5
    np.testing.assert_allclose(steps[1], steps[0], atol=1e-4)


@two_forms
def test_the_model_never_increases(form):
    """A sweep would go uphill, or a cut step past the minimum."""
    for seed, largest_step in ((0, 10.0), (1, 0.05), (2, 1e-3)):
        run = Run(native, form, model_of(seed, 33, 40, intercept=True))
        values = [run.objective()]
        for sweep in range(30):
            run.sweep(0.0, 1, seed=sweep, largest_step=largest_step)
            values.append(run.objective())
        assert np.all(np.diff(values) <= 1e-13 * np.abs(values[0]))
        assert values[-1] < values[0]


def test_shrinking_changes_the_work_but_not_the_answer():
    """A feature that was left out too early would never come back, or none would be left out."""
    model = correlated()
    q = model.features.size
    full, shrunk = Run(native, FORMS[1], model), Run(native, FORMS[1], model)
    left_out, n_visits = np.zeros(q, bool), 0
    for sweep in range(2000):
        done = shrunk.sweep(1e-9, 1, seed=sweep)
        n_active = shrunk.state.n_active
        left_out[shrunk.active[n_active:]] = True
        n_visits += n_active
        if done:
            break
    assert done
    assert shrunk.state.n_active == q
    assert (shrunk.d[left_out] != 0).any()  # a hard case: wrongly left out for a while
    assert full.sweep(1e-9, 2000, shrink=False)
    assert full.state.n_active == q
    assert n_visits < 0.8 * q * shrunk.state.n_sweeps
    assert model.violations(*shrunk.step).sum() <= 1e-8
    np.testing.assert_allclose(shrunk.d, full.d, atol=1e-9)


def test_which_features_are_left_out():
    """A margin of another size would leave out features that are still needed, or too few."""
    gradient, l1, low, high, stays = np.array(
        [
            [-5.0, 1.0, -INF, INF, True],  # violates by 4: with n = 8, the margin is 0.5
            [0.4, 1.0, -INF, INF, False],
            [0.6, 1.0, -INF, INF, True],
            [-0.4, 1.0, -INF, INF, False],
            [-0.6, 1.0, -INF, INF, True],
            [9.0, 1.0, 0.0, INF, False],  # would be negative
            [-0.6, 1.0, 0.0, INF, True],
            [-9.0, 1.0, -INF, 0.0, False],  # would be positive
        ]
    ).T
    penalty = np.column_stack([l1, np.zeros(8), low, high])
    model = Model(
        np.eye(8), np.arange(8), np.ones(8), gradient.copy(), penalty, np.zeros(8), nu=0.0
    )
    for shrink in (True, False):
        run = Run(native, FORMS[1], model)
        assert not run.sweep(0.0, shrink=shrink)
        assert run.state.n_active == 8
        assert (run.state.limit, run.state.violation) == (4.0, 4.0)
        assert run.d[0] == 4.0
        run.sweep(-1.0, seed=1, shrink=shrink)
        left_out = np.sort(run.active[run.state.n_active :])
        assert np.array_equal(left_out, np.flatnonzero(stays == 0) if shrink else [])
        assert not run.state.done
    # The target is reached, but not over all: they come back, and are looked at.
    run = Run(native, FORMS[1], model)
    assert [run.sweep(0.0, seed=seed) for seed in range(3)] == [False, False, True]
    assert run.state.n_active == 8


@pytest.mark.parametrize("target", [30.0, 0.3])
@pytest.mark.parametrize("intercept", [False, True])
def test_done_means_all_features(target, intercept):
    """A descent would end at its target over some features, others waiting to move."""
    model = replace(correlated(), intercept=intercept)
    H = model.chosen.T @ (model.curvature[:, None] * model.chosen)
    # Right after its visit a feature violates nothing; then the moves of others change its
    # derivative. A feature with violation v moves by at most v / H_jj.
    drift = (np.abs(H).sum(axis=0) / np.diag(H) - 1).max()
    drift_e = (np.abs(model.curvature @ model.chosen) / np.diag(H)).max()
    run = Run(native, FORMS[1], model)
    shrinking = False
    for sweep in range(500):
        done = run.sweep(target, 1, seed=sweep)
        if done:
            break
        shrinking |= run.state.n_active < run.d.size
        assert run.state.violation > target or run.state.n_active == run.d.size
    assert done
    assert shrinking
    assert run.state.violation <= target
    assert run.model.violations(*run.step).sum() <= target * drift + 1e-9
    if intercept:
        assert abs(run.model.slope_e(*run.step)) <= target * drift_e + 1e-9


def test_the_target_is_compared_with_what_the_last_sweep_met():
    """Callers divide their tolerance by what is left; it would be something else."""
    # One sweep over independent columns: every violation is that of the start.
    x = np.diag([1.0, 2.0, 3.0, 4.0])
    model = model_of(
        0, 4, 4, x=x, curvature=np.ones(4), penalty=PENALTIES[[0, 1, 4, 5]],
        u=np.array([0.5, -0.4, 0.0, -0.2]),
    )  # fmt: skip
    start = model.violations(np.zeros(4), 0.0).sum()
    assert start > 0.1
    for target, expected in ((1.001 * start, True), (0.999 * start, False)):
        run = Run(native, FORMS[1], model)
        assert run.sweep(target, shrink=False) is expected
        assert run.state.violation == pytest.approx(start, rel=1e-12)
    assert run.sweep(1e-9, shrink=False)
    assert run.state.n_sweeps == 2


def test_steps_that_end_at_zero_end_at_exactly_zero():
    """Features that are not selected would be counted in the support."""
    u = np.array([0.1, -0.7, 1e-17, 1e17, 0.3])
    model = model_of(
        0, 5, 5, x=np.eye(5), u=u, curvature=np.full(5, 1e-3), gradient=np.full(5, 1e-4),
        penalty=np.tile([1e20, 0.0, -INF, INF], (5, 1)), features=np.arange(5),
    )  # fmt: skip
    run = Run(native, FORMS[1], model)
    run.sweep(0.0, 1, largest_step=INF)
    assert np.all(u + run.d == 0)
    model = replace(model, penalty=np.tile([0.0, 0.0, -INF, INF], (5, 1)))
    run = Run(native, FORMS[1], model)
    run.sweep(0.0, 1, largest_step=INF)
    assert np.count_nonzero(u + run.d) == 5


def test_bounds_hold_whatever_the_start():
    """A nonnegative model would get a negative coefficient by rounding."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        model = model_of(seed, 33, 30, 4)
        model = replace(model, u=np.abs(model.u) * 10 ** rng.uniform(-18, 9, 30))
        run = Run(native, FORMS[1], model)
        for sweep in range(5):
            run.sweep(0.0, 1, seed=sweep, largest_step=INF)
            assert np.all(model.u + run.d >= 0)


def test_the_order_is_fair_and_follows_the_seed():
    """Some features would come first in every sweep, or two fits would differ."""
    model = model_of(0, 1, 3)
    count = {}
    for seed in (*range(150), *range(10**15, 10**15 + 150)):
        run, again = Run(native, FORMS[1], model), Run(native, FORMS[1], model)
        run.sweep(-1.0, 1, seed=seed, shrink=False)
        again.sweep(-1.0, 1, seed=seed, shrink=False)
        assert np.array_equal(run.active, again.active)
        count[tuple(run.active)] = count.get(tuple(run.active), 0) + 1
    assert len(count) == 6
    assert all(18 <= c <= 82 for c in count.values())  # 50 each, +- 5 standard deviations


@two_forms
def test_descend_without_curvature(form):
    """A division by zero would put NaN or inf into the step."""
    x = matrix(0, 7, 8)
    x[:, 1] = 0
    model = model_of(
        0, 7, 8, "mixed", True, x=x, features=np.arange(8), curvature=np.zeros(7),
        gradient=np.array([5.0, 0.0, -5.0, 5.0, -5.0, -5.0, 0.1, 0.0]),
        u=np.array([0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 1.0, 0.5]),
    )  # fmt: skip
    limits = np.array([2.0, 2.0, 1.0, 3.0, 2.0, 2.0, 2.0, 2.0])
    for shrink in (False, True):
        run = Run(native, form, model)
        for sweep in range(3):
            run.sweep(0.0, 1, seed=sweep, shrink=shrink, largest_step=limits)
        # Downhill by its largest step, to the minimiser where the ridge bends, or to zero: the
        # empty column of an l1 or elastic net coefficient.
        expected = [-6.0, 0.0, 3.0, -9.0, 6.0, 0.0, 0.0, 0.0]
        np.testing.assert_allclose(model.u + run.d, expected, atol=1e-9)
        assert np.all((model.u + run.d)[[1, 6]] == 0)
        assert run.state.offset == 0
        assert not run.residual.any()
        run = Run(native, form, replace(model, nu=0.0))
        assert not run.sweep(1.0, 3, shrink=shrink)
        # Without a minimum nothing moves; a penalty without curvature under it pulls to zero.
        np.testing.assert_allclose(run.d, [0, -0.5, 12.5, 0, 0, 0, -1, -0.5], atol=1e-9)
        assert np.all(np.isfinite([run.state.offset, run.state.violation]))


@pytest.mark.parametrize("power", [-320, -160, -100, 100, 150])
@two_forms
def test_descend_with_extreme_values(power, form):
    """One NaN in the step makes all margins NaN."""
    x = matrix(0, 33, 16)
    x[:, ::2] *= 10.0**power
    for curvature in (1e-310, 1e-100, 1.0):
        model = model_of(1, 33, 12, intercept=curvature > 1e-300, x=x)
        model = replace(model, curvature=model.curvature * curvature)
        run = Run(native, form, model)
        values = [run.objective()]
        for sweep in range(4):
            run.sweep(0.0, 1, seed=sweep)
            values.append(run.objective())
        for array in (run.d, run.residual, [run.state.offset, run.state.violation], values):
            assert np.all(np.isfinite(array))
        assert np.abs(run.d).max() <= 40
        size = np.abs(model.chosen) @ (np.abs(model.u) + np.abs(run.d)) + abs(run.state.offset)
        rounding = 1e-28 * model.curvature @ size**2 + 1e-12 * np.abs(values).max()
        assert np.all(np.diff(values) <= rounding)


# Steps of the subspace


@each_form
@pytest.mark.parametrize("n", ROWS)
def test_subspace_step_is_its_twin(form, n):
    """Conjugate gradients would minimise another model, or stop elsewhere."""
    for q, case in CASES:
        model = model_of(case, n, q, intercept=bool(case & 1), nu=curved(n, q, case))
        runs = [Run(module, form, model) for module in (native, reference)]
        iterations = []
        for run in runs:
            run.sweep(1e-9, case // 2, seed=case)
            largest_step = 10.0 if case < 6 else np.linspace(1e-4, 1e-2, q)
            iterations.append(run.subspace_step(1e-9, 1 + case % 3, largest_step))
        assert iterations[0] == iterations[1]
        assert_same(*runs)


@two_forms
@pytest.mark.parametrize("max_iterations", [1, 2, 30])
def test_a_subspace_step_descends_and_keeps_signs(form, max_iterations):
    """A step would go uphill, wake a feature that is at zero, or change a sign."""
    stopped, cut = 0, 0
    for seed in range(40):
        model = model_of(seed, 33, 12, intercept=bool(seed & 1), nu=0.1)
        run = Run(native, form, model)
        run.sweep(0.0, seed % 3)
        t, before = model.u + run.d, run.objective()
        run.subspace_step(max_iterations=max_iterations)
        after = model.u + run.d
        assert run.objective() <= before + 1e-12 * (1 + abs(before))
        assert np.array_equal(after[t == 0], t[t == 0])
        assert np.all(after * t >= 0)
        n_stopped = np.count_nonzero((after == 0) & (t != 0))
        stopped += n_stopped > 1  # several at once: where they would have crossed
        cut += n_stopped == 1
        np.testing.assert_allclose(run.residual, model.residual(run.d, 0.0), atol=1e-10)
    assert max_iterations == 1 or stopped > 0
    assert cut > 0


@two_forms
@pytest.mark.parametrize("intercept", [False, True])
def test_subspace_steps_solve_the_model_of_a_known_support(form, intercept):
    """The iterations would end before the target, or far from the minimum of the subspace."""
    model = replace(correlated(), intercept=intercept, x=correlated().x.astype(np.float32) * 1.0)
    model = replace(model, nu=0.0)
    run = Run(native, form, model)
    run.sweep(0.0, 3)
    free = run.d != 0
    assert run.subspace_step(target=1e-9, max_iterations=500) < 500
    free &= run.d != 0
    for _ in range(20):  # until no more reach zero
        run.subspace_step(target=1e-9, max_iterations=500)
        free = run.d != 0
    violations = model.violations(*run.step)[free]
    assert violations.sum() + abs(intercept * model.slope_e(*run.step)) <= 1e-7
    assert free.sum() > 5


def test_a_subspace_step_ends_at_exactly_zero():
    """A coefficient of 1e-17 would count as selected."""
    x = np.array([[1.0, 0.2], [0.0, 1.0]])
    rows = np.tile([1.0, 0.0, -INF, INF], (2, 1))
    model = Model(x, np.arange(2), np.ones(2), np.array([3.0, 0.0]), rows, np.array([0.3, 5.0]))
    run = Run(native, FORMS[1], model)
    assert run.subspace_step(max_iterations=10) == 2
    t = model.u + run.d
    assert t[0] == 0
    assert t[1] != 5
    np.testing.assert_allclose(run.residual, model.residual(run.d, 0.0), rtol=1e-12)


@two_forms
def test_subspace_steps_without_anything_to_do(form):
    """A descent would be changed where nothing is free, bent or finite."""
    empty = model_of(1, 16, 5, intercept=True, u=np.zeros(5))
    flat = model_of(1, 16, 5, intercept=True, kind=0, nu=0.0, curvature=np.zeros(16))
    huge = model_of(1, 16, 5, kind=0, nu=0.0)
    huge = replace(huge, gradient=np.full(5, 1e200), curvature=np.full(16, 1e-200))
    for model in (empty, flat, huge):
        run = Run(native, form, model)
        with np.errstate(all="ignore"):
            run.subspace_step(max_iterations=20)
        assert np.isfinite(run.d).all()
        assert np.isfinite(run.residual).all()
        if model is not huge:
            assert not run.d.any()
            assert model is empty or run.state.offset == 0


@two_forms
def test_a_subspace_step_keeps_within_its_reach(form):
    """Without curvature a step would be of any size, and no line search short enough."""
    model = model_of(2, 16, 5, kind=0, nu=0.0, curvature=np.full(16, 1e-60))
    model = replace(model, u=np.full(5, 1e6) * np.sign(model.gradient))
    free, bound = Run(native, form, model), Run(native, form, model)
    free.subspace_step(max_iterations=20, largest_step=INF)
    limits = np.linspace(0.1, 0.5, 5)
    bound.subspace_step(max_iterations=20, largest_step=limits)
    assert np.abs(bound.d / limits).max() == pytest.approx(100.0)
    assert bound.objective() < model.objective(np.zeros(5), 0.0)
    assert np.abs(free.d).max() >= 1e6  # to where the first is zero


def test_arrays_of_another_layout_are_refused():
    """An output of another type would be copied and the result lost, rows taken for columns."""
    model = model_of(0, 5, 3)
    wrong = [
        {"d": np.zeros(3, np.float32)},
        {"d": np.zeros(6)[::2]},
        {"active": np.arange(3, dtype=np.int32)},
        {"residual": np.zeros((5, 1))},
    ]
    for changes in wrong:
        run = Run(native, FORMS[1], model)
        vars(run).update(changes)
        with pytest.raises(TypeError, match="incompatible function arguments"):
            run.sweep(0.0)
    z, v = np.ones(3), np.zeros(5)
    for x in (np.ascontiguousarray(model.x), np.ones((5, 7), np.int8, order="F")):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            native.dense_combine(x, model.features, z, v)
    indptr, indices, data = stored(model.x, FORMS[-1])
    with pytest.raises(TypeError, match="incompatible function arguments"):
        native.csc_combine(indptr.astype(np.int32), indices, data, model.features, z, v)


# The descent on a Gram matrix


def gram_run(module, model, target, max_sweeps, d=None):
    """(sweeps, violations, d, slope) of a descent on the matrix of the model."""
    A = model.chosen.T @ (model.curvature[:, None] * model.chosen) + model.nu * np.eye(model.u.size)
    d = np.zeros(model.u.size) if d is None else d
    slope = model.gradient + A @ d
    met = module.gram_descend(
        A, model.penalty, model.u, np.full(model.u.size, INF), target, max_sweeps, d, slope
    )
    error = np.abs(slope - model.gradient - A @ d)
    assert np.all(error <= 1e-12 * (1 + np.abs(model.gradient) + np.abs(A) @ np.abs(d)))
    return *met, d, slope


@pytest.mark.parametrize("n", [1, 33])
@pytest.mark.parametrize("q", SIZES)
def test_gram_descend_is_its_twin(n, q):
    """The descent for few columns would solve another model, or count its sweeps wrong."""
    for case in range(6):
        model = model_of(case, n, q, "mixed" if case else 0, nu=(0.1, 2.0)[case % 2])
        start = -0.5 * model.u
        for target, max_sweeps in ((-1.0, 5), (-1.0, 0), (1.0, 50)):
            found, expected = (
                gram_run(module, model, target, max_sweeps, start.copy())
                for module in (native, reference)
            )
            assert found[0] == expected[0] <= max_sweeps
            for a, b in zip(found[1:], expected[1:], strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)
            assert np.array_equal(model.u + found[2] == 0, model.u + expected[2] == 0)
            if max_sweeps == 0:
                assert np.array_equal(found[2], start)


@pytest.mark.parametrize("kind", KINDS)
def test_gram_descend_solves_the_model(kind):
    """The step would not be the minimiser, or one sweep would go uphill."""
    model = model_of(11, 33, 15, kind, nu=2.0)
    d = np.zeros(15)
    values = [model.objective(d, 0.0)]
    for _ in range(5):
        gram_run(native, model, 0.0, 1, d)
        values.append(model.objective(d, 0.0))
    assert np.all(np.diff(values) <= 1e-13 * abs(values[0]))
    assert values[-1] < values[0]
    sweeps, met, d, _ = gram_run(native, model, 1e-11, 5000, d)
    assert met <= 1e-11
    assert 1 <= sweeps < 5000
    assert model.violations(d, 0.0).sum() <= 1e-9
    peer = Run(native, FORMS[1], model)
    assert peer.sweep(1e-11, 5000)
    np.testing.assert_allclose(d, peer.d, atol=1e-9)


def test_gram_descend_ends_at_zero_and_skips_what_has_no_minimum():
    """Features that are not selected would be counted, or a step be divided by zero."""
    A = np.diag([1e-3, 1e3, 0.0, 1.0, 0.0])
    u = np.array([0.1, -0.7, 0.3, 1e17, 0.3])
    d = np.zeros(5)
    rows = np.tile([1e20, 0.0, -INF, INF], (5, 1))
    rows[4, 0] = 1e-5
    free = np.full(5, INF)
    met = native.gram_descend(A, rows, u, free, 0.0, 3, d, np.full(5, 1e-4))
    assert met == (3, pytest.approx(1.1e-4))  # what has no minimum stays, and is counted
    assert np.array_equal(u + d == 0, [True, True, True, True, False])
    assert d[4] == 0
    assert native.gram_descend(A, rows, u, free, 1.2e-4, 3, d, np.full(5, 1e-4))[0] == 1


def test_gram_descend_keeps_the_largest_step():
    """A coordinate of vanishing curvature would take a step that no line search comes back from."""
    A, rows = np.diag([1e-12, 1.0]), np.tile([1e-3, 0.0, -INF, INF], (2, 1))
    d, slope = np.zeros(2), np.array([-1.0, -1.0])
    limits = np.array([2.5, 0.25])
    native.gram_descend(A, rows, np.zeros(2), limits, 0.0, 2, d, slope)
    np.testing.assert_allclose(d, 2 * limits)


# Coordinate-wise Newton steps


# f and f' of every loss, as functions of y and z.
FORMULAS = {
    Logistic: (lambda y, z: np.logaddexp(0, -y * z), lambda y, z: -y / (1 + np.exp(y * z))),
    SquaredHinge: (
        lambda y, z: 0.5 * np.maximum(0, 1 - y * z) ** 2,
        lambda y, z: -y * np.maximum(0, 1 - y * z),
    ),
    LeastSquares: (lambda y, z: 0.5 * (y - z) ** 2, lambda y, z: z - y),
}
each_loss = pytest.mark.parametrize("loss", [Logistic(), SquaredHinge(), LeastSquares()])
each_loss_of_labels = pytest.mark.parametrize("loss", [Logistic(), SquaredHinge()])


@dataclass
class Cycles:
    """sum_i s_i f(y_i, z_i) + penalty(u), and how CDN goes on from u."""

    module: object
    form: tuple
    x: np.ndarray
    features: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    penalty: np.ndarray
    loss: object
    u: np.ndarray
    b: float = 0.0
    nu: float = NU

    def __post_init__(self):
        self.order, self.u = np.arange(self.features.size), self.u.copy()
        self.z = self.margins()

    def cycle(self, seed=0, largest_step=10.0, max_halvings=20):
        """One cycle; the violations it met."""
        return call(
            self.module, self.form, "newton_cycle", self.x, self.features, self.y, self.weight,
            self.penalty, self.loss.kernel, self.nu, 0.01, np.full(self.u.size, largest_step),
            max_halvings, seed, self.order, self.u, self.z,
        )  # fmt: skip

    def margins(self):
        return self.x[:, self.features] @ self.u + self.b

    def objective(self):
        """From its formula."""
        l1, l2, low, high = self.penalty.T
        assert np.all((low <= self.u) & (self.u <= high))
        loss = FORMULAS[type(self.loss)][0](self.y, self.margins())
        return self.weight @ loss + l1 @ np.abs(self.u) + 0.5 * l2 @ self.u**2

    def violations(self):
        """How far u is from optimal, from the formulas."""
        slope = FORMULAS[type(self.loss)][1](self.y, self.margins())
        derivative = self.x[:, self.features].T @ (self.weight * slope)
        return subgradient_distance(derivative, self.penalty, self.u)


def cycles_of(module, form, seed, n, q, loss, kind="mixed", scale=1.0, x=None):
    """A problem with random targets and weights, from a sparse u within the bounds."""
    rng = np.random.default_rng([seed, n, q])
    x = matrix(seed, n, q + 4) if x is None else x
    rows = penalties(kind, q).copy()
    if isinstance(loss, SquaredHinge) and kind == "mixed":
        # Without it a step can end where a margin is 1 up to rounding, and its curvature is 0 or 1.
        rows[:, 1] = np.maximum(rows[:, 1], 0.05)
    features, y = rng.permutation(x.shape[1])[:q], rng.choice([-1.0, 1.0], n)
    if isinstance(loss, LeastSquares):
        y *= rng.uniform(0.0, 5.0, n)
    return Cycles(
        module, form, x, features, y, 10 ** rng.uniform(-1, 1, n), rows, loss,
        scale * allowed(rng, rows), b=0.3,
    )  # fmt: skip


@each_form
@pytest.mark.parametrize("n", ROWS)
@each_loss
def test_newton_cycle_is_its_twin(form, n, loss):
    """Newton steps would be those of another loss, penalty or order."""
    for q in SIZES:
        for case in range(3):
            kind = "mixed" if case < 2 else (0, 1, 2, 4, 5)[(n + q) % 5]
            a, b = (
                cycles_of(module, form, case, n, q, loss, kind, scale=1 + 2 * case)
                for module in (native, reference)
            )
            for seed in range(2):
                largest_step = 10.0 if case != 1 else np.linspace(0.01, 0.5, q)
                met = [run.cycle(seed, largest_step) for run in (a, b)]
                assert met[0] == pytest.approx(met[1], rel=1e-9, abs=1e-9)
                assert np.array_equal(a.order, b.order)
                scale = 1 + np.abs(b.u).max(initial=0.0)
                np.testing.assert_allclose(a.u, b.u, rtol=1e-9, atol=1e-10 * scale)
                np.testing.assert_allclose(a.z, b.z, rtol=1e-9, atol=1e-9 * scale)
                assert np.array_equal(a.u == 0, b.u == 0)


@two_forms
@each_loss
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_newton_cycles_descend_and_keep_their_margins(form, loss, scale):
    """A cycle would go uphill, or its margins drift from X u."""
    run = cycles_of(native, form, 3, 33, 40, loss, scale=scale)
    before = first = run.objective()
    for seed in range(30):
        run.cycle(seed)
        after = run.objective()
        assert after <= before + 1e-13 * first
        size = np.abs(run.x[:, run.features]) @ np.abs(run.u) + scale
        np.testing.assert_array_less(np.abs(run.z - run.margins()), 1e-12 * size + 1e-12)
        before = after
    assert after < first


@two_forms
@each_loss
@pytest.mark.parametrize("kind", KINDS)
def test_newton_cycles_converge(form, loss, kind):
    """CDN would stop elsewhere than at the optimum: its conditions, computed afresh."""
    x = np.random.default_rng(1).standard_normal((40, 12)).astype(np.float32).astype(float)
    x[:, 3] = 0
    run = cycles_of(native, form, 0, 40, 9, loss, kind, x=x)
    met = [run.cycle(seed) for seed in range(150)]
    assert met[0] > 1
    # Near the optimum the line search compares differences of losses that are rounding.
    assert met[-1] <= 3e-8 * met[0]
    assert run.violations().sum() <= 3e-8 * met[0]


def overshooting(module, **changes):
    """One feature from where the full Newton step goes far uphill."""
    arguments = {
        "x": np.array([[1.0], [1.0]]),
        "features": np.array([0]),
        "y": np.array([1.0, -1.0]),
        "weight": np.ones(2),
        "penalty": np.array([[0.01, 0.0, -INF, INF]]),
        "loss": Logistic(),
        "u": np.array([3.0]),
    }
    return Cycles(module, FORMS[1], **{**arguments, **changes})


def test_the_line_search_halves_and_gives_up():
    """A step would be taken that increases the objective, or none where a shorter one decreases."""
    run = overshooting(native)
    derivative = np.tanh(1.5)  # 1/(1 + exp(-3)) - 1/(1 + exp(3))
    curvature = 0.5 / np.cosh(1.5) ** 2
    full = -(derivative - 0.01) / curvature  # beyond zero, l1 pulls the other way
    assert -20 < full < -6
    before = run.objective()
    met = run.cycle(largest_step=50.0)
    assert met == pytest.approx(derivative + 0.01)
    # The whole step and its first half fail; the quarter passes.
    trial = {share: abs(3 + share * full) for share in (1.0, 0.5)}
    assert trial[1.0] > 3
    expected = 0.5 if trial[0.5] < 3 - 0.02 * abs(full) else 0.25
    np.testing.assert_allclose(run.u, 3 + expected * full, rtol=1e-9)
    np.testing.assert_allclose(run.z, run.u[[0, 0]], rtol=1e-14)
    assert run.objective() < before
    for tries in (0, 1):
        run = overshooting(native)
        assert run.cycle(largest_step=50.0, max_halvings=tries) == pytest.approx(met)
        assert run.u[0] == 3
        assert np.all(run.z == 3)
    run = overshooting(native)
    run.cycle(largest_step=0.5)
    assert run.u[0] == 2.5


@each_loss_of_labels
@two_forms
@pytest.mark.parametrize("power", [-320, -160, 0, 100])
def test_newton_cycle_with_extreme_values(loss, form, power):
    """One NaN among the margins makes all of them NaN."""
    x = matrix(0, 33, 16)
    x[:, ::2] *= 10.0**power
    run = cycles_of(native, form, 5, 33, 12, loss, x=x)
    run.weight[:5] = 0
    run.weight[5:10] = 1e-310
    run.weight[10:12] = 1e20
    run.b = 0.0
    run.u[run.penalty[:, 3] > 0] += 1e5
    run.z = run.margins()
    assert np.abs(run.z).max() > 1e4
    before = run.objective()
    for seed in range(3):
        met = run.cycle(seed)
        after = run.objective()
        assert after <= before * (1 + 1e-12)
        assert np.isfinite([met, after, *run.u, *run.z]).all()
        before = after


@each_loss_of_labels
def test_newton_cycle_on_flat_losses(loss):
    """Where no row has curvature, a coefficient would become NaN, or keep its l1 penalty."""
    x = np.ones((4, 6))
    x[:, 3:] = 0
    rows = PENALTIES[[0, 1, 3, 0, 1, 3]]
    u = np.full(6, 2.0)
    for weight in (0.0, 1.0):
        # No weight at all; or margins so far on the right side that losses are 0.
        for nu in (0.0, NU):
            run = Cycles(
                native, FORMS[1], x, np.arange(6), np.ones(4), np.full(4, weight), rows,
                loss, u, b=900.0, nu=nu,
            )  # fmt: skip
            for seed in range(2):
                run.cycle(seed)
            assert np.all(run.u[[0, 1, 3, 4]] == 0)
            assert np.isfinite([*run.u, *run.z]).all()
            assert run.objective() == 0

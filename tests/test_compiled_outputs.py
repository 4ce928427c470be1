"""Losses and ridge problems of several outputs in the compiled solvers, against Python."""

import numpy as np
import pytest

from python_paths import with_twins, without_solvers
from zeronorm.core.results import Status
from zeronorm.data import as_design
from zeronorm.data.repeated import Repeated
from zeronorm.losses import Huber, LeastSquares, Multinomial, Poisson, Responses
from zeronorm.losses.base import balance, balance_each
from zeronorm.losses.multi_output import classes_as_outputs
from zeronorm.solvers import final_fits
from zeronorm.solvers.exchange import GroupExchanges
from zeronorm.solvers.final_fits import refit
from zeronorm.solvers.minimax import BlockProblem, State, bound_of, newton, penalty
from zeronorm.solvers.problem import Grouped, Risk
from zeronorm.solvers.relaxation import RelaxationProblem
from zeronorm.solvers.ridge_fits import compiled_outputs, outputs_over_blocks, ridge

each_free = pytest.mark.parametrize("free", [True, False], ids=["intercepts", "origin"])


@pytest.fixture
def in_python(monkeypatch):
    """A function that leaves the calls that follow to Python."""

    def in_python():
        without_solvers(monkeypatch)
        with_twins(monkeypatch)

    return in_python


def classes(rng, n, q, *, some=None):
    """The target and the weights of rows of q classes, `some` of which have rows."""
    codes = np.concatenate([np.arange(some or q), rng.integers(0, some or q, n)])[:n]
    return classes_as_outputs(codes, q), np.tile(rng.gamma(2.0, 1.0, n) + 1e-3, q)


@each_free
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
@pytest.mark.parametrize(("n", "q", "some"), [(3, 2, 2), (9, 3, 3), (64, 5, 4), (70, 12, 12)])
def test_multinomial(n, q, some, scale, free, in_python):
    """A fit would descend on another loss than its certificate is of."""
    rng = np.random.default_rng(n)
    y, weight = classes(rng, n, q, some=some)
    loss, z = Multinomial(q, free), scale * rng.standard_normal(q * n)
    v = rng.standard_normal(q * n)
    value, gradient = loss.value_gradient(z, y, weight)
    bend, found, b = (
        loss.curvature(z, y, weight),
        loss.inside(v, y, weight),
        loss.intercepts(z, y, weight),
    )
    assert np.isfinite(loss.conjugate(-gradient, y, weight))
    in_python()
    y = y.copy()  # what is known of the target is forgotten
    expected, slope = loss.value_gradient(z, y, weight)
    assert value == pytest.approx(expected, rel=1e-11, abs=1e-13)
    np.testing.assert_allclose(gradient, slope, atol=1e-8 * weight.max())
    np.testing.assert_allclose(bend, loss.curvature(z, y, weight), atol=1e-8 * weight.max())
    np.testing.assert_allclose(found, loss.inside(v, y, weight), atol=1e-12)
    if scale < 30:  # where classes separate, intercepts may be anywhere
        np.testing.assert_allclose(b, loss.intercepts(z, y, weight), atol=1e-9)


def test_margins_that_are_not_numbers_have_no_loss():
    """A fit of data that overflow would go on as if nothing were."""
    y, weight = classes(np.random.default_rng(0), 12, 3)
    for bad in (np.nan, np.inf):
        z = np.zeros(36)
        z[7] = bad
        with np.errstate(invalid="ignore"):
            assert np.isnan(Multinomial(3).value_gradient(z, y, weight)[0])


PROBLEMS = ["multinomial", "least_squares", "poisson", "huber"]


def grouped(code):
    return Grouped(code, code.max() + 1, np.ones(code.size, bool))


def problem(kind, seed, n, m, q, free):
    """The repeated columns and the loss of a small problem."""
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.standard_normal((n, m)))
    z = (X @ rng.standard_normal((m, q)) / max(m, 1) ** 0.5).T
    weight = np.tile(rng.gamma(2.0, 0.5, n), q)
    if kind == "multinomial":
        y = classes_as_outputs((z + rng.gumbel(size=z.shape)).argmax(axis=0), q)
        loss = Multinomial(q, free)
    else:
        each = {"least_squares": LeastSquares(), "poisson": Poisson(), "huber": Huber()}[kind]
        y = rng.poisson(np.exp(z)) * 1.0 if kind == "poisson" else z + rng.standard_normal(z.shape)
        y, loss = y.ravel(), Responses(each, q, free)
    return Repeated(as_design(X), q).gathered(slice(None)), Risk.centred(y, weight, loss, False)


@each_free
@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize(("n", "m", "q"), [(9, 0, 2), (8, 3, 2), (40, 7, 3), (65, 4, 6)])
def test_ridge(kind, n, m, q, free, in_python):
    """Elimination, splicing and certificates would rest on the solution of another problem."""
    Z, risk = problem(kind, n, n, m + 2, q, free)
    features = np.random.default_rng(n).permutation(m + 2)[:m]
    columns = (q * np.sort(features)[:, None] + np.arange(q)).ravel()
    penalty = np.repeat(np.geomspace(0.1, 10.0, m), q)
    options = {"columns": columns, "penalty": penalty, "tol": 1e-10, "of_value": True}
    start = np.zeros(columns.size)
    assert compiled_outputs(Z, risk, columns, penalty, start, 1e-3, False, np.inf) is not None
    found = ridge(Z, risk, **options)
    value = risk.value_gradient(found.margins)[0]
    assert value + 0.5 * penalty @ found.coef**2 == pytest.approx(found.objective, rel=1e-10)
    bound = risk.bound(found.dual, 0.5 * float(found.scores**2 @ (1.0 / penalty)))[0]
    assert found.bound == pytest.approx(bound, rel=1e-7)
    assert 0.0 <= found.objective - found.bound <= 1e-10 * found.objective
    np.testing.assert_allclose(Z.take(columns).times(found.coef), found.margins, atol=1e-9)
    warm = ridge(Z, risk, start=(found.coef, 0.0), **options)
    np.testing.assert_allclose(warm.coef, found.coef, atol=1e-4)
    in_python()
    expected = ridge(Z, risk, **options)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    np.testing.assert_allclose(found.coef, expected.coef, atol=2e-4)
    np.testing.assert_allclose(found.margins, expected.margins, atol=1e-3)


def test_responses_of_other_penalties_have_other_systems():
    """Least squares would solve all responses with the matrix of the first one."""
    Z, risk = problem("least_squares", 5, 30, 4, 3, True)
    penalty = np.random.default_rng(1).uniform(0.1, 9.0, 12)
    weight = risk.weight * np.repeat([1.0, 2.0, 0.3], 30)
    risk = Risk(risk.y, weight, risk.loss, False)
    found = ridge(Z, risk, penalty=penalty, tol=1e-12)
    X, Y = Z.repeated, risk.y.reshape(3, 30)
    for o, s in enumerate(weight.reshape(3, 30)):
        centred = X - s @ X / s.sum()
        system = centred.T @ (s[:, None] * centred) + np.diag(penalty[o::3])
        expected = np.linalg.solve(system, centred.T @ (s * Y[o]))
        np.testing.assert_allclose(found.coef[o::3], expected, atol=1e-10)


def test_a_fit_ends_where_its_bound_passes_a_value():
    """Exchanges would pay for exact fits of supports that cannot help."""
    Z, risk = problem("multinomial", 3, 60, 5, 4, True)
    best = ridge(Z, risk, tol=1e-10, of_value=True)
    cut = ridge(Z, risk, tol=1e-10, of_value=True, cutoff=0.5 * best.objective)
    assert 0.5 * best.objective <= cut.bound <= best.objective <= cut.objective


def test_parts_of_features_are_left_to_python():
    """Columns of some outputs alone would be taken for whole features."""
    Z, risk = problem("multinomial", 3, 30, 4, 3, True)
    options = 1.0, False, np.inf
    for columns in (np.arange(1, 4), np.array([0, 1]), np.array([0, 2, 1])):
        ones, start = np.ones(columns.size), np.zeros(columns.size)
        assert compiled_outputs(Z, risk, columns, ones, start, *options) is None
    part = Z.take(np.array([0, 1, 3, 4]))
    assert part.repeated is None
    assert ridge(part, risk).gap <= 1e-6


@pytest.mark.parametrize("size", [1e3, np.inf, np.nan])
def test_a_bad_start_is_left(size):
    """A solver would return NaN, or never end."""
    Z, risk = problem("multinomial", 3, 30, 2, 3, True)
    expected = ridge(Z, risk, tol=1e-9)
    with np.errstate(invalid="ignore"):
        found = ridge(Z, risk, start=(np.full(6, size), 0.0), tol=1e-9)
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)


def test_data_that_overflow_are_refused():
    """A solver would return NaN, or never end."""
    _, risk = problem("multinomial", 3, 30, 2, 3, True)
    Z = Repeated(as_design(np.asfortranarray(np.full((30, 2), 1e200))), 3).gathered(slice(None))
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        ridge(Z, risk, tol=0.0)


def test_ridges_that_differ_by_class_are_left_to_python():
    """Equal shifts of a coefficient would be taken to cost what they do not."""
    Z, risk = problem("multinomial", 3, 40, 3, 3, True)
    penalty = np.geomspace(0.1, 10.0, 9)
    assert compiled_outputs(Z, risk, None, penalty, np.zeros(9), 1e-3, False, np.inf) is None
    found = ridge(Z, risk, penalty=penalty, tol=1e-10, of_value=True)
    np.testing.assert_allclose(found.scores, penalty * found.coef, atol=1e-3)


@each_free
@pytest.mark.parametrize("swaps", [True, False])
@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize(("n", "m", "q", "k"), [(12, 9, 2, 3), (40, 24, 3, 20), (33, 12, 4, 1)])
def test_exchanges(kind, n, m, q, k, swaps, free):
    """Supports of several outputs would be others, or worse, than those of single steps."""
    Z, risk = problem(kind, n, n, m, q, free)
    code = np.repeat(np.arange(m), q)
    rng = np.random.default_rng(k)
    kept = np.sort(rng.choice(m, k // 4, replace=False))
    others = np.setdiff1d(np.arange(m), kept)
    units = np.sort(np.append(kept, rng.choice(others, k - kept.size, replace=False)))
    columns = (q * units[:, None] + np.arange(q)).ravel()
    found, expected = (GroupExchanges(Z, risk, grouped(code), keep=kept) for _ in range(2))
    best = found.improve(found.fit(columns), swaps=swaps)
    by_steps = expected.improve_by_steps(expected.fit(columns), swaps=swaps)
    np.testing.assert_array_equal(best.columns, by_steps.columns)
    assert best.objective == pytest.approx(by_steps.objective, rel=1e-7)
    assert np.isin(kept, code[best.columns]).all()
    np.testing.assert_allclose(
        Z.take(best.columns).times(best.fit.coef), best.fit.margins, atol=1e-9
    )
    np.testing.assert_allclose(Z.take(best.columns).dot(best.fit.dual), best.fit.scores, atol=1e-9)
    assert best.objective <= found.fit(columns).objective
    if swaps:
        assert found.improve(best) is best


@each_free
@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize(
    ("n", "m", "q", "sizes"), [(12, 9, 2, [3]), (40, 30, 3, [25, 11, 2]), (33, 12, 4, [12, 1])]
)
def test_elimination(kind, n, m, q, sizes, free):
    """A pool would be reduced to other features than the steps in Python leave."""
    Z, risk = problem(kind, n, n, m, q, free)
    groups = grouped(np.repeat(np.arange(m), q))
    exchanges = GroupExchanges(Z, risk, groups, keep=np.array([1]))
    left = np.delete(np.arange(m), [0] if max(sizes) < m else [])
    found = exchanges.eliminate((q * left[:, None] + np.arange(q)).ravel(), sizes)
    expected = exchanges.eliminate_by_steps(left, sizes)
    assert list(found) == list(expected) == sizes
    for size in sizes:
        assert found[size].tolist() == expected[size].tolist()
        assert found[size].size == q * size
        assert q in found[size]


@pytest.mark.parametrize("free", [True, False], ids=["intercepts", "origin"])
@pytest.mark.parametrize("kind", ["least_squares", "poisson", "huber"])
@pytest.mark.parametrize("unit", [None, 0.7], ids=["whole rows", "parts of rows"])
def test_choice_of_a_weight_of_responses(kind, free, unit, monkeypatch):
    """The final fit of responses would have another C, or other coefficients."""
    rng = np.random.default_rng(1)
    Z, risk = problem(kind, 5, 40, 4, 3, free)
    mean, std = (np.repeat(one, 3) for one in rng.uniform(0.1, 3.0, (2, 4)))
    units = None if unit is None else np.full(risk.weight.size, unit)
    found = refit(Z, mean, std, risk, unit=units)
    monkeypatch.setattr(final_fits, "comparison_at_once", lambda *_: None)
    expected = refit(Z, mean, std, risk, unit=units)
    assert found.C == expected.C
    assert found.loo_loss == pytest.approx(expected.loo_loss, rel=1e-3)
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-4, atol=1e-6)


@each_free
@pytest.mark.parametrize("kind", ["multinomial", "least_squares"])
@pytest.mark.parametrize(("n", "m", "q", "T"), [(9, 4, 2, 1), (40, 9, 3, 3), (70, 12, 6, 4)])
def test_problems_over_blocks(kind, n, m, q, T, free, in_python):
    """The cutting plane would scan for other features than those that its blocks lack."""
    Z, risk = problem(kind, n, n, m, q, free)
    rng = np.random.default_rng(m)
    of_features = np.eye(T)[np.append(np.arange(T), rng.integers(0, T, m - T))]
    of_features[rng.permutation(m)[: m // 3]] = 1.0  # in all blocks
    membership = np.repeat(of_features, q, axis=0)
    risk = risk.times(0.3)
    blocks = BlockProblem(Z, membership, risk, risk.null())
    start = State(np.zeros(m * q), 0.0, np.full(T, 1.0 / T))
    assert outputs_over_blocks(Z, risk)
    found = newton(blocks, start, 1e-7)
    assert found.status is Status.CONVERGED
    assert found.objective - found.bound <= 1e-7 * blocks.scale
    state, z = found.state, Z.times(found.state.coef)
    value = risk.value_gradient(z)[0] + penalty(state.coef, membership @ state.block_weight)
    assert found.objective == pytest.approx(value, rel=1e-10)
    assert state.block_weight.min() >= 0.0
    assert state.block_weight.sum() == pytest.approx(1.0)
    bound = bound_of(blocks, found.dual, Z.dot(found.dual))
    assert bound <= found.objective * (1.0 + 1e-12)
    assert [step.objective for step in found.history] == sorted(
        (step.objective for step in found.history), reverse=True
    )
    again = newton(blocks, state, 1e-6)
    assert again.n_iter == 0
    in_python()
    expected = newton(blocks, start, 1e-7)
    assert found.objective == pytest.approx(expected.objective, abs=2e-7 * blocks.scale)
    assert found.n_iter == expected.n_iter
    np.testing.assert_allclose(found.dual, expected.dual, atol=1e-6 * risk.weight.max())
    np.testing.assert_allclose(state.coef, expected.state.coef, atol=1e-6)


def test_groups_of_several_features_are_exchanged_as_a_whole():
    """Features would be taken for groups where classes share these."""
    Z, risk = problem("multinomial", 3, 40, 8, 3, True)
    code = np.repeat(np.arange(4), 6)
    exchanges = GroupExchanges(Z, risk, grouped(code))
    best = exchanges.improve(exchanges.fit(np.arange(6)))
    assert np.unique(code[best.columns]).size == 1
    assert best.columns.size == 6


@each_free
@pytest.mark.parametrize("kind", ["multinomial", "least_squares", "poisson"])
@pytest.mark.parametrize(("n", "m", "q"), [(9, 1, 2), (20, 4, 3), (65, 6, 5)])
def test_coupling(kind, n, m, q, free, in_python):
    """Newton steps would be those of another curvature, and many."""
    Z, risk = problem(kind, n, n, m, q, free)
    z = np.random.default_rng(0).standard_normal(q * n)
    found = risk.coupling(Z, z)
    # Values of the loss along lines tell the second derivative.
    gram = Z.gram(risk.curvature(z))
    matrix = gram if found is None else gram - found
    for direction in np.random.default_rng(1).standard_normal((3, q * m)):
        step = 1e-3 * Z.times(direction)
        values = [risk.value_gradient(z + t * step)[0] for t in (-1.0, 0.0, 1.0)]
        bend = (values[0] - 2.0 * values[1] + values[2]) / 1e-6
        assert direction @ matrix @ direction == pytest.approx(bend, rel=1e-3)
    hessian = risk.hessian(Z, z)
    np.testing.assert_allclose(hessian, matrix, atol=1e-12 * np.abs(gram).max())
    in_python()
    part = Z.take(np.arange(q * m)[::-1])  # of which no array is known
    expected = risk.coupling(part, z.copy())
    np.testing.assert_allclose(
        hessian[::-1, ::-1], risk.hessian(part, z.copy()), atol=1e-8 * np.abs(gram).max()
    )
    if found is not None:
        np.testing.assert_allclose(found[::-1, ::-1], expected, atol=1e-8 * np.abs(gram).max())


@each_free
def test_responses_of_least_squares_share_a_matrix(free):
    """Steps of all responses at once would be those of other problems."""
    Z, risk = problem("least_squares", 4, 30, 5, 3, free)
    weight = np.tile(risk.weight[:30], 3)
    alike = Risk(risk.y, weight, risk.loss, False)
    shared = alike.shared_hessian(Z)
    gram = Z.gram(weight)
    taken = alike.coupling(Z, np.zeros(90))
    np.testing.assert_allclose(
        np.kron(shared, np.eye(3)), gram if taken is None else gram - taken, atol=1e-12
    )
    np.testing.assert_allclose(alike.hessian(Z, np.zeros(90)), np.kron(shared, np.eye(3)))
    other = Risk(risk.y, weight * np.repeat([1.0, 2.0, 1.0], 30), risk.loss, False)
    assert other.shared_hessian(Z) is None
    assert problem("poisson", 4, 30, 5, 3, free)[1].shared_hessian(Z) is None


@pytest.mark.parametrize("kind", ["multinomial", "least_squares"])
def test_the_model_of_the_loss_is_that_of_all_coefficients(kind):
    """Newton steps of the relaxation would forget coefficients that they set to 0."""
    Z, risk = problem(kind, 7, 40, 6, 3, True)
    u = np.random.default_rng(2).standard_normal(18)
    u[:3] = u[9:12] = 0.0
    units = Grouped(np.repeat(np.arange(6), 3), 6, np.ones(18, bool))
    relaxed = RelaxationProblem(Z, units, risk, 1, 2, np.inf)
    point = relaxed.at(u, 0.0)
    _, scores, *_ = relaxed.bound(point)
    H = relaxed._curvature(point, Z)
    near = relaxed._near(point, scores)
    assert set(near) >= {1, 2, 4, 5}
    columns = units.features(near)
    matrix, right = relaxed._model(point, scores, columns, relaxed._gathered(columns))
    np.testing.assert_allclose(matrix, H[np.ix_(columns, columns)], atol=1e-10)
    np.testing.assert_allclose(right, (H @ u - Z.dot(point.gradient))[columns], atol=1e-10)


def test_every_output_is_balanced_by_itself():
    """A dual point of several outputs would not be feasible, and its bound none."""
    V = np.random.default_rng(0).standard_normal((6, 40))
    V[0], V[1], V[2], V[3, 1:] = 0.0, np.abs(V[1]), -np.abs(V[2]), 0.0
    np.testing.assert_allclose(balance_each(V), [balance(v) for v in V], atol=1e-14)
    np.testing.assert_allclose(balance_each(V).sum(axis=1), 0.0, atol=1e-12)


@each_free
@pytest.mark.parametrize("share", [1.0, 0.3, 1e-3, 1.5, 0.0])
@pytest.mark.parametrize("quadratic", [1e-6, 1.0, 300.0])
def test_dual(share, quadratic, free, in_python):
    """A bound would be another number than the one that the formulas prove."""
    rng = np.random.default_rng(0)
    y, weight = classes(rng, 30, 4)
    loss = Multinomial(4, free)
    v = -share * loss.value_gradient(3.0 * rng.standard_normal(120), y, weight)[1]
    scale, value = loss.best_scale(v, y, weight, quadratic), loss.conjugate(v, y, weight)
    at_best = loss.conjugate(scale * v, y, weight)
    uneven = loss.conjugate(v + np.eye(1, 120, 3)[0], y, weight)
    in_python()
    assert scale == pytest.approx(loss.best_scale(v, y, weight, quadratic), rel=1e-6)
    assert value == pytest.approx(loss.conjugate(v, y, weight), rel=1e-11, abs=1e-13)
    assert at_best == pytest.approx(loss.conjugate(scale * v, y, weight), rel=1e-11, abs=1e-13)
    assert uneven == np.inf

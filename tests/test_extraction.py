"""Proofs of least squares with a part of the loss's curvature in the ridge."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import zeronorm
from zeronorm import BudgetRegressor
from zeronorm.core.results import Status
from zeronorm.persistence import load_certificate, save_certificate
from zeronorm.solvers import certify
from zeronorm.solvers import curvature as extraction
from zeronorm.solvers.quadratic import ShareProblem, least_between
from zeronorm.verification import CertificateError
from zeronorm.verification.bound import SHARE, Extraction, Units
from zeronorm.verification.data import read_data


def drawn(
    seed: int, n: int = 40, p: int = 8, outputs: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return correlated columns of different scales, responses, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, 1:] += 0.7 * X[:, :-1]
    B = rng.standard_normal((p, outputs)) * (rng.random((p, 1)) < 0.5)
    y = X @ B + 2.0 * rng.standard_normal((n, outputs)) + 1.0
    X = X * rng.uniform(0.5, 3.0, p) + rng.uniform(-2.0, 2.0, p)
    return X, y[:, 0] if outputs == 1 else y, rng.integers(1, 4, n).astype(np.float64)


def optima(
    X: np.ndarray, y: np.ndarray, s: np.ndarray, C: float, k: int, scaled: bool, free: bool
) -> dict[tuple[int, ...], float]:
    """Return the least objective on every support of k features."""
    s = C * s
    Y = y.reshape(len(y), -1)
    mean = s @ X / s.sum()
    Z = (X - mean) / np.sqrt(s @ (X - mean) ** 2 / s.sum()) if scaled else X
    if free:
        Y, Z = Y - s @ Y / s.sum(), Z - s @ Z / s.sum()
    found = {}
    for some in combinations(range(X.shape[1]), k):
        own = Z[:, some]
        u = np.linalg.solve(own.T @ (s[:, None] * own) + np.eye(k), own.T @ (s[:, None] * Y))
        found[some] = 0.5 * float((s[:, None] * (Y - own @ u) ** 2).sum() + (u**2).sum())
    return found


def fitted(X: np.ndarray, y: np.ndarray, s: np.ndarray, k: int, **options: Any) -> Any:
    """Return a model of k features."""
    options = {"C": 0.3} | options
    return BudgetRegressor(k, **options).fit(X, y, sample_weight=s)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every search of least squares extract curvature, at its first node."""
    monkeypatch.setattr(certify, "PROOF_CURVATURE", replace(certify.PROOF_CURVATURE, first_nodes=0))
    monkeypatch.setattr(extraction, "EXTRACTION", replace(extraction.EXTRACTION, worth=-np.inf))


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("seed", [*range(4)])  # fmt: skip
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize(("scaled", "free"), [(True, True), (False, True), (False, False)])
def test_proof_finds_the_optimum_of_enumeration(
    seed: int, outputs: int, scaled: bool, free: bool
) -> None:
    """A bound with too much curvature would end the search above the optimum."""
    X, y, s = drawn(seed, outputs=outputs)
    model = fitted(X, y, s, 3, standardize=scaled, fit_intercept=free)
    proof = zeronorm.prove(model, X, y, gap=0, time_limit=60.0, sample_weight=s)
    every = optima(X, y, s, 0.3, 3, scaled, free)
    best = min(every, key=every.__getitem__)
    certificate = proof.certificate
    assert certificate.proven
    assert tuple(certificate.support) == best
    assert certificate.objective == pytest.approx(every[best], rel=1e-9)
    found = zeronorm.verify(certificate, X, y, sample_weight=s)
    assert found["gap"] <= 1e-9
    assert found["rounding"] <= 1e-9 * found["objective"]


@pytest.mark.parametrize("seed", [*range(3)])  # fmt: skip
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize(("scaled", "free"), [(True, True), (False, True), (False, False)])
def test_verifier_bounds_every_model_at_any_dual_point_and_any_diagonal(
    seed: int, outputs: int, scaled: bool, free: bool
) -> None:
    """A forged diagonal, or a forged dual point, would show a bound above a model."""
    X, y, s = drawn(seed, outputs=outputs)
    k, rng = 3, np.random.default_rng(100 + seed)
    certificate = fitted(X, y, s, k, standardize=scaled, fit_intercept=free).certificate_
    data = read_data(X, y, s, certificate)
    units, every = Units(data, certificate), optima(X, y, s, 0.3, k, scaled, free)
    weight = data.weight[: len(X)]
    Z = data.X.take(np.arange(8))
    H = Z.T @ (weight[:, None] * Z)
    for kind in ("even", "uneven", "some"):
        part = rng.uniform(0.1, 1.0, 8) * np.diag(H) if kind != "even" else np.ones(8)
        if kind == "some":
            part[rng.permutation(8)[:3]] = 0.0
        root = np.sqrt(np.maximum(part, 1e-300))
        own = np.flatnonzero(part)
        inner = (H / np.outer(root, root))[np.ix_(own, own)]
        part *= (1.0 - 2.0 * SHARE) * np.linalg.eigvalsh(inner)[0]  # as much as there is
        extracted = Extraction.of(data, certificate, part)
        with pytest.raises(CertificateError, match="more than the curvature"):
            Extraction.of(data, certificate, part * (1.0 + 4.0 * SHARE))
        every_unit, none = np.arange(8), np.empty(0, np.int64)
        plain, covered = (
            units.node(data.feasible(certificate.dual), none, every_unit, one)
            for one in (None, extracted)
        )
        # Models with features that have no part are bounded without it, all of them.
        assert (covered.bound == plain.bound) == (kind == "some")
        for spread in (0.0, 0.3, 3.0):
            v = certificate.dual.ravel() * (1.0 + spread * rng.standard_normal(data.y.size))
            v = v.reshape(outputs, -1)
            v = (v - weight * v.sum(axis=1, keepdims=True) / weight.sum() if free else v).ravel()
            fixed = np.array([own[0]])
            free_units = np.setdiff1d(own, fixed)
            node = units.node(data.feasible(v), fixed, free_units, extracted)
            models = {
                some: value
                for some, value in every.items()
                if own[0] in some and np.isin(some, own).all()
            }
            assert node.bound <= min(models.values()) + node.rounding
            for limit in np.quantile(list(models.values()), [0.0, 0.2, 0.6]):
                out = free_units[node.outside() > limit * (1 + 1e-9)]
                into = free_units[node.inside() > limit * (1 + 1e-9)]
                for some, value in models.items():
                    if value <= limit:
                        assert not np.isin(out, some).any()
                        assert np.isin(into, some).all()


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("free", [True, False])
def test_verifier_shows_what_the_search_has_shown(outputs: int, free: bool) -> None:
    """An honest tree would be refused, as its replay lost digits that the search had."""
    X, y, s = drawn(5, n=3000, outputs=outputs)
    X *= 30.0
    k, D = 3, np.linspace(1.0, 200.0, 8)
    certificate = fitted(X, y, s, k, standardize=False, fit_intercept=free).certificate_
    data = read_data(X, y, s, certificate)
    units, extracted = Units(data, certificate), Extraction.of(data, certificate, D)
    n, Y, weight = len(X), data.y.reshape(outputs, -1).T, data.weight[: len(X), None]
    u = np.random.default_rng(0).standard_normal((8, outputs))
    Z = data.X.take(np.arange(8))
    residual = Y - Z @ u
    dual = data.feasible((weight * residual).T.ravel())
    node = units.node(dual, np.empty(0, np.int64), np.arange(8), extracted)
    scores = Z.T @ dual.reshape(outputs, n).T + D[:, None] * u
    square = np.sort((scores**2).sum(axis=1) / (1.0 + D))
    loss = 0.5 * float((weight * residual * (Y + Z @ u)).sum())  # -conjugate
    expected = loss + 0.5 * float((D[:, None] * u**2).sum()) - 0.5 * square[-k:].sum()
    assert node.bound == pytest.approx(expected, rel=1e-12)


def weak(seed: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return a problem of weak ridge and much noise: columns, target and a model."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 30))
    y = X @ np.where(np.arange(30) < 15, 0.4, 0.0) + 3.0 * rng.standard_normal(200)
    return X, y, BudgetRegressor(5, C=1.0).fit(X, y)


@pytest.mark.usefixtures("at_once")
def test_diagonal_makes_trees_shorter_and_is_replayed() -> None:
    """Without it the tree is many times as long, and the tree with it shows nothing."""
    X, y, model = weak(0)
    sharp = zeronorm.prove(model, X, y, gap=0.01, time_limit=60.0)
    tree = sharp.certificate.tree
    assert tree is not None
    assert (tree.diagonal > 0).all()
    zeronorm.verify(sharp.certificate, X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extraction, "EXTRACTION", replace(extraction.EXTRACTION, worth=np.inf))
        plain = zeronorm.prove(model, X, y, gap=0.01, time_limit=60.0, max_nodes=400)
    assert not plain.certificate.tree.diagonal.size
    assert 4 * sharp.history[-1].n_nodes < plain.history[-1].n_nodes
    for diagonal in (np.empty(0), 0.9 * tree.diagonal, np.roll(tree.diagonal, 1)):
        forged = replace(sharp.certificate, tree=replace(tree, diagonal=diagonal))
        with pytest.raises(CertificateError, match=r"shows only|more than the curvature"):
            zeronorm.verify(forged, X, y)


@pytest.mark.usefixtures("at_once")
def test_forged_trees_with_a_diagonal_are_refused() -> None:
    """A tree that leaves models out, or whose dual points show less, would be a proof."""
    X, y, model = weak(1)
    found = zeronorm.prove(model, X, y, gap=0.002, time_limit=60.0).certificate
    tree = found.tree
    assert tree is not None
    assert tree.diagonal.any()
    half = np.flatnonzero(tree.feature >= 0)[0]
    feature, dual = tree.feature.copy(), tree.dual.copy()
    feature[half] += 1
    dual[-1] *= 50.0
    for changed in (
        {"tree": None},
        {"tree": replace(tree, feature=feature)},
        {"tree": replace(tree, inside=np.ones_like(tree.inside))},
        {"tree": replace(tree, dual=dual)},
        {"tree": replace(tree, row=np.where(tree.row > 0, 0, tree.row))},
        {"bound": found.bound * 1.01},
    ):
        with pytest.raises(CertificateError):
            zeronorm.verify(replace(found, **changed), X, y)


@pytest.mark.usefixtures("at_once")
def test_search_goes_on_from_a_tree_with_a_diagonal() -> None:
    """A resumed search would start anew, or end at another optimum."""
    X, y, model = weak(1)
    options = {"gap": 0.002, "time_limit": 60.0}
    part = zeronorm.prove(model, X, y, max_nodes=10, **options)
    zeronorm.verify(part.certificate, X, y)
    rest = zeronorm.prove(model, X, y, resume=part, **options)
    whole = zeronorm.prove(model, X, y, **options)
    assert rest.certificate.gap <= 0.002
    assert rest.certificate.objective == pytest.approx(whole.certificate.objective, rel=2e-3)
    zeronorm.verify(rest.certificate, X, y)


@pytest.mark.usefixtures("at_once")
def test_an_interrupt_loses_nothing_where_the_search_begins_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A user who ends a proof between its two searches would lose the first one."""
    X, y, model = weak(0)
    begun: list[Any] = []

    def begin(*given: Any) -> Any:
        if begun:
            raise KeyboardInterrupt
        begun.append(prove_search(*given))
        return begun[0]

    prove_search = certify.BranchAndBound
    monkeypatch.setattr(certify, "BranchAndBound", begin)
    monkeypatch.setattr(extraction, "EXTRACTION", replace(extraction.EXTRACTION, worth=-np.inf))
    monkeypatch.setattr(certify, "PROOF_CURVATURE", replace(certify.PROOF_CURVATURE, first_nodes=3))
    proof = zeronorm.prove(model, X, y, gap=0.0)
    assert proof.status is Status.INTERRUPTED
    assert proof.certificate.tree.parent.size > 3
    assert zeronorm.verify(proof.certificate, X, y)["nodes"] >= 3


def test_forced_features_have_a_part_too() -> None:
    """Forced features are in all models of all nodes: their coefficients count fully."""
    X, y, s = drawn(2)
    model = fitted(X, y, s, 3, forced_features=[6])
    proof = zeronorm.prove(model, X, y, gap=0, time_limit=60.0, sample_weight=s)
    every = {some: v for some, v in optima(X, y, s, 0.3, 3, True, True).items() if 6 in some}
    assert tuple(proof.certificate.support) == min(every, key=every.__getitem__)
    zeronorm.verify(proof.certificate, X, y, sample_weight=s)


@pytest.mark.usefixtures("at_once")
def test_diagonal_is_saved_and_loaded(tmp_path: Any) -> None:
    """A file without it would hold a tree that shows nothing."""
    X, y, s = drawn(3, outputs=2)
    proof = zeronorm.prove(fitted(X, y, s, 3), X, y, gap=0, sample_weight=s)
    tree = proof.certificate.tree
    assert tree is not None
    assert tree.diagonal.any()
    path = save_certificate(proof.certificate, tmp_path / "one.certificate", X, y, sample_weight=s)
    loaded = load_certificate(path).certificates[0]
    assert loaded.tree is not None
    assert np.array_equal(loaded.tree.diagonal, tree.diagonal)
    zeronorm.verify(loaded, X, y, sample_weight=s)


def test_diagonal_is_refused_where_it_bounds_nothing() -> None:
    """A diagonal of another problem, or of no numbers, would be taken for a proof."""
    X, y, s = drawn(3)
    proof = zeronorm.prove(fitted(X, y, s, 3), X, y, gap=0, sample_weight=s)
    certificate = proof.certificate
    tree = certificate.tree
    assert tree is not None
    one = np.full(8, 1e-3)
    zeronorm.verify(
        replace(certificate, tree=replace(tree, diagonal=np.zeros(8))), X, y, sample_weight=s
    )
    wrong = {"negative": -one, "finite": one * np.nan, "of 3 features": np.ones(3)}
    for message, diagonal in wrong.items():
        with pytest.raises(CertificateError, match=message):
            zeronorm.verify(
                replace(certificate, tree=replace(tree, diagonal=diagonal)), X, y, sample_weight=s
            )
    signs = np.zeros(8, np.int64)
    signs[certificate.support] = np.sign(certificate.coef)
    others = [
        fitted(X, y, s, 3, loss="huber"),
        fitted(X, y, s, 3, signs=signs),
        fitted(X, y, s, 3, covariates=[0]),
    ]
    for model in others:
        found = zeronorm.prove(model, X, y, gap=0, sample_weight=s).certificate
        kept = found.tree if found.tree is not None else tree
        with pytest.raises(CertificateError, match="is of least squares"):
            zeronorm.verify(replace(found, tree=replace(kept, diagonal=one)), X, y, sample_weight=s)


@pytest.mark.parametrize("q", [1, 2, 4])
@pytest.mark.parametrize("n_fixed", [0, 2])
def test_shares_reach_the_value_of_their_dual(q: int, n_fixed: int) -> None:
    """A gap that does not close would make every node end at its first step."""
    rng = np.random.default_rng(q)
    A, R = rng.standard_normal((60, 20)), 10.0 * rng.standard_normal((20, 3))
    problem = ShareProblem(A.T @ A / 20, R, n_fixed, q)
    found = problem.minimise(np.zeros_like(R), 1e-12, np.inf, 0.0)
    assert found.value - found.bound <= 1e-9
    assert found.share.sum() == pytest.approx(n_fixed + q)
    u, d = found.coef, found.share
    used = d > 0
    penalty = 0.5 * ((u[used] ** 2).sum(axis=1) / d[used]).sum()
    value = penalty + 0.5 * float((u * (A.T @ A / 20 @ u)).sum()) - float((R * u).sum())
    assert found.value == pytest.approx(value, rel=1e-9)
    for _ in range(50):  # no other shares are better
        other, way = d.copy(), rng.random()
        other[n_fixed:] = way * d[n_fixed:] + (1.0 - way) * rng.permutation(d[n_fixed:])
        assert problem._at(other).value >= found.value - 1e-9


def test_newton_step_ends_at_the_constraints() -> None:
    """A step beyond them would be one to shares that no dual bounds."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        A, slope = rng.standard_normal((12, 8)), 10.0 * rng.standard_normal(8)
        low, high = -rng.random(8), rng.random(8)
        H = A.T @ A
        x = least_between(H, slope, low, high)
        assert abs(x.sum()) <= 1e-9
        assert ((x >= low - 1e-12) & (x <= high + 1e-12)).all()
        assert 0.5 * x @ H @ x + slope @ x < 0


@pytest.mark.parametrize("seed", [3, 4, 16])
def test_search_for_a_diagonal_ends_where_columns_nearly_depend_on_each_other(seed: int) -> None:
    """Steps would be halved for ever, where rounding leaves no point inside the constraints."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((60, 20))
    A[:, 19] = A[:, :5].sum(axis=1) + 10.0 ** rng.uniform(-9, -7) * rng.standard_normal(60)
    H, R = A.T @ A, A.T @ rng.standard_normal((60, 1))
    found, value = extraction.best_diagonal(H, R, 0, 5, 100.0, np.inf)
    assert found.size in (0, 20)
    assert not np.isnan(value)

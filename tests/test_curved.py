"""Proofs of the logistic loss with a part of its curvature in the ridge."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zeronorm
from zeronorm import BudgetClassifier
from zeronorm.core.results import Certificate, Minorant, Proof, Status
from zeronorm.inspection.alternatives import NearOptimal, near_optimal
from zeronorm.persistence import load_certificate, save_certificate
from zeronorm.solvers import certify
from zeronorm.solvers import curvature as curved
from zeronorm.solvers.curvature import Margins, Tailed, reach
from zeronorm.verification import CertificateError


def drawn(seed: int, n: int = 200, p: int = 9) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated columns and classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, 1:] += 0.5 * X[:, :-1]
    chance = 1.0 / (1.0 + np.exp(-0.4 * X[:, ::3].sum(axis=1)))
    return X * rng.uniform(0.5, 3.0, p), (rng.random(n) < chance).astype(int)


def optima(
    X: np.ndarray, y: np.ndarray, C: float, k: int, scaled: bool, free: bool
) -> dict[tuple[int, ...], tuple[float, np.ndarray]]:
    """Return the least objective on every support of k features, and its margins."""
    signs = np.where(y > 0, 1.0, -1.0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0) if scaled else X
    found = {}
    for some in combinations(range(X.shape[1]), k):
        own = np.column_stack([Z[:, some], np.ones(len(y))[:, None] * free])
        ridge, u = np.diag([1.0] * k + [0.0 if free else 1.0]), np.zeros(k + 1)
        for _ in range(50):
            share = 1.0 / (1.0 + np.exp(signs * (own @ u)))
            slope = ridge @ u - C * own.T @ (signs * share)
            bend = ridge + C * own.T @ ((share * (1.0 - share))[:, None] * own)
            u = u - np.linalg.solve(bend, slope)
        z = own @ u
        value = C * np.logaddexp(0.0, -signs * z).sum() + 0.5 * float(u[:k] @ u[:k])
        found[some] = float(value), z
    return found


def searched(X: np.ndarray, y: np.ndarray, k: int = 3, **options: Any) -> Proof:
    """Return a proof for a model of k features."""
    kept = {name: options.pop(name) for name in ("gap", "max_nodes", "resume") if name in options}
    model = BudgetClassifier(k, **({"C": 0.5, "calibrate": False} | options)).fit(X, y)
    return zeronorm.prove(model, X, y, **({"gap": 0, "time_limit": 60.0} | kept))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every search of the logistic loss take curvature, at its first node."""
    monkeypatch.setattr(certify, "PROOF_CURVATURE", replace(certify.PROOF_CURVATURE, first_nodes=0))
    monkeypatch.setattr(
        certify, "PROOF_CURVATURE", replace(certify.PROOF_CURVATURE, rows_a_node=1 << 20)
    )
    monkeypatch.setattr(certify, "PROOF_CURVATURE", replace(certify.PROOF_CURVATURE, quick=np.inf))
    monkeypatch.setattr(curved, "CURVED", replace(curved.CURVED, worth=0.01))
    monkeypatch.setattr(curved, "CURVED", replace(curved.CURVED, costly=0))


def with_minorants(proof: Proof) -> Certificate:
    """Return the certificate of a proof whose bounds took curvature."""
    tree = proof.certificate.tree
    assert tree is not None
    assert tree.minorants
    return proof.certificate


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("seed", [*range(3)])  # fmt: skip
@pytest.mark.parametrize(("scaled", "free"), [(True, True), (False, True), (False, False)])
def test_proof_finds_the_optimum_of_enumeration(seed: int, scaled: bool, free: bool) -> None:
    """A bound with too much curvature would end the search above the optimum."""
    X, y = drawn(seed)
    proof = searched(X, y, standardize=scaled, fit_intercept=free)
    best = min(value for value, _ in optima(X, y, 0.5, 3, scaled, free).values())
    assert proof.status is Status.OPTIMAL
    assert proof.certificate.objective == pytest.approx(best, rel=1e-8)
    assert zeronorm.verify(proof.certificate, X, y)["gap"] <= 1e-9


@pytest.mark.usefixtures("at_once")
def test_forced_features_are_in_all_models_of_the_bounds() -> None:
    """Ends of margins of models without a forced feature would be others."""
    X, y = drawn(5)
    proof = searched(X, y, forced_features=[7, 1])
    found = optima(X, y, 0.5, 3, True, True)
    best = min(value for some, (value, _) in found.items() if {1, 7} <= set(some))
    certificate = with_minorants(proof)
    assert certificate.objective == pytest.approx(best, rel=1e-8)
    zeronorm.verify(certificate, X, y)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("seed", range(3))
def test_lists_of_models_near_the_best_one_are_complete(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ends of margins of better models alone would rule out some that are nearly as good."""
    taken, extracted = [], curved.LogisticProblem.of

    def noted(*given: Any) -> Any:
        taken.append(extracted(*given))
        return taken[-1]

    monkeypatch.setattr(curved.LogisticProblem, "of", noted)
    X, y = drawn(seed)
    near = near_optimal(X, y, 3, within=0.05, C=0.5)
    assert isinstance(near, NearOptimal)
    values = {some: value for some, (value, _) in optima(X, y, 0.5, 3, True, True).items()}
    limit = 1.05 * min(values.values())
    assert near.complete
    assert taken[0] is not None
    assert all(one.objective >= limit for one in taken[0].minorants)
    assert {tuple(one) for one in near.supports.tolist()} == {
        some for some, value in values.items() if value <= limit
    }


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_no_better_model_has_margins_beyond_the_ends(seed: int, free: bool) -> None:
    """An end that is too near would let a minorant be above the loss of a better model."""
    X, y = drawn(seed, n=80, p=7)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    signs, weight, C, k = np.where(y > 0, 1.0, -1.0), np.full(80, 0.5), 0.5, 2
    found = sorted(optima(X, y, C, k, False, free).values(), key=lambda pair: pair[0])
    upper, rng = found[len(found) // 2][0], np.random.default_rng(seed)
    problem = Margins(X, Tailed.without(signs, weight), np.zeros(7), 0, k, free, np.abs(X).max())
    b, widths = float(np.log(y.mean() / (1.0 - y.mean()))) * free, []
    for away in (0.0, 0.05, 0.2):  # any point will do to move from
        ends = reach(problem, away * rng.standard_normal(7), b, upper, np.inf)
        if ends is None:
            continue
        widths.append(np.median(ends[1] - ends[0]))
        for value, z in found:
            if value <= upper:
                assert (ends[0] <= z).all()
                assert (z <= ends[1]).all()
    assert min(widths) < 60.0  # an end that is nowhere is right, and of no use


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_tails_are_below_the_loss_up_to_the_ends(sign: float) -> None:
    """A tail above the loss proves what is not true; one of no curvature proves nothing."""
    rng = np.random.default_rng(3)
    n = 40
    y, weight = np.full(n, sign), rng.uniform(0.5, 2.0, n)
    low, high = -rng.uniform(0.0, 12.0, n), rng.uniform(0.0, 12.0, n)
    loss = Tailed.within(y, weight, rng.standard_normal(n), low, high)
    z = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, 501)
    for i in range(n):
        own = Tailed(y[i : i + 1], weight[i : i + 1], loss.core, loss.bend[i : i + 1])
        value, slope, bend = own.at(z[i : i + 1])
        exact = weight[i] * np.logaddexp(0.0, -y[i] * z[i])
        assert (value <= exact * (1.0 + 1e-12)).all()
        assert (bend >= loss.bend[i]).all()
        np.testing.assert_allclose(slope[0], np.gradient(value, z[i]), atol=0.05 * weight[i])
        inner = np.abs(z[i]) < loss.core
        np.testing.assert_allclose(value[inner], exact[inner], rtol=1e-12)
    assert (loss.bend > 1e-3 * weight).all()


def test_margins_are_where_a_dual_point_is_minus_the_slope() -> None:
    """Bounds take the margins of a dual point from here, in the core and in the tails."""
    rng = np.random.default_rng(4)
    y, weight, z = rng.choice([-1.0, 1.0], 50), rng.uniform(0.5, 2.0, 50), rng.normal(0, 4, 50)
    loss = Tailed.within(y, weight, 0.3 * z, np.full(50, -9.0), np.full(50, 9.0))
    assert 0.0 < loss.core < 3.0
    np.testing.assert_allclose(loss.margins(-loss.at(z)[1]), z, rtol=1e-9)


def shown(monkeypatch: pytest.MonkeyPatch, worth: float) -> Proof:
    monkeypatch.setattr(certify, "PROOF_CURVATURE", replace(certify.PROOF_CURVATURE, first_nodes=0))
    monkeypatch.setattr(
        certify, "PROOF_CURVATURE", replace(certify.PROOF_CURVATURE, rows_a_node=1 << 20)
    )
    monkeypatch.setattr(certify, "PROOF_CURVATURE", replace(certify.PROOF_CURVATURE, quick=np.inf))
    monkeypatch.setattr(curved, "CURVED", replace(curved.CURVED, costly=0))
    monkeypatch.setattr(curved, "CURVED", replace(curved.CURVED, worth=worth))
    return searched(*drawn(1, n=400, p=30), k=5, C=1.0, max_nodes=1)


def test_bounds_with_curvature_are_higher(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it is for: where classes overlap the first node closes a good part of the gap."""
    without, taken = shown(monkeypatch, np.inf), shown(monkeypatch, 0.01)
    assert without.certificate.tree is not None
    assert not without.certificate.tree.minorants
    with_minorants(taken)
    assert taken.certificate.gap < 0.9 * without.certificate.gap


@pytest.mark.usefixtures("at_once")
def test_a_search_goes_on_and_a_file_keeps_its_minorants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without them nobody could replay the tree of a file, nor go on from it."""
    X, y = drawn(2, n=300, p=14)
    first = searched(X, y, k=4, max_nodes=5)
    certificate = with_minorants(first)
    again = load_certificate(save_certificate(certificate, tmp_path / "a", X, y)).certificates[0]
    assert again is not None
    zeronorm.verify(again, X, y)
    for one, other in zip(with_minorants(first).tree.minorants, again.tree.minorants, strict=True):
        for name in Minorant.__slots__:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    monkeypatch.setattr(
        certify, "PROOF_CURVATURE", replace(certify.PROOF_CURVATURE, share=0.0)
    )  # what was found takes no time that there is not
    more = searched(X, y, k=4, resume=replace(first, certificate=again), max_nodes=6)
    assert more.certificate.bound >= (1.0 - 1e-12) * again.bound
    zeronorm.verify(with_minorants(more), X, y)
    rest = searched(X, y, k=4, resume=replace(first, certificate=again))
    assert rest.status is Status.OPTIMAL
    zeronorm.verify(with_minorants(rest), X, y)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("changes", [{"coef": 3}, {"diagonal": 3}, {"features": 3}, {"start": 1e9}])
def test_a_search_goes_on_from_damaged_minorants(changes: dict[str, Any]) -> None:
    """An error of arrays would be all that their owner hears."""
    X, y = drawn(2, n=300, p=14)
    first = searched(X, y, k=4, max_nodes=5)
    certificate = with_minorants(first)
    assert certificate.tree is not None
    last = certificate.tree.minorants[-1]
    if start := changes.pop("start", 0.0):
        damaged = replace(last, coef=start * last.coef)
    else:
        damaged = replace(last, **{name: getattr(last, name)[:n] for name, n in changes.items()})
    tree = replace(certificate.tree, minorants=(*certificate.tree.minorants[:-1], damaged))
    rest = searched(X, y, k=4, resume=replace(first, certificate=replace(certificate, tree=tree)))
    assert rest.status is Status.OPTIMAL
    zeronorm.verify(rest.certificate, X, y)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(("unit", "takes"), [(1e2, True), (1e5, False)])
def test_columns_of_other_units_are_proven_and_verified(unit: float, takes: bool) -> None:
    """A verifier, which counts rounding, would refuse a proof that is right."""
    X, y = drawn(2, n=300, p=14)
    X[:, 3] *= unit
    proof = searched(X, y, k=4, C=0.1, standardize=False)
    assert proof.status is Status.OPTIMAL
    assert proof.certificate.tree is not None
    assert bool(proof.certificate.tree.minorants) == takes
    zeronorm.verify(proof.certificate, X, y, rtol=1e-5)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("start", [1e300, 1e9])
def test_moves_from_where_no_curvature_is_left_are_refused(start: float) -> None:
    """A verifier that raises something else leaves its reader without an answer."""
    X, y = drawn(2, n=300, p=14)
    certificate = with_minorants(searched(X, y, k=4, max_nodes=5))
    first = certificate.tree.minorants[0]
    tree = replace(certificate.tree, minorants=(replace(first, coef=start * first.coef),))
    with pytest.raises(CertificateError, match="shown by nothing"):
        zeronorm.verify(replace(certificate, tree=tree), X, y)


@pytest.mark.usefixtures("at_once")
def test_the_proof_is_the_same_for_any_number_of_threads() -> None:
    """A proof that differs from run to run is hard to trust, and to compare."""
    X, y = drawn(6, n=300, p=14)
    model = BudgetClassifier(4, C=0.5, calibrate=False).fit(X, y)
    one, two = (
        with_minorants(zeronorm.prove(model, X, y, gap=0, max_nodes=9, n_threads=n)).tree
        for n in (1, 2)
    )
    assert one is not None
    assert two is not None
    for name in ("parent", "feature", "inside", "row", "dual"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    for first, second in zip(one.minorants, two.minorants, strict=True):
        np.testing.assert_array_equal(first.bend, second.bend)
        np.testing.assert_array_equal(first.diagonal, second.diagonal)


def forged(certificate: Certificate, **changes: Any) -> Certificate:
    """Return a certificate whose last minorant is another."""
    tree = certificate.tree
    assert tree is not None
    last = replace(tree.minorants[-1], **changes)
    return replace(certificate, tree=replace(tree, minorants=(*tree.minorants[:-1], last)))


@pytest.mark.usefixtures("at_once")
def test_what_minorants_claim_is_checked() -> None:
    """Everything that a bound rests on: none of it is taken on trust."""
    X, y = drawn(2, n=300, p=14)
    certificate = with_minorants(searched(X, y, k=4, max_nodes=5))
    zeronorm.verify(certificate, X, y)
    last = certificate.tree.minorants[-1]
    lies = [
        {"bend": 1.05 * last.bend},  # more curvature than the ends leave
        {"core": 3.0 * last.core},  # curvature that the loss has not
        {"core": 0.0},
        {"diagonal": 1.5 * last.diagonal},  # more than there is
        {"diagonal": -last.diagonal},
        {"diagonal": np.zeros_like(last.diagonal)},
        {"objective": 0.99 * certificate.bound},  # ends of better models only
        {"objective": 1e308},
        {"intercept": 1e308},
        {"coef": 1e300 * last.coef},  # no curvature where the moves start
        {"coef": np.full_like(last.coef, 3.0)},  # moves from there show less
        {"coef": np.full_like(last.coef, np.nan)},
        {"bend": np.full_like(last.bend, np.inf)},
        {"bend": last.bend[1:]},
        {"features": last.features[1:]},
        {"features": last.features + 1},
        {"features": last.features[::-1]},
        {"core": "1"},
        {"intercept": np.nan},
    ]
    for lie in lies:
        with pytest.raises(CertificateError, match=r"minorant|features"):
            zeronorm.verify(forged(certificate, **lie), X, y)
    tree = replace(certificate.tree, minorants=[last])
    with pytest.raises(CertificateError, match="tuple of Minorant"):
        zeronorm.verify(replace(certificate, tree=tree), X, y)


@pytest.mark.usefixtures("at_once")
def test_no_time_and_interrupts_leave_a_valid_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that ends while curvature is looked for has what it had before."""
    X, y = drawn(2, n=300, p=14)
    model = BudgetClassifier(4, C=0.5, calibrate=False).fit(X, y)
    proof = zeronorm.prove(model, X, y, gap=0, time_limit=1e-9)
    zeronorm.verify(proof.certificate, X, y)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(curved, "reach", interrupted)
    proof = zeronorm.prove(model, X, y, gap=0)
    assert proof.status is Status.INTERRUPTED
    zeronorm.verify(proof.certificate, X, y)

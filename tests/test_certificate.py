"""Certificates: bounds that are bounds, fixing that is safe."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import oracles
import zeronorm
from zeronorm import BudgetClassifier
from zeronorm.core.groups import Groups
from zeronorm.core.results import Certificate
from zeronorm.data import as_design
from zeronorm.losses import Logistic, SquaredHinge, balance
from zeronorm.published import (
    FeatureGeneratingMachine,
    L0LogisticRegression,
    MinimaxLogisticRegression,
)
from zeronorm.solvers import (
    SelectionRequest,
    Task,
    certify_supports,
    run,
    select,
    select_nested,
)
from zeronorm.solvers import certify as certification
from zeronorm.solvers.bounds import DECIDED, best_features, bound_at
from zeronorm.solvers.certify import safe_magnitudes
from zeronorm.solvers.driver import BestDual
from zeronorm.solvers.problem import Risk
from zeronorm.verification import verify

LOSSES = {"logistic": Logistic(), "squared_hinge": SquaredHinge()}
NONE = np.empty(0, np.int64)
seeds = pytest.mark.parametrize("seed", list(oracles.BUDGETED))


def certify(X, y, support, *, C=0.3, known=None, loss="logistic", intercept=False, weight=None,
            **options):  # fmt: skip
    """Certify one support on the columns as they are."""
    task = Task.of(
        as_design(X), y.astype(float), weight, loss=LOSSES[loss], intercept=intercept, **options
    )
    return run(certify_supports(task, [np.asarray(support)], C=C, known=known))[0]


# --------------------------------------------------------------------------- stated numbers


@seeds
def test_stated_optimum_and_bound(seed):
    """The certificate would be of another problem than the documented one."""
    X, y, _ = oracles.certificate_instance(seed)
    optimum, support, second, unscaled = oracles.BUDGETED[seed]
    models = oracles.enumerate_supports(X, y, 0.3, 3)
    assert models[0] == (pytest.approx(optimum, abs=1e-6), support)
    assert models[1][0] == pytest.approx(second, abs=1e-6)
    certificate = certify(X, y, support)
    assert certificate.objective == pytest.approx(optimum, abs=1e-6)
    fit = oracles.ridge(X[:, support], y, 0.3)
    found = oracles.unscaled_bound(X, y, 0.3, 3, fit.alpha)
    assert found == pytest.approx(unscaled, abs=1e-6)
    assert certificate.bound >= unscaled - 1e-4  # the refit of the package has a tolerance
    assert certificate.bound <= optimum
    best = oracles.scaled_bound(X, y, 0.3, 3, fit.alpha)
    assert certificate.bound == pytest.approx(best, rel=1e-5)
    assert certificate.gap == pytest.approx(1 - best / optimum, abs=1e-4)


def test_stated_values_with_weights():
    """The formula without weights is no bound: 4.3963 must stay below 4.4439."""
    X, y, _ = oracles.certificate_instance(0)
    weight = np.full(60, 0.5)
    optimum, support = oracles.enumerate_supports(X, y, 0.3, 3, weight=weight)[0]
    assert optimum == pytest.approx(4.4439, abs=5e-5)
    fit = oracles.ridge(X[:, support], y, 0.3, weight=weight)
    unscaled = oracles.unscaled_bound(X, y, 0.3, 3, fit.alpha, weight=weight)
    assert unscaled == pytest.approx(4.3963, abs=5e-5)
    certificate = certify(X, y, support, weight=weight)
    assert unscaled - 1e-4 <= certificate.bound <= optimum


@seeds
@pytest.mark.parametrize("k", [1, 3, 5])
def test_gap_is_half_the_difference_of_scores(seed, k):
    """p(S) - D_k = 1/2 (S_k(c^2) - sum over S of c_j^2) at the dual point of the refit."""
    X, y, _ = oracles.certificate_instance(seed)
    rng = np.random.default_rng(seed)
    support = np.sort(rng.choice(12, k, replace=False))
    fit = oracles.ridge(X[:, support], y, 0.3)
    square = (X.T @ (fit.alpha * y)) ** 2
    difference = 0.5 * (oracles.top_sum(square, k) - square[support].sum())
    plain = oracles.unscaled_bound(X, y, 0.3, k, fit.alpha)
    assert fit.objective - plain == pytest.approx(difference, rel=1e-9, abs=1e-9)
    certificate = certify(X, y, support)
    assert certificate.objective - certificate.bound <= difference + 1e-4
    np.testing.assert_allclose(certificate.coef, fit.coef, atol=1e-4)


# ------------------------------------------------------------------------- bounds are bounds


@seeds
@pytest.mark.parametrize("loss", list(LOSSES))
def test_bound_at_random_dual_points_is_below_the_optimum(seed, loss):
    """A bound above the enumerated optimum would prove falsehoods."""
    X, y, _ = oracles.certificate_instance(seed)
    y = y.astype(float)
    rng = np.random.default_rng(seed)
    weight = 0.3 * rng.uniform(0.3, 2, 60)
    for k in (1, 2, 3):
        best = oracles.enumerate_supports(X, y, 1.0, k, loss=loss, weight=weight)[0][0]
        risk = Risk(y, weight, LOSSES[loss], intercept=False)
        for spread in (0.05, 0.5, 1.0):
            dual = y * weight * rng.uniform(0, spread, 60)
            magnitude = np.abs(X.T @ dual)
            bound = bound_at(risk, dual, magnitude, k, NONE, best)
            assert bound.value <= best
            alpha = bound.dual * y
            again = oracles.unscaled_bound(X, y, 1.0, k, alpha, loss=loss, weight=weight)
            assert again == pytest.approx(bound.value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_bound_with_a_free_intercept_is_below_the_optimum(seed):
    """With a free intercept the bound needs sum alpha_i y_i = 0; otherwise it is none."""
    X, y, _ = oracles.certificate_instance(seed)
    y = np.where(X[:, 0] > -0.5, y, -1).astype(float)  # unbalanced classes
    rng = np.random.default_rng(seed)
    for k in (1, 2, 3):
        models = oracles.enumerate_supports(X, y, 0.3, k, intercept=True)
        optimum = models[0][0]
        for _, support in (models[0], models[5], models[-1]):
            certificate = certify(X, y, support, intercept=True)
            assert certificate.bound <= optimum + 1e-9
            assert abs(certificate.dual.sum()) <= 1e-9 * np.abs(certificate.dual).sum()
            assert certificate.objective >= optimum - 1e-9
        dual = balance(0.3 * y * rng.uniform(0, 1, 60))
        magnitude = np.abs(X.T @ dual)
        risk = Risk(y, np.full(60, 0.3), Logistic())
        bound = bound_at(risk, dual, magnitude, k, NONE, optimum)
        assert bound.value <= optimum


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_bound_with_forced_features_holds_among_models_with_them(seed):
    """With forced features the bound would be of the wrong set of models."""
    X, y, _ = oracles.certificate_instance(seed)
    for forced in ([7], [7, 10]):
        models = oracles.enumerate_supports(X, y, 0.3, 3, forced=forced)
        for _, support in (models[0], models[3]):
            certificate = certify(X, y, support, forced=np.array(forced))
            assert certificate.bound <= models[0][0] + 1e-9
            assert certificate.n_forced == len(forced)
            proof = oracles.prove(
                X, y, 0.3, 3, support, certificate.coef, 0.0, y * certificate.dual, forced=forced
            )
            assert certificate.bound == pytest.approx(proof.bound, rel=1e-8)


def test_known_bounds_of_the_selection_are_used_with_their_dual_point():
    """A better bound found on the way would come with a dual point that does not prove it."""
    for seed in (0,):
        X, y, _ = oracles.certificate_instance(seed)
        task = Task.of(as_design(X), y.astype(float), intercept=False)
        for solver in (select, select_nested):
            path = run(solver(task, [1, 3, 5], SelectionRequest(0.3)))
            for k in (1, 3, 5):
                certificate = path[k].certificate
                optimum = oracles.enumerate_supports(X, y, 0.3, k)[0][0]
                assert certificate.bound <= optimum + 1e-9
                assert certificate.objective >= optimum - 1e-9
                checked = verify(certificate, X, y)
                assert certificate.bound == pytest.approx(checked["bound"], rel=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_bound_is_safe_in_storage_of_low_precision(dtype):
    """Errors of a float32 scan could lift the bound above the true one."""
    rng = np.random.default_rng(21)
    X = rng.standard_normal((400, 50)) * 20
    y = np.where(X[:, 0] + X[:, 1] + 20 * rng.standard_normal(400) > 0, 1.0, -1.0)
    X = X.astype(dtype)
    for k in (1, 4, 20):
        support = np.sort(rng.choice(50, k, replace=False))
        exact = certify(X.astype(float), y, support, C=1e-3)
        stored = certify(X, y, support, C=1e-3)
        truth = oracles.unscaled_bound(X.astype(float), y, 1e-3, k, y * stored.dual)
        assert stored.bound <= truth + 1e-11 * abs(truth)
        assert stored.bound == pytest.approx(exact.bound, rel=1e-4)
        assert stored.objective == pytest.approx(exact.objective, rel=1e-9)


def test_bounds_found_on_the_way_are_safe_in_float32():
    """Bounds of the selection's own float32 scans would be reported without their error."""
    rng = np.random.default_rng(22)
    X = (1000 * rng.standard_normal((2000, 80))).astype(np.float32)
    y = np.where(X[:, 0] + X[:, 1] + 1000 * rng.standard_normal(2000) > 0, 1.0, -1.0)
    task = Task.of(as_design(X), y, intercept=False)
    path = run(select_nested(task, [2, 5, 10], SelectionRequest(1e-7)))
    for k in (2, 5, 10):
        certificate = path[k].certificate
        proof = oracles.prove(
            X.astype(float), y, 1e-7, k, certificate.support, certificate.coef, 0.0,
            y * certificate.dual,
        )  # fmt: skip
        assert certificate.bound <= proof.bound + 1e-11 * proof.bound


def test_proven_support_is_the_optimum():
    """`proven` would be claimed for a support that is not the best one."""
    rng = np.random.default_rng(23)
    proven = 0
    for seed in range(20):
        X = rng.standard_normal((60, 8))
        y = np.where(3 * X[:, seed % 8] + rng.logistic(size=60) > 0, 1.0, -1.0)
        models = oracles.enumerate_supports(X, y, 0.01, 2)
        certificates = [certify(X, y, support, C=0.01) for _, support in models]
        for (value, _), certificate in zip(models, certificates, strict=True):
            if certificate.proven:
                proven += 1
                assert value == pytest.approx(models[0][0], rel=1e-9)
    assert proven > 0


def test_all_features_are_proven():
    """With k equal to the number of features there is one support, so the gap is zero."""
    X, y, _ = oracles.certificate_instance(0)
    certificate = certify(X, y, np.arange(12))
    assert certificate.gap <= 1e-9
    assert certificate.proven
    assert certificate.fixed_in <= 12
    assert certificate.candidates == 12


@pytest.mark.parametrize("at_once", [1, 2, 3, 6])
def test_scans_of_few_scores_certify_the_same(monkeypatch, at_once):
    """Where memory is short, dual points would be mixed up."""
    X, y, _ = oracles.certificate_instance(0)
    supports = [np.array([0, 1, 2]), np.array([4]), np.array([0, 7]), np.array([1, 5, 8, 9])]
    fits = [oracles.ridge(X[:, support], y, 0.3, intercept=True) for support in supports[:2]]
    known = {k: BestDual(0.0, balance(fit.alpha * y)) for k, fit in ((3, fits[0]), (2, fits[1]))}
    alone = [certify(X, y, support, intercept=True, known=known) for support in supports]
    # As many vectors as have room for their scores, but one at least.
    room = 11 if at_once == 1 else 12 * at_once + 11
    monkeypatch.setattr(certification, "SUPPORTS", replace(certification.SUPPORTS, max_scores=room))
    widths = []
    task = Task.of(as_design(X), y.astype(float))
    solver = certify_supports(task, supports, C=0.3, known=known)
    scores, certificates = None, None
    while certificates is None:
        try:
            scan = solver.send(scores)
        except StopIteration as ended:
            certificates = ended.value
        else:
            widths.append(scan.vector.shape[1])
            scores = X.T @ scan.vector
    assert widths == [at_once] * (6 // at_once)
    for found, other in zip(certificates, alone, strict=True):
        assert found.fit_intercept
        assert found.bound == pytest.approx(other.bound, rel=1e-12)
        assert (found.fixed_in, found.candidates) == (other.fixed_in, other.candidates)
        np.testing.assert_allclose(found.dual, other.dual, rtol=1e-9, atol=1e-12)


def magnitudes(true, scores, support, error, **options):
    """Upper bounds of the scores of one row, which are `true`, from inexact ones."""
    task = Task.of(as_design(true[None]), np.ones(1), **options)
    return safe_magnitudes(task, scores, np.ones(1), support, error)


@pytest.mark.parametrize("unit", [1.0, 1e-3])
@pytest.mark.parametrize("grouped", [False, True])
def test_scores_in_doubt_are_recomputed(grouped, unit):
    """An error could decide which are the k largest, or all columns be read again."""
    true = unit * np.array([8.0, -7.5, 6.9, 5.0, -4.6, 4.1, 3.0, 2.0, -1.0, 0.5, 9.5])
    scores = unit * np.array([8.0, -7.0, 6.0, 5.0, -5.0, 4.0, 4.0, 1.0, -1.0, 0.5, 9.0])
    # Of the sixth, score and error add up to the third largest lower bound.
    error = unit * np.array([1.0, 1.0, 1.0, 0.0, 0.0, 2.0, 0.5, 3.0, 1.0, 0.5, 1.0])
    m, support = 11, np.array([9, 10] if grouped else [8, 1, 10])
    usable = np.arange(m) != 3
    code = np.array([0, 0, 1, 2, 1, 2, 3, 3, 4, 5, 6]) if grouped else np.arange(m)
    groups = Groups.of(code, m) if grouped else None
    found = magnitudes(true, scores, support, error, usable=usable, groups=groups)

    def strength(values):
        if not grouped:
            return values  # of all columns: those that may not enter are left out later
        return np.array([np.sqrt(sum(values[(code == g) & usable] ** 2)) for g in range(7)])

    kth = np.sort(strength(np.maximum(np.abs(scores) - error, 0)))[-support.size]
    doubtful = np.flatnonzero(strength(np.abs(scores) + error) >= kth)
    exact = np.isin(code, doubtful) | np.isin(np.arange(m), support)
    assert 2 < exact.sum() < m
    expected = np.where(exact, np.abs(true), np.abs(scores) + error)
    np.testing.assert_array_equal(found, np.where(usable, expected, 0.0))


def test_the_kth_score_is_found_among_many():
    """Another score than the k-th largest would say which ones are in doubt."""
    scores = np.random.default_rng(0).uniform(0, 100, 3000)
    true, error, support = scores + 0.01, np.full(3000, 0.5), np.argsort(scores)[-20:]
    found = magnitudes(true, scores, support, error)
    expected = np.flatnonzero(scores + 0.5 >= np.sort(scores - 0.5)[-20])
    assert 20 < expected.size < 200
    np.testing.assert_array_equal(np.flatnonzero(found == true), expected)


def test_no_more_scores_are_recomputed_than_pays(monkeypatch):
    """Nearly all columns would be read again where scores are close, or the wrong ones."""
    monkeypatch.setattr("zeronorm.solvers.bounds.MAX_RECOMPUTED", 0)  # and 4 for each feature

    def recomputed(scores, error, support, groups=None):
        true = np.asarray(scores) + 0.01
        found = magnitudes(true, np.asarray(scores), support, np.asarray(error), groups=groups)
        return np.flatnonzero(found == true).tolist()

    one = np.array([0])
    four_in_doubt = recomputed([4.5, 4, 4, 1, 3, 0], [1, 1, 1, 3, 0, 0.5], one)
    assert four_in_doubt == [0, 1, 2, 3]
    five_in_doubt = recomputed([4.5, 4, 4, 1, 3.8, 0], [1, 1, 1, 3, 1, 0.5], one)
    assert five_in_doubt == [0, 1, 2, 4]  # the largest
    code = np.arange(12) // 2
    pairs = recomputed(
        np.repeat([5.0, 4, 4, 4, 4, 0], 2), np.ones(12), np.arange(2), Groups.of(code, 12)
    )
    assert len(pairs) == 8


# --------------------------------------------------------------------------------- safe fixing


@seeds
@pytest.mark.parametrize("case", ["plain", "weights", "forced", "squared_hinge"])
def test_fixing_is_never_wrong(seed, case):
    """A feature of the best model would be dropped, or one fixed that is not in it."""
    X, y, _ = oracles.certificate_instance(seed)
    y = y.astype(float)
    rng = np.random.default_rng(seed)
    weight = 0.3 * (rng.uniform(0.5, 1.5, 60) if case == "weights" else np.ones(60))
    name = "squared_hinge" if case == "squared_hinge" else "logistic"
    forced = np.array([7]) if case == "forced" else NONE
    risk = Risk(y, weight, LOSSES[name], intercept=False)
    for k in (2, 3):
        models = oracles.enumerate_supports(X, y, 1, k, loss=name, weight=weight, forced=forced)
        support = models[0][1]
        dual = oracles.ridge(X[:, support], y, 1, loss=name, weight=weight).alpha * y
        for upper in (models[0][0], models[2][0]):
            better = [set(s) for value, s in models if value < upper * (1 - 1e-9)]
            proof = bound_at(risk, dual, np.abs(X.T @ dual), k, forced, upper)
            bound = proof.value
            assert bound <= models[0][0] + 1e-9
            # The sets follow from the documented inequalities.
            square = (X.T @ proof.dual) ** 2
            free = np.where(np.isin(np.arange(12), forced), -1, square)
            order = np.argsort(-free, kind="stable")
            n_free = k - len(forced)
            kth, following = free[order[n_free - 1]], free[order[n_free]]
            limit = upper * (1 + 1e-9)
            dropped = {j for j in order[n_free:] if j not in forced
                       and bound + 0.5 * (kth - free[j]) > limit}  # fmt: skip
            kept = {j for j in order[:n_free] if bound + 0.5 * (free[j] - following) > limit}
            assert set(np.flatnonzero(proof.dropped)) == dropped
            assert set(np.flatnonzero(proof.fixed)) == kept | set(forced)
            for model in better:
                assert not model & dropped
                assert kept <= model


def test_a_forced_feature_counts_once():
    """A forced feature among the strongest would take two places: the bound would be too low."""
    best = best_features(np.array([9.0, 4.0, 3.0, 1.0]), 2, np.array([0]))
    assert best.value == 13.0
    np.testing.assert_array_equal(best.entering, [-np.inf, -np.inf, 1.0, 3.0])
    np.testing.assert_array_equal(best.chosen, [1, 0])
    np.testing.assert_array_equal(best.leaving, [1.0, np.inf])


@pytest.mark.parametrize("loss", list(LOSSES))
def test_models_as_good_as_the_best_known_one_are_not_ruled_out(loss):
    """Features of a model with the same objective, but for rounding, would be decided."""
    X, y, _ = oracles.certificate_instance(0)
    risk = Risk(y.astype(float), np.full(60, 0.03), LOSSES[loss], intercept=False)
    dual = oracles.ridge(X[:, :3], y, 0.03, loss=loss).alpha * y
    magnitude = np.abs(X.T @ dual)

    def decided(upper):
        found = bound_at(risk, dual, magnitude, 3, NONE, upper)
        return found.dropped, found.fixed

    best = best_features(magnitude**2, 3, NONE)
    value, scale = risk.bound(dual, 0.5 * best.value)
    out, into = np.flatnonzero(best.entering > 0)[0], best.chosen[0]
    for kind, feature, cost in ((0, out, best.entering[out]), (1, into, best.leaving[0])):
        reached = value + 0.5 * scale**2 * cost  # at least, in models without, or with, the feature
        assert decided(reached * (1 - 2 * DECIDED))[kind][feature]
        assert not decided(reached)[kind][feature]
        # Where the limit is what is reached, to the last bit, nothing is decided either.
        upper = reached / (1 + DECIDED) * (1 - 1e-14)
        while upper + DECIDED * upper < reached:
            upper = np.nextafter(upper, np.inf)
        assert upper + DECIDED * upper == reached
        assert not decided(upper)[kind][feature]


def test_fixing_does_something():
    """No feature would ever be excluded, and the counts would be empty words."""
    X, y, _ = oracles.certificate_instance(0)
    certificate = certify(X, y, (0, 1, 2), C=0.03)
    assert certificate.candidates < 12
    assert certificate.fixed_in >= 1


def test_fixing_with_every_feature_forced():
    """A budget spent on forced features would fail or leave candidates."""
    X, y, _ = oracles.certificate_instance(0)
    certificate = certify(X, y, (3, 7), forced=np.array([3, 7]))
    assert certificate.fixed_in == 2
    assert certificate.candidates == 2
    assert certificate.proven


def test_columns_that_may_not_be_selected_are_no_candidates():
    """Constant columns would loosen the bound or be counted as candidates."""
    X, y, _ = oracles.certificate_instance(0)
    wide = np.column_stack([np.full(60, 9.0), X, np.zeros(60)])
    usable = wide.std(axis=0) > 0
    a = certify(X, y, (0, 1, 2))
    b = certify(wide, y, (1, 2, 3), usable=usable)
    assert b.bound == pytest.approx(a.bound, rel=1e-9)
    assert b.candidates == a.candidates
    assert b.fixed_in == a.fixed_in


def claims(case):
    """Return data, weights and certificates of all procedures for one case."""
    rng = np.random.default_rng(sum(map(ord, case)))
    X = rng.standard_normal((40, 24)) * 10 ** rng.uniform(-1, 1, 24)
    X[:, 12:18] += 0.7 * X[:, :6]
    X[:, 20] = 3.0
    y = np.where(X[:, 0] / X[:, 0].std() + rng.logistic(size=40) > 0, 1.0, -1.0)
    if case == "float32":
        X = (X + 50).astype(np.float32)
    if case == "sparse":
        X = sp.csc_array(np.where(rng.random(X.shape) < 0.5, X, 0.0))
    weight = rng.uniform(0.3, 2, 40) if case == "weights" else None
    options = {"C": 0.02 if case == "hinge" else 0.2, "standardize": case != "plain"}
    if case == "forced":
        options["forced_features"] = [7]
    families = {"hinge": [FeatureGeneratingMachine], "groups": [MinimaxLogisticRegression]}
    usual = [BudgetClassifier, MinimaxLogisticRegression, L0LogisticRegression]
    for family in families.get(case, usual):
        if case == "groups":
            model = family(
                n_groups=2, feature_groups=np.arange(24) // 2, **options, calibrate=False
            )
        else:
            model = family([2, 3, 4], **options, calibrate=False)
        model.fit(X, y, sample_weight=weight)
        certificates = [selection.certificate for selection in model.path_.selections.values()]
        certificates.append(zeronorm.certify(model, X, y, sample_weight=weight))
        if case != "groups":
            rough = zeronorm.prove(model, X, y, gap=0.02, max_nodes=3, sample_weight=weight)
            again = zeronorm.prove(model, X, y, gap=0, resume=rough, sample_weight=weight)
            certificates += [rough.certificate, again.certificate]
        yield X, y, weight, certificates


@pytest.mark.parametrize(
    "case", ["plain", "standardized", "float32", "sparse", "weights", "forced", "hinge", "groups"]
)
def test_the_dual_point_of_a_certificate_shows_its_figures(case):
    """Features would be said to be ruled out by something that the certificate does not have."""
    decided = 0
    for X, y, weight, certificates in claims(case):
        for certificate in certificates:
            verify(certificate, X, y, sample_weight=weight)
            decided += certificate.fixed_in + 23 - certificate.candidates
    assert decided > 0


# ------------------------------------------------------------------------------------- records


def test_gap_and_proven_of_a_record():
    """The gap would not be (objective - bound) / objective, or be negative by rounding."""
    certificate = Certificate(
        C=1.0, scaling="none", support=np.array([0]), coef=np.ones(1), intercept=0.0,
        objective=4.0, bound=3.0, dual=np.ones(2), fixed_in=0, candidates=1,
    )  # fmt: skip
    assert certificate.gap == 0.25
    assert not certificate.proven
    assert dataclasses.replace(certificate, bound=4.0 + 1e-12).gap == 0
    assert dataclasses.replace(certificate, bound=4.0).proven


def test_certificate_prints_as_one_line():
    """The dual point, a number per sample, would fill the screen."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 8))
    model = BudgetClassifier(2, calibrate=False).fit(X, X[:, 0] > 0)
    assert len(repr(model.certificate_)) < 200
    assert "gap=" in repr(model.certificate_)

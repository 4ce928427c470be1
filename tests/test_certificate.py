"""Certificates: bounds that are bounds, fixing that is safe, a verifier that notices."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

import oracles
import zeronorm
from zeronorm import (
    BudgetClassifier,
    FeatureGeneratingMachine,
    L0LogisticRegression,
    MinimaxLogisticRegression,
)
from zeronorm.certificate import verify
from zeronorm.designs import Scaled, as_design
from zeronorm.losses import Logistic, SquaredHinge, balance
from zeronorm.result import Certificate
from zeronorm.solvers import Task as Problem
from zeronorm.solvers import certify_supports, run, select, select_nested
from zeronorm.solvers._bounds import bound_at

LOSSES = {"logistic": Logistic(), "squared_hinge": SquaredHinge()}
NONE = np.empty(0, np.int64)
seeds = pytest.mark.parametrize("seed", list(oracles.BUDGETED))


def certify(X, y, support, *, C=0.3, loss="logistic", weight=None, intercept=False, **options):
    """Certify one support on the columns as they are."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    design = X if hasattr(X, "correlate") else as_design(X)
    return run(
        certify_supports(
            design,
            np.asarray(y, float),
            LOSSES[loss],
            [np.asarray(support)],
            C=C,
            sample_weight=weight,
            scaling=options.pop("scaling", "none"),
            intercept=intercept,
            **options,
        )
    )[0]


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
        for spread in (0.05, 0.5, 1.0):
            alpha = weight * rng.uniform(0, spread, 60)
            magnitude = np.abs(X.T @ (alpha * y))
            bound = bound_at(LOSSES[loss], alpha, y, weight, magnitude, k, NONE, best)
            assert bound.value <= best
            again = oracles.unscaled_bound(X, y, 1.0, k, bound.dual, loss=loss, weight=weight)
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
            assert abs(certificate.dual @ y) <= 1e-9 * certificate.dual.sum()
            assert certificate.objective >= optimum - 1e-9
        alpha = balance(0.3 * rng.uniform(0, 1, 60), y)
        magnitude = np.abs(X.T @ (alpha * y))
        weight = np.full(60, 0.3)
        bound = bound_at(Logistic(), alpha, y, weight, magnitude, k, NONE, optimum)
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
                X, y, 0.3, 3, support, certificate.coef, 0.0, certificate.dual, forced=forced
            )
            assert certificate.bound == pytest.approx(proof.bound, rel=1e-8)


def test_known_bounds_of_the_selection_are_used_with_their_dual_point():
    """A better bound found on the way would come with a dual point that does not prove it."""
    for seed in oracles.BUDGETED:
        X, y, _ = oracles.certificate_instance(seed)
        task = Problem(as_design(X), y.astype(float), np.ones(60), "none", intercept=False)
        for solver in (select, select_nested):
            path = run(solver(task, [1, 3, 5], C=0.3))
            for k in (1, 3, 5):
                certificate = path[k].certificate
                optimum = oracles.enumerate_supports(X, y, 0.3, k)[0][0]
                assert certificate.bound <= optimum + 1e-9
                assert certificate.objective >= optimum - 1e-9
                checked = verify(X, y, certificate)
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
        truth = oracles.unscaled_bound(X.astype(float), y, 1e-3, k, stored.dual)
        assert stored.bound <= truth + 1e-11 * abs(truth)
        assert stored.bound == pytest.approx(exact.bound, rel=1e-4)
        assert stored.objective == pytest.approx(exact.objective, rel=1e-9)


def test_bounds_found_on_the_way_are_safe_in_float32():
    """Bounds of the selection's own float32 scans would be reported without their error."""
    rng = np.random.default_rng(22)
    X = (1000 * rng.standard_normal((2000, 80))).astype(np.float32)
    y = np.where(X[:, 0] + X[:, 1] + 1000 * rng.standard_normal(2000) > 0, 1.0, -1.0)
    task = Problem(as_design(X), y, np.ones(2000), "none", intercept=False)
    path = run(select_nested(task, [2, 5, 10], C=1e-7))
    for k in (2, 5, 10):
        certificate = path[k].certificate
        proof = oracles.prove(
            X.astype(float), y, 1e-7, k, certificate.support, certificate.coef, 0.0,
            certificate.dual,
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
    for k in (2, 3):
        models = oracles.enumerate_supports(X, y, 1, k, loss=name, weight=weight, forced=forced)
        support = models[0][1]
        fit = oracles.ridge(X[:, support], y, 1, loss=name, weight=weight)
        for upper in (models[0][0], models[2][0]):
            better = [set(s) for value, s in models if value < upper * (1 - 1e-9)]
            proof = bound_at(
                LOSSES[name], fit.alpha, y, weight, np.abs(X.T @ (fit.alpha * y)), k, forced, upper
            )
            bound = proof.value
            assert bound <= models[0][0] + 1e-9
            # The sets follow from the documented inequalities.
            square = (X.T @ (proof.dual * y)) ** 2
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


def shown(X, y, certificate, weight):
    """Return how many features the dual point of a certificate alone fixes, and leaves."""
    weight = np.ones(len(y)) if weight is None else weight
    X = np.asarray(X.toarray() if sp.issparse(X) else X, float)
    mean = weight @ X / weight.sum()
    std = np.sqrt(weight @ (X - mean) ** 2 / weight.sum())
    usable = std > 1e-12 * np.abs(X).max(axis=0)
    if certificate.scaling != "none":
        X = (X - (mean if certificate.scaling == "standardized" else 0)) / np.where(usable, std, 1)
    X = np.where(usable, X, 0.0)
    alpha, cap = certificate.dual, certificate.C * weight
    if certificate.loss == "logistic":
        conjugate = np.sum(alpha * np.log(alpha / cap) + (cap - alpha) * np.log1p(-alpha / cap))
    else:
        conjugate = np.sum(alpha**2 / (2 * cap) - alpha)
    square, code = (X.T @ (alpha * y)) ** 2, np.arange(X.shape[1])
    k, forced = certificate.support.size, certificate.forced
    if certificate.groups is not None:
        code = certificate.groups.code
        square, k = np.bincount(code, square), certificate.n_groups
        forced = np.unique(code[forced])
    free = np.setdiff1d(np.arange(square.size), forced)
    free = free[np.argsort(-square[free], kind="stable")]
    top, rest = free[: k - forced.size], free[k - forced.size :]
    bound = -conjugate - 0.5 * (square[forced].sum() + square[top].sum())
    limit = certificate.objective * (1 + 1e-9)
    last = square[top[-1]] if top.size else np.inf
    following = square[rest[0]] if rest.size else 0.0
    out = rest[bound + 0.5 * (last - square[rest]) > limit]
    into = np.append(forced, top[bound + 0.5 * (square[top] - following) > limit])
    return (np.isin(code, into) & usable).sum(), (~np.isin(code, out) & usable).sum()


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
            model = family(n_groups=2, groups=np.arange(24) // 2, **options)
        else:
            model = family([2, 3, 4], **options)
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
            fixed, left = shown(X, y, certificate, weight)
            assert fixed >= certificate.fixed_in
            assert left <= certificate.candidates
            decided += certificate.fixed_in + 23 - certificate.candidates
    assert decided > 0


# ----------------------------------------------------------------------------------- verifier


@pytest.fixture(params=["plain", "standardized", "weights", "hinge", "forced", "sparse"])
def claim(request):
    """A certificate that holds, and what it takes to verify it."""
    rng = np.random.default_rng(24)
    X = rng.standard_normal((80, 15)) * 10 ** rng.uniform(-1, 1, 15) + 1
    y = np.where((X[:, :3] - 1) @ [1, -1, 0.5] + rng.standard_normal(80) > 0, 1.0, -1.0)
    case = request.param
    weight = rng.uniform(0.2, 2, 80) if case == "weights" else np.ones(80)
    forced = [4, 9] if case == "forced" else []
    options = {
        "weight": weight,
        "loss": "squared_hinge" if case == "hinge" else "logistic",
        "intercept": case != "plain",
        "forced": np.array(forced, np.int64),
    }
    design, scaling = as_design(X), "none"
    if case in {"standardized", "weights", "hinge", "forced"}:
        _, mean, scale = oracles.standardise(X, weight)
        design, scaling = Scaled(as_design(X), mean, scale), "standardized"
    if case == "sparse":
        X = X * (rng.uniform(size=X.shape) < 0.5)
        _, _, scale = oracles.standardise(X)
        design, scaling = Scaled(as_design(sp.csc_array(X)), None, scale), "scaled"
    support = np.array([0, 1, 4, 9]) if forced else np.array([0, 1, 2, 8])
    certificate = certify(design, y, support, C=0.1, scaling=scaling, **options)
    checks = {
        "sample_weight": weight,
        "intercept": options["intercept"],
        "loss": options["loss"],
        "forced": forced,
    }
    return X, y, certificate, checks


def test_verifier_accepts_what_holds(claim):
    """A true certificate would be refused, on some scaling or with weights."""
    X, y, certificate, checks = claim
    found = verify(X, y, certificate, sample_weight=checks["sample_weight"])
    assert found["objective"] == pytest.approx(certificate.objective, rel=1e-8)
    assert found["bound"] == pytest.approx(certificate.bound, rel=1e-8)
    assert found["gap"] == pytest.approx(certificate.gap, abs=1e-8)


def test_verifier_agrees_with_an_independent_one(claim):
    """Verifier and solver could share a mistake."""
    X, y, certificate, checks = claim
    if checks["loss"] != "logistic":
        pytest.skip("the independent verifier is of the logistic loss")
    if certificate.scaling != "none":
        center = certificate.scaling == "standardized"
        X, _, _ = oracles.standardise(X, checks["sample_weight"], center=center)
    proof = oracles.prove(
        X, y, certificate.C, len(certificate.support), certificate.support, certificate.coef,
        certificate.intercept, certificate.dual, weight=checks["sample_weight"],
        forced=checks["forced"], free=checks["intercept"],
    )  # fmt: skip
    assert proof.feasible
    assert proof.objective == pytest.approx(certificate.objective, rel=1e-8)
    assert proof.bound == pytest.approx(certificate.bound, rel=1e-8)


def change(certificate, **fields):
    """Return the certificate with some fields changed."""
    return dataclasses.replace(certificate, **fields)


@pytest.mark.parametrize(
    "what",
    ["coef", "intercept", "support", "dual", "unbalanced", "negative", "above the cap", "bound",
     "objective", "C", "no intercept", "forced"],
)  # fmt: skip
def test_verifier_notices_tampering(claim, what):
    """A changed certificate would pass."""
    X, y, certificate, checks = claim
    if what in ("intercept", "no intercept") and not checks["intercept"]:
        pytest.skip("no intercept to change")
    if what == "unbalanced" and not checks["intercept"]:
        pytest.skip("no equality constraint without a free intercept")
    if what == "above the cap" and checks["loss"] != "logistic":
        pytest.skip("the squared hinge has no cap")
    dual = certificate.dual.copy()
    rng = np.random.default_rng(0)
    other = np.setdiff1d(np.arange(15), certificate.support)
    changed = {
        "coef": lambda: {"coef": certificate.coef * 1.05},
        "intercept": lambda: {"intercept": certificate.intercept + 0.2},
        "support": lambda: {"support": np.append(certificate.support[:-1], other[-1])},
        "dual": lambda: {"dual": balance(dual * rng.uniform(0.3, 1, len(y)), y)},
        "unbalanced": lambda: {"dual": dual * np.where(y > 0, 0.9, 1)},
        "negative": lambda: {"dual": np.where(dual == dual.max(), -dual, dual)},
        "above the cap": lambda: {"dual": dual + certificate.C * checks["sample_weight"]},
        "bound": lambda: {"bound": certificate.bound * 1.01},
        "objective": lambda: {"objective": certificate.objective * 0.99},
        "C": lambda: {"C": certificate.C * 0.9},
        "no intercept": lambda: {"fit_intercept": False},
        "forced": lambda: {"forced": other[-1:]},
    }[what]()
    rule = r"not feasible|claims objective|without one|outside of its support"
    with pytest.raises(ValueError, match=rule):
        verify(X, y, change(certificate, **changed), sample_weight=checks["sample_weight"])


def test_verifier_notices_other_data(claim):
    """A certificate of other data would pass."""
    X, y, certificate, checks = claim
    flipped = y.copy()
    flipped[:20] *= -1
    with pytest.raises(ValueError, match=r"not feasible|claims objective"):
        verify(X, flipped, certificate, sample_weight=checks["sample_weight"])


def test_verifier_with_rows_of_weight_zero():
    """Rows of weight zero would make the dual point and the data differ in length."""
    X, y, _ = oracles.certificate_instance(0)
    weight = np.ones(60)
    weight[::7] = 0
    keep = weight > 0
    certificate = certify(X[keep], y[keep], (0, 1, 2))
    found = verify(X, y, certificate, sample_weight=weight)
    assert found["bound"] == pytest.approx(certificate.bound, rel=1e-9)


def test_gap_and_proven_of_a_record():
    """The gap would not be (objective - bound) / objective, or be negative by rounding."""
    certificate = Certificate(
        C=1.0, scaling="none", support=np.array([0]), coef=np.ones(1), intercept=0.0,
        objective=4.0, bound=3.0, dual=np.ones(2), fixed_in=0, candidates=1,
    )  # fmt: skip
    assert certificate.gap == 0.25
    assert not certificate.proven
    assert change(certificate, bound=4.0 + 1e-12).gap == 0
    assert change(certificate, bound=4.0).proven


def test_verify_takes_the_labels_of_the_user():
    """Text labels would end in a conversion error inside the verifier."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 8))
    sick = X[:, 2] + 0.3 * rng.standard_normal(50) > 0
    model = BudgetClassifier(2).fit(X, np.where(sick, "sick", "healthy"))
    found = verify(X, np.where(sick, "sick", "healthy"), model.certificate_)
    assert found["objective"] == pytest.approx(model.certificate_.objective)
    with pytest.raises(ValueError, match="y must have two classes; got 3"):
        verify(X, np.arange(50) % 3, model.certificate_)


def test_certificate_prints_as_one_line():
    """The dual point, a number per sample, would fill the screen."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 8))
    model = BudgetClassifier(2).fit(X, X[:, 0] > 0)
    assert len(repr(model.certificate_)) < 200
    assert "gap=" in repr(model.certificate_)

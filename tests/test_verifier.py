"""The verifier: what holds passes, and nothing that is false."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import forgeries
import oracles
import zeronorm
from conftest import slow
from golub import load_golub
from test_certificate import certify
from zeronorm import BudgetClassifier, verification
from zeronorm.core.groups import Groups
from zeronorm.core.results import Certificate, Tree
from zeronorm.data import Scaled, as_design
from zeronorm.losses import balance
from zeronorm.persistence import CertificateFileError, load_certificate, save_certificate
from zeronorm.published import L0LogisticRegression
from zeronorm.verification import CertificateError, UndecidedError, check_form, verify
from zeronorm.verification.bound import Node, Units
from zeronorm.verification.data import Data, read_data
from zeronorm.verification.losses import loss_of
from zeronorm.verification.recomputation import _check_decided, _objective


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
    found = verify(certificate, X, y, sample_weight=checks["sample_weight"])
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
        certificate.intercept, y * certificate.dual, weight=checks["sample_weight"],
        forced=checks["forced"], free=checks["intercept"],
    )  # fmt: skip
    assert proof.feasible
    assert proof.objective == pytest.approx(certificate.objective, rel=1e-8)
    assert proof.bound == pytest.approx(certificate.bound, rel=1e-8)


def change(certificate, **fields):
    """Return the certificate with some fields changed."""
    return dataclasses.replace(certificate, **fields)


def _above_the_cap(certificate, y, weight):
    """Return the dual point with one entry of each class above C s_i, its sums still equal."""
    dual = y * certificate.dual
    cap = certificate.C * weight
    for sign in (1, -1):
        rows = np.flatnonzero(y == sign)
        others = rows[1:]
        excess = 1.2 * cap[rows[0]] - dual[rows[0]]
        dual[rows[0]] += excess
        dual[others] -= excess * dual[others] / dual[others].sum()
    assert (dual >= 0).all()
    return y * dual


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
        "dual": lambda: {"dual": y * balance(y * dual * rng.uniform(0.3, 1, len(y)))},
        "unbalanced": lambda: {"dual": dual * np.where(y > 0, 0.9, 1)},
        "negative": lambda: {"dual": np.where(dual == dual.max(), -dual, dual)},
        # Both classes as much, so that nothing but the cap is broken.
        "above the cap": lambda: {"dual": _above_the_cap(certificate, y, checks["sample_weight"])},
        "bound": lambda: {"bound": certificate.bound * 1.01},
        "objective": lambda: {"objective": certificate.objective * 0.99},
        "C": lambda: {"C": certificate.C * 0.9},
        "no intercept": lambda: {"fit_intercept": False},
        "forced": lambda: {"forced": other[-1:]},
    }[what]()
    wrong_model = "claims the objective|not optimal"
    rule = {
        "coef": wrong_model,
        "intercept": wrong_model,
        "support": f"{wrong_model}|outside of its support",
        "C": wrong_model,
        "objective": "claims the objective",
        "bound": "claims the bound",
        "dual": "claims the bound|candidates",
        "no intercept": "without one",
        "forced": "outside of its support",
    }.get(what, "not feasible")
    with pytest.raises(CertificateError, match=rule):
        verify(change(certificate, **changed), X, y, sample_weight=checks["sample_weight"])


def test_verifier_notices_other_data(claim):
    """A certificate of other data would pass."""
    X, y, certificate, checks = claim
    flipped = y.copy()
    flipped[:20] *= -1
    with pytest.raises(CertificateError, match=r"not optimal|claims the objective"):
        verify(certificate, X, flipped, sample_weight=checks["sample_weight"])


def test_verifier_with_rows_of_weight_zero():
    """Rows of weight zero would make the dual point and the data differ in length."""
    X, y, _ = oracles.certificate_instance(0)
    weight = np.ones(60)
    weight[::7] = 0
    keep = weight > 0
    certificate = certify(X[keep], y[keep], (0, 1, 2))
    found = verify(certificate, X, y, sample_weight=weight)
    assert found["bound"] == pytest.approx(certificate.bound, rel=1e-9)


def test_verify_takes_the_labels_of_the_user():
    """Text labels would end in a conversion error inside the verifier."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 8))
    sick = X[:, 2] + 0.3 * rng.standard_normal(50) > 0
    model = BudgetClassifier(2, calibrate=False).fit(X, np.where(sick, "sick", "healthy"))
    found = verify(model.certificate_, X, np.where(sick, "sick", "healthy"))
    assert found["objective"] == pytest.approx(model.certificate_.objective)
    with pytest.raises(ValueError, match="y must have two classes; got 3"):
        verify(model.certificate_, X, np.arange(50) % 3)


# ------------------------------------------------------------------------------------- forgeries


@functools.cache
def small(seed):
    """Return data whose supports can all be solved, and certificates of many kinds."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((36, 8))
    X[:, 1:] += 0.8 * X[:, :1]
    X[:, 5], X[:, 6] = -X[:, 1], 3.0
    y = np.where(X[:, 0] - X[:, 2] + rng.standard_normal(36) > 0, "b", "a")
    options = {"C": 0.5, "standardize": seed % 2 == 0, "fit_intercept": seed % 3 > 0}
    nested = zeronorm.published.MinimaxLogisticRegression(3, **options, calibrate=False).fit(X, y)
    hinge = zeronorm.published.FeatureGeneratingMachine(
        2, forced_features=[3], **options, calibrate=False
    ).fit(X, y)
    grouped = zeronorm.published.MinimaxLogisticRegression(
        feature_groups=np.arange(8) % 4, n_groups=2, **options, calibrate=False
    ).fit(X, y)
    return X, y, [
        zeronorm.prove([4, 7, 0], X, y, gap=0, **options).certificate,
        zeronorm.prove(hinge, X, y, gap=0).certificate,
        zeronorm.certify(nested, X, y),
        zeronorm.certify([1, 2], X, y, **options),
        nested.certificate_,
        hinge.certificate_,
        grouped.certificate_,
    ]  # fmt: skip


@pytest.mark.parametrize("seed", [1, *slow(0, 2, 3)])
def test_nothing_false_passes(seed, tmp_path):
    """A changed certificate, in memory or through a file, would pass for proven."""
    X, y, certificates = small(seed)
    truth, rng = forgeries.Truth(X, y == "b"), np.random.default_rng(seed)
    accepted = 0
    for certificate in certificates:
        verify(certificate, X, y)
        assert truth.lies(certificate) == []
        for number in range(60):
            forged = forgeries.forge(rng, certificate, X.shape[1])
            try:
                if number % 10 == 0:
                    path = save_certificate(forged, tmp_path / "c", X, y)
                    load_certificate(path).verify(X, y)
                else:
                    verify(forged, X, y)
            except (CertificateError, CertificateFileError):
                continue
            except (TypeError, ValueError):
                if number % 10:
                    raise
                continue  # what is no certificate is not saved
            accepted += 1
            assert truth.lies(forged) == []
    assert accepted > 10  # some changes take nothing away, or say less


def lies_about(certificate, m):
    """Return what once passed, or could: a certificate with something false, and why it is."""
    c, k = certificate, len(certificate.support)
    others = np.setdiff1d(np.arange(m), c.support)[:k]
    huge = np.eye(k)[0]
    yield "coefficients that make a tolerance huge", {
        "support": others, "coef": 1e200 * huge, "objective": 100.0, "bound": 100.0,
    }  # fmt: skip
    yield "finite ones", {"coef": 1e4 * huge, "bound": c.bound + 0.5}
    yield "with the objective that they have", {
        "coef": 1e4 * huge, "objective": 5e7, "bound": c.bound + 0.5,
    }  # fmt: skip
    yield "no numbers", {"coef": np.full(k, np.nan), "objective": 0.0, "bound": 0.0}
    yield "no objective", {"objective": np.nan}
    yield "no bound", {"bound": np.nan}
    yield "an infinite bound", {"bound": np.inf, "objective": np.inf}
    yield "a feature twice", {"support": np.repeat(c.support[:1], k)}
    yield "from behind", {"support": c.support - m}
    yield "not sorted", {"support": c.support[::-1], "coef": c.coef[::-1]}
    yield "out of range", {"support": c.support + m}
    yield "no features", {"support": c.support[:0], "coef": c.coef[:0]}
    yield "no integers", {"support": c.support + 0.0}
    yield "a bound a little too high", {"bound": c.bound * (1 + 1e-9)}
    yield "an objective a little too low", {"objective": c.objective * (1 - 1e-9)}
    yield "an objective too high", {"objective": c.objective * 1.1}
    yield "more ruled out", {"candidates": c.candidates - 1}
    yield "more candidates than features", {"candidates": m + 1}
    yield "more fixed", {"fixed_in": c.fixed_in + 1}
    yield "no count", {"fixed_in": 0.5}
    yield "equal columns", {"equivalents": {int(c.support[0]): others[:1]}}
    yield "equal to nothing", {"equivalents": {int(others[0]): others[1:2]}}
    yield "equal to one out of range", {"equivalents": {int(c.support[0]): np.array([-3])}}
    yield "C of nothing", {"C": np.inf}
    yield "a forced feature twice", {"forced": np.repeat(c.support[:1], 2)}
    yield "no loss of ours", {"loss": "hinge"}
    yield "no scaling of ours", {"scaling": "?"}
    yield "an intercept that is said to be none", {"fit_intercept": "no"}
    yield "a budget without groups", {"n_groups": 1}
    yield "groups of other data", {"groups": Groups(np.arange(1), np.zeros(3, np.int64)),
                                   "n_groups": 1}  # fmt: skip
    yield "a dual point of other data", {"dual": c.dual[:-1]}
    yield "a dual point without end", {"dual": np.where(c.dual == c.dual.max(), np.inf, c.dual)}


@pytest.mark.parametrize("proven", [False, True])
def test_lies_one_by_one(proven):
    """Each of these would pass as what it is not."""
    X, y, _ = oracles.certificate_instance(3)
    options = {"C": 0.3, "fit_intercept": False, "standardize": False}
    certificate = (
        zeronorm.prove([1, 2, 5], X, y, gap=0, **options).certificate
        if proven
        else zeronorm.certify([1, 2, 5], X, y, **options)
    )
    assert certificate.proven == proven
    verify(certificate, X, y)
    for why, changes in lies_about(certificate, X.shape[1]):
        with pytest.raises(CertificateError):
            pytest.fail(f"{why}: {verify(dataclasses.replace(certificate, **changes), X, y)}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fit_intercept": "no"}, "fit_intercept of the certificate must be True or False"),
        ({"fit_intercept": 1}, "fit_intercept of the certificate must be True or False"),
        ({"C": True}, "C of the certificate must be a finite number"),
        ({"C": "1"}, "C of the certificate must be a finite number"),
        ({"C": np.inf}, "C of the certificate must be a finite number"),
        ({"C": 0.0}, "C of the certificate must be positive"),
        ({"C": -1.0}, "C of the certificate must be positive"),
        ({"bound": -np.inf}, "bound of the certificate must be a finite number"),
        ({"bound": np.nan}, "bound of the certificate must be a finite number"),
        ({"objective": None}, "objective of the certificate must be a finite number"),
        ({"intercept": np.inf}, "intercept of the certificate must be a finite number"),
        ({"candidates": 3.0}, "candidates of the certificate must be a number of features"),
        ({"candidates": True}, "candidates of the certificate must be a number of features"),
        ({"fixed_in": -1}, "fixed_in of the certificate must be a number of features"),
        ({"support": np.array([[1], [2], [5]])}, "support of the certificate must be indices"),
        ({"support": np.array([1, 5, 2])}, "support of the certificate must be indices"),
        ({"support": np.array([1, 2, 2])}, "support of the certificate must be indices"),
        ({"support": np.array([-1, 2, 5])}, "support of the certificate must be indices"),
        ({"support": np.array([1.0, 2.0, 5.0])}, "support of the certificate must be indices"),
        ({"support": np.empty(0, np.int64)}, "the support of the certificate has no features"),
        ({"forced": np.array([3])}, "forced features outside of its support"),
        ({"forced": np.array([2, 1])}, "forced of the certificate must be indices"),
        ({"coef": np.ones(2)}, r"coef of the certificate must be finite numbers of shape \(3,\)"),
        ({"coef": np.ones((1, 3))}, "coef of the certificate must be finite numbers"),
        ({"coef": np.ones(3, complex)}, "coef of the certificate must be finite numbers"),
        ({"coef": np.array([1.0, np.nan, 1.0])}, "coef of the certificate must be finite numbers"),
        ({"bound": -1.7e308}, "the gap of the certificate is infinite"),
        ({"dual": np.full(60, np.inf)}, "dual of the certificate must be finite numbers"),
        ({"dual": np.ones((60, 1))}, "which is none of the loss"),
        ({"loss": ["logistic"]}, "the loss of the certificate must be 'logistic' or"),
        ({"n_groups": 2}, "groups without their number, or the reverse"),
        ({"groups": Groups(np.arange(2), np.arange(12) % 2)}, "groups without their number"),
    ],
)
def test_what_no_certificate_can_be(changes, message):
    """Nonsense would reach the arithmetic, which may do anything with it."""
    X, y, c = plain_certificate()
    check_form(c)
    with pytest.raises(CertificateError, match=message):
        verify(dataclasses.replace(c, **changes), X, y)


@pytest.mark.parametrize(
    ("code", "n_groups", "message"),
    [
        (np.arange(12) % 3, 1, "features of more than 1 groups"),
        (np.arange(12) % 3, None, "groups without their number"),
        (np.arange(12) % 3, 2.0, "n_groups must be a number of groups"),
        (np.arange(12) % 3, -1, "n_groups must be a number of groups"),
        (np.arange(12) % 4 - 1, 3, "must be one index for each feature"),
        (np.arange(12) % 4, 3, "must be one index for each feature"),
        (np.arange(12) % 3 + 0.0, 3, "are more than its features"),
        ((np.arange(12) % 3)[:, None], 3, "must be one index for each feature"),
        (np.arange(13) % 3, 3, "the groups of the certificate are of 13 features; X has 12"),
        (
            np.arange(5) % 3,
            3,
            "the support of the certificate must be of 5 features; got feature 5",
        ),
    ],
)
def test_groups_that_are_none(code, n_groups, message):
    """A code out of range would be counted elsewhere."""
    X, y, c = plain_certificate()
    groups = Groups(np.arange(3), code)
    with pytest.raises(CertificateError, match=message):
        verify(dataclasses.replace(c, groups=groups, n_groups=n_groups), X, y)


@functools.cache
def plain_certificate():
    """Return data and a certificate of three of twelve features."""
    X, y, _ = oracles.certificate_instance(3)
    return X, y, zeronorm.certify([1, 2, 5], X, y, C=0.3, fit_intercept=False, standardize=False)


@functools.cache
def searched_certificate():
    """Return data and a certificate whose tree has several levels."""
    X, y, _ = oracles.certificate_instance(3)
    proof = zeronorm.prove([1, 2, 5], X, y, gap=0, C=0.3, fit_intercept=False, standardize=False)
    assert proof.certificate.tree is not None
    return X, y, proof.certificate


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("parent", lambda v, n: np.append(v, 0), "must have parent, feature, row"),
        ("parent", lambda v, n: v.astype(float), "must have parent, feature, row"),
        ("inside", lambda v, n: v.astype(np.int64), "inside"),
        ("inside", lambda v, n: v[:, None], "inside"),
        ("parent", lambda v, n: np.where(np.arange(n) == 0, 0, v), "parent must be numbers"),
        (
            "parent",
            lambda v, n: np.where(np.arange(n) == n - 1, n - 1, v),
            "parent must be numbers",
        ),
        ("parent", lambda v, n: np.where(np.arange(n) == n - 1, -1, v), "parent must be numbers"),
        ("row", lambda v, n: np.where(np.arange(n) == n - 1, -2, v), "row must be rows"),
        ("row", lambda v, n: np.where(np.arange(n) == n - 1, 10**6, v), "row must be rows"),
        ("row", lambda v, n: np.where(np.arange(n) == 0, -1, v), "row must be rows"),
        ("feature", lambda v, n: np.where(np.arange(n) == n - 1, -2, v), "feature must be indices"),
        ("dual", lambda v, n: v[:, :-1], "tree.dual of the certificate must be finite"),
        ("dual", lambda v, n: np.where(v == v.max(), np.nan, v), "tree.dual of the certificate"),
    ],
)
def test_trees_that_are_none(name, change, message):
    """A cycle would never end, a row out of range be another one."""
    X, y, c = searched_certificate()
    changed = change(getattr(c.tree, name), len(c.tree.parent))
    tree = dataclasses.replace(c.tree, **{name: changed})
    with pytest.raises(CertificateError, match=message):
        verify(dataclasses.replace(c, tree=tree), X, y)


def test_a_tree_may_be_divided_at_the_root():
    """A sound proof would be refused, or the search for a lie begin below the root."""
    X, y, c = searched_certificate()
    tree = c.tree
    assert tree.parent[1] == 0
    assert (tree.parent[2:] > 0).all()  # node 1 has all that the root leaves
    root = dataclasses.replace(
        tree, parent=np.maximum(tree.parent[1:] - 1, -1), feature=tree.feature[1:],
        inside=tree.inside[1:], row=tree.row[1:],
    )  # fmt: skip
    below = np.flatnonzero(root.parent == 0)
    assert below.size == 2
    verify(dataclasses.replace(c, tree=root), X, y)
    for child in below:  # either half may hold the lie: its dual points prove nothing
        inside = {int(child)}
        for number, parent in enumerate(root.parent.tolist()):
            if parent in inside:
                inside.add(number)
        dual = root.dual.copy()
        dual[root.row[list(inside)]] = 0.0
        weak = dataclasses.replace(root, dual=dual)
        with pytest.raises(CertificateError, match="shows only"):
            verify(dataclasses.replace(c, tree=weak), X, y)


def test_no_better_coefficients_on_the_support():
    """Coefficients that are not those of the best model of their features would pass."""
    X, y, _ = oracles.certificate_instance(3)
    for intercept, loss in ((False, "logistic"), (True, "logistic"), (True, "squared_hinge")):
        c = certify(X, y, [1, 2, 5], intercept=intercept, loss=loss)
        for share, holds in ((1e-9, True), (3e-6, False)):  # by which the objective rises
            coef, low, high = c.coef, 0.0, 1.0
            for _ in range(60):
                middle = 0.5 * (low + high)
                moved = coef + middle * np.array([1.0, 0.0, 0.0])
                z = X[:, c.support] @ moved + c.intercept
                value = 0.5 * moved @ moved + c.C * oracles.loss_values(loss, y * z).sum()
                low, high = (middle, high) if value < c.objective * (1 + share) else (low, middle)
            forged = dataclasses.replace(c, coef=moved, objective=float(value))
            if holds:
                verify(forged, X, y)
            else:
                with pytest.raises(CertificateError, match="not optimal on its support"):
                    verify(forged, X, y)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("positive", [True, False])
def test_dual_points_are_made_feasible(loss, positive):
    """A bound would be one of no feasible point: too high by what it is infeasible."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(40) < 0.4, 1.0, -1.0)
    weight = rng.uniform(0.5, 2.0, 40)
    data = Data(
        X=np.zeros((40, 1)), y=y, centre=0.0, blur=0.0, weight=weight, usable=np.array([True]),
        error=np.zeros(1), loss=loss_of(loss, {}),
        intercept=True,
    )  # fmt: skip
    v = balance(y * weight * rng.uniform(0.1, 0.9, 40))
    heavier = y > 0 if positive else y < 0
    for excess, feasible in ((5e-10, True), (5e-9, False)):
        other = np.where(heavier, v * (1 + excess), v)
        if not feasible:
            with pytest.raises(CertificateError, match="not feasible"):
                data.feasible(other)
            continue
        mended = data.feasible(other)
        np.testing.assert_array_equal(mended[~heavier], v[~heavier])
        np.testing.assert_allclose(mended, v, rtol=1e-14)
        assert abs(mended.sum()) <= 1e-15 * np.abs(mended).sum()
    np.testing.assert_array_equal(data.feasible(np.zeros(40)), np.zeros(40))
    free = dataclasses.replace(data, intercept=False)
    one_class = np.where(heavier, v, 0.0)
    np.testing.assert_array_equal(free.feasible(one_class), one_class)
    with pytest.raises(CertificateError, match="not feasible"):
        data.feasible(one_class)
    for bad in (-1e-300 * y[-1], np.nan):
        with pytest.raises(CertificateError, match="not feasible"):
            free.feasible(np.append(v[:-1], bad))
    above = np.append(v[:-1], y[-1] * weight[-1] * (1 + 5e-10))
    far_above = np.append(v[:-1], y[-1] * weight[-1] * (1 + 2e-9))
    if loss == "squared_hinge":  # it has no cap
        np.testing.assert_array_equal(free.feasible(far_above), far_above)
    else:
        assert free.feasible(above)[-1] == y[-1] * weight[-1]
        with pytest.raises(CertificateError, match="not feasible"):
            free.feasible(far_above)


def test_dual_points_that_are_almost_nothing():
    """A negative point would end in a division by zero, a denormal share count as one of digits."""
    X, y, c = plain_certificate()
    free = zeronorm.certify([1, 2, 5], X, y, C=0.3)
    lone = np.zeros(60)
    lone[np.flatnonzero(y > 0)[0]] = -1.0
    with pytest.raises(CertificateError, match="not feasible"):
        verify(dataclasses.replace(free, dual=lone), X, y)
    data = read_data(X, y, None, c)
    dual = np.where(np.arange(60) < 5, 1e-295 * data.weight * y, c.dual)
    np.testing.assert_array_equal(data.feasible(dual)[:5], np.zeros(5))
    np.testing.assert_array_equal(data.feasible(dual)[5:], c.dual[5:])


def test_a_row_at_the_hinge_has_a_loss(monkeypatch):
    """Its slope is 0, but not its rounding, squared, beside a huge weight."""
    X, y = np.array([[2.0], [-2.0], [0.1]]), np.array([1.0, -1.0, 1.0])
    c = certify(X, y, [0], loss="squared_hinge", C=1.0)
    c = check_form(dataclasses.replace(c, coef=np.array([1.0])))
    monkeypatch.setattr("zeronorm.verification.recomputation.OPTIMAL", np.inf)
    found = []
    for heavy in (1.0, 1e30):
        data = read_data(X, y, np.array([heavy, heavy, 1.0]), c)
        assert data.slopes(X @ c.coef)[:2].max() == 0.0  # the margins of both are above 1
        found.append(_objective(data, c)[1])
    assert found[0] < 1e-12
    assert found[1] > 1.0


def test_groups_have_no_equivalents():
    """A feature of another group would be said to take the place of one."""
    X, y, _ = oracles.certificate_instance(3)
    X = np.column_stack([X, -X[:, 1]])
    c = zeronorm.certify([1], X, y, feature_groups=np.arange(13))
    verify(c, X, y)
    with pytest.raises(CertificateError, match="equivalents are of single features, but"):
        verify(dataclasses.replace(c, equivalents={1: np.array([12])}), X, y)


def test_chains_that_show_nothing():
    """A file of some kilobytes would keep the verifier busy for hours."""
    X, y, c = searched_certificate()
    n = 50
    chain = Tree(
        parent=np.arange(-1, n - 1), feature=np.full(n, -1), inside=np.zeros(n, bool),
        row=np.where(np.arange(n) == 0, 0, -1), dual=c.tree.dual[:1],
    )  # fmt: skip
    with pytest.raises(CertificateError, match="without a dual point of its own"):
        verify(dataclasses.replace(c, tree=chain), X, y)


def test_decisions_are_strict():
    """Features of models exactly as good as the limit would be decided."""
    node = Node(2.0, 0.0, np.array([4.0, 2.0, 1.0]), np.array([True, True, False]), 2.0, 1.0)
    assert (node.outside() > 2.5).tolist() == [False, False, False]
    assert (node.outside() > 2.4999).tolist() == [False, False, True]
    assert (node.inside() > 3.5).tolist() == [False, False, False]
    assert (node.inside() > 3.4999).tolist() == [True, False, False]
    assert (node.inside() > 2.4999).tolist() == [True, True, False]


def test_what_is_decided_needs_a_margin():
    """Features would be decided by rounding, at objectives of any size."""
    X, y, c = plain_certificate()
    data = read_data(X, y, None, c)
    units = Units(data, c)
    for objective in (1e-4, 1e4):
        claim = dataclasses.replace(c, objective=objective, candidates=11, fixed_in=0)
        for share, decided in ((0.5, False), (2.0, True)):
            square = np.zeros(12)  # the last feature costs so much that the bound is above
            reached = objective * (1 + share * 1e-9)
            node = Node(reached - 4.0, 0.0, square, np.arange(12) < 3, 8.0, 8.0)
            few = dataclasses.replace(
                node, square=np.where(np.arange(12) < 11, 8.0 + 0 * square, 0)
            )
            if decided:
                _check_decided(data, units, few, claim)
            else:
                with pytest.raises(CertificateError, match="claims 11 candidates"):
                    _check_decided(data, units, few, claim)


def test_less_than_is_shown_passes():
    """Honest certificates that say less than they could would be refused."""
    X, y, c = plain_certificate()
    for less in (
        {"bound": -1.0}, {"bound": 0.0}, {"candidates": 12}, {"fixed_in": 0},
        {"dual": c.dual.astype(">f8")}, {"support": c.support.astype(np.uint8)},
        {"bound": -1e6, "fixed_in": 0, "candidates": 12, "dual": np.zeros(60)},
    ):  # fmt: skip
        verify(dataclasses.replace(c, **less), X, y)


def test_rounding_of_the_conjugate_counts():
    """Where scores are tiny, the rounding of the loss would be left out."""
    rng = np.random.default_rng(1)
    X, y = 1e-9 * rng.standard_normal((50, 4)), np.where(rng.random(50) < 0.5, 1.0, -1.0)
    for loss in ("logistic", "squared_hinge"):
        c = certify(X, y, [0, 2], C=0.7, loss=loss)
        expected = 58 * 2.0**-53 * conjugate_size(y * c.dual / c.C, c.C, loss)
        assert verify(c, X, y)["rounding"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("grouped", [False, True])
def test_rounding_is_what_the_theorem_says(loss, grouped):
    """The rounding that is told would be less than what can happen."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 9)) + np.array([0.0, 10.0, 1e3] * 3)
    y = np.where(X[:, 0] + rng.standard_normal(50) > 0, 1.0, -1.0)
    units = {"groups": Groups(np.arange(5), np.arange(9) // 2), "n_groups": 3} if grouped else {}
    _, mean, scale = oracles.standardise(X)
    design = Scaled(as_design(X), mean, scale)
    options = {"groups": units["groups"]} if grouped else {}
    c = certify(
        design, y, [0, 1, 2, 3, 4, 5] if grouped else [0, 2, 4], C=0.7, loss=loss,
        scaling="standardized", intercept=True, forced=np.array([4]), **options,
    )  # fmt: skip
    Z = (X - mean) * scale
    unit, alpha = 2.0**-53, y * c.dual
    error = (4 * 50 + 8) * unit * np.abs(Z).max(axis=0) * alpha.sum()
    score = np.abs(Z.T @ (alpha * y))
    wrong = error * (2 * score + error)
    forced, free = [4], [0, 1, 2, 3, 5, 6, 7, 8]
    if grouped:
        wrong, forced, free = np.bincount(np.arange(9) // 2, wrong), [2], [0, 1, 3, 4]
    expected = 0.5 * (wrong[forced].sum() + np.sort(wrong[free])[-2:].sum())
    expected += 58 * unit * conjugate_size(alpha / c.C, c.C, loss)
    assert verify(c, X, y)["rounding"] == pytest.approx(expected, rel=1e-6)


def conjugate_size(share, C, loss):
    """Return what the rounding of a conjugate grows with: its terms, and what they change by."""
    if loss == "logistic":
        logs = -np.log(share) - np.log1p(-share)
        return C * (oracles.entropy(share) + 4 * share * logs).sum()
    return C * (share * (2 * share + 2)).sum()


def test_equal_columns_are_looked_at():
    """Any list of columns would pass for equal ones."""
    X, y, _ = oracles.certificate_instance(3)
    X = np.column_stack(
        [X, -X[:, 1], X[:, 1] * (1 + 5e-9), X[:, 1] + 1e-3, np.ones(len(X)), X[:, 1]]
    )
    c = zeronorm.certify([1, 2, 5], X, y, C=0.3, fit_intercept=False, standardize=False)

    def told(feature, others):
        return dataclasses.replace(c, equivalents={feature: np.array(others)})

    for others in ([12], [13], [16], [12, 13, 16], [16, 12]):
        verify(told(1, others), X, y)
    none = np.empty(0, np.int64)
    for feature, others in (
        (1, [14]), (1, [12, 14]), (1, [15]), (1, [12, 15]), (1, [-1]), (1, [12, 17]), (1, none),
        (1, [12, 12]), (1, [12.0]), (1, [[12]]), (1, [1]), (1, [12, 1]), (2, [12]), (12, [16]),
        (1.0, [12]), ("1", [12]), (1, [-5]),
    ):  # fmt: skip
        with pytest.raises(CertificateError, match="claims equivalents of feature"):
            verify(told(feature, others), X, y)


def test_a_bound_without_a_tree_that_needs_one():
    """The bound of a search would pass without what proves it."""
    X, y, _ = oracles.certificate_instance(3)
    options = {"C": 0.3, "fit_intercept": False, "standardize": False}
    certificate = zeronorm.prove([1, 2, 5], X, y, gap=0, **options).certificate
    assert certificate.tree is not None
    for changes in ({"tree": None}, {"bound": np.nan}, {"tree": None, "bound": np.nan}):
        with pytest.raises(CertificateError):
            verify(dataclasses.replace(certificate, **changes), X, y)
    # What is divided wrongly counts where the rest of the tree would do as well.
    tree = certificate.tree
    for name in ("parent", "feature", "row"):
        changed = dataclasses.replace(tree, **{name: getattr(tree, name).astype(float)})
        with pytest.raises(CertificateError, match=r"integers|numbers of"):
            verify(dataclasses.replace(certificate, tree=changed), X, y)


def test_a_constant_column_is_no_feature():
    """A model of two features would pass as the best of three."""
    X, y, _ = oracles.certificate_instance(0)
    X = np.column_stack([X, np.full(len(X), 4.0)])
    c = zeronorm.certify([0, 1], X, y)
    forged = dataclasses.replace(c, support=np.array([0, 1, 12]), coef=np.append(c.coef, 0.0))
    with pytest.raises(CertificateError, match="constant columns"):
        verify(forged, X, y)


@pytest.mark.parametrize("tree", [False, True])
def test_a_bound_that_is_short_by_rounding_alone_is_not_called_false(monkeypatch, tree):
    """Whoever made an honest certificate with other sums would be told that it is false."""
    X, y, _ = oracles.certificate_instance(0)
    model = BudgetClassifier(3, C=1.0, calibrate=False).fit(X, y)
    c = model.certificate_
    if tree:
        c = zeronorm.prove(model, X, y, gap=1e-3).certificate
        assert c.tree.parent.size > 2
    low, high = c.bound, c.objective  # the largest claim that is shown lies between them
    for _ in range(60):
        middle = 0.5 * (low + high)
        try:
            verify(dataclasses.replace(c, bound=middle), X, y)
            low = middle
        except CertificateError:
            high = middle
    node = Units.node

    def coarse(*given):
        found = node(*given)
        return dataclasses.replace(found, rounding=1e-8 * abs(found.bound))

    monkeypatch.setattr(Units, "node", coarse)
    with pytest.raises(UndecidedError, match=r"Use rtol=1e-08,"):
        verify(dataclasses.replace(c, bound=low * (1 + 5e-9)), X, y)
    with pytest.raises(CertificateError, match="claims the bound") as caught:
        verify(dataclasses.replace(c, bound=low * (1 + 2e-8)), X, y)
    assert not isinstance(caught.value, UndecidedError)


def test_columns_far_from_zero():
    """What rounding blurs would be told as proven, or what it does not blur be refused."""
    X, y, _ = oracles.certificate_instance(0)
    for offset in (0.0, 1e3, 1e6):
        c = zeronorm.certify([0, 1, 2], X + offset, y)
        found = verify(c, X + offset, y)
        assert found["bound"] == pytest.approx(c.bound, rel=1e-10)
        assert 0 < found["rounding"] < 1e-11 * found["bound"]
    # With all features in the model nothing but the last bits of the dual point is left to chance.
    few, offset = X[:, :3], 2.0**30
    c = certify(few, y, [0, 1, 2], intercept=True)
    own = dataclasses.replace(c, intercept=c.intercept - offset * float(c.coef.sum()))
    with pytest.raises(CertificateError, match=r"rounding may|claims the|not optimal"):
        verify(own, few + offset, y)
    near = dataclasses.replace(c, intercept=c.intercept - 2.0**20 * float(c.coef.sum()))
    with pytest.raises(UndecidedError, match="rounding may change its figures by") as caught:
        verify(near, few + 2.0**20, y)
    needed = float(str(caught.value).split("Use rtol=")[1].split(",")[0])
    verify(near, few + 2.0**20, y, rtol=needed)
    with pytest.raises(UndecidedError, match=f"Use rtol={needed:g},"):
        verify(near, few + 2.0**20, y, rtol=needed / 10)
    moved = 2.0**26  # where what the objective loses by rounding is more than rtol itself
    blurred = dataclasses.replace(c, intercept=c.intercept - moved * float(c.coef.sum()))
    with pytest.raises(UndecidedError, match="Use rtol=") as caught:
        verify(blurred, few + moved, y)
    needed = float(str(caught.value).split("Use rtol=")[1].split(",")[0])
    verify(blurred, few + moved, y, rtol=needed)
    false = dataclasses.replace(blurred, objective=blurred.objective * (1 + 1e-6))
    with pytest.raises(CertificateError, match="claims the objective"):
        verify(false, few + moved, y)
    false = dataclasses.replace(near, bound=near.bound * (1 + 1e-6))
    with pytest.raises(CertificateError, match="claims the bound") as caught:
        verify(false, few + 2.0**20, y)
    assert not isinstance(caught.value, UndecidedError)
    rng = np.random.default_rng(0)
    for _ in range(100):
        dual = y * balance(y * c.dual * (1 + 1e-12 * rng.standard_normal(60)))
        forged = dataclasses.replace(own, dual=dual, bound=c.objective * (1 + 1e-8))
        with pytest.raises(CertificateError):
            verify(forged, few + offset, y)


def test_columns_are_centred_to_the_last_digit():
    """Honest certificates would be refused for the rounding of a mean."""
    X, y, _ = oracles.certificate_instance(0)
    X = np.round(X * 1024) / 1024  # so that the sums below are exact
    c = zeronorm.certify([0, 1, 2], X, y)
    for offset in (2.0**20, 2.0**30, -(2.0**36)):
        assert verify(c, X + offset, y)["bound"] == pytest.approx(c.bound, rel=1e-13)


def test_rounding_of_the_objective_counts():
    """The figure of a model far from zero would be told to more digits than are known."""
    X, y, _ = oracles.certificate_instance(0)
    shifted = certify(X, y, [0, 1, 2], intercept=True, C=0.3)
    c = dataclasses.replace(shifted, intercept=shifted.intercept - 1e3 * float(shifted.coef.sum()))
    data = read_data(X + 1e3, y, None, check_form(c))
    objective, rounding = _objective(data, check_form(c))
    unit, size = 2.0**-53, np.abs(c.coef)
    Z = X[:, :3] - X[:, :3].mean(axis=0)
    slopes = c.C / (1 + np.exp(y * (X[:, :3] @ shifted.coef + shifted.intercept)))
    entry = (4 * 60 + 8) * unit * np.abs(Z).max(axis=0)
    mean = X[:, :3].mean(axis=0) + 1e3
    margins = entry @ size + 7 * unit * (abs(c.intercept) + mean @ size)
    error = entry * slopes.sum()
    blurred = 0.5 * error @ (2 * np.abs(Z.T @ (slopes * y)) + error)
    expected = margins * (slopes.sum() + 0.5 * c.C * 60 * margins) + blurred
    expected += 68 * unit * (objective + conjugate_size(slopes / c.C, c.C, "logistic"))
    assert rounding == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_numbers_of_fewer_bits_are_compared_in_full(kind):
    """A float16 would draw every comparison into its own precision: all tolerances would be 0."""
    X, y, c = searched_certificate()
    for changes in (
        {"objective": kind(c.objective * 1.0002), "bound": kind(c.objective * 1.0002)},
        {"bound": np.nextafter(kind(c.bound), kind(np.inf))},
        {"coef": c.coef.astype(np.float16).astype(kind)},
    ):
        with pytest.raises(CertificateError):
            verify(dataclasses.replace(c, **changes), X, y)


@pytest.mark.parametrize(("kind", "apart"), [(np.float16, 1e-4), (np.float32, 3e-8)])
def test_a_gap_is_not_lost_to_fewer_bits(kind, apart):
    """A model that is not the best would say so: its gap, in that precision, is 0."""
    X, y, _ = oracles.certificate_instance(3)
    X = np.column_stack([X[:, 1], X[:, 1] + apart * X[:, 2]])
    worse = [int(np.argmax([zeronorm.certify([j], X, y, C=0.3).objective for j in (0, 1)]))]
    low, high = 0.3, 0.35
    objective = kind(zeronorm.certify(worse, X, y, C=0.325).objective)
    for _ in range(60):
        C = 0.5 * (low + high)
        c = zeronorm.certify(worse, X, y, C=C)
        low, high = (C, high) if c.objective < float(objective) else (low, C)
    forged = dataclasses.replace(c, objective=objective, bound=float(c.bound))
    assert forged.proven
    assert not c.proven
    verify(dataclasses.replace(c, objective=float(objective)), X, y)
    with pytest.raises(CertificateError, match="objective of the certificate must be a finite"):
        verify(forged, X, y)


class Sly(float):
    """A number that is equal to every other."""

    def __rsub__(self, other):
        return 0.0

    def __abs__(self):
        return 1.0

    def __mul__(self, other):
        return 0.0


@dataclasses.dataclass(frozen=True)
class Changing(Certificate):
    """A certificate that shows another bound at every second look."""

    def __getattribute__(self, name):
        return 0.0 if name == "bound" else super().__getattribute__(name)


class Number(np.float64):
    """A number that says another one when it is asked for a plain one."""

    def __float__(self):
        return 0.0


class Whole(int):
    """An integer that is less than none."""

    def __lt__(self, other):
        return False

    def __int__(self):
        return 12


class Word(str):
    """A word that is the same as every other."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return True


class Shown(np.ndarray):
    """An array that shows others than it has."""

    def tolist(self):
        return [3, 4, 6]


class Convertible:
    """No array, but one is made of it."""

    def __init__(self, values):
        self.values = values
        self.size, self.shape = values.size, values.shape

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)


class EqualType(type):
    """The type of a type that is equal to every other."""

    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return hash(float)


class Float(metaclass=EqualType):
    """What is no number, of a type that is equal to that of numbers."""

    def __abs__(self):
        return 1.0

    def __float__(self):
        return 0.0

    def __ge__(self, other):
        return True

    def __int__(self):
        return 12


class Text(str, metaclass=EqualType):
    """A word that is the same as another one, of a type that is equal to that of words."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return other == "logistic"


class OtherGroups(Groups):
    """Groups that could be others at every look."""


class OtherTree(Tree):
    """A tree that could be another one at every look."""


def test_what_is_not_what_it_seems():
    """Objects with a will of their own would tell the verifier something else than the user."""
    X, y, c = plain_certificate()
    values = {field.name: getattr(c, field.name) for field in dataclasses.fields(c)}
    tree = searched_certificate()[2].tree
    for forged in (
        dataclasses.replace(c, objective=Sly(0.001), bound=Sly(0.001)),
        Changing(**values),
        dataclasses.replace(c, bound=Number(c.objective)),
        dataclasses.replace(c, candidates=Whole(0)),
        dataclasses.replace(c, groups=Groups(np.arange(3), np.arange(12) % 3), n_groups=Whole(1)),
        dataclasses.replace(c, scaling=Word("standardized")),
        dataclasses.replace(c, loss=Word("squared_hinge")),
        {**values},
        dataclasses.replace(c, C=10**400),
        dataclasses.replace(c, equivalents=None),
        dataclasses.replace(c, equivalents={1: [[2], [3, 4]]}),
        dataclasses.replace(c, tree={}),
        dataclasses.replace(c, tree=dataclasses.replace(tree, parent="abc")),
        dataclasses.replace(c, tree=dataclasses.replace(tree, row=None)),
        dataclasses.replace(c, support=[[1], [2, 5]]),
        dataclasses.replace(c, dual=np.ma.masked_array(c.dual, c.dual > 0.1)),
        dataclasses.replace(c, support=c.support.view(Shown)),
        dataclasses.replace(c, support=Convertible(c.support)),
        dataclasses.replace(c, coef=list(c.coef)),
        dataclasses.replace(c, bound=Float()),
        dataclasses.replace(c, candidates=Float()),
        dataclasses.replace(c, fit_intercept=Float()),
        dataclasses.replace(c, loss=Text("hinge")),
        dataclasses.replace(c, groups=3, n_groups=2),
        dataclasses.replace(c, groups=OtherGroups(np.arange(3), np.arange(12) % 3), n_groups=3),
        dataclasses.replace(
            c,
            tree=OtherTree(
                **{field.name: getattr(tree, field.name) for field in dataclasses.fields(tree)}
            ),
        ),
    ):
        with pytest.raises(CertificateError):
            verify(forged, X, y)


def test_columns_whose_squares_leave_the_range():
    """A feature would be taken for a constant, or its score for none, and a false bound pass."""
    X, y, _ = plain_certificate()
    best = zeronorm.certify([0, 1], X[:, [0, 1, 3]], y, C=0.3)
    for scale in (
        1e155,
        1e-130,
    ):  # a strong feature that overflows or underflows when it is squared
        wide = np.column_stack([X[:, [0, 1, 3]], scale * (y + 0.1 * X[:, 4])])
        forged = dataclasses.replace(best, candidates=4)
        with pytest.raises(CertificateError, match=r"claims the bound|candidates"):
            verify(forged, wide, y)
    largest = 1.6e308 * (0.5 + 0.5 * np.random.default_rng(0).random(60))  # all of one sign
    for scaling in ("standardized", "none"):
        wide = np.column_stack([X[:, [0, 1, 3]], largest * (1 + 0.05 * y)])
        options = {"C": 0.3, "standardize": scaling != "none", "fit_intercept": False}
        own = zeronorm.certify([0, 1], X[:, [0, 1, 3]], y, **options)
        with pytest.raises(CertificateError, match=r"claims the bound|candidates|rounding"):
            verify(dataclasses.replace(own, bound=own.objective, candidates=4), wide, y)
    # What the solver takes for a constant, the verifier does.
    tiny = np.column_stack([X, 1e-145 * X[:, 1]])
    verify(zeronorm.certify([1, 2, 5], tiny, y), tiny, y)
    large = zeronorm.certify([1, 2, 5], X, y)
    for weight in (1e300, 1.7e307):  # their sum overflows
        with pytest.raises(CertificateError):
            verify(large, X, y, sample_weight=np.full(60, weight))


def test_what_rounding_rules_out_on_the_way_is_not_called_false():
    """The search drops a column whose score is all rounding; the verifier would go on with it."""
    X, y = load_golub(return_X_y=True)
    wide = X[:, :60].copy()
    wide[:, 7] *= 1e15
    model = L0LogisticRegression(5, C=1.0, standardize=False, calibrate=False).fit(wide, y)
    certificate = zeronorm.prove(model, wide, y, gap=0).certificate
    assert certificate.tree is not None
    with pytest.raises(UndecidedError, match="neither verified nor refuted"):
        verify(certificate, wide, y)
    verify(certificate, X[:, :60], y)  # in the other unit it holds


def test_what_cannot_be_told_from_zero():
    """A gap of 14 % would be one of nothing beside the smallest numbers there are."""
    X, y, _ = plain_certificate()
    for C in (1e-312, 1e-230):
        forged = certify(X * 1e-60, y, [1, 2, 5], C=C)
        with pytest.raises(CertificateError, match="must be above 1e-200"):
            verify(dataclasses.replace(forged, bound=0.0), X * 1e-60, y)


def test_equal_columns_are_equal_entry_by_entry():
    """Columns that differ in small entries, or by a small share, would pass for equal."""
    X, y, _ = oracles.certificate_instance(3)
    own = X[:, 1]
    own[5] = 0.0
    largest = np.abs(own).max()
    near, off, other = own.copy(), own.copy(), own * (1 + 1e-6)
    near[5], off[5] = 5e-12 * largest, 5e-11 * largest
    X = np.column_stack([X, near, off, other])
    c = zeronorm.certify([1], X, y, C=0.3, fit_intercept=False, standardize=False)
    for scale in (1.0, 1e3):  # in any units
        c = zeronorm.certify([1], scale * X, y, C=0.3, fit_intercept=False, standardize=False)
        verify(dataclasses.replace(c, equivalents={1: np.array([12])}), scale * X, y)
        for feature in (13, 14):
            with pytest.raises(CertificateError, match="claims equivalents"):
                verify(dataclasses.replace(c, equivalents={1: np.array([feature])}), scale * X, y)


def test_equal_but_for_an_outlier():
    """One value that all columns share would make all of them equal to it."""
    X, y, _ = oracles.certificate_instance(3)
    X[7] = 1e9
    for intercept in (False, True):
        c = zeronorm.certify([1], X, y, C=1e-6, standardize=False, fit_intercept=intercept)
        assert not c.equivalents
        with pytest.raises(CertificateError, match=r"equivalents|rounding"):
            verify(dataclasses.replace(c, equivalents={1: np.array([2])}), X, y)


def test_a_tree_that_would_fill_the_memory(monkeypatch):
    """A file of a few kilobytes would take what memory there is."""
    X, y, c = searched_certificate()
    monkeypatch.setattr("zeronorm.verification.bound.MOST_WAITING", 0)
    with pytest.raises(CertificateError, match="too deep to be replayed"):
        verify(c, X, y)


def test_nodes_are_those_that_were_needed():
    """Dual points that nothing points to would count as a part of the proof."""
    X, y, c = searched_certificate()
    more = dataclasses.replace(c.tree, dual=np.vstack([c.tree.dual, np.zeros((99, 60))]))
    assert verify(dataclasses.replace(c, tree=more), X, y)["nodes"] == verify(c, X, y)["nodes"]
    assert verify(c, X, y)["nodes"] == len(c.tree.parent) - 1


def test_what_is_no_data_is_refused():
    """NaN in X or a negative weight would make any comparison false, or drop rows."""
    X, y, _ = oracles.certificate_instance(0)
    c = zeronorm.certify([0, 1, 2], X, y)
    assert verify(c, sp.csr_array(X), y)["gap"] == verify(c, X, y)["gap"]
    broken = X.copy()
    broken[3, 7] = np.nan
    for data, weight, rtol, message in (
        (broken, None, 1e-9, "X must be finite"),
        (X, -np.ones(60), 1e-9, "sample_weight must be a finite number"),
        (X, np.ones(59), 1e-9, "sample_weight must be a finite number"),
        (X[:-1], None, 1e-9, "got the shapes"),
        (X, None, 1.0, "rtol must be above 0 and at most 1e-3"),
        (X, None, np.nan, "rtol must be above 0 and at most 1e-3"),
        (X, None, 0.0, "rtol must be above 0 and at most 1e-3"),
        (X[:, :2], None, 1e-9, "the support of the certificate must be of 2 features"),
        (X + 1j, None, 1e-9, "X must not be masked or complex"),
        (np.ma.masked_array(X, X > 1), None, 1e-9, "X must not be masked or complex"),
        (X, np.ones(60) + 1j, 1e-9, "sample_weight must not be masked or complex"),
    ):
        with pytest.raises(ValueError, match=message):
            verify(c, data, y, sample_weight=weight, rtol=rtol)
    with pytest.raises(ValueError, match="y must be labels"):
        verify(c, X, np.where(y > 0, np.nan, 0.0))
    with pytest.raises(ValueError, match="y must not be masked"):
        verify(c, X, np.ma.masked_array(y, y > 0))
    day = np.datetime64("2020-01-01")
    for labels in (np.ones(60, object), np.full(60, day)):
        labels[7] = np.nan if labels.dtype == object else np.datetime64("NaT")
        with pytest.raises(ValueError, match="y must be labels or numbers; got NaN"):
            verify(c, X, labels)


ALONE = """
import sys

for name in ("solvers", "estimators", "data", "_kernels"):
    sys.modules[f"zeronorm.{name}"] = None  # an import of it raises ImportError

import numpy as np

import zeronorm
from zeronorm.cli import main
from zeronorm.persistence import load_certificate
from zeronorm.verification import CertificateError

data = np.load("data.npz")
saved = load_certificate("certificate.npz")
assert saved.verify(data["X"], data["y"])[0]["gap"] < 1
(certificate,) = saved.certificates
assert zeronorm.verify(certificate, data["X"], data["y"])["gap"] < 1
try:
    zeronorm.verify(certificate, data["X"][::-1], data["y"])
except CertificateError:
    sys.argv = ["zeronorm", "verify", "certificate.npz", "data.npz"]
    main()
"""


@pytest.mark.slow
def test_verification_works_without_solvers_and_kernels(tmp_path):
    """Otherwise a fault of what made a certificate could reach what checks it."""
    rng = np.random.default_rng(27)
    X = rng.standard_normal((40, 6))
    y = (X[:, 0] + rng.standard_normal(40) > 0).astype(int)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    model = BudgetClassifier(2, calibrate=False).fit(X, y)
    save_certificate(model.certificate_, tmp_path / "certificate.npz", X, y)
    done = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stdout


def test_verification_imports_numpy_and_the_record_alone():
    """Otherwise the verifier would take something on trust that it is there to check."""
    # Of core: the record and its parts, aliases of types, numbers of data frames, free memory, and
    # the text of errors.
    core = {"results", "groups", "types", "frames", "memory", "errors"}
    libraries = {"numpy", "scipy", "narwhals", "pyarrow", *sys.stdlib_module_names}
    folder = Path(verification.__file__).parent
    files = [*folder.glob("*.py"), *(folder.parent / "core" / f"{name}.py" for name in core)]
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                assert {one.name.partition(".")[0] for one in node.names} <= libraries, file.name
            elif isinstance(node, ast.ImportFrom) and not node.level:
                assert node.module.partition(".")[0] in libraries, file.name
            elif isinstance(node, ast.ImportFrom):
                names = {node.module} if node.module else {one.name for one in node.names}
                names = {name.removeprefix("core.") for name in names}
                own = {one.stem for one in folder.glob("*.py")} if file.parent == folder else set()
                assert names <= core | own, file.name


@pytest.mark.parametrize("given", ["model.npz", Path("x.certificate.npz"), None, {}])
def test_what_is_no_certificate_is_told_how_to_be_one(given):
    """A path would be refused without a word on how a file is checked."""
    with pytest.raises(
        CertificateError, match=r"Certificate; got .*certificate_.*load_certificate"
    ):
        verify(given, np.ones((4, 2)), [0, 1, 0, 1])


def test_a_bound_that_a_tree_shows_to_rtol_alone_is_returned_weaker():
    """A gap would be called recomputed that nothing shows."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 9))
    y = (X[:, :3] @ [1, -1, 0.7] + rng.logistic(size=60) > 0).astype(int)
    honest = zeronorm.prove([0, 1, 2], X, y, gap=0.0008, C=0.5).certificate
    forged = dataclasses.replace(honest, bound=honest.bound * (1 + 9e-4))
    with pytest.raises(CertificateError, match="of its tree shows only"):
        verify(forged, X, y)
    found = verify(forged, X, y, rtol=1e-3)
    assert found["bound"] == forged.bound * (1 - 1e-3) < honest.bound
    assert found["gap"] > honest.gap
    for rtol in (1e-10, 1e-6):
        assert verify(honest, X, y, rtol=rtol)["bound"] == honest.bound


@pytest.mark.parametrize("sign", [1, -1, 0])
def test_equivalents_have_the_signs_that_the_problem_asks_for(sign):
    """A feature would be named that no model may have instead of the selected one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    X[:, 4], X[:, 5] = X[:, 0], -X[:, 0]
    y = (X[:, 0] + 0.3 * rng.logistic(size=60) > 0).astype(int)
    signs = np.array([0, 0, 0, 0, sign, sign])
    fitted = BudgetClassifier(1, C=1.0, signs=signs, calibrate=False).fit(X, y)
    honest = zeronorm.certify([0], X, y, problem=fitted)
    right = {1: [4], -1: [5], 0: [4, 5]}[sign]
    assert honest.equivalents[0].tolist() == right
    for others in ([4], [5], [4, 5]):
        claimed = dataclasses.replace(honest, equivalents={0: np.array(others)})
        if set(others) <= set(right):
            verify(claimed, X, y)
            continue
        with pytest.raises(CertificateError, match="the certificate claims equivalents"):
            verify(claimed, X, y)


def test_a_forced_feature_has_no_equivalents():
    """Every model has it: nothing can take its place."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    X[:, 5] = X[:, 0]
    y = (X[:, 0] + 0.3 * rng.logistic(size=60) > 0).astype(int)
    fitted = BudgetClassifier(2, C=1.0, forced_features=[0], calibrate=False).fit(X, y)
    honest = zeronorm.certify(fitted, X, y)
    verify(honest, X, y)
    assert 0 not in honest.equivalents
    with pytest.raises(CertificateError, match="the certificate claims equivalents"):
        verify(dataclasses.replace(honest, equivalents={0: np.array([5])}), X, y)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("loss", ["logistic", "least_squares", "huber"])
def test_fits_of_columns_far_from_zero_claim_no_more_than_is_shown(loss, standardize):
    """A fit would hand out a certificate that the package itself calls false."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 8))
        z = X[:, 0] - X[:, 1] + rng.standard_normal(40)
        X += 10.0 ** rng.uniform(3, 6) * rng.standard_normal(8)
        kwargs = {"C": 10.0 ** rng.uniform(0, 6), "standardize": standardize, "loss": loss}
        if loss == "logistic":
            y, kind = (z > 0).astype(int), functools.partial(BudgetClassifier, calibrate=False)
        else:
            y, kind = z, zeronorm.BudgetRegressor
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = kind(2, **kwargs).fit(X, y)
        with contextlib.suppress(UndecidedError):
            verify(fitted.certificate_, X, y)


def test_margins_that_rounding_moves_leave_a_certificate_undecided():
    """A fit to huge columns without an intercept would be called a forgery."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((44, 10))
    y = (X[:, 0] - X[:, 1] + rng.standard_normal(44) > 0).astype(int)
    X += 1e6 * rng.standard_normal(10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = BudgetClassifier(3, C=4e5, fit_intercept=False, calibrate=False).fit(X, y)
    with pytest.raises(UndecidedError, match="rounding may change"):
        verify(fitted.certificate_, X, y)


@pytest.mark.parametrize(
    ("loss", "spread", "mean", "C"),
    [("least_squares", 1e-6, 1e6, 1e5), ("quantile", 1e6, 0.0, 80.0), ("gamma", 1e-6, 1e6, 1e7)],
)
def test_fits_that_rounding_ends_early_are_refused(loss, spread, mean, C):
    """A model far from the best of its features would come with a certificate that is false."""
    refused = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 8))
        z = X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(40)
        X = X * spread + mean
        y = np.exp(z) + 0.01 if loss == "gamma" else 1e4 * z
        model = zeronorm.BudgetRegressor(2, loss=loss, C=C, standardize=False)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, y)
        except np.linalg.LinAlgError as error:
            refused += "Standardise the columns" in str(error)
            continue
        with contextlib.suppress(UndecidedError):
            verify(model.certificate_, X, y)
    assert refused

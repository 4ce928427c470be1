"""Ordered classes: the ordinal loss, its certificates, and BudgetClassifier(loss="ordinal")."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import cohen_kappa_score, make_scorer, mean_absolute_error

from conftest import slow
from zeronorm import BudgetClassifier, certify, methods, persistence, prove, verify
from zeronorm.data.gathered import DenseColumns
from zeronorm.losses import Ordinal, check_loss
from zeronorm.losses.ordinal import log_proportional_odds, ordered_log_loss
from zeronorm.model_selection.cross_validation import cross_validate
from zeronorm.solvers.final_fits import RowsLeftOut, leave_ordered_row_out_loss
from zeronorm.solvers.problem import Risk
from zeronorm.verification import CertificateError
from zeronorm.verification.losses import ReferenceOrdinal as Recomputed

pandas = pytest.importorskip("pandas")
NAMES = np.array(["none", "mild", "severe", "fatal"])  # not in the order of the alphabet


def draw(seed, n=40, p=7, q=3):
    """Columns, two of them informative, one a duplicate, and ordered classes, all with rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.3, 3.0, p) + rng.uniform(-2.0, 2.0, p)
    X[:, p - 1] = X[:, 0]
    z = (X[:, 1] - X[:, 1].mean()) / X[:, 1].std() - 0.7 * X[:, 2] / X[:, 2].std()
    z = z + 0.7 * rng.logistic(size=n)
    y = np.digitize(z, np.quantile(z, np.linspace(0.0, 1.0, q + 1)[1:-1]))
    y[:q] = np.arange(q)
    return X, y


def named(y, q=3):
    """The same classes by their names, in order."""
    return pandas.Categorical(NAMES[y], NAMES[:q], ordered=True)


def by_definition(z, b, y, weight):
    """Minus the log-likelihood of proportional odds at thresholds."""
    ends = np.concatenate([[-np.inf], b, [np.inf]])
    p = expit(ends[y + 1] - z) - expit(ends[y] - z)
    return -float(weight @ np.log(np.maximum(p, 1e-300)))


def optimum(Z, y, weight, C, penalty=1.0):
    """The least objective, its coefficients and thresholds, by a plain optimiser."""
    k, q = Z.shape[1], y.max() + 1

    def parts(x):
        return x[:k], x[k] + np.concatenate([[0.0], np.cumsum(np.exp(x[k + 1 :]))])

    def value(x):
        u, b = parts(x)
        ends = np.concatenate([[-np.inf], b, [np.inf]])
        high, low = expit(ends[y + 1] - Z @ u), expit(ends[y] - Z @ u)
        p = np.maximum(high - low, 1e-300)
        # Of the thresholds above and below; margins fall by both.
        up, down = weight * high * (1.0 - high) / p, weight * low * (1.0 - low) / p
        slope = -np.bincount(y, up, q)[:-1] + np.bincount(y, down, q)[1:]
        later = np.cumsum(slope[::-1])[::-1]
        own = np.concatenate([Z.T @ (up - down), later[:1], later[1:] * np.exp(x[k + 1 :])])
        return 0.5 * penalty * u @ u - C * weight @ np.log(p), C * own + penalty * np.concatenate(
            [u, np.zeros(q - 1)]
        )

    start = np.concatenate([np.zeros(k), [-1.0], np.zeros(q - 2)])
    for _ in range(3):
        found = minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-9})
        start = found.x
    return found.fun, *parts(found.x)


@pytest.mark.parametrize("y", [None, np.arange(40) % 2.0, np.repeat([0.0, 2.0, 3.0], [20, 1, 19])],
                         ids=str)  # fmt: skip
def test_the_loss_is_what_solvers_rely_on(y):
    """Thresholds, flows of dual points through them, or classes without rows would be wrong."""
    check_loss(Ordinal() if y is None else Ordinal(4), y)


@pytest.mark.parametrize("seed", range(4))
def test_the_value_is_that_of_the_best_thresholds(seed):
    """The loss would be at other thresholds than the best, or its intercepts be others."""
    rng = np.random.default_rng(seed)
    q = 3 + seed % 3
    y = np.concatenate([np.arange(q), rng.integers(0, q, 30)])
    weight, z = rng.uniform(0.2, 3.0, y.size), rng.normal(0.0, 1.5, y.size)
    loss = Ordinal(q)
    value, gradient = loss.value_gradient(z, y.astype(float), weight)
    b = -loss.intercepts(z, y.astype(float), weight)
    assert value == pytest.approx(by_definition(z, b, y, weight), rel=1e-11)
    for _ in range(20):
        moved = np.sort(b + 0.1 * rng.standard_normal(q - 1))
        assert by_definition(z, moved, y, weight) >= value * (1.0 - 1e-12)
    step = 1e-5 * rng.standard_normal(z.size)
    rise = by_definition(z + step, b, y, weight) - by_definition(z - step, b, y, weight)
    assert rise == pytest.approx(2.0 * gradient @ step, rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_the_verifier_bounds_the_conjugate_as_closely_as_solvers(seed):
    """A verifier that shares no code would refuse true certificates, or accept false ones."""
    rng = np.random.default_rng(seed)
    q = 3 + seed % 3
    y = np.concatenate([np.arange(q), rng.integers(0, q, 30)]).astype(float)
    weight, z = rng.uniform(0.1, 3.0, y.size), rng.normal(0.0, 10.0 ** (seed - 2), y.size)
    ours, theirs = Ordinal(q), Recomputed(np.arange(q - 1.0))
    v = -ours.value_gradient(z, y, weight)[1]
    for t in (1e-3, 0.5, 1.0):
        near = ours.inside(v * rng.uniform(0.0, t, v.size), y, weight)
        for point in (t * v, near):
            wanted = ours.conjugate(point, y, weight)
            feasible = theirs.balanced(point, y, weight, True)
            parts, terms = theirs.conjugates(feasible, y, weight)
            rounding = 2.0**-53 * (y.size + 8) * terms.sum()
            assert parts.sum() == pytest.approx(wanted, rel=1e-10, abs=1e-10)
            assert parts.sum() >= wanted - rounding
            assert rounding < 1e-9 * (1.0 + weight.sum())
            # Fenchel and Young, at other margins: the bound must not be below any of these.
            for _ in range(5):
                other = rng.normal(0.0, 3.0, y.size)
                slack = ours.value_gradient(other, y, weight)[0] + parts.sum() + other @ feasible
                assert slack >= -rounding - 1e-12 * np.abs(other) @ np.abs(feasible)
    assert not np.isfinite(theirs.conjugates(np.where(y == 1, weight, 0.0), y, weight)[0].sum())
    # Any point is made feasible by taking away from it, and what is so already is left alone.
    low, high = theirs.limits(y, weight)
    for point in (low + (high - low) * rng.random(y.size), 0.5 * high, low, v):
        feasible = theirs.balanced(point, y, weight, True)
        assert (np.abs(feasible) <= np.abs(point)).all()
        assert (feasible * point >= 0).all()
        assert np.isfinite(theirs.conjugates(feasible, y, weight)[0].sum())
        assert np.isfinite(ours.conjugate(feasible, y, weight))
    np.testing.assert_allclose(feasible, v, rtol=1e-12)


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3, 4, 5, 6, 7)])
def test_proofs_against_enumeration_of_all_supports(seed):
    """A support that is called best would not be, or a bound would be above the optimum."""
    rng = np.random.default_rng(50 + seed)
    X, y = draw(seed, n=30, p=6, q=3 + seed % 2)
    weight = rng.integers(0, 3, 30).astype(float) if seed in (1, 5) else np.ones(30)
    weight[: y.max() + 1] = 1.0
    forced, k, C = ([4] if seed in (2, 6) else None), 2, (0.1, 1.0, 3.0)[seed % 3]
    model = BudgetClassifier(
        k, loss="ordinal", C=C, method=methods.L0(gap=0.0), forced_features=forced, calibrate=False
    ).fit(X, y, sample_weight=weight)
    used = weight > 0
    mean = weight @ X / weight.sum()
    Z = (X - mean) / np.sqrt(weight @ (X - mean) ** 2 / weight.sum())
    found = {
        support: optimum(Z[used][:, list(support)], y[used], weight[used], C)[0]
        for support in itertools.combinations(range(X.shape[1]), k)
        if forced is None or 4 in support
    }
    best, certificate = min(found.values()), model.proof_.certificate
    assert certificate.loss == "ordinal"
    assert certificate.objective == pytest.approx(best, rel=1e-6)
    assert found[tuple(certificate.support.tolist())] == pytest.approx(best, rel=1e-6)
    assert certificate.bound <= best * (1.0 + 1e-8)
    assert certificate.proven
    assert verify(certificate, X, y, sample_weight=weight)["gap"] <= 1e-9
    assert certify(model, X, y, sample_weight=weight).bound <= best * (1.0 + 1e-8)


@pytest.mark.filterwarnings("ignore:n_features=2. with these signs")
@pytest.mark.parametrize("seed", [1, *slow(0, 2, 3, 4)])
def test_proofs_with_signs_against_enumeration(seed):
    """Coefficients would have other signs than asked for, or other ones with these be better.

    The best model with signs is that without signs of those features whose coefficients are not 0.
    """
    X, y = draw(seed, n=40, p=6, q=3 + seed % 2)
    signs, C = np.array([1, 1, 1, -1, 0, -1]), (1.0, 0.1)[seed % 2]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    best = np.inf
    for support in itertools.chain(*(itertools.combinations(range(6), k) for k in (1, 2))):
        value, coef, _ = optimum(Z[:, list(support)], y, np.ones(40), C)
        if (signs[list(support)] * coef >= 0).all():
            best = min(best, value)
    for method in ("pool", "l0"):
        model = BudgetClassifier(
            2, loss="ordinal", signs=signs, C=C, method=method, calibrate=False
        ).fit(X, y)
        assert (signs * model.coef_[0] >= 0).all()
        certificate = prove(model, X, y, gap=0.0).certificate
        assert certificate.proven
        assert certificate.objective == pytest.approx(best, rel=1e-6)
        for one in (model.certificate_, certificate):
            assert one.bound <= best * (1.0 + 1e-7)
            verify(one, X, y)
        plain = replace(certificate, signs=np.zeros(6, np.int8))
        if certificate.objective > 1.001 * optimum_of_any_sign(Z, y, C):
            with pytest.raises(CertificateError):
                verify(plain, X, y)


def optimum_of_any_sign(Z, y, C):
    """The least objective of two features, whatever the signs of their coefficients."""
    pairs = itertools.combinations(range(Z.shape[1]), 2)
    return min(optimum(Z[:, list(pair)], y, np.ones(len(Z)), C)[0] for pair in pairs)


@pytest.mark.parametrize("method", ["greedy", *slow("pool", "minimax", "l0")])
def test_every_method_certifies_what_it_selects(method):
    """A method would fail for ordered classes, or its certificate would be of another problem."""
    X, y = draw(7, n=100, p=16, q=4)
    model = BudgetClassifier([2, 4], loss="ordinal", method=method, calibrate=False).fit(X, y)
    for size in (2, 4):
        assert model.path_[size].support.size == size
        verify(model.path_[size].certificate, X, y)
    assert {1, 2} <= set(model.support_.tolist())
    assert model.coef_.shape == (1, 16)
    assert (np.diff(model.thresholds_) > 0).all()
    proof = prove(model, X, y, gap=0.0)
    assert proof.certificate.proven
    verify(proof.certificate, X, y)


def test_whole_groups():
    """Budgets of groups would have no ordinal models, or certificates that do not verify."""
    X, y = draw(2, n=100, p=24)
    groups = np.arange(24) // 3
    model = BudgetClassifier(
        n_groups=2, feature_groups=groups, loss="ordinal", calibrate=False
    ).fit(X, y)  # fmt: skip
    assert len(np.unique(model.groups_)) == 2
    verify(model.certificate_, X, y)
    proof = prove(model, X, y, gap=0.0)
    assert proof.certificate.proven
    verify(proof.certificate, X, y)


def test_the_numbers_of_statsmodels():
    """The model would be another one than proportional odds without a penalty.

    The numbers are those of statsmodels' OrderedModel(distr="logit"), by Newton's method.
    """
    i = np.arange(60)
    X = np.column_stack([np.sin(1.7 * i), np.cos(0.9 * i) * 2, np.sin(i * i * 0.37)])
    z = 1.2 * X[:, 0] - 0.6 * X[:, 1] + 1.5 * np.sin(i * 2.3 + 1)
    y = np.digitize(z, [-1.2, 0.4, 1.3])
    model = BudgetClassifier(3, loss="ordinal", refit_C=1e9, calibrate=False).fit(X, y)
    np.testing.assert_allclose(
        model.coef_[0], [1.637915796836926, -0.9363042418573146, 0.3490378262949084], rtol=1e-5
    )
    np.testing.assert_allclose(
        model.thresholds_, [-1.8614519, 0.2504793, 2.3256284], rtol=1e-5
    )  # fmt: skip
    assert np.log(model.predict_proba(X)[i, y]).sum() == pytest.approx(-63.454459595, rel=1e-8)


def test_predictions_are_those_of_the_thresholds():
    """Probabilities would not be of proportional odds, or classes not the likeliest."""
    X, y = draw(4, n=120, q=4)
    model = BudgetClassifier(3, loss="ordinal", calibrate=False).fit(X, y)
    z, p = X @ model.coef_[0], model.predict_proba(X)
    below = expit(model.thresholds_ - z[:, None])
    np.testing.assert_allclose(np.cumsum(p, axis=1)[:, :-1], below, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), p.argmax(axis=1))
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(p), rtol=1e-12)
    scores = model.decision_function(X)
    np.testing.assert_allclose(expit(scores), p, rtol=1e-9)
    assert model.score(X, y) == np.mean(p.argmax(axis=1) == y)
    far = model.predict_proba(1e6 * X)
    assert np.isfinite(far).all()
    np.testing.assert_allclose(far.sum(axis=1), 1.0)


def test_the_final_fit_is_that_of_a_plain_optimiser():
    """The refit on the user's scaling would be another model."""
    X, y = draw(6, n=120)
    model = BudgetClassifier(3, loss="ordinal", refit_C=2.0, calibrate=False).fit(X, y)
    _, w, b = optimum(X[:, model.support_], y, np.ones(120), 2.0)
    np.testing.assert_allclose(model.coef_[0, model.support_], w, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.thresholds_, b, rtol=1e-4, atol=1e-5)
    loss = by_definition(X @ model.coef_[0], model.thresholds_, y, np.ones(120))
    assert model.criteria_["log_loss"][0] == pytest.approx(loss, rel=1e-9)


def test_leaving_rows_out_approximately_is_leaving_them_out():
    """C of the final fit would be chosen by a loss that no held-out row has."""
    X, y = draw(1, n=60, p=3)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    weight, C, target = np.ones(60), 0.5, y.astype(float)
    _, u, _ = optimum(Z, y, weight, C)
    margins = Z @ u
    columns, risk = DenseColumns(np.asfortranarray(Z)), Risk(target, weight, Ordinal(3))
    found = leave_ordered_row_out_loss(RowsLeftOut.of(columns, risk, np.ones(3)), C, margins)
    exact = 0.0
    for row in range(60):
        others = np.arange(60) != row
        _, own, b = optimum(Z[others], y[others], weight[others], C)
        exact += by_definition(Z[[row]] @ own, b, y[[row]], np.ones(1)) / 60
    training = Ordinal(3).value_gradient(margins, target, weight)[0] / 60
    assert found - training == pytest.approx(exact - training, rel=0.03)
    assert exact > training


def test_weights_are_repetitions_and_rows_may_be_permuted():
    """Counts of equal rows, or the order of rows, would change the model."""
    X, y = draw(9, n=60)
    X = X[:, :-1]  # the duplicate may take the place of the other
    counts = np.resize([1, 2, 0, 3], y.size)
    rows = np.repeat(np.arange(y.size), counts)
    one = BudgetClassifier(3, loss="ordinal", calibrate=False).fit(X, y, sample_weight=counts)
    order = np.random.default_rng(0).permutation(rows)
    other = BudgetClassifier(3, loss="ordinal", calibrate=False).fit(X[order], y[order])
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(one.thresholds_, other.thresholds_, rtol=1e-6)


@pytest.mark.slow
def test_calibration_scales_coefficients_and_thresholds():
    """The number would not be that of the least log-loss of the held-out rows."""
    rng = np.random.default_rng(0)
    scores = 4.0 * -np.sort(-rng.standard_normal((200, 3)), axis=1)
    codes = rng.integers(0, 4, 200)
    value, slope = ordered_log_loss(scores, codes)
    np.testing.assert_allclose(value, -log_proportional_odds(scores)[np.arange(200), codes])
    step = 1e-6
    rise = ordered_log_loss((1 + step) * scores, codes)[0]
    fall = ordered_log_loss((1 - step) * scores, codes)[0]
    np.testing.assert_allclose(slope, (rise - fall) / (2 * step), rtol=1e-6, atol=1e-6)
    X, y = draw(5, n=90, p=20)
    plain = BudgetClassifier(4, loss="ordinal", calibrate=False).fit(X, y)
    scaled = BudgetClassifier(4, loss="ordinal", calibrate=True).fit(X, y)
    a = scaled.path_[4].scale
    assert 0.02 <= a < 1.0
    np.testing.assert_allclose(scaled.coef_, a * plain.coef_)
    np.testing.assert_allclose(scaled.thresholds_, a * plain.thresholds_)
    assert 0.0 < scaled.path_[4].cv_log_loss < 2.0
    other = BudgetClassifier(4, loss="ordinal", calibrate=True).fit(X, named(y))
    assert other.path_[4].scale == a


@pytest.mark.slow
def test_the_order_of_names_is_that_of_the_categories():
    """Names would be ordered by the alphabet."""
    X, y = draw(3, n=80, q=4)
    one = BudgetClassifier(3, loss="ordinal", calibrate=False).fit(X, y)
    for target in (named(y, 4), pandas.Series(named(y, 4))):
        other = BudgetClassifier(3, loss="ordinal", calibrate=False).fit(X, target)
        np.testing.assert_array_equal(other.coef_, one.coef_)
        np.testing.assert_array_equal(other.thresholds_, one.thresholds_)
        np.testing.assert_array_equal(other.ordered_classes_, NAMES)
        np.testing.assert_array_equal(other.classes_, np.sort(NAMES))
        np.testing.assert_array_equal(other.predict(X), NAMES[one.predict(X)])
        order = np.argsort(NAMES)
        wanted = one.predict_proba(X)[:, order]
        np.testing.assert_allclose(other.predict_proba(X), wanted, rtol=1e-12)
        assert other.score(X, target) == one.score(X, y)
        verify(other.certificate_, X, target)
    reversed_ = pandas.Categorical(NAMES[y], NAMES[::-1], ordered=True)
    back = BudgetClassifier(3, loss="ordinal", calibrate=False).fit(X, reversed_)
    np.testing.assert_allclose(back.coef_, -one.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(back.thresholds_, -one.thresholds_[::-1], rtol=1e-6)
    with pytest.raises((CertificateError, ValueError)):
        verify(one.certificate_, X, reversed_)
    # Categories without rows have no part; numbers need not be those from 0.
    more = pandas.Categorical(NAMES[y], ["never", *NAMES], ordered=True)
    np.testing.assert_array_equal(
        BudgetClassifier(3, loss="ordinal", calibrate=False).fit(X, more).coef_, one.coef_
    )
    numbers = BudgetClassifier(3, loss="ordinal", calibrate=False).fit(X, 10.0 * y - 5.0)
    np.testing.assert_array_equal(numbers.coef_, one.coef_)


def test_two_classes_are_those_of_the_logistic_model():
    """Two classes would have another model than the same two without an order."""
    X, y = draw(8, n=60, q=2)
    one = BudgetClassifier(2, loss="ordinal", calibrate=False).fit(X, y)
    other = BudgetClassifier(2, calibrate=False).fit(X, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(one.thresholds_, -other.intercept_)
    assert one.certificate_.loss == "logistic"
    verify(one.certificate_, X, y)
    assert not hasattr(other, "thresholds_")
    tiny = BudgetClassifier(1, loss="ordinal").fit(X[:2], [0, 1])
    assert np.isfinite(tiny.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("options", "y", "words"),
    [
        ({}, NAMES[draw(0)[1]], "ordered categorical"),
        ({}, NAMES[draw(0)[1]].astype(object), "ordered=True"),
        ({}, pandas.Categorical(NAMES[draw(0)[1]]), "an order"),
        ({"fit_intercept": False}, draw(0)[1], "thresholds"),
        ({"multi_class": "ovr"}, draw(0)[1], "one model of all classes"),
        ({"method": "l1"}, draw(0)[1], "'pool', 'greedy', 'l0', 'minimax' and 'bilevel'"),
        ({}, np.arange(40), "labels of classes"),
        ({}, np.ones(40), "two classes"),
        ({}, pandas.Categorical([None, *NAMES[draw(0)[1]][1:]], NAMES, ordered=True), "label"),
    ],
)
def test_what_has_no_order_is_named(options, y, words):
    """An order would be guessed, or an option be ignored."""
    with pytest.raises(ValueError, match=words):
        BudgetClassifier(**({"n_features": 2} | options), loss="ordinal").fit(draw(0)[0], y)


@pytest.mark.slow
def test_extremes_are_sane():
    """A class of one row, separated classes or equal columns would give NaN or no certificate."""
    X, y = draw(0, n=40)
    lonely = np.where(np.arange(40) == 7, 3, np.minimum(y, 1))
    apart = np.digitize(X[:, 1], np.quantile(X[:, 1], [0.3, 0.6]))
    equal = np.repeat(X[:, 1:2], 4, axis=1)
    unequal = np.resize([1e-6, 1.0, 1e6], 40)
    for Z, target, weight in (
        (X, lonely, None), (X, apart, None), (equal, y, None), (X[:3], [0, 1, 2], None),
        (X, y, unequal), (1e6 * X, y, None), (X, np.arange(40) // 4, None),
    ):  # fmt: skip
        model = BudgetClassifier(1, loss="ordinal", calibrate=False).fit(
            Z, target, sample_weight=weight
        )
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.thresholds_).all()
        p = model.predict_proba(Z)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        verify(model.certificate_, Z, target, sample_weight=weight)
    model = BudgetClassifier(2, loss="ordinal", C=100.0, calibrate=False).fit(X, apart)
    proof = prove(model, X, apart, gap=0.0)
    verify(proof.certificate, X, apart)


@pytest.mark.parametrize("rare", [1, *slow(0, 2)])
def test_a_class_of_nearly_no_weight_is_refused_or_fitted(rare):
    """Its thresholds would be infinite or equal, and the model and its certificate no numbers."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), np.arange(30) % 3
    model = BudgetClassifier(2, loss="ordinal", calibrate=False)
    model.fit(X, y, sample_weight=np.where(y == rare, 1e-12, 1.0))
    assert np.isfinite(model.thresholds_).all()
    verify(model.certificate_, X, y, sample_weight=np.where(y == rare, 1e-12, 1.0))
    for weight in (1e-14, 1e-20, 1e-300):
        with pytest.raises(ValueError, match=r"sample_weight .* must give every class at least"):
            model.fit(X, y, sample_weight=np.where(y == rare, weight, 1.0))
        with pytest.raises(ValueError, match=r"class_weight.* must give every class at least"):
            model.set_params(class_weight={rare: weight}).fit(X, y)
        model.set_params(class_weight=None)


def test_class_weights_count_as_weights_of_rows():
    """A class weight would be lost, or a class of weight 0 keep its threshold."""
    X, y = draw(5, n=80, q=4)
    options = {"n_features": 2, "loss": "ordinal", "refit_C": 1.0, "calibrate": False}
    one = BudgetClassifier(**options, class_weight={1: 3.0}).fit(X, y)
    other = BudgetClassifier(**options).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(one.coef_, other.coef_)
    fewer = BudgetClassifier(**options, class_weight={1: 0.0}).fit(X, y)
    assert fewer.classes_.tolist() == [0, 2, 3]
    assert fewer.thresholds_.size == 2


@pytest.mark.slow
def test_cross_validation_scores_ordered_classes():
    """Folds would not have all classes, names have no distance, or columns be those of others."""
    X, y = draw(3, n=60, q=3)
    model = BudgetClassifier(2, loss="ordinal")  # scores of folds are not calibrated
    kappa = make_scorer(cohen_kappa_score, weights="quadratic")
    for scoring in (
        None, "neg_log_loss", "neg_mean_absolute_error", "roc_auc_ovr", kappa,
    ):  # fmt: skip
        one = cross_validate(model, X, y, cv=3, scoring=scoring)
        other = cross_validate(model, X, named(y), cv=3, scoring=scoring)
        np.testing.assert_array_equal(one.scores, other.scores)
        assert np.isfinite(one.scores).all()
    rows = np.arange(60)
    folds = [(rows[rows % 3 != f], rows[rows % 3 == f]) for f in range(3)]
    found = cross_validate(model, X, y, cv=folds, scoring="neg_mean_absolute_error").scores
    for f, (train, test) in enumerate(folds):
        fitted = BudgetClassifier(2, loss="ordinal", calibrate=False).fit(X[train], y[train])
        assert found[0, f] == -mean_absolute_error(y[test], fitted.predict(X[test]))
    # A fold that lacks a class has a model of the others.
    lacking = [(rows[y != 1], rows[y == 1]), (rows[y < 2], rows[y == 2])]
    assert (cross_validate(model, X, y, cv=lacking).scores == 0.0).all()


def test_forged_certificates_of_ordered_classes_are_refuted():
    """A bound, a threshold, a coefficient or a dual value could be forged, or y be another."""
    X, y = draw(1, n=60, p=10)
    true = BudgetClassifier(2, loss="ordinal", calibrate=False).fit(X, y).certificate_
    verify(true, X, y)
    rng = np.random.default_rng(0)
    moved = true.intercept + np.array([0.0, 1e-2])
    forged = [
        replace(true, bound=true.objective),
        replace(true, bound=true.bound * (1.0 + 1e-8)),
        replace(true, objective=0.999 * true.objective, bound=0.99 * true.bound),
        replace(true, coef=true.coef + 1e-2),
        replace(true, intercept=moved),
        replace(true, intercept=true.intercept[::-1]),
        replace(true, intercept=true.intercept[:1]),
        replace(true, intercept=np.append(true.intercept, -9.0)),
        replace(true, intercept=float(true.intercept[0])),
        replace(true, intercept=np.array([np.nan, -1.0])),
        replace(true, intercept=np.array([np.inf, -1.0])),
        replace(true, intercept=np.array([true.intercept[0]] * 2)),
        replace(true, dual=-true.dual),
        replace(true, dual=1.5 * true.dual),
        replace(true, dual=np.stack([true.dual, true.dual])),
        replace(true, dual=true.dual + 0.1),
        replace(true, fit_intercept=False),
        replace(true, loss="logistic"),
        replace(true, loss="least_squares"),
        replace(true, C=2.0 * true.C),
        replace(true, candidates=true.candidates - 1),
        replace(true, fixed_in=2),
    ]
    forged += [replace(true, dual=rng.permutation(true.dual)) for _ in range(20)]
    forged += [
        replace(true, dual=true.dual * rng.uniform(0.5, 1.5, 60), bound=true.bound * (1 + 1e-6))
        for _ in range(20)
    ]
    for one in forged:
        with pytest.raises((CertificateError, ValueError)):
            verify(one, X, y)
    for target in (y[::-1], 2 - y, np.minimum(y, 1), NAMES[y]):
        with pytest.raises((CertificateError, ValueError)):
            verify(true, X, target)


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3, 4, 5)])
def test_no_forged_dual_point_proves_what_is_not_so(seed):
    """Dual points whose flows are not feasible would pass with a bound above the optimum."""
    rng = np.random.default_rng(seed)
    X, y = draw(seed, n=20, p=4, q=3 + seed % 2)
    C = (0.3, 3.0)[seed % 2]
    model = BudgetClassifier(1, loss="ordinal", C=C, calibrate=False).fit(X, y)
    true, Z = model.certificate_, (X - X.mean(axis=0)) / X.std(axis=0)
    best = min(optimum(Z[:, [j]], y, np.ones(20), C)[0] for j in range(4))
    accepted = 0
    for _ in range(300):
        v = true.dual * rng.uniform(0.9, 1.1) + rng.normal(0.0, rng.choice([0, 1e-9, 0.02, 1]), 20)
        v -= rng.integers(0, 2) * v.mean()
        forged = replace(true, dual=v, bound=float(best * (1.0 + rng.choice([1e-6, 1e-3]))))
        forged = replace(forged, candidates=4, fixed_in=0)
        try:
            verify(forged, X, y)
            accepted += 1
        except CertificateError:
            pass
    assert accepted == 0


@pytest.mark.parametrize("names", [False, *slow(True)])
def test_files_of_models_and_certificates(names, tmp_path):
    """Classes would be read in another order, or thresholds be lost."""
    X, y = draw(2, n=60, q=4)
    target = named(y, 4) if names else y
    model = BudgetClassifier([2, 3], loss="ordinal").fit(X, target)
    loaded = persistence.load(persistence.save(model, tmp_path / "m.npz"))
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    np.testing.assert_array_equal(loaded.ordered_classes_, model.ordered_classes_)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    path = persistence.save_certificate(
        model.certificate_, tmp_path / "c.npz", X, target, class_weight={model.classes_[0]: 1.0}
    )
    saved = persistence.load_certificate(path)
    np.testing.assert_array_equal(saved.classes_, model.ordered_classes_)
    assert saved.outputs == []
    (figures,) = saved.verify(X, np.asarray(target))
    assert figures["bound"] == pytest.approx(model.certificate_.bound)
    with pytest.raises((CertificateError, ValueError)):
        saved.verify(X, np.asarray(target)[::-1])
    with pytest.raises(ValueError, match="must have 2 thresholds"):
        persistence.save_certificate(model.certificate_, path, X, np.minimum(y, 2))

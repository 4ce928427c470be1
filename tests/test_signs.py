"""Signs of coefficients under a budget: fits, bounds, proofs, forged certificates, files, messages.

The oracle solves every support by a bounded quasi-Newton method of SciPy.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import forgeries
import generators
import zeronorm
from archives import parts, rewrite
from conftest import make_classification, slow
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1Regressor,
    certify,
    methods,
    persistence,
    prove,
    published,
    verify,
)
from zeronorm.data.gathered import as_columns
from zeronorm.losses import LeastSquares, Logistic
from zeronorm.persistence.certificates import CERTIFICATE
from zeronorm.solvers.minimax import BlockProblem, State, newton, solve_signed
from zeronorm.solvers.problem import Risk, Singles
from zeronorm.solvers.relaxation import relax
from zeronorm.solvers.ridge_fits import ridge, signed_ridge
from zeronorm.verification import CertificateError


def logistic(z, y, s):
    return s @ np.logaddexp(0.0, -y * z), -s * y / (1.0 + np.exp(y * z))


def least_squares(z, y, s):
    return 0.5 * s @ (y - z) ** 2, s * (z - y)


def poisson(z, y, s):
    least = y - np.where(y > 0, y * np.log(np.maximum(y, 1e-300)), 0.0)
    return s @ (np.exp(z) - y * z - least), s * (np.exp(z) - y)


def cox(z, y, s):
    """Minus the logarithm of Breslow's partial likelihood, less its least value."""
    value, gradient = 0.0, np.zeros_like(z)
    for t in np.unique(y["time"][y["event"]]):
        dead, risk = y["event"] & (y["time"] == t), y["time"] >= t
        D, S = s[dead].sum(), s[risk] @ np.exp(z[risk])
        value += D * np.log(S / D) - s[dead] @ z[dead]
        gradient[risk] += D * s[risk] * np.exp(z[risk]) / S
        gradient[dead] -= s[dead]
    return value, gradient


# A test that is about fewer features than the budget asks for it by itself.
pytestmark = pytest.mark.filterwarnings("ignore:.*with these signs only:UserWarning")
LOSSES = {"logistic": logistic, "least_squares": least_squares, "poisson": poisson, "cox": cox}
each_loss = pytest.mark.parametrize("loss", list(LOSSES))


def draw(loss, seed, n=40, p=7):
    """Correlated columns, and a target whose coefficients have both signs."""
    rng = np.random.default_rng(seed)
    X = 0.7 * rng.standard_normal((n, 3)) @ rng.standard_normal((3, p)) + rng.standard_normal(
        (n, p)
    )
    z = 0.6 * X @ rng.standard_normal(p)
    if loss == "logistic":
        return X, np.where(z + rng.logistic(size=n) > 0, 1.0, -1.0)
    if loss == "least_squares":
        return X, z + rng.standard_normal(n)
    if loss == "poisson":
        return X, rng.poisson(np.exp(0.5 * z)).astype(float)
    time, censored = rng.exponential(np.exp(-z)), rng.exponential(2.0, n)
    event, time = time <= censored, np.ceil(5 * np.minimum(time, censored))
    return X, np.rec.fromarrays([event, time], names="event,time")


def model(loss, k, **options):
    if loss == "cox":
        return BudgetSurvivalAnalysis(k, **options)
    if loss == "logistic":
        return BudgetClassifier(k, calibrate=False, **options)
    return BudgetRegressor(k, loss=loss, **options)


def standardised(X, weight):
    mean = weight @ X / weight.sum()
    return (X - mean) / np.sqrt(weight @ (X - mean) ** 2 / weight.sum())


def optimum(loss, Z, y, weight, C, signs, intercept=True):
    """The least objective over some columns under signs, by L-BFGS-B."""
    free = int(intercept and loss != "cox")
    p = Z.shape[1]

    def value(w):
        value, gradient = LOSSES[loss](Z @ w[:p] + (w[p] if free else 0.0), y, C * weight)
        slope = np.append(w[:p] + Z.T @ gradient, [gradient.sum()] * free)
        return 0.5 * w[:p] @ w[:p] + value, slope

    limits = {1: (0.0, None), -1: (None, 0.0), 0: (None, None)}
    bounds = [limits[int(sign)] for sign in signs] + [(None, None)] * free
    options = {"ftol": 1e-16, "gtol": 1e-9, "maxiter": 5000, "maxfun": 50000}
    found = minimize(value, np.zeros(p + free), jac=True, bounds=bounds, method="L-BFGS-B",
                     options=options)  # fmt: skip
    return float(found.fun)


def best(loss, X, y, k, C, signs, weight=None, forced=()):
    """The least objective over all supports of k features."""
    weight = np.ones(len(X)) if weight is None else weight
    Z = standardised(X, weight)
    return min(
        optimum(loss, Z[:, list(S)], y, weight, C, signs[list(S)])
        for S in itertools.combinations(range(X.shape[1]), k)
        if set(forced) <= set(S)
    )


def signs_of(seed, p=7):
    return [np.ones(p), np.random.default_rng(seed).integers(-1, 2, p), -np.ones(p)][seed % 3]


@each_loss
@pytest.mark.parametrize("seed", [0, 1, *slow(*range(2, 12))])
def test_proofs_agree_with_enumeration(loss, seed):
    """A proven support would not be the best one with these signs, or a bound be above it."""
    X, y = draw(loss, seed)
    signs, C = signs_of(seed), [0.1, 1.0, 10.0][(seed // 3) % 3]
    forced = (int(seed),) if seed in (1, 4) else ()
    weight = np.random.default_rng(seed).integers(1, 4, len(X)).astype(float)
    wanted = best(loss, X, y, 3, C, signs, weight, forced)
    for method in ("pool", "l0"):
        fitted = model(loss, 3, signs=signs, C=C, method=method, forced_features=list(forced))
        fitted.fit(X, y, sample_weight=weight)
        assert (signs * np.ravel(fitted.coef_) >= 0).all()
        proof = prove(fitted, X, y, gap=0.0, sample_weight=weight)
        tight = certify(fitted, X, y, sample_weight=weight)
        assert proof.certificate.proven
        assert proof.certificate.objective == pytest.approx(wanted, rel=1e-7)
        assert fitted.certificate_.objective >= wanted * (1.0 - 1e-7)
        for one in (fitted.certificate_, tight, proof.certificate):
            assert one.bound <= wanted * (1.0 + 1e-7)
            np.testing.assert_array_equal(one.signs, signs)
            assert (signs[one.support] * one.coef >= 0).all()
            verify(one, X, y, sample_weight=weight)
    assert fitted.certificate_.objective <= wanted * 1.01  # l0 is hardly ever far from the best


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3)])
@pytest.mark.parametrize("loss", ["logistic", "least_squares"])
def test_forged_certificates_state_nothing_false(loss, seed, monkeypatch):
    """A changed certificate would pass that states another optimum, bound or objective."""
    monkeypatch.setattr(
        forgeries, "_CHANGES", [*forgeries._CHANGES, *[forgeries.other_signs] * 12]
    )  # fmt: skip
    X, y = draw(loss, 40 + seed, n=20, p=6)
    rng, signs = np.random.default_rng(seed), np.array([1, 1, 1, -1, -1, 0])
    fitted = model(loss, 2, signs=signs, C=1.0, method=methods.L0(gap=0.0)).fit(X, y)
    Z, accepted = standardised(X, np.ones(20)), []

    def least(one, support):
        own = one.signs if len(one.signs) else np.zeros(6)
        return optimum(
            one.loss, Z[:, support], y, np.ones(20), float(one.C), own[support],
            bool(one.fit_intercept),
        )  # fmt: skip

    for certificate in (fitted.proof_.certificate, certify(fitted, X, y)):
        verify(certificate, X, y)
        accepted += forgeries.accepted(rng, certificate, X, y, 60, least)
    assert len(accepted) > 2  # some changes take nothing away, or say less


@each_loss
def test_the_claim_of_signs_cannot_be_dropped_or_broken(loss):
    """A bound with signs would pass for one without, whose optimum is lower."""
    X, y = draw(loss, 3)
    free = model(loss, 3, C=1.0, method=methods.L0(gap=0.0)).fit(X, y)
    unsigned = free.proof_.certificate
    signs = np.zeros(7, np.int8)  # one feature of the best support may not have its sign
    signs[unsigned.support[0]] = -np.sign(unsigned.coef[0])
    fitted = model(loss, 3, C=1.0, signs=signs, method=methods.L0(gap=0.0)).fit(X, y)
    true, none = fitted.proof_.certificate, np.empty(0, np.int8)
    assert unsigned.objective < true.objective * (1.0 - 1e-6)
    verify(true, X, y)
    for dropped in (none, 0 * signs):
        with pytest.raises(CertificateError, match="shows only"):
            verify(replace(true, signs=dropped), X, y)
        with pytest.raises(CertificateError):
            verify(replace(true, signs=dropped, tree=None), X, y)
    with pytest.raises(CertificateError, match="break the signs"):
        verify(replace(unsigned, signs=signs), X, y)
    for wrong in (signs[:-1], signs.astype(float), 2 * signs, signs[None]):
        with pytest.raises(CertificateError, match=r"signs|must be of 6 features"):
            verify(replace(true, signs=wrong), X, y)


def test_a_bound_of_all_scores_is_less_than_one_of_those_with_the_sign():
    """The bound would have all of |c_j|, and be valid but far from the optimum with signs."""
    X, y = draw("least_squares", 3)
    fitted = BudgetRegressor(3, signs=1, C=1.0, method="l0").fit(X, y)
    tight = certify(fitted, X, y)
    at = zeronorm.verify(tight, X, y)["bound"]
    Z = standardised(X, np.ones(len(X)))
    score = Z.T @ tight.dual
    conjugate = 0.5 * tight.dual @ tight.dual - tight.dual @ (y - y.mean())
    for size, admitted in ((at, np.maximum(score, 0.0)), (None, np.abs(score))):
        bound = -conjugate - 0.5 * np.sort(admitted**2)[-3:].sum()
        if size is None:
            assert bound < at - 1.0
        else:
            assert bound == pytest.approx(at, rel=1e-9)


@pytest.mark.parametrize("loss", [Logistic(), LeastSquares()])
@pytest.mark.parametrize("seed", range(4))
def test_ridge_problems_with_signs_are_solved(loss, seed):
    """Columns would end at 0 that lower the objective, or with a sign that they must not have."""
    X, y = draw(loss.name, seed, n=30, p=12)
    Z, signs = standardised(X, np.ones(30)), signs_of(seed, 12).astype(np.int8)
    y = y - y.mean() if loss.name == "least_squares" else y
    for C, intercept in ((0.1, True), (100.0, True), (1.0, False)):
        risk = Risk(y, np.full(30, C), loss, intercept)
        fit = signed_ridge(as_columns(np.asfortranarray(Z)), risk, signs, tol=1e-12, of_value=True)
        wanted = optimum(loss.name, Z, y, np.ones(30), C, signs, intercept)
        assert fit.objective == pytest.approx(wanted, rel=1e-8)
        assert (signs * fit.coef >= 0).all()
        assert fit.bound <= fit.objective
        assert fit.objective - fit.bound <= 1e-9 * fit.objective
        slope = Z.T @ fit.dual - fit.coef  # minus the gradient
        held = (signs != 0) & (fit.coef == 0)
        np.testing.assert_allclose(slope[~held], 0.0, atol=1e-5 * np.abs(Z.T @ fit.dual).max())
        assert (signs[held] * slope[held] <= 1e-9).all()


def test_ridge_problems_without_signs_stay_what_they_are():
    """Problems without signs would be solved in another way, with other bits."""
    X, y = draw("logistic", 0)
    columns, risk = as_columns(np.asfortranarray(X)), Risk(y, np.ones(40), Logistic(), True)
    one, other = ridge(columns, risk), signed_ridge(columns, risk, np.zeros(7, np.int8))
    assert one.objective == other.objective
    np.testing.assert_array_equal(one.coef, other.coef)


def test_ridge_problems_where_no_column_has_its_sign():
    """A problem whose solution is 0 would have no free column, and no answer."""
    rng = np.random.default_rng(0)
    x, noise = rng.standard_normal(50), 0.1 * rng.standard_normal((50, 3))
    Z = np.asfortranarray(x[:, None] + noise)
    Z -= Z.mean(axis=0)
    risk = Risk.centred(-x, np.ones(50), LeastSquares(), True)
    fit = signed_ridge(as_columns(Z), risk, np.ones(3, np.int8), tol=1e-10)
    np.testing.assert_array_equal(fit.coef, 0.0)
    assert fit.gap <= 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_problems_over_blocks_with_signs_are_solved(seed):
    """Pools would be found by dual points of models with signs that are not allowed."""
    X, y = draw("logistic", seed, n=30, p=12)
    Z, signs = np.asfortranarray(standardised(X, np.ones(30))), signs_of(seed, 12).astype(np.int8)
    risk = Risk(y, np.ones(30), Logistic(), True)
    scale, _, b = risk.first()
    for membership in (np.ones((12, 1)), np.kron(np.eye(3), np.ones((4, 1)))):
        blocks = BlockProblem(as_columns(Z), membership, risk, scale)
        n_blocks = membership.shape[1]
        state = State(np.zeros(12), b, np.full(n_blocks, 1.0 / n_blocks))
        found = solve_signed(newton, blocks, signs, state, 1e-6)
        assert (signs * found.state.coef >= 0).all()
        assert -1e-9 * scale <= found.objective - found.bound <= 1e-6 * scale
        free = newton(blocks, state, 1e-6)
        assert found.objective >= free.bound
        if n_blocks == 1:  # a ridge problem
            wanted = optimum("logistic", Z, y, np.ones(30), 1.0, signs)
            assert found.objective == pytest.approx(wanted, rel=1e-5)
    none = solve_signed(newton, blocks, -np.sign(Z.T @ y).astype(np.int8), state, 1e-6)
    assert none.bound * (1.0 - 1e-12) <= none.objective <= scale * (1.0 + 1e-12)


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("loss", [Logistic(), LeastSquares()])
def test_the_relaxation_with_signs_is_solved(loss, C):
    """Bounds would be loose where the loss outweighs the ridge, and trees long."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 25))
        X = np.asfortranarray(standardised(X + 0.3 * rng.standard_normal((40, 25)), np.ones(40)))
        z = X @ rng.standard_normal(25) + rng.standard_normal(40)
        risk = Risk.centred(
            np.sign(z) if loss.name == "logistic" else z, np.full(40, C), loss, True
        )
        for signs in (np.ones(25, np.int8), rng.integers(-1, 2, 25).astype(np.int8)):
            for n_fixed in (0, 2):
                units = Singles(np.ones(25, bool), signs)
                found = relax(as_columns(X), units, risk, n_fixed, 4 - n_fixed, tol=1e-6)
                assert (signs * found.coef >= 0).all()
                assert found.objective - found.bound <= 1e-6 * found.objective
                free = relax(as_columns(X), Singles(np.ones(25, bool)), risk, n_fixed, 4 - n_fixed)
                assert found.objective >= free.bound * (1.0 - 1e-9)


@pytest.mark.parametrize("method", ["pool", "l0"])
def test_weights_are_repeated_rows_and_the_order_does_not_matter(method):
    """Signs would change what weights, orders of columns, or storages mean."""
    X, y = make_classification(60, 25, seed=5)
    weight = np.random.default_rng(0).integers(1, 4, 60)
    options = {"signs": 1, "method": method, "calibrate": False, "refit_C": 1.0}
    one = BudgetClassifier(4, **options).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(60), weight)
    repeated = BudgetClassifier(4, **options).fit(X[rows], y[rows])
    np.testing.assert_array_equal(one.support_, repeated.support_)
    np.testing.assert_allclose(one.coef_, repeated.coef_, rtol=1e-5, atol=1e-9)
    assert one.certificate_.bound == pytest.approx(repeated.certificate_.bound, rel=1e-5)
    order = np.random.default_rng(1).permutation(25)
    permuted = BudgetClassifier(4, **options).fit(X[:, order], y, sample_weight=weight)
    np.testing.assert_array_equal(np.sort(order[permuted.support_]), one.support_)


@pytest.mark.parametrize("form", ["fortran", "float32", "csc", "csr"])
def test_storages_agree(form):
    """A storage would have other signs, or a bound above the optimum by its rounding."""
    X = generators.sparse(80, 30, seed=2).toarray()
    X += 0.0
    y = X @ np.random.default_rng(0).standard_normal(30) + 0.5 * np.sin(np.arange(80))
    signs = np.resize([1, -1, 0], 30)
    plain = BudgetRegressor(4, signs=signs, method="l0", standardize=True).fit(X, y)
    make = {
        "fortran": np.asfortranarray, "float32": lambda a: a.astype(np.float32),
        "csc": sp.csc_array, "csr": sp.csr_array,
    }  # fmt: skip
    stored = BudgetRegressor(4, signs=signs, method="l0").fit(make[form](X), y)
    assert (signs * stored.coef_ >= 0).all()
    if form in ("fortran", "float32"):
        np.testing.assert_array_equal(stored.support_, plain.support_)
        np.testing.assert_allclose(stored.coef_, plain.coef_, rtol=1e-4, atol=1e-7)
    exact = make[form](X).astype(np.float64)
    verify(stored.certificate_, exact, y)
    verify(certify(stored, make[form](X), y), exact, y)


def test_signs_as_numbers_arrays_and_names_are_the_same():
    """Ways to ask for the same signs would give other models."""
    pd = pytest.importorskip("pandas")
    X, y = draw("least_squares", 1)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    signs = [1, -1, 0, 1, 0, 0, 1]
    named = {"a": 1, "b": -1, 3: 1, "g": np.int64(1), "e": 0}
    one = BudgetRegressor(3, signs=signs).fit(frame, y)
    np.testing.assert_array_equal(one.coef_, BudgetRegressor(3, signs=named).fit(frame, y).coef_)
    everywhere = BudgetRegressor(3, signs=-1).fit(X, y)
    np.testing.assert_array_equal(
        everywhere.coef_, BudgetRegressor(3, signs=-np.ones(7)).fit(X, y).coef_
    )
    unsigned = BudgetRegressor(3).fit(X, y)
    for none in (0, np.zeros(7), {}):
        np.testing.assert_array_equal(
            BudgetRegressor(3, signs=none).fit(X, y).coef_, unsigned.coef_
        )
    assert unsigned.certificate_.signs.size == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"signs": True}, "signs must be None, -1, 0 or 1"),
        ({"signs": 2}, "signs must be None, -1, 0 or 1"),
        ({"signs": [1, 0]}, "signs"),
        ({"signs": [1, 0, 2, 0, 0, 0, 0]}, "signs must be -1, 0 or 1; got 2 for column 2"),
        ({"signs": {"x": 1}}, "signs has the name 'x', but X has no feature names"),
        ({"signs": {7: 1}}, "signs must be between 0 and 6"),
        ({"signs": {1: 3}}, "signs must be -1, 0 or 1; got 3 for feature 1"),
        ({"signs": {1: True}}, "signs must be -1, 0 or 1; got True for feature 1"),
        ({"signs": {1.5: 1}}, "signs must be a mapping"),
        ({"signs": 1, "method": "greedy"}, "methods 'pool' and 'l0'"),
        ({"signs": 1, "method": "minimax"}, "methods 'pool' and 'l0'"),
        ({"signs": 1, "method": methods.L0(solver="iht")}, "methods 'pool' and 'l0'"),
        ({"signs": 1, "method": published.L0By(solver="salm")}, "methods 'pool' and 'l0'"),
        ({"signs": 1, "n_features": None, "feature_groups": [0, 0, 0, 1, 1, 1, 1], "n_groups": 1},
         "signs are of single features"),
    ],
)  # fmt: skip
def test_what_signs_cannot_be_is_refused(options, message):
    """A wrong sign would be taken for none, or a method ignore it."""
    X, y = draw("least_squares", 1)
    with pytest.raises(ValueError, match=message):
        BudgetRegressor(**{"n_features": 2, **options}).fit(X, y)


def test_several_outputs_have_no_signs_together():
    """Signs would be ignored where every class or response has a coefficient of its own."""
    X, y = make_classification(90, 12, n_classes=3, seed=1)
    with pytest.raises(ValueError, match="multi_class='ovr'"):
        BudgetClassifier(3, signs=1, multi_class="multinomial").fit(X, y)
    with pytest.raises(ValueError, match="a model for each response"):
        BudgetRegressor(3, signs=1).fit(X, X[:, :2])
    each = BudgetClassifier(3, signs=1, multi_class="ovr", calibrate=False).fit(X, y)
    assert each.coef_.min() == 0.0
    for label, certificate in zip(each.classes_, each.certificate_, strict=True):
        verify(certificate, X, y == label)


def test_a_budget_that_signs_leave_no_features_for():
    """Fewer features than asked for would be returned, or those without an effect not be told."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    y = X @ [1.0, -1.0, -1.0, -1.0, -1.0] + 0.1 * rng.standard_normal(60)
    for method in ("pool", "l0"):
        with pytest.warns(UserWarning, match="with these signs only 1 of the features"):
            fitted = BudgetRegressor(4, signs=1, method=method).fit(X, y)
        assert fitted.support_.size == 4
        assert np.flatnonzero(fitted.coef_).tolist() == [0]
        verify(fitted.certificate_, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        BudgetRegressor(1, signs=1).fit(X, y)


def test_files_keep_the_signs(tmp_path):
    """A file would lose the signs of the problem, or its certificate pass without them."""
    X, y = draw("least_squares", 3)
    fitted = BudgetRegressor(3, signs=1, method=methods.L0(gap=0.0)).fit(X, y)
    path = persistence.save_certificate(fitted.proof_.certificate, tmp_path / "signed", X, y)
    saved = persistence.load_certificate(path)
    np.testing.assert_array_equal(saved.certificates[0].signs, np.ones(7))
    saved.verify(X, y)
    arrays = parts(path)
    rewrite(CERTIFICATE, path, {**arrays, "signs": np.zeros(7, np.int8)[:0]})
    with pytest.raises(CertificateError):
        persistence.load_certificate(path).verify(X, y)
    loaded = persistence.load(persistence.save(fitted, tmp_path / "model"))
    assert loaded.metadata["certificates"][0]["n_signed"] == 7
    np.testing.assert_allclose(loaded.predict(X), fitted.predict(X))


def test_proofs_are_resumed_with_their_signs():
    """A tree of another problem would be gone on with."""
    X, y = draw("least_squares", 3, n=60, p=14)
    fitted = BudgetRegressor(4, signs=1, C=3.0).fit(X, y)
    begun = prove(fitted, X, y, gap=0.0, max_nodes=2)
    assert prove(fitted, X, y, gap=0.0, resume=begun).certificate.proven
    with pytest.raises(ValueError, match="feature_groups must be None for a model with signs"):
        certify(fitted, X, y, feature_groups=np.arange(14) // 2)
    with pytest.raises(ValueError, match="signs"):
        prove(BudgetRegressor(4, C=3.0).fit(X, y), X, y, gap=0.0, resume=begun)


def test_models_that_are_too_poor_end_their_nodes():
    """A node would be left open whose best model, found to be too poor, has wrong signs."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 20)) + rng.standard_normal((60, 20))
    X = X * 10 ** rng.uniform(-2, 2, 20) + rng.uniform(-3, 3, 20)
    z = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.standard_normal(20)
    signs, y = rng.integers(-1, 2, 20), z > 0
    options = {"loss": "squared_hinge", "standardize": False, "calibrate": False}
    fitted = BudgetClassifier(4, signs=signs, **options).fit(X, y)
    proof = prove(fitted, X, y, gap=0.0)
    assert proof.history[-1].n_nodes > 5
    assert proof.certificate.proven
    verify(proof.certificate, X, y, rtol=1e-9)


def test_equivalents_can_have_their_sign():
    """A column that is equal but for its sign would be said to take the place of another."""
    X, y = draw("least_squares", 2)
    fitted = BudgetRegressor(2, signs=1, method="l0").fit(X, y)
    j = int(fitted.support_[0])
    both = np.column_stack([X, X[:, j], -X[:, j]])
    certificate = certify(BudgetRegressor(2, signs=1, method="l0").fit(both, y), both, y)
    verify(certificate, both, y)
    assert certificate.equivalents[j].tolist() == [7]


def test_cross_validation_and_scores_keep_signs():
    """Folds would select without the signs."""
    X, y = draw("least_squares", 5, n=60, p=12)
    found = zeronorm.cross_validate(BudgetRegressor([2, 4], signs=1), X, y)
    free = zeronorm.cross_validate(BudgetRegressor([2, 4]), X, y)
    assert np.isfinite(found.scores).all()
    assert (found.scores != free.scores).any()
    lasso = L1Regressor(C=0.05, signs=1).fit(X, y)
    assert lasso.coef_.min() >= 0.0  # the same word in the whole package

"""The Feature Generating Machine: the published model, its certificate, its solvers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from typer.testing import CliRunner

import oracles
from conftest import make_classification, slow
from zeronorm.cli import app
from zeronorm.core.results import Status
from zeronorm.data import as_design
from zeronorm.losses import SquaredHinge
from zeronorm.model_selection.cross_validation import cross_validate
from zeronorm.persistence import save
from zeronorm.published import FeatureGeneratingMachine, MinimaxLogisticRegression
from zeronorm.published.solvers import INNER_SOLVERS
from zeronorm.solvers import Task, cutting_plane, newton, run
from zeronorm.solvers.minimax import CuttingPlane
from zeronorm.verification import verify

SOLVERS = [name for name in INNER_SOLVERS if "smoothing" not in name]

# ------------------------------------------------------- the form with a free margin, as published


def published_machine(X, y, r, C, n_rounds):
    """Run the cutting plane of the form with a free margin; return [(block, V, alpha)]."""
    alpha = np.full(len(y), 1 / len(y))
    rounds = []
    for _ in range(n_rounds):
        square = (X.T @ (alpha * y)) ** 2
        order = np.argsort(-square, kind="stable")
        assert square[order[r]] < 0.99 * square[order[r - 1]], "a near tie: take another seed"
        blocks = [block for block, _, _ in rounds] + [np.sort(order[:r])]
        value, alpha = oracles.margin_machine(X, y, C, blocks)
        rounds.append((blocks[-1], value, alpha))
    return rounds


def published_weights(X, y, C, blocks, value, alpha):
    """Return u of the form with a free margin, from its optimality conditions at (V, alpha).

    u = (E lambda) * c, and y_i x_i'u = rho - alpha_i / C with rho = 2 V where alpha_i > 0: linear
    equations for lambda.
    """
    c = X.T @ (alpha * y)
    parts = np.zeros((X.shape[1], len(blocks)))
    for t, block in enumerate(blocks):
        parts[block, t] = c[block]
    active = alpha > 1e-6  # the conic solver leaves the others at rounding
    margins = (y[:, None] * X @ parts)[active]
    weight = np.linalg.lstsq(margins, 2 * value - alpha[active] / C, rcond=None)[0]
    assert weight.sum() == pytest.approx(1, abs=1e-3)
    assert weight.min() > -1e-3
    return parts @ weight


@pytest.mark.parametrize("seed", [1, 3, 6])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_outer_loop_of_the_published_form(seed, C):
    """The machine would generate other blocks, or another classifier, than the published one."""
    X, y = make_classification(60, 14, seed=seed)
    y = np.where(y == 1, 1.0, -1.0)
    r, n_rounds = 3, 4
    rounds = published_machine(X, y, r, C, n_rounds)
    members, answers = [], []

    def watched(blocks, state, tol):
        answers.append(newton(blocks, state, tol))
        members.append(blocks.membership)
        return answers[-1]

    task = Task.of(as_design(X), y, loss=SquaredHinge(), intercept=False)
    options = CuttingPlane(r, n_rounds, watched, inner_tol=1e-12, tol=1e-12)
    result = run(cutting_plane(task, None, options, C=C)).result
    assert len(result.history) == len(answers) == n_rounds
    for t, (step, answer) in enumerate(zip(result.history, answers, strict=True)):
        value, alpha = rounds[t][1:]
        blocks = [block for block, _, _ in rounds[: t + 1]]
        features = result.order[: step.n_features]
        generated = [np.sort(features[column > 0]) for column in members[t].T]
        np.testing.assert_array_equal(generated, blocks)
        assert step.objective == pytest.approx(1 / (4 * value), rel=1e-7)
        np.testing.assert_allclose(answer.dual * y, alpha / (2 * value), atol=3e-4 * C)
        u = published_weights(X, y, C, blocks, value, alpha) / (2 * value)
        found = np.zeros(14)
        found[features] = answer.state.coef
        np.testing.assert_allclose(found, u, atol=3e-4 * np.abs(u).max())


# -------------------------------------------------------------------------------- the estimator


@pytest.mark.parametrize("k", [1, 7, 20, 21])
def test_as_published(k, binary):
    """The machine would run with other constants: C 5, refit 5, ten blocks of k/10, SimpleMKL."""
    model = FeatureGeneratingMachine.as_published(k)
    expected = {
        "n_features": k,
        "C": 5,
        "refit_C": 5,
        "calibrate": False,
        "max_blocks": 10,
        "fit_intercept": False,
        "standardize": False,
        "solver": "simplemkl",
        "tol": 1e-3,
    }
    assert expected.items() <= model.get_params().items()
    X, y = binary
    model.fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert model.support_.size == k
    assert model.intercept_ == 0
    assert model.path_[k].refit_C == 5
    assert max(len(step.entered) for step in model.history_) <= -(-k // 10)


def test_the_final_model_is_a_logistic_refit(binary):
    """Probabilities would come from margins of the squared hinge, which are none."""
    X, y = binary
    model = FeatureGeneratingMachine(n_features=5, refit_C=0.7, calibrate=False).fit(X, y)
    fit = oracles.ridge(X[:, model.support_], 2 * y - 1, 0.7, intercept=True)
    np.testing.assert_allclose(model.coef_[0, model.support_], fit.coef, rtol=1e-5)
    z = X[:, model.support_] @ fit.coef + fit.intercept
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-z)), rtol=1e-4)


def test_selection_is_by_the_squared_hinge(binary):
    """The machine would be the minimax logistic regression under another name."""
    X, y = binary
    Z, _, _ = oracles.standardise(X)
    model = FeatureGeneratingMachine(n_features=9, tol=1e-10, calibrate=False).fit(X, y)
    logistic = MinimaxLogisticRegression(n_features=9, tol=1e-10, calibrate=False).fit(X, y)
    for loss, fitted in (("squared_hinge", model), ("logistic", logistic)):
        step = fitted.history_[0]
        conic = oracles.reduced_problem(
            Z, 2 * y - 1, [step.entered], 0.1, loss=loss, intercept=True
        )
        assert step.objective == pytest.approx(conic.objective, rel=1e-6)
    assert model.history_[0].objective != pytest.approx(logistic.history_[0].objective, rel=0.01)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_agree(solver, intercept, binary):
    """A solver of the inner problem would lead to another selection."""
    X, y = binary
    options = {"n_features": 6, "tol": 1e-5, "fit_intercept": intercept, "C": 1.0}
    options["calibrate"] = False
    reference = FeatureGeneratingMachine(**options | {"tol": 1e-9}).fit(X, y)
    model = FeatureGeneratingMachine(solver=solver, **options).fit(X, y)
    np.testing.assert_array_equal(model.support_, reference.support_)
    for step, exact in zip(model.history_, reference.history_, strict=True):
        np.testing.assert_array_equal(step.entered, exact.entered)
        assert step.status is Status.CONVERGED
        assert step.extra["gap"] <= 1e-5
        assert step.bound <= exact.objective * (1 + 1e-9)
        assert step.objective >= exact.bound * (1 - 1e-9)


@pytest.mark.parametrize("solver", ["smoothing", "smoothing-published"])
def test_smoothing_is_refused(solver, binary):
    """A solver of the logistic loss would run on the squared hinge, or fail deep inside."""
    for intercept in (True, False):
        model = FeatureGeneratingMachine(3, solver=solver, fit_intercept=intercept, calibrate=False)
        with pytest.raises(ValueError, match=f"solver='{solver}' is of the logistic loss alone"):
            model.fit(*binary)


# ------------------------------------------------------------------------------- certificate


@pytest.mark.parametrize("seed", [0, 1, *slow(2, 3)])
@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
def test_bound_optimum_objective(seed, C):
    """The certified bound would exceed the best squared hinge objective of any support."""
    X, y = make_classification(50, 9, informative=3, seed=seed)
    Z, _, _ = oracles.standardise(X)
    model = FeatureGeneratingMachine(n_features=[2, 3], C=C, calibrate=False).fit(X, y)
    for k in (2, 3):
        certificate = model.path_[k].certificate
        best, support = oracles.enumerate_supports(
            Z, 2 * y - 1, C, k, loss="squared_hinge", intercept=True
        )[0]
        assert certificate.bound <= best + 1e-8
        assert certificate.objective >= best - 1e-8
        if certificate.proven:
            np.testing.assert_array_equal(certificate.support, support)
        found = verify(certificate, X, y)
        assert found["bound"] == pytest.approx(certificate.bound, rel=1e-8)


@pytest.mark.parametrize("make", [FeatureGeneratingMachine, MinimaxLogisticRegression])
def test_another_loss_does_not_verify(make, binary):
    """A certificate of one loss would pass as one of the other."""
    X, y = binary
    certificate = make(n_features=4).fit(X, y).certificate_
    verify(certificate, X, y)
    other = {"squared_hinge": "logistic", "logistic": "squared_hinge"}[certificate.loss]
    message = "not feasible|not optimal"
    with pytest.raises(ValueError, match=message):
        verify(dataclasses.replace(certificate, loss=other), X, y)
    with pytest.raises(ValueError, match="or 'ordinal'; got 'hinge'"):
        verify(dataclasses.replace(certificate, loss="hinge"), X, y)


def test_certificate_names_its_loss(binary):
    """Two certificates with equal figures could be of different problems."""
    X, y = binary
    assert "loss='squared_hinge'" in repr(
        FeatureGeneratingMachine(3, calibrate=False).fit(X, y).certificate_
    )
    assert "loss='logistic'" in repr(
        MinimaxLogisticRegression(3, calibrate=False).fit(X, y).certificate_
    )


# ------------------------------------------------------------------------------ the other tools


def test_cross_validation_selects_by_the_squared_hinge(binary):
    """Cross-validation would judge the minimax logistic regression in the machine's place."""
    X, y = binary
    train = np.arange(120) % 3 > 0
    folds = [(np.flatnonzero(train), np.flatnonzero(~train))]
    options = {"n_features": [2, 5, 9], "C": 10.0}
    scores = cross_validate(
        FeatureGeneratingMachine(**options, calibrate=False), X, y, cv=folds
    ).scores[:, 0]
    logistic = cross_validate(
        MinimaxLogisticRegression(**options, calibrate=False), X, y, cv=folds
    ).scores[:, 0]
    assert not np.array_equal(scores, logistic)
    path = FeatureGeneratingMachine(**options, calibrate=False).fit(X[train], y[train]).path_
    for score, k in zip(scores, path, strict=True):
        z = X[~train][:, path[k].support] @ path[k].coef + path[k].intercept
        assert score == np.mean((z > 0) == y[~train])


def test_the_command_names_the_loss(binary, tmp_path):
    """`zeronorm info` would show a certificate as one of the logistic loss."""
    for make, shown in ((FeatureGeneratingMachine, True), (MinimaxLogisticRegression, False)):
        path = save(make(3).fit(*binary), tmp_path / "model")
        result = CliRunner().invoke(app, ["info", str(path)])
        assert result.exit_code == 0
        assert make.__name__ in result.output
        assert ("squared hinge" in result.output) == shown

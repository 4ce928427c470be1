"""The problem of an estimator on data, as a value: what `fit` solves, before it is solved."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    MeasureClassifier,
    methods,
    survival_target,
)
from zeronorm.estimators import problem_of
from zeronorm.solvers import run

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 8))
X[:, 5] = 1.0  # constant
Z = X[:, 0] - X[:, 1] + 0.3 * RNG.standard_normal(50)
CLASSES = np.digitize(Z, [-0.7, 0.7])
CASES = {
    "classes": (BudgetClassifier([1, 2], calibrate=False), Z > 0),
    "multinomial": (BudgetClassifier(2, calibrate=False), CLASSES),
    "ovr": (BudgetClassifier(2, calibrate=False, multi_class="ovr"), CLASSES),
    "numbers": (BudgetRegressor(2, C=1.0), Z),
    "survival": (BudgetSurvivalAnalysis(2, C=1.0), survival_target(np.exp(-Z), Z < 1)),
    "measure": (MeasureClassifier("f1", n_features=2), Z > 0),
    "groups": (BudgetRegressor(C=1.0, feature_groups=np.arange(8) // 2, n_groups=2), Z),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_problem_is_the_one_of_fit(name):
    """Certificates, folds and stability would be of another problem than the model."""
    estimator, y = CASES[name]
    problem = problem_of(estimator, X, y)
    paths = run(problem.solver())
    model = estimator.fit(X, y)
    assert len(paths) == len(model._paths) == len(problem.tasks)
    for mine, own in zip(paths, model._paths, strict=True):
        assert [*mine] == [*own] == [*problem.sizes]
        for size in own:
            np.testing.assert_array_equal(mine[size].coef, own[size].coef)
    assert problem.usable.tolist() == [j != 5 for j in range(8)]
    assert problem.design.shape == X.shape
    assert (problem.groups is None) == (name != "groups")


def test_what_a_problem_says():
    """Class weights, covariates or sizes of a problem would not be those that are solved."""
    weight = np.where(np.arange(50) % 5, 1.0, 0.0)
    estimator = BudgetClassifier(2, class_weight={True: 3.0}, covariates=[3])
    problem = problem_of(estimator, X, Z > 0, sample_weight=weight, sizes=(1, 3))
    kept = weight > 0
    np.testing.assert_array_equal(problem.weights, np.where(Z > 0, 3.0, 1.0)[kept])
    assert np.flatnonzero(~problem.usable).tolist() == [3, 5]
    assert problem.sizes == (1, 3)
    assert (problem.C, problem.loss.name) == (0.1, "logistic")
    assert not hasattr(estimator, "support_")
    with pytest.raises(FrozenInstanceError):
        problem.C = 1.0
    with pytest.raises(ValueError, match="n_features"):
        problem_of(BudgetClassifier(9), X, Z > 0)


def test_a_path_has_certificates_and_proofs_by_size():
    """Whoever wants all gaps of a path would look into each of its models."""
    path = BudgetRegressor([1, 2], C=1.0).fit(X, Z).path_
    assert path.certificates == {k: path[k].certificate for k in (1, 2)}
    assert path.proofs == {}
    proven = BudgetRegressor(1, C=1.0, method=methods.L0(gap=0.0)).fit(X, Z)
    assert proven.path_.proofs == {1: proven.proof_}

"""The contract of scikit-learn: its own checks, on two or three settings of every estimator."""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    L1Classifier,
    L1ClassifierCV,
    L1Regressor,
    L1RegressorCV,
    MeasureClassifier,
)
from zeronorm.published import (
    BilevelClassifier,
    BilevelRegressor,
    FeatureGeneratingMachine,
    GreedyLogisticRegression,
    L0LogisticRegression,
    L1LogisticRegression,
    MinimaxLogisticRegression,
    ReweightedL1LogisticRegression,
    TwoLayerClassifier,
)

FAST = {"calibrate": False}  # else every fit is five
ROUGH = "it ends within a tolerance, so weights equal repetitions within it"
COUNTS = "the measure counts rows: weights other than 0 and 1 are refused"
EQUIVALENCE = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
WEIGHTS = ["check_sample_weights_list", "check_sample_weights_not_overwritten"]
CLASS_WEIGHTS = "check_class_weight_classifiers"
EXACT_FIT = "10 features fit the check's 11 distinct rows exactly: no support is the best one"
NO_SHIFT = "asks for a shifted boundary: no model without an intercept can pass"
FOLDS_OF_ROWS = "a repeated row may be in two folds, a weighted one is in one"
SAME_AUC = "AUC is the same for any weights of the classes"

# Settings, with the checks that they cannot pass and the reason: one of every family, then others.
SETTINGS = [
    (BudgetClassifier(class_weight="balanced", standardize=False, refit_C=1.0, **FAST), {}),
    (L0LogisticRegression(1, solver="iht", standardize=False, refit_C=1.0, **FAST), {}),
    (BudgetRegressor(1, loss="huber", refit_C=1.0), {}),
    (L1Classifier(), {}),
    (L1ClassifierCV([0.1, 1.0], cv=2), {}),
    (MeasureClassifier("auc", n_features=1), {CLASS_WEIGHTS: SAME_AUC}),
    (BilevelClassifier(n_features=1, C=0.1, refit_C="loo"), {}),
]
OTHERS = [
    (MinimaxLogisticRegression(n_features=2, C=1.0, **FAST), {}),
    (GreedyLogisticRegression(n_features=2, fit_C=1e8, **FAST), {}),
    (L1Regressor(), {}),
    (BilevelRegressor(n_features=1, solver="fista-c", C=1.0, standardize=False), {}),
    (ReweightedL1LogisticRegression(), {}),
    (FeatureGeneratingMachine(**FAST), {}),
    (BudgetClassifier(n_features=1, multi_class="ovr"), {}),
    (BudgetRegressor(1, method="l0"), {}),
    (
        BudgetRegressor(1, loss="poisson", refit_C=1.0),
        {"check_regressor_multioutput": "it draws negative targets, which are no counts"},
    ),
    (BudgetRegressor(1, loss="quantile", method="greedy", refit_C=1.0), {}),
    (
        BudgetClassifier(2, method="l1", fit_intercept=False, **FAST),
        {CLASS_WEIGHTS: NO_SHIFT},
    ),
    (
        MinimaxLogisticRegression(2, solver="smoothing", fit_intercept=False, **FAST),
        {CLASS_WEIGHTS: NO_SHIFT},
    ),
    (FeatureGeneratingMachine(1, max_blocks=2, standardize=False, warm_start=True, **FAST), {}),
    (GreedyLogisticRegression(class_weight="balanced", warm_start=True, **FAST), {}),
    (L0LogisticRegression(n_features=2, criterion="ebic", **FAST), {}),
    (L1LogisticRegression(loss="squared_hinge", solver="newglmnet", class_weight="balanced"), {}),
    (L1Classifier(n_features=1, standardize=True, l1_ratio=0.5, warm_start=True), {}),
    (L1ClassifierCV(5, cv=2, loss="squared_hinge", scoring="accuracy", tol=1e-10), {}),
    (L1Classifier(0.3, multi_class="multinomial", tol=1e-10), {}),
    (L1Regressor(n_features=1, standardize=True, warm_start=True), {}),
    (L1RegressorCV([0.1, 1.0], cv=2), {}),
    (L1Regressor(loss="huber", tol=1e-10), {}),
    (ReweightedL1LogisticRegression(n_features=1), {}),
    (ReweightedL1LogisticRegression(C=0.3, weights="capped", standardize=True), {}),
    (MeasureClassifier(), dict.fromkeys(EQUIVALENCE, ROUGH)),
    (
        TwoLayerClassifier("recall@1p", 1, refit=False, standardize=False),
        dict.fromkeys([*EQUIVALENCE, *WEIGHTS, CLASS_WEIGHTS], COUNTS),
    ),
    (
        BilevelClassifier(n_features=2, loss="squared_hinge", fit_intercept=False),
        {CLASS_WEIGHTS: NO_SHIFT},
    ),
    (BilevelRegressor(), dict.fromkeys(EQUIVALENCE, EXACT_FIT)),
    (BudgetRegressor("auto", refit_C=1.0), dict.fromkeys(EQUIVALENCE, FOLDS_OF_ROWS)),
    (BudgetClassifier("auto", **FAST), dict.fromkeys(EQUIVALENCE, FOLDS_OF_ROWS)),
]
# These try eleven formats of sparse matrices each.
FORMATS = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")


def each(settings, *, formats):
    """Run a test for every check of every setting: those of sparse formats, or the others."""
    cases = []
    for estimator, reasons in settings:
        for _, check in estimator_checks_generator(estimator, legacy=True):
            name = check.func.__name__
            if (name in FORMATS) == formats:
                marks = pytest.mark.xfail(reason=reasons[name]) if name in reasons else ()
                label = f"{' '.join(repr(estimator).split())}-{name}"
                cases.append(pytest.param(clone(estimator), check, marks=marks, id=label))
    return pytest.mark.parametrize(("estimator", "check"), cases)


@pytest.mark.filterwarnings("ignore:No features were selected")  # of noise: the rule is right
@each(SETTINGS, formats=False)
def test_scikit_learn_accepts(estimator, check):
    """The estimators would not work inside scikit-learn's tools."""
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No features were selected")
@each(SETTINGS, formats=True)
def test_scikit_learn_accepts_sparse_formats(estimator, check):
    """A sparse matrix would have to be CSC or CSR, with indices of one type."""
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No features were selected")
@each(OTHERS, formats=False)
def test_scikit_learn_accepts_other_settings(estimator, check):
    """An option would break the contract that the defaults keep."""
    check(estimator)

"""Scikit-learn classes: they validate, call one solver and store attributes."""

from ._bags import BagClassifier, SelectedInstance
from ._baseline import StepFunction
from ._bilevel_cv import BilevelCV
from ._budget import BudgetClassifier
from ._budget_regressor import BudgetRegressor
from ._l1 import L1Classifier, L1Regressor
from ._l1_cv import L1ClassifierCV, L1RegressorCV
from ._l1_path import L1Path, l1_path
from ._l1_survival import L1SurvivalAnalysis
from ._l1_survival_cv import L1SurvivalAnalysisCV
from ._measure import MeasureClassifier
from ._miles import MilesEmbedding
from ._survival import BudgetSurvivalAnalysis

__all__ = [
    "BagClassifier",
    "BilevelCV",
    "BudgetClassifier",
    "BudgetRegressor",
    "BudgetSurvivalAnalysis",
    "L1Classifier",
    "L1ClassifierCV",
    "L1Path",
    "L1Regressor",
    "L1RegressorCV",
    "L1SurvivalAnalysis",
    "L1SurvivalAnalysisCV",
    "MeasureClassifier",
    "MilesEmbedding",
    "SelectedInstance",
    "StepFunction",
    "l1_path",
]

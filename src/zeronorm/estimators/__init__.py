"""Scikit-learn classes: they validate, call one solver and store attributes."""

from .bags import BagClassifier, SelectedInstance
from .baseline import StepFunction
from .budget import BudgetClassifier
from .budget_regressor import BudgetRegressor
from .l1 import L1Classifier, L1Regressor
from .l1_cv import L1ClassifierCV, L1RegressorCV
from .l1_paths import L1Path, l1_path
from .l1_survival import L1SurvivalAnalysis
from .l1_survival_cv import L1SurvivalAnalysisCV
from .measure import MeasureClassifier
from .miles import MilesEmbedding
from .survival import BudgetSurvivalAnalysis

__all__ = [
    "BagClassifier",
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

"""Scikit-learn classes: they validate, call one solver and store attributes."""

from ..core.messages import LeakWarning
from .bags import MilesEmbedding, MultipleInstanceClassifier, SelectedInstance
from .budget import BudgetClassifier, BudgetRegressor
from .l1 import L1Classifier, L1ClassifierCV, L1Path, L1Regressor, L1RegressorCV
from .measures import MeasureClassifier
from .paths import l1_path
from .problem import Problem, problem_of
from .survival import (
    BudgetSurvivalAnalysis,
    L1SurvivalAnalysis,
    L1SurvivalAnalysisCV,
    StepFunction,
    c_index,
    c_index_scorer,
    survival_target,
)

__all__ = [
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
    "LeakWarning",
    "MeasureClassifier",
    "MilesEmbedding",
    "MultipleInstanceClassifier",
    "Problem",
    "SelectedInstance",
    "StepFunction",
    "c_index",
    "c_index_scorer",
    "l1_path",
    "problem_of",
    "survival_target",
]

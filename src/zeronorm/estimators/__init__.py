"""Scikit-learn classes: they validate, call one solver and store attributes."""

from ._budget import BudgetClassifier
from ._l1 import L1LogisticRegression
from ._minimax import FeatureGeneratingMachine, MinimaxLogisticRegression

__all__ = [
    "BudgetClassifier",
    "FeatureGeneratingMachine",
    "L1LogisticRegression",
    "MinimaxLogisticRegression",
]

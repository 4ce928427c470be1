"""Scikit-learn classes: they validate, call one solver and store attributes."""

from ._budget import BudgetClassifier
from ._minimax import FeatureGeneratingMachine, MinimaxLogisticRegression

__all__ = ["BudgetClassifier", "FeatureGeneratingMachine", "MinimaxLogisticRegression"]

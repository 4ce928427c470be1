"""Scikit-learn classes: they validate, call one solver and store attributes."""

from ._bags import BagClassifier, SelectedInstance
from ._bilevel_classifier import BilevelClassifier
from ._bilevel_cv import BilevelCV
from ._bilevel_regressor import BilevelRegressor
from ._budget import BudgetClassifier
from ._greedy import GreedyLogisticRegression
from ._l0 import L0LogisticRegression
from ._l1 import L1LogisticRegression
from ._l1_cv import L1LogisticRegressionCV
from ._l1_path import L1Path, l1_path
from ._measure import MeasureClassifier
from ._miles import MilesEmbedding
from ._minimax import FeatureGeneratingMachine, MinimaxLogisticRegression
from ._reweighted import ReweightedL1LogisticRegression

__all__ = [
    "BagClassifier",
    "BilevelCV",
    "BilevelClassifier",
    "BilevelRegressor",
    "BudgetClassifier",
    "FeatureGeneratingMachine",
    "GreedyLogisticRegression",
    "L0LogisticRegression",
    "L1LogisticRegression",
    "L1LogisticRegressionCV",
    "L1Path",
    "MeasureClassifier",
    "MilesEmbedding",
    "MinimaxLogisticRegression",
    "ReweightedL1LogisticRegression",
    "SelectedInstance",
    "l1_path",
]

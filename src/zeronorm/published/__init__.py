"""The published algorithms under the names of their papers, to reproduce and to compare.

The classes are thin: a signature, a docstring and the machinery of the package. Nothing outside
of this package imports it. `baselines` has the competitors that are no part of that machinery.
"""

from ..estimators import (
    BilevelClassifier,
    BilevelRegressor,
    FeatureGeneratingMachine,
    GreedyLogisticRegression,
    L0LogisticRegression,
    MinimaxLogisticRegression,
    ReweightedL1LogisticRegression,
)
from . import baselines

__all__ = [
    "BilevelClassifier",
    "BilevelRegressor",
    "FeatureGeneratingMachine",
    "GreedyLogisticRegression",
    "L0LogisticRegression",
    "MinimaxLogisticRegression",
    "ReweightedL1LogisticRegression",
    "baselines",
]

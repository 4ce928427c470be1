"""The published algorithms under the names of their papers, to reproduce and to compare.

The classes are thin: a signature, a docstring and the machinery of the package. Nothing outside
of this package imports it. `baselines` has the competitors that are no part of that machinery.
"""

from . import baselines
from ._bilevel import BilevelClassifier, BilevelRegressor
from ._greedy import GreedyLogisticRegression
from ._l0 import L0LogisticRegression
from ._l1 import L1LogisticRegression
from ._minimax import FeatureGeneratingMachine, MinimaxLogisticRegression
from ._reweighted import ReweightedL1LogisticRegression
from ._two_layer import TwoLayerClassifier

__all__ = [
    "BilevelClassifier",
    "BilevelRegressor",
    "FeatureGeneratingMachine",
    "GreedyLogisticRegression",
    "L0LogisticRegression",
    "L1LogisticRegression",
    "MinimaxLogisticRegression",
    "ReweightedL1LogisticRegression",
    "TwoLayerClassifier",
    "baselines",
]

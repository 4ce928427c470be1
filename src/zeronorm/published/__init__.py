"""The published algorithms under the names of their papers, to reproduce and to compare.

The classes are thin: a signature, a docstring and the machinery of the package. Nothing outside
of this package imports it.
"""

from .bilevel import BilevelClassifier, BilevelRegressor
from .greedy import GreedyLogisticRegression
from .l0 import L0LogisticRegression
from .l1 import L1LogisticRegression
from .methods import L0By, MinimaxBy
from .minimax import FeatureGeneratingMachine, MinimaxLogisticRegression
from .projection import project_bilevel
from .reweighted import ReweightedL1LogisticRegression
from .solvers import Splitting
from .synthetic import make_paper_synthetic
from .two_layer import TwoLayerClassifier

__all__ = [
    "BilevelClassifier",
    "BilevelRegressor",
    "FeatureGeneratingMachine",
    "GreedyLogisticRegression",
    "L0By",
    "L0LogisticRegression",
    "L1LogisticRegression",
    "MinimaxBy",
    "MinimaxLogisticRegression",
    "ReweightedL1LogisticRegression",
    "Splitting",
    "TwoLayerClassifier",
    "make_paper_synthetic",
    "project_bilevel",
]

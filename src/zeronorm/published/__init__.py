"""The published algorithms under the names of their papers, to reproduce and to compare.

The classes are thin: a signature, a docstring and the machinery of the package. Nothing outside
of this package imports it.
"""

from ._bilevel import BilevelClassifier, BilevelRegressor
from ._greedy import GreedyLogisticRegression
from ._l0 import L0LogisticRegression
from ._l1 import L1LogisticRegression
from ._methods import L0By, MinimaxBy
from ._minimax import FeatureGeneratingMachine, MinimaxLogisticRegression
from ._projection import project_bilevel
from ._reweighted import ReweightedL1LogisticRegression
from ._synthetic import make_paper_synthetic
from ._two_layer import TwoLayerClassifier
from .solvers import Splitting

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

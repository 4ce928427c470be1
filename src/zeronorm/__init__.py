"""Exactly the features you ask for: budgeted feature selection with certificates."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bags import Bags
    from .certificate import certify, prove
    from .estimators import (
        BagClassifier,
        BilevelClassifier,
        BilevelCV,
        BilevelRegressor,
        BudgetClassifier,
        FeatureGeneratingMachine,
        GreedyLogisticRegression,
        L0LogisticRegression,
        L1LogisticRegression,
        L1LogisticRegressionCV,
        L1Path,
        MeasureClassifier,
        MilesEmbedding,
        MinimaxLogisticRegression,
        ReweightedL1LogisticRegression,
        l1_path,
    )
    from .groups import Groups
    from .structures import project_bilevel
    from .verification import verify

__version__ = "0.1.0"

_ESTIMATORS = (
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
    "l1_path",
)
_OTHERS = {
    "Bags": "bags",
    "Groups": "groups",
    "certify": "certificate",
    "project_bilevel": "structures",
    "prove": "certificate",
    "verify": "verification",
}

__all__ = [
    "BagClassifier",
    "Bags",
    "BilevelCV",
    "BilevelClassifier",
    "BilevelRegressor",
    "BudgetClassifier",
    "FeatureGeneratingMachine",
    "GreedyLogisticRegression",
    "Groups",
    "L0LogisticRegression",
    "L1LogisticRegression",
    "L1LogisticRegressionCV",
    "L1Path",
    "MeasureClassifier",
    "MilesEmbedding",
    "MinimaxLogisticRegression",
    "ReweightedL1LogisticRegression",
    "__version__",
    "certify",
    "l1_path",
    "project_bilevel",
    "prove",
    "verify",
]


def __getattr__(name: str) -> Any:
    # Estimators are imported on use: the command and `import zeronorm` start at once.
    if name in _ESTIMATORS:
        return getattr(importlib.import_module(".estimators", __name__), name)
    if name in _OTHERS:
        return getattr(importlib.import_module(f".{_OTHERS[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

"""Exactly the features you ask for: budgeted feature selection with certificates."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import losses, methods, published
    from .bags import Bags
    from .budget_cv import BudgetCV
    from .certificate import certify, prove
    from .checkpoints import Checkpoint
    from .cluster import on_cluster
    from .designs import Products
    from .estimators import (
        BagClassifier,
        BilevelCV,
        BudgetClassifier,
        BudgetRegressor,
        BudgetSurvivalAnalysis,
        L1Classifier,
        L1ClassifierCV,
        L1Regressor,
        L1RegressorCV,
        L1SurvivalAnalysis,
        L1SurvivalAnalysisCV,
        MeasureClassifier,
        l1_path,
    )
    from .genotypes import read_plink
    from .groups import Groups
    from .memory import estimate_memory
    from .model_selection import cross_validate
    from .permutations import permutation_test
    from .store import convert
    from .verification import verify

__version__ = "0.1.0"

# Names are imported on use: the command and `import zeronorm` start at once.
_HOMES = {
    **dict.fromkeys(
        (
            "BagClassifier",
            "BilevelCV",
            "BudgetClassifier",
            "BudgetRegressor",
            "BudgetSurvivalAnalysis",
            "L1Classifier",
            "L1ClassifierCV",
            "L1Regressor",
            "L1RegressorCV",
            "L1SurvivalAnalysis",
            "L1SurvivalAnalysisCV",
            "MeasureClassifier",
            "l1_path",
        ),
        "estimators",
    ),
    **dict.fromkeys(("certify", "prove"), "certificate"),
    "Bags": "bags",
    "BudgetCV": "budget_cv",
    "Checkpoint": "checkpoints",
    "Groups": "groups",
    "estimate_memory": "memory",
    "Products": "designs",
    "read_plink": "genotypes",
    "convert": "store",
    "cross_validate": "model_selection",
    "permutation_test": "permutations",
    "on_cluster": "cluster",
    "verify": "verification",
}

__all__ = [
    "BagClassifier",
    "Bags",
    "BilevelCV",
    "BudgetCV",
    "BudgetClassifier",
    "BudgetRegressor",
    "BudgetSurvivalAnalysis",
    "Checkpoint",
    "Groups",
    "L1Classifier",
    "L1ClassifierCV",
    "L1Regressor",
    "L1RegressorCV",
    "L1SurvivalAnalysis",
    "L1SurvivalAnalysisCV",
    "MeasureClassifier",
    "Products",
    "__version__",
    "certify",
    "convert",
    "cross_validate",
    "estimate_memory",
    "l1_path",
    "losses",
    "methods",
    "on_cluster",
    "permutation_test",
    "prove",
    "published",
    "read_plink",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    if not name.startswith("_"):  # a module, as zeronorm.reporting
        try:
            return importlib.import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

"""Exactly the features you ask for: budgeted feature selection with certificates."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import losses, methods, published
    from .core.groups import Groups
    from .data import Interactions
    from .data.bags import Bags
    from .estimators import (
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
        MultipleInstanceClassifier,
        l1_path,
        survival_target,
    )
    from .estimators.memory import estimate_memory
    from .inspection.certification import certify, prove
    from .io.genotypes import read_plink
    from .io.input import read_table
    from .io.opening import from_dask
    from .io.store import write_store
    from .io.table import Dataset
    from .model_selection.cross_validation import cross_validate, permutation_test
    from .model_selection.search import BudgetCV
    from .reporting.create import report
    from .solvers.checkpoint import Checkpoint
    from .verification import verify

# Names are imported on use: the command and `import zeronorm` start at once.
_HOMES = {
    **dict.fromkeys(
        (
            "MultipleInstanceClassifier",
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
            "survival_target",
        ),
        "estimators",
    ),
    **dict.fromkeys(("certify", "prove"), "inspection"),
    "Bags": "data.bags",
    "BudgetCV": "model_selection",
    "Checkpoint": "solvers.checkpoint",
    "Dataset": "io.table",
    "Groups": "core.groups",
    "estimate_memory": "estimators.memory",
    "Interactions": "data",
    "read_plink": "io.genotypes",
    "read_table": "io.input",
    "write_store": "io.store",
    "cross_validate": "model_selection",
    "permutation_test": "model_selection",
    "from_dask": "io.opening",
    "report": "reporting.create",
    "verify": "verification",
}

__all__ = [
    "Bags",
    "BudgetCV",
    "BudgetClassifier",
    "BudgetRegressor",
    "BudgetSurvivalAnalysis",
    "Checkpoint",
    "Dataset",
    "Groups",
    "Interactions",
    "L1Classifier",
    "L1ClassifierCV",
    "L1Regressor",
    "L1RegressorCV",
    "L1SurvivalAnalysis",
    "L1SurvivalAnalysisCV",
    "MeasureClassifier",
    "MultipleInstanceClassifier",
    "__version__",
    "certify",
    "cross_validate",
    "estimate_memory",
    "from_dask",
    "l1_path",
    "losses",
    "methods",
    "permutation_test",
    "prove",
    "published",
    "read_plink",
    "read_table",
    "report",
    "survival_target",
    "verify",
    "write_store",
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

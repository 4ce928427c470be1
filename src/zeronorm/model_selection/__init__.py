"""Cross-validation of selections, and searches for the number of features."""

from ..estimators.validation import CrossValidation
from .cross_validation import cross_validate, permutation_test
from .search import BilevelCV, BudgetCV, NestedCrossValidation, nested_cross_validate

__all__ = [
    "BilevelCV",
    "BudgetCV",
    "CrossValidation",
    "NestedCrossValidation",
    "cross_validate",
    "nested_cross_validate",
    "permutation_test",
]

"""Cross-validation of selections, and searches for the number of features."""

from ..estimators.held_out import CrossValidation
from .cross_validation import cross_validate, permutation_test
from .search import BudgetCV, NestedCrossValidation, nested_cross_validate

__all__ = [
    "BudgetCV",
    "CrossValidation",
    "NestedCrossValidation",
    "cross_validate",
    "nested_cross_validate",
    "permutation_test",
]

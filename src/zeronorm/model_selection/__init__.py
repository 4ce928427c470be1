"""Cross-validation of selections, and searches for the number of features."""

from ..estimators.cross_validation import CrossValidation
from .bilevel_search import BilevelCV
from .cross_validation import cross_validate
from .nested import NestedCrossValidation, nested_cross_validate
from .permutations import permutation_test
from .search import BudgetCV

__all__ = [
    "BilevelCV",
    "BudgetCV",
    "CrossValidation",
    "NestedCrossValidation",
    "cross_validate",
    "nested_cross_validate",
    "permutation_test",
]

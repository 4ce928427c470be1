"""Competitors of bi-level selection, for honest comparison.

The methods that the published comparison has beside hard thresholding: the sparse group lasso, the
fractional models, the DC approximation, and orthogonal matching pursuit of features and of groups;
each for least squares and for two classes (logistic loss), with a free intercept and sample
weights. The convex problems come with a certified gap. They are meant for data of small size, n x p
numbers in memory twice and p up to some ten thousands, and take dense X only.

Sums of losses are not divided by the number of samples: penalties are on the scale of
1/2 ||y - A x||^2.
"""

from ._base import LinearPath
from ._dc import ConstrainedDCClassifier, ConstrainedDCRegressor, DCClassifier, DCRegressor
from ._fractional import FractionalClassifier, FractionalRegressor
from ._matching_pursuit import (
    GroupOMPClassifier,
    GroupOMPRegressor,
    OMPClassifier,
    OMPRegressor,
)
from ._sparse_group_lasso import (
    SparseGroupLassoClassifier,
    SparseGroupLassoRegressor,
    sparse_group_lasso_path,
)

__all__ = [
    "ConstrainedDCClassifier",
    "ConstrainedDCRegressor",
    "DCClassifier",
    "DCRegressor",
    "FractionalClassifier",
    "FractionalRegressor",
    "GroupOMPClassifier",
    "GroupOMPRegressor",
    "LinearPath",
    "OMPClassifier",
    "OMPRegressor",
    "SparseGroupLassoClassifier",
    "SparseGroupLassoRegressor",
    "sparse_group_lasso_path",
]

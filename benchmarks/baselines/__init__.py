"""Competitors of the selection methods, for honest comparison.

Of bi-level selection: the methods that the published comparison has beside hard thresholding, the
sparse group lasso, the fractional models, the DC approximation, and orthogonal matching pursuit of
features and of groups; each for least squares and for two classes (logistic loss), with a free
intercept and sample weights. The convex problems come with a certified gap. They are meant for data
of small size, n x p numbers in memory twice and p up to some ten thousands, and take dense X only.

Of selection for a performance measure: recursive elimination with a linear SVM, the SVM with the l1
norm, and l1-bmrm, the l1 norm with the loss of a measure by plain cutting planes; for several
classes too, dense and sparse X. (The others that it is compared with are in the package itself: the
SVM of a measure on all features is `MeasureClassifier(n_features=None)`, FGM is
`FeatureGeneratingMachine`.)

Sums of losses are not divided by the number of samples: penalties are on the scale of
1/2 ||y - A x||^2.
"""

from ._base import LinearPath
from ._bmrm import L1Bmrm
from ._dc import ConstrainedDCClassifier, ConstrainedDCRegressor, DCClassifier, DCRegressor
from ._fractional import FractionalClassifier, FractionalRegressor
from ._l1_svm import L1SVM
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
from ._svm_rfe import SVMRFE

__all__ = [
    "L1SVM",
    "SVMRFE",
    "ConstrainedDCClassifier",
    "ConstrainedDCRegressor",
    "DCClassifier",
    "DCRegressor",
    "FractionalClassifier",
    "FractionalRegressor",
    "GroupOMPClassifier",
    "GroupOMPRegressor",
    "L1Bmrm",
    "LinearPath",
    "OMPClassifier",
    "OMPRegressor",
    "SparseGroupLassoClassifier",
    "SparseGroupLassoRegressor",
    "sparse_group_lasso_path",
]

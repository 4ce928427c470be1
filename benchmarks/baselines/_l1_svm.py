"""The linear SVM of the l1 norm.

It has the squared hinge max(0, 1 - y z)^2, without the factor 1/2 that it has elsewhere in the
package: C is that of LIBLINEAR.

Source: Yuan, Chang, Hsieh and Lin, A comparison of optimization methods and software for
large-scale L1-regularized linear classification, JMLR 11, 2010.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zeronorm.core.types import FloatArray
from zeronorm.estimators import L1Classifier
from zeronorm.estimators.problem import TrainingData


class L1SVM(L1Classifier):
    """Linear SVM with the l1 norm.

        min_{w, b}  ||w||_1 + C sum_i s_i max(0, 1 - y_i (x_i'w + b))^2

    solved as `zeronorm.L1Classifier` solves its problems: any storage of X, scans of
    classes merged, a certified duality gap. b is not penalised.

    Parameters
    ----------
    n_features : int or None
        k: the model of the largest C whose solution has at most k features, completed to exactly k
        where no C gives k (then with a warning if it has fewer). For each of several classes.
    C : float
        Weight of the summed loss (LIBLINEAR's); not used with `n_features`.
    fit_intercept : bool
        Whether b is free.
    standardize : bool
        Whether w_j is penalised as if column j had standard deviation 1.
    class_weight, tol, max_iter, n_threads
        As of `zeronorm.L1Classifier`.

    Attributes
    ----------
    As of `zeronorm.L1Classifier`: support_, coef_, intercept_, C_, objective_, gap_,
    n_iter_, history_, n_scans_, seconds_.

    Examples
    --------
    >>> from baselines import L1SVM
    >>> from zeronorm.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> L1SVM(5).fit(X, y).support_.size
    5
    """

    l1_ratio = 1.0
    loss = "squared_hinge"
    penalty_factor = None
    signs = None
    refit_C = None

    def __init__(
        self,
        n_features: int | None = None,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        standardize: bool = True,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        n_threads: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.C = C
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads

    def _weigh(self, data: TrainingData) -> tuple[TrainingData, FloatArray]:
        """Return the data with doubled weights: the solvers' squared hinge is half of this."""
        data, unit = super()._weigh(data)
        return replace(data, sample_weight=2.0 * data.sample_weight), unit

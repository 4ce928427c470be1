"""Reweighted l1: less bias and fewer false features than l1, in a few stages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..core.results import Result
from ..estimators import L1Classifier
from ..estimators.base import with_constants, with_parameters
from ..methods import ReweightedL1
from ..solvers import reweighted
from ..solvers.driver import Solver
from ..solvers.l1.reweighted import reweighted_sizes


@with_parameters
@with_constants(multi_class="ovr", checkpoint=None)
class ReweightedL1LogisticRegression(L1Classifier):
    """Logistic regression (or squared hinge) with a concave penalty, by l1 problems in stages.

        min_{w, b}  sum_j p_j omega_j |w_j| + C sum_i s_i f(y_i, x_i'w + b)

    Every stage is the problem of `L1Classifier`, solved to a certified gap, with weights
    omega from the stage before (1 at the first). With a_j = r p_j |w_j| (r the `l1_ratio`),
    `weights` is

        "log":     omega_j = epsilon / (a_j + epsilon), of the penalty epsilon log(1 + a / epsilon)
        "capped":  omega_j = 1 where a_j < threshold, else 1e-6, of the penalty min(a, threshold)

    Features at zero keep their penalty, large coefficients lose theirs: the model is less biased
    than that of l1, and has fewer features at the same C. The concave problem has local minima;
    this is the one that l1 leads to, and the gap is that of the last stage.

    Parameters
    ----------
    C : float
        Weight of the summed loss, as in `L1Classifier`.
    n_features : int or None
        Exactly so many features (of every class): each stage is solved at its own C, the largest
        one with at most so many; `C_` is that of the last stage. A stage that has no such solution
        (where fewer features separate the classes) is left out.
    refit_C : "loo", float or None
        C of the refit of these features, or None for the last stage itself as the model: as for
        `L1Classifier`.
    weights : "log" or "capped"
    n_stages : int
        How many l1 problems are solved; 1 is l1.
    epsilon : float or None
        Of "log"; by default, at every stage, the mean a_j of the features that are not zero.
    threshold : float or None
        Of "capped"; by default 0.3 of that mean.
    l1_ratio, loss, penalty_factor, signs, fit_intercept, standardize, class_weight, tol, max_iter,
    warm_start, n_threads : as for `L1Classifier`; tol and max_iter hold for every stage.
        With `standardize` a_j is that of columns of deviation 1. The l2 part of an elastic net
        keeps its weight.

    Attributes
    ----------
    As of `L1Classifier`; a `Step` of `history_` has its stage in `extra`.

    References
    ----------
    Candes, Wakin and Boyd, Enhancing sparsity by reweighted l1 minimization, Journal of Fourier
    Analysis and Applications 14, 2008. T. Zhang, Analysis of multi-stage convex relaxation for
    sparse regularization, JMLR 11, 2010. Tan, Tsang and Wang, IEEE TNNLS 24(10), 2013 (WLR, one of
    its baselines).

    Examples
    --------
    >>> from zeronorm.published import ReweightedL1LogisticRegression
    >>> from zeronorm.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> ReweightedL1LogisticRegression(n_features=5, standardize=True).fit(X, y).support_.size
    5
    """

    weights: str = "log"
    n_stages: int = 3
    epsilon: float | None = None
    threshold: float | None = None

    def _stages(self) -> ReweightedL1:
        return ReweightedL1(
            weights=self.weights, n_stages=self.n_stages, epsilon=self.epsilon,
            threshold=self.threshold,
        )  # fmt: skip

    def _solvers(self) -> tuple[Callable[..., Solver[Result]], Callable[..., Solver[Any]]]:
        rule = self._stages().rule()
        return partial(reweighted, rule=rule), partial(reweighted_sizes, rule=rule)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._stages().check(self._losses[self.loss], self.fit_intercept)

"""l1 logistic regression by the solvers of the literature: newGLMNET, GLMNET and CDN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..core import validation as validate
from ..core.errors import ParameterError
from ..core.results import Result
from ..estimators import L1Classifier
from ..estimators.base import with_constants, with_parameters
from ..estimators.l1 import setting_of
from ..estimators.warnings import open_violations
from ..solvers.driver import Solver
from .solvers import L1_SOLVERS
from .solvers.newglmnet import STOPS

PUBLISHED = ("newglmnet", "glmnet", "cdn")


@with_parameters
@with_constants(multi_class="ovr", checkpoint=None)
class L1LogisticRegression(L1Classifier):
    """`L1Classifier` by a solver of the literature, to reproduce and to compare.

    Parameters
    ----------
    solver : str
        - "newglmnet": proximal Newton steps over all features, with shrinking.
        - "glmnet": without line search and shrinking: it need not converge.
        - "cdn": one Newton step per coordinate.
        - "auto", "working-set": proximal Newton steps over few features at a time, the solver of
          `L1Classifier`, and the only one that follows a path for `n_features`.

        The first three copy X unless it is in memory by column (Fortran order, CSC).
    stop : str
        What `tol` is of: "gap", the certified duality gap, as of `L1Classifier`; "violations", as
        published: the sum over the features of the least absolute values of the subgradients of the
        objective, of those that are not shrunk, is at most `tol` times that at w = 0. That proves
        nothing of the objective (`gap_` does). It needs one of the first three solvers.
    C, n_features, refit_C, l1_ratio, loss, penalty_factor, signs, fit_intercept, standardize,
    class_weight, tol, max_iter, warm_start, n_threads
        As of `L1Classifier`.

    Attributes
    ----------
    As of `L1Classifier`.

    References
    ----------
    Yuan, Ho and Lin, An improved GLMNET for l1-regularized logistic regression, JMLR 13, 2012.

    Examples
    --------
    >>> from zeronorm.datasets import load_demo
    >>> from zeronorm.published import L1LogisticRegression
    >>> X, y = load_demo(return_X_y=True)
    >>> bool(L1LogisticRegression(C=0.1, solver="cdn").fit(X, y).gap_ <= 1e-4)
    True
    """

    solver: str = "newglmnet"
    stop: str = "gap"

    def _solvers(self) -> tuple[Callable[..., Solver[Result]], Callable[..., Solver[Any]]]:
        solve = L1_SOLVERS[self.solver]
        if self.solver in PUBLISHED:
            solve = partial(solve, stop=self.stop)
        return solve, super()._solvers()[1]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        validate.check_option("solver", self.solver, list(L1_SOLVERS))
        if self.n_features is not None and self.solver in PUBLISHED:
            raise ParameterError(
                "n_features",
                "needs a solver that follows a path, 'auto' or 'working-set'",
                f"solver={self.solver!r}",
            )
        validate.check_option("stop", self.stop, list(STOPS))
        if self.stop == "violations" and self.solver not in PUBLISHED:
            raise ValueError(
                f"stop='violations' is of the solvers {', '.join(map(repr, PUBLISHED))}; got "
                f"solver={self.solver!r}. Use one of these, or stop='gap'."
            )

    def _doubts(self) -> Iterator[Warning]:
        if self.stop == "violations":
            yield from open_violations(setting_of(self), self._results, self.solver)
        else:
            yield from super()._doubts()

"""Problems that are solved by passes over convex ones: the loop, and what their classes share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from zeronorm.core import validation as validate
from zeronorm.core.groups import Groups
from zeronorm.core.types import FloatArray

from ._base import Data, Fit, LinearModel, warn_of_gap
from ._sparse_group_lasso import SLOW

CHANGE = 1e-6  # relative, of the objective, to stop at


def by_passes(
    convex: Callable[[FloatArray | None], Fit],
    objective: Callable[[FloatArray], float],
    max_passes: int,
) -> Fit:
    """Solve convex problems, each made from the solution before it, until nothing changes.

    `history` has the objective after every pass; the gap is that of the worst pass, of its own
    convex problem.

    Parameters
    ----------
    convex : solves the problem of a pass, given the solution of the one before, None in the first.
    objective : the problem that the passes are for, of coefficients.
    """
    x, worst, n_iter = None, 0.0, 0
    history: list[float] = []
    for _ in range(max_passes):
        fit = convex(x)
        x, worst, n_iter = fit.x, max(worst, fit.gap), n_iter + fit.n_iter
        history.append(objective(x))
        if len(history) > 1 and abs(history[-2] - history[-1]) <= CHANGE * abs(history[-2]):
            break
    assert x is not None  # max_passes >= 1
    return Fit(x, history[-1], worst, n_iter, tuple(history))


class InPasses(LinearModel):
    """A model by passes, and the parameters that all of them have."""

    def __init__(
        self,
        feature_groups: Any,
        fit_intercept: bool,
        standardize: bool,
        max_passes: int,
        tol: float,
        max_iter: int,
    ) -> None:
        self.feature_groups = feature_groups
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.max_passes = max_passes
        self.tol = tol
        self.max_iter = max_iter

    @abstractmethod
    def _run(self, data: Data, groups: Groups, max_passes: int, tol: float, max_iter: int) -> Fit:
        """Return the end of the passes."""

    def _check_parameters(self) -> None:
        validate.check_iterations("max_passes", self.max_passes)
        validate.check_gap("tol", self.tol)
        validate.check_iterations("max_iter", self.max_iter)

    def _solve(self, data: Data, groups: Groups) -> Fit:
        tol = float(self.tol)
        fit = self._run(data, groups, int(self.max_passes), tol, int(self.max_iter))
        warn_of_gap(fit.gap, tol, SLOW)
        self.objectives_ = fit.history
        return fit

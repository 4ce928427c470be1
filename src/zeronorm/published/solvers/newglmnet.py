"""The published methods for the problem of `l1.problem`: newGLMNET, and GLMNET and CDN before it.

They sweep all columns: X is copied unless it is in memory by column. They stop by the duality gap
as all solvers of the problem do, or, as published, where the sum of the violations of the
optimality conditions is small; each iteration ends with a scan that tells either.

Sources: Yuan, Ho and Lin, An improved GLMNET for l1-regularized logistic regression, JMLR 13, 2012
(newGLMNET, and CDN as compared there); Friedman, Hastie and Tibshirani, Journal of Statistical
Software 33(1), 2010 (GLMNET).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.results import Result, Status
from ...core.types import FloatArray, IndexArray
from ...solvers.driver import Solver
from ...solvers.l1.problem import L1Problem, Start
from ...solvers.l1.solvers import (
    MAX_HALVINGS,
    SIGMA,
    Descent,
    Run,
    largest_steps,
    model_at,
    moved_along,
    sweep,
)

NU = 1e-12  # added to the curvature, as published
GLMNET_TOLERANCE = 1e-4  # of the violation at u = 0, for every inner problem
STOPS = ("gap", "violations")
FRESH = 50  # cycles of CDN after which the margins are formed afresh


def newglmnet(
    problem: L1Problem,
    *,
    tol: float,
    max_iter: int,
    start: Start | None = None,
    stop: str = "gap",
) -> Solver[Result]:
    """Solve by newGLMNET: shrinking on two levels, inner problems solved as far as it pays.

    tol : the largest duality gap, as a share of the objective at u = 0; or, by `stop`, the largest
        sum of violations, as a share of that at u = 0, over the features that are not shrunk.
    stop : "gap" or "violations".
    """
    return _newton_over_all(_Outer(problem, tol, max_iter, stop), start, published=True)


def glmnet(
    problem: L1Problem,
    *,
    tol: float,
    max_iter: int,
    start: Start | None = None,
    stop: str = "gap",
) -> Solver[Result]:
    """Solve by GLMNET: inner problems to a fixed tolerance, no shrinking, no line search.

    For comparison: nothing makes it converge, and on nearly separable data it need not. `tol` and
    `stop` are those of `newglmnet`.
    """
    return _newton_over_all(_Outer(problem, tol, max_iter, stop), start, published=False)


def cdn(
    problem: L1Problem,
    *,
    tol: float,
    max_iter: int,
    start: Start | None = None,
    stop: str = "gap",
    shrinking: bool = True,
) -> Solver[Result]:
    """Solve by CDN: one Newton step per coordinate, each with its own line search, in cycles.

    Which features a cycle leaves out is decided at its start, by the scores of the scan between two
    cycles, and so again before the next one. The published code decides when it visits a feature,
    and takes none back before the others have converged. `tol` and `stop` are those of `newglmnet`.
    """
    outer = _Outer(problem, tol, max_iter, stop)
    run, risk = outer.run, problem.risk
    yield from outer.begin(start)
    columns = run.all_columns()
    steps = largest_steps(problem, columns)
    while (kept := outer.kept(shrinking)) is not None:
        with run.clock:
            some = columns.of(kept)
            point = run.point.on(some.features)
            u, z = point.u.copy(), point.z.copy()
            some.call(
                "newton_cycle", risk.y, risk.weight, problem.penalty.of(kept).rows(),
                risk.loss.kernel, NU, SIGMA, steps[kept], MAX_HALVINGS, run.n_iter,
                np.arange(kept.size), u, z,
            )  # fmt: skip
            if run.n_iter % FRESH == FRESH - 1:  # the drift of so many updates
                z = some.combine(u, np.full(z.size, point.b))
            value, gradient = problem.risk.value_gradient(z)
            point = replace(point, u=u, z=z, value=value, gradient=gradient)
        yield from run.certify(point, {"visited": kept.size})
    return run.result()


class _Outer:
    """The outer iterations: which features take part in the next one, and where they end."""

    def __init__(self, problem: L1Problem, tol: float, max_iter: int, stop: str) -> None:
        self.problem, self._tol, self._stop = problem, tol, stop
        self.run = Run(problem, tol if stop == "gap" else 0.0, max_iter)
        self._limit = np.inf  # the largest violation at the point before

    def begin(self, start: Start | None) -> Solver[None]:
        """Certify the model without features, whose violations are the measure; then the start."""
        yield from self.run.begin(None)
        self.first = float(self._violation(np.zeros(self.run.scores.size)).sum())
        if start is not None and start.support.size:
            yield from self.run.begin(start)

    def kept(self, shrinking: bool) -> IndexArray | None:
        """Return the features of the next iteration, sorted; None where there is none.

        With shrinking those at zero are left out that are optimal by the largest violation at the
        point before, over the number of rows.
        """
        run, penalty = self.run, self.problem.penalty
        with run.clock:
            u = run.point.on(np.arange(run.scores.size)).u
            violation = self._violation(u)
            kept = np.arange(u.size)
            if shrinking:
                settled = penalty.settled(-run.scores, self._limit / self.problem.size)
                kept = np.flatnonzero((u != 0) | ~settled)
            self._limit = float(violation[kept].max(initial=0.0))
            if self._stop == "violations" and violation[kept].sum() <= self._tol * self.first:
                run.status = Status.CONVERGED
        return kept if run.status is None else None

    def _violation(self, u: FloatArray) -> FloatArray:
        return self.problem.penalty.violation(-self.run.scores, u)


def _newton_over_all(outer: _Outer, start: Start | None, *, published: bool) -> Solver[Result]:
    """Newton steps over all features that are not shrunk: newGLMNET, or GLMNET."""
    problem, run = outer.problem, outer.run
    yield from outer.begin(start)
    columns = run.all_columns()
    limits = largest_steps(problem, columns)
    inner = 1.0 if published else GLMNET_TOLERANCE
    while (kept := outer.kept(published)) is not None:
        with run.clock:
            some = columns.of(kept)
            point = run.point.on(some.features)
            model = model_at(problem, some, point, limits[kept], nu=NU)
            descent = Descent(some, model)
            shrinking = 1.0 / problem.size if published else 0.0
            sweep(descent, inner * outer.first, run.n_iter, shrinking)
            if published and descent.n_sweeps == 1:
                inner /= 4.0
            moved = moved_along(
                problem, some, point, model, descent.step, descent.offset, search=published
            )
            counts = {"sweeps": descent.n_sweeps, "visited": some.size}
        yield from run.certify(point if moved is None else moved[0], counts)
    return run.result()

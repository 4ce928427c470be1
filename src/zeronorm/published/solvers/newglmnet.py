"""The published methods for the problem of `l1.problem`: newGLMNET, and GLMNET and CDN before it.

They sweep all columns: X is copied unless it is in memory by column.

Sources: Yuan, Ho and Lin, An improved GLMNET for l1-regularized logistic regression, JMLR 13, 2012
(newGLMNET, and CDN as compared there); Friedman, Hastie and Tibshirani, Journal of Statistical
Software 33(1), 2010 (GLMNET).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...result import Result
from ...solvers.drive import Solver
from ...solvers.l1.descent import Descent
from ...solvers.l1.problem import L1Problem, Start
from ...solvers.l1.prox_newton import (
    MAX_HALVINGS,
    SIGMA,
    largest_steps,
    model_at,
    moved_along,
    sweep,
)
from ...solvers.l1.run import Run

NU = 1e-12  # added to the curvature, as published
GLMNET_TOLERANCE = 1e-4  # of the violation at u = 0, for every inner problem
FRESH = 50  # cycles of CDN after which the margins are formed afresh


def newglmnet(
    problem: L1Problem, *, tol: float, max_iter: int, start: Start | None = None, n_threads: int = 1
) -> Solver[Result]:
    """Solve by newGLMNET: shrinking on two levels, inner problems solved as far as it pays."""
    return _newton_over_all(problem, tol, max_iter, start, n_threads, published=True)


def glmnet(
    problem: L1Problem, *, tol: float, max_iter: int, start: Start | None = None, n_threads: int = 1
) -> Solver[Result]:
    """Solve by GLMNET: inner problems to a fixed tolerance, no shrinking, no line search.

    For comparison: nothing makes it converge, and on nearly separable data it need not.
    """
    return _newton_over_all(problem, tol, max_iter, start, n_threads, published=False)


def cdn(
    problem: L1Problem, *, tol: float, max_iter: int, start: Start | None = None, n_threads: int = 1
) -> Solver[Result]:
    """Solve by CDN: one Newton step per coordinate, each with its own line search, in cycles."""
    run = Run(problem, tol, max_iter, n_threads)
    yield from run.begin(start)
    columns = run.all_columns()
    rows, risk = problem.penalty.rows(), problem.risk
    order = np.arange(columns.size)
    steps = largest_steps(problem, columns)
    while run.status is None:
        with run.clock:
            point = run.point.on(np.arange(columns.size))
            u, z = point.u.copy(), point.z.copy()
            columns.call(
                "newton_cycle", risk.y, risk.weight, rows, risk.loss.kernel, NU, SIGMA, steps,
                MAX_HALVINGS, run.n_iter, order, u, z,
            )  # fmt: skip
            if run.n_iter % FRESH == FRESH - 1:  # the drift of so many updates
                z = columns.combine(u, np.full(z.size, point.b))
            value, gradient = problem.risk.value_gradient(z)
            point = replace(point, u=u, z=z, value=value, gradient=gradient)
        yield from run.certify(point, {})
    return run.result()


def _newton_over_all(
    problem: L1Problem,
    tol: float,
    max_iter: int,
    start: Start | None,
    n_threads: int,
    *,
    published: bool,
) -> Solver[Result]:
    """Newton steps over all features that are not shrunk: newGLMNET, or GLMNET."""
    run = Run(problem, tol, max_iter, n_threads)
    yield from run.begin(None)
    penalty = problem.penalty
    first = float(penalty.violation(-run.scores, np.zeros(run.scores.size)).sum())
    if start is not None and start.support.size:
        yield from run.begin(start)
    columns = run.all_columns()
    limits = largest_steps(problem, columns)
    limit, inner = np.inf, 1.0 if published else GLMNET_TOLERANCE
    while run.status is None:
        with run.clock:
            u = run.point.on(np.arange(columns.size)).u
            violation = penalty.violation(-run.scores, u)
            kept = np.ones(u.size, bool)
            if published:
                kept = (u != 0) | ~penalty.settled(-run.scores, limit / problem.size)
                limit = float(violation[kept].max(initial=0.0))
            some = columns.of(np.flatnonzero(kept))
            point = run.point.on(some.features)
            model = model_at(problem, some, point, limits[kept], nu=NU)
            descent = Descent(some, model)
            sweep(descent, inner * first, run.n_iter, 1.0 / problem.size if published else 0.0)
            if published and descent.n_sweeps == 1:
                inner /= 4.0
            moved = moved_along(
                problem, some, point, model, descent.step, descent.offset, search=published
            )
            counts = {"sweeps": descent.n_sweeps, "visited": some.size}
        yield from run.certify(point if moved is None else moved[0], counts)
    return run.result()

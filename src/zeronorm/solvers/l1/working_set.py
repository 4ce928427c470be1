"""The working-set method for the problem of `l1.problem`, on every storage.

Source: Massias, Gramfort and Salmon, Celer: a fast solver for the lasso with dual extrapolation,
ICML 2018 (working sets that the dual point chooses); proximal Newton steps as in newGLMNET.
"""

from __future__ import annotations

from ...core.results import Result
from ...core.types import IndexArray
from ..drive import Solver
from .problem import L1Problem, Point, Start
from .prox_newton import PROX_NEWTON, prox_newton
from .run import Run

INNER_SHARE = 0.1  # of the gap over all features: the gap over the working set to stop at
TRUNCATED_STEPS = 2  # where features had to stay outside that are drawn in: they matter more


def working_set(
    problem: L1Problem, *, tol: float, max_iter: int, start: Start | None = None, n_threads: int = 1
) -> Solver[Result]:
    """Solve to (objective - bound) <= tol * objective of the model without features.

    Every scan of all features certifies the last point and chooses the next working set: the
    support, and the features that the scores draw most from zero. Over it proximal Newton steps,
    each a coordinate descent on the quadratic model and a line search, go on until the gap over the
    working set is a small share of that over all features.
    """
    run = Run(problem, tol, max_iter, n_threads)
    yield from run.begin(start)
    while run.status is None:
        features = run.choose()
        goal = 0.3 * tol
        if features.size < problem.penalty.l1.size:
            goal = max(INNER_SHARE * min(run.gap, 1.0), goal)
        most_steps = TRUNCATED_STEPS if run.truncated else PROX_NEWTON.max_newton
        point, counts = solve_over(run, features, goal, most_steps)
        yield from run.certify(point, counts)
    return run.result()


def solve_over(
    run: Run, features: IndexArray, goal: float, most_steps: int = PROX_NEWTON.max_newton
) -> tuple[Point, dict[str, float]]:
    """Solve over some features, from the last point; return the point, and counts.

    goal : the gap of the problem over these features, relative to that without any.
    """
    with run.clock:
        columns, point = run.columns(features), run.point.on(features)
        return prox_newton(run, columns, point, goal * run.scale, most_steps)

"""Proximal Newton steps over some columns: a quadratic model, coordinate descent, a line search."""

from __future__ import annotations

import numpy as np

from .._typing import Columns, FloatArray
from ..designs._wrappers import as_slice
from ._columns import ColumnSet, Descent, Model
from ._l1 import PRECISION, L1Problem, Point, Run, with_best_intercept

SIGMA, MAX_HALVINGS = 0.01, 20  # of the line search, as published
LARGEST_SQUARE = 1e140  # sum of squares of a column
SWEEPS_AT_ONCE = 50  # of a descent, between looks at Ctrl-C
MAX_SWEEPS = 1000
# Sweeps before the first step of the subspace, and between two; what part of the violation wanted
# such a step aims at; how its iterations grow from one to the next.
SWEEPS_ALONE, SWEEPS_BETWEEN, SUBSPACE_SHARE, ITERATION_GROWTH = 20, 10, 0.3, 1.5
MAX_NEWTON = 50
DESCENT_SHARE, SMALLEST_SHARE = 0.5, 1e-3  # of the violation of a step: what a descent leaves
GRAM_DESCENT_SHARE = 0.01  # and where sweeps cost nothing
# Gram matrices are formed of at most so many columns, and of so many as a share of the rows, where
# a descent does not end within the first sweeps. (No rule asks how rows are stored: integer weights
# equal repeated rows.)
LARGEST_GRAM, LARGEST_SPARSE_GRAM, GRAM_SHARE, FIRST_SWEEPS = 2000, 500, 0.25, 8
CHEAP_GRAM = 16  # sweeps
LARGEST_COPY = 1 << 26  # elements that are copied for a Gram matrix
LARGEST_STEP = 10.0  # of a coordinate, in units of the margins: LIBLINEAR's 10 for unit columns


def prox_newton(
    run: Run, columns: ColumnSet, point: Point, goal: float, most_steps: int = MAX_NEWTON
) -> tuple[Point, dict[str, float]]:
    """Take proximal Newton steps over the columns to a gap of `goal`, at most so many."""
    problem = run.problem
    penalty = problem.penalty.of(columns.features)
    share, sweeps, iterations, steps = DESCENT_SHARE, 0, 0, 0
    n_first = _sweeps_before_gram(problem, columns)
    if n_first == 0:
        share = GRAM_DESCENT_SHARE
    Z: Columns | None = None
    bound = -np.inf
    limits = largest_steps(problem, columns)
    # The point before a step that changed the objective by rounding only, and its violation.
    before: tuple[Point, float] | None = None
    for steps in range(most_steps):
        model = model_at(problem, columns, point, limits)
        if not float(model.square.max(initial=0.0)) < LARGEST_SQUARE:
            break  # products overflow: there is no step
        violation = float(penalty.violation(model.gradient, point.u).sum())
        if before is not None and violation >= before[1]:
            point = before[0]
            break
        bound = max(bound, run.bound_over(columns, penalty, point, model.gradient))
        if point.value + penalty.value(point.u) - bound <= goal:
            break
        descent = columns.descent(model)
        target = share * violation
        if n_first is None:
            accelerated(descent, target, steps, 1.0 / problem.size)
        elif n_first == 0 or not descent.sweep(target, n_first, steps, 1.0 / problem.size):
            if Z is None:
                Z = problem.design.gather(as_slice(columns.features))
            descent.sweep_gram(Z, target, MAX_SWEEPS)
        sweeps += descent.n_sweeps
        iterations += descent.n_iterations
        if descent.n_sweeps == 1:
            share = max(0.25 * share, SMALLEST_SHARE)
        moved = moved_along(problem, columns, point, model, descent)
        if moved is None:
            break
        before = (point, violation) if moved[1] else None
        point = with_best_intercept(problem, moved[0])
    return point, {
        "steps": steps, "sweeps": sweeps, "iterations": iterations, "visited": columns.size
    }  # fmt: skip


def _sweeps_before_gram(problem: L1Problem, columns: ColumnSet) -> int | None:
    """Return after how many sweeps a descent goes on with the Gram matrix; None: never."""
    most = LARGEST_SPARSE_GRAM if columns.is_sparse else LARGEST_GRAM
    if columns.size > min(GRAM_SHARE * problem.size, most):
        return None
    if columns.size * problem.size > LARGEST_COPY:
        return None
    return 0 if columns.gram_cost() <= CHEAP_GRAM else FIRST_SWEEPS


def model_at(
    problem: L1Problem, columns: ColumnSet, point: Point, limits: FloatArray, nu: float = 0.0
) -> Model:
    """Return the quadratic model of the problem at a point, over the columns.

    limits : (q,) the largest step of each coordinate.
    """
    curvature = problem.loss.curvature(point.z, problem.y, problem.weight)
    gradient, square = columns.terms(point.gradient, curvature)
    slope = float(point.gradient.sum()) if problem.intercept else 0.0
    rows = problem.penalty.of(columns.features).rows()
    return Model(
        curvature, gradient, square, rows, point.u, limits, nu, problem.intercept, slope
    )  # fmt: skip


def largest_steps(problem: L1Problem, columns: ColumnSet) -> FloatArray:
    """Return the largest step of each coordinate: it moves margins by about LARGEST_STEP.

    From the weights of the rows and not from the curvature, which rows of large margins have not.
    """
    weight = problem.weight
    size = np.sqrt(columns.terms(weight, weight)[1] / float(weight.sum()))
    steps = np.full(size.size, LARGEST_STEP)
    np.divide(LARGEST_STEP, size, out=steps, where=size > 0)
    return steps


def sweep(descent: Descent, target: float, seed: int, shrinking: float) -> None:
    """Descend to the target, or through MAX_SWEEPS; Ctrl-C is noticed between some sweeps."""
    while descent.n_sweeps < MAX_SWEEPS:
        at_once = min(SWEEPS_AT_ONCE, MAX_SWEEPS - descent.n_sweeps)
        if descent.sweep(target, at_once, seed + descent.n_sweeps, shrinking):
            return


def accelerated(descent: Descent, target: float, seed: int, shrinking: float) -> None:
    """Descend to the target as `sweep` does, where that takes long by steps of the subspace too."""
    if descent.sweep(target, SWEEPS_ALONE, seed, shrinking):
        return
    n_iterations = float(SWEEPS_ALONE)
    while descent.n_sweeps < MAX_SWEEPS:
        descent.subspace_step(SUBSPACE_SHARE * target, int(n_iterations))
        n_iterations *= ITERATION_GROWTH
        if descent.sweep(target, SWEEPS_BETWEEN, seed + descent.n_sweeps, shrinking):
            return


def moved_along(
    problem: L1Problem,
    columns: ColumnSet,
    point: Point,
    model: Model,
    descent: Descent,
    *,
    search: bool = True,
) -> tuple[Point, bool] | None:
    """Return the point after the line search along a step; None where nothing decreases.

    The second part says that the objective changed by rounding only: whether the step is one to the
    better, the violations have to tell.
    """
    penalty = problem.penalty.of(columns.features)
    d, e = descent.step, descent.offset
    before = penalty.value(point.u)
    slope = float(model.gradient @ d) + model.gradient_e * e
    slope += penalty.value(point.u + d) - before
    along = columns.combine(d, np.full(point.z.size, e))
    rounding = PRECISION * abs(point.value + before)
    share = 1.0
    for _ in range(MAX_HALVINGS):
        u, z = point.u + share * d, point.z + share * along
        value, gradient = problem.loss.value_gradient(z, problem.y, problem.weight)
        change = value - point.value + penalty.value(u) - before
        exact = abs(change) <= rounding
        if not search or exact or change <= SIGMA * share * slope < 0:
            return Point(point.features, u, point.b + share * e, z, value, gradient), exact
        share *= 0.5
    return None

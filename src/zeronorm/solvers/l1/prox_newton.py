"""Proximal Newton steps over some columns: a quadratic model, coordinate descent, a line search."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.types import Columns, FloatArray, IndexArray
from ...data.column_sets import ColumnSet, RowSet
from ...data.columns import gather
from ...data.wrappers import as_slice
from .descent import Descent, Model
from .problem import L1Problem, Point, with_best_intercept
from .run import L1_RUN, Run

SIGMA, MAX_HALVINGS = 0.01, 20  # of the line search, as published


@dataclass(frozen=True, slots=True)
class ProxNewtonTuning:
    """Constants, each with what it was measured for."""

    largest_square: float = 1e140  # sum of squares of a column
    sweeps_at_once: int = 50  # of a descent, between looks at Ctrl-C
    max_sweeps: int = 1000
    max_newton: int = 50
    # Where a sweep visits fewer elements it costs next to nothing, and the other ways, which
    # amplify rounding, save nothing.
    small: int = 1 << 15
    largest_copy: int = 1 << 26  # elements that are copied for a Gram matrix
    rounding: float = (
        1e-7  # least deviation that is told from 0, as a share of the root mean square
    )
    coupled: float = (
        1e-10  # by what share diagonals are raised where a matrix is taken off another one
    )
    largest_step: float = (
        10.0  # of a coordinate, in units of the margins: LIBLINEAR's 10 for unit columns
    )


PROX_NEWTON = ProxNewtonTuning()
DESCENT_SHARE, SMALLEST_SHARE = 0.5, 1e-3  # of the violation of a step: what a descent leaves
# Sweeps of a descent before anything else is tried, and between steps of the support; what part of
# the violation wanted such a step aims at; how its iterations grow from one to the next.
SWEEPS_ALONE, SWEEPS_BETWEEN, SUBSPACE_SHARE, ITERATION_GROWTH = 20, 10, 0.3, 1.5
# Gram matrices are formed where they cost at most so many sweeps, and of so many columns as a share
# of the rows, that is of their weights: integer weights equal repeated rows. A sweep then costs
# next to nothing, and a descent leaves less.
CHEAP_GRAM, GRAM_SHARE, GRAM_DESCENT_SHARE = 16, 0.25, 0.01
DAMPINGS = (0.0, 1e-2, 0.1, 1.0)  # shares of the majorant in a model; steps begin with the last


def prox_newton(
    run: Run,
    columns: ColumnSet | RowSet,
    point: Point,
    goal: float,
    most_steps: int = PROX_NEWTON.max_newton,
) -> tuple[Point, dict[str, float]]:
    """Take proximal Newton steps over the columns to a gap of `goal`, at most so many."""
    problem = run.problem
    penalty = problem.penalty.of(columns.features)
    minimiser, damping = _Minimiser(problem, columns), _Damping(problem)
    steps = 0
    bound = -np.inf
    limits = largest_steps(problem, columns)
    # The point before a step that changed the objective by rounding only, and its violation.
    before: tuple[Point, float] | None = None
    for steps in range(most_steps if columns.size else 0):
        model = model_at(problem, columns, point, limits, damping=damping.share)
        if not float(model.square.max(initial=0.0)) < PROX_NEWTON.largest_square:
            break  # products overflow: there is no step
        violation = float(penalty.violation(model.gradient, point.u).sum())
        if before is not None and violation >= before[1]:
            point = before[0]
            break
        bound = max(bound, run.bound_over(columns, penalty, point, model.gradient))
        if point.value + penalty.value(point.u) - bound <= goal:
            break
        step, offset = minimiser.step(model, violation, steps, point)
        moved = moved_along(problem, columns, point, model, step, offset)
        if not damping.goes_on(0.0 if moved is None else moved[2]):
            break
        if moved is None:
            continue
        before = (point, violation) if moved[1] else None
        point = with_best_intercept(problem, moved[0])
    return point, {"steps": steps, "visited": columns.size, **minimiser.counts}


class _Damping:
    """How much of the majorant is in the model of a step, of losses that flatten.

    Beyond the ends of its interval a row has no curvature, and a model of few rows with any says
    nothing of how far a step may go. The quadratic of the majorant is nowhere below the loss, so
    that its steps always descend, but only linearly; after each step that goes all the way the next
    one has a tenth of it, and after one that does not, more.
    """

    def __init__(self, problem: L1Problem) -> None:
        self._level = self._most = len(DAMPINGS) - 1 if problem.risk.loss.flattens else 0

    @property
    def share(self) -> float:
        """That of the majorant in the next model."""
        return DAMPINGS[self._level]

    def goes_on(self, share: float) -> bool:
        """Take how far the last step went, 0: nowhere; return whether there is another one."""
        before = self._level
        if share == 1.0:
            self._level = max(before - 1, 0)
        elif share < 0.5:
            self._level = min(before + 1, self._most)
        return share > 0.0 or self._level > before


class _Minimiser:
    """Minimises the models of the steps over the same columns, as far as it pays."""

    def __init__(self, problem: L1Problem, columns: ColumnSet | RowSet) -> None:
        self._problem, self._columns = problem, columns
        self._share = DESCENT_SHARE
        self._Z: Columns | None = None  # the columns, once their Gram matrix is of use
        self.counts = {"sweeps": 0, "iterations": 0}

    def step(
        self, model: Model, violation: float, seed: int, point: Point
    ) -> tuple[FloatArray, float]:
        """Descend from 0 until a share of the violation there is left; return (d, e)."""
        columns = self._columns
        if not self._problem.risk.loss.separable:
            step = self._step_coupled(model, violation, point)
            if step is not None:
                return step, 0.0
        if isinstance(columns, RowSet):
            return self._step_by_row(columns, model, violation)
        descent = Descent(columns, model)
        if self._Z is not None:
            gram = self._Z.gram(model.curvature)
            descent.sweep_gram(gram, GRAM_DESCENT_SHARE * violation, PROX_NEWTON.max_sweeps)
        else:
            self._sweep(columns, descent, model, self._share * violation, seed)
        if descent.n_sweeps == 1:
            self._share = max(0.25 * self._share, SMALLEST_SHARE)
        self._count(descent)
        return descent.step, descent.offset

    def _drawn(self, model: Model) -> IndexArray:
        """Return the places of the features that are not zero, or are drawn from it.

        What Gram matrices cost grows with the square of their number; what is drawn later has its
        turn in the next step.
        """
        penalty = self._problem.penalty.of(self._columns.features)
        drawn = penalty.pull(-model.gradient) >= L1_RUN.near * penalty.l1
        return np.flatnonzero((model.u != 0) | drawn)

    def _step_coupled(self, model: Model, violation: float, point: Point) -> FloatArray | None:
        """Return a step by the second derivative itself, where rows depend on each other.

        The curvature of the rows alone bounds it, and steps by that get ahead linearly: they are
        left for where the matrix would not fit, or cannot be had.
        """
        some, columns, risk = self._drawn(model), self._columns, self._problem.risk
        if risk.loss.outputs == 1 and some.size * risk.size > PROX_NEWTON.largest_copy:
            return None
        Z = gather(self._problem.design, columns.features[some])
        taken = risk.coupling(Z, point.z)
        if taken is None:
            return None
        gram = Z.gram(model.curvature)
        gram.flat[:: some.size + 1] *= 1.0 + PROX_NEWTON.coupled  # no curvature is lost to rounding
        gram -= taken
        descent = Descent(columns.of(some), replace(model.of(some), intercept=False))
        descent.solve_gram(gram, GRAM_DESCENT_SHARE * violation, PROX_NEWTON.max_sweeps)
        self._count(descent)
        step = np.zeros(columns.size)
        step[some] = descent.step
        return step

    def _step_by_row(
        self, columns: RowSet, model: Model, violation: float
    ) -> tuple[FloatArray, float]:
        """Descend over what is drawn, with its Gram matrix."""
        some = self._drawn(model)
        chosen = columns.of(some)
        descent = Descent(chosen, model.of(some))
        gram = chosen.gram(model.curvature)
        descent.sweep_gram(gram, GRAM_DESCENT_SHARE * violation, PROX_NEWTON.max_sweeps)
        self._count(descent)
        step = np.zeros(columns.size)
        step[some] = descent.step
        return step, descent.offset

    def _count(self, descent: Descent) -> None:
        self.counts["sweeps"] += descent.n_sweeps
        self.counts["iterations"] += descent.n_iterations

    def _sweep(
        self, columns: ColumnSet, descent: Descent, model: Model, target: float, seed: int
    ) -> None:
        """Sweep; where that takes long, step on the support too, or use the Gram matrix."""
        shrinking = 1.0 / self._problem.size
        if columns.size * self._problem.size < PROX_NEWTON.small:
            sweep(descent, target, seed, shrinking)
            return
        n_sweeps, n_iterations = SWEEPS_ALONE, float(SWEEPS_ALONE)
        while not descent.sweep(target, n_sweeps, seed + descent.n_sweeps, shrinking):
            if descent.n_iterations and self._gram_is_cheap(columns):
                self._Z = gather(self._problem.design, as_slice(columns.features))
                gram = self._Z.gram(model.curvature)
                descent.sweep_gram(gram, target, PROX_NEWTON.max_sweeps)
                return
            if descent.n_sweeps >= PROX_NEWTON.max_sweeps:
                return
            descent.subspace_step(SUBSPACE_SHARE * target, int(n_iterations))
            n_sweeps, n_iterations = SWEEPS_BETWEEN, ITERATION_GROWTH * n_iterations

    def _gram_is_cheap(self, columns: ColumnSet) -> bool:
        n_rows = self._problem.size
        if columns.size > GRAM_SHARE * n_rows or columns.size * n_rows > PROX_NEWTON.largest_copy:
            return False
        return columns.gram_cost <= CHEAP_GRAM


def model_at(
    problem: L1Problem,
    columns: ColumnSet | RowSet,
    point: Point,
    limits: FloatArray,
    nu: float = 0.0,
    damping: float = 0.0,
) -> Model:
    """Return the quadratic model of the problem at a point, over the columns.

    limits : (q,) the largest step of each coordinate. damping : the share of the majorant.
    """
    curvature = problem.risk.curvature(point.z)
    if damping:
        curvature = (1.0 - damping) * curvature + damping * problem.risk.majorant(point.z)
    gradient, total, square = columns.terms(point.gradient, curvature)
    slope = float(point.gradient.sum()) if problem.risk.intercept else 0.0
    rows = problem.penalty.of(columns.features).rows()
    return Model(
        curvature, gradient, total, square, rows, point.u, limits, nu, problem.risk.intercept, slope
    )  # fmt: skip


def largest_steps(problem: L1Problem, columns: ColumnSet | RowSet) -> FloatArray:
    """Return the largest step of each coordinate: it moves margins by about LARGEST_STEP.

    From the weights of the rows and not from the curvature, which rows of large margins have not.
    Margins have the unit of the target where the loss is of residuals; squares need no guard.
    """
    risk = problem.risk
    weight, most = risk.weight, PROX_NEWTON.largest_step
    if risk.loss.quadratic:
        return np.full(columns.size, np.inf)
    if risk.loss.of_residuals:
        unit = np.sqrt(float(weight @ (risk.y * risk.y)) / float(weight.sum()))
        most *= unit if unit > 0 else 1.0
    share = 1.0 / float(weight.sum())
    _, total, square = columns.terms(weight, weight)
    size = np.sqrt(share * square)
    if risk.intercept:  # which follows every step: what counts is the deviation
        mean = np.divide(share * total, size, out=np.zeros_like(size), where=size > 0)
        size *= np.sqrt(np.maximum(1.0 - mean**2, PROX_NEWTON.rounding**2))
    steps = np.full(size.size, most)
    np.divide(most, size, out=steps, where=size > 0)
    return steps


def sweep(descent: Descent, target: float, seed: int, shrinking: float) -> None:
    """Descend to the target, or through MAX_SWEEPS; Ctrl-C is noticed between some sweeps."""
    while descent.n_sweeps < PROX_NEWTON.max_sweeps:
        at_once = min(PROX_NEWTON.sweeps_at_once, PROX_NEWTON.max_sweeps - descent.n_sweeps)
        if descent.sweep(target, at_once, seed + descent.n_sweeps, shrinking):
            return


def moved_along(
    problem: L1Problem,
    columns: ColumnSet | RowSet,
    point: Point,
    model: Model,
    d: FloatArray,
    e: float,
    *,
    search: bool = True,
) -> tuple[Point, bool, float] | None:
    """Return the point after the line search along the step d, e; None where nothing decreases.

    The second part says that the objective changed by rounding only: whether the step is one to the
    better, the violations have to tell. The third one is the share of the step that was taken.
    """
    penalty = problem.penalty.of(columns.features)
    before = penalty.value(point.u)
    slope = float(model.gradient @ d) + model.gradient_e * e
    slope += penalty.value(point.u + d) - before
    along = columns.combine(d, np.full(point.z.size, e))
    rounding = L1_RUN.precision * abs(point.value + before)
    share = 1.0
    for _ in range(MAX_HALVINGS):
        u, z = point.u + share * d, point.z + share * along
        value, gradient = problem.risk.value_gradient(z)
        change = value - point.value + penalty.value(u) - before
        exact = abs(change) <= rounding
        if not search or exact or change <= SIGMA * share * slope < 0:
            return Point(point.features, u, point.b + share * e, z, value, gradient), exact, share
        share *= 0.5
    return None

"""Inner solver `simplemkl`: reduced gradient on the block weights, a ridge problem per point.

    min_{lambda in simplex} J(lambda),
    J(lambda) = min_{u, b} 1/2 sum_j u_j^2 / (E lambda)_j + sum_i s_i f(y_i, z_i'u + b)

J is convex with dJ/dlambda_t = -1/2 ||c_{S_t}||^2, c = Z'(alpha y). A first-order method in lambda:
the baseline that the feature generating machine was published with.

Source: Rakotomamonjy, Bach, Canu and Grandvalet, SimpleMKL, JMLR 9, 2008, Algorithm 1, with
Armijo's rule for the line search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.results import Status
from ...core.types import Columns, FloatArray
from ...solvers.minimax import Assessment, BlockProblem, Inner, Recorder, State, assess
from ...solvers.ridge_fits import ridge

MAX_SIMPLEMKL = 1000
MAX_HALVINGS = 40
ARMIJO = 1e-4
RIDGE_SHARE = 0.01  # of the current gap: tolerance of the ridge problems
RIDGE_FLOOR = 1e-15  # of the relative gap: below it is rounding
TIGHTEN = 0.01  # factor of the ridge tolerance where no step decreases J
ZERO_WEIGHT = 1e-12  # block weights below this are zero
ROUNDING = 1e-15  # relative differences of objectives below this are rounding
MAX_IDLE = 10  # iterations without progress, in gap and objective, before giving up


@dataclass(frozen=True, slots=True)
class _SolvedWeights:
    """J at one lambda."""

    state: State
    point: Assessment
    gradient: FloatArray  # (T,)

    @property
    def objective(self) -> float:
        return self.point.objective


def simplemkl(blocks: BlockProblem, state: State, tol: float) -> Inner:
    """Solve the inner problem to (objective - bound) <= tol * blocks.scale.

    An iteration, a row of the history, is one reduced gradient direction; the first one solves the
    ridge problem at the given block weights.
    """
    record = Recorder(blocks, tol)
    lam = state.block_weight
    z = blocks.Z.times(state.coef)
    at = _solved(blocks, state.coef, lam, z, state.intercept)
    dual = at.point.dual
    ridges = _Ridges(blocks)
    share, idle = RIDGE_SHARE, 0
    last_gap, last_objective = np.inf, np.inf
    status = Status.MAX_ITER
    for n_iter in range(MAX_SIMPLEMKL + 1):
        if at.point.bound > record.bound:
            dual = at.point.dual
        record.add(at.objective, at.point.bound)
        if record.converged:
            status = Status.CONVERGED
            break
        decrease = last_objective - record.objective
        if record.gap < 0.9 * last_gap or decrease > ROUNDING * abs(last_objective):
            last_gap, last_objective, idle = record.gap, record.objective, 0
        else:
            idle += 1
        if idle >= MAX_IDLE:
            status = Status.STALLED
            break
        if n_iter == MAX_SIMPLEMKL:
            break

        ridges.tol = max(share * min(record.gap, 1.0), RIDGE_FLOOR)
        moved = at if n_iter else ridges.again(at)  # the first point is not a solution in u
        if n_iter:
            moved = _descend(ridges, at)
            if moved is at:  # J is too inexact for a decrease to be seen
                if ridges.tol <= RIDGE_FLOOR:
                    status = Status.STALLED
                    break
                share *= TIGHTEN
                ridges.tol = max(share * min(record.gap, 1.0), RIDGE_FLOOR)
                moved = ridges.again(at)
        if moved.objective <= at.objective:
            at = moved
    return record.answer(at.state, dual, status)


class _Ridges:
    """The ridge problems in u at given block weights."""

    def __init__(self, blocks: BlockProblem) -> None:
        self.blocks = blocks
        self.tol = RIDGE_SHARE
        self._used = np.ones(blocks.Z.shape[1], bool)
        self._columns: Columns = blocks.Z

    def at(self, lam: FloatArray, near: _SolvedWeights) -> _SolvedWeights:
        """Return J(lambda), from the dual point of a solved problem nearby."""
        d = self.blocks.membership @ lam
        return self._solve(lam, d, d * near.point.scores, near.point.intercept)

    def again(self, at: _SolvedWeights) -> _SolvedWeights:
        """Return J at the same lambda, to the present tolerance."""
        lam = at.state.block_weight
        return self._solve(lam, self.blocks.membership @ lam, at.state.coef, at.point.intercept)

    def _solve(self, lam: FloatArray, d: FloatArray, start: FloatArray, b: float) -> _SolvedWeights:
        blocks = self.blocks
        used = d > 0
        if not np.array_equal(used, self._used):
            self._used = used
            self._columns = blocks.Z if used.all() else blocks.Z.take(np.flatnonzero(used))
        answer = ridge(
            self._columns,
            blocks.risk,
            penalty=1.0 / d[used],
            start=(start[used], b),
            tol=self.tol,
        )
        u = np.zeros(d.size)
        u[used] = answer.coef
        return _solved(blocks, u, lam, answer.margins - answer.intercept, answer.intercept)


def _solved(
    blocks: BlockProblem, u: FloatArray, lam: FloatArray, z: FloatArray, b: float
) -> _SolvedWeights:
    point = assess(blocks, u, lam, z, b)
    gradient = -0.5 * (blocks.membership.T @ point.scores**2)
    return _SolvedWeights(State(u, point.intercept, lam), point, gradient)


def _descend(ridges: _Ridges, at: _SolvedWeights) -> _SolvedWeights:
    """Return a point of lower J by one reduced gradient direction, or `at` itself."""
    lam = at.state.block_weight
    reference = int(lam.argmax())
    direction = at.gradient[reference] - at.gradient
    direction[(lam <= 0) & (direction < 0)] = 0.0
    direction[reference] = 0.0
    direction[reference] = -direction.sum()
    while True:
        # To the boundary, and on along it without the weight that is used up, while J falls.
        falling = np.flatnonzero(direction < 0)
        if not falling.size:
            return at
        lam = at.state.block_weight
        ratio = -lam[falling] / direction[falling]
        first = falling[ratio.argmin()]
        longest = float(ratio.min())
        if longest <= 0.0:
            return at
        end = ridges.at(_along(lam, direction, longest, first), at)
        if end.objective >= at.objective:
            break
        at = end
        if first == reference:
            return at
        direction[first] = 0.0
        direction[reference] = 0.0
        direction[reference] = -direction.sum()

    slope = float(at.gradient @ direction)
    if slope >= 0.0:
        return at
    step, trial = longest, end
    for _ in range(MAX_HALVINGS):
        # The minimum of the parabola through the two values and the slope, within limits.
        bend = trial.objective - at.objective - step * slope
        step *= min(max(-0.5 * slope * step / bend, 0.1), 0.5) if bend > 0 else 0.5
        trial = ridges.at(_along(lam, direction, step), at)
        if trial.objective < at.objective + ARMIJO * step * slope:
            return trial
        if -step * slope <= ROUNDING * abs(at.objective):
            break
    return at


def _along(
    lam: FloatArray, direction: FloatArray, step: float, zero: np.intp | None = None
) -> FloatArray:
    """Return the block weights after a step, `zero` the index of one that it uses up."""
    lam = lam + step * direction
    if zero is not None:
        lam[zero] = 0.0
    lam[lam < ZERO_WEIGHT] = 0.0
    return np.asarray(lam / lam.sum())

"""The convex relaxation of the l0 problem on gathered columns, by a semismooth Newton method.

    min_{u, b}  1/2 ||u_A||^2 + 1/2 ||u_F||_(q)^2 + sum_i s_i f(y_i, z_i'u + b)              (R)

A are the features that are fixed in, F the free ones, q = k - |A|, and

    1/2 ||u||_(q)^2 = min { 1/2 sum_j u_j^2 / d_j : 0 <= d_j <= 1, sum_j d_j <= q }

is half the squared k-support norm: the tightest convex function below the ridge term of vectors
with at most q entries. The value is a lower bound of the l0 problem with A fixed in; its dual is
D(v) = -conjugate(v) - 1/2 (sum_A c_j^2 + S_q(c_F^2)), c = Z'v, S_q the sum of the q largest.

At the solution with threshold t, features with |c_j| > t have d_j = 1 and u_j = c_j, those with d_j
= 0 have |c_j| <= t, and in between |c_j| = t and d_j = |u_j| / t. Given which are which and the
signs in between, the penalty is quadratic, 1/2 ||u_T||^2 + (s'u_E)^2 / (2 q'). A Newton step
minimises the penalty with the quadratic model of the loss, by guesses of which are which that the
proximal point of u + c gives (`quadratic.Quadratic`). These are right near the solution; where C is
large, or columns are nearly collinear, they may be wrong everywhere else, and steps do not descend.
Then the same model is minimised by proximal steps (`quadratic.ProximalQuadratic`), as long as each
half a gap is left of the one before. At last an interior-point method comes near the solution:
Newton steps in u, b and d on

    1/2 ||u_A||^2 + 1/2 sum_F u_j^2 / d_j + sum_i s_i f(y_i, z_i'u + b)
        - mu (sum_F log d_j + sum_F log(1 - d_j) + log(q - sum_F d_j))

for mu that falls with the gap, over the columns of large scores.

Where a budget counts groups, |u_j| and |c_j| are the lengths of their parts, s is the directions
of those of u + c, and a Newton step has the curvature across these too, (I - s_g s_g') / d_g.

Where coefficients have signs, u and c count as far as they have them, and the interior-point method
has a barrier for these, too. Where they are bounded, all models are minimised by proximal steps;
where bounds change little, and of groups, the relaxation without them is solved, and its dual point
counts them.

Sources: Argyriou, Foygel and Srebro, Sparse prediction with the k-support norm, NIPS 2012; Li, Sun
and Toh, SIAM Journal on Optimization 28(1), 2018 (semismooth Newton steps for proximal problems);
Nesterov and Nemirovskii, Interior-Point Polynomial Algorithms, SIAM 1994 (barriers, central paths).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ..core.parallel import map_threads
from ..core.ranking import largest
from ..core.types import Columns, FloatArray, IndexArray
from ..data.column_sets import View, some_of, times_of_used
from ..data.gathered import DenseColumns, GrowingColumns, SparseColumns
from .bounds import DECIDED, Bound, bounded
from .problem import BudgetUnits, Risk, Singles, admitted, worths
from .quadratic import (
    RULE,
    ProximalQuadratic,
    Quadratic,
    is_inside,
    shares,
    solve_scaled,
    support_norm,
    top_squares,
    within,
)
from .ridge_fits import signed_ridge


@dataclass(frozen=True, slots=True)
class RelaxationPoint:
    """Coefficients, and what they give."""

    u: FloatArray
    b: float
    z: FloatArray  # (n,) Zu, without the intercept
    gradient: FloatArray  # (n,) of the loss in the margins
    loss: float
    objective: float


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A solution of (R)."""

    coef: FloatArray  # (p,)
    intercept: float
    share: FloatArray  # (n_units,) d_g: 1 where fixed in
    dual: FloatArray  # (n,) the dual point of the bound
    objective: float
    bound: float  # the best D(v) on the way
    into: FloatArray  # (n_units,) by how much the value rises, nearly, if a unit must be in; 0
    out: FloatArray  # where its share is 0 or 1, or that was not asked for; the same of out
    # (p,) Z'v of the dual point; None where a bound has others.
    scores: FloatArray | None = None


# The curvature of a loss in one point, which all relaxations of a search share.

# That are used of a matrix, and of dense columns; columns of earlier use are forgotten above.
MOST_BYTES, MOST_COLUMN_BYTES = 2**28, 2**30


@dataclass(frozen=True, slots=True)
class SharedCurvatureTuning:
    """Constants of the curvature that relaxations share."""

    # Rows from which on dense columns are kept and multiplied in float32: curvature only shapes
    # steps.
    many_rows: int = 1 << 12
    block: int = 256  # columns that a thread multiplies
    scaled: int = 1 << 22  # entries of columns that it scales


SHARED_CURVATURE = SharedCurvatureTuning()
TINY = float(np.finfo(float).tiny)


class SharedCurvature:
    """Z'WZ on columns that are asked for, less what a free intercept takes off."""

    def __init__(self, Z: Columns, risk: Risk, z: FloatArray | None = None) -> None:
        """Begin with no columns of Z, (n, p).

        z : (n,) margins, with the intercept, of which W is the curvature; None: 0.
        """
        self._Z, self._risk = Z, risk
        self._weight = risk.curvature(np.zeros(risk.size) if z is None else z)
        self._total = float(self._weight.sum())
        self._type = np.float32 if Z.shape[0] >= SHARED_CURVATURE.many_rows else np.float64
        self._keep(np.empty(0, np.int64))

    def _keep(self, columns: IndexArray) -> None:
        self._known, self._matrix = GrowingColumns(), np.empty((0, 0))
        self._mean, self._norm = np.empty(0), np.empty(0)  # of dense ones
        self._place = np.full(self._Z.shape[1], -1)
        if columns.size:
            self._add(columns)

    def knows(self, columns: IndexArray) -> NDArray[np.bool_]:
        """Return which columns cost nothing."""
        return self._place[columns] >= 0

    def over(self, columns: IndexArray, z: FloatArray | None = None) -> FloatArray:
        """Return the curvature in the coefficients of some columns, (k, k).

        z : (n,) margins, with the intercept, where the loss has another: W is scaled to its sum.
        """
        fresh = columns[self._place[columns] < 0]
        if fresh.size and self._is_much(self._known.size + fresh.size):
            self._keep(columns)
        elif fresh.size:
            self._add(fresh)
        places = self._place[columns]
        matrix = np.asarray(self._matrix[np.ix_(places, places)])
        if z is not None and not self._risk.loss.quadratic and self._total > 0:
            matrix *= float(self._risk.curvature(z).sum()) / self._total
        return matrix

    def _is_much(self, size: int) -> bool:
        """Return whether so many columns, and their matrix, are more than is kept."""
        n_bytes = 0 if isinstance(self._Z, SparseColumns) else np.dtype(self._type).itemsize
        return 8 * size**2 > MOST_BYTES or n_bytes * self._weight.size * size > MOST_COLUMN_BYTES

    def _add(self, fresh: IndexArray) -> None:
        some, n = self._Z.take(fresh), self._known.size
        size = n + fresh.size
        if size > len(self._matrix):  # more each time: few copies
            grown = np.empty((max(size, 3 * n // 2),) * 2)
            grown[:n, :n] = self._matrix[:n, :n]
            self._matrix = grown
        if some.array is None:
            self._add_sparse(some)
        else:
            self._add_dense(some.array)
        self._place[fresh] = np.arange(n, size)

    def _add_sparse(self, some: Columns) -> None:
        weight, n = self._weight, self._known.size
        own, cross = some.gram(weight), np.empty((0, some.shape[1]))
        if n:
            cross = self._known.columns().dot(weight[:, None] * some.dense())
        self._known.append(some)
        if self._risk.intercept and self._total > 0:
            sums = self._known.columns().dot(weight)
            cross = cross - np.outer(sums[:n], sums[n:] / self._total)
            own = own - np.outer(sums[n:], sums[n:] / self._total)
        size = self._known.size
        self._matrix[:n, n:size], self._matrix[n:size, :n] = cross, cross.T
        self._matrix[n:size, n:size] = own

    def _add_dense(self, x: FloatArray) -> None:
        """Add columns, kept with mean 0 and norm 1: no unit or offset of X overflows in float32."""
        total, n = self._total, self._known.size
        size = n + x.shape[1]
        share = self._weight / max(total, TINY)
        root, scaled = np.sqrt(share)[:, None], np.empty(x.shape, self._type, order="F")
        mean = self._mean = np.append(self._mean, np.empty(x.shape[1]))
        norm = self._norm = np.append(self._norm, np.empty(x.shape[1]))

        width = min(
            SHARED_CURVATURE.block, max(1, SHARED_CURVATURE.scaled // share.size)
        )  # the same for any number of threads

        def scale(start: int) -> None:
            columns, own = slice(start, start + width), slice(n + start, n + start + width)
            mean[own] = share @ x[:, columns]
            centred = root * (x[:, columns] - mean[own])
            norm[own] = np.linalg.norm(centred, axis=0)
            unit = np.divide(1.0, norm[own], out=np.zeros(centred.shape[1]), where=norm[own] > 0)
            scaled[:, columns] = centred * unit

        map_threads(scale, range(0, x.shape[1], width))
        self._known.append(DenseColumns(scaled))
        known, matrix = self._known.columns().dense(), self._matrix

        def multiply(start: int) -> None:
            """Multiply a block of columns, old or new, by the new ones from it on."""
            rows = slice(start, min(start + SHARED_CURVATURE.block, n if start < n else size))
            others = slice(max(start, n), size)
            block = norm[rows, None] * (known[:, rows].T @ known[:, others]) * norm[others]
            if not self._risk.intercept:
                block += np.outer(mean[rows], mean[others])
            block *= total
            matrix[rows, others] = block
            matrix[others, rows] = block.T

        map_threads(
            multiply,
            [*range(0, n, SHARED_CURVATURE.block), *range(n, size, SHARED_CURVATURE.block)],
        )


# The barrier of coefficients with signs, for the interior-point method of the relaxation.
#
#     -mu sum_j log(sigma_j u_j)    over the coefficients with a sign sigma_j of -1 or 1
#
# Coefficients stay inside of it, so that no step has to ask which of them are 0.

LEAST = 1e-3  # where coefficients begin at least, as a share of the largest


class SignBarrier:
    """The barrier without its factor mu.

    signs : (p,) of the coefficients, 0 for any.
    """

    def __init__(self, signs: np.ndarray) -> None:
        self.places = np.flatnonzero(signs)
        self._sign = signs[self.places]

    @property
    def size(self) -> int:
        """How many coefficients have a sign."""
        return int(self.places.size)

    def inside(self, u: FloatArray) -> FloatArray:
        """Return coefficients that are not 0 where they have a sign."""
        least = LEAST * (float(np.abs(u).max(initial=0.0)) or 1.0)
        u = u.copy()
        u[self.places] = self._sign * np.maximum(np.abs(u[self.places]), least)
        return u

    def value(self, u: FloatArray) -> float:
        """Return the barrier."""
        return -float(np.log(np.abs(u[self.places])).sum())

    def reach(self, u: FloatArray, move: FloatArray) -> float:
        """Return the step at which the first coefficient is 0; infinite where none comes near."""
        size, towards = np.abs(u[self.places]), -self._sign * move[self.places]
        nearer = towards > 0
        return float(np.min(size[nearer] / towards[nearer], initial=np.inf))


# The steps by which it is solved.


@dataclass(frozen=True, slots=True)
class RelaxationStepsTuning:
    """Constants of the steps that solve a relaxation."""

    max_newton: int = 8  # steps before others
    model_tol: float = 0.1  # to which a Newton step is solved, as a share of the wanted gap
    ahead: int = 10  # columns at 0 that it may move
    finest: float = 1e-10  # relative gap that rounding allows
    descent: float = 1e-4  # of a step, as a share of what the model promises
    no_descent: float = 1e-12  # relative
    most_halvings: int = 8
    among: float = 0.95  # of the strength of units that are not at 0 those have that enter
    # Of a gap is left after a model is minimised by proximal steps, or they are of no use.
    worth: float = 0.5
    growing: float = 1.1  # times the columns that are not 0: more of them have entered
    centre: float = 0.2  # mu, as a share of the one that the gap is due to
    inside: float = 0.95  # of the way to the boundary that a step goes at most
    working: int = 100  # columns of the interior-point method at first; and 5 q


RELAXATION_STEPS = RelaxationStepsTuning()
INTERIOR_STEPS, INTERIOR_HALVINGS = 100, 40


Kind = TypeVar("Kind", Quadratic, ProximalQuadratic)


class StepKind(IntEnum):
    """How the next point is found."""

    SETS = 0  # a Newton step by the sets of its solution
    PROXIMAL = 1  # one by proximal steps
    INTERIOR = 2  # a central path, after which the sets are right


class RelaxationProblem:
    """(R), the columns of the fixed units first."""

    def __init__(
        self,
        Z: Columns | View,
        units: BudgetUnits,
        risk: Risk,
        n_fixed: int,
        n_free: int,
        deadline: float,
        shared: tuple[SharedCurvature, IndexArray] | None = None,
    ) -> None:
        """Pose it.

        shared : the curvature that all points have, and what the columns are there.
        """
        self._shared = shared
        self._Z, self._units, self._risk, self._signs = Z, units, risk, units.signs
        self._deadline = deadline
        self._way = StepKind.PROXIMAL if units.most < np.inf else StepKind.SETS
        self._gap, self._used = np.inf, 0  # of the last point, and how many columns are not 0
        self._is_even = False  # whether it is no lower than the one before
        self._is_first = False  # whether the point is where the steps start
        n_own = int(units.sizes(np.arange(n_fixed)).sum())
        self._fixed, self._free = slice(0, n_own), slice(n_own, Z.shape[1])  # columns
        self._n_fixed, self._q = n_fixed, n_free
        self._free_units = units.take(np.arange(n_fixed, units.usable.size))
        self._working: IndexArray = np.empty(0, np.int64)  # units of the interior-point method
        # The last Newton step: its units, what it minimised, and where that led.
        self._last: tuple[IndexArray, Quadratic, FloatArray] | None = None

    def is_late(self) -> bool:
        return time.perf_counter() >= self._deadline

    def start(self, u: FloatArray) -> FloatArray:
        """Return where to start from coefficients, whose penalty may be infinite."""
        if self._is_bounded:
            return within(u, self._fixed.stop, self._q, self._units)
        return admitted(u, self._signs)

    def at(self, u: FloatArray, b: float) -> RelaxationPoint:
        """Return the point with coefficients u; b is where to look for its best intercept."""
        return self._point(u, times_of_used(self._Z, u), b)

    def _point(self, u: FloatArray, z: FloatArray, b: float) -> RelaxationPoint:
        b, value, gradient = self._risk.best(z, b)
        fixed = u[self._fixed]
        penalty = 0.5 * float(fixed @ fixed) + support_norm(self._lengths(u), self._q)[0]
        return RelaxationPoint(u, b, z, gradient, value, value + penalty)

    def _lengths(self, v: FloatArray) -> FloatArray:
        """Return ||v_g|| of the free units."""
        return self._free_units.strength(v[self._free])

    def bound(self, point: RelaxationPoint) -> tuple[FloatArray, FloatArray, float, float]:
        """Return the dual point of a point, its scores, the bound and the scale that gives it."""
        dual = self._risk.dual_point(point.gradient)
        scores = self._Z.dot(dual)
        value, scale = self._risk.bound(dual, 0.5 * self._worth(scores, np.inf))
        if self._is_bounded:
            value, scale = bounded(
                self._risk, dual, scale, lambda t: self._worth(t * scores, self._units.most)
            )
        return dual, scores, value, scale

    def _worth(self, scores: FloatArray, most: float) -> float:
        """Return sum_A ||c_g||^2 + S_q(||c_g||^2 of the others), or what is in their place."""
        fixed = admitted(scores[self._fixed], self._signs[self._fixed])
        return float(worths(fixed, most).sum()) + top_squares(self._lengths(scores), self._q, most)

    def share_of(self, u: FloatArray) -> FloatArray:
        """Return the d_g of a point, 1 for fixed units."""
        share = np.ones(self._units.usable.size)
        share[self._n_fixed :] = shares(self._units.strength(u)[self._n_fixed :], self._q)
        return share

    def following(
        self,
        point: RelaxationPoint,
        scores: FloatArray,
        bound: float,
        tol: float,
        cutoff: float,
        n_steps: int,
    ) -> RelaxationPoint | None:
        """Return the next point, None where rounding leaves none that is lower.

        bound : the largest so far. tol, cutoff : when the last point is reached. n_steps : so far.
        """
        wanted = RELAXATION_STEPS.model_tol * max(
            tol * abs(point.objective), point.objective - cutoff
        )
        self._is_first = n_steps == 0
        gap, used = point.objective - bound, int(np.count_nonzero(point.u))
        is_slow = (
            gap > RELAXATION_STEPS.worth * self._gap
            and used <= RELAXATION_STEPS.growing * self._used
        )
        self._gap, self._used = gap, used
        if is_slow and n_steps > 1 and self.is_rough:
            self._shared = None  # the curvature is another here
        if self._way is StepKind.SETS and n_steps >= RELAXATION_STEPS.max_newton:
            self._way = StepKind.PROXIMAL
        elif self._way is StepKind.PROXIMAL and is_slow and not self._is_bounded:
            self._way = StepKind.INTERIOR
        while self._way is not StepKind.INTERIOR:
            found = self.newton_step(point, scores, wanted)
            if found is not None or self._is_bounded:
                return found
            self._way, self._gap = StepKind(self._way + 1), np.inf
        found = self.newton_step(point, scores, wanted) if self._working.size else None
        return self.interior(point, scores, tol, cutoff) if found is None else found

    @property
    def _is_bounded(self) -> bool:
        return self._units.most < np.inf

    @property
    def is_rough(self) -> bool:
        """Whether steps have the curvature of another point: each leaves a share of the gap."""
        return self._shared is not None and not self._risk.loss.quadratic

    def newton_step(
        self, point: RelaxationPoint, scores: FloatArray, tol: float
    ) -> RelaxationPoint | None:
        """Return where a Newton step leads, solved to a gap; None where it does not descend."""
        near = self._near(point, scores)
        columns = self._units.features(near)
        some = self._gathered(columns) if self._shared is None else None
        matrix, right = self._model(point, scores, columns, some)
        last: tuple[IndexArray, Quadratic, FloatArray] | None = None
        if self._way is StepKind.PROXIMAL:
            part = self._posed(ProximalQuadratic, matrix, right, near).minimise(
                point.u[columns], tol
            )
        else:
            model = self._posed(Quadratic, matrix, right, near)
            part = model.minimise(point.u[columns], tol)
            last = near, model, part
        u = np.zeros_like(point.u)
        u[columns] = part
        z = times_of_used(self._Z, u) if some is None else some.times(part)
        step = 1.0
        for _ in range(RELAXATION_STEPS.most_halvings + 1):
            trial = self._point(
                point.u + step * (u - point.u), point.z + step * (z - point.z), point.b
            )
            if trial.objective < point.objective * (1.0 - RELAXATION_STEPS.no_descent):
                self._last, self._is_even = last, False
                return trial
            # A point as low may have a larger bound, as proximal steps come near it from aside.
            even = trial.objective <= point.objective * (1.0 + RELAXATION_STEPS.no_descent)
            if even and not self._is_even and last is None:
                self._last, self._is_even = last, True
                return trial
            step *= 0.3
        return None

    def rises(self, point: RelaxationPoint, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return by how much the value rises, nearly, if a unit has to be in, or out."""
        into, out = np.zeros(self._units.usable.size), np.zeros(self._units.usable.size)
        if self._is_bounded:  # the sets are others then
            return into, out
        if self._last is None:
            near = self._near(point, scores)
            columns = self._units.features(near)
            some = self._gathered(columns) if self._shared is None else None
            matrix, right = self._model(point, scores, columns, some)
            self._last = near, self._posed(Quadratic, matrix, right, near), point.u[columns]
        near, model, part = self._last
        into[near], out[near] = model.rises(part)
        return into, out

    def _near(self, point: RelaxationPoint, scores: FloatArray) -> IndexArray:
        """Return the units that a Newton step moves: those not at 0, and the next by score."""
        strength = self._units.strength(scores)
        size, used = strength.copy(), self._units.strength(point.u) != 0
        size[: self._n_fixed] = size[used] = np.inf
        inside = int(np.isinf(size).sum())
        ahead = max(RELAXATION_STEPS.ahead * size.size // scores.size, self._q)
        if self._way is StepKind.PROXIMAL and inside > self._n_fixed:  # many enter where these pay
            many = size >= RELAXATION_STEPS.among * float(np.median(strength[used]))
            if self._is_first:  # scores of another problem's solution: many would leave again
                many &= np.isinf(size) | self._is_known()
                size[many] += strength.max()
            ahead = min(max(ahead, int(many.sum()) - inside), max(ahead, inside))
        return np.sort(largest(size, min(inside + ahead, size.size)))

    def _is_known(self) -> NDArray[np.bool_]:
        """Return of which units the curvature costs nothing."""
        if self._shared is None:
            return np.zeros(self._units.usable.size, bool)
        shared, names = self._shared
        return np.asarray(self._units.strength(np.where(shared.knows(names), 0.0, 1.0)) == 0.0)

    def _model(
        self, point: RelaxationPoint, scores: FloatArray, columns: IndexArray, some: Columns | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the curvature in some coefficients, and minus the gradient where all are 0.

        scores : minus the gradient at the point, exact where H is rounded: steps by such a model
        end at the solution. some : the columns, where no curvature is shared.
        """
        if some is not None:
            matrix = self._curvature(point, some)
        else:
            assert self._shared is not None
            shared, names = self._shared
            matrix = shared.over(names[columns], point.z + point.b)
        return matrix, matrix @ point.u[columns] + scores[columns]

    def _curvature(self, point: RelaxationPoint, some: Columns) -> FloatArray:
        """Return the curvature of the loss in the coefficients of some columns."""
        risk, z = self._risk, point.z + point.b
        if risk.loss.outputs > 1:
            matrix = risk.hessian(some, point.z)
            assert matrix is not None  # outputs share their rows
            return matrix
        weight = risk.curvature(z)
        matrix, total = some.gram(weight), float(weight.sum())
        coupling = risk.coupling(some, z)
        if coupling is not None:
            matrix -= coupling
        elif risk.intercept and total > 0:
            sums = some.dot(weight)
            matrix -= np.outer(sums, sums / total)
        return matrix

    def _gathered(self, columns: IndexArray) -> Columns:
        """Return some columns, of one output dense."""
        some = self._Z.take(columns)
        return some if self._risk.loss.outputs > 1 else DenseColumns(some.dense())

    def _posed(
        self, kind: type[Kind], matrix: FloatArray, right: FloatArray, units: IndexArray
    ) -> Kind:
        return kind(matrix, right, self._units.take(units), self._n_fixed, self._q)

    def interior(
        self, point: RelaxationPoint, scores: FloatArray, tol: float, cutoff: float
    ) -> RelaxationPoint | None:
        """Return a point of relative gap `tol` over columns of large scores, or of a bound above.

        The columns are those of the call before and more, all at last; None where they are the
        same, where no step descends, or where no free feature can be in.
        """
        if not self._q or self._units.usable.size == self._n_fixed or self._is_bounded:
            return None  # there are no shares to be found
        size = self._units.strength(scores)
        size[: self._n_fixed] = np.inf
        size[self._units.strength(point.u) != 0] = np.inf
        size[self._working] = np.inf
        inside = int(np.isinf(size).sum())
        many = inside + max(RELAXATION_STEPS.working * size.size // scores.size, 5 * self._q)
        working = np.sort(largest(size, min(many, size.size)))
        if working.size == self._working.size:
            return None
        self._working = working
        columns = self._units.features(working)
        some = self._gathered(columns)
        part = RelaxationProblem(
            some, self._units.take(working), self._risk, self._n_fixed, self._q,
            self._deadline,
        )  # fmt: skip
        self._last = None
        found = part.central_path(some, part.at(point.u[columns], point.b), 0.5 * tol, cutoff)
        u = np.zeros(point.u.size)
        u[columns] = found.u
        return replace(found, u=u)

    def central_path(
        self, Z: Columns, point: RelaxationPoint, tol: float, cutoff: float
    ) -> RelaxationPoint:
        """Return a point of relative gap `tol`, or of a bound above the cutoff, or the last one.

        Z : the columns of the problem.
        """
        q, free = self._q, self._free
        units = self._free_units
        share = self.share_of(point.u)[self._n_fixed :]
        share = 0.5 * (share + q / share.size)
        share *= RELAXATION_STEPS.inside * min(1.0, q / float(share.sum()))
        best, mu = -np.inf, np.inf
        signed = SignBarrier(self._signs)
        if signed.size:
            point = self.at(signed.inside(point.u), point.b)

        def barrier(d: FloatArray) -> float:
            return -mu * float(np.log(d).sum() + np.log1p(-d).sum() + np.log(q - d.sum()))

        def merit(at: RelaxationPoint, d: FloatArray) -> float:
            fixed, u = at.u[self._fixed], at.u[free]
            ridge = float(fixed @ fixed + (units.sums(u**2) / d).sum())
            smooth = at.loss + 0.5 * ridge
            return smooth + barrier(d) + mu * signed.value(at.u)

        for _ in range(INTERIOR_STEPS):
            _, scores, bound, _ = self.bound(point)
            best = max(best, bound)
            gap = point.objective - best
            if best > cutoff or gap <= tol * abs(point.objective) or self.is_late():
                break
            mu = min(mu, RELAXATION_STEPS.centre * gap / (2 * share.size + 1 + signed.size))
            u, d, room = point.u[free], share, q - float(share.sum())
            slope = -scores
            slope[self._fixed] += point.u[self._fixed]
            slope[free] += u / units.spread(d)
            slope[signed.places] -= mu / point.u[signed.places]
            size = units.strength(u)
            slope_d = -0.5 * (size / d) ** 2 - mu / d + mu / (1.0 - d) + mu / room
            # The curvature in d is diag(bend) + mu / room^2 11'; it is eliminated.
            wall = mu / d**2 + mu / (1.0 - d) ** 2
            bend = size**2 / d**3 + wall
            across = u / units.spread(d**2)
            joint = mu / room**2 / (1.0 + mu / room**2 * float((1.0 / bend).sum()))

            def eliminated(
                v: FloatArray, bend: FloatArray = bend, joint: float = joint
            ) -> FloatArray:
                """Return the product of that curvature's inverse and v."""
                return np.asarray(v / bend - joint * float((v / bend).sum()) / bend)

            matrix = self._curvature(point, Z)
            pull = across / units.spread(bend)
            matrix[free, free] += joint * np.outer(pull, pull)
            diagonal = np.einsum("ii->i", matrix)
            diagonal[self._fixed] += 1.0
            diagonal[free] += units.spread(wall / bend / d)
            diagonal[signed.places] += mu / point.u[signed.places] ** 2
            long = units.spread(np.where(size > 0, size, 1.0))
            units.bend_across(matrix[free, free], u / long, 1.0 / d - wall / bend / d)
            right = -slope
            right[free] -= across * units.spread(eliminated(slope_d))
            try:
                move = solve_scaled(matrix, right)
            except np.linalg.LinAlgError:
                break
            move_d = eliminated(units.sums(across * move[free]) - slope_d)
            with np.errstate(divide="ignore"):
                limits = np.where(move_d < 0, -d, 1.0 - d) / move_d
            step = min(
                1.0,
                RELAXATION_STEPS.inside * float(np.min(limits, initial=np.inf, where=move_d != 0)),
            )
            step = min(step, RELAXATION_STEPS.inside * signed.reach(point.u, move))
            if move_d.sum() > 0:
                step = min(step, RELAXATION_STEPS.inside * room / float(move_d.sum()))
            descent = float(slope @ move + slope_d @ move_d)
            value, along = merit(point, d), Z.times(move)
            for _ in range(INTERIOR_HALVINGS):
                trial = self._point(point.u + step * move, point.z + step * along, point.b)
                if (
                    merit(trial, d + step * move_d)
                    <= value + RELAXATION_STEPS.descent * step * descent
                ):
                    break
                step *= 0.5
            else:  # rounding
                break
            point, share = trial, d + step * move_d
        return point


# The relaxation, and what a dual point decides, by kernels: features by themselves.

# Entries of the columns; with more of them passes take the time, which BLAS makes on all threads,
# and the clock has to be asked between steps.
MOST_ENTRIES = 4_000_000
# Columns that a step moves: beyond them the time is that of factors, LAPACK's job. Where threads go
# on from nodes by a kernel, a node that is left to Python costs more than slower factors.
MOST_MOVED, MOST_MOVED_GROWN = 160, 400
MOST_STORED = 2**31 - 1  # of the matrix that sparse ones are in: its places are int32


def is_compiled(Z: Columns, columns: IndexArray, units: BudgetUnits, risk: Risk) -> bool:
    """Return whether the kernel takes a problem."""
    return is_plain(units, risk) and entries(Z, columns) <= MOST_ENTRIES


def is_plain(units: BudgetUnits, risk: Risk) -> bool:
    """Return whether kernels know the units and the loss."""
    return (
        isinstance(units, Singles)
        and not units.signed
        and risk.loss.outputs == 1
        and risk.loss.separable
        and risk.loss.kernel >= 0
    )


def entries(Z: Columns, columns: IndexArray) -> float:
    """Return how many entries some columns have at most, infinity where the kernel takes none."""
    if isinstance(Z, SparseColumns):
        stored = Z.storage[1].size
        if stored <= MOST_ENTRIES:
            return stored
        return float(Z.counts[columns].sum()) if stored <= MOST_STORED else np.inf
    by_column = isinstance(Z, DenseColumns) and Z.array.flags.f_contiguous
    return Z.shape[0] * columns.size if by_column else np.inf


def newton_steps(
    Z: Columns,
    columns: IndexArray,
    risk: Risk,
    n_fixed: int,
    n_free: int,
    start: tuple[FloatArray, float],
    aim: tuple[float, float],
    most: int,
) -> tuple[Relaxed, bool]:
    """Take so many Newton steps at most, as `relax` does; return where they lead.

    At last whether that is a solution: the gap, or a bound above the cutoff, is reached.

    columns : those of Z that count. start : (u, b). aim : tol and cutoff there.
    """
    u, dual = start[0].astype(np.float64), np.empty(risk.size)
    scores, share, into, out = np.empty((4, u.size))
    b, objective, bound, done = _kernels.relax(
        stored(Z), columns, np.ascontiguousarray(risk.y), np.ascontiguousarray(risk.weight),
        risk.loss.kernel, risk.loss.kernel_parameters, risk.intercept, start[1], n_fixed, n_free,
        aim, rule(most, MOST_MOVED), u, dual, scores, share, into, out,
    )  # fmt: skip
    return Relaxed(u, b, share, dual, objective, bound, into, out, scores), done


def rule(most: int, moved: int) -> _kernels.RelaxationRule:
    """Return how kernels take so many Newton steps at most, of so many columns each."""
    return (
        (most, RELAXATION_STEPS.most_halvings, RELAXATION_STEPS.ahead, moved),
        (RELAXATION_STEPS.model_tol, RELAXATION_STEPS.finest),
        RULE,
    )


def decided(
    risk: Risk,
    dual: FloatArray,
    scores: FloatArray,
    k: int,
    n_fixed: int,
    upper: float,
    units: BudgetUnits,
) -> Bound | None:
    """Return what `bound_at` does, the first n_fixed features forced; None: no kernel knows it."""
    if not is_plain(units, risk) or units.bounded:
        return None
    limit = upper + DECIDED * abs(upper)
    dropped, fixed = np.empty((2, scores.size), bool)
    value, scale = _kernels.decide(
        dual, scores, np.ascontiguousarray(risk.y), np.ascontiguousarray(risk.weight),
        risk.loss.kernel, risk.loss.kernel_parameters, k, n_fixed, limit, dropped.view(np.uint8),
        fixed.view(np.uint8),
    )  # fmt: skip
    return Bound(value, scale * dual, dropped, fixed)


def stored(Z: Columns) -> tuple[np.ndarray, ...]:
    """Return the arrays of the columns as the kernel takes them."""
    if not isinstance(Z, SparseColumns):
        return Z.storage
    indptr, indices, data = Z.storage
    return indptr.astype(np.int32, copy=False), indices, data.astype(np.float64, copy=False)


MAX_ITERATIONS = 200
SLACK = 0.05  # of what is missing to the cutoff: a gap that is left where every step leaves a share


def relax(
    Z: Columns,
    units: BudgetUnits,
    risk: Risk,
    n_fixed: int,
    n_free: int,
    *,
    columns: IndexArray | None = None,
    start: tuple[FloatArray, float] | None = None,
    tol: float = 1e-4,
    cutoff: float = np.inf,
    max_iter: int = MAX_ITERATIONS,
    deadline: float = np.inf,
    ahead: bool = False,
    shared: SharedCurvature | None = None,
    loose: bool = False,
) -> Relaxed:
    """Solve (R) to a certified gap of `tol` relative to the objective.

    Parameters
    ----------
    Z : (n, p) gathered columns, unit by unit, those of the fixed units first.
    columns : those of Z that count, in this order; all if None.
    units : of these columns, in their order.
    n_fixed : |A|.
    n_free : q, at most the number of free units; all of them enter where it is equal.
    start : (u, b) to start from.
    cutoff : stop as soon as the bound is above this value; where the objective is above, the
        tolerance is that of rounding.
    max_iter : steps; the bound is one after any of them.
    deadline : no further step begins when `time.perf_counter` is there.
    ahead : whether to say what dividing by a unit would bring, where the bound is not above.
    shared : the curvature of the columns of Z that other relaxations have, too.
    loose : whether the solution may be that without bounds on coefficients, where it is sooner had.
    """
    columns = np.arange(Z.shape[1]) if columns is None else columns
    u, b = (np.zeros(columns.size), 0.0) if start is None else start
    best, best_dual, begin = -np.inf, np.zeros(risk.size), 0
    best_scores = None
    nothing_to_choose = n_free == units.usable.size - n_fixed
    inside = loose or is_inside(u, n_fixed, n_free, units)
    if inside and is_compiled(Z, columns, units, risk):
        begin = min(RELAXATION_STEPS.max_newton, max_iter - 1)
        found, done = newton_steps(Z, columns, risk, n_fixed, n_free, (u, b), (tol, cutoff), begin)
        # A bound of all models is one of bounded ones, and their solution where it is inside.
        sure = loose or found.bound > cutoff or is_inside(found.coef, n_fixed, n_free, units)
        if done and sure:
            return found
        u, b, best, best_dual = found.coef, found.intercept, found.bound, found.dual
        if isinstance(Z, SparseColumns):  # where models of many columns are cheap
            begin, max_iter = 0, max_iter - begin
        best_scores = found.scores
    known = None if shared is None else (shared, columns)
    problem = RelaxationProblem(some_of(Z, columns), units, risk, n_fixed, n_free, deadline, known)
    point = problem.at(problem.start(u), b)
    if nothing_to_choose:
        fit = signed_ridge(
            Z.take(columns), risk, units.signs, start=(u, point.b), tol=tol, of_value=True,
            cutoff=cutoff,
        )  # fmt: skip
        point = problem.at(fit.coef, fit.intercept)  # above the cutoff signs may be wrong
    for n_steps in range(begin, max_iter):
        dual, scores, bound, scale = problem.bound(point)
        if bound > best:
            best, best_dual, best_scores = bound, scale * dual, scale * scores
        # A value above the cutoff may still be shown to be there.
        wanted = tol if point.objective <= cutoff else RELAXATION_STEPS.finest
        enough = wanted * abs(point.objective)
        if cutoff < np.inf and problem.is_rough:
            enough = max(enough, SLACK * (cutoff - point.objective))
        done = best > cutoff or point.objective - best <= enough
        if done or problem.is_late():
            break
        following = problem.following(point, scores, best, wanted, cutoff, n_steps)
        if following is None:  # rounding: no decrease is left
            break
        point = following
    share = problem.share_of(point.u)
    into = out = np.zeros(share.size)
    if ahead and best <= cutoff and not problem.is_late():
        into, out = problem.rises(point, scores)
    return Relaxed(
        point.u, point.b, share, best_dual, point.objective, best, into, out, best_scores
    )

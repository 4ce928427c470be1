"""The steps by which the relaxation of the l0 problem is solved: see `pool.relaxation`."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...core.ranking import largest
from ...core.types import Columns, FloatArray, IndexArray
from ...data.columns import DenseColumns
from ...data.views import View, times_of_used
from ..risk import Risk
from ..signs import admitted
from ..units import Units, worths
from .bounds import bounded
from .proximal import ProximalQuadratic, within
from .quadratic import Quadratic, solve_scaled
from .relaxed import Point, shares_of
from .shared_curvature import SharedCurvature
from .sign_barrier import SignBarrier
from .support_norm import support_norm, top_squares


@dataclass(frozen=True, slots=True)
class RelaxationStepsTuning:
    """Constants, each with what it was measured for."""

    max_newton: int = 8  # steps before others
    model_tol: float = 0.1  # to which a Newton step is solved, as a share of the wanted gap
    ahead: int = 10  # columns at 0 that it may move
    finest: float = 1e-10  # relative gap that rounding allows
    descent: float = 1e-4  # of a step, as a share of what the model promises
    no_descent: float = 1e-12  # relative
    most_halvings: int = 8
    among: float = 0.95  # of the strength of units that are not at 0 those have that enter
    worth: float = (
        0.5  # of a gap is left after a model is minimised by proximal steps, or they are of no use
    )
    growing: float = 1.1  # times the columns that are not 0: more of them have entered
    centre: float = 0.2  # mu, as a share of the one that the gap is due to
    inside: float = 0.95  # of the way to the boundary that a step goes at most
    working: int = 100  # columns of the interior-point method at first; and 5 q


RELAXATION_STEPS = RelaxationStepsTuning()
INTERIOR_STEPS, INTERIOR_HALVINGS = 100, 40


Kind = TypeVar("Kind", Quadratic, ProximalQuadratic)


class Way(IntEnum):
    """How the next point is found."""

    SETS = 0  # a Newton step by the sets of its solution
    PROXIMAL = 1  # one by proximal steps
    INTERIOR = 2  # a central path, after which the sets are right


class Problem:
    """The relaxation of `pool.relaxation`, the columns of the fixed units first."""

    def __init__(
        self,
        Z: Columns | View,
        units: Units,
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
        self._way = Way.PROXIMAL if units.most < np.inf else Way.SETS
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
        """Return whether the time is up."""
        return time.perf_counter() >= self._deadline

    def start(self, u: FloatArray) -> FloatArray:
        """Return where to start from coefficients, whose penalty may be infinite."""
        if self._is_bounded:
            return within(u, self._fixed.stop, self._q, self._units)
        return admitted(u, self._signs)

    def at(self, u: FloatArray, b: float) -> Point:
        """Return the point with coefficients u; b is where to look for its best intercept."""
        return self._point(u, times_of_used(self._Z, u), b)

    def _point(self, u: FloatArray, z: FloatArray, b: float) -> Point:
        b, value, gradient = self._risk.best(z, b)
        fixed = u[self._fixed]
        penalty = 0.5 * float(fixed @ fixed) + support_norm(self._lengths(u), self._q)[0]
        return Point(u, b, z, gradient, value, value + penalty)

    def _lengths(self, v: FloatArray) -> FloatArray:
        """Return ||v_g|| of the free units."""
        return self._free_units.strength(v[self._free])

    def bound(self, point: Point) -> tuple[FloatArray, FloatArray, float, float]:
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
        return shares_of(u, self._units, self._n_fixed, self._q)

    def following(
        self,
        point: Point,
        scores: FloatArray,
        bound: float,
        tol: float,
        cutoff: float,
        n_steps: int,
    ) -> Point | None:
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
        if self._way is Way.SETS and n_steps >= RELAXATION_STEPS.max_newton:
            self._way = Way.PROXIMAL
        elif self._way is Way.PROXIMAL and is_slow and not self._is_bounded:
            self._way = Way.INTERIOR
        while self._way is not Way.INTERIOR:
            found = self.newton_step(point, scores, wanted)
            if found is not None or self._is_bounded:
                return found
            self._way, self._gap = Way(self._way + 1), np.inf
        found = self.newton_step(point, scores, wanted) if self._working.size else None
        return self.interior(point, scores, tol, cutoff) if found is None else found

    @property
    def _is_bounded(self) -> bool:
        """Whether coefficients are."""
        return self._units.most < np.inf

    @property
    def is_rough(self) -> bool:
        """Whether steps have the curvature of another point: each leaves a share of the gap."""
        return self._shared is not None and not self._risk.loss.quadratic

    def newton_step(self, point: Point, scores: FloatArray, tol: float) -> Point | None:
        """Return where a Newton step leads, solved to a gap; None where it does not descend."""
        near = self._near(point, scores)
        columns = self._units.features(near)
        some = self._gathered(columns) if self._shared is None else None
        matrix, right = self._model(point, scores, columns, some)
        last: tuple[IndexArray, Quadratic, FloatArray] | None = None
        if self._way is Way.PROXIMAL:
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

    def rises(self, point: Point, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
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

    def _near(self, point: Point, scores: FloatArray) -> IndexArray:
        """Return the units that a Newton step moves: those not at 0, and the next by score."""
        strength = self._units.strength(scores)
        size, used = strength.copy(), self._units.strength(point.u) != 0
        size[: self._n_fixed] = size[used] = np.inf
        inside = int(np.isinf(size).sum())
        ahead = max(RELAXATION_STEPS.ahead * size.size // scores.size, self._q)
        if self._way is Way.PROXIMAL and inside > self._n_fixed:  # many enter where these pay
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
        self, point: Point, scores: FloatArray, columns: IndexArray, some: Columns | None
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

    def _curvature(self, point: Point, some: Columns) -> FloatArray:
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
        """Return (R) over some units with a quadratic model of the loss."""
        return kind(matrix, right, self._units.take(units), self._n_fixed, self._q)

    def interior(self, point: Point, scores: FloatArray, tol: float, cutoff: float) -> Point | None:
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
        part = Problem(
            some, self._units.take(working), self._risk, self._n_fixed, self._q,
            self._deadline,
        )  # fmt: skip
        self._last = None
        found = part.central_path(some, part.at(point.u[columns], point.b), 0.5 * tol, cutoff)
        u = np.zeros(point.u.size)
        u[columns] = found.u
        return replace(found, u=u)

    def central_path(self, Z: Columns, point: Point, tol: float, cutoff: float) -> Point:
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

        def merit(at: Point, d: FloatArray) -> float:
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

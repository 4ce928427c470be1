"""The convex relaxation of the l0 problem on gathered columns, by a semismooth Newton method.

    min_{u, b}  1/2 ||u_A||^2 + 1/2 ||u_F||_(q)^2 + sum_i s_i f(y_i, z_i'u + b)              (R)

A are the features that are fixed in, F the free ones, q = k - |A|, and

    1/2 ||u||_(q)^2 = min { 1/2 sum_j u_j^2 / d_j : 0 <= d_j <= 1, sum_j d_j <= q }

is half the squared k-support norm: the tightest convex function below the ridge term of vectors
with at most q entries. The value is a lower bound of the l0 problem with A fixed in; its dual is
D(v) = -conjugate(v) - 1/2 (sum_A c_j^2 + S_q(c_F^2)), c = Z'v, S_q the sum of the q largest.

At the solution with threshold t, features with |c_j| > t have d_j = 1 and u_j = c_j, those with
d_j = 0 have |c_j| <= t, and in between |c_j| = t and d_j = |u_j| / t. Given which are which and the
signs in between, the penalty is quadratic, 1/2 ||u_T||^2 + (s'u_E)^2 / (2 q'). A Newton step
minimises the penalty with the quadratic model of the loss, by guesses of which are which that the
proximal point of u + c gives (`pool.quadratic`). These are right near the solution; where C is
large, or columns are nearly collinear, they may be wrong everywhere else, and steps do not descend.
Then an interior-point method comes near the solution: Newton steps in u, b and d on

    1/2 ||u_A||^2 + 1/2 sum_F u_j^2 / d_j + sum_i s_i f(y_i, z_i'u + b)
        - mu (sum_F log d_j + sum_F log(1 - d_j) + log(q - sum_F d_j))

for mu that falls with the gap, over the columns of large scores.

Where a budget counts groups, |u_j| and |c_j| are the lengths of their parts, s is the directions
of those of u + c, and a Newton step has the curvature across these too, (I - s_g s_g') / d_g.

Where coefficients have signs, u and c count as far as they have them, and the interior-point method
has a barrier for these, too. Where they are bounded, see `pool.bounded`, steps are Newton's alone.

Sources: Argyriou, Foygel and Srebro, Sparse prediction with the k-support norm, NIPS 2012; Li, Sun
and Toh, SIAM Journal on Optimization 28(1), 2018 (semismooth Newton steps for proximal problems);
Nesterov and Nemirovskii, Interior-Point Polynomial Algorithms, SIAM 1994 (barriers, central paths).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ..._typing import Columns, FloatArray, IndexArray
from ...designs._columns import DenseColumns
from ...ordering import largest
from ..risk import Risk
from ..signs import admitted
from ..units import Units
from .bounded import BoundedQuadratic, within
from .bounds import bounded
from .compiled_relaxation import is_compiled, newton_steps
from .expansion import Expansion
from .quadratic import Quadratic, solve_scaled
from .relaxed import Relaxed, shares_of
from .sign_barrier import SignBarrier
from .signed_ridge import signed_ridge
from .support_norm import support_norm, top_squares, worths

MAX_ITERATIONS = 200
MAX_NEWTON = 8  # steps before the interior-point method
MODEL_TOL = 0.1  # to which a Newton step is solved, as a share of the wanted gap
AHEAD = 10  # columns at 0 that it may move
FINEST = 1e-10  # relative gap that rounding allows
DESCENT = 1e-4  # of a step, as a share of what the model promises
MOST_HALVINGS = 8
INTERIOR_STEPS, INTERIOR_HALVINGS = 100, 40
CENTRE = 0.2  # mu, as a share of the one that the gap is due to
INSIDE = 0.95  # of the way to the boundary that a step goes at most
WORKING = 100  # columns of the interior-point method at first; and 5 q


def relax(
    Z: Columns,
    units: Units,
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
    """
    columns = np.arange(Z.shape[1]) if columns is None else columns
    u, b = (np.zeros(columns.size), 0.0) if start is None else start
    best, best_dual, begin = -np.inf, np.zeros(risk.size), 0
    nothing_to_choose = n_free == units.usable.size - n_fixed
    if not nothing_to_choose and is_compiled(Z, columns, units, risk):
        begin = min(MAX_NEWTON, max_iter - 1)
        most, tolerances = (begin, MOST_HALVINGS, AHEAD), (MODEL_TOL, FINEST)
        found, done = newton_steps(
            Z, columns, units, risk, n_fixed, n_free, (u, b), (tol, cutoff), most, tolerances
        )
        if done:
            return found
        u, b, best, best_dual = found.coef, found.intercept, found.bound, found.dual
    Z = Z.take(columns)
    problem = _Problem(Z, units, risk, n_fixed, n_free, deadline)
    point = problem.at(problem.start(u), b)
    if nothing_to_choose:
        fit = signed_ridge(
            Z, risk, units.signs, start=(u, point.b), tol=tol, of_value=True, cutoff=cutoff
        )
        point = problem.at(fit.coef, fit.intercept)  # above the cutoff signs may be wrong
    for n_steps in range(begin, max_iter):
        dual, scores, bound, scale = problem.bound(point)
        if bound > best:
            best, best_dual = bound, scale * dual
        # A value above the cutoff may still be shown to be there.
        wanted = tol if point.objective <= cutoff else FINEST
        done = best > cutoff or point.objective - best <= wanted * abs(point.objective)
        if done or problem.is_late():
            break
        following = None
        if n_steps < MAX_NEWTON or problem.n_working or problem.is_bounded:
            gap = max(wanted * abs(point.objective), point.objective - cutoff)
            following = problem.newton_step(point, scores, MODEL_TOL * gap)
        if following is None:
            following = problem.interior(point, scores, wanted, cutoff)
        if following is None:  # rounding: no decrease is left
            break
        point = following
    share = problem.share_of(point.u)
    into = out = np.zeros(share.size)
    if ahead and best <= cutoff and not problem.is_late():
        into, out = problem.rises(point, scores)
    return Relaxed(point.u, point.b, share, best_dual, point.objective, best, into, out)


@dataclass(frozen=True, slots=True)
class _Point:
    u: FloatArray
    b: float
    z: FloatArray  # (n,) Zu, without the intercept
    gradient: FloatArray  # (n,) of the loss in the margins
    loss: float
    objective: float


class _Problem:
    def __init__(
        self, Z: Columns, units: Units, risk: Risk, n_fixed: int, n_free: int, deadline: float
    ) -> None:
        self._Z, self._units, self._risk, self._signs = Z, units, risk, units.signs
        self._deadline = deadline
        n_own = int(units.sizes(np.arange(n_fixed)).sum())
        self._fixed, self._free = slice(0, n_own), slice(n_own, Z.shape[1])  # columns
        self._n_fixed, self._q = n_fixed, n_free
        self._free_units = units.take(np.arange(n_fixed, units.usable.size))
        self._working: IndexArray = np.empty(0, np.int64)  # units of the interior-point method
        # The last Newton step: its units, what it minimised, and where that led.
        self._last: tuple[IndexArray, Quadratic | BoundedQuadratic, FloatArray] | None = None

    def is_late(self) -> bool:
        """Return whether the time is up."""
        return time.perf_counter() >= self._deadline

    @property
    def n_working(self) -> int:
        """How many units the interior-point method has had so far."""
        return int(self._working.size)

    @property
    def is_bounded(self) -> bool:
        """Whether coefficients are."""
        return self._units.most < np.inf

    def start(self, u: FloatArray) -> FloatArray:
        """Return where to start from coefficients, whose penalty may be infinite."""
        if self.is_bounded:
            return within(u, self._fixed.stop, self._q, self._units)
        return admitted(u, self._signs)

    def at(self, u: FloatArray, b: float) -> _Point:
        """Return the point with coefficients u; b is where to look for its best intercept."""
        used = np.flatnonzero(u)
        return self._point(u, self._Z.take(used).times(u[used]), b)

    def _point(self, u: FloatArray, z: FloatArray, b: float) -> _Point:
        b, value, gradient = self._risk.best(z, b)
        fixed = u[self._fixed]
        penalty = 0.5 * float(fixed @ fixed) + support_norm(self._lengths(u), self._q)[0]
        return _Point(u, b, z, gradient, value, value + penalty)

    def _lengths(self, v: FloatArray) -> FloatArray:
        """Return ||v_g|| of the free units."""
        return self._free_units.strength(v[self._free])

    def bound(self, point: _Point) -> tuple[FloatArray, FloatArray, float, float]:
        """Return the dual point of a point, its scores, the bound and the scale that gives it."""
        dual = self._risk.dual_point(point.gradient)
        scores = self._Z.dot(dual)
        value, scale = self._risk.bound(dual, 0.5 * self._worth(scores, np.inf))
        if self.is_bounded:
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

    def newton_step(self, point: _Point, scores: FloatArray, tol: float) -> _Point | None:
        """Return where a Newton step leads, solved to a gap; None where it does not descend."""
        near = self._near(point, scores)
        columns = self._units.features(near)
        some = self._gathered(columns)
        model = self._quadratic(point, near, columns, some)
        part = model.minimise(point.u[columns], tol)
        u, z = np.zeros_like(point.u), some.times(part)
        u[columns] = part
        step = 1.0
        for _ in range(MOST_HALVINGS + 1):
            trial = self._point(
                point.u + step * (u - point.u), point.z + step * (z - point.z), point.b
            )
            if trial.objective < point.objective * (1.0 - 1e-12):
                self._last = near, model, part
                return trial
            step *= 0.3
        return None

    def rises(self, point: _Point, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return by how much the value rises, nearly, if a unit has to be in, or out."""
        if self._last is None:
            near = self._near(point, scores)
            columns = self._units.features(near)
            model = self._quadratic(point, near, columns, self._gathered(columns))
            self._last = near, model, point.u[columns]
        near, model, part = self._last
        into, out = np.zeros(self._units.usable.size), np.zeros(self._units.usable.size)
        into[near], out[near] = model.rises(part)
        return into, out

    def _near(self, point: _Point, scores: FloatArray) -> IndexArray:
        """Return the units that a Newton step moves: those not at 0, and the next by score."""
        size = self._units.strength(scores)
        size[: self._n_fixed] = np.inf
        size[self._units.strength(point.u) != 0] = np.inf
        inside = int(np.isinf(size).sum())
        # A bound spreads what it takes over many features.
        ahead = max(AHEAD * size.size // scores.size, self._q, inside * self.is_bounded)
        return np.sort(largest(size, min(inside + ahead, size.size)))

    def _model(
        self, point: _Point, columns: IndexArray, some: Columns
    ) -> tuple[FloatArray, FloatArray]:
        at = Expansion(self._Z, self._risk, point.u, point.z, point.b, point.gradient)
        return at.over(columns, some)

    def _gathered(self, columns: IndexArray) -> Columns:
        """Return some columns, of one output dense."""
        some = self._Z.take(columns)
        return some if self._risk.loss.outputs > 1 else DenseColumns(some.dense())

    def _quadratic(
        self, point: _Point, units: IndexArray, columns: IndexArray, some: Columns
    ) -> Quadratic | BoundedQuadratic:
        """Return (R) over some units, and their columns, with the quadratic model of the loss."""
        matrix, right = self._model(point, columns, some)
        kind = BoundedQuadratic if self.is_bounded else Quadratic
        return kind(matrix, right, self._units.take(units), self._n_fixed, self._q)

    def interior(
        self, point: _Point, scores: FloatArray, tol: float, cutoff: float
    ) -> _Point | None:
        """Return a point of relative gap `tol` over columns of large scores, or of a bound above.

        The columns are those of the call before and more, all at last; None where they are the
        same, where no step descends, or where no free feature can be in.
        """
        if not self._q or self._units.usable.size == self._n_fixed or self.is_bounded:
            return None  # there are no shares to be found
        size = self._units.strength(scores)
        size[: self._n_fixed] = np.inf
        size[self._units.strength(point.u) != 0] = np.inf
        size[self._working] = np.inf
        many = self.n_working + max(WORKING * size.size // scores.size, 5 * self._q)
        working = np.sort(largest(size, min(many, size.size)))
        if working.size == self.n_working:
            return None
        self._working = working
        columns = self._units.features(working)
        part = _Problem(
            self._gathered(columns), self._units.take(working), self._risk, self._n_fixed, self._q,
            self._deadline,
        )  # fmt: skip
        self._last = None
        found = part.central_path(part.at(point.u[columns], point.b), 0.5 * tol, cutoff)
        u = np.zeros(point.u.size)
        u[columns] = found.u
        return replace(found, u=u)

    def central_path(self, point: _Point, tol: float, cutoff: float) -> _Point:
        """Return a point of relative gap `tol`, or of a bound above the cutoff, or the last one."""
        q, free, Z = self._q, self._free, self._Z
        everything = np.arange(Z.shape[1])
        units = self._free_units
        share = self.share_of(point.u)[self._n_fixed :]
        share = 0.5 * (share + q / share.size)
        share *= INSIDE * min(1.0, q / float(share.sum()))
        best, mu = -np.inf, np.inf
        signed = SignBarrier(self._signs)
        if signed.size:
            point = self.at(signed.inside(point.u), point.b)

        def barrier(d: FloatArray) -> float:
            return -mu * float(np.log(d).sum() + np.log1p(-d).sum() + np.log(q - d.sum()))

        def merit(at: _Point, d: FloatArray) -> float:
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
            mu = min(mu, CENTRE * gap / (2 * share.size + 1 + signed.size))
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

            matrix, _ = self._model(point, everything, Z)
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
            step = min(1.0, INSIDE * float(np.min(limits, initial=np.inf, where=move_d != 0)))
            step = min(step, INSIDE * signed.reach(point.u, move))
            if move_d.sum() > 0:
                step = min(step, INSIDE * room / float(move_d.sum()))
            descent = float(slope @ move + slope_d @ move_d)
            value, along = merit(point, d), Z.times(move)
            for _ in range(INTERIOR_HALVINGS):
                trial = self._point(point.u + step * move, point.z + step * along, point.b)
                if merit(trial, d + step * move_d) <= value + DESCENT * step * descent:
                    break
                step *= 0.5
            else:  # rounding
                break
            point, share = trial, d + step * move_d
        return point

"""The solver of the l1 problem: proximal Newton steps over working sets, certified by scans."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ... import _kernels
from ...core.ranking import largest
from ...core.results import Result, Status, Step
from ...core.types import Columns, FloatArray, IndexArray
from ...data.column_sets import ColumnSet, ColumnStore, RowSet
from ...data.gathered import gather
from ...data.views import as_slice, feature_blocks
from ..driver import Scan, Solver, Stopwatch
from .problem import Candidate, L1Point, L1Problem, Penalty, Start, bound_at, with_best_intercept

# The penalty of the l1 family, and coordinate descent on quadratic models with it.

SWEEPS_BETWEEN = 10  # of a descent with a Gram matrix, between steps of the support


@dataclass(frozen=True, slots=True)
class QuadraticModel:
    """gradient'd + gradient_e e + 1/2 sum_i h_i (x_i'd + e)^2 + nu/2 ||d||^2 + penalty(u + d)."""

    curvature: FloatArray  # (n,) h
    gradient: FloatArray  # (q,)
    total: FloatArray  # (q,) sum_i h_i x_ij
    square: FloatArray  # (q,) sum_i h_i x_ij^2
    penalty: FloatArray  # (q, 4) rows of a Penalty
    u: FloatArray  # (q,)
    largest_step: FloatArray  # (q,) of one coordinate: a guard where curvature vanishes
    nu: float
    intercept: bool
    gradient_e: float

    def of(self, chosen: IndexArray) -> QuadraticModel:
        """Return the model in some of the features, the others at rest."""
        return QuadraticModel(
            self.curvature, self.gradient[chosen], self.total[chosen], self.square[chosen],
            self.penalty[chosen], self.u[chosen], self.largest_step[chosen], self.nu,
            self.intercept, self.gradient_e,
        )  # fmt: skip


class DescentState(NamedTuple):
    """What a descent goes on from, as its kernel takes and returns it."""

    offset: float  # e
    n_active: int  # features that are visited
    limit: float  # the largest violation of the last sweep
    n_sweeps: int
    violation: float  # the sum of those that the last sweep met
    done: bool


class Descent:
    """Coordinate descent on a quadratic model; `sweep` goes on where the last one ended."""

    def __init__(self, columns: ColumnSet | RowSet, model: QuadraticModel) -> None:
        self._columns, self._model = columns, model
        self.step = np.zeros(columns.size)  # d
        self.n_iterations = 0  # of conjugate gradients
        self._active = np.arange(columns.size, dtype=np.int64)
        self._state = DescentState(0.0, columns.size, np.inf, 0, np.inf, False)

    def sweep(self, target: float, max_sweeps: int, seed: int, shrinking: float = 0.0) -> bool:
        """Sweep until the violations add up to at most `target`; return whether they do.

        shrinking : features at zero that are optimal by this share of the largest violation of the
            previous sweep are left out until the others have converged; 0: none.
        """
        columns, model = self._columns, self._model
        assert isinstance(columns, ColumnSet)
        state = columns.call(
            "descend", model.curvature, model.gradient, model.total,
            model.square, model.penalty, model.u, model.largest_step, model.nu, model.intercept,
            model.gradient_e, target, max_sweeps, shrinking, seed, self._active, self.step,
            self._residual, self._state,
        )  # fmt: skip
        self._state = DescentState(*state)
        return self._state.done

    def subspace_step(self, target: float, max_iterations: int) -> None:
        """Step towards the minimum over the features that are not zero, their signs kept.

        By conjugate gradients, until their slopes add up to at most `target`.
        """
        columns, model = self._columns, self._model
        assert isinstance(columns, ColumnSet)
        n_iterations, offset = columns.call(
            "subspace_step", model.curvature, model.gradient, model.total,
            model.square, model.penalty, model.u, model.largest_step, model.nu, model.intercept,
            model.gradient_e, target, max_iterations, self.step, self._residual, self.offset,
        )  # fmt: skip
        self.n_iterations += n_iterations
        self._state = self._state._replace(offset=offset)

    def sweep_gram(self, gram: FloatArray, target: float, max_sweeps: int) -> None:
        """Go on with the Gram matrix of the columns, weighted by h: for few columns of many rows.

        A sweep costs as many operations as features move, times q, whatever the number of rows. The
        step of the intercept is eliminated; the residual is not kept up to date, so that `sweep`
        must not follow. Changes `gram`.
        """
        model = self._model
        gram.flat[:: model.u.size + 1] += model.nu
        slope = model.gradient.copy()
        total = float(model.curvature.sum())
        eliminates = model.intercept and total > 0
        if eliminates:
            gram -= np.outer(model.total, model.total / total)
            slope -= model.total * (model.gradient_e / total)
        slope += gram @ self.step
        sweeps, violation = _kernels.gram_descend(
            np.ascontiguousarray(gram), model.penalty, model.u, model.largest_step,
            target, max_sweeps, self.step, slope,
        )  # fmt: skip
        offset = self.offset
        if eliminates:
            offset = -(model.gradient_e + float(model.total @ self.step)) / total
        self._state = self._state._replace(
            offset=offset, n_sweeps=self.n_sweeps + sweeps, violation=violation
        )

    def solve_gram(self, gram: FloatArray, target: float, max_sweeps: int) -> None:
        """Sweep with the Gram matrix until the violations add up to at most `target`.

        Between some sweeps there are steps to the minimum over the features that are not zero: of
        columns that are nearly dependent sweeps alone get nowhere. The model has no intercept and
        no nu, so that the matrix stays as it is.
        """
        while self.n_sweeps < max_sweeps:
            self.sweep_gram(gram, target, SWEEPS_BETWEEN)
            if self._state.violation <= target:
                return
            self._solve_support(gram)

    def _solve_support(self, gram: FloatArray) -> None:
        """Step to the minimum over the features that are not zero, as far as signs are kept."""
        model = self._model
        l1, l2 = model.penalty[:, 0], model.penalty[:, 1]
        u = model.u + self.step
        some = np.flatnonzero(u)
        slope = model.gradient + gram @ self.step + l2 * u + l1 * np.sign(u)
        try:
            factor = cho_factor(gram[np.ix_(some, some)] + np.diag(l2[some]), check_finite=False)
        except np.linalg.LinAlgError:
            return
        move = -cho_solve(factor, slope[some], check_finite=False)
        with np.errstate(divide="ignore", invalid="ignore"):
            to_zero = np.where(move * u[some] < 0, -u[some] / move, np.inf)
            to_limit = model.largest_step[some] / np.abs(move)
        share = min(1.0, float(to_zero.min(initial=1.0)), float(to_limit.min(initial=1.0)))
        if not (np.isfinite(move).all() and share > 0.0):
            return
        self.step[some] += share * move
        end = some[to_zero <= share]
        self.step[end] = -model.u[end]

    @cached_property
    def _residual(self) -> FloatArray:
        return np.zeros(self._model.curvature.size)  # h_i x_i'd

    @property
    def offset(self) -> float:
        """The step e of the intercept."""
        return self._state.offset

    @property
    def n_sweeps(self) -> int:
        return self._state.n_sweeps


@dataclass(frozen=True, slots=True)
class L1RunTuning:
    """Constants of the working sets and the end of a run."""

    precision: float = 1e-14  # relative differences of the objective below this are rounding
    equal: float = 1e-12  # relative size of a sum that counts as zero
    patience: int = 20  # scans in a row that narrow the gap by rounding only, before giving up
    growth: int = 3  # a working set has at most so many times the features of the last solution
    # Features drawn by more than this share of their l1 weight fill up a working set.
    near: float = 0.8
    likely: float = 0.5  # and by more than this are gathered along


L1_RUN = L1RunTuning()

# Working sets
SMALLEST_SET, SMALLEST_SPARSE_SET = 500, 1000


class Run:
    """What the solvers share: certified points, the choice of features, the history."""

    def __init__(
        self, problem: L1Problem, tol: float, max_iter: int, store: ColumnStore | None = None
    ) -> None:
        self.problem = problem
        self.clock = Stopwatch()
        self.status: Status | None = None
        self.history: list[Step] = []
        self.bound = -np.inf
        self.point: L1Point
        self.candidate: Candidate
        self.dual: FloatArray  # (n,) v of the last scan
        self.scores: FloatArray  # (m,) X'v at the point
        self.pull = np.empty(0)  # (m,) after the first scan
        self.truncated = False  # whether the last choice left out features that are drawn in
        self.scale = problem.risk.first()[0]
        self._tol, self._max_iter = tol, max_iter
        self._store = ColumnStore(problem.design) if store is None else store
        self._smallest = SMALLEST_SPARSE_SET if self._store.is_sparse else SMALLEST_SET
        self._seen = np.zeros(problem.design.shape[1], bool)
        self._best: tuple[L1Point, FloatArray, float] | None = None
        self._idle = 0
        self._begun = 0  # rows of the history when the solver began
        penalty = problem.penalty
        self._always = np.flatnonzero(penalty.l1 == 0)  # in every working set
        unpenalised = self._always[penalty.l2[self._always] == 0]
        # Without a penalty, the dual asks for x_j'v = 0, or one sign of it where u_j has a sign:
        # the columns, the intercept first, and the sign of each that is allowed.
        self._equalities: FloatArray | None = None
        if unpenalised.size:
            ones = np.ones((problem.risk.weight.size, int(problem.risk.intercept)))
            Z = gather(problem.design, unpenalised).dense()
            self._equalities = np.hstack([ones, Z])
            sign = np.where(penalty.low == 0, -1.0, 0.0) + np.where(penalty.high == 0, 1.0, 0.0)
            self._allowed = np.append(np.zeros(int(problem.risk.intercept)), sign[unpenalised])
        self._error = self._store.score_errors

    @property
    def n_iter(self) -> int:
        """Iterations so far: scans but the first."""
        return len(self.history) - self._begun

    @property
    def gap(self) -> float:
        """(best objective - best bound) / objective of the model without features."""
        assert self._best is not None
        return (self._best[2] - self.bound) / self.scale

    def restart(self, problem: L1Problem, factor: float) -> None:
        """Go on from the last point with another C, `factor` times the one before: no scan."""
        self.problem = problem
        self.clock, self.status, self.history, self._begun = Stopwatch(), None, [], 0
        self.bound, self._best, self._idle = -np.inf, None, 0
        self.scale *= factor
        self.scores, self.pull = factor * self.scores, factor * self.pull
        self.dual = factor * self.dual
        point = self.point
        self.point = replace(point, value=factor * point.value, gradient=factor * point.gradient)

    def ahead(self, problem: L1Problem, factor: float) -> Run:
        """Return a run of its own for another C, that begins where this one is."""
        run = copy(self)
        run.restart(problem, factor)
        return run

    def strong(self, ratio: float) -> IndexArray:
        """Return the support, and the features of the sequential strong rule, sorted.

        Scores are taken to change by at most as much as C does: of a feature below l1 by more, the
        score will not reach l1. Scores here are multiplied by the ratio already.

        ratio : C now / C at the last scan.
        """
        kept = (
            self.pull
            >= max(2.0 - max(ratio, 1.0 / ratio), L1_RUN.near) * self.problem.penalty.level
        )
        kept[self.point.support] = True
        kept[self._always] = True
        features = np.flatnonzero(kept)
        most = max(self._smallest, L1_RUN.growth * self.point.support.size)
        return features if features.size <= most else self.choose()

    def begin(self, start: Start | None = None) -> Solver[None]:
        """Certify the start, or the model without features where that is better."""
        point = self._point(Start())
        if start is not None and start.support.size:
            b = start.intercept + self.problem.shift(start.support, start.coef)
            start = replace(start, intercept=b)
            with np.errstate(over="ignore", invalid="ignore"):
                begun = with_best_intercept(self.problem, self._point(start))
            penalty = self.problem.penalty.of(begun.features)
            if begun.value + penalty.value(begun.u) <= self.scale:
                point = begun
        self._begun = len(self.history) + 1
        yield from self.certify(point, {})

    def _point(self, start: Start) -> L1Point:
        problem = self.problem
        z = np.full(problem.risk.weight.size, start.intercept)
        if start.support.size:
            self.columns(start.support).combine(start.coef, z)
        value, gradient = problem.risk.value_gradient(z)
        return L1Point(start.support, start.coef, start.intercept, z, value, gradient)

    def columns(self, features: IndexArray) -> Any:
        """Return some columns: in place, or gathered."""
        return self._store.columns(features, self._likely(features))

    def _likely(self, features: IndexArray) -> IndexArray | None:
        """Return what may be wanted next, where some have to be gathered: one pass serves all."""
        missing = self._store.missing(features)
        if not missing.size or not self.pull.size:
            return None
        likely = self.pull > L1_RUN.likely * self.problem.penalty.level
        likely[features] = False
        others = self._store.missing(np.flatnonzero(likely))
        most = max(missing.size, self._smallest)
        if others.size > most:
            others = others[largest(self.pull[others] / self.problem.penalty.l1[others], most)]
        return others

    def all_columns(self) -> ColumnSet:
        """Return all columns; X is copied unless it is in memory by column."""
        return self._store.everything()

    def choose(self) -> IndexArray:
        """Return the next working set, sorted."""
        penalty = self.problem.penalty
        l1 = penalty.l1
        if l1.size <= self._smallest:
            return np.arange(l1.size)
        support = np.union1d(self.point.support, self._always)
        near = self.pull > L1_RUN.near * penalty.level
        near[support] = False
        candidates = np.flatnonzero(near)
        size = max(self._smallest, L1_RUN.growth * support.size) - support.size
        excess = self.pull[candidates] / l1[candidates]
        self.truncated = int(np.count_nonzero(excess > 1.0)) > size
        if candidates.size > size:
            candidates = candidates[largest(excess, size)]
        return np.union1d(support, candidates)

    def certify(self, point: L1Point, counts: Mapping[str, float]) -> Solver[None]:
        """Scan at a point: its gap, its row of the history, and whether to stop."""
        self.propose(point, counts)
        self.accept((yield Scan(self.problem.design, self.candidate.dual)))

    def propose(self, point: L1Point, counts: Mapping[str, float]) -> None:
        """Make a point the candidate that a scan is to certify."""
        seconds = self.clock.seconds
        self.clock = Stopwatch()
        self.point = point = with_best_intercept(self.problem, point)
        dual, feasible = self._dual_point(point)
        self.candidate = Candidate(point, dual, feasible, seconds, counts)

    def accept_between(self, lower: Run, upper: Run, share: float) -> bool:
        """Take the candidate without a scan of its own, where two others certify it.

        Scores are linear in v, so that those of every v between two are known; between the
        solutions at two C, it errs by the square of their distance.

        lower, upper : at a smaller and a larger C.
        share : where between them this C is.
        """
        if not (lower.candidate.feasible and upper.candidate.feasible):
            return False
        total = float(self.problem.risk.weight.sum())
        a = (1.0 - share) * total / float(lower.problem.risk.weight.sum())
        b = share * total / float(upper.problem.risk.weight.sum())
        dual, scores = a * lower.dual + b * upper.dual, a * lower.scores + b * upper.scores
        candidate, penalty = self.candidate, self.problem.penalty
        point = candidate.point
        objective = point.value + penalty.of(point.features).value(point.u)
        bound = bound_at(self.problem, penalty, dual, penalty.pull(scores))
        if not objective - bound <= self._tol * self.scale:
            return False
        self.candidate = replace(candidate, dual=dual)
        norms = [float(np.linalg.norm(run.dual)) for run in (lower, upper)]
        self.accept(scores, a * norms[0] + b * norms[1])
        if self.status is None:  # exact scores say otherwise
            self.candidate = candidate
        return self.status is not None

    def accept(self, scores: FloatArray, size: float | None = None) -> None:
        """Take the scores of the candidate: its gap, its row of the history, whether to stop.

        size : to which the errors of scores in float32 are proportional; by default the norm of the
            vector.
        """
        problem, penalty, candidate = self.problem, self.problem.penalty, self.candidate
        point, dual, feasible = candidate.point, candidate.dual, candidate.feasible
        self.scores, self.pull, self.dual = scores, penalty.pull(scores), dual
        if self._error is not None:
            self._recompute(dual, size)
        self.point = point
        before = (self._best[2], self.bound) if self._best is not None else (np.inf, -np.inf)
        if feasible:
            self.bound = max(self.bound, bound_at(problem, penalty, dual, self.pull))
        objective = point.value + penalty.of(point.features).value(point.u)
        if self._best is None or objective <= self._best[2]:
            self._best = (point, dual, objective)
        support = point.support
        fresh = support[~self._seen[support]]
        self._seen[fresh] = True
        seconds, extra = {"solve": candidate.seconds}, {"gap": self.gap, **candidate.counts}
        self.history.append(Step(objective, self.bound, support.size, fresh, seconds, extra))
        lower = before[0] - self._best[2] > L1_RUN.precision * self.scale
        tighter = self.bound > before[1] + L1_RUN.precision * self.scale
        self._idle = 0 if lower or tighter else self._idle + 1
        if self.gap <= self._tol:
            self.status = Status.CONVERGED
        elif self._idle > L1_RUN.patience or not np.isfinite(objective):
            self.status = Status.STALLED
        elif self.n_iter >= self._max_iter:
            self.status = Status.MAX_ITER

    def bound_over(
        self, columns: ColumnSet | RowSet, penalty: Penalty, point: L1Point, gradient: FloatArray
    ) -> float:
        """Return the bound at a point for the problem over some columns: where to stop there."""
        if self._equalities is None:
            # Fenchel's equality: f(z) + f*(-v) = -v z.
            entropy = point.value - float(point.gradient @ point.z)
            return bound_at(
                self.problem, penalty, -point.gradient, penalty.pull(-gradient), entropy
            )
        dual, feasible = self._dual_point(point)
        if not feasible:
            return -np.inf
        scores = columns.terms(dual, np.zeros(dual.size))[0]
        return bound_at(self.problem, penalty, dual, penalty.pull(scores))

    def result(self) -> Result:
        """Return the best point with its certificate."""
        assert self._best is not None
        assert self.status is not None
        point, dual, objective = self._best
        used = point.u != 0
        support, u = point.features[used], point.u[used]
        return Result(
            support, u, self.problem.intercept(point, support, u), objective, {"dual": self.bound},
            dual, self.status, tuple(self.history),
        )  # fmt: skip

    def _dual_point(self, point: L1Point) -> tuple[FloatArray, bool]:
        """Return v at a point, within the equalities of the dual, and whether in its domain."""
        problem = self.problem
        if self._equalities is None:
            return problem.risk.dual_point(point.gradient), True
        V, v = self._equalities, -point.gradient
        curvature = problem.risk.curvature(point.z)
        D = np.minimum(curvature, np.abs(v))  # rows at the ends of their interval do not move
        active = self._allowed == 0
        for _ in range(4):  # rounding, and signs that come out wrong
            some = V[:, active]
            M = some.T @ (D[:, None] * some)
            v = v - D * (some @ np.linalg.lstsq(M, some.T @ v, rcond=None)[0])
            active |= (V.T @ v) * self._allowed < 0
        inside = problem.risk.is_inside(v)
        rest = V.T @ v
        rest[rest * self._allowed > 0] = 0.0
        size = np.abs(V).T @ np.abs(v)
        return v, inside and bool(np.all(np.abs(rest) <= L1_RUN.equal * size))

    def _recompute(self, v: FloatArray, size: float | None) -> None:
        """Replace scores in float32 by exact ones where they can decide the bound.

        That is where the largest |c_j| / l1_j may be, and where l2_j > 0 counts what is above l1_j.
        """
        assert self._error is not None
        penalty = self.problem.penalty
        error = self._error * (float(np.linalg.norm(v)) if size is None else size)
        high = self.pull + error > penalty.l1
        bounded = high & (penalty.l1 > 0)
        low = (self.pull[bounded] - error[bounded]) / penalty.l1[bounded]
        strongest = max(1.0, float(low.max(initial=0.0)))
        unsure = np.flatnonzero(
            high & ((self.pull + error >= strongest * penalty.l1) | (penalty.l2 > 0))
        )
        for some in feature_blocks(unsure, v.size):
            columns = self._store.passing(some)
            exact = columns.terms(v, np.zeros(v.size))[0]
            self.scores[some] = exact
            self.pull[some] = penalty.of(some).pull(exact)


# Proximal Newton steps over some columns: a quadratic model, coordinate descent, a line search.

SIGMA, MAX_HALVINGS = 0.01, 20  # of the line search, as published


@dataclass(frozen=True, slots=True)
class ProxNewtonTuning:
    """Constants of the proximal Newton steps."""

    largest_square: float = 1e140  # sum of squares of a column
    sweeps_at_once: int = 50  # of a descent, between looks at Ctrl-C
    max_sweeps: int = 1000
    max_newton: int = 50
    # Where a sweep visits fewer elements it costs next to nothing, and the other ways, which
    # amplify rounding, save nothing.
    small: int = 1 << 15
    largest_copy: int = 1 << 26  # elements that are copied for a Gram matrix
    # Least deviation that is told from 0, as a share of the root mean square.
    rounding: float = 1e-7
    # By what share diagonals are raised where a matrix is taken off another one.
    coupled: float = 1e-10
    # Of a coordinate, in units of the margins: LIBLINEAR's 10 for unit columns.
    largest_step: float = 10.0


PROX_NEWTON = ProxNewtonTuning()
DESCENT_SHARE, SMALLEST_SHARE = 0.5, 1e-3  # of the violation of a step: what a descent leaves
# Sweeps of a descent before anything else is tried, and between steps of the support; what part of
# the violation wanted such a step aims at; how its iterations grow from one to the next.
SWEEPS_ALONE, SUBSPACE_SHARE, ITERATION_GROWTH = 20, 0.3, 1.5
# Gram matrices are formed where they cost at most so many sweeps, and of so many columns as a share
# of the rows, that is of their weights: integer weights equal repeated rows. A sweep then costs
# next to nothing, and a descent leaves less.
CHEAP_GRAM, GRAM_SHARE, GRAM_DESCENT_SHARE = 16, 0.25, 0.01
DAMPINGS = (0.0, 1e-2, 0.1, 1.0)  # shares of the majorant in a model; steps begin with the last


def prox_newton(
    run: Run,
    columns: ColumnSet | RowSet,
    point: L1Point,
    goal: float,
    most_steps: int = PROX_NEWTON.max_newton,
) -> tuple[L1Point, dict[str, float]]:
    """Take proximal Newton steps over the columns to a gap of `goal`, at most so many."""
    problem = run.problem
    penalty = problem.penalty.of(columns.features)
    minimiser, damping = _Minimiser(problem, columns), _Damping(problem)
    steps = 0
    bound = -np.inf
    limits = largest_steps(problem, columns)
    # The point before a step that changed the objective by rounding only, and its violation.
    before: tuple[L1Point, float] | None = None
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
        self, model: QuadraticModel, violation: float, seed: int, point: L1Point
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

    def _drawn(self, model: QuadraticModel) -> IndexArray:
        """Return the places of the features that are not zero, or are drawn from it.

        What Gram matrices cost grows with the square of their number; what is drawn later has its
        turn in the next step.
        """
        penalty = self._problem.penalty.of(self._columns.features)
        drawn = penalty.pull(-model.gradient) >= L1_RUN.near * penalty.l1
        return np.flatnonzero((model.u != 0) | drawn)

    def _step_coupled(
        self, model: QuadraticModel, violation: float, point: L1Point
    ) -> FloatArray | None:
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
        self, columns: RowSet, model: QuadraticModel, violation: float
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
        self, columns: ColumnSet, descent: Descent, model: QuadraticModel, target: float, seed: int
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
    point: L1Point,
    limits: FloatArray,
    nu: float = 0.0,
    damping: float = 0.0,
) -> QuadraticModel:
    """Return the quadratic model of the problem at a point, over the columns.

    limits : (q,) the largest step of each coordinate. damping : the share of the majorant.
    """
    curvature = problem.risk.curvature(point.z)
    if damping:
        curvature = (1.0 - damping) * curvature + damping * problem.risk.majorant(point.z)
    gradient, total, square = columns.terms(point.gradient, curvature)
    slope = float(point.gradient.sum()) if problem.risk.intercept else 0.0
    rows = problem.penalty.of(columns.features).rows()
    return QuadraticModel(
        curvature, gradient, total, square, rows, point.u, limits, nu, problem.risk.intercept, slope
    )  # fmt: skip


def largest_steps(problem: L1Problem, columns: ColumnSet | RowSet) -> FloatArray:
    """Return the largest step of each coordinate: it moves margins by about `largest_step`.

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
    """Descend to the target, or through `max_sweeps`; Ctrl-C is noticed between some sweeps."""
    while descent.n_sweeps < PROX_NEWTON.max_sweeps:
        at_once = min(PROX_NEWTON.sweeps_at_once, PROX_NEWTON.max_sweeps - descent.n_sweeps)
        if descent.sweep(target, at_once, seed + descent.n_sweeps, shrinking):
            return


def moved_along(
    problem: L1Problem,
    columns: ColumnSet | RowSet,
    point: L1Point,
    model: QuadraticModel,
    d: FloatArray,
    e: float,
    *,
    search: bool = True,
) -> tuple[L1Point, bool, float] | None:
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
            return L1Point(point.features, u, point.b + share * e, z, value, gradient), exact, share
        share *= 0.5
    return None


# The working-set method, on every storage.
#
# Source: Massias, Gramfort and Salmon, Celer: a fast solver for the lasso with dual extrapolation,
# ICML 2018 (working sets that the dual point chooses); proximal Newton steps as in newGLMNET.

INNER_SHARE = 0.1  # of the gap over all features: the gap over the working set to stop at
TRUNCATED_STEPS = 2  # where features had to stay outside that are drawn in: they matter more


def working_set(
    problem: L1Problem, *, tol: float, max_iter: int, start: Start | None = None
) -> Solver[Result]:
    """Solve to (objective - bound) <= tol * objective of the model without features.

    Every scan of all features certifies the last point and chooses the next working set: the
    support, and the features that the scores draw most from zero. Over it proximal Newton steps,
    each a coordinate descent on the quadratic model and a line search, go on until the gap over the
    working set is a small share of that over all features.
    """
    run = Run(problem, tol, max_iter)
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
) -> tuple[L1Point, dict[str, float]]:
    """Solve over some features, from the last point; return the point, and counts.

    goal : the gap of the problem over these features, relative to that without any.
    """
    with run.clock:
        columns, point = run.columns(features), run.point.on(features)
        return prox_newton(run, columns, point, goal * run.scale, most_steps)

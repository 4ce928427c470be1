"""The record of a run: the scans that certify the points of a solver of the l1 problem."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.ranking import largest
from ...core.results import Result, Status, Step
from ...core.types import FloatArray, IndexArray
from ...data.column_sets import ColumnSet, ColumnStore, RowSet
from ...data.columns import gather
from ...data.wrappers import feature_blocks
from ..clock import Stopwatch
from ..drive import Scan, Solver
from .descent import Penalty
from .problem import Candidate, L1Problem, Point, Start, bound_at, with_best_intercept


@dataclass(frozen=True, slots=True)
class L1RunTuning:
    """Constants, each with what it was measured for."""

    precision: float = 1e-14  # relative differences of the objective below this are rounding
    equal: float = 1e-12  # relative size of a sum that counts as zero
    patience: int = 20  # scans in a row that narrow the gap by rounding only, before giving up
    growth: int = 3  # a working set has at most so many times the features of the last solution
    near: float = (
        0.8  # features drawn by more than this share of their l1 weight fill up a working set
    )
    likely: float = 0.5  # and by more than this are gathered along


L1_RUN = L1RunTuning()

# Working sets
SMALLEST_SET, SMALLEST_SPARSE_SET = 500, 1000


class Run:
    """What the solvers share: certified points, the choice of features, the history."""

    def __init__(
        self,
        problem: L1Problem,
        tol: float,
        max_iter: int,
        n_threads: int,
        store: ColumnStore | None = None,
    ) -> None:
        self.problem = problem
        self.clock = Stopwatch()
        self.status: Status | None = None
        self.history: list[Step] = []
        self.bound = -np.inf
        self.point: Point
        self.candidate: Candidate
        self.dual: FloatArray  # (n,) v of the last scan
        self.scores: FloatArray  # (m,) X'v at the point
        self.pull = np.empty(0)  # (m,) after the first scan
        self.truncated = False  # whether the last choice left out features that are drawn in
        self.scale = problem.risk.first()[0]
        self._tol, self._max_iter = tol, max_iter
        self._store = ColumnStore(problem.design, n_threads) if store is None else store
        self._smallest = SMALLEST_SPARSE_SET if self._store.is_sparse else SMALLEST_SET
        self._seen = np.zeros(problem.design.shape[1], bool)
        self._best: tuple[Point, FloatArray, float] | None = None
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

    def _point(self, start: Start) -> Point:
        problem = self.problem
        z = np.full(problem.risk.weight.size, start.intercept)
        if start.support.size:
            self.columns(start.support).combine(start.coef, z)
        value, gradient = problem.risk.value_gradient(z)
        return Point(start.support, start.coef, start.intercept, z, value, gradient)

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

    def certify(self, point: Point, counts: Mapping[str, float]) -> Solver[None]:
        """Scan at a point: its gap, its row of the history, and whether to stop."""
        self.propose(point, counts)
        self.accept((yield Scan(self.problem.design, self.candidate.dual)))

    def propose(self, point: Point, counts: Mapping[str, float]) -> None:
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
        self, columns: ColumnSet | RowSet, penalty: Penalty, point: Point, gradient: FloatArray
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

    def _dual_point(self, point: Point) -> tuple[FloatArray, bool]:
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

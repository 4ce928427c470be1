"""Prove how good a support is: tighten the bound by scans, then branch on what is left.

The relaxation over a pool of gathered columns gives a dual point; a scan with it bounds the problem
over all features and shows which of them are missing in the pool: cutting planes for the minimax
model with r = k, each solved to the end. At the last dual point most features are ruled out; what
is left is gathered and branched on, without further scans. Where that is more than memory should
hold, nodes scan X.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ...core.memory import available_memory
from ...core.ranking import largest
from ...core.results import Certificate, Progressed, Proof, Status, Tree
from ...core.types import FloatArray, IndexArray
from ...data.columns import GatheredColumns, gather
from ...data.operations import score_errors
from ...data.views import in_place
from ..drive import Scan, Solver
from ..pool.bounds import Bound, bound_at
from ..pool.branch import BranchAndBound
from ..pool.candidates import Candidates, Start
from ..pool.curved import Curved
from ..pool.extraction import Squares
from ..pool.ridge import Ridge
from ..pool.signed_ridge import signed_ridge
from ..risk import Risk
from ..task import Task
from .curvature import nodes_before, noted, with_curvature
from .equivalents import equivalents
from .supports import SUPPORTS, certificate_of, safe_magnitudes

MAX_SCANS = 50  # of tightening
TIGHT_TOL = 1e-4  # gap of the relaxation, relative
NEW_FACTOR, NEW_MIN = 5, 50  # features that a scan adds to the pool
# Of gathered candidates, and of the memory that is left; nothing is branched on above.
CANDIDATE_BYTES, MEMORY_SHARE = 2**30, 0.25


@dataclass(frozen=True, slots=True)
class Tightened:
    """The best dual point of the relaxation over all features."""

    bound: Bound
    magnitude: FloatArray  # (m,) |c_j| at the dual point before scaling, or bounds of it
    dual: FloatArray  # (n,) that point
    start: Start  # near the solution: features, their coefficients, the intercept


class Clock:
    """Seconds of a proof, without the searches of other classes, which run in lockstep with it."""

    _thread = threading.local()  # `searched`: seconds of all searches in this thread

    def __init__(self) -> None:
        """Start."""
        self._begin, self._others = time.perf_counter(), 0.0

    @property
    def seconds(self) -> float:
        """The seconds so far."""
        return time.perf_counter() - self._begin - self._others

    def deadline(self, time_limit: float) -> float:
        """Return when `time.perf_counter` is there, unless others have to be waited for."""
        return time.perf_counter() + time_limit - self.seconds

    def scan(self, request: Scan) -> Solver[FloatArray]:
        """Wait for a scan, and for what other solvers do after it."""
        before = self._searched()
        scores: FloatArray = yield request
        self._others += self._searched() - before
        return scores

    def add_search(self, seconds: float) -> None:
        """Let the clocks of others know that they had to wait."""
        self._thread.searched = self._searched() + seconds

    def _searched(self) -> float:
        return float(getattr(self._thread, "searched", 0.0))


@dataclass(frozen=True, slots=True)
class Goal:
    """When a proof may end.

    gap : the wanted one, (objective - bound) / objective; 0: a proof that no better support
        exists. None: nothing is branched on, the bound is that of the relaxation.
    time_limit : seconds; the search stops at the first node, the tightening at the first scan,
        after it.
    max_nodes : of the tree.
    """

    gap: float | None
    time_limit: float = 60.0
    max_nodes: int | None = None


@dataclass(frozen=True, slots=True)
class Aim:
    """When tightening may stop: at a bound of `target`, or when its time is up."""

    objective: float  # of the best known model
    target: float
    clock: Clock
    time_limit: float


def prove_support(
    task: Task,
    support: IndexArray,
    goal: Goal,
    *,
    C: float,
    dual: FloatArray | None = None,
    resume: Tree | None = None,
    report: Callable[[Progressed], None] | None = None,
) -> Solver[Proof]:
    """Prove that no support of this size is better than one found, up to a relative gap.

    Parameters
    ----------
    support : (k,) sorted features, the best known.
    C : weight of the summed loss.
    dual : (n,) a dual point to begin with, that of the refit if None; no bound is below its bound.
    resume : the tree of an earlier proof of the same problem, to go on from.
    report : called now and then with where the search stands.
    """
    clock = Clock()
    known = Known.of(task, support, C)
    objective = known.fit.objective
    target = objective - max(goal.gap or 0.0, 0.0) * abs(objective)
    v = known.fit.dual if dual is None else dual
    if resume is not None:
        v = resume.dual[resume.row[0]]
    aim = Aim(objective, target, clock, goal.time_limit)
    tight = yield from tighten(task, known, aim, v, 1 if resume is not None else MAX_SCANS)
    certificate = _certificate(task, C, support, tight)

    def at(seconds: float, n_nodes: int = 0, n_open: int = 1) -> Progressed:
        bound = min(tight.bound.value, objective)
        return Progressed(seconds, n_nodes, n_open, objective, bound)

    row = at(clock.seconds)
    if report is not None:
        report(row)
    status = Status.OPTIMAL if certificate.proven else Status.GAP
    if goal.gap is None or certificate.proven or tight.bound.value >= target:
        return Proof(certificate, status, False, (row,))
    left = Left.of(task, known, tight, target)
    if left is None:
        return Proof(certificate, Status.CANDIDATES, False, (row,))
    shown = left.shown

    def begin(problem: Candidates, support: IndexArray) -> BranchAndBound:
        gap = goal.gap or 0.0
        return BranchAndBound(problem, support, gap, shown.dual, shown.value, resume)

    spent = clock.seconds
    search, status, steps = left.search(begin, goal, clock, report, resume=resume)
    clock.add_search(clock.seconds - spent)
    best = np.sort(task.units.features(left.units[search.support]))
    if not np.array_equal(best, support):
        certificate = _certificate(task, C, best, tight)
    bound = min(search.bound, certificate.objective)
    certificate = replace(
        certificate,
        bound=max(certificate.bound, bound),
        tree=noted(search.tree(), search.problem, task.design_of_features.shape[1]),
    )
    if certificate.proven:
        status = Status.OPTIMAL
    return Proof(certificate, status, not np.array_equal(best, support), (row, *steps))


@dataclass(frozen=True, slots=True)
class Known:
    """The best known support of a problem, its fit, and the columns that are gathered so far."""

    risk: Risk
    inside: IndexArray  # its units, the forced ones first
    n_forced: int  # of them
    pool: GatheredColumns  # of its columns; it grows
    fit: Ridge

    @classmethod
    def of(cls, task: Task, support: IndexArray, C: float) -> Known:
        """Gather the columns of a support, and fit them."""
        units, risk = task.units, task.risk(C)
        forced = units.of(task.forced)
        inside = np.concatenate([forced, np.setdiff1d(units.of(support), forced)])
        pool = GatheredColumns(task.design, 0)
        pool.add(units.features(inside))
        fit = signed_ridge(
            pool.columns(), risk, task.signs[support], columns=pool.position(support),
            tol=SUPPORTS.refit_tol, of_value=True,
        )  # fmt: skip
        return cls(risk, inside, forced.size, pool, fit)

    @property
    def forced(self) -> IndexArray:
        """The units in every support."""
        return self.inside[: self.n_forced]


Search = TypeVar("Search", bound=BranchAndBound)


@dataclass(frozen=True, slots=True)
class Left:
    """What the relaxation over all features leaves to be searched."""

    problem: Candidates
    units: IndexArray  # its candidates, as units of the task
    support: IndexArray  # the best known one, as units of the problem
    shown: Bound  # by the relaxation, with the wanted bound in place of the objective
    single: bool  # whether the budget counts single features of X

    @classmethod
    def of(cls, task: Task, known: Known, tight: Tightened, target: float) -> Left | None:
        """Gather the units that are in models below a target; None where there are too many."""
        units, own, forced, risk = task.units, known.inside, known.forced, known.risk
        shown = bound_at(risk, tight.dual, tight.magnitude, own.size, forced, target, units=units)
        left = ~shown.dropped & units.usable
        left[own] = True
        left[forced] = False
        candidates = np.concatenate([forced, np.flatnonzero(left)])
        columns = units.features(candidates)
        room = MEMORY_SHARE * available_memory()  # inf where nobody knows
        most = CANDIDATE_BYTES if room == np.inf else max(CANDIDATE_BYTES, room)
        few = columns.size * risk.size * 8 <= most
        design, weight = task.design, task.sample_weight
        whole = columns.size == design.shape[1] and bool(np.all(np.diff(columns) == 1))
        some = slice(None) if whole else columns  # the whole of them may need no copy
        Z = gather(design, some) if few else in_place(design, columns, weight)
        if Z is None:
            return None
        position = np.full(design.shape[1], -1)
        position[columns] = np.arange(columns.size)
        used, coef, intercept = tight.start
        used = position[used]
        start = used[used >= 0], coef[used >= 0], intercept
        problem = Candidates(
            Z, units.take(candidates), task.named(candidates), risk, own.size, forced.size,
            start=start,
        ).relaxed_loosely(shown.value, known.fit.objective)  # fmt: skip
        problem = problem.with_shared_curvature()
        place = np.empty(units.usable.size, np.int64)
        place[candidates] = np.arange(candidates.size)
        single = task.groups_of_features() is None
        return cls(problem, candidates, place[own], shown, single)

    def search(
        self,
        begin: Callable[[Candidates, IndexArray], Search],
        goal: Goal,
        clock: Clock,
        report: Callable[[Progressed], None] | None,
        *,
        resume: Tree | None = None,
    ) -> tuple[Search, Status, list[Progressed]]:
        """Search the candidates; return the search, how it stopped and its history.

        Where that takes more than a few nodes, and the loss has curvature to extract, the search
        begins anew with it, from the best support so far.

        begin : makes a search of a problem from a support.
        resume : the tree that it goes on from; where that has curvature, it begins with it.
        """
        steps: list[Progressed] = []

        def run(search: Search, most: int | None) -> Status:
            spent, begun = clock.seconds, len(search.history)
            before = search.history[-1].seconds if begun else 0.0

            def later(step: Progressed) -> Progressed:
                return replace(step, seconds=step.seconds - before + spent)

            told = None if report is None else lambda step: report(later(step))
            status = search.run(goal.time_limit - spent, most, told)
            steps.extend(later(step) for step in search.history[begun:])
            return status

        problem, most = self.problem, goal.max_nodes
        before = nodes_before(problem) if self.single else None
        if before is not None and resume is not None and resume.minorants:
            objective = problem.objective(self.support)
            problem = Curved.again(problem, resume.minorants, objective) or problem
        search = begin(problem, self.support)
        if before is None or isinstance(problem, Curved):
            return search, run(search, most), steps
        anew = resume is None or not (resume.diagonal.any() or resume.minorants)
        support = self.support
        if anew and before:
            first = before if most is None else min(before, most)
            status = run(search, first)
            if status is not Status.NODE_LIMIT or first == most:
                return search, status, steps
            support = search.support
        try:
            deadline = clock.deadline(goal.time_limit)
            objective = search.objective
            upper = max(objective, search.target)  # lists of models near the best ask for more
            sharper = with_curvature(
                problem, self.shown.value, objective,
                so_far=search.bound, upper=upper, deadline=deadline,
            )  # fmt: skip
            if sharper is not None:
                search = begin(sharper, support)
        except KeyboardInterrupt:
            return search, Status.INTERRUPTED, steps
        return search, run(search, most), steps


def tighten(
    task: Task, known: Known, aim: Aim, v: FloatArray, max_scans: int = MAX_SCANS
) -> Solver[Tightened]:
    """Solve the relaxation over all features to TIGHT_TOL, or until its bound reaches the target.

    v : dual point to begin with.
    """
    design, units, risk, pool = task.design, task.units, known.risk, known.pool
    inside, forced, k = known.inside, known.forced, known.inside.size
    single, support = task.groups_of_features() is None, pool.features
    errors = score_errors(design, task.sample_weight)
    start: Start = np.empty(0, np.int64), np.empty(0), 0.0
    best: Tightened | None = None
    relaxed = np.inf
    for _ in range(max_scans):
        scores = yield from aim.clock.scan(Scan(design, v))
        magnitude = safe_magnitudes(task, scores, v, support, errors)
        strength = units.strength(magnitude)
        bound = bound_at(risk, v, magnitude, k, forced, aim.objective, units=units)
        if best is None or bound.value > best.bound.value:
            used = np.flatnonzero(start[1])
            near = pool.features[start[0][used]], start[1][used], start[2]
            best = Tightened(bound, magnitude, v, near)
        done = relaxed - best.bound.value <= TIGHT_TOL * abs(best.bound.value)
        if done or best.bound.value >= aim.target or aim.clock.seconds > aim.time_limit:
            break
        strength[inside] = -1.0
        strength[~units.usable] = -1.0
        most = max(NEW_FACTOR * k, NEW_MIN, inside.size // 2)
        fresh = largest(strength, min(most, strength.size))
        fresh = fresh[strength[fresh] >= 0]
        if not fresh.size:
            break
        inside = np.concatenate([inside, fresh])
        pool.add(units.features(fresh))
        problem = Candidates(
            pool.columns(), units.take(inside), task.named(inside), risk, k, forced.size
        )
        if task.loss.outputs > 1 and single and Squares.can_pose(problem):
            problem = Squares.of(problem) or problem
        answer = problem.relax(
            np.arange(inside.size), forced.size, min(k, inside.size) - forced.size, start=start,
            tol=0.1 * TIGHT_TOL, deadline=aim.clock.deadline(aim.time_limit),
        )  # fmt: skip
        start = np.arange(pool.size), answer.coef, answer.intercept
        relaxed = answer.objective
        v = answer.dual
    assert best is not None
    return best


def _certificate(
    task: Task,
    C: float,
    support: IndexArray,
    tight: Tightened,
) -> Certificate:
    """Certify a support by the best dual point alone: a verifier has no other for its figures."""
    risk = task.risk(C)
    columns = gather(task.design, support).compact()
    fit = signed_ridge(columns, risk, task.signs[support], tol=SUPPORTS.refit_tol, of_value=True)
    size = task.units.of(support).size
    known = bound_at(
        risk,
        tight.dual,
        tight.magnitude,
        size,
        task.forced,
        fit.objective,
        task.groups,
        task.max_abs_coef,
    )
    certificate = certificate_of(task, C, support, fit, known)
    if task.groups is None:
        certificate = replace(certificate, equivalents=equivalents(task, support, tight.magnitude))
    return certificate

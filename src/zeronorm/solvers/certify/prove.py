"""Prove how good a support is: tighten the bound by scans, then branch on what is left.

The relaxation over a pool of gathered columns gives a dual point; a scan with it bounds the problem
over all features and shows which of them are missing in the pool: cutting planes for the minimax
model with r = k, each solved to the end. At the last dual point most features are ruled out; what
is left is gathered and branched on, without further scans.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..._typing import FloatArray, IndexArray
from ...designs._columns import GatheredColumns, gather
from ...designs._operations import score_errors
from ...ordering import largest
from ...result import Certificate, Progressed, Proof, Status, Tree
from ..drive import Scan, Solver
from ..pool.bounds import Bound, bound_at
from ..pool.branch import BranchAndBound
from ..pool.candidates import Candidates, Start
from ..pool.extraction import Squares
from ..pool.signed_ridge import signed_ridge
from ..risk import Risk
from ..task import Task
from .supports import REFIT_TOL, certificate_of, safe_magnitudes

MAX_SCANS = 50  # of tightening
FIRST_NODES = 25  # of a search before curvature is extracted
TIGHT_TOL = 1e-4  # gap of the relaxation, relative
NEW_FACTOR, NEW_MIN = 5, 50  # features that a scan adds to the pool
# Columns are compared, so many at most, where scores agree to this share; the entries of equal ones
# agree to that share of their own, or of the largest.
SAME_SCORE, SAME_COLUMN, SAME_ZERO, MOST_COMPARED = 1e-5, 1e-9, 1e-12, 2000
CANDIDATE_BYTES = 2**30  # of gathered candidates; nothing is branched on above


@dataclass(frozen=True, slots=True)
class _Tightened:
    """The best dual point of the relaxation over all features."""

    bound: Bound
    magnitude: FloatArray  # (m,) |c_j| at the dual point before scaling, or bounds of it
    dual: FloatArray  # (n,) that point


class _Clock:
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
class _Aim:
    """When tightening may stop: at a bound of `target`, or when its time is up."""

    objective: float  # of the best known model
    target: float
    clock: _Clock
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
    clock, single = _Clock(), task.groups_of_features() is None
    units, risk = task.units, task.risk(C)
    own, forced = units.of(support), units.of(task.forced)
    inside = np.concatenate([forced, np.setdiff1d(own, forced)])
    pool = GatheredColumns(task.design, 0)
    pool.add(units.features(inside))
    known = signed_ridge(
        pool.columns(), risk, task.signs[support], columns=pool.position(support), tol=REFIT_TOL,
        of_value=True,
    )  # fmt: skip
    objective = known.objective
    target = objective - max(goal.gap or 0.0, 0.0) * abs(objective)
    v = known.dual if dual is None else dual
    if resume is not None:
        v = resume.dual[resume.row[0]]
    tight = yield from _tighten(
        task, risk, inside, pool, _Aim(objective, target, clock, goal.time_limit), v,
        1 if resume is not None else MAX_SCANS,
    )  # fmt: skip
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
    strength = units.strength(tight.magnitude)
    aim = bound_at(risk, tight.dual, strength, own.size, forced, target)
    left = ~aim.dropped & units.usable
    left[own] = True
    left[forced] = False
    candidates = np.concatenate([forced, np.flatnonzero(left)])
    columns = units.features(candidates)
    if columns.size * risk.size * 8 > CANDIDATE_BYTES:
        return Proof(certificate, Status.CANDIDATES, False, (row,))
    problem = Candidates(
        gather(task.design, columns), units.take(candidates), task.named(candidates), risk,
        own.size, forced.size,
    )  # fmt: skip
    place = np.empty(units.usable.size, np.int64)
    place[candidates] = np.arange(candidates.size)
    spent = clock.seconds
    search, status, steps = _search(problem, place[own], goal, aim, resume, clock, report, single)
    clock.add_search(clock.seconds - spent)
    best = np.sort(units.features(candidates[search.support]))
    certificate = _certificate(task, C, best, tight)
    bound = min(search.bound, certificate.objective)
    certificate = replace(
        certificate,
        bound=max(certificate.bound, bound),
        tree=replace(search.tree(), diagonal=_of_features(task, search.problem)),
    )
    if certificate.proven:
        status = Status.OPTIMAL
    return Proof(certificate, status, not np.array_equal(best, support), (row, *steps))


def _search(
    problem: Candidates,
    support: IndexArray,
    goal: Goal,
    aim: Bound,
    resume: Tree | None,
    clock: _Clock,
    report: Callable[[Progressed], None] | None,
    single: bool,
) -> tuple[BranchAndBound, Status, list[Progressed]]:
    """Search over candidates; return the search, how it stopped and its history.

    Where that takes more than a few nodes, and the loss has curvature to extract, the search begins
    anew with it, from the best support so far.

    aim : what the relaxation shows with the wanted bound in place of the objective.
    single : whether the budget counts single features.
    """
    steps: list[Progressed] = []

    def run(search: BranchAndBound, most: int | None) -> Status:
        spent, begun = clock.seconds, len(search.history)
        before = search.history[-1].seconds if begun else 0.0

        def later(step: Progressed) -> Progressed:
            return replace(step, seconds=step.seconds - before + spent)

        told = None if report is None else lambda step: report(later(step))
        status = search.run(goal.time_limit - spent, most, told)
        steps.extend(later(step) for step in search.history[begun:])
        return status

    def begin(problem: Candidates) -> BranchAndBound:
        return BranchAndBound(problem, support, goal.gap or 0.0, aim.dual, aim.value, resume)

    search, most = begin(problem), goal.max_nodes
    if not (single and Squares.can_pose(problem)):
        return search, run(search, most), steps
    resumed = resume is not None and bool(resume.diagonal.any())
    if not resumed and problem.risk.loss.outputs == 1:  # nodes of several are slow without D
        first = FIRST_NODES if most is None else min(FIRST_NODES, most)
        status = run(search, first)
        if status is not Status.NODE_LIMIT or first == most:
            return search, status, steps
        support = search.support
    try:
        squares, deadline = Squares.of(problem), clock.deadline(goal.time_limit)
        sharper = squares and squares.extracted(aim.value, search.objective, deadline)
        if sharper is not None:
            search = begin(sharper)
    except KeyboardInterrupt:
        return search, Status.INTERRUPTED, steps
    return search, run(search, most), steps


def _of_features(task: Task, problem: Candidates) -> FloatArray:
    """Return the diagonal of a search as numbers of the features of X, none where it is 0."""
    if not problem.diagonal.any():
        return np.empty(0)
    found = np.zeros(task.design_of_features.shape[1])
    found[problem.names] = problem.diagonal
    return found


def _tighten(
    task: Task,
    risk: Risk,
    inside: IndexArray,
    pool: GatheredColumns,
    aim: _Aim,
    v: FloatArray,
    max_scans: int,
) -> Solver[_Tightened]:
    """Solve the relaxation over all features to TIGHT_TOL, or until its bound reaches the target.

    inside : the units of the best support, the forced ones first.
    pool : their columns; it grows.
    v : dual point to begin with.
    """
    design, units, k = task.design, task.units, inside.size
    single = task.groups_of_features() is None
    forced, support = units.of(task.forced), pool.features
    errors = score_errors(design, task.sample_weight)
    start: Start = np.empty(0, np.int64), np.empty(0), 0.0
    best: _Tightened | None = None
    relaxed = np.inf
    for _ in range(max_scans):
        scores = yield from aim.clock.scan(Scan(design, v))
        magnitude = safe_magnitudes(task, scores, v, support, errors)
        strength = units.strength(magnitude)
        bound = bound_at(risk, v, strength, k, forced, aim.objective)
        if best is None or bound.value > best.bound.value:
            best = _Tightened(bound, magnitude, v)
        done = relaxed - best.bound.value <= TIGHT_TOL * abs(best.bound.value)
        if done or best.bound.value >= aim.target or aim.clock.seconds > aim.time_limit:
            break
        strength[inside] = -1.0
        strength[~units.usable] = -1.0
        fresh = largest(strength, min(max(NEW_FACTOR * k, NEW_MIN), strength.size))
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
    tight: _Tightened,
) -> Certificate:
    """Certify a support by the best dual point alone: a verifier has no other for its figures."""
    risk = task.risk(C)
    fit = signed_ridge(
        gather(task.design, support), risk, task.signs[support], tol=REFIT_TOL, of_value=True
    )
    size = task.units.of(support).size
    known = bound_at(
        risk, tight.dual, tight.magnitude, size, task.forced, fit.objective, task.groups
    )
    certificate = certificate_of(task, C, support, fit, known)
    if task.groups is None:
        certificate = replace(certificate, equivalents=_equivalents(task, support, tight.magnitude))
    return certificate


def _equivalents(task: Task, support: IndexArray, magnitude: FloatArray) -> dict[int, IndexArray]:
    """Return the features with the column of one of the support, up to the sign."""
    magnitude = np.abs(magnitude)
    near = np.zeros(magnitude.size, bool)
    order = np.argsort(magnitude[support])
    known = magnitude[support][order]
    for side in ("left", "right"):
        place = np.searchsorted(known, magnitude, side=side)
        for step in (-1, 0):
            closest = known[np.clip(place + step, 0, known.size - 1)]
            near |= np.abs(magnitude - closest) <= SAME_SCORE * closest
    near &= task.usable
    if task.signs.any():  # scores that are 0 for their sign tell nothing of the columns
        near &= magnitude > 0
    near[support] = False
    others = np.flatnonzero(near)[:MOST_COMPARED]
    if not others.size:
        return {}
    Z, own = (gather(task.design, some).dense() for some in (others, support))
    found = {}
    for feature, column in zip(support.tolist(), own.T, strict=True):
        size = np.abs(column)[:, None]
        limit = SAME_COLUMN * size + SAME_ZERO * size.max()
        equal = (np.abs(Z - column[:, None]) <= limit).all(axis=0)
        opposite = (np.abs(Z + column[:, None]) <= limit).all(axis=0)
        same = others[equal | opposite]
        if same.size:
            found[feature] = same
    return found

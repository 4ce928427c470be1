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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ..core.memory import available_memory
from ..core.ranking import largest
from ..core.results import PROVEN, Certificate, Progressed, Proof, Status, Tree
from ..core.types import Columns, FloatArray, IndexArray
from ..data.column_sets import in_place
from ..data.gathered import GatheredColumns, gather
from ..data.operations import column_scaling, score_errors, top_features
from .bounds import Bound, bound_at, safe_scores
from .branch_and_bound import (
    NOTHING,
    BranchAndBound,
    CandidateProblem,
    NearBest,
    RelaxationOptions,
    Start,
)
from .curvature import LeastSquaresProblem, LogisticProblem
from .driver import BestDual, Scan, Solver
from .problem import Risk, Task, admitted, oriented
from .quadratic import proximal_shares, support_norm, top_squares
from .ridge_fits import Ridge, signed_ridge

# Certify supports with one scan: lower bounds of the l0 problem and safe fixing.


@dataclass(frozen=True, slots=True)
class SupportsTuning:
    """Constants of the refits and scans of certified supports."""

    refit_tol: float = 1e-12
    optimal: float = 5e-7  # relative gap of a fit, above which its certificate would be refused
    max_scores: int = 2**22  # scores that one scan may return: 32 MiB


SUPPORTS = SupportsTuning()
FAR, FAR_ROUNDING = 100.0, 2.0**-48  # columns with a mean of so many deviations; of their scores


def certify_supports(
    task: Task,
    supports: Sequence[IndexArray],
    *,
    C: float,
    known: Mapping[int, BestDual] | None = None,
) -> Solver[list[Certificate]]:
    """Certify supports, all with one scan (more where their scores would fill the memory).

    Each support is refitted to optimality on the scaling of `design`; at its dual point v,
    objective - D_k(v) = 1/2 (S_k(c^2) - sum_{j in S} c_j^2). Dual points of the same problem
    found earlier (`known`, by size) are scanned along and taken where they prove more. Bounds stay
    bounds in float32 storage: scores near the k-th are recomputed in float64, the others enter with
    their error.

    Where the task has groups, a support is certified as one of so many groups as it has features
    of, and `known` is by their number; the groups of forced features are forced.
    """
    design, risk, forced = task.design, task.risk(C), task.units.of(task.forced)
    sizes = [task.units.of(support).size for support in supports]
    features = np.unique(np.concatenate(supports))
    Z = gather(design, features)  # of all: they are nested, or nearly so
    fits = [
        signed_ridge(
            Z.take(np.searchsorted(features, support)).compact(),
            risk, task.signs[support], tol=SUPPORTS.refit_tol, of_value=True,
        )
        for support in supports
    ]  # fmt: skip
    for fit in fits:
        check_optimal(fit)
    owners: list[int] = []
    duals: list[FloatArray] = []
    for index, (size, fit) in enumerate(zip(sizes, fits, strict=True)):
        owners.append(index)
        duals.append(fit.dual)
        if known is not None and size in known:
            owners.append(index)
            duals.append(known[size].dual)
    norms = score_errors(design, task.sample_weight)
    far, blur = far_from_zero(task, features, Z)
    best: list[Bound | None] = [None] * len(supports)
    at_once = max(1, SUPPORTS.max_scores // design.shape[1])
    for first in range(0, len(duals), at_once):
        vectors = np.column_stack(duals[first : first + at_once])
        scores = yield Scan(design, vectors)
        for column in range(vectors.shape[1]):
            index, dual = owners[first + column], duals[first + column]
            size, upper, known_best = sizes[index], fits[index].objective, best[index]
            magnitude = safe_magnitudes(
                task, scores[:, column], vectors[:, column], supports[index], norms
            )
            if far.size:  # the scores that count may be of other columns
                top = np.union1d(far, top_features(magnitude, min(magnitude.size, 2 * size + 8)))
                far, blur = far_from_zero(task, top, gather(design, top))
                magnitude[far] += blur * float(np.abs(vectors[:, column]).sum())
            proof = bound_at(risk, dual, magnitude, size, forced, upper, task.units)
            if known_best is None or proof.value > known_best.value:
                best[index] = proof
    certificates = []
    for support, fit, found in zip(supports, fits, best, strict=True):
        assert found is not None
        certificates.append(certificate_of(task, C, support, fit, found))
    return certificates


def check_optimal(fit: Ridge) -> None:
    """Raise LinAlgError where rounding kept the coefficients of a support from the best ones."""
    gap = fit.objective - fit.bound
    if not gap <= SUPPORTS.optimal * fit.objective:
        raise np.linalg.LinAlgError(
            f"rounding keeps {fit.coef.size} coefficients from their best values: their objective "
            f"is {fit.objective:.6g}, and the least one is only known to be above {fit.bound:.6g}. "
            "Standardise the columns (standardize=True), subtract numbers near their means from "
            "them, or choose a smaller C."
        )


def certificate_of(
    task: Task, C: float, support: IndexArray, fit: Ridge, found: Bound
) -> Certificate:
    """Return what the fit of a support and one dual point say of it."""
    q = task.loss.outputs
    intercept, effects = task.risk(C).unpenalised(fit.margins, fit.intercept)
    kept = task.kept_covariates
    covariates = task.covariates[kept]
    if not covariates.size:
        effects = np.empty(0)
    else:
        # The columns of the covariates are those of X; here all are on the selection scaling.
        mean, scale = column_scaling(task.design, covariates * q)
        intercept = intercept + effects[..., kept] @ mean
        effects = effects[..., kept] / scale
    groups = task.groups_of_features()
    # To a verifier covariates that depend on others are features, of no use to any model.
    features = task.usable.copy()
    features[task.columns(task.covariates[~kept])] = True
    fixed, dropped = task.units.spread(found.fixed), task.units.spread(found.dropped)
    return Certificate(
        C=C,
        scaling=task.scaling,
        support=task.features(support),
        coef=task.by_output(fit.coef),
        intercept=intercept + task.origin,
        objective=fit.objective,
        bound=min(found.value, fit.objective),
        dual=found.dual if q == 1 else found.dual.reshape(q, -1),
        fixed_in=int((fixed & features).sum()) // q,
        candidates=int((features & ~dropped).sum()) // q,
        loss=task.loss.name,
        fit_intercept=task.has_intercept,
        forced=task.features(task.forced),
        parameters=task.loss.parameters,
        groups=groups,
        n_groups=None if groups is None else task.units.of(support).size,
        covariates=covariates,
        effects=effects,
        signs=signs_of(task),
        max_abs_coef=None if task.max_abs_coef == np.inf else task.max_abs_coef,
    )


def signs_of(task: Task) -> np.ndarray:
    """Return the signs that a certificate names: (m,), none where coefficients may have any."""
    return task.signs if task.signs.any() else task.signs[:0]


def safe_magnitudes(
    task: Task, scores: FloatArray, v: FloatArray, support: IndexArray, norms: FloatArray | None
) -> FloatArray:
    """Return upper bounds of |c_j|, exact to float64 where they decide the largest units.

    A score counts where its feature's coefficient may have its sign, and keeps it there.

    norms : (m,) error of a score over ||v||, None where scans are exact to float64.
    support : as many units as it has are in question.
    """
    if norms is None:
        upper = oriented(np.abs(admitted(scores, task.signs)), task.signs)
    else:
        upper = safe_scores(
            scores, float(np.linalg.norm(v)) * norms, task.units, support,
            lambda columns: gather(task.design, columns).dot(v),
        )  # fmt: skip
    upper[~task.usable] = 0.0
    return upper


def far_from_zero(
    task: Task, features: IndexArray, columns: Columns
) -> tuple[IndexArray, FloatArray]:
    """Return the features whose columns lie far from 0, and what is added to their |c_j| / sum |v|.

    The mean of such a column is subtracted with the rounding of its size: by the design, or by the
    sum over a dual point where the intercept alone does it. A verifier, which centres twice, can
    tell that.

    columns : those of the features.
    """
    if not task.has_intercept or task.design.is_sparse:
        return features[:0], np.empty(0)
    mean, scale = column_scaling(task.design, features)
    dense = columns.dense()
    away = np.abs(dense.mean(axis=0)) + np.abs(mean * scale)
    far = (away > FAR * dense.std(axis=0)) & task.usable[features]
    return features[far], FAR_ROUNDING * np.sqrt(len(dense)) * away[far]


# What of the curvature of a loss bounds can take into the ridge: that of squares, or of labels.


@dataclass(frozen=True, slots=True)
class ProofCurvatureTuning:
    """Constants of the curvature that proofs take."""

    first_nodes: int = 25  # of a search before curvature is extracted
    # Of the logistic loss one more for so many rows: its curvature takes longer.
    rows_a_node: int = 64
    quick: float = 0.45  # of the gap: where these nodes close as much, more of them do better
    seconds: float = 3e-9  # that the curvature takes, for rows times rows times features: about
    share: float = 0.5  # of the time that is left, which it may take


PROOF_CURVATURE = ProofCurvatureTuning()


def nodes_before(problem: CandidateProblem) -> int | None:
    """Return how many nodes a search has before it takes curvature; None: it never does.

    The nodes of several outputs are slow without it.
    """
    if LeastSquaresProblem.can_pose(problem):
        return PROOF_CURVATURE.first_nodes if problem.risk.loss.outputs == 1 else 0
    if LogisticProblem.can_pose(problem):
        return PROOF_CURVATURE.first_nodes + problem.risk.size // PROOF_CURVATURE.rows_a_node
    return None


def with_curvature(
    problem: CandidateProblem,
    bound: float,
    objective: float,
    *,
    so_far: float,
    upper: float,
    deadline: float,
) -> CandidateProblem | None:
    """Return a problem with a part of its curvature in the ridge, None where that is not worth it.

    bound : of the relaxation without it.
    objective : of the best known model.
    so_far : the bound of the search without it.
    upper : models that are in question have an objective of so much at most.
    deadline : of `time.perf_counter`.
    """
    if LogisticProblem.can_pose(problem):
        seconds = PROOF_CURVATURE.seconds * problem.risk.size**2 * problem.n_units
        late = seconds > PROOF_CURVATURE.share * (deadline - time.perf_counter())
        if late or so_far - bound > PROOF_CURVATURE.quick * (objective - bound):
            return None
        return LogisticProblem.of(problem, bound, objective, upper, deadline)
    squares = LeastSquaresProblem.of(problem)
    return squares and squares.extracted(bound, objective, deadline)


def noted(tree: Tree, problem: CandidateProblem, m: int) -> Tree:
    """Return a tree with a note of the curvature that its bounds take; m: the features of X."""
    if isinstance(problem, LogisticProblem):
        return replace(tree, minorants=problem.minorants)
    if not problem.diagonal.any():
        return tree
    diagonal = np.zeros(m)
    diagonal[problem.names] = problem.diagonal
    return replace(tree, diagonal=diagonal)


# Features whose columns equal, up to the sign, those of a support: they can take their place.

# Columns are compared, so many at most, where scores agree to this share; the entries of equal ones
# agree to that share of their own, or of the largest.
SAME_SCORE, SAME_COLUMN, SAME_ZERO, MOST_COMPARED = 1e-5, 1e-9, 1e-12, 2000
FIRST_ROWS = 64


def equivalents(task: Task, support: IndexArray, magnitude: FloatArray) -> dict[int, IndexArray]:
    """Return the features with the column of one of the support, up to the sign.

    Every model has the forced features: nothing takes their place.
    """
    support = np.setdiff1d(support, task.forced)
    if not support.size:
        return {}
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
        limit = SAME_COLUMN * np.abs(column) + SAME_ZERO * np.abs(column).max()
        same = np.arange(others.size)
        for rows in (slice(FIRST_ROWS), slice(None)):  # few columns agree in the first ones
            if same.size:
                some, ours, most = Z[rows, same], column[rows, None], limit[rows, None]
                equal = (np.abs(some - ours) <= most).all(axis=0)
                opposite = (np.abs(some + ours) <= most).all(axis=0)
                same = same[equal | opposite]
        if same.size:
            found[feature] = others[same]
    return found


# Proofs of one support: the bound by scans, and then the search.

MAX_SCANS = 50  # of tightening
TIGHT_TOL = 1e-4  # gap of the relaxation, relative
NEW_FACTOR, NEW_MIN = 5, 50  # features that a scan adds to the pool
NEW_GROUPS, NEW_GROUPS_MIN = 2, 5  # groups, whose columns may be many
# Of gathered candidates, and of the memory that is left; nothing is branched on above.
CANDIDATE_BYTES, MEMORY_SHARE = 2**30, 0.25


@dataclass(frozen=True, slots=True)
class Tightened:
    """The best dual point of the relaxation over all features."""

    bound: Bound
    magnitude: FloatArray  # (m,) |c_j| at the dual point before scaling, or bounds of it
    dual: FloatArray  # (n,) that point
    start: Start  # near the solution: features, their coefficients, the intercept


class ProofClock:
    """Seconds of a proof, without the searches of other classes, which run in lockstep with it."""

    _thread = threading.local()  # `searched`: seconds of all searches in this thread

    def __init__(self) -> None:
        self._begin, self._others = time.perf_counter(), 0.0

    @property
    def seconds(self) -> float:
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
class TighteningAim:
    """When tightening may stop: at a bound of `target`, or when its time is up."""

    objective: float  # of the best known model
    target: float
    clock: ProofClock
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
    clock = ProofClock()
    known = Incumbent.of(task, support, C)
    objective = known.fit.objective
    target = objective - max(goal.gap or 0.0, 0.0) * abs(objective)
    v = known.fit.dual if dual is None else dual
    if resume is not None:
        v = resume.dual[resume.row[0]]
    aim = TighteningAim(objective, target, clock, goal.time_limit)
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
    left = RemainingSearch.of(task, known, tight, target)
    if left is None:
        return Proof(certificate, Status.CANDIDATES, False, (row,))
    shown = left.shown

    def begin(problem: CandidateProblem, support: IndexArray) -> BranchAndBound:
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
class Incumbent:
    """The best known support of a problem, its fit, and the columns that are gathered so far."""

    risk: Risk
    inside: IndexArray  # its units, the forced ones first
    n_forced: int  # of them
    pool: GatheredColumns  # of its columns; it grows
    fit: Ridge

    @classmethod
    def of(cls, task: Task, support: IndexArray, C: float) -> Incumbent:
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


SearchKind = TypeVar("SearchKind", bound=BranchAndBound)


@dataclass(frozen=True, slots=True)
class RemainingSearch:
    """What the relaxation over all features leaves to be searched."""

    problem: CandidateProblem
    units: IndexArray  # its candidates, as units of the task
    support: IndexArray  # the best known one, as units of the problem
    shown: Bound  # by the relaxation, with the wanted bound instead of the objective
    single: bool  # whether the budget counts single features of X

    @classmethod
    def of(
        cls, task: Task, known: Incumbent, tight: Tightened, target: float
    ) -> RemainingSearch | None:
        """Gather the units that are in models below a target; None where there are too many."""
        units, own, forced, risk = task.units, known.inside, known.forced, known.risk
        shown = bound_at(risk, tight.dual, tight.magnitude, own.size, forced, target, units)
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
        problem = CandidateProblem(
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
        begin: Callable[[CandidateProblem, IndexArray], SearchKind],
        goal: Goal,
        clock: ProofClock,
        report: Callable[[Progressed], None] | None,
        *,
        resume: Tree | None = None,
    ) -> tuple[SearchKind, Status, list[Progressed]]:
        """Search the candidates; return the search, how it stopped and its history.

        Where that takes more than a few nodes, and the loss has curvature to extract, the search
        begins anew with it, from the best support so far.

        begin : makes a search of a problem from a support.
        resume : the tree that it goes on from; where that has curvature, it begins with it.
        """
        steps: list[Progressed] = []

        def run(search: SearchKind, most: int | None) -> Status:
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
            problem = LogisticProblem.again(problem, resume.minorants, objective) or problem
        search = begin(problem, self.support)
        if before is None or isinstance(problem, LogisticProblem):
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
    task: Task, known: Incumbent, aim: TighteningAim, v: FloatArray, max_scans: int = MAX_SCANS
) -> Solver[Tightened]:
    """Solve the relaxation over all features to TIGHT_TOL, or until its bound reaches the target.

    v : dual point to begin with.
    """
    design, units, risk, pool = task.design, task.units, known.risk, known.pool
    inside, forced, k = known.inside, known.forced, known.inside.size
    grouped = task.groups is not None
    factor, least = (NEW_GROUPS, NEW_GROUPS_MIN) if grouped else (NEW_FACTOR, NEW_MIN)
    support, start = pool.features, NOTHING
    errors = score_errors(design, task.sample_weight)
    best: Tightened | None = None
    relaxed, tol = np.inf, TIGHT_TOL
    for _ in range(max_scans):
        scores = yield from aim.clock.scan(Scan(design, v))
        magnitude = safe_magnitudes(task, scores, v, support, errors)
        strength = units.strength(magnitude)
        bound = bound_at(risk, v, magnitude, k, forced, aim.objective, units)
        if best is None or bound.value > best.bound.value:
            used = np.flatnonzero(start[1])
            near = pool.features[start[0][used]], start[1][used], start[2]
            best = Tightened(bound, magnitude, v, near)
        gap = relaxed - best.bound.value
        done = gap <= TIGHT_TOL * abs(best.bound.value)
        if done or best.bound.value >= aim.target or aim.clock.seconds > aim.time_limit:
            break
        strength[inside] = -1.0
        strength[~units.usable] = -1.0
        most = max(factor * k, least, 0 if grouped else inside.size // 2)
        fresh = largest(strength, min(most, strength.size))
        fresh = fresh[strength[fresh] >= 0]
        if not fresh.size and tol <= TIGHT_TOL:
            break
        inside = np.concatenate([inside, fresh])
        pool.add(units.features(fresh))
        problem = CandidateProblem(
            pool.columns(), units.take(inside), task.named(inside), risk, k, forced.size
        )
        squares = None
        if task.loss.outputs > 1 and LeastSquaresProblem.can_pose(problem):
            squares = LeastSquaresProblem.of(problem)
        n_free, deadline = min(k, inside.size) - forced.size, aim.clock.deadline(aim.time_limit)
        if grouped and squares is None:
            tol = max(TIGHT_TOL, gap / abs(relaxed)) if relaxed < np.inf else 1.0
            code = np.repeat(np.arange(inside.size), units.sizes(inside))
            groups = GroupRelaxation(problem.Z, code, risk, forced.size, n_free, deadline)
            u = np.append(start[1], np.zeros(pool.size - start[1].size))
            u, b, v, relaxed = groups.solve(u, start[2], GROUP_BOUNDS.share * tol)
            start = np.arange(pool.size), u, b
            continue
        options = RelaxationOptions(start, 0.1 * TIGHT_TOL, deadline=deadline)
        answer = (squares or problem).relax(np.arange(inside.size), forced.size, n_free, options)
        start = np.arange(pool.size), answer.coef, answer.intercept
        relaxed, v = answer.objective, answer.dual
    assert best is not None
    return best


def _certificate(task: Task, C: float, support: IndexArray, tight: Tightened) -> Certificate:
    """Certify a support by the best dual point alone: a verifier has no other for its figures."""
    risk = task.risk(C)
    columns = gather(task.design, support).compact()
    fit = signed_ridge(columns, risk, task.signs[support], tol=SUPPORTS.refit_tol, of_value=True)
    size, forced = task.units.of(support).size, task.units.of(task.forced)
    known = bound_at(risk, tight.dual, tight.magnitude, size, forced, fit.objective, task.units)
    certificate = certificate_of(task, C, support, fit, known)
    if task.groups is None:
        certificate = replace(certificate, equivalents=equivalents(task, support, tight.magnitude))
    return certificate


# The relaxation of the l0 problem over groups in a pool, of which `tighten` takes dual points.
#
#    min_{u, b}  1/2 ||u_A||^2 + 1/2 ||h_F||_(q)^2 + sum_i s_i f(y_i, z_i'u + b),  h_g = ||u_g||
#
# A are the groups that are fixed in, F the free ones, of which a model takes q, and ||.||_(q) is
# the k-support norm as in `relaxation`: the minimax problem over groups with r = q. Its value
# over a pool of gathered groups gives a dual point, and a scan with that the bound over all
# features and the groups that the pool lacks.
#
# (RG) is solved by accelerated proximal gradient steps: the proximal map shrinks every group by a
# factor that depends on its length only, and many correlated columns in a group do no harm.
#
# Source: Beck and Teboulle, SIAM J. Imaging Sciences 2(1), 2009; restarts by the gradient:
# O'Donoghue and Candes, Foundations of Computational Mathematics 15, 2015.


@dataclass(frozen=True, slots=True)
class GroupBoundsTuning:
    """Constants of the relaxation that bounds groups."""

    share: float = 0.1  # the pool's problem is solved to this share of the gap over all features
    steps: int = 5  # between two certificates
    max_steps: int = 2000
    max_doublings: int = 100  # of the step constant, in one step
    shrink: float = 0.97  # of that constant after every step, so that it follows the curvature down
    noise: float = 1e-8  # relative differences of the loss below this are too inexact to compare


GROUP_BOUNDS = GroupBoundsTuning()


class GroupRelaxation:
    """(RG) over gathered columns.

    code : (p,) group of every column, 0, 1, ...; the first `n_fixed` are fixed in.
    n_free : q.
    """

    def __init__(
        self,
        Z: Columns,
        code: IndexArray,
        risk: Risk,
        n_fixed: int,
        n_free: int,
        deadline: float = np.inf,
    ) -> None:
        self._Z, self._code, self._risk = Z, code, risk
        self._n_fixed, self._q, self._deadline = n_fixed, n_free, deadline

    def solve(
        self, u: FloatArray, b: float, tol: float
    ) -> tuple[FloatArray, float, FloatArray, float]:
        """Return u, b, the best dual point and the objective, at a gap of `tol` relative to that.

        u, b : where to start.
        """
        Z = self._Z
        z = Z.times(u)
        previous, z_previous, t, L = u, z, 1.0, 0.0
        best_bound, best_dual = -np.inf, np.zeros_like(z)
        best, objective = (u, b), np.inf
        for n_steps in range(GROUP_BOUNDS.max_steps + 1):
            if n_steps % GROUP_BOUNDS.steps == 0:
                b, value, slope = self._risk.best(z, b)
                here = value + self._penalty(u)
                if here < objective:
                    best, objective = (u, b), here
                bound, dual = self._bound(slope)
                if bound > best_bound:
                    best_bound, best_dual = bound, dual
                late = time.perf_counter() >= self._deadline
                if late or objective - best_bound <= tol * abs(objective):
                    break
            t_next = 0.5 + np.sqrt(0.25 + t * t)
            momentum = (t - 1.0) / t_next
            w = u + momentum * (u - previous)
            z_w = z + momentum * (z - z_previous)  # Z is linear: no product
            b, value, slope = self._risk.best(z_w, b)
            gradient = Z.dot(slope)
            if L <= 0.0:
                L = self._curvature_along(gradient, z_w + b)
            for _ in range(GROUP_BOUNDS.max_doublings):
                u_new = self._proximal(w - gradient / L, L)
                z_new = Z.times(u_new)
                move = u_new - w
                _, value_new, slope_new = self._risk.best(z_new, b)
                square = float(move @ move)
                if abs(value_new - value) > GROUP_BOUNDS.noise * abs(value):
                    excess = value_new - value - float(gradient @ move) - 0.5 * L * square
                else:  # the same to second order, from gradients, which are exact for small moves
                    excess = float((slope_new - slope) @ (z_new - z_w)) - L * square
                if excess <= 0.0:
                    break
                L *= 2.0
            else:  # the products overflow
                break
            if float((w - u_new) @ (u_new - u)) > 0.0:  # momentum points uphill: restart
                t_next = 1.0
            previous, z_previous = u, z
            u, z, t = u_new, z_new, t_next
            L *= GROUP_BOUNDS.shrink
        return *best, best_dual, objective

    def _sizes(self, v: FloatArray) -> FloatArray:
        """Return ||v_g||, (n_groups,)."""
        return np.sqrt(np.bincount(self._code, v * v))

    def _penalty(self, u: FloatArray) -> float:
        size = self._sizes(u)
        fixed, free = size[: self._n_fixed], size[self._n_fixed :]
        return 0.5 * float(fixed @ fixed) + support_norm(free, self._q)[0]

    def _bound(self, slope: FloatArray) -> tuple[float, FloatArray]:
        """Return the bound that the gradient of the loss gives, and its dual point."""
        dual = self._risk.dual_point(slope)
        size = self._sizes(self._Z.dot(dual))
        fixed, free = size[: self._n_fixed], size[self._n_fixed :]
        quadratic = 0.5 * (float(fixed @ fixed) + top_squares(free, self._q))
        bound, scale = self._risk.bound(dual, quadratic)
        return bound, scale * dual

    def _proximal(self, v: FloatArray, curvature: float) -> FloatArray:
        size = self._sizes(v)
        share = np.ones(size.size)
        share[self._n_fixed :] = proximal_shares(size[self._n_fixed :], self._q, curvature)
        factor = curvature * share / (curvature * share + 1.0)
        return np.asarray(v * factor[self._code])

    def _curvature_along(self, direction: FloatArray, margins: FloatArray) -> float:
        """Return the curvature of the loss along a direction: where the search for L starts."""
        square = float(direction @ direction)
        if square <= 0.0:
            return 1.0  # a zero gradient moves nothing, whatever L is
        step = self._Z.times(direction) ** 2
        bend = float(self._risk.curvature(margins) @ step)
        return (bend if bend > 0 else float(self._risk.weight @ step)) / square


# All supports whose objective is within a share of the best one, by scans and a search.


@dataclass(frozen=True, slots=True)
class Near:
    """The supports that a search has found, in units of the task."""

    supports: IndexArray  # (n_supports, k) each sorted; those of the least objective first
    objectives: FloatArray  # (n_supports,)
    bound: float  # of all other supports
    candidates: IndexArray  # sorted: units in no support that is near are left out as far as known
    status: Status
    history: tuple[Progressed, ...]


def near_best(
    task: Task,
    support: IndexArray,
    within: float,
    most: int,
    *,
    C: float,
    time_limit: float,
    report: Callable[[Progressed], None] | None = None,
) -> Solver[Near]:
    """Find all supports of this size with an objective of at most (1 + within) times the best.

    Parameters
    ----------
    support : (k,) sorted features, the best known.
    most : how many are kept, those of the least objective.
    time_limit, report : as for `prove_support`.
    """
    clock, known = ProofClock(), Incumbent.of(task, support, C)
    objective = known.fit.objective
    target = objective + (within + 2 * PROVEN) * abs(objective)
    aim = TighteningAim(target, target, clock, time_limit)
    tight = yield from tighten(task, known, aim, known.fit.dual)
    row = Progressed(clock.seconds, 0, 1, objective, min(tight.bound.value, objective))
    if report is not None:
        report(row)
    left = RemainingSearch.of(task, known, tight, target)
    if left is None:
        only, value = np.sort(known.inside)[None], np.array([objective])
        status, usable = Status.CANDIDATES, np.flatnonzero(task.units.usable)
        return Near(only, value, tight.bound.value, usable, status, (row,))
    shown = left.shown

    def begin(problem: CandidateProblem, support: IndexArray) -> NearBest:
        return NearBest(problem, support, within, most, shown.dual, shown.value)

    spent = clock.seconds
    search, status, steps = left.search(begin, Goal(None, time_limit), clock, report)
    clock.add_search(clock.seconds - spent)
    found, objectives, bound, many = search.models()
    supports = np.sort(left.units[found], axis=1)
    if status is Status.GAP:
        status = Status.LIMIT if many else Status.COMPLETE
    candidates = np.sort(left.units)
    return Near(supports, objectives, bound, candidates, status, (row, *steps))

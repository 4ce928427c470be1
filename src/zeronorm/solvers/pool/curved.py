"""The logistic loss over candidates with a part of its curvature in the ridge.

No model that is better than the best known one has margins beyond certain ends (`pool.reach`), so
that for it the loss is at least one with quadratic tails (`pool.tails`), whose second derivative is
a_i or more at every margin. With A = diag(w_i a_i), H = X'AX (X centred by A where the intercept is
free), D >= 0 diagonal and H - D positive semidefinite, what is said of least squares in
`pool.extraction` holds: with v a dual point, z the margins where v is minus the derivative,
(u0, b0) their least squares fit by A and e = z - X u0 - b0,

    loss(u) >= -conjugate(v) - c'u + 1/2 e'Ae + 1/2 (u - u0)'D(u - u0),    c = X'v,

so that a_j = (c_j + D_j u0_j) / (1 + D_j)^(1/2) are the scores of the bound. A better bound leaves
less room for margins, which is more curvature: this is done some times, each from the one before.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.results import Minorant
from ...core.types import FloatArray, IndexArray
from ...losses import Logistic
from .bounds import Bound, best_features, decide
from .candidates import Candidates, Start
from .extraction import BARRIERS, EXTRACTION, centred_diagonal, is_inside, rounding_of
from .nodes import PROVEN
from .reach import Margins, reach
from .relaxed import Relaxed
from .shares import ShareProblem
from .support_norm import support_norm
from .tails import Tailed


@dataclass(frozen=True, slots=True)
class CurvedTuning:
    """Constants, each with what it was measured for."""

    most: int = 640  # features
    most_work: float = 1e10  # rows times rows times features: what the ends of margins cost
    worth: float = 0.4  # of the gap, that it closes where it is used: its nodes take longer
    costly: int = (
        1 << 19
    )  # entries of the columns from which on relaxations take long by themselves
    rough: float = 1e-4  # gap of the relaxations on the way, relative
    steady: float = 0.5  # of the mean slope that D is given everywhere: other features come next
    descent: float = 1e-4


CURVED = CurvedTuning()
ROUNDS, GAIN = 2, 0.05  # at most; each has to close this share of the gap that is left
SOLVED, SHARPENED = 6, 1  # steps of each barrier; how often D is found again
MAX_NEWTON, HALVINGS = 50, 30
NEAR, LEAST_MOVED = 0.9, 32  # of the scores of features that move; how many do


@dataclass(frozen=True, slots=True)
class Curved(Candidates):
    """The l0 problem of the logistic loss over candidates of one feature each."""

    X: FloatArray  # (n, n_units) the features, centred where the intercept is free
    tailed: Tailed
    part: FloatArray  # D, or zeros
    centre: FloatArray  # (n_units,) means of X by A
    inverse: FloatArray  # of H where there is D
    limit: FloatArray  # H, a little less
    minorants: tuple[Minorant, ...] = ()  # how they were found

    @staticmethod
    def can_pose(problem: Candidates) -> bool:
        """Return whether a problem is one of the logistic loss with more rows than candidates."""
        risk, p = problem.risk, problem.n_units
        n = risk.size
        plain = isinstance(risk.loss, Logistic) and not problem.units.signs.any()
        plain &= problem.Z.shape[1] == p and not problem.units.bounded
        large = CURVED.costly <= p * n <= EXTRACTION.most_entries and n * n * p <= CURVED.most_work
        return plain and large and p < min(n, CURVED.most + 1)

    @classmethod
    def of(
        cls, problem: Candidates, bound: float, objective: float, upper: float, deadline: float
    ) -> Curved | None:
        """Return the problem with the curvature of its loss, None where that is not worth it.

        bound : of the relaxation without it.
        objective : of the best known model.
        upper : bounds hold for models with an objective of so much at most.
        deadline : of `time.perf_counter`.
        """
        known = cls._without(problem)
        every, q = np.arange(problem.n_units), problem.budget - problem.n_forced
        start: Start = every[:0], np.empty(0), 0.0

        def relaxed(known: Curved) -> Relaxed:
            """Return the solution of the relaxation, from the one before."""
            nonlocal start
            answer = known.relax(
                every, problem.n_forced, q, start=start, tol=CURVED.rough, deadline=deadline
            )
            start = every, answer.coef, answer.intercept
            return answer

        answer, best = relaxed(known), bound
        slope, nowhere = known._slope(answer), np.zeros(problem.risk.size)
        # As if no margin left the core.
        hoped = known._with_tails(answer.coef, answer.intercept, nowhere, nowhere)
        if hoped is None:
            return None
        wanted = bound + CURVED.worth * (objective - bound)
        if not relaxed(hoped._with_part(slope, BARRIERS)).bound > wanted:
            return None
        for _ in range(ROUNDS):
            ends = reach(known._margins, answer.coef, answer.intercept, upper, deadline)
            following = ends and known._with_tails(answer.coef, answer.intercept, *ends)
            if following is None:
                break
            origin, own = answer, -np.inf
            for barriers in (BARRIERS, *(BARRIERS[-1:],) * SHARPENED):
                candidate = following._with_part(slope, barriers)
                answer = relaxed(candidate)
                slope = 0.5 * (slope + candidate._slope(answer))
                if answer.bound > own:
                    own, following = answer.bound, candidate
            if not own - best > GAIN * (objective - best):
                break
            best, known = own, following._noted(origin.coef, origin.intercept, upper)
        late = time.perf_counter() >= deadline
        return known if best > wanted and not late else None

    @classmethod
    def again(
        cls, problem: Candidates, minorants: Sequence[Minorant], upper: float
    ) -> Curved | None:
        """Return the problem with the minorants of an earlier search, which are shown anew.

        None where they are of other candidates or better models, or show less here.

        upper : models that are in question have an objective of so much at most.
        """
        known, order = cls._without(problem), np.argsort(problem.names)
        place = np.argsort(order)
        for one in minorants:
            better = one.objective < upper - PROVEN * abs(upper)
            sizes = {one.features.size, one.coef.size, one.diagonal.size}
            own = len(sizes) == 1 and np.array_equal(one.features, problem.names[order])
            if better or not own:
                return None
            u, b = one.coef[place], one.intercept
            ends = reach(known._margins, u, b, one.objective, np.inf)
            following = ends and known._with_tails(u, b, *ends)
            if following is None or not is_inside(following.limit, one.diagonal[place]):
                return None
            following = replace(following, part=one.diagonal[place])
            known = following._noted(u, b, one.objective)
        return known

    @classmethod
    def _without(cls, problem: Candidates) -> Curved:
        """Return a problem without tails and D."""
        X, risk, nothing = np.asarray(problem.Z.dense(), np.float64), problem.risk, np.empty((0, 0))
        if risk.intercept:
            X = X - risk.weight @ X / float(risk.weight.sum())
        zeros = np.zeros(problem.n_units)
        return cls(
            problem.Z, problem.units, problem.names, risk, problem.budget, problem.n_forced, X,
            Tailed.without(risk.y, risk.weight), zeros, zeros, nothing, nothing,
        )  # fmt: skip

    @property
    def diagonal(self) -> FloatArray:
        """(n_units,) D, or zeros."""
        return self.part

    def relax(
        self,
        chosen: IndexArray,
        n_fixed: int,
        n_free: int,
        *,
        start: Start,
        tol: float,
        cutoff: float = np.inf,
        deadline: float = np.inf,
        ahead: bool = False,
    ) -> Relaxed:
        """Solve the relaxation over some units, the fixed ones first, by Newton's method.

        Where they are one model, it is that of the loss itself.
        """
        if n_fixed + n_free == chosen.size:
            return Candidates.relax(
                self, chosen, n_fixed, n_free, start=start, tol=tol, cutoff=cutoff,
                deadline=deadline, ahead=ahead,
            )  # fmt: skip
        X, D = self.X[:, chosen], self.part[chosen]
        root = np.sqrt(1.0 + D)
        u = np.zeros(self.n_units)
        u[start[0]] = start[1]
        u, b = u[chosen], start[2] * self.risk.intercept

        def rest_of(u: FloatArray) -> float:
            """Return what the objective has beside the loss."""
            size = root * u
            square = float(size[:n_fixed] @ size[:n_fixed]) - float(D @ u**2)
            return 0.5 * square + support_norm(size[n_fixed:], n_free)[0]

        value, slope, bend = self.tailed.at(X @ u + b)
        objective, best = float(value) + rest_of(u), -np.inf
        share, into, out = (np.zeros(chosen.size) for _ in range(3))
        for _ in range(MAX_NEWTON):
            own, total = X.T @ slope, float(bend.sum())
            some = _moving(np.abs(D * u - own) / root, u, n_fixed, n_free)
            Z, scale = X[:, some], root[some]
            matrix = Z.T @ (bend[:, None] * Z)
            mean, short = np.zeros(some.size), 0.0
            if self.risk.intercept:
                mean, short = bend @ Z / total, float(slope.sum())
                matrix -= total * np.outer(mean, mean)
            own = own[some] - short * mean
            right = matrix @ u[some] - own
            level = objective - rest_of(u) - float(own @ u[some])
            level += 0.5 * float(u[some] @ (matrix @ u[some]))
            matrix -= np.diag(D[some])
            problem = ShareProblem(
                matrix / np.outer(scale, scale), (right / scale)[:, None], n_fixed, n_free
            )
            found = problem.minimise((scale * u[some])[:, None], 0.1 * tol, np.inf, level, deadline)
            move = found.coef[:, 0] / scale - u[some]
            shift = -short / total - float(mean @ move) if self.risk.intercept else 0.0
            promised, step = level + found.value - objective, 1.0
            for halvings in range(HALVINGS + 1):
                step *= 0.0 if halvings == HALVINGS else 1.0  # no digits are left
                at = u.copy()
                at[some] += step * move
                value, slope, bend = self.tailed.at(X @ at + b + step * shift)
                following = float(value) + rest_of(at)
                if following <= objective + CURVED.descent * step * promised:
                    break
                step *= 0.5
            u, b, objective = at, b + step * shift, following
            dual = self.risk.loss.inside(self.risk.dual_point(slope), self.risk.y, self.risk.weight)
            bound = self.bound(dual, chosen, n_fixed, n_fixed + n_free, np.inf).value
            best = max(best, bound)
            late = time.perf_counter() >= deadline
            if objective - bound <= tol * abs(objective) or bound > cutoff or late or not step:
                break
        share[some], into[some], out[some] = found.share, found.into, found.out
        return Relaxed(u, b, share, dual, objective, best, into, out)

    def bound(
        self,
        dual: FloatArray,
        chosen: IndexArray,
        n_fixed: int,
        size: int,
        upper: float,
        scores: FloatArray | None = None,
    ) -> Bound:
        """Return what a dual point shows of the models of `size` of some units, at best.

        scores : of no use, as those of all units are needed.
        """
        scores = self.X.T @ dual
        plain = Candidates.bound(self, dual, chosen, n_fixed, size, upper, scores[chosen])
        if not self.part.any():
            return plain
        z, D = self.tailed.margins(dual), self.part
        bend, value = self.tailed.bend, float(self.tailed.at(z)[0])
        centred = z - float(bend @ z) / float(bend.sum()) * self.risk.intercept
        u = self.inverse @ (self.X.T @ (bend * centred) - self.centre * float(bend @ centred))
        away = centred - (self.X @ u - float(self.centre @ u))
        value += float(dual @ z) + 0.5 * float(bend @ away**2) + 0.5 * float(D @ u**2)
        own = (scores + D * u) / np.sqrt(1.0 + D)
        best = best_features((own**2)[chosen], size, np.arange(n_fixed))
        found = decide(best, value - 0.5 * best.value, 1.0, dual, upper)
        return found if found.value > plain.value else plain

    def _slope(self, answer: Relaxed) -> FloatArray:
        """Return the derivative of the value of a relaxation in D."""
        square = (self.X.T @ answer.dual + self.part * answer.coef) ** 2 / (1.0 + self.part)
        return np.asarray(0.5 * square * answer.share * (1.0 - answer.share) / (1.0 + self.part))

    @property
    def _margins(self) -> Margins:
        return Margins(
            self.X, self.tailed, self.part, self.n_forced, self.budget, self.risk.intercept,
            float(np.abs(self.Z.dense()).max()),
        )  # fmt: skip

    def _with_tails(
        self, u: FloatArray, b: float, low: FloatArray, high: FloatArray
    ) -> Curved | None:
        """Return the problem with tails for margins from low to high, next to no D.

        u, b : a solution, whose margins are to be in the core. None where no curvature is left.
        """
        X, risk = self.X, self.risk
        z = X @ u + b
        tailed = Tailed.within(risk.y, risk.weight, z, low, high)
        bend, p = tailed.bend, self.n_units
        if not (bend > 0).all():
            return None
        centre = bend @ X / float(bend.sum()) if risk.intercept else np.zeros(p)
        centred = X - centre
        gram = centred.T @ (bend[:, None] * centred)
        H = (1.0 - EXTRACTION.margin) * gram - rounding_of(centred, bend) * np.eye(p)
        if not np.isfinite(H).all() or not (least := float(np.linalg.eigvalsh(H)[0])) > 0:
            return None
        inverse = np.asarray(np.linalg.inv(gram), np.float64)
        part = np.full(p, EXTRACTION.inside * least)
        return replace(self, tailed=tailed, part=part, centre=centre, inverse=inverse, limit=H)

    def _with_part(self, slope: FloatArray, barriers: Sequence[float]) -> Curved:
        """Return the problem with a better D, by the derivative of the value in it."""
        D, slope = self.part, slope + CURVED.steady * float(slope.mean())
        for barrier in np.repeat(barriers, SOLVED):
            mu = float(barrier * (slope @ D)) / D.size
            D = centred_diagonal(self.limit, D, slope, mu)
        return replace(self, part=D)

    def _noted(self, u: FloatArray, b: float, upper: float) -> Curved:
        """Return the problem with a note of how it was found: from which solution."""
        order, tailed = np.argsort(self.names), self.tailed
        minorant = Minorant(
            self.names[order], u[order], float(b), float(upper), tailed.core, tailed.bend,
            self.part[order],
        )  # fmt: skip
        return replace(self, minorants=(*self.minorants, minorant))


def _moving(score: FloatArray, u: FloatArray, n_fixed: int, n_free: int) -> IndexArray:
    """Return the features that a step moves: others have no share, and no score for one.

    score : what bounds square; all features with a part of a share have the same one.
    """
    free = np.sort(score[n_fixed:])
    least = NEAR * free[free.size - n_free] if n_free else np.inf
    least = min(least, free[max(free.size - LEAST_MOVED, 0)])
    moved = (u != 0) | (score >= least)
    moved[:n_fixed] = True
    return np.flatnonzero(moved)

"""Candidates with a part of the curvature of their loss in the ridge: of squares, and of labels."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from ..core.parallel import map_threads
from ..core.results import PROVEN, Minorant
from ..core.types import FloatArray, IndexArray
from ..losses import Logistic, as_adjusted
from .bounds import Bound, best_features, decide
from .branch_and_bound import NOTHING, CandidateProblem, RelaxationOptions
from .quadratic import ShareProblem, support_norm
from .relaxation import Relaxed

# Least squares over candidates with a part of its curvature in the ridge: diagonal extraction.
#
# With H = Z'WZ the curvature of the loss in the coefficients (Z centred where the intercept is
# free), D >= 0 diagonal and H - D positive semidefinite, the objective is
#
#     1/2 sum_j (1 + D_j) u_j^2 + [ loss(u) - 1/2 sum_j D_j u_j^2 ]
#
# with both parts convex. Its relaxation has the convex hull of the first part, a ridge that is
# stronger by D, and so a larger value than that of the ridge alone; least squares only, since it
# alone has the same H everywhere. The dual point v is of the loss as ever. With c = Z'v and any u0,
# e = y - v / w - Z u0, rho = Z'We,
#
#     loss(u) >= -conjugate(v) - (c + rho)'u + rho'u0 + 1/2 (u - u0)'D(u - u0),
#
# so that a budget of k gives, with a_j = (c_j + rho_j + D_j u0_j) / (1 + D_j)^(1/2),
#
#     -conjugate(v) + rho'u0 + 1/2 u0'Du0 - 1/2 (sum of the k largest a_j^2),
#
# and everything else is as without D: a_j are the scores that rule features out or fix them. u0 is
# the least squares fit of y - v / w, where rho is 0 but for rounding; at the solution of the
# relaxation it is that. D is the one of the largest relaxation, nearly: steps of Newton's method
# for
#
#     g'D + mu (log det(H - D) + 0.1 sum_j log D_j),   g_j = 1/2 a_j^2 d_j (1 - d_j) / (1 + D_j),
#
# g the derivative of the value in D at a solution of shares d, for mu that falls.
#
# Sources: Frangioni and Gentile, Operations Research Letters 35(2), 2007 (extraction by
# semidefinite programming); Dong, Chen and Linderoth, arXiv:1510.06083, 2015 (of subset selection).


@dataclass(frozen=True, slots=True)
class ExtractionTuning:
    """Constants of the extraction of curvature from squares."""

    most: int = 400  # features: D costs their third power some fifty times
    most_entries: int = 1 << 25  # of their columns
    largest: float = 1e12  # trace of H
    rough: float = 1e-3  # gap of the relaxations on the way, relative
    halve: float = 0.6
    # Step: D and H - D have no more digits where a smaller one is asked for.
    smallest: float = 1e-12
    inside: float = 0.9
    positive: float = 0.1  # the barrier of D_j > 0
    margin: float = 1e-5  # of H that D leaves, relative: a verifier asks for a tenth of it
    worth: float = 0.1  # D is used where it closes this share of the gap


EXTRACTION = ExtractionTuning()
BARRIERS, ROUNDS, STEPS = (1.0, 0.3, 0.1), 3, 2  # mu, relative; of each; Newton's for one g


@dataclass(frozen=True, slots=True)
class LeastSquaresProblem(CandidateProblem):
    """The l0 problem of least squares over candidates of one feature each, in Gram matrices."""

    X: FloatArray  # (n, n_units) the features, centred where the intercept is free
    part: FloatArray  # (n_units,) D, or zeros
    gram: FloatArray  # H
    right: FloatArray  # (n_units, outputs) Z'Wy
    inverse: FloatArray  # of H where there is D

    @staticmethod
    def can_pose(problem: CandidateProblem) -> bool:
        """Return whether a problem is one of least squares with more rows than candidates.

        Its units are features, whatever the number of outputs; no coefficient has a sign or bound.
        """
        risk, p = problem.risk, problem.n_units
        loss = getattr(risk.loss, "each", risk.loss)
        plain = bool(loss.quadratic) and as_adjusted(risk.loss) is None
        single = problem.Z.shape[1] == p * risk.loss.outputs and not problem.units.signs.any()
        single &= not problem.units.bounded
        small = p < min(risk.size, EXTRACTION.most + 1) and p * risk.size <= EXTRACTION.most_entries
        return plain and single and small

    @classmethod
    def of(cls, problem: CandidateProblem) -> LeastSquaresProblem | None:
        """Return such a problem without D; None where H leaves no digits of the ridge."""
        risk, q = problem.risk, problem.risk.loss.outputs
        X = problem.Z.dense() if q == 1 else problem.Z.repeated
        if X is None:
            return None
        weight = risk.weight[: len(X)]
        if risk.intercept or (risk.loss.own_intercepts and getattr(risk.loss, "free", False)):
            X = X - weight @ X / float(weight.sum())
        weighted = weight[:, None] * X
        gram, right = X.T @ weighted, weighted.T @ risk.y.reshape(q, -1).T
        if not (float(np.trace(gram)) <= EXTRACTION.largest and np.isfinite(right).all()):
            return None
        return cls(
            problem.Z, problem.units, problem.names, risk, problem.budget, problem.n_forced, X,
            np.zeros(problem.n_units), gram, right, np.empty((0, 0)),
        )  # fmt: skip

    def extracted(
        self, bound: float, objective: float, deadline: float = np.inf
    ) -> LeastSquaresProblem | None:
        """Return the problem with D, None where there is none that is worth it.

        bound : of the relaxation without D.
        objective : of the best known model.
        deadline : D is no further improved when `time.perf_counter` is there.
        """
        n, p = self.X.shape
        slack = rounding_of(self.X, self.risk.weight[:n])
        H = (1.0 - EXTRACTION.margin) * self.gram - slack * np.eye(p)
        q = self.budget - self.n_forced
        found, value = best_diagonal(H, self.right, self.n_forced, q, self._null, deadline)
        if not self._null + value - bound > EXTRACTION.worth * (objective - bound):
            return None
        return replace(self, part=found, inverse=np.asarray(np.linalg.inv(self.gram), np.float64))

    @property
    def diagonal(self) -> FloatArray:
        return self.part

    @property
    def _outputs(self) -> int:
        return int(self.right.shape[1])

    @property
    def _null(self) -> float:
        return 0.5 * float(self.risk.weight @ self.risk.y**2)

    def objective(self, support: IndexArray) -> float:
        matrix, right = self.gram[np.ix_(support, support)], self.right[support]
        coef = np.linalg.solve(matrix + np.eye(support.size), right)
        away = self.risk.y - (self.X[:, support] @ coef).T.ravel()
        return 0.5 * float(self.risk.weight @ away**2) + 0.5 * float((coef**2).sum())

    def relax(
        self, chosen: IndexArray, n_fixed: int, n_free: int, options: RelaxationOptions
    ) -> Relaxed:
        null, D, tol = self._null, self.part[chosen], options.tol
        begin, cutoff = np.zeros_like(self.right), options.cutoff - null
        begin.reshape(-1)[options.start[0]] = options.start[1]
        root = np.sqrt(1.0 + D)
        matrix = (self.gram[np.ix_(chosen, chosen)] - np.diag(D)) / np.outer(root, root)
        problem = ShareProblem(matrix, self.right[chosen] / root[:, None], n_fixed, n_free)
        found = problem.minimise(
            begin[chosen] * root[:, None], tol, cutoff, null, options.deadline
        )  # fmt: skip
        open_yet = found.gap > tol * abs(null + found.value) and found.bound <= cutoff
        if open_yet and not D.any():  # nearly collinear columns
            return CandidateProblem.relax(self, chosen, n_fixed, n_free, options)
        coef = found.coef / root[:, None]
        used = np.flatnonzero(found.share)
        fitted = self.X[:, chosen[used]] @ coef[used]
        return Relaxed(
            coef.ravel(), 0.0, found.share, self._dual(fitted), null + found.value,
            null + found.bound, found.into, found.out,
        )  # fmt: skip

    def _dual(self, fitted: FloatArray) -> FloatArray:
        """Return the dual point of margins (n, outputs) less their intercepts."""
        risk = self.risk
        v = risk.weight * (risk.y - fitted.T.ravel())
        return risk.loss.inside(risk.dual_point(-v), risk.y, risk.weight)

    def bound(
        self,
        dual: FloatArray,
        chosen: IndexArray,
        n_fixed: int,
        size: int,
        upper: float,
        scores: FloatArray | None = None,
    ) -> Bound:
        """Return what a dual point shows of the models of `size` of some units.

        scores : of no use, as D has others.
        """
        q, risk, D = self._outputs, self.risk, self.part[:, None]
        own = self.X.T @ dual.reshape(q, -1).T
        value = -risk.conjugate(dual)
        if D.any():
            u = self.inverse @ (self.right - own)
            away = risk.weight * (risk.y - (self.X @ u).T.ravel()) - dual  # We
            beside = self.X.T @ away.reshape(q, -1).T  # rho
            value += float((beside * u).sum()) + 0.5 * float((D * u**2).sum())
            own = (own + beside + D * u) / np.sqrt(1.0 + D)
        best = best_features((own**2).sum(axis=1)[chosen], size, np.arange(n_fixed))
        return decide(best, value - 0.5 * best.value, 1.0, dual, upper)


def rounding_of(X: FloatArray, weight: FloatArray) -> float:
    """Return what a verifier asks H - D to be above, and more: the rounding of both, in norm."""
    n, p = X.shape
    size = float((np.abs(X).max(axis=0) ** 2).sum())
    return float(1e-15 * (16 * n + 8 * p + 64) * size * float(weight.sum()))


def best_diagonal(
    H: FloatArray, R: FloatArray, n_fixed: int, q: int, null: float, deadline: float
) -> tuple[FloatArray, float]:
    """Return D > 0 with H - D positive definite, and the bound of the relaxation with it.

    D is empty, and the bound -inf, where there is none.

    null : the objective without features, which is no part of the bound.
    deadline : D is no further improved when `time.perf_counter` is there.
    """
    p = len(H)
    least = float(np.linalg.eigvalsh(H)[0])
    if not least > 0:
        return np.empty(0), -np.inf
    D, coef, slope = np.full(p, EXTRACTION.inside * least), np.zeros_like(R), np.zeros(p)
    best, value = D, -np.inf
    for barrier in BARRIERS:
        for _ in range(ROUNDS):
            root = np.sqrt(1.0 + D)
            problem = ShareProblem(
                (H - np.diag(D)) / np.outer(root, root), R / root[:, None], n_fixed, q
            )
            found = problem.minimise(coef * root[:, None], EXTRACTION.rough, np.inf, null)
            coef = found.coef / root[:, None]
            if found.bound > value:
                best, value = D, found.bound
            if time.perf_counter() >= deadline:
                return best, value
            own = found.share * (1.0 - found.share) * (found.scores**2).sum(axis=1)
            fresh = 0.5 * own / (1.0 + D)
            slope = 0.5 * (slope + fresh) if slope.any() else fresh
            D = centred_diagonal(H, D, slope, barrier * float(slope @ D) / p)
    return best, value


def centred_diagonal(H: FloatArray, D: FloatArray, slope: FloatArray, mu: float) -> FloatArray:
    """Return D after some steps towards the maximum of slope'D and the barriers, mu > 0."""
    if not mu > 0:
        return D
    for _ in range(STEPS):
        try:
            inverse = np.linalg.inv(H - np.diag(D))
            gradient = slope - mu * np.diag(inverse) + EXTRACTION.positive * mu / D
            move = np.linalg.solve(
                mu * inverse**2 + np.diag(EXTRACTION.positive * mu / D**2), gradient
            )
        except np.linalg.LinAlgError:  # rounding
            return D
        step = 1.0
        while not is_inside(H, D + step * move):
            step *= EXTRACTION.halve
            if step < EXTRACTION.smallest:
                return D
        D = D + (step if step == 1.0 else EXTRACTION.inside * step) * move
    return D


def is_inside(H: FloatArray, D: FloatArray) -> bool:
    """Return whether D and H - D are positive."""
    if not (D > 0).all():
        return False
    try:
        np.linalg.cholesky(H - np.diag(D))
    except np.linalg.LinAlgError:
        return False
    return True


# The logistic loss with quadratic tails: what it is at least, with curvature at every margin.
#
# For margins between -h and h it is the loss f of the row; beyond them it goes on with the second
# derivative a. It is convex, its second derivative is nowhere below a, and it is at most f up to
# the margin M where
#
#     f(h) + f'(h) (M - h) + a/2 (M - h)^2 = f(M),    and so below -h:
#
# past h the loss less its tail is convex as long as f'' >= a and concave from there on, so it is
# least at an end. So it may stand for the loss of models whose margins are all within such ends
# (`reach`), and what it has of curvature can become a part of the ridge (`LogisticProblem`).


@dataclass(frozen=True, slots=True)
class TailsTuning:
    """Constants of the tails of logistic losses."""

    least_core: float = 0.1
    core: float = 0.85  # the share of rows whose margins, at a solution, tails leave alone
    bend: float = 0.98  # of the second derivative where a tail begins, that it has at most
    # By what share tails have less curvature than ends allow: a verifier has rounding.
    less: float = 1e-6


TAILS = TailsTuning()


@dataclass(frozen=True, slots=True)
class Tailed:
    """The sum of w_i times the losses of rows with tails; margins are (n,) or (n, several)."""

    y: FloatArray  # (n,) -1 or 1
    weight: FloatArray  # (n,) w
    core: float  # h, inf: no tails
    bend: FloatArray  # (n,) w_i a_i

    @classmethod
    def without(cls, y: FloatArray, weight: FloatArray) -> Tailed:
        """Return the loss itself."""
        return cls(y, weight, np.inf, np.zeros(y.size))

    @classmethod
    def within(
        cls, y: FloatArray, weight: FloatArray, z: FloatArray, low: FloatArray, high: FloatArray
    ) -> Tailed:
        """Return the loss with the most curvature in its tails for margins from low to high.

        z : (n,) margins of a solution.
        """
        h = max(float(np.quantile(np.abs(z), TAILS.core)), TAILS.least_core)
        share = float(expit(-h))
        bend = np.full(y.size, TAILS.bend * share * (1.0 - share))
        up, down = np.where(y > 0, high, -low), np.where(y > 0, -low, high)  # ends of y z and -y z
        for sign, end in ((1.0, up), (-1.0, down)):
            away = np.maximum(end - h, 0.0)
            start, slope = np.logaddexp(0.0, -sign * h), -sign * float(expit(-sign * h))
            rise = np.logaddexp(0.0, -sign * end) - start - slope * away
            with np.errstate(divide="ignore", invalid="ignore"):
                bend = np.where(away > 0, np.minimum(bend, 2.0 * rise / away**2), bend)
        return cls(y, weight, h, (1.0 - TAILS.less) * weight * np.maximum(bend, 0.0))

    def at(self, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the sums over rows, and the first and second derivatives of every row."""
        shape = (-1,) + (1,) * (z.ndim - 1)
        y, weight, bend = (one.reshape(shape) for one in (self.y, self.weight, self.bend))
        inner = np.clip(z, -self.core, self.core)
        beyond = z - inner
        small = np.exp(-np.abs(inner))
        share = np.where(y * inner > 0, small, 1.0) / (1.0 + small)  # 1 / (1 + exp(y z))
        slope = -weight * y * share
        value = weight * (np.log1p(small) + np.maximum(-y * inner, 0.0))
        value += (slope + 0.5 * bend * beyond) * beyond
        curvature = np.where(beyond == 0, weight * share * (1.0 - share), bend)
        return value.sum(axis=0), slope + bend * beyond, curvature

    def margins(self, v: FloatArray) -> FloatArray:
        """Return the margins at which v is minus the derivative; there have to be tails."""
        own = self.y * v / self.weight
        share = np.clip(own, expit(-self.core), expit(self.core))
        past = self.y * self.weight * (own - share)
        return np.asarray(self.y * (np.log1p(-share) - np.log(share)) - past / self.bend)


# How far the margins of better models can be: bounds of one margin at a time.
#
# Every model of at most k features with the objective UB or less has, for any (u0, b0), row i, sign
# and theta > 0, the margins z = X u0 + b0 moved towards what is best for margin i,
#
#     sign z_i <= (UB - B) / theta,    B <= min over (u, b) of  objective(u, b) - theta sign z_i,
#
# with B from the dual point of the moved margins: minus the derivatives of the loss there, and
# theta the sum of these derivatives, times the sign, where the intercept is free. The move is a
# Newton step from (u0, b0) with a stronger ridge, a second one of the same matrix, and of the
# length that would be best if the loss were quadratic. To UB - B comes what rounding can do to it,
# here and in a verifier; where that counts beside the gap, as where columns are of other units, no
# end is known.


@dataclass(frozen=True, slots=True)
class ReachTuning:
    """Constants of the bounds of margins."""

    strength: float = 2.0  # of the ridge of moves, relative to that of the problem
    rows: int = 64  # margins at a time
    tries: int = 2  # of the length of moves, at some rows
    small: float = 1e-12
    rounding: float = 2.0**-52  # of a verifier and of this, each half of it
    exact: float = 1e-4  # the share of the gap that rounding may be


REACH = ReachTuning()
LIKELY = (0.01, 100.0)  # what moves cost, relative to what is expected


@dataclass(frozen=True, slots=True)
class Margins:
    """The l0 problem of a loss with tails, with a part of its curvature in the ridge."""

    X: FloatArray  # (n, p) as the problem has them; the first features are in every model
    tailed: Tailed
    part: FloatArray  # (p,) D
    n_forced: int
    budget: int  # k
    intercept: bool
    largest: float  # of the entries, as the problem has them before X was centred

    def bound(
        self, u: FloatArray, z: FloatArray, pushed: FloatArray, sign: float, theta: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return B for points u (p, several) of margins z (n, several), theta and rounding of each.

        pushed : (several, p) the rows whose margins count. theta : where there is no free intercept
        to say what it is.
        """
        value, slope, _ = self.tailed.at(z)
        if self.intercept:
            theta = sign * slope.sum(axis=0)
        part = self.part[:, None]
        score = sign * theta * pushed.T - self.X.T @ slope + part * u
        square = score**2 / (1.0 + part)
        free, q = square[self.n_forced :], self.budget - self.n_forced
        most = square[: self.n_forced].sum(axis=0)
        if q:
            most = most + np.partition(free, len(free) - q, axis=0)[len(free) - q :].sum(axis=0)
        loss, beside = slope * z, 0.5 * (part * u**2).sum(axis=0)
        n, p = self.X.shape
        parts = np.abs(value) + np.abs(loss).sum(axis=0) + beside + most
        wrong = (
            (4 * n + 8)
            * REACH.rounding
            * self.largest
            * (np.abs(slope).sum(axis=0) + np.abs(theta))
        )
        wrong = self.budget * wrong * (2.0 * np.abs(score).max(axis=0) + wrong)
        wrong += (8 * n + 8 * p + 64) * REACH.rounding * parts
        return value - loss.sum(axis=0) + beside - 0.5 * most, theta, wrong


def reach(
    problem: Margins, u: FloatArray, b: float, upper: float, deadline: float
) -> tuple[FloatArray, FloatArray] | None:
    """Return the least and the largest margins of models with an objective of `upper` at most.

    None where one of them is not known, or not at the deadline.
    """
    X, tailed = problem.X, problem.tailed
    n, p = X.shape
    z = X @ u + b
    _, slope, bend = tailed.at(z)
    Z = np.hstack([np.ones((n, int(problem.intercept))), X])
    ridge = np.zeros(Z.shape[1])
    ridge[-p:] = REACH.strength * (1.0 + problem.part)
    try:
        inverse = np.linalg.inv(Z.T @ (bend[:, None] * Z) + np.diag(ridge))
    except np.linalg.LinAlgError:  # all margins are far out
        return None
    known, *_ = problem.bound(u[:, None], z[:, None], np.zeros((1, p)), 1.0, np.zeros(1))
    gap = max(upper - float(known[0]), REACH.small * abs(upper))

    def ends(rows: IndexArray, ratio: float = 1.0) -> tuple[FloatArray, float]:
        """Return how far some margins go down and up, and how much more moves cost than expected.

        ratio : what is known of that.
        """
        away = inverse @ Z[rows].T
        lever = np.einsum("ij,ji->i", Z[rows], away)
        # A row that moves far has the curvature of its tail instead of its own.
        scale = 1.0 / (1.0 + (tailed.bend - bend)[rows] * lever)
        away, lever = scale * away, scale * lever
        found, dear = np.full((2, 2, rows.size), np.inf)
        for side, sign in enumerate((-1.0, 1.0)):
            if time.perf_counter() >= deadline:
                break
            theta = np.sqrt(2.0 * gap / (ratio * lever))
            move = sign * theta * away
            moved = tailed.at(z[:, None] + Z @ move)[1] - slope[:, None]
            move += inverse @ (sign * theta * Z[rows].T - Z.T @ moved - ridge[:, None] * move)
            least, theta, wrong = problem.bound(
                u[:, None] + move[-p:], z[:, None] + Z @ move, X[rows], sign, theta
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                is_known = (theta > 0) & (wrong <= REACH.exact * gap)
                found[side] = np.where(is_known, (upper - least + wrong) / theta, np.inf)
                dear[side] = 2.0 * (upper - gap - least) / (theta**2 * lever)
        known = dear[np.isfinite(dear)]
        return found, float(np.clip(np.median(known), *LIKELY)) if known.size else ratio

    every = np.arange(n)
    ratio = 1.0
    for _ in range(REACH.tries):
        ratio = ends(every[:: -(-n // REACH.rows)], ratio)[1]
    blocks = [every[first : first + REACH.rows] for first in range(0, n, REACH.rows)]
    low, high = np.hstack([found for found, _ in map_threads(lambda own: ends(own, ratio), blocks)])
    if time.perf_counter() >= deadline or not np.isfinite(low + high).all():
        return None
    return -low, high


# The logistic loss over candidates with a part of its curvature in the ridge.
#
# No model that is better than the best known one has margins beyond certain ends (`reach`), so that
# for it the loss is at least one with quadratic tails (`Tailed`), whose second derivative is a_i or
# more at every margin. With A = diag(w_i a_i), H = X'AX (X centred by A where the intercept is
# free), D >= 0 diagonal and H - D positive semidefinite, what is said of least squares
# above holds: with v a dual point, z the margins where v is minus the derivative,
# (u0, b0) their least squares fit by A and e = z - X u0 - b0,
#
#     loss(u) >= -conjugate(v) - c'u + 1/2 e'Ae + 1/2 (u - u0)'D(u - u0),    c = X'v,
#
# so that a_j = (c_j + D_j u0_j) / (1 + D_j)^(1/2) are the scores of the bound. A better bound
# leaves less room for margins, which is more curvature: this is done some times, each from the one
# before.


@dataclass(frozen=True, slots=True)
class CurvedTuning:
    """Constants of the extraction of curvature from the logistic loss."""

    most: int = 640  # features
    most_work: float = 1e10  # rows times rows times features: what the ends of margins cost
    worth: float = 0.4  # of the gap, that it closes where it is used: its nodes take longer
    # Entries of the columns from which on relaxations take long by themselves
    costly: int = 1 << 19
    rough: float = 1e-4  # gap of the relaxations on the way, relative
    steady: float = 0.5  # of the mean slope that D is given everywhere: other features come next
    descent: float = 1e-4


CURVED = CurvedTuning()
CURVED_ROUNDS, GAIN = 2, 0.05  # at most; each has to close this share of the gap that is left
SOLVED, SHARPENED = 6, 1  # steps of each barrier; how often D is found again
MAX_NEWTON, HALVINGS = 50, 30
NEAR, LEAST_MOVED = 0.9, 32  # of the scores of features that move; how many do


@dataclass(frozen=True, slots=True)
class LogisticProblem(CandidateProblem):
    """The l0 problem of the logistic loss over candidates of one feature each."""

    X: FloatArray  # (n, n_units) the features, centred where the intercept is free
    tailed: Tailed
    part: FloatArray  # D, or zeros
    centre: FloatArray  # (n_units,) means of X by A
    inverse: FloatArray  # of H where there is D
    limit: FloatArray  # H, a little less
    minorants: tuple[Minorant, ...] = ()  # how they were found

    @staticmethod
    def can_pose(problem: CandidateProblem) -> bool:
        """Return whether a problem is one of the logistic loss with more rows than candidates."""
        risk, p = problem.risk, problem.n_units
        n = risk.size
        plain = isinstance(risk.loss, Logistic) and not problem.units.signs.any()
        plain &= problem.Z.shape[1] == p and not problem.units.bounded
        large = CURVED.costly <= p * n <= EXTRACTION.most_entries and n * n * p <= CURVED.most_work
        return plain and large and p < min(n, CURVED.most + 1)

    @classmethod
    def of(
        cls,
        problem: CandidateProblem,
        bound: float,
        objective: float,
        upper: float,
        deadline: float,
    ) -> LogisticProblem | None:
        """Return the problem with the curvature of its loss, None where that is not worth it.

        bound : of the relaxation without it.
        objective : of the best known model.
        upper : bounds hold for models with an objective of so much at most.
        deadline : of `time.perf_counter`.
        """
        known = cls._without(problem)
        every, q = np.arange(problem.n_units), problem.budget - problem.n_forced
        start = NOTHING

        def relaxed(known: LogisticProblem) -> Relaxed:
            """Return the solution of the relaxation, from the one before."""
            nonlocal start
            options = RelaxationOptions(start, CURVED.rough, deadline=deadline)
            answer = known.relax(every, problem.n_forced, q, options)
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
        for _ in range(CURVED_ROUNDS):
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
        cls, problem: CandidateProblem, minorants: Sequence[Minorant], upper: float
    ) -> LogisticProblem | None:
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
    def _without(cls, problem: CandidateProblem) -> LogisticProblem:
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
        return self.part

    def relax(
        self, chosen: IndexArray, n_fixed: int, n_free: int, options: RelaxationOptions
    ) -> Relaxed:
        """Solve the relaxation over some units, the fixed ones first, by Newton's method.

        Where they are one model, it is that of the loss itself.
        """
        if n_fixed + n_free == chosen.size:
            return CandidateProblem.relax(self, chosen, n_fixed, n_free, options)
        X, D = self.X[:, chosen], self.part[chosen]
        root = np.sqrt(1.0 + D)
        u = np.zeros(self.n_units)
        used, coef, b = options.start
        u[used] = coef
        u, b, tol = u[chosen], b * self.risk.intercept, options.tol

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
            found = problem.minimise(
                (scale * u[some])[:, None], 0.1 * tol, np.inf, level, options.deadline
            )  # fmt: skip
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
            late = time.perf_counter() >= options.deadline
            done = objective - bound <= tol * abs(objective) or bound > options.cutoff
            if done or late or not step:
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
        plain = CandidateProblem.bound(self, dual, chosen, n_fixed, size, upper, scores[chosen])
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
    ) -> LogisticProblem | None:
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

    def _with_part(self, slope: FloatArray, barriers: Sequence[float]) -> LogisticProblem:
        """Return the problem with a better D, by the derivative of the value in it."""
        D, slope = self.part, slope + CURVED.steady * float(slope.mean())
        for barrier in np.repeat(barriers, SOLVED):
            mu = float(barrier * (slope @ D)) / D.size
            D = centred_diagonal(self.limit, D, slope, mu)
        return replace(self, part=D)

    def _noted(self, u: FloatArray, b: float, upper: float) -> LogisticProblem:
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

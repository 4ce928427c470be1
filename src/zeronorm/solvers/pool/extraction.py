"""Least squares over candidates with a part of its curvature in the ridge: diagonal extraction.

With H = Z'WZ the curvature of the loss in the coefficients (Z centred where the intercept is free),
D >= 0 diagonal and H - D positive semidefinite, the objective is

    1/2 sum_j (1 + D_j) u_j^2 + [ loss(u) - 1/2 sum_j D_j u_j^2 ]

with both parts convex. Its relaxation has the convex hull of the first part, a ridge that is
stronger by D, and so a larger value than that of the ridge alone; least squares only, since it
alone has the same H everywhere. The dual point v is of the loss as ever. With c = Z'v and any u0,
e = y - v / w - Z u0, rho = Z'We,

    loss(u) >= -conjugate(v) - (c + rho)'u + rho'u0 + 1/2 (u - u0)'D(u - u0),

so that a budget of k gives, with a_j = (c_j + rho_j + D_j u0_j) / (1 + D_j)^(1/2),

    -conjugate(v) + rho'u0 + 1/2 u0'Du0 - 1/2 (sum of the k largest a_j^2),

and everything else is as without D: a_j are the scores that rule features out or fix them. u0 is
the least squares fit of y - v / w, where rho is 0 but for rounding; at the solution of the
relaxation it is that. D is the one of the largest relaxation, nearly: steps of Newton's method for

    g'D + mu (log det(H - D) + 0.1 sum_j log D_j),   g_j = 1/2 a_j^2 d_j (1 - d_j) / (1 + D_j),

g the derivative of the value in D at a solution of shares d, for mu that falls.

Sources: Frangioni and Gentile, Operations Research Letters 35(2), 2007 (extraction by semidefinite
programming); Dong, Chen and Linderoth, arXiv:1510.06083, 2015 (of subset selection).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ...core.types import FloatArray, IndexArray
from ...losses import as_adjusted
from .bounds import Bound, best_features, decide
from .candidates import Candidates, Start
from .relaxed import Relaxed
from .shares import ShareProblem


@dataclass(frozen=True, slots=True)
class ExtractionTuning:
    """Constants, each with what it was measured for."""

    most: int = 400  # features: D costs their third power some fifty times
    most_entries: int = 1 << 25  # of their columns
    largest: float = 1e12  # trace of H
    rough: float = 1e-3  # gap of the relaxations on the way, relative
    halve: float = 0.6
    smallest: float = (
        1e-12  # step: D and H - D have no more digits where a smaller one is asked for
    )
    inside: float = 0.9
    positive: float = 0.1  # the barrier of D_j > 0
    margin: float = 1e-5  # of H that D leaves, relative: a verifier asks for a tenth of it
    worth: float = 0.1  # D is used where it closes this share of the gap


EXTRACTION = ExtractionTuning()
BARRIERS, ROUNDS, STEPS = (1.0, 0.3, 0.1), 3, 2  # mu, relative; of each; Newton's for one g


@dataclass(frozen=True, slots=True)
class Squares(Candidates):
    """The l0 problem of least squares over candidates of one feature each, in Gram matrices."""

    X: FloatArray  # (n, n_units) the features, centred where the intercept is free
    part: FloatArray  # (n_units,) D, or zeros
    gram: FloatArray  # H
    right: FloatArray  # (n_units, outputs) Z'Wy
    inverse: FloatArray  # of H where there is D

    @staticmethod
    def can_pose(problem: Candidates) -> bool:
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
    def of(cls, problem: Candidates) -> Squares | None:
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

    def extracted(self, bound: float, objective: float, deadline: float = np.inf) -> Squares | None:
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
        """(n_units,) D, or zeros."""
        return self.part

    @property
    def _outputs(self) -> int:
        return int(self.right.shape[1])

    @property
    def _null(self) -> float:
        return 0.5 * float(self.risk.weight @ self.risk.y**2)

    def objective(self, support: IndexArray) -> float:
        """Return the least objective on some units."""
        matrix, right = self.gram[np.ix_(support, support)], self.right[support]
        coef = np.linalg.solve(matrix + np.eye(support.size), right)
        away = self.risk.y - (self.X[:, support] @ coef).T.ravel()
        return 0.5 * float(self.risk.weight @ away**2) + 0.5 * float((coef**2).sum())

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
        """Solve the relaxation over some units, the fixed ones first."""
        null, D = self._null, self.part[chosen]
        begin = np.zeros_like(self.right)
        begin.reshape(-1)[start[0]] = start[1]
        root = np.sqrt(1.0 + D)
        matrix = (self.gram[np.ix_(chosen, chosen)] - np.diag(D)) / np.outer(root, root)
        problem = ShareProblem(matrix, self.right[chosen] / root[:, None], n_fixed, n_free)
        found = problem.minimise(begin[chosen] * root[:, None], tol, cutoff - null, null, deadline)
        open_yet = found.gap > tol * abs(null + found.value) and found.bound <= cutoff - null
        if open_yet and not D.any():  # nearly collinear columns
            return Candidates.relax(
                self, chosen, n_fixed, n_free, start=start, tol=tol, cutoff=cutoff,
                deadline=deadline, ahead=ahead,
            )  # fmt: skip
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

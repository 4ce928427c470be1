"""The outer loop of the minimax family: generate blocks of features, one scan each.

    min_{d in D_r} min_{u, b}  1/2 sum_j u_j^2 / d_j + C sum_i s_i f(y_i, x_i'u + b)          (P)
    D_r = {0 <= d_j <= 1, sum_j d_j <= r}

The regulariser is half the squared k-support norm with k = r. Sparse models come from stopping the
generation of blocks at the wanted number of features.

With groups of features there is one d for each, 1/2 sum_g ||u_g||^2 / d_g with sum_g d_g <= r, and
a block is the r groups with the largest ||c_g||: the same loop, over groups instead of features.

Source: Tan, Tsang and Wang, Minimax sparse logistic regression for very high-dimensional feature
selection, IEEE TNNLS 2013, Algorithm 1.

Differences from the paper, each covered by a test in tests/test_solvers.py:
exactly k features (the last block is cut to what is missing, and blocks of unseen features follow
where the convex optimum has fewer than k); an unpenalised intercept; sample weights; bounds are
computed from the rescaled dual point; forced features belong to every block.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from .. import _kernels
from ..core.ranking import largest
from ..core.results import Result, Status, Step
from ..core.types import Columns, FloatArray, IndexArray
from ..data.gathered import GatheredColumns
from ..losses import Adjusted, has_compiled_dual
from .driver import BestDual, Scan, SearchResult, Solver
from .problem import Risk, Task, admitted, ranked
from .ridge_fits import (
    RIDGE_OUTPUTS,
    in_kernel,
    kernel_of,
    of_times,
    outputs_over_blocks,
    with_covariates,
)

# The inner problem of the minimax family: what its solvers are given, and what they return.
#
# Over the generated blocks S_1..S_T with membership matrix E,
#
#   min_{lambda in simplex} min_{u, b}  1/2 sum_j u_j^2 / (E lambda)_j + sum_i s_i f(y_i, z_i'u + b)
#
# with s the sample weights times C. It equals loss + 1/2 (sum_t ||v_t||)^2, one vector v_t per
# block with u = sum_t v_t, and is jointly convex in (u, b, lambda). The dual problem is
#
#     max_v  -conjugate(v) - max_t 1/2 ||c_{S_t}||^2,    c = Z'v,
#
# with sum_i v_i = 0 where b is free. Any v, on its best scale, gives a lower bound.


@dataclass(frozen=True, slots=True)
class BlockProblem:
    """The inner problem: gathered columns, their membership in blocks, labels and weights."""

    Z: Columns  # (n, p)
    membership: FloatArray  # (p, T) 0/1
    risk: Risk
    scale: float  # objective of the model without features: gaps are relative to it


@dataclass(frozen=True, slots=True)
class State:
    """A point of the inner problem: where a solver starts."""

    coef: FloatArray  # (p,) u
    intercept: float
    block_weight: FloatArray  # (T,) lambda


@dataclass(frozen=True, slots=True)
class Iterate:
    """One row of the history of an inner solver: the best values up to an iteration."""

    objective: float
    bound: float
    seconds: float  # since the start of the solver
    extra: Mapping[str, float] = field(default_factory=dict)  # by name, for example q


@dataclass(frozen=True, slots=True)
class Inner:
    """The answer of an inner solver, with its certificate."""

    state: State
    dual: FloatArray  # (n,) dual point, the vector of the next scan
    objective: float  # at the state
    bound: float
    n_iter: int
    status: Status  # CONVERGED, STALLED or MAX_ITER
    history: tuple[Iterate, ...]


class InnerSolver(Protocol):
    """Solve the problem over the generated blocks to a relative certified gap."""

    def __call__(self, blocks: BlockProblem, state: State, tol: float) -> Inner:
        """Return a point with objective - bound <= tol * blocks.scale, or say why not."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """The value of a primal point, and the dual point that its margins give."""

    intercept: float  # optimal for the margins where it is free
    objective: float
    dual: FloatArray  # (n,) v
    scores: FloatArray  # (p,) Z'v
    bound: float


def assess(
    blocks: BlockProblem, coef: FloatArray, block_weight: FloatArray, z: FloatArray, start: float
) -> Assessment:
    """Return the value of (coef, block_weight), given z = Z coef, and its certificate.

    start : where the search for a free intercept begins.
    """
    b, value, gradient = blocks.risk.best(z, start)
    dual = blocks.risk.dual_point(gradient)
    scores = blocks.Z.dot(dual)
    objective = value + penalty(coef, blocks.membership @ block_weight)
    return Assessment(b, objective, dual, scores, bound_of(blocks, dual, scores))


def bound_of(blocks: BlockProblem, dual: FloatArray, scores: FloatArray) -> float:
    """Return the lower bound that v proves, on its best scale; scores = Z'v."""
    worst = 0.5 * float((blocks.membership.T @ scores**2).max(initial=0.0))
    return blocks.risk.bound(dual, worst)[0]


def penalty(u: FloatArray, d: FloatArray) -> float:
    """Return 1/2 sum_j u_j^2 / d_j, with 0/0 = 0."""
    used = u != 0
    if not np.all(d[used] > 0):
        return np.inf
    return 0.5 * float((u[used] ** 2 / d[used]).sum())


class Recorder:
    """Keeps the best objective and bound of a run, and its history.

    objective : that of the start, where the first row of the history is not of the start itself.
    """

    def __init__(self, blocks: BlockProblem, tol: float, objective: float = np.inf) -> None:
        self._begin = time.perf_counter()
        self._scale = blocks.scale
        self._tol = tol
        self.objective = objective
        self.bound = -np.inf
        self.history: list[Iterate] = []

    @property
    def gap(self) -> float:
        """(objective - bound) / scale."""
        return (self.objective - self.bound) / self._scale

    @property
    def converged(self) -> bool:
        """Whether the gap is at most the tolerance."""
        return self.gap <= self._tol

    def add(self, objective: float, bound: float, **extra: float) -> None:
        self.objective = min(self.objective, objective)
        self.bound = max(self.bound, bound)
        seconds = time.perf_counter() - self._begin
        self.history.append(Iterate(self.objective, self.bound, seconds, extra))

    def answer(self, state: State, dual: FloatArray, status: Status) -> Inner:
        """Return the answer; the state has the best objective, or one equal to rounding."""
        return Inner(
            state,
            dual,
            self.objective,
            self.bound,
            len(self.history) - 1,
            status,
            tuple(self.history),
        )


# Inner solver `newton`: proximal Newton in the primal, with exact simplex weights.
#
# One iteration minimises a quadratic model of the loss exactly over u and lambda, then searches
# along the line. The problem has only p + T + 1 unknowns: a few Gram matrices of the gathered
# columns solve it.


@dataclass(frozen=True, slots=True)
class MinimaxNewtonTuning:
    """Constants of the inner solver `newton`."""

    max_newton: int = 60
    max_weights: int = 50
    rounding: float = 1e-15  # relative differences of objectives below this are rounding
    max_idle: int = 3  # iterations without progress, in gap and objective, before giving up
    # Multiply-adds of the full Gram matrix below which sampling saves nothing.
    subsample_work: float = 1e7


MINIMAX_NEWTON = MinimaxNewtonTuning()
# Rows of the curvature are subsampled (20 p of them, with the full weight) where n > 30 p; with 5 p
# rows the model is too poor when the data are nearly separable.
SUBSAMPLE_ABOVE, SUBSAMPLE_ROWS = 30, 20
# The subsampled curvature converges only linearly: the full one takes over where an iteration
# leaves more than this share of the gap, or below this relative gap.
SUBSAMPLE_PROGRESS, SUBSAMPLE_GAP = 0.3, 1e-4


def newton(blocks: BlockProblem, state: State, tol: float) -> Inner:
    """Solve the inner problem to (objective - bound) <= tol * blocks.scale."""
    sample = _curvature_sample(blocks)
    Z, loss = blocks.Z, blocks.risk.loss
    shared = outputs_over_blocks(Z, blocks.risk)
    if shared or (sample is None and has_compiled_dual(loss) and in_kernel(Z, Z.shape[1], loss)):
        return _compiled(blocks, state, tol)
    if Z.array is not None and of_times(blocks.risk):
        near = _beside_covariates(blocks, state, tol)
        if near.status is Status.CONVERGED:
            return near
        state = near.state
    record = Recorder(blocks, tol)
    Z, E, risk = blocks.Z, blocks.membership, blocks.risk
    u, b, lam = state.coef.copy(), state.intercept, state.block_weight.copy()
    z = Z.times(u)
    previous_gap, best_gap, last, idle = np.inf, np.inf, np.inf, 0
    status = Status.MAX_ITER
    for n_iter in range(MINIMAX_NEWTON.max_newton + 1):
        point = assess(blocks, u, lam, z, b)
        b, c, objective = point.intercept, point.scores, point.objective
        record.add(objective, point.bound)
        if record.converged:
            status = Status.CONVERGED
            break
        gap = record.gap
        idle = 0 if gap < 0.9 * best_gap else idle + 1
        best_gap = min(gap, best_gap)
        if idle >= MINIMAX_NEWTON.max_idle and objective >= last - MINIMAX_NEWTON.rounding * abs(
            last
        ):
            status = Status.STALLED
            break
        last = objective
        if n_iter == MINIMAX_NEWTON.max_newton:
            break

        curvature = risk.curvature(z + b)
        if gap > SUBSAMPLE_PROGRESS * previous_gap or gap < SUBSAMPLE_GAP:
            sample = None
        previous_gap = gap
        A, cross, total = _curvature_model(blocks, curvature, sample, z + b)
        # Outputs that share A are as many right-hand sides, one beside the other.
        each = u.reshape(A.shape[0], -1)
        h = A @ each + c.reshape(each.shape)
        u_new, lam_new = _quadratic_model(A, h, E[:: each.shape[1]], lam, 0.01 * gap * blocks.scale)
        u_new = u_new.ravel()
        shift = -float(cross @ (u_new - u)) / total if total > 0 else 0.0
        z_step = Z.times(u_new - u)

        step, accepted = 1.0, False
        for _ in range(40):
            u_try = u + step * (u_new - u)
            lam_try = lam + step * (lam_new - lam)
            value = risk.value_gradient(z + b + step * (z_step + shift))[0]
            # Near the optimum the objective is flat to rounding while the gap still falls.
            if value + penalty(u_try, E @ lam_try) <= objective + MINIMAX_NEWTON.rounding * abs(
                objective
            ):
                accepted = True
                break
            step *= 0.5
        if not accepted:
            status = Status.STALLED
            break
        u, lam, z, b = u_try, lam_try, z + step * z_step, b + step * shift
    return record.answer(State(u, b, lam), point.dual, status)


def _beside_covariates(blocks: BlockProblem, state: State, tol: float) -> Inner:
    """Solve a problem whose covariates are columns, in every block, and certify that."""
    (p, T), own = blocks.membership.shape, cast("Adjusted", blocks.risk.loss)
    record = Recorder(blocks, tol)
    Z, risk, unit = with_covariates(blocks.Z, blocks.risk)
    membership = np.vstack([blocks.membership, np.ones((unit.size, T))])
    start = State(np.append(state.coef, own.start[0] / unit), 0.0, state.block_weight)
    found = newton(BlockProblem(Z, membership, risk, blocks.scale), start, 0.5 * tol).state
    u, effects, lam = found.coef[:p], (found.coef[p:] * unit)[None], found.block_weight
    z = blocks.Z.times(u)
    value, dual = own.near(z, risk.y, risk.weight, effects)
    record.add(
        value + penalty(u, blocks.membership @ lam), bound_of(blocks, dual, blocks.Z.dot(dual))
    )
    if not record.converged:
        own.solution(z, risk.y, risk.weight, effects)  # near it at the next call
    status = Status.CONVERGED if record.converged else Status.STALLED
    return record.answer(State(u, 0.0, lam), dual, status)


def _compiled(blocks: BlockProblem, state: State, tol: float) -> Inner:
    """Solve a small problem as `newton` does, in one call."""
    Z, risk, b = blocks.Z.array, blocks.risk, state.intercept
    u, weights = state.coef.copy(), state.block_weight.copy()
    dual, history = np.empty(risk.weight.size), np.empty((MINIMAX_NEWTON.max_newton + 1, 3))
    out = u, weights, dual, history
    if Z is None:
        loss: Any = risk.loss
        x = blocks.Z.repeated
        assert x is not None
        objective, bound, n_iter, end = _kernels.output_blocks(
            x, blocks.membership, risk.y, risk.weight,
            kernel_of(loss) == RIDGE_OUTPUTS.of_classes, loss.outputs,
            loss.free, tol, blocks.scale, *out,
        )  # fmt: skip
    else:
        b, objective, bound, n_iter, end = _kernels.block_newton(
            Z, blocks.membership, risk.y.ravel(), risk.weight, risk.loss.kernel,
            risk.loss.kernel_parameters, risk.intercept, b, tol, blocks.scale, *out,
        )  # fmt: skip
    status = (Status.CONVERGED, Status.STALLED, Status.MAX_ITER)[end]
    steps = tuple(Iterate(*row) for row in history[: n_iter + 1].tolist())
    return Inner(State(u, b, weights), dual, objective, bound, n_iter, status, steps)


def _curvature_sample(blocks: BlockProblem) -> tuple[np.ndarray, Columns] | None:
    """Return random rows and their gathered columns, or None where all rows are used."""
    n, p = blocks.Z.shape
    if (
        blocks.Z.array is None
        or n <= SUBSAMPLE_ABOVE * p
        or n * p * p < MINIMAX_NEWTON.subsample_work
    ):
        return None
    rows = np.random.default_rng(0).choice(n, SUBSAMPLE_ROWS * p, replace=False)
    rows.sort()
    return rows, blocks.Z.rows(rows)


def _curvature_model(
    blocks: BlockProblem,
    curvature: FloatArray,
    sample: tuple[np.ndarray, Columns] | None,
    margins: FloatArray,
) -> tuple[FloatArray, FloatArray, float]:
    """Return Z'WZ with the free intercept eliminated, Z'w and sum w (0 without an intercept).

    Where all outputs have the same Z'WZ it is that of one of them.

    curvature : (n,) of the loss at the margins.
    """
    Z, risk = blocks.Z, blocks.risk
    hessian = risk.shared_hessian(Z)
    if hessian is None and sample is None:
        hessian = risk.hessian(Z, margins)
    if hessian is not None:
        return hessian, np.zeros(Z.shape[1]), 0.0
    if sample is not None:
        rows, Z_rows = sample
        part = float(curvature[rows].sum())
        if part > 0:
            Z, curvature = Z_rows, curvature[rows] * (float(curvature.sum()) / part)
    A = Z.gram(curvature)
    coupling = risk.coupling(blocks.Z, margins)
    if coupling is not None:
        return A - coupling, np.zeros(A.shape[0]), 0.0
    if not risk.intercept:
        return A, np.zeros(A.shape[0]), 0.0
    cross, total = Z.dot(curvature), float(curvature.sum())
    if total > 0:
        A -= np.outer(cross, cross / total)
    return A, cross, total


def _quadratic_model(
    A: FloatArray, h: FloatArray, E: FloatArray, lam: FloatArray, tol: float
) -> tuple[FloatArray, FloatArray]:
    """Minimise 1/2 u'(A + diag(E lambda)^-1) u - h'u over u and lambda in the simplex.

    h, u : (p, r), the sum over r right-hand sides, which share A and lambda.

    With d = E lambda and K = I + diag(sqrt d) A diag(sqrt d), which is well conditioned from below
    even at d_j = 0: u = sqrt d * K^-1 (sqrt d * h), c = h - A u; the minimum over u has gradient
    -1/2 ||c_{S_t}||^2 in lambda_t and the Hessian B'(A - A sqrt d K^-1 sqrt d A)B, B = diag(c) E.
    Projected Newton: its quadratic model over the simplex exactly, then Armijo.
    """

    def factor(lam: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        root = np.sqrt(E @ lam)
        K = A * root[:, None]
        K *= root
        np.einsum("ii->i", K)[:] += 1.0
        L, info = dpotrf(K, lower=1, clean=0, overwrite_a=1)
        if info:  # rounding in a float32 Gram matrix: shift by its error
            K = A * root[:, None] * root
            np.einsum("ii->i", K)[:] += 1.0 + 1e-5 * float(np.einsum("ii->i", K).max())
            L, info = dpotrf(K, lower=1, clean=0, overwrite_a=1)
        u = root[:, None] * dpotrs(L, root[:, None] * h, lower=1)[0]
        return -0.5 * float(np.vdot(h, u)), u, root, L

    value, u, root, L = factor(lam)
    if lam.size == 1:
        return u, lam
    for _ in range(MINIMAX_NEWTON.max_weights):
        c = h - A @ u
        gradient = -0.5 * (E.T @ (c**2).sum(axis=1))
        if float(lam @ gradient) - float(gradient.min()) <= tol:
            break
        B = (c[:, :, None] * E[:, None]).reshape(root.size, -1)
        AB = A @ B
        RAB = root[:, None] * AB
        B, AB, RAB, KRAB = (
            one.reshape(-1, lam.size) for one in (B, AB, RAB, dpotrs(L, RAB, lower=1)[0])
        )
        hessian = B.T @ AB - RAB.T @ KRAB
        target = minimize_on_simplex(gradient - hessian @ lam, hessian, lam)
        slope = float(gradient @ (target - lam))
        step = 1.0
        while True:
            trial = lam + step * (target - lam)
            answer = factor(trial)
            if answer[0] <= value + 1e-4 * step * slope + 1e-14 * abs(value) or step < 1e-8:
                break
            step *= 0.5
        if step < 1e-8:
            break
        lam = trial
        value, u, root, L = answer
    return u, lam


def minimize_on_simplex(g: FloatArray, H: FloatArray, start: FloatArray) -> FloatArray:
    """Return argmin of g'x + 1/2 x'Hx over x >= 0, sum x = 1, by an active set; H (T, T) is PSD."""
    x = np.maximum(start, 0.0)
    x /= x.sum()
    T = x.size
    unit = max(float(np.einsum("ii->i", H).max()), float(np.abs(g).max()), 1e-300)
    g, H = g / unit, H / unit + 1e-12 * np.eye(T)
    free = x > 0
    for _ in range(10 * T + 20):
        index = np.flatnonzero(free)
        # Newton step on the free variables under sum = 1, by the bordered system.
        size = index.size
        system = np.zeros((size + 1, size + 1))
        system[:size, :size] = H[np.ix_(index, index)]
        system[:size, size] = system[size, :size] = 1.0
        right = np.append(-g[index], 1.0)
        solution = (
            np.linalg.lstsq(system, right, rcond=None)[0] if size > 1 else np.array([1.0, 0.0])
        )
        goal = solution[:size]
        if np.all(goal >= -1e-15):
            x = np.zeros(T)
            x[index] = np.maximum(goal, 0.0)
            x /= x.sum()
            slope = g + H @ x
            multiplier = float(x @ slope)
            worst = int(slope.argmin())
            scale = float(np.abs(slope).max()) + 1e-300
            if slope[worst] >= multiplier - 1e-12 * scale or free[worst]:
                break
            free[worst] = True
        else:
            move = goal - x[index]
            blocking = move < 0
            ratio = np.full(size, np.inf)
            ratio[blocking] = x[index][blocking] / -move[blocking]
            first = int(ratio.argmin())
            x[index] += min(1.0, float(ratio[first])) * move
            x[index[first]] = 0.0
            free[index[first]] = False
    return x


# The inner problem of the minimax family where coefficients have signs.
#
# An active set around any inner solver: columns whose coefficients come out with a wrong sign leave
# the problem, and those whose scores show that they would lower the objective join it.

MOST_JOINS = 5  # after which columns only leave: the dual point bounds the problem all the same


def solve_signed(
    inner: InnerSolver, blocks: BlockProblem, signs: np.ndarray, state: State, tol: float
) -> Inner:
    """Solve the problem over blocks with sigma_j u_j >= 0 as `inner` does one without signs.

    signs : (p,) sigma, 0 for any.
    """
    Z, membership, risk = blocks.Z, blocks.membership, blocks.risk
    free, n_joins, n_iter = np.ones(signs.size, bool), 0, 0
    while True:
        some = np.flatnonzero(free)
        if not some.size:
            scale, dual, b = risk.first()
            alone = replace(state, coef=np.zeros(signs.size), intercept=b)
            answer = Inner(alone, dual, scale, scale, 0, Status.CONVERGED, ())
        else:
            part = replace(blocks, Z=Z.take(some), membership=membership[some])
            answer = inner(part, replace(state, coef=state.coef[some]), tol)
        coef = np.zeros(signs.size)
        coef[some] = answer.state.coef[: some.size]
        right = admitted(coef, signs)
        state = replace(answer.state, coef=right)
        n_iter += answer.n_iter
        wrong = right != coef
        if wrong.any():
            free &= ~wrong
            continue
        scores = admitted(Z.dot(answer.dual), signs)
        largest = float((membership.T @ scores**2).max(initial=0.0))
        bound = risk.bound(answer.dual, 0.5 * largest)[0]
        joining = ~free & (scores != 0)
        solved = answer.objective - bound <= tol * blocks.scale
        if solved or n_joins == MOST_JOINS or not joining.any():
            return replace(answer, state=state, bound=bound, n_iter=n_iter)
        free |= joining
        n_joins += 1


@dataclass(frozen=True, slots=True)
class CuttingPlane:
    """Options of the outer cutting plane."""

    block_size: int  # r, new features (groups) per scan
    max_blocks: int | None = None  # where (P) itself is solved
    inner: InnerSolver = newton  # solver of the problem over the generated blocks
    # Certified gaps of that problem and of (P), relative to the objective without features.
    inner_tol: float = 1e-3
    tol: float = 1e-3


def cutting_plane(
    task: Task,
    size: int | None,
    options: CuttingPlane,
    *,
    C: float,
    start: Sequence[IndexArray] = (),
    final_scan: bool = True,
    l0_sizes: tuple[int, ...] = (),
) -> Solver[SearchResult]:
    """Select features by the outer cutting plane for (P).

    Parameters
    ----------
    task : with groups, `size`, blocks and l0_sizes count groups, which enter with all their usable
        features; the groups of forced features are forced. Forced features are in every block, and
        count.
    size : exactly so many features are returned. None: (P) itself is solved, to an outer gap of
        `tol` or `max_blocks`.
    C : weight of the summed loss, positive.
    start : blocks of features to begin with, without a scan: the steps of an earlier fit.
    final_scan : whether to solve the last inner problem and to scan once more, for the outer bound
        and the l0 bounds at the final dual point; without it the support is all there is.
    l0_sizes : also keep the best lower bound of the l0 problem of these sizes.

    Returns
    -------
    SearchResult, by a generator of scans. `result.objective` is the value of (P) over the generated
    blocks, `bounds["inner"]` and `bounds["outer"]` are lower bounds of that and of (P).
    """
    # From here on features, budgets, blocks and scores are those of units: features or groups.
    design, risk, units = task.design, task.risk(C), task.units
    block_size = options.block_size
    forced = units.of(task.forced)
    allowed = units.usable.copy()
    allowed[forced] = False  # forced features enter by themselves
    n_allowed = int(allowed.sum())
    if size is not None and not forced.size <= size <= forced.size + n_allowed:
        what = "features" if task.groups is None else "groups"
        raise ValueError(
            f"n_{what} must be between {forced.size} (the forced {what}) and "
            f"{forced.size + n_allowed} (the usable ones); got {size}."
        )
    made = _Generated(task, size, options, risk)
    outer_bound = 0.0
    l0_bounds: dict[int, BestDual] = {}
    status = Status.MAX_BLOCKS
    made.resume([units.of(old) for old in start], forced, allowed)
    if made.blocks and made.complete() and not final_scan:
        return SearchResult(made.result(Status.BUDGET, outer_bound), l0_bounds)

    while True:
        scores = yield Scan(design, made.dual)
        magnitude = units.strength(scores)
        forced_mass = float((magnitude[forced] ** 2).sum())
        magnitude[~allowed] = -1.0
        best = largest(magnitude, min(n_allowed, max(block_size + made.n_seen, *l0_sizes, 0)))
        best_square = magnitude[best] ** 2
        worst = 0.5 * (forced_mass + float(best_square[:block_size].sum()))
        outer_bound = max(outer_bound, risk.bound(made.dual, worst)[0])
        for k in l0_sizes:
            quadratic = 0.5 * (forced_mass + float(best_square[: max(0, k - forced.size)].sum()))
            bound, shrink = risk.bound(made.dual, quadratic)
            if k not in l0_bounds or bound > l0_bounds[k].bound:
                l0_bounds[k] = BestDual(bound, shrink * made.dual)

        if made.complete():
            status = Status.BUDGET
            break
        if size is None:
            if made.blocks and made.objective - outer_bound <= options.tol * made.scale:
                status = Status.CONVERGED
                break
            if options.max_blocks is not None and len(made.blocks) >= options.max_blocks:
                break

        best = ranked(design, units, magnitude, scores, made.dual, best[: block_size + made.n_seen])
        block = np.concatenate([forced, best[:block_size]])
        if size is not None:
            missing = size - made.n_seen
            block = fit_budget(block, magnitude, made.seen, block_size, missing, forced)
        elif any(np.array_equal(np.sort(block), old) for old in made.blocks):
            status = Status.REPEATED
            break
        made.add(unseen(block, made.seen, magnitude), np.sort(block), outer_bound, final_scan)
        if made.complete() and not final_scan:
            status = Status.BUDGET
            break

    return SearchResult(made.result(status, outer_bound), l0_bounds)


class _Generated:
    """The blocks so far, their columns, and the last solution of the problem over them."""

    def __init__(self, task: Task, size: int | None, options: CuttingPlane, risk: Risk) -> None:
        self._units, self._risk, self._size, self._options = task.units, risk, size, options
        self.scale, self.dual, b = risk.first()
        capacity = size if size is not None and task.groups is None else 0
        self._pool = GatheredColumns(task.design, capacity)
        self._state = State(np.empty(0), b, np.empty(0))
        self.objective, self._bound = self.scale, 0.0
        self.blocks: list[IndexArray] = []
        self.seen = np.zeros(self._units.usable.size, bool)
        self.n_seen = 0
        self._history: list[Step] = []

    def complete(self) -> bool:
        """Whether there are as many units as there shall be."""
        return self._size is not None and self.n_seen >= self._size

    def resume(self, start: list[IndexArray], forced: IndexArray, allowed: np.ndarray) -> None:
        """Add the blocks of an earlier fit, and solve the problem over all of them."""
        for old in start:
            room = old.size if self._size is None else self._size - self.n_seen
            new = old[allowed[old]]
            if not self.blocks:
                new = np.concatenate([forced, new])
            new = new[~self.seen[new]][:room]
            if new.size:
                entered = self._enter(new, np.union1d(forced, new))
                self._extend(entered.size)
                self._record(entered, {}, {}, None)
        if self.blocks:
            begin = time.perf_counter()
            status, extra = self._solve()
            seconds = {"solve": time.perf_counter() - begin}
            self._record(self._history.pop().entered, seconds, extra, status)

    def add(self, new: IndexArray, block: IndexArray, outer_bound: float, final_scan: bool) -> None:
        """Add a block and its new units; without a final scan the last is not solved."""
        begin = time.perf_counter()
        entered = self._enter(new, block)
        seconds = {"gather": time.perf_counter() - begin}
        begin = time.perf_counter()
        status: Status | None = None
        extra: dict[str, float] = {}
        if final_scan or not self.complete():
            self._extend(entered.size)
            status, extra = self._solve()
        seconds["solve"] = time.perf_counter() - begin
        self._record(entered, seconds, extra | {"outer_bound": outer_bound}, status)

    def result(self, status: Status, outer_bound: float) -> Result:
        """Return the answer with the support in order of the features."""
        order = np.argsort(self._pool.features, kind="stable")
        coef = np.zeros(self._pool.size)
        coef[: self._state.coef.size] = self._state.coef
        return Result(
            support=self._pool.features[order],
            coef=coef[order],
            intercept=self._state.intercept,
            objective=self.objective,
            bounds={"inner": self._bound, "outer": outer_bound},
            dual=self.dual,
            status=status,
            history=tuple(self._history),
        )

    def _enter(self, new: IndexArray, block: IndexArray) -> IndexArray:
        """Gather the columns of new units, and add the block; return their features."""
        entered = self._units.features(new)
        self._pool.add(entered)
        self.seen[new] = True
        self.n_seen += new.size
        self.blocks.append(block)
        return entered

    def _extend(self, n_new: int) -> None:
        """Let new features start at zero, with a small weight on the new block."""
        state, n_blocks = self._state, len(self.blocks)
        if n_blocks == 1:
            self._state = State(np.zeros(n_new), state.intercept, np.ones(1))
            return
        share = 1.0 / (2.0 * n_blocks)
        weights = np.append((1.0 - share) * state.block_weight, share)
        self._state = State(np.append(state.coef, np.zeros(n_new)), state.intercept, weights)

    def _solve(self) -> tuple[Status, dict[str, float]]:
        """Solve the problem over the blocks so far; return the status and what to record."""
        membership = np.zeros((self._pool.size, len(self.blocks)))
        for t, members in enumerate(self.blocks):
            membership[self._pool.position(self._units.features(members)), t] = 1.0
        problem = BlockProblem(self._pool.columns().compact(), membership, self._risk, self.scale)
        inner, tol = self._options.inner, self._options.inner_tol
        signs = self._units.signs[self._pool.features]
        if signs.any():
            answer = solve_signed(inner, problem, signs, self._state, tol)
        else:
            answer = inner(problem, self._state, tol)
        self._state, self.dual = answer.state, answer.dual
        self.objective, self._bound = answer.objective, answer.bound
        gap = (answer.objective - answer.bound) / self.scale
        return answer.status, {"inner_iterations": float(answer.n_iter), "gap": gap}

    def _record(
        self,
        entered: IndexArray,
        seconds: dict[str, float],
        extra: dict[str, float],
        status: Status | None,
    ) -> None:
        self._history.append(
            Step(self.objective, self._bound, self._pool.size, entered, seconds, extra, status)
        )


def unseen(block: IndexArray, seen: np.ndarray, magnitude: FloatArray) -> IndexArray:
    """Return the new features of a block: forced ones (magnitude -1) first, then the best."""
    new: IndexArray = block[~seen[block]]
    rank = np.where(magnitude[new] < 0, np.inf, magnitude[new])
    return new[np.argsort(-rank, kind="stable")]


def fit_budget(
    block: IndexArray,
    magnitude: FloatArray,
    seen: np.ndarray,
    block_size: int,
    missing: int,
    forced: IndexArray,
) -> IndexArray:
    """Return the block to add when exactly `missing` more features may enter.

    magnitude : (m,) |score|, -1 where a feature may not enter by its score.

    Any subset of D_r is a valid cut, so certificates stay true. Where the most active block has
    (nearly) nothing new, the optimum over all features has fewer than k of them: the best unseen
    features follow.
    """
    fresh = block[~seen[block]]
    if fresh.size < min(missing, max(1, block_size // 4)):
        others = np.where(seen, -1.0, magnitude)
        n_others = int((others >= 0).sum())
        fresh = largest(others, min(block_size, missing, n_others))
        return np.concatenate([forced[seen[forced]], fresh])
    if fresh.size > missing:
        return np.concatenate([block[seen[block]], unseen(block, seen, magnitude)[:missing]])
    return block

"""Newton's method for a ridge problem on a few gathered columns, the workhorse of all fits.

    min_{u, b}  1/2 sum_j p_j u_j^2 + sum_i s_i f(y_i, z_i'u + b)                              (R)

with s the sample weights times C. Elimination, exchanges, the final refit and certificates are
sequences of such problems, warm-started. Kernels solve the small ones; the steps of others are BLAS
and LAPACK, and with more columns than rows the Newton system is solved in the space of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from .. import _kernels
from ..core.types import Columns, FloatArray, IndexArray, Smooth
from ..data.gathered import DenseColumns, SparseColumns
from ..losses import Multinomial, Responses, as_adjusted, balance
from .problem import Risk, admitted


@dataclass(frozen=True, slots=True)
class RidgeStepsTuning:
    """Constants of Newton's method for ridge fits."""

    max_newton: int = 100
    most_level: int = 3  # steps that change the objective by rounding, before giving up
    worst_start: float = 2.0  # the objective of a start, relative to the model without features
    balanced: float = 1.0 - 1e-9  # less of a dual point is kept only where b has not its best value
    # Of the diagonal of a Gram matrix, what may be left of it by subtraction.
    rounding: float = 1e-14
    # Penalty of covariates that are columns of a problem, in shares of the weights of the events:
    # it moves the optimum by its square, and less of it lets rounding hide the end of Newton's
    # method.
    vanishing: float = 1e-7


RIDGE_STEPS = RidgeStepsTuning()
# Dense problems of at most so many multiply-adds in a Gram matrix are solved by one call of a
# kernel, those of more columns than rows where a factor of it has at most the latter; above it the
# BLAS is faster, which solves wide ones in the space of the rows. Sparse ones are solved so where
# entries times columns are at most the first number.
KERNEL_GRAM, KERNEL_WIDE = 2e7, 1e6


@dataclass(frozen=True, slots=True)
class Ridge:
    """A solution of (R)."""

    coef: FloatArray  # (p,)
    intercept: float
    margins: FloatArray  # (n,) Zu + b
    dual: FloatArray  # (n,) dual point v, sum_i v_i = 0 where the intercept is free
    scores: FloatArray  # (p,) Z'v
    objective: float
    bound: float  # certified lower bound
    gap: float  # objective - bound, relative to the objective of the model without features


def cholesky(matrix: FloatArray) -> FloatArray:
    """Return the lower factor of a symmetric positive definite matrix (upper part undefined).

    A diagonal shift at rounding level is added where rounding has made the matrix indefinite;
    `matrix` is changed then. LinAlgError where it is not finite.
    """
    shift, largest = 0.0, None
    while True:
        factor, info = dpotrf(matrix, lower=1, clean=0, overwrite_a=0)
        # Not every LAPACK refuses NaN; it stays on the diagonal then.
        if info == 0 and np.isfinite(np.einsum("ii->i", factor)).all():
            return np.asarray(factor)
        diagonal = np.einsum("ii->i", matrix)
        largest = float(diagonal.max(initial=0.0)) if largest is None else largest
        if not shift <= largest < np.inf:
            raise np.linalg.LinAlgError(
                "the Newton system is not finite: the data overflow. Rescale the largest columns "
                "of X, or standardise them."
            )
        step = max(1e-14 * largest, 10.0 * shift)
        diagonal += step - shift
        shift = step


def solve_positive(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a symmetric positive definite system by Cholesky."""
    return np.asarray(dpotrs(cholesky(matrix), right, lower=1)[0])


def inverse_factor(matrix: FloatArray) -> FloatArray:
    """Return L^-1, lower triangular, for a symmetric positive definite matrix L L'."""
    if not matrix.size:  # LAPACK would complain on the terminal
        return np.empty((0, 0))
    return np.asarray(np.tril(dtrtri(cholesky(matrix), lower=1)[0]))


def scale_system(matrix: FloatArray, penalty: FloatArray, least: FloatArray) -> FloatArray:
    """Add the penalty to a Gram matrix and scale its diagonal to 1; return by what, (p,).

    The columns may differ in scale by many orders.

    least : (p,) what less of the diagonal is rounding. Where one row has nearly all the curvature,
        as where a count is predicted to be huge, nothing of a column is left once it is centred,
        and rounding may leave less than that.
    """
    view = np.einsum("ii->i", matrix)
    view += penalty
    np.maximum(view, least, out=view)
    unit = 1.0 / np.sqrt(view)
    matrix *= unit[:, None]
    matrix *= unit
    return np.asarray(unit)


def ridge(
    Z: Columns,
    risk: Risk,
    *,
    columns: IndexArray | None = None,
    penalty: FloatArray | float = 1.0,
    start: tuple[FloatArray, float] | None = None,
    tol: float = 1e-6,
    of_value: bool = False,
    cutoff: float = np.inf,
) -> Ridge:
    """Solve (R) to a certified gap of `tol` relative to the objective of the zero model.

    Parameters
    ----------
    Z : (n, m) gathered columns.
    columns : (p,) positions in Z of the columns of the problem; None: all of them.
    penalty : (p,) or a number, positive: the p_j.
    start : (u, b) to start from.
    cutoff : stop as soon as the bound shows that the optimum is not below this value.
    tol : stop at (objective - bound) <= tol * objective at u = 0, or where rounding ends progress.
    of_value : whether `tol` is relative to the objective itself, which is smaller by many orders
        where the data separate.

    Raises
    ------
    LinAlgError : a Newton system is not finite.
    """
    n = Z.shape[0]
    p = Z.shape[1] if columns is None else columns.size
    diagonal = np.full(p, penalty, dtype=np.float64)
    u = np.zeros(p) if start is None else start[0].copy()
    b = 0.0 if start is None or not risk.intercept else start[1]
    if Z.array is not None and of_times(risk):
        some = Z if columns is None else Z.take(columns)
        return _beside_covariates(some, risk, diagonal, u, tol, of_value, cutoff)
    of_outputs = None
    if risk.loss.outputs > 1:
        of_outputs = compiled_outputs(Z, risk, columns, diagonal, u, tol, of_value, cutoff)
    if of_outputs is not None:
        return bounded(of_outputs, risk, diagonal)
    chosen = np.arange(p) if columns is None else columns
    solve: Any
    if in_kernel(Z, p, risk.loss):
        solve = _kernels.dense_ridge
    elif sparse_in_kernel(Z, chosen, risk.loss):
        solve = _kernels.sparse_ridge
    else:
        some = Z if columns is None else Z.take(columns)
        fit = newton(some, risk, diagonal, (u, b), tol, of_value, cutoff)
        return bounded(fit, risk, diagonal)
    margins, dual, scores = np.empty(n), np.empty(n), np.empty(p)
    b, objective, bound, gap = solve(
        *Z.storage, chosen, risk.y.ravel(), risk.weight, diagonal, risk.loss.kernel,
        risk.loss.kernel_parameters, risk.intercept, b, tol, of_value, cutoff, u, margins, dual,
        scores,
    )  # fmt: skip
    fit = Ridge(u, b, margins, dual, scores, objective, bound, gap)
    return bounded(fit, risk, diagonal)


def of_times(risk: Risk) -> bool:
    """Return whether there are covariates beside times, whose own best coefficients take long."""
    own = as_adjusted(risk.loss)
    return own is not None and own.target == "survival"


def joined(Z: Columns, risk: Risk) -> tuple[DenseColumns, Risk, FloatArray]:
    """Return a problem whose last columns are the covariates, with the penalties of these.

    Its loss has no covariates, so that kernels solve it. Penalties that vanish change no digit that
    a selection depends on.
    """
    own: Any = as_adjusted(risk.loss)
    columns = DenseColumns(np.asfortranarray(np.hstack([Z.dense(), own.basis])))
    events = float(risk.weight @ (risk.y[:, 1] > 0))
    penalty = np.full(own.basis.shape[1], RIDGE_STEPS.vanishing * events)
    return columns, replace(risk, loss=own.each), penalty


def with_covariates(Z: Columns, risk: Risk) -> tuple[DenseColumns, Risk, FloatArray]:
    """Return the same with penalties of 1, and what the covariates were multiplied by for that."""
    columns, plain, penalty = joined(Z, risk)
    unit = 1.0 / np.sqrt(penalty)
    columns.array[:, Z.shape[1] :] *= unit
    return columns, plain, unit


def _beside_covariates(
    Z: Columns,
    risk: Risk,
    diagonal: FloatArray,
    u: FloatArray,
    tol: float,
    of_value: bool,
    cutoff: float,
) -> Ridge:
    """Solve (R) with covariates as columns, and then at their best coefficients."""
    own: Any = as_adjusted(risk.loss)
    p = u.size
    columns, plain, vanishing = joined(Z, risk)
    first = ridge(
        columns, plain, penalty=np.append(diagonal, vanishing),
        start=(np.append(u, own.start[0]), 0.0), tol=0.5 * tol, of_value=of_value, cutoff=cutoff,
    )  # fmt: skip
    u, effects = first.coef[:p], first.coef[None, p:]
    z, zero_value = Z.times(u), risk.null()
    own.solution(z, risk.y, risk.weight, effects)  # kept for who asks at these margins
    value, dual = own.near(z, risk.y, risk.weight, effects)
    objective, scores = value + 0.5 * float((diagonal * u) @ u), Z.dot(dual)
    bound = risk.bound(dual, 0.5 * float((scores / diagonal) @ scores))[0]
    gap = objective - bound
    if gap <= tol * (objective if of_value else zero_value) or bound >= cutoff:
        return Ridge(u, 0.0, z, dual, scores, objective, bound, gap / zero_value)
    return newton(Z, risk, diagonal, (u, 0.0), tol, of_value, cutoff)


def in_kernel(Z: Columns, p: int, loss: Smooth) -> bool:
    """Return whether the compiled solvers solve a problem on p columns of Z."""
    n = Z.shape[0]
    small = n * p * p <= KERNEL_GRAM if p <= n else p**3 <= KERNEL_WIDE
    return small and loss.kernel >= 0 and Z.array is not None


def sparse_in_kernel(Z: Columns, columns: IndexArray, loss: Smooth) -> bool:
    """Return whether a compiled solver solves a problem on some columns of a sparse Z."""
    if not (loss.separable and loss.kernel >= 0):
        return False
    if not isinstance(Z, SparseColumns) or columns.size > Z.shape[0]:
        return False
    return bool(Z.counts[columns].sum() * columns.size <= KERNEL_GRAM)


def bounded(fit: Ridge, risk: Risk, diagonal: FloatArray) -> Ridge:
    """Return the fit with a bound where the solver has none: b has no best value in floating point.

    There the dual point, balanced, is not that of the margins.
    """
    if np.isfinite(fit.bound):
        return fit
    quadratic = 0.5 * float((fit.scores / diagonal) @ fit.scores)
    bound = risk.bound(fit.dual, quadratic)[0]
    zero_value = risk.null()
    gap = (fit.objective - bound) / zero_value if zero_value > 0 else 0.0
    return replace(fit, bound=bound, gap=gap)


# Ridge problems of several outputs on a few dense columns, by compiled solvers.
#
# The classes of a multinomial model have one Newton system; responses are as many problems, which
# share its matrix where they are least squares.


@dataclass(frozen=True, slots=True)
class RidgeOutputsTuning:
    """Constants of ridge fits of several outputs."""

    # Systems of at most so many multiply-adds: above it the BLAS is faster.
    kernel_system: float = 2e8
    # Pools of so many numbers, each in all outputs, in which a kernel makes the exchanges in one
    # call.
    kernel_pool: float = 1e6
    # The number of the multinomial loss where others have that of the loss of each output.
    of_classes: int = -1


RIDGE_OUTPUTS = RidgeOutputsTuning()


def kernel_of(loss: Any) -> int | None:
    """Return the number by which compiled solvers know a loss of outputs; None: they do not."""
    if type(loss) is Multinomial:
        return RIDGE_OUTPUTS.of_classes
    if type(loss) is Responses and loss.each.kernel >= 0 and loss.each.separable:
        return loss.each.kernel
    return None


def outputs_in_kernel(loss: Any, n: int, n_features: int) -> bool:
    """Return whether the compiled solvers solve problems of n rows on so many features."""
    side = n_features * (loss.outputs if type(loss) is Multinomial else 1)
    return kernel_of(loss) is not None and n * side**2 + side**3 <= RIDGE_OUTPUTS.kernel_system


def outputs_over_blocks(Z: Columns, risk: Risk) -> bool:
    """Return whether a compiled solver has the minimax problem over blocks of the columns."""
    loss: Any = risk.loss
    kernel, x = kernel_of(loss), Z.repeated
    if kernel is None or x is None or not outputs_in_kernel(loss, risk.size, x.shape[1]):
        return False
    s = risk.weight.reshape(loss.outputs, -1)
    return kernel == RIDGE_OUTPUTS.of_classes or bool(loss.each.quadratic and (s == s[0]).all())


def compiled_outputs(
    Z: Columns,
    risk: Risk,
    columns: IndexArray | None,
    diagonal: FloatArray,
    u: FloatArray,
    tol: float,
    of_value: bool,
    cutoff: float,
) -> Ridge | None:
    """Solve the problem of `ridge` from u, where it is of whole features and small.

    diagonal : (p,) the p_j. Returns None where there is no compiled solver for it.
    """
    loss: Any = risk.loss
    x, q, kernel = Z.repeated, loss.outputs, kernel_of(loss)
    if kernel is None or x is None:
        return None
    chosen = np.arange(Z.shape[1]) if columns is None else columns
    places = chosen[::q] // q
    n, p = risk.size, places.size * q
    whole = np.array_equal((q * places[:, None] + np.arange(q)).ravel(), chosen)
    if not whole or not outputs_in_kernel(loss, n, places.size):
        return None
    margins, dual, scores = np.empty(n * q), np.empty(n * q), np.empty(p)
    out = u, margins, dual, scores
    if kernel == RIDGE_OUTPUTS.of_classes:
        if not np.array_equal(diagonal, np.repeat(diagonal[::q], q)):
            return None
        numbers = _kernels.multinomial_ridge(
            x, places, risk.y, risk.weight, diagonal, q, loss.free, tol,
            of_value, cutoff, *out,
        )  # fmt: skip
    else:
        numbers = _kernels.responses_ridge(
            x, places, risk.y, risk.weight, diagonal, kernel, loss.each.kernel_parameters, q,
            loss.free, tol, of_value, *out,
        )  # fmt: skip
    return Ridge(u, numbers[0], margins, dual, scores, *numbers[1:])


def newton(
    Z: Columns,
    risk: Risk,
    diagonal: FloatArray,
    start: tuple[FloatArray, float],
    tol: float,
    of_value: bool,
    cutoff: float,
) -> Ridge:
    """Solve (R) from (u, b) as `ridge` does, for any storage, loss and size; diagonal: the p_j."""
    (u, b), p, intercept = start, Z.shape[1], risk.intercept
    zero_value = risk.null()
    z = Z.times(u)
    best_bound = -np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        value, gradient = risk.value_gradient(z + b)
    if not value + 0.5 * float((diagonal * u) @ u) <= RIDGE_STEPS.worst_start * zero_value:
        # From where an exponential is huge, Newton's steps come back by about 1 in the margins
        # each, and from where it overflows not at all: no start is better then.
        u, b, z = np.zeros(p), 0.0, np.zeros_like(z)
        value, gradient = risk.value_gradient(z)
    objective, level = value, 0
    scores = descent = dual = np.empty(0)

    def slope_in_u() -> float:
        """Set scores and minus the gradient in u; return the gap of v where b is at its best.

        The loss of the margins and its conjugate at v are equal together there, so what is left
        is the square of the slope.
        """
        nonlocal scores, descent
        scores = Z.dot(dual)
        descent = scores - diagonal * u
        return 0.5 * float((descent / diagonal) @ descent)

    def certify() -> None:
        """Go to the best intercept and bound the optimum there."""
        nonlocal b, value, gradient, objective, dual, best_bound
        kept = 1.0
        if intercept:
            b, value, gradient = risk.best(z, b)
            objective = value + 0.5 * float((diagonal * u) @ u)
            raw = -gradient
            dual = balance(raw)
            kept = float(np.min(dual[raw != 0] / raw[raw != 0], initial=1.0))
        left = slope_in_u()
        if kept >= RIDGE_STEPS.balanced:
            best_bound = max(best_bound, objective - left)

    for iteration in range(RIDGE_STEPS.max_newton):
        objective = value + 0.5 * float((diagonal * u) @ u)
        dual = -gradient
        left = slope_in_u()
        curvature = risk.curvature(z + b)
        wanted = tol * (objective if of_value else zero_value)
        last = iteration == RIDGE_STEPS.max_newton - 1 or level == RIDGE_STEPS.most_level
        flat = intercept and not float(curvature.sum()) > 0  # no Newton step in b
        certified = left <= wanted or objective - left >= cutoff or last or flat
        if certified:
            certify()
            if objective - best_bound <= wanted or best_bound >= cutoff or p == 0 or last:
                break
            curvature = risk.curvature(z + b)
        pull = float(gradient.sum()) if intercept else 0.0
        coupling = risk.coupling(Z, z + b)
        direction, shift = _newton_direction(
            Z, curvature, diagonal, descent, pull, intercept and coupling is None, coupling
        )
        z_step = Z.times(direction)
        slope = float(descent @ direction) - pull * shift
        step = 1.0
        accepted = False
        for _ in range(40):
            trial = u + step * direction
            z_trial = z + step * z_step
            at_trial = risk.value_gradient(z_trial + (b + step * shift))
            trial_objective = at_trial[0] + 0.5 * float((diagonal * trial) @ trial)
            if trial_objective <= objective - 1e-4 * step * slope:
                accepted = True
                break
            step *= 0.5
        if not accepted:  # rounding: no decrease is left
            if not certified:
                certify()
            break
        u, z, b = trial, z_trial, b + step * shift
        value, gradient = at_trial
        level += trial_objective >= objective
    gap = (objective - best_bound) / zero_value if zero_value > 0 else 0.0
    return Ridge(u, b, z + b, dual, scores, objective, best_bound, gap)


def _newton_direction(
    Z: Columns,
    curvature: FloatArray,
    diagonal: FloatArray,
    descent: FloatArray,
    pull: float,
    intercept: bool,
    coupling: FloatArray | None = None,
) -> tuple[FloatArray, float]:
    """Return the Newton direction in u and in b; pull: the gradient in b.

    coupling : what the curvature of the loss is less than Z'WZ, of a loss without intercept.

    The system is (diag(p) + Z'WZ - (Z'w)(Z'w)'/sum w) d = descent + Z'w pull / sum w: the rank-one
    term eliminates b.
    """
    n, p = Z.shape
    total = float(curvature.sum())
    centre = intercept and total > 0
    cross = Z.dot(curvature) if centre else np.zeros(p)
    if centre:
        descent = descent + cross * (pull / total)
    if p <= n or Z.array is None or coupling is not None:
        matrix = Z.gram(curvature)
        least = RIDGE_STEPS.rounding * np.diagonal(matrix)
        if centre:
            matrix -= np.outer(cross, cross / total)
        if coupling is not None:
            matrix -= coupling
        unit = scale_system(matrix, diagonal, least)
        direction = unit * solve_positive(matrix, unit * descent)
    else:
        # Woodbury: with V = W^(1/2) (Z - 1 (Z'w)'/sum w), (P + V'V)^-1 r
        #         = P^-1 r - P^-1 V' (I + V P^-1 V')^-1 V P^-1 r
        V = Z.array - (cross / total if centre else cross)
        V *= np.sqrt(curvature)[:, None]
        scaled = V / diagonal
        matrix = np.asarray(scaled @ V.T)
        np.einsum("ii->i", matrix)[:] += 1.0
        direction = descent / diagonal
        direction -= scaled.T @ solve_positive(matrix, V @ direction)
    shift = -(float(cross @ direction) + pull) / total if centre else 0.0
    return direction, shift


# Ridge problems whose coefficients have signs: an active set around those without.
#
#     min_{u, b}  1/2 sum_j p_j u_j^2 + sum_i s_i f(y_i, z_i'u + b)   subject to  sigma_j u_j >= 0
#
# for the columns with a sign sigma_j of -1 or 1. The problem is solved on a set of free columns,
# the others at 0: columns that come out with a wrong sign leave the set, and those whose scores
# show that they would lower the objective join it. From one set to the next the objective falls, so
# that no set comes twice, and the last one is that of the solution.
#
# Source: Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23; here many columns
# leave and join at once.

ROUNDS_PER_COLUMN, MORE_ROUNDS = 3, 30  # sets, at most: far more than there are


def signed_ridge(
    Z: Columns,
    risk: Risk,
    signs: np.ndarray,
    *,
    columns: IndexArray | None = None,
    penalty: FloatArray | float = 1.0,
    start: tuple[FloatArray, float] | None = None,
    tol: float = 1e-6,
    of_value: bool = False,
    cutoff: float = np.inf,
) -> Ridge:
    """Solve the problem as `ridge` does one without signs; where there are none, that one.

    signs : (p,) of the columns of the problem; 0: any.
    """
    options: dict[str, Any] = {"tol": tol, "of_value": of_value}
    fit = ridge(
        Z, risk, columns=columns, penalty=penalty, start=start, cutoff=cutoff, **options
    )  # fmt: skip
    # A bound without signs is one with them, too.
    if not signs.any() or not (signs * fit.coef < 0.0).any() or fit.bound >= cutoff:
        return fit
    own = np.arange(Z.shape[1]) if columns is None else columns
    problem = _Signed(Z.take(own), risk, signs, np.full(own.size, penalty, np.float64), options)
    return problem.solve(fit)


class _Signed:
    def __init__(
        self,
        Z: Columns,
        risk: Risk,
        signs: np.ndarray,
        diagonal: FloatArray,
        options: dict[str, Any],
    ) -> None:
        self._Z, self._risk, self._signs = Z, risk, signs
        self._diagonal, self._options = diagonal, options
        self._zero_value = risk.null()

    def solve(self, unsigned: Ridge) -> Ridge:
        """Return the solution, from that without signs."""
        size = self._diagonal.size
        u = admitted(unsigned.coef, self._signs)
        free = (self._signs == 0) | (u != 0)
        b, _ = self._at(u, unsigned.intercept)
        best: Ridge | None = None  # over the last free columns that had it without wrong signs
        for _ in range(ROUNDS_PER_COLUMN * size + MORE_ROUNDS):
            fit = self._fit(free, u, b)
            wrong = admitted(fit.coef, self._signs) != fit.coef
            if not wrong.any():
                if best is not None and not fit.objective < best.objective:
                    break  # rounding: no decrease is left
                best, u, b = fit, fit.coef, fit.intercept
                joining = ~free & (admitted(fit.scores, self._signs) != 0)
                wanted = self._options["tol"] * (
                    fit.objective if self._options["of_value"] else self._zero_value
                )
                if not joining.any() or fit.objective - fit.bound <= wanted:
                    break
                free = free | joining
                continue
            u, b, leaving = self._towards(u, b, fit, wrong)
            free = free & ~leaving
        assert best is not None  # there are more rounds than columns
        return best

    def _towards(
        self, u: FloatArray, b: float, fit: Ridge, wrong: np.ndarray
    ) -> tuple[FloatArray, float, np.ndarray]:
        """Return a point between u and a solution with wrong signs, and the columns that leave.

        All of the wrong ones do where the objective falls without them; else the first that meets
        0 on the way.
        """
        before = self._at(u, b)[1]
        there = np.where(wrong, 0.0, fit.coef)
        b_there, objective = self._at(there, fit.intercept)
        if objective < before:
            return there, b_there, wrong
        share = np.full(u.size, np.inf)
        share[wrong] = np.abs(u[wrong]) / (np.abs(u[wrong]) + np.abs(fit.coef[wrong]))
        leaving = share == share.min()
        moved = np.where(leaving, 0.0, u + share.min() * (fit.coef - u))
        return moved, b, leaving

    def _at(self, u: FloatArray, b: float) -> tuple[float, float]:
        """Return the best intercept of coefficients and the objective; b: where to look for it."""
        b, value, _ = self._risk.best(self._Z.times(u), b)
        return b, value + 0.5 * float((self._diagonal * u) @ u)

    def _fit(self, free: np.ndarray, u: FloatArray, b: float) -> Ridge:
        """Return the solution over the free columns, as one of all: with their scores."""
        some = np.flatnonzero(free)
        fit = ridge(
            self._Z, self._risk, columns=some, penalty=self._diagonal[some], start=(u[some], b),
            **self._options,
        )  # fmt: skip
        coef = np.zeros(free.size)
        coef[some] = fit.coef
        scores = self._Z.dot(fit.dual)
        quadratic = 0.5 * float(admitted(scores, self._signs) ** 2 @ (1.0 / self._diagonal))
        bound = min(self._risk.bound(fit.dual, quadratic)[0], fit.objective)  # but for rounding
        gap = (fit.objective - bound) / self._zero_value if self._zero_value > 0 else 0.0
        return Ridge(coef, fit.intercept, fit.margins, fit.dual, scores, fit.objective, bound, gap)


# How far features can move the loss at most: where that is little, tolerances must be less.


@dataclass(frozen=True, slots=True)
class MovementTuning:
    """Constants of the share that features move."""

    # Tolerances are shares of the objective, or of this many times what features can lower it by.
    slack: float = 100.0
    rounding: float = 1e-15  # no tolerance is less
    # Where features move no more than this share, their scores alone rank them.
    still: float = 1e-9


MOVEMENT = MovementTuning()


@dataclass(frozen=True, slots=True)
class Movement:
    """What columns tell of the loss at the model without features.

    With the scores c of its dual point no model lowers the objective by more than 1/2 ||c||^2. As C
    or the weights vanish, coefficients become c, and the best k features are those of the k largest
    |c_j|: to a share of C times the curvature of a column, which is less than what is still here.
    """

    scores: FloatArray  # (p,)
    share: float  # 1/2 ||c||^2 as a share of the objective without features

    @classmethod
    def of(
        cls,
        Z: Columns,
        risk: Risk,
        signs: np.ndarray | None = None,
        penalty: FloatArray | float = 1.0,
    ) -> Movement:
        """Return that of some columns, with the signs and penalties of their coefficients."""
        value, dual, _ = risk.first()
        scores = Z.dot(dual) / np.sqrt(penalty)
        if signs is not None:
            scores = admitted(scores, signs)
        return cls(scores, 0.5 * float(scores @ (scores / value)))

    @property
    def is_still(self) -> bool:
        """Whether no fit tells features apart by its objective."""
        return self.share <= MOVEMENT.still

    @property
    def is_small(self) -> bool:
        """Whether `tolerance` is less than the one asked for."""
        return self.share < 1.0 / MOVEMENT.slack

    def tolerance(self, tol: float) -> float:
        """Return a tolerance as a share of the objective that is small next to what can move."""
        return min(tol, max(MOVEMENT.rounding, tol * MOVEMENT.slack * self.share))

"""The final fit on a fixed support: L2-penalised, on the scaling of the user's X.

    min_{w, b}  1/2 sum_j p_j w_j^2 + C sum_i s_i f(y_i, x_i'w + b)

with C given and p_j = 1, or C chosen by the approximate leave-one-out loss and p_j so that units
that differ by many orders have no part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np
from scipy.linalg import qr

from .. import _kernels
from ..core.parallel import map_threads
from ..core.types import Columns, FloatArray, IndexArray
from ..data.gathered import BLOCK_ROWS, FLOAT32_GRAM, DenseColumns, SparseColumns
from ..losses import Adjusted, LossOfOutputs, Ordinal, Responses, as_adjusted, without_covariates
from ..losses.ordinal import losses_of_rows
from .problem import Risk, free_signs
from .ridge_fits import (
    RIDGE_STEPS,
    Movement,
    Ridge,
    in_kernel,
    inverse_factor,
    joined,
    of_times,
    scale_system,
    signed_ridge,
    solve_positive,
)

# Leverages of rows under a fit: by how much its own target moves the margin of a row.

CANCELLED = 1e6  # leverage of the mean row, in shares of 1 / sum w, from which digits are missed


def _sparse_leverages(
    Z: SparseColumns, inverse: FloatArray, centre: FloatArray, base: float
) -> FloatArray | None:
    """Return base + (z_i - c)'A(z_i - c) without making rows dense, or None where digits cancel."""
    towards = inverse @ centre
    of_centre = float(centre @ towards)
    if of_centre > CANCELLED * base:
        return None
    return np.asarray(Z.forms(inverse) - 2.0 * Z.times(towards) + (of_centre + base))


def leverages(
    Z: Columns, curvature: FloatArray, diagonal: FloatArray, intercept: bool
) -> FloatArray:
    """Return h_i = x_i'H^-1 x_i, x_i = (z_i, 1), H = diag(p, 0) + sum_i w_i x_i x_i'.

    The last entry of x_i and the last row of H are there only with an intercept.
    """
    n, p = Z.shape
    total = float(curvature.sum())
    centred = intercept and total > 0
    centre = Z.dot(curvature) / total if centred else np.zeros(p)
    base = 1.0 / total if centred else 0.0
    if p <= n:
        # With H = L L' over the centred columns, h_i = ||L^-1 z_i||^2.
        matrix = Z.gram(curvature)
        least = RIDGE_STEPS.rounding * np.diagonal(matrix)
        matrix -= total * np.outer(centre, centre)
        unit = scale_system(matrix, diagonal, least)
        whiten = inverse_factor(matrix).T  # of the centred columns times `unit`
        if isinstance(Z, SparseColumns):
            white = unit[:, None] * whiten
            found = _sparse_leverages(Z, white @ white.T, centre, base)
            if found is not None:
                return found
        narrow = n * p * p > FLOAT32_GRAM
        size = np.sqrt(total) if total > 0 else 1.0  # values near 1: no underflow in float32
        if narrow:
            whiten = whiten.astype(np.float32)

        def part(start: int) -> FloatArray:
            centred = Z.rows(slice(start, start + BLOCK_ROWS)).dense() - centre
            centred *= unit * size
            white = (centred.astype(np.float32) if narrow else centred) @ whiten
            return np.asarray(np.einsum("ij,ij->i", white, white), dtype=np.float64)

        lengths = np.concatenate(map_threads(part, range(0, n, BLOCK_ROWS)))
        return np.asarray(base + lengths / size**2)
    # In the space of the rows, K = Z P^-1 Z': Z (P + Z'WZ)^-1 Z' = K - K R (I + R K R)^-1 R K
    # with R = W^(1/2).
    dense = Z.dense() - centre
    K = (dense / diagonal) @ dense.T
    root = np.sqrt(curvature)
    matrix = K * root[:, None] * root
    np.einsum("ii->i", matrix)[:] += 1.0
    RK = root[:, None] * K
    removed = np.einsum("ij,ij->j", RK, solve_positive(matrix, RK))
    return np.asarray(base + np.einsum("ii->i", K) - removed)


# What rows lose under models fitted without them, by which the final fit chooses its C.

FOLDS = 5  # where the loss of a row depends on other rows

# Fits, coefficients and intercepts, and losses of left out rows, for some values of C.
Compared: TypeAlias = tuple[list[tuple[FloatArray, float]], list[float]]


@dataclass(frozen=True, slots=True)
class RowsLeftOut:
    """A final fit, and what it is without single rows."""

    Z: Columns
    risk: Risk  # with the sample weights, C not among them
    penalty: FloatArray  # (p,)
    unit: FloatArray  # (n,) what leaving a row out takes off its weight

    @classmethod
    def of(
        cls, Z: Columns, risk: Risk, penalty: FloatArray, unit: FloatArray | None = None
    ) -> RowsLeftOut:
        """Return it; unit : what leaving one row out takes off its weight at most, by default 1."""
        return cls(Z, risk, penalty, np.minimum(risk.weight, 1.0 if unit is None else unit))


def approximate_loss_left_out(fit: RowsLeftOut, C: float, margins: FloatArray) -> float:
    """Return the mean loss of each row under the model fitted without one unit of its weight.

    By one Newton step from the full fit: of which coefficients and intercepts, follows from the
    loss.
    """
    leave_out = leave_one_out_loss
    if isinstance(without_covariates(fit.risk.loss), Ordinal):
        leave_out = leave_ordered_row_out_loss
    elif as_adjusted(fit.risk.loss) is not None or fit.risk.loss.outputs > 1:
        leave_out = leave_one_row_out_loss
    return leave_out(fit, C, margins)


def leave_one_out_loss(fit: RowsLeftOut, C: float, margins: FloatArray) -> float:
    """Return the mean loss of each row under the model fitted without one unit of its weight.

    One Newton step from the full fit: z_i <- z_i + C h_i g_i / (1 - C h_i w_i), g_i and w_i the
    first and second derivative of one unit of loss and h_i the leverage x_i'H^-1 x_i, whose x_i
    ends with the constant 1 of the free intercept.
    """
    Z, risk, penalty = fit.Z, fit.risk, fit.penalty
    if risk.loss.separable and in_kernel(Z, Z.shape[1], risk.loss):
        assert Z.array is not None
        return _kernels.left_out_loss(
            Z.array, risk.y, risk.weight, fit.unit, risk.loss.kernel, risk.loss.kernel_parameters,
            risk.intercept, C, penalty, margins,
        )  # fmt: skip
    leverage = leverages(Z, C * risk.curvature(margins), penalty, risk.intercept)
    return _left_out(risk, C, margins, leverage, fit.unit)


def compare_at_once(
    fit: RowsLeftOut, values: FloatArray, start: tuple[FloatArray, float], tol: float
) -> Compared:
    """Return the fits with some values of C, each from the one before, and their losses as above.

    Of a sum over rows, in small problems, in one call.
    """
    (m,), risk = values.shape, fit.risk
    coef, intercepts, losses = np.empty((m, fit.penalty.size)), np.empty(m), np.empty(m)
    assert fit.Z.array is not None
    _kernels.compare_left_out(
        fit.Z.array, risk.y, risk.weight, fit.unit, risk.loss.kernel, risk.loss.kernel_parameters,
        risk.intercept, start[1], fit.penalty, values, tol, start[0].copy(), coef, intercepts,
        losses,
    )  # fmt: skip
    return list(zip(coef, intercepts.tolist(), strict=True)), losses.tolist()


def comparison_at_once(Z: Columns, risk: Risk) -> Callable[..., Compared] | None:
    """Return what compares values of C in few calls, for problems without signs; None: nothing."""
    loss: Any = risk.loss
    if loss.separable and in_kernel(Z, Z.shape[1], loss):
        return compare_at_once
    if type(loss) is not Responses or not loss.each.separable:
        return None
    own = Z.of_output(0)
    return compare_responses_at_once if in_kernel(own, own.shape[1], loss.each) else None


def compare_responses_at_once(
    fit: RowsLeftOut, values: FloatArray, start: tuple[FloatArray, float], tol: float
) -> Compared:
    """Return the same of responses without covariates, a call for each: they have own models."""
    loss = cast("Responses", fit.risk.loss)
    q, m = loss.outputs, values.size
    parts = (loss.by_output(one) for one in (fit.risk.y, fit.risk.weight, fit.unit))
    coef, losses = np.empty((m, fit.penalty.size)), np.zeros(m)
    for o, (y, weight, unit) in enumerate(zip(*parts, strict=True)):
        own = slice(o, None, q)
        risk, penalty = (
            Risk(y, weight, loss.each, loss.free),
            np.ascontiguousarray(fit.penalty[own]),
        )
        one = RowsLeftOut(fit.Z.of_output(o), risk, penalty, unit)
        fits, of_one = compare_at_once(one, values, (start[0][own], 0.0), tol)
        coef[:, own] = [found for found, _ in fits]
        losses += of_one
    return [(one, 0.0) for one in coef], losses.tolist()


def _left_out(
    risk: Risk, C: float, margins: FloatArray, leverage: FloatArray, unit: FloatArray
) -> float:
    """Return the mean loss of each row at its margin without one unit of it; unit: its weight."""
    one = replace(risk, weight=unit)
    gradient = one.value_gradient(margins)[1]
    # A row that the fit follows alone would have 0 by rounding, or less.
    damping = 1.0 - C * leverage * one.curvature(margins)
    shifted = margins + C * leverage * gradient / np.maximum(damping, 1e-8)
    return risk.value_gradient(shifted)[0] / float(risk.weight.sum())


def leave_one_row_out_loss(fit: RowsLeftOut, C: float, margins: FloatArray) -> float:
    """Return the mean loss of each row of several outputs under the model fitted without it.

    The same Newton step: with A the outputs x outputs leverages of a row, g and W the derivatives
    of one unit of its loss, z <- z + C A (I - C W A)^-1 g. Intercepts and covariates are columns of
    the fit; with covariates there may be one output. Responses without any have models of their
    own, each with its leverages.
    """
    risk, loss = fit.risk, cast("LossOfOutputs | Adjusted", fit.risk.loss)
    q, z = loss.outputs, loss.moved(margins, risk.y, risk.weight)
    if isinstance(loss, Responses):
        return _loss_of_responses(fit, C, z)
    at, free = loss.at_margins, loss.free_columns(risk.size)
    leverage = _shared_leverages(fit.Z, C * at.blocks(z, risk.y, risk.weight), fit.penalty, free)
    gradient = at.value_gradient(z, risk.y, fit.unit)[1].reshape(q, -1)
    damping = np.eye(q) - C * at.blocks(z, risk.y, fit.unit).transpose(2, 0, 1) @ leverage
    moved = np.linalg.solve(damping, gradient.T[:, :, None])
    shift = (C * leverage @ moved)[:, :, 0].T.ravel()
    return float(at.value_gradient(z + shift, risk.y, risk.weight)[0] / risk.weight.sum() * q)


def _shared_leverages(
    Z: Columns, bends: FloatArray, penalty: FloatArray, free: FloatArray
) -> FloatArray:
    """Return the outputs x outputs leverages of every row, (n, outputs, outputs).

    Z : every feature in all outputs. bends : (outputs, outputs, n) second derivatives of the rows.
    penalty : (p,). free : (n, r) columns without a penalty, in every output.
    """
    q, _, n = bends.shape
    x = np.column_stack([(Z if q == 1 else Z.of_output(0)).dense(), free])
    ridge_of = np.column_stack([penalty.reshape(-1, q).T, np.zeros((q, free.shape[1]))])
    m = x.shape[1]
    blocks = x.T @ (bends.reshape(q * q, n, 1) * x)
    matrix = blocks.reshape(q, q, m, m).transpose(0, 2, 1, 3).reshape(q * m, q * m)
    matrix[np.diag_indices_from(matrix)] += ridge_of.ravel()
    # Equal shifts of all intercepts may change nothing: a little ridge is on them.
    matrix[np.diag_indices_from(matrix)] += 1e-10 * np.einsum("ii->i", matrix)
    factor = inverse_factor(matrix)
    inverse = (factor.T @ factor).reshape(q, m, q, m).transpose(1, 0, 2, 3).reshape(m, -1)
    found = (x @ inverse).reshape(n, q * q, m) @ x[:, :, None]
    return np.asarray(found.reshape(n, q, q))


def _loss_of_responses(fit: RowsLeftOut, C: float, margins: FloatArray) -> float:
    """Return the sum of the leave-one-out losses of the responses; margins: with intercepts."""
    loss: Any = fit.risk.loss
    values = fit.risk.y, fit.risk.weight, fit.unit, margins
    parts, total = [loss.by_output(one) for one in values], 0.0
    known: tuple[FloatArray, FloatArray, FloatArray] | None = None
    for o, (y, weight, unit, z) in enumerate(zip(*parts, strict=True)):
        one, own = Risk(y, weight, loss.each, loss.free), fit.penalty[o :: loss.outputs]
        bend = C * one.curvature(z)
        # Least squares have the same leverages in all responses.
        if known is None or not (np.array_equal(known[0], bend) and np.array_equal(known[1], own)):
            known = bend, own, leverages(fit.Z.of_output(o), bend, own, loss.free)
        total += _left_out(one, C, z, known[2], unit)
    return total


def leave_ordered_row_out_loss(fit: RowsLeftOut, C: float, margins: FloatArray) -> float:
    """Return the mean loss of each row of ordered classes under the model fitted without it.

    The same Newton step, in coefficients (of covariates, too) and thresholds. A row has two scores,
    its margin less the threshold above its class and less that below; A and W are 2 x 2. A row that
    is all of its class cannot be left out: it counts with the loss that it has.
    """
    Z, risk, one = fit.Z, fit.risk, fit.unit
    (n, k), weight, loss = Z.shape, risk.weight, cast("Ordinal | Adjusted", risk.loss)
    z, free = loss.moved(margins, risk.y, weight), loss.free_columns(n)
    rows, b = loss.at_margins.thresholds(z, risk.y, weight)
    place, each, p = rows.place, np.arange(n), k + free.shape[1]
    low, high = rows.ends(b)
    scores = np.stack([z - high, z - low])
    _, slopes, bends = losses_of_rows(*scores)
    columns = np.zeros((2, n, p + b.size + 2))
    columns[:, :, :p] = np.hstack([Z.dense(), free])
    columns[0, each, p + 1 + place] = columns[1, each, p + place] = -1.0
    # There is no threshold below the first class, and none above the last.
    columns = np.delete(columns, [p, p + b.size + 1], axis=2)
    bent = np.einsum("abn,bnj->anj", C * weight * bends, columns)
    matrix = np.einsum("ani,anj->ij", columns, bent)
    matrix[np.arange(k), np.arange(k)] += fit.penalty
    # Far more than rounding, far less than what the data say: thresholds have no ridge.
    matrix[np.diag_indices_from(matrix)] += 1e-10 * np.einsum("ii->i", matrix)
    white = columns @ inverse_factor(matrix).T
    leverage = C * np.einsum("anj,bnj->abn", white, white)
    (a, d), (c, e) = np.eye(2)[:, :, None] - np.einsum("abn,bcn->acn", one * bends, leverage)
    determinant = np.maximum(a * e - c * d, 1e-8)  # as `_left_out` has it
    first, second = one * slopes
    moved = np.stack([e * first - d * second, a * second - c * first]) / determinant
    alone = rows.total[place] <= one
    shift = np.where(alone, 0.0, np.einsum("abn,bn->an", leverage, moved))
    return float(weight @ losses_of_rows(*(scores + shift))[0]) / float(weight.sum())


def folds_of(Z: Columns, risk: Risk) -> list[tuple[IndexArray, Columns, Risk]]:
    """Return the rows that each fold leaves, and their parts; a target's order deals them out.

    Equal rows are in one fold, so that a row of weight 2 counts as two rows.
    """
    keys = np.vstack([Z.dense().T, np.atleast_2d(risk.y.T)])
    order = np.lexsort(keys)
    differs = (keys[:, order[1:]] != keys[:, order[:-1]]).any(axis=0)
    turn = np.empty(risk.size, np.int64)
    turn[order] = np.append(0, np.cumsum(differs)) % FOLDS
    rows = [np.flatnonzero(turn != number) for number in range(FOLDS)]
    kept = [train for train in rows if 0 < train.size < risk.size]
    return [(train, Z.rows(train), risk.rows(train)) for train in kept]


def held_out_loss(
    Z: Columns,
    risk: Risk,
    folds: Sequence[tuple[IndexArray, Columns, Risk]],
    C: float,
    penalty: FloatArray,
    fit: Ridge,
    tol: float,
    signs: np.ndarray,
) -> float:
    """Return the mean loss of a row under models fitted without its fold.

    The loss of a fold is what it adds to that of the other rows.

    fit : to all rows; the others start there.

    Source: Verweij and van Houwelingen, Cross-validation in survival analysis, Statistics in
    Medicine 12(24), 1993.
    """
    total, start = 0.0, (fit.coef, fit.intercept)
    for train, columns, part in folds:
        found = signed_ridge(
            columns, part.times(C), signs, penalty=penalty, start=start, tol=tol
        )  # fmt: skip
        z = Z.times(found.coef) + found.intercept
        total += risk.value_gradient(z)[0] - part.value_gradient(z[train])[0]
    return total / float(risk.weight.sum())


# Values of C for "loo", divided by the mean variance of the selected columns: from prior standard
# deviations of 0.05 to 7 of the coefficient of a column with that variance.
LOO_GRID = (0.003, 0.03, 0.3, 5.0, 50.0)


@dataclass(frozen=True, slots=True)
class RefitsTuning:
    """Constants of the choice of C by final fits."""

    spread: float = 1e4  # of variances, beyond which units are not taken for knowledge
    step: float = 10.0  # from a value of C to the next beyond the grid
    # Of its variance, what of a column the others may leave unexplained by rounding.
    same: float = 1e-10
    grid_tol: float = 1e-4  # while values of C are compared


REFITS = RefitsTuning()
TINY = float(np.finfo(np.float64).tiny)  # instead of a variance of 0


@dataclass(frozen=True, slots=True)
class Refit:
    """A refitted model, on the user's scaling."""

    coef: FloatArray  # (k,)
    intercept: Any  # a number, or one of each output
    C: float
    loss: float  # summed over the rows with their weights, log-loss for the logistic loss
    # Mean approximate leave-one-out loss, or that of folds, of the same kind; NaN where other rows
    # have chosen C.
    loo_loss: float
    gap: float  # certified, relative to the objective of the model without features
    effects: FloatArray  # (q,) or (outputs, q), coefficients of the covariates


def refit(
    Z: Columns,
    mean: FloatArray,
    std: FloatArray,
    risk: Risk,
    *,
    C: float | str = "loo",
    chosen: bool = False,
    unit: FloatArray | None = None,
    signs: np.ndarray | None = None,
    tol: float = 1e-9,
) -> Refit:
    """Fit the model on the columns mean + std * Z, for one C or for the best of a grid.

    Working with Z keeps the systems well scaled for any units of X; the penalty is on the
    coefficients of the user's columns, 1/2 sum_j p_j (u_j / std_j)^2 with u = std * w, p_j = 1
    or, where C is chosen, those of `column_penalties`.

    Parameters
    ----------
    Z : (n, k) columns on the selection scaling.
    mean, std : (k,) X[:, j] = mean_j + std_j * Z[:, j]; mean is 0 where Z is not centred.
    risk : with the sample weights, C not among them.
    unit : (n,) what leaving one row out removes at most of its weight, 1 by default: the class
        weight of a row, so that integer weights equal repetition.
    C : a positive number, or "loo": from LOO_GRID / (mean variance of the columns of X), or larger.
    chosen : whether a number C was chosen by "loo" for other rows.
    signs : (k,) that coefficients may have, by default any. What a sign keeps at 0 counts as absent
        in leave-one-out losses.
    """
    own = free_signs(std.size) if signs is None else signs
    share, mean_of_all = np.ones_like(std), 1.0
    if C == "loo" or chosen:
        variance = variances(Z, std, risk.weight)
        share, mean_of_all = column_penalties(variance), mean_variance(variance)
    penalty = share / std**2
    columns, turn = Z, None
    if Z.array is not None and Z.shape[1] > Z.shape[0] and risk.loss.outputs == 1 and not own.any():
        columns, turn = in_space_of_rows(Z.array, penalty)
        penalty, own = np.ones(columns.shape[1]), free_signs(columns.shape[1])
    together, plain, vanishing = columns, risk, np.empty(0)
    if of_times(risk):
        together, plain, vanishing = joined(columns, risk)
    compared = WeightComparison(
        together, plain, np.append(penalty, vanishing), np.append(own, free_signs(vanishing.size)),
        unit, max(tol, REFITS.grid_tol),
    )  # fmt: skip
    value, start, loo_loss = C, None, np.nan
    if isinstance(value, str):
        compared.add(np.array(LOO_GRID) / (risk.loss.outputs * mean_of_all))
        most = weakest_ridge(Z, std, risk, share) if compared.last_is_best else 0.0
        if risk.loss.variance_power == 1.0:  # the loss has the unit of counts
            bend = risk.curvature(np.full(risk.weight.size, risk.first()[2]))
            most /= min(1.0, float(bend.sum() / risk.weight.sum()))
        while REFITS.step * compared.values[-1] <= most and compared.last_is_best:
            compared.add(np.array([REFITS.step * compared.values[-1]]))
        best = compared.best
        value, start, loo_loss = compared.values[best], compared.fits[best], compared.losses[best]
        start = start[0][: own.size], start[1]
    weighted = risk.times(value)
    if start is None:
        tol = Movement.of(columns, weighted, own, penalty).tolerance(tol)
    fit = signed_ridge(columns, weighted, own, penalty=penalty, start=start, tol=tol)
    if start is None and not chosen:
        last = np.append(fit.coef, np.zeros(vanishing.size))
        loo_loss = compared.left_out(value, replace(fit, coef=last))
    coef = (fit.coef if turn is None else turn @ fit.coef) / std
    loss = weighted.value_gradient(fit.margins)[0] / value
    intercept, effects = weighted.unpenalised(fit.margins, fit.intercept)
    if risk.loss.own_intercepts or risk.loss.outputs > 1:
        intercept = intercept - (mean * coef).reshape(-1, risk.loss.outputs).sum(axis=0)
    else:
        intercept = intercept - float(mean @ coef)
    return Refit(coef, intercept + risk.origin, value, loss, loo_loss, fit.gap, effects)


def in_space_of_rows(Z: FloatArray, penalty: FloatArray) -> tuple[DenseColumns, FloatArray]:
    """Return n columns R' and T, (p, n), by which a problem on p > n columns is one on these.

    With Z P^(-1/2) = R' Q', P the penalties and Q of orthonormal columns, the solution is u = T c
    with T = P^(-1/2) Q and c that of R' and penalties of 1: what is orthogonal to the rows changes
    no margin. Leverages are the same.
    """
    root = 1.0 / np.sqrt(penalty)
    Q, R = qr((Z * root).T, mode="economic", check_finite=False)
    return DenseColumns(np.asfortranarray(R.T)), root[:, None] * Q


@dataclass
class WeightComparison:
    """Values of C, their fits, and the losses of rows that these did not see."""

    Z: Columns
    risk: Risk
    penalty: FloatArray
    signs: np.ndarray
    unit: FloatArray | None
    tol: float
    values: list[float] = field(default_factory=list)
    fits: list[tuple[FloatArray, float]] = field(default_factory=list)  # coefficients, intercepts
    losses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Look at what rows of the loss can be left out by."""
        loss = without_covariates(self.risk.loss)
        self.by_folds = not (loss.separable or loss.own_intercepts or loss.outputs > 1)

    @cached_property
    def folds(self) -> list[tuple[IndexArray, Columns, Risk]]:
        """The folds of a loss whose rows depend on each other."""
        return folds_of(self.Z, self.risk)

    def add(self, values: FloatArray) -> None:
        """Fit with further values of C, each from the last fit."""
        Z, risk, penalty, signs = self.Z, self.risk, self.penalty, self.signs
        start = self.fits[-1] if self.fits else (np.zeros(penalty.size), 0.0)
        compare = None if signs.any() else comparison_at_once(Z, risk)
        if compare is not None:
            rows = RowsLeftOut.of(Z, risk, penalty, self.unit)
            fits, losses = compare(rows, values, start, self.tol)
        else:
            fits, losses = [], []
            for C in values:
                fit = signed_ridge(
                    Z, risk.times(C), signs, penalty=penalty, start=start, tol=self.tol
                )  # fmt: skip
                start = fit.coef, fit.intercept
                fits.append(start)
                losses.append(self.left_out(C, fit))
        self.values += values.tolist()
        self.fits += fits
        self.losses += losses

    def left_out(self, C: float, fit: Ridge) -> float:
        """Return the mean loss of rows that the fit did not see."""
        Z, risk, penalty, signs = self.Z, self.risk, self.penalty, self.signs
        if self.by_folds:
            return held_out_loss(Z, risk, self.folds, C, penalty, fit, self.tol, signs)
        at_zero = (signs != 0) & (fit.coef == 0)
        part = Z.take(np.flatnonzero(~at_zero)) if at_zero.any() else Z
        rows = RowsLeftOut.of(part, risk, penalty[~at_zero], self.unit)
        return approximate_loss_left_out(rows, C, fit.margins)

    @property
    def best(self) -> int:
        """The place of the least loss."""
        known = [np.inf if np.isnan(loss) else loss for loss in self.losses]
        return known.index(min(known))

    @property
    def last_is_best(self) -> bool:
        """Whether no value before the last one has so little loss."""
        return self.best == len(self.losses) - 1


def column_penalties(variance: FloatArray) -> FloatArray:
    """Return p_j, (k,): 1, or v_j / v where variances of columns of X are in no proportion.

    v is their mean, so that C means the same. Units as different as these say nothing of which
    coefficients are small.
    """
    varies = variance > TINY
    least = variance.min(initial=np.inf, where=varies)
    if not least < variance.max(initial=0.0) / REFITS.spread:
        return np.ones_like(variance)
    return np.where(varies, variance / variance.mean(), 1.0)


def weakest_ridge(Z: Columns, std: FloatArray, risk: Risk, share: FloatArray) -> float:
    """Return the largest C worth a trial: 50 / min_j v_j (1 - R_j^2) / p_j.

    v_j (1 - R_j^2) is the variance of column j that the others do not explain, 1 - R_j^2 one over
    the j-th diagonal entry of the inverse of the correlations. With that variance a coefficient is
    as free as the last value of LOO_GRID leaves it with the mean variance.

    share : (k,) the p_j.
    """
    total = float(risk.weight.sum())
    v = variances(Z, np.ones_like(std), risk.weight)
    varies = v > TINY
    unit = np.where(varies, 1.0 / np.sqrt(v), 0.0)
    mean = unit * Z.dot(risk.weight) / total
    correlation = unit[:, None] * Z.gram(risk.weight) * unit / total - np.outer(mean, mean)
    correlation[np.diag_indices_from(correlation)] += REFITS.same
    inflation = (inverse_factor(correlation) ** 2).sum(axis=0)
    rest = (v * std**2 / (share * inflation)).min(initial=np.inf, where=varies)
    return float(LOO_GRID[-1] / (risk.loss.outputs * rest))


def variances(Z: Columns, std: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the variances of the columns std * Z under the weights, (k,); tiny: it is constant."""
    total = float(weight.sum())
    mean = Z.dot(weight) / total
    square = Z.squares(weight) / total
    own = square - mean**2
    return np.maximum(np.where(own > RIDGE_STEPS.rounding * square, own, 0.0) * std**2, TINY)


def mean_variance(variance: FloatArray) -> float:
    """Return the mean of variances of columns, 1 where none varies."""
    found = float(variance.mean()) if variance.size else 0.0
    return found if found > TINY else 1.0

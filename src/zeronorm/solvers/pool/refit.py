"""The final fit on a fixed support: L2-penalised, on the scaling of the user's X.

    min_{w, b}  1/2 ||w||^2 + C sum_i s_i f(y_i, x_i'w + b)

with C given, or chosen by the approximate leave-one-out loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..._typing import Columns, FloatArray, IndexArray
from ...losses import Adjusted, LossOfOutputs, as_adjusted
from ..risk import Risk
from ..signs import free_signs
from .ridge import Ridge, inverse_factor, leverages
from .signed_ridge import signed_ridge

# Values of C for "loo", divided by the mean variance of the selected columns: from prior standard
# deviations of 0.05 to 7 of the coefficient of a column with that variance.
LOO_GRID = (0.003, 0.03, 0.3, 5.0, 50.0)
FOLDS = 5  # that choose C where the loss of a row depends on other rows
GRID_TOL = 1e-4  # while values of C are compared


@dataclass(frozen=True, slots=True)
class Refit:
    """A refitted model, on the user's scaling."""

    coef: FloatArray  # (k,)
    intercept: Any  # a number, or one of each output
    C: float
    loss: float  # summed over the rows with their weights, log-loss for the logistic loss
    loo_loss: float  # mean approximate leave-one-out loss, or that of folds, of the same kind
    gap: float  # certified, relative to the objective of the model without features
    effects: FloatArray  # (q,) or (outputs, q), coefficients of the covariates


def refit(
    Z: Columns,
    mean: FloatArray,
    std: FloatArray,
    risk: Risk,
    *,
    C: float | str = "loo",
    unit: FloatArray | None = None,
    signs: np.ndarray | None = None,
    tol: float = 1e-9,
) -> Refit:
    """Fit the model on the columns mean + std * Z, for one C or for the best of a grid.

    Working with Z keeps the systems well scaled for any units of X; the penalty is on the
    coefficients of the user's columns, 1/2 sum_j (u_j / std_j)^2 with u = std * w.

    Parameters
    ----------
    Z : (n, k) columns on the selection scaling.
    mean, std : (k,) X[:, j] = mean_j + std_j * Z[:, j]; mean is 0 where Z is not centred.
    risk : with the sample weights, C not among them.
    unit : (n,) what leaving one row out removes at most of its weight, 1 by default: the class
        weight of a row, so that integer weights equal repetition.
    C : a positive number, or "loo": from LOO_GRID / (mean variance of the columns of X).
    signs : (k,) that coefficients may have, by default any. What a sign keeps at 0 counts as absent
        in leave-one-out losses.
    """
    own = free_signs(std.size) if signs is None else signs
    if C == "loo":
        variance = risk.loss.outputs * mean_variance(Z, std, risk.weight)
        candidates = [c / variance for c in LOO_GRID]
    else:
        candidates = [float(C)]
    penalty = 1.0 / std**2
    adjusted = as_adjusted(risk.loss)
    base = risk.loss if adjusted is None else adjusted.each
    by_folds = not base.separable and base.outputs == 1
    folds = _folds(Z, risk) if by_folds else []
    fits: list[Ridge] = []
    losses: list[float] = []
    coarse = tol if len(candidates) == 1 else max(tol, GRID_TOL)
    for value in candidates:
        start = (fits[-1].coef, fits[-1].intercept) if fits else None
        fits.append(
            signed_ridge(Z, risk.times(value), own, penalty=penalty, start=start, tol=coarse)
        )
        if base.outputs > 1 or base.separable:
            at_zero = (own != 0) & (fits[-1].coef == 0)
            part = Z.take(np.flatnonzero(~at_zero)) if at_zero.any() else Z
            several = base.outputs > 1 or adjusted is not None
            left_out = leave_one_row_out_loss if several else leave_one_out_loss
            losses.append(left_out(part, risk, value, penalty[~at_zero], fits[-1].margins, unit))
        else:
            losses.append(held_out_loss(Z, risk, folds, value, penalty, fits[-1], coarse, own))
    best = int(np.argmin(np.nan_to_num(losses, nan=np.inf)))
    fit = fits[best]
    if coarse > tol:
        start = fit.coef, fit.intercept
        at_best = risk.times(candidates[best])
        fit = signed_ridge(Z, at_best, own, penalty=penalty, start=start, tol=tol)
    coef = fit.coef / std
    value = risk.value_gradient(fit.margins)[0]
    intercept, effects = risk.unpenalised(fit.margins, fit.intercept)
    if risk.loss.outputs > 1:
        intercept = intercept - (mean * coef).reshape(-1, risk.loss.outputs).sum(axis=0)
    else:
        intercept = intercept - float(mean @ coef)
    return Refit(
        coef,
        intercept + risk.origin,
        candidates[best],
        value,
        losses[best],
        fit.gap,
        effects,
    )


def leave_one_out_loss(
    Z: Columns,
    risk: Risk,
    C: float,
    penalty: FloatArray,
    margins: FloatArray,
    unit: FloatArray | None = None,
) -> float:
    """Return the mean loss of each row under the model fitted without one unit of its weight.

    One Newton step from the full fit: z_i <- z_i + C h_i g_i / (1 - C h_i w_i), g_i and w_i the
    first and second derivative of one unit of loss and h_i the leverage x_i'H^-1 x_i, whose x_i
    ends with the constant 1 of the free intercept.

    risk : with the sample weights, C not among them.
    """
    one = replace(risk, weight=np.minimum(risk.weight, 1.0 if unit is None else unit))
    leverage = leverages(Z, C * risk.curvature(margins), penalty, risk.intercept)
    gradient = one.value_gradient(margins)[1]
    damping = 1.0 - C * leverage * one.curvature(margins)
    shifted = margins + C * leverage * gradient / np.maximum(damping, 1e-8)
    return risk.value_gradient(shifted)[0] / float(risk.weight.sum())


def leave_one_row_out_loss(
    Z: Columns,
    risk: Risk,
    C: float,
    penalty: FloatArray,
    margins: FloatArray,
    unit: FloatArray | None = None,
) -> float:
    """Return the mean loss of each row of several outputs under the model fitted without it.

    The same Newton step: with A the outputs x outputs leverages of a row, g and W the derivatives
    of one unit of its loss, z <- z + C A (I - C W A)^-1 g. Intercepts and covariates are columns of
    the fit. With covariates there may be one output.
    """
    loss = cast("LossOfOutputs | Adjusted", risk.loss)
    q, n = loss.outputs, risk.size
    z, at = loss.moved(margins, risk.y, risk.weight), loss.at_margins
    columns, free = Z.dense().reshape(q, n, -1), loss.free_columns(n)
    if free.shape[1]:
        beside = np.einsum("ab,nr->anbr", np.eye(q), free).reshape(q, n, -1)
        columns = np.concatenate([columns, beside], axis=2)
        penalty = np.append(penalty, np.zeros(beside.shape[2]))
    bends = C * at.blocks(z, risk.y, risk.weight)
    flat = columns.reshape(q * n, -1)
    bent = np.einsum("abn,bnj->anj", bends, columns).reshape(q * n, -1)
    matrix = flat.T @ bent + np.diag(penalty)
    # Equal shifts of all intercepts may change nothing: a little ridge is on them.
    matrix[np.diag_indices_from(matrix)] += 1e-10 * np.einsum("ii->i", matrix)
    white = (flat @ inverse_factor(matrix).T).reshape(q, n, -1)
    leverage = C * np.einsum("anj,bnj->nab", white, white)
    one = np.minimum(risk.weight, 1.0 if unit is None else unit)
    gradient = at.value_gradient(z, risk.y, one)[1].reshape(q, n)
    damping = np.eye(q) - at.blocks(z, risk.y, one).transpose(2, 0, 1) @ leverage
    moved = np.linalg.solve(damping, gradient.T[:, :, None])
    shift = (leverage @ moved)[:, :, 0].T.ravel()
    return float(at.value_gradient(z + shift, risk.y, risk.weight)[0] / risk.weight.sum() * q)


def _folds(Z: Columns, risk: Risk) -> list[tuple[IndexArray, Columns, Risk]]:
    """Return the rows that each fold leaves, and their parts; a target's order deals them out."""
    turn = np.empty(risk.size, np.int64)
    turn[np.lexsort(np.atleast_2d(risk.y.T))] = np.arange(risk.size) % FOLDS
    rows = [np.flatnonzero(turn != number) for number in range(min(FOLDS, risk.size))]
    return [(train, Z.rows(train), risk.rows(train)) for train in rows]


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
        whole, own = risk, as_adjusted(part.loss)
        if own is not None:  # the coefficients of covariates are those of the part
            solution = own.solution(z[train], part.y, part.weight)
            z = z + cast("Adjusted", risk.loss).shift(solution)
            whole, part = (replace(one, loss=own.each) for one in (risk, part))
        total += whole.value_gradient(z)[0] - part.value_gradient(z[train])[0]
    return total / float(risk.weight.sum())


def variances(Z: Columns, std: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the variances of the columns std * Z under the weights, (k,)."""
    total = float(weight.sum())
    mean = Z.dot(weight) / total
    square = Z.squares(weight)
    return np.maximum((square / total - mean**2) * std**2, np.finfo(np.float64).tiny)


def mean_variance(Z: Columns, std: FloatArray, weight: FloatArray) -> float:
    """Return the mean of these variances, 1 where none varies."""
    found = float(variances(Z, std, weight).mean()) if std.size else 0.0
    return found if found > np.finfo(np.float64).tiny else 1.0

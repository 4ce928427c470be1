"""What rows lose under models fitted without them, by which the final fit chooses its C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np

from ... import _kernels
from ...core.types import Columns, FloatArray, IndexArray
from ...losses import Adjusted, LossOfOutputs, Ordinal, Responses, as_adjusted, without_covariates
from ...losses.ordinal import losses_of_rows
from ..risk import Risk
from .leverages import leverages
from .ridge import Ridge, in_kernel, inverse_factor
from .signed_ridge import signed_ridge

FOLDS = 5  # where the loss of a row depends on other rows

# Fits, coefficients and intercepts, and losses of left out rows, for some values of C.
Compared: TypeAlias = tuple[list[tuple[FloatArray, float]], list[float]]


def approximate_loss_left_out(
    Z: Columns,
    risk: Risk,
    C: float,
    penalty: FloatArray,
    margins: FloatArray,
    unit: FloatArray | None = None,
) -> float:
    """Return the mean loss of each row under the model fitted without one unit of its weight.

    By one Newton step from the full fit: of which coefficients and intercepts, follows from the
    loss. risk : with the sample weights, C not among them.
    """
    leave_out = leave_one_out_loss
    if isinstance(without_covariates(risk.loss), Ordinal):
        leave_out = leave_ordered_row_out_loss
    elif as_adjusted(risk.loss) is not None or risk.loss.outputs > 1:
        leave_out = leave_one_row_out_loss
    return leave_out(Z, risk, C, penalty, margins, unit)


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
    one = np.minimum(risk.weight, 1.0 if unit is None else unit)
    if risk.loss.separable and in_kernel(Z, Z.shape[1], risk.loss):
        assert Z.array is not None
        return _kernels.left_out_loss(
            Z.array, risk.y, risk.weight, one, risk.loss.kernel, risk.loss.kernel_parameters,
            risk.intercept, C, penalty, margins,
        )  # fmt: skip
    leverage = leverages(Z, C * risk.curvature(margins), penalty, risk.intercept)
    return _left_out(risk, C, margins, leverage, one)


def compare_at_once(
    Z: Columns,
    risk: Risk,
    values: FloatArray,
    penalty: FloatArray,
    start: tuple[FloatArray, float],
    tol: float,
    unit: FloatArray | None,
) -> Compared:
    """Return the fits with some values of C, each from the one before, and their losses as above.

    Of a sum over rows, in small problems, in one call.
    """
    m, p = values.size, penalty.size
    coef, intercepts, losses = np.empty((m, p)), np.empty(m), np.empty(m)
    assert Z.array is not None
    _kernels.compare_left_out(
        Z.array, risk.y, risk.weight, np.minimum(risk.weight, 1.0 if unit is None else unit),
        risk.loss.kernel, risk.loss.kernel_parameters, risk.intercept, start[1], penalty, values,
        tol, start[0].copy(), coef, intercepts, losses,
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
    Z: Columns,
    risk: Risk,
    values: FloatArray,
    penalty: FloatArray,
    start: tuple[FloatArray, float],
    tol: float,
    unit: FloatArray | None,
) -> Compared:
    """Return the same of responses without covariates, a call for each: they have own models."""
    loss = cast("Responses", risk.loss)
    q, m = loss.outputs, values.size
    y, weight = loss.by_output(risk.y), loss.by_output(risk.weight)
    units = loss.by_output(np.minimum(risk.weight, 1.0 if unit is None else unit))
    coef, losses = np.empty((m, penalty.size)), np.zeros(m)
    for o in range(q):
        one, own = Risk(y[o], weight[o], loss.each, loss.free), slice(o, None, q)
        fits, of_one = compare_at_once(
            Z.of_output(o), one, values, np.ascontiguousarray(penalty[own]),
            (start[0][own], 0.0), tol, units[o],
        )  # fmt: skip
        coef[:, own] = [fit for fit, _ in fits]
        losses += of_one
    return [(fit, 0.0) for fit in coef], losses.tolist()


def _left_out(
    risk: Risk, C: float, margins: FloatArray, leverage: FloatArray, unit: FloatArray
) -> float:
    """Return the mean loss of each row at its margin without one unit of it; unit: its weight."""
    one = replace(risk, weight=unit)
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
    the fit; with covariates there may be one output. Responses without any have models of their
    own, each with its leverages.
    """
    loss = cast("LossOfOutputs | Adjusted", risk.loss)
    q, z = loss.outputs, loss.moved(margins, risk.y, risk.weight)
    if isinstance(loss, Responses):
        return _loss_of_responses(Z, risk, C, penalty, z, unit)
    at, free = loss.at_margins, loss.free_columns(risk.size)
    leverage = _shared_leverages(Z, C * at.blocks(z, risk.y, risk.weight), penalty, free)
    one = np.minimum(risk.weight, 1.0 if unit is None else unit)
    gradient = at.value_gradient(z, risk.y, one)[1].reshape(q, -1)
    damping = np.eye(q) - C * at.blocks(z, risk.y, one).transpose(2, 0, 1) @ leverage
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


def _loss_of_responses(
    Z: Columns,
    risk: Risk,
    C: float,
    penalty: FloatArray,
    margins: FloatArray,
    unit: FloatArray | None,
) -> float:
    """Return the sum of the leave-one-out losses of the responses; margins: with intercepts."""
    loss: Any = risk.loss
    parts = [loss.by_output(values) for values in (risk.y, risk.weight, margins)]
    units = loss.by_output(np.minimum(risk.weight, 1.0 if unit is None else unit))
    total = 0.0
    known: tuple[FloatArray, FloatArray, FloatArray] | None = None
    for o, (y, weight, z) in enumerate(zip(*parts, strict=True)):
        one, own = Risk(y, weight, loss.each, loss.free), penalty[o :: loss.outputs]
        bend = C * one.curvature(z)
        # Least squares have the same leverages in all responses.
        if known is None or not (np.array_equal(known[0], bend) and np.array_equal(known[1], own)):
            known = bend, own, leverages(Z.of_output(o), bend, own, loss.free)
        total += _left_out(one, C, z, known[2], units[o])
    return total


def leave_ordered_row_out_loss(
    Z: Columns,
    risk: Risk,
    C: float,
    penalty: FloatArray,
    margins: FloatArray,
    unit: FloatArray | None = None,
) -> float:
    """Return the mean loss of each row of ordered classes under the model fitted without it.

    The same Newton step, in coefficients (of covariates, too) and thresholds. A row has two scores,
    its margin less the threshold above its class and less that below; A and W are 2 x 2. A row that
    is all of its class cannot be left out: it counts with the loss that it has.
    """
    (n, k), weight = Z.shape, risk.weight
    loss = cast("Ordinal | Adjusted", risk.loss)
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
    matrix[np.arange(k), np.arange(k)] += penalty
    matrix[np.diag_indices_from(matrix)] += 1e-10 * np.einsum("ii->i", matrix)
    white = columns @ inverse_factor(matrix).T
    leverage = C * np.einsum("anj,bnj->abn", white, white)
    one = np.minimum(weight, 1.0 if unit is None else unit)
    (a, d), (c, e) = np.eye(2)[:, :, None] - np.einsum("abn,bcn->acn", one * bends, leverage)
    determinant = np.maximum(a * e - c * d, 1e-8)
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

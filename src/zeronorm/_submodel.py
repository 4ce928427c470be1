"""Estimates, intervals and p-values of a model of given features on rows that did not choose it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from . import validate
from ._typing import FloatArray
from .designs._columns import DenseColumns
from .losses import Cox, Logistic

MODELS = ("linear", "logistic", "cox")
STEPS = 100
DOUBLINGS = 40  # of the reach of an interval
CONVERGED = 1e-10  # of a Newton decrement, to the loss
LEAST_STEP = 1e-6
FAR = 200.0  # of margins: coefficients grow without end
FLAT = 1e-6  # curvature of a row's share in a direction that has no largest likelihood
DEPENDENT = 1e-8  # of a singular value of standardised columns, to the largest


@dataclass(frozen=True, slots=True)
class Estimates:
    """Coefficients of a model, with what is known of their errors, each (k,)."""

    coef: FloatArray
    error: FloatArray  # standard errors
    lower: FloatArray
    upper: FloatArray
    p_values: FloatArray  # that the coefficient is 0


def check_rows(model: str, Z: FloatArray, y: np.ndarray, names: Sequence[str]) -> None:
    """Raise ValueError where rows are too few for a model, or do not tell its features apart."""
    n, k = Z.shape
    if model == "cox":
        events = int((y[:, 1] > 0).sum())
        if events <= k:
            raise ValueError(
                f"estimator must choose fewer features than the rows of inference have events; got "
                f"{k} features and {events} events. Choose fewer, or lower share."
            )
    elif n < k + 2:
        raise ValueError(
            f"estimator must choose at most {n - 2} features for inference on {n} rows; got {k}. "
            "Choose fewer, or lower share."
            if n > 2
            else f"inference must have at least 3 rows that did not choose; got {n}. Lower share, "
            "or take more rows."
        )
    if model == "logistic" and np.ptp(y) == 0:
        raise ValueError(
            "y must have both classes in the rows of inference; got one. Take more rows."
        )
    spread = Z.std(axis=0)
    constant = np.flatnonzero(spread <= 1e-12 * np.abs(Z).max(axis=0, initial=0.0))
    if constant.size:
        raise ValueError(
            f"X must vary in the rows of inference; feature {names[constant[0]]} is constant "
            "there. Take another random_state, or leave out features that hardly ever vary."
        )
    U = np.linalg.svd((Z - Z.mean(axis=0)) / spread, compute_uv=False)
    if U[-1] <= DEPENDENT * U[0]:
        raise ValueError(
            "X must have linearly independent columns at the chosen features; those at "
            f"{', '.join(names[:5])}{', ...' if k > 5 else ''} are not. Leave out copies."
        )


def estimates(model: str, Z: FloatArray, y: np.ndarray, level: float) -> Estimates:
    """Return what rows say of the coefficients of all columns, with intervals of a level.

    Z : (n, k), checked by `check_rows`. y : (n,) numbers, or -1 and 1; (n, 3) survival times.
    """
    mean, spread = Z.mean(axis=0), Z.std(axis=0)
    columns = (Z - mean) / spread
    if model == "linear":
        found = _least_squares(columns, y, level)
    else:
        found = _likelihood(model, columns, y, level)
    return Estimates(
        found.coef / spread, found.error / spread, found.lower / spread, found.upper / spread,
        found.p_values,
    )  # fmt: skip


def _least_squares(Z: FloatArray, y: FloatArray, level: float) -> Estimates:
    """Return exact intervals and tests of normal errors of one variance."""
    n, k = Z.shape
    q, r = np.linalg.qr(Z)
    centred = y - y.mean()
    coef = np.linalg.solve(r, q.T @ centred)
    free = n - 1 - k
    variance = float(((centred - Z @ coef) ** 2).sum()) / free
    error = np.sqrt(variance * (np.linalg.inv(r) ** 2).sum(axis=1))
    reach = float(stats.t.isf(0.5 * (1.0 - level), free)) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = 2.0 * stats.t.sf(np.abs(coef) / error, free)
    return Estimates(coef, error, coef - reach, coef + reach, np.asarray(p_values))


def _likelihood(model: str, Z: FloatArray, y: FloatArray, level: float) -> Estimates:
    """Return intervals and tests of the likelihood ratio, and errors of the curvature."""
    n, k = Z.shape
    loss: Any = Cox("efron") if model == "cox" else Logistic()
    loss = loss.fitted(y, np.ones(n))
    if loss.has_intercept:
        Z = np.column_stack([Z, np.ones(n)])
    coef, least, hessian = _best(loss, Z, y, np.zeros(n))
    rows = (y[:, 1] > 0).sum() if model == "cox" else n
    if np.ptp(Z @ coef) > FAR or np.linalg.eigvalsh(hessian)[0] < FLAT * rows:
        what = "order the events" if model == "cox" else "separate the classes"
        raise ValueError(
            f"y must leave the likelihood a largest value; the {k} chosen features {what} in the "
            "rows of inference, so that coefficients grow without end. Choose fewer features, or "
            "take more rows."
        )
    error = np.sqrt(np.diag(np.linalg.inv(hessian)))[:k]
    limit = 0.5 * float(stats.chi2.isf(1.0 - level, 1))
    lower, upper, p_values = np.empty(k), np.empty(k), np.empty(k)
    for one in range(k):
        rest = np.delete(Z, one, axis=1)

        def lost(b: float, rest: FloatArray = rest, x: FloatArray = Z[:, one]) -> float:
            return _best(loss, rest, y, b * x)[1] - least

        lower[one] = _end(lost, coef[one], -error[one], limit)
        upper[one] = _end(lost, coef[one], error[one], limit)
        p_values[one] = stats.chi2.sf(max(2.0 * lost(0.0), 0.0), 1)
    return Estimates(coef[:k], error, lower, upper, p_values)


def _end(lost: Callable[[float], float], best: float, step: float, limit: float) -> float:
    """Return where so much of the log-likelihood is lost on one side of the best coefficient."""
    for _ in range(DOUBLINGS):
        if lost(best + step) > limit:
            return float(brentq(lambda b: lost(b) - limit, best, best + step, rtol=1e-6))
        step *= 2.0
    return float(np.copysign(np.inf, step))


def _best(
    loss: Any, Z: FloatArray, y: FloatArray, offset: FloatArray
) -> tuple[FloatArray, float, FloatArray]:
    """Return the coefficients of the largest likelihood, the loss there and its curvature."""
    columns, weight = DenseColumns(np.asfortranarray(Z)), np.ones(len(Z))
    coef = np.zeros(Z.shape[1])
    value, gradient = loss.value_gradient(offset, y, weight)
    for _ in range(STEPS if Z.shape[1] else 0):
        hessian = loss.hessian(columns, Z @ coef + offset, y, weight)
        slope = Z.T @ gradient
        # What is flat is left to the caller.
        step = np.linalg.lstsq(hessian, slope, rcond=1e-14)[0]
        decrement, length = float(slope @ step), 1.0
        if decrement <= CONVERGED * max(abs(value), 1e-3):
            break
        while length > LEAST_STEP:
            z = Z @ (coef - length * step) + offset
            new, new_gradient = loss.value_gradient(z, y, weight)
            if new <= value - 1e-4 * length * decrement:
                break
            length *= 0.5
        else:
            break
        coef, value, gradient = coef - length * step, new, new_gradient
    return coef, value, loss.hessian(columns, Z @ coef + offset, y, weight)


def target_of(model: str, y: Any, n_rows: int) -> np.ndarray:
    """Return the target as a model has it."""
    if model == "cox":
        return validate.check_survival(y, n_rows)
    if model == "linear":
        return validate.check_response(y, n_rows)
    labels = validate.check_target(y, n_rows)
    classes = np.unique(labels)
    if classes.size != 2:
        raise ValueError(
            f"y must have two classes for a logistic model; got {classes.size}. Compare one class "
            "with the others."
        )
    return np.where(labels == classes[1], 1.0, -1.0)

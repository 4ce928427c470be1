"""The final fit on a fixed support: L2-penalised, on the scaling of the user's X.

    min_{w, b}  1/2 sum_j p_j w_j^2 + C sum_i s_i f(y_i, x_i'w + b)

with C given and p_j = 1, or C chosen by the approximate leave-one-out loss and p_j so that units
that differ by many orders have no part in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import qr

from ...core.types import Columns, FloatArray, IndexArray
from ...data.columns import DenseColumns
from ...losses import without_covariates
from ..risk import Risk
from ..signs import free_signs
from .left_out import approximate_loss_left_out, comparison_at_once, folds_of, held_out_loss
from .movement import Movement
from .ridge import RIDGE_STEPS, Ridge, inverse_factor, joined, of_times
from .signed_ridge import signed_ridge

# Values of C for "loo", divided by the mean variance of the selected columns: from prior standard
# deviations of 0.05 to 7 of the coefficient of a column with that variance.
LOO_GRID = (0.003, 0.03, 0.3, 5.0, 50.0)


@dataclass(frozen=True, slots=True)
class RefitsTuning:
    """Constants, each with what it was measured for."""

    spread: float = 1e4  # of variances, beyond which units are not taken for knowledge
    step: float = 10.0  # from a value of C to the next beyond the grid
    same: float = (
        1e-10  # of its variance, what of a column the others may leave unexplained by rounding
    )
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
    compared = Comparison(
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
    return Refit(
        coef,
        intercept + risk.origin,
        value,
        loss,
        loo_loss,
        fit.gap,
        effects,
    )


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
class Comparison:
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
            fits, losses = compare(Z, risk, values, penalty, start, self.tol, self.unit)
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
        return approximate_loss_left_out(part, risk, C, penalty[~at_zero], fit.margins, self.unit)

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

"""An l1 problem as an estimator states it, and scores of the rows that its folds hold out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.special import log_expit, logsumexp
from sklearn.metrics import roc_auc_score

from ...core.budgets import check_penalty_factor, check_signs, check_spread, check_squares
from ...core.errors import Message, Parameter, ParameterError
from ...core.ranking import predicted
from ...core.results import GAP_SLACK, Result, Status
from ...core.types import Design, FloatArray, IndexArray, Likelihood, Smooth
from ...data import Scaled, as_design
from ...data.gathered import gather
from ...data.operations import center_scale, distant_means, unscaled
from ...data.repeated import Repeated
from ..driver import Solver
from ..final_fits import Refit, refit
from ..problem import Risk
from .problem import NEVER, L1Problem, Penalty
from .solvers import PROX_NEWTON

# Rounding ends progress at gaps below this, however small a tolerance was asked.
GAP_FLOOR = 1e-9


# Deviation up to which standardisation helps: at any C of interest squares do not overflow.
LARGEST_SCALED = 1e60


def gap_of(result: Result) -> float:
    """Return the certified gap of a result; infinity where rounding or overflow left none."""
    gap = float(result.history[-1].extra["gap"])
    return np.inf if np.isnan(gap) else max(gap, 0.0)


@dataclass(frozen=True)
class L1Setting:
    """All of an l1 problem but the data and C, and how far it is solved."""

    loss: Smooth
    l1_ratio: float = 1.0
    penalty_factor: Any = None  # (m,) or None
    signs: Any = None  # (m,), a number or None
    intercept: bool = True
    standardize: bool = False
    tol: float = 1e-4
    max_iter: int = 1000
    for_sizes: bool = False  # whether the problem is solved for a number of features

    def problems(
        self,
        design: Design,
        ys: Sequence[FloatArray],
        weight: FloatArray,
        exposure: FloatArray | None = None,
    ) -> list[L1Problem]:
        """Return the problem of every y at C = 1.

        exposure : (n,) what an offset makes of the weight of a row; `ys` are then those of
            `with_offset`. Sizes and scales are those of `weight` alone.
        """
        penalty = self._penalty(design, weight)
        size, q = float(weight.sum()), self.loss.outputs
        seen = weight if exposure is None else weight * exposure
        free = self.intercept
        if q > 1:  # the intercepts are a part of the loss
            if (penalty.l1 == 0).any():
                raise ParameterError(
                    "penalty_factor",
                    Message(
                        "must be positive for ",
                        Parameter.of("multi_class", "multinomial"),
                        ": without a penalty the coefficients of the classes are not told apart",
                    ),
                    "",
                    "Use a small one, 1e-3.",
                )
            centre = distant_means(design) if free else None
            if centre is not None:
                design = Scaled(design, centre, np.ones(centre.size))
            design, seen, free = Repeated(design, q), np.tile(seen, q), False
            penalty = penalty.of(np.repeat(np.arange(penalty.l1.size), q))
            risks = [Risk.centred(y, seen, self.loss, free) for y in ys]
            return [L1Problem(design, risk, penalty, size, centre) for risk in risks]
        return [
            L1Problem(design, Risk.centred(y, seen, self.loss, free), penalty, size).centred()
            for y in ys
        ]

    def _penalty(self, design: Design, weight: FloatArray) -> Penalty:
        n_features = design.shape[1]
        factor = check_penalty_factor(self.penalty_factor, n_features)
        sign = check_signs(self.signs, n_features)
        l1, l2 = self.l1_ratio * factor, (1.0 - self.l1_ratio) * factor
        if self.standardize or (self.for_sizes and self.intercept):
            scale = center_scale(design, weight, center=False).scale
            varies = scale > 0
            if self.standardize:
                # Where features enter, the weights times C add up to more than 1.
                check_squares(
                    np.divide(1.0, scale, out=np.zeros(n_features), where=varies) ** 2,
                    PROX_NEWTON.largest_square,
                )
                std = np.divide(1.0, scale, out=np.ones(n_features), where=varies)
                l1, l2 = l1 * std, l2 * std**2
            l1 = np.where(varies, l1, NEVER)
            l2 = np.where(varies, l2, 0.0)
        low, high = np.where(sign > 0, 0.0, -np.inf), np.where(sign < 0, 0.0, np.inf)
        return Penalty(l1, l2, low, high)

    @property
    def widest(self) -> float:
        """The gap from which on a problem is not solved."""
        return max(GAP_SLACK * self.tol, GAP_FLOOR)

    def solves(self, result: Result) -> bool:
        """Return whether the gap is within twice `tol`, or within rounding, or was not to be."""
        chosen = result.status is Status.BUDGET  # the best model over features that were chosen
        return chosen or gap_of(result) <= self.widest

    def explained(
        self, solver: Solver[Result], design: Design, weight: FloatArray, C: float
    ) -> Solver[Result]:
        """Run a solver, and look at how it ended."""
        result = yield from solver
        self.explain(result, design, weight, C)
        return result

    def explain(self, result: Result, design: Design, weight: FloatArray, C: float = 1.0) -> None:
        """Raise ValueError where a gap is open because values of X are too large to square.

        weight : at C = 1. C : where the result does not tell its own.
        """
        if gap_of(result) <= self.widest:
            return
        if result.status is Status.STALLED and not self.standardize:
            scale = center_scale(design, weight, center=False).scale
            check_spread(scale, LARGEST_SCALED)
        C = result.history[-1].extra.get("C", C)  # a path tells which
        curvature = C * weight
        if self.loss.of_labels and self.loss.outputs == 1:  # at margins of 0 it is the largest one
            zeros, ones = np.zeros(weight.size), np.ones(weight.size)
            curvature = self.loss.curvature(zeros, ones, curvature)
        n_features, block = design.shape[1], design.block
        for start in range(0, n_features, block):
            square = design.moments(curvature, start, min(start + block, n_features))[1]
            check_squares(square, PROX_NEWTON.largest_square, start)


def refit_on_x(
    problem: L1Problem, support: IndexArray, C: float | str, unit: FloatArray | None
) -> Refit:
    """Return the refit of some features of a problem (at C = 1) on the scaling of X.

    It keeps the signs of the problem. unit : (n,) class weights, if there are any.
    """
    design, risk = problem.design, problem.risk
    stored = design if problem.centre is None else unscaled(design)[0]
    columns = as_design(stored.gather(support), n_threads=design.n_threads)
    scaled = center_scale(columns, risk.weight, center=risk.intercept)
    scale = np.where(scaled.scale > 0, scaled.scale, 1.0)  # 0: constant, without an intercept
    mean = np.zeros(support.size) if scaled.mean is None else scaled.mean
    Z = gather(Scaled(columns, scaled.mean, scale), np.arange(support.size))
    penalty = problem.penalty.of(support)
    signs = (penalty.low == 0).astype(np.int8) - (penalty.high == 0)
    return refit(Z, mean, 1.0 / scale, risk, C=C, unit=unit, signs=signs)


Score: TypeAlias = Callable[[FloatArray], float]  # of margins (n, n_problems)


class HeldOutScores:
    """The rows that a fold holds out: scored at a C as soon as all classes have solved it."""

    def __init__(self, rows: IndexArray, n_problems: int, score: Score) -> None:
        """Begin without scores.

        rows : those whose margins are scored, the rows that the fold holds out or more.
        """
        self.scores: dict[int, float] = {}
        self._rows, self._n_problems, self._score = rows, n_problems, score
        self._waiting: dict[int, dict[int, FloatArray]] = {}

    def add(self, problem: int, step: int, z: FloatArray) -> None:
        """Take the margins (n_samples,) of one class at one C."""
        waiting = self._waiting.setdefault(step, {})
        waiting[problem] = z[self._rows]
        if len(waiting) == self._n_problems:
            del self._waiting[step]
            margins = np.column_stack([waiting[number] for number in range(self._n_problems)])
            self.scores[step] = self._score(margins)


def _log_loss(margins: FloatArray, codes: IndexArray, weight: FloatArray) -> float:
    """Return the mean of -log p of the true class, p as of `predict_proba`."""
    if margins.shape[1] == 1:
        log_proba = log_expit(np.where(codes == 1, 1.0, -1.0) * margins[:, 0])
    else:
        each = log_expit(margins)
        log_proba = each[np.arange(codes.size), codes] - logsumexp(each, axis=1)
    return -float(np.average(log_proba, weights=weight))


def multinomial_log_loss(margins: FloatArray, codes: IndexArray, weight: FloatArray) -> float:
    """Return the mean of -log p of the true class, p of a multinomial model."""
    log_proba = margins[np.arange(codes.size), codes] - logsumexp(margins, axis=1)
    return -float(np.average(log_proba, weights=weight))


def _accuracy(margins: FloatArray, codes: IndexArray, weight: FloatArray) -> float:
    return float(np.average(predicted(margins) == codes, weights=weight))


def _auc(margins: FloatArray, codes: IndexArray, weight: FloatArray) -> float:
    return float(roc_auc_score(codes, margins[:, 0], sample_weight=weight))


def _squared_error(margins: FloatArray, target: FloatArray, weight: FloatArray) -> float:
    return float(np.average((target - margins[:, 0]) ** 2, weights=weight))


def deviance_of(loss: Likelihood, y: FloatArray, weight: FloatArray, total: float) -> Score:
    """Return the score by the deviance of a loss, less what a perfect fit has: its mean.

    total : the sum of the sample weights, of which an exposure is no part.
    """
    return lambda margins: loss.deviance(margins[:, 0], y, weight) / total


def added_deviance_of(
    loss: Likelihood, y: FloatArray, train: FloatArray, test: FloatArray
) -> Score:
    """Return the score by the deviance that held-out rows add to that of the others, per event.

    What a partial likelihood says of few rows alone is little: those of the fold are compared with
    all. Source: Verweij and van Houwelingen, Cross-validation in survival analysis, Statistics in
    Medicine 12, 1993; as in glmnet.

    y : of all rows, survival times. train, test : (n,) their weights, 0 of rows without part.
    """
    events = float(test @ (y[:, 1] > 0))
    parts = [(np.flatnonzero(weight > 0), weight) for weight in (train + test, train)]
    known = [(rows, np.ascontiguousarray(y[rows]), weight[rows]) for rows, weight in parts]

    def score(margins: FloatArray) -> float:
        both, learnt = (
            loss.deviance(np.ascontiguousarray(margins[rows, 0]), own, weight)
            for rows, own, weight in known
        )
        return (both - learnt) / events

    return score


# Of margins (n, n_problems), the codes of the classes or real targets (n,), and weights (n,).
SCORES: dict[str, Callable[[FloatArray, np.ndarray, FloatArray], float]] = {
    "squared_error": _squared_error,
    "log_loss": _log_loss,
    "accuracy": _accuracy,
    "auc": _auc,
}


CLASSIFIED = ("log_loss", "accuracy", "auc")  # of labels


LOWER = ("log_loss", "squared_error", "deviance")  # the smaller the better

"""Iterative hard thresholding under any budget, plain and accelerated, a scan for each step.

    min_{u, b}  rho/2 ||u||^2 + sum_i s_i f(y_i, x_i'u + b)   subject to  u in the budget        (H)

with s the sample weights times C. A step goes from a search point v along minus the gradient, and
to the nearest point of the budget: u <- P(v - grad F(v) / L), with F the objective at the best
intercept. A line search doubles L until F falls by enough.

Sources: Blumensath and Davies, Applied and Computational Harmonic Analysis 27(3), 2009; Xiang, Yang
and Ye, KDD 2014, Algorithm 1 and Table 1 (the variants).

Differences from the latter: the floor of the first L is a share of the mean curvature, not 1, which
depends on the units of X; that of Barzilai and Borwein compares the gradients of search points,
which are at hand; the intercept is always at its best; a run ends after three steps in a row that
gain nothing, not at the first (the next ones begin at the mean curvature, as that of Barzilai and
Borwein can be far too large), and its answer is the best point on its way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...core.types import Columns, Design, FloatArray, IndexArray
from ..drive import Scan, Solver
from ..risk import Risk

# Returns the support, sorted, of the point of a budget that is nearest to a vector over all
# features.
Admit: TypeAlias = Callable[[FloatArray], IndexArray]
Gather: TypeAlias = Callable[[IndexArray], Columns]  # returns the columns of some features


@dataclass(frozen=True, slots=True)
class HardThresholdingTuning:
    """Constants, each with what it was measured for."""

    sufficient: float = 1e-3  # decrease of a step, as a share of L/2 ||step||^2
    most_doublings: int = 60  # of L, in columns of one length
    stalls: int = 3  # steps in a row that gain nothing, after which a run ends
    least_curvature: float = (
        1e-8  # floor of L, as a share of the mean curvature of a typical column
    )


HARD_THRESHOLDING = HardThresholdingTuning()


@dataclass(frozen=True, slots=True)
class Variant:
    """A member of the family of hard thresholding methods."""

    accelerated: bool  # whether the search point looks ahead along the last step
    spectral: bool  # whether L begins by the rule of Barzilai and Borwein, or always at one value
    lipschitz: bool  # whether L bounds the curvature along a step, or F has to fall


VARIANTS = {
    "ista": Variant(accelerated=False, spectral=True, lipschitz=False),
    "ista-l": Variant(accelerated=False, spectral=True, lipschitz=True),
    "fista": Variant(accelerated=True, spectral=True, lipschitz=True),
    "fista-c": Variant(accelerated=True, spectral=False, lipschitz=True),
}


@dataclass(frozen=True, slots=True)
class Objective:
    """(H) without its budget, on the scaling that selection uses."""

    risk: Risk
    ridge: float  # rho, not negative

    def place(self, z: FloatArray, coef: FloatArray) -> tuple[float, float, FloatArray]:
        """Return F, b and the gradient of the loss in the margins; z: the margins without b."""
        b, value, gradient = self.risk.best(z)
        return value + 0.5 * self.ridge * float(coef @ coef), b, gradient

    def curvature(self, margins: FloatArray, variance: float = 1.0) -> float:
        """Return the mean second derivative of F in a coefficient of a column of this variance."""
        total = float(self.risk.curvature(margins).sum()) / self.risk.loss.outputs
        return self.ridge + variance * total


@dataclass(frozen=True, slots=True)
class Point:
    """A sparse point, with what is known there."""

    support: IndexArray  # sorted
    coef: FloatArray
    z: FloatArray  # (n,) margins without the intercept
    intercept: float
    objective: float
    gradient: FloatArray  # (n,) of the loss in the margins; minus it is what a scan correlates

    def dense(self, n_features: int) -> FloatArray:
        """Return the coefficients of all features."""
        full = np.zeros(n_features)
        full[self.support] = self.coef
        return full


def zero_point(objective: Objective) -> Point:
    """Return the model without features."""
    z = np.zeros_like(objective.risk.weight)
    value, b, gradient = objective.place(z, np.empty(0))
    return Point(np.empty(0, np.int64), np.empty(0), z, b, value, gradient)


class Thresholding:
    """The iterates of one method of the family.

    Parameters
    ----------
    tol : decrease of the objective that counts, as a share of it.
    start : where to begin; the model without features by default.
    spread : (m,) standard deviations of the columns, positive; 1 by default.
    """

    def __init__(
        self,
        objective: Objective,
        admit: Admit,
        variant: Variant,
        tol: float,
        start: Point | None = None,
        spread: FloatArray | None = None,
    ) -> None:
        self._objective, self._admit, self._variant, self._tol = objective, admit, variant, tol
        self.current = zero_point(objective) if start is None else start
        self.best = self.current
        self.curvature = np.nan  # the L of the last step
        self._search = self.current  # the point whose gradient the next step takes
        self._searched: tuple[Point, FloatArray] | None = None  # the one before, with its scores
        self._momentum = 1.0
        self._stalls = 0
        self._variance, self._doublings = (
            1.0,
            HARD_THRESHOLDING.most_doublings,
        )  # of a typical column
        if spread is not None:
            typical = float(np.median(spread))
            self._variance = typical**2
            self._doublings += int(2.0 * np.log2(spread.max() / typical)) + 1

    @property
    def vector(self) -> FloatArray:
        """What to correlate with the columns: minus the gradient of the loss in the margins."""
        return -self._search.gradient

    def step(self, scores: FloatArray, columns: Gather) -> bool:
        """Take a step from the scores X'vector; return whether to go on."""
        search = self._search
        trial = self._line_search(search, scores, columns)
        if trial is None:
            return False
        self._searched = search, scores
        gain = self.best.objective - trial.objective
        previous, self.current = self.current, trial
        if gain >= 0.0:
            self.best = trial
        stalled = not gain > self._tol * abs(trial.objective)
        self._stalls = self._stalls + 1 if stalled else 0
        if self._stalls >= HARD_THRESHOLDING.stalls:
            return False
        self._search = self._ahead(previous, trial) if self._variant.accelerated else trial
        return True

    def _line_search(self, search: Point, scores: FloatArray, columns: Gather) -> Point | None:
        """Return the next point, None where rounding leaves no step that is good enough."""
        full = search.dense(scores.size)
        descent = scores - self._objective.ridge * full
        curvature = self._first_curvature(search, full, scores)
        for _ in range(self._doublings):
            target = full + descent / curvature
            support = self._admit(target)
            coef = target[support]
            z = columns(support).times(coef) if support.size else np.zeros(search.z.size)
            value, b, gradient = self._objective.place(z, coef)
            features = np.union1d(search.support, support)
            change = -full[features]
            change[np.searchsorted(features, support)] += coef
            square = 0.5 * curvature * float(change @ change)
            if self._variant.lipschitz:
                limit = search.objective - float(descent[features] @ change) + square
            else:
                limit = search.objective - HARD_THRESHOLDING.sufficient * square
            if value <= limit:
                self.curvature = curvature
                return Point(support, coef, z, b, value, gradient)
            curvature *= 2.0
        return None

    def _first_curvature(self, search: Point, full: FloatArray, scores: FloatArray) -> float:
        """Return the L to try first."""
        mean = self._objective.curvature(search.z + search.intercept, self._variance)
        if self._searched is None or self._stalls or not self._variant.spectral:
            return mean
        old, old_scores = self._searched
        features = np.union1d(old.support, search.support)
        moved = full[features]
        moved[np.searchsorted(features, old.support)] -= old.coef
        turned = self._objective.ridge * moved - (scores[features] - old_scores[features])
        bend = float(moved @ turned)
        size = float(moved @ moved)
        return (
            max(HARD_THRESHOLDING.least_curvature * mean, bend / size)
            if bend > 0 and size > 0
            else mean
        )

    def _ahead(self, previous: Point, current: Point) -> Point:
        """Return the point ahead of the last step."""
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self._momentum**2))
        share = (self._momentum - 1.0) / following
        self._momentum = following
        if share == 0.0:
            return current
        features = np.union1d(previous.support, current.support)
        coef = np.zeros(features.size)
        coef[np.searchsorted(features, current.support)] += (1.0 + share) * current.coef
        coef[np.searchsorted(features, previous.support)] -= share * previous.coef
        z = (1.0 + share) * current.z - share * previous.z
        value, b, gradient = self._objective.place(z, coef)
        return Point(features, coef, z, b, value, gradient)


def hard_threshold(
    state: Thresholding, design: Design, columns: Gather, max_iter: int
) -> Solver[int]:
    """Take steps until none helps, a scan for each; return their number, `max_iter` at most.

    columns : returns the columns of some features.
    """
    for n_steps in range(max_iter):
        scores = yield Scan(design, state.vector)
        if not state.step(scores, columns):
            return n_steps
    return max_iter

"""The baseline of a Cox model: hazards over time, for the highest risk score of training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.types import FloatArray
from ..losses.ties import ties_of

LARGEST_SCORE = 700.0  # above that of all training rows: the survival is 0 by then


@dataclass(frozen=True, slots=True)
class StepFunction:
    """A function that is constant between times and takes its new value at each of them."""

    x: FloatArray  # (n_times,) growing
    y: FloatArray  # (n_times,) the value from that time on
    before: float  # the value before the first time

    @property
    def domain(self) -> tuple[float, float]:
        """From 0 to the last time, as in scikit-survival; beyond it the last value stays."""
        return 0.0, float(self.x[-1])

    def __call__(self, time: Any) -> Any:
        """Return the values at some times; a number for a number."""
        place = np.searchsorted(self.x, time, side="right")
        found = np.append(self.before, self.y)[place]
        return float(found) if np.ndim(time) == 0 else found


@dataclass(frozen=True, slots=True)
class Baseline:
    """Breslow's or Efron's estimates, for rows whose risk score is the highest of training.

    At x = 0, which may be far from all rows, a hazard may leave the range of numbers.
    """

    highest: float
    hazards: tuple[StepFunction, ...]  # cumulative, of every stratum

    @property
    def times(self) -> FloatArray:
        """The times of the training rows, (n_times,)."""
        return np.unique(np.concatenate([one.x for one in self.hazards]))

    @property
    def at_zero(self) -> list[StepFunction]:
        """The cumulative hazards at x = 0."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            unit = np.exp(-self.highest)
            return [
                StepFunction(one.x, np.where(one.y > 0, one.y * unit, 0.0), 0.0)
                for one in self.hazards
            ]

    def cumulative_hazards(self, risk: FloatArray, return_array: bool) -> np.ndarray:
        """Return the cumulative hazard at every risk score; return_array: its values at `times`."""
        if len(self.hazards) > 1:
            raise ValueError(
                f"the model has {len(self.hazards)} strata, each with a baseline of "
                "its own: multiply the one of `cum_baseline_hazard_` by exp(predict(X))."
            )
        (baseline,) = self.hazards
        with np.errstate(over="ignore"):
            factor = np.exp(np.minimum(risk - self.highest, LARGEST_SCORE))
        if return_array:
            return np.asarray(factor[:, None] * baseline(self.times))
        return _objects([StepFunction(baseline.x, one * baseline.y, 0.0) for one in factor])

    def survivals(self, risk: FloatArray, return_array: bool) -> np.ndarray:
        """Return the probability of no event up to a time, as `cumulative_hazards`."""
        hazards = self.cumulative_hazards(risk, return_array)
        if return_array:
            return np.asarray(np.exp(-hazards))
        return _objects([StepFunction(one.x, np.exp(-one.y), 1.0) for one in hazards])


def baseline_of(z: FloatArray, y: FloatArray, weight: FloatArray, ties: str) -> Baseline:
    """Return Breslow's estimates, or Efron's, from the risk scores of the training rows."""
    used = weight > 0
    z, y, weight = z[used], y[used], weight[used]
    highest = float(z.max())
    hazards = []
    for one in np.unique(y[:, 2]):
        rows = y[:, 2] == one
        away = z[rows] - highest
        hazards.append(_hazard(away, y[rows], weight[rows], ties))
    return Baseline(highest, tuple(hazards))


def _hazard(z: FloatArray, y: FloatArray, weight: FloatArray, ties: str) -> StepFunction:
    """Return the cumulative baseline hazard at all times of rows; no z is positive."""
    event, size = y[:, 1] > 0, weight * np.exp(z)
    times, place = np.unique(y[:, 0], return_inverse=True)
    deaths = np.bincount(place, weight * event, times.size)
    at_risk = np.cumsum(np.bincount(place, size, times.size)[::-1])[::-1]
    if y.shape[1] == 4:
        some = np.flatnonzero(deaths)
        for now in some:
            at_risk[now] = size[(y[:, 3] < times[now]) & (place >= now)].sum()
    steps = np.divide(deaths, at_risk, out=np.zeros_like(deaths), where=deaths > 0)
    if ties == "efron":
        found = ties_of(place[event], weight[event] > 0, times.size)
        share = found.sums(size[event]) / at_risk[found.times]
        steps[found.times] *= found.rates(share)
    return StepFunction(times, np.cumsum(steps), 0.0)


def _objects(functions: list[StepFunction]) -> np.ndarray:
    found = np.empty(len(functions), object)
    found[:] = functions
    return found

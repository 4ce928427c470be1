"""Cox's partial likelihood as the verifier knows it, and its targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import FloatArray
from ._loss import ROUNDOFF, Loss


class Cox(Loss):
    """Minus the logarithm of Cox's partial likelihood, less its least value; ties by Breslow.

    It is written row by row here: every event time t of a stratum has the weight D_t of its events
    and S_t = sum of s_i e^z_i over the rows of the stratum with T_i >= t.
    """

    survival = True

    def strata(self, y: FloatArray) -> list[Any]:
        """Return the rows of every stratum."""
        return [np.flatnonzero(y[:, 2] == one) for one in np.unique(y[:, 2])]

    def limits(self, y: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return -inf and the weight of an event, 0 of rows that leave before the first event."""
        low, high = np.full(len(y), -np.inf), np.where(y[:, 1] > 0, weight, 0.0)
        for rows in self.strata(y):
            events = rows[y[rows, 1] > 0]
            first = y[events, 0].min() if events.size else np.inf
            low[rows[y[rows, 0] < first]] = 0.0
        return low, high

    def conjugates(
        self, v: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return p log(p / s) less x log x - D log D - (x - D) log(x - D), and their terms.

        See `zeronorm.losses.Cox`. The conjugate is infinite where a sum over the rows at risk,
        x - D, is negative by more than rounding, or that of v over a stratum is not 0.
        """
        p = np.where(y[:, 1] > 0, weight, 0.0) - v
        share = np.log(np.maximum(p / weight, 1e-300))
        parts, terms = p * share, 4.0 * (np.abs(p) + np.abs(v)) * (1.0 + np.abs(share))
        for rows in self.strata(y):
            order, ends, deaths = _risk_sets(y[rows], weight[rows])
            if not ends.size:
                continue
            own = rows[order]
            left = -np.cumsum(v[own])[ends - 1]
            noise = 4.0 * ROUNDOFF * own.size * float(np.abs(v[own]).sum())
            if (left < -noise).any() or abs(float(v[own].sum())) > noise:
                return np.full(len(y), np.inf), terms
            left = np.maximum(left, 0.0)
            x = left + deaths
            logs = [np.log(np.maximum(one, 1e-300)) for one in (x, deaths, left)]
            lost = x * logs[0] - deaths * logs[1] - left * logs[2]
            at = own[ends - 1]
            parts = parts - np.bincount(at, lost, len(y))
            # A sum is wrong by noise, its logarithm by its own rounding.
            own_noise = np.log(np.maximum(left, noise) + 1e-300) - logs[0]
            blurred = noise / ROUNDOFF * (1.0 + np.abs(own_noise)) / (len(y) + 8)
            sizes = x * np.abs(logs[0]) + deaths * np.abs(logs[1]) + left * np.abs(logs[2])
            terms = terms + np.bincount(at, sizes + blurred, len(y))
        return parts, terms

    def losses(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return D log(S / D) at the last row at risk, less s z of the events, and their terms."""
        event = y[:, 1] > 0
        parts = np.where(event, -weight * z, 0.0)
        terms = np.abs(parts)
        for rows in self.strata(y):
            order, ends, deaths = _risk_sets(y[rows], weight[rows])
            own = rows[order]
            log_sum = np.logaddexp.accumulate(np.log(weight[own]) + z[own])[ends - 1]
            found = deaths * (log_sum - np.log(deaths))
            parts = parts + np.bincount(own[ends - 1], found, len(y))
            size = deaths * (1.0 + np.abs(log_sum) + np.abs(np.log(deaths)))
            terms = terms + np.bincount(own[ends - 1], size, len(y))
        return parts, terms

    def slopes(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s d - p, with p = s e^z times the sum of D / S over the times up to a row's."""
        found = np.where(y[:, 1] > 0, weight, 0.0)
        for rows in self.strata(y):
            order, ends, deaths = _risk_sets(y[rows], weight[rows])
            own = rows[order]
            log_size = np.log(weight[own]) + z[own]
            log_rate = np.log(deaths) - np.logaddexp.accumulate(log_size)[ends - 1]
            log_hazard = np.append(np.logaddexp.accumulate(log_rate[::-1])[::-1], -np.inf)
            # The event times up to a row's are those whose risk set it is in.
            first = np.searchsorted(ends, np.arange(own.size), side="right")
            found[own] -= np.exp(log_size + log_hazard[first])
        return found

    def steepness(self, z: FloatArray, y: FloatArray, by: float) -> FloatArray:
        """Return 1: the second derivative is at most the sum of the weights of the events."""
        return (y[:, 1] > 0).astype(np.float64)


def _risk_sets(y: FloatArray, weight: FloatArray) -> tuple[np.ndarray, np.ndarray, FloatArray]:
    """Return the order from the last time on, how many are at risk at event times, and D."""
    order = np.argsort(-y[:, 0], kind="stable")
    time, event = y[order, 0], y[order, 1] > 0
    times = np.unique(time[event])[::-1]
    ends = np.searchsorted(-time, -times, side="right")
    deaths = [weight[order][event & (time == t)].sum() for t in times]
    return order, ends, np.array(deaths, np.float64)


def survival_target(y: np.ndarray) -> FloatArray:
    """Return (n, 3): time, event and stratum of a structured array; raise where it is none."""
    names = y.dtype.names
    if names is None or len(names) not in (2, 3):
        raise ValueError("it must be a structured array of event, time and maybe a stratum")
    if y[names[1]].dtype.kind not in "fiu":
        raise ValueError("times must be numbers")
    event, time = y[names[0]], y[names[1]].astype(np.float64)
    stratum = np.zeros(len(y))
    if len(names) == 3:
        if (y[names[2]] != y[names[2]]).any():
            raise ValueError("strata must not be missing")
        stratum = np.unique(y[names[2]], return_inverse=True)[1].astype(np.float64)
    if event.dtype.kind not in "biu" or not np.isin(event, (0, 1)).all():
        raise ValueError("events must be True or False")
    if not (np.isfinite(time) & (time >= 0)).all():
        raise ValueError("times must be finite, and not negative")
    return np.column_stack([time, event.astype(np.float64), stratum])


__all__ = ["Cox", "survival_target"]

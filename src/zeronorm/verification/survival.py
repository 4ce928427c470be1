"""Cox's partial likelihood as the verifier knows it, and its targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..core.types import FloatArray
from .entries import Events, parts_of
from .loss import ROUNDOFF, Loss, noise_of

HALVINGS = 100


@dataclass(frozen=True)
class Cox(Loss):
    """Minus the logarithm of Cox's partial likelihood, less its least value; ties by Breslow.

    It is written row by row here: every event time t of a stratum has the weight D_t of its events
    and S_t = sum of s_i e^z_i over the rows of the stratum with T_i >= t. With Efron's ties the
    d events at t are one after the other, at sums S_t - k E_t with k = 0, 1/d, ..., (d - 1)/d and
    E_t the part of these events in S_t.
    """

    efron: bool = False
    survival: ClassVar[bool] = True

    def strata(self, y: FloatArray) -> list[Any]:
        """Return the rows of every stratum."""
        return [np.flatnonzero(y[:, 2] == one) for one in np.unique(y[:, 2])]

    def parts(self, y: FloatArray) -> list[Any]:
        """Return the strata; of rows that enter late, the parts of these without a common event."""
        if y.shape[1] == 3:
            return self.strata(y)
        return [rows[own] for rows in self.strata(y) for own in parts_of(y[rows])]

    def looseness(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return what parts of late rows, and events, may be short of: see `_of_entries`."""
        if y.shape[1] == 3:
            return 0.0
        return 8.0 * (noise_of(v) + noise_of(np.where(y[:, 1] > 0, weight, 0.0) - v))

    def blur(self, y: FloatArray, weight: FloatArray) -> float:
        """Return the weight of the events where the parts of rows are taken with their rounding."""
        return float(weight @ (y[:, 1] > 0)) if y.shape[1] == 4 else 0.0

    def limits(self, y: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return -inf and the weight of an event, 0 of rows that leave before the first event."""
        low, high = np.full(len(y), -np.inf), np.where(y[:, 1] > 0, weight, 0.0)
        if y.shape[1] == 4:  # nor of rows that are at risk at no event
            low[np.setdiff1d(np.arange(len(y)), np.concatenate([*self.parts(y), ()]))] = 0.0
            return low, high
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
        if y.shape[1] == 4:
            return self._of_entries(v, y, weight)
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
            for place, dead in self.tied(y[own], ends):
                more, size = _of_ties(p[own[dead]], left[place], deaths[place])
                parts[at[place]] += more
                terms[at[place]] += size + blurred[place] * (1.0 + np.log(dead.size))
        return parts, terms

    def _of_entries(
        self, v: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the conjugate of each stratum at its first row, and its terms."""
        p = np.where(y[:, 1] > 0, weight, 0.0) - v
        parts, terms = np.zeros(len(y)), np.zeros(len(y))
        for rows in self.strata(y):
            own, s, noise = p[rows], weight[rows], noise_of(v[rows])
            if (own < -noise).any() or not abs(float(v[rows].sum())) <= noise < np.inf:
                return np.full(len(y), np.inf), terms
            noise += noise_of(own)  # events less v: see `blur`
            found, size = Events.of(y[rows], s, self.efron).conjugate(np.maximum(own, 0.0), noise)
            parts[rows[0]], terms[rows[0]] = found, size
        return parts, terms

    def tied(self, y: FloatArray, ends: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Return the places of the event times of several events, and the rows of these.

        y : of a stratum, from the last time on, of which the first `ends` are at risk.
        """
        if not self.efron:
            return []
        begins = np.append(0, ends)[:-1]  # none in a stratum without events
        found = []
        for place, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
            dead = begin + np.flatnonzero(y[begin:end, 1] > 0)
            if dead.size > 1:
                found.append((place, dead))
        return found

    def losses(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return D log(S / D) at the last row at risk, less s z of the events, and their terms."""
        event = y[:, 1] > 0
        parts = np.where(event, -weight * z, 0.0)
        terms = np.abs(parts)
        if y.shape[1] == 4:
            for rows in self.strata(y):
                events = Events.of(y[rows], weight[rows], self.efron)
                log_sum, _ = events.shares(z[rows])
                parts[rows[0]] += float(events.weight @ log_sum) - events.constant
                size = 2.0 + np.abs(log_sum) + np.abs(np.log(events.weight))
                terms[rows[0]] += float(events.weight @ size)
            return parts, terms
        for rows in self.strata(y):
            order, ends, deaths = _risk_sets(y[rows], weight[rows])
            own = rows[order]
            log_sum = np.logaddexp.accumulate(np.log(weight[own]) + z[own])[ends - 1]
            found = deaths * (log_sum - np.log(deaths))
            parts = parts + np.bincount(own[ends - 1], found, len(y))
            size = deaths * (1.0 + np.abs(log_sum) + np.abs(np.log(deaths)))
            terms = terms + np.bincount(own[ends - 1], size, len(y))
            for place, dead in self.tied(y[own], ends):
                logs = np.log(weight[own[dead]]) + z[own[dead]] - log_sum[place]
                left, level = _left(logs)
                more = deaths[place] * float(np.mean(np.log(left) - np.log1p(-level)))
                parts[own[ends[place] - 1]] += more
                terms[own[ends[place] - 1]] += deaths[place] * dead.size
        return parts, terms

    def slopes(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s d - p, with p = s e^z times the sum of D / S over the times up to a row's."""
        found = np.where(y[:, 1] > 0, weight, 0.0)
        if y.shape[1] == 4:
            for rows in self.strata(y):
                found[rows] -= Events.of(y[rows], weight[rows], self.efron).shares(z[rows])[1]
            return found
        for rows in self.strata(y):
            order, ends, deaths = _risk_sets(y[rows], weight[rows])
            own = rows[order]
            log_size = np.log(weight[own]) + z[own]
            log_rate = np.log(deaths) - np.logaddexp.accumulate(log_size)[ends - 1]
            spared = np.zeros(own.size)  # of the hazard at the time of a tied event
            for place, dead in self.tied(y[own], ends):
                logs = log_size[dead] + log_rate[place] - np.log(deaths[place])
                left, level = _left(logs)
                spared[dead] = deaths[place] * np.exp(logs) * float(np.mean(level / left))
                log_rate[place] += np.log(np.mean(1.0 / left))
            log_hazard = np.append(np.logaddexp.accumulate(log_rate[::-1])[::-1], -np.inf)
            # The event times up to a row's are those whose risk set it is in.
            first = np.searchsorted(ends, np.arange(own.size), side="right")
            found[own] -= np.exp(log_size + log_hazard[first]) - spared
        return found

    def steepness(self, z: FloatArray, y: FloatArray, by: float) -> FloatArray:
        """Return 1: the second derivative is at most the sum of the weights of the events."""
        return (y[:, 1] > 0).astype(np.float64)


def _left(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return 1 - k E / S and k of tied events, from the logarithms of their parts of S."""
    level = np.arange(logs.size) / logs.size
    return 1.0 - level * min(float(np.exp(logs).sum()), 1.0), level


def _of_ties(p: FloatArray, left: float, deaths: float) -> tuple[float, float]:
    """Return what d tied events add to the conjugate of Breslow's ties, and its terms.

    p : of the events. left : x - D. With own = sum p, a concave function of h = log(E / (S - E))
    has to be maximised, own h - left log(1 + e^h) - D mean log(1 + (1 - k) e^h): where it still
    rises, it is at most the tangent there at any h that is known to be beyond the maximum.
    """
    d, own, x = p.size, float(p.sum()), left + deaths
    logs = np.log1p(-np.arange(d) / d)
    rest = max(x - own, 0.0)

    def rise(h: float) -> float:
        shares = 1.0 / (1.0 + np.exp(-(h + logs)))
        return float(own - left / (1.0 + np.exp(-h)) - deaths * np.mean(shares))

    low = np.log(max(own, 1e-300)) - np.log(max(rest, 1e-17 * x)) - 1e-9
    high = low + np.log(d) + 2e-9
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rise(middle) > 0.0 else (low, middle)
    parts = np.array([
        own * low, -left * np.logaddexp(0.0, low),
        -deaths * float(np.mean(np.logaddexp(0.0, low + logs))), abs(rise(low)) * (high - low),
        deaths * float(np.mean(np.log(np.arange(1, d + 1) / d))),
        *(one * np.log(max(one, 1e-300)) * sign for one, sign in ((x, 1), (own, -1), (rest, -1))),
    ])  # fmt: skip
    return float(parts.sum()), 8.0 * float(np.abs(parts).sum()) + d * x


def _risk_sets(y: FloatArray, weight: FloatArray) -> tuple[np.ndarray, np.ndarray, FloatArray]:
    """Return the order from the last time on, how many are at risk at event times, and D."""
    order = np.argsort(-y[:, 0], kind="stable")
    time, event = y[order, 0], y[order, 1] > 0
    times = np.unique(time[event])[::-1]
    ends = np.searchsorted(-time, -times, side="right")
    deaths = [weight[order][event & (time == t)].sum() for t in times]
    return order, ends, np.array(deaths, np.float64)


def survival_target(y: np.ndarray) -> FloatArray:
    """Return (n, 3): time, event and stratum of a structured array; raise where it is none.

    With a field "start" (n, 4): the start as well, where it is not before all events.
    """
    names, start = y.dtype.names, None
    if names is not None and "start" in [name.lower() for name in names]:
        known = {name.lower(): name for name in names}
        start = y[known.pop("start")]
        roles = (("event", "status"), ("stop", "time"), ("stratum", "strata"))
        names = tuple(known[one] for role in roles for one in role if one in known)
        if len(names) < len(known) or start.dtype.kind not in "fiu":
            raise ValueError("beside start there are stop, event and maybe a stratum, no other")
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
    found = np.column_stack([time, event.astype(np.float64), stratum])
    if start is None:
        return found
    if not (np.isfinite(start) & (start < time)).all():
        raise ValueError("starts must be finite, and before the stops")
    late = bool(event.any()) and start.max() >= time[event.astype(bool)].min()
    return np.column_stack([found, start]) if late else found

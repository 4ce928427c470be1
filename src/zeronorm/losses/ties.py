"""Efron's ties: what several events at one time add to Cox's partial likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln, xlogy

from ..core.types import FloatArray, IndexArray

MOST_STEPS = 60
TINY = 1e-300
ROUNDOFF = float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True)
class Ties:
    """The event times of several events, of which d count one after the other.

    Below, S is the sum of s_i e^z_i over the rows at risk at one of these times, E the part of the
    events in it, w = E / (S - E), k = l/d for l = 0, ..., d - 1, and D the weight of the events.
    """

    times: IndexArray  # (n,) places of these times among all event times
    count: IndexArray  # (n,) d
    events: IndexArray  # places among all events of those at these times
    of_event: IndexArray  # which of these times each of them is at
    of_level: IndexArray  # the same of every k
    level: FloatArray  # k, of all these times

    @property
    def some(self) -> bool:
        """Whether there are any."""
        return self.times.size > 0

    def sums(self, values: FloatArray) -> FloatArray:
        """Return sums over the events of each time: (n_events,) or (n_events, p) of all events."""
        own = values[self.events]
        if own.ndim == 1:
            return np.asarray(np.bincount(self.of_event, own, self.times.size), np.float64)
        found = np.zeros((self.times.size, own.shape[1]))
        np.add.at(found, self.of_event, own)
        return found

    def _mean(self, values: FloatArray) -> FloatArray:
        """Return means over the k of each time."""
        return np.asarray(np.bincount(self.of_level, values, self.times.size) / self.count)

    def rates(self, share: FloatArray) -> FloatArray:
        """Return the means of 1 / (1 - k share); share: E / S."""
        return self._mean(1.0 / (1.0 - self.level * np.minimum(share, 1.0)[self.of_level]))

    def couplings(self, share: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return b, a and c such that mean (M - k N)(M - k N)' / (1 - k share)^2 is a sum of two.

        It is a (M - b N)(M - b N)' + c N N'.
        """
        power = (1.0 - self.level * np.minimum(share, 1.0)[self.of_level]) ** -2
        first, second = self._mean(power), self._mean(self.level * power)
        mixed = second / first
        return mixed, first, np.maximum(self._mean(self.level**2 * power) - mixed * second, 0.0)

    def odds(
        self, own: FloatArray, left: FloatArray, deaths: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return log w at which the events get a part `own` of x = left + D; and what is wrong.

        That is where own = left w / (1 + w) + D mean (1 - k) w / (1 + (1 - k) w), and log w
        maximises own log w - left log(1 + w) - D mean log(1 + (1 - k) w), a concave function: its
        maximum is above the value there by no more than the second array. Newton's method in a
        bracket.
        """
        x = left + deaths
        logit = np.log(np.maximum(own, TINY * x)) - np.log(np.maximum(x - own, 1e-17 * x))
        low, high = logit - 1e-12 * (1.0 + np.abs(logit)), logit + np.log(self.count) + 1e-12
        logs = np.log1p(-self.level)
        at = logit + 0.5 * np.log(self.count)
        for _ in range(MOST_STEPS):
            share, shares = expit(at), expit(at[self.of_level] + logs)
            slope = own - left * share - deaths * self._mean(shares)
            low, high = np.where(slope > 0, at, low), np.where(slope > 0, high, at)
            fall = left * share * (1.0 - share) + deaths * self._mean(shares * (1.0 - shares))
            following = at + slope / np.maximum(fall, TINY)
            outside = ~((low < following) & (following < high))
            following[outside] = 0.5 * (low + high)[outside]
            near = np.abs(following - at) <= 1e-14 * (1.0 + np.abs(at))
            # Where weights differ by much the steps of a slope that is all rounding have no end.
            if (near | (np.abs(slope) <= ROUNDOFF * (own + left * share))).all():
                break
            at = following
        return at, np.maximum(slope * (high - at), slope * (low - at))

    def conjugates(self, own: FloatArray, left: FloatArray, deaths: FloatArray) -> FloatArray:
        """Return what each time adds to the conjugate of Breslow's ties.

        own : the sum of p over its events. left : x - D.
        """
        x, d = left + deaths, self.count
        odds, wrong = self.odds(own, left, deaths)
        logs = self._mean(np.logaddexp(0.0, odds[self.of_level] + np.log1p(-self.level)))
        best = own * odds - left * np.logaddexp(0.0, odds) - deaths * logs + wrong
        rest = np.maximum(x - own, 0.0)
        entropy = xlogy(x, x) - xlogy(own, own) - xlogy(rest, rest)
        return np.asarray(deaths * (gammaln(d + 1.0) / d - np.log(d)) + entropy + best)

    def slopes(
        self, c: float, v: FloatArray, left: FloatArray, deaths: FloatArray
    ) -> tuple[float, float]:
        """Return the derivatives in c of the sum of `conjugates` at the dual point c v.

        v : its sum over the events of each time. left : x - D, at c = 1.
        """
        own, L = deaths - c * v, c * left
        odds = self.odds(own, L, deaths)[0]
        x, rest, rise = L + deaths, L + c * v, left + v
        share, shares = expit(odds), expit(odds[self.of_level] + np.log1p(-self.level))
        fall = L * share * (1.0 - share) + deaths * self._mean(shares * (1.0 - shares))
        push = -v - left * share
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            first = left * np.log(x) + v * np.log(own) - v * odds - left * np.logaddexp(0.0, odds)
            first -= np.where(rise > 0, rise * np.log(rest), 0.0)
            second = left**2 / x - v**2 / own - rise / c + push**2 / np.maximum(fall, TINY)
        return float(first.sum()), float(second.sum())


def ties_of(time_of_event: IndexArray, counted: np.ndarray, n_times: int) -> Ties:
    """Return the times of several events among n_times; counted: whether an event has a weight."""
    count = np.bincount(time_of_event, counted, n_times).astype(np.int64)
    times = np.flatnonzero(count > 1)
    place = np.full(n_times, -1)
    place[times] = np.arange(times.size)
    events = np.flatnonzero(place[time_of_event] >= 0)
    d = count[times]
    of_level = np.repeat(np.arange(times.size), d)
    level = (np.arange(of_level.size) - np.repeat(np.cumsum(d) - d, d)) / d[of_level]
    return Ties(times, d, events, place[time_of_event][events], of_level, level)

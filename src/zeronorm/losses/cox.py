"""Cox's partial likelihood of survival times, also of rows that come under observation late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit, gammaln, xlogy

from ..core.types import Columns, FloatArray, IndexArray
from ..core.validation import check_option
from .base import (
    INSIDE,
    LossOfRows,
    at_margins,
    balance,
    compiled_conjugate,
    compiled_scale,
    has_compiled_dual,
    kept_with,
    root_of_falling,
)

PLAIN_RANGE = 600.0  # margins that differ by no more are exponentiated and summed as they are


class _PartialLikelihood(LossOfRows):
    has_intercept: ClassVar[bool] = False
    separable: ClassVar[bool] = False
    target: ClassVar[str] = "survival"
    ties: str

    @property
    def name(self) -> str:
        """What certificates call it: whether there are entries, the target tells."""
        return "cox" if self.ties == "breslow" else "cox_efron"

    @property
    def counts_rows(self) -> bool:  # type: ignore[override]
        """Whether a row of weight 2 is another thing than two rows, which are tied."""
        return self.ties == "efron"

    def null(self: Any, y: FloatArray, weight: FloatArray, intercept: bool) -> float:
        return float(self.value_gradient(np.zeros(len(y)), y, weight)[0])


@dataclass(frozen=True, slots=True)
class Cox(_PartialLikelihood):
    """Cox's partial likelihood of survival times.

        sum over event times t of  D_t log(sum_{i: T_i >= t} s_i e^z_i / D_t) - sum of s_i z_i,

    the last sum over the events at t, whose weights have the sum D_t: minus the logarithm of the
    partial likelihood (ties as Breslow has them), less its least value. Only differences of margins
    count, so that there is no intercept, and rows are compared within their stratum only.

    The target is (n, 3): time, whether it is that of an event (1) or of the last observation (0),
    and the stratum. With p_i = s_i d_i - v_i the share of all events that a dual point gives a row,
    x_t = sum_{T_i >= t} p_i - sum_{events after t} D and a log a taken as 0 at a = 0, the conjugate
    is, for p_i >= 0 and x_t >= D_t,

        sum_i p_i log(p_i / s_i) - sum_t x_t log x_t - D_t log D_t - (x_t - D_t) log(x_t - D_t),

    attained at e^z_i = p_i / (s_i H(T_i)) with H(t) = prod_{u > t} (1 - D_u / x_u): the margins are
    those whose risk sets share their events as p does.

    With Efron's ties d events at a time (rows, whatever their weights) are one after the other, as
    if each of them had left by the same share before the next one: instead of the sum over the
    rows at risk there is that less l/d of its part of the events, l = 0, ..., d - 1, each with the
    weight D_t / d. `Ties` has what that adds.

    Parameters
    ----------
    ties : "breslow" or "efron"
        How events at the same time are counted. Without any the two are the same.

    References
    ----------
    Cox, Regression models and life-tables, JRSS B 34(2), 1972; Breslow, discussion of that; Efron,
    The efficiency of Cox's likelihood function for censored data, JASA 72(359), 1977.
    """

    kernel: ClassVar[int] = 6
    ties: str = "breslow"

    def __post_init__(self) -> None:
        """Refuse ties of another kind."""
        check_option("ties", self.ties, ["breslow", "efron"])

    def fitted(self, y: FloatArray, weight: FloatArray) -> Cox | CoxOfEntries:
        """Return the loss of such targets: where a row comes under observation late, of entries."""
        return CoxOfEntries(self.ties) if y.shape[1] == 4 else self

    @property
    def kernel_parameters(self) -> tuple[float, float]:
        """Whether ties are Efron's."""
        return float(self.ties == "efron"), 0.0

    @property
    def compiled_dual(self) -> bool:  # type: ignore[override]
        """Whether there is a kernel for its dual points: for those of Breslow's ties."""
        return self.ties == "breslow"

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return the value and its gradient p - s d, p_i = s_i e^z_i sum_{t <= T_i} D_t/S_t."""
        return at_margins(self, z, y, weight)[1:3]

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return p: the second derivative is diag(p) less what `coupling` gives."""
        return at_margins(self, z, y, weight)[3]

    def coupling(
        self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> FloatArray | None:
        """Return sum_t D_t m_t m_t' of columns Z, m_t their mean over the rows at risk."""
        if float(np.ptp(z)) > PLAIN_RANGE:
            return None
        means, columns = list[FloatArray](), Z.dense()
        for one in strata_of(y):
            s, own = weight[one.rows], z[one.rows]
            size, deaths = s * np.exp(own - own.max()), _deaths(one, s)
            weighted = size[:, None] * columns[one.rows]
            sums = np.cumsum(weighted, axis=0)[one.ends - 1]
            at_risk = np.cumsum(size)[one.ends - 1]
            ties = self._ties(one, s)
            if ties.some:
                of_events = ties.sums(weighted[one.events])
                share = ties.sums(size[one.events]) / at_risk[ties.times]
                mixed, factor, left = ties.couplings(share)
                sums[ties.times] -= mixed[:, None] * of_events
                scale = np.sqrt(deaths[ties.times] * left) / at_risk[ties.times]
                means.append(of_events * scale[:, None])
                deaths[ties.times] *= factor
            means.append(sums * (np.sqrt(deaths) / at_risk)[:, None])
        root = np.vstack(means)
        return np.asarray(root.T @ root)

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        if has_compiled_dual(self):
            return compiled_conjugate(self, v, y, weight)
        total = 0.0
        for one in strata_of(y):
            found = _at_risk(one, v, weight)
            if found is None:
                return np.inf
            s, p, left, deaths = found
            x = left + deaths
            share = np.divide(p, s, out=np.zeros_like(p), where=s > 0)
            total += float(xlogy(p, share).sum())
            total -= float((xlogy(x, x) - xlogy(deaths, deaths) - xlogy(left, left)).sum())
            ties = self._ties(one, s)
            if ties.some:
                own, at = ties.sums(p[one.events]), ties.times
                total += float(ties.conjugates(own, left[at], deaths[at]).sum())
        return total

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return v, on the scale at which its conjugate is finite, and with sums of 0 in strata."""
        v = np.minimum(v, weight * (y[:, 1] > 0))
        for one in strata_of(y):
            # Rows that leave before the first event are in no risk set; without events all are.
            v[one.rows[one.first == one.ends.size]] = 0.0
            v[one.rows] = balance(v[one.rows])
        return _shrunk(v, lambda v: self.conjugate(v, y, weight) < np.inf)

    def best_scale(
        self, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return the c that maximises -conjugate(c v) - c**2 quadratic.

        p and x_t are linear in c, and the derivative, which falls, is with L_t = x_t - D_t at v

            sum_i v_i log(p_i / s_i) + sum_t L_t log((c L_t + D_t) / (c L_t)) - 2 c quadratic:

        Newton's method inside a bracket.
        """
        if has_compiled_dual(self):
            return compiled_scale(self, v, y, weight, quadratic)
        found = [_at_risk(one, v, weight, anywhere=True) for one in strata_of(y)]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return 1.0
        s, p, L, D = (np.concatenate(parts) for parts in zip(*known, strict=True))
        own = np.concatenate([v[one.rows] for one in strata_of(y)])
        moved, some = own != 0, L > 0
        if not moved.any():
            return 1.0
        own, s, p, L, D = own[moved], s[moved], p[moved], L[some], D[some]
        event = p + own  # s d
        parts = self._parts_of_ties(v, y, weight)
        positive = own > 0
        end = INSIDE * float((event[positive] / own[positive]).min(initial=1e300))

        def slopes(c: float) -> tuple[float, float]:
            at, x = event - c * own, c * L + D
            slope = float(own @ np.log(at / s) + L @ np.log(x / (c * L))) - 2.0 * c * quadratic
            fall = float(own @ (own / at) + (L * D) @ (1.0 / x) / c) + 2.0 * quadratic
            for ties, *numbers in parts:
                first, second = ties.slopes(c, *numbers)
                slope, fall = slope - first, fall + second
            return slope, fall

        return root_of_falling(slopes, end)

    def _ties(self, one: _Stratum, s: FloatArray) -> Ties:
        """Return the event times of several events that count one after the other."""
        if self.ties == "breslow":
            return NO_TIES
        return ties_of(one.time_of_event, s[one.events] > 0, one.ends.size)

    def _parts_of_ties(
        self, v: FloatArray, y: FloatArray, weight: FloatArray
    ) -> list[tuple[Ties, FloatArray, FloatArray, FloatArray]]:
        """Return the ties of strata that have some; of each the sum of v, x_t - D_t, and D_t."""
        found = []
        for one in strata_of(y) if self.ties == "efron" else ():
            s, own = weight[one.rows], v[one.rows]
            ties = self._ties(one, s)
            if ties.some:
                left = -np.cumsum(own)[one.ends - 1][ties.times]
                deaths = _deaths(one, s)[ties.times]
                found.append((ties, ties.sums(own[one.events]), np.maximum(left, 0.0), deaths))
        return found


def _shrunk(v: FloatArray, is_finite: Callable[[FloatArray], bool]) -> FloatArray:
    """Return the largest part of v at which the conjugate is finite, by bisection."""
    if is_finite(v):
        return v
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_finite(middle * v) else (low, middle)
    return low * v


def _at_risk(
    one: _Stratum, v: FloatArray, weight: FloatArray, anywhere: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Return s and p of the rows, x_t - D_t and D_t; None where the conjugate is infinite.

    anywhere : whether p may be negative, as where a multiple of v is in question.
    """
    s, own = weight[one.rows], v[one.rows]
    p = -own
    p[one.events] += s[one.events]
    deaths = _deaths(one, s)
    noise = 8.0 * np.finfo(float).eps * own.size * float(np.abs(own).sum())
    p[np.abs(p) <= noise] = np.maximum(p[np.abs(p) <= noise], 0.0)
    total = -np.cumsum(own)
    left = total[one.ends - 1]
    if not deaths.size:
        return (s, np.zeros_like(p), left, deaths) if np.abs(own).max() <= noise else None
    # Rows that leave before the first event are in no risk set, and all events are shared out.
    outside = (not anywhere and (p < 0.0).any()) or (left < -noise).any() or abs(total[-1]) > noise
    if outside or (np.abs(own[one.first == deaths.size]) > noise).any():
        return None
    left = np.where(left > noise, left, 0.0)
    return s, p, left, deaths


def _deaths(one: _Stratum, s: FloatArray) -> FloatArray:
    """Return D_t, the weight of the events at each event time."""
    return np.asarray(np.bincount(one.time_of_event, s[one.events], one.ends.size), np.float64)


@dataclass(frozen=True, slots=True)
class _Stratum:
    """Rows that are compared with each other, from the last time to the first."""

    rows: IndexArray  # (n,) from the largest time to the smallest
    ends: IndexArray  # (n_times,) how many of them are at risk at each event time, falling times
    events: IndexArray  # places in `rows` of the events
    time_of_event: IndexArray  # the event time of each of them
    first: IndexArray  # (n,) the last event time that a row is at risk at; n_times: none


def strata_of(y: FloatArray) -> list[_Stratum]:
    return kept_with(y, _strata)


def _strata(y: FloatArray) -> list[_Stratum]:
    return [_stratum(y, rows) for rows in rows_of_strata(y)]


def _stratum(y: FloatArray, rows: IndexArray) -> _Stratum:
    rows = rows[np.argsort(-y[rows, 0], kind="stable")]
    time, event = y[rows, 0], y[rows, 1] > 0
    times = np.unique(time[event])[::-1]
    ends = np.searchsorted(-time, -times, side="right")
    first = np.searchsorted(-times, -time, side="left")
    events = np.flatnonzero(event)
    return _Stratum(rows, ends, events, first[events], first)


def rows_of_strata(y: FloatArray) -> list[IndexArray]:
    """Return the rows of every stratum."""
    order = np.argsort(y[:, 2], kind="stable")
    return np.split(order, np.flatnonzero(np.diff(y[order, 2])) + 1)


# Efron's ties: what several events at one time add.

TIE_STEPS = 60
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
        for _ in range(TIE_STEPS):
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


NO_TIES = ties_of(np.empty(0, np.int64), np.empty(0, bool), 0)


# Rows that come under observation late: start-stop times.

AWAY = (1e-12, 1e-9, 1e-6, 1e-3, 0.1)  # from the end of the domain, as shares of the way
ENTRY_STEPS = 100
CONVERGED = 1e-11  # relative to the weights of the events


@dataclass(frozen=True, slots=True)
class CoxOfEntries(_PartialLikelihood):
    """Cox's partial likelihood where a row is at risk at t with start < t <= stop.

    The sums over the rows at risk of `Cox` are of these rows. The target is (n, 4): stop, event,
    stratum and start. Risk sets are not nested, and the conjugate is no closed form; with p as
    there, a_e the weight of an event e (D_t, or with Efron's ties D_t / d), A_ie whether row i is
    at risk there (of a tied event the part 1 - l/d), and constants, it is

        sum_i p_i log(p_i / s_i) + max_h sum_e a_e log h_e - sum_i p_i log(sum_e A_ie h_e),

    the likelihood of hazards h, which is concave in log h: Newton's method. It costs rows times
    events squared, in memory rows times events.

    ties : as of `Cox`.
    """

    ties: str = "breslow"

    def _strata(self, y: FloatArray, weight: FloatArray) -> list[_Events]:
        efron = self.ties == "efron"
        if (weight > 0).all():
            return kept_with(y, _in_strata, efron)
        return _in_strata(y, efron, weight > 0)

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        value, gradient = 0.0, np.zeros_like(z)
        for one in self._strata(y, weight):
            s, own = weight[one.rows], z[one.rows]
            a, events = one.weights(s), one.of_time.sum(axis=0) * s
            log_sum, share = _shares(one, own, s, a)
            value += float(a @ (log_sum - np.log(a) - one.constant)) - float(events @ own)
            gradient[one.rows] = share - events
        return max(value, 0.0), gradient

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        share = np.zeros_like(z)
        for one in self._strata(y, weight):
            s = weight[one.rows]
            share[one.rows] = _shares(one, z[one.rows], s, one.weights(s))[1]
        return share

    def coupling(
        self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> FloatArray | None:
        """Return sum_e a_e m_e m_e' of columns Z, m_e their mean over what is at risk."""
        columns = Z.dense()
        found = np.zeros((columns.shape[1], columns.shape[1]))
        for one in self._strata(y, weight):
            s = weight[one.rows]
            a = one.weights(s)
            shares = _each_share(one, z[one.rows], s)
            means = (shares @ columns[one.rows]) * np.sqrt(a)[:, None]
            found += means.T @ means
        return found

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        total = 0.0
        for one in self._strata(y, weight):
            s, own = weight[one.rows], v[one.rows]
            p, noise = _parts(one, own, s)
            if not _can_share(one, p, one.weights(s), noise):
                return np.inf
            found = _hazards(one, p, one.weights(s))
            if found is None:
                return np.inf
            share = np.divide(p, s, out=np.zeros_like(p), where=s > 0)
            total += float(xlogy(p, share).sum()) + found[1]
        return total

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        v = np.minimum(v, weight * (y[:, 1] > 0))
        for one in self._strata(y, weight):
            alone = one.rows[~(one.at_risk > 0).any(axis=1)]
            v[alone] = 0.0
            v[one.rows] = balance(v[one.rows])
        return _shrunk(v, lambda v: self._is_finite(v, y, weight))

    def _is_finite(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> bool:
        """Return whether the conjugate at -v is."""
        for one in self._strata(y, weight):
            s = weight[one.rows]
            p, noise = _parts(one, v[one.rows], s)
            if not _can_share(one, p, one.weights(s), noise):
                return False
        return True

    def best_scale(
        self, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return the c that maximises -conjugate(c v) - c**2 quadratic: see `Cox.best_scale`."""
        strata = [(one, weight[one.rows], v[one.rows]) for one in self._strata(y, weight)]
        events = weight * (y[:, 1] > 0)
        positive = v > 0
        if not v.any():
            return 1.0
        end = INSIDE * float((events[positive] / v[positive]).min(initial=1e300))
        while end > 1.0 and not self._is_finite(end * v, y, weight):
            end = max(1.0, 0.5 * end)

        def slopes(c: float) -> tuple[float, float]:
            slope, fall = -2.0 * c * quadratic, 2.0 * quadratic
            for one, s, own in strata:
                p, a = _parts(one, c * own, s)[0], one.weights(s)
                found = _hazards(one, p, a)
                if found is None:
                    return -np.inf, np.inf
                h, _, sums = found
                moved = own != 0
                z = np.log(p[moved] / (s * sums)[moved])
                slope += float(own[moved] @ z)
                fall += float(own[moved] @ (own[moved] / p[moved]))
                across = h * ((own[moved] / sums[moved]) @ one.at_risk[moved])
                fall += float(across @ _solve(_bend(one, p, h, sums, a), across))
            return slope, fall

        with np.errstate(divide="ignore", invalid="ignore"):
            best = root_of_falling(slopes, end)
        # At the end of the domain the last step may leave it, and hazards may not be found.
        shrunk = (best * (1.0 - less) for less in (0.0, *AWAY))
        return next((c for c in shrunk if self.conjugate(c * v, y, weight) < np.inf), 0.0)


@dataclass(frozen=True, slots=True)
class _Events:
    """The events of a stratum, those at a time as one, or as Efron has them one after the other."""

    rows: IndexArray  # (n,) of the stratum
    at_risk: FloatArray  # (n, m) the part of a row that is at risk at each event: 1, or less; or 0
    of_time: FloatArray  # (m, n) the share of the weight of a row that an event has
    span: IndexArray  # (2, n_some) the first and the last event of the rows that are at any
    some: IndexArray  # these rows
    constant: FloatArray  # (m,) log(d - l): see `Cox`

    def weights(self, s: FloatArray) -> FloatArray:
        """Return the weights of the events."""
        return np.asarray(self.of_time @ s)


def _in_strata(y: FloatArray, efron: bool, used: np.ndarray | None = None) -> list[_Events]:
    """Return the events among the used rows, None: all, of all strata."""
    events = y[:, 1] > 0 if used is None else (y[:, 1] > 0) & used
    return [_events(y, np.flatnonzero(y[:, 2] == one), events, efron) for one in np.unique(y[:, 2])]


def _events(y: FloatArray, rows: IndexArray, events: np.ndarray, efron: bool) -> _Events:
    """Return those of a stratum; events: (n,) which rows are."""
    time, _, _, start = y[rows].T
    counted = events[rows]
    times, count = np.unique(time[counted], return_counts=True)
    if not efron:
        count = np.ones_like(count)
    at = np.repeat(times, count)
    order = np.arange(at.size) - np.repeat(np.cumsum(count) - count, count)  # l
    d = np.repeat(count, count)
    own = counted[:, None] & (time[:, None] == at)
    at_risk = np.array((start[:, None] < at) & (time[:, None] >= at), np.float64)
    at_risk -= own * (order / d)
    there = at_risk > 0
    some = np.flatnonzero(there.any(axis=1))
    last = at.size - 1 - there[some, ::-1].argmax(axis=1) if at.size else some
    span = np.array([there[some].argmax(axis=1) if at.size else some, last])
    return _Events(rows, at_risk, np.asarray(own.T / d[:, None]), span, some, np.log(d - order))


def parts_of(y: FloatArray) -> list[IndexArray]:
    """Return the rows over each of which margins may move by one number, without an effect.

    They are those of a stratum that have events in common, or have some with others of them; rows
    that are at risk at no event are parts of their own.
    """
    found: list[IndexArray] = []
    for rows in rows_of_strata(y):
        times = np.unique(y[rows[y[rows, 1] > 0], 0])
        first, last = (np.searchsorted(times, y[rows, column], "right") for column in (3, 0))
        found += list(rows[first == last, None])
        order = np.argsort(first, kind="stable")
        order = order[(first < last)[order]]
        begins = first[order][1:] >= np.maximum.accumulate(last[order])[:-1]
        found += np.split(rows[order], np.flatnonzero(begins) + 1)
    return found


def _log_sizes(s: FloatArray, z: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.log(s) + z


def _each_share(one: _Events, z: FloatArray, s: FloatArray) -> FloatArray:
    """Return the shares of the rows in each event, (m, n)."""
    with np.errstate(divide="ignore"):
        logs = np.log(one.at_risk.T) + _log_sizes(s, z)
    logs -= logs.max(axis=1, keepdims=True)
    size = np.exp(logs)
    return np.asarray(size / size.sum(axis=1, keepdims=True))


def _shares(
    one: _Events, z: FloatArray, s: FloatArray, a: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the logarithms of the sums over what is at risk, and p."""
    if not a.size:
        return a, np.zeros_like(z)
    largest = float(z.max())
    if largest - float(z.min()) <= 600.0:
        size = s * np.exp(z - largest)
        sums = size @ one.at_risk
        return np.log(sums) + largest, size * (one.at_risk @ (a / sums))
    with np.errstate(divide="ignore"):
        logs = np.log(one.at_risk) + _log_sizes(s, z)[:, None]
        log_sum = np.logaddexp.reduce(logs, axis=0)
    return log_sum, np.exp(logs - log_sum) @ a


def _parts(one: _Events, v: FloatArray, s: FloatArray) -> tuple[FloatArray, float]:
    """Return p, and how much of it is rounding."""
    noise = 8.0 * np.finfo(float).eps * v.size * float(np.abs(v).sum())
    p = one.of_time.sum(axis=0) * s - v
    near = np.abs(p) <= noise
    p[near] = np.maximum(p[near], 0.0)
    return p, noise


def _can_share(one: _Events, p: FloatArray, a: FloatArray, noise: float) -> bool:
    """Return whether events can be shared out so that every row gets its part p.

    Rows that are at risk at no other events than those from one to another get no more than these
    have: that suffices, as every row is at risk at events in a row (Hall's theorem).
    """
    total = float(p.sum())
    if (p < 0).any() or abs(total - float(a.sum())) > noise + 1e-13 * total:
        return False
    if not a.size:
        return True
    if float(total - p[one.some].sum()) > noise:
        return False
    wanted = np.zeros((a.size, a.size))
    np.add.at(wanted, tuple(one.span), p[one.some])
    wanted = np.cumsum(np.cumsum(wanted[::-1], axis=0)[::-1], axis=1)
    there = np.cumsum(a) - np.append(0.0, np.cumsum(a)[:-1])[:, None]
    return bool((np.triu(wanted - there) <= noise + 1e-13 * total).all())


def _hazards(
    one: _Events, p: FloatArray, a: FloatArray
) -> tuple[FloatArray, float, FloatArray] | None:
    """Return the hazards of parts p, the largest likelihood of these, and their sums for rows.

    None where no hazards share the events as p does.
    """
    outside = not (one.at_risk[p > 0] > 0).any(axis=1).all()
    if outside or not a.size:
        return None if outside or p.any() else (a, 0.0, np.zeros_like(p))
    at_risk, own = one.at_risk[p > 0], p[p > 0]
    if (at_risk.max(axis=0, initial=0.0) == 0).any():
        return None
    logs = np.log(a) - np.log(own @ (at_risk > 0))

    def likelihood(logs: FloatArray) -> tuple[float, FloatArray]:
        sums = at_risk @ np.exp(logs)
        return float(a @ logs - own @ np.log(sums)), sums

    value, sums = likelihood(logs)
    for _ in range(ENTRY_STEPS):
        h = np.exp(logs)
        slope = a - h * ((own / sums) @ at_risk)
        if np.abs(slope).max() <= CONVERGED * a.sum() * 1e-2:
            break
        full = np.ones_like(p)
        full[p > 0] = sums
        step = _solve(_bend(one, p, h, full, a), slope)
        step *= min(1.0, 5.0 / float(np.abs(step).max()))
        for _ in range(30):
            trial = likelihood(logs + step)
            if trial[0] >= value - 1e-14 * abs(value):
                break
            step *= 0.5
        else:
            break
        logs, (value, sums) = logs + step - float((logs + step).mean()), trial
        value, sums = likelihood(logs)
    if not np.abs(slope).max() <= CONVERGED * a.sum():
        return None
    full = np.ones_like(p)
    full[p > 0] = sums
    return np.exp(logs), value + float(a @ one.constant), full


def _bend(
    one: _Events, p: FloatArray, h: FloatArray, sums: FloatArray, a: FloatArray
) -> FloatArray:
    """Return minus the second derivative in log h; along equal shifts, which change nothing, 1."""
    weighted = np.divide(np.sqrt(p), sums, out=np.zeros_like(p), where=p > 0)
    part = (weighted[:, None] * one.at_risk) * h
    found = -(part.T @ part) + np.outer(a, a / a.sum())
    ratio = np.divide(p, sums, out=np.zeros_like(p), where=p > 0)
    np.einsum("ii->i", found)[:] += h * (ratio @ one.at_risk) + 1e-13 * a
    return np.asarray(found)


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    try:
        return np.asarray(cho_solve(cho_factor(matrix), right))
    except LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-13)[0])

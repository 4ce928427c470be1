"""Cox's partial likelihood of survival times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import xlogy

from ..core.types import Columns, FloatArray, IndexArray
from .base import INSIDE, LossOfRows, root_of_falling
from .dual import at_margins, balance, compiled_conjugate, compiled_scale, has_compiled_dual
from .entries import CoxOfEntries
from .kept import kept_with
from .ties import Ties, ties_of

PLAIN_RANGE = 600.0  # margins that differ by no more are exponentiated and summed as they are


@dataclass(frozen=True, slots=True)
class _Stratum:
    """Rows that are compared with each other, from the last time to the first."""

    rows: IndexArray  # (n,) from the largest time to the smallest
    ends: IndexArray  # (n_times,) how many of them are at risk at each event time, falling times
    events: IndexArray  # places in `rows` of the events
    time_of_event: IndexArray  # the event time of each of them
    first: IndexArray  # (n,) the last event time that a row is at risk at; n_times: none


def strata_of(y: FloatArray) -> list[_Stratum]:
    """Return the strata of a target."""
    return kept_with(y, _strata)


def _strata(y: FloatArray) -> list[_Stratum]:
    return [_stratum(y, rows) for rows in _rows_of_strata(y[:, 2])]


def _rows_of_strata(stratum: FloatArray) -> list[IndexArray]:
    order = np.argsort(stratum, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(stratum[order])) + 1)


def _stratum(y: FloatArray, rows: IndexArray) -> _Stratum:
    rows = rows[np.argsort(-y[rows, 0], kind="stable")]
    time, event = y[rows, 0], y[rows, 1] > 0
    times = np.unique(time[event])[::-1]
    ends = np.searchsorted(-time, -times, side="right")
    first = np.searchsorted(-times, -time, side="left")
    events = np.flatnonzero(event)
    return _Stratum(rows, ends, events, first[events], first)


@dataclass(frozen=True, slots=True)
class Cox(LossOfRows):
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
    if each of them had left by the same share before the next one: in place of the sum over the
    rows at risk there is that less l/d of its part of the events, l = 0, ..., d - 1, each with the
    weight D_t / d. `_ties.Ties` has what that adds.

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
    has_intercept: ClassVar[bool] = False
    separable: ClassVar[bool] = False
    target: ClassVar[str] = "survival"
    ties: str = "breslow"

    def __post_init__(self) -> None:
        """Refuse ties of another kind."""
        from ..core.validation import check_option

        check_option("ties", self.ties, ["breslow", "efron"])

    def fitted(self, y: FloatArray, weight: FloatArray) -> Cox | CoxOfEntries:
        """Return the loss of such targets: where a row comes under observation late, of entries."""
        return CoxOfEntries(self.ties) if y.shape[1] == 4 else self

    @property
    def name(self) -> str:
        """What certificates call it."""
        return "cox" if self.ties == "breslow" else "cox_efron"

    @property
    def kernel_parameters(self) -> tuple[float, float]:
        """Whether ties are Efron's."""
        return float(self.ties == "efron"), 0.0

    @property
    def compiled_dual(self) -> bool:  # type: ignore[override]
        """Whether there is a kernel for its dual points: for those of Breslow's ties."""
        return self.ties == "breslow"

    @property
    def counts_rows(self) -> bool:  # type: ignore[override]
        """Whether a row of weight 2 is another thing than two rows, which are tied."""
        return self.ties == "efron"

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

    def null(self, y: FloatArray, weight: FloatArray, intercept: bool) -> float:
        """Return the value at equal margins."""
        return self.value_gradient(np.zeros(len(y)), y, weight)[0]

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return the conjugate at -v, infinite outside of its domain."""
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
        low, high = 0.0, 1.0
        if np.isfinite(self.conjugate(v, y, weight)):
            return v
        for _ in range(60):
            middle = 0.5 * (low + high)
            finite = np.isfinite(self.conjugate(middle * v, y, weight))
            low, high = (middle, high) if finite else (low, middle)
        return low * v

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


NO_TIES = ties_of(np.empty(0, np.int64), np.empty(0, bool), 0)


def _deaths(one: _Stratum, s: FloatArray) -> FloatArray:
    """Return D_t, the weight of the events at each event time."""
    return np.asarray(np.bincount(one.time_of_event, s[one.events], one.ends.size), np.float64)


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

"""Cox's partial likelihood of rows that come under observation late: start-stop times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import xlogy

from ..core.types import Columns, FloatArray, IndexArray
from .base import INSIDE, LossOfRows, root_of_falling
from .dual import balance
from .kept import kept_with

AWAY = (1e-12, 1e-9, 1e-6, 1e-3, 0.1)  # from the end of the domain, as shares of the way
MOST_STEPS = 100
CONVERGED = 1e-11  # relative to the weights of the events
ROUNDING = 1e-12  # relative: parts of events below this are 0


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


def _events_of(y: FloatArray, weight: FloatArray, efron: bool) -> list[_Events]:
    """Return the events of all strata."""
    if (weight > 0).all():
        return kept_with(y, _in_strata, efron)
    return _in_strata(y, efron, weight > 0)


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


@dataclass(frozen=True, slots=True)
class CoxOfEntries(LossOfRows):
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

    has_intercept: ClassVar[bool] = False
    separable: ClassVar[bool] = False
    target: ClassVar[str] = "survival"
    ties: str = "breslow"

    @property
    def name(self) -> str:
        """What certificates call it: the target tells of entries."""
        return "cox" if self.ties == "breslow" else "cox_efron"

    @property
    def counts_rows(self) -> bool:  # type: ignore[override]
        """As of `Cox`."""
        return self.ties == "efron"

    def _strata(self, y: FloatArray, weight: FloatArray) -> list[_Events]:
        return _events_of(y, weight, self.ties == "efron")

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return the value and its gradient p - s d."""
        value, gradient = 0.0, np.zeros_like(z)
        for one in self._strata(y, weight):
            s, own = weight[one.rows], z[one.rows]
            a, events = one.weights(s), one.of_time.sum(axis=0) * s
            log_sum, share = _shares(one, own, s, a)
            value += float(a @ (log_sum - np.log(a) - one.constant)) - float(events @ own)
            gradient[one.rows] = share - events
        return max(value, 0.0), gradient

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return p, as of `Cox`."""
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

    def null(self, y: FloatArray, weight: FloatArray, intercept: bool) -> float:
        """Return the value at equal margins."""
        return self.value_gradient(np.zeros(len(y)), y, weight)[0]

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return the conjugate at -v, infinite outside of its domain."""
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
        """Return v, on the scale at which its conjugate is finite, and with sums of 0 in strata."""
        v = np.minimum(v, weight * (y[:, 1] > 0))
        for one in self._strata(y, weight):
            alone = one.rows[~(one.at_risk > 0).any(axis=1)]
            v[alone] = 0.0
            v[one.rows] = balance(v[one.rows])
        low, high = 0.0, 1.0
        if self._is_finite(v, y, weight):
            return v
        for _ in range(60):
            middle = 0.5 * (low + high)
            finite = self._is_finite(middle * v, y, weight)
            low, high = (middle, high) if finite else (low, middle)
        return low * v

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


def strata_of(y: FloatArray) -> list[IndexArray]:
    """Return the rows of every stratum."""
    _, code = np.unique(y[:, 2], return_inverse=True)
    return [np.flatnonzero(code == number) for number in range(int(code.max()) + 1)]


def parts_of(y: FloatArray) -> list[IndexArray]:
    """Return the rows over each of which margins may move by one number, without an effect.

    They are those of a stratum that have events in common, or have some with others of them; rows
    that are at risk at no event are parts of their own.
    """
    found: list[IndexArray] = []
    for rows in strata_of(y):
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
    for _ in range(MOST_STEPS):
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

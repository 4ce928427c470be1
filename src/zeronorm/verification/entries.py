"""Cox's partial likelihood of rows that come under observation late, as the verifier knows it.

A row is at risk at t with start < t <= stop. Dual points give parts of events to rows, and any way
to share the events out that gives every row its part is an upper bound of the conjugate.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from ..core.types import FloatArray, IndexArray

MOST_STEPS = 200
MOST_LOG = 300.0  # of hazards: more would leave the range of numbers
MIXED = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)


@dataclass(frozen=True)
class Events:
    """The events of a stratum; with Efron's ties those at a time are one after the other."""

    y: FloatArray  # (n, 4) stop, event, stratum and start
    s: FloatArray  # (n,)
    time: FloatArray  # (m,)
    weight: FloatArray  # (m,) a
    at_risk: FloatArray  # (n, m) the part of each row that is at risk
    constant: float  # sum of a log(a (d - l))

    @classmethod
    def of(cls, y: FloatArray, s: FloatArray, efron: bool) -> Events:
        """Return the events of rows of one stratum."""
        columns, times, weights, constant = [], [], [], 0.0
        event = y[:, 1] > 0
        for t in np.unique(y[event, 0]):
            dead = event & (y[:, 0] == t)
            d = int(dead.sum()) if efron else 1
            for before in range(d):
                columns.append(1.0 * ((y[:, 3] < t) & (y[:, 0] >= t)) - before / d * dead)
                times.append(float(t))
                weights.append(float(s[dead].sum()) / d)
                constant += weights[-1] * float(np.log(weights[-1] * (d - before)))
        at_risk = np.array(columns).reshape(-1, len(y)).T
        return cls(y, s, np.array(times), np.array(weights), at_risk, constant)

    def shares(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the logarithm of the sum over what is at risk at each event, and p."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.at_risk) + (np.log(self.s) + z)[:, None]
        top = logs.max(axis=0, initial=-np.inf)
        log_sum = top + np.log(np.exp(logs - top).sum(axis=0))
        return log_sum, np.asarray(np.exp(logs - log_sum) @ self.weight)

    def conjugate(self, p: FloatArray, noise: float) -> tuple[float, float]:
        """Return an upper bound of the conjugate, and its terms; infinite where there is none.

        The best shares are those of margins z with the parts p. What is found has those of p(z),
        nearly p; it is mixed with any shares of what is missing, times a large number.
        """
        if not self.weight.size:
            return (0.0 if (np.abs(p) <= noise).all() else np.inf), 0.0
        z = self._margins(p)
        some, near, value = p > 0, p, 0.0
        if z is not None:
            log_sum, near = self.shares(z)
            value = float(near[some] @ z[some] - self.weight @ log_sum)
        logs = np.abs(np.log(self.weight)).max() + np.abs(np.log(self.s)).max() + np.log(len(p))
        size = self.weight.sum() * (1.0 + logs + (0.0 if z is None else np.ptp(z[some])))
        for mixed in MIXED if z is not None else (1.0,):
            missing = (p - (1.0 - mixed) * near) / mixed
            rest = self._shared_out(missing, noise / mixed)
            if rest is not None:
                found = (1.0 - mixed) * value + mixed * rest + self.constant
                return found, 8.0 * size + abs(found)
        return np.inf, size

    def _margins(self, p: FloatArray) -> FloatArray | None:
        """Return margins with nearly the parts p, by Newton's method in the logarithms of hazards.

        Rows without a part have -inf.
        """
        some = p > 0
        A, own, a = self.at_risk[some], p[some], self.weight
        if not some.any() or not (A > 0).any(axis=0).all() or not (A > 0).any(axis=1).all():
            return None
        logs = np.clip(np.log(a) - np.log(own @ (A > 0)), -MOST_LOG, MOST_LOG)
        best, least = logs, np.inf
        for _ in range(MOST_STEPS):
            sums = A @ np.exp(logs)
            part = A * np.exp(logs) / sums[:, None]
            slope = a - own @ part
            size = float(np.abs(slope).max())
            if size < least:
                best, least = logs, size
            elif size < 1e-9 * a.sum():
                break
            bend = np.diag(own @ part) - (part.T * own) @ part + np.outer(a, a / a.sum())
            step = np.linalg.lstsq(bend, slope, rcond=1e-14)[0]
            logs = logs + step * min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-300))
            logs = np.clip(logs - logs.mean(), -MOST_LOG, MOST_LOG)
        z = np.full(p.size, -np.inf)
        z[some] = np.log(own / self.s[some]) - np.log(A @ np.exp(best))
        return z

    def _shared_out(self, p: FloatArray, noise: float) -> float | None:
        """Return sum m log(m / (a A s)) of a way to share the events out with parts p, or None.

        Each event, of weight a, goes to the rows at risk that leave first.
        """
        if p.min() < -noise:
            return None
        left, total, lost = np.maximum(p, 0.0), 0.0, 0.0
        waiting: list[tuple[float, int]] = []
        order = np.argsort(self.y[:, 3], kind="stable").tolist()
        entered = 0
        for number, (t, a) in enumerate(zip(self.time.tolist(), self.weight.tolist(), strict=True)):
            while entered < len(order) and self.y[order[entered], 3] < t:
                heapq.heappush(waiting, (float(self.y[order[entered], 0]), order[entered]))
                entered += 1
            whole = a
            while a > 0 and waiting:
                stop, row = waiting[0]
                part = min(a, float(left[row])) if stop >= t else 0.0
                if part > 0:
                    own = self.at_risk[row, number] * self.s[row]
                    total += part * float(np.log(part / (whole * own)))
                    a, left[row] = a - part, left[row] - part
                if left[row] <= 0 or stop < t:
                    heapq.heappop(waiting)
            lost += a
        return total if max(lost, float(left.sum())) <= noise else None


def parts_of(y: FloatArray) -> list[IndexArray]:
    """Return the rows of a stratum that are at risk at the same events, or at some with others.

    y : (n, 4). A dual point has the sum 0 over each of these parts; rows that are at no event are
    in none.
    """
    times = np.unique(y[y[:, 1] > 0, 0])
    first = np.searchsorted(times, y[:, 3], side="right")
    last = np.searchsorted(times, y[:, 0], side="right")  # events first, ..., last - 1
    found: list[IndexArray] = []
    own, end = list[int](), 0
    for row in np.argsort(first, kind="stable").tolist():
        if first[row] == last[row]:
            continue
        if own and first[row] >= end:
            found.append(np.array(own))
            own = []
        own.append(row)
        end = max(end, int(last[row]))
    return [*found, np.array(own)] if own else found

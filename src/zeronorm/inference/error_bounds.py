"""How many features of low selection probability may be expected in a stable set.

Source: Shah and Samworth, Variable selection with error control: another look at stability
selection, Journal of the Royal Statistical Society B 75 (2013), theorems 1 to 3.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ..core import validation as validate
from ..core.types import FloatArray

ASSUMPTIONS = ("none", "unimodal", "r-concave")
ZOOMS, POINTS = 12, 33  # of the search for the worst r-concave law; each zoom is 16 times nearer
LARGEST_SHIFT, LEAST_SHIFT = 1e6, 1e-9  # nearly a uniform law, and nearly an atom at 0
UNIMODAL_PROBABILITY = 1.0 / math.sqrt(3.0)  # up to which theorem 2 holds


def expected_low(q: int, p: int, threshold: float, n_pairs: int, low: float, assume: str) -> float:
    """Return the bound on the expected number of stable features of probability at most `low`.

    q : how many features a half-sample chooses, at most. p : of how many.
    threshold : in (0.5, 1]. assume : one of `ASSUMPTIONS`.
    """
    # Frequencies are multiples of 1 / (2 B): a threshold between two of them is the upper one.
    count = math.ceil(2 * n_pairs * threshold - 1e-9)
    tau, both = count / (2 * n_pairs), (count - n_pairs) / n_pairs
    bound = low * q / both
    if assume != "none":
        bound = min(bound, low * q * _unimodal_factor(tau, n_pairs, low))
    if assume == "r-concave":
        of_both = r_concave_tail(low**2, count - n_pairs, n_pairs, -0.5)
        of_one = r_concave_tail(low, count, 2 * n_pairs, -0.25)
        bound = min(bound, p * min(of_both, of_one))
    # Frequencies sum up to q on average, so that no more than q / tau are as large as tau.
    return min(bound, q / tau, float(p))


def least_threshold(q: int, p: int, bound: float, n_pairs: int, low: float, assume: str) -> float:
    """Return the least threshold with `expected_low` of at most a bound."""
    for count in range(n_pairs + 1, 2 * n_pairs + 1):
        threshold = count / (2 * n_pairs)
        least = expected_low(q, p, threshold, n_pairs, low, assume)
        if least <= bound:
            return threshold
    raise ValueError(
        f"expected_low must be at least {least:.3g}, the bound at threshold 1 for {q} of {p} with "
        f"assume={assume!r}; got {bound:g}. Choose fewer features, or assume more."
    )


def check_threshold(threshold: float) -> float:
    """Return a threshold of frequencies: above 0.5, at most 1."""
    if not 0.5 < validate.number(threshold) <= 1.0:
        raise ValueError(
            "threshold must be above 0.5 and at most 1, the share of the half-samples that choose "
            f"a stable feature; got {validate.shown(threshold)}."
        )
    return float(threshold)


def _unimodal_factor(tau: float, n_pairs: int, low: float) -> float:
    """Return C(tau, B) of theorem 2; infinity where it says nothing."""
    step = 1.0 / (2 * n_pairs)
    least = min(0.5 + low**2, 0.5 + step + 0.75 * low**2)
    if low > UNIMODAL_PROBABILITY or tau <= least or tau < 0.5 + 2.0 * step - 1e-9:
        return math.inf
    if tau <= 0.75 + 1e-9:
        return 1.0 / (2.0 * (2.0 * tau - 1.0 - step))
    return 4.0 * (1.0 - tau + step) / (1.0 + 2.0 * step)


@lru_cache(maxsize=1024)
def r_concave_tail(mean: float, least: int, largest: int, r: float) -> float:
    """Return max P(B X >= least) over the r-concave X on {0, 1/B, ..., 1} of a mean, B = largest.

    A law f is r-concave, r < 0, where f^r is convex. The worst one is f(i) = c (a + i)^(1/r) on
    0, ..., k, a > 0, with an atom at k + 1 that is smaller than that would go on: a follows from
    the mean for every size of the atom, so that k and a are all there is to search.

    1 where `least` is not above twice the mean, as laws that grow are among them there.
    """
    mass = mean * largest
    if least > largest:
        return 0.0
    if least <= 2.0 * mass + 1.0:
        return 1.0
    if mass == 0.0:
        return 0.0
    first = max(math.ceil(2.0 * mass) + 1, least - 1)
    shift = _shift_of_mean(mass, first, r)
    best = 0.0
    for last in range(first, largest + 1):
        # Between the laws without an atom at last + 1 and with one as large as the power goes on.
        next_shift = shift if last == largest else _shift_of_mean(mass, last + 1, r)
        best = max(best, _best_tail(mass, least, last, r, (next_shift, shift)))
        shift = next_shift
    return best


def _shift_of_mean(mass: float, last: int, r: float) -> float:
    """Return a with the mean of (a + i)^(1/r) over i = 0, ..., last equal to mass."""
    i = np.arange(last + 1.0)
    low, high = math.log(LEAST_SHIFT), math.log(LARGEST_SHIFT)
    for _ in range(80):
        middle = 0.5 * (low + high)
        f = (1.0 + i / math.exp(middle)) ** (1.0 / r)
        low, high = (middle, high) if f @ i < mass * f.sum() else (low, middle)
    return math.exp(0.5 * (low + high))


def _best_tail(mass: float, least: int, last: int, r: float, between: tuple[float, float]) -> float:
    """Return the largest P(i >= least) over the shifts between two, with the atom at last + 1."""
    i = np.arange(last + 1.0)
    low, high = (math.log(shift) for shift in between)
    best = 0.0
    for _ in range(ZOOMS):
        grid = np.linspace(low, high, POINTS)
        f: FloatArray = (1.0 + i / np.exp(grid)[:, None]) ** (1.0 / r)
        inside = (last + 1.0 - mass) / (f @ (last + 1.0 - i))
        tail = 1.0 - inside * f[:, :least].sum(axis=1)
        at = int(tail.argmax())
        best = max(best, float(tail[at]))
        if high - low < 1e-9:
            break
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, POINTS - 1)]
    return best

"""What random experiments with dummies find: votes, stand-ins, and the share that is false."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import special

from ..core.types import FloatArray, IndexArray

SHOWN = 20  # features that a printed result has
POINTS = 2000  # of an integral over a law of votes


# Of features: the probability of each that another one is meant, and the likeliest other.
StandIns = Callable[[IndexArray], tuple[FloatArray, IndexArray]]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Features with enough votes at one number of dummies."""

    features: IndexArray  # (m,) ascending
    votes: FloatArray  # (m,) the share of the experiments in which they entered
    false: float  # how many without any effect are expected
    least: float  # the share of the votes that was asked for
    n_entered: int  # the dummies after which each experiment ended


@dataclass(frozen=True, slots=True, repr=False)
class Discoveries:
    """Features with enough votes, and which of them are discoveries at the level."""

    features: IndexArray  # (m,) with enough votes, the least doubtful first
    votes: FloatArray  # (m,) the share of the experiments in which they entered
    stand_in: FloatArray  # (m,) the probability that a correlated feature is meant
    rivals: IndexArray  # (m,) the likeliest of these, -1 where there is none
    n_found: int  # how many of `features`, from the first on, are discoveries
    estimate: float  # of the share of false ones among these, at most the level; 0 of none
    least_votes: float  # the share of the votes that was asked for
    n_entered: int  # T, the dummies after which each experiment ended
    n_dummies: int  # L, of how many
    n_candidates: int  # p, the features that vary
    n_experiments: int  # K
    level: float
    n_covariates: int = 0  # independent ones, beside which features were compared
    n_blocks: int | None = None  # of samples that belong together; None: all are independent
    # Of two errors of a block; NaN where the rows are blocks, and None without any.
    correlation: float | None = None
    names: tuple[str, ...] | None = None  # of `features`, where they have some
    rival_names: tuple[str, ...] | None = None

    @property
    def found(self) -> IndexArray:
        """The discoveries, ascending."""
        return np.sort(self.features[: self.n_found])

    def __repr__(self) -> str:
        """Return the features with enough votes, as a table."""
        head = (
            f"{self.n_found} of {self.n_candidates} features at a false discovery rate of "
            f"{self.level:g}"
        )
        if not self.features.size:
            return f"{head}."
        names = [str(one) for one in self.features] if self.names is None else self.names
        rivals = self.rival_names or [str(one) if one >= 0 else "" for one in self.rivals]
        width = max(len("features"), *(len(one) for one in names[:SHOWN]))
        lines = [
            f"{head} (estimated {self.estimate:.3f}).",
            f"{self.n_experiments} experiments with {self.n_dummies} dummies, until "
            f"{self.n_entered} of these entered; {self.least_votes:.0%} of the votes.",
            *self._beside(),
            f"{'features':<{width}}  votes  stand-in  for",
        ]
        for place in range(min(SHOWN, self.features.size)):
            mark = "" if place < self.n_found else "  (not counted)"
            lines.append(
                f"{names[place]:<{width}}  {self.votes[place]:5.0%}  {self.stand_in[place]:8.1%}"
                f"  {rivals[place]}{mark}".rstrip()
            )
        if self.features.size > SHOWN:
            lines.append(f"and {self.features.size - SHOWN} more")
        return "\n".join(lines)

    def _beside(self) -> list[str]:
        """Return a line on covariates and blocks, where there are any."""
        parts = [f"{self.n_covariates} covariate(s)"] if self.n_covariates else []
        if self.n_blocks is not None and self.correlation is not None:
            within = "the rows are their means"
            if self.correlation == self.correlation:
                within = f"with a correlation of {self.correlation:.2f} within them"
            parts.append(f"{self.n_blocks} blocks of samples, {within}")
        return [f"Beside {'; '.join(parts)}."] if parts else []


def best_of(
    candidates: Sequence[Candidates], level: float, stand_ins: StandIns
) -> tuple[Candidates, FloatArray, IndexArray, int, float]:
    """Return the candidates with the most discoveries, the least doubtful first.

    Beside them their stand-ins and rivals, the number of discoveries and its estimate. Stand-ins
    are asked for as seldom as can be. Of none with discoveries it is the largest set.
    """
    best: tuple[Candidates, FloatArray, IndexArray, int, float] | None = None
    known: dict[bytes, tuple[FloatArray, IndexArray]] = {}
    for one in sorted(candidates, key=lambda one: (-one.features.size, one.false)):
        if best is not None and one.features.size <= best[3]:
            break
        key = one.features.tobytes()
        if key not in known:
            known[key] = stand_ins(one.features)
        doubt, rivals = known[key]
        order = np.lexsort((one.features, -one.votes, doubt))
        estimate = (one.false + np.cumsum(doubt[order])) / np.arange(1, order.size + 1)
        within = np.flatnonzero(estimate <= level)
        n_found = int(within[-1]) + 1 if within.size else 0
        if best is None or n_found > best[3]:
            sorted_one = replace(one, features=one.features[order], votes=one.votes[order])
            share = float(estimate[n_found - 1]) if n_found else 0.0
            best = sorted_one, doubt[order], rivals[order], n_found, share
    if best is None:
        raise ValueError("there must be candidates; got none.")
    return best


@cache
def expected_false(n_votes: int, n_experiments: int, n_entered: int) -> float:
    """Return how many features without any effect are expected to get so many votes.

    Of as many such features as dummies, each experiment with dummies of its own until n_entered of
    them, T, have entered. With l the number of dummies that are expected before a feature, T of
    them are not reached with probability Q_T(l) = P(Poisson(l) < T), and features have all l alike:

        integral over l > 0 of P(Binomial(K, Q_T(l)) >= votes) = E Q_T^-1(U),

    U of the law Beta(votes, K - votes + 1). With T = 1 it is the sum of 1 / i for i from votes to
    K. It is exact for the first feature that enters, and an upper bound after dummies have entered.
    """
    shares = (np.arange(POINTS) + 0.5) / POINTS
    u = special.betaincinv(n_votes, n_experiments - n_votes + 1, shares)
    return float(special.gammainccinv(n_entered, u).mean())

"""What pairs of half-samples chose: frequencies, bounds, the stability of the sets as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ..core import validation as validate
from ..core.types import FloatArray, IndexArray
from .error_bounds import ASSUMPTIONS, check_threshold, expected_low, least_threshold

SHOWN = 20  # features that a printed result has


@dataclass(frozen=True, slots=True, repr=False)
class Stability:
    """What pairs of half-samples chose: q of p features on each of 2 B halves.

    Where the estimator selects whole groups, "features" are groups here. Features in every model,
    forced ones and covariates, are not counted.
    """

    features: IndexArray  # (m,) that one half at least chose, ascending; of groups their places
    chosen: np.ndarray  # (2 B, m) mask: rows 2b and 2b + 1 are the halves of a pair
    n_chosen: int  # q, which each half chooses, at most where several models choose for themselves
    n_candidates: int  # p, of how many: columns that are not constant, groups with one of these
    n_rows: int  # of each half, of groups of the smallest one
    unit: str = "features"  # or "groups"
    names: tuple[str, ...] | None = None  # of `features`, where they have some
    left_out: tuple[str, ...] = ()  # of each pair that is not counted, why a half has no model

    @property
    def n_pairs(self) -> int:
        """B, the number of complementary pairs."""
        return len(self.chosen) // 2

    @property
    def frequency(self) -> FloatArray:
        """The share of the halves that chose each of `features`, (m,); 0 of all others."""
        return np.asarray(self.chosen.mean(axis=0))

    @property
    def simultaneous(self) -> FloatArray:
        """The share of the pairs of which both halves chose each of `features`, (m,)."""
        return np.asarray((self.chosen[::2] & self.chosen[1::2]).mean(axis=0))

    def stable(self, threshold: float) -> IndexArray:
        """Return the features chosen by a share of the halves of at least the threshold.

        threshold : above 0.5, at most 1.
        """
        least = check_threshold(threshold) * len(self.chosen) - 1e-9
        return np.asarray(self.features[self.chosen.sum(axis=0) >= least])

    def expected_low(
        self, threshold: float, *, low: float | None = None, assume: str = "none"
    ) -> float:
        """Return a bound on the expected number of stable features of low selection probability.

        With p_j the probability that half as many rows choose j, L = {j : p_j <= low} and S the
        stable set at the threshold tau,

            E |S and L| <= low q / (2 tau - 1),

        for any selection, any law of the rows, and any number of pairs, where rows are independent
        and alike (within each class, where classes are in equal shares in the halves).

        low : by default q / p, the probability of a feature chosen by lot.
        assume : "none"; "unimodal", that the law of the simultaneous frequency of each feature of L
            has one mode; or "r-concave", that it is (-1/2)-concave, and that of the frequency
            (-1/4)-concave: tighter in that order, and true as far as the assumption is.
        """
        low, assume = self._low(low), self._assumption(assume)
        threshold = check_threshold(threshold)
        q, p = self.n_chosen, self.n_candidates
        return expected_low(q, p, threshold, self.n_pairs, low, assume)

    def least_threshold(
        self, bound: float, *, low: float | None = None, assume: str = "none"
    ) -> float:
        """Return the least threshold at which `expected_low` is at most a bound, a positive number.

        Raises
        ------
        ValueError
            Where even a threshold of 1 has no such bound.
        """
        bound = validate.check_positive("bound", bound)
        low, assume = self._low(low), self._assumption(assume)
        q, p = self.n_chosen, self.n_candidates
        return least_threshold(q, p, bound, self.n_pairs, low, assume)

    @property
    def index(self) -> float:
        """The stability of the sets as a whole: 1 where all are equal, about 0 of random ones.

        With M sets of mean size k of d features, and f_j the share of them that has j,

            1 - mean_j (M / (M - 1) f_j (1 - f_j)) / (k/d (1 - k/d)),

        NaN where every set has all features.

        Source: Nogueira, Sechidis and Brown, On the stability of feature selection algorithms,
        JMLR 18 (2018), definition 4.
        """
        return self._index_and_terms()[0]

    def index_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval for the index that infinitely many pairs of these rows would give.

        It is normal, by the variance of theorem 7 of the source of `index`, with halves as if they
        were independent (in benchmarks/results/stability.md it holds as often as it says, where
        pairs as terms fall short). Other rows would give another index.
        """
        if not 0 < validate.number(level) < 1:
            raise ValueError(f"level must be between 0 and 1; got {validate.shown(level)}.")
        index, terms = self._index_and_terms()
        error = 2.0 * float(np.sqrt(((terms - terms.mean()) ** 2).sum())) / terms.size
        reach = NormalDist().inv_cdf(0.5 + 0.5 * level) * error
        return index - reach, min(index + reach, 1.0)

    def _index_and_terms(self) -> tuple[float, FloatArray]:
        """Return the index, and what every set contributes to it, (2 B,)."""
        d, n_sets = self.n_candidates, len(self.chosen)
        share, size = self.frequency, self.chosen.sum(axis=1) / d
        mean = float(size.mean())
        by_lot = mean * (1.0 - mean)
        if by_lot <= 0:
            return float("nan"), np.full(n_sets, np.nan)
        varied = n_sets / (n_sets - 1) * float((share * (1.0 - share)).sum()) / d
        index = 1.0 - varied / by_lot
        agreed = self.chosen @ share / d - mean * size
        terms = agreed + 0.5 * index * (2.0 * mean * size - size - mean + 1.0)
        return index, np.asarray(terms / by_lot)

    def _shown(self) -> IndexArray:
        """Return the places of the features chosen most often, those that have room."""
        frequency = self.frequency
        order = np.lexsort((self.features, -self.simultaneous, -frequency))
        return order[: min(SHOWN, max(self.n_chosen, int((frequency >= 0.5).sum())))]

    def _low(self, low: float | None) -> float:
        """Return a probability up to which features are of low selection probability."""
        if low is None:
            return self.n_chosen / self.n_candidates
        if not 0 < validate.number(low) <= 1:
            raise ValueError(
                f"low must be a probability, above 0 and at most 1; got {validate.shown(low)}."
            )
        return float(low)

    @staticmethod
    def _assumption(assume: str) -> str:
        return str(validate.check_option("assume", assume, ASSUMPTIONS))

    def __repr__(self) -> str:
        """Return the features that half of the halves chose at least, or the first, as a table."""
        low, high = self.index_interval()
        frequency, both, shown = self.frequency, self.simultaneous, self._shown()
        names = [str(one) for one in self.features] if self.names is None else self.names
        width = max([len(self.unit), *(len(names[at]) for at in shown)])
        lines = [
            f"{self.n_pairs} pairs of half-samples of {self.n_rows} rows; each chose "
            f"{self.n_chosen} of {self.n_candidates} {self.unit}.",
            f"Stability index {self.index:.2f} (95 % interval {low:.2f} to {high:.2f}; 1: always "
            "the same).",
            f"{self.unit:<{width}}  chosen by  by both halves",
        ]
        if self.left_out:
            lines.insert(1, f"{len(self.left_out)} more pairs are left out: a half has no model.")
        lines += [
            f"{names[at]:<{width}}  {frequency[at]:9.0%}  {both[at]:14.0%}" for at in shown.tolist()
        ]
        if self.features.size > shown.size:
            lines.append(f"and {self.features.size - shown.size} that were chosen less often")
        return "\n".join(lines)

"""Stability selection by complementary pairs: the features that most half-samples choose."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Literal, cast

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_regressor

from ..core import validation as validate
from ..core.budgets import UnfittableError
from ..core.errors import Message, ParameterError
from ..core.groups import Groups
from ..core.memory import machine_memory
from ..core.parallel import one_blas_thread, solver_threads
from ..core.types import Design, FloatArray, IndexArray
from ..data import Rows
from ..data.operations import dense, measured
from ..data.views import filling_of
from ..estimators.base import with_parameters
from ..estimators.problem import Problem, Selector, TrainingData
from ..estimators.wrapped import way_out, without_threshold
from ..io.opening import as_design
from ..solvers import run, run_together
from ..solvers.checkpoint import Identity, recorded
from .half_samples import half_samples
from .screening import Null, Screen, best_columns
from .selected_columns import SelectedColumns

# How many features of low selection probability may be expected in a stable set.
#
# Source: Shah and Samworth, Variable selection with error control: another look at stability
# selection, Journal of the Royal Statistical Society B 75 (2013), theorems 1 to 3.

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
    raise ParameterError(
        "expected_low",
        f"must be at least {least:.3g}, the bound at threshold 1 for {q} of {p} with "
        f"assume={assume!r}",
        f"{bound:g}",
        "Choose fewer features, or assume more.",
    )


def check_threshold(threshold: float) -> float:
    """Return a threshold of frequencies: above 0.5, at most 1."""
    if not 0.5 < validate.number(threshold) <= 1.0:
        raise ParameterError(
            "threshold",
            "must be above 0.5 and at most 1, the share of the half-samples that choose a "
            "stable feature",
            validate.shown(threshold),
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


# What pairs of half-samples chose: frequencies, bounds, the stability of the sets as a whole.

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

        low : by default q / p, the probability of a feature chosen by chance.
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

    def index_interval(self, confidence_level: float = 0.95) -> tuple[float, float]:
        """Return an interval for the index that infinitely many pairs of these rows would give.

        It is normal, by the variance of theorem 7 of the source of `index`, with halves as if they
        were independent (in benchmarks/results/stability.md it holds as often as it says, where
        pairs as terms fall short). Other rows would give another index.
        """
        if not 0 < validate.number(confidence_level) < 1:
            raise ParameterError(
                "confidence_level", "must be between 0 and 1", validate.shown(confidence_level)
            )
        index, terms = self._index_and_terms()
        error = 2.0 * float(np.sqrt(((terms - terms.mean()) ** 2).sum())) / terms.size
        reach = NormalDist().inv_cdf(0.5 + 0.5 * confidence_level) * error
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
            raise ParameterError(
                "low", "must be a probability, above 0 and at most 1", validate.shown(low)
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


# What every half-sample chooses: exactly so many of the candidates, by scans that all share.

MEMORY_SHARE = 0.25  # of the machine, for the halves that are solved together
VECTORS = 8  # of float64 over all features that a half has without screening


@dataclass(frozen=True)
class Budget:
    """How many of what a half chooses: features, or whole groups."""

    size: Any  # the key of the path
    n_chosen: int
    candidates: IndexArray  # features, or places of groups, that are not in every model
    groups: Groups | None  # where these are counted

    @classmethod
    def of(cls, model: Any, problem: Problem) -> Budget:
        """Return the budget of an estimator, posed for all rows."""
        if len(problem.sizes) > 1:
            name = "n_features" if model.n_groups is None else "n_features and n_groups"
            raise ParameterError(
                name,
                "must be one size without a criterion, as every half-sample chooses exactly so "
                "many",
                f"the sizes {', '.join(map(str, problem.sizes[:5]))}"
                + (", ..." if len(problem.sizes) > 5 else ""),
            )
        (size,), task = problem.sizes, problem.tasks[0]
        candidates = task.features(np.flatnonzero(task.usable))
        forced = task.features(task.forced)
        groups = None if isinstance(size, tuple) else task.groups_of_features()
        if groups is not None:
            candidates, forced = (np.unique(groups.code[one]) for one in (candidates, forced))
        free = (size[0] if isinstance(size, tuple) else size) - forced.size
        if free < 1:
            raise ParameterError(
                "forced_features",
                "must leave something to choose",
                f"all {forced.size} of {size}",
                "Ask for more.",
            )
        candidates = candidates[~np.isin(candidates, forced)]
        n_chosen = min(int(free) * len(problem.tasks), candidates.size)
        return cls(size, n_chosen, candidates, groups)

    @property
    def unit(self) -> str:
        """What is counted."""
        return "features" if self.groups is None else "groups"

    def check(self, n_rows: int) -> None:
        """Raise ValueError where a half has too few rows for so many features."""
        size = self.size[0] if isinstance(self.size, tuple) else self.size
        if self.groups is None and size >= n_rows:
            raise ParameterError(
                "n_features",
                f"must be at most {n_rows - 1} for stability, less than the {n_rows} rows of a "
                "half-sample, which as many features fit whatever they are",
                f"{size}",
            )

    def chosen(self, features: IndexArray) -> IndexArray:
        """Return which of the candidates the models of a half have, by their features."""
        features = np.unique(features)
        units = features if self.groups is None else np.unique(self.groups.code[features])
        places = np.searchsorted(self.candidates, units).clip(max=self.candidates.size - 1)
        return np.asarray(units[self.candidates[places] == units])

    def columns(self, units: IndexArray) -> IndexArray:
        """Return the features that are counted as these."""
        if self.groups is None:
            return units
        return np.flatnonzero(np.isin(self.groups.code, units))

    def names(self, units: IndexArray, columns: Sequence[str] | None) -> tuple[str, ...] | None:
        """Return the names of some features or groups, where they have some."""
        if self.groups is not None:
            return tuple(str(self.groups.labels[one]) for one in units)
        return None if columns is None else tuple(str(columns[one]) for one in units)


@dataclass(frozen=True)
class Halves:
    """Half-samples of data, and what they choose."""

    model: Any  # an estimator that is ours to change
    data: TrainingData
    whole: Problem  # of all rows
    budget: Budget
    rows: list[IndexArray]

    def choices(self, screen: int | None) -> list[IndexArray | UnfittableError]:
        """Return what every half chooses; instead of that why a half has no model.

        screen : among how many features of each half, None: all.
        """
        budget = self.budget
        if self.model.n_features is None and budget.groups is None:
            # The default follows the usable columns, of which halves may have fewer.
            self.model.set_params(n_features=budget.size)
        if screen is not None:
            self._check_screen(screen)
        if screen is None or screen >= budget.candidates.size:
            return list(self._among_all())
        return list(self._among_best(screen))

    def _check_screen(self, screen: int) -> None:
        """Raise ValueError where features cannot be screened."""
        budget, data = self.budget, self.data
        single = isinstance(budget.size, int) and budget.groups is None
        stored = data.encoding is None and filling_of(data.design) is None
        recorded = self.model.checkpoint is not None
        if not (single and stored and hasattr(self.model, "_plan")) or recorded:
            raise ParameterError(
                "screen",
                "must be None with groups, measures, categories, gaps or a checkpoint, where "
                "halves choose among all features",
                f"{screen}",
            )
        if screen < budget.size:
            raise ParameterError(
                "screen",
                f"must be at least {budget.size}, the features that a half chooses",
                f"{screen}",
            )

    def _among_all(self) -> Iterator[IndexArray | UnfittableError]:
        """Yield the choices of halves among all features, by scans that many halves share."""
        sizes = self.whole.sizes if isinstance(self.budget.size, tuple) else None
        width = VECTORS * self.whole.tasks[0].usable.size * len(self.whole.tasks)
        for first, batch in self._batches(width):
            parts = [self.data.rows(rows) for rows in batch]
            weights = [self.model._weigh(part)[0].sample_weight for part in parts]
            designs = measured(
                [(cast("Rows", part.design), one) for part, one in zip(parts, weights, strict=True)]
            )
            problems = [
                self._posed(replace(part, design=design), first + place, sizes)
                for place, (part, design) in enumerate(zip(parts, designs, strict=True))
            ]
            rows = {f"half {first + place}": one for place, one in enumerate(batch)}
            yield from self._solved(problems, self.model._identity(self.data, **rows))

    def _among_best(self, size: int) -> Iterator[IndexArray | UnfittableError]:
        """Yield the choices of halves among the features of the largest scores of each.

        One pass over X finds these; halves that are solved together share their gathered columns.
        """
        task, own = self.whole.tasks[0], self.budget.candidates
        forced, covariates = np.unique(task.features(task.forced)), task.covariates
        n_features = task.design_of_features.shape[1]
        allowed = np.zeros(n_features, bool)
        allowed[own] = True
        signs = task.signs if task.loss.outputs == 1 else np.zeros(n_features, np.int8)
        plan = self.model._plan()
        screen = Screen(size, allowed, signs, plan.fit_intercept, plan.standardize)
        nulls = [self._null(number) for number in range(len(self.rows))]
        with solver_threads(self.model.n_threads):
            known = [one for one in nulls if isinstance(one, Null)]
            scored = iter(best_columns(self.data.design, known, screen) if known else ())
        # A half without a model has no scores.
        beside = np.concatenate([forced, covariates])
        best = [
            np.union1d(next(scored) if isinstance(one, Null) else beside, beside) for one in nulls
        ]
        for first, batch in self._batches(3 * size * self.data.labels.shape[0]):
            columns = np.unique(np.concatenate(best[first : first + len(batch)]))
            gathered: Any = self.data.design.gather(columns)
            problems: list[Problem | UnfittableError] = []
            for number, rows in enumerate(batch, start=first):
                features, null = best[number], nulls[number]
                if isinstance(null, UnfittableError):
                    problems.append(null)
                    continue
                places = np.searchsorted(columns, features)
                if isinstance(gathered, np.ndarray):
                    X: Any = gathered.T[np.ix_(places, rows)].T
                else:
                    X = gathered[:, places][rows]
                self._set_features(features, covariates, forced, signs[features], self.budget.size)
                part = self._part(rows, as_design(X, n_threads=self.model.n_threads))
                problems.append(self._posed(part, number, columns=features))
            yield from self._solved(problems, columns=best[first : first + len(batch)])

    def _null(self, number: int) -> Null | UnfittableError:
        """Return a half without features: with covariates alone, where there are any."""
        rows, covariates = self.rows[number], self.whole.tasks[0].covariates
        of_data = self.data.names
        beside = dense(self.data.design.gather(covariates))
        # A model needs a column that varies, whatever it is.
        X = np.column_stack([beside[rows], np.arange(rows.size)])
        of_covariates = np.arange(covariates.size)
        self._set_features(of_covariates, of_covariates, of_covariates[:0], None, 1)
        names = [str(one) if of_data is None else of_data[one] for one in covariates]
        part = replace(self._part(rows, as_design(X)), names=[*names, "the row"])
        problem = self._posed(part, number, columns=covariates)
        if isinstance(problem, UnfittableError):
            return problem
        risks = [task.risk(1.0) for task in problem.tasks]
        duals = [risk.first()[1].reshape(-1, rows.size).T for risk in risks]
        weight = problem.tasks[0].sample_weight[: rows.size]
        return Null(rows, weight, duals)

    def _set_features(
        self,
        features: IndexArray,
        covariates: IndexArray,
        forced: IndexArray,
        signs: np.ndarray | None,
        size: int,
    ) -> None:
        """Tell the estimator what its parameters are where X has these features alone."""

        def places(some: IndexArray) -> list[int] | None:
            return np.searchsorted(features, some).tolist() if some.size else None

        self.model.set_params(
            n_features=size, covariates=places(covariates), forced_features=places(forced),
            signs=None if signs is None or not signs.any() else signs,
        )  # fmt: skip

    def _part(self, rows: IndexArray, design: Design) -> TrainingData:
        """Return a half with other columns."""
        data = self.data
        return replace(
            data, design=design, labels=data.labels[rows], sample_weight=data.sample_weight[rows],
            offset=None if data.offset is None else data.offset[rows], names=None, groups=None,
        )  # fmt: skip

    def _posed(
        self,
        part: TrainingData,
        number: int,
        sizes: tuple[Any, ...] | None = None,
        columns: IndexArray | None = None,
    ) -> Problem | UnfittableError:
        """Return the problem of a half, or why it has none.

        columns : of X those that the half has; None: all.
        """
        try:
            problem: Problem = self.model._pose(part, sizes)
        except ValueError as error:
            rows = f" These are the {part.labels.shape[0]} rows of half-sample {number}."
            text = Message(error, rows)
            if isinstance(error, UnfittableError):
                fault = error.at_fault
                if fault is not None and columns is not None:
                    fault = replace(fault, columns=tuple(columns[[*fault.columns]].tolist()))
                return UnfittableError(text, fault)
            raise ValueError(text) from None
        return problem

    def _solved(
        self,
        problems: Sequence[Problem | UnfittableError],
        identity: Identity = dict,
        columns: Sequence[IndexArray] | None = None,
    ) -> Iterator[IndexArray | UnfittableError]:
        """Yield what halves choose that are solved together, or why they have no problem.

        columns : of every half the features that its columns are; None: those of X.
        """
        solvers = [
            problem.solver(certify=False, fit=False)
            for problem in problems
            if not isinstance(problem, UnfittableError)
        ]
        paths = iter(run_together(solvers, None, self.model.n_threads, identity) if solvers else ())
        for place, problem in enumerate(problems):
            if isinstance(problem, UnfittableError):
                yield problem
                continue
            models = [path[self.budget.size] for path in next(paths)]
            features = np.concatenate([model.support for model in models])
            yield self.budget.chosen(features if columns is None else columns[place][features])

    def _batches(self, width: float) -> Iterator[tuple[int, list[IndexArray]]]:
        """Yield the halves that are solved together, each list with the number of its first.

        width : numbers that one of them needs.
        """
        room = int(MEMORY_SHARE * min(machine_memory(), 2.0**62) / (8.0 * width))
        count = max(1, min(len(self.rows), room))
        for first in range(0, len(self.rows), count):
            yield first, self.rows[first : first + count]


@with_parameters
class StabilitySelection(MetaEstimatorMixin, SelectedColumns):  # type: ignore[misc]
    """The features that most half-samples choose, with a bound on those chosen by chance.

    Each of B pairs cuts the rows in two halves of equal size without a row in common; on each half
    the estimator chooses exactly its k features. The stable set is

        S = {j : f_j >= tau},  f_j the share of the 2 B halves that choose j.

    No data are copied: the scans of all halves (and classes) are merged, as those of folds are.

    Parameters
    ----------
    estimator : BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis or MeasureClassifier
        With one size, `n_features` or `n_groups`; it is not changed. C, method, scaling and class
        weights count; there are no final fits and no certificates.
    n_pairs : int
        B, at least 1.
    threshold : float or None
        tau, above 0.5 and at most 1. None: the least one for `expected_low`.
    expected_low : float or None
        With threshold=None, how many features of low selection probability may be expected in the
        stable set: see `Stability.expected_low`.
    assume : "none", "unimodal" or "r-concave"
        What that bound assumes.
    screen : int or None
        Among how many features each model of a half chooses: those of the largest scores without
        any feature, on the rows of the half, which one pass over X finds for all halves. It is for
        millions of features, and another procedure than the estimator: where columns are
        correlated it chooses others (benchmarks/results/stability.md). None: among all, as the
        estimator does. Groups, measures, categories, gaps and a checkpoint have no screening.
    random_state : int or None
        Of the pairs, from 0 to 2^32 - 1; None draws others every time.

    Attributes
    ----------
    stability_ : the `Stability`: frequencies of all features that a half chose, bounds, the index.
    threshold_ : tau.
    support_ : the stable set, ascending; of groups all features of the stable ones. `get_support`,
        `transform` and `get_feature_names_out` are of it. It may be empty.
    expected_low_ : the bound at `threshold_`.

    Notes
    -----
    Halves have the classes (censored and uncensored times) in equal shares: the guarantee is then
    for rows that are drawn independently within each class, and half of each class. Numbers are not
    stratified. Rows of weight 0 are left out; other weights go with their rows, so that a repeated
    row is one row of weight 2, not two rows that would come to both halves.

    With `groups` whole groups are drawn, and the guarantee is for groups that are drawn
    independently: half of those of each class, and of those with samples of several classes. Halves
    then differ in their number of rows.

    A half on which covariates determine the target of some rows alone, or which has a covariate or
    a forced feature that is constant there, has no model: its pair is left out, with a warning, and
    selection probabilities and bounds are those of halves that have one.

    Raises
    ------
    ValueError
        Where the threshold is not in (0.5, 1], a class has one row, the rows have fewer different
        pairs than n_pairs, k is not below the number of rows of a half or above what may be chosen
        there, no threshold has the bound, no pair is left of which both
        halves have a model, or as by `fit` of the estimator.

    Source
    ------
    Shah and Samworth, Variable selection with error control: another look at stability selection,
    Journal of the Royal Statistical Society B 75 (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import BudgetRegressor
    >>> from zeronorm.inference import StabilitySelection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 400))
    >>> y = X[:, 3] + X[:, 5] - X[:, 7] + 0.3 * rng.standard_normal(100)
    >>> selection = StabilitySelection(BudgetRegressor(5), threshold=0.9).fit(X, y)
    >>> selection.support_, round(selection.expected_low_, 3)
    (array([3, 5, 7]), 0.078)
    """

    estimator: Any = field(kw_only=False)
    n_pairs: int = field(default=50, kw_only=False)
    threshold: float | None = 0.75
    expected_low: float | None = None
    assume: Literal["none", "unimodal", "r-concave"] = "none"
    screen: int | None = None
    random_state: int | None = 0

    @one_blas_thread()
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        *,
        groups: Any = None,
    ) -> StabilitySelection:
        """Choose features on all half-samples, and keep the stable ones.

        X, y, sample_weight, offset : as for `fit` of the estimator.
        groups : (n_samples,) labels; samples with the same label come to the same half.
        """
        self._check()
        model: Any = clone(without_threshold(self.estimator))
        with recorded(model.checkpoint):
            data = model._read(X, y, sample_weight, offset, groups)
            whole = model._pose(data)
            if whole.is_chosen:  # once, by folds of all samples: halves differ in samples alone
                solver = whole.solver(certify=False, fit=False)
                (path, *_) = run(solver, None, model.n_threads, model._identity(data))
                known = {"C": path.C} if whole.plan.tuned else {"method": path.method}
                whole = model.set_params(**known)._pose(data)
            budget = Budget.of(model, whole)
            threshold = self._threshold(budget, self.n_pairs)
            strata = None if is_regressor(model) else model._strata(data.labels, 2)
            pairs = half_samples(
                strata, data.sample_weight, self.n_pairs, self.random_state, data.groups
            )
            halves = [rows for pair in pairs for rows in pair]
            smallest = min(rows.size for rows in halves)
            budget.check(smallest)
            found = Halves(model, data, whole, budget, halves).choices(self.screen)
        chosen, left_out = _pairs_fitted(found)
        self._left_out = left_out
        if left_out:
            threshold = self._threshold(budget, len(chosen) // 2)
        features = np.unique(np.concatenate(chosen))
        self.stability_ = Stability(
            features,
            np.array([np.isin(features, one) for one in chosen]),
            budget.n_chosen,
            budget.candidates.size,
            smallest,
            budget.unit,
            budget.names(features, data.names),
            tuple(map(str, left_out)),
        )
        stable = self.stability_.stable(threshold)
        self.threshold_ = threshold
        self.expected_low_ = self.stability_.expected_low(threshold, assume=self.assume)
        self._keep_columns(model, data, budget.columns(stable))
        return self

    def _check(self) -> None:
        """Raise where a parameter breaks a rule that no data are needed for."""
        inner = without_threshold(self.estimator)
        if not isinstance(inner, Selector):
            raise TypeError(
                "estimator must be one of zeronorm with a budget of features; got "
                f"{type(inner).__name__}.{way_out('estimator', inner)}"
            )
        validate.check_iterations("n_pairs", self.n_pairs)
        validate.check_option("assume", self.assume, ASSUMPTIONS)
        if self.screen is not None:
            validate.check_iterations("screen", self.screen)
        validate.check_seed(self.random_state)
        if (self.threshold is None) == (self.expected_low is None):
            raise ValueError(
                "threshold and expected_low are one or the other; got "
                f"threshold={self.threshold!r:.50} and expected_low={self.expected_low!r:.50}. The "
                "one that is not given is None."
            )
        if self.threshold is not None:
            check_threshold(self.threshold)
        else:
            validate.check_positive("expected_low", self.expected_low)

    def _threshold(self, budget: Budget, n_pairs: int) -> float:
        """Return the threshold for so many pairs."""
        if self.threshold is not None:
            return float(self.threshold)
        q, p = budget.n_chosen, budget.candidates.size
        bound = validate.check_positive("expected_low", self.expected_low)
        return least_threshold(q, p, bound, n_pairs, q / p, self.assume)

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the estimator."""
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags = inner.target_tags
        return tags


def _pairs_fitted(
    chosen: list[IndexArray | UnfittableError],
) -> tuple[list[IndexArray], list[UnfittableError]]:
    """Return the choices of pairs of which both halves have models, and why others have none."""
    kept: list[IndexArray] = []
    left_out = []
    for pair in zip(chosen[::2], chosen[1::2], strict=True):
        models = [one for one in pair if not isinstance(one, UnfittableError)]
        errors = [one for one in pair if isinstance(one, UnfittableError)]
        left_out += errors[:1]
        if not errors:
            kept += models
    n_pairs = len(chosen) // 2
    if not kept:
        none = f" None of {n_pairs} pairs of half-samples has models of both halves."
        raise ValueError(Message(left_out[0], none)) from left_out[0]
    if left_out:
        told = (
            f"{len(left_out)} of {n_pairs} pairs of half-samples are left out, as a half has no "
            "model; the first: "
        )
        # The level is that of whoever called fit, through its decorator.
        warnings.warn(UserWarning(Message(told, left_out[0])), stacklevel=4)
    return kept, left_out

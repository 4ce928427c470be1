"""Stability selection by complementary pairs: the features that most half-samples choose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_regressor
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from . import validate
from ._half_samples import half_samples
from ._low_probability import ASSUMPTIONS, check_threshold, least_threshold
from ._stability import Stability as Stability
from ._threads import one_blas_thread
from ._typing import IndexArray
from .checkpoints import recorded
from .designs import Rows
from .designs._operations import memory
from .designs._wrappers import measured
from .estimators._selecting import Problem, Selector
from .estimators._sparse_linear import Rowwise
from .groups import Groups
from .result import Selection
from .solvers import run_together

MEMORY_SHARE = 0.25  # of the machine, for vectors over all features of the halves of one pass
VECTORS = 8  # of float64 over all features that a half has


class StabilitySelection(MetaEstimatorMixin, SelectorMixin, BaseEstimator):  # type: ignore[misc]
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

    Raises
    ------
    ValueError
        Where the threshold is not in (0.5, 1], a class has one row, the rows have fewer different
        pairs than n_pairs, k is not below the number of rows of a half or above what may be chosen
        there, no threshold has the bound, or as by `fit` of the estimator.

    Source
    ------
    Shah and Samworth, Variable selection with error control: another look at stability selection,
    Journal of the Royal Statistical Society B 75 (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import BudgetRegressor
    >>> from zeronorm.stability import StabilitySelection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 400))
    >>> y = X[:, 3] + X[:, 5] - X[:, 7] + 0.3 * rng.standard_normal(100)
    >>> selection = StabilitySelection(BudgetRegressor(5), threshold=0.9).fit(X, y)
    >>> selection.support_, round(selection.expected_low_, 3)
    (array([3, 5, 7]), 0.078)
    """

    def __init__(
        self,
        estimator: Any,
        n_pairs: int = 50,
        *,
        threshold: float | None = 0.75,
        expected_low: float | None = None,
        assume: str = "none",
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.n_pairs = n_pairs
        self.threshold = threshold
        self.expected_low = expected_low
        self.assume = assume
        self.random_state = random_state

    @one_blas_thread
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None
    ) -> StabilitySelection:
        """Choose features on all half-samples, and keep the stable ones.

        X, y, sample_weight, offset : as for `fit` of the estimator.
        """
        self._check()
        model: Any = clone(self.estimator)
        with recorded(model.checkpoint):
            data = model._read(X, y, sample_weight, offset)
            whole = model._pose(data)
            budget = _Budget.of(model, whole)
            threshold = self._threshold(budget)
            strata = None if is_regressor(model) else model._strata(data.labels, 2)
            pairs = half_samples(strata, data.sample_weight, self.n_pairs, self.random_state)
            halves = [rows for pair in pairs for rows in pair]
            budget.check(halves[0].size)
            chosen = _choices(model, data, whole, budget, halves)
        features = np.unique(np.concatenate(chosen))
        self.stability_ = Stability(
            features,
            np.array([np.isin(features, one) for one in chosen]),
            budget.n_chosen,
            budget.candidates.size,
            halves[0].size,
            budget.unit,
            budget.names(features, data.names),
        )
        stable = self.stability_.stable(threshold)
        self.threshold_ = threshold
        self.expected_low_ = self.stability_.expected_low(threshold, assume=self.assume)
        model._keep_columns(X, data)
        model.support_ = self.support_ = budget.columns(stable)
        self._columns = model
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        return self

    def _check(self) -> None:
        """Raise where a parameter breaks a rule that no data are needed for."""
        if not isinstance(self.estimator, Selector):
            raise TypeError(
                "estimator must be one of zeronorm with a budget of features; got "
                f"{type(self.estimator).__name__}."
            )
        validate.check_iterations("n_pairs", self.n_pairs)
        validate.check_option("assume", self.assume, ASSUMPTIONS)
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

    def _threshold(self, budget: _Budget) -> float:
        """Return the threshold, before anything is fitted."""
        if self.threshold is not None:
            return float(self.threshold)
        q, p = budget.n_chosen, budget.candidates.size
        bound = validate.check_positive("expected_low", self.expected_low)
        return least_threshold(q, p, bound, self.n_pairs, q / p, self.assume)

    def transform(self, X: Any) -> Any:
        """Return the stable columns of X; a file or a design is read for them."""
        check_is_fitted(self)
        return self._columns.transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the stable features."""
        check_is_fitted(self)
        return np.asarray(self._columns.get_feature_names_out(input_features))

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(self._columns.get_support())

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the estimator."""
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags = inner.target_tags
        return tags


@dataclass(frozen=True)
class _Budget:
    """What every half chooses exactly: so many of the candidates, features or whole groups."""

    size: Any  # the key of the path
    n_chosen: int
    candidates: IndexArray  # features, or places of groups, that are not in every model
    groups: Groups | None  # where these are counted

    @classmethod
    def of(cls, model: Any, problem: Problem) -> _Budget:
        """Return the budget of an estimator, posed for all rows."""
        if len(problem.sizes) > 1:
            name = "n_features" if model.n_groups is None else "n_features and n_groups"
            raise ValueError(
                f"{name} must be one size without a criterion, as every half-sample chooses "
                f"exactly so many; got the sizes {', '.join(map(str, problem.sizes[:5]))}"
                f"{', ...' if len(problem.sizes) > 5 else ''}."
            )
        (size,), task = problem.sizes, problem.tasks[0]
        candidates = np.unique(task.features(np.flatnonzero(task.usable)))
        forced = np.unique(task.features(task.forced))
        groups = None if isinstance(size, tuple) else task.groups_of_features()
        if groups is not None:
            candidates, forced = (np.unique(groups.code[one]) for one in (candidates, forced))
        free = (size[0] if isinstance(size, tuple) else size) - forced.size
        if free < 1:
            raise ValueError(
                f"forced_features must leave something to choose; got all {forced.size} of "
                f"{size}. Ask for more."
            )
        candidates = np.setdiff1d(candidates, forced)
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
            raise ValueError(
                f"n_features must be at most {n_rows - 1} for stability, less than the {n_rows} "
                f"rows of a half-sample, which as many features fit whatever they are; got {size}."
            )

    def chosen(self, selections: Sequence[Selection]) -> IndexArray:
        """Return which of the candidates the models of a half have, ascending."""
        features = np.concatenate([one.support for one in selections])
        units = features if self.groups is None else self.groups.code[features]
        return np.intersect1d(units, self.candidates)

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


def _choices(
    model: Any, data: Rowwise, whole: Problem, budget: _Budget, halves: list[IndexArray]
) -> list[IndexArray]:
    """Return what every half chooses: as many at a time as there is memory for."""
    sizes = whole.sizes if isinstance(budget.size, tuple) else None
    if model.n_features is None and budget.groups is None:  # the default follows the usable columns
        model.set_params(n_features=budget.size)
    found: list[IndexArray] = []
    for batch in _batches(halves, whole):
        problems = list(_posed(model, data, batch, sizes, len(found)))
        solvers = [solver for one in problems for solver in one.solvers(certify=False, fit=False)]
        rows = {f"half {len(found) + place}": half for place, half in enumerate(batch)}
        identity = model._identity(data, **rows)
        paths = iter(run_together(solvers, None, model.n_threads, identity))
        for problem in problems:
            found.append(budget.chosen([next(paths)[budget.size] for _ in problem.tasks]))
    return found


def _batches(halves: list[IndexArray], whole: Problem) -> Iterator[list[IndexArray]]:
    """Yield the halves that share their passes."""
    width = whole.tasks[0].usable.size * len(whole.tasks)
    room = int(MEMORY_SHARE * min(memory(), 2.0**62) / (8.0 * VECTORS * width))
    count = max(1, min(len(halves), room))
    for first in range(0, len(halves), count):
        yield halves[first : first + count]


def _posed(
    model: Any, data: Rowwise, batch: list[IndexArray], sizes: tuple[Any, ...] | None, before: int
) -> Iterator[Problem]:
    """Yield the problem of every half; one pass over X has the scales of all of them."""
    parts = [data.rows(rows) for rows in batch]
    weights = [model._weigh(part)[0].sample_weight for part in parts]
    designs = measured(
        [(cast("Rows", part.design), one) for part, one in zip(parts, weights, strict=True)]
    )
    for number, (part, design) in enumerate(zip(parts, designs, strict=True), start=before):
        try:
            yield model._pose(replace(part, design=design), sizes)
        except ValueError as error:
            raise ValueError(
                f"{error} These are the {design.shape[0]} rows of half-sample {number}."
            ) from None


__all__ = ["Stability", "StabilitySelection"]

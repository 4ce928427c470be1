"""Stability selection by complementary pairs: the features that most half-samples choose."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_regressor

from ..core import validation as validate
from ..core.parallel import one_blas_thread
from ..core.types import IndexArray
from ..estimators.problem import Selector
from ..estimators.wrapped import way_out, without_threshold
from ..solvers import run
from ..solvers.checkpoint import recorded
from .complementary_pairs import half_samples
from .error_bounds import ASSUMPTIONS, check_threshold, least_threshold
from .half_selections import Budget, Halves
from .selectors import SelectedColumns
from .stability_record import Stability as Stability


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
    >>> from zeronorm.inference.stability import StabilitySelection
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
        screen: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.n_pairs = n_pairs
        self.threshold = threshold
        self.expected_low = expected_low
        self.assume = assume
        self.screen = screen
        self.random_state = random_state

    @one_blas_thread
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
    chosen: list[IndexArray | validate.UnfittableError],
) -> tuple[list[IndexArray], list[validate.UnfittableError]]:
    """Return the choices of pairs of which both halves have models, and why others have none."""
    kept: list[IndexArray] = []
    left_out = []
    for pair in zip(chosen[::2], chosen[1::2], strict=True):
        models = [one for one in pair if not isinstance(one, validate.UnfittableError)]
        errors = [one for one in pair if isinstance(one, validate.UnfittableError)]
        left_out += errors[:1]
        if not errors:
            kept += models
    n_pairs = len(chosen) // 2
    if not kept:
        raise ValueError(
            f"{left_out[0]} None of {n_pairs} pairs of half-samples has models of both halves."
        ) from left_out[0]
    if left_out:
        warnings.warn(
            f"{len(left_out)} of {n_pairs} pairs of half-samples are left out, as a half has no "
            f"model; the first: {left_out[0]}",
            UserWarning,
            stacklevel=4,  # whoever called fit, through its decorator
        )
    return kept, left_out


__all__ = ["Stability", "StabilitySelection"]

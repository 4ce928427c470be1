"""The number of features, or of groups, by cross-validation, for every estimator with a budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from ..core import validation as validate
from ..core.parallel import one_blas_thread
from ..estimators.folds import RULES
from ..estimators.problem import Selector
from ..estimators.sizes import AUTOMATIC, is_automatic
from ..measures import Measure
from ..solvers.checkpoint import recorded
from .chosen import ChosenModel, given_offset
from .cross_validation import cross_validate


class BudgetCV(ChosenModel):
    """A model whose number of features, or of groups, is chosen by cross-validation.

    The features of all sizes are selected inside every fold, in the same passes over X; with l_kf
    the mean loss of size k on the samples that fold f holds out, of F folds (log-loss, squared
    error, deviance, partial likelihood: see `CrossValidation.deviance`; with `scoring` or `measure`
    minus the score),

        m_k = sum_f l_kf / F,    b = argmin m_k,    d_kf = l_kf - l_bf,
        e_k = sqrt(sum_f (d_kf - m_k + m_b)^2 / (F - 1) / F),

    (of repeated folds F / R in place of the last F, see `CrossValidation.standard_error`)
    rule "1se" takes the smallest k with m_k <= m_b + e_k, and "best" takes b.

    Parameters
    ----------
    estimator : BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis or MeasureClassifier
        Its other parameters count, `n_groups` too: a number, or several or "auto" to choose among
        pairs, of which those with fewer groups are the smaller ones, then those with fewer
        features. It is not changed.
    n_features : "auto", list or range of int, or None
        The sizes to compare. "auto": 1 to 6, then 8, 10, 12, 15, 20, 25, 30, 40 and 50, as far as
        half of the rows and the columns that are not constant go. None, of whole groups: those
        that are `n_groups` of the estimator, a list, a range or "auto", the same numbers as far as
        half of the rows and the groups go.
    cv, scoring, measure, random_state : as of `cross_validate`
        Scores are the larger the better.
    rule : "1se" or "best"

    Attributes
    ----------
    n_features_, n_groups_ : the chosen size; of whole groups there is no `n_features_`, and of
        features without groups no `n_groups_`.
    best_estimator_ : the estimator fitted on all rows for all sizes (`path_` has their models), of
        which the chosen one predicts. `predict`, `score`, `transform`, `get_support` and the like,
        `support_`, `coef_`, `intercept_` and `classes_` are its own.
    validation_ : the `CrossValidation`: sizes, scores (n_sizes, n_folds), mean, standard error. The
        score of the chosen size is a little too good, as the folds chose it: where that matters,
        `zeronorm.model_selection.nested.nested_cross_validate` scores the choice with the rest.

    Raises
    ------
    ValueError
        As by `fit` of the estimator and by `cross_validate`, and where `cv` gives one fold only.

    Source
    ------
    Breiman, Friedman, Olshen and Stone, Classification and regression trees, 1984, section 3.4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import BudgetCV, BudgetRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 400))
    >>> y = X[:, 3] + X[:, 5] - X[:, 7] + 0.3 * rng.standard_normal(100)
    >>> search = BudgetCV(BudgetRegressor()).fit(X, y)
    >>> search.n_features_, search.support_
    (3, array([3, 5, 7]))
    """

    def __init__(
        self,
        estimator: Any,
        n_features: str | Sequence[int] | None = "auto",
        *,
        cv: Any = 5,
        scoring: Any = None,
        measure: str | Measure | None = None,
        rule: str = "1se",
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.n_features = n_features
        self.cv = cv
        self.scoring = scoring
        self.measure = measure
        self.rule = rule
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
    ) -> BudgetCV:
        """Choose the size, and fit the model on all rows.

        X, y, sample_weight, offset, groups : as for `fit` of the estimator. After a fit with an
            offset `predict` and `score` need one, too.
        """
        model = self._model()
        given = given_offset(offset)
        given |= {} if groups is None else {"groups": groups}
        file = self.estimator.checkpoint
        # One file has the folds and the fit.
        model.checkpoint = None  # published classes have no such parameter
        with recorded(file):
            self.validation_ = cross_validate(
                model, X, y, cv=self.cv, sample_weight=sample_weight, measure=self.measure,
                scoring=self.scoring, random_state=self.random_state, **given,
            )  # fmt: skip
            size = self.validation_.choose(self.rule)
            model.set_params(**_budgets(model, self.validation_.sizes))
            model.fit(X, y, sample_weight, **given)
        model._keep_size(size)
        model.checkpoint = file
        self.best_estimator_ = model
        for name in ("n_features", "n_groups"):
            self.__dict__.pop(f"{name}_", None)
        for name, chosen in _budgets(model, [size]).items():
            setattr(self, f"{name}_", chosen[0])
        self._keep_names()
        return self

    def _model(self) -> Any:
        """Return the estimator with the sizes to compare, not fitted; check all but the data."""
        validate.check_option("rule", self.rule, RULES)
        if not isinstance(self.estimator, Selector):
            raise TypeError(
                "estimator must be one of zeronorm with a budget of features; got "
                f"{type(self.estimator).__name__}."
            )
        model = clone(self.estimator)
        name = "n_features"
        wanted: Any = self.n_features
        if wanted is None and getattr(model, "feature_groups", None) is not None:
            name, wanted = "n_groups", model.n_groups
        if not is_automatic(wanted):
            if validate.dimensions(wanted) == 0:
                raise ValueError(
                    f"{name} must be 'auto' or a list or range of sizes to compare; got "
                    f"{wanted!r}. For one size fit the estimator itself."
                )
            wanted = list(wanted)
        return model.set_params(**{name: wanted})


def automatic_budgets(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, offset: Any = None
) -> dict[str, list[int]]:
    """Return the parameters that are "auto", with the numbers that are worth comparing.

    estimator : with a budget of features; it is not changed.
    """
    data = estimator._read(X, y, sample_weight, offset)
    sizes = None
    if data.design.shape[1] > 2 * AUTOMATIC[-1]:  # else constant columns may matter
        sizes = estimator._sizes_of_folds(data)
    budgets = _budgets(estimator, estimator._pose(data).sizes if sizes is None else sizes)
    return {name: each for name, each in budgets.items() if is_automatic(getattr(estimator, name))}


def _budgets(model: Any, sizes: Sequence[Any]) -> dict[str, list[int]]:
    """Return the parameters of an estimator that some sizes are of, and their numbers, growing."""
    both = "n_features", "n_groups"
    names = [name for name in both if getattr(model, name, None) is not None]
    rows = [size if isinstance(size, tuple) else (size,) for size in sizes]
    return {
        name: sorted({int(number) for number in numbers})
        for name, numbers in zip(names, zip(*rows, strict=True), strict=False)
    }


__all__ = ["AUTOMATIC", "BudgetCV", "automatic_budgets"]

"""The number of features by cross-validation, for every estimator with a budget of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from . import validate
from ._folds import RULES
from ._threads import one_blas_thread
from .checkpoints import recorded
from .estimators._chosen import ChosenModel
from .estimators._selecting import Selector
from .estimators._sizes import AUTOMATIC, is_automatic
from .measures import Measure
from .model_selection import cross_validate


class BudgetCV(ChosenModel):
    """A model whose number of features is chosen by cross-validation.

    The features of all sizes are selected inside every fold, in the same passes over X; with s_kf
    the score of size k on the rows that fold f holds out, of F folds,

        m_k = sum_f s_kf / F,    e_k = sqrt(sum_f (s_kf - m_k)^2 / (F - 1) / F),    b = argmax m_k,

    (of repeated folds F / R in place of the last F, see `CrossValidation.standard_error`)
    rule "1se" takes the smallest k with m_k >= m_b - e_b, and "best" takes b.

    Parameters
    ----------
    estimator : BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis or MeasureClassifier
        Its other parameters count, `n_groups` too; it is not changed.
    n_features : "auto", or list or range of int
        The sizes to compare. "auto": 1 to 6, then 8, 10, 12, 15, 20, 25, 30, 40 and 50, as far as
        half of the rows and the columns that are not constant go.
    cv, scoring, measure, random_state : as of `cross_validate`
        Scores are the larger the better.
    rule : "1se" or "best"

    Attributes
    ----------
    n_features_ : the chosen size.
    best_estimator_ : the estimator fitted on all rows for all sizes (`path_` has their models), of
        which the chosen one predicts. `predict`, `score`, `transform`, `get_support` and the like,
        `support_`, `coef_`, `intercept_` and `classes_` are its own.
    validation_ : the `CrossValidation`: sizes, scores (n_sizes, n_folds), mean, standard error. The
        score of the chosen size is a little too good, as the folds chose it: where that matters,
        `zeronorm.nested.nested_cross_validate` scores the choice with the rest.

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
        n_features: str | Sequence[int] = "auto",
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> BudgetCV:
        """Choose the size, and fit the model on all rows.

        X, y, sample_weight, offset : as for `fit` of the estimator.
        """
        model = self._model()
        given = {} if offset is None else {"offset": offset}
        file = self.estimator.checkpoint
        # One file has the folds and the fit.
        model.set_params(checkpoint=None)
        with recorded(file):
            self.validation_ = cross_validate(
                model, X, y, cv=self.cv, sample_weight=sample_weight, measure=self.measure,
                scoring=self.scoring, random_state=self.random_state, **given,
            )  # fmt: skip
            size = self.validation_.choose(self.rule)
            model.set_params(n_features=numbers_of_features(self.validation_.sizes))
            model.fit(X, y, sample_weight, **given)
        model._keep_size(size)
        model.set_params(checkpoint=file)
        self.best_estimator_ = model
        self.n_features_ = int(size[0] if isinstance(size, tuple) else size)
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
        wanted: Any = self.n_features
        if not is_automatic(wanted):
            if validate.dimensions(wanted) == 0:
                raise ValueError(
                    "n_features must be 'auto' or a list or range of sizes to compare; got "
                    f"{wanted!r}. For one size fit the estimator itself."
                )
            wanted = list(wanted)
        return clone(self.estimator).set_params(n_features=wanted)


def automatic_sizes(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, offset: Any = None
) -> tuple[int, ...]:
    """Return the sizes that are worth comparing: no more than half of the rows, or all columns.

    estimator : with a budget of features; it is not changed.
    """
    model = clone(estimator).set_params(n_features="auto")
    data = model._read(X, y, sample_weight, offset)
    sizes = None
    if data.design.shape[1] > 2 * AUTOMATIC[-1]:  # else constant columns may matter
        sizes = model._sizes_of_folds(data)
    return tuple(numbers_of_features(model._pose(data).sizes if sizes is None else sizes))


def numbers_of_features(sizes: Sequence[Any]) -> list[int]:
    """Return the numbers of features among sizes, which may be pairs of them and of groups."""
    return sorted({int(size[0] if isinstance(size, tuple) else size) for size in sizes})


__all__ = ["AUTOMATIC", "BudgetCV", "automatic_sizes"]

"""The budgets of features and groups by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from ..core import validation as validate
from ..core.parallel import one_blas_thread
from ..estimators.budget import BudgetClassifier
from ..estimators.budget_regressor import BudgetRegressor
from ..estimators.cross_validation import standard_error
from ..estimators.folded import Folded
from ..estimators.folds import EQUAL, RULES, best_and_near, check_fold, repeats_of, splits
from ..estimators.survival import BudgetSurvivalAnalysis
from ..solvers.l1.held_out import LOWER
from .bilevel_scores import Judge, scoring_of
from .chosen import ChosenModel, given_offset


class BilevelCV(ChosenModel):
    """A bi-level model, of any loss, whose two numbers are chosen by cross-validation.

    All pairs of the grid are selected and fitted inside every fold, from the same scans of X: the
    models of a fold share their candidates, and the scans of all folds are one pass. No data are
    copied.

    Parameters
    ----------
    estimator : BudgetClassifier, BudgetRegressor or BudgetSurvivalAnalysis with groups
        Its other parameters count; it is not changed.
    n_features, n_groups : lists or ranges of int
        The grid. Of pairs with fewer features than groups one is enough: the group budget is slack.
    cv : int, splitter or iterable of (train, test)
        Folds, in each of which classes or events are in equal shares; splitters and pairs number
        all rows of X.
    scoring : str or None
        What is averaged over the held-out rows: of a classifier "log_loss", "accuracy" or "auc"; of
        a regressor "squared_error", or "deviance", twice the loss, with the width of Huber's and of
        quantiles that all rows have, both over all responses; of survival times "deviance", what
        the rows add to that of the others, per event, or "c_index". None: "log_loss" of a
        classifier ("accuracy" where it gives no probabilities), "squared_error" of least squares,
        "deviance" of other losses.
    rule : str
        - "1se": the smallest model whose mean score is within one standard error of the best one:
          the fewest groups, then the fewest features.
        - "best": the pair with the best mean score, the smallest of equal ones.
    random_state : int or None
        Of the shuffle of the folds, from 0 to 2^32 - 1; None: another one at every fit.

    Attributes
    ----------
    n_features_, n_groups_ : the budgets that were chosen.
    best_estimator_ : the estimator fitted with them on all rows. `predict`, `score`, `transform`,
        `get_support` and the like, `support_`, `groups_`, `coef_`, `intercept_` and `classes_` are
        its own.
    sizes_ : list of the pairs (n_features, n_groups), fewest groups first.
    scores_ : (n_sizes, n_folds).
    mean_score_, standard_error_ : (n_sizes,); the error is the standard deviation over the folds,
        divided by the root of their number, repeats not counted, as of `CrossValidation`.

    Raises
    ------
    ValueError
        As by `fit` of the estimator, and where `cv` gives fewer than two folds.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import BilevelCV, BudgetRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.standard_normal((100, 40)), np.repeat(np.arange(8), 5)
    >>> y = X[:, 10] + X[:, 12] - X[:, 30] + 0.1 * rng.standard_normal(100)
    >>> model = BudgetRegressor(feature_groups=groups)
    >>> search = BilevelCV(model, range(1, 7), range(1, 4)).fit(X, y)
    >>> search.n_features_, search.n_groups_
    (3, 2)
    """

    def __init__(
        self,
        estimator: Any,
        n_features: Sequence[int],
        n_groups: Sequence[int],
        *,
        cv: Any = 5,
        scoring: str | None = None,
        rule: str = "1se",
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.n_features = n_features
        self.n_groups = n_groups
        self.cv = cv
        self.scoring = scoring
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
    ) -> BilevelCV:
        """Choose the budgets, and fit the model with them on all rows.

        X, y, sample_weight, offset, groups : as for `fit` of the estimator. After a fit with an
            offset `predict` and `score` need one, too.
        """
        scoring = self._check_parameters()
        grid = {name: _listed(name, getattr(self, name)) for name in ("n_features", "n_groups")}
        model = clone(self.estimator).set_params(**grid)
        # Rows of weight 0 stay until the splits are known, as these number all rows.
        data = model._read(X, y, None, offset, groups)
        weight = validate.check_sample_weight(sample_weight, len(data.labels))
        data = replace(data, sample_weight=weight)
        labels, classify = data.labels, is_classifier(model)
        strata = labels if is_regressor(model) else model._strata(labels, self.cv)
        folds = splits(
            strata, weight, self.cv, self.random_state, several=True,
            stratify=not is_regressor(model), groups=data.groups,
        )  # fmt: skip
        judge = Judge(model, scoring, data)
        every = np.unique(labels[weight > 0]) if classify else labels[:0]
        for number, (train, test) in enumerate(folds):
            if classify:
                check_fold(number, every, labels[train], labels[test], scoring)
            judge.check(number, test)
        folded = Folded.pose(model, data, folds)
        sizes = sorted(folded.sizes, key=lambda size: (size[1], size[0]))
        scores = np.empty((len(sizes), len(folds)))
        for number, (fold, paths) in enumerate(zip(folds, folded.run(), strict=True)):
            classes = folded.problems[number].classes
            for row, size in enumerate(sizes):
                scores[row, number] = judge.score([path[size] for path in paths], fold, classes)
        self.sizes_, self.scores_ = sizes, scores
        self.mean_score_ = scores.mean(axis=1)
        self.standard_error_ = standard_error(scores, repeats_of([test for _, test in folds]))
        mean = -self.mean_score_ if scoring in LOWER else self.mean_score_
        slack = EQUAL * max(1.0, float(np.abs(mean).max(initial=0.0, where=np.isfinite(mean))))
        best, near = best_and_near(mean, self.standard_error_, slack)
        self.n_features_, self.n_groups_ = sizes[near if self.rule == "1se" else best]
        self.best_estimator_ = clone(self.estimator).set_params(
            n_features=self.n_features_, n_groups=self.n_groups_
        )
        self.best_estimator_.fit(X, y, sample_weight, **given_offset(offset), groups=groups)
        self._keep_names()
        return self

    def _check_parameters(self) -> str:
        """Return what scores held-out rows."""
        budgets = BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis
        if not isinstance(self.estimator, budgets) or "n_groups" not in self.estimator.get_params():
            raise TypeError(
                "estimator must be a BudgetClassifier, a BudgetRegressor or a "
                f"BudgetSurvivalAnalysis; got {type(self.estimator).__name__}."
            )
        validate.check_option("rule", self.rule, RULES)
        validate.check_seed(self.random_state)
        return scoring_of(self.estimator, self.scoring)

    @property
    def groups_(self) -> np.ndarray:
        """The labels of the groups of the selected features."""
        return np.asarray(self._best.groups_)


def _listed(name: str, values: Any) -> list[Any]:
    """Return the numbers of one side of the grid."""
    if validate.dimensions(values) == 0:
        raise ValueError(f"{name} must be a list or range of integers; got {values!r}.")
    return list(values)

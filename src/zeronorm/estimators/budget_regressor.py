"""The front door of selection for numbers, counts and positive numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Tags

from ..core import validation as validate
from ..losses import NumericLoss, Responses
from ..methods import names_of
from .budget_selection import BudgetSelection
from .linear import LinearRegressor
from .parameters import with_parameters
from .problem import Problem
from .rowwise import Rowwise


@with_parameters
class BudgetRegressor(BudgetSelection, LinearRegressor):
    """A regression on exactly k features, whole groups, or features in few groups.

        min_{u, b}  1/2 ||u||^2 + C sum_i s_i f(y_i, x_i'u + b + o_i)   subject to the budget

    on the selection scaling, with f the loss and o offsets that are known. Budgets, methods and
    certificates are those of `BudgetClassifier`, whose twin this is.

    Parameters
    ----------
    n_features, n_groups, feature_groups, method, forced_features, signs, forced_groups, covariates,
    fit_intercept, standardize, criterion, tol, warm_start, n_threads,
    checkpoint
        As in `BudgetClassifier`.
    loss : "least_squares", "huber", "quantile", "poisson", "gamma", or a loss
        What is small in the best model. "huber" is least squares that outliers pull less at;
        "quantile" the median, or with `losses.Quantile(0.9)` another quantile, smoothed; "poisson"
        is of counts, y >= 0, and "gamma" of positive numbers, both with the mean exp(x_i'u + b).
        A loss of your own is a `losses.NumericLoss`, which `losses.check_loss` tests.
    C : "auto" or float
        Weight of the summed loss during selection. "auto" chooses one C for all sizes of the fit:

            C m in {0.001, 0.01, 0.1, 1, 10},   m = sum_i f''_i / sum_i s_i

        with f''_i the curvature of sample i in the model without features (m is 1 for least
        squares, and the mean count for "poisson"). Five folds repeat the whole selection with each
        C. The C with the largest log-likelihood of the held-out samples, summed over sizes,
        selects on all samples; `C_` is its value. A fold has its share of small and large targets,
        holds all copies of a sample, and keeps `groups` of samples together. Where folds are
        impossible C m is 0.1: fewer than 10 different samples, one group of samples, or no column
        that varies in a fold. "greedy" and "l1" select without C; 0.1 (1 for "quantile") is that of
        their certificate. "bilevel" has no folds: 1, and inf for least squares, which alone can do
        without a ridge. Where that many features fit all different rows exactly, many supports do
        without one, and rounding chooses among them: a finite C has one best of them.
    refit_C : "auto", "loo", float or None
        C of the final fit on the scaling of X; "loo" chooses by the approximate leave-one-out loss,
        which is exact for least squares, as in `BudgetClassifier`. "auto": "loo", and None for
        "bilevel".
    calibrate : "auto" or bool
        Whether the models of a fit are scaled, one number a for each size: the coefficients times
        a, with the intercept and the effects of covariates fitted anew. With z the margins of the
        samples that the folds of C hold out, and z_0 those of the model without features,

            a = argmin over [0.02, 1.2] of  l(z_0 + a (z - z_0)) + (a - 1)^2 / 2

        with l minus the log-likelihood. The second term, a normal prior, keeps a near 1 where there
        are few samples. "auto": with C="auto". Where folds are impossible, and for "bilevel",
        nothing is scaled.

    Attributes
    ----------
    As of `BudgetClassifier`, `C_`, `method_` and `path_[k].scale` among them, without those of
    classes (`cv_log_loss` is NaN); coef_ is (n_columns,) and intercept_ a
    number, of several responses (n_responses, n_columns) and (n_responses,). `criteria_` counts
    minus the log-likelihood up to constants: of least squares and "huber" n/2 log(RSS/n), of
    "quantile" n log(mean loss), of "gamma" that of the likeliest shape.

    References
    ----------
    Bertsimas, King and Mazumder, Best subset selection via a modern optimization lens, Annals of
    Statistics 44(2), 2016. Of "bilevel": Xiang, Yang and Ye, Simultaneous feature and feature group
    selection through hard thresholding, KDD 2014. Of folds that repeat the whole selection:
    Ambroise and McLachlan, Selection bias in gene extraction on the basis of microarray
    gene-expression data, PNAS 99(10), 2002. Of the scale: van Houwelingen and Le Cessie, Predictive
    value of statistical models, Statistics in Medicine 9(11), 1990.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import BudgetRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.standard_normal((100, 40)), np.repeat(np.arange(8), 5)
    >>> y = X[:, 10] + X[:, 12] - X[:, 30] + 0.1 * rng.standard_normal(100)
    >>> model = BudgetRegressor(n_features=3, method="l0").fit(X, y)
    >>> model.support_.tolist(), model.certificate_.loss
    ([10, 12, 30], 'least_squares')
    >>> model = BudgetRegressor(n_features=3, n_groups=2, feature_groups=groups).fit(X, y)
    >>> model.support_.tolist(), model.groups_.tolist()
    ([10, 12, 30], [2, 6])
    """

    loss: str | NumericLoss = "least_squares"
    fit_intercept: bool = True

    def _target(self, y: Any, n_samples: int) -> np.ndarray:
        columns = validate.responses(y)
        if columns is None:
            return super()._target(y, n_samples)
        return np.column_stack(
            [super(BudgetRegressor, self)._target(one, n_samples) for one in columns]
        )

    def _pose(self, data: Rowwise, sizes: tuple[Any, ...] | None = None) -> Problem:
        if data.labels.ndim == 1:
            return super()._pose(data, sizes)
        data, unit = self._weigh(data)
        plan, q = self._plan(), data.labels.shape[1]
        if not plan.method.shares:
            raise ValueError(
                "several responses share their features by the methods "
                f"{names_of(lambda one: one.shares)}; got "
                f"method={plan.method.name!r} for y of {q} columns. Fit a model for each column "
                "for the others."
            )
        outputs = Responses(plan.loss, q, plan.fit_intercept)
        return plan.pose(data, [data.labels.T.ravel()], None, unit, sizes, outputs)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: several responses, where the method can select for all of them."""
        tags = super().__sklearn_tags__()
        try:
            tags.target_tags.multi_output = self._plan().method.shares
        except ValueError:  # parameters break a rule, as fit will say
            tags.target_tags.multi_output = True
        return tags

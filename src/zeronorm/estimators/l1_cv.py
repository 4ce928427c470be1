"""The l1 estimators with their C chosen by cross-validation, all folds in the same passes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import validation as validate
from ..core.types import Likelihood
from ..solvers.l1.held_out import CLASSIFIED, SCORES, HeldOut, deviance_of, multinomial_log_loss
from .folds import check_fold
from .l1_folds import Fold, L1Folds
from .l1_problem import probabilities, shares
from .linear import LinearClassifier, LinearRegressor
from .parameters import with_parameters


@with_parameters
class L1ClassifierCV(L1Folds, LinearClassifier):
    """l1-regularised logistic regression (or squared hinge), C chosen by cross-validation.

        min_{w, b}  sum_j p_j (r |w_j| + (1 - r)/2 w_j^2) + C sum_i s_i f(y_i, x_i'w + b)

    as in `L1Classifier`, for every C of a growing grid; the model is that of the chosen C.
    Several classes are one-versus-rest with one C for all.

    A fold is a set of weights: the rows that it holds out get the weight 0. No data are copied, the
    paths of all folds, classes and of the whole data run side by side, and their scans are merged:
    X is read as often as the longest of them needs. Everything that depends on data is done in each
    fold, standardisation and "balanced" class weights too. The weights of the training rows are
    scaled to the total of all rows, so that at one C loss and penalty have the same balance: a fold
    with the share q of the weight is the problem of `L1Classifier(C / q)` on its rows.

    Parameters
    ----------
    Cs : int or (n_Cs,)
        As for `l1_path`: so many values (at most 10,000) in geometric progression, from the C
        below which no feature enters to 100 times that where X has fewer rows than columns, else
        1e4 times; or these values, growing. So many values end early where 1e-3 of the loss is
        left (for every class).
    cv : int, scikit-learn splitter, or (train, test) pairs of row numbers
        So many stratified folds of the rows of positive weight; the others number all rows of X.
        A row that is twice in a train counts twice.
    scoring : str
        Of the held-out rows, with their sample weights.

        - "log_loss": mean -log of the probability of the true class; the smaller the better.
        - "accuracy"
        - "auc": area under the ROC curve, for two classes.
    rule : str
        - "1se": the smallest C whose mean score is within one standard error of the best one.
        - "best": the C with the best mean score, the smallest of equal ones.
    random_state : int or None
        Of the shuffle of stratified folds, from 0 to 2^32 - 1; None shuffles in another way at
        every fit.
    l1_ratio, loss, penalty_factor, signs, fit_intercept, standardize, multi_class, class_weight,
    tol, max_iter, n_threads, checkpoint : as for `L1Classifier`; tol and max_iter hold at every C.

    Attributes
    ----------
    C_ : C of the model, `C_best_` or `C_1se_` by the rule.
    Cs_ : (n_Cs,) growing.
    scores_ : (n_Cs, n_folds).
    mean_score_, standard_error_ : (n_Cs,) over the folds; the error is their standard deviation
        divided by the root of their number.
    n_selected_ : (n_Cs,) features with a coefficient (in any class) of the solutions on all data.
    l1_path_ : `L1Path` of all data.
    support_, coef_, intercept_, classes_, objective_, dual_gap_ : as for `L1Classifier`.
    n_iter_ : passes of the path of all data; the most of any class.
    history_ : a `Step` per pass at C_.
    n_scans_ : passes over X for scores and certificates, of all folds and classes.
    seconds_ : by phase.

    With three or more classes l1_path_, objective_ and history_ are tuples, one entry for each
    class against the rest in the order of `classes_`; with "multinomial" there is one problem, and
    l1_path_ alone has an entry for the coefficients of each class.

    Warns
    -----
    ConvergenceWarning
        Where the model of C_ stopped at a gap of more than twice `tol` (and more than 1e-9).

    References
    ----------
    Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models via
    coordinate descent, Journal of Statistical Software 33, 2010.

    Examples
    --------
    >>> from zeronorm import L1ClassifierCV
    >>> from zeronorm.datasets import load_golub
    >>> X, y = load_golub(return_X_y=True)
    >>> model = L1ClassifierCV(standardize=True).fit(X, y)
    >>> model.C_1se_ <= model.C_best_
    True
    """

    scoring: str = "log_loss"
    loss: str = "logistic"
    fit_intercept: bool = True
    multi_class: str = "ovr"
    class_weight: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        validate.check_option("scoring", self.scoring, CLASSIFIED)
        if self.scoring == "log_loss" and self._score_loss != "logistic":
            raise ValueError(
                f"scoring='log_loss' needs loss='logistic'; got {self.loss!r}, whose scores are no "
                "log-odds. Use scoring='accuracy' or 'auc'."
            )

    _probabilities = probabilities

    @property
    def _score_loss(self) -> str:
        return self._loss().name

    def _shared_by_folds(self, labels: np.ndarray) -> np.ndarray | None:
        """Return what folds have in equal shares: the labels."""
        return labels

    def _held_out(self, fold: Fold, classes: Any, loss: Likelihood) -> HeldOut:
        """Return what scores the rows that a fold holds out."""
        labels, test = fold.data.labels, fold.test
        check_fold(fold.number, classes, labels[fold.learnt], labels[test], self.scoring)
        codes, judge = np.searchsorted(classes, labels[test]), SCORES[self.scoring]
        if self.scoring == "log_loss" and shares(self, len(classes)):
            judge = multinomial_log_loss
        return HeldOut(test, len(fold.targets), lambda margins: judge(margins, codes, fold.weight))


@with_parameters
class L1RegressorCV(L1Folds, LinearRegressor):
    """Least squares with an l1 or elastic net penalty, C chosen by cross-validation.

        min_{w, b}  sum_j p_j (r |w_j| + (1 - r)/2 w_j^2) + C sum_i s_i 1/2 (y_i - x_i'w - b)^2

    as in `L1Regressor`, for every C of a growing grid; the model is that of the chosen C. All folds
    and the whole data are followed in the same passes over X, as in `L1ClassifierCV`, whose twin
    this is. The score is the mean squared error of the held-out rows, with their sample weights; of
    other losses the mean deviance, twice the loss, with the width of Huber's and of quantiles that
    follows from all rows.

    Parameters
    ----------
    Cs, rule, random_state
        As in `L1ClassifierCV`.
    cv : int, scikit-learn splitter, or (train, test) pairs of row numbers
        So many folds of the rows of positive weight; the others number all rows of X.
    l1_ratio, loss, penalty_factor, signs, fit_intercept, standardize, tol, max_iter, n_threads,
    checkpoint
        As in `L1Regressor`; tol and max_iter hold at every C.

    Attributes
    ----------
    As of `L1ClassifierCV`, without those of classes; coef_ is (n_columns,) and intercept_ a number.

    Warns
    -----
    ConvergenceWarning
        Where the model of C_ stopped at a gap of more than twice `tol` (and more than 1e-9).

    References
    ----------
    Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models via
    coordinate descent, Journal of Statistical Software 33, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import L1RegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 40))
    >>> y = X[:, 10] + X[:, 12] - X[:, 30] + 0.1 * rng.standard_normal(100)
    >>> model = L1RegressorCV().fit(X, y)
    >>> set([10, 12, 30]) <= set(model.support_.tolist())
    True
    >>> model.mean_score_.min() < 0.1
    np.True_
    """

    loss: Any = "least_squares"
    fit_intercept: bool = True

    @property
    def scoring(self) -> str:
        """What held-out rows are scored by."""
        return "squared_error" if self._loss().name == "least_squares" else "deviance"

    def _shared_by_folds(self, labels: np.ndarray) -> np.ndarray | None:
        """Return what folds have in equal shares: nothing."""
        return None

    def _held_out(self, fold: Fold, classes: Any, loss: Likelihood) -> HeldOut:
        """Return what scores the rows that a fold holds out."""
        (target,), test, weight = fold.targets, fold.test, fold.weight
        target = target[test]
        if self.scoring == "squared_error":
            judge = SCORES["squared_error"]
            return HeldOut(test, 1, lambda margins: judge(margins, target, weight))
        seen = weight if fold.exposure is None else weight * fold.exposure[test]
        return HeldOut(test, 1, deviance_of(loss, target, seen, float(weight.sum())))

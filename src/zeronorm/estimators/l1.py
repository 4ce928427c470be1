"""l1-regularised linear models, at one C or with exactly k features."""

from __future__ import annotations

from typing import Any

from .l1_problem import L1Model, probabilities
from .linear import LinearClassifier, LinearRegressor
from .parameters import with_parameters


@with_parameters
class L1Classifier(L1Model, LinearClassifier):
    """Logistic regression (or squared hinge) with an l1 or elastic net penalty.

        min_{w, b}  sum_j p_j (r |w_j| + (1 - r)/2 w_j^2) + C sum_i s_i f(y_i, x_i'w + b)

    with p `penalty_factor`, r `l1_ratio`, s the sample weights times the class weights, and

        f(y, z) = log(1 + exp(-y z))  or  1/2 max(0, 1 - y z)^2

    (LIBLINEAR's squared hinge has no factor 1/2: its C is half of this). b is never penalised, and
    0 with `fit_intercept=False`. Most w_j are exactly zero: the others are the selected features,
    more of them for a larger C. Several classes are one-versus-rest, their scans merged.

    The solvers stop by a certified duality gap: the objective is within `dual_gap_`, as a share of
    the objective of the model without features, of the best possible.

    With `n_features=k` C is found instead: the largest one whose solution has at most k features.
    Mostly it has exactly k. Where several enter together (equal columns do), so that no C gives k,
    the features in before them are completed by those that are drawn in most, and the solution is
    the best one over these k. For each of several classes. As the penalty that selects also
    shrinks, the model is then a refit of these k features, with the same loss and

        min_{w, b}  1/2 ||w||^2 + refit_C sum_i s_i f(y_i, x_i'w + b)

    Parameters
    ----------
    C : float
        Weight of the summed loss: the 1 / (n_samples lambda) of packages with a mean loss. Not used
        with `n_features`.
    n_features : int or None
        k, of every class where there are several; constant columns do not count (unless there is
        neither an intercept nor standardisation). The path of solutions is followed to C, in some
        five passes over X for every doubling of C.
    refit_C : "loo", float or None
        C of the refit on the scaling of X, as in `BudgetClassifier`; "loo" chooses by approximate
        leave-one-out loss. None: no refit, the model is the l1 solution. Only with `n_features`:
        without, the model is always the l1 solution. The refit keeps the signs.
    l1_ratio : float
        r, in (0, 1]; 1 is the l1 penalty alone.
    loss : "logistic" or "squared_hinge"
        The latter is a support vector machine, without `predict_proba`.
    penalty_factor : (n_features,) or None
        p, finite and not negative, by default 1. A feature with 0 is never penalised.
    signs : (n_features,), a number or None
        -1, 0 or +1: w_j <= 0, free, w_j >= 0; one number is for all features. With several classes
        for each of their problems.
    fit_intercept : bool
        Whether b is free.
    standardize : bool
        Whether w_j is penalised as if column j had standard deviation 1 (weighted by s); then
        constant columns are never selected. X is not changed, and `coef_` is for X as it is.
    multi_class : "ovr" or "multinomial"
        Of three or more classes: one against the rest, a problem for each, or one problem with the
        loss -log of the probability e^(x'w_c + b_c) / sum_o e^(x'w_o + b_o) of the class c of a
        row, and the penalty on every coefficient of every class: glmnet's "ungrouped". Not with
        `n_features`, for which `BudgetClassifier` shares its features among the classes.
    class_weight : dict, "balanced" or None
    tol : float
        The certified gap to stop at, relative to the objective of the model without features; at
        most 1.
    max_iter : int
        The most iterations; each ends with a pass over all features.
    warm_start : bool
        Whether to begin at the previous solution, where classes and number of features agree. Not
        used with `n_features`: a path has its own begin.
    n_threads : int or None
        Threads of passes over X; all allowed ones by default.
    checkpoint : path-like or None
        A file that keeps every pass over the data: a killed fit goes on from it, see `Checkpoint`.

    Attributes
    ----------
    support_ : sorted indices of the features with a coefficient that is not zero (in any class).
        With `n_features` exactly k (in each class), also where one of them has a coefficient of 0.
    coef_, intercept_ : the model on all features, (1 or n_classes, n_features_in_): the refit where
        there is one, else the l1 solution.
    classes_ : labels.
    refit_C_ : C of the refit; only where there is one.

    What follows is of the l1 problem, also where there is a refit:

    C_ : C of the solution; with `n_features` the one found.
    objective_ : value of the problem at C_.
    dual_gap_ : certified (objective - bound) / objective without features; the largest of classes.
        It is that of the problem over all features at C_, also where k of them were chosen.
    n_iter_ : iterations, at least 1; the most of any class.
    history_ : a `Step` per pass over the data, the gap in `extra`. With `n_features` passes at
        other C, which `extra` has too, come before those of the model.
    n_scans_ : passes over X for scores and certificates, those of all classes merged.
    seconds_ : by phase.

    With three or more classes refit_C_, C_, objective_ and history_ are tuples, one entry for each
    class against the rest in the order of `classes_`; with "multinomial" there is one problem.

    Warns
    -----
    ConvergenceWarning
        Where a solver stopped at a gap of more than twice `tol` (and more than 1e-9).
    UserWarning
        Where no solution has `n_features` features, and scores had to choose the others.

    References
    ----------
    Yuan, Ho and Lin, An improved GLMNET for l1-regularized logistic regression, JMLR 13, 2012.
    Massias, Gramfort and Salmon, Celer: a fast solver for the Lasso with dual extrapolation, ICML
    2018.

    Examples
    --------
    >>> from zeronorm import L1Classifier
    >>> from zeronorm.datasets import load_golub
    >>> X, y = load_golub(return_X_y=True)
    >>> model = L1Classifier(C=0.1).fit(X, y)
    >>> bool(model.dual_gap_ <= 1e-4)
    True
    >>> L1Classifier(n_features=5).fit(X, y).support_.size
    5
    """

    loss: str = "logistic"
    fit_intercept: bool = True
    multi_class: str = "ovr"
    class_weight: Any = None

    _probabilities = probabilities

    @property
    def _score_loss(self) -> str:
        return self._loss().name


@with_parameters
class L1Regressor(L1Model, LinearRegressor):
    """Least squares with an l1 or elastic net penalty: the lasso, and exactly k features of it.

        min_{w, b}  sum_j p_j (r |w_j| + (1 - r)/2 w_j^2) + C sum_i s_i 1/2 (y_i - x_i'w - b)^2

    with p `penalty_factor`, r `l1_ratio` and s the sample weights; b is never penalised, and 0 with
    `fit_intercept=False`. C is the 1 / (n_samples alpha) of packages with a mean loss, such as
    scikit-learn's `Lasso(alpha)`. All else is as in `L1Classifier`, whose twin this is: with
    `n_features=k` C is found, and the model is a refit of these k features by

        min_{w, b}  1/2 ||w||^2 + refit_C sum_i s_i 1/2 (y_i - x_i'w - b)^2

    Parameters
    ----------
    C, n_features, refit_C, l1_ratio, penalty_factor, signs, fit_intercept, standardize, tol,
    max_iter, warm_start, n_threads, checkpoint
        As in `L1Classifier`; "loo" is exact for least squares.
    loss : "least_squares", "huber", "quantile", "poisson", "gamma", or a loss
        In place of 1/2 (y - z)^2, as in `BudgetRegressor`; predictions are the means, e^margin of
        the last two. `fit` and `predict` take an `offset` of the margins.

    Attributes
    ----------
    As of `L1Classifier`, without those of classes; coef_ is (n_columns,) and intercept_ a number.

    Warns
    -----
    ConvergenceWarning
        Where the solver stopped at a gap of more than twice `tol` (and more than 1e-9).
    UserWarning
        Where no solution has `n_features` features, and scores had to choose the others.

    References
    ----------
    Tibshirani, Regression shrinkage and selection via the lasso, JRSS B 58, 1996. Massias, Gramfort
    and Salmon, Celer: a fast solver for the Lasso with dual extrapolation, ICML 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import L1Regressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 40))
    >>> y = X[:, 10] + X[:, 12] - X[:, 30] + 0.1 * rng.standard_normal(100)
    >>> model = L1Regressor(n_features=3).fit(X, y)
    >>> model.support_.tolist(), model.coef_[[10, 12, 30]].round(1).tolist()
    ([10, 12, 30], [1.0, 1.0, -1.0])
    >>> bool(L1Regressor(C=0.1).fit(X, y).dual_gap_ <= 1e-4)
    True
    """

    loss: Any = "least_squares"
    fit_intercept: bool = True

"""Cox's proportional hazards with an l1 penalty, at one C or with exactly k features."""

from __future__ import annotations

from .l1_problem import L1Model
from .parameters import with_parameters
from .survival import SurvivalModel


@with_parameters
class L1SurvivalAnalysis(L1Model, SurvivalModel):
    """Cox's proportional hazards with an l1 or elastic net penalty, and exactly k features of it.

        min_w  sum_j p_j (r |w_j| + (1 - r)/2 w_j^2) + C sum over event times t of
               [ D_t log(sum_{i: T_i >= t} s_i e^(x_i'w) / D_t) - sum_{events i at t} s_i x_i'w ]

    with p `penalty_factor`, r `l1_ratio`, s the sample weights and D_t the weight of the events at
    t: minus the logarithm of the partial likelihood, less its least value. C is the
    1 / (n_samples lambda) of glmnet, whose deviance is twice this, and the 1 / (n_samples alpha) of
    scikit-survival's `CoxnetSurvivalAnalysis`. All else is as in `L1Regressor`: with `n_features=k`
    C is found, and the model is a refit of these k features with a ridge.

    Parameters
    ----------
    C, n_features, refit_C, l1_ratio, penalty_factor, signs, standardize, tol, max_iter, warm_start,
    n_threads, checkpoint
        As in `L1Classifier`; "loo" chooses by the partial likelihood that each of five folds of the
        rows adds to that of the others.
    ties : "breslow" or "efron"
        As in `BudgetSurvivalAnalysis`.

    Attributes
    ----------
    As of `L1Classifier`, without those of classes and of the intercept; coef_ is (n_columns,), the
    log hazard ratios. unique_times_, cum_baseline_hazard_, baseline_survival_ :
        As of `BudgetSurvivalAnalysis`, whose targets and predictions these are.

    Warns
    -----
    ConvergenceWarning
        Where the solver stopped at a gap of more than twice `tol` (and more than 1e-9).
    UserWarning
        Where no solution has `n_features` features, and scores had to choose the others.

    References
    ----------
    Tibshirani, The lasso method for variable selection in the Cox model, Statistics in Medicine 16,
    1997. Simon, Friedman, Hastie and Tibshirani, Regularization paths for Cox's proportional
    hazards model via coordinate descent, Journal of Statistical Software 39(5), 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import L1SurvivalAnalysis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 40))
    >>> time = rng.exponential(np.exp(X[:, 3] - X[:, 7]))
    >>> y = np.rec.fromarrays([time < 2, np.minimum(time, 2)], names="event,time")
    >>> model = L1SurvivalAnalysis(n_features=2).fit(X, y)
    >>> model.support_.tolist(), bool(model.dual_gap_ <= 1e-4)
    ([3, 7], True)
    """

    ties: str = "breslow"

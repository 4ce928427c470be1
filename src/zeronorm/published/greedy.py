"""Forward greedy selection of features (GLR), or of groups of them (group matching pursuit)."""

from __future__ import annotations

from typing import Literal

from ..estimators import BudgetClassifier
from ..estimators.base import with_constants, with_parameters
from ..methods import Greedy, Method
from .methods import UNPUBLISHED


@with_parameters
@with_constants(loss="logistic", multi_class="ovr", **UNPUBLISHED)
class GreedyLogisticRegression(BudgetClassifier):
    """Logistic regression on exactly k features, or groups of features, by forward greedy steps.

    A step correlates what the model so far leaves unexplained, alpha_i y_i, with all columns (one
    scan of X), adds the feature with the largest |x_j'(alpha y)| / ||x_j||, and fits

        min_{u, b}  1/2 ||u||^2 + fit_C sum_i s_i log(1 + exp(-y_i (x_i'u + b)))

    over the features so far, on the selection scaling. Features in order of entry form a nested
    path: a list of sizes costs one run. Features stay once they are in, which is the weakness of
    the method, and each of them costs a scan: `BudgetClassifier` needs about seven for any k.

    With `feature_groups` a step adds a whole group G, the one whose columns, after a change to an
    orthonormal basis, have the largest ||X_G'(alpha y)||. The final model of a support is refitted
    on the scaling of X, and certified as one of so many features, or groups.

    Parameters
    ----------
    n_features : int, list or range of int, or None
        How many features, exactly; a list gives several models. None: 10, or all usable columns if
        fewer. Only without `feature_groups`.
    feature_groups : (n_features_in_,) integers or strings, a dict of lists, or None
        The label of the group of every column of X, or the columns of every group by its label.
        Constant columns of a group are left out.
    n_groups : int, list of int or None
        How many groups, exactly; a list gives several models, `path_[n_groups]`. Only with
        `feature_groups`, and needed there.
    fit_C : float
        Weight of the summed loss in the fits between steps. The published method has no penalty or
        a tiny one, `fit_C=1e8`, and often does worse where features outnumber samples by far.
    C : float
        Weight of the summed loss in the problem that is certified; the selection has no part in it.
    refit_C : "loo" or float
        C of the final fit; "loo" chooses by approximate leave-one-out log-loss.
    forced_features : list of int or str, or None
        In the model from the start (with `feature_groups`: their groups), counted in the budget.
    tol : float
        Certified gap of the fits between steps, relative to their own objective. Fits are cheap
        beside scans, and a loose one can change the next feature.
    warm_start : bool
        Whether to begin with the features of the previous fit, without scanning for them again:
        for a larger budget on the same data.
    calibrate, fit_intercept, standardize, class_weight, n_threads
        As in `BudgetClassifier`. Without `standardize` the fits are on the units of X.

    Attributes
    ----------
    As of `BudgetClassifier`. A `Step` of `history_` has the objective of its fit and a certified
    lower bound of it; `path_.order` is the order of entry.

    References
    ----------
    Tan, Tsang and Wang, Minimax sparse logistic regression for very high-dimensional feature
    selection, IEEE TNNLS 24(10), 2013 (GLR, one of its baselines).

    Lozano, Swirszcz and Abe, Group orthogonal matching pursuit for logistic regression,
    AISTATS 2011.

    Examples
    --------
    >>> from zeronorm.published import GreedyLogisticRegression
    >>> from zeronorm.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = GreedyLogisticRegression(n_features=3).fit(X, y)
    >>> len(model.path_.order)
    3
    """

    fit_C: float = 0.1
    C: float = 0.1
    refit_C: float | Literal["auto", "loo"] = "loo"
    tol: float = 1e-6

    def _method(self, automatic: type[Method]) -> Method:
        return Greedy(self.fit_C)

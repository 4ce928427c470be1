"""The best k features: logistic regression under a bound on their number."""

from __future__ import annotations

from typing import Any, Literal

from ..estimators import BudgetClassifier
from ..estimators.base import with_constants, with_parameters
from ..methods import Method
from .methods import L0By
from .solvers import Splitting


@with_parameters
@with_constants(
    loss="logistic", n_groups=None, feature_groups=None, method=None, signs=None,
    forced_groups=None, covariates=None, checkpoint=None,
)  # fmt: skip
class L0LogisticRegression(BudgetClassifier):
    """Logistic regression on the k features that fit best, as far as local search finds them.

        min_{u, b}  1/2 ||u||^2 + C sum_i s_i log(1 + exp(-y_i (x_i'u + b)))  s.t.  ||u||_0 <= k

    on the selection scaling. Exchanges inside a pool of candidates lower the objective; a scan of
    X at their result shows the features outside of the pool that would lower it most, which join
    the pool, until a scan shows none that helps. `certificate_` says how far the support can be
    from the best one. The final model is refitted on the scaling of X.

    `BudgetClassifier` solves the same problem with less effort, and predicts as well: take this
    class where the objective itself matters.

    Parameters
    ----------
    n_features : int, list or range of int, or None
        How many features, exactly. A list gives a model of each size from one fit (`path_`), which
        share candidates and scans. None: 10, or all usable columns if fewer.
    criterion, calibrate, fit_intercept, standardize, class_weight, n_threads
        As in `BudgetClassifier`. The folds of `calibrate` prove nothing.
    solver : str or Splitting
        - "exchange", and "auto": from the strongest features, from backward elimination inside a
          pool of them, and from the rounded relaxation, by splicing (several features at once),
          swaps (one for one) and elimination from twice as many. For C above 0.1 the models for
          0.1 and 1 come first, and are gone on from.
        - "splicing": starts from the features with the largest scores; splicing only.
        - "iht": iterative hard thresholding, u <- H_k(u - grad / t), a scan for each step.
        - "salm", "asalm": the (accelerated) splitting augmented Lagrangian method, for comparison;
          `zeronorm.published.Splitting` has their options. They need columns in memory: of more
          than 10^7 numbers (n_samples times usable columns) they see the features with the largest
          |X'(y - mean)| only, as many as fit, and a warning says so.
    multi_class : "ovr", "multinomial" or "auto"
        Of more than two classes: n_features for each, in a model against the others, or n_features
        in all, in one multinomial model; "salm" and "asalm" then keep the rows of coefficients with
        the largest norms.
    C : float
        Weight of the summed loss, for standardised columns.
    refit_C : "loo" or float
        C of the final fit on the scaling of X; "loo" chooses by approximate leave-one-out log-loss.
    forced_features : list of int or str, or None
        In every model, counted in the budget.
    tol : float
        An exchange is made, and thresholding goes on, where the objective falls by more than this
        share of itself. Not of "salm" and "asalm": `Splitting(tol=...)`.
    gap : float or None
        Where it is given, branch and bound goes on until no support of this size can lower the
        objective by more than this share of it (0: none at all), or until the time is over; a
        better support found on the way is the model. `proof_` tells how it ended. Ctrl-C stops the
        search, and keeps what was found. `cross_validate` does not prove inside the folds.
    time_limit : float
        Seconds of that, for every size and class.
    warm_start : bool
        Whether the candidates of the previous fit are candidates from the start; "salm" and "asalm"
        begin at its model.

    Attributes
    ----------
    As of `BudgetClassifier`. A `Step` of `history_` is a scan of the pool, or a round of exchanges
    with the objective of one size and the candidates that entered; of "salm" and "asalm" it is an
    iteration, whose `extra` has the residuals and their tolerances, rho, L (`curvature`), restarts
    and inner iterations, and `columns` of the `usable` ones that the method saw.

    References
    ----------
    Blumensath and Davies, Iterative hard thresholding for compressed sensing, Applied and
    Computational Harmonic Analysis 27(3), 2009.

    Zhu, Wen, Zhu, Zhang and Wang, A polynomial algorithm for best-subset selection problem,
    PNAS 117(52), 2020 (splicing).

    Hazimeh and Mazumder, Fast best subset selection, Operations Research 68(5), 2020 (swaps).

    Zhou, Dang and Wang, Accelerated splitting augmented Lagrange method based on sparse logistic
    regression, Pure Mathematics 11(12), 2021, doi 10.12677/PM.2021.1112237 (ASALM).

    Bai, Liang and Yang, Splitting augmented Lagrangian method for optimization problems with a
    cardinality constraint and semicontinuous variables, Optimization Methods and Software 31, 2016.

    Examples
    --------
    >>> from zeronorm.published import L0LogisticRegression
    >>> from zeronorm.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = L0LogisticRegression(n_features=5).fit(X, y)
    >>> len(model.support_)
    5
    """

    criterion: Literal["aic", "bic", "ebic", "gic"] | None = None
    solver: str | Splitting = "auto"
    multi_class: Literal["auto", "multinomial", "ovr"] = "ovr"
    C: float = 0.1
    refit_C: float | Literal["auto", "loo"] = "loo"
    tol: float = 1e-4
    gap: float | None = None
    time_limit: float = 60.0

    def _record_of(self, parameter: str, name: str) -> Any:
        return Splitting.of(name) if parameter == "solver" else super()._record_of(parameter, name)

    def _method(self, automatic: type[Method]) -> Method:
        return L0By(self.gap, self.time_limit, self.solver)

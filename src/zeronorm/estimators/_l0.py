"""The best k features: logistic regression under a bound on their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _validate
from .._typing import IndexArray
from ..result import Path
from ..solvers import Task
from ..solvers._drive import Solver
from ..solvers._l0 import SOLVERS, select_l0
from ._base import BudgetedClassifier


class L0LogisticRegression(BudgetedClassifier):
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
    criterion : "aic", "bic", "ebic", "gic" or None
        What chooses among the sizes: the one with the smallest criterion is the model, the smallest
        one of equals. With a single number n_features these are 1, ..., n_features (with forced
        features, from their number on). None: the largest size is the model.

            criterion = 2 l + k a,   a = 2 (aic), log n (bic), log n + 2 log p (ebic),
                                         log(p) log(log n) (gic)

        with l the log-loss of the final fit summed over the rows with their weights, k the size,
        n the sum of the weights (which count rows) and p the number of columns that are not
        constant. Of several classes, the sum over the models of each class against the others, and
        one size for all. Sources in `zeronorm.criteria`.
    solver : str
        - "exchange", and "auto": starts from backward elimination inside a pool of the minimax
          cutting plane, and from hard thresholding there; then splicing (several features at once)
          and swaps (one for one).
        - "splicing": starts from the features with the largest scores; splicing only.
        - "iht": iterative hard thresholding, u <- H_k(u - grad / t), a scan for each step.
    C : float
        Weight of the summed loss, for standardised columns.
    refit_C : "loo" or float
        C of the final fit on the scaling of X; "loo" chooses by approximate leave-one-out log-loss.
    forced_features : list of int or str, or None
        In every model, counted in the budget.
    tol : float
        An exchange is made, and thresholding goes on, where the objective falls by more than this
        share of itself.
    warm_start : bool
        Whether the candidates of the previous fit are candidates from the start.
    fit_intercept, standardize, class_weight, n_threads
        As in `BudgetClassifier`.

    Attributes
    ----------
    As of `BudgetClassifier`; `criteria_` is there whatever the criterion. A `Step` of `history_` is
    a scan of the pool, or a round of exchanges with the objective of one size and the candidates
    that entered.

    References
    ----------
    Blumensath and Davies, Iterative hard thresholding for compressed sensing, Applied and
    Computational Harmonic Analysis 27(3), 2009.

    Zhu, Wen, Zhu, Zhang and Wang, A polynomial algorithm for best-subset selection problem,
    PNAS 117(52), 2020 (splicing).

    Hazimeh and Mazumder, Fast best subset selection, Operations Research 68(5), 2020 (swaps).

    Examples
    --------
    >>> from zeronorm import L0LogisticRegression
    >>> from zeronorm.datasets import load_golub
    >>> X, y = load_golub(return_X_y=True)
    >>> model = L0LogisticRegression(n_features=5).fit(X, y)
    >>> len(model.support_)
    5
    """

    def __init__(
        self,
        n_features: int | Sequence[int] | None = None,
        *,
        criterion: str | None = None,
        solver: str = "auto",
        C: float = 0.1,
        refit_C: float | str = "loo",
        fit_intercept: bool = True,
        standardize: bool = True,
        forced_features: Any = None,
        class_weight: Any = None,
        tol: float = 1e-4,
        warm_start: bool = False,
        n_threads: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.criterion = criterion
        self.solver = solver
        self.C = C
        self.refit_C = refit_C
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.forced_features = forced_features
        self.class_weight = class_weight
        self.tol = tol
        self.warm_start = warm_start
        self.n_threads = n_threads

    def _solver(
        self,
        task: Task,
        sizes: tuple[int, ...],
        start: Sequence[IndexArray] = (),
        seconds: dict[str, float] | None = None,
        certify: bool = True,
    ) -> Solver[Path]:
        return select_l0(
            task, sizes, C=float(self.C), refit_C=self.refit_C, solver=self.solver,
            tol=float(self.tol), certify=certify, start=start, seconds=seconds,
        )  # fmt: skip

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _validate.check_option("solver", self.solver, SOLVERS)


__all__ = ["L0LogisticRegression"]

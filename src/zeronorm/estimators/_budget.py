"""The front door: exactly k features, by the best procedure known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .. import validate as _validate
from .._typing import IndexArray
from ..result import Path
from ..solvers import Task, greedy, select, select_l0, select_l1
from ..solvers._drive import Solver
from ._base import CuttingPlaneClassifier

# What finds the features in place of the pool, elimination and splicing.
OTHERS: dict[str, Callable[..., Solver[Path]]] = {
    "l1": select_l1,
    "reweighted-l1": partial(select_l1, reweighted=True),
    "greedy": greedy,
    "l0": select_l0,
}
METHODS = ["auto", *OTHERS]


class BudgetClassifier(CuttingPlaneClassifier):
    """Give me exactly k features, the best you can: a logistic model on exactly k features.

    A pool of 3k features is found by the minimax cutting plane (about six passes over X), reduced
    to k by backward elimination and splicing, refitted on the scaling of X, and certified:
    `certificate_` says how far the support can be from the best one of its size for

        min_{u, b}  1/2 ||u||^2 + C sum_i s_i log(1 + exp(-y_i (x_i'u + b)))  s.t.  ||u||_0 <= k

    on the selection scaling. Several classes are one-versus-rest, with k features each and their
    scans merged into the same passes.

    Parameters
    ----------
    n_features : int, list or range of int, or None
        How many features, exactly. A list gives a model of each size from one fit (`path_`);
        predictions use the largest. None: 10, or all usable columns if fewer.
    criterion : "aic", "bic", "ebic", "gic" or None
        What chooses among the sizes, as for `L0LogisticRegression`: the one with the smallest
        criterion is the model; a single number n_features stands for 1, ..., n_features.
    C : float
        Weight of the summed loss during selection, for standardised columns.
    method : str
        How the features are found; refit and certificate are the same for all.

        - "auto": the pool, elimination and splicing, as above.
        - "l1": the l1 path, at the largest C with at most k features.
        - "reweighted-l1": the same in stages that penalise large coefficients less.
        - "greedy": the feature that fits best what is left, k times, a scan for each.
        - "l0": exchanges among all features, see `L0LogisticRegression`.
    refit_C : "loo" or float
        C of the final fit on the scaling of X; "loo" chooses by approximate leave-one-out log-loss.
    calibrate : "auto" or bool
        Whether the margins are multiplied by a number between 0.02 and 1.2 for each size, so that
        probabilities hold on new rows: the final fit does not know of the selection before it, and
        on few rows is far too sure. The number is the one of least log-loss on rows that are held
        out of folds, up to five, which repeat the whole selection in the same passes over X and
        with five times the other work. Labels, support and certificate stay what they are; several
        classes share the number. "auto": where the sample weights (times class weights) have a sum
        below 1000. It is not done where a class has one row only.
    block_size, max_blocks : int or None
        Features per scan of the pool, or the number of scans; a fifth of the pool by default.
        Only for the method "auto", as `solver`, `tol` and `warm_start`.
    solver : "auto" or "newton"
        The inner solver of the pool.
    fit_intercept : bool
        Whether the model has an intercept; it is never penalised.
    standardize : bool
        Whether columns are standardised during selection (lazily: X is never copied, and sparse
        columns are scaled but not centred). The final fit is on the scaling of X.
    forced_features : list of int or str, or None
        Always in the model, counted in n_features.
    class_weight : dict, "balanced" or None
    tol : float
        Certified gap of inner problems, relative to the objective of the model without features.
    warm_start : bool
        Whether the pool begins with the features that the previous fit generated, without scanning
        for them again: after a change of n_features, C or some rows. Not used in the folds of
        `calibrate`.
    n_threads : int or None
        Threads of a scan; all allowed ones by default. The result does not depend on it.

    Attributes
    ----------
    support_ : (k,) sorted indices of the selected features (of all classes).
    coef_, intercept_ : the model on all features, (1 or n_classes, n_features_in_); where it is
        calibrated, the final fit times `path_[k].scale`.
    classes_ : labels.
    path_ : the models of all sizes asked for; `path_[k]` is a `Selection`, with the honest log-loss
        of rows held out, `cv_log_loss`, where it is calibrated.
    criteria_ : a row per size: "size", "log_loss", "aic", "bic", "ebic" and "gic" (n_sizes,).
    certificate_, optimality_gap_ : how far from the best support of its size this one can be.
    history_ : a row per scan. n_scans_ : passes over X for selection and certificate.
    seconds_ : by phase.

    References
    ----------
    Tan, Tsang and Wang, Minimax sparse logistic regression for very high-dimensional feature
    selection, IEEE TNNLS 24(10), 2013.

    Examples
    --------
    >>> from zeronorm import BudgetClassifier
    >>> from zeronorm.datasets import load_golub
    >>> X, y = load_golub(return_X_y=True)
    >>> model = BudgetClassifier(n_features=5).fit(X, y)
    >>> len(model.support_)
    5
    """

    _solvers = ("auto", "newton")

    def __init__(
        self,
        n_features: int | Sequence[int] | None = None,
        *,
        criterion: str | None = None,
        method: str = "auto",
        C: float = 0.1,
        refit_C: float | str = "loo",
        calibrate: bool | str = "auto",
        block_size: int | None = None,
        max_blocks: int | None = None,
        solver: str = "auto",
        fit_intercept: bool = True,
        standardize: bool = True,
        forced_features: Any = None,
        class_weight: Any = None,
        tol: float = 1e-3,
        warm_start: bool = False,
        n_threads: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.criterion = criterion
        self.method = method
        self.C = C
        self.refit_C = refit_C
        self.calibrate = calibrate
        self.block_size = block_size
        self.max_blocks = max_blocks
        self.solver = solver
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
        if self.method != "auto":
            return OTHERS[self.method](
                task, sizes, C=float(self.C), refit_C=self.refit_C, certify=certify,
                seconds=seconds,
            )  # fmt: skip
        return select(
            task,
            sizes,
            C=float(self.C),
            refit_C=self.refit_C,
            block_size=self.block_size,
            max_blocks=self.max_blocks,
            tol=float(self.tol),
            start=start,
            seconds=seconds,
            certify=certify,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _validate.check_option("method", self.method, METHODS)

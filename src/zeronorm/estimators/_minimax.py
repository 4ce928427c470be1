"""Minimax sparse logistic regression (MSLR)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._typing import IndexArray
from ..result import Path
from ..solvers import INNER_SOLVERS, Task, select_nested
from ..solvers._drive import Solver
from ._base import BudgetedClassifier


class MinimaxLogisticRegression(BudgetedClassifier):
    """Logistic regression on exactly k features by the minimax cutting plane.

    Every scan of X adds the block of the r features with the largest |X'(alpha y)|; the problem

        min_{d in D_r} min_{u, b} 1/2 sum_j u_j^2/d_j + C sum_i s_i log(1 + exp(-y_i (x_i'u + b)))
        D_r = {0 <= d_j <= 1, sum_j d_j <= r}

    over the generated blocks is solved to a certified gap, and gives the alpha of the next scan.
    Features in order of entry form a nested path: a list of sizes costs one run. The supports are
    refitted without the bias of the penalty, on the scaling of X.

    Parameters
    ----------
    n_features : int, list of int or None
        How many features, exactly (`max_blocks` yields to it); a list gives several models.
    C : float
        Weight of the summed loss during selection.
    refit_C : "loo" or float
        C of the final fit; "loo" chooses by approximate leave-one-out log-loss.
    block_size : int or None
        r, features per scan; by default n_features / max_blocks, or a third of n_features. With
        several sizes a third of the smallest, but at least a thirtieth of the largest.
    max_blocks : int or None
        T_m, number of scans that generate blocks.
    solver : "newton"
        Solver of the problem over the generated blocks.
    fit_intercept, standardize, forced_features, class_weight, tol, warm_start, n_threads
        As in `BudgetClassifier`.

    Attributes
    ----------
    As of `BudgetClassifier`. In `history_`, `extra["outer_bound"]` is the certified lower bound of
    the problem over all features.

    References
    ----------
    Tan, Tsang and Wang, IEEE TNNLS 24(10), 2013, Algorithm 1.

    Examples
    --------
    >>> from zeronorm import MinimaxLogisticRegression
    >>> from zeronorm.datasets import load_golub
    >>> X, y = load_golub(return_X_y=True)
    >>> model = MinimaxLogisticRegression(n_features=[5, 10]).fit(X, y)
    >>> [model.path_[k].n_features for k in model.path_]
    [5, 10]
    """

    _solvers = tuple(INNER_SOLVERS)

    def __init__(
        self,
        n_features: int | list[int] | None = None,
        *,
        C: float = 0.1,
        refit_C: float | str = "loo",
        block_size: int | None = None,
        max_blocks: int | None = None,
        solver: str = "newton",
        fit_intercept: bool = True,
        standardize: bool = True,
        forced_features: Any = None,
        class_weight: Any = None,
        tol: float = 1e-3,
        warm_start: bool = False,
        n_threads: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.C = C
        self.refit_C = refit_C
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

    @classmethod
    def as_published(cls, n_features: int) -> MinimaxLogisticRegression:
        """Return the estimator with the defaults of the paper.

        C = 10, refit with C = 5, ten blocks of k/10, no intercept, no standardisation. On most
        data this selects measurably worse than the defaults of this class.
        """
        return cls(
            n_features, C=10.0, refit_C=5.0, max_blocks=10, fit_intercept=False, standardize=False
        )

    def _solver(
        self,
        task: Task,
        sizes: tuple[int, ...],
        start: Sequence[IndexArray] = (),
        seconds: dict[str, float] | None = None,
        certify: bool = True,
    ) -> Solver[Path]:
        return select_nested(
            task,
            sizes,
            C=float(self.C),
            refit_C=self.refit_C,
            block_size=self.block_size,
            max_blocks=self.max_blocks,
            tol=float(self.tol),
            inner=INNER_SOLVERS[self.solver],
            start=start,
            seconds=seconds,
            certify=certify,
        )

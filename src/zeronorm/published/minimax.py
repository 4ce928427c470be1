"""The minimax family: MSLR and the Feature Generating Machine, which differ in their loss."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from ..core.errors import Message, Parameter
from ..estimators import BudgetClassifier
from ..estimators.base import with_constants, with_parameters
from ..methods import Method
from .methods import UNPUBLISHED, MinimaxBy


@with_parameters
@with_constants(loss="logistic", multi_class="ovr", **UNPUBLISHED)
class _CuttingPlane(BudgetClassifier):
    """What both algorithms share: `MinimaxBy`, its options as parameters."""

    _settings: ClassVar[dict[str, Any]]  # of the paper on MSLR, beside those of both

    C: float = 0.1
    refit_C: float | Literal["auto", "loo"] = "loo"
    block_size: int | None = None
    max_blocks: int | None = None
    union: bool = False
    solver: str = "newton"
    tol: float = 1e-3

    @classmethod
    def as_published(
        cls,
        n_features: int | None = None,
        *,
        block_size: int | None = None,
        max_blocks: int = 10,
    ) -> Self:
        """Return the estimator with the settings of the paper on MSLR.

        Refit with C = 5, T_m = 10 blocks, no intercept, no standardisation, no calibration. MSLR
        has C = 10; its own algorithm is `.set_params(solver="smoothing-published")`, and FGM-LR is
        `.set_params(solver="simplemkl")`. FGM has C = 5 and the block weights by SimpleMKL. On most
        data this selects measurably worse than the defaults of these classes.

        Parameters
        ----------
        n_features : k, exactly so many features, in blocks of k / T_m.
        block_size : r, for the union of the blocks, as the paper has it: r from 2 to 40 there.
        max_blocks : T_m.

        Raises
        ------
        ValueError
            Where both k and r are given, or none.
        """
        if (n_features is None) == (block_size is None):
            raise ValueError(
                Message(
                    "as_published takes ",
                    Parameter("n_features"),
                    ", for exactly so many, or block_size, for the union of max_blocks blocks of "
                    "so many; got ",
                    Parameter.of("n_features", n_features),
                    f" and block_size={block_size!r}.",
                )
            )
        return cls(
            n_features, block_size=block_size, max_blocks=max_blocks, union=n_features is None,
            refit_C=5.0, calibrate=False, fit_intercept=False, standardize=False, **cls._settings,
        )  # fmt: skip

    def _method(self, automatic: type[Method]) -> Method:
        return MinimaxBy(self.block_size, self.max_blocks, self.solver, self.union)


class MinimaxLogisticRegression(_CuttingPlane):
    """Logistic regression on exactly k features by the minimax cutting plane.

    Every scan of X adds the block of the r features with the largest |X'(alpha y)|; the problem

        min_{d in D_r} min_{u, b} 1/2 sum_j u_j^2/d_j + C sum_i s_i log(1 + exp(-y_i (x_i'u + b)))
        D_r = {0 <= d_j <= 1, sum_j d_j <= r}

    over the generated blocks is solved to a certified gap, and gives the alpha of the next scan.
    Features in order of entry form a nested path: a list of sizes costs one run. The supports are
    refitted without the bias of the penalty, on the scaling of X. With `union=True` the model has
    all features of T blocks of r, as published, whatever their number.

    With `feature_groups` there is one d for each group, 1/2 sum_g ||u_g||^2 / d_g, a block is the r
    groups with the largest ||X_g'(alpha y)||, and exactly `n_groups` whole groups are selected. A
    group of more columns has a longer ||X_g'(alpha y)|| by chance alone: compare groups of like
    sizes.

    Parameters
    ----------
    n_features : int, list or range of int, or None
        How many features, exactly (`max_blocks` yields to it); a list gives several models. None:
        10, or all usable columns if fewer. Only without `feature_groups`, and None with `union`.
    feature_groups : (n_features_in_,) integers or strings, a dict of lists, or None
        The label of the group of every column of X, or the columns of every group by its label.
        Constant columns of a group are left out.
    n_groups : int, list or range of int, or None
        How many groups, exactly; a list gives several models, `path_[n_groups]`. Only with
        `feature_groups`, and needed there without `union`.
    C : float
        Weight of the summed loss during selection.
    refit_C : "loo" or float
        C of the final fit; "loo" chooses by approximate leave-one-out log-loss.
    block_size : int or None
        r, features (groups) per scan; by default n_features / max_blocks, or a third of
        n_features. With several sizes a third of the smallest, but at least a thirtieth of the
        largest.
    max_blocks : int or None
        T_m, number of scans that generate blocks.
    union : bool
        Whether the support is the union of `max_blocks` blocks of `block_size` features (groups),
        as published; else it has exactly `n_features`. Blocks share features, so that their union
        has between r and r T_m (forced ones beside these); `size_` is the most that it may have,
        the key of `path_`. The loop ends before T_m where the problem over all features is solved
        to `tol`, or where a block repeats; with max_blocks=None only there, which can take many
        scans. `warm_start` is refused.
    solver : str
        Solver of the problem over the generated blocks. "newton" is the one to use; the others are
        there to reproduce and to compare.

        - "newton": proximal Newton steps with exact block weights; the most accurate and robust.
        - "fista": accelerated proximal gradient steps; many cheap ones.
        - "simplemkl": reduced gradient over the block weights, as in FGM and its variant FGM-LR.
        - "smoothing": the paper's coordinate descent on the smoothed dual, the smoothing parameter
          driven by the gap. No intercept.
        - "smoothing-published": the same with the published schedule of that parameter, which can
          stall far from the optimum. No intercept.
    forced_features : list of int or str, or None
        Always in the model (with `feature_groups`: their groups), counted in the budget.
    calibrate, fit_intercept, standardize, class_weight, tol, warm_start, n_threads
        As in `BudgetClassifier`.

    Attributes
    ----------
    As of `BudgetClassifier`; with `feature_groups`, `certificate_` is of the best so many groups. A
    `Step` of `history_` has the certified bounds of its problem over the generated blocks
    (`objective`, `bound`, the relative `extra["gap"]`), the `status` of the solver, and in
    `extra["outer_bound"]` a certified lower bound of the problem over all features.

    Warns
    -----
    ConvergenceWarning
        Where the solver stopped at a certified gap of more than twice `tol`.

    References
    ----------
    Tan, Tsang and Wang, Minimax sparse logistic regression for very high-dimensional feature
    selection, IEEE TNNLS 24(10), 2013, Algorithm 1.

    Examples
    --------
    >>> from zeronorm.published import MinimaxLogisticRegression
    >>> from zeronorm.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = MinimaxLogisticRegression(n_features=[5, 10]).fit(X, y)
    >>> [model.path_[k].n_features for k in model.path_]
    [5, 10]
    >>> union = MinimaxLogisticRegression.as_published(block_size=2, max_blocks=5).fit(X, y)
    >>> [step.n_features for step in union.history_], union.size_
    ([2, 4, 6, 8, 10], 10)
    """

    _settings: ClassVar[dict[str, Any]] = {"C": 10.0}


class FeatureGeneratingMachine(_CuttingPlane):
    """The Feature Generating Machine (FGM): a support vector machine selects exactly k features.

    Every scan of X adds the block of the r features with the largest |X'(alpha y)|; the problem

        min_{d in D_r} min_{u, b} 1/2 sum_j u_j^2/d_j + C sum_i s_i 1/2 max(0, 1 - y_i z_i)^2
        z_i = x_i'u + b,  D_r = {0 <= d_j <= 1, sum_j d_j <= r}

    over the generated blocks is solved to a certified gap, and gives the alpha of the next scan.
    Features in order of entry form a nested path: a list of sizes costs one run.

    The squared hinge selects and certifies. The final model of a support is a logistic refit, on
    the scaling of X, so that `predict_proba` gives probabilities.

    The source has a free margin, 1/2 sum_j u_j^2/d_j + C/2 sum_i xi_i^2 - rho subject to
    y_i x_i'u >= rho - xi_i. With V the optimum of its dual over the simplex, the problem above has
    the same blocks, the optimum 1/(4 V), and the solutions u and alpha divided by 2 V
    (tests/test_feature_generating_machine.py).

    Parameters
    ----------
    n_features, feature_groups, n_groups, forced_features, union
        As in `MinimaxLogisticRegression`.
    C : float
        Weight of the summed loss during selection (LIBLINEAR's C is half of it).
    refit_C : "loo" or float
        C of the final logistic fit; "loo" chooses by approximate leave-one-out log-loss.
    block_size, max_blocks : int or None
        As in `MinimaxLogisticRegression`.
    solver : str
        Solver of the problem over the generated blocks. "newton" is the one to use; the others are
        there to reproduce and to compare.

        - "newton": proximal Newton steps with exact block weights; the most accurate and robust.
        - "fista": accelerated proximal gradient steps; many cheap ones.
        - "simplemkl": reduced gradient over the block weights, as published.
    calibrate, fit_intercept, standardize, class_weight, tol, warm_start, n_threads
        As in `BudgetClassifier`.

    Attributes
    ----------
    As of `MinimaxLogisticRegression`; `certificate_` is of the squared hinge problem and says so:
    `certificate_.loss` is "squared_hinge".

    Warns
    -----
    ConvergenceWarning
        Where the solver stopped at a certified gap of more than twice `tol`.

    References
    ----------
    Tan, Wang and Tsang, Learning sparse SVM for feature selection on very high dimensional
    datasets, ICML 2010.

    Examples
    --------
    >>> from zeronorm.published import FeatureGeneratingMachine
    >>> from zeronorm.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = FeatureGeneratingMachine(n_features=5).fit(X, y)
    >>> len(model.support_), model.certificate_.loss
    (5, 'squared_hinge')
    """

    loss = "squared_hinge"
    _settings: ClassVar[dict[str, Any]] = {"C": 5.0, "solver": "simplemkl"}

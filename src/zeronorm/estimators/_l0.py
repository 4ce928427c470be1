"""The best k features: logistic regression under a bound on their number."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from .. import _validate
from .._typing import IndexArray
from ..result import Path, Progressed, Proof, Status, Step
from ..solvers import Splitting, Task
from ..solvers._drive import Solver
from ..solvers._l0 import SOLVERS, select_l0
from ._base import BudgetedClassifier
from ._linear import CALLER_OF_FIT

SEPARATED = 1e-3  # mean log-loss below which classes count as separated


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
    solver : str or Splitting
        - "exchange", and "auto": from the strongest features, from backward elimination inside a
          pool of them, and from the rounded relaxation, by splicing (several features at once),
          swaps (one for one) and elimination from twice as many. For C above 0.1 the models for
          0.1 and 1 come first, and are gone on from.
        - "splicing": starts from the features with the largest scores; splicing only.
        - "iht": iterative hard thresholding, u <- H_k(u - grad / t), a scan for each step.
        - "salm", "asalm": the (accelerated) splitting augmented Lagrangian method, for comparison;
          `zeronorm.solvers.Splitting` has their options. They need columns in memory: of more than
          10^7 numbers (n_samples times usable columns) they see the features with the largest
          |X'(y - mean)| only, as many as fit, and a warning says so.
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
    calibrate, fit_intercept, standardize, class_weight, n_threads
        As in `BudgetClassifier`. The folds of `calibrate` prove nothing.

    Attributes
    ----------
    As of `BudgetClassifier`, and `proof_` (a `Proof`, a list of them for several classes), where
    `gap` was given; `criteria_` is there whatever the criterion. A `Step` of `history_` is a scan
    of the pool, or a round of exchanges with the objective of one size and the candidates that
    entered; of "salm" and "asalm" it is an iteration, whose `extra` has the residuals and their
    tolerances, rho, L (`curvature`), restarts and inner iterations, and `columns` of the `usable`
    ones that the method saw.

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
    >>> from zeronorm.datasets import load_golub
    >>> X, y = load_golub(return_X_y=True)
    >>> model = L0LogisticRegression(n_features=5).fit(X, y)
    >>> len(model.support_)
    5
    """

    _report: Callable[[Progressed], None] | None = None  # told where a proof stands

    def __init__(
        self,
        n_features: int | Sequence[int] | None = None,
        *,
        criterion: str | None = None,
        solver: str | Splitting = "auto",
        C: float = 0.1,
        refit_C: float | str = "loo",
        calibrate: bool | str = "auto",
        fit_intercept: bool = True,
        standardize: bool = True,
        forced_features: Any = None,
        class_weight: Any = None,
        tol: float = 1e-4,
        gap: float | None = None,
        time_limit: float = 60.0,
        warm_start: bool = False,
        n_threads: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.criterion = criterion
        self.solver = solver
        self.C = C
        self.refit_C = refit_C
        self.calibrate = calibrate
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.forced_features = forced_features
        self.class_weight = class_weight
        self.tol = tol
        self.gap = gap
        self.time_limit = time_limit
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
            gap=None if self.gap is None else float(self.gap), time_limit=float(self.time_limit),
            report=self._report,
        )  # fmt: skip

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.solver, Splitting):
            _validate.check_option("solver", self.solver, SOLVERS)

        if self.gap is not None:
            _validate.check_not_negative("gap", self.gap)
        _validate.check_positive("time_limit", self.time_limit)

    @property
    def proof_(self) -> Proof | list[Proof | None] | None:
        """How branch and bound ended, where `gap` was given; a list for several classes."""
        if not hasattr(self, "estimators_"):
            raise AttributeError("proof_ is set by fit.")
        proofs = [path[self._size].proof for path in self.estimators_]
        return proofs[0] if len(proofs) == 1 else proofs

    def _warm_starts(self, tasks: list[Task]) -> list[list[IndexArray]]:
        blocks = super()._warm_starts(tasks)
        if Splitting.of(self.solver) is None or not any(blocks):
            return blocks
        return [[path[k].support for k in path] for path in self.estimators_]

    def _warn_of_gaps(self, paths: Sequence[Path], stacklevel: int = CALLER_OF_FIT) -> None:
        super()._warn_of_gaps(paths, stacklevel + 1)
        _warn_of_separation(paths, self._size, float(self.C))
        if self.n_features is not None:
            _warn_of_rank(paths, self._size)
        options = Splitting.of(self.solver)
        if options is not None:
            ends = [
                (number, step)
                for path in paths
                for number, step in enumerate(path.history, start=1)
                if "primal" in step.extra and step.status is not None
            ]
            _warn_of_splitting(options, ends)


def _warn_of_separation(paths: Sequence[Path], k: int, C: float) -> None:
    """Warn where only the ridge bounds the coefficients."""
    ends = [step for path in paths for step in path.history if step.n_features == k and step.status]
    for end in ends[-len(paths) :]:
        if end.extra.get("mean_loss", 1.0) < SEPARATED and end.extra["least_margin"] > 0:
            warnings.warn(
                f"The {k} features separate the classes: their mean log-loss is "
                f"{end.extra['mean_loss']:.2g}, and only the ridge (C={C:g}) bounds the "
                "coefficients and tells such supports apart. Use a smaller C, or fewer features.",
                UserWarning,
                stacklevel=CALLER_OF_FIT + 1,
            )
            break


def _warn_of_rank(paths: Sequence[Path], k: int) -> None:
    """Warn where there are more features than the rows allow."""
    certificate = paths[0][k].certificate
    if certificate is not None and k >= certificate.dual.size:
        warnings.warn(
            f"n_features={k} is more than the {certificate.dual.size - 1} features that "
            f"{certificate.dual.size} samples can tell apart: the rank of X is below it, and only "
            "the ridge makes the model unique. Use fewer features.",
            UserWarning,
            stacklevel=CALLER_OF_FIT + 1,
        )


def _warn_of_splitting(options: Splitting, ends: Sequence[tuple[int, Step]]) -> None:
    """Warn where SALM or ASALM saw some features only, did not converge, or has a bad rho.

    ends : the last iterations, with their numbers in the history.
    """
    seen = min((step.extra["columns"] for _, step in ends), default=0.0)
    usable = max((step.extra["usable"] for _, step in ends), default=0.0)
    if seen < usable:
        warnings.warn(
            f"solver={options.method!r} holds its columns in memory: of {usable:.0f} features it "
            f"saw the {seen:.0f} with the largest |X'(y - mean)|. Use solver='auto', which sees "
            "all.",
            UserWarning,
            stacklevel=CALLER_OF_FIT + 1,
        )
    failed = next((end for end in ends if end[1].status is not Status.CONVERGED), None)
    advice = next(
        filter(None, (options.advice(end.extra["curvature"], failed is None) for _, end in ends)),
        "",
    )
    if failed is None:
        if advice:
            warnings.warn(advice, UserWarning, stacklevel=CALLER_OF_FIT + 1)
        return
    number, step = failed
    diverged = step.status is Status.DIVERGED
    how = "diverged" if diverged else f"did not converge in {options.max_iter} iterations"
    remedy = "safeguard=True" if options.raw else "a larger max_iter"
    warnings.warn(
        f"solver={options.method!r} {how}: step {number} of `history_` has a primal residual of "
        f"{step.extra['primal']:.2g} (asked: {step.extra['primal_tol']:.2g}) and a dual one of "
        f"{step.extra['dual']:.2g} (asked: {step.extra['dual_tol']:.2g}). The support has the "
        "requested size, but its features may not be those of the method. "
        + (advice or f"Use {remedy}, or solver='auto'."),
        ConvergenceWarning,
        stacklevel=CALLER_OF_FIT + 1,
    )


__all__ = ["L0LogisticRegression"]

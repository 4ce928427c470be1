"""l1-regularised logistic regression and squared hinge, for every solver of the package."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .. import validate as _validate
from .._typing import Design, FloatArray, IndexArray, Smooth
from ..designs import Scaled, as_design
from ..designs._columns import gather
from ..designs._operations import center_scale, unscaled
from ..losses import Logistic, SquaredHinge
from ..result import Result, Status, Step
from ..solvers import L1_SOLVERS, L1Problem, refit
from ..solvers._descent import Penalty
from ..solvers._drive import Solver
from ..solvers._l1 import NEVER, Start
from ..solvers._l1_path import LARGEST, Sized, l1_sizes
from ..solvers._prox_newton import LARGEST_SQUARE
from ..solvers._refit import Refit
from ..solvers._risk import Risk
from ._linear import (
    CALLER_OF_FIT,
    GAP_SLACK,
    LinearClassifier,
    Rowwise,
    one_versus_rest,
    with_callbacks,
)

LOSSES: dict[str, Smooth] = {loss.name: loss for loss in (Logistic(), SquaredHinge())}
PUBLISHED = ("newglmnet", "glmnet", "cdn")
# Rounding ends progress at gaps below this, however small a tolerance was asked.
GAP_FLOOR = 1e-9
# Deviation up to which standardisation helps: at any C of interest squares do not overflow.
LARGEST_SCALED = 1e60


class L1LogisticRegression(LinearClassifier):
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
        without, the model is always the l1 solution. The refit keeps no signs: with `signs` and
        `n_features` it must be None.
    l1_ratio : float
        r, in (0, 1]; 1 is the l1 penalty alone.
    loss : "logistic" or "squared_hinge"
        The latter is a support vector machine, without `predict_proba`.
    penalty_factor : (n_features,) or None
        p, finite and not negative, by default 1. A feature with 0 is never penalised.
    signs : (n_features,), a number or None
        -1, 0 or +1: w_j <= 0, free, w_j >= 0; one number is for all features. With several classes
        for each of their problems.
    solver : str
        - "auto": the fastest for the data.
        - "working-set": proximal Newton steps over few features at a time.
        - "newglmnet": proximal Newton steps over all features, with shrinking, as published.
        - "glmnet": without line search and shrinking, to compare: it need not converge.
        - "cdn": one Newton step per coordinate, to compare.

        The last three copy X unless it is in memory by column (Fortran order, CSC).
    fit_intercept : bool
        Whether b is free.
    standardize : bool
        Whether w_j is penalised as if column j had standard deviation 1 (weighted by s); then
        constant columns are never selected. X is not changed, and `coef_` is for X as it is.
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

    Attributes
    ----------
    support_ : sorted indices of the features with a coefficient that is not zero (in any class).
        With `n_features` exactly k (in each class), also where one of them has a coefficient of 0.
    coef_, intercept_ : the model on all features, (1 or n_classes, n_features_in_): the refit where
        there is one, else the l1 solution.
    classes_ : labels.
    refit_C_ : C of the refit, a list for several classes; None without a refit.

    What follows is of the l1 problem, also where there is a refit:

    C_ : C of the solution; with `n_features` the one found, a list for several classes.
    objective_ : value of the problem at C_; a list for several classes.
    dual_gap_ : certified (objective - bound) / objective without features; the largest of classes.
        It is that of the problem over all features at C_, also where k of them were chosen.
    n_iter_ : iterations; the most of any class.
    history_ : a `Step` per pass over the data, the gap in `extra`; a list for several classes. With
        `n_features` passes at other C, which `extra` has too, come before those of the model.
    n_scans_ : passes over X for scores and certificates, those of all classes merged.
    seconds_ : by phase.

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
    >>> from zeronorm import L1LogisticRegression
    >>> from zeronorm.datasets import load_golub
    >>> X, y = load_golub(return_X_y=True)
    >>> model = L1LogisticRegression(C=0.1).fit(X, y)
    >>> bool(model.dual_gap_ <= 1e-4)
    True
    >>> L1LogisticRegression(n_features=5).fit(X, y).support_.size
    5
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        n_features: int | None = None,
        refit_C: float | str | None = "loo",
        l1_ratio: float = 1.0,
        loss: str = "logistic",
        penalty_factor: Any = None,
        signs: Any = None,
        solver: str = "auto",
        fit_intercept: bool = True,
        standardize: bool = False,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        warm_start: bool = False,
        n_threads: int | None = None,
    ) -> None:
        self.C = C
        self.n_features = n_features
        self.refit_C = refit_C
        self.l1_ratio = l1_ratio
        self.loss = loss
        self.penalty_factor = penalty_factor
        self.signs = signs
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.n_threads = n_threads

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> L1LogisticRegression:
        """Solve the problem to the certified gap `tol`.

        Parameters
        ----------
        X : array, sparse matrix or array, data frame, path of a .npy file, or a Design
            (n_samples, n_features). Never modified.
        y : (n_samples,) labels of two or more classes.
        sample_weight : (n_samples,) not negative; integer weights equal repeated rows, within
            `tol`.

        Raises
        ------
        ValueError
            Where a parameter or the data break a rule; the message says which and what to do.
        """
        self._fit(X, y, sample_weight)
        self._warn_of_gap()
        self._warn_of_size()
        return self

    def _stored(self, design: Design) -> Design:
        return design.arranged()

    def _begin(
        self, data: Rowwise, seconds: dict[str, float]
    ) -> tuple[np.ndarray, list[Solver[Any]]]:
        begin = time.perf_counter()
        data, unit = self._weigh(data)
        design, weight = data.design, data.sample_weight
        penalty = self._penalty(design, weight)
        seconds["standardize"] = time.perf_counter() - begin
        classes = np.unique(data.labels)
        ys = one_versus_rest(data.labels, classes)
        unit_problems = [self._problem(design, y, weight, penalty) for y in ys]
        if self.n_features is not None:
            free, available = int((penalty.l1 == 0).sum()), int((penalty.l1 < NEVER).sum())
            k = _validate.check_size(self.n_features, available, design.shape[1], free)
            return classes, [self._sized(problem, k, unit, seconds) for problem in unit_problems]
        solvers = []
        for at_one, start in zip(
            unit_problems, self._starts(classes, penalty, len(ys)), strict=True
        ):
            problem = replace(at_one, risk=at_one.risk.times(float(self.C)))
            solvers.append(self._explained(self._solver(problem, start), design, weight))
        return classes, solvers

    def _solver(self, problem: L1Problem, start: Start | None) -> Solver[Result]:
        """Return the solver of a problem at its C."""
        return L1_SOLVERS[self.solver](
            problem, tol=float(self.tol), max_iter=int(self.max_iter), start=start,
            n_threads=problem.design.n_threads,
        )  # fmt: skip

    def _search(self, problem: L1Problem, k: int) -> Solver[dict[int, Sized]]:
        """Return the solver of a problem at the C that gives k features."""
        return l1_sizes(
            problem, [k], tol=float(self.tol), max_iter=int(self.max_iter),
            n_threads=problem.design.n_threads,
        )  # fmt: skip

    def _problem(
        self, design: Design, y: FloatArray, weight: FloatArray, penalty: Penalty
    ) -> L1Problem:
        """Return a problem at C = 1."""
        risk = Risk(y, weight, LOSSES[self.loss], bool(self.fit_intercept))
        return L1Problem(design, risk, penalty, float(weight.sum())).centred()

    def _sized(
        self, problem: L1Problem, k: int, unit: FloatArray, seconds: dict[str, float]
    ) -> Solver[tuple[Sized, Refit | None]]:
        """Return the solution of k features, and its refit if there is one."""
        models = yield from self._search(problem, k)
        self._explain(models[k].result, problem.design, problem.risk.weight)
        begin = time.perf_counter()
        refitted = self._refit(problem, models[k].result.support, unit)
        seconds["refit"] = seconds.get("refit", 0.0) + time.perf_counter() - begin
        return models[k], refitted

    def _refit(self, problem: L1Problem, support: IndexArray, unit: FloatArray) -> Refit | None:
        """Return the refit of some features on the scaling of X; None without one.

        unit : (n,) the class weights.
        """
        if self.refit_C is None:
            return None
        design, weight = problem.design, problem.risk.weight
        stored = design if problem.centre is None else unscaled(design)[0]
        columns = as_design(stored.gather(support), n_threads=design.n_threads)
        centred = problem.risk.intercept and not columns.is_sparse
        scaled = center_scale(columns, weight, center=centred)
        scale = np.where(scaled.scale > 0, scaled.scale, 1.0)  # 0: constant, without an intercept
        everything = np.arange(support.size)
        mean = np.zeros(support.size) if scaled.mean is None else scaled.mean
        return refit(
            gather(Scaled(columns, scaled.mean, scale), everything), mean, 1.0 / scale,
            problem.risk, C=self.refit_C, unit=unit,
        )  # fmt: skip

    def _explained(
        self, solver: Solver[Result], design: Design, weight: FloatArray
    ) -> Solver[Result]:
        """Run a solver, and look at how it ended."""
        result = yield from solver
        self._explain(result, design, weight)
        return result

    def _explain(self, result: Result, design: Design, weight: FloatArray) -> None:
        """Raise where a gap is open because values of X are too large to square.

        weight : at C = 1.
        """
        if gap_of(result) <= self._widest():
            return
        if result.status is Status.STALLED and not self.standardize:
            scale = center_scale(design, weight, center=False).scale
            _validate.check_spread(scale, LARGEST_SCALED)
        C = result.history[-1].extra.get("C", float(self.C))  # a path tells which
        # The curvature at margins of 0 is the largest one.
        zeros, ones = np.zeros(weight.size), np.ones(weight.size)
        curvature = LOSSES[self.loss].curvature(zeros, ones, C * weight)
        n_features, block = design.shape[1], design.block
        for start in range(0, n_features, block):
            square = design.moments(curvature, start, min(start + block, n_features))[1]
            _validate.check_squares(square, LARGEST_SQUARE, start)

    def _penalty(self, design: Design, weight: FloatArray) -> Penalty:
        """Return the penalty of the coefficients for X as it is."""
        n_features = design.shape[1]
        factor = _validate.check_penalty_factor(self.penalty_factor, n_features)
        sign = _validate.check_signs(self.signs, n_features)
        ratio = float(self.l1_ratio)
        l1, l2 = ratio * factor, (1.0 - ratio) * factor
        if self.standardize or (self.n_features is not None and self.fit_intercept):
            scale = center_scale(design, weight, center=False).scale
            varies = scale > 0
            if self.standardize:
                # Where features enter, the weights times C add up to more than 1.
                _validate.check_squares(
                    np.divide(1.0, scale, out=np.zeros(n_features), where=varies) ** 2,
                    LARGEST_SQUARE,
                )
                std = np.divide(1.0, scale, out=np.ones(n_features), where=varies)
                l1, l2 = l1 * std, l2 * std**2
            l1 = np.where(varies, l1, NEVER)
            l2 = np.where(varies, l2, 0.0)
        low, high = np.where(sign > 0, 0.0, -np.inf), np.where(sign < 0, 0.0, np.inf)
        return Penalty(l1, l2, low, high)

    def _starts(self, classes: np.ndarray, penalty: Penalty, n: int) -> list[Start | None]:
        """Return the feasible part of the n previous models, if they are of these classes."""
        starts: list[Start | None] = []
        if not self.warm_start or not hasattr(self, "support_"):
            return [None] * n
        if self.n_features_in_ != penalty.l1.size or not np.array_equal(self.classes_, classes):
            return [None] * n
        here = penalty.of(self.support_)
        for coef, intercept in zip(self._support_coef, self.intercept_, strict=True):
            kept = (coef != 0) & (coef >= here.low) & (coef <= here.high) & (here.l1 < NEVER)
            b = float(intercept) if self.fit_intercept else 0.0
            starts.append(Start(self.support_[kept], coef[kept], b))
        return starts

    def _store(self, results: list[Any]) -> None:
        self.C_: float | list[float] = float(self.C)
        self.refit_C_: float | list[float] | None = None
        self._refit_gap = 0.0
        refits: list[Refit] = []
        if self.n_features is not None:
            sized = [model for model, _ in results]
            refits = [fit for _, fit in results if fit is not None]  # all of them, or none
            self.C_ = _one_or_all([model.C for model in sized])
            self._reached = min(model.reached for model in sized)
            results = [model.result for model in sized]
        # Without their dual points, which have a number for every row.
        self._results = tuple(replace(result, dual=None) for result in results)
        self._models = self._results
        if refits:
            self.refit_C_ = _one_or_all([fit.C for fit in refits])
            self._refit_gap = max(fit.gap for fit in refits)
            self._models = tuple(
                replace(result, coef=fit.coef, intercept=fit.intercept)
                for result, fit in zip(self._results, refits, strict=True)
            )
        self._set_models(self._models)
        self.n_iter_ = max(len(result.history) - 1 for result in results)
        self.dual_gap_ = max(gap_of(result) for result in results)
        self.seconds_["solve"] = sum(
            step.seconds["solve"] for result in results for step in result.history
        )

    def _check_parameters(self) -> None:
        _validate.check_positive("C", self.C)
        _validate.check_share("l1_ratio", self.l1_ratio)
        _validate.check_option("loss", self.loss, list(LOSSES))
        _validate.check_option("solver", self.solver, list(L1_SOLVERS))
        if _validate.check_count("n_features", self.n_features) and self.solver in PUBLISHED:
            raise ValueError(
                f"n_features needs a solver that follows a path, 'auto' or 'working-set'; got "
                f"solver={self.solver!r}."
            )
        if self.refit_C is not None:
            _validate.check_refit_penalty(self.refit_C)
            if self.n_features is not None and self.signs is not None:
                raise ValueError(
                    "refit_C must be None with signs and n_features, as the refit keeps no signs; "
                    f"got {self.refit_C!r}. Use refit_C=None: the model is the l1 solution."
                )
        _validate.check_gap("tol", self.tol)
        _validate.check_iterations("max_iter", self.max_iter)
        _validate.check_count("n_threads", self.n_threads)
        for name in ("fit_intercept", "standardize", "warm_start"):
            _validate.check_flag(name, getattr(self, name))

    def _solved(self, result: Result) -> bool:
        """Return whether the gap is within twice `tol`, or within rounding, or was not to be."""
        chosen = result.status is Status.BUDGET  # the best model over features that were chosen
        return chosen or gap_of(result) <= self._widest()

    def _widest(self) -> float:
        """Return the gap from which on a problem is not solved."""
        return max(GAP_SLACK * float(self.tol), GAP_FLOOR)

    def _warn_of_gap(self) -> None:
        """Warn of the problem with the largest gap, where it was not solved."""
        result = max(self._results, key=gap_of)
        if self._solved(result):
            if not self._refit_gap <= self._widest():
                warnings.warn(
                    f"The refit stopped at a certified gap of {self._refit_gap:.2g} (asked: "
                    f"tol={self.tol:g}): its coefficients may be inaccurate. A smaller refit_C "
                    "helps.",
                    ConvergenceWarning,
                    stacklevel=CALLER_OF_FIT,
                )
            return
        warnings.warn(
            f"solver={self.solver!r} stopped at a certified gap of {gap_of(result):.2g} (asked: "
            f"tol={self.tol:g}): {result.status.value}. The objective is proven to be that near to "
            "the best one; the support is not certain, it may lack features or have too many. "
            f"{self._remedy(result)} `history_` has the gap of every iteration.",
            ConvergenceWarning,
            stacklevel=CALLER_OF_FIT,
        )

    def _remedy(self, result: Result) -> str:
        """Return what helps where a solver stopped too early."""
        stalled = result.status is Status.STALLED
        if self.solver in ("glmnet", "cdn") or (self.solver == "newglmnet" and stalled):
            return "Use solver='working-set'."
        if not stalled:
            return f"Use a larger max_iter than {self.max_iter}."
        if not self.standardize:
            return "Scale the columns of X, or use standardize=True."
        return "Use a smaller C."

    def _warn_of_size(self) -> None:
        """Warn where the path has no solution of the size that was asked for."""
        if self.n_features is None or self._reached >= int(self.n_features):
            return
        warnings.warn(
            f"n_features={self.n_features}: within tol={self.tol:g} no l1 solution was found that "
            f"has more than {self._reached} features (at C={np.max(self.C_):.3g}) before next to "
            f"nothing is left of the loss, or C is {LARGEST:g} times that of the first feature. "
            "The others were chosen by their scores"
            + (", with coefficients of 0" if self.refit_C is None else "")
            + ". Use a smaller n_features or tol, or BudgetClassifier.",
            UserWarning,
            stacklevel=CALLER_OF_FIT,
        )

    @property
    def objective_(self) -> float | list[float]:
        """The value of the problem; a list for several classes."""
        if not hasattr(self, "_results"):
            raise AttributeError("objective_ is set by fit.")
        objectives = [result.objective for result in self._results]
        return objectives[0] if len(objectives) == 1 else objectives

    @property
    def history_(self) -> tuple[Step, ...] | list[tuple[Step, ...]]:
        """One row per pass over the data; a list for several classes."""
        if not hasattr(self, "_results"):
            raise AttributeError("history_ is set by fit.")
        histories = [result.history for result in self._results]
        return histories[0] if len(histories) == 1 else histories

    @property
    def _score_loss(self) -> str:
        return str(self.loss)


def _one_or_all(values: list[float]) -> float | list[float]:
    """Return the value of the only problem, or the list of those of all classes."""
    return values[0] if len(values) == 1 else values


def gap_of(result: Result) -> float:
    """Return the certified gap of a result; infinity where rounding or overflow left none."""
    gap = float(result.history[-1].extra["gap"])
    return np.inf if np.isnan(gap) else max(gap, 0.0)

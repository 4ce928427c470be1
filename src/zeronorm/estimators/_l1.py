"""l1-regularised logistic regression and squared hinge, for every solver of the package."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from .. import _validate
from .._typing import Design, FloatArray
from ..designs._operations import center_scale
from ..designs._wrappers import n_threads_of
from ..losses import Logistic, SquaredHinge
from ..result import Result, Status, Step
from ..solvers import L1_SOLVERS, L1Problem
from ..solvers._columns import Penalty
from ..solvers._drive import Solver
from ..solvers._l1 import NEVER, Start
from ._linear import (
    CALLER_OF_FIT,
    GAP_SLACK,
    LinearClassifier,
    Rowwise,
    one_versus_rest,
    with_callbacks,
)

LOSSES = {loss.name: loss for loss in (Logistic(), SquaredHinge())}
# Rounding ends progress at gaps below this, however small a tolerance was asked.
GAP_FLOOR = 1e-9


def _gives_probabilities(estimator: L1LogisticRegression) -> bool:
    """Raise AttributeError where the scores of an estimator are no log-odds."""
    if estimator.loss != "logistic":
        raise AttributeError(
            f"Probabilities need loss='logistic'; got {estimator.loss!r}, whose scores are no "
            "log-odds. Use decision_function, or sklearn.calibration.CalibratedClassifierCV."
        )
    return True


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

    Parameters
    ----------
    C : float
        Weight of the summed loss: the 1 / (n_samples lambda) of packages with a mean loss.
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
        The certified gap to stop at, relative to the objective of the model without features.
    max_iter : int
        The most iterations; each ends with a pass over all features.
    warm_start : bool
        Whether to begin at the previous solution, where classes and number of features agree.
    n_threads : int or None
        Threads of passes over X; all allowed ones by default.

    Attributes
    ----------
    support_ : sorted indices of the features with a coefficient that is not zero (in any class).
    coef_, intercept_ : the model on all features, (1 or n_classes, n_features_in_).
    classes_ : labels.
    objective_ : value of the problem; a list for several classes.
    dual_gap_ : certified (objective - bound) / objective without features; the largest of classes.
    n_iter_ : iterations; the most of any class.
    history_ : a `Step` per pass over the data, the gap in `extra`; a list for several classes.
    n_scans_ : passes over X for scores and certificates, those of all classes merged.
    seconds_ : by phase.

    Warns
    -----
    ConvergenceWarning
        Where a solver stopped at a gap of more than twice `tol` (and more than 1e-9).

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
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
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
        sample_weight : (n_samples,) not negative; integer weights equal repeated rows.

        Raises
        ------
        ValueError
            Where a parameter or the data break a rule; the message says which and what to do.
        """
        self._fit(X, y, sample_weight)
        self._warn_of_gap()
        return self

    def _begin(
        self, data: Rowwise, seconds: dict[str, float]
    ) -> tuple[np.ndarray, list[Solver[Any]]]:
        begin = time.perf_counter()
        data, _ = self._weigh(data)
        design, weight = data.design, data.sample_weight
        penalty = self._penalty(design, weight)
        seconds["standardize"] = time.perf_counter() - begin
        classes = np.unique(data.labels)
        ys = one_versus_rest(data.labels, classes)
        solvers = []
        for y, start in zip(ys, self._starts(classes, penalty, len(ys)), strict=True):
            problem = L1Problem(
                design, y, float(self.C) * weight, penalty, LOSSES[self.loss],
                bool(self.fit_intercept), float(weight.sum()),
            )  # fmt: skip
            solver = L1_SOLVERS[self.solver](
                problem, tol=float(self.tol), max_iter=int(self.max_iter), start=start,
                n_threads=n_threads_of(design),
            )  # fmt: skip
            solvers.append(self._explained(solver, design, weight))
        return classes, solvers

    def _explained(
        self, solver: Solver[Result], design: Design, weight: FloatArray
    ) -> Solver[Result]:
        """Run a solver; where it stalled, raise if values of X are too large to square."""
        result = yield from solver
        stalled = result.status is Status.STALLED and not self._solved(result)
        if stalled and not self.standardize:  # else the scales are known
            _validate.check_spread(center_scale(design, weight, center=False).scale)
        return result

    def _penalty(self, design: Design, weight: FloatArray) -> Penalty:
        """Return the penalty of the coefficients for X as it is."""
        n_features = design.shape[1]
        factor = _validate.check_penalty_factor(self.penalty_factor, n_features)
        sign = _validate.check_signs(self.signs, n_features)
        ratio = float(self.l1_ratio)
        l1, l2 = ratio * factor, (1.0 - ratio) * factor
        if self.standardize:
            scale = center_scale(design, weight, center=False).scale
            varies = scale > 0
            std = np.divide(1.0, scale, out=np.ones(n_features), where=varies)
            l1 = np.where(varies, l1 * std, NEVER)
            l2 = np.where(varies, l2 * std**2, 0.0)
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
        self._set_models(results)
        # Without their dual points, which have a number for every row.
        self._results = tuple(replace(result, dual=None) for result in results)
        self.n_iter_ = max(len(result.history) - 1 for result in results)
        self.dual_gap_ = max(_gap(result) for result in results)
        self.seconds_["solve"] = sum(
            step.seconds["solve"] for result in results for step in result.history
        )

    def _check_parameters(self) -> None:
        _validate.check_positive("C", self.C)
        _validate.check_share("l1_ratio", self.l1_ratio)
        _validate.check_option("loss", self.loss, list(LOSSES))
        _validate.check_option("solver", self.solver, list(L1_SOLVERS))
        _validate.check_positive("tol", self.tol)
        _validate.check_iterations("max_iter", self.max_iter)
        _validate.check_count("n_threads", self.n_threads)
        for name in ("fit_intercept", "standardize", "warm_start"):
            _validate.check_flag(name, getattr(self, name))

    def _solved(self, result: Result) -> bool:
        """Return whether the gap is within twice `tol`, or within rounding."""
        return _gap(result) <= max(GAP_SLACK * float(self.tol), GAP_FLOOR)

    def _warn_of_gap(self) -> None:
        """Warn of the problem with the largest gap, where it was not solved."""
        result = max(self._results, key=_gap)
        if self._solved(result):
            return
        stalled = result.status is Status.STALLED
        if self.solver in ("glmnet", "cdn") or (self.solver == "newglmnet" and stalled):
            remedy = "Use solver='working-set'."
        elif not stalled:
            remedy = f"Use a larger max_iter than {self.max_iter}."
        elif not self.standardize:
            remedy = "Scale the columns of X, or use standardize=True."
        else:
            remedy = "Use a smaller C."
        warnings.warn(
            f"solver={self.solver!r} stopped at a certified gap of {_gap(result):.2g} (asked: "
            f"tol={self.tol:g}): {result.status.value}. The objective is proven to be that near to "
            "the best one; the support is not certain, it may lack features or have too many. "
            f"{remedy} `history_` has the gap of every iteration.",
            ConvergenceWarning,
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

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator,unused-ignore]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities, (n_samples, n_classes): the logistic function of the scores.

        With several classes, one-versus-rest probabilities normalised to sum one.
        """
        return super().predict_proba(X)

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator,unused-ignore]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probabilities, (n_samples, n_classes)."""
        return super().predict_log_proba(X)


def _gap(result: Result) -> float:
    """Return the certified gap of a result; infinity where rounding or overflow left none."""
    gap = float(result.history[-1].extra["gap"])
    return np.inf if np.isnan(gap) else max(gap, 0.0)

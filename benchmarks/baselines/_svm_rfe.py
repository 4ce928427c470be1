"""Recursive elimination of features by a linear SVM.

It has the squared hinge max(0, 1 - y z)^2, without the factor 1/2 that it has elsewhere in the
package: C is that of LIBLINEAR.

Source: Guyon, Weston, Barnhill and Vapnik, Gene selection for cancer classification using support
vector machines, Machine Learning 46, 2002 (there with the hinge loss).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.svm import LinearSVC

from zeronorm.core import validation as validate
from zeronorm.core.criteria import no_criteria
from zeronorm.core.ranking import largest
from zeronorm.core.results import Path, Selection, Status, Step
from zeronorm.core.types import FloatArray, IndexArray
from zeronorm.data.operations import on_scaling_of_x
from zeronorm.estimators import BudgetClassifier
from zeronorm.losses import SquaredHinge
from zeronorm.methods import Method
from zeronorm.solvers import SelectionRequest, Task
from zeronorm.solvers.driver import PhaseClock, Solver

# Rows per column from which on LIBLINEAR's Newton method is used: with fewer, where classes are
# easily separated, it stalls at a gradient that is small but not small enough.
PRIMAL_ROWS = 10
# Rows up to which fits with fewer rows per column are exact, by their Gram matrix: LIBLINEAR's
# coordinate descent may need very many rounds there, on correlated columns above all.
GRAM_ROWS = 3000
# Rows up to which all fits are exact: their Gram matrix costs nothing.
FEW_ROWS = 100
MAX_NEWTON = 100
LEAST_SHARE = 1e-10  # of a Newton step: rounding has made an end of it
STILL = 1e-7  # margins that change no slope by more than that
UNSOLVED = 1e-6  # relative error of the multipliers above which a fit has failed
NOTHING = np.empty(0, np.int64)


def elimination_sizes(
    n_features: int, sizes: Sequence[int], halve_above: int, share: float, single_below: int
) -> list[int]:
    """Return the numbers of features that recursive elimination passes through, falling.

    Of m features half leave where m > halve_above, else `share` of them where m > single_below,
    else one; it stops at each of `sizes`. The first number is n_features.
    """
    passed = [n_features]
    for target in sorted(sizes, reverse=True):
        while (m := passed[-1]) > target:
            if m > halve_above:
                leaving = m // 2
            else:
                leaving = max(1, int(share * m)) if m > single_below else 1
            passed.append(max(target, m - leaving))
    return passed


@dataclass(frozen=True)
class Elimination(Method):
    """Recursive elimination with a linear SVM; the options are those of `SVMRFE`."""

    name = "svm-rfe"
    sentence = "svm-rfe: recursive elimination of the smallest weights of a linear SVM"
    refit_C = None

    halve_above: int = 4000
    share: float = 0.1
    single_below: int = 100
    max_iter: int = 2000

    def check(self, loss: Any, fit_intercept: bool) -> None:
        """Raise ValueError where an option breaks a rule."""
        validate.check_share("share", self.share)
        for name in ("halve_above", "single_below", "max_iter"):
            validate.check_iterations(name, getattr(self, name))

    def select(self, task: Task, sizes: Sequence[Any], request: SelectionRequest) -> Solver[Path]:
        """Return the generator of scans; there are none."""
        return self._eliminate(task, sizes, request.C, request.tol, request.seconds)

    def _eliminate(
        self,
        task: Task,
        sizes: Sequence[Any],
        C: float,
        tol: float,
        seconds: dict[str, float] | None,
    ) -> Solver[Path]:
        yield from ()  # no scans: LIBLINEAR wants the columns in memory
        clock = PhaseClock(seconds)
        with clock.phase("gather"):
            assert task.usable is not None
            features = np.flatnonzero(task.usable)
            rows = _by_row(task.design.gather(features))
        passed = elimination_sizes(
            features.size, sizes, int(self.halve_above), float(self.share), int(self.single_below)
        )
        selections: dict[Any, Selection] = {}
        history: list[Step] = []
        removed: list[IndexArray] = []
        w = np.empty(0)
        gram = _Gram(task.intercept)
        for n_features in passed:
            if n_features < features.size:
                falling = _strongest(w)
                kept = np.sort(falling[:n_features])
                removed.append(features[falling[n_features:]])
                features, rows = features[kept], rows[:, kept]
            begin = time.perf_counter()
            fitted = _still(rows, task, C)
            few = task.y.size <= FEW_ROWS or PRIMAL_ROWS * n_features > task.sample_weight.sum()
            if fitted is None and few and task.y.size <= GRAM_ROWS:
                fitted = gram.fit(rows, task.y, C * task.sample_weight)
            w, b, n_iter = self._fit_liblinear(rows, task, C, tol) if fitted is None else fitted
            spent = {"solve": time.perf_counter() - begin}
            loss = SquaredHinge().value_gradient(rows @ w + b, task.y, task.sample_weight)[0]
            objective = 0.5 * float(w @ w + b * b) + 2.0 * C * loss
            extra = {"n_iter": float(n_iter)}
            history.append(Step(objective, math.nan, n_features, NOTHING, spent, extra))
            if n_features in sizes:
                selections[n_features] = _selection(task, features, w, b, C)
        clock.add_history(history)
        order = np.concatenate([features[_strongest(w)], *removed[::-1]])
        return Path(selections, order, tuple(history), Status.BUDGET, C=C, method=Elimination.name)

    def _fit_liblinear(
        self, rows: Any, task: Task, C: float, tol: float
    ) -> tuple[FloatArray, float, int]:
        """Return w, b and the number of iterations."""
        n_samples, n_features = rows.shape
        svm = LinearSVC(
            C=C, dual=n_samples < PRIMAL_ROWS * n_features,
            fit_intercept=task.intercept,
            tol=tol, max_iter=int(self.max_iter), random_state=0,
        )  # fmt: skip
        svm.fit(rows, task.y, task.sample_weight)
        return svm.coef_[0], float(np.ravel(svm.intercept_)[0]), int(np.max(svm.n_iter_))


def _strongest(w: FloatArray) -> IndexArray:
    """Return the features by falling w_j^2, to 30 bits of each; ties by the smaller index."""
    digits, exponent = np.frexp(w * w)
    return largest(np.ldexp(np.round(np.ldexp(digits, 30)), exponent - 30), w.size)


def _still(rows: Any, task: Task, C: float) -> tuple[FloatArray, float, int] | None:
    """Return w and b where C is so small that no margin is told from 0; else None.

    Every row is active then and has the slope 2 C s_i y_i, but for a share of `STILL`. Solvers
    would end at 0, as rounding hides what their steps gain.
    """
    slopes = 2.0 * C * task.sample_weight * task.y
    w, b = rows.T @ slopes, float(slopes.sum()) if task.intercept else 0.0
    return (w, b, 0) if np.abs(rows @ w + b).max() <= STILL else None


def _selection(task: Task, support: IndexArray, w: FloatArray, b: float, C: float) -> Selection:
    """Return the model on the user's scaling of X."""
    coef, intercept = on_scaling_of_x(task.design, support, w, b)
    return Selection(
        support, coef, intercept, C, np.ones(support.size, np.int64), None,
        math.nan, math.nan, no_criteria(),
    )  # fmt: skip


class SVMRFE(BudgetClassifier):
    """Select exactly k features by recursive elimination with a linear SVM.

    Solves, first on all features,

        min_{w, b}  1/2 ||w||^2 + 1/2 b^2 + C sum_i s_i max(0, 1 - y_i (x_i'w + b))^2

    (as scikit-learn's `LinearSVC`, which penalises b too), removes the features with the smallest
    w_j^2, and solves again on the others, until k are left; the model is that of the last fit.
    Removed features never return, and nothing is certified.

    Parameters
    ----------
    n_features : int, list of int, or None
        How many are left; a list gives several models of one elimination. None: 10, or all usable
        columns if fewer.
    C : float
        Weight of the summed loss.
    halve_above, share, single_below : int, float, int
        Of m features half are removed at once where m > halve_above, else `share` of them where
        m > single_below, else one.
    fit_intercept : bool
    standardize : bool
        Whether columns have variance 1 in the fits; w_j^2 depends on their units.
    class_weight : dict, "balanced" or None
    tol, max_iter : float, int
        Of LIBLINEAR, which warns where it does not converge. Where X has ten times as many rows
        (their weights, summed) as columns left, it fits by a trust region Newton method; with
        fewer, and more than 3000 rows, by dual coordinate descent with a fixed seed. The other
        fits, and all of at most 100 rows, are exact, by Newton's method on the Gram matrix of the
        rows (dual coordinate descent where rounding spoils it).
    n_threads : int or None
        Threads of the passes that read X.

    Attributes
    ----------
    support_ : sorted features, with several classes the union over the classes.
    coef_, intercept_ : the model for X as it is.
    path_ : the models of every size, `path_[k]`; its `order` ranks all usable features, those that
        were removed last first. One path per class with several.
    history_ : a row per fit, with the number of its features and its objective.
    n_iter_ : iterations, the most of any fit.
    classes_, n_features_in_, feature_names_in_, seconds_ : as in `BudgetClassifier`.

    Notes
    -----
    Any X that `BudgetClassifier` takes, but all usable columns are held in memory as float64.
    Integer weights equal repeated rows; where LIBLINEAR fits, within its `tol`.
    Several classes: an elimination for each against the others.

    Examples
    --------
    >>> from baselines import SVMRFE
    >>> from zeronorm.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> SVMRFE(5).fit(X, y).support_.size
    5
    """

    loss = "logistic"
    method: Any = None
    multi_class = "ovr"
    calibrate = False
    refit_C = None

    def __init__(
        self,
        n_features: int | Sequence[int] | None = None,
        *,
        C: float = 1.0,
        halve_above: int = 4000,
        share: float = 0.1,
        single_below: int = 100,
        fit_intercept: bool = True,
        standardize: bool = True,
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int = 2000,
        n_threads: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.C = C
        self.halve_above = halve_above
        self.share = share
        self.single_below = single_below
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads

    def _method(self, automatic: type[Method]) -> Method:
        return Elimination(self.halve_above, self.share, self.single_below, self.max_iter)

    def _store(self, results: list[Any]) -> None:
        super()._store(results)
        (paths,) = results
        self.n_iter_ = int(max(step.extra["n_iter"] for path in paths for step in path.history))

    @property
    def _score_loss(self) -> str:
        return "squared_hinge"


class _Gram:
    """Exact fits on fewer and fewer columns, by Newton's method on the Gram matrix K of the rows.

    At the optimum w = X'a and b = sum(a), a_i = 2 c_i y_i max(0, 1 - y_i z_i) with z = Ka: on the
    active rows, where y_i z_i < 1, (K + diag(1 / (2 c))) a = y, on the others a = 0. A step goes
    to the solution for the rows that are active now; the objective is convex, and halving the step
    until it falls is enough, as the active rows then change for good.
    """

    def __init__(self, intercept: bool) -> None:
        self._intercept = intercept
        self._a: FloatArray | None = None  # of the fit before: where the next one begins

    def fit(self, rows: Any, y: FloatArray, c: FloatArray) -> tuple[FloatArray, float, int] | None:
        """Return w, b and the number of steps; None where rounding keeps it from the optimum.

        c : (n,) C times the sample weights.
        """
        product: Any = rows @ rows.T  # sparse where rows are
        K: FloatArray = product if isinstance(product, np.ndarray) else product.toarray()
        if self._intercept:
            K += 1.0
        a = np.zeros(y.size) if self._a is None else self._a
        z = K @ a

        def objective(a: FloatArray, z: FloatArray) -> float:
            return 0.5 * float(a @ z) + float(c @ np.maximum(0.0, 1.0 - y * z) ** 2)

        value, n_steps = objective(a, z), 0
        while n_steps < MAX_NEWTON:
            n_steps += 1
            active = np.flatnonzero(y * z < 1.0)
            system = K[np.ix_(active, active)]
            system[np.diag_indices(active.size)] += 0.5 / c[active]
            target = np.zeros(y.size)
            if active.size:
                try:
                    target[active] = cho_solve(cho_factor(system, overwrite_a=True), y[active])
                except LinAlgError:
                    return None
            step, step_z = target - a, K @ target - z
            share = 1.0
            while (lower := objective(a + share * step, z + share * step_z)) >= value:
                share *= 0.5
                if share < LEAST_SHARE:
                    break
            if lower >= value:
                break
            gain, value = value - lower, lower
            a, z = a + share * step, z + share * step_z
            if gain <= 1e-14 * value:
                break
        wanted = 2.0 * c * y * np.maximum(0.0, 1.0 - y * z)
        if not np.abs(a - wanted).max() <= UNSOLVED * np.abs(a).max():
            return None
        self._a = a
        return rows.T @ a, float(a.sum()) if self._intercept else 0.0, n_steps


def _by_row(columns: Any) -> Any:
    """Return columns by row, as LIBLINEAR reads them: C order, or CSR with 32-bit indices."""
    if isinstance(columns, np.ndarray):
        return np.ascontiguousarray(columns)
    rows = columns.tocsr()
    if rows.nnz <= np.iinfo(np.int32).max:  # else scikit-learn says that there are too many
        rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return rows

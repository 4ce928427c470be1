"""The l1 norm with the loss of a measure, by plain cutting planes (l1-bmrm).

    min_{|u_j| <= box, b}  ||u||_1 + C R(Xu + b)                                               (P)

R is the loss of a measure (`zeronorm.measures`). Every round solves the linear program

    min  sum_j p_j + q_j + C xi,   xi >= delta_k - (X'beta_k)'(p - q) - sum_i beta_ki b,
         0 <= p, q <= box, xi >= 0

over the cuts so far and adds the cut at its solution u = p - q. The objective is not strongly
convex, so that iterates jump and nothing bounds their number; any multipliers alpha of the cuts
bound the optimum, though, by

    delta'alpha - box sum_j max(0, |c_j| - 1),   c = sum_k alpha_k X'beta_k

where alpha >= 0, sum alpha <= C, and sum_ki alpha_k beta_ki = 0 with a free intercept.

Sources: Mao and Tsang, A feature selection method for multivariate performance measures, TPAMI 2013
(l1-bmrm-F1, a competitor there); Teo, Vishwanathan, Smola and Le, Bundle methods for regularized
risk minimization, JMLR 11, 2010.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from zeronorm.core import validation as validate
from zeronorm.core.criteria import no_criteria
from zeronorm.core.ranking import largest
from zeronorm.core.results import Path, Selection, Status, Step
from zeronorm.core.types import FloatArray, IndexArray
from zeronorm.data import Scaled
from zeronorm.data.operations import margins, on_scaling_of_x
from zeronorm.estimators import MeasureClassifier
from zeronorm.estimators.measures import renamed
from zeronorm.measures import Cut, Measure, parse_measure
from zeronorm.solvers import MeasureTask, Task
from zeronorm.solvers.driver import PhaseClock, Scan, Solver

COLUMNS = 200  # that enter the linear program at once
SLACK = 1e-7  # by which |c_j| may exceed 1 outside of the linear program


@dataclass(frozen=True, slots=True)
class Solution:
    """A solution of the program over the cuts."""

    support: IndexArray  # positions of the nonzeros
    u: FloatArray  # their values
    b: float
    bound: float  # of (P)


class LinearMaster:
    """The linear program over the cuts, with columns generated where |c_j| > 1."""

    def __init__(self, n_columns: int, C: float, box: float, intercept: bool) -> None:
        self._C, self._box, self._intercept = C, box, intercept
        self._rows = np.empty((8, n_columns))  # X'beta_k; the first `_n` are cuts
        self._n = 0
        self._delta: list[float] = []
        self._g: list[float] = []
        self._columns = np.empty(0, np.int64)  # of the linear program

    def add(self, row: FloatArray, cut: Cut) -> None:
        """Add a cut, with X'beta as its row."""
        if self._n == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[self._n] = row
        self._n += 1
        self._delta.append(cut.delta)
        self._g.append(float(cut.beta.sum()))

    def solve(self) -> Solution | None:
        """Return a solution; None where the solver of linear programs failed."""
        rows, delta = self._rows[: self._n], np.array(self._delta)
        bound = 0.0
        while True:
            found = self._program(rows[:, self._columns], delta)
            if found is None:
                return None
            u, b, alpha = found
            scores = np.abs(alpha @ rows)
            excess = np.maximum(0.0, scores - 1.0)
            bound = max(bound, float(delta @ alpha) - self._box * float(excess.sum()))
            excess[self._columns] = 0.0
            missing = np.flatnonzero(excess > SLACK)
            if not missing.size:
                break
            entering = missing[largest(excess[missing], min(COLUMNS, missing.size))]
            self._columns = np.concatenate([self._columns, entering])
        used = np.flatnonzero(u)
        return Solution(self._columns[used], u[used], b, bound)

    def _program(
        self, a: FloatArray, delta: FloatArray
    ) -> tuple[FloatArray, float, FloatArray] | None:
        """Solve the program over some columns; return u, b and the multipliers of the cuts."""
        n_cuts, m = a.shape
        last = [np.full((n_cuts, 1), -1.0)]
        bounds: list[tuple[float | None, float | None]] = [(0.0, self._box)] * (2 * m)
        bounds.append((0.0, None))
        cost = np.append(np.ones(2 * m), self._C)
        if self._intercept:
            last.append(-np.array(self._g)[:, None])
            bounds.append((None, None))
            cost = np.append(cost, 0.0)
        answer = linprog(
            cost, A_ub=np.hstack([-a, a, *last]), b_ub=-delta, bounds=bounds, method="highs"
        )
        if answer.status != 0 or answer.x is None:
            return None
        alpha = np.maximum(0.0, -answer.ineqlin.marginals)
        alpha *= min(1.0, self._C / max(float(alpha.sum()), 1e-300))
        u = answer.x[:m] - answer.x[m : 2 * m]
        return u, float(answer.x[-1]) if self._intercept else 0.0, alpha


@dataclass(frozen=True, slots=True)
class _Point:
    """A point of (P), on the selection scaling."""

    support: IndexArray
    u: FloatArray
    b: float
    z: FloatArray  # (n,) scores, the intercept in
    objective: float


def plain_cutting_planes(
    task: MeasureTask,
    *,
    box: float,
    tol: float,
    max_iter: int,
    seconds: dict[str, float] | None = None,
) -> Solver[Path]:
    """Solve (P) to a gap of `tol`, relative to its objective, or for `max_iter` rounds.

    Returns
    -------
    Path with one model, that of the smallest objective, by a generator of scans.
    """
    data, measure = task.data, task.measure
    features = np.arange(data.design.shape[1])
    if data.usable is not None:
        features = np.flatnonzero(data.usable)
    master = LinearMaster(features.size, task.C, box, task.intercept)
    zero = np.zeros(data.y.size)
    cut = task.cut(zero)
    best = _Point(features[:0], np.empty(0), 0.0, zero, task.C * max(0.0, cut.at(zero)))
    new = [cut, *task.constant_cuts()]
    history: list[Step] = []
    bound, gap = 0.0, math.inf
    status = Status.MAX_ITER
    for _ in range(max_iter):
        for one, scores in zip(
            new, (yield [Scan(data.design, one.beta) for one in new]), strict=True
        ):
            master.add(scores[features], one)
        begin = time.perf_counter()
        found = master.solve()
        if found is None:
            status = Status.STALLED
            break
        support = features[found.support]
        z = _scores(data, support, found.u, found.b)
        cut = task.cut(z)
        norm = float(np.abs(found.u).sum())
        objective = norm + task.C * max(0.0, cut.at(z))
        if objective < best.objective:
            best = _Point(support, found.u, found.b, z, objective)
        bound = max(bound, found.bound)
        if best.objective <= 0.0:
            raise ValueError(
                f"measure={measure.name!r} has no loss for any scores here, so nothing can be "
                "learnt from these rows. Use another measure."
            )
        gap = max(0.0, best.objective - bound) / best.objective
        spent = {"solve": time.perf_counter() - begin}
        extra = {"gap": gap, "boxed": float((np.abs(best.u) >= box).sum())}
        history.append(Step(best.objective, bound, support.size, support, spent, extra))
        new = [cut]
        if gap <= tol:
            status = Status.CONVERGED
            break
    PhaseClock(seconds).add_history(history)
    model = _selection(task, best, bound)
    order = best.support[largest(np.abs(best.u), best.u.size)]
    return Path({model.n_features: model}, order, tuple(history), status, gap)


def _scores(data: Task, support: IndexArray, u: FloatArray, b: float) -> FloatArray:
    """Return Xu + b, where sparse columns may be centred."""
    coef, intercept = on_scaling_of_x(data.design, support, u, b)
    base = data.design.base if isinstance(data.design, Scaled) else data.design
    return margins(base, support, coef, intercept)


def _selection(task: MeasureTask, point: _Point, bound: float) -> Selection:
    """Return the model on the user's scaling of X, the threshold taken from its intercept."""
    threshold = task.measure.threshold(point.z, task.data.y, task.weight)
    position = np.argsort(point.support)
    support = point.support[position]
    coef, intercept = on_scaling_of_x(
        task.data.design, support, point.u[position], point.b - threshold
    )
    return Selection(
        support, coef, intercept, task.C, np.ones(support.size, np.int64), None,
        math.nan, math.nan, no_criteria(), objective=point.objective, bound=bound,
    )  # fmt: skip


class L1Bmrm(MeasureClassifier):
    """Train for a measure with the l1 norm, by plain cutting planes.

        min_{|u_j| <= box, b}  ||u||_1 + C R(Xu + b)

    with R as in `zeronorm.MeasureClassifier`; with F1 the published l1-bmrm-F1, its
    lambda = 1 / C. A linear program over the cuts so far gives the next point. The features are
    those with nonzero coefficients of the best point: their number follows from C and from where
    the method stops, and cannot be asked for.

    Parameters
    ----------
    measure : str or Measure
        As of `zeronorm.MeasureClassifier`.
    C : float
        Weight of R, which is in percent, once for all samples.
    box : float
        Largest |u_j|, for columns of variance 1 with `standardize`.
    fit_intercept, standardize, pos_label, class_weight
        As of `zeronorm.MeasureClassifier`.
    tol : float
        Gap to stop at, (objective - bound) / objective; 0.1 as published.
    max_iter : int
        The most rounds; 1000 as published.
    n_threads : int or None

    Attributes
    ----------
    support_ : sorted features with nonzero coefficients; with several classes the union.
    coef_, intercept_ : the model on the scaling of X, the threshold subtracted from the intercept.
    gap_ : the certified gap; of several classes the largest.
    n_iter_ : rounds, the most of any class.
    history_ : a row per round: the best objective and bound so far, the features of its own point,
        and in `extra` the gap and the number of coefficients of the best point on the box.
    path_ : the model, by its size; of several classes one path each, all by the largest size.
    classes_, n_features_in_, feature_names_in_, n_scans_, seconds_ : as in `BudgetClassifier`.

    Warns
    -----
    ConvergenceWarning
        Where it stopped at a larger gap, or with a coefficient on the box.

    Notes
    -----
    Plain cutting planes may need far more rounds than `max_iter`. Until a point is better than the
    model without features, that is the best one, and it is returned, with the warning.

    Integer weights equal repeated rows, and X in one storage X in another, within `tol`: where a
    linear program has several solutions, the last bit of a sum may choose among them.

    A row of numbers for all columns is kept for every cut: up to max_iter x n_features numbers.
    Methods as of `zeronorm.MeasureClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from baselines import L1Bmrm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 50))
    >>> y = X[:, 3] - X[:, 7] + 0.2 * rng.standard_normal(300) > 2
    >>> model = L1Bmrm("f1").fit(X, y)
    >>> bool(model.gap_ <= 0.1) and {3, 7} <= set(model.support_.tolist())
    True
    """

    n_features = None
    block_size = None
    max_blocks = None
    refit = True

    def __init__(
        self,
        measure: str | Measure = "f1",
        *,
        C: float = 0.1,
        box: float = 10.0,
        fit_intercept: bool | str = "auto",
        standardize: bool = True,
        pos_label: Any = None,
        class_weight: Any = None,
        tol: float = 0.1,
        max_iter: int = 1000,
        n_threads: int | None = None,
    ) -> None:
        self.measure = measure
        self.C = C
        self.box = box
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.pos_label = pos_label
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads

    def _check_parameters(self) -> None:
        validate.check_positive("C", self.C)
        validate.check_positive("box", self.box)
        validate.check_iterations("max_iter", self.max_iter)
        super()._check_parameters()

    def _select(
        self,
        task: Task,
        sizes: tuple[int, ...],
        *,
        seconds: dict[str, float] | None = None,
        **_: Any,
    ) -> Solver[Path]:
        problem = MeasureTask(task, parse_measure(self.measure), float(self.C))
        solver = plain_cutting_planes(
            problem, box=float(self.box), tol=float(self.tol), max_iter=int(self.max_iter),
            seconds=seconds,
        )  # fmt: skip
        return renamed(solver, sizes[0])

    def _store(self, results: list[Any]) -> None:
        # The size follows from the solution, of each class by itself: the largest names them all.
        (paths,) = results
        size = max(path[max(path)].n_features for path in paths)
        super()._store([[replace(path, selections={size: path[max(path)]}) for path in paths]])
        self.gap_ = max(float(path.gap) for path in paths)
        self.n_iter_ = max(len(path.history) for path in paths)

    def _doubts(self) -> Iterator[Warning]:
        worst = max(self._paths, key=lambda path: path.gap)
        if not worst.gap <= float(self.tol):
            failed = worst.status is Status.STALLED
            remedy = (
                "The solver of linear programs failed; a smaller C or standardize=True helps."
                if failed
                else f"Use a larger max_iter than {self.max_iter}, or a smaller C."
            )
            yield ConvergenceWarning(
                f"Cutting planes stopped at a certified gap of {worst.gap:.2g} (asked: "
                f"tol={self.tol:g}). {remedy}"
            )
        elif any(path.history[-1].extra["boxed"] > 0 for path in self._paths):
            yield ConvergenceWarning(
                f"A coefficient lies on box={self.box:g}; the gap is that of the problem with it. "
                "Use a larger box, or a smaller C."
            )

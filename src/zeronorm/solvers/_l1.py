"""l1-regularised classification: the problem, its certificate, and the working-set method.

    min_{u, b}  sum_j l1_j |u_j| + l2_j/2 u_j^2 + sum_i s_i f(y_i, x_i'u + b),  low <= u <= high

with s the sample weights times C, f the logistic loss or the squared hinge, and b free or 0. The
dual problem is, with c = X'(alpha * y),

    max_alpha  -conjugate(alpha) - sum_j max(|c_j| - l1_j, 0)^2 / (2 l2_j)

with |c_j| <= l1_j where l2_j = 0, and sum_i alpha_i y_i = 0 where b is free; with a sign constraint
only one sign of c_j counts. Any alpha = -y * gradient becomes feasible by shrinking, and its value
certifies the gap that all these methods stop by.

Source: Massias, Gramfort and Salmon, Celer: a fast solver for the lasso with dual extrapolation,
ICML 2018 (working sets that the dual point chooses); proximal Newton steps as in newGLMNET.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from .._typing import Columns, Design, FloatArray, IndexArray, Smooth
from ..designs._operations import resident_columns, scan_error
from ..designs._wrappers import as_slice, feature_blocks
from ..losses import Logistic, balance, fit_intercept
from ..result import Result, Status, Step
from ..structures import largest
from ._columns import ColumnSet, Descent, Model, Penalty, storage_of
from ._cutting_plane import GatheredColumns, first_dual
from ._drive import Scan, Solver
from ._stopwatch import Stopwatch

SIGMA, MAX_HALVINGS = 0.01, 20  # of the line search, as published
PRECISION = 1e-14  # relative differences of the objective below this are rounding
NEVER = 1e300  # l1 weight of features that are not to enter
LARGEST_SQUARE = 1e140  # sum of squares of a column
EXACT_SCAN = 1e-10
EQUAL = 1e-12  # relative size of a sum that counts as zero
PATIENCE = 20  # scans in a row that narrow the gap by rounding only, before giving up
SWEEPS_AT_ONCE = 50  # of a descent, between looks at Ctrl-C
MAX_SWEEPS = 1000
# Gram matrices are formed of at most so many columns, and of so many as a share of the rows, where
# a descent does not end within the first sweeps. (No rule asks how rows are stored: integer weights
# equal repeated rows.)
LARGEST_GRAM, LARGEST_SPARSE_GRAM, GRAM_SHARE, FIRST_SWEEPS = 2000, 500, 0.25, 8
LARGEST_COPY = 1 << 26  # elements that are copied for a Gram matrix
LARGEST_STEP = 10.0  # of a coordinate, in units of the margins: LIBLINEAR's 10 for unit columns

# Working sets
SMALLEST_SET = 500
GROWTH = 3  # a working set has at most so many times the features of the last solution
NEAR = 0.8  # features drawn by more than this share of their l1 weight fill up a working set
LIKELY = 0.5  # and by more than this are gathered along
# Of the gap over all features: the gap over the working set to stop at; less far where features had
# to stay outside that are drawn in.
INNER_SHARE, TRUNCATED_SHARE = 0.03, 0.2
DESCENT_SHARE, SMALLEST_SHARE = 0.2, 1e-3  # of the violation of a step: what a descent leaves
MAX_NEWTON = 50


@dataclass(frozen=True, slots=True)
class L1Problem:
    """The problem of this module: data, labels, weights, penalty, loss."""

    design: Design
    y: FloatArray  # (n,) +-1
    weight: FloatArray  # (n,) sample weights times C
    penalty: Penalty
    loss: Smooth
    intercept: bool
    size: float  # sum of the sample weights: the number of rows, were they repeated


@dataclass(frozen=True, slots=True)
class Start:
    """Where a solver begins: a sparse u, and b."""

    support: IndexArray = field(default_factory=lambda: np.empty(0, np.int64))
    coef: FloatArray = field(default_factory=lambda: np.empty(0))
    intercept: float = 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """A point, u on some features and b, with its margins and its loss."""

    features: IndexArray  # (q,) sorted
    u: FloatArray  # (q,)
    b: float
    z: FloatArray  # (n,) X u + b
    value: float  # of the loss
    gradient: FloatArray  # (n,) of the loss in the margins

    @property
    def support(self) -> IndexArray:
        """The features with u_j != 0."""
        return np.asarray(self.features[self.u != 0])

    def on(self, features: IndexArray) -> Point:
        """Return the same point on other features, sorted, that hold the support."""
        u = np.zeros(features.size)
        used = self.u != 0
        u[np.searchsorted(features, self.features[used])] = self.u[used]
        return replace(self, features=features, u=u)


def working_set(
    problem: L1Problem, *, tol: float, max_iter: int, start: Start | None = None, n_threads: int = 1
) -> Solver[Result]:
    """Solve to (objective - bound) <= tol * objective of the model without features.

    Every scan of all features certifies the last point and chooses the next working set: the
    support, and the features that the scores draw most from zero. Over it proximal Newton steps,
    each a coordinate descent on the quadratic model and a line search, go on until the gap over the
    working set is a small share of that over all features.
    """
    run = Run(problem, tol, max_iter, n_threads)
    yield from run.begin(start)
    while run.status is None:
        features = run.choose()
        goal = 0.3 * tol
        if features.size < problem.penalty.l1.size:
            share = TRUNCATED_SHARE if run.truncated else INNER_SHARE
            goal = max(share * min(run.gap, 1.0), goal)
        point, counts = solve_over(run, features, goal)
        yield from run.certify(point, counts)
    return run.result()


def solve_over(run: Run, features: IndexArray, goal: float) -> tuple[Point, dict[str, float]]:
    """Solve over some features, from the last point; return the point, and counts.

    goal : the gap of the problem over these features, relative to that without any.
    """
    with run.clock:
        return _prox_newton(run, run.columns(features), run.point.on(features), goal * run.scale)


def _prox_newton(
    run: Run, columns: ColumnSet, point: Point, goal: float
) -> tuple[Point, dict[str, float]]:
    """Take proximal Newton steps over the columns to a gap of `goal`."""
    problem = run.problem
    penalty = problem.penalty.of(columns.features)
    share, sweeps, steps = DESCENT_SHARE, 0, 0
    # With few columns of many rows, long descents are cheaper on the Gram matrix.
    most = LARGEST_SPARSE_GRAM if columns.is_sparse else LARGEST_GRAM
    use_gram = columns.size <= min(GRAM_SHARE * problem.size, most)
    use_gram = use_gram and columns.size * problem.size <= LARGEST_COPY
    Z: Columns | None = None
    bound = -np.inf
    limits = largest_steps(problem, columns)
    # The point before a step that changed the objective by rounding only, and its violation.
    before: tuple[Point, float] | None = None
    for steps in range(MAX_NEWTON):
        model = model_at(problem, columns, point, limits)
        if not float(model.square.max(initial=0.0)) < LARGEST_SQUARE:
            break  # products overflow: there is no step
        violation = float(penalty.violation(model.gradient, point.u).sum())
        if before is not None and violation >= before[1]:
            point = before[0]
            break
        bound = max(bound, run.bound_over(columns, penalty, point, model.gradient))
        if point.value + penalty.value(point.u) - bound <= goal:
            break
        descent = columns.descent(model)
        target = share * violation
        if not use_gram:
            sweep(descent, target, steps, 1.0 / problem.size)
        elif not descent.sweep(target, FIRST_SWEEPS, steps, 1.0 / problem.size):
            if Z is None:
                Z = problem.design.gather(as_slice(columns.features))
            descent.sweep_gram(Z, target, MAX_SWEEPS)
        sweeps += descent.n_sweeps
        if descent.n_sweeps == 1:
            share = max(0.25 * share, SMALLEST_SHARE)
        moved = moved_along(problem, columns, point, model, descent)
        if moved is None:
            break
        before = (point, violation) if moved[1] else None
        point = _with_best_intercept(problem, moved[0])
    return point, {"steps": steps, "sweeps": sweeps, "visited": columns.size}


def model_at(
    problem: L1Problem, columns: ColumnSet, point: Point, limits: FloatArray, nu: float = 0.0
) -> Model:
    """Return the quadratic model of the problem at a point, over the columns.

    limits : (q,) the largest step of each coordinate.
    """
    curvature = problem.loss.curvature(point.z, problem.y, problem.weight)
    gradient, square = columns.terms(point.gradient, curvature)
    slope = float(point.gradient.sum()) if problem.intercept else 0.0
    rows = problem.penalty.of(columns.features).rows()
    return Model(
        curvature, gradient, square, rows, point.u, limits, nu, problem.intercept, slope
    )  # fmt: skip


def largest_steps(problem: L1Problem, columns: ColumnSet) -> FloatArray:
    """Return the largest step of each coordinate: it moves margins by about LARGEST_STEP.

    From the weights of the rows and not from the curvature, which rows of large margins have not.
    """
    weight = problem.weight
    size = np.sqrt(columns.terms(weight, weight)[1] / float(weight.sum()))
    steps = np.full(size.size, LARGEST_STEP)
    np.divide(LARGEST_STEP, size, out=steps, where=size > 0)
    return steps


def sweep(descent: Descent, target: float, seed: int, shrinking: float) -> None:
    """Descend to the target, or through MAX_SWEEPS; Ctrl-C is noticed between some sweeps."""
    while descent.n_sweeps < MAX_SWEEPS:
        at_once = min(SWEEPS_AT_ONCE, MAX_SWEEPS - descent.n_sweeps)
        if descent.sweep(target, at_once, seed + descent.n_sweeps, shrinking):
            return


def moved_along(
    problem: L1Problem,
    columns: ColumnSet,
    point: Point,
    model: Model,
    descent: Descent,
    *,
    search: bool = True,
) -> tuple[Point, bool] | None:
    """Return the point after the line search along a step; None where nothing decreases.

    The second part says that the objective changed by rounding only: whether the step is one to the
    better, the violations have to tell.
    """
    penalty = problem.penalty.of(columns.features)
    d, e = descent.step, descent.offset
    before = penalty.value(point.u)
    slope = float(model.gradient @ d) + model.gradient_e * e
    slope += penalty.value(point.u + d) - before
    along = columns.combine(d, np.full(point.z.size, e))
    rounding = PRECISION * abs(point.value + before)
    share = 1.0
    for _ in range(MAX_HALVINGS):
        u, z = point.u + share * d, point.z + share * along
        value, gradient = problem.loss.value_gradient(z, problem.y, problem.weight)
        change = value - point.value + penalty.value(u) - before
        exact = abs(change) <= rounding
        if not search or exact or change <= SIGMA * share * slope < 0:
            return Point(point.features, u, point.b + share * e, z, value, gradient), exact
        share *= 0.5
    return None


def _with_best_intercept(problem: L1Problem, point: Point) -> Point:
    """Return the point with b optimal for its u."""
    if not problem.intercept:
        return point
    z = point.z - point.b
    b, value, gradient = fit_intercept(problem.loss, z, problem.y, problem.weight, point.b)
    return replace(point, b=b, z=z + b, value=value, gradient=gradient)


def _bound(
    problem: L1Problem,
    penalty: Penalty,
    alpha: FloatArray,
    pull: FloatArray,
    entropy: float | None = None,
) -> float:
    """Return the value of the dual at the largest feasible multiple of alpha, at most 1.

    pull : of the features of `penalty` at alpha, see Penalty.pull.
    entropy : -conjugate(alpha) where it is known. As the conjugate is convex and 0 at 0, t times
        that is a bound of its value at t alpha, without logarithms.
    """
    bounded = (penalty.l2 == 0) & (penalty.l1 > 0)
    if bounded.all():
        ratio = float((pull / penalty.l1).max(initial=0.0))
    else:
        ratio = float((pull[bounded] / penalty.l1[bounded]).max(initial=0.0))
    t = 1.0 / max(1.0, ratio)
    if entropy is None:
        value = -problem.loss.conjugate(t * alpha, problem.y, problem.weight)
    else:
        value = t * entropy
    if not bounded.all():
        ridge = penalty.l2 > 0
        excess = np.maximum(t * pull[ridge] - penalty.l1[ridge], 0.0)
        value -= 0.5 * float((excess**2 / penalty.l2[ridge]).sum())
    return value


class Run:
    """What the solvers share: certified points, the choice of features, the history."""

    def __init__(self, problem: L1Problem, tol: float, max_iter: int, n_threads: int) -> None:
        self.problem = problem
        self.clock = Stopwatch()
        self.status: Status | None = None
        self.history: list[Step] = []
        self.bound = -np.inf
        self.point: Point
        self.scores: FloatArray  # (m,) X'(alpha * y) at the point
        self.pull = np.empty(0)  # (m,) after the first scan
        self.truncated = False  # whether the last choice left out features that are drawn in
        self.scale = first_dual(problem.loss, problem.y, problem.weight, problem.intercept)[0]
        self._tol, self._max_iter, self._n_threads = tol, max_iter, n_threads
        self._storage = resident_columns(problem.design)
        # Where there is no such storage, the columns gathered so far.
        self._gathered = (
            GatheredColumns(problem.design, SMALLEST_SET) if self._storage is None else None
        )
        self._seen = np.zeros(problem.design.shape[1], bool)
        self._best: tuple[Point, FloatArray, float] | None = None
        self._idle = 0
        self._begun = 0  # rows of the history when the solver began
        penalty = problem.penalty
        self._always = np.flatnonzero(penalty.l1 == 0)  # in every working set
        unpenalised = self._always[penalty.l2[self._always] == 0]
        # Without a penalty, the dual asks for x_j'(alpha * y) = 0, or one sign of it where u_j has
        # a sign: columns times y, the intercept first, and the sign of each that is allowed.
        self._equalities: FloatArray | None = None
        if unpenalised.size:
            columns = problem.design.gather(unpenalised)
            Z = np.asarray(columns.todense()) if sp.issparse(columns) else columns
            ones = np.ones((problem.y.size, int(problem.intercept)))
            self._equalities = problem.y[:, None] * np.hstack([ones, Z])
            sign = np.where(penalty.low == 0, -1.0, 0.0) + np.where(penalty.high == 0, 1.0, 0.0)
            self._allowed = np.append(np.zeros(int(problem.intercept)), sign[unpenalised])
        # Scores of a scan err by this times ||x_j|| ||v||; float64 is taken as exact.
        error = scan_error(problem.design)
        self._error = error * _norms(problem.design) if error > EXACT_SCAN else None

    @property
    def n_iter(self) -> int:
        """Iterations so far: scans but the first."""
        return len(self.history) - self._begun

    @property
    def gap(self) -> float:
        """(best objective - best bound) / objective of the model without features."""
        assert self._best is not None
        return (self._best[2] - self.bound) / self.scale

    def restart(self, problem: L1Problem, factor: float) -> None:
        """Go on from the last point with another C, `factor` times the one before: no scan."""
        self.problem = problem
        self.clock, self.status, self.history, self._begun = Stopwatch(), None, [], 0
        self.bound, self._best, self._idle = -np.inf, None, 0
        self.scale *= factor
        self.scores *= factor
        self.pull *= factor
        point = self.point
        self.point = replace(point, value=factor * point.value, gradient=factor * point.gradient)

    def strong(self, ratio: float) -> IndexArray:
        """Return the support, and the features of the sequential strong rule, sorted.

        ratio : C before / C now.
        """
        kept = self.pull >= max(2.0 - ratio, NEAR) * self.problem.penalty.l1
        kept[self.point.support] = True
        kept[self._always] = True
        return np.flatnonzero(kept)

    def begin(self, start: Start | None = None) -> Solver[None]:
        """Certify the start, or the model without features where that is better."""
        point = self._point(Start())
        if start is not None and start.support.size:
            with np.errstate(over="ignore", invalid="ignore"):
                begun = _with_best_intercept(self.problem, self._point(start))
            penalty = self.problem.penalty.of(begun.features)
            if begun.value + penalty.value(begun.u) <= self.scale:
                point = begun
        self._begun = len(self.history) + 1
        yield from self.certify(point, {})

    def _point(self, start: Start) -> Point:
        problem = self.problem
        z = np.full(problem.y.size, start.intercept)
        if start.support.size:
            self.columns(start.support).combine(start.coef, z)
        value, gradient = problem.loss.value_gradient(z, problem.y, problem.weight)
        return Point(start.support, start.coef, start.intercept, z, value, gradient)

    def columns(self, features: IndexArray) -> ColumnSet:
        """Return some columns: in place, or gathered."""
        if self._storage is not None:
            return ColumnSet(self._storage, features, self._n_threads)
        gathered = self._gathered
        assert gathered is not None
        missing = features[gathered.position(features) < 0]
        if missing.size or not gathered.size:
            gathered.add(self._with_likely(missing, gathered.features))
        storage = storage_of(gathered.columns())
        return ColumnSet(storage, features, self._n_threads, gathered.position(features))

    def _with_likely(self, features: IndexArray, gathered: IndexArray) -> IndexArray:
        """Return features to gather, and others that may be wanted next: one pass serves them."""
        if not self.pull.size:
            return features
        likely = self.pull > LIKELY * self.problem.penalty.l1
        likely[gathered] = False
        likely[features] = False
        others = np.flatnonzero(likely)
        most = max(features.size, SMALLEST_SET)
        if others.size > most:
            others = others[largest(self.pull[others] / self.problem.penalty.l1[others], most)]
        return np.concatenate([features, others])

    def all_columns(self) -> ColumnSet:
        """Return all columns; X is copied unless it is in memory by column."""
        m = self.problem.design.shape[1]
        if self._storage is None:
            self._storage = storage_of(self.problem.design.gather(slice(0, m)))
        return self.columns(np.arange(m))

    def choose(self) -> IndexArray:
        """Return the next working set, sorted."""
        l1 = self.problem.penalty.l1
        if l1.size <= SMALLEST_SET:
            return np.arange(l1.size)
        support = np.union1d(self.point.support, self._always)
        near = self.pull > NEAR * l1
        near[support] = False
        candidates = np.flatnonzero(near)
        size = max(SMALLEST_SET, GROWTH * support.size) - support.size
        self.truncated = candidates.size > size
        if self.truncated:
            excess = self.pull[candidates] / l1[candidates]
            candidates = candidates[largest(excess, size)]
        return np.union1d(support, candidates)

    def certify(self, point: Point, counts: Mapping[str, float]) -> Solver[None]:
        """Scan at a point: its gap, its row of the history, and whether to stop."""
        problem, penalty = self.problem, self.problem.penalty
        seconds = {"solve": self.clock.seconds}
        self.clock = Stopwatch()
        point = _with_best_intercept(problem, point)
        alpha, feasible = self._dual_point(point)
        self.scores = yield Scan(problem.design, alpha * problem.y)
        self.pull = penalty.pull(self.scores)
        if self._error is not None:
            self._recompute(alpha * problem.y)
        self.point = point
        before = (self._best[2], self.bound) if self._best is not None else (np.inf, -np.inf)
        if feasible:
            self.bound = max(self.bound, _bound(problem, penalty, alpha, self.pull))
        objective = point.value + penalty.of(point.features).value(point.u)
        if self._best is None or objective <= self._best[2]:
            self._best = (point, alpha, objective)
        support = point.support
        fresh = support[~self._seen[support]]
        self._seen[fresh] = True
        extra = {"gap": self.gap, **counts}
        self.history.append(Step(objective, self.bound, support.size, fresh, seconds, extra))
        lower = before[0] - self._best[2] > PRECISION * self.scale
        tighter = self.bound > before[1] + PRECISION * self.scale
        self._idle = 0 if lower or tighter else self._idle + 1
        if self.gap <= self._tol:
            self.status = Status.CONVERGED
        elif self._idle > PATIENCE or not np.isfinite(objective):
            self.status = Status.STALLED
        elif self.n_iter >= self._max_iter:
            self.status = Status.MAX_ITER

    def bound_over(
        self, columns: ColumnSet, penalty: Penalty, point: Point, gradient: FloatArray
    ) -> float:
        """Return the bound at a point for the problem over some columns: where to stop there."""
        if self._equalities is None:
            # Fenchel's equality: f(z) + f*(-alpha y) = -alpha y z.
            entropy = point.value - float(point.gradient @ point.z)
            return _bound(self.problem, penalty, point.gradient, penalty.pull(-gradient), entropy)
        alpha, feasible = self._dual_point(point)
        if not feasible:
            return -np.inf
        scores = columns.terms(alpha * self.problem.y, np.zeros(alpha.size))[0]
        return _bound(self.problem, penalty, alpha, penalty.pull(scores))

    def result(self) -> Result:
        """Return the best point with its certificate."""
        assert self._best is not None
        assert self.status is not None
        point, alpha, objective = self._best
        used = point.u != 0
        return Result(
            point.features[used], point.u[used], point.b, objective, {"dual": self.bound}, alpha,
            self.status, tuple(self.history),
        )  # fmt: skip

    def _dual_point(self, point: Point) -> tuple[FloatArray, bool]:
        """Return alpha at a point, within the equalities of the dual, and whether in its box."""
        problem = self.problem
        alpha = np.maximum(-problem.y * point.gradient, 0.0)
        if self._equalities is None:
            return (balance(alpha, problem.y) if problem.intercept else alpha), True
        V = self._equalities
        curvature = problem.loss.curvature(point.z, problem.y, problem.weight)
        D = np.minimum(curvature, alpha)  # rows at the ends of their interval do not move
        active = self._allowed == 0
        for _ in range(4):  # rounding, and signs that come out wrong
            some = V[:, active]
            M = some.T @ (D[:, None] * some)
            alpha = alpha - D * (some @ np.linalg.lstsq(M, some.T @ alpha, rcond=None)[0])
            active |= (V.T @ alpha) * self._allowed < 0
        logistic = isinstance(problem.loss, Logistic)
        inside = bool(np.all(alpha >= 0) and (not logistic or np.all(alpha <= problem.weight)))
        rest = V.T @ alpha
        rest[rest * self._allowed > 0] = 0.0
        size = np.abs(V).T @ np.abs(alpha)
        return alpha, inside and bool(np.all(np.abs(rest) <= EQUAL * size))

    def _recompute(self, v: FloatArray) -> None:
        """Replace scores in float32 by exact ones where they can decide the bound.

        That is where the largest |c_j| / l1_j may be, and where l2_j > 0 counts what is above l1_j.
        """
        assert self._error is not None
        penalty = self.problem.penalty
        error = self._error * float(np.linalg.norm(v))
        high = self.pull + error > penalty.l1
        bounded = high & (penalty.l1 > 0)
        low = (self.pull[bounded] - error[bounded]) / penalty.l1[bounded]
        strongest = max(1.0, float(low.max(initial=0.0)))
        unsure = np.flatnonzero(
            high & ((self.pull + error >= strongest * penalty.l1) | (penalty.l2 > 0))
        )
        for some in feature_blocks(unsure, v.size):
            if self._storage is not None:
                columns = ColumnSet(self._storage, some, self._n_threads)
            else:
                storage = storage_of(self.problem.design.gather(some))
                columns = ColumnSet(storage, some, self._n_threads, np.arange(some.size))
            exact = columns.terms(v, np.zeros(v.size))[0]
            self.scores[some] = exact
            self.pull[some] = penalty.of(some).pull(exact)


def _norms(design: Design) -> FloatArray:
    """Return ||x_j|| of all columns."""
    n, m = design.shape
    square = np.empty(m)
    for start in range(0, m, design.block):
        stop = min(start + design.block, m)
        square[start:stop] = design.moments(np.ones(n), start, stop)[1]
    return np.sqrt(square)

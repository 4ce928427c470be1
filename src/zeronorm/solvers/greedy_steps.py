"""Forward greedy selection: one scan adds the feature, or the group, that fits best what is left.

After every step the model over the features chosen so far is fitted again,

    min_{u, b}  1/2 ||u||^2 + fit_C sum_i s_i f(y_i, x_i'u + b),    u_j = 0 outside them,    (F)

and its residual v_i = -fit_C s_i f'(y_i, z_i) is what the next scan correlates with the
columns. A feature is worth |c_j| / ||x_j||, c = X'v; a group G the length of the residual's
projection on its columns, (c_G' (X_G'X_G)^+ c_G)^(1/2), which is ||c_G|| for orthonormal columns
and |c_j| / ||x_j|| for a group of one. So neither the units of X nor a change of basis inside a
group matter. With a free intercept, norms and projections are of centred columns, in any storage.

Sources: GLR, the greedy baseline of Tan, Tsang and Wang, IEEE TNNLS 24(10), 2013; for groups,
Lozano, Swirszcz and Abe, Group orthogonal matching pursuit for logistic regression, AISTATS 2011,
who assume that the columns of a group are orthonormal.

Differences from the sources, each covered by a test in tests/test_greedy.py: forced features,
sample weights, and the ridge in (F) where they have none, or one of 1e-8. Without it there is no
fit where the chosen features separate the classes, and the residual, 0 in the limit, says nothing
of the next feature. Any fit_C keeps it meaningful; fit_C = 1e8 is theirs; with far more features
than samples it often selects worse than the default (docs/guide/greedy.md).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.groups import Groups
from ..core.results import Path, Result, Status, Step
from ..core.types import Columns, FloatArray, IndexArray
from ..data.gathered import GatheredColumns, gather
from ..data.operations import center_scale, moments
from ..data.views import IN_MEMORY
from .driver import PhaseClock, Scan, SearchResult, SelectionRequest, Solver
from .finish import finish, refit_support
from .problem import BudgetUnits, Grouped, Risk, Singles, Task, ranked
from .ridge_fits import Ridge, ridge


@dataclass(frozen=True, slots=True)
class GreedyTuning:
    """Constants of the greedy selection."""

    tighter: int = 10  # times that a fit may be asked for a smaller gap: see `_fit`
    # Eigenvalues below this share of the largest, of the correlations of a group, count as 0:
    # scores of float32 scans have an error of 1e-7, and are divided by the roots.
    rank: float = 1e-8


GREEDY = GreedyTuning()


def greedy(
    task: Task, sizes: Sequence[int], request: SelectionRequest, *, fit_C: float
) -> Solver[Path]:
    """Select for every size of `sizes` by forward greedy steps, by a generator of scans.

    One scan per step, the largest size counts the steps; the prefixes of the order of entry are the
    supports of all sizes. Forced features are there from the start and count. Ties go to the
    smaller index.

    Parameters
    ----------
    task : with groups, a step adds all usable features of one.
    sizes : numbers of features; of groups where there are any. `path[size]` are the models.
    request : C is of the certificate only, tol the certified gap of every fit, relative to its own
        objective; features (groups) of the start are taken without a scan, in order of entry.
    fit_C : weight of the summed loss in (F).
    """
    clock, start, tol = PhaseClock(request.seconds), request.start, request.tol
    n_steps = max(sizes)
    risk = task.risk(fit_C)
    zero_value, dual, b = risk.first()
    with clock.phase("norms"):
        units: BudgetUnits = (
            _GreedyFeatures(task) if task.groups is None else _GreedyGroups(task, task.groups)
        )
    left = units.usable.copy()
    pool = GatheredColumns(task.design, n_steps if task.groups is None else 0)
    fit = Ridge(np.empty(0), b, np.empty(0), dual, np.empty(0), zero_value, 0.0, 1.0)
    ends = [0]  # features after so many units
    history: list[Step] = []
    n_done = 0  # units that are fitted

    def enter(chosen: IndexArray) -> None:
        """Add units and fit."""
        nonlocal fit, n_done
        left[chosen] = False
        ends.extend(ends[-1] + np.cumsum(units.sizes(chosen)))
        entered = units.features(chosen)
        begin = time.perf_counter()
        pool.add(entered)
        gathered = time.perf_counter()
        fit = _fit(risk, pool.columns(), fit, zero_value, tol)
        seconds = {"gather": gathered - begin, "solve": time.perf_counter() - gathered}
        converged = fit.objective - fit.bound <= tol * fit.objective
        status = Status.CONVERGED if converged else Status.STALLED
        history.append(
            Step(
                fit.objective, fit.bound, pool.size, entered, seconds, {"gap": fit.gap}, status
            )
        )  # fmt: skip
        n_done = len(ends) - 1

    def ending(sizes: Sequence[int]) -> Solver[Path]:
        order, fits = pool.features, {}
        with clock.phase("refit"):
            for size in sorted(set(sizes)):
                position = np.argsort(order[: ends[size]])
                support = order[position]
                Z = pool.columns().take(position)
                fits[size] = (support, refit_support(task, Z, support, request.refit_C))
        result = Result(
            np.sort(order), np.empty(0), 0.0, np.nan, {}, None, Status.BUDGET, tuple(history)
        )  # fmt: skip
        answer = SearchResult(result, {})
        clock.add_history(answer.result.history)
        return (yield from finish(task, request, fits, [answer], clock))

    request.keep(lambda: [k for k in sizes if k <= n_done], ending)
    if task.forced.size:
        enter(units.of(task.forced))
    known = units.of(np.concatenate(start)) if len(start) else np.empty(0, np.int64)
    known = known[left[known]][: n_steps - len(ends) + 1]
    if known.size:
        enter(known)
    while len(ends) <= n_steps:
        scores = yield Scan(task.design, fit.dual)
        strength = units.strength(scores)
        strength[~left] = -1.0
        best = np.array([strength.argmax()])
        enter(ranked(task.design, units, strength, scores, fit.dual, best)[:1])
    return (yield from ending(sizes))


def _fit(risk: Risk, Z: Columns, before: Ridge, zero_value: float, tol: float) -> Ridge:
    """Return the solution of (F) over gathered columns, the last of which are new.

    The gap is to be `tol` of the objective, which falls by orders where the features begin to
    separate the classes; `ridge` measures it by the objective of the model without features.
    """
    coef, b = np.zeros(Z.shape[1]), before.intercept
    coef[: before.coef.size] = before.coef
    wanted = tol * before.objective / zero_value
    for _ in range(GREEDY.tighter):
        fit = ridge(Z, risk, start=(coef, b), tol=wanted)
        stopped = fit.gap > wanted  # by rounding
        wanted = tol * fit.objective / zero_value
        if stopped or fit.gap <= wanted:
            break
        coef, b = fit.coef, fit.intercept
    return fit


class _GreedyFeatures(Singles):
    """Every feature by itself: |c_j| / ||x_j||."""

    def __init__(self, task: Task) -> None:
        super().__init__(task.usable)
        self._inverse = _inverse_norms(task)

    def strength(self, scores: FloatArray) -> FloatArray:
        magnitude = super().strength(scores)
        if self._inverse is not None:
            magnitude *= self._inverse
        return magnitude


class _GreedyGroups(Grouped):
    """Groups of features: c_G' (X_G'X_G)^+ c_G = ||W_G' c_G||^2, W_G made once from the columns.

    Together the W_G have as many entries as the squared sizes of the groups add up to. Every column
    is gathered once for them.
    """

    def __init__(self, task: Task, groups: Groups) -> None:
        super().__init__(groups.code, len(groups), task.usable)
        self._whiten, self._owner_of_row = self._orthonormalise(task)

    def strength(self, scores: FloatArray) -> FloatArray:
        projected = self._whiten @ scores[self._features]
        square = np.bincount(self._owner_of_row, projected**2, self.usable.size)
        return np.asarray(square, np.float64)

    def _orthonormalise(self, task: Task) -> tuple[Any, IndexArray]:
        """Return the W_G' as one block diagonal matrix, and the group of each of its rows."""
        blocks: list[FloatArray] = []
        owner: list[int] = []
        for units in self._batches(task.design.shape[0]):
            first = self._begin[units[0]]
            columns = gather(task.design, self._features[first : self._end[units[-1]]])
            for unit in units:
                part = slice(self._begin[unit] - first, self._end[unit] - first)
                whiten = _whitening(columns.take(part), task.sample_weight, task.intercept)
                blocks.append(whiten)
                owner += [unit] * whiten.shape[0]
        return sp.block_diag(blocks, format="csr"), np.array(owner, np.int64)

    def _batches(self, n_samples: int) -> list[IndexArray]:
        """Return the groups in runs whose columns fit in memory together."""
        units = np.flatnonzero(self.usable)
        run = self._end[units] * n_samples // IN_MEMORY
        return np.split(units, np.flatnonzero(np.diff(run)) + 1)


def _whitening(columns: Columns, weight: FloatArray, centred: bool) -> FloatArray:
    """Return W', (rank, p), with W W' = (X'SX)^+ for the columns X, centred or not."""
    mean = columns.dot(weight) / weight.sum() if centred else np.zeros(columns.shape[1])
    gram = columns.covariance(weight, mean)
    length = np.sqrt(np.maximum(np.diag(gram), 0.0))
    inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    values, vectors = np.linalg.eigh(gram * inverse[:, None] * inverse)
    kept = values > GREEDY.rank * values[-1]
    return np.asarray((inverse[:, None] * vectors[:, kept] / np.sqrt(values[kept])).T)


def _inverse_norms(task: Task) -> FloatArray | None:
    """Return 1 / ||x_j|| up to a common factor, 0 for columns without length; None if all agree."""
    design, weight = task.design, task.sample_weight
    if task.intercept:
        if task.scaling != "none":  # columns of deviation 1
            return None
        return center_scale(design, weight, center=True).scale
    norm = np.sqrt(moments(design, weight)[1])
    return np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0)

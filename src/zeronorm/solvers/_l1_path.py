"""Paths of l1-regularised problems: one solution after the other along a growing C.

Every point starts from the solution before it. Its scores are those of the last scan times the
ratio of the two C, so the sequential strong rule (Tibshirani et al., JRSS B 74, 2012) names its
first working set without a scan; the scan after it certifies, and finds what the rule left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from .._typing import FloatArray, IndexArray
from ..designs import Scaled
from ..result import Result, Status, Step
from ..structures import largest
from ._columns import Penalty
from ._cutting_plane import Minimax
from ._drive import Solver
from ._l1 import NEVER, L1Problem, Run
from ._task import Task
from ._working_set import solve_over

GRID, LARGEST = 1.1, 100.0  # ratio of the grid of `l1_supports`, and of its last to its first C
TOL, MAX_ITER = 1e-4, 50  # of every point of it
FORCED_FACTOR = 1e-6  # forced features are nearly unpenalised: finite where they separate the data


def l1_path(
    problem: L1Problem,
    grid: Callable[[float], Iterable[float]],
    *,
    tol: float,
    max_iter: int,
    enough: Callable[[Result, FloatArray], bool] = lambda result, pull: False,
    forced: IndexArray | None = None,
    n_threads: int = 1,
) -> Solver[list[tuple[float, Result]]]:
    """Return (C, solution) along a growing grid, up to the first solution that is enough.

    Parameters
    ----------
    problem : with the weights of C = 1.
    grid : the values of C, growing, from the one below which the penalised features stay out.
    tol : (objective - bound) / objective of the model without features, at every point.
    enough : told the solution and how strongly each feature is drawn in, as a share of its l1.
    forced : features with so small a penalty that the path begins without asking them.
    """
    run = Run(problem, tol, max_iter, n_threads)
    yield from run.begin()
    l1 = problem.penalty.l1
    share = _share(run.pull, l1)
    if forced is not None:
        share[forced] = 0.0
    strongest = float(share.max(initial=0.0))
    path: list[tuple[float, Result]] = []
    if strongest <= 0:
        return path
    before = 1.0 / strongest
    run.restart(replace(problem, weight=before * problem.weight), before)
    for C in grid(before):
        run.restart(replace(problem, weight=C * problem.weight), C / before)
        features = run.strong(before / C)
        before = C
        while run.status is None:
            point, counts = solve_over(run, features, 0.3 * tol)
            yield from run.certify(point, counts)
            features = np.union1d(features, run.choose())
        path.append((C, run.result()))
        if enough(path[-1][1], _share(run.pull, l1)):
            break
    return path


def _share(pull: FloatArray, l1: FloatArray) -> FloatArray:
    """Return pull / l1, 0 where nothing is penalised."""
    return np.divide(pull, l1, out=np.zeros_like(pull), where=l1 > 0)


def l1_supports(
    task: Task, sizes: Sequence[int], n_threads: int = 1
) -> Solver[tuple[dict[int, IndexArray], Minimax]]:
    """Return for every size k the support at the largest C with at most k features, exactly k.

    A support with fewer than k features is completed by the largest scores at that C. The second
    part of the answer tells when features entered.
    """
    m = task.design.shape[1]
    forced = np.empty(0, np.int64) if task.forced is None else task.forced
    allowed = np.ones(m, bool) if task.usable is None else task.usable
    problem = _posed(task, forced, allowed)
    supports: dict[int, IndexArray] = {}
    history: list[Step] = []
    entered = np.zeros(m, bool)
    missing = sorted(set(sizes))
    last_pull = np.zeros(m)

    def enough(result: Result, pull: FloatArray) -> bool:
        active = np.union1d(result.support, forced)
        for k in [k for k in missing if active.size > k]:
            missing.remove(k)
        for k in missing:
            supports[k] = active
        fresh = active[~entered[active]]
        entered[fresh] = True
        fresh = fresh[np.argsort(-pull[fresh], kind="stable")]
        history.append(Step(np.nan, np.nan, active.size, fresh))
        last_pull[:] = pull
        return not missing

    yield from l1_path(
        problem,
        lambda low: low * GRID ** np.arange(1, int(np.log(LARGEST) / np.log(GRID)) + 1),
        tol=TOL, max_iter=MAX_ITER, enough=enough, forced=forced, n_threads=n_threads,
    )  # fmt: skip
    last_pull[~allowed] = -1.0
    for k in sizes:
        support = supports.get(k, forced)
        if support.size < k:
            rest = last_pull.copy()
            rest[support] = -1.0
            support = np.union1d(support, largest(rest, k - support.size))
        supports[k] = np.sort(support)
    last = supports[max(sizes)]
    answer = Result(
        last, np.zeros(last.size), 0.0, np.nan, {}, None, Status.BUDGET, tuple(history)
    )  # fmt: skip
    return supports, Minimax(answer, {})


def _posed(task: Task, forced: IndexArray, allowed: np.ndarray) -> L1Problem:
    """Return the problem of a task at C = 1, on columns as they are stored.

    Columns divided by their deviation are columns with as many times the penalty; with a free
    intercept centring changes nothing.
    """
    design, l1 = task.design, np.ones(task.design.shape[1])
    if isinstance(design, Scaled):
        l1 = np.divide(1.0, design.scale, out=np.full(l1.size, NEVER), where=design.scale > 0)
        design = design.base
    l1[forced] *= FORCED_FACTOR
    l1[~allowed] = NEVER
    everything = np.full(l1.size, np.inf)
    penalty = Penalty(l1, np.zeros(l1.size), -everything, everything)
    size = float(task.sample_weight.sum())
    return L1Problem(design, task.y, task.sample_weight, penalty, task.loss, task.intercept, size)

"""Selections that only published methods make.

Exactly k features by SALM or ASALM: without scans, on the columns that fit in memory. The union of
the blocks of the minimax cutting plane, whatever its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...core.ranking import largest
from ...core.results import Path, Status
from ...core.types import FloatArray, IndexArray
from ...data.gathered import gather
from ...solvers import CuttingPlane, SelectionRequest, Task, cutting_plane
from ...solvers.certify import Goal
from ...solvers.driver import PhaseClock, Scan, Solver
from ...solvers.exchange import POOL_FACTOR, POOL_MIN
from ...solvers.finish import finish, refit_support
from ...solvers.l0 import L0Search, conclude, usable_starts
from .alpha_step import SplitProblem
from .splitting import Splitting, split

SPLIT_ELEMENTS = 10_000_000  # of columns (and of the dense inverse of BFGS) that SALM holds


def select_by_splitting(
    task: Task,
    sizes: Sequence[int],
    request: SelectionRequest,
    options: Splitting,
    goal: Goal | None = None,
) -> Solver[Path]:
    """Select exactly k features for every k of `sizes`, by a generator of scans.

    All columns are seen, or the features of the largest scores where these are more than
    SPLIT_ELEMENTS numbers. The methods begin at the fit of the first start that has k features.

    goal : as for `select_l0`.
    """
    clock = PhaseClock(request.seconds)
    search = L0Search(task, request.C, sizes, request.tol)
    yield from _fill(search, options, usable_starts(task, request), clock)
    with clock.phase("select"):
        for k in search.sizes:
            _split(search, k, options, request.start)
    return (yield from conclude(search, request, clock, goal))


def select_union(
    task: Task, most: int, request: SelectionRequest, options: CuttingPlane
) -> Solver[Path]:
    """Select the union of the blocks of the minimax cutting plane, by a generator of scans.

    As published: r features a scan, for T scans or until the problem over all features is solved;
    no block is cut, and none is filled up.

    most : how many features (groups) the union may have; the path has its model by this number.
    """
    clock = PhaseClock(request.seconds)
    answer = yield from cutting_plane(task, None, options, C=request.C)
    clock.add_history(answer.result.history)
    support = answer.result.support
    with clock.phase("gather"):
        Z = gather(task.design, support)
    with clock.phase("refit"):
        fits = {most: (support, refit_support(task, Z, support, request.refit_C))}
    return (yield from finish(task, request, fits, [answer], clock))


def _fill(
    search: L0Search, options: Splitting, given: Sequence[IndexArray], clock: PhaseClock
) -> Solver[None]:
    """Gather all units that may be used, or as many of the largest scores as may be held."""
    task, n = search.task, search.risk.size
    units, largest_unit = task.units, 1
    usable = np.flatnonzero(units.usable)
    if usable.size:
        largest_unit = int(units.sizes(usable).max())
    first = np.unique(np.concatenate([search.forced, *(units.of(one) for one in given)]))
    room = SPLIT_ELEMENTS * task.loss.outputs // (n * largest_unit)
    if options.inner == "bfgs":
        room = min(room, int(SPLIT_ELEMENTS**0.5) // largest_unit)
    room = max(room, POOL_FACTOR * search.sizes[-1], POOL_MIN, first.size)
    if usable.size > room:
        scores = yield Scan(task.design, search.zero_dual)
        strength = search.strength(scores)
        strength[first] = np.inf
        usable = np.sort(largest(strength, room))
    with clock.phase("gather"):
        search.add(usable)


def _split(search: L0Search, k: int, options: Splitting, start: Sequence[IndexArray]) -> None:
    """Offer the support of k units that SALM or ASALM finds in the pool."""
    task, pool = search.task, search.pool
    found = split(
        SplitProblem(pool.columns(), search.risk), k, options,
        keep=np.arange(search.forced.size), start=_split_start(search, k, start),
        units=search.units,
    )  # fmt: skip
    if search.status in (Status.BUDGET, Status.CONVERGED):  # the first that fails is told
        search.status = found.status
    seen = pool.size // task.loss.outputs
    columns = {"columns": float(seen), "usable": float(task.n_usable)}
    search.history += [
        replace(step, entered=pool.features[step.entered], extra={**step.extra, **columns})
        for step in found.history
    ]
    search.offer(found.support)
    search.record(k, search.support(k))


def _split_start(
    search: L0Search, k: int, start: Sequence[IndexArray]
) -> tuple[FloatArray, float] | None:
    """Return beta and b of the fit of the first start that is a support of k units."""
    units = search.task.units
    for support in start:
        places, own = search.pool.position(support), units.of(support)
        fits = own.size == k and units.sizes(own).sum() == support.size
        if fits and (places >= 0).all() and np.isin(search.forced, own).all():
            found = search.exchanges.fit(np.sort(places))
            beta = np.zeros(search.pool.size)
            beta[found.columns] = found.fit.coef
            return beta, found.fit.intercept
    return None

"""Exactly k features, the best procedure known: pool, elimination, splicing, refit, certificate.

1. a pool of 3k features by the minimax cutting plane (C = 0.1, five blocks, free intercept) on
   standardised columns;
2. backward elimination inside the pool, with a ridge of the same C;
3. splicing inside the pool where it helps: with many samples or few features;
4. the final refit on the user's scaling, C by approximate leave-one-out;
5. the certificate of the support.

Only the pool and the certificate scan the data: about seven passes, for any k.

Of numbers and times whose candidates are nearly collinear, as channels of spectra are, elimination
ends far from the best features: there exchanges (`l0.select_l0`) take the place of 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..core.parallel import map_threads
from ..core.results import Path
from ..core.types import Columns, IndexArray
from ..data.gathered import gather
from .certify import MOST_COMPARED, SAME_SCORE
from .driver import PhaseClock, Scan, SearchResult, SelectionRequest, Solver
from .exchange import POOL_FACTOR, POOL_MIN, Exchanges, GroupExchanges
from .final_fits import Refit
from .finish import finish, refit_support
from .l0 import select_l0
from .l1.path import MAX_ITER, l1_supports
from .l1.reweighted import Rule, reweighted_supports
from .minimax import CuttingPlane, InnerSolver, cutting_plane, newton
from .problem import Grouped, Singles, Task, copies, free_signs
from .ridge_fits import Movement, of_times, with_covariates


@dataclass(frozen=True, slots=True)
class SelectTuning:
    """Constants of the pools that selections share."""

    pool_blocks: int = 5  # scans that a pool takes
    direct_blocks: int = 3  # blocks of the direct selection of k features
    most_blocks: int = 30  # where the smallest of several sizes would ask for more scans than that
    # Numbers in a pool above which sizes are worked at in threads: below, calls cost more than
    # work.
    busy: float = 4e5
    # Sizes down to a fifth of the largest share its pool; smaller ones get a pool of their own.
    shared_pool: int = 5


SELECT = SelectTuning()
# Splicing at the end is neutral on small samples with larger budgets, and costs time.
SPLICE_SAMPLES, SPLICE_FEATURES = 1000, 10
# The median variance inflation of the first candidates, from which on these are collinear: 1e3 to
# 1e9 on spectra, 1 to 36 on gene expression, genotypes and drawn columns.
COLLINEAR, COMPARED = 200.0, 10
STARTS, TOL = 4, 1e-4  # of exchanges among them


def select(
    task: Task,
    sizes: Sequence[int],
    request: SelectionRequest,
    *,
    block_size: int | None = None,
    max_blocks: int | None = None,
    factor: float = POOL_FACTOR,
) -> Solver[Path]:
    """Select exactly k features for every k of `sizes`, by a generator of scans.

    Where the task has groups, k and `block_size` count these, and they enter as a whole. The first
    pool begins with the blocks of an earlier fit; `tol` is the certified gap of its inner
    problems.

    block_size, max_blocks : of the pool (by default a fifth of the pool).
    factor : candidates in the pool for each feature to select.
    """
    clock, C, start = PhaseClock(request.seconds), request.C, request.start
    fits: dict[int, tuple[IndexArray, Refit]] = {}
    pools: list[SearchResult] = []
    left = sorted(set(sizes), reverse=True)

    def ending(sizes: Sequence[int]) -> Solver[Path]:
        return finish(task, request, {k: fits[k] for k in sizes}, pools, clock)

    while left:
        group = [k for k in left if SELECT.shared_pool * k >= left[0]]
        left = [k for k in left if k not in group]
        size = min(int(task.units.usable.sum()), max(math.ceil(factor * group[0]), POOL_MIN))
        block = block_size
        if block is None:
            block = -(-size // (SELECT.pool_blocks if max_blocks is None else max_blocks))
        pool = yield from cutting_plane(
            task, size, CuttingPlane(block, inner_tol=request.tol), C=C, start=start,
            final_scan=False, l0_sizes=tuple(group) if request.certify else (),
        )  # fmt: skip
        start = ()  # the pools of smaller sizes begin anew
        clock.add_history(pool.result.history)
        pools.append(pool)
        features = pool.result.support
        with clock.phase("gather"):
            Z = gather(task.design, features)
        if len(pools) == 1:
            if _is_collinear(task, Z.take(np.searchsorted(features, pool.result.order))):
                strict = replace(request, tol=min(request.tol, TOL))
                return (yield from select_l0(task, sizes, strict, n_starts=STARTS))
            request.keep(lambda: fits, ending)
        with clock.phase("select"):
            chosen = _reduced(task, C, features, Z, group)

        with clock.phase("refit"):
            _each(group, Z, partial(_refit, task, request, Z, features, chosen, fits))
    return (yield from finish(task, request, fits, pools, clock))


def _is_collinear(task: Task, Z: Columns) -> bool:
    """Return whether the first columns are nearly combinations of each other: of numbers alone."""
    first = min(COMPARED, Z.shape[0] // 4, Z.shape[1])
    if task.groups is not None or task.loss.outputs > 1 or task.loss.of_labels or first < 2:
        return False
    weight = task.sample_weight / task.sample_weight.sum()
    columns = Z.take(np.arange(first)).dense()
    columns = np.sqrt(weight)[:, None] * (columns - weight @ columns)
    columns /= np.maximum(np.sqrt((columns**2).sum(axis=0)), np.finfo(float).tiny)
    # The ridge keeps equal columns from being singular; they count as collinear all the same.
    correlation = columns.T @ columns + 1e-12 * np.eye(first)
    return bool(np.median(np.diag(np.linalg.inv(correlation))) > COLLINEAR)


def _each(sizes: Sequence[int], Z: Columns, work: Callable[[int], None]) -> None:
    """Do the work of every size, in threads where that of the columns Z takes a while."""
    map_threads(work, sizes, None if Z.shape[0] * Z.shape[1] > SELECT.busy else 1)


def _refit(
    task: Task,
    request: SelectionRequest,
    Z: Columns,
    features: IndexArray,
    chosen: dict[int, IndexArray],
    fits: dict[int, tuple[IndexArray, Refit]],
    k: int,
) -> None:
    support = features[chosen[k]]
    fits[k] = support, refit_support(task, Z.take(chosen[k]), support, request.refit_C)


def _reduced(
    task: Task, C: float, features: IndexArray, Z: Columns, sizes: Sequence[int]
) -> dict[int, IndexArray]:
    """Return the columns of a pool, Z, that elimination and splicing leave, sorted, by size."""
    few = [k for k in sizes if task.n_rows >= SPLICE_SAMPLES or k <= SPLICE_FEATURES]
    if task.groups is None:
        distinct = _distinct(task, features, Z, max(sizes))
        if distinct.size < features.size:
            of_these = _reduced(task, C, features[distinct], Z.take(distinct), sizes)
            return {k: distinct[columns] for k, columns in of_these.items()}
        keep, signs = np.searchsorted(features, task.forced), task.signs[features]
        columns, risk, more = Z, task.risk(C), 0
        if of_times(risk) and not Movement.of(Z, risk, signs).is_small:
            columns, risk, unit = with_covariates(Z, risk)
            more = unit.size
            keep = np.append(keep, features.size + np.arange(more))
            signs = np.append(signs, free_signs(more))
        units = Singles(np.ones(signs.size, bool), signs)
        exchanges = Exchanges(columns, risk, units, keep=keep)
        chosen = exchanges.eliminate(np.arange(features.size + more), [k + more for k in sizes])

        def splice(k: int) -> None:
            first = exchanges.fit(chosen[k + more])
            chosen[k + more] = exchanges.improve(first, swaps=False).columns

        _each(few, Z, splice)
        return {k: chosen[k + more][:k] for k in sizes}
    own, code = np.unique(task.groups.code[features], return_inverse=True)
    keep = np.searchsorted(own, task.units.of(task.forced))
    groups = Grouped(code, own.size, np.ones(code.size, bool))
    of_groups = GroupExchanges(Z, task.risk(C), groups, keep=keep)
    chosen = of_groups.eliminate(np.arange(features.size), sizes)
    improved = {k: of_groups.improve(of_groups.fit(chosen[k]), swaps=False) for k in few}
    return chosen | {k: found.columns for k, found in improved.items()}


def _distinct(task: Task, features: IndexArray, Z: Columns, size: int) -> IndexArray:
    """Return the columns of a pool but for copies of earlier ones, where enough are left.

    The ridge prefers a feature and its copy, with half the coefficient each, to a second feature
    that tells little; a user gains nothing from it.
    """
    every = np.arange(features.size)
    if task.signs.any():
        return every
    own = every[~copies(Z, np.isin(features, task.forced))]
    return own if own.size >= size else every


def _without_copies(task: Task, size: int) -> Solver[Task]:
    """Return the task without copies of usable features, where enough are left: one scan.

    Columns are compared whose scores agree. On an l1 path a feature and its copy enter together.
    """
    scores = np.abs((yield Scan(task.design, task.risk(1.0).first()[1])))
    open_to = np.flatnonzero(task.usable)
    order = open_to[np.argsort(scores[open_to], kind="stable")]
    near = np.diff(scores[order]) <= SAME_SCORE * scores[order[1:]]
    tied = order[np.append(near, False) | np.append(False, near)][-MOST_COMPARED:]
    if not tied.size or task.signs.any():
        return task
    tied = np.sort(tied)
    usable = task.usable.copy()
    usable[tied[copies(gather(task.design, tied), np.isin(tied, task.forced))]] = False
    return replace(task, usable=usable) if usable.sum() >= size else task


def select_nested(
    task: Task,
    sizes: Sequence[int],
    request: SelectionRequest,
    *,
    block_size: int | None = None,
    max_blocks: int | None = None,
    inner: InnerSolver = newton,
) -> Solver[Path]:
    """Select by the minimax cutting plane itself: nested supports for every k of `sizes`.

    One run to the largest k; features are ordered by (block, |score| at entry), and the prefixes of
    that order are the supports. `block_size` is by default ceil(k / 3) for the smallest k, at least
    a thirtieth of the largest, or ceil(k / max_blocks) for the largest. Where the task has groups,
    k and `block_size` count these, and they enter as a whole.
    """
    clock = PhaseClock(request.seconds)
    largest = max(sizes)
    if block_size is None:
        block_size = max(-(-min(sizes) // SELECT.direct_blocks), -(-largest // SELECT.most_blocks))
        if max_blocks is not None:
            block_size = -(-largest // max_blocks)
    answer = yield from cutting_plane(
        task, largest, CuttingPlane(block_size, inner=inner, inner_tol=request.tol), C=request.C,
        start=request.start, l0_sizes=tuple(sizes) if request.certify else (),
    )  # fmt: skip
    clock.add_history(answer.result.history)
    order = answer.result.order
    ends = np.cumsum(task.units.sizes(task.units.of(order)))
    with clock.phase("gather"):
        Z = gather(task.design, order)
    fits = {}
    with clock.phase("refit"):
        for k in sorted(set(sizes)):
            position = np.argsort(order[: ends[k - 1]])
            support = order[position]
            fits[k] = support, refit_support(task, Z.take(position), support, request.refit_C)
    return (yield from finish(task, request, fits, [answer], clock))


def select_l1(
    task: Task,
    sizes: Sequence[int],
    request: SelectionRequest,
    *,
    max_iter: int = MAX_ITER,
    rule: Rule | None = None,
) -> Solver[Path]:
    """Select by the l1 path: the largest C with at most k features, made up to k.

    The path has its own C, `tol` is of every point of it, and it begins anew.

    max_iter : of every point of the path.
    rule : None, or how the path is followed in stages, see `reweighted_supports`.
    """
    clock = PhaseClock(request.seconds)
    options: dict[str, Any] = {"tol": request.tol, "max_iter": max_iter}
    distinct = yield from _without_copies(task, max(sizes))
    if rule is None:
        supports, answer = yield from l1_supports(distinct, sizes, **options)
    else:
        supports, answer = yield from reweighted_supports(distinct, sizes, rule=rule, **options)
    clock.add_history(answer.result.history)
    fits = {}
    with clock.phase("refit"):
        for k, support in supports.items():
            Z = gather(task.design, support)
            fits[k] = support, refit_support(task, Z, support, request.refit_C)
    return (yield from finish(task, request, fits, [answer], clock))

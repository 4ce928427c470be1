"""The rounds of the search for the best k features or groups by exchanges: see `l0.search`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.ranking import largest
from ...core.types import FloatArray, IndexArray
from ..clock import PhaseClock
from ..drive import Scan, Solver
from ..pool.exchange import POOL_FACTOR, Fitted
from ..task import Task
from .search import NEW_MIN, Search

# With next to no ridge the objective has many poor local optima: the search begins with this much
# of it, and goes on from what it finds there.
FIRST_STAGES = (0.1, 1.0)
MAX_ROUNDS = 20
# Elimination from all features, with the ridge of C and with more, where a Gram matrix of them or
# of the rows takes so many multiply-adds, and they have so many entries: what only tells something
# beside others is found there.
ELIMINATED, MOST_ENTRIES = 1e9, 1 << 22
ELIMINATED_C = (0.1, 1.0)  # as shares of C


def explore(
    task: Task,
    C: float,
    sizes: Sequence[int],
    tol: float,
    given: Sequence[IndexArray],
    clock: PhaseClock,
    *,
    swaps: bool,
    n_starts: int = 1,
) -> Solver[Search]:
    """Search for the best features of all sizes, from the strongest ones.

    given : features that the pool has from the start, of groups with all of theirs.
    swaps : whether to swap, begin with more ridge where there is next to none, and look for
        replacements; else there is only splicing.
    n_starts : how many searches there are, the further ones from drawn candidates; where that is
        cheap, the first of several goes on from what elimination leaves of all features, and the
        others begin with what it leaves of drawn halves of them.
    """
    stages = [stage for stage in FIRST_STAGES if swaps and stage < C] + [C]
    search = Search(task, stages[0], sizes, tol)
    scores = yield Scan(task.design, search.zero_dual)
    with clock.phase("gather"):
        for features in given:
            search.add(task.units.of(features))
    _begin(search, scores, clock, swaps=swaps)
    yield from _exchange(search, clock, swaps=swaps, replace=swaps and len(stages) == 1)
    for stage in stages[1:]:
        before, search = search, Search(task, stage, sizes, tol, search)
        with clock.phase("select"):
            for k in search.sizes:
                search.offer(before.best[k].columns, improve=True)
                search.record(k, search.pool.features)
        yield from _exchange(search, clock, swaps=True, replace=True)
    cheap = n_starts > 1 and _is_cheap(task)
    if cheap:
        with clock.phase("select"):
            helps = [search.eliminated(share) for share in ELIMINATED_C]
        if any(helps):
            yield from _exchange(search, clock, swaps=True, replace=True)
    random = np.random.default_rng(0)
    for _ in range(1, n_starts):
        with clock.phase("select"):
            other = search.restarted_from_all(random) if cheap else search.restarted(random)
        yield from _exchange(other, clock, swaps=True, replace=True)
        search.take_over(other)
    return search


def _is_cheap(task: Task) -> bool:
    """Return whether elimination from all features takes a second or two, and little memory.

    Groups, outputs that share features, rows that are not by themselves and sparse columns have no
    compiled fits, or fits of many columns that take minutes.
    """
    n, p = task.design.shape
    plain = task.groups is None and task.loss.separable and not task.design.is_sparse
    return plain and n * p <= MOST_ENTRIES and n * p * min(n, p) <= ELIMINATED


def _begin(search: Search, scores: FloatArray, clock: PhaseClock, *, swaps: bool) -> None:
    """Fill the pool with the features of the largest scores, and offer supports of all sizes.

    scores : of the model without features.

    They begin with the strongest features of the pool, and, where there are swaps, with what
    elimination leaves of it.
    """
    strength = search.strength(scores)
    strength[search.forced] = np.inf
    most = int(search.task.units.usable.sum())
    ranked = largest(strength, min(POOL_FACTOR * search.sizes[-1] + NEW_MIN, most))
    with clock.phase("gather"):
        entered = search.add(ranked if swaps else ranked[: search.sizes[-1]])
    with clock.phase("select"):
        for k in search.sizes:
            if swaps:
                pool = search.place(ranked[: POOL_FACTOR * k + NEW_MIN])
                search.offer(search.exchanges.eliminate(pool, [k])[k], improve=True)
            search.offer(search.place(ranked[:k]), improve=swaps)
            search.record(k, entered)


def _exchange(search: Search, clock: PhaseClock, *, swaps: bool, replace: bool) -> Solver[None]:
    """Exchange until a scan at the best support of every size shows nothing that helps.

    replace : whether to look for replacements then, and to go on from those.
    """
    task = search.task
    waiting = list(search.sizes)
    settled: dict[int, Fitted] = {}
    for _ in range(MAX_ROUNDS):
        vectors = np.column_stack([search.best[k].fit.dual for k in waiting])
        scores = yield Scan(task.design, vectors)
        with clock.phase("gather"):
            fresh = {
                k: search.add(search.candidates(np.ascontiguousarray(scores[:, place]), k))
                for place, k in enumerate(waiting)
            }
        with clock.phase("select"):
            before = dict(search.best)
            for k in waiting:
                search.improve(k, swaps=swaps)
                search.record(k, fresh[k])
            search.neighbours()
            waiting = [k for k in search.sizes if search.best[k] is not before[k]]
        if not waiting and replace:
            waiting = yield from _replace(search, clock, settled)
        if not waiting:
            return


def _replace(search: Search, clock: PhaseClock, settled: dict[int, Fitted]) -> Solver[list[int]]:
    """Look for replacements of single features and of many; return the sizes that improved.

    settled : the supports that have had their turn; it grows.
    """
    before = dict(search.best)
    for k in search.sizes:
        if settled.get(k) is search.best[k]:
            continue
        settled[k] = search.best[k]
        if not (vectors := search.left_out(k)).shape[1]:
            continue
        scores = yield Scan(search.task.design, vectors)
        with clock.phase("gather"):
            fresh = search.add(search.replacements(scores))
        with clock.phase("select"):
            if fresh.size:
                search.improve(k)
            search.regrow(k)
            search.record(k, fresh)
    with clock.phase("select"):
        search.neighbours()
    return [k for k in search.sizes if search.best[k] is not before[k]]

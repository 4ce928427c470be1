"""Exactly k features by the l0 problem: exchanges, hard thresholding or augmented Lagrangians.

    min_{u, b}  1/2 ||u||^2 + C sum_i s_i f(y_i, x_i'u + b)   subject to  ||u||_0 <= k          (L0)

Exchanges (`l0.search`) and hard thresholding (`l0.hard_thresholding`) touch all features by scans
only. SALM and ASALM (`l0.splitting`) do without scans, on all columns in memory, or on those that
fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..._typing import Columns, FloatArray, IndexArray
from ...ordering import largest
from ...result import Path, Proof, Result, Status
from ..certify.prove import prove_support
from ..clock import PhaseClock
from ..drive import Scan, Solver
from ..found import BestDual, Found
from ..l0.hard_thresholding import VARIANTS, Objective, Thresholding, hard_threshold
from ..l0.search import Search, explore
from ..l0.splitting import METHODS, SplitProblem, Splitting, asalm, salm
from ..pool.exchange import POOL_FACTOR, POOL_MIN
from ..request import Request
from ..task import Task
from .finish import finish, refit_support

SOLVERS = ("auto", "exchange", "splicing", "iht", *METHODS)
MAX_STEPS = 200  # of hard thresholding
SPLIT_ELEMENTS = 10_000_000  # of columns (and of the dense inverse of BFGS) that SALM holds


def select_l0(
    task: Task,
    sizes: Sequence[int],
    request: Request,
    *,
    solver: str | Splitting = "auto",
    gap: float | None = None,
    time_limit: float = 60.0,
) -> Solver[Path]:
    """Select exactly k features for every k of `sizes` by solving (L0), by a generator of scans.

    Parameters
    ----------
    solver : "exchange" (and "auto"): from the strongest features, and from elimination inside a
        pool of them, by splicing and swaps, with scans for further candidates until none helps;
        for C above those of `FIRST_STAGES` from the models for these. "splicing": from the
        strongest features only, without swaps. "iht": iterative hard thresholding alone, a scan for
        each step. "salm", "asalm" or a `Splitting`:
        the augmented Lagrangian methods, on all columns, or on the features of the largest scores
        where these are more than SPLIT_ELEMENTS numbers.
    request : tol is the decrease of the objective that counts, as a share of it; a `Splitting` has
        its own. The pool has the features of the start; SALM and ASALM begin at the fit of the
        first of them that has k features. Without certificates nothing is proven either.
    gap : where it is given, branch and bound goes on to such a certified gap of every size, so
        many seconds at most; a better support that it finds is the answer. An interrupt ends it
        for all sizes that are left: they get the certificates of a scan.
    """
    clock, C, tol, start = PhaseClock(request.seconds), request.C, request.tol, request.start
    options = Splitting.of(solver)
    given = [features[task.usable[features]] for features in start]
    if options is not None:
        search = Search(task, C, sizes, tol)
        yield from _fill(search, options, given, clock)
        with clock.phase("select"):
            for k in search.sizes:
                _split(search, k, options, start)
    elif solver == "iht":
        search = Search(task, C, sizes, tol)
        for k in search.sizes:
            yield from _threshold(search, k)
    else:
        search = yield from explore(task, C, sizes, tol, given, clock, swaps=solver != "splicing")
    proofs: dict[int, Proof] = {}
    duals: dict[int, BestDual] = {}
    if gap is not None and request.certify:
        for k in search.sizes:
            proving = prove_support(
                task, search.support(k), C=C, gap=gap, time_limit=time_limit, report=request.report
            )
            proofs[k] = yield from clock.inside("prove", proving)
            search.add(proofs[k].support)
            search.offer(search.place(proofs[k].support))
            if proofs[k].status is Status.INTERRUPTED:
                break
    elif request.certify:
        with clock.phase("certify"):
            duals = search.relaxed(improve=solver in ("auto", "exchange"))
    fits = {}
    with clock.phase("refit"):
        for k in search.sizes:
            support = proofs[k].support if k in proofs else search.support(k)
            Z = search.pool.columns().take(search.pool.position(support))
            fits[k] = (support, refit_support(task, Z, support, request.refit_C))
    return (yield from finish(task, request, fits, [_answer(search, duals)], clock, proofs))


def _fill(
    search: Search, options: Splitting, given: Sequence[IndexArray], clock: PhaseClock
) -> Solver[None]:
    """Gather all features that may be used, or as many of the largest scores as may be held."""
    task = search.task
    n = task.design.shape[0]
    first = np.unique(np.concatenate([search.forced, *given]))
    features = np.flatnonzero(task.usable)
    side = max(n, int(SPLIT_ELEMENTS**0.5)) if options.inner == "bfgs" else n
    room = max(SPLIT_ELEMENTS // side, POOL_FACTOR * search.sizes[-1], POOL_MIN, first.size)
    if features.size > room:
        scores = yield Scan(task.design, search.zero_dual)
        strength = search.strength(scores)
        strength[first] = np.inf
        features = np.sort(largest(strength, room))
    with clock.phase("gather"):
        search.add(features)


def _split(search: Search, k: int, options: Splitting, start: Sequence[IndexArray]) -> None:
    """Offer the support of k features that SALM or ASALM finds in the pool."""
    task, pool = search.task, search.pool
    method = salm if options.method == "salm" else asalm
    found = method(
        SplitProblem(pool.columns(), search.risk), k, options,
        keep=pool.position(search.forced), start=_split_start(search, k, start),
    )  # fmt: skip
    if search.status in (Status.BUDGET, Status.CONVERGED):  # the first that fails is told
        search.status = found.status
    columns = {"columns": float(pool.size), "usable": float(task.n_usable)}
    search.history += [
        replace(step, entered=pool.features[step.entered], extra={**step.extra, **columns})
        for step in found.history
    ]
    search.offer(found.support)
    search.record(k, search.support(k))


def _split_start(
    search: Search, k: int, start: Sequence[IndexArray]
) -> tuple[FloatArray, float] | None:
    """Return beta and b of the fit of the first start that is a support of k features."""
    for support in start:
        places = search.pool.position(support)
        if support.size == k and (places >= 0).all() and np.isin(search.forced, support).all():
            found = search.exchanges.fit(np.sort(places))
            beta = np.zeros(search.pool.size)
            beta[found.columns] = found.fit.coef
            return beta, found.fit.intercept
    return None


def _threshold(search: Search, k: int) -> Solver[None]:
    """Offer the support of k features where hard thresholding ends."""
    task = search.task

    def columns(features: IndexArray) -> Columns:
        search.add(features)
        return search.pool.columns().take(search.pool.position(features))

    def admit(target: FloatArray) -> IndexArray:
        strength = search.strength(target)
        strength[search.forced] = np.inf
        return np.sort(largest(strength, k))

    objective = Objective(search.risk, 1.0)
    state = Thresholding(objective, admit, VARIANTS["ista"], search.tol)
    yield from hard_threshold(state, task.design, columns, MAX_STEPS)
    search.offer(search.place(state.best.support))
    search.record(k, state.best.support)


def _answer(search: Search, duals: dict[int, BestDual]) -> Found:
    """Return the history of scans and exchanges, and dual points of the sizes.

    Every candidate entered once.
    """
    seen = np.zeros(search.task.design.shape[1], bool)
    steps = []
    for step in search.history:
        fresh = step.entered[~seen[step.entered]]
        seen[fresh] = True
        steps.append(replace(step, entered=fresh))
    support = np.sort(search.pool.features)
    result = Result(support, np.empty(0), 0.0, np.nan, {}, None, search.status, tuple(steps))
    return Found(result, duals)


__all__ = ["SOLVERS", "select_l0"]

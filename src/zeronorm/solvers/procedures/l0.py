"""Exactly k features or groups by the l0 problem: exchanges, or hard thresholding.

    min_{u, b}  1/2 ||u||^2 + C sum_i s_i f(y_i, x_i'u + b)   subject to  ||u||_0 <= k          (L0)

Both (`l0.explore`, `l0.hard_thresholding`) touch all features by scans only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...core.ranking import largest
from ...core.results import Path, Proof, Result, Status
from ...core.types import Columns, FloatArray, IndexArray
from ..certify.prove import Goal, prove_support
from ..clock import PhaseClock
from ..drive import Solver
from ..found import BestDual, Found
from ..l0.explore import explore
from ..l0.hard_thresholding import VARIANTS, Objective, Thresholding, hard_threshold
from ..l0.search import Search
from ..pool.refit import Refit
from ..request import Request
from ..task import Task
from .finish import finish, refit_support

SOLVERS = ("auto", "exchange", "splicing", "iht")
MAX_STEPS = 200  # of hard thresholding


def select_l0(
    task: Task,
    sizes: Sequence[int],
    request: Request,
    *,
    solver: str = "auto",
    n_starts: int = 1,
    goal: Goal | None = None,
) -> Solver[Path]:
    """Select exactly k features for every k of `sizes` by solving (L0), by a generator of scans.

    Where the task has groups, k counts these, and they enter as a whole.

    Parameters
    ----------
    solver : "exchange" (and "auto"): from the strongest features, and from elimination inside a
        pool of them, by splicing and swaps, with scans for further candidates until none helps;
        for C above those of `FIRST_STAGES` from the models for these. "splicing": from the
        strongest features only, without swaps. "iht": iterative hard thresholding alone, a scan for
        each step.
    n_starts : searches by exchanges, the further ones from drawn candidates; the best is kept. With
        two or more, elimination from all features is another start where that is cheap.
    request : tol is the decrease of the objective that counts, as a share of it. The pool has the
        features of the start. Without certificates nothing is proven either.
    goal : as for `conclude`.
    """
    clock = PhaseClock(request.seconds)
    if solver == "iht":
        search = Search(task, request.C, sizes, request.tol)
        for k in search.sizes:
            yield from _threshold(search, k)
    else:
        search = yield from explore(
            task, request.C, sizes, request.tol, usable_starts(task, request), clock,
            swaps=solver != "splicing", n_starts=n_starts,
        )  # fmt: skip
    exchanges = solver in ("auto", "exchange")
    return (yield from conclude(search, request, clock, goal, improve=exchanges))


def usable_starts(task: Task, request: Request) -> list[IndexArray]:
    """Return the features of the start that may be selected."""
    return [features[task.usable[features]] for features in request.start]


def conclude(
    search: Search,
    request: Request,
    clock: PhaseClock,
    goal: Goal | None,
    *,
    improve: bool = False,
) -> Solver[Path]:
    """Prove, or certify, and refit the best supports that a search has found.

    goal : where it is given, branch and bound goes on to it for every size; a better support that
        it finds is the answer. An interrupt ends it for all sizes that are left: they get the
        certificates of a scan.
    improve : whether the rounded relaxation is tried as another start.
    """
    task = search.task
    proofs: dict[int, Proof] = {}
    duals: dict[int, BestDual] = {}
    fits: dict[int, tuple[IndexArray, Refit]] = {}

    def fit(k: int) -> None:
        support = task.columns(proofs[k].support) if k in proofs else search.support(k)
        Z = search.pool.columns().take(search.pool.position(support))
        with clock.phase("refit"):
            fits[k] = (support, refit_support(task, Z, support, request.refit_C))

    def ending(sizes: Sequence[int]) -> Solver[Path]:
        models, proven = {k: fits[k] for k in sizes}, {k: proofs[k] for k in sizes if k in proofs}
        return finish(task, request, models, [_answer(search, duals)], clock, proven)

    request.keep(lambda: fits, ending)
    if goal is not None and request.certify:
        if request.kept is not None:  # a proof may take hours
            for k in search.sizes:
                fit(k)
        for k in search.sizes:
            proving = prove_support(
                task, search.support(k), goal, C=request.C, report=request.report
            )
            proofs[k] = yield from clock.inside("prove", proving)
            units = task.units.of(task.columns(proofs[k].support))
            search.add(units)
            search.offer(search.place(units))
            if request.kept is not None:
                fit(k)
            if proofs[k].status is Status.INTERRUPTED:
                break
    elif request.certify:
        with clock.phase("certify"):
            duals = search.relaxed(improve=improve)
    for k in search.sizes:
        fit(k)
    return (yield from ending(search.sizes))


def _threshold(search: Search, k: int) -> Solver[None]:
    """Offer the support of k features or groups where hard thresholding ends."""
    task, units = search.task, search.task.units

    def columns(features: IndexArray) -> Columns:
        search.add(units.of(features))
        return search.pool.columns().take(search.pool.position(features))

    def admit(target: FloatArray) -> IndexArray:
        strength = search.strength(target)
        strength[search.forced] = np.inf
        return np.sort(units.features(largest(strength, k)))

    objective = Objective(search.risk, 1.0)
    state = Thresholding(objective, admit, VARIANTS["ista"], search.tol)
    yield from hard_threshold(state, task.design, columns, MAX_STEPS)
    search.offer(search.place(units.of(state.best.support)))
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

"""All supports whose objective is within a share of the best one, by scans and a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.results import Progressed, Status
from ...core.types import FloatArray, IndexArray
from ..drive import Solver
from ..pool.candidates import Candidates
from ..pool.near_best import NearBest
from ..pool.nodes import PROVEN
from ..task import Task
from .prove import Aim, Clock, Goal, Known, Left, tighten


@dataclass(frozen=True, slots=True)
class Near:
    """The supports that a search has found, in units of the task."""

    supports: IndexArray  # (n_supports, k) each sorted; those of the least objective first
    objectives: FloatArray  # (n_supports,)
    bound: float  # of all other supports
    candidates: IndexArray  # sorted: units in no support that is near are left out as far as known
    status: Status
    history: tuple[Progressed, ...]


def near_best(
    task: Task,
    support: IndexArray,
    within: float,
    most: int,
    *,
    C: float,
    time_limit: float,
    report: Callable[[Progressed], None] | None = None,
) -> Solver[Near]:
    """Find all supports of this size with an objective of at most (1 + within) times the best.

    Parameters
    ----------
    support : (k,) sorted features, the best known.
    most : how many are kept, those of the least objective.
    time_limit, report : as for `prove_support`.
    """
    clock, known = Clock(), Known.of(task, support, C)
    objective = known.fit.objective
    target = objective + (within + 2 * PROVEN) * abs(objective)
    aim = Aim(target, target, clock, time_limit)
    tight = yield from tighten(task, known, aim, known.fit.dual)
    row = Progressed(clock.seconds, 0, 1, objective, min(tight.bound.value, objective))
    if report is not None:
        report(row)
    left = Left.of(task, known, tight, target)
    if left is None:
        only, value = np.sort(known.inside)[None], np.array([objective])
        status, usable = Status.CANDIDATES, np.flatnonzero(task.units.usable)
        return Near(only, value, tight.bound.value, usable, status, (row,))
    shown = left.shown

    def begin(problem: Candidates, support: IndexArray) -> NearBest:
        return NearBest(problem, support, within, most, shown.dual, shown.value)

    spent = clock.seconds
    search, status, steps = left.search(begin, Goal(None, time_limit), clock, report)
    clock.add_search(clock.seconds - spent)
    found, objectives, bound, many = search.models()
    supports = np.sort(left.units[found], axis=1)
    if status is Status.GAP:
        status = Status.LIMIT if many else Status.COMPLETE
    candidates = np.sort(left.units)
    return Near(supports, objectives, bound, candidates, status, (row, *steps))

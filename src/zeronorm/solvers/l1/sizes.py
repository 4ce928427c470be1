"""l1 solutions of given sizes: the C that gives exactly k features, by a search along a walk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.ranking import largest
from ...core.results import Result, Status, Step
from ...core.types import IndexArray
from ...data.operations import unscaled
from ..drive import Solver
from ..found import Found
from ..task import Task
from .descent import Penalty
from .problem import NEVER, L1Problem
from .walk import Mark, Walk, saturated


@dataclass(frozen=True, slots=True)
class L1SizesTuning:
    """Constants, each with what it was measured for."""

    step: float = 1.3  # from C to C, until there are more features than asked for
    rounding: float = 1e-9  # C is below the first feature by so much of it
    width: float = (
        1e-3  # relative width of a bracket of C: features that enter within it enter together
    )
    fine: float = 1e-3  # of tol: what is left over a working set in a search
    forced_factor: float = (
        1e-6  # forced features are nearly unpenalised: finite where they separate the data
    )


L1_SIZES = L1SizesTuning()
# Of the last C to the one at which the first feature enters: of any search; of `l1_supports`.
LARGEST, LARGEST_SUPPORT = 1e4, 100.0
GUESSES, MARGIN = 3, 0.1  # steps by interpolation before bisection; their distance from the ends
TOL, MAX_ITER = 1e-4, 50  # of every point of `l1_supports`


@dataclass(frozen=True, slots=True)
class Sized:
    """A model of exactly k features."""

    C: float
    result: Result  # with k features, some of which may have the coefficient 0
    reached: int  # the most features of a solution, at most k; below k: scores chose the others


def l1_sizes(
    problem: L1Problem,
    sizes: Sequence[int],
    *,
    tol: float,
    max_iter: int,
    forced: IndexArray | None = None,
    ratio: float = LARGEST,
    told: Callable[[Mark], None] = lambda mark: None,
    n_threads: int = 1,
) -> Solver[dict[int, Sized]]:
    """Return for every size k the model of the largest C with at most k features, topped up to k.

    A growing C is followed to the first solution with more than k features. Between it and the last
    one before, C is searched until a solution has exactly k: that is the model. Where the bracket
    becomes narrow first, as several features enter together, the features of its lower end are
    completed by those that are drawn in most there, and the model is the solution over these k at
    its upper end; its gap is that to the solution over all.

    Where the path ends before it has more than k features, because C is `ratio` times that of the
    first one, all are in, or next to nothing is left of the loss, the solution with the most
    features (the last of those) is taken, and completed in the same way with coefficients of 0.

    Parameters
    ----------
    problem : with the weights of C = 1. Features with an l1 of NEVER are not available.
    sizes : not less than the features that are free, not more than are available.
    ratio : of the last C that is tried to the one at which the first feature enters.
    told : after every point; their C grow but for those of searches.
    """
    walk = Walk(problem, tol, max_iter, n_threads, forced)
    available = problem.penalty.l1 < NEVER
    yield from walk.begin()
    smallest = walk.smallest if np.isfinite(walk.smallest) else 1.0
    found: dict[int, Sized] = {}
    missing = sorted(set(sizes))
    low = most = yield from walk.mark((1.0 - L1_SIZES.rounding) * smallest)  # nothing has entered
    while missing and low.size > missing[0]:  # free features have some penalty, `smallest` has none
        low = most = yield from walk.mark(low.C / L1_SIZES.step)
    n_steps = int(np.log(ratio) / np.log(L1_SIZES.step)) if np.isfinite(walk.smallest) else 0
    for number in range(1, n_steps + 1):
        high = yield from walk.mark(smallest * L1_SIZES.step**number)
        told(high)
        while missing and missing[0] < high.size:
            k = missing.pop(0)
            found[k] = yield from _between(walk, k, low, high, available, told)
        low = high
        most = high if high.size >= most.size else most
        if not missing or low.size == available.sum() or saturated(low.result):
            break
    for k in missing:
        found[k] = Sized(most.C, _with(most.result, _completed(most, k, available)), most.size)
    return {
        k: replace(model, result=_with_history(model.result, walk)) for k, model in found.items()
    }


def _between(
    walk: Walk,
    k: int,
    low: Mark,
    high: Mark,
    available: np.ndarray,
    told: Callable[[Mark], None],
) -> Solver[Sized]:
    """Return the model of k features between solutions of at most k and of more."""
    n_steps = 0
    while low.size < k and (1.0 + L1_SIZES.width) * low.C < high.C:
        share = 0.5
        if n_steps < GUESSES:  # features enter evenly
            share = (k + 0.5 - low.size) / (high.size - low.size)
            share = min(max(share, MARGIN), 1.0 - MARGIN)
        n_steps += 1
        # At `ROUGH` nothing would move, and the support be that of a C nearby.
        mark = yield from walk.mark(low.C * (high.C / low.C) ** share, L1_SIZES.fine)
        told(mark)
        if mark.size > k:
            high = mark
        else:
            low = mark
    if low.size == k:
        return Sized(low.C, _with(low.result, low.support), k)
    support = _completed(low, k, available)
    result = yield from walk.over(support, low, high)
    return Sized(high.C, _with(result, support), k)


def _completed(mark: Mark, k: int, available: np.ndarray) -> IndexArray:
    """Return the features of a solution and those that are drawn in most, k together, sorted."""
    rest = np.where(available, mark.share, -1.0)
    rest[mark.support] = -1.0
    return np.union1d(mark.support, largest(rest, k - mark.size))


def _with(result: Result, support: IndexArray) -> Result:
    """Return a result with zeros for more features."""
    coef = np.zeros(support.size)
    coef[np.searchsorted(support, result.support)] = result.coef
    return replace(result, support=support, coef=coef)


def _with_history(result: Result, walk: Walk) -> Result:
    """Return a result with all scans of the walk in its history, its own ones last."""
    own = {id(step) for step in result.history}
    others = tuple(step for step in walk.history if id(step) not in own)
    return replace(result, history=others + result.history)


def l1_supports(
    task: Task,
    sizes: Sequence[int],
    *,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    n_threads: int = 1,
) -> Solver[tuple[dict[int, IndexArray], Found]]:
    """Return for every size k the support at the largest C with at most k features, exactly k.

    A support with fewer than k features is completed by the largest scores at that C. The second
    part of the answer tells when features entered.
    """
    points: list[tuple[float, IndexArray]] = []

    def told(mark: Mark) -> None:
        points.append((mark.C, mark.support[np.argsort(-mark.share[mark.support], kind="stable")]))

    models = yield from l1_sizes(
        posed(task), sizes, tol=tol, max_iter=max_iter, forced=task.forced,
        ratio=LARGEST_SUPPORT, told=told, n_threads=n_threads,
    )  # fmt: skip
    history: list[Step] = []
    entered = np.zeros(task.usable.size, bool)
    for _, features in sorted(points, key=lambda point: point[0]):
        fresh = features[~entered[features]]
        entered[fresh] = True
        history.append(Step(np.nan, np.nan, features.size, fresh))
    supports = {k: model.result.support for k, model in models.items()}
    last = supports[max(sizes)]
    answer = Result(
        last, np.zeros(last.size), 0.0, np.nan, {}, None, Status.BUDGET, tuple(history)
    )  # fmt: skip
    return supports, Found(answer, {})


def posed(task: Task) -> L1Problem:
    """Return the problem of a task at C = 1, on columns as they are stored.

    Columns divided by their deviation are columns with as many times the penalty; with a free
    intercept centring changes nothing.
    """
    design, scale = unscaled(task.design)
    l1 = np.divide(1.0, scale, out=np.full(scale.size, NEVER), where=scale > 0)
    design = design.arranged(for_descent=True)
    l1[task.forced] *= L1_SIZES.forced_factor
    l1[~task.usable] = NEVER
    everything = np.full(l1.size, np.inf)
    penalty = Penalty(l1, np.zeros(l1.size), -everything, everything)
    return L1Problem(design, task.risk(1.0), penalty, task.n_rows).centred()

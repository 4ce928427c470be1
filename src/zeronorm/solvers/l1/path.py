"""l1 solutions along a growing C, of one problem or of all folds of a cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from ...core.results import Result
from ...core.types import FloatArray, IndexArray
from ...data.column_sets import ColumnStore
from ...data.filled import filling_of
from ..drive import Solver, together
from .problem import L1Problem, Point
from .walk import AHEAD, MOST_SCORES, Walk, saturated


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

    Every row of a solution's history has C and the share of the loss that is `explained`.

    Parameters
    ----------
    problem : with the weights of C = 1.
    grid : the values of C, growing, from the one below which the penalised features stay out; not
        called where they always do.
    tol : (objective - bound) / objective of the model without features, at every point.
    enough : told the solution and how strongly each feature is drawn in, as a share of its l1.
    forced : features with so small a penalty that the path begins without asking them.
    """
    walk = Walk(problem, tol, max_iter, n_threads, forced)
    yield from walk.begin()
    path: list[tuple[float, Result]] = []
    if np.isinf(walk.smallest):
        return path
    values = [float(C) for C in grid(walk.smallest)]
    at_once = _at_once(problem, 1)
    stop = False

    def told(result: Result) -> bool:
        nonlocal stop
        path.append((walk.C, result))
        stop = enough(result, walk.share())
        return stop

    while len(path) < len(values) and not stop:
        yield from walk.along(values[len(path) : len(path) + at_once], told)
    return path


def _at_once(problem: L1Problem, n_walks: int) -> int:
    """Return how many values of C share a scan, so that its scores fit in memory."""
    return max(1, min(AHEAD, MOST_SCORES // (problem.design.shape[1] * n_walks)))


def l1_folds(
    problems: Sequence[L1Problem],
    folds: Sequence[Sequence[L1Problem]],
    grid: Callable[[float], FloatArray],
    told: Callable[[int, int, int, Point], None],
    *,
    tol: float,
    max_iter: int,
    stop_early: bool,
    n_threads: int = 1,
) -> Solver[tuple[FloatArray, list[list[Result]], float]]:
    """Return the values of C and the solutions of some problems; fit parts of the data along.

    The last part of the answer is the seconds of all paths outside of scans. They run in
    lockstep, their scans merged: as many passes as the longest one has.

    Parameters
    ----------
    problems : one for each class, on one design, with the weights of C = 1.
    folds : of every fold the same problems, with the weights of its training rows.
    grid : the values of C, growing, from the one at which the first feature enters any problem.
    told : after every point of every fold: fold, problem, number of C, and the point. Its margins
        are those of all rows: rows without weight are held out.
    stop_early : whether to end where all problems are saturated.
    """
    store = ColumnStore(problems[0].design, n_threads)

    def walks_of(some: Sequence[L1Problem]) -> list[Walk]:
        own, shared = (filling_of(one[0].design) for one in (some, problems))
        columns = store if own is shared else ColumnStore(some[0].design, n_threads)
        return [Walk(problem, tol, max_iter, n_threads, store=columns) for problem in some]

    walks = walks_of(problems)
    parts = [walks_of(fold) for fold in folds]
    yield from together([walk.begin() for some in (walks, *parts) for walk in some])
    smallest = min(walk.smallest for walk in walks)
    values = grid(smallest)
    end = len(values)
    ends: dict[int, int] = {}  # where the problems are saturated

    at_once = _at_once(problems[0], len(walks) * (1 + len(parts)))

    def follow(walk: Walk, done: Callable[[int, Result], None]) -> Solver[list[Result]]:
        results: list[Result] = []

        def told(result: Result) -> bool:
            done(len(results), result)
            results.append(result)
            return len(results) >= end

        while len(results) < end:
            first = len(results)
            yield from walk.along(values[first : min(first + at_once, end)].tolist(), told)
        return results

    def all_data(number: int, step: int, result: Result) -> None:
        nonlocal end
        if stop_early and number not in ends and saturated(result):
            ends[number] = step + 1
            if len(ends) == len(walks):
                end = max(ends.values())

    def held_out(fold: int, number: int, step: int, _: Result) -> None:
        if step < end:
            told(fold, number, step, parts[fold][number].point)

    solvers = [follow(walk, partial(all_data, number)) for number, walk in enumerate(walks)]
    for fold, part in enumerate(parts):
        solvers += [
            follow(walk, partial(held_out, fold, number)) for number, walk in enumerate(part)
        ]
    results = yield from together(solvers)
    steps = [step for some in (walks, *parts) for walk in some for step in walk.history]
    seconds = sum(step.seconds["solve"] for step in steps)
    return values[:end], [path[:end] for path in results[: len(walks)]], seconds

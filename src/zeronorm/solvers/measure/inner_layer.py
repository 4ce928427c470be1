"""The inner layer of selection for a measure: cutting planes to a certified gap.

    min_{v, b}  1/2 (sum_t ||v_t||)^2 + C R(sum_t X_{S_t} v_t + b)

over given blocks of features S_1, ..., S_T. Published: a cut at the solution of the program over
the cuts, in every round (Mao and Tsang 2013, Algorithm 2). The line search (OCAS, Franc and
Sonnenburg 2008) goes from the best point towards that of the program and adds cuts at the best
point on the way and close by: those at the points of the program itself, far away, say little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.results import Status
from ...core.types import FloatArray
from ...measures import Cut
from ..drive import Solver
from .cuts import Master, Model, Point, solve_master
from .task import MeasureTask


@dataclass(frozen=True, slots=True)
class InnerLayerTuning:
    """Constants, each with what it was measured for."""

    loose: float = 1e-2  # gap of the problems that only generate blocks
    max_cuts: int = 2000  # rounds of one problem
    idle_rounds: int = 40  # after which a cut without weight is dropped
    no_weight: float = 1e-3  # of the largest
    line_calls: int = 6  # labellings of one line search
    master_share: float = 0.2  # of the gap: how exactly the program over the cuts is solved
    near: float = (
        0.03  # share of the way from the best point to that of the program, of a second cut
    )
    patience: int = (
        10  # rounds without a smaller gap, after which the cut of the program is added too
    )
    stalled: int = 100  # rounds without a smaller gap that end the method
    huge_c: float = 1e30  # from where a smaller C is looked for
    failed: float = 1e-2  # relative gap of a program over the cuts that rounding has spoilt


INNER_LAYER = InnerLayerTuning()
SolveMaster = Callable[[FloatArray, FloatArray, FloatArray, float, float], Master]


@dataclass(frozen=True, slots=True)
class InnerSolution:
    """The best point of a problem over blocks, and the last dual point, which bounds it."""

    point: Point
    objective: float
    bound: float
    vector: FloatArray  # (n,) sum_k alpha_k beta_k of the last dual point
    delta: float  # sum_k alpha_k delta_k
    n_rounds: int
    status: Status


class InnerLayer:
    """The inner layer: cutting planes to a certified gap."""

    def __init__(
        self,
        task: MeasureTask,
        scale: float,
        *,
        line_search: bool = True,
        master: SolveMaster = solve_master,
    ) -> None:
        self._task = task
        self.scale = scale
        self._line_search = line_search
        self._solve_master = master
        self._C = task.C  # of the programs over the cuts: less where rounding spoils those of C
        # Cuts grow with the weights, as with the root of C.
        mean = 1.0 if task.weight is None else float(task.weight.mean())
        self._enough = min(1.0, mean**-2)

    def __call__(self, model: Model, start: Point, tol: float) -> Solver[InnerSolution]:
        """Solve the problem over the blocks of a model, from a point of it."""
        task, cuts = self._task, model.cuts
        limit = tol * self.scale
        best, cut = start, task.cut(start.scores)
        objective = self._objective(model, best, cut)
        yield from model.add(cut)
        bound, gap, since = 0.0, np.inf, 0
        rounds = 0
        status = Status.CONVERGED
        while True:
            exactness = (
                INNER_LAYER.master_share * max(limit, objective - bound) / max(objective, limit)
            )
            found = self._program(model, min(1e-3, max(1e-9, exactness)))
            share, low = (1.0, found.bound) if self._C == task.C else self._stretched(model, found)
            bound = max(bound, low)
            if objective - bound < 0.999 * gap:
                gap, since = objective - bound, 0
            else:
                since += 1
            if objective - bound <= limit:
                break
            rest = self._objective(model, best, cut, self._C) - found.bound
            if self._C < task.C and rest <= limit * (self._C / task.C):
                status = Status.STALLED
                break
            if rounds == INNER_LAYER.max_cuts or since == INNER_LAYER.stalled:
                status = Status.MAX_ITER if rounds == INNER_LAYER.max_cuts else Status.STALLED
                break
            rounds += 1
            point = model.point(found)
            new = task.cut(point.scores)
            if self._line_search:
                best, cut, between = self._search(model, best, cut, point, new)
                adding = [task.cut(best.towards(point, INNER_LAYER.near).scores)]
                if between:
                    adding.append(cut)
                if not between or since >= INNER_LAYER.patience:
                    adding.append(new)
            else:
                adding = [new]
                value = self._objective(model, point, new)
                if value < objective:
                    best, cut = point, new
            objective = self._objective(model, best, cut)
            for one in adding:
                yield from model.add(one)
            cuts.rest(found.alpha, INNER_LAYER.no_weight * float(found.alpha.max()))
            mask = cuts.idle <= INNER_LAYER.idle_rounds
            if not mask.all():
                model.keep(mask)
        alpha = share * found.alpha
        vector, delta = cuts.combine(alpha), float(alpha @ cuts.delta)
        return InnerSolution(best, objective, bound, vector, delta, rounds, status)

    def _program(self, model: Model, tol: float) -> Master:
        """Return the solution of the program over the cuts.

        Where classes overlap, the sum of alpha is C, and X'beta adds up to weights that do not grow
        with C: beyond some C rounding leaves nothing of them. The program of a smaller C has
        nearly the same weights then, those of the least R.
        """
        cuts = model.cuts
        while True:
            found = self._solve_master(model.grams, cuts.delta, cuts.g, self._C, tol)
            if (
                found.value - found.bound <= INNER_LAYER.failed * abs(found.value)
                or self._enough >= self._C
            ):
                return found
            self._C = min(0.1 * self._C, INNER_LAYER.huge_c)

    def _stretched(self, model: Model, found: Master) -> tuple[float, float]:
        """Return a multiple of the dual point of a smaller C, and the bound that it gives for C."""
        delta, worst = float(found.alpha @ model.cuts.delta), model.quadratic(found.alpha)
        share = self._task.C / self._C
        if worst > 0.0:
            share = min(share, delta / (2.0 * worst))
        return share, share * delta - share * share * worst

    def _objective(self, model: Model, point: Point, cut: Cut, C: float | None = None) -> float:
        """Return the objective at a point where the cut is tight."""
        norms = np.sqrt(np.maximum(0.0, model.products(point, point)))
        loss = max(0.0, cut.at(point.scores))
        return 0.5 * float(norms.sum()) ** 2 + (self._task.C if C is None else C) * loss

    def _search(
        self, model: Model, start: Point, first: Cut, end: Point, last: Cut
    ) -> tuple[Point, Cut, bool]:
        """Return the best point on a segment, its cut, and whether that cut is a new one.

        The penalty along the segment is known, and R is convex: two of its cuts, one that falls and
        one that rises, give the next share to try.
        """
        task = self._task
        squares = (
            model.products(start, start), model.products(start, end), model.products(end, end)
        )  # fmt: skip
        way = end.scores - start.scores

        def line(share: float, cut: Cut) -> tuple[float, float]:
            """Return value at 0 and slope of a cut along the segment, times C; 0 below 0."""
            slope = -float(cut.beta @ way)
            value = cut.at(start.scores)
            if value + share * slope <= 0.0:
                return 0.0, 0.0
            return task.C * value, task.C * slope

        def penalty(share: float) -> tuple[float, float]:
            """Return the penalty and its slope."""
            rest = 1.0 - share
            square = np.maximum(
                0.0, rest * rest * squares[0] + 2.0 * share * rest * squares[1]
                + share * share * squares[2],
            )  # fmt: skip
            turn = (1.0 - 2.0 * share) * squares[1] + share * squares[2] - rest * squares[0]
            norm = np.sqrt(square)
            total = float(norm.sum())
            slopes = np.divide(turn, norm, out=np.zeros_like(turn), where=norm > 0.0)
            return 0.5 * total * total, total * float(slopes.sum())

        low, high = 0.0, 1.0
        falling, rising = line(0.0, first), line(1.0, last)
        best = (penalty(0.0)[0] + falling[0], 0.0, first, False)
        at_end = penalty(1.0)[0] + rising[0] + rising[1]
        if at_end < best[0]:
            best = (at_end, 1.0, last, False)
        if penalty(1.0)[1] + rising[1] <= 0.0:
            return end, last, False
        for _ in range(INNER_LAYER.line_calls):
            share = _lowest(penalty, falling, rising, low, high)
            if not low < share < high:
                break
            point = start.towards(end, share)
            cut = task.cut(point.scores)
            here = line(share, cut)
            pen, slope = penalty(share)
            value = pen + here[0] + share * here[1]
            model_value = pen + max(falling[0] + share * falling[1], rising[0] + share * rising[1])
            if value < best[0]:
                best = (value, share, cut, True)
            if value - model_value <= 1e-3 * abs(best[0] - model_value) + 1e-12 * abs(value):
                break
            if slope + here[1] > 0.0:
                high, rising = share, here
            else:
                low, falling = share, here
        if best[1] in (0.0, 1.0):
            return (end if best[1] else start), best[2], False
        return start.towards(end, best[1]), best[2], True


def _lowest(
    penalty: Callable[[float], tuple[float, float]],
    falling: tuple[float, float],
    rising: tuple[float, float],
    low: float,
    high: float,
) -> float:
    """Return the minimiser over low..high of the penalty plus the larger of two lines."""
    bend = rising[1] - falling[1]
    middle = (falling[0] - rising[0]) / bend if bend > 0.0 else 0.5 * (low + high)
    middle = min(max(middle, low), high)
    slope = penalty(middle)[1]
    if slope + falling[1] > 0.0:
        side, high = falling[1], middle
    elif slope + rising[1] < 0.0:
        side, low = rising[1], middle
    else:
        return middle
    for _ in range(12):
        share = 0.5 * (low + high)
        if penalty(share)[1] + side > 0.0:
            high = share
        else:
            low = share
    return 0.5 * (low + high)

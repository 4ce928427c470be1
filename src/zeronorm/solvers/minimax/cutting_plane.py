"""The outer loop of the minimax family: generate blocks of features, one scan each.

    min_{d in D_r} min_{u, b}  1/2 sum_j u_j^2 / d_j + C sum_i s_i f(y_i, x_i'u + b)          (P)
    D_r = {0 <= d_j <= 1, sum_j d_j <= r}

The regulariser is half the squared k-support norm with k = r. Sparse models come from stopping the
generation of blocks at the wanted number of features.

With groups of features there is one d for each, 1/2 sum_g ||u_g||^2 / d_g with sum_g d_g <= r, and
a block is the r groups with the largest ||c_g||: the same loop, over groups in place of features.

Source: Tan, Tsang and Wang, Minimax sparse logistic regression for very high-dimensional feature
selection, IEEE TNNLS 2013, Algorithm 1.

Differences from the paper, each covered by a test in tests/test_solvers.py:
exactly k features (the last block is cut to what is missing, and blocks of unseen features follow
where the convex optimum has fewer than k); an unpenalised intercept; sample weights; bounds are
computed from the rescaled dual point; forced features belong to every block.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.ranking import largest
from ...core.results import Result, Status, Step
from ...core.types import FloatArray, IndexArray
from ...data.columns import GatheredColumns
from ..drive import Scan, Solver
from ..found import BestDual, Found
from ..risk import Risk
from ..task import Task
from ..ties import ranked
from . import Blocks, InnerSolver, State, newton
from .signed import solve_signed


@dataclass(frozen=True, slots=True)
class CuttingPlane:
    """Options of the outer cutting plane."""

    block_size: int  # r, new features (groups) per scan
    max_blocks: int | None = None  # where (P) itself is solved
    inner: InnerSolver = newton  # solver of the problem over the generated blocks
    # Certified gaps of that problem and of (P), relative to the objective without features.
    inner_tol: float = 1e-3
    tol: float = 1e-3


def cutting_plane(
    task: Task,
    size: int | None,
    options: CuttingPlane,
    *,
    C: float,
    start: Sequence[IndexArray] = (),
    final_scan: bool = True,
    l0_sizes: tuple[int, ...] = (),
) -> Solver[Found]:
    """Select features by the outer cutting plane for (P).

    Parameters
    ----------
    task : with groups, `size`, blocks and l0_sizes count groups, which enter with all their usable
        features; the groups of forced features are forced. Forced features are in every block, and
        count.
    size : exactly so many features are returned. None: (P) itself is solved, to an outer gap of
        `tol` or `max_blocks`.
    C : weight of the summed loss, positive.
    start : blocks of features to begin with, without a scan: the steps of an earlier fit.
    final_scan : whether to solve the last inner problem and to scan once more, for the outer bound
        and the l0 bounds at the final dual point; without it the support is all there is.
    l0_sizes : also keep the best lower bound of the l0 problem of these sizes.

    Returns
    -------
    Found, by a generator of scans. `result.objective` is the value of (P) over the generated
    blocks, `bounds["inner"]` and `bounds["outer"]` are lower bounds of that and of (P).
    """
    # From here on features, budgets, blocks and scores are those of units: features or groups.
    design, risk, units = task.design, task.risk(C), task.units
    block_size = options.block_size
    forced = units.of(task.forced)
    allowed = units.usable.copy()
    allowed[forced] = False  # forced features enter by themselves
    n_allowed = int(allowed.sum())
    if size is not None and not forced.size <= size <= forced.size + n_allowed:
        what = "features" if task.groups is None else "groups"
        raise ValueError(
            f"n_{what} must be between {forced.size} (the forced {what}) and "
            f"{forced.size + n_allowed} (the usable ones); got {size}."
        )
    made = _Generated(task, size, options, risk)
    outer_bound = 0.0
    l0_bounds: dict[int, BestDual] = {}
    status = Status.MAX_BLOCKS
    made.resume([units.of(old) for old in start], forced, allowed)
    if made.blocks and made.complete() and not final_scan:
        return Found(made.result(Status.BUDGET, outer_bound), l0_bounds)

    while True:
        scores = yield Scan(design, made.dual)
        magnitude = units.strength(scores)
        forced_mass = float((magnitude[forced] ** 2).sum())
        magnitude[~allowed] = -1.0
        best = largest(magnitude, min(n_allowed, max(block_size + made.n_seen, *l0_sizes, 0)))
        best_square = magnitude[best] ** 2
        worst = 0.5 * (forced_mass + float(best_square[:block_size].sum()))
        outer_bound = max(outer_bound, risk.bound(made.dual, worst)[0])
        for k in l0_sizes:
            quadratic = 0.5 * (forced_mass + float(best_square[: max(0, k - forced.size)].sum()))
            bound, shrink = risk.bound(made.dual, quadratic)
            if k not in l0_bounds or bound > l0_bounds[k].bound:
                l0_bounds[k] = BestDual(bound, shrink * made.dual)

        if made.complete():
            status = Status.BUDGET
            break
        if size is None:
            if made.blocks and made.objective - outer_bound <= options.tol * made.scale:
                status = Status.CONVERGED
                break
            if options.max_blocks is not None and len(made.blocks) >= options.max_blocks:
                break

        best = ranked(design, units, magnitude, scores, made.dual, best[: block_size + made.n_seen])
        block = np.concatenate([forced, best[:block_size]])
        if size is not None:
            missing = size - made.n_seen
            block = fit_budget(block, magnitude, made.seen, block_size, missing, forced)
        elif any(np.array_equal(np.sort(block), old) for old in made.blocks):
            status = Status.REPEATED
            break
        made.add(unseen(block, made.seen, magnitude), np.sort(block), outer_bound, final_scan)
        if made.complete() and not final_scan:
            status = Status.BUDGET
            break

    return Found(made.result(status, outer_bound), l0_bounds)


class _Generated:
    """The blocks so far, their columns, and the last solution of the problem over them."""

    def __init__(self, task: Task, size: int | None, options: CuttingPlane, risk: Risk) -> None:
        self._units, self._risk, self._size, self._options = task.units, risk, size, options
        self.scale, self.dual, b = risk.first()
        capacity = size if size is not None and task.groups is None else 0
        self._pool = GatheredColumns(task.design, capacity)
        self._state = State(np.empty(0), b, np.empty(0))
        self.objective, self._bound = self.scale, 0.0
        self.blocks: list[IndexArray] = []
        self.seen = np.zeros(self._units.usable.size, bool)
        self.n_seen = 0
        self._history: list[Step] = []

    def complete(self) -> bool:
        """Whether there are as many units as there shall be."""
        return self._size is not None and self.n_seen >= self._size

    def resume(self, start: list[IndexArray], forced: IndexArray, allowed: np.ndarray) -> None:
        """Add the blocks of an earlier fit, and solve the problem over all of them."""
        for old in start:
            room = old.size if self._size is None else self._size - self.n_seen
            new = old[allowed[old]]
            if not self.blocks:
                new = np.concatenate([forced, new])
            new = new[~self.seen[new]][:room]
            if new.size:
                entered = self._enter(new, np.union1d(forced, new))
                self._extend(entered.size)
                self._record(entered, {}, {}, None)
        if self.blocks:
            begin = time.perf_counter()
            status, extra = self._solve()
            seconds = {"solve": time.perf_counter() - begin}
            self._record(self._history.pop().entered, seconds, extra, status)

    def add(self, new: IndexArray, block: IndexArray, outer_bound: float, final_scan: bool) -> None:
        """Add a block and its new units; without a final scan the last is not solved."""
        begin = time.perf_counter()
        entered = self._enter(new, block)
        seconds = {"gather": time.perf_counter() - begin}
        begin = time.perf_counter()
        status: Status | None = None
        extra: dict[str, float] = {}
        if final_scan or not self.complete():
            self._extend(entered.size)
            status, extra = self._solve()
        seconds["solve"] = time.perf_counter() - begin
        self._record(entered, seconds, extra | {"outer_bound": outer_bound}, status)

    def result(self, status: Status, outer_bound: float) -> Result:
        """Return the answer with the support in order of the features."""
        order = np.argsort(self._pool.features, kind="stable")
        coef = np.zeros(self._pool.size)
        coef[: self._state.coef.size] = self._state.coef
        return Result(
            support=self._pool.features[order],
            coef=coef[order],
            intercept=self._state.intercept,
            objective=self.objective,
            bounds={"inner": self._bound, "outer": outer_bound},
            dual=self.dual,
            status=status,
            history=tuple(self._history),
        )

    def _enter(self, new: IndexArray, block: IndexArray) -> IndexArray:
        """Gather the columns of new units, and add the block; return their features."""
        entered = self._units.features(new)
        self._pool.add(entered)
        self.seen[new] = True
        self.n_seen += new.size
        self.blocks.append(block)
        return entered

    def _extend(self, n_new: int) -> None:
        """Let new features start at zero, with a small weight on the new block."""
        state, n_blocks = self._state, len(self.blocks)
        if n_blocks == 1:
            self._state = State(np.zeros(n_new), state.intercept, np.ones(1))
            return
        share = 1.0 / (2.0 * n_blocks)
        weights = np.append((1.0 - share) * state.block_weight, share)
        self._state = State(np.append(state.coef, np.zeros(n_new)), state.intercept, weights)

    def _solve(self) -> tuple[Status, dict[str, float]]:
        """Solve the problem over the blocks so far; return the status and what to record."""
        membership = np.zeros((self._pool.size, len(self.blocks)))
        for t, members in enumerate(self.blocks):
            membership[self._pool.position(self._units.features(members)), t] = 1.0
        problem = Blocks(self._pool.columns().compact(), membership, self._risk, self.scale)
        inner, tol = self._options.inner, self._options.inner_tol
        signs = self._units.signs[self._pool.features]
        if signs.any():
            answer = solve_signed(inner, problem, signs, self._state, tol)
        else:
            answer = inner(problem, self._state, tol)
        self._state, self.dual = answer.state, answer.dual
        self.objective, self._bound = answer.objective, answer.bound
        gap = (answer.objective - answer.bound) / self.scale
        return answer.status, {"inner_iterations": float(answer.n_iter), "gap": gap}

    def _record(
        self,
        entered: IndexArray,
        seconds: dict[str, float],
        extra: dict[str, float],
        status: Status | None,
    ) -> None:
        self._history.append(
            Step(self.objective, self._bound, self._pool.size, entered, seconds, extra, status)
        )


def unseen(block: IndexArray, seen: np.ndarray, magnitude: FloatArray) -> IndexArray:
    """Return the new features of a block: forced ones (magnitude -1) first, then the best."""
    new: IndexArray = block[~seen[block]]
    rank = np.where(magnitude[new] < 0, np.inf, magnitude[new])
    return new[np.argsort(-rank, kind="stable")]


def fit_budget(
    block: IndexArray,
    magnitude: FloatArray,
    seen: np.ndarray,
    block_size: int,
    missing: int,
    forced: IndexArray,
) -> IndexArray:
    """Return the block to add when exactly `missing` more features may enter.

    magnitude : (m,) |score|, -1 where a feature may not enter by its score.

    Any subset of D_r is a valid cut, so certificates stay true. Where the most active block has
    (nearly) nothing new, the optimum over all features has fewer than k of them: the best unseen
    features follow.
    """
    fresh = block[~seen[block]]
    if fresh.size < min(missing, max(1, block_size // 4)):
        others = np.where(seen, -1.0, magnitude)
        n_others = int((others >= 0).sum())
        fresh = largest(others, min(block_size, missing, n_others))
        return np.concatenate([forced[seen[forced]], fresh])
    if fresh.size > missing:
        return np.concatenate([block[seen[block]], unseen(block, seen, magnitude)[:missing]])
    return block

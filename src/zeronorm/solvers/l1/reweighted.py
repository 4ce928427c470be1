"""Reweighted l1: l1 problems in stages, each with the penalty that the solution before suggests.

    min_{u, b}  sum_j omega_j l1_j |u_j| + ... as in `l1.problem`,    omega = 1 at the first stage,

after it with a = l1_j |u_j| of the solution before, either of

    omega_j = epsilon / (a + epsilon)             (majorises epsilon log(1 + a / epsilon))
    omega_j = 1 where a < threshold, else FLOOR   (majorises min(a, threshold), the capped l1)

Features at zero keep their penalty, so C means what it means without stages; large coefficients
lose theirs, and with it most of the bias that makes l1 select too many features.

Sources: WLR, a baseline of Tan, Tsang and Wang, IEEE TNNLS 24(10), 2013; Candes, Wakin and Boyd,
Enhancing sparsity by reweighted l1 minimization, Journal of Fourier Analysis and Applications 14,
2008; T. Zhang, Analysis of multi-stage convex relaxation for sparse regularization, JMLR 11, 2010.
Differences: weights are relative to those of the first stage (theirs are 1 / (a + epsilon)), and
none is 0, so that every stage has a finite solution where features separate the classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.results import Result, Status, Step
from ...core.types import FloatArray, IndexArray
from ..driver import SearchResult, Solver, together
from ..problem import Task
from .path import LARGEST, LARGEST_SUPPORT, MAX_ITER, TOL, Sized, l1_sizes, posed
from .problem import NEVER, L1Problem, Start
from .solvers import working_set

STAGES = 3
FLOOR = 1e-6  # of a weight: the feature is nearly unpenalised


@dataclass(frozen=True, slots=True)
class LogPenalty:
    """omega = epsilon / (a + epsilon)."""

    epsilon: float | None = None  # by default the mean a of the features that are not zero
    stages: int = STAGES

    def weights(self, a: FloatArray) -> FloatArray:
        """Return omega of features with a > 0."""
        epsilon = float(a.mean()) if self.epsilon is None else self.epsilon
        return np.maximum(epsilon / (a + epsilon), FLOOR)


@dataclass(frozen=True, slots=True)
class CappedL1:
    """omega = 1 where a < threshold, else FLOOR."""

    threshold: float | None = None  # by default 0.3 of that mean
    stages: int = STAGES

    def weights(self, a: FloatArray) -> FloatArray:
        """Return omega of features with a > 0."""
        threshold = 0.3 * float(a.mean()) if self.threshold is None else self.threshold
        return np.where(a < threshold, 1.0, FLOOR)


Rule = LogPenalty | CappedL1


def reweighted(
    problem: L1Problem, *, rule: Rule, tol: float, max_iter: int, start: Start | None = None
) -> Solver[Result]:
    """Solve the stages at one C, each from the solution before; all are in the history."""
    history: list[Step] = []
    weighted, result = problem, None
    for stage in range(1, rule.stages + 1):
        solver = working_set(weighted, tol=tol, max_iter=max_iter, start=start)
        result = yield from solver
        history += _numbered(result.history, stage)
        if result.status is not Status.CONVERGED:
            break
        start = Start(result.support, result.coef, result.intercept)
        weighted = _reweighted(problem, rule, result)
    assert result is not None
    return replace(result, history=tuple(history))


def reweighted_sizes(
    problem: L1Problem,
    sizes: Sequence[int],
    *,
    rule: Rule,
    tol: float,
    max_iter: int,
    forced: IndexArray | None = None,
    ratio: float = LARGEST,
) -> Solver[dict[int, Sized]]:
    """Solve the stages for every size k, each stage at the largest C with at most k features.

    Exactly k, as `l1_sizes` makes it; the stages of all sizes run in lockstep. A stage that has no
    solution of k features is left out, and ends them.
    """
    given = np.empty(0, np.int64) if forced is None else forced

    def search(stage: L1Problem, sizes: Sequence[int]) -> Solver[dict[int, Sized]]:
        # What is nearly unpenalised does not say at which C the others enter.
        free = np.flatnonzero(stage.penalty.l1 <= 2.0 * FLOOR * problem.penalty.l1)
        return l1_sizes(
            stage, sizes, tol=tol, max_iter=max_iter, forced=np.union1d(given, free), ratio=ratio,
        )  # fmt: skip

    def later_stages(k: int, model: Sized) -> Solver[Sized]:
        history = _numbered(model.result.history, 1)
        for stage in range(2, rule.stages + 1):
            found = yield from search(_reweighted(problem, rule, model.result), [k])
            history += _numbered(found[k].result.history, stage)
            if found[k].reached < k:
                break  # fewer leave nothing of the loss: scores would choose the others
            model = found[k]
        return replace(model, result=replace(model.result, history=tuple(history)))

    first = yield from search(problem, sizes)
    models = yield from together([later_stages(k, first[k]) for k in first])
    return dict(zip(first, models, strict=True))


def reweighted_supports(
    task: Task, sizes: Sequence[int], *, rule: Rule, tol: float = TOL, max_iter: int = MAX_ITER
) -> Solver[tuple[dict[int, IndexArray], SearchResult]]:
    """Return for every size k the support of the last stage; the second part has the history."""
    found = yield from reweighted_sizes(
        posed(task), sizes, rule=rule, tol=tol,
        max_iter=max_iter, forced=task.forced, ratio=LARGEST_SUPPORT,
    )  # fmt: skip
    supports = {k: model.result.support for k, model in found.items()}
    last = found[max(sizes)].result
    order = last.support[np.argsort(-np.abs(last.coef), kind="stable")]
    history = (Step(np.nan, np.nan, order.size, order),)
    return supports, SearchResult(replace(last, history=history, status=Status.BUDGET), {})


def _reweighted(problem: L1Problem, rule: Rule, result: Result) -> L1Problem:
    penalty = problem.penalty
    l1 = penalty.l1.copy()
    used = result.support[result.coef != 0]
    used = used[(l1[used] > 0) & (l1[used] < NEVER)]
    if used.size:
        a = l1[used] * np.abs(result.coef[np.searchsorted(result.support, used)])
        l1[used] *= rule.weights(a)
    return replace(problem, penalty=replace(penalty, l1=l1))


def _numbered(history: Sequence[Step], stage: int) -> list[Step]:
    return [replace(step, extra={**step.extra, "stage": stage}) for step in history]

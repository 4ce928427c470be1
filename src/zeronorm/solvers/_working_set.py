"""l1-regularised selection by working sets, along a path.

    min_{u, b}  lambda ||u||_1 + sum_i s_i f(y_i, x_i'u + b),   lambda = 1 / C

on a geometric grid of lambda from the largest useful value down. Every point solves the problem
over a working set, from the sequential strong rule, by proximal Newton steps on gathered columns;
a scan then looks for violated optimality conditions. It serves as one procedure of the menu of
cross-validated selection.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._typing import Columns, FloatArray, IndexArray, Smooth
from ..losses import fit_intercept
from ..result import Result, Status, Step
from ..structures import largest
from ._cutting_plane import GatheredColumns, Minimax, first_dual
from ._drive import Scan, Solver
from ._ridge import weighted_gram
from ._stopwatch import Stopwatch
from ._task import Task

GRID, SMALLEST = 0.9, 1e-2  # ratio of the grid, and of its last to its first lambda
KKT = 1e-3  # optimality conditions hold up to this share of lambda
MAX_NEWTON, MAX_SWEEPS = 50, 200
FORCED_FACTOR = 1e-3  # forced features are nearly unpenalised: finite where they separate the data


def l1_path(task: Task, sizes: Sequence[int]) -> Solver[tuple[dict[int, IndexArray], Minimax]]:
    """Return for every size k the support at the largest C with at most k features, exactly k.

    A support with fewer than k features is completed by the largest scores at that C. The second
    part of the answer tells when features entered.
    """
    design, y, weight, loss = task.design, task.y, task.sample_weight, task.loss
    m = design.shape[1]
    forced = np.empty(0, np.int64) if task.forced is None else task.forced
    allowed = np.ones(m, bool) if task.usable is None else task.usable
    factor = np.ones(m)
    factor[forced] = FORCED_FACTOR
    _, alpha, b = first_dual(loss, y, weight, task.intercept)
    scores = yield Scan(design, alpha * y)
    penalised = np.where(allowed & (factor == 1.0), np.abs(scores), 0.0)
    top = previous = float(penalised.max(initial=0.0))

    columns = GatheredColumns(design, max(sizes))
    columns.add(forced)
    u = np.zeros(forced.size)
    supports: dict[int, IndexArray] = {}
    missing = sorted(set(sizes))
    history: list[Step] = []
    entered = np.zeros(m, bool)
    rate = GRID * top
    while missing and rate > SMALLEST * top:
        clock = Stopwatch()
        clock.start()
        inside = np.zeros(m, bool)
        inside[columns.features] = True
        wanted = allowed & ~inside & (np.abs(scores) >= 2.0 * rate - previous)
        while True:
            new = np.flatnonzero(wanted)
            columns.add(new)
            inside[new] = True
            u = np.append(u, np.zeros(new.size))
            u, b, alpha = _solve(
                columns.columns(), y, weight, loss, rate * factor[columns.features], u, b,
                task.intercept,
            )  # fmt: skip
            if int((u != 0).sum()) > missing[-1]:
                break  # beyond the largest budget: no need to certify this point
            clock.stop()
            scores = yield Scan(design, alpha * y)
            clock.start()
            wanted = allowed & ~inside & (np.abs(scores) > rate * (1.0 + KKT))
            if not wanted.any():
                break
        active = np.union1d(columns.features[u != 0], forced)
        fresh = active[~entered[active]]
        entered[fresh] = True
        fresh = fresh[np.argsort(-np.abs(scores[fresh]), kind="stable")]
        clock.stop()
        seconds = {"solve": clock.seconds}
        history.append(Step(np.nan, np.nan, active.size, fresh, seconds, {"C": 1.0 / rate}))
        for k in [k for k in missing if active.size > k]:
            missing.remove(k)
        for k in missing:
            supports[k] = active
        previous, rate = rate, GRID * rate
    magnitude = np.where(allowed, np.abs(scores), -1.0)
    for k in sizes:
        support = supports.get(k, forced)
        if support.size < k:
            rest = magnitude.copy()
            rest[support] = -1.0
            support = np.union1d(support, largest(rest, k - support.size))
        supports[k] = np.sort(support)
    last = supports[max(sizes)]
    result = Result(
        last, np.zeros(last.size), b, np.nan, {}, alpha, Status.BUDGET, tuple(history)
    )  # fmt: skip
    return supports, Minimax(result, {})


def _solve(
    Z: Columns,
    y: FloatArray,
    weight: FloatArray,
    loss: Smooth,
    penalty: FloatArray,
    u: FloatArray,
    b: float,
    intercept: bool,
) -> tuple[FloatArray, float, FloatArray]:
    """Minimise sum_j penalty_j |u_j| + loss over gathered columns; return u, b and alpha."""
    z = np.asarray(Z @ u)
    for iteration in range(MAX_NEWTON):
        if intercept:
            b, value, gradient = fit_intercept(loss, z, y, weight, b)
        else:
            value, gradient = loss.value_gradient(z, y, weight)
        alpha = np.maximum(-y * gradient, 0.0)
        scores = np.asarray(Z.T @ (alpha * y))
        violation = np.where(
            u != 0, np.abs(scores - np.sign(u) * penalty), np.maximum(np.abs(scores) - penalty, 0)
        )
        if u.size == 0 or float((violation / penalty).max()) <= KKT or iteration == MAX_NEWTON - 1:
            break
        curvature = loss.curvature(z + b, y, weight)
        A = weighted_gram(Z, curvature)
        total = float(curvature.sum())
        cross = np.asarray(Z.T @ curvature)
        if intercept and total > 0:
            A -= np.outer(cross, cross / total)
        goal = _coordinate_descent(A, A @ u + scores, penalty, u)
        shift = -float(cross @ (goal - u)) / total if intercept and total > 0 else 0.0
        z_step = np.asarray(Z @ (goal - u))
        objective = value + float(penalty @ np.abs(u))
        step = 1.0
        for _ in range(30):
            trial = u + step * (goal - u)
            at = loss.value_gradient(z + b + step * (z_step + shift), y, weight)[0]
            if at + float(penalty @ np.abs(trial)) < objective:
                break
            step *= 0.5
        else:
            break
        u, z, b = trial, z + step * z_step, b + step * shift
    return u, b, alpha


def _coordinate_descent(
    A: FloatArray, h: FloatArray, penalty: FloatArray, start: FloatArray
) -> FloatArray:
    """Minimise 1/2 u'Au - h'u + sum_j penalty_j |u_j| by cyclic coordinate descent."""
    u = start.copy()
    residual = h - A @ u
    diagonal = np.maximum(np.einsum("ii->i", A), 1e-300)
    candidates = np.arange(u.size)
    for sweep in range(MAX_SWEEPS):
        largest_change = 0.0
        for j in candidates:
            old = u[j]
            r = residual[j] + diagonal[j] * old
            new = np.sign(r) * max(abs(r) - penalty[j], 0.0) / diagonal[j]
            if new != old:
                u[j] = new
                residual -= (new - old) * A[:, j]
                largest_change = max(largest_change, abs(new - old) * diagonal[j] / penalty[j])
        everything = candidates.size == u.size
        if largest_change <= 0.1 * KKT:
            if everything:
                break
            candidates = np.arange(u.size)
        elif everything or sweep % 10 == 9:
            candidates = np.flatnonzero(u)
    return u

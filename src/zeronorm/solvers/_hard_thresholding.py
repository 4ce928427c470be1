"""Iterative hard thresholding for the best k features, a scan for each step.

    min_{u, b}  1/2 ||u||^2 + C sum_i s_i f(y_i, x_i'u + b)   subject to  ||u||_0 <= k          (L0)

Source: Blumensath and Davies, Applied and Computational Harmonic Analysis 27(3), 2009.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._typing import Columns, FloatArray, IndexArray
from ..losses import fit_intercept
from ..structures import largest
from ._drive import Scan, Solver
from ._task import Task

MAX_ITERATIONS = 200
SUFFICIENT = 1e-3  # decrease of a step, as a share of t/2 ||step||^2
MOST_DOUBLINGS = 60


def hard_threshold(
    task: Task,
    weight: FloatArray,
    k: int,
    keep: IndexArray,
    tol: float,
    columns: Callable[[IndexArray], Columns],
) -> Solver[IndexArray]:
    """Return the support where hard thresholding ends.

    weight : (n,) sample weights times C.
    keep : features of every support.
    tol : decrease of the objective that counts, as a share of it.
    columns : returns the columns of some features.
    """
    state = Thresholding(task, weight, k, keep, tol)
    for _ in range(MAX_ITERATIONS):
        scores = yield Scan(task.design, state.vector)
        if not state.step(scores, columns):
            break
    return state.support


class Thresholding:
    """The iterates of hard thresholding: u <- H_k(u - grad / t), the intercept always at its best.

    The first t is the mean curvature of a standardised column, later ones are those of Barzilai and
    Borwein; t doubles until the objective falls by enough, so that it never rises.
    """

    def __init__(
        self,
        task: Task,
        weight: FloatArray,
        k: int,
        keep: IndexArray,
        tol: float,
    ) -> None:
        self._task, self._weight, self._k, self._keep, self._tol = task, weight, k, keep, tol
        self.support, self._coef = np.empty(0, np.int64), np.empty(0)
        self._place(np.zeros(task.y.size))
        self._objective = self._loss
        self._before: tuple[IndexArray, FloatArray, FloatArray] | None = None

    @property
    def vector(self) -> FloatArray:
        """What to correlate with the columns: minus the gradient of the loss in the margins."""
        return -self._gradient

    def _place(self, z: FloatArray) -> None:
        """Go to margins z, without the intercept."""
        task = self._task
        if task.intercept:
            b, self._loss, self._gradient = fit_intercept(task.loss, z, task.y, self._weight)
            self._margins = z + b
        else:
            self._loss, self._gradient = task.loss.value_gradient(z, task.y, self._weight)
            self._margins = z

    def step(self, scores: FloatArray, columns: Callable[[IndexArray], Columns]) -> bool:
        """Take a step from the scores at the point; return whether to go on.

        columns : returns the columns of some features.
        """
        old, u = self.support, self._coef
        full = np.zeros(scores.size)
        full[old] = u
        descent = scores - full
        t = self._curvature(scores, full)
        for _ in range(MOST_DOUBLINGS):
            target = full + descent / t
            strength = np.abs(target)
            strength[self._keep] = np.inf
            if self._task.usable is not None:
                strength[~self._task.usable] = -1.0
            new = np.sort(largest(strength, self._k))
            moved = target[new]
            change = float(np.sum((moved - full[new]) ** 2) + np.sum(full[old] ** 2))
            change -= float(np.sum(full[np.intersect1d(old, new)] ** 2))
            point = self._loss, self._gradient, self._margins
            self._place(np.asarray(columns(new) @ moved))
            objective = self._loss + 0.5 * float(moved @ moved)
            if objective <= self._objective - 0.5 * SUFFICIENT * t * change:
                break
            self._loss, self._gradient, self._margins = point
            t *= 2.0
        else:
            return False
        decrease = self._objective - objective
        self._before = (old, u, scores)
        self.support, self._coef, self._objective = new, moved, objective
        return decrease > self._tol * abs(objective)

    def _curvature(self, scores: FloatArray, full: FloatArray) -> float:
        """Return the t to try first."""
        curvature = self._task.loss.curvature(self._margins, self._task.y, self._weight)
        mean = 1.0 + float(curvature.sum())
        if self._before is None:
            return mean
        old, u, old_scores = self._before
        features = np.union1d(old, self.support)
        moved = full[features]
        moved[np.searchsorted(features, old)] -= u
        bend = float(moved @ (moved - (scores - old_scores)[features]))
        size = float(moved @ moved)
        return bend / size if bend > 0 and size > 0 else mean

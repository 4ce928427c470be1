"""One number by which the margins of held-out samples are nearest to their targets.

The final fit knows nothing of the selection before it, and on few samples its margins are too
large. With z_i the margin of sample i under the model of the fold that holds it out, the number
multiplies what a model says beyond the model without features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit

from ...core.types import FloatArray, IndexArray
from ...losses import Responses, without_covariates
from ...losses.ordinal import ordered_log_loss
from ..task import Task

LEAST, MOST = 0.02, 1.2  # of the scale
GRID = np.geomspace(LEAST, MOST, 16)  # the loss need not be convex
HALVINGS = 40  # of an interval of the grid: to the last bits
PRIOR = 1.0  # standard deviation around 1 of the scale of numbers, times and counts


class Judge(Protocol):
    """Targets of all samples, by which margins of held-out samples are judged."""

    def loss(self, z: FloatArray) -> float:
        """Return the loss of margins, (n, n_scores), that compares ways to select."""

    def scale(self, z: FloatArray) -> tuple[float, float]:
        """Return the best number in [LEAST, MOST], and the mean loss after scaling."""


@dataclass(frozen=True, slots=True)
class OfClasses:
    """Log-losses of class labels.

        a = argmin over [0.02, 1.2] of  sum_i s_i log(1 + exp(-y_i a z_i)),

    Several classes share it, so that no decision changes: it minimises the log-loss of their
    probabilities, which are those of each class against the others divided by their sum, or of a
    model of all classes the multinomial or the ordinal ones.

    codes : (n,) the class of each sample. weight : (n,).
    kind : "each", or the loss of a model of all classes: "multinomial" or "ordinal".
    """

    codes: IndexArray
    weight: FloatArray
    kind: str = "each"

    def loss(self, z: FloatArray) -> float:
        """Return the mean log-loss after scaling."""
        return self.scale(z)[1]

    def scale(self, z: FloatArray) -> tuple[float, float]:
        """Return the number by which margins have the least log-loss, and that mean.

        z : (n, 1) margins of the second of two classes, (n, n_classes) of each against the others,
            or of ordered classes (n, n_classes - 1) at the thresholds.
        """
        each, rising = self._log_loss(z)
        return _least(lambda a: float(self.weight @ each(a)) / float(self.weight.sum()), rising)

    def each(self, z: FloatArray, *, scaled: bool) -> FloatArray:
        """Return the log-loss of every sample, after scaling or of margins as they are, (n,)."""
        return self._log_loss(z)[0](self.scale(z)[0] if scaled else 1.0)

    def _log_loss(
        self, z: FloatArray
    ) -> tuple[Callable[[float], FloatArray], Callable[[float], bool]]:
        """Return the log-losses by a, and whether their mean rises there."""
        codes, weight = self.codes, self.weight
        if self.kind == "ordinal":
            return (
                lambda a: ordered_log_loss(a * z, codes)[0],
                lambda a: float(weight @ ordered_log_loss(a * z, codes)[1]) > 0.0,
            )
        shared = self.kind == "multinomial"
        if z.shape[1] == 1:
            z = np.hstack([-z, z])  # their probabilities have the sum 1
        rows = np.arange(codes.size)

        def log_size(a: float) -> FloatArray:
            return np.asarray(a * z if shared else log_expit(a * z))

        def each(a: float) -> FloatArray:
            size = log_size(a)
            return np.asarray(np.logaddexp.reduce(size, axis=1) - size[rows, codes])

        def rising(a: float) -> bool:
            log_proba = log_size(a)
            log_proba -= np.logaddexp.reduce(log_proba, axis=1)[:, None]
            change = z if shared else z * expit(-a * z)
            slope = (np.exp(log_proba) * change).sum(axis=1) - change[rows, codes]
            return float(weight @ slope) > 0.0

        return each, rising


@dataclass(frozen=True, slots=True)
class OfNumbers:
    """Minus the log-likelihood l of numbers, counts or survival times, of all outputs.

        a = argmin over [0.02, 1.2] of  l(null + a (z - null)) + (a - 1)^2 / (2 PRIOR^2),

    where null are the margins of the model without features. Few samples, or events, say little
    about a, which the second term then keeps near 1.

    task : of all samples. null : (n, n_outputs).
    """

    task: Task
    null: FloatArray

    def loss(self, z: FloatArray) -> float:
        """Return minus the log-likelihood of margins as they are, infinite where it overflows."""
        task, risk, each = self.task, self.task.risk(1.0), self._each()
        by_output = (z - task.origin).T.ravel()
        with np.errstate(over="ignore", invalid="ignore"):
            loss = each.value_gradient(by_output, risk.y, risk.weight)[0]
        if not np.isfinite(loss):
            return np.inf
        n_rows = task.n_rows * task.loss.outputs
        found = float(each.negative_log_likelihood(loss, risk.y, risk.weight, n_rows))
        # The likelihood of counts has their unit, as of rates for a person or for a million.
        of_counts = getattr(each, "variance_power", None) == 1.0
        return found * float(risk.weight.sum() / (risk.weight @ risk.y)) if of_counts else found

    def _each(self) -> Any:
        """Return the loss of one output."""
        loss: Any = without_covariates(self.task.loss)
        return (loss.each if isinstance(loss, Responses) else loss).final

    def scale(self, z: FloatArray) -> tuple[float, float]:
        """Return the scale; the mean loss is of no use to probabilities: NaN."""
        beyond = z - self.null

        def objective(a: float) -> float:
            return self.loss(self.null + a * beyond) + (a - 1.0) ** 2 / (2.0 * PRIOR**2)

        values = [objective(a) for a in GRID]
        best = int(np.argmin(values))
        ends = GRID[max(best - 1, 0)], GRID[min(best + 1, GRID.size - 1)]
        found = minimize_scalar(objective, bounds=ends, method="bounded", options={"xatol": 1e-6})
        return (float(found.x) if found.fun < values[best] else float(GRID[best])), float("nan")


def _least(loss: Callable[[float], float], rising: Callable[[float], bool]) -> tuple[float, float]:
    """Return where in [LEAST, MOST] a loss is least, and its value there."""
    best = int(np.argmin([loss(a) for a in GRID]))
    low, high = GRID[max(best - 1, 0)], GRID[min(best + 1, GRID.size - 1)]
    if rising(low):
        high = low
    elif not rising(high):
        low = high
    for _ in range(HALVINGS if low < high else 0):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if rising(middle) else (middle, high)
    a = float(0.5 * (low + high))
    return a, loss(a)

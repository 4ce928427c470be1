"""A test of losses: what solvers, certificates and proofs rely on."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from ..core.types import FloatArray

STEP = 1e-3  # of differences
ROWS = 40


class _Check:
    """A loss with a target, weights and margins to try it on."""

    def __init__(self, loss: Any, y: FloatArray, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.y = y
        self.weight = rng.uniform(0.2, 3.0, len(y))
        self.loss = loss.fitted(y, self.weight)
        self.z = rng.uniform(-3.0, 3.0, len(y))
        if loss.of_residuals:  # margins where the target is
            self.z = y + self.z * max(float(np.std(y)), 1.0)

    def require(self, holds: Any, rule: str) -> None:
        """Raise AssertionError, naming the loss and the rule that it breaks."""
        if not np.all(holds):
            raise AssertionError(f"{self.loss!r}: {rule}")

    def value(self, z: FloatArray) -> float:
        return float(self.loss.value_gradient(z, self.y, self.weight)[0])

    def gradient(self, z: FloatArray) -> FloatArray:
        return np.asarray(self.loss.value_gradient(z, self.y, self.weight)[1])

    def form(self) -> None:
        """Require names and flags, and that the loss survives pickling and is its own fit."""
        loss = self.loss
        for name in (
            "name", "kernel", "of_labels", "of_residuals", "quadratic", "has_intercept",
            "separable", "own_intercepts", "target", "largest_offset", "variance_power", "noise",
            "parameters", "final",
        ):  # fmt: skip
            self.require(hasattr(loss, name), f"{name} is missing.")
        self.require(isinstance(loss.name, str) and loss.name, "name must be text.")
        self.require(loss.fitted(self.y, self.weight) == loss, "fitted must fit once only.")
        self.require(pickle.loads(pickle.dumps(loss)) == loss, "a pickled copy must be equal.")

    def derivatives(self) -> None:
        """Require that the gradient is that of the value, the curvature that of the gradient."""
        z, kinks = self.z, 0
        gradient, curvature = self.gradient(z), self.loss.curvature(z, self.y, self.weight)
        self.require(curvature >= 0.0, "curvature must not be negative.")
        for row in range(z.size):
            step = np.zeros(z.size)
            step[row] = STEP
            slope = (
                8.0 * (self.value(z + step) - self.value(z - step))
                - (self.value(z + 2 * step) - self.value(z - 2 * step))
            ) / (12.0 * STEP)
            near = 1e-6 * (1.0 + abs(slope))
            self.require(abs(slope - gradient[row]) <= near, "gradient is not that of the value.")
            bend = (self.gradient(z + step) - self.gradient(z - step))[row] / (2.0 * STEP)
            kinks += abs(bend - curvature[row]) > 1e-4 * (1.0 + abs(bend))
        if self.loss.separable:
            self.require(kinks <= z.size // 10, "curvature is not that of the value.")

    def duality(self) -> None:
        """Require that the conjugate meets the value at -gradient, and bounds it everywhere."""
        loss, y, weight, z = self.loss, self.y, self.weight, self.z
        v = -self.gradient(z)
        size = 1.0 + abs(self.value(z)) + float(np.abs(z) @ np.abs(v))
        inside = loss.inside(v, y, weight)
        self.require(np.allclose(inside, v, rtol=1e-12, atol=0.0), "inside must keep -gradient.")
        met = self.value(z) + loss.conjugate(v, y, weight) + float(z @ v)
        self.require(abs(met) <= 1e-9 * size, "value + conjugate must be -z'v at v = -gradient.")
        rng = np.random.default_rng(1)
        for scale in (0.1, 1.0, 10.0):
            other = loss.inside(v * rng.uniform(0.0, scale, v.size), y, weight)
            conjugate = loss.conjugate(other, y, weight)
            self.require(np.isfinite(conjugate), "the conjugate must be finite inside.")
            for away in (0.0, 1.0, 5.0):
                at = z + away * rng.standard_normal(z.size)
                slack = self.value(at) + conjugate + float(at @ other)
                self.require(slack >= -1e-9 * size * (1.0 + away), "the conjugate is too small.")
            quadratic = float(rng.uniform(0.1, 10.0)) * float(other @ other + 1.0)
            t = loss.best_scale(other, y, weight, quadratic)
            self.require(np.isfinite(t) and t > 0, "best_scale must be positive.")

            def bound(t: float, other: FloatArray = other, quadratic: float = quadratic) -> float:
                return float(-loss.conjugate(t * other, y, weight) - t * t * quadratic)

            best = bound(t)
            if best < 0.0:  # no positive scale is better than none
                continue
            for factor in (0.5, 0.9, 0.999, 1.001, 1.1, 2.0):
                moved = factor * t * other
                if np.allclose(loss.inside(moved, y, weight), moved, rtol=1e-12, atol=0.0):
                    within = bound(factor * t) <= best + 1e-9 * (1.0 + abs(best))
                    self.require(within, "best_scale is not the best.")

    def convexity(self) -> None:
        """Require convexity, no negative value, and that no constant is better than `null`."""
        rng = np.random.default_rng(2)
        for _ in range(20):
            one, other = self.z + 3.0 * rng.standard_normal((2, self.z.size))
            rise = float((self.gradient(one) - self.gradient(other)) @ (one - other))
            self.require(rise >= -1e-9 * (1.0 + abs(rise)), "the loss is not convex.")
            self.require(self.value(one) >= 0.0, "the loss must not be negative.")
        null = self.loss.null(self.y, self.weight, True)
        self.require(null <= self.loss.null(self.y, self.weight, False), "null with b is larger.")
        for b in np.linspace(-5.0, 5.0, 11):
            at = self.value(np.full(self.z.size, b))
            self.require(null <= at + 1e-9 * (1.0 + at), "null is not the least value.")

    def weights(self) -> None:
        """Require that a weight of 2 is the row twice, and that a weight of 0 takes it out."""
        loss, y, z = self.loss, self.y, self.z
        counts = np.resize([0.0, 1.0, 1.0 if loss.counts_rows else 2.0], len(y))
        rows = np.repeat(np.arange(len(y)), counts.astype(int))
        one = loss.value_gradient(z, y, counts)[0]
        other = loss.value_gradient(z[rows], y[rows], np.ones(rows.size))[0]
        self.require(np.isclose(one, other, rtol=1e-10), "weights must be repetitions.")

    def extremes(self) -> None:
        """Require that nothing overflows or is no number at margins of 1e4 and more."""
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            for end in (-1e4, -700.0, 700.0, 1e4):
                z = np.full(len(self.y), end)
                numbers = [
                    self.value(z),
                    *self.gradient(z),
                    *self.loss.curvature(z, self.y, self.weight),
                ]
                self.require(np.isfinite(numbers), f"not finite at margins of {end:g}.")

    def offsets(self) -> None:
        """Require that the target and weights of an offset are those of the margins moved."""
        if self.loss.of_labels:
            return
        o = np.random.default_rng(3).uniform(-1.0, 1.0, len(self.y))
        try:
            y, exposure = self.loss.with_offset(self.y, o)
        except ValueError:  # it has none
            return
        _, moved = self.loss.value_gradient(self.z, y, self.weight * exposure)
        same = np.allclose(moved, self.gradient(self.z + o), rtol=1e-9, atol=1e-12)
        self.require(same, "with_offset is not the loss at margins that are moved.")


def check_loss(loss: Any, y: Any = None) -> None:
    """Check that a loss is what solvers, certificates and proofs rely on.

    Checked are its derivatives, conjugate, feasible points, scales and value without features,
    convexity, weights, offsets, and margins of any size.

    Parameters
    ----------
    loss : object with the methods of `zeronorm.losses.NumericLoss`.
    y : (n_samples,) a target; None: some that `loss.target` names.

    Raises
    ------
    AssertionError
        Where the loss breaks a rule, which the message names.

    Examples
    --------
    >>> from zeronorm.losses import Poisson, check_loss
    >>> check_loss(Poisson())
    """
    rng = np.random.default_rng(0)
    drawn = {
        "not negative": rng.poisson(2.0, ROWS).astype(np.float64),
        "positive": rng.gamma(2.0, 1.0, ROWS),
        "survival": np.column_stack(
            [np.ceil(rng.exponential(9.0, ROWS)), rng.random(ROWS) < 0.6, rng.random(ROWS) < 0.3]
        ),
        "ordered": np.arange(ROWS) % 3.0,
    }
    if y is None:
        y = drawn.get(loss.target, 2.0 + 3.0 * rng.standard_normal(ROWS))
        y = np.where(rng.random(ROWS) < 0.4, 1.0, -1.0) if loss.of_labels else y
    check = _Check(loss, np.asarray(y, dtype=np.float64), 0)
    for part in (
        check.form, check.derivatives, check.duality, check.convexity, check.weights,
        check.extremes, check.offsets,
    ):  # fmt: skip
        part()

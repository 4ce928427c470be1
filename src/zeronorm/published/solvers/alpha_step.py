"""The step of SALM and ASALM in w and b, (2.2) of `splitting`: the problem, and methods for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from scipy.linalg.blas import dsymv, dsyr, dsyr2
from scipy.optimize import minimize

from ...core.types import Columns, FloatArray
from ...losses import LossOfOutputs
from ...solvers.problem import Risk

MAX_NEWTON, MAX_QUASI_NEWTON = 100, 2000
MEMORY = 10  # pairs of L-BFGS
CURVATURE = 1e-14  # of a BFGS update: s'q over ||s|| ||q||
POWER_ITERATIONS, POWER_TOL = 100, 1e-4


@dataclass(frozen=True, slots=True)
class SplitProblem:
    """The mean loss with its ridge on columns in memory, as a function of alpha = (b, w).

    Z : (n, p) columns. Of several outputs (q n, q p), every column once for each: b is 0, and the
        loss that at the best intercepts of the outputs.
    risk : whose weights, with C, have the sum 1 / mu, in each output.
    """

    Z: Columns
    risk: Risk
    mean: Risk = field(init=False)  # with weights of sum 1
    mu: float = field(init=False)

    def __post_init__(self) -> None:
        """Pass from sums to means."""
        total = float(self.risk.weight.sum()) / self.risk.loss.outputs
        object.__setattr__(self, "mean", replace(self.risk, weight=self.risk.weight / total))
        object.__setattr__(self, "mu", 1.0 / total)

    def without_ridge(self) -> SplitProblem:
        """Return the problem with mu = 0."""
        problem = replace(self)
        object.__setattr__(problem, "mu", 0.0)
        return problem

    def margins(self, alpha: FloatArray) -> FloatArray:
        """Return Zw + b."""
        return self.Z.times(alpha[1:]) + float(alpha[0])

    def lift(self, v: FloatArray) -> FloatArray:
        """Return (sum_i v_i, Z'v), the first 0 where the intercept is."""
        first = float(v.sum()) if self.risk.intercept else 0.0
        return np.concatenate([[first], self.Z.dot(v)])

    def gradient(self, alpha: FloatArray) -> FloatArray:
        """Return the gradient in w, (p,)."""
        slope = self.mean.value_gradient(self.margins(alpha))[1]
        return self.Z.dot(slope) + self.mu * alpha[1:]

    def bend(self, z: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return the product with the second derivative in the margins, at z.

        Of several outputs it is H - HN (N'HN)^+ N'H: a block of H for every row, N the columns that
        are free of a penalty, once for every output.
        """
        mean, q = self.mean, self.mean.loss.outputs
        if q == 1:
            curvature = mean.curvature(z)
            return lambda v: curvature * v
        loss = cast("LossOfOutputs", mean.loss)
        blocks = loss.at_margins.blocks(loss.moved(z, mean.y, mean.weight), mean.y, mean.weight)
        columns = loss.free_columns(mean.size)
        n, r = columns.shape
        beside = np.einsum("abn,nr->anbr", blocks, columns).reshape(q, n, q * r)  # HN
        own = np.einsum("nr,anc->arc", columns, beside).reshape(q * r, q * r)
        beside, inverse = beside.reshape(q * n, q * r), np.linalg.pinv(own, hermitian=True)

        def product(v: FloatArray) -> FloatArray:
            moved = np.einsum("abn,bn->an", blocks, v.reshape(q, -1)).ravel()
            return np.asarray(moved - beside @ (inverse @ (v @ beside)))

        return product

    def curvature(self) -> float:
        """Return L, the largest eigenvalue of Z'HZ by power iteration, H = diag(f''(0)).

        Columns are centred where the intercept is free. Without the ridge.
        """
        none = np.zeros(self.risk.weight.size)
        bend = self.bend(none)
        share = bend(np.ones_like(none)) if self.risk.intercept else none
        v = self.lift(self.mean.value_gradient(none)[1])[1:]
        largest_so_far = 0.0
        for _ in range(POWER_ITERATIONS):
            length = float(np.linalg.norm(v))
            if length == 0:
                v, length = np.ones(v.size), math.sqrt(v.size)
            z = self.Z.times(v / length)
            if self.risk.intercept:
                z -= share @ z / share.sum()
            moved = bend(z)
            v = self.Z.dot(moved)
            before, largest_so_far = largest_so_far, float(z @ moved)
            if largest_so_far - before <= POWER_TOL * largest_so_far:
                break
        return largest_so_far


@dataclass(frozen=True, slots=True)
class AlphaStep:
    """(2.2): minimise mean loss + a/2 ||w||^2 - pull'w, with a = mu + rho, pull = rho beta + gamma.

    It differs from the augmented Lagrangian by a constant.
    """

    problem: SplitProblem
    a: float
    pull: FloatArray  # (p,)

    def value_gradient(self, alpha: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and the gradient, (p + 1,)."""
        return self.at(alpha, self.problem.margins(alpha))

    def at(self, alpha: FloatArray, z: FloatArray) -> tuple[float, FloatArray]:
        """Return them where the margins are known."""
        problem, w = self.problem, alpha[1:]
        value, slope = problem.mean.value_gradient(z)
        gradient = problem.lift(slope)
        gradient[1:] += self.a * w - self.pull
        return value + 0.5 * self.a * float(w @ w) - float(self.pull @ w), gradient

    def best_step(self, alpha: FloatArray, z: FloatArray, d: FloatArray, dz: FloatArray) -> float:
        """Return the t >= 0 that minimises the value at alpha + t d; dz is what d adds to z.

        Newton's method on the increasing derivative in t, in a bracket; cost O(n) a trial.
        """
        problem, w, dw = self.problem, alpha[1:], d[1:]
        constant = float((self.a * w - self.pull) @ dw)
        square = self.a * float(dw @ dw)

        def derivative(t: float) -> float:
            slope = problem.mean.value_gradient(z + t * dz)[1]
            return float(slope @ dz) + constant + t * square

        first = derivative(0.0)
        if not first < 0:
            return 0.0
        low, high, t = 0.0, math.inf, 1.0
        for _ in range(100):
            now = derivative(t)
            if abs(now) <= 1e-10 * -first:
                break
            low, high = (t, high) if now < 0 else (low, t)
            bend = problem.bend(z + t * dz)
            trial = t - now / (float(dz @ bend(dz)) + square)
            if not low < trial < high:
                trial = 2.0 * t if math.isinf(high) else 0.5 * (low + high)
            if abs(trial - t) <= 1e-15 * t:
                break
            t = trial
        return t


def newton_cg(step: AlphaStep, alpha: FloatArray, tol: float) -> tuple[FloatArray, int]:
    """Minimise by Newton's method, directions by conjugate gradients, to ||gradient|| <= tol.

    Returns the point and the number of products with the Hessian.
    """
    problem = step.problem
    z, n_products = problem.margins(alpha), 0
    for _ in range(MAX_NEWTON):
        _, gradient = step.at(alpha, z)
        size = float(np.linalg.norm(gradient))
        if not size > tol:
            break
        bend = problem.bend(z)

        def product(v: FloatArray, bend: Callable[[FloatArray], FloatArray] = bend) -> FloatArray:
            result = problem.lift(bend(problem.margins(v)))
            result[1:] += step.a * v[1:]
            return result

        d, count = _conjugate_gradients(product, -gradient, min(0.5, math.sqrt(size)) * size)
        n_products += count
        dz = problem.margins(d)
        t = step.best_step(alpha, z, d, dz)
        if t == 0:  # rounding: no decrease is left
            break
        alpha, z = alpha + t * d, z + t * dz
    return alpha, n_products


def _conjugate_gradients(
    product: Callable[[FloatArray], FloatArray], right: FloatArray, tol: float
) -> tuple[FloatArray, int]:
    """Return d with ||H d - right|| <= tol, and the number of products."""
    d, residual = np.zeros_like(right), right.copy()
    direction, square, count = right, float(right @ right), 0
    while math.sqrt(square) > tol and count <= right.size:
        moved = product(direction)
        bend = float(direction @ moved)
        count += 1
        if bend <= 0:  # b alone, where the loss is flat
            return (d, count) if count > 1 else (right, count)
        length = square / bend
        d += length * direction
        residual -= length * moved
        before, square = square, float(residual @ residual)
        direction = residual + (square / before) * direction
    return d, count


def bfgs(step: AlphaStep, alpha: FloatArray, tol: float) -> tuple[FloatArray, int]:
    """Minimise by the BFGS method of the paper: U = I at first, exact steps, O(p^2) memory."""
    U = np.eye(alpha.size, order="F")
    z = step.problem.margins(alpha)
    _, gradient = step.at(alpha, z)
    for iteration in range(MAX_QUASI_NEWTON):
        if not np.linalg.norm(gradient) > tol:
            return alpha, iteration
        d = np.asarray(dsymv(-1.0, U, gradient, lower=1))
        dz = step.problem.margins(d)
        t = step.best_step(alpha, z, d, dz)
        if t == 0:  # rounding: no decrease is left
            return alpha, iteration
        alpha, z, before = alpha + t * d, z + t * dz, gradient
        _, gradient = step.at(alpha, z)
        U = bfgs_update(U, t * d, gradient - before)
    return alpha, MAX_QUASI_NEWTON


def bfgs_update(U: FloatArray, s: FloatArray, q: FloatArray) -> FloatArray:
    """Return (I - s q'/s'q) U (I - q s'/s'q) + s s'/s'q, lower triangle only, instead of U.

    U, in F order, is left as it is where the curvature s'q is lost in rounding.
    """
    bend = float(s @ q)
    if not bend > CURVATURE * float(np.linalg.norm(s)) * float(np.linalg.norm(q)):
        return U
    Uq = dsymv(1.0, U, q, lower=1)
    U = dsyr2(-1.0 / bend, s, Uq, a=U, lower=1, overwrite_a=1)
    return np.asarray(dsyr((1.0 + float(q @ Uq) / bend) / bend, s, a=U, lower=1, overwrite_a=1))


def l_bfgs(step: AlphaStep, alpha: FloatArray, tol: float) -> tuple[FloatArray, int]:
    """Minimise by SciPy's L-BFGS."""
    found = minimize(
        step.value_gradient, alpha, jac=True, method="L-BFGS-B",
        options={
            "maxcor": MEMORY, "ftol": 0.0, "gtol": tol / math.sqrt(alpha.size),
            "maxiter": MAX_QUASI_NEWTON, "maxfun": 2 * MAX_QUASI_NEWTON,
        },
    )  # fmt: skip
    return np.asarray(found.x), int(found.nit)


INNER_METHODS = {"newton-cg": newton_cg, "l-bfgs": l_bfgs, "bfgs": bfgs}

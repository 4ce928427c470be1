"""What certificates and fits need of any loss: dual bounds, feasible points, best intercepts."""

from __future__ import annotations

import numpy as np

from .. import _kernels
from ..core.types import Curved, FloatArray, Smooth


def is_compiled(loss: Curved) -> bool:
    """Return whether `at_margins` takes a loss: labels and squares have shorter ways."""
    return loss.kernel >= 0 and not (loss.quadratic or getattr(loss, "of_labels", False))


def has_compiled_dual(loss: Curved) -> bool:
    """Return whether the compiled solvers know the dual points of a loss."""
    return loss.kernel >= 0 and getattr(loss, "compiled_dual", False)


def compiled_scale(
    loss: Curved, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
) -> float:
    """Return `best_scale` of a loss whose dual points are compiled."""
    return _kernels.loss_scale(
        *_as_arrays(v, y, weight), loss.kernel, loss.kernel_parameters, quadratic
    )


def compiled_conjugate(loss: Curved, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
    """Return `conjugate` of a loss whose dual points are compiled."""
    return _kernels.loss_conjugate(*_as_arrays(v, y, weight), loss.kernel, loss.kernel_parameters)


def _as_arrays(
    v: FloatArray, y: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return arrays as kernels take them."""
    return (
        np.ascontiguousarray(v, np.float64),
        np.asarray(y, np.float64).ravel(),
        np.ascontiguousarray(weight, np.float64),
    )


def at_margins(
    loss: Curved,
    z: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    start: float = 0.0,
    *,
    intercept: bool = False,
) -> tuple[float, float, FloatArray, FloatArray]:
    """Return b, the value at z + b, its gradient and its curvature there, of a compiled loss.

    intercept : whether b moves from `start` to its best value.
    """
    gradient, curvature = np.empty(z.size), np.empty(z.size)
    b, value = _kernels.loss_at(
        *_as_arrays(z, y, weight), loss.kernel, loss.kernel_parameters, intercept, start, gradient,
        curvature,
    )  # fmt: skip
    return b, value, gradient, curvature


def share_of(alpha: FloatArray, weight: FloatArray) -> FloatArray:
    """Return alpha / weight, 0 where a row has no weight (and alpha is 0)."""
    return np.divide(alpha, weight, out=np.zeros_like(alpha), where=weight > 0)


def dual_bound(
    loss: Smooth, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
) -> tuple[float, float]:
    """Return max_t -conjugate(t v) - t**2 quadratic, and its t.

    `quadratic` is the value at v of the quadratic part of the dual, for example
    1/2 max_t ||c_{S_t}||^2. Without the rescaling the bound is useless far from the optimum. Where
    rounding leaves v outside of the domain the bound is that of 0, the least value of the loss.
    """
    scale = loss.best_scale(v, y, weight, quadratic)
    value = -loss.conjugate(scale * v, y, weight) - scale * (scale * quadratic)
    if value > -np.inf:
        return value, scale
    return -loss.conjugate(np.zeros_like(v), y, weight), 0.0


def balance(v: FloatArray) -> FloatArray:
    """Return v with its heavier sign shrunk so that sum_i v_i = 0.

    At the optimal intercept the sum is zero up to rounding; after this it is a feasible dual
    point exactly, and bounds computed from it are bounds. Where a sign has nothing, as by
    underflow, the other one is left with nothing as well.
    """
    positive = v > 0
    up, down = float(v[positive].sum()), -float(v[~positive].sum())
    if up == down:
        return v
    heavier = positive if up > down else ~positive
    return np.where(heavier, min(up, down) / max(up, down) * v, v)


def balance_each(V: FloatArray) -> FloatArray:
    """Return the rows of V, each as `balance` has it."""
    above = np.maximum(V, 0.0)
    up, down = above.sum(axis=1), (above - V).sum(axis=1)
    light = np.minimum(up, down)
    factors = [
        np.divide(light, one, out=np.ones_like(one), where=one > light) for one in (up, down)
    ]
    return np.asarray(np.where(V > 0, factors[0][:, None], factors[1][:, None]) * V)


def fit_intercept(
    loss: Curved, z: FloatArray, y: FloatArray, weight: FloatArray, start: float = 0.0
) -> tuple[float, float, FloatArray]:
    """Return b = argmin_b sum_i s_i f(y_i, z_i + b), the value there and the gradient in z.

    Newton's method on the increasing derivative, with a bracket that bisection can fall back to;
    of least squares it is a weighted mean.
    """
    if not loss.has_intercept:
        return 0.0, *loss.value_gradient(z, y, weight)
    if loss.quadratic:
        b = float(weight @ (y - z)) / float(weight.sum())
        return b, *loss.value_gradient(z + b, y, weight)
    if loss.kernel >= 0:
        return at_margins(loss, z, y, weight, start, intercept=True)[:3]
    b = start
    low, high = -np.inf, np.inf
    width = 1.0
    for _ in range(200):
        value, gradient = loss.value_gradient(z + b, y, weight)
        slope = float(gradient.sum())
        if abs(slope) <= 1e-13 * float(np.abs(gradient).sum()):
            break
        if slope > 0:
            high = b
        else:
            low = b
        bend = float(loss.curvature(z + b, y, weight).sum())
        proposal = b - slope / bend if bend > 0 else np.nan
        if not (low < proposal < high) or abs(proposal - b) > 10.0 * width:
            if np.isinf(low) or np.isinf(high):  # expand towards the missing end
                proposal = b - np.sign(slope) * width
                width *= 4.0
            else:
                proposal = 0.5 * (low + high)
        if abs(proposal - b) <= 1e-15 * max(1.0, abs(b)):
            break
        b = float(proposal)
    return b, value, gradient

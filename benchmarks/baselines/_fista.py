"""FISTA with backtracking and restarts, for a loss of X x and a function with a simple prox.

Sources: Beck and Teboulle, SIAM J. Imaging Sciences 2(1), 2009; the restart where the last step and
the gradient mapping disagree is that of O'Donoghue and Candes, Found. Comput. Math. 15(3), 2015.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from zeronorm.core.types import FloatArray

from ._base import CURVATURE, ConvexLoss

CHECK = 10  # iterations between two calls of `done`


def fista(
    loss: ConvexLoss,
    columns: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    prox: Callable[[FloatArray, float], FloatArray],
    x: FloatArray,
    lipschitz: float,
    done: Callable[[FloatArray, FloatArray], bool],
    max_iter: int,
) -> tuple[FloatArray, float, int]:
    """Minimise sum_i s_i f(y_i, (columns x)_i) + h(x) from x; return x, the L used, iterations.

    Parameters
    ----------
    columns : (n, m) float64.
    prox : (v, t) -> argmin_x h(x) + ||x - v||^2 / (2 t).
    lipschitz : first estimate of the Lipschitz constant of the gradient; 0: the largest column's.
    done : (x, columns x) -> whether to stop, called every CHECK iterations.
    """
    bound, curved = CURVATURE[loss.name], loss.name == "logistic"
    z = columns @ x
    if lipschitz == 0.0:
        lipschitz = bound * _largest_square(columns, weight) or 1.0
    u, zu, momentum = x, z, 1.0
    for n_iter in range(max_iter + 1):
        if n_iter % CHECK == 0:
            z, zu = columns @ x, columns @ u  # the running sums drift by rounding
            if done(x, z):
                return x, lipschitz, n_iter
            if curved and n_iter:  # the curvature falls as margins grow, in separable data to 0
                lipschitz *= 0.5
        value, slope = loss.value_gradient(zu, y, weight)
        gradient = columns.T @ slope
        while True:
            new = prox(u - gradient / lipschitz, 1.0 / lipschitz)
            step = new - u
            dz = columns @ step
            quadratic = 0.5 * lipschitz * float(step @ step)
            # The first bound holds at some L whatever the rounding; the second one is the
            # tighter for margins of small curvature.
            if 0.5 * bound * float(weight @ dz**2) <= quadratic:
                break
            if (
                curved
                and loss.value_gradient(zu + dz, y, weight)[0] - value - float(slope @ dz)
                <= quadratic
            ):
                break
            lipschitz *= 2.0
        moved, z_new = new - x, zu + dz
        if float(step @ moved) < 0.0:  # (u - new)'(new - x) > 0
            momentum = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        beta = (momentum - 1.0) / following
        u, zu = new + beta * moved, z_new + beta * (z_new - z)
        x, z, momentum = new, z_new, following
    return x, lipschitz, max_iter


def _largest_square(columns: FloatArray, weight: FloatArray) -> float:
    """Return max_j sum_i s_i x_ij^2."""
    return float(np.einsum("i,ij,ij->j", weight, columns, columns).max(initial=0.0))

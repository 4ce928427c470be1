"""A ridge problem on a few dense columns, from start to certificate."""

from __future__ import annotations

import numpy as np

from zeronorm._typing import FloatArray, IndexArray


def dense_ridge(
    x: FloatArray,
    columns: IndexArray,
    y: FloatArray,
    weight: FloatArray,
    penalty: FloatArray,
    squared_hinge: bool,
    intercept: bool,
    start: float,
    tol: float,
    of_value: bool,
    cutoff: float,
    u: FloatArray,
    margins: FloatArray,
    alpha: FloatArray,
    scores: FloatArray,
) -> tuple[float, float, float, float]:
    """Minimise 1/2 sum_j p_j u_j^2 + sum_i s_i f(y_i, z_i'u + b) with Z = x[:, columns].

    From (u, start) by Newton's method, as `solvers._ridge.newton` has it, which also says what the
    arrays and numbers mean; LinAlgError where a Newton system is not finite. The native kernel
    solves every Newton system in the space of the columns: it is meant for no more columns than
    rows.

    Parameters
    ----------
    x : (n, m) float64, any strides.
    columns : (p,) int64, positions in x.
    u, margins, alpha, scores : (p,), (n,), (n,), (p,), overwritten; u is the start before.

    Returns
    -------
    (b, objective, bound, gap)
    """
    from zeronorm.losses import Logistic, SquaredHinge  # they rest on the kernels
    from zeronorm.solvers._ridge import newton

    loss = SquaredHinge() if squared_hinge else Logistic()
    Z = np.asfortranarray(x[:, columns])
    fit = newton(Z, y, weight, loss, penalty, intercept, u, start, tol, of_value, cutoff)
    u[:], margins[:], alpha[:], scores[:] = fit.coef, fit.margins, fit.alpha, fit.scores
    return fit.intercept, fit.objective, fit.bound, fit.gap

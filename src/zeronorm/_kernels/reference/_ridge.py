"""Ridge problems on a few dense columns: one, from start to certificate, and exchanges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    from zeronorm.designs._columns import DenseColumns  # they rest on the kernels
    from zeronorm.losses import Logistic, SquaredHinge
    from zeronorm.solvers._ridge import newton

    loss = SquaredHinge() if squared_hinge else Logistic()
    Z = DenseColumns(np.asfortranarray(x[:, columns]))
    fit = newton(Z, y, weight, loss, penalty, intercept, u, start, tol, of_value, cutoff)
    u[:], margins[:], alpha[:], scores[:] = fit.coef, fit.margins, fit.dual * y, fit.scores
    return fit.intercept, fit.objective, fit.bound, fit.gap


def dense_exchange(
    x: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    is_kept: NDArray[np.uint8],
    squared_hinge: bool,
    intercept: bool,
    start: float,
    tol: float,
    fit_tol: float,
    swaps: bool,
    rule: tuple[int, int, int, int, int],
    won_back: float,
    known: IndexArray,
    n_known: int,
    columns: IndexArray,
    u: FloatArray,
    margins: FloatArray,
    alpha: FloatArray,
    scores: FloatArray,
) -> tuple[float, float, float, float]:
    """Splice and swap from a support of a pool until neither helps, as `Exchanges.improve` does.

    Parameters
    ----------
    x : (n, p) float64, any strides: the pool.
    is_kept : (p,) whether a column stays in every support.
    start : the intercept to start from.
    tol, fit_tol : the decrease that counts, and the accuracy of fits, of the objective.
    swaps : whether to swap, too.
    rule, won_back : how many exchanges are tried; here, the constants of `solvers._exchange`.
    known, n_known : a support for which exchanges with the columns before `n_known` are known to
        be of no use.
    columns, u, margins, alpha, scores : (k,), (k,), (n,), (n,), (k,), overwritten; the first two
        are a sorted support and its coefficients before.

    Returns
    -------
    (b, objective, bound, gap)
    """
    from zeronorm.designs._columns import DenseColumns  # they rest on the kernels
    from zeronorm.losses import Logistic, SquaredHinge
    from zeronorm.solvers._exchange import Exchanges

    loss = SquaredHinge() if squared_hinge else Logistic()
    exchanges = Exchanges(
        DenseColumns(x), y, weight, loss, intercept=intercept, keep=np.flatnonzero(is_kept),
        tol=tol, fit_tol=fit_tol,
    )  # fmt: skip
    exchanges.settle(exchanges.fit(known), n_known)
    found = exchanges.improve_by_steps(exchanges.fit(columns.copy(), (u, start)), swaps=swaps)
    fit = found.fit
    columns[:], u[:], scores[:] = found.columns, fit.coef, fit.scores
    margins[:], alpha[:] = fit.margins, fit.dual * y
    return fit.intercept, fit.objective, fit.bound, fit.gap

"""Types of the compiled solvers; those of the kernels are in `reference`, which specifies them.

Arrays are never converted: another type or layout than stated raises TypeError. Shapes and indices
are not checked here. All native functions release the GIL; those with `n_threads` give the same
bits for any number of threads.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Float: TypeAlias = NDArray[np.float64]
_Places: TypeAlias = NDArray[np.int64]
_QuadraticRule: TypeAlias = tuple[tuple[int, int, int], tuple[float, float, float, float]]
RelaxationRule: TypeAlias = tuple[tuple[int, int, int, int], tuple[float, float], _QuadraticRule]

def dense_ridge(
    x: _Float, columns: _Places, y: _Float, weight: _Float, penalty: _Float, loss: int,
    parameters: tuple[float, float], intercept: bool, start: float, tol: float, of_value: bool,
    cutoff: float, u: _Float, margins: _Float, dual: _Float, scores: _Float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Minimise 1/2 sum_j p_j u_j^2 + sum_i s_i f(y_i, z_i'u + b) with Z = x[:, columns].

    From (u, start) by Newton's method, as `solvers._ridge.newton` has it, which also says what the
    arrays and numbers mean; LinAlgError where a Newton system is not finite. Every Newton system is
    solved in the space of the columns: this is meant for no more columns than rows.

    Parameters
    ----------
    x : (n, m) float64, any strides.
    columns : (p,) int64, positions in x.
    y : (n,), or all that a loss has of the rows, row by row.
    loss, parameters : the number of the loss, its `kernel`, and its `kernel_parameters`.
    u, margins, dual, scores : (p,), (n,), (n,), (p,), overwritten; u is the start before. dual
        is v.

    Returns
    -------
    (b, objective, bound, gap)
    """

def sparse_ridge(
    indptr: NDArray[Any], indices: NDArray[np.int32], data: _Float, *as_dense: Any
) -> tuple[float, float, float, float]:
    """Solve the problem of `dense_ridge`, of a loss of single rows, on columns of a sparse matrix.

    indptr, indices, data : by column; indptr int32 or int64. as_dense : what follows x there.
    """

def dense_exchange(
    x: _Float,
    y: _Float,
    weight: _Float,
    is_kept: NDArray[np.uint8],
    loss: int,
    parameters: tuple[float, float],
    intercept: bool,
    start: float,
    tol: float,
    fit_tol: float,
    swaps: bool,
    rule: tuple[int, int, int, int, int],
    won_back: float,
    known: _Places,
    n_known: int,
    columns: _Places,
    u: _Float,
    margins: _Float,
    dual: _Float,
    scores: _Float,
) -> tuple[float, float, float, float]:
    """Splice and swap from a support of a pool until neither helps, as `Exchanges.improve` does.

    Parameters
    ----------
    x : (n, p) float64, any strides: the pool.
    is_kept : (p,) whether a column stays in every support.
    y, loss, parameters : as of `dense_ridge`.
    start : the intercept to start from.
    tol, fit_tol : the decrease that counts, and the accuracy of fits, of the objective.
    swaps : whether to swap, too.
    rule, won_back : how many exchanges are tried: the constants of `solvers._exchange`.
    known, n_known : a support for which exchanges with the columns before `n_known` are known to
        be of no use.
    columns, u, margins, dual, scores : (k,), (k,), (n,), (n,), (k,), overwritten; the first two
        are a sorted support and its coefficients before. Returns (b, objective, bound, gap).
    """

def output_exchange(
    x: _Float,
    y: _Float,
    weight: _Float,
    is_kept: NDArray[np.uint8],
    loss: int,
    parameters: tuple[float, float],
    outputs: int,
    intercept: bool,
    tol: float,
    fit_tol: float,
    swaps: bool,
    rule: tuple[int, int, int, int, int],
    won_back: float,
    columns: _Places,
    u: _Float,
    margins: _Float,
    dual: _Float,
    scores: _Float,
) -> tuple[float, float, float, float]:
    """Do the same for several outputs that share the columns, as `GroupExchanges.improve` does.

    Parameters
    ----------
    y, weight, margins, dual : (q n,), one output after the other, margins without the intercepts.
    loss, parameters : -1 for the multinomial loss, else those of the loss of each output.
    u, scores : (k q,), column by column; the others as of `dense_exchange`.
    """

def loss_at(
    z: _Float,
    y: _Float,
    weight: _Float,
    loss: int,
    parameters: tuple[float, float],
    intercept: bool,
    start: float,
    gradient: _Float,
    curvature: _Float,
) -> tuple[float, float]:
    """Return b and sum_i s_i f(y_i, z_i + b), and put the derivatives in the margins there.

    intercept : whether b moves from `start` to its best value, as in `losses.fit_intercept`.
    gradient, curvature : (n,), overwritten by the first and second derivatives.
    """

def loss_scale(
    v: _Float,
    y: _Float,
    weight: _Float,
    loss: int,
    parameters: tuple[float, float],
    quadratic: float,
) -> float:
    """Return the c that maximises -conjugate(c v) - c^2 quadratic, of a loss not of labels."""

def loss_conjugate(
    v: _Float, y: _Float, weight: _Float, loss: int, parameters: tuple[float, float]
) -> float:
    """Return the conjugate of such a loss at -v, infinite outside of its domain."""

def left_out_loss(
    x: _Float,
    y: _Float,
    weight: _Float,
    unit: _Float,
    loss: int,
    parameters: tuple[float, float],
    intercept: bool,
    C: float,
    penalty: _Float,
    margins: _Float,
) -> float:
    """Return the mean loss of each row under the model fitted without one unit of its weight.

    As `solvers.pool.left_out.leave_one_out_loss` has it, of a sum over rows.

    x : (n, p) float64, any strides. unit : (n,) what of its weight is left out of a row.
    weight : without C. penalty, margins : (p,), (n,) of the fit with C.
    """

def compare_left_out(
    x: _Float,
    y: _Float,
    weight: _Float,
    unit: _Float,
    loss: int,
    parameters: tuple[float, float],
    intercept: bool,
    start: float,
    penalty: _Float,
    values: _Float,
    tol: float,
    u: _Float,
    coef: _Float,
    intercepts: _Float,
    losses: _Float,
) -> None:
    """Fit with every C of `values`, each from the fit before, and leave rows out: both of above.

    values : (m,). u : (p,), the start, overwritten.
    coef, intercepts, losses : (m, p), (m,), (m,), overwritten.
    """

def dense_eliminate(
    x: _Float, y: _Float, weight: _Float, is_kept: NDArray[np.uint8], loss: int,
    parameters: tuple[float, float], intercept: bool, columns: _Places, sizes: _Places,
    tol: float, rule: tuple[int, float], gone: _Places,
) -> int:  # fmt: skip
    """Eliminate columns of a pool until each of the sizes is reached, as `Exchanges.eliminate`.

    x, is_kept : as of `dense_exchange`. columns : (m,) sorted, to begin with. sizes : falling.
    rule : with how many columns they leave one by one, and what share of them leaves before that.
    gone : (m,), overwritten by the columns that leave, in order. Returns how many they are.
    """

def output_eliminate(
    x: _Float, y: _Float, weight: _Float, is_kept: NDArray[np.uint8], loss: int,
    parameters: tuple[float, float], outputs: int, intercept: bool, columns: _Places,
    sizes: _Places, tol: float, rule: tuple[int, float], gone: _Places,
) -> int:  # fmt: skip
    """Eliminate what several outputs share; loss : negative for the multinomial one."""

def minimise_quadratic(
    matrix: _Float, right: _Float, n_fixed: int, q: int, tol: float, rule: _QuadraticRule, u: _Float
) -> None:
    """Minimise the relaxation of a quadratic loss, as `Quadratic.minimise` of pool/quadratic.py.

    matrix, right : (p, p), (p,) H and r; the first n_fixed columns are fixed, each is a unit.
    rule : `RULE` there. u : (p,), the start, overwritten.
    """

def relax(
    storage: tuple[np.ndarray, ...], columns: _Places, y: _Float, weight: _Float, loss: int,
    parameters: tuple[float, float], intercept: bool, start: float, n_fixed: int, q: int,
    aim: tuple[float, float], rule: RelaxationRule, u: _Float, dual: _Float, scores: _Float,
    share: _Float, into: _Float, out: _Float,
) -> tuple[float, float, float, bool]:  # fmt: skip
    """Take the Newton steps of `relax` of pool/relaxation.py; return b, objective and bound.

    At last whether that is all; else the caller goes on from there.

    storage : (x,) by column, or (indptr, indices, data) of sparse columns, int32 and float64.
    columns : (m,), which count, n_fixed of them fixed. aim : the relative gap, the bound to stop at.
    rule : see `rule` of pool/compiled_relaxation.py. u : (m,), the start, overwritten.
    dual : (n,), of the best bound. scores : (m,), of the solution.
    into, out : (m,), what dividing by a column would bring; 0 where that is not known.
    """

def grow(
    storage: tuple[np.ndarray, ...], y: _Float, weight: _Float, loss: int,
    parameters: tuple[float, float], intercept: bool, units: _Places, n_fixed: int, bound: float,
    dual: _Float, used: _Places, coef: _Float, start: float, target: float, objective: float,
    best: _Places, budget: int, most_nodes: int, most_coef: float, level: float,
    tolerances: tuple[float, float, float, float], rule: RelaxationRule,
) -> tuple[Any, ...]:  # fmt: skip
    """Return a part of the tree of `BranchAndBound` of pool/branch.py, which begins at a node.

    Empty where its relaxation needs other steps; else what `pool.subtree.Subtree` is made of.

    p : columns of the matrix. units, n_fixed, bound, dual, (used, coef, start) : of the node.
    tolerances : NODE_TOL, LEAF_TOL, PROVEN, DECIDED.
    """

def decide(
    v: _Float, scores: _Float, y: _Float, weight: _Float, loss: int,
    parameters: tuple[float, float], k: int, n_fixed: int, limit: float,
    dropped: NDArray[np.uint8], fixed: NDArray[np.uint8],
) -> tuple[float, float]:  # fmt: skip
    """Return the bound of a dual point, and the multiple of it that gives it.

    As `bound_at` of pool/bounds.py has it for features by themselves, the first n_fixed forced.

    limit : of the objectives that matter. scores, dropped, fixed : (p,); 1: decided, 0: not.
    """

def block_newton(
    x: _Float, membership: _Float, y: _Float, weight: _Float, loss: int, parameters:
    tuple[float, float], intercept: bool, start: float, tol: float, scale: float, u: _Float,
    weights: _Float, dual: _Float, history: _Float,
) -> tuple[float, float, float, int, int]:  # fmt: skip
    """Solve the problem over generated blocks, as `solvers.minimax.newton.newton` does.

    Parameters
    ----------
    x : (n, p) float64, any strides. membership : (p, T).
    y, weight, loss, parameters : as of `dense_ridge`, of a loss not of labels.
    scale : tol is relative to it.
    u, weights, dual : (p,), (T,), (n,), overwritten; the first two are the start before.
    history : (61, 3), overwritten up to the last step: the best objective and bound, and seconds.

    Returns
    -------
    (b, objective, bound, steps, end): the end is 0 where it has converged, 1 where no progress was
    left, and 2 after the most steps.
    """

def output_blocks(
    x: _Float,
    membership: _Float,
    y: _Float,
    weight: _Float,
    of_classes: bool,
    outputs: int,
    intercept: bool,
    tol: float,
    scale: float,
    u: _Float,
    weights: _Float,
    dual: _Float,
    history: _Float,
) -> tuple[float, float, int, int]:
    """Do the same for outputs that share the columns: classes, or responses by least squares.

    Parameters
    ----------
    x : (n, m). membership : (m q, T), the same in all outputs of a column.
    weight : of responses the same in all of them.
    y, weight, dual : (q n,). u : (m q,), column by column; the others as of `block_newton`.

    Returns
    -------
    (objective, bound, steps, end)
    """

def multinomial_ridge(
    x: _Float, columns: _Places, y: _Float, weight: _Float, penalty: _Float, outputs: int,
    intercept: bool, tol: float, of_value: bool, cutoff: float, u: _Float, margins: _Float,
    dual: _Float, scores: _Float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Minimise 1/2 sum_jo p_jo u_jo^2 + the multinomial loss of the margins z_i'u_o.

    As `dense_ridge`, over columns that q outputs share, at the best intercepts.

    Parameters
    ----------
    x : (n, m) float64, any strides.
    columns : (p,) int64, positions in x.
    y, weight : (q n,), one output after the other; y is 1 for the class of a row, else 0.
    penalty, u, scores : (p q,), feature by feature; penalty is the same in all outputs of a feature.
    margins, dual : (q n,), margins without the
        intercepts.

    Returns
    -------
    (0, objective, bound, gap)
    """

def responses_ridge(
    x: _Float,
    columns: _Places,
    y: _Float,
    weight: _Float,
    penalty: _Float,
    loss: int,
    parameters: tuple[float, float],
    outputs: int,
    intercept: bool,
    tol: float,
    of_value: bool,
    u: _Float,
    margins: _Float,
    dual: _Float,
    scores: _Float,
) -> tuple[float, float, float, float]:
    """Minimise the same with the sum of a loss of single rows over the outputs.

    loss, parameters : of that loss, as of `dense_ridge`; the others as of `multinomial_ridge`.
    """

def multinomial_at(
    z: _Float,
    y: _Float,
    weight: _Float,
    outputs: int,
    intercept: bool,
    intercepts: _Float,
    shares: _Float,
    dual: _Float,
) -> float:
    """Return the multinomial loss of margins at its best intercepts, or without any.

    z, y, weight : (q n,), one output after the other.
    intercepts, shares, dual : (q,), (q n,), (q n,), overwritten: b, p, and minus the gradient.
    """

def multinomial_inside(
    v: _Float, y: _Float, weight: _Float, outputs: int, intercept: bool, out: _Float
) -> None:
    """Put a point near v where the conjugate of that loss is finite into out, (q n,)."""

def multinomial_hessian(
    x: _Float, columns: _Places, shares: _Float, weight: _Float, outputs: int, intercept: bool,
    out: _Float,
) -> None:  # fmt: skip
    """Put the second derivative in coefficients of that loss into out, (p q, p q).

    shares, weight : (q n,) p and s at some margins; x and columns as of `multinomial_ridge`.
    """

def multinomial_conjugate(
    v: _Float, y: _Float, weight: _Float, outputs: int, intercept: bool
) -> float:
    """Return the conjugate of that loss at -v, infinite outside of its domain."""

def multinomial_scale(
    v: _Float, y: _Float, weight: _Float, outputs: int, quadratic: float
) -> float:
    """Return the c that maximises -conjugate(c v) - c^2 quadratic."""

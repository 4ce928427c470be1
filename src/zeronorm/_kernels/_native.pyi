"""Types of the native module; `zeronorm._kernels.reference` specifies every function.

Arrays are never converted: another type or layout than stated raises TypeError. Shapes and indices
are not checked here. All functions release the GIL; those with `n_threads` give the same bits for
any number of threads.
"""

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

_Float: TypeAlias = NDArray[np.float64]
_Data: TypeAlias = NDArray[np.float32] | NDArray[np.float64] | NDArray[np.int8] | NDArray[np.uint8]
_Index = TypeVar("_Index", np.int32, np.int64)
_Real: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
_Places: TypeAlias = NDArray[np.int64]

FLOAT32_SCAN_ERROR: float
"""|error of dense_correlate on float32, int8 or uint8| <= FLOAT32_SCAN_ERROR * ||x_j|| * ||v||."""

LANES: int
"""Blocks in a group of a smoothing sweep."""

def dense_correlate(x: _Data, v: _Float, out: _Float, n_threads: int) -> None:
    """Put X'v into `out`: x (n, p) of any strides; v (n, m) and out (p, m) C-ordered."""

def dense_moments(x: _Data, weight: _Float, total: _Float, square: _Float, n_threads: int) -> None:
    """Put sum_i s_i x_ij into total[j] and sum_i s_i x_ij**2 into square[j], both (p,)."""

def csc_correlate(
    indptr: NDArray[_Index],
    indices: NDArray[_Index],
    data: _Data,
    v: _Float,
    out: _Float,
    n_threads: int,
) -> None:
    """Put X'v into `out` for X in CSC: v (n, m), out (p, m), both C-ordered."""

def csc_moments(
    indptr: NDArray[_Index],
    indices: NDArray[_Index],
    data: _Data,
    weight: _Float,
    total: _Float,
    square: _Float,
    n_threads: int,
) -> None:
    """Put sum_i s_i x_ij into total[j] and sum_i s_i x_ij**2 into square[j], for X in CSC."""

def csr_correlate(
    indptr: NDArray[_Index],
    indices: NDArray[_Index],
    data: _Data,
    v: _Float,
    out: _Float,
    n_threads: int,
) -> None:
    """Put X'v into `out` for X in CSR: v (n, m), out (p, m), both C-ordered."""

def csr_terms(
    indptr: NDArray[_Index],
    indices: NDArray[_Index],
    data: _Data,
    v: _Float,
    h: _Float,
    product: _Float,
    total: _Float,
    square: _Float,
    n_threads: int,
) -> None:
    """Put x_j'v, sum_i h_i x_ij and sum_i h_i x_ij**2 into `product`, `total` and `square`: X in CSR."""

def csr_combine(
    indptr: NDArray[_Index],
    indices: NDArray[_Index],
    data: _Data,
    z: _Float,
    v: _Float,
    n_threads: int,
) -> None:
    """Add X z to v, (n,), for X in CSR."""

def csr_gram(
    indptr: NDArray[_Index],
    indices: NDArray[_Index],
    data: _Data,
    position: NDArray[np.int32],
    weight: _Float,
    out: _Float,
    n_threads: int,
) -> None:
    """Put Z' diag(weight) Z into `out`, (q, q), for the columns Z of X in CSR with position >= 0.

    position : (p,) where a column is in Z, -1 where it is not. X has no repeated entries.
    """

def csr_moments(
    indptr: NDArray[_Index],
    indices: NDArray[_Index],
    data: _Data,
    weight: _Float,
    total: _Float,
    square: _Float,
    n_threads: int,
) -> None:
    """Put sum_i s_i x_ij into total[j] and sum_i s_i x_ij**2 into square[j], for X in CSR."""

def csr_gather(
    indptr: NDArray[_Index],
    indices: NDArray[_Index],
    data: _Data,
    position: NDArray[np.int32],
    n_columns: int,
    n_threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], _Float]:
    """Return (indptr, indices, data) in CSC of the columns j with 0 <= position[j] < n_columns."""

def csr_to_csc(
    indptr: NDArray[_Index],
    indices: NDArray[_Index],
    data: _Data,
    n_columns: int,
    n_threads: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any]]:
    """Return X (CSR) in CSC; int8 and uint8 become float32."""

def audit_indices(
    indptr: NDArray[_Index], indices: NDArray[_Index], n_minor: int
) -> tuple[int, int, bool, bool]:
    """Return (bad_indptr, bad_entry, is_sorted, has_duplicates); never reads outside the arrays."""

def sparse_gram(
    indptr: NDArray[_Index],
    indices: NDArray[np.int32],
    data: _Float,
    weight: _Float,
    out: _Float,
    n_threads: int,
) -> None:
    """Put Z' diag(weight) Z into `out`, (q, q), for Z (n, q) in CSC."""

def dense_smoothing_sweep(
    rows: NDArray[np.float32] | NDArray[np.float64],
    starts: NDArray[np.int64],
    order: NDArray[np.int64],
    square: _Float,
    weight: _Float,
    q: float,
    accuracy: float,
    ratio: float,
    alpha: _Float,
    rest: _Float,
    scores: _Float,
    level: _Float,
) -> int:
    """One sweep of smoothing coordinate descent over rows (n, width); returns evaluations."""

def csr_smoothing_sweep(
    indptr: NDArray[_Index],
    indices: NDArray[np.int32],
    data: _Float,
    block: NDArray[np.int32],
    order: NDArray[np.int64],
    square: _Float,
    weight: _Float,
    q: float,
    accuracy: float,
    ratio: float,
    alpha: _Float,
    rest: _Float,
    scores: _Float,
    level: _Float,
) -> int:
    """One sweep of smoothing coordinate descent over rows in CSR, (n, width)."""

def newton_bisections(
    level: _Float,
    slope: _Float,
    square: _Float,
    weight: _Float,
    q: _Float,
    accuracy: float,
    alpha: _Float,
    rest: _Float,
    bracket: _Float,
    n_evaluations: _Float,
) -> None:
    """Solve one coordinate problem per row of `level` (n, T) in place."""

def dense_terms(
    x: _Real,
    features: _Places,
    v: _Float,
    h: _Float,
    product: _Float,
    total: _Float,
    square: _Float,
    n_threads: int,
) -> None:
    """Put x_j'v, sum_i h_i x_ij and sum_i h_i x_ij**2 into `product`, `total` and `square`: x (n, m), Fortran order."""

def csc_terms(
    indptr: NDArray[_Index],
    indices: NDArray[_Index],
    data: _Real,
    features: _Places,
    v: _Float,
    h: _Float,
    product: _Float,
    total: _Float,
    square: _Float,
    n_threads: int,
) -> None:
    """Put x_j'v, sum_i h_i x_ij and sum_i h_i x_ij**2 into `product`, `total` and `square`: X in CSC."""

def dense_combine(
    x: _Real,
    features: _Places,
    z: _Float,
    v: _Float,
) -> None:
    """Add sum_j z_j x_j over the features to v, (n,): x (n, m), Fortran order."""

def csc_combine(
    indptr: NDArray[_Index],
    indices: NDArray[_Index],
    data: _Real,
    features: _Places,
    z: _Float,
    v: _Float,
) -> None:
    """Add sum_j z_j x_j over the features to v, (n,): X in CSC."""

def dense_descend(
    x: _Real,
    features: _Places,
    curvature: _Float,
    gradient: _Float,
    total: _Float,
    square: _Float,
    penalty: _Float,
    u: _Float,
    largest_step: _Float,
    nu: float,
    intercept: bool,
    gradient_e: float,
    target: float,
    max_sweeps: int,
    shrinking: float,
    seed: int,
    active: _Places,
    d: _Float,
    residual: _Float,
    state: _Float,
) -> None:
    """Sweeps of coordinate descent on a penalised quadratic model: x (n, m), Fortran order."""

def csc_descend(
    indptr: NDArray[_Index],
    indices: NDArray[_Index],
    data: _Real,
    features: _Places,
    curvature: _Float,
    gradient: _Float,
    total: _Float,
    square: _Float,
    penalty: _Float,
    u: _Float,
    largest_step: _Float,
    nu: float,
    intercept: bool,
    gradient_e: float,
    target: float,
    max_sweeps: int,
    shrinking: float,
    seed: int,
    active: _Places,
    d: _Float,
    residual: _Float,
    state: _Float,
) -> None:
    """Sweeps of coordinate descent on a penalised quadratic model: X in CSC."""

def dense_subspace_step(
    x: _Real,
    features: _Places,
    curvature: _Float,
    gradient: _Float,
    total: _Float,
    square: _Float,
    penalty: _Float,
    u: _Float,
    largest_step: _Float,
    nu: float,
    intercept: bool,
    gradient_e: float,
    target: float,
    max_iterations: int,
    d: _Float,
    residual: _Float,
    state: _Float,
) -> int:
    """Step of the features that are not zero on a penalised quadratic model; iterations."""

def csc_subspace_step(
    indptr: NDArray[_Index],
    indices: NDArray[_Index],
    data: _Real,
    features: _Places,
    curvature: _Float,
    gradient: _Float,
    total: _Float,
    square: _Float,
    penalty: _Float,
    u: _Float,
    largest_step: _Float,
    nu: float,
    intercept: bool,
    gradient_e: float,
    target: float,
    max_iterations: int,
    d: _Float,
    residual: _Float,
    state: _Float,
) -> int:
    """Step of the features that are not zero on a penalised quadratic model: X in CSC."""

def logistic_value_gradient(z: _Float, y: _Float, weight: _Float, gradient: _Float) -> float:
    """Return the logistic loss of all rows; its gradient goes into `gradient`."""

def logistic_curvature(z: _Float, weight: _Float, out: _Float) -> None:
    """Put the second derivative of the logistic loss into `out`."""

def logistic_conjugate(alpha: _Float, weight: _Float) -> float:
    """Return the conjugate of the logistic loss."""

def dense_ridge(
    x: _Float,
    columns: _Places,
    y: _Float,
    weight: _Float,
    penalty: _Float,
    squared_hinge: bool,
    intercept: bool,
    start: float,
    tol: float,
    of_value: bool,
    cutoff: float,
    u: _Float,
    margins: _Float,
    alpha: _Float,
    scores: _Float,
) -> tuple[float, float, float, float]:
    """Solve a ridge problem on some columns of x (n, m), any strides; intercept, objective, bound, gap."""

def dense_exchange(
    x: _Float,
    y: _Float,
    weight: _Float,
    is_kept: NDArray[np.uint8],
    squared_hinge: bool,
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
    alpha: _Float,
    scores: _Float,
) -> tuple[float, float, float, float]:
    """Better a support by exchanges in a pool x (n, p), any strides; intercept, objective, bound, gap."""

def gram_descend(
    gram: _Float,
    penalty: _Float,
    u: _Float,
    largest_step: _Float,
    target: float,
    max_sweeps: int,
    d: _Float,
    slope: _Float,
) -> tuple[int, float]:
    """Sweeps over the features of a model with the matrix `gram`; returns sweeps and violations."""

def dense_newton_cycle(
    x: _Real,
    features: _Places,
    y: _Float,
    weight: _Float,
    penalty: _Float,
    squared_hinge: bool,
    nu: float,
    sigma: float,
    largest_step: _Float,
    max_halvings: int,
    seed: int,
    order: _Places,
    u: _Float,
    z: _Float,
) -> float:
    """One cycle of coordinate-wise Newton steps, x (n, m) in Fortran order; returns the violations met."""

def csc_newton_cycle(
    indptr: NDArray[_Index],
    indices: NDArray[_Index],
    data: _Real,
    features: _Places,
    y: _Float,
    weight: _Float,
    penalty: _Float,
    squared_hinge: bool,
    nu: float,
    sigma: float,
    largest_step: _Float,
    max_halvings: int,
    seed: int,
    order: _Places,
    u: _Float,
    z: _Float,
) -> float:
    """One cycle of coordinate-wise Newton steps, X in CSC; returns the violations met."""

def bilevel_select(
    v: _Float,
    code: _Places,
    n_groups: int,
    k: int,
    g: int,
    opened: NDArray[np.uint8],
    squares: bool,
    out: _Places,
) -> tuple[int, int]:
    """Put the best k features in at most g groups into `out`; their number, undecided groups."""

def bilevel_program(
    v: _Float,
    code: _Places,
    n_groups: int,
    k: int,
    g: int,
    opened: NDArray[np.uint8],
    squares: bool,
    out: _Places,
) -> tuple[int, int]:
    """Do what bilevel_select does by the published dynamic programme."""

def f_labelling(positive: _Float, negative: _Float, beta: float) -> tuple[int, int]:
    """Numbers of positives and negatives in the most violated labelling of F_beta."""

def ap_places(positive: _Float, negative: _Float, places: _Places) -> None:
    """Put into `places` how many positives the worst ranking of each negative puts above it."""

def solve_cuts(
    grams: _Float,
    delta: _Float,
    g: _Float,
    C: float,
    tol: float,
    alpha: _Float,
    block_weight: _Float,
) -> tuple[float, float, float, int]:
    """Solve the program over cuts and blocks; its bound, value, intercept and number of steps."""

"""The Newton steps of the relaxation by a kernel: columns in memory, features by themselves."""

from __future__ import annotations

import numpy as np

from ... import _kernels
from ..._typing import Columns, FloatArray, IndexArray
from ...designs._columns import DenseColumns, SparseColumns
from ..risk import Risk
from ..units import Singles, Units
from .quadratic import MOST_COMPILED, RULE
from .relaxed import Relaxed, shares_of

# Entries of the columns; with more of them passes take the time, which BLAS makes on all threads,
# and the clock has to be asked between steps.
MOST_ENTRIES = 4_000_000
MOST_STORED = 2**31 - 1  # of the matrix that sparse ones are in: its places are int32


def is_compiled(Z: Columns, columns: IndexArray, units: Units, risk: Risk) -> bool:
    """Return whether the kernel takes a problem."""
    return (
        _kernels.HAS_COMPILED_SOLVERS
        and _entries(Z, columns) <= MOST_ENTRIES
        and isinstance(units, Singles)
        and not units.signs.any()
        and risk.loss.outputs == 1
        and risk.loss.separable
        and risk.loss.kernel >= 0
    )


def _entries(Z: Columns, columns: IndexArray) -> float:
    """Return how many entries some columns have, infinity where the kernel does not take them."""
    if isinstance(Z, SparseColumns):
        few = Z.storage[1].size <= MOST_STORED
        return float(Z.counts[columns].sum()) if few else np.inf
    by_column = isinstance(Z, DenseColumns) and Z.array.flags.f_contiguous
    return Z.shape[0] * columns.size if by_column else np.inf


def newton_steps(
    Z: Columns,
    columns: IndexArray,
    units: Units,
    risk: Risk,
    n_fixed: int,
    n_free: int,
    start: tuple[FloatArray, float],
    aim: tuple[float, float],
    most: tuple[int, int, int],
    tolerances: tuple[float, float],
) -> tuple[Relaxed, bool]:
    """Take Newton steps over some columns of Z, as `relax` does; return where they lead.

    At last whether that is a solution: the gap, or a bound above the cutoff, is reached.

    start : (u, b). aim : tol and cutoff there. most : steps, then MOST_HALVINGS and AHEAD.
    tolerances : MODEL_TOL, FINEST.
    """
    u, dual = start[0].astype(np.float64), np.empty(risk.size)
    scores, into, out = np.empty(u.size), np.empty(u.size), np.empty(u.size)
    b, objective, bound, done = _kernels.relax(
        _stored(Z), columns, np.ascontiguousarray(risk.y), np.ascontiguousarray(risk.weight),
        risk.loss.kernel, risk.loss.kernel_parameters, risk.intercept, start[1], n_fixed, n_free,
        aim, (*most, MOST_COMPILED), tolerances, RULE, u, dual, scores, into, out,
    )  # fmt: skip
    share = shares_of(u, units, n_fixed, n_free)
    return Relaxed(u, b, share, dual, objective, bound, into, out, scores), done


def _stored(Z: Columns) -> tuple[np.ndarray, ...]:
    """Return the arrays of the columns as the kernel takes them."""
    if not isinstance(Z, SparseColumns):
        return Z.storage
    indptr, indices, data = Z.storage
    return indptr.astype(np.int32, copy=False), indices, data.astype(np.float64, copy=False)

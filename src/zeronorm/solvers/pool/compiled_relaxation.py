"""The relaxation, and what a dual point decides, by kernels: features by themselves."""

from __future__ import annotations

import numpy as np

from ... import _kernels
from ...core.types import Columns, FloatArray, IndexArray
from ...data.columns import DenseColumns, SparseColumns
from ..risk import Risk
from ..units import Singles, Units
from .bounds import DECIDED, Bound
from .quadratic import RULE
from .relaxation_steps import RELAXATION_STEPS
from .relaxed import Relaxed

# Entries of the columns; with more of them passes take the time, which BLAS makes on all threads,
# and the clock has to be asked between steps.
MOST_ENTRIES = 4_000_000
# Columns that a step moves: beyond them the time is that of factors, LAPACK's job. Where threads go
# on from nodes by a kernel, a node that is left to Python costs more than slower factors.
MOST_MOVED, MOST_MOVED_GROWN = 160, 400
MOST_STORED = 2**31 - 1  # of the matrix that sparse ones are in: its places are int32


def is_compiled(Z: Columns, columns: IndexArray, units: Units, risk: Risk) -> bool:
    """Return whether the kernel takes a problem."""
    return is_plain(units, risk) and entries(Z, columns) <= MOST_ENTRIES


def is_plain(units: Units, risk: Risk) -> bool:
    """Return whether kernels know the units and the loss."""
    return (
        isinstance(units, Singles)
        and not units.signed
        and risk.loss.outputs == 1
        and risk.loss.separable
        and risk.loss.kernel >= 0
    )


def entries(Z: Columns, columns: IndexArray) -> float:
    """Return how many entries some columns have at most, infinity where the kernel takes none."""
    if isinstance(Z, SparseColumns):
        stored = Z.storage[1].size
        if stored <= MOST_ENTRIES:
            return stored
        return float(Z.counts[columns].sum()) if stored <= MOST_STORED else np.inf
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
    most: int,
) -> tuple[Relaxed, bool]:
    """Take so many Newton steps at most, as `relax` does; return where they lead.

    At last whether that is a solution: the gap, or a bound above the cutoff, is reached.

    columns : those of Z that count. start : (u, b). aim : tol and cutoff there.
    """
    u, dual = start[0].astype(np.float64), np.empty(risk.size)
    scores, share, into, out = np.empty((4, u.size))
    b, objective, bound, done = _kernels.relax(
        stored(Z), columns, np.ascontiguousarray(risk.y), np.ascontiguousarray(risk.weight),
        risk.loss.kernel, risk.loss.kernel_parameters, risk.intercept, start[1], n_fixed, n_free,
        aim, rule(most, MOST_MOVED), u, dual, scores, share, into, out,
    )  # fmt: skip
    return Relaxed(u, b, share, dual, objective, bound, into, out, scores), done


def rule(most: int, moved: int) -> _kernels.RelaxationRule:
    """Return how kernels take so many Newton steps at most, of so many columns each."""
    return (
        (most, RELAXATION_STEPS.most_halvings, RELAXATION_STEPS.ahead, moved),
        (RELAXATION_STEPS.model_tol, RELAXATION_STEPS.finest),
        RULE,
    )


def decided(
    risk: Risk,
    dual: FloatArray,
    scores: FloatArray,
    k: int,
    n_fixed: int,
    upper: float,
    units: Units,
) -> Bound | None:
    """Return what `bound_at` does, the first n_fixed features forced; None: no kernel knows it."""
    if not is_plain(units, risk) or units.bounded:
        return None
    limit = upper + DECIDED * abs(upper)
    dropped, fixed = np.empty((2, scores.size), bool)
    value, scale = _kernels.decide(
        dual, scores, np.ascontiguousarray(risk.y), np.ascontiguousarray(risk.weight),
        risk.loss.kernel, risk.loss.kernel_parameters, k, n_fixed, limit, dropped.view(np.uint8),
        fixed.view(np.uint8),
    )  # fmt: skip
    return Bound(value, scale * dual, dropped, fixed)


def stored(Z: Columns) -> tuple[np.ndarray, ...]:
    """Return the arrays of the columns as the kernel takes them."""
    if not isinstance(Z, SparseColumns):
        return Z.storage
    indptr, indices, data = Z.storage
    return indptr.astype(np.int32, copy=False), indices, data.astype(np.float64, copy=False)

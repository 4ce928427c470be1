"""Ridge problems of several outputs on a few dense columns, by compiled solvers.

The classes of a multinomial model have one Newton system; responses are as many problems, which
share its matrix where they are least squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _kernels
from ...core.types import Columns, FloatArray, IndexArray
from ...losses import Multinomial, Responses
from ..risk import Risk


@dataclass(frozen=True, slots=True)
class RidgeOutputsTuning:
    """Constants, each with what it was measured for."""

    # Systems of at most so many multiply-adds: above it the BLAS is faster.
    kernel_system: float = 2e8
    # Pools of so many numbers, each in all outputs, in which a kernel makes the exchanges in one
    # call.
    kernel_pool: float = 1e6
    # The number of the multinomial loss where others have that of the loss of each output.
    of_classes: int = -1


RIDGE_OUTPUTS = RidgeOutputsTuning()


Solution = tuple[
    FloatArray, float, FloatArray, FloatArray, FloatArray, float, float, float
]  # the fields of `ridge.Ridge`


def kernel_of(loss: Any) -> int | None:
    """Return the number by which compiled solvers know a loss of outputs; None: they do not."""
    if type(loss) is Multinomial:
        return RIDGE_OUTPUTS.of_classes
    if type(loss) is Responses and loss.each.kernel >= 0 and loss.each.separable:
        return loss.each.kernel
    return None


def in_kernel(loss: Any, n: int, n_features: int) -> bool:
    """Return whether the compiled solvers solve problems of n rows on so many features."""
    side = n_features * (loss.outputs if type(loss) is Multinomial else 1)
    return kernel_of(loss) is not None and n * side**2 + side**3 <= RIDGE_OUTPUTS.kernel_system


def outputs_over_blocks(Z: Columns, risk: Risk) -> bool:
    """Return whether a compiled solver has the minimax problem over blocks of the columns."""
    loss: Any = risk.loss
    kernel, x = kernel_of(loss), Z.repeated
    if kernel is None or x is None or not in_kernel(loss, risk.size, x.shape[1]):
        return False
    s = risk.weight.reshape(loss.outputs, -1)
    return kernel == RIDGE_OUTPUTS.of_classes or bool(loss.each.quadratic and (s == s[0]).all())


def compiled_outputs(
    Z: Columns,
    risk: Risk,
    columns: IndexArray | None,
    diagonal: FloatArray,
    u: FloatArray,
    tol: float,
    of_value: bool,
    cutoff: float,
) -> Solution | None:
    """Solve the problem of `ridge.ridge` from u, where it is of whole features and small.

    diagonal : (p,) the p_j. Returns None where there is no compiled solver for it.
    """
    loss: Any = risk.loss
    x, q, kernel = Z.repeated, loss.outputs, kernel_of(loss)
    if kernel is None or x is None:
        return None
    chosen = np.arange(Z.shape[1]) if columns is None else columns
    places = chosen[::q] // q
    n, p = risk.size, places.size * q
    whole = np.array_equal((q * places[:, None] + np.arange(q)).ravel(), chosen)
    if not whole or not in_kernel(loss, n, places.size):
        return None
    margins, dual, scores = np.empty(n * q), np.empty(n * q), np.empty(p)
    out = u, margins, dual, scores
    if kernel == RIDGE_OUTPUTS.of_classes:
        if not np.array_equal(diagonal, np.repeat(diagonal[::q], q)):
            return None
        numbers = _kernels.multinomial_ridge(
            x, places, risk.y, risk.weight, diagonal, q, loss.free, tol,
            of_value, cutoff, *out,
        )  # fmt: skip
    else:
        numbers = _kernels.responses_ridge(
            x, places, risk.y, risk.weight, diagonal, kernel, loss.each.kernel_parameters, q,
            loss.free, tol, of_value, *out,
        )  # fmt: skip
    return u, numbers[0], margins, dual, scores, *numbers[1:]

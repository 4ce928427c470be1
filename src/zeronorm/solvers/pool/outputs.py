"""Ridge problems of several outputs on a few dense columns, by compiled solvers.

The classes of a multinomial model have one Newton system; responses are as many problems, which
share its matrix where they are least squares.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _kernels
from ..._typing import Columns, FloatArray, IndexArray
from ...losses import Multinomial, Responses
from ..risk import Risk

# Systems of at most so many multiply-adds: above it the BLAS is faster.
KERNEL_SYSTEM = 2e8

Solution = tuple[
    FloatArray, float, FloatArray, FloatArray, FloatArray, float, float, float
]  # the fields of `ridge.Ridge`


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
    x, q = Z.repeated, loss.outputs
    if not _kernels.HAS_COMPILED_SOLVERS or x is None:
        return None
    chosen = np.arange(Z.shape[1]) if columns is None else columns
    places = chosen[::q] // q
    n, p = risk.size, places.size * q
    whole = np.array_equal((q * places[:, None] + np.arange(q)).ravel(), chosen)
    is_multinomial = type(loss) is Multinomial
    side = p if is_multinomial else places.size
    if not whole or n * side**2 + side**3 > KERNEL_SYSTEM:
        return None
    if is_multinomial and not np.array_equal(diagonal, np.repeat(diagonal[::q], q)):
        return None
    margins, dual, scores = np.empty(n * q), np.empty(n * q), np.empty(p)
    out = u, margins, dual, scores
    if is_multinomial:
        numbers = _kernels.multinomial_ridge(
            x, places, risk.y, risk.weight, diagonal, q, loss.free, tol,
            of_value, cutoff, *out,
        )  # fmt: skip
    elif type(loss) is Responses and loss.each.kernel >= 0 and loss.each.separable:
        each = loss.each
        numbers = _kernels.responses_ridge(
            x, places, risk.y, risk.weight, diagonal, each.kernel, each.kernel_parameters, q,
            loss.free, tol, of_value, *out,
        )  # fmt: skip
    else:
        return None
    return u, numbers[0], margins, dual, scores, *numbers[1:]


__all__ = ["compiled_outputs"]

"""Leverages of rows under a fit of (R): by how much its own target moves the margin of a row."""

from __future__ import annotations

import numpy as np

from ...core.parallel import map_threads
from ...core.types import Columns, FloatArray
from ...data.columns import BLOCK_ROWS, FLOAT32_GRAM, SparseColumns
from .ridge import RIDGE_STEPS, inverse_factor, scale_system, solve_positive

CANCELLED = 1e6  # leverage of the mean row, in shares of 1 / sum w, from which digits are missed


def _sparse_leverages(
    Z: SparseColumns, inverse: FloatArray, centre: FloatArray, base: float
) -> FloatArray | None:
    """Return base + (z_i - c)'A(z_i - c) without making rows dense, or None where digits cancel."""
    towards = inverse @ centre
    of_centre = float(centre @ towards)
    if of_centre > CANCELLED * base:
        return None
    return np.asarray(Z.forms(inverse) - 2.0 * Z.times(towards) + (of_centre + base))


def leverages(
    Z: Columns, curvature: FloatArray, diagonal: FloatArray, intercept: bool
) -> FloatArray:
    """Return h_i = x_i'H^-1 x_i, x_i = (z_i, 1), H = diag(p, 0) + sum_i w_i x_i x_i'.

    The last entry of x_i and the last row of H are there only with an intercept.
    """
    n, p = Z.shape
    total = float(curvature.sum())
    centred = intercept and total > 0
    centre = Z.dot(curvature) / total if centred else np.zeros(p)
    base = 1.0 / total if centred else 0.0
    if p <= n:
        # With H = L L' over the centred columns, h_i = ||L^-1 z_i||^2.
        matrix = Z.gram(curvature)
        least = RIDGE_STEPS.rounding * np.diagonal(matrix)
        matrix -= total * np.outer(centre, centre)
        unit = scale_system(matrix, diagonal, least)
        whiten = inverse_factor(matrix).T  # of the centred columns times `unit`
        if isinstance(Z, SparseColumns):
            white = unit[:, None] * whiten
            found = _sparse_leverages(Z, white @ white.T, centre, base)
            if found is not None:
                return found
        narrow = n * p * p > FLOAT32_GRAM
        size = np.sqrt(total) if total > 0 else 1.0  # values near 1: no underflow in float32
        if narrow:
            whiten = whiten.astype(np.float32)

        def part(start: int) -> FloatArray:
            centred = Z.rows(slice(start, start + BLOCK_ROWS)).dense() - centre
            centred *= unit * size
            white = (centred.astype(np.float32) if narrow else centred) @ whiten
            return np.asarray(np.einsum("ij,ij->i", white, white), dtype=np.float64)

        lengths = np.concatenate(map_threads(part, range(0, n, BLOCK_ROWS)))
        return np.asarray(base + lengths / size**2)
    # In the space of the rows, K = Z P^-1 Z': Z (P + Z'WZ)^-1 Z' = K - K R (I + R K R)^-1 R K
    # with R = W^(1/2).
    dense = Z.dense() - centre
    K = (dense / diagonal) @ dense.T
    root = np.sqrt(curvature)
    matrix = K * root[:, None] * root
    np.einsum("ii->i", matrix)[:] += 1.0
    RK = root[:, None] * K
    removed = np.einsum("ij,ij->j", RK, solve_positive(matrix, RK))
    return np.asarray(base + np.einsum("ii->i", K) - removed)

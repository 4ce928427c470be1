"""Sweeps of smoothing coordinate descent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from zeronorm.core.types import FloatArray

from ._scans import IndexStorage

LANES = 4  # blocks in a group of a smoothing sweep


def dense_smoothing_sweep(
    rows: NDArray[np.float32] | FloatArray,
    starts: NDArray[np.int64],
    order: NDArray[np.int64],
    square: FloatArray,
    weight: FloatArray,
    q: float,
    accuracy: float,
    ratio: float,
    alpha: FloatArray,
    rest: FloatArray,
    scores: FloatArray,
    level: FloatArray,
) -> int:
    """Minimise over one coordinate after the other, 0 < alpha_i < w_i."""
    size = np.diff(starts)
    block = LANES * np.repeat(np.arange(size.size), size) + np.arange(starts[-1]) % LANES
    count = 0
    for i in order:
        row = rows[i].astype(np.float64)
        count += _visit(
            row, block, i, square, weight, q, accuracy, ratio, alpha, rest, scores, level
        )
    return count


def csr_smoothing_sweep(
    indptr: IndexStorage,
    indices: NDArray[np.int32],
    data: FloatArray,
    block: NDArray[np.int32],
    order: NDArray[np.int64],
    square: FloatArray,
    weight: FloatArray,
    q: float,
    accuracy: float,
    ratio: float,
    alpha: FloatArray,
    rest: FloatArray,
    scores: FloatArray,
    level: FloatArray,
) -> int:
    """Do what `dense_smoothing_sweep` does for rows in CSR, column e a feature of block[e]."""
    count = 0
    for i in order:
        stored = slice(indptr[i], indptr[i + 1])
        row = np.zeros(scores.size)
        np.add.at(row, indices[stored], data[stored])
        count += _visit(
            row, block, i, square, weight, q, accuracy, ratio, alpha, rest, scores, level
        )
    return count


def newton_bisections(
    level: FloatArray,
    slope: FloatArray,
    square: FloatArray,
    weight: FloatArray,
    q: FloatArray,
    accuracy: float,
    alpha: FloatArray,
    rest: FloatArray,
    bracket: FloatArray,
    n_evaluations: FloatArray,
) -> None:
    """Solve independent coordinate problems, one per row of level, slope and square, (n, T)."""
    for i in range(level.shape[0]):
        n_evaluations[i] = _coordinate_step(
            level[i], slope[i], square[i], weight[i], q[i], accuracy, 0.0,
            alpha[i : i + 1], rest[i : i + 1],
        )[1]  # fmt: skip
        bracket[i] = min(alpha[i], rest[i]) * np.array([1 - 1e-12, 1 + 1e-12])


def _visit(
    row: FloatArray,
    block: NDArray[Any],
    i: int,
    square: FloatArray,
    weight: FloatArray,
    q: float,
    accuracy: float,
    ratio: float,
    alpha: FloatArray,
    rest: FloatArray,
    scores: FloatArray,
    level: FloatArray,
) -> int:
    """Minimise over coordinate i, entry e of its row in block[e]; return the evaluations."""
    slope = np.asarray(np.bincount(block, row * scores, level.size), dtype=np.float64)
    one = slice(i, i + 1)
    z, count = _coordinate_step(
        level, slope, square[i], weight[i], q, accuracy, ratio, alpha[one], rest[one]
    )
    scores += z * row
    level += z * (slope + 0.5 * square[i] * z)
    return count


def _coordinate_step(
    level: FloatArray,
    slope: FloatArray,
    square: FloatArray,
    weight: float,
    q: float,
    accuracy: float,
    ratio: float,
    alpha: FloatArray,
    rest: FloatArray,
) -> tuple[float, int]:
    """Change alpha and rest, (1,), to the minimiser along the coordinate; return the step.

    The unknown is the log-odds x of alpha / weight, in which the derivative is nearly linear.
    """
    old, old_rest = float(alpha[0]), float(rest[0])

    def step(x: float) -> float:
        # The difference of the smaller of the two parts has the smaller error.
        return float(weight * expit(x)) - old if x < 0 else old_rest - float(weight * expit(-x))

    def derivative(x: float, z: float) -> float:
        s = level + z * (slope + 0.5 * square * z)
        share = np.exp(q * (s - s.max()))
        return x + float(share @ (slope + square * z)) / float(share.sum())

    if abs(derivative(np.log(old / old_rest), 0.0)) <= accuracy:
        return 0.0, 0
    # |x| < 690 keeps both parts above 1e-300 of the weight.
    low, high = -690.0, 690.0
    if derivative(low, step(low)) >= 0.0:
        x, calls = low, 1
    elif derivative(high, step(high)) <= 0.0:
        x, calls = high, 2
    else:
        x, result = brentq(
            lambda x: derivative(x, step(x)), low, high, xtol=1e-14, rtol=1e-15, full_output=True
        )
        calls = 2 + int(result.function_calls)
    z = step(x)
    alpha[0], rest[0] = weight * expit(x), weight * expit(-x)
    return z, calls

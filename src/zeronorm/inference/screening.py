"""The features of the largest scores on every half-sample, for all of them in one pass over X.

The score of a feature is what the first scan of a selection sees: its correlation, on the scaling
of the half, with the dual point of the model without features. What half-samples choose among is
a function of their own rows alone.

Source: Fan and Lv, Sure independence screening for ultrahigh dimensional feature space, JRSS B 70
(2008).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.parallel import map_threads
from ..core.ranking import largest
from ..core.types import Design, FloatArray, IndexArray
from ..solvers.problem import admitted

Float32Array: TypeAlias = NDArray[np.float32]
BLOCK = 4_000_000  # elements of X at a time
PART = 500_000  # of a product of one thread: fixed, so that bits do not depend on their number
LEAST_VARIANCE = 1e-9  # of the variance over all rows; less is rounding of float32


@dataclass(frozen=True)
class Null:
    """A half-sample without features."""

    rows: IndexArray  # (n_h,) of X
    weight: FloatArray  # (n_h,)
    duals: list[FloatArray]  # (n_h, outputs) of every model that chooses for itself


@dataclass(frozen=True)
class Screen:
    """Settings that all half-samples share."""

    size: int  # how many features each model of a half may choose among
    allowed: np.ndarray  # (n_features,) mask of these
    signs: np.ndarray  # (n_features,) as of `Task`
    center: bool
    standardize: bool


def best_columns(design: Design, nulls: Sequence[Null], screen: Screen) -> list[IndexArray]:
    """Return the features of the largest scores, ascending, for every half-sample."""
    n_samples = design.shape[0]
    weights: Float32Array = np.zeros((n_samples, len(nulls)), np.float32)
    owners = [half for half, null in enumerate(nulls) for _ in null.duals]
    outputs = nulls[0].duals[0].shape[1]
    vectors = np.zeros((n_samples, len(owners) * outputs), np.float32)
    place = 0
    for half, null in enumerate(nulls):
        weights[null.rows, half] = null.weight / null.weight.sum()
        for dual in null.duals:
            # Only the order of the scores of one dual point counts.
            largest_dual = max(float(np.abs(dual).max(initial=0.0)), np.finfo(float).tiny)
            vectors[null.rows, place : place + outputs] = dual / largest_dual
            place += outputs
    sums = vectors.sum(axis=0, dtype=np.float64)
    leaders = [_Leaders(screen.size) for _ in owners]
    for start, columns in _blocks(design):
        own = slice(start, start + columns.shape[1])
        raw, mean, square, shift, unit = _products(columns, vectors, weights)
        variance = square - mean**2
        varies = variance > LEAST_VARIANCE
        if screen.center and shift is not None:
            raw -= mean[:, np.repeat(owners, outputs)] * sums
        elif shift is not None:
            raw += shift[:, None] * sums
        if screen.standardize:
            raw /= np.sqrt(np.where(varies, variance, 1.0))[:, np.repeat(owners, outputs)]
        else:
            raw *= unit[:, None]
        if outputs == 1:
            strength = np.abs(admitted(raw, screen.signs[own, None]))
        else:
            strength = np.linalg.norm(raw.reshape(len(raw), -1, outputs), axis=2)
        strength[~(varies[:, owners] & screen.allowed[own, None])] = -1.0
        for leader, values in zip(leaders, strength.T, strict=True):
            leader.add(values, start)
    return [
        np.unique(
            np.concatenate(
                [one.index for one, of in zip(leaders, owners, strict=True) if of == half]
            )
        )
        for half in range(len(nulls))
    ]


class _Leaders:
    """The largest of values that come in blocks, and where they were; none is negative."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values, self.index = np.empty(0), np.empty(0, np.int64)

    def add(self, values: FloatArray, start: int) -> None:
        """Add a block of values, the first of which is at start."""
        full = self._values.size == self._size
        new = np.flatnonzero(values > (self._values[-1] if full else -0.5))
        if not new.size:
            return
        merged = np.concatenate([self._values, values[new]])
        index = np.concatenate([self.index, start + new])
        best = largest(merged, min(self._size, merged.size))
        self._values, self.index = merged[best], index[best]


def _blocks(design: Design) -> Iterator[tuple[int, Any]]:
    """Yield the columns of a design in blocks, each with where it begins."""
    n_samples, n_features = design.shape
    width = max(1, min(design.block, BLOCK // n_samples))
    for start in range(0, n_features, width):
        yield start, design.gather(slice(start, min(start + width, n_features)))


def _products(
    columns: Any, vectors: Float32Array, weights: Float32Array
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray | None, FloatArray]:
    """Return X'V, X'W and (X^2)'W of columns in units of their own, with their shift and unit.

    Dense columns are those of X less `shift` units; sparse ones are not moved: no shift.
    """
    both = np.hstack([vectors, weights])
    m = vectors.shape[1]
    if not isinstance(columns, np.ndarray):
        unit = np.sqrt(np.asarray(columns.power(2).mean(axis=0)).ravel())
        unit[unit == 0.0] = 1.0
        scaled = sp.csc_array(columns.multiply(1.0 / unit)).astype(np.float32)
        products = np.asarray(scaled.T @ both, np.float64)
        square = np.asarray(scaled.power(2).T @ weights, np.float64)
        return products[:, :m], products[:, m:], square, None, unit
    width = max(1, PART // columns.shape[0])
    products = np.empty((columns.shape[1], both.shape[1]))
    square = np.empty((columns.shape[1], weights.shape[1]))
    shift, unit = np.empty(columns.shape[1]), np.empty(columns.shape[1])

    def multiply(start: int) -> None:
        own = slice(start, start + width)
        part = columns[:, own]
        mean = part.mean(axis=0)
        part = part - mean
        spread = np.sqrt(np.vecdot(part.T, part.T) / len(part))
        spread[spread == 0.0] = 1.0
        part = (part / spread).astype(np.float32)
        products[own] = part.T @ both
        square[own] = (part * part).T @ weights
        shift[own], unit[own] = mean / spread, spread

    map_threads(multiply, range(0, columns.shape[1], width))
    return products[:, :m], products[:, m:], square, shift, unit

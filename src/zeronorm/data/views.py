"""Designs derived from others without a copy: columns scaled and centred, rows selected."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.errors import Message, Parameter, ParameterError
from ..core.messages import span
from ..core.types import (
    EXACT_SCAN,
    Design,
    FloatArray,
    IndexArray,
    Stored,
    Wrapper,
    float64_scan_error,
)
from .arrays import Dense, as_features, as_vectors, compressed, read_dense

# Lazy centring subtracts mean * sum(v) from a score. Where |mean| / std is above the first limit,
# the error of float32 scores is no longer small after it (DELICATE * 6e-7); above the second one,
# that of float64 scores.
DELICATE, DELICATE_FLOAT64 = 100.0, 1e6
# The same for sums of squares, which are float64 for all storage: they lose twice as many digits.
FAR = 1e3
# Elements of gathered columns at a time: of one sum over many columns, which stay in the cache, and
# where memory is the only limit. At least so many columns, since rows are read in cache lines.
CACHED, IN_MEMORY = 1 << 18, 1 << 22
LINE = 8


class Scaled(Wrapper):
    """The columns scale_j (x_j - mean_j) of another design; scale_j (x_j) without means.

    Neither is ever stored: c = scale * (base.correlate(v) - mean * sum(v)).

    Columns with |mean_j| scale_j > 100 over float32 or small integer storage (1e6 over float64)
    lose digits in that difference. They are `delicate`: their scores are computed from centred
    float64 columns, gathered block by block.

    Parameters
    ----------
    base : the design to scale.
    mean : (n_features,) subtracted from each column, or None. Scores and moments are those of
        centred columns in any storage; `gather` centres dense columns only.
    scale : (n_features,) multipliers; 0 makes a column disappear.
    rest : (n_features,) what rounding took off the means, or None. Next to the differences in a
        column it may be large, so that `gather` subtracts it as well.
    """

    def __init__(
        self,
        base: Design,
        mean: FloatArray | None,
        scale: FloatArray,
        rest: FloatArray | None = None,
    ) -> None:
        n_features = base.shape[1]
        for name, array in (("mean", mean), ("scale", scale), ("rest", rest)):
            if array is not None and array.shape != (n_features,):
                raise ParameterError(
                    name,
                    Message(
                        f"must have shape ({n_features},) (the features of ", Parameter("X"), ")"
                    ),
                    f"{array.shape}",
                )
        super().__init__(base)
        self.mean = mean
        self.scale = scale
        self.rest = rest
        self.delicate = self._find_delicate()

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape

    def lower(self, v: FloatArray) -> FloatArray:
        return v

    def lift(self, scores: FloatArray, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return scale * (scores - mean * sum(v)) for the columns start <= j < stop, as an array.

        scores : (stop - start,) or (stop - start, m), of the base.
        """
        # Along contiguous memory, so that a vector has one sum alone and among others.
        sums = np.ascontiguousarray(v.T).sum(axis=-1)
        # Vector by vector: loops over the few vectors of a column would cost more than the numbers.
        lifted: FloatArray = scores.T.copy()
        # Scores that are not finite stay so: who scans looks for them.
        with np.errstate(over="ignore", invalid="ignore"):
            if self.mean is not None:
                lifted -= self.mean[start:stop] * sums[..., None]
            lifted *= self.scale[start:stop]
        lifted = np.ascontiguousarray(lifted.T)
        first, last = np.searchsorted(self.delicate, [start, stop])
        for features, columns in self._columns(self.delicate[first:last]):
            lifted[features - start] = columns.correlate(v, 0, features.size)
        return lifted

    def gather(self, features: IndexArray | slice) -> Stored:
        """Return the scaled columns: centred F-ordered float64, or a csc_array, not centred."""
        columns = self.base.gather(features)
        scale = self.scale[features]
        if isinstance(columns, sp.csc_array):
            values = columns.data * np.repeat(scale, np.diff(columns.indptr))
            return compressed(columns.indptr, columns.indices, values, self.shape[0])
        if not columns.flags.writeable:
            columns = columns.copy(order="F")
        with np.errstate(over="ignore", invalid="ignore"):
            if self.mean is not None:
                columns -= self.mean[features]
            if self.rest is not None:
                columns -= self.rest[features]
            columns *= scale
        return columns

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        total, square = self.base.moments(weight, start, stop)
        scale = self.scale[start:stop]
        if self.mean is not None:
            mean = self.mean[start:stop]
            # sum s (x - m)^2 = sum s x^2 - m (2 sum s x - m sum s)
            square = np.maximum(square - mean * (2.0 * total - mean * weight.sum()), 0.0)
            total = total - mean * weight.sum()
        # One factor at a time: the square of a scale may overflow where the result does not.
        total, square = scale * total, scale * (scale * square)
        for features, columns in self._columns(self._far_columns(FAR, start, stop)):
            part = columns.moments(weight, 0, features.size)
            total[features - start], square[features - start] = part
        return total, square

    def _find_delicate(self) -> IndexArray:
        error = float64_scan_error(storage_of(self).shape[0])
        exact = self.scan_error <= max(error, EXACT_SCAN)
        return self._far_columns(DELICATE_FLOAT64 if exact else DELICATE, 0, self.shape[1])

    def _far_columns(self, limit: float, start: int, stop: int) -> IndexArray:
        """Return the features of start..stop with |mean| / std above a limit."""
        if self.mean is None or self.is_sparse:
            return np.empty(0, np.int64)
        with np.errstate(over="ignore"):
            ratio = np.abs(self.mean[start:stop]) * np.abs(self.scale[start:stop])
        return start + np.flatnonzero(ratio > limit)

    def _columns(self, features: IndexArray) -> Iterator[tuple[IndexArray, Dense]]:
        """Yield features in blocks with their columns, scaled and centred in float64."""
        for block in feature_blocks(features, self.shape[0]):
            columns: Any = self.gather(as_slice(block))
            yield block, Dense(columns, self.n_threads)


class Rows(Wrapper):
    """Some rows of another design: nothing is copied, vectors are scattered.

    Parameters
    ----------
    base : the design to take rows of.
    index : (n_rows,) different row numbers of the base, in any order.
    """

    def __init__(self, base: Design, index: IndexArray) -> None:
        n_samples = base.shape[0]
        index = np.asarray(index)
        if index.ndim != 1 or index.size == 0 or index.dtype.kind not in "iu":
            raise ParameterError(
                "index",
                "must be a one-dimensional array of row numbers, at least one",
                f"shape {index.shape} of {index.dtype}",
            )
        if index.min() < 0 or index.max() >= n_samples:
            raise ParameterError(
                "index",
                Message(f"must be {span(0, n_samples - 1)} (the rows of ", Parameter("X"), ")"),
                f"values from {index.min()} to {index.max()}",
            )
        super().__init__(base)
        self.index: IndexArray = index.astype(np.int64, copy=False)
        # Where each row of the base goes, or -1.
        self._place = np.full(n_samples, -1, np.int64)
        self._place[self.index] = np.arange(index.size)
        if not np.array_equal(self._place[self.index], np.arange(index.size)):
            raise ParameterError(
                "index", "must not name a row twice; use sample weights to repeat rows"
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.index.size, self.base.shape[1]

    def lower(self, v: FloatArray) -> FloatArray:
        """Scatter v, (n_rows,) or (n_rows, m), over the rows of the base; the others get 0."""
        as_vectors(v, self.shape, 0, 0)
        lowered = np.zeros((self.base.shape[0], *v.shape[1:]))
        lowered[self.index] = v
        return lowered

    def gather(self, features: IndexArray | slice) -> Stored:
        columns = self.base.gather(features)
        if isinstance(columns, sp.csc_array):
            return self._select_rows(columns)
        # Of the transpose, which is C-ordered, so that the result is F-ordered.
        return np.asarray(columns.T.take(self.index, axis=1).T)

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        return self.base.moments(self.lower(weight), start, stop)

    def _select_rows(self, columns: Any) -> sp.csc_array[Any]:
        """Return the rows of a csc_array, in one pass over its entries."""
        place = self._place[columns.indices]
        kept = place >= 0
        before = np.concatenate([[0], np.cumsum(kept)])
        selected = compressed(
            before[columns.indptr], place[kept], columns.data[kept], self.index.size
        )
        selected.sort_indices()
        return selected


def storage_of(design: Design) -> Design:
    """Return the design under all wrappers."""
    while isinstance(design, Wrapper):
        design = design.base
    return design


def lowered(
    design: Design, v: FloatArray
) -> tuple[Design, list[tuple[Wrapper, FloatArray]], FloatArray]:
    """Return the storage, the wrappers on the way to it with their vectors, and its own vector.

    v : (n_samples,) or (n_samples, m).
    """
    wrappers = []
    while isinstance(design, Wrapper):
        wrappers.append((design, v))
        v, design = design.lower(v), design.base
    return design, wrappers, v


def feature_blocks(
    features: IndexArray, n_samples: int, elements: int = CACHED
) -> Iterator[IndexArray]:
    """Yield features in blocks whose gathered columns have about so many elements."""
    width = max(LINE, elements // n_samples)
    for first in range(0, features.size, width):
        yield features[first : first + width]


def as_slice(features: IndexArray) -> IndexArray | slice:
    """Return ascending features as a slice where they are consecutive: cheaper to gather."""
    first, last = int(features[0]), int(features[-1])
    return slice(first, last + 1) if last - first + 1 == features.size else features


Design.view = Rows


# Columns with gaps filled by what some of the rows show: folds differ in what fills them alone.


class Filled(Wrapper):
    """The columns x_j + mean_j g_j: x_j with zeros in its gaps, g_j 1 there and else 0.

    A scan is one of X and one of the few gaps, c = X'v + mean * (G'v), so that designs with other
    means, those of folds, share a pass over X.

    Parameters
    ----------
    base : X with zeros in the gaps, dense.
    gaps : (indptr, rows), the gaps by column.
    rows : (k,) the rows that the means are of; None: all.
    mean : (n_features,) what is in the gaps instead of means over rows; None: these.
    frequent : whether the most frequent value, of several the least, stands for the mean.
    """

    def __init__(
        self,
        base: Design,
        gaps: tuple[IndexArray, IndexArray],
        rows: IndexArray | None = None,
        mean: FloatArray | None = None,
        frequent: bool = False,
    ) -> None:
        super().__init__(base)
        self.gaps, self._frequent = gaps, frequent
        self.mean = self._means(rows) if mean is None else mean

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape

    def over(self, rows: IndexArray) -> Filled:
        """Return the same columns with their means over some of the rows."""
        return Filled(self.base, self.gaps, rows, frequent=self._frequent)

    @property
    def scan_error(self) -> float:
        """Twice that of the base: a score is the sum of two."""
        return 2.0 * self.base.scan_error

    def lower(self, v: FloatArray) -> FloatArray:
        return v

    def lift(self, scores: FloatArray, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return scores + mean * (G'v) for the columns start <= j < stop."""
        beside = self._gaps_in(start, stop).T @ v
        mean = self.mean[start:stop]
        return np.asarray(scores + (mean if v.ndim == 1 else mean[:, None]) * beside)

    def gather(self, features: IndexArray | slice) -> Stored:
        columns: Any = self.base.gather(features)
        if not columns.flags.writeable:
            columns = columns.copy(order="F")
        indptr, rows = self.gaps
        for place, j in enumerate(np.arange(self.shape[1])[features].tolist()):
            columns[rows[indptr[j] : indptr[j + 1]], place] = self.mean[j]
        return np.asarray(columns)

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        total, square = self.base.moments(weight, start, stop)
        mean, beside = self.mean[start:stop], self._gaps_in(start, stop).T @ weight
        with np.errstate(over="ignore"):  # as in the base: infinite sums are an error of the caller
            return total + mean * beside, square + mean * (mean * beside)

    def _gaps_in(self, start: int, stop: int) -> sp.csc_array[Any]:
        """Return some columns of G."""
        indptr, rows = self.gaps
        first, last = indptr[start], indptr[stop]
        ones = np.ones(last - first)
        return compressed(indptr[start : stop + 1] - first, rows[first:last], ones, self.shape[0])

    def _means(self, rows: IndexArray | None) -> FloatArray:
        """Return the means over rows of the columns with gaps; 0 of the others and of no value."""
        indptr, gaps = self.gaps
        n_samples, n_features = self.shape
        inside = np.full(n_samples, rows is None)
        inside[rows if rows is not None else slice(0)] = True
        mean = np.zeros(n_features)
        counted = np.concatenate([[0], np.cumsum(inside[gaps])])
        n_known = inside.sum() - np.diff(counted[indptr])
        for block in feature_blocks(np.flatnonzero(np.diff(indptr)), n_samples):
            columns: Any = self.base.gather(block)
            if self._frequent:
                for j, column in zip(block.tolist(), columns.T, strict=True):
                    present = inside.copy()
                    present[gaps[indptr[j] : indptr[j + 1]]] = False
                    mean[j] = _most_frequent(column[present])
                continue
            values = np.ascontiguousarray(columns.T[:, inside])
            known = np.maximum(n_known[block], 1)
            with np.errstate(over="ignore"):
                means = values.sum(axis=1) / known
            beyond = ~np.isfinite(means)  # sums, not values, are beyond the range of numbers
            means[beyond] = (values[beyond] / known[beyond, None]).sum(axis=1)
            mean[block] = means
        return mean


def _most_frequent(values: FloatArray) -> float:
    """Return the most frequent value, of several the least; 0 of none."""
    found, counts = np.unique(values, return_counts=True)
    return float(found[counts.argmax()]) if found.size else 0.0


def fill(values: FloatArray, n_threads: int, frequent: bool = False) -> Filled:
    """Return an array with the means of its columns instead of NaN; the array gets zeros there.

    frequent : as of `Filled`.
    """
    order, rows = np.nonzero(np.isnan(values.T))
    indptr = np.searchsorted(order, np.arange(values.shape[1] + 1)).astype(np.int64)
    values[rows, order] = 0.0
    return Filled(read_dense(values, n_threads), (indptr, rows), frequent=frequent)


def filling_of(design: Design) -> Filled | None:
    """Return what fills the gaps of a design, None where it has none."""
    while isinstance(design, Wrapper) and not isinstance(design, Filled):
        design = design.base
    return design if isinstance(design, Filled) else None


def filled_over(design: Design, rows: IndexArray) -> Design:
    """Return a design with gaps filled by the means over some of its rows; any other as it is."""
    if isinstance(design, Filled):
        return design.over(rows)
    if isinstance(design, Rows):
        base = filled_over(design.base, design.index[rows])
        return design if base is design.base else Rows(base, design.index)
    return design


# The columns of several designs, side by side.


class InParts(Design):
    """A design whose columns are those of others, one after the other."""

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        as_vectors(v, self.shape, start, stop)
        scores = np.empty((stop - start, *v.shape[1:]))

        def correlate(part: Design, first: int, last: int, place: int) -> None:
            scores[place : place + last - first] = part.correlate(v, first, last)

        self._each_part(start, stop, correlate)
        return scores

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        as_vectors(weight, self.shape, start, stop)
        total, square = np.empty(stop - start), np.empty(stop - start)

        def sum_up(part: Design, first: int, last: int, place: int) -> None:
            own = slice(place, place + last - first)
            total[own], square[own] = part.moments(weight, first, last)

        self._each_part(start, stop, sum_up)
        return total, square

    def _each_part(
        self, start: int, stop: int, act: Callable[[Design, int, int, int], None]
    ) -> None:
        """Call a function with every part of some columns; it may run in several threads."""
        for part in self._parts(start, stop):
            act(*part)

    @abstractmethod
    def _parts(self, start: int, stop: int) -> Iterator[tuple[Design, int, int, int]]:
        """Yield (part, first, last, place): its columns first <= j < last, and where they go."""


class Beside(InParts):
    """The columns of several designs of the same rows, one after the other.

    Parameters
    ----------
    parts : the designs, at least one; none of them sparse or `Scaled`.
    names : of all columns; None: those that the parts have.
    """

    def __init__(self, parts: Sequence[Design], names: list[str] | None = None) -> None:
        rows = [part.shape[0] for part in parts]
        if len(set(rows)) != 1:
            raise ParameterError("parts", "must have the same number of rows", f"{rows}")
        if any(part.is_sparse for part in parts):
            raise ParameterError(
                "parts", "must not be sparse, since their columns are centred; convert them first"
            )
        if any(isinstance(part, Scaled) for part in parts):
            raise ParameterError(
                "parts",
                "must not be scaled: the scan error of each depends on its scales",
                "",
                "Scale the columns side by side: Scaled(Beside(parts), mean, scale).",
            )
        self.parts = tuple(parts)
        self.n_threads = max(part.n_threads for part in parts)
        self._names = names
        self._starts = np.cumsum([0, *(part.shape[1] for part in parts)])

    @property
    def shape(self) -> tuple[int, int]:
        return self.parts[0].shape[0], int(self._starts[-1])

    @property
    def storage(self) -> str:
        return self.parts[0].storage

    @property
    def block(self) -> int:
        """Columns per scan block: those of the part that has the widest ones."""
        return max(part.block for part in self.parts)

    @property
    def resident_bytes(self) -> int:
        return sum(part.resident_bytes for part in self.parts)

    @property
    def read_bytes(self) -> int:
        """The most of a part: they are read one after the other."""
        return max(part.read_bytes for part in self.parts)

    @property
    def scan_error(self) -> float:
        return max(part.scan_error for part in self.parts)

    @property
    def feature_names(self) -> list[str] | None:
        """The names of all columns; None where a part has none."""
        if self._names is not None:
            return self._names
        names: list[str] = []
        for part in self.parts:
            own = part.feature_names
            if own is None:
                return None
            names += own
        return names

    def gather(self, features: IndexArray | slice) -> FloatArray:
        n_samples, n_features = self.shape
        if isinstance(features, slice):
            features = np.arange(n_features)[features]
        columns = as_features(features, n_features)
        gathered = np.empty((n_samples, columns.size), order="F")
        owner = np.searchsorted(self._starts, columns, side="right") - 1
        for number, part in enumerate(self.parts):
            places = np.flatnonzero(owner == number)
            if places.size:
                own: Any = part.gather(columns[places] - self._starts[number])
                gathered[:, places] = own
        return gathered

    def _parts(self, start: int, stop: int) -> Iterator[tuple[Design, int, int, int]]:
        for part, begin in zip(self.parts, self._starts.tolist(), strict=False):
            first, last = max(start - begin, 0), min(stop - begin, part.shape[1])
            if first < last:
                yield part, first, last, begin + first - start

"""Data that are not in memory, as h5py, zarr, anndata and xarray hand them out, read by blocks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels import FLOAT32_SCAN_ERROR
from ..core.types import Design, FloatArray, IndexArray, Stored, float64_scan_error
from .dense import NATIVE_TYPES, SAMPLED_ROWS, Dense, as_features, as_vectors
from .foreign import Reader
from .sparse import compressed
from .sparse_input import read_sparse
from .wrappers import IN_MEMORY, as_slice, feature_blocks

KEPT_BYTES = 64 << 20  # of gathered columns, since some are asked for again and again


class Blocks(Design):
    """A matrix that a `Reader` reads block by block; every block is a design in memory for a while.

    A pass reads every chunk of the source once. Where the source is cut by rows, scores are sums
    over its slabs of rows in order; slabs do not depend on the columns of a call, and so the bits
    of a score do not either. Of a source in one slab they are those of the array in memory.

    Parameters
    ----------
    reader : of the source, which must stay open and as it is.
    n_threads : threads of a scan, at least 1.
    """

    def __init__(self, reader: Reader, n_threads: int = 1) -> None:
        self.reader, self.n_threads = reader, n_threads
        self.is_sparse = reader.is_sparse
        native = reader.dtype.newbyteorder("=")
        self._type = native if native in NATIVE_TYPES else np.dtype(np.float64)
        if native == np.bool_:
            self._type = np.dtype(np.uint8)
        self._kept: OrderedDict[int, Any] = OrderedDict()  # columns, by feature
        self._largest = 1  # bytes of one of them

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self.reader.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers where they lie."""
        return self.reader.dtype

    @property
    def storage(self) -> str:
        """How the numbers are stored, in words."""
        return f"{'sparse' if self.is_sparse else 'dense'} {self.reader.dtype}, read by blocks"

    @property
    def block(self) -> int:
        """Columns per scan block, whole chunks; all of them where the source is cut by rows."""
        return self.reader.block

    @property
    def density(self) -> float:
        """The share of entries that are stored."""
        return self.reader.density

    @property
    def note(self) -> str:
        """What reading the source costs more than it need."""
        return self.reader.note

    @property
    def read_bytes(self) -> int:
        """The bytes of a block, as it is read and as the kernels take it, and of kept columns."""
        size = 8 * self.shape[0] * self.shape[1] * self.density
        return self.reader.read_bytes + int(min(KEPT_BYTES // 4, size))

    @property
    def scan_error(self) -> float:
        """The error of a scan of the array in memory, and that of the sum of its slabs."""
        if self.is_sparse or self._type == np.float64:
            return float64_scan_error(self.shape[0])
        return FLOAT32_SCAN_ERROR + float64_scan_error(len(self.reader.slabs))

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return c with c[j - start] = sum_i X[i, j] v[i], start <= j < stop.

        v : (n_samples,) or (n_samples, m) -> (stop - start,) or (stop - start, m).
        """
        vectors = as_vectors(v, self.shape, start, stop)
        scores = np.zeros((stop - start, vectors.shape[1]))
        for rows, own, columns, part in self._parts(start, stop):
            scores[own] += part.correlate(vectors[rows], columns.start, columns.stop)
        return scores.reshape(stop - start, *v.shape[1:])

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return sum_i s_i X[i, j] and sum_i s_i X[i, j]**2, start <= j < stop."""
        weight = as_vectors(weight, self.shape, start, stop)[:, 0]
        total, square = np.zeros(stop - start), np.zeros(stop - start)
        for rows, own, columns, part in self._parts(start, stop):
            sums, squares = part.moments(weight[rows], columns.start, columns.stop)
            total[own] += sums
            square[own] += squares
        return total, square

    def gather(self, features: IndexArray | slice) -> Stored:
        """Return the columns in the given order: F-ordered float64, or a csc_array if sparse.

        Those that were gathered last are kept, up to 64 MiB of them.
        """
        n_features = self.shape[1]
        if isinstance(features, slice):
            features = np.arange(n_features, dtype=np.int64)[features]
        chosen = as_features(features, n_features)
        wanted, place = np.unique(chosen, return_inverse=True)
        columns = self._sparse(wanted) if self.is_sparse else self._dense(wanted)
        if np.array_equal(wanted, chosen):
            return columns
        return columns[:, place] if self.is_sparse else np.asfortranarray(columns[:, place])

    def some_rows(self) -> FloatArray | None:
        """Return the first rows; None for sparse data, which are never centred."""
        if self.is_sparse:
            return None
        n_samples, n_features = self.shape
        rows = np.empty((min(SAMPLED_ROWS, n_samples), n_features))
        with np.errstate(over="ignore"):
            for first, last in self.reader.blocks(0, n_features):
                rows[:, first:last] = self.reader.read(0, len(rows), first, last)
        return rows

    def combine(self, coef: FloatArray) -> FloatArray:
        """Return X coef in one pass over the source."""
        z = np.zeros(self.shape[0])
        for rows, own, columns, part in self._parts(0, self.shape[1]):
            z[rows] += _times(part, coef[own], columns)
        return z

    def _parts(self, start: int, stop: int) -> Iterator[tuple[slice, slice, slice, Design]]:
        """Yield (rows, columns of the answer, columns of the part, part in memory), by rows."""
        if start == stop:
            return
        for top, bottom, first, last, values in self.reader.tiles(start, stop):
            low, high = max(first, start), min(last, stop)
            part = self._in_memory(values, top, first)
            yield (
                slice(top, bottom),
                slice(low - start, high - start),
                slice(low - first, high - first),
                part,
            )

    def _in_memory(self, values: Any, top: int, first: int) -> Design:
        """Return a part of X that begins at a row and a column as a design."""
        if not sp.issparse(values):
            return Dense(_by_row(values.astype(self._type, copy=False)), self.n_threads)
        try:
            return read_sparse(values, self.n_threads)
        except ValueError as error:
            where = f"counted from row {top} and column {first}"
            raise ValueError(f"{error} These numbers are {where}.") from None

    def _gathered(self, features: IndexArray) -> Iterator[tuple[int, int, IndexArray, Any]]:
        """Yield (top, bottom, some of the features, their columns there), by rows."""
        for top, bottom in pairwise(self.reader.slabs):
            for first, last, wanted in self.reader.around(features):
                part = self._in_memory(self.reader.read(top, bottom, first, last), top, first)
                yield top, bottom, wanted, part.gather(wanted - first)

    def _dense(self, features: IndexArray) -> FloatArray:
        """Return ascending columns, F-ordered, those at hand without reading them."""
        out = np.empty((self.shape[0], features.size), order="F")
        known = np.array([int(j) in self._kept for j in features], bool)
        for place in np.flatnonzero(known):
            out[:, place] = self._kept[int(features[place])]
        for top, bottom, wanted, columns in self._gathered(features[~known]):
            out[top:bottom, np.searchsorted(features, wanted)] = columns
        self._keep(features, lambda place: out[:, place].copy(), out[:, :1].nbytes)
        return out

    def _sparse(self, features: IndexArray) -> sp.csc_array[Any]:
        """Return ascending columns, those at hand without reading them."""
        found: dict[int, Any] = {int(j): self._kept.get(int(j), []) for j in features}
        new = np.array([j for j, column in found.items() if not column], np.int64)
        for top, _, wanted, columns in self._gathered(new):
            for place, j in enumerate(wanted.tolist()):
                own = slice(columns.indptr[place], columns.indptr[place + 1])
                found[j].append((columns.indices[own] + top, columns.data[own].copy()))
        for j in new.tolist():
            parts = zip(*found[j], strict=True)
            found[j] = [tuple(np.concatenate(part) for part in parts)]
        columns = [found[int(j)][0] for j in features]
        sizes = [indices.size for indices, _ in columns]
        self._keep(features, lambda place: [columns[place]], 12 * max(sizes, default=0))
        indptr = np.cumsum([0, *sizes])
        indices = np.concatenate([np.empty(0, np.int32), *(one for one, _ in columns)])
        values = np.concatenate([np.empty(0), *(one for _, one in columns)])
        return compressed(indptr, indices, values, self.shape[0])

    def _keep(self, features: IndexArray, column: Callable[[int], Any], size: int) -> None:
        """Keep columns for the next time: the last ones that were asked for, as there is room.

        size : bytes of the largest of them.
        """
        self._largest = max(self._largest, size, 1)
        room = KEPT_BYTES // self._largest
        for place in range(max(0, features.size - room), features.size):
            j = int(features[place])
            self._kept[j] = self._kept.pop(j) if j in self._kept else column(place)
        while len(self._kept) > room:
            self._kept.popitem(last=False)


def _by_row(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array by row, a single column too: the order of sums follows that of memory."""
    if values.shape[1] > 1:
        return np.ascontiguousarray(values)
    wide = np.empty((len(values), 2), values.dtype)
    wide[:, :1] = values
    return wide[:, :1]


def _times(part: Design, coef: FloatArray, columns: slice) -> FloatArray:
    """Return X[:, columns] coef of a design in memory; it may be infinite or NaN."""
    if columns == slice(0, part.shape[1]):
        found = part.combine(np.ascontiguousarray(coef))
        if found is not None:
            return found
    z = np.zeros(part.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):
        for some in feature_blocks(np.arange(columns.start, columns.stop), z.size, IN_MEMORY):
            gathered: Any = part.gather(as_slice(some))
            z += gathered @ coef[some - columns.start]
    return z

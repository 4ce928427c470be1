"""Columns on a cluster: Dask arrays and data frames, and files that all workers can open."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _kernels
from ..core.types import Design, FloatArray, IndexArray, Stored, float64_scan_error
from .columns import as_columns
from .dask_chunks import column_blocks, edges_of
from .dense import Dense, as_features, as_vectors, check_size, check_type
from .sparse import compressed
from .workers import Job, Threads, Workers, client_of, computed
from .wrappers import IN_MEMORY, feature_blocks

# Into so many ranges of columns a file is cut at most, of so many numbers at least.
SPANS, SPAN = 256, 1 << 22
TILES = 64  # ranges of columns whose products are formed one column after the other, then added
MOST_PICKLED = 256 << 20  # bytes of a design that are sent to the workers


class OnCluster(Design):
    """A matrix whose blocks of columns are on the workers of a cluster, or made by threads.

    The bits of every result depend on the matrix alone, not on its chunks, nor on workers: a block
    has all rows of its columns, a score is the sum over one column, and what is summed over columns
    is summed within and over ranges that follow from their number.

    Parameters
    ----------
    shape : (n_samples, n_features).
    dtype : of the numbers.
    edges : (p + 1,) the columns where blocks begin and end.
    inside : whether a block is the whole matrix, of which its columns are a range.
    open_blocks : what gives the blocks, called once, when a scan needs them.
    like : a design with the error of a scan of the blocks.
    pick : `pick(features)` returns columns before there are blocks; None: as the blocks do.
    names : of the columns.
    read_bytes : the memory of this process that a scan takes for blocks; 0 where workers have them.
    n_threads : of this process, for what it does itself.
    """

    is_remote = True

    def __init__(
        self,
        shape: tuple[int, int],
        edges: Sequence[int],
        open_blocks: Callable[[], Threads | Workers],
        *,
        scan_error: float,
        storage: str,
        is_sparse: bool = False,
        inside: bool = False,
        pick: Callable[[IndexArray], FloatArray] | None = None,
        names: list[str] | None = None,
        read_bytes: int = 0,
        n_threads: int = 1,
    ) -> None:
        self._shape, self._open_blocks, self._pick = shape, open_blocks, pick
        self._edges = np.asarray(edges, np.int64)
        self._inside = self._edges[:-1] if inside else np.zeros(self._edges.size - 1, np.int64)
        self._scan_error, self._storage, self._names = scan_error, storage, names
        self._read_bytes, self.is_sparse, self.n_threads = read_bytes, is_sparse, n_threads

    @cached_property
    def _blocks(self) -> Threads | Workers:
        return self._open_blocks()

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self._shape

    @property
    def block(self) -> int:
        """All columns: the workers scan theirs at the same time."""
        return self._shape[1]

    @property
    def storage(self) -> str:
        """How the numbers are stored, in words."""
        return self._storage

    @property
    def read_bytes(self) -> int:
        """The bytes of the blocks that threads of this process make at a time."""
        return self._read_bytes

    @property
    def scan_error(self) -> float:
        """The error of a scan of a block."""
        return self._scan_error

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns, where a data frame or a file has them."""
        return self._names

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return c with c[j - start] = sum_i X[i, j] v[i], start <= j < stop.

        v : (n_samples,) or (n_samples, m) -> (stop - start,) or (stop - start, m).
        """
        vectors = as_vectors(v, self.shape, start, stop)
        found = self._blocks.each(_correlate, self._jobs(start, stop), vectors)
        scores = np.concatenate([np.empty((0, vectors.shape[1])), *found])
        return scores.reshape(stop - start, *v.shape[1:])

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return sum_i s_i X[i, j] and sum_i s_i X[i, j]**2, start <= j < stop."""
        weight = as_vectors(weight, self.shape, start, stop)[:, 0]
        found = self._blocks.each(_moments, self._jobs(start, stop), weight)
        total, square = np.concatenate([np.empty((2, 0)), *found], axis=1)
        return total, square

    def gather(self, features: IndexArray | slice) -> Stored:
        """Return the columns in the given order: F-ordered float64, or a csc_array if sparse."""
        n_samples, n_features = self.shape
        if isinstance(features, slice):
            features = np.arange(n_features, dtype=np.int64)[features]
        wanted, place = np.unique(as_features(features, n_features), return_inverse=True)
        columns: Any
        if self._pick is not None and "_blocks" not in self.__dict__:
            columns = self._pick(wanted)
        else:
            owner = np.searchsorted(self._edges, wanted, side="right") - 1
            local = wanted - self._edges[owner] + self._inside[owner]
            jobs = [(int(one), (local[owner == one],)) for one in np.unique(owner)]
            found = self._blocks.each(_gather, jobs)
            if self.is_sparse:
                return _beside(found, n_samples)[:, place] if found else _beside(found, n_samples)
            columns = np.concatenate([np.empty((0, n_samples)), *(one.T for one in found)])
        return np.asarray(columns[place].T)

    def norm_bounds(self) -> FloatArray | None:
        """Return those of all blocks, where all of them have them."""
        if self._inside.any() or self.is_sparse:
            return None
        found = self._blocks.each(_norm_bounds, self._all())
        return None if any(one is None for one in found) else np.concatenate(found)

    def some_rows(self) -> FloatArray | None:
        """Return a few rows, those that a block in memory gives; None for sparse data."""
        if self.is_sparse:
            return None
        found = self._blocks.each(_some_rows, self._jobs(0, self.shape[1]))
        return None if any(one is None for one in found) else np.hstack(found)

    def combine(self, coef: FloatArray) -> FloatArray:
        """Return X coef in one pass: within ranges of columns in order, then over the ranges."""
        n_samples, n_features = self.shape
        bounds = np.unique(np.linspace(0, n_features, TILES + 1).astype(np.int64))
        chains = []
        for start, stop in pairwise(bounds.tolist()):
            jobs = self._jobs(start, stop)
            sizes = np.cumsum([0, *(last - first for _, (first, last) in jobs)]) + start
            parts = zip(jobs, pairwise(sizes.tolist()), strict=True)
            chains.append([(block, (*own, coef[a:b])) for (block, own), (a, b) in parts])
        z = np.zeros(n_samples)
        for part in self._blocks.chain(_add, chains, np.zeros(n_samples)):
            z += part
        return z

    def _jobs(self, start: int, stop: int) -> list[Job]:
        """Return the blocks with columns of start..stop, each with the range of its own columns."""
        jobs: list[Job] = []
        if start == stop:
            return jobs
        first = int(np.searchsorted(self._edges, start, side="right")) - 1
        for number in range(first, int(np.searchsorted(self._edges, stop))):
            low, high = max(start, self._edges[number]), min(stop, self._edges[number + 1])
            shift = self._inside[number] - self._edges[number]
            jobs.append((number, (int(low + shift), int(high + shift))))
        return jobs

    def _all(self) -> list[Job]:
        return [(number, ()) for number in range(self._inside.size)]


def _pieces(design: Design, first: int, last: int) -> Iterator[tuple[int, int]]:
    for start in range(first, last, design.block):
        yield start, min(start + design.block, last)


def _correlate(design: Design, first: int, last: int, v: FloatArray) -> FloatArray:
    return np.concatenate([design.correlate(v, *piece) for piece in _pieces(design, first, last)])


def _moments(design: Design, first: int, last: int, weight: FloatArray) -> FloatArray:
    found = [design.moments(weight, *piece) for piece in _pieces(design, first, last)]
    return np.asarray(np.concatenate(found, axis=1))


def _gather(design: Design, features: IndexArray) -> Any:
    return design.gather(features)


def _norm_bounds(design: Design) -> FloatArray | None:
    return design.norm_bounds()


def _some_rows(design: Design, first: int, last: int) -> FloatArray | None:
    rows = design.some_rows()
    return None if rows is None else rows[:, first:last]


def _add(design: Design, first: int, last: int, coef: FloatArray, z: FloatArray) -> FloatArray:
    """Return z + X[:, first:last] coef, one column after the other."""
    z = z.copy()
    for some in feature_blocks(np.arange(first, last), z.size, IN_MEMORY):
        storage = as_columns(design.gather(slice(int(some[0]), int(some[-1]) + 1))).storage
        add: Any = _kernels.dense_combine if len(storage) == 1 else _kernels.csc_combine
        place = np.arange(some.size, dtype=np.int64)
        add(*storage, place, np.ascontiguousarray(coef[some - first]), z)
    return z


def _beside(parts: list[Any], n_samples: int) -> sp.csc_array[Any]:
    """Return the columns of csc_arrays one after the other."""
    sizes = [0, *(one.indptr[-1] for one in parts)]
    begins = np.cumsum(sizes)
    pointers = [one.indptr[1:] + begin for one, begin in zip(parts, begins, strict=False)]
    indices = np.concatenate([np.empty(0, np.int32), *(one.indices for one in parts)])
    data = np.concatenate([np.empty(0), *(one.data for one in parts)])
    return compressed(np.concatenate([[0], *pointers]), indices, data, n_samples)


def open_dask(X: Any, n_threads: int, client: Any = None) -> OnCluster:
    """Return a Dask array or data frame as a design.

    Its column chunks are kept on the workers of `client`; chunks that do not have all rows are put
    together there once. Without a client, threads of this process make them for every scan.

    Parameters
    ----------
    X : array of two dimensions, of NumPy or SciPy blocks; or data frame of numbers.
    n_threads : of this process.
    client : of `distributed`; None: the current one, if any.

    Raises
    ------
    TypeError, ValueError
        Where X is no matrix of real numbers.
    """
    client = client_of(client)
    names = None
    if hasattr(X, "to_dask_array"):
        names = _names_of_numbers(X)
        X = X.to_dask_array(lengths=True)
    if X.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional (samples by features); got a Dask array with {X.ndim} "
            f"dimension(s), shape {X.shape}. Reshape it."
        )
    dtype = np.dtype(X.dtype)
    check_type(dtype)
    if np.isnan(np.array([size for sizes in X.chunks for size in sizes], float)).any():
        # Of a copy: the array of the user stays as it is.
        X = type(X)(X.dask, X.name, X.chunks, meta=X._meta).compute_chunk_sizes()
    shape = int(X.shape[0]), int(X.shape[1])
    check_size(shape)
    is_sparse = sp.issparse(X._meta)
    column_bytes = max(1, shape[0] * dtype.itemsize)
    edges = edges_of(np.cumsum([0, *X.chunks[1]]).tolist(), column_bytes)
    widest = max(stop - start for start, stop in pairwise(edges))

    def open_blocks() -> Threads | Workers:
        blocks = column_blocks(X, edges, dtype, is_sparse)
        return (
            Threads(blocks, n_threads)
            if client is None
            else Workers(client, client.compute(blocks))
        )

    def pick(features: IndexArray) -> FloatArray:
        columns = X[:, features]
        found = (
            columns.compute(scheduler="threads") if client is None else computed(client, columns)
        )
        return np.asarray(found, np.float64).T

    return OnCluster(
        shape,
        edges,
        open_blocks,
        scan_error=_scan_error(dtype, shape[0], is_sparse),
        storage=f"{'sparse' if is_sparse else 'dense'} {dtype}, in chunks of Dask",
        is_sparse=is_sparse,
        pick=None if is_sparse else pick,
        names=names,
        # Of each thread the chunks and the block made of them, as if they were dense.
        read_bytes=2 * n_threads * widest * column_bytes if client is None else 0,
        n_threads=n_threads,
    )


def share_out(design: Design, client: Any) -> OnCluster:
    """Return a design whose files the workers of a client open themselves, by their paths.

    Raises
    ------
    ValueError
        Where the design lies in the memory of this process.
    """
    buffers: list[pickle.PickleBuffer] = []
    size = len(pickle.dumps(design, protocol=5, buffer_callback=buffers.append))
    size += sum(buffer.raw().nbytes for buffer in buffers)
    if size > MOST_PICKLED:
        raise ValueError(
            f"X must be a Dask array, or a file on storage that all workers see; got {size:,} "
            "bytes in the memory of this process. Save it with numpy.save and pass the path."
        )
    n_samples, n_features = design.shape
    spans = max(1, min(SPANS, n_features, n_samples * n_features // SPAN))
    edges = np.linspace(0, n_features, spans + 1).astype(np.int64).tolist()

    def open_blocks() -> Workers:
        source = client.submit(_opened, design, pure=False)
        return Workers(client, [source] * (len(edges) - 1))

    return OnCluster(
        design.shape,
        edges,
        open_blocks,
        scan_error=design.scan_error,
        storage=f"{design.storage}, opened by the workers of a cluster",
        is_sparse=design.is_sparse,
        inside=True,
        names=design.feature_names,
        n_threads=design.n_threads,
    )


def _opened(design: Design) -> Design:
    return design


def _scan_error(dtype: np.dtype[Any], n_samples: int, is_sparse: bool) -> float:
    """Return the error of a scan of blocks of a type."""
    if is_sparse:
        return float64_scan_error(n_samples)
    return Dense(np.broadcast_to(np.zeros((1, 1), dtype), (n_samples, 1))).scan_error


def _names_of_numbers(X: Any) -> list[str] | None:
    """Return the names of the columns of a data frame, all of which must be numbers."""
    for name, kind in X.dtypes.items():
        if not isinstance(kind, np.dtype) or kind.kind not in "fiub":
            raise ValueError(
                f"X must hold numbers; got the column {name!r} of type {kind}. Convert it "
                f"(X[{name!r}].astype('float64')), encode it (dask.dataframe.get_dummies), or drop "
                "it."
            )
    names = list(X.columns)
    return names if all(isinstance(name, str) for name in names) else None

"""Columns on a cluster: Dask arrays and data frames, and files that all workers can open.

One task per worker and call loops over the blocks of columns that are there. Blocks are futures, so
that what a dead worker held is made again from its source, by other workers, and what was asked of
it is asked again: neither needs anything here. Vectors travel as arguments of tasks, which the
scheduler keeps for that.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import copy
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _kernels
from ..core.errors import ParameterError
from ..core.types import Design, FloatArray, IndexArray, Stored, float64_scan_error
from .arrays import (
    Dense,
    Sparse,
    as_features,
    as_vectors,
    beside,
    check_size,
    check_type,
    read_sparse,
)
from .gathered import as_columns
from .views import IN_MEMORY, feature_blocks

# A job: the number of a block, and the arguments that are for this block alone.
Job: TypeAlias = tuple[int, tuple[Any, ...]]
Operation: TypeAlias = Callable[..., Any]

WAIT = 300.0  # seconds that a cluster may have no worker that works
POLL = 5.0  # seconds between looks at that
LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"


class Threads:
    """Blocks that threads of this process make whenever they are asked for, and do not keep.

    Parameters
    ----------
    blocks : `dask.delayed` objects of blocks, or designs.
    n_threads : how many blocks are worked on at a time.
    """

    def __init__(self, blocks: Sequence[Any], n_threads: int) -> None:
        self._blocks, self._n_threads = blocks, n_threads

    def each(self, operation: Operation, jobs: Sequence[Job], *shared: Any) -> list[Any]:
        """Return `operation(block, *own, *shared)` of every job, in order."""
        dask = _dask()
        work = dask.delayed(_alone, pure=False, traverse=False)
        tasks = [
            work(operation, self._blocks[block], _Held((*own, *shared))) for block, own in jobs
        ]
        found: tuple[Any, ...] = dask.compute(
            *tasks, scheduler="threads", num_workers=self._n_threads, optimize_graph=False
        )
        return list(found)

    def chain(self, operation: Operation, jobs: Sequence[Sequence[Job]], start: Any) -> list[Any]:
        """Return what is left of every chain: each job gets the result of the one before it."""
        dask = _dask()
        work = dask.delayed(_alone, pure=False, traverse=False)
        ends = []
        for links in jobs:
            value = start
            for block, own in links:
                value = work(operation, self._blocks[block], _Held(own), value)
            ends.append(value)
        found: tuple[Any, ...] = dask.compute(
            *ends, scheduler="threads", num_workers=self._n_threads, optimize_graph=False
        )
        return list(found)


class Workers:
    """Blocks on the workers of a cluster.

    Parameters
    ----------
    client : of `distributed`.
    blocks : futures of blocks; a future may stand for several.
    """

    def __init__(self, client: Any, blocks: Sequence[Any]) -> None:
        self._client, self._blocks = client, list(blocks)
        self._owners: list[str | None] = [None] * len(blocks)
        self._known: frozenset[str] = frozenset()
        self._moved = True

    def each(self, operation: Operation, jobs: Sequence[Job], *shared: Any) -> list[Any]:
        if not jobs:
            return []
        with _plain_errors(self._client):
            self._place()
            by_owner: dict[Any, list[int]] = {}
            for place, (block, _) in enumerate(jobs):
                by_owner.setdefault(self._owners[block], []).append(place)
            futures = []
            for owner, places in by_owner.items():
                # A future that stands for several blocks is sent once.
                blocks = {self._blocks[jobs[place][0]].key: jobs[place][0] for place in places}
                number = {key: i for i, key in enumerate(blocks)}
                held = [self._blocks[block] for block in blocks.values()]
                own = _Held([(number[self._blocks[jobs[i][0]].key], jobs[i][1]) for i in places])
                keys = _Held(list(blocks))
                futures.append(
                    self._submit(owner, _on_blocks, operation, held, keys, own, _Held(shared))
                )
            answers: list[Any] = [None] * len(jobs)
            travelled: dict[str, str] = {}
            for (owner, places), (address, found, unaligned) in zip(
                by_owner.items(), self._gather(futures), strict=True
            ):
                self._moved |= address != owner
                travelled |= dict.fromkeys(unaligned, address)
                for place, answer in zip(places, found, strict=True):
                    answers[place] = answer
            self._settle(travelled)
        return answers

    def _settle(self, travelled: dict[str, str]) -> None:
        """Put copies that kernels read where they lie in the place of blocks that travelled."""
        for place, block in enumerate(self._blocks):
            if getattr(block, "key", None) in travelled:
                self._blocks[place] = self._submit(travelled[block.key], _aligned, block)

    def chain(self, operation: Operation, jobs: Sequence[Sequence[Job]], start: Any) -> list[Any]:
        with _plain_errors(self._client):
            self._place()
            ends = []
            for links in jobs:
                value = start
                for block, own in links:
                    part = self._blocks[block], _Held(own), value
                    value = self._submit(self._owners[block], _link, operation, *part)
                ends.append(value)
            return self._gather(ends)

    def _gather(self, futures: Sequence[Any]) -> list[Any]:
        return _answers(self._client, futures)

    def _submit(self, owner: str | None, function: Operation, *arguments: Any) -> Any:
        import dask

        where = {} if owner is None else {"workers": [owner], "allow_other_workers": True}
        with dask.config.set({LARGE_GRAPH: "1TiB"}):  # vectors are what has to travel
            return self._client.submit(function, *arguments, pure=False, **where)

    def _place(self) -> None:
        """Find out who holds which block, and share them out evenly where that has changed.

        A block that its owner does not hold is fetched, or made, by the first task that needs it.
        """
        workers = frozenset(self._client.nthreads())
        if not workers:
            self._client.wait_for_workers(1, timeout=WAIT)
            workers = frozenset(self._client.nthreads())
        if workers == self._known and not self._moved:
            return
        held = self._client.who_has(self._blocks)
        holders = [held.get(getattr(one, "key", None), ()) for one in self._blocks]
        self._owners = shared_out(self._owners, holders, sorted(workers))
        self._known, self._moved = workers, False


def shared_out(
    owners: Sequence[str | None], holders: Sequence[Sequence[str]], workers: Sequence[str]
) -> list[str | None]:
    """Return an owner for every block: nobody has two more than another, and few blocks move.

    owners : of before. holders : the workers that have the block.
    """
    load = dict.fromkeys(workers, 0)
    most = -(-len(owners) // len(workers))
    new: list[str | None] = []
    for owner, having in zip(owners, holders, strict=True):
        near = [one for one in (owner, *having) if one in load and load[one] < most]
        new.append(near[0] if near else None)
        if near:
            load[near[0]] += 1
    for place, owner in enumerate(new):
        if owner is None:
            least = min(workers, key=load.__getitem__)
            new[place] = least
            load[least] += 1
    return new


def computed(client: Any, value: Any) -> Any:
    """Return a value of Dask as the workers of a client compute it."""
    with _plain_errors(client):
        return _answers(client, [client.compute(value)])[0]


def _answers(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Return the answers of tasks, however long they take, while there are workers that work.

    Raises
    ------
    TimeoutError
        Where there have been none for WAIT seconds: the cluster itself would wait for ever.
    """
    found = asyncio.run_coroutine_threadsafe(
        client.gather(list(futures), asynchronous=True), client.loop.asyncio_loop
    )
    idle = 0.0
    try:
        while idle < WAIT:
            if concurrent.futures.wait([found], timeout=POLL).done:
                return list(found.result())
            idle = 0.0 if client.run_on_scheduler(_somebody_works) else idle + POLL
        raise TimeoutError
    finally:
        found.cancel()


def _somebody_works(dask_scheduler: Any) -> bool:
    """Return whether a worker that is not paused has a task."""
    return any(worker.processing for worker in dask_scheduler.running)


def client_of(client: Any) -> Any:
    """Return a client; of None the current one, or None where there is none."""
    if client is not None:
        return client
    distributed = sys.modules.get("distributed")  # without it there is no client
    if distributed is None:
        return None
    try:
        found = distributed.get_client()
    except ValueError:
        return None
    if found.status != "running":  # one that was closed may still be the default
        return None
    with contextlib.suppress(ValueError):
        distributed.get_worker()
        distributed.secede()  # a fit inside a task leaves its thread to the tasks it waits for
    return found


def _dask() -> Any:
    import dask

    return dask


class _Held:
    """Arguments that Dask is not to look into."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values


def _alone(operation: Operation, block: Any, own: _Held, *value: Any) -> Any:
    return operation(as_block(block, 1), *own.values, *value)


def _link(operation: Operation, block: Any, own: _Held, value: Any) -> Any:
    return operation(as_block(block, _threads_here()[1]), *own.values, value)


def _on_blocks(
    operation: Operation, blocks: list[Any], keys: _Held, jobs: _Held, shared: _Held
) -> tuple[str, list[Any], list[str]]:
    """Return the address of this worker, the answers to jobs on its blocks, and some keys.

    They are of the blocks whose numbers are not aligned, as those are that came from elsewhere.
    """
    address, threads = _threads_here()
    designs = [as_block(block, threads) for block in blocks]
    found = [operation(designs[one], *own, *shared.values) for one, own in jobs.values]
    odd = [key for key, block in zip(keys.values, blocks, strict=True) if not _is_aligned(block)]
    return address, found, odd


def _arrays_of(block: Any) -> tuple[Any, ...]:
    if sp.issparse(block):
        arrays: Any = block
        return arrays.indptr, arrays.indices, arrays.data
    return (block,) if isinstance(block, np.ndarray) else ()


def _is_aligned(block: Any) -> bool:
    return all(one.flags.aligned for one in _arrays_of(block))


def _aligned(block: Any) -> Any:
    """Return a block with its numbers at addresses that are multiples of their size."""
    if _is_aligned(block):
        return block
    return np.array(block) if isinstance(block, np.ndarray) else block.copy()


def _threads_here() -> tuple[str, int]:
    from distributed import get_worker

    worker = get_worker()
    return worker.address, worker.state.nthreads


def as_block(block: Any, n_threads: int) -> Design:
    """Return a block as a design: one already, an array by column, or a csc_array."""
    if isinstance(block, Design):
        return _with_threads(block, n_threads)
    if sp.issparse(block):
        arrays: Any = block
        return Sparse(
            arrays.indptr, arrays.indices, arrays.data, arrays.shape,
            by_column=True, is_sorted=True, n_threads=n_threads,
        )  # fmt: skip
    return Dense(block, n_threads)


def _with_threads(design: Any, n_threads: int) -> Design:
    """Return a design with another number of threads; it shares all else."""
    found = copy.copy(design) if design.n_threads != n_threads else design
    found.n_threads = n_threads
    if hasattr(found, "parts"):
        found.parts = tuple(_with_threads(part, n_threads) for part in found.parts)
    return found  # type: ignore[no-any-return]


@contextlib.contextmanager
def _plain_errors(client: Any) -> Any:
    """Say of errors of the cluster what they mean."""
    from distributed import KilledWorker
    from distributed.comm.core import CommClosedError

    where = getattr(getattr(client, "scheduler", None), "address", "the cluster")
    try:
        yield
    except KilledWorker as error:
        raise MemoryError(
            f"Workers of {where} died again and again over one block of X ({error}). Most likely "
            "they ran out of memory: give each worker more, or start more workers; see their logs."
        ) from error
    except TimeoutError as error:
        raise TimeoutError(
            f"{where} had no worker that works for {WAIT:.0f} seconds: there is none, or all have "
            f"paused as their memory is full. Start more (dask worker {where}), or give each more "
            "memory; see their logs."
        ) from error
    except (CommClosedError, concurrent.futures.CancelledError) as error:
        raise ConnectionError(
            f"The connection to {where} is lost ({error}). Fit again when the scheduler is there."
        ) from error


# Chunks of Dask arrays as blocks of whole columns.

# Column chunks are joined up to the one size, and cut above the other.
SMALL_BYTES, LARGE_BYTES = 32 << 20, 256 << 20


def edges_of(edges: list[int], column_bytes: int) -> list[int]:
    """Return where blocks begin and end: chunks of columns joined where small, cut where large."""
    small = max(1, SMALL_BYTES // column_bytes)
    large = max(1, LARGE_BYTES // column_bytes)
    found = [0]
    for start, stop in pairwise(edges):
        if stop - found[-1] > large:
            if start > found[-1]:
                found.append(start)
            pieces = -(-(stop - start) // large)
            found += np.linspace(start, stop, pieces + 1).astype(int).tolist()[1:-1]
        if stop - found[-1] >= small or stop == edges[-1]:
            found.append(stop)
    # A few columns at the end would count as a block where blocks are shared out.
    if len(found) > 2 and found[-1] - found[-2] < small and found[-1] - found[-3] <= large:
        del found[-2]
    return found


def column_blocks(X: Any, edges: list[int], dtype: np.dtype[Any], is_sparse: bool) -> list[Any]:
    """Return the blocks as `dask.delayed` objects, each with all rows of its columns."""
    from dask.delayed import delayed

    grid = X.to_delayed()
    chunks = np.cumsum([0, *X.chunks[1]]).tolist()
    cut, joined = delayed(_cut, pure=True), delayed(_joined, pure=True)
    blocks = []
    for first, last in pairwise(edges):
        wanted = [
            (number, max(first, start) - start, min(last, stop) - start, stop - start)
            for number, (start, stop) in enumerate(pairwise(chunks))
            if start < last and stop > first
        ]
        pieces = [
            [
                row[number] if high - low == width else cut(row[number], low, high)
                for number, low, high, width in wanted
            ]
            for row in grid
        ]
        blocks.append(joined(pieces, (X.shape[0], last - first), dtype, is_sparse))
    return blocks


def _cut(chunk: Any, low: int, high: int) -> Any:
    by_column: Any = chunk.tocsc() if hasattr(chunk, "tocsc") else chunk
    return by_column[:, low:high]


def _joined(
    pieces: list[list[Any]], shape: tuple[int, int], dtype: np.dtype[Any], is_sparse: bool
) -> NDArray[Any] | sp.csc_array[Any]:
    """Return chunks in rows and columns as one block: an array by column, or a csc_array."""
    for one in (piece for row in pieces for piece in row):
        if sp.issparse(one) != is_sparse or not hasattr(one, "shape"):
            raise TypeError(
                f"X is said to have {'sparse' if is_sparse else 'dense'} chunks; got a "
                f"{type(one).__name__}. Give map_blocks, or what made X, the right `meta`."
            )
    if is_sparse:
        design = read_sparse(sp.csc_array(sp.block_array(pieces, format="csc")), 1)
        indptr, indices, data = design._indptr, design._indices, design._data
        block = sp.csc_array(shape, dtype=data.dtype)
        block.indptr, block.indices, block.data = indptr, indices, data
        return block
    out = np.empty(shape, dtype, order="F")
    top = 0
    for row in pieces:
        bottom, left = top + row[0].shape[0], 0
        for one in row:
            if one.dtype.kind not in "fiub":
                raise TypeError(
                    f"X must have chunks of one type of numbers, {dtype}; got one of {one.dtype}. "
                    "Convert X: X.astype(float)."
                )
            out[top:bottom, left : left + one.shape[1]] = one
            left += one.shape[1]
        top = bottom
    return out


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
        return self._shape

    @property
    def block(self) -> int:
        """All columns: the workers scan theirs at the same time."""
        return self._shape[1]

    @property
    def storage(self) -> str:
        return self._storage

    @property
    def read_bytes(self) -> int:
        """The bytes of the blocks that threads of this process make at a time."""
        return self._read_bytes

    @property
    def scan_error(self) -> float:
        return self._scan_error

    @property
    def feature_names(self) -> list[str] | None:
        return self._names

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        vectors = as_vectors(v, self.shape, start, stop)
        found = self._blocks.each(_correlate, self._jobs(start, stop), vectors)
        scores = np.concatenate([np.empty((0, vectors.shape[1])), *found])
        return scores.reshape(stop - start, *v.shape[1:])

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        weight = as_vectors(weight, self.shape, start, stop)[:, 0]
        found = self._blocks.each(_moments, self._jobs(start, stop), weight)
        total, square = np.concatenate([np.empty((2, 0)), *found], axis=1)
        return total, square

    def gather(self, features: IndexArray | slice) -> Stored:
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
                columns = beside(found, n_samples)
                return columns[:, place] if found else columns  # type: ignore[no-any-return]
            columns = np.concatenate([np.empty((0, n_samples)), *(one.T for one in found)])
        return np.asarray(columns[place].T)

    def norm_bounds(self) -> FloatArray | None:
        if self._inside.any() or self.is_sparse:
            return None
        found = self._blocks.each(_norm_bounds, [(i, ()) for i in range(self._inside.size)])
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
        raise ParameterError(
            "X",
            "must be two-dimensional (samples by features)",
            f"a Dask array with {X.ndim} dimension(s), shape {X.shape}",
            "Reshape it.",
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
        raise ParameterError(
            "X",
            "must be a Dask array, or a file on storage that all workers see",
            f"{size:,} bytes in the memory of this process",
            "Save it with numpy.save and pass the path.",
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
            raise ParameterError(
                "X",
                "must hold numbers",
                f"the column {name!r} of type {kind}",
                f"Convert it (X[{name!r}].astype('float64')), encode it "
                "(dask.dataframe.get_dummies), or drop it.",
            )
    names = list(X.columns)
    return names if all(isinstance(name, str) for name in names) else None

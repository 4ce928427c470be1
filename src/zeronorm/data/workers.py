"""Blocks of columns on the workers of a Dask cluster: where they are, and work on them.

One task per worker and call loops over the blocks that are there. Blocks are futures, so that what
a dead worker held is made again from its source, by other workers, and what was asked of it is
asked again: neither needs anything here. Vectors travel as arguments of tasks, which the scheduler
keeps for that.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import copy
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..core.types import Design
from .dense import Dense
from .sparse import Sparse

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
        """Return `operation(block, *own, *shared)` of every job, in order."""
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
        """Return what is left of every chain: each job gets the result of the one before it."""
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

"""Threads at the k-scale: one BLAS thread each, from our own threads, over fixed row blocks.

A BLAS with threads of its own gives other bits for other numbers of threads, and its busy waiting
costs more than a factor of ten where another process shares the cores.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

T = TypeVar("T")
R = TypeVar("R")

_n_threads: ContextVar[int | None] = ContextVar("n_threads", default=None)


_lock = threading.Lock()
_depth = 0  # contexts open in this process, in any thread
_limiter: Any = None


@contextmanager
def solver_threads(n_threads: int | None) -> Iterator[None]:
    """Set the number of threads of `map_threads`, and one thread for the BLAS, in this context.

    The limit of the BLAS belongs to the process: the first context sets it, the last one lifts it.
    """
    global _depth, _limiter
    token = _n_threads.set(n_threads)
    with _lock:
        if _depth == 0:
            _limiter = _controller().limit(limits=1, user_api="blas")
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _limiter.restore_original_limits()
                _limiter = None
        _n_threads.reset(token)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the BLAS to one thread, in a context or in a whole function as its decorator.

    One product outside, even of two vectors, wakes the threads of the BLAS, and for a while they
    wait by computing, at the cost of what comes after it on the same cores.
    """
    with solver_threads(_n_threads.get()):
        yield


def map_threads(function: Callable[[T], R], items: Sequence[T], most: int | None = None) -> list[R]:
    """Return [function(item) for item in items], computed by the threads of this context.

    most : the largest number of them.
    """
    with waiting_threads(len(items) if most is None else min(most, len(items))) as begun:
        values = [begun(function, item) for item in items]
        return [value() for value in values]


def at_last(function: Callable[[T], R], item: T) -> Callable[[], R]:
    """Return what computes function(item) when it is called."""
    return partial(function, item)


@contextmanager
def waiting_threads(
    most: int,
) -> Iterator[Callable[[Callable[[T], R], T], Callable[[], R]]]:
    """Yield what begins to compute function(item) by a thread, and returns what waits for it.

    The threads, so many at most, begin in the order of the calls. Where there is one thread, it is
    the caller's, and begins when it would wait.
    """
    n_threads = min(current_threads(), most)
    if n_threads <= 1:
        yield at_last
        return
    # What a thread calls has that thread alone.
    pool = ThreadPoolExecutor(n_threads, initializer=_n_threads.set, initargs=(1,))
    try:
        yield lambda function, item: pool.submit(function, item).result
    finally:
        pool.shutdown(cancel_futures=True)


def current_threads() -> int:
    """Return the number of threads of this context: by default all that the process may use."""
    chosen = _n_threads.get()
    return allowed_cores() if chosen is None else chosen


def allowed_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()

"""Run solvers: the only place where data are scanned, progress is reported and work interrupted.

A solver is a generator. It yields a `Scan` (which columns, which vector), receives the scores, and
returns its result. `run` runs one; `together` makes several (classes, folds) one that runs them in
lockstep, their pending scans of one data set merged into a single pass over it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from ..core.parallel import solver_threads
from ..core.types import Design, FloatArray, Wrapper
from .journal import Identity, Journal, current

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Scan:
    """A request: the scores c = X'v of every column of `design` for `vector`.

    vector : (n_samples,) or (n_samples, m); the answer is (n_features,) or (n_features, m).
    """

    design: Design
    vector: FloatArray


@dataclass(frozen=True, slots=True)
class Progress:
    """What a callback is told after every pass over the data."""

    n_scans: int  # passes so far
    seconds: float  # spent in them


Callback: TypeAlias = Callable[[Progress], None]
# A solver yields a scan, or a list of requests that are answered by a list.
Request: TypeAlias = "Scan | list[Request]"
Solver: TypeAlias = Generator[Request, Any, T]


def run(
    solver: Solver[T],
    callback: Callback | None = None,
    n_threads: int | None = None,
    identity: Identity = dict,
) -> T:
    """Run a solver to its result.

    callback : called after every pass over the data.
    n_threads : of the solver (a design has its own); None: all allowed.
    identity : what a checkpoint tells this run apart by, beside its data.
    """
    n_scans, seconds = 0, 0.0
    journal = current.get()
    journal.begin(identity)
    with solver_threads(n_threads):
        try:
            request = next(solver)
            while True:
                begin = time.perf_counter()
                try:
                    answers = iter(_answer(_flatten(request), journal))
                    seconds += time.perf_counter() - begin
                    n_scans += 1
                    _LOG.debug("pass %d over the data, %.3f s in all", n_scans, seconds)
                    if callback is not None:
                        callback(Progress(n_scans, seconds))
                except KeyboardInterrupt as stop:
                    request = solver.throw(stop)  # which ends it, unless it keeps what is finished
                    continue
                request = solver.send(_arrange(request, answers))
        except StopIteration as stop:
            return cast("T", stop.value)
        finally:
            solver.close()


def run_together(
    solvers: Sequence[Solver[T]],
    callback: Callback | None = None,
    n_threads: int | None = None,
    identity: Identity = dict,
) -> list[T]:
    """Run solvers in lockstep, see `together`; the results are in order."""
    return run(together(solvers), callback, n_threads, identity)


def together(solvers: Sequence[Solver[T]]) -> Solver[list[T]]:
    """Return one solver that runs several in lockstep.

    Their scans that wait at one time and share data become one pass. The bits are those of separate
    runs: every score is the same sum whether its vector travels alone or with others.
    """
    results: dict[int, T] = {}
    waiting: dict[int, Request] = {}

    def resume(index: int, answer: Any, stop: KeyboardInterrupt | None = None) -> None:
        solver = solvers[index]
        try:  # sending None starts a generator
            waiting[index] = solver.send(answer) if stop is None else solver.throw(stop)
        except StopIteration as stop:
            waiting.pop(index, None)
            results[index] = stop.value

    try:
        for index in range(len(solvers)):
            resume(index, None)
        while waiting:
            try:
                answers = yield list(waiting.values())
            except KeyboardInterrupt as stop:
                for index in list(waiting):
                    resume(index, None, stop)
                continue
            for index, answer in zip(list(waiting), answers, strict=True):
                resume(index, answer)
    finally:
        for solver in solvers:
            solver.close()
    return [results[index] for index in range(len(solvers))]


def _flatten(request: Request) -> list[Scan]:
    """Return the scans of a request in order."""
    if isinstance(request, Scan):
        return [request]
    return [scan for part in request for scan in _flatten(part)]


def _arrange(request: Request, answers: Iterator[FloatArray]) -> Any:
    """Return the answers in the shape of the request."""
    if isinstance(request, Scan):
        return next(answers)
    return [_arrange(part, answers) for part in request]


def _answer(requests: list[Scan], journal: Journal) -> list[FloatArray]:
    """Answer scans, those with a common base design in one pass over it."""
    answers: list[FloatArray | None] = [None] * len(requests)
    by_base: dict[int, list[int]] = {}
    chains = [_unwrap(request) for request in requests]
    for index, (base, _, _) in enumerate(chains):
        by_base.setdefault(id(base), []).append(index)
    for members in by_base.values():
        base = chains[members[0]][0]
        vectors = [np.atleast_2d(chains[i][2].T).T for i in members]
        merged = np.ascontiguousarray(np.hstack(vectors)) if len(vectors) > 1 else vectors[0]
        scores = journal.scores(base, merged, [requests[i].design for i in members])
        offset = 0
        for i, vector in zip(members, vectors, strict=True):
            part = scores[:, offset : offset + vector.shape[1]]
            offset += vector.shape[1]
            part = part[:, 0] if chains[i][2].ndim == 1 else part
            for wrapper, v in reversed(chains[i][1]):
                part = wrapper.lift(part, v, 0, wrapper.shape[1])
            answers[i] = np.ascontiguousarray(part)
    return [answer for answer in answers if answer is not None]


def _unwrap(request: Scan) -> tuple[Design, list[tuple[Wrapper, FloatArray]], FloatArray]:
    """Return the base design, the wrappers on the way with their vectors, the lowered vector."""
    design, vector = request.design, request.vector
    wrappers: list[tuple[Wrapper, FloatArray]] = []
    while isinstance(design, Wrapper):
        wrappers.append((design, vector))
        vector = design.lower(vector)
        design = design.base
    return design, wrappers, vector

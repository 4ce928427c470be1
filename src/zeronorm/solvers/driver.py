"""Run solvers: scan the data for them, report progress, pass interrupts on.

A solver is a generator. It yields a `Scan` (which columns, which vector), receives the scores, and
returns its result. `run` runs one; `together` makes several (classes, folds) one that runs them in
lockstep, their pending scans of one data set merged into a single pass over it. No solver scans by
itself; docs/architecture.md names what is no solver and does.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from ..core.parallel import solver_threads
from ..core.results import Path, Progressed, Result, Step
from ..core.types import Design, FloatArray, IndexArray
from ..data.views import lowered
from .checkpoint import Identity, ScanJournal, current

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
Scans: TypeAlias = "Scan | list[Scans]"
Solver: TypeAlias = Generator[Scans, Any, T]


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
        except StopIteration as end:
            return cast("T", end.value)
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
    waiting: dict[int, Scans] = {}

    def resume(index: int, answer: Any, stop: KeyboardInterrupt | None = None) -> None:
        solver = solvers[index]
        try:  # sending None starts a generator
            waiting[index] = solver.send(answer) if stop is None else solver.throw(stop)
        except StopIteration as end:
            waiting.pop(index, None)
            results[index] = end.value

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


def _flatten(request: Scans) -> list[Scan]:
    if isinstance(request, Scan):
        return [request]
    return [scan for part in request for scan in _flatten(part)]


def _arrange(request: Scans, answers: Iterator[FloatArray]) -> Any:
    if isinstance(request, Scan):
        return next(answers)
    return [_arrange(part, answers) for part in request]


def _answer(requests: list[Scan], journal: ScanJournal) -> list[FloatArray]:
    """Answer scans, those with a common base design in one pass over it."""
    answers: list[FloatArray | None] = [None] * len(requests)
    by_base: dict[int, list[int]] = {}
    chains = [lowered(request.design, request.vector) for request in requests]
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


# Seconds of the own work of a solver, without the scans that it waits for.


class Stopwatch:
    """Adds up the time that is spent inside of it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._begin = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._begin


class PhaseClock:
    """Adds up seconds by phase."""

    def __init__(self, seconds: dict[str, float] | None) -> None:
        self._seconds: dict[str, float] = {} if seconds is None else seconds

    def add(self, phase: str, seconds: float) -> None:
        """Add seconds to a phase."""
        self._seconds[phase] = self._seconds.get(phase, 0.0) + seconds

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure what is inside."""
        begin = time.perf_counter()
        yield
        self.add(name, time.perf_counter() - begin)

    def inside(self, name: str, solver: Solver[T]) -> Solver[T]:
        """Run a solver as a part of another, and add the seconds spent in it, without its scans."""
        answer = None
        while True:
            with self.phase(name):
                try:
                    request = solver.send(answer)
                except StopIteration as stop:
                    found: T = stop.value
                    return found
            answer = yield request

    def add_history(self, history: Sequence[Step]) -> None:
        """Add the seconds of the phases of steps."""
        for step in history:
            for phase, seconds in step.seconds.items():
                self.add(phase, seconds)


# What searches for features return to the procedures that refit and certify.


@dataclass(frozen=True, slots=True)
class BestDual:
    """The best lower bound of the l0 problem of one size seen on the way, with its dual point.

    Up to the rounding of the scan: certification scans again with the dual point.
    """

    bound: float
    dual: FloatArray


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search for features has found: the result, and bounds of l0 problems on the way."""

    result: Result
    l0_bounds: Mapping[int, BestDual]


# What an interrupt leaves of selections of several sizes: the models that are finished.
#
# A procedure says of every task which sizes have their final fit, and how they become a path.
# Whoever wants them wraps the solver by `or_partial_results`; without that an interrupt ends a fit
# as any error does.

Ending: TypeAlias = Callable[[Sequence[int]], Solver[Path]]


class PartialResults:
    """The finished sizes of all tasks of a fit."""

    def __init__(self) -> None:
        self.interrupted = False
        self._tasks: list[tuple[Callable[[], Iterable[int]], Ending]] = []

    def add(self, finished: Callable[[], Iterable[int]], ending: Ending) -> None:
        """Add a task.

        finished : returns the sizes that have their final fit. ending : makes a path of such sizes.
        """
        self._tasks.append((finished, ending))

    def endings(self, n_tasks: int) -> list[Solver[Path]]:
        """Return what makes the paths of the sizes that all tasks have finished; none: nothing."""
        if len(self._tasks) < n_tasks:
            return []
        sizes = sorted(set.intersection(*(set(finished()) for finished, _ in self._tasks)))
        return [ending(sizes) for _, ending in self._tasks] if sizes else []


def or_partial_results(
    solvers: Sequence[Solver[Any]], kept: PartialResults, n_tasks: int
) -> Solver[list[Path]]:
    """Run solvers; where they are interrupted, return the paths of the sizes that are finished.

    solvers : of the path of each task, or one of a list of all.

    Raises
    ------
    KeyboardInterrupt
        Where no size is finished, or at a second interrupt.
    """
    try:
        results: list[Any] = yield from together(solvers)
        return results[0] if isinstance(results[0], list) else results
    except KeyboardInterrupt:
        endings = kept.endings(n_tasks)
        if not endings:
            raise
    kept.interrupted = True
    return (yield from together(endings))


# What every selection is asked for, whatever its method.

NO_REFIT = "later"  # refit_C of models of which only the supports are wanted


@dataclass(frozen=True, slots=True)
class SelectionRequest:
    """Weights, tolerance and the ends of a selection."""

    # Weight of the summed loss: in the selection, unless the method has its own, and in the
    # certificate.
    C: float = 0.1
    # That of the final fit; None: the solution is the model; NO_REFIT: there is none, and
    # coefficients are 0.
    refit_C: float | str | None = "loo"
    tol: float = 1e-3  # to which problems are solved; each method says how it is counted
    certify: bool = True  # whether the models get certificates: a scan more
    start: Sequence[IndexArray] = ()  # features of an earlier fit, in lists as they entered
    report: Callable[[Progressed], None] | None = None  # told where a proof stands
    seconds: dict[str, float] | None = None  # filled with the seconds of each phase
    kept: PartialResults | None = None  # told which sizes are finished, for an interrupt
    method: str = ""  # as of `Path.method`

    def keep(self, finished: Callable[[], Iterable[int]], ending: Ending) -> None:
        """Say which sizes are finished, and how they become a path."""
        if self.kept is not None:
            self.kept.add(finished, ending)

"""Seconds of the own work of a solver, without the scans that it waits for."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from ..core.results import Step
from .drive import Solver

T = TypeVar("T")


class Stopwatch:
    """Adds up the time between `start` and `stop`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._begin: float | None = None

    def __enter__(self) -> Stopwatch:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def start(self) -> None:
        """Start, unless running."""
        if self._begin is None:
            self._begin = time.perf_counter()

    def stop(self) -> None:
        """Stop, if running."""
        if self._begin is not None:
            self.seconds += time.perf_counter() - self._begin
            self._begin = None


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

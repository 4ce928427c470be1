"""Seconds of the own work of a solver, without the scans that it waits for."""

from __future__ import annotations

import time


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
